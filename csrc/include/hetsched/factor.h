/* LU, Cholesky and QR factorisation on the pool, and systems with their factors. */
#ifndef HETSCHED_FACTOR_H
#define HETSCHED_FACTOR_H

#include "hetsched/allocate.h"
#include "hetsched/run.h"

HS_C_BEGIN

/* An m x n matrix and its factors, as LAPACK's getrf, potrf (lower) and geqrf have them.
 *   kind      hs_factor_kind. HS_LU: L unit lower and U upper in place of the matrix. HS_CHOLESKY:
 *             only the lower triangle is read, which becomes L. HS_QR: R, and below its diagonal
 *             the reflectors H = I - tau v v^H, of which Q is the product, v without its leading 1
 *   a         the matrix, copied by the workers; NULL: it is in `matrix` already, and the strides
 *             of a are zero. a must not overlap that
 *   matrix    in and out; a unit row stride is fast
 *   clear     of HS_CHOLESKY, non-zero: zeros above the diagonal, where the matrix is left as it
 *             was otherwise; else zero
 *   block     columns of a block; 0: chosen
 *   owner     [hs_factor_blocks] the worker of each block; NULL: in turn, of a cooperative run by
 *             what the pool has seen of late
 *   grid      1: owner is of each block, as of hs_factor_simulate; excludes cooperative and links.
 *             A part of an update takes whole strips of the kernel's height, each with its first
 *             row in a block of the worker. 0: of each block column
 *   cooperative  non-zero: a worker that would wait takes over tasks of others; excludes pace
 *   costs     of the emulated platform, in seconds; NULL: as for hs_factor_simulate. Panels and
 *             links need a paced run
 *   pivots    [min(m, n)] of HS_LU out: row i was exchanged with row pivots[i] >= i, one after the
 *             other
 *   tau       [min(m, n)] of HS_QR out, elements of dtype
 *   failed    out: -1; HS_LU: the first i with U(i, i) == 0; HS_CHOLESKY: i if the leading minor of
 *             order i + 1 is the first that is not positive definite, and then the lower triangle
 *             has the factor of that before it, and undefined numbers */
typedef struct hs_factor {
    int32_t kind;
    int32_t dtype; /* hs_dtype */
    int64_t m, n;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    void *matrix;
    int64_t row_stride, col_stride;
    int32_t clear;
    int64_t block;
    const int32_t *owner;
    int32_t grid;
    int32_t cooperative;
    const hs_factor_costs *costs;
    int32_t *pivots;
    void *tau;
    int64_t failed;
} hs_factor;

/* Fills *factor for an m x n matrix that is stored column by column without gaps and factored in
 * place; block and owner are chosen, and what else the kind needs is to be filled in. */
HS_API void hs_factor_default(hs_factor *factor, int32_t kind, int32_t dtype, int64_t m, int64_t n,
                              void *data);

/* Factors by the order of hs_factor_simulate. Paced by seconds per flop. An event's box is panel *
 * blocks + block of a task, and of the message that brings a panel to a worker panel * blocks +
 * panel; a part right after its head is one event with it.
 * The matrix is held in slices of a few columns, in its own memory if that has its columns side by
 * side (and, of HS_CHOLESKY, is cleared), which is a little faster from a multiple of 64 bytes on,
 * else in a copy. Extra memory besides: four packed panels, with pace one more for each that a
 * worker still needs; a slice per worker; with links 16 bytes per panel and worker. A paced worker
 * starts a task, on the clock of the emulated platform, when its panel has arrived there; the copy
 * and the exchange of rows in the columns to the left take no time there. 2001 paper, section 2.4;
 * panels of LU and Cholesky by Toledo's recursion (SIAM J. Matrix Anal. Appl. 18, 1997), of QR by
 * that of Elmroth and Gustavson (IBM J. Res. Dev. 44, 2000). */
HS_API hs_status hs_run_factor(hs_pool *pool, hs_factor *factor, const hs_options *options,
                               hs_trace *trace);

/* The block that hs_run_factor chooses for a kind with that many workers and the kernel in use; 0
 * for an unknown kind or dtype. More than two have narrower blocks where a matrix is small for
 * them. In a deterministic pool it is that of one worker. */
HS_API int64_t hs_factor_block(int32_t kind, int64_t m, int64_t n, int32_t dtype, int32_t workers);

/* ---- systems --------------------------------------------------------------------------------- */

/* x <- A^-1 x, or (A^T)^-1 x with transposed == 1, for cols right-hand sides, from what
 * hs_run_factor left in lu->matrix and lu->pivots; lu is not changed, must be square and must not
 * overlap b. Division by a zero of U gives infinities and NaN. Otherwise as hs_solve_triangular. */
HS_API hs_status hs_lu_solve(hs_pool *pool, const hs_factor *lu, int32_t transposed, int64_t cols,
                             void *b, int64_t b_row_stride, int64_t b_col_stride,
                             hs_poll_function poll, void *context);

/* B <- alpha T^-1 B for the lower or upper triangle of an n x n matrix and cols right-hand sides.
 *   upper     non-zero: the upper triangle; the other one is not read
 *   unit      non-zero: with ones on the diagonal, which is not read
 *   alpha     [2] real and imaginary part, the latter ignored for real types; NULL: 1. B is
 *             multiplied by it first, for alpha B may be in range where T^-1 B is not; with 0
 *             neither B nor T is read
 * T^T is T with its strides exchanged. The right-hand sides are dealt to the workers, who share
 * packed panels of T; few of them are solved by the caller alone. A zero on the diagonal gives
 * infinities and NaN. Extra memory as for hs_run_factor; where there is none it is slower. b, which
 * must not overlap T, is changed only with HS_OK and HS_ERROR_CANCELLED. Complexity: n^2 cols / 2
 * multiply-adds. */
typedef struct hs_triangular {
    int32_t dtype;
    int64_t n, cols;
    int32_t upper, unit;
    const void *t;
    int64_t t_row_stride, t_col_stride;
    void *b;
    int64_t b_row_stride, b_col_stride;
    const double *alpha;
} hs_triangular;

HS_API hs_status hs_solve_triangular(hs_pool *pool, const hs_triangular *system,
                                     hs_poll_function poll, void *context);

/* inverse <- A^-1 from the LU factors of A, n x n, which are not changed; inverse must not overlap
 * them. By L^-1, which is lower triangular, then U^-1 L^-1: together with the factorisation n^3
 * multiply-adds. Fails as hs_lu_solve. */
HS_API hs_status hs_lu_inverse(hs_pool *pool, const hs_factor *lu, void *inverse,
                               int64_t row_stride, int64_t col_stride, hs_poll_function poll,
                               void *context);

/* C <- Q C, or Q^H C with adjoint == 1, for the min(m, n) reflectors that hs_run_factor left in
 * qr->matrix and qr->tau; C is m x cols and must not overlap them. identity non-zero: C is not read
 * but taken for the first cols columns of the identity, which makes Q itself from them and needs
 * less work; with adjoint == 0 alone. Memory as for hs_solve_triangular; HS_ERROR_MEMORY leaves C
 * as it was. */
HS_API hs_status hs_qr_multiply(hs_pool *pool, const hs_factor *qr, int32_t adjoint,
                                int32_t identity, int64_t cols, void *c, int64_t c_row_stride,
                                int64_t c_col_stride, hs_poll_function poll, void *context);

HS_C_END
#endif
