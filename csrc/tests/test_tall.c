/* QR of blocks and of tall matrices: factors multiplied back, against the matrix; the same bits
 * from all pools; cancels, refusals, failing allocations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "elements.h"
#include "factor/qr_panel.h"
#include "late.h"
#include "scarce.h"
#include "sets.h"

static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

/* ---- blocks ---------------------------------------------------------------------------------- */

static double complex any_number(int dtype)
{
    const double re = (int)check_random(2001) - 1000;
    const double im = (int)check_random(2001) - 1000;
    return (re + (dtype >> 1 ? im * I : 0)) / 1000;
}

/* Returns max |Q R - A| and |Qᴴ Q - I|, with the columns of A in units of their largest
 * elements. */
static double errors_of(int64_t m, int64_t n, int64_t k, const double complex *a,
                        const double complex *q, const double complex *r)
{
    double worst = 0;
    for (int64_t j = 0; j < n; j++) {
        double largest = 0;
        double error = 0;
        for (int64_t i = 0; i < m; i++) {
            double complex sum = -a[i + j * m];
            for (int64_t l = 0; l < k; l++) sum += q[i + l * m] * r[l + j * k];
            error = fmax(error, cabs(sum));
            largest = fmax(largest, cabs(a[i + j * m]));
        }
        worst = fmax(worst, largest > 0 ? error / largest : error);
    }
    for (int64_t j = 0; j < k; j++)
        for (int64_t l = 0; l <= j; l++) {
            double complex sum = -(j == l);
            for (int64_t i = 0; i < m; i++) sum += conj(q[i + l * m]) * q[i + j * m];
            worst = fmax(worst, cabs(sum));
        }
    return worst;
}

/* Checks LAPACK's conventions: Q is the product of I - tau v vᴴ. */
static void check_reflectors(int dtype, int64_t m, int64_t k, int64_t ld, const void *x,
                             const void *tau, const double complex *q)
{
    double complex *own = calloc((size_t)(m * m + 1), sizeof *own);
    if (!CHECK(own != NULL)) return;
    double worst = 0;
    for (int64_t i = 0; i < m; i++) own[i + i * m] = 1;
    for (int64_t j = k; j-- > 0;)
        for (int64_t c = 0; c < m; c++) {
            double complex sum = own[j + c * m];
            for (int64_t i = j + 1; i < m; i++)
                sum += conj(get(x, dtype, i + j * ld)) * own[i + c * m];
            sum *= get(tau, dtype, j);
            own[j + c * m] -= sum;
            for (int64_t i = j + 1; i < m; i++) own[i + c * m] -= sum * get(x, dtype, i + j * ld);
        }
    for (int64_t i = 0; i < m * m; i++) worst = fmax(worst, cabs(own[i] - q[i]));
    CHECK(worst <= 40 * eps[dtype] * (double)(m + 1));
    free(own);
}

static void check_block(int dtype, int64_t m, int64_t n, double scale, double grade)
{
    const int64_t k = hs__min(m, n);
    const int64_t ld = m + check_random(3);
    const int64_t t_ld = k + check_random(2);
    const int with_t = check_random(2) != 0;
    hs__qr_type type;
    hs__qr_type_init(&type, dtype);
    char *x = malloc((size_t)(ld * n + 1) * 16);
    char *tau = malloc((size_t)(k + 1) * 16);
    char *t = malloc((size_t)(t_ld * k + 1) * 16);
    char *q = malloc((size_t)(m * m + 1) * 16);
    char *work = malloc(hs__qr_bytes(&type, n));
    double complex *a = malloc((size_t)(m * n + 1) * sizeof *a);
    double complex *full = malloc((size_t)(m * m + 1) * sizeof *full);
    double complex *r = calloc((size_t)(k * n + 1), sizeof *r);
    if (!CHECK(x && tau && t && q && work && a && full && r)) return;
    memset(x, 0x55, (size_t)(ld * n + 1) * 16);
    for (int64_t j = 0; j < n; j++) {
        const double own = pow(grade, (double)j);
        for (int64_t i = 0; i < m; i++) {
            set(x, dtype, i + j * ld, (j + 3) % 17 ? any_number(dtype) * scale * own : 0);
            a[i + j * m] = get(x, dtype, i + j * ld) / scale / own;
        }
    }
    /* R alone first, from a copy: a factorisation with T must agree with it */
    if (!with_t) {
        char *copy = malloc((size_t)(ld * n + 1) * 16);
        if (!CHECK(copy != NULL)) return;
        memcpy(copy, x, (size_t)(ld * n + 1) * 16);
        CHECK(hs__qr_factor(&type, m, n, copy, ld, tau, NULL, 0, work, NULL) == 0);
        CHECK(hs__qr_factor(&type, m, n, x, ld, tau, t, t_ld, work, NULL) == 0);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i <= j && i < k; i++)
                CHECK(cabs(get(copy, dtype, i + j * ld) - get(x, dtype, i + j * ld)) / scale /
                          pow(grade, (double)j) <=
                      1e5 * eps[dtype] * (double)m);
        free(copy);
    } else CHECK(hs__qr_factor(&type, m, n, x, ld, tau, t, t_ld, work, NULL) == 0);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j && i < k; i++)
            r[i + j * k] = get(x, dtype, i + j * ld) / scale / pow(grade, (double)j);
    for (int64_t i = 0; i < k; i++) CHECK(cimag(r[i + i * k]) == 0);
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        for (int64_t i = 0; i < m * m; i++) set(q, dtype, i, i % (m + 1) == 0);
        hs__qr_apply(&type, m, k, x, ld, t, t_ld, adjoint, m, q, m, work, NULL);
        double worst = 0;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++) {
                const double complex own = get(q, dtype, i + j * m);
                if (adjoint) worst = fmax(worst, cabs(own - conj(full[j + i * m])));
                else full[i + j * m] = own;
            }
        CHECK(worst <= 20 * eps[dtype] * (double)(m + 1));
    }
    const double error = errors_of(m, n, k, a, full, r);
    if (!CHECK(error <= 30 * eps[dtype] * (double)(m + 1)))
        fprintf(stderr, "  type %d, %d x %d, scale %g, grade %g: %g\n", dtype, (int)m, (int)n,
                scale, grade, error);
    check_reflectors(dtype, m, k, ld, x, tau, full);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = m; i < ld; i++) CHECK(x[(size_t)(i + j * ld) * size_of[dtype]] == 0x55);
    free(x);
    free(tau);
    free(t);
    free(q);
    free(work);
    free(a);
    free(full);
    free(r);
}

