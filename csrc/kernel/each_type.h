/* TEMPLATE, a file, for each hs_dtype: NAME(x) is SET(float_x) and so on, REAL the real type,
 * INTEGER as large, PARTS the reals of an element. What else a template takes, TARGET (the
 * attribute of an instruction set), BYTES, ROWS and VECTORS, ends with this file as SET does. */

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
