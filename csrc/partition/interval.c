#include "partition/interval.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/sort.h"
#include "partition/floorplan.h"
#include "partition/hull.h"

enum { MOST = 1024 };

/* Fills all intervals of more than one leaf; the leaves' hulls are in. */
static hs_status fill_intervals(hs__hulls *t, int32_t size, const int *cancel)
{
    for (int32_t j = 2; j <= size; j++)
        for (int32_t i = j - 2; i >= 0; i--) {
            const int64_t all = hs__interval(i, j);
            hs_status status = hs__cancelled(cancel) ? HS_ERROR_CANCELLED : HS_OK;
            hs__hulls_begin(t, all);
            for (int32_t cut = i + 1; cut < j && !status; cut++)
                status = hs__hulls_cut(t, all, hs__interval(i, cut), hs__interval(cut, j), 2 * (uint64_t)cut);
            if (!status) status = hs__hulls_end(t, all);
            if (status) return status;
        }
    return HS_OK;
}

/* ---- groups, and the floorplan back from the hulls ----------------------------------------------------------------- */

/* The workers in lists: one for each group in a table of its own, or all in one. */
typedef struct {
    const int32_t *worker; /* of each leaf */
    int32_t size;
    hs__hulls table;
} list;

/* The workers of the elements i .. j - 1, which are lists where there is no worker. */
static int32_t workers_in(const list *lists, const int32_t *worker, int32_t i, int32_t j)
{
    if (worker) return j - i;
    int32_t count = 0;
    for (; i < j; i++) count += lists[i].size;
    return count;
}

/* The floorplan of the elements i .. j - 1, from plan on. The smaller part of a cut is done first: the recursion is no deeper than
 * log2(workers). */
static void write(const list *lists, const hs__hulls *t, const int32_t *worker, int32_t i, int32_t j, double width, double height,
                  int32_t *plan)
{
    while (!worker || j > i + 1) {
        if (j == i + 1) {
            const list *inner = &lists[i];
            t = &inner->table, worker = inner->worker, i = 0, j = inner->size;
            continue;
        }
        const int64_t all = hs__interval(i, j);
        const hs__point *point = hs__hulls_best(t, all, width, height);
        const int32_t cut = (int32_t)(point->how / 2), first = workers_in(lists, worker, i, cut), second = workers_in(lists, worker, cut, j);
        const double share = t->area[hs__interval(i, cut)] / t->area[all], rest = t->area[hs__interval(cut, j)] / t->area[all];
        const bool above = point->how % 2;
        const double first_width = above ? width : width * share, first_height = above ? height * share : height;
        const double second_width = above ? width : width * rest, second_height = above ? height * rest : height;
        plan[2 * (first + second) - 2] = above ? HS_ABOVE : HS_BESIDE;
        if (first <= second) {
            write(lists, t, worker, i, cut, first_width, first_height, plan);
            i = cut, width = second_width, height = second_height, plan += 2 * first - 1;
        } else {
            write(lists, t, worker, cut, j, second_width, second_height, plan + 2 * first - 1);
            j = cut, width = first_width, height = first_height;
        }
    }
    *plan = worker[i];
}

static hs_status fill_list(list *l, const double *areas, const double *weights, double total, double unit, double aspect, const int *cancel)
{
    double *own = malloc((size_t)l->size * sizeof *own);
    hs_status status = hs__hulls_init(&l->table, hs__interval(0, l->size + 1), aspect);
    if (!own) status = HS_ERROR_MEMORY;
    for (int32_t k = 0; k < l->size && !status; k++) own[k] = hs__share(areas[l->worker[k]], total);
    if (!status) hs__interval_areas(l->size, own, l->table.area);
    for (int32_t k = 0; k < l->size && !status; k++)
        status = hs__hulls_leaf(&l->table, hs__interval(k, k + 1), weights ? weights[l->worker[k]] / unit : 1.0, 0);
    if (!status) status = fill_intervals(&l->table, l->size, cancel);
    free(own);
    return status;
}

