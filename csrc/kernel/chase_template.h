/* The loops of chase.h of one instruction set and type; see each_type.h for the parameters.
 * INLINE makes a function a part of each caller. */

#include "kernel/vector_type.h"

typedef INTEGER NAME(integers) __attribute__((vector_size(BYTES)));

/* most: vectors of a column. each: elements of a vector */
enum {
    NAME(most) = HS__WIDTH_MOST * PARTS * (int)sizeof(REAL) / BYTES,
    NAME(each) = NAME(lanes) / PARTS
};

/* A column of vectors, and for complex types its product with i. */
typedef struct {
    NAME(vector) plain[NAME(most)], turned[NAME(most)];
} NAME(column);

/* ---- vectors --------------------------------------------------------------------------------- */

/* Returns x with zeros in the first `skipped` lanes. */
INLINE NAME(vector) NAME(behind)(NAME(vector) x, int64_t skipped)
{
    NAME(integers) lane = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) lane[l] = l;
    return (NAME(vector))((NAME(integers))x & (lane >= (INTEGER)skipped));
}

/* Returns the first `skipped` lanes of `old`, then lanes of x. */
INLINE NAME(vector) NAME(join)(NAME(vector) old, NAME(vector) x, int64_t skipped)
{
    NAME(integers) lane = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) lane[l] = l;
    const NAME(integers) own = lane >= (INTEGER)skipped;
    return (NAME(vector))(((NAME(integers))x & own) | ((NAME(integers))old & ~own));
}

INLINE NAME(vector) NAME(add_across)(NAME(vector) x, const int bit)
{
#ifdef __clang__
    NAME(vector) y;
    for (int l = 0; l < (int)NAME(lanes); l++) y[l] = x[l ^ bit];
    return x + y;
#else
    NAME(integers) from = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) from[l] = l ^ bit;
    return x + __builtin_shuffle(x, from);
#endif
}

/* Returns the sum of all lanes, in each lane. */
INLINE NAME(vector) NAME(sum)(NAME(vector) x)
{
    x = NAME(add_across)(x, 1);
    if (NAME(lanes) > 2) x = NAME(add_across)(x, 2 % NAME(lanes));
    if (NAME(lanes) > 4) x = NAME(add_across)(x, 4 % NAME(lanes));
    if (NAME(lanes) > 8) x = NAME(add_across)(x, 8 % NAME(lanes));
    return x;
}

/* Returns x (re + i im), given x and its product with i. */
INLINE NAME(vector)
    NAME(times)(NAME(vector) plain, NAME(vector) turned, NAME(vector) re, NAME(vector) im)
{
    return PARTS == 2 ? plain * re + turned * im : plain * re;
}

INLINE NAME(vector) NAME(spread)(REAL x) { return x - (NAME(vector)){0}; }

/* ---- reflectors ------------------------------------------------------------------------------ */

/* Returns the sum of the squares of x [width] without its first element. */
INLINE double NAME(square_of)(int vectors, const REAL *x)
{
    NAME(vector) own = NAME(behind)(NAME(load)(x), PARTS);
    NAME(vector) sum = own * own;
    for (int i = 1; i < vectors; i++) {
        own = NAME(load)(x + i * NAME(lanes));
        sum += own * own;
    }
    return (double)NAME(sum)(sum)[0];
}

/* x <- x 2^power. */
TARGET static void NAME(scale_by)(int64_t reals, REAL *x, int power)
{
    for (int64_t i = 0; i < reals; i++) x[i] = (REAL)ldexp((double)x[i], power);
}

