/* Sets up a box of a product for the micro-kernels, and computes its tiles (product/panels.h). */
#include "product/panels.h"

#include <math.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/tuning.h"

int64_t hs__even_parts(int64_t size, int64_t limit, int64_t unit)
{
    limit = hs__max(limit / unit * unit, unit);
    int64_t parts = hs__ceil_div(size, limit);
    return parts ? hs__round_up(hs__ceil_div(size, parts), unit) : unit;
}

/* ---- the product as the kernel sees it ------------------------------------------------------- */

/* C <- beta C + the layers: for the kernel, the memory of a layer takes the place of C. */
static void add_layers(hs__panel_product *x, const hs_box *box, const hs__in_layers *layers)
{
    x->layer = hs__min(x->a.cols, layers->depth);
    if (!layers->room.data) return;
    x->onto = x->c;
    x->c = hs__part(&layers->room, box->row, box->col, box->height, box->width);
}

/* Whether to compute C^T = B^T A^T, because C then has the unit stride that the kernel prefers.
 * This depends on the whole of C: a box of one row is no reason to transpose. */
static int is_turned(const hs__panel_product *x, const hs_product *p)
{
    const int rows_fast = x->c.col_stride == 1 && p->n > 1;
    const int columns_fast = x->c.row_stride == 1 && p->m > 1;
    return x->kernel->prefers_rows ? columns_fast && !rows_fast : rows_fast && !columns_fast;
}

int hs__panel_product_init(hs__panel_product *x, const hs__kernel *kernel, const hs_product *p,
                           const hs_box *box, const hs__in_layers *layers, int32_t members)
{
    if (box->height == 0 || box->width == 0) return 0;
    const int real_type = p->dtype & 1;
    const int complex = p->dtype >> 1;
    const hs__blocking *blocking = &kernel->real[real_type];
    *x = (hs__panel_product){.kernel = blocking, .complex = complex};
    hs__matrices_of(p, &x->a, &x->b, &x->c);
    x->a = hs__part(&x->a, box->row, box->depth, box->height, box->length);
    x->b = hs__part(&x->b, box->depth, box->col, box->length, box->width);
    x->c = hs__part(&x->c, box->row, box->col, box->height, box->width);
    x->alpha[0] = p->alpha[0];
    x->alpha[1] = complex ? p->alpha[1] : 0.0;
    x->beta[0] = box->depth ? 1.0 : p->beta[0];
    x->beta[1] = box->depth || !complex ? 0.0 : p->beta[1];
    x->triangle = hs__triangle_of(p, box->row, box->col);
    x->layer = x->a.cols;
    if (layers) add_layers(x, box, layers);
    if (hs__triangle_meets(&x->triangle, 0, box->height, 0, box->width) == HS__OUTSIDE) return 0;

    const int turned = x->turned = is_turned(x, p);
    if (turned) {
        const hs__matrix a = x->a;
        x->a = hs__transposed(x->b);
        x->b = hs__transposed(a);
        x->c = hs__transposed(x->c);
        x->onto = hs__transposed(x->onto);
        x->triangle = hs__triangle_transposed(x->triangle);
    }
    if (hs__scales_b(p)) {
        x->scales_a = turned;
        x->scales_b = !turned;
        x->factor[0] = x->alpha[0];
        x->factor[1] = x->alpha[1];
        x->alpha[0] = 1.0;
        x->alpha[1] = 0.0;
    }
    /* A complex C is a real matrix of doubled rows (columns) only if these are contiguous. The
     * kernels take a real alpha only. */
    int64_t fast = blocking->prefers_rows ? x->c.col_stride : x->c.row_stride;
    x->general = complex && (fast != 1 || x->alpha[1] != 0.0);

    hs__form expanded = complex ? HS__EXPANDED : HS__REAL;
    hs__form split = complex ? HS__SPLIT : HS__REAL;
    x->pack_a = (hs__pack){real_type, blocking->prefers_rows ? split : expanded,
                           blocking->tile_rows, 0, p->conjugate && turned};
    x->pack_b = (hs__pack){real_type, blocking->prefers_rows ? expanded : split,
                           blocking->tile_cols, 0, p->conjugate && !turned};

    const int c = 1 + complex;
    x->depth = hs__even_parts(layers ? layers->depth : x->a.cols, blocking->depth / c, 4);
    x->block_rows = blocking->rows / (x->pack_a.form == HS__EXPANDED ? 2 : 1);
    int64_t tile_cols =
        x->pack_b.form == HS__EXPANDED ? blocking->tile_cols / 2 : blocking->tile_cols;
    /* One panel is packed while other members still read the last. A single member overlaps
     * nothing. */
    x->buffers = members > 1 ? 2 : 1;
    /* All that is packed at a time takes at most 1 / HS__PACKED_SHARE of the operands, but a panel
     * has at least the columns that hide the packing of A. */
    const double elements = (double)x->c.rows * (double)x->a.cols +
                            (double)x->a.cols * (double)x->c.cols +
                            (double)x->c.rows * (double)x->c.cols;
    const double blocks =
        (double)members * (double)hs__min(x->c.rows, x->block_rows) * (double)(x->depth * c);
    double fair = (elements / HS__PACKED_SHARE - blocks) / (double)(x->buffers * x->depth * c);
    const double most = (double)blocking->cols / (x->pack_b.form == HS__EXPANDED ? 2 : 1);
    const int32_t enough = HS__PANEL_COLS / x->buffers;
    if (fair < enough) fair = enough;
    x->panel_cols = hs__even_parts(x->c.cols, (int64_t)(fair < most ? fair : most), tile_cols);
    return 1;
}

