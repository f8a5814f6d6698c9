/* Triangular systems, LU and Cholesky factors, computed by the engine's factorisations and
 * solvers. */
#include "blas/systems.h"

#include <stdlib.h>
#include <string.h>

#include "blas/gate.h"
#include "blas/operand.h"

/* Begins a solve of order n with so many right-hand sides. The sizes of settings.c were measured
 * with n of them. With fewer than 40 one worker took up to three times as long as OpenBLAS. With
 * 2000 and a triangle of order 30 it took six times as long in float64. With 10 n of them it was
 * faster from order 200 on, so that more than n of them make the size for one thread smaller. */
static int begin_solve(hs__call *call, hs__entry *entry, double volume, int64_t n, int64_t cols)
{
    enum { LEAST_COLS = 40 };
    const double part = cols > n ? (double)n / (double)cols : 1.0;
    const double alone = cols < LEAST_COLS ? -1.0 : volume * part * part;
    return hs__begin_shaped_call(call, entry, volume, volume, alone);
}

/* Begins a factorisation of order n and the solves with it. The size for one thread was measured
 * with one right-hand side. With n of them one worker was faster than OpenBLAS from about 20 times
 * this size on: gesv with one of order 50, and with n of order 60 (complex) to 95 (real), where it
 * had taken up to 1.8 times as long at order 40. Between, the size grows with their number. */
static int begin_system(hs__call *call, hs__entry *entry, double volume, int64_t n, int64_t cols)
{
    const double more = n > 0 && cols > 1 ? (double)(cols - 1) / (double)n : 0.0;
    return hs__begin_shaped_call(call, entry, volume, volume, volume / (1.0 + 20.0 * more));
}

/* ---- triangles ------------------------------------------------------------------------------- */

hs_status hs__substitute(hs_pool *pool, int32_t dtype, char triangle, char op, int unit,
                         hs__matrix t, const double alpha[2], const hs__matrix *b)
{
    const int conjugate = op == 'C' && dtype >> 1;
    const int upper = (triangle == 'U') == (op == 'N');
    const double factor[2] = {alpha ? alpha[0] : 1.0, !alpha      ? 0.0
                                                      : conjugate ? -alpha[1]
                                                                  : alpha[1]};
    if (op != 'N') t = hs__transposed(t);
    const hs_triangular system = {.dtype = dtype,
                                  .n = t.rows,
                                  .cols = b->cols,
                                  .upper = upper,
                                  .unit = unit,
                                  .t = t.data,
                                  .t_row_stride = t.row_stride,
                                  .t_col_stride = t.col_stride,
                                  .b = b->data,
                                  .b_row_stride = b->row_stride,
                                  .b_col_stride = b->col_stride,
                                  .alpha = factor};
    if (conjugate) hs__conjugate(dtype, b);
    const hs_status status = hs_solve_triangular(pool, &system, NULL, NULL);
    if (conjugate) hs__conjugate(dtype, b); /* also after an error, so that b is as before */
    return status;
}

int hs__trsm(hs__entry *entry, char side, char triangle, char op, char diagonal, int64_t m,
             int64_t n, const void *alpha, const void *a, int64_t lda, void *b, int64_t ldb)
{
    side = hs__letter(side, "LR");
    triangle = hs__letter(triangle, "LU");
    op = hs__letter(op, "NTC");
    diagonal = hs__letter(diagonal, "NU");
    const int64_t order = side == 'L' ? m : n;
    const double volume = 0.5 * (double)m * (double)n * (double)order;
    double scale[2];
    if (!side || !triangle || !op || !diagonal || !hs__lead_fits(lda, order) ||
        !hs__lead_fits(ldb, m) || n < 0)
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!begin_solve(&call, entry, volume, side == 'L' ? m : n, side == 'L' ? n : m)) return 0;
    const int32_t dtype = entry->dtype;
    hs__factor_of(dtype, alpha, scale);
    hs__matrix x = hs__stored(dtype, b, m, n, ldb);
    if (hs__factor_is(dtype, scale, 0.0)) {
        hs__scale(dtype, &x, scale);
        return hs__end_call(&call, HS_OK);
    }
    /* X op(T) = B is equivalent to op(T)^T X^T = B^T. For 'C' the transpose of T^H is conj(T), so
     * everything except T is conjugated instead. */
    const int right = side == 'R';
    const int conjugate = right && op == 'C' && dtype >> 1;
    char first = op;
    if (right) {
        x = hs__transposed(x);
        first = op == 'N' ? 'T' : 'N';
    }
    if (conjugate) {
        hs__conjugate(dtype, &x);
        scale[1] = -scale[1];
    }
    const hs__matrix t = hs__stored(dtype, a, order, order, lda);
    const hs_status status =
        hs__substitute(call.pool, dtype, triangle, first, diagonal == 'U', t, scale, &x);
    if (conjugate) hs__conjugate(dtype, &x);
    return hs__end_call(&call, status);
}

