/* hs_partition_profile: zones of workers whose times depend on the height and the width of their
 * zones. Its lower bound, its certificate, and tables of times from measured points. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
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

/* ---- the bound ------------------------------------------------------------------------------- */

/* Returns the area of the largest zone of a worker within a limit; 0 if none fits. */
static int64_t find_largest(const hs__zone_times *x, int32_t i, double limit)
{
    const double *times = x->times + i * x->worker;
    int64_t most = 0;
    for (int64_t h = 1; h <= x->tall; h++)
        for (int64_t w = x->wide; w > 0 && h * w > most; w--)
            if (times[(h - 1) * x->row + w - 1] <= limit) most = h * w;
    return most;
}

static bool has_room(void *context, double limit)
{
    const hs__zone_times *x = context;
    double room = 0.0; /* whole numbers: exact up to the area, which is at most 2^48 */
    for (int32_t i = 0; i < x->p && !hs__cancelled(x->cancel); i++)
        room += (double)find_largest(x, i, limit);
    return room >= (double)x->tall * (double)x->wide;
}

static hs_status find_bound(hs__zone_times *x, double *bound)
{
    double *sample = malloc(HS__TIMES_SAMPLE * sizeof *sample);
    if (!sample) return HS_ERROR_MEMORY;
    *bound = hs__least_time(x, 0.0, INFINITY, sample, has_room, x);
    free(sample);
    if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
    return isinf(*bound) ? HS_ERROR_INFEASIBLE : HS_OK;
}

/* ---- the planner ----------------------------------------------------------------------------- */

/* Checks a table and makes the view of it. */
static hs_status open_times(int64_t m, int64_t n, int32_t p, const double *times, const int *cancel,
                            hs__zone_times *x)
{
    const int64_t most = INT64_C(1) << 48;
    if (!times || m < 1 || n < 1 || p < 1 || m > INT32_MAX || n > INT32_MAX) return HS_ERROR_VALUE;
    if (m * n > most / p) return HS_ERROR_VALUE;
    *x = (hs__zone_times){p, m, n, times, m * n, n, 1, cancel};
    for (int64_t e = 0; e < p * m * n && !hs__cancelled(cancel); e++)
        if (!(times[e] > 0.0)) return HS_ERROR_VALUE;
    return HS_OK;
}

/* A tiling and what is known of it. */
typedef struct {
    hs_profile_method method;
    double makespan;
    int64_t cost;   /* sum of the half perimeters */
    int64_t *zones; /* [4 p] */
    bool all;       /* whether all tilings of the method were searched */
} tiling;

/* Searches full columns, or full rows as the columns of the transposed matrix. */
static hs_status search_columns(const hs__zone_times *given, double bound, int32_t size,
                                const int32_t *able, const hs_effort *effort, tiling *found)
{
    hs__zone_times x = *given;
    const bool across = found->method == HS_PROFILE_ROWS;
    if (across) {
        x.tall = given->wide;
        x.wide = given->tall;
        x.row = given->col;
        x.col = given->row;
    }
    int32_t *order = malloc((size_t)size * sizeof *order);
    if (!order) return HS_ERROR_MEMORY;
    memcpy(order, able, (size_t)size * sizeof *order);
    const hs_status status = hs__profile_columns(&x, bound, size, order, effort, &found->makespan,
                                                 found->zones, &found->all);
    free(order);
    found->cost = 0;
    for (int32_t i = 0; i < x.p && !status && isfinite(found->makespan); i++) {
        int64_t *zone = found->zones + 4 * (size_t)i;
        found->cost += zone[2] + zone[3];
        if (!across) continue;
        const int64_t turned[] = {zone[1], zone[0], zone[3], zone[2]};
        memcpy(zone, turned, sizeof turned);
    }
    return status;
}

/* Searches full columns and full rows, and keeps the better tiling in found. */
static hs_status search_both(const hs__zone_times *x, double bound, int32_t size,
                             const int32_t *able, const hs_effort *effort, tiling *found)
{
    const hs_effort half =
        effort ? (hs_effort){effort->seed, effort->timed, effort->seconds / 2.0} : (hs_effort){0};
    tiling rows = {.method = HS_PROFILE_ROWS,
                   .zones = malloc(4 * (size_t)x->p * sizeof *rows.zones)};
    found->method = HS_PROFILE_COLUMNS;
    hs_status status =
        rows.zones ? search_columns(x, bound, size, able, &half, found) : HS_ERROR_MEMORY;
    if (!status) status = search_columns(x, bound, size, able, &half, &rows);
    const bool all = found->all && rows.all;
    if (!status && (rows.makespan < found->makespan ||
                    (rows.makespan == found->makespan && rows.cost < found->cost))) {
        const tiling columns = *found;
        *found = rows;
        rows = columns;
    }
    found->all = all;
    free(rows.zones);
    return status;
}

/* Lists the workers that fit some zone, by the area of their largest zone within the bound. */
static hs_status find_able(const hs__zone_times *x, double bound, int32_t *size, int32_t *able)
{
    double *keys = malloc((size_t)x->p * sizeof *keys);
    if (!keys) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < x->p && !hs__cancelled(x->cancel); i++)
        keys[i] = find_largest(x, i, DBL_MAX) ? 1.0 + (double)find_largest(x, i, bound) : 0.0;
    const hs_status status =
        hs__cancelled(x->cancel) ? HS_ERROR_CANCELLED : hs__sort_positive(x->p, keys, able, size);
    free(keys);
    return status;
}

