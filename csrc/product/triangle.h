/* The triangle of C that a product computes, seen from a part of a box: its elements, and its
 * mirror image. */
#ifndef HS_PRODUCT_TRIANGLE_H
#define HS_PRODUCT_TRIANGLE_H

#include "core/numbers.h"
#include "run/matrix.h"

/* The elements (i, j) of a box with i - j >= diagonal (lower) or i - j <= diagonal (upper). All
 * zero: the whole box. */
typedef struct hs__triangle {
    int32_t which; /* HS_TRIANGLE_NONE, _LOWER or _UPPER */
    /* the image of (i, j) is (j + diagonal, i - diagonal), which may lie outside of the box */
    int32_t mirrored;
    int32_t conjugate; /* the image is conjugated; the diagonal is real */
    int64_t diagonal;
} hs__triangle;

typedef enum hs__meeting { HS__OUTSIDE, HS__CROSSES, HS__INSIDE } hs__meeting;

/* Return the triangle of a box at this place of C, and of the transpose of a box. */
hs__triangle hs__triangle_of(const hs_product *product, int64_t row, int64_t col);
hs__triangle hs__triangle_transposed(hs__triangle t);

static inline int hs__triangle_has(const hs__triangle *t, int64_t row, int64_t col)
{
    return t->which == HS_TRIANGLE_LOWER ? row - col >= t->diagonal : row - col <= t->diagonal;
}

/* Returns how the elements row .. row + rows - 1, col .. col + cols - 1 lie relative to the
 * triangle; there is at least one. */
static inline hs__meeting hs__triangle_meets(const hs__triangle *t, int64_t row, int64_t rows,
                                             int64_t col, int64_t cols)
{
    if (t->which == HS_TRIANGLE_NONE) return HS__INSIDE;
    const int a = hs__triangle_has(t, row, col + cols - 1);
    const int b = hs__triangle_has(t, row + rows - 1, col);
    return a && b ? HS__INSIDE : a || b ? HS__CROSSES : HS__OUTSIDE;
}

/* Finds the columns *from .. *to - 1 among 0 .. cols - 1 that have an element of these rows in the
 * triangle. There is at least one row; there may be no such column. */
static inline void hs__triangle_columns(const hs__triangle *t, int64_t row, int64_t rows,
                                        int64_t cols, int64_t *from, int64_t *to)
{
    *from = t->which == HS_TRIANGLE_UPPER ? hs__min(hs__max(row - t->diagonal, 0), cols) : 0;
    *to = t->which == HS_TRIANGLE_LOWER ? hs__max(hs__min(row + rows - t->diagonal, cols), *from)
                                        : cols;
}

/* Returns how many elements of the part lie in the triangle. O(rows) if the diagonal crosses the
 * part. */
double hs__triangle_elements(const hs__triangle *t, int64_t row, int64_t rows, int64_t col,
                             int64_t cols);

/* x <- beta x for the elements in the triangle, where x is the part of the box from (row, col)
 * on. */
void hs__triangle_scale(int32_t dtype, const hs__triangle *t, const hs__matrix *x, int64_t row,
                        int64_t col, const double beta[2]);

/* to <- to + from for the elements in the triangle of the same part. */
void hs__triangle_add(int32_t dtype, const hs__triangle *t, const hs__matrix *from,
                      const hs__matrix *to, int64_t row, int64_t col);

/* Finishes the elements row .. row + rows - 1, col .. col + cols - 1 of the box c, which are
 * computed. A real diagonal loses its imaginary parts, and the elements are mirrored if asked for,
 * by halving the part until the diagonal lies beside it. The image must be memory of C. */
void hs__triangle_finish(int32_t dtype, const hs__triangle *t, const hs__matrix *c, int64_t row,
                         int64_t rows, int64_t col, int64_t cols);

#endif
