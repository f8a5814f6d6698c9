/* Measurements on pools of all kinds: what they say they did; refusals, a cancel, failing
 * allocations. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 3, CAPACITY = 5 };

static double times[P * CAPACITY], elapsed[P], busy[P];
static int32_t count[P], batch[P];

static hs_measurement make_measurement(int32_t kernel, int32_t dtype, int64_t size, int32_t worker)
{
    memset(times, 0, sizeof times);
    return (hs_measurement){.kernel = kernel,
                            .dtype = dtype,
                            .size = size,
                            .worker = worker,
                            .seconds = 1e-4,
                            .capacity = CAPACITY,
                            .least = 2,
                            .times = times,
                            .count = count,
                            .batch = batch,
                            .elapsed = elapsed,
                            .busy = busy,
                            .flops = -1};
}

static void measures(hs_pool *pool, size_t step)
{
    static const int64_t sizes[] = {1, 2, 7, 16, 33, 64, 100};
    for (int32_t kernel = HS_MEASURE_GEMM; kernel <= HS_MEASURE_TRSM; kernel++)
        for (int32_t dtype = HS_FLOAT32; dtype <= HS_COMPLEX128; dtype++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s += step) {
                const int32_t worker = (int32_t)check_random(P + 1) - 1;
                const double n = (double)sizes[s];
                const double half = dtype >> 1 ? 4 : 1;
                hs_measurement what = make_measurement(kernel, dtype, sizes[s], worker);
                if (!CHECK(hs_measure_kernel(pool, &what, NULL, NULL) == HS_OK)) return;
                const double w = (double)what.width;
                CHECK(kernel == HS_MEASURE_GEMM ? what.width == 0 : what.width > 0);
                CHECK(kernel != HS_MEASURE_PANEL || what.width <= sizes[s]);
                CHECK(kernel != HS_MEASURE_GEMM || what.flops == 2 * half * n * n * n);
                CHECK(kernel != HS_MEASURE_PANEL ||
                      fabs(what.flops - half * w * w * (n - w / 3)) < 1e-9 * what.flops);
                CHECK(kernel != HS_MEASURE_TRSM || what.flops == half * w * w * n);
                for (int32_t i = 0; i < P; i++) {
                    const int works = worker < 0 || worker == i;
                    if (works) {
                        CHECK(count[i] >= 2 && count[i] <= CAPACITY && batch[i] >= 1);
                        CHECK(elapsed[i] > 0 && busy[i] > 0);
                    } else {
                        CHECK(count[i] == 0 && batch[i] == 0);
                        CHECK(elapsed[i] == 0 && busy[i] == 0);
                    }
                    double sum = 0;
                    for (int32_t j = 0; j < CAPACITY; j++) {
                        CHECK(j < count[i] ? times[i * CAPACITY + j] > 0
                                           : times[i * CAPACITY + j] == 0);
                        sum += times[i * CAPACITY + j] * batch[i];
                    }
                    CHECK(sum <= 1.01 * elapsed[i] + 1e-4 && busy[i] <= 1.01 * elapsed[i] + 1e-3);
                }
            }
}

/* Products with other sides than their depth. */
static void measures_other_sides(hs_pool *pool)
{
    static const int64_t sides[][3] = {{1, 70, 5}, {33, 2, 64}, {100, 7, 1}, {5, 0, 9}, {0, 6, 8}};
    for (int32_t dtype = HS_FLOAT32; dtype <= HS_COMPLEX128; dtype++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
            const int64_t rows = sides[s][0];
            const int64_t cols = sides[s][1];
            const int64_t depth = sides[s][2];
            hs_measurement what = make_measurement(HS_MEASURE_GEMM, dtype, depth, -1);
            what.rows = rows;
            what.cols = cols;
            if (!CHECK(hs_measure_kernel(pool, &what, NULL, NULL) == HS_OK)) return;
            const int64_t area = (rows ? rows : depth) * (cols ? cols : depth);
            CHECK(what.flops == (dtype >> 1 ? 8.0 : 2.0) * (double)(area * depth));
            for (int32_t i = 0; i < P; i++) CHECK(count[i] >= 2 && times[i * CAPACITY] > 0);
        }
}

