/* Exact sums of doubles >= 0 and of their products with counts: integers in units of 2^-1074. */
#ifndef HS_CORE_EXACT_SUM_H
#define HS_CORE_EXACT_SUM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 hs__wide;

/* 2^1024 is 2^2098 units. Sums of 2^32 products of a double and a count below 2^54 are below
 * 2^2184. */
enum { HS__LIMBS = 35 };

typedef struct hs__exact {
    uint64_t limb[HS__LIMBS]; /* the lowest first */
} hs__exact;

/* Adds count * value; value is finite, count <= 2^54. */
static inline void hs__exact_add(hs__exact *x, double value, uint64_t count)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    if (fraction == 0.0 || count == 0) return;
    int shift = exponent - 53 + 1074;
    uint64_t digits = (uint64_t)ldexp(fraction, 53);
    if (shift < 0) { /* a denormal number: the last digits are zeros */
        digits >>= -shift;
        shift = 0;
    }
    hs__wide carry = (hs__wide)digits * count;
    int at = shift / 64;
    const int within = shift % 64;
    const uint64_t above = within ? (uint64_t)(carry >> (128 - within)) : 0;
    const uint64_t parts[3] = {(uint64_t)(carry << within), (uint64_t)((carry << within) >> 64),
                               above};
    carry = 0;
    for (int k = 0; at < HS__LIMBS && (k < 3 || carry); k++, at++) {
        carry += (hs__wide)x->limb[at] + (k < 3 ? parts[k] : 0);
        x->limb[at] = (uint64_t)carry;
        carry >>= 64;
    }
}

static inline bool hs__exact_less(const hs__exact *x, const hs__exact *y)
{
    for (int k = HS__LIMBS; k-- > 0;)
        if (x->limb[k] != y->limb[k]) return x->limb[k] < y->limb[k];
    return false;
}

/* Returns the sum as a double: the nearest one, ties to even, or the least one that is not below the
 * sum. Infinite if that is out of range. */
static inline double hs__exact_rounded(const hs__exact *x, bool up)
{
    int top = HS__LIMBS - 1;
    while (top > 0 && !x->limb[top]) top--;
    if (!x->limb[top]) return 0.0;
    int high = 63;
    while (!(x->limb[top] >> high & 1)) high--;
    const int lowest = top * 64 + high - 52; /* the position of the last digit that is kept */
    if (lowest <= 0) return ldexp((double)x->limb[0], -1074);
    uint64_t digits = x->limb[lowest / 64] >> lowest % 64;
    if (lowest % 64 && lowest / 64 < HS__LIMBS - 1)
        digits |= x->limb[lowest / 64 + 1] << (64 - lowest % 64);
    digits &= (UINT64_C(1) << 53) - 1;
    const int half = lowest - 1;
    bool rest = x->limb[half / 64] & ((UINT64_C(1) << half % 64) - 1);
    for (int k = 0; k < half / 64; k++) rest |= x->limb[k] != 0;
    const bool is_half = x->limb[half / 64] >> half % 64 & 1;
    if (up ? is_half || rest : is_half && (rest || digits % 2)) digits++;
    return ldexp((double)digits, lowest - 1074);
}

#endif
