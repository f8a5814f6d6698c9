/* Chooses the loops of qr_vector.h for this processor. Each instruction set has a file of its own,
 * so that no file takes long to compile. */
#include "kernel/qr_vector.h"

#include "kernel/kernel.h"

hs__qr_vector hs__qr_vector_for(int32_t dtype)
{
    static const hs__qr_vector *const sets[] = {
        hs__qr_plain,
#if HS__X86_SETS
        hs__qr_avx2,
        hs__qr_avx512,
#endif
    };
    return sets[hs__cpu_set()][dtype];
}
