/* A worker's part in a run (run/member.h): its times, events, waits, and emulated pace. */
#define _GNU_SOURCE
#include "run/member.h"

#include <math.h>
#include <time.h>

#include "core/clock.h"

hs__member hs__member_start(hs__run *run, int32_t worker, int is_caller)
{
    const double cpu_start = run->trace.times.busy ? hs__cpu_clock() : 0.0;
    return (hs__member){.run = run,
                        .worker = worker,
                        .is_caller = is_caller,
                        .box = -1,
                        .event = -1,
                        .cpu_start = cpu_start};
}

void hs__member_end(hs__member *self)
{
    const hs_times *times = &self->run->trace.times;
    const int32_t w = self->worker;
    const double now = hs__since_start(self->run);
    if (times->finish) times->finish[w] = now;
    if (times->late) times->late[w] = self->run->options.pace ? now - self->deadline : 0.0;
    if (times->busy) times->busy[w] = hs__cpu_clock() - self->cpu_start;
}

void hs__record(hs__member *self, hs_event_kind kind, double start, double end)
{
    hs__run *run = self->run;
    hs_trace *trace = &run->trace;
    if (!hs__records(run)) return;
    if (self->event >= 0) {
        hs_event *last = &trace->events[self->event];
        if (last->kind == (int32_t)kind && last->box == self->box && start - last->end < 20e-6) {
            last->end = end;
            return;
        }
    }
    /* Do not count further once the trace is full: in a run of hours the counter would wrap. */
    if (atomic_load_explicit(&run->event_count, memory_order_relaxed) >= trace->event_capacity)
        return;
    const int64_t at = atomic_fetch_add_explicit(&run->event_count, 1, memory_order_relaxed);
    if (at >= trace->event_capacity) return;
    trace->events[at] = (hs_event){
        .worker = self->worker, .kind = kind, .box = self->box, .start = start, .end = end};
    self->event = (int32_t)at;
}

int hs__attend(hs__member *self)
{
    if (self->is_caller) hs__poll(self->run);
    return hs__stopped(self);
}

void hs__help_along(void *member)
{
    hs__member *self = member;
    if (!hs__attend(self) && self->run->manner == HS__SHARED)
        hs__pool_rescue(self->run->lease, self->worker);
}

void hs__await(hs__member *self, hs__signal *own, double spin, hs__ready *ready, const void *what)
{
    const hs__run *run = self->run;
    const hs__wait wait = {.ready = ready,
                           .what = what,
                           .cancel = &run->cancel,
                           .meanwhile = hs__help_along,
                           .context = self,
                           .spin = hs__pool_spins(run->pool) ? spin : 0.0,
                           .sleep = hs__pool_look_interval(run->pool, run->manner == HS__SHARED)};
    hs__wait_until(&wait, own);
}

void hs__await_others(hs__member *self, hs__ready *ready, const void *what)
{
    enum { LOOK = 2 };
    hs__signal *signal = self->run->signals;
    const hs__wait wait = {.ready = ready,
                           .what = what,
                           .cancel = &self->run->cancel,
                           .meanwhile = hs__help_along,
                           .context = self,
                           .spin = signal ? 0.0 : INFINITY,
                           .sleep = LOOK};
    hs__wait_until(&wait, signal);
}

typedef struct {
    const _Atomic int64_t *counter;
    int64_t value;
} counter_goal;

static int is_reached(const void *what)
{
    const counter_goal *goal = what;
    return atomic_load(goal->counter) >= goal->value;
}

void hs__await_count(hs__member *self, hs__signal *own, const _Atomic int64_t *counter,
                     int64_t value)
{
    hs__await(self, own, HS__SHORT_SPIN, is_reached, &(counter_goal){counter, value});
}

void hs__sleep_until(hs__member *self, double until)
{
    hs__run *run = self->run;
    if (!self->is_caller) {
        hs__pool_sleep(run->lease, self->worker, run->start + until, &run->cancel);
        return;
    }
    while (!hs__attend(self)) {
        const double left = fmin(until - hs__since_start(run), 1e-3 * HS__SLEEP);
        if (left <= 0.0) return;
        nanosleep(&(struct timespec){.tv_nsec = (long)(left * 1e9)}, NULL);
    }
}

void hs__keep_pace(hs__member *self, double work)
{
    self->deadline += work * self->run->options.pace[self->worker];
    hs__sleep_until(self, self->deadline);
}

static void wait_for(hs__member *self, double until)
{
    hs__sleep_until(self, until);
    self->deadline = fmax(self->deadline, until);
}

void hs__await_transfer(hs__member *self, const double transfer[2], int overlap)
{
    if (transfer[1] > transfer[0]) wait_for(self, transfer[!overlap]);
}

void hs__end_transfer(hs__member *self, const double transfer[2])
{
    if (!(transfer[1] > transfer[0])) return;
    wait_for(self, transfer[1]);
    hs__record(self, HS_TRANSFER, transfer[0], transfer[1]);
}
