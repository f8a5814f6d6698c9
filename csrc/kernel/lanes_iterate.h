/* The real part of lanes_template.h: eigenvalues of tridiagonal and singular values of bidiagonal
 * matrices by implicit QR iteration, as in LAPACK's steqr and bdsqr (Golub and Van Loan, Matrix
 * Computations, 8.3.3 and 8.6.2).
 *
 * Each lane has its own block, the last one that is not yet diagonal, and its own shift. One sweep
 * goes through the rows of all blocks. In rows outside of its own block a lane does the identity
 * rotation, and a mask keeps its elements.
 *
 * A rotation waits for a square root, a division, and the rotation before it. Therefore the sweeps
 * of HS__LANES_GROUPS groups of matrices are interleaved row by row: one computes while the other
 * waits.
 */

typedef INTEGER NAME(integers)
    __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

/* A sum of squares below `tiny` may have lost bits to underflow. An off-diagonal element below
 * `least` counts as zero. Both are far below the rounding errors of a matrix of size 1. */
static const REAL NAME(tiny) = sizeof(REAL) == 4 ? (REAL)0x1p-100 : (REAL)0x1p-900;
static const REAL NAME(least) = sizeof(REAL) == 4 ? (REAL)0x1p-100 : (REAL)0x1p-440;
static const REAL NAME(round_off) = sizeof(REAL) == 4 ? (REAL)0x1p-24 : (REAL)0x1p-53;

/* ---- vectors --------------------------------------------------------------------------------- */

INLINE NAME(vector) NAME(select)(NAME(integers) mask, NAME(vector) x, NAME(vector) y)
{
    return (NAME(vector))(((NAME(integers))x & mask) | ((NAME(integers))y & ~mask));
}

INLINE NAME(integers) NAME(choose)(NAME(integers) mask, NAME(integers) x, NAME(integers) y)
{
    return (x & mask) | (y & ~mask);
}

INLINE NAME(vector) NAME(root)(NAME(vector) x)
{
    NAME(vector) y = x;
    for (int l = 0; l < (int)NAME(lanes); l++) {
        if (sizeof(REAL) == 4) y[l] = (REAL)sqrtf((float)x[l]);
        else y[l] = (REAL)sqrt((double)x[l]);
    }
    return y;
}

enum {
    NAME(bits) = 8 * sizeof(REAL),
    NAME(mantissa) = sizeof(REAL) == 4 ? 23 : 52,
    NAME(bias) = sizeof(REAL) == 4 ? 127 : 1023
};

INLINE NAME(integers) NAME(sign_bits)(void)
{
    NAME(integers) sign = {0};
    sign += 1;
    return sign << (NAME(bits) - 1);
}

INLINE NAME(vector) NAME(absolute)(NAME(vector) x)
{
    return (NAME(vector))((NAME(integers))x & ~NAME(sign_bits)());
}

/* Returns x >= 0 with the sign of y. */
INLINE NAME(vector) NAME(with_sign)(NAME(vector) x, NAME(vector) y)
{
    return (NAME(vector))((NAME(integers))x | ((NAME(integers))y & NAME(sign_bits)()));
}

INLINE NAME(vector) NAME(larger)(NAME(vector) x, NAME(vector) y)
{
    return NAME(select)(x > y, x, y);
}

/* Returns a power of two that makes x >= 0 a number from 1 to 4, or less if x is too small for that.
 * *back is its inverse. */
INLINE NAME(vector) NAME(inverse_power)(NAME(vector) x, NAME(vector) * back)
{
    NAME(integers) power = (NAME(integers))x >> NAME(mantissa);
    power = NAME(choose)(power < 1, 0 * power + 1, power);
    power = NAME(choose)(power > 2 * NAME(bias) - 1, 0 * power + (2 * NAME(bias) - 1), power);
    *back = (NAME(vector))(power << NAME(mantissa));
    return (NAME(vector))((2 * NAME(bias) - power) << NAME(mantissa));
}

/* Multiplies each matrix by a power of two, so that its largest element is about 1. *back is the
 * inverse of the factor. Returns the lanes that are not finite, which become zeros. */
TARGET static NAME(integers) NAME(scale)(int64_t count, NAME(vector) * x, NAME(vector) * back)
{
    NAME(vector) most = {0}, zero = {0};
    for (int64_t i = 0; i < count; i++) {
        most = NAME(larger)(NAME(absolute)(x[i]), most);
        zero += 0 * x[i]; /* NaN if x is not finite */
    }
    const NAME(integers) good = zero == 0;
    const NAME(vector) factor = NAME(inverse_power)(most, back);
    for (int64_t i = 0; i < count; i++)
        x[i] = (NAME(vector))((NAME(integers))(x[i] * factor) & good);
    return ~good;
}

