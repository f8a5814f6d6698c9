/* The loops of factor_vector.h for all instruction sets, and the choice among them. */
#include "kernel/factor_vector.h"

#include <math.h>
#include <string.h>

#include "core/element.h"
#include "kernel/kernel.h"

#define TEMPLATE "kernel/factor_vector_template.h"

/* For strips and slices that no vector divides. */
#define SET(x) one_##x
#define TARGET
#define BYTES sizeof(REAL)
#include "kernel/each_type.h"

#include "kernel/each_set.h"

#define FUNCTIONS(TYPE) \
    {TYPE##_column, TYPE##_solve, TYPE##_solve_rows, TYPE##_strip_solve, TYPE##_swap_rows}
#define TYPES(SET)                                                                    \
    {FUNCTIONS(SET##_float), FUNCTIONS(SET##_double), FUNCTIONS(SET##_complex_float), \
     FUNCTIONS(SET##_complex_double)}

static const hs__factor_vector one[] = TYPES(one);
static const hs__factor_vector sets[][4] = SETS(TYPES);

hs__factor_vector hs__factor_vector_for(int32_t dtype, int32_t strip, int32_t slice,
                                        int32_t *vector_bytes)
{
    /* a power of two divides this value if it divides both */
    const int32_t real = (int32_t)hs__real_bytes(dtype);
    const int32_t bytes = strip * real | slice * real;
    static const int32_t widths[] = {HS__PLAIN_BYTES, HS__AVX2_BYTES, HS__AVX512_BYTES};
    for (int set = hs__cpu_set(); set >= 0; set--)
        if (bytes % widths[set] == 0) {
            *vector_bytes = widths[set];
            return sets[set][dtype];
        }
    *vector_bytes = real;
    return one[dtype];
}
