/* Fuzz harness of Cholesky, QR, and the operations with their factors and with the factors of LU.
 * Factors and solutions are multiplied back; extents and strides are arbitrary. */
#include "matrices.h"

/* LIMIT: how large differences may be, in roundings of everything that is added up. */
enum { LIMIT = 40 };

/* Draws an extent near the tiles of the kernels, or near the sizes of panels and of small
 * matrices. */
static int64_t draw_side(bytes *in, int dtype)
{
    const hs_kernel_info kernel = kernel_of(in);
    if (pick_below(in, 3)) return draw_extent(in, 8);
    return draw_extent(in, (int32_t)hs__min(kernel.tile_rows[dtype & 1], 48));
}

static void put_value(const matrix *x, int64_t i, int64_t j, double complex value)
{
    set(x->memory, x->dtype, place_of(x, i, j), value);
}

static void remember_values(const matrix *x)
{
    if (x->elements) memcpy(x->before, x->memory, (size_t)x->elements * size_of[x->dtype]);
}

static int is_as_it_was(const matrix *x, int64_t i, int64_t j)
{
    const size_t size = size_of[x->dtype];
    return !memcmp(x->memory + (size_t)place_of(x, i, j) * size,
                   x->before + (size_t)place_of(x, i, j) * size, size);
}

/* Describes a factorisation. f: the matrix that becomes the factors; a: the matrix that is
 * factored, f itself or another one. All other settings of the run are drawn. */
static hs_factor factor_of(bytes *in, int32_t kind, const matrix *f, const matrix *a, int32_t p,
                           test_run *run)
{
    hs_factor x = {.kind = kind,
                   .dtype = f->dtype,
                   .m = f->rows,
                   .n = f->cols,
                   .matrix = start_of(f),
                   .row_stride = f->row_stride,
                   .col_stride = f->col_stride,
                   .failed = -7};
    if (a != f) {
        x.a = start_of(a);
        x.a_row_stride = a->row_stride;
        x.a_col_stride = a->col_stride;
    }
    const size_t rank = (size_t)hs__min(x.m, x.n);
    if (kind == HS_LU) x.pivots = new_buffer(in, rank * sizeof *x.pivots);
    if (kind == HS_QR) x.tau = new_buffer(in, rank * size_of[x.dtype]);
    x.clear = kind == HS_CHOLESKY && pick_below(in, 2);
    x.block = draw_block(in);
    run->boxes.cooperative = pick_below(in, 2);
    if (x.block) {
        int32_t blocks;
        HOLDS(hs_factor_blocks(x.m, x.n, x.block, &blocks) == HS_OK);
        if (pick_below(in, 2)) x.owner = draw_indices(in, blocks, p);
    }
    draw_run(in, run, p);
    if (!run->boxes.cooperative && pick_below(in, 2)) run->options.pace = draw_pace(in, p);
    return x;
}

/* Factors the matrix; returns whether the run was accepted. A refused run has changed nothing. */
static int is_factored(hs_factor *x, const matrix *f, const matrix *a, int32_t p, test_run *run)
{
    const hs_status status = run_lu(pool_of(p), x, run);
    HOLDS(status == HS_OK || (status == HS_ERROR_VALUE && (x->owner || run->options.pace)));
    if (status) HOLDS(same_bytes(f));
    else check_run(run, p, INT32_MAX);
    HOLDS((status || gaps_kept(f)) && (a == f || same_bytes(a)));
    return status == HS_OK;
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

/* Makes a positive definite matrix, but for row `bad`, if any. The elements above the diagonal and
 * the imaginary parts on it are not read. */
static void make_definite(bytes *in, const matrix *a, int64_t bad)
{
    const double unread = pick_below(in, 2) ? NAN : 5.0;
    for (int64_t i = 0; i < a->rows; i++) {
        put_value(a, i, i, i == bad ? -1 : 4 * (double)a->rows + (a->dtype >> 1) * 3 * I);
        for (int64_t j = i + 1; j < a->rows; j++) put_value(a, i, j, unread);
    }
    remember_values(a);
}

static void cholesky(bytes *in)
{
    const int dtype = pick_below(in, 4);
    const int in_place = pick_below(in, 2);
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    const int64_t n = draw_side(in, dtype);
    const int64_t bad = n && pick_below(in, 4) == 0 ? take_byte(in) % n : -1;
    const matrix f = matrix_of(in, dtype, n, n, 0, 0.0);
    const matrix other = in_place ? f : matrix_of(in, dtype, n, n, 0, 0.0);
    const matrix *const a = in_place ? &f : &other;
    make_definite(in, a, bad);
    test_run run = {0};
    hs_factor x = factor_of(in, HS_CHOLESKY, &f, a, p, &run);
    if (!is_factored(&x, &f, a, p, &run)) return;
    HOLDS(x.failed == bad);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n && bad < 0; j++)
            HOLDS(x.clear ? value_at(&f, i, j) == 0 : is_as_it_was(&f, i, j));
    for (int64_t i = 0; i < n && bad < 0; i++) {
        HOLDS(creal(value_at(&f, i, i)) > 0 && cimag(value_at(&f, i, i)) == 0);
        for (int64_t j = 0; j <= i; j++) {
            double complex sum = i == j ? -4 * (double)n : -was_at(a, i, j);
            for (int64_t k = 0; k <= j; k++) sum += value_at(&f, i, k) * conj(value_at(&f, j, k));
            HOLDS(cabs(sum) <= LIMIT * rounding_of(dtype) * 4 * (double)(n * n));
        }
    }
}