/* ---- rotations ------------------------------------------------------------------------------- */

typedef struct {
    NAME(vector) c, s, r;
} NAME(rotation);

/* Returns the rotation with c f + s g = r and c g - s f = 0 in the lanes of the mask; the identity
 * in the other lanes, and where f and g are 0. In single precision both are scaled by a power of two,
 * since elements of a graded matrix may be so small that their squares vanish. In double precision
 * so small ones count as 0. One division and two corrections of its
 * rounding errors take less time than two divisions. Without the corrections, errors of the vectors'
 * lengths add up. */
INLINE NAME(rotation) NAME(rotate)(NAME(integers) mask, NAME(vector) f, NAME(vector) g)
{
    const NAME(vector) zero = {0};
    NAME(vector) near_f = f, near_g = g, back = zero + 1;
    if (sizeof(REAL) == 4) {
        const NAME(vector) largest = NAME(larger)(NAME(absolute)(f), NAME(absolute)(g));
        const NAME(vector) factor = NAME(inverse_power)(largest, &back);
        near_f *= factor;
        near_g *= factor;
    }
    const NAME(vector) square = near_f * near_f + near_g * near_g;
    mask &= square >= NAME(tiny);
    const NAME(vector) root = NAME(root)(NAME(select)(mask, square, zero + 1));
    const NAME(vector) inverse = 1 / root;
    NAME(vector) c = near_f * inverse, s = near_g * inverse;
    c += inverse * (near_f - c * root);
    s += inverse * (near_g - s * root);
    const NAME(rotation) found = {NAME(select)(mask, c, zero + 1), NAME(select)(mask, s, zero),
                                  NAME(select)(mask, root * back, f)};
    return found;
}

