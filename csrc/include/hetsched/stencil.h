/* Recurrences and iterations on the pool: wavefronts, slices on a ring. */
#ifndef HETSCHED_STENCIL_H
#define HETSCHED_STENCIL_H

#include "hetsched/run.h"

HS_C_BEGIN

/* ---- wavefront ------------------------------------------------------------------------------- */

/* Works on the elements row .. row + height - 1, col .. col + width - 1. Called from the pool's
 * threads, for different tiles at the same time, but for a tile only after those that it waits
 * for. */
typedef void (*hs_tile_function)(void *context, int64_t row, int64_t col, int64_t height,
                                 int64_t width);

/* A recurrence over m x n elements, cut as evenly as integers allow into rows x cols tiles, whose
 * columns (or rows) are dealt as a plan says.
 *   axis          1: columns of tiles are dealt. 0: rows are; then `reach` and `order` are those of
 *                 the transposed matrix
 *   owner         [cols], or [rows] with axis 0: the worker of each
 *   reach, order  as for hs_wavefront_makespan
 * rows * cols < 2^31. */
typedef struct hs_wavefront {
    int64_t m, n;
    int32_t rows, cols;
    int32_t axis;
    const int32_t *owner;
    int64_t reach;
    int32_t order; /* hs_wavefront_order */
    hs_tile_function tile;
    void *context;
} hs_wavefront;

/* Runs the recurrence. Paced by seconds per element; an event's box is row * cols + col of a tile.
 * A paced worker starts a tile, on the clock of the emulated platform, when the tiles that it waits
 * for have ended there. A cancel is seen between tiles. Extra memory: 64 bytes per chunk, and with
 * pace 8 bytes per row of each chunk. */
HS_API hs_status hs_run_wavefront(hs_pool *pool, const hs_wavefront *wavefront,
                                  const hs_options *options, hs_trace *trace);

/* HS_SUM: the sum of weight * element. HS_MIN: the least element + weight. */
typedef enum hs_stencil_rule { HS_SUM = 0, HS_MIN = 1 } hs_stencil_rule;

/* a(i, j) <- the sum or the minimum over its 3 x 3 neighbourhood, in place: 2001 paper, Algorithm
 * 1, with f of either kind. Neighbours outside the matrix do not count. What a tile waits for
 * decides whether a neighbour's value is the old or the new one; for a tile of several rows and
 * columns that is the order of the rows.
 *   dtype    HS_FLOAT32 or HS_FLOAT64
 *   data     m x n elements
 *   weights  of the neighbours row by row, the element itself in the middle; 0 (HS_SUM) or infinity
 *            (HS_MIN): not used */
typedef struct hs_stencil {
    int32_t dtype; /* hs_dtype */
    int32_t rule;  /* hs_stencil_rule */
    int64_t m, n;
    void *data;
    int64_t row_stride, col_stride;
    double weights[9];
} hs_stencil;

/* A tile function; the context is an hs_stencil. Terms are added in the order of the weights, and
 * never fused: the result does not depend on the tiles. Of a tile that is not inside the array, and
 * without data, nothing is done. */
HS_API void hs_stencil_tile(void *stencil, int64_t row, int64_t col, int64_t height, int64_t width);

/* ---- slices on a ring ------------------------------------------------------------------------ */

/* Steps of an iteration on a cylinder of m x n elements: column 0 is beside column n - 1, the first
 * and the last row stay as they are. In a step every other element x becomes, of the old ones
 * around it,
 *   x + weight ((((above + below) + left) + right) - 4 x)
 * in its own type, each operation rounded, none fused: the bits do not depend on the slices.
 *   dtype     HS_FLOAT32 or HS_FLOAT64
 *   m, n      >= 1
 *   source    as it is at first
 *   target    out: after the last step. It may be the source, or overlap it; its elements must not
 *             overlap each other. Not changed unless the run succeeds
 *   weight    finite in that type
 *   steps     0 .. 2^30 - 1
 *   ring      [size] different workers, in the order of their slices
 *   widths    [size] columns of each slice, >= 1; their sum is n
 *   exchange  [2 size] with pace: seconds that its exchange of columns with the next takes each
 *             member, and that with the one before; or NULL */
typedef struct hs_slices {
    int32_t dtype; /* hs_dtype */
    int64_t m, n;
    const void *source;
    int64_t source_row_stride, source_col_stride;
    void *target;
    int64_t target_row_stride, target_col_stride;
    double weight;
    int64_t steps;
    int32_t size;
    const int32_t *ring;
    const int64_t *widths;
    const double *exchange;
} hs_slices;

/* Runs the iteration. Paced by seconds per element that changes. The box of an event is 2 step for
 * the update and the exchange with the next member, 2 step + 1 for that with the one before. Times
 * count from when all slices are loaded to when the last step ends. A member goes on with the next
 * step when both neighbours have ended this one, on a paced run on the clock of the emulated
 * platform; nobody waits for anybody else. Extra memory: one copy of the matrix, in slices that
 * their owners touch first. Renard, Robert, Vivien (2003), section 2. */
HS_API hs_status hs_run_slices(hs_pool *pool, const hs_slices *slices, const hs_options *options,
                               hs_trace *trace);

HS_C_END
#endif
