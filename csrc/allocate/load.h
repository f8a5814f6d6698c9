/* A heap of the workers by the end of the chunk that each would do next, compared exactly. */
#ifndef HETSCHED_ALLOCATE_LOAD_H
#define HETSCHED_ALLOCATE_LOAD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* The time of k chunks as an unevaluated sum high + low, exact: two such times compare as the real numbers do. */
typedef struct {
    double high, low;
    int32_t worker;
} load;

static inline load exact_load(int64_t chunks, double cycle_time, int32_t worker)
{
    double k = (double)chunks; /* exact: chunks <= 2^53 */
    double high = k * cycle_time;
    return (load){high, isinf(high) ? 0.0 : fma(k, cycle_time, -high), worker};
}

static inline bool before(const load *x, const load *y)
{
    if (x->high != y->high) return x->high < y->high;
    if (x->low != y->low) return x->low < y->low;
    return x->worker < y->worker;
}

static inline void sift_down(load *heap, int32_t size, int32_t i)
{
    load moved = heap[i];
    for (int32_t child; (child = 2 * i + 1) < size; i = child) {
        if (child + 1 < size && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &moved)) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

/* Makes a heap of loads in any order. */
static inline void order_heap(load *heap, int32_t size)
{
    for (int32_t i = size / 2; i-- > 0;) sift_down(heap, size, i);
}

/* Fills the heap for workers that have counts[i] chunks; unit is a power of two, see unit_of. */
static inline void start_heap(load *heap, int32_t p, const double *cycle_times, int unit, const int64_t *counts)
{
    for (int32_t i = 0; i < p; i++) heap[i] = exact_load(counts[i] + 1, ldexp(cycle_times[i], -unit), i);
    order_heap(heap, p);
}

/* Gives the next chunk to the worker that would end it first, ties to the lowest index; returns that worker. The heap has p
 * loads, some or all of the workers'. */
static inline int32_t deal_one(load *heap, int32_t p, const double *cycle_times, int unit, int64_t *counts)
{
    int32_t i = heap[0].worker;
    counts[i]++;
    heap[0] = exact_load(counts[i] + 1, ldexp(cycle_times[i], -unit), i);
    sift_down(heap, p, 0);
    return i;
}

/* The least cycle-time; NaN if one is not positive, or all are infinite. */
static inline double fastest_of(int32_t p, const double *cycle_times)
{
    double fastest = INFINITY;
    for (int32_t i = 0; i < p; i++) {
        if (!(cycle_times[i] > 0.0)) return NAN;
        if (cycle_times[i] < fastest) fastest = cycle_times[i];
    }
    return isinf(fastest) ? NAN : fastest;
}

/* The exponent of a power of two to be the unit of time: no product overflows or loses bits for workers that could get a
 * chunk. */
static inline int unit_of(double fastest)
{
    int exponent;
    frexp(fastest, &exponent);
    return exponent;
}

#endif
