/* Runs thin products (product/thin.h): the large operand is cut into pieces that the workers take
 * from one counter. */
#include "product/thin.h"

#include <string.h>

#include "core/numbers.h"
#include "kernel/thin.h"
#include "run/matrix.h"
#include "run/member.h"

/* Up to so many multiply-adds the caller does everything. */
static const double SMALL = 5e5;

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
} job;

/* ---- operands -------------------------------------------------------------------------------- */

/* Transposes the product if its B is the large operand. Returns whether it did. */
static int turn(const hs_product *p, hs__matrix *a, hs__matrix *b, hs__matrix *c)
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
    if (turn(p, &a, &b, &c) && hs__scales_b(p)) return 0; /* A is not copied */
    /* a complex number is multiplied by two vectors */
    if (is_by_rows(&a)) return c.cols <= (p->dtype >> 1 ? HS__THIN / 2 : HS__THIN);
    return a.row_stride == 1;
}

/* Returns the reals of a packed column of B, if A is read by rows. */
static int64_t step_of(const job *j, int64_t depth)
{
    return depth * (j->product->dtype >> 1 ? 4 : 1);
}

/* Packs `count` rows of B from row `first` on, times a factor, as hs__thin_rows reads them. */
#define PACK(REAL)                                                                         \
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
PACK(float)
PACK(double)

