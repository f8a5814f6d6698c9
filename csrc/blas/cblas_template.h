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
#define INTEGER(x) hs__integer_of(x, wide)
#define DOUBLE(x) ((double)INTEGER(x))
/* Calls the library behind, governed. Reads the local variables `entry` and `volume`. */
#define BEHIND(FUNCTION, ...)                                \
    do {                                                     \
        hs__guard guard = {0};                               \
        hs__govern(&guard, entry, volume);                   \
        ((__typeof__(&FUNCTION))entry->behind)(__VA_ARGS__); \
        hs__release(&guard);                                 \
    } while (0)

#define DEFINE_GEMM(P, DTYPE, SCALAR, AT)                                                         \
    HS__BLAS void NAME(P##gemm)(int order, int op_a, int op_b, INT m, INT n, INT k, SCALAR alpha, \
                                const void *a, INT lda, const void *b, INT ldb, SCALAR beta,      \
                                void *c, INT ldc)                                                 \
    {                                                                                             \
        ENTRY(NAME(P##gemm), HS__GEMM, DTYPE);                                                    \
        const double volume = DOUBLE(m) * DOUBLE(n) * DOUBLE(k);                                  \
        if (hs__is_large(entry, volume)) {                                                        \
            const char x = letter_of(op_a), y = letter_of(op_b);                                  \
            if (order == COLUMNS &&                                                               \
                hs__gemm(entry, x, y, INTEGER(m), INTEGER(n), INTEGER(k), AT(alpha), a,           \
                         INTEGER(lda), b, INTEGER(ldb), AT(beta), c, INTEGER(ldc)))               \
                return;                                                                           \
            if (order == ROWS &&                                                                  \
                hs__gemm(entry, y, x, INTEGER(n), INTEGER(m), INTEGER(k), AT(alpha), b,           \
                         INTEGER(ldb), a, INTEGER(lda), AT(beta), c, INTEGER(ldc)))               \
                return;                                                                           \
        }                                                                                         \
        BEHIND(NAME(P##gemm), order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);   \
    }

#define DEFINE_SYRK(NAMED, DTYPE, SCALAR, AT, HERMITIAN)                                          \
    HS__BLAS void NAME(NAMED)(int order, int triangle, int op, INT n, INT k, SCALAR alpha,        \
                              const void *a, INT lda, SCALAR beta, void *c, INT ldc)              \
    {                                                                                             \
        ENTRY(NAME(NAMED), HS__SYRK, DTYPE);                                                      \
        const double volume = 0.5 * DOUBLE(n) * DOUBLE(n) * DOUBLE(k);                            \
        if (hs__is_large(entry, volume)) {                                                        \
            const char t = letter_of(triangle), x = letter_of(op);                                \
            if (order == COLUMNS &&                                                               \
                hs__syrk(entry, HERMITIAN, t, x, INTEGER(n), INTEGER(k), AT(alpha), a,            \
                         INTEGER(lda), AT(beta), c, INTEGER(ldc)))                                \
                return;                                                                           \
            if (order == ROWS &&                                                                  \
                hs__syrk(entry, HERMITIAN, other_triangle(t), transposed_op(x, DTYPE, HERMITIAN), \
                         INTEGER(n), INTEGER(k), AT(alpha), a, INTEGER(lda), AT(beta), c,         \
                         INTEGER(ldc)))                                                           \
                return;                                                                           \
        }                                                                                         \
        BEHIND(NAME(NAMED), order, triangle, op, n, k, alpha, a, lda, beta, c, ldc);              \
    }

#define DEFINE_TRSM(P, DTYPE, SCALAR, AT)                                                          \
    HS__BLAS void NAME(P##trsm)(int order, int side, int triangle, int op, int diagonal, INT m,    \
                                INT n, SCALAR alpha, const void *a, INT lda, void *b, INT ldb)     \
    {                                                                                              \
        ENTRY(NAME(P##trsm), HS__TRSM, DTYPE);                                                     \
        const double volume =                                                                      \
            0.5 * DOUBLE(m) * DOUBLE(n) * (letter_of(side) == 'L' ? DOUBLE(m) : DOUBLE(n));        \
        if (hs__is_large(entry, volume)) {                                                         \
            const char s = letter_of(side), t = letter_of(triangle), x = letter_of(op);            \
            const char d = letter_of(diagonal);                                                    \
            if (order == COLUMNS && hs__trsm(entry, s, t, x, d, INTEGER(m), INTEGER(n), AT(alpha), \
                                             a, INTEGER(lda), b, INTEGER(ldb)))                    \
                return;                                                                            \
            if (order == ROWS &&                                                                   \
                hs__trsm(entry, other_side(s), other_triangle(t), x, d, INTEGER(n), INTEGER(m),    \
                         AT(alpha), a, INTEGER(lda), b, INTEGER(ldb)))                             \
                return;                                                                            \
        }                                                                                          \
        BEHIND(NAME(P##trsm), order, side, triangle, op, diagonal, m, n, alpha, a, lda, b, ldb);   \
    }

#define DEFINE_GEMV(P, DTYPE, SCALAR, AT)                                                         \
    HS__BLAS void NAME(P##gemv)(int order, int op, INT m, INT n, SCALAR alpha, const void *a,     \
                                INT lda, const void *x, INT incx, SCALAR beta, void *y, INT incy) \
    {                                                                                             \
        ENTRY(NAME(P##gemv), HS__GEMV, DTYPE);                                                    \
        const double volume = DOUBLE(m) * DOUBLE(n);                                              \
        if (hs__is_large(entry, volume)) {                                                        \
            const char o = letter_of(op);                                                         \
            if (order == COLUMNS &&                                                               \
                hs__gemv(entry, o, INTEGER(m), INTEGER(n), AT(alpha), a, INTEGER(lda), x,         \
                         INTEGER(incx), AT(beta), y, INTEGER(incy)))                              \
                return;                                                                           \
            if (order == ROWS && !(o == 'C' && DTYPE >> 1) && /* conj(A) is not turned */         \
                hs__gemv(entry, transposed_op(o, DTYPE, 0), INTEGER(n), INTEGER(m), AT(alpha), a, \
                         INTEGER(lda), x, INTEGER(incx), AT(beta), y, INTEGER(incy)))             \
                return;                                                                           \
        }                                                                                         \
        BEHIND(NAME(P##gemv), order, op, m, n, alpha, a, lda, x, incx, beta, y, incy);            \
    }

#define VALUE(x) (&(x))
#define POINTER(x) (x)
#define FOR_EACH_TYPE(MACRO)            \
    MACRO(s, HS_FLOAT32, float, VALUE)  \
    MACRO(d, HS_FLOAT64, double, VALUE) \
    MACRO(c, HS_COMPLEX64, const void *, POINTER) MACRO(z, HS_COMPLEX128, const void *, POINTER)
FOR_EACH_TYPE(DEFINE_GEMM)
FOR_EACH_TYPE(DEFINE_TRSM)
FOR_EACH_TYPE(DEFINE_GEMV)

DEFINE_SYRK(ssyrk, HS_FLOAT32, float, VALUE, 0)
DEFINE_SYRK(dsyrk, HS_FLOAT64, double, VALUE, 0)
DEFINE_SYRK(csyrk, HS_COMPLEX64, const void *, POINTER, 0)
DEFINE_SYRK(zsyrk, HS_COMPLEX128, const void *, POINTER, 0)
DEFINE_SYRK(cherk, HS_COMPLEX64, float, VALUE, 1)
DEFINE_SYRK(zherk, HS_COMPLEX128, double, VALUE, 1)

#undef ENTRY
#undef INTEGER
#undef DOUBLE
#undef BEHIND
#undef DEFINE_GEMM
#undef DEFINE_SYRK
#undef DEFINE_TRSM
#undef DEFINE_GEMV
#undef VALUE
#undef POINTER
#undef FOR_EACH_TYPE
#undef INT
#undef BITS
#undef NAME
