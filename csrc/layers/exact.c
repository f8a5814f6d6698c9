/* Whole layers, one link after the other: exact programmes over the number of layers that are left, for one order and over all.
 *
 * The least time in which the workers from place d on can do m layers follows from that of those from place d + 1 on. Only numbers m
 * are looked at that a schedule better than the best one known can leave; a relaxation with real shares says which. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "layers/layers.h"

enum { MOST_ALL = 20, MOST_FAR = 64, NARROW = 8, WIDE = 4096, NEAR = 3, CLOSED = -1 };
static const int64_t MOST_STATES = INT64_C(1) << 25, MOST_SETS = INT64_C(1) << 16;

/* least[m - low]: when m layers can be ended; low .. high. It never falls as m grows: one more layer for somebody. */
typedef struct {
    int64_t low, high;
    double *least;
} table;

static bool is_empty(const table *x) { return x->low > x->high; }
static int64_t size_of(const table *x) { return is_empty(x) ? 0 : x->high - x->low + 1; }

/* ---- which numbers of layers can be left ---- */

/* By how much both curves together are late where `left` layers are left to those after. */
static double lateness(double layers, double time, const hs__layer_curve *before, const hs__layer_curve *after, double left)
{
    const double most = before->layers[before->count - 1], possible = after->layers[after->count - 1];
    return hs__layers_time(before, fmin(layers - left, most)) + hs__layers_time(after, fmin(left, possible)) - time;
}

/* The layers that may be left to those after by those before, if all end by the time. Both curves are convex: those of their points that
 * are in time are side by side, and the ends lie on the straight lines to the next. */
static table window(int64_t n, double time, const hs__layer_curve *before, const hs__layer_curve *after)
{
    const int32_t points = before->count + after->count;
    const double layers = (double)n, slack = (double)(points + 8) * 0x1p-48 * layers;
    const double least = fmax(0.0, layers - before->layers[before->count - 1]), most = fmin(layers, after->layers[after->count - 1]);
    double low = INFINITY, high = -INFINITY, below = -INFINITY, above = INFINITY;
    if (least > most + slack) return (table){0, -1, NULL};
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < points; i++) {
            const double point = i < before->count ? layers - before->layers[i] : after->layers[i - before->count];
            const double left = fmax(least, fmin(most, point));
            if (pass && left < low) below = fmax(below, left);
            else if (pass && left > high) above = fmin(above, left);
            else if (!pass && lateness(layers, time, before, after, left) <= 0.0) low = fmin(low, left), high = fmax(high, left);
        }
        if (low > high) return (table){0, -1, NULL};
    }
    if (isfinite(below)) {
        const double early = -lateness(layers, time, before, after, low), late = lateness(layers, time, before, after, below);
        low += (below - low) * (early / (early + late));
    }
    if (isfinite(above)) {
        const double early = -lateness(layers, time, before, after, high), late = lateness(layers, time, before, after, above);
        high += (above - high) * (early / (early + late));
    }
    low = ceil(low - slack), high = floor(high + slack);
    if (!(low <= high)) return (table){0, -1, NULL};
    return (table){low > 0.0 ? (int64_t)low : 0, high < layers ? (int64_t)high : n, NULL};
}

/* ---- the programme ---- */

/* Lowers `now` to what is possible with this worker before those of `next`. With k layers it and all others are done at
 * max(k hold, k send + next(m - k)). The first is larger where k tail >= next(m - k), which begins at a k that never falls as m grows and
 * never grows faster than m; below it the least of the second is that of a window that slides, as does the least m - k that its limit
 * allows: O(1) a number. queue: [size of next] */
