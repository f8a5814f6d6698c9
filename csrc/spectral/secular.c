/* The loops of secular.h for all instruction sets, and the choice among them. */
#include "spectral/secular.h"

#include <float.h>
#include <math.h>

#include "kernel/blocks.h"
#include "kernel/kernel.h"

static const double ROUNDING = DBL_EPSILON / 2;

#define REAL double

#define NAME(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#include "spectral/secular_template.h"
#undef NAME
#undef TARGET
#undef BYTES

#if HS__X86_SETS
#define NAME(x) avx2_##x
#define TARGET HS__AVX2_TARGET
#define BYTES HS__AVX2_BYTES
#include "spectral/secular_template.h"
#undef NAME
#undef TARGET
#undef BYTES

#define NAME(x) avx512_##x
#define TARGET HS__AVX512_TARGET
#define BYTES HS__AVX512_BYTES
#include "spectral/secular_template.h"
#undef NAME
#undef TARGET
#undef BYTES
#endif

hs__secular_loops hs__secular_for(void)
{
    static const hs__secular_loops sets[] = {
        {plain_root, plain_weight, plain_vector_of},
#if HS__X86_SETS
        {avx2_root, avx2_weight, avx2_vector_of},
        {avx512_root, avx512_weight, avx512_vector_of},
#endif
    };
    return sets[hs__cpu_set()];
}
