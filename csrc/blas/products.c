/* gemm, syrk, herk and gemv, computed as products of the engine. */
#include "blas/products.h"

#include <stdlib.h>
#include <string.h>

#include "blas/gate.h"
#include "blas/operand.h"

/* Describes C <- alpha A B + beta C. As in the reference BLAS, alpha multiplies the second factor
 * if the first is not transposed (op 'N'), and the sums otherwise. So whatever stays in range there
 * stays in range here. OpenBLAS always multiplies the sums. */
static hs_product product_of(int32_t dtype, char op, const hs__matrix *a, const hs__matrix *b,
                             const double alpha[2], const double beta[2], const hs__matrix *c)
{
    hs_product product = hs__product_of(dtype, a, b, c);
    product.alpha_first = op == 'N';
    memcpy(product.alpha, alpha, sizeof product.alpha);
    memcpy(product.beta, beta, sizeof product.beta);
    return product;
}

/* The same with conj(A), conj(B), or both. The engine can conjugate only the second factor. To
 * conjugate the first one, the whole product is transposed. To conjugate both, a conjugated copy of
 * the first one is made. */
static hs_status multiply_conjugated(hs__call *call, char op, hs__matrix a, int conjugate_a,
                                     hs__matrix b, int conjugate_b, const double alpha[2],
                                     const double beta[2], hs__matrix c)
{
    const int32_t dtype = call->entry->dtype;
    char *copy = NULL;
    if (conjugate_a && conjugate_b) {
        copy = malloc(hs__element_bytes(dtype) * (size_t)a.rows * (size_t)a.cols);
        if (!copy) return HS_ERROR_MEMORY;
        const hs__matrix made = hs__stored(dtype, copy, a.rows, a.cols, a.rows);
        hs__copy(NULL, made, a);
        hs__conjugate(dtype, &made);
        a = made;
        conjugate_a = 0;
    }
    if (conjugate_a) {
        const hs__matrix first = a;
        a = hs__transposed(b);
        b = hs__transposed(first);
        c = hs__transposed(c);
    }
    hs_product product = product_of(dtype, op, &a, &b, alpha, beta, &c);
    product.conjugate = conjugate_a || conjugate_b;
    const hs_status status = hs_gemm(call->pool, &product, call->speeds, NULL, NULL);
    free(copy);
    return status;
}

int hs__gemm(hs__entry *entry, char op_a, char op_b, int64_t m, int64_t n, int64_t k,
             const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
             const void *beta, void *c, int64_t ldc)
{
    const double volume = (double)m * (double)n * (double)k;
    double scale[2], keep[2];
    op_a = hs__letter(op_a, "NTC");
    op_b = hs__letter(op_b, "NTC");
    if (!op_a || !op_b || n < 0 || k < 0) return hs__refuse_call(entry, volume);
    if (!hs__lead_fits(lda, op_a == 'N' ? m : k) || !hs__lead_fits(ldb, op_b == 'N' ? k : n) ||
        !hs__lead_fits(ldc, m))
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    const int32_t dtype = entry->dtype;
    const hs__matrix x = hs__operand(dtype, op_a, a, m, k, lda);
    const hs__matrix y = hs__operand(dtype, op_b, b, k, n, ldb);
    hs__factor_of(dtype, alpha, scale);
    hs__factor_of(dtype, beta, keep);
    const int first = dtype >> 1 && op_a == 'C';
    const int second = dtype >> 1 && op_b == 'C';
    return hs__end_call(&call, multiply_conjugated(&call, op_a, x, first, y, second, scale, keep,
                                                   hs__stored(dtype, c, m, n, ldc)));
}

/* Sets the imaginary parts of a Hermitian matrix's diagonal to zero. The BLAS does not read them,
 * so even NaN counts as zero. */
static void make_real(int32_t dtype, const hs__matrix *x)
{
    for (int64_t i = 0; i < x->rows; i++) {
        char *e = hs__at(x, i, i);
        memset(e + hs__element_bytes(dtype) / 2, 0, hs__element_bytes(dtype) / 2);
    }
}

