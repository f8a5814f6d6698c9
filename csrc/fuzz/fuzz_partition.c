/* Fuzz harness of partitions: the floorplans of all planners through the validators, arbitrary
 * plans and trees through the readers, integer zones, cuboids. */
#include "../tests/span.h"
#include "bytes.h"

enum { MOST_P = 8, PIECES = 2 * MOST_P };

static double aspect_of(bytes *in, taste kind)
{
    if (kind == WILD) return draw_wild(in);
    if (kind == POSITIVES) return draw_positive(in);
    return (const double[]){1, 1, 2.5, 0.1, 300}[pick_below(in, 5)];
}

static double weight_of(const double *weights, int32_t i) { return weights ? weights[i] : 1.0; }

/* Checks the zones of a floorplan: they tile the unit square with the requested areas. Returns the
 * cost; *most becomes the largest cost of one worker. */
static double check_zones(bytes *in, int32_t p, const double *areas, const double *weights,
                          double aspect, const int32_t *plan, int32_t length, taste kind,
                          double *most)
{
    next_call(in);
    int32_t *workers = new_output(in, 2 * (size_t)p * sizeof *workers);
    int32_t *pieces = new_output(in, sizeof *pieces);
    double *rects = new_output(in, 8 * (size_t)p * sizeof *rects);
    double *cost = new_output(in, sizeof *cost);
    double own[MOST_P] = {0};
    double total = 0.0;
    double sum = 0.0;
    double least = INFINITY;
    const hs_status status =
        hs_floorplan_rects(p, areas, weights, aspect, plan, length, workers, rects, pieces, cost);
    planner_status(in, status, 0);
    if (status) return -1.0;
    *most = 0.0;
    for (int32_t i = 0; i < p; i++) {
        total += areas[i];
        if (areas[i] > 0.0) least = fmin(least, areas[i]);
    }
    HOLDS(*pieces >= 1 && *pieces <= 2 * p);
    for (int32_t k = 0; k < *pieces; k++) {
        const double *a = rects + 4 * k;
        HOLDS(workers[k] >= 0 && workers[k] < p && areas[workers[k]] > 0.0);
        const double flat = fmin(sqrt(aspect), 1.0 / sqrt(aspect));
        /* sides this small have few significant bits */
        const double beyond = least / total * flat < 1e-290 ? 1.0 : 1e-12;
        for (int axis = 0; axis < 2; axis++)
            HOLDS(a[axis] >= -beyond && a[2 + axis] >= 0.0 && a[axis] + a[2 + axis] <= 1 + beyond);
        own[workers[k]] += a[2] * a[3];
        for (int32_t q = 0; q < k; q++) {
            const double *b = rects + 4 * q;
            const double tall = fmin(a[0] + a[2], b[0] + b[2]) - fmax(a[0], b[0]);
            const double wide = fmin(a[1] + a[3], b[1] + b[3]) - fmax(a[1], b[1]);
            HOLDS(!(tall > 10 * beyond && wide > 10 * beyond));
        }
        if (k && workers[k] == workers[k - 1]) continue;
        int count = 1;
        while (k + count < *pieces && workers[k + count] == workers[k]) count++;
        HOLDS(count <= 3);
        const double width = sqrt(aspect);
        const double of_one = weight_of(weights, workers[k]) *
                              (pieces_span(a, count, 0) / width + pieces_span(a, count, 1) * width);
        sum += of_one;
        *most = fmax(*most, of_one);
    }
    if (!is_tame(kind)) return *cost;
    for (int32_t i = 0; i < p; i++) HOLDS(fabs(own[i] - areas[i] / total) <= 1e-12);
    HOLDS(is_near(sum, *cost, 1e-6));
    return *cost;
}

static void check_tiles(bytes *in, int64_t m, int64_t n, int32_t p, const int32_t *workers,
                        const int64_t *rects, int32_t pieces)
{
    (void)in;
    __int128 covered = 0;
    for (int32_t k = 0; k < pieces; k++) {
        const int64_t *a = rects + 4 * k;
        HOLDS(workers[k] >= 0 && workers[k] < p);
        HOLDS(a[0] >= 0 && a[1] >= 0 && a[2] >= 0 && a[3] >= 0 && a[2] <= m - a[0] &&
              a[3] <= n - a[1]);
        covered += (__int128)a[2] * a[3];
        for (int32_t q = 0; q < k; q++) {
            const int64_t *b = rects + 4 * q;
            HOLDS(a[2] == 0 || a[3] == 0 || b[2] == 0 || b[3] == 0 || a[0] + a[2] <= b[0] ||
                  b[0] + b[2] <= a[0] || a[1] + a[3] <= b[1] || b[1] + b[3] <= a[1]);
        }
    }
    HOLDS(covered == (__int128)m * n);
}

