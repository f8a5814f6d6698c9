/* Fuzz harness of stacks of small matrices and of QR of tall matrices. Results are multiplied back;
 * shapes, steps and strides are arbitrary. */
#include "matrices.h"

/* LIMIT: how large differences may be, in roundings of everything that is added up. */
enum { LIMIT = 40, MOST_RANK = 3 };

/* ---- stacks ---------------------------------------------------------------------------------- */

typedef struct {
    int32_t rank;
    int64_t size[MOST_RANK], items;
} shape;

/* A stack with all items in one matrix, below each other or side by side. The first and the last
 * index may be exchanged, and an input may have the same items along a dimension. */
typedef struct {
    matrix all;
    int64_t steps[MOST_RANK];
    int shared;
} stacked;

static shape shape_of(bytes *in)
{
    shape s = {.rank = pick_below(in, MOST_RANK + 1), .items = 1};
    for (int32_t d = 0; d < s.rank; d++) {
        s.size[d] = pick_below(in, 12) ? 1 + pick_below(in, 3) : 0;
        s.items *= s.size[d];
    }
    return s;
}

static stacked stack_of(bytes *in, const shape *s, int dtype, int64_t rows, int64_t cols,
                        int may_share, double fill)
{
    const int beside = pick_below(in, 2);
    const int backwards = pick_below(in, 2);
    stacked x = {.shared = 0};
    int64_t step;
    if (beside) {
        x.all = matrix_of(in, dtype, rows, cols * s->items, 0, fill);
        step = cols * x.all.col_stride;
    } else {
        x.all = matrix_of(in, dtype, rows * s->items, cols, 0, fill);
        step = rows * x.all.row_stride;
    }
    if (s->items == 1) step = 0;
    for (int32_t k = 0; k < s->rank; k++) {
        const int32_t d = backwards ? k : s->rank - 1 - k;
        x.steps[d] = step;
        step *= s->size[d];
    }
    const int which = may_share && pick_below(in, 3) == 0 ? pick_below(in, 1 << MOST_RANK) : 0;
    for (int32_t d = 0; d < s->rank; d++)
        if (which >> d & 1) {
            x.steps[d] = 0;
            x.shared = 1;
        }
    return x;
}

static int64_t item_place(const stacked *x, const shape *s, int64_t item, int64_t i, int64_t j)
{
    int64_t at = place_of(&x->all, i, j);
    for (int32_t d = s->rank; d-- > 0; item /= s->size[d]) at += item % s->size[d] * x->steps[d];
    return at;
}

typedef struct {
    hs_stack x;
    shape s;
    stacked a, b, c;
    int dtype, in_place;
    int64_t m, n, k;
} problem;

static double complex element_of(const problem *p, const stacked *x, const char *memory,
                                 int64_t item, int64_t i, int64_t j)
{
    return get(memory, p->dtype, item_place(x, &p->s, item, i, j));
}

static double complex a_at(const problem *p, int64_t item, int64_t i, int64_t j)
{
    return element_of(p, &p->a, p->a.all.before, item, i, j);
}
static double complex b_at(const problem *p, int64_t item, int64_t i, int64_t j)
{
    return element_of(p, &p->b, p->b.all.before, item, i, j);
}
static double complex c_at(const problem *p, int64_t item, int64_t i, int64_t j)
{
    return element_of(p, &p->c, p->c.all.memory, item, i, j);
}
static double complex c_was(const problem *p, int64_t item, int64_t i, int64_t j)
{
    return element_of(p, &p->c, p->c.all.before, item, i, j);
}

/* Puts large elements off the diagonal (on the diagonal of a definite matrix), except in column
 * `zero` of one item, if any. */
static void make_regular(problem *p, int64_t zero_item, int64_t zero, int64_t shift)
{
    const int definite = p->x.operation == HS_STACK_CHOLESKY;
    for (int64_t item = 0; item < p->s.items; item++)
        for (int64_t i = 0; i < p->m; i++) {
            set(p->a.all.memory, p->dtype,
                item_place(&p->a, &p->s, item, i, definite ? i : (i + shift) % p->m),
                8 * (double)p->m);
            for (int64_t j = i + 1; j < p->m && definite; j++)
                set(p->a.all.memory, p->dtype, item_place(&p->a, &p->s, item, i, j), NAN);
        }
    for (int64_t i = 0; i < p->m && zero_item >= 0; i++)
        if (!definite || i == zero)
            set(p->a.all.memory, p->dtype, item_place(&p->a, &p->s, zero_item, i, zero),
                definite ? -1 : 0);
    if (p->a.all.elements)
        memcpy(p->a.all.before, p->a.all.memory, (size_t)p->a.all.elements * size_of[p->dtype]);
}

