/* The reduction of a general matrix to bidiagonal form: A = U1 B V1^H with unitary factors and a
 * band, the band = U2 R V2^H with a real bidiagonal R; the same bits from any pool; cancels, NaN
 * and infinities. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "elements.h"
#include "late.h"
#include "sets.h"
#include "spectral/general.h"
#include "spectral/general_chase.h"

/* A matrix with all that the stages write.
 *   u, v  C of the products with U1 and V1: identities at first
 *   d, e  the bidiagonal matrix that the band has become; NULL: the band is as it was */
typedef struct {
    hs__general x;
    int64_t u_ld, v_ld;
    char *u, *v;
    const void *d, *e;
    size_t a_bytes, u_bytes, v_bytes, band_bytes;
} problem;

static char *make_room(size_t bytes)
{
    char *room = NULL;
    if (posix_memalign((void **)&room, 64, bytes + 64)) abort();
    memset(room, 0x7f, bytes + 64);
    return room;
}

static double complex random_value(int dtype)
{
    const double re = check_random(2001) / 1000.0 - 1, im = check_random(2001) / 1000.0 - 1;
    return dtype >> 1 ? re + im * I : re;
}

static problem make_problem(int dtype, int64_t m, int64_t n, int64_t width, int64_t gap)
{
    const size_t e = size_of[dtype];
    problem p = {.x = {.dtype = dtype,
                       .m = m,
                       .n = n,
                       .width = width,
                       .ld = m + gap,
                       .band_ld = 3 * width + 1 + gap,
                       .kernel = hs__kernel_current()},
                 .u_ld = m + 2 * gap,
                 .v_ld = n + gap};
    p.a_bytes = (size_t)(p.x.ld * n) * e;
    p.band_bytes = (size_t)(p.x.band_ld * n) * e;
    p.u_bytes = (size_t)(p.u_ld * m) * e;
    p.v_bytes = (size_t)(p.v_ld * n) * e;
    p.x.a = make_room(p.a_bytes);
    p.x.band = make_room(p.band_bytes);
    p.x.left_t = make_room(hs__general_t_bytes(&p.x));
    p.x.right_t = make_room(hs__general_t_bytes(&p.x));
    p.x.work = make_room(hs__general_bytes(&p.x, m));
    p.u = make_room(p.u_bytes);
    p.v = make_room(p.v_bytes);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++) set(p.u, dtype, i + j * p.u_ld, i == j);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) set(p.v, dtype, i + j * p.v_ld, i == j);
    return p;
}

static void free_problem(problem *p)
{
    free(p->x.a);
    free(p->x.band);
    free(p->x.left_t);
    free(p->x.right_t);
    free(p->x.work);
    free(p->u);
    free(p->v);
}

static void do_reduction(void *context, hs__walk *walk)
{
    problem *p = context;
    if (hs__general_to_band(walk, &p->x)) return;
    if (hs__general_left(walk, &p->x, 0, p->u, p->u_ld, p->x.m)) return;
    (void)hs__general_right(walk, &p->x, 0, p->v, p->v_ld, p->x.n);
}

static hs_status run_reduction(hs_pool *pool, problem *p)
{
    return hs__phases_run(pool, NULL, NULL, HS__SHARED, hs__general_scratch(&p->x), do_reduction,
                          p);
}

/* ---- what is true ---------------------------------------------------------------------------- */

static double epsilon_of(int dtype) { return dtype & 1 ? DBL_EPSILON : FLT_EPSILON; }

/* Returns the norm of Q^H Q - I. */
CHECK_ORACLE double loss_of_orthogonality(const char *q, int dtype, int64_t n, int64_t ld)
{
    double square = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            double complex sum = -(i == j);
            for (int64_t l = 0; l < n; l++)
                sum += conj(get(q, dtype, l + i * ld)) * get(q, dtype, l + j * ld);
            square += (i == j ? 1 : 2) * (creal(sum) * creal(sum) + cimag(sum) * cimag(sum));
        }
    return sqrt(square);
}

