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
#define BYTES 16
#include "kernel/factor_vector_set.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#include "kernel/factor_vector_set.h"

#define SET(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
#define BYTES 64
#include "kernel/factor_vector_set.h"
#endif

hs__factor_vector hs__factor_vector_for(int32_t dtype, int32_t strip, int32_t slice,
                                        int32_t *vector_bytes)
{
    /* a power of two divides this value if it divides both */
    const int32_t real = (int32_t)hs__real_bytes(dtype), bytes = strip * real | slice * real;
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512 && bytes % 64 == 0) {
        *vector_bytes = 64;
        return avx512_functions[dtype];
    }
    if (cpu.avx2_fma && bytes % 32 == 0) {
        *vector_bytes = 32;
        return avx2_functions[dtype];
    }
#endif
    if (bytes % 16 == 0) {
        *vector_bytes = 16;
        return plain_functions[dtype];
    }
    *vector_bytes = real;
    return one_functions[dtype];
}
