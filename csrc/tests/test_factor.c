/* Cholesky and QR on pools of all kinds: factors multiplied back, against the matrix; triangular
 * systems, inverses and products with Q; refusals, cancels, failing allocations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "domains.h"
#include "elements.h"
#include "hetsched.h"
#include "late.h"
#include "run_calls.h"
#include "scarce.h"
#include "sets.h"

enum { MAX = 75 };
static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

/* A matrix in memory of its own, with or without a gap, by rows, by columns, or backwards. */
typedef struct {
    char *memory;
    int dtype;
    ptrdiff_t start;
    int64_t m, n, row_stride, col_stride;
} strided;

static strided make_strided(int dtype, int64_t m, int64_t n)
{
    const int64_t gap = check_random(3) % 2;
    strided x = {.dtype = dtype, .m = m, .n = n, .row_stride = 1, .col_stride = m + gap};
    const size_t space = 16 * (size_t)((m + 1) * (n + 1)) + 64;
    if (!CHECK(!posix_memalign((void **)&x.memory, 64, space))) exit(1);
    memset(x.memory, 0x55, space);
    if (check_random(3) == 0) {
        x.row_stride = n + gap;
        x.col_stride = 1;
    }
    if (check_random(4) == 0) {
        x.start = (m - 1) * x.row_stride;
        x.row_stride = -x.row_stride;
    }
    return x;
}

static void *data_of(const strided *x)
{
    return x->memory + x->start * (ptrdiff_t)size_of[x->dtype];
}
static double complex element_at(const strided *x, int64_t i, int64_t j)
{
    return get(data_of(x), x->dtype, i * x->row_stride + j * x->col_stride);
}
static void put_element(const strided *x, int64_t i, int64_t j, double complex value)
{
    set(data_of(x), x->dtype, i * x->row_stride + j * x->col_stride, value);
}

static double complex any_number(int dtype)
{
    const double re = (int)check_random(2001) - 1000;
    const double im = (int)check_random(2001) - 1000;
    return (re + (dtype >> 1) * I * im) / 1000;
}

static void copy_elements(const strided *to, const strided *from)
{
    for (int64_t i = 0; i < from->m; i++)
        for (int64_t j = 0; j < from->n; j++) put_element(to, i, j, element_at(from, i, j));
}

/* Draws how a factorisation is run: as the pool chooses, by owners, or paced. */
static test_run any_run(hs_factor *x, int32_t p, int32_t *owner, double *pace)
{
    test_run run = {.boxes.cooperative = (int32_t)check_random(2)};
    int32_t blocks = 0;
    x->block = check_random(3) ? 1 + check_random(MAX) : 0;
    if (x->block) CHECK(hs_factor_blocks(x->m, x->n, x->block, &blocks) == HS_OK);
    for (int32_t i = 0; i < blocks; i++) owner[i] = (int32_t)check_random((unsigned)p);
    x->owner = blocks && check_random(2) ? owner : NULL;
    for (int32_t w = 0; w < p; w++) pace[w] = 1e-10 * (1 + check_random(5));
    if (!run.boxes.cooperative && check_random(2)) run.options.pace = pace;
    return run;
}

