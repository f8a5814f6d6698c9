/* Life of pools: creation, refusal, many at once, use from several threads, destruction. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"

enum { N = 40 };
static double x[N * N];

static hs_status multiply(hs_pool *pool, double *c)
{
    hs_product product = {.dtype = HS_FLOAT64, .m = N, .n = N, .k = N, .a = x, .a_row_stride = N, .a_col_stride = 1, .b = x, .b_row_stride = N,
                          .b_col_stride = 1, .c = c, .c_row_stride = N, .c_col_stride = 1, .alpha = {1}};
    return hs_gemm(pool, &product, NULL, NULL, NULL);
}

static void *many_products(void *pool)
{
    double c[N * N];
    long wrong = 0;
    for (int round = 0; round < 50; round++) {
        c[0] = c[N * N - 1] = -1;
        wrong += multiply(pool, c) != HS_OK || c[0] != N || c[N * N - 1] != N;
    }
    return (void *)wrong;
}

int main(void)
{
    for (int i = 0; i < N * N; i++) x[i] = 1;
    hs_pool *pool = NULL;
    const int32_t negative[] = {0, -1};
    CHECK(hs_pool_create(0, NULL, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create(5000, NULL, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create(2, negative, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create(2, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(pool == NULL);
    hs_pool_destroy(NULL);

    for (int32_t p = 1; p <= 9; p++) { /* never used, and used */
        CHECK(hs_pool_create(p, NULL, &pool) == HS_OK);
        hs_pool_destroy(pool);
        CHECK(hs_pool_create(p, NULL, &pool) == HS_OK);
        double c[N * N];
        CHECK(multiply(pool, c) == HS_OK && c[N + 1] == N);
        hs_pool_destroy(pool);
    }

    const int32_t cores[] = {0, 1, 4000}; /* cores that may not exist: unpinned then */
    CHECK(hs_pool_create(3, cores, &pool) == HS_OK);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, many_products, pool) == 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL);
    }
    hs_pool_destroy(pool);
    return check_result();
}
