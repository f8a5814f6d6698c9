/* hs_partition_guillotine: the best of all guillotine partitions of few workers, from the hulls of
 * all subsets, optionally with pinwheels. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/sort.h"
#include "core/status.h"
#include "partition/floorplan.h"
#include "partition/hull.h"

/* The origin of a point: its kind in the lowest bits, above them the sets of all operands but the
 * last. */
enum { BESIDE = 0, ABOVE = 1, LEAF = 2, WHEEL = 3, KINDS = 2 /* bits */ };

typedef struct {
    int32_t size;
    int32_t worker[HS_GUILLOTINE_MOST];
    hs__hulls hulls; /* indexed by set */
    int32_t *plan, length;
} subsets;

static hs_status lower_by_wheel(hs__hulls *h, uint32_t all, const uint32_t part[5])
{
    double area[5], width[5], height[5];
    uint64_t how = WHEEL;
    int32_t capacity = 0;
    for (int c = 0; c < 5; c++) {
        area[c] = h->area[part[c]] / h->area[all];
        capacity += h->table.count[part[c]];
        if (c < 4) how |= (uint64_t)part[c] << (KINDS + HS_WHEELS_MOST * c);
    }
    hs__wheel_of(area, width, height);
    if (hs__hull_reserve(&h->chain, capacity) || hs__hull_reserve(&h->other, capacity))
        return HS_ERROR_MEMORY;
    hs__point *sum = h->chain.points;
    hs__point *next = h->other.points;
    int32_t count = hs__hull_sum(hs__hulls_points(h, part[0]), h->table.count[part[0]], width[0],
                                 height[0], hs__hulls_points(h, part[1]), h->table.count[part[1]],
                                 width[1], height[1], how, sum);
    for (int c = 2; c < 5; c++) {
        count = hs__hull_sum(sum, count, 1.0, 1.0, hs__hulls_points(h, part[c]),
                             h->table.count[part[c]], width[c], height[c], how, next);
        hs__point *swap = sum;
        sum = next;
        next = swap;
    }
    return hs__hull_lower(&h->best, &h->spare, sum, count, &h->boxes);
}

/* Tries all ways to deal a set to the five places. Half a turn of the wheel changes nothing, so the
 * lowest worker is never at the bottom or on the left. The mirrored wheel is the same wheel with
 * its arms dealt differently. */
static hs_status lower_by_wheels(hs__hulls *h, uint32_t all, const int *cancel)
{
    const uint32_t lowest = all & -all;
    for (uint32_t top = (all - 1) & all; top; top = (top - 1) & all) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        const uint32_t left4 = all ^ top;
        for (uint32_t right = (left4 - 1) & left4; right; right = (right - 1) & left4) {
            const uint32_t left3 = left4 ^ right;
            const uint32_t free3 = left3 & ~lowest;
            for (uint32_t bottom = free3; bottom; bottom = (bottom - 1) & free3) {
                const uint32_t left2 = left3 ^ bottom;
                const uint32_t free2 = left2 & ~lowest;
                for (uint32_t left = free2; left; left = (left - 1) & free2) {
                    if (left == left2) continue;
                    hs_status status = lower_by_wheel(
                        h, all, (uint32_t[]){top, right, bottom, left, left2 ^ left});
                    if (status) return status;
                }
            }
        }
    }
    return HS_OK;
}

static hs_status fill_subsets(subsets *t, bool wheels, const int *cancel)
{
    for (uint32_t all = 1; all < UINT32_C(1) << t->size; all++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        if ((all & (all - 1)) == 0) continue; /* the leaves are already there */
        const uint32_t lowest = all & -all;
        const uint32_t rest = all ^ lowest;
        hs_status status = HS_OK;
        hs__hulls_begin(&t->hulls, all);
        /* the other workers of the first part: all subsets of `rest` but `rest` itself, down to the
         * empty set */
        for (uint32_t others = (rest - 1) & rest; !status; others = (others - 1) & rest) {
            status = hs__hulls_cut(&t->hulls, all, lowest | others, all ^ (lowest | others),
                                   (uint64_t)(lowest | others) << KINDS);
            if (others == 0) break;
        }
        if (!status) status = hs__hulls_turn(&t->hulls);
        if (!status && wheels && __builtin_popcount(all) >= 5)
            status = lower_by_wheels(&t->hulls, all, cancel);
        if (!status) status = hs__hulls_end(&t->hulls, all);
        if (status) return status;
    }
    return HS_OK;
}