static void cholesky(hs_pool *pool, int32_t p, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int dtype = round % 4;
        const int in_place = (int)check_random(2);
        const int clear = (int)check_random(2);
        const int64_t n = 1 + check_random(MAX);
        const int64_t bad = round % 9 == 5 ? (int64_t)check_random((unsigned)n) : -1;
        const strided a = make_strided(dtype, n, n);
        const strided x = make_strided(dtype, n, n);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++) put_element(&a, i, j, any_number(dtype));
            put_element(&a, i, i, (double)(i == bad ? -1 : 2 * n) + (dtype >> 1) * 3 * I);
            for (int64_t j = i + 1; j < n; j++) put_element(&a, i, j, NAN); /* not read */
        }
        if (in_place) copy_elements(&x, &a);
        hs_factor c = {.kind = HS_CHOLESKY,
                       .dtype = dtype,
                       .m = n,
                       .n = n,
                       .matrix = data_of(&x),
                       .row_stride = x.row_stride,
                       .col_stride = x.col_stride,
                       .clear = clear};
        if (!in_place) {
            c.a = data_of(&a);
            c.a_row_stride = a.row_stride;
            c.a_col_stride = a.col_stride;
        }
        int32_t owner[MAX];
        double pace[16];
        test_run run = any_run(&c, p, owner, pace);
        CHECK(run_lu(pool, &c, &run) == HS_OK);
        CHECK(bad < 0 ? c.failed == -1 : c.failed >= 0 && c.failed <= bad);
        double worst = 0;
        for (int64_t i = 0; i < (c.failed < 0 ? n : c.failed); i++)
            for (int64_t j = 0; j <= i; j++) {
                double complex sum = i == j ? -2 * (double)n : -element_at(&a, i, j);
                for (int64_t k = 0; k <= j; k++)
                    sum += element_at(&x, i, k) * conj(element_at(&x, j, k));
                worst = fmax(worst, cabs(sum));
            }
        CHECK(worst <= 4 * eps[dtype] * (double)(n * n));
        for (int64_t i = 0; i < n && bad < 0; i++) {
            CHECK(creal(element_at(&x, i, i)) > 0 && cimag(element_at(&x, i, i)) == 0);
            for (int64_t j = i + 1; j < n; j++) {
                const double complex above = element_at(&x, i, j);
                if (clear) CHECK(above == 0);
                else if (in_place) CHECK(isnan(creal(above)));
                else CHECK(creal(above) == creal(get("UUUUUUUUUUUUUUUU", dtype, 0)));
            }
        }
        free(a.memory);
        free(x.memory);
    }
}

/* Returns max |X^H Y - D|, where D is the identity or 0. */
static double distance_of(const strided *x, const strided *y, int identity)
{
    double worst = 0;
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < y->n; j++) {
            double complex sum = identity && i == j ? -1 : 0;
            for (int64_t k = 0; k < x->m; k++)
                sum += conj(element_at(x, k, i)) * element_at(y, k, j);
            worst = fmax(worst, cabs(sum));
        }
    return worst;
}

static void qr(hs_pool *pool, int32_t p, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int dtype = round % 4;
        const int in_place = (int)check_random(2);
        int64_t m = 1 + check_random(MAX);
        int64_t n = 1 + check_random(MAX);
        if (round % 11 == 0) m += 2 * MAX;
        const int64_t rank = hs__min(m, n);
        const strided a = make_strided(dtype, m, n);
        const strided x = make_strided(dtype, m, n);
        const strided q = make_strided(dtype, m, m <= MAX ? m : rank);
        const strided c = make_strided(dtype, m, 1 + check_random(9));
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                put_element(&a, i, j, round % 7 == 3 && j % 3 == 1 ? 0 : any_number(dtype));
        if (in_place) copy_elements(&x, &a);
        double complex tau[MAX];
        hs_factor f = {.kind = HS_QR,
                       .dtype = dtype,
                       .m = m,
                       .n = n,
                       .matrix = data_of(&x),
                       .row_stride = x.row_stride,
                       .col_stride = x.col_stride,
                       .tau = tau};
        if (!in_place) {
            f.a = data_of(&a);
            f.a_row_stride = a.row_stride;
            f.a_col_stride = a.col_stride;
        }
        int32_t owner[3 * MAX];
        double pace[16];
        test_run run = any_run(&f, p, owner, pace);
        CHECK(run_lu(pool, &f, &run) == HS_OK && f.failed == -1);
        CHECK(hs_qr_multiply(pool, &f, 0, 1, q.n, data_of(&q), q.row_stride, q.col_stride, NULL,
                             NULL) == HS_OK);
        const double limit = 4 * eps[dtype] * (double)(m + n);
        CHECK(distance_of(&q, &q, 1) <= limit);
        double worst = 0;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double complex sum = -element_at(&a, i, j);
                for (int64_t k = 0; k <= j && k < rank; k++)
                    sum += element_at(&q, i, k) * element_at(&x, k, j);
                worst = fmax(worst, cabs(sum));
            }
        CHECK(worst <= limit);
        for (int64_t i = 0; i < rank; i++) CHECK(cimag(element_at(&x, i, i)) == 0);
        /* Multiplies C by Q^H, and back by Q. */
        const strided before = make_strided(dtype, m, c.n);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < c.n; j++) put_element(&c, i, j, any_number(dtype));
        copy_elements(&before, &c);
        CHECK(hs_qr_multiply(pool, &f, 1, 0, c.n, data_of(&c), c.row_stride, c.col_stride, NULL,
                             NULL) == HS_OK);
        for (int64_t i = 0; i < rank; i++)
            for (int64_t j = 0; j < c.n; j++) {
                double complex sum = -element_at(&c, i, j);
                for (int64_t k = 0; k < m; k++)
                    sum += conj(element_at(&q, k, i)) * element_at(&before, k, j);
                CHECK(cabs(sum) <= limit);
            }
        CHECK(hs_qr_multiply(pool, &f, 0, 0, c.n, data_of(&c), c.row_stride, c.col_stride, NULL,
                             NULL) == HS_OK);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < c.n; j++)
                CHECK(cabs(element_at(&c, i, j) - element_at(&before, i, j)) <= limit);
        free(a.memory);
        free(x.memory);
        free(q.memory);
        free(c.memory);
        free(before.memory);
    }
}

