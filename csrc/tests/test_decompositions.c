/* The drop-in library's eigenvalues, singular values and least squares (blas/spectral.c), with a gate of the test's
 * own that lets every call through. A call that finds no memory, at whichever allocation, must leave
 * its matrices to the library behind as they were. Results are checked by invariants of the matrix;
 * tests/dropin checks the vectors. */
#include <math.h>
#include <string.h>

#include "blas/gate.h"
#include "blas/spectral.h"
#include "elements.h"
#include "scarce.h"

/* ---- the gate -------------------------------------------------------------------------------- */

hs__least hs__least_volumes[HS__ROUTINES][4];
int hs__counting;
static hs_pool *pool_now;
static hs_status last_status;

void hs__count_call(const hs__entry *entry, hs__fate fate, double volume)
{
    (void)entry;
    (void)fate;
    (void)volume;
}

int hs__begin_call(hs__call *call, hs__entry *entry, double volume)
{
    return hs__begin_shaped_call(call, entry, volume, volume, volume);
}

int hs__begin_shaped_call(hs__call *call, hs__entry *entry, double volume, double shared,
                          double alone)
{
    (void)shared;
    (void)alone;
    *call = (hs__call){.entry = entry, .pool = pool_now, .volume = volume};
    return 1;
}

int hs__end_call(hs__call *call, hs_status status)
{
    (void)call;
    last_status = status;
    return status == HS_OK;
}

int hs__refuse_call(hs__entry *entry, double volume)
{
    (void)entry;
    (void)volume;
    last_status = HS_ERROR_VALUE;
    return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum { MOST = 60, SIDES = 2, ELEMENTS = MOST * MOST, BYTES = 16 };

typedef struct {
    hs__routine routine;
    int32_t dtype, m, n;
    const char *jobs;
} call;

static _Alignas(64) char a[ELEMENTS * BYTES], b[ELEMENTS * BYTES], values[MOST * BYTES];
static _Alignas(64) char first_vectors[ELEMENTS * BYTES], second_vectors[ELEMENTS * BYTES];
static _Alignas(64) char a_kept[sizeof a], b_kept[sizeof b];
static int32_t found_rank;

static double real_at(int32_t dtype, const char *x, int64_t i) { return creal(get(x, dtype, i)); }

static int is_squares(const call *x) { return x->routine == HS__GELSD || x->routine == HS__GELSS; }

/* Whether the values are singular values. */
static int is_svd(const call *x)
{
    return x->routine == HS__GESDD || x->routine == HS__GESVD || is_squares(x);
}

static int is_pair(const call *x) { return x->routine == HS__SYGVD || x->routine == HS__HEGVD; }

static int is_ranged(const call *x) { return x->routine == HS__SYEVR || x->routine == HS__HEEVR; }

/* Makes a real symmetric matrix for eigenvalues, any real one for singular values, and B = 3 I,
 * which is also the right-hand sides. */
static void fill(const call *x)
{
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < x->m; i++) {
            const double own = is_svd(x) ? (double)((i * 7 + j * 11) % 13) - 6
                                         : 1.0 / (double)(1 + i + j) + (i == j ? 2 : 0);
            set(a, x->dtype, i + j * x->m, own);
            if (i == j) set(b, x->dtype, i + j * (is_squares(x) ? MOST : x->m), 3);
        }
    memcpy(a_kept, a, sizeof a);
    memcpy(b_kept, b, sizeof b);
}

/* Calls a function with the arguments of LAPACK, of which `jobs` has the letters. */
static int take(const call *x)
{
    static const int32_t one = 1, sides = SIDES, least = MOST, room = 1 << 20;
    static const double cut = 1e-3; /* the matrix has values that are roundings */
    static const float cut_single = 1e-3F;
    static char work[1];
    hs__entry entry = {.bits = 32, .routine = x->routine, .dtype = x->dtype};
    const void *at[24];
    int k = 0;
    for (int i = 0; i < 24; i++) at[i] = &room; /* sizes of workspaces, and what is not read */
    if (is_pair(x)) at[k++] = &one;
    if (!is_squares(x)) at[k++] = x->jobs;
    if (!is_squares(x) && x->routine != HS__GESDD) at[k++] = x->jobs + 1;
    if (is_ranged(x)) at[k++] = x->jobs + 2;
    if (is_svd(x)) at[k++] = &x->m;
    at[k++] = &x->n;
    if (is_squares(x)) at[k++] = &sides;
    at[k++] = a;
    at[k++] = &x->m;
    if (is_pair(x) || is_squares(x)) {
        at[k++] = b;
        at[k++] = is_squares(x) ? &least : &x->m;
    }
    if (is_ranged(x)) {
        static const double low = 0, high = 1e30;
        static const float low_single = 0, high_single = 1e30F;
        static int32_t first = 1, count, support[2 * MOST];
        at[k++] = x->dtype & 1 ? (const void *)&low : &low_single;
        at[k++] = x->dtype & 1 ? (const void *)&high : &high_single;
        at[k++] = &first;
        at[k++] = &x->n;
        k++;
        at[k++] = &count;
        at[k++] = values;
        at[k++] = first_vectors;
        at[k++] = &least;
        at[k++] = support;
        at[k++] = work;
    } else {
        at[k++] = values;
    }
    if (is_squares(x)) {
        at[k++] = x->dtype & 1 ? (const void *)&cut : &cut_single;
        at[k++] = &found_rank;
    } else if (is_svd(x)) {
        at[k++] = first_vectors;
        at[k++] = &least;
        at[k++] = second_vectors;
        at[k++] = &least;
    }
    return hs__take_spectral(&entry, at);
}

