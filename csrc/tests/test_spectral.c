/* Whole decompositions: A Z = Z diag(values) and A = U diag(values) V^H with orthonormal vectors, for
 * any strides, one triangle and any number of vectors; the same bits from any pool; cancels, NaN and
 * infinities, failing allocations. Other tests look at the stages. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "elements.h"
#include "late.h"
#include "scarce.h"
#include "strided.h"

enum { POOLS = 4 };
static hs_pool *pools[POOLS];
static double value_at(int dtype, const void *values, int64_t i)
{
    return creal(get(values, dtype & 1, (ptrdiff_t)i));
}

/* Returns max |X^H X - I| for the columns, or with `rows` the rows, of a matrix. */
static double orthonormal_error(const matrix *x, int rows)
{
    const int64_t count = rows ? x->rows : x->cols;
    const int64_t length = rows ? x->cols : x->rows;
    double worst = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j <= i; j++) {
            double complex sum = -(i == j);
            for (int64_t l = 0; l < length; l++)
                sum += rows ? conj(at(x, i, l)) * at(x, j, l) : conj(at(x, l, i)) * at(x, l, j);
            worst = fmax(worst, cabs(sum));
        }
    return worst;
}

/* ---- Hermitian matrices ---------------------------------------------------------------------- */

static hs_eigh eigh_of(const matrix *a, int upper, void *values, const matrix *z, int64_t first)
{
    return (hs_eigh){.dtype = a->dtype,
                     .n = a->rows,
                     .a = a->data,
                     .a_row_stride = a->row_stride,
                     .a_col_stride = a->col_stride,
                     .upper = upper,
                     .values = values,
                     .vectors = z ? z->data : NULL,
                     .row_stride = z ? z->row_stride : 0,
                     .col_stride = z ? z->col_stride : 0,
                     .first = z ? first : 0,
                     .count = z ? z->cols : 0};
}

/* Fills a matrix: Hermitian, with NaN in the triangle that is not read. */
static void fill_half(const matrix *a, int upper)
{
    for (int64_t j = 0; j < a->cols; j++)
        for (int64_t i = j; i < a->rows; i++) {
            const double complex x = random_value(a->dtype);
            const int64_t row = upper ? j : i;
            const int64_t col = upper ? i : j;
            set(a->data, a->dtype, place(a, row, col), upper ? conj(x) : x);
            if (i == j) set(a->data, a->dtype, place(a, i, i), creal(x));
            else set(a->data, a->dtype, place(a, col, row), NAN);
        }
}

static double complex whole_at(const matrix *a, int upper, int64_t i, int64_t j)
{
    return (upper ? i <= j : i >= j) ? at(a, i, j) : conj(at(a, j, i));
}

/* The vectors of the values in a range are those that are found by the numbers of these values.
 * x has found the vectors z. */
static void check_range_of_values(hs_eigh x, const matrix *z)
{
    const int64_t first = x.first;
    const matrix own = make_matrix(x.dtype, x.n, x.n);
    int different = 0;
    x.by_value = 1;
    x.low = first ? value_at(x.dtype, x.values, first - 1) : -INFINITY;
    x.high =
        z->cols ? value_at(x.dtype, x.values, first + z->cols - 1) : nextafter(x.low, INFINITY);
    x.vectors = own.data;
    x.row_stride = own.row_stride;
    x.col_stride = own.col_stride;
    x.first = x.count = -1; /* not read */
    CHECK(hs_run_eigh(pools[1], &x, NULL, NULL) == HS_OK && !x.failed);
    CHECK(x.first == first && x.count == z->cols);
    for (int64_t j = 0; j < x.count; j++)
        for (int64_t i = 0; i < x.n; i++) different += at(&own, i, j) != at(z, i, j);
    CHECK(different == 0);
    free(own.data);
}

