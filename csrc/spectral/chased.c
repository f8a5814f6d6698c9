/* Multiplies by the unitary matrix of a chase (spectral/chased.h).
 *
 * The sweeps are cut into groups. The first phase computes the triangle T of each group at each
 * place. The second multiplies C from the left by the groups, the last one first, and within a
 * group by its places in ascending order: H(s, p) stands left of H(s', p - 1) in the product for
 * s < s', and commutes with all other reflectors of the group except the ones at its own place.
 *
 * A task multiplies a slice of C by some groups. The slice stays in the L2 cache meanwhile. The tasks
 * of the same slice wait for each other by a counter.
 *
 * The adjoint of the product takes everything in the opposite order: the first group first, and its
 * places in descending order.
 *
 * hs__chased_apply_few multiplies by one reflector after the other. That reads each reflector once
 * for FEW_TOGETHER columns, and needs no triangles, which would take most of the time. */
#include "spectral/chased.h"

#include <complex.h>
#include <string.h>

#include "kernel/qr_vector.h"
#include "kernel/rows.h"
#include "spectral/slice.h"

enum {
    GROUP_MOST = 64, /* sweeps of a group */
    SKIPPED = 6,     /* columns or rows of V that are multiplied without the zeros beside them */
    FEW_TOGETHER = 4 /* columns that a task multiplies by single reflectors */
};

#define TEMPLATE "spectral/chased_template.h"
#define SET(x) x
#include "kernel/each_type.h"

typedef void triangle_function(int64_t rows, int64_t size, const void *v, int64_t v_ld,
                               const void *tau, int64_t step, void *t);
static triangle_function *const form_t[] = {float_form_t, double_form_t, complex_float_form_t,
                                            complex_double_form_t};

typedef void reflector_function(const hs__qr_vector *vector, int64_t rows, int64_t cols,
                                const void *v, const void *tau, int adjoint, void *c, int64_t ld);
static reflector_function *const apply_reflector[] = {float_apply_reflector, double_apply_reflector,
                                                      complex_float_apply_reflector,
                                                      complex_double_apply_reflector};

