/* Runs programs of phases (phases.h). */
#include "run/phases.h"

#include <math.h>

typedef struct {
    hs__run run;
    hs__phases phases;
    hs__manner manner;
    size_t scratch;
    hs__phase_program *program;
    void *context;
} phase_run;

/* seconds of spinning before a worker sleeps: phases are short, and to be woken takes as long as a
 * short task */
static const double PHASE_SPIN = 1e-3;

/* ---- one phase ------------------------------------------------------------------------------- */

static uint32_t phase_of(uint64_t next) { return (uint32_t)(next >> 32); }

typedef struct {
    const hs__phases *phases;
    uint32_t phase;
} phase_goal;

static int has_ended(const void *what)
{
    const phase_goal *goal = what;
    return phase_of(atomic_load(&goal->phases->next)) != goal->phase;
}

/* Takes a task of the worker's phase. Returns -1 if none is left or the phase has ended. A worker
 * that has read the counter and is late to raise it fails, since the number of the phase is in the
 * same word. */
static int32_t take_task(const hs__walk *walk, int32_t count)
{
    uint64_t next = atomic_load(&walk->phases->next);
    while (phase_of(next) == walk->phase && (int32_t)(uint32_t)next < count)
        if (atomic_compare_exchange_weak(&walk->phases->next, &next, next + 1))
            return (int32_t)(uint32_t)next;
    return -1;
}

/* Counts a task as ended. The last one ends the phase. */
static void end_task(hs__walk *walk, int32_t count)
{
    hs__phases *phases = walk->phases;
    hs__count_task(walk->self.run);
    if (hs__stopped(&walk->self) || atomic_fetch_add(&phases->ended, 1) + 1 < count) return;
    atomic_store(&phases->ended, 0);
    atomic_store(&phases->next, (uint64_t)(walk->phase + 1) << 32);
    hs__signal_send(walk->self.run->signals);
}

/* Waits for the end of the phase. Returns non-zero after a cancel. */
static int end_phase(hs__walk *walk)
{
    const phase_goal goal = {walk->phases, walk->phase};
    hs__await(&walk->self, walk->self.run->signals, PHASE_SPIN, has_ended, &goal);
    walk->phase++;
    return hs__stopped(&walk->self);
}

int hs__phase(hs__walk *walk, int32_t count, hs__phase_task *task, void *context)
{
    hs__member *self = &walk->self;
    const int records = hs__records(self->run) && !walk->planned;
    if (count <= 0) return hs__stopped(self);
    for (int32_t i; !hs__attend(self) && (i = take_task(walk, count)) >= 0;) {
        const double start = records ? hs__since_start(self->run) : 0.0;
        self->box = (int32_t)walk->phase;
        task(context, i, walk);
        if (records) hs__record(self, HS_COMPUTE, start, hs__since_start(self->run));
        end_task(walk, count);
    }
    return end_phase(walk);
}

/* ---- a phase by a plan ----------------------------------------------------------------------- */

static void raise_time(_Atomic double *latest, double time)
{
    double known = atomic_load(latest);
    while (known < time && !atomic_compare_exchange_weak(latest, &known, time)) continue;
}

/* Does a task of the worker, and lets it last as long as the plan says. */
static void do_own_task(hs__walk *walk, int32_t index, hs__phase_task *task, void *context,
                        const hs__phase_owners *owners)
{
    hs__member *self = &walk->self;
    const int paced = self->run->options.pace != NULL;
    const double start = paced ? self->deadline : hs__since_start(self->run);
    self->box = owners->box + index;
    task(context, index, walk);
    if (hs__stopped(self)) return;
    if (paced) {
        self->deadline += owners->seconds_of(context, index, walk);
        raise_time(owners->latest, self->deadline);
        hs__sleep_until(self, self->deadline);
    }
    hs__record(self, HS_COMPUTE, start, paced ? self->deadline : hs__since_start(self->run));
}

int hs__phase_owned(hs__walk *walk, int32_t count, hs__phase_task *task, void *context,
                    const hs__phase_owners *owners)
{
    hs__member *self = &walk->self;
    if (count <= 0) return hs__stopped(self);
    for (int32_t i = 0; i < count && !hs__attend(self); i++) {
        if (owners->worker_of(context, i) != self->worker) continue;
        do_own_task(walk, i, task, context, owners);
        end_task(walk, count);
    }
    if (end_phase(walk)) return 1;
    if (self->run->options.pace) self->deadline = fmax(self->deadline, atomic_load(owners->latest));
    return 0;
}

/* ---- waits inside a phase -------------------------------------------------------------------- */

typedef struct {
    const _Atomic int64_t *counter;
    int64_t value;
} counter_goal;

static int is_reached(const void *what)
{
    const counter_goal *goal = what;
    return atomic_load(goal->counter) >= goal->value;
}

void hs__phase_await(hs__walk *walk, const _Atomic int64_t *counter, int64_t value)
{
    const counter_goal goal = {counter, value};
    hs__await(&walk->self, walk->self.run->signals, PHASE_SPIN, is_reached, &goal);
}

void hs__phase_raise(hs__walk *walk, _Atomic int64_t *counter, int64_t value)
{
    atomic_store(counter, value);
    hs__signal_send(walk->self.run->signals);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void run_worker(void *context, int32_t worker, int is_caller)
{
    phase_run *job = context;
    hs__walk walk = {.phases = &job->phases,
                     .planned = job->manner == HS__EACH,
                     .self = hs__member_start(&job->run, worker, is_caller)};
    job->program(job->context, &walk);
    hs__member_end(&walk.self);
}

/* The functions that make the programs have checked the arguments. */
static hs_status check_arguments(const void *context)
{
    (void)context;
    return HS_OK;
}

static hs_status open_run(void *context)
{
    phase_run *job = context;
    const int32_t workers = job->manner == HS__ALONE ? 1 : job->run.workers;
    job->run.manner = job->manner;
    for (int32_t w = 0; w < workers && job->scratch; w++)
        if (!hs__pool_scratch(job->run.lease, HS__BLOCKS, w, job->scratch)) return HS_ERROR_MEMORY;
    return hs__run_signals(&job->run, 1) ? HS_OK : HS_ERROR_MEMORY;
}

static const hs__kind run_kind = {.check = check_arguments, .open = open_run, .work = run_worker};

hs_status hs__phases_run(hs_pool *pool, const hs_options *options, hs_trace *trace,
                         hs__manner manner, size_t scratch, hs__phase_program *program,
                         void *context)
{
    phase_run job = {.run = hs__run_of(&run_kind, pool, options, trace),
                     .manner = manner,
                     .scratch = scratch,
                     .program = program,
                     .context = context};
    if (manner != HS__EACH) hs__run_together(&job.run);
    return hs__run_do(&job.run);
}

void *hs__walk_scratch(const hs__walk *walk)
{
    return hs__pool_scratch(walk->self.run->lease, HS__BLOCKS, walk->self.worker, 0);
}
