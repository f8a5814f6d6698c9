/* Persistent worker threads, as the runners see them. */
#ifndef HS_THREADS_POOL_H
#define HS_THREADS_POOL_H

#include <stddef.h>

#include "hetsched.h"
#include "threads/domains.h"
#include "threads/drift.h"
#include "threads/wait.h"

/* The work of one worker in a job; is_caller on the thread that called hs__pool_run. */
typedef void hs__work(void *job, int32_t worker, int is_caller);

int32_t hs__pool_size(const hs_pool *pool);

/* Whether each worker has a thread: where the system refuses even one, a pool of one worker has
 * none, and its work is the caller's. */
int hs__pool_has_threads(const hs_pool *pool);

/* For how many workers a matrix is cut where that changes how it is rounded: for one in a
 * deterministic pool. */
int32_t hs__pool_cuts_for(const hs_pool *pool);
const hs__domains *hs__pool_domains(const hs_pool *pool);
int32_t hs__pool_domain(const hs_pool *pool, int32_t worker);

/* Whether each worker has a core of its own, so that a short busy-waiting takes time from
 * nobody. */
int hs__pool_spins(const hs_pool *pool);

/* Milliseconds after which who waits in a run of the pool, shared or not, looks again: for a cancel
 * and a poll, and, where workers come to each other's rescue, often enough to see that one has no
 * core. */
int32_t hs__pool_look(const hs_pool *pool, int shared);

/* One job at a time: lock, ask for scratch memory, run, unlock. While another thread's job runs,
 * poll (may be NULL) is called about every 50 ms and may cancel the wait. HS_ERROR_BUSY if the
 * calling thread works on the job that runs, HS_ERROR_THREAD in a forked child, HS_ERROR_CANCELLED
 * if another thread has claimed the pool. */
hs_status hs__pool_lock(hs_pool *pool, hs_poll_function poll, void *context);
void hs__pool_unlock(hs_pool *pool);

/* Whether another thread than the calling one has claimed the pool: then the calling thread's job
 * is to end. */
int hs__pool_is_claimed(const hs_pool *pool);

/* Scratch memory that the pool keeps for later runs, aligned for vectors and pages: of each worker
 * packed panels, and blocks with what else it needs for itself. What a run has asked for before is
 * there with 0 bytes. NULL if there is none. Of more than HS__KEPT bytes it is given back when the
 * pool is unlocked. */
typedef enum hs__scratch { HS__PANELS = 0, HS__BLOCKS = 1 } hs__scratch;
enum { HS__KEPT = 32 << 20 };
void *hs__pool_scratch(hs_pool *pool, hs__scratch kind, int32_t worker, size_t bytes);

/* Around what the calling thread does besides its part of the job: meanwhile it is where its
 * program wants it, and nobody waits for it to have a core. */
void hs__pool_step_out(hs_pool *pool);
void hs__pool_step_in(hs_pool *pool);

/* What the pool has learned. */
hs__drift *hs__pool_drift(hs_pool *pool);

/* Who works on a job.
 *   HS__EACH    every worker its part; the caller has the place of one
 *   HS__SHARED  the same for work of which nothing is left when anybody's part ends, but for what
 *               others have begun: who is late finds its part done, and a worker that has not even
 *               started by then, for another program is on its core, is not waited for
 *   HS__LED     every worker its part, the caller beside them: it runs lead(job), which must see to
 *               the end of their work, or is NULL; for a pool that has threads
 *   HS__ALONE   the caller does all, as worker 0: where waking the others takes as long */
typedef enum hs__manner { HS__EACH = 0, HS__SHARED, HS__LED, HS__ALONE } hs__manner;

/* Runs a job, and returns when all parts have ended. While the caller only waits, idle(job) is
 * called every 20 ms or more often. */
void hs__pool_run(hs_pool *pool, hs__manner manner, hs__work *work, void (*lead)(void *job),
                  void *job, void (*idle)(void *job));

/* A worker that is not the caller sleeps until hs_clock() says so, or a cancel; who cancels calls
 * hs__pool_wake. */
void hs__pool_sleep(hs_pool *pool, int32_t worker, double until, const int *cancel);
void hs__pool_wake(hs_pool *pool);

/* In a loop in which a worker, or -1 for a thread that has no part in it any more, waits for others
 * of the job, now and then: of a pool that spins, one whose core is another program's just now gets
 * that of the calling thread, which takes its place there. */
void hs__pool_rescue(hs_pool *pool, int32_t worker);

#endif
