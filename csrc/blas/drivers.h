/* Functions of LAPACK by their numbers of arguments: those that the engine computes if they are
 * large, and those that it does not compute. The latter are here so that the library behind is
 * governed while it computes them: it calls its own BLAS inside, where no other library can govern
 * it. */
#ifndef HS_BLAS_DRIVERS_H
#define HS_BLAS_DRIVERS_H

#include "blas/entry.h"

/* One line for each function.
 *   REAL     name, arguments, characters among them, number of the argument m, and of n (counted
 *            from 1; m is n if there is no m): for s and d. In HS__SPECTRAL also the end of its name
 *            in hs__routine, and the number of the argument lwork
 *   COMPLEX  the same for c and z
 *   ALL      for all four types; the complex functions have a number of arguments of their own
 * tests/dropin/test_dropin_drivers.py compares them with the declarations that SciPy has. */
/* clang-format off */
#define HS__SPECTRAL(REAL, COMPLEX, ALL) \
    REAL(syev, SYEV, 9, 2, 3, 3, 8) \
    COMPLEX(heev, HEEV, 10, 2, 3, 3, 8) \
    REAL(syevd, SYEVD, 11, 2, 3, 3, 8) \
    COMPLEX(heevd, HEEVD, 13, 2, 3, 3, 8) \
    REAL(syevr, SYEVR, 21, 3, 4, 4, 18) \
    COMPLEX(heevr, HEEVR, 23, 3, 4, 4, 18) \
    REAL(sygv, SYGV, 12, 2, 4, 4, 11) \
    COMPLEX(hegv, HEGV, 13, 2, 4, 4, 11) \
    REAL(sygvd, SYGVD, 14, 2, 4, 4, 11) \
    COMPLEX(hegvd, HEGVD, 16, 2, 4, 4, 11) \
    ALL(gesdd, GESDD, 14, 15, 1, 2, 3, 12) \
    ALL(gesvd, GESVD, 14, 15, 2, 3, 4, 13) \
    ALL(gelsd, GELSD, 14, 15, 0, 1, 2, 12) \
    ALL(gelss, GELSS, 13, 14, 0, 1, 2, 12)

