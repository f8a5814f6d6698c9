/* Contiguous intervals of a list: i..j (i < j, j excluded) is set j (j - 1) / 2 + i. */
#ifndef HS_PARTITION_INTERVAL_H
#define HS_PARTITION_INTERVAL_H

#include <stdint.h>

static inline int64_t hs__interval(int32_t i, int32_t j) { return (int64_t)j * (j - 1) / 2 + i; }

#endif
