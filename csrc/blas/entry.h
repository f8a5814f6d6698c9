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

/* What is counted, and has a least size, together. */
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
    HS__ROUTINES
} hs__routine;

typedef struct hs__entry hs__entry;

enum { HS__SITES = 8 };

/* One for each exported name. */
typedef struct hs__name {
    const char *text;
    const char *isamax; /* functions with the same prefix and suffix, of which the width of the */
    const char *ilaver; /* library's integers can be learnt; ilaver: NULL for names of C */
    int32_t routine;    /* hs__routine */
    int32_t dtype;      /* hs_dtype */
    int32_t bits;       /* of integers, as the prefix or suffix tells: 32 or 64; 0: a plain name */
    _Atomic(hs__entry *) entries;      /* newest first; of each calling object one */
    _Atomic(hs__entry *) elsewhere;    /* of all callers outside of any object */
    atomic_uintptr_t sites[HS__SITES]; /* return addresses of some of these callers */
} hs__name;

/* A name as one object calls it. Never changed, but for `agreed`, and never freed. */
struct hs__entry {
    uintptr_t start; /* the caller's code, from here on */
    uintptr_t bytes; /* this long */
    void *behind;    /* the function that the call is for */
    int32_t bits;    /* of its integers, 32 or 64; 0: not known, and the engine takes no call */
    int32_t routine; /* hs__routine */
    int32_t dtype;   /* hs_dtype */
    int32_t guessed; /* `behind` is not in the scope of the caller itself */
    int (*threads)(void); /* how many threads its library is to use; NULL: it cannot be asked */
    const hs__name *name;
    hs__entry *next;
    atomic_ullong agreed; /* libraries loaded so far when all with this name had these bits */
};

/* The slow part of hs__behind: for the first call of an object, and for callers in no object. */
hs__entry *hs__look_behind(hs__name *name, const void *site);

/* The entry for the caller that a function will return to at `site`. The process ends, as at the
 * start of a program that lacks a function, if no library has the name. */
static inline hs__entry *hs__behind(hs__name *name, const void *site)
{
    hs__entry *entry = atomic_load_explicit(&name->entries, memory_order_acquire);
    for (; entry; entry = entry->next)
        if ((uintptr_t)site - entry->start < entry->bytes) return entry;
    return hs__look_behind(name, site);
}

/* Whether the width of the integers that the caller passes is known. */
int hs__is_certain(hs__entry *entry);

/* The library that has the address stays loaded, though the program may be done with it. */
void hs__keep(const void *address);

/* Calls visit with each library that is loaded, until it returns non-zero; with no lock of the
 * loader's held, under which another thread that loads one, and this one, could wait for each
 * other. */
void hs__each_object(int (*visit)(void *handle, void *context), void *context);

/* How many libraries have been loaded since the process began: more than before, if there may be
 * another one. */
unsigned long long hs__loads(void);

#endif
