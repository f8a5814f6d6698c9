/* Triangles of products, above all A A^T and A A^H, against a triple loop: all types, strides,
 * triangles and kinds of runs. Elements outside a triangle are untouched, mirror images are exact,
 * a Hermitian diagonal is real. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "late.h"
#include "matrices.h"
#include "run_calls.h"
#include "scarce.h"

typedef struct {
    int dtype, triangle, conjugate, layouts;
    int64_t n, k;
    double complex alpha, beta;
    int general; /* B is not the transpose of A */
    const test_run *plan;
} problem;

static int triangle_has(int triangle, int64_t i, int64_t j)
{
    return triangle == HS_TRIANGLE_NONE || (triangle == HS_TRIANGLE_UPPER ? i <= j : i >= j);
}

/* Computes the result in the memory of `expected`. Elements of C that must not be read with beta =
 * 0 become NaN. */
static void compute_expected(const problem *x, const matrix *a, const matrix *b, matrix *c,
                             char *expected)
{
    void *origin = expected + ((char *)c->origin - (char *)c->memory);
    const int hermitian = x->triangle && x->conjugate && x->dtype >> 1;
    double complex *rows =
        dense_copy(a->origin, x->dtype, x->n, x->k, a->row_stride, a->col_stride);
    double complex *cols =
        dense_copy(b->origin, x->dtype, x->n, x->k, b->col_stride, b->row_stride);
    for (int64_t i = 0; x->conjugate && i < x->n * x->k; i++) cols[i] = conj(cols[i]);
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < x->n; j++) {
            if (!triangle_has(x->triangle, i, j)) continue;
            const double complex sum = sum_of_products(x->k, rows + i * x->k, cols + j * x->k);
            const ptrdiff_t at = i * c->row_stride + j * c->col_stride;
            const ptrdiff_t image = j * c->row_stride + i * c->col_stride;
            double complex value =
                x->alpha * sum + (x->beta == 0 ? 0 : x->beta * get(origin, x->dtype, at));
            if (hermitian && i == j) value = creal(value);
            set(origin, x->dtype, at, value);
            if (x->triangle == HS_TRIANGLE_MIRRORED && i != j)
                set(origin, x->dtype, image, hermitian ? conj(value) : value);
            if (x->beta == 0) set(c->origin, x->dtype, at, NAN);
        }
    free(rows);
    free(cols);
}

static void one_case(hs_pool *pool, const problem *x)
{
    const int dtype = x->dtype;
    const int64_t n = x->n;
    const int64_t k = x->k;
    matrix a = make_matrix(dtype, n, k, x->layouts & 3);
    matrix c = make_matrix(dtype, n, n, x->layouts >> 2 & 3);
    matrix b = {0};
    if (x->general) b = make_matrix(dtype, k, n, x->layouts >> 4 & 3);
    else {
        b.origin = a.origin;
        b.row_stride = a.col_stride;
        b.col_stride = a.row_stride;
    }
    char *expected = malloc((size_t)c.elements * size_of[dtype]);
    memcpy(expected, c.memory, (size_t)c.elements * size_of[dtype]);
    compute_expected(x, &a, &b, &c, expected);
    const hs_product product = {.dtype = dtype,
                                .m = n,
                                .n = n,
                                .k = k,
                                .a = a.origin,
                                .a_row_stride = a.row_stride,
                                .a_col_stride = a.col_stride,
                                .b = b.origin,
                                .b_row_stride = b.row_stride,
                                .b_col_stride = b.col_stride,
                                .c = c.origin,
                                .c_row_stride = c.row_stride,
                                .c_col_stride = c.col_stride,
                                .alpha = {creal(x->alpha), cimag(x->alpha)},
                                .beta = {creal(x->beta), cimag(x->beta)},
                                .triangle = x->triangle,
                                .conjugate = x->conjugate};
    if (x->plan) {
        test_run run = *x->plan;
        CHECK(run_product(pool, &product, &run) == HS_OK);
    } else CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
    /* counts all elements of the memory: the elements between the strides must be unchanged */
    int64_t wrong = 0;
    for (int64_t i = 0; i < c.elements; i++)
        wrong += get(c.memory, dtype, i) != get(expected, dtype, i);
    if (!CHECK(wrong == 0))
        fprintf(stderr, "dtype %d triangle %d conjugate %d layouts %d n %ld k %ld wrong %ld\n",
                dtype, x->triangle, x->conjugate, x->layouts, (long)n, (long)k, (long)wrong);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    free(expected);
}

/* Checks every type and triangle, with scalars that they allow. */
static void all_kinds(hs_pool *pool, int64_t n, int64_t k, int layouts, int general,
                      const test_run *plan)
{
    for (int dtype = 0; dtype < 4; dtype++)
        for (int triangle = 0; triangle < 4; triangle++)
            for (int conjugate = CHECK_MANY(0, (dtype + triangle) % 2); conjugate < 2;
                 conjugate += CHECK_MANY(1, 2)) {
                const int turn = layouts + dtype + triangle;
                problem x = {dtype, triangle,          conjugate, layouts, n,
                             k,     turn % 2 ? 1 : -2, turn % 3,  general, plan};
                if (dtype >> 1 && !(triangle && conjugate) && turn % 5 == 0) {
                    x.alpha += I;
                    x.beta += x.beta == 0 ? 0 : 2 * I;
                }
                one_case(pool, &x);
            }
}

