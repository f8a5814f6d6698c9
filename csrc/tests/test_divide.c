/* Eigenvalues of tridiagonal matrices and singular values of bidiagonal ones, with their vectors,
 * by divide and conquer: residuals, orthogonality, counts of values by Sturm sequences, closed
 * forms; matrices of all kinds that deflate in some way; the same bits from every pool and every
 * scale. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "late.h"
#include "spectral/bidiagonal.h"
#include "spectral/divide.h"

enum { GAP = 3 }; /* rows of z between its columns that must not be written */

/* A matrix with its decomposition; d and e are kept.
 *   squares  whether it is upper bidiagonal and its singular values are wanted */
typedef struct {
    int dtype, squares;
    int64_t n;
    double *d, *e;         /* the matrix, as rounded to the type */
    double *value, *only;  /* values with vectors, and without */
    void *z[2];            /* n + GAP rows: eigenvectors, or left and right singular vectors */
    size_t bytes;          /* of each */
    double norm, rounding; /* the largest sum of a row or column; unit roundoff */
} problem;

static double unit_random(void) { return check_random(1u << 30) / (double)(1u << 30); }

/* Kinds of matrices: after LAPACK's generators. */
enum {
    RANDOM,
    SECOND_DIFFERENCE, /* eigenvalues 2 - 2 cos(k pi / (n + 1)) */
    WILKINSON,
    GLUED, /* Wilkinson matrices of order 21 with weak links */
    GRADED,
    GRADED_UP,
    IDENTITY,
    ZERO,
    ZERO_DIAGONAL,
    CLUSTERS, /* a diagonal of few values, with links of all sizes */
    NEARLY_DIAGONAL,
    BLOCKS, /* independent blocks of very different sizes */
    ALTERNATING,
    KINDS
};

/* Fills the diagonal and the elements beside it, of which the last one does not count. */
static void fill_matrix(int kind, int64_t n, double *diagonal, double *beside)
{
    for (int64_t i = 0; i < n; i++) {
        double *d = &diagonal[i];
        double *e = &beside[i];
        const double part = (double)i / (double)n;
        switch (kind) {
        case RANDOM: *d = unit_random() - 0.5, *e = unit_random() - 0.5; break;
        case SECOND_DIFFERENCE: *d = 2, *e = -1; break;
        case WILKINSON: *d = fabs((double)i - (double)(n - 1) / 2), *e = 1; break;
        case GLUED: *d = fabs((double)(i % 21) - 10), *e = i % 21 == 20 ? 1e-6 : 1; break;
        case GRADED: *d = pow(10, -20 * part), *e = *d / 2; break;
        case GRADED_UP: *d = pow(10, 20 * part - 20), *e = -*d / 3; break;
        case IDENTITY: *d = 1, *e = 0; break;
        case ZERO: *d = 0, *e = 0; break;
        case ZERO_DIAGONAL: *d = 0, *e = 1 + unit_random(); break;
        case CLUSTERS: *d = check_random(3), *e = pow(10, -16 * unit_random()); break;
        case NEARLY_DIAGONAL: *d = unit_random(), *e = 1e-9 * unit_random(); break;
        case BLOCKS:
            *d = (unit_random() - 0.5) * pow(10, -(double)(i / 10 % 20));
            *e = i % 10 == 9 ? 0 : fabs(*d);
            break;
        default: *d = i % 2 ? 1 : -1, *e = i % 3 ? 1e-3 : 1;
        }
    }
}

static double rounded(const problem *x, double value)
{
    return x->dtype == HS_FLOAT32 ? (double)(float)value : value;
}

/* Returns z[side] as n x n numbers, column by column. */
CHECK_ORACLE double *copy_columns(const problem *x, int side)
{
    const int64_t n = x->n;
    double *copy = malloc((size_t)(n * n + 1) * sizeof *copy);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = i + j * (n + GAP);
            copy[i + j * n] = x->dtype == HS_FLOAT32 ? (double)((float *)x->z[side])[at]
                                                     : ((double *)x->z[side])[at];
        }
    return copy;
}

static problem make_problem(int dtype, int squares, int64_t n, int kind, double scale)
{
    problem x = {.dtype = dtype, .squares = squares, .n = n};
    x.d = calloc((size_t)n + 1, sizeof *x.d);
    x.e = calloc((size_t)n + 1, sizeof *x.e);
    x.value = calloc((size_t)n + 1, sizeof *x.value);
    x.only = calloc((size_t)n + 1, sizeof *x.only);
    x.bytes = (size_t)((n + GAP) * n) * (dtype == HS_FLOAT32 ? 4 : 8);
    for (int side = 0; side <= squares; side++) x.z[side] = malloc(x.bytes + 1);
    x.rounding = dtype == HS_FLOAT32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    fill_matrix(kind, n, x.d, x.e);
    for (int64_t i = 0; i < n; i++) x.d[i] = rounded(&x, x.d[i] * scale);
    for (int64_t i = 0; i < n; i++) x.e[i] = rounded(&x, x.e[i] * scale);
    for (int64_t i = 0; i < n; i++) {
        const double above = i ? fabs(x.e[i - 1]) : 0;
        const double below = i + 1 < n ? fabs(x.e[i]) : 0;
        x.norm = fmax(x.norm, fabs(x.d[i]) + above + below);
    }
    return x;
}

