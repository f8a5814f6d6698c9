#include <float.h>
#include <stdlib.h>

#include "../core/cancel.h"
#include "hetsched.h"
#include "load.h"

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

/* The chunks that a worker ends by the time `limit`, up to one or a rounding less (slack -1) or more (1). */
static int64_t ended_by(double limit, double cycle_time, double start, double slack)
{
    double chunks = (limit - start) / cycle_time;
    chunks = floor(chunks + slack * (chunks * 0x1p-49 + 1.0));
    return !(chunks > 0.0) ? 0 : chunks < 0x1p53 ? (int64_t)chunks : INT64_C(1) << 53;
}

static bool may_end_by(double limit, int64_t n, int32_t p, const double *cycle_times, const double *starts)
{
    for (int32_t i = 0; i < p && n > 0; i++)
        if (starts[i] <= limit) n -= ended_by(limit, cycle_times[i], starts[i], 1.0);
    return n <= 0;
}

hs_status hs_distribute_after(int64_t n, int32_t p, const double *cycle_times, const double *starts, int64_t *counts, double *makespan)
{
    if (n < 0 || n > (INT64_C(1) << 53) || p < 1 || isnan(fastest_of(p, cycle_times))) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++)
        if (!(starts[i] >= 0.0 && isfinite(starts[i]))) return HS_ERROR_VALUE;
    load *heap = malloc((size_t)p * sizeof *heap);
    if (!heap) return HS_ERROR_MEMORY;
    /* What ends by a time that is too short for all is part of the optimum, which the greedy phase finds from there. */
    double low = 0.0, high = INFINITY;
    for (int32_t i = 0; i < p; i++) high = fmin(high, fma((double)n, cycle_times[i], starts[i]));
    high = fmin(high, DBL_MAX);
    for (double middle; middle = low + (high - low) / 2, middle > low && middle < high && high - low > low * 0x1p-48;)
        if (may_end_by(middle, n, p, cycle_times, starts)) high = middle;
        else low = middle;
    for (int32_t i = 0; i < p; i++) {
        counts[i] = ended_by(low, cycle_times[i], starts[i], -1.0);
        n -= counts[i];
        heap[i] = (load){fma((double)counts[i] + 1.0, cycle_times[i], starts[i]), 0.0, i};
    }
    for (int32_t i = p / 2; i-- > 0;) sift_down(heap, p, i);
    for (; n > 0; n--) {
        const int32_t i = heap[0].worker;
        counts[i]++;
        heap[0].high = fma((double)counts[i] + 1.0, cycle_times[i], starts[i]);
        sift_down(heap, p, 0);
    }
    if (makespan) {
        *makespan = 0.0;
        for (int32_t i = 0; i < p; i++)
            if (counts[i] > 0) *makespan = fmax(*makespan, fma((double)counts[i], cycle_times[i], starts[i]));
    }
    free(heap);
    return HS_OK;
}