/* Makes a well-conditioned triangle; the other triangle contains what must not be read. */
static void fill_triangle(const strided *t, int upper, int unit)
{
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t j = 0; j < t->n; j++) {
            double complex value = NAN;
            if (i == j && !unit) value = 2 + any_number(t->dtype);
            if (i != j && (i < j) == upper) value = any_number(t->dtype) / (double)t->n;
            put_element(t, i, j, value);
        }
}

static double complex triangle_at(const strided *t, int upper, int unit, int64_t i, int64_t j)
{
    if (i == j && unit) return 1;
    return i == j || (i < j) == upper ? element_at(t, i, j) : 0;
}

static void triangles(hs_pool *pool, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int dtype = round % 4;
        const int upper = (int)check_random(2);
        const int unit = (int)check_random(2);
        const int64_t n = 1 + check_random(MAX);
        const int64_t cols = 1 + check_random(round % 3 ? 20 : 2 * MAX);
        const strided t = make_strided(dtype, n, n);
        const strided b = make_strided(dtype, n, cols);
        const strided x = make_strided(dtype, n, cols);
        fill_triangle(&t, upper, unit);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < cols; j++) put_element(&b, i, j, any_number(dtype));
        copy_elements(&x, &b);
        const double factors[][2] = {{1, 0}, {-2, 0}, {0.5, -3}};
        const double *alpha = check_random(4) ? factors[check_random(3)] : NULL;
        const double complex factor = alpha ? alpha[0] + (dtype >> 1 ? I * alpha[1] : 0) : 1;
        const hs_triangular s = {
            dtype,        n,           cols,         upper,        unit, data_of(&t), t.row_stride,
            t.col_stride, data_of(&x), x.row_stride, x.col_stride, alpha};
        CHECK(hs_solve_triangular(pool, &s, NULL, NULL) == HS_OK);
        double worst = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < cols; j++) {
                double complex sum = -factor * element_at(&b, i, j);
                for (int64_t k = 0; k < n; k++)
                    if (k == i || (i < k) == upper)
                        sum += triangle_at(&t, upper, unit, i, k) * element_at(&x, k, j);
                worst = fmax(worst, cabs(sum));
            }
        CHECK(worst <= 8 * eps[dtype] * (double)n * fmax(1, cabs(factor)));
        free(t.memory);
        free(b.memory);
        free(x.memory);
    }
}

