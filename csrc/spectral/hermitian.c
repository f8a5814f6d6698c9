/* Reduces a Hermitian matrix to a band matrix (spectral/hermitian.h).
 *
 * Two forms of V and Y are used, because products read the elements of one operand one by one and
 * the other operand in vectors (kernel/rows.h). By rows, V is what the rows of the trailing matrix
 * multiply, and what the columns of an update are multiplied by. In slices, which hold the columns
 * of [V Y] for some rows, both are the vectors that are added to columns of the trailing matrix. */
#include "spectral/hermitian.h"

#include <string.h>

#include "allocate/reduction.h"
#include "factor/qr_panel.h"
#include "kernel/rows.h"
#include "spectral/slice.h"

enum {
    COLUMNS = 64, /* of a task of an update without a plan */
    TOGETHER = 16 /* panels of a task of hs__hermitian_back */
};

int64_t hs__hermitian_width(int32_t dtype, int64_t n, int vectors)
{
    return dtype == HS_FLOAT32 || (vectors && n > 1000) ? 64 : 32;
}

int64_t hs__hermitian_panels(int64_t n, int64_t width) { return hs__reduction_panels(n, width); }

/* ---- memory ---------------------------------------------------------------------------------- */

/* What all tasks know of the matrix and of the panel: `size` rows and columns of the trailing matrix
 * at `origin`, which are `count` slices of `rows` rows. The pointers lead to parts of the workspace.
 *   across   elements from one row of a slice to the next
 *   v        [size x width] V by rows
 *   y        [size x width] Y by rows
 *   slices   of 2 width rows: the columns of V, then the columns of Y
 *   t, xh    [width x width] T and X^H by rows
 *   sums     [slices x width x width] V^H Y of the rows of each slice, by rows
 *   ended    tasks that have computed one */
typedef struct {
    const hs__hermitian *x;
    hs__rows_product *multiply;
    int64_t element, across, rows, panel, origin, size, count;
    char *v, *y, *slices, *t, *xh, *sums;
    _Atomic int64_t *ended;
} reduction;

static int64_t element_of(const hs__hermitian *x) { return (int64_t)hs__element_bytes(x->dtype); }
static int64_t rows_below(const hs__hermitian *x) { return hs__max(x->n - x->width, 0); }
/* Rows of the trailing matrix in a slice. */
static int64_t slice_rows(const hs__hermitian *x)
{
    return x->plan ? x->width : hs__slice_cols(x->dtype);
}
static int64_t count_slices(const hs__hermitian *x, int64_t rows)
{
    return hs__ceil_div(rows, slice_rows(x));
}
static int64_t row_bytes(const hs__hermitian *x)
{
    return rows_below(x) * x->width * element_of(x);
}
static int64_t square_bytes(const hs__hermitian *x) { return x->width * x->width * element_of(x); }
static int64_t slice_bytes(const hs__hermitian *x) { return 2 * x->width * HS__SLICE_STEP; }

size_t hs__hermitian_bytes(const hs__hermitian *x)
{
    const int64_t slices = count_slices(x, rows_below(x));
    return (size_t)(64 + 3 * row_bytes(x) + slices * (slice_bytes(x) + square_bytes(x)) +
                    2 * square_bytes(x));
}

static char *take_part(char **from, int64_t bytes)
{
    char *part = *from;
    *from += bytes;
    return part;
}

/* Sets up the reduction for a panel. V of even and of odd panels have different memory. */
static reduction reduction_at(const hs__hermitian *x, int64_t panel)
{
    const int64_t slices = count_slices(x, rows_below(x));
    reduction r = {.x = x,
                   .multiply = hs__rows_product_for(x->dtype),
                   .element = element_of(x),
                   .across = hs__slice_step(x->dtype),
                   .rows = slice_rows(x),
                   .panel = panel,
                   .origin = (panel + 1) * x->width};
    r.size = x->n - r.origin;
    r.count = count_slices(x, r.size);
    char *from = x->work;
    r.ended = (_Atomic int64_t *)(void *)take_part(&from, 64);
    char *const even = take_part(&from, row_bytes(x)), *const odd = take_part(&from, row_bytes(x));
    r.v = panel % 2 ? odd : even;
    r.y = take_part(&from, row_bytes(x));
    r.slices = take_part(&from, slices * slice_bytes(x));
    r.sums = take_part(&from, slices * square_bytes(x));
    r.t = take_part(&from, square_bytes(x));
    r.xh = take_part(&from, square_bytes(x));
    return r;
}

