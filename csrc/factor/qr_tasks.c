/* QR factorisation by block reflectors: I - V T V^H of each panel is applied to columns in slices.
 * Also multiplies by Q. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "factor/qr_panel.h"
#include "factor/tasks.h"

/* The parts of a packed panel: minus V in strips (see hs__packed_panel), V^H in strips `rows` deep,
 * T or T^H in strips `width` deep, and then T column by column. */
typedef struct {
    char *v, *adjoint, *t, *plain;
} packed_parts;

static int64_t adjoint_strip(const hs__column_type *t, int64_t rows)
{
    return hs__round_up(hs__l_bytes(t, &t->slice, rows), 64);
}
static int64_t t_strip(const hs__column_type *t, int64_t width)
{
    return hs__l_bytes(t, &t->slice, width);
}

static size_t panel_bytes(const hs__column_type *t, int64_t rows, int64_t width)
{
    const int64_t strips = hs__top_strips(&t->slice, width);
    const int64_t before = hs__round_up((int64_t)hs__strips_bytes(t, rows, width), 64) +
                           strips * (adjoint_strip(t, rows) + t_strip(t, width));
    return (size_t)(before + width * width * (int64_t)t->element);
}

static packed_parts packed_of(const hs__column_type *t, const hs__packed_panel *p)
{
    const int64_t strips = hs__top_strips(&t->slice, p->width);
    packed_parts x = {.v = p->strips,
                      .adjoint = p->strips +
                                 hs__round_up((int64_t)hs__strips_bytes(t, p->rows, p->width), 64)};
    x.t = x.adjoint + strips * adjoint_strip(t, p->rows);
    x.plain = x.t + strips * t_strip(t, p->width);
    return x;
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Memory for a panel: V column by column; T; a square; work for hs__qr_factor. */
typedef struct {
    hs__qr_type type;
    char *v, *t, *square, *work;
} reflectors;

static int64_t align_bytes(int64_t bytes) { return hs__round_up(bytes, 64); }

static size_t make_bytes(const hs__column_type *t, int64_t rows, int64_t width)
{
    hs__qr_type type;
    hs__qr_type_init(&type, t->dtype);
    const int64_t e = (int64_t)t->element;
    const int64_t across = t->slice.across;
    return (size_t)(align_bytes(rows * width * e) + align_bytes(width * width * e) +
                    align_bytes(across * across * e)) +
           hs__qr_bytes(&type, width);
}

static reflectors reflectors_in(const hs__column_type *t, const hs__packed_panel *p, char *memory)
{
    const int64_t e = (int64_t)t->element;
    reflectors r = {.v = memory};
    hs__qr_type_init(&r.type, t->dtype);
    r.t = r.v + align_bytes(p->rows * p->width * e);
    r.square = r.t + align_bytes(p->width * p->width * e);
    r.work = r.square + align_bytes((int64_t)t->slice.across * t->slice.across * e);
    return r;
}

/* Packs V and T. Elements of V on and above the diagonal are first replaced by ones and zeros.
 * Returns non-zero after a cancel. */
static int pack_panel(const hs__column_type *t, const hs__packed_panel *p, const reflectors *r,
                      int adjoint, hs__member *self)
{
    const hs__strip_form *f = &t->slice;
    const int64_t e = (int64_t)t->element;
    const int64_t rows = p->rows;
    const int64_t width = p->width;
    const int64_t size = hs__l_bytes(t, f, width);
    const packed_parts to = packed_of(t, p);
    hs__pack plain = f->l;
    hs__pack conjugate = f->l;
    plain.negative = conjugate.negative = 0;
    conjugate.conjugate = 1;
    for (int64_t j = 0; j < width; j++) {
        memset(r->v + j * rows * e, 0, (size_t)(j * e));
        hs__set_one(t->dtype, r->v + (j * rows + j) * e);
    }
    for (int64_t s = 0, count = hs__strip_count(f, rows, width); s < count; s++) {
        if (hs__attend(self)) return 1;
        hs__pack_micro_panels(&f->l, hs__rows_of_strip(f, rows, width, s), width,
                              r->v + hs__row_of_strip(f, width, s) * e, 1, rows, to.v + s * size);
    }
    for (int64_t s = 0, i = 0; i < width; s++, i += f->rows) {
        if (hs__attend(self)) return 1;
        const int64_t h = hs__min(f->rows, width - i);
        hs__pack_micro_panels(&conjugate, h, rows, r->v + i * rows * e, rows, 1,
                              to.adjoint + s * adjoint_strip(t, rows));
        hs__pack_micro_panels(adjoint ? &conjugate : &plain, h, width,
                              r->t + i * (adjoint ? width : 1) * e, adjoint ? width : 1,
                              adjoint ? 1 : width, to.t + s * t_strip(t, width));
    }
    return 0;
}

static int factor_panel(hs__task_data *x, int32_t k, char *memory, hs__member *self)
{
    const hs__column_type *t = &x->type;
    const hs__packed_panel *p = &x->panel[k];
    const hs__columns *block = &x->columns[k];
    const reflectors r = reflectors_in(t, p, memory);
    const int64_t e = (int64_t)t->element;
    const int64_t across = t->slice.across;
    const hs__columns own = {block->slices, block->last, block->m, p->width};
    hs__columns_copy(t, &own, p->first, (hs__matrix){r.v, e, p->rows, p->width, 1, p->rows},
                     r.square, self);
    if (hs__qr_factor(&r.type, p->rows, p->width, r.v, p->rows, x->tau + p->first * e, r.t,
                      p->width, r.work, self))
        return 1;
    for (int64_t j = 0; j < p->width; j += across)
        hs__to_rows(t, hs__min(across, p->width - j), p->rows, r.v + j * p->rows * e, p->rows, 1,
                    hs__slice_at(t, block, j) + p->first * across * e);
    memcpy(packed_of(t, p).plain, r.t, (size_t)(p->width * p->width * e));
    return pack_panel(t, p, &r, 1, self);
}

static int repack_panel(const hs__task_data *x, const hs__task_data *from, int32_t k, char *memory,
                        hs__member *self)
{
    const hs__column_type *t = &x->type;
    const hs__packed_panel *p = &x->panel[k];
    const hs__columns *block = &x->columns[k];
    const hs__columns own = {block->slices, block->last, block->m, p->width};
    reflectors r = reflectors_in(&from->type, p, memory);
    hs__columns_copy(&from->type, &own, p->first,
                     (hs__matrix){r.v, (int64_t)t->element, p->rows, p->width, 1, p->rows},
                     r.square, self);
    if (hs__stopped(self)) return 1;
    r.t = packed_of(&from->type, &from->panel[k]).plain;
    return pack_panel(t, p, &r, 1, self);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Returns the depth of a product that stays in the L1 cache. */
static int64_t depth_of(const hs__column_type *t) { return t->kernel->depth / t->parts; }

/* For each slice of a block W = V^H C as computed, and T^H W packed; besides, memory for one more
 * W, and for packed rows of C. */
typedef struct {
    int64_t w_bytes, u_bytes;
    char *w, *u, *one, *rows;
} update_memory;

static update_memory sizes_of(const hs__column_type *t, int64_t width)
{
    return (update_memory){.w_bytes = align_bytes(width * t->slice.across * (int64_t)t->element),
                           .u_bytes = hs__u_bytes(t, &t->slice, width)};
}

static update_memory products_in(const hs__column_type *t, int64_t width, int64_t cols, char *work)
{
    const int64_t slices = hs__ceil_div(cols, t->slice.across);
    update_memory x = sizes_of(t, width);
    x.w = work;
    x.u = x.w + slices * x.w_bytes;
    x.one = x.u + slices * x.u_bytes;
    x.rows = x.one + x.w_bytes;
    return x;
}

static size_t work_bytes(const hs__column_type *t, int64_t m, int64_t width, int64_t cols)
{
    const update_memory x = sizes_of(t, width);
    const int64_t slices = hs__ceil_div(cols, t->slice.across);
    const int64_t depth = hs__max(hs__min(depth_of(t), m), width);
    const int64_t rows = hs__u_bytes(t, &t->slice, depth);
    const size_t moved = hs__move_bytes(t, m);
    const size_t all = (size_t)(slices * (x.w_bytes + x.u_bytes) + x.w_bytes + rows);
    return all > moved ? all : moved;
}

/* Returns rows of a slice as a packed operand; they are packed to `scratch` if needed. */
static const char *packed_operand(const hs__column_type *t, const char *rows, int64_t depth,
                                  char *scratch)
{
    if (hs__is_packed(t, rows)) return rows;
    hs__pack_micro_panels(&t->slice.u, t->slice.across, depth, rows, 1, t->slice.across, scratch);
    return scratch;
}

/* W <- W + V^H C for rows r .. r + depth - 1 of the panel. */
static void add_projection(const hs__column_type *t, const hs__packed_panel *p, int64_t r,
                           int64_t depth, const char *u, char *w)
{
    const hs__strip_form *f = &t->slice;
    const int64_t size = adjoint_strip(t, p->rows);
    const int64_t at = hs__l_bytes(t, f, r);
    const int64_t row = f->across * (int64_t)t->element;
    const char *l = packed_of(t, p).adjoint + at;
    for (int64_t i = 0; i < p->width; i += f->rows, l += size)
        hs__strip_multiply(t, f, hs__min(f->rows, p->width - i), f->across, depth, l, u,
                           w + i * row, f->across, l + size, u);
}

/* Packs the product of T and W. T is upper triangular, or as its adjoint lower triangular. */
static void multiply_by_t(const hs__column_type *t, const hs__packed_panel *p, int adjoint,
                          const char *w, const update_memory *x, char *to)
{
    const hs__strip_form *f = &t->slice;
    const int64_t row = f->across * (int64_t)t->element;
    const int64_t size = t_strip(t, p->width);
    const int64_t step = hs__l_bytes(t, f, 1);
    const int64_t u_step = (int64_t)t->parts * f->u.tile * (int64_t)t->real;
    const char *u = packed_operand(t, w, p->width, x->rows);
    const char *l = packed_of(t, p).t;
    char *result = t->parts == 1 ? to : x->one;
    memset(result, 0, (size_t)(p->width * row));
    for (int64_t i = 0; i < p->width; i += f->rows, l += size) {
        const int64_t h = hs__min(f->rows, p->width - i);
        const int64_t first = adjoint ? 0 : i;
        const int64_t depth = adjoint ? i + h : p->width - i;
        hs__strip_multiply(t, f, h, f->across, depth, l + first * step, u + first * u_step,
                           result + i * row, f->across, l + size, u);
    }
    if (t->parts == 2) hs__pack_micro_panels(&f->u, f->across, p->width, result, 1, f->across, to);
}

/* U = T^H V^H C, or T V^H C without the adjoint, for the columns of a block; to x->u. */
static void make_u(const hs__column_type *t, const hs__packed_panel *p, const hs__columns *block,
                   int adjoint, const update_memory *x, hs__member *self)
{
    const int64_t across = t->slice.across;
    const int64_t row = across * (int64_t)t->element;
    const int64_t first = p->first * row;
    const int64_t most = depth_of(t);
    memset(x->w, 0, (size_t)(hs__ceil_div(block->cols, across) * x->w_bytes));
    for (int64_t r = 0; r < p->rows; r += most) {
        const int64_t depth = hs__min(most, p->rows - r);
        for (int64_t j = 0; j < block->cols; j += across)
            add_projection(
                t, p, r, depth,
                packed_operand(t, hs__slice_at(t, block, j) + first + r * row, depth, x->rows),
                x->w + j / across * x->w_bytes);
        if (hs__attend(self)) return;
    }
    for (int64_t j = 0; j < block->cols; j += across)
        multiply_by_t(t, p, adjoint, x->w + j / across * x->w_bytes, x,
                      x->u + j / across * x->u_bytes);
}

/* C <- C - V U for strips s0 .. last - 1 of V. */
static void subtract_product(const hs__column_type *t, const hs__packed_panel *p,
                             const hs__columns *block, const char *all, int64_t s0, int64_t last,
                             hs__member *self)
{
    const hs__strip_form *f = &t->slice;
    const int64_t across = f->across;
    const int64_t row = across * (int64_t)t->element;
    const int64_t top = hs__top_strips(f, p->width);
    const int64_t at_once = hs__strips_at_once(t, p->width);
    for (; s0 < last; s0 += at_once) {
        const int64_t end = hs__min(s0 + at_once, last);
        for (int64_t j = 0; j < block->cols; j += across) {
            char *slice = hs__slice_at(t, block, j) + p->first * row;
            const char *u = all + j / across * hs__u_bytes(t, f, p->width);
            /* The strips of the diagonal block are a triangle. */
            for (int64_t s = s0; s < top && s < end; s++) {
                const int64_t i = s * f->rows;
                const int64_t h = hs__min(f->rows, p->width - i);
                const char *l = p->strips + s * hs__l_bytes(t, f, p->width);
                hs__strip_multiply(t, f, h, across, i + h, l, u, slice + i * row, across, l, u);
            }
            if (end > top) hs__subtract(t, p, hs__max(s0, top), end, slice, u);
        }
        if (hs__attend(self)) return;
    }
}

/* C <- (I - V T V^H)^H C, or without the adjoint, for the columns of a block. */
static void apply_panel(const hs__column_type *t, const hs__packed_panel *p,
                        const hs__columns *block, int adjoint, char *work, hs__member *self)
{
    const update_memory x = products_in(t, p->width, block->cols, work);
    make_u(t, p, block, adjoint, &x, self);
    if (!hs__stopped(self))
        subtract_product(t, p, block, x.u, 0, hs__strip_count(&t->slice, p->rows, p->width), self);
}

static void update_block(const hs__task_data *x, int32_t k, int32_t block, char *work,
                         hs__member *self)
{
    apply_panel(&x->type, &x->panel[k], &x->columns[block], 1, work, self);
}

static size_t held_bytes(const hs__column_type *t, int64_t width, int64_t cols)
{
    return (size_t)(hs__ceil_div(cols, t->slice.across) * hs__u_bytes(t, &t->slice, width));
}

static void update_head(const hs__task_data *x, int32_t k, int32_t block, char *work,
                        hs__member *self)
{
    const hs__column_type *t = &x->type;
    const hs__packed_panel *p = &x->panel[k];
    const hs__columns *columns = &x->columns[block];
    update_memory parts = products_in(t, p->width, columns->cols, work);
    parts.u = x->held[block];
    make_u(t, p, columns, 1, &parts, self);
    if (!hs__stopped(self))
        subtract_product(t, p, columns, parts.u, 0, hs__top_strips(&t->slice, p->width), self);
}

static void update_rows(const hs__task_data *x, int32_t k, int32_t block, int64_t first,
                        int64_t end, char *work, hs__member *self)
{
    (void)work;
    subtract_product(&x->type, &x->panel[k], &x->columns[block], x->held[block], first, end, self);
}

const hs__task_kind hs__qr_tasks = {.panel_bytes = panel_bytes,
                                    .make_bytes = make_bytes,
                                    .work_bytes = work_bytes,
                                    .load = hs__load_all,
                                    .factor = factor_panel,
                                    .repack = repack_panel,
                                    .update = update_block,
                                    .store = hs__store_all,
                                    .held_bytes = held_bytes,
                                    .head = update_head,
                                    .rows = update_rows};

/* ---- the product with Q ---------------------------------------------------------------------- */

/* Computes T as LAPACK's larft does, from V, a unit lower trapezium, and tau. */
#define DEFINE_COLUMNS_OF_T(NAME, TYPE)                                              \
    static void NAME(int64_t width, const TYPE *tau, TYPE *t)                        \
    {                                                                                \
        for (int64_t i = 0; i < width; i++) {                                        \
            TYPE *column = t + i * width; /* V^H v above the diagonal */             \
            for (int64_t j = 0; j < i; j++) {                                        \
                TYPE sum = 0;                                                        \
                for (int64_t l = j; l < i; l++) sum += t[j + l * width] * column[l]; \
                column[j] = -tau[i] * sum;                                           \
            }                                                                        \
            column[i] = tau[i];                                                      \
            for (int64_t j = i + 1; j < width; j++) column[j] = 0;                   \
        }                                                                            \
    }
DEFINE_COLUMNS_OF_T(t_float, float)
DEFINE_COLUMNS_OF_T(t_double, double)
DEFINE_COLUMNS_OF_T(t_complex_float, float _Complex)
DEFINE_COLUMNS_OF_T(t_complex_double, double _Complex)

static void columns_of_t(const hs__column_type *t, int64_t width, const char *tau, char *to)
{
    if (t->dtype == HS_FLOAT32) t_float(width, (const void *)tau, (void *)to);
    else if (t->dtype == HS_FLOAT64) t_double(width, (const void *)tau, (void *)to);
    else if (t->dtype == HS_COMPLEX64) t_complex_float(width, (const void *)tau, (void *)to);
    else t_complex_double(width, (const void *)tau, (void *)to);
}

static int open_reflectors(hs__task_data *x, int32_t k, char *memory, hs__member *self)
{
    const hs__column_type *t = &x->type;
    const hs__packed_panel *p = &x->panel[k];
    const reflectors r = reflectors_in(t, p, memory);
    const int64_t e = (int64_t)t->element;
    const int64_t rows = p->rows;
    const int64_t width = p->width;
    hs__copy(self, (hs__matrix){r.v, t->element, rows, width, 1, rows},
             hs__part(&x->reflectors, p->first, p->first, rows, width));
    if (hs__stopped(self)) return 1;
    for (int64_t j = 0; j < width; j++) {
        memset(r.v + j * rows * e, 0, (size_t)(j * e));
        hs__set_one(t->dtype, r.v + (j * rows + j) * e);
    }
    memset(r.t, 0, (size_t)(width * width * e));
    r.type.vector.dots(rows, width, r.v, rows, width, r.v, rows, r.t, width);
    columns_of_t(t, width, x->tau + p->first * e, r.t);
    return pack_panel(t, p, &r, x->adjoint, self);
}

static void apply_reflectors(const hs__task_data *x, int32_t k, int32_t block, char *work,
                             hs__member *self)
{
    apply_panel(&x->type, &x->panel[k], &x->columns[block], x->adjoint, work, self);
}

/* With the identity, panels come backwards, and a column does not change until they reach its
 * one. */
static int32_t find_first_step(const hs__task_data *x, int32_t block)
{
    const int64_t last =
        hs__block_first(&x->blocks, block) + hs__block_width(&x->blocks, block) - 1;
    return x->identity ? (int32_t)hs__max(0, x->panels - 1 - last / x->width) : 0;
}

static const hs__task_kind product_tasks = {.panel_bytes = panel_bytes,
                                            .make_bytes = make_bytes,
                                            .work_bytes = work_bytes,
                                            .load = hs__load_or_identity,
                                            .factor = open_reflectors,
                                            .update = apply_reflectors,
                                            .store = hs__store_all,
                                            .begin = find_first_step,
                                            .widest = 64}; /* wide panels take long to make */

/* Returns the number of reflectors before the first one that has seen NaN or infinities. */
static int64_t finite_reflectors(const hs_factor *qr)
{
    const int64_t count = hs__min(qr->m, qr->n);
    const int64_t e = hs__element_bytes(qr->dtype);
    int64_t i = 0;
    while (i < count && hs__qr_is_finite(qr->dtype, (const char *)qr->tau + i * e)) i++;
    return i;
}

hs_status hs_qr_multiply(hs_pool *pool, const hs_factor *qr, int32_t adjoint, int32_t identity,
                         int64_t cols, void *c, int64_t c_row_stride, int64_t c_col_stride,
                         hs_poll_function poll, void *context)
{
    if (!pool || !qr || qr->kind != HS_QR || qr->dtype < 0 || qr->dtype > 3 || qr->m < 0 ||
        qr->n < 0 || cols < 0)
        return HS_ERROR_VALUE;
    if (qr->m > INT32_MAX || qr->n > INT32_MAX || cols > INT32_MAX ||
        (adjoint != 0 && adjoint != 1) || (identity && adjoint))
        return HS_ERROR_VALUE;
    if (qr->m == 0 || cols == 0) return HS_OK;
    if (!c || (qr->n && (!qr->matrix || !qr->tau))) return HS_ERROR_VALUE;
    const ptrdiff_t e = hs__element_bytes(qr->dtype);
    const hs__matrix all = {c, e, qr->m, cols, c_row_stride, c_col_stride};
    hs__matrix to = all;
    int64_t count = hs__min(qr->m, qr->n);
    const int64_t finite = identity ? finite_reflectors(qr) : count;
    /* columns before the first bad reflector do not depend on it, all other columns do */
    if (finite < hs__min(count, cols)) {
        count = finite;
        cols = finite;
        to.cols = finite;
    }
    const hs__matrix others = hs__part(&all, 0, cols, qr->m, all.cols - cols);
    const hs_options options = {.poll = poll, .poll_context = context};
    hs__tasks tasks = hs__tasks_of(&product_tasks, pool, &options, NULL);
    tasks.volume = (double)qr->m * (double)hs__min(qr->m, qr->n) * (double)cols;
    tasks.x = (hs__task_data){.given = to,
                              .wanted = to,
                              .tau = qr->tau,
                              .identity = identity != 0,
                              .adjoint = adjoint,
                              .backwards = !adjoint};
    tasks.x.reflectors = (hs__matrix){qr->matrix, e, qr->m, qr->n, qr->row_stride, qr->col_stride};
    hs__column_type_init(&tasks.x.type, hs__kernel_current(), qr->dtype);
    /* No reflectors. */
    if (qr->n == 0 && identity) {
        hs__scale(qr->dtype, &to, (const double[2]){0.0, 0.0});
        for (int64_t i = 0; i < hs__min(qr->m, cols); i++)
            hs__set_one(tasks.x.type.dtype, hs__at(&to, i, i));
    }
    const hs_status status =
        cols ? hs__tasks_apply(&tasks, qr->m, count, cols, hs__tasks_do) : HS_OK;
    if (!status) hs__scale(qr->dtype, &others, (const double[2]){NAN, NAN});
    return status;
}
