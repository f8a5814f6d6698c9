#include "pack.h"

#include <string.h>

/* One body for both real types. A panel's inner loop has the tile as a compile-time constant where it is a usual one: the
 * compiler then turns it into vector moves. */
#define PACK(REAL, SUFFIX)                                                                                                 \
    static inline __attribute__((always_inline)) void panel_##SUFFIX(int tile, int64_t depth, const REAL *source,          \
                                                                     int64_t stride, int64_t depth_stride, REAL *target)   \
    {                                                                                                                      \
        if (stride == 1) {                                                                                                 \
            for (int64_t l = 0; l < depth; l++)                                                                            \
                for (int i = 0; i < tile; i++) target[l * tile + i] = source[l * depth_stride + i];                        \
        } else if (depth_stride == 1) {                                                                                    \
            enum { STEP = 64 / sizeof(REAL) }; /* a cache line of every row at a time */                                   \
            int64_t l = 0;                                                                                                 \
            for (; l + STEP <= depth; l += STEP)                                                                           \
                for (int i = 0; i < tile; i++)                                                                             \
                    for (int u = 0; u < STEP; u++) target[(l + u) * tile + i] = source[i * stride + l + u];                \
            for (; l < depth; l++)                                                                                         \
                for (int i = 0; i < tile; i++) target[l * tile + i] = source[i * stride + l];                              \
        } else {                                                                                                           \
            for (int64_t l = 0; l < depth; l++)                                                                            \
                for (int i = 0; i < tile; i++) target[l * tile + i] = source[i * stride + l * depth_stride];               \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    static void full_panel_##SUFFIX(int tile, int64_t depth, const REAL *source, int64_t stride, int64_t depth_stride,     \
                                    REAL *target)                                                                          \
    {                                                                                                                      \
        switch (tile) {                                                                                                    \
        case 6: panel_##SUFFIX(6, depth, source, stride, depth_stride, target); break;                                     \
        case 8: panel_##SUFFIX(8, depth, source, stride, depth_stride, target); break;                                     \
        case 12: panel_##SUFFIX(12, depth, source, stride, depth_stride, target); break;                                   \
        case 14: panel_##SUFFIX(14, depth, source, stride, depth_stride, target); break;                                   \
        case 16: panel_##SUFFIX(16, depth, source, stride, depth_stride, target); break;                                   \
        case 32: panel_##SUFFIX(32, depth, source, stride, depth_stride, target); break;                                   \
        default: panel_##SUFFIX(tile, depth, source, stride, depth_stride, target);                                        \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    static void pack_##SUFFIX(const hs__pack *how, int64_t count, int64_t depth, const REAL *source, int64_t stride,       \
                              int64_t depth_stride, REAL *target)                                                          \
    {                                                                                                                      \
        const int tile = how->tile;                                                                                        \
        const REAL re = (REAL)how->scale[0], im = (REAL)how->scale[1];                                                     \
        const int scaled = re != 1 || im != 0;                                                                             \
        const int64_t steps = how->form == HS__REAL ? depth : 2 * depth;                                                   \
        const int across = how->form == HS__EXPANDED ? tile / 2 : tile; /* source elements per panel */                    \
        for (int64_t i0 = 0; i0 < count; i0 += across, target += steps * tile) {                                           \
            const int have = count - i0 < across ? (int)(count - i0) : across;                                             \
            if (have < across) memset(target, 0, (size_t)(steps * tile) * sizeof(REAL));                                   \
            if (how->form == HS__REAL) {                                                                                   \
                const REAL *from = source + i0 * stride;                                                                   \
                if (have == tile) full_panel_##SUFFIX(tile, depth, from, stride, depth_stride, target);                    \
                else                                                                                                       \
                    for (int64_t l = 0; l < depth; l++)                                                                    \
                        for (int i = 0; i < have; i++) target[l * tile + i] = from[i * stride + l * depth_stride];         \
                if (scaled)                                                                                                \
                    for (int64_t x = 0; x < depth * tile; x++) target[x] *= re;                                            \
                continue;                                                                                                  \
            }                                                                                                              \
            for (int64_t l = 0; l < depth; l++) {                                                                          \
                REAL *first = target + 2 * l * tile, *second = first + tile;                                               \
                for (int i = 0; i < have; i++) {                                                                           \
                    const REAL *from = source + 2 * ((i0 + i) * stride + l * depth_stride);                                \
                    REAL x = from[0], y = from[1];                                                                         \
                    if (scaled) {                                                                                          \
                        REAL product = re * x - im * y;                                                                    \
                        y = re * y + im * x;                                                                               \
                        x = product;                                                                                       \
                    }                                                                                                      \
                    if (how->form == HS__SPLIT) first[i] = x, second[i] = y;                                               \
                    else first[2 * i] = x, first[2 * i + 1] = y, second[2 * i] = -y, second[2 * i + 1] = x;                \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }

PACK(float, float)
PACK(double, double)

void hs__pack_panels(const hs__pack *how, int64_t count, int64_t depth, const void *source, int64_t stride, int64_t depth_stride,
                     void *target)
{
    if (how->real_type) pack_double(how, count, depth, source, stride, depth_stride, target);
    else pack_float(how, count, depth, source, stride, depth_stride, target);
}
