/* Computes one item of a stack (stack/item.h). Large items are halved recursively down to the loops
 * of kernel/small.h. A product is cut into pieces that stay in the caches. */
#include "stack/item.h"

#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "core/tuning.h"

/* The padded matrix that a worker computes with, row by row. */
typedef struct {
    const hs__small *loops;
    hs__member *self;
    char *data;
    int64_t row;
    ptrdiff_t element;
    void *scratch; /* memory for the loops of products */
    /* Not NULL, but empty, if C is not in the caches: then its tiles are prefetched. */
    hs__ahead *ahead;
} workspace;

static char *element_at(const workspace *w, int64_t i, int64_t j)
{
    return w->data + (i * w->row + j) * w->element;
}

static int64_t padded_size(const hs__small *loops, int64_t n)
{
    return hs__round_up(n, loops->across);
}

/* DEPTH: largest depth of a product in one piece. BLOCK: bytes of its part of A, which stays in the
 * L2 cache. LEAF: rows that the loops solve without recursion. WATCHED: larger items look for a cancel
 * while they are computed. */
enum { DEPTH = 256, BLOCK = 512 << 10, LEAF = 16, WATCHED = 64 };

enum { SCRATCH = DEPTH * HS__SMALL_SCRATCH };

static int64_t rows_at_once(ptrdiff_t element) { return BLOCK / DEPTH / element; }

/* ---- products -------------------------------------------------------------------------------- */

/* An operand with rows that are not contiguous. */
typedef struct {
    const char *data;
    int64_t row, col;
} strided;

/* C <- A B, C + A B or C - A B, as the flags say, for n of whole vectors, in pieces that stay in
 * the caches. Returns whether the run goes on. */
static int multiply_in_pieces(const workspace *w, int64_t m, int64_t n, int64_t k, strided a,
                              const char *b, int64_t b_row, char *c, int64_t c_row, int32_t flags)
{
    const int64_t rows = rows_at_once(w->element);
    for (int64_t l = 0; l < k; l += DEPTH)
        for (int64_t i = 0; i < m; i += rows) {
            if ((m > WATCHED || n > WATCHED) && hs__attend(w->self)) return 0;
            w->loops->multiply(hs__min(rows, m - i), n, hs__min(DEPTH, k - l),
                               a.data + (i * a.row + l * a.col) * w->element, a.row, a.col,
                               b + l * b_row * w->element, b_row, c + i * c_row * w->element, c_row,
                               flags, w->scratch, w->ahead);
        }
    return !hs__stopped(w->self);
}

/* C <- A B, with B and C by rows, and C at least as wide as a vector. */
static void compute_product(const workspace *w, int64_t m, int64_t n, int64_t k, strided a,
                            const char *b, int64_t b_row, char *c, int64_t c_row)
{
    const int64_t rows = rows_at_once(w->element);
    if (k <= DEPTH && m <= rows) {
        w->loops->multiply(m, n, k, a.data, a.row, a.col, b, b_row, c, c_row, 0, w->scratch,
                           w->ahead);
        return;
    }
    const int64_t across = w->loops->across;
    const int64_t whole = n / across * across;
    const int64_t tail = (n - across) * w->element;
    for (int64_t l = 0; whole && l < k; l += DEPTH) {
        const strided part = {a.data + l * a.col * w->element, a.row, a.col};
        if (!multiply_in_pieces(w, m, whole, hs__min(DEPTH, k - l), part,
                                b + l * b_row * w->element, b_row, c, c_row, l ? HS__ADD : 0))
            return;
    }
    /* the last vector overlaps the one before */
    for (int64_t i = 0; n > whole && i < m && !hs__attend(w->self); i += rows)
        w->loops->multiply(hs__min(rows, m - i), across, k, a.data + i * a.row * w->element, a.row,
                           a.col, b + tail, b_row, c + i * c_row * w->element + tail, c_row, 0,
                           NULL, NULL);
}

/* Returns whether C is computed as C^T = B^T A^T: if the columns of C are contiguous, or if C is a
 * vector and the loops can then read the matrix without a copy. */
static int is_turned(const hs_product *p)
{
    if (p->m == 1) return p->n > 1 && p->b_col_stride != 1;
    if (p->n == 1) return p->c_row_stride == 1 && p->a_row_stride == 1;
    return p->c_row_stride == 1 && p->c_col_stride != 1;
}

