/* Detection of the instruction sets that matter to kernels. */
#include "kernel/kernel.h"

#if HS__X86_SETS
hs__cpu hs__cpu_detect(void)
{
    /* This checks XCR0 too: if the operating system does not save the registers, the set is not
     * available. */
    __builtin_cpu_init();
    return (hs__cpu){
        .avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
        .avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"),
        .amd = __builtin_cpu_is("amd"),
    };
}
#else
hs__cpu hs__cpu_detect(void) { return (hs__cpu){0}; }
#endif
