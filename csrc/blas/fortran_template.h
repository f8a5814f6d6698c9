/* Fortran's functions, for INT and the names that NAME makes. Characters are followed, after all arguments, by their lengths, which C
 * programs do not pass: functions here have no such parameters, so that nothing is read or written where they would be, and hand them on as
 * 1: by a pointer without a prototype, for all other arguments are pointers. */

#define LENGTH ((size_t)1)
#define F(P, ROUTINE) NAME(P##ROUTINE)

#define GEMM(P, DTYPE)                                                                                                                     \
    HS__BLAS void F(P, gemm)(const char *op_a, const char *op_b, const INT *m, const INT *n, const INT *k, const void *alpha,              \
                             const void *a, const INT *lda, const void *b, const INT *ldb, const void *beta, void *c, const INT *ldc)      \
    {                                                                                                                                      \
        HS__ENTRY(F(P, gemm), HS__GEMM, DTYPE);                                                                                            \
        if (hs__is_large(&entry, (double)*m * (double)*n * (double)*k) &&                                                                  \
            hs__gemm(&entry, *op_a, *op_b, *m, *n, *k, alpha, a, *lda, b, *ldb, beta, c, *ldc))                                            \
            return;                                                                                                                        \
        HS__BEHIND_FORTRAN(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, LENGTH, LENGTH);                                      \
    }

#define SYRK(NAMED, DTYPE, HERMITIAN)                                                                                                      \
    HS__BLAS void NAME(NAMED)(const char *triangle, const char *op, const INT *n, const INT *k, const void *alpha, const void *a,          \
                              const INT *lda, const void *beta, void *c, const INT *ldc)                                                   \
    {                                                                                                                                      \
        HS__ENTRY(NAME(NAMED), HS__SYRK, DTYPE);                                                                                           \
        if (hs__is_large(&entry, 0.5 * (double)*n * (double)*n * (double)*k) &&                                                            \
            hs__syrk(&entry, HERMITIAN, *triangle, *op, *n, *k, alpha, a, *lda, beta, c, *ldc))                                            \
            return;                                                                                                                        \
        HS__BEHIND_FORTRAN(triangle, op, n, k, alpha, a, lda, beta, c, ldc, LENGTH, LENGTH);                                               \
    }

#define TRSM(P, DTYPE)                                                                                                                     \
    HS__BLAS void F(P, trsm)(const char *side, const char *triangle, const char *op, const char *diagonal, const INT *m, const INT *n,     \
                             const void *alpha, const void *a, const INT *lda, void *b, const INT *ldb)                                    \
    {                                                                                                                                      \
        HS__ENTRY(F(P, trsm), HS__TRSM, DTYPE);                                                                                            \
        const double order = *side == 'L' || *side == 'l' ? (double)*m : (double)*n;                                                       \
        if (hs__is_large(&entry, 0.5 * (double)*m * (double)*n * order) &&                                                                 \
            hs__trsm(&entry, *side, *triangle, *op, *diagonal, *m, *n, alpha, a, *lda, b, *ldb))                                           \
            return;                                                                                                                        \
        HS__BEHIND_FORTRAN(side, triangle, op, diagonal, m, n, alpha, a, lda, b, ldb, LENGTH, LENGTH, LENGTH, LENGTH);                     \
    }

#define GEMV(P, DTYPE)                                                                                                                     \
    HS__BLAS void F(P, gemv)(const char *op, const INT *m, const INT *n, const void *alpha, const void *a, const INT *lda, const void *x,  \
                             const INT *incx, const void *beta, void *y, const INT *incy)                                                  \
    {                                                                                                                                      \
        HS__ENTRY(F(P, gemv), HS__GEMV, DTYPE);                                                                                            \
        if (hs__is_large(&entry, (double)*m * (double)*n) &&                                                                               \
            hs__gemv(&entry, *op, *m, *n, alpha, a, *lda, x, *incx, beta, y, *incy))                                                       \
            return;                                                                                                                        \
        HS__BEHIND_FORTRAN(op, m, n, alpha, a, lda, x, incx, beta, y, incy, LENGTH);                                                       \
    }

/* LAPACK's: a call that is ours fills in info. */
#define PIVOTS(x) ((hs__pivots){x, sizeof(INT)})
#define OURS(VOLUME, CALL)                                                                                                                 \
    do {                                                                                                                                   \
        int64_t found = 0;                                                                                                                 \
        if (hs__is_large(&entry, VOLUME) && (CALL)) {                                                                                      \
            *info = (INT)found;                                                                                                            \
            return;                                                                                                                        \
        }                                                                                                                                  \
    } while (0)
#define CUBE(n) ((double)(n) * (double)(n) * (double)(n))
#define LESS(x, y) ((double)((x) < (y) ? (x) : (y)))

