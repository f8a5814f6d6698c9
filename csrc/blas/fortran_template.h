/* Functions of the Fortran interface, for the names that the macro NAME makes. BITS is the width of
 * their integers if the name tells it, else 0. An integer is passed by its address and read with
 * the width that the library behind has.
 *
 * After all arguments, Fortran passes the lengths of the character arguments; C programs do not
 * pass them. The functions here have no such parameters, so nothing is read or written where they
 * would be. They pass the length 1 to the library behind, by a pointer without a prototype: all
 * other arguments are pointers. */

#define LENGTH ((size_t)1)
#define F(P, ROUTINE) NAME(P##ROUTINE)
#define ENTRY(FUNCTION, ROUTINE, DTYPE) \
    HS__ENTRY(FUNCTION, ROUTINE, DTYPE, BITS, HS__TEXT_OF(NAME(isamax)), HS__TEXT_OF(NAME(ilaver)))
#define I(x) hs__integer_at(x, wide)
#define D(x) ((double)I(x))
#define BEHIND ((void (*)())entry->behind)

#define GEMM(P, DTYPE)                                                                            \
    HS__BLAS void F(P, gemm)(const char *op_a, const char *op_b, const void *m, const void *n,    \
                             const void *k, const void *alpha, const void *a, const void *lda,    \
                             const void *b, const void *ldb, const void *beta, void *c,           \
                             const void *ldc)                                                     \
    {                                                                                             \
        ENTRY(F(P, gemm), HS__GEMM, DTYPE);                                                       \
        if (hs__is_large(entry, D(m) * D(n) * D(k)) &&                                            \
            hs__gemm(entry, *op_a, *op_b, I(m), I(n), I(k), alpha, a, I(lda), b, I(ldb), beta, c, \
                     I(ldc)))                                                                     \
            return;                                                                               \
        BEHIND(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, LENGTH, LENGTH);         \
    }

#define SYRK(NAMED, DTYPE, HERMITIAN)                                                              \
    HS__BLAS void NAME(NAMED)(const char *triangle, const char *op, const void *n, const void *k,  \
                              const void *alpha, const void *a, const void *lda, const void *beta, \
                              void *c, const void *ldc)                                            \
    {                                                                                              \
        ENTRY(NAME(NAMED), HS__SYRK, DTYPE);                                                       \
        if (hs__is_large(entry, 0.5 * D(n) * D(n) * D(k)) &&                                       \
            hs__syrk(entry, HERMITIAN, *triangle, *op, I(n), I(k), alpha, a, I(lda), beta, c,      \
                     I(ldc)))                                                                      \
            return;                                                                                \
        BEHIND(triangle, op, n, k, alpha, a, lda, beta, c, ldc, LENGTH, LENGTH);                   \
    }

#define TRSM(P, DTYPE)                                                                            \
    HS__BLAS void F(P, trsm)(const char *side, const char *triangle, const char *op,              \
                             const char *diagonal, const void *m, const void *n,                  \
                             const void *alpha, const void *a, const void *lda, void *b,          \
                             const void *ldb)                                                     \
    {                                                                                             \
        ENTRY(F(P, trsm), HS__TRSM, DTYPE);                                                       \
        const double order = *side == 'L' || *side == 'l' ? D(m) : D(n);                          \
        if (hs__is_large(entry, 0.5 * D(m) * D(n) * order) &&                                     \
            hs__trsm(entry, *side, *triangle, *op, *diagonal, I(m), I(n), alpha, a, I(lda), b,    \
                     I(ldb)))                                                                     \
            return;                                                                               \
        BEHIND(side, triangle, op, diagonal, m, n, alpha, a, lda, b, ldb, LENGTH, LENGTH, LENGTH, \
               LENGTH);                                                                           \
    }

#define GEMV(P, DTYPE)                                                                        \
    HS__BLAS void F(P, gemv)(const char *op, const void *m, const void *n, const void *alpha, \
                             const void *a, const void *lda, const void *x, const void *incx, \
                             const void *beta, void *y, const void *incy)                     \
    {                                                                                         \
        ENTRY(F(P, gemv), HS__GEMV, DTYPE);                                                   \
        if (hs__is_large(entry, D(m) * D(n)) &&                                               \
            hs__gemv(entry, *op, I(m), I(n), alpha, a, I(lda), x, I(incx), beta, y, I(incy))) \
            return;                                                                           \
        BEHIND(op, m, n, alpha, a, lda, x, incx, beta, y, incy, LENGTH);                      \
    }

/* Functions of LAPACK: a call that the engine does fills in info. */
#define PIVOTS(x) ((hs__pivots){x, wide ? 8 : 4})
#define OURS(VOLUME, CALL)                           \
    do {                                             \
        int64_t found = 0;                           \
        if (hs__is_large(entry, VOLUME) && (CALL)) { \
            hs__set_integer(info, wide, found);      \
            return;                                  \
        }                                            \
    } while (0)
