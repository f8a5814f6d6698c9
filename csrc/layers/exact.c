/* The exact program for one order. exact.h explains it. */
#include "layers/exact.h"

#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/status.h"

enum { WIDE = 4096 };

/* ---- numbers of layers that can be left ------------------------------------------------------ */

/* Returns by how much both curves together exceed the time if `left` layers are left to the workers
 * after. */
static double excess_time(double layers, double time, const hs__layer_curve *before,
                          const hs__layer_curve *after, double left)
{
    const double most = before->layers[before->count - 1];
    const double possible = after->layers[after->count - 1];
    return hs__layers_time(before, fmin(layers - left, most)) +
           hs__layers_time(after, fmin(left, possible)) - time;
}

/* Finds the numbers of layers that the workers before may leave to the workers after, if all end by
 * the time. Both curves are convex, so the points that are in time are adjacent, and the ends lie
 * on the straight lines to the next points. */
hs__layer_table hs__table_window(int64_t n, double time, const hs__layer_curve *before,
                                 const hs__layer_curve *after)
{
    const int32_t points = before->count + after->count;
    const double layers = (double)n;
    const double slack = (double)(points + 8) * 0x1p-48 * layers;
    const double least = fmax(0.0, layers - before->layers[before->count - 1]);
    const double most = fmin(layers, after->layers[after->count - 1]);
    double low = INFINITY;
    double high = -INFINITY;
    double below = -INFINITY;
    double above = INFINITY;
    if (least > most + slack) return (hs__layer_table){0, -1, NULL};
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < points; i++) {
            const double point =
                i < before->count ? layers - before->layers[i] : after->layers[i - before->count];
            const double left = fmax(least, fmin(most, point));
            if (pass && left < low) below = fmax(below, left);
            else if (pass && left > high) above = fmin(above, left);
            else if (!pass && excess_time(layers, time, before, after, left) <= 0.0) {
                low = fmin(low, left);
                high = fmax(high, left);
            }
        }
        if (low > high) return (hs__layer_table){0, -1, NULL};
    }
    if (isfinite(below)) {
        const double early = -excess_time(layers, time, before, after, low);
        const double late = excess_time(layers, time, before, after, below);
        low += (below - low) * (early / (early + late));
    }
    if (isfinite(above)) {
        const double early = -excess_time(layers, time, before, after, high);
        const double late = excess_time(layers, time, before, after, above);
        high += (above - high) * (early / (early + late));
    }
    low = ceil(low - slack);
    high = floor(high + slack);
    if (!(low <= high)) return (hs__layer_table){0, -1, NULL};
    return (hs__layer_table){low > 0.0 ? (int64_t)low : 0, high < layers ? (int64_t)high : n, NULL};
}

/* ---- dynamic program ------------------------------------------------------------------------- */

/* Lowers `now` to the times that are possible with this worker before the workers of `next`. If the
 * worker does k layers, all end at max(k hold, k send + next(m - k)). The first term is larger if k
 * tail >= next(m - k). This holds from some k on, which never falls as m grows, and never grows
 * faster than m. Below it, the least value of the second term is the minimum over a sliding window,
 * and so is the least m - k that the worker's limit allows: O(1) per number. queue: [size of
 * next] */
void hs__table_prepend(const hs__layer_worker *worker, const hs__layer_table *next,
                       hs__layer_table *now, int64_t *queue)
{
    const double send = worker->send;
    const double hold = worker->hold;
    const double tail = worker->tail;
    const double *least = next->least;
    const int64_t low = next->low;
    int64_t first = 0;
    int64_t end = 0;
    int64_t seen = low - 1;
    /* full: the largest rest with which this worker is the last to end */
    int64_t full = low - 1;
    for (int64_t m = now->low; m <= now->high; m++) {
        double *best = &now->least[m - now->low];
        /* happens only by rounding of the windows; a time for more layers is enough for fewer */
        if (m < low) {
            *best = fmin(*best, least[0]);
            continue;
        }
        const int64_t limit = hs__min(m, next->high);
        while (full < limit && (double)(m - full - 1) * tail >= least[full + 1 - low]) full++;
        while (seen < limit) {
            const double latest = least[++seen - low];
            while (end > first &&
                   least[queue[end - 1] - low] + (double)(seen - queue[end - 1]) * send >= latest)
                end--;
            queue[end++] = seen;
        }
        const int64_t least_left = m - worker->most;
        while (first < end && (queue[first] <= full || queue[first] < least_left)) first++;
        if (full >= low && full >= least_left) *best = fmin(*best, (double)(m - full) * hold);
        if (first < end)
            *best = fmin(*best, (double)(m - queue[first]) * send + least[queue[first] - low]);
    }
}

