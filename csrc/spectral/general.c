/* Reduces a general matrix to a band, and multiplies by the reflectors (spectral/general.h). */
#include "spectral/general.h"

#include <string.h>

#include "core/numbers.h"
#include "factor/qr_panel.h"
#include "product/panels.h"
#include "run/matrix.h"
#include "spectral/multiply.h"

/* How a matrix is cut for the tasks: into about PARTS parts of LINES_LEAST to LINES_MOST columns or
 * rows. More lines pack the reflectors less often. By hand. */
enum { LINE = 64, PARTS = 12, LINES_LEAST = 48, LINES_MOST = 192 };

/* A step of the reduction.
 *   first   row and column at which it begins
 *   cols    of its panel
 *   rest    columns to the right of the panel
 *   below   rows below the first `cols` rows
 *   next    columns of the next panel, and reflectors of the LQ factorisation
 *   z       [rest x cols] of the update A - V Z^T by the V of the QR factorisation
 *   x       [below x next] of the update A - X V^H by the V of the LQ factorisation
 *   right_v [rest x cols] that V, in its first `next` columns
 *   packed_v, packed_adjoint
 *           see left_factor, right_factor and right_adjoint */
typedef struct {
    const hs__general *own;
    int64_t number, first, cols, rest, below, next;
    hs__matrix z, x, right_v;
    char *packed_v, *packed_adjoint;
} reduction_step;

/* ---- sizes and places ------------------------------------------------------------------------ */

static int64_t count_steps(const hs__general *x) { return hs__ceil_div(x->n, x->width); }

/* Returns the number of lines of a part. */
static int64_t cut_lines(int64_t lines)
{
    return hs__even_parts(lines, hs__max(LINES_LEAST, hs__min(LINES_MOST, lines / PARTS)), 16);
}

static int32_t count_parts(int64_t lines) { return (int32_t)hs__ceil_div(lines, cut_lines(lines)); }

/* Returns the number of lines of a part, which may be the last one. */
static int64_t size_of_part(int64_t part, int64_t lines)
{
    return hs__min(cut_lines(lines), lines - part * cut_lines(lines));
}

static int64_t aligned_bytes(const hs__general *x, int64_t elements)
{
    return hs__round_up(elements * (int64_t)hs__element_bytes(x->dtype), LINE);
}

size_t hs__general_t_bytes(const hs__general *x)
{
    return (size_t)aligned_bytes(x, count_steps(x) * x->width * x->width);
}

/* A counter for each part of the rows or of the columns, or of the columns of a matrix that is
 * multiplied by the reflectors: how far the work on that part has come. */
static int64_t counter_bytes(const hs__general *x, int64_t cols)
{
    const int64_t lines = hs__max(x->m, cols);
    return hs__round_up(hs__ceil_div(lines, LINES_LEAST) * (int64_t)sizeof(int64_t), LINE);
}

/* Bytes of packed operands: of V, and of the adjoint of the LQ factorisation's V. */
static int64_t packed_v_bytes(const hs__general *x)
{
    return (int64_t)hs__common_bytes(x->kernel, x->dtype, x->m, x->width);
}
static int64_t packed_adjoint_bytes(const hs__general *x)
{
    return (int64_t)hs__common_bytes(x->kernel, x->dtype, x->width, x->n);
}

/* The counters are followed by z, right_v, x and the packed operands of a step, which products with
 * the reflectors do not need. */
size_t hs__general_bytes(const hs__general *x, int64_t cols)
{
    return (size_t)(counter_bytes(x, cols) + 2 * aligned_bytes(x, x->n * x->width) +
                    aligned_bytes(x, x->m * x->width) + packed_v_bytes(x) +
                    packed_adjoint_bytes(x));
}

static _Atomic int64_t *counter_of(const hs__general *x, int64_t part)
{
    return (_Atomic int64_t *)(void *)x->work + part;
}

static void reset_counters(const hs__general *x, int64_t cols)
{
    for (int64_t i = 0; i < counter_bytes(x, cols) / (int64_t)sizeof(int64_t); i++)
        atomic_store(counter_of(x, i), 0);
}

/* Scratch memory is either a product's, behind two matrices of LINES_MOST x width elements, or a
 * factorisation's, behind width elements tau. */
size_t hs__general_scratch(const hs__general *x)
{
    hs__qr_type type;
    hs__qr_type_init(&type, x->dtype);
    const int64_t temporary = aligned_bytes(x, LINES_MOST * x->width);
    const int64_t longest = hs__max(hs__max(x->m, x->width), LINES_MOST);
    const int64_t products =
        2 * temporary + (int64_t)hs__multiply_bytes(x->kernel, x->dtype, longest, longest);
    const int64_t factoring = aligned_bytes(x, x->width) + (int64_t)hs__qr_bytes(&type, x->width);
    return (size_t)hs__max(products, factoring);
}

