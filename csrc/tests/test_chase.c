/* The chase of a Hermitian band matrix: Q T Q^H is the matrix, Q is unitary, the eigenvalues of
 * known matrices; the same bits from all pools, with and without Q, for each instruction set; NaN
 * and infinities end; cancels. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "elements.h"
#include "late.h"
#include "sets.h"
#include "spectral/chase.h"

static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

enum { WORKERS = 4 };

/* Returns the larger number, or NaN if there is one. */
static double larger(double x, double y) { return isnan(x) || isnan(y) ? NAN : fmax(x, y); }

/* A band matrix, its chase, and Q as a matrix. */
typedef struct {
    int dtype;
    int64_t n;
    hs__chase chase;
    hs__chased kept;
    char *first, *q;
    size_t band_bytes, real;
    int32_t times;
} problem;

static double any_part(void) { return ((int)check_random(2001) - 1000) / 1000.0; }

/* Fills in the band. kind 0: any numbers; 1: graded; 2: the identity, without any elements to
 * remove; 3: elements below the range of squares; 4: many zeros; 5: subdiagonal elements above the
 * range of squares. */
static void fill_band(problem *x, int kind)
{
    const int64_t ld = x->chase.band_ld;
    const double edge = x->real == 4 ? 1e-30 : 1e-250, large = x->real == 4 ? 1e25 : 1e200;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = j; i < x->n && i <= j + x->chase.width; i++) {
            double complex value = any_part();
            if (x->dtype >> 1 && i > j) value += any_part() * I;
            if (kind == 1) value *= pow(2.0, -(double)(i + j) / 8);
            if (kind == 2) value = i == j;
            if (kind == 3) value *= check_random(2) ? edge : edge * 1e-5;
            if (kind == 4 && check_random(4)) value = 0;
            if (kind == 5 && i == j + 1) value *= large;
            set(x->first, x->dtype, (i - j) + j * ld, value);
        }
}

static problem make_problem(int dtype, int64_t n, int64_t width, int kind)
{
    const size_t e = size_of[dtype];
    problem x = {.dtype = dtype, .n = n, .real = dtype & 1 ? 8 : 4, .times = 1};
    const int64_t ld = 2 * width + 1 + check_random(3), places = hs__chased_places(n, width) + 1;
    x.kept = (hs__chased){
        .dtype = dtype, .n = n, .width = width, .sweeps = n > 1 ? n - 1 : 0, .places = places};
    x.kept.v = calloc((size_t)(n * places * width + 1), e);
    x.kept.tau = calloc((size_t)(n * places + 1), e);
    x.kept.work = aligned_alloc(64, (hs__chased_bytes(&x.kept, n) + 127) / 64 * 64);
    x.band_bytes = (size_t)(n * ld + 1) * e;
    x.first = calloc(x.band_bytes, 1);
    x.chase = (hs__chase){.dtype = dtype, .n = n, .width = width, .band_ld = ld};
    x.chase.band = malloc(x.band_bytes);
    x.chase.d = calloc((size_t)n + 1, 8);
    x.chase.e = calloc((size_t)n + 1, 8);
    x.chase.work = aligned_alloc(64, (hs__chase_bytes(&x.chase) + 127) / 64 * 64);
    x.q = calloc((size_t)(n * n + 1), e);
    fill_band(&x, kind);
    return x;
}

