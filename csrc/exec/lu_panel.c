#include "lu_panel.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

void hs__lu_type_init(hs__lu_type *t, const hs__kernel *kernel, int32_t dtype)
{
    const int32_t real_type = dtype & 1, parts = 1 + (dtype >> 1);
    const hs__blocking *blocking = &kernel->real[real_type];
    const int32_t turned = blocking->prefers_rows != 0;
    const int32_t l_tile = turned ? blocking->tile_cols : blocking->tile_rows;
    *t = (hs__lu_type){.kernel = blocking, .parts = parts, .turned = turned, .real = real_type ? 8 : 4};
    t->strip = l_tile / parts;
    t->u_tile = t->across = turned ? blocking->tile_rows : blocking->tile_cols;
    t->element = t->real * (size_t)parts;
    t->pack = (hs__pack){real_type, parts > 1 ? HS__EXPANDED : HS__REAL, l_tile, {1.0, 0.0}};
    int32_t vector_bytes;
    t->vector = hs__lu_vector_for(dtype, l_tile, &vector_bytes);
    t->lanes = (int32_t)round_up(t->u_tile, vector_bytes / (int64_t)t->real);
}

/* Reals of one column of a strip. */
static int64_t column_step(const hs__lu_type *t) { return (int64_t)t->parts * t->pack.tile; }
static int64_t strip_bytes(const hs__lu_type *t, int64_t width) { return column_step(t) * width * (int64_t)t->real; }
static int64_t u_bytes(const hs__lu_type *t, int64_t depth) { return round_up(depth * t->parts * t->u_tile * (int64_t)t->real, 64); }

/* Strips of the diagonal block, and of the whole panel. */
static int64_t top_strips(const hs__lu_type *t, int64_t width) { return ceil_div(width, t->strip); }
static int64_t strip_count(const hs__lu_type *t, int64_t rows, int64_t width) { return top_strips(t, width) + ceil_div(rows - width, t->strip); }

size_t hs__lu_panel_bytes(const hs__lu_type *t, int64_t rows, int64_t width)
{
    return (size_t)(strip_count(t, rows, width) * strip_bytes(t, width));
}

/* The packed U; a tile of the triangular solve; a micro-tile of a complex matrix without unit row stride. */
static size_t solve_bytes(const hs__lu_type *t) { return (size_t)round_up((int64_t)t->strip * t->parts * t->lanes * (int64_t)t->real, 64); }

size_t hs__lu_work_bytes(const hs__lu_type *t, int64_t width, int64_t cols)
{
    const size_t packed = (size_t)(ceil_div(cols > width ? cols : width, t->across) * u_bytes(t, width));
    return packed + solve_bytes(t) + (size_t)t->strip * (size_t)t->across * t->element;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

static char *element(const hs__lu_type *t, hs__lu_matrix x, int64_t row, int64_t col)
{
    return x.data + (ptrdiff_t)t->element * (row * x.row_stride + col * x.col_stride);
}

/* C (rows <= strip, cols <= across) += L times the packed -U, both `depth` deep. */
static void multiply(const hs__lu_type *t, int64_t rows, int64_t cols, int64_t depth, const char *l, const char *u, hs__lu_matrix c,
                     char *aside, const char *next_l, const char *next_u)
{
    static const double ones[2] = {1.0, 1.0}, zero = 0.0;
    static const float ones_f = 1.0f;
    const void *beta = t->real == 8 ? (const void *)ones : (const void *)&ones_f;
    int64_t row_stride = c.row_stride, col_stride = c.col_stride;
    char *to = c.data;
    const int sideways = t->parts == 2 && row_stride != 1;
    if (sideways) to = aside, beta = &zero, row_stride = 1, col_stride = t->strip;
    if (t->parts == 2) rows *= 2, depth *= 2, col_stride *= 2;
    if (t->turned) t->kernel->run(cols, rows, depth, u, l, beta, to, col_stride, row_stride, next_u, next_l);
    else t->kernel->run(rows, cols, depth, l, u, beta, to, row_stride, col_stride, next_l, next_u);
    if (!sideways) return;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) { /* i counts reals */
            char *sum = element(t, c, i / 2, j) + (size_t)(i & 1) * t->real;
            if (t->real == 8) *(double *)sum += ((const double *)aside)[j * col_stride + i];
            else *(float *)sum += ((const float *)aside)[j * col_stride + i];
        }
}