/* A matrix with columns ld elements apart. */
static hs__matrix columns_of(const hs__general *x, char *data, int64_t rows, int64_t cols,
                             int64_t ld)
{
    return (hs__matrix){data, (ptrdiff_t)hs__element_bytes(x->dtype), rows, cols, 1, ld};
}

static hs__matrix part_of_a(const hs__general *x, int64_t row, int64_t col, int64_t rows,
                            int64_t cols)
{
    const hs__matrix a = columns_of(x, x->a, x->m, x->n, x->ld);
    return hs__part(&a, row, col, rows, cols);
}

static hs__matrix t_of(const hs__general *x, char *t, int64_t step, int64_t size)
{
    const int64_t before = step * x->width * x->width;
    return columns_of(x, t + before * (int64_t)hs__element_bytes(x->dtype), size, size, x->width);
}

static reduction_step step_of(const hs__general *x, int64_t number)
{
    const int64_t first = number * x->width, cols = hs__min(x->width, x->n - first);
    const int64_t rest = x->n - first - cols, below = x->m - first - cols;
    const int64_t next = hs__min(x->width, rest);
    char *z = x->work + counter_bytes(x, 0);
    char *right_v = z + aligned_bytes(x, x->n * x->width);
    char *left = right_v + aligned_bytes(x, x->n * x->width);
    char *packed_v = left + aligned_bytes(x, x->m * x->width);
    return (reduction_step){.own = x,
                            .number = number,
                            .first = first,
                            .cols = cols,
                            .rest = rest,
                            .below = below,
                            .next = next,
                            .z = columns_of(x, z, rest, cols, rest),
                            .x = columns_of(x, left, below, next, below),
                            .right_v = columns_of(x, right_v, rest, cols, rest),
                            .packed_v = packed_v,
                            .packed_adjoint = packed_v + packed_v_bytes(x)};
}

/* Return V and T of the QR and of the LQ factorisation of a step. */
static hs__matrix left_v(const reduction_step *s)
{
    return part_of_a(s->own, s->first, s->first, s->cols + s->below, s->cols);
}
static hs__matrix left_t(const reduction_step *s)
{
    return t_of(s->own, s->own->left_t, s->number, s->cols);
}
static hs__matrix stored_right_v(const reduction_step *s)
{
    const int64_t col = s->first + s->cols;
    return hs__transposed(part_of_a(s->own, s->first, col, s->next, s->rest));
}
static hs__matrix right_t(const reduction_step *s)
{
    return t_of(s->own, s->own->right_t, s->number, s->next);
}

/* The operands that all products of a kind have in common. Each factorisation packs its own. The
 * first two take turns in one memory: when the LQ factorisation begins, all products with the V of
 * the QR factorisation have ended, and conversely. */
static hs__common left_factor(const reduction_step *s)
{
    return (hs__common){left_v(s), 1, s->packed_v};
}
static hs__common right_factor(const reduction_step *s)
{
    return (hs__common){hs__part(&s->right_v, 0, 0, s->rest, s->next), 0, s->packed_v};
}
static hs__common right_adjoint(const reduction_step *s)
{
    const hs__matrix v = hs__part(&s->right_v, s->next, 0, s->rest - s->next, s->next);
    return (hs__common){hs__transposed(v), 1, s->packed_adjoint};
}

/* A worker's two matrices of a part's lines, and its products. */
typedef struct {
    char *first, *second;
    hs__multiplier multiply;
} worker_room;

static worker_room room_of(const hs__general *x, const hs__walk *walk)
{
    char *scratch = hs__walk_scratch(walk);
    const int64_t temporary = aligned_bytes(x, LINES_MOST * x->width);
    return (worker_room){scratch,
                         scratch + temporary,
                         {.kernel = x->kernel,
                          .dtype = x->dtype,
                          .scratch = scratch + 2 * temporary,
                          .cancel = &walk->self.run->cancel}};
}

/* ---- elements -------------------------------------------------------------------------------- */

static void clear_band(const hs__general *x, int64_t col, int64_t cols)
{
    const size_t column = (size_t)x->band_ld * hs__element_bytes(x->dtype);
    memset(x->band + (size_t)col * column, 0, (size_t)cols * column);
}