void hs__table_start(hs__layer_table *x)
{
    for (int64_t m = x->low; m <= x->high; m++) x->least[m - x->low] = INFINITY;
}

double hs__table_choose(const hs__layer_worker *worker, const hs__layer_table *next, int64_t m,
                        int64_t *left)
{
    double best = INFINITY;
    const int64_t limit = m < next->low ? next->low : hs__min(m, next->high);
    for (int64_t rest = hs__max(next->low, m - worker->most); rest <= limit; rest++) {
        const double k = rest < m ? (double)(m - rest) : 0.0;
        const double time =
            fmax(k * worker->hold, k * worker->send + next->least[rest - next->low]);
        if (time < best) {
            best = time;
            *left = rest;
        }
    }
    return best;
}

/* ---- one order ------------------------------------------------------------------------------- */

hs_status hs__layer_reserve(hs__layer_solver *s, int64_t count, const hs__layer_table *tables)
{
    int64_t states = 0;
    int64_t widest = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t size = hs__table_size(&tables[k]);
        states += size;
        widest = hs__max(widest, size);
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
    return hs__check_memory(s->numbers && s->queue);
}

static int64_t states_of(const hs__layer_solver *s, int32_t q)
{
    int64_t sum = 0;
    for (int32_t d = 0; d <= q && sum <= HS__LAYERS_STATES; d++)
        sum += hs__table_size(&s->tables[d]);
    return sum;
}

double hs__layer_relax(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers)
{
    return hs__layers_shares((double)s->n, q, workers, s->room, s->shares);
}

void hs__layer_around(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                      int64_t width)
{
    hs__layer_table *x = s->tables;
    x[q].high = 0;
    /* largest numbers of layers that the workers from d on may have */
    for (int32_t d = q; d-- > 0;) x[d].high = hs__min(s->n, x[d + 1].high + workers[d].most);
    double left = (double)s->n;
    int64_t middle = s->n;
    x[0].low = x[0].high = s->n;
    for (int32_t d = 1; d <= q; d++) {
        const int64_t least = middle - workers[d - 1].most;
        const int64_t most = hs__min(middle, x[d].high);
        left = fmax(0.0, left - s->shares[d - 1]);
        middle = hs__max(least, hs__min(most, (int64_t)rint(left)));
        x[d].low = hs__max(0, middle - width);
        x[d].high = hs__min(x[d].high, middle + width);
    }
    x[q].low = x[q].high = 0;
}

/* Computes the curves of the workers from each place on, [q + 1]; the caller frees them.
 * HS_ERROR_UNSUPPORTED if they have too many points. */
static hs_status curves_after(const hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                              hs__layer_curve *after)
{
    int64_t points = 0;
    for (int32_t d = q; d >= 0; d--) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        const int64_t room = d < q ? (int64_t)after[d + 1].count + 2 : 1;
        if ((points += room) > HS__LAYERS_STATES) return HS_ERROR_UNSUPPORTED;
        after[d] = hs__layers_curve(room);
        if (!after[d].layers) return HS_ERROR_MEMORY;
        if (d < q) hs__layers_put_first(&after[d + 1], &workers[d], (double)s->n, &after[d]);
        else {
            after[d].count = 1;
            after[d].layers[0] = after[d].time[0] = 0.0;
        }
    }
    return HS_OK;
}

/* Computes the windows of all schedules that end by the time; HS_ERROR_UNSUPPORTED if the windows
 * are too large. */
