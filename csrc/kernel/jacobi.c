/* The row of a Jacobi step for all instruction sets, and the choice among them. */
#include "kernel/jacobi.h"

#include "kernel/kernel.h"

/* Compiled without contraction (CMakeLists.txt): with a fused multiply-add in the vectors but not
 * in the remainder, results would depend on the position. */
#define TEMPLATE "kernel/jacobi_template.h"

#define SET(x) plain_##x
#define TARGET
#include "kernel/each_real.h"

#if HS__X86_SETS
#define SET(x) avx2_##x
#define TARGET __attribute__((target("avx2")))
#include "kernel/each_real.h"

#define SET(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#include "kernel/each_real.h"
#endif

hs__jacobi_row *hs__jacobi_row_of(int32_t dtype)
{
    const int single = dtype == HS_FLOAT32;
    static hs__jacobi_row *const rows[][2] = {
        {plain_double_row, plain_float_row},
#if HS__X86_SETS
        {avx2_double_row, avx2_float_row},
        {avx512_double_row, avx512_float_row},
#endif
    };
    return rows[hs__cpu_set()][single];
}
