/* hs_partition_largest: against every tree and every tree of runs; the cost is the cost of its
 * zones; every refusal, failing allocations. */
#include <float.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"
#include "planners.h"

static hs_status plan_largest(int32_t p, const double *areas, const double *weights, double aspect,
                              const int32_t *order, const int *cancel, planned *out)
{
    return hs_partition_largest(p, areas, weights, aspect, order, cancel, out->plan, &out->length,
                                &out->cost);
}

static void as_every_tree(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(5);
        double areas[5], weights[5];
        int32_t order[5];
        zones_areas(round, p, areas);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        const int32_t size = zones_sorted(p, areas, order);
        unsigned all = 0;
        for (int32_t i = 0; i < p; i++) all |= areas[i] > 0 ? 1u << i : 0;
        zones_shuffle(size, order);
        planned sets = planned_before();
        planned runs = planned_before();
        if (!CHECK(plan_largest(p, areas, given, aspect, NULL, NULL, &sets) == HS_OK) ||
            !CHECK(plan_largest(p, areas, given, aspect, order, NULL, &runs) == HS_OK))
            continue;
        zones_check(p, areas, given, aspect, sets.plan, sets.length, sets.cost, 1, __FILE__,
                    __LINE__);
        zones_check(p, areas, given, aspect, runs.plan, runs.length, runs.cost, 1, __FILE__,
                    __LINE__);
        CHECK(zones_near(sets.cost,
                         zones_every_tree(all, areas, given, 1 / sqrt(aspect), sqrt(aspect), 1),
                         1e-9));
        CHECK(zones_near(
            runs.cost,
            zones_every_run(order, size, areas, given, 1 / sqrt(aspect), sqrt(aspect), 1), 1e-9));
    }
}

static void more(void)
{
    for (int round = 0; round < 24; round++) {
        double areas[24], weights[24];
        zones_areas(round, 24, areas);
        const double *given = zones_weights(round / 6, 24, weights);
        planned out = planned_before();
        if (!CHECK(plan_largest(24, areas, given, 1.0, NULL, NULL, &out) == HS_OK)) continue;
        zones_check(24, areas, given, 1.0, out.plan, out.length, out.cost, 1, __FILE__, __LINE__);
    }
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : CHECK_MANY(600, 60);
    as_every_tree(rounds);
    more();
    planner_refusals(plan_largest, 1);
    planner_repeats(plan_largest);
    planner_extremes(plan_largest, rounds / 4);
    planner_too_many(plan_largest, 256);
    planner_no_memory(plan_largest, 1);
    return check_result();
}
