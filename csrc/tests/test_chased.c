/* Products with the unitary matrix of a chase and with its adjoint: against its reflectors, applied
 * one by one; the same bits from all pools; cancels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "elements.h"
#include "late.h"
#include "spectral/chased.h"

static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

enum { WORKERS = 4 };

/* Returns the larger number, or NaN if there is one. */
static double larger(double x, double y) { return isnan(x) || isnan(y) ? NAN : fmax(x, y); }

typedef struct {
    hs__chased chased;
    int adjoint, few;
    char *c;
    int64_t ld, cols;
    int32_t times;
} problem;

static double complex any_number(int dtype)
{
    const double re = (int)check_random(2001) - 1000, im = (int)check_random(2001) - 1000;
    return (re + (dtype >> 1 ? im * I : 0)) / 1000;
}

/* Returns the rows on which H(s, p) acts; 0: there is no such reflector. */
static int64_t rows_of(const hs__chased *x, int64_t s, int64_t p)
{
    const int64_t rest = x->n - (s + 1 + p * x->width);
    return hs__min(hs__max(rest, 0), x->width);
}

/* Fills in unitary reflectors, some of which are the identity. What must not be read is NaN. */
static void fill_reflectors(hs__chased *x)
{
    const int dtype = x->dtype;
    for (int64_t s = 0; s < x->sweeps; s++)
        for (int64_t p = 0; p < x->places; p++) {
            const int64_t at = s * x->places + p, rows = rows_of(x, s, p);
            double complex tau = 0;
            double square = 1;
            for (int64_t i = 0; i < x->width; i++) {
                double complex value = i == 0 ? 1 : NAN;
                if (i > 0 && i < rows) value = any_number(dtype);
                set(x->v, dtype, at * x->width + i, value);
                if (i > 0 && i < rows) square += pow(cabs(get(x->v, dtype, at * x->width + i)), 2);
            }
            if (rows > 0 && check_random(8)) {
                const double angle = dtype >> 1 ? check_random(6) : M_PI;
                tau = (1 - cexp(I * angle)) / square;
            }
            set(x->tau, dtype, at, rows > 0 ? tau : 0);
        }
}

/* Multiplies by the definition. c: [n x cols] without gaps. */
static void multiply_slowly(const hs__chased *x, int adjoint, double complex *c, int64_t cols)
{
    const int64_t count = x->sweeps * x->places;
    for (int64_t k = 0; k < count; k++) {
        const int64_t at = adjoint ? k : count - 1 - k;
        const int64_t s = at / x->places, p = at % x->places, rows = rows_of(x, s, p);
        const double complex tau = get(x->tau, x->dtype, at);
        for (int64_t j = 0; j < cols && rows > 0; j++) {
            double complex *own = c + j * x->n + s + 1 + p * x->width;
            double complex sum = 0;
            for (int64_t i = 0; i < rows; i++)
                sum += conj(get(x->v, x->dtype, at * x->width + i)) * own[i];
            sum *= adjoint ? conj(tau) : tau;
            for (int64_t i = 0; i < rows; i++)
                own[i] -= get(x->v, x->dtype, at * x->width + i) * sum;
        }
    }
}

static void multiply(void *context, hs__walk *walk)
{
    problem *x = context;
    for (int32_t i = 0; i < x->times; i++)
        if (x->few ? hs__chased_apply_few(walk, &x->chased, x->adjoint, x->c, x->ld, x->cols)
                   : hs__chased_apply(walk, &x->chased, x->adjoint, x->c, x->ld, x->cols))
            return;
}

static hs_status run_problem(hs_pool *pool, problem *x, const hs_options *options)
{
    return hs__phases_run(pool, options, NULL, HS__SHARED, hs__chased_scratch(&x->chased), multiply,
                          x);
}

