/* hs_partition_guillotine: against every tree of up to five workers; wheels, extreme values, every
 * refusal, failing allocations. */
#include <float.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"
#include "planners.h"

static hs_status plan_guillotine(int32_t p, const double *areas, const double *weights,
                                 double aspect, const int32_t *order, const int *cancel,
                                 planned *out)
{
    (void)order;
    return hs_partition_guillotine(p, areas, weights, aspect, 0, cancel, out->plan, &out->length,
                                   &out->cost);
}

static hs_status plan_wheels(int32_t p, const double *areas, const double *weights, double aspect,
                             const int32_t *order, const int *cancel, planned *out)
{
    (void)order;
    return hs_partition_guillotine(p, areas, weights, aspect, 1, cancel, out->plan, &out->length,
                                   &out->cost);
}

static void as_every_tree(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(5);
        double areas[5], weights[5];
        zones_areas(round, p, areas);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        unsigned all = 0;
        for (int32_t i = 0; i < p; i++) all |= areas[i] > 0 ? 1u << i : 0;
        planned cut = planned_before();
        planned wheel = planned_before();
        if (!CHECK(plan_guillotine(p, areas, given, aspect, NULL, NULL, &cut) == HS_OK) ||
            !CHECK(plan_wheels(p, areas, given, aspect, NULL, NULL, &wheel) == HS_OK))
            continue;
        zones_check(p, areas, given, aspect, cut.plan, cut.length, cut.cost, 0, __FILE__, __LINE__);
        zones_check(p, areas, given, aspect, wheel.plan, wheel.length, wheel.cost, 0, __FILE__,
                    __LINE__);
        CHECK(zones_near(cut.cost,
                         zones_every_tree(all, areas, given, 1 / sqrt(aspect), sqrt(aspect), 0),
                         1e-9));
        CHECK(wheel.cost <= cut.cost * (1 + 1e-12));
        for (int32_t k = 0; k < cut.length; k++) CHECK(cut.plan[k] >= HS_ABOVE);
    }
}

static void known_wheels(void)
{
    const double areas[] = {20, 20, 1, 20, 20};
    planned out = planned_before();
    CHECK(plan_wheels(5, areas, NULL, 1.0, NULL, NULL, &out) == HS_OK);
    CHECK(zones_near(out.cost, 38.0 / 9, 1e-13) && out.plan[out.length - 1] == HS_WHEEL);
    /* The best of all 120 ways to deal five areas to a wheel, and of all trees. */
    for (int round = 0; round < 40; round++) {
        double five[5];
        for (int c = 0; c < 5; c++) five[c] = 1 + check_random(30);
        double least = zones_every_tree(31, five, NULL, 1, 1, 0);
        for (int code = 0; code < 3125; code++) {
            int32_t plan[6] = {code % 5,       code / 5 % 5, code / 25 % 5,
                               code / 125 % 5, code / 625,   HS_WHEEL};
            int32_t workers[10], pieces;
            double rects[40], cost;
            if (hs_floorplan_rects(5, five, NULL, 1.0, plan, 6, workers, rects, &pieces, &cost) ==
                HS_OK)
                least = fmin(least, cost);
        }
        CHECK(plan_wheels(5, five, NULL, 1.0, NULL, NULL, &out) == HS_OK &&
              zones_near(out.cost, least, 1e-12));
    }
}

static void only_positive_areas_count(void)
{
    const double areas[18] = {1, 1, 1, 1, 1, 1, 1, 1};
    planned out = planned_before();
    CHECK(plan_guillotine(18, areas, NULL, 1.0, NULL, NULL, &out) == HS_OK);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : CHECK_MANY(400, 100);
    as_every_tree(rounds);
    known_wheels();
    planner_too_many(plan_guillotine, 16);
    planner_too_many(plan_wheels, 8);
    only_positive_areas_count();
    planner_refusals(plan_guillotine, 0);
    planner_refusals(plan_wheels, 0);
    planner_repeats(plan_wheels);
    planner_extremes(plan_guillotine, rounds);
    planner_extremes(plan_wheels, rounds / 4);
    planner_no_memory(plan_guillotine, 0);
    planner_no_memory(plan_wheels, 0);
    return check_result();
}
