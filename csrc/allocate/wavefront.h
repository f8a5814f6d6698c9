/* The order in which a worker processes the tiles of a wavefront. The planner simulates this order,
 * and the executor follows it. */
#ifndef HS_ALLOCATE_WAVEFRONT_H
#define HS_ALLOCATE_WAVEFRONT_H

#include <stdint.h>

#include "hetsched.h"

/* Columns first .. first + width - 1: neighbours with one owner. */
typedef struct hs__chunk {
    int32_t worker, first, width;
} hs__chunk;

/* Finds the chunks from the left and returns their number. chunk has room for [cols], or is NULL to
 * count only. */
int32_t hs__wavefront_chunks(int32_t cols, const int32_t *owner, hs__chunk *chunk);

/* Tiles (row + k row_step, col + k col_step), k = 0 .. count - 1, of one chunk, computed without a
 * pause; col counts from the chunk's first column. Only the first tile may have to wait for the
 * chunk to the left, until that chunk has finished row `needs`; only the last tile may release the
 * chunk to the right, with row `gives`. -1: none. */
typedef struct hs__stretch {
    int64_t row, col, count, row_step, col_step;
    int64_t needs, gives;
} hs__stretch;

/* The position of a worker in one of its chunks; at = 0 is the start. */
typedef struct hs__walk {
    int64_t rows, width, reach; /* reach < rows */
    int32_t order;              /* hs_wavefront_order */
    int64_t at;
} hs__walk;

/* Finds the next stretch; returns 0 after the last. A chunk has O(rows) stretches, and one more for
 * each column. */
int hs__walk_next(hs__walk *walk, hs__stretch *next);

#endif
