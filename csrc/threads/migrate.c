#define _GNU_SOURCE
#include "threads/migrate.h"

#include <math.h>
#include <time.h>

#include "hetsched/status.h"
#include "threads/wait.h"

int hs__pin(pthread_t thread, int32_t core)
{
#if defined(__linux__)
    cpu_set_t *set = CPU_ALLOC(core + 1);
    if (!set) return 0;
    size_t bytes = CPU_ALLOC_SIZE(core + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(core, bytes, set);
    const int refused = pthread_setaffinity_np(thread, bytes, set);
    CPU_FREE(set);
    return !refused;
#else
    (void)thread, (void)core;
    return 0;
#endif
}

static int try_watch(hs__placement *s) { return !atomic_flag_test_and_set_explicit(&s->watched, memory_order_acquire); }
static void end_watch(hs__placement *s) { atomic_flag_clear_explicit(&s->watched, memory_order_release); }

static void await_watch(hs__placement *s)
{
    for (unsigned rounds = 0; !try_watch(s);) hs__relax(&rounds);
}

void hs__placement_take(hs__placement *s)
{
    await_watch(s);
    s->thread = pthread_self();
    s->last = 0.0;
    atomic_store_explicit(&s->taken, 1, memory_order_relaxed);
    end_watch(s);
}

hs__home hs__placement_leave(hs__placement *s)
{
    await_watch(s);
    atomic_store_explicit(&s->taken, 0, memory_order_relaxed);
    const hs__home home = s->home;
    s->home.away = 0;
    end_watch(s);
    return home;
}

#if defined(__linux__)

void hs__go_home(const hs__home *home)
{
    if (home->away) pthread_setaffinity_np(pthread_self(), sizeof home->cpus, &home->cpus);
}

static double cpu_time(pthread_t thread)
{
    clockid_t clock;
    struct timespec now;
    if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &now)) return INFINITY;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void move_here(hs__placement *s)
{
    const int core = sched_getcpu();
    if (core >= 0 && !pthread_getaffinity_np(s->thread, sizeof s->home.cpus, &s->home.cpus)) s->home.away = hs__pin(s->thread, core);
}

int hs__placement_watch(hs__placement *s)
{
    static const double enough = 10e-3, gap = 5e-3, visit = 0.1, least = 0.1; /* of the core */
    if (!atomic_load_explicit(&s->taken, memory_order_relaxed) || !try_watch(s)) return 0;
    const int taken = atomic_load_explicit(&s->taken, memory_order_relaxed);
    const double now = hs_clock(), passed = now - s->since;
    const int anew = now - s->last > gap;
    if (taken && s->home.away) {
        if (passed > visit && !pthread_setaffinity_np(s->thread, sizeof s->home.cpus, &s->home.cpus)) s->home.away = 0;
    } else if (taken && (anew || passed > enough)) {
        const double had = cpu_time(s->thread);
        if (!anew && had - s->had < least * passed) move_here(s);
        s->since = now, s->had = had;
    }
    s->last = now;
    const int away = s->home.away;
    end_watch(s);
    return away;
}

#else

void hs__go_home(const hs__home *home) { (void)home; }
int hs__placement_watch(hs__placement *s) { return (void)s, 0; }

#endif