static void pack(const job *j, int64_t first, int64_t count, char *to)
{
    const int complex = j->product->dtype >> 1;
    const hs__matrix rows = {to, j->b.element, count, j->b.cols, j->b.cols, 1};
    if (!j->by_rows) {
        hs__copy(NULL, rows, hs__part(&j->b, first, 0, count, j->b.cols));
        hs__scale(j->product->dtype, &rows, j->factor);
    } else if (j->product->dtype & 1)
        pack_double(&j->b, complex, j->factor, first, count, (double *)(void *)to);
    else pack_float(&j->b, complex, j->factor, first, count, (float *)(void *)to);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Adds up the sums of rows first .., in the order of the parts, and adds the result to C. */
static void add_up(const job *j, int64_t first, int64_t rows)
{
    const int64_t n = j->c.cols;
    const hs__matrix to = hs__part(&j->c, first, 0, rows, n);
    for (int64_t part = 1; part < j->parts; part++) {
        const int64_t reals = n * (1 + (j->product->dtype >> 1));
        char *sum = j->sums + first * n * j->c.element;
        char *more = sum + part * j->c.rows * n * j->c.element;
        if (j->product->dtype & 1)
            for (int64_t i = 0; i < rows * reals; i++)
                ((double *)(void *)sum)[i] += ((double *)(void *)more)[i];
        else
            for (int64_t i = 0; i < rows * reals; i++)
                ((float *)(void *)sum)[i] += ((float *)(void *)more)[i];
    }
    const hs__matrix from = {j->sums + first * n * j->c.element, j->c.element, rows, n, n, 1};
    hs__combine(j->product->dtype, &from, j->alpha, j->product->beta, &to);
}

static void do_piece(const job *j, int64_t piece, char *memory)
{
    const int64_t part = piece % j->parts;
    const int64_t row = piece / j->parts * j->height;
    const int64_t col = part * j->depth;
    const int64_t n = j->c.cols;
    const int64_t rows = hs__min(j->height, j->a.rows - row);
    const int64_t depth = hs__min(j->depth, j->a.cols - col);
    const char *b = j->packed;
    char *found = memory + j->b_bytes;
    if (!b) {
        pack(j, col, depth, memory);
        b = memory;
    }
    hs__matrix sum = {found, j->c.element, rows, n, n, 1};
    if (j->by_rows) {
        j->loops.rows(rows, n, depth, hs__at(&j->a, row, col), j->a.row_stride, b,
                      step_of(j, depth), found);
    } else {
        memset(found, 0, (size_t)(rows * n * j->c.element));
        j->loops.columns(rows, n, depth, hs__at(&j->a, row, col), j->a.col_stride, b, found);
        sum.row_stride = 1;
        sum.col_stride = rows;
    }
    if (j->sums) {
        const hs__matrix to = {
            j->sums + (part * j->c.rows + row) * n * j->c.element, j->c.element, rows, n, n, 1};
        hs__copy(NULL, to, sum);
        return;
    }
    const hs__matrix to = hs__part(&j->c, row, 0, rows, n);
    hs__combine(j->product->dtype, &sum, j->alpha, j->product->beta, &to);
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    char *memory = hs__pool_scratch(j->run.pool, HS__BLOCKS, worker, 0);
    self.box = 0;
    while (!hs__attend(&self)) {
        const int64_t piece = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (piece >= j->run.total) break;
        const double start = hs__records(&j->run) ? hs__since_start(&j->run) : 0.0;
        do_piece(j, piece, memory);
        hs__count_task(&j->run);
        if (hs__records(&j->run)) hs__record(&self, HS_COMPUTE, start, hs__since_start(&j->run));
    }
    hs__member_end(&self);
}

static hs_status report(void *context, hs_status status)
{
    job *j = context;
    if (!status && j->sums) add_up(j, 0, j->c.rows);
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Cuts the product by its sizes alone: the result is the same with any number of workers. */
static void cut(job *j)
{
    /* Bytes of A in a piece, by rows; bytes of a part of C, by columns. */
    enum { PIECE = 512 << 10, NEAR = 32 << 10 };
    /* LONGEST, SHORTEST, STEP: elements. ENOUGH: pieces. */
    enum { LONGEST = 8192, SHORTEST = 128, STEP = 64, ENOUGH = 32 };
    const int64_t m = j->a.rows, k = j->a.cols, e = j->c.element;
    int64_t depth = hs__min(k, LONGEST);
    if (j->by_rows) {
        j->height = hs__round_up(1 + PIECE / (depth * e), STEP / 4);
    } else {
        j->height = hs__round_up(1 + NEAR / (j->c.cols * e), STEP);
    }
    j->height = hs__min(j->height, m);
    j->heights = hs__ceil_div(m, j->height);
    j->parts = hs__ceil_div(k, depth);
    if (j->heights * j->parts < ENOUGH)
        j->parts = hs__min(hs__ceil_div(ENOUGH, j->heights), hs__ceil_div(k, SHORTEST));
    j->depth = hs__round_up(hs__ceil_div(k, j->parts), 16); /* whole cache lines of a row */
    j->parts = hs__ceil_div(k, j->depth);
}

static hs_status open(void *context)
{
    enum { LINE = 64 };
    job *j = context;
    const int64_t n = j->c.cols, e = j->c.element;
    /* bytes of a packed element */
    const int64_t wide =
        j->by_rows ? step_of(j, 1) * (int64_t)hs__real_bytes(j->product->dtype) : e;
    const int once = j->by_rows && j->parts == 1 && j->heights > 1;
    j->b_bytes = once ? 0 : (size_t)hs__round_up(j->depth * n * wide, LINE);
    j->c_bytes = (size_t)(j->height * n * e);
    j->run.total = j->heights * j->parts;
    j->run.manner =
        (double)j->a.rows * (double)j->a.cols * (double)n <= SMALL ? HS__ALONE : HS__SHARED;
    for (int32_t w = 0; w < (j->run.manner == HS__ALONE ? 1 : j->run.workers); w++)
        if (!hs__pool_scratch(j->run.pool, HS__BLOCKS, w, j->b_bytes + j->c_bytes))
            return HS_ERROR_MEMORY;
    if (j->parts > 1 && !(j->sums = hs__run_pages(&j->run, (size_t)(j->parts * j->a.rows * n * e))))
        return HS_ERROR_MEMORY;
    if (once && !(j->packed = hs__run_pages(&j->run, (size_t)(j->depth * n * wide))))
        return HS_ERROR_MEMORY;
    if (once) pack(j, 0, j->a.cols, j->packed);
    return HS_OK;
}

static hs_status check(const void *context)
{
    (void)context; /* checked by the callers of hs__run_thin */
    return HS_OK;
}

static const hs__kind kind = {.check = check, .open = open, .work = work, .report = report};

hs_status hs__run_thin(hs_pool *pool, const hs_product *product, const hs_options *options,
                       hs_trace *trace)
{
    job j = {.run = hs__run_of(&kind, pool, options, trace),
             .product = product,
             .factor = {1.0},
             .alpha = {1.0},
             .loops = hs__thin_for(product->dtype)};
    memcpy(hs__scales_b(product) ? j.factor : j.alpha, product->alpha, sizeof j.alpha);
    turn(product, &j.a, &j.b, &j.c);
    j.by_rows = is_by_rows(&j.a);
    cut(&j);
    return hs__run_do(&j.run);
}