static void triangles(hs_pool *pool, int step)
{
    const int64_t sizes[][2] = {{0, 3}, {1, 1},  {1, 40},   {2, 0},  {2, 5},  {7, 3},   {8, 8},
                                {9, 2}, {24, 5}, {25, 330}, {48, 1}, {49, 7}, {130, 11}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int layouts = 0; layouts < 64; layouts += step)
            all_kinds(pool, sizes[s][0], sizes[s][1], layouts, layouts % 2, NULL);
}

/* Several panels of columns and of depth, and several blocks of rows. */
static void larger(hs_pool *pool)
{
    for (int triangle = 1; triangle < 4; triangle++)
        for (int layouts = CHECK_MANY(0, 5 * (triangle % 2)); layouts < 8;
             layouts += CHECK_MANY(5, 8)) {
            one_case(pool, &(problem){HS_FLOAT64, triangle, 0, layouts, 1100, 3, 1, 0, 0, NULL});
            one_case(pool, &(problem){HS_FLOAT32, triangle, 0, layouts, 130, 700, 1, 1, 0, NULL});
            one_case(pool,
                     &(problem){HS_COMPLEX128, triangle, 1, layouts, 130, 330, 1, 0, 0, NULL});
        }
}

/* Boxes of any shape, some with whole rows or columns of C. Each contains a part of the triangle,
 * all of it, or nothing of it. */
static void own_boxes(hs_pool *pool)
{
    const hs_box boxes[] = {
        {.worker = 0, .row = 0, .col = 0, .height = 64, .width = 13, .length = 60},
        {.worker = 2, .row = 0, .col = 13, .height = 30, .width = 51, .length = 20},
        {.worker = 2, .row = 0, .col = 13, .depth = 20, .height = 30, .width = 51, .length = 40},
        {.worker = 1, .row = 30, .col = 13, .height = 34, .width = 17, .length = 60},
        {.worker = 1, .row = 30, .col = 30, .height = 34, .width = 34, .length = 60},
    };
    const double pace[] = {0, 0, 0};
    for (int layouts = 0; layouts < 64; layouts += 21) {
        all_kinds(pool, 64, 60, layouts, 0, &(test_run){.boxes.box = boxes, .boxes.count = 5});
        all_kinds(pool, 64, 60, layouts, 1,
                  &(test_run){.boxes.box = boxes, .boxes.count = 5, .options.pace = pace});
    }
}

static void shared_boxes(hs_pool *pool)
{
    const hs_box boxes[] = {
        {.height = 40, .width = 30, .length = 300},
        {.depth = 300, .height = 40, .width = 30, .length = 300},
        {.col = 30, .height = 40, .width = 10, .length = 600},
    };
    const double speeds[] = {1.0, 3.0, 0.5};
    for (int layouts = 0; layouts < 64; layouts += 42)
        all_kinds(pool, 40, 600, layouts, 0,
                  &(test_run){.boxes.box = boxes,
                              .boxes.count = 3,
                              .boxes.cooperative = 1,
                              .boxes.speeds = layouts ? speeds : NULL});
}

static void layers(hs_pool *pool)
{
    enum { K = 3000 };
    const hs_box own[] = {
        {.worker = 1, .row = 0, .col = 0, .depth = 100, .height = 37, .width = 37, .length = 30},
        {.worker = 0, .row = 0, .col = 0, .height = 20, .width = 37, .length = 100},
        {.worker = 1, .row = 0, .col = 0, .depth = 130, .height = 37, .width = 37, .length = 70},
        {.worker = 2, .row = 20, .col = 0, .height = 17, .width = 37, .length = 100},
    };
    const int64_t rows[] = {0, 5, 5, 37};
    for (int layouts = 0; layouts < 64; layouts += CHECK_MANY(9, 21)) {
        const test_run run = {.boxes.box = own,
                              .boxes.count = 4,
                              .boxes.layered = 1,
                              .boxes.sum_rows = layouts % 2 ? rows : NULL};
        all_kinds(pool, 37, 200, layouts, layouts % 4 == 0, &run);
    }
    /* the layers of hs_gemm */
    for (int layouts = 0; layouts < 64; layouts += 42) all_kinds(pool, 19, K, layouts, 0, NULL);
}

/* If alpha or the depth leaves nothing to do but to scale, nothing else of C is touched. */
static void without_a_product(hs_pool *pool)
{
    for (int dtype = 0; dtype < 4; dtype++)
        for (int triangle = 1; triangle < 4; triangle++)
            for (int beta = 0; beta < 3; beta++)
                one_case(pool, &(problem){dtype, triangle, 1, triangle, 30, 50, 0, beta, 0, NULL});
}

