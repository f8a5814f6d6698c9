/* Persistent worker threads: the interface for the runners. A runner takes a lease of the pool,
 * asks for scratch memory, runs one job and returns the lease. */
#ifndef HS_THREADS_POOL_H
#define HS_THREADS_POOL_H

#include <stddef.h>

#include "hetsched.h"
#include "threads/arena.h"
#include "threads/domains.h"
#include "threads/drift.h"
#include "threads/wait.h"

/* The work of one worker in a job. is_caller: non-zero on the thread that called hs__pool_run. */
typedef void hs__work(void *job, int32_t worker, int is_caller);

int32_t hs__pool_size(const hs_pool *pool);

/* Creates a pool of one worker without a thread: each caller does its own work, on the cpus that it
 * may use.
 *   domain  kernel and block sizes, or NULL: the defaults */
hs_status hs__pool_create_alone(const hs_domain *domain, hs_pool **out);

/* Returns whether each worker has a thread. A pool of hs__pool_create_alone has none, nor has a
 * pool of one worker if the system refuses to start any thread. The caller does the work then. */
int hs__pool_has_threads(const hs_pool *pool);

/* Returns the number of workers for which a matrix is cut, where the cuts affect rounding: 1 in a
 * deterministic pool. */
int32_t hs__pool_cuts_for(const hs_pool *pool);
const hs__domains *hs__pool_domains(const hs_pool *pool);
int32_t hs__pool_domain(const hs_pool *pool, int32_t worker);

/* Returns whether each worker has a core of its own, so that short busy-waiting takes time from no
 * other thread. */
int hs__pool_spins(const hs_pool *pool);

/* Returns the milliseconds after which a thread that waits in a run of the pool (shared or not)
 * looks again: for a cancel and a poll. In a shared run of pinned workers the time is short enough
 * to notice that a worker has been preempted and to rescue it. */
int32_t hs__pool_look_interval(const hs_pool *pool, int shared);

/* What a caller has of a pool while its job runs. */
typedef struct hs__lease hs__lease;

/* Which jobs may run at the same time.
 *   HS__EXCLUSIVE  the job is alone on the pool: it needs each of the workers, or measures time
 *   HS__TOGETHER   HS__SHARED and HS__ALONE jobs of several callers run at the same time. Each
 *                  caller works on its own job. Helpers join the job that has the fewest, as long
 *                  as no more threads work than the pool has workers */
typedef enum hs__sharing { HS__EXCLUSIVE = 0, HS__TOGETHER } hs__sharing;

/* Takes a lease of the pool for one job of the calling thread. The order is: lock, ask for scratch
 * memory, run, unlock. While jobs of other threads are in the way, poll (may be NULL) is called
 * about every 50 ms and may cancel the wait. HS_ERROR_BUSY if the calling thread works on a job of
 * the pool, HS_ERROR_THREAD in a forked child, HS_ERROR_CANCELLED if another thread has claimed the
 * pool, HS_ERROR_MEMORY. */
hs_status hs__pool_lock(hs_pool *pool, hs__sharing sharing, hs_poll_function poll, void *context,
                        hs__lease **taken);
void hs__pool_unlock(hs__lease *lease);

/* Returns whether no other caller has had a lease of the pool since this one began, so that the
 * job's times say how fast its workers are. */
int hs__lease_was_alone(const hs__lease *lease);

/* Returns whether a thread other than the calling one has claimed the pool. If so, the calling
 * thread must end its job. */
int hs__pool_is_claimed(const hs_pool *pool);

/* Returns scratch memory that is kept for later jobs, aligned for vectors and pages. Each worker
 * has one buffer for packed panels and one for blocks and everything else that it needs for itself.
 * With 0 bytes it returns what the job has asked for before. NULL if there is no memory. A buffer
 * of more than HS__KEPT bytes is freed when the pool is unlocked. */
typedef enum hs__scratch { HS__PANELS = 0, HS__BLOCKS = 1 } hs__scratch;
enum { HS__KEPT = 32 << 20 };
void *hs__pool_scratch(hs__lease *lease, hs__scratch kind, int32_t worker, size_t bytes);

/* Memory of a call that needs it before it has a lease, or for several leases; aligned for vectors
 * and pages. data is NULL without memory. The pool keeps at most HS__KEPT bytes of a call for later
 * ones. */
hs__memory hs__pool_take_memory(hs_pool *pool, size_t bytes);
void hs__pool_keep_memory(hs_pool *pool, hs__memory memory);

/* Surround what the calling thread does besides its part of the job. In between, the thread is back
 * on the cpus where its program wants it, and no worker waits for it to have a core. */
void hs__pool_step_out(hs__lease *lease);
void hs__pool_step_in(hs__lease *lease);

/* Returns what the pool has learned of its workers. */
hs__drift *hs__pool_drift(hs_pool *pool);

/* How a job is divided between the caller and the workers.
 *   HS__EACH    each worker does its part; the caller takes the place of one worker
 *   HS__SHARED  the same, for work that is used up when any worker's part ends, except for what the
 *               other workers have begun. A worker that comes late finds its part done. The caller
 *               does not wait for a worker that has not even started by then because another
 *               program is on its core
 *   HS__BRIEF   HS__SHARED, or as HS__ALONE if the pool is crowded
 *   HS__MEDIUM  HS__SHARED, or as HS__ALONE if the pool is crowded and its caller alone has about as
 *               much of the cores as all workers together. A run decides before it begins what this
 *               and HS__BRIEF are (run.h); they are not for hs__pool_run
 *   HS__LED     each worker does its part; the caller runs lead(job) beside them, which must see to
 *               the end of their work, or is NULL. Only for a pool that has threads
 *   HS__ALONE   the caller does everything as worker 0, for work so short that waking the other
 *               workers would take as long */
typedef enum hs__manner {
    HS__EACH = 0,
    HS__SHARED,
    HS__BRIEF,
    HS__MEDIUM,
    HS__LED,
    HS__ALONE
} hs__manner;

/* Returns whether an HS__BRIEF or HS__MEDIUM job takes less time if its caller does it alone. Never
 * if the pool is not elastic. */
int hs__pool_prefers_caller(hs_pool *pool, hs__manner manner);

/* Runs a job and returns when all parts have ended. HS__EACH and HS__LED need HS__EXCLUSIVE. While
 * the caller only waits, idle(job) is called at least every 20 ms. */
void hs__pool_run(hs__lease *lease, hs__manner manner, hs__work *work, void (*lead)(void *job),
                  void *job, void (*idle)(void *job));

/* Lets a worker that is not the caller sleep until the time `until` of hs_clock(), or until a
 * cancel. The thread that cancels must call hs__pool_wake. */
void hs__pool_sleep(hs__lease *lease, int32_t worker, double until, const int *cancel);
void hs__pool_wake(hs__lease *lease);

/* Helps a preempted worker. Called now and then in a loop in which a worker waits for other workers
 * of the job; worker is -1 for a thread that has no part in the job any more. In a pool that spins,
 * a worker that has lost its core to another program gets the core of the calling thread, which
 * takes its place on the lost core. */
void hs__pool_rescue(hs__lease *lease, int32_t worker);

#endif
