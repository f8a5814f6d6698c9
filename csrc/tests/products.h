/* Compares a product on a pool with a triple loop. */
#ifndef HETSCHED_TESTS_PRODUCTS_H
#define HETSCHED_TESTS_PRODUCTS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "matrices.h"
#include "run_calls.h"

/* Computes the product with the boxes and speeds of `plan`, or by hs_gemm if `plan` is NULL. */
static inline void one_case(hs_pool *pool, int dtype, int64_t m, int64_t n, int64_t k, int layouts,
                            double complex alpha, double complex beta, const test_run *plan)
{
    matrix a = make_matrix(dtype, m, k, layouts & 3);
    matrix b = make_matrix(dtype, k, n, layouts >> 2 & 3);
    matrix c = make_matrix(dtype, m, n, layouts >> 4 & 3);
    void *expected = malloc((size_t)c.elements * size_of[dtype]);
    memcpy(expected, c.memory, (size_t)c.elements * size_of[dtype]);
    void *expected_origin = (char *)expected + ((char *)c.origin - (char *)c.memory);
    double complex *rows = dense_copy(a.origin, dtype, m, k, a.row_stride, a.col_stride);
    double complex *cols = dense_copy(b.origin, dtype, n, k, b.col_stride, b.row_stride);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double complex sum = sum_of_products(k, rows + i * k, cols + j * k);
            ptrdiff_t at = i * c.row_stride + j * c.col_stride;
            set(expected_origin, dtype, at,
                alpha * sum + (beta == 0 ? 0 : beta * get(expected_origin, dtype, at)));
            if (beta == 0) set(c.origin, dtype, at, NAN);
        }
    hs_product product = {.dtype = dtype,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a = a.origin,
                          .a_row_stride = a.row_stride,
                          .a_col_stride = a.col_stride,
                          .b = b.origin,
                          .b_row_stride = b.row_stride,
                          .b_col_stride = b.col_stride,
                          .c = c.origin,
                          .c_row_stride = c.row_stride,
                          .c_col_stride = c.col_stride,
                          .alpha = {creal(alpha), cimag(alpha)},
                          /* either order gives the same result with integers */
                          .beta = {creal(beta), cimag(beta)},
                          .alpha_first = (int32_t)check_random(2)};
    if (plan) {
        test_run run = *plan;
        CHECK(run_product(pool, &product, &run) == HS_OK);
    } else CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
    /* counts all elements of the memory: the elements between the strides must be unchanged */
    int64_t wrong = 0;
    for (int64_t i = 0; i < c.elements; i++)
        wrong += get(c.memory, dtype, i) != get(expected, dtype, i);
    CHECK(wrong == 0);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    free(expected);
    free(rows);
    free(cols);
}

#endif
