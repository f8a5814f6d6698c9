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
 * after a cancel, as all functions here. */
void hs__multiply(const hs__multiplier *by, double alpha, hs__matrix a, hs__matrix b, int conjugate,
                  double beta, hs__matrix c);

/* A matrix B that many products have in common: it is packed once, and read by all workers.
 *   conjugate  conj(b) in its place
 *   packed     hs__common_bytes, aligned to cache lines; NULL: it is packed for each product */
typedef struct hs__common {
    hs__matrix b;
    int conjugate;
    char *packed;
} hs__common;

/* Returns the bytes for a B of depth x cols elements, or of fewer in both directions. */
size_t hs__common_bytes(const hs__kernel *kernel, int32_t dtype, int64_t depth, int64_t cols);

void hs__pack_common(const hs__multiplier *by, const hs__common *common);

/* c <- alpha a B + beta c. B is packed anew if c is transposed for the kernel: if its unit stride is
 * not in the direction that the kernel prefers. */
void hs__multiply_common(const hs__multiplier *by, double alpha, hs__matrix a,
                         const hs__common *common, double beta, hs__matrix c);

#endif
