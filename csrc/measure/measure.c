/* Measures a kernel. It is repeated on one worker of the pool, or on all at once, each with
 * operands of its own. */
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/random.h"
#include "factor/tasks.h"
#include "product/gang.h"

/* Longer repetitions are likely to be preempted, so they are timed by the thread's own clock, which
 * costs a system call. */
static const double sliced = 100e-6;
/* shortest sample; shorter kernels are repeated, because of the resolution of the clock and of the
 * counter */
static const double shortest = 20e-6;

/* The kernel and the operands of one worker. */
typedef struct {
    const hs__kernel *kernel;
    int32_t dtype;
    int64_t size, width; /* width: of the panel of an LU factorisation */
    int64_t rows, cols;  /* of a product, whose depth is `size` */
    hs__panel_product gemm;
    hs__task_data lu; /* with one panel and one block */
    hs__packed_panel panel;
    hs__columns block;
    size_t bytes; /* of the columns, which are restored from `given` before each repetition */
    char *given, *packed, *work;
    int32_t *pivots;
    _Atomic int64_t failed; /* for b->lu; not read */
    int by_own_clock;
    /* owns the memory; it belongs to this thread, so that memory is near its core. It is never
     * cancelled */
    hs__run run;
    hs__member member;
} bench;

typedef struct {
    hs__run run;
    hs_measurement *what;
    hs__kernel *kernel; /* [domains] */
    int running;
    atomic_int ready, done; /* workers that have their operands; that have measured */
    atomic_int scarce;      /* non-zero: a worker had no memory */
} measurement_run;

static void fill_random(void *memory, size_t bytes, int32_t dtype)
{
    uint64_t state = 1;
    if (dtype & 1)
        for (size_t i = 0; i < bytes / 8; i++)
            ((double *)memory)[i] = hs__random_unit(&state) - 0.5;
    else
        for (size_t i = 0; i < bytes / 4; i++)
            ((float *)memory)[i] = (float)(hs__random_unit(&state) - 0.5);
}

static int64_t rows_of(const hs_measurement *what) { return what->rows ? what->rows : what->size; }

static int64_t cols_of(const hs_measurement *what) { return what->cols ? what->cols : what->size; }

/* ---- the kernels ----------------------------------------------------------------------------- */

static int open_gemm(bench *b)
{
    const int64_t m = b->rows;
    const int64_t n = b->cols;
    const int64_t k = b->size;
    const int64_t left = m * k;
    const int64_t right = k * n;
    const int64_t element = hs__element_bytes(b->dtype);
    const size_t bytes = (size_t)((left + right + m * n) * element);
    char *operands = hs__run_pages(&b->run, bytes);
    if (!operands) return 0;
    fill_random(operands, bytes, b->dtype);
    hs_product product;
    hs_product_default(&product, b->dtype, m, n, k, operands, operands + left * element,
                       operands + (left + right) * element);
    const hs_box whole = {.height = m, .width = n, .length = k};
    hs__panel_product_init(&b->gemm, b->kernel, &product, &whole, NULL, 1);
    b->packed = hs__run_pages(&b->run, hs__panel_bytes(&b->gemm));
    b->work = hs__run_pages(&b->run, hs__block_bytes(&b->gemm));
    return b->packed && b->work;
}

/* Allocates a block of `cols` columns and `rows` rows in slices, its content before each
 * repetition, and a packed panel of b->width columns. */
static int open_lu(bench *b, int64_t rows, int64_t cols)
{
    hs__column_type_init(&b->lu.type, b->kernel, b->dtype);
    const int64_t across = b->lu.type.slice.across;
    const int64_t slices = (cols + across - 1) / across;
    b->bytes = (size_t)slices * hs__slice_bytes(&b->lu.type, rows);
    const size_t own = hs__lu_tasks.work_bytes(&b->lu.type, rows, b->width, cols);
    const size_t strips = hs__lu_tasks.make_bytes(&b->lu.type, rows, b->width);
    char *columns = hs__run_pages(&b->run, 2 * b->bytes);
    b->work = hs__run_pages(&b->run, own > strips ? own : strips);
    b->packed = hs__run_pages(&b->run, hs__lu_tasks.panel_bytes(&b->lu.type, rows, b->width));
    b->pivots = hs__run_pages(&b->run, (size_t)rows * sizeof *b->pivots);
    if (!columns || !b->work || !b->packed || !b->pivots) return 0;
    b->given = columns + b->bytes;
    fill_random(b->given, b->bytes, b->dtype);
    const char *last = columns + (size_t)(slices - 1) * hs__slice_bytes(&b->lu.type, rows);
    b->block = (hs__columns){columns, (char *)last, rows, cols};
    b->panel = (hs__packed_panel){0, b->width, rows, b->packed};
    b->lu.panel = &b->panel;
    b->lu.columns = &b->block;
    b->lu.pivots = b->pivots;
    b->lu.failed = &b->failed;
    return 1;
}

