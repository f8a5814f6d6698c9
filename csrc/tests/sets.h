/* Processors with fewer instruction sets: the linker's --wrap redirects hs__cpu_detect to this
 * file. */
#ifndef HETSCHED_TESTS_SETS_H
#define HETSCHED_TESTS_SETS_H

#include "kernel/kernel.h"

/* 2: all sets that the processor has; 1: at most AVX2; 0: none of x86's */
static __attribute__((unused)) int sets = 2;

#ifdef HS_TEST_SETS
enum { LEAST_SET = 0 };

hs__cpu __real_hs__cpu_detect(void);
hs__cpu __wrap_hs__cpu_detect(void)
{
    const hs__cpu cpu = __real_hs__cpu_detect();
    return (hs__cpu){
        .avx2_fma = cpu.avx2_fma && sets > 0, .avx512 = cpu.avx512 && sets > 1, .amd = cpu.amd};
}
#else
enum { LEAST_SET = 2 };
#endif

/* Does `what` with each of the instruction sets, the largest one last. */
#define WITH_EACH_SET(what)                            \
    do {                                               \
        for (sets = LEAST_SET; sets < 2; sets++) what; \
        what;                                          \
    } while (0)

#endif