/* Returns an element of B, or of the bidiagonal matrix. */
CHECK_ORACLE double complex band_value(const problem *p, int64_t i, int64_t j)
{
    const int64_t b = p->x.width;
    if (i > j || j - i > b) return 0;
    if (p->d && i == j) return get(p->d, p->x.dtype & 1, i);
    if (p->d) return i + 1 == j ? get(p->e, p->x.dtype & 1, i) : 0;
    return get(p->x.band, p->x.dtype, 2 * b + i - j + j * p->x.band_ld);
}

/* Returns the norm of A - U1 B V1^H over that of A. */
CHECK_ORACLE double relative_residual(const problem *p, const char *a)
{
    const int dtype = p->x.dtype;
    const int64_t m = p->x.m, n = p->x.n, b = p->x.width;
    double complex *left = malloc((size_t)(m * n + 1) * sizeof *left);
    double square = 0;
    double norm = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            double complex sum = 0;
            for (int64_t l = j > b ? j - b : 0; l <= j; l++)
                sum += get(p->u, dtype, i + l * p->u_ld) * band_value(p, l, j);
            left[i * n + j] = sum;
        }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            const double complex own = get(a, dtype, i + j * p->x.ld);
            double complex sum = -own;
            for (int64_t l = 0; l < n; l++)
                sum += left[i * n + l] * conj(get(p->v, dtype, j + l * p->v_ld));
            square += creal(sum * conj(sum));
            norm += creal(own * conj(own));
        }
    free(left);
    return norm > 0 ? sqrt(square / norm) : sqrt(square);
}

/* Whether the room beside the band is zero, and rows beside A and the identities are untouched. */
static int has_clean_margins(const problem *p)
{
    const hs__general *x = &p->x;
    const size_t e = size_of[x->dtype];
    int clean = 1;
    for (int64_t j = 0; j < x->n; j++) {
        for (int64_t i = 0; i < x->band_ld; i++)
            if (i < x->width || i > 2 * x->width || i - 2 * x->width + j < 0)
                clean &= get(x->band, x->dtype, i + j * x->band_ld) == 0;
        for (size_t i = 0; i < (size_t)(x->ld - x->m) * e; i++)
            clean &= x->a[(size_t)(x->m + j * x->ld) * e + i] == 0x7f;
        for (size_t i = 0; i < (size_t)(p->v_ld - x->n) * e; i++)
            clean &= p->v[(size_t)(x->n + j * p->v_ld) * e + i] == 0x7f;
    }
    return clean;
}

/* Reduces one matrix on each pool. All must find the same bits; the first result is checked. */
static void check_reduction(hs_pool **pools, int count, int dtype, int64_t m, int64_t n,
                            int64_t width, int64_t gap, double scale)
{
    problem first = make_problem(dtype, m, n, width, gap);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            set(first.x.a, dtype, i + j * first.x.ld, scale * random_value(dtype));
    char *a = make_room(first.a_bytes);
    memcpy(a, first.x.a, first.a_bytes);
    CHECK(run_reduction(pools[0], &first) == HS_OK);
    const double eps = epsilon_of(dtype), size = (double)(m + 10);
    CHECK(relative_residual(&first, a) < 2 * size * eps);
    CHECK(loss_of_orthogonality(first.u, dtype, m, first.u_ld) < 2 * size * eps);
    CHECK(loss_of_orthogonality(first.v, dtype, n, first.v_ld) < 2 * size * eps);
    CHECK(has_clean_margins(&first));
    for (int i = 1; i < count; i++) {
        problem other = make_problem(dtype, m, n, width, gap);
        memcpy(other.x.a, a, first.a_bytes);
        CHECK(run_reduction(pools[i], &other) == HS_OK);
        CHECK(!memcmp(other.x.a, first.x.a, first.a_bytes));
        CHECK(!memcmp(other.x.band, first.x.band, first.band_bytes));
        CHECK(!memcmp(other.u, first.u, first.u_bytes));
        CHECK(!memcmp(other.v, first.v, first.v_bytes));
        free_problem(&other);
    }
    free_problem(&first);
    free(a);
}