static void inverses(hs_pool *pool, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int dtype = round % 4;
        const int64_t n = 1 + check_random(MAX);
        const strided a = make_strided(dtype, n, n);
        const strided lu = make_strided(dtype, n, n);
        const strided x = make_strided(dtype, n, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                put_element(&a, i, j, any_number(dtype) + (j == (i + 3) % n ? 2 * (double)n : 0));
        int32_t pivots[MAX];
        hs_factor f = {.dtype = dtype,
                       .m = n,
                       .n = n,
                       .a = data_of(&a),
                       .a_row_stride = a.row_stride,
                       .a_col_stride = a.col_stride,
                       .matrix = data_of(&lu),
                       .row_stride = lu.row_stride,
                       .col_stride = lu.col_stride,
                       .cooperative = 1,
                       .pivots = pivots};
        CHECK(hs_run_factor(pool, &f, NULL, NULL) == HS_OK && f.failed == -1);
        CHECK(hs_lu_inverse(pool, &f, data_of(&x), x.row_stride, x.col_stride, NULL, NULL) ==
              HS_OK);
        double worst = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double complex sum = -(i == j);
                for (int64_t k = 0; k < n; k++) sum += element_at(&a, i, k) * element_at(&x, k, j);
                worst = fmax(worst, cabs(sum));
            }
        CHECK(worst <= 16 * eps[dtype] * (double)n);
        free(a.memory);
        free(lu.memory);
        free(x.memory);
    }
}

static int stop_at_once(void *context, double fraction)
{
    (void)context;
    (void)fraction;
    return 1;
}

