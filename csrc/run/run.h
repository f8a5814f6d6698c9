/* The life of a run.
 *
 * A run is one execution of one plan on one pool: a matrix product, a factorisation, a stack, a
 * sweep, a measurement. Each kind of run is a table of functions, hs__kind; everything that all
 * kinds share is done here, once. The public function of a kind (hs_run_product, hs_run_factor,
 * ...) stores its arguments in a job, a struct that begins with the hs__run, and calls hs__run_do:
 *
 *   1. check   The arguments are checked before anything is locked, allocated or written. After
 *              this step only a lack of memory, a cancel or the pool itself (busy, forked, claimed
 *              by another thread) can make the run fail.
 *   2. lock    The caller takes a lease of the pool. Runs that keep no pace, and in which any
 *              worker may do any part (run->sharing is HS__TOGETHER), run beside the runs of other
 *              callers. A run that needs each worker has the pool for itself: callers wait, and
 *              their poll functions are called meanwhile.
 *   3. open    The kind cuts the matrix into tiles, boxes, blocks or slices, and takes its memory:
 *              from the run (hs__run_zeros, hs__run_pages; always freed at the end) and from the
 *              pool (hs__pool_scratch; kept for later runs). Outputs are changed only when nothing
 *              can fail any more: a run that fails here leaves them as they were.
 *   4. load    Optional. Each worker copies its part of the operands before the clock starts, since
 *              an emulated platform has its data in place when its time begins.
 *   5. work    The clock starts. Each worker runs work(job, worker, is_caller) on its own thread;
 *              the calling thread is one of them, except with HS__LED, where it leads them.
 *              run->manner says which workers take part and which ones are waited for. Inside, a
 *              worker is an hs__member (member.h): it takes tiles or tasks, waits for other
 *              workers, keeps its emulated pace, and records events.
 *   6. learn   A shared run that took long enough tells the pool how fast each worker was
 *              (threads/drift.h). The next plan that shares a product uses these speeds.
 *   7. store   Optional. Results that were kept in scratch memory are copied to the outputs,
 *              unless the run was cancelled.
 *   8. report, close, unlock
 *              The kind reports what there is to tell, its memory and the run's are freed, and the
 *              pool is unlocked.
 *
 * Ending early. Only the calling thread polls. About every 50 ms it calls the caller's poll
 * function, through which Ctrl-C and progress bars reach a run, and it checks more often whether
 * another thread has claimed the pool. Both set run->cancel. Every loop that may take longer than
 * some milliseconds reads this flag, so all workers stop within a tile, and the run returns
 * HS_ERROR_CANCELLED.
 *
 * Waiting. Workers that have a core of their own spin for a short time, then sleep at a signal;
 * workers that share cores sleep at once (hs__await). In a shared run a worker that waits also
 * checks whether another worker has lost its core to another program, and if so lets it have the
 * core of the waiting one (hs__pool_rescue).
 *
 * Example: a product of order 1000 on two workers of one domain. hs_run_product checks sizes and
 * boxes, locks the pool, makes one gang of the two workers, and gives each of them tiles of C in
 * proportion to its speed. In `work` each worker packs its part of the next panel of B, which both
 * use, and multiplies its tiles; when it has finished it takes tiles from the back of the other
 * worker's queue. There is nothing to load or to store. The pool learns the two speeds and is
 * unlocked. */
#ifndef HS_RUN_RUN_H
#define HS_RUN_RUN_H

#include <stdatomic.h>

#include "core/cancel.h"
#include "hetsched.h"
#include "threads/pool.h"

/* The functions of one kind of run, in the order of their calls. A job begins with its hs__run. All
 * but check, open and work may be NULL.
 *   check    checks the arguments; after it only a lack of memory, a cancel or the pool can refuse
 *            the run
 *   open     takes memory, from the run and from the pool, which is locked. Changes nothing before
 *            it has succeeded
 *   load     each worker's part before the clock starts; a cancel ends the run with it
 *   work     each worker's part, by run->manner
 *   lead     the caller's part of a run with HS__LED
 *   store    each worker's part after a run that was not cancelled
 *   report   reports what there is to tell. Its argument is HS_OK or HS_ERROR_CANCELLED; it returns
 *            the status of the run
 *   close    frees what does not belong to the run's memory. Called whenever open was called,
 *            whatever happened since */