/* Element (row, col) of the trailing matrix. */
static char *trailing_at(const reduction *r, int64_t row, int64_t col)
{
    return r->x->a + (r->origin + row + (r->origin + col) * r->x->ld) * r->element;
}

/* Row `row` of a matrix of `width` columns that is stored by rows. */
static char *row_at(const reduction *r, char *of, int64_t row)
{
    return of + row * r->x->width * r->element;
}

static char *slice_at(const reduction *r, int64_t index)
{
    return r->slices + index * slice_bytes(r->x);
}

/* The scratch memory of a task of the reduction: a square of a slice's columns, some rows of 2
 * width columns, and the work of a QR factorisation behind tau. */
static int64_t diagonal_bytes(const hs__hermitian *x)
{
    const int64_t across = hs__slice_cols(x->dtype);
    return across * across * element_of(x);
}
static int64_t operand_bytes(const hs__hermitian *x)
{
    const int64_t rows = hs__max(COLUMNS, hs__max(x->width, hs__slice_cols(x->dtype)));
    return 2 * rows * x->width * element_of(x);
}
static int64_t tau_bytes(const hs__hermitian *x) { return x->width * element_of(x); }

/* That of a task of hs__hermitian_back: a slice, two products, and the triangle of V. */
static int64_t back_bytes(const hs__hermitian *x)
{
    return (x->n + 2 * x->width) * HS__SLICE_STEP + square_bytes(x);
}

size_t hs__hermitian_scratch(const hs__hermitian *x)
{
    hs__qr_type type;
    hs__qr_type_init(&type, x->dtype);
    const int64_t factor = tau_bytes(x) + (int64_t)hs__qr_bytes(&type, x->width);
    return (size_t)hs__max(diagonal_bytes(x) + operand_bytes(x) + factor, back_bytes(x));
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Copies one element, or its real part. */
static void copy_element(int32_t dtype, const char *from, char *to, int real)
{
    const size_t e = hs__element_bytes(dtype);
    memcpy(to, from, e);
    if (real && dtype >> 1) memset(to + e / 2, 0, e / 2);
}

/* Sets the diagonal of a matrix to ones; the stride between its elements is in bytes. */
static void set_ones(int32_t dtype, int64_t count, char *x, int64_t stride)
{
    for (int64_t i = 0; i < count; i++) hs__set_one(dtype, x + i * stride);
}

/* Factors a panel. The phases that follow take V and T by rows. */
static void factor_panel(const hs__hermitian *x, int64_t panel, hs__walk *walk)
{
    const reduction r = reduction_at(x, panel);
    const int64_t e = r.element, width = x->width, count = hs__min(r.size, width);
    char *const t = x->t + panel * square_bytes(x);
    char *const a = trailing_at(&r, 0, -width);
    char *const tau = (char *)hs__walk_scratch(walk) + diagonal_bytes(x) + operand_bytes(x);
    hs__qr_type type;
    hs__qr_type_init(&type, x->dtype);
    memset(t, 0, (size_t)square_bytes(x));
    if (hs__qr_factor(&type, r.size, width, a, x->ld, tau, t, width, tau + tau_bytes(x),
                      &walk->self))
        return;
    hs__transpose_elements(x->dtype, width, width, t, width, r.t, width);
    hs__transpose_elements(x->dtype, r.size, count, a, x->ld, r.v, width);
    for (int64_t i = 0; i < count; i++)
        memset(row_at(&r, r.v, i) + i * e, 0, (size_t)((width - i) * e));
    for (int64_t i = count; i < r.size && count < width; i++)
        memset(row_at(&r, r.v, i) + count * e, 0, (size_t)((width - count) * e));
    set_ones(x->dtype, count, r.v, (width + 1) * e);
}

static void factor_first(void *context, int32_t task, hs__walk *walk)
{
    (void)task;
    atomic_store(reduction_at(context, 0).ended, 0);
    factor_panel(context, 0, walk);
}

/* ---- Y = A V T ------------------------------------------------------------------------------- */

/* Copies a diagonal block of the trailing matrix, and what belongs above its diagonal, to a square,
 * column by column. */
static void copy_diagonal(const reduction *r, int64_t row, int64_t rows, char *to)
{
    const int64_t e = r->element;
    const int32_t dtype = r->x->dtype;
    for (int64_t j = 0; j < rows; j++) {
        const char *from = trailing_at(r, row + j, row + j);
        copy_element(dtype, from, to + (j + j * rows) * e, 1);
        memcpy(to + (j + 1 + j * rows) * e, from + e, (size_t)((rows - j - 1) * e));
    }
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < j; i++) {
            char *own = to + (i + j * rows) * e;
            copy_element(dtype, to + (j + i * rows) * e, own, 0);
            if (dtype == HS_COMPLEX64) ((float *)(void *)own)[1] *= -1;
            if (dtype == HS_COMPLEX128) ((double *)(void *)own)[1] *= -1;
        }
}

