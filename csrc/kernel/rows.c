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
#include "kernel/each_set.h"

#define TYPES(SET)                                                           \
    {SET##_float_product, SET##_double_product, SET##_complex_float_product, \
     SET##_complex_double_product}

static hs__rows_product *const products[][4] = SETS(TYPES);

hs__rows_product *hs__rows_product_for(int32_t dtype) { return products[hs__cpu_set()][dtype]; }
