/* Least squares of matrices that are made of known singular values and vectors: solutions, residuals,
 * values and ranks of any shape, rank, scale and strides; what the rank depends on; NaN and
 * infinities, cancels, failing allocations. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "elements.h"
#include "late.h"
#include "scarce.h"
#include "strided.h"

enum { POOLS = 3 };
static hs_pool *pools[POOLS];

/* Returns rows x cols orthonormal columns (the modified method of Gram and Schmidt, twice). */
CHECK_ORACLE double complex *make_basis(int dtype, int64_t rows, int64_t cols)
{
    double complex *q = malloc((size_t)(rows * cols + 1) * sizeof *q);
    if (!q) abort();
    for (int64_t i = 0; i < rows * cols; i++) q[i] = random_value(dtype);
    for (int64_t j = 0; j < cols; j++)
        for (int time = 0; time < 2; time++) {
            double complex *own = q + j * rows;
            for (int64_t l = 0; l < j; l++) {
                double complex sum = 0;
                for (int64_t i = 0; i < rows; i++) sum += conj(q[i + l * rows]) * own[i];
                for (int64_t i = 0; i < rows; i++) own[i] -= sum * q[i + l * rows];
            }
            double square = 0;
            for (int64_t i = 0; i < rows; i++) square += creal(conj(own[i]) * own[i]);
            for (int64_t i = 0; i < rows; i++) own[i] /= sqrt(square);
        }
    return q;
}

/* ---- solutions ------------------------------------------------------------------------------- */

/* A system A x = b with A = U diag(values) V^H, times `scale`, and b times another one.
 *   rank    of A: values 1 .. 3, then zeros
 *   x       the shortest solutions before A and b are scaled
 *   vh      [k x n] where the right singular vectors go
 *   rest    squares of the residuals, likewise */
typedef struct {
    int dtype;
    int64_t m, n, k, rank, cols;
    double scale_a, scale_b;
    matrix a, b, vh;
    double complex *x;
    double *rest;
} linear_system;

static double value_of(const linear_system *s, int64_t i)
{
    return i < s->rank ? 3 - 2.0 * (double)i / (double)s->rank : 0;
}

CHECK_ORACLE void make_system(linear_system *s)
{
    const int64_t m = s->m, n = s->n, k = s->k;
    double complex *u = make_basis(s->dtype, m, k), *v = make_basis(s->dtype, n, k);
    s->a = make_matrix(s->dtype, m, n);
    s->b = make_matrix(s->dtype, m > n ? m : n, s->cols);
    s->vh = make_matrix(s->dtype, k, n);
    s->x = calloc((size_t)(n * s->cols + 1), sizeof *s->x);
    s->rest = calloc((size_t)s->cols + 1, sizeof *s->rest);
    if (!s->x || !s->rest) abort();
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < s->rank; l++)
                sum += u[i + l * m] * value_of(s, l) * conj(v[j + l * n]);
            set(s->a.data, s->dtype, place(&s->a, i, j), s->scale_a * sum);
        }
    for (int64_t j = 0; j < s->cols; j++) {
        for (int64_t i = 0; i < m; i++) {
            const double complex own = random_value(s->dtype);
            set(s->b.data, s->dtype, place(&s->b, i, j), s->scale_b * own);
            s->rest[j] += creal(own * conj(own));
        }
        for (int64_t l = 0; l < s->rank; l++) {
            double complex sum = 0;
            for (int64_t i = 0; i < m; i++)
                sum += conj(u[i + l * m]) * at(&s->b, i, j) / s->scale_b;
            s->rest[j] -= creal(sum * conj(sum));
            for (int64_t i = 0; i < n; i++) s->x[i + j * n] += v[i + l * n] * sum / value_of(s, l);
        }
    }
    free(u);
    free(v);
}

static void free_system(linear_system *s)
{
    free(s->a.data);
    free(s->b.data);
    free(s->vh.data);
    free(s->x);
    free(s->rest);
}

static hs_least_squares squares_of(const linear_system *s, void *values)
{
    return (hs_least_squares){.dtype = s->dtype,
                              .m = s->m,
                              .n = s->n,
                              .a = s->a.data,
                              .a_row_stride = s->a.row_stride,
                              .a_col_stride = s->a.col_stride,
                              .values = values,
                              .cols = s->cols,
                              .b = s->b.data,
                              .b_row_stride = s->b.row_stride,
                              .b_col_stride = s->b.col_stride,
                              .rcond = 100 * eps[s->dtype] * (double)(s->m + s->n),
                              .rank = -1};
}