#define LU(P, DTYPE)                                                                                                                       \
    HS__BLAS void F(P, getrf)(const INT *m, const INT *n, void *a, const INT *lda, INT *pivots, INT *info)                                 \
    {                                                                                                                                      \
        HS__ENTRY(F(P, getrf), HS__GETRF, DTYPE);                                                                                          \
        OURS((double)*m * (double)*n * LESS(*m, *n) / 3.0, hs__getrf(&entry, *m, *n, a, *lda, PIVOTS(pivots), &found));                    \
        HS__BEHIND_FORTRAN(m, n, a, lda, pivots, info);                                                                                    \
    }                                                                                                                                      \
    HS__BLAS void F(P, getrs)(const char *op, const INT *n, const INT *cols, const void *a, const INT *lda, INT *pivots, void *b,          \
                              const INT *ldb, INT *info)                                                                                   \
    {                                                                                                                                      \
        HS__ENTRY(F(P, getrs), HS__GETRS, DTYPE);                                                                                          \
        OURS((double)*n * (double)*n * (double)*cols, hs__getrs(&entry, *op, *n, *cols, a, *lda, PIVOTS(pivots), b, *ldb, &found));        \
        HS__BEHIND_FORTRAN(op, n, cols, a, lda, pivots, b, ldb, info, LENGTH);                                                             \
    }                                                                                                                                      \
    HS__BLAS void F(P, gesv)(const INT *n, const INT *cols, void *a, const INT *lda, INT *pivots, void *b, const INT *ldb, INT *info)      \
    {                                                                                                                                      \
        HS__ENTRY(F(P, gesv), HS__GESV, DTYPE);                                                                                            \
        OURS((double)*n * (double)*n * ((double)*n / 3.0 + (double)*cols),                                                                 \
             hs__gesv(&entry, *n, *cols, a, *lda, PIVOTS(pivots), b, *ldb, &found));                                                       \
        HS__BEHIND_FORTRAN(n, cols, a, lda, pivots, b, ldb, info);                                                                         \
    }                                                                                                                                      \
    HS__BLAS void F(P, getri)(const INT *n, void *a, const INT *lda, INT *pivots, void *work, const INT *lwork, INT *info)                 \
    {                                                                                                                                      \
        HS__ENTRY(F(P, getri), HS__GETRI, DTYPE);                                                                                          \
        if (*lwork >= *n && *lwork > 0) OURS(2.0 / 3.0 * CUBE(*n), hs__getri(&entry, *n, a, *lda, PIVOTS(pivots), work, &found));          \
        HS__BEHIND_FORTRAN(n, a, lda, pivots, work, lwork, info);                                                                          \
    }

#define CHOLESKY(P, DTYPE)                                                                                                                 \
    HS__BLAS void F(P, potrf)(const char *triangle, const INT *n, void *a, const INT *lda, INT *info)                                      \
    {                                                                                                                                      \
        HS__ENTRY(F(P, potrf), HS__POTRF, DTYPE);                                                                                          \
        OURS(CUBE(*n) / 6.0, hs__potrf(&entry, *triangle, *n, a, *lda, &found));                                                           \
        HS__BEHIND_FORTRAN(triangle, n, a, lda, info, LENGTH);                                                                             \
    }                                                                                                                                      \
    HS__BLAS void F(P, potrs)(const char *triangle, const INT *n, const INT *cols, const void *a, const INT *lda, void *b,                 \
                              const INT *ldb, INT *info)                                                                                   \
    {                                                                                                                                      \
        HS__ENTRY(F(P, potrs), HS__POTRS, DTYPE);                                                                                          \
        OURS((double)*n * (double)*n * (double)*cols, hs__potrs(&entry, *triangle, *n, *cols, a, *lda, b, *ldb, &found));                  \
        HS__BEHIND_FORTRAN(triangle, n, cols, a, lda, b, ldb, info, LENGTH);                                                               \
    }                                                                                                                                      \
    HS__BLAS void F(P, posv)(const char *triangle, const INT *n, const INT *cols, void *a, const INT *lda, void *b, const INT *ldb,        \
                             INT *info)                                                                                                    \
    {                                                                                                                                      \
        HS__ENTRY(F(P, posv), HS__POSV, DTYPE);                                                                                            \
        OURS((double)*n * (double)*n * ((double)*n / 6.0 + (double)*cols),                                                                 \
             hs__posv(&entry, *triangle, *n, *cols, a, *lda, b, *ldb, &found));                                                            \
        HS__BEHIND_FORTRAN(triangle, n, cols, a, lda, b, ldb, info, LENGTH);                                                               \
    }                                                                                                                                      \
    HS__BLAS void F(P, trtrs)(const char *triangle, const char *op, const char *diagonal, const INT *n, const INT *cols, const void *a,    \
                              const INT *lda, void *b, const INT *ldb, INT *info)                                                          \
    {                                                                                                                                      \
        HS__ENTRY(F(P, trtrs), HS__TRTRS, DTYPE);                                                                                          \
        OURS(0.5 * (double)*n * (double)*n * (double)*cols,                                                                                \
             hs__trtrs(&entry, *triangle, *op, *diagonal, *n, *cols, a, *lda, b, *ldb, &found));                                           \
        HS__BEHIND_FORTRAN(triangle, op, diagonal, n, cols, a, lda, b, ldb, info, LENGTH, LENGTH, LENGTH);                                 \
    }

