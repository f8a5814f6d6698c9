/* The life of a run.
 *
 * A run is one execution of one plan on one pool: a matrix product, a factorisation, a stack, a
 * sweep, a measurement. What differs from one kind of run to the next is a table of functions,
 * hs__kind; all else is done here, once. The public function of a kind (hs_run_product,
 * hs_run_factor, ...) puts its arguments into a job, whose first member is the hs__run, and calls
 * hs__run_do:
 *
 *   1. check Arguments are refused before anything is locked, allocated or written. After this step
 *               only a lack of memory, a cancel or the pool itself (busy, forked, claimed by
 *               another thread) can make the run fail.
 *   2. lock A pool does one run at a time. A second caller waits, and its poll function is called
 *      meanwhile.
 *   3. open     The kind cuts the matrix into tiles, boxes, blocks or slices, and takes its memory:
 *               from the run (hs__run_zeros, hs__run_pages, freed at the end whatever happens) and
 *               from the pool (hs__pool_scratch, kept for later runs). Outputs are untouched until
 *               nothing can fail any more: a run that fails here leaves them as they were.
 *   4. load Optional: each worker copies its part of the operands before the clock starts. A
 *               platform that is emulated has its data in place when its time begins.
 *   5. work The clock starts. Each worker runs work(job, worker, is_caller) on its own thread, the
 *               calling thread being one of them (run->manner says which workers take part and who
 *               waits for whom). Inside, a worker is an hs__member (member.h): it takes tiles or
 *               tasks, waits for other workers, keeps its emulated pace, and records events.
 *   6. learn A shared run that took long enough tells the pool how fast each worker was
 *               (threads/drift.h). The next plan that shares a product uses that.
 *   7. store Optional: results that were kept aside are copied to the outputs, unless the run was
 *      cancelled.
 *   8. report, close, unlock The kind says what there is to tell; its memory and the run's are
 *      freed; the pool is free again.
 *
 * Ending early. Only the calling thread polls: at least every 50 ms it asks the caller's poll
 * function, which is how Ctrl-C and progress bars reach a run, and looks whether another thread has
 * claimed the pool. Both set run->cancel. Every loop that may take longer than some milliseconds
 * looks at it, so all workers leave work within a tile, and the run returns HS_ERROR_CANCELLED.
 *
 * Waiting. Workers that have a core of their own spin for a short time, then sleep at a signal;
 * workers that share cores sleep at once (hs__await). In a shared run a worker that waits also
 * looks whether the one it waits for has lost its core to another program, and if so gives it its
 * own (hs__pool_rescue).
 *
 * Example: a product of order 1000 on two workers. hs_run_product checks strides and boxes, locks
 * the
 * pool, makes one gang of the two workers, and gives each of them tiles of C in proportion to its
 * speed. In `work` each worker packs its part of the next panel of B, which both use, and
 * multiplies
 * its tiles; when it has finished it takes tiles from the back of the other worker's queue. There
 * is
 * nothing to load or to store. The pool learns the two speeds and is unlocked. */
#ifndef HS_RUN_RUN_H
#define HS_RUN_RUN_H

#include <stdatomic.h>

#include "core/cancel.h"
#include "hetsched.h"
#include "threads/pool.h"

/* What one kind of run does, in this order. A job begins with its hs__run; functions may be NULL
 * but for check, open and work.
 *   check    the arguments; after it, little but memory, a cancel or the pool can refuse the run
 *   open     takes memory, its own and the pool's, which is locked. Nothing is changed before it
 *            has succeeded
 *   load     each worker's part before the clock starts; a cancel ends the run with it
 *   work     each worker's part, by run->manner
 *   lead     the caller's, HS__LED
 *   store    each worker's part after a run that nobody has cancelled
 *   report   what there is to tell; returns the status of the run, which is HS_OK or
 *            HS_ERROR_CANCELLED when it comes
 *   close    frees what is not of the run's own memory, whatever has become of the run since open
 *            began */
typedef struct hs__kind {
    hs_status (*check)(const void *job);
    hs_status (*open)(void *job);
    hs__work *load, *work, *store;
    void (*lead)(void *job);
    hs_status (*report)(void *job, hs_status status);
    void (*close)(void *job);
} hs__kind;

/* A run in progress, as all its workers see it. What they write has cache lines of its own. */
typedef struct hs__run {
    const hs__kind *kind;
    hs_pool *pool;
    int32_t workers;
    hs__manner manner;
    hs_options options;
    hs_trace trace;       /* its event_count is not kept here */
    int32_t *recorded;    /* where that goes, or NULL */
    const double *speeds; /* [workers] of an HS__SHARED run, or NULL for equal ones */
    /* [workers] the work that each has done, if the pool may learn from this HS__SHARED run; else
     * NULL */
    const double *work_of;
    int64_t total;           /* tasks */
    struct hs__owned *owned; /* its memory */
    hs__signal *signals;     /* [signal_count] or NULL */
    int32_t signal_count;
    int cancel;                        /* as in core/cancel.h */
    double start, last_poll, polling;  /* polling: seconds of it */
    _Alignas(64) _Atomic int64_t done; /* tasks */
    /* of all that there was room for, and one for each worker at most */
    _Alignas(64) _Atomic int64_t event_count;
} hs__run;

/* Of a run on that pool; options and trace may be NULL. */
hs__run hs__run_of(const hs__kind *kind, hs_pool *pool, const hs_options *options, hs_trace *trace);

/* Memory of the run, which one thread at a time asks for and which is freed after close: count
 * elements of so many bytes, zero, from a cache line on if they fill whole ones; pages as from
 * hs__allocate_pages. NULL if there is none. */
void *hs__run_zeros(hs__run *run, size_t count, size_t bytes);
void *hs__run_pages(hs__run *run, size_t bytes);

/* Fills in run->signals, which end with the run. 0 if there is no memory. */
int hs__run_signals(hs__run *run, int32_t count);

/* Gives back the memory and the signals. */
void hs__run_free(hs__run *run);

/* All of it. */
hs_status hs__run_do(hs__run *run);

/* The part between lock and unlock, for a thread that holds the pool and arguments that are
 * checked. */
hs_status hs__run_held(hs__run *run);

/* Whether pace and the room for events are in their ranges, and whether `count` (start, end) pairs
 * of transfers are. */
int hs__valid_run(const hs__run *run);
int hs__valid_transfers(const double *transfers, int32_t count);

/* Asks whether the run is to end: whether the pool was claimed, at once, and the poll function, 50
 * ms after it has last answered at the earliest. Only on the calling thread. */
void hs__poll(hs__run *run);

static inline double hs__since_start(const hs__run *run) { return hs_clock() - run->start; }

/* Whether the run wants events. */
static inline int hs__records(const hs__run *run) { return run->trace.event_capacity > 0; }

#endif
