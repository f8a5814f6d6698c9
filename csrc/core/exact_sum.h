/* Exact sums of doubles, rounded once: Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997.
 * The sum does not depend on the order of the numbers. */
#ifndef HS_CORE_EXACT_SUM_H
#define HS_CORE_EXACT_SUM_H

#include <math.h>
#include <stdint.h>

/* Adds a number to an expansion: parts of ascending magnitude that do not overlap, and whose exact
 * sum is the sum of all numbers added so far. Returns the new number of parts, at most the number
 * of numbers added.
 *   parts  [count + 1] */
static inline int32_t hs__add_exactly(double number, int32_t count, double *parts)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        const double large = fabs(number) < fabs(parts[i]) ? parts[i] : number;
        const double small = fabs(number) < fabs(parts[i]) ? number : parts[i];
        number = large + small;
        const double rest = small - (number - large);
        if (rest != 0.0) parts[kept++] = rest;
    }
    parts[kept++] = number;
    return kept;
}

/* Returns the sum of an expansion, rounded to the nearest double, ties to even. */
static inline double hs__rounded_sum(int32_t count, const double *parts)
{
    double sum = 0.0;
    double rest = 0.0;
    while (count > 0 && rest == 0.0) {
        const double before = sum;
        const double part = parts[--count];
        sum = before + part;
        rest = part - (sum - before);
    }
    /* If half of the last bit was rounded off, the parts below decide in which direction. */
    const int below = count > 0 && ((rest < 0.0 && parts[count - 1] < 0.0) ||
                                    (rest > 0.0 && parts[count - 1] > 0.0));
    const double other = sum + 2.0 * rest;
    return below && other - sum == 2.0 * rest ? other : sum;
}

#endif
