/* The names under which programs know the BLAS and LAPACK.
 *   dgemm_            Fortran's plain name: the library says how wide its integers are
 *   dgemm_64_         the same with 64 bits
 *   scipy_dgemm_      of the library in SciPy's wheels: 32 bits
 *   scipy_dgemm_64_   of that in NumPy's: 64 bits
 * and in C cblas_dgemm, cblas_dgemm64_, scipy_cblas_dgemm, scipy_cblas_dgemm64_. */
#ifndef HS_BLAS_NAMES_H
#define HS_BLAS_NAMES_H

#include <stdint.h>

#define HS__BLAS __attribute__((visibility("default")))
#define HS__TEXT(x) #x
#define HS__TEXT_OF(x) HS__TEXT(x)

/* For the beginning of the exported function FUNCTION: its name, the entry for its caller, and
 * whether the integers that it is given are read as 64 bits. BITS, ISAMAX, ILAVER: of hs__name. */
#define HS__ENTRY(FUNCTION, ROUTINE, DTYPE, BITS, ISAMAX, ILAVER)                  \
    static hs__name name = {.text = HS__TEXT_OF(FUNCTION),                         \
                            .isamax = ISAMAX,                                      \
                            .ilaver = ILAVER,                                      \
                            .routine = ROUTINE,                                    \
                            .dtype = DTYPE,                                        \
                            .bits = BITS};                                         \
    const void *site = __builtin_extract_return_addr(__builtin_return_address(0)); \
    hs__entry *entry = hs__behind(&name, site);                                    \
    const int wide = entry->bits == 64

/* The integer at an address. */
static inline int64_t hs__integer_at(const void *at, int wide)
{
    return wide ? *(const int64_t *)at : *(const int32_t *)at;
}

static inline void hs__set_integer(void *at, int wide, int64_t value)
{
    if (wide) *(int64_t *)at = value;
    else *(int32_t *)at = (int32_t)value;
}

/* An integer passed by value. */
static inline int64_t hs__integer_of(int64_t passed, int wide)
{
    return wide ? passed : (int32_t)passed;
}

#endif
