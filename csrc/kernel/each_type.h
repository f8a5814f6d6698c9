/* Includes TEMPLATE, a file, for each hs_dtype: NAME(x) is SET(float_x) and so on, REAL the real
 * type, INTEGER an integer of the same size, PARTS the number of reals of an element. Other
 * parameters of a template, TARGET (the attribute of an instruction set), BYTES, ROWS and VECTORS,
 * are undefined at the end of this file, like SET. */

#define NAME(x) SET(float_##x)
#define REAL float
#define INTEGER int32_t
#define PARTS 1
#include TEMPLATE
#undef NAME
#undef PARTS

#define NAME(x) SET(complex_float_##x)
#define PARTS 2
#include TEMPLATE
#undef NAME
#undef REAL
#undef INTEGER
#undef PARTS

#define NAME(x) SET(double_##x)
#define REAL double
#define INTEGER int64_t
#define PARTS 1
#include TEMPLATE
#undef NAME
#undef PARTS

#define NAME(x) SET(complex_double_##x)
#define PARTS 2
#include TEMPLATE
#undef NAME
#undef REAL
#undef INTEGER
#undef PARTS

#undef SET
#undef TARGET
#undef BYTES
#undef ROWS
#undef VECTORS
