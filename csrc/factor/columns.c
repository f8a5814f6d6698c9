/* Slices of columns: their sizes, products, and copies to and from matrices (factor/columns.h). */
#include "factor/columns.h"

#include <string.h>

#include "core/element.h"
#include "core/numbers.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

static hs__strip_form make_form(const hs__blocking *kernel, int32_t real_type, int32_t parts,
                                int by_rows)
{
    const int turned = (kernel->prefers_rows != 0) != by_rows;
    const int32_t l_tile = turned ? kernel->tile_cols : kernel->tile_rows;
    const int32_t u_tile = turned ? kernel->tile_rows : kernel->tile_cols;
    const hs__form fast = parts > 1 ? HS__EXPANDED : HS__REAL;
    const hs__form slow = parts > 1 ? HS__SPLIT : HS__REAL;
    return (hs__strip_form){.turned = turned,
                            .l = {real_type, by_rows ? slow : fast, l_tile, by_rows, 0},
                            .u = {real_type, by_rows ? fast : slow, u_tile, 0, 0},
                            .rows = by_rows ? l_tile : l_tile / parts,
                            .across = by_rows ? u_tile / parts : u_tile};
}

void hs__column_type_init(hs__column_type *t, const hs__kernel *kernel, int32_t dtype)
{
    const int32_t real_type = dtype & 1;
    const int32_t parts = 1 + (dtype >> 1);
    const hs__blocking *blocking = &kernel->real[real_type];
    *t = (hs__column_type){
        .kernel = blocking, .dtype = dtype, .parts = parts, .real = hs__real_bytes(dtype)};
    t->panel = make_form(blocking, real_type, parts, 0);
    t->slice = make_form(blocking, real_type, parts, 1);
    t->element = t->real * (size_t)parts;
    int32_t vector_bytes;
    t->vector = hs__factor_vector_for(dtype, t->panel.l.tile, t->slice.u.tile, &vector_bytes);
    t->lanes = (int32_t)hs__round_up(t->panel.u.tile, vector_bytes / (int64_t)t->real);
}

int64_t hs__l_bytes(const hs__column_type *t, const hs__strip_form *f, int64_t depth)
{
    return depth * t->parts * f->l.tile * (int64_t)t->real;
}

int64_t hs__u_bytes(const hs__column_type *t, const hs__strip_form *f, int64_t depth)
{
    return hs__round_up(depth * t->parts * f->u.tile * (int64_t)t->real, 64);
}

int64_t hs__top_strips(const hs__strip_form *f, int64_t width)
{
    return hs__ceil_div(width, f->rows);
}

int64_t hs__strip_count(const hs__strip_form *f, int64_t rows, int64_t width)
{
    return hs__top_strips(f, width) + hs__ceil_div(rows - width, f->rows);
}

int64_t hs__row_of_strip(const hs__strip_form *f, int64_t width, int64_t s)
{
    const int64_t top = hs__top_strips(f, width);
    return s < top ? s * f->rows : width + (s - top) * f->rows;
}

int64_t hs__rows_of_strip(const hs__strip_form *f, int64_t rows, int64_t width, int64_t s)
{
    return hs__min(f->rows,
                   (s < hs__top_strips(f, width) ? width : rows) - hs__row_of_strip(f, width, s));
}

size_t hs__slice_bytes(const hs__column_type *t, int64_t m)
{
    return (size_t)hs__round_up(m * t->slice.across * (int64_t)t->element, 64);
}

size_t hs__strips_bytes(const hs__column_type *t, int64_t rows, int64_t width)
{
    return (size_t)(hs__strip_count(&t->slice, rows, width) * hs__l_bytes(t, &t->slice, width));
}

size_t hs__move_bytes(const hs__column_type *t, int64_t m)
{
    return hs__slice_bytes(t, m) + (size_t)(t->slice.across * t->slice.across) * t->element +
           (size_t)m * sizeof(int32_t);
}

/* ---- products -------------------------------------------------------------------------------- */