int64_t hs__first_zero(int32_t dtype, const hs__matrix *t)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double x[2];
        hs__factor_of(dtype, hs__at(t, i, i), x);
        if (x[0] == 0.0 && x[1] == 0.0) return i + 1;
    }
    return 0;
}

int hs__trtrs(hs__entry *entry, char triangle, char op, char diagonal, int64_t n, int64_t cols,
              const void *a, int64_t lda, void *b, int64_t ldb, int64_t *info)
{
    const double volume = 0.5 * (double)n * (double)n * (double)cols;
    triangle = hs__letter(triangle, "LU");
    op = hs__letter(op, "NTC");
    diagonal = hs__letter(diagonal, "NU");
    if (!triangle || !op || !diagonal || !hs__lead_fits(lda, n) || !hs__lead_fits(ldb, n) ||
        cols < 0)
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!begin_solve(&call, entry, volume, n, cols)) return 0;
    const hs__matrix t = hs__stored(entry->dtype, a, n, n, lda);
    const hs__matrix x = hs__stored(entry->dtype, b, n, cols, ldb);
    *info = diagonal == 'N' ? hs__first_zero(entry->dtype, &t) : 0;
    return hs__end_call(&call, *info ? HS_OK
                                     : hs__substitute(call.pool, entry->dtype, triangle, op,
                                                      diagonal == 'U', t, NULL, &x));
}

/* ---- LU -------------------------------------------------------------------------------------- */

static hs_factor lu_of(int32_t dtype, int64_t m, int64_t n, const void *a, int64_t lda)
{
    hs_factor lu;
    hs_factor_default(&lu, HS_LU, dtype, m, n, (void *)(uintptr_t)a);
    lu.col_stride = lda;
    lu.cooperative = 1;
    return lu;
}

/* Returns memory for the engine's pivots, which count from 0: LAPACK's own array if its integers
 * have the same width. */
static int32_t *open_pivots(hs__pivots to, int64_t count)
{
    return to.bytes == 4 ? to.at : malloc((size_t)(count > 0 ? count : 1) * sizeof(int32_t));
}

static void close_pivots(hs__pivots to, int32_t *found, int64_t count, int filled)
{
    for (int64_t i = 0; i < count && filled; i++) {
        if (to.bytes == 4) found[i]++;
        else ((int64_t *)to.at)[i] = found[i] + 1;
    }
    if (to.bytes == 8) free(found);
}

/* Returns a copy of LAPACK's pivots that counts from 0. NULL if there is no memory, or if they are
 * not valid pivots of n rows. */
static int32_t *read_pivots(hs__pivots from, int64_t n)
{
    int32_t *to = malloc((size_t)(n > 0 ? n : 1) * sizeof *to);
    for (int64_t i = 0; to && i < n; i++) {
        const int64_t row =
            from.bytes == 4 ? ((const int32_t *)from.at)[i] : ((const int64_t *)from.at)[i];
        if (row <= i || row > n) {
            free(to);
            return NULL;
        }
        to[i] = (int32_t)(row - 1);
    }
    return to;
}

static hs_status factor_lu(hs__call *call, hs_factor *lu, hs__pivots pivots, int64_t *info)
{
    const int64_t count = lu->m < lu->n ? lu->m : lu->n;
    lu->pivots = open_pivots(pivots, count);
    const hs_status status =
        lu->pivots ? hs_run_factor(call->pool, lu, NULL, NULL) : HS_ERROR_MEMORY;
    if (!status) *info = lu->failed + 1;
    return status;
}

