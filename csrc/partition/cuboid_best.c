/* hs_cuboids_best: chooses how the cube is cut, searches over the orders of the workers, and
 * certifies the boxes. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/effort.h"
#include "core/exact_sum.h"
#include "core/numbers.h"
#include "hetsched.h"
#include "partition/cuboids.h"

enum { ALL_AXES = 7, ACROSS_RESULT = 3, ACROSS_DEPTH = 4 };
enum { MOST_SEARCHED = 64 }; /* workers of one interval DP: a search over more would need several */
/* The default search, and the part of it after which its order is taken anew. A changed order takes
 * about size^3 / 10^7 seconds. */
enum { MOST_ORDERS = 2000, SEARCH_WORK = 8000000, ROUND_WORK = 2000000 };

/* A problem whose weights are divided by a power of two, so that the largest is in 1 .. 2. Only
 * weights below 2^-1022 of the largest are rounded. */
typedef struct {
    int32_t p, size; /* workers, positive volumes */
    const double *volumes;
    bool whole; /* integer boxes of a shape */
    int64_t shape[3];
    double unit, weights[3];
    double faces[3]; /* weights of the faces of the unit cube */
    const int *cancel;
} problem;

/* ---- trees ----------------------------------------------------------------------------------- */

typedef struct {
    int32_t *nodes; /* [2 p - 1] */
    int32_t length;
    double cost;
} cut_tree;

static void swap_trees(cut_tree *a, cut_tree *b)
{
    const cut_tree kept = *a;
    *a = *b;
    *b = kept;
}

static int32_t axes_of(hs_cuboids_method method)
{
    if (method == HS_CUBOIDS_LAYERS) return ACROSS_DEPTH;
    return method == HS_CUBOIDS_RECTANGLES ? ACROSS_RESULT : ALL_AXES;
}

static hs_status cut_exactly(const problem *x, int32_t axes, cut_tree *tree)
{
    return hs_partition_cuboids_exact(x->p, x->volumes, x->faces, axes, x->cancel, tree->nodes,
                                      &tree->length, &tree->cost);
}

static hs_status cut_runs(const problem *x, int32_t axes, const int32_t *order, int32_t tries,
                          uint64_t seed, cut_tree *tree)
{
    return hs_partition_cuboids(x->p, x->volumes, x->faces, axes, order, tries, seed, x->cancel,
                                tree->nodes, &tree->length, &tree->cost);
}

/* Finds the best tree of the ascending order. The DP runs once for each set of allowed axes, because
 * it prunes: a run with more axes may miss a better tree with fewer, above all if the weights are
 * far apart. *axes is a bit set: in, the allowed axes; out, the axes of the best tree. Of equal
 * trees the one with the largest number *axes is taken. */
static hs_status cut_ascending(const problem *x, int32_t *axes, cut_tree *best, cut_tree *trial)
{
    const int32_t allowed = *axes;
    hs_status status = HS_OK;
    best->cost = INFINITY;
    for (int32_t some = allowed; some > 0 && !status; some--) {
        if (some & ~allowed) continue;
        status = cut_runs(x, some, NULL, 0, 0, trial);
        if (status || (some < allowed && trial->cost >= best->cost)) continue;
        swap_trees(best, trial);
        *axes = some;
    }
    return status;
}

/* Writes the workers of a tree in the order of its leaves. */
static void list_leaves(const cut_tree *tree, int32_t *order)
{
    for (int32_t t = 0; t < tree->length; t++)
        if (tree->nodes[t] >= 0) *order++ = tree->nodes[t];
}

/* Finds the best tree of the ascending order and of changed orders. Each round starts from the tree
 * of the round before, with another part of the generator's sequence.
 *   order  [size] workspace */
