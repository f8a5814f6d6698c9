/* Leases: which threads may run a job on a pool now, and what each of them has of it.
 *
 * `turns` is the lock. It counts the leases in use, or is EXCLUSIVE. A thread that wants the whole
 * pool waits until no lease is in use, and keeps later callers out meanwhile; when it leaves, one
 * of these is let in before the next that wants the whole pool. So neither kind of
 * caller starves the other; among callers of one kind there is no order. Leases are kept for later
 * callers, because their scratch memory is expensive to get. */
#include "threads/pool_state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/cancel.h"
#include "hetsched/status.h"

enum { EXCLUSIVE = -1 };

_Thread_local const hs_pool *hs__helper_of;
/* Identifies the thread: 0, or a number that no other thread had before. */
static _Thread_local uint64_t this_thread;
/* The lease that this thread took last, or NULL. */
static _Thread_local hs__lease *innermost;

/* Returns whether the calling thread works on a job of the pool. */
static int is_inside(const hs_pool *pool)
{
    for (const hs__lease *lease = innermost; lease; lease = lease->outer)
        if (lease->pool == pool) return 1;
    return hs__helper_of == pool;
}

int32_t hs_pool_is_inside(const hs_pool *pool)
{
    return pool && is_inside(pool) && pool->pid == getpid();
}

int hs__pool_is_claimed(const hs_pool *pool)
{
    const uint64_t owner = atomic_load(&pool->owner);
    return owner && owner != this_thread;
}

/* ---- waiting for a turn ---------------------------------------------------------------------- */

typedef struct {
    hs_pool *pool;
    int exclusive, cancel;
    atomic_int *waiting; /* counts the thread, except while it polls */
    hs_poll_function poll;
    void *context;
    double last; /* time of the last poll */
} entry_wait;

static int is_open(const hs_pool *pool, int exclusive, int turns)
{
    if (exclusive)
        return turns == 0 && !(atomic_load(&pool->favours) && atomic_load(&pool->sharers));
    return turns != EXCLUSIVE && (!atomic_load(&pool->exclusives) || atomic_load(&pool->favours));
}

static int try_enter(hs_pool *pool, int exclusive)
{
    int turns = atomic_load(&pool->turns);
    while (is_open(pool, exclusive, turns))
        if (atomic_compare_exchange_weak(&pool->turns, &turns, exclusive ? EXCLUSIVE : turns + 1)) {
            if (atomic_load(&pool->favours)) atomic_store(&pool->favours, 0);
            return 1;
        }
    return 0;
}

static int must_leave(const hs_pool *pool)
{
    return atomic_load(&pool->closing) || hs__pool_is_claimed(pool);
}

static int can_go_on(const void *what)
{
    const entry_wait *wait = what;
    return must_leave(wait->pool) ||
           is_open(wait->pool, wait->exclusive, atomic_load(&wait->pool->turns));
}

static void poll_outside(void *context)
{
    entry_wait *wait = context;
    if (!wait->poll || hs_clock() - wait->last < 0.05) return;
    /* The poll may call the pool, and must not wait for the thread that it is in. */
    atomic_fetch_sub(wait->waiting, 1);
    hs__signal_send(&wait->pool->left);
    if (wait->poll(wait->context, 0.0)) hs__cancel(&wait->cancel);
    atomic_fetch_add(wait->waiting, 1);
    wait->last = hs_clock();
}

/* Waits until no job is in the way. */
static hs_status wait_for_turn(hs_pool *pool, int exclusive, hs_poll_function poll, void *context)
{
    atomic_int *waiting = exclusive ? &pool->exclusives : &pool->sharers;
    entry_wait own = {pool, exclusive, 0, waiting, poll, context, hs_clock()};
    const hs__wait turn = {.ready = can_go_on,
                           .what = &own,
                           .cancel = &own.cancel,
                           .meanwhile = poll_outside,
                           .context = &own,
                           .sleep = poll ? 10 : 0};
    hs_status status = HS_OK;
    atomic_fetch_add(waiting, 1);
    for (;;) {
        if (atomic_load(&pool->closing)) status = HS_ERROR_THREAD;
        else if (hs__pool_is_claimed(pool) || hs__cancelled(&own.cancel))
            status = HS_ERROR_CANCELLED;
        if (status || try_enter(pool, exclusive)) break;
        hs__wait_until(&turn, &pool->left);
    }
    atomic_fetch_sub(waiting, 1);
    hs__signal_send(&pool->left);
    return status;
}

static hs_status enter(hs_pool *pool, int exclusive, hs_poll_function poll, void *context)
{
    if (!must_leave(pool) && try_enter(pool, exclusive)) return HS_OK;
    return wait_for_turn(pool, exclusive, poll, context);
}

static void leave(hs_pool *pool, int exclusive)
{
    if (exclusive) {
        atomic_store(&pool->favours, 1);
        atomic_store(&pool->turns, 0);
    } else {
        atomic_fetch_sub(&pool->turns, 1);
    }
    hs__signal_send(&pool->left);
}

/* ---- leases ---------------------------------------------------------------------------------- */

/* Returns a lease that is in use, or NULL if there is no memory. */
static hs__lease *create_lease(hs_pool *pool)
{
    void *memory = NULL;
    const size_t before = (sizeof(hs__lease) + 63) / 64 * 64;
    const size_t bytes = before + (size_t)pool->p * sizeof(hs__offer);
    if (posix_memalign(&memory, 64, bytes)) return NULL;
    hs__lease *lease = memset(memory, 0, bytes);
    lease->pool = pool;
    lease->offers = (hs__offer *)((char *)memory + before);
    if (!hs__arena_open(&lease->scratch, 2 * pool->p)) {
        free(lease);
        return NULL;
    }
    atomic_store(&lease->in_use, 1);
    hs__signal_init(&lease->done);
    lease->next = atomic_load(&pool->leases);
    while (!atomic_compare_exchange_weak(&pool->leases, &lease->next, lease)) {}
    return lease;
}

