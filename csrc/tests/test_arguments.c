/* Rules that hold for every public function: a pointer that must not be NULL gives HS_ERROR_VALUE
 * if it is NULL; an optional pointer gives HS_OK; a planner that takes cancel ends with
 * HS_ERROR_CANCELLED. There is one line for each function; tests/_engine/test_c_library.py checks
 * that none is missing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"

enum { P = 3 };

static int hole;        /* number of the pointer that is NULL in the call; -1: none */
static const int *stop; /* passed to the call as cancel */
static hs_pool *pool;

/* The pointer with this number. Numbers start at 0, required pointers first. */
#define AT(number, pointer) (hole == (number) ? NULL : (pointer))

/* Inputs that are valid together, and memory for all outputs. */
static const double times[] = {1, 2, 4}, zeros[] = {0, 0, 0}, few[] = {.1, .2, .3},
                    ones[] = {1, 1, 1},
                    table[P * 6] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const double ones4[4 * P] = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
static const double links[P * P] = {0, .1, .2, .1, 0, .3, .2, .3, 0};
static const int64_t counts[] = {5, 0, 0}, eight[8], memory[] = {60, 60, 60}, rows5[] = {5};
static const int32_t owner[36], plan3[] = {0, 1, HS_ABOVE, 2, HS_BESIDE},
                                tree3[] = {0, 1, -1, 2, -2}, order3[] = {0, 1, 2}, pair[] = {0, 1};
static const int64_t rects3[] = {0, 0, 2, 2, 2, 0, 2, 2, 0, 2, 4, 2},
                     cuboids3[] = {0, 0, 0, 2, 2, 2, 2, 0, 0, 2, 2, 2, 4, 0, 0, 2, 2, 2};
static int32_t ints[64], more[64], other_ints[64], one_int, other_int;
static int64_t longs[128], lengths[128], one_long, other_long;
static double reals[256], others[256], third[256], one, another;
static int flag;
static hs_certificate certificate;
static hs_box boxes[64];
static uint64_t seed;
static const hs_effort untimed;

/* ---- allocate ---- */

static hs_status distribute(void)
{
    return hs_distribute(5, P, AT(0, times), stop, AT(1, longs), AT(2, &one));
}
static hs_status distribute_certificate(void)
{
    return hs_distribute_certificate(5, P, AT(0, times), AT(1, counts), stop, AT(2, &certificate));
}
static hs_status distribute_after(void)
{
    return hs_distribute_after(5, P, AT(0, times), AT(1, zeros), stop, AT(2, longs), AT(3, &one));
}
static hs_status distribute_batch(void)
{
    return hs_distribute_batch(1, AT(0, rows5), P, AT(1, times), stop, AT(2, longs), AT(3, reals));
}
static hs_status distribute_profile(void)
{
    return hs_distribute_profile(5, P, AT(0, table), stop, AT(1, longs), AT(2, &one));
}
static hs_status distribute_prefix(void)
{
    return hs_distribute_prefix(5, P, AT(0, times), stop, AT(1, ints), AT(2, reals));
}
static hs_status reduction_size(void)
{
    return hs_reduction_size(9, 2, AT(0, &one_long), AT(1, &one_int));
}
static hs_status reduction_owners(void)
{
    return hs_reduction_owners(9, 2, P, AT(0, times), AT(2, times), stop, AT(1, ints));
}
static hs_status reduction_simulate(void)
{
    static hs_reduction_task tasks[64];
    return hs_reduction_simulate(9, 2, P, AT(0, times), AT(3, times), AT(1, owner), stop,
                                 AT(2, &one), AT(4, tasks));
}
static hs_status reduction_bound(void)
{
    return hs_reduction_bound(9, 2, P, AT(0, times), AT(2, times), stop, AT(3, &another),
                              AT(1, &one));
}
static hs_status reduction_certificate(void)
{
    return hs_reduction_certificate(9, 2, P, AT(0, times), AT(3, times), AT(1, owner), stop,
                                    AT(2, &certificate));
}
static hs_status lu_blocks(void) { return hs_factor_blocks(9, 9, 3, AT(0, &one_int)); }

static hs_status lu_simulate(void)
{
    static hs_factor_task tasks[64];
    static hs_factor_message messages[64];
    const hs_factor_costs costs = {.panels = AT(3, times), .links = AT(4, links)};
    return hs_factor_simulate(HS_LU, 9, 9, 3, P, AT(0, times), AT(1, owner), 0, AT(5, &costs), stop,
                              AT(2, &one), AT(6, &another), AT(7, tasks), AT(8, &one_long),
                              AT(9, messages), AT(10, &other_long));
}

static hs_status lu_certificate(void)
{
    return hs_factor_certificate(HS_LU, 9, 9, 3, P, AT(0, times), AT(1, owner), 0, NULL, stop,
                                 AT(2, &certificate));
}
static hs_status profile_certificate(void)
{
    return hs_profile_certificate(5, P, AT(0, table), AT(1, counts), stop, AT(2, &certificate));
}
static hs_status partition_profile(void)
{
    hs_profile_method found;
    return hs_partition_profile(2, 2, 2, AT(0, table), HS_PROFILE_COLUMNS, AT(4, &untimed), stop,
                                AT(1, &found), AT(2, longs), AT(3, &certificate));
}
static hs_status partition_profile_certificate(void)
{
    static const int64_t cells[] = {0, 0, 2, 1, 0, 1, 2, 1};
    return hs_partition_profile_certificate(2, 2, 2, AT(0, table), AT(1, cells), stop,
                                            AT(2, &certificate));
}
static hs_status zone_times(void)
{
    return hs_zone_times(1, 1, AT(0, times), AT(1, times), AT(2, table), 2, 1, AT(3, reals));
}
static hs_status pattern_certificate(void)
{
    return hs_pattern_certificate(5, P, AT(0, times), AT(1, owner), stop, AT(2, &certificate));
}
static hs_status pattern_best(void)
{
    return hs_pattern_best(5, P, AT(0, times), HS_PATTERN_CONTIGUOUS, 0, stop, AT(1, ints),
                           AT(2, reals), AT(3, &certificate));
}
static hs_status pattern_profile(void)
{
    return hs_pattern_profile(2, 1, P, AT(0, table), stop, AT(1, ints), AT(2, reals),
                              AT(3, &certificate));
}
static hs_status pattern_profile_certificate(void)
{
    return hs_pattern_profile_certificate(2, 1, P, AT(0, table), AT(1, owner), stop,
                                          AT(2, &certificate));
}
static hs_status lu_bound(void)
{
    return hs_factor_bound(HS_LU, 9, 9, 3, P, AT(0, times), AT(2, times), 0, stop, AT(3, &one),
                           AT(1, &another));
}
static hs_status lu_profile_bound(void)
{
    return hs_factor_profile_bound(HS_LU, 9, 9, 3, P, AT(0, table), AT(1, times), stop, AT(3, &one),
                                   AT(2, &another));
}
static hs_status lu_grid_deal(void)
{
    return hs_lu_grid_deal(4, P, AT(0, times), AT(1, plan3), 5, stop, AT(2, ints));
}
static hs_status lu_grid_evaluate(void)
{
    return hs_lu_grid_evaluate(4, P, AT(0, times), AT(1, owner), stop, AT(2, reals), AT(3, longs),
                               AT(4, lengths));
}
static hs_status lu_grid_bound(void)
{
    return hs_lu_grid_bound(4, P, AT(0, times), 0.5, stop, AT(1, reals));
}
static hs_status lu_grid_certificate(void)
{
    return hs_lu_grid_certificate(4, P, AT(0, times), 0.5, AT(1, owner), stop, AT(2, &certificate));
}
static hs_status lu_grid_best(void)
{
    const hs_lu_grid grid = {4, P, AT(0, times), 0.5};
    hs_lu_grid_method found;
    hs_lu_grid_result result = {AT(1, ints),  AT(2, reals),   AT(3, others),
                                AT(4, longs), AT(5, lengths), 0};
    return hs_lu_grid_best(AT(6, &grid), HS_LU_GRID_BEST, stop, AT(7, &found), AT(8, &result),
                           AT(9, &certificate));
}
static hs_status wavefront_makespan(void)
{
    double *start = hole == 3 ? NULL : reals;
    double *end = hole == 3 ? NULL : others; /* both or none */
    return hs_wavefront_makespan(4, 5, P, AT(0, times), AT(1, owner), 0, HS_ROW_WISE, stop,
                                 AT(2, &one), start, end);
}
static hs_status wavefront_bound(void)
{
    return hs_wavefront_bound(4, 5, P, AT(0, times), 0, stop, AT(1, &one));
}
static hs_status wavefront_certificate(void)
{
    return hs_wavefront_certificate(4, 5, P, AT(0, times), AT(1, owner), 0, HS_ROW_WISE, stop,
                                    AT(2, &certificate));
}
static hs_status wavefront_best(void)
{
    return hs_wavefront_best(4, 5, P, AT(0, times), HS_WAVEFRONT_PANELS, 0, 0, HS_ROW_WISE, stop,
                             AT(1, ints), AT(2, &one_int), AT(3, &other_int), AT(4, &certificate));
}
static hs_status wavefront_panels(void)
{
    return hs_wavefront_panels(4, 5, P, AT(0, times), 0, 0, HS_ROW_WISE, stop, AT(1, ints),
                               AT(2, &one_int), AT(3, &other_int), AT(4, &one));
}

