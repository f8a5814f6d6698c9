/* Functions that several kinds of tasks share: copies of blocks, and updates with a lower triangle
 * (tasks.h). */
#include "factor/tasks.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "factor/strips.h"

void hs__invert(const hs__column_type *t, const char *pivot, double scale[3])
{
    const double least = t->real == 8 ? DBL_MIN : FLT_MIN;
    const double power = t->real == 8 ? 0x1p200 : 0x1p60;
    double re = t->real == 8 ? ((const double *)pivot)[0] : ((const float *)pivot)[0];
    double im = 0.0;
    if (t->parts == 2) im = t->real == 8 ? ((const double *)pivot)[1] : ((const float *)pivot)[1];
    scale[0] = 1.0;
    scale[1] = 1.0;
    scale[2] = 0.0;
    if (re == 0.0 && im == 0.0) return;
    if (fabs(re) + fabs(im) < least) {
        scale[0] = power;
        re *= power;
        im *= power;
    }
    if (t->parts == 1) {
        scale[1] = 1.0 / re;
    } else if (fabs(re) >= fabs(im)) { /* Smith's method */
        const double ratio = im / re;
        const double divisor = re + im * ratio;
        scale[1] = 1.0 / divisor;
        scale[2] = -ratio / divisor;
    } else {
        const double ratio = re / im;
        const double divisor = im + re * ratio;
        scale[1] = ratio / divisor;
        scale[2] = -1.0 / divisor;
    }
}

int hs__repack_strips(const hs__task_data *x, const hs__task_data *from, int32_t k, char *memory,
                      hs__member *self)
{
    (void)memory;
    return hs__strips_repack(&x->type, &x->panel[k], &from->type, &x->columns[k], self);
}

void hs__load_all(const hs__task_data *x, int32_t block, char *work, hs__member *self)
{
    hs__columns_load(&x->type, hs__block_of(x, &x->given, block), 0, &x->columns[block], x->factor,
                     work, self);
}

void hs__load_or_identity(const hs__task_data *x, int32_t block, char *work, hs__member *self)
{
    const hs__columns *to = &x->columns[block];
    const hs__column_type *t = &x->type;
    if (!x->identity) {
        hs__load_all(x, block, work, self);
        return;
    }
    const int64_t first = hs__block_first(&x->blocks, block);
    const int64_t across = t->slice.across;
    for (int64_t j = 0; j < to->cols && !hs__attend(self); j += across) {
        char *slice = hs__slice_at(t, to, j);
        memset(slice, 0, hs__slice_bytes(t, to->m));
        for (int64_t l = 0; l < hs__min(across, to->cols - j) && first + j + l < to->m; l++)
            hs__set_one(t->dtype, slice + ((first + j + l) * across + l) * (int64_t)t->element);
    }
}

void hs__store_all(const hs__task_data *x, int32_t block, char *work, hs__member *self)
{
    hs__columns_store(&x->type, &x->columns[block], hs__block_of(x, &x->wanted, block), HS__ALL, 0,
                      0, 0, NULL, work, self);
}

size_t hs__lower_bytes(const hs__column_type *t, int64_t m, int64_t width, int64_t cols)
{
    const size_t packed =
        (size_t)(hs__ceil_div(cols, t->slice.across) * hs__u_bytes(t, &t->slice, width));
    const size_t moved = hs__move_bytes(t, m);
    return packed > moved ? packed : moved;
}

/* Solves with the diagonal block of the panel for the block's rows beside it, in one slice. */
static void solve_slice(const hs__column_type *t, const hs__packed_panel *p, char *x,
                        const double (*scales)[3], char *packed)
{
    const int32_t rows = t->slice.rows;
    const int32_t across = t->slice.across;
    const int32_t tile = t->slice.u.tile;
    const int64_t width = p->width;
    const int64_t size = hs__l_bytes(t, &t->slice, width);
    const int64_t row_bytes = across * (int64_t)t->element;
    const int direct = hs__is_packed(t, x);
    for (int64_t s = 0, top = hs__top_strips(&t->slice, width); s < top; s++) {
        const int64_t i = s * rows;
        const int64_t h = hs__min(rows, width - i);
        const char *l = p->strips + s * size;
        const char *u = direct ? x : packed;
        char *c = x + i * row_bytes;
        if (i) hs__strip_multiply(t, &t->slice, h, across, i, l, u, c, across, l + size, u);
        t->vector.solve_rows(
            (int32_t)h, l + i * t->parts * t->slice.l.tile * (int64_t)t->real, t->slice.l.tile, c,
            tile, packed + i * t->parts * tile * (int64_t)t->real, scales ? scales + i : NULL);
        if (t->parts == 1 && !direct) memcpy(packed + i * row_bytes, c, (size_t)(h * row_bytes));
    }
}

void hs__lower_solve(const hs__column_type *t, const hs__packed_panel *p, const hs__columns *block,
                     const int32_t *pivots, const double (*scales)[3], char *work, hs__member *self)
{
    const int32_t across = t->slice.across;
    const int64_t first = p->first * across * (int64_t)t->element;
    const int64_t bytes = hs__u_bytes(t, &t->slice, p->width);
    for (int64_t j = 0; j < block->cols; j += across) {
        if (hs__attend(self)) return;
        char *slice = hs__slice_at(t, block, j);
        if (pivots) t->vector.swap_rows(slice, t->slice.u.tile, p->first, p->width, pivots);
        solve_slice(t, p, slice + first, scales, work + j / across * bytes);
    }
}

void hs__lower_prepare(const hs__column_type *t, const hs__packed_panel *p,
                       const hs__columns *block, char *work)
{
    const int32_t across = t->slice.across;
    const int64_t first = p->first * across * (int64_t)t->element;
    const int64_t bytes = hs__u_bytes(t, &t->slice, p->width);
    for (int64_t j = 0; j < block->cols; j += across) {
        const char *slice = hs__slice_at(t, block, j) + first;
        if (!hs__is_packed(t, slice))
            hs__pack_micro_panels(&t->slice.u, across, p->width, slice, 1, across,
                                  work + j / across * bytes);
    }
}

void hs__lower_rows(const hs__column_type *t, const hs__packed_panel *p, const hs__columns *block,
                    int64_t s, int64_t end, char *work, hs__member *self)
{
    const int32_t across = t->slice.across;
    const int64_t first = p->first * across * (int64_t)t->element;
    const int64_t bytes = hs__u_bytes(t, &t->slice, p->width);
    const int64_t at_once = hs__strips_at_once(t, p->width);
    for (; s < end; s += at_once) {
        for (int64_t j = 0; j < block->cols; j += across) {
            char *slice = hs__slice_at(t, block, j) + first;
            hs__subtract(t, p, s, hs__min(s + at_once, end), slice,
                         hs__is_packed(t, slice) ? slice : work + j / across * bytes);
        }
        if (hs__attend(self)) return;
    }
}

void hs__lower_update(const hs__column_type *t, const hs__packed_panel *p, const hs__columns *block,
                      const int32_t *pivots, const double (*scales)[3], char *work,
                      hs__member *self)
{
    hs__lower_solve(t, p, block, pivots, scales, work, self);
    if (hs__stopped(self)) return;
    hs__lower_rows(t, p, block, hs__top_strips(&t->slice, p->width),
                   hs__strip_count(&t->slice, p->rows, p->width), work, self);
}
