/* Stacks: products against sums element by element, factors and solutions multiplied back; all
 * types, layouts and instruction sets, zero steps, errors, cancels, failing allocations. */
#include <math.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "late.h"
#include "matrices.h"
#include "scarce.h"
#include "sets.h"

enum { ITEMS = 6 };
static const int64_t size[] = {2, 3};

/* A stack of matrices of one layout, one after the other in memory. */
typedef struct {
    matrix item;
    int64_t step;
} stacked;

static stacked make_stack(int dtype, int64_t rows, int64_t cols, int layout)
{
    stacked x;
    if (layout == 1) {
        x.item = make_matrix(dtype, rows, cols * ITEMS, layout);
        x.step = x.item.col_stride * cols;
    } else {
        x.item = make_matrix(dtype, rows * ITEMS, cols, layout);
        x.step = x.item.row_stride * rows;
    }
    return x;
}

static double complex element_at(const stacked *x, int dtype, int64_t item, int64_t i, int64_t j)
{
    return get(x->item.origin, dtype,
               item * x->step + i * x->item.row_stride + j * x->item.col_stride);
}

/* Returns the elements of one item, or of its transpose; the caller frees them. */
static double complex *dense_item(const stacked *x, int dtype, int64_t item, int64_t rows,
                                  int64_t cols, int turned)
{
    const char *origin = (const char *)x->item.origin + item * x->step * (int64_t)size_of[dtype];
    return dense_copy(origin, dtype, rows, cols, turned ? x->item.col_stride : x->item.row_stride,
                      turned ? x->item.row_stride : x->item.col_stride);
}

static void put_element(const stacked *x, int dtype, int64_t item, int64_t i, int64_t j,
                        double complex value)
{
    set(x->item.origin, dtype, item * x->step + i * x->item.row_stride + j * x->item.col_stride,
        value);
}

static hs_product product_of(int dtype, int64_t m, int64_t n, int64_t k, const stacked *a,
                             const stacked *b, const stacked *c)
{
    hs_product p = {.dtype = dtype,
                    .m = m,
                    .n = n,
                    .k = k,
                    .alpha = {1.0},
                    .a = a->item.origin,
                    .a_row_stride = a->item.row_stride,
                    .a_col_stride = a->item.col_stride,
                    .c = c->item.origin,
                    .c_row_stride = c->item.row_stride,
                    .c_col_stride = c->item.col_stride};
    if (b) {
        p.b = b->item.origin;
        p.b_row_stride = b->item.row_stride;
        p.b_col_stride = b->item.col_stride;
    }
    return p;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Checks alpha A B + beta C exactly. A shared A is the same for all items along the first
 * dimension. */
static void check_multiply(hs_pool *pool, int dtype, int64_t m, int64_t n, int64_t k,
                           const int layout[3], int shared, double complex alpha,
                           double complex beta)
{
    const stacked a = make_stack(dtype, m, k, layout[0]);
    const stacked b = make_stack(dtype, k, n, layout[1]);
    const stacked c = make_stack(dtype, m, n, layout[2]);
    void *before = malloc((size_t)c.item.elements * size_of[dtype]);
    memcpy(before, c.item.memory, (size_t)c.item.elements * size_of[dtype]);
    const stacked old = {
        {.memory = before,
         .row_stride = c.item.row_stride,
         .col_stride = c.item.col_stride,
         .origin = (char *)before + ((char *)c.item.origin - (char *)c.item.memory)},
        c.step};
    const int64_t a_steps[] = {shared ? 0 : 3 * a.step, a.step};
    const int64_t b_steps[] = {3 * b.step, b.step};
    const int64_t c_steps[] = {3 * c.step, c.step};
    hs_stack stack = {.operation = HS_STACK_MULTIPLY,
                      .rank = 2,
                      .size = size,
                      .a_steps = a_steps,
                      .b_steps = b_steps,
                      .c_steps = c_steps,
                      .item = product_of(dtype, m, n, k, &a, &b, &c)};
    stack.item.alpha[0] = creal(alpha);
    stack.item.alpha[1] = cimag(alpha);
    stack.item.beta[0] = creal(beta);
    stack.item.beta[1] = cimag(beta);
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_OK);
    int wrong = 0;
    for (int64_t item = 0; item < ITEMS; item++) {
        double complex *rows = dense_item(&a, dtype, shared ? item % 3 : item, m, k, 0);
        double complex *cols = dense_item(&b, dtype, item, n, k, 1);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const double complex sum = sum_of_products(k, rows + i * k, cols + j * k);
                const double complex wanted =
                    alpha * sum + (beta == 0 ? 0 : beta * element_at(&old, dtype, item, i, j));
                wrong += element_at(&c, dtype, item, i, j) != wanted;
            }
        free(rows);
        free(cols);
    }
    if (!CHECK(!wrong))
        fprintf(stderr, "  %d wrong: dtype %d, %d x %d x %d, layouts %d %d %d\n", wrong, dtype,
                (int)m, (int)n, (int)k, layout[0], layout[1], layout[2]);
    free(a.item.memory);
    free(b.item.memory);
    free(c.item.memory);
    free(before);
}