static void refused(hs_pool *pool)
{
    double complex a[6] = {1};
    double complex c[9] = {7};
    hs_product good = {.dtype = HS_COMPLEX128,
                       .m = 3,
                       .n = 3,
                       .k = 2,
                       .a = a,
                       .a_row_stride = 2,
                       .a_col_stride = 1,
                       .b = a,
                       .b_row_stride = 1,
                       .b_col_stride = 2,
                       .c = c,
                       .c_row_stride = 3,
                       .c_col_stride = 1,
                       .alpha = {1.0},
                       .triangle = HS_TRIANGLE_LOWER,
                       .conjugate = 1};
    hs_product bad = good;
    CHECK(hs_gemm(pool, &good, NULL, NULL, NULL) == HS_OK && c[1] == 0);
    c[0] = 7;
    bad.triangle = 4;
    CHECK(hs_gemm(pool, &bad, NULL, NULL, NULL) == HS_ERROR_VALUE);
    bad.triangle = -1;
    CHECK(hs_gemm(pool, &bad, NULL, NULL, NULL) == HS_ERROR_VALUE);
    bad = good;
    bad.n = 2;
    CHECK(hs_gemm(pool, &bad, NULL, NULL, NULL) == HS_ERROR_VALUE);
    bad = good;
    bad.alpha[1] = 1;
    CHECK(hs_gemm(pool, &bad, NULL, NULL, NULL) == HS_ERROR_VALUE);
    bad = good;
    bad.beta[1] = 1;
    CHECK(hs_gemm(pool, &bad, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(c[0] == 7);
}

static int after_few(void *context, double fraction)
{
    (void)fraction;
    return ++*(int *)context > 1;
}

static void cancelled(hs_pool *pool)
{
    enum { N = 600 };
    double *memory = calloc(2 * N * N, sizeof *memory);
    int calls = 0;
    const hs_box whole = {.height = N, .width = N, .length = N};
    const double pace[] = {1, 1, 1};
    test_run run = {.boxes.box = &whole,
                    .boxes.count = 1,
                    .options = {.pace = pace, .poll = after_few, .poll_context = &calls}};
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, N, memory, memory, memory + N * N);
    product.triangle = HS_TRIANGLE_MIRRORED;
    CHECK(run_product(pool, &product, &run) == HS_ERROR_CANCELLED);
    free(memory);
}

/* An emulated worker takes the time of the elements of the triangle that are in its boxes. */
static void paced(hs_pool *pool)
{
    /* columns 0 .. HALF - 1: half of the triangle, FIRST elements of it */
    enum { N = 200, K = 10, HALF = 59, FIRST = HALF * N - HALF * (HALF - 1) / 2 };
    double *memory = calloc(N * K + N * N, sizeof *memory);
    double finish[3];
    const hs_box boxes[] = {
        {.worker = 0, .height = N, .width = HALF, .length = K},
        {.worker = 1, .col = HALF, .height = N, .width = N - HALF, .length = K}};
    const double first = 2.0 * K * FIRST;
    const double second = 2.0 * K * (N - HALF) * (N - HALF + 1) / 2;
    const double pace[] = {0.1 / first, 0.2 / second, 0};
    test_run run = {
        .boxes.box = boxes, .boxes.count = 2, .options.pace = pace, .trace.times.finish = finish};
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, K, memory, memory, memory + N * K);
    product.b_row_stride = 1;
    product.b_col_stride = K;
    product.triangle = HS_TRIANGLE_MIRRORED;
    CHECK(run_product(pool, &product, &run) == HS_OK);
    CHECK(finish[0] >= 0.0999 && finish[1] >= 0.1999 && finish[2] < finish[1]);
    free(memory);
}

/* Returns whether C is unchanged after a failed allocation. */
static int is_as_it_was(const double *c, int64_t count)
{
    while (count > 0 && c[count - 1] == -1) count--;
    return count == 0;
}

static void scarce(void)
{
    enum { N = 60, K = 50 };
    static double a[N * K], c[N * N];
    for (int i = 0; i < N * K; i++) a[i] = i % 5;
    for (int i = 0; i < N * N; i++) c[i] = -1;
    hs_pool *pool;
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, K, a, a, c);
    product.b_row_stride = 1;
    product.b_col_stride = K;
    product.triangle = HS_TRIANGLE_MIRRORED;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    CHECK_SCARCE((hs_pool_trim(pool), hs_gemm(pool, &product, NULL, NULL, NULL)),
                 is_as_it_was(c, N * N));
    CHECK(c[1] == c[N] && c[0] == 300);
    hs_pool_destroy(pool);
}

int main(void)
{
    hs_kernel_init();
    hs_pool *pool, *one;
    if (!CHECK(hs_pool_create(3, NULL, &pool) == HS_OK) ||
        !CHECK(hs_pool_create(1, NULL, &one) == HS_OK))
        return check_result();
    triangles(pool, CHECK_MANY(13, 63));
    triangles(one, CHECK_MANY(27, 64));
    ALSO_LATE(larger(pool));
    own_boxes(pool);
    shared_boxes(pool);
    layers(pool);
    without_a_product(pool);
    refused(pool);
    cancelled(pool);
    paced(pool);
    scarce();
    hs_pool_destroy(pool);
    hs_pool_destroy(one);
    return check_result();
}
