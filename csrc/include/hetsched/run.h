/* Options and records that all runs on a pool have in common. hs_run_x(pool, what, options, trace)
 * runs x on the workers of the pool; its options and its trace, or times, may be NULL. */
#ifndef HETSCHED_RUN_H
#define HETSCHED_RUN_H

#include "hetsched/pool.h"

HS_C_BEGIN

/* Returns non-zero to cancel the run. It is called on the thread that called the runner, with the
 * fraction of the work that is done, at the earliest 50 ms after it last returned. */
typedef int (*hs_poll_function)(void *context, double fraction);

/* How something is run. NULL means that all fields are zero: the run has real speed, and no poll
 * function that could cancel it.
 *   pace  [p] seconds that an emulated worker takes per unit of work, >= 0; the runner names the
 *         unit. NULL: real speed
 *   poll  or NULL */
typedef struct hs_options {
    const double *pace;
    hs_poll_function poll;
    void *poll_context;
} hs_options;

/* Times of each worker, each array [p] out or NULL.
 *   finish  when it ended, in seconds from the start; 0 for a worker that did not get its core in
 *           time to take part in a shared run
 *   late    by how many seconds a paced worker missed its last deadline
 *   busy    CPU seconds that it used for computing */
typedef struct hs_times {
    double *finish, *late, *busy;
} hs_times;

typedef enum hs_event_kind { HS_COMPUTE = 0, HS_TRANSFER = 1 } hs_event_kind;

typedef struct hs_event {
    int32_t worker;
    int32_t kind;      /* hs_event_kind */
    int32_t box;       /* what the worker worked on, as the runner numbers it */
    double start, end; /* seconds from the start of the run */
} hs_event;

/* The record of a run.
 *   events       [capacity] out, may be NULL with capacity 0; when the array is full, the recording
 *                ends, not the run
 *   event_count  out; like all of the trace, also after HS_ERROR_CANCELLED */
typedef struct hs_trace {
    hs_event *events;
    int32_t event_capacity;
    int32_t event_count;
    hs_times times;
} hs_trace;

HS_C_END
#endif
