/* The executor of tasks: the steps of one worker.
 *
 * The matrix is cut into blocks of columns, each with an owner; the first blocks are the panels.
 * There are three kinds of tasks. A block is copied to slices (update -1). Panel k is factored when
 * its block has had updates 0 .. k - 1. Update k of a block is done when panel k is packed and the
 * block has had update k - 1. In a run that `applies`, panels are packed from another matrix and
 * all blocks have all updates.
 *
 * At step k a worker waits for panel k. If it owns panel k + 1, it does update k of that block
 * first and factors it at once (unless costs->late_panel), because this is the critical path. Then
 * it does update k of its other blocks, from the left.
 *
 * A block has two counters: updates begun (claimed) and ended (done). If they are equal the next
 * update is free, and a worker takes it by raising `claimed` with a compare-and-swap. In the same
 * way `taken` and `factored` count panels, and `taken` and `packed` the panels of a side. So any
 * worker can do any task of these steps. In a dynamic run a worker that would have to wait does one
 * for another worker (help): what the next panel needs, else an update from the right, as owners
 * work from the left.
 *
 * Workers of different domains have different kernels. Each domain has a side with panels packed
 * for its kernel; the side that factors a panel packs it for itself, and a worker of another side
 * packs it again (repack). At full speed packed panels use HS__PANEL_BUFFERS buffers in turn: a
 * panel is made when the last panel in its buffer has done all its updates.
 *
 * Example: four blocks, owned by workers 0 1 0 1. Worker 0 factors panel 0 while worker 1 copies
 * its blocks. Worker 1 then does update 0 of block 1, factors panel 1, and does update 0 of block
 * 3; worker 0 does update 0 of block 2 meanwhile and waits for panel 1. In a dynamic run it does
 * update 0 of block 3 instead of waiting. */
#include "factor/task_state.h"

#include <math.h>
#include <stdlib.h>

typedef hs__task_block block_state;
typedef hs__tasks job;

static int take(_Atomic int32_t *x, int32_t from)
{
    return atomic_compare_exchange_strong(x, &from, from + 1);
}

/* ---- waiting --------------------------------------------------------------------------------- */

void hs__task_tell(job *j)
{
    atomic_fetch_add(&j->ended, 1);
    hs__signal_send(j->run.signals);
}

/* Waits for a counter to reach a value; in a dynamic run also for any task to end, as there may
 * then be something to help with. */
typedef struct {
    const job *j;
    const _Atomic int32_t *counter;
    int32_t value;
    int64_t seen;
} goal;

static int is_reached(const void *what)
{
    const goal *x = what;
    return atomic_load(x->counter) >= x->value ||
           (x->j->dynamic && atomic_load(&x->j->ended) != x->seen);
}

static int help(job *j, hs__member *self, int panels);

