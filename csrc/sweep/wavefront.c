/* Runs wavefronts. Each worker goes through its chunks tile by tile, and waits until the chunk to
 * the left is far enough. */
#include <math.h>

#include "allocate/wavefront.h"
#include "run/member.h"

typedef struct {
    _Atomic int64_t rows; /* finished in the chunk's last column */
} __attribute__((aligned(64))) progress;

typedef struct {
    hs__run run;
    const hs_wavefront *w;
    int64_t length; /* rows; with axis 0 columns */
    /* The lines of the other dimension, which are divided; called columns below. */
    int32_t lines;
    int32_t chunk_count;
    hs__chunk *chunk;
    progress *finished; /* [chunk_count] */
    /* [chunk_count * length] when each row of a chunk's last column ends, on the emulated
     * platform's clock; or NULL */
    double *due;
} job;

/* ---- progress -------------------------------------------------------------------------------- */

static void finish_row(job *j, int32_t chunk, int64_t row)
{
    atomic_store(&j->finished[chunk].rows, row + 1);
    if (chunk + 1 < j->chunk_count) hs__signal_send(&j->run.signals[j->chunk[chunk + 1].worker]);
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Returns where part i begins if `size` is divided evenly. */
static int64_t cut(int64_t size, int64_t parts, int64_t i)
{
    return size / parts * i + size % parts * i / parts;
}

static void do_tile(job *j, hs__member *self, int64_t along, int64_t line)
{
    const hs_wavefront *w = j->w;
    const double start = hs__records(&j->run) ? hs__since_start(&j->run) : 0.0;
    const int64_t i = w->axis ? along : line, k = w->axis ? line : along;
    const int64_t row = cut(w->m, w->rows, i), col = cut(w->n, w->cols, k);
    const int64_t height = cut(w->m, w->rows, i + 1) - row, width = cut(w->n, w->cols, k + 1) - col;
    w->tile(w->context, row, col, height, width);
    self->box = (int32_t)(i * w->cols + k);
    if (j->run.options.pace) hs__keep_pace(self, (double)height * (double)width);
    if (hs__records(&j->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&j->run));
    hs__count_task(&j->run);
    hs__attend(self);
}

static void do_chunk(job *j, hs__member *self, int32_t chunk)
{
    const int64_t reach = j->w->reach < j->length ? j->w->reach : j->length - 1;
    hs__walk walk = {
        .rows = j->length, .width = j->chunk[chunk].width, .reach = reach, .order = j->w->order};
    for (hs__stretch x; hs__walk_next(&walk, &x);) {
        if (chunk && x.needs >= 0) {
            hs__await_count(self, &j->run.signals[self->worker], &j->finished[chunk - 1].rows,
                            x.needs + 1);
            if (hs__stopped(self)) return;
            if (j->due)
                self->deadline = fmax(self->deadline, j->due[(chunk - 1) * j->length + x.needs]);
        }
        for (int64_t k = 0; k < x.count; k++) {
            do_tile(j, self, x.row + k * x.row_step,
                    j->chunk[chunk].first + x.col + k * x.col_step);
            if (hs__stopped(self)) return;
        }
        if (x.gives < 0) continue;
        if (j->due) j->due[chunk * j->length + x.gives] = self->deadline;
        finish_row(j, chunk, x.gives);
    }
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    for (int32_t chunk = 0; chunk < j->chunk_count && !hs__stopped(&self); chunk++)
        if (j->chunk[chunk].worker == worker) do_chunk(j, &self, chunk);
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

static hs_status check(const void *context)
{
    const job *j = context;
    const hs_wavefront *w = j->w;
    if (w->rows < 1 || w->cols < 1 || w->m < w->rows || w->n < w->cols ||
        w->rows > INT32_MAX / w->cols)
        return HS_ERROR_VALUE;
    if (!w->tile || !w->owner || w->reach < 0 || (w->axis != 0 && w->axis != 1))
        return HS_ERROR_VALUE;
    if (w->order != HS_ROW_WISE && w->order != HS_COLUMN_WISE) return HS_ERROR_VALUE;
    const int32_t lines = w->axis ? w->cols : w->rows;
    for (int32_t i = 0; i < lines; i++)
        if (w->owner[i] < 0 || w->owner[i] >= j->run.workers) return HS_ERROR_VALUE;
    return HS_OK;
}

static hs_status open(void *context)
{
    job *j = context;
    const hs_wavefront *w = j->w;
    j->length = w->axis ? w->rows : w->cols;
    j->lines = w->axis ? w->cols : w->rows;
    j->chunk_count = hs__wavefront_chunks(j->lines, w->owner, NULL);
    const size_t chunks = (size_t)j->chunk_count;
    j->chunk = hs__run_zeros(&j->run, chunks, sizeof *j->chunk);
    j->finished = hs__run_zeros(&j->run, chunks, sizeof *j->finished);
    if (!j->chunk || !j->finished || !hs__run_signals(&j->run, j->run.workers))
        return HS_ERROR_MEMORY;
    if (j->run.options.pace &&
        !(j->due = hs__run_zeros(&j->run, chunks * (size_t)j->length, sizeof *j->due)))
        return HS_ERROR_MEMORY;
    hs__wavefront_chunks(j->lines, w->owner, j->chunk);
    return HS_OK;
}

static const hs__kind kind = {.check = check, .open = open, .work = work};

hs_status hs_run_wavefront(hs_pool *pool, const hs_wavefront *w, const hs_options *options,
                           hs_trace *trace)
{
    if (!pool || !w) return HS_ERROR_VALUE;
    job j = {.run = hs__run_of(&kind, pool, options, trace), .w = w};
    j.run.total = (int64_t)w->rows * w->cols;
    return hs__run_do(&j.run);
}
