/* Runs an iteration on slices of a matrix. Each member of a ring keeps a slice of columns and
 * passes on only the columns at its borders. */
#include <math.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "kernel/jacobi.h"
#include "run/matrix.h"

enum { LEFT = 0, RIGHT = 1 };
/* MARGIN: bytes before a row. PAUSE: elements that are updated between two looks for a cancel. */
enum { MARGIN = 64, PAUSE = 1 << 17 };

/* The rows that change lie in slots, of which there is one more than rows. A step moves each row to
 * the slot before it, from the first row to the last, or to the slot after it, from the last row to
 * the first. So a new row replaces an old one that no later row of the step needs. There is no
 * second copy of the matrix, and less than half of the memory traffic. */
typedef struct {
    char *data; /* lines: first row of the matrix, its last row, the slots */
    /* first and last column after an even number of steps, and after an odd number */
    char *edges;
    size_t line, edge; /* bytes of each */
    int64_t first, width;
    /* when the last even and the last odd step ended, on the emulated platform's clock */
    double due[2];
    _Atomic int64_t done; /* steps done */
} __attribute__((aligned(64))) slice;

typedef struct {
    hs__run run;
    const hs_slices *x;
    hs__jacobi_row *update;
    ptrdiff_t element;
    int64_t rows;   /* that change */
    int32_t *place; /* [p] place in the ring, -1: none */
    slice *slices;  /* [size] */
} slices_run;

