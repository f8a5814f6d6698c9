/* Chooses the loops of qr_vector.h for this processor. Each instruction set has a file of its own,
 * so that no file takes long to compile. */
#include "kernel/qr_vector.h"

#include "kernel/kernel.h"

hs__qr_vector hs__qr_vector_for(int32_t dtype)
{
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return hs__qr_avx512[dtype];
    if (cpu.avx2_fma) return hs__qr_avx2[dtype];
#endif
    return hs__qr_plain[dtype];
}
