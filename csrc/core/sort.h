#ifndef HS_CORE_SORT_H
#define HS_CORE_SORT_H

#include <stdint.h>

#include "hetsched.h"

/* Indices of the positive keys by ascending key, ties by ascending index; returns them in order[0
 * .. *size). The keys are >= 0, not NaN. Radix sort, time O(p). */
hs_status hs__sort_positive(int32_t p, const double *keys, int32_t *order, int32_t *size);

/* The same of all keys. */
hs_status hs__sort(int32_t p, const double *keys, int32_t *order);

/* For qsort of doubles. */
int hs__ascending(const void *x, const void *y);

#endif