static hs_status search_orders(const problem *x, int32_t axes, int64_t orders,
                               const hs_effort *effort, int32_t *order, cut_tree *best,
                               cut_tree *trial)
{
    const double end = hs__effort_end(effort);
    const bool timed = hs__effort_timed(effort);
    uint64_t seed = hs__effort_seed(effort);
    hs_status status = cut_ascending(x, &axes, best, trial);
    if (status || x->size > MOST_SEARCHED) return status;
    const int64_t work = (int64_t)x->size * x->size * x->size;
    const int64_t round = hs__max(1, ROUND_WORK / work / (timed ? 16 : 1));
    int64_t left = hs__max(orders, 0);
    if (orders == 0) left = hs__min(MOST_ORDERS, SEARCH_WORK / work);
    if (timed) left = INT64_MAX;
    list_leaves(best, order);
    while (left > 0 && !status) {
        status = cut_runs(x, axes, order, (int32_t)hs__min(round, left), seed, trial);
        if (status) break;
        list_leaves(trial, order);
        if (trial->cost < best->cost) swap_trees(best, trial);
        left -= round;
        seed = UINT64_C(6364136223846793005) * seed + UINT64_C(1442695040888963407);
        if (hs_clock() >= end) break;
    }
    return status;
}

/* ---- the certificate ------------------------------------------------------------------------- */

/* Adds up the weighted faces of the boxes exactly, so that the cost does not depend on the order of
 * the workers.
 *   sides  [3 p] height, width, length of each box */
static double sum_faces(const problem *x, const double *sides)
{
    hs__exact sum = {{0}};
    for (int32_t i = 0; i < x->p; i++, sides += 3) {
        const double faces = x->weights[0] * sides[0] * sides[2] +
                             x->weights[1] * sides[2] * sides[1] +
                             x->weights[2] * sides[0] * sides[1];
        hs__exact_add(&sum, faces, 1);
    }
    return hs__exact_rounded(&sum, false);
}

/* Computes the bound of hs_cuboids_bound for the volumes that the boxes really have. In the unit
 * cube so few boxes that all their tilings are guillotine cost at least what the best guillotine
 * tiling costs.
 *   least    cost of that tiling; negative: not known
 *   volumes  [p] workspace */
static hs_status bound_cost(const problem *x, const double *sides, double least, cut_tree *trial,
                            double *volumes, double *bound)
{
    for (int32_t i = 0; i < x->p; i++, sides += 3) volumes[i] = sides[0] * sides[1] * sides[2];
    hs_status status = hs_cuboids_bound(x->p, volumes, x->faces, bound);
    if (status || x->whole || x->size > HS__ALL_ARE_GUILLOTINE) return status;
    if (least < 0.0) {
        status = cut_exactly(x, ALL_AXES, trial);
        least = trial->cost;
    }
    if (!status) *bound = fmax(*bound, least);
    return status;
}

static const char *scope_of(const problem *x, hs_cuboids_method method, bool exact)
{
    if (x->whole) return "";
    if (method == HS_CUBOIDS_LAYERS) return "layers";
    if (!exact) return "";
    return method == HS_CUBOIDS_RECTANGLES ? "guillotine tilings without cuts across the depth"
                                           : "guillotine tilings";
}

/* ---- the planner ----------------------------------------------------------------------------- */

static hs_status read_problem(const hs_cuboids *given, const int *cancel, problem *x)
{
    const int64_t most = HS__SIZE_MOST;
    const double weights[] = {given->alpha, given->beta, given->gamma};
    if (given->p < 1 || !given->volumes || !hs__valid_costs(3, weights)) return HS_ERROR_VALUE;
    const double largest = fmax(weights[0], fmax(weights[1], weights[2]));
    if (!(largest > 0.0)) return HS_ERROR_VALUE;
    *x = (problem){.p = given->p,
                   .volumes = given->volumes,
                   .whole = given->m || given->n || given->k,
                   .shape = {given->m, given->n, given->k},
                   .unit = ldexp(1.0, ilogb(largest)),
                   .cancel = cancel};
    double side[3];
    for (int q = 0; q < 3; q++) {
        if (x->whole && (x->shape[q] < 1 || x->shape[q] > most)) return HS_ERROR_VALUE;
        x->weights[q] = weights[q] / x->unit;
        side[q] = x->whole ? (double)x->shape[q] : 1.0;
    }
    x->faces[0] = x->weights[0] * side[0] * side[2];
    x->faces[1] = x->weights[1] * side[2] * side[1];
    x->faces[2] = x->weights[2] * side[0] * side[1];
    for (int32_t i = 0; i < x->p; i++) x->size += x->volumes[i] > 0.0;
    return x->whole && side[0] * side[1] * side[2] < x->size ? HS_ERROR_INFEASIBLE : HS_OK;
}

