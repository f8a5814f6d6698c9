/* What every executor's worker does besides its work: it keeps an emulated pace, records events, looks for a cancel. */
#ifndef HS_EXEC_MEMBER_H
#define HS_EXEC_MEMBER_H

#include <pthread.h>

#include "hetsched.h"
#include "threads/pool.h"

/* A run in progress, as all its workers see it. */
typedef struct hs__course {
    hs_run *run;
    hs_pool *pool;
    double start, last_poll, polling; /* polling: seconds of it */
    int64_t event_count; /* atomic: of all that there was room for, and one for each worker at most */
    int cancel;          /* atomic */
    int64_t done;        /* atomic: of `total` tiles */
    int64_t total;
} hs__course;

/* Seconds of a core that this thread has had. */
double hs__cpu_clock(void);

/* One worker of it. box is what it works on; event the index of its last event, -1 for none; deadline when a paced worker ends
 * what it has begun, in seconds from the start. */
typedef struct hs__member {
    hs__course *course;
    int32_t worker, is_caller, box, event;
    double deadline, cpu_start;
} hs__member;

/* Whether speeds, pace and receive of a run are in their ranges. */
int hs__valid_run(const hs_run *run, int32_t workers);

/* Zeros for the workers that will have no part in the run. */
void hs__run_clear(const hs_run *run, int32_t workers);

void hs__course_start(hs__course *course, hs_run *run);
/* Fills in run->event_count; the status of the run. */
hs_status hs__course_end(hs__course *course);

/* At the end of a shared run in which done[w] was the work of worker w: the pool learns, unless the caller was busy otherwise. */
void hs__course_learn(const hs__course *course, const double *done);

hs__member hs__member_start(hs__course *course, int32_t worker, int is_caller);
/* Fills in finish, late and busy. */
void hs__member_end(hs__member *self);

int hs__cancelled(const hs__course *course);
double hs__since_start(const hs__course *course);

/* Whether the run wants events. */
static inline int hs__records(const hs_run *run) { return run->event_capacity > 0; }

/* One event for a box, unless there is a gap. */
void hs__record(hs__member *self, hs_event_kind kind, double start, double end);

/* Asks the run's poll function, at most 20 times a second. Only on the calling thread. */
void hs__poll(void *course);

/* Polls if this is the calling thread's part; whether the run was cancelled. */
int hs__attend(hs__member *self);

/* While it waits for others of a shared run, whose workers have cores of their own: polls, and sees to those who have lost theirs. */
void hs__help_along(hs__member *self);

/* A busy wait for the same. */
static inline void hs__look_again(hs__member *self, unsigned *rounds)
{
    hs__relax(rounds);
    if (*rounds % 1024 == 0) hs__help_along(self);
}

/* Sleeps until `until` seconds from the start, in pieces short enough to notice a cancel. */
void hs__sleep_until(hs__member *self, double until);

/* Of a member that sleeps until another one has gone on. */
typedef struct hs__bell {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int asleep; /* atomic */
} __attribute__((aligned(64))) hs__bell;

/* NULL: no memory. Closing NULL is allowed. */
hs__bell *hs__bells_open(int32_t count);
void hs__bells_close(hs__bell *bells, int32_t count);

/* Waits until ready(what), or a cancel. Who makes it ready stores that, with sequential consistency, then rings. */
typedef int hs__ready(const void *what);
void hs__await(hs__member *self, hs__bell *own, hs__ready *ready, const void *what);
void hs__ring(hs__bell *bell);

/* A paced worker: moves the deadline on by `work` and sleeps until then. The emulated worker computes all the time, the host's
 * thread only some of it. */
void hs__keep_pace(hs__member *self, double work);

#endif
