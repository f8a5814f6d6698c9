/* Sums of many doubles. exact_sum.h has exact ones. */
#ifndef HS_CORE_SUM_H
#define HS_CORE_SUM_H

#include <stdint.h>

/* Returns the sum of values [count] >= 0, added in pairs of blocks, so that its rounding error
 * grows only with log(count). O(count). */
double hs__sum(int64_t count, const double *values);

#endif
