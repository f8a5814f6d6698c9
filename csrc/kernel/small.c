#include "kernel/small.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/element.h"
#include "kernel/kernel.h"

#define UNROLLED _Pragma("GCC unroll 16") /* before sums are laid out: as in kernel_c.c */

#define TEMPLATE "kernel/small_template.h"

/* An element at a time. */
#define SET(x) one_##x
#define TARGET
#define BYTES (PARTS * sizeof(REAL))
#define ROWS 8
#define VECTORS 1
#include "kernel/each_type.h"

/* Where multiply-adds take an element of a register, those of A are in registers, too: three vectors were too many for 32. */
#define SET(x) plain_##x
#define TARGET
#define BYTES 16
#define ROWS (HS__REGISTERS(BYTES) / 4)
#define VECTORS 2
#include "kernel/each_type.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#define ROWS 4
#define VECTORS HS__SMALL_VECTORS
#include "kernel/each_type.h"

#define SET(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
#define BYTES 64
#define ROWS HS__SMALL_ROWS
#define VECTORS HS__SMALL_VECTORS
#include "kernel/each_type.h"
#endif

#define FUNCTIONS(NAME, ACROSS) {NAME##_multiply, NAME##_substitute, NAME##_factor, NAME##_cholesky, ACROSS}
#define TYPES(SET, BYTES)                                                                                       \
    {                                                                                                           \
        FUNCTIONS(SET##_float, BYTES / 4), FUNCTIONS(SET##_double, BYTES / 8),                                  \
            FUNCTIONS(SET##_complex_float, BYTES / 8), FUNCTIONS(SET##_complex_double, BYTES / 16)              \
    }

/* From the narrowest on. */
static const hs__small one[] = {FUNCTIONS(one_float, 1), FUNCTIONS(one_double, 1), FUNCTIONS(one_complex_float, 1),
                                FUNCTIONS(one_complex_double, 1)};
static const hs__small wider[][4] = {
    TYPES(plain, 16),
#if defined(__x86_64__)
    TYPES(avx2, 32),
    TYPES(avx512, 64),
#endif
};

hs__small hs__small_within(int32_t dtype, int64_t across)
{
    int sets = 1;
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    sets = cpu.avx512 ? 3 : cpu.avx2_fma ? 2 : 1;
#endif
    while (sets && wider[sets - 1][dtype].across > across) sets--;
    return sets ? wider[sets - 1][dtype] : one[dtype];
}

hs__small hs__small_for(int32_t dtype) { return hs__small_within(dtype, INT64_MAX); }
