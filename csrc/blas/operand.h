/* Matrices as the BLAS hands them over: letters, leading dimensions, factors of their type. */
#ifndef HS_BLAS_OPERAND_H
#define HS_BLAS_OPERAND_H

#include "run/matrix.h"

/* rows x cols as it lies there, column by column; lead: from one column to the next. */
static inline hs__matrix hs__stored(int32_t dtype, const void *data, int64_t rows, int64_t cols,
                                    int64_t lead)
{
    return (hs__matrix){
        (char *)(uintptr_t)data, (ptrdiff_t)hs__element_bytes(dtype), rows, cols, 1, lead};
}

/* rows x cols, of which the transpose is stored but for 'N'. 'C' turns it, too: whoever calls sees
 * to the conjugate. */
static inline hs__matrix hs__op(int32_t dtype, char op, const void *data, int64_t rows,
                                int64_t cols, int64_t lead)
{
    return op == 'N' ? hs__stored(dtype, data, rows, cols, lead)
                     : hs__transposed(hs__stored(dtype, data, cols, rows, lead));
}

/* Whether a number of rows is one, and a leading dimension long enough for it. */
static inline int hs__fits(int64_t lead, int64_t rows)
{
    return rows >= 0 && lead >= (rows > 1 ? rows : 1);
}

/* The letters of the BLAS, either case: of what is to be done, 0 if it is none of `known`. */
char hs__letter(char given, const char *known);

/* Real and imaginary part of a factor in its type. */
void hs__factor_of(int32_t dtype, const void *factor, double to[2]);

/* What LAPACK says of the workspace that would be best, in its first element. */
void hs__set_size(int32_t dtype, void *work, int64_t size);

/* The largest absolute value of a real or imaginary part, NaN if one is; 0 of nothing. */
double hs__largest(int32_t dtype, const hs__matrix *x);

/* x <- conj(x). Real matrices are as they should be. */
void hs__conjugate(int32_t dtype, const hs__matrix *x);

#endif
