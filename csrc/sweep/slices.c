/* Runs an iteration on slices of a matrix. Each member of a ring keeps a slice of columns and
 * passes on only the columns at its borders. */
#include <math.h>
#include <string.h>

#include "core/element.h"
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
} job;

static char *slot(const slice *own, int64_t i)
{
    return own->data + (size_t)(2 + i) * own->line + MARGIN;
}
static char *fixed(const slice *own, int last)
{
    return own->data + (size_t)last * own->line + MARGIN;
}
static char *edge(const slice *own, int64_t step, int side)
{
    return own->edges + (size_t)(2 * (step & 1) + side) * own->edge;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* Returns the matrix of `rows` rows of a slice that lie one after the other from `data` on. */
static hs__matrix lines(const job *j, const slice *own, char *data, int64_t rows)
{
    return (hs__matrix){data, j->element, rows, own->width, (int64_t)own->line / j->element, 1};
}

/* Copies the slice's columns of the matrix into the slice before all steps, or out of it after
 * them. */
static void carry(const job *j, hs__member *self, const slice *own, hs__matrix outside, int in)
{
    const int64_t m = outside.rows, shift = in || j->x->steps % 2 == 0;
    const struct {
        hs__matrix inside, outside;
    } part[] = {{lines(j, own, fixed(own, 0), 1), hs__part(&outside, 0, own->first, 1, own->width)},
                {lines(j, own, slot(own, shift), j->rows),
                 hs__part(&outside, 1, own->first, j->rows, own->width)},
                {lines(j, own, fixed(own, 1), m > 1),
                 hs__part(&outside, m - 1, own->first, m > 1, own->width)}};
    for (int i = 0; i < 3 && !(self && hs__stopped(self)); i++)
        if (in) hs__copy(self, part[i].inside, part[i].outside);
        else hs__copy(self, part[i].outside, part[i].inside);
}

static void load(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    if (j->place[worker] < 0) return;
    const slice *own = &j->slices[j->place[worker]];
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    const hs_slices *x = j->x;
    carry(j, &self, own,
          (hs__matrix){(char *)x->source, j->element, x->m, x->n, x->source_row_stride,
                       x->source_col_stride},
          1);
    const hs__matrix changing = lines(j, own, slot(own, 1), j->rows);
    for (int side = LEFT; side <= RIGHT && !hs__stopped(&self); side++) {
        const hs__matrix beside = {edge(own, 0, side), j->element, j->rows, 1, 1, j->rows};
        hs__copy(NULL, beside,
                 hs__part(&changing, 0, side == LEFT ? 0 : own->width - 1, j->rows, 1));
    }
}

static void store(void *context, int32_t worker, int is_caller)
{
    (void)is_caller;
    const job *j = context;
    const hs_slices *x = j->x;
    const hs__matrix target = {x->target, j->element,           x->m,
                               x->n,      x->target_row_stride, x->target_col_stride};
    if (j->place[worker] >= 0) carry(j, NULL, &j->slices[j->place[worker]], target, 0);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void update(const job *j, hs__member *self, slice *own, const slice *before,
                   const slice *after, int64_t step)
{
    const size_t e = (size_t)j->element, bytes = (size_t)own->width * e;
    const int up = step % 2 == 0;
    const int64_t end = j->rows - 1;
    const char *left = edge(before, step, RIGHT);
    const char *right = edge(after, step, LEFT);
    char *first = edge(own, step + 1, LEFT);
    char *last = edge(own, step + 1, RIGHT);
    memcpy(up ? slot(own, 0) : slot(own, end + 1), fixed(own, !up), bytes);
    for (int64_t i = 0, updated = 0; i <= end; i++) {
        const int64_t row = up ? i : end - i;
        const char *other = i == end ? fixed(own, up) : slot(own, up ? row + 2 : row - 1);
        const size_t at = (size_t)row * e;
        j->update(own->width, slot(own, row + !up), slot(own, row + up), other, j->x->weight,
                  left + at, right + at, first + at, last + at);
        updated += own->width;
        if (updated < PAUSE) continue;
        updated = 0;
        if (hs__attend(self)) return;
    }
}

/* Emulates the exchanges with the next member and with the one before, if they take time. */
static void exchange(const job *j, hs__member *self, int32_t place)
{
    const double *times = j->x->exchange + 2 * (size_t)place;
    for (int k = 0; k < 2; k++, self->box++) {
        if (times[k] == 0.0) continue;
        const double start = hs__since_start(&j->run);
        self->deadline += times[k];
        hs__sleep_until(self, self->deadline);
        hs__record(self, HS_TRANSFER, start, hs__since_start(&j->run));
    }
}

static void do_step(job *j, hs__member *self, int32_t place, int64_t step)
{
    const double *pace = j->run.options.pace;
    const int32_t size = j->x->size, side[] = {(place + size - 1) % size, (place + 1) % size};
    slice *own = &j->slices[place];
    const slice *before = &j->slices[side[LEFT]];
    const slice *after = &j->slices[side[RIGHT]];
    /* Wait for both neighbours. A neighbour that has done as many steps has read the columns of the
     * step before, which this step overwrites. */
    for (int k = 0; k < 2; k++) {
        const slice *beside = &j->slices[side[k]];
        hs__await_count(self, &j->run.signals[self->worker], &beside->done, step);
        if (hs__stopped(self)) return;
        if (pace) self->deadline = fmax(self->deadline, beside->due[step & 1]);
    }
    const double start = hs__records(&j->run) ? hs__since_start(&j->run) : 0.0;
    self->box = (int32_t)(2 * step);
    if (j->rows) update(j, self, own, before, after, step);
    if (pace) hs__keep_pace(self, (double)j->rows * (double)own->width);
    if (hs__attend(self)) return;
    if (hs__records(&j->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&j->run));
    if (j->x->exchange) exchange(j, self, place);
    own->due[(step + 1) & 1] = self->deadline;
    hs__count_task(&j->run);
    atomic_store(&own->done, step + 1);
    for (int k = 0; k < 2; k++) hs__signal_send(&j->run.signals[j->x->ring[side[k]]]);
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    for (int64_t step = 0; j->place[worker] >= 0 && step < j->x->steps && !hs__stopped(&self);
         step++)
        do_step(j, &self, j->place[worker], step);
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

static hs_status check(const void *context)
{
    const job *j = context;
    const hs_slices *x = j->x;
    const int32_t p = j->run.workers;
    if ((x->dtype != HS_FLOAT32 && x->dtype != HS_FLOAT64) || x->m < 1 || x->n < 1 || !x->source ||
        !x->target)
        return HS_ERROR_VALUE;
    if (!isfinite(x->weight) || (x->dtype == HS_FLOAT32 && !isfinite((float)x->weight)))
        return HS_ERROR_VALUE;
    if (x->steps < 0 || x->steps >= 1 << 30 || x->size < 1 || x->size > p || !x->ring || !x->widths)
        return HS_ERROR_VALUE;
    if (x->exchange && !j->run.options.pace) return HS_ERROR_VALUE;
    int64_t left = x->n;
    for (int32_t k = 0; k < x->size; k++) {
        if (x->ring[k] < 0 || x->ring[k] >= p || x->widths[k] < 1 || x->widths[k] > left)
            return HS_ERROR_VALUE;
        left -= x->widths[k];
        for (int side = 0; x->exchange && side < 2; side++) {
            const double time = x->exchange[2 * (size_t)k + (size_t)side];
            if (!(time >= 0.0 && isfinite(time))) return HS_ERROR_VALUE;
        }
    }
    return left ? HS_ERROR_VALUE : HS_OK;
}

static hs_status open_slice(job *j, slice *own)
{
    const size_t rows = (size_t)j->rows, e = (size_t)j->element;
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
    own->data = hs__run_pages(&j->run, all);
    if (!own->data) return HS_ERROR_MEMORY;
    own->edges = own->data + own->line * (rows + 3);
    return HS_OK;
}

static hs_status open(void *context)
{
    job *j = context;
    const hs_slices *x = j->x;
    const int32_t p = j->run.workers;
    j->rows = x->m > 2 ? x->m - 2 : 0;
    j->element = hs__element_bytes(x->dtype);
    j->update = hs__jacobi_row_of(x->dtype);
    j->run.total = x->steps * x->size;
    j->slices = hs__run_zeros(&j->run, (size_t)x->size, sizeof *j->slices);
    j->place = hs__run_zeros(&j->run, (size_t)p, sizeof *j->place);
    if (!j->slices || !j->place || !hs__run_signals(&j->run, p)) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < p; i++) j->place[i] = -1;
    int64_t first = 0;
    for (int32_t k = 0; k < x->size; k++) {
        if (j->place[x->ring[k]] >= 0) return HS_ERROR_VALUE;
        j->place[x->ring[k]] = k;
        j->slices[k].first = first;
        j->slices[k].width = x->widths[k];
        first += x->widths[k];
    }
    hs_status status = HS_OK;
    for (int32_t k = 0; k < x->size && !status; k++) status = open_slice(j, &j->slices[k]);
    return status;
}

/* The owner of a slice loads it first, so that its pages lie near that worker. */
static const hs__kind kind = {
    .check = check, .open = open, .load = load, .work = work, .store = store};

hs_status hs_run_slices(hs_pool *pool, const hs_slices *x, const hs_options *options,
                        hs_trace *trace)
{
    if (!pool || !x) return HS_ERROR_VALUE;
    job j = {.run = hs__run_of(&kind, pool, options, trace), .x = x};
    return hs__run_do(&j.run);
}
