#include "run/task_state.h"

#include <math.h>
#include <stdlib.h>

#include "core/numbers.h"

enum { BUFFERS = 3 }; /* packed panels: one is made while two are in use, for who makes it has updates of the last to do */

typedef hs__task_block block_state;
typedef hs__tasks job;

static int take(_Atomic int32_t *x, int32_t from) { return atomic_compare_exchange_strong(x, &from, from + 1); }

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

void hs__task_tell(job *j)
{
    atomic_fetch_add(&j->ended, 1);
    hs__signal_send(j->run.signals);
}

/* A counter that is to reach a value; or, where there may then be something to help with, that anything has ended. */
typedef struct {
    const job *j;
    const _Atomic int32_t *counter;
    int32_t value;
    int64_t seen;
} goal;

static int is_reached(const void *what)
{
    const goal *x = what;
    return atomic_load(x->counter) >= x->value || (x->j->dynamic && atomic_load(&x->j->ended) != x->seen);
}

static int help(job *j, hs__member *self, int panels);

void hs__task_wait(job *j, hs__member *self, const _Atomic int32_t *counter, int32_t value, int panels)
{
    while (!hs__stopped(self)) {
        const goal x = {j, counter, value, atomic_load(&j->ended)};
        if (atomic_load(counter) >= value) return;
        if (!j->dynamic || !help(j, self, panels)) hs__await(self, j->run.signals, INFINITY, is_reached, &x);
    }
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

/* Where the due time of panel k for a worker is. */
static size_t due_at(const job *j, int32_t k, int32_t worker) { return j->sent ? (size_t)k * (size_t)j->workers + (size_t)worker : (size_t)k; }

/* The message that brought panel k, on the clock of the emulated platform. */
static void record_message(job *j, hs__member *self, int32_t k)
{
    if (!j->sent || !hs__records(&j->run) || j->owner[k] == self->worker || j->ports.last[self->worker] <= k) return;
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
        if (k == block && costs && costs->panels) hs__sleep_until(self, self->deadline += work * costs->panels[self->worker]);
        else hs__keep_pace(self, work * hs_flops_per_update(j->x.type.dtype));
        if (k == block && j->sent) {
            const size_t at = due_at(j, k, 0);
            hs__factor_broadcast(&j->ports, &j->x.blocks, k, self->deadline, j->due + at, j->sent + at, NULL);
        } else if (k == block) j->due[k] = self->deadline;
    }
    if (hs__records(&j->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&j->run));
    hs__attend(self);
}

/* Multiply-adds of a task. */
static double work_of(const job *j, int32_t k, int32_t block)
{
    if (!j->applies) return k == block ? hs__panel_work(&j->x.blocks, k) : hs__update_work(&j->x.blocks, k, block);
    const hs__packed_panel *panel = &j->x.panel[k];
    return (double)panel->width * ((double)panel->rows - (double)panel->width / 2.0) * (double)hs__block_width(&j->x.blocks, block);
}

/* Update k of a block that has been claimed; -1 is the copy to slices, after which updates begin with the block's first. */
static void update(job *j, hs__member *self, int32_t k, int32_t block)
{
    block_state *c = &j->block[block];
    if (k < 0) {
        j->kind->load(&j->x, block, hs__task_memory(j, self), self);
        atomic_store(&c->claimed, c->begin);
        atomic_store(&c->done, c->begin);
    } else {
        const double start = hs__since_start(&j->run), work = work_of(j, k, block);
        j->kind->update(&j->x, k, block, hs__task_memory(j, self), self);
        j->done_by[self->worker] += work;
        hs__task_end(j, self, k, block, start, work);
        hs__count_task(&j->run);
        atomic_store(&c->done, k + 1);
        atomic_fetch_add(&j->finished[k], 1);
    }
    hs__task_tell(j);
}

/* With pace: memory of panels that are needed no more, which is so in the order in which they are factored. */
static void collect_spares(job *j, int32_t k)
{
    for (; j->oldest < k && atomic_load(&j->finished[j->oldest]) >= j->updates[j->oldest]; j->oldest++) {
        char **strips = &j->x.panel[j->oldest].strips;
        if (j->spares < BUFFERS) j->spare[j->spares++] = *strips;
        else free(*strips);
        *strips = NULL;
    }
}

