/* hs_matmul_best: the methods that plan a product, and the fastest of their plans.
 *
 * A method divides C into zones, or the iterations into boxes; the schedule says how long the boxes
 * take. The planner holds two plans: the one in work, and the best so far. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/sum.h"
#include "schedule/clusters.h"
#include "schedule/placement.h"
#include "schedule/schedule.h"

/* Most moves of a search for the places of zones, and most moves times (zones^2 of all steps). */
enum { MOVES = 2000, PLACING = 4000000 };

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct {
    int32_t method;
    int64_t box_count, box_room;
    hs_box *boxes;
    double *sent;
    int64_t message_count; /* -1: the data come from the master */
    int64_t message_room;
    hs_message *messages;
    int32_t layered;
    hs_layer_sum sum;
    double makespan;
    const char *scope;
} plan;

/* What is planned, and the zones of C that a method has chosen.
 *   product  without links if they take no time
 *   block    side of a block
 *   blocks   blocks of m, n and k
 *   step     depth of a step in elements; 0: one step
 *   steps    their number
 *   areas    [p] relative speeds with sum 1
 *   pieces   number of zones, at most 3 p
 *   workers  [3 p] worker of each zone
 *   rects    [12 p] row, col, height, width of each zone
 *   placed   the zones where they are placed: workers [3 p], rects [12 p]
 *   nodes    [p] the node of each worker: from the options, else as the links show it
 *   groups   [p] the same
 *   sharing  the groups whose workers share data from other groups; or NULL
 *   counts, times, speeds, order, first  [p], first [p + 1]: workspace */
typedef struct {
    hs_matmul product;
    hs_matmul_options options;
    int64_t block, blocks[3], step, steps;
    const int *cancel;
    hs_matmul_found *found;
    void *memory;
    double *areas, *times, *speeds;
    int64_t *rects, *groups, *counts;
    int32_t pieces, *workers, *order, *first, *nodes;
    hs__placement placed;
    const int64_t *sharing;
    plan now, best;
} planner;

static hs_status reserve_boxes(plan *x, int64_t count)
{
    if (count <= x->box_room) return HS_OK;
    free(x->boxes);
    free(x->sent);
    x->box_room = 0;
    x->boxes = calloc((size_t)count, sizeof *x->boxes);
    x->sent = calloc((size_t)count, sizeof *x->sent);
    if (!x->boxes || !x->sent) return HS_ERROR_MEMORY;
    x->box_room = count;
    return HS_OK;
}

static hs_status reserve_messages(plan *x, int64_t count)
{
    if (count <= x->message_room) return HS_OK;
    free(x->messages);
    x->message_room = 0;
    x->messages = malloc((size_t)count * sizeof *x->messages);
    if (!x->messages) return HS_ERROR_MEMORY;
    x->message_room = count;
    return HS_OK;
}

static void free_plan(plan *x)
{
    free(x->boxes);
    free(x->sent);
    free(x->messages);
}

static hs_status schedule_plan(const planner *s, const plan *x, hs_schedule *schedule)
{
    const bool messaged = x->message_count >= 0;
    const hs_matmul_plan given = {.count = x->box_count,
                                  .boxes = x->boxes,
                                  .sent = x->sent,
                                  .message_count = messaged ? x->message_count : 0,
                                  .messages = messaged ? x->messages : NULL,
                                  .sum = x->layered ? &x->sum : NULL};
    return hs_matmul_schedule(&s->product, &given, NULL, schedule);
}

/* Schedules the plan in work, and keeps the faster one of it and the best so far; of equal ones the
 * earlier. A makespan that overflows counts as infinite. */
static hs_status keep_faster(planner *s)
{
    hs_schedule schedule = {0};
    const hs_status status = schedule_plan(s, &s->now, &schedule);
    if (status) return status;
    s->now.makespan = isfinite(schedule.makespan) ? schedule.makespan : INFINITY;
    double *tried = s->found->tried ? &s->found->tried[s->now.method] : NULL;
    if (tried && !(*tried >= 0.0 && *tried <= s->now.makespan)) *tried = s->now.makespan;
    if (s->best.method && !(s->now.makespan < s->best.makespan)) return HS_OK;
    const plan faster = s->now;
    s->now = s->best;
    s->best = faster;
    return HS_OK;
}