int hs__getrf(hs__entry *entry, int64_t m, int64_t n, void *a, int64_t lda, hs__pivots pivots,
              int64_t *info)
{
    const int64_t count = m < n ? m : n;
    const double volume = hs__lu_volume(m, n);
    if (n < 0 || !hs__lead_fits(lda, m)) return hs__refuse_call(entry, volume);
    hs__call call;
    /* A tall matrix took one worker up to twice as long as OpenBLAS. */
    if (!hs__begin_shaped_call(&call, entry, volume, volume, m > n ? -1.0 : volume)) return 0;
    hs_factor lu = lu_of(entry->dtype, m, n, a, lda);
    const hs_status status = factor_lu(&call, &lu, pivots, info);
    if (lu.pivots) close_pivots(pivots, lu.pivots, count, !status);
    return hs__end_call(&call, status);
}

/* B <- op(A)^-1 B, from the factors. */
static hs_status solve_lu(hs_pool *pool, const hs_factor *lu, char op, const hs__matrix *b)
{
    const int conjugate = op == 'C' && lu->dtype >> 1;
    if (conjugate) hs__conjugate(lu->dtype, b);
    const hs_status status = hs_lu_solve(pool, lu, op != 'N', b->cols, b->data, b->row_stride,
                                         b->col_stride, NULL, NULL);
    if (conjugate) hs__conjugate(lu->dtype, b);
    return status;
}

int hs__getrs(hs__entry *entry, char op, int64_t n, int64_t cols, const void *a, int64_t lda,
              hs__pivots pivots, void *b, int64_t ldb, int64_t *info)
{
    const double volume = (double)n * (double)n * (double)cols;
    op = hs__letter(op, "NTC");
    if (!op || !hs__lead_fits(lda, n) || !hs__lead_fits(ldb, n) || cols < 0)
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!begin_solve(&call, entry, volume, n, cols)) return 0;
    hs_factor lu = lu_of(entry->dtype, n, n, a, lda);
    const hs__matrix x = hs__stored(entry->dtype, b, n, cols, ldb);
    lu.pivots = read_pivots(pivots, n);
    const hs_status status = lu.pivots ? solve_lu(call.pool, &lu, op, &x) : HS_ERROR_MEMORY;
    free(lu.pivots);
    *info = 0;
    return hs__end_call(&call, status);
}

/* Returns whether b is the identity, which programs pass to get an inverse. The loop ends at the
 * first other element. */
static int is_identity(int32_t dtype, const hs__matrix *b)
{
    if (b->rows != b->cols) return 0;
    for (int64_t j = 0; j < b->cols; j++)
        for (int64_t i = 0; i < b->rows; i++) {
            double x[2];
            hs__factor_of(dtype, hs__at(b, i, j), x);
            if (x[0] != (i == j ? 1.0 : 0.0) || x[1] != 0.0) return 0;
        }
    return 1;
}

int hs__gesv(hs__entry *entry, int64_t n, int64_t cols, void *a, int64_t lda, hs__pivots pivots,
             void *b, int64_t ldb, int64_t *info)
{
    const double volume = (double)n * (double)n * ((double)n / 3.0 + (double)cols);
    if (cols < 0 || !hs__lead_fits(lda, n) || !hs__lead_fits(ldb, n))
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!begin_system(&call, entry, volume, n, cols)) return 0;
    hs_factor lu = lu_of(entry->dtype, n, n, a, lda);
    const hs__matrix x = hs__stored(entry->dtype, b, n, cols, ldb);
    hs_status status = factor_lu(&call, &lu, pivots, info);
    /* From here on the call must not be refused. solve_lu needs no memory, but is slower. */
    const int factored = !status;
    if (factored && !*info) {
        status = HS_ERROR_MEMORY;
        if (is_identity(entry->dtype, &x))
            status = hs_lu_inverse(call.pool, &lu, x.data, x.row_stride, x.col_stride, NULL, NULL);
        if (status) status = solve_lu(call.pool, &lu, 'N', &x);
    }
    if (lu.pivots) close_pivots(pivots, lu.pivots, n, factored);
    return hs__end_call(&call, status);
}

