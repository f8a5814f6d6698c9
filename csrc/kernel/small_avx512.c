/* Loops over small matrices for processors with AVX-512. */
#include "kernel/small_set.h"

#if defined(__x86_64__)
#define SET(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
#define BYTES 64
#define ROWS HS__SMALL_ROWS
#define VECTORS HS__SMALL_VECTORS
#include "kernel/each_type.h"

const hs__small hs__small_avx512[4] = TYPES(avx512, 64);
#endif
