/* The loops of factorisations and triangular systems other than matrix products, for each type and
 * instruction set. */
#ifndef HS_KERNEL_FACTOR_VECTOR_H
#define HS_KERNEL_FACTOR_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* Columns of a panel that the vector loops factor alone. */
enum { HS__BASE_COLUMNS = 16 };

/* Strips (strips.h) from the one with the first pivot on. Element (i, l) of a strip is at strip + l
 * * step + i * parts, in reals; for complex types its product with i follows `reals` further on. */
typedef struct hs__strips {
    void *data;
    int64_t count, size, step; /* size: number of reals from one strip to the next */
    int32_t reals;             /* reals in one column of a strip */
} hs__strips;

/* The largest element of a column, the first of equals. The size is |x|, for complex x |re| + |im|
 * as in LAPACK. row: counted in the strips. */
typedef struct hs__lu_largest {
    double size;
    int64_t row;
} hs__lu_largest;

/* Processes column j of up to HS__BASE_COLUMNS, from row `first` (of the first strip) on: scales
 * column j - 1 below the diagonal, subtracts the contributions of columns 0 .. j - 1, and finds the
 * largest element from the diagonal on. With j == width (ends) it only scales. scale: the inverse
 * of the last pivot as a power of two and (re, im), so that it exists for a tiny pivot, too. */
typedef void hs__lu_column(const hs__strips *strips, int32_t first, int32_t j, int ends,
                           const double scale[3], hs__lu_largest *largest);

/* Solves L X = -C for the unit lower triangle L of h rows at l (in a strip) and a tile of h x cols
 * of C, strides in elements: C <- X, and -X is packed with `tile` reals across. work has h * parts
 * * lanes reals. */
typedef void hs__lu_solve(int32_t h, const void *l, int64_t step, int32_t cols, void *c,
                          int64_t row_stride, int64_t col_stride, void *packed, int32_t tile,
                          int32_t lanes, void *work);

/* Solves L X = C for h rows of a slice, tile reals each, at x, in place. minus_l: the packed lower
 * triangle, rows l_tile reals apart; for complex types the imaginary part of each column follows
 * its real part. With `expanded`, each row of X and its product with i are also written there, and
 * read from there. scales [h]: (power, re, im) of the inverse of each diagonal element; NULL:
 * ones. */
typedef void hs__lu_solve_rows(int32_t h, const void *minus_l, int32_t l_tile, void *x,
                               int32_t tile, void *expanded, const double (*scales)[3]);

/* Solves X L^H = C for `width` columns of strips, at most HS__BASE_COLUMNS, in place. triangle: L
 * by rows, HS__BASE_COLUMNS elements apart; inverse [2 width]: the inverses of its real diagonal,
 * each as two factors. */
typedef void hs__strip_solve(const hs__strips *strips, int32_t width, const void *triangle,
                             const void *inverse);

/* Exchanges row first + i of a slice, tile reals each, with row pivots[first + i]. */
typedef void hs__lu_swap_rows(void *slice, int32_t tile, int64_t first, int64_t count,
                              const int32_t *pivots);

typedef struct hs__factor_vector {
    hs__lu_column *column;
    hs__lu_solve *solve;
    hs__lu_solve_rows *solve_rows;
    hs__strip_solve *strip_solve;
    hs__lu_swap_rows *swap_rows;
} hs__factor_vector;

/* Returns the functions with the widest vectors that divide a column of a strip and a row of a
 * slice, both given in reals. */
hs__factor_vector hs__factor_vector_for(int32_t dtype, int32_t strip, int32_t slice,
                                        int32_t *vector_bytes);

#endif
