/* The loops of factor_vector.h, included by each_type.h. */

typedef REAL NAME(vector) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
enum { NAME(lanes) = sizeof(NAME(vector)) / sizeof(REAL) };

#if PARTS == 1
#include "kernel/lu_column_real.h"
#else
#include "kernel/lu_column_complex.h"
#endif

/* hs__lu_solve. Works row by row on the tile in work, for complex types with separate real and
 * imaginary parts. */
TARGET static void NAME(solve)(int32_t h, const void *l_, int64_t step, int32_t cols, void *c_,
                               int64_t row_stride, int64_t col_stride, void *packed_, int32_t tile,
                               int32_t lanes, void *work)
{
    const REAL *l = l_;
    REAL *c = c_;
    REAL *packed = packed_;
    REAL *x = work;
    if (cols < lanes) memset(x, 0, (size_t)(h * PARTS) * (size_t)lanes * sizeof(REAL));
    for (int32_t j = 0; j < cols; j++)
        for (int32_t i = 0; i < h; i++)
            for (int part = 0; part < PARTS; part++)
                x[(i * PARTS + part) * lanes + j] =
                    -c[(i * row_stride + j * col_stride) * PARTS + part];
    for (int32_t j = 0; j < lanes; j += NAME(lanes))
        for (int32_t i = 1; i < h; i++) {
            REAL *row = x + i * PARTS * lanes + j;
            NAME(vector) sum[2];
            for (int part = 0; part < PARTS; part++)
                sum[part] = *(NAME(vector) *)(row + part * lanes);
            for (int32_t k = 0; k < i; k++) {
                const REAL *factor = l + k * step + i * PARTS;
                const REAL *above = x + k * PARTS * lanes + j;
                if (PARTS == 1) {
                    sum[0] -= *(NAME(vector) *)above * factor[0];
                } else {
                    const NAME(vector) re = *(NAME(vector) *)above;
                    const NAME(vector) im = *(NAME(vector) *)(above + lanes);
                    sum[0] = sum[0] - re * factor[0] + im * factor[PARTS - 1];
                    sum[1] = sum[1] - re * factor[PARTS - 1] - im * factor[0];
                }
            }
            for (int part = 0; part < PARTS; part++)
                *(NAME(vector) *)(row + part * lanes) = sum[part];
        }
    for (int32_t i = 0; i < h * PARTS; i++)
        memcpy(packed + i * tile, x + i * lanes, (size_t)tile * sizeof(REAL));
    for (int32_t j = 0; j < cols; j++)
        for (int32_t i = 0; i < h; i++)
            for (int part = 0; part < PARTS; part++)
                c[(i * row_stride + j * col_stride) * PARTS + part] =
                    -x[(i * PARTS + part) * lanes + j];
}

/* hs__lu_solve_rows for `vectors` vectors of a row, as many as fit in registers. */
TARGET static inline __attribute__((always_inline)) void
NAME(solve_some)(const int vectors, int32_t h, const REAL *minus_l, int32_t l_tile, REAL *x,
                 int32_t tile, REAL *expanded, const double (*scales)[3])
{
    for (int32_t i = 0; i < h; i++) {
        REAL *row = x + i * tile;
        NAME(vector) sum[4];
        for (int v = 0; v < vectors; v++) sum[v] = *(NAME(vector) *)(row + v * NAME(lanes));
        for (int32_t k = 0; k < i; k++) {
            const REAL *factor = minus_l + k * PARTS * l_tile + i;
            const REAL *above = PARTS == 1 ? x + k * tile : expanded + 2 * k * tile;
            for (int v = 0; v < vectors; v++) {
                sum[v] += *(NAME(vector) *)(above + v * NAME(lanes)) * factor[0];
                if (PARTS == 2)
                    sum[v] += *(NAME(vector) *)(above + tile + v * NAME(lanes)) * factor[l_tile];
            }
        }
        if (scales && PARTS == 1)
            for (int v = 0; v < vectors; v++)
                sum[v] = sum[v] * (REAL)scales[i][0] * (REAL)scales[i][1];
        for (int v = 0; v < vectors; v++) *(NAME(vector) *)(row + v * NAME(lanes)) = sum[v];
        if (PARTS == 1) continue;
        if (scales)
            for (int j = 0; j < vectors * (int)NAME(lanes); j += 2) {
                const REAL a = row[j] * (REAL)scales[i][0];
                const REAL b = row[j + 1] * (REAL)scales[i][0];
                const REAL re = (REAL)scales[i][1];
                const REAL im = (REAL)scales[i][2];
                row[j] = a * re - b * im;
                row[j + 1] = a * im + b * re;
            }
        REAL *first = expanded + 2 * i * tile;
        REAL *second = first + tile;
        for (int j = 0; j < vectors * (int)NAME(lanes); j += 2) {
            first[j] = row[j];
            first[j + 1] = row[j + 1];
            second[j] = -row[j + 1];
            second[j + 1] = row[j];
        }
    }
}

