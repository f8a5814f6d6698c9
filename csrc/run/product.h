/* Products for runs that hold the pool already. */
#ifndef HS_EXEC_PRODUCT_H
#define HS_EXEC_PRODUCT_H

#include "hetsched.h"

/* hs_gemm by a thread between hs__pool_lock and hs__pool_unlock. With HS_ERROR_MEMORY C is as it was. */
hs_status hs__gemm_held(hs_pool *pool, const hs_product *product, const double *speeds, hs_poll_function poll, void *context);

#endif
