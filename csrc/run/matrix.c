/* Copies, exchanges, scales and adds matrices with strides (run/matrix.h). */
#include "run/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "kernel/pack.h"

void hs__matrices_of(const hs_product *p, hs__matrix *a, hs__matrix *b, hs__matrix *c)
{
    const ptrdiff_t e = hs__element_bytes(p->dtype);
    *a = (hs__matrix){(char *)p->a, e, p->m, p->k, p->a_row_stride, p->a_col_stride};
    *b = (hs__matrix){(char *)p->b, e, p->k, p->n, p->b_row_stride, p->b_col_stride};
    *c = (hs__matrix){p->c, e, p->m, p->n, p->c_row_stride, p->c_col_stride};
}

hs_product hs__product_of(int32_t dtype, const hs__matrix *a, const hs__matrix *b,
                          const hs__matrix *c)
{
    return (hs_product){.dtype = dtype,
                        .m = c->rows,
                        .n = c->cols,
                        .k = a->cols,
                        .a = a->data,
                        .a_row_stride = a->row_stride,
                        .a_col_stride = a->col_stride,
                        .b = b->data,
                        .b_row_stride = b->row_stride,
                        .b_col_stride = b->col_stride,
                        .c = c->data,
                        .c_row_stride = c->row_stride,
                        .c_col_stride = c->col_stride};
}

int hs__by_columns(const hs__matrix *x) { return llabs(x->row_stride) < llabs(x->col_stride); }

static void copy_line(ptrdiff_t element, int64_t count, char *to, int64_t to_step, const char *from,
                      int64_t from_step)
{
    if (to_step == 1 && from_step == 1) memcpy(to, from, (size_t)(count * element));
    else if (element == 4)
        for (int64_t i = 0; i < count; i++)
            memcpy(to + 4 * i * to_step, from + 4 * i * from_step, 4);
    else if (element == 8)
        for (int64_t i = 0; i < count; i++)
            memcpy(to + 8 * i * to_step, from + 8 * i * from_step, 8);
    else
        for (int64_t i = 0; i < count; i++)
            memcpy(to + 16 * i * to_step, from + 16 * i * from_step, 16);
}

/* Whether rows of `to` and columns of `from` are contiguous, and elements can be copied as
 * reals. */
static int is_transposition(const hs__matrix *to, const hs__matrix *from)
{
    return to->col_stride == 1 && from->row_stride == 1 && to->element <= 8 &&
           ((uintptr_t)to->data | (uintptr_t)from->data) % (size_t)to->element == 0;
}

/* Copies such a matrix in blocks of FEW columns and MANY rows. */
static void transpose_blocks(hs__member *self, const hs__matrix *to, const hs__matrix *from)
{
    enum { FEW = 64, MANY = 2048 };
    for (int64_t col = 0; col < to->cols; col += FEW)
        for (int64_t row = 0; row < to->rows; row += MANY) {
            if (self && to->rows > FEW && hs__attend(self)) return;
            hs__transpose_reals(to->element == 8, hs__min(MANY, to->rows - row),
                                hs__min(FEW, to->cols - col), hs__at(from, row, col),
                                from->col_stride, hs__at(to, row, col), to->row_stride);
        }
}

void hs__copy(hs__member *self, hs__matrix to, hs__matrix from)
{
    /* FEW: elements of a line at a time where the lines of the two matrices cross. PAUSE: bytes
     * between two looks for a cancel. */
    enum { FEW = 32, PAUSE = 1 << 20 };
    if (hs__by_columns(&to)) {
        to = hs__transposed(to);
        from = hs__transposed(from);
    }
    if (is_transposition(&to, &from)) {
        transpose_blocks(self, &to, &from);
        return;
    }
    const int64_t most = hs__by_columns(&from) ? FEW : to.cols;
    for (int64_t col = 0, copied = 0; col < to.cols; col += most) {
        const int64_t cols = hs__min(most, to.cols - col);
        char *to_line = hs__at(&to, 0, col);
        const char *from_line = hs__at(&from, 0, col);
        for (int64_t row = 0; row < to.rows; row++, to_line += to.element * to.row_stride,
                     from_line += from.element * from.row_stride) {
            copy_line(to.element, cols, to_line, to.col_stride, from_line, from.col_stride);
            if (!self || (copied += cols * to.element) < PAUSE) continue;
            copied = 0;
            if (hs__attend(self)) return;
        }
    }
}

static inline __attribute__((always_inline)) void swap_each(size_t element, int64_t count, char *x,
                                                            char *y, ptrdiff_t step)
{
    char kept[16];
    for (int64_t i = 0; i < count; i++, x += step, y += step) {
        memcpy(kept, x, element);
        memcpy(x, y, element);
        memcpy(y, kept, element);
    }
}

void hs__swap_elements(ptrdiff_t element, int64_t count, void *x, void *y, ptrdiff_t step)
{
    if (element == 4) swap_each(4, count, x, y, step);
    else if (element == 8) swap_each(8, count, x, y, step);
    else swap_each(16, count, x, y, step);
}

int hs__factor_is(int32_t dtype, const double factor[2], double x)
{
    const double re = dtype & 1 ? factor[0] : (float)factor[0];
    const double im = dtype & 1 ? factor[1] : (float)factor[1];
    return re == x && (im == 0.0 || !(dtype >> 1));
}