/* X^H <- (V^H Y)^H T, with the sums of all slices added up in their order. */
static void finish_x(const reduction *r)
{
    const int64_t width = r->x->width,
                  reals = square_bytes(r->x) / (int64_t)hs__real_bytes(r->x->dtype);
    for (int64_t i = 1; i < r->count; i++) {
        const char *own = r->sums + i * square_bytes(r->x);
        for (int64_t l = 0; l < reals; l++)
            if (r->x->dtype & 1)
                ((double *)(void *)r->sums)[l] += ((const double *)(const void *)own)[l];
            else ((float *)(void *)r->sums)[l] += ((const float *)(const void *)own)[l];
    }
    const hs__factors sum = {r->sums, 1, width, 1};
    r->multiply(width, width, width, &sum, r->t, width, r->xh, width, HS__ROWS_SET);
}

/* Computes the rows of Y of one slice. Each stored block of the trailing matrix is read twice: by
 * the task of its rows, and by that of its columns. */
static void compute_y(void *context, int32_t task, hs__walk *walk)
{
    const reduction *r = context;
    const int64_t width = r->x->width, row = task * r->rows;
    const int64_t rows = hs__min(r->rows, r->size - row), end = row + rows;
    char *const square = hs__walk_scratch(walk), *const product = square + diagonal_bytes(r->x);
    char *const y = row_at(r, r->y, row), *const v = row_at(r, r->v, row);
    copy_diagonal(r, row, rows, square);
    const hs__factors left = {trailing_at(r, row, 0), 1, r->x->ld, 0};
    const hs__factors diagonal = {square, 1, rows, 0};
    const hs__factors below = {trailing_at(r, end, row), r->x->ld, 1, 1};
    r->multiply(rows, row, width, &left, r->v, width, product, width, HS__ROWS_SET);
    r->multiply(rows, rows, width, &diagonal, v, width, product, width, HS__ROWS_ADD);
    r->multiply(rows, r->size - end, width, &below, row_at(r, r->v, end), width, product, width,
                HS__ROWS_ADD);
    const hs__factors whole = {product, width, 1, 0}, adjoint = {v, 1, width, 1};
    r->multiply(rows, width, width, &whole, r->t, width, y, width, HS__ROWS_SET);
    r->multiply(width, rows, width, &adjoint, y, width, r->sums + task * square_bytes(r->x), width,
                HS__ROWS_SET);
    hs__slice_load(r->x->dtype, width, rows, v, width, slice_at(r, task));
    hs__slice_load(r->x->dtype, width, rows, y, width, slice_at(r, task) + width * HS__SLICE_STEP);
    if (atomic_fetch_add(r->ended, 1) + 1 < r->count) return;
    atomic_store(r->ended, 0);
    finish_x(r);
}