/* Memory for panel k, packed. At full speed BUFFERS panels take turns. An emulated worker may be many panels behind, which must not hold
 * the others up: then there is a buffer for each panel that is still needed, if there is memory, and BUFFERS at least. Returns 0 after
 * a cancel. */
static int find_strips(job *j, hs__member *self, int32_t k)
{
    hs__packed_panel *panel = &j->x.panel[k];
    if (!j->run.options.pace) {
        if (k >= BUFFERS) hs__task_wait(j, self, &j->finished[k - BUFFERS], j->updates[k - BUFFERS], 0);
        return !hs__stopped(self);
    }
    while (!hs__stopped(self)) {
        collect_spares(j, k);
        panel->strips = j->spares ? j->spare[--j->spares] : hs__allocate_pages(j->kind->panel_bytes(&j->x.type, panel->rows, panel->width));
        if (panel->strips) return 1;
        hs__task_wait(j, self, &j->finished[j->oldest], j->updates[j->oldest], 0);
    }
    return 0;
}

void hs__task_factor(job *j, hs__member *self, int32_t k)
{
    if (!find_strips(j, self, k)) return;
    const double start = hs__since_start(&j->run);
    if (j->kind->factor(&j->x, k, j->make, self)) return;
    if (!j->applies) {
        const double work = work_of(j, k, k);
        j->done_by[self->worker] += work;
        hs__task_end(j, self, k, k, start, work);
        hs__count_task(&j->run);
    }
    atomic_store(&j->factored, k + 1);
    hs__task_tell(j);
}

/* The next update of a block, if nobody has begun it and its panel is factored. */
static int try_update(job *j, hs__member *self, int32_t block, int32_t factored)
{
    block_state *c = &j->block[block];
    const int32_t k = atomic_load(&c->done);
    if (k >= factored || k >= c->end || !take(&c->claimed, k)) return 0;
    update(j, self, k, block);
    return 1;
}

/* Whether the columns of a panel, if it is made of any, have had all their updates. */
static int is_ready(const job *j, int32_t panel) { return j->applies || atomic_load(&j->block[panel].done) == panel; }

/* Takes over a task of another worker: what the next panel needs, else an update from the right. */
static int help(job *j, hs__member *self, int panels)
{
    const int32_t factored = atomic_load(&j->factored), next = factored, is_next = next < j->x.panels;
    if (panels && is_next) {
        if (!j->applies && try_update(j, self, next, factored)) return 1;
        if (is_ready(j, next) && take(&j->taken, next)) return hs__task_factor(j, self, next), 1;
    }
    for (int32_t block = j->x.blocks.count - 1, least = j->applies ? 0 : is_next ? next + 1 : next; block >= least; block--)
        if (try_update(j, self, block, factored)) return 1;
    return 0;
}

/* The worker's part of update k of one of its blocks: it may be in other hands. */
static void own_update(job *j, hs__member *self, int32_t k, int32_t block)
{
    block_state *c = &j->block[block];
    if (k >= c->end || (k >= 0 && k < c->begin)) return;
    hs__task_wait(j, self, &c->done, k, 1);
    if (!hs__stopped(self) && take(&c->claimed, k)) update(j, self, k, block);
}

/* The next panel, if it is the worker's: its last update, and its factorisation. Panels that are not made of columns are made in turn. */
static void own_panel(job *j, hs__member *self, int32_t next)
{
    if (j->applies ? next % j->workers != self->worker : j->block[next].owner != self->worker) return;
    if (!j->applies) {
        own_update(j, self, next - 1, next);
        hs__task_wait(j, self, &j->block[next].done, next, 1);
    }
    if (!hs__stopped(self) && take(&j->taken, next)) hs__task_factor(j, self, next);
}

