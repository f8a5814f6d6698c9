/* The executor for owners in both directions (allocate/factor_map.h). An update is divided by rows:
 * the owner of the block in row k does the head (Cholesky has none), and each worker with rows
 * below does its part. No task changes hands; a worker waits for the counters of hs__task_block. */
#include <math.h>

#include "core/numbers.h"
#include "factor/task_state.h"

typedef hs__tasks job;

/* With pace: a task begins no earlier than `ready`. */
static void begin_at(const job *j, hs__member *self, double ready)
{
    if (j->run.options.pace) self->deadline = fmax(self->deadline, ready);
}

static void load(job *j, hs__member *self, int32_t block)
{
    hs__task_block *c = &j->block[block];
    j->kind->load(&j->side->x, block, hs__task_memory(j, self), self);
    if (c->end) atomic_store(&c->left, hs__rows_of_parts(&j->map, 0, block));
    atomic_store(&c->done, 0);
    hs__task_tell(j);
}

/* Counts an update as done, when all of its parts have ended. */
static void finish(job *j, int32_t k, int32_t block)
{
    hs__task_block *c = &j->block[block];
    c->ready = atomic_load(&c->latest);
    if (k + 1 < c->end) atomic_store(&c->left, hs__rows_of_parts(&j->map, k + 1, block));
    hs__count_task(&j->run);
    atomic_store(&c->done, k + 1);
    atomic_fetch_add(&j->finished[k], 1);
    hs__task_tell(j);
}

static void do_head(job *j, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *c = &j->block[block];
    if (!j->kind->head || hs__is_whole(&j->map, k, block) ||
        hs__head_owner(&j->map, k, block) != self->worker)
        return;
    hs__task_wait(j, self, &c->done, k, 0);
    if (hs__stopped(self)) return;
    const double start = hs__since_start(&j->run);
    j->kind->head(&j->side->x, k, block, hs__task_memory(j, self), self);
    begin_at(j, self, c->ready);
    hs__task_end(j, self, k, block, start, hs__head_work(&j->map, k, block));
    c->ready = self->deadline;
    atomic_store(&c->headed, k + 1);
    hs__task_tell(j);
}

static void do_whole(job *j, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *c = &j->block[block];
    if (hs__head_owner(&j->map, k, block) != self->worker) return;
    hs__task_wait(j, self, &c->done, k, 0);
    if (hs__stopped(self)) return;
    const double start = hs__since_start(&j->run);
    j->kind->update(&j->side->x, k, block, hs__task_memory(j, self), self);
    begin_at(j, self, c->ready);
    hs__task_end(j, self, k, block, start, hs__update_work(&j->x.blocks, k, block));
    atomic_store(&c->latest, self->deadline);
    finish(j, k, block);
}

/* Updates the strips that have their first row in a block of the worker. If a strip of a Cholesky
 * update contains the diagonal, its first row is that of the diagonal. */
static void do_strips(job *j, hs__member *self, int32_t k, int32_t block)
{
    const hs__task_data *x = &j->side->x;
    const hs__packed_panel *p = &x->panel[k];
    const hs__strip_form *f = &x->type.slice;
    const int64_t from = hs__block_first(&x->blocks, block);
    const int64_t least = x->blocks.kind == HS_CHOLESKY ? from : 0;
    const int64_t strips = hs__strip_count(f, p->rows, p->width);
    const int64_t skipped = least ? (from - p->first - p->width) / f->rows : 0;
    char *memory = hs__task_memory(j, self);
    if (j->kind->prepare) j->kind->prepare(x, k, block, memory);
    for (int64_t s = hs__top_strips(f, p->width) + skipped, first = s;
         s <= strips && !hs__stopped(self); s++) {
        const int64_t row =
            s < strips ? hs__max(least, p->first + hs__row_of_strip(f, p->width, s)) : 0;
        if (s < strips &&
            j->map.owner[(int64_t)hs__row_block(&j->map, row) * x->blocks.count + block] ==
                self->worker)
            continue;
        if (first < s) j->kind->rows(x, k, block, first, s, memory, self);
        first = s + 1;
    }
}

static void raise(_Atomic double *latest, double to)
{
    double now = atomic_load(latest);
    while (now < to && !atomic_compare_exchange_weak(latest, &now, to)) {}
}

static void do_parts(job *j, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *c = &j->block[block];
    const int64_t rows = hs__rows_of_part(&j->map, block, self->worker);
    if (hs__is_whole(&j->map, k, block)) {
        do_whole(j, self, k, block);
        return;
    }
    if (rows == 0) return;
    if (j->kind->head) hs__task_wait(j, self, &c->headed, k + 1, 0);
    else hs__task_wait(j, self, &c->done, k, 0);
    if (hs__stopped(self)) return;
    const double start = hs__since_start(&j->run);
    do_strips(j, self, k, block);
    begin_at(j, self, c->ready);
    hs__task_end(j, self, k, block, start, hs__part_work(&j->map, k, block, self->worker));
    raise(&c->latest, self->deadline);
    if (atomic_fetch_sub(&c->left, rows) == rows) finish(j, k, block);
}

static void do_panel(job *j, hs__member *self, int32_t next)
{
    if (j->owner[next] != self->worker) return;
    hs__task_wait(j, self, &j->block[next].done, next, 0);
    if (hs__stopped(self)) return;
    begin_at(j, self, j->block[next].ready);
    atomic_store(&j->taken, next + 1);
    hs__task_factor(j, self, next);
}

/* Returns the last step in which a worker has something to do. */
static int32_t last_step(const job *j, int32_t worker)
{
    const int32_t count = j->x.blocks.count;
    int32_t last = -1;
    for (int32_t i = 0; i < j->map.row_blocks; i++)
        for (int32_t block = 0; block < count; block++) {
            const int32_t step = i < block - 1 ? i : block - 1;
            if (step > last && j->map.owner[(int64_t)i * count + block] == worker) last = step;
        }
    return last;
}

void hs__task_map_steps(job *j, hs__member *self)
{
    const int32_t count = j->x.blocks.count;
    const int32_t panels = j->x.panels;
    const int32_t late_panel = j->costs && j->costs->late_panel;
    for (int32_t block = 0; block < count && !hs__stopped(self); block++) {
        if (j->owner[block] == self->worker) load(j, self, block);
        if (block == 0) do_panel(j, self, 0);
    }
    const int32_t last = last_step(j, self->worker);
    for (int32_t k = 0; k < panels && k <= last && !hs__stopped(self); k++) {
        const int32_t next = k + 1;
        const int32_t is_next = next < panels;
        const int32_t early = is_next && !late_panel;
        const int32_t first = early ? next + 1 : next;
        hs__task_wait(j, self, &j->factored, next, 0);
        hs__factor_map_step(&j->map, k, self->worker);
        if (early) {
            do_head(j, self, k, next);
            do_parts(j, self, k, next);
            do_panel(j, self, next);
        }
        for (int32_t block = first; block < count && !hs__stopped(self); block++)
            do_head(j, self, k, block);
        for (int32_t block = first; block < count && !hs__stopped(self); block++)
            do_parts(j, self, k, block);
        if (is_next && !early) do_panel(j, self, next);
    }
}