CHECK_ORACLE void check_solutions(const linear_system *s, const hs_least_squares *found)
{
    const double allowed = 60 * eps[s->dtype] * (double)(s->m + s->n + 1);
    double worst = 0;
    CHECK(!found->failed && found->rank == s->rank);
    for (int64_t i = 0; i < s->k; i++) {
        const double value = creal(get(found->values, s->dtype & 1, i)) / s->scale_a;
        worst = fmax(worst, fabs(value - value_of(s, i)));
    }
    CHECK(worst <= allowed);
    for (int64_t j = 0; j < s->cols; j++) {
        double square = 0;
        for (int64_t i = 0; i < s->n; i++) {
            const double complex x = at(&s->b, i, j) / s->scale_b * s->scale_a;
            worst = fmax(worst, cabs(x - s->x[i + j * s->n]));
        }
        for (int64_t i = s->n; i < s->m; i++) {
            const double complex x = at(&s->b, i, j) / s->scale_b;
            square += creal(x * conj(x));
        }
        if (s->m > s->n && s->rank == s->n) worst = fmax(worst, fabs(square - s->rest[j]));
    }
    CHECK(worst <= allowed * sqrt((double)(s->m + 1)));
}

/* V^H has orthonormal rows, and the rows of V^H A^H A are the rows of V^H times the squares of the
 * values. */
CHECK_ORACLE void check_vectors(const linear_system *s)
{
    const double allowed = 60 * eps[s->dtype] * (double)(s->m + s->n + 1);
    double worst = 0;
    double complex *product = malloc((size_t)(s->m + 1) * sizeof *product);
    if (!product) abort();
    for (int64_t l = 0; l < s->k; l++) {
        for (int64_t i = 0; i <= l; i++) {
            double complex sum = -(i == l);
            for (int64_t j = 0; j < s->n; j++) sum += at(&s->vh, l, j) * conj(at(&s->vh, i, j));
            worst = fmax(worst, cabs(sum));
        }
        for (int64_t i = 0; i < s->m; i++) {
            product[i] = 0;
            for (int64_t j = 0; j < s->n; j++)
                product[i] += at(&s->a, i, j) / s->scale_a * conj(at(&s->vh, l, j));
        }
        for (int64_t j = 0; j < s->n; j++) {
            double complex sum = -pow(value_of(s, l), 2) * conj(at(&s->vh, l, j));
            for (int64_t i = 0; i < s->m; i++)
                sum += conj(at(&s->a, i, j) / s->scale_a) * product[i];
            worst = fmax(worst, cabs(sum));
        }
    }
    CHECK(worst <= allowed * 10);
    free(product);
}

/* scale: exponents of the powers of two by which A and b are multiplied. */
static void check_system(int dtype, int64_t m, int64_t n, int64_t rank, int64_t cols,
                         const int scale[2])
{
    linear_system s = {.dtype = dtype,
                       .m = m,
                       .n = n,
                       .k = m < n ? m : n,
                       .rank = rank,
                       .cols = cols,
                       .scale_a = ldexp(1, scale[0]),
                       .scale_b = ldexp(1, scale[1])};
    make_system(&s);
    char *a = malloc(s.a.bytes), *b = malloc(s.b.bytes), *values = calloc((size_t)s.k + 1, 8);
    if (!a || !b || !values) abort();
    memcpy(a, s.a.data, s.a.bytes);
    memcpy(b, s.b.data, s.b.bytes);
    for (int p = 0; p < POOLS; p++) {
        hs_least_squares x = squares_of(&s, values);
        memcpy(s.b.data, b, s.b.bytes);
        CHECK(hs_run_least_squares(pools[p], &x, NULL, NULL) == HS_OK);
        check_solutions(&s, &x);
        CHECK(memcmp(a, s.a.data, s.a.bytes) == 0);
        if (p % 2) continue;
        x.vh = s.vh.data;
        x.vh_row_stride = s.vh.row_stride;
        x.vh_col_stride = s.vh.col_stride;
        memcpy(s.b.data, b, s.b.bytes);
        CHECK(hs_run_least_squares(pools[p], &x, NULL, NULL) == HS_OK);
        check_solutions(&s, &x);
        check_vectors(&s);
    }
    free(a);
    free(b);
    free(values);
    free_system(&s);
}

static void check_shapes(void)
{
    static const int64_t shapes[][2] = {{1, 1},   {1, 5},   {6, 1},   {2, 3},   {40, 40},
                                        {65, 50}, {50, 65}, {70, 20}, {20, 70}, {130, 97}};
    static const int one[2] = {0, 0};
    for (int dtype = CHECK_MANY(0, 1); dtype < CHECK_MANY(4, 3); dtype++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const int64_t m = shapes[i][0], n = shapes[i][1], k = m < n ? m : n;
            const int64_t ranks[] = {0, 1, k / 2, k - 1, k}, cols[] = {0, 1, 3, 40};
            const int64_t first = !check_few() ? 0 : m > 100 ? 4 : (int64_t)i % 3;
            for (int64_t r = first; r < 5; r += CHECK_MANY(1, 3))
                ALSO_LATE(check_system(dtype, m, n, ranks[r], cols[check_random(4)], one));
            ALSO_LATE(check_system(dtype, m, n, k, 1, one));
        }
    const int64_t large = CHECK_MANY(300, 110);
    check_system(HS_FLOAT64, large, large - 10, large / 2 - 5, large, one);
}

