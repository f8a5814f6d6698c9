/* Runs an iteration on slices of a matrix: the members of a ring keep theirs, and pass on only columns at its borders. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "kernel/jacobi.h"
#include "run/member.h"
#include "threads/arena.h"

enum { LEFT = 0, RIGHT = 1 };
enum { MARGIN = 64, PAUSE = 1 << 17 }; /* bytes before a row; elements between two looks for a cancel */

/* The rows that change lie in slots, of which there is one more. A step moves all rows to the slot before, from the first row on, or
 * to the one after, from the last row on: a new row replaces the old one that only it still needs. So there is no second copy, and
 * less than half of the memory traffic. */
typedef struct {
    char *data;            /* lines: the matrix's first row, its last row, the slots */
    char *edges;           /* its first and its last column after an even number of steps, and after an odd one */
    size_t line, edge;     /* bytes of each */
    int64_t first, width;
    double due[2];         /* when the last steps, even and odd, ended on the emulated platform's clock */
    _Atomic int64_t done;  /* steps */
} __attribute__((aligned(64))) slice;

typedef struct {
    hs__run run;
    const hs_slices *x;
    hs__jacobi_row *update;
    size_t element;
    int64_t rows;   /* that change */
    int32_t *place; /* [p] in the ring, -1: none */
    slice *slices;  /* [size] */
    hs__signal *signals; /* [p] */
} job;

static char *slot(const slice *own, int64_t i) { return own->data + (size_t)(2 + i) * own->line + MARGIN; }
static char *fixed(const slice *own, int last) { return own->data + (size_t)last * own->line + MARGIN; }
static char *edge(const slice *own, int64_t step, int side) { return own->edges + (size_t)(2 * (step & 1) + side) * own->edge; }

/* ---- the matrix ----------------------------------------------------------------------------------------------- */

static void copy_line(size_t element, int64_t n, char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step)
{
    if (to_step == (ptrdiff_t)element && from_step == (ptrdiff_t)element) memcpy(to, from, (size_t)n * element);
    else if (element == sizeof(double))
        for (int64_t i = 0; i < n; i++) *(double *)(to + i * to_step) = *(const double *)(from + i * from_step);
    else
        for (int64_t i = 0; i < n; i++) *(float *)(to + i * to_step) = *(const float *)(from + i * from_step);
}

/* A slice from the source, or to the target after `steps` steps. Where columns lie side by side a few at a time, by all rows. */
static void carry(const job *j, hs__member *self, const slice *own, int in)
{
    enum { FEW = 32 };
    const hs_slices *x = j->x;
    const ptrdiff_t e = (ptrdiff_t)j->element;
    const ptrdiff_t row_step = e * (in ? x->source_row_stride : x->target_row_stride), col_step = e * (in ? x->source_col_stride : x->target_col_stride);
    char *matrix = (in ? (char *)x->source : (char *)x->target) + own->first * col_step; /* the source is only read */
    const int64_t block = col_step == e ? own->width : FEW, shift = in || x->steps % 2 == 0;
    for (int64_t col = 0, copied = 0; col < own->width; col += block) {
        const int64_t cols = block < own->width - col ? block : own->width - col;
        for (int64_t row = 0; row < x->m; row++) {
            char *line = (row == 0 ? fixed(own, 0) : row == x->m - 1 ? fixed(own, 1) : slot(own, row - 1 + shift)) + col * e;
            char *outside = matrix + row * row_step + col * col_step;
            if (in) copy_line(j->element, cols, line, e, outside, col_step);
            else copy_line(j->element, cols, outside, col_step, line, e);
            copied += cols;
            if (!in || copied < PAUSE) continue;
            copied = 0;
            if (hs__attend(self)) return;
        }
    }
}

static void load(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    if (j->place[worker] < 0) return;
    const slice *own = &j->slices[j->place[worker]];
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    carry(j, &self, own, 1);
    if (hs__stopped(&self)) return;
    const ptrdiff_t e = (ptrdiff_t)j->element;
    copy_line(j->element, j->rows, edge(own, 0, LEFT), e, slot(own, 1), (ptrdiff_t)own->line);
    copy_line(j->element, j->rows, edge(own, 0, RIGHT), e, slot(own, 1) + (own->width - 1) * e, (ptrdiff_t)own->line);
}

static void store(void *context, int32_t worker, int is_caller)
{
    (void)is_caller;
    const job *j = context;
    if (j->place[worker] >= 0) carry(j, NULL, &j->slices[j->place[worker]], 0);
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const slice *of;
    int64_t steps;
} stage;

static int has_done(const void *what)
{
    const stage *x = what;
    return atomic_load(&x->of->done) >= x->steps;
}

static void update(const job *j, hs__member *self, slice *own, const slice *before, const slice *after, int64_t step)
{
    const size_t e = j->element, bytes = (size_t)own->width * e;
    const int up = step % 2 == 0;
    const int64_t end = j->rows - 1;
    const char *left = edge(before, step, RIGHT), *right = edge(after, step, LEFT);
    char *first = edge(own, step + 1, LEFT), *last = edge(own, step + 1, RIGHT);
    memcpy(up ? slot(own, 0) : slot(own, end + 1), fixed(own, !up), bytes);
    for (int64_t i = 0, updated = 0; i <= end; i++) {
        const int64_t row = up ? i : end - i;
        const char *other = i == end ? fixed(own, up) : slot(own, up ? row + 2 : row - 1);
        const size_t at = (size_t)row * e;
        j->update(own->width, slot(own, row + !up), slot(own, row + up), other, j->x->weight, left + at, right + at, first + at, last + at);
        updated += own->width;
        if (updated < PAUSE) continue;
        updated = 0;
        if (hs__attend(self)) return;
    }
}

