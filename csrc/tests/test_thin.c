/* Products with a side of at most a few elements through hs_gemm, against sums element by element
 * in all types, layouts and instruction sets; the same bits with any workers; cancels, failing
 * allocations. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "late.h"
#include "matrices.h"
#include "product/thin.h"
#include "scarce.h"
#include "sets.h"

/* Checks a product; returns whether it was a thin one. */
static int check_multiply(hs_pool *pool, int dtype, int64_t m, int64_t n, int64_t k,
                          const int layout[3], double complex alpha, double complex beta)
{
    matrix a = make_matrix(dtype, m, k, layout[0]);
    matrix b = make_matrix(dtype, k, n, layout[1]);
    matrix c = make_matrix(dtype, m, n, layout[2]);
    double complex *old = malloc((size_t)(m * n + 1) * sizeof *old);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            old[i * n + j] = get(c.origin, dtype, i * c.row_stride + j * c.col_stride);
    const hs_product p = {.dtype = dtype,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a = a.origin,
                          .a_row_stride = a.row_stride,
                          .a_col_stride = a.col_stride,
                          .b = b.origin,
                          .b_row_stride = b.row_stride,
                          .b_col_stride = b.col_stride,
                          .c = c.origin,
                          .c_row_stride = c.row_stride,
                          .c_col_stride = c.col_stride,
                          .alpha = {creal(alpha), cimag(alpha)},
                          .beta = {creal(beta), cimag(beta)}};
    CHECK(hs_gemm(pool, &p, NULL, NULL, NULL) == HS_OK);
    int wrong = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += get(a.origin, dtype, i * a.row_stride + l * a.col_stride) *
                       get(b.origin, dtype, l * b.row_stride + j * b.col_stride);
            wrong += get(c.origin, dtype, i * c.row_stride + j * c.col_stride) !=
                     alpha * sum + (beta == 0 ? 0 : beta * old[i * n + j]);
        }
    if (!CHECK(!wrong))
        fprintf(stderr, "  %d wrong: dtype %d, %d x %d x %d, layouts %d %d %d\n", wrong, dtype,
                (int)m, (int)n, (int)k, layout[0], layout[1], layout[2]);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    free(old);
    return hs__is_thin(&p);
}

static void shapes(hs_pool *pool, int step)
{
    static const int64_t all[][3] = {{1, 1, 1},    {1, 1, 700},  {2, 3, 1300}, {8, 8, 600},
                                     {100, 1, 33}, {1, 100, 33}, {65, 8, 17},  {8, 65, 300},
                                     {7, 3, 1},    {257, 5, 64}, {3, 300, 31}, {700, 4, 2},
                                     {9, 2, 530},  {20, 2, 9000}};
    int thin = 0;
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t s = 0; s < sizeof all / sizeof *all; s++)
            for (int way = 0; way < 8; way += step) {
                const int layout[] = {way % 4, way / 2, (way + way / 4) % 4};
                const double complex alpha =
                    way % 3 == 1 ? (dtype >> 1 ? 2.0 - 1.0 * I : 2.0) : 1.0;
                const double complex beta = way % 4 == 3 ? (dtype >> 1 ? 1.0 * I : -1.0) : 0.0;
                thin += check_multiply(pool, dtype, all[s][0], all[s][1], all[s][2], layout, alpha,
                                       beta);
            }
    CHECK(thin > 100 / step);
    const int rows[] = {0, 0, 0};
    CHECK(!check_multiply(pool, HS_FLOAT64, 9, 9, 9, rows, 1.0, 0.0) &&
          !check_multiply(pool, HS_COMPLEX128, 30, 5, 30, rows, 1.0, 0.0));
    CHECK(!check_multiply(pool, HS_FLOAT64, 3, 3, 0, rows, 1.0, 2.0));
}