/* ---- assign ---- */

static hs_status assign(void)
{
    return hs_assign(P, P, AT(0, links), P, 0, stop, AT(1, ints), AT(2, reals), AT(3, others));
}
static hs_status assign_int64(void)
{
    return hs_assign_int64(P, P, AT(0, cuboids3), P, 0, stop, AT(1, ints), AT(2, longs),
                           AT(3, lengths));
}
static hs_status task_counts(void)
{
    return hs_task_counts(9, P, AT(0, times), 1, 1, 4, AT(2, order3), stop, AT(1, longs));
}
static hs_status task_deadlines(void)
{
    return hs_task_deadlines(9, P, AT(0, times), 1, 4, AT(1, counts), stop, AT(2, ints));
}
static hs_status task_orders(void)
{
    return hs_task_orders(9, P, AT(0, times), AT(1, few), few, P, AT(2, order3), AT(3, order3),
                          AT(4, longs));
}
static hs_status task_orders_out(void)
{
    return hs_task_orders(9, P, times, few, AT(0, (const double *)NULL), P, order3, AT(1, order3),
                          longs);
}
static hs_status task_links(void)
{
    return hs_task_links(9, P, AT(0, times), AT(1, few), AT(6, few), 1, 1, stop, AT(2, &one_int),
                         AT(3, ints), AT(4, more), AT(5, &flag));
}
static hs_status task_positions(void)
{
    return hs_task_positions(9, P, AT(0, times), AT(1, few), AT(3, few), 2, stop, AT(2, longs));
}
/* The pointers that both drivers of tasks need. */
static hs_status plan_tasks(int least_time)
{
    const hs_task_workers workers = {P, AT(1, times), AT(6, few), AT(7, few), 0, 0};
    const hs_task_workers *given = AT(0, &workers);
    hs_task_plan plan = {.counts = AT(3, longs), .send_order = AT(4, ints)};
    plan.receive_order = AT(5, more);
    return least_time ? hs_min_time(given, 9, AT(8, (const hs_effort *)NULL), stop, &plan,
                                    AT(2, &certificate))
                      : hs_max_tasks(given, 9, HS_TASKS_BEST, AT(8, (const hs_effort *)NULL), stop,
                                     &plan, AT(2, &certificate));
}
static hs_status max_tasks(void) { return plan_tasks(0); }
static hs_status min_time(void) { return plan_tasks(1); }
static hs_status max_tasks_no_plan(void)
{
    const hs_task_workers workers = {P, times, few, few, 0, 0};
    hs_task_plan plan = {.counts = longs, .send_order = ints, .receive_order = more};
    return hs_max_tasks(&workers, 9, HS_TASKS_BEST, NULL, stop, AT(0, &plan), &certificate);
}
static hs_status min_time_no_plan(void)
{
    const hs_task_workers workers = {P, times, few, few, 0, 0};
    hs_task_plan plan = {.counts = longs, .send_order = ints, .receive_order = more};
    return hs_min_time(&workers, 9, NULL, stop, AT(0, &plan), &certificate);
}
static hs_status max_tasks_batch(void)
{
    const hs_task_workers workers = {P, AT(1, times), AT(5, few), AT(6, few), P, P};
    return hs_max_tasks_batch(1, AT(0, &workers), 9, HS_TASKS_BEST, AT(7, (const hs_effort *)NULL),
                              stop, AT(2, longs), AT(3, lengths), AT(4, longs + 8));
}
static hs_status task_end(void)
{
    const hs_task_workers workers = {P, AT(1, times), AT(6, few), few, 0, 0};
    return hs_task_end(AT(0, &workers), P, AT(2, order3), AT(3, order3), AT(4, counts),
                       AT(5, &one));
}
static hs_status assign_axial(void)
{
    return hs_assign_axial(2, AT(0, eight), stop, AT(1, ints), AT(2, more), AT(3, &one_long));
}
static hs_status divisible_orders(void)
{
    memcpy(ints, order3, sizeof order3);
    memcpy(more, order3, sizeof order3);
    return hs_divisible_orders(P, AT(0, times), AT(1, few), AT(2, few), 9, 1, 0, stop, AT(3, ints),
                               AT(4, more), AT(5, reals), AT(6, &one), AT(7, &flag));
}
static hs_status divisible_best(void)
{
    const hs_divisible_load load = {9, P, AT(1, times), AT(7, few), AT(8, few)};
    hs_divisible_plan plan = {.shares = AT(4, reals), .send_order = AT(5, ints)};
    plan.receive_order = AT(6, more);
    return hs_divisible_best(AT(0, &load), HS_DIVISIBLE_BEST, AT(9, (const hs_effort *)NULL), stop,
                             AT(2, &plan), AT(3, &certificate));
}
static hs_status divisible_bound(void)
{
    return hs_divisible_bound(P, AT(0, times), AT(1, few), AT(2, few), stop, AT(3, &one));
}
static hs_status divisible_certificate(void)
{
    return hs_divisible_certificate(P, AT(0, times), AT(1, few), AT(2, few), 9, stop,
                                    AT(3, &certificate));
}

/* ---- partition ---- */

static hs_status floorplan_rects(void)
{
    return hs_floorplan_rects(P, AT(0, times), AT(5, ones), 1, AT(1, plan3), 5, AT(2, ints),
                              AT(3, reals), AT(4, &one_int), AT(6, &one));
}
static hs_status floorplan_tile(void)
{
    return hs_floorplan_tile(8, 8, P, AT(0, times), AT(1, plan3), 5, stop, AT(2, ints),
                             AT(3, longs), AT(4, &one_int));
}
static hs_status floorplan_certificate(void)
{
    return hs_floorplan_certificate(P, AT(0, times), AT(3, ones), 1, AT(1, plan3), 5,
                                    AT(2, &certificate));
}
static hs_status zones_certificate(void)
{
    return hs_zones_certificate(4, 4, P, AT(3, ones), P, AT(0, order3), AT(1, rects3),
                                AT(2, &certificate));
}
static hs_status zones_bound(void)
{
    return hs_zones_bound(P, AT(0, times), AT(2, ones), 1, 7, 0, AT(1, &one));
}
static hs_status partition_columns(void)
{
    return hs_partition_columns(P, AT(0, times), 1, 1, P, P, stop, AT(1, ints), AT(2, more),
                                AT(3, &one_int), AT(4, &one));
}
static hs_status partition_best(void)
{
    const hs_partition x = {.p = P, .areas = AT(0, times), .weights = AT(4, ones)};
    hs_partition_plan plan = {.plan = AT(5, ints), .workers = AT(6, more), .rects = AT(7, reals)};
    const hs_effort effort = {.seed = 1};
    return hs_partition_best(AT(1, &x), AT(8, &effort), stop, AT(2, &plan), AT(3, &certificate));
}
static hs_status partition_batch(void)
{
    const hs_partition x = {
        .p = P, .areas = AT(0, times), .method = HS_PARTITION_INTERVAL, .weights = AT(5, ones)};
    const hs_effort effort = {.seed = 1};
    return hs_partition_batch(1, AT(1, &x), AT(6, &effort), stop, AT(2, &one), AT(3, &another),
                              AT(4, &one_int), AT(7, reals), AT(8, &one_long));
}
static hs_status zones_spans(void)
{
    return hs_zones_spans(P, P, AT(0, order3), AT(1, ones4), AT(2, reals), AT(3, others));
}
static hs_status zones_flaw(void)
{
    return hs_zones_flaw(1, 1, 0, P, AT(0, ones4), stop, AT(1, &one_int), AT(2, ints));
}
static hs_status partition_rule(void)
{
    return hs_partition_rule(HS_RULE_SNRPP, P, AT(0, times), 1, stop, AT(1, ints), AT(2, &one_int),
                             AT(3, &one));
}
static hs_status partition_contiguous(void)
{
    return hs_partition_contiguous(8, 8, P, AT(0, times), stop, AT(1, ints), AT(2, longs),
                                   AT(3, &one_int));
}
static hs_status partition_interval(void)
{
    return hs_partition_interval(P, AT(0, times), AT(4, ones), 1, AT(5, order3), AT(6, owner), 1, 0,
                                 stop, AT(1, ints), AT(2, &one_int), AT(3, &one));
}
static hs_status partition_guillotine(void)
{
    return hs_partition_guillotine(P, AT(0, times), AT(4, ones), 1, 0, stop, AT(1, ints),
                                   AT(2, &one_int), AT(3, &one));
}
static hs_status partition_nonrectangular(void)
{
    return hs_partition_nonrectangular(P, AT(0, times), AT(4, ones), 1, AT(5, order3), stop,
                                       AT(1, ints), AT(2, &one_int), AT(3, &one));
}
static hs_status partition_largest(void)
{
    return hs_partition_largest(P, AT(0, times), AT(4, ones), 1, AT(5, order3), stop, AT(1, ints),
                                AT(2, &one_int), AT(3, &one));
}
static hs_status partition_search(void)
{
    memcpy(ints, plan3, sizeof plan3);
    return hs_partition_search(P, AT(0, times), AT(4, ones), 1, 9, 0, stop, AT(1, ints), 5,
                               AT(2, &seed), AT(3, &one));
}
static hs_status partition_cuboids(void)
{
    return hs_partition_cuboids(P, AT(0, times), AT(1, ones), 7, AT(5, order3), 1, 1, stop,
                                AT(2, ints), AT(3, &one_int), AT(4, &one));
}
static hs_status partition_cuboids_exact(void)
{
    return hs_partition_cuboids_exact(P, AT(0, times), AT(1, ones), 7, stop, AT(2, ints),
                                      AT(3, &one_int), AT(4, &one));
}
static hs_status cuboids_best(void)
{
    const hs_cuboids cube = {P, AT(0, times), 1, 1, 1, 0, 0, 0};
    const hs_effort effort = {1, 0, 0};
    hs_cuboids_method found;
    return hs_cuboids_best(AT(1, &cube), HS_CUBOIDS_BEST, 3, AT(5, &effort), stop, AT(2, &found),
                           AT(3, reals), AT(6, longs), AT(4, &certificate));
}
static hs_status cuboids_best_of_a_shape(void)
{
    const hs_cuboids product = {P, times, 1, 1, 1, 8, 8, 8};
    hs_cuboids_method found;
    return hs_cuboids_best(&product, HS_CUBOIDS_INTERVAL, 0, NULL, stop, &found, AT(1, reals),
                           AT(0, longs), &certificate);
}
static hs_status cuboid_boxes(void)
{
    return hs_cuboid_boxes(P, AT(0, times), AT(1, tree3), 5, AT(2, reals));
}
static hs_status tile_cuboids(void)
{
    return hs_tile_cuboids(8, 8, 8, P, AT(0, times), AT(1, tree3), 5, stop, AT(2, longs));
}
static hs_status cuboids_bound(void)
{
    return hs_cuboids_bound(P, AT(0, times), AT(1, ones), AT(2, &one));
}
static hs_status cuboids_certificate(void)
{
    return hs_cuboids_certificate(P, AT(0, times), AT(1, ones), AT(2, tree3), 5,
                                  AT(3, &certificate));
}