/* Multiplies lines of a matrix by a factor; elements are reals, or complex numbers of two reals. */
#define DEFINE_SCALE(REAL)                                                                 \
    static void scale_##REAL(const hs__matrix *lines, int complex, const double factor[2]) \
    {                                                                                      \
        const REAL re = (REAL)factor[0], im = complex ? (REAL)factor[1] : 0;               \
        const int64_t count = lines->cols, step = (1 + complex) * lines->col_stride;       \
        for (int64_t i = 0; i < lines->rows; i++) {                                        \
            REAL *x = (REAL *)(void *)hs__at(lines, i, 0);                                 \
            if (lines->col_stride == 1 && im == 0) {                                       \
                for (int64_t j = 0; j < count * step; j++) x[j] *= re;                     \
                continue;                                                                  \
            }                                                                              \
            for (int64_t j = 0; j < count; j++, x += step) {                               \
                const REAL u = x[0], v = complex ? x[1] : 0;                               \
                x[0] = im != 0 ? re * u - im * v : re * u;                                 \
                if (complex) x[1] = im != 0 ? re * v + im * u : re * v;                    \
            }                                                                              \
        }                                                                                  \
    }
DEFINE_SCALE(float)
DEFINE_SCALE(double)

static void clear_lines(const hs__matrix *lines)
{
    for (int64_t i = 0; i < lines->rows; i++) {
        if (lines->col_stride == 1)
            memset(hs__at(lines, i, 0), 0, (size_t)(lines->cols * lines->element));
        else
            for (int64_t j = 0; j < lines->cols; j++)
                memset(hs__at(lines, i, j), 0, (size_t)lines->element);
    }
}

void hs__scale(int32_t dtype, const hs__matrix *x, const double factor[2])
{
    if (hs__factor_is(dtype, factor, 1.0)) return;
    hs__matrix lines = hs__by_columns(x) ? hs__transposed(*x) : *x;
    if (lines.col_stride == 1 && lines.row_stride == lines.cols) {
        lines.cols *= lines.rows;
        lines.rows = 1;
    }
    if (hs__factor_is(dtype, factor, 0.0)) clear_lines(&lines);
    else if (dtype & 1) scale_double(&lines, dtype >> 1, factor);
    else scale_float(&lines, dtype >> 1, factor);
}

/* y[i] += x[i] */
#define DEFINE_ADD(REAL)                                                                     \
    static void add_##REAL(int64_t count, int64_t x_stride, const REAL *x, int64_t y_stride, \
                           REAL *y)                                                          \
    {                                                                                        \
        if (x_stride == 1 && y_stride == 1)                                                  \
            for (int64_t i = 0; i < count; i++) y[i] += x[i];                                \
        else                                                                                 \
            for (int64_t i = 0; i < count; i++) y[i * y_stride] += x[i * x_stride];          \
    }
DEFINE_ADD(float)
DEFINE_ADD(double)

/* Adds real and imaginary parts as one array where both matrices have contiguous elements, else
 * element by element. */
void hs__add(int32_t dtype, const hs__matrix *from, const hs__matrix *to)
{
    const int complex = dtype >> 1;
    const int turned = hs__by_columns(from);
    const hs__matrix x = turned ? hs__transposed(*from) : *from;
    const hs__matrix y = turned ? hs__transposed(*to) : *to;
    const int64_t together = !complex || (x.col_stride == 1 && y.col_stride == 1) ? x.cols : 1;
    const int64_t count = together << complex;
    const int64_t x_stride = complex ? 1 : x.col_stride;
    const int64_t y_stride = complex ? 1 : y.col_stride;
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.cols; j += together) {
            const void *more = hs__at(&x, i, j);
            void *sum = hs__at(&y, i, j);
            if (dtype & 1) add_double(count, x_stride, more, y_stride, sum);
            else add_float(count, x_stride, more, y_stride, sum);
        }
}

#define DEFINE_COMBINE(REAL)                                                               \
    static void combine_##REAL(const hs__matrix *from, int complex, const double alpha[2], \
                               const double beta[2], const hs__matrix *to)                 \
    {                                                                                      \
        const REAL re = (REAL)alpha[0], im = (REAL)alpha[1], beta_re = (REAL)beta[0],      \
                   beta_im = (REAL)beta[1];                                                \
        const int reads = beta_re != 0 || (complex && beta_im != 0);                       \
        for (int64_t i = 0; i < to->rows; i++)                                             \
            for (int64_t j = 0; j < to->cols; j++) {                                       \
                const REAL *x = (const REAL *)(const void *)hs__at(from, i, j);            \
                REAL *z = (REAL *)(void *)hs__at(to, i, j);                                \
                if (!complex) {                                                            \
                    z[0] = reads ? re * x[0] + beta_re * z[0] : re * x[0];                 \
                    continue;                                                              \
                }                                                                          \
                REAL u = im != 0 ? re * x[0] - im * x[1] : re * x[0],                      \
                     v = im != 0 ? re * x[1] + im * x[0] : re * x[1];                      \
                if (reads) {                                                               \
                    u += beta_im != 0 ? beta_re * z[0] - beta_im * z[1] : beta_re * z[0];  \
                    v += beta_im != 0 ? beta_re * z[1] + beta_im * z[0] : beta_re * z[1];  \
                }                                                                          \
                z[0] = u, z[1] = v;                                                        \
            }                                                                              \
    }
DEFINE_COMBINE(float)
DEFINE_COMBINE(double)

void hs__combine(int32_t dtype, const hs__matrix *from, const double alpha[2], const double beta[2],
                 const hs__matrix *to)
{
    (dtype & 1 ? combine_double : combine_float)(from, dtype >> 1, alpha, beta, to);
}
