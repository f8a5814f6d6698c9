/* Prefetching of the matrices that are needed next, while something else is computed. */
#ifndef HS_KERNEL_AHEAD_H
#define HS_KERNEL_AHEAD_H

#include <stdint.h>

enum { HS__LINE = 64, HS__FETCH_STEPS = 8 };

/* `rows` pieces of memory of `bytes` bytes each, at a distance of `pitch` bytes. */
typedef struct hs__span {
    uintptr_t at;
    int64_t rows, bytes, pitch;
} hs__span;

static inline int64_t hs__span_lines(const hs__span *x)
{
    return x->rows * (x->bytes / HS__LINE + 1);
}

/* The prefetches that remain. The first `spans` entries of span are still to come, the last of them
 * first; of the current piece, `at` up to `end` remain. Each call of hs__fetch prefetches `lines`
 * cache lines into the L2 cache. All zero: nothing to prefetch. */
typedef struct hs__ahead {
    hs__span span[3];
    int32_t spans, lines;
    uintptr_t at, end;
} hs__ahead;

/* Returns the span of a matrix with elements of e bytes; an empty one if neither its rows nor its
 * columns are contiguous. */
static inline hs__span hs__span_of(int64_t rows, int64_t cols, int64_t row, int64_t col, int64_t e)
{
    if (col != 1) return row == 1 ? hs__span_of(cols, rows, col, row, e) : (hs__span){0};
    hs__span span = {0, rows, cols * e, rows > 1 ? row * e : 0};
    if (rows > 1 && row >= 0 && span.pitch < span.bytes + HS__LINE) {
        span.bytes += (rows - 1) * span.pitch;
        span.rows = 1;
    }
    return span;
}

/* Adds a matrix of that form at `data`. */
static inline void hs__ahead_add(hs__ahead *x, const hs__span *span, const void *data)
{
    if (!span->rows) return;
    x->span[x->spans] = *span;
    x->span[x->spans++].at = (uintptr_t)data;
}

/* Begins the next piece, from the start of its cache line; returns 0 if there is none. */
static inline int hs__ahead_next(hs__ahead *x)
{
    if (!x->spans) return 0;
    hs__span *span = &x->span[x->spans - 1];
    x->at = span->at / HS__LINE * HS__LINE;
    x->end = span->at + (uintptr_t)span->bytes;
    span->at += (uintptr_t)span->pitch;
    x->spans -= --span->rows == 0;
    return 1;
}

/* Prefetches some lines; does nothing when all lines have been prefetched. */
static inline void hs__fetch(hs__ahead *x)
{
    for (int32_t i = 0; i < x->lines; i++, x->at += HS__LINE) {
        if (x->at >= x->end && !hs__ahead_next(x)) return;
        /* a prefetch never faults, whatever the address */
        __builtin_prefetch((const void *)x->at, 0, 2);
    }
}

#endif
