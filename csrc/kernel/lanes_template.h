/* The loops of lanes.h of one instruction set and type; see each_type.h for the parameters. Three
 * parts: elements and reflectors; the iteration on real numbers (lanes_iterate.h), which complex
 * types share; and whole decompositions. INLINE makes a function a part of each caller. */

#include "kernel/vector_type.h"

/* Elements of all matrices of a group at one place. Real types have no `im`. */
typedef struct {
    NAME(vector) re, im;
} NAME(element);

/* A part of a matrix: the real part of element (i, j) is x[i * ld + j], its imaginary part is
 * x[i * ld + j + plane]. A vector is a matrix of one row or one column. */
typedef struct {
    NAME(vector) * x;
    int64_t ld, plane;
} NAME(matrix);

#if PARTS == 1
#include "kernel/lanes_iterate.h"
#else
typedef OF_REAL(integers) NAME(integers);
#endif

/* ---- elements -------------------------------------------------------------------------------- */

INLINE NAME(element) NAME(get)(NAME(matrix) a, int64_t i, int64_t j)
{
    const NAME(vector) *x = a.x + i * a.ld + j;
    NAME(element) found = {*x, {0}};
    if (PARTS == 2) found.im = x[a.plane];
    return found;
}

INLINE void NAME(set)(NAME(matrix) a, int64_t i, int64_t j, NAME(element) value)
{
    NAME(vector) *x = a.x + i * a.ld + j;
    *x = value.re;
    if (PARTS == 2) x[a.plane] = value.im;
}

INLINE NAME(matrix) NAME(part)(NAME(matrix) a, int64_t i, int64_t j)
{
    a.x += i * a.ld + j;
    return a;
}

INLINE NAME(element) NAME(conjugate)(NAME(element) x)
{
    if (PARTS == 2) x.im = -x.im;
    return x;
}

/* Returns sum + x y. */
INLINE NAME(element) NAME(add_product)(NAME(element) sum, NAME(element) x, NAME(element) y)
{
    sum.re += x.re * y.re;
    if (PARTS == 2) {
        sum.re -= x.im * y.im;
        sum.im += x.re * y.im;
        sum.im += x.im * y.re;
    }
    return sum;
}

/* Returns sum - x y. */
INLINE NAME(element) NAME(subtract_product)(NAME(element) sum, NAME(element) x, NAME(element) y)
{
    sum.re -= x.re * y.re;
    if (PARTS == 2) {
        sum.re += x.im * y.im;
        sum.im -= x.re * y.im;
        sum.im -= x.im * y.re;
    }
    return sum;
}

INLINE NAME(element) NAME(product)(NAME(element) x, NAME(element) y)
{
    const NAME(element) zero = {{0}, {0}};
    return NAME(add_product)(zero, x, y);
}

/* ---- reflectors ------------------------------------------------------------------------------ */

/* Makes H = I - tau v v^H with H^H x = beta e1, beta real, from x [count], which becomes v with
 * v[0] = 1 (LAPACK's larfg). Where the sum of squares would lose bits to underflow, x is so small
 * beside the matrix, of size 1, that all of it but its real first element is dropped. */
INLINE NAME(element) NAME(reflect)(int64_t count, NAME(matrix) x, NAME(vector) * beta)
{
    const NAME(vector) zero = {0}, one = zero + 1;
    const NAME(element) first = NAME(get)(x, 0, 0);
    NAME(vector) below = zero;
    for (int64_t i = 1; i < count; i++) {
        const NAME(element) own = NAME(get)(x, i, 0);
        below += own.re * own.re;
        if (PARTS == 2) below += own.im * own.im;
    }
    NAME(vector) square = first.re * first.re + below;
    NAME(integers) is_done = below == 0;
    if (PARTS == 2) {
        square += first.im * first.im;
        is_done &= first.im == 0;
    }
    is_done |= square < OF_REAL(tiny);
    const NAME(vector) size = OF_REAL(root)(square);
    *beta = OF_REAL(select)(is_done, first.re, -OF_REAL(with_sign)(size, first.re));
    const NAME(vector) divisor = OF_REAL(select)(is_done, one, *beta);
    const NAME(vector) from = OF_REAL(select)(is_done, one, first.re - *beta);
    NAME(element) tau = {OF_REAL(select)(is_done, zero, -from / divisor), zero};
    NAME(element) factor = {OF_REAL(select)(is_done, zero, one / from), zero};
    if (PARTS == 2) {
        const NAME(vector) im = OF_REAL(select)(is_done, zero, first.im);
        const NAME(vector) inverse = one / (from * from + im * im);
        tau.im = -im / divisor;
        factor.re = OF_REAL(select)(is_done, zero, from * inverse);
        factor.im = -im * inverse;
    }
    const NAME(element) unit = {one, zero};
    NAME(set)(x, 0, 0, unit);
    for (int64_t i = 1; i < count; i++)
        NAME(set)(x, i, 0, NAME(product)(NAME(get)(x, i, 0), factor));
    return tau;
}

