/* Where the zones of C lie (schedule/placement.h). */
#include "schedule/placement.h"

#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/random.h"

/* A move that costs up to (1 + LOOSE) times as much is accepted at the start of the search. */
static const double LOOSE = 0.03;

/* Most moves of a search for each way to move. */
enum { EACH = 50 };

/* ---- the cuts of C --------------------------------------------------------------------------- */

/* A part of C that straight cuts divide into slabs: between rows (axis 0) or columns (axis 1). Slab k
 * has the items bounds[first + k] .. bounds[first + k + 1] - 1. */
typedef struct {
    int32_t axis, first, slabs;
} cut_part;

/* The zones and the ways to move them.
 *   item    [pieces] the zones that are not empty, a slab's zones side by side
 *   parts   [pieces] the parts that are cut, with
 *   bounds  [3 pieces]
 *   pairs   [2 pair_count] workers of equal speed
 *   swaps   pairs of slabs of a part, in all parts */
typedef struct {
    hs__placement zones;
    int32_t items, *item;
    cut_part *parts;
    int32_t part_count, *bounds, bound_count;
    int32_t *pairs;
    int64_t pair_count, swaps;
} places;

static int64_t start_of(const places *x, int32_t at, int axis)
{
    return x->zones.rects[4 * (size_t)x->item[at] + (size_t)axis];
}

static int64_t end_of(const places *x, int32_t at, int axis)
{
    return start_of(x, at, axis) + x->zones.rects[4 * (size_t)x->item[at] + (size_t)axis + 2];
}

static void sort_items(places *x, int32_t from, int32_t to, int axis)
{
    for (int32_t i = from + 1; i < to; i++)
        for (int32_t k = i; k > from && start_of(x, k, axis) < start_of(x, k - 1, axis); k--) {
            const int32_t moved = x->item[k];
            x->item[k] = x->item[k - 1];
            x->item[k - 1] = moved;
        }
}

/* Cuts a part with the items from .. to - 1 across an axis, and its slabs across the other axis.
 * turned: whether the other axis has no cuts. */
static void cut_items(places *x, int32_t from, int32_t to, int axis, bool turned)
{
    const int32_t first = x->bound_count;
    int64_t reached = 0;
    sort_items(x, from, to, axis);
    for (int32_t i = from; i < to; i++) {
        if (i == from || start_of(x, i, axis) >= reached) x->bounds[x->bound_count++] = i;
        reached = hs__max(reached, end_of(x, i, axis));
    }
    const int32_t slabs = x->bound_count - first;
    if (slabs < 2) {
        x->bound_count = first;
        if (!turned && to - from > 1) cut_items(x, from, to, 1 - axis, true);
        return;
    }
    x->bounds[x->bound_count++] = to;
    x->parts[x->part_count++] = (cut_part){axis, first, slabs};
    x->swaps += (int64_t)slabs * (slabs - 1) / 2;
    for (int32_t k = 0; k < slabs; k++)
        cut_items(x, x->bounds[first + k], x->bounds[first + k + 1], 1 - axis, true);
}

