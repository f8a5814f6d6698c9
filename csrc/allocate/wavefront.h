/* The order in which a wavefront's tiles are worked on, as the planner simulates it and the
 * executor follows it. */
#ifndef HS_ALLOCATE_WAVEFRONT_H
#define HS_ALLOCATE_WAVEFRONT_H

#include <stdint.h>

#include "hetsched.h"

/* Columns first .. first + width - 1: neighbours with one owner. */
typedef struct hs__chunk {
    int32_t worker, first, width;
} hs__chunk;

/* The chunks from the left; returns how many. chunk holds [cols], or is NULL: they are only
 * counted. */
int32_t hs__wavefront_chunks(int32_t cols, const int32_t *owner, hs__chunk *chunk);

/* Tiles (row + k row_step, col + k col_step), k = 0 .. count - 1, of one chunk, worked on without a
 * pause; col counts from the chunk's first. Only the first tile may have to wait for the chunk to
 * the left, until that has finished row `needs`; only the last may let the chunk to the right go
 * on, with row `gives`. -1: none. */
typedef struct hs__stretch {
    int64_t row, col, count, row_step, col_step;
    int64_t needs, gives;
} hs__stretch;

/* Where a worker is in one of its chunks; at = 0 is the start. */
typedef struct hs__walk {
    int64_t rows, width, reach; /* reach < rows */
    int32_t order;              /* hs_wavefront_order */
    int64_t at;
} hs__walk;

/* The next stretch; returns 0 after the last. O(rows) stretches for a chunk, and one more for each
 * column. */
int hs__walk_next(hs__walk *walk, hs__stretch *next);

#endif