static void free_problem(problem *x)
{
    free(x->d);
    free(x->e);
    free(x->value);
    free(x->only);
    free(x->z[0]);
    free(x->z[1]);
}

static void solve_tridiagonal(void *context, hs__walk *walk)
{
    (void)hs__divide_solve(walk, context);
}

static void solve_bidiagonal(void *context, hs__walk *walk)
{
    (void)hs__bidiagonal_solve(walk, context);
}

/* Solves in the arrays given and returns whether the matrix was refused. */
static int solve_arrays(const problem *x, hs_pool *pool, int vectors, void *d, void *e)
{
    const int64_t ld = x->n + GAP;
    hs__divide divide = {
        .kernel = hs__kernel_current(), .dtype = x->dtype, .n = x->n, .d = d, .e = e, .ld = ld};
    hs__bidiagonal bidiagonal = {.kernel = hs__kernel_current(),
                                 .dtype = x->dtype,
                                 .n = x->n,
                                 .d = d,
                                 .e = e,
                                 .u_ld = ld,
                                 .v_ld = ld};
    if (vectors) {
        divide.z = x->z[0];
        bidiagonal.u = x->z[0];
        bidiagonal.v = x->z[1];
    }
    const size_t bytes = x->squares ? hs__bidiagonal_bytes(&bidiagonal) : hs__divide_bytes(&divide);
    const size_t scratch =
        x->squares ? hs__bidiagonal_scratch(&bidiagonal) : hs__divide_scratch(&divide);
    void *memory = NULL;
    CHECK(posix_memalign(&memory, 64, bytes) == 0);
    memset(memory, 0xff, bytes);
    divide.work = memory;
    bidiagonal.work = memory;
    void *context = x->squares ? (void *)&bidiagonal : (void *)&divide;
    CHECK(hs__phases_run(pool, NULL, NULL, HS__SHARED, scratch,
                         x->squares ? solve_bidiagonal : solve_tridiagonal, context) == HS_OK);
    free(memory);
    return x->squares ? bidiagonal.failed : divide.failed;
}

/* Solves with vectors or without and returns whether the matrix was refused. */
static int solve(problem *x, hs_pool *pool, int vectors)
{
    const size_t count = (size_t)x->n + 1;
    float *single = calloc(2 * count, sizeof *single);
    double *real = calloc(2 * count, sizeof *real);
    for (int64_t i = 0; i < x->n; i++) {
        single[i] = (float)x->d[i];
        real[i] = x->d[i];
        single[(int64_t)count + i] = (float)x->e[i];
        real[(int64_t)count + i] = x->e[i];
    }
    const int is_single = x->dtype == HS_FLOAT32;
    for (int side = 0; side <= x->squares; side++) memset(x->z[side], 0xa5, x->bytes);
    const int failed = is_single ? solve_arrays(x, pool, vectors, single, single + count)
                                 : solve_arrays(x, pool, vectors, real, real + count);
    double *out = vectors ? x->value : x->only;
    for (int64_t i = 0; i < x->n; i++) out[i] = is_single ? (double)single[i] : real[i];
    free(single);
    free(real);
    return failed;
}

/* Returns the number of values below x, by the signs of the pivots of T - x. For singular values T
 * is the matrix of order 2 n with the elements of B beside a zero diagonal, whose eigenvalues are
 * they and their negatives. */
CHECK_ORACLE int64_t count_below(const problem *p, double x)
{
    int64_t count = 0;
    long double pivot = 1;
    for (int64_t i = 0; i < p->n << p->squares; i++) {
        long double diagonal = 0;
        long double beside = 0;
        if (!p->squares) {
            diagonal = p->d[i];
            if (i) beside = p->e[i - 1];
        } else if (i) beside = i % 2 ? p->d[i / 2] : p->e[i / 2 - 1];
        if (pivot == 0) pivot = 1e-4000L;
        pivot = diagonal - (long double)x - beside * beside / pivot;
        count += pivot < 0;
    }
    return p->squares ? count - p->n : count;
}

/* Checks that value j is the exact one within an error. */
static void check_value(const problem *x, int64_t j, double value, double allowed)
{
    const int64_t before = x->squares ? x->n - 1 - j : j;
    CHECK(count_below(x, value - allowed) <= before);
    CHECK(count_below(x, value + allowed) > before);
}

