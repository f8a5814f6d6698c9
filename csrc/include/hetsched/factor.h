/* LU, Cholesky and QR factorisation on the pool, and solution of systems with the factors. */
#ifndef HETSCHED_FACTOR_H
#define HETSCHED_FACTOR_H

#include "hetsched/allocate.h"
#include "hetsched/run.h"

HS_C_BEGIN

/* An m x n matrix and its factors, in the formats of LAPACK's getrf, potrf (lower) and geqrf.
 *   kind         hs_factor_kind. HS_LU: unit lower L and U replace the matrix. HS_CHOLESKY: only
 *                the lower triangle is read; L replaces it. HS_QR: R, and below its diagonal the
 *                vectors v, without their leading 1, of the reflectors H = I - tau v v^H; Q is the
 *                product of the reflectors
 *   a            the matrix, which the workers copy; NULL: it is already in `matrix`, and the
 *                strides of a are zero. a must not overlap `matrix`
 *   matrix       in and out; a unit row stride is fast
 *   clear        for HS_CHOLESKY only, else zero. Non-zero: the elements above the diagonal are set
 *                to zero; zero: they keep the values that they had in `matrix`
 *   block        columns of a block; 0: chosen
 *   owner        [hs_factor_blocks] the worker of each block; NULL: the workers in turn, or, in a
 *                cooperative run, according to the speeds that the pool has observed recently
 *   grid         1: owner has an entry for each block, see hs_factor_simulate; excludes cooperative
 *                and links. A part of an update takes whole strips of the kernel's height: all
 *                strips with the first row in a block of the worker. 0: owner has an entry for each
 *                block column
 *   cooperative  non-zero: a worker that would wait takes over tasks of other workers; excludes
 *                pace
 *   costs        of the emulated platform, in seconds; NULL: as in hs_factor_simulate. Panels,
 *                links and steps need a paced run
 *   pivots       [min(m, n)] out, for HS_LU: row i was exchanged with row pivots[i] >= i, one
 *                exchange after the other
 *   tau          [min(m, n)] out, for HS_QR: elements of dtype
 *   failed       out: -1 if nothing failed. HS_LU: the first i with U(i, i) == 0. HS_CHOLESKY: i if
 *                the leading minor of order i + 1 is the first that is not positive definite; then
 *                the lower triangle holds the factor of the leading minor of order i, and undefined
 *                numbers elsewhere */
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
 * place. block and owner are left to the library; the caller sets what else the kind needs. */
HS_API void hs_factor_default(hs_factor *factor, int32_t kind, int32_t dtype, int64_t m, int64_t n,
                              void *data);

/* Factors a matrix in the order of hs_factor_simulate. Paced by seconds per flop. The box of an
 * event is panel * blocks + block for a task, and panel * blocks + panel for the message that
 * brings a panel to a worker; a part that directly follows its head is one event with it.
 *
 * The matrix is held in slices of a few columns. If its columns are adjacent in memory (and, for
 * HS_CHOLESKY, it is cleared), the slices are in its own memory, which is a little faster if it
 * starts at a multiple of 64 bytes; else they are in a copy. Extra memory besides: four packed
 * panels, with pace one more for each panel that a worker still needs; a slice per worker; with
 * links 16 bytes per panel and worker.
 *
 * A paced worker starts a task, on the clock of the emulated platform, when its panel has arrived
 * there; the copy, and the exchange of rows in the columns to the left, take no time there. 2001
 * paper, section 2.4; panels of LU and Cholesky by Toledo's recursion (SIAM J. Matrix Anal. Appl.
 * 18, 1997), panels of QR by the recursion of Elmroth and Gustavson (IBM J. Res. Dev. 44, 2000). */
HS_API hs_status hs_run_factor(hs_pool *pool, hs_factor *factor, const hs_options *options,
                               hs_trace *trace);

/* Returns the block size that hs_run_factor chooses for a kind with that many workers and the
 * kernel in use; 0 for an unknown kind or dtype. More than two workers get narrower blocks if the
 * matrix is small for them. In a deterministic pool hs_run_factor takes the size for one worker. */
HS_API int64_t hs_factor_block(int32_t kind, int64_t m, int64_t n, int32_t dtype, int32_t workers);

/* ---- systems --------------------------------------------------------------------------------- */

/* Solves with LU factors: x <- A^-1 x, or (A^T)^-1 x with transposed == 1, for cols right-hand
 * sides. lu is the struct that hs_run_factor filled, with lu->matrix and lu->pivots; it is not
 * changed, must be square and must not overlap b. Division by a zero of U gives infinities and NaN.
 * Otherwise see hs_solve_triangular. */
HS_API hs_status hs_lu_solve(hs_pool *pool, const hs_factor *lu, int32_t transposed, int64_t cols,
                             void *b, int64_t b_row_stride, int64_t b_col_stride,
                             hs_poll_function poll, void *context);

/* Solves B <- alpha T^-1 B for the lower or upper triangle T of an n x n matrix and cols right-hand
 * sides.
 *   upper  non-zero: the upper triangle; the other one is not read
 *   unit   non-zero: ones on the diagonal, which is not read
 *   alpha  [2] real and imaginary part, the latter ignored for real types; NULL: 1. B is multiplied
 *          by alpha first, because alpha B may be in range where T^-1 B is not; with 0 neither B
 *          nor T is read
 * T^T is T with its strides exchanged. The right-hand sides are dealt to the workers, which share
 * packed panels of T. Systems of few rows, and few right-hand sides, are solved by the caller alone.
 * A zero on the diagonal gives infinities and NaN. Extra memory as for hs_run_factor; if it cannot be
 * had, the solve is slower. b must not overlap T; it is changed only with HS_OK and
 * HS_ERROR_CANCELLED. Complexity: n^2 cols / 2 multiply-adds. */
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

/* Computes inverse <- A^-1 from the LU factors of A, n x n. The factors are not changed; inverse
 * must not overlap them. It computes L^-1, which is lower triangular, then U^-1 L^-1: together with
 * the factorisation n^3 multiply-adds. Fails like hs_lu_solve. */
HS_API hs_status hs_lu_inverse(hs_pool *pool, const hs_factor *lu, void *inverse,
                               int64_t row_stride, int64_t col_stride, hs_poll_function poll,
                               void *context);

/* Computes C <- Q C, or Q^H C with adjoint == 1, for the min(m, n) reflectors that hs_run_factor
 * left in qr->matrix and qr->tau. C is m x cols and must not overlap them. With identity non-zero,
 * C is not read but taken for the first cols columns of the identity: the result is the first cols
 * columns of Q, with less work. Only with adjoint == 0. Memory as for hs_solve_triangular;
 * HS_ERROR_MEMORY leaves C unchanged. */
HS_API hs_status hs_qr_multiply(hs_pool *pool, const hs_factor *qr, int32_t adjoint,
                                int32_t identity, int64_t cols, void *c, int64_t c_row_stride,
                                int64_t c_col_stride, hs_poll_function poll, void *context);

HS_C_END
#endif
