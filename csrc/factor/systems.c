/* Solves systems with triangular matrices, and with the factors of LU. */
#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"
#include "factor/tasks.h"

/* Multiply-adds, or exchanges of elements, after which a thread that works alone looks for a cancel:
 * some milliseconds. */
enum { BETWEEN_POLLS = 1 << 21 };

/* The lower triangle of t. An upper triangle becomes lower when all indices are reversed. */
typedef struct {
    hs__matrix t;
    int unit; /* ones on the diagonal */
} triangle;

/* Complex numbers are multiplied and divided as in Fortran (CMakeLists.txt): quotients by Smith's
 * method, without a search for infinities. */
#define NAME(x) float_##x
#define TYPE float
#include "factor/solve_template.h"

#define NAME(x) double_##x
#define TYPE double
#include "factor/solve_template.h"

#define NAME(x) complex_float_##x
#define TYPE float _Complex
#include "factor/solve_template.h"

#define NAME(x) complex_double_##x
#define TYPE double _Complex
#include "factor/solve_template.h"

/* The function for each hs_dtype. */
static void (*const of_type[])(const triangle *a, const hs__matrix *b, int64_t first,
                               int64_t end) = {float_substitute, double_substitute,
                                               complex_float_substitute, complex_double_substitute};

/* ---- tasks ----------------------------------------------------------------------------------- */

/* A packed panel is minus T in strips, then the inverse of its diagonal unless that is ones. */
static size_t scales_at(const hs__column_type *t, int64_t rows, int64_t width)
{
    return (size_t)hs__round_up((int64_t)hs__strips_bytes(t, rows, width), 64);
}

static size_t panel_bytes(const hs__column_type *t, int64_t rows, int64_t width)
{
    return scales_at(t, rows, width) + (size_t)width * sizeof(double[3]);
}

static double (*scales_of(const hs__column_type *t, const hs__packed_panel *p))[3]
{
    return (double(*)[3])(void *)(p->strips + scales_at(t, p->rows, p->width));
}

static int is_zero(const hs__column_type *t, const char *x)
{
    for (int i = 0; i < t->parts; i++)
        if (t->real == 8 ? ((const double *)x)[i] != 0.0 : ((const float *)x)[i] != 0.0f) return 0;
    return 1;
}

/* Inverts an element of the diagonal. The inverse of zero is infinite, so that a singular system has
 * no finite solution. */
static void invert_diagonal(const hs__column_type *t, const char *element, double scale[3])
{
    hs__invert(t, element, scale);
    if (!is_zero(t, element)) return;
    scale[1] = INFINITY;
    if (t->parts == 2) scale[2] = INFINITY;
}

static int pack_panel(hs__task_data *x, int32_t k, char *memory, hs__member *self)
{
    const hs__column_type *t = &x->type;
    const hs__strip_form *l = &t->slice;
    const hs__packed_panel *p = &x->panel[k];
    const int64_t size = hs__l_bytes(t, l, p->width);
    const int64_t top = hs__top_strips(l, p->width);
    const int64_t count = hs__strip_count(l, p->rows, p->width);
    const hs__matrix *a = &x->triangle;
    double(*scales)[3] = scales_of(t, p);
    (void)memory;
    for (int64_t s = 0; s < count; s++) {
        if (hs__attend(self)) return 1;
        const int64_t row = hs__row_of_strip(l, p->width, s);
        const int64_t h = hs__rows_of_strip(l, p->rows, p->width, s);
        /* elements above the diagonal are not read */
        const int64_t depth = s < top ? hs__min(p->width, row + h) : p->width;
        hs__pack_micro_panels(&l->l, h, depth, hs__at(a, p->first + row, p->first), a->row_stride,
                              a->col_stride, p->strips + s * size);
    }
    for (int64_t i = 0; i < p->width && !x->unit; i++)
        invert_diagonal(t, hs__at(a, p->first + i, p->first + i), scales[i]);
    return 0;
}

static size_t no_bytes(const hs__column_type *t, int64_t rows, int64_t width)
{
    (void)t;
    (void)rows;
    (void)width;
    return 0;
}