static void products(hs_pool *pool, int step)
{
    static const int64_t shapes[][3] = {
        {0, 3, 2}, {3, 0, 2}, {3, 2, 0},    {1, 1, 1},  {2, 2, 2},    {1, 9, 5},  {9, 1, 5},
        {3, 5, 7}, {8, 8, 8}, {16, 15, 17}, {7, 33, 9}, {33, 50, 31}, {5, 130, 3}};
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int way = 0; way < 12; way += step) {
                const int layout[] = {way % 4, (way / 2 + way / 4) % 4, (way / 3) % 4};
                const double complex alpha =
                    way % 3 == 1 ? (dtype >> 1 ? 2.0 - 1.0 * I : 2.0) : 1.0;
                const double complex beta = way % 4 == 3 ? (dtype >> 1 ? 1.0 * I : -1.0) : 0.0;
                check_multiply(pool, dtype, shapes[s][0], shapes[s][1], shapes[s][2], layout,
                               way == 5, alpha, beta);
            }
    const int rows[] = {0, 0, 0};
    /* more than one piece of the inner dimension, and of the rows */
    for (int dtype = 0; dtype < 4; dtype++) {
        check_multiply(pool, dtype, 3, 19, 600, rows, 0, 1.0, 0.0);
        check_multiply(pool, dtype, 600, 9, 260, rows, 0, 1.0, 0.0);
        check_multiply(pool, dtype, 3, 4, 5, rows, 0, 0.0, 2.0);
    }
}

/* ---- systems --------------------------------------------------------------------------------- */

static double magnitude_of(double complex x) { return fabs(creal(x)) + fabs(cimag(x)); }

static double epsilon_of(int dtype) { return dtype & 1 ? 0x1p-52 : 0x1p-23; }

/* Makes a square matrix far from singular, with its large elements off the diagonal, so that rows
 * must be exchanged. Column `zero`, if any, is zero. */
static void fill_square(const stacked *a, int dtype, int64_t n, int64_t item, int64_t zero)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex x = small_integer(dtype) / 3.0;
            if ((i + 1 + item) % n == j) x += 4.0 + (double)n;
            put_element(a, dtype, item, i, j, j == zero ? 0.0 : x);
        }
}

/* Returns the largest difference of A X and B (of the unit matrix if B is NULL), per epsilon and
 * size. */
static double residual_of(int dtype, int64_t n, int64_t cols, const stacked *a, const stacked *b,
                          const stacked *x, int64_t item)
{
    double worst = 0.0;
    double complex *left = dense_item(a, dtype, item, n, n, 0);
    double complex *right = dense_item(x, dtype, item, cols, n, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < cols; j++) {
            const double complex sum = sum_of_products(n, left + i * n, right + j * n) -
                                       (b ? element_at(b, dtype, item, i, j) : i == j);
            double scale = 1.0;
            for (int64_t l = 0; l < n; l++)
                scale += magnitude_of(left[i * n + l]) * magnitude_of(right[j * n + l]);
            const double miss = magnitude_of(sum) / (scale * epsilon_of(dtype) * (double)(n + 1));
            if (!(miss <= worst)) worst = miss;
        }
    free(left);
    free(right);
    return worst;
}

