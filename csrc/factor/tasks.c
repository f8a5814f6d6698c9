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
 * way `taken` and `factored` count panels, and `taken` and `packed` the panels of a domain. So any
 * worker can do any task of these steps. In a dynamic run a worker that would have to wait does one
 * for another worker (help_others): what the next panel needs, else an update from the right, as
 * owners work from the left.
 *
 * Workers of different domains have different kernels. Each domain has panels packed for its
 * kernel; the domain that factors a panel packs it for itself, and a worker of another domain packs
 * it again (repack_panel). At full speed packed panels use HS__PANEL_BUFFERS buffers in turn: a
 * panel is made when the last panel in its buffer has done all its updates.
 *
 * Example: four blocks, owned by workers 0 1 0 1. Worker 0 factors panel 0 while worker 1 copies
 * its blocks. Worker 1 then does update 0 of block 1, factors panel 1, and does update 0 of block
 * 3; worker 0 does update 0 of block 2 meanwhile and waits for panel 1. In a dynamic run it does
 * update 0 of block 3 instead of waiting. */
#include "factor/task_state.h"

#include <math.h>
#include <stdlib.h>

static int claim_next(_Atomic int32_t *x, int32_t from)
{
    return atomic_compare_exchange_strong(x, &from, from + 1);
}

/* ---- waiting --------------------------------------------------------------------------------- */

void hs__task_tell(hs__tasks *tasks)
{
    atomic_fetch_add(&tasks->ended, 1);
    hs__signal_send(tasks->run.signals);
}

/* Waits for a counter to reach a value; in a dynamic run also for any task to end, as there may
 * then be something to help with. */
typedef struct {
    const hs__tasks *tasks;
    const _Atomic int32_t *counter;
    int32_t value;
    int64_t seen;
} counter_goal;

static int is_reached(const void *what)
{
    const counter_goal *goal = what;
    return atomic_load(goal->counter) >= goal->value ||
           (goal->tasks->dynamic && atomic_load(&goal->tasks->ended) != goal->seen);
}

static int help_others(hs__tasks *tasks, hs__member *self, int panels);