static void update_block(const hs__task_data *x, int32_t k, int32_t block, char *work,
                         hs__member *self)
{
    const hs__packed_panel *p = &x->panel[k];
    const double(*scales)[3] = x->unit ? NULL : (const double(*)[3])scales_of(&x->type, p);
    hs__lower_update(&x->type, p, &x->columns[block], NULL, scales, work, self);
}

/* With the identity the result L^-1 is lower triangular: a block changes only from its diagonal
 * on. */
static int32_t find_first_step(const hs__task_data *x, int32_t block)
{
    return x->identity ? (int32_t)hs__min(hs__block_first(&x->blocks, block) / x->width, x->panels)
                       : 0;
}

static const hs__task_kind system_tasks = {.panel_bytes = panel_bytes,
                                           .make_bytes = no_bytes,
                                           .work_bytes = hs__lower_bytes,
                                           .load = hs__load_or_identity,
                                           .factor = pack_panel,
                                           .update = update_block,
                                           .store = hs__store_all,
                                           .begin = find_first_step,
                                           .widest = 192};

typedef struct {
    hs_pool *pool;
    hs__lease *lease; /* NULL while the system is not shared */
    int32_t dtype;
    hs_options options;
    const double *factor; /* [2] multiplies the right-hand sides; NULL: 1 */
} solver;

/* Multiplies right-hand sides by the factor, with one thread. */
static void scale_right_sides(const solver *s, const hs__matrix *b)
{
    if (s->factor) hs__scale(s->dtype, b, s->factor);
}

/* A run of the caller alone, which can be cancelled. total: of its tasks */
static hs__run open_alone(const solver *s, int64_t total)
{
    hs__run run = hs__run_of(NULL, s->pool, &s->options, NULL);
    run.lease = s->lease;
    run.total = total;
    run.last_poll = hs_clock();
    return run;
}

/* Solves for one right-hand side after the other, by the caller alone; for many at once if they are
 * short. */
static hs_status substitute_columns(const solver *s, const triangle *a, const hs__matrix *b)
{
    const int64_t n = a->t.rows;
    const int64_t rows = hs__max(BETWEEN_POLLS / n, 1);
    const int64_t wide = n <= HS__SYSTEM_ROWS ? BETWEEN_POLLS / (n * n) : 1;
    hs__run run = open_alone(s, hs__ceil_div(b->cols, wide));
    for (int64_t j = 0; j < b->cols && !hs__cancelled(&run.cancel); j += wide) {
        const hs__matrix some = hs__part(b, 0, j, n, hs__min(wide, b->cols - j));
        scale_right_sides(s, &some);
        for (int64_t i = 0; i < n && !hs__cancelled(&run.cancel); i += rows) {
            of_type[s->dtype](a, &some, i, hs__min(i + rows, n));
            hs__poll(&run);
        }
        hs__count_task(&run);
    }
    return hs__check_cancel(&run.cancel);
}

/* B <- T^-1 B, for a thread that holds the pool. identity: B is taken to be the identity. If there
 * is no memory, each right-hand side is solved by itself. */
static hs_status solve_by_tasks(const solver *s, const triangle *a, const hs__matrix *b,
                                int identity)
{
    const int64_t n = a->t.rows;
    const int64_t cols = b->cols;
    hs__tasks tasks = hs__tasks_of(&system_tasks, s->pool, &s->options, NULL);
    tasks.run.lease = s->lease;
    tasks.volume = (double)n * (double)n * (double)cols / 2.0;
    tasks.x = (hs__task_data){.given = *b,
                              .wanted = *b,
                              .triangle = a->t,
                              .unit = a->unit,
                              .identity = identity,
                              .factor = s->factor};
    hs__column_type_init(&tasks.x.type, hs__kernel_current(), s->dtype);
    const hs_status status = hs__tasks_apply(&tasks, n, n, cols, hs__tasks_locked);
    if (status != HS_ERROR_MEMORY) return status;
    for (int64_t i = 0; i < cols && identity; i++) {
        const hs__matrix column = hs__part(b, 0, i, n, 1);
        hs__scale(s->dtype, &column, (const double[2]){0.0, 0.0});
        hs__set_one(tasks.x.type.dtype, hs__at(b, i, i));
    }
    return substitute_columns(s, a, b);
}

