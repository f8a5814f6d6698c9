/* The products of rows.h for all instruction sets, and the choice among them.
 *
 * A tile of 6 x 4 vectors needs 24 registers for its sums, 4 for the rows of x and one for a
 * factor; with 16 registers there are 6 x 2. Complex factors have two sums, and tiles half the
 * rows. */
#include "kernel/rows.h"

#include <string.h>

#include "kernel/kernel.h"

#define INLINE TARGET static inline __attribute__((always_inline))
/* unrolls before sums are placed in registers: see kernel_c.c */
#define UNROLLED _Pragma("GCC unroll 16")

#define TEMPLATE "kernel/rows_template.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#define ROWS 6
#if HS__REGISTERS(16) == 32
#define VECTORS 4
#else
#define VECTORS 2
#endif
#include "kernel/each_type.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#define ROWS 6
#define VECTORS 2
#include "kernel/each_type.h"

#define SET(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#define ROWS 6
#define VECTORS 4
#include "kernel/each_type.h"
#endif

#define TYPES(SET)                                                           \
    {SET##_float_product, SET##_double_product, SET##_complex_float_product, \
     SET##_complex_double_product}

static hs__rows_product *const plain[] = TYPES(plain);
#if defined(__x86_64__)
static hs__rows_product *const avx2[] = TYPES(avx2), *const avx512[] = TYPES(avx512);
#endif

hs__rows_product *hs__rows_product_for(int32_t dtype)
{
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return avx512[dtype];
    if (cpu.avx2_fma) return avx2[dtype];
#endif
    return plain[dtype];
}
