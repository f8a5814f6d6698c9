/* Eigenvalues of a pair of matrices (blas/generalised.h). With B = L L^H they are the eigenvalues
 * of C = L^-1 A L^-H (kind 1) or C = L^H A L (kinds 2 and 3), and an eigenvector y of C becomes
 * L^-H y (kinds 1 and 2) or L y (kind 3).
 *
 * Upper triangles are the lower ones of the transposes, which are conj(A) and conj(B). So the
 * problem is solved for the transposes, and the vectors are conjugated in the end. */
#include "blas/generalised.h"

#include <stdlib.h>
#include <string.h>

#include "blas/systems.h"
#include "core/numbers.h"
#include "hetsched/spectral.h"

/* A pair and three square arrays.
 *   a, b  the matrices or their transposes, of which the lower triangles are read
 *   l     the factor, with zeros above the diagonal
 *   c     A, and what becomes of it
 *   z     vectors, or a product on the way */
typedef struct {
    hs_pool *pool;
    const double *speeds;
    hs__pair *pair;
    int32_t dtype;
    int64_t n;
    hs__matrix a, b, l, c, z;
} pair_job;

/* Copies the lower triangle column by column. */
static void copy_lower(hs__matrix to, hs__matrix from)
{
    for (int64_t j = 0; j < to.cols; j++)
        hs__copy(NULL, hs__part(&to, j, j, to.rows - j, 1),
                 hs__part(&from, j, j, from.rows - j, 1));
}

/* The imaginary parts of a Hermitian matrix's diagonal are not read, so they are set to 0. */
static void make_diagonal_real(int32_t dtype, const hs__matrix *x)
{
    const size_t half = hs__element_bytes(dtype) / 2;
    for (int64_t i = 0; i < x->rows && dtype >= HS_COMPLEX64; i++)
        memset(hs__at(x, i, i) + half, 0, half);
}

/* Sets a part above the diagonal from its mirror image below. */
static void mirror_part(int32_t dtype, const hs__matrix *x, int64_t row, int64_t col, int64_t rows,
                        int64_t cols)
{
    const hs__matrix to = hs__part(x, row, col, rows, cols);
    hs__copy(NULL, to, hs__transposed(hs__part(x, col, row, cols, rows)));
    hs__conjugate(dtype, &to);
}

/* Sets what is above the diagonal, by bands of rows that stay in the cache. */
static void mirror_lower(int32_t dtype, const hs__matrix *x)
{
    enum { BAND = 32 };
    for (int64_t first = 0; first < x->rows; first += BAND) {
        const int64_t end = hs__min(first + BAND, x->rows);
        for (int64_t row = first; row + 1 < end; row++)
            mirror_part(dtype, x, row, row + 1, 1, end - row - 1);
        if (end < x->rows) mirror_part(dtype, x, first, end, end - first, x->rows - end);
    }
}

/* c <- a b, or a conj(b), or one triangle of it. */
static hs_status multiply(const pair_job *job, const hs__matrix *a, const hs__matrix *b,
                          int conjugate, int32_t triangle, const hs__matrix *c)
{
    hs_product product = hs__product_of(job->dtype, a, b, c);
    product.alpha[0] = 1.0;
    product.conjugate = conjugate;
    product.triangle = triangle;
    return hs_gemm(job->pool, &product, job->speeds, NULL, NULL);
}

/* Computes the factor of B. Its copy has zeros above the diagonal. */
static hs_status factor_b(const pair_job *job)
{
    hs_factor factor;
    copy_lower(job->l, job->b);
    make_diagonal_real(job->dtype, &job->l);
    hs_factor_default(&factor, HS_CHOLESKY, job->dtype, job->n, job->n, job->l.data);
    factor.cooperative = 1;
    const hs_status status = hs_run_factor(job->pool, &factor, NULL, NULL);
    if (!status) job->pair->failed = factor.failed >= 0;
    return status;
}

/* Sets *c to L^-1 A L^-H, of which all elements are computed: X = L^-1 A, then L^-1 X^H in the
 * place of X^H, which is a transpose of conj(X). */