/* A lwork of -1 asks for a size, which those behind know. */
#define QR(P, DTYPE, ORGQR, ORMQR)                                                                                                         \
    HS__BLAS void F(P, geqrf)(const INT *m, const INT *n, void *a, const INT *lda, void *tau, void *work, const INT *lwork, INT *info)     \
    {                                                                                                                                      \
        HS__ENTRY(F(P, geqrf), HS__GEQRF, DTYPE);                                                                                          \
        if (*lwork > 0) OURS((double)*m * (double)*n * LESS(*m, *n), hs__geqrf(&entry, *m, *n, a, *lda, tau, work, *lwork, &found));       \
        HS__BEHIND_FORTRAN(m, n, a, lda, tau, work, lwork, info);                                                                          \
    }                                                                                                                                      \
    HS__BLAS void NAME(ORGQR)(const INT *m, const INT *n, const INT *k, void *a, const INT *lda, const void *tau, void *work,              \
                              const INT *lwork, INT *info)                                                                                 \
    {                                                                                                                                      \
        HS__ENTRY(NAME(ORGQR), HS__ORGQR, DTYPE);                                                                                          \
        if (*lwork > 0) OURS((double)*m * (double)*n * (double)*k, hs__orgqr(&entry, *m, *n, *k, a, *lda, tau, work, *lwork, &found));     \
        HS__BEHIND_FORTRAN(m, n, k, a, lda, tau, work, lwork, info);                                                                       \
    }                                                                                                                                      \
    HS__BLAS void NAME(ORMQR)(const char *side, const char *op, const INT *m, const INT *n, const INT *k, const void *a, const INT *lda,   \
                              const void *tau, void *c, const INT *ldc, void *work, const INT *lwork, INT *info)                           \
    {                                                                                                                                      \
        HS__ENTRY(NAME(ORMQR), HS__ORMQR, DTYPE);                                                                                          \
        if (*lwork > 0)                                                                                                                    \
            OURS(2.0 * (double)*m * (double)*n * (double)*k,                                                                               \
                 hs__ormqr(&entry, *side, *op, *m, *n, *k, a, *lda, tau, c, *ldc, work, *lwork, &found));                                  \
        HS__BEHIND_FORTRAN(side, op, m, n, k, a, lda, tau, c, ldc, work, lwork, info, LENGTH, LENGTH);                                     \
    }                                                                                                                                      \
    HS__BLAS void F(P, gels)(const char *op, const INT *m, const INT *n, const INT *cols, void *a, const INT *lda, void *b,                \
                             const INT *ldb, void *work, const INT *lwork, INT *info)                                                      \
    {                                                                                                                                      \
        HS__ENTRY(F(P, gels), HS__GELS, DTYPE);                                                                                            \
        if (*lwork > 0)                                                                                                                    \
            OURS((double)*m * (double)*n * LESS(*m, *n), hs__gels(&entry, *op, *m, *n, *cols, a, *lda, b, *ldb, work, *lwork, &found));    \
        HS__BEHIND_FORTRAN(op, m, n, cols, a, lda, b, ldb, work, lwork, info, LENGTH);                                                     \
    }

#define EACH_TYPE(MACRO) MACRO(s, HS_FLOAT32) MACRO(d, HS_FLOAT64) MACRO(c, HS_COMPLEX64) MACRO(z, HS_COMPLEX128)
EACH_TYPE(GEMM)
EACH_TYPE(TRSM)
EACH_TYPE(GEMV)
EACH_TYPE(LU)
EACH_TYPE(CHOLESKY)

#define EACH_HALF(MACRO, SYMMETRIC, HERMITIAN)                                                                                             \
    MACRO(s##SYMMETRIC, HS_FLOAT32, 0) MACRO(d##SYMMETRIC, HS_FLOAT64, 0)                                                                  \
    MACRO(c##SYMMETRIC, HS_COMPLEX64, 0) MACRO(z##SYMMETRIC, HS_COMPLEX128, 0)                                                             \
    MACRO(c##HERMITIAN, HS_COMPLEX64, 1) MACRO(z##HERMITIAN, HS_COMPLEX128, 1)
EACH_HALF(SYRK, syrk, herk)

QR(s, HS_FLOAT32, sorgqr, sormqr)
QR(d, HS_FLOAT64, dorgqr, dormqr)
QR(c, HS_COMPLEX64, cungqr, cunmqr)
QR(z, HS_COMPLEX128, zungqr, zunmqr)

#undef LENGTH
#undef F
#undef GEMM
#undef SYRK
#undef TRSM
#undef GEMV
#undef PIVOTS
#undef OURS
#undef CUBE
#undef LESS
#undef LU
#undef CHOLESKY
#undef QR
#undef EACH_TYPE
#undef EACH_HALF
#undef INT
#undef NAME