/* Columns (or rows) that share each load of an element of the reflector. With fewer, loads are the
 * limit; with more, there are not enough registers. */
enum { NAME(most) = PARTS == 1 ? 8 : 4 };

/* Does `width` columns from `col` on of apply_left. */
INLINE void NAME(apply_left_to)(const int width, int64_t rows, int64_t col, NAME(matrix) v,
                                NAME(element) tau, NAME(matrix) a)
{
    NAME(element) dot[NAME(most)] = {{{0}, {0}}};
    for (int64_t i = 0; i < rows; i++) {
        const NAME(element) own = NAME(conjugate)(NAME(get)(v, i, 0));
        for (int j = 0; j < width; j++)
            dot[j] = NAME(add_product)(dot[j], own, NAME(get)(a, i, col + j));
    }
    for (int j = 0; j < width; j++) dot[j] = NAME(product)(dot[j], tau);
    for (int64_t i = 0; i < rows; i++) {
        const NAME(element) own = NAME(get)(v, i, 0);
        for (int j = 0; j < width; j++)
            NAME(set)(a, i, col + j, NAME(subtract_product)(NAME(get)(a, i, col + j), own, dot[j]));
    }
}

/* A <- (I - tau v v^H) A. */
TARGET static void NAME(apply_left)(int64_t rows, int64_t cols, NAME(matrix) v, NAME(element) tau,
                                    NAME(matrix) a)
{
    int64_t j = 0;
    for (; j + NAME(most) <= cols; j += NAME(most))
        NAME(apply_left_to)(NAME(most), rows, j, v, tau, a);
    if (PARTS == 1 && j + 4 <= cols) {
        NAME(apply_left_to)(4, rows, j, v, tau, a);
        j += 4;
    }
    for (; j < cols; j++) NAME(apply_left_to)(1, rows, j, v, tau, a);
}

/* Does `height` rows from `row` on of apply_right. v is a row. */
INLINE void NAME(apply_right_to)(const int height, int64_t row, int64_t cols, NAME(matrix) v,
                                 NAME(element) tau, NAME(matrix) a)
{
    NAME(element) dot[NAME(most)] = {{{0}, {0}}};
    for (int64_t j = 0; j < cols; j++) {
        const NAME(element) own = NAME(get)(v, 0, j);
        for (int i = 0; i < height; i++)
            dot[i] = NAME(add_product)(dot[i], own, NAME(get)(a, row + i, j));
    }
    for (int i = 0; i < height; i++) dot[i] = NAME(product)(dot[i], tau);
    for (int64_t j = 0; j < cols; j++) {
        const NAME(element) own = NAME(conjugate)(NAME(get)(v, 0, j));
        for (int i = 0; i < height; i++)
            NAME(set)(a, row + i, j, NAME(subtract_product)(NAME(get)(a, row + i, j), own, dot[i]));
    }
}

/* A <- A (I - tau v v^H). */
TARGET static void NAME(apply_right)(int64_t rows, int64_t cols, NAME(matrix) v, NAME(element) tau,
                                     NAME(matrix) a)
{
    int64_t i = 0;
    for (; i + NAME(most) <= rows; i += NAME(most))
        NAME(apply_right_to)(NAME(most), i, cols, v, tau, a);
    if (PARTS == 1 && i + 4 <= rows) {
        NAME(apply_right_to)(4, i, cols, v, tau, a);
        i += 4;
    }
    for (; i < rows; i++) NAME(apply_right_to)(1, i, cols, v, tau, a);
}

