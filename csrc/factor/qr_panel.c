/* QR factorisation of a block by one thread (factor/qr_panel.h). */
#include "factor/qr_panel.h"

#include <math.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"

enum {
    TOGETHER = 256, /* columns to which reflectors are applied at a time */
    PANEL = 32,     /* columns factored by recursion if T is not wanted */
    BAND = 48       /* columns of a triangle multiplied at a time; zeros beside are skipped */
};

void hs__qr_type_init(hs__qr_type *type, int32_t dtype)
{
    *type = (hs__qr_type){
        .vector = hs__qr_vector_for(dtype), .dtype = dtype, .element = hs__element_bytes(dtype)};
}

/* The parts of the work, each beginning with a cache line: the triangle of V, two products with it,
 * a packed operand, and T if it is not wanted by the caller. */
typedef struct {
    char *triangle, *product, *turned, *packed, *t;
} work_parts;

static char *next_part(char **work, int64_t elements, size_t element)
{
    char *part = *work;
    *work += hs__round_up(elements * (int64_t)element, 64);
    return part;
}

static work_parts parts_of(const hs__qr_type *type, int64_t width, int64_t cols, char *work)
{
    const size_t e = type->element;
    work_parts p;
    p.triangle = next_part(&work, width * width, e);
    p.product = next_part(&work, width * cols, e);
    p.turned = next_part(&work, width * cols, e);
    p.packed = next_part(&work, hs__qr_packed(cols), e);
    p.t = work;
    return p;
}

size_t hs__qr_bytes(const hs__qr_type *type, int64_t cols)
{
    const int64_t most = hs__max(cols, PANEL);
    const int64_t together = hs__max(most, TOGETHER);
    const int64_t elements =
        most * most + 2 * most * together + hs__qr_packed(together) + PANEL * PANEL;
    return (size_t)elements * type->element + 6 * 64;
}

static char *element_at(const hs__qr_type *type, const void *x, int64_t ld, int64_t row,
                        int64_t col)
{
    return (char *)x + (row + col * ld) * (int64_t)type->element;
}

int hs__qr_is_finite(int32_t dtype, const void *tau)
{
    const float *one = tau;
    const double *two = tau;
    if (!(dtype & 1)) return isfinite(one[0]) && (dtype < HS_COMPLEX64 || isfinite(one[1]));
    return isfinite(two[0]) && (dtype < HS_COMPLEX64 || isfinite(two[1]));
}

/* Returns the first column in which T is not finite on its diagonal, or `width`. */
static int64_t bad_column(const hs__qr_type *type, int64_t width, const void *t, int64_t t_ld)
{
    int64_t i = 0;
    while (i < width && hs__qr_is_finite(type->dtype, element_at(type, t, t_ld, i, i))) i++;
    return i;
}

/* ---- triangles ------------------------------------------------------------------------------- */

/* Returns the size of a band. A band ends where a column with NaN begins: the zeros of a triangle
 * times NaN must not reach results that do not depend on that column. */
static int64_t band_at(int64_t i, int64_t width, int64_t bad)
{
    const int64_t most = hs__min(BAND, width - i);
    return i < bad ? hs__min(most, bad - i) : most;
}

/* to += Lᴴ c for a lower triangle. `to` is width x cols, without gaps, as in all functions here. */
static void add_lower_adjoint(const hs__qr_type *type, int64_t width, const char *l, int64_t cols,
                              const char *c, int64_t c_ld, char *to)
{
    for (int64_t i = 0; i < width; i += BAND)
        type->vector.dots(width - i, hs__min(BAND, width - i), element_at(type, l, width, i, i),
                          width, cols, element_at(type, c, c_ld, i, 0), c_ld,
                          element_at(type, to, width, i, 0), width);
}

/* c -= L w. */
static void subtract_lower(const hs__qr_type *type, int64_t width, int64_t bad, const char *l,
                           int64_t cols, const char *w, char *c, int64_t c_ld, char *packed)
{
    for (int64_t i = 0, rows; i < width; i += rows) {
        rows = band_at(i, width, bad);
        type->vector.update(rows, i + rows, element_at(type, l, width, i, 0), width, cols, w, width,
                            element_at(type, c, c_ld, i, 0), c_ld, -1, packed);
    }
}

