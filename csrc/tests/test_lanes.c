/* Decompositions of stacks of small matrices: A Z = Z diag(values) and A = U diag(values) V^H with
 * orthonormal vectors, for any strides and steps, one triangle, and numbers of items that do not
 * fill the lanes; the same bits of an item alone, in any place of the stack, beside NaN and from any
 * pool; powers of two as factors; cancels and failing allocations. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "elements.h"
#include "late.h"
#include "scarce.h"
#include "sets.h"
#include "spectral/lanes.h"

enum { POOLS = 3 };
static hs_pool *pools[POOLS];
static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

enum {
    ANY,
    FALLING,  /* graded: elements become smaller to the right and below */
    RISING,   /* larger */
    STEEP,    /* tridiagonal, of any sizes */
    LOW_RANK, /* rank 1 */
    IDENTITY,
    ZERO,
    CLUSTERED, /* the identity, and perturbations of the size of rounding errors */
    TINY,
    HUGE_ONES,
    LARGEST,   /* the largest number times the identity */
    NILPOTENT, /* ones beside the diagonal: singular, with zeros on the diagonal */
    KINDS
};

/* A stack of `items` matrices in two dimensions, and its decompositions. The elements of `a` have
 * gaps between them, and so have the items. symmetric: only one triangle is not NaN. */
typedef struct {
    int dtype, symmetric, upper;
    int64_t m, n, k, items;
    int64_t size[2], steps[2], row_stride, col_stride;
    size_t bytes;
    char *a, *values, *u, *vh;
    int32_t *failed;
} stack;

static double complex random_value(int dtype)
{
    const double re = check_random(2001) / 1000.0 - 1;
    const double im = check_random(2001) / 1000.0 - 1;
    return dtype >> 1 ? re + im * I : re;
}

static ptrdiff_t place(const stack *x, int64_t item, int64_t i, int64_t j)
{
    return (ptrdiff_t)(item / x->size[1] * x->steps[0] + item % x->size[1] * x->steps[1] +
                       i * x->row_stride + j * x->col_stride);
}

static double complex element_of(const stack *x, int kind, int64_t i, int64_t j)
{
    const double complex value = random_value(x->dtype);
    const double last = (double)(x->m + x->n);
    switch (kind) {
    case FALLING: return value * pow(2, -(double)(i + j));
    case RISING: return value * pow(2, (double)(i + j) - last);
    case STEEP: return i - j <= 1 && j - i <= 1 ? value * pow(2, -(double)check_random(60)) : 0;
    case LOW_RANK: return cos((double)i) * cos((double)j);
    case IDENTITY: return i == j;
    case ZERO: return 0;
    case CLUSTERED: return (i == j) + eps[x->dtype] * value;
    case TINY: return value * (x->dtype & 1 ? 0x1p-1000 : 0x1p-120);
    case HUGE_ONES: return value * (x->dtype & 1 ? 0x1p+1018 : 0x1p+122);
    case LARGEST: return i == j ? (x->dtype & 1 ? DBL_MAX : FLT_MAX) : 0;
    case NILPOTENT: return i + 1 == j || (x->symmetric && i == j + 1);
    default: return value;
    }
}

