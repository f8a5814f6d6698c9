/* Detects a preempted worker by the CPU time that its thread gets, and moves it to the core of a
 * waiting thread (Linux only). */
#define _GNU_SOURCE
#include "threads/migrate.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "hetsched/status.h"
#include "threads/wait.h"

static int try_watch(hs__placement *placement)
{
    return !atomic_flag_test_and_set_explicit(&placement->watched, memory_order_acquire);
}
static void end_watch(hs__placement *placement)
{
    atomic_flag_clear_explicit(&placement->watched, memory_order_release);
}

static void await_watch(hs__placement *placement)
{
    for (unsigned rounds = 0; !try_watch(placement);) hs__relax(&rounds);
}

void hs__placement_begin(hs__placement *placement)
{
    await_watch(placement);
    placement->thread = pthread_self();
#if defined(__linux__)
    placement->tid = (pid_t)syscall(SYS_gettid);
#endif
    placement->last = 0.0;
    atomic_store_explicit(&placement->taken, 1, memory_order_relaxed);
    end_watch(placement);
}

hs__cpus hs__placement_end(hs__placement *placement)
{
    await_watch(placement);
    atomic_store_explicit(&placement->taken, 0, memory_order_relaxed);
    const hs__cpus home = placement->home;
    placement->home = (hs__cpus){0};
    end_watch(placement);
    return home;
}

#if defined(__linux__)

void hs__go_home(hs__cpus home)
{
    hs__cpus now = {0};
    const int known = home.set && hs__cpus_of(pthread_self(), &now);
    const int moved =
        !known || (hs__cpus_count(&now) == 1 && !hs__cpus_have(&home, sched_getcpu()));
    if (home.set && moved) hs__confine(pthread_self(), &home);
    free(now.set);
    free(home.set);
}

static double cpu_time(pthread_t thread)
{
    clockid_t clock;
    struct timespec now;
    if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &now)) return INFINITY;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the core of a thread that is running or runnable, else -1. It is field 39 of the thread's
 * stat file; field 2 is any text in brackets. */
static int core_of(pid_t tid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = 0;
    const char *at = strrchr(text, ')');
    if (!at || strncmp(at, ") R ", 4) != 0) return -1;
    at += 1;
    for (int field = 3; field < 39 && at; field++) at = strchr(at + 1, ' ');
    return at ? (int)strtol(at, NULL, 10) : -1;
}

static int save_home(hs__cpus *home, pthread_t thread)
{
    return home->set || hs__cpus_of(thread, home);
}

/* Moves a thread to a core. If the core is part of its home, the thread is free to leave it
 * again. */
static void move_thread(const hs__cpus *home, pthread_t thread, int core)
{
    if (hs__pin(thread, core) && hs__cpus_have(home, core)) hs__confine(thread, home);
}

/* Exchanges the cores of the watched thread and the caller. `placement` must be watched; the watch
 * ends here. While the calling thread waits for its new core, no thread waits for it. */
static int change_places(hs__placement *placement, hs__placement *own)
{
    const int here = sched_getcpu();
    const int there = core_of(placement->tid);
    int stays = there >= 0 && there == here;
    int moves =
        here >= 0 && there >= 0 && there != here && save_home(&placement->home, placement->thread);
    if (moves) move_thread(&placement->home, placement->thread, here);
    end_watch(placement);
    if (!moves) return stays;
    if (!own || !try_watch(own)) return 1;
    moves = save_home(&own->home, pthread_self());
    end_watch(own);
    if (moves) move_thread(&own->home, pthread_self(), there);
    return !moves;
}

int hs__placement_watch(hs__placement *placement, hs__placement *own)
{
    static const double enough = 0.1e-3, gap = 5e-3, least = 0.1; /* share of the core */
    if (!atomic_load_explicit(&placement->taken, memory_order_relaxed) || !try_watch(placement))
        return 0;
    const int taken = atomic_load_explicit(&placement->taken, memory_order_relaxed);
    const double now = hs_clock();
    const double passed = now - placement->since;
    const int anew = now - placement->last > gap;
    int stopped = 0;
    if (taken && (anew || passed > enough)) {
        const double had = cpu_time(placement->thread);
        stopped = !anew && had - placement->had < least * passed;
        placement->since = now;
        placement->had = had;
    }
    placement->last = now;
    if (stopped) return change_places(placement, own);
    end_watch(placement);
    return 0;
}

#else

void hs__go_home(hs__cpus home) { (void)home; }
int hs__placement_watch(hs__placement *placement, hs__placement *own)
{
    (void)placement;
    (void)own;
    return 0;
}

#endif