static void systems(hs_pool *pool, int dtype, int64_t n, int64_t cols, int layout)
{
    const stacked a = make_stack(dtype, n, n, layout);
    const stacked b = make_stack(dtype, n, cols, (layout + 1) % 4);
    const stacked x = make_stack(dtype, n, cols, layout % 2);
    const stacked inverse = make_stack(dtype, n, n, layout);
    const int64_t singular = n > 1 ? 4 : -1;
    int64_t info[ITEMS];
    for (int64_t item = 0; item < ITEMS; item++)
        fill_square(&a, dtype, n, item, item == singular ? n / 2 : -1);
    const int64_t count = ITEMS;
    const int64_t a_step = a.step;
    const int64_t b_step = b.step;
    const int64_t x_step = x.step;
    const int64_t inverse_step = inverse.step;
    hs_stack stack = {.operation = HS_STACK_SOLVE,
                      .rank = 1,
                      .size = &count,
                      .a_steps = &a_step,
                      .b_steps = &b_step,
                      .c_steps = &x_step,
                      .item = product_of(dtype, n, cols, n, &a, &b, &x),
                      .info = info};
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_OK);
    for (int64_t item = 0; item < ITEMS; item++) {
        CHECK(info[item] == (item == singular ? n / 2 : -1));
        if (item != singular) CHECK(residual_of(dtype, n, cols, &a, &b, &x, item) < 4.0);
        else if (n && cols) CHECK(isnan(creal(element_at(&x, dtype, item, 0, 0))));
    }
    stack.operation = HS_STACK_INVERT;
    stack.b_steps = NULL;
    stack.c_steps = &inverse_step;
    stack.item = product_of(dtype, n, n, n, &a, NULL, &inverse);
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_OK);
    for (int64_t item = 0; item < ITEMS; item++)
        if (item != singular) CHECK(residual_of(dtype, n, n, &a, NULL, &inverse, item) < 4.0);
    free(a.item.memory);
    free(b.item.memory);
    free(x.item.memory);
    free(inverse.item.memory);
}

/* Checks P A = L U, with every element of L at most 1 (of complex types in the measure
 * |re| + |im|). */
static void factors(hs_pool *pool, int dtype, int64_t n, int layout)
{
    const stacked a = make_stack(dtype, n, n, layout);
    const stacked lu = make_stack(dtype, n, n, (layout + 1) % 4);
    int32_t *pivots = malloc((size_t)(ITEMS * n + 1) * sizeof *pivots);
    int64_t info[ITEMS];
    for (int64_t item = 0; item < ITEMS; item++)
        fill_square(&a, dtype, n, item, item == 2 ? 0 : -1);
    const int64_t count = ITEMS;
    const int64_t a_step = a.step;
    const int64_t lu_step = lu.step;
    const hs_stack stack = {.operation = HS_STACK_LU,
                            .rank = 1,
                            .size = &count,
                            .a_steps = &a_step,
                            .c_steps = &lu_step,
                            .item = product_of(dtype, n, n, n, &a, NULL, &lu),
                            .pivots = pivots,
                            .info = info};
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_OK);
    for (int64_t item = 0; item < ITEMS; item++) {
        CHECK(info[item] == (item == 2 && n ? 0 : -1));
        int64_t row[300];
        double worst = 0.0;
        for (int64_t i = 0; i < n; i++) row[i] = i;
        for (int64_t i = 0; i < n; i++) {
            const int64_t other = pivots[item * n + i];
            const int64_t kept = row[i];
            if (!CHECK(other >= i && other < n)) return;
            row[i] = row[other];
            row[other] = kept;
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double complex sum = -element_at(&a, dtype, item, row[i], j);
                double scale = 1.0;
                for (int64_t l = 0; l <= hs__min(i, j); l++) {
                    const double complex left = l == i ? 1.0 : element_at(&lu, dtype, item, i, l);
                    const double complex right = element_at(&lu, dtype, item, l, j);
                    sum += left * right;
                    scale += magnitude_of(left) * magnitude_of(right);
                }
                worst =
                    fmax(worst, magnitude_of(sum) / (scale * epsilon_of(dtype) * (double)(n + 1)));
                if (j < i) CHECK(cabs(element_at(&lu, dtype, item, i, j)) < 1.5);
            }
        CHECK(worst < 4.0);
    }
    free(a.item.memory);
    free(lu.item.memory);
    free(pivots);
}

/* Checks L L^H = A for a matrix with an upper triangle that is not read. Item 3 fails at row
 * n - 1. */
