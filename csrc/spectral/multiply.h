/* Products that one worker computes in its scratch memory: what the tasks of the stages consist
 * of. */
#ifndef HS_SPECTRAL_MULTIPLY_H
#define HS_SPECTRAL_MULTIPLY_H

#include "kernel/kernel.h"
#include "run/matrix.h"

/* One worker's means of multiplying.
 *   kernel   the same for all workers of a run, which then compute the same bits
 *   scratch  hs__multiply_bytes */
typedef struct hs__multiplier {
    const hs__kernel *kernel;
    int32_t dtype;
    char *scratch;
    const int *cancel;
} hs__multiplier;

/* Returns the bytes of scratch memory for products with an inner dimension of at most `depth` and
 * no other dimension above `longest`; a multiple of a cache line. */
size_t hs__multiply_bytes(const hs__kernel *kernel, int32_t dtype, int64_t longest, int64_t depth);

/* c <- alpha a b + beta c, with conj(b) in place of b if `conjugate` is set. Returns early
 * after a cancel. */
void hs__multiply(const hs__multiplier *by, double alpha, hs__matrix a, hs__matrix b, int conjugate,
                  double beta, hs__matrix c);

#endif