/* ---- triangular solve and update -------------------------------------------------------------------------------- */

/* Solves for width rows x cols columns with the unit lower triangle at rows and columns `at` of the panel, and packs the negative
 * result into work. The rows at C are c, those of the next strips c + jump, c + 2 jump. The triangle is in one strip, or starts one. */
static void solve(const hs__lu_type *t, const hs__lu_panel *p, int64_t at, int64_t width, hs__lu_matrix c, int64_t jump, int64_t cols,
                  char *packed, char *tile)
{
    const int64_t size = strip_bytes(t, p->width), step = column_step(t) * (int64_t)t->real;
    const char *l = p->strips + at / t->strip * size + at * step;
    for (int64_t i = 0; i < width; i += t->strip, l += size, c.data += jump) {
        const int64_t h = smaller(t->strip, width - i);
        if (i) multiply(t, h, cols, i, l, packed, c, tile + solve_bytes(t), l, packed);
        const char *triangle = l + i * step + (size_t)(at % t->strip) * t->element;
        t->vector.solve((int32_t)h, triangle, column_step(t), (int32_t)cols, c.data, c.row_stride, c.col_stride,
                        packed + (size_t)(i * t->parts * t->u_tile) * t->real, t->u_tile, t->lanes, tile);
    }
}

/* A strip of the panel from a column on, as a matrix. */
static hs__lu_matrix strip_matrix(const hs__lu_type *t, const hs__lu_panel *p, int64_t strip, int64_t col)
{
    char *data = p->strips + strip * strip_bytes(t, p->width) + col * column_step(t) * (int64_t)t->real;
    return (hs__lu_matrix){data, 1, column_step(t) / t->parts};
}

/* Columns at + half .. at + width - 1 of the panel after its columns at .. at + half - 1. */
static void update_panel(const hs__lu_type *t, const hs__lu_panel *p, int64_t at, int64_t half, int64_t width, char *work, char *tile)
{
    const int64_t first = at / t->strip, right = at + half, cols = at + width - right, size = strip_bytes(t, p->width);
    const int64_t bytes = u_bytes(t, half), strips = strip_count(t, p->rows, p->width);
    for (int64_t j = 0; j < cols; j += t->across) {
        hs__lu_matrix c = strip_matrix(t, p, first, right + j);
        c.data += (size_t)(at % t->strip) * t->element;
        solve(t, p, at, half, c, size, smaller(t->across, cols - j), work + j / t->across * bytes, tile);
    }
    int64_t s = right / t->strip;
    if (right % t->strip) { /* rows of U and of L in one strip: aside, then those of L are added */
        const int64_t from = right % t->strip;
        for (int64_t j = 0; j < cols; j += t->across) {
            const int64_t n = smaller(t->across, cols - j);
            hs__lu_matrix c = strip_matrix(t, p, s, right + j), sum = {tile + solve_bytes(t), 1, t->strip};
            memset(sum.data, 0, (size_t)(t->strip * n) * t->element);
            multiply(t, t->strip, n, half, strip_matrix(t, p, s, at).data, work + j / t->across * bytes, sum, NULL, sum.data, work);
            for (int64_t l = 0; l < n; l++)
                for (int64_t i = from * t->parts; i < t->strip * t->parts; i++) {
                    char *to = c.data + (ptrdiff_t)t->element * l * c.col_stride, *x = sum.data + (ptrdiff_t)t->element * l * t->strip;
                    if (t->real == 8) ((double *)to)[i] += ((const double *)x)[i];
                    else ((float *)to)[i] += ((const float *)x)[i];
                }
        }
        s++;
    }
    for (; s < strips; s++) {
        const char *l = strip_matrix(t, p, s, at).data;
        for (int64_t j = 0; j < cols; j += t->across) {
            const char *u = work + j / t->across * bytes, *next = j + t->across < cols ? u + bytes : work;
            multiply(t, t->strip, smaller(t->across, cols - j), half, l, u, strip_matrix(t, p, s, right + j), NULL,
                     next == work ? l + size : l, next);
        }
    }
}

