/* Common parts of the fuzz harnesses: they read arguments from the bytes of an input, allocate
 * buffers of exactly the size that the header states, and check with HOLDS what must be true of
 * every answer. Zeros follow the last byte, so that every input has a meaning. */
#ifndef HETSCHED_FUZZ_BYTES_H
#define HETSCHED_FUZZ_BYTES_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "hetsched.h"

/* Ends the program if an oracle is violated, as a sanitizer's report does. */
#define HOLDS(condition) ((condition) ? (void)0 : report_violation(#condition, __FILE__, __LINE__))

static inline void report_violation(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

enum { ROOMS = 64, UNTOUCHED = 0xA5 };

typedef struct {
    const uint8_t *data;
    size_t left;
    int rooms, outs;
    void *room[ROOMS]; /* freed at the end */
    void *out[ROOMS];  /* outputs, filled with UNTOUCHED */
    size_t out_bytes[ROOMS];
} bytes;

static inline bytes bytes_of(const uint8_t *data, size_t size)
{
    return (bytes){.data = data, .left = size};
}

static inline void bytes_end(bytes *in)
{
    while (in->rooms) free(in->room[--in->rooms]);
    in->outs = 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static inline unsigned take_byte(bytes *in)
{
    if (!in->left) return 0;
    in->left--;
    return *in->data++;
}

/* Returns one of 0 .. count - 1; count is at most 256. */
static inline int pick_below(bytes *in, int count)
{
    return (int)(take_byte(in) % (unsigned)count);
}

static inline uint64_t take_word(bytes *in)
{
    uint64_t x = 0;
    for (int k = 0; k < 8; k++) x = x << 8 | take_byte(in);
    return x;
}

/* Returns a number in 0 .. most; small numbers and both ends are more frequent. */
static inline int32_t draw_small(bytes *in, int32_t most)
{
    const unsigned b = take_byte(in);
    if (b < 24) return (int32_t)hs__min(b % 4, most);
    return b == 255 ? most : (int32_t)(b % ((unsigned)most + 1));
}

/* Returns a count or extent at or beyond the limits of its type and of doubles. */
static inline int64_t draw_extreme(bytes *in)
{
    static const int64_t at[] = {0,
                                 1,
                                 2,
                                 -1,
                                 INT32_MAX,
                                 INT64_C(1) << 31,
                                 INT32_MIN,
                                 INT64_C(1) << 32,
                                 INT64_C(1) << 53,
                                 (INT64_C(1) << 53) + 1,
                                 (INT64_C(1) << 53) - 1,
                                 INT64_MAX,
                                 INT64_MIN,
                                 46340,
                                 46341,
                                 65536,
                                 1000000007,
                                 INT64_C(1) << 62};
    const int k = pick_below(in, 20);
    return k < 18 ? at[k] : (int64_t)(take_word(in) >> pick_below(in, 64));
}

/* Returns a size in 0 .. most, or with `any` one that may be beyond all limits. */
static inline int64_t draw_size(bytes *in, int any, int32_t most)
{
    return any ? draw_extreme(in) : draw_small(in, most);
}

/* Returns one of the options 0 .. count - 1, or rarely `count`, which does not exist. */
static inline int draw_option(bytes *in, int count)
{
    return take_byte(in) > 250 ? count : pick_below(in, count);
}

/* Returns a cancel: NULL, one that is not set, or rarely one that is set from the start. */
static inline const int *draw_cancel(bytes *in)
{
    static const int none = 0;
    static const int stop = 1;
    if (take_byte(in) > 250) return &stop;
    return pick_below(in, 2) ? &none : NULL;
}

/* Returns any double; doubles at the limits of their kind are more frequent. */
static inline double draw_wild(bytes *in)
{
    static const double at[] = {0.0,
                                -0.0,
                                5e-324,
                                1e-310,
                                2.2250738585072014e-308,
                                1e-300,
                                1e-160,
                                1e-12,
                                0.5,
                                1.0,
                                1.0000000000000002,
                                2.0,
                                3.0,
                                1e12,
                                0x1p53,
                                0x1p53 + 2,
                                0x1p63,
                                0x1p-200,
                                0x1p200,
                                1e160,
                                1e200,
                                1e300,
                                1e308,
                                1.7976931348623157e308,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                -1.0,
                                -5e-324,
                                -1e300};
    const int k = pick_below(in, 34);
    if (k < 30) return at[k];
    const uint64_t bits = take_word(in);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns a positive finite double; all decades occur. */
static inline double draw_positive(bytes *in)
{
    static const double at[] = {1.0,    2.0,   3.0,      0.5,     1e-3,   1e3,
                                1e-12,  1e12,  0x1p-200, 0x1p200, 1e-160, 1e160,
                                1e-300, 1e300, 1e308,    5e-324,  1e-310, 0x1p53};
    const int k = pick_below(in, 22);
    if (k < 18) return at[k];
    return ldexp(1.0 + take_byte(in) / 256.0, (pick_below(in, 256) - 128) * (k == 18 ? 8 : 1));
}

/* How the values of an array are drawn: small integers, ratios, a few decades, all decades, one
 * wild value, all values wild. */
typedef enum { INTEGERS, RATIOS, DECADES, POSITIVES, ONE_WILD, WILD } taste;

static inline taste taste_of(bytes *in)
{
    return (const taste[]){
        INTEGERS, INTEGERS, RATIOS, RATIOS, DECADES, POSITIVES, ONE_WILD, WILD}[pick_below(in, 8)];
}

/* Returns whether nothing computed from such values overflows or underflows. */
static inline int is_tame(taste kind) { return kind <= DECADES; }

static inline double draw_value(bytes *in, taste kind)
{
    switch (kind) {
    case INTEGERS:
    case ONE_WILD: return 1 + pick_below(in, 12);
    case RATIOS: {
        const double x = 1 + take_byte(in);
        return x / (1 + take_byte(in));
    }
    case DECADES:
        return (1 + pick_below(in, 4)) *
               (const double[]){1, 1e-3, 1e-6, 1e3, 1e6, 0.1}[pick_below(in, 6)];
    case POSITIVES: return draw_positive(in);
    default: return draw_wild(in);
    }
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* Returns how many elements an array has by a count that may be negative. */
static inline size_t room_for(int64_t count) { return (size_t)hs__max(count, 0); }

/* Returns a buffer of exactly `size` bytes, so that accesses beyond it are detected. */
static inline void *new_buffer(bytes *in, size_t size)
{
    void *memory = malloc(size);
    HOLDS(memory && in->rooms < ROOMS);
    return in->room[in->rooms++] = memory;
}

/* Returns a buffer for an output; outputs_untouched() checks all of them. */
static inline void *new_output(bytes *in, size_t size)
{
    void *memory = new_buffer(in, size);
    memset(memory, UNTOUCHED, size);
    in->out[in->outs] = memory;
    in->out_bytes[in->outs++] = size;
    return memory;
}

/* Forgets the outputs so far: the next call has its own. */
static inline void next_call(bytes *in) { in->outs = 0; }

static inline int outputs_untouched(const bytes *in)
{
    for (int k = 0; k < in->outs; k++)
        for (size_t i = 0; i < in->out_bytes[k]; i++)
            if (((const uint8_t *)in->out[k])[i] != UNTOUCHED) return 0;
    return 1;
}

static inline double *draw_values(bytes *in, int64_t count, taste kind)
{
    double *x = new_buffer(in, (size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = draw_value(in, kind);
    if (kind == ONE_WILD && count > 0) x[take_byte(in) % count] = draw_wild(in);
    return x;
}

/* Returns draw_values(), or NULL as often. */
static inline double *draw_values_or_null(bytes *in, int64_t count, taste kind)
{
    return pick_below(in, 2) ? draw_values(in, count, kind) : NULL;
}

/* Returns draw_values() with zeros among them. Other unusual values occur only if `kind` has
 * them. */
static inline double *draw_values_or_zeros(bytes *in, int64_t count, taste kind)
{
    double *x = draw_values(in, count, kind);
    const unsigned zeros = take_byte(in);
    for (int64_t i = 0; i < count && i < 8; i++)
        if (zeros >> i & 1 && zeros < 192) x[i] = 0.0;
    return x;
}

/* Draws a permutation of 0 .. count - 1. */
static inline int32_t *draw_permutation(bytes *in, int32_t count)
{
    int32_t *x = new_buffer(in, (size_t)count * sizeof *x);
    for (int32_t i = 0; i < count; i++) {
        const int32_t j = pick_below(in, i + 1);
        x[i] = x[j];
        x[j] = i;
    }
    return x;
}

/* Draws indices below `limit`; occasionally one of them is out of range. */
static inline int32_t *draw_indices(bytes *in, int64_t count, int32_t limit)
{
    int32_t *x = new_buffer(in, (size_t)count * sizeof *x);
    const unsigned strange = take_byte(in);
    for (int64_t i = 0; i < count; i++)
        x[i] = limit > 0 ? pick_below(in, (int)hs__min(limit, 256)) : 0;
    if (strange > 240 && count > 0)
        x[take_byte(in) % count] = (const int32_t[]){-1, INT32_MIN, INT32_MAX, limit}[strange % 4];
    return x;
}

/* ---- oracles --------------------------------------------------------------------------------- */

static inline int is_near(double x, double y, double relative)
{
    return x == y || fabs(x - y) <= relative * fmax(fabs(x), fabs(y));
}

/* Returns whether the elements of x are different numbers in 0 .. limit - 1. */
static inline int all_different(int32_t count, const int32_t *x, int32_t limit)
{
    for (int32_t i = 0; i < count; i++) {
        if (x[i] < 0 || x[i] >= limit) return 0;
        for (int32_t j = 0; j < i; j++)
            if (x[i] == x[j]) return 0;
    }
    return 1;
}

/* Checks a planner's status. No other status is documented for a planner without threads and
 * without a cancel. */
static inline void planner_status(const bytes *in, hs_status status, hs_status third)
{
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || (third && status == third));
    HOLDS(status == HS_OK || outputs_untouched(in));
}

/* Returns whether a call ended early because its cancel was set. */
static inline int is_cancelled(hs_status status, const int *cancel)
{
    return status == HS_ERROR_CANCELLED && cancel && *cancel;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

/* Defines the harness: it runs one of its areas, chosen by the first bytes of the input. */
#define HARNESS(...)                                                      \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)        \
    {                                                                     \
        static void (*const areas[])(bytes *) = {__VA_ARGS__};            \
        bytes in = bytes_of(data, length);                                \
        areas[pick_below(&in, (int)(sizeof areas / sizeof *areas))](&in); \
        bytes_end(&in);                                                   \
        return 0;                                                         \
    }

#endif