static void check_eigh(int dtype, int64_t n, int upper)
{
    const int64_t count = n ? check_random((unsigned)n + 1) : 0;
    const int64_t first = n ? check_random((unsigned)(n - count) + 1) : 0;
    const matrix a = make_matrix(dtype, n, n);
    matrix z = make_matrix(dtype, n, count);
    fill_half(&a, upper);
    char *values = malloc((size_t)(n + 1) * 8);
    char *own = malloc((size_t)(n + 1) * 8);
    char *bits = malloc(z.bytes);
    if (!values || !own || !bits) abort();
    memset(values, 0, (size_t)(n + 1) * 8);
    memset(own, 0, (size_t)(n + 1) * 8);
    hs_eigh x = eigh_of(&a, upper, values, &z, first);
    CHECK(hs_run_eigh(pools[0], &x, NULL, NULL) == HS_OK && !x.failed);
    const double allowed = 30.0 * eps[dtype] * (double)(n + 1);
    double worst = 0;
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < n; i++) {
            double complex sum = -value_at(dtype, values, first + j) * at(&z, i, j);
            for (int64_t l = 0; l < n; l++) sum += whole_at(&a, upper, i, l) * at(&z, l, j);
            worst = fmax(worst, cabs(sum));
        }
    CHECK(worst <= allowed * (double)n);
    CHECK(orthonormal_error(&z, 0) <= allowed);
    double trace = 0;
    for (int64_t i = 0; i < n; i++) {
        trace += creal(at(&a, i, i)) - value_at(dtype, values, i);
        if (i) CHECK(value_at(dtype, values, i - 1) <= value_at(dtype, values, i));
    }
    CHECK(fabs(trace) <= allowed * (double)(n + 1));
    memcpy(bits, z.data, z.bytes);
    for (int p = 1; p < POOLS; p++) {
        x.values = own;
        CHECK(hs_run_eigh(pools[p], &x, NULL, NULL) == HS_OK && !x.failed);
        CHECK(memcmp(own, values, (size_t)n * (4u << (dtype & 1))) == 0);
        CHECK(memcmp(bits, z.data, z.bytes) == 0);
    }
    check_range_of_values(x, &z);
    x.vectors = NULL;
    CHECK(hs_run_eigh(pools[1], &x, NULL, NULL) == HS_OK);
    for (int64_t i = 0; i < n; i++)
        CHECK(fabs(value_at(dtype, own, i) - value_at(dtype, values, i)) <=
              allowed * (double)(n + 1));
    free(bits);
    free(own);
    free(values);
    free(z.data);
    free(a.data);
}

/* ---- singular values ------------------------------------------------------------------------- */

static hs_svd svd_of(const matrix *a, void *values, const matrix *u, const matrix *vh)
{
    hs_svd x = {.dtype = a->dtype,
                .m = a->rows,
                .n = a->cols,
                .a = a->data,
                .a_row_stride = a->row_stride,
                .a_col_stride = a->col_stride,
                .values = values};
    if (u) {
        x.u = u->data;
        x.u_cols = u->cols;
        x.u_row_stride = u->row_stride;
        x.u_col_stride = u->col_stride;
    }
    if (vh) {
        x.vh = vh->data;
        x.vh_rows = vh->rows;
        x.vh_row_stride = vh->row_stride;
        x.vh_col_stride = vh->col_stride;
    }
    return x;
}

