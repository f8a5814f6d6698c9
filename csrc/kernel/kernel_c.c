/* hetsched's own micro-kernels, always built: C code that the compiler turns into the best inner
 * loop for each instruction set. All sets share one body: kernel_c_template.h. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

/* The sums stay in registers from the first to the last instruction only if every loop over them is
 * unrolled early; otherwise gcc keeps them on the stack before and after the loop over k. */
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
#elif defined(__aarch64__)

/* 24 sums, 4 vectors of A and 3 of B use 31 of the 32 registers; float32 uses two vectors of A.
 * Each step loads 7 vectors (float32: 5) for 24 multiply-adds, and a sum is needed again after 24
 * of them: enough for four units with a latency of four cycles. */
#define SET(x) neon_##x
#define TARGET
#define BYTES 16
#define VECTORS (8 * (int)sizeof(REAL) / BYTES)
#define COLS (3 * BYTES / (int)sizeof(REAL))
#define BY_ELEMENT 1
#include "kernel/each_real.h"
#endif

/* The best set first; a processor that has a set has all sets after it. Depth and rows of neon
 * follow the analytical model (Low, Igual, Smith and Quintana-Orti 2016) for 64 KiB of L1 with 4
 * ways and 512 KiB of L2 with 8: one way of L1 holds a micro-panel of A, and L2 keeps one way for a
 * micro-panel of B and one for C. */
static const struct instruction_set {
    const char *name, *reason;
    hs__blocking real[2];
} sets[] = {
#if defined(__x86_64__)
    {"avx512",
     "cpuid",
     {{avx512_float_multiply, 48, 8, 640, 192, 0, HS__ROW_BYTES / 4},
      {avx512_double_multiply, 24, 8, 320, 240, 0, HS__ROW_BYTES / 8}}},
    {"avx2",
     "cpuid",
     {{avx2_float_multiply, 24, 4, 384, 192, 0, HS__ROW_BYTES / 4},
      {avx2_double_multiply, 12, 4, 256, 144, 0, HS__ROW_BYTES / 8}}},
#elif defined(__aarch64__)
    {"neon",
     "any aarch64 processor",
     {{neon_float_multiply, 8, 12, 512, 192, 0, HS__ROW_BYTES / 4},
      {neon_double_multiply, 8, 6, 256, 192, 0, HS__ROW_BYTES / 8}}},
#endif
    {"plain",
     "any processor",
     {{plain_float_multiply, 8, 4, 256, 256, 0, HS__ROW_BYTES / 4},
      {plain_double_multiply, 4, 4, 256, 192, 0, HS__ROW_BYTES / 8}}},
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

static void fill_kernel(hs__kernel *kernel, const struct instruction_set *set, const char *reason)
{
    *kernel = (hs__kernel){.real = {set->real[0], set->real[1]}};
    snprintf(kernel->info.name, sizeof kernel->info.name, "c");
    snprintf(kernel->info.set, sizeof kernel->info.set, "%s", set->name);
    snprintf(kernel->info.reason, sizeof kernel->info.reason, "%s", reason);
}

hs_status hs__kernel_c(hs__kernel *kernel)
{
    const struct instruction_set *set = best_set();
    fill_kernel(kernel, set, set->reason);
    return HS_OK;
}

/* Returns the set of that name if the processor has it, else NULL. */
static const struct instruction_set *find_set(const char *name)
{
    const struct instruction_set *const end = sets + sizeof sets / sizeof *sets;
    for (const struct instruction_set *set = best_set(); set < end; set++)
        if (!strcmp(set->name, name)) return set;
    return NULL;
}

hs_status hs__kernel_set(const char *name, hs__kernel *kernel)
{
    const struct instruction_set *set = find_set(name);
    if (set) fill_kernel(kernel, set, "asked for");
    return set ? HS_OK : HS_ERROR_UNSUPPORTED;
}