/* ---- groups --------------------------------------------------------------------------------- */

/* The arrays of a group. */
typedef struct {
    NAME(matrix) a, u, v, left, right, column, product;
    NAME(vector) * d, *e, *rotations;
} NAME(arrays);

INLINE NAME(arrays) NAME(arrays_of)(const hs__lanes_group *x)
{
    const int64_t m = x->m, n = x->n;
    NAME(arrays)
    found = {
        {x->a, n, m * n}, {x->u, n, m * n}, {x->v, n, n * n}, {0}, {0}, {0}, {0}, x->values, 0, 0};
    NAME(vector) *work = x->work;
    found.e = work;
    found.rotations = work + n + 1;
    NAME(matrix) line = {found.rotations + 4 * HS__LANES_SWEEPS * n, n, n};
    found.left = line;
    line.x += 2 * n;
    found.right = line;
    line.x += 2 * n;
    found.column = line;
    line.x += 2 * n;
    found.product = line;
    return found;
}

TARGET static void NAME(set_identity)(int64_t rows, int64_t cols, NAME(matrix) a)
{
    const NAME(vector) zero = {0};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            const NAME(element) value = {zero + (REAL)(i == j), zero};
            NAME(set)(a, i, j, value);
        }
}

/* ---- tridiagonal form ------------------------------------------------------------------------ */

/* Rows that are multiplied, or updated, together. */
enum { NAME(rows) = PARTS == 1 ? 4 : 2 };

/* Adds the part of `height` rows of a Hermitian matrix, of which the lower triangle is stored, to
 * p = A v. Row `row` + i is also column `row` + i, conjugated. */
INLINE void NAME(multiply_rows)(const int height, int64_t row, NAME(matrix) a, NAME(matrix) v,
                                NAME(matrix) p)
{
    NAME(element) sum[NAME(rows)] = {{{0}, {0}}};
    NAME(element) own[NAME(rows)];
    for (int i = 0; i < height; i++) own[i] = NAME(get)(v, 0, row + i);
    for (int64_t j = 0; j < row; j++) {
        const NAME(element) other = NAME(get)(v, 0, j);
        NAME(element) column = NAME(get)(p, 0, j);
        for (int i = 0; i < height; i++) {
            const NAME(element) x = NAME(get)(a, row + i, j);
            sum[i] = NAME(add_product)(sum[i], x, other);
            column = NAME(add_product)(column, NAME(conjugate)(x), own[i]);
        }
        NAME(set)(p, 0, j, column);
    }
    for (int i = 0; i < height; i++) {
        const NAME(element) diagonal = NAME(get)(a, row + i, row + i);
        sum[i].re += diagonal.re * own[i].re;
        if (PARTS == 2) sum[i].im += diagonal.re * own[i].im;
        for (int j = 0; j < i; j++) {
            const NAME(element) x = NAME(get)(a, row + i, row + j);
            sum[i] = NAME(add_product)(sum[i], x, own[j]);
            sum[j] = NAME(add_product)(sum[j], NAME(conjugate)(x), own[i]);
        }
    }
    for (int i = 0; i < height; i++) NAME(set)(p, 0, row + i, sum[i]);
}

/* p <- A v for a Hermitian matrix of which the lower triangle is stored. */
INLINE void NAME(multiply_hermitian)(int64_t n, NAME(matrix) a, NAME(matrix) v, NAME(matrix) p)
{
    int64_t i = 0;
    for (; i < n % NAME(rows); i++) NAME(multiply_rows)(1, i, a, v, p);
    for (; i < n; i += NAME(rows)) NAME(multiply_rows)(NAME(rows), i, a, v, p);
}

/* Updates `height` rows of update_hermitian, and some elements above the diagonal. */
INLINE void NAME(update_rows)(const int height, int64_t row, NAME(matrix) a, NAME(matrix) v,
                              NAME(matrix) w)
{
    NAME(element) v_own[NAME(rows)], w_own[NAME(rows)];
    for (int i = 0; i < height; i++) {
        v_own[i] = NAME(get)(v, 0, row + i);
        w_own[i] = NAME(get)(w, 0, row + i);
    }
    for (int64_t j = 0; j < row + height; j++) {
        const NAME(element) v_other = NAME(conjugate)(NAME(get)(v, 0, j));
        const NAME(element) w_other = NAME(conjugate)(NAME(get)(w, 0, j));
        for (int i = 0; i < height; i++) {
            NAME(element) x = NAME(get)(a, row + i, j);
            x = NAME(subtract_product)(x, v_own[i], w_other);
            x = NAME(subtract_product)(x, w_own[i], v_other);
            NAME(set)(a, row + i, j, x);
        }
    }
}

