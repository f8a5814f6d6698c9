/* hetsched's own micro-kernels, always built: C code that the compiler turns into the best inner
 * loop for each instruction set. All sets share one body: kernel_c_template.h. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

/* The sums stay in registers from the first to the last instruction only if every loop over them is
 * unrolled early; otherwise gcc keeps them on the stack before and after the loop over k. */
#define UNROLLED _Pragma("GCC unroll 16")

#define TEMPLATE "kernel/kernel_c_template.h"

/* The sizes of a type (kernel/blocks.h): SIZES(float) or SIZES(double) of each set. */
#define MR_OF(mr, nr, kc, mc, nc) (mr)
#define NR_OF(mr, nr, kc, mc, nc) (nr)
#define BLOCKING_OF(run, mr, nr, kc, mc, nc) {run, mr, nr, kc, mc, 0, nc}
#define EXPANDED(macro, ...) macro(__VA_ARGS__)
#define MR EXPANDED(MR_OF, EXPANDED(SIZES, REAL))
#define NR EXPANDED(NR_OF, EXPANDED(SIZES, REAL))
#define BLOCKING(run, sizes) EXPANDED(BLOCKING_OF, run, sizes)

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#define SIZES(real) HS__PLAIN_##real
#include "kernel/each_real.h"

#if HS__X86_SETS
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#define SIZES(real) HS__AVX2_##real
#include "kernel/each_real.h"

#define SET(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#define SIZES(real) HS__AVX512_##real
#include "kernel/each_real.h"
#elif defined(__aarch64__)
#define SET(x) neon_##x
#define TARGET
#define BYTES HS__NEON_BYTES
#define SIZES(real) HS__NEON_##real
#define BY_ELEMENT 1
#include "kernel/each_real.h"
#endif

/* The best set first; a processor that has a set has all sets after it. */
static const struct instruction_set {
    const char *name, *reason;
    hs__blocking real[2];
} sets[] = {
#if HS__X86_SETS
    {"avx512",
     "cpuid",
     {BLOCKING(avx512_float_multiply, HS__AVX512_float),
      BLOCKING(avx512_double_multiply, HS__AVX512_double)}},
    {"avx2",
     "cpuid",
     {BLOCKING(avx2_float_multiply, HS__AVX2_float),
      BLOCKING(avx2_double_multiply, HS__AVX2_double)}},
#elif defined(__aarch64__)
    {"neon",
     "any aarch64 processor",
     {BLOCKING(neon_float_multiply, HS__NEON_float),
      BLOCKING(neon_double_multiply, HS__NEON_double)}},
#endif
    {"plain",
     "any processor",
     {BLOCKING(plain_float_multiply, HS__PLAIN_float),
      BLOCKING(plain_double_multiply, HS__PLAIN_double)}},
};

static const struct instruction_set *best_set(void)
{
#if HS__X86_SETS
    return sets + 2 - hs__cpu_set();
#else
    return sets;
#endif
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
