/* The loops of qr_vector.h for all types, included once for each instruction set: SET(x) makes
 * names, TARGET is the attribute of the set, BYTES the size of a vector, TABLE [hs_dtype] the
 * functions. */

#define NAME(x) SET(float_##x)
#define REAL float
#define INTEGER int32_t
#define PARTS 1
#include "kernel/qr_vector_template.h"

#define NAME(x) SET(double_##x)
#define REAL double
#define INTEGER int64_t
#define PARTS 1
#include "kernel/qr_vector_template.h"

#define NAME(x) SET(complex_float_##x)
#define REAL float
#define INTEGER int32_t
#define PARTS 2
#include "kernel/qr_vector_template.h"

#define NAME(x) SET(complex_double_##x)
#define REAL double
#define INTEGER int64_t
#define PARTS 2
#include "kernel/qr_vector_template.h"

#define FUNCTIONS(TYPE)                                                             \
    {SET(TYPE##_dots),  SET(TYPE##_update), SET(TYPE##_leaf),   SET(TYPE##_leaf_t), \
     SET(TYPE##_lower), SET(TYPE##_row),    SET(TYPE##_column), SET(TYPE##_rank_two)}
const hs__qr_vector TABLE[4] = {FUNCTIONS(float), FUNCTIONS(double), FUNCTIONS(complex_float),
                                FUNCTIONS(complex_double)};
