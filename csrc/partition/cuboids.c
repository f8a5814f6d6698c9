/* hs_partition_cuboids: an interval DP over a list of parts, and a search over the order of the
 * list. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/order.h"
#include "core/random.h"
#include "partition/cuboids.h"
#include "partition/interval.h"

/* ---- the interval DP ------------------------------------------------------------------------- */

/* In a box with faces face[q], a tree for a run of parts costs t[0] * face[0] + t[1] * face[1] +
 * t[2] * face[2]. t depends only on the tree and on the ratios of the volumes: a leaf has (1, 1,
 * 1); a cut along q into A and B with shares r and 1 - r adds the two t[q] unchanged, and the other
 * components weighted by the shares. So, for a run, a triple matters if it is best for some ratio
 * of the sides. The table keeps the best triple found for each ratio on a grid (steps of 2^STEP).
 * This prunes, so the result is a tree of known cost but not always the best one. Beyond the grid
 * its nearest point is used.
 *
 * With all three axes, a permutation of the sides permutes the triples: descending sides suffice.
 * With two axes the third side is the same for all. Slots number the sides in this order. */
enum {
    SPAN = 12,
    SHIFTS = 2 * SPAN + 1,
    GRID = (SPAN + 1) * (SPAN + 2) / 2,
    LARGEST = 64,
    EXACT = 8
};
enum { AROUND = 5 }; /* exponents of the grid beyond the ratio of the sides of the box */
static const double STEP = 0.5;

typedef struct {
    uint8_t index;   /* index in the grid */
    uint8_t slot[3]; /* slot of the parent for each slot of the child */
} child_direction;

typedef struct {
    int axes;    /* 2 or 3: number of slots that are cut */
    int axis[3]; /* axis of each slot, in the caller's numbering */
    int span;    /* log2(longest side / shortest) / STEP on the grid; at most SPAN */
    int32_t directions;
    double face[GRID][3]; /* faces of a box with the sides of each direction */
    /* where a cut along a slot leads if the side shrinks by 2^(-STEP * shift) */
    child_direction child[3][SHIFTS][GRID];
    double volume[LARGEST]; /* volumes of the parts in the order that is tried */
    double sum[LARGEST * (LARGEST + 1) / 2];
    double exponent[LARGEST * (LARGEST + 1) / 2]; /* log2(sum) / STEP */
    double (*triple)[3];                          /* [runs * directions] */
    const int *cancel;                            /* after it is set, the table is meaningless */
    hs__cuboid_search small;                      /* for up to EXACT parts */
} table;

/* Sorts the slots [0, axes) by their sides, the longest first. */
static void sort_slots(int axes, const double side[3], int slot[3])
{
    for (int q = 0; q < 3; q++) slot[q] = q;
    for (int i = 1; i < axes; i++)
        for (int j = i; j > 0 && side[slot[j]] > side[slot[j - 1]]; j--) {
            int moved = slot[j];
            slot[j] = slot[j - 1];
            slot[j - 1] = moved;
        }
}

static int32_t direction_index(int axes, int first, int second)
{
    return axes == 2 ? first : first * (first + 1) / 2 + second;
}

static void fill_directions(table *s, int32_t axes, const double side[3])
{
    s->axes = 0;
    for (int q = 0; q < 3; q++)
        if (axes >> q & 1) s->axis[s->axes++] = q;
    for (int q = 0; q < 3; q++)
        if (!(axes >> q & 1)) s->axis[2] = q;
    double longest = 0.0;
    double shortest = INFINITY;
    for (int q = 0; q < s->axes; q++) {
        longest = fmax(longest, side[s->axis[q]]);
        shortest = fmin(shortest, side[s->axis[q]]);
    }
    double apart = log2(longest / shortest) / STEP;
    s->span = apart < SPAN - AROUND ? (int)apart + AROUND : SPAN;
    s->directions = direction_index(s->axes, s->span, s->axes == 2 ? 0 : s->span) + 1;
    for (int i = 0; i <= s->span; i++)
        for (int j = 0; j <= (s->axes == 2 ? 0 : i); j++) {
            int32_t g = direction_index(s->axes, i, j);
            hs__cuboid_faces((const double[3]){exp2(i * STEP), exp2(j * STEP), 1.0}, s->face[g]);
            for (int q = 0; q < s->axes; q++)
                for (int shift = 0; shift < SHIFTS; shift++) {
                    double exponent[3] = {i, j, 0};
                    int slot[3];
                    exponent[q] -= shift;
                    sort_slots(s->axes, exponent, slot);
                    double last = fmax(exponent[slot[s->axes - 1]], exponent[slot[0]] - s->span);
                    int first = (int)(exponent[slot[0]] - last);
                    int second = (int)(fmax(exponent[slot[1]], last) - last);
                    s->child[q][shift][g] =
                        (child_direction){(uint8_t)direction_index(s->axes, first, second),
                                          {(uint8_t)slot[0], (uint8_t)slot[1], (uint8_t)slot[2]}};
                }
        }
}