static int64_t draw_side(bytes *in) { return draw_size(in, pick_below(in, 4) == 0, 40); }

static void check_tiling(bytes *in, int32_t p, const double *areas, const int32_t *plan,
                         int32_t length)
{
    next_call(in);
    const int64_t m = draw_side(in);
    const int64_t n = draw_side(in);
    int32_t *workers = new_output(in, 2 * (size_t)p * sizeof *workers);
    int32_t *pieces = new_output(in, sizeof *pieces);
    int64_t *rects = new_output(in, 8 * (size_t)p * sizeof *rects);
    const hs_status status =
        hs_floorplan_tile(m, n, p, areas, plan, length, NULL, workers, rects, pieces);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(*pieces >= 1 && *pieces <= 2 * p);
    check_tiles(in, m, n, p, workers, rects, *pieces);
}

static int32_t positive_areas(int32_t p, const double *areas)
{
    int32_t count = 0;
    for (int32_t i = 0; i < p; i++) count += areas[i] > 0.0;
    return count;
}

static void readers(bytes *in)
{
    const int32_t p = draw_small(in, MOST_P);
    const int32_t length = draw_small(in, 2 * MOST_P) - (take_byte(in) == 255);
    const int32_t size = (int32_t)room_for(length);
    const taste kind = taste_of(in);
    const double *areas = draw_values_or_zeros(in, p, kind);
    const double *weights = draw_values_or_null(in, p, kind);
    const double aspect = aspect_of(in, kind);
    int32_t *plan = new_buffer(in, (size_t)size * sizeof *plan);
    const int strange = take_byte(in) > 240;
    const int parts = pick_below(in, 2);
    int32_t depth = 0;
    int32_t next = 0;
    /* mostly entries that a plan may have at this place */
    for (int32_t k = 0; k < size; k++) {
        const int op = pick_below(in, 8);
        const int needs = (const int[]){2, 2, 5, 2, 3}[op % 5];
        const int ends = size - k < depth;
        if (strange && pick_below(in, 6) == 0)
            plan[k] = (const int32_t[]){INT32_MIN, INT32_MAX, -6, p}[pick_below(in, 4)];
        else if (depth >= needs && (ends || parts || op < 4)) {
            plan[k] = -1 - (op % 5);
            depth -= needs - 1;
        } else {
            plan[k] = pick_below(in, 16) ? next++ : pick_below(in, p + 1);
            depth++;
        }
    }
    double most;
    check_zones(in, p, areas, weights, aspect, plan, length, kind, &most);
    check_tiling(in, p, areas, plan, length);
}

