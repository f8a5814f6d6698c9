/* The functions of small.h, included by each_type.h. A tile of C is ROWS x VECTORS vectors, for
 * complex types half the rows. */
#include "kernel/vector_type.h"

/* tile_rows: rows of a tile. long: steps of k that are enough to prefetch its C. */
enum { NAME(tile_rows) = ROWS / PARTS, NAME(long) = 128 };

/* ---- products -------------------------------------------------------------------------------- */

/* Computes a tile of C. Its last vector starts `last` reals after the first, and b_last in B; it
 * may overlap the vector before. */
TARGET static inline __attribute__((always_inline)) void
NAME(compute_tile)(const int rows, const int vectors, int64_t b_last, int64_t last, int64_t k,
                   const REAL *a, int64_t a_row, int64_t a_col, const REAL *b, int64_t b_row,
                   REAL *c, int64_t c_row, int32_t flags, hs__ahead *ahead)
{
    NAME(vector) sum[PARTS][NAME(tile_rows)][VECTORS];
    UNROLLED for (int part = 0; part < PARTS; part++) UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int v = 0; v < vectors; v++) sum[part][r][v] = (NAME(vector)){0};
    /* lower tiles have too little time for it */
    const int fetches = ahead && rows == NAME(tile_rows);
    if (fetches && k >= NAME(long))
        for (int r = 0; r < rows; r++)
            for (int v = 0; v <= vectors; v++)
                __builtin_prefetch(c + r * c_row + v * NAME(lanes), 1, 3);
    for (int64_t l = 0; l < k;) {
        if (fetches) hs__fetch(ahead);
        for (const int64_t end = fetches && k - l > HS__FETCH_STEPS ? l + HS__FETCH_STEPS : k;
             l < end; l++, a += a_col, b += b_row) {
            NAME(vector) y[VECTORS];
            UNROLLED for (int v = 0; v < vectors; v++) y[v] =
                NAME(load)(b + (v + 1 < vectors ? v * NAME(lanes) : b_last));
            UNROLLED for (int part = 0; part < PARTS; part++)
                UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int v = 0; v < vectors; v++)
                    sum[part][r][v] += y[v] * a[r * a_row + part];
        }
    }
#if PARTS == 2
    UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int v = 0; v < vectors; v++)
    {
        const NAME(vector) turned = NAME(times_i)(sum[1][r][v]);
        if (flags & HS__CONJUGATE) sum[0][r][v] -= turned;
        else sum[0][r][v] += turned;
    }
#endif
#define EACH_SUM(STATEMENT)                                                            \
    UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int v = 0; v < vectors; v++) \
    {                                                                                  \
        REAL *to = c + r * c_row + (v + 1 < vectors ? v * NAME(lanes) : last);         \
        STATEMENT;                                                                     \
    }
    if (flags & HS__SUBTRACT) {
        EACH_SUM(NAME(store)(to, NAME(load)(to) - sum[0][r][v]))
    } else if (flags & HS__ADD) {
        EACH_SUM(NAME(store)(to, NAME(load)(to) + sum[0][r][v]))
    } else {
        EACH_SUM(NAME(store)(to, sum[0][r][v]))
    }
#undef EACH_SUM
}

/* Computes all rows of so many vectors. Vectors of B that would cross cache lines are first copied
 * to `scratch` if there are enough rows. */
TARGET static inline __attribute__((always_inline)) void
NAME(compute_strip)(const int vectors, int64_t last, int64_t m, int64_t k, const REAL *a,
                    int64_t a_row, int64_t a_col, const REAL *b, int64_t b_row, REAL *c,
                    int64_t c_row, int32_t flags, REAL *scratch, hs__ahead *ahead)
{
    enum { FEW = 12 * NAME(tile_rows) };
    int64_t i = 0;
    int64_t b_last = last;
    if (scratch && m > FEW &&
        (((uintptr_t)b | (uintptr_t)(b + b_row) | (uintptr_t)(b + last)) % BYTES)) {
        for (int64_t l = 0; l < k; l++)
            UNROLLED for (int v = 0; v < vectors; v++)
                NAME(store)(scratch + (l * vectors + v) * NAME(lanes),
                            NAME(load)(b + l * b_row + (v + 1 < vectors ? v * NAME(lanes) : last)));
        b = scratch;
        b_row = vectors * NAME(lanes);
        b_last = (vectors - 1) * NAME(lanes);
    }
#define COMPUTE_TILE(ROWS_)                                                                    \
    NAME(compute_tile)(ROWS_, vectors, b_last, last, k, a + i * a_row, a_row, a_col, b, b_row, \
                       c + i * c_row, c_row, flags, ahead)
    for (; i + NAME(tile_rows) <= m; i += NAME(tile_rows)) COMPUTE_TILE(NAME(tile_rows));
    if (NAME(tile_rows) > 4 && i + 4 <= m) {
        COMPUTE_TILE(4);
        i += 4;
    }
    if (NAME(tile_rows) > 2 && i + 2 <= m) {
        COMPUTE_TILE(2);
        i += 2;
    }
    if (i < m) COMPUTE_TILE(1);
#undef COMPUTE_TILE
}

