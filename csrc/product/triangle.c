/* Elements of the triangle of C that a product computes, and its mirror image
 * (product/triangle.h). */
#include "product/triangle.h"

#include "kernel/pack.h"

hs__triangle hs__triangle_of(const hs_product *p, int64_t row, int64_t col)
{
    if (p->triangle == HS_TRIANGLE_NONE) return (hs__triangle){0};
    return (hs__triangle){.which = p->triangle == HS_TRIANGLE_UPPER ? HS_TRIANGLE_UPPER
                                                                    : HS_TRIANGLE_LOWER,
                          .mirrored = p->triangle == HS_TRIANGLE_MIRRORED,
                          .conjugate = p->conjugate && p->dtype >> 1,
                          .diagonal = col - row};
}

hs__triangle hs__triangle_transposed(hs__triangle t)
{
    if (t.which != HS_TRIANGLE_NONE)
        t.which = t.which == HS_TRIANGLE_LOWER ? HS_TRIANGLE_UPPER : HS_TRIANGLE_LOWER;
    t.diagonal = -t.diagonal;
    return t;
}

double hs__triangle_elements(const hs__triangle *t, int64_t row, int64_t rows, int64_t col,
                             int64_t cols)
{
    if (rows == 0 || cols == 0) return 0.0;
    const hs__meeting meets = hs__triangle_meets(t, row, rows, col, cols);
    if (meets != HS__CROSSES) return meets == HS__INSIDE ? (double)rows * (double)cols : 0.0;
    double count = 0.0;
    for (int64_t i = row, from, to; i < row + rows; i++) {
        hs__triangle_columns(t, i, 1, col + cols, &from, &to);
        count += (double)hs__max(to - hs__max(from, col), 0);
    }
    return count;
}

/* Changes a part of a triangle: x <- beta x, or x <- x + other. */
static void change_part(int32_t dtype, const hs__matrix *x, const double *beta,
                        const hs__matrix *other)
{
    if (other) hs__add(dtype, other, x);
    else hs__scale(dtype, x, beta);
}

/* Changes the elements that are in the triangle, of the part from (row, col) on: line by line if
 * the diagonal crosses the part. */
static void change_triangle(int32_t dtype, const hs__triangle *t, const hs__matrix *x, int64_t row,
                            int64_t col, const double *beta, const hs__matrix *other)
{
    if (x->rows == 0 || x->cols == 0) return;
    if (hs__by_columns(x)) {
        const hs__triangle turned = hs__triangle_transposed(*t);
        const hs__matrix lines = hs__transposed(*x);
        const hs__matrix more = other ? hs__transposed(*other) : lines;
        change_triangle(dtype, &turned, &lines, col, row, beta, other ? &more : NULL);
        return;
    }
    const hs__meeting meets = hs__triangle_meets(t, row, x->rows, col, x->cols);
    if (meets == HS__INSIDE) change_part(dtype, x, beta, other);
    for (int64_t i = 0, from, to; meets == HS__CROSSES && i < x->rows; i++) {
        hs__triangle_columns(t, row + i, 1, col + x->cols, &from, &to);
        from = hs__max(from, col);
        if (from >= to) continue;
        const hs__matrix line = hs__part(x, i, from - col, 1, to - from);
        const hs__matrix more =
            other ? hs__part(other, i, from - col, 1, to - from) : (hs__matrix){0};
        change_part(dtype, &line, beta, other ? &more : NULL);
    }
}

void hs__triangle_scale(int32_t dtype, const hs__triangle *t, const hs__matrix *x, int64_t row,
                        int64_t col, const double beta[2])
{
    change_triangle(dtype, t, x, row, col, beta, NULL);
}

void hs__triangle_add(int32_t dtype, const hs__triangle *t, const hs__matrix *from,
                      const hs__matrix *to, int64_t row, int64_t col)
{
    change_triangle(dtype, t, to, row, col, NULL, from);
}

/* ---- the image ------------------------------------------------------------------------------- */

/* Copies element (i, j) of `from`, for rows i and columns j, to element (j, i) of `to`. Both have
 * the strides of C. The inner loop runs along the lines that are written. */
#define DEFINE_MIRROR(NAME, TYPE, CONJUGATE)                                                     \
    static inline __attribute__((always_inline)) void NAME##_lines(                              \
        int64_t rows, int64_t cols, const TYPE *from, TYPE *to, int64_t across, int64_t along)   \
    {                                                                                            \
        for (int64_t i = 0; i < rows; i++)                                                       \
            for (int64_t j = 0; j < cols; j++) {                                                 \
                TYPE z = from[i * along + j * across];                                           \
                CONJUGATE(z);                                                                    \
                to[i * across + j * along] = z;                                                  \
            }                                                                                    \
    }                                                                                            \
    static void NAME(int64_t rows, int64_t cols, const TYPE *from, TYPE *to, int64_t row_stride, \
                     int64_t col_stride)                                                         \
    {                                                                                            \
        if (row_stride == 1) NAME##_lines(rows, cols, from, to, col_stride, 1);                  \
        else if (col_stride == 1) NAME##_lines(cols, rows, from, to, row_stride, 1);             \
        else NAME##_lines(rows, cols, from, to, col_stride, row_stride);                         \
    }

