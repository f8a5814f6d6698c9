/* One item of a stack by one worker: what LAPACK would do with a small matrix, stored row by row in
 * memory of the worker's. */
#ifndef HS_STACK_ITEM_H
#define HS_STACK_ITEM_H

#include "kernel/small.h"
#include "run/matrix.h"

/* Of all items of a stack.
 *   row      elements of a row of the matrix that is factored, padded to whole vectors, with its
 *            right-hand sides from column `right` on
 *   b_row, c_row      the same of copies of a product's B and C, where these cannot be used as they
 *                     are
 *   b_bytes, c_bytes  of those; of a system c_bytes are its pivots
 *   turned   a product is computed as C^T = B^T A^T
 *   plain    it needs no copies, and is done at once
 *   span, lines   during a plain product that is large enough its A, B and C for the next are
 *                 fetched, so many lines at a time; or 0
 *   leading  where a Cholesky factorisation ends at a minor, what it has found before that is kept:
 *            the factor of the minor before it */
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

/* Sizes: `bytes` is the memory that each worker needs, aligned for vectors and zero before its
 * first item. 0 if that is too much to be counted. */
int hs__items_init(hs__items *items, const hs_stack *stack);

/* hs_run_stack, with `leading` as above. */
hs_status hs__run_items(hs_pool *pool, const hs_stack *stack, int leading, const double *speeds,
                        const hs_options *options, hs_trace *trace);

/* The item, whose operands `item` tells; pivots [m] and info as in hs_stack. `next` is what the
 * worker is likely to do then. Ends early after a cancel. */
void hs__item_do(const hs__items *items, const hs_product *item, const hs__operands *next,
                 int32_t *pivots, int64_t *info, char *memory, hs__member *self);

#endif