/* Returns the number of panels along the depth of a whole layer. */
static int64_t slabs_of_layer(const hs__panel_product *x)
{
    return hs__ceil_div(x->layer, x->depth);
}

int64_t hs__slab_count(const hs__panel_product *x)
{
    const int64_t layers = x->layer ? x->a.cols / x->layer : 0;
    return layers * slabs_of_layer(x) + hs__ceil_div(x->a.cols - layers * x->layer, x->depth);
}

void hs__slab_at(const hs__panel_product *x, int64_t index, int64_t *depth, int64_t *length)
{
    const int64_t each = slabs_of_layer(x);
    const int64_t layer = index / each * x->layer;
    const int64_t within = index % each * x->depth;
    *depth = layer + within;
    *length = hs__min(x->depth, hs__min(x->layer - within, x->a.cols - *depth));
}

static int32_t type_of(const hs__panel_product *x) { return x->pack_a.real_type | x->complex << 1; }
static size_t real_bytes(const hs__panel_product *x) { return x->pack_a.real_type ? 8 : 4; }
static int64_t real_depth(const hs__panel_product *x, int64_t depth)
{
    return x->complex ? 2 * depth : depth;
}

size_t hs__panel_bytes(const hs__panel_product *x)
{
    return (size_t)(hs__ceil_div(x->panel_cols, hs__col_unit(x)) * x->pack_b.tile *
                    real_depth(x, x->depth)) *
           real_bytes(x);
}

static size_t packed_block_bytes(const hs__panel_product *x)
{
    return (size_t)(hs__ceil_div(hs__min(x->c.rows, x->block_rows), hs__row_unit(x)) *
                    x->pack_a.tile * real_depth(x, x->depth)) *
           real_bytes(x);
}

size_t hs__block_bytes(const hs__panel_product *x)
{
    size_t tile = x->general || x->triangle.which
                      ? (size_t)(hs__row_unit(x) * hs__col_unit(x) * x->c.element)
                      : 0;
    return packed_block_bytes(x) + tile;
}

/* ---- one tile -------------------------------------------------------------------------------- */

/* z <- alpha product + z, or z <- alpha product, along a line of C. If alpha is real, nothing is
 * multiplied by its zero imaginary part. */
#define DEFINE_ADD(REAL)                                                                          \
    static void add_##REAL(const hs__panel_product *x, int64_t count, const REAL *product,        \
                           int accumulate, REAL *z, int64_t stride)                               \
    {                                                                                             \
        const REAL re = (REAL)x->alpha[0], im = (REAL)x->alpha[1];                                \
        if (!x->complex && stride == 1)                                                           \
            for (int64_t i = 0; i < count; i++) z[i] = (accumulate ? z[i] : 0) + re * product[i]; \
        else if (!x->complex)                                                                     \
            for (int64_t i = 0; i < count; i++)                                                   \
                z[i * stride] = (accumulate ? z[i * stride] : 0) + re * product[i];               \
        for (int64_t i = 0; x->complex && i < count; i++, product += 2, z += 2 * stride) {        \
            const REAL u = product[0], v = product[1];                                            \
            z[0] = (accumulate ? z[0] : 0) + (im != 0 ? re * u - im * v : re * u);                \
            z[1] = (accumulate ? z[1] : 0) + (im != 0 ? re * v + im * u : re * v);                \
        }                                                                                         \
    }