/* hs__lu_solve_rows. */
TARGET static void NAME(solve_rows)(int32_t h, const void *minus_l, int32_t l_tile, void *x,
                                    int32_t tile, void *expanded, const double (*scales)[3])
{
    enum { PAIR = 2 * NAME(lanes) };
    int32_t j = 0;
    for (; j + PAIR <= tile; j += PAIR)
        NAME(solve_some)(2, h, minus_l, l_tile, (REAL *)x + j, tile,
                         (REAL *)expanded + (PARTS == 2 ? j : 0), scales);
    for (; j < tile; j += NAME(lanes))
        NAME(solve_some)(1, h, minus_l, l_tile, (REAL *)x + j, tile,
                         (REAL *)expanded + (PARTS == 2 ? j : 0), scales);
}

/* hs__strip_solve. For complex elements, x conj(l) is x re(l) - i x im(l), and each strip holds its
 * product with i. */
TARGET static void NAME(strip_solve)(const hs__strips *s, int32_t width, const void *triangle,
                                     const void *inverse)
{
    const REAL *l = triangle;
    const REAL *d = inverse;
    const int64_t step = s->step;
    for (int64_t t = 0; t < s->count; t++) {
        REAL *strip = (REAL *)s->data + t * s->size;
        for (int32_t i = 0; i < s->reals; i += NAME(lanes))
            for (int32_t j = 0; j < width; j++) {
                REAL *to = strip + j * step + i;
                NAME(vector) x = *(NAME(vector) *)to;
                for (int32_t k = 0; k < j; k++) {
                    const REAL *at = strip + k * step + i;
                    const REAL *factor = l + (j * HS__BASE_COLUMNS + k) * PARTS;
                    x -= *(NAME(vector) *)at * factor[0];
                    if (PARTS == 2) x += *(NAME(vector) *)(at + s->reals) * factor[PARTS - 1];
                }
                x *= d[2 * j];
                x *= d[2 * j + 1];
                *(NAME(vector) *)to = x;
                if (PARTS == 1) continue;
                for (int v = 0; v < (int)NAME(lanes); v += 2) {
                    to[s->reals + v] = -to[v + 1];
                    to[s->reals + v + 1] = to[v];
                }
            }
    }
}

/* hs__lu_swap_rows. */
TARGET static void NAME(swap_rows)(void *slice, int32_t tile, int64_t first, int64_t count,
                                   const int32_t *pivots)
{
    enum { AHEAD = 8 };
    for (int64_t i = first; i < first + count; i++) {
        if (i + AHEAD < first + count)
            for (int32_t j = 0; j < tile; j += 64 / (int)sizeof(REAL))
                __builtin_prefetch((REAL *)slice + (int64_t)pivots[i + AHEAD] * tile + j, 1);
        if (pivots[i] == i) continue;
        REAL *a = (REAL *)slice + i * tile;
        REAL *b = (REAL *)slice + (int64_t)pivots[i] * tile;
        for (int32_t j = 0; j < tile; j += NAME(lanes)) {
            const NAME(vector) kept = *(NAME(vector) *)(a + j);
            *(NAME(vector) *)(a + j) = *(NAME(vector) *)(b + j);
            *(NAME(vector) *)(b + j) = kept;
        }
    }
}