/* The steps of one worker: of each panel the next one, if that is its own, then its blocks from the left. */
static void do_steps(job *j, hs__member *self)
{
    const int32_t count = j->x.blocks.count, panels = j->x.panels, late_panel = j->costs && j->costs->late_panel;
    const int all = j->dynamic || j->applies;
    int32_t last = all ? panels : count - 1; /* who has no blocks left has ended */
    while (!all && last >= 0 && j->block[last].owner != self->worker) last--;
    for (int32_t k = -1; k < panels && k < last && !hs__stopped(self); k++) {
        const int32_t next = k + 1, is_next = next < panels, late = late_panel && k >= 0;
        hs__task_wait(j, self, &j->factored, next, 1);
        if (k >= 0 && !hs__stopped(self)) record_message(j, self, k);
        if (is_next && !late) own_panel(j, self, next);
        for (int32_t block = j->applies ? 0 : is_next && !late ? next + 1 : next; block < count && !hs__stopped(self); block++)
            if (j->block[block].owner == self->worker) own_update(j, self, k, block);
        if (is_next && late) own_panel(j, self, next);
    }
    while (j->dynamic && !hs__stopped(self) && help(j, self, 1)) {}
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    if (j->x.panels == 0) return;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    if (j->grid) hs__task_map_steps(j, &self);
    else do_steps(j, &self);
    hs__member_end(&self);
    hs__task_wait(j, &self, &j->factored, j->x.panels, 1);
    for (int32_t block; !hs__stopped(&self) && (block = atomic_fetch_add(&j->stored, 1)) < j->x.blocks.count;) {
        hs__task_wait(j, &self, &j->block[block].done, j->block[block].end, 1);
        if (!hs__stopped(&self)) j->kind->store(&j->x, block, hs__task_memory(j, &self), &self);
    }
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

/* Whether the slices can be where the result goes: then they are the same memory, column for column. */
static int fits_in_place(const job *j)
{
    const hs__matrix *x = &j->x.wanted;
    const int32_t across = j->x.type.slice.across;
    if ((x->row_stride != 1 && x->row_stride != -1) || x->col_stride != x->rows || (uintptr_t)x->data % j->x.type.element) return 0;
    if (j->x.kept == HS__LOWER) return 0; /* what is above the diagonal stays as it is */
    for (int32_t i = 0; i + 1 < j->x.blocks.count; i++)
        if (hs__block_width(&j->x.blocks, i) % across) return 0;
    return hs__slice_bytes(&j->x.type, x->rows) == (size_t)(x->rows * across) * j->x.type.element;
}

/* Where the blocks lie: in the matrix itself if they can, but for a slice that is not full, else in a copy. */
static hs_status lay_out(job *j, char *last)
{
    const hs__factor_blocks *b = &j->x.blocks;
    const hs__matrix *x = &j->x.wanted;
    const int64_t across = j->x.type.slice.across;
    const size_t slice = hs__slice_bytes(&j->x.type, b->m);
    const int in_place = fits_in_place(j);
    size_t slices = 0;
    for (int32_t i = 0; i < b->count; i++) slices += (size_t)hs__ceil_div(hs__block_width(b, i), across);
    if (!in_place && !(j->slices = hs__run_pages(&j->run, slices * slice))) return HS_ERROR_MEMORY;
    size_t before = 0;
    for (int32_t i = 0; i < b->count; i++) {
        const int64_t cols = hs__block_width(b, i);
        char *at = in_place ? hs__at(x, x->row_stride < 0 ? x->rows - 1 : 0, hs__block_first(b, i)) : j->slices + before * slice;
        before += (size_t)hs__ceil_div(cols, across);
        j->x.columns[i] = (hs__columns){at, in_place ? last : at + (size_t)(cols / across) * slice, b->m, cols};
    }
    return HS_OK;
}

/* Where heads leave what the parts need. */
static hs_status hold(job *j, int64_t width)
{
    const hs__factor_blocks *b = &j->x.blocks;
    if (!j->grid || !j->kind->held_bytes) return HS_OK;
    size_t all = 0;
    for (int32_t i = 0; i < b->count; i++) all += j->kind->held_bytes(&j->x.type, width, hs__block_width(b, i));
    char *at = hs__run_pages(&j->run, all);
    if (!at || !(j->x.held = hs__run_zeros(&j->run, (size_t)b->count, sizeof *j->x.held))) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < b->count; i++) {
        j->x.held[i] = at;
        at += j->kind->held_bytes(&j->x.type, width, hs__block_width(b, i));
    }
    return HS_OK;
}

static size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/* Scratch: of worker 0 the packed panels, what the one that is being made needs, a slice that is not full; of each what it has
 * for itself. */
