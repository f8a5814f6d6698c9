/* Our own micro-kernels, always built: C whose inner loop the compiler turns into the best code that the instruction set allows.
 * One body for all sets: kernel_c_template.h. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The sums stay in registers from the first to the last instruction only where every loop over them is unrolled early; without
 * that gcc keeps them on the stack before and after the loop over k. */
#define UNROLLED _Pragma("GCC unroll 16")

#define NAME(x) plain_float_##x
#define TARGET
#define REAL float
#define BYTES 16
#define VECTORS 2
#define COLS 4
#define BROADCAST(x) ((plain_float_vector){0} + (x))
#include "kernel/kernel_c_template.h"

#define NAME(x) plain_double_##x
#define TARGET
#define REAL double
#define BYTES 16
#define VECTORS 2
#define COLS 4
#define BROADCAST(x) ((plain_double_vector){0} + (x))
#include "kernel/kernel_c_template.h"

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))

#define NAME(x) avx2_float_##x
#define TARGET AVX2
#define REAL float
#define BYTES 32
#define VECTORS 3
#define COLS 4
#define BROADCAST(x) ((avx2_float_vector)_mm256_set1_ps(x))
#include "kernel/kernel_c_template.h"

#define NAME(x) avx2_double_##x
#define TARGET AVX2
#define REAL double
#define BYTES 32
#define VECTORS 3
#define COLS 4
#define BROADCAST(x) ((avx2_double_vector)_mm256_set1_pd(x))
#include "kernel/kernel_c_template.h"

#define NAME(x) avx512_float_##x
#define TARGET AVX512
#define REAL float
#define BYTES 64
#define VECTORS 3
#define COLS 8
#define BROADCAST(x) ((avx512_float_vector)_mm512_set1_ps(x))
#include "kernel/kernel_c_template.h"

#define NAME(x) avx512_double_##x
#define TARGET AVX512
#define REAL double
#define BYTES 64
#define VECTORS 3
#define COLS 8
#define BROADCAST(x) ((avx512_double_vector)_mm512_set1_pd(x))
#include "kernel/kernel_c_template.h"
#endif

/* The best first; a processor that has one has those after it. */
static const struct instruction_set {
    const char *name;
    hs__blocking real[2];
} sets[] = {
#if defined(__x86_64__)
    {"avx512", {{avx512_float_multiply, 48, 8, 640, 192, 0}, {avx512_double_multiply, 24, 8, 320, 240, 0}}},
    {"avx2", {{avx2_float_multiply, 24, 4, 384, 192, 0}, {avx2_double_multiply, 12, 4, 256, 144, 0}}},
#endif
    {"plain", {{plain_float_multiply, 8, 4, 256, 256, 0}, {plain_double_multiply, 4, 4, 256, 192, 0}}},
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