static void check_multiply(const problem *p, int64_t item)
{
    const double *const x = p->x.item.alpha;
    const double *const y = p->x.item.beta;
    const double complex alpha = x[0] + x[1] * I, beta = y[0] + y[1] * I;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < p->k; l++) sum += a_at(p, item, i, l) * b_at(p, item, l, j);
            HOLDS(c_at(p, item, i, j) ==
                  alpha * sum + (beta == 0 ? 0 : beta * c_was(p, item, i, j)));
        }
}

/* Checks A X = B, or A X = I. */
static void check_solution(const problem *p, int64_t item, int regular)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            if (!regular) {
                HOLDS(isnan(creal(c_at(p, item, i, j))));
                continue;
            }
            double complex sum =
                p->x.operation == HS_STACK_SOLVE ? -b_at(p, item, i, j) : -(double)(i == j);
            for (int64_t l = 0; l < p->m; l++) sum += a_at(p, item, i, l) * c_at(p, item, l, j);
            HOLDS(cabs(sum) <= LIMIT * rounding_of(p->dtype) * 4 * (double)(p->m + 1));
        }
}

static void check_lu(bytes *in, const problem *p, int64_t item)
{
    int64_t *order = new_buffer(in, (size_t)p->m * sizeof *order);
    for (int64_t i = 0; i < p->m; i++) order[i] = i;
    for (int64_t i = 0; i < p->m; i++) {
        const int64_t other = p->x.pivots[item * p->m + i];
        const int64_t kept = order[i];
        HOLDS(other >= i && other < p->m);
        order[i] = order[other];
        order[other] = kept;
    }
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->m; j++) {
            double complex sum = -a_at(p, item, order[i], j);
            for (int64_t l = 0; l <= hs__min(i, j); l++)
                sum += (l == i ? 1 : c_at(p, item, i, l)) * c_at(p, item, l, j);
            HOLDS(cabs(sum) <= LIMIT * rounding_of(p->dtype) * 12 * (double)(p->m + 1));
        }
}

static void check_cholesky(const problem *p, int64_t item, int regular)
{
    const size_t size = size_of[p->dtype];
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->m; j++) {
            const size_t at = (size_t)item_place(&p->c, &p->s, item, i, j) * size;
            if (j > i) HOLDS(!memcmp(p->c.all.memory + at, p->c.all.before + at, size));
            else if (!regular) HOLDS(isnan(creal(c_at(p, item, i, j))));
            else {
                double complex sum = -a_at(p, item, i, j);
                for (int64_t l = 0; l <= j; l++)
                    sum += c_at(p, item, i, l) * conj(c_at(p, item, j, l));
                HOLDS(cabs(sum) <= LIMIT * rounding_of(p->dtype) * 12 * (double)(p->m + 1));
            }
        }
}

static void check_item(bytes *in, const problem *p, int64_t item, int64_t zero)
{
    const int32_t operation = p->x.operation;
    if (operation == HS_STACK_MULTIPLY) {
        check_multiply(p, item);
        return;
    }
    /* A matrix that is shared has the zero column in other items as well, so look at the
     * elements. */
    int regular = 1;
    for (int64_t i = 0; i < p->m && regular; i++)
        regular = operation == HS_STACK_CHOLESKY ? creal(a_at(p, item, i, i)) > 0
                                                 : a_at(p, item, (i + p->m - zero) % p->m, i) != 0;
    if (regular) HOLDS(p->x.info[item] == (operation == HS_STACK_CHOLESKY ? 0 : -1));
    else HOLDS(p->x.info[item] >= 0 && p->x.info[item] <= p->m);
    if (operation == HS_STACK_LU) check_lu(in, p, item);
    else if (operation == HS_STACK_CHOLESKY) check_cholesky(p, item, regular);
    else check_solution(p, item, regular);
}