/* Returns a lease that no thread uses, or NULL if there is no memory. */
static hs__lease *find_lease(hs_pool *pool)
{
    for (hs__lease *lease = atomic_load(&pool->leases); lease; lease = lease->next) {
        int in_use = 0;
        if (atomic_compare_exchange_strong(&lease->in_use, &in_use, 1)) return lease;
    }
    return create_lease(pool);
}

int hs__leases_open(hs_pool *pool)
{
    hs__lease *first = create_lease(pool);
    if (first) atomic_store(&first->in_use, 0);
    return first != NULL;
}

void hs__leases_close(hs_pool *pool)
{
    /* A child that was forked inside a run still has its thread's lease of the inherited pool. */
    for (hs__lease **of = &innermost; *of;)
        if ((*of)->pool == pool) *of = (*of)->outer;
        else of = &(*of)->outer;
    for (hs__lease *lease = atomic_load(&pool->leases), *next; lease; lease = next) {
        next = lease->next;
        if (pool->pid == getpid()) hs__signal_end(&lease->done);
        hs__arena_close(&lease->scratch);
        free(lease);
    }
}

hs_status hs__pool_lock(hs_pool *pool, hs__sharing sharing, hs_poll_function poll, void *context,
                        hs__lease **taken)
{
    if (pool->pid != getpid()) return HS_ERROR_THREAD;
    if (is_inside(pool)) return HS_ERROR_BUSY;
    const int exclusive = sharing == HS__EXCLUSIVE;
    atomic_fetch_add(&pool->callers, 1);
    hs__review_sites(pool);
    hs_status status = enter(pool, exclusive, poll, context);
    hs__lease *lease = status ? NULL : find_lease(pool);
    if (lease) {
        atomic_store(&lease->exclusive, exclusive);
        lease->own = -1;
        atomic_fetch_add(&pool->busy, 1);
        lease->entry = atomic_fetch_add(&pool->entries, 1) + 1;
        /* `turns` is read after the entry number is taken: a caller that is missed here takes a
         * later number, which hs__lease_was_alone sees */
        lease->is_first = exclusive || atomic_load(&pool->turns) == 1;
        lease->outer = innermost;
        innermost = *taken = lease;
        return HS_OK;
    }
    if (!status) {
        leave(pool, exclusive);
        status = HS_ERROR_MEMORY;
    }
    atomic_fetch_sub(&pool->callers, 1); /* last access to a pool that is being destroyed */
    return status;
}

/* Wakes the helpers to which a job still offers a part. Called when a caller leaves, because one
 * more helper may then work. */
static void wake_offered(hs_pool *pool)
{
    for (hs__lease *lease = atomic_load(&pool->leases); lease; lease = lease->next)
        for (int32_t w = 0; w < pool->p && atomic_load(&lease->in_use); w++)
            if (atomic_load(&lease->offers[w].open)) hs__wake_helper(&pool->helpers[w]);
}

void hs__pool_unlock(hs__lease *lease)
{
    hs_pool *pool = lease->pool;
    const int exclusive = lease->exclusive;
    hs__arena_trim(&lease->scratch, HS__KEPT);
    innermost = lease->outer;
    atomic_fetch_sub(&pool->busy, 1);
    atomic_store(&lease->in_use, 0);
    if (atomic_load(&pool->turns) > 1) wake_offered(pool);
    leave(pool, exclusive);
    atomic_fetch_sub(&pool->callers, 1); /* last access to a pool that is being destroyed */
}

int hs__lease_was_alone(const hs__lease *lease)
{
    return lease->is_first && atomic_load(&lease->pool->entries) == lease->entry;
}

void *hs__pool_scratch(hs__lease *lease, hs__scratch kind, int32_t worker, size_t bytes)
{
    return hs__arena_get(&lease->scratch, (int32_t)kind * lease->pool->p + worker, bytes);
}

/* ---- the whole pool -------------------------------------------------------------------------- */

hs_status hs_pool_trim(hs_pool *pool)
{
    if (!pool) return HS_ERROR_VALUE;
    hs__lease *own;
    hs_status status = hs__pool_lock(pool, HS__EXCLUSIVE, NULL, NULL, &own);
    if (status) return status;
    for (hs__lease *lease = atomic_load(&pool->leases); lease; lease = lease->next)
        hs__arena_trim(&lease->scratch, 0);
    hs__spares_free(&pool->spares);
    hs__pool_unlock(own);
    return HS_OK;
}

hs_status hs_pool_claim(hs_pool *pool, double seconds)
{
    if (!pool || !(seconds >= 0.0)) return HS_ERROR_VALUE;
    if (pool->pid != getpid()) return HS_ERROR_THREAD;
    if (is_inside(pool)) return HS_ERROR_BUSY;
    static _Atomic uint64_t threads;
    if (!this_thread) this_thread = atomic_fetch_add(&threads, 1) + 1;
    atomic_store(&pool->owner, this_thread);
    hs__signal_wake(&pool->left);
    for (const double until = hs_clock() + seconds; atomic_load(&pool->callers);) {
        if (hs_clock() >= until) return HS_ERROR_BUSY;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return HS_OK;
}