/* ---- QR -------------------------------------------------------------------------------------- */

/* Checks |Q^H Q - I| and |Q R - A|. */
static void check_qr(const matrix *q, const matrix *f, const matrix *a)
{
    const int64_t m = f->rows;
    const int64_t n = f->cols;
    const int64_t rank = hs__min(m, n);
    const double limit = LIMIT * rounding_of(f->dtype) * (double)(m + n + 1);
    for (int64_t i = 0; i < q->cols; i++)
        for (int64_t j = 0; j <= i; j++) {
            double complex sum = -(i == j);
            for (int64_t k = 0; k < m; k++) sum += conj(value_at(q, k, i)) * value_at(q, k, j);
            HOLDS(cabs(sum) <= limit);
        }
    for (int64_t i = 0; i < m && q->cols >= rank; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -was_at(a, i, j);
            for (int64_t k = 0; k <= j && k < rank; k++)
                sum += value_at(q, i, k) * value_at(f, k, j);
            HOLDS(cabs(sum) <= limit * 4 * sqrt((double)m));
        }
    for (int64_t i = 0; i < rank; i++) HOLDS(cimag(value_at(f, i, i)) == 0);
}

static void qr(bytes *in)
{
    const int dtype = pick_below(in, 4);
    const int in_place = pick_below(in, 2);
    const int strange = take_byte(in) > 250;
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    int64_t m = draw_side(in, dtype);
    int64_t n = pick_below(in, 2) ? m : draw_side(in, dtype);
    if (pick_below(in, 12) == 0) draw_thin(in, &m, &n);
    const double fill = draw_fill(in, strange);
    const matrix f = matrix_of(in, dtype, m, n, 0, in_place ? fill : 0.0);
    const matrix other = in_place ? f : matrix_of(in, dtype, m, n, 1, fill);
    const matrix *const a = in_place ? &f : &other;
    test_run run = {0};
    hs_factor x = factor_of(in, HS_QR, &f, a, p, &run);
    if (!is_factored(&x, &f, a, p, &run)) return;
    HOLDS(x.failed == -1);
    hs_pool *const pool = pool_of(1 + pick_below(in, MOST_POOL));
    const int64_t most = m < 200 ? m : n;
    int64_t cols = 0;
    if (pick_below(in, 3)) cols = hs__min(m, n);
    else if (most) cols = take_byte(in) % (most + 1);
    const matrix q = matrix_of(in, dtype, m, cols, 0, NAN);
    const matrix c = matrix_of(in, dtype, m, pick_below(in, 20), 0, 0.0);
    HOLDS(hs_qr_multiply(pool, &x, 0, 1, q.cols, start_of(&q), q.row_stride, q.col_stride, NULL,
                         NULL) == HS_OK &&
          gaps_kept(&q));
    if (!strange) check_qr(&q, &f, a);
    const int first = pick_below(in, 2);
    /* multiplies by Q and by Q^H in either order, which must give C again */
    for (int turn = 0; turn < 2; turn++)
        HOLDS(hs_qr_multiply(pool, &x, first ^ turn, 0, c.cols, start_of(&c), c.row_stride,
                             c.col_stride, NULL, NULL) == HS_OK);
    HOLDS(gaps_kept(&c));
    const double limit = LIMIT * rounding_of(dtype) * (double)(m + n) * 4 * sqrt((double)m);
    for (int64_t i = 0; i < m && !strange; i++)
        for (int64_t j = 0; j < c.cols; j++)
            HOLDS(cabs(value_at(&c, i, j) - was_at(&c, i, j)) <= limit);
}

