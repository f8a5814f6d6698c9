/* Dealing of chunks one by one, each to the worker that would end it first. Ends are compared
 * exactly. */
#ifndef HS_ALLOCATE_LOAD_H
#define HS_ALLOCATE_LOAD_H

#include <math.h>

#include "core/heap.h"

/* Returns the end of the k-th chunk, exact, with a power of two as the unit of time: see
 * unit_of. */
static inline hs__timed end_of(int64_t chunks, double cycle_time, int unit, int32_t worker)
{
    const double k = (double)chunks /* exact: chunks <= 2^53 */, time = ldexp(cycle_time, -unit),
                 end = k * time;
    return (hs__timed){end, isinf(end) ? 0.0 : fma(k, time, -end), worker};
}

/* Gives the next chunk to the worker of the heap that would end it first, ties to the lowest index;
 * returns that worker. */
static inline int32_t deal_one(hs__timed *heap, int32_t size, const double *cycle_times, int unit,
                               int64_t *counts)
{
    const int32_t i = heap[0].worker;
    counts[i]++;
    hs__heap_down(heap, NULL, size, 0, end_of(counts[i] + 1, cycle_times[i], unit, i));
    return i;
}

/* Returns the least cycle-time; NaN if one is not positive, or all are infinite. */
static inline double fastest_of(int32_t p, const double *cycle_times)
{
    double fastest = INFINITY;
    for (int32_t i = 0; i < p; i++) {
        if (!(cycle_times[i] > 0.0)) return NAN;
        if (cycle_times[i] < fastest) fastest = cycle_times[i];
    }
    return isinf(fastest) ? NAN : fastest;
}

/* Deals n chunks to the workers with finite cycle-times in turn, of which there is at least one;
 * returns the number of these workers. O(n + p). */
static inline int32_t deal_in_turn(int64_t n, int32_t p, const double *cycle_times, int32_t *owner)
{
    int32_t able = 0;
    for (int32_t i = 0; i < p; i++) {
        if (isinf(cycle_times[i])) continue;
        if (able < n) owner[able] = i;
        able++;
    }
    for (int64_t k = able; k < n; k++) owner[k] = owner[k - able];
    return able;
}

/* Returns the exponent of the power of two that is the unit of time: with it no product overflows
 * or loses bits for workers that could get a chunk. */
static inline int unit_of(double fastest) { return ilogb(fastest) + 1; }

#endif