/* kind: of the first item; the following items are of the following kinds if `mixed`. */
static stack make_stack(int dtype, int64_t m, int64_t n, int64_t items, int symmetric, int kind,
                        int mixed)
{
    stack x = {.dtype = dtype, .m = m, .n = n, .items = items, .symmetric = symmetric};
    const int64_t step = 1 + check_random(2), rows = items % 2 || items == 0 ? 1 : 2;
    const int by_rows = check_random(2) != 0;
    x.k = m < n ? m : n;
    x.upper = symmetric && check_random(2);
    x.row_stride = by_rows ? step * n + 1 : step;
    x.col_stride = by_rows ? step : step * m + 1;
    const int64_t each = m * x.row_stride + n * x.col_stride + 1;
    x.size[0] = rows;
    x.size[1] = items / rows;
    x.steps[0] = rows == 1 ? 0 : each;
    x.steps[1] = each * rows;
    x.bytes = (size_t)(each * items + 1) * size_of[dtype];
    x.a = malloc(x.bytes);
    x.values = malloc((size_t)(items * x.k + 1) * 8);
    x.u = malloc((size_t)(items * m * x.k + 1) * size_of[dtype]);
    x.vh = malloc((size_t)(items * x.k * n + 1) * size_of[dtype]);
    x.failed = malloc((size_t)(items + 1) * sizeof *x.failed);
    if (!x.a || !x.values || !x.u || !x.vh || !x.failed) abort();
    for (int64_t i = 0; i < each * items + 1; i++) set(x.a, dtype, i, NAN);
    for (int64_t item = 0; item < items; item++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const int is_read = !symmetric || (x.upper ? i <= j : i >= j);
                double complex value =
                    element_of(&x, mixed ? (kind + (int)item) % KINDS : kind, i, j);
                if (symmetric && i == j && dtype >> 1) {
                    const double parts[2] = {creal(value), NAN};
                    memcpy(&value, parts, sizeof value);
                }
                if (is_read) set(x.a, dtype, place(&x, item, i, j), value);
            }
    return x;
}

static void free_stack(stack *x)
{
    free(x->a);
    free(x->values);
    free(x->u);
    free(x->vh);
    free(x->failed);
}

/* Decomposes all items, or the one of this number. vectors: 0 for values alone. */
static hs_status run_stack(hs_pool *pool, const stack *x, int64_t one, int vectors,
                           const hs_options *options)
{
    char *first = x->a + (one > 0 ? place(x, one, 0, 0) : 0) * (ptrdiff_t)size_of[x->dtype];
    memset(x->failed, 0xff, (size_t)(x->items + 1) * sizeof *x->failed);
    if (x->symmetric) {
        const hs_eigh_stack eigh = {.dtype = x->dtype,
                                    .n = x->n,
                                    .rank = one < 0 ? 2 : 0,
                                    .size = x->size,
                                    .a_steps = x->steps,
                                    .a = first,
                                    .a_row_stride = x->row_stride,
                                    .a_col_stride = x->col_stride,
                                    .upper = x->upper,
                                    .values = x->values,
                                    .vectors = vectors ? x->u : NULL,
                                    .failed = x->failed};
        return hs_run_eigh_stack(pool, &eigh, options, NULL);
    }
    const hs_svd_stack svd = {.dtype = x->dtype,
                              .m = x->m,
                              .n = x->n,
                              .rank = one < 0 ? 2 : 0,
                              .size = x->size,
                              .a_steps = x->steps,
                              .a = first,
                              .a_row_stride = x->row_stride,
                              .a_col_stride = x->col_stride,
                              .values = x->values,
                              .u = vectors & 1 ? x->u : NULL,
                              .vh = vectors & 2 ? x->vh : NULL,
                              .failed = x->failed};
    return hs_run_svd_stack(pool, &svd, options, NULL);
}

enum { BOTH = 3 };

/* ---- results --------------------------------------------------------------------------------- */

static double value_at(const stack *x, int64_t item, int64_t i)
{
    return creal(get(x->values, x->dtype & 1, (ptrdiff_t)(item * x->k + i)));
}

/* Reads an item, of size about 1, with both triangles. Returns the power of two that it was divided
 * by. */
CHECK_ORACLE int read_item(const stack *x, int64_t item, double complex *to)
{
    double most = 0;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            const int turned = x->symmetric && (x->upper ? i > j : i < j);
            double complex own = turned ? conj(get(x->a, x->dtype, place(x, item, j, i)))
                                        : get(x->a, x->dtype, place(x, item, i, j));
            if (x->symmetric && i == j) own = creal(own);
            to[i * x->n + j] = own;
            most = fmax(most, fmax(fabs(creal(own)), fabs(cimag(own))));
        }
    if (most == 0) return 0;
    const int power = ilogb(most);
    for (int64_t i = 0; i < x->m * x->n; i++)
        to[i] = ldexp(creal(to[i]), -power) + ldexp(cimag(to[i]), -power) * I;
    return power;
}

