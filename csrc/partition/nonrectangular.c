/* hs_partition_nonrectangular: interval floorplans in which one worker may own a box around a
 * corner for the other workers. A corner costs the same in every box that it fits in. So a
 * floorplan of a set is a point (across, down, fixed) with the range of widths that it fits: its
 * cost in a box of the set's area is across * width + down * height + fixed. The best floorplans
 * are found for a grid of widths. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "partition/floorplan.h"
#include "partition/interval.h"

enum { WIDTHS = 33, SHAPES = WIDTHS + 1 };
static const double STEEPEST = 64.0; /* widest box: width / height */

typedef struct {
    double across, down, fixed;
    double least_width, most_width;
    int32_t cut;
    int32_t op; /* HS_ABOVE, HS_BESIDE, HS_AROUND, or 0 for a leaf */
} shape;

typedef struct {
    int32_t size;
    int32_t *worker;
    double *weight;
    double *area;   /* area of each interval */
    shape *shapes;  /* [SHAPES] for each interval; the first one fits every box */
    int32_t *count; /* number of shapes of each interval */
    double stretch[WIDTHS];
    int32_t *plan;
} table;

static shape *shapes_of(const table *t, int64_t set) { return t->shapes + SHAPES * set; }

static double cost_in(const shape *s, double width, double height)
{
    if (width < s->least_width || width > s->most_width) return INFINITY;
    return s->across * width + s->down * height + s->fixed;
}

static const shape *best_in(const table *t, int64_t set, double width, double height, double *cost)
{
    const shape *all = shapes_of(t, set);
    const shape *best = all;
    *cost = cost_in(all, width, height);
    for (int32_t k = 1; k < t->count[set]; k++) {
        double here = cost_in(&all[k], width, height);
        if (here < *cost) {
            *cost = here;
            best = &all[k];
        }
    }
    return best;
}

/* Finds the contents of a corner at their best width; the cost is INFINITY if no shape fits at its
 * best width. */
static const shape *best_corner(const table *t, int64_t set, double *width, double *cost)
{
    const shape *all = shapes_of(t, set);
    const shape *best = NULL;
    const double area = t->area[set];
    *cost = INFINITY;
    for (int32_t k = 0; k < t->count[set]; k++) {
        const double here = sqrt(area * all[k].down / all[k].across);
        const double least = cost_in(&all[k], here, area / here);
        if (least < *cost) {
            *cost = least;
            *width = here;
            best = &all[k];
        }
    }
    return best;
}

static shape join_shapes(const shape *a, const shape *b, int32_t op, int32_t cut, double share,
                         double rest)
{
    const double xa = op == HS_BESIDE ? share : 1.0, xb = op == HS_BESIDE ? rest : 1.0;
    const double ya = op == HS_BESIDE ? 1.0 : share, yb = op == HS_BESIDE ? 1.0 : rest;
    return (shape){.across = a->across * xa + b->across * xb,
                   .down = a->down * ya + b->down * yb,
                   .fixed = a->fixed + b->fixed,
                   .least_width = fmax(a->least_width / xa, b->least_width / xb),
                   .most_width = fmin(a->most_width / xa, b->most_width / xb),
                   .cut = cut,
                   .op = op};
}

/* Finds the shape that is cheapest in a square, among the shapes with parts that fit every box. */
static shape find_unlimited(const table *t, int32_t i, int32_t j)
{
    const double area = t->area[hs__interval(i, j)], side = sqrt(area);
    shape found = {0};
    for (int32_t cut = i + 1; cut < j; cut++) {
        const int64_t left = hs__interval(i, cut), right = hs__interval(cut, j);
        const double share = t->area[left] / area, rest = t->area[right] / area;
        const shape beside =
            join_shapes(shapes_of(t, left), shapes_of(t, right), HS_BESIDE, cut, share, rest);
        const shape above =
            join_shapes(shapes_of(t, left), shapes_of(t, right), HS_ABOVE, cut, share, rest);
        if (cut == i + 1 || cost_in(&beside, side, side) < cost_in(&found, side, side))
            found = beside;
        if (cost_in(&above, side, side) < cost_in(&found, side, side)) found = above;
    }
    return found;
}

static void solve_interval(table *t, int32_t i, int32_t j)
{
    const int64_t all = hs__interval(i, j), others = hs__interval(i, j - 1);
    const double area = t->area[all], owner = t->weight[j - 1];
    double corner_width = 0.0;
    double corner_cost;
    const shape *corner = best_corner(t, others, &corner_width, &corner_cost);
    const double corner_height = corner ? t->area[others] / corner_width : 0.0;
    shape *out = shapes_of(t, all);
    int32_t count = 1;
    out[0] = find_unlimited(t, i, j);
    for (int k = 0; k < WIDTHS; k++) {
        const double width = sqrt(area) * t->stretch[k], height = area / width;
        double least = INFINITY;
        shape found = {0};
        for (int32_t cut = i + 1; cut < j; cut++) {
            const int64_t left = hs__interval(i, cut), right = hs__interval(cut, j);
            const double share = t->area[left] / area, rest = t->area[right] / area;
            double first_cost, second_cost;
            const shape *a = best_in(t, left, width * share, height, &first_cost);
            const shape *b = best_in(t, right, width * rest, height, &second_cost);
            if (first_cost + second_cost < least) {
                least = first_cost + second_cost;
                found = join_shapes(a, b, HS_BESIDE, cut, share, rest);
            }
            a = best_in(t, left, width, height * share, &first_cost);
            b = best_in(t, right, width, height * rest, &second_cost);
            if (first_cost + second_cost < least) {
                least = first_cost + second_cost;
                found = join_shapes(a, b, HS_ABOVE, cut, share, rest);
            }
        }
        if (corner && corner_width < width && corner_height < height &&
            owner * (width + height) + corner_cost < least) {
            least = owner * (width + height) + corner_cost;
            found = (shape){.across = owner,
                            .down = owner,
                            .fixed = corner_cost,
                            .least_width = corner_width,
                            .most_width = area / corner_height,
                            .cut = j - 1,
                            .op = HS_AROUND};
        }
        bool again = false;
        for (int32_t c = 0; c < count && !again; c++)
            again = out[c].across == found.across && out[c].down == found.down &&
                    out[c].fixed == found.fixed;
        if (!again && least < INFINITY) out[count++] = found;
    }
    t->count[all] = count;
}