static void cholesky(hs_pool *pool, int dtype, int64_t n, int layout)
{
    const stacked a = make_stack(dtype, n, n, layout);
    const stacked l = make_stack(dtype, n, n, (layout + 1) % 4);
    int64_t info[ITEMS];
    for (int64_t item = 0; item < ITEMS; item++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double complex x = NAN; /* not read */
                if (j < i) x = small_integer(dtype) / 4.0;
                if (i == j) x = 2.0 * (double)n + 1.0;
                if (i == j && item == 3 && i == n - 1) x = -1.0;
                put_element(&a, dtype, item, i, j, x);
                put_element(&l, dtype, item, i, j, 7.0);
            }
    const int64_t count = ITEMS;
    const int64_t a_step = a.step;
    const int64_t l_step = l.step;
    const hs_stack stack = {.operation = HS_STACK_CHOLESKY,
                            .rank = 1,
                            .size = &count,
                            .a_steps = &a_step,
                            .c_steps = &l_step,
                            .item = product_of(dtype, n, n, n, &a, NULL, &l),
                            .info = info};
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_OK);
    for (int64_t item = 0; item < ITEMS; item++) {
        CHECK(info[item] == (item == 3 ? n : 0));
        double worst = 0.0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                if (j > i) {
                    CHECK(element_at(&l, dtype, item, i, j) == 7.0);
                    continue;
                }
                double complex sum = -element_at(&a, dtype, item, i, j);
                for (int64_t q = 0; q <= j; q++)
                    sum +=
                        element_at(&l, dtype, item, i, q) * conj(element_at(&l, dtype, item, j, q));
                if (item == 3) CHECK(isnan(creal(element_at(&l, dtype, item, i, j))));
                else
                    worst =
                        fmax(worst, magnitude_of(sum) / (epsilon_of(dtype) * (double)(2 * n + 1)));
            }
        CHECK(worst < 8.0);
    }
    free(a.item.memory);
    free(l.item.memory);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int end_it(void *context, double fraction)
{
    return ++*(int *)context > 0 && fraction >= 0.0;
}

/* Long enough for a poll. The items of C lie in only four places, which is allowed with one
 * worker. */
static void cancelling(hs_pool *alone)
{
    enum { N = 220, MANY = 4000 };
    const int64_t sizes[] = {MANY / 4, 4};
    const int64_t a_steps[] = {0, 0};
    const int64_t c_steps[] = {0, N * N};
    double *a = calloc((size_t)N * N, sizeof *a);
    double *c = calloc((size_t)N * N * 4, sizeof *c);
    int64_t *info = malloc(MANY * sizeof *info);
    int turns = 0;
    for (int i = 0; i < N; i++) a[i * N + i] = 1.0;
    const hs_stack stack = {.operation = HS_STACK_INVERT,
                            .rank = 2,
                            .size = sizes,
                            .a_steps = a_steps,
                            .c_steps = c_steps,
                            .item = {.dtype = HS_FLOAT64,
                                     .m = N,
                                     .n = N,
                                     .k = N,
                                     .a = a,
                                     .a_row_stride = N,
                                     .a_col_stride = 1,
                                     .c = c,
                                     .c_row_stride = N,
                                     .c_col_stride = 1},
                            .info = info};
    const hs_options options = {.poll = end_it, .poll_context = &turns};
    CHECK(hs_run_stack(alone, &stack, NULL, &options, NULL) == HS_ERROR_CANCELLED);
    CHECK(turns == 1);
    free(a);
    free(c);
    free(info);
}