void hs__strip_multiply(const hs__column_type *t, const hs__strip_form *f, int64_t rows,
                        int64_t cols, int64_t depth, const char *l, const char *u, char *c,
                        int64_t stride, const char *next_l, const char *next_u)
{
    static const double one = 1.0;
    static const float one_f = 1.0f;
    const void *both = t->real == 8 ? (const void *)&one : (const void *)&one_f;
    const int by_rows = f == &t->slice;
    depth *= t->parts;
    stride *= t->parts;
    if (by_rows) cols *= t->parts;
    else rows *= t->parts;
    if (f->turned)
        t->kernel->run(cols, rows, depth, both, u, l, both, c, by_rows ? 1 : stride,
                       by_rows ? stride : 1, next_u, next_l);
    else
        t->kernel->run(rows, cols, depth, both, l, u, both, c, by_rows ? stride : 1,
                       by_rows ? 1 : stride, next_l, next_u);
}

int64_t hs__strips_at_once(const hs__column_type *t, int64_t width)
{
    const int64_t together = (int64_t)t->kernel->rows * t->kernel->depth * (int64_t)t->real /
                             hs__l_bytes(t, &t->slice, width);
    return together < 1 ? 1 : together;
}

void hs__subtract(const hs__column_type *t, const hs__packed_panel *p, int64_t s0, int64_t end,
                  char *slice, const char *u)
{
    const int32_t rows = t->slice.rows;
    const int32_t across = t->slice.across;
    const int64_t width = p->width;
    const int64_t size = hs__l_bytes(t, &t->slice, width);
    const int64_t top = hs__top_strips(&t->slice, width);
    for (int64_t s = s0; s < end; s++) {
        const int64_t row = width + (s - top) * rows;
        const char *l = p->strips + s * size;
        hs__strip_multiply(t, &t->slice, hs__min(rows, p->rows - row), across, width, l, u,
                           slice + row * across * (int64_t)t->element, across, l + size, u);
    }
}

/* ---- slices ---------------------------------------------------------------------------------- */

char *hs__slice_at(const hs__column_type *t, const hs__columns *block, int64_t col)
{
    return col + t->slice.across <= block->cols
               ? block->slices + (size_t)(col / t->slice.across) * hs__slice_bytes(t, block->m)
               : block->last;
}

void hs__to_rows(const hs__column_type *t, int64_t cols, int64_t depth, const char *from,
                 int64_t stride, int64_t depth_stride, char *to)
{
    const int32_t across = t->slice.across;
    /* As reals of the same size. */
    if (t->element <= 8) {
        const hs__pack how = {t->element == 8, HS__REAL, across, 0, 0};
        hs__pack_micro_panels(&how, cols, depth, from, stride, depth_stride, to);
        return;
    }
    if (cols < across) memset(to, 0, (size_t)(depth * across) * t->element);
    for (int64_t l = 0; l < depth; l++)
        for (int64_t i = 0; i < cols; i++)
            memcpy(to + (l * across + i) * 16, from + (i * stride + l * depth_stride) * 16, 16);
}

/* Whether a column of the matrix begins where its slice does, or ends there if its rows are in
 * reverse order. */
static int is_same(const hs__matrix *from, int64_t col, const char *slice)
{
    return hs__at(from, 0, col) == slice || hs__at(from, from->rows - 1, col) == slice;
}

void hs__columns_load(const hs__column_type *t, hs__matrix from, int64_t first,
                      const hs__columns *block, const double *factor, char *work, hs__member *self)
{
    const int64_t across = t->slice.across;
    const int64_t e = (int64_t)t->element;
    for (int64_t j = 0; j < block->cols && !hs__attend(self); j += across) {
        char *slice = hs__slice_at(t, block, j);
        const int64_t cols = hs__min(across, block->cols - j);
        const int same = is_same(&from, j, slice);
        const int64_t skipped = same ? 0 : first;
        const hs__matrix to = {
            same ? work : slice + skipped * across * e, e, block->m - skipped, across, across, 1};
        hs__to_rows(t, cols, to.rows, hs__at(&from, skipped, j), from.col_stride, from.row_stride,
                    to.data);
        if (factor) hs__scale(t->dtype, &to, factor);
        if (same) memcpy(slice, work, (size_t)(block->m * across * e));
    }
}

