/* Products of one worker (spectral/multiply.h). */
#include "spectral/multiply.h"

#include "core/numbers.h"
#include "product/panels.h"

enum { LINE = 64 };

/* Returns the bytes of a packed panel, and of a packed block with the buffer of a micro-tile: bounds
 * for all products of these sizes (product/panels.c). */
static void bound_buffers(const hs__kernel *kernels, int32_t dtype, int64_t longest, int64_t depth,
                          int64_t *panel, int64_t *block)
{
    const hs__blocking *kernel = &kernels->real[dtype & 1];
    const int64_t parts = 1 + (dtype >> 1), real = (int64_t)hs__real_bytes(dtype);
    const int64_t deep = hs__min(parts * depth, kernel->depth) + 8;
    const int64_t rows = hs__min(parts * longest, kernel->rows) + INT64_C(2) * kernel->tile_rows;
    const int64_t cols = hs__min(parts * longest, kernel->cols) + INT64_C(2) * kernel->tile_cols;
    const int64_t tile = parts * kernel->tile_rows * kernel->tile_cols;
    *panel = hs__round_up(cols * deep * real, LINE);
    *block = hs__round_up((rows * deep + tile) * real, LINE);
}

size_t hs__multiply_bytes(const hs__kernel *kernel, int32_t dtype, int64_t longest, int64_t depth)
{
    int64_t panel;
    int64_t block;
    bound_buffers(kernel, dtype, longest, depth, &panel, &block);
    return (size_t)(panel + block);
}

void hs__multiply(const hs__multiplier *by, double alpha, hs__matrix a, hs__matrix b, int conjugate,
                  double beta, hs__matrix c)
{
    hs_product product = hs__product_of(by->dtype, &a, &b, &c);
    product.alpha[0] = alpha;
    product.beta[0] = beta;
    product.conjugate = conjugate;
    const hs_box whole = {.height = c.rows, .width = c.cols, .length = a.cols};
    hs__panel_product x;
    if (!hs__panel_product_init(&x, by->kernel, &product, &whole, NULL, 1)) return;
    const size_t panel = (size_t)hs__round_up((int64_t)hs__panel_bytes(&x), LINE);
    hs__panel_product_run(&x, by->scratch, by->scratch + panel, by->cancel);
}
