/* Our own micro-kernels, always built: C whose inner loop the compiler turns into the best code that the instruction set allows.
 * One body for all sets: tile_rows = VECTORS vectors, kept in registers with tile_cols columns. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The sums stay in registers from the first to the last instruction only where every loop over them is unrolled early; without
 * that gcc keeps them on the stack before and after the loop over k. */
#define UNROLLED _Pragma("GCC unroll 16")

/* A vector load and a broadcast straight from memory leave the arithmetic ports to the multiply-adds. The body is inlined with
 * `vectors` as a constant: the last panel of A computes only the vectors that hold rows. */
#define MICRO_KERNEL(NAME, TARGET, REAL, BYTES, VECTORS, COLS, BROADCAST)                                                  \
    typedef REAL NAME##_vector __attribute__((vector_size(BYTES)));                                                        \
    typedef REAL NAME##_unaligned __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));                   \
    TARGET static inline __attribute__((always_inline)) void NAME##_body(                                                  \
        const int vectors, int64_t m, int64_t n, int64_t k, const NAME##_vector *restrict a, const REAL *restrict b,       \
        const REAL *b_next, const REAL alpha, const REAL beta, REAL *c, int64_t row_stride, int64_t col_stride)            \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL) };                                                                             \
        NAME##_vector sum[COLS][VECTORS];                                                                                  \
        UNROLLED for (int j = 0; j < COLS; j++)                                                                            \
            UNROLLED for (int v = 0; v < vectors; v++) sum[j][v] = (NAME##_vector){0};                                     \
        for (int j = 0; j < n; j++) { /* all cache lines of C, also where it does not begin on one */                      \
            for (int v = 0; v < vectors; v++) __builtin_prefetch(c + j * col_stride + v * LANES, 1);                       \
            __builtin_prefetch(c + j * col_stride + vectors * LANES - 1, 1);                                               \
        }                                                                                                                  \
        for (int64_t l = 0; l < k; l++, a += VECTORS, b += COLS) {                                                         \
            for (int byte = 0; byte < vectors * BYTES; byte += 64)                                                         \
                __builtin_prefetch((const char *)(a + 16 * VECTORS) + byte);                                               \
            __builtin_prefetch(b_next + l * COLS);                                                                         \
            NAME##_vector x[VECTORS];                                                                                      \
            UNROLLED for (int v = 0; v < vectors; v++) x[v] = a[v];                                                        \
            UNROLLED for (int j = 0; j < COLS; j++) {                                                                      \
                const NAME##_vector y = BROADCAST(NAME, b[j]);                                                             \
                UNROLLED for (int v = 0; v < vectors; v++) sum[j][v] += x[v] * y;                                          \
            }                                                                                                              \
        }                                                                                                                  \
        if (alpha != 1)                                                                                                    \
            UNROLLED for (int j = 0; j < COLS; j++)                                                                        \
                UNROLLED for (int v = 0; v < vectors; v++) sum[j][v] *= alpha;                                             \
        if (m == vectors * LANES && n == COLS && row_stride == 1) {                                                        \
            UNROLLED for (int j = 0; j < COLS; j++)                                                                        \
                UNROLLED for (int v = 0; v < vectors; v++) {                                                               \
                    NAME##_unaligned *to = (NAME##_unaligned *)(c + j * col_stride) + v;                                   \
                    if (beta == 0) *to = sum[j][v];                                                                        \
                    else if (beta == 1) *to += sum[j][v];                                                                  \
                    else *to = sum[j][v] + beta * *to;                                                                     \
                }                                                                                                          \
            return;                                                                                                        \
        }                                                                                                                  \
        REAL edge[COLS][VECTORS * LANES]; /* a copy: an address of the sums would bring them back to the stack */          \
        UNROLLED for (int j = 0; j < COLS; j++)                                                                            \
            UNROLLED for (int v = 0; v < vectors; v++) *(NAME##_unaligned *)(edge[j] + v * LANES) = sum[j][v];             \
        for (int j = 0; j < n; j++)                                                                                        \
            for (int64_t i = 0; i < m; i++) {                                                                              \
                REAL *to = c + i * row_stride + j * col_stride;                                                            \
                *to = beta == 0 ? edge[j][i] : edge[j][i] + beta * *to;                                                    \
            }                                                                                                              \
    }                                                                                                                      \
    TARGET static void NAME(int64_t m, int64_t n, int64_t k, const void *alpha_, const void *a, const void *b,             \
                            const void *beta_, void *c, int64_t row_stride, int64_t col_stride, const void *a_next,        \
                            const void *b_next)                                                                            \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL) };                                                                             \
        const REAL alpha = *(const REAL *)alpha_, beta = *(const REAL *)beta_;                                             \
        (void)a_next;                                                                                                      \
        if (VECTORS > 2 && m <= LANES) NAME##_body(1, m, n, k, a, b, b_next, alpha, beta, c, row_stride, col_stride);      \
        else if (VECTORS > 1 && m <= (VECTORS - 1) * LANES)                                                                \
            NAME##_body(VECTORS - 1, m, n, k, a, b, b_next, alpha, beta, c, row_stride, col_stride);                       \
        else NAME##_body(VECTORS, m, n, k, a, b, b_next, alpha, beta, c, row_stride, col_stride);                          \
    }

