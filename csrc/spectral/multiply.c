/* Products of one worker (spectral/multiply.h). */
#include "spectral/multiply.h"

#include "core/cancel.h"
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

/* Sets up a product. Returns 0 if there is nothing to do. */
static int set_up(const hs__multiplier *by, double alpha, const hs__matrix *a, const hs__matrix *b,
                  int conjugate, double beta, const hs__matrix *c, hs__panel_product *x)
{
    hs_product product = hs__product_of(by->dtype, a, b, c);
    product.alpha[0] = alpha;
    product.beta[0] = beta;
    product.conjugate = conjugate;
    const hs_box whole = {.height = c->rows, .width = c->cols, .length = a->cols};
    return hs__panel_product_init(x, by->kernel, &product, &whole, NULL, 1);
}

static char *block_behind(const hs__multiplier *by, int64_t panel)
{
    return by->scratch + hs__round_up(panel, LINE);
}

void hs__multiply(const hs__multiplier *by, double alpha, hs__matrix a, hs__matrix b, int conjugate,
                  double beta, hs__matrix c)
{
    hs__panel_product x;
    if (set_up(by, alpha, &a, &b, conjugate, beta, &c, &x))
        hs__panel_product_run(&x, by->scratch, block_behind(by, (int64_t)hs__panel_bytes(&x)),
                              by->cancel);
}

/* ---- a common operand ------------------------------------------------------------------------ */

/* Cuts B into panels, independently of the products that it is an operand of. */
static void cut_panels(hs__panel_product *x)
{
    const int64_t most = x->kernel->cols / (x->pack_b.form == HS__EXPANDED ? 2 : 1);
    x->panel_cols = hs__even_parts(x->b.cols, most, hs__col_unit(x));
}

static int64_t count_panels(const hs__panel_product *x)
{
    return hs__ceil_div(x->b.cols, x->panel_cols) * hs__slab_count(x);
}

static hs__panel panel_at(const hs__panel_product *x, int64_t index)
{
    const int64_t slabs = hs__slab_count(x), col = index / slabs * x->panel_cols;
    hs__panel panel = {.col = col, .cols = hs__min(x->panel_cols, x->b.cols - col)};
    hs__slab_at(x, index % slabs, &panel.depth, &panel.length);
    return panel;
}

static int64_t panel_bytes(const hs__panel_product *x)
{
    return hs__round_up((int64_t)hs__panel_bytes(x), LINE);
}

/* Sets up a product with B for a small C that is not transposed. Returns 0 if B is empty. */
static int set_up_packing(const hs__multiplier *by, const hs__matrix *b, int conjugate,
                          hs__panel_product *x)
{
    const int by_rows = by->kernel->real[by->dtype & 1].prefers_rows;
    const int64_t rows = 2, row_stride = by_rows ? hs__max(b->cols, 2) : 1;
    const hs__matrix a = {b->data, b->element, rows, b->rows, 1, rows};
    const hs__matrix c = {b->data, b->element, rows, b->cols, row_stride, by_rows ? 1 : rows};
    if (!set_up(by, 1, &a, b, conjugate, 0, &c, x)) return 0;
    cut_panels(x);
    return 1;
}

size_t hs__common_bytes(const hs__kernel *kernel, int32_t dtype, int64_t depth, int64_t cols)
{
    static char none;
    const hs__multiplier by = {.kernel = kernel, .dtype = dtype};
    const hs__matrix b = {&none, (ptrdiff_t)hs__element_bytes(dtype), depth, cols, 1, depth};
    hs__panel_product x;
    return set_up_packing(&by, &b, 0, &x) ? (size_t)(count_panels(&x) * panel_bytes(&x)) : 0;
}

void hs__pack_common(const hs__multiplier *by, const hs__common *common)
{
    hs__panel_product x;
    if (!set_up_packing(by, &common->b, common->conjugate, &x)) return;
    for (int64_t i = 0; i < count_panels(&x) && !hs__cancelled(by->cancel); i++) {
        const hs__panel panel = panel_at(&x, i);
        hs__pack_columns(&x, &panel, 0, panel.cols, common->packed + i * panel_bytes(&x));
    }
}

void hs__multiply_common(const hs__multiplier *by, double alpha, hs__matrix a,
                         const hs__common *common, double beta, hs__matrix c)
{
    hs__panel_product x;
    if (!set_up(by, alpha, &a, &common->b, common->conjugate, beta, &c, &x)) return;
    if (x.turned || !common->packed) { /* turned: B is the operand that is packed in blocks */
        hs__multiply(by, alpha, a, common->b, common->conjugate, beta, c);
        return;
    }
    cut_panels(&x);
    const int64_t rows = hs__even_parts(c.rows, x.block_rows, hs__row_unit(&x));
    hs__packed_block have = {.row = -1};
    for (int64_t i = 0; i < count_panels(&x); i++) {
        const hs__panel panel = panel_at(&x, i);
        for (int64_t row = 0; row < c.rows; row += rows) {
            if (hs__cancelled(by->cancel)) return;
            const hs__tile tile = {
                .row = row, .rows = hs__min(rows, c.rows - row), .cols = panel.cols};
            hs__compute_tile(&x, &panel, &tile, &have, by->scratch,
                             common->packed + i * panel_bytes(&x));
        }
    }
}