/* Computes a strip of VECTORS with prefetching; a separate function, so that the other strips are
 * as fast as without it. */
TARGET __attribute__((noinline, nonnull(13))) static void
NAME(fetching_strip)(int64_t last, int64_t m, int64_t k, const REAL *a, int64_t a_row,
                     int64_t a_col, const REAL *b, int64_t b_row, REAL *c, int64_t c_row,
                     int32_t flags, REAL *scratch, hs__ahead *ahead)
{
    NAME(compute_strip)(VECTORS, last, m, k, a, a_row, a_col, b, b_row, c, c_row, flags, scratch,
                        ahead);
}

/* hs__small_multiply. */
TARGET static void NAME(multiply)(int64_t m, int64_t n, int64_t k, const void *a_, int64_t a_row,
                                  int64_t a_col, const void *b_, int64_t b_row, void *c_,
                                  int64_t c_row, int32_t flags, void *scratch, hs__ahead *ahead)
{
    const REAL *a = a_;
    const REAL *b = b_;
    REAL *c = c_;
    a_row *= PARTS;
    a_col *= PARTS;
    b_row *= PARTS;
    c_row *= PARTS;
    n *= PARTS;
    for (int64_t j = 0, vectors; j < n; j += vectors * NAME(lanes)) {
        const int64_t left = (n - j + NAME(lanes) - 1) / NAME(lanes);
        vectors = left < VECTORS ? left : VECTORS;
        /* below 0: a single vector, which overlaps earlier ones */
        const int64_t last = left > vectors ? (vectors - 1) * NAME(lanes) : n - j - NAME(lanes);
        if (ahead && VECTORS == HS__SMALL_VECTORS && vectors == VECTORS) {
            NAME(fetching_strip)(last, m, k, a, a_row, a_col, b + j, b_row, c + j, c_row, flags,
                                 scratch, ahead);
            continue;
        }
#define COMPUTE_STRIP(VECTORS_, FROM, LAST)                                                   \
    NAME(compute_strip)(VECTORS_, LAST, m, k, a, a_row, a_col, b + (FROM), b_row, c + (FROM), \
                        c_row, flags, scratch, NULL)
        if (vectors == 1) COMPUTE_STRIP(1, j + last, 0);
        if (VECTORS > 1 && vectors == 2) COMPUTE_STRIP(VECTORS > 1 ? 2 : 1, j, last);
        if (VECTORS > 2 && vectors == 3) COMPUTE_STRIP(VECTORS > 2 ? 3 : 1, j, last);
#undef COMPUTE_STRIP
    }
}

/* ---- triangular systems ---------------------------------------------------------------------- */

/* Computes 1 / x of a complex number by Smith's method, multiplied by a power of two first if x is
 * too small. */
#if PARTS == 2
TARGET static inline void NAME(invert)(const REAL *x, REAL inverse[3])
{
    const double least = sizeof(REAL) == 8 ? DBL_MIN : FLT_MIN;
    const double power = sizeof(REAL) == 8 ? 0x1p200 : 0x1p60;
    double re = x[0];
    double im = x[1];
    inverse[0] = 1;
    if (fabs(re) + fabs(im) < least) {
        inverse[0] = (REAL)power;
        re *= power;
        im *= power;
    }
    const int flat = fabs(re) >= fabs(im);
    const double ratio = flat ? im / re : re / im;
    const double divisor = flat ? re + im * ratio : im + re * ratio;
    inverse[1] = (REAL)((flat ? 1.0 : ratio) / divisor);
    inverse[2] = (REAL)((flat ? -ratio : -1.0) / divisor);
}
#endif