static char *slot_at(const slice *own, int64_t i)
{
    return own->data + (size_t)(2 + i) * own->line + MARGIN;
}
static char *fixed_row(const slice *own, int last)
{
    return own->data + (size_t)last * own->line + MARGIN;
}
static char *edge_of(const slice *own, int64_t step, int side)
{
    return own->edges + (size_t)(2 * (step & 1) + side) * own->edge;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* Returns the matrix of `rows` rows of a slice that lie one after the other from `data` on. */
static hs__matrix lines_of(const slices_run *job, const slice *own, char *data, int64_t rows)
{
    return (hs__matrix){data, job->element, rows, own->width, (int64_t)own->line / job->element, 1};
}

/* Copies the slice's columns of the matrix into the slice before all steps, or out of it after
 * them. */
static void copy_slice(const slices_run *job, hs__member *self, const slice *own,
                       hs__matrix outside, int in)
{
    const int64_t m = outside.rows;
    const int64_t shift = in || job->x->steps % 2 == 0;
    const struct {
        hs__matrix inside, outside;
    } part[] = {{lines_of(job, own, fixed_row(own, 0), 1),
                 hs__part(&outside, 0, own->first, 1, own->width)},
                {lines_of(job, own, slot_at(own, shift), job->rows),
                 hs__part(&outside, 1, own->first, job->rows, own->width)},
                {lines_of(job, own, fixed_row(own, 1), m > 1),
                 hs__part(&outside, m - 1, own->first, m > 1, own->width)}};
    for (int i = 0; i < 3 && !(self && hs__stopped(self)); i++)
        if (in) hs__copy(self, part[i].inside, part[i].outside);
        else hs__copy(self, part[i].outside, part[i].inside);
}

static void load_slice(void *context, int32_t worker, int is_caller)
{
    slices_run *job = context;
    if (job->place[worker] < 0) return;
    const slice *own = &job->slices[job->place[worker]];
    hs__member self = hs__member_start(&job->run, worker, is_caller);
    const hs_slices *x = job->x;
    copy_slice(job, &self, own,
               (hs__matrix){(char *)x->source, job->element, x->m, x->n, x->source_row_stride,
                            x->source_col_stride},
               1);
    const hs__matrix changing = lines_of(job, own, slot_at(own, 1), job->rows);
    for (int side = LEFT; side <= RIGHT && !hs__stopped(&self); side++) {
        const hs__matrix beside = {edge_of(own, 0, side), job->element, job->rows, 1, 1, job->rows};
        hs__copy(NULL, beside,
                 hs__part(&changing, 0, side == LEFT ? 0 : own->width - 1, job->rows, 1));
    }
}

static void store_slice(void *context, int32_t worker, int is_caller)
{
    (void)is_caller;
    const slices_run *job = context;
    const hs_slices *x = job->x;
    const hs__matrix target = {x->target, job->element,         x->m,
                               x->n,      x->target_row_stride, x->target_col_stride};
    if (job->place[worker] >= 0) copy_slice(job, NULL, &job->slices[job->place[worker]], target, 0);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void update_slice(const slices_run *job, hs__member *self, slice *own, const slice *before,
                         const slice *after, int64_t step)
{
    const size_t e = (size_t)job->element;
    const size_t bytes = (size_t)own->width * e;
    const int up = step % 2 == 0;
    const int64_t end = job->rows - 1;
    const char *left = edge_of(before, step, RIGHT);
    const char *right = edge_of(after, step, LEFT);
    char *first = edge_of(own, step + 1, LEFT);
    char *last = edge_of(own, step + 1, RIGHT);
    memcpy(up ? slot_at(own, 0) : slot_at(own, end + 1), fixed_row(own, !up), bytes);
    for (int64_t i = 0, updated = 0; i <= end; i++) {
        const int64_t row = up ? i : end - i;
        const char *other = i == end ? fixed_row(own, up) : slot_at(own, up ? row + 2 : row - 1);
        const size_t at = (size_t)row * e;
        job->update(own->width, slot_at(own, row + !up), slot_at(own, row + up), other,
                    job->x->weight, left + at, right + at, first + at, last + at);
        updated += own->width;
        if (updated < PAUSE) continue;
        updated = 0;
        if (hs__attend(self)) return;
    }
}

/* Emulates the exchanges with the next member and with the one before, if they take time. */
static void emulate_exchanges(const slices_run *job, hs__member *self, int32_t place)
{
    const double *times = job->x->exchange + 2 * (size_t)place;
    for (int k = 0; k < 2; k++, self->box++) {
        if (times[k] == 0.0) continue;
        const double start = hs__since_start(&job->run);
        self->deadline += times[k];
        hs__sleep_until(self, self->deadline);
        hs__record(self, HS_TRANSFER, start, hs__since_start(&job->run));
    }
}

static void do_step(slices_run *job, hs__member *self, int32_t place, int64_t step)
{
    const double *pace = job->run.options.pace;
    const int32_t size = job->x->size;
    const int32_t side[] = {(place + size - 1) % size, (place + 1) % size};
    slice *own = &job->slices[place];
    const slice *before = &job->slices[side[LEFT]];
    const slice *after = &job->slices[side[RIGHT]];
    /* Wait for both neighbours. A neighbour that has done as many steps has read the columns of the
     * step before, which this step overwrites. */
    for (int k = 0; k < 2; k++) {
        const slice *beside = &job->slices[side[k]];
        hs__await_count(self, &job->run.signals[self->worker], &beside->done, step);
        if (hs__stopped(self)) return;
        if (pace) self->deadline = fmax(self->deadline, beside->due[step & 1]);
    }
    const double start = hs__records(&job->run) ? hs__since_start(&job->run) : 0.0;
    self->box = (int32_t)(2 * step);
    if (job->rows) update_slice(job, self, own, before, after, step);
    if (pace && job->x->overheads) self->deadline += job->x->overheads[place];
    if (pace) hs__keep_pace(self, (double)job->rows * (double)own->width);
    if (hs__attend(self)) return;
    if (hs__records(&job->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&job->run));
    if (job->x->exchange) emulate_exchanges(job, self, place);
    own->due[(step + 1) & 1] = self->deadline;
    hs__count_task(&job->run);
    atomic_store(&own->done, step + 1);
    for (int k = 0; k < 2; k++) hs__signal_send(&job->run.signals[job->x->ring[side[k]]]);
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    slices_run *job = context;
    hs__member self = hs__member_start(&job->run, worker, is_caller);
    for (int64_t step = 0; job->place[worker] >= 0 && step < job->x->steps && !hs__stopped(&self);
         step++)
        do_step(job, &self, job->place[worker], step);
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

static hs_status check_arguments(const void *context)
{
    const slices_run *job = context;
    const hs_slices *x = job->x;
    const int32_t p = job->run.workers;
    if ((x->dtype != HS_FLOAT32 && x->dtype != HS_FLOAT64) || x->m < 1 || x->n < 1 || !x->source ||
        !x->target)
        return HS_ERROR_VALUE;
    if (!isfinite(x->weight) || (x->dtype == HS_FLOAT32 && !isfinite((float)x->weight)))
        return HS_ERROR_VALUE;
    if (x->steps < 0 || x->steps >= 1 << 30 || x->size < 1 || x->size > p || !x->ring || !x->widths)
        return HS_ERROR_VALUE;
    if ((x->exchange || x->overheads) && !job->run.options.pace) return HS_ERROR_VALUE;
    int64_t left = x->n;
    for (int32_t k = 0; k < x->size; k++) {
        if (x->ring[k] < 0 || x->ring[k] >= p || x->widths[k] < 1 || x->widths[k] > left)
            return HS_ERROR_VALUE;
        left -= x->widths[k];
        for (int side = 0; x->exchange && side < 2; side++) {
            const double time = x->exchange[2 * (size_t)k + (size_t)side];
            if (!(time >= 0.0 && isfinite(time))) return HS_ERROR_VALUE;
        }
        if (x->overheads && !hs__valid_costs(1, x->overheads + k)) return HS_ERROR_VALUE;
    }
    return left ? HS_ERROR_VALUE : HS_OK;
}

static hs_status open_slice(slices_run *job, slice *own)
{
    const size_t rows = (size_t)job->rows;
    const size_t e = (size_t)job->element;
    size_t row, all, edges;
    if (__builtin_mul_overflow((size_t)own->width + 1, e, &row) ||
        __builtin_mul_overflow(rows, e, &edges) || row > PTRDIFF_MAX / 2 ||
        edges > PTRDIFF_MAX / 16)
        return HS_ERROR_MEMORY;
    own->line = MARGIN + (row + 63) / 64 * 64;
    /* Rows at equal addresses modulo a page slow each other down. */
    if (own->line % 4096 < 128) own->line += 128;
    own->edge = (edges + 63) / 64 * 64;
    if (__builtin_mul_overflow(own->line, rows + 3, &all) ||
        __builtin_add_overflow(all, 4 * own->edge, &all) || all > PTRDIFF_MAX)
        return HS_ERROR_MEMORY;
    own->data = hs__run_pages(&job->run, all);
    if (!own->data) return HS_ERROR_MEMORY;
    own->edges = own->data + own->line * (rows + 3);
    return HS_OK;
}

static hs_status open_run(void *context)
{
    slices_run *job = context;
    const hs_slices *x = job->x;
    const int32_t p = job->run.workers;
    job->rows = x->m > 2 ? x->m - 2 : 0;
    job->element = hs__element_bytes(x->dtype);
    job->update = hs__jacobi_row_of(x->dtype);
    job->run.total = x->steps * x->size;
    job->slices = hs__run_zeros(&job->run, (size_t)x->size, sizeof *job->slices);
    job->place = hs__run_zeros(&job->run, (size_t)p, sizeof *job->place);
    if (!job->slices || !job->place || !hs__run_signals(&job->run, p)) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < p; i++) job->place[i] = -1;
    int64_t first = 0;
    for (int32_t k = 0; k < x->size; k++) {
        if (job->place[x->ring[k]] >= 0) return HS_ERROR_VALUE;
        job->place[x->ring[k]] = k;
        job->slices[k].first = first;
        job->slices[k].width = x->widths[k];
        first += x->widths[k];
    }
    hs_status status = HS_OK;
    for (int32_t k = 0; k < x->size && !status; k++) status = open_slice(job, &job->slices[k]);
    return status;
}

/* The owner of a slice loads it first, so that its pages lie near that worker. */
static const hs__kind kind = {.check = check_arguments,
                              .open = open_run,
                              .load = load_slice,
                              .work = run_worker,
                              .store = store_slice};

hs_status hs_run_slices(hs_pool *pool, const hs_slices *x, const hs_options *options,
                        hs_trace *trace)
{
    if (!pool || !x) return HS_ERROR_VALUE;
    slices_run job = {.run = hs__run_of(&kind, pool, options, trace), .x = x};
    return hs__run_do(&job.run);
}
