/* Reduces a general matrix to a band, and multiplies by the reflectors (spectral/general.h). */
#include "spectral/general.h"

#include <string.h>

#include "core/numbers.h"
#include "factor/qr_panel.h"
#include "product/panels.h"
#include "run/matrix.h"
#include "spectral/multiply.h"

/* How a matrix is cut for the tasks: into about LINES_PARTS parts of LINES_LEAST to LINES_MOST
 * columns or rows. A tile has at most TILE_ROWS rows. Larger parts pack the reflectors less often.
 * By hand. */
enum { LINE = 64, LINES_PARTS = 12, LINES_LEAST = 48, LINES_MOST = 192, TILE_ROWS = 4096 };

/* A step of the reduction.
 *   first   row and column at which it begins
 *   cols    of its panel
 *   rest    columns to the right of the panel
 *   below   rows below the first `cols` rows
 *   next    columns of the next panel, and reflectors of the LQ factorisation
 *   z       [rest x cols] of the update A - V Z^T by the V of the QR factorisation
 *   x       [below x next] of the update A - X V^H by the V of the LQ factorisation
 *   right_v [rest x cols] that V, in its first `next` columns */
typedef struct {
    const hs__general *own;
    int64_t number, first, cols, rest, below, next;
    hs__matrix z, x, right_v;
} reduction_step;

/* ---- sizes and places ------------------------------------------------------------------------ */

static int64_t count_steps(const hs__general *x) { return hs__ceil_div(x->n, x->width); }

/* Returns the number of lines of a part. */
static int64_t cut_lines(int64_t lines)
{
    const int64_t some = hs__max(LINES_LEAST, hs__min(LINES_MOST, lines / LINES_PARTS));
    return hs__even_parts(lines, some, 16);
}

static int64_t aligned_bytes(const hs__general *x, int64_t elements)
{
    return hs__round_up(elements * (int64_t)hs__element_bytes(x->dtype), LINE);
}

size_t hs__general_t_bytes(const hs__general *x)
{
    return (size_t)aligned_bytes(x, count_steps(x) * x->width * x->width);
}

/* z and v, then x. */
size_t hs__general_bytes(const hs__general *x)
{
    return (size_t)(2 * aligned_bytes(x, x->n * x->width) + aligned_bytes(x, x->m * x->width));
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
    char *right_v = x->work + aligned_bytes(x, x->n * x->width);
    char *left = right_v + aligned_bytes(x, x->n * x->width);
    return (reduction_step){.own = x,
                            .number = number,
                            .first = first,
                            .cols = cols,
                            .rest = rest,
                            .below = below,
                            .next = hs__min(x->width, rest),
                            .z = columns_of(x, x->work, rest, cols, rest),
                            .x = columns_of(x, left, below, hs__min(x->width, rest), below),
                            .right_v = columns_of(x, right_v, rest, cols, rest)};
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

static void set_one(const hs__general *x, char *to)
{
    const float one = 1;
    const double one_double = 1;
    memset(to, 0, hs__element_bytes(x->dtype));
    memcpy(to, x->dtype & 1 ? (const void *)&one_double : (const void *)&one,
           hs__real_bytes(x->dtype));
}

static void conjugate(const hs__general *x, int64_t count, char *elements)
{
    float *single = (float *)elements;
    double *two = (double *)elements;
    if (x->dtype < HS_COMPLEX64) return;
    for (int64_t i = 0; i < count; i++)
        if (x->dtype & 1) two[2 * i + 1] = -two[2 * i + 1];
        else single[2 * i + 1] = -single[2 * i + 1];
}

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
        if (j < v->rows) set_one(x, hs__at(v, j, j));
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
    const hs__matrix v = left_v(s), t = left_t(s);
    if (factor_panel(x, &v, &t, walk)) return;
    if (s->number == 0) clear_band(x, 0, s->cols);
    for (int64_t j = 0; j < s->cols; j++)
        memcpy(band_at(x, s->first, s->first + j), hs__at(&v, 0, j),
               (size_t)(j + 1) * (size_t)v.element);
    complete_v(x, &v);
}

/* The LQ factorisation of the rows to the right of a step's panel, as the QR factorisation of their
 * adjoint. */
