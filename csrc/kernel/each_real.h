/* Includes TEMPLATE, a file, for both real types: NAME(x) is SET(float_x), then SET(double_x), and
 * REAL is the type. Other parameters of a template, TARGET (the attribute of an instruction set),
 * BYTES, SIZES and BY_ELEMENT, are undefined at the end of this file, like SET. */

#define NAME(x) SET(float_##x)
#define REAL float
#include TEMPLATE
#undef NAME
#undef REAL

#define NAME(x) SET(double_##x)
#define REAL double
#include TEMPLATE
#undef NAME
#undef REAL

#undef SET
#undef TARGET
#undef BYTES
#undef SIZES
#undef BY_ELEMENT