static void factor_panel(bench *b) { hs__lu_tasks.factor(&b->lu, 0, b->work, &b->member); }

/* Prepares the triangle of a factored square, and the columns beside it for which to solve. */
static int open_trsm(bench *b)
{
    const int64_t width = b->width;
    const int64_t across = b->size > width ? b->size : width;
    if (!open_lu(b, width, across)) return 0;
    memcpy(b->block.slices, b->given, b->bytes);
    const hs__columns all = b->block;
    b->block.cols = width;
    b->block.last = b->block.slices + ((size_t)((width - 1) / b->lu.type.slice.across)) *
                                          hs__slice_bytes(&b->lu.type, width);
    factor_panel(b);
    b->block = all;
    b->block.cols = b->size;
    b->block.last = all.slices + (size_t)((b->size - 1) / b->lu.type.slice.across) *
                                     hs__slice_bytes(&b->lu.type, width);
    return 1;
}

static int bench_open(bench *b, const hs_measurement *what, const hs__kernel *kernel)
{
    *b = (bench){.kernel = kernel,
                 .dtype = what->dtype,
                 .size = what->size,
                 .width = what->width,
                 .rows = rows_of(what),
                 .cols = cols_of(what)};
    b->member = (hs__member){.run = &b->run};
    if (what->kernel == HS_MEASURE_GEMM) return open_gemm(b);
    return what->kernel == HS_MEASURE_PANEL ? open_lu(b, b->size, b->width) : open_trsm(b);
}

/* Returns the seconds of one repetition. The operands that an LU kernel changes are restored first,
 * outside of the measured time. */
static double time_once(bench *b, int32_t kernel)
{
    static const int never = 0;
    if (kernel != HS_MEASURE_GEMM) memcpy(b->block.slices, b->given, b->bytes);
    const double start = b->by_own_clock ? hs__cpu_clock() : hs_clock();
    if (kernel == HS_MEASURE_GEMM) hs__panel_product_run(&b->gemm, b->packed, b->work, &never);
    else if (kernel == HS_MEASURE_PANEL) factor_panel(b);
    else hs__lu_tasks.update(&b->lu, 0, 0, b->work, &b->member);
    return (b->by_own_clock ? hs__cpu_clock() : hs_clock()) - start;
}

/* ---- the workers ----------------------------------------------------------------------------- */

static int is_cancelled(const measurement_run *job) { return hs__cancelled(&job->run.cancel); }

static int all_ready(const void *what)
{
    return atomic_load(&((const measurement_run *)what)->ready) >=
           ((const measurement_run *)what)->running;
}

/* Measures one worker. All workers start together and repeat the kernel until all have measured
 * long enough, so that none is measured on a machine that is partly idle. */
static void measure_worker(measurement_run *job, bench *b, int32_t worker)
{
    hs_measurement *what = job->what;
    double *times = what->times + (size_t)worker * (size_t)what->capacity;
    double warm = time_once(b, what->kernel);
    for (double until = hs_clock() + 0.1 * what->seconds; hs_clock() < until && !is_cancelled(job);)
        warm = fmin(warm, time_once(b, what->kernel));
    b->by_own_clock = warm > sliced;
    const int32_t batch = warm < shortest ? (int32_t)(shortest / fmax(warm, 1e-8)) + 1 : 1;
    atomic_fetch_add(&job->ready, 1);
    hs__wait_until(
        &(hs__wait){.ready = all_ready, .what = job, .cancel = &job->run.cancel, .spin = INFINITY},
        NULL);

    const double start = hs_clock();
    const double cpu_start = hs__cpu_clock();
    int32_t count = 0;
    do {
        double sum = 0.0;
        for (int32_t i = 0; i < batch; i++) sum += time_once(b, what->kernel);
        times[count++] = sum / batch;
    } while (count < what->capacity && !is_cancelled(job) &&
             (count < what->least || hs_clock() - start < what->seconds));
    what->elapsed[worker] = hs_clock() - start;
    what->busy[worker] = hs__cpu_clock() - cpu_start;
    what->count[worker] = count;
    what->batch[worker] = batch;

    atomic_fetch_add(&job->done, 1);
    while (atomic_load(&job->done) < job->running && !is_cancelled(job)) time_once(b, what->kernel);
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    (void)is_caller;
    measurement_run *job = context;
    if (job->what->worker >= 0 && job->what->worker != worker) return;
    bench b;
    if (bench_open(&b, job->what, &job->kernel[hs__pool_domain(job->run.pool, worker)])) {
        measure_worker(job, &b, worker);
    } else {
        atomic_store(&job->scarce, 1);
        hs__cancel(&job->run.cancel);
    }
    hs__run_free(&b.run);
}