/* Returns the cost of a child with the triple kept for the direction nearest to its sides. */
static double look_up(const double (*triples)[3], const child_direction *near, const double face[3])
{
    const double *t = triples[near->index];
    return t[0] * face[near->slot[0]] + t[1] * face[near->slot[1]] + t[2] * face[near->slot[2]];
}

static int shift_of(double apart) { return apart < SHIFTS - 1 ? (int)(apart + 0.5) : SHIFTS - 1; }

static void fill_run(table *s, int32_t first, int32_t end)
{
    const int64_t run = hs__interval(first, end);
    double best[GRID];
    double(*triple)[3] = s->triple + (size_t)run * (size_t)s->directions;
    for (int32_t g = 0; g < s->directions; g++) best[g] = INFINITY;
    for (int32_t cut = first + 1; cut < end; cut++) {
        const int64_t run_a = hs__interval(first, cut);
        const int64_t run_b = hs__interval(cut, end);
        const double(*a)[3] =
            (const double(*)[3])(s->triple + (size_t)run_a * (size_t)s->directions);
        const double(*b)[3] =
            (const double(*)[3])(s->triple + (size_t)run_b * (size_t)s->directions);
        double share_a = s->sum[run_a] / s->sum[run];
        double share_b = s->sum[run_b] / s->sum[run];
        int shift_a = shift_of(s->exponent[run] - s->exponent[run_a]);
        int shift_b = shift_of(s->exponent[run] - s->exponent[run_b]);
        for (int q = 0; q < s->axes; q++) {
            const child_direction *near_a = s->child[q][shift_a];
            const child_direction *near_b = s->child[q][shift_b];
            for (int32_t g = 0; g < s->directions; g++) {
                const double *face = s->face[g];
                double face_a[3] = {face[0] * share_a, face[1] * share_a, face[2] * share_a};
                double face_b[3] = {face[0] * share_b, face[1] * share_b, face[2] * share_b};
                face_a[q] = face_b[q] = face[q];
                double cost = look_up(a, &near_a[g], face_a) + look_up(b, &near_b[g], face_b);
                if (cost < best[g]) {
                    best[g] = cost;
                    const child_direction *in_a = &near_a[g];
                    const child_direction *in_b = &near_b[g];
                    const double *t = a[in_a->index];
                    const double *u = b[in_b->index];
                    double sum[3] = {0.0, 0.0, 0.0};
                    for (int i = 0; i < 3; i++) {
                        sum[in_a->slot[i]] += in_a->slot[i] == q ? t[i] : t[i] * share_a;
                        sum[in_b->slot[i]] += in_b->slot[i] == q ? u[i] : u[i] * share_b;
                    }
                    memcpy(triple[g], sum, sizeof sum);
                }
            }
        }
    }
}

/* Returns the cost of the best triple kept for a run, in a box of any sides (by slot). */
static double run_cost(const table *s, int32_t first, int32_t end, const double side[3])
{
    int slot[3];
    double face[3];
    double best = INFINITY;
    hs__cuboid_faces(side, face);
    if (end - first == 1) return face[0] + face[1] + face[2];
    sort_slots(s->axes, side, slot);
    const double(*t)[3] =
        (const double(*)[3])(s->triple + (size_t)hs__interval(first, end) * (size_t)s->directions);
    for (int32_t g = 0; g < s->directions; g++)
        best =
            fmin(best, t[g][0] * face[slot[0]] + t[g][1] * face[slot[1]] + t[g][2] * face[slot[2]]);
    return best;
}

/* Finds the best first cut of a run in a box of any sides, with the triples kept for the two
 * parts. */
static double best_cut(const table *s, int32_t first, int32_t end, const double side[3],
                       int32_t *best_at, int *best_slot)
{
    double best = INFINITY;
    double total = s->sum[hs__interval(first, end)];
    for (int32_t at = first + 1; at < end; at++)
        for (int q = 0; q < s->axes; q++) {
            double side_a[3] = {side[0], side[1], side[2]};
            double side_b[3] = {side[0], side[1], side[2]};
            side_a[q] *= s->sum[hs__interval(first, at)] / total;
            side_b[q] *= s->sum[hs__interval(at, end)] / total;
            double cost = run_cost(s, first, at, side_a) + run_cost(s, at, end, side_b);
            if (cost < best) {
                best = cost;
                *best_at = at;
                *best_slot = q;
            }
        }
    return best;
}

