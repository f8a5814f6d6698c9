#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/sort.h"
#include "partition/floorplan.h"
#include "partition/hull.h"

enum { MOST = 16, MOST_WITH_WHEELS = 8 };

/* How a point came about, in its lowest bits; above them the sets of the operands but the last one. */
enum { LEAF = 0, BESIDE = 1, ABOVE = 2, WHEEL = 3, KINDS = 2 /* bits */ };

typedef struct {
    int32_t size;
    double width, height; /* of the whole box */
    int32_t worker[MOST];
    double area[1 << MOST]; /* of each set */
    hs__hull_table hulls;   /* by set */
    hs__hull best, spare, chain, chain2;
    hs__boxes boxes;        /* of the set that is filled */
    int32_t *plan, length;
} subsets;

static const hs__point *points_of(const subsets *t, uint32_t set) { return t->hulls.points + t->hulls.start[set]; }

static hs_status lower_by_cut(subsets *t, uint32_t all, uint32_t first)
{
    const uint32_t second = all ^ first;
    const int32_t a_count = t->hulls.count[first], b_count = t->hulls.count[second];
    const double share = t->area[first] / t->area[all], rest = t->area[second] / t->area[all];
    const uint64_t how = (uint64_t)first << KINDS;
    if (hs__hull_reserve(&t->chain, a_count + b_count)) return HS_ERROR_MEMORY;
    hs__point *chain = t->chain.points;
    int32_t count = hs__hull_sum(points_of(t, first), a_count, share, 1.0, points_of(t, second), b_count, rest, 1.0, how | BESIDE, chain);
    hs_status status = hs__hull_lower(&t->best, &t->spare, chain, count, &t->boxes);
    if (status) return status;
    count = hs__hull_sum(points_of(t, first), a_count, 1.0, share, points_of(t, second), b_count, 1.0, rest, how | ABOVE, chain);
    return hs__hull_lower(&t->best, &t->spare, chain, count, &t->boxes);
}

static hs_status lower_by_wheel(subsets *t, uint32_t all, const uint32_t part[5])
{
    double area[5], width[5], height[5];
    uint64_t how = WHEEL;
    int32_t capacity = 0;
    for (int c = 0; c < 5; c++) {
        area[c] = t->area[part[c]] / t->area[all];
        capacity += t->hulls.count[part[c]];
        if (c < 4) how |= (uint64_t)part[c] << (KINDS + MOST_WITH_WHEELS * c);
    }
    hs__wheel_of(area, width, height);
    if (hs__hull_reserve(&t->chain, capacity) || hs__hull_reserve(&t->chain2, capacity)) return HS_ERROR_MEMORY;
    hs__point *sum = t->chain.points, *next = t->chain2.points;
    int32_t count = hs__hull_sum(points_of(t, part[0]), t->hulls.count[part[0]], width[0], height[0], points_of(t, part[1]),
                                 t->hulls.count[part[1]], width[1], height[1], how, sum);
    for (int c = 2; c < 5; c++) {
        count = hs__hull_sum(sum, count, 1.0, 1.0, points_of(t, part[c]), t->hulls.count[part[c]], width[c], height[c], how, next);
        hs__point *swap = sum;
        sum = next, next = swap;
    }
    return hs__hull_lower(&t->best, &t->spare, sum, count, &t->boxes);
}

/* All ways to deal a set to the five places; half a turn of the wheel changes nothing, so the lowest worker is not at the bottom
 * or on the left. Turned over, the wheel is the same with its arms dealt otherwise. */
static hs_status lower_by_wheels(subsets *t, uint32_t all, const int *cancel)
{
    const uint32_t lowest = all & -all;
    for (uint32_t top = (all - 1) & all; top; top = (top - 1) & all) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        const uint32_t left4 = all ^ top;
        for (uint32_t right = (left4 - 1) & left4; right; right = (right - 1) & left4) {
            const uint32_t left3 = left4 ^ right, free3 = left3 & ~lowest;
            for (uint32_t bottom = free3; bottom; bottom = (bottom - 1) & free3) {
                const uint32_t left2 = left3 ^ bottom, free2 = left2 & ~lowest;
                for (uint32_t left = free2; left; left = (left - 1) & free2) {
                    if (left == left2) continue;
                    hs_status status = lower_by_wheel(t, all, (uint32_t[]){top, right, bottom, left, left2 ^ left});
                    if (status) return status;
                }
            }
        }
    }
    return HS_OK;
}

