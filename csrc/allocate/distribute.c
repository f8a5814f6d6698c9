#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "hetsched.h"

/* The time of k chunks as an unevaluated sum high + low, exact: two such times compare as the real numbers do. */
typedef struct {
    double high, low;
    int32_t worker;
} load;

static load exact_load(int64_t chunks, double cycle_time, int32_t worker)
{
    double k = (double)chunks; /* exact: chunks <= 2^53 */
    double high = k * cycle_time;
    return (load){high, isinf(high) ? 0.0 : fma(k, cycle_time, -high), worker};
}

static bool before(const load *x, const load *y)
{
    if (x->high != y->high) return x->high < y->high;
    if (x->low != y->low) return x->low < y->low;
    return x->worker < y->worker;
}

static void sift_down(load *heap, int32_t size, int32_t i)
{
    load moved = heap[i];
    for (int32_t child; (child = 2 * i + 1) < size; i = child) {
        if (child + 1 < size && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &moved)) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

hs_status hs_distribute(int64_t n, int32_t p, const double *cycle_times, int64_t *counts, double *makespan)
{
    if (n < 0 || n > (INT64_C(1) << 53) || p < 1) return HS_ERROR_VALUE;
    double fastest = INFINITY;
    for (int32_t i = 0; i < p; i++) {
        if (!(cycle_times[i] > 0.0)) return HS_ERROR_VALUE;
        fastest = fmin(fastest, cycle_times[i]);
    }
    if (isinf(fastest)) return HS_ERROR_VALUE;

    load *heap = malloc((size_t)p * sizeof *heap);
    if (!heap) return HS_ERROR_MEMORY;

    /* A power of two as the unit of time: no product overflows or loses bits for workers that could get a chunk. */
    int exponent;
    frexp(fastest, &exponent);

    double total_speed = 0.0, carry = 0.0; /* Neumaier's sum: the error does not grow with p */
    for (int32_t i = 0; i < p; i++) {
        double speed = fastest / cycle_times[i], sum = total_speed + speed;
        carry += total_speed >= speed ? (total_speed - sum) + speed : (speed - sum) + total_speed;
        total_speed = sum;
    }
    total_speed += carry;

    /* The floor phase, a little low: any start below the optimum leads the greedy phase to the same, optimal, counts.
     * n * speed / total is off by at most 6 roundings, so few more than p chunks remain. */
    int64_t left = n;
    for (int32_t i = 0; i < p; i++) {
        double share = (double)n * (fastest / cycle_times[i] / total_speed);
        share = floor(share - share * 0x1p-49 - 1.0);
        counts[i] = share > 0.0 ? (int64_t)share : 0;
        left -= counts[i];
    }

    for (int32_t i = 0; i < p; i++) heap[i] = exact_load(counts[i] + 1, ldexp(cycle_times[i], -exponent), i);
    for (int32_t i = p / 2; i-- > 0;) sift_down(heap, p, i);
    for (; left > 0; left--) {
        int32_t i = heap[0].worker;
        counts[i]++;
        heap[0] = exact_load(counts[i] + 1, ldexp(cycle_times[i], -exponent), i);
        sift_down(heap, p, 0);
    }
    free(heap);

    if (makespan) {
        *makespan = 0.0;
        for (int32_t i = 0; i < p; i++)
            if (counts[i] > 0) *makespan = fmax(*makespan, (double)counts[i] * cycle_times[i]);
    }
    return HS_OK;
}
