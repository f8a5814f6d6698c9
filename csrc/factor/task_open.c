/* Opens a run of tasks: owners of blocks, places of blocks and panels, and the memory of each
 * domain. */
#include "core/numbers.h"
#include "factor/task_state.h"

/* Whether the slices can lie in the matrix of the result: they are then the same memory, column for
 * column. */
static int fits_in_place(const hs__tasks *tasks)
{
    const hs__matrix *x = &tasks->x.wanted;
    if ((x->row_stride != 1 && x->row_stride != -1) || x->col_stride != x->rows ||
        (uintptr_t)x->data % tasks->x.type.element)
        return 0;
    if (tasks->x.kept == HS__LOWER) return 0; /* elements above the diagonal must not change */
    for (int32_t i = 0; i < tasks->x.blocks.count; i++) {
        const hs__column_type *t = tasks->x.types[i];
        const int32_t across = t->slice.across;
        if (i + 1 < tasks->x.blocks.count && hs__block_width(&tasks->x.blocks, i) % across)
            return 0;
        if (hs__slice_bytes(t, x->rows) != (size_t)(x->rows * across) * t->element) return 0;
    }
    return 1;
}

static size_t block_bytes(const hs__tasks *tasks, int32_t block)
{
    const hs__column_type *t = tasks->x.types[block];
    return (size_t)hs__ceil_div(hs__block_width(&tasks->x.blocks, block), t->slice.across) *
           hs__slice_bytes(t, tasks->x.blocks.m);
}

/* Finds the places of the blocks: in the matrix itself if possible, except for a slice that is not
 * full; else in a copy. */
static hs_status lay_out(hs__tasks *tasks, char *last)
{
    const hs__factor_blocks *b = &tasks->x.blocks;
    const hs__matrix *x = &tasks->x.wanted;
    const int in_place = fits_in_place(tasks);
    size_t all = 0;
    for (int32_t i = 0; i < b->count; i++) all += block_bytes(tasks, i);
    char *copy = in_place ? NULL : hs__run_pages(&tasks->run, all);
    if (!in_place && !copy) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < b->count; i++) {
        const hs__column_type *t = tasks->x.types[i];
        const int64_t cols = hs__block_width(b, i);
        char *at =
            in_place ? hs__at(x, x->row_stride < 0 ? x->rows - 1 : 0, hs__block_first(b, i)) : copy;
        tasks->x.columns[i] = (hs__columns){
            at, in_place ? last : at + (size_t)(cols / t->slice.across) * hs__slice_bytes(t, b->m),
            b->m, cols};
        if (!in_place) copy += block_bytes(tasks, i);
    }
    return HS_OK;
}

/* Takes the memory in which heads leave what the parts need. */
static hs_status take_held_memory(hs__tasks *tasks, int64_t width)
{
    const hs__factor_blocks *b = &tasks->x.blocks;
    if (!tasks->grid || !tasks->kind->held_bytes) return HS_OK;
    hs__task_data *x = &tasks->domain->x;
    size_t all = 0;
    for (int32_t i = 0; i < b->count; i++)
        all += tasks->kind->held_bytes(&x->type, width, hs__block_width(b, i));
    char *at = hs__run_pages(&tasks->run, all);
    if (!at || !(x->held = hs__run_zeros(&tasks->run, (size_t)b->count, sizeof *x->held)))
        return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < b->count; i++) {
        x->held[i] = at;
        at += tasks->kind->held_bytes(&x->type, width, hs__block_width(b, i));
    }
    return HS_OK;
}

static size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/* Returns the columns of the widest panel. */
static int64_t panel_width(const hs__tasks *tasks)
{
    return hs__min(tasks->steps.block, hs__min(tasks->steps.m, tasks->steps.n));
}

/* Takes memory for a domain, in the scratch of its first worker: packed panels, `make` bytes for
 * the panel that is being made, `more` bytes behind it. Returns where the last ones begin; NULL:
 * out of memory. */
static char *open_panels(hs__tasks *tasks, hs__task_domain *domain, int32_t worker, size_t make,
                         size_t more)
{
    const size_t panel = whole_pages(
        tasks->kind->panel_bytes(&domain->x.type, tasks->x.blocks.m, panel_width(tasks)));
    const int32_t buffers = tasks->run.options.pace               ? 0
                            : tasks->x.panels < HS__PANEL_BUFFERS ? tasks->x.panels
                                                                  : HS__PANEL_BUFFERS;
    char *all = hs__pool_scratch(tasks->run.lease, HS__PANELS, worker,
                                 panel * (size_t)buffers + make + more);
    if (!all) return NULL;
    for (int32_t k = 0; k < tasks->x.panels && buffers; k++)
        domain->x.panel[k].strips = all + (size_t)(k % buffers) * panel;
    for (; !buffers && tasks->spares < HS__PANEL_BUFFERS && tasks->spares < tasks->x.panels;
         tasks->spares++)
        if (!(tasks->spare[tasks->spares] = hs__allocate_pages(panel))) return NULL;
    domain->make = all + panel * (size_t)buffers;
    return domain->make + make;
}