/* Returns max |X^H X - I| for the columns of a matrix, or with `rows` for its rows. */
CHECK_ORACLE double orthonormal_error(int64_t length, int64_t count, const double complex *x,
                                      int rows)
{
    double worst = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j <= i; j++) {
            double complex sum = -(i == j);
            for (int64_t l = 0; l < length; l++)
                sum += rows ? x[i * length + l] * conj(x[j * length + l])
                            : conj(x[l * count + i]) * x[l * count + j];
            worst = fmax(worst, cabs(sum));
        }
    return worst;
}

static void read_vectors(const stack *x, const char *data, int64_t item, int64_t count,
                         double complex *to)
{
    for (int64_t i = 0; i < count; i++) to[i] = get(data, x->dtype, (ptrdiff_t)(item * count + i));
}

/* Checks A = U diag(values) V^H; for Hermitian matrices V is U. */
CHECK_ORACLE void check_item(const stack *x, int64_t item)
{
    const int64_t m = x->m, n = x->n, k = x->k;
    double complex *a = malloc((size_t)(m * n + 1) * sizeof *a);
    double complex *u = malloc((size_t)(m * k + 1) * sizeof *u);
    double complex *vh = malloc((size_t)(k * n + 1) * sizeof *vh);
    if (!a || !u || !vh) abort();
    const int power = read_item(x, item, a);
    read_vectors(x, x->u, item, m * k, u);
    if (x->symmetric)
        for (int64_t i = 0; i < n * n; i++) vh[i] = conj(u[i % n * n + i / n]);
    else read_vectors(x, x->vh, item, k * n, vh);
    const double allowed = 4 * eps[x->dtype] * (double)((m > n ? m : n) + 3);
    double worst = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -a[i * n + j];
            for (int64_t l = 0; l < k; l++)
                sum += u[i * k + l] * ldexp(value_at(x, item, l), -power) * vh[l * n + j];
            worst = fmax(worst, cabs(sum));
        }
    CHECK(worst <= allowed * sqrt((double)(k + 1)));
    CHECK(orthonormal_error(m, k, u, 0) <= allowed);
    CHECK(orthonormal_error(n, k, vh, 1) <= allowed);
    for (int64_t l = 0; l < k; l++) {
        const double own = value_at(x, item, l);
        if (!x->symmetric) CHECK(own >= 0);
        if (l == 0) continue;
        const double before = value_at(x, item, l - 1);
        CHECK(x->symmetric ? before <= own : before >= own);
    }
    free(vh);
    free(u);
    free(a);
}

/* The outputs of some items. */
typedef struct {
    size_t values, u, vh; /* bytes of each item */
    char *memory[3];
} outputs;

static outputs copy_outputs(const stack *x)
{
    outputs own = {.values = (size_t)x->k * (4u << (x->dtype & 1)),
                   .u = (size_t)(x->m * x->k) * size_of[x->dtype],
                   .vh = (size_t)(x->k * x->n) * size_of[x->dtype]};
    const size_t bytes[] = {own.values, own.u, own.vh};
    const char *from[] = {x->values, x->u, x->vh};
    for (int i = 0; i < 3; i++) {
        own.memory[i] = malloc(bytes[i] * (size_t)x->items + 1);
        if (!own.memory[i]) abort();
        memcpy(own.memory[i], from[i], bytes[i] * (size_t)x->items);
    }
    return own;
}

static void free_outputs(outputs *x)
{
    for (int i = 0; i < 3; i++) free(x->memory[i]);
}

