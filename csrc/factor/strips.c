/* Copies panels to strips and back, and factors them by recursion (factor/strips.h). */
#include "factor/strips.h"

#include <string.h>

#include "core/numbers.h"

/* Returns the bytes of a tile of the triangular solve. */
static int64_t solve_bytes(const hs__column_type *t)
{
    return hs__round_up((int64_t)t->panel.rows * t->parts * t->lanes * (int64_t)t->real, 64);
}

size_t hs__panel_strips_bytes(const hs__column_type *t, int64_t rows, int64_t width)
{
    const int64_t packed = hs__ceil_div(width, t->panel.across) * hs__u_bytes(t, &t->panel, width);
    const int64_t scratch = (int64_t)t->panel.rows * t->panel.across * (int64_t)t->element;
    return (size_t)(hs__strip_count(&t->panel, rows, width) * hs__l_bytes(t, &t->panel, width) +
                    packed + solve_bytes(t) + scratch + 64);
}

/* Packs the rows of strip s from the slices, in a given form. */
static void pack_strip(const hs__panel_strips *f, const hs__strip_form *form, int64_t s,
                       const hs__columns *block, char *to)
{
    const hs__column_type *t = f->type;
    const int64_t across = t->slice.across;
    const int64_t rows = hs__rows_of_strip(form, f->rows, f->width, s);
    const int64_t first =
        (f->first + hs__row_of_strip(form, f->width, s)) * across * (int64_t)t->element;
    const int64_t column = (int64_t)t->parts * form->l.tile * (int64_t)t->real;
    for (int64_t j = 0; j < f->width; j += across)
        hs__pack_micro_panels(&form->l, rows, hs__min(across, f->width - j),
                              hs__slice_at(t, block, j) + first, across, 1, to + j * column);
}

int hs__strips_open(hs__panel_strips *strips, const hs__column_type *t,
                    const hs__packed_panel *panel, const hs__columns *block, char *work,
                    hs__member *self)
{
    *strips = (hs__panel_strips){.type = t,
                                 .first = panel->first,
                                 .width = panel->width,
                                 .rows = panel->rows,
                                 .strip_bytes = hs__l_bytes(t, &t->panel, panel->width),
                                 .count = hs__strip_count(&t->panel, panel->rows, panel->width),
                                 .strips = work,
                                 .self = self};
    strips->packed = work + hs__round_up(strips->count * strips->strip_bytes, 64);
    strips->tile = strips->packed + hs__ceil_div(panel->width, t->panel.across) *
                                        hs__u_bytes(t, &t->panel, panel->width);
    strips->scratch = strips->tile + solve_bytes(t);
    for (int64_t s = 0; s < strips->count; s++) {
        if (hs__attend(self)) return 1;
        pack_strip(strips, &t->panel, s, block, hs__in_strip(strips, s, 0));
    }
    return 0;
}

int hs__strips_close(const hs__panel_strips *strips, const hs__packed_panel *panel,
                     const hs__columns *block)
{
    const hs__column_type *t = strips->type;
    const hs__strip_form *const l = &t->slice;
    const int64_t width = strips->width;
    const int64_t across = l->across;
    const int64_t e = (int64_t)t->element;
    const int64_t size = hs__l_bytes(t, l, width);
    const int64_t count = hs__strip_count(l, panel->rows, width);
    for (int64_t s = 0, packed = 0; s < strips->count; s++) {
        if (hs__attend(strips->self)) return 1;
        const int64_t row = hs__row_of_strip(&t->panel, width, s);
        const int64_t h = hs__rows_of_strip(&t->panel, strips->rows, width, s);
        for (int64_t j = 0; j < width; j += across)
            hs__to_rows(t, hs__min(across, width - j), h, hs__in_strip(strips, s, j),
                        hs__column_step(t) / t->parts, 1,
                        hs__slice_at(t, block, j) + (panel->first + row) * across * e);
        for (; packed < count && hs__row_of_strip(l, width, packed) +
                                         hs__rows_of_strip(l, strips->rows, width, packed) <=
                                     row + h;
             packed++)
            /* rows that are still in the cache */
            pack_strip(strips, l, packed, block, panel->strips + packed * size);
    }
    return 0;
}

int hs__strips_repack(const hs__column_type *t, const hs__packed_panel *panel,
                      const hs__column_type *from, const hs__columns *block, hs__member *self)
{
    const hs__panel_strips f = {
        .type = from, .first = panel->first, .width = panel->width, .rows = panel->rows};
    const int64_t size = hs__l_bytes(t, &t->slice, panel->width);
    const int64_t count = hs__strip_count(&t->slice, panel->rows, panel->width);
    for (int64_t s = 0; s < count; s++) {
        if (hs__attend(self)) return 1;
        pack_strip(&f, &t->slice, s, block, panel->strips + s * size);
    }
    return 0;
}

void hs__strips_update(hs__panel_strips *strips, int64_t at, int64_t half, int64_t width)
{
    const hs__column_type *t = strips->type;
    const int32_t rows = t->panel.rows;
    const int32_t across = t->panel.across;
    const int64_t right = at + half;
    const int64_t cols = width - half;
    const int64_t bytes = hs__u_bytes(t, &t->panel, half);
    const int64_t stride = hs__column_step(t) / t->parts;
    int64_t s = right / rows;
    /* A strip with rows of U and of L: it is multiplied into `scratch`, then its rows of L are
     * added. */
    if (right % rows) {
        for (int64_t j = 0; j < cols; j += across) {
            const int64_t n = hs__min(across, cols - j);
            const int64_t above = right % rows * t->parts;
            const int64_t all = (int64_t)rows * t->parts;
            memset(strips->scratch, 0, (size_t)(rows * n) * t->element);
            hs__strip_multiply(t, &t->panel, rows, n, half, hs__in_strip(strips, s, at),
                               strips->packed + j / across * bytes, strips->scratch, rows,
                               strips->scratch, strips->packed);
            for (int64_t l = 0; l < n; l++) {
                char *to = hs__in_strip(strips, s, right + j + l);
                char *x = strips->scratch + (size_t)(l * rows) * t->element;
                if (t->real == 8)
                    for (int64_t i = above; i < all; i++)
                        ((double *)(void *)to)[i] += ((const double *)(const void *)x)[i];
                else
                    for (int64_t i = above; i < all; i++)
                        ((float *)(void *)to)[i] += ((const float *)(const void *)x)[i];
            }
        }
        s++;
    }
    for (; s < strips->count; s++) {
        const char *l = hs__in_strip(strips, s, at);
        for (int64_t j = 0; j < cols; j += across) {
            const char *u = strips->packed + j / across * bytes;
            const int ends = j + across >= cols;
            hs__strip_multiply(t, &t->panel, rows, hs__min(across, cols - j), half, l, u,
                               hs__in_strip(strips, s, right + j), stride,
                               ends ? l + strips->strip_bytes : l,
                               ends ? strips->packed : u + bytes);
        }
    }
}

int hs__strips_factor(const hs__halving *x, int64_t at, int64_t width)
{
    const int32_t rows = x->strips->type->panel.rows;
    if (width <= HS__BASE_COLUMNS && width <= rows) {
        x->base(x, at, (int32_t)width);
        return hs__attend(x->strips->self);
    }
    const int64_t left = hs__round_up((width + 1) / 2, width > rows ? rows : HS__BASE_COLUMNS);
    if (hs__strips_factor(x, at, left)) return 1;
    x->rows_of_u(x, at, left, width);
    hs__strips_update(x->strips, at, left, width);
    return hs__strips_factor(x, at + left, width - left);
}
