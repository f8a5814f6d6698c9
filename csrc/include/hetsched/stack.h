/* Stacks of matrices on the pool: products, systems and factorisations of many small matrices, each
 * computed by one worker. */
#ifndef HETSCHED_STACK_H
#define HETSCHED_STACK_H

#include "hetsched/product.h"

HS_C_BEGIN

/* The operation on each item of a stack. A, B and C are the operands of an hs_product.
 *   MULTIPLY  C <- alpha A B + beta C
 *   SOLVE     C <- A^-1 B, A m x m, B and C m x n, by LU with partial pivoting
 *   INVERT    C <- A^-1, all m x m; no B
 *   LU        C <- L U = P A, m x m, L unit lower below the diagonal, U upper; no B
 *   CHOLESKY  C <- L with L L^H = A, m x m: only lower triangles are read and written; no B */
typedef enum hs_stack_operation {
    HS_STACK_MULTIPLY = 0,
    HS_STACK_SOLVE = 1,
    HS_STACK_INVERT = 2,
    HS_STACK_LU = 3,
    HS_STACK_CHOLESKY = 4
} hs_stack_operation;

/* A stack of `rank` dimensions; rank 0 is one item. Items are numbered in row-major order, the last
 * index fastest.
 *   size    [rank] >= 0
 *   steps   [rank] each of a_steps, b_steps and c_steps: elements from one item to the next along
 *           each dimension; zero along a dimension where all items share the operand (A, B)
 *   item    the first item; k == m except for MULTIPLY, alpha and beta are for MULTIPLY only. C
 *           does not overlap A or B, except that, for all operations but MULTIPLY, it may overlap A
 *           and B of the same item. No two items of C overlap
 *   pivots  [items * m] out, LU only: row i was exchanged with row pivots[i] >= i of the item, one
 *           exchange after the other
 *   info    [items] out, not for MULTIPLY. SOLVE, INVERT, LU: the first i with U(i, i) == 0, else
 *           -1. CHOLESKY: the order of the first leading minor that is not positive definite, else
 *           0. If an item has no solution or factor, C is filled with NaN (CHOLESKY: its lower
 *           triangle) */
typedef struct hs_stack {
    int32_t operation; /* hs_stack_operation */
    int32_t rank;
    const int64_t *size, *a_steps, *b_steps, *c_steps;
    hs_product item;
    int32_t *pivots;
    int64_t *info;
} hs_stack;

/* Computes all items. The workers take them from one queue, a few at a time; the result of an item
 * does not depend on the worker that computes it. Excludes pace.
 *   speeds  [p] relative speeds of the workers, from which the pool learns its drift; NULL: equal
 *           speeds
 * Extra memory: the size of one item per worker. The box of an event is the first of the items that
 * were taken together. Each item is computed by one worker: large items are better computed by all
 * workers, one after the other. */
HS_API hs_status hs_run_stack(hs_pool *pool, const hs_stack *stack, const double *speeds,
                              const hs_options *options, hs_trace *trace);

HS_C_END
#endif