static void blocks(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int dtype = round % 4;
        const int precise = dtype & 1;
        const double scales[] = {1, precise ? 1e300 : 1e36, precise ? 1e-290 : 1e-30};
        const double scale = scales[check_random(3)];
        const int64_t m = round % 9 ? check_random(70) : 8 + check_random(3);
        const int64_t n = round % 7 ? check_random(60) : 7 + check_random(3);
        check_block(dtype, m, n, scale, scale == 1 && precise && check_random(2) ? 1e-4 : 1);
    }
    check_block(HS_FLOAT64, 200, 130, 1, 1); /* recursion; several bands of a triangle */
    check_block(HS_COMPLEX64, 150, 140, 1, 1);
}

static void not_numbers(void)
{
    for (int dtype = 0; dtype < 4; dtype++)
        for (int kind = 0; kind < 2; kind++) {
            static double x[2 * 40 * 12], tau[24], work[1 << 17];
            hs__qr_type type;
            hs__qr_type_init(&type, dtype);
            if (!CHECK(hs__qr_bytes(&type, 12) <= sizeof work)) return;
            for (int i = 0; i < 40 * 12; i++) set(x, dtype, i, any_number(dtype));
            set(x, dtype, 40 * 5 + 20, kind ? INFINITY : NAN);
            CHECK(hs__qr_factor(&type, 40, 12, x, 40, tau, NULL, 0, work, NULL) == 0);
            for (int i = 0; i < 5; i++) CHECK(isfinite(creal(get(x, dtype, i + i * 40))));
            CHECK(!isfinite(creal(get(x, dtype, 5 + 5 * 40))) &&
                  !isfinite(creal(get(x, dtype, 11 + 11 * 40))));
        }
}

/* ---- tall matrices --------------------------------------------------------------------------- */

enum { ROOM = 2 * 3100 * 26 };
static char a_[ROOM * 16], b_[ROOM * 16], q_[ROOM * 16], r_[26 * 26 * 32], c_[26 * 5 * 32];
static char kept[ROOM * 16], first_q[ROOM * 16], first_r[sizeof r_];
static double complex a[ROOM], q[ROOM], r[26 * 26];

/* Sets the strides of a rows x cols matrix: by rows, by columns, or by either with gaps. */
static void set_strides(int how, int64_t rows, int64_t cols, int64_t *row, int64_t *col)
{
    *row = how == 0 ? cols : 1;
    *col = how == 0 ? 1 : rows;
    if (how == 2) {
        *row = 2;
        *col = 2 * rows;
    }
}

