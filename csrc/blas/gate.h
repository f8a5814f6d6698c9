/* The gate decides which calls the engine computes. All other calls go to the library behind. */
#ifndef HS_BLAS_GATE_H
#define HS_BLAS_GATE_H

#include "blas/entry.h"

/* Calls with fewer multiply-adds go to the library behind; infinite if the engine is switched off.
 * The program may set the numbers at any time, while other threads call; each number stands for
 * itself, so relaxed order is enough.
 *   shared  for calls that may use several threads
 *   alone   for calls that may use one thread, which the engine computes on the calling thread
 *   either  the smaller of the two */
typedef struct hs__least {
    _Atomic double either, shared, alone;
} hs__least;
extern hs__least hs__least_volumes[HS__ROUTINES][4];
/* Non-zero if calls are counted for a report, or explained. */
extern int hs__counting;
/* The largest number of workers after the system has refused to start more threads;
 * HS__MOST_WORKERS or more if it has not refused. Written by the thread that has the gate, with
 * relaxed order. */
extern _Atomic int32_t hs__startable;

/* Where a call went, and why. */
typedef enum hs__fate {
    HS__TAKEN,
    HS__SMALL,      /* too small to be shared */
    HS__ONE_THREAD, /* one thread is to compute the call, and the engine's would not be faster */
    HS__BUSY,       /* a call of this thread runs, interrupted by a signal; or the gate is stuck */
    HS__PARALLEL,   /* in a parallel region of OpenMP */
    HS__REFUSED,    /* unusual arguments, integers of unknown width, no memory, no threads */
    HS__FATES
} hs__fate;

/* Count a call (record.h) and explain it (explain.h), as the settings ask for.
 *   fate        any but HS__TAKEN
 *   start       hs_clock when the call began
 *   lost_cores  mean number of cores that other programs had meanwhile */
void hs__count_call(const hs__entry *entry, hs__fate fate, double volume);
void hs__count_taken(const hs__entry *entry, double volume, int32_t workers, double start,
                     double lost_cores);

/* Counts a call that goes to the library behind, governed: with so many threads; 0: not known.
 * hs__time_governed adds its time when it has ended. */
void hs__count_governed(const hs__entry *entry, int threads);
void hs__time_governed(const hs__entry *entry, double start);

/* First check, at no cost: returns whether a call with so many multiply-adds can be large
 * enough. */
static inline int hs__is_large(const hs__entry *entry, double volume)
{
    const hs__least *least = &hs__least_volumes[entry->routine][entry->dtype];
    if (volume >= atomic_load_explicit(&least->either, memory_order_relaxed)) return 1;
    if (__builtin_expect(hs__counting, 0)) hs__count_call(entry, HS__SMALL, volume);
    return 0;
}

/* A call that the engine computes. */
typedef struct hs__call {
    hs__entry *entry;
    struct hs__kept_pool *kept;
    int counted; /* among the callers (govern.h) */
    hs_pool *pool;
    const double *speeds; /* of the pool's workers, or NULL */
    double volume, start;
    double shared, alone; /* the multiply-adds that decide; see below */
} hs__call;

/* Second check: whether the call is large enough for its number of workers. Finds the pool for a
 * call, which other threads may use at the same time, and keeps it until hs__end_call.
 * hs__begin_call returns 0 if the call must go to the library behind. hs__end_call returns whether
 * the call is done. */
int hs__begin_call(hs__call *call, hs__entry *entry, double volume);
/* The same for a call whose shape suits the engine less than the measured shape does.
 *   shared  multiply-adds that decide about the call on several threads, in the place of volume
 *   alone   the same for one thread; below 0: it needs several workers, because one would be slower
 *           than the library behind, whatever the size */
int hs__begin_shaped_call(hs__call *call, hs__entry *entry, double volume, double shared,
                          double alone);
int hs__end_call(hs__call *call, hs_status status);

/* Counts a call with arguments that the engine does not support; returns 0. */
int hs__refuse_call(hs__entry *entry, double volume);

#endif
