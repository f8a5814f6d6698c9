/* The loops of factor_vector.h for all types, included once for each instruction set: SET(x) makes
 * names, TARGET is the attribute of the set, BYTES the size of a vector. All three are undefined at
 * the end of this file. */

#define NAME(x) SET(float_##x)
#define REAL float
#define INTEGER int32_t
#define PARTS 1
#include "kernel/factor_vector_template.h"

#define NAME(x) SET(double_##x)
#define REAL double
#define INTEGER int64_t
#define PARTS 1
#include "kernel/factor_vector_template.h"

#define NAME(x) SET(complex_float_##x)
#define REAL float
#define INTEGER int32_t
#define PARTS 2
#include "kernel/factor_vector_template.h"

#define NAME(x) SET(complex_double_##x)
#define REAL double
#define INTEGER int64_t
#define PARTS 2
#include "kernel/factor_vector_template.h"

#define FUNCTIONS(TYPE)                                                                      \
    {SET(TYPE##_column), SET(TYPE##_solve), SET(TYPE##_solve_rows), SET(TYPE##_strip_solve), \
     SET(TYPE##_swap_rows)}
static const hs__factor_vector SET(functions)[] = {
    FUNCTIONS(float), FUNCTIONS(double), FUNCTIONS(complex_float), FUNCTIONS(complex_double)};

#undef FUNCTIONS
#undef SET
#undef TARGET
#undef BYTES