/* ---- chase ----------------------------------------------------------------------------------- */

typedef struct {
    hs__general_band x;
    hs__chased left, right;
    size_t band_bytes, v_bytes, tau_bytes;
} band_problem;

static band_problem make_band_problem(int dtype, int64_t n, int64_t width, int64_t gap)
{
    const size_t e = size_of[dtype];
    band_problem p = {
        .x = {.dtype = dtype, .n = n, .width = width, .band_ld = 3 * width + 1 + gap}};
    p.left = (hs__chased){.dtype = dtype,
                          .n = n,
                          .width = width,
                          .sweeps = n ? n - 1 : 0,
                          .places = hs__chased_places(n, width)};
    p.band_bytes = (size_t)(p.x.band_ld * n) * e;
    p.tau_bytes = (size_t)(p.left.sweeps * p.left.places) * e;
    p.v_bytes = p.tau_bytes * (size_t)width;
    p.right = p.left;
    p.left.v = make_room(p.v_bytes);
    p.left.tau = make_room(p.tau_bytes);
    p.right.v = make_room(p.v_bytes);
    p.right.tau = make_room(p.tau_bytes);
    p.x.band = make_room(p.band_bytes);
    p.x.d = make_room((size_t)n * e);
    p.x.e = make_room((size_t)n * e);
    p.x.work = make_room(hs__general_band_bytes(&p.x));
    return p;
}

static void free_band_problem(band_problem *p)
{
    free(p->left.v);
    free(p->left.tau);
    free(p->right.v);
    free(p->right.tau);
    free(p->x.band);
    free(p->x.d);
    free(p->x.e);
    free(p->x.work);
}

static void do_chase(void *context, hs__walk *walk) { (void)hs__general_chase(walk, context); }

static hs_status run_chase(hs_pool *pool, hs__general_band *x)
{
    return hs__phases_run(pool, NULL, NULL, HS__SHARED, hs__general_band_scratch(x), do_chase, x);
}

/* Multiplies x (n x n, by columns) from the left by the reflectors, by their definition. */
static void apply_by_definition(const hs__chased *h, double complex *x)
{
    for (int64_t at = h->sweeps * h->places - 1; at >= 0; at--) {
        const int64_t row = at / h->places + 1 + at % h->places * h->width;
        const int64_t count = hs__min(h->width, h->n - row);
        const double complex tau = get(h->tau, h->dtype, at);
        if (count <= 0) {
            CHECK(tau == 0);
            continue;
        }
        CHECK(get(h->v, h->dtype, at * h->width) == 1);
        for (int64_t j = 0; j < h->n; j++) {
            double complex sum = 0;
            for (int64_t i = 0; i < count; i++)
                sum += conj(get(h->v, h->dtype, at * h->width + i)) * x[row + i + j * h->n];
            for (int64_t i = 0; i < count; i++)
                x[row + i + j * h->n] -= tau * get(h->v, h->dtype, at * h->width + i) * sum;
        }
    }
}

/* Checks U2 R V2^H against the band. An orthogonal factor of V2 is checked by its product with an
 * identity. */
