/* Opens a run of tasks: owners of blocks, places of blocks and panels, and the memory of each
 * domain. */
#include "core/numbers.h"
#include "factor/task_state.h"

typedef hs__tasks job;
typedef hs__task_block block_state;

/* Whether the slices can lie in the matrix of the result: they are then the same memory, column for
 * column. */
static int fits_in_place(const job *j)
{
    const hs__matrix *x = &j->x.wanted;
    if ((x->row_stride != 1 && x->row_stride != -1) || x->col_stride != x->rows ||
        (uintptr_t)x->data % j->x.type.element)
        return 0;
    if (j->x.kept == HS__LOWER) return 0; /* elements above the diagonal must not change */
    for (int32_t i = 0; i < j->x.blocks.count; i++) {
        const hs__column_type *t = j->x.types[i];
        const int32_t across = t->slice.across;
        if (i + 1 < j->x.blocks.count && hs__block_width(&j->x.blocks, i) % across) return 0;
        if (hs__slice_bytes(t, x->rows) != (size_t)(x->rows * across) * t->element) return 0;
    }
    return 1;
}

static size_t block_bytes(const job *j, int32_t block)
{
    const hs__column_type *t = j->x.types[block];
    return (size_t)hs__ceil_div(hs__block_width(&j->x.blocks, block), t->slice.across) *
           hs__slice_bytes(t, j->x.blocks.m);
}

/* Finds the places of the blocks: in the matrix itself if possible, except for a slice that is not
 * full; else in a copy. */
static hs_status lay_out(job *j, char *last)
{
    const hs__factor_blocks *b = &j->x.blocks;
    const hs__matrix *x = &j->x.wanted;
    const int in_place = fits_in_place(j);
    size_t all = 0;
    for (int32_t i = 0; i < b->count; i++) all += block_bytes(j, i);
    char *copy = in_place ? NULL : hs__run_pages(&j->run, all);
    if (!in_place && !copy) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < b->count; i++) {
        const hs__column_type *t = j->x.types[i];
        const int64_t cols = hs__block_width(b, i);
        char *at =
            in_place ? hs__at(x, x->row_stride < 0 ? x->rows - 1 : 0, hs__block_first(b, i)) : copy;
        j->x.columns[i] = (hs__columns){
            at, in_place ? last : at + (size_t)(cols / t->slice.across) * hs__slice_bytes(t, b->m),
            b->m, cols};
        if (!in_place) copy += block_bytes(j, i);
    }
    return HS_OK;
}

/* Takes the memory in which heads leave what the parts need. */
static hs_status hold(job *j, int64_t width)
{
    const hs__factor_blocks *b = &j->x.blocks;
    if (!j->grid || !j->kind->held_bytes) return HS_OK;
    hs__task_data *x = &j->side->x;
    size_t all = 0;
    for (int32_t i = 0; i < b->count; i++)
        all += j->kind->held_bytes(&x->type, width, hs__block_width(b, i));
    char *at = hs__run_pages(&j->run, all);
    if (!at || !(x->held = hs__run_zeros(&j->run, (size_t)b->count, sizeof *x->held)))
        return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < b->count; i++) {
        x->held[i] = at;
        at += j->kind->held_bytes(&x->type, width, hs__block_width(b, i));
    }
    return HS_OK;
}

static size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/* Returns the columns of the widest panel. */
static int64_t panel_width(const job *j)
{
    return hs__min(j->steps.block, hs__min(j->steps.m, j->steps.n));
}

/* Takes memory for a side, in the scratch of its first worker: packed panels, `make` bytes for the
 * panel that is being made, `more` bytes behind it. Returns where the last ones begin; NULL: out of
 * memory. */
