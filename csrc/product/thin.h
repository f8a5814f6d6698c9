/* Thin products: one side has only a few elements, so that the product runs at the speed of memory.
 * The large operand is read once, in place, without packing. */
#ifndef HS_PRODUCT_THIN_H
#define HS_PRODUCT_THIN_H

#include "run/run.h"

/* Whether hs_gemm computes a product in this way. The whole of C is wanted; C has at most HS__THIN
 * rows or columns, half as many where complex numbers lie by rows; and the rows or columns of the
 * large operand are contiguous. */
int hs__is_thin(const hs_product *product);

/* Runs the product on all workers, which take pieces of the large operand. The result does not
 * depend on which worker takes which piece, nor on the number of workers. HS_ERROR_MEMORY leaves C
 * as it was. All events have box 0. */
hs_status hs__run_thin(hs_pool *pool, const hs_product *product, const hs_options *options,
                       hs_trace *trace);

#endif
