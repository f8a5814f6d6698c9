/* Phases: a run that is a sequence of steps, each made of independent tasks.
 *
 * All workers go through one program, a function that names the phases in order. In each phase they
 * take tasks from one counter until all are taken, and go on when all have ended. So workers meet
 * once for each phase, and a slow worker delays a phase by one task at most. A worker that comes
 * late finds the counter of a later phase and passes the phases that have ended without waiting, so
 * that the caller can do everything alone if no other worker comes.
 *
 * Tasks are taken in the order of their indices. A task may therefore wait for tasks with smaller
 * indices of its own phase (hs__phase_await), which makes pipelines of them.
 *
 * A run by a plan has phases in which each task belongs to a worker (hs__phase_owned). Then all
 * workers must come (HS__EACH), and they may keep an emulated pace. */
#ifndef HS_RUN_PHASES_H
#define HS_RUN_PHASES_H

#include "run/run.h"
#include "run/member.h"

/* The counters that the workers share. Zeros at first.
 *   next    the number of the phase, and in the low 32 bits the first task that is not taken
 *   ended   tasks of the phase that have ended */
typedef struct hs__phases {
    _Alignas(64) _Atomic uint64_t next;
    _Alignas(64) _Atomic int32_t ended;
} hs__phases;

/* A worker on its way through the program.
 *   phase    the next one
 *   planned  non-zero: the run is by a plan. Only the tasks of hs__phase_owned are recorded */
typedef struct hs__walk {
    hs__phases *phases;
    uint32_t phase;
    int planned;
    hs__member self;
} hs__walk;

/* A task of a phase. It returns early after a cancel (hs__stopped) if it takes more than some
 * milliseconds. The worker is walk->self.worker. */
typedef void hs__phase_task(void *context, int32_t task, hs__walk *walk);

/* Does one phase of `count` tasks together with the other workers. Returns non-zero after a cancel:
 * then the program must return. count must be the same for all workers, at any time: it may depend
 * on what earlier phases have computed only if nothing changes that later. */
int hs__phase(hs__walk *walk, int32_t count, hs__phase_task *task, void *context);

/* The workers of the tasks of a phase. Both functions get the context of the phase.
 *   worker_of   the worker of a task
 *   seconds_of  how long the task takes an emulated worker
 *   box         of the event of the first task; the next tasks have the next boxes
 *   latest      with pace, when the last task has ended, in seconds from the start of the run; zero
 *               at first, and not used for another phase */
typedef struct hs__phase_owners {
    int32_t (*worker_of)(const void *context, int32_t task);
    double (*seconds_of)(const void *context, int32_t task, const hs__walk *walk);
    int32_t box;
    _Atomic double *latest;
} hs__phase_owners;

/* Does one phase by a plan: each worker does its own tasks, in the order of their indices. With pace
 * the phase ends, on the clock of the emulated platform, when its last task does. */
int hs__phase_owned(hs__walk *walk, int32_t count, hs__phase_task *task, void *context,
                    const hs__phase_owners *owners);

/* Waits, in a task, until a counter that tasks with smaller indices raise reaches a value, or for a
 * cancel. They raise it with hs__phase_raise. */
void hs__phase_await(hs__walk *walk, const _Atomic int64_t *counter, int64_t value);
void hs__phase_raise(hs__walk *walk, _Atomic int64_t *counter, int64_t value);

/* The program, which each worker runs. It must name the same phases for each worker. */
typedef void hs__phase_program(void *context, hs__walk *walk);

/* Runs a program on the pool. options and trace may be NULL.
 *   manner    HS__SHARED, HS__BRIEF or HS__MEDIUM; HS__ALONE, for work so short that waking workers
 *             takes as long; or HS__EACH for a run by a plan, which has the pool for itself
 *   scratch   bytes that each worker has in hs__walk_scratch
 * HS_ERROR_MEMORY, HS_ERROR_CANCELLED and the errors of the pool, before anything is computed. */
hs_status hs__phases_run(hs_pool *pool, const hs_options *options, hs_trace *trace,
                         hs__manner manner, size_t scratch, hs__phase_program *program,
                         void *context);

/* Returns the worker's own scratch memory, aligned to pages. */
void *hs__walk_scratch(const hs__walk *walk);

#endif