/* ---- zones of blocks ------------------------------------------------------------------------- */

/* Writes the speeds, scaled to sum 1. Speeds that overflow are taken relative to the fastest one, and
 * those that are negligible beside it count as 0. */
static void find_areas(const hs_matmul *x, double *areas)
{
    double least = INFINITY;
    double highest = 0.0;
    for (int32_t i = 0; i < x->p; i++) least = fmin(least, x->cycle_times[i]);
    const double unit = isinf(1.0 / least) ? least : 1.0;
    for (int32_t i = 0; i < x->p; i++) {
        areas[i] = unit / x->cycle_times[i];
        highest = fmax(highest, areas[i]);
    }
    for (int32_t i = 0; i < x->p; i++) areas[i] /= highest;
    const double total = hs__sum(x->p, areas);
    for (int32_t i = 0; i < x->p; i++) {
        areas[i] /= total;
        if (areas[i] < DBL_MIN) areas[i] = 0.0;
    }
}

/* Gives each worker one empty zone. */
static void clear_zones(planner *s)
{
    s->pieces = s->product.p;
    for (int32_t i = 0; i < s->pieces; i++) s->workers[i] = i;
    memset(s->rects, 0, 4 * (size_t)s->pieces * sizeof *s->rects);
}

/* Cuts a zone into slices of rows (axis 0) or columns (axis 1) for its workers [size], by speed. */
static hs_status cut_zone(planner *s, int axis, const int64_t *zone, int32_t size,
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

/* Divides the block rows (axis 0) or block columns (axis 1) by speed. */
static hs_status cut_slices(planner *s, int axis)
{
    const int64_t whole[4] = {0, 0, s->blocks[0], s->blocks[1]};
    clear_zones(s);
    if (!s->blocks[0] || !s->blocks[1]) return HS_OK;
    return cut_zone(s, axis, whole, s->pieces, s->workers);
}

static hs_status cut_partition(planner *s, hs_partition given)
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

/* Divides C by a method that gives each worker a block. Half perimeters are weighted by the costs of
 * the links, if all links have a cost. */
static hs_status cut_by_method(planner *s, int32_t method, bool weighted)
{
    const double *costs = s->product.link_costs;
    for (int32_t i = 0; costs && i < s->product.p && weighted; i++) weighted = costs[i] > 0.0;
    const int64_t rows = s->blocks[0];
    const int64_t cols = s->blocks[1];
    if (!cols || rows < hs__ceil_div(s->product.p, cols)) return HS_ERROR_INFEASIBLE;
    if (method == HS_PARTITION_CONTIGUOUS && rows > HS__SIZE_MOST / cols)
        return HS_ERROR_UNSUPPORTED;
    return cut_partition(s, (hs_partition){.method = method, .weights = weighted ? costs : NULL});
}

/* Sorts the workers by domain: domain d has order[first[d]] .. order[first[d + 1] - 1]. Returns the number of domains. */
static int32_t sort_by_domain(planner *s)
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
static bool tile_c(const planner *s, int32_t count, const int64_t *zones)
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
static hs_status divide_by_domain(const planner *s, int32_t domains, int64_t *zones)
{
    const int64_t *given = s->options.zones;
    if (!given)
        return hs_domain_zones(s->blocks[0], s->blocks[1], 1, 1, 0, domains, s->speeds, zones);
    if (s->block != 1 || !tile_c(s, domains, given)) return HS_ERROR_VALUE;
    memcpy(zones, given, 4 * (size_t)domains * sizeof *zones);
    return HS_OK;
}

static hs_status cut_domains(planner *s)
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

/* ---- plans of zones -------------------------------------------------------------------------- */

/* Adds the messages between the owners of the zones. */
static hs_status add_messages(planner *s, const int64_t *groups)
{
    plan *x = &s->now;
    int64_t workers = 0;
    for (int64_t i = 0; i < x->box_count / s->steps; i++)
        workers += i == 0 || x->boxes[i].worker != x->boxes[i - 1].worker;
    const int64_t each = hs__max(workers * workers, 1);
    const int64_t room =
        s->steps > HS_MATMUL_MOST_MESSAGES / each ? HS_MATMUL_MOST_MESSAGES : s->steps * each;
    hs_status status = reserve_messages(x, room);
    if (!status)
        status = hs_matmul_owners(&s->product, x->box_count, x->boxes, groups, s->cancel, room,
                                  x->sent, x->messages, &x->message_count);
    if (status || x->message_count <= room) return status;
    s->found->message_count = x->message_count;
    return HS_ERROR_VALUE;
}

static const char *scope_of_slices(const planner *s, int32_t method)
{
    const hs_matmul *x = &s->product;
    for (int32_t i = 0; x->link_costs && i < x->p; i++)
        if (x->link_costs[i] > 0.0) return "";
    /* with ragged blocks it matters which worker has the smaller one */
    if (x->links) return "";
    if (method == HS_MATMUL_COLUMNS) return x->n % s->block ? "" : "slices into block columns";
    if (method == HS_MATMUL_ROWS) return x->m % s->block ? "" : "slices into block rows";
    return "";
}

/* Begins a plan without messages and layers, with room for so many boxes. */
static hs_status begin_plan(plan *x, int32_t method, const char *scope, int64_t room)
{
    x->method = method;
    x->scope = scope;
    x->message_count = -1;
    x->layered = 0;
    return reserve_boxes(x, room);
}

/* Refuses a plan with more boxes than there is room for; the caller is told how many. */
static hs_status require_room(planner *s, int64_t room)
{
    if (s->now.box_count <= room) return HS_OK;
    s->found->box_count = s->now.box_count;
    return HS_ERROR_VALUE;
}

/* Writes the boxes of the placed zones, and their messages. */
static hs_status write_zones(planner *s)
{
    plan *x = &s->now;
    const int64_t room = x->box_room;
    hs_status status = hs_matmul_zones(&s->product, s->step, s->pieces, s->placed.workers,
                                       s->placed.rects, room, x->boxes, x->sent, &x->box_count);
    if (!status) status = require_room(s, room);
    if (!status && s->product.links) status = add_messages(s, s->sharing);
    return status;
}

static hs_status price_zones(void *context, hs__price *price)
{
    planner *s = context;
    hs_schedule schedule = {0};
    hs_status status = write_zones(s);
    if (!status) status = schedule_plan(s, &s->now, &schedule);
    if (status) return status;
    price->makespan = schedule.makespan;
    price->messages = 0.0;
    for (int64_t i = 0; i < s->now.message_count; i++) {
        const hs_message *one = &s->now.messages[i];
        const int32_t to = s->now.boxes[one->box].worker;
        price->messages += one->bytes * s->product.links[(int64_t)one->sender * s->product.p + to];
    }
    price->messages /= HS__GIGA;
    return HS_OK;
}

/* Moves the zones to where the messages take less time. */
static hs_status place_zones(planner *s)
{
    const size_t pieces = (size_t)s->pieces;
    const int64_t work = s->steps * hs__max((int64_t)s->pieces * s->pieces, 1);
    memcpy(s->placed.workers, s->workers, pieces * sizeof *s->workers);
    memcpy(s->placed.rects, s->rects, 4 * pieces * sizeof *s->rects);
    const int64_t moves = hs__min(MOVES, PLACING / work);
    if (!s->product.links || s->product.p > HS_MATMUL_FEW || !moves) return HS_OK;
    s->placed.pieces = s->pieces;
    s->placed.price = price_zones;
    s->placed.context = s;
    return hs__place_zones(&s->product, moves, s->cancel, &s->placed);
}

/* Plans the zones. Workers of a group share the data that comes from other workers. */
static hs_status plan_zones(planner *s, int32_t method, const int64_t *groups)
{
    const int64_t pieces = hs__max(s->pieces, 1);
    const int64_t room =
        s->steps > HS_MATMUL_MOST_BOXES / pieces ? HS_MATMUL_MOST_BOXES : s->steps * pieces;
    s->sharing = groups;
    hs_status status = begin_plan(&s->now, method, scope_of_slices(s, method), room);
    if (!status) status = place_zones(s);
    if (!status) status = write_zones(s);
    return status ? status : keep_faster(s);
}

/* Counts the zones in elements instead of blocks. */
static void scale_zones(planner *s)
{
    for (size_t i = 0; i < 4 * (size_t)s->pieces; i++) s->rects[i] *= s->block;
}

/* Plans a zone for each node, and in it zones of the node's workers; data that several workers of a
 * node need comes from another node once, where that is faster. The half perimeter of a node's zone
 * costs more than that of a worker: several costs are tried. */
static hs_status plan_nodes(planner *s)
{
    static const double costs[] = {1.0, 10.0, 100.0};
    if (!s->product.links) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < s->product.p; i++) s->groups[i] = s->nodes[i];
    for (int i = 0; i < 3; i++) {
        hs_status status =
            cut_partition(s, (hs_partition){.groups = s->nodes, .group_cost = costs[i]});
        if (status) return status;
        scale_zones(s);
        status = plan_zones(s, HS_MATMUL_NODES, NULL);
        if (!status) status = plan_zones(s, HS_MATMUL_NODES, s->groups);
        if (status) return status;
    }
    return HS_OK;
}