static void find_cuts(places *x)
{
    x->part_count = 0;
    x->bound_count = 0;
    x->swaps = 0;
    if (x->items) cut_items(x, 0, x->items, 0, false);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void exchange_workers(const places *x, int32_t a, int32_t b)
{
    int32_t *worker = x->zones.workers;
    for (int32_t q = 0; q < x->zones.pieces; q++)
        worker[q] = worker[q] == a ? b : worker[q] == b ? a : worker[q];
}

static void shift_items(const places *x, int32_t from, int32_t to, int axis, int64_t by)
{
    for (int32_t i = from; i < to; i++) x->zones.rects[4 * (size_t)x->item[i] + (size_t)axis] += by;
}

/* Exchanges slabs a < b of a part; the slabs between them move on. */
static void exchange_slabs(const places *x, const cut_part *part, int32_t a, int32_t b)
{
    const int32_t *bounds = x->bounds + part->first;
    const int axis = part->axis;
    int64_t end = 0;
    for (int32_t i = bounds[b]; i < bounds[b + 1]; i++) end = hs__max(end, end_of(x, i, axis));
    const int64_t start = start_of(x, bounds[a], axis);
    const int64_t first = start_of(x, bounds[a + 1], axis) - start;
    const int64_t second = end - start_of(x, bounds[b], axis);
    shift_items(x, bounds[b], bounds[b + 1], axis, start + second - end);
    shift_items(x, bounds[a + 1], bounds[b], axis, second - first);
    shift_items(x, bounds[a], bounds[a + 1], axis, end - first - start);
}

/* Makes the move of a number below pair_count + swaps. */
static void make_move(const places *x, int64_t move)
{
    if (move < x->pair_count) {
        exchange_workers(x, x->pairs[2 * move], x->pairs[2 * move + 1]);
        return;
    }
    move -= x->pair_count;
    const cut_part *part = x->parts;
    for (;; part++) {
        const int64_t own = (int64_t)part->slabs * (part->slabs - 1) / 2;
        if (move < own) break;
        move -= own;
    }
    int32_t b = 1;
    for (; move >= b; b++) move -= b;
    exchange_slabs(x, part, (int32_t)move, b);
}

/* ---- the search ------------------------------------------------------------------------------ */

typedef struct {
    int32_t *workers;
    int64_t *rects;
    hs__price price;
} snapshot;

static void save(const places *x, snapshot *kept)
{
    memcpy(kept->workers, x->zones.workers, (size_t)x->zones.pieces * sizeof *kept->workers);
    memcpy(kept->rects, x->zones.rects, 4 * (size_t)x->zones.pieces * sizeof *kept->rects);
}

static void restore(const places *x, const snapshot *kept)
{
    memcpy(x->zones.workers, kept->workers, (size_t)x->zones.pieces * sizeof *kept->workers);
    memcpy(x->zones.rects, kept->rects, 4 * (size_t)x->zones.pieces * sizeof *kept->rects);
}

static bool is_cheaper(hs__price a, hs__price b)
{
    return a.makespan < b.makespan || (a.makespan == b.makespan && a.messages < b.messages);
}

static void find_pairs(places *x, const hs_matmul *product)
{
    x->pair_count = 0;
    for (int32_t i = 0; i < product->p; i++)
        for (int32_t k = 0; k < i; k++) {
            if (product->cycle_times[i] != product->cycle_times[k]) continue;
            x->pairs[2 * x->pair_count] = k;
            x->pairs[2 * x->pair_count++ + 1] = i;
        }
}

static hs_status search(places *x, int64_t moves, const int *cancel, snapshot *now, snapshot *best)
{
    uint64_t state = 0;
    hs_status status = x->zones.price(x->zones.context, &now->price);
    save(x, best);
    best->price = now->price;
    find_cuts(x);
    moves = hs__min(moves, EACH * (x->pair_count + x->swaps));
    for (int64_t k = 0; k < moves && !status; k++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        hs__price price;
        save(x, now);
        make_move(x, hs__random_below(&state, x->pair_count + x->swaps));
        status = x->zones.price(x->zones.context, &price);
        const double loose = LOOSE * (double)(moves - k) / (double)moves;
        hs__price limit = now->price;
        limit.makespan *= 1.0 + loose;
        if (is_cheaper(price, best->price)) {
            save(x, best);
            best->price = price;
        }
        if (is_cheaper(limit, price)) restore(x, now);
        else {
            now->price = price;
            find_cuts(x);
        }
    }
    restore(x, best);
    return status;
}

hs_status hs__place_zones(const hs_matmul *product, int64_t moves, const int *cancel,
                          const hs__placement *zones)
{
    const size_t pieces = (size_t)zones->pieces;
    const size_t pairs = (size_t)product->p * (size_t)product->p;
    const size_t longs = 8 * pieces;
    const size_t ints = 2 * pieces + pieces + 3 * pieces + pairs;
    int64_t *memory =
        malloc(longs * sizeof *memory + pieces * sizeof(cut_part) + (ints + 1) * sizeof(int32_t));
    if (!memory) return HS_ERROR_MEMORY;
    places x = {.zones = *zones};
    snapshot now = {.rects = memory};
    snapshot best = {.rects = now.rects + 4 * pieces};
    x.parts = (cut_part *)(best.rects + 4 * pieces);
    now.workers = (int32_t *)(x.parts + pieces);
    best.workers = now.workers + pieces;
    x.item = best.workers + pieces;
    x.bounds = x.item + pieces;
    x.pairs = x.bounds + 3 * pieces;
    for (int32_t q = 0; q < zones->pieces; q++)
        if (zones->rects[4 * (size_t)q + 2] && zones->rects[4 * (size_t)q + 3])
            x.item[x.items++] = q;
    find_pairs(&x, product);
    const hs_status status = search(&x, moves, cancel, &now, &best);
    free(memory);
    return status;
}
