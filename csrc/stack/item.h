/* One item of a stack, computed by one worker: what LAPACK would do with a small matrix, stored row
 * by row in memory of the worker. */
#ifndef HS_STACK_ITEM_H
#define HS_STACK_ITEM_H

#include "kernel/small.h"
#include "run/matrix.h"

/* What all items of a stack have in common.
 *   row         elements from one row of the factored matrix to the next, padded to whole vectors;
 *               a row ends with the right-hand sides
 *   right       column at which the right-hand sides begin
 *   b_row       elements from one row to the next of a copy of a product's B, if B cannot be used
 *               as it is
 *   c_row       the same for a copy of C
 *   b_bytes     size of the copy of B; 0: none
 *   c_bytes     size of the copy of C; for a system, of its pivots
 *   bytes       memory of a worker
 *   span        A, B and C of a product, for prefetching the next item
 *   lines       cache lines that a plain product prefetches at a time for the next item; 0: none
 *   turned      the product is computed as C^T = B^T A^T
 *   plain       the product needs no copies and is done in one piece
 *   leading     when a Cholesky factorisation fails at a minor, the factor of the minor before it
 *               is kept */
typedef struct hs__items {
    const hs_stack *stack;
    hs__small loops;
    int64_t row, right, b_row, c_row;
    size_t b_bytes, c_bytes, bytes;
    hs__span span[3];
    int32_t lines;
    int turned, plain, leading;
} hs__items;

/* Where the operands of an item are. */
typedef struct hs__operands {
    const char *a, *b;
    char *c;
} hs__operands;

/* Fills in the sizes. Each worker needs `bytes` bytes of memory, aligned for vectors, and zero
 * before its first item. Returns 0 if that is too much to be counted. */
int hs__items_init(hs__items *items, const hs_stack *stack);

/* Does what hs_run_stack does, with `leading` as in hs__items. */
hs_status hs__run_items(hs_pool *pool, const hs_stack *stack, int leading, const double *speeds,
                        const hs_options *options, hs_trace *trace);

/* Computes one item. Ends early after a cancel.
 *   item     its operands
 *   next     the item that the worker is likely to compute after it
 *   pivots   [m] as in hs_stack
 *   info     as in hs_stack
 *   memory   of the worker, hs__items.bytes */
void hs__item_do(const hs__items *items, const hs_product *item, const hs__operands *next,
                 int32_t *pivots, int64_t *info, char *memory, hs__member *self);

#endif