static void free_problem(problem *x)
{
    void *const all[] = {x->kept.v,  x->kept.tau, x->kept.work,  x->first, x->chase.band,
                         x->chase.d, x->chase.e,  x->chase.work, x->q};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void chase(void *context, hs__walk *walk)
{
    problem *x = context;
    for (int32_t i = 0; i < x->times; i++) {
        if (hs__hermitian_chase(walk, &x->chase)) return;
        if (x->chase.kept && hs__chased_apply(walk, &x->kept, 0, x->q, x->n, x->n)) return;
    }
}

static hs_status run_problem(hs_pool *pool, problem *x, int with_q, const hs_options *options)
{
    const size_t one = hs__chase_scratch(&x->chase), two = hs__chased_scratch(&x->kept);
    x->chase.kept = with_q ? &x->kept : NULL;
    memcpy(x->chase.band, x->first, x->band_bytes);
    memset(x->q, 0, (size_t)(x->n * x->n) * size_of[x->dtype]);
    for (int64_t i = 0; i < x->n; i++) set(x->q, x->dtype, i * (x->n + 1), 1);
    return hs__phases_run(pool, options, NULL, HS__SHARED, one > two ? one : two, chase, x);
}

static double real_at(const problem *x, const void *from, int64_t i)
{
    return creal(get(from, x->real == 8 ? HS_FLOAT64 : HS_FLOAT32, i));
}

CHECK_ORACLE double complex band_at(const problem *x, int64_t i, int64_t j)
{
    if (i < j) return conj(band_at(x, j, i));
    if (i - j > x->chase.width) return 0;
    return get(x->first, x->dtype, (i - j) + j * x->chase.band_ld);
}

/* Checks B Q = Q T and Q^H Q = I. */
CHECK_ORACLE void check_decomposition(const problem *x)
{
    const int64_t n = x->n;
    double complex *q = malloc((size_t)(n * n + 1) * sizeof *q);
    double largest = 0, off = 0, residual = 0;
    for (int64_t i = 0; i < n * n; i++) q[i] = get(x->q, x->dtype, i);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) largest = larger(largest, cabs(band_at(x, i, j)));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double complex dot = -(i == j), sum = -q[i + j * n] * real_at(x, x->chase.d, j);
            for (int64_t l = 0; l < n; l++) dot += conj(q[l + i * n]) * q[l + j * n];
            const int64_t from = i > x->chase.width ? i - x->chase.width : 0;
            for (int64_t l = from; l < n && l <= i + x->chase.width; l++)
                sum += band_at(x, i, l) * q[l + j * n];
            if (j > 0) sum -= q[i + (j - 1) * n] * real_at(x, x->chase.e, j - 1);
            if (j + 1 < n) sum -= q[i + (j + 1) * n] * real_at(x, x->chase.e, j);
            off = larger(off, cabs(dot));
            residual = larger(residual, cabs(sum));
        }
    CHECK(off <= 10 * eps[x->dtype] * sqrt((double)n + 1));
    CHECK(residual <= 10 * eps[x->dtype] * sqrt((double)n + 1) * largest);
    free(q);
}

static void check_chase(hs_pool *const *pools, int dtype, int64_t n, int64_t width, int kind)
{
    problem x = make_problem(dtype, n, width, kind);
    if (!CHECK(run_problem(pools[0], &x, 1, NULL) == HS_OK)) return;
    check_decomposition(&x);
    char *d = malloc((size_t)n * 8 + 1), *e = malloc((size_t)n * 8 + 1);
    char *q = malloc((size_t)(n * n) * size_of[dtype] + 1);
    memcpy(d, x.chase.d, (size_t)n * 8);
    memcpy(e, x.chase.e, (size_t)n * 8);
    memcpy(q, x.q, (size_t)(n * n) * size_of[dtype]);
    for (int32_t p = 0; p < WORKERS; p++)
        for (int with_q = 0; with_q < 2; with_q++) {
            CHECK(run_problem(pools[p], &x, with_q, NULL) == HS_OK);
            CHECK(memcmp(d, x.chase.d, (size_t)n * 8) == 0);
            CHECK(memcmp(e, x.chase.e, (size_t)n * 8) == 0);
            CHECK(!with_q || memcmp(q, x.q, (size_t)(n * n) * size_of[dtype]) == 0);
        }
    free(d);
    free(e);
    free(q);
    free_problem(&x);
}

static void check_chases(hs_pool *const *pools)
{
    static const int64_t orders[] = {0, 1, 2, 3, 15, 16, 17, 18, 31, 33, 35, 70, 131};
    for (int dtype = 0; dtype < 4; dtype++) {
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            if (check_few() && sets < 2 && orders[i] > 35) continue;
            check_chase(pools, dtype, orders[i], 16 * (1 + check_random(2)), (int)i % 6);
        }
        for (int kind = 1; kind < (check_few() && sets < 2 ? 2 : 6); kind++)
            check_chase(pools, dtype, 50, 16, kind);
        for (int64_t width = 16; width <= HS__WIDTH_MOST; width += CHECK_MANY(16, 48))
            check_chase(pools, dtype, CHECK_MANY(2 * width + 3, width + 20), width, 0);
    }
}

