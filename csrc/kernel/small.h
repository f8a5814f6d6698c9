/* What one core does with small matrices that are stored row by row: products without packing,
 * triangular systems, LU and Cholesky factors of a few columns; for each type and instruction set.
 * Strides are counted in elements, and the columns of a matrix lie side by side. */
#ifndef HS_KERNEL_SMALL_H
#define HS_KERNEL_SMALL_H

#include <stdint.h>

#include "kernel/ahead.h"

typedef enum hs__small_flags {
    HS__ADD = 1,       /* C <- C + A B */
    HS__SUBTRACT = 2,  /* C <- C - A B; with neither C <- A B */
    HS__CONJUGATE = 4, /* of A or the triangle, the conjugates */
    HS__UNIT = 8,      /* ones on the diagonal, which is not read */
} hs__small_flags;

/* C (m x n) <- A B, or C + A B, or C - A B. n is at least a vector, and whole vectors where C is
 * read. A has any strides. aside: k times HS__SMALL_ASIDE bytes, aligned to 64, or NULL. ahead:
 * what to fetch meanwhile, besides C itself where k is long, or NULL; by tiles of at most
 * HS__SMALL_ROWS and just HS__SMALL_VECTORS vectors, before each HS__FETCH_STEPS of k. */
enum { HS__SMALL_ASIDE = 192, HS__SMALL_ROWS = 8, HS__SMALL_VECTORS = 3 };
typedef void hs__small_multiply(int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row,
                                int64_t a_col, const void *b, int64_t b_row, void *c, int64_t c_row,
                                int32_t flags, void *aside, hs__ahead *ahead);

/* X (h x n) <- T^-1 X for a lower triangle T with any strides, whose diagonal has no zero; n is
 * whole vectors. */
typedef void hs__small_substitute(int64_t h, int64_t n, const void *t, int64_t t_row, int64_t t_col,
                                  void *x, int64_t x_row, int32_t flags);

/* LU with partial pivoting of the columns first .. first + width - 1, at most two vectors, from row
 * `first` on, of a matrix of `rows` rows of `cols` elements, whole vectors; `first` is a multiple
 * of a vector. Rows are exchanged as a whole, row i with pivots[i]. Returns the first column in
 * which there was no pivot but zero, or -1. */
typedef int64_t hs__small_factor(int64_t rows, int64_t cols, int64_t first, int64_t width, void *x,
                                 int64_t x_row, int32_t *pivots);

/* U^H U = X of h rows and columns, at most two vectors, in place of the upper triangle; what lies
 * below it is overwritten. Returns the first row without a positive pivot, or -1. */
typedef int64_t hs__small_cholesky(int64_t h, void *x, int64_t x_row);

typedef struct hs__small {
    hs__small_multiply *multiply;
    hs__small_substitute *substitute;
    hs__small_factor *factor;
    hs__small_cholesky *cholesky;
    int32_t across; /* elements of a vector */
} hs__small;

/* Those with the widest vectors; and with the widest of at most `across` elements. */
hs__small hs__small_for(int32_t dtype);
hs__small hs__small_within(int32_t dtype, int64_t across);

#endif
