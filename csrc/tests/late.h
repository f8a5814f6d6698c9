/* Workers that come late on demand, as if other programs used their cores: the linker's --wrap
 * redirects hs__pool_run and hs__wait_until to this file. Late workers reach a shared run when all
 * work is done, other runs after a while. */
#ifndef HETSCHED_TESTS_LATE_H
#define HETSCHED_TESTS_LATE_H

#ifdef HS_TEST_LATE
#include <time.h>

#include "threads/pool.h"
#include "threads/wait.h"

/* whether half of the workers that wait for a run come late, a different half each time */
static atomic_int are_late;
static atomic_int is_shared_run;
static atomic_uint late_state = 1;

void __real_hs__pool_run(hs__lease *lease, hs__manner manner, hs__work *work,
                         void (*lead)(void *job), void *job, void (*idle)(void *job));
void __wrap_hs__pool_run(hs__lease *lease, hs__manner manner, hs__work *work,
                         void (*lead)(void *job), void *job, void (*idle)(void *job))
{
    atomic_store(&is_shared_run, manner == HS__SHARED);
    __real_hs__pool_run(lease, manner, work, lead, job, idle);
    atomic_store(&is_shared_run, 0);
}

void __real_hs__wait_until(const hs__wait *wait, hs__signal *signal);
void __wrap_hs__wait_until(const hs__wait *wait, hs__signal *signal)
{
    __real_hs__wait_until(wait, signal);
    /* these calls wait within a run, not for one */
    if (wait->meanwhile || wait->cancel || !atomic_load(&are_late)) return;
    const unsigned number = atomic_fetch_add(&late_state, 0x9e3779b9u);
    if (!((number ^ number >> 15) & 1)) return;
    do nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    while (atomic_load(&is_shared_run));
}

/* Runs `what` twice: with workers that come at once, then with late ones. */
#define ALSO_LATE(what)                                                       \
    do {                                                                      \
        for (int are = 0; are < 2; are++) atomic_store(&are_late, are), what; \
        atomic_store(&are_late, 0);                                           \
    } while (0)
#else
#define ALSO_LATE(what) what
#endif

#endif
