/* Which calls are the engine's. */
#ifndef HS_BLAS_GATE_H
#define HS_BLAS_GATE_H

#include "blas/entry.h"

/* Calls with fewer multiply-adds are not looked at: [routine][dtype]; infinite where the engine is
 * switched off. */
extern double hs__least[HS__ROUTINES][4];
/* Whether calls are counted for a report at the end. */
extern int hs__counting;
/* Workers at most since the system has refused to start more threads; HS__MOST_WORKERS or more: it
 * has not. */
extern int32_t hs__startable;

/* Where a call went, and why. */
typedef enum hs__fate {
    HS__TAKEN,
    HS__SMALL,      /* too little to be shared */
    HS__ONE_THREAD, /* the library behind was told to use one, or there is one place for a worker */
    HS__BUSY,       /* another thread's call is running, or the same thread's that a signal has
                       interrupted */
    HS__PARALLEL,   /* in a parallel region of OpenMP */
    HS__REFUSED,    /* arguments that are not usual, integers of unknown width, no memory, or no
                       threads */
    HS__FATES
} hs__fate;

void hs__count(const hs__entry *entry, hs__fate fate, double volume, double seconds, double lost);

/* The first look, at no cost: whether a call of so many multiply-adds is large enough. */
static inline int hs__is_large(const hs__entry *entry, double volume)
{
    if (volume >= hs__least[entry->routine][entry->dtype]) return 1;
    if (__builtin_expect(hs__counting, 0)) hs__count(entry, HS__SMALL, volume, 0.0, 0.0);
    return 0;
}

/* A call that the engine has. */
typedef struct hs__turn {
    hs__entry *entry;
    hs_pool *pool;
    int32_t workers;      /* of the pool */
    const double *speeds; /* theirs, or NULL */
    double volume, start;
} hs__turn;

/* The second look: the engine's pool, for this thread alone until hs__leave, which says whether the
 * call is done. 0: it goes to the library behind. */
int hs__enter(hs__turn *turn, hs__entry *entry, double volume);
int hs__leave(hs__turn *turn, hs_status status);

/* Notes that the arguments are not the engine's; returns 0. */
int hs__refuse(hs__entry *entry, double volume);

#endif
