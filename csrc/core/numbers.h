/* Small functions on numbers that many files need: rounding, ranges, and checks of arguments. */
#ifndef HS_CORE_NUMBERS_H
#define HS_CORE_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Sizes and counts are at most this: a double holds every integer up to it. */
#define HS__SIZE_MOST (INT64_C(1) << 53)

static inline int64_t hs__min(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t hs__max(int64_t x, int64_t y) { return x > y ? x : y; }
static inline size_t hs__larger(size_t x, size_t y) { return x > y ? x : y; }

/* a / b rounded up, and the next multiple of b, for a >= 0 and b > 0; a + b must be in range. */
static inline int64_t hs__ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t hs__round_up(int64_t a, int64_t b) { return hs__ceil_div(a, b) * b; }

/* Returns whether from .. from + size - 1 lies within 0 .. limit - 1, for limit >= 0 and any from
 * and size. */
static inline bool hs__is_within(int64_t from, int64_t size, int64_t limit)
{
    return from >= 0 && size >= 0 && from <= limit && size <= limit - from;
}

/* Returns the number of items of a stack with the dimensions size [rank] >= 0; -1: more than can be
 * counted. */
static inline int64_t hs__count_items(int32_t rank, const int64_t *size)
{
    int64_t count = 1;
    bool none = false;
    for (int32_t d = 0; d < rank; d++) {
        none |= size[d] == 0;
        if (size[d] && __builtin_mul_overflow(count, size[d], &count)) return -1;
    }
    return none ? 0 : count;
}

/* Returns the bits of a double >= 0, which increase with it. */
static inline uint64_t hs__bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double hs__of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns whether all times [p] are > 0; infinity is allowed. */
static inline bool hs__valid_times(int32_t p, const double *times)
{
    for (int32_t i = 0; i < p; i++)
        if (!(times[i] > 0.0)) return false;
    return true;
}

/* Returns whether all costs [count] are >= 0 and finite. */
static inline bool hs__valid_costs(int64_t count, const double *costs)
{
    for (int64_t i = 0; i < count; i++)
        if (!(costs[i] >= 0.0 && isfinite(costs[i]))) return false;
    return true;
}

#endif