static void refusals(hs_pool *pool)
{
    double x[9] = {4, 0, 0, 0, 4, 0, 0, 0, 4};
    double tau[3];
    int32_t pivots[3] = {0, 1, 2};
    hs_factor f;
    for (int32_t kind = -1; kind <= 3; kind++) {
        hs_factor_default(&f, kind, HS_FLOAT64, 3, 3, x);
        f.pivots = pivots;
        f.tau = tau;
        CHECK(hs_run_factor(pool, &f, NULL, NULL) ==
              (kind < 0 || kind > 2 ? HS_ERROR_VALUE : HS_OK));
    }
    hs_factor_default(&f, HS_CHOLESKY, HS_FLOAT64, 3, 2, x);
    CHECK(hs_run_factor(pool, &f, NULL, NULL) == HS_ERROR_VALUE); /* not square */
    hs_factor_default(&f, HS_QR, HS_FLOAT64, 3, 3, x);
    CHECK(hs_run_factor(pool, &f, NULL, NULL) == HS_ERROR_VALUE); /* no tau */
    f.tau = tau;
    f.clear = 1;
    CHECK(hs_run_factor(pool, &f, NULL, NULL) == HS_ERROR_VALUE); /* nothing to clear */
    f.clear = 0;
    CHECK(hs_run_factor(pool, &f, NULL, NULL) == HS_OK);
    CHECK(hs_qr_multiply(pool, &f, 1, 1, 3, x, 1, 3, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_qr_multiply(pool, &f, 2, 0, 3, x, 1, 3, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_qr_multiply(pool, &f, 0, 0, -1, x, 1, 3, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_qr_multiply(pool, &f, 0, 0, 0, NULL, 1, 3, NULL, NULL) == HS_OK);
    CHECK(hs_lu_inverse(pool, &f, x, 1, 3, NULL, NULL) == HS_ERROR_VALUE); /* factors of QR */
    hs_triangular s = {HS_FLOAT64, 3, 1, 0, 0, x, 1, 3, tau, 1, 3, NULL};
    s.n = -1;
    CHECK(hs_solve_triangular(pool, &s, NULL, NULL) == HS_ERROR_VALUE);
    s.n = 0;
    CHECK(hs_solve_triangular(pool, &s, NULL, NULL) == HS_OK);
    s.n = 3;
    s.dtype = 4;
    CHECK(hs_solve_triangular(pool, &s, NULL, NULL) == HS_ERROR_VALUE);
    /* No columns; the product of no reflectors is the identity. */
    hs_factor_default(&f, HS_QR, HS_FLOAT64, 3, 0, x);
    CHECK(hs_run_factor(pool, &f, NULL, NULL) == HS_OK);
    CHECK(hs_qr_multiply(pool, &f, 0, 1, 3, x, 1, 3, NULL, NULL) == HS_OK && x[0] == 1 &&
          x[1] == 0 && x[4] == 1 && x[8] == 1);
}

static void cancelling(hs_pool *pool)
{
    enum { N = 400 };
    double *a = calloc(N * N, sizeof *a);
    double *b = calloc(N * N, sizeof *b);
    double tau[N];
    int32_t pivots[N];
    if (!CHECK(a && b)) return;
    for (int64_t i = 0; i < N; i++) {
        a[i * (N + 1)] = 2;
        pivots[i] = (int32_t)i;
    }
    const hs_options stopped = {.poll = stop_at_once};
    for (int32_t kind = 0; kind < 3; kind++) {
        hs_factor f;
        hs_factor_default(&f, kind, HS_FLOAT64, N, N, a);
        f.pivots = pivots;
        f.tau = tau;
        /* the run may end before its first poll */
        const hs_status status = hs_run_factor(pool, &f, &stopped, NULL);
        CHECK(status == HS_OK || status == HS_ERROR_CANCELLED);
    }
    free(a);
    free(b);
}

/* Where no memory is left, nothing has been changed; systems are solved without memory. */
static hs_status scarce_factors(hs_pool *pool, void *context)
{
    enum { N = 60, COLS = 7 };
    const int32_t kind = *(const int32_t *)context;
    static double x[N * N], before[N * N], c[N * COLS], tau[N];
    int32_t pivots[N];
    for (int64_t i = 0; i < N * N; i++) x[i] = i % (N + 1) ? 1.0 / (double)(1 + i % 7) : 3 * N;
    memcpy(before, x, sizeof x);
    hs_factor f;
    hs_factor_default(&f, kind, HS_FLOAT64, N, N, x);
    f.pivots = pivots;
    f.tau = tau;
    f.cooperative = 1;
    f.clear = kind == HS_CHOLESKY;
    hs_status status = hs_run_factor(pool, &f, NULL, NULL);
    if (status) {
        CHECK(!memcmp(x, before, sizeof x));
        return status;
    }
    for (int64_t i = 0; i < N * COLS; i++) c[i] = (double)(i % 5);
    if (kind == HS_QR) {
        status = hs_qr_multiply(pool, &f, 1, 0, COLS, c, 1, N, NULL, NULL);
        for (int64_t i = 0; i < N * COLS && status; i++) CHECK(c[i] == (double)(i % 5));
        return status;
    }
    const double alpha[2] = {-3, NAN};
    const hs_triangular s = {HS_FLOAT64, N, COLS, 0, 0, x, 1, N, c, 1, N, alpha};
    CHECK(hs_solve_triangular(pool, &s, NULL, NULL) == HS_OK);
    for (int64_t j = 0; j < COLS; j++)
        for (int64_t i = 0; i < N; i++) {
            double sum = 3 * (double)((i + j * N) % 5);
            for (int64_t k = 0; k <= i; k++) sum += x[i + k * N] * c[k + j * N];
            CHECK(fabs(sum) < 1e-9);
        }
    return HS_OK;
}

static void scarce(void)
{
    for (int32_t kind = 0; kind < 3; kind++) CHECK_SCARCE(scarce_life(2, scarce_factors, &kind), 1);
}

static void all(hs_pool *pool, int32_t p, int rounds)
{
    cholesky(pool, p, rounds);
    qr(pool, p, rounds);
    triangles(pool, rounds);
    inverses(pool, rounds);
}

/* ---- domains --------------------------------------------------------------------------------- */

/* Results of work that is large enough to be shared (8e6 multiply-adds): the factors; the solutions
 * of systems, or Q; the inverse, or Q C. */
typedef struct {
    strided factor, first, second;
    int32_t *pivots;
    double complex *tau;
} shared;

static shared factor_shared(hs_pool *pool, int kind, const strided *a, const strided *b,
                            int in_place, int cooperative, int64_t block)
{
    const int dtype = a->dtype;
    const int64_t m = a->m;
    const int64_t n = a->n;
    const int64_t rank = hs__min(m, n);
    shared x = {make_strided(dtype, m, n), make_strided(dtype, m, b->n), make_strided(dtype, m, m),
                malloc((size_t)rank * sizeof *x.pivots), malloc((size_t)rank * sizeof *x.tau)};
    hs_factor f = {.kind = kind,
                   .dtype = dtype,
                   .m = m,
                   .n = n,
                   .matrix = data_of(&x.factor),
                   .row_stride = x.factor.row_stride,
                   .col_stride = x.factor.col_stride,
                   .cooperative = cooperative,
                   .block = block,
                   .clear = kind == HS_CHOLESKY,
                   .pivots = x.pivots,
                   .tau = x.tau};
    copy_elements(&x.first, b);
    if (in_place) copy_elements(&x.factor, a);
    else {
        f.a = data_of(a);
        f.a_row_stride = a->row_stride;
        f.a_col_stride = a->col_stride;
    }
    CHECK(hs_run_factor(pool, &f, NULL, NULL) == HS_OK && f.failed == -1);
    const strided *c = &x.first;
    const strided *d = &x.second;
    const hs_triangular s = {dtype,
                             n,
                             b->n,
                             0,
                             0,
                             f.matrix,
                             f.row_stride,
                             f.col_stride,
                             data_of(c),
                             c->row_stride,
                             c->col_stride,
                             NULL};
    if (kind == HS_LU) {
        CHECK(hs_lu_solve(pool, &f, 0, b->n, data_of(c), c->row_stride, c->col_stride, NULL,
                          NULL) == HS_OK);
        CHECK(hs_lu_inverse(pool, &f, data_of(d), d->row_stride, d->col_stride, NULL, NULL) ==
              HS_OK);
    } else if (kind == HS_CHOLESKY) {
        CHECK(hs_solve_triangular(pool, &s, NULL, NULL) == HS_OK);
        copy_elements(d, a);
    } else {
        CHECK(hs_qr_multiply(pool, &f, 1, 0, b->n, data_of(c), c->row_stride, c->col_stride, NULL,
                             NULL) == HS_OK);
        CHECK(hs_qr_multiply(pool, &f, 0, 1, m, data_of(d), d->row_stride, d->col_stride, NULL,
                             NULL) == HS_OK);
    }
    return x;
}

static void release_shared(const shared *x)
{
    free(x->factor.memory);
    free(x->first.memory);
    free(x->second.memory);
    free(x->pivots);
    free(x->tau);
}

/* Returns the largest difference relative to the largest element. */
static double largest_difference(const strided *x, const strided *y)
{
    double most = 0;
    double worst = 0;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            most = fmax(most, cabs(element_at(y, i, j)));
            worst = fmax(worst, cabs(element_at(x, i, j) - element_at(y, i, j)));
        }
    return worst / most;
}

/* Domains with different kernels and blocks give the results of one ordinary domain up to
 * roundings; with one kernel, the same bits. */
static void domains(const char *second, int rounds)
{
    const int32_t of[5] = {1, 0, 2, 1, 2};
    hs_pool *several = open_domains(5, of, second);
    hs_pool *one = NULL;
    if (!several || !CHECK(hs_pool_create(5, NULL, &one) == HS_OK)) return;
    /* each type, kind, way and size of block */
    static const int few[] = {0, 2, 5, 11};
    for (int turn = 0; turn < CHECK_MANY(rounds, 3); turn++) {
        const int round = check_few() ? few[turn] : turn;
        const int dtype = round % 4;
        const int kind = round / 4 % 3;
        const int cooperative = round % 5 != 1;
        const int64_t n = 255 + check_random(20);
        const int64_t m = kind == HS_QR ? n + check_random(40) - 20 : n;
        const strided a = make_strided(dtype, m, n);
        const strided b = make_strided(dtype, m, 250);
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++)
                put_element(&a, i, j, any_number(dtype) + (i == j ? (double)(3 * n) : 0));
            for (int64_t j = 0; j < b.n; j++) put_element(&b, i, j, any_number(dtype));
            for (int64_t j = i; j < n && kind == HS_CHOLESKY; j++)
                put_element(&a, i, j, i == j ? (double)(3 * n) : NAN);
        }
        const shared x = factor_shared(several, kind, &a, &b, round % 3 == 0, cooperative,
                                       round % 7 == 2 ? 150 : 25);
        const shared y = factor_shared(one, kind, &a, &b, round % 2, 1, 25);
        const double limit = 100 * eps[dtype];
        if (kind != HS_CHOLESKY) CHECK(largest_difference(&x.second, &y.second) <= limit);
        CHECK(largest_difference(&x.factor, &y.factor) <= limit &&
              largest_difference(&x.first, &y.first) <= limit);
        if (kind == HS_LU) CHECK(!memcmp(x.pivots, y.pivots, (size_t)n * sizeof *x.pivots));
        release_shared(&x);
        release_shared(&y);
        free(a.memory);
        free(b.memory);
    }
    all(several, 5, CHECK_MANY(24, 6));
    cancelling(several);
    hs_pool_destroy(several);
    hs_pool_destroy(one);
}

