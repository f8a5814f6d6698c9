#include "kernel/qr_vector.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES 16
#include "kernel/qr_vector_set.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#include "kernel/qr_vector_set.h"

#define SET(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")))
#define BYTES 64
#include "kernel/qr_vector_set.h"
#endif

hs__qr_vector hs__qr_vector_for(int32_t dtype)
{
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return avx512_qr_functions[dtype];
    if (cpu.avx2_fma) return avx2_qr_functions[dtype];
#endif
    return plain_qr_functions[dtype];
}
