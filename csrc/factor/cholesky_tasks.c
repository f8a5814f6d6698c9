/* Cholesky factorisation A = L L^H; of A the lower triangle is read. Panels are factored in strips,
 * and updates change each column from its diagonal on. */
#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "factor/strips.h"
#include "factor/tasks.h"

typedef struct {
    hs__halving halving;
    hs__task_data *x;
} factoring;

static double get_part(const hs__column_type *t, const char *at, int part)
{
    return t->real == 8 ? ((const double *)(const void *)at)[part]
                        : (double)((const float *)(const void *)at)[part];
}

static void set_part(const hs__column_type *t, char *at, int32_t index, double value)
{
    if (t->real == 8) ((double *)(void *)at)[index] = value;
    else ((float *)(void *)at)[index] = (float)value;
}

/* Packs minus the rows of U = L^H: the rows of L in columns at .. at + half - 1, conjugated. */
static void rows_of_u(const hs__halving *h, int64_t at, int64_t half, int64_t width)
{
    const hs__panel_strips *f = h->strips;
    const hs__column_type *t = f->type;
    const int32_t across = t->panel.across;
    const int32_t tile = t->panel.u.tile;
    const int32_t parts = t->parts;
    const int64_t right = at + half;
    const int64_t cols = width - half;
    const int64_t bytes = hs__u_bytes(t, &t->panel, half);
    for (int64_t j = 0; j < cols; j += across) {
        char *to = f->packed + j / across * bytes;
        const int64_t n = hs__min(across, cols - j);
        memset(to, 0, (size_t)bytes);
        for (int64_t l = 0; l < half; l++)
            for (int64_t i = 0; i < n; i++) {
                const char *from = hs__in_panel(f, right + j + i, at + l);
                set_part(t, to, (int32_t)(l * parts * tile + i), -get_part(t, from, 0));
                if (parts == 2)
                    set_part(t, to, (int32_t)((l * parts + 1) * tile + i), get_part(t, from, 1));
            }
    }
}

/* Writes the finished columns of a diagonal block to their places in the panel. */
static void put_back(const hs__panel_strips *f, int64_t at, int32_t width,
                     double (*l)[HS__BASE_COLUMNS][2])
{
    const hs__column_type *t = f->type;
    for (int32_t i = 0; i < width; i++)
        for (int32_t j = 0; j <= i; j++) {
            char *to = hs__in_panel(f, at + i, at + j);
            for (int q = 0; q < t->parts; q++) set_part(t, to, q, l[i][j][q]);
            if (t->parts == 1) continue;
            set_part(t, to, t->panel.l.tile, -l[i][j][1]);
            set_part(t, to, t->panel.l.tile + 1, l[i][j][0]);
        }
}

