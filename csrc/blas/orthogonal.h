/* QR factors, with the arguments of the LAPACK functions. Each function returns whether it has done
 * the call; if not, it has changed nothing. */
#ifndef HS_BLAS_ORTHOGONAL_H
#define HS_BLAS_ORTHOGONAL_H

#include "blas/entry.h"

int hs__geqrf(hs__entry *entry, int64_t m, int64_t n, void *a, int64_t lda, void *tau, void *work,
              int64_t lwork, int64_t *info);

/* orgqr, and ungqr. */
int hs__orgqr(hs__entry *entry, int64_t m, int64_t n, int64_t k, void *a, int64_t lda,
              const void *tau, void *work, int64_t lwork, int64_t *info);

/* ormqr, and unmqr. */
int hs__ormqr(hs__entry *entry, char side, char op, int64_t m, int64_t n, int64_t k, const void *a,
              int64_t lda, const void *tau, void *c, int64_t ldc, void *work, int64_t lwork,
              int64_t *info);

/* Least squares, for a matrix with at least as many rows as columns. */
int hs__gels(hs__entry *entry, char op, int64_t m, int64_t n, int64_t cols, void *a, int64_t lda,
             void *b, int64_t ldb, void *work, int64_t lwork, int64_t *info);

#endif
