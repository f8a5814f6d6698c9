/* Singular values and vectors of a real upper bidiagonal matrix, by divide and conquer
 * (spectral/join.h). */
#ifndef HS_SPECTRAL_BIDIAGONAL_H
#define HS_SPECTRAL_BIDIAGONAL_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "run/phases.h"

/* The matrix and its decomposition B = U diag(d) V^T. The singular values have an absolute error of
 * a small multiple of n eps times the norm of B, and so has the product U diag(d) V^T. Singular
 * values much smaller than that have no correct digits. U and V are orthogonal up to a small
 * multiple of n eps. Every pool computes the same bits.
 *   kernel  of one call of hs__kernel_current(); set it before hs__bidiagonal_bytes
 *   dtype   HS_FLOAT32 or HS_FLOAT64, the type of all arrays
 *   n       >= 0
 *   d       [n] in: the diagonal; out: the singular values, descending
 *   e       [n - 1] in: the elements above it; destroyed
 *   u, v    [n x n] out, column-major: the left and right singular vectors; both NULL: only values
 *   u_ld, v_ld  >= n
 *   work    hs__bidiagonal_bytes, aligned to 64
 *   failed  out: non-zero if the matrix has a NaN or an infinity. Then the other outputs are
 *           undefined */
typedef struct hs__bidiagonal {
    const hs__kernel *kernel;
    int32_t dtype;
    int64_t n;
    void *d, *e;
    void *u;
    int64_t u_ld;
    void *v;
    int64_t v_ld;
    void *work;
    int32_t failed;
} hs__bidiagonal;

/* Return the bytes of the workspace, and of each worker's scratch. d, e and work are not read. */
size_t hs__bidiagonal_bytes(const hs__bidiagonal *x);
size_t hs__bidiagonal_scratch(const hs__bidiagonal *x);

/* Computes the decomposition; each worker calls it. Returns non-zero after a cancel. */
int hs__bidiagonal_solve(hs__walk *walk, hs__bidiagonal *x);

#endif
