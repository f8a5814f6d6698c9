/* Runs programs of phases (phases.h). */
#include "run/phases.h"

typedef struct {
    hs__run run;
    hs__phases phases;
    int alone;
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

int hs__phase(hs__walk *walk, int32_t count, hs__phase_task *task, void *context)
{
    hs__phases *phases = walk->phases;
    hs__member *self = &walk->self;
    if (count <= 0) return hs__stopped(self);
    for (int32_t i; !hs__attend(self) && (i = take_task(walk, count)) >= 0;) {
        const double start = hs__records(self->run) ? hs__since_start(self->run) : 0.0;
        self->box = (int32_t)walk->phase;
        task(context, i, walk);
        if (hs__records(self->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(self->run));
        hs__count_task(self->run);
        if (hs__stopped(self)) return 1;
        if (atomic_fetch_add(&phases->ended, 1) + 1 < count) continue;
        atomic_store(&phases->ended, 0);
        atomic_store(&phases->next, (uint64_t)(walk->phase + 1) << 32);
        hs__signal_send(self->run->signals);
    }
    const phase_goal goal = {phases, walk->phase};
    hs__await(self, self->run->signals, PHASE_SPIN, has_ended, &goal);
    walk->phase++;
    return hs__stopped(self);
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
    job->run.manner = job->alone ? HS__ALONE : HS__SHARED;
    for (int32_t w = 0; w < (job->alone ? 1 : job->run.workers) && job->scratch; w++)
        if (!hs__pool_scratch(job->run.lease, HS__BLOCKS, w, job->scratch)) return HS_ERROR_MEMORY;
    return hs__run_signals(&job->run, 1) ? HS_OK : HS_ERROR_MEMORY;
}

static const hs__kind run_kind = {.check = check_arguments, .open = open_run, .work = run_worker};

hs_status hs__phases_run(hs_pool *pool, const hs_options *options, hs_trace *trace, int alone,
                         size_t scratch, hs__phase_program *program, void *context)
{
    phase_run job = {.run = hs__run_of(&run_kind, pool, options, trace),
                     .alone = alone,
                     .scratch = scratch,
                     .program = program,
                     .context = context};
    hs__run_together(&job.run);
    return hs__run_do(&job.run);
}

void *hs__walk_scratch(const hs__walk *walk)
{
    return hs__pool_scratch(walk->self.run->lease, HS__BLOCKS, walk->self.worker, 0);
}