/* A <- A - v w^H - w v^H in the lower triangle. */
INLINE void NAME(update_hermitian)(int64_t n, NAME(matrix) a, NAME(matrix) v, NAME(matrix) w)
{
    int64_t i = 0;
    for (; i < n % NAME(rows); i++) NAME(update_rows)(1, i, a, v, w);
    for (; i < n; i += NAME(rows)) NAME(update_rows)(NAME(rows), i, a, v, w);
}

/* A <- H^H A H for the reflector (v, tau). p [n] is overwritten. */
INLINE void NAME(reflect_hermitian)(int64_t n, NAME(matrix) a, NAME(matrix) v, NAME(element) tau,
                                    NAME(matrix) p)
{
    NAME(multiply_hermitian)(n, a, v, p);
    NAME(element) dot = {{0}, {0}};
    for (int64_t i = 0; i < n; i++) {
        const NAME(element) own = NAME(product)(NAME(get)(p, 0, i), tau);
        NAME(set)(p, 0, i, own);
        dot = NAME(add_product)(dot, NAME(conjugate)(own), NAME(get)(v, 0, i));
    }
    dot = NAME(product)(dot, tau);
    dot.re *= (REAL)0.5; /* the product is real */
    for (int64_t i = 0; i < n; i++) {
        const NAME(element) own = NAME(get)(v, 0, i);
        NAME(element) w = NAME(get)(p, 0, i);
        w.re -= dot.re * own.re;
        if (PARTS == 2) w.im -= dot.re * own.im;
        NAME(set)(p, 0, i, w);
    }
    NAME(update_hermitian)(n, a, v, p);
}

/* Golub and Van Loan, Matrix Computations, 8.3.1: T = Q^H A Q with diagonal d [n] and subdiagonal
 * e [n - 1]. Column k of `a` keeps the vector of reflector k from row k + 1 on, `left` its tau. */
TARGET static void NAME(make_tridiagonal)(int64_t n, const NAME(arrays) * w)
{
    w->e[n - 1] = (NAME(vector)){0};
    for (int64_t k = 0; k < n; k++) {
        const int64_t count = n - 1 - k;
        w->d[k] = NAME(get)(w->a, k, k).re;
        if (count == 0) continue;
        const NAME(matrix) column = NAME(part)(w->a, k + 1, k);
        const NAME(element) tau = NAME(reflect)(count, column, &w->e[k]);
        NAME(set)(w->left, 0, k, tau);
        for (int64_t i = 0; i < count; i++) NAME(set)(w->column, 0, i, NAME(get)(column, i, 0));
        if (count > 1)
            NAME(reflect_hermitian)(count, NAME(part)(w->a, k + 1, k + 1), w->column, tau,
                                    w->product);
    }
}

/* u <- Q. */
INLINE void NAME(make_eigenbasis)(int64_t n, const NAME(arrays) * w)
{
    NAME(set_identity)(n, n, w->u);
    for (int64_t k = n - 2; k >= 0; k--)
        NAME(apply_left)(n - 1 - k, n - 1 - k, NAME(part)(w->a, k + 1, k), NAME(get)(w->left, 0, k),
                         NAME(part)(w->u, k + 1, k + 1));
}

/* ---- bidiagonal form ------------------------------------------------------------------------- */

/* Golub and Van Loan 5.4.8: B = U^H A V with diagonal d [n] and superdiagonal e [n - 1], for m >= n.
 * Column k of `a` keeps the vector of the left reflector k from row k on, row k that of the right
 * one from column k + 1 on. */