/* ---- the panel -------------------------------------------------------------------------------------------------- */

static void exchange_strips(const hs__lu_type *t, const hs__lu_panel *p, int64_t a, int64_t b)
{
    const int64_t size = strip_bytes(t, p->width), step = t->pack.tile * (int64_t)t->real;
    char *x = p->strips + a / t->strip * size + (size_t)(a % t->strip) * t->element;
    char *y = p->strips + b / t->strip * size + (size_t)(b % t->strip) * t->element;
    for (int64_t l = 0; l < p->width * t->parts; l++, x += step, y += step) {
        char kept[16];
        memcpy(kept, x, t->element), memcpy(x, y, t->element), memcpy(y, kept, t->element);
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

typedef struct {
    const hs__lu_type *type;
    const hs__lu_panel *panel;
    int32_t *pivots;
    int64_t *zero;
    char *work, *tile;
    hs__member *self;
} factoring;

/* The row of the matrix that is row q of the strips. */
static int64_t matrix_row(const factoring *f, int64_t q)
{
    const int64_t width = f->panel->width, padded = top_strips(f->type, width) * f->type->strip;
    return f->panel->first + (q < width ? q : q - padded + width);
}

static void factor_base(factoring *f, int64_t at, int32_t width)
{
    const hs__lu_type *t = f->type;
    const hs__lu_panel *p = f->panel;
    const int64_t first = at / t->strip, size = strip_bytes(t, p->width);
    const hs__lu_strips strips = {strip_matrix(t, p, first, at).data, strip_count(t, p->rows, p->width) - first,
                                  size / (int64_t)t->real, column_step(t), t->pack.tile};
    double scale[3] = {1.0, 1.0, 0.0};
    hs__lu_largest largest = {0};
    for (int32_t j = 0; j < width; j++) {
        t->vector.column(&strips, (int32_t)(at % t->strip), j, 0, scale, &largest);
        const int64_t own = at + j, pivot = first * t->strip + largest.row;
        f->pivots[p->first + own] = (int32_t)matrix_row(f, pivot);
        if (pivot != own) exchange_strips(t, p, own, pivot);
        const char *value = strip_matrix(t, p, own / t->strip, own).data + (size_t)(own % t->strip) * t->element;
        if (largest.size == 0.0 && p->first + own < *f->zero) *f->zero = p->first + own;
        invert(t, value, scale);
    }
    t->vector.column(&strips, (int32_t)(at % t->strip), width, 1, scale, &largest);
}

/* Toledo (1997): the left half, what it does to the right one, the right half. Halves are whole strips, so that no range of
 * columns that is narrower than a strip has its diagonal block in two. */
static int factor(factoring *f, int64_t at, int64_t width)
{
    const hs__lu_type *t = f->type;
    if (width <= HS__LU_BASE && width <= t->strip) {
        factor_base(f, at, (int32_t)width);
        return hs__attend(f->self);
    }
    const int64_t left = round_up((width + 1) / 2, width > t->strip ? t->strip : HS__LU_BASE);
    if (factor(f, at, left)) return 1;
    update_panel(t, f->panel, at, left, width, f->work, f->tile);
    return factor(f, at + left, width - left);
}

static void move_panel(const hs__lu_type *t, const hs__lu_panel *p, hs__lu_matrix matrix, int loads)
{
    const int64_t strips = strip_count(t, p->rows, p->width), top = top_strips(t, p->width);
    for (int64_t s = 0; s < strips; s++) {
        const int64_t row = s < top ? s * t->strip : p->width + (s - top) * t->strip;
        const int64_t count = smaller(t->strip, (s < top ? p->width : p->rows) - row);
        hs__lu_matrix strip = strip_matrix(t, p, s, 0), part = matrix;
        part.data = element(t, matrix, p->first + row, p->first);
        if (loads) hs__pack_panels(&t->pack, count, p->width, part.data, part.row_stride, part.col_stride, strip.data);
        else hs__lu_copy(t, count, p->width, strip, part);
    }
}

int hs__lu_panel_factor(const hs__lu_type *t, const hs__lu_panel *panel, hs__lu_matrix matrix, int32_t *pivots, int64_t *zero,
                        char *work, hs__member *self)
{
    char *tile = work + ceil_div(panel->width, t->across) * u_bytes(t, panel->width);
    factoring f = {t, panel, pivots, zero, work, tile, self};
    move_panel(t, panel, matrix, 1);
    if (factor(&f, 0, panel->width)) return 1;
    move_panel(t, panel, matrix, 0);
    return 0;
}

/* ---- other columns ---------------------------------------------------------------------------------------------- */

void hs__lu_update(const hs__lu_type *t, const hs__lu_panel *p, hs__lu_matrix matrix, int64_t col, int64_t cols, const int32_t *pivots,
                   char *work, hs__member *self)
{
    const int64_t bytes = u_bytes(t, p->width), size = strip_bytes(t, p->width);
    char *tile = work + ceil_div(cols, t->across) * bytes;
    for (int64_t j = 0; j < cols; j += t->across) {
        const int64_t n = smaller(t->across, cols - j);
        hs__lu_exchange(t, matrix, col + j, n, p->first, p->width, pivots);
        const hs__lu_matrix c = {element(t, matrix, p->first, col + j), matrix.row_stride, matrix.col_stride};
        const int64_t jump = (ptrdiff_t)t->element * t->strip * matrix.row_stride;
        solve(t, p, 0, p->width, c, jump, n, work + j / t->across * bytes, tile);
    }
    /* Strips that stay in the second level cache while all columns pass. */
    const int64_t together = (int64_t)t->kernel->rows * t->kernel->depth * (int64_t)t->real / size;
    const int64_t at_once = together < 1 ? 1 : together, top = top_strips(t, p->width), strips = strip_count(t, p->rows, p->width);
    for (int64_t s0 = top; s0 < strips; s0 += at_once) {
        const int64_t end = smaller(s0 + at_once, strips);
        for (int64_t j = 0; j < cols; j += t->across) {
            const char *u = work + j / t->across * bytes;
            for (int64_t s = s0; s < end; s++) {
                const int64_t row = p->width + (s - top) * t->strip;
                const char *l = p->strips + s * size;
                const hs__lu_matrix c = {element(t, matrix, p->first + row, col + j), matrix.row_stride, matrix.col_stride};
                multiply(t, smaller(t->strip, p->rows - row), smaller(t->across, cols - j), p->width, l, u, c, tile + solve_bytes(t),
                         s + 1 < end ? l + size : p->strips + s0 * size, s + 1 < end ? u : u + bytes);
            }
        }
        if (hs__attend(self)) return;
    }
}

void hs__lu_exchange(const hs__lu_type *t, hs__lu_matrix matrix, int64_t col, int64_t cols, int64_t first, int64_t count,
                     const int32_t *pivots)
{
    t->vector.exchange(element(t, matrix, 0, col), matrix.row_stride, matrix.col_stride, cols, first, count, pivots);
}

void hs__lu_copy(const hs__lu_type *t, int64_t rows, int64_t cols, hs__lu_matrix from, hs__lu_matrix to)
{
    if (from.row_stride == 1 && to.row_stride == 1) {
        for (int64_t j = 0; j < cols; j++) memcpy(element(t, to, 0, j), element(t, from, 0, j), (size_t)rows * t->element);
        return;
    }
    enum { SQUARE = 16 }; /* a cache line or two each way */
    for (int64_t j0 = 0; j0 < cols; j0 += SQUARE)
        for (int64_t i0 = 0; i0 < rows; i0 += SQUARE)
            for (int64_t j = j0; j < smaller(j0 + SQUARE, cols); j++)
                for (int64_t i = i0; i < smaller(i0 + SQUARE, rows); i++) {
                    const char *x = element(t, from, i, j);
                    char *y = element(t, to, i, j);
                    switch (t->element) {
                    case 4: memcpy(y, x, 4); break;
                    case 8: memcpy(y, x, 8); break;
                    default: memcpy(y, x, 16);
                    }
                }
}