/* ---- ring, layers, star ---- */

/* `first`: number of the first of three optional pointers */
#define RING(first)                       \
    {.p = P,                              \
     .cycle_times = AT(0, times),         \
     .links = AT(first, links),           \
     .work = 9,                           \
     .volume = 1,                         \
     .latencies = AT((first) + 1, links), \
     .overheads = AT((first) + 2, few)}
static hs_status ring_best(void)
{
    const hs_ring x = RING(6);
    hs_ring_method used;
    return hs_ring_best(AT(1, &x), HS_RING_METHOD_BEST, AT(9, &untimed), stop, AT(2, ints),
                        AT(3, &one_int), AT(4, reals), AT(10, &used), AT(5, &certificate));
}
static hs_status ring_batch(void)
{
    const hs_ring x = RING(6);
    return hs_ring_batch(1, AT(1, &x), HS_RING_METHOD_SEARCH, AT(9, &untimed), stop, AT(2, reals),
                         AT(3, &one), AT(4, &another), AT(5, &one_int));
}
static hs_status ring_certificate(void)
{
    static const double third_each[] = {.5, .25, .25};
    const hs_ring x = RING(4);
    return hs_ring_certificate(AT(1, &x), P, AT(2, order3), AT(7, third_each), stop,
                               AT(3, &certificate));
}
static hs_status ring_profile(void)
{
    const hs_ring x = RING(9);
    return hs_ring_profile(AT(1, &x), 9, stop, AT(2, &one_int), AT(3, reals), AT(4, ints),
                           AT(5, more), AT(6, others), AT(7, other_ints), AT(8, third));
}
static hs_status ring_shares(void)
{
    const hs_ring x = RING(5);
    return hs_ring_shares(AT(1, &x), P, AT(2, order3), stop, AT(3, reals), AT(4, &one));
}
static hs_status ring_greedy(void)
{
    const hs_ring x = RING(5);
    return hs_ring_greedy(AT(1, &x), -1, stop, AT(2, ints), AT(3, &one_int), AT(4, &one));
}
static hs_status ring_search(void)
{
    const hs_ring x = RING(6);
    memcpy(ints, order3, sizeof order3);
    one_int = P;
    return hs_ring_search(AT(1, &x), 9, stop, AT(2, ints), AT(3, &one_int), AT(4, &seed),
                          AT(5, &one));
}
static hs_status ring_exact(void)
{
    const hs_ring x = RING(5);
    return hs_ring_exact(AT(1, &x), stop, AT(2, ints), AT(3, &one_int), AT(4, &one));
}
static hs_status ring_shortest(void)
{
    const hs_ring x = RING(3);
    return hs_ring_shortest(AT(1, &x), stop, AT(2, ints));
}
static hs_status ring_tour(void)
{
    const hs_ring x = RING(4);
    memcpy(ints, order3, sizeof order3);
    return hs_ring_tour(AT(1, &x), 9, stop, AT(2, ints), AT(3, &seed));
}
static hs_status ring_lengths(void)
{
    const hs_ring x = RING(3);
    return hs_ring_lengths(AT(1, &x), stop, AT(2, reals));
}
static const int64_t moved3[] = {0, 5, 0}, flows3[] = {5, 0, 0};
/* `last`: number of the optional pointer */
#define REDISTRIBUTION(last)  \
    {.size = P,               \
     .before = AT(0, counts), \
     .after = AT(1, moved3),  \
     .next = AT(2, few),      \
     .previous = AT(last, few)}
static hs_status ring_redistribute(void)
{
    const hs_redistribution x = REDISTRIBUTION(7);
    return hs_ring_redistribute(AT(3, &x), stop, AT(4, longs), AT(5, &one_int),
                                AT(6, &certificate));
}
static hs_status ring_redistribution_certificate(void)
{
    const hs_redistribution x = REDISTRIBUTION(6);
    return hs_ring_redistribution_certificate(AT(3, &x), AT(4, flows3), 1, stop,
                                              AT(5, &certificate));
}
static hs_status ring_redistribution_messages(void)
{
    const hs_redistribution x = REDISTRIBUTION(11);
    return hs_ring_redistribution_messages(AT(3, &x), AT(4, flows3), 1, 9, stop, AT(5, &one_long),
                                           AT(6, ints), AT(7, more), AT(8, longs), AT(9, reals),
                                           AT(10, others));
}
static hs_status ring_bound(void)
{
    const hs_ring x = RING(3);
    return hs_ring_bound(AT(1, &x), INFINITY, 9, stop, AT(2, &one));
}

/* Three workers at one router. `first`: number of the ends, then costs and routes. */
static const int32_t star_ends[] = {0, 3, 1, 3, 2, 3};
static const int32_t star_hops[] = {0, 1, 0, 2, 1, 0, 1, 2, 2, 0, 2, 1};
static const int64_t star_first[P * P + 1] = {0, 0, 2, 4, 6, 6, 8, 10, 12, 12};
#define NETWORK(first_)                     \
    {.nodes = P + 1,                        \
     .links = P,                            \
     .ends = AT(first_, star_ends),         \
     .costs = AT((first_) + 1, few),        \
     .first = AT((first_) + 2, star_first), \
     .hops = AT((first_) + 3, star_hops)}
#define SHARED(first_)               \
    {.p = P,                         \
     .cycle_times = AT(0, times),    \
     .work = 9,                      \
     .volume = 1,                    \
     .latencies = AT(first_, links), \
     .overheads = AT((first_) + 1, few)}
static hs_status ring_routes(void)
{
    const hs_ring_network x = {
        .nodes = P + 1, .links = P, .ends = AT(3, star_ends), .costs = AT(4, few)};
    return hs_ring_routes(P, AT(0, &x), 64, stop, AT(1, longs), AT(2, ints));
}
static hs_status ring_shared_best(void)
{
    const hs_ring x = SHARED(14);
    const hs_ring_network net = NETWORK(3);
    hs_ring_method used;
    return hs_ring_shared_best(AT(1, &x), AT(2, &net), HS_RING_METHOD_BEST, AT(12, &untimed), stop,
                               AT(7, ints), AT(8, &one_int), AT(9, reals), AT(10, others),
                               AT(13, &used), AT(11, &certificate));
}
static hs_status ring_bandwidths(void)
{
    const hs_ring x = SHARED(11);
    const hs_ring_network net = NETWORK(3);
    return hs_ring_bandwidths(AT(1, &x), AT(2, &net), P, AT(7, order3), stop, AT(8, reals),
                              AT(9, others), AT(10, &certificate));
}
static hs_status ring_shared_certificate(void)
{
    static const double third_each[] = {.5, .25, .25};
    const hs_ring x = RING(10);
    const hs_ring_network net = NETWORK(3);
    return hs_ring_shared_certificate(AT(1, &x), AT(2, &net), P, AT(7, order3), AT(8, third_each),
                                      stop, AT(9, &certificate));
}

