#define _GNU_SOURCE
#include "threads/migrate.h"

#include <math.h>
#include <time.h>

#include "threads/pool.h"

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

static int try_watch(hs__seat *s) { return !__atomic_exchange_n(&s->watched, 1, __ATOMIC_ACQUIRE); }
static void end_watch(hs__seat *s) { __atomic_store_n(&s->watched, 0, __ATOMIC_RELEASE); }

static void await_watch(hs__seat *s)
{
    for (unsigned rounds = 0; !try_watch(s);) hs__relax(&rounds);
}

void hs__seat_take(hs__seat *s)
{
    await_watch(s);
    s->thread = pthread_self();
    s->last = 0.0;
    __atomic_store_n(&s->taken, 1, __ATOMIC_RELAXED);
    end_watch(s);
}

hs__home hs__seat_leave(hs__seat *s)
{
    await_watch(s);
    __atomic_store_n(&s->taken, 0, __ATOMIC_RELAXED);
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

static void move_here(hs__seat *s)
{
    const int core = sched_getcpu();
    if (core >= 0 && !pthread_getaffinity_np(s->thread, sizeof s->home.cpus, &s->home.cpus)) s->home.away = hs__pin(s->thread, core);
}

int hs__seat_watch(hs__seat *s)
{
    static const double enough = 10e-3, gap = 5e-3, visit = 0.1, least = 0.1; /* of the core */
    if (!__atomic_load_n(&s->taken, __ATOMIC_RELAXED) || !try_watch(s)) return 0;
    const int taken = __atomic_load_n(&s->taken, __ATOMIC_RELAXED);
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
int hs__seat_watch(hs__seat *s) { return (void)s, 0; }

#endif
