/* The loops of qr_vector.h for processors with AVX2 and FMA. */
#include "kernel/qr_vector.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

#if defined(__x86_64__)
#define SET(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#define TABLE hs__qr_avx2
#include "kernel/qr_vector_set.h"
#endif
