/* Matrices with strides: what the runs cut, copy and multiply. */
#ifndef HS_RUN_MATRIX_H
#define HS_RUN_MATRIX_H

#include "core/element.h"
#include "run/member.h"

/* Element (i, j) is i * row_stride + j * col_stride elements behind the first. Operands that are
 * only read are of this type, too. */
typedef struct hs__matrix {
    char *data;
    ptrdiff_t element; /* bytes */
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

/* The operands of a product, and a product of matrices; alpha and beta remain to be set. */
void hs__matrices_of(const hs_product *product, hs__matrix *a, hs__matrix *b, hs__matrix *c);
hs_product hs__product_of(int32_t dtype, const hs__matrix *a, const hs__matrix *b,
                          const hs__matrix *c);

/* Whether its columns rather than its rows are lines in memory. */
int hs__by_columns(const hs__matrix *x);

/* to <- from, which has its size; along the lines of both as far as that goes. A `self` attends to
 * its run meanwhile, and ends with it. */
void hs__copy(hs__member *self, hs__matrix to, hs__matrix from);

/* Exchanges count elements from x and from y on, each `step` bytes behind the last. */
void hs__swap_elements(ptrdiff_t element, int64_t count, void *x, void *y, ptrdiff_t step);

/* Factors are (real, imaginary), rounded to the type before use. Where one is real nothing is
 * multiplied by its imaginary zero, which would make NaN of infinities. */

/* Whether a factor is the real x, once rounded. */
int hs__factor_is(int32_t dtype, const double factor[2], double x);

/* Whether a product multiplies B by alpha, rather than A B. */
static inline int hs__scales_b(const hs_product *p)
{
    return p->alpha_first && !hs__factor_is(p->dtype, p->alpha, 1.0);
}

/* x <- factor x; with 0 the old content does not matter. */
void hs__scale(int32_t dtype, const hs__matrix *x, const double factor[2]);

/* to <- to + from, of one size. */
void hs__add(int32_t dtype, const hs__matrix *from, const hs__matrix *to);

/* to <- alpha from + beta to, of one size; with beta 0 the old content does not matter. */
void hs__combine(int32_t dtype, const hs__matrix *from, const double alpha[2], const double beta[2],
                 const hs__matrix *to);

#endif
