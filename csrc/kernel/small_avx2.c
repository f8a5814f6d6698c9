/* Loops over small matrices for processors with AVX2 and FMA. */
#include "kernel/small_set.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#define ROWS 4
#define VECTORS HS__SMALL_VECTORS
#include "kernel/each_type.h"

const hs__small hs__small_avx2[4] = TYPES(avx2, 32);
#endif