/* The exchanges with the next member and with the one before, where they take time. */
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
    const slice *before = &j->slices[side[LEFT]], *after = &j->slices[side[RIGHT]];
    /* A neighbour that has done as many steps has read what this one is about to overwrite: its columns of the step before. */
    for (int k = 0; k < 2; k++) {
        const stage needed = {&j->slices[side[k]], step};
        hs__await(self, &j->signals[self->worker], HS__GLANCE, has_done, &needed);
        if (hs__stopped(self)) return;
        if (pace) self->deadline = fmax(self->deadline, needed.of->due[step & 1]);
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
    for (int k = 0; k < 2; k++) hs__signal_send(&j->signals[j->x->ring[side[k]]]);
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    for (int64_t step = 0; j->place[worker] >= 0 && step < j->x->steps && !hs__stopped(&self); step++)
        do_step(j, &self, j->place[worker], step);
    hs__member_end(&self);
}

/* ---- the run -------------------------------------------------------------------------------------------------- */

static hs_status check(const void *context)
{
    const job *j = context;
    const hs_slices *x = j->x;
    const int32_t p = j->run.workers;
    if ((x->dtype != HS_FLOAT32 && x->dtype != HS_FLOAT64) || x->m < 1 || x->n < 1 || !x->source || !x->target) return HS_ERROR_VALUE;
    if (!isfinite(x->weight) || (x->dtype == HS_FLOAT32 && !isfinite((float)x->weight))) return HS_ERROR_VALUE;
    if (x->steps < 0 || x->steps >= 1 << 30 || x->size < 1 || x->size > p || !x->ring || !x->widths) return HS_ERROR_VALUE;
    if (x->exchange && !j->run.options.pace) return HS_ERROR_VALUE;
    int64_t left = x->n;
    for (int32_t k = 0; k < x->size; k++) {
        if (x->ring[k] < 0 || x->ring[k] >= p || x->widths[k] < 1 || x->widths[k] > left) return HS_ERROR_VALUE;
        left -= x->widths[k];
        for (int side = 0; x->exchange && side < 2; side++) {
            const double time = x->exchange[2 * (size_t)k + (size_t)side];
            if (!(time >= 0.0 && isfinite(time))) return HS_ERROR_VALUE;
        }
    }
    return left ? HS_ERROR_VALUE : HS_OK;
}

static hs_status open_slice(const job *j, slice *own)
{
    const size_t rows = (size_t)j->rows;
    size_t row, all, edges;
    if (__builtin_mul_overflow((size_t)own->width + 1, j->element, &row) || __builtin_mul_overflow(rows, j->element, &edges) ||
        row > PTRDIFF_MAX / 2 || edges > PTRDIFF_MAX / 16)
        return HS_ERROR_MEMORY;
    own->line = MARGIN + (row + 63) / 64 * 64;
    if (own->line % 4096 < 128) own->line += 128; /* rows at equal addresses modulo a page disturb each other */
    own->edge = (edges + 63) / 64 * 64;
    if (__builtin_mul_overflow(own->line, rows + 3, &all) || __builtin_add_overflow(all, 4 * own->edge, &all) || all > PTRDIFF_MAX)
        return HS_ERROR_MEMORY;
    own->data = hs__allocate_pages(all);
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
    void *slices = NULL;
    if (posix_memalign(&slices, 64, (size_t)x->size * sizeof *j->slices)) return HS_ERROR_MEMORY;
    j->slices = memset(slices, 0, (size_t)x->size * sizeof *j->slices);
    j->place = malloc((size_t)p * sizeof *j->place);
    j->signals = hs__signals_open(p);
    if (!j->place || !j->signals) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < p; i++) j->place[i] = -1;
    int64_t first = 0;
    for (int32_t k = 0; k < x->size; k++) {
        if (j->place[x->ring[k]] >= 0) return HS_ERROR_VALUE;
        j->place[x->ring[k]] = k;
        j->slices[k].first = first, j->slices[k].width = x->widths[k];
        first += x->widths[k];
    }
    hs_status status = HS_OK;
    for (int32_t k = 0; k < x->size && !status; k++) status = open_slice(j, &j->slices[k]);
    return status;
}

static void release(void *context)
{
    job *j = context;
    for (int32_t k = 0; k < j->x->size && j->slices; k++) free(j->slices[k].data);
    free(j->slices), free(j->place);
    hs__signals_close(j->signals, j->run.workers);
}

/* Loaded by its owner first, so that a slice's pages are near it. */
static const hs__kind kind = {.check = check, .open = open, .load = load, .work = work, .store = store, .close = release};

hs_status hs_run_slices(hs_pool *pool, const hs_slices *x, const hs_options *options, hs_trace *trace)
{
    if (!pool || !x) return HS_ERROR_VALUE;
    job j = {.run = hs__run_of(&kind, pool, options, trace), .x = x};
    return hs__run_do(&j.run);
}
