/* The real part of lanes_template.h: eigenvalues of tridiagonal and singular values of bidiagonal
 * matrices by implicit QR iteration, as LAPACK's steqr and bdsqr do it (Golub and Van Loan 8.3.3 and
 * 8.6.2).
 *
 * Each lane has its own block, the last one that is not yet diagonal, and its own shift. One sweep
 * goes through the rows of all blocks. In rows outside of its own block a lane does the identity
 * rotation, and what it has is kept by a mask. */

typedef INTEGER NAME(integers)
    __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

/* A sum of two squares below `tiny` may have lost bits to underflow. An off-diagonal element below
 * `least` counts as zero. Both are far below the rounding errors of a matrix of size 1. */
static const REAL NAME(tiny) = sizeof(REAL) == 4 ? (REAL)0x1p-100 : (REAL)0x1p-900;
static const REAL NAME(least) = sizeof(REAL) == 4 ? (REAL)0x1p-46 : (REAL)0x1p-440;
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
    NAME(vector) y;
    for (int l = 0; l < (int)NAME(lanes); l++) {
        if (sizeof(REAL) == 4) y[l] = (REAL)sqrtf((float)x[l]);
        else y[l] = (REAL)sqrt((double)x[l]);
    }
    return y;
}

enum { NAME(bits) = 8 * sizeof(REAL) };

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

/* Multiplies each matrix by a power of two, so that its largest element is about 1: only beside the
 * limits of the range it can be as large as 4, or small. *back is the inverse of the factor. Returns
 * the lanes that are not finite, which become zeros. */
TARGET static NAME(integers) NAME(scale)(int64_t count, NAME(vector) * x, NAME(vector) * back)
{
    enum { MANTISSA = sizeof(REAL) == 4 ? 23 : 52, BIAS = sizeof(REAL) == 4 ? 127 : 1023 };
    NAME(vector) most = {0}, zero = {0};
    for (int64_t i = 0; i < count; i++) {
        most = NAME(larger)(NAME(absolute)(x[i]), most);
        zero += 0 * x[i]; /* NaN if x is not finite */
    }
    const NAME(integers) good = zero == 0;
    NAME(integers) power = (NAME(integers))most >> MANTISSA;
    power = NAME(choose)(power < 1, 0 * power + 1, power);
    power = NAME(choose)(power > 2 * BIAS - 1, 0 * power + (2 * BIAS - 1), power);
    *back = (NAME(vector))(power << MANTISSA);
    const NAME(vector) factor = (NAME(vector))((2 * BIAS - power) << MANTISSA);
    for (int64_t i = 0; i < count; i++)
        x[i] = (NAME(vector))((NAME(integers))(x[i] * factor) & good);
    return ~good;
}

/* ---- rotations ------------------------------------------------------------------------------- */

typedef struct {
    NAME(vector) c, s, r;
} NAME(rotation);

/* Returns the rotation with c f + s g = r and c g - s f = 0 in the lanes of the mask; the identity
 * in the others, and where f and g are tiny. */