CHECK_ORACLE void check_bidiagonal(const band_problem *p, const char *band)
{
    const int dtype = p->x.dtype;
    const int64_t n = p->x.n, b = p->x.width;
    double complex *u = calloc((size_t)(n * n + 1), sizeof *u);
    double complex *v = calloc((size_t)(n * n + 1), sizeof *v);
    double complex *r = calloc((size_t)(n * n + 1), sizeof *r);
    for (int64_t i = 0; i < n; i++) {
        r[i + i * n] = get(p->x.d, dtype & 1, i);
        if (i + 1 < n) r[i + (i + 1) * n] = get(p->x.e, dtype & 1, i);
        v[i + i * n] = 1;
        u[i + i * n] = 1;
    }
    apply_by_definition(&p->left, r);
    apply_by_definition(&p->left, u);
    apply_by_definition(&p->right, v);
    double error = 0;
    double norm = 0;
    double loss = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double complex sum = 0;
            double complex left = -(i == j);
            double complex right = left;
            for (int64_t l = 0; l < n; l++) {
                sum += r[i + l * n] * conj(v[j + l * n]);
                left += conj(u[l + i * n]) * u[l + j * n];
                right += conj(v[l + i * n]) * v[l + j * n];
            }
            const double complex own =
                i <= j && j - i <= b ? get(band, dtype, 2 * b + i - j + j * p->x.band_ld) : 0;
            error += creal((sum - own) * conj(sum - own));
            norm += creal(own * conj(own));
            loss += creal(left * conj(left)) + creal(right * conj(right));
        }
    const double eps = epsilon_of(dtype), size = (double)(n + 10);
    CHECK(sqrt(error) <= 2 * size * eps * (norm > 0 ? sqrt(norm) : 1));
    CHECK(sqrt(loss) < 2 * size * eps);
    free(u);
    free(v);
    free(r);
}

static void fill_band(const hs__general_band *x, double scale)
{
    const int64_t b = x->width;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < x->band_ld; i++) {
            const int64_t row = i - 2 * b + j;
            const int inside = row >= 0 && row <= j && j - row <= b;
            double complex value = inside ? scale * random_value(x->dtype) : 0;
            if (j == 0) value = creal(value);
            set(x->band, x->dtype, i + j * x->band_ld, value);
        }
}

/* Chases on each pool, with the reflectors and without. All must find the same bits. The results of
 * the first are checked. */
static void check_chase(hs_pool **pools, int count, int dtype, int64_t n, int64_t width,
                        int64_t gap, double scale)
{
    band_problem first = make_band_problem(dtype, n, width, gap);
    const size_t real = size_of[dtype & 1];
    fill_band(&first.x, scale);
    char *band = make_room(first.band_bytes);
    memcpy(band, first.x.band, first.band_bytes);
    first.x.left = &first.left;
    first.x.right = &first.right;
    CHECK(run_chase(pools[0], &first.x) == HS_OK);
    check_bidiagonal(&first, band);
    for (int i = 0; i < 2 * count; i++) {
        band_problem other = make_band_problem(dtype, n, width, gap);
        memcpy(other.x.band, band, first.band_bytes);
        if (i % 2) {
            other.x.left = &other.left;
            other.x.right = &other.right;
        }
        CHECK(run_chase(pools[i / 2], &other.x) == HS_OK);
        CHECK(!memcmp(other.x.d, first.x.d, (size_t)n * real));
        CHECK(n < 2 || !memcmp(other.x.e, first.x.e, (size_t)(n - 1) * real));
        CHECK(i % 2 == 0 || !memcmp(other.left.tau, first.left.tau, first.tau_bytes));
        CHECK(i % 2 == 0 || !memcmp(other.right.tau, first.right.tau, first.tau_bytes));
        free_band_problem(&other);
    }
    free_band_problem(&first);
    free(band);
}

/* ---- all stages ------------------------------------------------------------------------------ */

/* times: how often the stages are repeated, with what they find in the memory. */
typedef struct {
    problem *whole;
    band_problem *band;
    int32_t times;
} all_stages;

static void do_all(void *context, hs__walk *walk)
{
    const all_stages *all = context;
    problem *p = all->whole;
    band_problem *b = all->band;
    for (int32_t i = 0; i < all->times; i++)
        if (hs__general_to_band(walk, &p->x) || hs__general_chase(walk, &b->x) ||
            hs__chased_apply(walk, &b->left, 0, p->u, p->u_ld, p->x.m) ||
            hs__general_left(walk, &p->x, 0, p->u, p->u_ld, p->x.m) ||
            hs__chased_apply(walk, &b->right, 0, p->v, p->v_ld, p->x.n) ||
            hs__general_right(walk, &p->x, 0, p->v, p->v_ld, p->x.n))
            return;
}

