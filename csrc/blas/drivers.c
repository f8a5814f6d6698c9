/* The functions of drivers.h, under four families of names (names.h). All arguments are pointers.
 * As in fortran_template.h, the functions have no parameters for the lengths of characters, and
 * pass the length 1. */
#include "blas/drivers.h"

#include <stddef.h>

#include "blas/govern.h"
#include "blas/names.h"
#include "blas/spectral.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef void lapack_function();

/* An lwork that asks for the size of the workspace, for either width of integers. */
static const int64_t query = -1;

/* Begins to govern the library behind. The number of multiply-adds is about that of a QR
 * factorisation of an m x n matrix. */
static void govern_driver(hs__guard *guard, hs__entry *entry, int wide, const void *m,
                          const void *n)
{
    const double rows = (double)hs__integer_at(m, wide);
    const double cols = (double)hs__integer_at(n, wide);
    hs__govern(guard, entry, rows * cols * (rows < cols ? rows : cols));
}

/* "const void *a1, const void *a2, ..."; "a1, a2, ..."; ", 1, 1, ..." */
#define PARAMETERS_1 const void *a1
#define PARAMETERS_2 PARAMETERS_1, const void *a2
#define PARAMETERS_3 PARAMETERS_2, const void *a3
#define PARAMETERS_4 PARAMETERS_3, const void *a4
#define PARAMETERS_5 PARAMETERS_4, const void *a5
#define PARAMETERS_6 PARAMETERS_5, const void *a6
#define PARAMETERS_7 PARAMETERS_6, const void *a7
#define PARAMETERS_8 PARAMETERS_7, const void *a8
#define PARAMETERS_9 PARAMETERS_8, const void *a9
#define PARAMETERS_10 PARAMETERS_9, const void *a10
#define PARAMETERS_11 PARAMETERS_10, const void *a11
#define PARAMETERS_12 PARAMETERS_11, const void *a12
#define PARAMETERS_13 PARAMETERS_12, const void *a13
#define PARAMETERS_14 PARAMETERS_13, const void *a14
#define PARAMETERS_15 PARAMETERS_14, const void *a15
#define PARAMETERS_16 PARAMETERS_15, const void *a16
#define PARAMETERS_17 PARAMETERS_16, const void *a17
#define PARAMETERS_18 PARAMETERS_17, const void *a18
#define PARAMETERS_19 PARAMETERS_18, const void *a19
#define PARAMETERS_20 PARAMETERS_19, const void *a20
#define PARAMETERS_21 PARAMETERS_20, const void *a21
#define PARAMETERS_22 PARAMETERS_21, const void *a22
#define PARAMETERS_23 PARAMETERS_22, const void *a23
#define PARAMETERS_24 PARAMETERS_23, const void *a24
#define PARAMETERS_25 PARAMETERS_24, const void *a25
#define PARAMETERS_26 PARAMETERS_25, const void *a26
#define PARAMETERS_27 PARAMETERS_26, const void *a27
#define PARAMETERS_28 PARAMETERS_27, const void *a28
#define PARAMETERS_29 PARAMETERS_28, const void *a29
#define VALUES_1 a1
#define VALUES_2 VALUES_1, a2
#define VALUES_3 VALUES_2, a3
#define VALUES_4 VALUES_3, a4
#define VALUES_5 VALUES_4, a5
#define VALUES_6 VALUES_5, a6
#define VALUES_7 VALUES_6, a7
#define VALUES_8 VALUES_7, a8
#define VALUES_9 VALUES_8, a9
#define VALUES_10 VALUES_9, a10
#define VALUES_11 VALUES_10, a11
#define VALUES_12 VALUES_11, a12
#define VALUES_13 VALUES_12, a13
#define VALUES_14 VALUES_13, a14
#define VALUES_15 VALUES_14, a15
#define VALUES_16 VALUES_15, a16
#define VALUES_17 VALUES_16, a17
#define VALUES_18 VALUES_17, a18
#define VALUES_19 VALUES_18, a19
#define VALUES_20 VALUES_19, a20
#define VALUES_21 VALUES_20, a21
#define VALUES_22 VALUES_21, a22
#define VALUES_23 VALUES_22, a23
#define VALUES_24 VALUES_23, a24
#define VALUES_25 VALUES_24, a25
#define VALUES_26 VALUES_25, a26
#define VALUES_27 VALUES_26, a27
#define VALUES_28 VALUES_27, a28
#define VALUES_29 VALUES_28, a29
#define LENGTHS_0
#define LENGTHS_1 LENGTHS_0, (size_t)1
#define LENGTHS_2 LENGTHS_1, (size_t)1
#define LENGTHS_3 LENGTHS_2, (size_t)1
#define LENGTHS_4 LENGTHS_3, (size_t)1
#define LENGTHS_5 LENGTHS_4, (size_t)1
#define LENGTHS_6 LENGTHS_5, (size_t)1

#define NAME_ENTRY(FUNCTION, ROUTINE, DTYPE) \
    HS__ENTRY(FUNCTION, ROUTINE, DTYPE, BITS, HS__TEXT_OF(NAME(isamax)), HS__TEXT_OF(NAME(ilaver)))

