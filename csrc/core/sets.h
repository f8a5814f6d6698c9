/* Sets of whole numbers 0 .. n as bitsets, and the sums of their elements. Bits beyond n may be set;
 * they stand for larger sums. */
#ifndef HS_CORE_SETS_H
#define HS_CORE_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/cancel.h"

enum { HS__WORD = 64 };

/* Returns the words of a set. */
static inline size_t hs__set_words(int64_t n) { return (size_t)n / HS__WORD + 1; }

/* Returns the number of powers of two up to the length of the longest run, which is all bits of a
 * set. */
static inline size_t hs__count_powers(size_t words)
{
    size_t powers = 1;
    while (words * HS__WORD >> powers) powers++;
    return powers;
}

static inline bool hs__has(const uint64_t *set, int64_t x)
{
    return set[x / HS__WORD] >> (x % HS__WORD) & 1;
}

/* Returns the first position from x on with a bit equal to `value`, or the end of the set. */
static inline int64_t hs__next_bit(const uint64_t *set, size_t words, int64_t x, bool value)
{
    size_t w = (size_t)x / HS__WORD;
    if (w >= words) return (int64_t)words * HS__WORD;
    uint64_t flip = value ? 0 : ~UINT64_C(0);
    uint64_t found = (set[w] ^ flip) >> (x % HS__WORD) << (x % HS__WORD);
    while (!found) {
        if (++w == words) return (int64_t)words * HS__WORD;
        found = set[w] ^ flip;
    }
    return (int64_t)w * HS__WORD + __builtin_ctzll(found);
}

static inline int64_t hs__count_runs(const uint64_t *set, size_t words)
{
    int64_t runs = 0;
    uint64_t carry = 0;
    for (size_t w = 0; w < words; w++) {
        runs += __builtin_popcountll(set[w] & ~(set[w] << 1 | carry));
        carry = set[w] >> (HS__WORD - 1);
    }
    return runs;
}

/* out |= in + shift, shift within the set; the arrays are different. */
static inline void hs__add_shifted(uint64_t *restrict out, const uint64_t *restrict in,
                                   size_t words, int64_t shift)
{
    size_t skip = (size_t)shift / HS__WORD;
    unsigned bits = (unsigned)(shift % HS__WORD);
    if (bits == 0) {
        for (size_t w = skip; w < words; w++) out[w] |= in[w - skip];
        return;
    }
    out[skip] |= in[0] << bits;
    for (size_t w = skip + 1; w < words; w++)
        out[w] |= in[w - skip] << bits | in[w - skip - 1] >> (HS__WORD - bits);
}

/* out = {a + b}; spread [hs__count_powers(words) * words] is workspace. Every run of b is the union of two runs of the same length, a power of two. So
 * each run costs two shifts of a, spread to that length by doubling. */
static inline void hs__add_sets(size_t words, const uint64_t *a, const uint64_t *b,
                                uint64_t *spread, const int *cancel, uint64_t *out)
{
    if (hs__count_runs(a, words) < hs__count_runs(b, words)) {
        const uint64_t *swap = a;
        a = b;
        b = swap;
    }
    memset(out, 0, words * sizeof *out);
    memcpy(spread, a, words * sizeof *a);
    int64_t end = (int64_t)words * HS__WORD;
    size_t known = 0;
    for (int64_t first = 0, stop;
         (first = hs__next_bit(b, words, first, true)) < end && !hs__cancelled(cancel);
         first = stop) {
        stop = hs__next_bit(b, words, first, false);
        size_t power = 0;
        while ((stop - first) >> (power + 1)) power++;
        for (; known < power; known++) {
            uint64_t *wide = spread + (known + 1) * words;
            memcpy(wide, wide - words, words * sizeof *wide);
            hs__add_shifted(wide, wide - words, words, INT64_C(1) << known);
        }
        const uint64_t *wide = spread + power * words;
        hs__add_shifted(out, wide, words, first);
        if ((stop - first) != INT64_C(1) << power)
            hs__add_shifted(out, wide, words, stop - (INT64_C(1) << power));
    }
}

#endif