static hs_status run_stages(hs_pool *pool, all_stages *all, hs__phase_program *program,
                            const hs_options *options)
{
    int64_t scratch = (int64_t)hs__general_scratch(&all->whole->x);
    scratch = hs__max(scratch, (int64_t)hs__general_band_scratch(&all->band->x));
    scratch = hs__max(scratch, (int64_t)hs__chased_scratch(&all->band->left));
    return hs__phases_run(pool, options, NULL, HS__SHARED, (size_t)scratch, program, all);
}

static hs_status run_all(hs_pool *pool, all_stages *all, const hs_options *options)
{
    return run_stages(pool, all, do_all, options);
}

/* Makes the second problem from the first one, with the same band. */
static band_problem make_stages(problem *p, int64_t gap)
{
    band_problem b = make_band_problem(p->x.dtype, p->x.n, p->x.width, gap);
    free(b.x.band);
    b.x.band = p->x.band;
    b.left.work = make_room(hs__chased_bytes(&b.left, p->x.m));
    b.right.work = b.left.work;
    p->d = b.x.d;
    p->e = b.x.e;
    return b;
}

static void free_stages(problem *p, band_problem *b)
{
    free(b->left.work);
    b->x.band = NULL;
    free_band_problem(b);
    free_problem(p);
}

/* Multiplies by the adjoints of all stages: what do_all made of identities becomes identities. */
static void undo_all(void *context, hs__walk *walk)
{
    const all_stages *all = context;
    problem *p = all->whole;
    band_problem *b = all->band;
    if (hs__general_left(walk, &p->x, 1, p->u, p->u_ld, p->x.m) ||
        hs__chased_apply(walk, &b->left, 1, p->u, p->u_ld, p->x.m) ||
        hs__general_right(walk, &p->x, 1, p->v, p->v_ld, p->x.n))
        return;
    (void)hs__chased_apply(walk, &b->right, 1, p->v, p->v_ld, p->x.n);
}

CHECK_ORACLE double distance_from_identity(const char *q, int dtype, int64_t n, int64_t ld)
{
    double worst = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            worst = fmax(worst, cabs(get(q, dtype, i + j * ld) - (i == j)));
    return worst;
}

/* A = (U1 U2) R (V1 V2)^H. */
static void check_all_stages(hs_pool *pool, int dtype, int64_t m, int64_t n, int64_t width,
                             double scale)
{
    problem p = make_problem(dtype, m, n, width, 1);
    band_problem b = make_stages(&p, 1);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            set(p.x.a, dtype, i + j * p.x.ld, scale * random_value(dtype));
    char *a = make_room(p.a_bytes);
    memcpy(a, p.x.a, p.a_bytes);
    b.x.left = &b.left;
    b.x.right = &b.right;
    CHECK(run_all(pool, &(all_stages){&p, &b, 1}, NULL) == HS_OK);
    const double eps = epsilon_of(dtype), size = (double)(m + 10);
    CHECK(relative_residual(&p, a) < 4 * size * eps);
    CHECK(loss_of_orthogonality(p.u, dtype, m, p.u_ld) < 4 * size * eps);
    CHECK(loss_of_orthogonality(p.v, dtype, n, p.v_ld) < 4 * size * eps);
    CHECK(run_stages(pool, &(all_stages){&p, &b, 1}, undo_all, NULL) == HS_OK);
    CHECK(distance_from_identity(p.u, dtype, m, p.u_ld) < 4 * size * eps);
    CHECK(distance_from_identity(p.v, dtype, n, p.v_ld) < 4 * size * eps);
    free(a);
    free_stages(&p, &b);
}