/* ---- the call -------------------------------------------------------------------------------- */

static hs_status check_arguments(const void *context)
{
    const measurement_run *job = context;
    const hs_measurement *w = job->what;
    /* Squares and products of these sizes stay far from every limit. */
    const int64_t most = 1 << 15;
    if (w->kernel < HS_MEASURE_GEMM || w->kernel > HS_MEASURE_TRSM || w->dtype < 0 || w->dtype > 3)
        return HS_ERROR_VALUE;
    if (w->size < 1 || w->size > (w->kernel == HS_MEASURE_GEMM ? most : 32 * most) ||
        w->worker < -1 || w->worker >= job->run.workers)
        return HS_ERROR_VALUE;
    if (w->rows < 0 || w->rows > most || w->cols < 0 || w->cols > most ||
        (w->kernel != HS_MEASURE_GEMM && (w->rows || w->cols)))
        return HS_ERROR_VALUE;
    if (!(w->seconds >= 0.0 && isfinite(w->seconds)) || w->capacity < 1 || w->least < 1 ||
        w->least > w->capacity)
        return HS_ERROR_VALUE;
    return w->times && w->count && w->batch && w->elapsed && w->busy ? HS_OK : HS_ERROR_VALUE;
}

static hs_status open_run(void *context)
{
    measurement_run *job = context;
    hs_measurement *what = job->what;
    const hs__domains *domains = hs__pool_domains(job->run.pool);
    const double n = (double)what->size;
    const double area = (double)rows_of(what) * (double)cols_of(what);
    job->kernel = hs__run_zeros(&job->run, (size_t)domains->count, sizeof *job->kernel);
    if (!job->kernel) return HS_ERROR_MEMORY;
    hs__domain_kernels(domains, job->kernel);
    what->width = what->kernel == HS_MEASURE_GEMM ? 0
                                                  : hs_factor_block(HS_LU, what->size, what->size,
                                                                    what->dtype, job->run.workers);
    if (what->kernel == HS_MEASURE_PANEL && what->width > what->size) what->width = what->size;
    const double width = (double)what->width;
    const double half = hs_flops_per_update(what->dtype) / 2.0;
    what->flops = half * (what->kernel == HS_MEASURE_GEMM    ? 2.0 * area * n
                          : what->kernel == HS_MEASURE_PANEL ? width * width * (n - width / 3.0)
                                                             : width * width * n);
    for (int32_t i = 0; i < job->run.workers; i++) {
        what->count[i] = what->batch[i] = 0;
        what->elapsed[i] = what->busy[i] = 0.0;
    }
    job->running = what->worker < 0 ? job->run.workers : 1;
    job->run.total = 1; /* counts as done only at the end */
    return HS_OK;
}

static hs_status report_run(void *context, hs_status status)
{
    return atomic_load(&((measurement_run *)context)->scarce) ? HS_ERROR_MEMORY : status;
}

/* The calling thread only looks for a cancel, as it may be on the core of a worker. */
static const hs__kind kind = {
    .check = check_arguments, .open = open_run, .work = run_worker, .report = report_run};

void hs_measurement_default(hs_measurement *what, int64_t size)
{
    if (!what) return;
    *what = (hs_measurement){.kernel = HS_MEASURE_GEMM,
                             .dtype = HS_FLOAT64,
                             .size = size,
                             .worker = -1,
                             .seconds = 0.5,
                             .least = 3};
}

hs_status hs_measure_kernel(hs_pool *pool, hs_measurement *what, hs_poll_function poll,
                            void *context)
{
    if (!pool || !what) return HS_ERROR_VALUE;
    measurement_run job = {
        .run = hs__run_of(&kind, pool, &(hs_options){.poll = poll, .poll_context = context}, NULL),
        .what = what};
    job.run.manner = HS__LED;
    return hs__run_do(&job.run);
}
