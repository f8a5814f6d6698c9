#include "run/lu_panel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

static hs__lu_form form(const hs__blocking *kernel, int32_t real_type, int32_t parts, int by_rows)
{
    const int turned = (kernel->prefers_rows != 0) != by_rows;
    const int32_t l_tile = turned ? kernel->tile_cols : kernel->tile_rows, u_tile = turned ? kernel->tile_rows : kernel->tile_cols;
    const hs__form fast = parts > 1 ? HS__EXPANDED : HS__REAL, slow = parts > 1 ? HS__SPLIT : HS__REAL;
    return (hs__lu_form){.turned = turned,
                         .l = {real_type, by_rows ? slow : fast, l_tile, by_rows},
                         .u = {real_type, by_rows ? fast : slow, u_tile, 0},
                         .rows = by_rows ? l_tile : l_tile / parts,
                         .across = by_rows ? u_tile / parts : u_tile};
}

void hs__lu_type_init(hs__lu_type *t, const hs__kernel *kernel, int32_t dtype)
{
    const int32_t real_type = dtype & 1, parts = 1 + (dtype >> 1);
    const hs__blocking *blocking = &kernel->real[real_type];
    *t = (hs__lu_type){.kernel = blocking, .parts = parts, .real = hs__real_bytes(dtype)};
    t->panel = form(blocking, real_type, parts, 0), t->slice = form(blocking, real_type, parts, 1);
    t->element = t->real * (size_t)parts;
    int32_t vector_bytes;
    t->vector = hs__lu_vector_for(dtype, t->panel.l.tile, t->slice.u.tile, &vector_bytes);
    t->lanes = (int32_t)hs__round_up(t->panel.u.tile, vector_bytes / (int64_t)t->real);
}

/* Of a packed operand `depth` deep: bytes of a strip of L, of columns of U. */
static int64_t l_bytes(const hs__lu_type *t, const hs__lu_form *f, int64_t depth) { return depth * t->parts * f->l.tile * (int64_t)t->real; }
static int64_t u_bytes(const hs__lu_type *t, const hs__lu_form *f, int64_t depth)
{
    return hs__round_up(depth * t->parts * f->u.tile * (int64_t)t->real, 64);
}

/* Strips of the diagonal block, and of the whole panel. */
static int64_t top_strips(const hs__lu_form *f, int64_t width) { return hs__ceil_div(width, f->rows); }
static int64_t strip_count(const hs__lu_form *f, int64_t rows, int64_t width) { return top_strips(f, width) + hs__ceil_div(rows - width, f->rows); }

size_t hs__lu_slice_bytes(const hs__lu_type *t, int64_t m) { return (size_t)hs__round_up(m * t->slice.across * (int64_t)t->element, 64); }

size_t hs__lu_panel_bytes(const hs__lu_type *t, int64_t rows, int64_t width)
{
    return (size_t)(strip_count(&t->slice, rows, width) * l_bytes(t, &t->slice, width));
}

/* A tile of the triangular solve; a micro-tile aside. */
static int64_t solve_bytes(const hs__lu_type *t) { return hs__round_up((int64_t)t->panel.rows * t->parts * t->lanes * (int64_t)t->real, 64); }

size_t hs__lu_factor_bytes(const hs__lu_type *t, int64_t rows, int64_t width)
{
    const int64_t packed = hs__ceil_div(width, t->panel.across) * u_bytes(t, &t->panel, width);
    const int64_t aside = (int64_t)t->panel.rows * t->panel.across * (int64_t)t->element;
    return (size_t)(strip_count(&t->panel, rows, width) * l_bytes(t, &t->panel, width) + packed + solve_bytes(t) + aside + 64);
}

