#include "kernel/jacobi.h"

#include "kernel/kernel.h"

/* Compiled without contraction (CMakeLists.txt): a fused multiply-add in vectors and none in what is left would give two results. */
#define NAME plain_float
#define TARGET
#define REAL float
#include "kernel/jacobi_template.h"

#define NAME plain_double
#define TARGET
#define REAL double
#include "kernel/jacobi_template.h"

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

#define NAME avx2_float
#define TARGET AVX2
#define REAL float
#include "kernel/jacobi_template.h"

#define NAME avx2_double
#define TARGET AVX2
#define REAL double
#include "kernel/jacobi_template.h"

#define NAME avx512_float
#define TARGET AVX512
#define REAL float
#include "kernel/jacobi_template.h"

#define NAME avx512_double
#define TARGET AVX512
#define REAL double
#include "kernel/jacobi_template.h"
#endif

hs__jacobi_row *hs__jacobi_row_of(int32_t dtype)
{
    const int single = dtype == HS_FLOAT32;
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return single ? avx512_float : avx512_double;
    if (cpu.avx2_fma) return single ? avx2_float : avx2_double;
#endif
    return single ? plain_float : plain_double;
}