static void prepend(const hs__layer_worker *worker, const table *next, table *now, int64_t *queue)
{
    const double send = worker->send, hold = worker->hold, tail = worker->tail, *least = next->least;
    const int64_t low = next->low;
    int64_t first = 0, end = 0, seen = low - 1, full = low - 1; /* full: the most left with which it ends last itself */
    for (int64_t m = now->low; m <= now->high; m++) {
        double *best = &now->least[m - now->low];
        if (m < low) { /* by the rounding of the windows only; more layers will do for fewer */
            *best = fmin(*best, least[0]);
            continue;
        }
        const int64_t limit = m < next->high ? m : next->high;
        while (full < limit && (double)(m - full - 1) * tail >= least[full + 1 - low]) full++;
        while (seen < limit) {
            const double latest = least[++seen - low];
            while (end > first && least[queue[end - 1] - low] + (double)(seen - queue[end - 1]) * send >= latest) end--;
            queue[end++] = seen;
        }
        const int64_t least_left = m - worker->most;
        while (first < end && (queue[first] <= full || queue[first] < least_left)) first++;
        if (full >= low && full >= least_left) *best = fmin(*best, (double)(m - full) * hold);
        if (first < end) *best = fmin(*best, (double)(m - queue[first]) * send + least[queue[first] - low]);
    }
}

static void start_table(table *x)
{
    for (int64_t m = x->low; m <= x->high; m++) x->least[m - x->low] = INFINITY;
}

/* The best number of layers for this worker if m are to do, and what that leaves: out. Returns the time. */
static double choose(const hs__layer_worker *worker, const table *next, int64_t m, int64_t *left)
{
    double best = INFINITY;
    const int64_t limit = m < next->low ? next->low : m < next->high ? m : next->high;
    for (int64_t rest = hs__max(next->low, m - worker->most); rest <= limit; rest++) {
        const double k = rest < m ? (double)(m - rest) : 0.0;
        const double time = fmax(k * worker->hold, k * worker->send + next->least[rest - next->low]);
        if (time < best) best = time, *left = rest;
    }
    return best;
}

/* ---- one order ---- */

typedef struct {
    int64_t n;
    const int *cancel;
    hs__layer_worker *sorted; /* [p] scratch */
    double *shares, *key;     /* [p] real shares; scratch */
    int32_t *pool;            /* [p] scratch */
    hs__layer_curve room[2];  /* of 2 p + 1 points */
    table *tables;            /* [p + 1] of the workers from each place on */
    double *numbers;          /* [states] of the tables; NULL at first */
    int64_t *queue;           /* [widest] */
    int64_t states, widest;
} solver;

/* Room for the tables of these windows. */
static hs_status reserve(solver *s, int64_t count, const table *tables)
{
    int64_t states = 0, widest = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t size = size_of(&tables[k]);
        states += size, widest = size > widest ? size : widest;
    }
    if (states > s->states) {
        free(s->numbers);
        s->numbers = malloc((size_t)states * sizeof *s->numbers);
        s->states = s->numbers ? states : 0;
    }
    if (widest > s->widest) {
        free(s->queue);
        s->queue = malloc((size_t)widest * sizeof *s->queue);
        s->widest = s->queue ? widest : 0;
    }
    return s->numbers && s->queue ? HS_OK : HS_ERROR_MEMORY;
}

static int64_t states_of(const solver *s, int32_t q)
{
    int64_t sum = 0;
    for (int32_t d = 0; d <= q && sum <= MOST_STATES; d++) sum += size_of(&s->tables[d]);
    return sum;
}

/* The real shares of this order; returns their time. */
static double relax(solver *s, int32_t q, const hs__layer_worker *workers)
{
    return hs__layers_shares((double)s->n, q, workers, s->room, s->shares);
}

/* Windows of this width around whole numbers near what real shares leave: a way that all limits allow is in them. */
static void around(solver *s, int32_t q, const hs__layer_worker *workers, int64_t width)
{
    table *x = s->tables;
    x[q].high = 0;
    for (int32_t d = q; d-- > 0;) x[d].high = hs__min(s->n, x[d + 1].high + workers[d].most); /* that those from d on may have */
    double left = (double)s->n;
    int64_t middle = s->n;
    x[0].low = x[0].high = s->n;
    for (int32_t d = 1; d <= q; d++) {
        const int64_t least = middle - workers[d - 1].most, most = hs__min(middle, x[d].high);
        left = fmax(0.0, left - s->shares[d - 1]);
        middle = hs__max(least, hs__min(most, (int64_t)rint(left)));
        x[d].low = hs__max(0, middle - width), x[d].high = hs__min(x[d].high, middle + width);
    }
    x[q].low = x[q].high = 0;
}