void hs__task_wait(hs__tasks *tasks, hs__member *self, const _Atomic int32_t *counter,
                   int32_t value, int panels)
{
    while (!hs__stopped(self)) {
        const counter_goal goal = {tasks, counter, value, atomic_load(&tasks->ended)};
        if (atomic_load(counter) >= value) return;
        if (!tasks->dynamic || !help_others(tasks, self, panels))
            hs__await(self, tasks->run.signals, INFINITY, is_reached, &goal);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Returns the index in tasks->due of panel k for a worker. */
static size_t due_at(const hs__tasks *tasks, int32_t k, int32_t worker)
{
    return tasks->sent ? (size_t)k * (size_t)tasks->workers + (size_t)worker : (size_t)k;
}

/* Records the message that brought panel k, on the clock of the emulated platform. */
static void record_message(hs__tasks *tasks, hs__member *self, int32_t k)
{
    if (!tasks->sent || !hs__records(&tasks->run) || tasks->owner[k] == self->worker ||
        tasks->ports.last[self->worker] <= k)
        return;
    const size_t at = due_at(tasks, k, self->worker);
    self->box = k * tasks->x.blocks.count + k;
    hs__record(self, HS_TRANSFER, tasks->sent[at], tasks->due[at]);
}

void hs__task_end(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block, double start,
                  double work)
{
    self->box = k * tasks->x.blocks.count + block;
    if (tasks->run.options.pace) {
        const hs_factor_costs *costs = tasks->costs;
        if (k != block)
            self->deadline = fmax(self->deadline, tasks->due[due_at(tasks, k, self->worker)]);
        start = self->deadline;
        if (k == block && costs && costs->panels)
            hs__sleep_until(self, self->deadline += work * costs->panels[self->worker]);
        else if (k != block && costs && costs->steps)
            hs__sleep_until(self, self->deadline +=
                                  work * costs->steps[(int64_t)k * tasks->workers + self->worker]);
        else hs__keep_pace(self, work * hs_flops_per_update(tasks->x.type.dtype));
        if (k == block && tasks->sent) {
            const size_t at = due_at(tasks, k, 0);
            hs__factor_broadcast(&tasks->ports, &tasks->x.blocks, k, self->deadline,
                                 tasks->due + at, tasks->sent + at, NULL);
        } else if (k == block) tasks->due[k] = self->deadline;
    }
    if (hs__records(&tasks->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&tasks->run));
    hs__attend(self);
}

/* Returns the multiply-adds of a task. */
static double work_of(const hs__tasks *tasks, int32_t k, int32_t block)
{
    if (!tasks->applies)
        return k == block ? hs__panel_work(&tasks->x.blocks, k)
                          : hs__update_work(&tasks->x.blocks, k, block);
    const hs__packed_panel *panel = &tasks->x.panel[k];
    return (double)panel->width * ((double)panel->rows - (double)panel->width / 2.0) *
           (double)hs__block_width(&tasks->x.blocks, block);
}

/* Returns the matrix as the tasks of a block see it. */
static const hs__task_data *data_of(const hs__tasks *tasks, int32_t block)
{
    return &tasks->domain[tasks->block[block].domain].x;
}

/* Does update k of a block, which the worker has claimed. -1 is the copy to slices; after it,
 * updates begin with the block's first. */
static void do_update(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    if (k < 0) {
        tasks->kind->load(data_of(tasks, block), block, hs__task_memory(tasks, self), self);
        atomic_store(&state->claimed, state->begin);
        atomic_store(&state->done, state->begin);
    } else {
        const double start = hs__since_start(&tasks->run);
        const double work = work_of(tasks, k, block);
        tasks->kind->update(data_of(tasks, block), k, block, hs__task_memory(tasks, self), self);
        tasks->done_by[self->worker] += work;
        hs__task_end(tasks, self, k, block, start, work);
        hs__count_task(&tasks->run);
        atomic_store(&state->done, k + 1);
        atomic_fetch_add(&tasks->finished[k], 1);
    }
    hs__task_tell(tasks);
}

/* With pace: collects the memory of panels that are not needed any more. Panels become so in the
 * order in which they are factored. */
static void collect_spares(hs__tasks *tasks, int32_t k)
{
    for (; tasks->oldest < k &&
           atomic_load(&tasks->finished[tasks->oldest]) >= tasks->updates[tasks->oldest];
         tasks->oldest++) {
        char **strips = &tasks->x.panel[tasks->oldest].strips;
        if (tasks->spares < HS__PANEL_BUFFERS) tasks->spare[tasks->spares++] = *strips;
        else free(*strips);
        *strips = NULL;
    }
}

/* Finds memory for panel k, packed. At full speed HS__PANEL_BUFFERS buffers are used in turn. An
 * emulated worker may be many panels behind, which must not delay the other workers: then each
 * panel that is still needed has a buffer, as long as there is memory, and there are at least
 * HS__PANEL_BUFFERS. Returns 0 after a cancel. */
static int find_strips(hs__tasks *tasks, hs__member *self, int32_t k)
{
    hs__packed_panel *panel = &tasks->x.panel[k];
    if (!tasks->run.options.pace) {
        if (k >= HS__PANEL_BUFFERS)
            hs__task_wait(tasks, self, &tasks->finished[k - HS__PANEL_BUFFERS],
                          tasks->updates[k - HS__PANEL_BUFFERS], 0);
        return !hs__stopped(self);
    }
    while (!hs__stopped(self)) {
        collect_spares(tasks, k);
        panel->strips = tasks->spares ? tasks->spare[--tasks->spares]
                                      : hs__allocate_pages(tasks->kind->panel_bytes(
                                            &tasks->domain->x.type, panel->rows, panel->width));
        if (panel->strips) return 1;
        hs__task_wait(tasks, self, &tasks->finished[tasks->oldest], tasks->updates[tasks->oldest],
                      0);
    }
    return 0;
}

/* Returns the domain of a worker. Each domain makes panels that are not made of columns for
 * itself. */
static hs__task_domain *own_domain(const hs__tasks *tasks, const hs__member *self)
{
    return &tasks->domain[tasks->domain_of[self->worker]];
}

static void make_panel(hs__tasks *tasks, hs__member *self, hs__task_domain *domain, int32_t k)
{
    if (!find_strips(tasks, self, k)) return;
    const double start = hs__since_start(&tasks->run);
    if (tasks->kind->factor(&domain->x, k, domain->make, self)) return;
    if (!tasks->applies) {
        const double work = work_of(tasks, k, k);
        tasks->done_by[self->worker] += work;
        hs__task_end(tasks, self, k, k, start, work);
        hs__count_task(&tasks->run);
    }
    atomic_store(&domain->taken, k + 1);
    /* All panels before k are packed, since they have updated the columns of panel k. */
    atomic_store(&domain->packed, k + 1);
    if (!tasks->applies) atomic_store(&tasks->factored, k + 1);
    hs__task_tell(tasks);
}

void hs__task_factor(hs__tasks *tasks, hs__member *self, int32_t k)
{
    make_panel(tasks, self,
               tasks->applies ? own_domain(tasks, self) : &tasks->domain[tasks->block[k].domain],
               k);
}

/* Packs panel k for a domain, if it is the next to be packed and no worker does it. Its buffer is
 * free: the panel that used it has done all its updates, or k would not be factored. */
static void repack_panel(hs__tasks *tasks, hs__member *self, hs__task_domain *domain, int32_t k)
{
    if (tasks->applies || k >= atomic_load(&tasks->factored) || !claim_next(&domain->taken, k))
        return;
    if (tasks->kind->repack(&domain->x, data_of(tasks, k), k, domain->make, self)) return;
    atomic_store(&domain->packed, k + 1);
    hs__task_tell(tasks);
}

/* Does the next update of a block if no worker has begun it and its panel is there. The panel is
 * packed for the domain first if needed. Returns whether it did the update. */
static int try_update(hs__tasks *tasks, hs__member *self, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    hs__task_domain *domain = &tasks->domain[state->domain];
    const int32_t k = atomic_load(&state->done);
    if (k >= state->end || atomic_load(&state->claimed) != k) return 0;
    if (k >= atomic_load(&domain->packed)) repack_panel(tasks, self, domain, k);
    if (k >= atomic_load(&domain->packed) || !claim_next(&state->claimed, k)) return 0;
    do_update(tasks, self, k, block);
    return 1;
}

/* Whether the columns of a panel, if it is made of columns, have had all their updates. */
static int is_ready(const hs__tasks *tasks, int32_t panel)
{
    return tasks->applies || atomic_load(&tasks->block[panel].done) == panel;
}

/* Return the counter of the panels that a worker's domain has, and the counter that includes the
 * one being made. */
static _Atomic int32_t *panels_made(const hs__tasks *tasks, const hs__member *self)
{
    return tasks->applies ? &own_domain(tasks, self)->packed : (_Atomic int32_t *)&tasks->factored;
}
static _Atomic int32_t *panels_begun(hs__tasks *tasks, const hs__member *self)
{
    return tasks->applies ? &own_domain(tasks, self)->taken : &tasks->taken;
}

/* Makes the next panel of another domain, if no worker has begun it and there is a buffer: if all
 * workers of that domain come late, or not at all, no other worker makes it. Returns whether it
 * did. */
static int make_for_others(hs__tasks *tasks, hs__member *self)
{
    for (int32_t s = 0; s < tasks->domains; s++) {
        hs__task_domain *domain = &tasks->domain[s];
        const int32_t k = atomic_load(&domain->packed);
        const int32_t before = k - HS__PANEL_BUFFERS;
        if (s == tasks->domain_of[self->worker] || k >= tasks->x.panels) continue;
        if (before >= 0 && atomic_load(&tasks->finished[before]) < tasks->updates[before]) continue;
        if (claim_next(&domain->taken, k)) {
            make_panel(tasks, self, domain, k);
            return 1;
        }
    }
    return 0;
}

/* Takes over a task of another worker: first what the next panel needs, else an update from the
 * right, in the worker's own domain first. Returns whether there was one. */
static int help_others(hs__tasks *tasks, hs__member *self, int panels)
{
    const int32_t next = atomic_load(panels_made(tasks, self));
    const int32_t is_next = next < tasks->x.panels;
    const int32_t own = tasks->domain_of[self->worker];
    if (panels && is_next) {
        if (!tasks->applies && try_update(tasks, self, next)) return 1;
        if (is_ready(tasks, next) && claim_next(panels_begun(tasks, self), next)) {
            hs__task_factor(tasks, self, next);
            return 1;
        }
    }
    const int32_t least = tasks->applies ? 0 : is_next ? next + 1 : next;
    for (int others = 0; others <= (tasks->domains > 1); others++)
        for (int32_t block = tasks->x.blocks.count - 1; block >= least; block--)
            if ((tasks->block[block].domain != own) == others && try_update(tasks, self, block))
                return 1;
    return tasks->applies && make_for_others(tasks, self);
}

/* Waits until the worker's domain has panel k. */
static void await_panel(hs__tasks *tasks, hs__member *self, int32_t k)
{
    hs__task_wait(tasks, self, panels_made(tasks, self), k + 1, 1);
    if (k < 0 || tasks->applies || hs__stopped(self)) return;
    hs__task_domain *domain = own_domain(tasks, self);
    if (k >= domain->needs) return;
    repack_panel(tasks, self, domain, k);
    hs__task_wait(tasks, self, &domain->packed, k + 1, 1);
}

/* Does update k of one of the worker's blocks, unless another worker has taken it over. */
static void do_own_update(hs__tasks *tasks, hs__member *self, int32_t k, int32_t block)
{
    hs__task_block *state = &tasks->block[block];
    if (k >= state->end || (k >= 0 && k < state->begin)) return;
    hs__task_wait(tasks, self, &state->done, k, 1);
    if (!hs__stopped(self) && claim_next(&state->claimed, k)) do_update(tasks, self, k, block);
}

/* Does the worker's part of the next panel: if it is the owner, the last update of the panel's
 * block and its factorisation. Panels that are not made of columns are made by the workers of a
 * domain in turn. */
static void make_own_panel(hs__tasks *tasks, hs__member *self, int32_t next)
{
    if (tasks->applies ? next % own_domain(tasks, self)->members != tasks->place[self->worker]
                       : tasks->block[next].owner != self->worker)
        return;
    if (!tasks->applies) {
        do_own_update(tasks, self, next - 1, next);
        hs__task_wait(tasks, self, &tasks->block[next].done, next, 1);
    }
    if (!hs__stopped(self) && claim_next(panels_begun(tasks, self), next))
        hs__task_factor(tasks, self, next);
}

/* For each panel: first the next panel, if the worker owns it, then the worker's blocks from the
 * left. */
void hs__task_steps(hs__tasks *tasks, hs__member *self)
{
    const int32_t count = tasks->x.blocks.count;
    const int32_t panels = tasks->x.panels;
    const int32_t late_panel = tasks->costs && tasks->costs->late_panel;
    const int all = tasks->dynamic || tasks->applies;
    /* A worker without blocks left has ended. */
    int32_t last = all ? panels : count - 1;
    while (!all && last >= 0 && tasks->block[last].owner != self->worker) last--;
    for (int32_t k = -1; k < panels && k < last && !hs__stopped(self); k++) {
        const int32_t next = k + 1;
        const int32_t is_next = next < panels;
        const int32_t late = late_panel && k >= 0;
        await_panel(tasks, self, k);
        if (k >= 0 && !hs__stopped(self)) record_message(tasks, self, k);
        if (is_next && !late) make_own_panel(tasks, self, next);
        for (int32_t block = tasks->applies     ? 0
                             : is_next && !late ? next + 1
                                                : next;
             block < count && !hs__stopped(self); block++)
            if (tasks->block[block].owner == self->worker) do_own_update(tasks, self, k, block);
        if (is_next && late) make_own_panel(tasks, self, next);
    }
    while (tasks->dynamic && !hs__stopped(self) && help_others(tasks, self, 1)) {}
}

/* Waits until no worker reads a block any more, because its slices may be memory of the result.
 * Other domains pack a panel from its columns. */
static void await_stillness(hs__tasks *tasks, hs__member *self, int32_t block)
{
    hs__task_wait(tasks, self, &tasks->block[block].done, tasks->block[block].end, 1);
    if (tasks->domains > 1 && !tasks->applies && block < tasks->x.panels)
        hs__task_wait(tasks, self, &tasks->finished[block], tasks->updates[block], 1);
}

void hs__task_store(hs__tasks *tasks, hs__member *self)
{
    hs__task_wait(tasks, self, panels_made(tasks, self), tasks->x.panels, 1);
    for (int32_t block; !hs__stopped(self) &&
                        (block = atomic_fetch_add(&tasks->stored, 1)) < tasks->x.blocks.count;) {
        await_stillness(tasks, self, block);
        if (!hs__stopped(self))
            tasks->kind->store(data_of(tasks, block), block, hs__task_memory(tasks, self), self);
    }
}
