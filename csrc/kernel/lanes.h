/* Eigenvalues and singular values of several small matrices at once: the lanes of a vector belong to
 * different matrices. Element (i, j) of the matrices of a group is one vector, so that each scalar
 * operation of the algorithm becomes one operation on vectors. Lanes never mix: the bits of a matrix
 * do not depend on the other matrices of its group.
 *
 * Complex matrices consist of two planes, first the vectors of all real parts, then of the
 * imaginary parts. Matrices are stored by rows. */
#ifndef HS_KERNEL_LANES_H
#define HS_KERNEL_LANES_H

#include <stddef.h>
#include <stdint.h>

/* A group in memory of the caller, with arrays that begin at multiples of the size of a vector.
 *   m, n     of each matrix, m >= n >= 1; for eigenvalues m == n
 *   a        [parts][m][n] vectors, the matrices; overwritten
 *   u        [parts][m][n] vectors out: the eigenvectors, or the left singular vectors, one in each
 *            column; NULL: no vectors
 *   v        [parts][n][n] vectors out: the right singular vectors, one in each column. NULL if u is
 *            NULL, and for eigenvalues
 *   values   [n] vectors out, of reals, in any order
 *   work     [hs__lanes_work(n)] vectors
 *   failed   [lanes] out: non-zero for a matrix that is not finite, or whose iteration did not
 *            converge; then its results mean nothing */
typedef struct hs__lanes_group {
    int64_t m, n;
    void *a, *u, *v, *values, *work;
    int32_t *failed;
} hs__lanes_group;

/* HS__LANES_GROUPS groups are iterated together. The rotations of HS__LANES_SWEEPS sweeps are applied
 * to the vectors together. */
enum { HS__LANES_GROUPS = 2, HS__LANES_SWEEPS = 8 };

static inline int64_t hs__lanes_work(int64_t n) { return (4 * HS__LANES_SWEEPS + 12) * (n + 1); }

/* Computes eigenvalues and eigenvectors of the first `count` of HS__LANES_GROUPS groups of one shape,
 * from the lower triangles of `a`. The rest of `a` must be finite. Of the other groups, values and
 * work are overwritten. */
typedef void hs__lanes_eigh(const hs__lanes_group *groups, int count);

/* The same for singular values, none of which is negative, and singular vectors. */
typedef void hs__lanes_svd(const hs__lanes_group *groups, int count);

/* How the items of a group lie in memory: element (i, j) of a matrix is i * row_stride + j *
 * col_stride elements behind the first.
 *   items      [lanes] the first element of each; NULL: there is no item
 *   lower      non-zero: only the lower triangle is read, and no imaginary part of its diagonal
 *   conjugate  non-zero: elements are conjugated on their way */
typedef struct hs__lanes_items {
    char *const *items;
    int64_t row_stride, col_stride;
    int32_t lower, conjugate;
} hs__lanes_items;

/* Copies rows x cols matrices from memory to a group. Elements that are not read are zeros. */
typedef void hs__lanes_load(int64_t rows, int64_t cols, const hs__lanes_items *from, void *group);

/* Sorts the values of each lane: its value `order[l * n + j]` is number j. Equal values keep their
 * order. */
typedef void hs__lanes_sort(int64_t n, const void *values, int descending, int32_t *order);

/* Copies columns order[l * cols + j] of each lane's rows x cols matrix to memory. */
typedef void hs__lanes_store(int64_t rows, int64_t cols, const void *group, const int32_t *order,
                             const hs__lanes_items *to);

/* The loops of a type. `count` matrices make a group, and a vector has `bytes`. store_values stores
 * reals. */
typedef struct hs__lanes {
    int32_t count;
    size_t bytes;
    hs__lanes_load *load;
    hs__lanes_eigh *eigh;
    hs__lanes_svd *svd;
    hs__lanes_sort *sort;
    hs__lanes_store *store, *store_values;
} hs__lanes;

/* Returns the loops for the widest vectors of this processor. */
const hs__lanes *hs__lanes_for(int32_t dtype);

#endif
