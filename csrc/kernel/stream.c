/* Non-temporal stores by AVX2; on other processors plain copies. */
#include "kernel/stream.h"

#include <string.h>

#include "kernel/kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void write_lines(char *to, const char *from, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += (int64_t)sizeof(__m256i))
        _mm256_stream_si256((__m256i *)(void *)(to + i),
                            _mm256_load_si256((const __m256i *)(const void *)(from + i)));
}

static void fence_stores(void) { _mm_sfence(); }

int hs__stream_can(void) { return hs__cpu_detect().avx2_fma; }
#else
static void write_lines(char *to, const char *from, int64_t bytes)
{
    memcpy(to, from, (size_t)bytes);
}

static void fence_stores(void) {}

int hs__stream_can(void) { return 0; }
#endif

enum { LINE = 64 };

hs__stream hs__stream_start(void *to, void *buffer)
{
    const int64_t first = (int64_t)((uintptr_t)to % LINE);
    return (hs__stream){(char *)to - first, buffer, first, first};
}

/* Writes the full lines; the first line may have begun before. */
static void write_full(hs__stream *x)
{
    const int64_t full = x->end / LINE * LINE;
    if (!full) return;
    const int64_t head = x->first ? LINE : 0;
    memcpy(x->line + x->first, x->buffer + x->first, (size_t)(head - x->first));
    write_lines(x->line + head, x->buffer + head, full - head);
    memcpy(x->buffer, x->buffer + full, LINE);
    x->line += full;
    x->first = 0;
    x->end -= full;
}

void hs__stream_put(hs__stream *x, int64_t bytes)
{
    x->end += bytes;
    if (x->end >= HS__STREAM_WAITING) write_full(x);
}

void hs__stream_end(hs__stream *x)
{
    write_full(x);
    memcpy(x->line + x->first, x->buffer + x->first, (size_t)(x->end - x->first));
    x->first = x->end;
    fence_stores();
}