static hs_status find_windows(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                              double time)
{
    const double end = time * (1.0 + 0x1p-40);
    hs__layer_curve *after = calloc((size_t)q + 1, sizeof *after);
    hs__layer_curve *before = &s->room[0];
    hs__layer_curve *next = &s->room[1];
    hs_status status = after ? curves_after(s, q, workers, after) : HS_ERROR_MEMORY;
    before->count = 1;
    before->layers[0] = before->time[0] = 0.0;
    for (int32_t d = 1; d < q && !status; d++) {
        if (hs__cancelled(s->cancel)) status = HS_ERROR_CANCELLED;
        hs__layers_put_last(before, &workers[d - 1], end, (double)s->n, next);
        hs__layer_curve *other = before;
        before = next;
        next = other;
        s->tables[d] = hs__table_window(s->n, end, before, &after[d]);
    }
    for (int32_t d = 0; d <= q && after; d++) free(after[d].layers);
    free(after);
    s->tables[0] = (hs__layer_table){s->n, s->n, NULL};
    s->tables[q] = (hs__layer_table){0, 0, NULL};
    if (status) return status;
    return states_of(s, q) <= HS__LAYERS_STATES ? HS_OK : HS_ERROR_UNSUPPORTED;
}

hs_status hs__layer_fill(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                         double *time)
{
    *time = INFINITY;
    for (int32_t d = 0; d <= q; d++)
        if (hs__table_empty(&s->tables[d])) return HS_OK;
    const hs_status status = hs__layer_reserve(s, q + 1, s->tables);
    if (status) return status;
    double *numbers = s->numbers;
    for (int32_t d = q; d >= 0; d--) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        hs__layer_table *now = &s->tables[d];
        now->least = numbers;
        numbers += hs__table_size(now);
        hs__table_start(now);
        if (d == q) now->least[0] = 0.0;
        else hs__table_prepend(&workers[d], &s->tables[d + 1], now, s->queue);
    }
    *time = s->tables[0].least[0];
    return HS_OK;
}

void hs__layer_drop(int64_t excess, int32_t q, int64_t *counts)
{
    for (int32_t d = q; d-- > 0 && excess > 0;) {
        const int64_t less = hs__min(counts[d], excess);
        counts[d] -= less;
        excess -= less;
    }
}

static void read_counts(const hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                        int64_t *counts)
{
    int64_t m = s->n;
    int64_t sum = 0;
    for (int32_t d = 0; d < q; d++) {
        int64_t left = 0;
        hs__table_choose(&workers[d], &s->tables[d + 1], m, &left);
        counts[d] = m > left ? m - left : 0;
        sum += counts[d];
        m = left;
    }
    hs__layer_drop(sum - s->n, q, counts);
}

/* Finds the best counts for this order; *optimal says whether they are proven optimal. If links are
 * such that any number of layers might be left somewhere at no loss, the windows would be too wide:
 * then the relaxed optimum is a proof up to rounding, or there is none. */
hs_status hs__layer_solve(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                          int64_t *counts, double *end, bool *optimal)
{
    const double bound = hs__layer_relax(s, q, workers);
    *optimal = false;
    for (int64_t width = HS__LAYERS_NARROW;; width *= 8) {
        hs__layer_around(s, q, workers, width);
        if (width > WIDE || (width > HS__LAYERS_NARROW && states_of(s, q) > HS__LAYERS_STATES))
            return HS_OK;
        double time;
        hs_status status = hs__layer_fill(s, q, workers, &time);
        if (status) return status;
        read_counts(s, q, workers, counts);
        *end = hs__layers_end(q, workers, counts);
        *optimal = *end <= bound * (1.0 + (double)(q + 8) * 0x1p-51);
        if (*optimal) return HS_OK;
        status = find_windows(s, q, workers, *end);
        if (status == HS_ERROR_UNSUPPORTED) continue;
        if (!status) status = hs__layer_fill(s, q, workers, &time);
        if (status) return status;
        *optimal = true;
        if (time < *end) {
            read_counts(s, q, workers, counts);
            *end = hs__layers_end(q, workers, counts);
        }
        return HS_OK;
    }
}
