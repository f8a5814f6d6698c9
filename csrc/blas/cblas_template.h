/* C's functions, for INT and the names that NAME makes. What is stored by rows is the transpose by columns. */

#define GEMM(P, DTYPE, SCALAR, AT)                                                                                                         \
    HS__BLAS void NAME(P##gemm)(int order, int op_a, int op_b, INT m, INT n, INT k, SCALAR alpha, const void *a, INT lda, const void *b,   \
                                INT ldb, SCALAR beta, void *c, INT ldc)                                                                    \
    {                                                                                                                                      \
        HS__ENTRY(NAME(P##gemm), HS__GEMM, DTYPE);                                                                                         \
        if (hs__is_large(&entry, (double)m * (double)n * (double)k)) {                                                                     \
            const char x = letter(op_a), y = letter(op_b);                                                                                 \
            if (order == COLUMNS && hs__gemm(&entry, x, y, m, n, k, AT(alpha), a, lda, b, ldb, AT(beta), c, ldc)) return;                  \
            if (order == ROWS && hs__gemm(&entry, y, x, n, m, k, AT(alpha), b, ldb, a, lda, AT(beta), c, ldc)) return;                     \
        }                                                                                                                                  \
        HS__BEHIND(NAME(P##gemm))(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                        \
    }

#define SYRK(NAMED, DTYPE, SCALAR, AT, HERMITIAN)                                                                                          \
    HS__BLAS void NAME(NAMED)(int order, int triangle, int op, INT n, INT k, SCALAR alpha, const void *a, INT lda, SCALAR beta, void *c,   \
                              INT ldc)                                                                                                     \
    {                                                                                                                                      \
        HS__ENTRY(NAME(NAMED), HS__SYRK, DTYPE);                                                                                           \
        if (hs__is_large(&entry, 0.5 * (double)n * (double)n * (double)k)) {                                                               \
            const char t = letter(triangle), x = letter(op);                                                                               \
            if (order == COLUMNS && hs__syrk(&entry, HERMITIAN, t, x, n, k, AT(alpha), a, lda, AT(beta), c, ldc)) return;                  \
            if (order == ROWS &&                                                                                                           \
                hs__syrk(&entry, HERMITIAN, other_triangle(t), turned(x, HERMITIAN), n, k, AT(alpha), a, lda, AT(beta), c, ldc))           \
                return;                                                                                                                    \
        }                                                                                                                                  \
        HS__BEHIND(NAME(NAMED))(order, triangle, op, n, k, alpha, a, lda, beta, c, ldc);                                                   \
    }

#define TRSM(P, DTYPE, SCALAR, AT)                                                                                                         \
    HS__BLAS void NAME(P##trsm)(int order, int side, int triangle, int op, int diagonal, INT m, INT n, SCALAR alpha, const void *a,        \
                                INT lda, void *b, INT ldb)                                                                                 \
    {                                                                                                                                      \
        HS__ENTRY(NAME(P##trsm), HS__TRSM, DTYPE);                                                                                         \
        if (hs__is_large(&entry, 0.5 * (double)m * (double)n * (double)(letter(side) == 'L' ? m : n))) {                                   \
            const char s = letter(side), t = letter(triangle), x = letter(op), d = letter(diagonal);                                       \
            if (order == COLUMNS && hs__trsm(&entry, s, t, x, d, m, n, AT(alpha), a, lda, b, ldb)) return;                                 \
            if (order == ROWS && hs__trsm(&entry, other_side(s), other_triangle(t), x, d, n, m, AT(alpha), a, lda, b, ldb)) return;        \
        }                                                                                                                                  \
        HS__BEHIND(NAME(P##trsm))(order, side, triangle, op, diagonal, m, n, alpha, a, lda, b, ldb);                                       \
    }

#define GEMV(P, DTYPE, SCALAR, AT)                                                                                                         \
    HS__BLAS void NAME(P##gemv)(int order, int op, INT m, INT n, SCALAR alpha, const void *a, INT lda, const void *x, INT incx,            \
                                SCALAR beta, void *y, INT incy)                                                                            \
    {                                                                                                                                      \
        HS__ENTRY(NAME(P##gemv), HS__GEMV, DTYPE);                                                                                         \
        if (hs__is_large(&entry, (double)m * (double)n)) {                                                                                 \
            const char o = letter(op);                                                                                                     \
            if (order == COLUMNS && hs__gemv(&entry, o, m, n, AT(alpha), a, lda, x, incx, AT(beta), y, incy)) return;                      \
            if (order == ROWS && !(o == 'C' && DTYPE >> 1) && /* which would be conj(A), not turned */                                     \
                hs__gemv(&entry, turned(o, 0), n, m, AT(alpha), a, lda, x, incx, AT(beta), y, incy))                                       \
                return;                                                                                                                    \
        }                                                                                                                                  \
        HS__BEHIND(NAME(P##gemv))(order, op, m, n, alpha, a, lda, x, incx, beta, y, incy);                                                 \
    }

#define VALUE(x) (&(x))
#define POINTER(x) (x)
#define EACH_TYPE(MACRO)                                                                                                                   \
    MACRO(s, HS_FLOAT32, float, VALUE) MACRO(d, HS_FLOAT64, double, VALUE)                                                                 \
    MACRO(c, HS_COMPLEX64, const void *, POINTER) MACRO(z, HS_COMPLEX128, const void *, POINTER)
EACH_TYPE(GEMM)
EACH_TYPE(TRSM)
EACH_TYPE(GEMV)

SYRK(ssyrk, HS_FLOAT32, float, VALUE, 0)
SYRK(dsyrk, HS_FLOAT64, double, VALUE, 0)
SYRK(csyrk, HS_COMPLEX64, const void *, POINTER, 0)
SYRK(zsyrk, HS_COMPLEX128, const void *, POINTER, 0)
SYRK(cherk, HS_COMPLEX64, float, VALUE, 1)
SYRK(zherk, HS_COMPLEX128, double, VALUE, 1)

#undef GEMM
#undef SYRK
#undef TRSM
#undef GEMV
#undef VALUE
#undef POINTER
#undef EACH_TYPE
#undef INT
#undef NAME
