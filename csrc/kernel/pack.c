#include "kernel/pack.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#endif

/* ---- one full panel of real elements --------------------------------------------------------------------------- */

/* Element by element; the compiler makes vector moves of it where the elements lie side by side. */
#define PANEL_PLAIN(REAL)                                                                                                  \
    static inline __attribute__((always_inline)) void panel_plain_##REAL(int tile, int64_t depth, const REAL *source,      \
                                                                         int64_t stride, int64_t depth_stride,             \
                                                                         REAL *target)                                     \
    {                                                                                                                      \
        for (int64_t l = 0; l < depth; l++)                                                                                \
            for (int i = 0; i < tile; i++) target[l * tile + i] = source[i * stride + l * depth_stride];                   \
    }                                                                                                                      \
    static void full_panel_plain_##REAL(int tile, int64_t depth, const REAL *source, int64_t stride, int64_t depth_stride, \
                                        REAL *target)                                                                      \
    {                                                                                                                      \
        panel_plain_##REAL(tile, depth, source, stride, depth_stride, target);                                             \
    }
PANEL_PLAIN(float)
PANEL_PLAIN(double)

#if defined(__x86_64__)

/* rows[u] becomes column u. */
AVX2 static inline __attribute__((always_inline)) void transpose_double(__m256d rows[4])
{
    __m256d t0 = _mm256_unpacklo_pd(rows[0], rows[1]), t1 = _mm256_unpackhi_pd(rows[0], rows[1]);
    __m256d t2 = _mm256_unpacklo_pd(rows[2], rows[3]), t3 = _mm256_unpackhi_pd(rows[2], rows[3]);
    rows[0] = _mm256_permute2f128_pd(t0, t2, 0x20), rows[1] = _mm256_permute2f128_pd(t1, t3, 0x20);
    rows[2] = _mm256_permute2f128_pd(t0, t2, 0x31), rows[3] = _mm256_permute2f128_pd(t1, t3, 0x31);
}

AVX2 static inline __attribute__((always_inline)) void transpose_float(__m256 rows[8])
{
    __m256 t[8];
    for (int u = 0; u < 8; u += 2) {
        t[u] = _mm256_unpacklo_ps(rows[u], rows[u + 1]);
        t[u + 1] = _mm256_unpackhi_ps(rows[u], rows[u + 1]);
    }
    __m256 s[8];
    for (int h = 0; h < 8; h += 4)
        for (int u = 0; u < 2; u++) {
            s[h + 2 * u] = _mm256_shuffle_ps(t[h + u], t[h + u + 2], 0x44);
            s[h + 2 * u + 1] = _mm256_shuffle_ps(t[h + u], t[h + u + 2], 0xee);
        }
    for (int u = 0; u < 4; u++) {
        rows[u] = _mm256_permute2f128_ps(s[u], s[u + 4], 0x20);
        rows[u + 4] = _mm256_permute2f128_ps(s[u], s[u + 4], 0x31);
    }
}

/* Depth contiguous: squares of LANES x LANES are transposed in registers. */
#define PANEL_AVX2(REAL, VECTOR, LANES, LOAD, STORE)                                                                       \
    AVX2 static inline __attribute__((always_inline)) void panel_avx2_##REAL(                                              \
        int tile, int64_t depth, const REAL *source, int64_t stride, int64_t depth_stride, REAL *target)                   \
    {                                                                                                                      \
        int64_t l = 0;                                                                                                     \
        if (stride == 1) { /* whole rows of the panel are copied */                                                        \
            for (; l < depth; l++) { /* each is in another page: the hardware does not foresee it */                       \
                const REAL *from = source + l * depth_stride, *ahead = from + 12 * depth_stride;                           \
                REAL *to = target + l * tile;                                                                              \
                for (int i = 0; i < tile; i += 64 / (int)sizeof(REAL)) __builtin_prefetch(ahead + i);                      \
                if (tile * sizeof(REAL) > 64) __builtin_prefetch(ahead + tile - 1);                                        \
                int i = 0;                                                                                                 \
                for (; i + LANES <= tile; i += LANES) STORE(to + i, LOAD(from + i));                                       \
                memcpy(to + i, from + i, (size_t)(tile - i) * sizeof(REAL));                                               \
            }                                                                                                              \
            return;                                                                                                        \
        }                                                                                                                  \
        if (depth_stride == 1)                                                                                             \
            for (; l + LANES <= depth; l += LANES)                                                                         \
                for (int i0 = 0; i0 < tile; i0 += LANES) {                                                                 \
                    const int have = tile - i0 < LANES ? tile - i0 : LANES;                                                \
                    VECTOR square[LANES] = {{0}};                                                                          \
                    for (int u = 0; u < have; u++) square[u] = LOAD(source + (i0 + u) * stride + l);                       \
                    transpose_##REAL(square);                                                                              \
                    for (int u = 0; u < LANES; u++) {                                                                      \
                        if (have == LANES) STORE(target + (l + u) * tile + i0, square[u]);                                 \
                        else memcpy(target + (l + u) * tile + i0, &square[u], (size_t)have * sizeof(REAL));                \
                    }                                                                                                      \
                }                                                                                                          \
        panel_plain_##REAL(tile, depth - l, source + l * depth_stride, stride, depth_stride, target + l * tile);           \
    }                                                                                                                      \
    /* The usual tiles as constants, so that all loops above unroll. */                                                    \
    AVX2 static void full_panel_avx2_##REAL(int tile, int64_t depth, const REAL *source, int64_t stride,                   \
                                            int64_t depth_stride, REAL *target)                                            \
    {                                                                                                                      \
        switch (tile) {                                                                                                    \
        case 4: panel_avx2_##REAL(4, depth, source, stride, depth_stride, target); break;                                  \
        case 6: panel_avx2_##REAL(6, depth, source, stride, depth_stride, target); break;                                  \
        case 8: panel_avx2_##REAL(8, depth, source, stride, depth_stride, target); break;                                  \
        case 12: panel_avx2_##REAL(12, depth, source, stride, depth_stride, target); break;                                \
        case 14: panel_avx2_##REAL(14, depth, source, stride, depth_stride, target); break;                                \
        case 16: panel_avx2_##REAL(16, depth, source, stride, depth_stride, target); break;                                \
        case 24: panel_avx2_##REAL(24, depth, source, stride, depth_stride, target); break;                                \
        case 32: panel_avx2_##REAL(32, depth, source, stride, depth_stride, target); break;                                \
        case 48: panel_avx2_##REAL(48, depth, source, stride, depth_stride, target); break;                                \
        default: panel_avx2_##REAL(tile, depth, source, stride, depth_stride, target);                                     \
        }                                                                                                                  \
    }
