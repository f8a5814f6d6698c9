/* Chunks dealt one by one, so that every prefix is optimal; and the block columns of LU, which are
 * dealt by that pattern. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocate/load.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/status.h"
#include "hetsched.h"

enum { BRIEF = 1 << 14 }; /* chunks between two looks at cancel */

static bool is_cancelled_at(int64_t k, const int *cancel)
{
    return k % BRIEF == 0 && hs__cancelled(cancel);
}

hs_status hs_distribute_prefix(int64_t n, int32_t p, const double *cycle_times, const int *cancel,
                               int32_t *owner, double *makespans)
{
    if (!cycle_times || (n > 0 && !owner)) return HS_ERROR_VALUE;
    if (n < 0 || n > HS__SIZE_MOST || p < 1) return HS_ERROR_VALUE;
    double fastest = fastest_of(p, cycle_times);
    if (isnan(fastest)) return HS_ERROR_VALUE;
    hs__timed *heap = malloc((size_t)p * sizeof *heap);
    int64_t *counts = calloc((size_t)p, sizeof *counts);
    hs_status status = hs__check_memory(heap && counts);
    if (!status) {
        int unit = unit_of(fastest);
        for (int32_t i = 0; i < p; i++) heap[i] = end_of(1, cycle_times[i], unit, i);
        hs__heap_order(heap, p);
        for (int64_t k = 0; k < n; k++) {
            if (is_cancelled_at(k, cancel)) {
                status = HS_ERROR_CANCELLED;
                break;
            }
            int32_t i = owner[k] = deal_one(heap, p, cycle_times, unit, counts);
            /* The multiples of the cycle-times are dealt in ascending order, so the last one is the
             * makespan. */
            if (makespans) makespans[k] = (double)counts[i] * cycle_times[i];
        }
    }
    free(heap);
    free(counts);
    return status;
}

/* Checks that the owners [n] are able workers. */
static hs_status check_owners(int64_t n, int32_t p, const double *cycle_times, const int32_t *owner)
{
    for (int64_t k = 0; k < n; k++)
        if (owner[k] < 0 || owner[k] >= p || isinf(cycle_times[owner[k]])) return HS_ERROR_VALUE;
    return HS_OK;
}

/* Certifies owners. dealt [n]: the makespans of hs_distribute_prefix, which are the least loads of
 * the steps from the last one back. Sums are in the order of the steps. step_costs: [n - 1] out */
static hs_status certify_owners(int64_t n, int32_t p, const double *cycle_times,
                                const int32_t *owner, const double *dealt, const int *cancel,
                                double *step_costs, hs_certificate *certificate)
{
    int64_t *counts = calloc((size_t)p, sizeof *counts);
    if (!counts) return HS_ERROR_MEMORY;
    double largest = 0.0;
    /* the blocks from k on */
    for (int64_t k = n - 1; k > 0 && !is_cancelled_at(k, cancel); k--) {
        largest = fmax(largest, (double)++counts[owner[k]] * cycle_times[owner[k]]);
        step_costs[k - 1] = largest;
    }
    free(counts);
    double value = 0.0;
    double bound = 0.0;
    for (int64_t k = 0; k + 1 < n && !is_cancelled_at(k, cancel); k++) {
        value += step_costs[k];
        bound += dealt[n - 2 - k];
    }
    if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
    return hs_certificate_of("cost", HS_MINIMISED, value, bound, certificate);
}

hs_status hs_pattern_certificate(int64_t n, int32_t p, const double *cycle_times,
                                 const int32_t *owner, const int *cancel,
                                 hs_certificate *certificate)
{
    if (n < 1 || n > HS__SIZE_MOST || p < 1 || !cycle_times || !owner || !certificate)
        return HS_ERROR_VALUE;
    hs_status status = check_owners(n, p, cycle_times, owner);
    if (status) return status;
    int32_t *dealt = malloc((size_t)n * sizeof *dealt);
    double *makespans = malloc((size_t)n * sizeof *makespans);
    double *step_costs = malloc((size_t)n * sizeof *step_costs);
    status = dealt && makespans && step_costs
                 ? hs_distribute_prefix(n, p, cycle_times, cancel, dealt, makespans)
                 : HS_ERROR_MEMORY;
    if (!status)
        status =
            certify_owners(n, p, cycle_times, owner, makespans, cancel, step_costs, certificate);
    free(dealt);
    free(makespans);
    free(step_costs);
    return status;
}

/* Deals the blocks by a method, from the owners that hs_distribute_prefix dealt. */
static hs_status deal_blocks(int64_t n, int32_t p, const double *cycle_times,
                             hs_pattern_method method, int64_t period, const int32_t *dealt,
                             int32_t *owner)
{
    if (method == HS_PATTERN_BEST) {
        if (period < 1 || period > n) period = n;
        for (int64_t k = 0, at = 0; k < n; k++) {
            owner[n - 1 - k] = dealt[at];
            if (++at == period) at = 0;
        }
        return HS_OK;
    }
    if (method == HS_PATTERN_CYCLIC) {
        deal_in_turn(n, p, cycle_times, owner);
        return HS_OK;
    }
    int64_t *counts = calloc((size_t)p, sizeof *counts);
    if (!counts) return HS_ERROR_MEMORY;
    for (int64_t k = 0; k < n; k++) counts[dealt[k]]++;
    for (int32_t i = 0; i < p; i++)
        for (; counts[i] > 0; counts[i]--) *owner++ = i;
    free(counts);
    return HS_OK;
}

hs_status hs_pattern_best(int64_t n, int32_t p, const double *cycle_times, hs_pattern_method method,
                          int64_t period, const int *cancel, int32_t *owner, double *step_costs,
                          hs_certificate *certificate)
{
    if (n < 1 || n > HS__SIZE_MOST || p < 1 || !cycle_times || !owner || !certificate ||
        (n > 1 && !step_costs))
        return HS_ERROR_VALUE;
    if ((int)method < HS_PATTERN_BEST || (int)method > HS_PATTERN_GIVEN || period < 0)
        return HS_ERROR_VALUE;
    if (method == HS_PATTERN_GIVEN && check_owners(n, p, cycle_times, owner)) return HS_ERROR_VALUE;
    int32_t *dealt = malloc(2 * (size_t)n * sizeof *dealt);
    double *makespans = malloc(2 * (size_t)n * sizeof *makespans);
    int32_t *found = method == HS_PATTERN_GIVEN || !dealt ? owner : dealt + n;
    hs_certificate proof = {0};
    hs_status status = dealt && makespans
                           ? hs_distribute_prefix(n, p, cycle_times, cancel, dealt, makespans)
                           : HS_ERROR_MEMORY;
    if (!status && method != HS_PATTERN_GIVEN)
        status = deal_blocks(n, p, cycle_times, method, period, dealt, found);
    if (!status)
        status = certify_owners(n, p, cycle_times, found, makespans, cancel, makespans + n, &proof);
    if (!status) {
        if (found != owner) memcpy(owner, found, (size_t)n * sizeof *owner);
        if (n > 1) memcpy(step_costs, makespans + n, (size_t)(n - 1) * sizeof *step_costs);
        if (proof.optimal) proof.scope = "all allocations";
        *certificate = proof;
    }
    free(dealt);
    free(makespans);
    return status;
}