typedef struct {
    float re, im;
} complex_float;
typedef struct {
    double re, im;
} complex_double;
#define KEEP_ELEMENT(z) (void)0
#define CONJUGATE_ELEMENT(z) ((z).im = -(z).im)
DEFINE_MIRROR(mirror_float, float, KEEP_ELEMENT)
DEFINE_MIRROR(mirror_double, double, KEEP_ELEMENT)
DEFINE_MIRROR(mirror_complex_float, complex_float, KEEP_ELEMENT)
DEFINE_MIRROR(mirror_complex_double, complex_double, KEEP_ELEMENT)
DEFINE_MIRROR(mirror_conjugate_float, complex_float, CONJUGATE_ELEMENT)
DEFINE_MIRROR(mirror_conjugate_double, complex_double, CONJUGATE_ELEMENT)

/* Mirrors a part of the triangle that has no elements of the diagonal. */
static void mirror_part(int32_t dtype, const hs__triangle *t, const hs__matrix *c, int64_t row,
                        int64_t rows, int64_t col, int64_t cols)
{
    const void *from = hs__at(c, row, col);
    void *to = hs__at(c, col + t->diagonal, row - t->diagonal);
    const int64_t rs = c->row_stride;
    const int64_t cs = c->col_stride;
    if ((rs == 1 || cs == 1) && !(dtype >> 1)) {
        if (rs == 1) hs__transpose_reals(dtype & 1, rows, cols, from, cs, to, cs);
        else hs__transpose_reals(dtype & 1, cols, rows, from, rs, to, rs);
        return;
    }
    switch (dtype) {
    case HS_FLOAT32: mirror_float(rows, cols, from, to, rs, cs); break;
    case HS_FLOAT64: mirror_double(rows, cols, from, to, rs, cs); break;
    case HS_COMPLEX64:
        (t->conjugate ? mirror_conjugate_float : mirror_complex_float)(rows, cols, from, to, rs,
                                                                       cs);
        break;
    default:
        (t->conjugate ? mirror_conjugate_double : mirror_complex_double)(rows, cols, from, to, rs,
                                                                         cs);
    }
}

static void make_real(int32_t dtype, void *z)
{
    if (dtype & 1) ((double *)z)[1] = 0.0;
    else ((float *)z)[1] = 0.0f;
}

/* Finishes a small part that the diagonal crosses. */
static void finish_elements(int32_t dtype, const hs__triangle *t, const hs__matrix *c, int64_t row,
                            int64_t rows, int64_t col, int64_t cols)
{
    for (int64_t i = row; i < row + rows; i++)
        for (int64_t j = col; j < col + cols; j++) {
            if (i - j == t->diagonal && t->conjugate) make_real(dtype, hs__at(c, i, j));
            if (i - j != t->diagonal && t->mirrored && hs__triangle_has(t, i, j))
                mirror_part(dtype, t, c, i, 1, j, 1);
        }
}

void hs__triangle_finish(int32_t dtype, const hs__triangle *t, const hs__matrix *c, int64_t row,
                         int64_t rows, int64_t col, int64_t cols)
{
    enum { FEW = 8 };
    if (t->which == HS_TRIANGLE_NONE || !(t->mirrored || t->conjugate) || rows == 0 || cols == 0)
        return;
    /* Distances from the diagonal. */
    const int64_t least = row - (col + cols - 1) - t->diagonal;
    const int64_t most = row + rows - 1 - col - t->diagonal;
    if (t->which == HS_TRIANGLE_LOWER ? most < 0 : least > 0) return;
    if (least > 0 || most < 0) {
        if (t->mirrored) mirror_part(dtype, t, c, row, rows, col, cols);
    } else if (rows <= FEW && cols <= FEW) {
        finish_elements(dtype, t, c, row, rows, col, cols);
    } else if (rows >= cols) {
        const int64_t half = hs__round_up(rows / 2, FEW);
        hs__triangle_finish(dtype, t, c, row, half, col, cols);
        hs__triangle_finish(dtype, t, c, row + half, rows - half, col, cols);
    } else {
        const int64_t half = hs__round_up(cols / 2, FEW);
        hs__triangle_finish(dtype, t, c, row, rows, col, half);
        hs__triangle_finish(dtype, t, c, row, rows, col + half, cols - half);
    }
}
