/* Multiplies by the unitary matrix of a chase (spectral/chased.h).
 *
 * The sweeps are cut into groups. The first phase computes the triangle T of each group at each
 * place. The second multiplies C from the left by the groups, the last one first, and within a
 * group by its places in ascending order: H(s, p) stands left of H(s', p - 1) in the product for
 * s < s', and commutes with all other reflectors of the group except those of its own place.
 *
 * A task multiplies some columns of C by some groups. The columns stay in the L2 cache meanwhile.
 * The tasks of the same columns wait for each other by a counter. */
#include "spectral/chased.h"

#include <complex.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "factor/qr_panel.h"

enum {
    GROUP_MOST = 64, /* sweeps of a group */
    COLUMNS = 64,    /* of C in a task */
    TOGETHER = 8,    /* groups of a task: some milliseconds for thousands of rows */
    SKIPPED = 8      /* columns of V that are multiplied without the zeros above and below them */
};

#define TEMPLATE "spectral/chased_template.h"
#define SET(x) x
#include "kernel/each_type.h"

typedef void triangle_function(int64_t size, const void *tau, int64_t step, void *t);
static triangle_function *const form_t[] = {float_form_t, double_form_t, complex_float_form_t,
                                            complex_double_form_t};

int64_t hs__chased_places(int64_t n, int64_t width)
{
    return n > 1 ? hs__ceil_div(n - 1, width) : 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Returns the sweeps of a group. Longer groups make deeper products, but more of V is zeros. */
static int64_t group_size(const hs__chased *x)
{
    return hs__min(hs__max(x->width / 2, HS__WIDTH_UNIT), GROUP_MOST);
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

/* Returns rows of V from the first nonzero element of column `col` to the last one of column
 * col + cols - 1. */
static int64_t rows_of(const hs__chased *x, const parallelogram *b, int64_t col, int64_t cols)
{
    return hs__min(x->width + cols - 1, b->rows - col);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The workspace begins with a counter for each block of columns: the groups that it has been
 * multiplied by. The triangles follow. */
static int64_t counter_bytes(int64_t cols)
{
    return hs__round_up(hs__ceil_div(cols, COLUMNS) * (int64_t)sizeof(int64_t), 64);
}

static int64_t triangle_bytes(const hs__chased *x)
{
    return group_size(x) * group_size(x) * (int64_t)hs__element_bytes(x->dtype);
}

size_t hs__chased_bytes(const hs__chased *x, int64_t cols)
{
    return (size_t)(counter_bytes(cols) + triangles_before(x, count_groups(x)) * triangle_bytes(x));
}

/* Elements of a worker's memory: the columns of V are v_height apart; a product of V^H and C. */
static int64_t v_height(const hs__chased *x)
{
    return hs__round_up(x->width + group_size(x), HS__WIDTH_UNIT) + HS__WIDTH_UNIT;
}
static int64_t v_elements(const hs__chased *x) { return v_height(x) * group_size(x); }
static int64_t product_elements(const hs__chased *x) { return group_size(x) * COLUMNS; }

size_t hs__chased_scratch(const hs__chased *x)
{
    return (size_t)(v_elements(x) + 2 * product_elements(x) + hs__qr_packed(COLUMNS)) *
           hs__element_bytes(x->dtype);
}

/* What a task needs: v, two products, and a packed operand lie in the scratch memory. */
typedef struct {
    const hs__chased *x;
    hs__qr_vector vector;
    int64_t element;
    char *v, *product, *turned, *packed;
} worker_state;

static worker_state start_worker(const hs__chased *x, const hs__walk *walk)
{
    worker_state w = {.x = x,
                      .vector = hs__qr_vector_for(x->dtype),
                      .element = (int64_t)hs__element_bytes(x->dtype),
                      .v = hs__walk_scratch(walk)};
    w.product = w.v + v_elements(x) * w.element;
    w.turned = w.product + product_elements(x) * w.element;
    w.packed = w.turned + product_elements(x) * w.element;
    return w;
}

/* ---- block reflectors ------------------------------------------------------------------------ */

/* Copies V of the reflectors to the scratch memory, with zeros above and below its columns. */
static void copy_v(const worker_state *w, const parallelogram *b)
{
    const hs__chased *x = w->x;
    for (int64_t j = 0; j < b->size; j++) {
        const int64_t count = rows_of(x, b, j, 1);
        char *to = w->v + j * v_height(x) * w->element;
        const char *from = x->v + ((b->sweep + j) * x->places + b->place) * x->width * w->element;
        memset(to, 0, (size_t)(j * w->element));
        memcpy(to + j * w->element, from, (size_t)(count * w->element));
        memset(to + (j + count) * w->element, 0, (size_t)((b->rows - j - count) * w->element));
    }
}

/* product <- V^H c for `cols` columns of c. Products with zeros of V are skipped, as far as these
 * lie above or below all of some columns. */
static void multiply_adjoint(const worker_state *w, const parallelogram *b, int64_t cols,
                             const char *c, int64_t ld, char *product)
{
    const int64_t e = w->element;
    memset(product, 0, (size_t)(b->size * cols * e));
    for (int64_t i = 0; i < b->size; i += SKIPPED) {
        const int64_t own = hs__min(SKIPPED, b->size - i);
        w->vector.dots(rows_of(w->x, b, i, own), own, w->v + (i + i * v_height(w->x)) * e,
                       v_height(w->x), cols, c + i * e, ld, product + i * e, b->size);
    }
}

/* c <- (I - V T V^H) c. */
static void apply_block(const worker_state *w, const parallelogram *b, const char *t, int64_t cols,
                        char *c, int64_t ld)
{
    const int64_t size = b->size;
    copy_v(w, b);
    multiply_adjoint(w, b, cols, c, ld, w->product);
    memset(w->turned, 0, (size_t)(size * cols * w->element));
    w->vector.update(size, size, t, size, cols, w->product, size, w->turned, size, 1, w->packed);
    w->vector.update(b->rows, size, w->v, v_height(w->x), cols, w->turned, size, c, ld, -1,
                     w->packed);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

typedef struct {
    const hs__chased *x;
    char *c;
    int64_t ld, cols;
} multiplication;

static char *triangle_at(const multiplication *m, int64_t index)
{
    return m->x->work + counter_bytes(m->cols) + index * triangle_bytes(m->x);
}

static _Atomic int64_t *counter_of(const multiplication *m, int64_t block)
{
    return (_Atomic int64_t *)m->x->work + block;
}

/* Computes the triangles of a group. The first task also resets the counters. */
static void form_triangles(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *m = context;
    const hs__chased *x = m->x;
    const worker_state w = start_worker(x, walk);
    const int64_t first = triangles_before(x, task);
    for (int64_t i = 0; task == 0 && i < hs__ceil_div(m->cols, COLUMNS); i++)
        atomic_store(counter_of(m, i), 0);
    for (int64_t p = 0; p < places_of(x, task) && !hs__stopped(&walk->self); p++) {
        const parallelogram b = parallelogram_at(x, task, p);
        char *t = triangle_at(m, first + p);
        copy_v(&w, &b);
        multiply_adjoint(&w, &b, b.size, w.v, v_height(x), t);
        form_t[x->dtype](b.size, x->tau + (b.sweep * x->places + p) * w.element, x->places, t);
    }
}

/* Multiplies a block of columns by some groups. Tasks that multiply by earlier groups come first,
 * and go through all columns. */
static void multiply_columns(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *m = context;
    const hs__chased *x = m->x;
    const worker_state w = start_worker(x, walk);
    const int64_t blocks = hs__ceil_div(m->cols, COLUMNS), block = task % blocks;
    const int64_t before = task / blocks * TOGETHER;
    const int64_t cols = hs__min(COLUMNS, m->cols - block * COLUMNS);
    char *c = m->c + block * COLUMNS * m->ld * w.element;
    int64_t group = count_groups(x) - before;
    const int64_t last = hs__max(group - TOGETHER, 0);
    int64_t triangle = triangles_before(x, group);
    hs__phase_await(walk, counter_of(m, block), before);
    while (group-- > last) {
        const int64_t places = places_of(x, group);
        triangle -= places;
        for (int64_t p = 0; p < places; p++) {
            if (hs__stopped(&walk->self)) return;
            const parallelogram b = parallelogram_at(x, group, p);
            apply_block(&w, &b, triangle_at(m, triangle + p), cols, c + b.row * w.element, m->ld);
        }
    }
    hs__phase_raise(walk, counter_of(m, block), before + TOGETHER);
}

int hs__chased_apply(hs__walk *walk, const hs__chased *x, char *c, int64_t ld, int64_t cols)
{
    multiplication m = {.x = x, .c = c, .ld = ld, .cols = cols};
    const int64_t groups = cols > 0 ? count_groups(x) : 0;
    const int64_t tasks = hs__ceil_div(groups, TOGETHER) * hs__ceil_div(cols, COLUMNS);
    return hs__phase(walk, (int32_t)groups, form_triangles, &m) ||
           hs__phase(walk, (int32_t)tasks, multiply_columns, &m);
}