TARGET static void NAME(make_bidiagonal)(int64_t m, int64_t n, const NAME(arrays) * w)
{
    w->e[n - 1] = (NAME(vector)){0};
    for (int64_t k = 0; k < n; k++) {
        const int64_t rest = n - 1 - k;
        const NAME(matrix) column = NAME(part)(w->a, k, k);
        NAME(element) tau = NAME(reflect)(m - k, column, &w->d[k]);
        NAME(set)(w->left, 0, k, tau);
        if (rest == 0) continue;
        NAME(apply_left)(m - k, rest, column, NAME(conjugate)(tau), NAME(part)(w->a, k, k + 1));
        const NAME(matrix) row = NAME(part)(w->a, k, k + 1);
        const NAME(matrix) turned = {row.x, 1, row.plane};
        if (PARTS == 2)
            for (int64_t j = 0; j < rest; j++)
                NAME(set)(row, 0, j, NAME(conjugate)(NAME(get)(row, 0, j)));
        tau = NAME(reflect)(rest, turned, &w->e[k]);
        NAME(set)(w->right, 0, k, tau);
        NAME(apply_right)(m - k - 1, rest, row, tau, NAME(part)(w->a, k + 1, k + 1));
    }
}

/* u <- the first n columns of U, v <- V. */
INLINE void NAME(make_singular_bases)(int64_t m, int64_t n, const NAME(arrays) * w)
{
    NAME(set_identity)(m, n, w->u);
    for (int64_t k = n - 1; k >= 0; k--)
        NAME(apply_left)(m - k, n - k, NAME(part)(w->a, k, k), NAME(get)(w->left, 0, k),
                         NAME(part)(w->u, k, k));
    NAME(set_identity)(n, n, w->v);
    for (int64_t k = n - 2; k >= 0; k--) {
        const NAME(matrix) row = NAME(part)(w->a, k, k + 1);
        const NAME(matrix) turned = {row.x, 1, row.plane};
        NAME(apply_left)(n - 1 - k, n - 1 - k, turned, NAME(get)(w->right, 0, k),
                         NAME(part)(w->v, k + 1, k + 1));
    }
}

/* ---- decompositions -------------------------------------------------------------------------- */

/* Makes the problem of the iteration. Its rotations turn the rows of both planes. */
INLINE void NAME(set_problem)(const hs__lanes_group *x, const NAME(arrays) * w,
                              OF_REAL(problem) * problem)
{
    const int64_t size = HS__LANES_SWEEPS * x->n;
    problem->d = w->d;
    problem->e = w->e;
    problem->left.rows = x->u ? PARTS * x->m : 0;
    problem->left.z = w->u.x;
    problem->left.c = w->rotations;
    problem->left.s = w->rotations + size;
    problem->right.rows = x->v ? PARTS * x->n : 0;
    problem->right.z = w->v.x;
    problem->right.c = w->rotations + 2 * size;
    problem->right.s = w->rotations + 3 * size;
}

/* Makes a problem that is solved. */
INLINE void NAME(set_nothing)(const hs__lanes_group *x, const NAME(arrays) * w,
                              OF_REAL(problem) * problem)
{
    NAME(set_problem)(x, w, problem);
    problem->left.rows = problem->right.rows = 0;
    memset(w->d, 0, (size_t)x->n * sizeof *w->d);
    memset(w->e, 0, (size_t)x->n * sizeof *w->e);
}

/* Tells which lanes have failed: those that were `bad`, or have not converged. */
INLINE void NAME(set_failed)(const hs__lanes_group *x, NAME(integers) bad,
                             const OF_REAL(problem) * problem)
{
    for (int l = 0; l < (int)NAME(lanes); l++)
        x->failed[l] = bad[l] != 0 || problem->blocks.end[l] != 0;
}

/* hs__lanes_eigh. */
TARGET static void NAME(eigh)(const hs__lanes_group *x, int count)
{
    const int64_t n = x->n;
    NAME(arrays) w[HS__LANES_GROUPS];
    OF_REAL(problem) problems[HS__LANES_GROUPS];
    NAME(vector) back[HS__LANES_GROUPS];
    NAME(integers) bad[HS__LANES_GROUPS];
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        w[g] = NAME(arrays_of)(&x[g]);
        if (g >= count) {
            NAME(set_nothing)(&x[g], &w[g], &problems[g]);
            continue;
        }
        bad[g] = OF_REAL(scale)(PARTS * n * n, w[g].a.x, &back[g]);
        NAME(make_tridiagonal)(n, &w[g]);
        if (x[g].u) NAME(make_eigenbasis)(n, &w[g]);
        NAME(set_problem)(&x[g], &w[g], &problems[g]);
    }
    OF_REAL(iterate)(n, problems, 0);
    for (int g = 0; g < count; g++) {
        for (int64_t i = 0; i < n; i++) w[g].d[i] *= back[g];
        NAME(set_failed)(&x[g], bad[g], &problems[g]);
    }
}

