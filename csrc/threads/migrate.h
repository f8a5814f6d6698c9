/* Preemption and rescue: which thread does a worker's part of a job (a helper of the pool or the
 * caller), whether that thread has a core, and the exchange of cores between a preempted thread and
 * a waiting one. */
#ifndef HS_THREADS_MIGRATE_H
#define HS_THREADS_MIGRATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "threads/cpus.h"

typedef struct hs__placement {
    atomic_int taken;
    atomic_flag watched; /* lock of the members below */
    pthread_t thread;
    pid_t tid;
    double last;       /* time of the last look */
    double since, had; /* start of the measurement, and CPU time at that moment */
    hs__cpus home;     /* affinity mask to restore if the thread has been moved; else none */
} hs__placement;

/* Marks that the calling thread begins its part of a job. */
void hs__placement_begin(hs__placement *placement);

/* Marks that the calling thread ends its part. Returns its home, which it must pass to
 * hs__go_home. */
hs__cpus hs__placement_end(hs__placement *placement);

/* Moves the calling thread back to its home and frees home. This takes as long as another program
 * keeps that core, so no thread should wait for the calling one any more. If something else has
 * changed the thread's mask meanwhile (`taskset -p`), the thread keeps the new mask. */
void hs__go_home(hs__cpus home);

/* Checks whether the thread of a placement is preempted and moves it if so. It is called repeatedly
 * by a thread that has nothing to do but wait.
 *
 * If the watched thread is runnable but has hardly had a core for a tenth of a millisecond, because
 * another program has its turn there, the two threads exchange cores. The thread that then waits
 * for the core holds nothing that the other workers need. After a gap between looks, in which the
 * calling thread may have been stopped too, the measurement starts again. Each thread returns to
 * its own core when it leaves its placement and goes home.
 *   own  placement of the calling thread, or NULL if its part is over: then the watched thread
 *        comes to the caller's core and the caller stays
 * Returns whether the watched thread is now on the caller's core, so that the caller should
 * sleep. */
int hs__placement_watch(hs__placement *placement, hs__placement *own);

#endif
