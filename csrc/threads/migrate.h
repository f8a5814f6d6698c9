/* Who does a worker's part of a job: which thread, a helper of the pool or the caller, and whether
 * that thread has a core. */
#ifndef HS_THREADS_MIGRATE_H
#define HS_THREADS_MIGRATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "threads/cpus.h"

typedef struct hs__placement {
    atomic_int taken;
    atomic_flag watched; /* a lock of what follows */
    pthread_t thread;
    pid_t tid;
    double last;       /* when it was looked at */
    double since, had; /* since when, and its CPU time then */
    hs__cpus home;     /* where the thread belongs, if it has been moved; else none */
} hs__placement;

/* The calling thread begins its part of a job. */
void hs__placement_take(hs__placement *placement);

/* It ends it, and takes its home along: it has to go there. */
hs__cpus hs__placement_leave(hs__placement *placement);

/* It goes back, which takes as long as another program keeps that core: nobody should wait for it
 * any more. A thread whose mask something else has changed meanwhile (`taskset -p`) keeps that
 * mask.
 * home is freed. */
void hs__go_home(hs__cpus home);

/* Looked at again and again by a thread with nothing to do but wait, whose own placement is `own`,
 * or NULL if that is over. If the thread of the first one could run but has hardly had a core for a
 * tenth of a millisecond, for another program has its turn there, the two change places: who waits
 * for that core holds nothing that others need. Without `own` the thread comes and the caller
 * stays. Returns whether the thread is on the caller's core now, so that the caller should sleep.
 * After a gap between looks, in which the calling thread may have been stopped too, this begins
 * anew. Each is back where it was when it leaves its placement and goes home. */
int hs__placement_watch(hs__placement *placement, hs__placement *own);

#endif