/* Reduces a matrix of zeros but for one element. With an element that is not finite the run ends,
 * and shows it in R; else R is that element. */
static void check_single_element(hs_pool *pool, int dtype, int64_t m, int64_t n, double value)
{
    problem p = make_problem(dtype, m, n, 16, 0);
    band_problem b = make_stages(&p, 0);
    const int64_t row = check_random((unsigned)m), col = check_random((unsigned)n);
    for (int64_t i = 0; i < m * n; i++) set(p.x.a, dtype, i, 0);
    set(p.x.a, dtype, row + col * m, value);
    CHECK(run_all(pool, &(all_stages){&p, &b, 1}, NULL) == HS_OK);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(creal(get(b.x.d, dtype & 1, i)));
    for (int64_t i = 0; i + 1 < n; i++) sum += fabs(creal(get(b.x.e, dtype & 1, i)));
    CHECK(isfinite(value) ? fabs(sum - fabs(value)) <= 8 * epsilon_of(dtype) * fabs(value)
                          : !isfinite(sum));
    free_stages(&p, &b);
}

/* The same with random elements around. */
static void check_not_finite(hs_pool *pool, int dtype, int64_t m, int64_t n, double value)
{
    problem p = make_problem(dtype, m, n, 16, 0);
    band_problem b = make_stages(&p, 0);
    for (int64_t i = 0; i < m * n; i++) set(p.x.a, dtype, i, random_value(dtype));
    set(p.x.a, dtype, check_random((unsigned)(m * n)), value);
    CHECK(run_all(pool, &(all_stages){&p, &b, 1}, NULL) == HS_OK);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += creal(get(b.x.d, dtype & 1, i));
    for (int64_t i = 0; i + 1 < n; i++) sum += creal(get(b.x.e, dtype & 1, i));
    CHECK(!isfinite(sum));
    free_stages(&p, &b);
}

/* A matrix times a power of two has R times that power, with the same bits. */
static void check_scaled(hs_pool *pool, int dtype, int64_t n, int64_t width)
{
    band_problem x = make_band_problem(dtype, n, width, 0);
    band_problem y = make_band_problem(dtype, n, width, 0);
    fill_band(&x.x, 1);
    for (size_t i = 0; i < x.band_bytes / size_of[dtype]; i++)
        set(y.x.band, dtype, (ptrdiff_t)i, 64 * get(x.x.band, dtype, (ptrdiff_t)i));
    CHECK(run_chase(pool, &x.x) == HS_OK && run_chase(pool, &y.x) == HS_OK);
    for (int64_t i = 0; i < n; i++) {
        CHECK(64 * get(x.x.d, dtype & 1, i) == get(y.x.d, dtype & 1, i));
        if (i + 1 < n) CHECK(64 * get(x.x.e, dtype & 1, i) == get(y.x.e, dtype & 1, i));
    }
    free_band_problem(&x);
    free_band_problem(&y);
}

typedef struct {
    int32_t left;
} patience;

static int refuse_later(void *context, double done)
{
    patience *own = context;
    (void)done;
    return own->left-- <= 0;
}

/* A cancel ends the run, whatever stage it is in. */
static void check_cancel(hs_pool *pool)
{
    const int64_t n = 150;
    problem p = make_problem(HS_FLOAT64, n, n, 16, 0);
    band_problem b = make_stages(&p, 0);
    for (int64_t i = 0; i < n * n; i++) set(p.x.a, HS_FLOAT64, i, random_value(HS_FLOAT64));
    for (int32_t polls = 0; polls < 3; polls++) {
        patience own = {polls};
        const hs_options options = {.poll = refuse_later, .poll_context = &own};
        all_stages all = {&p, &b, INT32_MAX};
        CHECK(run_all(pool, &all, &options) == HS_ERROR_CANCELLED);
    }
    free_stages(&p, &b);
}