/* Writes `count` elements to a column of a matrix. */
static void put_elements(const hs__matrix *to, int64_t row, int64_t col, int64_t count,
                         const char *from)
{
    const ptrdiff_t e = to->element;
    char *column = hs__at(to, row, col);
    if (to->row_stride == 1) memcpy(column, from, (size_t)(count * e));
    else
        for (int64_t q = 0; q < count; q++)
            memcpy(column + e * q * to->row_stride, from + q * e, (size_t)e);
}

/* Copies a square of a slice, or its first rows and columns, to a matrix at (row, col). lower: only
 * its lower triangle. */
static void put_square(const hs__column_type *t, const char *from, int64_t rows, int64_t cols,
                       const hs__matrix *to, int64_t row, int64_t col, int lower, char *square)
{
    const int64_t across = t->slice.across;
    const int64_t e = (int64_t)t->element;
    hs__to_rows(t, rows, across, from, across, 1, square);
    /* for these short lines, hs__copy would take a hundredth of the whole time */
    for (int64_t l = 0; l < cols; l++) {
        const int64_t above = lower ? l : 0;
        if (above < rows)
            put_elements(to, row + above, col + l, rows - above, square + (l * across + above) * e);
    }
}

void hs__columns_copy(const hs__column_type *t, const hs__columns *block, int64_t first,
                      hs__matrix to, char *square, hs__member *self)
{
    const int64_t across = t->slice.across;
    const int64_t e = (int64_t)t->element;
    for (int64_t j = 0; j < block->cols && !hs__attend(self); j += across) {
        const char *slice = hs__slice_at(t, block, j);
        for (int64_t i = first; i < block->m; i += across)
            put_square(t, slice + i * across * e, hs__min(across, block->m - i),
                       hs__min(across, block->cols - j), &to, i - first, j, 0, square);
    }
}

static void clear_elements(const hs__matrix *to, int64_t col, int64_t count)
{
    if (to->row_stride == 1) memset(hs__at(to, 0, col), 0, (size_t)(count * to->element));
    else
        for (int64_t q = 0; q < count; q++) memset(hs__at(to, q, col), 0, (size_t)to->element);
}

void hs__columns_store(const hs__column_type *t, const hs__columns *block, hs__matrix to,
                       hs__kept kept, int64_t diagonal, int64_t first, int64_t count,
                       const int32_t *pivots, char *work, hs__member *self)
{
    const int64_t m = block->m;
    const int64_t across = t->slice.across;
    const int64_t e = (int64_t)t->element;
    char *square = work + hs__slice_bytes(t, m);
    int32_t *rows = (int32_t *)(void *)(square + across * across * e);
    for (int64_t i = 0; i < m && count; i++) rows[i] = (int32_t)i;
    for (int64_t i = first; i < first + count; i++) {
        const int32_t row = rows[i];
        rows[i] = rows[pivots[i]];
        rows[pivots[i]] = row;
    }
    for (int64_t j = 0; j < block->cols && !hs__attend(self); j += across) {
        const int64_t cols = hs__min(across, block->cols - j);
        const int64_t begin = kept ? diagonal + j : 0;
        const char *slice = hs__slice_at(t, block, j);
        const char *from = count || is_same(&to, j, slice) ? work : slice;
        if (count)
            for (int64_t i = 0; i < m; i++)
                memcpy(work + i * across * e, slice + rows[i] * across * e, (size_t)(across * e));
        else if (from == work)
            memcpy(work + begin * across * e, slice + begin * across * e,
                   (size_t)((m - begin) * across * e));
        for (int64_t l = 0; l < cols && kept == HS__CLEARED; l++)
            clear_elements(&to, j + l, begin + l);
        for (int64_t i = begin; i < m; i += across)
            put_square(t, from + i * across * e, hs__min(across, m - i), cols, &to, i, j,
                       kept && i == begin, square);
    }
}
