/* LU with partial pivoting: panels are factored in strips, and columns are updated in slices. */
#include <string.h>

#include "core/numbers.h"
#include "factor/strips.h"
#include "factor/tasks.h"

typedef struct {
    hs__halving halving;
    hs__task_data *x;
} factoring;

/* Solves with the unit lower triangle of `width` rows and columns at `at`, for `cols` columns from
 * `col` on, and packs the negative result. The triangle lies in one strip, or begins one. */
static void solve_triangle(const hs__panel_strips *f, int64_t at, int64_t width, int64_t col,
                           int64_t cols, char *packed)
{
    const hs__column_type *t = f->type;
    const int64_t stride = hs__column_step(t) / t->parts;
    for (int64_t i = 0; i < width; i += t->panel.rows) {
        const int64_t h = hs__min(t->panel.rows, width - i);
        const char *l = hs__in_panel(f, at + i, at);
        char *c = hs__in_panel(f, at + i, col);
        if (i) hs__strip_multiply(t, &t->panel, h, cols, i, l, packed, c, stride, l, packed);
        t->vector.solve((int32_t)h, hs__in_panel(f, at + i, at + i), hs__column_step(t),
                        (int32_t)cols, c, 1, stride,
                        packed + (size_t)(i * t->parts * t->panel.u.tile) * t->real,
                        t->panel.u.tile, t->lanes, f->tile);
    }
}

static void rows_of_u(const hs__halving *h, int64_t at, int64_t half, int64_t width)
{
    const hs__panel_strips *f = h->strips;
    const int32_t across = f->type->panel.across;
    const int64_t right = at + half;
    const int64_t cols = width - half;
    const int64_t bytes = hs__u_bytes(f->type, &f->type->panel, half);
    for (int64_t j = 0; j < cols; j += across)
        solve_triangle(f, at, half, right + j, hs__min(across, cols - j),
                       f->packed + j / across * bytes);
}

/* Returns the row of the matrix for a row of the strips. Below the diagonal block the strips
 * continue with the row of the matrix that follows the block. */
static int64_t matrix_row(const hs__panel_strips *f, int64_t q)
{
    const int64_t padded = hs__top_strips(&f->type->panel, f->width) * f->type->panel.rows;
    return f->first + (q < f->width ? q : q - padded + f->width);
}

static void factor_base(const hs__halving *halving, int64_t at, int32_t width)
{
    const hs__panel_strips *f = halving->strips;
    /* a factoring begins with its halving */
    hs__task_data *data = ((const factoring *)(const void *)halving)->x;
    const hs__column_type *t = f->type;
    const int64_t strip = at / t->panel.rows;
    const int64_t above = strip * t->panel.rows;
    const hs__strips strips = {hs__in_strip(f, strip, at), f->count - strip,
                               f->strip_bytes / (int64_t)t->real, hs__column_step(t),
                               t->panel.l.tile};
    double scale[3] = {1.0, 1.0, 0.0};
    hs__lu_largest largest = {0};
    for (int32_t j = 0; j < width; j++) {
        const int64_t own = at + j;
        t->vector.column(&strips, (int32_t)(at - above), j, 0, scale, &largest);
        const int64_t pivot = above + largest.row;
        data->pivots[f->first + own] = (int32_t)matrix_row(f, pivot);
        /* Exchange the rows; of complex elements also their products with i. */
        if (pivot != own)
            hs__swap_elements((ptrdiff_t)t->element, f->width * t->parts, hs__in_panel(f, own, 0),
                              hs__in_panel(f, pivot, 0), t->panel.l.tile * (ptrdiff_t)t->real);
        if (largest.size == 0.0) hs__fail(data, f->first + own);
        hs__invert(t, hs__in_panel(f, own, own), scale);
    }
    t->vector.column(&strips, (int32_t)(at - above), width, 1, scale, &largest);
}

static int factor_panel(hs__task_data *x, int32_t k, char *memory, hs__member *self)
{
    hs__panel_strips strips;
    const hs__packed_panel *panel = &x->panel[k];
    const factoring f = {{&strips, factor_base, rows_of_u}, x};
    if (hs__strips_open(&strips, &x->type, panel, &x->columns[k], memory, self)) return 1;
    return hs__strips_factor(&f.halving, 0, panel->width) ||
           hs__strips_close(&strips, panel, &x->columns[k]);
}

static void update_block(const hs__task_data *x, int32_t k, int32_t block, char *work,
                         hs__member *self)
{
    hs__lower_update(&x->type, &x->panel[k], &x->columns[block], x->pivots, NULL, work, self);
}

static void update_head(const hs__task_data *x, int32_t k, int32_t block, char *work,
                        hs__member *self)
{
    hs__lower_solve(&x->type, &x->panel[k], &x->columns[block], x->pivots, NULL, work, self);
}

static void prepare_rows(const hs__task_data *x, int32_t k, int32_t block, char *work)
{
    hs__lower_prepare(&x->type, &x->panel[k], &x->columns[block], work);
}

static void update_rows(const hs__task_data *x, int32_t k, int32_t block, int64_t first,
                        int64_t end, char *work, hs__member *self)
{
    hs__lower_rows(&x->type, &x->panel[k], &x->columns[block], first, end, work, self);
}

/* Copies a block back, with the exchanges of rows by later panels. */
static void store_block(const hs__task_data *x, int32_t block, char *work, hs__member *self)
{
    const int32_t panels = x->blocks.panels;
    const int64_t first = hs__block_first(&x->blocks, block < panels ? block + 1 : panels);
    const int64_t rank = hs__block_first(&x->blocks, panels);
    hs__columns_store(&x->type, &x->columns[block], hs__block_of(x, &x->wanted, block), HS__ALL, 0,
                      first, rank - first, x->pivots, work, self);
}

const hs__task_kind hs__lu_tasks = {.panel_bytes = hs__strips_bytes,
                                    .make_bytes = hs__panel_strips_bytes,
                                    .work_bytes = hs__lower_bytes,
                                    .load = hs__load_all,
                                    .factor = factor_panel,
                                    .repack = hs__repack_strips,
                                    .update = update_block,
                                    .store = store_block,
                                    .head = update_head,
                                    .prepare = prepare_rows,
                                    .rows = update_rows};