static void refused(hs_pool *pool)
{
    double a[4] = {1, 0, 0, 1};
    double c[4] = {7, 7, 7, 7};
    double pace[] = {1, 1, 1};
    double bad[] = {-1, 1, 1};
    int64_t info = 5;
    int64_t below = -1;
    int64_t huge[] = {INT64_MAX, 3};
    int64_t steps[] = {0, 0};
    int32_t pivots[2];
    const hs_stack good = {.operation = HS_STACK_LU,
                           .item = {.dtype = HS_FLOAT64,
                                    .m = 2,
                                    .n = 2,
                                    .k = 2,
                                    .a = a,
                                    .a_row_stride = 2,
                                    .a_col_stride = 1,
                                    .c = c,
                                    .c_row_stride = 2,
                                    .c_col_stride = 1},
                           .pivots = pivots,
                           .info = &info};
#define REFUSED(CHANGE)                                                        \
    do {                                                                       \
        hs_stack stack = good;                                                 \
        CHANGE;                                                                \
        CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_ERROR_VALUE); \
    } while (0)
    REFUSED(stack.operation = 5);
    REFUSED(stack.operation = -1);
    REFUSED(stack.item.dtype = 4);
    REFUSED(stack.item.m = -1);
    REFUSED(stack.item.n = 3);
    REFUSED(stack.item.k = 3);
    REFUSED(stack.item.b = a);
    REFUSED(stack.item.a = NULL);
    REFUSED(stack.item.c = NULL);
    REFUSED(stack.pivots = NULL);
    REFUSED(stack.info = NULL);
    REFUSED(stack.rank = -1);
    REFUSED(stack.rank = 1);
    REFUSED((stack.rank = 1, stack.size = &below, stack.a_steps = stack.c_steps = steps));
    REFUSED((stack.rank = 2, stack.size = huge, stack.a_steps = stack.c_steps = steps));
    REFUSED((stack.operation = HS_STACK_SOLVE));
    CHECK(hs_run_stack(pool, &good, bad, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_stack(pool, &good, NULL, &(hs_options){.pace = pace}, NULL) == HS_ERROR_VALUE);
    CHECK(c[0] == 7 && info == 5);
    CHECK(hs_run_stack(pool, &good, NULL, NULL, NULL) == HS_OK && c[0] == 1 && info == -1);
    hs_stack large = good;
    large.item.m = large.item.n = large.item.k = INT32_MAX; /* 2^65 bytes */
    CHECK(hs_run_stack(pool, &large, NULL, NULL, NULL) == HS_ERROR_MEMORY);
    const int64_t none[] = {3, 0};
    hs_stack empty = {.operation = HS_STACK_MULTIPLY,
                      .rank = 2,
                      .size = none,
                      .a_steps = none,
                      .b_steps = none,
                      .c_steps = none,
                      .item = {.m = 2, .n = 2, .k = 2}};
    CHECK(hs_run_stack(pool, &empty, NULL, NULL, NULL) == HS_OK);
}

/* The bits are the same whichever worker computes; the trace has events. */
static void whoever(hs_pool *pool, hs_pool *alone)
{
    enum { N = 37, MANY = 300 };
    const size_t bytes = (size_t)MANY * N * N * sizeof(double);
    double *a = malloc(bytes);
    double *b = malloc(bytes);
    double *x = malloc(bytes);
    double *y = malloc(bytes);
    int64_t info[MANY];
    for (int i = 0; i < MANY * N * N; i++) {
        a[i] = check_random(1000) / 999.0;
        b[i] = check_random(1000) / 999.0;
    }
    const int64_t count = MANY;
    const int64_t step = N * N;
    hs_event events[MANY];
    double finish[3];
    hs_trace trace = {.events = events, .event_capacity = MANY, .times = {.finish = finish}};
    hs_stack stack = {.operation = HS_STACK_SOLVE,
                      .rank = 1,
                      .size = &count,
                      .a_steps = &step,
                      .b_steps = &step,
                      .c_steps = &step,
                      .item = {.dtype = HS_FLOAT64,
                               .m = N,
                               .n = N,
                               .k = N,
                               .a = a,
                               .a_row_stride = N,
                               .a_col_stride = 1,
                               .b = b,
                               .b_row_stride = N,
                               .b_col_stride = 1,
                               .c = x,
                               .c_row_stride = N,
                               .c_col_stride = 1},
                      .info = info};
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, &trace) == HS_OK);
    CHECK(trace.event_count > 0 && events[0].kind == HS_COMPUTE && events[0].box >= 0 &&
          events[0].box < MANY);
    stack.item.c = y;
    CHECK(hs_run_stack(alone, &stack, NULL, NULL, NULL) == HS_OK);
    CHECK(!memcmp(x, y, bytes));
    memcpy(y, a, bytes); /* in place of A */
    stack.item.a = stack.item.c = y;
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_OK);
    CHECK(!memcmp(x, y, bytes));
    free(a);
    free(b);
    free(x);
    free(y);
}

/* So many small products that they are written past the caches: the same bits as for parts that are
 * not, and nothing is written before and behind them. */
