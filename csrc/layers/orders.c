/* The search for the best order of the messages: moves, and dynamic programming over the sets of
 * workers that come last. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "layers/exact.h"

enum { MOST_ALL = 20, MOST_FAR = 64, MOST_SETS = 1 << 16, NEAR = 3, CLOSED = -1 };

/* Moves the worker at place `from` to place `to`. */
static void move_worker(hs__layer_worker *workers, int32_t from, int32_t to)
{
    const hs__layer_worker moved = workers[from];
    if (from < to)
        memmove(workers + from, workers + from + 1, (size_t)(to - from) * sizeof *workers);
    else memmove(workers + to + 1, workers + to, (size_t)(from - to) * sizeof *workers);
    workers[to] = moved;
}

static void exchange_workers(hs__layer_worker *workers, int32_t a, int32_t b)
{
    const hs__layer_worker kept = workers[a];
    workers[a] = workers[b];
    workers[b] = kept;
}

/* Local search: exchanges two workers, or moves one to the place of the other, until no change makes
 * the schedule shorter or `work` is used up. Times are found in narrow windows, so they may be above
 * the best time of an order. */
static hs_status improve_order(hs__layer_solver *s, int32_t q, hs__layer_worker *workers,
                               int64_t work, double *best)
{
    const int32_t far = q <= MOST_FAR ? q : NEAR;
    hs__layer_relax(s, q, workers);
    /* curves have more points if limits bind */
    const int64_t cost = q * hs__max(1, s->room[q & 1].count / 2);
    for (bool better = true; better;) {
        better = false;
        for (int32_t a = 0; a < q; a++)
            for (int32_t b = a + 1; b < q && b <= a + far; b++)
                for (int move = 0; move < (b == a + 1 ? 1 : 3); move++) {
                    if (work < cost) return HS_OK;
                    work -= cost;
                    if (move == 0) exchange_workers(workers, a, b);
                    else move_worker(workers, move == 1 ? a : b, move == 1 ? b : a);
                    hs__layer_relax(s, q, workers);
                    hs__layer_around(s, q, workers, HS__LAYERS_NARROW);
                    double time;
                    const hs_status status = hs__layer_fill(s, q, workers, &time);
                    if (status) return status;
                    if (time < *best * (1.0 - 0x1p-45)) {
                        better = true;
                        *best = time;
                    } else if (move == 0) exchange_workers(workers, a, b);
                    else move_worker(workers, move == 1 ? b : a, move == 1 ? a : b);
                }
    }
    return HS_OK;
}

/* Splits the workers into those not in the set, which come first, and those in it, each in their
 * order; returns the number of the former. */
static int32_t split_workers(int32_t q, const hs__layer_worker *sorted, int32_t set,
                             hs__layer_worker *out)
{
    int32_t before = 0;
    int32_t end = q;
    for (int32_t d = 0; d < q; d++)
        if (!(set >> d & 1)) out[before++] = sorted[d];
    for (int32_t d = q; d-- > 0;)
        if (set >> d & 1) out[--end] = sorted[d];
    return before;
}

static bool are_alike(const hs__layer_worker *x, const hs__layer_worker *y)
{
    return x->send == y->send && x->hold == y->hold && x->most == y->most;
}

/* Returns how many layers a set may have in a schedule that ends by `end`.
 *   parts  the workers outside of the set, then, from place `before` on, the set, which gets its
 *          messages last; the order within both is free */
static hs__layer_table set_window(hs__layer_solver *s, int32_t before, int32_t q, double end,
                                  const hs__layer_worker *parts)
{
    const double layers = (double)s->n;
    const double rate = hs__layers_rate(q - before, parts + before, NULL);
    hs__layer_curve *first = &s->room[0];
    hs__layer_curve *last = &s->room[1];
    double together = rate;
    double most = 0.0; /* sum of the limits of the set */
    for (int32_t d = before; d-- > 0;)
        together = fmax(together, parts[d].rate + parts[d].keep * together);
    if (end * together < layers * (1.0 - (double)(q + 8) * 0x1p-45))
        return (hs__layer_table){0, -1, NULL};
    hs__layers_front(before, parts, end, s->key, s->pool, first, NULL);
    for (int32_t d = before; d < q; d++) most += (double)parts[d].most;
    /* some worker of the set has a limit */
    if (most < (double)(q - before) * layers) {
        hs__layers_front(q - before, parts + before, end, s->key, s->pool, last, NULL);
        most = last->layers[last->count - 1];
    }
    last->count = 2;
    last->layers[0] = last->time[0] = 0.0;
    last->layers[1] = fmin(most, layers);
    last->time[1] = last->layers[1] / rate;
    return hs__table_window(s->n, end, first, last);
}

/* Computes the windows of every set of workers that may come last if all end by the time. Any order
 * is allowed within the set and before it. HS_ERROR_UNSUPPORTED if there are too many. */