/* ---- plans of boxes -------------------------------------------------------------------------- */

static hs_status plan_cannon(planner *s)
{
    plan *x = &s->now;
    const int64_t grid = hs__grid_side(s->product.p);
    if (!grid || !s->step) return HS_ERROR_VALUE;
    const int64_t room = hs__min(grid * s->product.p, HS_MATMUL_MOST_BOXES);
    hs_status status = begin_plan(x, HS_MATMUL_CANNON, "", room);
    if (!status)
        status = hs_matmul_cannon(&s->product, s->block, room, x->boxes, x->sent, &x->box_count);
    if (!status) status = require_room(s, room);
    if (!status && s->product.links) {
        status = reserve_messages(x, 2 * x->box_count);
        if (!status)
            status = hs_matmul_torus(&s->product, x->box_count, x->boxes, 2 * x->box_count, x->sent,
                                     x->messages, &x->message_count);
    }
    return status ? status : keep_faster(s);
}

/* Cuts the iterations into one box for each worker. The boxes are written in place of the zones. */
static hs_status cut_cuboids(planner *s, int64_t orders)
{
    const int32_t p = s->product.p;
    const hs_cuboids problem = {.p = p,
                                .volumes = s->areas,
                                .alpha = 1.0,
                                .beta = 1.0,
                                .gamma = 1.0,
                                .m = s->blocks[0],
                                .n = s->blocks[1],
                                .k = s->blocks[2]};
    hs_cuboids_method method;
    hs_certificate certificate;
    return hs_cuboids_best(&problem, HS_CUBOIDS_BEST, orders, NULL, s->cancel, &method, NULL,
                           s->rects, &certificate);
}

