/* Common tests of all planners that return (plan, length, cost): refusals leave the outputs
 * unchanged. */
#ifndef HETSCHED_TESTS_PLANNERS_H
#define HETSCHED_TESTS_PLANNERS_H

#include "check.h"
#include "hetsched.h"
#include "scarce.h"
#include "zones.h"

typedef struct {
    int32_t plan[2 * ZONES_MOST], length;
    double cost;
} planned;

static planned planned_before(void)
{
    planned before = {.length = -7, .cost = -7};
    for (int k = 0; k < 2 * ZONES_MOST; k++) before.plan[k] = -7;
    return before;
}

static int planned_untouched(const planned *now)
{
    const planned before = planned_before();
    return now->length == -7 && now->cost == -7 &&
           memcmp(now->plan, before.plan, sizeof before.plan) == 0;
}

typedef hs_status planner(int32_t p, const double *areas, const double *weights, double aspect,
                          const int32_t *order, const int *cancel, planned *out);

static void planner_refuses(planner *plan, hs_status wanted, int32_t p, const double *areas,
                            const double *weights, double aspect, const int32_t *order,
                            const int *cancel, int line)
{
    planned out = planned_before();
    check_that(plan(p, areas, weights, aspect, order, cancel, &out) == wanted,
               "refused with the documented status", __FILE__, line);
    check_that(planned_untouched(&out), "outputs untouched", __FILE__, line);
}

/* Checks refusals of bad areas, weights, aspects and, with `ordered`, orders; a cancelled call. */
static void planner_refusals(planner *plan, int ordered)
{
    const double good[] = {1, 2, 0, 3, 4};
    const double bad[] = {0, -1, NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 5; k++)
        for (int at = 0; at < 5; at++) {
            double areas[] = {1, 2, 0, 3, 4};
            double weights[] = {1, 1, 1, 1, 1};
            planner_refuses(plan, HS_ERROR_VALUE, 5, good, NULL, bad[k], NULL, NULL, __LINE__);
            weights[at] = bad[k];
            planner_refuses(plan, HS_ERROR_VALUE, 5, good, weights, 1.0, NULL, NULL, __LINE__);
            areas[at] = bad[k];
            if (k > 0)
                planner_refuses(plan, HS_ERROR_VALUE, 5, areas, NULL, 1.0, NULL, NULL, __LINE__);
        }
    planner_refuses(plan, HS_ERROR_VALUE, 5, (const double[5]){0}, NULL, 1.0, NULL, NULL, __LINE__);
    planner_refuses(plan, HS_ERROR_VALUE, 0, good, NULL, 1.0, NULL, NULL, __LINE__);
    planner_refuses(plan, HS_ERROR_VALUE, -1, good, NULL, 1.0, NULL, NULL, __LINE__);
    planner_refuses(plan, HS_ERROR_VALUE, INT32_MIN, good, NULL, 1.0, NULL, NULL, __LINE__);
    planner_refuses(plan, HS_ERROR_CANCELLED, 5, good, NULL, 1.0, NULL, &(int){1}, __LINE__);
    planned out = planned_before();
    CHECK(plan(5, good, NULL, 1.0, NULL, &(int){0}, &out) == HS_OK);
    if (!ordered) return;
    const int32_t orders[][4] = {{0, 1, 2, 3},  {0, 1, 3, 3},         {0, 1, 3, 5},
                                 {0, 1, 3, -1}, {0, 1, 3, INT32_MAX}, {INT32_MIN, 1, 3, 4}};
    for (int k = 0; k < 6; k++)
        planner_refuses(plan, HS_ERROR_VALUE, 5, good, NULL, 1.0, orders[k], NULL, __LINE__);
    CHECK(plan(5, good, NULL, 1.0, (const int32_t[]){4, 0, 3, 1}, NULL, &out) == HS_OK);
}

/* Checks the refusal of more than `most` positive areas. */
static inline void planner_too_many(planner *plan, int32_t most)
{
    static double areas[1025];
    for (int32_t i = 0; i <= most; i++) areas[i] = 1;
    planner_refuses(plan, HS_ERROR_UNSUPPORTED, most + 1, areas, NULL, 1.0, NULL, NULL, __LINE__);
}

static inline void planner_no_memory(planner *plan, int ordered)
{
    planned out = planned_before();
    CHECK_SCARCE(plan(6, (const double[]){1, 2, 3, 4, 5, 6}, NULL, 1.0, NULL, NULL, &out),
                 planned_untouched(&out));
    out = planned_before();
    if (ordered)
        CHECK_SCARCE(plan(6, (const double[]){1, 2, 3, 4, 5, 6}, NULL, 1.0,
                          (const int32_t[]){5, 0, 4, 1, 3, 2}, NULL, &out),
                     planned_untouched(&out));
}

/* Checks that two equal calls give the same bits. */
static void planner_repeats(planner *plan)
{
    double areas[6] = {3, 1, 4, 1, 5, 9};
    planned one = planned_before();
    planned two = planned_before();
    CHECK(plan(6, areas, NULL, 1.5, NULL, NULL, &one) == HS_OK &&
          plan(6, areas, NULL, 1.5, NULL, NULL, &two) == HS_OK);
    CHECK(one.length == two.length && one.cost == two.cost &&
          memcmp(one.plan, two.plan, sizeof one.plan) == 0);
}

/* Checks areas and weights from both ends of the double range: none is refused, and no memory is
 * read out of bounds. */
static void planner_extremes(planner *plan, int rounds)
{
    const double ends[] = {5e-324, 1e-310, 2.3e-308, 1e-300, 1e-160, 1e-17,
                           1,      3,      1e17,     1e160,  1e300};
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(7);
        double areas[7], weights[7];
        double cost = -1;
        int32_t order[7], workers[14], pieces;
        double rects[56];
        for (int32_t i = 0; i < p; i++) {
            areas[i] = ends[check_random(11)];
            weights[i] = ends[check_random(round % 2 ? 11 : 1) + (round % 2 ? 0 : 6)];
        }
        const double aspect = round % 3 ? 1.0 : ends[check_random(11)];
        const int32_t size = zones_sorted(p, areas, order);
        zones_shuffle(size, order);
        planned out = planned_before();
        if (!CHECK(plan(p, areas, weights, aspect, round % 5 ? NULL : order, NULL, &out) == HS_OK))
            continue;
        CHECK(out.length >= size && out.length < 2 * size);
        CHECK(hs_floorplan_rects(p, areas, weights, aspect, out.plan, out.length, workers, rects,
                                 &pieces, &cost) == HS_OK);
        if (!isfinite(cost)) continue; /* beyond double precision */
        CHECK(out.cost >= 0);
    }
}

#endif
