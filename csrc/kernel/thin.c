/* The loops of thin.h for all instruction sets, and the choice among them. */
#include "kernel/thin.h"

#include "core/element.h"
#include "kernel/kernel.h"

/* unrolls before sums are placed in registers: see kernel_c.c */
#define UNROLLED _Pragma("GCC unroll 16")

#define TEMPLATE "kernel/thin_template.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#include "kernel/each_type.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#include "kernel/each_type.h"

#define SET(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#include "kernel/each_type.h"
#endif

#define TYPES(SET)                                                                          \
    {                                                                                       \
        {SET##_float_rows, SET##_float_columns}, {SET##_double_rows, SET##_double_columns}, \
            {SET##_complex_float_rows, SET##_complex_float_columns},                        \
        {                                                                                   \
            SET##_complex_double_rows, SET##_complex_double_columns                         \
        }                                                                                   \
    }

static const hs__thin plain[] = TYPES(plain);
#if defined(__x86_64__)
static const hs__thin avx2[] = TYPES(avx2), avx512[] = TYPES(avx512);
#endif

hs__thin hs__thin_for(int32_t dtype)
{
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return avx512[dtype];
    if (cpu.avx2_fma) return avx2[dtype];
#endif
    return plain[dtype];
}
