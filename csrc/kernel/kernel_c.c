/* Our own micro-kernels, always built: C whose inner loop the compiler turns into the best code that the instruction set allows.
 * One body for all sets: kernel_c_template.h. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

/* The sums stay in registers from the first to the last instruction only where every loop over them is unrolled early; without
 * that gcc keeps them on the stack before and after the loop over k. */
#define UNROLLED _Pragma("GCC unroll 16")

#define TEMPLATE "kernel/kernel_c_template.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES 16
#define VECTORS 2
#define COLS 4
#include "kernel/each_real.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#define VECTORS 3
#define COLS 4
#include "kernel/each_real.h"

#define SET(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
#define BYTES 64
#define VECTORS 3
#define COLS 8
#include "kernel/each_real.h"
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

hs_status hs_kernel_tile(const char *set, int32_t dtype, int32_t *tile)
{
    if (!set || !tile || dtype < HS_FLOAT32 || dtype > HS_FLOAT64) return HS_ERROR_VALUE;
    const struct instruction_set *const end = sets + sizeof sets / sizeof *sets;
    for (const struct instruction_set *x = best_set(); x < end; x++)
        if (!strcmp(x->name, set)) {
            tile[0] = x->real[dtype].tile_rows, tile[1] = x->real[dtype].tile_cols;
            return HS_OK;
        }
    return HS_ERROR_UNSUPPORTED;
}