/* Whether item `here` of the stack has the outputs that item `there` had. */
static int is_same(const stack *x, int64_t here, const outputs *old, int64_t there)
{
    const size_t bytes[] = {old->values, old->u, old->vh};
    const char *own[] = {x->values, x->u, x->vh};
    int same = 1;
    for (int i = 0; i < 2 + !x->symmetric; i++)
        same &= memcmp(own[i] + bytes[i] * (size_t)here, old->memory[i] + bytes[i] * (size_t)there,
                       bytes[i]) == 0;
    return same;
}

/* ---- relations ------------------------------------------------------------------------------- */

/* Other pools, items alone, and values alone. */
static void check_bits(const stack *x, const outputs *first)
{
    for (int p = 1; p < POOLS; p++) {
        CHECK(run_stack(pools[p], x, -1, BOTH, NULL) == HS_OK);
        for (int64_t i = 0; i < x->items; i++) CHECK(is_same(x, i, first, i));
    }
    for (int64_t i = 0; i < x->items; i += x->items > 100 ? 97 : CHECK_MANY(3, 7)) {
        CHECK(run_stack(pools[0], x, i, BOTH, NULL) == HS_OK);
        CHECK(x->failed[0] == 0 && is_same(x, 0, first, i));
    }
    const size_t bytes = first->values * (size_t)x->items;
    for (int vectors = 0; vectors < BOTH; vectors++) {
        CHECK(run_stack(pools[0], x, -1, vectors, NULL) == HS_OK);
        CHECK(memcmp(x->values, first->memory[0], bytes) == 0);
    }
}

/* A matrix that is not finite is the only one that fails, and the others do not change. */
static void check_not_finite(const stack *x, const outputs *first)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    if (x->items == 0 || x->n == 0 || x->m == 0) return;
    const int64_t item = check_random((unsigned)x->items);
    const ptrdiff_t at = place(x, item, x->m - 1, x->symmetric ? x->n - 1 : 0);
    const double complex old = get(x->a, x->dtype, at);
    set(x->a, x->dtype, at, bad[check_random(3)]);
    CHECK(run_stack(pools[1], x, -1, BOTH, NULL) == HS_OK);
    for (int64_t i = 0; i < x->items; i++) {
        CHECK((x->failed[i] != 0) == (i == item));
        if (i != item) CHECK(is_same(x, i, first, i));
    }
    set(x->a, x->dtype, at, old);
}

/* A power of two as a factor is a factor of the values, and leaves the vectors as they are. */
static void check_scaling(const stack *x, const outputs *first)
{
    const size_t count = x->bytes / size_of[x->dtype];
    for (size_t i = 0; i < count; i++)
        set(x->a, x->dtype, (ptrdiff_t)i, 0.25 * get(x->a, x->dtype, (ptrdiff_t)i));
    CHECK(run_stack(pools[0], x, -1, BOTH, NULL) == HS_OK);
    for (int64_t i = 0; i < x->items * x->k; i++) {
        const ptrdiff_t at = (ptrdiff_t)i;
        CHECK(4 * creal(get(x->values, x->dtype & 1, at)) ==
              creal(get(first->memory[0], x->dtype & 1, at)));
    }
    CHECK(memcmp(x->u, first->memory[1], first->u * (size_t)x->items) == 0);
}

static void check_stack(int dtype, int64_t m, int64_t n, int64_t items, int symmetric, int kind,
                        int mixed)
{
    stack x = make_stack(dtype, m, n, items, symmetric, kind, mixed);
    CHECK(run_stack(pools[0], &x, -1, BOTH, NULL) == HS_OK);
    for (int64_t i = 0; i < items; i++) CHECK(x.failed[i] == 0);
    const int64_t step = m * n > 400 ? (items > 1 ? items - 1 : 1) : 1;
    for (int64_t i = 0; i < items; i += step) check_item(&x, i);
    outputs first = copy_outputs(&x);
    check_bits(&x, &first);
    check_not_finite(&x, &first);
    if (kind == ANY && !mixed) check_scaling(&x, &first);
    free_outputs(&first);
    free_stack(&x);
}

