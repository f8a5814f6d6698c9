/* Tables of the times of zones: the least time that passes a test, and hs_zone_times, which fills a
 * table from measured points. */
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/sort.h"
#include "partition/profile.h"

/* ---- the least time that passes a test ------------------------------------------------------- */

/* Finds up to HS__TIMES_SAMPLE of the times strictly between low and high, sorted; *complete says
 * whether these are all of them. */
static int32_t sample_between(const hs__zone_times *x, double low, double high, double *sample,
                              bool *complete)
{
    int32_t size = 0;
    uint64_t seen = 0;
    uint64_t stride = 1; /* a power of two: every stride-th time is kept */
    const int64_t cells = x->tall * x->wide;
    for (int32_t i = 0; i < x->p && !hs__cancelled(x->cancel); i++)
        for (int64_t e = 0; e < cells; e++) {
            const double time = x->times[i * cells + e];
            if (!(time > low && time < high) || seen++ & (stride - 1)) continue;
            if (size == HS__TIMES_SAMPLE) {
                for (size = 0; size < HS__TIMES_SAMPLE / 2; size++)
                    sample[size] = sample[2 * (size_t)size];
                stride *= 2;
            }
            sample[size++] = time;
        }
    *complete = stride == 1;
    qsort(sample, (size_t)size, sizeof *sample, hs__ascending);
    return size;
}

double hs__least_time(const hs__zone_times *x, double low, double high, double *sample,
                      bool (*test)(void *context, double limit), void *context)
{
    for (bool complete = false; !complete && !hs__cancelled(x->cancel);) {
        const int32_t size = sample_between(x, low, high, sample, &complete);
        int32_t first = 0;
        int32_t end = size; /* the first time that passes is in [first, end] */
        while (first < end) {
            const int32_t middle = first + (end - first) / 2;
            if (test(context, sample[middle])) end = middle;
            else first = middle + 1;
        }
        if (first < size) high = sample[first];
        if (first > 0) low = sample[first - 1];
    }
    return high;
}

/* ---- tables from points ---------------------------------------------------------------------- */

/* Returns whether sizes [count] are finite, positive and increasing. */
static bool valid_sizes(int64_t count, const double *sizes)
{
    for (int64_t k = 0; k < count; k++)
        if (!(sizes[k] > (k ? sizes[k - 1] : 0.0)) || isinf(sizes[k])) return false;
    return true;
}

/* A place among sizes: between `low` and the size after it, or at it if the weight of the latter is
 * 0. A place outside is at the nearest size, and `scale` times it. */
typedef struct {
    int64_t low;
    double weight, scale;
} place;

static place find_place(int64_t count, const double *sizes, int64_t at)
{
    const double x = (double)at;
    if (x <= sizes[0]) return (place){0, 0.0, x / sizes[0]};
    if (x >= sizes[count - 1]) return (place){count - 1, 0.0, x / sizes[count - 1]};
    int64_t low = 0;
    while (sizes[low + 1] <= x) low++;
    return (place){low, (x - sizes[low]) / (sizes[low + 1] - sizes[low]), 1.0};
}

/* Between two values, of which one without weight does not count, even if it is infinite. */
static double blend(double weight, double a, double b)
{
    return weight > 0.0 ? (1.0 - weight) * a + weight * b : a;
}

hs_status hs_zone_times(int32_t rows, int32_t cols, const double *heights, const double *widths,
                        const double *points, int64_t m, int64_t n, double *times)
{
    if (rows < 1 || cols < 1 || !heights || !widths || !points || !times) return HS_ERROR_VALUE;
    if (m < 1 || n < 1 || m > INT32_MAX || n > INT32_MAX) return HS_ERROR_VALUE;
    if (!valid_sizes(rows, heights) || !valid_sizes(cols, widths)) return HS_ERROR_VALUE;
    for (int64_t e = 0; e < (int64_t)rows * cols; e++)
        if (!(points[e] > 0.0)) return HS_ERROR_VALUE;
    for (int64_t h = 1; h <= m; h++) {
        const place down = find_place(rows, heights, h);
        const double *above = points + down.low * cols;
        const double *below = down.weight > 0.0 ? above + cols : above;
        for (int64_t w = 1; w <= n; w++) {
            const place across = find_place(cols, widths, w);
            const int64_t left = across.low;
            const int64_t right = left + (across.weight > 0.0);
            const double time = blend(down.weight, blend(across.weight, above[left], above[right]),
                                      blend(across.weight, below[left], below[right]));
            times[(h - 1) * n + w - 1] = fmax(time * (down.scale * across.scale), 0x1p-1074);
        }
    }
    return HS_OK;
}
