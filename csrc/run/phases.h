/* Phases: a run that is a sequence of steps, each made of independent tasks.
 *
 * All workers go through one program, a function that names the phases in order. In each phase they
 * take tasks from one counter until all are taken, and go on when all have ended. So workers meet
 * once for each phase, and a slow worker delays a phase by one task at most. A worker that comes
 * late finds the counter of a later phase and passes the phases that have ended without waiting, so
 * that the caller can do everything alone if no other worker comes.
 *
 * Tasks are taken in the order of their indices. A task may therefore wait for tasks with smaller
 * indices of its own phase (hs__phase_await), which makes pipelines of them. */
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

/* A worker on its way through the program. */
typedef struct hs__walk {
    hs__phases *phases;
    uint32_t phase; /* the next one */
    hs__member self;
} hs__walk;

/* A task of a phase. It returns early after a cancel (hs__stopped) if it takes more than some
 * milliseconds. The worker is walk->self.worker. */
typedef void hs__phase_task(void *context, int32_t task, hs__walk *walk);

/* Does one phase of `count` tasks together with the other workers. Returns non-zero after a cancel:
 * then the program must return. count must be the same for all workers, at any time: it may depend
 * on what earlier phases have computed only if nothing changes that later. */
int hs__phase(hs__walk *walk, int32_t count, hs__phase_task *task, void *context);

/* Waits, in a task, until a counter that tasks with smaller indices raise reaches a value, or for a
 * cancel. They raise it with hs__phase_raise. */
void hs__phase_await(hs__walk *walk, const _Atomic int64_t *counter, int64_t value);
void hs__phase_raise(hs__walk *walk, _Atomic int64_t *counter, int64_t value);

/* The program, which each worker runs. It must name the same phases for each worker. */
typedef void hs__phase_program(void *context, hs__walk *walk);

/* Runs a program on the pool. options and trace may be NULL.
 *   alone     the caller does everything: for work so short that waking workers takes as long
 *   scratch   bytes that each worker has in hs__walk_scratch
 * HS_ERROR_MEMORY, HS_ERROR_CANCELLED and the errors of the pool, before anything is computed. */
hs_status hs__phases_run(hs_pool *pool, const hs_options *options, hs_trace *trace, int alone,
                         size_t scratch, hs__phase_program *program, void *context);

/* Returns the worker's own scratch memory, aligned to pages. */
void *hs__walk_scratch(const hs__walk *walk);

#endif