/* Long enough for pipelines of several groups. */
static void check_late(hs_pool *const *pools)
{
    check_chase(pools, HS_FLOAT64, CHECK_MANY(400, 150), 16, 0);
    check_chase(pools, HS_COMPLEX64, CHECK_MANY(200, 100), 16, 0);
}

/* The second difference matrix has the eigenvalues 2 - 2 cos(k pi / (n + 1)). Its square has width
 * 2. Its trace and the sum of squares of its elements survive. */
static void check_invariants(hs_pool *pool)
{
    problem x = make_problem(HS_FLOAT64, 90, 16, 2);
    double trace = 0, square = 0;
    for (int64_t j = 0; j < x.n; j++)
        for (int64_t i = j; i < x.n && i <= j + 2; i++) {
            double value = (const double[]){6, -4, 1}[i - j];
            if (i == j && (j == 0 || j == x.n - 1)) value = 5;
            set(x.first, x.dtype, (i - j) + j * x.chase.band_ld, value);
        }
    for (int64_t k = 1; k <= x.n; k++) {
        const double value = pow(2 - 2 * cos((double)k * M_PI / (double)(x.n + 1)), 2);
        trace += value;
        square += value * value;
    }
    CHECK(run_problem(pool, &x, 0, NULL) == HS_OK);
    for (int64_t i = 0; i < x.n; i++) {
        trace -= real_at(&x, x.chase.d, i);
        square -= pow(real_at(&x, x.chase.d, i), 2);
        if (i + 1 < x.n) square -= 2 * pow(real_at(&x, x.chase.e, i), 2);
    }
    CHECK(fabs(trace) < 1e-10 && fabs(square) < 1e-9);
    free_problem(&x);
}

/* Scaling by a power of two scales T and changes nothing else. */
static void check_scaling(hs_pool *pool)
{
    for (int dtype = 0; dtype < 4; dtype++) {
        problem x = make_problem(dtype, 75, 16, 0);
        double d[75];
        CHECK(run_problem(pool, &x, 1, NULL) == HS_OK);
        for (int64_t i = 0; i < x.n; i++) d[i] = real_at(&x, x.chase.d, i);
        for (int64_t i = 0; i < x.n * x.chase.band_ld; i++)
            set(x.first, dtype, i, 1024 * get(x.first, dtype, i));
        CHECK(run_problem(pool, &x, 1, NULL) == HS_OK);
        for (int64_t i = 0; i < x.n; i++) CHECK(1024 * d[i] == real_at(&x, x.chase.d, i));
        free_problem(&x);
    }
}

static void check_not_finite(hs_pool *pool)
{
    for (int dtype = 0; dtype < 4; dtype++)
        for (int k = 0; k < 3; k++) {
            problem x = make_problem(dtype, 60, 16, 0);
            set(x.first, dtype, 1 + 7 * x.chase.band_ld,
                (const double[]){NAN, INFINITY, DBL_MAX}[k]);
            CHECK(run_problem(pool, &x, 1, NULL) == HS_OK);
            free_problem(&x);
        }
}

static int refuse_at_once(void *context, double done)
{
    (void)context;
    (void)done;
    return 1;
}

static void check_cancel(hs_pool *pool)
{
    problem x = make_problem(HS_FLOAT64, 300, 16, 0);
    const hs_options options = {.poll = refuse_at_once};
    x.times = 1000000;
    CHECK(run_problem(pool, &x, 0, &options) == HS_ERROR_CANCELLED);
    free_problem(&x);
}

int main(void)
{
    hs_pool *pools[WORKERS] = {NULL};
    int created = 1;
    for (int32_t p = 0; p < WORKERS; p++)
        created &= CHECK(hs_pool_create(p + 1, NULL, &pools[p]) == HS_OK);
    if (created) {
        WITH_EACH_SET(check_chases(pools));
        ALSO_LATE(check_late(pools));
        check_invariants(pools[1]);
        check_scaling(pools[2]);
        check_not_finite(pools[1]);
        check_cancel(pools[0]);
        check_cancel(pools[WORKERS - 1]);
    }
    for (int32_t p = 0; p < WORKERS; p++) hs_pool_destroy(pools[p]);
    return check_result();
}
