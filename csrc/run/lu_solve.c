/* Systems with a factored matrix: recursive triangular solves, whose products run on the pool. */
#include "run/matrix.h"
#include "run/product.h"

/* The lower triangle of t. An upper one is this with all indices reversed. */
typedef struct {
    hs__matrix t;
    int unit; /* ones on the diagonal */
} triangle;

enum { LEAF = 48, FEW = 6 }; /* rows solved one by one; right-hand sides that are too few for a packed product */

/* Complex numbers are multiplied and divided as Fortran does (CMakeLists.txt): quotients by Smith's method, no search for infinities. */
#define NAME(x) float_##x
#define TYPE float
#include "run/solve_template.h"

#define NAME(x) double_##x
#define TYPE double
#include "run/solve_template.h"

#define NAME(x) complex_float_##x
#define TYPE float _Complex
#include "run/solve_template.h"

#define NAME(x) complex_double_##x
#define TYPE double _Complex
#include "run/solve_template.h"

/* What to do for each hs_dtype. */
static const struct {
    void (*substitute)(const triangle *a, const hs__matrix *b);
    void (*subtract_column)(const hs_product *p, int64_t j);
} of_type[] = {{float_substitute, float_subtract_column},
               {double_substitute, double_subtract_column},
               {complex_float_substitute, complex_float_subtract_column},
               {complex_double_substitute, complex_double_subtract_column}};

typedef struct {
    hs_pool *pool;
    int32_t dtype;
    hs_options options;
} solver;

/* y <- y - A x where there is no memory to pack the operands. */
static hs_status multiply_without_memory(const solver *s, const hs_product *p)
{
    hs__run run = hs__run_of(NULL, s->pool, &s->options, NULL);
    run.total = p->n, run.last_poll = hs_clock();
    for (int64_t j = 0; j < p->n && !hs__cancelled(&run.cancel); j++) {
        of_type[s->dtype].subtract_column(p, j);
        hs__count_task(&run);
        hs__poll(&run);
    }
    return hs__cancelled(&run.cancel) ? HS_ERROR_CANCELLED : HS_OK;
}

static hs_status solve(const solver *s, const triangle *a, const hs__matrix *b)
{
    const int64_t n = a->t.rows, half = n / 2, left = n - half;
    if (n <= LEAF || b->cols < FEW) {
        of_type[s->dtype].substitute(a, b);
        return HS_OK;
    }
    const triangle first = {hs__part(&a->t, 0, 0, half, half), a->unit}, last = {hs__part(&a->t, half, half, left, left), a->unit};
    const hs__matrix corner = hs__part(&a->t, half, 0, left, half);
    const hs__matrix above = hs__part(b, 0, 0, half, b->cols), below = hs__part(b, half, 0, left, b->cols);
    hs_status status = solve(s, &first, &above);
    if (status) return status;
    hs_product product = hs__product_of(s->dtype, &corner, &above, &below);
    product.alpha[0] = -1.0, product.beta[0] = 1.0;
    status = hs__gemm_held(s->pool, &product, NULL, &s->options);
    if (status == HS_ERROR_MEMORY) status = multiply_without_memory(s, &product);
    return status ? status : solve(s, &last, &below);
}

/* With its rows from the last one on. */
static hs__matrix reversed(hs__matrix x)
{
    x.data = hs__at(&x, x.rows - 1, 0);
    x.row_stride = -x.row_stride;
    return x;
}

/* With rows and columns from the last ones on. */
static hs__matrix turned(hs__matrix x) { return hs__transposed(reversed(hs__transposed(reversed(x)))); }

/* The exchanges of rows, in their order or, transposed, in the opposite one. */
static void permute(const int32_t *pivots, int transposed, const hs__matrix *b)
{
    for (int64_t j = 0; j < b->cols; j++)
        for (int64_t k = 0; k < b->rows; k++) {
            const int64_t i = transposed ? b->rows - 1 - k : k;
            if (pivots[i] != i) hs__swap(b->element, 1, hs__at(b, i, j), hs__at(b, pivots[i], j), 0);
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
    const solver s = {pool, lu->dtype, {.poll = poll, .poll_context = context}};
    const ptrdiff_t element = hs__element_bytes(lu->dtype);
    const hs__matrix factors = {lu->lu, element, n, n, lu->lu_row_stride, lu->lu_col_stride}, x = {b, element, n, cols, b_row_stride, b_col_stride};
    const hs__matrix in_order = transposed ? hs__transposed(factors) : factors, backwards = reversed(x);
    const triangle first = {in_order, !transposed}, second = {turned(in_order), transposed};
    const int shares = n > LEAF && cols >= FEW; /* the pool is asked for before b is changed: it may refuse, or wait be cancelled */
    hs_status status = shares ? hs__pool_lock(pool, poll, context) : HS_OK;
    if (status) return status;
    if (!transposed) permute(lu->pivots, transposed, &x);
    status = solve(&s, &first, &x);
    if (!status) status = solve(&s, &second, &backwards);
    if (transposed && !status) permute(lu->pivots, transposed, &x);
    if (shares) hs__pool_unlock(pool);
    return status;
}
