/* The secular equation of divide and conquer,
 *
 *     f(x) = 1 + sum_i w_i^2 / (p_i - x) = 0,    p_0 < p_1 < ...,
 *
 * whose roots are the eigenvalues of diag(p) + w w^T. Exactly one root lies between each pole and
 * the next one, and one behind the last pole. For singular values the poles and the unknown are
 * squares: p_i = d_i^2, x = s^2, and differences are products, (d_i - s) (d_i + s), so that nothing
 * is lost when they are formed.
 *
 * A root is stored as a distance from the nearest pole, base + shift. So its differences from all
 * poles have a small relative error, which the vectors need. The vectors belong to the weights
 * for which the computed roots are exact: Gu and Eisenstat, A stable and efficient algorithm for
 * the rank-one modification of the symmetric eigenproblem, SIAM J. Matrix Anal. Appl. 15 (1994),
 * and for singular values A divide-and-conquer algorithm for the bidiagonal SVD, 16 (1995). */
#ifndef HS_SPECTRAL_SECULAR_H
#define HS_SPECTRAL_SECULAR_H

#include <stdint.h>

/* All numbers are doubles, also for matrices of floats: squares of the smallest weights over
 * squares of the smallest distances are out of the range of a float.
 *   pole     [count] d, ascending and distinct; with squares d[0] is 0
 *   weight   [count] w, none of them 0
 *   squares  non-zero: the equation of singular values
 * Poles and weights are at most about 1: then no square is out of range. */
typedef struct hs__secular {
    int64_t count;
    const double *pole, *weight;
    int32_t squares;
} hs__secular;

/* Finds the root behind pole j and stores base[j] and shift[j]. It always ends: the root stays
 * between two numbers that come closer. */
typedef void hs__secular_root(const hs__secular *x, int64_t j, double *base, double *shift);

/* Returns the weight of pole i for which all computed roots are exact, with the sign of the given
 * one. */
typedef double hs__secular_weight(const hs__secular *x, int64_t i, const double *base,
                                  const double *shift);

/* The vectors of a root: eigenvectors, or left and right singular vectors. */
typedef enum hs__vector_kind { HS__EIGENVECTOR, HS__LEFT_VECTOR, HS__RIGHT_VECTOR } hs__vector_kind;

/* Computes a multiple of the vector of a root and returns the factor that makes its norm 1.
 *   pole, weight  [count] the poles in any order, and the weights of hs__secular_weight
 *   zero          index of the pole 0, for left vectors
 *   base, shift   of the root
 *   out           [count] in the order of pole */
typedef double hs__secular_vector(hs__vector_kind kind, int64_t count, const double *pole,
                                  const double *weight, int64_t zero, double base, double shift,
                                  double *out);

typedef struct hs__secular_loops {
    hs__secular_root *root;
    hs__secular_weight *weight;
    hs__secular_vector *vector;
} hs__secular_loops;

/* Returns the loops with the widest vectors of this processor. */
hs__secular_loops hs__secular_for(void);

#endif
