/* What a pool learns of its workers, against the arithmetic of its definition; and products that teach it. */
#include "../exec/drift.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"

static int near(double x, double y) { return fabs(x - y) < 1e-12; }

static void learning(void)
{
    double availability[] = {1, 1, 1}, now[3];
    hs__drift drift = {3, availability};
    const double speeds[] = {2, 4, 0};

    hs__drift_learn(&drift, NULL, (double[]){5, 1, 5}, 1e-3); /* too short */
    CHECK(availability[0] == 1 && availability[1] == 1 && availability[2] == 1);
    hs__drift_learn(&drift, NULL, (double[]){0, 0, 0}, 1); /* nothing was done */
    CHECK(availability[0] == 1 && availability[1] == 1 && availability[2] == 1);

    hs__drift_learn(&drift, NULL, (double[]){6, 3, 6}, 20e-3); /* half the weight */
    CHECK(near(availability[0], 1) && near(availability[1], 0.75) && near(availability[2], 1));
    hs__drift_speeds(&drift, NULL, now);
    CHECK(near(now[0], 1) && near(now[1], 0.75) && near(now[2], 1));
    hs__drift_speeds(&drift, speeds, now);
    CHECK(near(now[0], 2) && near(now[1], 3) && now[2] == 0);

    /* As fast as said: 0.875 of the best, which becomes 1; the worker without a speed stays as it is. */
    hs__drift_learn(&drift, speeds, (double[]){10, 20, 0}, 20e-3);
    CHECK(near(availability[0], 1) && near(availability[1], 0.875) && near(availability[2], 1));
    hs__drift_learn(&drift, speeds, (double[]){10, 20, 0}, 20e-3); /* 0.9375: within the dead zone */
    hs__drift_speeds(&drift, speeds, now);
    CHECK(now[0] == 2 && now[1] == 4 && now[2] == 0);

    /* Who lags behind the others after having led: the best one has 1 again. */
    for (int i = 0; i < 50; i++) hs__drift_learn(&drift, NULL, (double[]){1, 4, 2}, 1);
    CHECK(fabs(availability[0] - 0.25) < 1e-6 && near(availability[1], 1) && fabs(availability[2] - 0.5) < 1e-6);
}

/* Shared runs teach, those by a plan's boxes do not; the results are the same. */
static void products(void)
{
    enum { N = 400 };
    double *x = malloc(sizeof(double) * N * N), *c = malloc(sizeof(double) * N * N), availability[2];
    hs_pool *pool = NULL;
    if (!CHECK(x && c && hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    hs_pool_availability(pool, availability);
    CHECK(availability[0] == 1 && availability[1] == 1);
    for (int i = 0; i < N * N; i++) x[i] = 1;
    const hs_product product = {.dtype = HS_FLOAT64, .m = N, .n = N, .k = N, .a = x, .a_row_stride = N, .a_col_stride = 1, .b = x,
                                .b_row_stride = N, .b_col_stride = 1, .c = c, .c_row_stride = N, .c_col_stride = 1, .alpha = {1}};
    const hs_box boxes[] = {{.worker = 0, .height = N / 4, .width = N, .length = N},
                            {.worker = 1, .row = N / 4, .height = N - N / 4, .width = N, .length = N}};
    hs_run apart = {.boxes = boxes, .box_count = 2};
    CHECK(hs_run_product(pool, &product, &apart) == HS_OK);
    hs_pool_availability(pool, availability);
    CHECK(availability[0] == 1 && availability[1] == 1);

    /* One of them is said to be far slower than it is: the others' tiles that it takes over show. */
    const double speeds[] = {1, 1e-6};
    double seen = 1;
    for (int round = 0; round < 200 && seen > 0.5; round++) {
        CHECK(hs_gemm(pool, &product, speeds, NULL, NULL) == HS_OK);
        CHECK(c[0] == N && c[N * N - 1] == N);
        hs_pool_availability(pool, availability);
        CHECK(fmax(availability[0], availability[1]) == 1 && fmin(availability[0], availability[1]) >= 0);
        seen = availability[0];
    }
    CHECK(seen < 0.5);
    free(x), free(c);
    hs_pool_destroy(pool);
}

int main(void)
{
    learning();
    products();
    return check_result();
}