#define LAYERS {.mode = HS_SCSS, .p = P, .layers = 5, .compute = AT(0, times), .send = AT(1, few)}
static hs_status layers_schedule(void)
{
    const hs_layers x = LAYERS;
    return hs_layers_schedule(AT(2, &x), AT(8, order3), AT(3, counts), AT(4, reals), AT(5, others),
                              AT(6, third), AT(7, &one));
}
static hs_status layers_relaxed(void)
{
    const hs_layers x = LAYERS;
    return hs_layers_relaxed(AT(2, &x), AT(4, order3), AT(5, reals), AT(3, &one));
}
static hs_status layers_bound(void)
{
    const hs_layers x = LAYERS;
    return hs_layers_bound(AT(2, &x), stop, AT(3, &one));
}
static hs_status layers_paper(void)
{
    const hs_layers x = LAYERS;
    return hs_layers_paper(AT(2, &x), AT(4, order3), AT(5, reals), AT(3, longs));
}
static hs_status layers_exact(void)
{
    const hs_layers x = LAYERS;
    return hs_layers_exact(AT(2, &x), AT(5, order3), stop, AT(3, longs), AT(4, &flag));
}
static hs_status layers_best(void)
{
    const hs_layers x = LAYERS;
    return hs_layers_best(AT(2, &x), 9, stop, AT(3, ints), AT(4, longs), AT(5, &flag));
}
#define LAYERS_PRODUCT {HS_SCSS, P, 5, AT(0, times), AT(1, few), NULL, 0}
static hs_status layers_plan(void)
{
    const hs_layers_product x = LAYERS_PRODUCT;
    hs_layers_result result = {AT(3, longs),  AT(4, ints),  0, AT(5, reals),
                               AT(6, others), AT(7, third), 0};
    return hs_layers_plan(AT(2, &x), HS_LAYERS_BEST, stop, AT(8, &result), AT(9, &certificate));
}
static hs_status layers_batch(void)
{
    const hs_layers_product x = LAYERS_PRODUCT;
    return hs_layers_batch(HS_LAYERS_BEST, 1, AT(2, &x), stop, AT(3, longs), AT(4, &one),
                           AT(5, &another), AT(6, &one_int));
}
static hs_status layers_room(void) { return hs_layers_room(5, 25, P, AT(0, times), AT(1, longs)); }
static hs_status layers_certificate(void)
{
    const hs_layers x = LAYERS;
    return hs_layers_certificate(AT(2, &x), AT(5, order3), AT(3, counts), stop,
                                 AT(4, &certificate));
}

#define STAR                      \
    {.r = 4,                      \
     .s = 4,                      \
     .t = 4,                      \
     .p = P,                      \
     .cycle_times = AT(0, times), \
     .link_costs = AT(1, few),    \
     .memory = AT(2, memory)}
static const hs_star_chunk chunk = {
    .held = HS_STAR_HOLD_C, .buffers = 2, .height = 4, .width = 4, .depth = 1};
static const hs_star_share shares[P] = {{4, 1, 1, HS_STAR_HOLD_C, 2, 0}};
static hs_star_chunk chunks[64];
static hs_star_message messages[256];
static hs_star_summary summary;
static hs_status star_simulate(void)
{
    const hs_star x = STAR;
    return hs_star_simulate(AT(3, &x), 1, AT(4, &chunk), HS_STAR_DEMAND, 0, AT(8, ints), 0, stop,
                            AT(7, messages), AT(5, &one_long), AT(6, &one));
}
static hs_status star_simulate_listed(void)
{
    const hs_star x = {
        .r = 4, .s = 4, .t = 4, .p = P, .cycle_times = times, .link_costs = few, .memory = memory};
    return hs_star_simulate(&x, 1, &chunk, HS_STAR_LISTED, 6, AT(0, owner), 0, NULL, NULL,
                            &one_long, &one);
}
static hs_status star_plan(void)
{
    const hs_star x = STAR;
    hs_star_chunk *c = hole == 7 ? NULL : chunks; /* both or none */
    hs_star_message *m = hole == 7 ? NULL : messages;
    return hs_star_plan(AT(3, &x), HS_STAR_ODDOML, HS_STAR_ALL, 0, stop, AT(4, &summary),
                        AT(5, longs), AT(6, lengths), c, m);
}
static hs_status star_exact(void)
{
    const hs_star x = STAR;
    return hs_star_exact(AT(3, &x), 100000, INFINITY, stop, AT(4, &one_long), AT(5, chunks),
                         AT(6, &other_long), AT(7, ints), AT(8, &one));
}
static hs_status star_cut(void)
{
    const hs_star x = STAR;
    return hs_star_cut(AT(3, &x), 0, AT(4, shares), AT(5, &one_long), AT(6, chunks));
}
static hs_status star_search(void)
{
    static hs_star_share found[P];
    const hs_star x = STAR;
    return hs_star_search(AT(3, &x), 0, 1, 100, stop, AT(4, &one_int), AT(5, found),
                          AT(6, &other_int), AT(7, &one));
}
static hs_status star_bounds(void)
{
    const hs_star x = STAR;
    return hs_star_bounds(AT(3, &x), HS_STAR_DOUBLE, stop, AT(4, reals));
}
static hs_status star_certificate(void)
{
    const hs_star x = STAR;
    return hs_star_certificate(AT(3, &x), 9e9, stop, AT(4, &certificate));
}

static hs_star_decision decisions[4];
static hs_star_part parts[4 * P];
static hs_status star_best(void)
{
    const hs_star x = STAR;
    const hs_star_options options = {.messages = 100};
    const hs_effort effort = {0};
    return hs_star_best(AT(3, &x), AT(7, &options), AT(8, &effort), stop, AT(4, decisions),
                        AT(5, parts), AT(9, chunks), AT(10, ints), AT(6, &certificate));
}
static hs_status star_best_exact(void)
{
    static int32_t served[256];
    const hs_star x = {
        .r = 4, .s = 4, .t = 4, .p = P, .cycle_times = times, .link_costs = few, .memory = memory};
    const hs_star_options options = {.method = HS_STAR_EXACT, .messages = 1000000};
    return hs_star_best(&x, &options, NULL, stop, decisions, parts, AT(0, chunks), AT(1, served),
                        &certificate);
}
static hs_status star_write(void)
{
    const hs_star x = STAR;
    const hs_star whole = {
        .r = 4, .s = 4, .t = 4, .p = P, .cycle_times = times, .link_costs = few, .memory = memory};
    const hs_star_options options = {.method = HS_STAR_ODDOML};
    if (hs_star_best(&whole, &options, NULL, NULL, decisions, parts, NULL, NULL, &certificate))
        return HS_ERROR_VALUE;
    return hs_star_write(AT(3, &x), AT(4, decisions), AT(5, parts), AT(8, ints), stop,
                         AT(6, chunks), AT(7, messages));
}
static hs_status star_exact_most(void)
{
    const hs_star x = STAR;
    return hs_star_exact_most(AT(3, &x), AT(4, &one_long), AT(5, &other_long));
}
static hs_status star_batch(void)
{
    const hs_star x = STAR;
    const hs_star_options options = {.messages = 100};
    const hs_effort effort = {0};
    return hs_star_batch(1, AT(3, &x), AT(9, &options), AT(10, &effort), stop, AT(4, ints),
                         AT(5, reals), AT(6, others), AT(7, more), AT(8, longs));
}
static hs_status star_chunk_traffic(void)
{
    static hs_star_traffic traffic;
    return hs_star_chunk_traffic(4, AT(0, &chunk), AT(1, &traffic));
}
static hs_status star_message_count(void)
{
    return hs_star_message_count(4, 1, AT(0, &chunk), AT(1, &one_long));
}
static hs_status star_needs(void) { return hs_star_needs(4, P, 1, AT(0, &chunk), AT(1, longs)); }
static hs_status star_chunk_steps(void)
{
    static hs_star_step steps[8];
    return hs_star_chunk_steps(4, 1, AT(0, &chunk), AT(1, steps));
}
static hs_status star_peaks(void)
{
    static const hs_star_message load = {0};
    return hs_star_peaks(4, P, 1, AT(0, &chunk), 1, AT(1, &load), AT(2, longs));
}

#define STAR_LU \
    {.n = 4, .p = P, .cycle_times = AT(0, times), .link_costs = AT(1, few), .memory = AT(2, memory)}
static hs_status star_lu_best(void)
{
    const hs_star_lu x = STAR_LU;
    const hs_star_options options = {.method = HS_STAR_ODDOML};
    const hs_effort effort = {0};
    return hs_star_lu_best(AT(3, &x), AT(10, &options), AT(11, &effort), stop, AT(4, &one_long),
                           AT(5, longs), AT(6, decisions), AT(7, parts), AT(8, &one),
                           AT(9, &certificate));
}
static hs_status star_lu_product(void)
{
    static hs_star star;
    const hs_star_lu x = STAR_LU;
    return hs_star_lu_product(AT(3, &x), 2, 0, 0, AT(4, longs), AT(5, &star));
}
static hs_status star_lu_panels(void)
{
    static const int64_t own[] = {0};
    static hs_star_lu_panel panels[2];
    const hs_star_lu x = STAR_LU;
    return hs_star_lu_panels(AT(3, &x), 2, AT(4, own), AT(5, times), AT(6, panels));
}
static hs_status star_lu_certificate(void)
{
    const hs_star_lu x = STAR_LU;
    return hs_star_lu_certificate(AT(3, &x), 9, stop, AT(4, &certificate));
}

/* ---- schedule ---- */

static hs_message box_messages[64];
static double sums[2][P];
static const hs_box slabs[] = {{.worker = 0, .height = 4, .width = 4, .length = 2},
                               {.worker = 1, .depth = 2, .height = 4, .width = 4, .length = 2}};
static const hs_box zones[] = {{.worker = 0, .height = 4, .width = 2, .length = 4},
                               {.worker = 1, .col = 2, .height = 4, .width = 2, .length = 4}};
#define MATMUL(workers) \
    {.m = 4, .n = 4, .k = 4, .p = (workers), .cycle_times = times, .itemsize = 8, .update = 2}