#define CUBE(n) (D(n) * D(n) * D(n))
#define LESS(x, y) (D(x) < D(y) ? D(x) : D(y))

#define LU(P, DTYPE)                                                                               \
    HS__BLAS void F(P, getrf)(const void *m, const void *n, void *a, const void *lda,              \
                              void *pivots, void *info)                                            \
    {                                                                                              \
        ENTRY(F(P, getrf), HS__GETRF, DTYPE);                                                      \
        OURS(D(m) * D(n) * LESS(m, n) / 3.0,                                                       \
             hs__getrf(entry, I(m), I(n), a, I(lda), PIVOTS(pivots), &found));                     \
        BEHIND(m, n, a, lda, pivots, info);                                                        \
    }                                                                                              \
    HS__BLAS void F(P, getrs)(const char *op, const void *n, const void *cols, const void *a,      \
                              const void *lda, void *pivots, void *b, const void *ldb, void *info) \
    {                                                                                              \
        ENTRY(F(P, getrs), HS__GETRS, DTYPE);                                                      \
        OURS(D(n) * D(n) * D(cols),                                                                \
             hs__getrs(entry, *op, I(n), I(cols), a, I(lda), PIVOTS(pivots), b, I(ldb), &found));  \
        BEHIND(op, n, cols, a, lda, pivots, b, ldb, info, LENGTH);                                 \
    }                                                                                              \
    HS__BLAS void F(P, gesv)(const void *n, const void *cols, void *a, const void *lda,            \
                             void *pivots, void *b, const void *ldb, void *info)                   \
    {                                                                                              \
        ENTRY(F(P, gesv), HS__GESV, DTYPE);                                                        \
        OURS(D(n) * D(n) * (D(n) / 3.0 + D(cols)),                                                 \
             hs__gesv(entry, I(n), I(cols), a, I(lda), PIVOTS(pivots), b, I(ldb), &found));        \
        BEHIND(n, cols, a, lda, pivots, b, ldb, info);                                             \
    }                                                                                              \
    HS__BLAS void F(P, getri)(const void *n, void *a, const void *lda, void *pivots, void *work,   \
                              const void *lwork, void *info)                                       \
    {                                                                                              \
        ENTRY(F(P, getri), HS__GETRI, DTYPE);                                                      \
        if (I(lwork) >= I(n) && I(lwork) > 0)                                                      \
            OURS(2.0 / 3.0 * CUBE(n),                                                              \
                 hs__getri(entry, I(n), a, I(lda), PIVOTS(pivots), work, &found));                 \
        BEHIND(n, a, lda, pivots, work, lwork, info);                                              \
    }

#define CHOLESKY(P, DTYPE)                                                                     \
    HS__BLAS void F(P, potrf)(const char *triangle, const void *n, void *a, const void *lda,   \
                              void *info)                                                      \
    {                                                                                          \
        ENTRY(F(P, potrf), HS__POTRF, DTYPE);                                                  \
        OURS(CUBE(n) / 6.0, hs__potrf(entry, *triangle, I(n), a, I(lda), &found));             \
        BEHIND(triangle, n, a, lda, info, LENGTH);                                             \
    }                                                                                          \
    HS__BLAS void F(P, potrs)(const char *triangle, const void *n, const void *cols,           \
                              const void *a, const void *lda, void *b, const void *ldb,        \
                              void *info)                                                      \
    {                                                                                          \
        ENTRY(F(P, potrs), HS__POTRS, DTYPE);                                                  \
        OURS(D(n) * D(n) * D(cols),                                                            \
             hs__potrs(entry, *triangle, I(n), I(cols), a, I(lda), b, I(ldb), &found));        \
        BEHIND(triangle, n, cols, a, lda, b, ldb, info, LENGTH);                               \
    }                                                                                          \
    HS__BLAS void F(P, posv)(const char *triangle, const void *n, const void *cols, void *a,   \
                             const void *lda, void *b, const void *ldb, void *info)            \
    {                                                                                          \
        ENTRY(F(P, posv), HS__POSV, DTYPE);                                                    \
        OURS(D(n) * D(n) * (D(n) / 6.0 + D(cols)),                                             \
             hs__posv(entry, *triangle, I(n), I(cols), a, I(lda), b, I(ldb), &found));         \
        BEHIND(triangle, n, cols, a, lda, b, ldb, info, LENGTH);                               \
    }                                                                                          \
    HS__BLAS void F(P, trtrs)(const char *triangle, const char *op, const char *diagonal,      \
                              const void *n, const void *cols, const void *a, const void *lda, \
                              void *b, const void *ldb, void *info)                            \
    {                                                                                          \
        ENTRY(F(P, trtrs), HS__TRTRS, DTYPE);                                                  \
        OURS(0.5 * D(n) * D(n) * D(cols), hs__trtrs(entry, *triangle, *op, *diagonal, I(n),    \
                                                    I(cols), a, I(lda), b, I(ldb), &found));   \
        BEHIND(triangle, op, diagonal, n, cols, a, lda, b, ldb, info, LENGTH, LENGTH, LENGTH); \
    }

