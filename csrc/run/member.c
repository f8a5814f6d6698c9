#define _GNU_SOURCE
#include "run/member.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A member looks this long for another's progress before it sleeps. */
static const double spin_seconds = 50e-6;

double hs__cpu_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int hs__valid_run(const hs_run *run, int32_t workers)
{
    double total_speed = 0.0;
    if (run->event_capacity < 0 || (run->event_capacity > 0 && !run->events)) return 0;
    for (int32_t i = 0; i < workers; i++) {
        if (run->speeds) total_speed += run->speeds[i];
        if (run->speeds && !(run->speeds[i] >= 0.0 && isfinite(run->speeds[i]))) return 0;
        if (run->pace && !(run->pace[i] >= 0.0 && isfinite(run->pace[i]))) return 0;
    }
    for (int32_t i = 0; i < run->box_count && run->receive; i++) {
        const double *at = run->receive + 2 * (size_t)i;
        if (!(at[0] >= 0.0 && at[1] >= at[0] && isfinite(at[1]))) return 0;
    }
    return !run->speeds || (total_speed > 0.0 && isfinite(total_speed));
}

void hs__run_clear(const hs_run *run, int32_t workers)
{
    double *const outputs[] = {run->finish, run->late, run->busy};
    for (int i = 0; i < 3; i++)
        for (int32_t w = 0; outputs[i] && w < workers; w++) outputs[i][w] = 0.0;
}

void hs__course_start(hs__course *course, hs_run *run)
{
    course->run = run;
    course->start = course->last_poll = hs_clock();
}

hs_status hs__course_end(hs__course *course)
{
    hs_run *run = course->run;
    run->event_count = course->event_count < run->event_capacity ? (int32_t)course->event_count : run->event_capacity;
    return hs__cancelled(course) ? HS_ERROR_CANCELLED : HS_OK;
}

void hs__course_learn(const hs__course *course, const double *done)
{
    const double seconds = hs__since_start(course);
    if (course->polling < 0.05 * seconds && !hs__cancelled(course)) hs__drift_learn(hs__pool_drift(course->pool), course->run->speeds, done, seconds);
}

hs__member hs__member_start(hs__course *course, int32_t worker, int is_caller)
{
    const double cpu_start = course->run->busy ? hs__cpu_clock() : 0.0;
    return (hs__member){.course = course, .worker = worker, .is_caller = is_caller, .box = -1, .event = -1, .cpu_start = cpu_start};
}

void hs__member_end(hs__member *self)
{
    hs_run *run = self->course->run;
    const int32_t w = self->worker;
    const double now = hs__since_start(self->course);
    if (run->finish) run->finish[w] = now;
    if (run->late) run->late[w] = run->pace ? now - self->deadline : 0.0;
    if (run->busy) run->busy[w] = hs__cpu_clock() - self->cpu_start;
}

int hs__cancelled(const hs__course *course) { return __atomic_load_n(&course->cancel, __ATOMIC_RELAXED); }

double hs__since_start(const hs__course *course) { return hs_clock() - course->start; }

void hs__record(hs__member *self, hs_event_kind kind, double start, double end)
{
    hs_run *run = self->course->run;
    if (!hs__records(run)) return;
    if (self->event >= 0) {
        hs_event *last = &run->events[self->event];
        if (last->kind == (int32_t)kind && last->box == self->box && start - last->end < 20e-6) {
            last->end = end;
            return;
        }
    }
    int64_t *count = &self->course->event_count;
    if (__atomic_load_n(count, __ATOMIC_RELAXED) >= run->event_capacity) return; /* for hours, maybe: a counter that went on would wrap */
    const int64_t at = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    if (at >= run->event_capacity) return;
    run->events[at] = (hs_event){.worker = self->worker, .kind = kind, .box = self->box, .start = start, .end = end};
    self->event = (int32_t)at;
}

void hs__poll(void *context)
{
    hs__course *c = context;
    if (!c->run->poll || hs__cancelled(c)) return;
    double now = hs_clock();
    if (now - c->last_poll < 0.05) return;
    c->last_poll = now;
    double fraction = c->total ? (double)__atomic_load_n(&c->done, __ATOMIC_RELAXED) / (double)c->total : 1.0;
    if (c->pool) hs__pool_step_out(c->pool);
    if (c->run->poll(c->run->poll_context, fraction)) __atomic_store_n(&c->cancel, 1, __ATOMIC_RELAXED);
    if (c->pool) hs__pool_step_in(c->pool);
    c->polling += hs_clock() - now;
}

int hs__attend(hs__member *self)
{
    if (self->is_caller) hs__poll(self->course);
    return hs__cancelled(self->course);
}

void hs__help_along(hs__member *self)
{
    if (!hs__attend(self) && self->course->run->cooperative) hs__pool_rescue(self->course->pool, self->worker);
}

void hs__sleep_until(hs__member *self, double until)
{
    while (!hs__cancelled(self->course)) {
        if (self->is_caller) hs__poll(self->course);
        double left = until - hs__since_start(self->course);
        if (left <= 0.0) return;
        if (left > 0.02) left = 0.02;
        struct timespec pause = {.tv_nsec = (long)(left * 1e9)};
        nanosleep(&pause, NULL);
    }
}

hs__bell *hs__bells_open(int32_t count)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (size_t)count * sizeof(hs__bell))) return NULL;
    hs__bell *bells = memset(memory, 0, (size_t)count * sizeof *bells);
    for (int32_t i = 0; i < count; i++) {
        pthread_mutex_init(&bells[i].lock, NULL);
        hs__condition_init(&bells[i].wake);
    }
    return bells;
}

void hs__bells_close(hs__bell *bells, int32_t count)
{
    for (int32_t i = 0; bells && i < count; i++) {
        pthread_mutex_destroy(&bells[i].lock);
        pthread_cond_destroy(&bells[i].wake);
    }
    free(bells);
}

void hs__await(hs__member *self, hs__bell *own, hs__ready *ready, const void *what)
{
    if (ready(what)) return;
    unsigned rounds = 0;
    if (hs__pool_spins(self->course->pool))
        for (double until = hs_clock() + spin_seconds; hs_clock() < until;)
            for (int i = 0; i < 32; i++) {
                if (ready(what)) return;
                hs__relax(&rounds);
            }
    while (!ready(what) && !hs__cancelled(self->course)) {
        /* Either this sees that it is ready, or who made it so sees that this is asleep: both sides store, then load. */
        pthread_mutex_lock(&own->lock);
        __atomic_store_n(&own->asleep, 1, __ATOMIC_SEQ_CST);
        if (!ready(what)) hs__condition_wait(&own->wake, &own->lock, 20);
        __atomic_store_n(&own->asleep, 0, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&own->lock);
        if (self->is_caller) hs__poll(self->course);
    }
}

void hs__ring(hs__bell *bell)
{
    if (!__atomic_load_n(&bell->asleep, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&bell->lock);
    pthread_cond_signal(&bell->wake);
    pthread_mutex_unlock(&bell->lock);
}

void hs__keep_pace(hs__member *self, double work)
{
    self->deadline += work * self->course->run->pace[self->worker];
    hs__sleep_until(self, self->deadline);
}
