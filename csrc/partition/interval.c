/* hs_partition_interval: the best trees of the intervals of a list, from the hulls of all
 * intervals, or of the selected ones of hs__runs. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/sort.h"
#include "core/status.h"
#include "partition/floorplan.h"
#include "partition/hull.h"
#include "partition/runs.h"

/* The hulls of the intervals of a list. */
typedef struct {
    hs__runs runs;
    hs__hulls hulls;
} table;

static void free_table(table *t)
{
    hs__runs_free(&t->runs);
    hs__hulls_free(&t->hulls);
}

/* Initialises a table with the areas of all intervals; for the costs of the leaves see
 * hs__runs_init. */
static hs_status init_table(table *t, int32_t size, int32_t reach, const double *areas,
                            const double *costs, double aspect)
{
    hs_status status = hs__runs_init(&t->runs, size, reach ? reach : size, costs);
    if (!status) status = hs__hulls_init(&t->hulls, hs__runs_sets(&t->runs), aspect);
    if (!status) hs__runs_areas(&t->runs, areas, t->hulls.area);
    return status;
}

/* Computes the hull of an interval of several leaves from the hulls of its parts. Cuts lie between
 * cells of the interval's lowest level. */
static hs_status fill_run(table *t, hs__run run)
{
    const int64_t all = hs__run_place(&t->runs, run);
    hs__hulls_begin(&t->hulls, all);
    for (int32_t cut = run.from + 1; cut < run.to; cut++) {
        const int64_t first = hs__run_set(&t->runs, (hs__run){run.level, run.from, cut});
        const int64_t second = hs__run_set(&t->runs, (hs__run){run.level, cut, run.to});
        const hs_status status = hs__hulls_cut(&t->hulls, all, first, second, 2 * (uint64_t)cut);
        if (status) return status;
    }
    const hs_status status = hs__hulls_turn(&t->hulls);
    if (status) return status;
    return hs__hulls_end(&t->hulls, all);
}

/* Computes the hulls of all intervals of several leaves; the hulls of the leaves are already
 * there. */
static hs_status fill_table(table *t, const int *cancel)
{
    for (int32_t level = 0; level < t->runs.levels; level++)
        for (int32_t j = 2; j <= t->runs.cells[level]; j++)
            for (int32_t i = j - 2; i >= 0 && j - i <= t->runs.reach; i--) {
                const hs__run run = {level, i, j};
                if (hs__run_lowest(&t->runs, run).level < level) continue;
                hs_status status = hs__check_cancel(cancel);
                if (!status) status = fill_run(t, run);
                if (status) return status;
            }
    return HS_OK;
}

/* ---- groups, and the floorplan from the hulls ------------------------------------------------ */

/* Lists of workers: one list for each group with a table of its own, or one for all. */
typedef struct {
    const int32_t *worker; /* of each leaf */
    int32_t size;
    table table;
} list;

/* Counts the workers in a run of leaves; without `worker`, the leaves are lists. */
static int32_t workers_in(const list *lists, const table *t, const int32_t *worker, hs__run run)
{
    while (run.level > 0) run = hs__run_below(&t->runs, run);
    if (worker) return run.to - run.from;
    int32_t count = 0;
    for (int32_t g = run.from; g < run.to; g++) count += lists[g].size;
    return count;
}

/* Writes the floorplan of a run, starting at plan. The smaller part of a cut is done first, so the
 * recursion is no deeper than log2(workers). */