static hs_status fill(subsets *t, bool wheels, const int *cancel)
{
    for (uint32_t all = 1; all < UINT32_C(1) << t->size; all++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        if ((all & (all - 1)) == 0) continue; /* the leaves are in */
        const uint32_t lowest = all & -all, rest = all ^ lowest;
        hs_status status = HS_OK;
        t->best.count = 0;
        t->boxes = hs__boxes_of(t->area[all], t->width, t->height);
        for (uint32_t others = (rest - 1) & rest; !status; others = (others - 1) & rest) { /* without `rest`, down to the empty set */
            status = lower_by_cut(t, all, lowest | others);
            if (others == 0) break;
        }
        if (!status && wheels && __builtin_popcount(all) >= 5) status = lower_by_wheels(t, all, cancel);
        if (!status) status = hs__hull_table_add(&t->hulls, all, &t->best);
        if (status) return status;
    }
    return HS_OK;
}

static void write(subsets *t, uint32_t set, double width, double height)
{
    const hs__point *point = hs__hull_best(points_of(t, set), t->hulls.count[set], width, height);
    const uint64_t operands = point->how >> KINDS;
    switch (point->how & ((1 << KINDS) - 1)) {
    case LEAF: t->plan[t->length++] = t->worker[operands]; break;
    case WHEEL: {
        uint32_t part[5] = {0, 0, 0, 0, set};
        double area[5], w[5], h[5];
        for (int c = 0; c < 4; c++) {
            part[c] = operands >> (MOST_WITH_WHEELS * c) & ((1 << MOST_WITH_WHEELS) - 1);
            part[4] ^= part[c];
        }
        for (int c = 0; c < 5; c++) area[c] = t->area[part[c]] / t->area[set];
        hs__wheel_of(area, w, h);
        for (int c = 0; c < 5; c++) write(t, part[c], width * w[c], height * h[c]);
        t->plan[t->length++] = HS_WHEEL;
        break;
    }
    default: {
        const uint32_t first = (uint32_t)operands;
        const bool above = (point->how & ABOVE) != 0;
        const double share = t->area[first] / t->area[set], rest = t->area[set ^ first] / t->area[set];
        write(t, first, above ? width : width * share, above ? height * share : height);
        write(t, set ^ first, above ? width : width * rest, above ? height * rest : height);
        t->plan[t->length++] = above ? HS_ABOVE : HS_BESIDE;
    }
    }
}

hs_status hs_partition_guillotine(int32_t p, const double *areas, const double *weights, double aspect, int32_t wheels,
                                  const int *cancel, int32_t *plan, int32_t *length, double *cost)
{
    if (!areas || !plan || !length || !cost) return HS_ERROR_VALUE;
    int32_t size;
    const double total = hs__partition_total(p, areas, weights, aspect, &size);
    if (!(total > 0.0)) return HS_ERROR_VALUE;
    if (size > (wheels ? MOST_WITH_WHEELS : MOST)) return HS_ERROR_UNSUPPORTED;
    const double unit = hs__weight_unit(p, weights);
    subsets *t = calloc(1, sizeof *t);
    int32_t *order = malloc((size_t)p * sizeof *order);
    hs_status status = t && order ? HS_OK : HS_ERROR_MEMORY;
    if (!status) status = hs__sort_positive(p, areas, order, &size);
    if (!status) status = hs__hull_table_init(&t->hulls, INT64_C(1) << size);
    if (!status) t->size = size, t->width = sqrt(aspect), t->height = 1.0 / sqrt(aspect), t->plan = plan;
    for (int32_t k = 0; k < size && !status; k++) {
        const double weight = weights ? weights[order[k]] / unit : 1.0;
        hs__point leaf = {weight, weight, (uint64_t)k << KINDS | LEAF};
        t->worker[k] = order[k];
        t->area[1 << k] = hs__share(areas[order[k]], total);
        status = hs__hull_table_add(&t->hulls, 1 << k, &(hs__hull){.points = &leaf, .count = 1});
    }
    if (!status) {
        for (uint32_t set = 1; set < UINT32_C(1) << size; set++) t->area[set] = t->area[set & (set - 1)] + t->area[set & -set];
        status = fill(t, wheels, cancel);
    }
    if (!status) {
        const uint32_t all = (UINT32_C(1) << size) - 1;
        const hs__point *best = hs__hull_best(points_of(t, all), t->hulls.count[all], t->width, t->height);
        *cost = (best->across * t->width + best->down * t->height) * unit;
        write(t, all, t->width, t->height);
        *length = t->length;
    }
    if (t) {
        hs__hull_table_free(&t->hulls);
        hs__hull_free(&t->best), hs__hull_free(&t->spare), hs__hull_free(&t->chain), hs__hull_free(&t->chain2);
    }
    free(t), free(order);
    return status;
}
