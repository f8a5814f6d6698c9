/* Uses of the dynamic loader, and forks: one waits for the other. */
#include "blas/loader.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "hetsched.h"

enum { MOST_SECONDS = 1 };

static atomic_int inside;       /* threads */
static atomic_int forking;      /* threads */
static _Thread_local int depth; /* of the uses of this thread */
static _Thread_local int forks; /* of this thread: other handlers of its fork may call a BLAS */

/* Waits until at most so many threads are counted, or until the time. */
static void wait_for(const atomic_int *threads, int most, double until)
{
    while (atomic_load(threads) > most && hs_clock() < until) sched_yield();
}

/* Waits outside until no thread forks, or for a second. Another fork may begin before this thread
 * is inside again, and is waited for, too. */
static void step_aside(void)
{
    const double until = hs_clock() + MOST_SECONDS;
    do {
        atomic_fetch_sub(&inside, 1);
        wait_for(&forking, 0, until);
        atomic_fetch_add(&inside, 1);
    } while (atomic_load(&forking) && hs_clock() < until);
}

void hs__enter_loader(void)
{
    if (!depth) {
        atomic_fetch_add(&inside, 1);
        if (atomic_load(&forking) && !forks) step_aside();
    }
    depth++;
}

void hs__leave_loader(void)
{
    if (--depth == 0) atomic_fetch_sub(&inside, 1);
}

static void before_fork(void)
{
    forks++;
    atomic_fetch_add(&forking, 1);
    wait_for(&inside, depth > 0, hs_clock() + MOST_SECONDS);
}

static void in_parent(void)
{
    forks--;
    atomic_fetch_sub(&forking, 1);
}

static void in_child(void)
{
    forks = 0;
    atomic_store(&forking, 0);
    atomic_store(&inside, depth > 0);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}
