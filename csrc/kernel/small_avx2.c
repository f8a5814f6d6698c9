/* Loops over small matrices for processors with AVX2 and FMA. */
#include "kernel/small_set.h"

#if HS__X86_SETS
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#define ROWS HS__AVX2_ROWS
#define VECTORS HS__AVX2_VECTORS
#include "kernel/each_type.h"

const hs__small hs__small_avx2[4] = TYPES(avx2, HS__AVX2_BYTES);
#endif
