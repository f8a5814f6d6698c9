/* A check of lists of indices. */
#include "core/order.h"

#include <stdbool.h>
#include <stdlib.h>

hs_status hs__check_order(int32_t p, int32_t size, const int32_t *order, const double *keys)
{
    bool *seen = calloc((size_t)p, sizeof *seen);
    bool fine = true;
    if (!seen) return HS_ERROR_MEMORY;
    for (int32_t k = 0; k < size && fine; k++) {
        fine = order[k] >= 0 && order[k] < p && !seen[order[k]] && (!keys || keys[order[k]] > 0.0);
        if (fine) seen[order[k]] = true;
    }
    free(seen);
    return fine ? HS_OK : HS_ERROR_VALUE;
}