typedef struct hs__kind {
    hs_status (*check)(const void *job);
    hs_status (*open)(void *job);
    hs__work *load, *work, *store;
    void (*lead)(void *job);
    hs_status (*report)(void *job, hs_status status);
    void (*close)(void *job);
} hs__kind;

/* A run in progress, as all its workers see it. Counters that workers write have cache lines of
 * their own. */
typedef struct hs__run {
    const hs__kind *kind;
    hs_pool *pool;
    hs__lease *lease; /* from lock to unlock */
    hs__sharing sharing;
    int32_t workers;
    hs__manner manner; /* HS__BRIEF and HS__MEDIUM become HS__SHARED after open */
    int unaided;       /* it was one of them, and the caller does it alone */
    hs_options options;
    hs_trace trace;       /* event_count is kept below, not here */
    int32_t *recorded;    /* the caller's event_count, or NULL */
    const double *speeds; /* [workers] of an HS__SHARED run; NULL: equal ones */
    /* [workers] the work that each worker has done, from which the pool learns if the run is
     * HS__SHARED; NULL: it does not learn */
    const double *work_of;
    int64_t total;           /* number of tasks */
    struct hs__owned *owned; /* memory of the run */
    hs__signal *signals;     /* [signal_count] or NULL */
    int32_t signal_count;
    int cancel;                        /* see core/cancel.h */
    double start, last_poll, polling;  /* polling: seconds spent in polls */
    _Alignas(64) _Atomic int64_t done; /* tasks that have ended */
    /* Recorded events; exceeds the room for them by at most one for each worker. */
    _Alignas(64) _Atomic int64_t event_count;
} hs__run;

/* Returns a run that has the pool for itself. options and trace may be NULL. */
hs__run hs__run_of(const hs__kind *kind, hs_pool *pool, const hs_options *options, hs_trace *trace);

/* Allocate memory of the run, which is freed after close. Only one thread at a time may call them.
 * hs__run_zeros returns `count` elements of `bytes` bytes, all zero, on a cache line if `bytes` is
 * a multiple of one; hs__run_pages returns pages as hs__allocate_pages does. NULL: out of
 * memory. */
void *hs__run_zeros(hs__run *run, size_t count, size_t bytes);
void *hs__run_pages(hs__run *run, size_t bytes);

/* Creates run->signals, which are freed with the run. Returns 0 if out of memory. */
int hs__run_signals(hs__run *run, int32_t count);

/* Frees the memory and the signals. */
void hs__run_free(hs__run *run);

/* Lets other callers use the pool during the run, unless it keeps a pace. Its manner must not be
 * HS__EACH or HS__LED, and it must have no load and store. */
void hs__run_together(hs__run *run);

/* Does the whole run: check, lock, hs__run_locked, unlock. */
hs_status hs__run_do(hs__run *run);

/* Does the steps between lock and unlock, for a thread that holds the pool and has checked the
 * arguments. */
hs_status hs__run_locked(hs__run *run);

/* Whether pace and the room for events are in their ranges, and whether `count` pairs (start, end)
 * of transfers are. */
int hs__valid_run(const hs__run *run);
int hs__valid_transfers(const double *transfers, int32_t count);

/* Cancels the run if another thread has claimed the pool, or if the poll function asks for it. The
 * claim is checked in each call; the poll function is called no earlier than 50 ms after it has
 * last returned. Only for the calling thread. */
void hs__poll(hs__run *run);

static inline double hs__since_start(const hs__run *run) { return hs_clock() - run->start; }

/* Returns how to do so many multiply-adds (or other units) that any worker may do.
 *   alone  up to it the caller does everything
 *   brief  up to it the caller does so if the pool is crowded, and up to `medium` times as many if it
 *          then has enough of the cores */
static inline hs__manner hs__manner_for(double updates, double alone, double brief, double medium)
{
    if (updates <= alone) return HS__ALONE;
    if (updates <= brief) return HS__BRIEF;
    return updates <= medium * brief ? HS__MEDIUM : HS__SHARED;
}

/* Whether the run records events. */
static inline int hs__records(const hs__run *run) { return run->trace.event_capacity > 0; }

#endif
