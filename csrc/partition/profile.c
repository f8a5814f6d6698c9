/* hs_partition_profile: zones of workers whose times depend on the height and the width of their
 * zones. Its lower bound and its certificate. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "partition/profile.h"

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
    hs_status status = hs__check_cancel(x->cancel);
    if (!status) status = hs__sort_positive(x->p, keys, able, size);
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
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
}
