/* What one core does with a large matrix and a few vectors: each element of the matrix is read once
 * or twice, as it lies in memory. For each type and instruction set; strides are counted in
 * elements. */
#ifndef HS_KERNEL_THIN_H
#define HS_KERNEL_THIN_H

#include <stdint.h>

enum { HS__THIN = 8 }; /* vectors at most */

/* C (m x n) <- A B for A (m x k) whose rows are side by side. b: for each column of B its k
 * elements, of a complex one the real parts, each twice, then the imaginary parts; the next column
 * is b_step reals further on. C is by rows, without gaps. */
typedef void hs__thin_rows(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row,
                           const void *b, int64_t b_step, void *c);

/* C (m x n) <- C + A B for A (m x k) whose columns are side by side. B is by rows, without gaps, C
 * by columns. */
typedef void hs__thin_columns(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_col,
                              const void *b, void *c);

typedef struct hs__thin {
    hs__thin_rows *rows;
    hs__thin_columns *columns;
} hs__thin;

hs__thin hs__thin_for(int32_t dtype);

#endif
