#include "lu_vector.h"

#include <math.h>
#include <string.h>

#include "kernel.h"

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

/* ---- exchange of rows ------------------------------------------------------------------------------------------- */

/* Column by column: the rows that come near the diagonal stay in the cache, those of the next column are fetched meanwhile. */
#define EXCHANGE(NAME, REAL, PARTS)                                                                                        \
    static void NAME##_exchange(void *column, int64_t row_stride, int64_t col_stride, int64_t cols, int64_t first,         \
                                int64_t count, const int32_t *pivots)                                                      \
    {                                                                                                                      \
        for (int64_t j = 0; j < cols; j++) {                                                                               \
            REAL *x = (REAL *)column + j * col_stride * PARTS;                                                             \
            for (int64_t i = first; i < first + count; i++) {                                                              \
                REAL *a = x + i * row_stride * PARTS, *b = x + pivots[i] * row_stride * PARTS;                             \
                if (j + 1 < cols) __builtin_prefetch(b + col_stride * PARTS, 1);                                           \
                for (int part = 0; part < PARTS; part++) {                                                                 \
                    const REAL t = a[part];                                                                                \
                    a[part] = b[part], b[part] = t;                                                                        \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }
EXCHANGE(float, float, 1)
EXCHANGE(double, double, 1)
EXCHANGE(complex_float, float, 2)
EXCHANGE(complex_double, double, 2)

/* ---- instruction sets ------------------------------------------------------------------------------------------- */

#define REALS(NAME, TARGET, REAL, INTEGER, BYTES)                                                                          \
    REAL_COLUMN(NAME, TARGET, REAL, INTEGER, BYTES)                                                                        \
    SOLVE(NAME, TARGET, REAL, 1, BYTES)
#define COMPLEXES(NAME, TARGET, REAL, BYTES)                                                                               \
    COMPLEX_COLUMN(NAME, TARGET, REAL, BYTES)                                                                              \
    SOLVE(NAME, TARGET, REAL, 2, BYTES)
#define SET(NAME, TARGET, BYTES, FLOAT_BYTES)                                                                              \
    REALS(NAME##_float, TARGET, float, int32_t, FLOAT_BYTES)                                                               \
    REALS(NAME##_double, TARGET, double, int64_t, BYTES)                                                                   \
    COMPLEXES(NAME##_complex_float, TARGET, float, FLOAT_BYTES)                                                            \
    COMPLEXES(NAME##_complex_double, TARGET, double, BYTES)                                                                \
    static const hs__lu_vector NAME##_set[] = {{NAME##_float_column, NAME##_float_solve, float_exchange},                  \
                                               {NAME##_double_column, NAME##_double_solve, double_exchange},               \
                                               {NAME##_complex_float_column, NAME##_complex_float_solve, complex_float_exchange}, \
                                               {NAME##_complex_double_column, NAME##_complex_double_solve, complex_double_exchange}};

SET(one, , 8, 4)
SET(plain, , 16, 16)
#if defined(__x86_64__)
SET(avx2, __attribute__((target("avx2,fma"))), 32, 32)
SET(avx512, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))), 64, 64)
#endif

hs__lu_vector hs__lu_vector_for(int32_t dtype, int32_t reals, int32_t *vector_bytes)
{
    const int32_t bytes = reals * (dtype & 1 ? 8 : 4);
#if defined(__x86_64__)
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512 && bytes % 64 == 0) return *vector_bytes = 64, avx512_set[dtype];
    if (cpu.avx2_fma && bytes % 32 == 0) return *vector_bytes = 32, avx2_set[dtype];
#endif
    if (bytes % 16 == 0) return *vector_bytes = 16, plain_set[dtype];
    return *vector_bytes = dtype & 1 ? 8 : 4, one_set[dtype];
}
