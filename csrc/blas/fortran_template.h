/* Functions of the Fortran interface, for the names that the macro NAME makes. BITS is the width of
 * their integers if the name tells it, else 0. An integer is passed by its address and read with
 * the width that the library behind has.
 *
 * After all arguments, Fortran passes the lengths of the character arguments; C programs do not
 * pass them. The functions here have no such parameters, so nothing is read or written where they
 * would be. They pass the length 1 to the library behind, by a pointer without a prototype: all
 * other arguments are pointers. */

#define LENGTH ((size_t)1)
#define ENTRY(FUNCTION, ROUTINE, DTYPE) \
    HS__ENTRY(FUNCTION, ROUTINE, DTYPE, BITS, HS__TEXT_OF(NAME(isamax)), HS__TEXT_OF(NAME(ilaver)))
#define INTEGER(x) hs__integer_at(x, wide)
#define DOUBLE(x) ((double)INTEGER(x))
/* Calls the library behind, governed, from a function that has `volume`. */
#define BEHIND(...)                               \
    do {                                          \
        hs__guard guard = {0};                    \
        hs__govern(&guard, entry, volume);        \
        ((void (*)())entry->behind)(__VA_ARGS__); \
        hs__release(&guard);                      \
    } while (0)

#define DEFINE_GEMM(P, DTYPE)                                                                     \
    HS__BLAS void NAME(P##gemm)(const char *op_a, const char *op_b, const void *m, const void *n, \
                                const void *k, const void *alpha, const void *a, const void *lda, \
                                const void *b, const void *ldb, const void *beta, void *c,        \
                                const void *ldc)                                                  \
    {                                                                                             \
        ENTRY(NAME(P##gemm), HS__GEMM, DTYPE);                                                    \
        const double volume = DOUBLE(m) * DOUBLE(n) * DOUBLE(k);                                  \
        if (hs__is_large(entry, volume) &&                                                        \
            hs__gemm(entry, *op_a, *op_b, INTEGER(m), INTEGER(n), INTEGER(k), alpha, a,           \
                     INTEGER(lda), b, INTEGER(ldb), beta, c, INTEGER(ldc)))                       \
            return;                                                                               \
        BEHIND(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, LENGTH, LENGTH);         \
    }

#define DEFINE_SYRK(NAMED, DTYPE, HERMITIAN)                                                       \
    HS__BLAS void NAME(NAMED)(const char *triangle, const char *op, const void *n, const void *k,  \
                              const void *alpha, const void *a, const void *lda, const void *beta, \
                              void *c, const void *ldc)                                            \
    {                                                                                              \
        ENTRY(NAME(NAMED), HS__SYRK, DTYPE);                                                       \
        const double volume = 0.5 * DOUBLE(n) * DOUBLE(n) * DOUBLE(k);                             \
        if (hs__is_large(entry, volume) &&                                                         \
            hs__syrk(entry, HERMITIAN, *triangle, *op, INTEGER(n), INTEGER(k), alpha, a,           \
                     INTEGER(lda), beta, c, INTEGER(ldc)))                                         \
            return;                                                                                \
        BEHIND(triangle, op, n, k, alpha, a, lda, beta, c, ldc, LENGTH, LENGTH);                   \
    }

#define DEFINE_TRSM(P, DTYPE)                                                                     \
    HS__BLAS void NAME(P##trsm)(const char *side, const char *triangle, const char *op,           \
                                const char *diagonal, const void *m, const void *n,               \
                                const void *alpha, const void *a, const void *lda, void *b,       \
                                const void *ldb)                                                  \
    {                                                                                             \
        ENTRY(NAME(P##trsm), HS__TRSM, DTYPE);                                                    \
        const double order = *side == 'L' || *side == 'l' ? DOUBLE(m) : DOUBLE(n);                \
        const double volume = 0.5 * DOUBLE(m) * DOUBLE(n) * order;                                \
        if (hs__is_large(entry, volume) &&                                                        \
            hs__trsm(entry, *side, *triangle, *op, *diagonal, INTEGER(m), INTEGER(n), alpha, a,   \
                     INTEGER(lda), b, INTEGER(ldb)))                                              \
            return;                                                                               \
        BEHIND(side, triangle, op, diagonal, m, n, alpha, a, lda, b, ldb, LENGTH, LENGTH, LENGTH, \
               LENGTH);                                                                           \
    }

#define DEFINE_GEMV(P, DTYPE)                                                                      \
    HS__BLAS void NAME(P##gemv)(const char *op, const void *m, const void *n, const void *alpha,   \
                                const void *a, const void *lda, const void *x, const void *incx,   \
                                const void *beta, void *y, const void *incy)                       \
    {                                                                                              \
        ENTRY(NAME(P##gemv), HS__GEMV, DTYPE);                                                     \
        const double volume = DOUBLE(m) * DOUBLE(n);                                               \
        if (hs__is_large(entry, volume) &&                                                         \
            hs__gemv(entry, *op, INTEGER(m), INTEGER(n), alpha, a, INTEGER(lda), x, INTEGER(incx), \
                     beta, y, INTEGER(incy)))                                                      \
            return;                                                                                \
        BEHIND(op, m, n, alpha, a, lda, x, incx, beta, y, incy, LENGTH);                           \
    }

/* Functions of LAPACK: a call that the engine does fills in info. */
#define PIVOTS(x) ((hs__pivots){x, wide ? 8 : 4})
#define TRY_ENGINE(CALL)                             \
    do {                                             \
        int64_t found = 0;                           \
        if (hs__is_large(entry, volume) && (CALL)) { \
            hs__set_integer(info, wide, found);      \
            return;                                  \
        }                                            \
    } while (0)
#define CUBE(n) (DOUBLE(n) * DOUBLE(n) * DOUBLE(n))

#define DEFINE_LU(P, DTYPE)                                                                       \
    HS__BLAS void NAME(P##getrf)(const void *m, const void *n, void *a, const void *lda,          \
                                 void *pivots, void *info)                                        \
    {                                                                                             \
        ENTRY(NAME(P##getrf), HS__GETRF, DTYPE);                                                  \
        const double volume = hs__lu_volume(INTEGER(m), INTEGER(n));                              \
        TRY_ENGINE(                                                                               \
            hs__getrf(entry, INTEGER(m), INTEGER(n), a, INTEGER(lda), PIVOTS(pivots), &found));   \
        BEHIND(m, n, a, lda, pivots, info);                                                       \
    }                                                                                             \
    HS__BLAS void NAME(P##getrs)(const char *op, const void *n, const void *cols, const void *a,  \
                                 const void *lda, void *pivots, void *b, const void *ldb,         \
                                 void *info)                                                      \
    {                                                                                             \
        ENTRY(NAME(P##getrs), HS__GETRS, DTYPE);                                                  \
        const double volume = DOUBLE(n) * DOUBLE(n) * DOUBLE(cols);                               \
        TRY_ENGINE(hs__getrs(entry, *op, INTEGER(n), INTEGER(cols), a, INTEGER(lda),              \
                             PIVOTS(pivots), b, INTEGER(ldb), &found));                           \
        BEHIND(op, n, cols, a, lda, pivots, b, ldb, info, LENGTH);                                \
    }                                                                                             \
    HS__BLAS void NAME(P##gesv)(const void *n, const void *cols, void *a, const void *lda,        \
                                void *pivots, void *b, const void *ldb, void *info)               \
    {                                                                                             \
        ENTRY(NAME(P##gesv), HS__GESV, DTYPE);                                                    \
        const double volume = DOUBLE(n) * DOUBLE(n) * (DOUBLE(n) / 3.0 + DOUBLE(cols));           \
        TRY_ENGINE(hs__gesv(entry, INTEGER(n), INTEGER(cols), a, INTEGER(lda), PIVOTS(pivots), b, \
                            INTEGER(ldb), &found));                                               \
        BEHIND(n, cols, a, lda, pivots, b, ldb, info);                                            \
    }                                                                                             \
    HS__BLAS void NAME(P##getri)(const void *n, void *a, const void *lda, void *pivots,           \
                                 void *work, const void *lwork, void *info)                       \
    {                                                                                             \
        ENTRY(NAME(P##getri), HS__GETRI, DTYPE);                                                  \
        const double volume = 2.0 / 3.0 * CUBE(n);                                                \
        if (INTEGER(lwork) >= INTEGER(n) && INTEGER(lwork) > 0)                                   \
            TRY_ENGINE(                                                                           \
                hs__getri(entry, INTEGER(n), a, INTEGER(lda), PIVOTS(pivots), work, &found));     \
        BEHIND(n, a, lda, pivots, work, lwork, info);                                             \
    }

#define DEFINE_CHOLESKY(P, DTYPE)                                                                 \
    HS__BLAS void NAME(P##potrf)(const char *triangle, const void *n, void *a, const void *lda,   \
                                 void *info)                                                      \
    {                                                                                             \
        ENTRY(NAME(P##potrf), HS__POTRF, DTYPE);                                                  \
        const double volume = CUBE(n) / 6.0;                                                      \
        TRY_ENGINE(hs__potrf(entry, *triangle, INTEGER(n), a, INTEGER(lda), &found));             \
        BEHIND(triangle, n, a, lda, info, LENGTH);                                                \
    }                                                                                             \
    HS__BLAS void NAME(P##potrs)(const char *triangle, const void *n, const void *cols,           \
                                 const void *a, const void *lda, void *b, const void *ldb,        \
                                 void *info)                                                      \
    {                                                                                             \
        ENTRY(NAME(P##potrs), HS__POTRS, DTYPE);                                                  \
        const double volume = DOUBLE(n) * DOUBLE(n) * DOUBLE(cols);                               \
        TRY_ENGINE(hs__potrs(entry, *triangle, INTEGER(n), INTEGER(cols), a, INTEGER(lda), b,     \
                             INTEGER(ldb), &found));                                              \
        BEHIND(triangle, n, cols, a, lda, b, ldb, info, LENGTH);                                  \
    }                                                                                             \
    HS__BLAS void NAME(P##posv)(const char *triangle, const void *n, const void *cols, void *a,   \
                                const void *lda, void *b, const void *ldb, void *info)            \
    {                                                                                             \
        ENTRY(NAME(P##posv), HS__POSV, DTYPE);                                                    \
        const double volume = DOUBLE(n) * DOUBLE(n) * (DOUBLE(n) / 6.0 + DOUBLE(cols));           \
        TRY_ENGINE(hs__posv(entry, *triangle, INTEGER(n), INTEGER(cols), a, INTEGER(lda), b,      \
                            INTEGER(ldb), &found));                                               \
        BEHIND(triangle, n, cols, a, lda, b, ldb, info, LENGTH);                                  \
    }                                                                                             \
    HS__BLAS void NAME(P##trtrs)(const char *triangle, const char *op, const char *diagonal,      \
                                 const void *n, const void *cols, const void *a, const void *lda, \
                                 void *b, const void *ldb, void *info)                            \
    {                                                                                             \
        ENTRY(NAME(P##trtrs), HS__TRTRS, DTYPE);                                                  \
        const double volume = 0.5 * DOUBLE(n) * DOUBLE(n) * DOUBLE(cols);                         \
        TRY_ENGINE(hs__trtrs(entry, *triangle, *op, *diagonal, INTEGER(n), INTEGER(cols), a,      \
                             INTEGER(lda), b, INTEGER(ldb), &found));                             \
        BEHIND(triangle, op, diagonal, n, cols, a, lda, b, ldb, info, LENGTH, LENGTH, LENGTH);    \
    }

/* An lwork of -1 asks for the optimal workspace size, which the library behind knows. */
#define DEFINE_QR(P, DTYPE, ORGQR, ORMQR)                                                          \
    HS__BLAS void NAME(P##geqrf)(const void *m, const void *n, void *a, const void *lda,           \
                                 void *tau, void *work, const void *lwork, void *info)             \
    {                                                                                              \
        ENTRY(NAME(P##geqrf), HS__GEQRF, DTYPE);                                                   \
        const double volume = hs__qr_volume(INTEGER(m), INTEGER(n));                               \
        if (INTEGER(lwork) > 0)                                                                    \
            TRY_ENGINE(hs__geqrf(entry, INTEGER(m), INTEGER(n), a, INTEGER(lda), tau, work,        \
                                 INTEGER(lwork), &found));                                         \
        BEHIND(m, n, a, lda, tau, work, lwork, info);                                              \
    }                                                                                              \
    HS__BLAS void NAME(ORGQR)(const void *m, const void *n, const void *k, void *a,                \
                              const void *lda, const void *tau, void *work, const void *lwork,     \
                              void *info)                                                          \
    {                                                                                              \
        ENTRY(NAME(ORGQR), HS__ORGQR, DTYPE);                                                      \
        const double volume = hs__qr_volume(INTEGER(m), INTEGER(n));                               \
        if (INTEGER(lwork) > 0)                                                                    \
            TRY_ENGINE(hs__orgqr(entry, INTEGER(m), INTEGER(n), INTEGER(k), a, INTEGER(lda), tau,  \
                                 work, INTEGER(lwork), &found));                                   \
        BEHIND(m, n, k, a, lda, tau, work, lwork, info);                                           \
    }                                                                                              \
    HS__BLAS void NAME(ORMQR)(const char *side, const char *op, const void *m, const void *n,      \
                              const void *k, const void *a, const void *lda, const void *tau,      \
                              void *c, const void *ldc, void *work, const void *lwork, void *info) \
    {                                                                                              \
        ENTRY(NAME(ORMQR), HS__ORMQR, DTYPE);                                                      \
        const double volume = hs__ormqr_volume(*side, INTEGER(m), INTEGER(n), INTEGER(k));         \
        if (INTEGER(lwork) > 0)                                                                    \
            TRY_ENGINE(hs__ormqr(entry, *side, *op, INTEGER(m), INTEGER(n), INTEGER(k), a,         \
                                 INTEGER(lda), tau, c, INTEGER(ldc), work, INTEGER(lwork),         \
                                 &found));                                                         \
        BEHIND(side, op, m, n, k, a, lda, tau, c, ldc, work, lwork, info, LENGTH, LENGTH);         \
    }                                                                                              \
    HS__BLAS void NAME(P##gels)(const char *op, const void *m, const void *n, const void *cols,    \
                                void *a, const void *lda, void *b, const void *ldb, void *work,    \
                                const void *lwork, void *info)                                     \
    {                                                                                              \
        ENTRY(NAME(P##gels), HS__GELS, DTYPE);                                                     \
        const double volume = hs__gels_volume(INTEGER(m), INTEGER(n), INTEGER(cols));              \
        if (INTEGER(lwork) > 0)                                                                    \
            TRY_ENGINE(hs__gels(entry, *op, INTEGER(m), INTEGER(n), INTEGER(cols), a,              \
                                INTEGER(lda), b, INTEGER(ldb), work, INTEGER(lwork), &found));     \
        BEHIND(op, m, n, cols, a, lda, b, ldb, work, lwork, info, LENGTH);                         \
    }

#define FOR_EACH_TYPE(MACRO) \
    MACRO(s, HS_FLOAT32) MACRO(d, HS_FLOAT64) MACRO(c, HS_COMPLEX64) MACRO(z, HS_COMPLEX128)
FOR_EACH_TYPE(DEFINE_GEMM)
FOR_EACH_TYPE(DEFINE_TRSM)
FOR_EACH_TYPE(DEFINE_GEMV)
FOR_EACH_TYPE(DEFINE_LU)
FOR_EACH_TYPE(DEFINE_CHOLESKY)

#define FOR_EACH_TRIANGLE(MACRO, SYMMETRIC, HERMITIAN) \
    MACRO(s##SYMMETRIC, HS_FLOAT32, 0)                 \
    MACRO(d##SYMMETRIC, HS_FLOAT64, 0)                 \
    MACRO(c##SYMMETRIC, HS_COMPLEX64, 0)               \
    MACRO(z##SYMMETRIC, HS_COMPLEX128, 0)              \
    MACRO(c##HERMITIAN, HS_COMPLEX64, 1) MACRO(z##HERMITIAN, HS_COMPLEX128, 1)
FOR_EACH_TRIANGLE(DEFINE_SYRK, syrk, herk)

DEFINE_QR(s, HS_FLOAT32, sorgqr, sormqr)
DEFINE_QR(d, HS_FLOAT64, dorgqr, dormqr)
DEFINE_QR(c, HS_COMPLEX64, cungqr, cunmqr)
DEFINE_QR(z, HS_COMPLEX128, zungqr, zunmqr)

#undef LENGTH
#undef ENTRY
#undef INTEGER
#undef DOUBLE
#undef BEHIND
#undef DEFINE_GEMM
#undef DEFINE_SYRK
#undef DEFINE_TRSM
#undef DEFINE_GEMV
#undef PIVOTS
#undef TRY_ENGINE
#undef CUBE
#undef DEFINE_LU
#undef DEFINE_CHOLESKY
#undef DEFINE_QR
#undef FOR_EACH_TYPE
#undef FOR_EACH_TRIANGLE
#undef BITS
#undef NAME