/* The sum of the eigenvalues is the trace, and the sum of the squares of the singular values that of
 * all elements. The second matrix of a pair is 3 I. */
static void check_values(const call *x)
{
    const int64_t k = x->m < x->n ? x->m : x->n;
    double sum = 0, size = 1;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < x->m; i++) {
            const double own = real_at(x->dtype, a_kept, i + j * x->m);
            sum += is_svd(x) ? own * own : i == j ? own : 0;
        }
    if (is_pair(x)) sum /= 3;
    size += fabs(sum);
    for (int64_t i = 0; i < k; i++) {
        const double own = real_at(x->dtype & 1, values, i);
        sum -= is_svd(x) ? own * own : own;
    }
    CHECK(fabs(sum) <= size * (x->dtype & 1 ? 1e-13 : 1e-5) * (double)k);
}

/* The gradient A^H (A x - b) is zero. The matrix is real. */
static void check_solutions(const call *x)
{
    const int64_t k = x->m < x->n ? x->m : x->n;
    double worst = 0;
    for (int64_t side = 0; side < SIDES; side++) {
        double rest[MOST];
        for (int64_t i = 0; i < x->m; i++) {
            rest[i] = -real_at(x->dtype, b_kept, i + side * MOST);
            for (int64_t j = 0; j < x->n; j++)
                rest[i] +=
                    real_at(x->dtype, a_kept, i + j * x->m) * real_at(x->dtype, b, j + side * MOST);
        }
        for (int64_t j = 0; j < x->n; j++) {
            double sum = 0;
            for (int64_t i = 0; i < x->m; i++)
                sum += real_at(x->dtype, a_kept, i + j * x->m) * rest[i];
            worst = fmax(worst, fabs(sum));
        }
    }
    CHECK(worst <= (x->dtype & 1 ? 1e-10 : 1e-2));
    CHECK(found_rank > 0 && found_rank <= k);
}

static hs_status run_call(hs_pool *pool, void *context)
{
    const call *x = context;
    pool_now = pool;
    last_status = HS_OK;
    memcpy(a, a_kept, sizeof a);
    memcpy(b, b_kept, sizeof b);
    if (take(x)) {
        check_values(x);
        if (is_squares(x)) check_solutions(x);
        return HS_OK;
    }
    CHECK(memcmp(a, a_kept, sizeof a) == 0);
    CHECK(memcmp(b, b_kept, sizeof b) == 0);
    return last_status;
}

static void check_call(call x)
{
    fill(&x);
    CHECK_SCARCE(scarce_life(2, run_call, &x), 1);
    set(a_kept, x.dtype, x.m, NAN);
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    CHECK(run_call(pool, &x) == HS_ERROR_VALUE);
    hs_pool_destroy(pool);
}

int main(void)
{
    static const hs__routine names[2][3] = {{HS__SYEV, HS__SYEVD, HS__SYGVD},
                                            {HS__HEEV, HS__HEEVD, HS__HEGVD}};
    static const int32_t shapes[][2] = {{24, 24}, {60, 20}, {20, 60}};
    static const char *const jobs[] = {"OS", "SO", "SA", "NN"}, *const both[] = {"O", "A", "N"};
    for (int32_t dtype = CHECK_MANY(0, 1); dtype < CHECK_MANY(4, 3); dtype++) {
        const int is_complex = dtype >= HS_COMPLEX64;
        for (int i = 0; i < 3; i++) check_call((call){names[is_complex][i], dtype, 24, 24, "VU"});
        check_call((call){is_complex ? HS__HEEVR : HS__SYEVR, dtype, 24, 24, "VAU"});
        check_call((call){is_complex ? HS__HEEVR : HS__SYEVR, dtype, 24, 24, "VVU"});
        for (int s = 0; s < 3; s++) {
            check_call((call){HS__GELSD, dtype, shapes[s][0], shapes[s][1], ""});
            check_call((call){HS__GELSS, dtype, shapes[s][0], shapes[s][1], ""});
            for (int i = 0; i < 4; i += CHECK_MANY(1, 2))
                check_call((call){HS__GESVD, dtype, shapes[s][0], shapes[s][1], jobs[i]});
            for (int i = 0; i < 3; i += CHECK_MANY(1, 2))
                check_call((call){HS__GESDD, dtype, shapes[s][0], shapes[s][1], both[i]});
        }
    }
    return check_result();
}