static void check_tall(const hs_tall *x, double scale)
{
    const int64_t m = x->m;
    const int64_t n = x->n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            r[i + j * n] = get(r_, x->dtype, i * x->r_row_stride + j * x->r_col_stride) / scale;
            if (i > j) CHECK(r[i + j * n] == 0);
            if (i == j) CHECK(cimag(r[i + j * n]) == 0);
        }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            a[i + j * m] = get(a_, x->dtype, i * x->a_row_stride + j * x->a_col_stride) / scale;
            if (x->q) q[i + j * m] = get(q_, x->dtype, i * x->q_row_stride + j * x->q_col_stride);
        }
    if (x->q) CHECK(errors_of(m, n, n, a, q, r) <= 10 * eps[x->dtype] * (double)(m + 1));
    for (int64_t c = 0; c < x->k && x->q; c++) {
        double left = 0;
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -get(c_, x->dtype, j * x->c_row_stride + c * x->c_col_stride);
            for (int64_t i = 0; i < m; i++)
                sum += conj(q[i + j * m]) *
                       get(b_, x->dtype, i * x->b_row_stride + c * x->b_col_stride);
            CHECK(cabs(sum) <= 10 * eps[x->dtype] * (double)(m + 1));
        }
        for (int64_t i = 0; i < m; i++) {
            double complex rest = get(b_, x->dtype, i * x->b_row_stride + c * x->b_col_stride);
            for (int64_t j = 0; j < n; j++)
                rest -= q[i + j * m] * get(c_, x->dtype, j * x->c_row_stride + c * x->c_col_stride);
            left += creal(rest) * creal(rest) + cimag(rest) * cimag(rest);
        }
        if (x->residuals)
            CHECK(fabs(x->residuals[c] - left) <= 20 * eps[x->dtype] * (double)(m + 1));
    }
}

static hs_tall tall_of(int dtype, int64_t m, int64_t n, int64_t k, int a_how, int q_how,
                       double *residuals)
{
    hs_tall x = {.dtype = dtype, .m = m, .n = n, .k = k, .a = a_, .r = r_, .residuals = residuals};
    if (k) {
        x.b = b_;
        x.c = c_;
    }
    set_strides(a_how, m, n, &x.a_row_stride, &x.a_col_stride);
    set_strides(a_how, m, k, &x.b_row_stride, &x.b_col_stride);
    set_strides(q_how, n, n, &x.r_row_stride, &x.r_col_stride);
    set_strides(q_how, n, k, &x.c_row_stride, &x.c_col_stride);
    if (q_how < 3) {
        x.q = q_;
        set_strides(q_how, m, n, &x.q_row_stride, &x.q_col_stride);
    }
    return x;
}

/* Checks that all pools give the same bits. */
static void check_same_bits(hs_pool *const pools[3], int dtype, int64_t m, int64_t n, int64_t k,
                            int a_how, int q_how)
{
    static const double paces[] = {1e-12, 1e-12, 1e-12};
    static const double scales[] = {1, 1e30, 1e-28};
    double residuals[5], finish[3];
    const double scale = k ? 1 : scales[check_random(3)];
    hs_tall x = tall_of(dtype, m, n, k, a_how, q_how, check_random(2) ? residuals : NULL);
    for (int64_t i = 0; i < 2 * m * hs__max(n, k); i++) {
        set(a_, dtype, i, any_number(dtype) * scale);
        set(b_, dtype, i, any_number(dtype));
    }
    /* upper bounds */
    const size_t a_bytes = (size_t)(2 * m * n * 16);
    const size_t q_bytes = a_bytes + 64;
    memcpy(kept, a_, a_bytes);
    for (int p = 0; p < 4; p++) {
        hs_event events[200];
        const hs_options options = {.pace = p == 3 ? paces : NULL};
        hs_trace trace = {.events = events, .event_capacity = 200, .times.finish = finish};
        memset(q_, 0x55, q_bytes);
        memset(r_, 0x55, sizeof r_);
        CHECK(hs_tall_qr(pools[p % 3], &x, &options, &trace) == HS_OK);
        CHECK(trace.event_count >= 1);
        if (p == 0) {
            memcpy(first_q, q_, q_bytes);
            memcpy(first_r, r_, sizeof r_);
            check_tall(&x, scale);
        }
        CHECK(memcmp(first_q, q_, q_bytes) == 0 && memcmp(first_r, r_, sizeof r_) == 0);
    }
    CHECK(memcmp(kept, a_, a_bytes) == 0);
}