/* Cuts the cube by the method. *exact: whether the tree is the best of its guillotine tilings.
 *   order  [p] workspace */
static hs_status cut_cube(const problem *x, hs_cuboids_method method, int64_t orders,
                          const hs_effort *effort, int32_t *order, cut_tree *best, cut_tree *trial,
                          bool *exact)
{
    const int32_t axes = axes_of(method);
    const bool few = x->size <= HS_CUBOIDS_EXACT;
    const bool any_order = method == HS_CUBOIDS_BEST || method == HS_CUBOIDS_RECTANGLES;
    *exact = method == HS_CUBOIDS_GUILLOTINE || (any_order && few);
    if (*exact) return few ? cut_exactly(x, axes, best) : HS_ERROR_UNSUPPORTED;
    if (any_order) return search_orders(x, axes, orders, effort, order, best, trial);
    if (method == HS_CUBOIDS_INTERVAL) return cut_runs(x, axes, NULL, 0, 0, best);
    int32_t size = 0;
    for (int32_t i = 0; i < x->p; i++)
        if (x->volumes[i] > 0.0) order[size++] = i;
    return cut_runs(x, axes, order, 0, 0, best);
}

/* Computes the boxes of a tree, and their sides [3 p]. */
static hs_status place_boxes(const problem *x, const cut_tree *tree, double *boxes, int64_t *cells,
                             double *sides)
{
    hs_status status;
    if (x->whole)
        status = hs_tile_cuboids(x->shape[0], x->shape[1], x->shape[2], x->p, x->volumes,
                                 tree->nodes, tree->length, x->cancel, cells);
    else status = hs_cuboid_boxes(x->p, x->volumes, tree->nodes, tree->length, boxes);
    for (int32_t i = 0; i < x->p && !status; i++)
        for (int q = 0; q < 3; q++) {
            const int64_t at = 6 * (int64_t)i + 3 + q;
            *sides++ = x->whole ? (double)cells[at] : boxes[at];
        }
    return status;
}

hs_status hs_cuboids_best(const hs_cuboids *given, hs_cuboids_method method, int64_t orders,
                          const hs_effort *effort, const int *cancel, hs_cuboids_method *found,
                          double *boxes, int64_t *cells, hs_certificate *certificate)
{
    problem x;
    if (!given || !found || !certificate || !hs__effort_valid(effort)) return HS_ERROR_VALUE;
    if ((int)method < HS_CUBOIDS_BEST || method > HS_CUBOIDS_RECTANGLES) return HS_ERROR_VALUE;
    hs_status status = read_problem(given, cancel, &x);
    if (status) return status;
    if (x.whole ? !cells : !boxes) return HS_ERROR_VALUE;
    const size_t p = (size_t)x.p;
    double *numbers = malloc(4 * p * sizeof *numbers);
    int32_t *integers = malloc(5 * p * sizeof *integers);
    if (!numbers || !integers) {
        free(numbers);
        free(integers);
        return HS_ERROR_MEMORY;
    }
    cut_tree best = {.nodes = integers};
    cut_tree trial = {.nodes = integers + 2 * p};
    double *sides = numbers;
    double *space = numbers + 3 * p;
    bool exact;
    double bound;
    status = cut_cube(&x, method, orders, effort, integers + 4 * p, &best, &trial, &exact);
    if (!status) status = place_boxes(&x, &best, boxes, cells, sides);
    const double least = exact && axes_of(method) == ALL_AXES ? best.cost : -1.0;
    if (!status) status = bound_cost(&x, sides, least, &trial, space, &bound);
    if (!status)
        status = hs_certificate_of("cost", HS_MINIMISED, x.unit * sum_faces(&x, sides),
                                   x.unit * bound, certificate);
    free(numbers);
    free(integers);
    if (status) return status;
    certificate->scope = scope_of(&x, method, exact);
    *found = method;
    if (method == HS_CUBOIDS_BEST) *found = exact ? HS_CUBOIDS_GUILLOTINE : HS_CUBOIDS_SEARCH;
    return HS_OK;
}