TARGET static inline __attribute__((always_inline)) void
NAME(substitute_vectors)(const int vectors, int64_t h, const REAL *t, int64_t t_row, int64_t t_col,
                         REAL *x, int64_t x_row, int32_t flags)
{
    for (int64_t i = 0; i < h; i++) {
        REAL *row = x + i * x_row;
        const REAL *factor = t + i * t_row;
        NAME(vector) sum[PARTS][4];
        UNROLLED for (int v = 0; v < vectors; v++)
        {
            sum[PARTS - 1][v] = (NAME(vector)){0};
            sum[0][v] = NAME(load)(row + v * NAME(lanes));
        }
        for (int64_t l = 0; l < i; l++, factor += t_col) UNROLLED for (int v = 0; v < vectors; v++)
            {
                const NAME(vector) above = NAME(load)(x + l * x_row + v * NAME(lanes));
                sum[0][v] -= above * factor[0];
                if (PARTS == 2) sum[PARTS - 1][v] -= above * factor[PARTS - 1];
            }
#if PARTS == 2
        const int conjugate = flags & HS__CONJUGATE;
        UNROLLED for (int v = 0; v < vectors; v++)
        {
            const NAME(vector) turned = NAME(times_i)(sum[1][v]);
            sum[0][v] = conjugate ? sum[0][v] - turned : sum[0][v] + turned;
        }
        if (!(flags & HS__UNIT)) {
            REAL inverse[3];
            NAME(invert)(factor, inverse);
            if (conjugate) inverse[2] = -inverse[2];
            UNROLLED for (int v = 0; v < vectors; v++)
            {
                const NAME(vector) y = sum[0][v] * inverse[0];
                sum[0][v] = y * inverse[1] + NAME(times_i)(y) * inverse[2];
            }
        }
#else
        if (!(flags & HS__UNIT)) UNROLLED for (int v = 0; v < vectors; v++) sum[0][v] /= factor[0];
#endif
        UNROLLED for (int v = 0; v < vectors; v++) NAME(store)(row + v * NAME(lanes), sum[0][v]);
    }
}

/* hs__small_substitute. */
TARGET static void NAME(substitute)(int64_t h, int64_t n, const void *t_, int64_t t_row,
                                    int64_t t_col, void *x_, int64_t x_row, int32_t flags)
{
    const REAL *t = t_;
    REAL *x = x_;
    int64_t j = 0;
    t_row *= PARTS;
    t_col *= PARTS;
    x_row *= PARTS;
    n *= PARTS;
    for (; j + 4 * NAME(lanes) <= n; j += 4 * NAME(lanes))
        NAME(substitute_vectors)(4, h, t, t_row, t_col, x + j, x_row, flags);
    if (j + 2 * NAME(lanes) <= n) {
        NAME(substitute_vectors)(2, h, t, t_row, t_col, x + j, x_row, flags);
        j += 2 * NAME(lanes);
    }
    if (j < n) NAME(substitute_vectors)(1, h, t, t_row, t_col, x + j, x_row, flags);
}

/* ---- LU -------------------------------------------------------------------------------------- */

/* Returns the size of an element as LAPACK compares it: |x|, for complex x |re| + |im|. */
TARGET static inline REAL NAME(size_of)(const REAL *x)
{
    const REAL re = x[0] < 0 ? -x[0] : x[0];
    const REAL im = x[PARTS - 1] < 0 ? -x[PARTS - 1] : x[PARTS - 1];
    return PARTS == 2 ? re + im : re;
}

TARGET static inline void NAME(swap_rows)(REAL *x, REAL *y, int64_t reals)
{
    for (int64_t j = 0; j < reals; j += NAME(lanes)) {
        const NAME(vector) kept = NAME(load)(x + j);
        NAME(store)(x + j, NAME(load)(y + j));
        NAME(store)(y + j, kept);
    }
}

/* Eliminates column k below row k in up to two vectors, which begin `before` vectors after the
 * first; returns the row of the next pivot. x: the first row and column; u: row k with zeros up to
 * column k. */
TARGET static inline __attribute__((always_inline)) int64_t
NAME(eliminate_column)(const int vectors, int64_t before, int64_t rows, int64_t width, int64_t k,
                       REAL *x, int64_t x_row, const REAL *u)
{
    NAME(vector) above[2];
    UNROLLED for (int v = 0; v < vectors; v++) above[v] =
        NAME(load)(u + (before + v) * NAME(lanes));
    const REAL *pivot = x + k * x_row + k * PARTS;
#if PARTS == 2
    REAL inverse[3];
    NAME(invert)(pivot, inverse);
    NAME(vector) turned[2];
    UNROLLED for (int v = 0; v < vectors; v++) turned[v] = NAME(times_i)(above[v]);
#endif
    int64_t next = k + 1;
    REAL largest = -1;
    for (int64_t i = k + 1; i < rows; i++) {
        REAL *row = x + i * x_row;
        REAL *own = row + k * PARTS;
        REAL *from = row + before * NAME(lanes);
#if PARTS == 2
        const REAL a = own[0] * inverse[0];
        const REAL b = own[1] * inverse[0];
        const REAL re = a * inverse[1] - b * inverse[2];
        const REAL im = a * inverse[2] + b * inverse[1];
        const int finite = isfinite(re) && isfinite(im);
#else
        const REAL re = own[0] / pivot[0];
        const int finite = isfinite(re);
#endif
        if (__builtin_expect(finite, 1)) {
            UNROLLED for (int v = 0; v < vectors; v++)
            {
                NAME(vector) y = NAME(load)(from + v * NAME(lanes)) - above[v] * re;
#if PARTS == 2
                y -= turned[v] * im;
#endif
                NAME(store)(from + v * NAME(lanes), y);
            }
        } else {
            /* Not finite: only the columns after k are updated. In whole vectors the multiplier
             * would also meet the zeros of u, and make NaN in the columns to the left. */
            for (int64_t j = (k + 1) * PARTS; j < width * PARTS; j += PARTS) {
#if PARTS == 2
                const REAL c = u[j];
                const REAL d = u[j + 1];
                row[j] -= c * re - d * im;
                row[j + 1] -= c * im + d * re;
#else
                row[j] -= u[j] * re;
#endif
            }
        }
        /* Stored only now: a vector load that contains an element just stored waits until the store
         * has completed. */
        own[0] = re;
#if PARTS == 2
        own[1] = im;
#endif
        if (k + 1 == width) continue;
        const REAL size = NAME(size_of)(row + (k + 1) * PARTS);
        /* a NaN in the first row stays the largest */
        if (size > largest || i == k + 1) {
            largest = size;
            next = i;
        }
    }
    return next;
}