/* An lwork of -1 asks for the optimal workspace size, which the library behind knows. */
#define QR(P, DTYPE, ORGQR, ORMQR)                                                                 \
    HS__BLAS void F(P, geqrf)(const void *m, const void *n, void *a, const void *lda, void *tau,   \
                              void *work, const void *lwork, void *info)                           \
    {                                                                                              \
        ENTRY(F(P, geqrf), HS__GEQRF, DTYPE);                                                      \
        if (I(lwork) > 0)                                                                          \
            OURS(D(m) * D(n) * LESS(m, n),                                                         \
                 hs__geqrf(entry, I(m), I(n), a, I(lda), tau, work, I(lwork), &found));            \
        BEHIND(m, n, a, lda, tau, work, lwork, info);                                              \
    }                                                                                              \
    HS__BLAS void NAME(ORGQR)(const void *m, const void *n, const void *k, void *a,                \
                              const void *lda, const void *tau, void *work, const void *lwork,     \
                              void *info)                                                          \
    {                                                                                              \
        ENTRY(NAME(ORGQR), HS__ORGQR, DTYPE);                                                      \
        if (I(lwork) > 0)                                                                          \
            OURS(D(m) * D(n) * D(k),                                                               \
                 hs__orgqr(entry, I(m), I(n), I(k), a, I(lda), tau, work, I(lwork), &found));      \
        BEHIND(m, n, k, a, lda, tau, work, lwork, info);                                           \
    }                                                                                              \
    HS__BLAS void NAME(ORMQR)(const char *side, const char *op, const void *m, const void *n,      \
                              const void *k, const void *a, const void *lda, const void *tau,      \
                              void *c, const void *ldc, void *work, const void *lwork, void *info) \
    {                                                                                              \
        ENTRY(NAME(ORMQR), HS__ORMQR, DTYPE);                                                      \
        if (I(lwork) > 0)                                                                          \
            OURS(2.0 * D(m) * D(n) * D(k),                                                         \
                 hs__ormqr(entry, *side, *op, I(m), I(n), I(k), a, I(lda), tau, c, I(ldc), work,   \
                           I(lwork), &found));                                                     \
        BEHIND(side, op, m, n, k, a, lda, tau, c, ldc, work, lwork, info, LENGTH, LENGTH);         \
    }                                                                                              \
    HS__BLAS void F(P, gels)(const char *op, const void *m, const void *n, const void *cols,       \
                             void *a, const void *lda, void *b, const void *ldb, void *work,       \
                             const void *lwork, void *info)                                        \
    {                                                                                              \
        ENTRY(F(P, gels), HS__GELS, DTYPE);                                                        \
        if (I(lwork) > 0)                                                                          \
            OURS(D(m) * D(n) * LESS(m, n), hs__gels(entry, *op, I(m), I(n), I(cols), a, I(lda), b, \
                                                    I(ldb), work, I(lwork), &found));              \
        BEHIND(op, m, n, cols, a, lda, b, ldb, work, lwork, info, LENGTH);                         \
    }

#define EACH_TYPE(MACRO) \
    MACRO(s, HS_FLOAT32) MACRO(d, HS_FLOAT64) MACRO(c, HS_COMPLEX64) MACRO(z, HS_COMPLEX128)
EACH_TYPE(GEMM)
EACH_TYPE(TRSM)
EACH_TYPE(GEMV)
EACH_TYPE(LU)
EACH_TYPE(CHOLESKY)

#define EACH_HALF(MACRO, SYMMETRIC, HERMITIAN) \
    MACRO(s##SYMMETRIC, HS_FLOAT32, 0)         \
    MACRO(d##SYMMETRIC, HS_FLOAT64, 0)         \
    MACRO(c##SYMMETRIC, HS_COMPLEX64, 0)       \
    MACRO(z##SYMMETRIC, HS_COMPLEX128, 0)      \
    MACRO(c##HERMITIAN, HS_COMPLEX64, 1) MACRO(z##HERMITIAN, HS_COMPLEX128, 1)
EACH_HALF(SYRK, syrk, herk)

QR(s, HS_FLOAT32, sorgqr, sormqr)
QR(d, HS_FLOAT64, dorgqr, dormqr)
QR(c, HS_COMPLEX64, cungqr, cunmqr)
QR(z, HS_COMPLEX128, zungqr, zunmqr)

#undef LENGTH
#undef F
#undef ENTRY
#undef I
#undef D
#undef BEHIND
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
#undef BITS
#undef NAME