static void check_stacks(void)
{
    static const int64_t orders[] = {0, 1, 2, 3, 17, 50};
    for (int dtype = 0; dtype < 4; dtype++) {
        const int64_t lanes = hs__lanes_for(dtype)->count;
        const int64_t counts[] = {0, 1, lanes - 1, lanes, lanes + 1, 3 * lanes + 1};
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            for (int i = 0; i < 6; i++) {
                if (check_few() && orders[i] > 17 && (sets < 2 || symmetric != dtype % 2)) continue;
                const int64_t items = orders[i] > 17 ? lanes + 1 : counts[check_random(6)];
                check_stack(dtype, orders[i], orders[i], items, symmetric, ANY, orders[i] > 17);
                check_stack(dtype, lanes - 1 + i % 3, lanes - 1 + i % 3, counts[i], symmetric, i,
                            i % 2);
            }
            for (int kind = CHECK_MANY(0, (dtype + symmetric) % 2); kind < KINDS;
                 kind += CHECK_MANY(1, 2))
                check_stack(dtype, 9, 9, lanes + 1, symmetric, kind, 0);
        }
        check_stack(dtype, 0, 3, 5, 0, ANY, 0);
        check_stack(dtype, 3, 0, 5, 0, ANY, 0);
        check_stack(dtype, 1, 7, lanes + 1, 0, ANY, 0);
        check_stack(dtype, 12, 5, lanes - 1, 0, ANY, 1);
        check_stack(dtype, 6, 13, 2 * lanes, 0, ANY, 1);
        check_stack(dtype, 40, 3, lanes + 2, 0, ANY, 0);
    }
}

