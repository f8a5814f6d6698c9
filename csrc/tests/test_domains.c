/* Domains with blocks of each depth, height and width from 1 to twice the register tile, in every
 * kernel of this processor and every type, through all operations: against sums, or multiplied
 * back. An operation that does not advance is cancelled, which fails the test. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "domains.h"
#include "products.h"

static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

/* ---- an operation without end ---------------------------------------------------------------- */

/* 50 ms apart: a minute, for operations that take a millisecond */
enum { MOST_POLLS = 1200 };

static int has_no_end;

static int count_poll(void *polls, double fraction)
{
    (void)fraction;
    return has_no_end = ++*(int *)polls > MOST_POLLS;
}

/* ---- matrices of a test: column by column ---------------------------------------------------- */

typedef struct {
    int dtype;
    int64_t m, n;
    void *data;
} grid;

static double any_real(void) { return (int)check_random(2001) / 1000.0 - 1; }
static double complex any_number(int dtype)
{
    return any_real() + (dtype >> 1 ? I * any_real() : 0);
}
static double complex element_at(const grid *x, int64_t i, int64_t j)
{
    return get(x->data, x->dtype, i + j * x->m);
}
static void put_element(const grid *x, int64_t i, int64_t j, double complex value)
{
    set(x->data, x->dtype, i + j * x->m, value);
}

static grid random_grid(int dtype, int64_t m, int64_t n)
{
    grid x = {dtype, m, n, malloc((size_t)(m * n) * size_of[dtype])};
    if (!CHECK(x.data)) exit(1);
    for (int64_t i = 0; i < m * n; i++) set(x.data, dtype, i, any_number(dtype));
    return x;
}

static grid copy_of(const grid *x)
{
    grid y = random_grid(x->dtype, x->m, x->n);
    memcpy(y.data, x->data, (size_t)(x->m * x->n) * size_of[x->dtype]);
    return y;
}

/* Computes y <- X v, or X^H v. part: of X only the triangle 'L' or 'U', or 'l', which is 'L' with
 * ones on the diagonal; or all of X, 'A'. */
static void multiply_plainly(const grid *x, char part, int adjoint, const double complex *v,
                             double complex *y)
{
    for (int64_t i = 0; i < (adjoint ? x->n : x->m); i++) y[i] = 0;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < x->m; i++) {
            if ((part == 'U' && i > j) || (part == 'L' && i < j) || (part == 'l' && i < j))
                continue;
            const double complex e = part == 'l' && i == j ? 1 : element_at(x, i, j);
            if (adjoint) y[j] += conj(e) * v[i];
            else y[i] += e * v[j];
        }
}

enum { LONGEST = 400 };

/* Returns whether x and y differ by at most `roundings` roundings of their largest element. */
static int are_near(int dtype, int64_t n, const double complex *x, const double complex *y,
                    double roundings)
{
    double most = 0;
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, cabs(y[i]));
        worst = fmax(worst, cabs(x[i] - y[i]));
    }
    return worst <= roundings * eps[dtype] * most;
}

static void random_vector(int64_t n, double complex *v)
{
    for (int64_t i = 0; i < n; i++) v[i] = 1 + any_number(HS_COMPLEX128) / 2;
}

/* ---- the operations -------------------------------------------------------------------------- */

/* Checks C <- A A^T or A A^H, lower, upper or mirrored. The elements are integers, so C is
 * exact. */
static void check_gram(hs_pool *pool, int dtype, int64_t n, int64_t k)
{
    const int conjugate = dtype >> 1 && check_random(2);
    const int which = 1 + (int)check_random(3);
    const matrix a = make_matrix(dtype, n, k, (int)check_random(2));
    const matrix c = make_matrix(dtype, n, n, 0);
    double complex *rows = dense_copy(a.origin, dtype, n, k, a.row_stride, a.col_stride);
    double complex *before = dense_copy(c.origin, dtype, n, n, c.row_stride, c.col_stride);
    hs_product p = {.dtype = dtype,
                    .m = n,
                    .n = n,
                    .k = k,
                    .alpha = {1},
                    .triangle = which,
                    .conjugate = conjugate,
                    .a = a.origin,
                    .a_row_stride = a.row_stride,
                    .a_col_stride = a.col_stride,
                    .b = a.origin,
                    .b_row_stride = a.col_stride,
                    .b_col_stride = a.row_stride,
                    .c = c.origin,
                    .c_row_stride = n,
                    .c_col_stride = 1};
    int polls = 0;
    CHECK(hs_gemm(pool, &p, NULL, count_poll, &polls) == HS_OK);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += rows[i * k + l] * (conjugate ? conj(rows[j * k + l]) : rows[j * k + l]);
            const int inside =
                which == HS_TRIANGLE_MIRRORED || (which == HS_TRIANGLE_LOWER ? j <= i : j >= i);
            wrong += get(c.origin, dtype, i * n + j) != (inside ? sum : before[i * n + j]);
        }
    CHECK(wrong == 0);
    free(a.memory);
    free(c.memory);
    free(rows);
    free(before);
}