static void write_run(const list *lists, const table *t, const int32_t *worker, hs__run run,
                      double width, double height, int32_t *plan)
{
    for (;;) {
        run = hs__run_lowest(&t->runs, run);
        if (run.level == 0 && run.to == run.from + 1) {
            if (worker) break;
            const list *inner = &lists[run.from];
            t = &inner->table;
            worker = inner->worker;
            run = hs__run_whole(&t->runs);
            continue;
        }
        const int64_t all = hs__run_place(&t->runs, run);
        const hs__point *point = hs__hulls_best(&t->hulls, all, width, height);
        const int32_t cut = (int32_t)(point->how / 2);
        const hs__run left = {run.level, run.from, cut};
        const hs__run right = {run.level, cut, run.to};
        const int32_t first = workers_in(lists, t, worker, left);
        const int32_t second = workers_in(lists, t, worker, right);
        const double *area = t->hulls.area;
        const double share = area[hs__run_set(&t->runs, left)] / area[all];
        const double rest = area[hs__run_set(&t->runs, right)] / area[all];
        const bool above = point->how % 2;
        const double first_width = hs__part_side(width, !above, share);
        const double first_height = hs__part_side(height, above, share);
        const double second_width = hs__part_side(width, !above, rest);
        const double second_height = hs__part_side(height, above, rest);
        plan[2 * (first + second) - 2] = hs__cut_op(above);
        if (first <= second) {
            write_run(lists, t, worker, left, first_width, first_height, plan);
            run = right;
            width = second_width;
            height = second_height;
            plan += 2 * (ptrdiff_t)first - 1;
        } else {
            write_run(lists, t, worker, right, second_width, second_height,
                      plan + 2 * (ptrdiff_t)first - 1);
            run = left;
            width = first_width;
            height = first_height;
        }
    }
    *plan = worker[run.from];
}

/* Common arguments of all lists; weights are in units of `unit`. */
typedef struct {
    const double *areas, *weights;
    double total, unit, aspect;
    int32_t reach;
    const int *cancel;
} request;

static double weight_of(const request *r, int32_t worker)
{
    return (r->weights ? r->weights[worker] : 1.0) / r->unit;
}

static hs_status fill_list(list *l, const request *r)
{
    double *own = malloc(2 * (size_t)l->size * sizeof *own);
    double *costs = own + l->size;
    if (!own) return HS_ERROR_MEMORY;
    for (int32_t k = 0; k < l->size; k++) {
        own[k] = hs__share(r->areas[l->worker[k]], r->total);
        costs[k] = weight_of(r, l->worker[k]) * sqrt(own[k]);
    }
    hs_status status = init_table(&l->table, l->size, r->reach, own, costs, r->aspect);
    hs__hulls *hulls = &l->table.hulls;
    for (int32_t k = 0; k < l->size && !status; k++)
        status = hs__hulls_leaf(hulls, hs__run_set(&l->table.runs, hs__run_leaf(k)),
                                weight_of(r, l->worker[k]), 0);
    if (!status) status = fill_table(&l->table, r->cancel);
    free(own);
    return status;
}

/* Fills the table over whole lists: a leaf is the hull of a list, plus the half perimeter of the
 * list itself. */
static hs_status fill_outer(table *outer, const list *lists, int32_t count, double group_weight,
                            const request *r)
{
    double *areas = malloc(2 * (size_t)count * sizeof *areas);
    double *costs = areas + count;
    if (!areas) return HS_ERROR_MEMORY;
    for (int32_t g = 0; g < count; g++) {
        const table *own = &lists[g].table;
        areas[g] = own->hulls.area[hs__run_set(&own->runs, hs__run_whole(&own->runs))];
        costs[g] = sqrt(areas[g]);
    }
    hs_status status = init_table(outer, count, r->reach, areas, costs, r->aspect);
    for (int32_t g = 0; g < count && !status; g++) {
        const table *own = &lists[g].table;
        const int64_t all = hs__run_set(&own->runs, hs__run_whole(&own->runs));
        const int64_t leaf = hs__run_set(&outer->runs, hs__run_leaf(g));
        status = hs__hulls_copy(&outer->hulls, leaf, hs__hulls_points(&own->hulls, all),
                                own->hulls.table.count[all], group_weight);
    }
    if (!status) status = fill_table(outer, r->cancel);
    free(areas);
    return status;
}

/* Brings the workers of a group together, groups by ascending area; first[g] is the start of list
 * g. Keeps the order within groups. */