/* Fills the table for s->volume[0 .. size); returns the cost in the box, INFINITY for fewer than
 * two parts or after a cancellation. */
static double fill_table(table *s, int32_t size, const double side[3])
{
    for (int32_t end = 1; end <= size; end++) {
        double sum = 0.0;
        for (int32_t first = end; first-- > 0;) {
            const int64_t run = hs__interval(first, end);
            s->sum[run] = sum += s->volume[first];
            s->exponent[run] = log2(sum) / STEP;
        }
        double(*leaf)[3] = s->triple + (size_t)hs__interval(end - 1, end) * (size_t)s->directions;
        for (int32_t g = 0; g < s->directions; g++) leaf[g][0] = leaf[g][1] = leaf[g][2] = 1.0;
        /* all runs that end here, except the whole list */
        for (int32_t first = end - 1; first-- > (end == size);) {
            if (hs__cancelled(s->cancel)) return INFINITY;
            fill_run(s, first, end);
        }
    }
    int32_t at;
    int slot;
    return best_cut(s, 0, size, side, &at, &slot);
}

/* Writes the tree of a run in a box of given sides. Each cut is chosen anew for the actual sides,
 * so the tree costs no more than the table said. Small runs are searched exactly. */
static void write_tree(table *s, int32_t first, int32_t end, const double side[3],
                       const int32_t *worker, int32_t *tree)
{
    int32_t size = end - first;
    if (hs__cancelled(s->cancel)) return;
    if (size <= EXACT) {
        int32_t parts[2 * EXACT];
        hs__cuboid_guillotine(&s->small, size, s->volume + first, side, s->axes == 3 ? 7 : 3, NULL,
                              parts);
        for (int32_t i = 0; i < 2 * size - 1; i++)
            tree[i] = parts[i] < 0 ? -1 - s->axis[-1 - parts[i]] : worker[first + parts[i]];
        return;
    }
    int32_t at = first + 1;
    int q = 0;
    best_cut(s, first, end, side, &at, &q);
    double side_a[3] = {side[0], side[1], side[2]};
    double side_b[3] = {side[0], side[1], side[2]};
    side_a[q] *= s->sum[hs__interval(first, at)] / s->sum[hs__interval(first, end)];
    side_b[q] *= s->sum[hs__interval(at, end)] / s->sum[hs__interval(first, end)];
    write_tree(s, first, at, side_a, worker, tree);
    write_tree(s, at, end, side_b, worker, tree + 2 * (ptrdiff_t)(at - first) - 1);
    tree[2 * size - 2] = -1 - s->axis[q];
}

/* ---- the search over orders ------------------------------------------------------------------ */

/* Swaps two parts, moves one part, or reverses a stretch. */
static void change_order(int32_t size, int32_t *order, uint64_t *state)
{
    int32_t i = hs__pick(state, size);
    int32_t j = hs__pick(state, size - 1);
    if (j >= i) j++;
    switch (hs__random_below(state, 3)) {
    case 0: hs__swap(order, i, j); break;
    case 1: hs__shift(order, i, j); break;
    default: hs__reverse(abs(j - i) + 1, order + (i < j ? i : j));
    }
}

/* Descends from the order in *s over `tries` changed orders, and leaves the best order in worker
 * and volume. */
static void search_orders(table *s, int32_t size, const double side[3], int32_t tries,
                          uint64_t seed, int32_t *worker, double *volume)
{
    int32_t order[LARGEST], trial[LARGEST];
    double free_cost = 0.0;
    double cost = fill_table(s, size, side); /* Lower bound: the cost if all parts were cubes. */
    bool equal = true;
    for (int32_t i = 0; i < size; i++) {
        order[i] = i;
        equal &= volume[i] == volume[0];
        free_cost += 3.0 * pow(volume[i] * side[0] * side[1] * side[2], 2.0 / 3.0);
    }
    while (!equal && tries-- > 0 && cost > free_cost * (1.0 + 1e-12) && !hs__cancelled(s->cancel)) {
        memcpy(trial, order, sizeof order);
        change_order(size, trial, &seed);
        for (int32_t i = 0; i < size; i++) s->volume[i] = volume[trial[i]];
        double changed = fill_table(s, size, side);
        if (changed <= cost) {
            cost = changed;
            memcpy(order, trial, sizeof order);
        }
    }
    int32_t old[LARGEST];
    memcpy(old, worker, (size_t)size * sizeof *old);
    for (int32_t i = 0; i < size; i++) {
        worker[i] = old[order[i]];
        s->volume[i] = volume[order[i]];
    }
    for (int32_t i = 0; i < size; i++) volume[i] = s->volume[i];
    fill_table(s, size, side);
}