/* Returns the matrix with its rows in reverse order. */
static hs__matrix reverse_rows(hs__matrix x)
{
    x.data = hs__at(&x, x.rows - 1, 0);
    x.row_stride = -x.row_stride;
    return x;
}

/* Returns the matrix with its rows and its columns in reverse order. */
static hs__matrix reverse_both(hs__matrix x)
{
    return hs__transposed(reverse_rows(hs__transposed(reverse_rows(x))));
}

/* Whether a system is worth sharing. */
static int is_shared(int64_t n, int64_t cols)
{
    return n > HS__SYSTEM_ROWS && cols >= HS__SYSTEM_COLS;
}

static hs_status solve_or_substitute(const solver *s, const triangle *a, const hs__matrix *b)
{
    const int64_t n = a->t.rows;
    if (is_shared(n, b->cols)) return solve_by_tasks(s, a, b, 0);
    if ((double)n * (double)n * (double)b->cols > BETWEEN_POLLS) return substitute_columns(s, a, b);
    scale_right_sides(s, b);
    of_type[s->dtype](a, b, 0, n);
    return HS_OK;
}

/* Solves with a lower triangle, or with an upper one and the right-hand sides in reverse order. */
static hs_status solve_triangle(const solver *s, const hs__matrix *t, int upper, int unit,
                                const hs__matrix *b)
{
    const hs__matrix backwards = reverse_rows(*b);
    return solve_or_substitute(s, &(triangle){upper ? reverse_both(*t) : *t, unit},
                               upper ? &backwards : b);
}

static int in_range(int64_t n, int64_t cols)
{
    return n >= 0 && n <= INT32_MAX && cols >= 0 && cols <= INT32_MAX;
}

hs_status hs_solve_triangular(hs_pool *pool, const hs_triangular *x, hs_poll_function poll,
                              void *context)
{
    if (!pool || !x || x->dtype < 0 || x->dtype > 3 || !in_range(x->n, x->cols))
        return HS_ERROR_VALUE;
    if (x->n == 0 || x->cols == 0) return HS_OK;
    if (!x->t || !x->b) return HS_ERROR_VALUE;
    const int is_one = !x->alpha || hs__factor_is(x->dtype, x->alpha, 1.0);
    solver s = {.pool = pool,
                .dtype = x->dtype,
                .options = {.poll = poll, .poll_context = context},
                .factor = is_one ? NULL : x->alpha};
    const ptrdiff_t e = hs__element_bytes(x->dtype);
    const hs__matrix t = {(char *)x->t, e, x->n, x->n, x->t_row_stride, x->t_col_stride};
    const hs__matrix b = {x->b, e, x->n, x->cols, x->b_row_stride, x->b_col_stride};
    if (x->alpha && hs__factor_is(x->dtype, x->alpha, 0.0)) {
        scale_right_sides(&s, &b);
        return HS_OK;
    }
    /* the pool is locked before b is changed: it may refuse, or the wait may be cancelled */
    const int shares = is_shared(x->n, x->cols);
    hs_status status = shares ? hs__pool_lock(pool, HS__TOGETHER, poll, context, &s.lease) : HS_OK;
    if (status) return status;
    status = solve_triangle(&s, &t, x->upper != 0, x->unit != 0, &b);
    if (shares) hs__pool_unlock(s.lease);
    return status;
}

/* ---- systems with the factors of LU ---------------------------------------------------------- */

/* Whether `lu` is what hs_run_factor leaves of a square matrix. */
static int is_factored(const hs_factor *lu)
{
    if (!lu || lu->kind != HS_LU || lu->dtype < 0 || lu->dtype > 3 || lu->m != lu->n || lu->n < 0 ||
        lu->n > INT32_MAX)
        return 0;
    if (lu->n && (!lu->matrix || !lu->pivots)) return 0;
    for (int64_t i = 0; i < lu->n; i++)
        if (lu->pivots[i] < 0 || lu->pivots[i] >= lu->n) return 0;
    return 1;
}

