/* Sorting of indices by their keys. */
#ifndef HS_CORE_SORT_H
#define HS_CORE_SORT_H

#include <stdint.h>

#include "hetsched.h"

/* Sorts the indices of the positive keys by ascending key, ties by ascending index. Radix sort,
 * time O(p).
 *   keys   [p] >= 0, not NaN
 *   order  [p] out: the first *size entries are set
 *   size   out: number of positive keys */
hs_status hs__sort_positive(int32_t p, const double *keys, int32_t *order, int32_t *size);

/* Sorts the indices of all p keys in the same way, also of keys that are 0. */
hs_status hs__sort(int32_t p, const double *keys, int32_t *order);

/* Comparison of doubles for qsort. */
int hs__ascending(const void *x, const void *y);

#endif
