/* The names under which programs know the BLAS and LAPACK, with the width of the integers that each name tells.
 *   dgemm_            Fortran's, of libblas.so.3, liblapack.so.3: 32 bits
 *   dgemm_64_         the same with 64 bits
 *   scipy_dgemm_      of the library in SciPy's wheels: 32 bits
 *   scipy_dgemm_64_   of that in NumPy's: 64 bits
 * and in C cblas_dgemm, cblas_dgemm64_, scipy_cblas_dgemm, scipy_cblas_dgemm64_. */
#ifndef HS_BLAS_NAMES_H
#define HS_BLAS_NAMES_H

#define HS__BLAS __attribute__((visibility("default")))
#define HS__TEXT(x) #x
#define HS__TEXT_OF(x) HS__TEXT(x)

/* An entry of its own for the function that is being defined, and the call of that behind. */
#define HS__ENTRY(FUNCTION, ROUTINE, DTYPE) static hs__entry entry = {.name = HS__TEXT_OF(FUNCTION), .routine = ROUTINE, .dtype = DTYPE}
#define HS__BEHIND(FUNCTION) ((__typeof__(&FUNCTION))hs__behind(&entry))
#define HS__BEHIND_FORTRAN ((void (*)())hs__behind(&entry))

#endif
