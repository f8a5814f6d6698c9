/* Products: the arguments of the BLAS's functions, with characters as letters, on a library that
 * stores by columns. Each returns whether it is done; where not, nothing has been changed, and the
 * library behind is asked. alpha and beta are of the type. */
#ifndef HS_BLAS_PRODUCTS_H
#define HS_BLAS_PRODUCTS_H

#include "blas/entry.h"

int hs__gemm(hs__entry *entry, char op_a, char op_b, int64_t m, int64_t n, int64_t k,
             const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
             const void *beta, void *c, int64_t ldc);

/* syrk, or with `hermitian` herk, whose factors are real. */
int hs__syrk(hs__entry *entry, int hermitian, char triangle, char op, int64_t n, int64_t k,
             const void *alpha, const void *a, int64_t lda, const void *beta, void *c, int64_t ldc);

int hs__gemv(hs__entry *entry, char op, int64_t m, int64_t n, const void *alpha, const void *a,
             int64_t lda, const void *x, int64_t incx, const void *beta, void *y, int64_t incy);

#endif