static char *band_at(const hs__general *x, int64_t row, int64_t col)
{
    const int64_t at = 2 * x->width + row - col + col * x->band_ld;
    return x->band + at * (int64_t)hs__element_bytes(x->dtype);
}

/* Makes a factored panel its V: sets what is above the diagonal to zeros, and the diagonal to
 * ones. */
static void complete_v(const hs__general *x, const hs__matrix *v)
{
    for (int64_t j = 0; j < v->cols; j++) {
        memset(hs__at(v, 0, j), 0, (size_t)hs__min(j, v->rows) * (size_t)v->element);
        if (j < v->rows) hs__set_one(x->dtype, hs__at(v, j, j));
    }
}

/* ---- factorisations -------------------------------------------------------------------------- */

/* Factors v = Q R in place. Returns non-zero after a cancel. */
static int factor_panel(const hs__general *x, const hs__matrix *v, const hs__matrix *t,
                        hs__walk *walk)
{
    hs__qr_type type;
    hs__qr_type_init(&type, x->dtype);
    char *scratch = hs__walk_scratch(walk);
    return hs__qr_factor(&type, v->rows, v->cols, v->data, v->col_stride, scratch, t->data,
                         t->col_stride, scratch + aligned_bytes(x, x->width), &walk->self);
}

/* The QR factorisation of a step's panel. */
static void factor_columns(const reduction_step *s, hs__walk *walk)
{
    const hs__general *x = s->own;
    const worker_room room = room_of(x, walk);
    const hs__common common = left_factor(s);
    const hs__matrix v = left_v(s), t = left_t(s);
    if (factor_panel(x, &v, &t, walk)) return;
    if (s->number == 0) clear_band(x, 0, s->cols);
    for (int64_t j = 0; j < s->cols; j++)
        memcpy(band_at(x, s->first, s->first + j), hs__at(&v, 0, j),
               (size_t)(j + 1) * (size_t)v.element);
    complete_v(x, &v);
    if (s->rest) hs__pack_common(&room.multiply, &common);
}

/* The LQ factorisation of the rows to the right of a step's panel, as the QR factorisation of their
 * adjoint. */
static void factor_rows(const reduction_step *s, hs__walk *walk)
{
    const hs__general *x = s->own;
    const worker_room room = room_of(x, walk);
    const int64_t col = s->first + s->cols;
    const hs__matrix adjoint = s->right_v, t = right_t(s);
    const hs__common common[] = {right_factor(s), right_adjoint(s)};
    hs__copy(NULL, adjoint, hs__transposed(part_of_a(x, s->first, col, s->cols, s->rest)));
    for (int64_t j = 0; j < s->cols; j++)
        hs__conjugate_elements(x->dtype, s->rest, hs__at(&adjoint, 0, j));
    if (factor_panel(x, &adjoint, &t, walk)) return;
    clear_band(x, col, s->next);
    for (int64_t j = 0; j < s->cols; j++) {
        hs__conjugate_elements(x->dtype, hs__min(j + 1, s->rest), hs__at(&adjoint, 0, j));
        for (int64_t i = 0; i <= j && i < s->rest; i++)
            memcpy(band_at(x, s->first + j, col + i), hs__at(&adjoint, i, j),
                   (size_t)adjoint.element);
    }
    complete_v(x, &adjoint);
    hs__copy(NULL, stored_right_v(s), hs__part(&adjoint, 0, 0, s->rest, s->next));
    hs__pack_common(&room.multiply, &common[0]);
    hs__pack_common(&room.multiply, &common[1]);
}

/* ---- reduction ------------------------------------------------------------------------------- */

/* Returns a temporary matrix with its lines in the direction that the kernel prefers. */
static hs__matrix temporary_of(const worker_room *room, int64_t rows, int64_t cols)
{
    const int32_t dtype = room->multiply.dtype;
    const int by_rows = room->multiply.kernel->real[dtype & 1].prefers_rows;
    return (hs__matrix){.data = room->first,
                        .element = (ptrdiff_t)hs__element_bytes(dtype),
                        .rows = rows,
                        .cols = cols,
                        .row_stride = by_rows ? cols : 1,
                        .col_stride = by_rows ? 1 : rows};
}

/* Z^T = (T V^H C)^T, or with adjoint (T^H V^H C)^T, which I - V T V^H or its adjoint subtracts from
 * C as V Z^T. conj_v: conj(V). */
static void compute_z(const worker_room *room, const hs__common *conj_v, hs__matrix t, int adjoint,
                      hs__matrix c, hs__matrix z)
{
    const hs__matrix product = temporary_of(room, z.rows, z.cols);
    hs__multiply_common(&room->multiply, 1, hs__transposed(c), conj_v, 0, product);
    hs__multiply(&room->multiply, 1, product, adjoint ? t : hs__transposed(t), adjoint, 0, z);
}

