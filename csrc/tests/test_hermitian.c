/* The reduction of a Hermitian matrix to a band matrix: Q1 B Q1^H is the matrix, Q1 is unitary; the
 * same bits from all pools, for each instruction set, and by each plan; the upper triangle does not
 * count; NaN and infinities end; cancels. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "elements.h"
#include "late.h"
#include "sets.h"
#include "spectral/hermitian.h"
#include "spectral/slice.h"

static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

enum { WORKERS = 4 };

/* Returns the larger number, or NaN if there is one. */
static double larger(double x, double y) { return isnan(x) || isnan(y) ? NAN : fmax(x, y); }

/* first: the matrix before the reduction. q: Q1, columns q_ld apart. */
typedef struct {
    hs__hermitian reduced;
    char *first, *q;
    int64_t q_ld;
    size_t bytes, band_bytes, q_bytes;
    int32_t times;
} problem;

static double any_part(void) { return ((int)check_random(2001) - 1000) / 1000.0; }

/* Fills in the lower triangle; what must not be read is NaN. kind 0: any numbers; 1: graded; 2:
 * diagonal; 3: tiny; 4: low rank. */
static void fill_matrix(problem *x, int kind)
{
    const hs__hermitian *h = &x->reduced;
    const double tiny = h->dtype & 1 ? 1e-290 : 1e-35;
    for (int64_t j = 0; j < h->n; j++)
        for (int64_t i = 0; i < h->ld; i++) {
            double parts[2] = {any_part(), 0};
            double complex value;
            if (h->dtype >> 1) parts[1] = i == j ? NAN : any_part();
            memcpy(&value, parts, sizeof value);
            if (kind == 1) value *= pow(2.0, -(double)(i + j) / 8);
            if (kind == 2 && i != j) value = 0;
            if (kind == 3) value *= tiny;
            if (kind == 4) value = cos((double)i) * cos((double)j);
            if (i < j || i >= h->n) value = NAN;
            set(x->first, h->dtype, i + j * h->ld, value);
        }
}

/* With a plan, the phases of one run must have their own times. */
enum { BLOCKS_MOST = 32 };
static int32_t owner[BLOCKS_MOST];
static _Atomic double latest[2 * BLOCKS_MOST + 1];
static const hs__hermitian_plan plan = {.owner = owner, .latest = latest};

static problem make_problem(int dtype, int64_t n, int64_t width, int kind,
                            const hs__hermitian_plan *by)
{
    const size_t e = size_of[dtype];
    problem x = {.q_ld = n + check_random(3), .times = 1};
    hs__hermitian *h = &x.reduced;
    *h = (hs__hermitian){.dtype = dtype,
                         .n = n,
                         .width = width,
                         .ld = n + check_random(3),
                         .band_ld = 2 * width + 1 + check_random(3),
                         .plan = by};
    x.bytes = (size_t)(h->ld * n + 1) * e;
    x.band_bytes = (size_t)(h->band_ld * n + 1) * e;
    x.q_bytes = (size_t)(x.q_ld * n + 1) * e;
    x.first = malloc(x.bytes);
    x.q = malloc(x.q_bytes);
    h->a = malloc(x.bytes);
    h->band = malloc(x.band_bytes);
    h->t = malloc((size_t)(hs__hermitian_panels(n, width) * width * width + 1) * e);
    h->work = aligned_alloc(64, (hs__hermitian_bytes(h) + 127) / 64 * 64);
    fill_matrix(&x, kind);
    return x;
}

static void free_problem(problem *x)
{
    free(x->first);
    free(x->q);
    free(x->reduced.a);
    free(x->reduced.band);
    free(x->reduced.t);
    free(x->reduced.work);
}

static void reduce(void *context, hs__walk *walk)
{
    problem *x = context;
    for (int32_t i = 0; i < x->times; i++) {
        if (hs__hermitian_to_band(walk, &x->reduced)) return;
        if (hs__hermitian_back(walk, &x->reduced, x->q, x->q_ld, x->reduced.n)) return;
    }
}

