/* Signals on a condition variable, and waiting that begins with busy-waiting. */
#define _GNU_SOURCE
#include "threads/wait.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/cancel.h"
#include "hetsched/status.h"

void hs__signal_init(hs__signal *signal)
{
    pthread_mutex_init(&signal->lock, NULL);
    atomic_init(&signal->asleep, 0);
#if defined(__APPLE__)
    pthread_cond_init(&signal->wake, NULL);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&signal->wake, &attributes);
    pthread_condattr_destroy(&attributes);
#endif
}

void hs__signal_end(hs__signal *signal)
{
    pthread_mutex_destroy(&signal->lock);
    pthread_cond_destroy(&signal->wake);
}

hs__signal *hs__signals_open(int32_t count)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (size_t)count * sizeof(hs__signal))) return NULL;
    hs__signal *signals = memory;
    for (int32_t i = 0; i < count; i++) hs__signal_init(&signals[i]);
    return signals;
}

void hs__signals_close(hs__signal *signals, int32_t count)
{
    for (int32_t i = 0; signals && i < count; i++) hs__signal_end(&signals[i]);
    free(signals);
}

void hs__signal_send(hs__signal *signal)
{
    if (atomic_load(&signal->asleep)) hs__signal_wake(signal);
}

void hs__signal_wake(hs__signal *signal)
{
    pthread_mutex_lock(&signal->lock);
    pthread_cond_broadcast(&signal->wake);
    pthread_mutex_unlock(&signal->lock);
}

static int is_over(const hs__wait *w) { return hs__cancelled(w->cancel) || w->ready(w->what); }

static void pass_time(const hs__wait *w)
{
    if (w->meanwhile) w->meanwhile(w->context);
}

/* Busy-waits; returns whether the wait was over within the time for it. The clock is read only
 * every 32 looks. */
static int busy_wait(const hs__wait *w)
{
    unsigned rounds = 0;
    const double until = isinf(w->spin) ? INFINITY : hs_clock() + w->spin;
    do {
        for (int i = 0; i < 32; i++) {
            hs__relax(&rounds);
            if (is_over(w)) return 1;
        }
        if (rounds % 1024 == 0) pass_time(w);
    } while (isinf(until) || hs_clock() < until);
    return 0;
}

/* Sleeps at most so many seconds. The signal must be locked. */
static void sleep_for(hs__signal *signal, double seconds)
{
    struct timespec until;
#if defined(__APPLE__)
    clock_gettime(CLOCK_REALTIME, &until);
#else
    clock_gettime(CLOCK_MONOTONIC, &until);
#endif
    const double longest = 86400.0;
    const double whole = floor(fmin(seconds, longest));
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)(1e9 * (fmin(seconds, longest) - whole));
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&signal->wake, &signal->lock, &until);
}

void hs__sleep_at(hs__signal *signal, double until, const int *cancel)
{
    pthread_mutex_lock(&signal->lock);
    for (double left; !hs__cancelled(cancel) && (left = until - hs_clock()) > 0.0;)
        sleep_for(signal, left);
    pthread_mutex_unlock(&signal->lock);
}

void hs__wait_until(const hs__wait *w, hs__signal *signal)
{
    if (is_over(w) || (w->spin > 0.0 && busy_wait(w))) return;
    do {
        /* Either this thread sees that the wait is over, or the thread that made it so sees that
         * this one is asleep: both threads store first, then load. */
        pthread_mutex_lock(&signal->lock);
        atomic_fetch_add(&signal->asleep, 1);
        if (!is_over(w)) {
            if (w->sleep) sleep_for(signal, 1e-3 * w->sleep);
            else pthread_cond_wait(&signal->wake, &signal->lock);
        }
        atomic_fetch_sub(&signal->asleep, 1);
        pthread_mutex_unlock(&signal->lock);
        pass_time(w);
    } while (!is_over(w));
}