static void planners(bytes *in)
{
    const taste kind = taste_of(in);
    const int32_t p = draw_small(in, pick_below(in, 4) ? 4 : MOST_P);
    const double *areas = draw_values_or_zeros(in, p, kind);
    const double *weights = draw_values_or_null(in, p, kind);
    const double aspect = aspect_of(in, kind);
    const int *cancel = draw_cancel(in);
    const int method = pick_below(in, 10);
    int32_t *plan = new_output(in, 2 * (size_t)p * sizeof *plan);
    int32_t *length = new_output(in, sizeof *length);
    int32_t *order = NULL;
    int32_t *groups = NULL;
    double *cost = new_output(in, sizeof *cost);
    double most = 0.0;
    double bound = 0.0;
    double total = 0.0;
    const int32_t count = positive_areas(p, areas);
    if (pick_below(in, 2)) {
        const int32_t *all = draw_permutation(in, p);
        int32_t size = 0;
        order = new_buffer(in, (size_t)count * sizeof *order);
        for (int32_t i = 0; i < p; i++)
            if (areas[all[i]] > 0.0) order[size++] = all[i];
        if (take_byte(in) > 240 && count) order[pick_below(in, count)] = (int32_t)take_byte(in) - 2;
    }
    hs_status status;
    switch (method) {
    case 0: {
        if (pick_below(in, 2)) groups = draw_indices(in, p, p);
        const double group_weight = draw_value(in, kind);
        const int32_t reach = pick_below(in, 2) ? 2 + pick_below(in, 4) : 0;
        status = hs_partition_interval(p, areas, weights, aspect, order, groups, group_weight,
                                       reach, cancel, plan, length, cost);
        break;
    }
    case 1:
    case 2: /* pinwheels of many workers take too long here */
        status = hs_partition_guillotine(p, areas, weights, aspect, method == 2 && count <= 5,
                                         cancel, plan, length, cost);
        break;
    case 3:
        status = hs_partition_nonrectangular(p, areas, weights, aspect, order, cancel, plan, length,
                                             cost);
        break;
    case 4:
        status = hs_partition_largest(p, areas, weights, aspect, order, cancel, plan, length, cost);
        break;
    default:
        weights = NULL;
        cancel = NULL;
        status = hs_partition_rule(take_byte(in) > 250 ? (hs_rule)5 : (hs_rule)(method - 5), p,
                                   areas, aspect, NULL, plan, length, cost);
        break;
    }
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || is_cancelled(status, cancel) ||
          /* hulls of values over all decades may have too many points */
          (status == HS_ERROR_UNSUPPORTED && method < 3 && !is_tame(kind)));
    HOLDS(status == HS_OK || outputs_untouched(in));
    if (status) return;
    HOLDS(*length >= count && *length < 2 * count);
    const double measured = check_zones(in, p, areas, weights, aspect, plan, *length, kind, &most);
    HOLDS(measured >= 0.0);
    if (is_tame(kind)) {
        if (!groups) HOLDS(is_near(method == 4 ? most : measured, *cost, 1e-6));
        for (int32_t i = 0; i < p; i++) total += areas[i];
        for (int32_t i = 0; i < p; i++) bound += 2 * weight_of(weights, i) * sqrt(areas[i] / total);
        if (method != 4) HOLDS(*cost >= bound * (1 - 1e-9));
        /* no other guillotine partition may be better */
        if (method == 1 || (method == 4 && count <= 7 && !order)) {
            int32_t other[PIECES];
            int32_t size = 0;
            double theirs = 0.0;
            double largest = 0.0;
            HOLDS(hs_partition_rule((hs_rule)pick_below(in, 4), p, areas, aspect, NULL, other,
                                    &size, &theirs) == HS_OK);
            theirs = check_zones(in, p, areas, weights, aspect, other, size, kind, &largest);
            HOLDS(*cost <= (method == 4 ? largest : theirs) * (1 + 1e-6));
        }
    }
    check_tiling(in, p, areas, plan, *length);
    next_call(in);
    uint64_t state = take_byte(in);
    double improved = -1.0;
    const int32_t nodes = *length;
    const int64_t evaluations = draw_small(in, 60);
    status = hs_partition_search(p, areas, weights, aspect, evaluations, pick_below(in, 2) * 0.001,
                                 cancel, plan, nodes, &state, &improved);
    HOLDS(status == HS_OK || status == HS_ERROR_UNSUPPORTED || is_cancelled(status, cancel));
    if (!status && is_tame(kind)) {
        HOLDS(improved <= measured * (1 + 1e-9));
        HOLDS(is_near(check_zones(in, p, areas, weights, aspect, plan, nodes, kind, &most),
                      improved, 1e-6));
    }
}

static void columns(bytes *in)
{
    const int32_t p = draw_small(in, MOST_P);
    const int32_t most_columns = draw_small(in, p + 1) - (take_byte(in) == 255);
    const int32_t most_rows = draw_small(in, p + 1);
    const int32_t least_columns = take_byte(in) % 2 ? 1 : draw_small(in, p + 1);
    const taste kind = taste_of(in);
    const double *areas = draw_values_or_zeros(in, p, kind);
    const double aspect = aspect_of(in, kind);
    int32_t *order = new_output(in, (size_t)p * sizeof *order);
    int32_t *starts = new_output(in, ((size_t)p + 1) * sizeof *starts);
    int32_t *count = new_output(in, sizeof *count);
    double *cost = new_output(in, sizeof *cost);
    const hs_status status = hs_partition_columns(p, areas, aspect, least_columns, most_columns,
                                                  most_rows, NULL, order, starts, count, cost);
    planner_status(in, status, HS_ERROR_INFEASIBLE);
    if (status) return;
    const int32_t positives = positive_areas(p, areas);
    HOLDS(*count >= least_columns && *count <= most_columns && starts[0] == 0 &&
          starts[*count] == positives && all_different(positives, order, p));
    for (int32_t j = 0; j < *count; j++)
        HOLDS(starts[j + 1] > starts[j] && starts[j + 1] - starts[j] <= most_rows);
    for (int32_t k = 0; k < positives; k++) HOLDS(areas[order[k]] > 0.0);
    if (!is_tame(kind)) return;
    int32_t plan[PIECES];
    int32_t length = 0;
    double guillotine = 0.0;
    if (hs_partition_guillotine(p, areas, NULL, aspect, 0, NULL, plan, &length, &guillotine) ==
        HS_OK)
        HOLDS(guillotine <= *cost * (1 + 1e-9));
}