DEFINE_ADD(float)
DEFINE_ADD(double)

/* Computes the micro-tile at (row, col) in a buffer, then adds it to C, for any strides and any
 * alpha. With a triangle it adds only the elements that belong to it. */
static void compute_in_scratch(const hs__panel_product *x, int64_t row, int64_t m, int64_t col,
                               int64_t n, int64_t k, const void *a, const void *b, int accumulate,
                               void *tile, const void *a_next, const void *b_next)
{
    const int type = x->pack_a.real_type;
    const int parts = 1 + x->complex;
    const int by_rows = x->kernel->prefers_rows;
    const int64_t fast = parts * (by_rows ? n : m);
    const double zero = 0.0, one = 1.0; /* all bits zero: also a float */
    const float one_f = 1.0f;
    const void *alpha = type ? (const void *)&one : (const void *)&one_f;
    if (by_rows) x->kernel->run(m, parts * n, k, alpha, a, b, &zero, tile, fast, 1, a_next, b_next);
    else x->kernel->run(parts * m, n, k, alpha, a, b, &zero, tile, 1, fast, a_next, b_next);
    /* lines of C in the direction in which the kernel writes */
    const hs__triangle along = by_rows ? x->triangle : hs__triangle_transposed(x->triangle);
    const hs__matrix lines = by_rows ? x->c : hs__transposed(x->c);
    const int64_t first = by_rows ? row : col;
    const int64_t count = by_rows ? m : n;
    const int64_t start = by_rows ? col : row;
    const int64_t end = start + (by_rows ? n : m);
    for (int64_t line = 0, from, to; line < count; line++) {
        hs__triangle_columns(&along, first + line, 1, end, &from, &to);
        from = hs__max(from, start);
        if (from >= to) continue;
        const int64_t at = line * fast + parts * (from - start);
        char *z = hs__at(&lines, first + line, from);
        if (type)
            add_double(x, to - from, (double *)tile + at, accumulate, (double *)z,
                       lines.col_stride);
        else add_float(x, to - from, (float *)tile + at, accumulate, (float *)z, lines.col_stride);
    }
}

