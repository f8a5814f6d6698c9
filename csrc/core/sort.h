/* Sorting of indices by their keys. */
#ifndef HS_CORE_SORT_H
#define HS_CORE_SORT_H

#include <stdint.h>

#include "hetsched.h"

/* Sorts the indices of the positive keys by ascending key, ties by ascending index, into order[0 ..
 * *size). The keys are >= 0, not NaN. Radix sort, time O(p). */
hs_status hs__sort_positive(int32_t p, const double *keys, int32_t *order, int32_t *size);

/* Does the same for all keys. */
hs_status hs__sort(int32_t p, const double *keys, int32_t *order);

/* Comparison of doubles for qsort. */
int hs__ascending(const void *x, const void *y);

#endif
