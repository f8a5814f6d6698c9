/* A foreign gemm (OpenBLAS as shipped with SciPy) as a micro-kernel with a large tile: the packed
 * panels are plain matrices with leading dimensions tile_rows and tile_cols. The library packs them
 * again; where BLIS is missing that is the lesser evil. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

enum { TILE_ROWS = 384, TILE_COLS = 384, DEPTH = 384 };

static hs__fortran library; /* one per process, set before its first product */

typedef void gemm32(const char *, const char *, const int32_t *, const int32_t *, const int32_t *,
                    const void *, const void *, const int32_t *, const void *, const int32_t *,
                    const void *, void *, const int32_t *);
typedef void gemm64(const char *, const char *, const int64_t *, const int64_t *, const int64_t *,
                    const void *, const void *, const int64_t *, const void *, const int64_t *,
                    const void *, void *, const int64_t *);

/* The number of calls inside the library, and its number of threads before the first of them. */
static struct {
    pthread_mutex_t lock;
    int inside, threads;
} limit = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_limit(void) { pthread_mutex_lock(&limit.lock); }
static void unlock_limit(void) { pthread_mutex_unlock(&limit.lock); }

/* In a forked child no call is inside the library, and no other thread could unlock. The child's
 * library keeps one thread if the parent had a call inside. */
static void reset_in_child(void)
{
    limit.inside = 0;
    unlock_limit();
}

/* Holds the library's threads at one. */
static void limit_threads(void)
{
    if (!library.set_threads) return;
    lock_limit();
    if (limit.inside++ == 0 && (limit.threads = library.get_threads()) != 1) library.set_threads(1);
    unlock_limit();
}

/* Restores the number of threads after the last call, unless it was changed meanwhile. */
static void restore_threads(void)
{
    if (!library.set_threads) return;
    lock_limit();
    if (--limit.inside == 0 && limit.threads != 1 && library.get_threads() == 1)
        library.set_threads(limit.threads);
    unlock_limit();
}

/* Calls gemm for column-major C: A is tile_rows x k column-major, B is k x tile_cols row-major. */
static void call_gemm(int type, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                      const void *b, const void *beta, void *c, int64_t ld)
{
    limit_threads();
    if (library.integer_bytes == 8) {
        int64_t lda = TILE_ROWS;
        int64_t ldb = TILE_COLS;
        ((gemm64 *)library.gemm[type])("N", "T", &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ld);
    } else {
        int32_t m_ = (int32_t)m;
        int32_t n_ = (int32_t)n;
        int32_t k_ = (int32_t)k;
        int32_t lda = TILE_ROWS;
        int32_t ldb = TILE_COLS;
        int32_t ldc = (int32_t)ld;
        ((gemm32 *)library.gemm[type])("N", "T", &m_, &n_, &k_, alpha, a, &lda, b, &ldb, beta, c,
                                       &ldc);
    }
    restore_threads();
}

#define TEMPLATE "kernel/fortran_template.h"
#define SET(x) x
#include "kernel/each_real.h"

hs_status hs__kernel_fortran(hs__kernel *kernel, const hs__fortran *handed_in)
{
    /* pthread_atfork allocates memory */
    if (handed_in->set_threads && pthread_atfork(lock_limit, unlock_limit, reset_in_child))
        return HS_ERROR_MEMORY;
    library = *handed_in;
    *kernel = (hs__kernel){
        .real = {{float_multiply, TILE_ROWS, TILE_COLS, DEPTH, TILE_ROWS, 0, HS__ROW_BYTES / 4},
                 {double_multiply, TILE_ROWS, TILE_COLS, DEPTH, TILE_ROWS, 0, HS__ROW_BYTES / 8}}};
    snprintf(kernel->info.name, sizeof kernel->info.name, "openblas");
    snprintf(kernel->info.set, sizeof kernel->info.set, "its own choice");
    snprintf(kernel->info.reason, sizeof kernel->info.reason, "gemm of the BLAS that SciPy ships");
    return HS_OK;
}
