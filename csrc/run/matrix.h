/* Matrices with strides: the form in which all runs cut, copy and multiply their operands. */
#ifndef HS_RUN_MATRIX_H
#define HS_RUN_MATRIX_H

#include "core/element.h"
#include "run/member.h"

/* A matrix. Element (i, j) is i * row_stride + j * col_stride elements behind the first. Operands
 * that are only read have this type, too. */
typedef struct hs__matrix {
    char *data;
    ptrdiff_t element; /* bytes of one */
    int64_t rows, cols, row_stride, col_stride;
} hs__matrix;

static inline char *hs__at(const hs__matrix *x, int64_t row, int64_t col)
{
    return x->data + x->element * (row * x->row_stride + col * x->col_stride);
}

static inline hs__matrix hs__part(const hs__matrix *x, int64_t row, int64_t col, int64_t rows,
                                  int64_t cols)
{
    return (hs__matrix){hs__at(x, row, col), x->element, rows, cols, x->row_stride, x->col_stride};
}

static inline hs__matrix hs__transposed(hs__matrix x)
{
    return (hs__matrix){x.data, x.element, x.cols, x.rows, x.col_stride, x.row_stride};
}

/* Convert a product to its three operands, and three operands to a product, of which alpha and beta
 * are still to be set. */
void hs__matrices_of(const hs_product *product, hs__matrix *a, hs__matrix *b, hs__matrix *c);
hs_product hs__product_of(int32_t dtype, const hs__matrix *a, const hs__matrix *b,
                          const hs__matrix *c);

/* Whether the columns, rather than the rows, are the lines in memory: the ones with the smaller
 * stride between elements. */
int hs__by_columns(const hs__matrix *x);

/* Copies `from` to `to`, which has the same size, along contiguous lines of both as far as
 * possible. With `self` it attends to the run meanwhile and stops after a cancel; self may be
 * NULL. */
void hs__copy(hs__member *self, hs__matrix to, hs__matrix from);

/* Exchanges `count` elements at x with those at y. In both, consecutive elements are `step` bytes
 * apart. */
void hs__swap_elements(ptrdiff_t element, int64_t count, void *x, void *y, ptrdiff_t step);

/* Factors are pairs (real, imaginary), rounded to the type before use. A factor with a zero
 * imaginary part multiplies as a real number: 0 times infinity would give NaN. */

/* Whether a factor, once rounded, is the real number x. */
int hs__factor_is(int32_t dtype, const double factor[2], double x);

/* Whether alpha multiplies B before the product, rather than the product A B. */
static inline int hs__scales_b(const hs_product *p)
{
    return p->alpha_first && !hs__factor_is(p->dtype, p->alpha, 1.0);
}

/* x <- factor x. With factor 0 the old content of x is not read. */
void hs__scale(int32_t dtype, const hs__matrix *x, const double factor[2]);

/* to <- to + from, for matrices of the same size. */
void hs__add(int32_t dtype, const hs__matrix *from, const hs__matrix *to);

/* to <- alpha from + beta to, for matrices of the same size. With beta 0 the old content of `to` is
 * not read. */
void hs__combine(int32_t dtype, const hs__matrix *from, const double alpha[2], const double beta[2],
                 const hs__matrix *to);

#endif