/* The error, relative to the norm, that every result may have: a thirtieth of what LAPACK's tests
 * allow. */
static double allowed_error(const problem *x) { return (10 + (double)x->n) * x->rounding; }

static void check_values(const problem *x, const double *value)
{
    for (int64_t j = 0; j < x->n; j++) {
        if (j && x->squares) CHECK(value[j] <= value[j - 1]);
        else if (j) CHECK(value[j] >= value[j - 1]);
        if (x->squares) CHECK(value[j] >= 0);
        check_value(x, j, value[j], allowed_error(x) * x->norm + 1e-320);
    }
}

/* Returns the largest element of T z - value z, of B v - value u (side 0) or of B^T u - value v
 * (side 1), for column `own` of z, u or v and column `from` of z, v or u. */
CHECK_ORACLE double residual(const problem *x, int side, const double *from, const double *own,
                             double value)
{
    double worst = 0;
    for (int64_t i = 0; i < x->n; i++) {
        double rest = x->d[i] * from[i] - value * own[i];
        if (i && (!x->squares || side)) rest += x->e[i - 1] * from[i - 1];
        if (i + 1 < x->n && !side) rest += x->e[i] * from[i + 1];
        worst = fmax(worst, isnan(rest) ? INFINITY : fabs(rest));
    }
    return worst;
}

CHECK_ORACLE double dot_product(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void check_vectors(const problem *x)
{
    const int64_t n = x->n;
    const size_t size = x->dtype == HS_FLOAT32 ? 4 : 8;
    const int64_t each = 1 + n / 300; /* pairs of columns of large matrices */
    double *bases[2] = {copy_columns(x, 0), copy_columns(x, x->squares)};
    for (int side = 0; side <= x->squares; side++) {
        const double *own = bases[side];
        const double *from = bases[x->squares && !side];
        for (int64_t j = 0; j < n; j++) {
            CHECK(residual(x, side, from + j * n, own + j * n, x->value[j]) <=
                  allowed_error(x) * x->norm + 1e-320);
            for (int64_t k = j % each; k <= j; k += each)
                CHECK(fabs(dot_product(n, own + j * n, own + k * n) - (j == k)) <=
                      allowed_error(x));
            for (int64_t i = n; i < n + GAP; i++) {
                const unsigned char *at =
                    (unsigned char *)x->z[side] + (size_t)(i + j * (n + GAP)) * size;
                for (size_t b = 0; b < size; b++) CHECK(at[b] == 0xa5);
            }
        }
    }
    free(bases[0]);
    free(bases[1]);
}

static void check_matrix(hs_pool *pool, int dtype, int squares, int64_t n, int kind)
{
    problem x = make_problem(dtype, squares, n, kind, 1);
    CHECK(solve(&x, pool, 1) == 0);
    check_values(&x, x.value);
    check_vectors(&x);
    CHECK(solve(&x, pool, 0) == 0);
    check_values(&x, x.only);
    for (int64_t j = 0; j < n && kind == SECOND_DIFFERENCE && !squares; j++) {
        const double exact = 2 - 2 * cos((double)(j + 1) * acos(-1) / (double)(n + 1));
        CHECK(fabs(x.value[j] - exact) <= allowed_error(&x) * x.norm);
    }
    for (int64_t j = 0; j < n && (kind == IDENTITY || kind == ZERO); j++)
        CHECK(x.value[j] == (kind == IDENTITY) && x.only[j] == x.value[j]);
    free_problem(&x);
}

/* Another pool, late workers, and another scale by a power of two change no bit, unless numbers
 * leave the range. */
static void check_same_bits(hs_pool *pool, hs_pool *other, int dtype, int squares, int64_t n,
                            int kind)
{
    problem x = make_problem(dtype, squares, n, kind, 1);
    CHECK(solve(&x, pool, 1) == 0 && solve(&x, pool, 0) == 0);
    const int large = dtype == HS_FLOAT32 ? 120 : 1015;
    const int exponents[] = {0, large, dtype == HS_FLOAT32 ? -20 : -400};
    for (int i = 0; i < 3; i++) {
        const double scale = ldexp(1, exponents[i]);
        problem y = make_problem(dtype, squares, n, ZERO, 1);
        for (int64_t k = 0; k < n; k++) {
            y.d[k] = x.d[k] * scale;
            y.e[k] = x.e[k] * scale;
        }
        CHECK(solve(&y, other, 1) == 0 && solve(&y, other, 0) == 0);
        for (int64_t j = 0; j < n; j++) {
            CHECK(y.value[j] == rounded(&x, x.value[j] * scale));
            CHECK(y.only[j] == rounded(&x, x.only[j] * scale));
        }
        for (int side = 0; side <= squares; side++)
            CHECK(memcmp(x.z[side], y.z[side], x.bytes) == 0);
        free_problem(&y);
    }
    free_problem(&x);
}

/* The smallest and largest numbers of the type. */
static void check_extremes(hs_pool *pool, int dtype, int squares, int64_t n)
{
    const double least = dtype == HS_FLOAT32 ? 0x1p-140 : 0x1p-1065;
    const double most = dtype == HS_FLOAT32 ? 0x1p125 : 0x1p1021;
    problem x = make_problem(dtype, squares, n, RANDOM, most);
    CHECK(solve(&x, pool, 1) == 0);
    check_vectors(&x);
    free_problem(&x);
    x = make_problem(dtype, squares, n, WILKINSON, least);
    CHECK(solve(&x, pool, 1) == 0);
    const double step = dtype == HS_FLOAT32 ? 0x1p-149 : 0x1p-1074;
    for (int64_t j = 0; j < n; j++) check_value(&x, j, x.value[j], 2 * step);
    free_problem(&x);
}

static void check_refused(hs_pool *pool, int dtype, int squares, int64_t n)
{
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++)
        for (int vectors = 0; vectors < 2; vectors++) {
            problem x = make_problem(dtype, squares, n, RANDOM, 1);
            x.d[check_random((unsigned)n)] = bad[i];
            CHECK(solve(&x, pool, vectors) != 0);
            free_problem(&x);
            x = make_problem(dtype, squares, n, RANDOM, 1);
            if (n > 1) x.e[check_random((unsigned)n - 1)] = bad[i];
            CHECK((solve(&x, pool, vectors) != 0) == (n > 1));
            free_problem(&x);
        }
}