static void draw_item(bytes *in, problem *p, int operation)
{
    const double complex scalars[] = {1, 1, 0, -1, 2, 0.5, I, 1 - I};
    const int count = p->dtype >> 1 ? 8 : 6; /* the last two are complex */
    const double complex alpha = scalars[pick_below(in, count)];
    const double complex beta = scalars[pick_below(in, count)];
    p->x = (hs_stack){.operation = operation,
                      .rank = p->s.rank,
                      .size = p->s.size,
                      .a_steps = p->a.steps,
                      .c_steps = p->c.steps,
                      .item = {.dtype = p->dtype,
                               .m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .a = start_of(&p->a.all),
                               .a_row_stride = p->a.all.row_stride,
                               .a_col_stride = p->a.all.col_stride,
                               .c = start_of(&p->c.all),
                               .c_row_stride = p->c.all.row_stride,
                               .c_col_stride = p->c.all.col_stride}};
    if (operation <= HS_STACK_SOLVE) {
        p->x.b_steps = p->b.steps;
        p->x.item.b = start_of(&p->b.all);
        p->x.item.b_row_stride = p->b.all.row_stride;
        p->x.item.b_col_stride = p->b.all.col_stride;
    }
    if (operation == HS_STACK_MULTIPLY) {
        p->x.item.alpha[0] = creal(alpha);
        p->x.item.alpha[1] = cimag(alpha);
        p->x.item.beta[0] = creal(beta);
        p->x.item.beta[1] = cimag(beta);
    } else p->x.info = new_buffer(in, (size_t)p->s.items * sizeof *p->x.info);
    if (operation == HS_STACK_LU)
        p->x.pivots = new_buffer(in, (size_t)(p->s.items * p->m) * sizeof *p->x.pivots);
}

static void stack(bytes *in)
{
    const int operation = pick_below(in, 5);
    problem p = {.dtype = pick_below(in, 4), .s = shape_of(in)};
    const int64_t most = p.s.items > 6 ? 12 : 40;
    p.m = draw_extent(in, 8) % most;
    p.n = operation <= HS_STACK_SOLVE ? draw_extent(in, 8) % most : p.m;
    p.k = operation ? p.m : draw_extent(in, 16) % most;
    p.a = stack_of(in, &p.s, p.dtype, p.m, p.k, 1, 0.0);
    if (operation <= HS_STACK_SOLVE) p.b = stack_of(in, &p.s, p.dtype, p.k, p.n, 1, 0.0);
    p.in_place = operation && p.m == p.n && !p.a.shared && pick_below(in, 3) == 0;
    p.c = p.in_place ? p.a : stack_of(in, &p.s, p.dtype, p.m, p.n, 0, operation ? 5.0 : 0.0);
    draw_item(in, &p, operation);
    const int64_t zero_item = p.s.items && pick_below(in, 3) == 0 ? take_byte(in) % p.s.items : -1;
    const int64_t shift = p.m ? take_byte(in) % p.m : 0;
    if (operation) make_regular(&p, p.m ? zero_item : -1, p.m ? take_byte(in) % p.m : 0, shift);
    const int32_t workers = 1 + pick_below(in, MOST_POOL);
    const double *speeds = draw_speeds(in, workers);
    test_run run = {0};
    draw_run(in, &run, workers);
    const hs_status status = hs_run_stack(pool_of(workers), &p.x, speeds, &run.options, &run.trace);
    HOLDS(status == HS_OK || (status == HS_ERROR_VALUE && speeds));
    HOLDS((p.in_place || same_bytes(&p.a.all)) && (!p.x.b_steps || same_bytes(&p.b.all)));
    if (status) {
        HOLDS(same_bytes(&p.c.all));
        return;
    }
    HOLDS(gaps_kept(&p.c.all));
    check_run(&run, workers, p.s.items);
    for (int64_t item = 0; item < p.s.items; item++) check_item(in, &p, item, shift);
}

/* ---- tall matrices --------------------------------------------------------------------------- */