static hs_status matmul_zones(void)
{
    const hs_matmul x = MATMUL(P);
    return hs_matmul_zones(AT(0, &x), 2, P, AT(1, order3), AT(2, rects3), 64, AT(3, boxes),
                           AT(4, reals), AT(5, &one_long));
}
static hs_status matmul_cannon(void)
{
    const hs_matmul x = MATMUL(1);
    return hs_matmul_cannon(AT(0, &x), 1, 64, AT(1, boxes), AT(2, reals), AT(3, &one_long));
}
static hs_status matmul_triangle(void)
{
    hs_matmul x = MATMUL(P);
    x.cycle_times = AT(4, times);
    return hs_matmul_triangle(AT(0, &x), 1, 64, AT(1, boxes), AT(2, reals), AT(3, &one_long));
}
static hs_status matmul_layers(void)
{
    const hs_matmul x = MATMUL(P);
    hs_layer_sum sum = {AT(7, longs), AT(8, sums[0]), AT(9, sums[1])};
    return hs_matmul_layers(AT(0, &x), 2, AT(1, slabs), stop, AT(2, boxes), AT(3, reals),
                            AT(4, &one_long), AT(5, &sum), AT(6, &one_int));
}
static hs_status matmul_layers_best(void)
{
    const hs_matmul x = MATMUL(P);
    hs_layer_sum sum = {AT(6, longs), AT(7, sums[0]), AT(8, sums[1])};
    return hs_matmul_layers_best(AT(0, &x), 1, stop, AT(1, boxes), AT(2, reals), AT(3, &one_long),
                                 AT(4, &sum), AT(5, &one_int));
}
static hs_status matmul_shared_layers(void)
{
    const hs_matmul x = MATMUL(P);
    hs_layer_sum sum = {AT(2, longs), AT(3, sums[0]), AT(4, sums[1])};
    return hs_matmul_shared_layers(AT(0, &x), AT(1, &sum));
}
static hs_status matmul_owners(void)
{
    const hs_matmul x = MATMUL(P);
    return hs_matmul_owners(AT(0, &x), 2, AT(1, zones), AT(5, longs), stop, 64, AT(2, reals),
                            AT(3, box_messages), AT(4, &one_long));
}
static hs_status matmul_torus(void)
{
    const hs_matmul x = MATMUL(1);
    return hs_matmul_torus(AT(0, &x), 1, AT(1, zones), 64, AT(2, reals), AT(3, box_messages),
                           AT(4, &one_long));
}
static hs_status matmul_schedule(void)
{
    hs_matmul x = MATMUL(P);
    x.link_costs = AT(7, few);
    x.links = links;
    const hs_layer_sum sum = {AT(8, longs), AT(4, sums[0]), AT(5, sums[1])};
    const hs_matmul_plan plan = {.count = 2,
                                 .boxes = AT(3, slabs),
                                 .sent = AT(9, ones),
                                 .messages = AT(10, box_messages),
                                 .arrivals = AT(11, table),
                                 .sum = AT(12, &sum)};
    const hs_speed_changes changes = {.count = 1, .times = ones, .cycle_times = times};
    hs_schedule schedule = {.receive = AT(13, reals),
                            .work = AT(14, others),
                            .flops = AT(15, third),
                            .sum_receive = AT(16, reals + 8)};
    return hs_matmul_schedule(AT(0, &x), AT(1, &plan), AT(6, &changes), AT(2, &schedule));
}
static hs_status matmul_best(void)
{
    static double tried[HS_MATMUL_METHODS];
    hs_matmul x = MATMUL(P);
    x.link_costs = AT(7, few);
    x.links = AT(19, links);
    x.cycle_times = AT(5, times);
    const hs_matmul_options options = {
        .nodes = AT(8, ints), .domains = AT(9, ints), .zones = AT(20, rects3)};
    hs_matmul_found found = {.box_capacity = 9,
                             .boxes = AT(2, boxes),
                             .sent = AT(3, third),
                             .message_capacity = 9,
                             .messages = AT(4, box_messages),
                             .sum = {AT(11, longs), AT(12, sums[0]), AT(13, sums[1])},
                             .schedule = {.receive = AT(14, reals),
                                          .work = AT(15, others),
                                          .flops = AT(16, reals + 32),
                                          .sum_receive = AT(17, reals + 64)},
                             .tried = AT(18, tried)};
    for (int i = 0; i < P; i++) ints[i] = 0;
    return hs_matmul_best(AT(0, &x), AT(10, &options), stop, hole == 1 ? NULL : &found,
                          AT(6, &certificate));
}
static hs_status domain_zones(void)
{
    return hs_domain_zones(4, 4, 1, 1, 1, P, AT(0, times), AT(1, longs));
}
static hs_status gemm_zones(void)
{
    return hs_gemm_zones(HS_FLOAT64, 4, 4, 4, P, 1, NULL, NULL, AT(1, times), AT(0, longs));
}
static hs_dynamic demand_of(const double *cycle_times)
{
    return (hs_dynamic){.p = P, .cycle_times = cycle_times, .n = 3, .kind = HS_DYNAMIC_MATRIX};
}
static hs_status dynamic_product(void)
{
    static hs_dynamic_task tasks[27];
    const hs_dynamic product = demand_of(AT(1, times));
    return hs_dynamic_product(AT(0, &product), stop, AT(2, tasks), AT(3, longs), AT(4, &one),
                              AT(5, &certificate));
}
static hs_status dynamic_bounds(void)
{
    const hs_dynamic product = demand_of(AT(1, times));
    return hs_dynamic_bounds(AT(0, &product), AT(2, &one), AT(3, &another));
}
static hs_status dynamic_predict(void)
{
    const hs_dynamic product = demand_of(AT(1, times));
    return hs_dynamic_predict(AT(0, &product), 1, AT(2, &one));
}
static hs_status dynamic_beta(void)
{
    const hs_dynamic product = demand_of(AT(1, times));
    return hs_dynamic_beta(AT(0, &product), stop, AT(2, &one));
}

/* ---- certificates, boxes, kernels, pools ---- */

static hs_status certificate_of(void)
{
    return hs_certificate_of(AT(0, "cost"), HS_MINIMISED, 2, 1, AT(1, &certificate));
}
static hs_status boxes_of_counts(void)
{
    return hs_boxes_of_counts(0, 5, 5, 5, P, AT(0, counts), AT(1, boxes), AT(2, &one_int));
}
static hs_status boxes_of_zones(void)
{
    return hs_boxes_of_zones(5, P, AT(0, order3), AT(1, rects3), AT(2, boxes));
}
static hs_status boxes_of_cuboids(void)
{
    return hs_boxes_of_cuboids(P, AT(0, cuboids3), AT(1, boxes), AT(2, &one_int));
}
static hs_status boxes_cover(void)
{
    static const hs_box whole = {.height = 4, .width = 4, .length = 4};
    hs_cover cover;
    return hs_boxes_cover(4, 4, 4, HS_TRIANGLE_NONE, 1, 1, AT(0, &whole), AT(1, &cover));
}
static hs_status kernel_describe(void)
{
    hs_kernel_info info;
    return hs_kernel_describe(AT(0, &info));
}
static hs_status blocking(void)
{
    const hs_caches caches = {{32768, 262144, 0}, {8, 8, 0}, {0}};
    int32_t blocks[3];
    return hs_blocking(AT(0, &caches), 8, 4, 8, AT(1, blocks));
}
static hs_status kernel_sizes(void)
{
    int32_t tile[2], blocks[3];
    return hs_kernel_sizes(AT(2, "plain"), HS_FLOAT64, AT(0, tile), AT(1, blocks));
}
static hs_status kernel_select(void) { return hs_kernel_select(AT(0, "c")); }
static hs_status pool_create(void)
{
    hs_pool *made = NULL;
    const hs_status status = hs_pool_create(2, AT(1, pair), AT(0, &made));
    hs_pool_destroy(made);
    return status;
}

static hs_status pool_create_domains(void)
{
    static const hs_domain domains[2] = {{.kernel = "plain"}, {0}};
    static const int32_t of[2] = {0, 1};
    hs_pool *made = NULL;
    const hs_status status =
        hs_pool_create_domains(2, AT(3, pair), 2, AT(0, domains), AT(1, of), AT(2, &made));
    hs_pool_destroy(made);
    return status;
}

/* ---- runs, with all options ---- */

#define PRODUCT           \
    {.dtype = HS_FLOAT64, \
     .m = 4,              \
     .n = 4,              \
     .k = 4,              \
     .a = AT(2, table),   \
     .a_col_stride = 1,   \
     .b = AT(3, table),   \
     .b_col_stride = 1,   \
     .c = AT(4, reals),   \
     .c_row_stride = 4,   \
     .c_col_stride = 1}