int64_t hs__chased_places(int64_t n, int64_t width)
{
    return n > 1 ? hs__ceil_div(n - 1, width) : 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Returns the sweeps of a group, a multiple of SKIPPED. Longer groups make deeper products, but T is
 * larger. For width 64, 24 sweeps were the fastest: 12 to 18 took 10 % longer, 30 and 32 took 15 %
 * longer. */
static int64_t group_size(const hs__chased *x)
{
    return hs__max(x->width * 3 / 8 / SKIPPED, 1) * SKIPPED;
}

/* Returns the groups of a task: so many that to copy the slice takes little of the time, and so few
 * that a task takes some milliseconds. */
static int64_t groups_together(const hs__chased *x)
{
    return hs__max(16, (1 << 16) / hs__max(x->n, 1));
}

static int64_t count_groups(const hs__chased *x)
{
    return hs__ceil_div(hs__max(hs__min(x->sweeps, x->n - 1), 0), group_size(x));
}

/* Returns the places at which the first sweep of a group has reflectors. */
static int64_t places_of(const hs__chased *x, int64_t group)
{
    return hs__min(hs__chased_places(x->n - group * group_size(x), x->width), x->places);
}

/* Returns the number of triangles of the groups before this one. */
static int64_t triangles_before(const hs__chased *x, int64_t group)
{
    int64_t count = 0;
    for (int64_t i = 0; i < group; i++) count += places_of(x, i);
    return count;
}

/* The reflectors of a group at one place: V is rows x size and begins at row `row` of C. */
typedef struct {
    int64_t sweep, place, size, row, rows;
} parallelogram;

static parallelogram parallelogram_at(const hs__chased *x, int64_t group, int64_t place)
{
    const int64_t sweep = group * group_size(x), row = sweep + 1 + place * x->width;
    const int64_t size = hs__min(hs__min(group_size(x), x->sweeps - sweep), x->n - row);
    return (parallelogram){.sweep = sweep,
                           .place = place,
                           .size = size,
                           .row = row,
                           .rows = hs__min(x->width + size - 1, x->n - row)};
}

/* Returns the number of rows of V from the first nonzero element of column `col` to the last one of column
 * col + cols - 1. */
static int64_t rows_of(const hs__chased *x, const parallelogram *b, int64_t col, int64_t cols)
{
    return hs__min(x->width + cols - 1, b->rows - col);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The workspace begins with a counter for each slice: the groups that it has been multiplied by. The
 * triangles follow. */
static int64_t count_slices(const hs__chased *x, int64_t cols)
{
    return hs__ceil_div(cols, hs__slice_cols(x->dtype));
}

static int64_t counter_bytes(const hs__chased *x, int64_t cols)
{
    return hs__round_up(count_slices(x, cols) * (int64_t)sizeof(int64_t), 64);
}

static int64_t triangle_bytes(const hs__chased *x)
{
    return group_size(x) * group_size(x) * (int64_t)hs__element_bytes(x->dtype);
}

size_t hs__chased_bytes(const hs__chased *x, int64_t cols)
{
    return (size_t)(counter_bytes(x, cols) +
                    triangles_before(x, count_groups(x)) * triangle_bytes(x));
}

/* Bytes of the parts of a worker's memory: a slice of C; V, whose columns are v_height elements
 * apart; a product of V^H and C, and that times T. */
static int64_t slice_bytes(const hs__chased *x) { return x->n * HS__SLICE_STEP; }
static int64_t v_height(const hs__chased *x)
{
    return hs__round_up(x->width + group_size(x), HS__WIDTH_UNIT) + HS__WIDTH_UNIT;
}
static int64_t v_bytes(const hs__chased *x)
{
    return v_height(x) * group_size(x) * (int64_t)hs__element_bytes(x->dtype);
}
static int64_t product_bytes(const hs__chased *x) { return group_size(x) * HS__SLICE_STEP; }

size_t hs__chased_scratch(const hs__chased *x)
{
    return (size_t)(slice_bytes(x) + v_bytes(x) + 2 * product_bytes(x));
}

/* What a task needs. size, rows: of the V that `v` holds. */
typedef struct {
    const hs__chased *x;
    hs__rows_product *multiply;
    int64_t element, size, rows;
    char *slice, *v, *product, *turned;
} worker_state;

static worker_state start_worker(const hs__chased *x, const hs__walk *walk)
{
    worker_state w = {.x = x,
                      .multiply = hs__rows_product_for(x->dtype),
                      .element = (int64_t)hs__element_bytes(x->dtype),
                      .slice = hs__walk_scratch(walk)};
    w.v = w.slice + slice_bytes(x);
    w.product = w.v + v_bytes(x);
    w.turned = w.product + product_bytes(x);
    return w;
}

/* ---- block reflectors ------------------------------------------------------------------------ */

/* Copies V of the reflectors to the scratch memory, where zeros are above and below its columns. They
 * are written again only if V has another size than the one before it. */
static void copy_v(worker_state *w, const parallelogram *b)
{
    const hs__chased *x = w->x;
    const int64_t whole = rows_of(x, b, 0, 1) * w->element;
    if (b->size != w->size || b->rows != w->rows) memset(w->v, 0, (size_t)v_bytes(x));
    w->size = b->size;
    w->rows = b->rows;
    for (int64_t j = 0; j < b->size; j++) {
        const int64_t count = hs__min(whole, (b->rows - j) * w->element);
        memcpy(w->v + (j + j * v_height(x)) * w->element,
               x->v + ((b->sweep + j) * x->places + b->place) * x->width * w->element,
               (size_t)count);
    }
}

/* x (a slice) <- (I - V T V^H) x, with T^H for the adjoint, for `length` elements of its rows.
 * Products with zeros of V and T are skipped, SKIPPED columns or rows at a time. */
static void apply_block(worker_state *w, const parallelogram *b, const char *t, int adjoint,
                        int64_t length, char *x)
{
    const int64_t size = b->size, step = hs__slice_step(w->x->dtype), e = w->element;
    const int64_t height = v_height(w->x);
    copy_v(w, b);
    /* product <- V^H x */
    for (int64_t i = 0; i < size; i += SKIPPED) {
        const int64_t own = hs__min(SKIPPED, size - i);
        const hs__factors v = {w->v + (i + i * height) * e, height, 1, 1};
        w->multiply(own, rows_of(w->x, b, i, own), length, &v, x + i * HS__SLICE_STEP, step,
                    w->product + i * HS__SLICE_STEP, step, HS__ROWS_SET);
    }
    /* turned <- T product, where the rows of T begin on the diagonal and the rows of T^H end there */
    for (int64_t i = 0; i < size; i += SKIPPED) {
        const int64_t own = hs__min(SKIPPED, size - i);
        const int64_t first = adjoint ? 0 : i, end = adjoint ? i + own : size;
        const hs__factors triangle = {t + (adjoint ? i * size : i + i * size) * e,
                                      adjoint ? size : 1, adjoint ? 1 : size, adjoint};
        w->multiply(own, end - first, length, &triangle, w->product + first * HS__SLICE_STEP, step,
                    w->turned + i * HS__SLICE_STEP, step, HS__ROWS_SET);
    }
    /* x <- x - V turned */
    for (int64_t i = 0; i < b->rows; i += SKIPPED) {
        const int64_t own = hs__min(SKIPPED, b->rows - i);
        const int64_t first = hs__max(i - w->x->width + 1, 0), end = hs__min(i + own, size);
        const hs__factors v = {w->v + (i + first * height) * e, 1, height, 0};
        w->multiply(own, end - first, length, &v, w->turned + first * HS__SLICE_STEP, step,
                    x + i * HS__SLICE_STEP, step, HS__ROWS_SUBTRACT);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

typedef struct {
    const hs__chased *x;
    int adjoint;
    char *c;
    int64_t ld, cols;
} multiplication;

static char *triangle_at(const multiplication *m, int64_t index)
{
    return m->x->work + counter_bytes(m->x, m->cols) + index * triangle_bytes(m->x);
}

static _Atomic int64_t *counter_of(const multiplication *m, int64_t slice)
{
    return (_Atomic int64_t *)m->x->work + slice;
}

/* Computes the triangles of a group. The first task also resets the counters. */
static void form_triangles(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *m = context;
    const hs__chased *x = m->x;
    worker_state w = start_worker(x, walk);
    const int64_t first = triangles_before(x, task);
    for (int64_t i = 0; task == 0 && i < count_slices(x, m->cols); i++)
        atomic_store(counter_of(m, i), 0);
    for (int64_t p = 0; p < places_of(x, task) && !hs__stopped(&walk->self); p++) {
        const parallelogram b = parallelogram_at(x, task, p);
        char *t = triangle_at(m, first + p);
        copy_v(&w, &b);
        form_t[x->dtype](b.rows, b.size, w.v, v_height(x),
                         x->tau + (b.sweep * x->places + p) * w.element, x->places, t);
    }
}

/* Multiplies a slice by some groups. Tasks that multiply by later groups come first, and go through
 * all slices; for the adjoint, of earlier groups. */
static void multiply_slice(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *m = context;
    const hs__chased *x = m->x;
    worker_state w = start_worker(x, walk);
    const int64_t slices = count_slices(x, m->cols), slice = task % slices;
    const int64_t before = task / slices * groups_together(x);
    const int64_t count = hs__min(groups_together(x), count_groups(x) - before);
    const int64_t low = m->adjoint ? before : count_groups(x) - before - count;
    const int64_t cols = hs__slice_cols_at(x->dtype, m->cols, slice);
    const int64_t row = parallelogram_at(x, low, 0).row;
    char *c = m->c + (row + slice * hs__slice_cols(x->dtype) * m->ld) * w.element;
    hs__phase_await(walk, counter_of(m, slice), before);
    if (hs__stopped(&walk->self)) return;
    hs__slice_load(x->dtype, x->n - row, cols, c, m->ld, w.slice);
    for (int64_t i = 0; i < count; i++) {
        const int64_t group = low + (m->adjoint ? i : count - 1 - i);
        const int64_t places = places_of(x, group), triangles = triangles_before(x, group);
        for (int64_t p = 0; p < places; p++) {
            const int64_t place = m->adjoint ? places - 1 - p : p;
            const parallelogram b = parallelogram_at(x, group, place);
            apply_block(&w, &b, triangle_at(m, triangles + place), m->adjoint,
                        hs__slice_length(x->dtype, cols), w.slice + (b.row - row) * HS__SLICE_STEP);
        }
        if (hs__attend(&walk->self)) return;
    }
    hs__slice_store(x->dtype, x->n - row, cols, w.slice, c, m->ld);
    hs__phase_raise(walk, counter_of(m, slice), before + groups_together(x));
}

/* Multiplies a few columns by all reflectors, one sweep after the other. The reflectors of a sweep act on
 * different rows. */
static void multiply_few(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *m = context;
    const hs__chased *x = m->x;
    const hs__qr_vector vector = hs__qr_vector_for(x->dtype);
    const int64_t element = (int64_t)hs__element_bytes(x->dtype);
    const int64_t col = (int64_t)task * FEW_TOGETHER, cols = hs__min(FEW_TOGETHER, m->cols - col);
    const int64_t sweeps = hs__min(x->sweeps, x->n - 1);
    for (int64_t i = 0; i < sweeps; i++) {
        const int64_t sweep = m->adjoint ? i : sweeps - 1 - i;
        const int64_t places = hs__min(hs__chased_places(x->n - sweep, x->width), x->places);
        for (int64_t p = 0; p < places; p++) {
            const int64_t row = sweep + 1 + p * x->width, at = sweep * x->places + p;
            apply_reflector[x->dtype](&vector, hs__min(x->width, x->n - row), cols,
                                      x->v + at * x->width * element, x->tau + at * element,
                                      m->adjoint, m->c + (row + col * m->ld) * element, m->ld);
        }
        if (hs__attend(&walk->self)) return;
    }
}

int hs__chased_apply(hs__walk *walk, const hs__chased *x, int adjoint, char *c, int64_t ld,
                     int64_t cols)
{
    multiplication m = {.x = x, .adjoint = adjoint, .c = c, .ld = ld, .cols = cols};
    const int64_t groups = cols > 0 ? count_groups(x) : 0;
    const int64_t tasks = hs__ceil_div(groups, groups_together(x)) * count_slices(x, cols);
    return hs__phase(walk, (int32_t)groups, form_triangles, &m) ||
           hs__phase(walk, (int32_t)tasks, multiply_slice, &m);
}

int hs__chased_apply_few(hs__walk *walk, const hs__chased *x, int adjoint, char *c, int64_t ld,
                         int64_t cols)
{
    multiplication m = {.x = x, .adjoint = adjoint, .c = c, .ld = ld, .cols = cols};
    return hs__phase(walk, (int32_t)hs__ceil_div(cols, FEW_TOGETHER), multiply_few, &m);
}