INLINE NAME(rotation) NAME(rotate)(NAME(integers) mask, NAME(vector) f, NAME(vector) g)
{
    const NAME(vector) zero = {0};
    const NAME(vector) square = f * f + g * g;
    mask &= square >= NAME(tiny);
    const NAME(vector) root = NAME(root)(NAME(select)(mask, square, zero + 1));
    const NAME(rotation) found = {NAME(select)(mask, f / root, zero + 1),
                                  NAME(select)(mask, g / root, zero), NAME(select)(mask, root, f)};
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

/* Rotations of some sweeps that are still to be applied: of sweep i to the columns first[i] ..
 * last[i], one rotation after the other. c and s have rows of n. */
enum { NAME(most_sweeps) = HS__LANES_SWEEPS };
typedef struct {
    NAME(vector) * c, *s;
    int64_t n;
    const int64_t *first, *last;
} NAME(rotations);

/* Applies the rotations of `count` sweeps to a matrix with rows of n. All rotations of some rows are
 * done before the next rows, so that these stay in the L1 cache. */
TARGET static void NAME(turn_columns)(const NAME(rotations) * x, int count, int64_t rows,
                                      NAME(vector) * z)
{
    const int64_t n = x->n;
    for (int64_t i = 0; i < rows; i += 4)
        for (int k = 0; k < count; k++) {
            const NAME(vector) *c = x->c + k * n, *s = x->s + k * n;
            if (i + 4 <= rows) {
                NAME(turn_rows)(4, n, z + i * n, x->first[k], x->last[k], c, s);
                continue;
            }
            for (int64_t r = i; r < rows; r++)
                NAME(turn_rows)(1, n, z + r * n, x->first[k], x->last[k], c, s);
        }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The last block of each lane: rows top .. end. A lane that is finished has end 0.
 *   largest   of the absolute values in the block
 *   smallest  of those on the diagonal */
typedef struct {
    NAME(integers) top, end;
    NAME(vector) largest, smallest;
} NAME(block);

/* Finds the blocks. Negligible elements of e become zeros: for eigenvalues those whose square is
 * below that of the round-off of the geometric mean of their neighbours on the diagonal (steqr), for
 * singular values those below the round-off of the neighbours' sum. Only e[0] .. e[high - 1] may
 * differ from zero. */
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

/* Finds the rows of all blocks, first .. last. */
INLINE void NAME(find_span)(const NAME(block) * blocks, int64_t *first, int64_t *last)
{
    *first = INT32_MAX;
    *last = 0;
    for (int l = 0; l < (int)NAME(lanes); l++) {
        if (blocks->end[l] == 0) continue;
        if (blocks->end[l] > *last) *last = blocks->end[l];
        if (blocks->top[l] < *first) *first = blocks->top[l];
    }
}

/* Returns x[index] of each lane. */
INLINE NAME(vector) NAME(pick)(const NAME(vector) * x, NAME(integers) index)
{
    NAME(vector) found;
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

/* One sweep through rows first .. last, from the top, with the notation of steqr. */
INLINE void NAME(sweep_eigen)(const NAME(block) * blocks, int64_t first, int64_t last,
                              NAME(vector) * d, NAME(vector) * e, NAME(vector) * c_out,
                              NAME(vector) * s_out)
{
    const NAME(vector) zero = {0};
    NAME(vector) c = zero + 1, s = zero + 1, p = zero, g = NAME(eigen_start)(d, e, blocks);
    NAME(vector) d_own = d[first], e_before = zero;
    for (int64_t i = first; i < last; i++) {
        const NAME(vector) d_next = d[i + 1], e_own = e[i];
        const NAME(integers) row = 0 * blocks->top + (INTEGER)i;
        const NAME(integers) mask = (blocks->top <= row) & (row < blocks->end);
        const NAME(vector) f = s * e_own, b = c * e_own;
        const NAME(rotation) own = NAME(rotate)(mask, g, f);
        if (i > first) e[i - 1] = NAME(select)(mask & (blocks->top < row), own.r, e_before);
        c = NAME(select)(mask, own.c, c);
        s = NAME(select)(mask, own.s, s);
        c_out[i] = own.c;
        s_out[i] = own.s;
        const NAME(vector) moved = d_own - p;
        const NAME(vector) r = (d_next - moved) * own.s + 2 * own.c * b;
        p = NAME(select)(mask, own.s * r, p);
        g = NAME(select)(mask, own.c * r - b, g);
        d[i] = NAME(select)(mask, moved + p, d_own);
        e_before = NAME(select)(mask, g, e_own);
        d_own = NAME(select)(mask & (row + 1 == blocks->end), d_next - p, d_next);
    }
    e[last - 1] = e_before;
    d[last] = d_own;
}

/* Replaces d by the eigenvalues of the matrix with diagonal d and subdiagonal e, e [n], and applies
 * the rotations to the columns of z [rows][n]. rotations [2 HS__LANES_SWEEPS n]
 * is overwritten. Returns the lanes
 * that did not converge. */
TARGET static NAME(integers)
    NAME(iterate_eigen)(int64_t n, NAME(vector) * d, NAME(vector) * e, int64_t rows,
                        NAME(vector) * z, NAME(vector) * rotations)
{
    int64_t first[NAME(most_sweeps)], last[NAME(most_sweeps)], high = n - 1;
    const NAME(rotations) x = {rotations, rotations + NAME(most_sweeps) * n, n, first, last};
    int count = 0;
    NAME(block) blocks = NAME(find_blocks)(high, d, e, 0);
    for (int64_t sweep = 0; sweep < 30 * n; sweep++) {
        NAME(find_span)(&blocks, &first[count], &last[count]);
        high = last[count];
        if (high == 0) break;
        NAME(sweep_eigen)(&blocks, first[count], high, d, e, x.c + count * n, x.s + count * n);
        if (++count == NAME(most_sweeps)) {
            NAME(turn_columns)(&x, count, rows, z);
            count = 0;
        }
        blocks = NAME(find_blocks)(high, d, e, 0);
    }
    NAME(turn_columns)(&x, count, rows, z);
    return blocks.end > 0;
}

/* ---- singular values ------------------------------------------------------------------------- */

/* The first rotation of a sweep annuls g beside f in the lanes' rows `top`. The shift is that of
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

/* One sweep through rows first .. last, from the top, with the notation of bdsqr. Its rotations of
 * columns become those of sweep k of `right_out`, those of rows of `left_out`. */
INLINE void NAME(sweep_singular)(const NAME(block) * blocks, int64_t first, int64_t last,
                                 NAME(vector) * d, NAME(vector) * e,
                                 const NAME(rotations) * right_out,
                                 const NAME(rotations) * left_out, int k)
{
    const int64_t at = k * right_out->n;
    NAME(vector) f, g;
    NAME(singular_start)(d, e, blocks, &f, &g);
    NAME(vector) d_own = d[first], e_own = e[first], e_before = {0};
    for (int64_t i = first; i < last; i++) {
        const NAME(vector) d_next = d[i + 1], e_next = e[i + 1];
        const NAME(integers) row = 0 * blocks->top + (INTEGER)i;
        const NAME(integers) mask = (blocks->top <= row) & (row < blocks->end);
        const NAME(rotation) right = NAME(rotate)(mask, f, g);
        if (i > first) e[i - 1] = NAME(select)(mask & (blocks->top < row), right.r, e_before);
        const NAME(vector) off = right.c * e_own - right.s * d_own, below = right.c * d_next;
        const NAME(rotation) left =
            NAME(rotate)(mask, right.c * d_own + right.s * e_own, right.s * d_next);
        d[i] = NAME(select)(mask, left.r, d_own);
        f = NAME(select)(mask, left.c * off + left.s * below, f);
        g = NAME(select)(mask, left.s * e_next, g);
        e_before = NAME(select)(mask, f, e_own);
        d_own = NAME(select)(mask, left.c * below - left.s * off, d_next);
        e_own = NAME(select)(mask, left.c * e_next, e_next);
        right_out->c[at + i] = right.c;
        right_out->s[at + i] = right.s;
        left_out->c[at + i] = left.c;
        left_out->s[at + i] = left.s;
    }
    e[last - 1] = e_before;
    e[last] = e_own;
    d[last] = d_own;
}

/* Replaces d by the singular values, of any sign, of the matrix with diagonal d and superdiagonal e,
 * e [n], and applies the rotations to the columns of u [u_rows][n] and v [v_rows][n]. rotations
 * [4 HS__LANES_SWEEPS n] is overwritten. Returns the lanes that did not converge. */
TARGET static NAME(integers)
    NAME(iterate_singular)(int64_t n, NAME(vector) * d, NAME(vector) * e, int64_t u_rows,
                           NAME(vector) * u, int64_t v_rows, NAME(vector) * v,
                           NAME(vector) * rotations)
{
    int64_t first[NAME(most_sweeps)], last[NAME(most_sweeps)], high = n - 1;
    const int64_t all = NAME(most_sweeps) * n;
    const NAME(rotations) right = {rotations, rotations + all, n, first, last};
    const NAME(rotations) left = {rotations + 2 * all, rotations + 3 * all, n, first, last};
    int count = 0;
    e[n - 1] = (NAME(vector)){0};
    NAME(block) blocks = NAME(find_blocks)(high, d, e, 1);
    for (int64_t sweep = 0; sweep < 30 * n; sweep++) {
        NAME(find_span)(&blocks, &first[count], &last[count]);
        high = last[count];
        if (high == 0) break;
        NAME(sweep_singular)(&blocks, first[count], high, d, e, &right, &left, count);
        if (++count == NAME(most_sweeps)) {
            NAME(turn_columns)(&right, count, v_rows, v);
            NAME(turn_columns)(&left, count, u_rows, u);
            count = 0;
        }
        blocks = NAME(find_blocks)(high, d, e, 1);
    }
    NAME(turn_columns)(&right, count, v_rows, v);
    NAME(turn_columns)(&left, count, u_rows, u);
    return blocks.end > 0;
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
