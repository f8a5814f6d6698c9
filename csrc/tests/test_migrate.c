/* Placements of a job: a preempted thread exchanges cores with a thread that waits for it, and both
 * return afterwards. */
#define _GNU_SOURCE
#include "threads/migrate.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

#if defined(__linux__)

static void sleep_for(double seconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

/* A thread that works on a core (-1: any), or sleeps as long as `asleep` is locked. */
typedef struct {
    hs__placement placement;
    int core, sleeps, failed;
    pthread_mutex_t asleep;
    atomic_int stage; /* 1: at work, 2: told to end */
    cpu_set_t before, after;
} place;

#if defined(HS_TEST_SCARCE)
/* smaller sets are refused, as by a system with many cpus */
static size_t room;

int __real_pthread_getaffinity_np(pthread_t, size_t, cpu_set_t *);
int __wrap_pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set)
{
    return bytes < room ? EINVAL : __real_pthread_getaffinity_np(thread, bytes, set);
}
static int cpus_of(pthread_t thread, cpu_set_t *cpus)
{
    return __real_pthread_getaffinity_np(thread, sizeof *cpus, cpus) == 0;
}
#else
static int cpus_of(pthread_t thread, cpu_set_t *cpus)
{
    return pthread_getaffinity_np(thread, sizeof *cpus, cpus) == 0;
}
#endif

static int is_only(pthread_t thread, int core)
{
    cpu_set_t cpus;
    return cpus_of(thread, &cpus) && CPU_COUNT(&cpus) == 1 && CPU_ISSET(core, &cpus);
}

static void *run_worker(void *context)
{
    place *x = context;
    x->failed =
        (x->core >= 0 && !hs__pin(pthread_self(), x->core)) || !cpus_of(pthread_self(), &x->before);
    hs__placement_begin(&x->placement);
    atomic_store(&x->stage, 1);
    if (x->sleeps) {
        pthread_mutex_lock(&x->asleep);
        pthread_mutex_unlock(&x->asleep);
    }
    while (atomic_load(&x->stage) == 1) {}
    hs__go_home(hs__placement_end(&x->placement));
    x->failed |= !cpus_of(pthread_self(), &x->after);
    return NULL;
}

static pthread_t begin_thread(place *x, int core, int sleeps)
{
    pthread_t thread;
    *x = (place){.core = core, .sleeps = sleeps};
    pthread_mutex_init(&x->asleep, NULL);
    if (sleeps) pthread_mutex_lock(&x->asleep);
    CHECK(!hs__placement_watch(&x->placement, NULL)); /* no thread has taken it */
    CHECK(pthread_create(&thread, NULL, run_worker, x) == 0);
    while (!atomic_load(&x->stage)) sleep_for(1e-4);
    return thread;
}

static void end_thread(place *x, pthread_t thread)
{
    atomic_store(&x->stage, 2);
    if (x->sleeps) pthread_mutex_unlock(&x->asleep);
    pthread_join(thread, NULL);
    CHECK(!x->failed && CPU_EQUAL(&x->before, &x->after));
    CHECK(!x->placement.home.set && !hs__placement_watch(&x->placement, NULL));
    pthread_mutex_destroy(&x->asleep);
}

/* A sleeping thread is left where it is, because it may be woken there. */
static void sleeper(void)
{
    place x;
    cpu_set_t now;
    const pthread_t thread = begin_thread(&x, -1, 1);
    sleep_for(5e-3);
    for (int i = 0; i < 50; i++) {
        CHECK(!hs__placement_watch(&x.placement, NULL));
        sleep_for(1e-3);
    }
    CHECK(cpus_of(thread, &now) && CPU_EQUAL(&now, &x.before));
    end_thread(&x, thread);
}

/* A thread that is not preempted may be moved or not on a busy machine. In any case it returns. */
static void free_one(void)
{
    place x;
    const pthread_t thread = begin_thread(&x, -1, 0);
    for (int i = 0; i < 100; i++) {
        hs__placement_watch(&x.placement, NULL);
        sleep_for(2e-4);
    }
    end_thread(&x, thread);
}

/* Looks that are far apart prove nothing: the calling thread may have been stopped as well. */
static void gaps(int there)
{
    place x, other;
    const pthread_t busy = begin_thread(&other, there, 0);
    const pthread_t thread = begin_thread(&x, there, 0);
    for (int i = 0; i < 5; i++) {
        CHECK(!hs__placement_watch(&x.placement, NULL));
        sleep_for(12e-3);
    }
    CHECK(is_only(thread, there));
    end_thread(&x, thread);
    end_thread(&other, busy);
}

