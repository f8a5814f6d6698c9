#include "kernel/lu_vector.h"

#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

/* ---- columns of a panel ----------------------------------------------------------------------------------------- */

/* The first strip, which has rows of U too, element by element; then whole vectors. */
#define REAL_COLUMN(NAME, TARGET, REAL, INTEGER, BYTES)                                                                    \
    typedef REAL NAME##_vector __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));                      \
    typedef INTEGER NAME##_integers __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));                 \
    TARGET static void NAME##_column(const hs__lu_strips *s, int32_t first, int32_t j, int ends, const double scale[3],    \
                                     hs__lu_largest *largest)                                                              \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL) };                                                                             \
        const REAL power = (REAL)scale[0], inverse = (REAL)scale[1];                                                       \
        const int64_t step = s->step;                                                                                      \
        REAL *strip = s->data, u[HS__LU_BASE];                                                                             \
        hs__lu_largest found = {0};                                                                                        \
        for (int32_t i = first; i < s->reals; i++) {                                                                       \
            REAL *row = strip + i;                                                                                         \
            const int32_t terms = i - first < j ? i - first : j;                                                           \
            if (j && i - first >= j) row[(j - 1) * step] = row[(j - 1) * step] * power * inverse;                          \
            if (ends) continue;                                                                                            \
            REAL x = row[j * step];                                                                                        \
            for (int32_t l = 0; l < terms; l++) x -= row[l * step] * u[l];                                                 \
            row[j * step] = x;                                                                                             \
            const double size = x < 0 ? -x : x;                                                                            \
            if (terms < j) u[terms] = x;                                                                                   \
            else if (i - first == j || size > found.size) found = (hs__lu_largest){size, i};                               \
        }                                                                                                                  \
        if (ends) {                                                                                                        \
            for (int64_t t = 1; t < s->count; t++) {                                                                       \
                REAL *last = (strip += s->size) + (j - 1) * step;                                                          \
                for (int32_t i = 0; i < s->reals; i++) last[i] = last[i] * power * inverse;                                \
            }                                                                                                              \
            return;                                                                                                        \
        }                                                                                                                  \
        NAME##_vector best = (NAME##_vector){0} + (REAL)found.size;                                                        \
        NAME##_integers where = (NAME##_integers){0} - 1;                                                                  \
        const NAME##_integers magnitude = (NAME##_integers){0} + (INTEGER)((1ULL << (8 * sizeof(REAL) - 1)) - 1);          \
        for (int64_t t = 1; t < s->count; t++) {                                                                           \
            strip += s->size;                                                                                              \
            for (int32_t i = 0; i < s->reals; i += LANES) {                                                                \
                REAL *at = strip + i;                                                                                      \
                NAME##_vector x = *(NAME##_vector *)(at + j * step);                                                       \
                for (int32_t l = 0; l < j - 1; l++) x -= *(NAME##_vector *)(at + l * step) * u[l];                         \
                if (j) {                                                                                                   \
                    NAME##_vector *last = (NAME##_vector *)(at + (j - 1) * step);                                          \
                    *last = *last * power * inverse;                                                                       \
                    x -= *last * u[j - 1];                                                                                 \
                }                                                                                                          \
                *(NAME##_vector *)(at + j * step) = x;                                                                     \
                const NAME##_vector size = (NAME##_vector)((NAME##_integers)x & magnitude);                                \
                const NAME##_integers larger = size > best;                                                                \
                best = (NAME##_vector)(((NAME##_integers)size & larger) | ((NAME##_integers)best & ~larger));              \
                where = (((NAME##_integers){0} + (INTEGER)(t * s->reals + i)) & larger) | (where & ~larger);               \
            }                                                                                                              \
        }                                                                                                                  \
        for (int lane = 0; lane < LANES; lane++)                                                                           \
            if (where[lane] >= 0 && (best[lane] > found.size || (best[lane] == found.size && where[lane] + lane < found.row))) \
                found = (hs__lu_largest){best[lane], where[lane] + lane};                                                  \
        *largest = found;                                                                                                  \
    }

/* A product with a complex number takes two steps: x times its real part, i x times its imaginary part. */
#define COMPLEX_COLUMN(NAME, TARGET, REAL, BYTES)                                                                          \
    TARGET static inline __attribute__((always_inline)) void NAME##_scale(REAL *x, REAL *ix, int32_t i, const double scale[3]) \
    {                                                                                                                      \
        const REAL re = (REAL)scale[1], im = (REAL)scale[2];                                                               \
        const REAL a = x[2 * i] * (REAL)scale[0], b = x[2 * i + 1] * (REAL)scale[0];                                       \
        x[2 * i] = a * re - b * im, x[2 * i + 1] = a * im + b * re;                                                        \
        ix[2 * i] = -x[2 * i + 1], ix[2 * i + 1] = x[2 * i];                                                               \
    }                                                                                                                      \
    typedef REAL NAME##_vector __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));                      \
    TARGET static void NAME##_column(const hs__lu_strips *s, int32_t first, int32_t j, int ends, const double scale[3],    \
                                     hs__lu_largest *largest)                                                              \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL) };                                                                             \
        const int64_t step = s->step;                                                                                      \
        const int32_t reals = s->reals, rows = reals / 2;                                                                  \
        REAL *strip = s->data, u[2 * HS__LU_BASE];                                                                         \
        hs__lu_largest found = {0};                                                                                        \
        for (int32_t i = first; i < rows; i++) {                                                                           \
            const REAL *row = strip + 2 * i;                                                                               \
            REAL *last = strip + (j - 1) * step, *to = strip + j * step + 2 * i;                                           \
            const int32_t terms = i - first < j ? i - first : j;                                                           \
            if (j && i - first >= j) NAME##_scale(last, last + reals, i, scale);                                           \
            if (ends) continue;                                                                                            \
            REAL x = to[0], y = to[1];                                                                                     \
            for (int32_t l = 0; l < terms; l++) {                                                                          \
                const REAL a = row[l * step], b = row[l * step + 1];                                                       \
                x -= a * u[2 * l] - b * u[2 * l + 1];                                                                      \
                y -= a * u[2 * l + 1] + b * u[2 * l];                                                                      \
            }                                                                                                              \
            to[0] = x, to[1] = y;                                                                                          \
            const REAL size = (x < 0 ? -x : x) + (y < 0 ? -y : y);                                                         \
            if (terms < j) u[2 * terms] = x, u[2 * terms + 1] = y;                                                         \
            else if (i - first == j || size > found.size) found = (hs__lu_largest){size, i};                               \
        }                                                                                                                  \
        for (int64_t t = 1; t < s->count; t++) {                                                                           \
            strip += s->size;                                                                                              \
            REAL *last = strip + (j - 1) * step, *to = strip + j * step;                                                   \
            if (j)                                                                                                         \
                for (int32_t i = 0; i < rows; i++) NAME##_scale(last, last + reals, i, scale);                             \
            if (ends) continue;                                                                                            \
            for (int32_t i = 0; i < reals; i += LANES) {                                                                   \
                NAME##_vector x = *(NAME##_vector *)(to + i);                                                              \
                for (int32_t l = 0; l < j; l++) {                                                                          \
                    const REAL *at = strip + l * step + i;                                                                 \
                    x -= *(NAME##_vector *)at * u[2 * l];                                                                  \
                    x -= *(NAME##_vector *)(at + reals) * u[2 * l + 1];                                                    \
                }                                                                                                          \
                *(NAME##_vector *)(to + i) = x;                                                                            \
            }                                                                                                              \
            for (int32_t i = 0; i < rows; i++) {                                                                           \
                const REAL x = to[2 * i], y = to[2 * i + 1], size = (x < 0 ? -x : x) + (y < 0 ? -y : y);                   \
                if (size > found.size) found = (hs__lu_largest){size, t * rows + i};                                       \
            }                                                                                                              \
        }                                                                                                                  \
        if (!ends) *largest = found;                                                                                       \
    }

/* ---- triangular solve ------------------------------------------------------------------------------------------- */

/* Row by row of the tile in work, of a complex one the real and the imaginary parts apart. */
#define SOLVE(NAME, TARGET, REAL, PARTS, BYTES)                                                                            \
    TARGET static void NAME##_solve(int32_t h, const void *l_, int64_t step, int32_t cols, void *c_, int64_t row_stride,   \
                                    int64_t col_stride, void *packed_, int32_t tile, int32_t lanes, void *work)            \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL) };                                                                             \
        const REAL *l = l_;                                                                                                \
        REAL *c = c_, *packed = packed_, *x = work;                                                                        \
        if (cols < lanes) memset(x, 0, (size_t)(h * PARTS) * (size_t)lanes * sizeof(REAL));                                \
        for (int32_t j = 0; j < cols; j++)                                                                                 \
            for (int32_t i = 0; i < h; i++)                                                                                \
                for (int part = 0; part < PARTS; part++)                                                                   \
                    x[(i * PARTS + part) * lanes + j] = -c[(i * row_stride + j * col_stride) * PARTS + part];              \
        for (int32_t j = 0; j < lanes; j += LANES)                                                                         \
            for (int32_t i = 1; i < h; i++) {                                                                              \
                REAL *row = x + i * PARTS * lanes + j;                                                                     \
                NAME##_vector sum[2];                                                                                      \
                for (int part = 0; part < PARTS; part++) sum[part] = *(NAME##_vector *)(row + part * lanes);               \
                for (int32_t k = 0; k < i; k++) {                                                                          \
                    const REAL *factor = l + k * step + i * PARTS, *above = x + k * PARTS * lanes + j;                     \
                    if (PARTS == 1) {                                                                                      \
                        sum[0] -= *(NAME##_vector *)above * factor[0];                                                     \
                    } else {                                                                                               \
                        const NAME##_vector re = *(NAME##_vector *)above, im = *(NAME##_vector *)(above + lanes);          \
                        sum[0] = sum[0] - re * factor[0] + im * factor[PARTS - 1];                                         \
                        sum[1] = sum[1] - re * factor[PARTS - 1] - im * factor[0];                                         \
                    }                                                                                                      \
                }                                                                                                          \
                for (int part = 0; part < PARTS; part++) *(NAME##_vector *)(row + part * lanes) = sum[part];               \
            }                                                                                                              \
        for (int32_t i = 0; i < h * PARTS; i++) memcpy(packed + i * tile, x + i * lanes, (size_t)tile * sizeof(REAL));     \
        for (int32_t j = 0; j < cols; j++)                                                                                 \
            for (int32_t i = 0; i < h; i++)                                                                                \
                for (int part = 0; part < PARTS; part++)                                                                   \
                    c[(i * row_stride + j * col_stride) * PARTS + part] = -x[(i * PARTS + part) * lanes + j];              \
    }

/* As many vectors of a row as stay in registers at a time. */
#define SOLVE_ROWS(NAME, TARGET, REAL, PARTS, BYTES)                                                                       \
    TARGET static inline __attribute__((always_inline)) void NAME##_solve_some(                                            \
        const int vectors, int32_t h, const REAL *minus_l, int32_t l_tile, REAL *x, int32_t tile, REAL *expanded)          \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL) };                                                                             \
        for (int32_t i = 0; i < h; i++) {                                                                                  \
            REAL *row = x + i * tile;                                                                                      \
            NAME##_vector sum[4];                                                                                          \
            for (int v = 0; v < vectors; v++) sum[v] = *(NAME##_vector *)(row + v * LANES);                                \
            for (int32_t k = 0; k < i; k++) {                                                                              \
                const REAL *factor = minus_l + k * PARTS * l_tile + i, *above = PARTS == 1 ? x + k * tile : expanded + 2 * k * tile; \
                for (int v = 0; v < vectors; v++) {                                                                        \
                    sum[v] += *(NAME##_vector *)(above + v * LANES) * factor[0];                                           \
                    if (PARTS == 2) sum[v] += *(NAME##_vector *)(above + tile + v * LANES) * factor[l_tile];               \
                }                                                                                                          \
            }                                                                                                              \
            for (int v = 0; v < vectors; v++) *(NAME##_vector *)(row + v * LANES) = sum[v];                                \
            if (PARTS == 1) continue;                                                                                      \
            REAL *first = expanded + 2 * i * tile, *second = first + tile;                                                 \
            for (int j = 0; j < vectors * (int)LANES; j += 2)                                                              \
                first[j] = row[j], first[j + 1] = row[j + 1], second[j] = -row[j + 1], second[j + 1] = row[j];             \
        }                                                                                                                  \
    }                                                                                                                      \
    TARGET static void NAME##_solve_rows(int32_t h, const void *minus_l, int32_t l_tile, void *x, int32_t tile, void *expanded) \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL), PAIR = 2 * LANES };                                                           \
        int32_t j = 0;                                                                                                     \
        for (; j + PAIR <= tile; j += PAIR)                                                                                \
            NAME##_solve_some(2, h, minus_l, l_tile, (REAL *)x + j, tile, (REAL *)expanded + (PARTS == 2 ? j : 0));        \
        for (; j < tile; j += LANES)                                                                                       \
            NAME##_solve_some(1, h, minus_l, l_tile, (REAL *)x + j, tile, (REAL *)expanded + (PARTS == 2 ? j : 0));        \
    }                                                                                                                      \
    TARGET static void NAME##_swap_rows(void *slice, int32_t tile, int64_t first, int64_t count, const int32_t *pivots)    \
    {                                                                                                                      \
        enum { LANES = BYTES / sizeof(REAL), AHEAD = 8 };                                                                  \
        for (int64_t i = first; i < first + count; i++) {                                                                  \
            if (i + AHEAD < first + count)                                                                                 \
                for (int32_t j = 0; j < tile; j += 64 / (int)sizeof(REAL))                                                 \
                    __builtin_prefetch((REAL *)slice + (int64_t)pivots[i + AHEAD] * tile + j, 1);                          \
            if (pivots[i] == i) continue;                                                                                  \
            REAL *a = (REAL *)slice + i * tile, *b = (REAL *)slice + (int64_t)pivots[i] * tile;                            \
            for (int32_t j = 0; j < tile; j += LANES) {                                                                    \
                const NAME##_vector kept = *(NAME##_vector *)(a + j);                                                      \
                *(NAME##_vector *)(a + j) = *(NAME##_vector *)(b + j);                                                     \
                *(NAME##_vector *)(b + j) = kept;                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }

/* ---- exchange of rows of a panel -------------------------------------------------------------------------------- */

#define SWAP(NAME, REAL, PARTS)                                                                                            \
    static void NAME##_swap(void *a, void *b, int64_t step, int64_t count)                                                 \
    {                                                                                                                      \
        REAL *x = a, *y = b;                                                                                               \
        for (int64_t l = 0; l < count; l++, x += step, y += step)                                                          \
            for (int part = 0; part < PARTS; part++) {                                                                     \
                const REAL kept = x[part];                                                                                 \
                x[part] = y[part], y[part] = kept;                                                                         \
            }                                                                                                              \
    }
SWAP(float, float, 1)
SWAP(double, double, 1)
SWAP(complex_float, float, 2)
SWAP(complex_double, double, 2)

/* ---- instruction sets ------------------------------------------------------------------------------------------- */

#define REALS(NAME, TARGET, REAL, INTEGER, BYTES)                                                                          \
    REAL_COLUMN(NAME, TARGET, REAL, INTEGER, BYTES)                                                                        \
    SOLVE(NAME, TARGET, REAL, 1, BYTES)                                                                                    \
    SOLVE_ROWS(NAME, TARGET, REAL, 1, BYTES)
#define COMPLEXES(NAME, TARGET, REAL, BYTES)                                                                               \
    COMPLEX_COLUMN(NAME, TARGET, REAL, BYTES)                                                                              \
    SOLVE(NAME, TARGET, REAL, 2, BYTES)                                                                                    \
    SOLVE_ROWS(NAME, TARGET, REAL, 2, BYTES)
#define SET_OF(NAME, TYPE) {NAME##_column, NAME##_solve, NAME##_solve_rows, TYPE##_swap, NAME##_swap_rows}
#define SET(NAME, TARGET, BYTES, FLOAT_BYTES)                                                                              \
    REALS(NAME##_float, TARGET, float, int32_t, FLOAT_BYTES)                                                               \
    REALS(NAME##_double, TARGET, double, int64_t, BYTES)                                                                   \
    COMPLEXES(NAME##_complex_float, TARGET, float, FLOAT_BYTES)                                                            \
    COMPLEXES(NAME##_complex_double, TARGET, double, BYTES)                                                                \
    static const hs__lu_vector NAME##_set[] = {SET_OF(NAME##_float, float),                  \
                                               SET_OF(NAME##_double, double),               \
                                               SET_OF(NAME##_complex_float, complex_float), \
                                               SET_OF(NAME##_complex_double, complex_double)};

SET(one, , 8, 4)
SET(plain, , 16, 16)
#if defined(__x86_64__)
SET(avx2, __attribute__((target("avx2,fma"))), 32, 32)
SET(avx512, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))), 64, 64)
#endif

hs__lu_vector hs__lu_vector_for(int32_t dtype, int32_t strip, int32_t slice, int32_t *vector_bytes)
{
    const int32_t real = dtype & 1 ? 8 : 4, bytes = strip * real | slice * real; /* a power of two divides it if it divides both */
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512 && bytes % 64 == 0) return *vector_bytes = 64, avx512_set[dtype];
    if (cpu.avx2_fma && bytes % 32 == 0) return *vector_bytes = 32, avx2_set[dtype];
#endif
    if (bytes % 16 == 0) return *vector_bytes = 16, plain_set[dtype];
    return *vector_bytes = real, one_set[dtype];
}
