/* The loops of secular.h for all instruction sets, and the choice among them. */
#include "spectral/secular.h"

#include <float.h>
#include <math.h>

#include "hetsched.h"
#include "kernel/blocks.h"
#include "kernel/kernel.h"

#define TEMPLATE "spectral/secular_template.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#include "kernel/each_real.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#include "kernel/each_real.h"

#define SET(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#include "kernel/each_real.h"
#endif

#define LOOPS(SET, TYPE) {SET##_##TYPE##_root, SET##_##TYPE##_weight, SET##_##TYPE##_vector_unit}
#define TYPES(SET) {LOOPS(SET, float), LOOPS(SET, double)}

static const hs__secular_loops plain[] = TYPES(plain);
#if defined(__x86_64__)
static const hs__secular_loops avx2[] = TYPES(avx2);
static const hs__secular_loops avx512[] = TYPES(avx512);
#endif

hs__secular_loops hs__secular_for(int32_t dtype)
{
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return avx512[dtype];
    if (cpu.avx2_fma) return avx2[dtype];
#endif
    return plain[dtype];
}
