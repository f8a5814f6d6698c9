/* Matrices of any type with random strides, for tests whose results have rounding errors. */
#ifndef HETSCHED_TESTS_STRIDED_H
#define HETSCHED_TESTS_STRIDED_H

#include <stdlib.h>

#include "elements.h"

enum { BEFORE = -77 }; /* elements before they are set */

static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

static inline double complex random_value(int dtype)
{
    const double re = check_random(2001) / 1000.0 - 1;
    const double im = check_random(2001) / 1000.0 - 1;
    return dtype >> 1 ? re + im * I : re;
}

/* A matrix with strides of its own, whose elements may have gaps between them. */
typedef struct {
    int dtype;
    int64_t rows, cols, row_stride, col_stride;
    char *data;
    size_t bytes;
} matrix;

static inline matrix make_matrix(int dtype, int64_t rows, int64_t cols)
{
    matrix x = {.dtype = dtype, .rows = rows, .cols = cols};
    const int64_t step = 1 + check_random(2);
    const int by_rows = check_random(2) != 0;
    x.row_stride = by_rows ? step * cols + 1 : step;
    x.col_stride = by_rows ? step : step * rows + 1;
    const int64_t count = rows * x.row_stride + cols * x.col_stride + 1;
    x.bytes = (size_t)count * size_of[dtype];
    x.data = malloc(x.bytes);
    if (!x.data) abort();
    for (int64_t i = 0; i < count; i++) set(x.data, dtype, i, BEFORE);
    return x;
}

static inline ptrdiff_t place(const matrix *x, int64_t i, int64_t j)
{
    return (ptrdiff_t)(i * x->row_stride + j * x->col_stride);
}
static inline double complex at(const matrix *x, int64_t i, int64_t j)
{
    return get(x->data, x->dtype, place(x, i, j));
}

#endif
