/* Loops and conversions for matrices in the form of the BLAS arguments. */
#include "blas/operand.h"

#include <string.h>

char hs__letter(char given, const char *known)
{
    char upper = given;
    if (given >= 'a' && given <= 'z') upper = (char)(given - 'a' + 'A');
    if (upper && strchr(known, upper)) return upper;
    return 0;
}

void hs__factor_of(int32_t dtype, const void *factor, double to[2])
{
    const int parts = dtype >> 1 ? 2 : 1;
    to[1] = 0.0;
    for (int i = 0; i < parts; i++)
        to[i] = dtype & 1 ? ((const double *)factor)[i] : (double)((const float *)factor)[i];
}

void hs__set_size(int32_t dtype, void *work, int64_t size)
{
    if (dtype & 1) *(double *)work = (double)size;
    else *(float *)work = (float)size;
}

/* Loops for float and double; an element consists of `parts` real numbers. */
#define DEFINE_LOOPS(REAL)                                                              \
    static double largest_##REAL(const hs__matrix *x, int parts)                        \
    {                                                                                   \
        REAL largest = 0;                                                               \
        for (int64_t j = 0; j < x->cols; j++)                                           \
            for (int64_t i = 0; i < x->rows; i++)                                       \
                for (int part = 0; part < parts; part++) {                              \
                    const REAL e = ((const REAL *)(const void *)hs__at(x, i, j))[part], \
                               size = e < 0 ? -e : e;                                   \
                    if (!(size <= largest)) largest = size;                             \
                    if (size != size) return (double)size;                              \
                }                                                                       \
        return (double)largest;                                                         \
    }
DEFINE_LOOPS(float)
DEFINE_LOOPS(double)

/* Returns the matrix or its transpose: with contiguous columns, if it has contiguous lines. */
static hs__matrix lines_of(const hs__matrix *x)
{
    return hs__by_columns(x) ? *x : hs__transposed(*x);
}

double hs__largest(int32_t dtype, const hs__matrix *x)
{
    const hs__matrix lines = lines_of(x);
    return dtype & 1 ? largest_double(&lines, 1 + (dtype >> 1))
                     : largest_float(&lines, 1 + (dtype >> 1));
}

void hs__conjugate(int32_t dtype, const hs__matrix *x)
{
    const hs__matrix lines = lines_of(x);
    const int64_t run = lines.row_stride == 1 ? lines.rows : 1;
    if (!(dtype >> 1)) return;
    for (int64_t j = 0; j < lines.cols; j++)
        for (int64_t i = 0; i < lines.rows; i += run)
            hs__conjugate_elements(dtype, run, hs__at(&lines, i, j));
}