void hs__compute_tile(const hs__panel_product *x, const hs__panel *panel, const hs__tile *t,
                      hs__packed_block *have, char *block, const char *packed)
{
    const int64_t mu = hs__row_unit(x);
    const int64_t nu = hs__col_unit(x);
    const int64_t depth = real_depth(x, panel->length);
    const size_t a_bytes = (size_t)(x->pack_a.tile * depth) * real_bytes(x);
    const size_t b_bytes = (size_t)(x->pack_b.tile * depth) * real_bytes(x);

    if (have->row != t->row || have->rows != t->rows || have->depth != panel->depth) {
        hs__pack_micro_panels(&x->pack_a, t->rows, panel->length,
                              hs__at(&x->a, t->row, panel->depth), x->a.row_stride, x->a.col_stride,
                              block);
        if (x->scales_a)
            hs__scale_micro_panels(&x->pack_a, t->rows, panel->length, x->factor, block);
        *have = (hs__packed_block){t->row, t->rows, panel->depth};
    }

    const int layered = x->onto.data != NULL;
    const int first = panel->depth == 0;
    const hs__matrix *const c = layered ? &x->onto : &x->c;
    /* The kernel is given a beta of 0 or 1 only: with any other beta it rounds differently inside
     * of C and at its edges. */
    const int scales =
        first && (layered || x->beta[1] != 0 || !(x->beta[0] == 0 || x->beta[0] == 1.0));
    double beta = 1.0;
    if (layered) beta = panel->depth % x->layer != 0;
    else if (first && !scales) beta = x->beta[0];
    const float beta_f = (float)beta;
    const float alpha_f = (float)x->alpha[0];
    const void *beta_at = x->pack_a.real_type ? (const void *)&beta : (const void *)&beta_f;
    const void *alpha = x->pack_a.real_type ? (const void *)&x->alpha[0] : (const void *)&alpha_f;

    const int accumulate = (x->pack_a.real_type ? beta : beta_f) != 0;
    /* A complex C has twice the columns, where they are contiguous, or twice the rows, and twice
     * the stride of the other dimension. */
    const int64_t parts = 1 + x->complex;
    const int64_t n_reals = x->kernel->prefers_rows ? parts : 1;
    const int64_t m_reals = parts / n_reals;
    const int64_t row_stride = n_reals * x->c.row_stride;
    const int64_t col_stride = m_reals * x->c.col_stride;
    /* Bytes of a line that are mirrored together: each line is in another page. */
    enum { MIRRORED_BYTES = 1024 };
    const int64_t done = panel->depth + panel->length;
    const int ends = x->triangle.which && done == x->a.cols;
    const int adds = layered && (done % x->layer == 0 || done == x->a.cols);
    const int64_t together = MIRRORED_BYTES / x->c.element;
    int64_t finished = 0;
    for (int64_t j = 0; j < t->cols; j += nu) {
        const char *b = packed + (size_t)((t->col + j) / nu) * b_bytes;
        const int64_t n = hs__min(nu, t->cols - j);
        const int64_t col = panel->col + t->col + j;
        for (int64_t i = 0; i < t->rows; i += mu) {
            const int64_t m = hs__min(mu, t->rows - i);
            const int64_t row = t->row + i;
            const hs__meeting meets = hs__triangle_meets(&x->triangle, row, m, col, n);
            if (meets == HS__OUTSIDE) continue;
            if (scales) {
                const hs__matrix old = hs__part(c, row, col, m, n);
                hs__triangle_scale(type_of(x), &x->triangle, &old, row, col, x->beta);
            }
            const char *a = block + (size_t)(i / mu) * a_bytes;
            const char *a_next = i + mu < t->rows ? a + a_bytes : block;
            const char *b_next = i + mu < t->rows ? b : b + b_bytes;
            if (x->general || meets == HS__CROSSES) {
                compute_in_scratch(x, row, m, col, n, depth, a, b, accumulate,
                                   block + packed_block_bytes(x), a_next, b_next);
                continue;
            }
            x->kernel->run(m * m_reals, n * n_reals, depth, alpha, a, b, beta_at,
                           hs__at(&x->c, row, col), row_stride, col_stride, a_next, b_next);
        }
        /* Add the layer while it is in the cache. */
        if (adds) {
            const hs__matrix from = hs__part(&x->c, t->row, col, t->rows, n);
            const hs__matrix to = hs__part(c, t->row, col, t->rows, n);
            hs__triangle_add(type_of(x), &x->triangle, &from, &to, t->row, col);
        }
        if (ends && (j + n == t->cols || j + n - finished >= together)) {
            hs__triangle_finish(type_of(x), &x->triangle, c, t->row, t->rows,
                                panel->col + t->col + finished, j + n - finished);
            finished = j + n;
        }
    }
}

void hs__pack_columns(const hs__panel_product *x, const hs__panel *panel, int64_t col, int64_t cols,
                      char *packed)
{
    const size_t bytes = (size_t)(x->pack_b.tile * real_depth(x, panel->length)) * real_bytes(x);
    char *to = packed + (size_t)(col / hs__col_unit(x)) * bytes;
    hs__pack_micro_panels(&x->pack_b, cols, panel->length,
                          hs__at(&x->b, panel->depth, panel->col + col), x->b.col_stride,
                          x->b.row_stride, to);
    if (x->scales_b) hs__scale_micro_panels(&x->pack_b, cols, panel->length, x->factor, to);
}

void hs__panel_product_run(const hs__panel_product *x, void *panel_buffer, void *block,
                           const int *cancel)
{
    const int64_t rows = hs__even_parts(x->c.rows, x->block_rows, hs__row_unit(x));
    hs__packed_block have = {.row = -1};
    for (int64_t col = 0; col < x->c.cols; col += x->panel_cols)
        for (int64_t index = 0, count = hs__slab_count(x); index < count; index++) {
            hs__panel panel = {.col = col, .cols = hs__min(x->panel_cols, x->c.cols - col)};
            hs__slab_at(x, index, &panel.depth, &panel.length);
            hs__pack_columns(x, &panel, 0, panel.cols, panel_buffer);
            for (int64_t row = 0; row < x->c.rows; row += rows) {
                if (hs__cancelled(cancel)) return;
                const hs__tile tile = {
                    .row = row, .rows = hs__min(rows, x->c.rows - row), .cols = panel.cols};
                hs__compute_tile(x, &panel, &tile, &have, block, panel_buffer);
            }
        }
}