static void factor_rows(const reduction_step *s, hs__walk *walk)
{
    const hs__general *x = s->own;
    const int64_t col = s->first + s->cols;
    const hs__matrix adjoint = s->right_v, t = right_t(s);
    hs__copy(NULL, adjoint, hs__transposed(part_of_a(x, s->first, col, s->cols, s->rest)));
    for (int64_t j = 0; j < s->cols; j++) conjugate(x, s->rest, hs__at(&adjoint, 0, j));
    if (factor_panel(x, &adjoint, &t, walk)) return;
    clear_band(x, col, s->next);
    for (int64_t j = 0; j < s->cols; j++) {
        conjugate(x, hs__min(j + 1, s->rest), hs__at(&adjoint, 0, j));
        for (int64_t i = 0; i <= j && i < s->rest; i++)
            memcpy(band_at(x, s->first + j, col + i), hs__at(&adjoint, i, j),
                   (size_t)adjoint.element);
    }
    complete_v(x, &adjoint);
    hs__copy(NULL, stored_right_v(s), hs__part(&adjoint, 0, 0, s->rest, s->next));
}

/* ---- reduction ------------------------------------------------------------------------------- */

/* Z^T = (T V^H C)^T, or with adjoint (T^H V^H C)^T, which I - V T V^H or its adjoint subtracts from
 * C as V Z^T. */
static void compute_z(const worker_room *room, hs__matrix v, hs__matrix t, int adjoint,
                      hs__matrix c, hs__matrix z)
{
    hs__matrix product = z;
    product.data = room->first;
    product.col_stride = z.rows;
    hs__multiply(&room->multiply, 1, hs__transposed(c), v, 1, 0, product);
    hs__multiply(&room->multiply, 1, product, adjoint ? t : hs__transposed(t), adjoint, 0, z);
}

static int64_t part_size(int64_t part, int64_t each, int64_t all)
{
    return hs__min(each, all - part * each);
}

/* Some columns of Z, and of the rows that the LQ factorisation takes. */
static void start_left(void *context, int32_t task, hs__walk *walk)
{
    const reduction_step *s = context;
    const worker_room room = room_of(s->own, walk);
    const int64_t each = cut_lines(s->rest), at = task * each;
    const int64_t cols = part_size(task, each, s->rest), col = s->first + s->cols + at;
    const hs__matrix v = left_v(s), z = hs__part(&s->z, at, 0, cols, s->cols);
    compute_z(&room, v, left_t(s), 1, part_of_a(s->own, s->first, col, v.rows, cols), z);
    hs__multiply(&room.multiply, -1, hs__part(&v, 0, 0, s->cols, s->cols), hs__transposed(z), 0, 1,
                 part_of_a(s->own, s->first, col, s->cols, cols));
}

/* Returns the number of tiles that lie one above the other. */
static int64_t count_high(int64_t rows)
{
    return hs__ceil_div(rows, hs__even_parts(rows, TILE_ROWS, 16));
}

static int32_t count_tiles(int64_t rows, int64_t cols)
{
    return (int32_t)(count_high(rows) * hs__ceil_div(cols, cut_lines(cols)));
}

/* c <- c - a b for one tile of c. With conjugate: conj(b). */
static void update_tile(const worker_room *room, int64_t tile, hs__matrix a, hs__matrix b,
                        int conjugated, hs__matrix c)
{
    const int64_t high = hs__even_parts(c.rows, TILE_ROWS, 16), wide = cut_lines(c.cols);
    const int64_t row = tile % count_high(c.rows) * high, col = tile / count_high(c.rows) * wide;
    const int64_t rows = hs__min(high, c.rows - row), cols = hs__min(wide, c.cols - col);
    hs__multiply(&room->multiply, -1, hs__part(&a, row, 0, rows, a.cols),
                 hs__part(&b, 0, col, b.rows, cols), conjugated, 1,
                 hs__part(&c, row, col, rows, cols));
}

/* Task 0 is the LQ factorisation, the others are A - V Z^T below these rows. */
static void finish_left(void *context, int32_t task, hs__walk *walk)
{
    const reduction_step *s = context;
    const worker_room room = room_of(s->own, walk);
    const hs__matrix v = left_v(s);
    const int64_t row = s->first + s->cols;
    if (task == 0) factor_rows(s, walk);
    else
        update_tile(&room, task - 1, hs__part(&v, s->cols, 0, s->below, s->cols),
                    hs__transposed(s->z), 0, part_of_a(s->own, row, row, s->below, s->rest));
}