/* Takes scratch: for the first worker of each domain its panels and a slice that is not full, for
 * each worker what it needs for itself. */
static hs_status open_scratch(hs__tasks *tasks)
{
    const hs__factor_blocks *b = &tasks->x.blocks;
    const int64_t width = panel_width(tasks);
    const int64_t m = b->m;
    const size_t slice = hs__slice_bytes(tasks->x.types[b->count - 1], m);
    char *last = NULL;
    size_t own = 0;
    size_t make = 0;
    /* The largest sizes of all domains: a worker may take over tasks and panels of other
     * domains. */
    for (int32_t s = 0; s < tasks->domains; s++) {
        const hs__column_type *t = &tasks->domain[s].x.type;
        const size_t panel = whole_pages(tasks->kind->make_bytes(t, m, width));
        make = panel > make ? panel : make;
        for (int32_t i = 0; i < b->count; i++) {
            const size_t needs = tasks->kind->work_bytes(t, m, width, hs__block_width(b, i));
            own = needs > own ? needs : own;
        }
    }
    for (int32_t w = 0; w < tasks->workers; w++) {
        if (!hs__pool_scratch(tasks->run.lease, HS__BLOCKS, w, own)) return HS_ERROR_MEMORY;
        if (tasks->place[w] == 0 &&
            !(last = open_panels(tasks, &tasks->domain[tasks->domain_of[w]], w, make, slice)))
            return HS_ERROR_MEMORY;
    }
    const hs_status status = take_held_memory(tasks, width);
    if (status) return status;
    return lay_out(tasks, last);
}

/* Opens the domains. There is only one, with one kernel, for emulated workers, for
 * owners in both directions, and if the caller does everything. */
static hs_status open_domains(hs__tasks *tasks)
{
    const hs__domains *domains = hs__pool_domains(tasks->run.pool);
    const int is_alone = tasks->run.manner == HS__ALONE;
    const int one = domains->count > 1 && (tasks->run.options.pace || tasks->grid || is_alone);
    tasks->domains = one ? 1 : domains->count;
    const size_t count = (size_t)tasks->domains;
    const size_t workers = (size_t)tasks->workers;
    const size_t panels = (size_t)tasks->x.panels;
    hs__kernel *kernel = hs__run_zeros(&tasks->run, count, sizeof *kernel);
    tasks->domain = hs__run_zeros(&tasks->run, count, sizeof *tasks->domain);
    tasks->domain_of = hs__run_zeros(&tasks->run, workers, sizeof *tasks->domain_of);
    tasks->place = hs__run_zeros(&tasks->run, workers, sizeof *tasks->place);
    tasks->x.types =
        hs__run_zeros(&tasks->run, (size_t)tasks->x.blocks.count, sizeof *tasks->x.types);
    if (!kernel || !tasks->domain || !tasks->domain_of || !tasks->place || !tasks->x.types)
        return HS_ERROR_MEMORY;
    if (one) *kernel = *hs__kernel_current();
    else hs__domain_kernels(domains, kernel);
    for (int32_t s = 0; s < tasks->domains; s++) {
        hs__task_data *x = &tasks->domain[s].x;
        *x = tasks->x;
        hs__column_type_init(&x->type, &kernel[s], tasks->x.type.dtype);
        if (s && !(x->panel = hs__run_zeros(&tasks->run, panels, sizeof *x->panel)))
            return HS_ERROR_MEMORY;
        for (int32_t k = 0; k < tasks->x.panels && s; k++) x->panel[k] = tasks->x.panel[k];
    }
    for (int32_t w = 0; w < tasks->workers; w++) {
        tasks->domain_of[w] = one ? 0 : hs__pool_domain(tasks->run.pool, w);
        tasks->place[w] = tasks->domain[tasks->domain_of[w]].members++;
    }
    /* A domain without blocks needs no panels: its workers help other domains. */
    for (int32_t s = 0; s < tasks->domains; s++) {
        atomic_store(&tasks->domain[s].taken, tasks->x.panels);
        atomic_store(&tasks->domain[s].packed, tasks->x.panels);
    }
    for (int32_t i = 0; i < tasks->x.blocks.count; i++) {
        hs__task_domain *domain =
            &tasks->domain[tasks->block[i].domain = tasks->domain_of[tasks->owner[i]]];
        atomic_store(&domain->taken, 0);
        atomic_store(&domain->packed, 0);
        if (domain->needs < tasks->block[i].end) domain->needs = tasks->block[i].end;
        tasks->x.types[i] = &domain->x.type;
    }
    return HS_OK;
}

/* Finds the owners: as given, else in turn. In a dynamic run they follow the workers' speeds of
 * late, and the last blocks, which have the most work, are assigned first. */
