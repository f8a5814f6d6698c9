/* Runs thin products (product/thin.h): the large operand is cut into pieces that the workers take
 * from one counter. */
#include "product/thin.h"

#include <string.h>

#include "core/numbers.h"
#include "core/tuning.h"
#include "kernel/thin.h"
#include "run/matrix.h"
#include "run/member.h"

/* C <- alpha A B + beta C, transposed if needed so that A is the large operand. A piece is `height`
 * rows of A by `depth` columns; the pieces of the same rows follow each other. With more than one
 * piece per row, their sums are kept in `sums`, [parts][m][n], until all are computed. */
typedef struct {
    hs__run run;
    const hs_product *product;
    double factor[2], alpha[2]; /* for B; for A B */
    hs__thin loops;
    hs__matrix a, b, c;
    int by_rows;
    int64_t height, depth, heights, parts;
    char *packed;            /* all of B packed, or NULL: each piece packs its part */
    char *sums;              /* or NULL */
    size_t b_bytes, c_bytes; /* scratch of a worker: its part of B, its part of C */
    _Alignas(64) _Atomic int64_t next;
} thin_run;

/* ---- operands -------------------------------------------------------------------------------- */

/* Transposes the product if its B is the large operand. Returns whether it did. */
static int transpose_product(const hs_product *p, hs__matrix *a, hs__matrix *b, hs__matrix *c)
{
    hs__matrices_of(p, a, b, c);
    if (p->n <= HS__THIN && (p->m > HS__THIN || p->n <= p->m)) return 0;
    const hs__matrix kept = *a;
    *a = hs__transposed(*b);
    *b = hs__transposed(kept);
    *c = hs__transposed(*c);
    return 1;
}

static int is_by_rows(const hs__matrix *a)
{
    return a->col_stride == 1 && (a->row_stride != 1 || a->rows <= a->cols);
}

int hs__is_thin(const hs_product *p)
{
    if (p->k < 1 || hs__min(p->m, p->n) < 1 || hs__min(p->m, p->n) > HS__THIN || p->triangle ||
        p->conjugate)
        return 0;
    hs__matrix a, b, c;
    if (transpose_product(p, &a, &b, &c) && hs__scales_b(p)) return 0; /* A is not copied */
    /* a complex number is multiplied by two vectors */
    if (is_by_rows(&a)) return c.cols <= (p->dtype >> 1 ? HS__THIN / 2 : HS__THIN);
    return a.row_stride == 1;
}

/* Returns the reals of a packed column of B, if A is read by rows. */
static int64_t step_of(const thin_run *job, int64_t depth)
{
    return depth * (job->product->dtype >> 1 ? 4 : 1);
}

/* Packs `count` rows of B from row `first` on, times a factor, as hs__thin_rows reads them. */
#define DEFINE_PACK(REAL)                                                                  \
    static void pack_##REAL(const hs__matrix *b, int complex, const double factor[2],      \
                            int64_t first, int64_t count, REAL *to)                        \
    {                                                                                      \
        const REAL re_factor = (REAL)factor[0], im_factor = complex ? (REAL)factor[1] : 0; \
        for (int64_t col = 0; col < b->cols; col++)                                        \
            for (int64_t i = 0; i < count; i++) {                                          \
                const REAL *x = (const REAL *)(const void *)hs__at(b, first + i, col);     \
                if (!complex) {                                                            \
                    to[col * count + i] = re_factor * x[0];                                \
                    continue;                                                              \
                }                                                                          \
                REAL u = re_factor * x[0], v = re_factor * x[1];                           \
                if (im_factor != 0) u -= im_factor * x[1], v += im_factor * x[0];          \
                REAL *re = to + 4 * col * count + 2 * i, *im = re + 2 * count;             \
                re[0] = re[1] = u, im[0] = im[1] = v;                                      \
            }                                                                              \
    }
DEFINE_PACK(float)
DEFINE_PACK(double)

