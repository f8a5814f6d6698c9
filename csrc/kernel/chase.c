/* The loops of chase.h for all instruction sets, and the choice among them. */
#include "kernel/chase.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

#define INLINE TARGET static inline __attribute__((always_inline))

#define TEMPLATE "kernel/chase_template.h"

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
        {SET##_float_reflect, SET##_float_step}, {SET##_double_reflect, SET##_double_step}, \
            {SET##_complex_float_reflect, SET##_complex_float_step},                        \
        {                                                                                   \
            SET##_complex_double_reflect, SET##_complex_double_step                         \
        }                                                                                   \
    }

static const hs__chase_vector plain[] = TYPES(plain);
#if defined(__x86_64__)
static const hs__chase_vector avx2[] = TYPES(avx2), avx512[] = TYPES(avx512);
#endif

hs__chase_vector hs__chase_vector_for(int32_t dtype)
{
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return avx512[dtype];
    if (cpu.avx2_fma) return avx2[dtype];
#endif
    return plain[dtype];
}