/* ---- update ---------------------------------------------------------------------------------- */

/* Returns the first column of an update. The first update is that of the next panel. */
static int64_t first_column(const reduction *r, int64_t index)
{
    const int64_t cols = r->x->plan ? r->x->width : COLUMNS;
    return index == 0 ? 0 : hs__min(r->x->width + (index - 1) * cols, r->size);
}
static int32_t count_updates(const reduction *r)
{
    const int64_t cols = r->x->plan ? r->x->width : COLUMNS;
    return (int32_t)(1 + hs__ceil_div(hs__max(r->size - r->x->width, 0), cols));
}
static int has_next_panel(const reduction *r)
{
    return r->panel + 1 < hs__hermitian_panels(r->x->n, r->x->width);
}

/* Subtracts V Z + Y V^H from some columns, with Z = Y^H - X V^H. The operand has the rows of Z^H and
 * of V for these columns. */
static void update_columns(const reduction *r, int64_t col, int64_t cols, char *operand)
{
    const int64_t width = r->x->width, e = r->element, bytes = width * e;
    for (int64_t j = 0; j < cols; j++) {
        memcpy(operand + 2 * j * bytes, row_at(r, r->y, col + j), (size_t)bytes);
        memcpy(operand + (2 * j + 1) * bytes, row_at(r, r->v, col + j), (size_t)bytes);
    }
    const hs__factors v = {row_at(r, r->v, col), width, 1, 0}, both = {operand, 2 * width, 1, 1};
    r->multiply(cols, width, width, &v, r->xh, width, operand, 2 * width, HS__ROWS_SUBTRACT);
    for (int64_t slice = col / r->rows; slice < r->count; slice++) {
        const int64_t first = slice * r->rows, end = hs__min(first + r->rows, r->size);
        const int64_t unit = 64 / e;
        const int64_t row = hs__max(first, col / unit * unit);
        r->multiply(cols, 2 * width, end - row, &both, slice_at(r, slice) + (row - first) * e,
                    r->across, trailing_at(r, row, col), r->x->ld, HS__ROWS_SUBTRACT);
    }
}

static void update_block(const reduction *r, int64_t index, hs__walk *walk)
{
    const int64_t col = first_column(r, index), cols = first_column(r, index + 1) - col;
    char *operand = (char *)hs__walk_scratch(walk) + diagonal_bytes(r->x);
    update_columns(r, col, cols, operand);
}

static void update_trailing(void *context, int32_t task, hs__walk *walk)
{
    const reduction *r = context;
    update_block(r, task, walk);
    if (task == 0 && has_next_panel(r)) factor_panel(r->x, r->panel + 1, walk);
}

/* ---- tasks of a plan ------------------------------------------------------------------------- */

/* In the phase of updates, task 1 is the next panel, if there is one. */
enum { NEXT_PANEL = 1 };

static int is_panel(const reduction *r, int32_t task)
{
    return task == NEXT_PANEL && has_next_panel(r);
}

static int32_t update_of(const reduction *r, int32_t task)
{
    return has_next_panel(r) && task > NEXT_PANEL ? task - 1 : task;
}

static void update_by_plan(void *context, int32_t task, hs__walk *walk)
{
    const reduction *r = context;
    if (is_panel(r, task)) factor_panel(r->x, r->panel + 1, walk);
    else update_block(r, update_of(r, task), walk);
}

static hs__reduction_blocks blocks_of(const hs__hermitian *x)
{
    hs__reduction_blocks blocks;
    (void)hs__reduction_blocks_init(&blocks, x->n, x->width);
    return blocks;
}

/* The seconds of some multiply-adds. */
static double seconds_for(const hs__hermitian *x, double work, const hs__walk *walk)
{
    return work * hs_flops_per_update(x->dtype) * walk->self.run->options.pace[walk->self.worker];
}

