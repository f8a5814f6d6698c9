#include "sort.h"

#include <stdlib.h>
#include <string.h>

/* The bits of a double >= 0 rise with it. */
typedef struct {
    uint64_t bits;
    int32_t index;
} item;

enum { DIGIT = 11, BUCKETS = 1 << DIGIT, PASSES = 6, FEW = 64 };

static void insertion_sort(item *items, int32_t size)
{
    for (int32_t i = 1; i < size; i++) {
        item moved = items[i];
        int32_t k = i;
        for (; k > 0 && items[k - 1].bits > moved.bits; k--) items[k] = items[k - 1];
        items[k] = moved;
    }
}

hs_status hs__sort_positive(int32_t p, const double *keys, int32_t *order, int32_t *size)
{
    item *items = malloc(2 * (size_t)p * sizeof *items);
    int32_t(*count)[BUCKETS] = p > FEW ? calloc(PASSES, sizeof *count) : NULL;
    if (!items || (p > FEW && !count)) {
        free(items), free(count);
        return HS_ERROR_MEMORY;
    }
    int32_t n = 0;
    for (int32_t i = 0; i < p; i++) {
        if (!(keys[i] > 0.0)) continue;
        items[n].index = i;
        memcpy(&items[n++].bits, &keys[i], sizeof keys[i]);
    }
    item *from = items, *to = items + p;
    if (p <= FEW) insertion_sort(items, n);
    else {
        for (int32_t i = 0; i < n; i++)
            for (int pass = 0; pass < PASSES; pass++) count[pass][items[i].bits >> (DIGIT * pass) & (BUCKETS - 1)]++;
        for (int pass = 0; pass < PASSES; pass++) {
            int32_t before = 0, *bucket = count[pass];
            if (n > 0 && bucket[from[0].bits >> (DIGIT * pass) & (BUCKETS - 1)] == n) continue; /* all alike */
            for (int32_t b = 0; b < BUCKETS; b++) {
                int32_t here = bucket[b];
                bucket[b] = before, before += here;
            }
            for (int32_t i = 0; i < n; i++) to[bucket[from[i].bits >> (DIGIT * pass) & (BUCKETS - 1)]++] = from[i];
            item *swap = from;
            from = to, to = swap;
        }
    }
    for (int32_t i = 0; i < n; i++) order[i] = from[i].index;
    *size = n;
    free(items), free(count);
    return HS_OK;
}
