/* Products with a side of a few elements, which go at the speed of memory: the large operand is
 * read as it lies there, once. */
#ifndef HS_PRODUCT_THIN_H
#define HS_PRODUCT_THIN_H

#include "run/run.h"

/* Whether a product of hs_gemm is one: the whole of it is wanted, it has at most HS__THIN rows or
 * columns, half as many where complex numbers lie by rows, and the rows or columns of its large
 * operand lie side by side. */
int hs__is_thin(const hs_product *product);

/* All workers take pieces of the large operand. What comes out does not depend on who took which,
 * nor on how many there are. With HS_ERROR_MEMORY C is as it was. Events are all of box 0. */
hs_status hs__run_thin(hs_pool *pool, const hs_product *product, const hs_options *options,
                       hs_trace *trace);

#endif