void hs__task_wait(job *j, hs__member *self, const _Atomic int32_t *counter, int32_t value,
                   int panels)
{
    while (!hs__stopped(self)) {
        const goal x = {j, counter, value, atomic_load(&j->ended)};
        if (atomic_load(counter) >= value) return;
        if (!j->dynamic || !help(j, self, panels))
            hs__await(self, j->run.signals, INFINITY, is_reached, &x);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Returns the index in j->due of panel k for a worker. */
static size_t due_at(const job *j, int32_t k, int32_t worker)
{
    return j->sent ? (size_t)k * (size_t)j->workers + (size_t)worker : (size_t)k;
}

/* Records the message that brought panel k, on the clock of the emulated platform. */
static void record_message(job *j, hs__member *self, int32_t k)
{
    if (!j->sent || !hs__records(&j->run) || j->owner[k] == self->worker ||
        j->ports.last[self->worker] <= k)
        return;
    const size_t at = due_at(j, k, self->worker);
    self->box = k * j->x.blocks.count + k;
    hs__record(self, HS_TRANSFER, j->sent[at], j->due[at]);
}

void hs__task_end(job *j, hs__member *self, int32_t k, int32_t block, double start, double work)
{
    self->box = k * j->x.blocks.count + block;
    if (j->run.options.pace) {
        const hs_factor_costs *costs = j->costs;
        if (k != block) self->deadline = fmax(self->deadline, j->due[due_at(j, k, self->worker)]);
        start = self->deadline;
        if (k == block && costs && costs->panels)
            hs__sleep_until(self, self->deadline += work * costs->panels[self->worker]);
        else hs__keep_pace(self, work * hs_flops_per_update(j->x.type.dtype));
        if (k == block && j->sent) {
            const size_t at = due_at(j, k, 0);
            hs__factor_broadcast(&j->ports, &j->x.blocks, k, self->deadline, j->due + at,
                                 j->sent + at, NULL);
        } else if (k == block) j->due[k] = self->deadline;
    }
    if (hs__records(&j->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&j->run));
    hs__attend(self);
}

/* Returns the multiply-adds of a task. */
static double work_of(const job *j, int32_t k, int32_t block)
{
    if (!j->applies)
        return k == block ? hs__panel_work(&j->x.blocks, k)
                          : hs__update_work(&j->x.blocks, k, block);
    const hs__packed_panel *panel = &j->x.panel[k];
    return (double)panel->width * ((double)panel->rows - (double)panel->width / 2.0) *
           (double)hs__block_width(&j->x.blocks, block);
}

/* Returns the matrix as the tasks of a block see it. */
static const hs__task_data *data_of(const job *j, int32_t block)
{
    return &j->side[j->block[block].side].x;
}

/* Does update k of a block, which the worker has claimed. -1 is the copy to slices; after it,
 * updates begin with the block's first. */
static void update(job *j, hs__member *self, int32_t k, int32_t block)
{
    block_state *c = &j->block[block];
    if (k < 0) {
        j->kind->load(data_of(j, block), block, hs__task_memory(j, self), self);
        atomic_store(&c->claimed, c->begin);
        atomic_store(&c->done, c->begin);
    } else {
        const double start = hs__since_start(&j->run), work = work_of(j, k, block);
        j->kind->update(data_of(j, block), k, block, hs__task_memory(j, self), self);
        j->done_by[self->worker] += work;
        hs__task_end(j, self, k, block, start, work);
        hs__count_task(&j->run);
        atomic_store(&c->done, k + 1);
        atomic_fetch_add(&j->finished[k], 1);
    }
    hs__task_tell(j);
}

/* With pace: collects the memory of panels that are not needed any more. Panels become so in the
 * order in which they are factored. */
static void collect_spares(job *j, int32_t k)
{
    for (; j->oldest < k && atomic_load(&j->finished[j->oldest]) >= j->updates[j->oldest];
         j->oldest++) {
        char **strips = &j->x.panel[j->oldest].strips;
        if (j->spares < HS__PANEL_BUFFERS) j->spare[j->spares++] = *strips;
        else free(*strips);
        *strips = NULL;
    }
}

/* Finds memory for panel k, packed. At full speed HS__PANEL_BUFFERS buffers are used in turn. An
 * emulated worker may be many panels behind, which must not delay the other workers: then each
 * panel that is still needed has a buffer, as long as there is memory, and there are at least
 * HS__PANEL_BUFFERS. Returns 0 after a cancel. */
static int find_strips(job *j, hs__member *self, int32_t k)
{
    hs__packed_panel *panel = &j->x.panel[k];
    if (!j->run.options.pace) {
        if (k >= HS__PANEL_BUFFERS)
            hs__task_wait(j, self, &j->finished[k - HS__PANEL_BUFFERS],
                          j->updates[k - HS__PANEL_BUFFERS], 0);
        return !hs__stopped(self);
    }
    while (!hs__stopped(self)) {
        collect_spares(j, k);
        panel->strips = j->spares ? j->spare[--j->spares]
                                  : hs__allocate_pages(j->kind->panel_bytes(
                                        &j->side->x.type, panel->rows, panel->width));
        if (panel->strips) return 1;
        hs__task_wait(j, self, &j->finished[j->oldest], j->updates[j->oldest], 0);
    }
    return 0;
}

/* Returns the side of a worker. Each side makes panels that are not made of columns for itself. */
static hs__task_side *own_side(const job *j, const hs__member *self)
{
    return &j->side[j->side_of[self->worker]];
}

static void make_panel(job *j, hs__member *self, hs__task_side *side, int32_t k)
{
    if (!find_strips(j, self, k)) return;
    const double start = hs__since_start(&j->run);
    if (j->kind->factor(&side->x, k, side->make, self)) return;
    if (!j->applies) {
        const double work = work_of(j, k, k);
        j->done_by[self->worker] += work;
        hs__task_end(j, self, k, k, start, work);
        hs__count_task(&j->run);
    }
    atomic_store(&side->taken, k + 1);
    /* All panels before k are packed, since they have updated the columns of panel k. */
    atomic_store(&side->packed, k + 1);
    if (!j->applies) atomic_store(&j->factored, k + 1);
    hs__task_tell(j);
}

void hs__task_factor(job *j, hs__member *self, int32_t k)
{
    make_panel(j, self, j->applies ? own_side(j, self) : &j->side[j->block[k].side], k);
}

/* Packs panel k for a side, if it is the next to be packed and no worker does it. Its buffer is
 * free: the panel that used it has done all its updates, or k would not be factored. */
static void repack(job *j, hs__member *self, hs__task_side *side, int32_t k)
{
    if (j->applies || k >= atomic_load(&j->factored) || !take(&side->taken, k)) return;
    if (j->kind->repack(&side->x, data_of(j, k), k, side->make, self)) return;
    atomic_store(&side->packed, k + 1);
    hs__task_tell(j);
}

/* Does the next update of a block if no worker has begun it and its panel is there. The panel is
 * packed for the side first if needed. Returns whether it did the update. */
static int try_update(job *j, hs__member *self, int32_t block)
{
    block_state *c = &j->block[block];
    hs__task_side *side = &j->side[c->side];
    const int32_t k = atomic_load(&c->done);
    if (k >= c->end || atomic_load(&c->claimed) != k) return 0;
    if (k >= atomic_load(&side->packed)) repack(j, self, side, k);
    if (k >= atomic_load(&side->packed) || !take(&c->claimed, k)) return 0;
    update(j, self, k, block);
    return 1;
}

/* Whether the columns of a panel, if it is made of columns, have had all their updates. */
static int is_ready(const job *j, int32_t panel)
{
    return j->applies || atomic_load(&j->block[panel].done) == panel;
}

/* Return the counter of the panels that a worker's side has, and the counter that includes the one
 * being made. */
static _Atomic int32_t *made(const job *j, const hs__member *self)
{
    return j->applies ? &own_side(j, self)->packed : (_Atomic int32_t *)&j->factored;
}
static _Atomic int32_t *begun(job *j, const hs__member *self)
{
    return j->applies ? &own_side(j, self)->taken : &j->taken;
}

/* Makes the next panel of another side, if no worker has begun it and there is a buffer: if all
 * workers of that side come late, or not at all, no other worker makes it. Returns whether it
 * did. */
static int make_for_others(job *j, hs__member *self)
{
    for (int32_t s = 0; s < j->sides; s++) {
        hs__task_side *side = &j->side[s];
        const int32_t k = atomic_load(&side->packed), before = k - HS__PANEL_BUFFERS;
        if (s == j->side_of[self->worker] || k >= j->x.panels) continue;
        if (before >= 0 && atomic_load(&j->finished[before]) < j->updates[before]) continue;
        if (take(&side->taken, k)) {
            make_panel(j, self, side, k);
            return 1;
        }
    }
    return 0;
}

/* Takes over a task of another worker: first what the next panel needs, else an update from the
 * right, on the own side first. Returns whether there was one. */
static int help(job *j, hs__member *self, int panels)
{
    const int32_t next = atomic_load(made(j, self));
    const int32_t is_next = next < j->x.panels;
    const int32_t own = j->side_of[self->worker];
    if (panels && is_next) {
        if (!j->applies && try_update(j, self, next)) return 1;
        if (is_ready(j, next) && take(begun(j, self), next)) {
            hs__task_factor(j, self, next);
            return 1;
        }
    }
    const int32_t least = j->applies ? 0 : is_next ? next + 1 : next;
    for (int others = 0; others <= (j->sides > 1); others++)
        for (int32_t block = j->x.blocks.count - 1; block >= least; block--)
            if ((j->block[block].side != own) == others && try_update(j, self, block)) return 1;
    return j->applies && make_for_others(j, self);
}

/* Waits until the worker's side has panel k. */
static void await_panel(job *j, hs__member *self, int32_t k)
{
    hs__task_wait(j, self, made(j, self), k + 1, 1);
    if (k < 0 || j->applies || hs__stopped(self)) return;
    hs__task_side *side = own_side(j, self);
    if (k >= side->needs) return;
    repack(j, self, side, k);
    hs__task_wait(j, self, &side->packed, k + 1, 1);
}

/* Does update k of one of the worker's blocks, unless another worker has taken it over. */
static void own_update(job *j, hs__member *self, int32_t k, int32_t block)
{
    block_state *c = &j->block[block];
    if (k >= c->end || (k >= 0 && k < c->begin)) return;
    hs__task_wait(j, self, &c->done, k, 1);
    if (!hs__stopped(self) && take(&c->claimed, k)) update(j, self, k, block);
}

/* Does the worker's part of the next panel: if it is the owner, the last update of the panel's
 * block and its factorisation. Panels that are not made of columns are made by the workers of a
 * side in turn. */
static void own_panel(job *j, hs__member *self, int32_t next)
{
    if (j->applies ? next % own_side(j, self)->members != j->place[self->worker]
                   : j->block[next].owner != self->worker)
        return;
    if (!j->applies) {
        own_update(j, self, next - 1, next);
        hs__task_wait(j, self, &j->block[next].done, next, 1);
    }
    if (!hs__stopped(self) && take(begun(j, self), next)) hs__task_factor(j, self, next);
}

/* For each panel: first the next panel, if the worker owns it, then the worker's blocks from the
 * left. */
void hs__task_steps(job *j, hs__member *self)
{
    const int32_t count = j->x.blocks.count;
    const int32_t panels = j->x.panels;
    const int32_t late_panel = j->costs && j->costs->late_panel;
    const int all = j->dynamic || j->applies;
    /* A worker without blocks left has ended. */
    int32_t last = all ? panels : count - 1;
    while (!all && last >= 0 && j->block[last].owner != self->worker) last--;
    for (int32_t k = -1; k < panels && k < last && !hs__stopped(self); k++) {
        const int32_t next = k + 1, is_next = next < panels, late = late_panel && k >= 0;
        await_panel(j, self, k);
        if (k >= 0 && !hs__stopped(self)) record_message(j, self, k);
        if (is_next && !late) own_panel(j, self, next);
        for (int32_t block = j->applies         ? 0
                             : is_next && !late ? next + 1
                                                : next;
             block < count && !hs__stopped(self); block++)
            if (j->block[block].owner == self->worker) own_update(j, self, k, block);
        if (is_next && late) own_panel(j, self, next);
    }
    while (j->dynamic && !hs__stopped(self) && help(j, self, 1)) {}
}

/* Waits until no worker reads a block any more, because its slices may be memory of the result.
 * Other sides pack a panel from its columns. */
static void await_stillness(job *j, hs__member *self, int32_t block)
{
    hs__task_wait(j, self, &j->block[block].done, j->block[block].end, 1);
    if (j->sides > 1 && !j->applies && block < j->x.panels)
        hs__task_wait(j, self, &j->finished[block], j->updates[block], 1);
}

void hs__task_store(job *j, hs__member *self)
{
    hs__task_wait(j, self, made(j, self), j->x.panels, 1);
    for (int32_t block;
         !hs__stopped(self) && (block = atomic_fetch_add(&j->stored, 1)) < j->x.blocks.count;) {
        await_stillness(j, self, block);
        if (!hs__stopped(self))
            j->kind->store(data_of(j, block), block, hs__task_memory(j, self), self);
    }
}