static double panel_seconds(const hs__hermitian *x, int32_t panel, const hs__walk *walk)
{
    const hs__reduction_blocks blocks = blocks_of(x);
    const double work = hs__reduction_panel(&blocks, panel);
    const double *pace = x->plan->panel_pace;
    return pace ? work * pace[walk->self.worker] : seconds_for(x, work, walk);
}

static int32_t first_worker(const void *context, int32_t task)
{
    const hs__hermitian *x = context;
    return x->plan->owner[task];
}
static double first_seconds(const void *context, int32_t task, const hs__walk *walk)
{
    return panel_seconds(context, task, walk);
}

static int32_t product_worker(const void *context, int32_t task)
{
    const reduction *r = context;
    return r->x->plan->owner[r->panel + 1 + task];
}
static double product_seconds(const void *context, int32_t task, const hs__walk *walk)
{
    const reduction *r = context;
    const hs__reduction_blocks blocks = blocks_of(r->x);
    const int32_t panel = (int32_t)r->panel;
    return seconds_for(r->x, hs__reduction_product(&blocks, panel, panel + 1 + task), walk);
}

static int32_t update_worker(const void *context, int32_t task)
{
    const reduction *r = context;
    return product_worker(context, is_panel(r, task) ? 0 : update_of(r, task));
}
static double update_seconds(const void *context, int32_t task, const hs__walk *walk)
{
    const reduction *r = context;
    const hs__reduction_blocks blocks = blocks_of(r->x);
    const int32_t next = (int32_t)r->panel + 1;
    if (is_panel(r, task)) return panel_seconds(r->x, next, walk);
    return seconds_for(r->x, hs__reduction_update(&blocks, next + update_of(r, task)), walk);
}

/* The phases of the first panel, and of a step. They return non-zero after a cancel. */
static int begin_by_plan(hs__walk *walk, const hs__hermitian *x)
{
    const hs__phase_owners owners = {first_worker, first_seconds, 0, x->plan->latest};
    return hs__phase_owned(walk, 1, factor_first, (void *)(uintptr_t)x, &owners);
}

static int step_by_plan(hs__walk *walk, reduction *r, int32_t box)
{
    _Atomic double *const latest = r->x->plan->latest + 1 + 2 * r->panel;
    const int32_t products = (int32_t)r->count;
    const hs__phase_owners first = {product_worker, product_seconds, box, latest};
    const hs__phase_owners second = {update_worker, update_seconds, box + products, latest + 1};
    return hs__phase_owned(walk, products, compute_y, r, &first) ||
           hs__phase_owned(walk, count_updates(r) + has_next_panel(r), update_by_plan, r, &second);
}

/* ---- the reduction --------------------------------------------------------------------------- */

/* Copies the band from the matrix. R of each panel ends where the band does. */
static void copy_band(void *context, int32_t task, hs__walk *walk)
{
    const hs__hermitian *x = context;
    const int64_t e = element_of(x);
    (void)task;
    (void)walk;
    for (int64_t j = 0; j < x->n; j++) {
        const char *from = x->a + (j + j * x->ld) * e;
        char *to = x->band + j * x->band_ld * e;
        const int64_t count = hs__min(x->width + 1, x->n - j);
        memcpy(to, from, (size_t)(count * e));
        memset(to + count * e, 0, (size_t)((x->band_ld - count) * e));
        copy_element(x->dtype, from, to, 1);
    }
}

int hs__hermitian_to_band(hs__walk *walk, const hs__hermitian *x)
{
    void *const context = (void *)(uintptr_t)x;
    const int64_t panels = hs__hermitian_panels(x->n, x->width);
    int32_t box = 1; /* of the next event in a run by a plan */
    if (panels > 0 && !x->plan && hs__phase(walk, 1, factor_first, context)) return 1;
    if (panels > 0 && x->plan && begin_by_plan(walk, x)) return 1;
    for (int64_t k = 0; k < panels; k++) {
        reduction r = reduction_at(x, k);
        if (x->plan) {
            if (step_by_plan(walk, &r, box)) return 1;
            box += (int32_t)r.count + count_updates(&r) + has_next_panel(&r);
            continue;
        }
        if (hs__phase(walk, (int32_t)r.count, compute_y, &r)) return 1;
        if (hs__phase(walk, count_updates(&r), update_trailing, &r)) return 1;
    }
    return hs__phase(walk, 1, copy_band, context);
}