/* to += T w, or with adjoint Tᴴ w, for an upper triangle. */
static void add_upper(const hs__qr_type *type, int64_t width, int64_t bad, const void *t,
                      int64_t t_ld, int adjoint, int64_t cols, const char *w, char *to,
                      char *packed)
{
    for (int64_t i = 0, rows; i < width; i += rows) {
        rows = band_at(i, width, bad);
        if (adjoint)
            type->vector.dots(i + rows, rows, element_at(type, t, t_ld, 0, i), t_ld, cols, w, width,
                              element_at(type, to, width, i, 0), width);
        else
            type->vector.update(rows, width - i, element_at(type, t, t_ld, i, i), t_ld, cols,
                                element_at(type, w, width, i, 0), width,
                                element_at(type, to, width, i, 0), width, 1, packed);
    }
}

/* c (rows x width) += sign x u for an upper triangle u, except its first `skipped` rows: these meet
 * columns of x that are zeros. */
static void add_times_upper(const hs__qr_type *type, int64_t rows, int64_t width, int64_t skipped,
                            int64_t bad, const void *x, int64_t ld, const void *u, int64_t u_ld,
                            void *c, int64_t c_ld, int sign, char *packed)
{
    for (int64_t j = 0, cols; j < width; j += cols) {
        cols = band_at(j, width, bad);
        if (j + cols <= skipped) continue;
        type->vector.update(rows, j + cols - skipped, element_at(type, x, ld, 0, skipped), ld, cols,
                            element_at(type, u, u_ld, skipped, j), u_ld,
                            element_at(type, c, c_ld, 0, j), c_ld, sign, packed);
    }
}

/* ---- block reflectors ------------------------------------------------------------------------ */

static void apply_together(const hs__qr_type *type, int64_t rows, int64_t width, const void *v,
                           int64_t ld, const void *t, int64_t t_ld, int adjoint, int64_t cols,
                           char *c, int64_t c_ld, const work_parts *p)
{
    const size_t bytes = (size_t)(width * cols) * type->element;
    char *v_below = element_at(type, v, ld, width, 0);
    char *c_below = element_at(type, c, c_ld, width, 0);
    memset(p->product, 0, bytes);
    memset(p->turned, 0, bytes);
    add_lower_adjoint(type, width, p->triangle, cols, c, c_ld, p->product);
    type->vector.dots(rows - width, width, v_below, ld, cols, c_below, c_ld, p->product, width);
    const int64_t bad = bad_column(type, width, t, t_ld);
    add_upper(type, width, bad, t, t_ld, adjoint, cols, p->product, p->turned, p->packed);
    subtract_lower(type, width, bad, p->triangle, cols, p->turned, c, c_ld, p->packed);
    type->vector.update(rows - width, width, v_below, ld, cols, p->turned, width, c_below, c_ld, -1,
                        p->packed);
}

void hs__qr_apply(const hs__qr_type *type, int64_t rows, int64_t width, const void *v, int64_t ld,
                  const void *t, int64_t t_ld, int adjoint, int64_t cols, void *c, int64_t c_ld,
                  void *work, hs__member *self)
{
    const work_parts p = parts_of(type, width, hs__min(cols, TOGETHER), work);
    if (width == 0 || cols == 0) return;
    type->vector.lower(width, width, v, ld, p.triangle);
    for (int64_t j = 0; j < cols; j += TOGETHER) {
        apply_together(type, rows, width, v, ld, t, t_ld, adjoint, hs__min(TOGETHER, cols - j),
                       element_at(type, c, c_ld, 0, j), c_ld, &p);
        if (self) hs__attend(self);
    }
}

/* Sets the diagonal of a matrix of zeros to ones. */
static void set_diagonal(const hs__qr_type *type, int64_t n, void *x, int64_t ld)
{
    for (int64_t i = 0; i < n; i++) hs__set_one(type->dtype, element_at(type, x, ld, i, i));
}

/* Computes columns j .. j + cols - 1 of T V1ᴴ s, where all factors are triangles. c has these
 * columns of s; of the product only the first j + cols rows count. */
