/* Products of a small matrix with rows of vectors, for each type and instruction set. Neither
 * operand is packed: the elements of the small matrix are read one by one, from anywhere. */
#ifndef HS_KERNEL_ROWS_H
#define HS_KERNEL_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* The small matrix: element (i, l) is i * row_step + l * depth_step elements behind the first.
 * conjugate: its conjugate counts. */
typedef struct hs__factors {
    const void *data;
    int64_t row_step, depth_step;
    int conjugate;
} hs__factors;

typedef enum hs__rows_how { HS__ROWS_SET, HS__ROWS_ADD, HS__ROWS_SUBTRACT } hs__rows_how;

/* Row i of c <- its old content (not read with HS__ROWS_SET) plus or minus the sum over l of a(i, l)
 * times row l of x, for i < rows and l < depth.
 *   length          elements of a row
 *   x_step, c_step  elements from one row to the next
 * Rows of x must be readable up to the next multiple of 64 bytes. Each element of c is the sum of
 * the same terms in the same order, wherever it lies in its row and among the rows. */
typedef void hs__rows_product(int64_t rows, int64_t depth, int64_t length, const hs__factors *a,
                              const void *x, int64_t x_step, void *c, int64_t c_step,
                              hs__rows_how how);

/* Returns the function with the widest vectors of this processor. */
hs__rows_product *hs__rows_product_for(int32_t dtype);

#endif
