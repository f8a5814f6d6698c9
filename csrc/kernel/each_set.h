/* Includes TEMPLATE, a file, for each instruction set and each hs_dtype: see each_type.h for its
 * parameters. SETS(TABLE) are then TABLE(plain), TABLE(avx2) and TABLE(avx512), those that this
 * kind of processor can have, in the order of hs__cpu_set. */

#include "kernel/kernel.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#include "kernel/each_type.h"

#if HS__X86_SETS
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#include "kernel/each_type.h"

#define SET(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#include "kernel/each_type.h"

#define SETS(TABLE) {TABLE(plain), TABLE(avx2), TABLE(avx512)}
#else
#define SETS(TABLE) {TABLE(plain)}
#endif