/* The curves of those from each place on, [q + 1], to be freed. HS_ERROR_UNSUPPORTED if they have too many points. */
static hs_status curves_after(const solver *s, int32_t q, const hs__layer_worker *workers, hs__layer_curve *after)
{
    int64_t points = 0;
    for (int32_t d = q; d >= 0; d--) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        const int64_t room = d < q ? (int64_t)after[d + 1].count + 2 : 1;
        if ((points += room) > MOST_STATES) return HS_ERROR_UNSUPPORTED;
        after[d] = hs__layers_curve(room);
        if (!after[d].layers) return HS_ERROR_MEMORY;
        if (d < q) hs__layers_put_first(&after[d + 1], &workers[d], (double)s->n, &after[d]);
        else after[d].count = 1, after[d].layers[0] = after[d].time[0] = 0.0;
    }
    return HS_OK;
}

/* Windows of all schedules that end by the time; HS_ERROR_UNSUPPORTED if they are too many. */
static hs_status within(solver *s, int32_t q, const hs__layer_worker *workers, double time)
{
    const double end = time * (1.0 + 0x1p-40);
    hs__layer_curve *after = calloc((size_t)q + 1, sizeof *after), *before = &s->room[0], *next = &s->room[1];
    hs_status status = after ? curves_after(s, q, workers, after) : HS_ERROR_MEMORY;
    before->count = 1, before->layers[0] = before->time[0] = 0.0;
    for (int32_t d = 1; d < q && !status; d++) {
        if (hs__cancelled(s->cancel)) status = HS_ERROR_CANCELLED;
        hs__layers_put_last(before, &workers[d - 1], end, (double)s->n, next);
        hs__layer_curve *other = before;
        before = next, next = other;
        s->tables[d] = window(s->n, end, before, &after[d]);
    }
    for (int32_t d = 0; d <= q && after; d++) free(after[d].layers);
    free(after);
    s->tables[0] = (table){s->n, s->n, NULL}, s->tables[q] = (table){0, 0, NULL};
    if (status) return status;
    return states_of(s, q) <= MOST_STATES ? HS_OK : HS_ERROR_UNSUPPORTED;
}

/* The tables of all places within their windows; out: the time of all layers, infinite if the windows leave no way. */
static hs_status fill(solver *s, int32_t q, const hs__layer_worker *workers, double *time)
{
    *time = INFINITY;
    for (int32_t d = 0; d <= q; d++)
        if (is_empty(&s->tables[d])) return HS_OK;
    const hs_status status = reserve(s, q + 1, s->tables);
    if (status) return status;
    double *numbers = s->numbers;
    for (int32_t d = q; d >= 0; d--) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        table *now = &s->tables[d];
        now->least = numbers, numbers += size_of(now);
        start_table(now);
        if (d == q) now->least[0] = 0.0;
        else prepend(&workers[d], &s->tables[d + 1], now, s->queue);
    }
    *time = s->tables[0].least[0];
    return HS_OK;
}

/* Fewer layers never take longer. */
static void drop(int64_t excess, int32_t q, int64_t *counts)
{
    for (int32_t d = q; d-- > 0 && excess > 0;) {
        const int64_t less = counts[d] < excess ? counts[d] : excess;
        counts[d] -= less, excess -= less;
    }
}

static void read_counts(const solver *s, int32_t q, const hs__layer_worker *workers, int64_t *counts)
{
    int64_t m = s->n, sum = 0;
    for (int32_t d = 0; d < q; d++) {
        int64_t left = 0;
        choose(&workers[d], &s->tables[d + 1], m, &left);
        counts[d] = m > left ? m - left : 0;
        sum += counts[d], m = left;
    }
    drop(sum - s->n, q, counts);
}

/* The best counts for this order; *optimal says whether that is proven. Where the windows would be too wide, as all layers might be
 * left out somewhere at no loss, the real shares are a proof up to rounding, or there is none. */
