/* Matrices in the form of the BLAS arguments: letters, leading dimensions, and factors in the type
 * of the matrix. */
#ifndef HS_BLAS_OPERAND_H
#define HS_BLAS_OPERAND_H

#include "run/matrix.h"

/* Returns rows x cols as stored, column by column. lead: from one column to the next. */
static inline hs__matrix hs__stored(int32_t dtype, const void *data, int64_t rows, int64_t cols,
                                    int64_t lead)
{
    return (hs__matrix){
        (char *)(uintptr_t)data, (ptrdiff_t)hs__element_bytes(dtype), rows, cols, 1, lead};
}

/* Returns rows x cols, of which the transpose is stored unless op is 'N'. 'C' also transposes only:
 * the caller must apply the conjugate. */
static inline hs__matrix hs__operand(int32_t dtype, char op, const void *data, int64_t rows,
                                     int64_t cols, int64_t lead)
{
    return op == 'N' ? hs__stored(dtype, data, rows, cols, lead)
                     : hs__transposed(hs__stored(dtype, data, cols, rows, lead));
}

/* Returns whether the number of rows is valid and the leading dimension large enough for it. */
static inline int hs__lead_fits(int64_t lead, int64_t rows)
{
    return rows >= 0 && lead >= (rows > 1 ? rows : 1);
}

/* Returns the operation for a letter of the BLAS, in upper or lower case; 0 if it is not in
 * `known`. */
char hs__letter(char given, const char *known);

/* Splits a factor of type dtype into its real and imaginary part. */
void hs__factor_of(int32_t dtype, const void *factor, double to[2]);

/* Stores the optimal workspace size in the first element of work, as LAPACK does. */
void hs__set_size(int32_t dtype, void *work, int64_t size);

/* Returns the largest absolute value of all real and imaginary parts: NaN if one is NaN, 0 for an
 * empty matrix. */
double hs__largest(int32_t dtype, const hs__matrix *x);

/* x <- conj(x). Real matrices stay as they are. */
void hs__conjugate(int32_t dtype, const hs__matrix *x);

#endif