/* Draws a problem of any method and option, mostly a valid one. */
static hs_partition draw_problem(bytes *in, int32_t p, taste kind)
{
    hs_partition x = {.p = p, .method = pick_below(in, HS_PARTITION_SEARCH)};
    x.areas = draw_values_or_zeros(in, p, kind);
    if (pick_below(in, 2)) x.weights = draw_values(in, p, kind);
    if (pick_below(in, 3) == 0) x.m = draw_side(in);
    if (x.m) x.n = draw_side(in);
    x.largest = pick_below(in, 4) == 0;
    if (pick_below(in, 4) == 0) {
        x.method = pick_below(in, 2) ? HS_PARTITION_INTERVAL : HS_PARTITION_BEST;
        x.largest = 0;
        x.groups = draw_indices(in, p, p);
        x.group_cost = draw_value(in, kind);
    }
    if (x.method == HS_PARTITION_COLUMNS && pick_below(in, 2)) x.columns = draw_small(in, p + 1);
    if (pick_below(in, 4) == 0) {
        x.method = HS_PARTITION_GIVEN;
        x.each = draw_small(in, 3);
        double *rects = new_buffer(in, 4 * (size_t)x.each * (size_t)p * sizeof *rects);
        const int wild = take_byte(in) > 200;
        for (int32_t k = 0; k < 4 * x.each * p; k++)
            rects[k] = wild ? draw_wild(in) : 0.25 * pick_below(in, 5) * (x.m ? 4 : 1);
        x.rects = rects;
    }
    if (take_byte(in) > 240) x.method = (int32_t)take_byte(in) - 2;
    if (take_byte(in) > 240) x.n = draw_extreme(in);
    return x;
}

/* The best plan of a problem: its zones tile, and a stack of it has the same certificate. */
static void drivers(bytes *in)
{
    const taste kind = taste_of(in);
    const int32_t p = draw_small(in, 4);
    const hs_partition x = draw_problem(in, p, kind);
    const hs_effort effort = {.seed = take_byte(in)};
    const size_t pieces = 3 * (size_t)p;
    hs_partition_plan plan = {.plan = new_buffer(in, 2 * (size_t)p * sizeof(int32_t)),
                              .order = new_buffer(in, (size_t)p * sizeof(int32_t)),
                              .column_start = new_buffer(in, ((size_t)p + 1) * sizeof(int32_t)),
                              .workers = new_buffer(in, pieces * sizeof(int32_t)),
                              .rects = new_buffer(in, 4 * pieces * sizeof(double)),
                              .cells = new_buffer(in, 4 * pieces * sizeof(int64_t)),
                              .areas = new_buffer(in, (size_t)p * sizeof(double))};
    hs_certificate *found = new_output(in, sizeof *found);
    const hs_status status = hs_partition_best(&x, &effort, NULL, &plan, found);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE ||
          status == HS_ERROR_UNSUPPORTED);
    HOLDS(status == HS_OK || (outputs_untouched(in) && plan.pieces == 0));
    double cost;
    double bound;
    int32_t optimal;
    int64_t failed;
    HOLDS(hs_partition_batch(1, &x, &effort, NULL, &cost, &bound, &optimal, NULL, &failed) ==
          status);
    if (status) return;
    HOLDS(failed == -1 && cost == found->value && bound == found->bound &&
          optimal == found->optimal);
    HOLDS(plan.pieces >= 1 && plan.pieces <= 3 * p && bound <= cost);
    HOLDS(plan.length >= 0 && plan.length < 2 * p && plan.columns >= 0 && plan.columns <= p);
    for (int32_t k = 0; k < plan.pieces; k++) {
        HOLDS(plan.workers[k] >= 0 && plan.workers[k] < p && x.areas[plan.workers[k]] > 0.0);
        HOLDS(k == 0 || plan.workers[k] >= plan.workers[k - 1]);
    }
    if (plan.columns) HOLDS(all_different(plan.column_start[plan.columns], plan.order, p));
    if (x.m) check_tiles(in, x.m, x.n, p, plan.workers, plan.cells, plan.pieces);
    else if (is_tame(kind)) {
        int32_t flaw, at[2];
        HOLDS(hs_zones_flaw(1, 1, 1e-9, plan.pieces, plan.rects, NULL, &flaw, at) == HS_OK &&
              flaw == HS_FLAW_NONE);
    }
}