/* Writes the floorplan of the interval i .. j - 1, starting at plan. The smaller part of a cut is
 * done first, so the recursion is no deeper than log2(workers). */
static void write_plan(table *t, int32_t i, int32_t j, double width, double height, int32_t *plan)
{
    while (j > i + 1) {
        double cost, corner_width;
        const shape found = *best_in(t, hs__interval(i, j), width, height, &cost);
        const double area = t->area[hs__interval(i, j)];
        const double first = t->area[hs__interval(i, found.cut)];
        plan[2 * (j - i) - 2] = found.op;
        if (found.op == HS_AROUND) {
            best_corner(t, hs__interval(i, j - 1), &corner_width, &cost);
            plan[2 * (j - i) - 3] = t->worker[j - 1];
            width = corner_width;
            height = first / corner_width;
            j--;
            continue;
        }
        const bool above = found.op == HS_ABOVE;
        const double share = first / area, rest = t->area[hs__interval(found.cut, j)] / area;
        const double first_width = above ? width : width * share;
        const double first_height = above ? height * share : height;
        const double second_width = above ? width : width * rest;
        const double second_height = above ? height * rest : height;
        int32_t *const second = plan + 2 * (ptrdiff_t)(found.cut - i) - 1;
        if (found.cut - i <= j - found.cut) {
            write_plan(t, i, found.cut, first_width, first_height, plan);
            i = found.cut;
            width = second_width;
            height = second_height;
            plan = second;
        } else {
            write_plan(t, found.cut, j, second_width, second_height, second);
            j = found.cut;
            width = first_width;
            height = first_height;
        }
    }
    *plan = t->worker[i];
}

hs_status hs_partition_nonrectangular(int32_t p, const double *areas, const double *weights,
                                      double aspect, const int32_t *order, const int *cancel,
                                      int32_t *plan, int32_t *length, double *cost)
{
    if (!areas || !plan || !length || !cost) return HS_ERROR_VALUE;
    int32_t size;
    const double total = hs__partition_total(p, areas, weights, aspect, &size);
    if (!(total > 0.0)) return HS_ERROR_VALUE;
    if (size > HS_AROUND_MOST) return HS_ERROR_UNSUPPORTED;
    const size_t sets = (size_t)hs__interval(0, size + 1);
    table t = {.size = size};
    t.worker = malloc((size_t)p * sizeof *t.worker);
    t.weight = malloc((size_t)size * sizeof *t.weight);
    t.area = malloc(sets * sizeof *t.area);
    t.count = calloc(sets, sizeof *t.count);
    t.shapes = malloc(sets * SHAPES * sizeof *t.shapes);
    t.plan = malloc(2 * (size_t)size * sizeof *t.plan);
    hs_status status =
        t.worker && t.weight && t.area && t.count && t.shapes && t.plan ? HS_OK : HS_ERROR_MEMORY;
    if (!status) status = hs__order_workers(p, areas, order, size, t.worker);
    for (int k = 0; k < WIDTHS; k++) t.stretch[k] = pow(STEEPEST, (double)k / (WIDTHS - 1) - 0.5);
    for (int32_t i = 0; i < size && !status; i++)
        t.weight[i] = hs__share(areas[t.worker[i]], total);
    if (!status) hs__interval_areas(size, t.weight, t.area);
    for (int32_t i = 0; i < size && !status; i++) {
        t.weight[i] = weights ? weights[t.worker[i]] : 1.0;
        *shapes_of(&t, hs__interval(i, i + 1)) =
            (shape){.across = t.weight[i], .down = t.weight[i], .most_width = INFINITY};
        t.count[hs__interval(i, i + 1)] = 1;
    }
    for (int32_t j = 2; j <= size && !status; j++)
        for (int32_t i = j - 2; i >= 0 && !status; i--) {
            if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
            else solve_interval(&t, i, j);
        }
    if (!status) write_plan(&t, 0, size, sqrt(aspect), 1.0 / sqrt(aspect), t.plan);
    /* the cost is computed from the lengths */
    if (!status) status = hs__floorplan_cost(p, areas, weights, aspect, t.plan, 2 * size - 1, cost);
    if (!status) {
        *length = 2 * size - 1;
        memcpy(plan, t.plan, (size_t)*length * sizeof *plan);
    }
    free(t.worker);
    free(t.weight);
    free(t.area);
    free(t.count);
    free(t.shapes);
    free(t.plan);
    return status;
}
