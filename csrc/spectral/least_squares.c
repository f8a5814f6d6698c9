/* Least squares by singular values. The matrix goes through the stages of the decomposition
 * (svd.c), and the right-hand sides through the adjoint of each stage, so that no singular vectors
 * of the matrix are formed, only vectors of the bidiagonal matrix.
 *
 * The stages decompose J, which is A or, if A has more columns than rows, its adjoint. From
 * J = U S V^H the solutions are
 *
 *     x = V S^+ U^H b    for J = A,
 *     x = U S^+ V^H b    for J = A^H.
 *
 * If J has many more rows than columns, J = Q R, and R takes its place. Then b is multiplied by Q^H
 * before, or x by Q after. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "core/tuning.h"
#include "hetsched/factor.h"
#include "hetsched/spectral.h"
#include "spectral/bidiagonal.h"
#include "spectral/general.h"
#include "spectral/general_chase.h"
#include "spectral/input.h"
#include "spectral/multiply.h"
#include "threads/arena.h"

enum { LEFT, RIGHT };

/* Rows and columns of a product with the vectors of the bidiagonal matrix, and columns of a task
 * that copies R. By hand. */
enum { ROWS = 128, COLS = 256, COPIED = 32 };

/* A problem.
 *   turned   J = A^H
 *   tall     R takes the place of J
 *   rows, cols  of J, rows >= cols
 *   matrix, sides  copies of J and of the right-hand sides, scaled
 *   qr       of a tall J, in the place of its copy
 *   kept     the reflectors of the chase, of each side
 *   vectors  [cols x cols] of the bidiagonal matrix, real, of each side
 *   c        [A's rows x right-hand sides] what they become: U^H b or V^H b
 *   y        [cols x right-hand sides] S^+ times that
 *   x        [A's columns x right-hand sides] the solutions, and more columns for the right singular
 *            vectors of A if they are wanted: both take the same way back */
typedef struct {
    hs_least_squares *given;
    const hs__kernel *kernel;
    int32_t dtype;
    int turned, tall;
    int64_t rows, cols;
    hs__input matrix, sides;
    hs_factor qr;
    hs__general reduction;
    hs__general_band chase;
    hs__chased kept[2];
    hs__bidiagonal bidiagonal;
    hs__matrix vectors[2];
    hs__matrix c, y, x;
    size_t bytes;
} squares_job;

/* The side whose adjoint the right-hand sides are multiplied by; the other one leads back. */
static int side_of_sides(const squares_job *job) { return job->turned ? RIGHT : LEFT; }
static int side_of_solutions(const squares_job *job) { return job->turned ? LEFT : RIGHT; }

static int is_complex(const squares_job *job) { return job->dtype >= HS_COMPLEX64; }