/* A function that is passed through. */
#define DEFINE(P, ROUTINE, DTYPE, ARGUMENTS, CHARACTERS, M, N)                       \
    HS__BLAS void NAME(P##ROUTINE)(PARAMETERS_##ARGUMENTS)                           \
    {                                                                                \
        NAME_ENTRY(NAME(P##ROUTINE), HS__DRIVER_##ROUTINE, DTYPE);                   \
        hs__guard guard = {0};                                                       \
        govern_driver(&guard, entry, wide, a##M, a##N);                              \
        ((lapack_function *)entry->behind)(VALUES_##ARGUMENTS LENGTHS_##CHARACTERS); \
        hs__release(&guard);                                                         \
    }
#define DEFINE_REAL(ROUTINE, ARGUMENTS, CHARACTERS, M, N)       \
    DEFINE(s, ROUTINE, HS_FLOAT32, ARGUMENTS, CHARACTERS, M, N) \
    DEFINE(d, ROUTINE, HS_FLOAT64, ARGUMENTS, CHARACTERS, M, N)
#define DEFINE_COMPLEX(ROUTINE, ARGUMENTS, CHARACTERS, M, N)      \
    DEFINE(c, ROUTINE, HS_COMPLEX64, ARGUMENTS, CHARACTERS, M, N) \
    DEFINE(z, ROUTINE, HS_COMPLEX128, ARGUMENTS, CHARACTERS, M, N)
#define DEFINE_ALL(ROUTINE, REAL_ARGUMENTS, COMPLEX_ARGUMENTS, CHARACTERS, M, N) \
    DEFINE_REAL(ROUTINE, REAL_ARGUMENTS, CHARACTERS, M, N)                       \
    DEFINE_COMPLEX(ROUTINE, COMPLEX_ARGUMENTS, CHARACTERS, M, N)

/* A function that the engine computes if it can. Then the library behind is asked for the size of
 * the workspace: it sets the first elements of all workspaces, and info to 0. */
#define TAKE(P, ROUTINE, NUMBER, DTYPE, ARGUMENTS, CHARACTERS, M, N, LWORK)          \
    HS__BLAS void NAME(P##ROUTINE)(PARAMETERS_##ARGUMENTS)                           \
    {                                                                                \
        NAME_ENTRY(NAME(P##ROUTINE), HS__##NUMBER, DTYPE);                           \
        hs__guard guard = {0};                                                       \
        if (hs__take_spectral(entry, (const void *const[]){VALUES_##ARGUMENTS}))     \
            a##LWORK = &query;                                                       \
        else govern_driver(&guard, entry, wide, a##M, a##N);                         \
        ((lapack_function *)entry->behind)(VALUES_##ARGUMENTS LENGTHS_##CHARACTERS); \
        hs__release(&guard);                                                         \
    }
#define TAKE_REAL(ROUTINE, NUMBER, ARGUMENTS, CHARACTERS, M, N, LWORK)       \
    TAKE(s, ROUTINE, NUMBER, HS_FLOAT32, ARGUMENTS, CHARACTERS, M, N, LWORK) \
    TAKE(d, ROUTINE, NUMBER, HS_FLOAT64, ARGUMENTS, CHARACTERS, M, N, LWORK)
#define TAKE_COMPLEX(ROUTINE, NUMBER, ARGUMENTS, CHARACTERS, M, N, LWORK)      \
    TAKE(c, ROUTINE, NUMBER, HS_COMPLEX64, ARGUMENTS, CHARACTERS, M, N, LWORK) \
    TAKE(z, ROUTINE, NUMBER, HS_COMPLEX128, ARGUMENTS, CHARACTERS, M, N, LWORK)
#define TAKE_ALL(ROUTINE, NUMBER, REAL_ARGUMENTS, COMPLEX_ARGUMENTS, CHARACTERS, M, N, LWORK) \
    TAKE_REAL(ROUTINE, NUMBER, REAL_ARGUMENTS, CHARACTERS, M, N, LWORK)                       \
    TAKE_COMPLEX(ROUTINE, NUMBER, COMPLEX_ARGUMENTS, CHARACTERS, M, N, LWORK)

#define FOR_EACH_FUNCTION                           \
    HS__SPECTRAL(TAKE_REAL, TAKE_COMPLEX, TAKE_ALL) \
    HS__DRIVERS(DEFINE_REAL, DEFINE_COMPLEX, DEFINE_ALL)

#define NAME(x) x##_
#define BITS 0
FOR_EACH_FUNCTION
#undef NAME
#undef BITS

#define NAME(x) x##_64_
#define BITS 64
FOR_EACH_FUNCTION
#undef NAME
#undef BITS

#define NAME(x) scipy_##x##_
#define BITS 32
FOR_EACH_FUNCTION
#undef NAME
#undef BITS

#define NAME(x) scipy_##x##_64_
#define BITS 64
FOR_EACH_FUNCTION
#undef NAME
#undef BITS