static hs_status solve(solver *s, int32_t q, const hs__layer_worker *workers, int64_t *counts, double *end, bool *optimal)
{
    const double bound = relax(s, q, workers);
    *optimal = false;
    for (int64_t width = NARROW;; width *= 8) {
        around(s, q, workers, width);
        if (width > WIDE || (width > NARROW && states_of(s, q) > MOST_STATES)) return HS_OK;
        double time;
        hs_status status = fill(s, q, workers, &time);
        if (status) return status;
        read_counts(s, q, workers, counts);
        *end = hs__layers_end(q, workers, counts);
        *optimal = *end <= bound * (1.0 + (double)(q + 8) * 0x1p-51);
        if (*optimal) return HS_OK;
        status = within(s, q, workers, *end);
        if (status == HS_ERROR_UNSUPPORTED) continue;
        if (!status) status = fill(s, q, workers, &time);
        if (status) return status;
        *optimal = true;
        if (time < *end) {
            read_counts(s, q, workers, counts);
            *end = hs__layers_end(q, workers, counts);
        }
        return HS_OK;
    }
}

/* ---- all orders ---- */

/* The place of the worker moves from one place to the other. */
static void shift(hs__layer_worker *workers, int32_t from, int32_t to)
{
    const hs__layer_worker moved = workers[from];
    if (from < to) memmove(workers + from, workers + from + 1, (size_t)(to - from) * sizeof *workers);
    else memmove(workers + to + 1, workers + to, (size_t)(from - to) * sizeof *workers);
    workers[to] = moved;
}

static void exchange(hs__layer_worker *workers, int32_t a, int32_t b)
{
    const hs__layer_worker kept = workers[a];
    workers[a] = workers[b], workers[b] = kept;
}

/* Two workers change places, or one moves to the place of the other, as long as that helps, by the narrow windows. */
static hs_status improve(solver *s, int32_t q, hs__layer_worker *workers, int64_t work, double *best)
{
    const int32_t far = q <= MOST_FAR ? q : NEAR;
    for (bool better = true; better;) {
        better = false;
        for (int32_t a = 0; a < q; a++)
            for (int32_t b = a + 1; b < q && b <= a + far; b++)
                for (int move = 0; move < (b == a + 1 ? 1 : 3); move++) {
                    if ((work -= q) < 0) return HS_OK;
                    if (move == 0) exchange(workers, a, b);
                    else shift(workers, move == 1 ? a : b, move == 1 ? b : a);
                    relax(s, q, workers);
                    around(s, q, workers, NARROW);
                    double time;
                    const hs_status status = fill(s, q, workers, &time);
                    if (status) return status;
                    if (time < *best * (1.0 - 0x1p-45)) better = true, *best = time;
                    else if (move == 0) exchange(workers, a, b);
                    else shift(workers, move == 1 ? b : a, move == 1 ? a : b);
                }
    }
    return HS_OK;
}

/* Workers in and not in the set, each in their order; returns the number of those not in it, which come first. */
static int32_t split(int32_t q, const hs__layer_worker *sorted, int32_t set, hs__layer_worker *out)
{
    int32_t before = 0, end = q;
    for (int32_t d = 0; d < q; d++)
        if (!(set >> d & 1)) out[before++] = sorted[d];
    for (int32_t d = q; d-- > 0;)
        if (set >> d & 1) out[--end] = sorted[d];
    return before;
}

static bool alike(const hs__layer_worker *x, const hs__layer_worker *y) { return x->send == y->send && x->hold == y->hold && x->most == y->most; }

/* The layers that may be left to this set, which comes last, after those of `parts` before it, each in any order. */
static table set_window(solver *s, int32_t before, int32_t q, double end, const hs__layer_worker *parts)
{
    hs__layer_curve *first = &s->room[0], *last = &s->room[1];
    hs__layers_front(q - before, parts + before, end, s->key, s->pool, last, NULL);
    const double most = last->layers[last->count - 1];
    hs__layers_front(before, parts, end, s->key, s->pool, first, NULL);
    last->count = 2, last->layers[0] = last->time[0] = 0.0;
    last->layers[1] = fmin(most, (double)s->n);
    last->time[1] = last->layers[1] / hs__layers_rate(q - before, parts + before, NULL);
    return window(s->n, end, first, last);
}