static hs_status plan_cuboids(planner *s)
{
    plan *x = &s->now;
    const int32_t p = s->product.p;
    /* only a caller who asks for cuboids waits for the search over orders */
    hs_status status = cut_cuboids(s, s->options.method == HS_MATMUL_CUBOIDS ? 0 : -1);
    if (status) return status;
    hs_box *given = calloc((size_t)p, sizeof *given);
    if (!given) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < p; i++) {
        const int64_t *cell = s->rects + 6 * (size_t)i;
        given[i] = (hs_box){.worker = i,
                            .row = s->block * cell[0],
                            .col = s->block * cell[1],
                            .depth = s->block * cell[2],
                            .height = s->block * cell[3],
                            .width = s->block * cell[4],
                            .length = s->block * cell[5]};
    }
    status = hs_matmul_layers(&s->product, p, given, x->boxes, x->sent, &x->box_count, &x->sum,
                              &x->layered);
    free(given);
    return status;
}

/* Plans layers of the inner dimension, or cuboids. */
static hs_status plan_layers(planner *s, int32_t method)
{
    plan *x = &s->now;
    if (s->step) return HS_ERROR_VALUE;
    hs_status status = begin_plan(x, method, "", s->product.p);
    if (status) return status;
    status = method == HS_MATMUL_CUBOIDS
                 ? plan_cuboids(s)
                 : hs_matmul_layers_best(&s->product, s->block, s->cancel, x->boxes, x->sent,
                                         &x->box_count, &x->sum, &x->layered);
    return status ? status : keep_faster(s);
}

