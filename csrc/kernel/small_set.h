/* Common declarations of the files with small.h's loops, one file for each instruction set. */
#ifndef HS_KERNEL_SMALL_SET_H
#define HS_KERNEL_SMALL_SET_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/element.h"
#include "kernel/kernel.h"
#include "kernel/small.h"

/* unrolls before sums are placed in registers: see kernel_c.c */
#define UNROLLED _Pragma("GCC unroll 16")

#define TEMPLATE "kernel/small_template.h"

#define FUNCTIONS(NAME, ACROSS) \
    {NAME##_multiply, NAME##_substitute, NAME##_factor, NAME##_cholesky, ACROSS}
#define TYPES(SET, BYTES)                                                   \
    {FUNCTIONS(SET##_float, BYTES / 4), FUNCTIONS(SET##_double, BYTES / 8), \
     FUNCTIONS(SET##_complex_float, BYTES / 8), FUNCTIONS(SET##_complex_double, BYTES / 16)}

/* Indexed by hs_dtype. */
extern const hs__small hs__small_avx2[4], hs__small_avx512[4];

#endif