static char *open_panels(job *j, hs__task_side *side, int32_t worker, size_t make, size_t more)
{
    const size_t panel =
        whole_pages(j->kind->panel_bytes(&side->x.type, j->x.blocks.m, panel_width(j)));
    const int32_t buffers = j->run.options.pace               ? 0
                            : j->x.panels < HS__PANEL_BUFFERS ? j->x.panels
                                                              : HS__PANEL_BUFFERS;
    char *all =
        hs__pool_scratch(j->run.pool, HS__PANELS, worker, panel * (size_t)buffers + make + more);
    if (!all) return NULL;
    for (int32_t k = 0; k < j->x.panels && buffers; k++)
        side->x.panel[k].strips = all + (size_t)(k % buffers) * panel;
    for (; !buffers && j->spares < HS__PANEL_BUFFERS && j->spares < j->x.panels; j->spares++)
        if (!(j->spare[j->spares] = hs__allocate_pages(panel))) return NULL;
    side->make = all + panel * (size_t)buffers;
    return side->make + make;
}

/* Takes scratch: for the first worker of each side its panels and a slice that is not full, for
 * each worker what it needs for itself. */
static hs_status open_scratch(job *j)
{
    const hs__factor_blocks *b = &j->x.blocks;
    const int64_t width = panel_width(j), m = b->m;
    const size_t slice = hs__slice_bytes(j->x.types[b->count - 1], m);
    char *last = NULL;
    size_t own = 0;
    size_t make = 0;
    /* The largest sizes of all sides: a worker may take over tasks and panels of other sides. */
    for (int32_t s = 0; s < j->sides; s++) {
        const hs__column_type *t = &j->side[s].x.type;
        const size_t panel = whole_pages(j->kind->make_bytes(t, m, width));
        make = panel > make ? panel : make;
        for (int32_t i = 0; i < b->count; i++) {
            const size_t needs = j->kind->work_bytes(t, m, width, hs__block_width(b, i));
            own = needs > own ? needs : own;
        }
    }
    for (int32_t w = 0; w < j->workers; w++) {
        if (!hs__pool_scratch(j->run.pool, HS__BLOCKS, w, own)) return HS_ERROR_MEMORY;
        if (j->place[w] == 0 && !(last = open_panels(j, &j->side[j->side_of[w]], w, make, slice)))
            return HS_ERROR_MEMORY;
    }
    const hs_status status = hold(j, width);
    return status ? status : lay_out(j, last);
}

/* Opens a side for each domain. There is one side only, with one kernel, for emulated workers, for
 * owners in both directions, and if the caller does everything. */
static hs_status open_sides(job *j)
{
    const hs__domains *domains = hs__pool_domains(j->run.pool);
    const int one = domains->count > 1 && (j->run.options.pace || j->grid || j->alone);
    j->sides = one ? 1 : domains->count;
    const size_t count = (size_t)j->sides;
    const size_t workers = (size_t)j->workers;
    const size_t panels = (size_t)j->x.panels;
    hs__kernel *kernel = hs__run_zeros(&j->run, count, sizeof *kernel);
    j->side = hs__run_zeros(&j->run, count, sizeof *j->side);
    j->side_of = hs__run_zeros(&j->run, workers, sizeof *j->side_of);
    j->place = hs__run_zeros(&j->run, workers, sizeof *j->place);
    j->x.types = hs__run_zeros(&j->run, (size_t)j->x.blocks.count, sizeof *j->x.types);
    if (!kernel || !j->side || !j->side_of || !j->place || !j->x.types) return HS_ERROR_MEMORY;
    if (one) *kernel = *hs__kernel_current();
    else hs__domain_kernels(domains, kernel);
    for (int32_t s = 0; s < j->sides; s++) {
        hs__task_data *x = &j->side[s].x;
        *x = j->x;
        hs__column_type_init(&x->type, &kernel[s], j->x.type.dtype);
        if (s && !(x->panel = hs__run_zeros(&j->run, panels, sizeof *x->panel)))
            return HS_ERROR_MEMORY;
        for (int32_t k = 0; k < j->x.panels && s; k++) x->panel[k] = j->x.panel[k];
    }
    for (int32_t w = 0; w < j->workers; w++) {
        j->side_of[w] = one ? 0 : hs__pool_domain(j->run.pool, w);
        j->place[w] = j->side[j->side_of[w]].members++;
    }
    /* A side without blocks needs no panels: its workers help other sides. */
    for (int32_t s = 0; s < j->sides; s++) {
        atomic_store(&j->side[s].taken, j->x.panels);
        atomic_store(&j->side[s].packed, j->x.panels);
    }
    for (int32_t i = 0; i < j->x.blocks.count; i++) {
        hs__task_side *side = &j->side[j->block[i].side = j->side_of[j->owner[i]]];
        atomic_store(&side->taken, 0);
        atomic_store(&side->packed, 0);
        if (side->needs < j->block[i].end) side->needs = j->block[i].end;
        j->x.types[i] = &side->x.type;
    }
    return HS_OK;
}

