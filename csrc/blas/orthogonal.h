/* QR factors, with the arguments of the LAPACK functions. Each function returns whether it has done
 * the call; if not, it has changed nothing. */
#ifndef HS_BLAS_ORTHOGONAL_H
#define HS_BLAS_ORTHOGONAL_H

#include "blas/entry.h"
#include "blas/operand.h"

/* Returns the multiply-adds for applying r reflectors, r the smaller of m and n, of decreasing
 * length to decreasing numbers of columns. */
static inline double hs__qr_volume(int64_t m, int64_t n)
{
    const double r = (double)(m < n ? m : n);
    return r * (2.0 * (double)m * (double)n - r * ((double)m + (double)n) + 2.0 / 3.0 * r * r);
}

/* The same for least squares with so many right-hand sides. */
static inline double hs__gels_volume(int64_t m, int64_t n, int64_t cols)
{
    return hs__qr_volume(m, n) + 2.0 * (double)m * (double)n * (double)cols;
}

/* The same for a product with Q of k reflectors, whose side is a letter of the BLAS. */
static inline double hs__ormqr_volume(char side, int64_t m, int64_t n, int64_t k)
{
    const int is_left = side == 'L' || side == 'l';
    const double order = (double)(is_left ? m : n);
    const double others = (double)(is_left ? n : m);
    return 2.0 * (double)k * others * (order - (double)k / 2.0);
}

/* Returns whether LAPACK would scale the matrix for a QR factorisation. It does so if its largest
 * element is very large or very small, or if there is no largest element. */
int hs__is_extreme(int32_t dtype, const hs__matrix *x);

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
