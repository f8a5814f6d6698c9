/* Our own kernels, always built: plain C whose inner loop the compiler turns into vector code. Tests and small machines need
 * nothing else; where BLIS is there it is faster. */
#include <stdio.h>
#include <string.h>

#include "kernel.h"

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

/* The whole register tile is accumulated in a local array of ROWS x COLS, vectors along ROWS. */
#define MICRO_KERNEL(NAME, REAL, ROWS, COLS)                                                                               \
    typedef REAL NAME##_vector __attribute__((vector_size(ROWS * sizeof(REAL))));                                         \
    CLONES static void NAME(int64_t m, int64_t n, int64_t k, const void *a_, const void *b_, const void *beta_, void *c_,  \
                            int64_t row_stride, int64_t col_stride, const void *a_next, const void *b_next)                \
    {                                                                                                                      \
        const REAL *restrict b = b_, beta = *(const REAL *)beta_;                                                          \
        const NAME##_vector *restrict a = a_;                                                                              \
        REAL *c = c_;                                                                                                      \
        NAME##_vector sum[COLS] = {0};                                                                                     \
        (void)a_next, (void)b_next;                                                                                        \
        for (int64_t l = 0; l < k; l++, a++, b += COLS)                                                                    \
            for (int j = 0; j < COLS; j++) sum[j] += *a * b[j];                                                            \
        for (int64_t j = 0; j < n; j++)                                                                                    \
            for (int64_t i = 0; i < m; i++) {                                                                              \
                REAL *to = c + i * row_stride + j * col_stride;                                                            \
                *to = beta == 0 ? sum[j][i] : sum[j][i] + beta * *to;                                                      \
            }                                                                                                              \
    }

MICRO_KERNEL(multiply_float, float, 16, 8)
MICRO_KERNEL(multiply_double, double, 8, 8)

hs_status hs__kernel_c(hs__kernel *kernel)
{
    *kernel = (hs__kernel){.real = {{multiply_float, 16, 8, 256, 256, 2048, 0}, {multiply_double, 8, 8, 256, 192, 2048, 0}}};
    hs__cpu cpu = hs__cpu_detect();
    snprintf(kernel->info.name, sizeof kernel->info.name, "c");
    snprintf(kernel->info.set, sizeof kernel->info.set, "%s", cpu.avx512 ? "avx512" : cpu.avx2_fma ? "avx2" : "baseline");
    snprintf(kernel->info.reason, sizeof kernel->info.reason, "compiled for this processor's vector width");
    for (int type = 0; type < 2; type++) {
        kernel->info.tile_rows[type] = kernel->real[type].tile_rows;
        kernel->info.tile_cols[type] = kernel->real[type].tile_cols;
    }
    return HS_OK;
}