/* Does `height` rows of turn_columns. */
INLINE void NAME(turn_rows)(const int height, int64_t n, NAME(vector) * x, int64_t first,
                            int64_t last, const NAME(vector) * c, const NAME(vector) * s)
{
    NAME(vector) own[4];
    for (int r = 0; r < height; r++) own[r] = x[r * n + first];
    for (int64_t i = first; i < last; i++) {
        const NAME(vector) c_own = c[i], s_own = s[i];
        for (int r = 0; r < height; r++) {
            const NAME(vector) next = x[r * n + i + 1];
            x[r * n + i] = s_own * next + c_own * own[r];
            own[r] = c_own * next - s_own * own[r];
        }
    }
    for (int r = 0; r < height; r++) x[r * n + last] = own[r];
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The last block of each lane: rows top .. end. A lane that is finished has end 0.
 *   largest   of the absolute values in the block
 *   smallest  of those on the diagonal */
typedef struct {
    NAME(integers) top, end;
    NAME(vector) largest, smallest;
} NAME(block);

/* Finds the blocks. Negligible elements of e become zeros. For eigenvalues (steqr) an element is
 * negligible beside the geometric mean of its neighbours on the diagonal, for singular values beside
 * their sum. Only e[0] .. e[high - 1] may differ from zero. */
INLINE NAME(block)
    NAME(find_blocks)(int64_t high, const NAME(vector) * d, NAME(vector) * e, const int singular)
{
    NAME(block) now = {{0}, {0}, NAME(absolute)(d[0]), NAME(absolute)(d[0])};
    NAME(block) found = now;
    for (int64_t i = 0; i < high; i++) {
        const NAME(vector) off = NAME(absolute)(e[i]);
        const NAME(vector) here = NAME(absolute)(d[i]), next = NAME(absolute)(d[i + 1]);
        NAME(integers) is_zero = off <= NAME(least);
        if (singular) is_zero |= off <= NAME(round_off) * (here + next);
        else is_zero |= off * off <= (NAME(round_off) * here) * (NAME(round_off) * next);
        e[i] = NAME(select)(is_zero, (NAME(vector)){0}, e[i]);
        now.end = 0 * now.end + (INTEGER)(i + 1);
        now.top = NAME(choose)(is_zero, now.end, now.top);
        now.largest = NAME(larger)(now.largest, NAME(larger)(off, next));
        now.largest = NAME(select)(is_zero, next, now.largest);
        now.smallest = NAME(select)((next < now.smallest) | is_zero, next, now.smallest);
        found.end = NAME(choose)(is_zero, found.end, now.end);
        found.top = NAME(choose)(is_zero, found.top, now.top);
        found.largest = NAME(select)(is_zero, found.largest, now.largest);
        found.smallest = NAME(select)(is_zero, found.smallest, now.smallest);
    }
    return found;
}

/* ---- groups on their way to diagonal form ---------------------------------------------------- */

/* Rotations of some sweeps, which are still to be applied to the columns of z [rows][n]. */
typedef struct {
    int64_t rows;
    NAME(vector) * z, *c, *s; /* c and s have a row of n for each sweep */
} NAME(turns);

/* The tridiagonal or bidiagonal matrices of a group, with diagonal d [n] and the other one in e [n].
 * Sweep k has rotated rows first[k] .. last[k]. `right` is for bidiagonal matrices only. */
typedef struct {
    NAME(vector) * d, *e;
    NAME(turns) left, right;
    int64_t first[HS__LANES_SWEEPS], last[HS__LANES_SWEEPS];
    NAME(block) blocks;
} NAME(problem);

/* Applies the rotations of `count` sweeps. All rotations of some rows are done before the next rows,
 * so that these stay in the L1 cache. */
TARGET static void NAME(turn_columns)(int64_t n, const NAME(turns) * x, int count,
                                      const int64_t *first, const int64_t *last)
{
    for (int64_t i = 0; i < x->rows; i += 4)
        for (int k = 0; k < count; k++) {
            const NAME(vector) *c = x->c + k * n, *s = x->s + k * n;
            if (i + 4 <= x->rows) {
                NAME(turn_rows)(4, n, x->z + i * n, first[k], last[k], c, s);
                continue;
            }
            for (int64_t r = i; r < x->rows; r++)
                NAME(turn_rows)(1, n, x->z + r * n, first[k], last[k], c, s);
        }
}

/* Finds the rows of all blocks of a group, *first .. *last; both are 0 if there is no block. */
INLINE void NAME(find_span)(const NAME(block) * blocks, int64_t *first, int64_t *last)
{
    *first = INT32_MAX;
    *last = 0;
    for (int l = 0; l < (int)NAME(lanes); l++) {
        if (blocks->end[l] == 0) continue;
        if (blocks->end[l] > *last) *last = blocks->end[l];
        if (blocks->top[l] < *first) *first = blocks->top[l];
    }
    if (*last == 0) *first = 0;
}

/* Returns x[index] of each lane. */
INLINE NAME(vector) NAME(pick)(const NAME(vector) * x, NAME(integers) index)
{
    NAME(vector) found = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) found[l] = x[index[l]][l];
    return found;
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* Returns d[top] - shift, with Wilkinson's shift: the eigenvalue of the last 2 x 2 matrix that is
 * nearer to its last element. */
INLINE NAME(vector)
    NAME(eigen_start)(const NAME(vector) * d, const NAME(vector) * e, const NAME(block) * blocks)
{
    const NAME(integers) is_open = blocks->end > 0;
    const NAME(integers) before = NAME(choose)(is_open, blocks->end - 1, blocks->end);
    const NAME(vector) zero = {0};
    const NAME(vector) last = NAME(pick)(d, blocks->end);
    const NAME(vector) off = NAME(select)(is_open, NAME(pick)(e, before), zero + 1);
    const NAME(vector) half = (NAME(pick)(d, before) - last) / (2 * off);
    const NAME(vector) root = NAME(root)(half * half + 1);
    return NAME(pick)(d, blocks->top) - last + off / (half + NAME(with_sign)(root, half));
}

/* A sweep between two rows, with the notation of steqr. d_own is d of the next row, e_before e of
 * the last one. */
typedef struct {
    NAME(integers) top, end;
    NAME(vector) c, s, p, g, d_own, e_before;
} NAME(eigen_sweep);

/* Does row i of a sweep that begins at row `first`. */
INLINE void NAME(eigen_row)(int64_t first, int64_t i, NAME(eigen_sweep) * x, NAME(vector) * d,
                            NAME(vector) * e, NAME(vector) * c_out, NAME(vector) * s_out)
{
    const NAME(vector) d_next = d[i + 1], e_own = e[i];
    const NAME(integers) row = 0 * x->top + (INTEGER)i;
    const NAME(integers) mask = (x->top <= row) & (row < x->end);
    const NAME(vector) f = x->s * e_own, b = x->c * e_own;
    const NAME(rotation) own = NAME(rotate)(mask, x->g, f);
    if (i > first) e[i - 1] = NAME(select)(mask & (x->top < row), own.r, x->e_before);
    x->c = NAME(select)(mask, own.c, x->c);
    x->s = NAME(select)(mask, own.s, x->s);
    c_out[i] = own.c;
    s_out[i] = own.s;
    const NAME(vector) moved = x->d_own - x->p;
    const NAME(vector) r = (d_next - moved) * own.s + 2 * own.c * b;
    x->p = NAME(select)(mask, own.s * r, x->p);
    x->g = NAME(select)(mask, own.c * r - b, x->g);
    d[i] = NAME(select)(mask, moved + x->p, x->d_own);
    x->e_before = NAME(select)(mask, x->g, e_own);
    x->d_own = NAME(select)(mask & (row + 1 == x->end), d_next - x->p, d_next);
}

/* Sweep k of all groups, through rows first .. last from the top. */
TARGET static void NAME(sweep_eigen)(int64_t n, NAME(problem) * x, int k, int64_t first,
                                     int64_t last)
{
    const NAME(vector) zero = {0};
    NAME(eigen_sweep) now[HS__LANES_GROUPS];
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        const NAME(eigen_sweep) start = {x[g].blocks.top,
                                         x[g].blocks.end,
                                         zero + 1,
                                         zero + 1,
                                         zero,
                                         NAME(eigen_start)(x[g].d, x[g].e, &x[g].blocks),
                                         x[g].d[first],
                                         zero};
        now[g] = start;
    }
    for (int64_t i = first; i < last; i++)
        for (int g = 0; g < HS__LANES_GROUPS; g++)
            NAME(eigen_row)(first, i, &now[g], x[g].d, x[g].e, x[g].left.c + k * n,
                            x[g].left.s + k * n);
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        x[g].e[last - 1] = now[g].e_before;
        x[g].d[last] = now[g].d_own;
    }
}