/* The windows of every set of workers that may come last, if all end by the time. Any order is allowed within the set and before it.
 * HS_ERROR_UNSUPPORTED if they are too many. */
static hs_status within_sets(solver *s, int32_t q, double time, hs__layer_worker *parts, table *tables)
{
    const int32_t all = (int32_t)((UINT32_C(1) << q) - 1);
    const double end = time * (1.0 + 0x1p-40);
    int64_t sets = 0, states = 2;
    tables[0] = (table){0, 0, NULL}, tables[all] = (table){s->n, s->n, NULL};
    for (int32_t set = 1; set < all; set++) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        tables[set] = (table){0, -1, NULL};
        bool twin = false; /* of two workers that are alike the first comes first */
        for (int32_t d = 0; d + 1 < q && !twin; d++) twin = (set >> d & 3) == 1 && alike(&s->sorted[d], &s->sorted[d + 1]);
        if (twin) continue;
        tables[set] = set_window(s, split(q, s->sorted, set, parts), q, end, parts);
        if (is_empty(&tables[set])) continue;
        states += size_of(&tables[set]);
        if (++sets > MOST_SETS || states > MOST_STATES / 2) return HS_ERROR_UNSUPPORTED;
    }
    return HS_OK;
}

static hs_status fill_sets(solver *s, int32_t q, table *tables)
{
    const int32_t all = (int32_t)((UINT32_C(1) << q) - 1);
    const hs_status status = reserve(s, INT64_C(1) << q, tables);
    if (status) return status;
    double *numbers = s->numbers;
    for (int32_t set = 0; set <= all; set++) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        table *now = &tables[set];
        if (is_empty(now)) continue;
        now->least = numbers, numbers += size_of(now);
        start_table(now);
        if (!set) now->least[0] = 0.0;
        for (int32_t d = 0; d < q; d++)
            if (set >> d & 1 && !is_empty(&tables[set & ~(1 << d)])) prepend(&s->sorted[d], &tables[set & ~(1 << d)], now, s->queue);
    }
    return HS_OK;
}

static void read_order(const solver *s, int32_t q, const table *tables, hs__layer_worker *workers, int64_t *counts)
{
    int64_t m = s->n, sum = 0;
    for (int32_t set = (int32_t)((UINT32_C(1) << q) - 1), place = 0; set; place++) {
        double best = INFINITY;
        int32_t chosen = -1;
        int64_t left = 0;
        for (int32_t d = 0; d < q; d++) {
            int64_t rest = 0;
            if (!(set >> d & 1) || is_empty(&tables[set & ~(1 << d)])) continue;
            const double time = choose(&s->sorted[d], &tables[set & ~(1 << d)], m, &rest);
            if (time < best || chosen < 0) best = time, chosen = d, left = rest;
        }
        workers[place] = s->sorted[chosen];
        counts[place] = m > left ? m - left : 0;
        sum += counts[place], m = left, set &= ~(1 << chosen);
    }
    drop(sum - s->n, q, counts);
}

/* Over all orders of up to MOST_ALL workers, by the sets of those that come last; replaces what is worse. */
static hs_status prove(solver *s, int32_t q, hs__layer_worker *workers, int64_t *counts, double *end, bool *optimal)
{
    if (q > MOST_ALL) return HS_OK;
    table *tables = malloc(((size_t)1 << q) * sizeof *tables);
    hs__layer_worker *parts = malloc((size_t)q * sizeof *parts);
    hs_status status = tables && parts ? within_sets(s, q, *end, parts, tables) : HS_ERROR_MEMORY;
    if (status == HS_OK) status = fill_sets(s, q, tables);
    if (status == HS_OK) {
        *optimal = true;
        if (tables[((size_t)1 << q) - 1].least[0] < *end * (1.0 - 0x1p-48)) {
            read_order(s, q, tables, workers, counts);
            *end = hs__layers_end(q, workers, counts);
        }
    }
    free(tables), free(parts);
    return status == HS_ERROR_UNSUPPORTED ? HS_OK : status;
}

