/* Loops of one core over a large matrix and a few vectors: each element of the matrix is read once
 * or twice, unpacked. For each type and instruction set; strides are counted in elements. */
#ifndef HS_KERNEL_THIN_H
#define HS_KERNEL_THIN_H

#include <stdint.h>

/* C (m x n) <- A B for A (m x k) with unit column stride. b: for each column of B its k elements;
 * for complex ones the real parts, each twice, then the imaginary parts. Columns of b are b_step
 * reals apart. C is row-major without gaps. */
typedef void hs__thin_rows(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row,
                           const void *b, int64_t b_step, void *c);

/* C (m x n) <- C + A B for A (m x k) with unit row stride. B is row-major, C column-major, both
 * without gaps. */
typedef void hs__thin_columns(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_col,
                              const void *b, void *c);

typedef struct hs__thin {
    hs__thin_rows *rows;
    hs__thin_columns *columns;
} hs__thin;

hs__thin hs__thin_for(int32_t dtype);

#endif
