/* The loops of qr_vector.h for processors with AVX-512. */
#include "kernel/qr_vector.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

#if defined(__x86_64__)
#define SET(x) avx512_##x
#define TARGET \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")))
#define BYTES HS__AVX512_BYTES
#define TABLE hs__qr_avx512
#include "kernel/qr_vector_set.h"
#endif
