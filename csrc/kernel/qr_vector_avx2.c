/* The loops of qr_vector.h for processors with AVX2 and FMA. */
#include "kernel/qr_vector_set.h"

#if HS__X86_SETS
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#include "kernel/each_type.h"

const hs__qr_vector hs__qr_avx2[4] = TYPES(avx2);
#endif
