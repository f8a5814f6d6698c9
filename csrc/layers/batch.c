/* Layers on many stars, one after the other. */
#include <stdlib.h>

#include "core/cancel.h"
#include "hetsched.h"

/* Finds the counts, the order in which they are sent, and whether they are proven optimal. */
static hs_status layers_of(const hs_layers *problem, hs_layers_method method, int64_t work,
                           const int *cancel, int32_t *order, int64_t *counts, int *optimal)
{
    if (method == HS_LAYERS_BEST)
        return hs_layers_best(problem, work, cancel, order, counts, optimal);
    for (int32_t i = 0; i < problem->p; i++) order[i] = i;
    *optimal = 0;
    return method == HS_LAYERS_PAPER ? hs_layers_paper(problem, NULL, NULL, counts)
                                     : hs_layers_exact(problem, NULL, cancel, counts, optimal);
}

hs_status hs_layers_batch(hs_layers_method method, int64_t rows, const hs_layers *problem,
                          int64_t work, const int *cancel, int32_t *order, int64_t *counts,
                          double *makespans, double *bounds, int32_t *optimal)
{
    if (!problem || rows < 0 || problem->p < 1 || work < 0) return HS_ERROR_VALUE;
    if (method != HS_LAYERS_EXACT && method != HS_LAYERS_BEST && method != HS_LAYERS_PAPER)
        return HS_ERROR_VALUE;
    if (rows > 0 && (!problem->compute || !problem->send || !order || !counts || !makespans ||
                     !bounds || !optimal))
        return HS_ERROR_VALUE;
    double *times = malloc(3 * (size_t)problem->p * sizeof *times);
    hs_status status = times ? HS_OK : HS_ERROR_MEMORY;
    hs_layers one = *problem;
    for (int64_t row = 0; row < rows && !status; row++, one.compute += one.p, one.send += one.p) {
        if (problem->most) one.most = problem->most + row * one.p;
        int found = 0;
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        else
            status = layers_of(&one, method, work, cancel, order + row * one.p,
                               counts + row * one.p, &found);
        if (!status)
            status = hs_layers_schedule(&one, order + row * one.p, counts + row * one.p, times,
                                        times + one.p, times + 2 * (size_t)one.p, makespans + row);
        if (!status) status = hs_layers_bound(&one, cancel, bounds + row);
        optimal[row] = found;
    }
    free(times);
    return status;
}