/* Cuts more parts than the table can take into halves by volume, across the longest side, until
 * they fit. The half with fewer parts is done first, so the recursion is no deeper than
 * log2(parts). */
static void halve_parts(table *s, int32_t size, const double given[3], int32_t *worker,
                        double *volume, int32_t *tree)
{
    double side[3] = {given[0], given[1], given[2]};
    /* the first cut stands at the last place of the tree */
    int32_t *end = tree + 2 * (ptrdiff_t)size - 1;
    while (size > LARGEST) {
        double total = 0.0;
        double below = 0.0;
        for (int32_t i = 0; i < size; i++) total += volume[i];
        int32_t at = 0;
        while (at < size - 1 && (at == 0 || below + volume[at] / 2.0 < total / 2.0))
            below += volume[at++];
        double above = 0.0;
        for (int32_t i = at; i < size; i++) above += volume[i];
        int q = 0;
        for (int other = 1; other < s->axes; other++)
            if (side[other] > side[q]) q = other;
        *--end = -1 - s->axis[q];
        double side_a[3] = {side[0], side[1], side[2]};
        double side_b[3] = {side[0], side[1], side[2]};
        side_a[q] *= below / (below + above);
        side_b[q] *= above / (below + above);
        if (at <= size - at) {
            halve_parts(s, at, side_a, worker, volume, tree);
            tree += 2 * at - 1;
            worker += at;
            volume += at;
            size -= at;
            memcpy(side, side_b, sizeof side);
        } else {
            halve_parts(s, size - at, side_b, worker + at, volume + at, tree);
            tree += 2 * (size - at) - 1;
            size = at;
            memcpy(side, side_a, sizeof side);
        }
    }
    memcpy(s->volume, volume, (size_t)size * sizeof *volume);
    if (size > 1) fill_table(s, size, side);
    else s->sum[0] = volume[0];
    write_tree(s, 0, size, side, worker, tree);
}

hs_status hs_partition_cuboids(int32_t p, const double *volumes, const double *faces, int32_t axes,
                               const int32_t *order, int32_t tries, uint64_t seed,
                               const int *cancel, int32_t *tree, int32_t *length, double *cost)
{
    if (!volumes || !faces || !tree || !length || !cost) return HS_ERROR_VALUE;
    if (tries < 0) return HS_ERROR_VALUE;
    hs__cuboid_problem s;
    hs_status status = hs__cuboid_setup(p, volumes, faces, axes, &s);
    if (status) return status;
    if (order) status = hs__check_order(p, s.size, order, volumes);
    for (int32_t i = 0; i < s.size && order && !status; i++) {
        s.worker[i] = order[i];
        s.volume[i] = hs__cuboid_share(volumes[order[i]], s.total);
    }
    table *t = NULL;
    if (!status && s.free_axis >= 0) hs__cuboid_slices(&s, tree);
    else if (!status) {
        int32_t held = s.size < LARGEST ? s.size : LARGEST;
        t = malloc(sizeof *t);
        if (t) {
            fill_directions(t, axes, s.side);
            t->cancel = cancel;
            t->triple =
                malloc((size_t)(held * (held + 1) / 2) * (size_t)t->directions * sizeof *t->triple);
        }
        if (!t || !t->triple) status = HS_ERROR_MEMORY;
        else {
            const double side[3] = {s.side[t->axis[0]], s.side[t->axis[1]], s.side[t->axis[2]]};
            if (tries > 0 && s.size > 2 && s.size <= LARGEST) {
                memcpy(t->volume, s.volume, (size_t)s.size * sizeof *s.volume);
                search_orders(t, s.size, side, tries, seed, s.worker, s.volume);
                write_tree(t, 0, s.size, side, s.worker, tree);
            } else halve_parts(t, s.size, side, s.worker, s.volume, tree);
            free(t->triple);
            if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        }
    }
    free(t);
    free(s.worker);
    free(s.volume);
    if (status) return status;
    return hs__cuboid_end(p, volumes, faces, tree, 2 * s.size - 1, length, cost);
}