static void contiguous(bytes *in)
{
    const int32_t p = draw_small(in, MOST_P);
    const taste kind = taste_of(in);
    const double *areas = draw_values_or_zeros(in, p, kind);
    const int64_t m = draw_side(in);
    const int64_t n = draw_side(in);
    int32_t *workers = new_output(in, 3 * (size_t)p * sizeof *workers);
    int32_t *pieces = new_output(in, sizeof *pieces);
    int64_t *rects = new_output(in, 12 * (size_t)p * sizeof *rects);
    const hs_status status = hs_partition_contiguous(m, n, p, areas, NULL, workers, rects, pieces);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(*pieces >= 1 && *pieces <= 3 * p);
    check_tiles(in, m, n, p, workers, rects, *pieces);
}

/* ---- cuboids --------------------------------------------------------------------------------- */

static void tree_boxes(bytes *in, int32_t p, const double *volumes, const int32_t *tree,
                       int32_t length, int tame)
{
    next_call(in);
    double *boxes = new_output(in, 6 * (size_t)p * sizeof *boxes);
    double sum = 0.0;
    double total = 0.0;
    hs_status status = hs_cuboid_boxes(p, volumes, tree, length, boxes);
    planner_status(in, status, 0);
    for (int32_t i = 0; i < p && !status; i++) {
        const double *b = boxes + 6 * i;
        for (int axis = 0; axis < 3; axis++)
            HOLDS(b[axis] >= 0.0 && b[3 + axis] >= 0.0 && b[axis] + b[3 + axis] <= 1 + 1e-12);
        sum += b[3] * b[4] * b[5];
        if (b[3] > 0.0) total += volumes[i];
    }
    if (!status) HOLDS(fabs(sum - 1.0) <= 1e-9);
    for (int32_t i = 0; i < p && !status && tame; i++)
        if (boxes[6 * i + 3] > 0.0)
            HOLDS(is_near(boxes[6 * i + 3] * boxes[6 * i + 4] * boxes[6 * i + 5],
                          volumes[i] / total, 1e-9));
    next_call(in);
    const int64_t m = draw_side(in);
    const int64_t n = draw_side(in);
    const int64_t k = draw_side(in);
    int64_t *cells = new_output(in, 6 * (size_t)p * sizeof *cells);
    status = hs_tile_cuboids(m, n, k, p, volumes, tree, length, NULL, cells);
    planner_status(in, status, 0);
    if (status) return;
    const int64_t sides[] = {m, n, k};
    long double covered = 0.0;
    for (int32_t i = 0; i < p; i++) {
        const int64_t *a = cells + 6 * i;
        for (int axis = 0; axis < 3; axis++)
            HOLDS(a[axis] >= 0 && a[3 + axis] >= 0 && a[3 + axis] <= sides[axis] - a[axis]);
        covered += (long double)a[3] * (long double)a[4] * (long double)a[5];
        for (int32_t j = 0; j < i; j++) {
            const int64_t *b = cells + 6 * j;
            int apart = !a[3] || !a[4] || !a[5] || !b[3] || !b[4] || !b[5];
            for (int axis = 0; axis < 3; axis++)
                apart |= a[axis] + a[3 + axis] <= b[axis] || b[axis] + b[3 + axis] <= a[axis];
            HOLDS(apart);
        }
    }
    const long double all = (long double)m * (long double)n * (long double)k;
    HOLDS(fabsl(covered - all) <= all * 1e-15L);
}