static hs_status open_scratch(job *j)
{
    const hs__factor_blocks *b = &j->x.blocks;
    const hs__column_type *t = &j->x.type;
    const int64_t width = hs__min(j->steps.block, hs__min(j->steps.m, j->steps.n)), m = b->m;
    const size_t panel = whole_pages(j->kind->panel_bytes(t, m, width)), make = whole_pages(j->kind->make_bytes(t, m, width));
    const int32_t buffers = j->run.options.pace ? 0 : j->x.panels < BUFFERS ? j->x.panels : BUFFERS;
    size_t own = 0;
    for (int32_t i = 0; i < b->count; i++) {
        const size_t needs = j->kind->work_bytes(t, m, width, hs__block_width(b, i));
        own = needs > own ? needs : own;
    }
    char *shared = hs__pool_scratch(j->run.pool, HS__PANELS, 0, panel * (size_t)buffers + make + hs__slice_bytes(t, m));
    if (!shared) return HS_ERROR_MEMORY;
    for (int32_t w = 0; w < j->workers; w++)
        if (!hs__pool_scratch(j->run.pool, HS__BLOCKS, w, own)) return HS_ERROR_MEMORY;
    for (; !buffers && j->spares < BUFFERS && j->spares < j->x.panels; j->spares++)
        if (!(j->spare[j->spares] = hs__allocate_pages(panel))) return HS_ERROR_MEMORY;
    j->make = shared + panel * (size_t)buffers;
    for (int32_t k = 0; k < j->x.panels && buffers; k++) j->x.panel[k].strips = shared + (size_t)(k % buffers) * panel;
    const hs_status status = hold(j, width);
    return status ? status : lay_out(j, j->make + make);
}

/* As given, else in turn; of a dynamic run where some workers are slow of late the last blocks, with the most work, first. */
static hs_status deal(job *j, int32_t *owner)
{
    const int32_t p = j->workers, count = j->x.blocks.count;
    if (j->grid) {
        const hs_status status = hs__factor_map_init(&j->map, &j->x.blocks, p, j->given_owner, 1);
        for (int32_t i = 0; i < count && !status; i++) owner[i] = j->map.column[i];
        return status;
    }
    if (j->given_owner || !j->dynamic) {
        for (int32_t i = 0; i < count; i++) owner[i] = j->given_owner ? j->given_owner[i] : i % p;
        return HS_OK;
    }
    double *times = hs__run_zeros(&j->run, (size_t)p, sizeof *times);
    if (!times) return HS_ERROR_MEMORY;
    hs__drift_speeds(hs__pool_drift(j->run.pool), NULL, times);
    for (int32_t w = 0; w < p; w++) times[w] = 1.0 / times[w];
    hs_status status = hs_distribute_prefix(count, p, times, NULL, owner, NULL);
    for (int32_t i = 0, k = count - 1; i < k; i++, k--) {
        const int32_t first = owner[i];
        owner[i] = owner[k], owner[k] = first;
    }
    return status;
}

/* Where the panels are, and which blocks they update: of a factorisation those to their right, else all, but for those that are done with
 * before they begin. */
static void set_steps(job *j)
{
    const hs__factor_blocks *s = &j->steps;
    const int32_t panels = j->x.panels;
    for (int32_t t = 0; t < panels; t++) {
        const int32_t k = j->x.backwards ? panels - 1 - t : t;
        const int64_t first = k * s->block;
        j->x.panel[t] = (hs__packed_panel){first, hs__min(s->block, hs__min(s->m, s->n) - first), s->m - first, NULL};
    }
    j->run.total = j->applies ? 0 : panels;
    for (int32_t i = 0; i < j->x.blocks.count; i++) {
        block_state *c = &j->block[i];
        c->owner = j->owner[i], c->end = j->applies || i > panels ? panels : i;
        c->begin = j->kind->begin ? j->kind->begin(&j->x, i) : 0;
        atomic_store(&c->claimed, -1), atomic_store(&c->done, -1);
        for (int32_t k = c->begin; k < c->end; k++) j->updates[k]++;
        j->run.total += c->end - c->begin;
    }
}

