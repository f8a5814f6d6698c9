/* Where all zero is not what most calls want. */
#include "hetsched.h"

void hs_product_default(hs_product *product, int32_t dtype, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c)
{
    if (!product) return;
    *product = (hs_product){.dtype = dtype, .m = m, .n = n, .k = k, .a = a, .a_row_stride = k, .a_col_stride = 1, .b = b, .b_row_stride = n,
                            .b_col_stride = 1, .c = c, .c_row_stride = n, .c_col_stride = 1, .alpha = {1.0}};
}

void hs_lu_default(hs_lu *lu, int32_t dtype, int64_t m, int64_t n, void *data, int32_t *pivots)
{
    if (!lu) return;
    *lu = (hs_lu){.dtype = dtype, .m = m, .n = n, .lu = data, .lu_row_stride = 1, .lu_col_stride = m, .pivots = pivots, .singular = -1};
}

void hs_measurement_default(hs_measurement *what, int64_t size)
{
    if (!what) return;
    *what = (hs_measurement){.kernel = HS_MEASURE_GEMM, .dtype = HS_FLOAT64, .size = size, .worker = -1, .seconds = 0.5, .least = 3};
}
