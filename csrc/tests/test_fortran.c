/* The gemm of another library: its own threads are held at one while workers are in it, a library
 * that was handed in stays, and a run keeps the kernel with which it began. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "elements.h"
#include "hetsched.h"

enum { P = 3, N = 40, THREADS = 8 };

static int threads = THREADS; /* atomic: threads of the library */
static long calls, crowded;   /* atomic: calls of its gemm; calls with more than one thread */
static int select_inside;     /* atomic: the next gemm selects the kernel "c" */

static void set_threads(int count) { __atomic_store_n(&threads, count, __ATOMIC_RELAXED); }
static int get_threads(void) { return __atomic_load_n(&threads, __ATOMIC_RELAXED); }

/* Computes gemm("N", "T", ...) with 32-bit integers, by the loops of its definition. */
static void dgemm(const char *ta, const char *tb, const int32_t *m, const int32_t *n,
                  const int32_t *k, const double *alpha, const double *a, const int32_t *lda,
                  const double *b, const int32_t *ldb, const double *beta, double *c,
                  const int32_t *ldc)
{
    (void)ta;
    (void)tb;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&select_inside, 0, __ATOMIC_RELAXED)) hs_kernel_select("c");
    for (int32_t j = 0; j < *n; j++)
        for (int32_t i = 0; i < *m; i++) {
            double sum = *beta == 0 ? 0 : *beta * c[i + j * *ldc];
            for (int32_t l = 0; l < *k; l++) sum += *alpha * a[i + l * *lda] * b[j + l * *ldb];
            c[i + j * *ldc] = sum;
        }
    if (get_threads() != 1) __atomic_fetch_add(&crowded, 1, __ATOMIC_RELAXED);
}

static void never_called(void) { abort(); }

/* Computes C <- A B with integers, in the boxes of a run; returns whether C is right. */
static int multiplies_rightly(hs_pool *pool)
{
    static double a[N * N], b[N * N];
    double c[N * N];
    hs_box boxes[P];
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 7 - 3;
        b[i] = i % 5 - 2;
    }
    for (int32_t i = 0; i < P; i++)
        boxes[i] = (hs_box){.worker = i,
                            .row = i * N / P,
                            .height = (i + 1) * N / P - i * N / P,
                            .width = N,
                            .length = N};
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = N,
                                .n = N,
                                .k = N,
                                .a = a,
                                .a_row_stride = N,
                                .a_col_stride = 1,
                                .b = b,
                                .b_row_stride = N,
                                .b_col_stride = 1,
                                .c = c,
                                .c_row_stride = 1,
                                .c_col_stride = N,
                                .alpha = {1, 0}};
    const hs_boxes all = {.box = boxes, .count = P};
    if (hs_run_product(pool, &product, &all, NULL, NULL)) return 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int l = 0; l < N; l++) sum += a[i * N + l] * b[l * N + j];
            if (c[i + j * N] != sum) return 0;
        }
    return 1;
}

/* A library that was handed in stays. Another one is refused, because a product may be inside. */
static void handed_in_once(hs_pool *pool)
{
    CHECK(hs_kernel_select("openblas") == HS_ERROR_UNSUPPORTED);
    CHECK(hs_kernel_use_fortran(NULL, (void *)dgemm, 4, set_threads, get_threads) ==
          HS_ERROR_VALUE);
    CHECK(hs_kernel_use_fortran((void *)never_called, NULL, 4, set_threads, get_threads) ==
          HS_ERROR_VALUE);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 5, set_threads, get_threads) ==
          HS_ERROR_VALUE);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 4, set_threads, NULL) ==
          HS_ERROR_VALUE);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 4, NULL, get_threads) ==
          HS_ERROR_VALUE);
    CHECK(hs_kernel_select("openblas") == HS_ERROR_UNSUPPORTED);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 4, set_threads, get_threads) ==
          HS_OK);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 4, set_threads, get_threads) ==
          HS_OK);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)never_called, 4, set_threads,
                                get_threads) == HS_ERROR_UNSUPPORTED);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 8, set_threads, get_threads) ==
          HS_ERROR_UNSUPPORTED);
    CHECK(hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 4, NULL, NULL) ==
          HS_ERROR_UNSUPPORTED);
    CHECK(hs_kernel_select("openblas") == HS_OK && multiplies_rightly(pool));
}