/* ---- systems --------------------------------------------------------------------------------- */

static void triangular(bytes *in)
{
    const int dtype = pick_below(in, 4);
    const int upper = pick_below(in, 2);
    const int unit = pick_below(in, 2);
    const int singular = pick_below(in, 16) == 0;
    const int64_t n = draw_side(in, dtype);
    const int64_t cols = pick_below(in, 2) ? pick_below(in, 9) : draw_side(in, dtype);
    const matrix t = matrix_of(in, dtype, n, n, 0, 0.0);
    const matrix b = matrix_of(in, dtype, n, cols, 0, 0.0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex value = NAN; /* not read */
            if (i == j && !unit) value = singular ? 0 : 9 + value_at(&t, i, j);
            if (i != j && (i < j) == upper) value = value_at(&t, i, j) / (double)(4 * n);
            put_value(&t, i, j, value);
        }
    remember_values(&t);
    const double alpha[2] = {-0.5, 1.0};
    const int scaled = pick_below(in, 2);
    double complex factor = 1;
    if (scaled) factor = dtype >> 1 ? alpha[0] + I * alpha[1] : alpha[0];
    const hs_triangular x = {dtype,        n,
                             cols,         upper ? 1 + pick_below(in, 2) : 0,
                             unit,         start_of(&t),
                             t.row_stride, t.col_stride,
                             start_of(&b), b.row_stride,
                             b.col_stride, scaled ? alpha : NULL};
    HOLDS(hs_solve_triangular(pool_of(1 + pick_below(in, MOST_POOL)), &x, NULL, NULL) == HS_OK);
    HOLDS(gaps_kept(&b) && same_bytes(&t));
    for (int64_t i = 0; i < n && (unit || !singular); i++)
        for (int64_t j = 0; j < cols; j++) {
            double complex sum =
                -factor * was_at(&b, i, j) + (unit ? 1 : value_at(&t, i, i)) * value_at(&b, i, j);
            for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); k++)
                sum += value_at(&t, i, k) * value_at(&b, k, j);
            HOLDS(cabs(sum) <= LIMIT * rounding_of(dtype) * 60 * (double)n);
        }
}

static void inverse(bytes *in)
{
    const int dtype = pick_below(in, 4);
    const int singular = pick_below(in, 16) == 0;
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    const int64_t n = draw_side(in, dtype);
    const int64_t shift = n ? take_byte(in) % n : 0;
    const matrix f = matrix_of(in, dtype, n, n, 0, 0.0);
    const matrix a = matrix_of(in, dtype, n, n, 0, 0.0);
    const matrix x = matrix_of(in, dtype, n, n, 0, NAN);
    for (int64_t i = 0; i < n; i++) {
        put_value(&a, i, (i + shift) % n, 8 * (double)n);
        if (singular) put_value(&a, i, n / 2, 0);
    }
    remember_values(&a);
    test_run run = {0};
    hs_factor lu = factor_of(in, HS_LU, &f, &a, p, &run);
    if (!is_factored(&lu, &f, &a, p, &run)) return;
    HOLDS(lu.failed == (singular && n ? n / 2 : -1));
    HOLDS(hs_lu_inverse(pool_of(1 + pick_below(in, MOST_POOL)), &lu, start_of(&x), x.row_stride,
                        x.col_stride, NULL, NULL) == HS_OK);
    HOLDS(gaps_kept(&x));
    for (int64_t i = 0; i < n && !singular; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -(i == j);
            for (int64_t k = 0; k < n; k++) sum += value_at(&a, i, k) * value_at(&x, k, j);
            HOLDS(cabs(sum) <= LIMIT * rounding_of(dtype) * (double)(n + 1));
        }
}

HARNESS(cholesky, qr, triangular, inverse)
