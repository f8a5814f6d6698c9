/* Processors with fewer instruction sets: the linker's --wrap redirects hs__cpu_detect to this
 * file. */
#ifndef HETSCHED_TESTS_SETS_H
#define HETSCHED_TESTS_SETS_H

#include "kernel/kernel.h"

#ifdef HS_TEST_SETS
/* 2: all sets that the processor has; 1: at most AVX2; 0: none of x86's */
static int sets = 2;

hs__cpu __real_hs__cpu_detect(void);
hs__cpu __wrap_hs__cpu_detect(void)
{
    const hs__cpu cpu = __real_hs__cpu_detect();
    return (hs__cpu){
        .avx2_fma = cpu.avx2_fma && sets > 0, .avx512 = cpu.avx512 && sets > 1, .amd = cpu.amd};
}

/* Does `what` with each of the instruction sets, the largest one last. */
#define WITH_EACH_SET(what)                    \
    do {                                       \
        for (sets = 0; sets < 2; sets++) what; \
        sets = 2;                              \
        what;                                  \
    } while (0)
#else
#define WITH_EACH_SET(what) what
#endif

#endif