int hs__getri(hs__entry *entry, int64_t n, void *a, int64_t lda, hs__pivots pivots, void *work,
              int64_t *info)
{
    const int32_t dtype = entry->dtype;
    const double volume = 2.0 / 3.0 * (double)n * (double)n * (double)n;
    if (!hs__lead_fits(lda, n)) return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    hs_factor lu = lu_of(dtype, n, n, a, lda);
    const hs__matrix x = hs__stored(dtype, a, n, n, lda);
    hs_status status = HS_OK;
    *info = hs__first_zero(dtype, &x);
    if (!*info) {
        lu.pivots = read_pivots(pivots, n);
        char *inverse = malloc(hs__element_bytes(dtype) * (size_t)n * (size_t)n);
        status = lu.pivots && inverse ? hs_lu_inverse(call.pool, &lu, inverse, 1, n, NULL, NULL)
                                      : HS_ERROR_MEMORY;
        const hs__matrix found = hs__stored(dtype, inverse, n, n, n);
        if (!status) hs__copy(NULL, x, found);
        free(inverse);
        free(lu.pivots);
    }
    if (!status) hs__set_size(dtype, work, n);
    return hs__end_call(&call, status);
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

/* Factors one triangle. The upper triangle is the lower triangle of the transpose, which is
 * conj(A). Its factor is the one that LAPACK wants there. */
static hs_status factor_cholesky(hs__call *call, char triangle, const hs__matrix *a, int64_t *info)
{
    const hs__matrix lower = triangle == 'L' ? *a : hs__transposed(*a);
    hs_factor factor;
    hs_factor_default(&factor, HS_CHOLESKY, call->entry->dtype, a->rows, a->rows, a->data);
    factor.row_stride = lower.row_stride;
    factor.col_stride = lower.col_stride;
    factor.cooperative = 1;
    const hs_status status = hs_run_factor(call->pool, &factor, NULL, NULL);
    if (!status) *info = factor.failed + 1;
    return status;
}

static hs_status solve_cholesky(hs__call *call, char triangle, hs__matrix a, const hs__matrix *b)
{
    const int32_t dtype = call->entry->dtype;
    const hs_status status =
        hs__substitute(call->pool, dtype, triangle, triangle == 'L' ? 'N' : 'C', 0, a, NULL, b);
    return status ? status
                  : hs__substitute(call->pool, dtype, triangle, triangle == 'L' ? 'C' : 'N', 0, a,
                                   NULL, b);
}

int hs__potrf(hs__entry *entry, char triangle, int64_t n, void *a, int64_t lda, int64_t *info)
{
    const double volume = (double)n * (double)n * (double)n / 6.0;
    triangle = hs__letter(triangle, "LU");
    if (!triangle || !hs__lead_fits(lda, n)) return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    const hs__matrix x = hs__stored(entry->dtype, a, n, n, lda);
    return hs__end_call(&call, factor_cholesky(&call, triangle, &x, info));
}

int hs__potrs(hs__entry *entry, char triangle, int64_t n, int64_t cols, const void *a, int64_t lda,
              void *b, int64_t ldb, int64_t *info)
{
    const double volume = (double)n * (double)n * (double)cols;
    triangle = hs__letter(triangle, "LU");
    if (!triangle || !hs__lead_fits(lda, n) || !hs__lead_fits(ldb, n) || cols < 0)
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!begin_solve(&call, entry, volume, n, cols)) return 0;
    const hs__matrix x = hs__stored(entry->dtype, b, n, cols, ldb);
    *info = 0;
    return hs__end_call(
        &call, solve_cholesky(&call, triangle, hs__stored(entry->dtype, a, n, n, lda), &x));
}

int hs__posv(hs__entry *entry, char triangle, int64_t n, int64_t cols, void *a, int64_t lda,
             void *b, int64_t ldb, int64_t *info)
{
    const double volume = (double)n * (double)n * ((double)n / 6.0 + (double)cols);
    triangle = hs__letter(triangle, "LU");
    if (!triangle || !hs__lead_fits(lda, n) || !hs__lead_fits(ldb, n) || cols < 0)
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!begin_system(&call, entry, volume, n, cols)) return 0;
    const hs__matrix c = hs__stored(entry->dtype, a, n, n, lda);
    const hs__matrix x = hs__stored(entry->dtype, b, n, cols, ldb);
    hs_status status = factor_cholesky(&call, triangle, &c, info);
    if (!status && !*info) status = solve_cholesky(&call, triangle, c, &x);
    return hs__end_call(&call, status);
}