static hs_status open(void *context)
{
    job *j = context;
    const hs__factor_blocks *b = &j->x.blocks;
    const double *links = j->costs ? j->costs->links : NULL;
    j->run.manner = j->alone ? HS__ALONE : j->dynamic ? HS__SHARED : HS__EACH;
    atomic_store(&j->x.failed, INT64_MAX);
    j->x.panels = b->count ? j->steps.panels : 0;
    if (j->x.panels == 0) return HS_OK;
    const size_t panels = (size_t)j->x.panels, all = links ? panels * (size_t)j->workers : panels, count = (size_t)b->count;
    j->block = hs__run_zeros(&j->run, count, sizeof *j->block);
    j->x.columns = hs__run_zeros(&j->run, count, sizeof *j->x.columns);
    j->x.panel = hs__run_zeros(&j->run, panels, sizeof *j->x.panel);
    j->finished = hs__run_zeros(&j->run, panels, sizeof *j->finished);
    j->updates = hs__run_zeros(&j->run, panels, sizeof *j->updates);
    j->owner = hs__run_zeros(&j->run, count, sizeof *j->owner);
    j->done_by = hs__run_zeros(&j->run, (size_t)j->workers, sizeof *j->done_by);
    j->due = hs__run_zeros(&j->run, all, sizeof *j->due);
    if (!hs__run_signals(&j->run, 1) || !j->block || !j->x.columns || !j->x.panel || !j->finished || !j->updates || !j->owner || !j->done_by || !j->due)
        return HS_ERROR_MEMORY;
    hs_status status = deal(j, j->owner);
    if (!status && !hs__factor_valid_costs(j->costs, b, j->workers, j->owner)) status = HS_ERROR_VALUE;
    if (!status && links && !(j->sent = hs__run_zeros(&j->run, all, sizeof *j->sent))) status = HS_ERROR_MEMORY;
    if (!status && links && !hs__factor_ports_init(&j->ports, b, j->workers, j->owner, links)) status = HS_ERROR_MEMORY;
    if (j->dynamic && !j->given_owner && b->count >= HS__DRIFT_PARTS * (int64_t)j->workers) j->run.work_of = j->done_by;
    set_steps(j);
    return status ? status : open_scratch(j);
}

static void release(void *context)
{
    job *j = context;
    while (j->spares) free(j->spare[--j->spares]);
    for (int32_t k = 0; j->run.options.pace && j->x.panel && k < j->x.panels; k++) free(j->x.panel[k].strips);
    hs__factor_ports_end(&j->ports), hs__factor_map_end(&j->map);
}

/* Who makes the tasks has checked their arguments. */
static hs_status check(const void *context)
{
    (void)context;
    return HS_OK;
}

static const hs__kind run_kind = {.check = check, .open = open, .work = work, .close = release};

hs__tasks hs__tasks_of(const hs__task_kind *kind, hs_pool *pool, const hs_options *options, hs_trace *trace)
{
    return (hs__tasks){.run = hs__run_of(&run_kind, pool, options, trace), .kind = kind, .workers = hs__pool_size(pool)};
}

hs_status hs__tasks_do(hs__tasks *tasks) { return hs__run_do(&tasks->run); }

hs_status hs__tasks_held(hs__tasks *tasks) { return hs__run_held(&tasks->run); }

/* Columns of a block that all panels update: some blocks for everyone. */
static int64_t block_of(const hs__column_type *t, int64_t cols, int32_t workers)
{
    enum { WIDEST = 192, EACH = 4, MOST = 40000 };
    const int64_t across = t->slice.across, share = hs__min(WIDEST, hs__ceil_div(cols, EACH * (int64_t)workers));
    return hs__round_up(hs__max(share, hs__ceil_div(cols, MOST)), across);
}

hs_status hs__tasks_apply(hs__tasks *j, int64_t m, int64_t rank, int64_t cols, hs_status (*run)(hs__tasks *tasks))
{
    const int32_t workers = j->alone ? 1 : j->workers;
    j->dynamic = j->applies = 1;
    j->x.width = hs__min(j->kind->widest, hs_factor_block(HS_LU, m, rank, j->x.type.dtype, workers));
    if (!hs__factor_blocks_init(&j->x.blocks, HS_LU, m, cols, block_of(&j->x.type, cols, workers))) return HS_ERROR_VALUE;
    if (!hs__factor_blocks_init(&j->steps, HS_LU, m, rank, j->x.width)) return HS_ERROR_VALUE;
    return rank ? run(j) : HS_OK;
}
