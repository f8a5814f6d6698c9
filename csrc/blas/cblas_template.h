/* Functions of the C interface, for the names that the macro NAME makes. BITS is the width of their
 * integers if the name tells it, else 0. A matrix stored by rows is treated as its transpose,
 * stored by columns.
 *
 * Integers are passed by value, with 32 or 64 bits, and INT is wide enough for both. Linux on
 * x86-64 and AArch64 passes both in a register or in eight bytes of the stack, and leaves the upper
 * half unspecified for a 32-bit integer. This half is dropped if the library behind has 32-bit
 * integers. The library behind gets all bits that were passed. */

#define ENTRY(FUNCTION, ROUTINE, DTYPE) \
    HS__ENTRY(FUNCTION, ROUTINE, DTYPE, BITS, HS__TEXT_OF(NAME(isamax)), NULL)
#define I(x) hs__integer_of(x, wide)
#define D(x) ((double)I(x))
#define BEHIND(FUNCTION) ((__typeof__(&FUNCTION))entry->behind)

#define GEMM(P, DTYPE, SCALAR, AT)                                                                \
    HS__BLAS void NAME(P##gemm)(int order, int op_a, int op_b, INT m, INT n, INT k, SCALAR alpha, \
                                const void *a, INT lda, const void *b, INT ldb, SCALAR beta,      \
                                void *c, INT ldc)                                                 \
    {                                                                                             \
        ENTRY(NAME(P##gemm), HS__GEMM, DTYPE);                                                    \
        if (hs__is_large(entry, D(m) * D(n) * D(k))) {                                            \
            const char x = letter(op_a), y = letter(op_b);                                        \
            if (order == COLUMNS && hs__gemm(entry, x, y, I(m), I(n), I(k), AT(alpha), a, I(lda), \
                                             b, I(ldb), AT(beta), c, I(ldc)))                     \
                return;                                                                           \
            if (order == ROWS && hs__gemm(entry, y, x, I(n), I(m), I(k), AT(alpha), b, I(ldb), a, \
                                          I(lda), AT(beta), c, I(ldc)))                           \
                return;                                                                           \
        }                                                                                         \
        BEHIND(NAME(P##gemm))(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);   \
    }

#define SYRK(NAMED, DTYPE, SCALAR, AT, HERMITIAN)                                               \
    HS__BLAS void NAME(NAMED)(int order, int triangle, int op, INT n, INT k, SCALAR alpha,      \
                              const void *a, INT lda, SCALAR beta, void *c, INT ldc)            \
    {                                                                                           \
        ENTRY(NAME(NAMED), HS__SYRK, DTYPE);                                                    \
        if (hs__is_large(entry, 0.5 * D(n) * D(n) * D(k))) {                                    \
            const char t = letter(triangle), x = letter(op);                                    \
            if (order == COLUMNS && hs__syrk(entry, HERMITIAN, t, x, I(n), I(k), AT(alpha), a,  \
                                             I(lda), AT(beta), c, I(ldc)))                      \
                return;                                                                         \
            if (order == ROWS &&                                                                \
                hs__syrk(entry, HERMITIAN, other_triangle(t), turned(x, HERMITIAN), I(n), I(k), \
                         AT(alpha), a, I(lda), AT(beta), c, I(ldc)))                            \
                return;                                                                         \
        }                                                                                       \
        BEHIND(NAME(NAMED))(order, triangle, op, n, k, alpha, a, lda, beta, c, ldc);            \
    }

#define TRSM(P, DTYPE, SCALAR, AT)                                                              \
    HS__BLAS void NAME(P##trsm)(int order, int side, int triangle, int op, int diagonal, INT m, \
                                INT n, SCALAR alpha, const void *a, INT lda, void *b, INT ldb)  \
    {                                                                                           \
        ENTRY(NAME(P##trsm), HS__TRSM, DTYPE);                                                  \
        if (hs__is_large(entry, 0.5 * D(m) * D(n) * (letter(side) == 'L' ? D(m) : D(n)))) {     \
            const char s = letter(side), t = letter(triangle), x = letter(op);                  \
            const char d = letter(diagonal);                                                    \
            if (order == COLUMNS &&                                                             \
                hs__trsm(entry, s, t, x, d, I(m), I(n), AT(alpha), a, I(lda), b, I(ldb)))       \
                return;                                                                         \
            if (order == ROWS && hs__trsm(entry, other_side(s), other_triangle(t), x, d, I(n),  \
                                          I(m), AT(alpha), a, I(lda), b, I(ldb)))               \
                return;                                                                         \
        }                                                                                       \
        BEHIND(NAME(P##trsm))                                                                   \
        (order, side, triangle, op, diagonal, m, n, alpha, a, lda, b, ldb);                     \
    }

#define GEMV(P, DTYPE, SCALAR, AT)                                                                \
    HS__BLAS void NAME(P##gemv)(int order, int op, INT m, INT n, SCALAR alpha, const void *a,     \
                                INT lda, const void *x, INT incx, SCALAR beta, void *y, INT incy) \
    {                                                                                             \
        ENTRY(NAME(P##gemv), HS__GEMV, DTYPE);                                                    \
        if (hs__is_large(entry, D(m) * D(n))) {                                                   \
            const char o = letter(op);                                                            \
            if (order == COLUMNS && hs__gemv(entry, o, I(m), I(n), AT(alpha), a, I(lda), x,       \
                                             I(incx), AT(beta), y, I(incy)))                      \
                return;                                                                           \
            if (order == ROWS && !(o == 'C' && DTYPE >> 1) && /* conj(A) is not turned */         \
                hs__gemv(entry, turned(o, 0), I(n), I(m), AT(alpha), a, I(lda), x, I(incx),       \
                         AT(beta), y, I(incy)))                                                   \
                return;                                                                           \
        }                                                                                         \
        BEHIND(NAME(P##gemv))(order, op, m, n, alpha, a, lda, x, incx, beta, y, incy);            \
    }

#define VALUE(x) (&(x))
#define POINTER(x) (x)
#define EACH_TYPE(MACRO)                \
    MACRO(s, HS_FLOAT32, float, VALUE)  \
    MACRO(d, HS_FLOAT64, double, VALUE) \
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

#undef ENTRY
#undef I
#undef D
#undef BEHIND
#undef GEMM
#undef SYRK
#undef TRSM
#undef GEMV
#undef VALUE
#undef POINTER
#undef EACH_TYPE
#undef INT
#undef BITS
#undef NAME
