/* Runs LU factorisations: which worker does which task, and when it may. */
#include <math.h>
#include <stdlib.h>

#include "allocate/lu.h"
#include "run/lu_panel.h"
#include "threads/arena.h"

enum { BUFFERS = 3 };            /* packed panels: one is made while two are in use, for who makes it has updates of the last to do */
static const double SMALL = 8e6; /* fewer multiply-adds are done by the caller alone: waking the others takes as long */

/* A block of columns. */
typedef struct {
    int32_t owner;
    _Atomic int32_t claimed, done; /* updates begun and ended; -1: the columns are not yet in slices */
    hs__lu_columns columns;
} column;

typedef struct {
    hs__run run;
    hs_lu *lu;
    hs__lu_type type;
    hs__lu_blocks blocks;
    int32_t workers, dynamic;
    column *column;        /* [count] */
    hs__lu_panel *panel;   /* [panels] */
    _Atomic int32_t *finished; /* [panels] blocks that the panel has updated */
    double *due;           /* [panels] when it is ready on the clock of the emulated platform; with links [panels * p] when it has arrived */
    double *sent;          /* with links [panels * p] when its messages begin */
    hs__lu_ports ports;
    int32_t *owner;        /* [count] */
    double *done_by;       /* [workers] */
    _Atomic int32_t factored; /* panels */
    _Atomic int32_t taken;    /* panels that are factored or being factored */
    _Atomic int32_t stored;   /* blocks taken to be copied back */
    int64_t zero;
    char *slices;          /* of all blocks, or NULL: they are in place */
    char *strips;          /* of the panel that is being factored */
    char *spare[BUFFERS];  /* with pace: memory of panels that are needed no more, for others */
    int32_t spares;
    int32_t oldest;        /* with pace: the first panel that may still be needed; of who factors */
    _Atomic int64_t ended; /* copies, updates and panels; workers without cores of their own sleep at the run's signal until one has */
} job;

static int take(_Atomic int32_t *x, int32_t from) { return atomic_compare_exchange_strong(x, &from, from + 1); }

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static void tell(job *j)
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