/* Finds the owners: as given, else in turn. In a dynamic run they follow the workers' speeds of
 * late, and the last blocks, which have the most work, are assigned first. */
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
        owner[i] = owner[k];
        owner[k] = first;
    }
    return status;
}

/* Finds the columns of the panels, and the blocks that they update: in a factorisation the blocks
 * to their right, else all blocks, except those that begin with a later step. */
static void set_steps(job *j)
{
    const hs__factor_blocks *s = &j->steps;
    const int32_t panels = j->x.panels;
    for (int32_t t = 0; t < panels; t++) {
        const int32_t k = j->x.backwards ? panels - 1 - t : t;
        const int64_t first = k * s->block;
        j->x.panel[t] = (hs__packed_panel){first, hs__min(s->block, hs__min(s->m, s->n) - first),
                                           s->m - first, NULL};
    }
    j->run.total = j->applies ? 0 : panels;
    for (int32_t i = 0; i < j->x.blocks.count; i++) {
        block_state *c = &j->block[i];
        c->owner = j->owner[i];
        c->end = j->applies || i > panels ? panels : i;
        c->begin = j->kind->begin ? j->kind->begin(&j->x, i) : 0;
        atomic_store(&c->claimed, -1);
        atomic_store(&c->done, -1);
        for (int32_t k = c->begin; k < c->end; k++) j->updates[k]++;
        j->run.total += c->end - c->begin;
    }
}

hs_status hs__tasks_open(void *context)
{
    job *j = context;
    const hs__factor_blocks *b = &j->x.blocks;
    const double *links = j->costs ? j->costs->links : NULL;
    j->run.manner = j->alone ? HS__ALONE : j->dynamic ? HS__SHARED : HS__EACH;
    atomic_store(&j->failed, INT64_MAX);
    j->x.failed = &j->failed;
    j->x.panels = b->count ? j->steps.panels : 0;
    if (j->x.panels == 0) return HS_OK;
    const size_t panels = (size_t)j->x.panels;
    const size_t all = links ? panels * (size_t)j->workers : panels;
    const size_t count = (size_t)b->count;
    j->block = hs__run_zeros(&j->run, count, sizeof *j->block);
    j->x.columns = hs__run_zeros(&j->run, count, sizeof *j->x.columns);
    j->x.panel = hs__run_zeros(&j->run, panels, sizeof *j->x.panel);
    j->finished = hs__run_zeros(&j->run, panels, sizeof *j->finished);
    j->updates = hs__run_zeros(&j->run, panels, sizeof *j->updates);
    j->owner = hs__run_zeros(&j->run, count, sizeof *j->owner);
    j->done_by = hs__run_zeros(&j->run, (size_t)j->workers, sizeof *j->done_by);
    j->due = hs__run_zeros(&j->run, all, sizeof *j->due);
    if (!hs__run_signals(&j->run, 1) || !j->block || !j->x.columns || !j->x.panel || !j->finished ||
        !j->updates || !j->owner || !j->done_by || !j->due)
        return HS_ERROR_MEMORY;
    hs_status status = deal(j, j->owner);
    if (!status && !hs__factor_valid_costs(j->costs, b, j->workers, j->owner))
        status = HS_ERROR_VALUE;
    if (!status && links && !(j->sent = hs__run_zeros(&j->run, all, sizeof *j->sent)))
        status = HS_ERROR_MEMORY;
    if (!status && links && !hs__factor_ports_init(&j->ports, b, j->workers, j->owner, links))
        status = HS_ERROR_MEMORY;
    if (j->dynamic && !j->given_owner && b->count >= HS__DRIFT_PARTS * (int64_t)j->workers)
        j->run.work_of = j->done_by;
    if (status) return status;
    set_steps(j);
    status = open_sides(j);
    return status ? status : open_scratch(j);
}
