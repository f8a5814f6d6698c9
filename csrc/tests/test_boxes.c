/* From plans to boxes and from boxes to a product: planned, certified and run without Python,
 * against a plain product. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"

enum { M = 37, N = 29, K = 23, P = 3 };

/* Returns whether each iteration is in exactly one box, and no box is empty. */
static int tiles_exactly(int64_t m, int64_t n, int64_t k, const hs_box *boxes, int32_t count)
{
    char *seen = calloc((size_t)(m * n * k) + 1, 1);
    int64_t once = 0;
    for (int32_t b = 0; seen && b < count; b++) {
        const hs_box *x = &boxes[b];
        if (x->height * x->width * x->length == 0) once = -m * n * k;
        for (int64_t i = x->row; i < x->row + x->height; i++)
            for (int64_t j = x->col; j < x->col + x->width; j++)
                for (int64_t l = x->depth; l < x->depth + x->length; l++) {
                    once += !seen[(i * n + j) * k + l];
                    seen[(i * n + j) * k + l] = 1;
                }
    }
    free(seen);
    int64_t cells = 0;
    for (int32_t b = 0; b < count; b++) cells += boxes[b].height * boxes[b].width * boxes[b].length;
    return once == m * n * k && cells == once;
}

/* Checks that the boxes, run on the pool, give the product. The numbers are whole, so every order
 * of additions gives the same result. */
static void check_product(hs_pool *pool, const hs_box *boxes, int32_t count, int layered)
{
    double *a = malloc((M * K + K * N + 2 * M * N) * sizeof *a);
    double *b = a + M * K;
    double *c = b + K * N;
    double *wanted = c + M * N;
    if (!CHECK(a != NULL)) return;
    for (int e = 0; e < M * K + K * N; e++) a[e] = (int)check_random(9) - 4;
    memset(wanted, 0, M * N * sizeof *wanted);
    for (int i = 0; i < M; i++)
        for (int l = 0; l < K; l++)
            for (int j = 0; j < N; j++) wanted[i * N + j] += a[i * K + l] * b[l * N + j];
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, M, N, K, a, b, c);
    const hs_boxes all = {.box = boxes, .count = count, .layered = layered};
    CHECK(hs_run_product(pool, &product, &all, NULL, NULL) == HS_OK);
    CHECK(memcmp(c, wanted, M * N * sizeof *c) == 0);
    free(a);
}

static void test_counts(hs_pool *pool)
{
    const int64_t sides[] = {M, N, K};
    const double times[] = {1, 2, 4};
    hs_box boxes[P];
    int32_t count;
    int64_t counts[P];
    for (int32_t axis = 0; axis < 3; axis++) {
        CHECK(hs_distribute(sides[axis], P, times, NULL, counts, NULL) == HS_OK);
        CHECK(hs_boxes_of_counts(axis, M, N, K, P, counts, boxes, &count) == HS_OK && count == 3 &&
              tiles_exactly(M, N, K, boxes, count));
        check_product(pool, boxes, count, axis == 2);
    }
    CHECK(hs_boxes_of_counts(0, 5, 4, 3, P, (const int64_t[]){0, 5, 0}, boxes, &count) == HS_OK &&
          count == 1);
    CHECK(boxes[0].worker == 1 && boxes[0].height == 5 && boxes[0].width == 4 &&
          boxes[0].length == 3);
    count = -7;
    const int64_t bad[][P] = {
        {1, 2, 3}, {2, 2, 0}, {-1, 3, 3}, {6, -1, 0}, {INT64_MAX, INT64_MAX, 7}};
    for (int k = 0; k < 5; k++)
        CHECK(hs_boxes_of_counts(0, 5, 4, 3, P, bad[k], boxes, &count) == HS_ERROR_VALUE);
    CHECK(hs_boxes_of_counts(3, 5, 4, 3, P, (const int64_t[]){0, 5, 0}, boxes, &count) ==
          HS_ERROR_VALUE);
    CHECK(hs_boxes_of_counts(-1, 5, 4, 3, P, (const int64_t[]){0, 5, 0}, boxes, &count) ==
          HS_ERROR_VALUE);
    CHECK(count == -7);
}