static void cuboids(bytes *in)
{
    const int32_t p = draw_small(in, 5);
    const taste kind = taste_of(in);
    const double *volumes = draw_values_or_zeros(in, p, kind);
    const double *faces = draw_values_or_zeros(in, 3, kind);
    const int32_t axes = take_byte(in) > 240 ? pick_below(in, 12) - 2 : 1 + pick_below(in, 7);
    const int32_t count = positive_areas(p, volumes);
    const size_t nodes = room_for(2 * p - 1);
    int32_t *tree = new_output(in, nodes * sizeof *tree);
    int32_t *length = new_output(in, sizeof *length);
    int32_t *best = new_output(in, nodes * sizeof *best);
    int32_t *size = new_output(in, sizeof *size);
    double *cost = new_output(in, sizeof *cost);
    double *least = new_output(in, sizeof *least);
    const int32_t tries = draw_small(in, 5) - 1;
    const hs_status status = hs_partition_cuboids(p, volumes, faces, axes, NULL, tries,
                                                  take_byte(in), NULL, tree, length, cost);
    planner_status(in, status, 0);
    if (!status) {
        HOLDS(*length == 2 * count - 1);
        tree_boxes(in, p, volumes, tree, *length, is_tame(kind));
    }
    const hs_status proof =
        hs_partition_cuboids_exact(p, volumes, faces, axes, NULL, best, size, least);
    HOLDS(proof == HS_OK || proof == HS_ERROR_VALUE);
    if (proof) return;
    HOLDS(*size == 2 * count - 1);
    tree_boxes(in, p, volumes, best, *size, is_tame(kind));
    if (!status && is_tame(kind)) HOLDS(*least <= *cost * (1 + 1e-9));
}

/* Checks the boxes that the driver finds: they tile the cube or the shape, and the bound holds. */
static void best_cuboids(bytes *in)
{
    const taste kind = taste_of(in);
    const int32_t p = take_byte(in) > 240 ? 12 : draw_small(in, 5);
    const double *weights = draw_values_or_zeros(in, 3, kind);
    hs_cuboids x = {.p = p,
                    .volumes = draw_values_or_zeros(in, p, kind),
                    .alpha = weights[0],
                    .beta = weights[1],
                    .gamma = weights[2]};
    if (pick_below(in, 2)) {
        x.m = draw_side(in);
        x.n = draw_side(in);
        x.k = draw_side(in);
    }
    const int whole = x.m || x.n || x.k;
    const hs_effort effort = {take_byte(in), 0, 0};
    const hs_cuboids_method method = (hs_cuboids_method)pick_below(in, 6);
    double *boxes = new_output(in, 6 * (size_t)p * sizeof *boxes);
    int64_t *cells = new_output(in, 6 * (size_t)p * sizeof *cells);
    hs_cuboids_method found;
    hs_certificate c;
    const hs_status status =
        hs_cuboids_best(&x, method, draw_small(in, 4) - 1, &effort, NULL, &found, boxes, cells, &c);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE ||
          status == HS_ERROR_UNSUPPORTED);
    HOLDS(status != HS_ERROR_INFEASIBLE || whole);
    if (status) return;
    HOLDS(c.bound <= c.value && isfinite(c.value));
    if (method != HS_CUBOIDS_BEST) HOLDS(found == method);
    else HOLDS(found == HS_CUBOIDS_GUILLOTINE || found == HS_CUBOIDS_SEARCH);
    double sides[] = {1.0, 1.0, 1.0};
    if (whole) {
        sides[0] = (double)x.m;
        sides[1] = (double)x.n;
        sides[2] = (double)x.k;
        for (int32_t e = 0; e < 6 * p; e++) boxes[e] = (double)cells[e];
    }
    long double covered = 0.0;
    for (int32_t i = 0; i < p; i++) {
        long double volume = 1.0;
        for (int axis = 0; axis < 3; axis++) {
            const double at = boxes[6 * i + axis];
            const double side = boxes[6 * i + 3 + axis];
            HOLDS(at >= 0.0 && side >= 0.0 && at + side <= sides[axis] * (1 + 1e-12));
            volume *= side / sides[axis];
        }
        covered += volume;
    }
    HOLDS(fabsl(covered - 1.0L) <= 1e-9L);
}

