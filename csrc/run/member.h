/* What every runner's worker does besides its work: it keeps an emulated pace, records events,
 * waits for others. */
#ifndef HS_RUN_MEMBER_H
#define HS_RUN_MEMBER_H

#include "run/run.h"

/* Seconds of a core that this thread has had. */
double hs__cpu_clock(void);

/* One worker of a run. box is what it works on; event the index of its last event, -1 for none;
 * deadline when a paced worker ends what it has begun, in seconds from the start. */
typedef struct hs__member {
    hs__run *run;
    int32_t worker, is_caller, box, event;
    double deadline, cpu_start;
} hs__member;

hs__member hs__member_start(hs__run *run, int32_t worker, int is_caller);
/* Fills in finish, late and busy. */
void hs__member_end(hs__member *self);

static inline int hs__stopped(const hs__member *self) { return hs__cancelled(&self->run->cancel); }

/* One event for a box, unless there is a gap. */
void hs__record(hs__member *self, hs_event_kind kind, double start, double end);

/* A task of run->total has ended. */
static inline void hs__count_task(hs__run *run)
{
    atomic_fetch_add_explicit(&run->done, 1, memory_order_relaxed);
}

/* Polls if this is the calling thread's part; whether the run was cancelled. */
int hs__attend(hs__member *self);

/* While it waits for others: attends, and in a shared run whose workers have cores of their own
 * sees to those who have lost theirs. */
void hs__help_along(void *member);

/* Waits until ready(what), or a cancel: looks for `spin` seconds, where workers have cores of their
 * own, then sleeps at `own`. Who makes it ready stores that, with sequential consistency, then
 * sends the signal. */
enum { HS__SLEEP = 20 }; /* milliseconds: a cancel or a poll waits no longer */
static const double HS__GLANCE = 50e-6;
void hs__await(hs__member *self, hs__signal *own, double spin, hs__ready *ready, const void *what);

/* In a shared run, for what others do in a moment: short, and the more so the more often it is
 * looked at, where each has a core of its own; else the run has a signal, for a thread that looks
 * keeps them from it. They send it when that is worth waking somebody. */
void hs__await_others(hs__member *self, hs__ready *ready, const void *what);

/* As hs__await, after a glance, for a counter that is to reach a value. */
void hs__await_count(hs__member *self, hs__signal *own, const _Atomic int64_t *counter,
                     int64_t value);

/* Sleeps until `until` seconds from the start, or a cancel: the caller, who polls, in pieces,
 * others without waking in between. */
void hs__sleep_until(hs__member *self, double until);

/* An emulated transfer, [start, end] in seconds from the start of the run, before the work on what
 * it brings and after it: this begins with the transfer if they overlap, else at its end, and ends
 * no earlier. One that takes no time is none. */
void hs__await_transfer(hs__member *self, const double transfer[2], int overlap);
void hs__end_transfer(hs__member *self, const double transfer[2]);

/* A paced worker: moves the deadline on by `work` and sleeps until then. The emulated worker
 * computes all the time, the host's thread only some of it. */
void hs__keep_pace(hs__member *self, double work);

#endif
