/* Waiting for what other threads do: look for a while, then sleep until there is a signal. */
#ifndef HS_THREADS_WAIT_H
#define HS_THREADS_WAIT_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* Where threads sleep until others have gone on. */
typedef struct hs__signal {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_int asleep; /* how many do */
} __attribute__((aligned(64))) hs__signal;

void hs__signal_init(hs__signal *signal);
void hs__signal_end(hs__signal *signal);

/* An array of them; NULL: no memory. Closing NULL is allowed. */
hs__signal *hs__signals_open(int32_t count);
void hs__signals_close(hs__signal *signals, int32_t count);

/* Wakes all who sleep there. What they wait for is stored before, with sequential consistency. O(1)
 * where nobody sleeps. */
void hs__signal_send(hs__signal *signal);

/* The same however it was stored, as a cancel is. */
void hs__signal_wake(hs__signal *signal);

/* Sleeps until hs_clock() says so, or a cancel after which the signal is woken. Others who sleep
 * there, and may wake this one, do no harm. */
void hs__sleep_at(hs__signal *signal, double until, const int *cancel);

/* What is waited for: loads with sequential consistency, as it is also looked at by who is about to
 * sleep. */
typedef int hs__ready(const void *what);

typedef struct hs__wait {
    hs__ready *ready;
    const void *what;
    const int *cancel;                /* as in core/cancel.h: what ends the wait as well, or NULL */
    void (*meanwhile)(void *context); /* called after each sleep, and every 1024 looks; or NULL */
    void *context;
    /* seconds of looking before the first sleep; INFINITY: it never sleeps */
    double spin;
    /* milliseconds after which a sleeping thread looks again, at most 999; 0: only after a
     * signal */
    int32_t sleep;
} hs__wait;

/* Returns when ready(what), or after a cancel. Who makes it ready, or cancels a wait without a time
 * limit, sends the signal. */
void hs__wait_until(const hs__wait *wait, hs__signal *signal);

/* For busy-waiting loops: cheap at first, gives the core away when it takes long. */
static inline void hs__relax(unsigned *rounds)
{
    if (++*rounds % 1024 == 0) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
