/* Certificates of plans in one dimension, and the lower bound of factorisations by blocks of
 * columns. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "allocate/factor_map.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "hetsched.h"

typedef hs_status allocator(int64_t n, int32_t p, const double *times, const int *cancel,
                            int64_t *counts, double *makespan);

/* Compares counts with the best ones, which `allocate` finds. tables: times holds a row of n + 1
 * entries for each worker; else it holds the worker's time per chunk. */
static hs_status certify_counts(allocator *allocate, bool tables, int64_t n, int32_t p,
                                const double *times, const int64_t *counts, const int *cancel,
                                hs_certificate *certificate)
{
    if (n < 0 || n > HS__SIZE_MOST || p < 1 || !times || !counts || !certificate)
        return HS_ERROR_VALUE;
    double value = 0.0;
    double least;
    int64_t left = n;
    for (int32_t i = 0; i < p; i++) {
        if (counts[i] < 0 || counts[i] > left) return HS_ERROR_VALUE;
        if (counts[i] > 0)
            value =
                fmax(value, tables ? times[(n + 1) * i + counts[i]] : (double)counts[i] * times[i]);
        left -= counts[i];
    }
    if (left || !isfinite(value)) return HS_ERROR_VALUE;
    int64_t *best = malloc((size_t)p * sizeof *best);
    if (!best) return HS_ERROR_MEMORY;
    hs_status status = allocate(n, p, times, cancel, best, &least);
    free(best);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, value, least, certificate);
}

hs_status hs_distribute_certificate(int64_t n, int32_t p, const double *cycle_times,
                                    const int64_t *counts, const int *cancel,
                                    hs_certificate *certificate)
{
    return certify_counts(hs_distribute, false, n, p, cycle_times, counts, cancel, certificate);
}

hs_status hs_profile_certificate(int64_t n, int32_t p, const double *times, const int64_t *counts,
                                 const int *cancel, hs_certificate *certificate)
{
    return certify_counts(hs_distribute_profile, true, n, p, times, counts, cancel, certificate);
}

hs_status hs_wavefront_certificate(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                                   const int32_t *owner, int64_t reach, int32_t order,
                                   const int *cancel, hs_certificate *certificate)
{
    double value, bound;
    if (!certificate) return HS_ERROR_VALUE;
    hs_status status = hs_wavefront_makespan(rows, cols, p, cycle_times, owner, reach, order,
                                             cancel, &value, NULL, NULL);
    if (!status) status = hs_wavefront_bound(rows, cols, p, cycle_times, reach, cancel, &bound);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
}

hs_status hs_lu_grid_certificate(int32_t n, int32_t p, const double *cycle_times, double link_cost,
                                 const int32_t *owner, const int *cancel,
                                 hs_certificate *certificate)
{
    if (n < 1 || !certificate) return HS_ERROR_VALUE;
    double *loads = malloc(2 * (size_t)n * sizeof *loads);
    int64_t *traffic = malloc((size_t)n * sizeof *traffic);
    double value = 0.0;
    double bound = 0.0;
    int64_t sent = 0;
    hs_status status = loads && traffic ? hs_lu_grid_evaluate(n, p, cycle_times, owner, cancel,
                                                              loads, traffic, NULL)
                                        : HS_ERROR_MEMORY;
    if (!status) status = hs_lu_grid_bound(n, p, cycle_times, link_cost, cancel, loads + n);
    for (int32_t k = 0; !status && k < n; k++) {
        value += loads[k];
        bound += loads[n + k];
        sent += traffic[k];
    }
    free(loads);
    free(traffic);
    if (status) return status;
    return hs_certificate_of("cost", HS_MINIMISED, value + link_cost * (double)sent, bound,
                             certificate);
}

/* ---- LU by blocks of columns ----------------------------------------------------------------- */

/* Dual bounds: for any r, (updates + r panels) / sum of max(1 / time, r / panel time). The best r is
 * the ratio panel time / time of some worker k. Sorted by ratio, the workers up to k count with r /
 * panel time, the workers after it with 1 / time. Numerator and denominator are multiplied by unit:
 * the fastest worker's u = unit / time is then 1, and r unit = q u with k's panel time q. A bound
 * with terms that are not normal numbers is left out. If a ratio is so small that the order is
 * uncertain, the bounds of all k are left out. The other bounds hold without them. */