/* Three domains that differ in blocks, but not in the kernel. */
static void bits(void)
{
    const int32_t of[4] = {0, 1, 2, 1};
    const hs_domain alike[3] = {{.rows = {48, 48}}, {.cols = {64, 64}}, {0}};
    hs_pool *several = NULL;
    hs_pool *one = NULL;
    if (!CHECK(hs_pool_create_domains(4, NULL, 3, alike, of, &several) == HS_OK &&
               hs_pool_create(4, NULL, &one) == HS_OK))
        return;
    for (int kind = 0; kind < 3; kind++) {
        const strided a = make_strided(HS_FLOAT32, 260, 260);
        const strided b = make_strided(HS_FLOAT32, 260, 240);
        for (int64_t i = 0; i < 260; i++)
            for (int64_t j = 0; j < 260; j++) {
                put_element(&a, i, j, any_number(HS_FLOAT32) + (i == j ? 400 : 0));
                if (j < 240) put_element(&b, i, j, any_number(HS_FLOAT32));
            }
        const shared x = factor_shared(several, kind, &a, &b, 0, 1, 25);
        const shared y = factor_shared(one, kind, &a, &b, 1, 1, 25);
        CHECK(largest_difference(&x.factor, &y.factor) == 0 &&
              largest_difference(&x.first, &y.first) == 0 &&
              largest_difference(&x.second, &y.second) == 0);
        release_shared(&x);
        release_shared(&y);
        free(a.memory);
        free(b.memory);
    }
    hs_pool_destroy(several);
    hs_pool_destroy(one);
}

int main(void)
{
    const int32_t cores[] = {0, 1};
    for (int32_t p = CHECK_MANY(1, 2); p <= CHECK_MANY(16, 3); p = p < 3 ? p + 1 : p + 13) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, p == 2 ? cores : NULL, &pool) == HS_OK)) break;
        all(pool, p, CHECK_MANY(24, 6));
        for (sets = CHECK_MANY(LEAST_SET, 2); sets < 2; sets++) all(pool, p, 12);
        if (p == 3) {
            refusals(pool);
            cancelling(pool);
        }
        hs_pool_destroy(pool);
    }
    for (int i = 0; i < DOMAIN_SETS; i += CHECK_MANY(1, 2)) ALSO_LATE(domains(domain_sets[i], 12));
    bits();
    scarce();
    return check_result();
}