static void talls(hs_pool *const pools[3])
{
    for (int round = 0; round < CHECK_MANY(24, 4); round++) {
        const int dtype = round % 4;
        check_same_bits(pools, dtype, 25 + check_random(300), 1 + check_random(25), check_random(4),
                        (int)check_random(3), (int)check_random(4));
        check_same_bits(pools, dtype, 700 + check_random(2300), 1 + check_random(25),
                        check_random(4), (int)check_random(3), (int)check_random(4));
    }
    /* a tree with nodes above nodes above blocks */
    for (int how = 0; how < 4; how += CHECK_MANY(1, 2))
        check_same_bits(pools, how, 3000, 24, 2, how % 3, how);
    check_same_bits(pools, HS_FLOAT64, 24, 24, 2, 0, 0);
    check_same_bits(pools, HS_FLOAT64, 1, 1, 1, 0, 0);
    double left = -1;
    hs_tall none = tall_of(HS_FLOAT64, 0, 0, 0, 0, 0, NULL);
    CHECK(hs_tall_qr(pools[1], &none, NULL, NULL) == HS_OK);
    none = tall_of(HS_FLOAT64, 2000, 0, 1, 0, 3, &left);
    for (int i = 0; i < 2000; i++) set(b_, HS_FLOAT64, i, i % 3);
    none.c = NULL;
    CHECK(hs_tall_qr(pools[1], &none, NULL, NULL) == HS_OK && left == 667 + 666 * 4);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int stop_after(void *context, double fraction)
{
    CHECK(fraction >= 0 && fraction <= 1);
    return ++*(int *)context >= 2;
}

static void cancelling(hs_pool *pool)
{
    const double hours[] = {1, 1, 1};
    /* two workers wait for one that is paced */
    for (int slow = 0; slow < 3; slow++) {
        double pace[3] = {0};
        pace[slow] = hours[slow];
        int calls = 0;
        const hs_options options = {.pace = pace, .poll = stop_after, .poll_context = &calls};
        const hs_tall x = tall_of(HS_FLOAT64, 3000, 24, 0, 0, 0, NULL);
        double done[3];
        hs_trace trace = {.times.finish = done};
        const hs_status status = hs_tall_qr(pool, &x, &options, &trace);
        /* the slow worker may have had nothing to do */
        CHECK(status == HS_ERROR_CANCELLED || status == HS_OK);
        CHECK(status == HS_OK || calls == 2);
    }
    int calls = 0;
    const hs_options options = {.pace = hours, .poll = stop_after, .poll_context = &calls};
    const hs_tall x = tall_of(HS_FLOAT64, 3000, 24, 0, 0, 0, NULL);
    CHECK(hs_tall_qr(pool, &x, &options, NULL) == HS_ERROR_CANCELLED && calls == 2);
}

static void refusals(hs_pool *pool)
{
    const double pace[] = {1, NAN, 1};
    const hs_tall good = tall_of(HS_FLOAT64, 9, 4, 2, 0, 0, NULL);
    hs_tall bad[11];
    for (int i = 0; i < 11; i++) bad[i] = good;
    bad[0].dtype = 4;
    bad[1].dtype = -1;
    bad[2].m = 3;
    bad[3].n = -1;
    bad[4].k = -1;
    bad[5].m = (int64_t)INT32_MAX + 1;
    bad[6].a = NULL;
    bad[7].r = NULL;
    bad[8].b = NULL;
    bad[9].c = NULL;
    bad[10].k = (int64_t)INT32_MAX + 1;
    memset(r_, 0x55, sizeof r_);
    for (int i = 0; i < 11; i++) CHECK(hs_tall_qr(pool, &bad[i], NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_tall_qr(pool, &good, &(hs_options){.pace = pace}, NULL) == HS_ERROR_VALUE);
    hs_tall large = good;
    large.m = large.n = large.k = INT32_MAX;
    CHECK(hs_tall_qr(pool, &large, NULL, NULL) == HS_ERROR_MEMORY);
    CHECK(r_[0] == 0x55);
    CHECK(hs_tall_qr(pool, &good, NULL, NULL) == HS_OK);
}

static hs_status factor_in_little_memory(hs_pool *pool, void *context)
{
    memset(r_, 0x55, sizeof r_);
    const hs_status status = hs_tall_qr(pool, context, NULL, NULL);
    CHECK((status == HS_OK) == (r_[0] != 0x55));
    return status;
}

int main(void)
{
    hs_pool *pools[3] = {NULL};
    for (int p = 0; p < 3; p++)
        if (!CHECK(hs_pool_create(p + 1, NULL, &pools[p]) == HS_OK)) return check_result();
    blocks(CHECK_MANY(400, 8));
    not_numbers();
    ALSO_LATE(talls(pools));
    for (sets = CHECK_MANY(LEAST_SET, 2); sets < 2; sets++) {
        blocks(120);
        not_numbers();
        check_same_bits(pools, sets, 1500, 23, 1, 0, 0);
    }
    cancelling(pools[2]);
    refusals(pools[2]);
    for (int p = 0; p < 3; p++) hs_pool_destroy(pools[p]);
    for (int how = 0; how < 4; how += CHECK_MANY(1, 3)) {
        hs_tall x = tall_of(HS_FLOAT64, 2000, 20, 2, how % 3, how, NULL);
        CHECK_SCARCE(scarce_life(2, factor_in_little_memory, &x), 1);
    }
    return check_result();
}