/* ---- methods --------------------------------------------------------------------------------- */

/* The methods of hs_partition_best; -1: not one of them. */
static const int32_t partitions[HS_MATMUL_METHODS] = {
    [HS_MATMUL_AUTO] = -1,
    [HS_MATMUL_COLUMNS] = -1,
    [HS_MATMUL_ROWS] = -1,
    [HS_MATMUL_RECTANGLES] = HS_PARTITION_COLUMNS,
    [HS_MATMUL_PARTITION] = HS_PARTITION_BEST,
    [HS_MATMUL_CONTIGUOUS] = HS_PARTITION_CONTIGUOUS,
    [HS_MATMUL_LAYERS] = -1,
    [HS_MATMUL_CUBOIDS] = -1,
    [HS_MATMUL_NODES] = -1,
    [HS_MATMUL_CANNON] = -1,
    [HS_MATMUL_DOMAINS] = -1,
    [HS_MATMUL_INTERVAL] = HS_PARTITION_INTERVAL,
    [HS_MATMUL_GUILLOTINE] = HS_PARTITION_GUILLOTINE,
    [HS_MATMUL_NONRECTANGULAR] = HS_PARTITION_NONRECTANGULAR,
    [HS_MATMUL_KALINOV_LASTOVETSKY] = HS_PARTITION_KALINOV_LASTOVETSKY,
    [HS_MATMUL_RECURSIVE] = HS_PARTITION_RECURSIVE,
    [HS_MATMUL_NAGAMOCHI_ABE] = HS_PARTITION_NAGAMOCHI_ABE,
    [HS_MATMUL_SNRPP] = HS_PARTITION_SNRPP,
    [HS_MATMUL_KADDOURA] = HS_PARTITION_KADDOURA,
    [HS_MATMUL_MOHAMMADI_BEHROOZI] = HS_PARTITION_MOHAMMADI_BEHROOZI,
};

static bool divides_depth(int32_t method)
{
    return method == HS_MATMUL_LAYERS || method == HS_MATMUL_CUBOIDS || method == HS_MATMUL_CANNON;
}

/* Plans by one method. */
static hs_status try_method(planner *s, int32_t method)
{
    if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
    if (method == HS_MATMUL_NODES) return plan_nodes(s);
    if (divides_depth(method)) {
        if (s->step && method != HS_MATMUL_CANNON) return HS_ERROR_VALUE;
        const bool some = s->product.m && s->product.n && s->product.k;
        if (some) return method == HS_MATMUL_CANNON ? plan_cannon(s) : plan_layers(s, method);
        method = HS_MATMUL_COLUMNS; /* there is nothing to divide */
    }
    const hs_status status =
        method == HS_MATMUL_COLUMNS ? cut_slices(s, 1)
        : method == HS_MATMUL_ROWS  ? cut_slices(s, 0)
        : method == HS_MATMUL_DOMAINS
            ? cut_domains(s)
            : cut_by_method(s, partitions[method], method != HS_MATMUL_RECTANGLES);
    if (status) return status;
    scale_zones(s);
    return plan_zones(s, method, NULL);
}

/* Returns whether some nodes have several workers, and there are several nodes. */
static bool has_many_nodes(planner *s)
{
    const int32_t p = s->product.p;
    int32_t count = 0;
    for (int32_t i = 0; i < p; i++) s->first[i] = 0;
    for (int32_t i = 0; i < p; i++) count += !s->first[s->nodes[i]]++;
    return count > 1 && count < p;
}