static hs_status gemm(void)
{
    const hs_product x = PRODUCT;
    return hs_gemm(AT(0, pool), AT(1, &x), AT(5, times), NULL, AT(6, &flag));
}
static hs_status pool_claim(void) { return hs_pool_claim(AT(0, pool), 0.0); }
static hs_status pool_trim(void) { return hs_pool_trim(AT(0, pool)); }
static hs_status pool_set_elastic(void) { return hs_pool_set_elastic(AT(0, pool), 0); }
static hs_status pool_set_deterministic(void) { return hs_pool_set_deterministic(AT(0, pool), 0); }
static hs_status run_product(void)
{
    static const hs_box whole = {.height = 4, .width = 4, .length = 4};
    static hs_event events[9];
    const hs_product x = PRODUCT;
    const hs_boxes all = {.box = AT(6, &whole), .count = 1};
    const hs_options options = {0};
    hs_trace trace = {
        .events = AT(7, events), .event_capacity = 9, .times = {.finish = AT(8, others)}};
    return hs_run_product(AT(0, pool), AT(1, &x), AT(5, &all), AT(9, &options), AT(10, &trace));
}
static hs_status run_star(void)
{
    static hs_star_message log[6];
    const hs_star star = {.r = 4,
                          .s = 4,
                          .t = 4,
                          .p = P,
                          .cycle_times = AT(8, times),
                          .link_costs = AT(9, few),
                          .memory = AT(10, memory)};
    const hs_product x = PRODUCT;
    hs_star_product what = {.star = AT(6, &star),
                            .chunk_count = 1,
                            .chunks = AT(7, &chunk),
                            .order = HS_STAR_DEMAND,
                            .block = 1,
                            .messages = AT(14, messages),
                            .message_capacity = 6,
                            .peak = AT(15, longs),
                            .simulated = AT(16, log)};
    const hs_options options = {0};
    const hs_times ends = {.finish = AT(13, others)};
    return hs_run_star(AT(0, pool), AT(1, &x), AT(5, &what), AT(11, &options), AT(12, &ends));
}
static hs_status run_wavefront(void)
{
    const hs_stencil stencil = {
        .dtype = HS_FLOAT64, .m = 4, .n = 4, .data = reals, .row_stride = 4, .col_stride = 1};
    const hs_wavefront x = {.m = 4,
                            .n = 4,
                            .rows = 2,
                            .cols = 2,
                            .axis = 1,
                            .owner = AT(2, owner),
                            .tile = AT(3, hs_stencil_tile),
                            .context = (void *)&stencil};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_wavefront(AT(0, pool), AT(1, &x), AT(4, &options), AT(5, &trace));
}
static hs_status run_slices(void)
{
    static const int64_t widths[] = {2, 1, 1};
    const hs_slices x = {.dtype = HS_FLOAT64,
                         .m = 4,
                         .n = 4,
                         .source = AT(2, table),
                         .source_col_stride = 1,
                         .target = AT(3, reals),
                         .target_row_stride = 4,
                         .target_col_stride = 1,
                         .steps = 1,
                         .size = P,
                         .ring = AT(4, order3),
                         .widths = AT(5, widths)};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_slices(AT(0, pool), AT(1, &x), AT(6, &options), AT(7, &trace));
}
static hs_status run_lu(void)
{
    hs_factor x = {.dtype = HS_FLOAT64,
                   .m = 4,
                   .n = 4,
                   .matrix = AT(2, reals),
                   .row_stride = 1,
                   .col_stride = 4,
                   .pivots = AT(3, ints),
                   .owner = AT(5, owner)};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_factor(AT(0, pool), AT(1, &x), AT(4, &options), AT(6, &trace));
}
static hs_status lu_solve(void)
{
    for (int i = 0; i < 16; i++) {
        reals[i] = i % 5 == 0;
        ints[i / 4] = i / 4;
    }
    const hs_factor x = {.dtype = HS_FLOAT64,
                         .m = 4,
                         .n = 4,
                         .matrix = AT(2, reals),
                         .row_stride = 1,
                         .col_stride = 4,
                         .pivots = AT(3, ints)};
    return hs_lu_solve(AT(0, pool), AT(1, &x), 0, 1, AT(4, others), 1, 4, NULL, AT(5, &flag));
}
static hs_status solve_triangular(void)
{
    const hs_triangular x = {HS_FLOAT64, 4, 1, 0, 0, AT(2, reals), 1, 4, AT(3, others), 1, 4, NULL};
    return hs_solve_triangular(AT(0, pool), AT(1, &x), NULL, AT(4, &flag));
}
static hs_status lu_inverse(void)
{
    for (int i = 0; i < 16; i++) {
        reals[i] = i % 5 == 0;
        ints[i / 4] = i / 4;
    }
    const hs_factor x = {.dtype = HS_FLOAT64,
                         .m = 4,
                         .n = 4,
                         .matrix = AT(2, reals),
                         .row_stride = 1,
                         .col_stride = 4,
                         .pivots = AT(3, ints)};
    return hs_lu_inverse(AT(0, pool), AT(1, &x), AT(4, others), 1, 4, NULL, AT(5, &flag));
}
static hs_status qr_multiply(void)
{
    const hs_factor x = {.kind = HS_QR,
                         .dtype = HS_FLOAT64,
                         .m = 4,
                         .n = 4,
                         .matrix = AT(2, reals),
                         .row_stride = 1,
                         .col_stride = 4,
                         .tau = AT(3, third)};
    return hs_qr_multiply(AT(0, pool), AT(1, &x), 0, 0, 1, AT(4, others), 1, 4, NULL, AT(5, &flag));
}
static hs_status tall_qr(void)
{
    const hs_tall x = {.dtype = HS_FLOAT64,
                       .m = 6,
                       .n = P,
                       .k = 1,
                       .a = AT(2, table),
                       .a_row_stride = P,
                       .a_col_stride = 1,
                       .r = AT(3, reals),
                       .r_row_stride = P,
                       .r_col_stride = 1,
                       .b = AT(4, table),
                       .b_row_stride = 1,
                       .b_col_stride = 1,
                       .c = AT(5, others),
                       .c_row_stride = 1,
                       .c_col_stride = 1,
                       .q = AT(6, third),
                       .q_row_stride = P,
                       .q_col_stride = 1,
                       .residuals = AT(7, &one)};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_tall_qr(AT(0, pool), AT(1, &x), AT(8, &options), AT(9, &trace));
}
static hs_status run_reduction(void)
{
    hs_reduction x = {.dtype = HS_FLOAT64,
                      .n = 4,
                      .block = 16,
                      .a = AT(2, table),
                      .a_row_stride = 1,
                      .a_col_stride = 4,
                      .owner = AT(3, owner),
                      .panel_pace = AT(5, ones),
                      .band = AT(4, reals),
                      .band_ld = 17};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_reduction(AT(0, pool), AT(1, &x), AT(6, &options), AT(7, &trace));
}
static hs_status run_eigh(void)
{
    static double values[P], vectors[P * P];
    hs_eigh x = {.dtype = HS_FLOAT64,
                 .n = P,
                 .a = AT(2, table),
                 .a_row_stride = 1,
                 .a_col_stride = P,
                 .values = AT(3, values),
                 .vectors = AT(4, vectors),
                 .row_stride = 1,
                 .col_stride = P,
                 .count = P};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_eigh(AT(0, pool), AT(1, &x), AT(5, &options), AT(6, &trace));
}
static hs_status run_eigh_stack(void)
{
    static double values[P], vectors[P * P];
    static int32_t failed[1];
    static const int64_t size[1] = {1}, steps[1];
    const hs_eigh_stack x = {.dtype = HS_FLOAT64,
                             .n = P,
                             .rank = 1,
                             .size = AT(2, size),
                             .a_steps = AT(3, steps),
                             .a = AT(4, table),
                             .a_row_stride = 1,
                             .a_col_stride = P,
                             .values = AT(5, values),
                             .vectors = AT(7, vectors),
                             .failed = AT(6, failed)};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_eigh_stack(AT(0, pool), AT(1, &x), AT(8, &options), AT(9, &trace));
}
static hs_status run_svd_stack(void)
{
    static double values[P], u[P * P], vh[P * P];
    static int32_t failed[1];
    static const int64_t size[1] = {1}, steps[1];
    const hs_svd_stack x = {.dtype = HS_FLOAT64,
                            .m = P,
                            .n = P,
                            .rank = 1,
                            .size = AT(2, size),
                            .a_steps = AT(3, steps),
                            .a = AT(4, table),
                            .a_row_stride = 1,
                            .a_col_stride = P,
                            .values = AT(5, values),
                            .u = AT(7, u),
                            .vh = AT(8, vh),
                            .failed = AT(6, failed)};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_svd_stack(AT(0, pool), AT(1, &x), AT(9, &options), AT(10, &trace));
}
static hs_status run_svd(void)
{
    static double values[P], u[P * P], vh[P * P];
    hs_svd x = {.dtype = HS_FLOAT64,
                .m = P,
                .n = P,
                .a = AT(2, table),
                .a_row_stride = 1,
                .a_col_stride = P,
                .values = AT(3, values),
                .u = AT(4, u),
                .u_cols = P,
                .u_row_stride = 1,
                .u_col_stride = P,
                .vh = AT(5, vh),
                .vh_rows = P,
                .vh_row_stride = 1,
                .vh_col_stride = P};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_svd(AT(0, pool), AT(1, &x), AT(6, &options), AT(7, &trace));
}
static hs_status run_least_squares(void)
{
    static double values[P], b[P], vh[P * P];
    hs_least_squares x = {.dtype = HS_FLOAT64,
                          .m = P,
                          .n = P,
                          .a = AT(2, table),
                          .a_row_stride = 1,
                          .a_col_stride = P,
                          .values = AT(3, values),
                          .cols = 1,
                          .b = AT(4, b),
                          .b_row_stride = 1,
                          .b_col_stride = P,
                          .vh = AT(5, vh),
                          .vh_row_stride = P,
                          .vh_col_stride = 1};
    const hs_options options = {0};
    hs_trace trace = {0};
    return hs_run_least_squares(AT(0, pool), AT(1, &x), AT(6, &options), AT(7, &trace));
}
static hs_status run_stack(void)
{
    static hs_event events[9];
    const hs_product item = PRODUCT;
    static const int64_t one_item[] = {1};
    const hs_stack x = {.operation = HS_STACK_MULTIPLY,
                        .rank = 1,
                        .size = AT(5, one_item),
                        .a_steps = AT(6, one_item),
                        .b_steps = AT(7, one_item),
                        .c_steps = AT(8, one_item),
                        .item = item};
    hs_trace trace = {.events = AT(9, events), .event_capacity = hole == 9 ? 0 : 9};
    return hs_run_stack(AT(0, pool), AT(1, &x), AT(9, times), AT(10, &(hs_options){0}),
                        AT(11, &trace));
}
static hs_status measure_kernel(void)
{
    hs_measurement x = {.dtype = HS_FLOAT64,
                        .size = 4,
                        .worker = -1,
                        .capacity = 9,
                        .least = 1,
                        .times = AT(2, reals),
                        .count = AT(3, ints),
                        .batch = AT(4, more),
                        .elapsed = AT(5, others),
                        .busy = AT(6, third)};
    return hs_measure_kernel(AT(0, pool), AT(1, &x), NULL, AT(7, &flag));
}

