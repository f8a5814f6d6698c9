/* The loops of qr_vector.h for processors with AVX-512. */
#include "kernel/qr_vector_set.h"

#if HS__X86_SETS
#define SET(x) avx512_##x
#define TARGET \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")))
#define BYTES HS__AVX512_BYTES
#include "kernel/each_type.h"

const hs__qr_vector hs__qr_avx512[4] = TYPES(avx512);
#endif