enum { POOLS = 3 };

/* Shapes of at most so many rows. */
static void check_shapes(hs_pool **pools, int64_t rows)
{
    static const int64_t shapes[][3] = {/* m, n, width */
                                        {0, 0, 16},   {1, 1, 16},   {2, 2, 16},    {3, 1, 16},
                                        {15, 15, 16}, {16, 16, 16}, {17, 17, 16},  {35, 35, 16},
                                        {33, 16, 16}, {40, 17, 16}, {5, 5, 1},     {9, 7, 3},
                                        {50, 49, 48}, {90, 70, 5},  {150, 31, 16}, {200, 200, 32}};
    static const int64_t bands[][2] = {/* n, width */
                                       {0, 16},  {1, 16},  {2, 16},  {15, 16}, {16, 16},
                                       {17, 16}, {35, 16}, {12, 1},  {9, 2},   {40, 3},
                                       {70, 5},  {80, 16}, {100, 8}, {120, 32}};
    for (int dtype = 0; dtype < 4; dtype++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes && shapes[s][0] <= rows; s++)
            check_reduction(pools, POOLS, dtype, shapes[s][0], shapes[s][1], shapes[s][2],
                            (int64_t)s % 3, 1);
        for (size_t s = 0; s < sizeof bands / sizeof *bands && bands[s][0] <= rows; s++)
            check_chase(pools, POOLS, dtype, bands[s][0], bands[s][1], (int64_t)s % 3, 1);
    }
}

static void check_random_shapes(hs_pool **pools)
{
    for (int i = 0; i < CHECK_MANY(200, 12); i++) {
        const int64_t n = check_random(100), width = 1 + check_random(50);
        check_reduction(pools, 2, i % 4, n + check_random(60), n, width, check_random(9), 1);
        check_chase(pools, 2, i % 4, n, width, check_random(9), 1);
    }
}

static void check_values(hs_pool *pool)
{
    for (int dtype = 0; dtype < 4; dtype++) {
        const double far = dtype & 1 ? 0x1p+400 : 0x1p+100;
        check_all_stages(pool, dtype, 70, 70, 16, 1);
        check_all_stages(pool, dtype, 90, 60, 16, far);
        check_all_stages(pool, dtype, 60, 60, 32, 1 / far);
        check_all_stages(pool, dtype, 20, 20, 16, 0);
        check_scaled(pool, dtype, 50, 5);
        for (int i = 0; i < CHECK_MANY(40, 4); i++) {
            const int64_t n = 1 + check_random(60), m = n + check_random(30);
            check_single_element(pool, dtype, m, n, 3);
            check_single_element(pool, dtype, m, n, i % 2 ? NAN : INFINITY);
            check_not_finite(pool, dtype, m, n, i % 2 ? NAN : -INFINITY);
        }
    }
}

int main(void)
{
    static const int32_t workers[POOLS] = {1, 2, 4};
    hs_pool *pools[POOLS];
    for (int i = 0; i < POOLS; i++)
        if (!CHECK(hs_pool_create(workers[i], NULL, &pools[i]) == HS_OK)) return check_result();
    check_shapes(pools, CHECK_MANY(200, 150));
    ALSO_LATE(check_shapes(pools, CHECK_MANY(200, 40)));
    check_random_shapes(pools);
    check_values(pools[1]);
    for (int i = 0; i < POOLS; i++) check_cancel(pools[i]);
    check_reduction(pools, POOLS, HS_FLOAT64, CHECK_MANY(700, 200), CHECK_MANY(600, 150), 48, 1, 1);
    check_chase(pools, POOLS, HS_FLOAT64, CHECK_MANY(400, 150), 48, 0, 1);
    for (sets = LEAST_SET; sets < 2; sets++) check_shapes(pools, CHECK_MANY(200, 40));
    for (int i = 0; i < POOLS; i++) hs_pool_destroy(pools[i]);
    return check_result();
}
