/* Systems with a factored matrix: recursive triangular solves, whose products run on the pool. */
#include "run/gang.h"
#include "run/product.h"
#include "threads/pool.h"

#include <complex.h> /* last, for it makes a word of "complex" */

/* The lower triangle of t, strides in elements. An upper one is this with all indices reversed. */
typedef struct {
    int64_t n;
    const char *t;
    int64_t row_stride, col_stride;
    int unit; /* ones on the diagonal */
} triangle;

typedef struct {
    char *x;
    int64_t cols, row_stride, col_stride;
} sides;

enum { LEAF = 48, FEW = 6 }; /* rows solved one by one; right-hand sides that are too few for a packed product */

/* x <- T^-1 x, one right-hand side after the other; along columns of T or along its rows, whichever lie together. */
#define REAL_SOLVE(REAL)                                                                                                   \
    static void axpy_##REAL(int64_t n, REAL a, const REAL *x, int64_t x_stride, REAL *y, int64_t y_stride)                 \
    {                                                                                                                      \
        if (x_stride == -1 && y_stride == -1) x -= n - 1, y -= n - 1, x_stride = y_stride = 1;                             \
        if (x_stride == 1 && y_stride == 1)                                                                                \
            for (int64_t i = 0; i < n; i++) y[i] -= a * x[i];                                                              \
        else                                                                                                               \
            for (int64_t i = 0; i < n; i++) y[i * y_stride] -= a * x[i * x_stride];                                        \
    }                                                                                                                      \
    static REAL dot_##REAL(int64_t n, const REAL *x, int64_t x_stride, const REAL *y, int64_t y_stride)                    \
    {                                                                                                                      \
        if (x_stride == -1 && y_stride == -1) x -= n - 1, y -= n - 1, x_stride = y_stride = 1;                             \
        REAL sum[8] = {0};                                                                                                 \
        int64_t i = 0;                                                                                                     \
        if (x_stride == 1 && y_stride == 1)                                                                                \
            for (; i + 8 <= n; i += 8)                                                                                     \
                for (int k = 0; k < 8; k++) sum[k] += x[i + k] * y[i + k];                                                 \
        for (; i < n; i++) sum[0] += x[i * x_stride] * y[i * y_stride];                                                    \
        return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));                          \
    }                                                                                                                      \
    static void leaf_##REAL(const triangle *a, const sides *b)                                                             \
    {                                                                                                                      \
        const REAL *t = (const REAL *)a->t;                                                                                \
        const int64_t rs = a->row_stride, cs = a->col_stride, s = b->row_stride;                                           \
        const int by_rows = cs == 1 || cs == -1;                                                                           \
        for (int64_t j = 0; j < b->cols; j++) {                                                                            \
            REAL *x = (REAL *)b->x + j * b->col_stride;                                                                    \
            for (int64_t i = 0; i < a->n; i++) {                                                                           \
                if (by_rows && i) x[i * s] -= dot_##REAL(i, t + i * rs, cs, x, s);                                         \
                if (!a->unit) x[i * s] /= t[i * (rs + cs)];                                                                \
                if (!by_rows && i + 1 < a->n) axpy_##REAL(a->n - 1 - i, x[i * s], t + (i + 1) * rs + i * cs, rs, x + (i + 1) * s, s); \
            }                                                                                                              \
        }                                                                                                                  \
    }
