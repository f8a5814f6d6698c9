/* Divide and conquer, for eigenvalues of a symmetric tridiagonal matrix and for singular values of
 * an upper bidiagonal one.
 *
 * The matrix is divided in halves, these again, down to one or two rows, whose values and vectors
 * are known. A join combines its two halves in five steps:
 *
 *   deflate   The part is diag(d) plus a matrix of rank one (eigenvalues), or diag(d) with one more
 *             row (singular values), of weights w, which are rows of the halves' bases. A value
 *             whose weight is negligible is one of the part, too; so is one of two values that are
 *             nearly the same, once a turn of their columns has made its weight 0.
 *   gather    The turns are done, and the columns of the halves' bases are copied to the workspace:
 *             first the columns that are zero in the lower rows, then the dense ones, then the ones
 *             that are zero in the upper rows, so that the products below leave the zeros out.
 *   roots     The other values of the part are the roots of a secular equation (secular.h).
 *   weights   The weights for which these roots are exact. All values are put in order.
 *   multiply  The new basis is the old one times the vectors of the roots: products by tiles. The
 *             vectors of a tile are computed where they are multiplied.
 *
 * Each step of each join is divided into tasks. The small parts at the bottom are one task each.
 * The upper half of the rows of the bases belongs to the first half of the part, the lower one to
 * the second half.
 *
 * Singular values. Part i of a level has rows first .. last - 1 and one column more, except for the
 * last part, which is square. Between its halves is the row cut - 1, which belongs to none. Column
 * cut - 1 is the null vector of the first half in the right basis and a unit vector in the left
 * one, and is the column of the pole 0. The null vector of the part is column `last` of the right
 * basis.
 *
 * If only values are wanted, each basis is replaced by its first and last row, which the weights
 * are made of. That takes O(n^2) operations, as a QL iteration does, but all workers share them,
 * and one worker alone is faster as well: 23 ms instead of 46 ms of LAPACK's sterf at n = 2000
 * (Intel Xeon family 6 model 167).
 *
 * After Cuppen, A divide and conquer method for the symmetric tridiagonal eigenproblem, Numer.
 * Math. 36 (1981), and Gu and Eisenstat (secular.h), with the deflation of LAPACK's laed2 and
 * lasd2. */
#ifndef HS_SPECTRAL_JOIN_H
#define HS_SPECTRAL_JOIN_H

#include "kernel/kernel.h"
#include "run/phases.h"
#include "spectral/secular.h"

/* A basis: column-major, with the vectors of each part in the rows and columns of that part and
 * zeros elsewhere. */
typedef struct hs__basis {
    hs__vector_kind kind;
    char *q;
    int64_t ld;
    char *packed; /* the gathered columns */
} hs__basis;

/* Columns (x, y) <- (cosine x + sine y, cosine y - sine x). */
typedef struct hs__turn {
    int64_t x, y;
    double cosine, sine;
    int32_t right_only; /* of the right basis only: it makes the null vector of the part */
} hs__turn;

/* A part. Its values are first .. last - 1, and its upper rows first .. cut - 1. The fields from
 * count on are set when it is deflated. */
typedef struct hs__join {
    int64_t first, cut, last;
    int64_t end;                 /* of the rows of the right basis */
    int64_t count;               /* values that are roots; the others are deflated */
    int64_t upper, dense, lower; /* columns of each group */
    int64_t turns;
    double unit; /* power of two by which the part is divided, so that its numbers are about 1 */
} hs__join;

typedef struct hs__tree hs__tree;

/* Sets the values and vectors of a part that is not divided. */
typedef void hs__leaf(const hs__tree *tree, int64_t index);

/* The whole problem, as each worker describes it to itself; only the memory is shared. Arrays have
 * an element for each value, and each part uses the ones of its values. */
struct hs__tree {
    int32_t dtype; /* HS_FLOAT32 or HS_FLOAT64 */
    int32_t squares;
    int32_t values_only;
    int32_t bases;
    hs__basis basis[2];
    int64_t n;
    int32_t levels; /* of parts that are divided */
    hs__leaf *leaf;
    int32_t *failed; /* out: non-zero if an element is not finite */
    const hs__kernel *kernel;
    hs__secular_loops loops;
    char *
        d; /* values, ascending in each part; in between, the diagonal of the rows between halves */
    char *e;                              /* elements beside the diagonal */
    int *exponent;                        /* the matrix is divided by 2^exponent meanwhile */
    double *pole, *weight, *base, *shift; /* the secular equation and its roots */
    double *grouped_pole, *grouped_weight;
    char *dead;           /* the deflated values, ascending */
    char *scaled;         /* the weights of all columns */
    int64_t *order;       /* columns by value */
    int64_t *column;      /* of each pole, then of each group */
    int64_t *place;       /* of each pole in the groups */
    int64_t *dead_column; /* of each deflated value */
    int64_t *target;      /* new column of each root, then of each deflated value */
    int8_t *group;
    hs__turn *turns;
    hs__join *joins; /* of part i of level l: (1 << l) + i */
};

/* Fills in the sizes and the loops of a tree. Then the caller sets d, e, leaf, failed, and q and ld
 * of the bases, of which only the first counts with values_only. */
void hs__tree_init(hs__tree *tree, const hs__kernel *kernel, int32_t dtype, int squares,
                   int values_only, int64_t n);

/* Returns the bytes of the workspace that hs__tree_use divides. */
size_t hs__tree_bytes(const hs__tree *tree);
void hs__tree_use(hs__tree *tree, void *work);

/* Returns the bytes of scratch that each worker needs. */
size_t hs__tree_scratch(const hs__tree *tree);

/* Returns the first row of part `index` of a level; the part ends where the next one begins. */
static inline int64_t hs__tree_start(const hs__tree *tree, int32_t level, int64_t index)
{
    return index * (tree->n + tree->squares) >> level;
}

/* Computes everything. Returns non-zero after a cancel. */
int hs__tree_solve(hs__walk *walk, const hs__tree *tree);

#endif