#define HS__DRIVERS(REAL, COMPLEX, ALL) \
    /* symmetric eigenproblems */ \
    REAL(syevx, 20, 3, 4, 4) \
    COMPLEX(heevx, 21, 3, 4, 4) \
    REAL(sygvx, 23, 3, 5, 5) \
    COMPLEX(hegvx, 24, 3, 5, 5) \
    REAL(sygst, 8, 1, 3, 3) \
    COMPLEX(hegst, 8, 1, 3, 3) \
    REAL(sytrd, 10, 1, 2, 2) \
    COMPLEX(hetrd, 10, 1, 2, 2) \
    REAL(orgtr, 8, 1, 2, 2) \
    COMPLEX(ungtr, 8, 1, 2, 2) \
    REAL(ormtr, 13, 3, 4, 5) \
    COMPLEX(unmtr, 13, 3, 4, 5) \
    REAL(stev, 8, 1, 2, 2) \
    REAL(stevd, 11, 1, 2, 2) \
    REAL(stevr, 20, 2, 3, 3) \
    ALL(stedc, 11, 13, 1, 2, 2) \
    ALL(stemr, 21, 21, 2, 3, 3) \
    ALL(steqr, 8, 8, 1, 2, 2) \
    /* singular values */ \
    REAL(gejsv, 19, 6, 7, 8) \
    ALL(gebrd, 11, 11, 0, 1, 2) \
    REAL(orgbr, 10, 1, 2, 3) \
    COMPLEX(ungbr, 10, 1, 2, 3) \
    REAL(ormbr, 14, 3, 4, 5) \
    COMPLEX(unmbr, 14, 3, 4, 5) \
    ALL(bdsqr, 15, 15, 1, 2, 2) \
    REAL(bdsdc, 14, 2, 3, 3) \
    /* eigenvalues and Schur forms */ \
    ALL(geev, 14, 14, 2, 3, 3) \
    ALL(geevx, 23, 22, 4, 5, 5) \
    ALL(gees, 15, 15, 2, 4, 4) \
    ALL(geesx, 20, 18, 3, 5, 5) \
    ALL(ggev, 17, 17, 2, 3, 3) \
    ALL(ggevx, 29, 29, 4, 5, 5) \
    ALL(gges, 21, 21, 3, 5, 5) \
    ALL(gehrd, 9, 9, 0, 1, 1) \
    REAL(orghr, 9, 0, 1, 1) \
    COMPLEX(unghr, 9, 0, 1, 1) \
    REAL(ormhr, 14, 2, 3, 4) \
    COMPLEX(unmhr, 14, 2, 3, 4) \
    ALL(hseqr, 14, 13, 2, 3, 3) \
    ALL(trevc, 14, 15, 2, 4, 4) \
    ALL(trsen, 18, 15, 2, 4, 4) \
    ALL(trsyl, 13, 13, 2, 4, 5) \
    ALL(gghrd, 14, 14, 2, 3, 3) \
    ALL(hgeqz, 20, 20, 3, 4, 4) \
    ALL(tgevc, 16, 17, 2, 4, 4) \
    ALL(tgsen, 25, 24, 0, 5, 5) \
    /* least squares and orthogonal factors */ \
    ALL(gelsy, 13, 14, 0, 1, 2) \
    ALL(gglse, 13, 13, 0, 1, 2) \
    ALL(ggglm, 13, 13, 0, 1, 2) \
    ALL(geqp3, 9, 10, 0, 1, 2) \
    ALL(gelqf, 8, 8, 0, 1, 2) \
    ALL(geqlf, 8, 8, 0, 1, 2) \
    ALL(gerqf, 8, 8, 0, 1, 2) \
    REAL(orglq, 9, 0, 1, 2) \
    COMPLEX(unglq, 9, 0, 1, 2) \
    REAL(ormlq, 13, 2, 3, 4) \
    COMPLEX(unmlq, 13, 2, 3, 4) \
    ALL(tzrzf, 8, 8, 0, 1, 2) \
    REAL(ormrz, 14, 2, 3, 4) \
    COMPLEX(unmrz, 14, 2, 3, 4) \
    ALL(geqrt, 9, 9, 0, 1, 2) \
    ALL(tpqrt, 12, 12, 0, 1, 2) \
    /* systems and inverses */ \
    ALL(sysv, 11, 11, 1, 2, 2) \
    COMPLEX(hesv, 11, 1, 2, 2) \
    ALL(sysvx, 20, 20, 2, 3, 3) \
    COMPLEX(hesvx, 20, 2, 3, 3) \
    ALL(sytrf, 8, 8, 1, 2, 2) \
    COMPLEX(hetrf, 8, 1, 2, 2) \
    ALL(sytri, 7, 7, 1, 2, 2) \
    COMPLEX(hetri, 7, 1, 2, 2) \
    ALL(sytrs, 9, 9, 1, 2, 2) \
    COMPLEX(hetrs, 9, 1, 2, 2) \
    ALL(gesvx, 22, 22, 3, 3, 3) \
    ALL(posvx, 20, 20, 3, 3, 3) \
    ALL(gecon, 9, 9, 1, 2, 2) \
    ALL(pocon, 9, 9, 1, 2, 2) \
    ALL(potri, 5, 5, 1, 2, 2) \
    ALL(trtri, 6, 6, 2, 3, 3) \
    ALL(lauum, 5, 5, 1, 2, 2) \
    ALL(pstrf, 9, 9, 1, 2, 2)
/* clang-format on */

/* Numbers of the functions of HS__DRIVERS in the report, after the numbers of hs__routine. */
#define HS__NUMBER(NAME, ...) HS__DRIVER_##NAME,
enum {
    HS__BEFORE_DRIVERS = HS__ROUTINES - 1,
    HS__DRIVERS(HS__NUMBER, HS__NUMBER, HS__NUMBER) HS__ALL_ROUTINES
};

/* Names of the routines in the order of hs__routine, without the type's letter. */
extern const char *const hs__routine_names[];

/* Returns the name of a routine or driver, without the type's letter. */
const char *hs__name_of_routine(int32_t routine);

#endif
