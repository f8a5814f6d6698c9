#include "kernel/jacobi.h"

#include "kernel/kernel.h"

/* Compiled without contraction (CMakeLists.txt): a fused multiply-add in vectors and none in what is left would give two results. */
#define DEFINE_ROW(NAME, TARGET, REAL)                                                                                       \
    TARGET static void NAME(int64_t n, void *io_, void *row_, const void *other_, double weight_, const void *left,          \
                            const void *right, void *first, void *last)                                                      \
    {                                                                                                                        \
        REAL *restrict io = io_, *restrict row = row_;                                                                       \
        const REAL *restrict other = other_, weight = (REAL)weight_;                                                         \
        row[-1] = *(const REAL *)left, row[n] = *(const REAL *)right;                                                        \
        for (int64_t c = 0; c < n; c++)                                                                                      \
            io[c] = row[c] + weight * ((((io[c] + other[c]) + row[c - 1]) + row[c + 1]) - 4 * row[c]);                       \
        *(REAL *)first = io[0], *(REAL *)last = io[n - 1];                                                                   \
    }

DEFINE_ROW(plain_float, , float)
DEFINE_ROW(plain_double, , double)

#if defined(__x86_64__)
DEFINE_ROW(avx2_float, __attribute__((target("avx2"))), float)
DEFINE_ROW(avx2_double, __attribute__((target("avx2"))), double)
DEFINE_ROW(avx512_float, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))), float)
DEFINE_ROW(avx512_double, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))), double)
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
