/* What every run on a pool takes and gives: how it is run, and what there is to know of it
 * afterwards. hs_run_x(pool, what, options, trace) runs x on the workers of the pool; its options
 * and its trace, or times, may be NULL. */
#ifndef HETSCHED_RUN_H
#define HETSCHED_RUN_H

#include "hetsched/pool.h"

HS_C_BEGIN

/* Return non-zero to cancel. Called on the thread that called the runner, 50 ms after it has last
 * returned at the earliest, with the fraction of the work done. */
typedef int (*hs_poll_function)(void *context, double fraction);

/* How something is run. NULL is all of it zero: at real speed, and nobody cancels.
 *   pace          [p] seconds of an emulated worker per unit of work, which the runner names, >= 0;
 *                 NULL: real speed
 *   poll          or NULL */
typedef struct hs_options {
    const double *pace;
    hs_poll_function poll;
    void *poll_context;
} hs_options;

/* Of each worker, each array [p] out or NULL.
 *   finish  when it ended, seconds from the start; 0 of one that did not get its core in time to
 *           have a part in a shared run
 *   late    by how much a paced worker missed its last deadline, seconds
 *   busy    CPU seconds that it used for computing */
typedef struct hs_times {
    double *finish, *late, *busy;
} hs_times;

typedef enum hs_event_kind { HS_COMPUTE = 0, HS_TRANSFER = 1 } hs_event_kind;

typedef struct hs_event {
    int32_t worker;
    int32_t kind;      /* hs_event_kind */
    int32_t box;       /* what was worked on, as the runner numbers it */
    double start, end; /* seconds from the start of the run */
} hs_event;

/* What is recorded of a run.
 *   events       [capacity] out, may be NULL with capacity 0; a full array ends the recording, not
 *                the run
 *   event_count  out, also after HS_ERROR_CANCELLED, as the rest is */
typedef struct hs_trace {
    hs_event *events;
    int32_t event_capacity;
    int32_t event_count;
    hs_times times;
} hs_trace;

HS_C_END
#endif