/* Numbers of required and of optional pointers, and whether the function takes cancel. */
static const struct {
    const char *name;
    hs_status (*call)(void);
    int required, optional, cancels;
} FUNCTIONS[] = {
    {"hs_distribute", distribute, 2, 1, 1},
    {"hs_distribute_certificate", distribute_certificate, 3, 0, 1},
    {"hs_distribute_after", distribute_after, 3, 1, 1},
    {"hs_distribute_batch", distribute_batch, 3, 1, 1},
    {"hs_distribute_profile", distribute_profile, 2, 1, 1},
    {"hs_distribute_prefix", distribute_prefix, 2, 1, 1},
    {"hs_factor_blocks", lu_blocks, 1, 0, 0},
    {"hs_factor_simulate", lu_simulate, 3, 8, 1},
    {"hs_factor_certificate", lu_certificate, 3, 0, 1},
    {"hs_profile_certificate", profile_certificate, 3, 0, 1},
    {"hs_partition_profile", partition_profile, 4, 1, 1},
    {"hs_partition_profile_certificate", partition_profile_certificate, 3, 0, 1},
    {"hs_zone_times", zone_times, 4, 0, 0},
    {"hs_pattern_certificate", pattern_certificate, 3, 0, 1},
    {"hs_pattern_profile", pattern_profile, 4, 0, 1},
    {"hs_pattern_profile_certificate", pattern_profile_certificate, 3, 0, 1},
    {"hs_reduction_size", reduction_size, 2, 0, 0},
    {"hs_reduction_owners", reduction_owners, 2, 1, 1},
    {"hs_reduction_simulate", reduction_simulate, 3, 2, 1},
    {"hs_reduction_bound", reduction_bound, 2, 2, 1},
    {"hs_reduction_certificate", reduction_certificate, 3, 1, 1},
    {"hs_factor_bound", lu_bound, 2, 2, 1},
    {"hs_factor_profile_bound", lu_profile_bound, 3, 1, 1},
    {"hs_lu_grid_deal", lu_grid_deal, 3, 0, 1},
    {"hs_lu_grid_evaluate", lu_grid_evaluate, 3, 2, 1},
    {"hs_lu_grid_bound", lu_grid_bound, 2, 0, 1},
    {"hs_lu_grid_certificate", lu_grid_certificate, 3, 0, 1},
    {"hs_lu_grid_best", lu_grid_best, 10, 0, 1},
    {"hs_wavefront_makespan", wavefront_makespan, 3, 1, 1},
    {"hs_wavefront_bound", wavefront_bound, 2, 0, 1},
    {"hs_pattern_best", pattern_best, 4, 0, 1},
    {"hs_wavefront_best", wavefront_best, 5, 0, 1},
    {"hs_wavefront_certificate", wavefront_certificate, 3, 0, 1},
    {"hs_wavefront_panels", wavefront_panels, 5, 0, 1},
    {"hs_assign", assign, 4, 0, 1},
    {"hs_assign_int64", assign_int64, 4, 0, 1},
    {"hs_task_counts", task_counts, 2, 1, 1},
    {"hs_task_deadlines", task_deadlines, 3, 0, 1},
    {"hs_task_orders", task_orders, 5, 0, 0},
    {"hs_task_orders without answers", task_orders_out, 0, 2, 0},
    {"hs_task_links", task_links, 6, 1, 1},
    {"hs_task_positions", task_positions, 3, 1, 1},
    {"hs_max_tasks", max_tasks, 6, 3, 1},
    {"hs_max_tasks without a plan", max_tasks_no_plan, 1, 0, 1},
    {"hs_max_tasks_batch", max_tasks_batch, 5, 3, 1},
    {"hs_min_time", min_time, 6, 3, 1},
    {"hs_min_time without a plan", min_time_no_plan, 1, 0, 1},
    {"hs_task_end", task_end, 6, 1, 0},
    {"hs_assign_axial", assign_axial, 4, 0, 1},
    {"hs_divisible_orders", divisible_orders, 8, 0, 1},
    {"hs_divisible_best", divisible_best, 7, 3, 1},
    {"hs_divisible_bound", divisible_bound, 4, 0, 1},
    {"hs_divisible_certificate", divisible_certificate, 4, 0, 1},
    {"hs_floorplan_rects", floorplan_rects, 5, 2, 0},
    {"hs_floorplan_tile", floorplan_tile, 5, 0, 1},
    {"hs_floorplan_certificate", floorplan_certificate, 3, 1, 0},
    {"hs_zones_certificate", zones_certificate, 3, 1, 0},
    {"hs_zones_bound", zones_bound, 2, 1, 0},
    {"hs_partition_best", partition_best, 4, 5, 1},
    {"hs_partition_batch", partition_batch, 5, 4, 1},
    {"hs_zones_spans", zones_spans, 2, 2, 0},
    {"hs_zones_flaw", zones_flaw, 3, 0, 1},
    {"hs_partition_columns", partition_columns, 5, 0, 1},
    {"hs_partition_rule", partition_rule, 4, 0, 1},
    {"hs_partition_contiguous", partition_contiguous, 4, 0, 1},
    {"hs_partition_interval", partition_interval, 4, 3, 1},
    {"hs_partition_guillotine", partition_guillotine, 4, 1, 1},
    {"hs_partition_nonrectangular", partition_nonrectangular, 4, 2, 1},
    {"hs_partition_largest", partition_largest, 4, 2, 1},
    {"hs_partition_search", partition_search, 4, 1, 1},
    {"hs_partition_cuboids", partition_cuboids, 5, 1, 1},
    {"hs_partition_cuboids_exact", partition_cuboids_exact, 5, 0, 1},
    {"hs_cuboids_best", cuboids_best, 5, 2, 1},
    {"hs_cuboids_best of a shape", cuboids_best_of_a_shape, 1, 1, 1},
    {"hs_cuboid_boxes", cuboid_boxes, 3, 0, 0},
    {"hs_tile_cuboids", tile_cuboids, 3, 0, 1},
    {"hs_cuboids_certificate", cuboids_certificate, 4, 0, 0},
    {"hs_cuboids_bound", cuboids_bound, 3, 0, 0},
    {"hs_ring_best", ring_best, 6, 5, 1},
    {"hs_ring_batch", ring_batch, 6, 4, 1},
    {"hs_ring_certificate", ring_certificate, 4, 4, 1},
    {"hs_ring_profile", ring_profile, 9, 3, 1},
    {"hs_ring_shares", ring_shares, 5, 3, 1},
    {"hs_ring_greedy", ring_greedy, 5, 3, 1},
    {"hs_ring_search", ring_search, 6, 3, 1},
    {"hs_ring_exact", ring_exact, 5, 3, 1},
    {"hs_ring_shortest", ring_shortest, 3, 3, 1},
    {"hs_ring_tour", ring_tour, 4, 3, 1},
    {"hs_ring_lengths", ring_lengths, 3, 3, 1},
    {"hs_ring_bound", ring_bound, 3, 3, 1},
    {"hs_ring_redistribute", ring_redistribute, 7, 1, 1},
    {"hs_ring_redistribution_certificate", ring_redistribution_certificate, 6, 1, 1},
    {"hs_ring_redistribution_messages", ring_redistribution_messages, 11, 1, 1},
    {"hs_ring_routes", ring_routes, 5, 0, 1},
    {"hs_ring_shared_best", ring_shared_best, 12, 4, 1},
    {"hs_ring_bandwidths", ring_bandwidths, 11, 2, 1},
    {"hs_ring_shared_certificate", ring_shared_certificate, 10, 3, 1},
    {"hs_layers_schedule", layers_schedule, 8, 1, 0},
    {"hs_layers_relaxed", layers_relaxed, 4, 2, 0},
    {"hs_layers_bound", layers_bound, 4, 0, 1},
    {"hs_layers_paper", layers_paper, 4, 2, 0},
    {"hs_layers_exact", layers_exact, 5, 1, 1},
    {"hs_layers_best", layers_best, 6, 0, 1},
    {"hs_layers_plan", layers_plan, 10, 0, 1},
    {"hs_layers_batch", layers_batch, 7, 0, 1},
    {"hs_layers_room", layers_room, 2, 0, 0},
    {"hs_layers_certificate", layers_certificate, 5, 1, 1},
    {"hs_star_simulate", star_simulate, 7, 2, 1},
    {"hs_star_simulate of a list", star_simulate_listed, 1, 0, 0},
    {"hs_star_plan", star_plan, 7, 1, 1},
    {"hs_star_exact", star_exact, 9, 0, 1},
    {"hs_star_cut", star_cut, 6, 1, 0},
    {"hs_star_search", star_search, 8, 0, 1},
    {"hs_star_bounds", star_bounds, 5, 0, 1},
    {"hs_star_certificate", star_certificate, 5, 0, 1},
    {"hs_star_best", star_best, 7, 4, 1},
    {"hs_star_best of an exact plan", star_best_exact, 2, 0, 1},
    {"hs_star_write", star_write, 8, 1, 1},
    {"hs_star_exact_most", star_exact_most, 6, 0, 0},
    {"hs_star_batch", star_batch, 9, 2, 1},
    {"hs_star_chunk_traffic", star_chunk_traffic, 2, 0, 0},
    {"hs_star_message_count", star_message_count, 2, 0, 0},
    {"hs_star_needs", star_needs, 2, 0, 0},
    {"hs_star_chunk_steps", star_chunk_steps, 2, 0, 0},
    {"hs_star_peaks", star_peaks, 3, 0, 0},
    {"hs_star_lu_best", star_lu_best, 10, 2, 1},
    {"hs_star_lu_product", star_lu_product, 6, 0, 0},
    {"hs_star_lu_panels", star_lu_panels, 7, 0, 0},
    {"hs_star_lu_certificate", star_lu_certificate, 5, 0, 1},
    {"hs_matmul_best", matmul_best, 7, 14, 1},
    {"hs_matmul_zones", matmul_zones, 6, 0, 0},
    {"hs_matmul_cannon", matmul_cannon, 4, 0, 0},
    {"hs_matmul_triangle", matmul_triangle, 5, 0, 0},
    {"hs_matmul_layers", matmul_layers, 10, 0, 1},
    {"hs_matmul_layers_best", matmul_layers_best, 9, 0, 1},
    {"hs_matmul_shared_layers", matmul_shared_layers, 5, 0, 0},
    {"hs_matmul_owners", matmul_owners, 5, 1, 1},
    {"hs_matmul_torus", matmul_torus, 5, 0, 0},
    {"hs_matmul_schedule", matmul_schedule, 6, 11, 0},
    {"hs_domain_zones", domain_zones, 2, 0, 0},
    {"hs_gemm_zones", gemm_zones, 1, 1, 0},
    {"hs_dynamic_product", dynamic_product, 6, 0, 1},
    {"hs_dynamic_bounds", dynamic_bounds, 4, 0, 0},
    {"hs_dynamic_predict", dynamic_predict, 3, 0, 0},
    {"hs_dynamic_beta", dynamic_beta, 3, 0, 1},
    {"hs_certificate_of", certificate_of, 2, 0, 0},
    {"hs_boxes_of_counts", boxes_of_counts, 3, 0, 0},
    {"hs_boxes_of_zones", boxes_of_zones, 3, 0, 0},
    {"hs_boxes_of_cuboids", boxes_of_cuboids, 3, 0, 0},
    {"hs_boxes_cover", boxes_cover, 1, 1, 0},
    {"hs_kernel_describe", kernel_describe, 1, 0, 0},
    {"hs_kernel_select", kernel_select, 1, 0, 0},
    {"hs_kernel_sizes", kernel_sizes, 2, 1, 0},
    {"hs_blocking", blocking, 2, 0, 0},
    {"hs_pool_create", pool_create, 1, 1, 0},
    {"hs_pool_create_domains", pool_create_domains, 3, 1, 0},
    {"hs_gemm", gemm, 5, 2, 0},
    {"hs_pool_claim", pool_claim, 1, 0, 0},
    {"hs_pool_trim", pool_trim, 1, 0, 0},
    {"hs_pool_set_deterministic", pool_set_deterministic, 1, 0, 0},
    {"hs_pool_set_elastic", pool_set_elastic, 1, 0, 0},
    {"hs_run_product", run_product, 8, 3, 0},
    {"hs_run_star", run_star, 11, 6, 0},
    {"hs_run_wavefront", run_wavefront, 4, 2, 0},
    {"hs_run_slices", run_slices, 6, 2, 0},
    {"hs_run_factor", run_lu, 4, 3, 0},
    {"hs_lu_solve", lu_solve, 5, 1, 0},
    {"hs_solve_triangular", solve_triangular, 4, 1, 0},
    {"hs_lu_inverse", lu_inverse, 5, 1, 0},
    {"hs_qr_multiply", qr_multiply, 5, 1, 0},
    {"hs_tall_qr", tall_qr, 6, 4, 0},
    {"hs_run_eigh", run_eigh, 4, 3, 0},
    {"hs_run_reduction", run_reduction, 5, 3, 0},
    {"hs_run_eigh_stack", run_eigh_stack, 7, 3, 0},
    {"hs_run_svd", run_svd, 4, 4, 0},
    {"hs_run_svd_stack", run_svd_stack, 7, 4, 0},
    {"hs_run_least_squares", run_least_squares, 5, 3, 0},
    {"hs_run_stack", run_stack, 9, 3, 0},
    {"hs_measure_kernel", measure_kernel, 7, 1, 0},
};

