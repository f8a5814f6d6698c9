#include "blas/products.h"

#include <stdlib.h>
#include <string.h>

#include "blas/gate.h"
#include "blas/operand.h"

/* C <- alpha A B + beta C, not yet with A conjugated. */
static hs_product product_of(int32_t dtype, const hs__operand *a, const hs__operand *b, const double alpha[2], const double beta[2],
                             const hs__operand *c)
{
    return (hs_product){.dtype = dtype, .m = c->rows, .n = c->cols, .k = a->cols,
                        .a = a->data, .a_row_stride = a->row, .a_col_stride = a->col,
                        .b = b->data, .b_row_stride = b->row, .b_col_stride = b->col,
                        .c = c->data, .c_row_stride = c->row, .c_col_stride = c->col,
                        .alpha = {alpha[0], alpha[1]}, .beta = {beta[0], beta[1]}, .conjugate = b->conjugate};
}

/* The engine conjugates the second factor alone: a first one becomes it by turning all; of two one is copied. */
static hs_status multiply(hs__turn *turn, hs__operand a, hs__operand b, const double alpha[2], const double beta[2], hs__operand c)
{
    const int32_t dtype = turn->entry->dtype;
    char *copy = NULL;
    if (a.conjugate && b.conjugate) {
        copy = malloc(hs__element(dtype) * (size_t)a.rows * (size_t)a.cols);
        if (!copy) return HS_ERROR_MEMORY;
        const hs__operand made = hs__stored(copy, a.rows, a.cols, a.rows);
        hs__duplicate(dtype, &a, &made);
        a = made;
    }
    if (a.conjugate) {
        const hs__operand first = a;
        a = hs__turned(b), b = hs__turned(first), c = hs__turned(c);
    }
    const hs_product product = product_of(dtype, &a, &b, alpha, beta, &c);
    const hs_status status = hs_gemm(turn->pool, &product, turn->speeds, NULL, NULL);
    free(copy);
    return status;
}

int hs__gemm(hs__entry *entry, char op_a, char op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda,
             const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc)
{
    const double volume = (double)m * (double)n * (double)k;
    double scale[2], keep[2];
    op_a = hs__letter(op_a, "NTC"), op_b = hs__letter(op_b, "NTC");
    if (!op_a || !op_b || n < 0 || k < 0) return hs__refuse(entry, volume);
    if (!hs__fits(lda, op_a == 'N' ? m : k) || !hs__fits(ldb, op_b == 'N' ? k : n) || !hs__fits(ldc, m)) return hs__refuse(entry, volume);
    hs__turn turn;
    if (!hs__enter(&turn, entry, volume)) return 0;
    const int32_t dtype = entry->dtype;
    const hs__operand x = hs__op(dtype, op_a, a, m, k, lda), y = hs__op(dtype, op_b, b, k, n, ldb);
    hs__factor_of(dtype, alpha, scale), hs__factor_of(dtype, beta, keep);
    return hs__leave(&turn, multiply(&turn, x, y, scale, keep, hs__stored(c, m, n, ldc)));
}

/* Imaginary parts of a Hermitian matrix's diagonal are not read: even NaN is as zero. */
static void make_real(int32_t dtype, const hs__operand *x)
{
    for (int64_t i = 0; i < x->rows; i++) {
        char *e = hs__element_at(dtype, x, i, i);
        memset(e + hs__element(dtype) / 2, 0, hs__element(dtype) / 2);
    }
}

/* The triangle of C <- alpha A A^T + beta C, or with `hermitian` A A^H. C is left as it is, also its diagonal, where the BLAS does so. */
static hs_status half(hs__turn *turn, int hermitian, char triangle, const hs__operand *a, const double alpha[2], const double beta[2],
                      const hs__operand *c)
{
    if (beta[0] == 1.0 && beta[1] == 0.0 && (a->cols == 0 || (alpha[0] == 0.0 && alpha[1] == 0.0))) return HS_OK;
    if (hermitian) make_real(turn->entry->dtype, c);
    hs__operand second = hs__turned(*a);
    second.conjugate = hermitian;
    hs_product product = product_of(turn->entry->dtype, a, &second, alpha, beta, c);
    product.triangle = triangle == 'L' ? HS_TRIANGLE_LOWER : HS_TRIANGLE_UPPER;
    return hs_gemm(turn->pool, &product, turn->speeds, NULL, NULL);
}

int hs__syrk(hs__entry *entry, int hermitian, char triangle, char op, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda,
             const void *beta, void *c, int64_t ldc)
{
    const int32_t dtype = entry->dtype;
    const double volume = 0.5 * (double)n * (double)n * (double)k;
    double scale[2], keep[2];
    triangle = hs__letter(triangle, "LU"), op = hs__letter(op, !(dtype >> 1) ? "NTC" : hermitian ? "NC" : "NT");
    if (!triangle || !op || !hs__fits(lda, op == 'N' ? n : k) || !hs__fits(ldc, n) || k < 0) return hs__refuse(entry, volume);
    hs__turn turn;
    if (!hs__enter(&turn, entry, volume)) return 0;
    hs__factor_of(hermitian ? dtype & 1 : dtype, alpha, scale), hs__factor_of(hermitian ? dtype & 1 : dtype, beta, keep);
    hs__operand x = hs__op(dtype, op == 'C' ? 'T' : op, a, n, k, lda), out = hs__stored(c, n, n, ldc);
    if (hermitian && op == 'C') { /* X^H X, of which X^T conj(X) is the transpose */
        out = hs__turned(out);
        triangle = triangle == 'L' ? 'U' : 'L';
    }
    return hs__leave(&turn, half(&turn, hermitian, triangle, &x, scale, keep, &out));
}

int hs__gemv(hs__entry *entry, char op, int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda, const void *x, int64_t incx,
             const void *beta, void *y, int64_t incy)
{
    const double volume = (double)m * (double)n;
    double scale[2], keep[2];
    op = hs__letter(op, entry->dtype >> 1 ? "NT" : "NTC"); /* conjugated matrices are not read as they lie there */
    if (!op || m < 1 || n < 1 || !hs__fits(lda, m) || incx == 0 || incy == 0) return hs__refuse(entry, volume);
    hs__turn turn;
    if (!hs__enter(&turn, entry, volume)) return 0;
    const int64_t rows = op == 'N' ? m : n, inner = op == 'N' ? n : m;
    const ptrdiff_t element = (ptrdiff_t)hs__element(entry->dtype);
    hs__operand in = hs__stored(x, inner, 1, 1), out = hs__stored(y, rows, 1, 1);
    in.row = incx, out.row = incy;
    if (incx < 0) in.data -= element * incx * (inner - 1);
    if (incy < 0) out.data -= element * incy * (rows - 1);
    hs__factor_of(entry->dtype, alpha, scale), hs__factor_of(entry->dtype, beta, keep);
    return hs__leave(&turn, multiply(&turn, hs__op(entry->dtype, op == 'C' ? 'T' : op, a, rows, inner, lda), in, scale, keep, out));
}