/* The library has one thread while any worker is inside, and afterwards as many as before, also if
 * their number was set meanwhile. */
static void own_threads(hs_pool *pool)
{
    const long before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
    CHECK(multiplies_rightly(pool));
    CHECK(__atomic_load_n(&calls, __ATOMIC_RELAXED) >= before + P);
    CHECK(__atomic_load_n(&crowded, __ATOMIC_RELAXED) == 0);
    CHECK(get_threads() == THREADS);
    set_threads(1);
    CHECK(multiplies_rightly(pool) && get_threads() == 1);
    set_threads(THREADS);
}

/* Computes a product on a star with one worker; with `changes`, the kernel changes during the run.
 * Returns the number of calls of gemm. */
static long star_calls(int changes)
{
    enum { T = 6, BLOCK = 4, SIZE = T * BLOCK };
    static double a[BLOCK * SIZE], b[SIZE * BLOCK];
    double c[BLOCK * BLOCK] = {0};
    double time = 1e-6;
    double cost = 1e-6;
    const int64_t memory = 3;
    for (int i = 0; i < BLOCK * SIZE; i++) {
        a[i] = i % 7 - 3;
        b[i] = i % 5 - 2;
    }
    const hs_star star = {1, 1, T, 1, &time, &cost, &memory};
    const hs_star_chunk chunk = {
        .held = HS_STAR_HOLD_C, .buffers = 1, .height = 1, .width = 1, .depth = 1};
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = BLOCK,
                                .n = BLOCK,
                                .k = SIZE,
                                .a = a,
                                .a_row_stride = SIZE,
                                .a_col_stride = 1,
                                .b = b,
                                .b_row_stride = BLOCK,
                                .b_col_stride = 1,
                                .c = c,
                                .c_row_stride = 1,
                                .c_col_stride = BLOCK,
                                .alpha = {1, 0}};
    hs_star_product x = {
        .star = &star, .chunk_count = 1, .chunks = &chunk, .order = HS_STAR_DEMAND, .block = BLOCK};
    hs_pool *pool = NULL;
    CHECK(hs_kernel_select("openblas") == HS_OK);
    CHECK(hs_pool_create(1, NULL, &pool) == HS_OK);
    const long before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
    __atomic_store_n(&select_inside, changes, __ATOMIC_RELAXED);
    CHECK(hs_run_star(pool, &product, &x, NULL, NULL) == HS_OK);
    hs_pool_destroy(pool);
    return __atomic_load_n(&calls, __ATOMIC_RELAXED) - before;
}

static void a_run_keeps_its_kernel(void)
{
    hs_kernel_info info;
    const long all = star_calls(0);
    CHECK(all >= 6);
    CHECK(star_calls(1) == all);
    CHECK(hs_kernel_describe(&info) == HS_OK && !strcmp(info.name, "c"));
}

static void *select_restlessly(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
        hs_kernel_info info;
        hs_kernel_select("openblas");
        hs_kernel_describe(&info);
        hs_kernel_use_fortran((void *)never_called, (void *)dgemm, 4, set_threads, get_threads);
        hs_kernel_use_fortran((void *)never_called, (void *)never_called, 8, set_threads,
                              get_threads);
        hs_kernel_select("c");
    }
    return NULL;
}

/* Kernels are selected and handed in while products run. */
static void selected_meanwhile(hs_pool *pool)
{
    int stop = 0;
    pthread_t thread;
    if (!CHECK(!pthread_create(&thread, NULL, select_restlessly, &stop))) return;
    for (int round = 0; round < 100; round++) CHECK(multiplies_rightly(pool));
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CHECK(__atomic_load_n(&crowded, __ATOMIC_RELAXED) == 0 && get_threads() == THREADS);
}

int main(void)
{
    hs_pool *pool = NULL;
    if (CHECK(hs_pool_create(P, NULL, &pool) == HS_OK)) {
        handed_in_once(pool);
        own_threads(pool);
        a_run_keeps_its_kernel();
        selected_meanwhile(pool);
    }
    hs_pool_destroy(pool);
    return check_result();
}