static hs_status assign_owners(hs__tasks *tasks, int32_t *owner)
{
    const int32_t p = tasks->workers;
    const int32_t count = tasks->x.blocks.count;
    if (tasks->grid) {
        const hs_status status =
            hs__factor_map_init(&tasks->map, &tasks->x.blocks, p, tasks->given_owner, 1);
        for (int32_t i = 0; i < count && !status; i++) owner[i] = tasks->map.column[i];
        return status;
    }
    if (tasks->given_owner || !tasks->dynamic) {
        for (int32_t i = 0; i < count; i++)
            owner[i] = tasks->given_owner ? tasks->given_owner[i] : i % p;
        return HS_OK;
    }
    double *times = hs__run_zeros(&tasks->run, (size_t)p, sizeof *times);
    if (!times) return HS_ERROR_MEMORY;
    hs__drift_speeds(hs__pool_drift(tasks->run.pool), NULL, times);
    for (int32_t w = 0; w < p; w++) times[w] = 1.0 / times[w];
    hs_status status = hs_distribute_prefix(count, p, times, NULL, owner, NULL);
    for (int32_t i = 0, k = count - 1; i < k; i++, k--) {
        const int32_t first = owner[i];
        owner[i] = owner[k];
        owner[k] = first;
    }
    return status;
}

/* Finds the columns of the panels, and the blocks that they update: in a factorisation the blocks
 * to their right, else all blocks, except those that begin with a later step. */
static void set_steps(hs__tasks *tasks)
{
    const hs__factor_blocks *s = &tasks->steps;
    const int32_t panels = tasks->x.panels;
    for (int32_t t = 0; t < panels; t++) {
        const int32_t k = tasks->x.backwards ? panels - 1 - t : t;
        const int64_t first = k * s->block;
        tasks->x.panel[t] = (hs__packed_panel){
            first, hs__min(s->block, hs__min(s->m, s->n) - first), s->m - first, NULL};
    }
    tasks->run.total = tasks->applies ? 0 : panels;
    for (int32_t i = 0; i < tasks->x.blocks.count; i++) {
        hs__task_block *state = &tasks->block[i];
        state->owner = tasks->owner[i];
        state->end = tasks->applies || i > panels ? panels : i;
        state->begin = tasks->kind->begin ? tasks->kind->begin(&tasks->x, i) : 0;
        atomic_store(&state->claimed, -1);
        atomic_store(&state->done, -1);
        for (int32_t k = state->begin; k < state->end; k++) tasks->updates[k]++;
        tasks->run.total += state->end - state->begin;
    }
}

hs_status hs__tasks_open(void *context)
{
    hs__tasks *tasks = context;
    const hs__factor_blocks *b = &tasks->x.blocks;
    const double *links = tasks->costs ? tasks->costs->links : NULL;
    tasks->run.manner = HS__EACH;
    if (tasks->dynamic)
        tasks->run.manner = hs__manner_for(tasks->volume, HS__ALONE_FACTOR_UPDATES,
                                           HS__BRIEF_FACTOR_UPDATES, HS__BRIEFS_OF_MEDIUM);
    atomic_store(&tasks->failed, INT64_MAX);
    tasks->x.failed = &tasks->failed;
    tasks->x.panels = b->count ? tasks->steps.panels : 0;
    if (tasks->x.panels == 0) return HS_OK;
    const size_t panels = (size_t)tasks->x.panels;
    const size_t all = links ? panels * (size_t)tasks->workers : panels;
    const size_t count = (size_t)b->count;
    tasks->block = hs__run_zeros(&tasks->run, count, sizeof *tasks->block);
    tasks->x.columns = hs__run_zeros(&tasks->run, count, sizeof *tasks->x.columns);
    tasks->x.panel = hs__run_zeros(&tasks->run, panels, sizeof *tasks->x.panel);
    tasks->finished = hs__run_zeros(&tasks->run, panels, sizeof *tasks->finished);
    tasks->updates = hs__run_zeros(&tasks->run, panels, sizeof *tasks->updates);
    tasks->owner = hs__run_zeros(&tasks->run, count, sizeof *tasks->owner);
    tasks->done_by = hs__run_zeros(&tasks->run, (size_t)tasks->workers, sizeof *tasks->done_by);
    tasks->due = hs__run_zeros(&tasks->run, all, sizeof *tasks->due);
    if (!hs__run_signals(&tasks->run, 1) || !tasks->block || !tasks->x.columns || !tasks->x.panel ||
        !tasks->finished || !tasks->updates || !tasks->owner || !tasks->done_by || !tasks->due)
        return HS_ERROR_MEMORY;
    hs_status status = assign_owners(tasks, tasks->owner);
    if (!status && !hs__factor_valid_costs(tasks->costs, b, tasks->workers, tasks->owner))
        status = HS_ERROR_VALUE;
    if (!status && links && !(tasks->sent = hs__run_zeros(&tasks->run, all, sizeof *tasks->sent)))
        status = HS_ERROR_MEMORY;
    if (!status && links &&
        !hs__factor_ports_init(&tasks->ports, b, tasks->workers, tasks->owner, tasks->costs))
        status = HS_ERROR_MEMORY;
    if (tasks->dynamic && !tasks->given_owner &&
        b->count >= HS__DRIFT_PARTS * (int64_t)tasks->workers)
        tasks->run.work_of = tasks->done_by;
    if (status) return status;
    set_steps(tasks);
    status = open_domains(tasks);
    if (status) return status;
    return open_scratch(tasks);
}
