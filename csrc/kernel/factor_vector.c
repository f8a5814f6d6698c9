/* The loops of factor_vector.h for all instruction sets, and the choice among them. */
#include "kernel/factor_vector.h"

#include <math.h>
#include <string.h>

#include "core/element.h"
#include "kernel/kernel.h"

/* For strips and slices that no vector divides. */
#define SET(x) one_##x
#define TARGET
#define BYTES sizeof(REAL)
#include "kernel/factor_vector_set.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#include "kernel/factor_vector_set.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#include "kernel/factor_vector_set.h"

#define SET(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#include "kernel/factor_vector_set.h"
#endif

hs__factor_vector hs__factor_vector_for(int32_t dtype, int32_t strip, int32_t slice,
                                        int32_t *vector_bytes)
{
    /* a power of two divides this value if it divides both */
    const int32_t real = (int32_t)hs__real_bytes(dtype);
    const int32_t bytes = strip * real | slice * real;
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512 && bytes % HS__AVX512_BYTES == 0) {
        *vector_bytes = HS__AVX512_BYTES;
        return avx512_functions[dtype];
    }
    if (cpu.avx2_fma && bytes % HS__AVX2_BYTES == 0) {
        *vector_bytes = HS__AVX2_BYTES;
        return avx2_functions[dtype];
    }
#endif
    if (bytes % HS__PLAIN_BYTES == 0) {
        *vector_bytes = HS__PLAIN_BYTES;
        return plain_functions[dtype];
    }
    *vector_bytes = real;
    return one_functions[dtype];
}
