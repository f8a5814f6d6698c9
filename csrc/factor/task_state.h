/* What the files of the executor of tasks share: task_run.c (a whole run), task_open.c (its
 * arrays), tasks.c (a worker's steps) and task_map.c (those with owners in both directions). */
#ifndef HS_FACTOR_TASK_STATE_H
#define HS_FACTOR_TASK_STATE_H

#include "factor/tasks.h"
#include "threads/arena.h"

/* packed panels: one is made while two are in use, for who makes it has updates of the last to
 * do */
enum { HS__PANEL_BUFFERS = 3 };

/* How far a block of columns is; side: of its owner. With owners in both directions nobody claims
 * anything, and of an update that is not whole
 *   headed  heads done
 *   left    rows that its parts have not changed yet
 *   ready   with pace, when what comes next may begin: the head, then the parts
 *   latest  and when the last part has ended so far */
typedef struct hs__task_block {
    int32_t owner, side, begin, end; /* updates begin .. end - 1 are its own */
    /* updates begun and ended; -1: the columns are not yet in slices */
    _Atomic int32_t claimed, done;
    _Atomic int32_t headed;
    _Atomic int64_t left;
    double ready;
    _Atomic double latest;
} hs__task_block;

static inline char *hs__task_memory(const hs__tasks *j, const hs__member *self)
{
    return hs__pool_scratch(j->run.pool, HS__BLOCKS, self->worker, 0); /* sized before the run */
}

/* Opens a run of tasks: its arrays, blocks, panels and scratch. */
hs_status hs__tasks_open(void *tasks);

/* Something has ended. */
void hs__task_tell(hs__tasks *tasks);

/* Until a counter has reached a value. Meanwhile, in a dynamic run, takes over tasks of others,
 * `panels`: and panels. */
void hs__task_wait(hs__tasks *tasks, hs__member *self, const _Atomic int32_t *counter,
                   int32_t value, int panels);

/* A task that began at `start`, in its place in time with pace, and in the trace. */
void hs__task_end(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block, double start,
                  double work);

/* Panel k, which has been taken. */
void hs__task_factor(hs__tasks *tasks, hs__member *self, int32_t k);

/* The steps of one worker: all its updates and panels. In a dynamic run it then takes over tasks of
 * other workers. */
void hs__task_steps(hs__tasks *tasks, hs__member *self);

/* After the steps: waits for the last panel, and copies blocks that no worker reads any more to
 * where they are wanted. */
void hs__task_store(hs__tasks *tasks, hs__member *self);

/* The steps of one worker with owners in both directions. */
void hs__task_map_steps(hs__tasks *tasks, hs__member *self);

#endif
