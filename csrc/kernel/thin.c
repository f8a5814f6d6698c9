/* The loops of thin.h for all instruction sets, and the choice among them. */
#include "kernel/thin.h"

#include "core/element.h"
#include "kernel/kernel.h"

/* unrolls before sums are placed in registers: see kernel_c.c */
#define UNROLLED _Pragma("GCC unroll 16")

#define TEMPLATE "kernel/thin_template.h"
#include "kernel/each_set.h"

#define TYPES(SET)                                                                          \
    {                                                                                       \
        {SET##_float_rows, SET##_float_columns}, {SET##_double_rows, SET##_double_columns}, \
            {SET##_complex_float_rows, SET##_complex_float_columns},                        \
        {                                                                                   \
            SET##_complex_double_rows, SET##_complex_double_columns                         \
        }                                                                                   \
    }

static const hs__thin loops[][4] = SETS(TYPES);

hs__thin hs__thin_for(int32_t dtype) { return loops[hs__cpu_set()][dtype]; }