size_t hs__lu_work_bytes(const hs__lu_type *t, int64_t m, int64_t width, int64_t cols)
{
    const size_t packed = (size_t)(hs__ceil_div(cols, t->slice.across) * u_bytes(t, &t->slice, width));
    const size_t square = (size_t)(t->slice.across * t->slice.across) * t->element;
    const size_t moved = hs__lu_slice_bytes(t, m) + square + (size_t)m * sizeof(int32_t);
    return packed > moved ? packed : moved;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* C += L U, `depth` deep, for a tile of C whose slow stride is given in elements. Full tiles are the fast way. */
static void multiply(const hs__lu_type *t, const hs__lu_form *f, int64_t rows, int64_t cols, int64_t depth, const char *l, const char *u,
                     char *c, int64_t stride, const char *next_l, const char *next_u)
{
    static const double one = 1.0;
    static const float one_f = 1.0f;
    const void *both = t->real == 8 ? (const void *)&one : (const void *)&one_f;
    const int by_rows = f == &t->slice;
    depth *= t->parts, stride *= t->parts;
    if (by_rows) cols *= t->parts;
    else rows *= t->parts;
    if (f->turned) t->kernel->run(cols, rows, depth, both, u, l, both, c, by_rows ? 1 : stride, by_rows ? stride : 1, next_u, next_l);
    else t->kernel->run(rows, cols, depth, both, l, u, both, c, by_rows ? stride : 1, by_rows ? 1 : stride, next_l, next_u);
}

/* ---- the panel in strips ---------------------------------------------------------------------------------------- */

typedef struct {
    const hs__lu_type *type;
    int64_t first, width, rows; /* as of hs__lu_panel */
    int64_t strip_bytes, count;
    char *strips, *packed, *tile, *aside;
    int32_t *pivots;
    int64_t *zero;
    hs__member *self;
} factoring;

/* Reals of one column of a strip, with its product with i. */
static int64_t column_step(const hs__lu_type *t) { return (int64_t)t->parts * t->panel.l.tile; }

static char *in_strip(const factoring *f, int64_t strip, int64_t col)
{
    return f->strips + strip * f->strip_bytes + col * column_step(f->type) * (int64_t)f->type->real;
}

static char *in_panel(const factoring *f, int64_t row, int64_t col)
{
    return in_strip(f, row / f->type->panel.rows, col) + (size_t)(row % f->type->panel.rows) * f->type->element;
}

/* Solves with the unit lower triangle of `width` rows and columns at `at`, for cols columns from col on, and packs the negative
 * result. The triangle is in one strip, or starts one. */
static void solve(factoring *f, int64_t at, int64_t width, int64_t col, int64_t cols, char *packed)
{
    const hs__lu_type *t = f->type;
    const int64_t stride = column_step(t) / t->parts;
    for (int64_t i = 0; i < width; i += t->panel.rows) {
        const int64_t h = hs__min(t->panel.rows, width - i);
        const char *l = in_panel(f, at + i, at);
        char *c = in_panel(f, at + i, col);
        if (i) multiply(t, &t->panel, h, cols, i, l, packed, c, stride, l, packed);
        t->vector.solve((int32_t)h, in_panel(f, at + i, at + i), column_step(t), (int32_t)cols, c, 1, stride,
                        packed + (size_t)(i * t->parts * t->panel.u.tile) * t->real, t->panel.u.tile, t->lanes, f->tile);
    }
}

/* Columns at + half .. at + width - 1 of the panel after its columns at .. at + half - 1. */
static void update_panel(factoring *f, int64_t at, int64_t half, int64_t width)
{
    const hs__lu_type *t = f->type;
    const int32_t rows = t->panel.rows, across = t->panel.across;
    const int64_t right = at + half, cols = width - half, bytes = u_bytes(t, &t->panel, half), stride = column_step(t) / t->parts;
    for (int64_t j = 0; j < cols; j += across) solve(f, at, half, right + j, hs__min(across, cols - j), f->packed + j / across * bytes);
    int64_t s = right / rows;
    if (right % rows) { /* rows of U and of L in one strip: aside, then those of L are added */
        for (int64_t j = 0; j < cols; j += across) {
            const int64_t n = hs__min(across, cols - j), above = right % rows * t->parts, all = (int64_t)rows * t->parts;
            memset(f->aside, 0, (size_t)(rows * n) * t->element);
            multiply(t, &t->panel, rows, n, half, in_strip(f, s, at), f->packed + j / across * bytes, f->aside, rows, f->aside, f->packed);
            for (int64_t l = 0; l < n; l++) {
                char *to = in_strip(f, s, right + j + l), *x = f->aside + (size_t)(l * rows) * t->element;
                if (t->real == 8)
                    for (int64_t i = above; i < all; i++) ((double *)to)[i] += ((const double *)x)[i];
                else
                    for (int64_t i = above; i < all; i++) ((float *)to)[i] += ((const float *)x)[i];
            }
        }
        s++;
    }
    for (; s < f->count; s++) {
        const char *l = in_strip(f, s, at);
        for (int64_t j = 0; j < cols; j += across) {
            const char *u = f->packed + j / across * bytes;
            const int ends = j + across >= cols;
            multiply(t, &t->panel, rows, hs__min(across, cols - j), half, l, u, in_strip(f, s, right + j), stride,
                     ends ? l + f->strip_bytes : l, ends ? f->packed : u + bytes);
        }
    }
}

/* 1 / pivot, of one too small for that with a power of two before. Zero has none: nothing is scaled then. */
static void invert(const hs__lu_type *t, const char *pivot, double scale[3])
{
    const double least = t->real == 8 ? DBL_MIN : FLT_MIN, power = t->real == 8 ? 0x1p200 : 0x1p60;
    double re = t->real == 8 ? ((const double *)pivot)[0] : ((const float *)pivot)[0], im = 0.0;
    if (t->parts == 2) im = t->real == 8 ? ((const double *)pivot)[1] : ((const float *)pivot)[1];
    scale[0] = 1.0, scale[1] = 1.0, scale[2] = 0.0;
    if (re == 0.0 && im == 0.0) return;
    if (fabs(re) + fabs(im) < least) scale[0] = power, re *= power, im *= power;
    if (t->parts == 1) {
        scale[1] = 1.0 / re;
    } else if (fabs(re) >= fabs(im)) { /* Smith */
        const double ratio = im / re, divisor = re + im * ratio;
        scale[1] = 1.0 / divisor, scale[2] = -ratio / divisor;
    } else {
        const double ratio = re / im, divisor = im + re * ratio;
        scale[1] = ratio / divisor, scale[2] = -1.0 / divisor;
    }
}

/* Where strip s of either form begins in the panel, and its rows. */
static int64_t row_of_strip(const factoring *f, const hs__lu_form *form, int64_t s)
{
    const int64_t top = top_strips(form, f->width);
    return s < top ? s * form->rows : f->width + (s - top) * form->rows;
}

static int64_t rows_of_strip(const factoring *f, const hs__lu_form *form, int64_t s)
{
    return hs__min(form->rows, (s < top_strips(form, f->width) ? f->width : f->rows) - row_of_strip(f, form, s));
}

/* Rows of the strips beyond the diagonal block's are those of the matrix that follow it. */
static int64_t matrix_row(const factoring *f, int64_t q)
{
    const int64_t padded = top_strips(&f->type->panel, f->width) * f->type->panel.rows;
    return f->first + (q < f->width ? q : q - padded + f->width);
}

static void factor_base(factoring *f, int64_t at, int32_t width)
{
    const hs__lu_type *t = f->type;
    const int64_t strip = at / t->panel.rows, above = strip * t->panel.rows;
    const hs__lu_strips strips = {in_strip(f, strip, at), f->count - strip, f->strip_bytes / (int64_t)t->real, column_step(t), t->panel.l.tile};
    double scale[3] = {1.0, 1.0, 0.0};
    hs__lu_largest largest = {0};
    for (int32_t j = 0; j < width; j++) {
        const int64_t own = at + j;
        t->vector.column(&strips, (int32_t)(at - above), j, 0, scale, &largest);
        const int64_t pivot = above + largest.row;
        f->pivots[f->first + own] = (int32_t)matrix_row(f, pivot);
        if (pivot != own) /* of complex elements their products with i, too */
            hs__swap((ptrdiff_t)t->element, f->width * t->parts, in_panel(f, own, 0), in_panel(f, pivot, 0), t->panel.l.tile * (ptrdiff_t)t->real);
        if (largest.size == 0.0 && f->first + own < *f->zero) *f->zero = f->first + own;
        invert(t, in_panel(f, own, own), scale);
    }
    t->vector.column(&strips, (int32_t)(at - above), width, 1, scale, &largest);
}

/* Toledo (1997): the left half, what it does to the right one, the right half. Halves are whole strips, so that no range of
 * columns that is narrower than a strip has its diagonal block in two. */
static int factor(factoring *f, int64_t at, int64_t width)
{
    const int32_t rows = f->type->panel.rows;
    if (width <= HS__LU_BASE && width <= rows) {
        factor_base(f, at, (int32_t)width);
        return hs__attend(f->self);
    }
    const int64_t left = hs__round_up((width + 1) / 2, width > rows ? rows : HS__LU_BASE);
    if (factor(f, at, left)) return 1;
    update_panel(f, at, left, width);
    return factor(f, at + left, width - left);
}

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static char *slice_at(const hs__lu_type *t, const hs__lu_columns *block, int64_t col)
{
    return col + t->slice.across <= block->cols ? block->slices + (size_t)(col / t->slice.across) * hs__lu_slice_bytes(t, block->m) : block->last;
}

/* to(l, i) <- from(i, l) for l < depth rows `across` elements apart; from has strides in elements. cols <= across, the rest zero. */
static void transpose(const hs__lu_type *t, int64_t cols, int64_t depth, const char *from, int64_t stride, int64_t depth_stride, char *to)
{
    const int32_t across = t->slice.across;
    if (t->element <= 8) { /* as reals of the same size */
        const hs__pack how = {t->element == 8, HS__REAL, across, 0, 0};
        hs__pack_panels(&how, cols, depth, from, stride, depth_stride, to);
        return;
    }
    if (cols < across) memset(to, 0, (size_t)(depth * across) * t->element);
    for (int64_t l = 0; l < depth; l++)
        for (int64_t i = 0; i < cols; i++)
            memcpy(to + (l * across + i) * 16, from + (i * stride + l * depth_stride) * 16, 16);
}

void hs__lu_load(const hs__lu_type *t, hs__matrix from, const hs__lu_columns *block, char *work, hs__member *self)
{
    const size_t bytes = hs__lu_slice_bytes(t, block->m);
    for (int64_t j = 0; j < block->cols && !hs__attend(self); j += t->slice.across) {
        char *slice = slice_at(t, block, j);
        const char *source = hs__at(&from, 0, j);
        const int64_t cols = hs__min(t->slice.across, block->cols - j);
        const int same = source == slice;
        transpose(t, cols, block->m, source, from.col_stride, from.row_stride, same ? work : slice);
        if (same) memcpy(slice, work, bytes);
    }
}

void hs__lu_store(const hs__lu_type *t, const hs__lu_columns *block, hs__matrix to, int64_t first, int64_t count,
                  const int32_t *pivots, char *work, hs__member *self)
{
    const int64_t m = block->m, across = t->slice.across, e = (int64_t)t->element;
    char *square = work + hs__lu_slice_bytes(t, m);
    int32_t *rows = (int32_t *)(void *)(square + across * across * e);
    for (int64_t i = 0; i < m; i++) rows[i] = (int32_t)i;
    for (int64_t i = first; i < first + count; i++) {
        const int32_t row = rows[i];
        rows[i] = rows[pivots[i]], rows[pivots[i]] = row;
    }
    for (int64_t j = 0; j < block->cols && !hs__attend(self); j += across) {
        const int64_t cols = hs__min(across, block->cols - j);
        const char *slice = slice_at(t, block, j);
        for (int64_t i = 0; i < m; i++) memcpy(work + i * across * e, slice + rows[i] * across * e, (size_t)(across * e));
        for (int64_t i = 0; i < m; i += across) {
            const int64_t h = hs__min(across, m - i);
            transpose(t, h, across, work + i * across * e, across, 1, square);
            for (int64_t l = 0; l < cols; l++) { /* short lines: hs__copy would take a hundredth of all the time */
                char *column = hs__at(&to, i, j + l), *from = square + l * across * e;
                if (to.row_stride == 1) memcpy(column, from, (size_t)(h * e));
                else
                    for (int64_t q = 0; q < h; q++) memcpy(column + e * q * to.row_stride, from + q * e, (size_t)e);
            }
        }
    }
}

/* Rows of strip s of a form, from the slices, as it wants them. */
static void pack_strip(const factoring *f, const hs__lu_form *form, int64_t s, const hs__lu_columns *block, char *to)
{
    const hs__lu_type *t = f->type;
    const int64_t across = t->slice.across, rows = rows_of_strip(f, form, s);
    const int64_t first = (f->first + row_of_strip(f, form, s)) * across * (int64_t)t->element, column = t->parts * form->l.tile * (int64_t)t->real;
    for (int64_t j = 0; j < f->width; j += across)
        hs__pack_panels(&form->l, rows, hs__min(across, f->width - j), slice_at(t, block, j) + first, across, 1, to + j * column);
}

int hs__lu_factor(const hs__lu_type *t, const hs__lu_panel *panel, const hs__lu_columns *block, int32_t *pivots, int64_t *zero, char *work,
                  hs__member *self)
{
    const int64_t width = panel->width, across = t->slice.across, e = (int64_t)t->element;
    factoring f = {.type = t, .first = panel->first, .width = width, .rows = panel->rows, .strip_bytes = l_bytes(t, &t->panel, width),
                   .count = strip_count(&t->panel, panel->rows, width), .strips = work, .pivots = pivots, .zero = zero, .self = self};
    f.packed = work + hs__round_up(f.count * f.strip_bytes, 64);
    f.tile = f.packed + hs__ceil_div(width, t->panel.across) * u_bytes(t, &t->panel, width);
    f.aside = f.tile + solve_bytes(t);
    const hs__lu_form *const l = &t->slice;
    const int64_t size = l_bytes(t, l, width), count = strip_count(l, panel->rows, width);
    for (int64_t s = 0; s < f.count && !hs__attend(self); s++) pack_strip(&f, &t->panel, s, block, in_strip(&f, s, 0));
    if (factor(&f, 0, width)) return 1;
    for (int64_t s = 0, packed = 0; s < f.count; s++) {
        if (hs__attend(self)) return 1;
        const int64_t row = row_of_strip(&f, &t->panel, s), h = rows_of_strip(&f, &t->panel, s);
        for (int64_t j = 0; j < width; j += across)
            transpose(t, hs__min(across, width - j), h, in_strip(&f, s, j), column_step(t) / t->parts, 1,
                      slice_at(t, block, j) + (panel->first + row) * across * e);
        for (; packed < count && row_of_strip(&f, l, packed) + rows_of_strip(&f, l, packed) <= row + h; packed++)
            pack_strip(&f, l, packed, block, panel->strips + packed * size); /* what is still in the cache */
    }
    return 0;
}

/* ---- other columns ---------------------------------------------------------------------------------------------- */

/* Whether rows of U are a packed operand as they are: not if they are complex, or not aligned. */
static int is_packed(const hs__lu_type *t, const char *rows) { return t->parts == 1 && (uintptr_t)rows % 64 == 0; }

void hs__lu_update(const hs__lu_type *t, const hs__lu_panel *p, const hs__lu_columns *block, const int32_t *pivots, char *work, hs__member *self)
{
    const int32_t rows = t->slice.rows, across = t->slice.across, tile = t->slice.u.tile;
    const int64_t width = p->width, size = l_bytes(t, &t->slice, width), row_bytes = across * (int64_t)t->element, bytes = u_bytes(t, &t->slice, width);
    const int64_t top = top_strips(&t->slice, width), strips = strip_count(&t->slice, p->rows, width);
    for (int64_t j = 0; j < block->cols; j += across) {
        if (hs__attend(self)) return;
        char *slice = slice_at(t, block, j), *x = slice + p->first * row_bytes, *packed = work + j / across * bytes;
        const int direct = is_packed(t, x);
        t->vector.swap_rows(slice, tile, p->first, width, pivots);
        for (int64_t s = 0; s < top; s++) {
            const int64_t i = s * rows, h = hs__min(rows, width - i);
            const char *l = p->strips + s * size, *u = direct ? x : packed;
            char *c = x + i * row_bytes;
            if (i) multiply(t, &t->slice, h, across, i, l, u, c, across, l + size, u);
            t->vector.solve_rows((int32_t)h, l + i * t->parts * t->slice.l.tile * (int64_t)t->real, t->slice.l.tile, c, tile,
                                 packed + i * t->parts * tile * (int64_t)t->real);
            if (t->parts == 1 && !direct) memcpy(packed + i * row_bytes, c, (size_t)(h * row_bytes));
        }
    }
    /* Strips that stay in the second level cache while all slices pass. */
    const int64_t together = (int64_t)t->kernel->rows * t->kernel->depth * (int64_t)t->real / size, at_once = together < 1 ? 1 : together;
    for (int64_t s0 = top; s0 < strips; s0 += at_once) {
        const int64_t end = hs__min(s0 + at_once, strips);
        for (int64_t j = 0; j < block->cols; j += across) {
            char *slice = slice_at(t, block, j) + p->first * row_bytes;
            const char *u = is_packed(t, slice) ? slice : work + j / across * bytes;
            for (int64_t s = s0; s < end; s++) {
                const int64_t row = width + (s - top) * rows;
                const char *l = p->strips + s * size;
                multiply(t, &t->slice, hs__min(rows, p->rows - row), across, width, l, u, slice + row * row_bytes, across, l + size, u);
            }
        }
        if (hs__attend(self)) return;
    }
}
