/* What a pool learns of its workers' speeds, against the arithmetic of its definition; and products
 * that teach the pool. */
#include "threads/drift.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"
#include "run_calls.h"

static int is_near(double x, double y) { return fabs(x - y) < 1e-12; }

static int are_near(const double *x, double a, double b, double c)
{
    return is_near(x[0], a) && is_near(x[1], b) && is_near(x[2], c);
}

static void learning(void)
{
    _Atomic double rate[3] = {0};
    double x[3];
    hs__drift drift = {.p = 3, .rate = rate};
    const double speeds[] = {2, 4, 0};

    hs__drift_learn(&drift, NULL, (double[]){5, 1, 5}, 1e-3); /* too short */
    hs__drift_learn(&drift, NULL, (double[]){0, 0, 0}, 1);    /* nothing was done */
    hs__drift_availability(&drift, speeds, x);
    CHECK(are_near(x, 1, 1, 1));
    hs__drift_speeds(&drift, speeds, x);
    CHECK(are_near(x, 2, 4, 0));

    /* The run has half the weight; the other half has the workers as they were said to be. */
    hs__drift_learn(&drift, NULL, (double[]){6, 3, 6}, 20e-3);
    hs__drift_availability(&drift, NULL, x);
    CHECK(are_near(x, 1, 0.75, 1));
    hs__drift_speeds(&drift, NULL, x);
    CHECK(are_near(x, 1, 0.75, 1));
    /* The same rates, for other speeds. A worker without speed stays out. */
    hs__drift_availability(&drift, speeds, x);
    CHECK(are_near(x, 1, 0.375, 1));
    hs__drift_speeds(&drift, speeds, x);
    CHECK(are_near(x, 2, 1.5, 0));

    /* All workers have the same speed again: the rate becomes 0.875, then 0.9375, which is within
     * the dead zone. */
    for (int i = 0; i < 2; i++) hs__drift_learn(&drift, NULL, (double[]){7, 7, 7}, 20e-3);
    hs__drift_availability(&drift, NULL, x);
    CHECK(are_near(x, 1, 0.9375, 1));
    hs__drift_speeds(&drift, NULL, x);
    CHECK(are_near(x, 1, 1, 1));

    /* Another worker leads: its rate is 1. A worker that does nothing keeps a thousandth. */
    for (int i = 0; i < 50; i++) hs__drift_learn(&drift, NULL, (double[]){1, 4, 0}, 1);
    CHECK(fabs(rate[0] - 0.25) < 1e-6 && rate[1] == 1 && rate[2] == 1e-3);
}

/* The first run counts from the speeds that the workers were said to have. Numbers without a
 * quotient do no harm. */
static void extremes(void)
{
    _Atomic double rate[2] = {0};
    double x[2];
    hs__drift drift = {.p = 2, .rate = rate};
    hs__drift_learn(&drift, (double[]){8, 2}, (double[]){1, 1}, 20e-3);
    CHECK(is_near(rate[0], 1) && is_near(rate[1], 0.625));
    for (int i = 0; i < 100; i++)
        hs__drift_learn(&drift, (double[]){1e-300, 1}, (double[]){1e9, 1}, 1);
    const double speeds[][2] = {{1e-300, 1}, {5e-324, 1}, {1e300, 5e-324}, {1, 0}, {0, 1}};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        hs__drift_availability(&drift, speeds[i], x);
        CHECK(x[0] >= 0 && x[0] <= 1 && x[1] >= 0 && x[1] <= 1);
        hs__drift_speeds(&drift, speeds[i], x);
        CHECK(isfinite(x[0]) && isfinite(x[1]) && x[0] + x[1] > 0);
    }
}

enum { N = 400 };

/* Shared runs teach the pool, runs by the boxes of a plan do not. The results are the same. */
static void products(hs_pool *pool, const hs_product *product)
{
    const double *c = product->c;
    double availability[2];
    const hs_box boxes[] = {
        {.worker = 0, .height = N / 4, .width = N, .length = N},
        {.worker = 1, .row = N / 4, .height = N - N / 4, .width = N, .length = N}};
    test_run apart = {.boxes.box = boxes, .boxes.count = 2};
    CHECK(run_product(pool, product, &apart) == HS_OK);
    hs_pool_availability(pool, NULL, availability);
    CHECK(availability[0] == 1 && availability[1] == 1);

    /* One worker is said to be far slower than it is. It takes over tiles of the other worker, and
     * this shows. */
    const double speeds[] = {1, 1e-6};
    double seen = 1;
    for (int round = 0; round < 200 && seen > 0.5; round++) {
        CHECK(hs_gemm(pool, product, speeds, NULL, NULL) == HS_OK);
        CHECK(c[0] == N && c[N * N - 1] == N);
        hs_pool_availability(pool, speeds, availability);
        CHECK(fmax(availability[0], availability[1]) == 1 &&
              fmin(availability[0], availability[1]) >= 0);
        seen = availability[0];
    }
    CHECK(seen < 0.5);
}

static int waste_time(void *context, double fraction)
{
    (void)fraction;
    for (double until = hs_clock() + 0.05; hs_clock() < until;) {}
    ++*(int *)context;
    return 0;
}

/* If the caller was busy with other things, the run says nothing about its worker's core. */
static void distracted(hs_pool *pool, const hs_product *product)
{
    const double speeds[] = {1, 1e-6};
    double availability[2];
    int calls = 0;
    hs_product deep = *product;
    deep.k = CHECK_MANY(50, 15) * (int64_t)N;
    /* the same elements again and again */
    deep.a_col_stride = deep.b_row_stride = 0;
    CHECK(hs_gemm(pool, &deep, speeds, waste_time, &calls) == HS_OK);
    hs_pool_availability(pool, speeds, availability);
    CHECK(calls == 0 || (availability[0] == 1 && availability[1] == 1));
}

int main(void)
{
    learning();
    extremes();
    double *x = malloc(sizeof(double) * N * N);
    double *c = malloc(sizeof(double) * N * N);
    for (int i = 0; x && i < N * N; i++) x[i] = 1;
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = N,
                                .n = N,
                                .k = N,
                                .a = x,
                                .a_row_stride = N,
                                .a_col_stride = 1,
                                .b = x,
                                .b_row_stride = N,
                                .b_col_stride = 1,
                                .c = c,
                                .c_row_stride = N,
                                .c_col_stride = 1,
                                .alpha = {1}};
    void (*const cases[])(hs_pool *, const hs_product *) = {products, distracted};
    for (int i = 0; i < 2; i++) {
        hs_pool *pool = NULL;
        if (!CHECK(x && c && hs_pool_create(2, NULL, &pool) == HS_OK)) break;
        cases[i](pool, &product);
        hs_pool_destroy(pool);
    }
    free(x);
    free(c);
    return check_result();
}
