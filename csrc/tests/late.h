/* Workers that come late on demand, as where other programs have their cores: the linker's --wrap
 * sends hs__pool_run and hs__wait_until here. To a run that is shared they come when all is done,
 * to others after a while. */
#ifndef HETSCHED_TESTS_LATE_H
#define HETSCHED_TESTS_LATE_H

#ifdef HS_TEST_LATE
#include <time.h>

#include "threads/pool.h"
#include "threads/wait.h"

static atomic_int are_late; /* half of those who wait for a run: others each time */
static atomic_int is_shared_run;
static atomic_uint late_state = 1;

void __real_hs__pool_run(hs_pool *pool, hs__manner manner, hs__work *work, void (*lead)(void *job),
                         void *job, void (*idle)(void *job));
void __wrap_hs__pool_run(hs_pool *pool, hs__manner manner, hs__work *work, void (*lead)(void *job),
                         void *job, void (*idle)(void *job))
{
    atomic_store(&is_shared_run, manner == HS__SHARED);
    __real_hs__pool_run(pool, manner, work, lead, job, idle);
    atomic_store(&is_shared_run, 0);
}

void __real_hs__wait_until(const hs__wait *wait, hs__signal *signal);
void __wrap_hs__wait_until(const hs__wait *wait, hs__signal *signal)
{
    __real_hs__wait_until(wait, signal);
    /* those wait in a run, not for one */
    if (wait->meanwhile || wait->cancel || !atomic_load(&are_late)) return;
    const unsigned number = atomic_fetch_add(&late_state, 0x9e3779b9u);
    if (!((number ^ number >> 15) & 1)) return;
    do nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    while (atomic_load(&is_shared_run));
}

/* What is done twice: with workers that come at once, then with late ones. */
#define ALSO_LATE(what)                                                       \
    do {                                                                      \
        for (int are = 0; are < 2; are++) atomic_store(&are_late, are), what; \
        atomic_store(&are_late, 0);                                           \
    } while (0)
#else
#define ALSO_LATE(what) what
#endif

#endif