static int cancel_now(void *context, double fraction)
{
    CHECK(fraction == 0.0);
    ++*(int *)context;
    return 1;
}

static void refusals(hs_pool *pool)
{
    hs_measurement what = make_measurement(HS_MEASURE_GEMM, HS_FLOAT64, 10, 0);
    hs_measurement wrong;
    CHECK(hs_measure_kernel(NULL, &what, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_measure_kernel(pool, NULL, NULL, NULL) == HS_ERROR_VALUE);
#define REFUSED(field, value)             \
    (wrong = what, wrong.field = (value), \
     CHECK(hs_measure_kernel(pool, &wrong, NULL, NULL) == HS_ERROR_VALUE))
    REFUSED(kernel, -1);
    REFUSED(kernel, 3);
    REFUSED(dtype, -1);
    REFUSED(dtype, 4);
    REFUSED(size, 0);
    REFUSED(size, (1 << 15) + 1);
    REFUSED(rows, -1);
    REFUSED(rows, (1 << 15) + 1);
    REFUSED(cols, -1);
    REFUSED(cols, (1 << 15) + 1);
    REFUSED(worker, -2);
    REFUSED(worker, P);
    REFUSED(seconds, -1);
    REFUSED(seconds, NAN);
    REFUSED(seconds, INFINITY);
    REFUSED(capacity, 0);
    REFUSED(least, 0);
    REFUSED(least, CAPACITY + 1);
    REFUSED(times, NULL);
    REFUSED(count, NULL);
    REFUSED(batch, NULL);
    REFUSED(elapsed, NULL);
    REFUSED(busy, NULL);
    what.kernel = HS_MEASURE_TRSM;
    REFUSED(rows, 1);
    REFUSED(cols, 1);
    REFUSED(size, (1 << 20) + 1);
    CHECK(what.flops == -1);
}

static hs_status measure_scanty(hs_pool *pool, void *context)
{
    return hs_measure_kernel(pool, context, NULL, NULL);
}

static void scarce(void)
{
    for (int32_t kernel = HS_MEASURE_GEMM; kernel <= HS_MEASURE_TRSM; kernel++)
        for (int32_t worker = -1; worker < 2; worker += 2) {
            hs_measurement what = make_measurement(kernel, HS_FLOAT64, 40, worker);
            CHECK_SCARCE(scarce_life(P, measure_scanty, &what), 1);
            CHECK(count[1] >= 2 && (worker < 0) == (count[0] > 0));
        }
}

int main(void)
{
    /* the last core does not exist: its worker is not pinned */
    const int32_t cores[P] = {0, 1, 4000};
    int32_t pinned[P];
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(P, NULL, &pool) == HS_OK)) return check_result();
    hs_pool_pinned(pool, pinned);
    CHECK(!pinned[0] && !pinned[1] && !pinned[2]);
    refusals(pool);
    measures(pool, 1);
    measures_other_sides(pool);

    int polls = 0;
    static double many[P * 4096];
    hs_measurement what = make_measurement(HS_MEASURE_GEMM, HS_FLOAT64, 600, -1);
    what.seconds = 1000;
    what.times = many;
    /* lasts longer than the time to the first poll */
    what.capacity = 4096;
    CHECK(hs_measure_kernel(pool, &what, cancel_now, &polls) == HS_ERROR_CANCELLED);
    CHECK(polls == 1);
    /* the pool still works */
    what = make_measurement(HS_MEASURE_GEMM, HS_FLOAT64, 20, 1);
    CHECK(hs_measure_kernel(pool, &what, NULL, NULL) == HS_OK && count[1] >= 2);
    hs_pool_destroy(pool);

    CHECK(hs_pool_create(P, cores, &pool) == HS_OK);
    hs_pool_pinned(pool, pinned);
    CHECK(!pinned[2]);
    measures(pool, CHECK_MANY(1, 3));
    hs_pool_destroy(pool);
    scarce();
    return check_result();
}