static void turn_band(const hs__qr_type *type, int64_t n, int64_t j, int64_t cols, const void *t,
                      int64_t t_ld, const char *c, int64_t c_ld, const work_parts *p)
{
    const int64_t rows = j + cols;
    for (int64_t i = 0; i < rows; i += BAND)
        type->vector.dots(rows - i, hs__min(BAND, rows - i), element_at(type, p->triangle, n, i, i),
                          n, cols, element_at(type, c, c_ld, i, 0), c_ld,
                          element_at(type, p->product, n, i, j), n);
    for (int64_t i = 0; i < rows; i += BAND)
        type->vector.update(hs__min(BAND, rows - i), rows - i, element_at(type, t, t_ld, i, i),
                            t_ld, cols, element_at(type, p->product, n, i, j), n,
                            element_at(type, p->turned, n, i, j), n, 1, p->packed);
}

void hs__qr_form(const hs__qr_type *type, const hs__qr_part *part, const void *v, int64_t ld,
                 const void *t, int64_t t_ld, const void *seed, void *q, int64_t q_ld, void *work)
{
    const int64_t n = part->cols;
    const int64_t bad = bad_column(type, n, t, t_ld);
    const size_t e = type->element;
    const work_parts p = parts_of(type, n, n, work);
    if (n == 0) return;
    memset(p.product, 0, (size_t)(n * n) * e);
    memset(p.turned, 0, (size_t)(n * n) * e);
    type->vector.lower(n, n, v, ld, p.triangle);
    for (int64_t j = 0; j < n; j++) {
        char *column = element_at(type, q, q_ld, 0, j);
        memset(column, 0, (size_t)n * e);
        if (seed) memcpy(column, element_at(type, seed, n, 0, j), (size_t)(j + 1) * e);
    }
    if (!seed) set_diagonal(type, n, q, q_ld);
    for (int64_t j = 0, cols; j < n; j += cols) {
        cols = band_at(j, n, bad);
        turn_band(type, n, j, cols, t, t_ld, element_at(type, q, q_ld, 0, j), q_ld, &p);
    }
    add_times_upper(type, n, n, 0, bad, p.triangle, n, p.turned, n, q, q_ld, -1, p.packed);
}

void hs__qr_form_rows(const hs__qr_type *type, const hs__qr_part *part, int64_t first, int64_t rows,
                      const void *v, int64_t ld, const void *t, int64_t t_ld, void *q, int64_t q_ld,
                      void *work)
{
    const int64_t n = part->cols;
    const work_parts p = parts_of(type, n, n, work);
    if (n == 0) return;
    for (int64_t j = 0; j < n; j++)
        memset(element_at(type, q, q_ld, 0, j), 0, (size_t)rows * type->element);
    add_times_upper(type, rows, n, part->stair ? first / part->stair : 0,
                    bad_column(type, n, t, t_ld), element_at(type, v, ld, first, 0), ld, p.turned,
                    n, q, q_ld, -1, p.packed);
}

/* ---- factorisation --------------------------------------------------------------------------- */

typedef struct {
    const hs__qr_type *type;
    const hs__qr_part *part;
    char *x, *tau, *t, *work; /* t: of the columns from `origin` on */
    int64_t ld, t_ld, origin;
    hs__member *self;
} factoring;

static char *x_at(const factoring *f, int64_t row, int64_t col)
{
    return element_at(f->type, f->x, f->ld, row, col);
}
static char *t_at(const factoring *f, int64_t row, int64_t col)
{
    return element_at(f->type, f->t, f->t_ld, row - f->origin, col - f->origin);
}

/* Returns the rows in which columns before `end` may have elements other than zero; at least
 * `end`. */
static int64_t rows_of(const factoring *f, int64_t end)
{
    const hs__qr_part *part = f->part;
    return part->stair ? hs__min(part->rows, end * part->stair) : part->rows;
}