static hs_status run_problem(hs_pool *pool, problem *x, const hs_options *options)
{
    const hs__hermitian *h = &x->reduced;
    memcpy(h->a, x->first, x->bytes);
    memset(h->band, 0xff, x->band_bytes);
    memset(h->work, 0xff, hs__hermitian_bytes(h));
    for (int64_t j = 0; j < h->n; j++)
        for (int64_t i = 0; i < x->q_ld; i++) set(x->q, h->dtype, i + j * x->q_ld, i == j);
    const hs__manner manner = h->plan ? HS__EACH : HS__SHARED;
    return hs__phases_run(pool, options, NULL, manner, hs__hermitian_scratch(h), reduce, x);
}

CHECK_ORACLE double complex matrix_at(const problem *x, int64_t i, int64_t j)
{
    if (i < j) return conj(matrix_at(x, j, i));
    const double complex value = get(x->first, x->reduced.dtype, i + j * x->reduced.ld);
    return i == j ? creal(value) : value;
}

CHECK_ORACLE double complex band_at(const problem *x, int64_t i, int64_t j)
{
    if (i < j) return conj(band_at(x, j, i));
    return get(x->reduced.band, x->reduced.dtype, (i - j) + j * x->reduced.band_ld);
}

/* Checks A Q = Q B and Q^H Q = I, and that the band is as the chase needs it. */
CHECK_ORACLE void check_decomposition(const problem *x)
{
    const hs__hermitian *h = &x->reduced;
    const int64_t n = h->n;
    double complex *q = malloc((size_t)(n * n + 1) * sizeof *q);
    double complex *a = malloc((size_t)(n * n + 1) * sizeof *a);
    double largest = 0, off = 0, residual = 0;
    for (int64_t j = 0; j < n; j++) {
        CHECK(cimag(band_at(x, j, j)) == 0);
        for (int64_t i = 0; i < h->band_ld; i++)
            if (i > h->width || i + j >= n) CHECK(get(h->band, h->dtype, i + j * h->band_ld) == 0);
        for (int64_t i = 0; i < n; i++) {
            q[i + j * n] = get(x->q, h->dtype, i + j * x->q_ld);
            a[i + j * n] = matrix_at(x, i, j);
            largest = larger(largest, cabs(a[i + j * n]));
        }
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double complex dot = -(i == j), sum = 0;
            for (int64_t l = 0; l < n; l++) {
                dot += conj(q[l + i * n]) * q[l + j * n];
                sum += conj(a[l + i * n]) * q[l + j * n];
            }
            const int64_t from = j > h->width ? j - h->width : 0;
            for (int64_t l = from; l < n && l <= j + h->width; l++)
                sum -= q[i + l * n] * band_at(x, l, j);
            off = larger(off, cabs(dot));
            residual = larger(residual, cabs(sum));
        }
    CHECK(off <= 10 * eps[h->dtype] * sqrt((double)n + 1));
    CHECK(residual <= 10 * eps[h->dtype] * sqrt((double)n + 1) * largest + DBL_MIN);
    free(a);
    free(q);
}

/* Deals the blocks of a plan at random, and forgets the times of the run before. */
static void deal_blocks(int32_t p)
{
    for (int32_t j = 0; j < BLOCKS_MOST; j++) owner[j] = (int32_t)check_random((unsigned)p);
    for (int32_t k = 0; k < 2 * BLOCKS_MOST + 1; k++) atomic_store(&latest[k], 0.0);
}

static void check_reduction(hs_pool *const *pools, int dtype, int64_t n, int64_t width, int kind,
                            const hs__hermitian_plan *by)
{
    problem x = make_problem(dtype, n, width, kind, by);
    const size_t used = (size_t)(n * x.reduced.band_ld) * size_of[dtype];
    deal_blocks(1);
    if (!CHECK(run_problem(pools[0], &x, NULL) == HS_OK)) return;
    check_decomposition(&x);
    char *band = malloc(x.band_bytes), *q = malloc(x.q_bytes);
    memcpy(band, x.reduced.band, x.band_bytes);
    memcpy(q, x.q, x.q_bytes);
    for (int32_t p = 1; p < WORKERS; p++) {
        deal_blocks(p + 1);
        CHECK(run_problem(pools[p], &x, NULL) == HS_OK);
        CHECK(memcmp(band, x.reduced.band, used) == 0);
        CHECK(memcmp(q, x.q, x.q_bytes - size_of[dtype]) == 0);
    }
    free(band);
    free(q);
    free_problem(&x);
}