/* Lists the methods that AUTO tries. Returns their number. */
static int list_methods(planner *s, int32_t methods[HS_MATMUL_METHODS])
{
    const hs_matmul *x = &s->product;
    const bool few = x->p <= HS_MATMUL_FEW;
    bool costly = false;
    for (int32_t i = 0; x->link_costs && i < x->p; i++) costly |= x->link_costs[i] > 0.0;
    int count = 0;
    methods[count++] = HS_MATMUL_COLUMNS;
    methods[count++] = HS_MATMUL_ROWS;
    methods[count++] = HS_MATMUL_RECTANGLES;
    if (!few) return count;
    if (x->links || costly) {
        methods[count++] = HS_MATMUL_PARTITION;
        methods[count++] = HS_MATMUL_CONTIGUOUS;
    }
    if (x->links) { /* owners of A and B are defined for zones only */
        if (has_many_nodes(s)) methods[count++] = HS_MATMUL_NODES;
        return count;
    }
    if (s->step || s->options.zones_only) return count;
    methods[count++] = HS_MATMUL_LAYERS;
    if (costly) methods[count++] = HS_MATMUL_CUBOIDS;
    return count;
}

/* Tries the methods. Of several, one with too little to divide, or too much, is left out. */
static hs_status try_methods(planner *s)
{
    if (s->options.method) return try_method(s, s->options.method);
    int32_t methods[HS_MATMUL_METHODS];
    const int count = list_methods(s, methods);
    for (int i = 0; i < count; i++) {
        const hs_status status = try_method(s, methods[i]);
        if (status && status != HS_ERROR_INFEASIBLE && status != HS_ERROR_UNSUPPORTED)
            return status;
    }
    return HS_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool valid_places(int32_t p, const int32_t *of)
{
    for (int32_t i = 0; of && i < p; i++)
        if (of[i] < 0 || of[i] >= p) return false;
    return true;
}

static bool valid_options(const hs_matmul *x, const hs_matmul_options *options)
{
    if (options->method < HS_MATMUL_AUTO || options->method >= HS_MATMUL_METHODS) return false;
    if (options->block < 0 || options->block > HS__SIZE_MOST) return false;
    if ((options->stepwise | options->zones_only) & ~1) return false;
    if (options->zones_only && (options->stepwise || divides_depth(options->method))) return false;
    return valid_places(x->p, options->nodes) && valid_places(x->p, options->domains);
}

static bool valid_found(const hs_matmul_found *found)
{
    if (!found || found->box_capacity < 0 || found->message_capacity < 0) return false;
    if (found->box_capacity && (!found->boxes || !found->sent)) return false;
    return !found->message_capacity || found->messages;
}

static bool has_finite(int32_t p, const double *times)
{
    for (int32_t i = 0; i < p; i++)
        if (isfinite(times[i])) return true;
    return false;
}

/* Returns the links if some message takes time. */
static const double *links_of(const hs_matmul *x)
{
    for (int64_t i = 0; x->links && i < (int64_t)x->p * x->p; i++)
        if (x->links[i] > 0.0) return x->links;
    return NULL;
}

/* Takes all memory whose size is known: the caller frees it by close_planner. */
static hs_status open_planner(planner *s, const hs_matmul *product)
{
    enum { DOUBLES = 3 + 2 * 2, LONGS = 2 * 12 + 2 + 2, INTS = 2 * 3 + 3 };
    const size_t p = (size_t)product->p;
    s->memory =
        calloc(p + 1, DOUBLES * sizeof(double) + LONGS * sizeof(int64_t) + INTS * sizeof(int32_t));
    if (!s->memory) return HS_ERROR_MEMORY;
    s->areas = s->memory;
    s->times = s->areas + p;
    s->speeds = s->times + p;
    s->now.sum.sent = s->speeds + p;
    s->now.sum.flops = s->now.sum.sent + p;
    s->best.sum.sent = s->now.sum.flops + p;
    s->best.sum.flops = s->best.sum.sent + p;
    s->now.sum.rows = (int64_t *)(s->best.sum.flops + p);
    s->best.sum.rows = s->now.sum.rows + p + 1;
    s->rects = s->best.sum.rows + p + 1;
    s->placed.rects = s->rects + 12 * p;
    s->groups = s->placed.rects + 12 * p;
    s->counts = s->groups + p;
    s->workers = (int32_t *)(s->counts + p);
    s->placed.workers = s->workers + 3 * p;
    s->order = s->placed.workers + 3 * p;
    s->nodes = s->order + p;
    s->first = s->nodes + p;
    s->product = *product;
    s->product.links = links_of(product);
    const int64_t sizes[3] = {product->m, product->n, product->k};
    s->block = s->options.block ? s->options.block : 1;
    for (int axis = 0; axis < 3; axis++) s->blocks[axis] = hs__ceil_div(sizes[axis], s->block);
    s->step = s->options.stepwise ? s->block : 0;
    s->steps = s->step ? hs__max(s->blocks[2], 1) : 1;
    find_areas(product, s->areas);
    if (s->options.nodes) memcpy(s->nodes, s->options.nodes, p * sizeof *s->nodes);
    if (s->options.nodes || !s->product.links || product->p > HS_MATMUL_FEW) return HS_OK;
    return hs__link_clusters(product->p, s->product.links, s->nodes);
}

static void close_planner(planner *s)
{
    free_plan(&s->now);
    free_plan(&s->best);
    free(s->memory);
}

static void copy(void *to, const void *from, size_t count, size_t size)
{
    if (to && count) memcpy(to, from, count * size);
}

/* Writes the best plan with its schedule; its arrays, if they have room. */
static hs_status write_best(planner *s, hs_certificate *certificate)
{
    hs_matmul_found *found = s->found;
    const plan *x = &s->best;
    const size_t p = (size_t)s->product.p;
    const size_t boxes = (size_t)x->box_count;
    const bool fits =
        x->box_count <= found->box_capacity && x->message_count <= found->message_capacity;
    found->schedule.makespan = x->makespan;
    if (isinf(x->makespan)) return HS_ERROR_VALUE;
    hs_schedule schedule = fits ? found->schedule : (hs_schedule){0};
    hs_status status = schedule_plan(s, x, &schedule);
    if (!status)
        status =
            hs_certificate_of("makespan", HS_MINIMISED, x->makespan, schedule.bound, certificate);
    if (status) return status;
    found->schedule.start = schedule.start;
    found->schedule.bound = schedule.bound;
    certificate->scope = x->scope;
    found->method = x->method;
    found->box_count = x->box_count;
    found->message_count = x->message_count;
    found->layered = x->layered;
    if (!fits) return HS_OK;
    copy(found->boxes, x->boxes, boxes, sizeof *x->boxes);
    copy(found->sent, x->sent, boxes, sizeof *x->sent);
    if (x->message_count > 0)
        copy(found->messages, x->messages, (size_t)x->message_count, sizeof *x->messages);
    if (!x->layered) return HS_OK;
    copy(found->sum.rows, x->sum.rows, p + 1, sizeof *x->sum.rows);
    copy(found->sum.sent, x->sum.sent, p, sizeof *x->sum.sent);
    copy(found->sum.flops, x->sum.flops, p, sizeof *x->sum.flops);
    return HS_OK;
}

hs_status hs_matmul_best(const hs_matmul *product, const hs_matmul_options *options,
                         const int *cancel, hs_matmul_found *found, hs_certificate *certificate)
{
    planner s = {.cancel = cancel, .found = found};
    if (options) s.options = *options;
    if (!hs__matmul_valid(product) || product->triangle || !valid_found(found) || !certificate)
        return HS_ERROR_VALUE;
    if (!valid_options(product, &s.options) || !has_finite(product->p, product->cycle_times))
        return HS_ERROR_VALUE;
    found->box_count = 0;
    found->message_count = -1;
    found->schedule.makespan = 0.0;
    for (int i = 0; found->tried && i < HS_MATMUL_METHODS; i++) found->tried[i] = -1.0;
    hs_status status = open_planner(&s, product);
    if (!status) status = try_methods(&s);
    if (!status) status = write_best(&s, certificate);
    close_planner(&s);
    return status;
}