static void write_plan(subsets *t, uint32_t set, double width, double height)
{
    const hs__point *point = hs__hulls_best(&t->hulls, set, width, height);
    const double *areas = t->hulls.area;
    const uint64_t operands = point->how >> KINDS;
    switch (point->how & ((1 << KINDS) - 1)) {
    case LEAF: t->plan[t->length++] = t->worker[operands]; break;
    case WHEEL: {
        uint32_t part[5] = {0, 0, 0, 0, set};
        double area[5], w[5], h[5];
        for (int c = 0; c < 4; c++) {
            part[c] = operands >> (HS_WHEELS_MOST * c) & ((1 << HS_WHEELS_MOST) - 1);
            part[4] ^= part[c];
        }
        for (int c = 0; c < 5; c++) area[c] = areas[part[c]] / areas[set];
        hs__wheel_of(area, w, h);
        for (int c = 0; c < 5; c++) write_plan(t, part[c], width * w[c], height * h[c]);
        t->plan[t->length++] = HS_WHEEL;
        break;
    }
    default: {
        const uint32_t first = (uint32_t)operands;
        const bool above = (point->how & ABOVE) != 0;
        const double share = areas[first] / areas[set];
        const double rest = areas[set ^ first] / areas[set];
        write_plan(t, first, hs__part_side(width, !above, share),
                   hs__part_side(height, above, share));
        write_plan(t, set ^ first, hs__part_side(width, !above, rest),
                   hs__part_side(height, above, rest));
        t->plan[t->length++] = hs__cut_op(above);
    }
    }
}

hs_status hs_partition_guillotine(int32_t p, const double *areas, const double *weights,
                                  double aspect, int32_t wheels, const int *cancel, int32_t *plan,
                                  int32_t *length, double *cost)
{
    if (!areas || !plan || !length || !cost) return HS_ERROR_VALUE;
    int32_t size;
    const double total = hs__partition_total(p, areas, weights, aspect, &size);
    if (!(total > 0.0)) return HS_ERROR_VALUE;
    if (size > (wheels ? HS_WHEELS_MOST : HS_GUILLOTINE_MOST)) return HS_ERROR_UNSUPPORTED;
    const double unit = hs__weight_unit(p, weights);
    subsets *t = calloc(1, sizeof *t);
    int32_t *order = malloc((size_t)p * sizeof *order);
    hs_status status = hs__check_memory(t && order);
    if (!status) status = hs__sort_positive(p, areas, order, &size);
    if (!status) status = hs__hulls_init(&t->hulls, INT64_C(1) << size, aspect);
    if (!status) {
        t->size = size;
        t->plan = plan;
    }
    for (int32_t k = 0; k < size && !status; k++) {
        t->worker[k] = order[k];
        t->hulls.area[1 << k] = hs__share(areas[order[k]], total);
        status = hs__hulls_leaf(&t->hulls, 1 << k, weights ? weights[order[k]] / unit : 1.0,
                                (uint64_t)k << KINDS | LEAF);
    }
    if (!status) {
        double *area = t->hulls.area;
        for (uint32_t set = 1; set < UINT32_C(1) << size; set++)
            area[set] = area[set & (set - 1)] + area[set & -set];
        status = fill_subsets(t, wheels, cancel);
    }
    if (!status) {
        const uint32_t all = (UINT32_C(1) << size) - 1;
        *cost = hs__hulls_cost(&t->hulls, all) * unit;
        write_plan(t, all, t->hulls.width, t->hulls.height);
        *length = t->length;
    }
    if (t) hs__hulls_free(&t->hulls);
    free(t);
    free(order);
    return status;
}