/* Checks Q R = A, Q^H Q = I, Q^H B, and the residuals of B. */
static void check_tall(const matrix *a, const matrix *q, const matrix *r, const matrix *b,
                       const matrix *c, const double *residuals)
{
    const int64_t m = a->rows;
    const int64_t n = a->cols;
    const double limit = LIMIT * rounding_of(a->dtype) * (double)(m + 1);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -value_at(a, i, j);
            for (int64_t k = 0; k <= j; k++) sum += value_at(q, i, k) * value_at(r, k, j);
            HOLDS(cabs(sum) <= limit * 4);
        }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t l = 0; l <= j; l++) {
            double complex sum = -(l == j);
            for (int64_t i = 0; i < m; i++) sum += conj(value_at(q, i, l)) * value_at(q, i, j);
            HOLDS(cabs(sum) <= limit);
        }
        for (int64_t l = 0; l < b->cols; l++) {
            double complex sum = -value_at(c, j, l);
            for (int64_t i = 0; i < m; i++) sum += conj(value_at(q, i, j)) * value_at(b, i, l);
            HOLDS(cabs(sum) <= limit * 4);
        }
    }
    for (int64_t l = 0; l < b->cols && residuals; l++) {
        double left = 0;
        for (int64_t i = 0; i < m; i++) {
            double complex rest = value_at(b, i, l);
            for (int64_t j = 0; j < n; j++) rest -= value_at(q, i, j) * value_at(c, j, l);
            left += creal(rest) * creal(rest) + cimag(rest) * cimag(rest);
        }
        HOLDS(fabs(residuals[l] - left) <= limit * 40 * (double)(m + 1));
    }
}

static void tall(bytes *in)
{
    const int dtype = pick_below(in, 4);
    const int with_q = pick_below(in, 4) != 0;
    const int strange = take_byte(in) > 250;
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    const int64_t n = draw_extent(in, 8) % 27;
    const int64_t k = n ? pick_below(in, 4) : 0;
    const int64_t m =
        n + (pick_below(in, 6) ? draw_extent(in, 24) : draw_long_extent(in) % (n < 5 ? 3000 : 700));
    const double fill = draw_fill(in, strange);
    const matrix a = matrix_of(in, dtype, m, n, 1, fill);
    const matrix b = matrix_of(in, dtype, m, k, 1, 0.0);
    const matrix q = matrix_of(in, dtype, m, n, 0, NAN);
    const matrix r = matrix_of(in, dtype, n, n, 0, NAN);
    const matrix c = matrix_of(in, dtype, n, k, 0, NAN);
    hs_tall x = {.dtype = dtype,
                 .m = m,
                 .n = n,
                 .k = k,
                 .a = start_of(&a),
                 .a_row_stride = a.row_stride,
                 .a_col_stride = a.col_stride,
                 .r = start_of(&r),
                 .r_row_stride = r.row_stride,
                 .r_col_stride = r.col_stride};
    if (with_q) {
        x.q = start_of(&q);
        x.q_row_stride = q.row_stride;
        x.q_col_stride = q.col_stride;
    }
    if (k) {
        x.b = start_of(&b);
        x.b_row_stride = b.row_stride;
        x.b_col_stride = b.col_stride;
    }
    if (k) {
        x.c = start_of(&c);
        x.c_row_stride = c.row_stride;
        x.c_col_stride = c.col_stride;
    }
    if (pick_below(in, 2)) x.residuals = new_buffer(in, (size_t)k * sizeof *x.residuals);
    test_run run = {.options.pace = draw_pace_or_null(in, p)};
    draw_run(in, &run, p);
    const hs_status status = hs_tall_qr(pool_of(p), &x, &run.options, &run.trace);
    HOLDS(status == HS_OK || (status == HS_ERROR_VALUE && run.options.pace));
    HOLDS(same_bytes(&a) && same_bytes(&b) && gaps_kept(&q) && gaps_kept(&r) && gaps_kept(&c));
    HOLDS(!status || (same_bytes(&q) && same_bytes(&r) && same_bytes(&c)));
    if (status) return;
    check_run(&run, p, INT32_MAX);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            if (i == j) HOLDS(strange || cimag(value_at(&r, i, j)) == 0);
            else HOLDS(value_at(&r, i, j) == 0);
        }
    if (with_q && !strange) check_tall(&a, &q, &r, &b, &c, x.residuals);
}

HARNESS(tall, stack, stack)
