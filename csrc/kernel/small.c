/* Loops over small matrices for any processor, and the choice of the loops for this processor. */
#include "kernel/small_set.h"

/* One element at a time. */
#define SET(x) one_##x
#define TARGET
#define BYTES (PARTS * sizeof(REAL))
#define ROWS 8
#define VECTORS 1
#include "kernel/each_type.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#define ROWS HS__PLAIN_ROWS
#define VECTORS HS__PLAIN_VECTORS
#include "kernel/each_type.h"

/* From the narrowest to the widest. */
static const hs__small one[] = {FUNCTIONS(one_float, 1), FUNCTIONS(one_double, 1),
                                FUNCTIONS(one_complex_float, 1), FUNCTIONS(one_complex_double, 1)};
static const hs__small plain[] = TYPES(plain, HS__PLAIN_BYTES);
static const hs__small *const wider[] = {
    plain,
#if HS__X86_SETS
    hs__small_avx2,
    hs__small_avx512,
#endif
};

hs__small hs__small_within(int32_t dtype, int64_t across)
{
    int sets = 1 + hs__cpu_set();
    while (sets && wider[sets - 1][dtype].across > across) sets--;
    return sets ? wider[sets - 1][dtype] : one[dtype];
}

hs__small hs__small_for(int32_t dtype) { return hs__small_within(dtype, INT64_MAX); }
