/* LU factorisation on the pool. */
#ifndef HETSCHED_LU_H
#define HETSCHED_LU_H

#include "hetsched/allocate.h"
#include "hetsched/run.h"

HS_C_BEGIN

/* P A = L U of an m x n matrix with partial pivoting, LAPACK's getrf: L unit lower and U upper in place of the matrix.
 *   a         the matrix, copied to lu by the workers; NULL: it is in lu already, and the strides of a are zero. a must not
 *             overlap lu
 *   lu        in and out; a unit row stride is fast
 *   block     columns of a block; 0: chosen
 *   owner     [hs_lu_blocks] the worker of each block; NULL: in turn, of a cooperative run by what the pool has seen of late
 *   cooperative  non-zero: a worker that would wait takes over tasks of others; excludes pace
 *   costs     of the emulated platform, in seconds; NULL: as for hs_lu_simulate. Panels and links need a paced run
 *   pivots    [min(m, n)] out: row i was exchanged with row pivots[i] >= i, one after the other
 *   singular  out: the first i with U(i, i) == 0, else -1 */
typedef struct hs_lu {
    int32_t dtype; /* hs_dtype */
    int64_t m, n;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    void *lu;
    int64_t lu_row_stride, lu_col_stride;
    int64_t block;
    const int32_t *owner;
    int32_t cooperative;
    const hs_lu_costs *costs;
    int32_t *pivots;
    int64_t singular;
} hs_lu;

/* Fills *lu for an m x n matrix that is stored column by column without gaps and factored in place; block and owner are chosen. */
HS_API void hs_lu_default(hs_lu *lu, int32_t dtype, int64_t m, int64_t n, void *data, int32_t *pivots);

/* Factors by the order of hs_lu_simulate. Paced by seconds per flop. An event's box is panel * blocks + block of a task, and of the
 * message that brings a panel to a worker panel * blocks + panel.
 * The matrix is held in slices of a few columns, in the memory of lu if that has its columns side by side, which is a little faster
 * from a multiple of 64 bytes on, else in a copy. Extra memory besides: four packed panels, with pace one more for each that a worker
 * still needs; a slice per worker; with links 16 bytes per panel and worker. A paced worker starts a task, on the clock of the emulated
 * platform, when its panel has arrived there; the copy and the exchange of rows in the columns to the left take no time there. 2001
 * paper, section 2.4; panels by Toledo's recursion (SIAM J. Matrix Anal. Appl. 18, 1997). */
HS_API hs_status hs_run_lu(hs_pool *pool, hs_lu *lu, const hs_options *options, hs_trace *trace);

/* x <- A^-1 x, or (A^T)^-1 x with transposed == 1, for cols right-hand sides, from what hs_run_lu left in lu->lu and lu->pivots; lu is
 * not changed and must be square. Division by a zero of U gives infinities and NaN. With six right-hand sides and more by recursion,
 * with its products on the pool; where there is no memory for those they are slower. b is changed only with HS_OK and
 * HS_ERROR_CANCELLED. */
HS_API hs_status hs_lu_solve(hs_pool *pool, const hs_lu *lu, int32_t transposed, int64_t cols, void *b, int64_t b_row_stride, int64_t b_col_stride,
                             hs_poll_function poll, void *context);

/* The block that hs_run_lu chooses with that many workers and the kernel in use. */
HS_API int64_t hs_lu_block(int64_t m, int64_t n, int32_t dtype, int32_t workers);

HS_C_END
#endif