/* Meanwhile takes over tasks of others, `panels`: and panels. */
static void wait_for(job *j, hs__member *self, const _Atomic int32_t *counter, int32_t value, int panels)
{
    while (!hs__stopped(self)) {
        const goal x = {j, counter, value, atomic_load(&j->ended)};
        if (atomic_load(counter) >= value) return;
        if (!j->dynamic || !help(j, self, panels)) hs__await(self, j->run.signals, INFINITY, is_reached, &x);
    }
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

static char *work_of(const job *j, const hs__member *self) { return hs__pool_scratch(j->run.pool, HS__BLOCKS, self->worker, 0); /* sized before the run */ }

/* Where the due time of panel k for a worker is. */
static size_t due_at(const job *j, int32_t k, int32_t worker) { return j->sent ? (size_t)k * (size_t)j->workers + (size_t)worker : (size_t)k; }

/* The message that brought panel k, on the clock of the emulated platform. */
static void record_message(job *j, hs__member *self, int32_t k)
{
    if (!j->sent || !hs__records(&j->run) || j->owner[k] == self->worker || j->ports.last[self->worker] <= k) return;
    const size_t at = due_at(j, k, self->worker);
    self->box = k * j->blocks.count + k;
    hs__record(self, HS_TRANSFER, j->sent[at], j->due[at]);
}

static void end_task(job *j, hs__member *self, int32_t k, int32_t block, double start, double work)
{
    self->box = k * j->blocks.count + block;
    if (j->run.options.pace) {
        const hs_lu_costs *costs = j->lu->costs;
        if (k != block) self->deadline = fmax(self->deadline, j->due[due_at(j, k, self->worker)]);
        start = self->deadline;
        if (k == block && costs && costs->panels) hs__sleep_until(self, self->deadline += work * costs->panels[self->worker]);
        else hs__keep_pace(self, work * hs_flops_per_update(j->lu->dtype));
        if (k == block && j->sent) {
            const size_t at = due_at(j, k, 0);
            hs__lu_broadcast(&j->ports, &j->blocks, k, self->deadline, j->due + at, j->sent + at, NULL);
        } else if (k == block) j->due[k] = self->deadline;
    }
    if (hs__records(&j->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&j->run));
    hs__count_task(&j->run);
    hs__attend(self);
}

/* A block of the matrix for the result, and of the one that is given. */
static hs__lu_matrix wanted(const job *j, int32_t block)
{
    const hs_lu *lu = j->lu;
    const ptrdiff_t first = (ptrdiff_t)j->type.element * hs__lu_first(&j->blocks, block);
    return (hs__lu_matrix){(char *)lu->lu + first * lu->lu_col_stride, lu->lu_row_stride, lu->lu_col_stride};
}

static hs__lu_matrix given(const job *j, int32_t block)
{
    const hs_lu *lu = j->lu;
    if (!lu->a) return wanted(j, block);
    const ptrdiff_t first = (ptrdiff_t)j->type.element * hs__lu_first(&j->blocks, block);
    return (hs__lu_matrix){(char *)lu->a + first * lu->a_col_stride, lu->a_row_stride, lu->a_col_stride};
}

/* Update k of a block that has been claimed; -1 is the copy to slices. */
static void update(job *j, hs__member *self, int32_t k, int32_t block)
{
    if (k < 0) {
        hs__lu_load(&j->type, given(j, block), &j->column[block].columns, work_of(j, self), self);
    } else {
        const double start = hs__since_start(&j->run);
        hs__lu_update(&j->type, &j->panel[k], &j->column[block].columns, j->lu->pivots, work_of(j, self), self);
        const double work = hs__lu_update_work(&j->blocks, k, block);
        j->done_by[self->worker] += work;
        end_task(j, self, k, block, start, work);
    }
    atomic_store(&j->column[block].done, k + 1);
    if (k >= 0) atomic_fetch_add(&j->finished[k], 1);
    tell(j);
}

/* Blocks that panel k updates. */
static int32_t updates_of(const job *j, int32_t k) { return j->blocks.count - 1 - k; }

/* With pace: memory of panels that are needed no more, which is so in the order in which they are factored. */
static void collect_spares(job *j, int32_t k)
{
    for (; j->oldest < k && atomic_load(&j->finished[j->oldest]) >= updates_of(j, j->oldest); j->oldest++) {
        char **strips = &j->panel[j->oldest].strips;
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
    hs__lu_panel *panel = &j->panel[k];
    if (!j->run.options.pace) {
        if (k >= BUFFERS) wait_for(j, self, &j->finished[k - BUFFERS], updates_of(j, k - BUFFERS), 0);
        return !hs__stopped(self);
    }
    while (!hs__stopped(self)) {
        collect_spares(j, k);
        panel->strips = j->spares ? j->spare[--j->spares] : hs__allocate_pages(hs__lu_panel_bytes(&j->type, panel->rows, panel->width));
        if (panel->strips) return 1;
        wait_for(j, self, &j->finished[j->oldest], updates_of(j, j->oldest), 0);
    }
    return 0;
}

/* Panel k, which has been taken. */
static void factor(job *j, hs__member *self, int32_t k)
{
    if (!find_strips(j, self, k)) return;
    const double start = hs__since_start(&j->run);
    if (hs__lu_factor(&j->type, &j->panel[k], &j->column[k].columns, j->lu->pivots, &j->zero, j->strips, self)) return;
    const double work = hs__lu_panel_work(&j->blocks, k);
    j->done_by[self->worker] += work;
    end_task(j, self, k, k, start, work);
    atomic_store(&j->factored, k + 1);
    tell(j);
}

/* The next update of a block, if nobody has begun it and its panel is factored. */
static int try_update(job *j, hs__member *self, int32_t block, int32_t factored)
{
    column *c = &j->column[block];
    const int32_t k = atomic_load(&c->done);
    if (k >= factored || k >= block || !take(&c->claimed, k)) return 0;
    update(j, self, k, block);
    return 1;
}

/* Takes over a task of another worker: what the next panel needs, else an update from the right. */
static int help(job *j, hs__member *self, int panels)
{
    const int32_t factored = atomic_load(&j->factored), next = factored;
    if (panels && next < j->blocks.panels) {
        if (try_update(j, self, next, factored)) return 1;
        if (atomic_load(&j->column[next].done) == next && take(&j->taken, next)) return factor(j, self, next), 1;
    }
    for (int32_t block = j->blocks.count - 1, least = next < j->blocks.panels ? next + 1 : next; block >= least; block--)
        if (try_update(j, self, block, factored)) return 1;
    return 0;
}

/* The worker's part of update k of one of its blocks: it may be in other hands. */
static void own_update(job *j, hs__member *self, int32_t k, int32_t block)
{
    column *c = &j->column[block];
    wait_for(j, self, &c->done, k, 1);
    if (!hs__stopped(self) && take(&c->claimed, k)) update(j, self, k, block);
}

/* The next panel, if it is the worker's: its last update, and its factorisation. */
static void own_panel(job *j, hs__member *self, int32_t next)
{
    if (next >= j->blocks.panels || j->column[next].owner != self->worker) return;
    own_update(j, self, next - 1, next);
    wait_for(j, self, &j->column[next].done, next, 1);
    if (!hs__stopped(self) && take(&j->taken, next)) factor(j, self, next);
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    const hs__lu_blocks *b = &j->blocks;
    const int late_panel = j->lu->costs && j->lu->costs->late_panel;
    if (b->panels == 0) return;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    int32_t last = j->dynamic ? b->panels : b->count - 1; /* who has no blocks left has ended */
    while (!j->dynamic && last >= 0 && j->column[last].owner != worker) last--;
    for (int32_t k = -1; k < b->panels && k < last && !hs__stopped(&self); k++) {
        const int32_t next = k + 1, late = late_panel && k >= 0;
        wait_for(j, &self, &j->factored, next, 1);
        if (k >= 0 && !hs__stopped(&self)) record_message(j, &self, k);
        if (!late) own_panel(j, &self, next);
        for (int32_t block = next < b->panels && !late ? next + 1 : next; block < b->count && !hs__stopped(&self); block++)
            if (j->column[block].owner == worker) own_update(j, &self, k, block);
        if (late) own_panel(j, &self, next);
    }
    while (j->dynamic && !hs__stopped(&self) && help(j, &self, 1)) {}
    hs__member_end(&self);
    wait_for(j, &self, &j->factored, b->panels, 1);
    /* Back from the slices, with the rows that later panels have exchanged. */
    for (int32_t block; !hs__stopped(&self) && (block = atomic_fetch_add(&j->stored, 1)) < b->count;) {
        wait_for(j, &self, &j->column[block].done, block < b->panels ? block : b->panels, 1);
        if (hs__stopped(&self)) break;
        const int64_t first = hs__lu_first(b, block < b->panels ? block + 1 : b->panels), rank = hs__lu_first(b, b->panels);
        hs__lu_store(&j->type, &j->column[block].columns, wanted(j, block), first, rank - first, j->lu->pivots, work_of(j, &self), &self);
    }
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

int64_t hs_lu_block(int64_t m, int64_t n, int32_t dtype, int32_t workers)
{
    static const int64_t blocks[] = {192, 96, 48, 32, 16}, from[] = {2500, 768, 300, 0, 0};
    hs_kernel_init();
    hs__lu_type type;
    hs__lu_type_init(&type, hs__kernel_current(), dtype);
    const int64_t rank = m < n ? m : n, across = type.slice.across;
    int choice = 0;
    while (choice < 4 && (rank < from[choice] || rank < 3 * (int64_t)workers * blocks[choice])) choice++; /* something for everyone */
    return across > 96 ? blocks[choice] : (blocks[choice] + across - 1) / across * across; /* whole slices can be in place */
}

/* Whether the caller does all alone. */
static int is_small(const hs_lu *lu)
{
    return lu->cooperative && (double)lu->m * (double)lu->n * (double)(lu->m < lu->n ? lu->m : lu->n) <= SMALL;
}

static int64_t block_of(const hs_lu *lu, int32_t workers)
{
    const int64_t longer = lu->m > lu->n ? lu->m : lu->n;
    int64_t block = lu->block;
    if (block) return block;
    for (block = hs_lu_block(lu->m, lu->n, lu->dtype, is_small(lu) ? 1 : workers); longer / block > 40000;) block *= 2;
    return block;
}

static hs_status check(const void *context)
{
    const job *j = context;
    const hs_lu *lu = j->lu;
    const double *pace = j->run.options.pace;
    hs__lu_blocks blocks;
    if (lu->dtype < 0 || lu->dtype > 3 || lu->m < 0 || lu->n < 0 || lu->m > INT32_MAX || lu->n > INT32_MAX) return HS_ERROR_VALUE;
    if (lu->block < 0 || lu->block > INT32_MAX || (lu->m && lu->n && (!lu->lu || !lu->pivots)) || (lu->cooperative && pace)) return HS_ERROR_VALUE;
    if (!lu->a && (lu->a_row_stride || lu->a_col_stride)) return HS_ERROR_VALUE;
    if (!hs__lu_blocks_init(&blocks, lu->m, lu->n, block_of(lu, j->workers))) return HS_ERROR_VALUE;
    for (int32_t i = 0; lu->owner && i < blocks.count; i++)
        if (lu->owner[i] < 0 || lu->owner[i] >= j->workers) return HS_ERROR_VALUE;
    if (lu->costs && (lu->costs->panels || lu->costs->links) && !pace) return HS_ERROR_VALUE;
    return HS_OK;
}

static size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/* Whether the slices can be where the result goes: then they are the same memory, column for column. */
static int fits_in_place(const job *j)
{
    const hs_lu *lu = j->lu;
    if (lu->lu_row_stride != 1 || lu->lu_col_stride != lu->m || (uintptr_t)lu->lu % j->type.element) return 0;
    for (int32_t i = 0; i + 1 < j->blocks.count; i++)
        if (hs__lu_width(&j->blocks, i) % j->type.slice.across) return 0;
    return hs__lu_slice_bytes(&j->type, lu->m) == (size_t)(lu->m * j->type.slice.across) * j->type.element;
}

/* Where the blocks lie: in the matrix itself if they can, but for a slice that is not full, else in a copy. */
static hs_status lay_out(job *j, char *last)
{
    const hs__lu_blocks *b = &j->blocks;
    const int64_t across = j->type.slice.across;
    const size_t slice = hs__lu_slice_bytes(&j->type, b->m);
    const int in_place = fits_in_place(j);
    size_t slices = 0;
    for (int32_t i = 0; i < b->count; i++) slices += (size_t)((hs__lu_width(b, i) + across - 1) / across);
    if (!in_place && !(j->slices = hs__run_pages(&j->run, slices * slice))) return HS_ERROR_MEMORY;
    size_t before = 0;
    for (int32_t i = 0; i < b->count; i++) {
        const int64_t cols = hs__lu_width(b, i);
        char *at = in_place ? wanted(j, i).data : j->slices + before * slice;
        before += (size_t)((cols + across - 1) / across);
        j->column[i] = (column){.owner = j->owner[i], .claimed = -1, .done = -1,
                                .columns = {at, in_place ? last : at + (size_t)(cols / across) * slice, b->m, cols}};
    }
    return HS_OK;
}

/* Scratch: of worker 0 the packed panels, the strips of the one that is being factored, a slice that is not full; of each what it has
 * for itself. */
static hs_status prepare(void *context)
{
    job *j = context;
    const hs__lu_blocks *b = &j->blocks;
    if (b->panels == 0) return HS_OK;
    const int64_t width = hs__lu_width(b, 0);
    const size_t panel = whole_pages(hs__lu_panel_bytes(&j->type, b->m, width)), strips = whole_pages(hs__lu_factor_bytes(&j->type, b->m, width));
    const int32_t buffers = j->run.options.pace ? 0 : b->panels < BUFFERS ? b->panels : BUFFERS;
    size_t own = 0;
    for (int32_t i = 0; i < b->count; i++) {
        const size_t needs = hs__lu_work_bytes(&j->type, b->m, width, hs__lu_width(b, i));
        own = needs > own ? needs : own;
    }
    char *shared = hs__pool_scratch(j->run.pool, HS__PANELS, 0, panel * (size_t)buffers + strips + hs__lu_slice_bytes(&j->type, b->m));
    if (!shared) return HS_ERROR_MEMORY;
    for (int32_t w = 0; w < j->workers; w++)
        if (!hs__pool_scratch(j->run.pool, HS__BLOCKS, w, own)) return HS_ERROR_MEMORY;
    for (; !buffers && j->spares < BUFFERS && j->spares < b->panels; j->spares++)
        if (!(j->spare[j->spares] = hs__allocate_pages(panel))) return HS_ERROR_MEMORY;
    j->strips = shared + panel * (size_t)buffers;
    for (int32_t k = 0; k < b->panels; k++) {
        const int64_t first = hs__lu_first(b, k);
        j->panel[k] = (hs__lu_panel){first, hs__lu_width(b, k), b->m - first, buffers ? shared + (size_t)(k % buffers) * panel : NULL};
    }
    return lay_out(j, j->strips + strips);
}

/* As given, else in turn; of a dynamic run where some workers are slow of late the last blocks, with the most work, first. */
static hs_status deal(job *j, int32_t *owner)
{
    const int32_t p = j->workers, count = j->blocks.count;
    if (j->lu->owner || !j->dynamic) {
        for (int32_t i = 0; i < count; i++) owner[i] = j->lu->owner ? j->lu->owner[i] : i % p;
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

static hs_status open(void *context)
{
    job *j = context;
    hs_lu *lu = j->lu;
    const hs__lu_blocks *b = &j->blocks;
    const double *links = lu->costs ? lu->costs->links : NULL;
    lu->singular = -1;
    hs__lu_blocks_init(&j->blocks, lu->m, lu->n, block_of(lu, j->workers));
    j->run.manner = is_small(lu) ? HS__ALONE : j->dynamic ? HS__SHARED : HS__EACH;
    if (b->panels == 0) return HS_OK;
    hs__lu_type_init(&j->type, hs__kernel_current(), lu->dtype);
    const size_t panels = (size_t)b->panels, all = links ? panels * (size_t)j->workers : panels;
    j->column = hs__run_zeros(&j->run, (size_t)b->count, sizeof *j->column);
    j->panel = hs__run_zeros(&j->run, panels, sizeof *j->panel);
    j->finished = hs__run_zeros(&j->run, panels, sizeof *j->finished);
    j->owner = hs__run_zeros(&j->run, (size_t)b->count, sizeof *j->owner);
    j->done_by = hs__run_zeros(&j->run, (size_t)j->workers, sizeof *j->done_by);
    j->due = hs__run_zeros(&j->run, all, sizeof *j->due);
    if (!hs__run_signals(&j->run, 1) || !j->column || !j->panel || !j->finished || !j->owner || !j->done_by || !j->due) return HS_ERROR_MEMORY;
    hs_status status = deal(j, j->owner);
    if (!status && !hs__lu_valid_costs(lu->costs, b, j->workers, j->owner)) status = HS_ERROR_VALUE;
    if (!status && links && (!(j->sent = hs__run_zeros(&j->run, all, sizeof *j->sent)) || !hs__lu_ports_init(&j->ports, b, j->workers, j->owner, links)))
        status = HS_ERROR_MEMORY;
    if (j->dynamic && !lu->owner && b->count >= HS__DRIFT_PARTS * (int64_t)j->workers) j->run.work_of = j->done_by;
    for (int64_t k = 0; k < b->panels; k++) j->run.total += b->count - k;
    return status;
}

static hs_status report(void *context, hs_status status)
{
    const job *j = context;
    if (!status && j->zero < INT64_MAX) j->lu->singular = j->zero;
    return status;
}

static void release(void *context)
{
    job *j = context;
    while (j->spares) free(j->spare[--j->spares]);
    for (int32_t k = 0; j->run.options.pace && j->panel && k < j->blocks.panels; k++) free(j->panel[k].strips);
    hs__lu_ports_end(&j->ports);
}

static const hs__kind kind = {.check = check, .open = open, .prepare = prepare, .work = work, .report = report, .close = release};

hs_status hs_run_lu(hs_pool *pool, hs_lu *lu, const hs_options *options, hs_trace *trace)
{
    if (!pool || !lu) return HS_ERROR_VALUE;
    const int32_t p = hs__pool_size(pool);
    job j = {.run = hs__run_of(&kind, pool, options, trace), .lu = lu, .workers = p, .dynamic = lu->cooperative != 0, .zero = INT64_MAX};
    return hs__run_do(&j.run);
}