/* Two threads share one core. A thread with another core waits for one of them. */
static void crowded(int here, int there, int at_work)
{
    place x, other;
    cpu_set_t before;
    hs__placement own = {0};
    CHECK(cpus_of(pthread_self(), &before) && hs__pin(pthread_self(), here));
    const pthread_t busy = begin_thread(&other, there, 0);
    const pthread_t thread = begin_thread(&x, there, 0);
    if (at_work) hs__placement_begin(&own);
    int guest = 0;
    int looks = 0;
    for (; looks < 100000 && !x.placement.home.set; looks++) {
        guest = hs__placement_watch(&x.placement, at_work ? &own : NULL);
        sleep_for(2e-5);
    }
    CHECK(x.placement.home.set && is_only(thread, here));
    CHECK(guest == !at_work && !own.home.set == !at_work &&
          is_only(pthread_self(), at_work ? there : here));
    if (at_work) {
        hs__go_home(hs__placement_end(&own));
    }
    CHECK(is_only(pthread_self(), here));
    end_thread(&x, thread);
    end_thread(&other, busy);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof before, &before) == 0);
}

/* A thread is moved, and then something else changes its mask: it keeps that mask. */
static void changed_meanwhile(int here, int there)
{
    place x, other;
    cpu_set_t before, wanted;
    CHECK(cpus_of(pthread_self(), &before) && hs__pin(pthread_self(), here));
    const pthread_t busy = begin_thread(&other, there, 0);
    const pthread_t thread = begin_thread(&x, there, 0);
    for (int looks = 0; looks < 100000 && !x.placement.home.set; looks++) {
        hs__placement_watch(&x.placement, NULL);
        sleep_for(2e-5);
    }
    CHECK(x.placement.home.set && is_only(thread, here));
    CPU_ZERO(&wanted);
    CPU_SET(here, &wanted);
    CPU_SET(there, &wanted);
    CHECK(pthread_setaffinity_np(thread, sizeof wanted, &wanted) == 0);
    atomic_store(&x.stage, 2);
    pthread_join(thread, NULL);
    CHECK(!x.failed && CPU_EQUAL(&wanted, &x.after));
    pthread_mutex_destroy(&x.asleep);
    end_thread(&other, busy);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof before, &before) == 0);
}

#if defined(HS_TEST_SCARCE)
/* A thread stays where it is if there is no memory for its home. */
static void scarce(int here, int there)
{
    place x, other;
    cpu_set_t before;
    CHECK(cpus_of(pthread_self(), &before) && hs__pin(pthread_self(), here));
    const pthread_t busy = begin_thread(&other, there, 0);
    const pthread_t thread = begin_thread(&x, there, 0);
    size_t asked = 0;
    scarce_asked();
    scarce_left = 0;
    for (int looks = 0; looks < 100000 && !asked; looks++, asked = scarce_asked()) {
        CHECK(!hs__placement_watch(&x.placement, NULL));
        sleep_for(2e-5);
    }
    scarce_left = -1;
    CHECK(asked && is_only(thread, there) && is_only(pthread_self(), here));
    end_thread(&x, thread);
    end_thread(&other, busy);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof before, &before) == 0);
}
#endif

int main(void)
{
    int cores[2];
    int count = 0;
    cpu_set_t cpus;
    CHECK(cpus_of(pthread_self(), &cpus));
    for (int core = 0; core < CPU_SETSIZE && count < 2; core++)
        if (CPU_ISSET(core, &cpus)) cores[count++] = core;
    sleeper();
    free_one();
    if (count) gaps(cores[0]);
    if (count == 2) {
        crowded(cores[1], cores[0], 0);
        crowded(cores[1], cores[0], 1);
    }
    if (count == 2) changed_meanwhile(cores[1], cores[0]);
#if defined(HS_TEST_SCARCE)
    if (count == 2) scarce(cores[1], cores[0]);
    room = CPU_ALLOC_SIZE(65536);
    if (count == 2) crowded(cores[1], cores[0], 1);
#endif
    return check_result();
}

#else

int main(void)
{
    hs__placement placement = {0};
    hs__placement_begin(&placement);
    for (int i = 0; i < 2; i++) CHECK(!hs__placement_watch(&placement, NULL));
    hs__go_home(hs__placement_end(&placement));
    return check_result();
}

#endif