#define BY_COMPILER(NAME, VALUE) ((NAME##_vector){0} + (VALUE))
MICRO_KERNEL(plain_float, , float, 16, 2, 4, BY_COMPILER)
MICRO_KERNEL(plain_double, , double, 16, 2, 4, BY_COMPILER)

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
#define YMM_FLOAT(NAME, VALUE) ((NAME##_vector)_mm256_set1_ps(VALUE))
#define YMM_DOUBLE(NAME, VALUE) ((NAME##_vector)_mm256_set1_pd(VALUE))
#define ZMM_FLOAT(NAME, VALUE) ((NAME##_vector)_mm512_set1_ps(VALUE))
#define ZMM_DOUBLE(NAME, VALUE) ((NAME##_vector)_mm512_set1_pd(VALUE))
MICRO_KERNEL(avx2_float, AVX2, float, 32, 3, 4, YMM_FLOAT)
MICRO_KERNEL(avx2_double, AVX2, double, 32, 3, 4, YMM_DOUBLE)
MICRO_KERNEL(avx512_float, AVX512, float, 64, 3, 8, ZMM_FLOAT)
MICRO_KERNEL(avx512_double, AVX512, double, 64, 3, 8, ZMM_DOUBLE)
#endif

/* The best first; a processor that has one has those after it. */
static const struct instruction_set {
    const char *name;
    hs__blocking real[2];
} sets[] = {
#if defined(__x86_64__)
    {"avx512", {{avx512_float, 48, 8, 640, 192, 0}, {avx512_double, 24, 8, 320, 240, 0}}},
    {"avx2", {{avx2_float, 24, 4, 384, 192, 0}, {avx2_double, 12, 4, 256, 144, 0}}},
#endif
    {"plain", {{plain_float, 8, 4, 256, 256, 0}, {plain_double, 4, 4, 256, 192, 0}}},
};

static const struct instruction_set *best_set(void)
{
    const struct instruction_set *set = sets;
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    set += cpu.avx512 ? 0 : cpu.avx2_fma ? 1 : 2;
#endif
    return set;
}

hs_status hs__kernel_c(hs__kernel *kernel)
{
    const struct instruction_set *set = best_set();
    *kernel = (hs__kernel){.real = {set->real[0], set->real[1]}};
    snprintf(kernel->info.name, sizeof kernel->info.name, "c");
    snprintf(kernel->info.set, sizeof kernel->info.set, "%s", set->name);
    snprintf(kernel->info.reason, sizeof kernel->info.reason, "%s", strcmp(set->name, "plain") ? "cpuid" : "any processor");
    return HS_OK;
}