static hs_status find_set_windows(hs__layer_solver *s, int32_t q, double time,
                                  hs__layer_worker *parts, hs__layer_table *tables)
{
    const int32_t all = (int32_t)((UINT32_C(1) << q) - 1);
    const double end = time * (1.0 + 0x1p-40);
    int64_t sets = 0;
    int64_t states = 2;
    tables[0] = (hs__layer_table){0, 0, NULL};
    tables[all] = (hs__layer_table){s->n, s->n, NULL};
    for (int32_t set = 1; set < all; set++) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        tables[set] = (hs__layer_table){0, -1, NULL};
        /* Equal workers can be exchanged: a set with worker d + 1 but without its equal d is enough. */
        bool duplicate = false;
        for (int32_t d = 0; d + 1 < q && !duplicate; d++)
            duplicate = (set >> d & 3) == 1 && are_alike(&s->sorted[d], &s->sorted[d + 1]);
        if (duplicate) continue;
        tables[set] = set_window(s, split_workers(q, s->sorted, set, parts), q, end, parts);
        if (hs__table_empty(&tables[set])) continue;
        states += hs__table_size(&tables[set]);
        if (++sets > MOST_SETS || states > HS__LAYERS_STATES / 2) return HS_ERROR_UNSUPPORTED;
    }
    return HS_OK;
}

static hs_status fill_sets(hs__layer_solver *s, int32_t q, hs__layer_table *tables)
{
    const int32_t all = (int32_t)((UINT32_C(1) << q) - 1);
    const hs_status status = hs__layer_reserve(s, INT64_C(1) << q, tables);
    if (status) return status;
    double *numbers = s->numbers;
    for (int32_t set = 0; set <= all; set++) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        hs__layer_table *now = &tables[set];
        if (hs__table_empty(now)) continue;
        now->least = numbers;
        numbers += hs__table_size(now);
        hs__table_start(now);
        if (!set) now->least[0] = 0.0;
        for (int32_t d = 0; d < q; d++)
            if (set >> d & 1 && !hs__table_empty(&tables[set & ~(1 << d)]))
                hs__table_prepend(&s->sorted[d], &tables[set & ~(1 << d)], now, s->queue);
    }
    return HS_OK;
}

static void read_order(const hs__layer_solver *s, int32_t q, const hs__layer_table *tables,
                       hs__layer_worker *workers, int64_t *counts)
{
    int64_t m = s->n;
    int64_t sum = 0;
    for (int32_t set = (int32_t)((UINT32_C(1) << q) - 1), place = 0; set; place++) {
        double best = INFINITY;
        int32_t chosen = -1;
        int64_t left = 0;
        for (int32_t d = 0; d < q; d++) {
            int64_t rest = 0;
            if (!(set >> d & 1) || hs__table_empty(&tables[set & ~(1 << d)])) continue;
            const double time = hs__table_choose(&s->sorted[d], &tables[set & ~(1 << d)], m, &rest);
            if (time < best || chosen < 0) {
                best = time;
                chosen = d;
                left = rest;
            }
        }
        workers[place] = s->sorted[chosen];
        counts[place] = m > left ? m - left : 0;
        sum += counts[place];
        m = left;
        set &= ~(1 << chosen);
    }
    hs__layer_drop(sum - s->n, q, counts);
}

/* Solves over all orders of up to MOST_ALL workers, by the sets of workers that come last; replaces
 * the order if a better one is found. */
static hs_status prove_order(hs__layer_solver *s, int32_t q, hs__layer_worker *workers,
                             int64_t *counts, double *end, bool *optimal)
{
    if (q > MOST_ALL) return HS_OK;
    hs__layer_table *tables = malloc(((size_t)1 << q) * sizeof *tables);
    hs__layer_worker *parts = malloc((size_t)q * sizeof *parts);
    hs_status status =
        tables && parts ? find_set_windows(s, q, *end, parts, tables) : HS_ERROR_MEMORY;
    if (status == HS_OK) status = fill_sets(s, q, tables);
    if (status == HS_OK) {
        *optimal = true;
        if (tables[((size_t)1 << q) - 1].least[0] < *end * (1.0 - 0x1p-48)) {
            read_order(s, q, tables, workers, counts);
            *end = hs__layers_end(q, workers, counts);
        }
    }
    free(tables);
    free(parts);
    return status == HS_ERROR_UNSUPPORTED ? HS_OK : status;
}

/* Sorts the workers by the work after their messages, the most first. For these counts this order
 * is optimal (Jackson's rule), hence no worse. */
static hs_status sort_tails(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                            const int64_t *counts, hs__layer_worker *out)
{
    for (int32_t d = 0; d < q; d++) s->key[d] = workers[d].tail * (double)counts[d];
    const hs_status status = hs__sort(q, s->key, s->pool);
    for (int32_t d = 0; d < q && !status; d++) out[q - 1 - d] = workers[s->pool[d]];
    return status;
}

/* Finds the best order and counts. It starts from the better of two orders, the given one and the
 * fastest links first; then it tries the best order for its counts, then moves. work: effort of the
 * moves, in workers looked at. */
