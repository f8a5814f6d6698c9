/* Uses of the dynamic loader, and forks: one waits for the other. */
#include "blas/loader.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "hetsched.h"

enum { MOST_SECONDS = 1 };

static atomic_int inside;  /* threads */
static atomic_int forking; /* threads */
static _Thread_local int depth;

/* Waits until a count is at most `most`, or for a second. */
static void await_count(atomic_int *count, int most)
{
    if (atomic_load(count) <= most) return;
    const double until = hs_clock() + MOST_SECONDS;
    while (atomic_load(count) > most && hs_clock() < until) sched_yield();
}

void hs__enter_loader(void)
{
    if (!depth) {
        atomic_fetch_add(&inside, 1);
        if (atomic_load(&forking)) {
            atomic_fetch_sub(&inside, 1);
            await_count(&forking, 0);
            atomic_fetch_add(&inside, 1);
        }
    }
    depth++;
}

void hs__leave_loader(void)
{
    if (--depth == 0) atomic_fetch_sub(&inside, 1);
}

static void before_fork(void)
{
    atomic_fetch_add(&forking, 1);
    await_count(&inside, depth > 0);
}

static void in_parent(void) { atomic_fetch_sub(&forking, 1); }

static void in_child(void)
{
    atomic_store(&forking, 0);
    atomic_store(&inside, depth > 0);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}
