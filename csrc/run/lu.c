/* Runs LU factorisations: which worker does which task, and when it may. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "allocate/lu.h"
#include "run/lu_panel.h"
#include "threads/pool.h"

enum { BUFFERS = 3 };            /* packed panels: one is made while the others are in use */
static const double SMALL = 8e6; /* fewer multiply-adds are done by the caller alone: waking the others takes as long */

/* A block of columns. */
typedef struct {
    int32_t owner;
    int32_t claimed, done; /* atomic: updates begun and ended; -1: the columns are not yet in slices */
    hs__lu_columns columns;
} column;

typedef struct {
    hs__course course;
    hs_lu *lu;
    hs__lu_type type;
    hs__lu_blocks blocks;
    int32_t workers, buffers, dynamic;
    column *column;        /* [count] */
    hs__lu_panel *panel;   /* [panels] */
    int32_t *finished;     /* [panels] atomic: blocks that the panel has updated */
    double *due;           /* [panels] when it is ready on the clock of the emulated platform; with links [panels * p] when it has arrived */
    double *sent;          /* with links [panels * p] when its messages begin */
    hs__lu_ports ports;
    int32_t *owner;        /* [count] */
    double *done_by;       /* [workers] */
    int32_t factored;      /* atomic: panels */
    int32_t taken;         /* atomic: panels that are factored or being factored */
    int32_t stored;        /* atomic: blocks taken to be copied back */
    int64_t zero;
    char *slices;          /* of all blocks, or NULL: they are in place */
    char *strips;          /* of the panel that is being factored */
    pthread_mutex_t lock;  /* for workers without cores of their own: they sleep until a task has ended */
    pthread_cond_t wake;
    int32_t asleep;        /* atomic */
} job;

static void poll_now(void *context) { hs__poll(&((job *)context)->course); }

static int32_t load(const int32_t *x) { return __atomic_load_n(x, __ATOMIC_SEQ_CST); }
static void store(int32_t *x, int32_t value) { __atomic_store_n(x, value, __ATOMIC_SEQ_CST); }

static int take(int32_t *x, int32_t from) { return __atomic_compare_exchange_n(x, &from, from + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); }

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static void tell(job *j)
{
    if (!load(&j->asleep)) return;
    pthread_mutex_lock(&j->lock);
    pthread_cond_broadcast(&j->wake);
    pthread_mutex_unlock(&j->lock);
}