static hs_factor factor_copy(hs_pool *pool, int kind, const grid *x, int32_t *pivots, void *tau)
{
    hs_factor f;
    hs_factor_default(&f, kind, x->dtype, x->m, x->n, x->data);
    f.pivots = pivots;
    f.tau = tau;
    f.clear = kind == HS_CHOLESKY;
    f.cooperative = (int32_t)check_random(2);
    f.block = check_random(3) ? 1 + check_random(40) : 0;
    int polls = 0;
    CHECK(hs_run_factor(pool, &f, &(hs_options){.poll = count_poll, .poll_context = &polls},
                        NULL) == HS_OK &&
          f.failed == -1);
    return f;
}

/* Checks P A = L U of any shape. */
static void check_lu(hs_pool *pool, int dtype, int64_t m, int64_t n)
{
    const grid a = random_grid(dtype, m, n);
    const grid x = copy_of(&a);
    const int64_t rank = hs__min(m, n);
    double complex v[LONGEST], u[LONGEST], found[LONGEST], expected[LONGEST];
    int32_t pivots[LONGEST];
    factor_copy(pool, HS_LU, &x, pivots, NULL);
    random_vector(n, v);
    multiply_plainly(&x, 'U', 0, v, u);
    multiply_plainly(&(grid){dtype, m, rank, x.data}, 'l', 0, u, found);
    multiply_plainly(&a, 'A', 0, v, expected);
    for (int64_t i = 0; i < rank; i++) {
        const double complex kept = expected[i];
        expected[i] = expected[pivots[i]];
        expected[pivots[i]] = kept;
    }
    CHECK(are_near(dtype, m, found, expected, 20 * (double)(m + n)));
    free(a.data);
    free(x.data);
}

/* Checks A X = B or A^T X = B, the inverse, and a triangular system, with a matrix that is far from
 * singular. */
static void check_systems(hs_pool *pool, int dtype, int64_t n, int64_t cols)
{
    const grid a = random_grid(dtype, n, n);
    const grid b = random_grid(dtype, n, cols);
    const grid inverse = random_grid(dtype, n, n);
    const grid x = copy_of(&b);
    const grid y = copy_of(&b);
    for (int64_t i = 0; i < n; i++) put_element(&a, i, (i + 1) % n, 2 * (double)n);
    const grid l = copy_of(&a);
    double complex v[LONGEST], u[LONGEST], found[LONGEST], expected[LONGEST];
    int32_t pivots[LONGEST];
    int32_t polls = 0;
    const int transposed = dtype < 2 && check_random(2);
    const hs_factor f = factor_copy(pool, HS_LU, &l, pivots, NULL);
    random_vector(cols, v);
    multiply_plainly(&b, 'A', 0, v, expected);
    CHECK(hs_lu_solve(pool, &f, transposed, cols, x.data, 1, n, count_poll, &polls) == HS_OK);
    multiply_plainly(&x, 'A', 0, v, u);
    multiply_plainly(&a, 'A', transposed, u, found);
    CHECK(are_near(dtype, n, found, expected, 20 * (double)(n + cols)));
    polls = 0;
    CHECK(hs_lu_inverse(pool, &f, inverse.data, 1, n, count_poll, &polls) == HS_OK);
    random_vector(n, expected);
    multiply_plainly(&inverse, 'A', 0, expected, u);
    multiply_plainly(&a, 'A', 0, u, found);
    CHECK(are_near(dtype, n, found, expected, 40 * (double)n));
    const int upper = (int)check_random(2);
    for (int64_t i = 0; i < n; i++) {
        put_element(&a, i, i, 2 * (double)n);
        put_element(&a, i, (i + 1) % n, n > 1 ? any_number(dtype) : 2);
    }
    const hs_triangular t = {dtype, n, cols, upper, 0, a.data, 1, n, y.data, 1, n, NULL};
    polls = 0;
    CHECK(hs_solve_triangular(pool, &t, count_poll, &polls) == HS_OK);
    multiply_plainly(&b, 'A', 0, v, expected);
    multiply_plainly(&y, 'A', 0, v, u);
    multiply_plainly(&a, upper ? 'U' : 'L', 0, u, found);
    CHECK(are_near(dtype, n, found, expected, 20 * (double)(n + cols)));
    free(a.data);
    free(b.data);
    free(x.data);
    free(y.data);
    free(inverse.data);
    free(l.data);
}

