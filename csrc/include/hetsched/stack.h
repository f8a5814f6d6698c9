/* Stacks of matrices on the pool: products, systems and factors of many small matrices, each by one
 * worker. */
#ifndef HETSCHED_STACK_H
#define HETSCHED_STACK_H

#include "hetsched/product.h"

HS_C_BEGIN

/* What is done with each item of a stack, of which A, B and C are those of an hs_product.
 *   MULTIPLY  C <- alpha A B + beta C
 *   SOLVE     C <- A^-1 B, A m x m, B and C m x n, by LU with partial pivoting
 *   INVERT    C <- A^-1, all m x m; B is not there
 *   LU        C <- L U = P A, m x m, L unit lower below the diagonal, U upper; B is not there
 *   CHOLESKY  C <- L with L L^H = A, m x m: only lower triangles are read and written; B is not
 *             there */
typedef enum hs_stack_operation {
    HS_STACK_MULTIPLY = 0,
    HS_STACK_SOLVE = 1,
    HS_STACK_INVERT = 2,
    HS_STACK_LU = 3,
    HS_STACK_CHOLESKY = 4
} hs_stack_operation;

/* A stack of `rank` dimensions; of none: one item. Items are numbered with the last index first.
 *   size     [rank] >= 0
 *   steps    [rank] of A, B and C, elements from one item to the next along each dimension; zero
 *            for what all items there share (A, B)
 *   item     the first item; k == m but for MULTIPLY, alpha and beta are for MULTIPLY alone. C
 *            overlaps neither A nor B, but those of the same item if there is no product. No two
 *            items of C overlap
 *   pivots   [items * m] LU, out: row i was exchanged with row pivots[i] >= i of the item, one
 *            after the other. Else not used
 *   info     [items] out, not of MULTIPLY. SOLVE, INVERT, LU: the first i with U(i, i) == 0, else
 *            -1. CHOLESKY: the order of the first leading minor that is not positive definite, else
 *            0. Of an item without a solution or a factor C is filled with NaN, of CHOLESKY its
 *            lower triangle */
typedef struct hs_stack {
    int32_t operation; /* hs_stack_operation */
    int32_t rank;
    const int64_t *size, *a_steps, *b_steps, *c_steps;
    hs_product item;
    int32_t *pivots;
    int64_t *info;
} hs_stack;

/* All items, taken by the workers from one queue a few at a time; what an item becomes does not
 * depend on who computes it. Excludes pace.
 *   speeds   [p] relative speeds of the workers, for what the pool learns; NULL: equal ones
 * Memory besides: of each worker, of the size of one item. An event's box is the first of the items
 * that were taken together. An item takes as long as one worker needs: large ones are better left
 * to all workers, one after the other. */
HS_API hs_status hs_run_stack(hs_pool *pool, const hs_stack *stack, const double *speeds,
                              const hs_options *options, hs_trace *trace);

HS_C_END
#endif
