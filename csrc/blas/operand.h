/* Matrices as the BLAS has them: column by column. */
#ifndef HS_BLAS_OPERAND_H
#define HS_BLAS_OPERAND_H

#include <stddef.h>
#include <stdint.h>

#include "hetsched.h"

/* Element (i, j) is i * row + j * col elements behind the first; conjugated if so said. */
typedef struct hs__operand {
    char *data;
    int64_t rows, cols, row, col;
    int conjugate;
} hs__operand;

static inline size_t hs__element(int32_t dtype) { return (size_t)(dtype & 1 ? 8 : 4) << (dtype >> 1); }

static inline char *hs__element_at(int32_t dtype, const hs__operand *x, int64_t i, int64_t j)
{
    return x->data + (ptrdiff_t)hs__element(dtype) * (i * x->row + j * x->col);
}

static inline hs__operand hs__piece(int32_t dtype, const hs__operand *x, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    return (hs__operand){hs__element_at(dtype, x, i, j), rows, cols, x->row, x->col, x->conjugate};
}

/* rows x cols as it lies there; lead: from one column to the next. */
static inline hs__operand hs__stored(const void *data, int64_t rows, int64_t cols, int64_t lead)
{
    return (hs__operand){(char *)(uintptr_t)data, rows, cols, 1, lead, 0};
}

static inline hs__operand hs__turned(hs__operand x)
{
    return (hs__operand){x.data, x.cols, x.rows, x.col, x.row, x.conjugate};
}

/* Whether a number of rows is one, and a leading dimension long enough for it. */
static inline int hs__fits(int64_t lead, int64_t rows) { return rows >= 0 && lead >= (rows > 1 ? rows : 1); }

/* The letters of the BLAS, either case: of what is to be done, 0 if it is none of `known`. */
char hs__letter(char given, const char *known);

/* op(X), rows x cols, for 'N', 'T' or 'C'. */
hs__operand hs__op(int32_t dtype, char op, const void *data, int64_t rows, int64_t cols, int64_t lead);

/* Real and imaginary part of a factor in its type. */
void hs__factor_of(int32_t dtype, const void *factor, double to[2]);

/* What LAPACK says of the workspace that would be best, in its first element. */
void hs__set_size(int32_t dtype, void *work, int64_t size);

/* The largest absolute value of a real or imaginary part, NaN if one is; 0 of nothing. */
double hs__largest(int32_t dtype, const hs__operand *x);

/* x <- factor x; zeros if the factor is zero, whatever x holds. With a factor of 1 nothing is touched. */
void hs__multiply_by(int32_t dtype, const hs__operand *x, const double factor[2]);

/* x <- conj(x). Real matrices are as they should be. */
void hs__conjugate(int32_t dtype, const hs__operand *x);

/* to <- x, or its conjugate if it is one, of one size. */
void hs__duplicate(int32_t dtype, const hs__operand *x, const hs__operand *to);

#endif