static hs_status by_group(int32_t p, const double *areas, const int32_t *groups, int32_t size,
                          int32_t *order, int32_t *first, int32_t *lists)
{
    for (int32_t i = 0; i < p; i++)
        if (groups[i] < 0 || groups[i] >= p) return HS_ERROR_VALUE;
    double *sums = calloc((size_t)p, sizeof *sums);
    int32_t *rank = malloc(3 * (size_t)p * sizeof *rank);
    hs_status status = hs__check_memory(sums && rank);
    for (int32_t k = 0; k < size && !status; k++) sums[groups[order[k]]] += areas[order[k]];
    if (!status) status = hs__sort_positive(p, sums, rank, lists);
    if (!status) {
        int32_t *place = rank + p;
        int32_t *old = place + p;
        for (int32_t k = 0; k < size; k++) old[k] = order[k];
        for (int32_t g = 0; g < *lists; g++) place[rank[g]] = g;
        for (int32_t g = 0; g <= *lists; g++) first[g] = 0;
        for (int32_t k = 0; k < size; k++) first[place[groups[old[k]]] + 1]++;
        for (int32_t g = 0; g < *lists; g++) first[g + 1] += first[g];
        for (int32_t k = 0; k < size; k++) order[first[place[groups[old[k]]]]++] = old[k];
        for (int32_t g = *lists; g > 0; g--) first[g] = first[g - 1];
        first[0] = 0;
    }
    free(sums);
    free(rank);
    return status;
}

hs_status hs_partition_interval(int32_t p, const double *areas, const double *weights,
                                double aspect, const int32_t *order, const int32_t *groups,
                                double group_weight, int32_t reach, const int *cancel,
                                int32_t *plan, int32_t *length, double *cost)
{
    if (!areas || !plan || !length || !cost || reach < 0 || reach == 1) return HS_ERROR_VALUE;
    int32_t size;
    const double total = hs__partition_total(p, areas, weights, aspect, &size);
    if (!(total > 0.0) || (groups && !(group_weight >= 0.0 && isfinite(group_weight))))
        return HS_ERROR_VALUE;
    if (reach > HS_INTERVAL_MOST || (reach == 0 && size > HS_INTERVAL_MOST))
        return HS_ERROR_UNSUPPORTED;

    request r = {.areas = areas,
                 .weights = weights,
                 .total = total,
                 .aspect = aspect,
                 .reach = reach,
                 .cancel = cancel};
    r.unit = hs__weight_unit(p, weights);
    if (groups && group_weight > 0.0) r.unit = fmax(r.unit, hs__weight_unit(1, &group_weight));
    int32_t *own = malloc((size_t)p * sizeof *own);
    int32_t *first = malloc(((size_t)p + 1) * sizeof *first);
    list *lists = calloc(groups ? (size_t)p : 1, sizeof *lists);
    table outer = {0};
    hs_status status = hs__check_memory(own && first && lists);
    int32_t listed = 1;
    if (!status) status = hs__order_workers(p, areas, order, size, own);
    if (!status && groups) status = by_group(p, areas, groups, size, own, first, &listed);
    else if (!status) {
        first[0] = 0;
        first[1] = size;
    }
    for (int32_t g = 0; g < listed && !status; g++) {
        lists[g].worker = own + first[g];
        lists[g].size = first[g + 1] - first[g];
        status = fill_list(&lists[g], &r);
    }
    if (!status && groups) status = fill_outer(&outer, lists, listed, group_weight / r.unit, &r);
    if (!status) {
        const table *top = groups ? &outer : &lists[0].table;
        const hs__run whole = hs__run_whole(&top->runs);
        write_run(lists, top, groups ? NULL : lists[0].worker, whole, top->hulls.width,
                  top->hulls.height, plan);
        *length = 2 * size - 1;
        *cost = hs__hulls_cost(&top->hulls, hs__run_set(&top->runs, whole)) * r.unit;
    }
    for (int32_t g = 0; lists && g < listed; g++) free_table(&lists[g].table);
    free_table(&outer);
    free(own);
    free(first);
    free(lists);
    return status;
}
