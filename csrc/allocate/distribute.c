#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "hetsched.h"
#include "allocate/load.h"

enum { BRIEF = 1 << 14 }; /* chunks between two looks at cancel */

/* One distribution; the heap is room for p loads. */
static hs_status distribute(int64_t n, int32_t p, const double *cycle_times, const int *cancel, load *heap, int64_t *counts)
{
    double fastest = fastest_of(p, cycle_times);
    int unit = unit_of(fastest);

    double total_speed = 0.0, carry = 0.0; /* Neumaier's sum: the error does not grow with p */
    for (int32_t i = 0; i < p; i++) {
        double speed = fastest / cycle_times[i], sum = total_speed + speed;
        carry += total_speed >= speed ? (total_speed - sum) + speed : (speed - sum) + total_speed;
        total_speed = sum;
    }
    total_speed += carry;

    /* The floor phase: any start below the optimum leads the greedy phase to the same, optimal, counts. In the end a chunk more would
     * make each worker end no earlier than the last does, and that is no earlier than n / total: no worker has fewer chunks than its
     * share rounded down, or one less if the share is whole. n * speed / total is off by at most 6 roundings, so with a little taken
     * away from it at most p chunks remain, or a few more. */
    int64_t left = n;
    for (int32_t i = 0; i < p; i++) {
        double share = (double)n * (fastest / cycle_times[i] / total_speed);
        counts[i] = (int64_t)floor(share - share * 0x1p-49);
        left -= counts[i];
    }
    start_heap(heap, p, cycle_times, unit, counts);
    for (; left > 0; left--) {
        if (left % BRIEF == 0 && hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        deal_one(heap, p, cycle_times, unit, counts);
    }
    return HS_OK;
}

static double makespan_of(int32_t p, const double *cycle_times, const int64_t *counts)
{
    double makespan = 0.0;
    for (int32_t i = 0; i < p; i++)
        if (counts[i] > 0) makespan = fmax(makespan, (double)counts[i] * cycle_times[i]);
    return makespan;
}

hs_status hs_distribute(int64_t n, int32_t p, const double *cycle_times, const int *cancel, int64_t *counts, double *makespan)
{
    return hs_distribute_batch(1, &n, p, cycle_times, cancel, counts, makespan);
}

hs_status hs_distribute_batch(int64_t rows, const int64_t *n, int32_t p, const double *cycle_times, const int *cancel,
                              int64_t *counts, double *makespans)
{
    if (rows > 0 && (!n || !cycle_times || !counts)) return HS_ERROR_VALUE;
    if (rows < 0 || p < 1) return HS_ERROR_VALUE;
    for (int64_t row = 0; row < rows; row++) {
        if (n[row] < 0 || n[row] > (INT64_C(1) << 53)) return HS_ERROR_VALUE;
        if (isnan(fastest_of(p, cycle_times + row * p))) return HS_ERROR_VALUE;
    }
    load *heap = malloc((size_t)p * sizeof *heap);
    if (!heap) return HS_ERROR_MEMORY;
    hs_status status = HS_OK;
    for (int64_t row = 0; row < rows && !status; row++) {
        status = hs__cancelled(cancel) ? HS_ERROR_CANCELLED : distribute(n[row], p, cycle_times + row * p, cancel, heap, counts + row * p);
        if (makespans && !status) makespans[row] = makespan_of(p, cycle_times + row * p, counts + row * p);
    }
    free(heap);
    return status;
}

/* The most of n chunks that a worker ends by the time `limit`, all times rounded: near the quotient, but where the start swallows
 * the chunks. */
static int64_t ended_by(double limit, int64_t n, double cycle_time, double start)
{
    if (start > limit || isinf(cycle_time)) return 0;
    const double quotient = (limit - start) / cycle_time;
    int64_t ended = 0, late = n + 1, tried = quotient < (double)n ? (int64_t)quotient : n;
    for (int64_t step = 1; late - ended > 1; step *= 2) { /* away from the first guess in growing steps, then by halves */
        const int on_time = fma((double)tried, cycle_time, start) <= limit;
        *(on_time ? &ended : &late) = tried;
        if (step > (late - ended) / 2) step = (late - ended) / 2;
        tried = on_time ? ended + step : late - step;
    }
    return ended;
}

static bool may_end_by(double limit, int64_t n, int32_t p, const double *cycle_times, const double *starts)
{
    for (int32_t i = 0; i < p && n > 0; i++) n -= ended_by(limit, n, cycle_times[i], starts[i]);
    return n <= 0;
}

/* The bits of doubles >= 0 are in the order of their values. */
static double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

hs_status hs_distribute_after(int64_t n, int32_t p, const double *cycle_times, const double *starts, const int *cancel, int64_t *counts,
                              double *makespan)
{
    if (!cycle_times || !starts || !counts) return HS_ERROR_VALUE;
    if (n < 0 || n > (INT64_C(1) << 53) || p < 1 || isnan(fastest_of(p, cycle_times))) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++)
        if (!(starts[i] >= 0.0 && isfinite(starts[i]))) return HS_ERROR_VALUE;
    uint64_t early = 0, last = bits_of(INFINITY); /* all chunks end by the latter, the makespan */
    for (int32_t i = 0; i < p; i++) {
        const uint64_t alone = bits_of(fma((double)n, cycle_times[i], starts[i]) + 0.0);
        if (alone < last) last = alone;
    }
    for (uint64_t middle; middle = early + (last - early) / 2, middle > early;) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        *(may_end_by(of_bits(middle), n, p, cycle_times, starts) ? &last : &early) = middle;
    }
    /* Dealt one by one, to the worker that would end first: all that end before the makespan, then the lowest indices. */
    const double limit = of_bits(last), before = last ? of_bits(last - 1) : -1.0;
    double most = 0.0;
    for (int32_t i = 0; i < p; i++) counts[i] = ended_by(before, n, cycle_times[i], starts[i]), n -= counts[i];
    for (int32_t i = 0; i < p; i++) {
        const int64_t more = n > 0 ? ended_by(limit, counts[i] + n, cycle_times[i], starts[i]) - counts[i] : 0;
        counts[i] += more, n -= more;
        if (counts[i] > 0) most = fmax(most, fma((double)counts[i], cycle_times[i], starts[i]));
    }
    if (makespan) *makespan = most;
    return HS_OK;
}