/* hs__lanes_svd. */
TARGET static void NAME(svd)(const hs__lanes_group *x, int count)
{
    const int64_t m = x->m, n = x->n;
    NAME(arrays) w[HS__LANES_GROUPS];
    OF_REAL(problem) problems[HS__LANES_GROUPS];
    NAME(vector) back[HS__LANES_GROUPS];
    NAME(integers) bad[HS__LANES_GROUPS];
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        w[g] = NAME(arrays_of)(&x[g]);
        if (g >= count) {
            NAME(set_nothing)(&x[g], &w[g], &problems[g]);
            continue;
        }
        bad[g] = OF_REAL(scale)(PARTS * m * n, w[g].a.x, &back[g]);
        NAME(make_bidiagonal)(m, n, &w[g]);
        if (x[g].u) NAME(make_singular_bases)(m, n, &w[g]);
        NAME(set_problem)(&x[g], &w[g], &problems[g]);
    }
    OF_REAL(iterate)(n, problems, 1);
    for (int g = 0; g < count; g++) {
        for (int64_t j = 0; j < n; j++) {
            const NAME(vector) sign = OF_REAL(with_sign)((NAME(vector)){0} + 1, w[g].d[j]);
            w[g].d[j] *= sign * back[g];
            for (int64_t i = 0; x[g].v && i < PARTS * n; i++) w[g].v.x[i * n + j] *= sign;
        }
        NAME(set_failed)(&x[g], bad[g], &problems[g]);
    }
}

/* ---- to groups and from them ----------------------------------------------------------------- */

/* hs__lanes_load. Row by row, so that the vectors of a row stay in the caches while the lanes are
 * filled in. */
TARGET static void NAME(load_items)(int64_t rows, int64_t cols, const hs__lanes_items *from,
                                    void *group)
{
    const int lanes = NAME(lanes);
    const int64_t row_stride = from->row_stride * PARTS, col_stride = from->col_stride * PARTS;
    const int64_t plane = rows * cols * lanes;
    const REAL sign = from->conjugate ? -1 : 1;
    REAL *to = group;
    memset(group, 0, (size_t)(PARTS * plane) * sizeof(REAL));
    for (int64_t i = 0; i < rows; i++, to += cols * lanes)
        for (int l = 0; l < lanes; l++) {
            if (!from->items[l]) continue;
            const REAL *x = (const REAL *)(const void *)from->items[l] + i * row_stride;
            const int64_t read = from->lower ? i + 1 : cols;
            for (int64_t j = 0; j < read; j++) {
                to[j * lanes + l] = x[j * col_stride];
                if (PARTS == 2 && !(from->lower && i == j))
                    to[plane + j * lanes + l] = sign * x[j * col_stride + PARTS - 1];
            }
        }
}

/* hs__lanes_store. Zeros are positive: the rotations of other lanes can change their signs. */
TARGET static void NAME(store_items)(int64_t rows, int64_t cols, const void *group,
                                     const int32_t *order, const hs__lanes_items *to)
{
    const int lanes = NAME(lanes);
    const int64_t row_stride = to->row_stride * PARTS, col_stride = to->col_stride * PARTS;
    const int64_t plane = rows * cols * lanes;
    const REAL sign = to->conjugate ? -1 : 1;
    const REAL *from = group;
    for (int64_t i = 0; i < rows; i++, from += cols * lanes)
        for (int l = 0; l < lanes; l++) {
            if (!to->items[l]) continue;
            REAL *x = (REAL *)(void *)to->items[l] + i * row_stride;
            for (int64_t j = 0; j < cols; j++) {
                const REAL *own = from + (int64_t)order[l * cols + j] * lanes + l;
                x[j * col_stride] = *own + (REAL)0;
                if (PARTS == 2) x[j * col_stride + PARTS - 1] = sign * own[plane] + (REAL)0;
            }
        }
}
