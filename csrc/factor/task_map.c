/* The executor for owners in both directions (allocate/factor_map.h). An update is divided by rows:
 * the owner of the block in row k does the head (Cholesky has none), and each worker with rows
 * below does its part. No task changes hands; a worker waits for the counters of hs__task_block. */
#include <math.h>

#include "core/numbers.h"
#include "factor/task_state.h"

/* With pace: a task begins no earlier than `ready`. */
static void begin_at(const hs__tasks *tasks, hs__member *self, double ready)
{
    if (tasks->run.options.pace) self->deadline = fmax(self->deadline, ready);
}

static void load_block(hs__tasks *tasks, hs__member *self, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    tasks->kind->load(&tasks->domain->x, block, hs__task_memory(tasks, self), self);
    if (state->end) atomic_store(&state->left, hs__rows_of_parts(&tasks->map, 0, block));
    atomic_store(&state->done, 0);
    hs__task_tell(tasks);
}

/* Counts an update as done, when all of its parts have ended. */
static void finish_update(hs__tasks *tasks, int32_t k, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    state->ready = atomic_load(&state->latest);
    if (k + 1 < state->end)
        atomic_store(&state->left, hs__rows_of_parts(&tasks->map, k + 1, block));
    hs__count_task(&tasks->run);
    atomic_store(&state->done, k + 1);
    atomic_fetch_add(&tasks->finished[k], 1);
    hs__task_tell(tasks);
}

static void do_head(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    if (!tasks->kind->head || hs__is_whole(&tasks->map, k, block) ||
        hs__head_owner(&tasks->map, k, block) != self->worker)
        return;
    hs__task_wait(tasks, self, &state->done, k, 0);
    if (hs__stopped(self)) return;
    const double start = hs__since_start(&tasks->run);
    tasks->kind->head(&tasks->domain->x, k, block, hs__task_memory(tasks, self), self);
    begin_at(tasks, self, state->ready);
    hs__task_end(tasks, self, k, block, start, hs__head_work(&tasks->map, k, block));
    state->ready = self->deadline;
    atomic_store(&state->headed, k + 1);
    hs__task_tell(tasks);
}

static void do_whole(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    if (hs__head_owner(&tasks->map, k, block) != self->worker) return;
    hs__task_wait(tasks, self, &state->done, k, 0);
    if (hs__stopped(self)) return;
    const double start = hs__since_start(&tasks->run);
    tasks->kind->update(&tasks->domain->x, k, block, hs__task_memory(tasks, self), self);
    begin_at(tasks, self, state->ready);
    hs__task_end(tasks, self, k, block, start, hs__update_work(&tasks->x.blocks, k, block));
    atomic_store(&state->latest, self->deadline);
    finish_update(tasks, k, block);
}

/* Updates the strips that have their first row in a block of the worker. If a strip of a Cholesky
 * update contains the diagonal, its first row is that of the diagonal. */
static void do_strips(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block)
{
    const hs__task_data *x = &tasks->domain->x;
    const hs__packed_panel *p = &x->panel[k];
    const hs__strip_form *f = &x->type.slice;
    const int64_t from = hs__block_first(&x->blocks, block);
    const int64_t least = x->blocks.kind == HS_CHOLESKY ? from : 0;
    const int64_t strips = hs__strip_count(f, p->rows, p->width);
    const int64_t skipped = least ? (from - p->first - p->width) / f->rows : 0;
    char *memory = hs__task_memory(tasks, self);
    if (tasks->kind->prepare) tasks->kind->prepare(x, k, block, memory);
    for (int64_t s = hs__top_strips(f, p->width) + skipped, first = s;
         s <= strips && !hs__stopped(self); s++) {
        const int64_t row =
            s < strips ? hs__max(least, p->first + hs__row_of_strip(f, p->width, s)) : 0;
        if (s < strips &&
            tasks->map.owner[(int64_t)hs__row_block(&tasks->map, row) * x->blocks.count + block] ==
                self->worker)
            continue;
        if (first < s) tasks->kind->rows(x, k, block, first, s, memory, self);
        first = s + 1;
    }
}

static void raise_to(_Atomic double *latest, double to)
{
    double now = atomic_load(latest);
    while (now < to && !atomic_compare_exchange_weak(latest, &now, to)) {}
}

static void do_parts(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    const int64_t rows = hs__rows_of_part(&tasks->map, block, self->worker);
    if (hs__is_whole(&tasks->map, k, block)) {
        do_whole(tasks, self, k, block);
        return;
    }
    if (rows == 0) return;
    if (tasks->kind->head) hs__task_wait(tasks, self, &state->headed, k + 1, 0);
    else hs__task_wait(tasks, self, &state->done, k, 0);
    if (hs__stopped(self)) return;
    const double start = hs__since_start(&tasks->run);
    do_strips(tasks, self, k, block);
    begin_at(tasks, self, state->ready);
    hs__task_end(tasks, self, k, block, start, hs__part_work(&tasks->map, k, block, self->worker));
    raise_to(&state->latest, self->deadline);
    if (atomic_fetch_sub(&state->left, rows) == rows) finish_update(tasks, k, block);
}

static void do_panel(hs__tasks *tasks, hs__member *self, int32_t next)
{
    if (tasks->owner[next] != self->worker) return;
    hs__task_wait(tasks, self, &tasks->block[next].done, next, 0);
    if (hs__stopped(self)) return;
    begin_at(tasks, self, tasks->block[next].ready);
    atomic_store(&tasks->taken, next + 1);
    hs__task_factor(tasks, self, next);
}

/* Returns the last step in which a worker has something to do. */
static int32_t last_step(const hs__tasks *tasks, int32_t worker)
{
    const int32_t count = tasks->x.blocks.count;
    int32_t last = -1;
    for (int32_t i = 0; i < tasks->map.row_blocks; i++)
        for (int32_t block = 0; block < count; block++) {
            const int32_t step = i < block - 1 ? i : block - 1;
            if (step > last && tasks->map.owner[(int64_t)i * count + block] == worker) last = step;
        }
    return last;
}

void hs__task_map_steps(hs__tasks *tasks, hs__member *self)
{
    const int32_t count = tasks->x.blocks.count;
    const int32_t panels = tasks->x.panels;
    const int32_t late_panel = tasks->costs && tasks->costs->late_panel;
    for (int32_t block = 0; block < count && !hs__stopped(self); block++) {
        if (tasks->owner[block] == self->worker) load_block(tasks, self, block);
        if (block == 0) do_panel(tasks, self, 0);
    }
    const int32_t last = last_step(tasks, self->worker);
    for (int32_t k = 0; k < panels && k <= last && !hs__stopped(self); k++) {
        const int32_t next = k + 1;
        const int32_t is_next = next < panels;
        const int32_t early = is_next && !late_panel;
        const int32_t first = early ? next + 1 : next;
        hs__task_wait(tasks, self, &tasks->factored, next, 0);
        hs__factor_map_step(&tasks->map, k, self->worker);
        if (early) {
            do_head(tasks, self, k, next);
            do_parts(tasks, self, k, next);
            do_panel(tasks, self, next);
        }
        for (int32_t block = first; block < count && !hs__stopped(self); block++)
            do_head(tasks, self, k, block);
        for (int32_t block = first; block < count && !hs__stopped(self); block++)
            do_parts(tasks, self, k, block);
        if (is_next && !early) do_panel(tasks, self, next);
    }
}
