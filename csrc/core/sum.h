/* Sums of many doubles. exact_sum.h has exact ones. */
#ifndef HS_CORE_SUM_H
#define HS_CORE_SUM_H

#include <stdint.h>

/* Returns the sum of values [count] >= 0, added in pairs of blocks, so that its rounding error
 * grows only with log(count). O(count). */
double hs__sum(int64_t count, const double *values);

/* The same for the numbers that a function gives for the indices 0 .. count - 1. */
typedef double hs__number(const void *context, int64_t index);
double hs__sum_numbers(int64_t count, hs__number *number, const void *context);

#endif
