/* One worker of a run. What the workers of all kinds of runs do besides their work: they keep an
 * emulated pace, record events, and wait for other workers. */
#ifndef HS_RUN_MEMBER_H
#define HS_RUN_MEMBER_H

#include "run/run.h"

/* One worker of a run.
 *   box        what it works on
 *   event      index of its last event, -1: none
 *   deadline   when a paced worker ends what it has begun, in seconds from the start of the run */
typedef struct hs__member {
    hs__run *run;
    int32_t worker, is_caller, box, event;
    double deadline, cpu_start;
} hs__member;

hs__member hs__member_start(hs__run *run, int32_t worker, int is_caller);
/* Fills in the worker's finish, late and busy times. */
void hs__member_end(hs__member *self);

static inline int hs__stopped(const hs__member *self) { return hs__cancelled(&self->run->cancel); }

/* Records an event. It extends the worker's last event if kind and box are the same and there is no
 * gap. */
void hs__record(hs__member *self, hs_event_kind kind, double start, double end);

/* Counts one ended task of run->total. */
static inline void hs__count_task(hs__run *run)
{
    atomic_fetch_add_explicit(&run->done, 1, memory_order_relaxed);
}

/* Polls if this is the calling thread. Returns whether the run was cancelled. */
int hs__attend(hs__member *self);

/* Called now and then while a worker waits for other workers: attends to the run. In a shared run
 * of workers with cores of their own it also rescues a worker that has lost its core
 * (hs__pool_rescue). */
void hs__help_along(void *member);

enum { HS__SLEEP = 20 }; /* longest sleep in milliseconds before a cancel or a poll is noticed */
/* seconds of spinning before a sleep where the wait is likely to be short */
static const double HS__SHORT_SPIN = 50e-6;
/* Waits until ready(what), or for a cancel. Workers with cores of their own first spin for `spin`
 * seconds; then the worker sleeps at the signal `own`. The thread that makes it ready stores the
 * change with sequential consistency, then sends the signal. */
void hs__await(hs__member *self, hs__signal *own, double spin, hs__ready *ready, const void *what);

/* Waits, in a shared run, for an event that other workers will cause within microseconds. If each
 * worker has a core of its own it spins: the more often it looks, the shorter the wait. Else it
 * sleeps at the run's signal, since a spinning thread would keep the other workers from their work.
 * They send the signal when the event is worth waking a thread for. */
void hs__await_others(hs__member *self, hs__ready *ready, const void *what);

/* Waits until a counter reaches a value. See hs__await, with HS__SHORT_SPIN as `spin`. */
void hs__await_count(hs__member *self, hs__signal *own, const _Atomic int64_t *counter,
                     int64_t value);

/* Sleeps until `until` seconds from the start of the run, or a cancel. The caller, which polls,
 * sleeps in short pieces; other workers sleep without waking in between. */
void hs__sleep_until(hs__member *self, double until);

/* Emulate a transfer [start, end], in seconds from the start of the run, of the data that a piece
 * of work needs. hs__await_transfer is called before the work: it waits for the start of the
 * transfer if the two overlap, else for its end. hs__end_transfer is called after the work: it
 * waits for the end of the transfer. A transfer that takes no time is ignored. */
void hs__await_transfer(hs__member *self, const double transfer[2], int overlap);
void hs__end_transfer(hs__member *self, const double transfer[2]);

/* Moves the deadline of a paced worker on by `work` and sleeps until then. So the emulated worker
 * computes all the time, and the thread of this machine only a part of it. */
void hs__keep_pace(hs__member *self, double work);

#endif