/* Whether C can be computed in place. */
static int is_direct(const hs_product *p)
{
    const int64_t col = is_turned(p) ? p->c_row_stride : p->c_col_stride;
    const int64_t cols = is_turned(p) ? p->m : p->n;
    return (col == 1 || cols == 1) && hs__factor_is(p->dtype, p->alpha, 1.0) &&
           hs__factor_is(p->dtype, p->beta, 0.0);
}

static void *scratch_of(const hs__items *x, char *memory) { return memory + x->bytes - SCRATCH; }

/* Computes a plain product, and prefetches the next one. An operand that both share is not fetched
 * again. */
static void do_plain(const hs__items *x, const hs_product *p, const hs__operands *next,
                     char *memory)
{
    void *scratch = scratch_of(x, memory);
    hs__ahead ahead = {.lines = x->lines};
    if (x->lines) {
        hs__ahead_add(&ahead, &x->span[2], next->c);
        if (next->b != p->b) hs__ahead_add(&ahead, &x->span[1], next->b);
        if (next->a != p->a) hs__ahead_add(&ahead, &x->span[0], next->a);
    }
    hs__ahead *fetched = x->lines ? &ahead : NULL;
    if (x->turned)
        x->loops.multiply(p->n, p->m, p->k, p->b, p->b_col_stride, p->b_row_stride, p->a,
                          p->a_col_stride, p->c, p->c_col_stride, 0, scratch, fetched);
    else
        x->loops.multiply(p->m, p->n, p->k, p->a, p->a_row_stride, p->a_col_stride, p->b,
                          p->b_row_stride, p->c, p->c_row_stride, 0, scratch, fetched);
}

static void do_product(const hs__items *x, const hs_product *p, char *memory, hs__member *self)
{
    hs__matrix a, b, c;
    hs__matrices_of(p, &a, &b, &c);
    if (p->k == 0 || hs__factor_is(p->dtype, p->alpha, 0.0)) {
        hs__scale(p->dtype, &c, p->beta);
        return;
    }
    if (x->turned) {
        const hs__matrix kept = a;
        a = hs__transposed(b);
        b = hs__transposed(kept);
        c = hs__transposed(c);
    }
    hs__ahead none = {0};
    const workspace w = {&x->loops, self, memory, 0, c.element, scratch_of(x, memory), &none};
    hs__matrix rows = b;
    hs__matrix to = c;
    if (x->b_bytes) {
        rows = (hs__matrix){memory, b.element, b.rows, b.cols, x->b_row, 1};
        hs__copy(self, rows, b);
    }
    if (x->c_bytes) to = (hs__matrix){memory + x->b_bytes, c.element, c.rows, c.cols, x->c_row, 1};
    compute_product(&w, c.rows, c.cols, b.rows, (strided){a.data, a.row_stride, a.col_stride},
                    rows.data, rows.row_stride, to.data, to.row_stride);
    if (!x->c_bytes || hs__stopped(self)) return;
    hs__combine(p->dtype, &to, p->alpha, p->beta, &c);
}

/* ---- triangular systems ---------------------------------------------------------------------- */

/* X <- T^-1 X, by recursion, for h rows of X with n elements each, in whole vectors. Returns
 * whether the run goes on. */
static int solve_lower(const workspace *w, int64_t h, int64_t n, strided t, char *x, int64_t x_row,
                       int32_t flags)
{
    if (h <= LEAF) {
        w->loops->substitute(h, n, t.data, t.row, t.col, x, x_row, flags);
        return 1;
    }
    const int64_t half = hs__round_up(h / 2, 8);
    const strided corner = {t.data + half * t.row * w->element, t.row, t.col};
    const strided last = {corner.data + half * t.col * w->element, t.row, t.col};
    char *below = x + half * x_row * w->element;
    return solve_lower(w, half, n, t, x, x_row, flags) &&
           multiply_in_pieces(w, h - half, n, half, corner, x, x_row, below, x_row,
                              HS__SUBTRACT | (flags & HS__CONJUGATE)) &&
           solve_lower(w, h - half, n, last, below, x_row, flags);
}

/* ---- LU -------------------------------------------------------------------------------------- */

/* Factors columns first .. end - 1 of m columns, from row `first` on, and exchanges rows of `width`
 * elements. Sets *zero to the first zero pivot if it is not set yet. Returns whether the run goes
 * on. */