static void check_svd(int dtype, int64_t m, int64_t n, int all)
{
    const int64_t k = m < n ? m : n;
    const double largest = (double)(m > n ? m : n) + 1;
    const matrix a = make_matrix(dtype, m, n);
    const matrix u = make_matrix(dtype, m, all ? m : k);
    const matrix vh = make_matrix(dtype, all ? n : k, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) set(a.data, dtype, place(&a, i, j), random_value(dtype));
    char *values = calloc((size_t)k + 1, 8);
    char *own = calloc((size_t)k + 1, 8);
    char *left = malloc(u.bytes);
    char *right = malloc(vh.bytes);
    if (!values || !own || !left || !right) abort();
    hs_svd x = svd_of(&a, values, &u, &vh);
    CHECK(hs_run_svd(pools[0], &x, NULL, NULL) == HS_OK && !x.failed);
    const double allowed = 30.0 * eps[dtype] * largest;
    double worst = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -at(&a, i, j);
            for (int64_t l = 0; l < k; l++)
                sum += at(&u, i, l) * value_at(dtype, values, l) * at(&vh, l, j);
            worst = fmax(worst, cabs(sum));
        }
    CHECK(worst <= allowed * largest);
    CHECK(orthonormal_error(&u, 0) <= allowed);
    CHECK(orthonormal_error(&vh, 1) <= allowed);
    for (int64_t i = 1; i < k; i++)
        CHECK(value_at(dtype, values, i - 1) >= value_at(dtype, values, i));
    if (k) CHECK(value_at(dtype, values, k - 1) >= 0);
    memcpy(left, u.data, u.bytes);
    memcpy(right, vh.data, vh.bytes);
    for (int p = 1; p < POOLS; p++) {
        x.values = own;
        /* each side alone, too */
        if (p == 2) x.vh = NULL;
        if (p == 3) x = svd_of(&a, own, NULL, &vh);
        CHECK(hs_run_svd(pools[p], &x, NULL, NULL) == HS_OK && !x.failed);
        CHECK(memcmp(own, values, (size_t)k * (4u << (dtype & 1))) == 0);
        CHECK(memcmp(left, u.data, u.bytes) == 0 && memcmp(right, vh.data, vh.bytes) == 0);
    }
    x = svd_of(&a, own, NULL, NULL);
    CHECK(hs_run_svd(pools[1], &x, NULL, NULL) == HS_OK);
    for (int64_t i = 0; i < k; i++)
        CHECK(fabs(value_at(dtype, own, i) - value_at(dtype, values, i)) <= allowed * largest);
    free(right);
    free(left);
    free(own);
    free(values);
    free(vh.data);
    free(u.data);
    free(a.data);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static int refuse_at_once(void *context, double done)
{
    (void)context;
    (void)done;
    return 1;
}

/* Large enough to be polled; a machine may still be faster than the first poll. */
static void check_cancel(void)
{
    const matrix a = make_matrix(HS_FLOAT64, 700, 700);
    fill_half(&a, 0);
    double *values = calloc(700, sizeof *values);
    const hs_options options = {.poll = refuse_at_once};
    for (int p = 0; p < POOLS; p++) {
        hs_eigh x = eigh_of(&a, 0, values, NULL, 0);
        const hs_status status = hs_run_eigh(pools[p], &x, &options, NULL);
        CHECK(status == HS_ERROR_CANCELLED || status == HS_OK);
    }
    free(values);
    free(a.data);
}

static void check_not_finite(void)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int dtype = 0; dtype < 4; dtype++)
        for (int k = 0; k < 3; k++) {
            const int64_t n = 40;
            const matrix a = make_matrix(dtype, n, n);
            const matrix z = make_matrix(dtype, n, n);
            double values[40] = {0};
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) set(a.data, dtype, place(&a, i, j), 1);
            set(a.data, dtype, place(&a, n - 1, check_random((unsigned)n)), bad[k]);
            hs_eigh x = eigh_of(&a, 0, values, &z, 0);
            CHECK(hs_run_eigh(pools[2], &x, NULL, NULL) == HS_OK && x.failed);
            hs_svd y = svd_of(&a, values, &z, &z);
            CHECK(hs_run_svd(pools[2], &y, NULL, NULL) == HS_OK && y.failed);
            CHECK(values[0] == 0 && at(&z, 0, 0) == -77 && at(&z, n - 1, n - 1) == -77);
            free(z.data);
            free(a.data);
        }
}

