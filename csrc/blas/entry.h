/* A function of the BLAS or LAPACK that programs call by its name, and the one of that name behind us. */
#ifndef HS_BLAS_ENTRY_H
#define HS_BLAS_ENTRY_H

#include <stdatomic.h>
#include <stdint.h>

#include "hetsched.h"

/* What is counted, and has a least size, together. */
typedef enum hs__routine {
    HS__GEMM, HS__SYRK, HS__TRSM, HS__GEMV,
    HS__GETRF, HS__GETRS, HS__GESV, HS__GETRI, HS__POTRF, HS__POTRS, HS__POSV, HS__TRTRS, HS__GEQRF, HS__ORGQR, HS__ORMQR, HS__GELS,
    HS__ROUTINES
} hs__routine;

/* One for each exported name. What lies behind is found at its first call. */
typedef struct hs__entry {
    const char *name;
    int32_t routine, dtype; /* hs__routine, hs_dtype */
    _Atomic(void *) behind;
    _Atomic(int (*)(void)) threads; /* how many threads the library behind is to use; NULL: it has no such function */
    atomic_int doubtful;            /* nobody knows how wide its integers are: never ours */
} hs__entry;

/* The function behind; the process ends, as at the start of a program that lacks a function, if no library has one. */
void *hs__behind(hs__entry *entry);

/* The library that has the address stays loaded, though the program may be done with it. */
void hs__keep(const void *address);

/* Calls visit with each library that is loaded, until it returns non-zero; with no lock of the loader's held, under which another thread
 * that loads one, and this one, could wait for each other. */
void hs__each_object(int (*visit)(void *handle, void *context), void *context);

#endif