static int refuse_at_once(void *context, double done)
{
    (void)context;
    (void)done;
    return 1;
}

/* Solves again and again: one is too short for a poll. */
static void solve_repeatedly(void *context, hs__walk *walk)
{
    while (!hs__divide_solve(walk, context)) {}
}

static void check_cancel(hs_pool *pool)
{
    enum { N = 300 };
    static double d[N], e[N], z[N * N];
    hs__divide divide = {.kernel = hs__kernel_current(),
                         .dtype = HS_FLOAT64,
                         .n = N,
                         .d = d,
                         .e = e,
                         .z = z,
                         .ld = N};
    for (int i = 0; i < N; i++) d[i] = unit_random(), e[i] = unit_random();
    void *memory = NULL;
    CHECK(posix_memalign(&memory, 64, hs__divide_bytes(&divide)) == 0);
    divide.work = memory;
    const hs_options options = {.poll = refuse_at_once};
    CHECK(hs__phases_run(pool, &options, NULL, HS__SHARED, hs__divide_scratch(&divide),
                         solve_repeatedly, &divide) == HS_ERROR_CANCELLED);
    free(memory);
}

int main(void)
{
    const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 64, 127, 128, 129, 200, 261};
    const int size_count = (int)(sizeof sizes / sizeof *sizes);
    hs_pool *alone = NULL;
    CHECK(hs_pool_create(1, NULL, &alone) == HS_OK);
    for (int p = 1; p <= 4; p += p > 1 ? CHECK_MANY(1, 3) : 1) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, NULL, &pool) == HS_OK)) continue;
        for (int dtype = HS_FLOAT32; dtype <= HS_FLOAT64; dtype++)
            for (int squares = 0; squares < 2; squares++) {
                for (int i = p > 1 ? size_count - 2 : 0; i < size_count; i++)
                    for (int kind = CHECK_MANY(0, (i + dtype) % 4); kind < KINDS;
                         kind += CHECK_MANY(1, 4))
                        check_matrix(pool, dtype, squares, sizes[i], kind);
                for (int kind = 0; kind < KINDS; kind += CHECK_MANY(1, p > 1 ? 5 : KINDS))
                    ALSO_LATE(check_same_bits(pool, alone, dtype, squares, 261, kind));
                check_extremes(pool, dtype, squares, 30);
                check_extremes(pool, dtype, squares, 150);
                for (int64_t n = 1; n < 5; n++) check_refused(pool, dtype, squares, n);
                check_refused(pool, dtype, squares, 150);
                /* several tiles of columns, and of rows */
                for (int kind = 0; kind < (p == 2 ? CHECK_MANY(KINDS, 1) : 0); kind++)
                    check_matrix(pool, dtype, squares, 500 + kind, kind);
                if (p == 2 && dtype == HS_FLOAT64 && squares <= CHECK_MANY(1, 0))
                    check_matrix(pool, dtype, squares, CHECK_MANY(1601, 1025), SECOND_DIFFERENCE);
            }
        check_cancel(pool);
        hs_pool_destroy(pool);
    }
    hs_pool_destroy(alone);
    return check_result();
}