/* Computes columns `col` .. of Z^T, and updates these columns of the rows that the LQ factorisation
 * takes. */
static void start_columns(const reduction_step *s, const worker_room *room, int64_t col,
                          int64_t cols)
{
    const int64_t at = s->first + s->cols + col;
    const hs__common conj_v = left_factor(s);
    const hs__matrix v = conj_v.b, z = hs__part(&s->z, col, 0, cols, s->cols);
    compute_z(room, &conj_v, left_t(s), 1, part_of_a(s->own, s->first, at, v.rows, cols), z);
    hs__multiply(&room->multiply, -1, hs__part(&v, 0, 0, s->cols, s->cols), hs__transposed(z), 0, 1,
                 part_of_a(s->own, s->first, at, s->cols, cols));
}

/* A <- A - V Z^T in these columns, below those rows. */
static void finish_columns(const reduction_step *s, const worker_room *room, int64_t col,
                           int64_t cols)
{
    const int64_t row = s->first + s->cols;
    const hs__matrix v = left_v(s), z = hs__part(&s->z, col, 0, cols, s->cols);
    hs__multiply(&room->multiply, -1, hs__part(&v, s->cols, 0, s->below, s->cols),
                 hs__transposed(z), 0, 1, part_of_a(s->own, row, row + col, s->below, cols));
}

/* Computes rows `row` .. of X = A V T, and updates these rows of the next panel. */
static void start_rows(const reduction_step *s, const worker_room *room, int64_t row, int64_t rows)
{
    const int64_t at = s->first + s->cols;
    const hs__matrix a = part_of_a(s->own, at + row, at, rows, s->rest);
    const hs__common v = right_factor(s);
    const hs__matrix top = hs__part(&v.b, 0, 0, s->next, s->next);
    const hs__matrix x = hs__part(&s->x, row, 0, rows, s->next);
    const hs__matrix product = temporary_of(room, rows, s->next);
    hs__multiply_common(&room->multiply, 1, a, &v, 0, product);
    hs__multiply(&room->multiply, 1, product, right_t(s), 0, 0, x);
    hs__multiply(&room->multiply, -1, x, hs__transposed(top), 1, 1,
                 hs__part(&a, 0, 0, rows, s->next));
}

/* A <- A - X V^H in these rows, to the right of the next panel. */
static void finish_rows(const reduction_step *s, const worker_room *room, int64_t row, int64_t rows)
{
    const int64_t at = s->first + s->cols;
    const hs__common adjoint = right_adjoint(s);
    hs__multiply_common(&room->multiply, -1, hs__part(&s->x, row, 0, rows, s->next), &adjoint, 1,
                        part_of_a(s->own, at + row, at + s->next, rows, s->rest - s->next));
}

/* What the counter of a part tells when its first task of a step has ended. The columns come before
 * the rows. */
static int64_t columns_started(const reduction_step *s) { return 2 * s->number + 1; }
static int64_t rows_started(const reduction_step *s) { return 2 * s->number + 2; }

/* Waits until the counters of `count` parts have reached a value. Returns non-zero after a cancel. */
static int await_parts(hs__walk *walk, const hs__general *x, int64_t first, int64_t count,
                       int64_t value)
{
    for (int64_t i = 0; i < count; i++) hs__phase_await(walk, counter_of(x, first + i), value);
    return hs__stopped(&walk->self);
}

/* Applies the QR factorisation of the panel from the left. The tasks are: for each part of the
 * columns, its part of Z^T and of the rows of the LQ factorisation; this factorisation; for each
 * part, the other rows. So other workers are busy while one factors. */
static void apply_left(void *context, int32_t task, hs__walk *walk)
{
    const reduction_step *s = context;
    const worker_room room = room_of(s->own, walk);
    const int32_t parts = count_parts(s->rest);
    const int64_t part = task < parts ? task : task - parts - 1;
    const int64_t col = part * cut_lines(s->rest), started = columns_started(s);
    if (task < parts) {
        start_columns(s, &room, col, size_of_part(part, s->rest));
        hs__phase_raise(walk, counter_of(s->own, part), started);
    } else if (task == parts) {
        if (!await_parts(walk, s->own, 0, parts, started)) factor_rows(s, walk);
    } else if (!await_parts(walk, s->own, part, 1, started)) {
        finish_columns(s, &room, col, size_of_part(part, s->rest));
    }
}

