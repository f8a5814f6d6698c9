/* What the executor of tasks and its part for owners in both directions share. */
#ifndef HS_FACTOR_TASK_STATE_H
#define HS_FACTOR_TASK_STATE_H

#include "factor/tasks.h"
#include "threads/arena.h"

enum { HS__PANEL_BUFFERS = 3 }; /* packed panels: one is made while two are in use, for who makes it has updates of the last to do */

/* How far a block of columns is; side: of its owner. With owners in both directions nobody claims anything, and of an update that is
 * not whole
 *   headed  heads done
 *   left    rows that its parts have not changed yet
 *   ready   with pace, when what comes next may begin: the head, then the parts
 *   latest  and when the last part has ended so far */
typedef struct hs__task_block {
    int32_t owner, side, begin, end; /* updates begin .. end - 1 are its own */
    _Atomic int32_t claimed, done;   /* updates begun and ended; -1: the columns are not yet in slices */
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

/* Until a counter has reached a value. Meanwhile, in a dynamic run, takes over tasks of others, `panels`: and panels. */
void hs__task_wait(hs__tasks *tasks, hs__member *self, const _Atomic int32_t *counter, int32_t value, int panels);

/* A task that began at `start`, in its place in time with pace, and in the trace. */
void hs__task_end(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block, double start, double work);

/* Panel k, which has been taken. */
void hs__task_factor(hs__tasks *tasks, hs__member *self, int32_t k);

/* The steps of one worker with owners in both directions. */
void hs__task_map_steps(hs__tasks *tasks, hs__member *self);

#endif
