/* hs__profile_guillotine: dynamic programming over the subsets of the workers and the sides of a
 * box. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/status.h"
#include "partition/profile.h"

/* The best value of each subset of the workers in each box, infinite if no tiling fits. In the first
 * pass values are makespans, and a cut has the larger value of its parts. In the second pass they
 * are half perimeters of zones within the least makespan, and a cut adds them up. */
typedef struct {
    const hs__zone_times *x;
    const int32_t *able;
    int32_t size;
    size_t box;     /* entries of a subset */
    double *values; /* [2^size * box] */
    double limit;   /* least makespan in the second pass, infinite in the first */
} splits;

bool hs__few_splits(const hs__zone_times *x, int32_t size)
{
    const double most = ldexp(1.0, HS_PROFILE_SPLITS);
    double work = (double)x->tall * (double)x->wide * (double)(x->tall + x->wide) + 64.0;
    for (int32_t i = 0; i < size && work <= most; i++) work *= 3.0;
    return work <= most;
}

static double *values_of(const splits *s, uint32_t subset) { return s->values + subset * s->box; }

static double value_at(const splits *s, uint32_t subset, int64_t h, int64_t w)
{
    return values_of(s, subset)[(h - 1) * s->x->wide + w - 1];
}

static double value_alone(const splits *s, int32_t k, int64_t h, int64_t w)
{
    const double time = hs__zone_time(s->x, s->able[k], h, w);
    if (isinf(s->limit)) return time;
    return time <= s->limit ? (double)(h + w) : INFINITY;
}

static double value_joined(const splits *s, double a, double b)
{
    if (isinf(s->limit)) return a > b ? a : b;
    return a + b;
}

/* out[k] = min(out[k], a joined with b[k]) */
static void take_better(const splits *s, int64_t count, double a, const double *restrict b,
                        double *restrict out)
{
    if (isinf(a)) return;
    if (isinf(s->limit)) {
        for (int64_t k = 0; k < count; k++) {
            const double joined = a > b[k] ? a : b[k];
            out[k] = joined < out[k] ? joined : out[k];
        }
    } else {
        for (int64_t k = 0; k < count; k++) {
            const double joined = a + b[k];
            out[k] = joined < out[k] ? joined : out[k];
        }
    }
}

/* out[k] = min(out[k], a[k] joined with b[k]) */
static void take_better_rows(const splits *s, int64_t count, const double *restrict a,
                             const double *restrict b, double *restrict out)
{
    if (isinf(s->limit)) {
        for (int64_t k = 0; k < count; k++) {
            const double joined = a[k] > b[k] ? a[k] : b[k];
            out[k] = joined < out[k] ? joined : out[k];
        }
    } else {
        for (int64_t k = 0; k < count; k++) {
            const double joined = a[k] + b[k];
            out[k] = joined < out[k] ? joined : out[k];
        }
    }
}

/* Cuts every box in two, for two disjoint subsets of the workers. */
static void cut_boxes(const splits *s, uint32_t first, uint32_t second, double *out)
{
    const int64_t tall = s->x->tall;
    const int64_t wide = s->x->wide;
    const double *a = values_of(s, first);
    const double *b = values_of(s, second);
    for (int64_t h = 0; h < tall; h++) {
        for (int64_t w = 1; w < wide; w++)
            take_better(s, wide - w, a[h * wide + w - 1], b + h * wide, out + h * wide + w);
        for (int64_t above = 1; above <= h; above++)
            take_better_rows(s, wide, a + (above - 1) * wide, b + (h - above) * wide,
                             out + h * wide);
    }
}

/* Fills the values of all subsets, from small ones to large ones. */
static void fill_values(splits *s)
{
    const int64_t tall = s->x->tall;
    const int64_t wide = s->x->wide;
    for (size_t e = 0; e < s->box; e++) s->values[e] = INFINITY;
    for (uint32_t subset = 1; subset < 1u << s->size && !hs__cancelled(s->x->cancel); subset++) {
        double *out = values_of(s, subset);
        const uint32_t lowest = subset & -subset;
        const uint32_t rest = subset - lowest;
        if (!rest) {
            const int32_t k = __builtin_ctz(subset);
            for (int64_t h = 1; h <= tall; h++)
                for (int64_t w = 1; w <= wide; w++)
                    out[(h - 1) * wide + w - 1] = value_alone(s, k, h, w);
            continue;
        }
        memcpy(out, values_of(s, rest), s->box * sizeof *out);
        for (uint32_t left = rest; left; left &= left - 1) { /* without one of the workers */
            const double *fewer = values_of(s, subset - (left & -left));
            for (size_t e = 0; e < s->box; e++) out[e] = fewer[e] < out[e] ? fewer[e] : out[e];
        }
        for (uint32_t second = rest; second; second = (second - 1) & rest)
            cut_boxes(s, subset - second, second, out);
    }
}

/* Writes the zones of the best tiling of a box by a subset of the workers. For the second pass only:
 * its values are whole numbers, so that sums compare exactly. The value of the subset in the box
 * must be finite. */
static void read_zones(const splits *s, uint32_t subset, const int64_t *box, int64_t *zones)
{
    const int64_t h = box[2];
    const int64_t w = box[3];
    const double value = value_at(s, subset, h, w);
    for (uint32_t left = subset; left; left &= left - 1) { /* without the workers not needed */
        const uint32_t fewer = subset - (left & -left);
        if (fewer && value_at(s, fewer, h, w) == value) subset = fewer;
    }
    if (!(subset & (subset - 1))) {
        memcpy(zones + 4 * (size_t)s->able[__builtin_ctz(subset)], box, 4 * sizeof *box);
        return;
    }
    const uint32_t rest = subset & (subset - 1);
    for (uint32_t second = rest; second; second = (second - 1) & rest) {
        const uint32_t first = subset - second;
        for (int axis = 0; axis < 2; axis++)
            for (int64_t at = 1; at < box[2 + axis]; at++) {
                const int64_t first_height = axis ? h : at;
                const int64_t first_width = axis ? at : w;
                const double joined =
                    value_joined(s, value_at(s, first, first_height, first_width),
                                 value_at(s, second, axis ? h : h - at, axis ? w - at : w));
                if (joined != value) continue;
                int64_t parts[2][4] = {{box[0], box[1], first_height, first_width},
                                       {box[0], box[1], h, w}};
                parts[1][axis] += at;
                parts[1][2 + axis] -= at;
                read_zones(s, first, parts[0], zones);
                read_zones(s, second, parts[1], zones);
                return;
            }
    }
}

hs_status hs__profile_guillotine(const hs__zone_times *x, int32_t size, const int32_t *able,
                                 double *makespan, int64_t *zones)
{
    splits s = {.x = x,
                .able = able,
                .size = size,
                .box = (size_t)x->tall * (size_t)x->wide,
                .limit = INFINITY};
    s.values = malloc((s.box << size) * sizeof *s.values);
    if (!s.values) return HS_ERROR_MEMORY;
    const uint32_t all = (1u << size) - 1;
    fill_values(&s);
    *makespan = value_at(&s, all, x->tall, x->wide);
    memset(zones, 0, 4 * (size_t)x->p * sizeof *zones);
    if (isfinite(*makespan) && !hs__cancelled(x->cancel)) {
        s.limit = *makespan;
        fill_values(&s);
        if (!hs__cancelled(x->cancel))
            read_zones(&s, all, (const int64_t[]){0, 0, x->tall, x->wide}, zones);
    }
    free(s.values);
    return hs__check_cancel(x->cancel);
}
