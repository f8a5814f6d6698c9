/* Products for runs that hold the pool already. */
#ifndef HS_RUN_PRODUCT_H
#define HS_RUN_PRODUCT_H

#include "hetsched.h"

/* hs_gemm by a thread between hs__pool_lock and hs__pool_unlock, of a product that hs_gemm would not refuse. With HS_ERROR_MEMORY C is as it was. */
hs_status hs__gemm_held(hs_pool *pool, const hs_product *product, const double *speeds, const hs_options *options);

#endif
