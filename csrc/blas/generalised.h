/* Eigenvalues of a Hermitian matrix relative to a positive definite one. */
#ifndef HS_BLAS_GENERALISED_H
#define HS_BLAS_GENERALISED_H

#include "blas/operand.h"

/* A pair of Hermitian n x n matrices A and B with the eigenvalues w of A x = w B x (kind 1),
 * A B x = w x (kind 2) or B A x = w x (kind 3).
 *   upper    non-zero: the upper triangles are read; zero: the lower ones
 *   vectors  non-zero: A is replaced by the eigenvectors, of which Z^H B Z, or for kind 3
 *            Z^H B^-1 Z, is the identity; zero: A stays as it is
 *   b        its triangle is replaced by the Cholesky factor
 *   values   [n] out, of the real type, ascending
 *   failed   out: non-zero if B is not definite, or if a number is not finite */
typedef struct hs__pair {
    int32_t dtype;
    int kind, upper, vectors, failed;
    hs__matrix a, b;
    void *values;
} hs__pair;

/* Computes the values, and vectors if they are wanted, by the Cholesky factor of B. With an error
 * or if it has failed, A and B are as before. O(n^3), and memory for about 8 n^2 elements.
 *   speeds  of the pool's workers, or NULL */
hs_status hs__solve_pair(hs_pool *pool, const double *speeds, hs__pair *pair);

#endif
