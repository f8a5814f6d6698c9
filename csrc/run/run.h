/* One run on a pool, from the check of its arguments to the last free: what is the same for all kinds of them. */
#ifndef HS_RUN_RUN_H
#define HS_RUN_RUN_H

#include <stdatomic.h>

#include "core/cancel.h"
#include "hetsched.h"
#include "threads/pool.h"

/* What one kind of run does, in this order. A job begins with its hs__run; functions may be NULL but for check, open and work.
 *   check    the arguments; after it, little but memory, a cancel or the pool can refuse the run
 *   open     takes memory, its own and the pool's, which is locked. Nothing is changed before it has succeeded
 *   load     each worker's part before the clock starts; a cancel ends the run with it
 *   work     each worker's part, by run->manner
 *   lead     the caller's, HS__LED
 *   store    each worker's part after a run that nobody has cancelled
 *   report   what there is to tell; returns the status of the run, which is HS_OK or HS_ERROR_CANCELLED when it comes
 *   close    frees what is not of the run's own memory, whatever has become of the run since open began */
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
    hs_trace trace;         /* its event_count is not kept here */
    int32_t *recorded;      /* where that goes, or NULL */
    const double *speeds;   /* [workers] of an HS__SHARED run, or NULL for equal ones */
    const double *work_of;  /* [workers] the work that each has done, if the pool may learn from this HS__SHARED run; else NULL */
    int64_t total;          /* tasks */
    struct hs__owned *owned; /* its memory */
    hs__signal *signals;    /* [signal_count] or NULL */
    int32_t signal_count;
    int cancel;             /* as in core/cancel.h */
    double start, last_poll, polling; /* polling: seconds of it */
    _Alignas(64) _Atomic int64_t done; /* tasks */
    _Alignas(64) _Atomic int64_t event_count; /* of all that there was room for, and one for each worker at most */
} hs__run;

/* Of a run on that pool; options and trace may be NULL. */
hs__run hs__run_of(const hs__kind *kind, hs_pool *pool, const hs_options *options, hs_trace *trace);

/* Memory of the run, which one thread at a time asks for and which is freed after close: count elements of so many bytes, zero, from a
 * cache line on if they fill whole ones; pages as from hs__allocate_pages. NULL if there is none. */
void *hs__run_zeros(hs__run *run, size_t count, size_t bytes);
void *hs__run_pages(hs__run *run, size_t bytes);

/* Fills in run->signals, which end with the run. 0 if there is no memory. */
int hs__run_signals(hs__run *run, int32_t count);

/* Gives back the memory and the signals. */
void hs__run_free(hs__run *run);

/* All of it. */
hs_status hs__run_do(hs__run *run);

/* The part between lock and unlock, for a thread that holds the pool and arguments that are checked. */
hs_status hs__run_held(hs__run *run);

/* Whether pace and the room for events are in their ranges, and whether `count` (start, end) pairs of transfers are. */
int hs__valid_run(const hs__run *run);
int hs__valid_transfers(const double *transfers, int32_t count);

/* Asks whether the run is to end: whether the pool was claimed, at once, and the poll function, 50 ms after it has last answered
 * at the earliest. Only on the calling thread. */
void hs__poll(hs__run *run);

static inline double hs__since_start(const hs__run *run) { return hs_clock() - run->start; }

/* Whether the run wants events. */
static inline int hs__records(const hs__run *run) { return run->trace.event_capacity > 0; }

#endif