static void streamed(hs_pool *pool, hs_pool *alone, int dtype, int by_columns)
{
    enum { M = 5, N = 9, K = 2, PARTS = 3, BEFORE = 3 };
    const size_t bytes = size_of[dtype];
    const int64_t count = (17 << 20) / (int64_t)(M * N * bytes);
    const int64_t a_step = M * K;
    const int64_t b_step = K * N;
    const int64_t c_step = M * N;
    const int64_t part = count / PARTS;
    const size_t all = (size_t)(count * M * N + 2 * BEFORE) * bytes;
    char *a = malloc((size_t)(count * a_step) * bytes);
    char *b = malloc((size_t)(count * b_step) * bytes);
    char *c = malloc(all);
    char *d = malloc(all);
    if (!CHECK(a && b && c && d)) return;
    for (int64_t i = 0; i < count * a_step; i++) set(a, dtype, i, small_integer(dtype) / 3.0);
    for (int64_t i = 0; i < count * b_step; i++) set(b, dtype, i, small_integer(dtype) / 7.0);
    memset(c, 1, all);
    memset(d, 1, all);
    hs_stack stack = {.operation = HS_STACK_MULTIPLY,
                      .rank = 1,
                      .size = &count,
                      .a_steps = &a_step,
                      .b_steps = &b_step,
                      .c_steps = &c_step,
                      .item = {.dtype = dtype,
                               .m = M,
                               .n = N,
                               .k = K,
                               .alpha = {1.0},
                               .a = a,
                               .b = b,
                               .c = c + BEFORE * bytes,
                               .a_row_stride = K,
                               .a_col_stride = 1,
                               .b_row_stride = by_columns ? 1 : N,
                               .b_col_stride = by_columns ? K : 1,
                               .c_row_stride = by_columns ? 1 : N,
                               .c_col_stride = by_columns ? M : 1}};
    CHECK(hs_run_stack(pool, &stack, NULL, NULL, NULL) == HS_OK);
    for (int64_t first = 0; first < count; first += part) {
        const int64_t some = hs__min(part, count - first);
        stack.size = &some;
        stack.item.a = a + (size_t)(first * a_step) * bytes;
        stack.item.b = b + (size_t)(first * b_step) * bytes;
        stack.item.c = d + (size_t)(first * c_step + BEFORE) * bytes;
        CHECK(hs_run_stack(alone, &stack, NULL, NULL, NULL) == HS_OK);
    }
    CHECK(!memcmp(c, d, all));
    free(a);
    free(b);
    free(c);
    free(d);
}

static hs_status run_scarce(hs_pool *pool, void *context)
{
    double a[9] = {4, 1, 1, 1, 4, 1, 1, 1, 4};
    double c[9];
    int64_t info = 5;
    (void)context;
    for (int i = 0; i < 9; i++) c[i] = 7.0;
    const hs_stack stack = {.operation = HS_STACK_INVERT,
                            .item = {.dtype = HS_FLOAT64,
                                     .m = 3,
                                     .n = 3,
                                     .k = 3,
                                     .a = a,
                                     .a_row_stride = 3,
                                     .a_col_stride = 1,
                                     .c = c,
                                     .c_row_stride = 3,
                                     .c_col_stride = 1},
                            .info = &info};
    const hs_status status = hs_run_stack(pool, &stack, NULL, NULL, NULL);
    CHECK(status ? c[0] == 7.0 && info == 5 : c[0] > 0.0 && info == -1);
    return status;
}

int main(void)
{
    static const int64_t orders[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 65, 97};
    hs_pool *pool = NULL;
    hs_pool *alone = NULL;
    if (!CHECK(hs_pool_create(3, NULL, &pool) == HS_OK) ||
        !CHECK(hs_pool_create(1, NULL, &alone) == HS_OK))
        return check_result();
    for (sets = CHECK_MANY(LEAST_SET, 2); sets < 3; sets++) {
        hs_pool *const who = sets == 2 ? pool : alone;
        products(who, sets == 2 ? CHECK_MANY(1, 5) : 5);
        for (int dtype = 0; dtype < 4; dtype++)
            for (size_t i = 0; i < sizeof orders / sizeof *orders;
                 i += sets == 2 ? CHECK_MANY(1, 5) : 2) {
                const int64_t n = orders[i];
                const int layout = (int)i % 4;
                systems(who, dtype, n, n % 3 ? 1 + n % 7 : n, layout);
                factors(who, dtype, n, layout);
                cholesky(who, dtype, n ? n : 1, layout);
            }
    }
    sets = 2;
    refused(pool);
    ALSO_LATE(whoever(pool, alone));
    for (int dtype = CHECK_MANY(0, 1); dtype < CHECK_MANY(4, 3); dtype++)
        streamed(pool, alone, dtype, dtype % 2);
    cancelling(alone);
    CHECK_SCARCE(scarce_life(2, run_scarce, NULL), 1);
    hs_pool_destroy(pool);
    hs_pool_destroy(alone);
    return check_result();
}