static void pack_rows(const thin_run *job, int64_t first, int64_t count, char *to)
{
    const int complex = job->product->dtype >> 1;
    const hs__matrix rows = {to, job->b.element, count, job->b.cols, job->b.cols, 1};
    if (!job->by_rows) {
        hs__copy(NULL, rows, hs__part(&job->b, first, 0, count, job->b.cols));
        hs__scale(job->product->dtype, &rows, job->factor);
    } else if (job->product->dtype & 1)
        pack_double(&job->b, complex, job->factor, first, count, (double *)(void *)to);
    else pack_float(&job->b, complex, job->factor, first, count, (float *)(void *)to);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Adds up the sums of rows first .., in the order of the parts, and adds the result to C. */
static void add_up_parts(const thin_run *job, int64_t first, int64_t rows)
{
    const int64_t n = job->c.cols;
    const hs__matrix to = hs__part(&job->c, first, 0, rows, n);
    for (int64_t part = 1; part < job->parts; part++) {
        const int64_t reals = n * (1 + (job->product->dtype >> 1));
        char *sum = job->sums + first * n * job->c.element;
        char *more = sum + part * job->c.rows * n * job->c.element;
        if (job->product->dtype & 1)
            for (int64_t i = 0; i < rows * reals; i++)
                ((double *)(void *)sum)[i] += ((double *)(void *)more)[i];
        else
            for (int64_t i = 0; i < rows * reals; i++)
                ((float *)(void *)sum)[i] += ((float *)(void *)more)[i];
    }
    const hs__matrix from = {job->sums + first * n * job->c.element, job->c.element, rows, n, n, 1};
    hs__combine(job->product->dtype, &from, job->alpha, job->product->beta, &to);
}

static void do_piece(const thin_run *job, int64_t piece, char *memory)
{
    const int64_t part = piece % job->parts;
    const int64_t row = piece / job->parts * job->height;
    const int64_t col = part * job->depth;
    const int64_t n = job->c.cols;
    const int64_t rows = hs__min(job->height, job->a.rows - row);
    const int64_t depth = hs__min(job->depth, job->a.cols - col);
    const char *b = job->packed;
    char *found = memory + job->b_bytes;
    if (!b) {
        pack_rows(job, col, depth, memory);
        b = memory;
    }
    hs__matrix sum = {found, job->c.element, rows, n, n, 1};
    if (job->by_rows) {
        job->loops.rows(rows, n, depth, hs__at(&job->a, row, col), job->a.row_stride, b,
                        step_of(job, depth), found);
    } else {
        memset(found, 0, (size_t)(rows * n * job->c.element));
        job->loops.columns(rows, n, depth, hs__at(&job->a, row, col), job->a.col_stride, b, found);
        sum.row_stride = 1;
        sum.col_stride = rows;
    }
    if (job->sums) {
        const hs__matrix to = {job->sums + (part * job->c.rows + row) * n * job->c.element,
                               job->c.element,
                               rows,
                               n,
                               n,
                               1};
        hs__copy(NULL, to, sum);
        return;
    }
    const hs__matrix to = hs__part(&job->c, row, 0, rows, n);
    hs__combine(job->product->dtype, &sum, job->alpha, job->product->beta, &to);
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    thin_run *job = context;
    hs__member self = hs__member_start(&job->run, worker, is_caller);
    char *memory = hs__pool_scratch(job->run.lease, HS__BLOCKS, worker, 0);
    self.box = 0;
    while (!hs__attend(&self)) {
        const int64_t piece = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (piece >= job->run.total) break;
        const double start = hs__records(&job->run) ? hs__since_start(&job->run) : 0.0;
        do_piece(job, piece, memory);
        hs__count_task(&job->run);
        if (hs__records(&job->run))
            hs__record(&self, HS_COMPUTE, start, hs__since_start(&job->run));
    }
    hs__member_end(&self);
}

static hs_status report_run(void *context, hs_status status)
{
    thin_run *job = context;
    if (!status && job->sums) add_up_parts(job, 0, job->c.rows);
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Cuts the product by its sizes alone: the result is the same with any number of workers. */
static void cut_pieces(thin_run *job)
{
    enum { STEP = 64 }; /* rows of a piece are a multiple of it, by rows of a quarter of it */
    const int64_t m = job->a.rows;
    const int64_t k = job->a.cols;
    const int64_t e = job->c.element;
    int64_t depth = hs__min(k, HS__THIN_DEPTH);
    if (job->by_rows) {
        job->height = hs__round_up(1 + HS__THIN_PIECE_BYTES / (depth * e), STEP / 4);
    } else {
        job->height = hs__round_up(1 + HS__THIN_NEAR_BYTES / (job->c.cols * e), STEP);
    }
    job->height = hs__min(job->height, m);
    job->heights = hs__ceil_div(m, job->height);
    job->parts = hs__ceil_div(k, depth);
    if (job->heights * job->parts < HS__THIN_PIECES)
        job->parts = hs__min(hs__ceil_div(HS__THIN_PIECES, job->heights),
                             hs__ceil_div(k, HS__THIN_DEPTH_LEAST));
    job->depth = hs__round_up(hs__ceil_div(k, job->parts), 16); /* whole cache lines of a row */
    job->parts = hs__ceil_div(k, job->depth);
}

static hs_status open_run(void *context)
{
    enum { LINE = 64 };
    thin_run *job = context;
    const int64_t n = job->c.cols;
    const int64_t e = job->c.element;
    /* bytes of a packed element */
    const int64_t wide =
        job->by_rows ? step_of(job, 1) * (int64_t)hs__real_bytes(job->product->dtype) : e;
    const int once = job->by_rows && job->parts == 1 && job->heights > 1;
    job->b_bytes = once ? 0 : (size_t)hs__round_up(job->depth * n * wide, LINE);
    job->c_bytes = (size_t)(job->height * n * e);
    job->run.total = job->heights * job->parts;
    job->run.manner =
        hs__manner_for((double)job->a.rows * (double)job->a.cols * (double)n,
                       HS__ALONE_THIN_UPDATES, HS__BRIEF_PRODUCT_UPDATES, HS__BRIEFS_OF_MEDIUM);
    for (int32_t w = 0; w < (job->run.manner == HS__ALONE ? 1 : job->run.workers); w++)
        if (!hs__pool_scratch(job->run.lease, HS__BLOCKS, w, job->b_bytes + job->c_bytes))
            return HS_ERROR_MEMORY;
    if (job->parts > 1 &&
        !(job->sums = hs__run_pages(&job->run, (size_t)(job->parts * job->a.rows * n * e))))
        return HS_ERROR_MEMORY;
    if (once && !(job->packed = hs__run_pages(&job->run, (size_t)(job->depth * n * wide))))
        return HS_ERROR_MEMORY;
    if (once) pack_rows(job, 0, job->a.cols, job->packed);
    return HS_OK;
}

static hs_status check_arguments(const void *context)
{
    (void)context; /* checked by the callers of hs__run_thin */
    return HS_OK;
}

static const hs__kind kind = {
    .check = check_arguments, .open = open_run, .work = run_worker, .report = report_run};

hs_status hs__run_thin(hs_pool *pool, const hs_product *product, const hs_options *options,
                       hs_trace *trace)
{
    thin_run job = {.run = hs__run_of(&kind, pool, options, trace),
                    .product = product,
                    .factor = {1.0},
                    .alpha = {1.0},
                    .loops = hs__thin_for(product->dtype)};
    memcpy(hs__scales_b(product) ? job.factor : job.alpha, product->alpha, sizeof job.alpha);
    transpose_product(product, &job.a, &job.b, &job.c);
    job.by_rows = is_by_rows(&job.a);
    cut_pieces(&job);
    hs__run_together(&job.run);
    return hs__run_do(&job.run);
}
