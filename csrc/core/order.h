/* Permutations and other lists of indices. */
#ifndef HS_CORE_ORDER_H
#define HS_CORE_ORDER_H

#include <stdint.h>
#include <string.h>

#include "hetsched.h"

/* Returns HS_ERROR_VALUE unless order [size] holds different indices of 0 .. p - 1 with positive
 * keys [p]; keys may be NULL. O(p). */
hs_status hs__check_order(int32_t p, int32_t size, const int32_t *order, const double *keys);

static inline void hs__swap(int32_t *order, int32_t i, int32_t j)
{
    const int32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
}

static inline void hs__reverse(int32_t size, int32_t *order)
{
    for (int32_t from = 0, to = size - 1; from < to; from++, to--) hs__swap(order, from, to);
}

/* Moves the entry at `from` to `to`; the entries between move by one place. */
static inline void hs__shift(int32_t *order, int32_t from, int32_t to)
{
    const int32_t moved = order[from];
    if (from < to) memmove(order + from, order + from + 1, (size_t)(to - from) * sizeof *order);
    else memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
    order[to] = moved;
}

#endif
