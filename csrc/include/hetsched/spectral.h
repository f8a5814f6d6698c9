/* Eigenvalues and eigenvectors of Hermitian matrices, singular values and vectors, and least squares
 * by them. */
#ifndef HETSCHED_SPECTRAL_H
#define HETSCHED_SPECTRAL_H

#include "hetsched/run.h"

HS_C_BEGIN

/* The decomposition A = Z diag(values) Z^H of a Hermitian n x n matrix.
 *   dtype    hs_dtype
 *   a        the matrix, of which one triangle is read; not changed. Imaginary parts of its
 *            diagonal are not read
 *   upper    non-zero: the upper triangle is read; zero: the lower one
 *   values   [n] out, of the real type: the eigenvalues, ascending
 *   vectors  [n x count] out: the orthonormal eigenvectors of the values first .. first + count - 1;
 *            NULL: not wanted. It may overlap a
 *   by_value  non-zero: the wanted values are those with low < value <= high. Then first and count
 *            are out, and vectors has room for n columns
 *   failed   out: non-zero if the triangle has a NaN or an infinity. Then values, vectors, first and
 *            count are not changed */
typedef struct hs_eigh {
    int32_t dtype;
    int64_t n;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    int32_t upper;
    void *values;
    void *vectors;
    int64_t row_stride, col_stride;
    int64_t first, count;
    int32_t by_value;
    double low, high;
    int32_t failed;
} hs_eigh;

/* Computes the decomposition by two stages, to a band and to tridiagonal form (Bischof, Lang and
 * Sun, ACM Trans. Math. Softw. 26, 2000), and divide and conquer (Gu and Eisenstat, SIAM J. Matrix
 * Anal. Appl. 16, 1995). Every pool computes the same bits if its kernel is the same. Errors of
 * values and vectors are a small multiple of n eps times the norm of the matrix. O(n^3), and memory
 * for about 5 n^2 elements, 1.5 n^2 for values alone. options->pace must be NULL.
 * HS_ERROR_VALUE, HS_ERROR_MEMORY, HS_ERROR_CANCELLED (vectors and values are undefined), and the
 * errors of the pool. */
HS_API hs_status hs_run_eigh(hs_pool *pool, hs_eigh *eigh, const hs_options *options,
                             hs_trace *trace);

/* The decomposition A = U diag(values) V^H of an m x n matrix, with k = min(m, n).
 *   a        not changed
 *   values   [k] out, of the real type: the singular values, descending
 *   u        [m x u_cols] out: the left singular vectors. u_cols is k, or m for the columns that
 *            complete a basis, too
 *   vh       [vh_rows x n] out: V^H. vh_rows is k or n. u and vh may overlap a; both NULL: not
 *            wanted
 *   failed   as for hs_eigh */
typedef struct hs_svd {
    int32_t dtype;
    int64_t m, n;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    void *values;
    void *u;
    int64_t u_cols, u_row_stride, u_col_stride;
    void *vh;
    int64_t vh_rows, vh_row_stride, vh_col_stride;
    int32_t failed;
} hs_svd;

/* Computes the decomposition by two stages, to a band and to bidiagonal form (Grosser and Lang,
 * Parallel Computing 25, 1999), and divide and conquer (Gu and Eisenstat, SIAM J. Matrix Anal. Appl.
 * 16, 1995). Else as hs_run_eigh; O(m n k). A matrix with many more rows than columns is better
 * made small by a QR factorisation first. */
HS_API hs_status hs_run_svd(hs_pool *pool, hs_svd *svd, const hs_options *options, hs_trace *trace);

/* The shortest x of all that minimise the length of b - A x, for an m x n matrix A of any rank and
 * each column b of a matrix, as LAPACK's gelsd finds it. k = min(m, n).
 *   a        not changed
 *   values   [k] out, of the real type: the singular values of A, descending
 *   cols     right-hand sides
 *   b        [max(m, n) x cols] in: the first m rows, the right-hand sides. out: the first n rows,
 *            the solutions. If m > n and the rank is n, the sum of squares of the other m - n rows
 *            of a column is that of its residual b - A x. Must not overlap a
 *   vh       [k x n] out: the right singular vectors, as hs_svd has them; NULL: not wanted, which
 *            is faster. It may overlap a
 *   rcond    singular values up to rcond times the largest one count as zero; < 0: up to eps times
 *            the largest one; not NaN
 *   rank     out: singular values that do not count as zero
 *   failed   out: non-zero if a or b has a NaN or an infinity. Then nothing else is changed */
typedef struct hs_least_squares {
    int32_t dtype;
    int64_t m, n;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    void *values;
    int64_t cols;
    void *b;
    int64_t b_row_stride, b_col_stride;
    void *vh;
    int64_t vh_row_stride, vh_col_stride;
    double rcond;
    int64_t rank;
    int32_t failed;
} hs_least_squares;

/* Solves by the stages of hs_run_svd. The right-hand sides are multiplied by the adjoint of each
 * stage instead of collecting the stages in singular vectors, which takes O(m n cols) operations
 * instead of O(m n k). A matrix with many more rows than columns, or columns than rows, is made
 * small by hs_run_factor first. O(m n k), and memory for copies of a and b and about 6 k^2
 * elements. options->pace must be NULL.
 * HS_ERROR_VALUE, HS_ERROR_MEMORY, HS_ERROR_CANCELLED and the errors of the pool. With all of them
 * values, b and vh are unchanged. */
HS_API hs_status hs_run_least_squares(hs_pool *pool, hs_least_squares *squares,
                                      const hs_options *options, hs_trace *trace);

/* The reduction A = Q B Q^H of a Hermitian n x n matrix to a band by a plan, in which each block of
 * columns has a worker (hs_reduction_task).
 *   block       columns of a block, and diagonals of B below the main one: a multiple of 16, and at
 *               most the elements of 512 bytes
 *   a, upper    as for hs_eigh
 *   owner       [ceil(n / block)] the worker of each block
 *   panel_pace  [p] seconds per multiply-add in panels, with pace; NULL: as in the other tasks
 *   band        [(block + 1) x n] out: element (i, j) of B, for j <= i <= j + block, is at i - j + j
 *               band_ld, as LAPACK stores lower bands; zero for i >= n
 *   band_ld     >= block + 1
 *   failed      as for hs_eigh; then band is not changed */
typedef struct hs_reduction {
    int32_t dtype;
    int64_t n, block;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    int32_t upper;
    const int32_t *owner;
    const double *panel_pace;
    void *band;
    int64_t band_ld;
    int32_t failed;
} hs_reduction;

/* Returns the columns of a block with which the reduction and what follows it take least time; 0 for
 * an unknown dtype or a negative n. */
HS_API int64_t hs_reduction_block(int64_t n, int32_t dtype);

/* Reduces the matrix by the tasks of hs_reduction_simulate, in their order. options->pace is in
 * seconds per flop. The box of an event is the index of its task. On the clock of the emulated
 * platform the copy of the matrix takes no time. Memory for about 1.5 n^2 elements. The bits do not
 * depend on the owners. HS_ERROR_VALUE, HS_ERROR_MEMORY, HS_ERROR_CANCELLED (the band is undefined),
 * and the errors of the pool. */
HS_API hs_status hs_run_reduction(hs_pool *pool, hs_reduction *reduction, const hs_options *options,
                                  hs_trace *trace);

HS_C_END
#endif
