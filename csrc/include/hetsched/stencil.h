/* Recurrences and iterations on the pool: wavefronts, and slices on a ring. */
#ifndef HETSCHED_STENCIL_H
#define HETSCHED_STENCIL_H

#include "hetsched/run.h"

HS_C_BEGIN

/* ---- wavefront ------------------------------------------------------------------------------- */

/* Computes the elements row .. row + height - 1, col .. col + width - 1. It is called from the
 * pool's threads, for different tiles at the same time; for each tile, only after the tiles that it
 * depends on. */
typedef void (*hs_tile_function)(void *context, int64_t row, int64_t col, int64_t height,
                                 int64_t width);

/* A recurrence over m x n elements, cut as evenly as integers allow into rows x cols tiles. A plan
 * deals columns (or rows) of tiles to the workers.
 *   axis          1: columns of tiles are dealt. 0: rows are dealt; then `reach` and `order` refer
 *                 to the transposed matrix
 *   owner         [cols], or [rows] with axis 0: the worker of each column or row of tiles
 *   reach, order  as for hs_wavefront_makespan
 *   row, col      the first element, if the recurrence is a part of a larger matrix: they are added
 *                 to the row and column of each tile
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
    int64_t row, col;
} hs_wavefront;

/* Runs the recurrence. Paced by seconds per element. The box of an event is row * cols + col of a
 * tile. A paced worker starts a tile, on the clock of the emulated platform, when the tiles that it
 * depends on have ended there. Cancellation takes effect between tiles. Extra memory: 64 bytes per
 * chunk, and with pace 8 bytes per row of each chunk. */
HS_API hs_status hs_run_wavefront(hs_pool *pool, const hs_wavefront *wavefront,
                                  const hs_options *options, hs_trace *trace);

/* HS_SUM: the sum of weight * element. HS_MIN: the minimum of element + weight. */
typedef enum hs_stencil_rule { HS_SUM = 0, HS_MIN = 1 } hs_stencil_rule;

/* a(i, j) <- the sum or the minimum over its 3 x 3 neighbourhood, in place: 2001 paper, Algorithm
 * 1, with f of either kind. Neighbours outside the matrix are ignored. The dependences between
 * tiles decide whether a neighbour's value is the old or the new one; within a tile of several rows
 * and columns, row-major order decides it.
 *   dtype    HS_FLOAT32 or HS_FLOAT64
 *   data     m x n elements
 *   weights  of the neighbours in row-major order, the element itself in the middle; 0 (HS_SUM) or
 *            infinity (HS_MIN): not used */
typedef struct hs_stencil {
    int32_t dtype; /* hs_dtype */
    int32_t rule;  /* hs_stencil_rule */
    int64_t m, n;
    void *data;
    int64_t row_stride, col_stride;
    double weights[9];
} hs_stencil;

/* A tile function; the context is an hs_stencil. Terms are added in the order of the weights and
 * never fused, so the result does not depend on the tiles. A tile that is not inside the array is
 * skipped, and so is every tile if there is no data. */
HS_API void hs_stencil_tile(void *stencil, int64_t row, int64_t col, int64_t height, int64_t width);

/* ---- slices on a ring ------------------------------------------------------------------------ */

/* Steps of an iteration on a cylinder of m x n elements: column 0 is adjacent to column n - 1, and
 * the first and the last row are constant. In a step every other element x becomes, with the old
 * values of its neighbours,
 *   x + weight ((((above + below) + left) + right) - 4 x)
 * in its own type. Each operation is rounded and none is fused, so the bits do not depend on the
 * slices.
 *   dtype     HS_FLOAT32 or HS_FLOAT64
 *   m, n      >= 1
 *   source    the elements before the first step
 *   target    out: the elements after the last step. It may be the source, or overlap it; its
 *             elements must not overlap each other. Not changed unless the run succeeds
 *   weight    finite in that type
 *   steps     0 .. 2^30 - 1
 *   ring      [size] different workers, in the order of their slices
 *   widths    [size] columns of each slice, >= 1; their sum is n
 *   exchange  [2 size] with pace: for each member the seconds of its exchange of columns with the
 *             next member, then with the previous one; or NULL
 *   overheads [size] with pace: for each member the seconds that its update takes in addition; or
 *             NULL */
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
    const double *overheads;
} hs_slices;

/* Runs the iteration. Paced by seconds per element that changes. The box of an event is 2 step for
 * the update and the exchange with the next member, and 2 step + 1 for the exchange with the
 * previous one. Times count from when all slices are loaded to when the last step ends. A member
 * starts the next step when both neighbours have ended this one (in a paced run, on the clock of
 * the emulated platform); there is no other synchronisation. Extra memory: one copy of the matrix,
 * in slices that their owners touch first. Renard, Robert, Vivien (2003), section 2. */
HS_API hs_status hs_run_slices(hs_pool *pool, const hs_slices *slices, const hs_options *options,
                               hs_trace *trace);

HS_C_END
#endif
