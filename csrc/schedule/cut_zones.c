/* Divides C into zones of whole blocks: slices, partitions, and zones of domains. */
#include <string.h>

#include "schedule/planner.h"

/* Gives each worker one empty zone. */
static void clear_zones(hs__matmul_planner *s)
{
    s->pieces = s->product.p;
    for (int32_t i = 0; i < s->pieces; i++) s->workers[i] = i;
    memset(s->rects, 0, 4 * (size_t)s->pieces * sizeof *s->rects);
}

/* Cuts a zone into slices of rows (axis 0) or columns (axis 1) for its workers [size], by speed. */
static hs_status cut_zone(hs__matmul_planner *s, int axis, const int64_t *zone, int32_t size,
                          const int32_t *workers)
{
    for (int32_t i = 0; i < size; i++) s->times[i] = s->product.cycle_times[workers[i]];
    const hs_status status =
        hs_distribute(zone[2 + axis], size, s->times, s->cancel, s->counts, NULL);
    int64_t from = zone[axis];
    for (int32_t i = 0; i < size && !status; i++) {
        int64_t *rect = s->rects + 4 * (size_t)workers[i];
        memcpy(rect, zone, 4 * sizeof *rect);
        rect[axis] = from;
        rect[2 + axis] = s->counts[i];
        from += s->counts[i];
    }
    return status;
}

hs_status hs__cut_slices(hs__matmul_planner *s, int axis)
{
    const int64_t whole[4] = {0, 0, s->blocks[0], s->blocks[1]};
    clear_zones(s);
    if (!s->blocks[0] || !s->blocks[1]) return HS_OK;
    return cut_zone(s, axis, whole, s->pieces, s->workers);
}

hs_status hs__cut_partition(hs__matmul_planner *s, hs_partition given)
{
    if (!s->blocks[0] || !s->blocks[1]) return HS_ERROR_INFEASIBLE;
    given.p = s->product.p;
    given.areas = s->areas;
    given.m = s->blocks[0];
    given.n = s->blocks[1];
    hs_partition_plan zones = {.workers = s->workers, .cells = s->rects};
    hs_certificate certificate;
    const hs_status status = hs_partition_best(&given, NULL, s->cancel, &zones, &certificate);
    s->pieces = zones.pieces;
    return status;
}

hs_status hs__cut_by_method(hs__matmul_planner *s, int32_t method, bool weighted)
{
    const double *costs = s->product.link_costs;
    for (int32_t i = 0; costs && i < s->product.p && weighted; i++) weighted = costs[i] > 0.0;
    const int64_t rows = s->blocks[0];
    const int64_t cols = s->blocks[1];
    if (!cols || rows < hs__ceil_div(s->product.p, cols)) return HS_ERROR_INFEASIBLE;
    if (method == HS_PARTITION_CONTIGUOUS && rows > HS__SIZE_MOST / cols)
        return HS_ERROR_UNSUPPORTED;
    return hs__cut_partition(s,
                             (hs_partition){.method = method, .weights = weighted ? costs : NULL});
}

/* Sorts the workers by domain: domain d has order[first[d]] .. order[first[d + 1] - 1]. Returns the
 * number of domains. */
static int32_t sort_by_domain(hs__matmul_planner *s)
{
    const int32_t p = s->product.p;
    const int32_t *of = s->options.domains;
    int32_t domains = 1;
    for (int32_t i = 0; i < p && of; i++)
        if (of[i] >= domains) domains = of[i] + 1;
    for (int32_t d = 0; d <= domains; d++) s->first[d] = 0;
    for (int32_t i = 0; i < p; i++) s->first[(of ? of[i] : 0) + 1]++;
    for (int32_t d = 0; d < domains; d++) s->first[d + 1] += s->first[d];
    /* from the last worker to the first: each domain is filled from its end */
    for (int32_t i = p; i-- > 0;) s->order[--s->first[(of ? of[i] : 0) + 1]] = i;
    for (int32_t d = 0; d < domains; d++) s->first[d] = s->first[d + 1];
    s->first[domains] = p;
    return domains;
}

/* Returns whether the zones tile C, which has fewer than 2^63 elements. Time O(count^2). */
static bool tile_c(const hs__matmul_planner *s, int32_t count, const int64_t *zones)
{
    if (s->product.n && s->product.m > INT64_MAX / s->product.n) return false;
    int64_t left = s->product.m * s->product.n;
    for (int32_t d = 0; d < count; d++) {
        const int64_t *z = zones + 4 * (size_t)d;
        if (!hs__is_within(z[0], z[2], s->product.m) || !hs__is_within(z[1], z[3], s->product.n))
            return false;
        left -= z[2] * z[3];
        for (const int64_t *y = zones; y < z && z[2] && z[3]; y += 4)
            if (y[0] < z[0] + z[2] && z[0] < y[0] + y[2] && y[1] < z[1] + z[3] &&
                z[1] < y[1] + y[3])
                return false;
    }
    return left == 0;
}

/* Zones of the domains: those given, or by their speeds. */
static hs_status divide_by_domain(const hs__matmul_planner *s, int32_t domains, int64_t *zones)
{
    const int64_t *given = s->options.zones;
    if (!given)
        return hs_domain_zones(s->blocks[0], s->blocks[1], 1, 1, 0, domains, s->speeds, zones);
    if (s->block != 1 || !tile_c(s, domains, given)) return HS_ERROR_VALUE;
    memcpy(zones, given, 4 * (size_t)domains * sizeof *zones);
    return HS_OK;
}

hs_status hs__cut_domains(hs__matmul_planner *s)
{
    const hs_matmul *x = &s->product;
    const int32_t domains = sort_by_domain(s);
    int64_t *zones = s->rects + 4 * (size_t)x->p;
    double least = INFINITY;
    for (int32_t i = 0; i < x->p; i++) least = fmin(least, x->cycle_times[i]);
    for (int32_t d = 0; d < domains; d++) s->speeds[d] = 0.0;
    for (int32_t i = 0; i < x->p; i++)
        s->speeds[s->options.domains ? s->options.domains[i] : 0] += least / x->cycle_times[i];
    clear_zones(s);
    hs_status status = divide_by_domain(s, domains, zones);
    for (int32_t d = 0; d < domains && !status; d++) {
        const int64_t *zone = zones + 4 * (size_t)d;
        const int axis = zone[3] >= zone[2]; /* the longer side */
        if (zone[2 + axis])
            status = cut_zone(s, axis, zone, s->first[d + 1] - s->first[d], s->order + s->first[d]);
    }
    return status;
}

void hs__scale_zones(hs__matmul_planner *s)
{
    for (size_t i = 0; i < 4 * (size_t)s->pieces; i++) s->rects[i] *= s->block;
}