hs_status hs__perfect_division_time(int32_t p, const double *times, const double *panel_times,
                                    double updates, double panels, double unit, double *least)
{
    double *ratio = malloc((size_t)p * sizeof *ratio);
    int32_t *order = malloc((size_t)p * sizeof *order);
    double panel_unit = INFINITY;
    double all_panels = 0.0;
    double rest = 0.0;
    double before = 0.0; /* of panel_unit / q */
    bool ordered = true;
    for (int32_t i = 0; i < p && ratio; i++) {
        /* a worker that does no updates does nothing */
        ratio[i] = isfinite(times[i]) ? panel_times[i] / times[i] : INFINITY;
        if (!isfinite(times[i])) continue;
        rest += unit / times[i];
        panel_unit = fmin(panel_unit, panel_times[i]);
        ordered &= ratio[i] >= DBL_MIN;
    }
    for (int32_t i = 0; i < p; i++)
        if (isfinite(times[i])) all_panels += panel_unit / panel_times[i];
    const hs_status status = ratio && order ? hs__sort(p, ratio, order) : HS_ERROR_MEMORY;
    if (status) {
        free(ratio);
        free(order);
        return status;
    }
    *least = updates / rest * unit;
    if (panels > 0.0 && isfinite(panel_unit))
        *least = fmax(*least, panels / all_panels * panel_unit);
    /* the workers before k are better at panels, the workers after it at updates */
    for (int32_t k = 0; ordered && k < p && isfinite(ratio[order[k]]); k++) {
        const int32_t i = order[k];
        const double u = unit / times[i];
        const double q = panel_times[i];
        rest -= u;
        before += panel_unit / q;
        if (!isnormal(u) || !isnormal(panel_unit / q)) continue;
        const double together = u * (q / panel_unit) * before + fmax(rest, 0.0);
        const double bound = (updates * unit + q * u * panels) / together;
        if (isfinite(together) && isfinite(bound)) *least = fmax(*least, bound);
    }
    free(ratio);
    free(order);
    return HS_OK;
}

/* Critical path with owners in both directions. One after another: the panels and the heads of the
 * updates of the next panel, each by the worker that is fastest at it, and the rest of these
 * updates, divided perfectly. */
static double critical_path_of_parts(const hs__factor_blocks *b, int32_t p, const double *times,
                                     const double *panel_times, double unit)
{
    const hs__factor_map map = {.blocks = *b};
    double panel_time = INFINITY;
    double all = 0.0; /* combined rate of the workers, in units of 1 / unit */
    double sum = 0.0;
    for (int32_t i = 0; i < p; i++) {
        panel_time = fmin(panel_time, panel_times[i]);
        all += unit / times[i];
    }
    for (int32_t k = 0; k < b->panels; k++) {
        sum += hs__panel_work(b, k) * panel_time;
        if (k + 1 == b->panels) break;
        const double head = hs__head_work(&map, k, k + 1);
        sum += head * unit + (hs__update_work(b, k, k + 1) - head) / all * unit;
    }
    return sum;
}

/* Critical path with owners of columns. It starts with the first panel, by the fastest worker.
 * Then, one after another, follow the further panels with their last updates. Both are done by the
 * same worker, so each pair is taken by the worker that is fastest at both together. */
static double critical_path_of_columns(const hs__factor_blocks *b, int32_t p, const double *times,
                                       const double *panel_times, const int *cancel)
{
    double sum = INFINITY;
    for (int32_t i = 0; i < p; i++) sum = fmin(sum, panel_times[i]);
    if (b->panels == 0) return 0.0;
    sum *= hs__panel_work(b, 0);
    for (int32_t k = 0; k + 1 < b->panels && !hs__cancelled(cancel); k++) {
        const double update = hs__update_work(b, k, k + 1);
        const double panel = hs__panel_work(b, k + 1);
        double least = INFINITY;
        for (int32_t i = 0; i < p; i++)
            least = fmin(least, update * times[i] + panel * panel_times[i]);
        sum += least;
    }
    return sum;
}

hs_status hs_factor_bound(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                          const double *cycle_times, const double *panel_times, int32_t grid,
                          const int *cancel, double *ideal, double *bound)
{
    hs__factor_blocks b;
    double panels = 0.0;
    double updates = 0.0;
    double least;
    double unit = INFINITY;
    if (p < 1 || !cycle_times || !bound || (grid != 0 && grid != 1) ||
        !hs__factor_blocks_init(&b, kind, m, n, block))
        return HS_ERROR_VALUE;
    if (!panel_times) panel_times = cycle_times;
    for (int32_t i = 0; i < p; i++) {
        if (!(cycle_times[i] > 0.0 && panel_times[i] > 0.0)) return HS_ERROR_VALUE;
        unit = fmin(unit, cycle_times[i]);
    }
    if (b.count && !isfinite(unit)) return HS_ERROR_VALUE;
    for (int32_t k = 0; k < b.panels; k++) {
        panels += hs__panel_work(&b, k);
        updates += hs__updates_work(&b, k);
    }
    least = 0.0;
    hs_status status = HS_OK;
    if (b.count)
        status =
            hs__perfect_division_time(p, cycle_times, panel_times, updates, panels, unit, &least);
    if (status) return status;
    *bound = fmax(least, grid ? critical_path_of_parts(&b, p, cycle_times, panel_times, unit)
                              : critical_path_of_columns(&b, p, cycle_times, panel_times, cancel));
    if (ideal) *ideal = least;
    return hs__check_cancel(cancel);
}

hs_status hs_factor_certificate(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                                const double *cycle_times, const int32_t *owner, int32_t grid,
                                const hs_factor_costs *costs, const int *cancel,
                                hs_certificate *certificate)
{
    double value, bound;
    if (!certificate || (costs && costs->steps)) return HS_ERROR_VALUE;
    hs_status status = hs_factor_simulate(kind, m, n, block, p, cycle_times, owner, grid, costs,
                                          cancel, &value, NULL, NULL, NULL, NULL, NULL);
    if (!status)
        status = hs_factor_bound(kind, m, n, block, p, cycle_times, costs ? costs->panels : NULL,
                                 grid, cancel, NULL, &bound);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
}