static void check_cholesky(hs_pool *pool, int dtype, int64_t n)
{
    const grid a = random_grid(dtype, n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            put_element(&a, j, i, conj(element_at(&a, i, j)));
            put_element(&a, i, i, 3 * (double)n);
        }
    const grid x = copy_of(&a);
    double complex v[LONGEST], u[LONGEST], found[LONGEST], expected[LONGEST];
    factor_copy(pool, HS_CHOLESKY, &x, NULL, NULL);
    random_vector(n, v);
    multiply_plainly(&x, 'L', 1, v, u);
    multiply_plainly(&x, 'L', 0, u, found);
    multiply_plainly(&a, 'A', 0, v, expected);
    CHECK(are_near(dtype, n, found, expected, 20 * (double)n));
    free(a.data);
    free(x.data);
}

/* Checks A = Q R with Q^H Q = I, of any shape, and Q^H C. */
static void check_qr(hs_pool *pool, int dtype, int64_t m, int64_t n)
{
    const int64_t rank = hs__min(m, n);
    const grid a = random_grid(dtype, m, n);
    const grid x = copy_of(&a);
    const grid q = random_grid(dtype, m, rank);
    const grid c = copy_of(&a);
    double complex v[LONGEST], u[LONGEST], w[LONGEST], found[LONGEST], expected[LONGEST],
        tau[LONGEST];
    int polls = 0;
    const hs_factor f = factor_copy(pool, HS_QR, &x, NULL, tau);
    CHECK(hs_qr_multiply(pool, &f, 0, 1, rank, q.data, 1, m, count_poll, &polls) == HS_OK);
    random_vector(n, v);
    multiply_plainly(&x, 'U', 0, v, u);
    multiply_plainly(&q, 'A', 0, u, found);
    multiply_plainly(&a, 'A', 0, v, expected);
    CHECK(are_near(dtype, m, found, expected, 20 * (double)(m + n)));
    random_vector(rank, v);
    multiply_plainly(&q, 'A', 0, v, w);
    multiply_plainly(&q, 'A', 1, w, u);
    CHECK(are_near(dtype, rank, u, v, 20 * (double)(m + n)));
    polls = 0;
    CHECK(hs_qr_multiply(pool, &f, 1, 0, n, c.data, 1, m, count_poll, &polls) == HS_OK);
    random_vector(n, v);
    multiply_plainly(&c, 'A', 0, v, found);
    multiply_plainly(&x, 'U', 0, v, expected);
    CHECK(are_near(dtype, rank, found, expected, 20 * (double)(m + n)));
    free(a.data);
    free(x.data);
    free(q.data);
    free(c.data);
}

/* Checks A = Q R by blocks of rows. */
static void check_tall(hs_pool *pool, int dtype, int64_t m, int64_t n)
{
    const grid a = random_grid(dtype, m, n);
    const grid q = random_grid(dtype, m, n);
    const grid r = random_grid(dtype, n, n);
    double complex v[LONGEST], u[LONGEST], found[LONGEST], expected[LONGEST];
    int polls = 0;
    const hs_tall t = {.dtype = dtype,
                       .m = m,
                       .n = n,
                       .a = a.data,
                       .a_row_stride = 1,
                       .a_col_stride = m,
                       .q = q.data,
                       .q_row_stride = 1,
                       .q_col_stride = m,
                       .r = r.data,
                       .r_row_stride = 1,
                       .r_col_stride = n};
    CHECK(hs_tall_qr(pool, &t, &(hs_options){.poll = count_poll, .poll_context = &polls}, NULL) ==
          HS_OK);
    random_vector(n, v);
    multiply_plainly(&r, 'A', 0, v, u);
    multiply_plainly(&q, 'A', 0, u, found);
    multiply_plainly(&a, 'A', 0, v, expected);
    CHECK(are_near(dtype, m, found, expected, 20 * (double)(m + n)));
    free(a.data);
    free(q.data);
    free(r.data);
}

/* Checks A_i X_i = B_i. All A_i are in one array and all B_i in another, their columns side by
 * side. */
