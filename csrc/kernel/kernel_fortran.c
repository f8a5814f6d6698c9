/* A foreign gemm (OpenBLAS by way of SciPy) as a micro-kernel with a large tile: the packed panels are plain matrices with
 * leading dimensions tile_rows and tile_cols. It packs them once more; where BLIS is missing that is the smaller evil. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

enum { TILE_ROWS = 384, TILE_COLS = 384, DEPTH = 384 };

static void *gemm_functions[2]; /* float32, float64; one foreign library per process */
static int32_t gemm_integer_bytes;

typedef void gemm32(const char *, const char *, const int32_t *, const int32_t *, const int32_t *, const void *, const void *,
                    const int32_t *, const void *, const int32_t *, const void *, void *, const int32_t *);
typedef void gemm64(const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const void *, const void *,
                    const int64_t *, const void *, const int64_t *, const void *, void *, const int64_t *);

/* C column-major: A is tile_rows x k column-major, B is k x tile_cols row-major. */
static void gemm(int type, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, const void *b, const void *beta, void *c,
                 int64_t ld)
{
    if (gemm_integer_bytes == 8) {
        int64_t lda = TILE_ROWS, ldb = TILE_COLS;
        ((gemm64 *)gemm_functions[type])("N", "T", &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ld);
    } else {
        int32_t m_ = (int32_t)m, n_ = (int32_t)n, k_ = (int32_t)k, lda = TILE_ROWS, ldb = TILE_COLS, ldc = (int32_t)ld;
        ((gemm32 *)gemm_functions[type])("N", "T", &m_, &n_, &k_, alpha, a, &lda, b, &ldb, beta, c, &ldc);
    }
}

/* gemm wants unit row stride, a column stride that fits its integers and is not less than m; else a tile on the stack. */
#define MICRO_KERNEL(NAME, REAL, TYPE)                                                                                     \
    static void NAME(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, const void *b, const void *beta_,  \
                     void *c_, int64_t row_stride, int64_t col_stride, const void *a_next, const void *b_next)             \
    {                                                                                                                      \
        (void)a_next, (void)b_next;                                                                                        \
        if (row_stride == 1 && col_stride >= m && col_stride <= INT32_MAX) {                                               \
            gemm(TYPE, m, n, k, alpha, a, b, beta_, c_, col_stride);                                                       \
            return;                                                                                                        \
        }                                                                                                                  \
        enum { ROWS = 96, COLS = 16 }; /* of a tile: 12 KiB */                                                             \
        REAL tile[ROWS * COLS], zero = 0, beta = *(const REAL *)beta_;                                                     \
        for (int64_t part = 0; part < (m + ROWS - 1) / ROWS * ((n + COLS - 1) / COLS); part++) {                           \
            const int64_t i0 = part % ((m + ROWS - 1) / ROWS) * ROWS, j0 = part / ((m + ROWS - 1) / ROWS) * COLS;          \
            const int64_t height = m - i0 < ROWS ? m - i0 : ROWS, width = n - j0 < COLS ? n - j0 : COLS;                   \
            gemm(TYPE, height, width, k, alpha, (const REAL *)a + i0, (const REAL *)b + j0, &zero, tile, ROWS);            \
            for (int64_t j = 0; j < width; j++)                                                                            \
                for (int64_t i = 0; i < height; i++) {                                                                     \
                    REAL *to = (REAL *)c_ + (i0 + i) * row_stride + (j0 + j) * col_stride;                                 \
                    *to = beta == 0 ? tile[j * ROWS + i] : tile[j * ROWS + i] + beta * *to;                                \
                }                                                                                                          \
        }                                                                                                                  \
    }

MICRO_KERNEL(multiply_float, float, 0)
MICRO_KERNEL(multiply_double, double, 1)

hs_status hs__kernel_fortran(hs__kernel *kernel, void *sgemm, void *dgemm, int32_t integer_bytes)
{
    gemm_functions[0] = sgemm, gemm_functions[1] = dgemm, gemm_integer_bytes = integer_bytes;
    *kernel = (hs__kernel){.real = {{multiply_float, TILE_ROWS, TILE_COLS, DEPTH, TILE_ROWS, 0},
                                    {multiply_double, TILE_ROWS, TILE_COLS, DEPTH, TILE_ROWS, 0}}};
    snprintf(kernel->info.name, sizeof kernel->info.name, "openblas");
    snprintf(kernel->info.set, sizeof kernel->info.set, "its own choice");
    snprintf(kernel->info.reason, sizeof kernel->info.reason, "gemm of the BLAS that SciPy ships");
    return HS_OK;
}