static void test_zones(hs_pool *pool)
{
    const double areas[] = {6, 3, 1};
    int32_t plan[2 * P], length, workers[2 * P], pieces;
    int64_t rects[8 * P];
    double cost;
    hs_box boxes[2 * P];
    hs_certificate c;
    for (int around = 0; around < 2; around++) {
        if (around)
            CHECK(hs_partition_nonrectangular(P, areas, NULL, 1.0, NULL, NULL, plan, &length,
                                              &cost) == HS_OK);
        else
            CHECK(hs_partition_guillotine(P, areas, NULL, 1.0, 0, NULL, plan, &length, &cost) ==
                  HS_OK);
        CHECK(hs_floorplan_certificate(P, areas, NULL, 1.0, plan, length, &c) == HS_OK &&
              c.value >= c.bound && c.gap < 0.3);
        CHECK(hs_floorplan_tile(M, N, P, areas, plan, length, NULL, workers, rects, &pieces) ==
              HS_OK);
        CHECK(hs_boxes_of_zones(K, pieces, workers, rects, boxes) == HS_OK &&
              tiles_exactly(M, N, K, boxes, pieces));
        CHECK(hs_zones_certificate(M, N, P, NULL, pieces, workers, rects, &c) == HS_OK &&
              c.value >= c.bound && c.gap < 0.3);
        check_product(pool, boxes, pieces, 0);
    }
    CHECK(hs_boxes_of_zones(K, 0, NULL, NULL, NULL) == HS_OK);
    CHECK(hs_boxes_of_zones(-1, pieces, workers, rects, boxes) == HS_ERROR_VALUE);
    CHECK(hs_boxes_of_zones(K, -1, workers, rects, boxes) == HS_ERROR_VALUE);
}

static void test_cuboids(hs_pool *pool)
{
    const double volumes[] = {4, 0, 3};
    const double faces[] = {1, 1, 1};
    int32_t tree[2 * P], length, count;
    int64_t cuboids[6 * P];
    double cost;
    hs_box boxes[P];
    CHECK(hs_partition_cuboids_exact(P, volumes, faces, 4, NULL, tree, &length, &cost) == HS_OK);
    CHECK(hs_tile_cuboids(M, N, K, P, volumes, tree, length, NULL, cuboids) == HS_OK);
    CHECK(hs_boxes_of_cuboids(P, cuboids, boxes, &count) == HS_OK && count == 2 &&
          boxes[1].worker == 2 && tiles_exactly(M, N, K, boxes, count));
    check_product(pool, boxes, count, 1);
}

/* Each worker keeps its part of the depth in a matrix of its own, computed by strips of rows or in
 * two pieces of the depth. The numbers are whole. */