static void check_product(hs_pool *const *pools, int dtype, int adjoint, int64_t n, int64_t width,
                          int64_t sweeps, int64_t cols)
{
    const int64_t ld = n + check_random(3), places = hs__chased_places(n, width) + check_random(2);
    const size_t bytes = (size_t)(ld * cols + 1) * size_of[dtype];
    problem x = {
        .chased = {.dtype = dtype, .n = n, .width = width, .sweeps = sweeps, .places = places},
        .adjoint = adjoint,
        .few = cols < 20 && check_random(2),
        .ld = ld,
        .cols = cols,
        .times = 1};
    x.chased.v = malloc((size_t)(sweeps * places * width + 1) * size_of[dtype]);
    x.chased.tau = malloc((size_t)(sweeps * places + 1) * size_of[dtype]);
    x.chased.work = aligned_alloc(64, (hs__chased_bytes(&x.chased, cols) + 127) / 64 * 64);
    memset(x.chased.work, 0xff, hs__chased_bytes(&x.chased, cols));
    fill_reflectors(&x.chased);
    char *first = malloc(bytes), *found = malloc(bytes), *again = malloc(bytes);
    double complex *expected = malloc((size_t)(n * cols + 1) * sizeof *expected);
    for (int64_t i = 0; i <= ld * cols; i++) set(first, dtype, i, any_number(dtype));
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < n; i++) expected[i + j * n] = get(first, dtype, i + j * ld);
    multiply_slowly(&x.chased, adjoint, expected, cols);

    x.c = found;
    memcpy(found, first, bytes);
    CHECK(run_problem(pools[0], &x, NULL) == HS_OK);
    double worst = 0;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < ld; i++) {
            const double complex value = get(found, dtype, i + j * ld);
            if (i < n) worst = larger(worst, cabs(value - expected[i + j * n]));
            else CHECK(value == get(first, dtype, i + j * ld));
        }
    CHECK(worst <= 20 * eps[dtype] * (double)(n + 1));
    x.c = again;
    for (int32_t p = 1; p < WORKERS; p++) {
        memcpy(again, first, bytes);
        CHECK(run_problem(pools[p], &x, NULL) == HS_OK);
        CHECK(memcmp(again, found, bytes) == 0);
    }
    free(x.chased.v);
    free(x.chased.tau);
    free(x.chased.work);
    free(first);
    free(found);
    free(again);
    free(expected);
}

static void check_products(hs_pool *const *pools)
{
    static const int64_t orders[] = {0, 1, 2, 15, 16, 17, 18, 33, 64, 150};
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            const int64_t n = orders[i], width = HS__WIDTH_UNIT * (1 + check_random(4));
            const int64_t all = n > 1 ? n - 1 : 0, few = 1 + check_random(18);
            for (int adjoint = 0; adjoint < 2; adjoint++) {
                check_product(pools, dtype, adjoint, n, width, all, 1 + check_random(150));
                check_product(pools, dtype, adjoint, n, width, all, few);
                if (i % 3 == 0)
                    check_product(pools, dtype, adjoint, n, width, n / 2, n % 2 ? 0 : n);
            }
        }
    const int64_t n = CHECK_MANY(700, 200);
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        check_product(pools, HS_FLOAT64, adjoint, n, 16, n - 1, 70);
        check_product(pools, HS_COMPLEX64, adjoint, n, 48, n - 2, 130);
    }
}

static int refuse_at_once(void *context, double done)
{
    (void)context;
    (void)done;
    return 1;
}

/* A cancel ends the run within a block reflector. */
static void check_cancel(hs_pool *pool)
{
    const int64_t n = 300, width = 16, places = hs__chased_places(n, width);
    problem x = {
        .chased = {.dtype = HS_FLOAT64, .n = n, .width = width, .sweeps = n - 1, .places = places},
        .ld = n,
        .cols = n,
        .times = 1000000};
    x.chased.v = calloc((size_t)(n * places * width), 8);
    x.chased.tau = calloc((size_t)(n * places), 8);
    x.chased.work = aligned_alloc(64, (hs__chased_bytes(&x.chased, n) + 127) / 64 * 64);
    x.c = calloc((size_t)(n * n), 8);
    const hs_options options = {.poll = refuse_at_once};
    CHECK(run_problem(pool, &x, &options) == HS_ERROR_CANCELLED);
    free(x.chased.v);
    free(x.chased.tau);
    free(x.chased.work);
    free(x.c);
}

int main(void)
{
    hs_pool *pools[WORKERS] = {NULL};
    int created = 1;
    for (int32_t p = 0; p < WORKERS; p++)
        created &= CHECK(hs_pool_create(p + 1, NULL, &pools[p]) == HS_OK);
    if (created) {
        ALSO_LATE(check_products(pools));
        check_cancel(pools[0]);
        check_cancel(pools[WORKERS - 1]);
    }
    for (int32_t p = 0; p < WORKERS; p++) hs_pool_destroy(pools[p]);
    return check_result();
}