static int factor_columns(const workspace *w, int64_t m, int64_t width, int64_t first, int64_t end,
                          int32_t *pivots, int64_t *zero)
{
    const int64_t panel = 2 * (int64_t)w->loops->across;
    const int64_t cols = end - first;
    if (cols <= panel) {
        const int64_t found = w->loops->factor(m, width, first, cols, w->data, w->row, pivots);
        if (*zero < 0) *zero = found;
        return 1;
    }
    const int64_t middle = first + hs__round_up(cols / 2, panel);
    const int64_t rest = padded_size(w->loops, end) - middle;
    if (!factor_columns(w, m, width, first, middle, pivots, zero)) return 0;
    const strided l = {element_at(w, first, first), w->row, 1};
    const strided below = {element_at(w, middle, first), w->row, 1};
    return solve_lower(w, middle - first, rest, l, element_at(w, first, middle), w->row,
                       HS__UNIT) &&
           multiply_in_pieces(w, m - middle, rest, middle - first, below,
                              element_at(w, first, middle), w->row, element_at(w, middle, middle),
                              w->row, HS__SUBTRACT) &&
           factor_columns(w, m, width, middle, end, pivots, zero);
}

/* Fills rows `first` and below with NaN, or only their part of the lower triangle. */
static void fill_nan(const hs_product *p, const hs__matrix *c, int64_t first, int lower)
{
    for (int64_t i = first; i < c->rows; i++)
        for (int64_t j = 0; j < (lower ? i + 1 : c->cols); j++) {
            char *z = hs__at(c, i, j);
            for (int part = 0; part <= p->dtype >> 1; part++) {
                if (p->dtype & 1) ((double *)(void *)z)[part] = (double)NAN;
                else ((float *)(void *)z)[part] = NAN;
            }
        }
}

static void set_identity(const workspace *w, int32_t dtype, int64_t m, int64_t right)
{
    for (int64_t i = 0; i < m; i++) {
        memset(element_at(w, i, right), 0, (size_t)(m * w->element));
        if (dtype & 1) *(double *)(void *)element_at(w, i, right + i) = 1.0;
        else *(float *)(void *)element_at(w, i, right + i) = 1.0f;
    }
}

/* Does the operations SOLVE, INVERT and LU. */
static void do_system(const hs__items *x, const hs_product *p, int32_t *pivots, int64_t *info,
                      const workspace *w)
{
    const int64_t m = p->m;
    const int64_t cols = padded_size(w->loops, p->n);
    const int only = x->stack->operation == HS_STACK_LU;
    hs__matrix a, b, c;
    hs__matrices_of(p, &a, &b, &c);
    const hs__matrix left = {w->data, w->element, m, m, w->row, 1};
    const hs__matrix right = {element_at(w, 0, x->right), w->element, m, p->n, w->row, 1};
    hs__copy(w->self, left, a);
    if (x->stack->operation == HS_STACK_SOLVE) hs__copy(w->self, right, b);
    if (x->stack->operation == HS_STACK_INVERT) set_identity(w, p->dtype, m, x->right);
    *info = -1;
    if (!factor_columns(w, m, only ? padded_size(w->loops, m) : x->right + cols, 0, m, pivots,
                        info))
        return;
    if (only) {
        hs__copy(w->self, c, left);
        return;
    }
    if (*info >= 0) {
        fill_nan(p, &c, 0, 0);
        return;
    }
    const strided lower = {w->data, w->row, 1};
    const strided upper = {element_at(w, m - 1, m - 1), -w->row, -1};
    if (solve_lower(w, m, cols, lower, right.data, w->row, HS__UNIT) &&
        solve_lower(w, m, cols, upper, element_at(w, m - 1, x->right), -w->row, 0))
        hs__copy(w->self, c, right);
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

/* Replaces the upper triangle of rows and columns first .. end - 1 by U with U^H U equal to it.
 * *order as info in hs_stack. Returns whether to go on. */
static int factor_upper(const workspace *w, int64_t first, int64_t end, int64_t *order)
{
    enum { BAND = 32 };
    const int64_t panel = 2 * (int64_t)w->loops->across;
    const int64_t cols = end - first;
    if (cols <= panel) {
        const int64_t found = w->loops->cholesky(cols, element_at(w, first, first), w->row);
        if (found >= 0) *order = first + found + 1;
        return found < 0;
    }
    const int64_t middle = first + hs__round_up(cols / 2, panel);
    const int64_t stop = padded_size(w->loops, end);
    if (!factor_upper(w, first, middle, order)) return 0;
    const strided l = {element_at(w, first, first), 1, w->row};
    if (!solve_lower(w, middle - first, stop - middle, l, element_at(w, first, middle), w->row,
                     HS__CONJUGATE))
        return 0;
    /* Update whole vectors, beginning near the diagonal. */
    for (int64_t i = middle; i < end; i += BAND) {
        const strided a = {element_at(w, first, i), 1, w->row};
        if (!multiply_in_pieces(w, hs__min(BAND, end - i), stop - i, middle - first, a,
                                element_at(w, first, i), w->row, element_at(w, i, i), w->row,
                                HS__SUBTRACT | HS__CONJUGATE))
            return 0;
    }
    return factor_upper(w, middle, end, order);
}

/* Copies the upper triangle, band by band of rows. Within a band a few elements below the diagonal
 * are copied as well. */
static void copy_upper(hs__member *self, hs__matrix to, hs__matrix from)
{
    enum { BAND = 16 };
    for (int64_t i = 0; i < to.rows; i += BAND) {
        const int64_t h = hs__min(BAND, to.rows - i);
        hs__copy(self, hs__part(&to, i, i, h, to.cols - i),
                 hs__part(&from, i, i, h, from.cols - i));
    }
}

/* Copies the upper triangle of h rows. */
static void copy_corner(ptrdiff_t e, int64_t h, char *to, int64_t to_row, int64_t to_col,
                        const char *from, int64_t from_row)
{
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = i; j < h; j++) {
            char *x = to + (i * to_row + j * to_col) * e;
            const char *y = from + (i * from_row + j) * e;
            if (e == 4) memcpy(x, y, 4);
            else if (e == 8) memcpy(x, y, 8);
            else memcpy(x, y, 16);
        }
}