/* The table over whole lists: a leaf is a list's hull, with the list's own half perimeter on top. */
static hs_status fill_outer(hs__hulls *outer, const list *lists, int32_t count, double group_weight, double aspect, const int *cancel)
{
    double *areas = calloc((size_t)count, sizeof *areas);
    hs_status status = hs__hulls_init(outer, hs__interval(0, count + 1), aspect);
    if (!areas) status = HS_ERROR_MEMORY;
    for (int32_t g = 0; g < count && !status; g++) areas[g] = lists[g].table.area[hs__interval(0, lists[g].size)];
    if (!status) hs__interval_areas(count, areas, outer->area);
    for (int32_t g = 0; g < count && !status; g++) {
        const int64_t all = hs__interval(0, lists[g].size);
        status = hs__hulls_copy(outer, hs__interval(g, g + 1), hs__hulls_points(&lists[g].table, all), lists[g].table.table.count[all], group_weight);
    }
    if (!status) status = fill_intervals(outer, count, cancel);
    free(areas);
    return status;
}

/* Brings the workers of a group together, groups by ascending area; first[g] is where list g starts. Keeps the order inside. */
static hs_status by_group(int32_t p, const double *areas, const int32_t *groups, int32_t size, int32_t *order, int32_t *first, int32_t *lists)
{
    for (int32_t i = 0; i < p; i++)
        if (groups[i] < 0 || groups[i] >= p) return HS_ERROR_VALUE;
    double *sums = calloc((size_t)p, sizeof *sums);
    int32_t *rank = malloc(3 * (size_t)p * sizeof *rank);
    hs_status status = sums && rank ? HS_OK : HS_ERROR_MEMORY;
    for (int32_t k = 0; k < size && !status; k++) sums[groups[order[k]]] += areas[order[k]];
    if (!status) status = hs__sort_positive(p, sums, rank, lists);
    if (!status) {
        int32_t *place = rank + p, *old = rank + 2 * p;
        for (int32_t k = 0; k < size; k++) old[k] = order[k];
        for (int32_t g = 0; g < *lists; g++) place[rank[g]] = g;
        for (int32_t g = 0; g <= *lists; g++) first[g] = 0;
        for (int32_t k = 0; k < size; k++) first[place[groups[old[k]]] + 1]++;
        for (int32_t g = 0; g < *lists; g++) first[g + 1] += first[g];
        for (int32_t k = 0; k < size; k++) order[first[place[groups[old[k]]]]++] = old[k];
        for (int32_t g = *lists; g > 0; g--) first[g] = first[g - 1];
        first[0] = 0;
    }
    free(sums), free(rank);
    return status;
}

hs_status hs_partition_interval(int32_t p, const double *areas, const double *weights, double aspect, const int32_t *order,
                                const int32_t *groups, double group_weight, const int *cancel, int32_t *plan, int32_t *length,
                                double *cost)
{
    if (!areas || !plan || !length || !cost) return HS_ERROR_VALUE;
    int32_t size;
    const double total = hs__partition_total(p, areas, weights, aspect, &size);
    if (!(total > 0.0) || (groups && !(group_weight >= 0.0 && isfinite(group_weight)))) return HS_ERROR_VALUE;
    if (size > MOST) return HS_ERROR_UNSUPPORTED;

    double unit = hs__weight_unit(p, weights);
    if (groups && group_weight > 0.0) unit = fmax(unit, hs__weight_unit(1, &group_weight));
    int32_t *own = malloc((size_t)p * sizeof *own), *first = malloc(((size_t)p + 1) * sizeof *first);
    list *lists = calloc((size_t)p, sizeof *lists);
    hs__hulls outer = {0};
    hs_status status = own && first && lists ? HS_OK : HS_ERROR_MEMORY;
    int32_t listed = 1;
    if (!status) status = hs__order_workers(p, areas, order, size, own);
    if (!status && groups) status = by_group(p, areas, groups, size, own, first, &listed);
    else if (!status) first[0] = 0, first[1] = size;
    for (int32_t g = 0; g < listed && !status; g++) {
        lists[g].worker = own + first[g], lists[g].size = first[g + 1] - first[g];
        status = fill_list(&lists[g], areas, weights, total, unit, aspect, cancel);
    }
    if (!status && groups) status = fill_outer(&outer, lists, listed, group_weight / unit, aspect, cancel);
    if (!status) {
        const hs__hulls *top = groups ? &outer : &lists[0].table;
        const int32_t leaves = groups ? listed : size;
        write(lists, top, groups ? NULL : lists[0].worker, 0, leaves, top->width, top->height, plan);
        *length = 2 * size - 1;
        *cost = hs__hulls_cost(top, hs__interval(0, leaves)) * unit;
    }
    for (int32_t g = 0; lists && g < p; g++) hs__hulls_free(&lists[g].table);
    hs__hulls_free(&outer);
    free(own), free(first), free(lists);
    return status;
}
