/* Who does a worker's part of a job: which thread, a helper of the pool or the caller, and whether that thread has a core. */
#ifndef HS_THREADS_MIGRATE_H
#define HS_THREADS_MIGRATE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* Whether that succeeded: a core that is gone meanwhile, or that another mask forbids, leaves the thread where it was. */
int hs__pin(pthread_t thread, int32_t core);

/* Where a thread belongs that has been moved. */
typedef struct hs__home {
    int away;
#if defined(__linux__)
    cpu_set_t cpus;
#endif
} hs__home;

typedef struct hs__placement {
    atomic_int taken;
    atomic_flag watched; /* a lock of what follows */
    pthread_t thread;
    double last;       /* when it was looked at */
    double since, had; /* since when without a gap, and its CPU time then; of one that is away, when it came */
    hs__home home;
} hs__placement;

/* The calling thread begins and ends its part of a job. */
void hs__placement_take(hs__placement *placement);
hs__home hs__placement_leave(hs__placement *placement);

/* It goes back, which takes as long as another program keeps that core: nobody should wait for it any more. */
void hs__go_home(const hs__home *home);

/* Looked at every few milliseconds at least: if its thread has hardly had a core for 10 ms, which is more than the turn of another
 * program under a fair scheduler, it is moved to that of the calling thread, for a tenth of a second. Returns whether it is there.
 * After a gap, in which the calling thread may have been stopped too, this begins anew. */
int hs__placement_watch(hs__placement *placement);

#endif