/* Returns the columns of x. */
static int64_t count_columns(const squares_job *job)
{
    return job->given->cols + (job->given->vh ? job->cols : 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static hs__matrix reserve_matrix(hs__room *room, int64_t rows, int64_t cols, size_t element)
{
    char *data = hs__reserve(room, (double)rows * (double)cols, element);
    return (hs__matrix){data, (ptrdiff_t)element, rows, cols, 1, hs__max(rows, 1)};
}

/* Copies of J and of the right-hand sides. */
static void place_input(squares_job *job, hs__room *room)
{
    const hs_least_squares *given = job->given;
    const size_t e = hs__element_bytes(job->dtype);
    const hs__matrix a = {(char *)(uintptr_t)given->a, (ptrdiff_t)e,       given->m, given->n,
                          given->a_row_stride,         given->a_col_stride};
    const hs__matrix b = {given->b,    (ptrdiff_t)e,        given->m,
                          given->cols, given->b_row_stride, given->b_col_stride};
    job->matrix = (hs__input){.dtype = job->dtype,
                              .conjugate = job->turned && is_complex(job),
                              .from = job->turned ? hs__transposed(a) : a,
                              .to = reserve_matrix(room, job->rows, job->cols, e)};
    job->c = reserve_matrix(room, given->m, given->cols, e);
    job->sides = (hs__input){.dtype = job->dtype, .from = b, .to = job->c};
    job->matrix.largest =
        (void *)hs__reserve(room, hs__input_parts(job->cols), sizeof *job->matrix.largest);
    job->sides.largest =
        (void *)hs__reserve(room, hs__input_parts(given->cols), sizeof *job->sides.largest);
    hs_factor_default(&job->qr, HS_QR, job->dtype, job->rows, job->cols, job->matrix.to.data);
    job->qr.cooperative = 1;
    job->qr.tau = hs__reserve(room, (double)job->cols, e);
}

static void place_reduction(squares_job *job, hs__room *room)
{
    hs__general *x = &job->reduction;
    const size_t e = hs__element_bytes(job->dtype);
    const int64_t n = job->cols, width = hs__general_width(n);
    *x = (hs__general){.dtype = job->dtype,
                       .m = job->tall ? n : job->rows,
                       .n = n,
                       .width = width,
                       .a = job->matrix.to.data,
                       .band_ld = 3 * width + HS__WIDTH_UNIT,
                       .kernel = job->kernel};
    x->ld = hs__max(x->m, 1);
    if (job->tall) x->a = hs__reserve(room, (double)n * (double)n, e);
    x->left_t = hs__reserve(room, (double)hs__general_t_bytes(x), 1);
    x->right_t = hs__reserve(room, (double)hs__general_t_bytes(x), 1);
    x->band = hs__reserve(room, (double)n * (double)x->band_ld, e);
    x->work = hs__reserve(room, (double)hs__general_bytes(x, count_columns(job)), 1);
}

/* The sides are multiplied one after the other, in the same workspace. */
static void place_chase(squares_job *job, hs__room *room)
{
    const int64_t n = job->cols, width = job->reduction.width;
    const int64_t places = hs__chased_places(n, width);
    const size_t e = hs__element_bytes(job->dtype), real = hs__real_bytes(job->dtype);
    for (int i = 0; i < 2; i++) {
        hs__chased *kept = &job->kept[i];
        *kept = (hs__chased){.dtype = job->dtype,
                             .n = n,
                             .width = width,
                             .sweeps = hs__max(n - 1, 0),
                             .places = places};
        kept->v = hs__reserve(room, (double)n * (double)places * (double)width, e);
        kept->tau = hs__reserve(room, (double)n * (double)places, e);
    }
    job->kept[LEFT].work =
        hs__reserve(room, (double)hs__chased_bytes(&job->kept[LEFT], count_columns(job)), 1);
    job->kept[RIGHT].work = job->kept[LEFT].work;
    job->chase = (hs__general_band){.dtype = job->dtype,
                                    .n = n,
                                    .width = width,
                                    .band = job->reduction.band,
                                    .band_ld = job->reduction.band_ld,
                                    .d = hs__reserve(room, (double)n, real),
                                    .e = hs__reserve(room, (double)n, real),
                                    .left = &job->kept[LEFT],
                                    .right = &job->kept[RIGHT]};
    job->chase.work = hs__reserve(room, (double)hs__general_band_bytes(&job->chase), 1);
}

static void place_bidiagonal(squares_job *job, hs__room *room)
{
    hs__bidiagonal *x = &job->bidiagonal;
    const int64_t n = job->cols;
    for (int i = 0; i < 2; i++)
        job->vectors[i] = reserve_matrix(room, n, n, hs__real_bytes(job->dtype));
    *x = (hs__bidiagonal){.kernel = job->kernel,
                          .dtype = job->dtype & 1,
                          .n = n,
                          .d = job->chase.d,
                          .e = job->chase.e,
                          .u = job, /* not NULL when it is measured */
                          .u_ld = hs__max(n, 1),
                          .v = job,
                          .v_ld = hs__max(n, 1)};
    x->work = hs__reserve(room, (double)hs__bidiagonal_bytes(x), 1);
    x->u = job->vectors[LEFT].data;
    x->v = job->vectors[RIGHT].data;
}

/* Sets the sizes of all stages, and their arrays if there is memory. */
static void place_stages(squares_job *job, char *memory)
{
    const hs_least_squares *given = job->given;
    const size_t e = hs__element_bytes(given->dtype);
    hs__room room = {.memory = memory};
    job->dtype = given->dtype;
    job->turned = given->m < given->n;
    job->rows = hs__max(given->m, given->n);
    job->cols = hs__min(given->m, given->n);
    job->tall = job->cols > 0 && 100 * job->rows >= HS__SVD_TALL_PERCENT * job->cols;
    place_input(job, &room);
    place_reduction(job, &room);
    place_chase(job, &room);
    place_bidiagonal(job, &room);
    job->y = reserve_matrix(&room, job->cols, given->cols, e);
    job->x = reserve_matrix(&room, given->n, count_columns(job), e);
    job->bytes = room.bytes;
}

static size_t scratch_of(const squares_job *job)
{
    size_t most = hs__general_scratch(&job->reduction);
    most = hs__larger(most, hs__general_band_scratch(&job->chase));
    most = hs__larger(most, hs__bidiagonal_scratch(&job->bidiagonal));
    most = hs__larger(most, hs__chased_scratch(&job->kept[LEFT]));
    return hs__larger(most, hs__multiply_bytes(job->kernel, job->dtype & 1, COLS, job->cols));
}

/* ---- products with the vectors of the bidiagonal matrix -------------------------------------- */

/* Returns how many singular values do not count as zero. */
static int64_t count_rank(const squares_job *job)
{
    const int wide = job->dtype & 1;
    const double *two = job->chase.d;
    const float *one = job->chase.d;
    double factor = job->given->rcond;
    int64_t rank = 0;
    if (factor < 0) factor = wide ? DBL_EPSILON : (double)FLT_EPSILON;
    while (rank < job->cols) {
        const double value = wide ? two[rank] : (double)one[rank];
        const double largest = wide ? two[0] : (double)one[0];
        if (!(value > factor * largest)) break;
        rank++;
    }
    return rank;
}

/* Part of a product: rows of the result, and right-hand sides. */
typedef struct {
    int64_t row, rows, col, cols;
} product_part;

static product_part part_of_product(const hs__matrix *all, int32_t task)
{
    const int64_t across = hs__ceil_div(all->cols, COLS);
    const int64_t row = task / across * ROWS, col = task % across * COLS;
    return (product_part){row, hs__min(ROWS, all->rows - row), col, hs__min(COLS, all->cols - col)};
}

static int32_t count_products(const hs__matrix *all)
{
    return (int32_t)(hs__ceil_div(all->rows, ROWS) * hs__ceil_div(all->cols, COLS));
}

/* Returns the real or the imaginary parts of a matrix. */
static hs__matrix parts_of(const squares_job *job, hs__matrix x, int part)
{
    const int64_t real = (int64_t)hs__real_bytes(job->dtype), step = is_complex(job) ? 2 : 1;
    return (hs__matrix){x.data + part * real, real, x.rows, x.cols, step * x.row_stride,
                        step * x.col_stride};
}

/* to <- a from for a real matrix a. */
static void multiply_parts(const squares_job *job, hs__walk *walk, hs__matrix a, hs__matrix from,
                           hs__matrix to)
{
    const hs__multiplier by = {.kernel = job->kernel,
                               .dtype = job->dtype & 1,
                               .scratch = hs__walk_scratch(walk),
                               .cancel = &walk->self.run->cancel};
    for (int part = 0; part <= is_complex(job); part++)
        hs__multiply(&by, 1, a, parts_of(job, from, part), 0, 0, parts_of(job, to, part));
}

/* Rows of y: the vectors of the larger singular values times c, divided by the values. */
static void divide_by_values(void *context, int32_t task, hs__walk *walk)
{
    const squares_job *job = context;
    const int64_t n = job->cols, rank = count_rank(job);
    const product_part p = part_of_product(&job->y, task);
    const int64_t rows = hs__min(p.rows, rank - p.row);
    if (rows <= 0) return;
    const hs__matrix *vectors = &job->vectors[side_of_sides(job)];
    const hs__matrix to = hs__part(&job->y, p.row, p.col, rows, p.cols);
    multiply_parts(job, walk, hs__transposed(hs__part(vectors, 0, p.row, n, rows)),
                   hs__part(&job->c, 0, p.col, n, p.cols), to);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = p.row + i;
        const double value = job->dtype & 1 ? ((const double *)job->chase.d)[at]
                                            : (double)((const float *)job->chase.d)[at];
        for (int part = 0; part <= is_complex(job); part++)
            for (int64_t j = 0; j < p.cols; j++) {
                const hs__matrix reals = parts_of(job, to, part);
                void *element = hs__at(&reals, i, j);
                if (job->dtype & 1) *(double *)element /= value;
                else *(float *)element /= (float)value;
            }
    }
}

/* Rows of x: the vectors of the other side times y, then these vectors, and zeros below. */
static void combine_vectors(void *context, int32_t task, hs__walk *walk)
{
    const squares_job *job = context;
    const int64_t sides = job->given->cols;
    const int64_t rank = count_rank(job);
    const product_part p = part_of_product(&job->x, task);
    const int64_t rows = hs__max(hs__min(p.rows, job->cols - p.row), 0);
    const int64_t cols = hs__max(hs__min(p.cols, sides - p.col), 0);
    const hs__matrix *vectors = &job->vectors[side_of_solutions(job)];
    const hs__matrix to = hs__part(&job->x, p.row, p.col, p.rows, p.cols);
    const hs__matrix solutions = hs__part(&to, 0, 0, rows, cols);
    const hs__matrix below = hs__part(&to, rows, 0, p.rows - rows, p.cols);
    if (rank && rows && cols)
        multiply_parts(job, walk, hs__part(vectors, p.row, 0, rows, rank),
                       hs__part(&job->y, 0, p.col, rank, cols), solutions);
    else hs__scale(job->dtype, &solutions, (const double[2]){0.0, 0.0});
    for (int64_t j = cols; j < p.cols; j++)
        hs__set_reals(job->dtype, rows, hs__at(&to, 0, j),
                      hs__at(vectors, p.row, p.col + j - sides));
    hs__scale(job->dtype, &below, (const double[2]){0.0, 0.0});
}

/* ---- the stages ------------------------------------------------------------------------------ */

static void load(void *context, hs__walk *walk)
{
    const squares_job *job = context;
    if (!hs__input_load(walk, &job->matrix)) (void)hs__input_load(walk, &job->sides);
}

/* Copies some columns of R, with zeros below the diagonal. */
static void copy_triangle(void *context, int32_t task, hs__walk *walk)
{
    const squares_job *job = context;
    const int64_t n = job->cols, first = (int64_t)task * COPIED;
    const hs__matrix *from = &job->matrix.to;
    const hs__matrix to = {job->reduction.a, from->element, n, n, 1, job->reduction.ld};
    (void)walk;
    for (int64_t j = first; j < hs__min(first + COPIED, n); j++) {
        memcpy(hs__at(&to, 0, j), hs__at(from, 0, j), (size_t)((j + 1) * from->element));
        memset(hs__at(&to, j + 1, j), 0, (size_t)((n - j - 1) * from->element));
    }
}

static int multiply_by_chase(hs__walk *walk, const squares_job *job, int side, int adjoint,
                             const hs__matrix *c)
{
    const hs__chased *kept = &job->kept[side];
    return c->cols <= HS__CHASED_FEW
               ? hs__chased_apply_few(walk, kept, adjoint, c->data, c->col_stride, c->cols)
               : hs__chased_apply(walk, kept, adjoint, c->data, c->col_stride, c->cols);
}

/* Multiplies the right-hand sides, or with adjoint 0 the solutions, by the stages of a side. */
static int multiply_side(hs__walk *walk, const squares_job *job, int side, int adjoint,
                         const hs__matrix *c)
{
    const int64_t ld = c->col_stride;
    if (!adjoint && multiply_by_chase(walk, job, side, 0, c)) return 1;
    if (side == LEFT ? hs__general_left(walk, &job->reduction, adjoint, c->data, ld, c->cols)
                     : hs__general_right(walk, &job->reduction, adjoint, c->data, ld, c->cols))
        return 1;
    return adjoint && multiply_by_chase(walk, job, side, 1, c);
}

static void solve(void *context, hs__walk *walk)
{
    squares_job *job = context;
    const int32_t triangles = job->tall ? (int32_t)hs__ceil_div(job->cols, COPIED) : 0;
    if (hs__phase(walk, triangles, copy_triangle, job)) return;
    if (hs__general_to_band(walk, &job->reduction)) return;
    if (hs__general_chase(walk, &job->chase)) return;
    if (multiply_side(walk, job, side_of_sides(job), 1, &job->c)) return;
    if (hs__bidiagonal_solve(walk, &job->bidiagonal) || job->bidiagonal.failed) return;
    if (hs__phase(walk, count_products(&job->y), divide_by_values, job)) return;
    if (hs__phase(walk, count_products(&job->x), combine_vectors, job)) return;
    (void)multiply_side(walk, job, side_of_solutions(job), 0, &job->x);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Multiplies by Q or Q^H, if R has taken the place of J. */
static hs_status multiply_by_q(hs_pool *pool, const squares_job *job, int adjoint,
                               const hs__matrix *c, const hs_options *options)
{
    return hs_qr_multiply(pool, &job->qr, adjoint, 0, c->cols, c->data, 1, c->col_stride,
                          options ? options->poll : NULL, options ? options->poll_context : NULL);
}

/* x <- 2^exponent x, in two steps, because the factor may be out of range where x is not. */
static void scale_by_power(int32_t dtype, const hs__matrix *x, int exponent)
{
    if (!exponent) return;
    hs__scale(dtype, x, (const double[2]){ldexp(1.0, exponent / 2), 0.0});
    hs__scale(dtype, x, (const double[2]){ldexp(1.0, exponent - exponent / 2), 0.0});
}

static void store_vectors(const squares_job *job)
{
    const hs_least_squares *given = job->given;
    const hs__matrix v = hs__part(&job->x, 0, given->cols, given->n, job->cols);
    const hs__matrix vh = {
        given->vh, v.element, job->cols, given->n, given->vh_row_stride, given->vh_col_stride};
    for (int64_t j = 0; j < v.cols && is_complex(job); j++)
        hs__conjugate_elements(job->dtype, v.rows, hs__at(&v, 0, j));
    hs__copy(NULL, hs__transposed(vh), v);
}

static void store_results(squares_job *job, int exponent_a, int exponent_b)
{
    hs_least_squares *given = job->given;
    const int64_t m = given->m, n = given->n;
    const hs__matrix b = {given->b,
                          (ptrdiff_t)hs__element_bytes(job->dtype),
                          hs__max(m, n),
                          given->cols,
                          given->b_row_stride,
                          given->b_col_stride};
    const hs__matrix solutions = hs__part(&job->x, 0, 0, n, b.cols);
    scale_by_power(job->dtype, &solutions, exponent_b - exponent_a);
    hs__copy(NULL, hs__part(&b, 0, 0, n, b.cols), solutions);
    if (m > n) {
        const hs__matrix residual = hs__part(&job->c, n, 0, m - n, b.cols);
        scale_by_power(job->dtype, &residual, exponent_b);
        hs__copy(NULL, hs__part(&b, n, 0, m - n, b.cols), residual);
    }
    hs__scale_values(job->dtype, job->cols, job->chase.d, exponent_a, given->values);
    given->rank = count_rank(job);
    if (given->vh) store_vectors(job);
}

static hs_status run_job(hs_pool *pool, squares_job *job, const hs_options *options,
                         hs_trace *trace)
{
    const double updates = (double)job->rows * (double)job->cols * (double)job->cols;
    const hs__manner manner =
        hs__manner_for(updates, HS__ALONE_SPECTRAL_UPDATES, HS__BRIEF_SPECTRAL_UPDATES,
                       HS__BRIEFS_OF_MEDIUM_SPECTRAL);
    int exponent_a;
    int exponent_b;
    hs_status status = hs__phases_run(pool, options, NULL, manner, 0, load, job);
    if (status) return status;
    job->given->failed = !hs__input_scale(&job->matrix, &exponent_a);
    job->given->failed |= !hs__input_scale(&job->sides, &exponent_b);
    if (job->given->failed) return HS_OK;
    if (job->tall) status = hs_run_factor(pool, &job->qr, options, NULL);
    if (!status && job->tall && !job->turned)
        status = multiply_by_q(pool, job, 1, &job->c, options);
    if (!status) status = hs__phases_run(pool, options, trace, manner, scratch_of(job), solve, job);
    if (!status) job->given->failed = job->bidiagonal.failed;
    if (status || job->given->failed) return status;
    if (job->tall && job->turned) status = multiply_by_q(pool, job, 0, &job->x, options);
    if (!status) store_results(job, exponent_a, exponent_b);
    return status;
}

static int is_valid(const hs_pool *pool, const hs_least_squares *x, const hs_options *options)
{
    if (!pool || !x || x->dtype < 0 || x->dtype > 3 || x->m < 0 || x->n < 0 || x->cols < 0)
        return 0;
    if (x->m > INT32_MAX || x->n > INT32_MAX || x->cols > INT32_MAX) return 0;
    if ((options && options->pace) || isnan(x->rcond)) return 0;
    if (x->m && x->n && (!x->a || !x->values)) return 0;
    return (!x->m && !x->n) || !x->cols || x->b;
}

hs_status hs_run_least_squares(hs_pool *pool, hs_least_squares *squares, const hs_options *options,
                               hs_trace *trace)
{
    if (!is_valid(pool, squares, options)) return HS_ERROR_VALUE;
    if (trace) trace->event_count = 0;
    squares->failed = 0;
    squares_job job = {.given = squares, .kernel = hs__kernel_current()};
    place_stages(&job, NULL);
    const hs__memory memory = hs__pool_take_memory(pool, job.bytes);
    if (!memory.data) return HS_ERROR_MEMORY;
    place_stages(&job, memory.data);
    const hs_status status = run_job(pool, &job, options, trace);
    hs__pool_keep_memory(pool, memory);
    return status;
}
