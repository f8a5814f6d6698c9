/* Products, with the arguments of the BLAS functions: characters as letters, matrices stored by
 * columns, alpha and beta in the type of the matrices. Each function returns whether it has done
 * the call. If not, it has changed nothing, and the library behind computes the call. */
#ifndef HS_BLAS_PRODUCTS_H
#define HS_BLAS_PRODUCTS_H

#include "blas/entry.h"

int hs__gemm(hs__entry *entry, char op_a, char op_b, int64_t m, int64_t n, int64_t k,
             const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
             const void *beta, void *c, int64_t ldc);

/* syrk; with `hermitian` herk, which has real factors. */
int hs__syrk(hs__entry *entry, int hermitian, char triangle, char op, int64_t n, int64_t k,
             const void *alpha, const void *a, int64_t lda, const void *beta, void *c, int64_t ldc);

int hs__gemv(hs__entry *entry, char op, int64_t m, int64_t n, const void *alpha, const void *a,
             int64_t lda, const void *x, int64_t incx, const void *beta, void *y, int64_t incy);

#endif