#define COMPLEX_SOLVE(REAL)                                                                                                \
    static void divide_##REAL(REAL *x, const REAL *by)                                                                     \
    {                                                                                                                      \
        const REAL re = by[0] < 0 ? -by[0] : by[0], im = by[1] < 0 ? -by[1] : by[1], a = x[0], b = x[1];                   \
        if (re >= im) { /* Smith */                                                                                        \
            const REAL ratio = by[1] / by[0], divisor = by[0] + by[1] * ratio;                                             \
            x[0] = (a + b * ratio) / divisor, x[1] = (b - a * ratio) / divisor;                                            \
        } else {                                                                                                           \
            const REAL ratio = by[0] / by[1], divisor = by[1] + by[0] * ratio;                                             \
            x[0] = (a * ratio + b) / divisor, x[1] = (b * ratio - a) / divisor;                                            \
        }                                                                                                                  \
    }                                                                                                                      \
    static void complex_leaf_##REAL(const triangle *a, const sides *b)                                                     \
    {                                                                                                                      \
        const REAL *t = (const REAL *)a->t;                                                                                \
        const int64_t rs = 2 * a->row_stride, cs = 2 * a->col_stride, s = 2 * b->row_stride;                               \
        for (int64_t j = 0; j < b->cols; j++) {                                                                            \
            REAL *x = (REAL *)b->x + 2 * j * b->col_stride;                                                                \
            for (int64_t l = 0; l < a->n; l++) {                                                                           \
                if (!a->unit) divide_##REAL(x + l * s, t + l * (rs + cs));                                                 \
                const REAL re = x[l * s], im = x[l * s + 1];                                                               \
                for (int64_t i = l + 1; i < a->n; i++) {                                                                   \
                    const REAL *f = t + i * rs + l * cs;                                                                   \
                    x[i * s] -= f[0] * re - f[1] * im, x[i * s + 1] -= f[0] * im + f[1] * re;                              \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }
REAL_SOLVE(float)
REAL_SOLVE(double)
COMPLEX_SOLVE(float)
COMPLEX_SOLVE(double)

typedef struct {
    hs_pool *pool;
    int32_t dtype;
    ptrdiff_t element;
    hs_options options;
} solver;

/* y -= A x for a column of the product's B and C: what a product does where there is no memory to pack its operands. */
#define MULTIPLY_COLUMN(NAME, TYPE)                                                                                        \
    static void NAME(const hs_product *p, int64_t j)                                                                       \
    {                                                                                                                      \
        const TYPE *a = p->a, *x = (const TYPE *)p->b + j * p->b_col_stride;                                               \
        TYPE *y = (TYPE *)p->c + j * p->c_col_stride;                                                                      \
        for (int64_t l = 0; l < p->k; l++)                                                                                 \
            for (int64_t i = 0; i < p->m; i++)                                                                             \
                y[i * p->c_row_stride] -= a[i * p->a_row_stride + l * p->a_col_stride] * x[l * p->b_row_stride];           \
    }
MULTIPLY_COLUMN(column_float, float)
MULTIPLY_COLUMN(column_double, double)
MULTIPLY_COLUMN(column_complex_float, float complex)
MULTIPLY_COLUMN(column_complex_double, double complex)

static hs_status multiply_without_memory(const solver *s, const hs_product *p)
{
    static void (*const column[])(const hs_product *, int64_t) = {column_float, column_double, column_complex_float, column_complex_double};
    double last = hs_clock();
    for (int64_t j = 0; j < p->n; j++) {
        column[s->dtype](p, j);
        if (!s->options.poll || hs_clock() - last < 0.05) continue;
        if (s->options.poll(s->options.poll_context, 0.0)) return HS_ERROR_CANCELLED;
        last = hs_clock();
    }
    return HS_OK;
}

static hs_status solve(const solver *s, triangle a, sides b)
{
    if (a.n <= LEAF || b.cols < FEW) {
        static void (*const leaf[])(const triangle *, const sides *) = {leaf_float, leaf_double, complex_leaf_float, complex_leaf_double};
        leaf[s->dtype](&a, &b);
        return HS_OK;
    }
    const int64_t half = a.n / 2;
    triangle top = a, bottom = a;
    top.n = half, bottom.n = a.n - half;
    bottom.t += s->element * half * (a.row_stride + a.col_stride);
    sides below = b;
    below.x += s->element * half * b.row_stride;
    hs_status status = solve(s, top, b);
    if (status) return status;
    const hs_product product = {.dtype = s->dtype, .m = bottom.n, .n = b.cols, .k = half, .a = a.t + s->element * half * a.row_stride,
                                .a_row_stride = a.row_stride, .a_col_stride = a.col_stride, .b = b.x, .b_row_stride = b.row_stride,
                                .b_col_stride = b.col_stride, .c = below.x, .c_row_stride = b.row_stride, .c_col_stride = b.col_stride,
                                .alpha = {-1.0}, .beta = {1.0}};
    status = hs__gemm_held(s->pool, &product, NULL, &s->options);
    if (status == HS_ERROR_MEMORY) status = multiply_without_memory(s, &product);
    return status ? status : solve(s, bottom, below);
}

static triangle reversed(triangle a, ptrdiff_t element)
{
    a.t += element * (a.n - 1) * (a.row_stride + a.col_stride);
    a.row_stride = -a.row_stride, a.col_stride = -a.col_stride;
    return a;
}

static sides reversed_sides(sides b, int64_t n, ptrdiff_t element)
{
    b.x += element * (n - 1) * b.row_stride;
    b.row_stride = -b.row_stride;
    return b;
}

static void swap_bytes(char *x, char *y, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        const char kept = x[i];
        x[i] = y[i], y[i] = kept;
    }
}

/* The exchanges of rows, in their order or, transposed, in the opposite one. */
static void permute(const hs_lu *lu, int transposed, const solver *s, const sides *b)
{
    for (int64_t j = 0; j < b->cols; j++)
        for (int64_t k = 0; k < lu->n; k++) {
            const int64_t i = transposed ? lu->n - 1 - k : k;
            char *column = b->x + s->element * j * b->col_stride;
            if (lu->pivots[i] != i) swap_bytes(column + s->element * i * b->row_stride, column + s->element * lu->pivots[i] * b->row_stride, s->element);
        }
}

hs_status hs_lu_solve(hs_pool *pool, const hs_lu *lu, int32_t transposed, int64_t cols, void *b, int64_t b_row_stride, int64_t b_col_stride,
                      hs_poll_function poll, void *context)
{
    if (!pool || !lu || lu->dtype < 0 || lu->dtype > 3 || lu->m != lu->n || lu->n < 0 || cols < 0) return HS_ERROR_VALUE;
    if (transposed != 0 && transposed != 1) return HS_ERROR_VALUE;
    const int64_t n = lu->n;
    if (n == 0 || cols == 0) return HS_OK;
    if (!lu->lu || !lu->pivots || !b) return HS_ERROR_VALUE;
    for (int64_t i = 0; i < n; i++)
        if (lu->pivots[i] < 0 || lu->pivots[i] >= n) return HS_ERROR_VALUE;
    const solver s = {pool, lu->dtype, (ptrdiff_t)hs__element_bytes(lu->dtype), {.poll = poll, .poll_context = context}};
    const triangle lower = {n, lu->lu, lu->lu_row_stride, lu->lu_col_stride, 1}, upper = {n, lu->lu, lu->lu_row_stride, lu->lu_col_stride, 0};
    const triangle lower_transposed = {n, lu->lu, lu->lu_col_stride, lu->lu_row_stride, 1};
    const triangle upper_transposed = {n, lu->lu, lu->lu_col_stride, lu->lu_row_stride, 0};
    const sides x = {b, cols, b_row_stride, b_col_stride}, backwards = reversed_sides(x, n, s.element);
    const int shares = n > LEAF && cols >= FEW; /* the pool is asked for before b is changed: it may refuse, or wait be cancelled */
    hs_status status = shares ? hs__pool_lock(pool, poll, context) : HS_OK;
    if (status) return status;
    if (transposed) status = solve(&s, upper_transposed, x);
    if (transposed && !status) status = solve(&s, reversed(lower_transposed, s.element), backwards);
    if (!status) permute(lu, transposed, &s, &x);
    if (!transposed) status = solve(&s, lower, x);
    if (!transposed && !status) status = solve(&s, reversed(upper, s.element), backwards);
    if (shares) hs__pool_unlock(pool);
    return status;
}