/* ---- singular values ------------------------------------------------------------------------- */

/* The first rotation of a sweep annuls g beside f in row `top` of each lane. The shift is that of
 * LINPACK's svdc, from the last 2 x 2 matrix of B^T B. It is 0 if the block is singular to working
 * precision: then one sweep without a shift moves the zero to the end, where it splits off (Demmel
 * and Kahan, SIAM J. Sci. Stat. Comput. 11, 1990). */
INLINE void NAME(singular_start)(const NAME(vector) * d, const NAME(vector) * e,
                                 const NAME(block) * blocks, NAME(vector) * f, NAME(vector) * g)
{
    const NAME(vector) zero = {0};
    const NAME(integers) is_open = blocks->end > 0;
    const NAME(integers) before = NAME(choose)(is_open, blocks->end - 1, blocks->end);
    const NAME(vector) unit = 1 / NAME(select)(is_open, blocks->largest, zero + 1);
    const NAME(vector) top = NAME(pick)(d, blocks->top) * unit;
    const NAME(vector) beside = NAME(pick)(e, blocks->top) * unit;
    const NAME(vector) last = NAME(pick)(d, blocks->end) * unit;
    const NAME(vector) other = NAME(pick)(d, before) * unit, off = NAME(pick)(e, before) * unit;
    const NAME(vector) b = ((other + last) * (other - last) + off * off) * (REAL)0.5;
    const NAME(vector) c = (last * off) * (last * off);
    const NAME(vector) sum = b + NAME(with_sign)(NAME(root)(b * b + c), b);
    const NAME(integers) is_level = sum == 0;
    const NAME(vector) shift =
        NAME(select)(is_level, zero, c / NAME(select)(is_level, zero + 1, sum));
    const NAME(integers) is_plain = blocks->smallest <= NAME(round_off) * blocks->largest;
    *f = NAME(select)(is_plain, top, (top + last) * (top - last) + shift);
    *g = NAME(select)(is_plain, beside, top * beside);
}

/* A sweep between two rows, with the notation of bdsqr. d_own and e_own are of the next row, e_before
 * is e of the last one. */
typedef struct {
    NAME(integers) top, end;
    NAME(vector) f, g, d_own, e_own, e_before;
} NAME(singular_sweep);