/* hs__small_factor. */
TARGET static int64_t NAME(factor)(int64_t rows, int64_t cols, int64_t first, int64_t width,
                                   void *x_, int64_t x_row, int32_t *pivots)
{
    REAL *x = (REAL *)x_ + first * PARTS;
    REAL u[2 * NAME(lanes)];
    x_row *= PARTS;
    cols *= PARTS;
    int64_t zero = -1;
    int64_t pivot = -1;
    const int64_t left = rows - first;
    const int64_t vectors = (width * PARTS + NAME(lanes) - 1) / NAME(lanes);
    x += first * x_row;
    for (int64_t k = 0; k < width; k++) {
        if (pivot < 0) {
            REAL largest = -1;
            pivot = k;
            for (int64_t i = k; i < left; i++) {
                const REAL size = NAME(size_of)(x + i * x_row + k * PARTS);
                if (size > largest || i == k) {
                    largest = size;
                    pivot = i;
                }
            }
        }
        REAL *row = x + k * x_row;
        pivots[first + k] = (int32_t)(first + pivot);
        if (pivot != k)
            NAME(swap_rows)(row - first * PARTS, x + pivot * x_row - first * PARTS, cols);
        pivot = -1;
        if (NAME(size_of)(row + k * PARTS) == 0) {
            if (zero < 0) zero = first + k;
            continue;
        }
        UNROLLED for (int v = 0; v < vectors; v++)
            NAME(store)(u + v * NAME(lanes), NAME(load)(row + v * NAME(lanes)));
        memset(u, 0, (size_t)((k + 1) * PARTS) * sizeof(REAL));
        const int64_t before = (k + 1) * PARTS / NAME(lanes);
        if (before == vectors) NAME(eliminate_column)(0, before, left, width, k, x, x_row, u);
        else if (before + 1 == vectors)
            pivot = NAME(eliminate_column)(1, before, left, width, k, x, x_row, u);
        else pivot = NAME(eliminate_column)(2, before, left, width, k, x, x_row, u);
    }
    return zero;
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

/* hs__small_cholesky. */
TARGET static int64_t NAME(cholesky)(int64_t h, void *x_, int64_t x_row)
{
    REAL *x = x_;
    x_row *= PARTS;
    const int64_t reals = (h * PARTS + NAME(lanes) - 1) / NAME(lanes) * NAME(lanes);
    for (int64_t k = 0; k < h; k++) {
        REAL *row = x + k * x_row;
        REAL *own = row + k * PARTS;
        if (!(own[0] > 0)) return k;
        const REAL root =
            sizeof(REAL) == 8 ? (REAL)sqrt((double)own[0]) : (REAL)sqrtf((float)own[0]);
        const REAL inverse = 1 / root; /* never out of range */
        for (int64_t j = k * PARTS / NAME(lanes) * NAME(lanes); j < reals; j += NAME(lanes))
            NAME(store)(row + j, NAME(load)(row + j) * inverse);
        own[0] = root;
        own[PARTS - 1] = PARTS == 2 ? 0 : root;
        for (int64_t i = k + 1; i < h; i++) {
            const REAL re = row[i * PARTS];
            const REAL im = row[i * PARTS + PARTS - 1];
            REAL *to = x + i * x_row;
            for (int64_t j = i * PARTS / NAME(lanes) * NAME(lanes); j < reals; j += NAME(lanes)) {
                const NAME(vector) above = NAME(load)(row + j);
                NAME(vector) y = NAME(load)(to + j) - above * re;
                if (PARTS == 2) y += NAME(times_i)(above) * im;
                NAME(store)(to + j, y);
            }
        }
    }
    return -1;
}