/* From the better of two orders: as given, and the fastest links first. */
static hs_status search(solver *s, int32_t q, hs__layer_worker *workers, int64_t work, int64_t *counts, double *end, bool *optimal)
{
    hs__layer_worker *other = malloc((size_t)q * sizeof *other);
    int64_t *layers = malloc((size_t)q * sizeof *layers);
    hs_status status = other && layers ? HS_OK : HS_ERROR_MEMORY;
    bool proven = false;
    if (!status) {
        memcpy(other, workers, (size_t)q * sizeof *other);
        hs__layers_sort(q, other);
        memcpy(s->sorted, other, (size_t)q * sizeof *other);
        status = solve(s, q, workers, counts, end, &proven);
    }
    for (int start = 0; start < 2 && !status; start++) {
        double best = *end;
        if (start) {
            memcpy(other, workers, (size_t)q * sizeof *other);
            status = improve(s, q, other, work, &best);
            if (status || !(best < *end)) break;
        }
        bool known;
        status = solve(s, q, other, layers, &best, &known);
        if (status || !(best < *end)) continue;
        memcpy(workers, other, (size_t)q * sizeof *other), memcpy(counts, layers, (size_t)q * sizeof *layers);
        *end = best;
    }
    *optimal = q == 1 && proven;
    if (!status) status = prove(s, q, workers, counts, end, optimal);
    free(other), free(layers);
    return status;
}

/* ---- the interface ---- */

static hs_status open_solver(solver *s, int32_t p)
{
    s->sorted = malloc((size_t)p * sizeof *s->sorted), s->tables = malloc(((size_t)p + 1) * sizeof *s->tables);
    s->shares = malloc(2 * (size_t)p * sizeof *s->shares), s->pool = malloc((size_t)p * sizeof *s->pool);
    for (int i = 0; i < 2; i++) s->room[i] = hs__layers_curve(2 * (int64_t)p + 1);
    if (!s->sorted || !s->tables || !s->shares || !s->pool || !s->room[0].layers || !s->room[1].layers) return HS_ERROR_MEMORY;
    s->key = s->shares + p;
    return HS_OK;
}

static void close_solver(solver *s)
{
    free(s->sorted), free(s->tables), free(s->shares), free(s->pool), free(s->room[0].layers), free(s->room[1].layers);
    free(s->numbers), free(s->queue);
}

/* For the order given, or with chosen[p] for the best one, which is written there. */
static hs_status optimise(const hs_layers *problem, const int32_t *order, int64_t work, const int *cancel, int32_t *chosen,
                          int64_t *counts, int *optimal)
{
    hs_status status = hs__layers_check(problem, order);
    if (status) return status;
    const size_t p = (size_t)problem->p;
    solver s = {.n = problem->layers, .cancel = cancel};
    hs__layer_worker *workers = malloc(p * sizeof *workers);
    int64_t *own = malloc(p * sizeof *own);
    status = workers && own ? open_solver(&s, problem->p) : HS_ERROR_MEMORY;
    int32_t q = 0;
    bool proven = true;
    double end;
    if (status == HS_OK) {
        q = hs__layers_open(problem, order, workers);
        if (!hs__layers_sequential(problem) || !s.n) status = hs__layers_apart(s.n, q, workers, NULL, own, &end);
        else if (chosen) status = search(&s, q, workers, work, own, &end, &proven);
        else status = solve(&s, q, workers, own, &end, &proven);
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
    free(workers), free(own), close_solver(&s);
    return status;
}

hs_status hs_layers_exact(const hs_layers *problem, const int32_t *order, const int *cancel, int64_t *counts, int *optimal)
{
    if (!counts || !optimal) return HS_ERROR_VALUE;
    return optimise(problem, order, 0, cancel, NULL, counts, optimal);
}

hs_status hs_layers_best(const hs_layers *problem, int64_t work, const int *cancel, int32_t *order, int64_t *counts, int *optimal)
{
    if (!order || !counts || !optimal) return HS_ERROR_VALUE;
    return optimise(problem, NULL, work, cancel, order, counts, optimal);
}