/* Does row i of sweep k, which begins at row `first`: a rotation of columns, then one of rows. */
INLINE void NAME(singular_row)(int64_t n, int k, int64_t first, int64_t i, NAME(singular_sweep) * x,
                               const NAME(problem) * to)
{
    NAME(vector) *const d = to->d, *const e = to->e;
    const NAME(vector) d_next = d[i + 1], e_next = e[i + 1];
    const NAME(integers) row = 0 * x->top + (INTEGER)i;
    const NAME(integers) mask = (x->top <= row) & (row < x->end);
    const NAME(rotation) right = NAME(rotate)(mask, x->f, x->g);
    if (i > first) e[i - 1] = NAME(select)(mask & (x->top < row), right.r, x->e_before);
    const NAME(vector) off = right.c * x->e_own - right.s * x->d_own, below = right.c * d_next;
    const NAME(rotation) left =
        NAME(rotate)(mask, right.c * x->d_own + right.s * x->e_own, right.s * d_next);
    d[i] = NAME(select)(mask, left.r, x->d_own);
    x->f = NAME(select)(mask, left.c * off + left.s * below, x->f);
    x->g = NAME(select)(mask, left.s * e_next, x->g);
    x->e_before = NAME(select)(mask, x->f, x->e_own);
    x->d_own = NAME(select)(mask, left.c * below - left.s * off, d_next);
    x->e_own = NAME(select)(mask, left.c * e_next, e_next);
    to->right.c[k * n + i] = right.c;
    to->right.s[k * n + i] = right.s;
    to->left.c[k * n + i] = left.c;
    to->left.s[k * n + i] = left.s;
}

/* Sweep k of all groups, through rows first .. last from the top. */
TARGET static void NAME(sweep_singular)(int64_t n, NAME(problem) * x, int k, int64_t first,
                                        int64_t last)
{
    NAME(singular_sweep) now[HS__LANES_GROUPS];
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        now[g].top = x[g].blocks.top;
        now[g].end = x[g].blocks.end;
        NAME(singular_start)(x[g].d, x[g].e, &x[g].blocks, &now[g].f, &now[g].g);
        now[g].d_own = x[g].d[first];
        now[g].e_own = x[g].e[first];
        now[g].e_before = (NAME(vector)){0};
    }
    for (int64_t i = first; i < last; i++)
        for (int g = 0; g < HS__LANES_GROUPS; g++)
            NAME(singular_row)(n, k, first, i, &now[g], &x[g]);
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        x[g].e[last - 1] = now[g].e_before;
        x[g].e[last] = now[g].e_own;
        x[g].d[last] = now[g].d_own;
    }
}

/* ---- the iteration --------------------------------------------------------------------------- */

/* Replaces d of HS__LANES_GROUPS groups by the eigenvalues, or by the singular values with any sign,
 * and turns the columns of the vectors. A lane has converged if its block has end 0 afterwards. */
TARGET static void NAME(iterate)(int64_t n, NAME(problem) * x, int singular)
{
    int count = 0;
    for (int g = 0; g < HS__LANES_GROUPS; g++)
        x[g].blocks = NAME(find_blocks)(n - 1, x[g].d, x[g].e, singular);
    for (int64_t sweep = 0; sweep < 30 * n; sweep++) {
        int64_t first = INT32_MAX, last = 0;
        for (int g = 0; g < HS__LANES_GROUPS; g++) {
            NAME(find_span)(&x[g].blocks, &x[g].first[count], &x[g].last[count]);
            if (x[g].last[count] == 0) continue;
            if (x[g].first[count] < first) first = x[g].first[count];
            if (x[g].last[count] > last) last = x[g].last[count];
        }
        if (last == 0) break;
        if (singular) NAME(sweep_singular)(n, x, count, first, last);
        else NAME(sweep_eigen)(n, x, count, first, last);
        count++;
        for (int g = 0; g < HS__LANES_GROUPS; g++) {
            x[g].blocks = NAME(find_blocks)(last, x[g].d, x[g].e, singular);
            if (count < HS__LANES_SWEEPS) continue;
            NAME(turn_columns)(n, &x[g].left, count, x[g].first, x[g].last);
            NAME(turn_columns)(n, &x[g].right, count, x[g].first, x[g].last);
        }
        count %= HS__LANES_SWEEPS;
    }
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        NAME(turn_columns)(n, &x[g].left, count, x[g].first, x[g].last);
        NAME(turn_columns)(n, &x[g].right, count, x[g].first, x[g].last);
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

/* hs__lanes_sort. By insertion: the values are nearly sorted. */
TARGET static void NAME(sort)(int64_t n, const void *values, int descending, int32_t *order)
{
    const int lanes = NAME(lanes);
    for (int l = 0; l < lanes; l++, order += n) {
        const REAL *x = (const REAL *)values + l;
        for (int32_t i = 0; i < (int32_t)n; i++) {
            const REAL own = x[i * lanes];
            int32_t j = i;
            for (; j > 0; j--) {
                const REAL before = x[order[j - 1] * lanes];
                if (descending ? !(before < own) : !(before > own)) break;
                order[j] = order[j - 1];
            }
            order[j] = i;
        }
    }
}