/* hs__chase_reflect. Near the limits of the range x is scaled by a power of two first. */
TARGET static void NAME(reflect)(int64_t width, void *x_, void *v_, void *tau_)
{
    static const double near = sizeof(REAL) == 4 ? 0x1p-80 : 0x1p-900;
    static const double far = sizeof(REAL) == 4 ? 0x1p+80 : 0x1p+900;
    static const double most = 0x1p+450; /* whose square is in the range of double */
    REAL *x = x_;
    REAL *v = v_;
    REAL *tau = tau_;
    const int64_t reals = width * PARTS;
    const int vectors = (int)(reals / NAME(lanes));
    double square = NAME(square_of)(vectors, x);
    double im = PARTS == 2 ? (double)x[PARTS - 1] : 0.0;
    int power = 0;
    if (!(square > near && square < far && fabs((double)x[0]) < most && fabs(im) < most)) {
        double largest = 0.0;
        for (int64_t i = 0; i < reals; i++)
            if (fabs((double)x[i]) > largest) largest = fabs((double)x[i]);
        if (largest > 0.0 && largest <= DBL_MAX) frexp(largest, &power);
        NAME(scale_by)(reals, x, -power);
        square = NAME(square_of)(vectors, x);
        im = PARTS == 2 ? (double)x[PARTS - 1] : 0.0;
    }
    const double re = (double)x[0];
    const double size = PARTS == 2 ? hypot(re, im) : re;
    const double beta = -copysign(sqrt(size * size + square), re), below = re - beta;
    const double bottom = below * below + im * im;
    const int is_done = square == 0.0 && im == 0.0;
    const NAME(vector) scale_re = NAME(spread)((REAL)(is_done ? 0.0 : below / bottom));
    const NAME(vector) scale_im = NAME(spread)((REAL)(is_done ? 0.0 : -im / bottom));
    for (int i = 0; i < vectors; i++) {
        const NAME(vector) own = NAME(load)(x + i * NAME(lanes));
        NAME(store)(v + i * NAME(lanes), NAME(times)(own, NAME(times_i)(own), scale_re, scale_im));
    }
    memset(x, 0, (size_t)reals * sizeof *x);
    x[0] = (REAL)(is_done ? re : beta);
    NAME(scale_by)(1, x, power);
    v[0] = 1;
    tau[0] = (REAL)(is_done ? 0.0 : (beta - re) / beta);
    if (PARTS == 2) {
        v[PARTS - 1] = 0;
        tau[PARTS - 1] = (REAL)(is_done ? 0.0 : -im / beta);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

INLINE void NAME(load_column)(int vectors, const REAL *x, NAME(column) * to)
{
    for (int i = 0; i < vectors; i++) {
        to->plain[i] = NAME(load)(x + i * NAME(lanes));
        if (PARTS == 2) to->turned[i] = NAME(times_i)(to->plain[i]);
    }
}

/* y <- D v for a block of which the lower triangle is stored. Each column is multiplied by its
 * element of v, and its part below the diagonal, conjugated, by v. */
INLINE void NAME(multiply_diagonal)(int vectors, int64_t cols, const REAL *d, int64_t ld,
                                    const REAL *v, const NAME(column) * v_column, NAME(column) * y)
{
    NAME(vector) sum[PARTS][NAME(most)];
    REAL below[NAME(most) * NAME(lanes)];
    memset(sum, 0, sizeof sum);
    memset(below, 0, (size_t)(vectors * (int)NAME(lanes)) * sizeof *below);
    for (int64_t j = 0; j < cols; j++, d += ld) {
        const int first = (int)(j / NAME(each)), skipped = (int)(j % NAME(each)) * PARTS;
        const NAME(vector) re = NAME(spread)(v[j * PARTS]);
        const NAME(vector) im = NAME(spread)(v[j * PARTS + PARTS - 1]);
        NAME(vector) own = NAME(behind)(NAME(load)(d + first * NAME(lanes)), skipped);
        sum[0][first] += own * re;
        if (PARTS == 2) sum[PARTS - 1][first] += own * im;
        own = NAME(behind)(own, skipped + PARTS);
        NAME(vector) dot_re = own * v_column->plain[first];
        NAME(vector) dot_im = own;
        if (PARTS == 2) dot_im *= v_column->turned[first];
        for (int i = first + 1; i < vectors; i++) {
            own = NAME(load)(d + i * NAME(lanes));
            sum[0][i] += own * re;
            if (PARTS == 2) sum[PARTS - 1][i] += own * im;
            dot_re += own * v_column->plain[i];
            if (PARTS == 2) dot_im += own * v_column->turned[i];
        }
        below[j * PARTS] = NAME(sum)(dot_re)[0];
        if (PARTS == 2) below[j * PARTS + PARTS - 1] = -NAME(sum)(dot_im)[0];
    }
    for (int i = 0; i < vectors; i++) {
        y->plain[i] = sum[0][i] + NAME(load)(below + i * NAME(lanes));
        if (PARTS == 2) y->plain[i] += NAME(times_i)(sum[PARTS - 1][i]);
    }
}

/* u <- tau y - 1/2 |tau|^2 (y^H v) v. Then H^H D H = D - u v^H - v u^H. */
INLINE void NAME(make_update)(int vectors, const NAME(column) * v, const REAL *tau,
                              const NAME(column) * y, NAME(column) * u)
{
    NAME(vector) dot = {0};
    for (int i = 0; i < vectors; i++) dot += y->plain[i] * v->plain[i];
    const REAL im = PARTS == 2 ? tau[PARTS - 1] : 0;
    const NAME(vector) half =
        NAME(sum)(dot) * NAME(spread)((tau[0] * tau[0] + im * im) * (REAL)0.5);
    for (int i = 0; i < vectors; i++) {
        u->plain[i] = NAME(times)(y->plain[i], NAME(times_i)(y->plain[i]), NAME(spread)(tau[0]),
                                  NAME(spread)(im)) -
                      v->plain[i] * half;
        if (PARTS == 2) u->turned[i] = NAME(times_i)(u->plain[i]);
    }
}

/* D <- D - u v^H - v u^H in the lower triangle. The diagonal stays real. */
INLINE void NAME(update_diagonal)(int vectors, int64_t cols, REAL *d, int64_t ld,
                                  const NAME(column) * v, const NAME(column) * u)
{
    const REAL *v_at = (const REAL *)v->plain, *u_at = (const REAL *)u->plain;
    for (int64_t j = 0; j < cols; j++, d += ld) {
        const int first = (int)(j / NAME(each)), skipped = (int)(j % NAME(each)) * PARTS;
        const NAME(vector) v_re = NAME(spread)(v_at[j * PARTS]);
        const NAME(vector) v_im = NAME(spread)(-v_at[j * PARTS + PARTS - 1]);
        const NAME(vector) u_re = NAME(spread)(u_at[j * PARTS]);
        const NAME(vector) u_im = NAME(spread)(-u_at[j * PARTS + PARTS - 1]);
        const NAME(vector) old = NAME(load)(d + first * NAME(lanes));
        for (int i = first; i < vectors; i++) {
            NAME(vector) own = NAME(load)(d + i * NAME(lanes));
            own -= NAME(times)(u->plain[i], u->turned[i], v_re, v_im);
            own -= NAME(times)(v->plain[i], v->turned[i], u_re, u_im);
            if (i == first) own = NAME(join)(old, own, skipped);
            NAME(store)(d + i * NAME(lanes), own);
        }
        if (PARTS == 2) d[j * PARTS + PARTS - 1] = 0;
    }
}

/* z <- B v. */
INLINE void NAME(multiply_below)(const int vectors, int64_t cols, const REAL *b, int64_t ld,
                                 const REAL *v, NAME(column) * z)
{
    NAME(vector) sum[PARTS][NAME(most)];
    for (int i = 0; i < vectors; i++)
        for (int p = 0; p < PARTS; p++) sum[p][i] = (NAME(vector)){0};
    for (int64_t j = 0; j < cols; j++, b += ld) {
        const NAME(vector) re = NAME(spread)(v[j * PARTS]);
        const NAME(vector) im = NAME(spread)(v[j * PARTS + PARTS - 1]);
        for (int i = 0; i < vectors; i++) {
            const NAME(vector) own = NAME(load)(b + i * NAME(lanes));
            sum[0][i] += own * re;
            if (PARTS == 2) sum[PARTS - 1][i] += own * im;
        }
    }
    for (int i = 0; i < vectors; i++) {
        z->plain[i] = sum[0][i];
        if (PARTS == 2) {
            z->plain[i] += NAME(times_i)(sum[PARTS - 1][i]);
            z->turned[i] = NAME(times_i)(z->plain[i]);
        }
    }
}

/* Applies both reflectors to columns of B: c <- c - tau conj(v_j) z, then c <- H2^H c, which is c -
 * conj(tau2) (v2^H c) v2. tau2 NULL: only the first one. */
INLINE void NAME(update_below)(const int vectors, int64_t from, int64_t cols, REAL *b, int64_t ld,
                               const REAL *v, const REAL *tau, const NAME(column) * z,
                               const NAME(column) * v2, const REAL *tau2)
{
    const REAL tau_im = PARTS == 2 ? tau[PARTS - 1] : 0;
    b += from * ld;
    for (int64_t j = from; j < cols; j++, b += ld) {
        const REAL v_re = v[j * PARTS], v_im = PARTS == 2 ? v[j * PARTS + PARTS - 1] : 0;
        const NAME(vector) re = NAME(spread)(tau[0] * v_re + tau_im * v_im);
        const NAME(vector) im = NAME(spread)(tau_im * v_re - tau[0] * v_im);
        NAME(vector) own[NAME(most)];
        NAME(vector) dot[PARTS] = {{0}};
        for (int i = 0; i < vectors; i++) {
            own[i] =
                NAME(load)(b + i * NAME(lanes)) - NAME(times)(z->plain[i], z->turned[i], re, im);
            if (!tau2) continue;
            dot[0] += own[i] * v2->plain[i];
            if (PARTS == 2) dot[PARTS - 1] += own[i] * v2->turned[i];
        }
        if (tau2) {
            const NAME(vector) dot_re = NAME(sum)(dot[0]), dot_im = NAME(sum)(dot[PARTS - 1]);
            const NAME(vector) tau2_re = NAME(spread)(tau2[0]);
            const NAME(vector) tau2_im = NAME(spread)(tau2[PARTS - 1]);
            const NAME(vector) f_re =
                PARTS == 2 ? tau2_re * dot_re + tau2_im * dot_im : tau2_re * dot_re;
            const NAME(vector) f_im = tau2_re * dot_im - tau2_im * dot_re;
            for (int i = 0; i < vectors; i++)
                own[i] -= NAME(times)(v2->plain[i], v2->turned[i], f_re, f_im);
        }
        for (int i = 0; i < vectors; i++) NAME(store)(b + i * NAME(lanes), own[i]);
    }
}

/* Does what a step does with B. */
INLINE void NAME(step_below)(const int vectors, int64_t width, int64_t cols, REAL *b, int64_t ld,
                             const REAL *v, const REAL *tau, REAL *next_v, REAL *next_tau)
{
    NAME(column) z, v2;
    NAME(multiply_below)(vectors, cols, b, ld, v, &z);
    NAME(update_below)(vectors, 0, 1, b, ld, v, tau, &z, &z, NULL);
    NAME(reflect)(width, b, next_v, next_tau);
    NAME(load_column)(vectors, next_v, &v2);
    NAME(update_below)(vectors, 1, cols, b, ld, v, tau, &z, &v2, next_tau);
}

/* hs__chase_step. */
TARGET static void NAME(step)(int64_t width, int64_t cols, void *d_, int64_t ld, const void *v_,
                              const void *tau, void *next_v, void *next_tau)
{
    const int vectors = (int)(width * PARTS / NAME(lanes));
    REAL *d = d_;
    const REAL *v = v_;
    NAME(column) column, y, u;
    NAME(load_column)(vectors, v, &column);
    NAME(multiply_diagonal)(vectors, cols, d, ld * PARTS, v, &column, &y);
    NAME(make_update)(vectors, &column, tau, &y, &u);
    NAME(update_diagonal)(vectors, cols, d, ld * PARTS, &column, &u);
    if (!next_v) return;
    REAL *const b = d + width * PARTS;
#define BELOW(vectors) \
    NAME(step_below)(vectors, width, cols, b, ld * PARTS, v, tau, next_v, next_tau)
    switch (vectors) {
#if BYTES == 64 /* with fewer registers nothing is gained */
    case 4: BELOW(4); break;
    case 6: BELOW(6); break;
    case 8: BELOW(8); break;
#endif
    default: BELOW(vectors);
    }
#undef BELOW
}