static hs__matrix factors_of(const hs_factor *lu)
{
    return (hs__matrix){lu->matrix,    hs__element_bytes(lu->dtype), lu->n, lu->n, lu->row_stride,
                        lu->col_stride};
}

/* Exchanges rows, in the order of the pivots or, backwards, in the opposite order. This is done for
 * a few columns at a time, which stay in the caches. */
static hs_status exchange_rows(const solver *s, const int32_t *pivots, int backwards,
                               const hs__matrix *b)
{
    enum { PAGE = 4096 };
    const int64_t wide = b->col_stride == 1 ? PAGE / b->element : 1;
    hs__run run = open_alone(s, hs__ceil_div(b->cols, wide));
    int64_t since = 0;
    for (int64_t j = 0; j < b->cols && !hs__cancelled(&run.cancel); j += wide) {
        const int64_t cols = hs__min(wide, b->cols - j);
        for (int64_t k = 0; k < b->rows; k++) {
            const int64_t i = backwards ? b->rows - 1 - k : k;
            if (pivots[i] != i)
                hs__swap_elements(b->element, cols, hs__at(b, i, j), hs__at(b, pivots[i], j),
                                  b->element);
        }
        hs__count_task(&run);
        since += cols * b->rows;
        if (since < BETWEEN_POLLS) continue;
        since = 0;
        hs__poll(&run);
    }
    return hs__check_cancel(&run.cancel);
}

hs_status hs_lu_solve(hs_pool *pool, const hs_factor *lu, int32_t transposed, int64_t cols, void *b,
                      int64_t b_row_stride, int64_t b_col_stride, hs_poll_function poll,
                      void *context)
{
    if (!pool || !is_factored(lu) || cols < 0 || cols > INT32_MAX ||
        (transposed != 0 && transposed != 1))
        return HS_ERROR_VALUE;
    const int64_t n = lu->n;
    if (n == 0 || cols == 0) return HS_OK;
    if (!b) return HS_ERROR_VALUE;
    solver s = {
        .pool = pool, .dtype = lu->dtype, .options = {.poll = poll, .poll_context = context}};
    const hs__matrix factors = factors_of(lu);
    const hs__matrix x = {b, factors.element, n, cols, b_row_stride, b_col_stride};
    const hs__matrix in_order = transposed ? hs__transposed(factors) : factors;
    const int shares = is_shared(n, cols);
    hs_status status = shares ? hs__pool_lock(pool, HS__TOGETHER, poll, context, &s.lease) : HS_OK;
    if (status) return status;
    if (!transposed) status = exchange_rows(&s, lu->pivots, 0, &x);
    if (!status) status = solve_triangle(&s, &in_order, 0, !transposed, &x);
    if (!status) status = solve_triangle(&s, &in_order, 1, transposed, &x);
    if (transposed && !status) status = exchange_rows(&s, lu->pivots, 1, &x);
    if (shares) hs__pool_unlock(s.lease);
    return status;
}

hs_status hs_lu_inverse(hs_pool *pool, const hs_factor *lu, void *inverse, int64_t row_stride,
                        int64_t col_stride, hs_poll_function poll, void *context)
{
    if (!pool || !is_factored(lu) || (lu->n && !inverse)) return HS_ERROR_VALUE;
    const int64_t n = lu->n;
    if (n == 0) return HS_OK;
    solver s = {
        .pool = pool, .dtype = lu->dtype, .options = {.poll = poll, .poll_context = context}};
    const hs__matrix factors = factors_of(lu);
    const hs__matrix x = {inverse, factors.element, n, n, row_stride, col_stride};
    const hs__matrix columns = hs__transposed(x);
    hs_status status = hs__pool_lock(pool, HS__TOGETHER, poll, context, &s.lease);
    if (status) return status;
    status = solve_by_tasks(&s, &(triangle){factors, 1}, &x, 1);
    if (!status) status = solve_triangle(&s, &factors, 1, 0, &x);
    if (!status) status = exchange_rows(&s, lu->pivots, 1, &columns);
    hs__pool_unlock(s.lease);
    return status;
}
