/* Common declarations of the files with qr_vector.h's loops, one file for each instruction set. */
#ifndef HS_KERNEL_QR_VECTOR_SET_H
#define HS_KERNEL_QR_VECTOR_SET_H

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/qr_vector.h"

#define TEMPLATE "kernel/qr_vector_template.h"

#define FUNCTIONS(TYPE)                                         \
    {TYPE##_dots,  TYPE##_update, TYPE##_leaf,   TYPE##_leaf_t, \
     TYPE##_lower, TYPE##_row,    TYPE##_column, TYPE##_rank_two}
#define TYPES(SET)                                                                    \
    {FUNCTIONS(SET##_float), FUNCTIONS(SET##_double), FUNCTIONS(SET##_complex_float), \
     FUNCTIONS(SET##_complex_double)}

#endif