static hs_status search_orders(hs__layer_solver *s, int32_t q, hs__layer_worker *workers,
                               int64_t work, int64_t *counts, double *end, bool *optimal)
{
    enum { LINKS, TAILS, MOVES, STARTS };
    hs__layer_worker *other = malloc((size_t)q * sizeof *other);
    int64_t *layers = malloc((size_t)q * sizeof *layers);
    hs_status status = hs__check_memory(other && layers);
    bool proven = false;
    if (!status) {
        memcpy(s->sorted, workers, (size_t)q * sizeof *workers);
        hs__layers_sort(q, s->sorted);
        status = hs__layer_solve(s, q, workers, counts, end, &proven);
    }
    for (int start = LINKS; start < STARTS && !status; start++) {
        double best = *end;
        bool known;
        memcpy(other, start == LINKS ? s->sorted : workers, (size_t)q * sizeof *other);
        if (start == TAILS) status = sort_tails(s, q, workers, counts, other);
        if (start == MOVES) {
            status = improve_order(s, q, other, work, &best);
            if (status || !(best < *end)) break;
        }
        if (!status) status = hs__layer_solve(s, q, other, layers, &best, &known);
        if (status || !(best < *end)) continue;
        memcpy(workers, other, (size_t)q * sizeof *other);
        memcpy(counts, layers, (size_t)q * sizeof *layers);
        *end = best;
    }
    *optimal = q == 1 && proven;
    if (!status) status = prove_order(s, q, workers, counts, end, optimal);
    free(other);
    free(layers);
    return status;
}

/* ---- public functions ------------------------------------------------------------------------ */

static hs_status open_solver(hs__layer_solver *s, int32_t p)
{
    s->sorted = malloc((size_t)p * sizeof *s->sorted);
    s->tables = malloc(((size_t)p + 1) * sizeof *s->tables);
    s->shares = malloc(2 * (size_t)p * sizeof *s->shares);
    s->pool = malloc((size_t)p * sizeof *s->pool);
    for (int i = 0; i < 2; i++) s->room[i] = hs__layers_curve(2 * (int64_t)p + 1);
    if (!s->sorted || !s->tables || !s->shares || !s->pool || !s->room[0].layers ||
        !s->room[1].layers)
        return HS_ERROR_MEMORY;
    s->key = s->shares + p;
    return HS_OK;
}

static void close_solver(hs__layer_solver *s)
{
    free(s->sorted);
    free(s->tables);
    free(s->shares);
    free(s->pool);
    free(s->room[0].layers);
    free(s->room[1].layers);
    free(s->numbers);
    free(s->queue);
}

/* Does the work of hs_layers_exact, or, with chosen [p], of hs_layers_best. */
static hs_status optimise_layers(const hs_layers *problem, const int32_t *order, int64_t work,
                                 const int *cancel, int32_t *chosen, int64_t *counts, int *optimal)
{
    hs_status status = hs__layers_check(problem, order);
    if (status) return status;
    const size_t p = (size_t)problem->p;
    hs__layer_solver s = {.n = problem->layers, .cancel = cancel};
    hs__layer_worker *workers = malloc(p * sizeof *workers);
    int64_t *own = malloc(p * sizeof *own);
    status = workers && own ? open_solver(&s, problem->p) : HS_ERROR_MEMORY;
    int32_t q = 0;
    bool proven = true;
    double end;
    if (status == HS_OK) {
        q = hs__layers_open(problem, order, workers);
        if (!hs__layers_sequential(problem) || !s.n)
            status = hs__layers_apart(s.n, q, workers, cancel, own, &end);
        else if (chosen) status = search_orders(&s, q, workers, work, own, &end, &proven);
        else status = hs__layer_solve(&s, q, workers, own, &end, &proven);
    }
    if (status == HS_OK) {
        *optimal = proven;
        for (int32_t i = 0; i < problem->p; i++) counts[i] = CLOSED;
        for (int32_t d = 0; d < q; d++) counts[workers[d].index] = own[d];
        for (int32_t d = 0; d < q && chosen; d++) chosen[d] = workers[d].index;
        for (int32_t i = 0; i < problem->p; i++) {
            if (counts[i] != CLOSED) continue;
            counts[i] = 0;
            if (chosen) chosen[q++] = i;
        }
    }
    free(workers);
    free(own);
    close_solver(&s);
    return status;
}

hs_status hs_layers_exact(const hs_layers *problem, const int32_t *order, const int *cancel,
                          int64_t *counts, int *optimal)
{
    if (!counts || !optimal) return HS_ERROR_VALUE;
    return optimise_layers(problem, order, 0, cancel, NULL, counts, optimal);
}

hs_status hs_layers_best(const hs_layers *problem, int64_t work, const int *cancel, int32_t *order,
                         int64_t *counts, int *optimal)
{
    if (!order || !counts || !optimal) return HS_ERROR_VALUE;
    return optimise_layers(problem, NULL, work, cancel, order, counts, optimal);
}
