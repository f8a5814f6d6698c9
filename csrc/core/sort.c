/* Radix sort of indices by keys that are doubles, in time O(p). */
#include "core/sort.h"

#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

enum { DIGIT = 11, BUCKETS = 1 << DIGIT, PASSES = 3, FEW = 64 };

static void insertion_sort(const double *keys, int32_t *order, int32_t size)
{
    for (int32_t i = 1; i < size; i++) {
        int32_t moved = order[i];
        int32_t k = i;
        for (; k > 0 && keys[order[k - 1]] > keys[moved]; k--) order[k] = order[k - 1];
        order[k] = moved;
    }
}

/* Sorts by the 32 leading bits in which the keys differ, packed above the index; equal ones are
 * then sorted by the other 32 bits. from, to: [size] workspace. count: workspace that would be too
 * large for the stack of a small thread. */
static void radix_sort(const double *keys, int32_t *order, int32_t size, uint64_t *from,
                       uint64_t *to, int32_t (*count)[BUCKETS])
{
    if (size <= FEW) {
        insertion_sort(keys, order, size);
        return;
    }
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (int32_t i = 0; i < size; i++) {
        uint64_t bits = hs__bits_of(keys[order[i]] + 0.0 /* -0.0 is 0 */);
        if (bits < low) low = bits;
        if (bits > high) high = bits;
    }
    int shift = 0;
    while ((high - low) >> shift > UINT32_MAX) shift++;

    memset(count, 0, PASSES * sizeof *count);
    for (int32_t i = 0; i < size; i++) {
        uint64_t leading = (hs__bits_of(keys[order[i]] + 0.0) - low) >> shift;
        from[i] = leading << 32 | (uint32_t)order[i];
        for (int pass = 0; pass < PASSES; pass++)
            count[pass][leading >> (DIGIT * pass) & (BUCKETS - 1)]++;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        const int place = 32 + DIGIT * pass;
        int32_t before = 0;
        int32_t *bucket = count[pass];
        if (bucket[from[0] >> place & (BUCKETS - 1)] == size) continue; /* all equal */
        for (int32_t b = 0; b < BUCKETS; b++) {
            int32_t here = bucket[b];
            bucket[b] = before;
            before += here;
        }
        for (int32_t i = 0; i < size; i++) to[bucket[from[i] >> place & (BUCKETS - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    for (int32_t i = 0; i < size; i++) order[i] = (int32_t)(from[i] & UINT32_MAX);
    if (shift == 0) return;
    for (int32_t i = 0, end; i < size; i = end) {
        for (end = i + 1; end < size && from[end] >> 32 == from[i] >> 32;) end++;
        if (end - i > 1) radix_sort(keys, order + i, end - i, from + i, to + i, count);
    }
}

static hs_status sort_keys(int32_t p, const double *keys, bool all, int32_t *order, int32_t *size)
{
    int32_t(*count)[BUCKETS] = NULL;
    uint64_t *space = NULL;
    if (p > FEW) {
        count = malloc(PASSES * sizeof *count + 2 * (size_t)p * sizeof *space);
        if (!count) return HS_ERROR_MEMORY;
        space = (uint64_t *)(count + PASSES);
    }
    int32_t n = 0;
    for (int32_t i = 0; i < p; i++)
        if (all || keys[i] > 0.0) order[n++] = i;
    radix_sort(keys, order, n, space, p > FEW ? space + p : NULL, count);
    *size = n;
    free(count);
    return HS_OK;
}

hs_status hs__sort_positive(int32_t p, const double *keys, int32_t *order, int32_t *size)
{
    return sort_keys(p, keys, false, order, size);
}

hs_status hs__sort(int32_t p, const double *keys, int32_t *order)
{
    return sort_keys(p, keys, true, order, &p);
}

int hs__ascending(const void *x, const void *y)
{
    const double a = *(const double *)x;
    const double b = *(const double *)y;
    return (a > b) - (a < b);
}
