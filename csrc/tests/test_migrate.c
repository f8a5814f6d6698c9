/* Placements of a job: a thread that has no core comes to the one that waits for it, and goes back; one that has a core is left alone. */
#define _GNU_SOURCE
#include "threads/migrate.h"

#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

static void nap(double seconds) { nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL); }

typedef struct {
    hs__placement placement;
    int computes; /* else it sleeps, as one whose core is another program's */
    int stage;    /* atomic: 1 at work, 2 told to end */
    int64_t turns;
} place;

static void *worker(void *context)
{
    place *x = context;
    hs__placement_take(&x->placement);
    __atomic_store_n(&x->stage, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&x->stage, __ATOMIC_ACQUIRE) == 1) {
        if (!x->computes) nap(1e-3);
        x->turns++;
    }
    const hs__home home = hs__placement_leave(&x->placement);
    hs__go_home(&home);
    return NULL;
}

/* Whether it was moved within some looks, the first of which only begins to watch. */
static int watched(place *x, int looks)
{
    int moved = 0;
    for (int i = 0; i < looks && !moved; i++) {
        moved = hs__placement_watch(&x->placement);
        if (i == 0) CHECK(!moved);
        nap(1e-3);
    }
    return moved;
}

#if defined(__linux__)

static int cpus_of(pthread_t thread, cpu_set_t *cpus) { return pthread_getaffinity_np(thread, sizeof *cpus, cpus) == 0; }

static void one_case(int computes)
{
    place x = {.computes = computes};
    pthread_t thread;
    cpu_set_t before, now, here;
    CHECK(!hs__placement_watch(&x.placement)); /* nobody's */
    if (!CHECK(pthread_create(&thread, NULL, worker, &x) == 0)) return;
    while (!__atomic_load_n(&x.stage, __ATOMIC_ACQUIRE)) nap(1e-4);
    CHECK(cpus_of(thread, &before));

    /* On a busy machine naps leave gaps, hence the number of looks at the one without a core. */
    const int moved = watched(&x, computes ? 30 : 1000);
    if (!computes) CHECK(moved);
    CHECK(cpus_of(thread, &now));
    if (moved) {
        CPU_ZERO(&here);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &now)) CPU_SET(cpu, &here);
        CHECK(CPU_COUNT(&here) == 1);
        CHECK(hs__placement_watch(&x.placement)); /* still away */
    } else CHECK(CPU_EQUAL(&before, &now));

    __atomic_store_n(&x.stage, 2, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(x.placement.home.away == 0 && !hs__placement_watch(&x.placement));
}

/* Looks that are far apart say nothing: the calling thread may have been stopped as well. */
static void gaps(void)
{
    place x = {0};
    pthread_t thread;
    if (!CHECK(pthread_create(&thread, NULL, worker, &x) == 0)) return;
    while (!__atomic_load_n(&x.stage, __ATOMIC_ACQUIRE)) nap(1e-4);
    for (int i = 0; i < 5; i++) CHECK(!hs__placement_watch(&x.placement)), nap(12e-3);
    __atomic_store_n(&x.stage, 2, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* The calling thread comes back to the cpus that it had. */
static void *rescuer(void *context)
{
    place *x = context;
    for (int i = 0; i < 1000 && !hs__placement_watch(&x->placement); i++) nap(1e-3);
    __atomic_store_n(&x->stage, 2, __ATOMIC_RELEASE);
    return NULL;
}

static void home(void)
{
    place x = {0};
    pthread_t thread;
    cpu_set_t before, after;
    CHECK(cpus_of(pthread_self(), &before));
    if (!CHECK(pthread_create(&thread, NULL, rescuer, &x) == 0)) return;
    worker(&x);
    CHECK(cpus_of(pthread_self(), &after));
    CHECK(CPU_EQUAL(&before, &after));
    pthread_join(thread, NULL);
}

#if defined(HS_TEST_SCARCE) && defined(__GLIBC__)
cpu_set_t *__wrap___sched_cpualloc(size_t count) /* of CPU_ALLOC */
{
    return malloc(CPU_ALLOC_SIZE(count));
}

/* A thread that cannot be pinned stays where it was. */
static void scarce(void)
{
    cpu_set_t before, after;
    CHECK(cpus_of(pthread_self(), &before));
    scarce_left = 0;
    CHECK(!hs__pin(pthread_self(), 0));
    scarce_left = -1;
    CHECK(cpus_of(pthread_self(), &after) && CPU_EQUAL(&before, &after));
}
#else
static void scarce(void) {}
#endif

int main(void)
{
    scarce();
    one_case(0);
    one_case(1);
    gaps();
    home();
    return check_result();
}

#else

int main(void)
{
    place x = {0};
    hs__placement_take(&x.placement);
    CHECK(!watched(&x, 2));
    const hs__home home = hs__placement_leave(&x.placement);
    hs__go_home(&home);
    return check_result();
}

#endif
