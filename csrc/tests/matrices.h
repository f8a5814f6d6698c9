/* Matrices of every type in several layouts. The elements are integers so small that every sum in
 * the tests is exact: results must be equal. */
#ifndef HETSCHED_TESTS_MATRICES_H
#define HETSCHED_TESTS_MATRICES_H

#include <stdlib.h>

#include "elements.h"

static unsigned state = 1;
static inline double complex small_integer(int dtype)
{
    state = state * 1664525u + 1013904223u;
    double re = (double)((state >> 16) % 7) - 3;
    double im = (double)((state >> 24) % 5) - 2;
    return dtype >> 1 ? re + im * I : re;
}

typedef struct {
    void *memory, *origin;
    int64_t row_stride, col_stride, elements;
} matrix;

/* Makes a matrix. layout 0: by rows, 1: by columns, 2: every second element of every third row, 3:
 * backwards in both directions. */
static inline matrix make_matrix(int dtype, int64_t rows, int64_t cols, int layout)
{
    matrix x = {0};
    int64_t step_r = layout == 1 ? 1 : layout == 2 ? 6 * cols : cols;
    int64_t step_c = layout == 1 ? rows : layout == 2 ? 2 : 1;
    /* some elements behind the matrix, which must not be written */
    x.elements = (layout == 2 ? 6 : 1) * rows * cols + 64;
    x.memory = malloc((size_t)x.elements * size_of[dtype]);
    for (int64_t i = 0; i < x.elements; i++) set(x.memory, dtype, i, small_integer(dtype));
    x.row_stride = step_r;
    x.col_stride = step_c;
    x.origin = x.memory;
    if (layout == 3) {
        x.origin =
            (char *)x.memory + (size_t)((rows - 1) * step_r + (cols - 1) * step_c) * size_of[dtype];
        x.row_stride = -step_r;
        x.col_stride = -step_c;
    }
    return x;
}

/* Returns the elements, row by row; the caller frees them. */
static inline double complex *dense_copy(const void *origin, int dtype, int64_t rows, int64_t cols,
                                         int64_t row_stride, int64_t col_stride)
{
    double complex *x = malloc((size_t)(rows * cols + 1) * sizeof *x);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            x[i * cols + j] = get(origin, dtype, i * row_stride + j * col_stride);
    return x;
}

/* Returns a sum of products. Only the test uses these numbers, so the thread sanitizer skips them;
 * it would take most of the time. */
__attribute__((no_sanitize("thread"))) static inline double complex
sum_of_products(int64_t k, const double complex *x, const double complex *y)
{
    double complex sum = 0;
    for (int64_t l = 0; l < k; l++) sum += x[l] * y[l];
    return sum;
}

#endif
