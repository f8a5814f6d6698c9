/* The triangle of C that a product computes, as a part of a box: which elements belong to it, and
 * its mirror image. */
#ifndef HS_PRODUCT_TRIANGLE_H
#define HS_PRODUCT_TRIANGLE_H

#include "core/numbers.h"
#include "run/matrix.h"

/* Of the elements (i, j) of a box those with i - j >= diagonal, the lower ones, or <= diagonal. All
 * zero: the whole box. */
typedef struct hs__triangle {
    int32_t which; /* HS_TRIANGLE_NONE, _LOWER or _UPPER */
    /* the image of (i, j) is (j + diagonal, i - diagonal), maybe outside of the box */
    int32_t mirrored;
    int32_t conjugate; /* the image is so; the diagonal is real */
    int64_t diagonal;
} hs__triangle;

typedef enum hs__meeting { HS__OUTSIDE, HS__CROSSES, HS__INSIDE } hs__meeting;

/* Of a box at this place of C; of the transpose of a box. */
hs__triangle hs__triangle_of(const hs_product *product, int64_t row, int64_t col);
hs__triangle hs__triangle_transposed(hs__triangle t);

static inline int hs__triangle_has(const hs__triangle *t, int64_t row, int64_t col)
{
    return t->which == HS_TRIANGLE_LOWER ? row - col >= t->diagonal : row - col <= t->diagonal;
}

/* How the elements row .. row + rows - 1, col .. col + cols - 1, at least one, lie in it. */
static inline hs__meeting hs__triangle_meets(const hs__triangle *t, int64_t row, int64_t rows,
                                             int64_t col, int64_t cols)
{
    if (t->which == HS_TRIANGLE_NONE) return HS__INSIDE;
    const int a = hs__triangle_has(t, row, col + cols - 1);
    const int b = hs__triangle_has(t, row + rows - 1, col);
    return a && b ? HS__INSIDE : a || b ? HS__CROSSES : HS__OUTSIDE;
}

/* The columns among 0 .. cols - 1 with an element of these rows, at least one, in the triangle:
 * *from .. *to - 1, maybe none. */
static inline void hs__triangle_columns(const hs__triangle *t, int64_t row, int64_t rows,
                                        int64_t cols, int64_t *from, int64_t *to)
{
    *from = t->which == HS_TRIANGLE_UPPER ? hs__min(hs__max(row - t->diagonal, 0), cols) : 0;
    *to = t->which == HS_TRIANGLE_LOWER ? hs__max(hs__min(row + rows - t->diagonal, cols), *from)
                                        : cols;
}

/* How many elements of the part lie in the triangle. O(rows) where the diagonal crosses it. */
double hs__triangle_elements(const hs__triangle *t, int64_t row, int64_t rows, int64_t col,
                             int64_t cols);

/* x <- beta x in the triangle, x being the part of the box from (row, col) on. */
void hs__triangle_scale(int32_t dtype, const hs__triangle *t, const hs__matrix *x, int64_t row,
                        int64_t col, const double beta[2]);

/* The same part of `to` plus that of `from`. */
void hs__triangle_add(int32_t dtype, const hs__triangle *t, const hs__matrix *from,
                      const hs__matrix *to, int64_t row, int64_t col);

/* The elements row .. row + rows - 1, col .. col + cols - 1 of the box c are done: those of a real
 * diagonal lose their imaginary parts, and all are mirrored, by halves until the diagonal is beside
 * a part. The image must be memory of C. */
void hs__triangle_finish(int32_t dtype, const hs__triangle *t, const hs__matrix *c, int64_t row,
                         int64_t rows, int64_t col, int64_t cols);

#endif
