/* What the files of the executor of tasks share: task_run.c (a whole run), task_open.c (its
 * arrays), tasks.c (the steps of a worker) and task_map.c (the steps with owners in both
 * directions). */
#ifndef HS_FACTOR_TASK_STATE_H
#define HS_FACTOR_TASK_STATE_H

#include "factor/tasks.h"
#include "threads/arena.h"

/* packed panels: one is made while two are in use, since the worker that makes it still has updates
 * of the last panel to do */
enum { HS__PANEL_BUFFERS = 3 };

/* The state of a block of columns.
 *   owner     its worker; domain: the domain of that worker
 *   claimed   updates begun, -1: the columns are not yet in slices
 *   done      updates ended, -1 likewise
 * With owners in both directions no worker claims an update, and an update that is not whole has
 *   headed    heads done
 *   left      rows that its parts have not changed yet
 *   ready     with pace, when its next task may begin: the head, then the parts
 *   latest    with pace, when the part that ended last so far has ended */
typedef struct hs__task_block {
    int32_t owner, domain, begin, end; /* updates begin .. end - 1 are its own */
    _Atomic int32_t claimed, done;
    _Atomic int32_t headed;
    _Atomic int64_t left;
    double ready;
    _Atomic double latest;
} hs__task_block;

static inline char *hs__task_memory(const hs__tasks *tasks, const hs__member *self)
{
    return hs__pool_scratch(tasks->run.lease, HS__BLOCKS, self->worker,
                            0); /* sized before the run */
}

/* Opens a run of tasks, the context: its arrays, blocks, panels and scratch. */
hs_status hs__tasks_open(void *context);

/* Tells the other workers that a task has ended. */
void hs__task_tell(hs__tasks *tasks);

/* Waits until a counter reaches a value. In a dynamic run it takes over tasks of other workers
 * meanwhile; with `panels` also panels. */
void hs__task_wait(hs__tasks *tasks, hs__member *self, const _Atomic int32_t *counter,
                   int32_t value, int panels);

/* Ends a task that began at `start`: gives it its place in time, with pace, and in the trace. */
void hs__task_end(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block, double start,
                  double work);

/* Factors panel k, which the worker has taken. */
void hs__task_factor(hs__tasks *tasks, hs__member *self, int32_t k);

/* Does the steps of one worker: all its updates and panels. In a dynamic run it then takes over
 * tasks of other workers. */
void hs__task_steps(hs__tasks *tasks, hs__member *self);

/* After the steps: waits for the last panel, then copies blocks that no worker reads any more to
 * the result. */
void hs__task_store(hs__tasks *tasks, hs__member *self);

/* Does the steps of one worker with owners in both directions. */
void hs__task_map_steps(hs__tasks *tasks, hs__member *self);

#endif
