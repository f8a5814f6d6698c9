/* Contiguous intervals of a list: interval i .. j (i < j, j excluded) has the number j (j - 1) / 2
 * + i. */
#ifndef HS_PARTITION_INTERVAL_H
#define HS_PARTITION_INTERVAL_H

#include <stdint.h>

static inline int64_t hs__interval(int32_t i, int32_t j) { return (int64_t)j * (j - 1) / 2 + i; }

/* Computes the area of every interval of leaves [size]. It does not use prefix sums, in which small
 * areas beside large ones would be lost. */
static inline void hs__interval_areas(int32_t size, const double *leaves, double *area)
{
    for (int32_t i = 0; i < size; i++) {
        double sum = 0.0;
        for (int32_t j = i + 1; j <= size; j++) area[hs__interval(i, j)] = sum += leaves[j - 1];
    }
}

#endif