/* ---- C <- Q1 C ------------------------------------------------------------------------------- */

typedef struct {
    const hs__hermitian *x;
    hs__rows_product *multiply;
    char *c;
    int64_t ld, cols, first, end; /* panels first .. end - 1 */
} multiplication;

/* slice <- (I - V T V^H) slice for a panel; the slice begins with the first row of V. */
static void apply_panel(const multiplication *m, int64_t panel, int64_t length, char *slice,
                        char *scratch)
{
    const hs__hermitian *x = m->x;
    const int64_t width = x->width, e = element_of(x), step = hs__slice_step(x->dtype);
    const int64_t row = (panel + 1) * width, rows = x->n - row, count = hs__min(rows, width);
    const char *v = x->a + (row + panel * width * x->ld) * e;
    char *const product = scratch, *const turned = scratch + width * HS__SLICE_STEP;
    char *const triangle = turned + width * HS__SLICE_STEP;
    for (int64_t j = 0; j < count; j++) {
        memset(triangle + j * count * e, 0, (size_t)(j * e));
        memcpy(triangle + (j + j * count) * e, v + (j + j * x->ld) * e, (size_t)((count - j) * e));
    }
    set_ones(x->dtype, count, triangle, (count + 1) * e);
    char *const below = slice + count * HS__SLICE_STEP;
    const hs__factors top_adjoint = {triangle, count, 1, 1}, top = {triangle, 1, count, 0};
    const hs__factors v_adjoint = {v + count * e, x->ld, 1, 1},
                      v_below = {v + count * e, 1, x->ld, 0};
    const hs__factors t = {x->t + panel * square_bytes(x), 1, width, 0};
    m->multiply(count, count, length, &top_adjoint, slice, step, product, step, HS__ROWS_SET);
    m->multiply(count, rows - count, length, &v_adjoint, below, step, product, step, HS__ROWS_ADD);
    m->multiply(count, count, length, &t, product, step, turned, step, HS__ROWS_SET);
    m->multiply(count, count, length, &top, turned, step, slice, step, HS__ROWS_SUBTRACT);
    m->multiply(rows - count, count, length, &v_below, turned, step, below, step,
                HS__ROWS_SUBTRACT);
}

/* Multiplies one slice of C by the reflectors of some panels. */
static void multiply_slice(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *m = context;
    const hs__hermitian *x = m->x;
    const int64_t e = element_of(x), row = (m->first + 1) * x->width;
    const int64_t cols = hs__slice_cols_at(x->dtype, m->cols, task);
    char *const slice = hs__walk_scratch(walk), *const rest = slice + x->n * HS__SLICE_STEP;
    char *const c = m->c + (row + task * hs__slice_cols(x->dtype) * m->ld) * e;
    hs__slice_load(x->dtype, x->n - row, cols, c, m->ld, slice);
    for (int64_t k = m->end; k-- > m->first && !hs__attend(&walk->self);)
        apply_panel(m, k, hs__slice_length(x->dtype, cols),
                    slice + (k - m->first) * x->width * HS__SLICE_STEP, rest);
    hs__slice_store(x->dtype, x->n - row, cols, slice, c, m->ld);
}

int hs__hermitian_back(hs__walk *walk, const hs__hermitian *x, char *c, int64_t ld, int64_t cols)
{
    multiplication m = {x, hs__rows_product_for(x->dtype), c, ld, cols, 0, 0};
    const int32_t slices = (int32_t)hs__ceil_div(cols, hs__slice_cols(x->dtype));
    for (m.end = hs__hermitian_panels(x->n, x->width); m.end > 0; m.end = m.first) {
        m.first = hs__max(m.end - TOGETHER, 0);
        if (hs__phase(walk, slices, multiply_slice, &m)) return 1;
    }
    return 0;
}