/* Computes one triangle of C <- alpha A A^T + beta C, or with `hermitian` of alpha A A^H + beta C.
 * C, including its diagonal, remains unchanged in the same cases as in the BLAS. */
static hs_status compute_triangle(hs__call *call, int hermitian, char triangle, char op,
                                  const hs__matrix *a, const double alpha[2], const double beta[2],
                                  const hs__matrix *c)
{
    if (beta[0] == 1.0 && beta[1] == 0.0 && (a->cols == 0 || (alpha[0] == 0.0 && alpha[1] == 0.0)))
        return HS_OK;
    if (hermitian) make_real(call->entry->dtype, c);
    const hs__matrix second = hs__transposed(*a);
    hs_product product = product_of(call->entry->dtype, op, a, &second, alpha, beta, c);
    product.conjugate = hermitian;
    product.triangle = triangle == 'L' ? HS_TRIANGLE_LOWER : HS_TRIANGLE_UPPER;
    return hs_gemm(call->pool, &product, call->speeds, NULL, NULL);
}

int hs__syrk(hs__entry *entry, int hermitian, char triangle, char op, int64_t n, int64_t k,
             const void *alpha, const void *a, int64_t lda, const void *beta, void *c, int64_t ldc)
{
    const int32_t dtype = entry->dtype;
    const double volume = 0.5 * (double)n * (double)n * (double)k;
    double scale[2], keep[2];
    triangle = hs__letter(triangle, "LU");
    op = hs__letter(op, !(dtype >> 1) ? "NTC" : hermitian ? "NC" : "NT");
    if (!triangle || !op || !hs__lead_fits(lda, op == 'N' ? n : k) || !hs__lead_fits(ldc, n) ||
        k < 0)
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    hs__factor_of(hermitian ? dtype & 1 : dtype, alpha, scale);
    hs__factor_of(hermitian ? dtype & 1 : dtype, beta, keep);
    hs__matrix x = hs__operand(dtype, op, a, n, k, lda);
    hs__matrix out = hs__stored(dtype, c, n, n, ldc);
    if (hermitian && op == 'C') { /* X^H X is the transpose of X^T conj(X) */
        out = hs__transposed(out);
        triangle = triangle == 'L' ? 'U' : 'L';
    }
    return hs__end_call(&call,
                        compute_triangle(&call, hermitian, triangle, op, &x, scale, keep, &out));
}

int hs__gemv(hs__entry *entry, char op, int64_t m, int64_t n, const void *alpha, const void *a,
             int64_t lda, const void *x, int64_t incx, const void *beta, void *y, int64_t incy)
{
    const double volume = (double)m * (double)n;
    double scale[2], keep[2];
    /* the engine cannot multiply by a conjugated matrix in place */
    op = hs__letter(op, entry->dtype >> 1 ? "NT" : "NTC");
    if (!op || m < 1 || n < 1 || !hs__lead_fits(lda, m) || incx == 0 || incy == 0)
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    const int64_t rows = op == 'N' ? m : n;
    const int64_t inner = op == 'N' ? n : m;
    const ptrdiff_t element = (ptrdiff_t)hs__element_bytes(entry->dtype);
    hs__matrix in = hs__stored(entry->dtype, x, inner, 1, 1);
    hs__matrix out = hs__stored(entry->dtype, y, rows, 1, 1);
    in.row_stride = incx;
    out.row_stride = incy;
    if (incx < 0) in.data -= element * incx * (inner - 1);
    if (incy < 0) out.data -= element * incy * (rows - 1);
    hs__factor_of(entry->dtype, alpha, scale);
    hs__factor_of(entry->dtype, beta, keep);
    return hs__end_call(
        &call, multiply_conjugated(&call, op, hs__operand(entry->dtype, op, a, rows, inner, lda), 0,
                                   in, 0, scale, keep, out));
}
