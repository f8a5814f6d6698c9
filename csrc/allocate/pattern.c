/* hs_distribute_prefix: chunks dealt one by one, so that every prefix is optimal. */
#include <stdlib.h>

#include "allocate/load.h"
#include "core/cancel.h"
#include "hetsched.h"

enum { BRIEF = 1 << 14 }; /* chunks between two looks at cancel */

hs_status hs_distribute_prefix(int64_t n, int32_t p, const double *cycle_times, const int *cancel,
                               int32_t *owner, double *makespans)
{
    if (!cycle_times || (n > 0 && !owner)) return HS_ERROR_VALUE;
    if (n < 0 || n > (INT64_C(1) << 53) || p < 1) return HS_ERROR_VALUE;
    double fastest = fastest_of(p, cycle_times);
    if (isnan(fastest)) return HS_ERROR_VALUE;
    hs__timed *heap = malloc((size_t)p * sizeof *heap);
    int64_t *counts = calloc((size_t)p, sizeof *counts);
    hs_status status = heap && counts ? HS_OK : HS_ERROR_MEMORY;
    if (!status) {
        int unit = unit_of(fastest);
        for (int32_t i = 0; i < p; i++) heap[i] = end_of(1, cycle_times[i], unit, i);
        hs__heap_order(heap, p);
        for (int64_t k = 0; k < n; k++) {
            if (k % BRIEF == 0 && hs__cancelled(cancel)) {
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