/* Some rows of X = A V T, and of the next panel. */
static void start_right(void *context, int32_t task, hs__walk *walk)
{
    const reduction_step *s = context;
    const worker_room room = room_of(s->own, walk);
    const int64_t each = cut_lines(s->below), at = task * each, col = s->first + s->cols;
    const int64_t rows = part_size(task, each, s->below);
    const hs__matrix a = part_of_a(s->own, col + at, col, rows, s->rest);
    const hs__matrix v = hs__part(&s->right_v, 0, 0, s->rest, s->next);
    const hs__matrix x = hs__part(&s->x, at, 0, rows, s->next);
    const hs__matrix product = columns_of(s->own, room.first, rows, s->next, rows);
    hs__multiply(&room.multiply, 1, a, v, 0, 0, product);
    hs__multiply(&room.multiply, 1, product, right_t(s), 0, 0, x);
    hs__multiply(&room.multiply, -1, x, hs__transposed(hs__part(&v, 0, 0, s->next, s->next)), 1, 1,
                 hs__part(&a, 0, 0, rows, s->next));
}

/* Task 0 is the QR factorisation of the next panel, the others are A - X V^H to the right of it. */
static void finish_right(void *context, int32_t task, hs__walk *walk)
{
    const reduction_step *s = context;
    const worker_room room = room_of(s->own, walk);
    const int64_t row = s->first + s->cols, cols = s->rest - s->next;
    const reduction_step after = step_of(s->own, s->number + 1);
    const hs__matrix v = hs__part(&s->right_v, s->next, 0, cols, s->next);
    if (task == 0) factor_columns(&after, walk);
    else
        update_tile(&room, task - 1, s->x, hs__transposed(v), 1,
                    part_of_a(s->own, row, row + s->next, s->below, cols));
}

static void factor_first(void *context, int32_t task, hs__walk *walk)
{
    (void)task;
    factor_columns(context, walk);
}

static int32_t count_parts(int64_t lines) { return (int32_t)hs__ceil_div(lines, cut_lines(lines)); }

int hs__general_to_band(hs__walk *walk, const hs__general *x)
{
    const int64_t steps = count_steps(x);
    reduction_step s = step_of(x, 0);
    if (steps && hs__phase(walk, 1, factor_first, &s)) return 1;
    for (int64_t k = 0; k + 1 < steps; k++) {
        s = step_of(x, k);
        const int32_t left = count_tiles(s.below, s.rest);
        const int32_t right = count_tiles(s.below, s.rest - s.next);
        if (hs__phase(walk, count_parts(s.rest), start_left, &s) ||
            hs__phase(walk, 1 + left, finish_left, &s) ||
            hs__phase(walk, count_parts(s.below), start_right, &s) ||
            hs__phase(walk, 1 + right, finish_right, &s))
            return 1;
    }
    return hs__stopped(&walk->self);
}

/* ---- products with the reflectors ------------------------------------------------------------ */

typedef struct {
    const hs__general *own;
    int right;
    hs__matrix c;
} back_transformation;

/* Applies all reflectors to some columns of C, those of the last step first. */
static void apply_to_columns(void *context, int32_t task, hs__walk *walk)
{
    const back_transformation *all = context;
    const hs__general *x = all->own;
    const worker_room room = room_of(x, walk);
    const int64_t each = cut_lines(all->c.cols), cols = part_size(task, each, all->c.cols);
    const hs__matrix c = hs__part(&all->c, 0, task * each, all->c.rows, cols);
    for (int64_t k = count_steps(x) - (all->right ? 2 : 1); k >= 0; k--) {
        const reduction_step s = step_of(x, k);
        const hs__matrix v = all->right ? stored_right_v(&s) : left_v(&s);
        const hs__matrix own = hs__part(&c, c.rows - v.rows, 0, v.rows, cols);
        const hs__matrix z = columns_of(x, room.second, cols, v.cols, cols);
        compute_z(&room, v, all->right ? right_t(&s) : left_t(&s), 0, own, z);
        hs__multiply(&room.multiply, -1, v, hs__transposed(z), 0, 1, own);
        if (hs__attend(&walk->self)) return;
    }
}

static int apply_all(hs__walk *walk, const hs__general *x, int right, hs__matrix c)
{
    back_transformation all = {x, right, c};
    const int32_t count = c.cols ? count_parts(c.cols) : 0;
    return hs__phase(walk, count, apply_to_columns, &all);
}

int hs__general_left(hs__walk *walk, const hs__general *x, char *c, int64_t ld, int64_t cols)
{
    return apply_all(walk, x, 0, columns_of(x, c, x->m, cols, ld));
}

int hs__general_right(hs__walk *walk, const hs__general *x, char *c, int64_t ld, int64_t cols)
{
    return apply_all(walk, x, 1, columns_of(x, c, x->n, cols, ld));
}
