/* Eigenvalues and eigenvectors of a real symmetric tridiagonal matrix, by divide and conquer
 * (spectral/join.h). */
#ifndef HS_SPECTRAL_DIVIDE_H
#define HS_SPECTRAL_DIVIDE_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "run/phases.h"

/* The matrix and its decomposition T = Z diag(d) Z^T. Values and vectors have an error of a small
 * multiple of n eps times the norm of the matrix. Every pool computes the same bits.
 *   kernel  hs__kernel_current(), called once, before the sizes of memory are asked for
 *   dtype   HS_FLOAT32 or HS_FLOAT64, the type of all arrays
 *   n       >= 0
 *   d       [n] in: the diagonal; out: the eigenvalues, ascending
 *   e       [n - 1] in: the elements beside it; destroyed
 *   z       [n x n] out, column-major: the eigenvectors; NULL: only values
 *   ld      of z, >= n
 *   work    hs__divide_bytes, aligned to 64
 *   failed  out: non-zero if the matrix has a NaN or an infinity. Then the other outputs are
 *           undefined */
typedef struct hs__divide {
    const hs__kernel *kernel;
    int32_t dtype;
    int64_t n;
    void *d, *e;
    void *z;
    int64_t ld;
    void *work;
    int32_t failed;
} hs__divide;

/* Return the bytes of the workspace, and of each worker's scratch. d, e and work are not read. */
size_t hs__divide_bytes(const hs__divide *x);
size_t hs__divide_scratch(const hs__divide *x);

/* Computes the decomposition; each worker calls it. Returns non-zero after a cancel. */
int hs__divide_solve(hs__walk *walk, hs__divide *x);

#endif