static void check_stack(hs_pool *pool, int dtype, int64_t n, int64_t cols)
{
    enum { ITEMS = 3 };
    const grid a = random_grid(dtype, n, n * ITEMS);
    const grid b = random_grid(dtype, n, cols * ITEMS);
    const grid x = copy_of(&b);
    const int64_t items = ITEMS;
    const int64_t steps[] = {n * n, n * cols};
    int64_t info[ITEMS];
    int polls = 0;
    for (int64_t i = 0; i < n * ITEMS; i++) put_element(&a, i % n, i, 2 * (double)n);
    const hs_stack s = {.operation = HS_STACK_SOLVE,
                        .rank = 1,
                        .size = &items,
                        .info = info,
                        .a_steps = &steps[0],
                        .b_steps = &steps[1],
                        .c_steps = &steps[1],
                        .item = {.dtype = dtype,
                                 .m = n,
                                 .n = cols,
                                 .k = n,
                                 .a = a.data,
                                 .a_row_stride = 1,
                                 .a_col_stride = n,
                                 .b = b.data,
                                 .b_row_stride = 1,
                                 .b_col_stride = n,
                                 .c = x.data,
                                 .c_row_stride = 1,
                                 .c_col_stride = n}};
    CHECK(hs_run_stack(pool, &s, NULL, &(hs_options){.poll = count_poll, .poll_context = &polls},
                       NULL) == HS_OK);
    double complex v[LONGEST], u[LONGEST], found[LONGEST], expected[LONGEST];
    random_vector(cols, v);
    for (int64_t i = 0; i < ITEMS; i++) {
        const size_t item = (size_t)i * size_of[dtype];
        const size_t left = item * (size_t)(n * n);
        const size_t right = item * (size_t)(n * cols);
        multiply_plainly(&(grid){dtype, n, cols, (char *)x.data + right}, 'A', 0, v, u);
        multiply_plainly(&(grid){dtype, n, n, (char *)a.data + left}, 'A', 0, u, found);
        multiply_plainly(&(grid){dtype, n, cols, (char *)b.data + right}, 'A', 0, v, expected);
        CHECK(info[i] == -1 && are_near(dtype, n, found, expected, 20 * (double)(n + cols)));
    }
    free(a.data);
    free(b.data);
    free(x.data);
}

/* ---- the sizes ------------------------------------------------------------------------------- */

/* Returns a size that is cut into several blocks, up to three. */
static int64_t some_size(int32_t block) { return 1 + check_random((unsigned)block * 5 / 2 + 8); }

static void each_operation(const hs_domain *domain, int dtype, int32_t workers)
{
    const int32_t of[2] = {0};
    const int32_t *block[] = {domain->depth, domain->rows, domain->cols};
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create_domains(workers, NULL, 1, domain, of, &pool) == HS_OK)) return;
    const int64_t k = some_size(block[0][dtype & 1]);
    const int64_t m = some_size(block[1][dtype & 1]);
    const int64_t n = some_size(block[2][dtype & 1]);
    const double complex alpha = dtype >> 1 && check_random(2) ? 1 - 2 * I : 2;
    one_case(pool, dtype, m, n, k, (int)check_random(64), alpha, (double)check_random(3), NULL);
    one_case(pool, dtype, m + 50, 1 + n % 3, k, (int)check_random(64), 1, 0, NULL);
    void (*const operations[])(hs_pool *, int, int64_t, int64_t) = {
        check_gram, check_lu, check_systems, check_qr, check_stack};
    for (int i = 0; i < 5 && !has_no_end; i++) operations[i](pool, dtype, m, i < 2 ? k : n);
    if (!has_no_end) check_cholesky(pool, dtype, m);
    if (!has_no_end) check_tall(pool, dtype, m + 80, 1 + n % 9);
    CHECK(!has_no_end);
    hs_pool_destroy(pool);
}

/* Checks each size of the depth, of the rows and of the columns, in changing combinations. */
static void each_size(const char *set, int dtype)
{
    int32_t tile[2], own[3];
    const hs_status status = hs_kernel_sizes(set, dtype & 1, tile, own);
    if (status == HS_ERROR_UNSUPPORTED || !CHECK(status == HS_OK)) return;
    const int32_t most = 2 * (int32_t)hs__max(tile[0], tile[1]);
    const int32_t shift = (int32_t)check_random(1000);
    for (int32_t i = 0; i < most && !has_no_end; i += i < 4 ? 1 : CHECK_MANY(1, 7)) {
        hs_domain domain = {.kernel = set};
        domain.depth[dtype & 1] = 1 + i;
        domain.rows[dtype & 1] = 1 + (i + shift) % (2 * tile[0]);
        domain.cols[dtype & 1] = 1 + (i + 3 * shift) % (2 * tile[1]);
        each_operation(&domain, dtype, 1 + i % 2);
    }
}

int main(void)
{
    for (int i = 0; i < DOMAIN_SETS; i++)
        for (int dtype = 0; dtype < 4; dtype++) each_size(domain_sets[i], dtype);
    return check_result();
}
