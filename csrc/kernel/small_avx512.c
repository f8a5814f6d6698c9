/* Loops over small matrices for processors with AVX-512. */
#include "kernel/small_set.h"

#if HS__X86_SETS
#define SET(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#define ROWS HS__AVX512_ROWS
#define VECTORS HS__AVX512_VECTORS
#include "kernel/each_type.h"

const hs__small hs__small_avx512[4] = TYPES(avx512, HS__AVX512_BYTES);
#endif