static void expect(int function, hs_status wanted)
{
    const hs_status status = FUNCTIONS[function].call();
    if (!CHECK(status == wanted))
        fprintf(stderr, "  %s with pointer %d: status %d\n", FUNCTIONS[function].name, hole,
                status);
}

/* Functions without a status do nothing, or report that there is nothing. */
static void others_take_null(void)
{
    hs_pool_destroy(NULL);
    reals[0] = ints[0] = -7;
    hs_pool_availability(NULL, times, reals);
    hs_pool_pinned(NULL, ints);
    CHECK(reals[0] == -7 && ints[0] == -7);
    hs_pool_availability(pool, times, NULL);
    hs_pool_pinned(pool, NULL);
    CHECK(!hs_pool_is_inside(NULL));
    const int32_t cpu = 0;
    const hs_site site = {1, &cpu, 1, 0};
    CHECK(hs_choose_sites(1, 1, NULL, NULL, -1, 0, ints) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 1, &site, NULL, -1, 0, NULL) == HS_ERROR_VALUE);
    CHECK(hs_spread_workers(1, 1, NULL, ints) == HS_ERROR_VALUE);
    CHECK(hs_spread_workers(1, 1, &site, NULL) == HS_ERROR_VALUE);
    CHECK(hs_pool_bind(NULL, 1, &site, &cpu) == HS_ERROR_VALUE);
    CHECK(hs_pool_bind(pool, 1, NULL, &cpu) == HS_ERROR_VALUE);
    CHECK(hs_pool_bind(pool, 1, &site, NULL) == HS_ERROR_VALUE);
    hs_stencil_tile(NULL, 0, 0, 1, 1);
    hs_stencil_tile(&(hs_stencil){.dtype = HS_FLOAT64}, 0, 0, 1, 1);
    double four[] = {1, 2, 3, 4};
    hs_stencil corner = {.dtype = HS_FLOAT64,
                         .m = 1,
                         .n = 1,
                         .data = four + 1,
                         .row_stride = 1,
                         .col_stride = 1,
                         .weights = {1, 1, 1, 1, 2, 1, 1, 1, 1}};
    hs_stencil_tile(&corner, -1, 0, 1, 1);
    hs_stencil_tile(&corner, 0, -1, 1, 1);
    hs_stencil_tile(&corner, 0, 0, 2, 1);
    hs_stencil_tile(&corner, 0, 0, 1, 2);
    CHECK(four[0] == 1 && four[1] == 2 && four[2] == 3); /* outside the array */
    hs_stencil_tile(&corner, 0, 0, 1, 1);
    CHECK(four[0] == 1 && four[1] == 4 && four[2] == 3);
    hs_product_default(NULL, 0, 0, 0, 0, NULL, NULL, NULL);
    hs_factor_default(NULL, 0, 0, 0, 0, NULL);
    hs_measurement_default(NULL, 1);
    CHECK(hs_gemm_boxes(2, 2, 10000, 2, NULL, NULL, 0) > 0 &&
          hs_gemm_boxes(2, 2, 10000, 2, times, NULL, 9) > 0);
    CHECK(hs_kernel_use_fortran(NULL, NULL, 4, NULL, NULL) == HS_ERROR_VALUE);
}

int main(void)
{
    static const int set = 1;
    if (!CHECK(hs_pool_create(P, NULL, &pool) == HS_OK)) return check_result();
    for (int f = 0; f < (int)(sizeof FUNCTIONS / sizeof *FUNCTIONS); f++) {
        hole = -1;
        stop = NULL;
        expect(f, HS_OK);
        for (hole = 0; hole < FUNCTIONS[f].required; hole++) expect(f, HS_ERROR_VALUE);
        for (; hole < FUNCTIONS[f].required + FUNCTIONS[f].optional; hole++) expect(f, HS_OK);
        hole = -1;
        stop = &set;
        if (FUNCTIONS[f].cancels) expect(f, HS_ERROR_CANCELLED);
    }
    others_take_null();
    hs_pool_destroy(pool);
    return check_result();
}