static void check_refusals(void)
{
    double a[4] = {1, 0, 0, 1};
    double values[2] = {0};
    double z[4] = {0};
    const hs_eigh good = {.dtype = HS_FLOAT64,
                          .n = 2,
                          .a = a,
                          .a_row_stride = 1,
                          .a_col_stride = 2,
                          .values = values,
                          .vectors = z,
                          .row_stride = 1,
                          .col_stride = 2,
                          .count = 2};
    hs_eigh x = good;
    CHECK(hs_run_eigh(pools[0], &x, NULL, NULL) == HS_OK);
    CHECK(hs_run_eigh(NULL, &x, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_eigh(pools[0], &x, &(hs_options){.pace = values}, NULL) == HS_ERROR_VALUE);
    for (int wrong = 0; wrong < 9; wrong++) {
        x = good;
        if (wrong == 0) x.dtype = 4;
        if (wrong == 1) x.n = -1;
        if (wrong == 2) x.a = NULL;
        if (wrong == 3) x.values = NULL;
        if (wrong == 4) x.count = 3;
        if (wrong == 5) x.first = 1;
        if (wrong == 6) x.first = -1;
        if (wrong >= 7) x.by_value = 1; /* low = high */
        if (wrong == 8) x.high = NAN;
        CHECK(hs_run_eigh(pools[0], &x, NULL, NULL) == HS_ERROR_VALUE);
    }
    hs_svd y = {.dtype = HS_FLOAT64,
                .m = 2,
                .n = 2,
                .a = a,
                .a_row_stride = 1,
                .a_col_stride = 2,
                .values = values};
    CHECK(hs_run_svd(pools[0], &y, NULL, NULL) == HS_OK && values[0] == 1 && values[1] == 1);
    for (int wrong = 0; wrong < 6; wrong++) {
        hs_svd w = y;
        if (wrong == 0) w.dtype = -1;
        if (wrong == 1) w.m = -1;
        if (wrong == 2) w.a = NULL;
        if (wrong == 3) w.values = NULL;
        if (wrong == 4) w.u = z;
        if (wrong == 4) w.u_cols = 1;
        if (wrong == 5) w.vh = z;
        CHECK(hs_run_svd(pools[0], &w, NULL, NULL) == HS_ERROR_VALUE);
    }
}

static hs_status decompose_in_little_memory(hs_pool *pool, void *context)
{
    const matrix *a = context;
    double values[64];
    double z[64 * 64];
    values[0] = z[0] = -77;
    const matrix to = {HS_FLOAT64, 64, 64, 1, 64, (char *)z, sizeof z};
    hs_eigh x = eigh_of(a, 0, values, &to, 0);
    hs_status status = hs_run_eigh(pool, &x, NULL, NULL);
    CHECK((status == HS_ERROR_MEMORY) == (values[0] == -77 && z[0] == -77));
    if (status) return status;
    values[0] = -77;
    hs_svd y = svd_of(a, values, NULL, NULL);
    status = hs_run_svd(pool, &y, NULL, NULL);
    CHECK((status == HS_ERROR_MEMORY) == (values[0] == -77));
    return status;
}

static void check_memory(void)
{
    const matrix a = make_matrix(HS_FLOAT64, 64, 64);
    for (int64_t i = 0; i < 64; i++)
        for (int64_t j = 0; j < 64; j++)
            set(a.data, HS_FLOAT64, place(&a, i, j), 1.0 / (double)(i + j + 1));
    CHECK_SCARCE(scarce_life(2, decompose_in_little_memory, (void *)&a), 1);
    free(a.data);
}

int main(void)
{
    static const int64_t orders[] = {0, 1, 2, 3, 31, 32, 33, 64, 97, 150};
    static const int64_t shapes[][2] = {{0, 3}, {3, 0},   {1, 4},   {5, 1},
                                        {9, 8}, {33, 64}, {70, 35}, {90, 91}};
    for (int32_t p = 0; p < POOLS; p++)
        if (!CHECK(hs_pool_create(p + 1, NULL, &pools[p]) == HS_OK)) return check_result();
    for (int dtype = CHECK_MANY(0, 1); dtype < CHECK_MANY(4, 3); dtype++) {
        const int64_t few = dtype == HS_FLOAT64 ? 97 : 33;
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            if (orders[i] > CHECK_MANY(150, few)) continue;
            ALSO_LATE(check_eigh(dtype, orders[i], (int)check_random(2)));
            if (orders[i] <= 97) ALSO_LATE(check_svd(dtype, orders[i], orders[i], 0));
        }
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            if (shapes[i][0] > CHECK_MANY(90, few)) continue;
            ALSO_LATE(check_svd(dtype, shapes[i][0], shapes[i][1], (int)check_random(2)));
        }
    }
    check_cancel();
    check_not_finite();
    check_refusals();
    check_memory();
    for (int p = 0; p < POOLS; p++) hs_pool_destroy(pools[p]);
    return check_result();
}