/* Work for several tasks. */
static void check_shared(void)
{
    check_stack(HS_FLOAT64, 8, 8, CHECK_MANY(4000, 1000), 1, ANY, 1);
    check_stack(HS_COMPLEX64, 6, 9, CHECK_MANY(3000, 1000), 0, ANY, 1);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static int refuse_at_once(void *context, double done)
{
    (void)context;
    (void)done;
    return 1;
}

/* One matrix is all items of the stack, so that no memory is needed for them. */
static void check_cancel(hs_pool *pool)
{
    enum { ITEMS = 20000, N = 40 };
    const int64_t size = ITEMS, step = 0;
    double *a = calloc(N * N, sizeof *a);
    double *values = calloc((size_t)ITEMS * N, sizeof *values);
    int32_t *failed = calloc(ITEMS, sizeof *failed);
    if (!a || !values || !failed) abort();
    for (int i = 0; i < N * N; i++) a[i] = creal(random_value(HS_FLOAT64));
    const hs_svd_stack x = {.dtype = HS_FLOAT64,
                            .m = N,
                            .n = N,
                            .rank = 1,
                            .size = &size,
                            .a_steps = &step,
                            .a = a,
                            .a_row_stride = N,
                            .a_col_stride = 1,
                            .values = values,
                            .failed = failed};
    const hs_options options = {.poll = refuse_at_once};
    CHECK(hs_run_svd_stack(pool, &x, &options, NULL) == HS_ERROR_CANCELLED);
    free(failed);
    free(values);
    free(a);
}

static void check_refusals(void)
{
    double a[8] = {1, 0, 0, 1, 1, 0, 0, 1};
    double values[4] = {0};
    double z[8] = {0};
    int32_t failed[2] = {7, 7};
    static const int64_t two[] = {2}, four[] = {4}, negative[] = {-1}, many[] = {INT64_MAX, 3};
    const hs_eigh_stack good = {.dtype = HS_FLOAT64,
                                .n = 2,
                                .rank = 1,
                                .size = two,
                                .a_steps = four,
                                .a = a,
                                .a_row_stride = 2,
                                .a_col_stride = 1,
                                .values = values,
                                .vectors = z,
                                .failed = failed};
    const hs_svd_stack svd = {.dtype = HS_FLOAT64,
                              .m = 2,
                              .n = 2,
                              .rank = 1,
                              .size = two,
                              .a_steps = four,
                              .a = a,
                              .a_row_stride = 2,
                              .a_col_stride = 1,
                              .values = values,
                              .failed = failed};
    for (int wrong = 0; wrong < 12; wrong++) {
        hs_eigh_stack x = good;
        hs_svd_stack y = svd;
        const hs_options options = {.pace = wrong == 0 ? values : NULL};
        if (wrong == 1) x.dtype = y.dtype = 4;
        if (wrong == 2) x.dtype = y.dtype = -1;
        if (wrong == 3) x.n = y.n = -1;
        if (wrong == 4) x.rank = y.rank = -1;
        if (wrong == 5) x.size = y.size = NULL;
        if (wrong == 6) x.a_steps = y.a_steps = NULL;
        if (wrong == 7) x.size = y.size = negative;
        if (wrong == 8) x.a = y.a = NULL;
        if (wrong == 9) x.values = y.values = NULL;
        if (wrong == 10) x.failed = y.failed = NULL;
        if (wrong == 11) {
            x.rank = y.rank = 2;
            x.size = y.size = x.a_steps = y.a_steps = many;
        }
        CHECK(hs_run_eigh_stack(pools[0], &x, &options, NULL) == HS_ERROR_VALUE);
        CHECK(hs_run_svd_stack(pools[0], &y, &options, NULL) == HS_ERROR_VALUE);
    }
    CHECK(failed[0] == 7 && values[0] == 0 && z[0] == 0);
    hs_svd_stack y = svd;
    y.m = -1;
    CHECK(hs_run_svd_stack(pools[0], &y, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_eigh_stack(NULL, &good, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_eigh_stack(pools[0], NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_svd_stack(pools[0], NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_run_eigh_stack(pools[0], &good, NULL, NULL) == HS_OK);
    CHECK(failed[0] == 0 && failed[1] == 0 && values[3] == 1 && z[0] == 1 && z[7] == 1);
}

/* More memory than there is. */
static void check_too_large(void)
{
    double one = 1;
    double value = 7;
    int32_t failed = 7;
    const hs_eigh_stack x = {
        .dtype = HS_FLOAT64, .n = INT32_MAX, .a = &one, .values = &value, .failed = &failed};
    CHECK(hs_run_eigh_stack(pools[0], &x, NULL, NULL) == HS_ERROR_MEMORY);
    CHECK(value == 7 && failed == 7);
}

static hs_status run_in_little_memory(hs_pool *pool, void *context)
{
    const stack *x = context;
    x->failed[0] = 7;
    memset(x->values, 0, 8);
    const hs_status status = run_stack(pool, x, -1, BOTH, NULL);
    CHECK((status == HS_ERROR_MEMORY) == (get(x->values, x->dtype & 1, 0) == 0));
    return status;
}

static void check_memory(void)
{
    stack x = make_stack(HS_FLOAT64, 20, 20, 200, 1, ANY, 0);
    CHECK_SCARCE(scarce_life(2, run_in_little_memory, &x), 1);
    free_stack(&x);
}

int main(void)
{
    for (int32_t p = 0; p < POOLS; p++)
        if (!CHECK(hs_pool_create(p + 1, NULL, &pools[p]) == HS_OK)) return check_result();
    WITH_EACH_SET(check_stacks());
    ALSO_LATE(check_shared());
    check_cancel(pools[0]);
    check_cancel(pools[POOLS - 1]);
    check_refusals();
    check_too_large();
    check_memory();
    for (int p = 0; p < POOLS; p++) hs_pool_destroy(pools[p]);
    return check_result();
}