static void trees(bytes *in)
{
    const int32_t p = draw_small(in, 6);
    const int32_t length = draw_small(in, 12) - (take_byte(in) == 255);
    const int32_t size = (int32_t)room_for(length);
    const taste kind = taste_of(in);
    const double *volumes = draw_values_or_zeros(in, p, kind);
    int32_t *tree = new_buffer(in, (size_t)size * sizeof *tree);
    int32_t depth = 0;
    int32_t next = 0;
    const int strange = take_byte(in) > 240;
    for (int32_t k = 0; k < size; k++) {
        const int cut = depth >= 2 && (size - k < depth || pick_below(in, 2));
        if (cut) tree[k] = -1 - pick_below(in, 3);
        else tree[k] = pick_below(in, 16) ? next++ : pick_below(in, p + 1);
        if (strange && pick_below(in, 6) == 0)
            tree[k] = (const int32_t[]){INT32_MIN, INT32_MAX, -4, p}[pick_below(in, 4)];
        depth += cut ? -1 : 1;
    }
    tree_boxes(in, p, volumes, tree, length, is_tame(kind));
}

/* Zones by times, and tables of times from points. */
static void profiles(bytes *in)
{
    const int32_t p = draw_small(in, 5);
    const int32_t rows = draw_small(in, 3);
    const int32_t cols = draw_small(in, 3);
    const int64_t m = draw_small(in, 9);
    const int64_t n = draw_small(in, 9);
    const int64_t cells = m * n;
    const taste kind = taste_of(in);
    const hs_profile_method method = (hs_profile_method)(pick_below(in, 6) - 1);
    double *heights = draw_values(in, rows, INTEGERS);
    double *widths = draw_values(in, cols, INTEGERS);
    double *points = draw_values(in, (int64_t)rows * cols, kind);
    for (int32_t k = 1; k < rows; k++) heights[k] += heights[k - 1];
    for (int32_t k = 1; k < cols; k++) widths[k] += widths[k - 1];
    double *own = new_output(in, (size_t)cells * sizeof *own);
    const hs_status made = hs_zone_times(rows, cols, heights, widths, points, m, n, own);
    planner_status(in, made, 0);
    for (int64_t e = 0; e < cells && !made; e++) HOLDS(own[e] > 0.0);
    double *times = draw_values(in, p * cells, kind);
    for (int64_t e = 0; e < cells && !made && p > 0; e++) times[e] = own[e];
    const unsigned holes = take_byte(in);
    for (int64_t e = 0; e < p * cells && holes > 128; e++)
        if ((uint64_t)e * 2654435761u >> 7 & holes & 3) times[e] = INFINITY;
    next_call(in);
    int64_t *zones = new_output(in, 4 * (size_t)p * sizeof *zones);
    hs_profile_method *found = new_output(in, sizeof *found);
    hs_certificate *proof = new_output(in, sizeof *proof);
    hs_certificate *again = new_buffer(in, sizeof *again);
    const hs_effort effort = {.seed = take_byte(in)};
    const hs_status status =
        hs_partition_profile(m, n, p, times, method, &effort, NULL, found, zones, proof);
    planner_status(in, status, HS_ERROR_INFEASIBLE);
    if (status) return;
    int64_t covered = 0;
    double makespan = 0.0;
    for (int32_t i = 0; i < p; i++) {
        const int64_t *z = zones + 4 * i;
        HOLDS(z[0] >= 0 && z[1] >= 0 && z[2] >= 0 && z[0] + z[2] <= m && z[1] + z[3] <= n);
        covered += z[2] * z[3];
        if (z[2]) makespan = fmax(makespan, times[(i * m + z[2] - 1) * n + z[3] - 1]);
        for (int32_t j = 0; j < i; j++) {
            const int64_t *b = zones + 4 * j;
            HOLDS(z[0] >= b[0] + b[2] || b[0] >= z[0] + z[2] || z[1] >= b[1] + b[3] ||
                  b[1] >= z[1] + z[3]);
        }
    }
    HOLDS(covered == cells && makespan == proof->value && proof->bound <= makespan);
    HOLDS(*found != HS_PROFILE_BEST && (method == HS_PROFILE_BEST || *found == method));
    HOLDS(!hs_partition_profile_certificate(m, n, p, times, zones, NULL, again));
    HOLDS(again->value == makespan && again->bound <= proof->bound);
}

HARNESS(profiles, profiles, readers, planners, planners, columns, drivers, drivers, contiguous,
        cuboids, best_cuboids, trees)