/* What a worker waits for: a counter that is to reach a value. */
static void pause_until(job *j, hs__member *self, const int32_t *counter, int32_t value, unsigned *rounds)
{
    if (hs__pool_spins(j->course.pool)) {
        hs__look_again(self, rounds);
        return;
    }
    /* Either this sees the counter, or who counts sees that this is asleep: both sides store, then load. */
    pthread_mutex_lock(&j->lock);
    __atomic_add_fetch(&j->asleep, 1, __ATOMIC_SEQ_CST);
    if (load(counter) < value && !hs__cancelled(&j->course)) hs__condition_wait(&j->wake, &j->lock, 20);
    __atomic_sub_fetch(&j->asleep, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&j->lock);
    hs__attend(self);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

static char *work_of(const job *j, const hs__member *self) { return hs__pool_scratch(j->course.pool, j->workers + self->worker, 0); /* sized before the run */ }

/* Where the due time of panel k for a worker is. */
static size_t due_at(const job *j, int32_t k, int32_t worker) { return j->sent ? (size_t)k * (size_t)j->workers + (size_t)worker : (size_t)k; }

/* The message that brought panel k, on the clock of the emulated platform. */
static void record_message(job *j, hs__member *self, int32_t k)
{
    if (!j->sent || !hs__records(j->course.run) || j->owner[k] == self->worker || j->ports.last[self->worker] <= k) return;
    const size_t at = due_at(j, k, self->worker);
    self->box = k * j->blocks.count + k;
    hs__record(self, HS_TRANSFER, j->sent[at], j->due[at]);
}

static void end_task(job *j, hs__member *self, int32_t k, int32_t block, double start, double work)
{
    const hs_run *run = j->course.run;
    self->box = k * j->blocks.count + block;
    if (run->pace) {
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
    if (hs__records(run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&j->course));
    __atomic_add_fetch(&j->course.done, 1, __ATOMIC_RELAXED);
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
        const double start = hs__since_start(&j->course);
        hs__lu_update(&j->type, &j->panel[k], &j->column[block].columns, j->lu->pivots, work_of(j, self), self);
        const double work = hs__lu_update_work(&j->blocks, k, block);
        j->done_by[self->worker] += work;
        end_task(j, self, k, block, start, work);
    }
    store(&j->column[block].done, k + 1);
    if (k >= 0) __atomic_add_fetch(&j->finished[k], 1, __ATOMIC_SEQ_CST);
    tell(j);
}

static int help(job *j, hs__member *self, int panels);

/* Panel k, which has been taken, when the buffer that it needs is free. */
static void factor(job *j, hs__member *self, int32_t k)
{
    const int32_t before = k - j->buffers;
    if (before >= 0) {
        const int32_t all = j->blocks.count - 1 - before;
        for (unsigned rounds = 0; load(&j->finished[before]) < all && !hs__cancelled(&j->course);)
            if (!j->dynamic || !help(j, self, 0)) pause_until(j, self, &j->finished[before], all, &rounds);
    }
    if (hs__cancelled(&j->course)) return;
    const double start = hs__since_start(&j->course);
    if (hs__lu_factor(&j->type, &j->panel[k], &j->column[k].columns, j->lu->pivots, &j->zero, j->strips, self)) return;
    const double work = hs__lu_panel_work(&j->blocks, k);
    j->done_by[self->worker] += work;
    end_task(j, self, k, k, start, work);
    store(&j->factored, k + 1);
    tell(j);
}

/* The next update of a block, if nobody has begun it and its panel is factored. */
static int try_update(job *j, hs__member *self, int32_t block, int32_t factored)
{
    column *c = &j->column[block];
    const int32_t k = load(&c->done);
    if (k >= factored || k >= block || !take(&c->claimed, k)) return 0;
    update(j, self, k, block);
    return 1;
}

/* Takes over a task of another worker: what the next panel needs, else an update from the right. */
static int help(job *j, hs__member *self, int panels)
{
    const int32_t factored = load(&j->factored), next = factored;
    if (panels && next < j->blocks.panels) {
        if (try_update(j, self, next, factored)) return 1;
        if (load(&j->column[next].done) == next && take(&j->taken, next)) return factor(j, self, next), 1;
    }
    for (int32_t block = j->blocks.count - 1, least = next < j->blocks.panels ? next + 1 : next; block >= least; block--)
        if (try_update(j, self, block, factored)) return 1;
    return 0;
}

static void wait_for(job *j, hs__member *self, const int32_t *counter, int32_t value)
{
    for (unsigned rounds = 0; load(counter) < value && !hs__cancelled(&j->course);)
        if (!j->dynamic || !help(j, self, 1)) pause_until(j, self, counter, value, &rounds);
}

/* The worker's part of update k of one of its blocks: it may be in other hands. */
static void own_update(job *j, hs__member *self, int32_t k, int32_t block)
{
    column *c = &j->column[block];
    wait_for(j, self, &c->done, k);
    if (!hs__cancelled(&j->course) && take(&c->claimed, k)) update(j, self, k, block);
}

/* The next panel, if it is the worker's: its last update, and its factorisation. */
static void own_panel(job *j, hs__member *self, int32_t next)
{
    if (next >= j->blocks.panels || j->column[next].owner != self->worker) return;
    own_update(j, self, next - 1, next);
    wait_for(j, self, &j->column[next].done, next);
    if (!hs__cancelled(&j->course) && take(&j->taken, next)) factor(j, self, next);
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    const hs__lu_blocks *b = &j->blocks;
    const int late_panel = j->lu->costs && j->lu->costs->late_panel;
    hs__member self = hs__member_start(&j->course, worker, is_caller);
    int32_t last = j->dynamic ? b->panels : b->count - 1; /* who has no blocks left has ended */
    while (!j->dynamic && last >= 0 && j->column[last].owner != worker) last--;
    for (int32_t k = -1; k < b->panels && k < last && !hs__cancelled(&j->course); k++) {
        const int32_t next = k + 1, late = late_panel && k >= 0;
        wait_for(j, &self, &j->factored, next);
        if (k >= 0 && !hs__cancelled(&j->course)) record_message(j, &self, k);
        if (!late) own_panel(j, &self, next);
        for (int32_t block = next < b->panels && !late ? next + 1 : next; block < b->count && !hs__cancelled(&j->course); block++)
            if (j->column[block].owner == worker) own_update(j, &self, k, block);
        if (late) own_panel(j, &self, next);
    }
    while (j->dynamic && !hs__cancelled(&j->course) && help(j, &self, 1)) {}
    hs__member_end(&self);
    wait_for(j, &self, &j->factored, b->panels);
    /* Back from the slices, with the rows that later panels have exchanged. */
    for (int32_t block; !hs__cancelled(&j->course) && (block = __atomic_fetch_add(&j->stored, 1, __ATOMIC_RELAXED)) < b->count;) {
        wait_for(j, &self, &j->column[block].done, block < b->panels ? block : b->panels);
        if (hs__cancelled(&j->course)) break;
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
static int is_small(const hs_lu *lu, const hs_run *run)
{
    return run->cooperative && (double)lu->m * (double)lu->n * (double)(lu->m < lu->n ? lu->m : lu->n) <= SMALL;
}

static hs_status check(const hs_lu *lu, const hs_run *run, int32_t workers, hs__lu_blocks *blocks)
{
    if (lu->dtype < 0 || lu->dtype > 3 || lu->m < 0 || lu->n < 0 || lu->m > INT32_MAX || lu->n > INT32_MAX) return HS_ERROR_VALUE;
    if (lu->block < 0 || lu->block > INT32_MAX || (lu->m && lu->n && (!lu->lu || !lu->pivots))) return HS_ERROR_VALUE;
    if (run->box_count || run->speeds || run->receive || (run->cooperative && run->pace) || !hs__valid_run(run, workers)) return HS_ERROR_VALUE;
    int64_t block = lu->block;
    if (!block) {
        const int64_t longer = lu->m > lu->n ? lu->m : lu->n;
        for (block = hs_lu_block(lu->m, lu->n, lu->dtype, is_small(lu, run) ? 1 : workers); longer / block > 40000;) block *= 2;
    }
    if (!hs__lu_blocks_init(blocks, lu->m, lu->n, block)) return HS_ERROR_VALUE;
    for (int32_t i = 0; lu->owner && i < blocks->count; i++)
        if (lu->owner[i] < 0 || lu->owner[i] >= workers) return HS_ERROR_VALUE;
    if (lu->costs && (lu->costs->panels || lu->costs->links) && !run->pace) return HS_ERROR_VALUE;
    return HS_OK;
}

static size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/* Whether the slices can be where the result goes: then they are the same memory, column for column. */
static int fits_in_place(const job *j)
{
    const hs_lu *lu = j->lu;
    if (lu->lu_row_stride != 1 || lu->lu_col_stride != lu->m || (uintptr_t)lu->lu % 64) return 0;
    for (int32_t i = 0; i + 1 < j->blocks.count; i++)
        if (hs__lu_width(&j->blocks, i) % j->type.slice.across) return 0;
    return hs__lu_slice_bytes(&j->type, lu->m) == (size_t)(lu->m * j->type.slice.across) * j->type.element;
}

/* Scratch slots: 0 the packed panels, the strips and slices that are not full; p .. 2 p - 1 what the workers have for themselves. */
static hs_status prepare(job *j)
{
    const hs__lu_blocks *b = &j->blocks;
    const int64_t width = hs__lu_width(b, 0), across = j->type.slice.across;
    const size_t panel = whole_pages(hs__lu_panel_bytes(&j->type, b->m, width)), strips = whole_pages(hs__lu_factor_bytes(&j->type, b->m, width));
    const size_t slice = hs__lu_slice_bytes(&j->type, b->m);
    const int in_place = fits_in_place(j);
    size_t slices = 0, own = 0;
    for (int32_t i = 0; i < b->count; i++) {
        const size_t needs = hs__lu_work_bytes(&j->type, b->m, width, hs__lu_width(b, i));
        own = needs > own ? needs : own;
        slices += (size_t)((hs__lu_width(b, i) + across - 1) / across);
    }
    char *shared = hs__pool_scratch(j->course.pool, 0, panel * (size_t)j->buffers + strips + slice);
    if (!shared) return HS_ERROR_MEMORY;
    for (int32_t w = 0; w < j->workers; w++)
        if (!hs__pool_scratch(j->course.pool, j->workers + w, own)) return HS_ERROR_MEMORY;
    if (!in_place) {
        enum { HUGE_PAGE = 2 << 20 };
        const size_t bytes = slices * slice + 4096; /* micro-kernels load a step more than they use */
        void *memory = NULL;
        if (posix_memalign(&memory, bytes < HUGE_PAGE ? 4096 : HUGE_PAGE, bytes)) return HS_ERROR_MEMORY;
#if defined(MADV_HUGEPAGE)
        if (bytes >= HUGE_PAGE) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
        j->slices = memory;
    }
    j->strips = shared + panel * (size_t)j->buffers;
    for (int32_t k = 0; k < b->panels; k++) {
        const int64_t first = hs__lu_first(b, k);
        j->panel[k] = (hs__lu_panel){first, hs__lu_width(b, k), b->m - first, shared + (size_t)(k % j->buffers) * panel};
    }
    size_t before = 0;
    for (int32_t i = 0; i < b->count; i++) {
        const int64_t cols = hs__lu_width(b, i), full = cols / across;
        char *at = in_place ? wanted(j, i).data : j->slices + before * slice;
        char *last = in_place ? j->strips + strips : at + (size_t)full * slice;
        before += (size_t)((cols + across - 1) / across);
        j->column[i] = (column){.owner = j->owner[i], .claimed = -1, .done = -1,
                                .columns = {at, last, b->m, cols}};
    }
    return HS_OK;
}

/* As given, else in turn; of a dynamic run where some workers are slow of late the last blocks, with the most work, first. */
static hs_status deal(const job *j, int32_t *owner)
{
    const int32_t p = j->workers, count = j->blocks.count;
    if (j->lu->owner || !j->dynamic) {
        for (int32_t i = 0; i < count; i++) owner[i] = j->lu->owner ? j->lu->owner[i] : i % p;
        return HS_OK;
    }
    double *times = malloc((size_t)p * sizeof *times);
    if (!times) return HS_ERROR_MEMORY;
    hs__drift_speeds(hs__pool_drift(j->course.pool), NULL, times);
    for (int32_t w = 0; w < p; w++) times[w] = 1.0 / times[w];
    hs_status status = hs_distribute_prefix(count, p, times, NULL, owner, NULL);
    for (int32_t i = 0, k = count - 1; i < k; i++, k--) {
        const int32_t first = owner[i];
        owner[i] = owner[k], owner[k] = first;
    }
    free(times);
    return status;
}

hs_status hs_run_lu(hs_pool *pool, hs_lu *lu, hs_run *run)
{
    if (!pool || !lu || !run) return HS_ERROR_VALUE;
    hs_kernel_init();
    const int32_t p = hs__pool_size(pool);
    job j = {.course = {.run = run, .pool = pool}, .lu = lu, .workers = p, .dynamic = run->cooperative, .zero = INT64_MAX};
    hs_status status = check(lu, run, p, &j.blocks);
    if (status) return status;
    run->event_count = 0;
    hs__run_clear(run, p);
    lu->singular = -1;
    if (j.blocks.panels == 0) return HS_OK;
    hs__lu_type_init(&j.type, hs__kernel_current(), lu->dtype);
    j.buffers = run->pace || j.blocks.panels < BUFFERS ? j.blocks.panels : BUFFERS;
    const size_t panels = (size_t)j.blocks.panels;
    j.column = malloc((size_t)j.blocks.count * sizeof *j.column);
    j.panel = malloc(panels * sizeof *j.panel);
    j.finished = calloc(panels, sizeof *j.finished);
    j.owner = malloc((size_t)j.blocks.count * sizeof *j.owner);
    j.done_by = calloc((size_t)p, sizeof *j.done_by);
    const double *links = lu->costs ? lu->costs->links : NULL;
    j.due = calloc(links ? panels * (size_t)p : panels, sizeof *j.due);
    for (int64_t k = 0; k < j.blocks.panels; k++) j.course.total += j.blocks.count - k;
    if (!j.column || !j.panel || !j.finished || !j.owner || !j.done_by || !j.due) status = HS_ERROR_MEMORY;
    if (!status) status = deal(&j, j.owner);
    if (!status && !hs__lu_valid_costs(lu->costs, &j.blocks, p, j.owner)) status = HS_ERROR_VALUE;
    if (!status && links) {
        j.sent = calloc(panels * (size_t)p, sizeof *j.sent);
        if (!j.sent || !hs__lu_ports_init(&j.ports, &j.blocks, p, j.owner, links)) status = HS_ERROR_MEMORY;
    }
    if (!status) status = hs__pool_lock(pool, run->poll, run->poll_context);
    if (!status) {
        status = prepare(&j);
        if (!status) {
            pthread_mutex_init(&j.lock, NULL);
            hs__condition_init(&j.wake);
            hs__course_start(&j.course, run);
            if (is_small(lu, run)) work(&j, 0, 1);
            else if (j.dynamic) hs__pool_run_shared(pool, work, &j, poll_now);
            else hs__pool_run(pool, work, &j, poll_now);
            status = hs__course_end(&j.course);
            if (j.dynamic && !lu->owner && !is_small(lu, run) && j.blocks.count >= HS__DRIFT_PARTS * (int64_t)p) hs__course_learn(&j.course, j.done_by);
            pthread_mutex_destroy(&j.lock);
            pthread_cond_destroy(&j.wake);
        }
        hs__pool_unlock(pool);
    }
    if (!status && j.zero < INT64_MAX) lu->singular = j.zero;
    hs__lu_ports_end(&j.ports);
    free(j.column), free(j.panel), free(j.finished), free(j.owner), free(j.done_by), free(j.due), free(j.sent), free(j.slices);
    return status;
}