static void check_scales(void)
{
    static const int exponents[] = {0, 100, 950};
    static const int64_t shapes[][2] = {{30, 30}, {60, 20}, {20, 60}};
    for (int dtype = CHECK_MANY(0, 1); dtype < CHECK_MANY(4, 3); dtype++)
        for (int i = 1; i < 3; i++)
            for (int sign = 0; sign < 4; sign++) {
                const int large = dtype & 1 ? exponents[i] : exponents[i] / 9;
                const int scale[2] = {sign & 1 ? large : -large, sign & 2 ? large : -large};
                const int32_t shape = check_random(3);
                if ((sign == 1 || sign == 2) && i == 2) continue; /* x is out of range */
                check_system(dtype, shapes[shape][0], shapes[shape][1], 10, 2, scale);
            }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Returns the rank of diag(1, value). */
static int64_t rank_of(int dtype, double value, double rcond)
{
    char a[4 * 16] = {0}, b[2 * 16] = {0}, values[2 * 8];
    hs_least_squares x = {.dtype = dtype,
                          .m = 2,
                          .n = 2,
                          .a = a,
                          .a_row_stride = 1,
                          .a_col_stride = 2,
                          .values = values,
                          .cols = 1,
                          .b = b,
                          .b_row_stride = 1,
                          .b_col_stride = 2,
                          .rcond = rcond};
    set(a, dtype, 0, 1);
    set(a, dtype, 3, value);
    set(b, dtype, 0, 1);
    set(b, dtype, 1, 1);
    CHECK(hs_run_least_squares(pools[1], &x, NULL, NULL) == HS_OK && !x.failed);
    CHECK(cabs(get(b, dtype, 0) - (x.rank > 0)) <= 4 * eps[dtype]);
    CHECK(cabs(get(b, dtype, 1) * value - (x.rank > 1)) <= 4 * eps[dtype]);
    return x.rank;
}

static void check_ranks(void)
{
    for (int dtype = 0; dtype < 4; dtype++) {
        CHECK(rank_of(dtype, 0.25, 0.25) == 1);
        CHECK(rank_of(dtype, 0.25, 0.2) == 2);
        CHECK(rank_of(dtype, 0.25, 0) == 2);
        CHECK(rank_of(dtype, 0.25, 1) == 0);
        CHECK(rank_of(dtype, 0.25, 7) == 0);
        CHECK(rank_of(dtype, 0.5 * eps[dtype], -1) == 1);
        CHECK(rank_of(dtype, 4 * eps[dtype], -1) == 2);
    }
}

/* Without rows all solutions are zero, and without columns all of b is residual. */
static void check_empty(void)
{
    double b[6] = {5, 5, 5, 5, 5, 5};
    hs_least_squares x = {.dtype = HS_FLOAT64,
                          .n = 3,
                          .cols = 2,
                          .b = b,
                          .b_row_stride = 1,
                          .b_col_stride = 3,
                          .rank = -1};
    CHECK(hs_run_least_squares(pools[1], &x, NULL, NULL) == HS_OK && !x.failed && x.rank == 0);
    for (int i = 0; i < 6; i++) CHECK(b[i] == 0);
    x.m = 3;
    x.n = 0;
    for (int i = 0; i < 6; i++) b[i] = i;
    CHECK(hs_run_least_squares(pools[1], &x, NULL, NULL) == HS_OK && !x.failed && x.rank == 0);
    for (int i = 0; i < 6; i++) CHECK(b[i] == i);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void check_not_finite(void)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const int64_t shapes[][2] = {{30, 30}, {60, 20}, {20, 60}};
    for (int dtype = CHECK_MANY(0, 1); dtype < CHECK_MANY(4, 3); dtype++)
        for (int i = 0; i < 6; i++) {
            const int64_t m = shapes[i / 2][0], n = shapes[i / 2][1];
            linear_system s = {
                .dtype = dtype, .m = m, .n = n, .k = 20, .cols = 3, .scale_a = 1, .scale_b = 1};
            double values[60] = {0};
            make_system(&s);
            const matrix *to = i % 2 ? &s.b : &s.a;
            set(to->data, dtype, place(to, 7, 2), bad[check_random(3)]);
            char *kept = malloc(s.b.bytes);
            memcpy(kept, s.b.data, s.b.bytes);
            hs_least_squares x = squares_of(&s, values);
            CHECK(hs_run_least_squares(pools[2], &x, NULL, NULL) == HS_OK && x.failed);
            CHECK(memcmp(kept, s.b.data, s.b.bytes) == 0 && values[0] == 0 && x.rank == -1);
            free(kept);
            free_system(&s);
        }
}

static int refuse_at_once(void *context, double done)
{
    (void)context;
    (void)done;
    return 1;
}

/* Large enough to be polled; a machine may still be faster than the first poll. */
static void check_cancel(void)
{
    const hs_options options = {.poll = refuse_at_once};
    const int64_t n = 700;
    double *a = malloc((size_t)(n * n) * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    double *values = calloc((size_t)n, sizeof *values);
    if (!a || !b || !values) abort();
    for (int64_t i = 0; i < n * n; i++) a[i] = creal(random_value(HS_FLOAT64));
    for (int p = 0; p < POOLS; p++) {
        hs_least_squares x = {.dtype = HS_FLOAT64,
                              .m = n,
                              .n = n,
                              .a = a,
                              .a_row_stride = 1,
                              .a_col_stride = n,
                              .values = values,
                              .cols = 1,
                              .b = b,
                              .b_row_stride = 1};
        for (int64_t i = 0; i < n; i++) b[i] = 1;
        const hs_status status = hs_run_least_squares(pools[p], &x, &options, NULL);
        CHECK(status == HS_ERROR_CANCELLED || status == HS_OK);
        CHECK(status == HS_OK || (b[0] == 1 && b[n - 1] == 1 && values[0] == 0));
        values[0] = 0;
    }
    free(a);
    free(b);
    free(values);
}

static void check_refusals(void)
{
    double a[4] = {1, 0, 0, 1}, b[2] = {3, 4}, values[2] = {0};
    const hs_least_squares good = {.dtype = HS_FLOAT64,
                                   .m = 2,
                                   .n = 2,
                                   .a = a,
                                   .a_row_stride = 1,
                                   .a_col_stride = 2,
                                   .values = values,
                                   .cols = 1,
                                   .b = b,
                                   .b_row_stride = 1,
                                   .b_col_stride = 2};
    hs_least_squares x = good;
    CHECK(hs_run_least_squares(NULL, &x, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_least_squares(pools[0], NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_least_squares(pools[0], &x, &(hs_options){.pace = values}, NULL) ==
          HS_ERROR_VALUE);
    for (int wrong = 0; wrong < 9; wrong++) {
        x = good;
        if (wrong == 0) x.dtype = 4;
        if (wrong == 1) x.dtype = -1;
        if (wrong == 2) x.m = -1;
        if (wrong == 3) x.n = INT64_C(1) << 31;
        if (wrong == 4) x.cols = -1;
        if (wrong == 5) x.a = NULL;
        if (wrong == 6) x.b = NULL;
        if (wrong == 7) x.values = NULL;
        if (wrong == 8) x.rcond = NAN;
        CHECK(hs_run_least_squares(pools[0], &x, NULL, NULL) == HS_ERROR_VALUE);
    }
    CHECK(b[0] == 3 && b[1] == 4);
}

static hs_status solve_in_little_memory(hs_pool *pool, void *context)
{
    linear_system *s = context;
    double values[64];
    char b[64 * 16 * 8];
    if (s->b.bytes > sizeof b) abort();
    values[0] = BEFORE;
    memcpy(b, s->b.data, s->b.bytes);
    hs_least_squares x = squares_of(s, values);
    const hs_status status = hs_run_least_squares(pool, &x, NULL, NULL);
    if (status) CHECK(values[0] == BEFORE && memcmp(b, s->b.data, s->b.bytes) == 0);
    else check_solutions(s, &x);
    memcpy(s->b.data, b, s->b.bytes);
    return status;
}

static void check_memory(void)
{
    static const int64_t shapes[][2] = {{24, 20}, {60, 20}, {20, 60}};
    for (int i = 0; i < 3; i++) {
        linear_system s = {.dtype = HS_FLOAT64,
                           .m = shapes[i][0],
                           .n = shapes[i][1],
                           .k = 20,
                           .rank = 11,
                           .cols = 2,
                           .scale_a = 1,
                           .scale_b = 1};
        make_system(&s);
        CHECK_SCARCE(scarce_life(2, solve_in_little_memory, &s), 1);
        free_system(&s);
    }
}

int main(void)
{
    for (int32_t p = 0; p < POOLS; p++)
        if (!CHECK(hs_pool_create(p + 1, NULL, &pools[p]) == HS_OK)) return check_result();
    check_shapes();
    check_scales();
    check_ranks();
    check_empty();
    check_not_finite();
    check_cancel();
    check_refusals();
    check_memory();
    for (int p = 0; p < POOLS; p++) hs_pool_destroy(pools[p]);
    return check_result();
}