PANEL_AVX2(float, __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps)
PANEL_AVX2(double, __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd)

#define FULL_PANEL(REAL) (__builtin_cpu_supports("avx2") ? full_panel_avx2_##REAL : full_panel_plain_##REAL)
#else
#define FULL_PANEL(REAL) full_panel_plain_##REAL
#endif

/* ---- all panels ------------------------------------------------------------------------------------------------- */

/* Rows of a source whose columns go to panels side by side: few, so that they are read along, as memory likes it. */
enum { BAND = 4 };

#define PACK(REAL)                                                                                                         \
    static void pack_##REAL(const hs__pack *how, int64_t count, int64_t depth, const REAL *source, int64_t stride,         \
                            int64_t depth_stride, REAL *target)                                                            \
    {                                                                                                                      \
        void (*const full_panel)(int, int64_t, const REAL *, int64_t, int64_t, REAL *) = FULL_PANEL(REAL);                 \
        const int tile = how->tile;                                                                                        \
        const REAL sign = how->negative ? -1 : 1;                                                                          \
        const int64_t steps = how->form == HS__REAL ? depth : 2 * depth;                                                   \
        const int across = how->form == HS__EXPANDED ? tile / 2 : tile; /* source elements per panel */                    \
        if (how->form == HS__REAL && stride == 1 && !how->negative) {                                                      \
            const int64_t whole = count / tile * tile;                                                                     \
            for (int64_t l = 0; l < depth; l += BAND)                                                                      \
                for (int64_t i = 0; i < whole; i += tile)                                                                  \
                    full_panel(tile, depth - l < BAND ? depth - l : BAND, source + i + l * depth_stride, 1, depth_stride,  \
                               target + i * depth + l * tile);                                                             \
            source += whole, target += whole * depth, count -= whole;                                                      \
        }                                                                                                                  \
        for (int64_t i0 = 0; i0 < count; i0 += across, target += steps * tile) {                                           \
            const int have = count - i0 < across ? (int)(count - i0) : across;                                             \
            if (have < across) memset(target, 0, (size_t)(steps * tile) * sizeof(REAL));                                   \
            if (how->form == HS__REAL) {                                                                                   \
                const REAL *from = source + i0 * stride;                                                                   \
                if (have == tile) full_panel(tile, depth, from, stride, depth_stride, target);                             \
                else                                                                                                       \
                    for (int64_t l = 0; l < depth; l++)                                                                    \
                        for (int i = 0; i < have; i++) target[l * tile + i] = from[i * stride + l * depth_stride];         \
                if (how->negative)                                                                                         \
                    for (int64_t x = 0; x < depth * tile; x++) target[x] = -target[x];                                     \
                continue;                                                                                                  \
            }                                                                                                              \
            for (int64_t l = 0; l < depth; l++) {                                                                          \
                REAL *first = target + 2 * l * tile, *second = first + tile;                                               \
                for (int i = 0; i < have; i++) {                                                                           \
                    const REAL *from = source + 2 * ((i0 + i) * stride + l * depth_stride);                                \
                    const REAL x = sign * from[0], y = sign * from[1];                                                     \
                    if (how->form == HS__SPLIT) first[i] = x, second[i] = y;                                               \
                    else first[2 * i] = x, first[2 * i + 1] = y, second[2 * i] = -y, second[2 * i + 1] = x;                \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }

PACK(float)
PACK(double)

void hs__pack_panels(const hs__pack *how, int64_t count, int64_t depth, const void *source, int64_t stride, int64_t depth_stride,
                     void *target)
{
    if (how->real_type) pack_double(how, count, depth, source, stride, depth_stride, target);
    else pack_float(how, count, depth, source, stride, depth_stride, target);
}
