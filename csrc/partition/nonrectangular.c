/* hs_partition_nonrectangular: interval floorplans in which one worker may own a box around one
 * corner or two opposite corners for the other workers. A corner costs the same in every box that it fits in. So a
 * floorplan of a set is a point (across, down, fixed) with the range of widths that it fits: its
 * cost in a box of the set's area is across * width + down * height + fixed. The best floorplans
 * are found for a grid of widths. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/status.h"
#include "partition/floorplan.h"
#include "partition/interval.h"

enum { WIDTHS = 33, SHAPES = WIDTHS + 1 };
static const double STEEPEST = 64.0; /* widest box: width / height */

typedef struct {
    double across, down, fixed;
    double least_width, most_width;
    int32_t cut;
    int32_t op; /* HS_ABOVE, HS_BESIDE, HS_AROUND, HS_CORNERS, or 0 for a leaf */
} shape;

/* The contents of a corner with their best sides. */
typedef struct {
    double width, height, cost;
} corner;

typedef struct {
    int32_t size;
    int32_t *worker;
    double *weight;
    double *area;    /* area of each interval */
    shape *shapes;   /* [SHAPES] for each interval; the first one fits every box */
    int32_t *count;  /* number of shapes of each interval */
    corner *corners; /* of each interval */
    double stretch[WIDTHS];
    int32_t most_corners; /* that a zone may lie around */
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

/* Finds the shape of a set at its best width, for a corner; the cost is INFINITY if no shape fits at
 * its best width. */
static corner find_corner(const table *t, int64_t set)
{
    const shape *all = shapes_of(t, set);
    const double area = t->area[set];
    corner best = {.cost = INFINITY};
    for (int32_t k = 0; k < t->count[set]; k++) {
        const double width = sqrt(area * all[k].down / all[k].across);
        const double cost = cost_in(&all[k], width, area / width);
        if (cost < best.cost) best = (corner){width, area / width, cost};
    }
    return best;
}

static shape join_shapes(const shape *a, const shape *b, int32_t op, int32_t cut, double share,
                         double rest)
{
    const bool above = op == HS_ABOVE;
    const double xa = hs__part_side(1.0, !above, share);
    const double xb = hs__part_side(1.0, !above, rest);
    const double ya = hs__part_side(1.0, above, share);
    const double yb = hs__part_side(1.0, above, rest);
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
    const double area = t->area[hs__interval(i, j)];
    const double side = sqrt(area);
    shape found = {0};
    for (int32_t cut = i + 1; cut < j; cut++) {
        const int64_t left = hs__interval(i, cut);
        const int64_t right = hs__interval(cut, j);
        const double share = t->area[left] / area;
        const double rest = t->area[right] / area;
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

/* Finds the cheapest zone of the last worker of an interval around one corner that holds the other
 * workers, or around two opposite corners that share them, in a box of this width. Two corners must
 * be beside or above each other. */
static shape find_around(const table *t, int32_t i, int32_t j, double width, double *cost)
{
    const double area = t->area[hs__interval(i, j)];
    const double height = area / width;
    const double owner = t->weight[j - 1];
    shape found = {.across = owner, .down = owner};
    *cost = INFINITY;
    const int32_t last = t->most_corners > 1 ? i + 1 : j - 1;
    for (int32_t cut = j - 1; cut >= last; cut--) { /* first one corner: of equals it is taken */
        const bool two = cut < j - 1;
        const corner a = t->corners[hs__interval(i, cut)];
        const corner b = two ? t->corners[hs__interval(cut, j - 1)] : (corner){0};
        const double most = fmax(a.width, b.width);
        const double highest = fmax(a.height, b.height);
        const double here = a.cost + b.cost + owner * (width + height);
        if (!(here < *cost) || most >= width || highest >= height) continue;
        const bool beside = a.width + b.width <= width;
        if (!beside && a.height + b.height > height) continue;
        *cost = here;
        found.fixed = a.cost + b.cost;
        found.least_width = beside ? a.width + b.width : most;
        found.most_width = area / (beside ? highest : a.height + b.height);
        found.cut = cut;
        found.op = two ? HS_CORNERS : HS_AROUND;
    }
    return found;
}

static void solve_interval(table *t, int32_t i, int32_t j)
{
    const int64_t all = hs__interval(i, j);
    const double area = t->area[all];
    shape *out = shapes_of(t, all);
    int32_t count = 1;
    out[0] = find_unlimited(t, i, j);
    for (int k = 0; k < WIDTHS; k++) {
        const double width = sqrt(area) * t->stretch[k];
        const double height = area / width;
        double least;
        shape found = find_around(t, i, j, width, &least);
        for (int32_t cut = i + 1; cut < j; cut++) {
            const int64_t left = hs__interval(i, cut);
            const int64_t right = hs__interval(cut, j);
            const double share = t->area[left] / area;
            const double rest = t->area[right] / area;
            double first_cost, second_cost;
            const shape *a = best_in(t, left, width * share, height, &first_cost);
            const shape *b = best_in(t, right, width * rest, height, &second_cost);
            if (first_cost + second_cost <= least) {
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
        bool again = false;
        for (int32_t c = 0; c < count && !again; c++)
            again = out[c].across == found.across && out[c].down == found.down &&
                    out[c].fixed == found.fixed;
        if (!again && least < INFINITY) out[count++] = found;
    }
    t->count[all] = count;
    t->corners[all] = find_corner(t, all);
}

static hs_status solve_all(table *t, const int *cancel)
{
    for (int32_t j = 2; j <= t->size; j++)
        for (int32_t i = j - 2; i >= 0; i--) {
            if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
            solve_interval(t, i, j);
        }
    return HS_OK;
}

/* A set of workers whose floorplan is still to be written, and its box. */
typedef struct {
    int32_t from, to;
    double width, height;
} part;

/* Writes the floorplan of all workers in the whole box, and returns its length. It is written from its end:
 * an operator, then its operands from the last to the first. */
static int32_t write_plan(const table *t, double aspect, part *stack, int32_t *plan)
{
    const double whole = sqrt(aspect);
    int32_t length = 0;
    int32_t waiting = 0;
    stack[waiting++] = (part){0, t->size, whole, 1.0 / whole};
    while (waiting > 0) {
        const part now = stack[--waiting];
        if (now.to == now.from + 1) {
            plan[length++] = t->worker[now.from];
            continue;
        }
        double cost;
        const shape *found =
            best_in(t, hs__interval(now.from, now.to), now.width, now.height, &cost);
        const int32_t cut = found->cut;
        plan[length++] = found->op;
        if (found->op == HS_AROUND || found->op == HS_CORNERS) {
            const int32_t last = now.to - 1;
            const corner first = t->corners[hs__interval(now.from, cut)];
            plan[length++] = t->worker[last];
            stack[waiting++] = (part){now.from, cut, first.width, first.height};
            if (found->op == HS_AROUND) continue;
            const corner second = t->corners[hs__interval(cut, last)];
            stack[waiting++] = (part){cut, last, second.width, second.height};
            continue;
        }
        const double area = t->area[hs__interval(now.from, now.to)];
        const double share = t->area[hs__interval(now.from, cut)] / area;
        const double rest = t->area[hs__interval(cut, now.to)] / area;
        const bool above = found->op == HS_ABOVE;
        stack[waiting++] = (part){now.from, cut, hs__part_side(now.width, !above, share),
                                  hs__part_side(now.height, above, share)};
        stack[waiting++] = (part){cut, now.to, hs__part_side(now.width, !above, rest),
                                  hs__part_side(now.height, above, rest)};
    }
    for (int32_t low = 0, high = length - 1; low < high; low++, high--) {
        const int32_t swapped = plan[low];
        plan[low] = plan[high];
        plan[high] = swapped;
    }
    return length;
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
    t.corners = malloc(sets * sizeof *t.corners);
    int32_t *found = malloc(2 * (size_t)size * sizeof *found);
    int32_t *best = malloc(2 * (size_t)size * sizeof *best);
    int32_t best_length = 0;
    part *stack = malloc((size_t)size * sizeof *stack);
    const bool enough = t.worker && t.weight && t.area && t.count && t.shapes && t.corners;
    hs_status status = hs__check_memory(enough && found && best && stack);
    if (!status) status = hs__order_workers(p, areas, order, size, t.worker);
    for (int k = 0; k < WIDTHS; k++) t.stretch[k] = pow(STEEPEST, (double)k / (WIDTHS - 1) - 0.5);
    for (int32_t i = 0; i < size && !status; i++)
        t.weight[i] = hs__share(areas[t.worker[i]], total);
    if (!status) hs__interval_areas(size, t.weight, t.area);
    for (int32_t i = 0; i < size && !status; i++) {
        t.weight[i] = hs__weight_of(weights, t.worker[i]);
        *shapes_of(&t, hs__interval(i, i + 1)) =
            (shape){.across = t.weight[i], .down = t.weight[i], .most_width = INFINITY};
        t.count[hs__interval(i, i + 1)] = 1;
        t.corners[hs__interval(i, i + 1)] = find_corner(&t, hs__interval(i, i + 1));
    }
    /* A shape with two corners fits fewer widths, which can cost more elsewhere. So the plan with
     * one corner at most is found, too; of equals it is taken. */
    double least = INFINITY;
    for (t.most_corners = 1; t.most_corners <= (size > 2 ? 2 : 1) && !status; t.most_corners++) {
        double own = INFINITY;
        status = solve_all(&t, cancel);
        const int32_t entries = status ? 0 : write_plan(&t, aspect, stack, found);
        /* the cost is computed from the lengths */
        if (!status) status = hs__floorplan_cost(p, areas, weights, aspect, found, entries, &own);
        if (status || (t.most_corners > 1 && !(own < least))) continue;
        least = own;
        best_length = entries;
        memcpy(best, found, (size_t)entries * sizeof *best);
    }
    if (!status) {
        *cost = least;
        *length = best_length;
        memcpy(plan, best, (size_t)best_length * sizeof *plan);
    }
    free(t.worker);
    free(t.weight);
    free(t.area);
    free(t.count);
    free(t.shapes);
    free(t.corners);
    free(found);
    free(best);
    free(stack);
    return status;
}