static void test_kept_layers(hs_pool *pool)
{
    enum { FIRST = 11, LAST = 5 };
    const hs_box boxes[] = {
        {.worker = 2, .depth = FIRST, .height = 20, .width = N, .length = LAST},
        {.worker = 0, .height = M, .width = N, .length = 4},
        {.worker = 2, .depth = FIRST, .row = 20, .height = M - 20, .width = N, .length = LAST},
        {.worker = 0, .depth = 4, .height = M, .width = N, .length = FIRST - 4},
        {.worker = 2, .depth = FIRST + LAST, .height = M, .width = N, .length = K - FIRST - LAST},
    };
    double *a = malloc((M * K + K * N + 3 * M * N) * sizeof *a);
    double *b = a + M * K;
    double *own[P] = {b + K * N, NULL, b + K * N + M * N};
    double c[1] = {-7.0};
    if (!CHECK(a != NULL)) return;
    for (int beta = 0; beta < 2; beta++)
        for (int alpha = 0; alpha < 3; alpha++) {
            for (int e = 0; e < M * K + K * N; e++) a[e] = (int)check_random(9) - 4;
            for (int e = 0; e < 2 * M * N; e++) own[0][e] = beta ? e % 5 : NAN;
            hs_product product;
            hs_product_default(&product, HS_FLOAT64, M, N, K, a, b, c);
            product.alpha[0] = alpha;
            product.beta[0] = beta;
            CHECK(
                hs_run_product(pool, &product,
                               &(hs_boxes){.box = boxes, .count = 5, .layers = (void *const *)own},
                               NULL, NULL) == HS_OK);
            for (int w = 0; w < P; w += 2)
                for (int i = 0; i < M; i++)
                    for (int j = 0; j < N; j++) {
                        double sum = beta ? (w / 2 * M * N + i * N + j) % 5 : 0.0;
                        for (int l = w ? FIRST : 0; l < (w ? K : FIRST); l++)
                            sum += alpha * a[i * K + l] * b[l * N + j];
                        CHECK(own[w][i * N + j] == sum);
                    }
            CHECK(c[0] == -7.0);
        }
    /* Worker 2 has two regions at different depths, after a box without rows. */
    const hs_box regions[] = {
        {.worker = 2, .width = 6, .length = 3},
        {.worker = 2, .height = M, .width = 6, .length = 3},
        {.worker = 0, .depth = 3, .height = M, .width = 6, .length = K - 3},
        {.worker = 0, .col = 6, .height = M, .width = N - 6, .length = 4},
        {.worker = 2, .depth = 4, .col = 6, .height = M, .width = N - 6, .length = K - 4}};
    for (int e = 0; e < 2 * M * N; e++) own[0][e] = NAN;
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, M, N, K, a, b, c);
    CHECK(hs_run_product(pool, &product,
                         &(hs_boxes){.box = regions, .count = 5, .layers = (void *const *)own},
                         NULL, NULL) == HS_OK);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int w = 0; w < P; w += 2) {
                const int cut = j < 6 ? 3 : 4;
                const int first = (w == 0) == (j < 6) ? cut : 0;
                double sum = 0.0;
                for (int l = first; l < (first ? K : cut); l++) sum += a[i * K + l] * b[l * N + j];
                CHECK(own[w][i * N + j] == sum);
            }
    /* boxes over a part of an earlier one, before it, and twice without an inner dimension */
    const hs_box partly[] = {{.worker = 0, .height = M, .width = 6, .length = 3},
                             {.worker = 2, .col = 6, .height = M, .width = N - 6, .length = 3},
                             {.worker = 0, .depth = 3, .height = M, .width = N, .length = K - 3}};
    const hs_box before[] = {{.worker = 0, .depth = 3, .height = M, .width = N, .length = K - 3},
                             {.worker = 0, .height = M, .width = N, .length = 3}};
    const hs_box twice[] = {{.worker = 0, .height = M, .width = N},
                            {.worker = 0, .height = M, .width = N}};
    for (int k = 0; k < 3; k++) {
        const hs_boxes wrong = {.box = k == 0   ? partly
                                       : k == 1 ? before
                                                : twice,
                                .count = k ? 2 : 3,
                                .layers = (void *const *)own};
        own[0][0] = -7.0;
        hs_product_default(&product, HS_FLOAT64, M, N, k < 2 ? K : 0, a, b, c);
        CHECK(hs_run_product(pool, &product, &wrong, NULL, NULL) == HS_ERROR_VALUE);
        CHECK(own[0][0] == -7.0);
    }
    hs_product_default(&product, HS_FLOAT64, M, M, 0, a, b, c);
    CHECK(hs_run_product(pool, &product, &(hs_boxes){.layers = (void *const *)own}, NULL, NULL) ==
              HS_OK &&
          c[0] == -7.0);
    hs_product_default(&product, HS_FLOAT64, M, N, K, a, b, c);
    hs_boxes bad[] = {{.layered = 1}, {.cooperative = 1}, {0}};
    void *none[P] = {own[0], own[0], NULL};
    for (int k = 0; k < 3; k++) {
        bad[k].box = boxes;
        bad[k].count = 5;
        bad[k].layers = k < 2 ? (void *const *)own : none;
        CHECK(hs_run_product(pool, &product, &bad[k], NULL, NULL) == HS_ERROR_VALUE);
    }
    free(a);
}

static void test_defaults(void)
{
    hs_product product;
    double m[4] = {0};
    int32_t pivots[2];
    memset(&product, 0xff, sizeof product);
    hs_product_default(&product, HS_FLOAT64, 2, 3, 4, m, m + 1, m + 2);
    CHECK(product.a_row_stride == 4 && product.b_row_stride == 3 && product.c_row_stride == 3 &&
          product.c == m + 2);
    CHECK(product.a_col_stride == 1 && product.b_col_stride == 1 && product.c_col_stride == 1);
    CHECK(product.alpha[0] == 1.0 && product.alpha[1] == 0.0 && product.beta[0] == 0.0 &&
          product.beta[1] == 0.0);
    hs_factor lu;
    memset(&lu, 0xff, sizeof lu);
    hs_factor_default(&lu, HS_LU, HS_FLOAT64, 2, 2, m);
    lu.pivots = pivots;
    CHECK(!lu.a && !lu.owner && !lu.costs && lu.block == 0 && lu.matrix == m &&
          lu.row_stride == 1 && lu.col_stride == 2 && lu.pivots == pivots);
    hs_measurement what;
    memset(&what, 0xff, sizeof what);
    hs_measurement_default(&what, 64);
    CHECK(what.size == 64 && what.worker == -1 && what.least == 3 && what.seconds == 0.5 &&
          what.dtype == HS_FLOAT64 && !what.times);
}

int main(void)
{
    hs_pool *pool;
    if (!CHECK(hs_pool_create(P, NULL, &pool) == HS_OK)) return check_result();
    test_counts(pool);
    test_zones(pool);
    test_cuboids(pool);
    test_kept_layers(pool);
    test_defaults();
    hs_pool_destroy(pool);
    return check_result();
}
