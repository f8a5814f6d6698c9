/* Waiting for other threads: a thread busy-waits for a while, then sleeps until a signal comes. */
#ifndef HS_THREADS_WAIT_H
#define HS_THREADS_WAIT_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* Where threads sleep until other threads have made progress. */
typedef struct hs__signal {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_int asleep; /* number of sleeping threads */
} __attribute__((aligned(64))) hs__signal;

void hs__signal_init(hs__signal *signal);
void hs__signal_end(hs__signal *signal);

/* Returns an array of count signals, or NULL if there is no memory. Closing NULL is allowed. */
hs__signal *hs__signals_open(int32_t count);
void hs__signals_close(hs__signal *signals, int32_t count);

/* Wakes all threads that sleep on the signal. The condition they wait for must be stored before,
 * with sequential consistency. O(1) if no thread sleeps. */
void hs__signal_send(hs__signal *signal);

/* The same, whatever the memory order of the store before it, as for a cancel. */
void hs__signal_wake(hs__signal *signal);

/* Sleeps until the time `until` of hs_clock(), or until a cancel that is followed by
 * hs__signal_wake. Other threads may sleep on the same signal, and their wake-ups are harmless. */
void hs__sleep_at(hs__signal *signal, double until, const int *cancel);

/* Returns whether the condition holds. It must load with sequential consistency, because a thread
 * that is about to sleep calls it too. */
typedef int hs__ready(const void *what);

typedef struct hs__wait {
    hs__ready *ready;
    const void *what;
    const int *cancel;                /* ends the wait, too (core/cancel.h); or NULL */
    void (*meanwhile)(void *context); /* called after each sleep and every 1024 looks; or NULL */
    void *context;
    /* seconds of busy-waiting before the first sleep; INFINITY: never sleeps */
    double spin;
    /* milliseconds after which a sleeping thread looks again, at most 999; 0: only after a
     * signal */
    int32_t sleep;
} hs__wait;

/* Returns when ready(what) holds, or after a cancel. The thread that makes the condition true must
 * call hs__signal_send. A thread that cancels a wait with sleep = 0 must call hs__signal_wake. */
void hs__wait_until(const hs__wait *wait, hs__signal *signal);

/* Body of a busy-waiting loop: a pause instruction, and every 1024th time a sched_yield, so that a
 * long wait gives the core away. */
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
