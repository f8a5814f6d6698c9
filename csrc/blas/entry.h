/* The names that this library exports, and the function behind each of them for each caller.
 *
 * A process may have several BLAS libraries. For example, two modules bring one each, one with
 * 32-bit and one with 64-bit integers, and both have a dgemm_. The calls of both modules come to
 * us. So the function behind a name is found for each object (program or shared library) that calls
 * it, at the object's first call, and kept in an hs__entry. */
#ifndef HS_BLAS_ENTRY_H
#define HS_BLAS_ENTRY_H

#include <stdatomic.h>
#include <stdint.h>

#include "hetsched.h"

/* Routines. The calls of a routine are counted together and share a least size. */
typedef enum hs__routine {
    HS__GEMM,
    HS__SYRK,
    HS__TRSM,
    HS__GEMV,
    HS__GETRF,
    HS__GETRS,
    HS__GESV,
    HS__GETRI,
    HS__POTRF,
    HS__POTRS,
    HS__POSV,
    HS__TRTRS,
    HS__GEQRF,
    HS__ORGQR,
    HS__ORMQR,
    HS__GELS,
    HS__SYEV,
    HS__HEEV,
    HS__SYEVD,
    HS__HEEVD,
    HS__SYEVR,
    HS__HEEVR,
    HS__SYGV,
    HS__HEGV,
    HS__SYGVD,
    HS__HEGVD,
    HS__GESDD,
    HS__GESVD,
    HS__GELSD,
    HS__GELSS,
    HS__ROUTINES
} hs__routine;

typedef struct hs__entry hs__entry;

enum { HS__SITES = 8 };

/* One exported name. */
typedef struct hs__name {
    const char *text;
    /* Functions with the same prefix and suffix as the name. Their results show the width of the
     * library's integers. ilaver: NULL for names of C. */
    const char *isamax;
    const char *ilaver;
    int32_t routine; /* hs__routine, or the number of a driver (drivers.h) */
    int32_t dtype;   /* hs_dtype */
    int32_t bits;    /* of integers, as the prefix or suffix tells: 32 or 64; 0: plain name */
    _Atomic(hs__entry *) entries;      /* newest first; one for each calling object */
    _Atomic(hs__entry *) elsewhere;    /* for all callers outside of any object */
    atomic_uintptr_t sites[HS__SITES]; /* return addresses of some of these callers */
} hs__name;

/* A name as one object calls it. An entry never changes, except for `agreed`, and is never
 * freed. */
struct hs__entry {
    uintptr_t start; /* start of the caller's code */
    uintptr_t bytes; /* length of the caller's code */
    void *behind;    /* the function that the call is for */
    int32_t bits;    /* of the caller's integers, 32 or 64; 0: unknown, the engine takes no call */
    int32_t routine; /* of the name */
    int32_t dtype;   /* hs_dtype */
    /* the caller's own scope does not have the name, so `behind` may be another function than the
     * caller meant */
    int32_t guessed;
    struct hs__library *library; /* of the function; NULL: it cannot be asked for its threads */
    double governed;             /* multiply-adds from which its calls are governed (govern.h) */
    const hs__name *name;
    hs__entry *next;
    atomic_ullong agreed; /* number of loaded libraries when all with this name had these bits */
};

/* Slow path of hs__entry_for: for the first call from an object, and for callers in no object. */
hs__entry *hs__find_entry(hs__name *name, const void *site);

/* Returns the entry for the caller to which a function will return at `site`. If no library has the
 * name, the process ends, like a program that lacks a function at its start. */
static inline hs__entry *hs__entry_for(hs__name *name, const void *site)
{
    hs__entry *entry = atomic_load_explicit(&name->entries, memory_order_acquire);
    for (; entry; entry = entry->next)
        if ((uintptr_t)site - entry->start < entry->bytes) return entry;
    return hs__find_entry(name, site);
}

/* Returns whether the width of the caller's integers is known. */
int hs__is_certain(hs__entry *entry);

/* Keeps the library that contains the address loaded, even if the program closes it. */
void hs__keep_loaded(const void *address);

/* Calls visit with each loaded library until it returns non-zero. No lock of the loader is held
 * during visit: with it, this thread and another one that loads a library could wait for each
 * other. */
void hs__each_object(int (*visit)(void *handle, void *context), void *context);

/* Returns how many libraries have been loaded since the process began. A larger number than before
 * means that there may be a new library. */
unsigned long long hs__load_count(void);

#endif