/* Factors the diagonal block element by element, then the rows below it in whole strips. */
static void factor_base(const hs__halving *halving, int64_t at, int32_t width)
{
    const hs__panel_strips *f = halving->strips;
    const hs__column_type *t = f->type;
    hs__task_data *x = ((const factoring *)(const void *)halving)->x;
    double l[HS__BASE_COLUMNS][HS__BASE_COLUMNS][2], inverse[HS__BASE_COLUMNS][2];
    const int precise = t->real == 8;
    const int complex = t->parts == 2;
    for (int32_t j = 0; j < width; j++) {
        for (int32_t i = j; i < width; i++) {
            const char *from = hs__in_panel(f, at + i, at + j);
            double re = get_part(t, from, 0);
            double im = complex && i > j ? get_part(t, from, 1) : 0.0;
            for (int32_t k = 0; k < j; k++) {
                const double *a = l[i][k];
                const double *b = l[j][k];
                re -= a[0] * b[0] + a[1] * b[1];
                im -= a[1] * b[0] - a[0] * b[1];
            }
            l[i][j][0] = re;
            l[i][j][1] = im;
        }
        double pivot = l[j][j][0];
        if (!(pivot > 0.0) || (!precise && !((float)pivot > 0.0f))) {
            hs__fail(x, f->first + at + j);
            put_back(f, at, j, l);
            return;
        }
        pivot = sqrt(pivot);
        if (!precise) pivot = (float)pivot;
        for (int32_t i = j + 1; i < width; i++)
            for (int q = 0; q < 2; q++)
                l[i][j][q] = precise ? l[i][j][q] / pivot : (double)(float)(l[i][j][q] / pivot);
        l[j][j][0] = pivot;
        l[j][j][1] = 0.0;
        double scale[3];
        _Alignas(8) char one[8];
        set_part(t, one, 0, pivot);
        hs__column_type real = *t;
        real.parts = 1;
        hs__invert(&real, one, scale);
        inverse[j][0] = scale[0];
        inverse[j][1] = scale[1];
    }
    _Alignas(16) char triangle[HS__BASE_COLUMNS * HS__BASE_COLUMNS * 16];
    _Alignas(16) char scales[HS__BASE_COLUMNS * 16];
    for (int32_t i = 0; i < width; i++) {
        for (int q = 0; q < 2; q++) set_part(t, scales, 2 * i + q, inverse[i][q]);
        for (int32_t j = 0; j <= i; j++)
            for (int q = 0; q < t->parts; q++) {
                set_part(t, triangle, (i * HS__BASE_COLUMNS + j) * t->parts + q, l[i][j][q]);
            }
    }
    const int64_t strip = at / t->panel.rows;
    const hs__strips strips = {hs__in_strip(f, strip, at), f->count - strip,
                               f->strip_bytes / (int64_t)t->real, hs__column_step(t),
                               t->panel.l.tile};
    t->vector.strip_solve(&strips, width, triangle, scales);
    put_back(f, at, width, l);
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

static int has_failed(const hs__task_data *x)
{
    return atomic_load_explicit(x->failed, memory_order_relaxed) < INT64_MAX;
}

/* Packs `count` columns of U = L^H. They are rows of L, from `row` on, in the slices of the panel's
 * block, which have the type `from`. */
static void pack_u(const hs__column_type *t, const hs__column_type *from, const hs__columns *panel,
                   int64_t width, int64_t row, int64_t count, char *packed)
{
    hs__pack how = t->slice.u;
    how.conjugate = 1;
    const int64_t across = from->slice.across;
    const int64_t e = (int64_t)t->element;
    const int64_t step = (int64_t)t->parts * t->slice.u.tile * (int64_t)t->real;
    for (int64_t l = 0; l < width; l += across) {
        const char *rows = hs__slice_at(from, panel, l) + row * across * e;
        const int64_t depth = hs__min(across, width - l);
        hs__pack_micro_panels(&how, count, depth, rows, across, 1, packed + l * step);
    }
}

static void prepare_rows(const hs__task_data *x, int32_t k, int32_t block, char *work)
{
    const hs__column_type *t = &x->type;
    const int64_t across = t->slice.across;
    const int64_t width = x->panel[k].width;
    const int64_t bytes = hs__u_bytes(t, &t->slice, width);
    const int64_t cols = x->columns[block].cols;
    const int64_t row = hs__block_first(&x->blocks, block);
    if (has_failed(x)) return;
    for (int64_t j = 0; j < cols; j += across)
        pack_u(t, x->types[k], &x->columns[k], width, row + j, hs__min(across, cols - j),
               work + j / across * bytes);
}

/* Updates each slice from its diagonal on. */
static void update_rows(const hs__task_data *x, int32_t k, int32_t block, int64_t first,
                        int64_t last, char *work, hs__member *self)
{
    const hs__column_type *t = &x->type;
    const hs__packed_panel *p = &x->panel[k];
    const hs__columns *to = &x->columns[block];
    const int64_t across = t->slice.across;
    const int64_t bytes = hs__u_bytes(t, &t->slice, p->width);
    const int64_t at_once = hs__strips_at_once(t, p->width);
    const int64_t top = hs__top_strips(&t->slice, p->width);
    const int64_t below = hs__block_first(&x->blocks, block) - p->first - p->width;
    if (has_failed(x)) return;
    for (int64_t s = first; s < last; s += at_once) {
        for (int64_t j = 0; j < to->cols; j += across) {
            const int64_t diagonal = top + (below + j) / t->slice.rows;
            const int64_t end = hs__min(s + at_once, last);
            hs__subtract(t, p, hs__max(diagonal, s), end,
                         hs__slice_at(t, to, j) + p->first * across * (int64_t)t->element,
                         work + j / across * bytes);
        }
        if (hs__attend(self)) return;
    }
}

static void update_block(const hs__task_data *x, int32_t k, int32_t block, char *work,
                         hs__member *self)
{
    const hs__packed_panel *p = &x->panel[k];
    const int64_t below = hs__block_first(&x->blocks, block) - p->first - p->width;
    prepare_rows(x, k, block, work);
    if (hs__attend(self)) return;
    update_rows(x, k, block, hs__top_strips(&x->type.slice, p->width) + below / x->type.slice.rows,
                hs__strip_count(&x->type.slice, p->rows, p->width), work, self);
}

static void load_block(const hs__task_data *x, int32_t block, char *work, hs__member *self)
{
    hs__columns_load(&x->type, hs__block_of(x, &x->given, block),
                     hs__block_first(&x->blocks, block), &x->columns[block], NULL, work, self);
}

static void store_block(const hs__task_data *x, int32_t block, char *work, hs__member *self)
{
    hs__columns_store(&x->type, &x->columns[block], hs__block_of(x, &x->wanted, block), x->kept,
                      hs__block_first(&x->blocks, block), 0, 0, NULL, work, self);
}

const hs__task_kind hs__cholesky_tasks = {.panel_bytes = hs__strips_bytes,
                                          .make_bytes = hs__panel_strips_bytes,
                                          .work_bytes = hs__lower_bytes,
                                          .load = load_block,
                                          .factor = factor_panel,
                                          .repack = hs__repack_strips,
                                          .update = update_block,
                                          .store = store_block,
                                          .prepare = prepare_rows,
                                          .rows = update_rows};
