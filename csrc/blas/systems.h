/* Triangular systems, LU and Cholesky factors, with the arguments of the BLAS and LAPACK functions.
 * Each function returns whether it has done the call; if not, it has changed nothing. Pivots are
 * arrays of 32-bit or 64-bit integers that count from 1. info has the meaning that it has in
 * LAPACK. */
#ifndef HS_BLAS_SYSTEMS_H
#define HS_BLAS_SYSTEMS_H

#include "blas/entry.h"
#include "blas/operand.h"

/* B <- alpha op(T)^-1 B, where the triangle 'L' or 'U' of T is stored. B is multiplied by alpha
 * first; NULL: 1. */
hs_status hs__substitute(hs_pool *pool, int32_t dtype, char triangle, char op, int unit,
                         hs__matrix t, const double alpha[2], const hs__matrix *b);

/* Returns the position of the first zero on the diagonal, from 1, or 0 if there is none. */
int64_t hs__first_zero(int32_t dtype, const hs__matrix *t);

typedef struct hs__pivots {
    void *at;
    int bytes; /* of an integer: 4 or 8 */
} hs__pivots;

int hs__trsm(hs__entry *entry, char side, char triangle, char op, char diagonal, int64_t m,
             int64_t n, const void *alpha, const void *a, int64_t lda, void *b, int64_t ldb);

/* Like trsm, for one triangle on the left. If the diagonal has a zero, nothing is solved, and info
 * is the position of the zero, from 1. */
int hs__trtrs(hs__entry *entry, char triangle, char op, char diagonal, int64_t n, int64_t cols,
              const void *a, int64_t lda, void *b, int64_t ldb, int64_t *info);

/* Returns the multiply-adds of an LU factorisation. */
static inline double hs__lu_volume(int64_t m, int64_t n)
{
    const double r = (double)(m < n ? m : n);
    return r * ((double)m * (double)n - r * ((double)m + (double)n) / 2.0 + r * r / 3.0);
}

int hs__getrf(hs__entry *entry, int64_t m, int64_t n, void *a, int64_t lda, hs__pivots pivots,
              int64_t *info);
int hs__getrs(hs__entry *entry, char op, int64_t n, int64_t cols, const void *a, int64_t lda,
              hs__pivots pivots, void *b, int64_t ldb, int64_t *info);
int hs__gesv(hs__entry *entry, int64_t n, int64_t cols, void *a, int64_t lda, hs__pivots pivots,
             void *b, int64_t ldb, int64_t *info);
int hs__getri(hs__entry *entry, int64_t n, void *a, int64_t lda, hs__pivots pivots, void *work,
              int64_t *info);

int hs__potrf(hs__entry *entry, char triangle, int64_t n, void *a, int64_t lda, int64_t *info);
int hs__potrs(hs__entry *entry, char triangle, int64_t n, int64_t cols, const void *a, int64_t lda,
              void *b, int64_t ldb, int64_t *info);
int hs__posv(hs__entry *entry, char triangle, int64_t n, int64_t cols, void *a, int64_t lda,
             void *b, int64_t ldb, int64_t *info);

#endif