static hs_status divide_by_factor(const pair_job *job, hs__matrix *c)
{
    *c = job->c;
    hs_status status = hs__substitute(job->pool, job->dtype, 'L', 'N', 0, job->l, NULL, c);
    if (status) return status;
    hs__conjugate(job->dtype, c);
    *c = hs__transposed(*c);
    return hs__substitute(job->pool, job->dtype, 'L', 'N', 0, job->l, NULL, c);
}

/* Sets *c to L^H A L, of which the lower triangle is computed: Y = A L, then the transpose of the
 * upper triangle of Y^T conj(L). The engine conjugates second factors only. */
static hs_status multiply_by_factor(const pair_job *job, hs__matrix *c)
{
    const hs__matrix turned = hs__transposed(job->z);
    *c = hs__transposed(job->c);
    const hs_status status = multiply(job, &job->c, &job->l, 0, HS_TRIANGLE_NONE, &job->z);
    return status ? status : multiply(job, &turned, &job->l, 1, HS_TRIANGLE_UPPER, &job->c);
}

/* Turns the vectors of C into the vectors of the pair. *x is where they are then. */
static hs_status go_back(const pair_job *job, hs__matrix *x)
{
    *x = job->pair->kind == 3 ? job->c : job->z;
    const hs_status status =
        job->pair->kind == 3 ? multiply(job, &job->l, &job->z, 0, HS_TRIANGLE_NONE, x)
                             : hs__substitute(job->pool, job->dtype, 'L', 'C', 0, job->l, NULL, x);
    if (!status && job->pair->upper) hs__conjugate(job->dtype, x);
    return status;
}

static hs_status solve_pair(const pair_job *job)
{
    hs__pair *pair = job->pair;
    hs__matrix c, x;
    hs_status status = factor_b(job);
    if (status || pair->failed) return status;
    copy_lower(job->c, job->a);
    make_diagonal_real(job->dtype, &job->c);
    mirror_lower(job->dtype, &job->c);
    status = pair->kind == 1 ? divide_by_factor(job, &c) : multiply_by_factor(job, &c);
    if (status) return status;
    hs_eigh eigh = {.dtype = job->dtype,
                    .n = job->n,
                    .a = c.data,
                    .a_row_stride = c.row_stride,
                    .a_col_stride = c.col_stride,
                    .values = pair->values,
                    .vectors = pair->vectors ? job->z.data : NULL,
                    .row_stride = 1,
                    .col_stride = job->n,
                    .count = job->n};
    status = hs_run_eigh(job->pool, &eigh, NULL, NULL);
    pair->failed = eigh.failed;
    if (!status && !pair->failed && pair->vectors) status = go_back(job, &x);
    if (status || pair->failed) return status;
    if (pair->vectors) hs__copy(NULL, pair->a, x);
    copy_lower(job->b, job->l);
    return HS_OK;
}

hs_status hs__solve_pair(hs_pool *pool, const double *speeds, hs__pair *pair)
{
    const int64_t n = pair->a.rows;
    const size_t e = hs__element_bytes(pair->dtype), square = (size_t)n * (size_t)n * e;
    pair->failed = 0;
    if ((double)n * (double)n * (double)e > 0x1p60) return HS_ERROR_MEMORY;
    char *memory = calloc(3, square);
    if (!memory) return HS_ERROR_MEMORY;
    const pair_job job = {
        .pool = pool,
        .speeds = speeds,
        .pair = pair,
        .dtype = pair->dtype,
        .n = n,
        .a = pair->upper ? hs__transposed(pair->a) : pair->a,
        .b = pair->upper ? hs__transposed(pair->b) : pair->b,
        .l = hs__stored(pair->dtype, memory, n, n, n),
        .c = hs__stored(pair->dtype, memory + square, n, n, n),
        .z = hs__stored(pair->dtype, memory + 2 * square, n, n, n),
    };
    const hs_status status = solve_pair(&job);
    free(memory);
    return status;
}
