/* Waiting: a thread that sleeps is woken by the signal, by a cancel or by the time; a thread that
 * spins takes its turns. */
#include "threads/wait.h"

#include <math.h>

#include "check.h"
#include "core/cancel.h"
#include "hetsched.h"

typedef struct {
    hs__signal signal;
    atomic_int value, turns;
    int cancel, goal;
    double spin, until;
    int32_t sleep;
} scene;

static int is_there(const void *what)
{
    const scene *x = what;
    return atomic_load(&x->value) >= x->goal;
}

static void count_turn(void *context) { atomic_fetch_add(&((scene *)context)->turns, 1); }

static void *await_goal(void *context)
{
    scene *x = context;
    const hs__wait wait = {.ready = is_there,
                           .what = x,
                           .cancel = &x->cancel,
                           .meanwhile = count_turn,
                           .context = x,
                           .spin = x->spin,
                           .sleep = x->sleep};
    hs__wait_until(&wait, &x->signal);
    return NULL;
}

/* Several threads wait for a counter that rises by one each time. If a wake-up is lost, the test
 * never ends. */
static void counted(double spin, int32_t sleep)
{
    enum { WAITERS = 3, ROUNDS = 200 };
    for (int round = 0; round < ROUNDS; round++) {
        scene x = {.goal = 2, .spin = spin, .sleep = sleep};
        pthread_t threads[WAITERS];
        hs__signal_init(&x.signal);
        for (int i = 0; i < WAITERS; i++)
            if (!CHECK(pthread_create(&threads[i], NULL, await_goal, &x) == 0)) return;
        for (int i = 0; i < 2; i++) {
            atomic_fetch_add(&x.value, 1);
            hs__signal_send(&x.signal);
        }
        for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
        CHECK(atomic_load(&x.signal.asleep) == 0);
        hs__signal_end(&x.signal);
    }
}

/* The event never comes: a cancel without a signal ends a sleep that has a time, and a spin. In the
 * meantime the threads take their turns. */
static void cancelled(double spin, int32_t sleep)
{
    scene x = {.goal = 1, .spin = spin, .sleep = sleep};
    pthread_t thread;
    hs__signal_init(&x.signal);
    if (!CHECK(pthread_create(&thread, NULL, await_goal, &x) == 0)) return;
    while (atomic_load(&x.turns) < 3) sched_yield();
    hs__cancel(&x.cancel);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&x.value) == 0);
    hs__signal_end(&x.signal);
}

static void *sleep_until_time(void *context)
{
    scene *x = context;
    hs__sleep_at(&x->signal, x->until, &x->cancel);
    atomic_fetch_add(&x->turns, 1);
    return (void *)(intptr_t)(hs_clock() < x->until);
}

/* No sleep ends early because other threads are woken. A time that has passed causes no sleep. */
static void sleeps_until(void)
{
    scene x = {.until = hs_clock() + 30e-3};
    pthread_t thread;
    void *early;
    hs__signal_init(&x.signal);
    if (!CHECK(pthread_create(&thread, NULL, sleep_until_time, &x) == 0)) return;
    while (!atomic_load(&x.turns)) {
        hs__signal_wake(&x.signal);
        sched_yield();
    }
    CHECK(pthread_join(thread, &early) == 0 && !early);
    hs__sleep_at(&x.signal, x.until, NULL);
    hs__sleep_at(&x.signal, -1.0, NULL);
    hs__signal_end(&x.signal);
}

/* A cancel at any time, and one wake after it, end all sleeps, however long. If a wake-up is lost,
 * the test never ends. */
static void sleeps_cancelled(void)
{
    enum { SLEEPERS = 3, ROUNDS = 200 };
    for (int round = 0; round < ROUNDS; round++) {
        scene x = {.until = INFINITY};
        pthread_t threads[SLEEPERS];
        hs__signal_init(&x.signal);
        for (int i = 0; i < SLEEPERS; i++)
            if (!CHECK(pthread_create(&threads[i], NULL, sleep_until_time, &x) == 0)) return;
        for (int i = 0; i < round; i++) sched_yield();
        CHECK(atomic_load(&x.turns) == 0);
        hs__cancel(&x.cancel);
        hs__signal_wake(&x.signal);
        for (int i = 0; i < SLEEPERS; i++) pthread_join(threads[i], NULL);
        CHECK(atomic_load(&x.turns) == SLEEPERS);
        hs__signal_end(&x.signal);
    }
}

/* If there is nothing to wait for, no signal is needed and no turn is taken. */
static void at_once(void)
{
    scene x = {.goal = 0, .spin = INFINITY};
    const hs__wait wait = {
        .ready = is_there, .what = &x, .meanwhile = count_turn, .context = &x, .spin = INFINITY};
    hs__wait_until(&wait, NULL);
    CHECK(atomic_load(&x.turns) == 0);
    hs__signals_close(NULL, 3);
}

int main(void)
{
    counted(0.0, 0);
    counted(0.0, 20);
    counted(20e-6, 0);
    counted(INFINITY, 0);
    cancelled(0.0, 1);
    cancelled(INFINITY, 0);
    cancelled(1e-4, 1);
    sleeps_until();
    sleeps_cancelled();
    at_once();
    return check_result();
}