/* Computes the block of T that joins two neighbours: -T1 (V1ᴴ V2) T2. */
static void join_t(factoring *f, int64_t first, int64_t left, int64_t right)
{
    const hs__qr_vector *vector = &f->type->vector;
    const work_parts p = parts_of(f->type, hs__max(left, right), hs__max(left, right), f->work);
    const int64_t second = first + left;
    const int64_t rows = rows_of(f, second) - second;
    const int64_t top = hs__min(rows, right);
    const size_t bytes = (size_t)(left * right) * f->type->element;
    memset(p.product, 0, bytes);
    memset(p.turned, 0, bytes);
    f->type->vector.lower(top, right, x_at(f, second, second), f->ld, p.triangle);
    vector->dots(top, left, x_at(f, second, first), f->ld, right, p.triangle, top, p.product, left);
    vector->dots(rows - top, left, x_at(f, second + top, first), f->ld, right,
                 x_at(f, second + top, second), f->ld, p.product, left);
    add_times_upper(f->type, left, right, 0,
                    bad_column(f->type, right, t_at(f, second, second), f->t_ld), p.product, left,
                    t_at(f, second, second), f->t_ld, p.turned, left, 1, p.packed);
    for (int64_t j = 0; j < right; j++)
        memset(t_at(f, first, second + j), 0, (size_t)left * f->type->element);
    vector->update(left, left, t_at(f, first, first), f->t_ld, right, p.turned, left,
                   t_at(f, first, second), f->t_ld, -1, p.packed);
    for (int64_t j = first; j < second; j++)
        memset(t_at(f, second, j), 0, (size_t)right * f->type->element);
}

/* Factors the left half, applies it to the right half, and factors that. Returns non-zero after a
 * cancel. */
static int factor_columns(factoring *f, int64_t first, int64_t width)
{
    const hs__qr_type *type = f->type;
    if (width <= HS__QR_LEAF) {
        const int64_t rows = rows_of(f, first + width) - first;
        char *tau = f->tau + first * (int64_t)type->element;
        type->vector.leaf(rows, (int32_t)width, x_at(f, first, first), f->ld, tau);
        type->vector.leaf_t(rows, (int32_t)width, x_at(f, first, first), f->ld, tau,
                            t_at(f, first, first), f->t_ld);
        return f->self && hs__attend(f->self);
    }
    const int64_t left = hs__round_up(width / 2, HS__QR_LEAF);
    const int64_t right = width - left;
    if (factor_columns(f, first, left)) return 1;
    hs__qr_apply(type, rows_of(f, first + left) - first, left, x_at(f, first, first), f->ld,
                 t_at(f, first, first), f->t_ld, 1, right, x_at(f, first, first + left), f->ld,
                 f->work, f->self);
    if (factor_columns(f, first + left, right)) return 1;
    join_t(f, first, left, right);
    return 0;
}

int hs__qr_factor_part(const hs__qr_type *type, const hs__qr_part *part, void *x, int64_t ld,
                       void *tau, void *t, int64_t t_ld, void *work, hs__member *self)
{
    const int64_t count = part->reflectors;
    const int64_t width = t ? count : PANEL;
    const work_parts p = parts_of(type, hs__max(part->cols, PANEL),
                                  hs__max(hs__max(part->cols, PANEL), TOGETHER), work);
    factoring f = {.type = type,
                   .part = part,
                   .x = x,
                   .tau = tau,
                   .t = t ? t : p.t,
                   .work = work,
                   .ld = ld,
                   .t_ld = t ? t_ld : PANEL,
                   .self = self};
    for (int64_t first = 0; first < count; first += width) {
        const int64_t own = hs__min(width, count - first);
        const int64_t end = first + own;
        f.origin = first;
        if (factor_columns(&f, first, own)) return 1;
        hs__qr_apply(type, rows_of(&f, end) - first, own, x_at(&f, first, first), ld,
                     t_at(&f, first, first), f.t_ld, 1, part->cols - end, x_at(&f, first, end), ld,
                     work, self);
    }
    return self && hs__stopped(self);
}

int hs__qr_factor(const hs__qr_type *type, int64_t rows, int64_t cols, void *x, int64_t ld,
                  void *tau, void *t, int64_t t_ld, void *work, hs__member *self)
{
    const hs__qr_part part = {.rows = rows, .cols = cols, .reflectors = hs__min(rows, cols)};
    return hs__qr_factor_part(type, &part, x, ld, tau, t, t_ld, work, self);
}