/* The class in which the tiling is proven to be the best. */
static const char *scope_of(hs_profile_method asked, const tiling *found, bool optimal)
{
    if (optimal) return "tilings with one zone for each worker";
    if (!found->all) return "";
    if (found->method == HS_PROFILE_GUILLOTINE) return "guillotine tilings";
    if (asked == HS_PROFILE_BEST) return "tilings in full columns or full rows";
    return asked == HS_PROFILE_ROWS ? "tilings in full rows" : "tilings in full columns";
}

/* Returns whether the tilings that were searched include all tilings into rectangles. Up to three
 * zones always lie in full columns or in full rows, and up to four have a guillotine cut. */
static bool is_complete(const hs__zone_times *x, hs_profile_method asked, int32_t size,
                        const tiling *found)
{
    if (!found->all) return false;
    if (x->tall == 1 || x->wide == 1 || size == 1) return true;
    if (found->method == HS_PROFILE_GUILLOTINE) return size <= 4;
    return asked == HS_PROFILE_BEST && size <= 3;
}

/* Finds a tiling by a method. */
static hs_status search_tilings(const hs__zone_times *x, hs_profile_method method, double bound,
                                int32_t size, const int32_t *able, const hs_effort *effort,
                                tiling *found)
{
    const bool few = hs__few_splits(x, size);
    if (method == HS_PROFILE_GUILLOTINE || (method == HS_PROFILE_BEST && few)) {
        found->method = HS_PROFILE_GUILLOTINE;
        found->all = true;
        return few ? hs__profile_guillotine(x, size, able, &found->makespan, found->zones)
                   : HS_ERROR_UNSUPPORTED;
    }
    if (method == HS_PROFILE_BEST) return search_both(x, bound, size, able, effort, found);
    found->method = method;
    return search_columns(x, bound, size, able, effort, found);
}

hs_status hs_partition_profile(int64_t m, int64_t n, int32_t p, const double *times,
                               hs_profile_method method, const hs_effort *effort, const int *cancel,
                               hs_profile_method *found, int64_t *cells,
                               hs_certificate *certificate)
{
    hs__zone_times x;
    if (!found || !cells || !certificate || !hs__effort_valid(effort)) return HS_ERROR_VALUE;
    if (method < HS_PROFILE_BEST || method > HS_PROFILE_GUILLOTINE) return HS_ERROR_VALUE;
    hs_status status = open_times(m, n, p, times, cancel, &x);
    if (status) return status;
    double bound;
    int32_t size;
    tiling best = {.zones = malloc(4 * (size_t)p * sizeof *best.zones)};
    int32_t *able = malloc((size_t)p * sizeof *able);
    status = best.zones && able ? find_bound(&x, &bound) : HS_ERROR_MEMORY;
    if (!status) status = find_able(&x, bound, &size, able);
    if (!status) status = search_tilings(&x, method, bound, size, able, effort, &best);
    if (!status && isinf(best.makespan)) status = HS_ERROR_INFEASIBLE;
    if (!status) {
        if (is_complete(&x, method, size, &best)) bound = best.makespan;
        status = hs_certificate_of("makespan", HS_MINIMISED, best.makespan, bound, certificate);
        certificate->scope = scope_of(method, &best, certificate->optimal);
        *found = best.method;
        memcpy(cells, best.zones, 4 * (size_t)p * sizeof *cells);
    }
    free(best.zones);
    free(able);
    return status;
}

hs_status hs_partition_profile_certificate(int64_t m, int64_t n, int32_t p, const double *times,
                                           const int64_t *cells, const int *cancel,
                                           hs_certificate *certificate)
{
    hs__zone_times x;
    if (!cells || !certificate) return HS_ERROR_VALUE;
    hs_status status = open_times(m, n, p, times, cancel, &x);
    if (status) return status;
    double makespan = 0.0;
    int64_t covered = 0;
    for (int32_t i = 0; i < p; i++) {
        const int64_t *zone = cells + 4 * (size_t)i;
        if (!hs__is_within(zone[0], zone[2], m) || !hs__is_within(zone[1], zone[3], n))
            return HS_ERROR_VALUE;
        covered += zone[2] * zone[3];
        if (zone[2] && zone[3]) makespan = fmax(makespan, hs__zone_time(&x, i, zone[2], zone[3]));
    }
    if (covered != m * n) return HS_ERROR_VALUE;
    if (isinf(makespan)) return HS_ERROR_INFEASIBLE;
    double bound;
    status = find_bound(&x, &bound);
    return status ? status
                  : hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
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
            const int64_t left = across.low, right = left + (across.weight > 0.0);
            const double time = blend(down.weight, blend(across.weight, above[left], above[right]),
                                      blend(across.weight, below[left], below[right]));
            times[(h - 1) * n + w - 1] = fmax(time * (down.scale * across.scale), 0x1p-1074);
        }
    }
    return HS_OK;
}
