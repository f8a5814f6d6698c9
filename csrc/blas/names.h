/* The symbol names by which programs call the BLAS and LAPACK.
 *   dgemm_            Fortran's plain name: the library tells the width of its integers
 *   dgemm_64_         64-bit integers
 *   scipy_dgemm_      the library in SciPy's wheels: 32-bit integers
 *   scipy_dgemm_64_   the library in NumPy's wheels: 64-bit integers
 * The names for C are cblas_dgemm, cblas_dgemm64_, scipy_cblas_dgemm and scipy_cblas_dgemm64_. */
#ifndef HS_BLAS_NAMES_H
#define HS_BLAS_NAMES_H

#include <stdint.h>

/* Marks an exported function. */
#define HS__BLAS __attribute__((visibility("default")))
#define HS__TEXT(x) #x
#define HS__TEXT_OF(x) HS__TEXT(x)

/* First lines of the exported function FUNCTION. They define its name, the entry for its caller,
 * and `wide`: whether the integers of the caller are 64 bits wide. BITS, ISAMAX and ILAVER are
 * members of hs__name. */
#define HS__ENTRY(FUNCTION, ROUTINE, DTYPE, BITS, ISAMAX, ILAVER)                  \
    static hs__name name = {.text = HS__TEXT_OF(FUNCTION),                         \
                            .isamax = ISAMAX,                                      \
                            .ilaver = ILAVER,                                      \
                            .routine = ROUTINE,                                    \
                            .dtype = DTYPE,                                        \
                            .bits = BITS};                                         \
    const void *site = __builtin_extract_return_addr(__builtin_return_address(0)); \
    hs__entry *entry = hs__entry_for(&name, site);                                 \
    const int wide = entry->bits == 64

/* Returns the integer at an address. */
static inline int64_t hs__integer_at(const void *at, int wide)
{
    return wide ? *(const int64_t *)at : *(const int32_t *)at;
}

static inline void hs__set_integer(void *at, int wide, int64_t value)
{
    if (wide) *(int64_t *)at = value;
    else *(int32_t *)at = (int32_t)value;
}

/* Returns an integer that was passed by value. */
static inline int64_t hs__integer_of(int64_t passed, int wide)
{
    return wide ? passed : (int32_t)passed;
}

#endif
