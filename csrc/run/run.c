/* The steps that all kinds of runs share (run.h), and the memory, the polling and the cancel of a
 * run. */
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "threads/arena.h"

/* Header of each piece of a run's memory. */
typedef struct hs__owned {
    struct hs__owned *next;
    void *pages; /* or NULL */
} owned;

hs__run hs__run_of(const hs__kind *kind, hs_pool *pool, const hs_options *options, hs_trace *trace)
{
    hs__run run = {.kind = kind, .pool = pool, .workers = hs__pool_size(pool)};
    if (options) run.options = *options;
    if (trace) {
        run.trace = *trace;
        run.recorded = &trace->event_count;
    }
    return run;
}

void hs__run_together(hs__run *run)
{
    if (!run->options.pace) run->sharing = HS__TOGETHER;
}

void *hs__run_zeros(hs__run *run, size_t count, size_t bytes)
{
    enum { LINE = 64 };
    const size_t before = bytes % LINE ? sizeof(owned) : LINE;
    void *memory = NULL;
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all) || __builtin_add_overflow(all, before, &all))
        return NULL;
    if (bytes % LINE) memory = malloc(all);
    else if (posix_memalign(&memory, LINE, all)) return NULL;
    if (!memory) return NULL;
    owned *piece = memset(memory, 0, all);
    piece->next = run->owned;
    run->owned = piece;
    return (char *)memory + before;
}

void *hs__run_pages(hs__run *run, size_t bytes)
{
    return hs__run_zeros(run, 0, 1) ? run->owned->pages = hs__allocate_pages(bytes) : NULL;
}

int hs__run_signals(hs__run *run, int32_t count)
{
    run->signal_count = count;
    return (run->signals = hs__signals_open(count)) != NULL;
}

void hs__run_free(hs__run *run)
{
    hs__signals_close(run->signals, run->signal_count);
    for (owned *piece; (piece = run->owned);) {
        run->owned = piece->next;
        free(piece->pages);
        free(piece);
    }
}

int hs__valid_run(const hs__run *run)
{
    const double *pace = run->options.pace;
    if (run->trace.event_capacity < 0 || (run->trace.event_capacity > 0 && !run->trace.events))
        return 0;
    for (int32_t w = 0; pace && w < run->workers; w++)
        if (!(pace[w] >= 0.0 && isfinite(pace[w]))) return 0;
    return 1;
}

int hs__valid_transfers(const double *transfers, int32_t count)
{
    for (int32_t i = 0; transfers && i < count; i++) {
        const double *at = transfers + 2 * (size_t)i;
        if (!(at[0] >= 0.0 && at[1] >= at[0] && isfinite(at[1]))) return 0;
    }
    return 1;
}

static void cancel_run(hs__run *run)
{
    hs__cancel(&run->cancel);
    if (run->lease) hs__pool_wake(run->lease);
}

void hs__poll(hs__run *run)
{
    if (hs__cancelled(&run->cancel)) return;
    if (hs__pool_is_claimed(run->pool)) {
        cancel_run(run);
        return;
    }
    if (!run->options.poll) return;
    const double now = hs_clock();
    if (now - run->last_poll < 0.05) return;
    const double done = (double)atomic_load_explicit(&run->done, memory_order_relaxed);
    if (run->lease) hs__pool_step_out(run->lease);
    if (run->options.poll(run->options.poll_context,
                          run->total ? fmin(done / (double)run->total, 1.0) : 1.0))
        cancel_run(run);
    if (run->lease) hs__pool_step_in(run->lease);
    /* Counted from the end of the poll, so that work continues for as long between two polls,
     * however long a poll or the way back to the caller's core takes. */
    run->last_poll = hs_clock();
    run->polling += run->last_poll - now;
}

static void poll_now(void *job) { hs__poll(job); }

static void start_clock(hs__run *run) { run->start = run->last_poll = hs_clock(); }

/* Clears the outputs of the workers that will have no part in the run. */
static void clear_times(const hs__run *run)
{
    double *const outputs[] = {run->trace.times.finish, run->trace.times.late,
                               run->trace.times.busy};
    for (int i = 0; i < 3; i++)
        for (int32_t w = 0; outputs[i] && w < run->workers; w++) outputs[i][w] = 0.0;
}

/* Lets the pool learn from the run, unless the caller spent much of it in poll functions or other
 * callers had workers meanwhile. */
static void learn_speeds(const hs__run *run)
{
    const double seconds = hs__since_start(run);
    if (run->polling < 0.05 * seconds && !hs__cancelled(&run->cancel) &&
        hs__lease_was_alone(run->lease))
        hs__drift_learn(hs__pool_drift(run->pool), run->speeds, run->work_of, seconds);
}

static hs_status perform_steps(hs__run *run)
{
    const hs__kind *kind = run->kind;
    start_clock(run);
    if (kind->load) hs__pool_run(run->lease, HS__EACH, kind->load, NULL, run, poll_now);
    if (!hs__cancelled(&run->cancel)) {
        start_clock(run);
        hs__pool_run(run->lease, run->unaided ? HS__ALONE : run->manner, kind->work, kind->lead,
                     run, poll_now);
        if (run->manner == HS__SHARED && !run->unaided && run->work_of) learn_speeds(run);
    }
    const int64_t count = atomic_load(&run->event_count);
    const int64_t capacity = run->trace.event_capacity;
    if (run->recorded) *run->recorded = (int32_t)(count < capacity ? count : capacity);
    const hs_status status = hs__cancelled(&run->cancel) ? HS_ERROR_CANCELLED : HS_OK;
    if (!status && kind->store) hs__pool_run(run->lease, HS__EACH, kind->store, NULL, run, NULL);
    return kind->report ? kind->report(run, status) : status;
}

/* The kind has cut the work for all workers, so the result is the same either way. */
static void decide_unaided(hs__run *run)
{
    if (run->manner != HS__BRIEF && run->manner != HS__MEDIUM) return;
    run->unaided = hs__pool_prefers_caller(run->pool, run->manner);
    run->manner = HS__SHARED;
}

hs_status hs__run_locked(hs__run *run)
{
    if (run->recorded) *run->recorded = 0;
    clear_times(run);
    hs_status status = run->manner == HS__LED && !hs__pool_has_threads(run->pool)
                           ? HS_ERROR_THREAD
                           : run->kind->open(run);
    decide_unaided(run);
    if (!status) status = perform_steps(run);
    if (run->kind->close) run->kind->close(run);
    hs__run_free(run);
    return status;
}

hs_status hs__run_do(hs__run *run)
{
    if (!hs__valid_run(run)) return HS_ERROR_VALUE;
    hs_status status = run->kind->check(run);
    if (status) return status;
    status = hs__pool_lock(run->pool, run->sharing, run->options.poll, run->options.poll_context,
                           &run->lease);
    if (status) {
        if (run->recorded) *run->recorded = 0;
        return status;
    }
    status = hs__run_locked(run);
    hs__pool_unlock(run->lease);
    return status;
}
