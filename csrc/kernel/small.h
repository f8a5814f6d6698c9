/* Loops of one core over small row-major matrices: products without packing, triangular systems, LU
 * and Cholesky factors of a few columns; for each type and instruction set. Strides are counted in
 * elements, and matrices have unit column stride. */
#ifndef HS_KERNEL_SMALL_H
#define HS_KERNEL_SMALL_H

#include <stdint.h>

#include "kernel/ahead.h"
#include "kernel/blocks.h"

typedef enum hs__small_flags {
    HS__ADD = 1,       /* C <- C + A B */
    HS__SUBTRACT = 2,  /* C <- C - A B; with neither C <- A B */
    HS__CONJUGATE = 4, /* conjugates A or the triangle */
    HS__UNIT = 8,      /* ones on the diagonal, which is not read */
} hs__small_flags;

/* C (m x n) <- A B, or C + A B, or C - A B. A has any strides.
 *   n        at least a vector, and a multiple of it if C is read
 *   scratch  k times HS__SMALL_SCRATCH bytes of workspace, aligned to 64, or NULL
 *   ahead    what to prefetch meanwhile, in addition to C itself if k is large; or NULL. Tiles of
 *            at most HS__SMALL_ROWS rows and exactly HS__SMALL_VECTORS vectors prefetch, before
 *            each HS__FETCH_STEPS steps of k */
enum {
    HS__SMALL_ROWS = HS__AVX512_ROWS,
    HS__SMALL_VECTORS = HS__AVX512_VECTORS,
    HS__SMALL_SCRATCH = HS__AVX512_VECTORS * HS__AVX512_BYTES
};
typedef void hs__small_multiply(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row,
                                int64_t a_col, const void *b, int64_t b_row, void *c, int64_t c_row,
                                int32_t flags, void *scratch, hs__ahead *ahead);

/* X (h x n) <- T^-1 X for a lower triangle T with any strides and no zero on its diagonal; n is a
 * multiple of a vector. */
typedef void hs__small_substitute(int64_t h, int64_t n, const void *t, int64_t t_row, int64_t t_col,
                                  void *x, int64_t x_row, int32_t flags);

/* LU with partial pivoting of the columns first .. first + width - 1, at most two vectors, from row
 * `first` on, of a matrix with `rows` rows of `cols` elements, a multiple of a vector; `first` is a
 * multiple of a vector. Whole rows are exchanged, row i with pivots[i]. Returns the first column in
 * which all pivots were zero, or -1. */
typedef int64_t hs__small_factor(int64_t rows, int64_t cols, int64_t first, int64_t width, void *x,
                                 int64_t x_row, int32_t *pivots);

/* U^H U = X for h rows and columns, at most two vectors, in place of the upper triangle; elements
 * below it are overwritten. Returns the first row without a positive pivot, or -1. */
typedef int64_t hs__small_cholesky(int64_t h, void *x, int64_t x_row);

typedef struct hs__small {
    hs__small_multiply *multiply;
    hs__small_substitute *substitute;
    hs__small_factor *factor;
    hs__small_cholesky *cholesky;
    int32_t across; /* number of elements of a vector */
} hs__small;

/* Returns the functions with the widest vectors; the next function those with the widest vectors of
 * at most `across` elements. */
hs__small hs__small_for(int32_t dtype);
hs__small hs__small_within(int32_t dtype, int64_t across);

#endif
