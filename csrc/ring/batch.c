/* Rings for many platforms, one after the other. */
#include <stdlib.h>

#include "core/cancel.h"
#include "hetsched.h"

static int32_t find_fastest(const hs_ring *problem)
{
    int32_t found = 0;
    for (int32_t i = 1; i < problem->p; i++)
        if (problem->cycle_times[i] < problem->cycle_times[found]) found = i;
    return found;
}

/* Finds a ring [p] by the method, and whether it is the best of all rings. */
static hs_status ring_of(hs_ring_method method, const hs_ring *problem, int64_t rounds,
                         uint64_t seed, const int *cancel, int32_t *ring, int32_t *size,
                         int32_t *exact)
{
    /* up to so many workers, a search begins with the best of all greedy rings */
    enum { ALL_STARTS = 64 };
    double makespan;
    *exact = 0;
    if (method == HS_RING_METHOD_EXACT || method == HS_RING_METHOD_BEST) {
        const hs_status status = hs_ring_exact(problem, cancel, ring, size, &makespan);
        *exact = status == HS_OK;
        if (status != HS_ERROR_UNSUPPORTED || method == HS_RING_METHOD_EXACT) return status;
        method = HS_RING_METHOD_SEARCH;
    }
    const int each = method == HS_RING_METHOD_MULTISTART ||
                     (method == HS_RING_METHOD_SEARCH && problem->p <= ALL_STARTS);
    hs_status status =
        hs_ring_greedy(problem, each ? -1 : find_fastest(problem), cancel, ring, size, &makespan);
    if (!status && method == HS_RING_METHOD_SEARCH)
        status = hs_ring_search(problem, rounds, cancel, ring, size, &seed, &makespan);
    return status;
}

hs_status hs_ring_batch(hs_ring_method method, int64_t rows, const hs_ring *problem, int64_t rounds,
                        uint64_t seed, int32_t bound_rounds, const int *cancel, double *shares,
                        double *makespans, double *bounds, int32_t *exact)
{
    if (!problem || rows < 0 || problem->p < 1 || rounds < 0 || bound_rounds < 0)
        return HS_ERROR_VALUE;
    if ((int)method < HS_RING_METHOD_EXACT || (int)method > HS_RING_METHOD_GREEDY)
        return HS_ERROR_VALUE;
    if (rows > 0 &&
        (!problem->cycle_times || !problem->links || !shares || !makespans || !bounds || !exact))
        return HS_ERROR_VALUE;
    const int32_t p = problem->p;
    int32_t *ring = malloc((size_t)p * sizeof *ring);
    int32_t size;
    hs_status status = ring ? HS_OK : HS_ERROR_MEMORY;
    hs_ring one = *problem;
    for (int64_t row = 0; row < rows && !status;
         row++, one.cycle_times += p, one.links += (size_t)p * (size_t)p) {
        status = hs__cancelled(cancel)
                     ? HS_ERROR_CANCELLED
                     : ring_of(method, &one, rounds, seed, cancel, ring, &size, exact + row);
        if (!status)
            status = hs_ring_shares(&one, size, ring, cancel, shares + row * p, makespans + row);
        if (status) break;
        bounds[row] = makespans[row];
        if (!exact[row])
            status = hs_ring_bound(&one, makespans[row], bound_rounds, cancel, bounds + row);
    }
    free(ring);
    return status;
}