static void check_reductions(hs_pool *const *pools)
{
    static const int64_t orders[] = {0, 1, 2, 3, 15, 16, 17, 18, 19, 31, 33, 35, 70, 131};
    for (int dtype = 0; dtype < 4; dtype++) {
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            if (check_few() && sets < 2 && orders[i] > 35) continue;
            check_reduction(pools, dtype, orders[i], 16 * (1 + check_random(2)), (int)i % 5, NULL);
        }
        for (int64_t width = 16; width <= HS__WIDTH_MOST; width += CHECK_MANY(16, 48))
            check_reduction(pools, dtype, CHECK_MANY(2 * width + 3, width + 20), width, 0, NULL);
    }
}

/* Panels enough for several phases of the way back. */
static void check_late(hs_pool *const *pools)
{
    check_reduction(pools, HS_FLOAT64, CHECK_MANY(400, 140), 16, 0, NULL);
    check_reduction(pools, HS_COMPLEX128, CHECK_MANY(300, 100), 32, 0, NULL);
}

/* Blocks as wide as a slice, and narrower ones; the last block may be narrow, or a whole one. */
static void check_plans(hs_pool *const *pools)
{
    static const int64_t orders[] = {0, 1, 2, 17, 18, 33, 64, 131};
    for (int dtype = 0; dtype < 4; dtype++) {
        const int64_t widest = hs__slice_cols(dtype);
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            check_reduction(pools, dtype, orders[i], 16 * (1 + check_random(2)), (int)i % 5, &plan);
        check_reduction(pools, dtype, 2 * widest + 3, widest, 0, &plan);
    }
}

/* Scaling by a power of two scales B and leaves Q1 as it is. */
static void check_scaling(hs_pool *pool)
{
    for (int dtype = 0; dtype < 4; dtype++) {
        problem x = make_problem(dtype, 75, 16, 0, NULL);
        const int64_t elements = x.reduced.n * x.reduced.band_ld;
        char *band = malloc(x.band_bytes), *q = malloc(x.q_bytes);
        CHECK(run_problem(pool, &x, NULL) == HS_OK);
        memcpy(band, x.reduced.band, x.band_bytes);
        memcpy(q, x.q, x.q_bytes);
        for (int64_t i = 0; i < x.reduced.ld * x.reduced.n; i++)
            set(x.first, dtype, i, 1024 * get(x.first, dtype, i));
        CHECK(run_problem(pool, &x, NULL) == HS_OK);
        CHECK(memcmp(q, x.q, x.q_bytes - size_of[dtype]) == 0);
        for (int64_t i = 0; i < elements; i++)
            CHECK(1024 * get(band, dtype, i) == get(x.reduced.band, dtype, i));
        free(band);
        free(q);
        free_problem(&x);
    }
}

static void check_not_finite(hs_pool *pool)
{
    for (int dtype = 0; dtype < 4; dtype++)
        for (int k = 0; k < 3; k++) {
            problem x = make_problem(dtype, 60, 16, 0, NULL);
            set(x.first, dtype, 50 + 7 * x.reduced.ld, k == 0 ? NAN : k == 1 ? INFINITY : DBL_MAX);
            CHECK(run_problem(pool, &x, NULL) == HS_OK);
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
    problem x = make_problem(HS_FLOAT64, 300, 16, 0, NULL);
    const hs_options options = {.poll = refuse_at_once};
    x.times = 1000000;
    CHECK(run_problem(pool, &x, &options) == HS_ERROR_CANCELLED);
    free_problem(&x);
}

int main(void)
{
    hs_pool *pools[WORKERS] = {NULL};
    int created = 1;
    for (int32_t p = 0; p < WORKERS; p++)
        created &= CHECK(hs_pool_create(p + 1, NULL, &pools[p]) == HS_OK);
    if (created) {
        WITH_EACH_SET(check_reductions(pools));
        ALSO_LATE(check_late(pools));
        ALSO_LATE(check_plans(pools));
        check_scaling(pools[2]);
        check_not_finite(pools[1]);
        check_cancel(pools[0]);
        check_cancel(pools[WORKERS - 1]);
    }
    for (int32_t p = 0; p < WORKERS; p++) hs_pool_destroy(pools[p]);
    return check_result();
}