/* The sums have one order, whichever worker adds; a traced run gives the same bits. */
static void whoever(hs_pool *pool, hs_pool *alone, int64_t m, int64_t n, int64_t k)
{
    double *a = malloc((size_t)(m * k) * sizeof *a);
    double *b = malloc((size_t)(k * n) * sizeof *b);
    double *c[3];
    for (int i = 0; i < 3; i++) c[i] = malloc((size_t)(m * n) * sizeof(double));
    for (int64_t i = 0; i < m * k; i++) a[i] = check_random(1000) / 999.0;
    for (int64_t i = 0; i < k * n; i++) b[i] = check_random(1000) / 999.0;
    hs_product p;
    hs_product_default(&p, HS_FLOAT64, m, n, k, a, b, c[0]);
    CHECK(hs__is_thin(&p) && hs_gemm(pool, &p, NULL, NULL, NULL) == HS_OK);
    p.c = c[1];
    CHECK(hs_gemm(alone, &p, NULL, NULL, NULL) == HS_OK);
    p.c = c[2];
    hs_event events[64];
    hs_trace trace = {.events = events, .event_capacity = 64};
    const hs_box whole = {.height = m, .width = n, .length = k};
    CHECK(hs_run_product(pool, &p, &(hs_boxes){.box = &whole, .count = 1, .cooperative = 1}, NULL,
                         &trace) == HS_OK);
    CHECK(trace.event_count > 0 && events[0].box == 0);
    CHECK(!memcmp(c[0], c[1], (size_t)(m * n) * sizeof(double)) &&
          !memcmp(c[0], c[2], (size_t)(m * n) * sizeof(double)));
    free(a);
    free(b);
    for (int i = 0; i < 3; i++) free(c[i]);
}

static int end_it(void *context, double fraction)
{
    return ++*(int *)context > 0 && fraction >= 0.0;
}

/* All rows of A are the same row: 16 GiB are read, but hardly any memory is used. */
static void cancelling(hs_pool *pool)
{
    enum { K = 4096, M = 1 << 19 };
    double *a = calloc(K, sizeof *a);
    double *c = calloc(M, sizeof *c);
    hs_product p;
    hs_product_default(&p, HS_FLOAT64, M, 1, K, a, a, c);
    p.a_row_stride = 0;
    int turns = 0;
    CHECK(hs_gemm(pool, &p, NULL, end_it, &turns) == HS_ERROR_CANCELLED && turns == 1);
    free(a);
    free(c);
}

static hs_status run_scarce(hs_pool *pool, void *shape)
{
    const int64_t *s = shape;
    static double a[4000], c[1000];
    for (int i = 0; i < 4000; i++) a[i] = 1.0;
    for (int i = 0; i < 1000; i++) c[i] = 7.0;
    hs_product p;
    hs_product_default(&p, HS_FLOAT64, s[0], s[1], s[2], a, a, c);
    const hs_status status = hs_gemm(pool, &p, NULL, NULL, NULL);
    CHECK(c[0] == (status ? 7.0 : (double)s[2]));
    return status;
}

int main(void)
{
    hs_pool *pool = NULL;
    hs_pool *alone = NULL;
    if (!CHECK(hs_pool_create(3, NULL, &pool) == HS_OK) ||
        !CHECK(hs_pool_create(1, NULL, &alone) == HS_OK))
        return check_result();
    for (sets = CHECK_MANY(LEAST_SET, 2); sets < 3; sets++)
        shapes(sets == 2 ? pool : alone, sets == 2 ? CHECK_MANY(1, 3) : 3);
    ALSO_LATE((whoever(pool, alone, 3000, 1, 400), whoever(pool, alone, 1, 3000, 400),
               whoever(pool, alone, 2, 3, 20000)));
    cancelling(pool);
    int64_t tall[] = {1000, 1, 3};
    int64_t deep[] = {1, 1, 4000};
    CHECK_SCARCE(scarce_life(2, run_scarce, tall), 1);
    CHECK_SCARCE(scarce_life(2, run_scarce, deep), 1);
    hs_pool_destroy(pool);
    hs_pool_destroy(alone);
    return check_result();
}
