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
} wavefront_run;

/* ---- progress -------------------------------------------------------------------------------- */

static void finish_row(wavefront_run *job, int32_t chunk, int64_t row)
{
    atomic_store(&job->finished[chunk].rows, row + 1);
    if (chunk + 1 < job->chunk_count)
        hs__signal_send(&job->run.signals[job->chunk[chunk + 1].worker]);
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Returns where part i begins if `size` is divided evenly. */
static int64_t part_start(int64_t size, int64_t parts, int64_t i)
{
    return size / parts * i + size % parts * i / parts;
}

static void do_tile(wavefront_run *job, hs__member *self, int64_t along, int64_t line)
{
    const hs_wavefront *w = job->w;
    const double start = hs__records(&job->run) ? hs__since_start(&job->run) : 0.0;
    const int64_t i = w->axis ? along : line;
    const int64_t k = w->axis ? line : along;
    const int64_t row = part_start(w->m, w->rows, i);
    const int64_t col = part_start(w->n, w->cols, k);
    const int64_t height = part_start(w->m, w->rows, i + 1) - row;
    const int64_t width = part_start(w->n, w->cols, k + 1) - col;
    w->tile(w->context, w->row + row, w->col + col, height, width);
    self->box = (int32_t)(i * w->cols + k);
    if (job->run.options.pace) hs__keep_pace(self, (double)height * (double)width);
    if (hs__records(&job->run)) hs__record(self, HS_COMPUTE, start, hs__since_start(&job->run));
    hs__count_task(&job->run);
    hs__attend(self);
}

static void do_chunk(wavefront_run *job, hs__member *self, int32_t chunk)
{
    const int64_t reach = job->w->reach < job->length ? job->w->reach : job->length - 1;
    hs__walk walk = {.rows = job->length,
                     .width = job->chunk[chunk].width,
                     .reach = reach,
                     .order = job->w->order};
    for (hs__stretch x; hs__walk_next(&walk, &x);) {
        if (chunk && x.needs >= 0) {
            hs__await_count(self, &job->run.signals[self->worker], &job->finished[chunk - 1].rows,
                            x.needs + 1);
            if (hs__stopped(self)) return;
            if (job->due)
                self->deadline =
                    fmax(self->deadline, job->due[(chunk - 1) * job->length + x.needs]);
        }
        for (int64_t k = 0; k < x.count; k++) {
            do_tile(job, self, x.row + k * x.row_step,
                    job->chunk[chunk].first + x.col + k * x.col_step);
            if (hs__stopped(self)) return;
        }
        if (x.gives < 0) continue;
        if (job->due) job->due[chunk * job->length + x.gives] = self->deadline;
        finish_row(job, chunk, x.gives);
    }
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    wavefront_run *job = context;
    hs__member self = hs__member_start(&job->run, worker, is_caller);
    for (int32_t chunk = 0; chunk < job->chunk_count && !hs__stopped(&self); chunk++)
        if (job->chunk[chunk].worker == worker) do_chunk(job, &self, chunk);
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

static hs_status check_arguments(const void *context)
{
    const wavefront_run *job = context;
    const hs_wavefront *w = job->w;
    if (w->rows < 1 || w->cols < 1 || w->m < w->rows || w->n < w->cols ||
        w->rows > INT32_MAX / w->cols)
        return HS_ERROR_VALUE;
    if (!w->tile || !w->owner || w->reach < 0 || (w->axis != 0 && w->axis != 1))
        return HS_ERROR_VALUE;
    if (w->order != HS_ROW_WISE && w->order != HS_COLUMN_WISE) return HS_ERROR_VALUE;
    const int32_t lines = w->axis ? w->cols : w->rows;
    for (int32_t i = 0; i < lines; i++)
        if (w->owner[i] < 0 || w->owner[i] >= job->run.workers) return HS_ERROR_VALUE;
    return HS_OK;
}

static hs_status open_run(void *context)
{
    wavefront_run *job = context;
    const hs_wavefront *w = job->w;
    job->length = w->axis ? w->rows : w->cols;
    job->lines = w->axis ? w->cols : w->rows;
    job->chunk_count = hs__wavefront_chunks(job->lines, w->owner, NULL);
    const size_t chunks = (size_t)job->chunk_count;
    job->chunk = hs__run_zeros(&job->run, chunks, sizeof *job->chunk);
    job->finished = hs__run_zeros(&job->run, chunks, sizeof *job->finished);
    if (!job->chunk || !job->finished || !hs__run_signals(&job->run, job->run.workers))
        return HS_ERROR_MEMORY;
    if (job->run.options.pace &&
        !(job->due = hs__run_zeros(&job->run, chunks * (size_t)job->length, sizeof *job->due)))
        return HS_ERROR_MEMORY;
    hs__wavefront_chunks(job->lines, w->owner, job->chunk);
    return HS_OK;
}

static const hs__kind kind = {.check = check_arguments, .open = open_run, .work = run_worker};

hs_status hs_run_wavefront(hs_pool *pool, const hs_wavefront *w, const hs_options *options,
                           hs_trace *trace)
{
    if (!pool || !w) return HS_ERROR_VALUE;
    wavefront_run job = {.run = hs__run_of(&kind, pool, options, trace), .w = w};
    job.run.total = (int64_t)w->rows * w->cols;
    return hs__run_do(&job.run);
}