/* Applies the LQ factorisation from the right in the same manner: parts of the rows, in which X and
 * the next panel are computed; the QR factorisation of that panel; the rest of each part. */
static void apply_right(void *context, int32_t task, hs__walk *walk)
{
    const reduction_step *s = context;
    const worker_room room = room_of(s->own, walk);
    const int32_t parts = count_parts(s->below);
    const int64_t part = task < parts ? task : task - parts - 1;
    const int64_t row = part * cut_lines(s->below), started = rows_started(s);
    if (task < parts) {
        start_rows(s, &room, row, size_of_part(part, s->below));
        hs__phase_raise(walk, counter_of(s->own, part), started);
    } else if (task == parts) {
        const reduction_step next = step_of(s->own, s->number + 1);
        if (!await_parts(walk, s->own, 0, parts, started)) factor_columns(&next, walk);
    } else if (!await_parts(walk, s->own, part, 1, started)) {
        finish_rows(s, &room, row, size_of_part(part, s->below));
    }
}

static void factor_first(void *context, int32_t task, hs__walk *walk)
{
    const reduction_step *s = context;
    (void)task;
    reset_counters(s->own, 0);
    factor_columns(s, walk);
}

int hs__general_to_band(hs__walk *walk, const hs__general *x)
{
    const int64_t steps = count_steps(x);
    reduction_step s = step_of(x, 0);
    if (hs__phase(walk, steps > 0, factor_first, &s)) return 1;
    for (int64_t k = 0; k + 1 < steps; k++) {
        s = step_of(x, k);
        if (hs__phase(walk, 2 * count_parts(s.rest) + 1, apply_left, &s)) return 1;
        if (hs__phase(walk, 2 * count_parts(s.below) + 1, apply_right, &s)) return 1;
    }
    return 0;
}

/* ---- products with the reflectors ------------------------------------------------------------ */

/* Multiplies C by the reflectors of one side.
 *   adjoint  by the adjoint of their product
 *   steps    blocks of reflectors of that side */
typedef struct {
    const hs__general *own;
    int right, adjoint;
    int64_t steps;
    hs__matrix c;
} multiplication;

static void begin_multiplication(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *all = context;
    (void)task;
    (void)walk;
    reset_counters(all->own, all->c.cols);
}

/* Applies one block of reflectors to a part of the columns. The last block comes first, for all
 * parts; for the adjoint the first one. */
static void multiply_columns(void *context, int32_t task, hs__walk *walk)
{
    const multiplication *all = context;
    const hs__general *x = all->own;
    const worker_room room = room_of(x, walk);
    const int32_t parts = count_parts(all->c.cols);
    const int64_t part = task % parts, done = task / parts;
    const int64_t col = part * cut_lines(all->c.cols), cols = size_of_part(part, all->c.cols);
    const reduction_step s = step_of(x, all->adjoint ? done : all->steps - 1 - done);
    const hs__matrix v = all->right ? stored_right_v(&s) : left_v(&s);
    const hs__common conj_v = {.b = v, .conjugate = 1};
    const hs__matrix c = hs__part(&all->c, all->c.rows - v.rows, col, v.rows, cols);
    const hs__matrix z = columns_of(x, room.second, cols, v.cols, cols);
    if (await_parts(walk, x, part, 1, done)) return;
    compute_z(&room, &conj_v, all->right ? right_t(&s) : left_t(&s), all->adjoint, c, z);
    hs__multiply(&room.multiply, -1, v, hs__transposed(z), 0, 1, c);
    hs__phase_raise(walk, counter_of(x, part), done + 1);
}

static int multiply_all(hs__walk *walk, const hs__general *x, int right, int adjoint, hs__matrix c)
{
    multiplication all = {x, right, adjoint, hs__max(count_steps(x) - right, 0), c};
    const int64_t tasks = c.cols > 0 ? all.steps * count_parts(c.cols) : 0;
    return hs__phase(walk, tasks > 0, begin_multiplication, &all) ||
           hs__phase(walk, (int32_t)tasks, multiply_columns, &all);
}

int hs__general_left(hs__walk *walk, const hs__general *x, int adjoint, char *c, int64_t ld,
                     int64_t cols)
{
    return multiply_all(walk, x, 0, adjoint, columns_of(x, c, x->m, cols, ld));
}

int hs__general_right(hs__walk *walk, const hs__general *x, int adjoint, char *c, int64_t ld,
                      int64_t cols)
{
    return multiply_all(walk, x, 1, adjoint, columns_of(x, c, x->n, cols, ld));
}