/* Copies exactly the upper triangle, to memory of the caller. */
static void store_upper(hs__member *self, hs__matrix to, hs__matrix from)
{
    enum { BAND = 16 };
    for (int64_t i = 0; i < to.rows; i += BAND) {
        const int64_t h = hs__min(BAND, to.rows - i);
        const int64_t next = i + h;
        copy_corner(to.element, h, hs__at(&to, i, i), to.row_stride, to.col_stride,
                    hs__at(&from, i, i), from.row_stride);
        hs__copy(self, hs__part(&to, i, next, h, to.cols - next),
                 hs__part(&from, i, next, h, from.cols - next));
    }
}

/* Factors A^T = conj(A) = U^H U. Then U = L^T, so L is U transposed, without conjugation. */
static void do_cholesky(const hs_product *p, int leading, int64_t *info, const workspace *w)
{
    hs__matrix a, b, c;
    hs__matrices_of(p, &a, &b, &c);
    const hs__matrix upper = {w->data, w->element, p->m, p->m, w->row, 1};
    copy_upper(w->self, upper, hs__transposed(a));
    *info = 0;
    const int done = factor_upper(w, 0, p->m, info);
    const int64_t found = done ? p->m : *info && leading ? *info - 1 : 0;
    if (done || *info)
        store_upper(w->self, hs__transposed(hs__part(&c, 0, 0, found, found)),
                    hs__part(&upper, 0, 0, found, found));
    if (!done && *info) fill_nan(p, &c, found, 1);
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Returns the elements of a padded row. If there are many rows, their length spreads them over the
 * lines of the caches. */
static int64_t row_of(int64_t elements, int64_t rows, const hs__small *loops, ptrdiff_t element)
{
    enum { LINES = 512, MANY = 16 };
    return rows > MANY && elements * element % LINES == 0 ? elements + loops->across : elements;
}

/* Computes the bytes of `rows` rows. Returns 0 if they are too many. */
static int size_of(size_t *bytes, int64_t rows, int64_t row, ptrdiff_t element)
{
    if (__builtin_mul_overflow((size_t)rows, (size_t)row, bytes) ||
        __builtin_mul_overflow(*bytes, (size_t)element, bytes) || *bytes >= SIZE_MAX / 4)
        return 0;
    *bytes = (*bytes + 63) / 64 * 64;
    return 1;
}

/* Prepares prefetching for products with operands for which it pays (core/tuning.h). */
static void init_ahead(hs__items *x, const hs_product *p, int64_t rows, int64_t cols, ptrdiff_t e)
{
    const double m = (double)p->m;
    const double n = (double)p->n;
    const double k = (double)p->k;
    const double size = (m * n + k * (m + n)) * (double)e;
    const int64_t strips = hs__ceil_div(cols, x->loops.across) / HS__SMALL_VECTORS;
    const int64_t tiles = rows / HS__SMALL_ROWS * strips;
    if (!tiles || size < HS__AHEAD_BYTES_FROM || size > HS__AHEAD_BYTES_TO) return;
    x->span[0] = hs__span_of(p->m, p->k, p->a_row_stride, p->a_col_stride, e);
    x->span[1] = hs__span_of(p->k, p->n, p->b_row_stride, p->b_col_stride, e);
    x->span[2] = hs__span_of(p->m, p->n, p->c_row_stride, p->c_col_stride, e);
    const int64_t lines =
        hs__span_lines(&x->span[0]) + hs__span_lines(&x->span[1]) + hs__span_lines(&x->span[2]);
    x->lines = (int32_t)hs__ceil_div(lines, tiles * hs__ceil_div(p->k, HS__FETCH_STEPS));
}

static int init_product(hs__items *x, const hs_product *p)
{
    const int turned = x->turned = is_turned(p);
    const int64_t rows = turned ? p->n : p->m;
    const int64_t cols = turned ? p->m : p->n;
    const int64_t b_col = turned ? p->a_row_stride : p->b_col_stride;
    const ptrdiff_t e = (ptrdiff_t)hs__element_bytes(p->dtype);
    x->loops = hs__small_within(p->dtype, cols);
    x->b_row = row_of(padded_size(&x->loops, cols), p->k, &x->loops, e);
    x->c_row = row_of(padded_size(&x->loops, cols), rows, &x->loops, e);
    if (b_col != 1 && cols > 1 && !size_of(&x->b_bytes, p->k, x->b_row, e)) return 0;
    if (!is_direct(p) && !size_of(&x->c_bytes, rows, x->c_row, e)) return 0;
    x->bytes = x->b_bytes + x->c_bytes + SCRATCH;
    x->plain = !x->b_bytes && !x->c_bytes && p->k > 0 && p->k <= DEPTH && rows <= rows_at_once(e);
    if (x->plain) init_ahead(x, p, rows, cols, e);
    return 1;
}

int hs__items_init(hs__items *items, const hs_stack *stack)
{
    const hs_product *p = &stack->item;
    const ptrdiff_t e = (ptrdiff_t)hs__element_bytes(p->dtype);
    *items = (hs__items){.stack = stack};
    if (stack->operation == HS_STACK_MULTIPLY) return init_product(items, p);
    items->loops = hs__small_for(p->dtype);
    const int has_right_sides =
        stack->operation == HS_STACK_SOLVE || stack->operation == HS_STACK_INVERT;
    items->right = padded_size(&items->loops, p->m);
    items->row = row_of(items->right + (has_right_sides ? padded_size(&items->loops, p->n) : 0),
                        p->m, &items->loops, e);
    if (!size_of(&items->bytes, p->m, items->row, e) ||
        !size_of(&items->c_bytes, p->m, 1, sizeof(int32_t)))
        return 0;
    items->bytes += items->c_bytes + SCRATCH;
    return 1;
}

void hs__item_do(const hs__items *items, const hs_product *item, const hs__operands *next,
                 int32_t *pivots, int64_t *info, char *memory, hs__member *self)
{
    if (items->plain) {
        do_plain(items, item, next, memory);
        return;
    }
    const workspace w = {&items->loops,
                         self,
                         memory,
                         items->row,
                         (ptrdiff_t)hs__element_bytes(item->dtype),
                         scratch_of(items, memory),
                         NULL};
    if (items->stack->operation == HS_STACK_MULTIPLY) do_product(items, item, memory, self);
    else if (item->m == 0) *info = items->stack->operation == HS_STACK_CHOLESKY ? 0 : -1;
    else if (items->stack->operation == HS_STACK_CHOLESKY)
        do_cholesky(item, items->leading, info, &w);
    else
        do_system(items, item,
                  pivots ? pivots
                         : (int32_t *)(void *)(memory + items->bytes - SCRATCH - items->c_bytes),
                  info, &w);
}
