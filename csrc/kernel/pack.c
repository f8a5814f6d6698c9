/* Packing and transposing for both real types, and for AVX2 where the processor has it. */
#include "kernel/pack.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#define TRANSPOSE (__builtin_cpu_supports("avx2") ? NAME(transpose_avx2) : NAME(transpose_plain))
#define PACK_FULL                                                      \
    (__builtin_cpu_supports("avx2") ? NAME(pack_full_micro_panel_avx2) \
                                    : NAME(pack_micro_panel_plain))

/* Transposes a square: rows[u] becomes column u. */
AVX2 static inline __attribute__((always_inline)) void double_transpose_square(__m256d rows[4])
{
    __m256d t0 = _mm256_unpacklo_pd(rows[0], rows[1]);
    __m256d t1 = _mm256_unpackhi_pd(rows[0], rows[1]);
    __m256d t2 = _mm256_unpacklo_pd(rows[2], rows[3]);
    __m256d t3 = _mm256_unpackhi_pd(rows[2], rows[3]);
    rows[0] = _mm256_permute2f128_pd(t0, t2, 0x20);
    rows[1] = _mm256_permute2f128_pd(t1, t3, 0x20);
    rows[2] = _mm256_permute2f128_pd(t0, t2, 0x31);
    rows[3] = _mm256_permute2f128_pd(t1, t3, 0x31);
}

AVX2 static inline __attribute__((always_inline)) void float_transpose_square(__m256 rows[8])
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

#else
#define PACK_FULL NAME(pack_micro_panel_plain)
#define TRANSPOSE NAME(transpose_plain)
#endif

/* Number of source rows that are packed into adjacent micro-panels before the next rows: few, so
 * that memory is read along the rows. */
enum { BAND = 4 };

#define TEMPLATE "kernel/pack_template.h"
#define SET(x) x
#include "kernel/each_real.h"

void hs__pack_micro_panels(const hs__pack *how, int64_t count, int64_t depth, const void *source,
                           int64_t stride, int64_t depth_stride, void *target)
{
    if (how->real_type)
        double_pack_micro_panels(how, count, depth, source, stride, depth_stride, target);
    else float_pack_micro_panels(how, count, depth, source, stride, depth_stride, target);
}

void hs__scale_micro_panels(const hs__pack *how, int64_t count, int64_t depth,
                            const double factor[2], void *micro_panels)
{
    if (how->real_type)
        double_scale_micro_panels(how, count, depth, factor[0], factor[1], micro_panels);
    else
        float_scale_micro_panels(how, count, depth, (float)factor[0], (float)factor[1],
                                 micro_panels);
}

void hs__transpose_reals(int32_t real_type, int64_t rows, int64_t cols, const void *from,
                         int64_t from_stride, void *to, int64_t to_stride)
{
    if (real_type) double_transpose_reals(rows, cols, from, from_stride, to, to_stride);
    else float_transpose_reals(rows, cols, from, from_stride, to, to_stride);
}
