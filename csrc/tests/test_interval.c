/* hs_partition_interval: against every tree of runs, or of some runs, with and without groups; the
 * rules that it must not be worse than; every refusal, failing allocations. */
#include <float.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"
#include "planners.h"

static hs_status plan_interval(int32_t p, const double *areas, const double *weights, double aspect,
                               const int32_t *order, const int *cancel, planned *out)
{
    return hs_partition_interval(p, areas, weights, aspect, order, NULL, 0.0, 0, cancel, out->plan,
                                 &out->length, &out->cost);
}

static hs_status one_group(int32_t p, const double *areas, const double *weights, double aspect,
                           const int32_t *order, const int *cancel, planned *out)
{
    static const int32_t groups[ZONES_MOST] = {0};
    return hs_partition_interval(p, areas, weights, aspect, order, groups, 0.0, 0, cancel,
                                 out->plan, &out->length, &out->cost);
}

/* Plans with few cells, so that six workers have several levels. */
static hs_status plan_coarse(int32_t p, const double *areas, const double *weights, double aspect,
                             const int32_t *order, const int *cancel, planned *out)
{
    return hs_partition_interval(p, areas, weights, aspect, order, NULL, 0.0, 2, cancel, out->plan,
                                 &out->length, &out->cost);
}

static void as_every_run(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(6);
        double areas[6], weights[6];
        int32_t order[6];
        zones_areas(round, p, areas);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        const int32_t size = zones_sorted(p, areas, order);
        if (round % 2) zones_shuffle(size, order);
        planned out = planned_before();
        if (!CHECK(plan_interval(p, areas, given, aspect, round % 2 ? order : NULL, NULL, &out) ==
                   HS_OK))
            continue;
        zones_check(p, areas, given, aspect, out.plan, out.length, out.cost, 0, __FILE__, __LINE__);
        CHECK(zones_near(
            out.cost, zones_every_run(order, size, areas, given, 1 / sqrt(aspect), sqrt(aspect), 0),
            1e-9));
        planned same = planned_before();
        CHECK(one_group(p, areas, given, aspect, round % 2 ? order : NULL, NULL, &same) == HS_OK &&
              zones_near(same.cost, out.cost, 1e-12));
    }
}

/* Returns the least cost of groups [from, to) of the list: runs of groups, each group in a box of
 * its own, then runs within the groups. */
static double every_grouping(const int32_t *list, const int32_t *first, int32_t from, int32_t to,
                             const double *areas, const double *weights, double height,
                             double width, double group_weight)
{
    if (to == from + 1)
        return group_weight * (height + width) + zones_every_run(list + first[from],
                                                                 first[to] - first[from], areas,
                                                                 weights, height, width, 0);
    double best = INFINITY;
    for (int32_t cut = from + 1; cut < to; cut++) {
        double own = 0;
        double rest = 0;
        for (int32_t k = first[from]; k < first[to]; k++)
            *(k < first[cut] ? &own : &rest) += areas[list[k]];
        const double share = own / (own + rest);
        const double other = rest / (own + rest);
        best = fmin(best, every_grouping(list, first, from, cut, areas, weights, height,
                                         width * share, group_weight) +
                              every_grouping(list, first, cut, to, areas, weights, height,
                                             width * other, group_weight));
        best = fmin(best, every_grouping(list, first, from, cut, areas, weights, height * share,
                                         width, group_weight) +
                              every_grouping(list, first, cut, to, areas, weights, height * other,
                                             width, group_weight));
    }
    return best;
}

static void as_every_grouping(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(6);
        double areas[6], weights[6];
        double sums[6] = {0};
        int32_t sorted[6], groups[6], rank[6], list[6];
        int32_t first[7] = {0};
        int32_t kept = 0;
        int32_t lists;
        zones_areas(round, p, areas);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        const double group_weight = check_random(4) * 0.5;
        const int32_t size = zones_sorted(p, areas, sorted);
        if (round % 2) zones_shuffle(size, sorted);
        for (int32_t i = 0; i < p; i++) groups[i] = (int32_t)check_random((unsigned)p);
        for (int32_t k = 0; k < size; k++) sums[groups[sorted[k]]] += areas[sorted[k]];
        lists = zones_sorted(p, sums, rank);
        for (int32_t g = 0; g < lists; first[++g] = kept)
            for (int32_t k = 0; k < size; k++)
                if (groups[sorted[k]] == rank[g]) list[kept++] = sorted[k];
        planned out = planned_before();
        if (!CHECK(hs_partition_interval(p, areas, given, aspect, round % 2 ? sorted : NULL, groups,
                                         group_weight, 0, NULL, out.plan, &out.length,
                                         &out.cost) == HS_OK))
            continue;
        const double wanted = every_grouping(list, first, 0, lists, areas, given, 1 / sqrt(aspect),
                                             sqrt(aspect), group_weight);
        CHECK(zones_near(out.cost, wanted, 1e-9));
        int32_t workers[12], pieces;
        double rects[48], cost;
        CHECK(hs_floorplan_rects(p, areas, given, aspect, out.plan, out.length, workers, rects,
                                 &pieces, &cost) == HS_OK);
        CHECK(zones_tile(p, areas, workers, rects, pieces));
    }
}

static void not_worse(void)
{
    for (int round = 0; round < 60; round++) {
        double areas[40], cost;
        int32_t order[40], start[41], columns, plan[80], length;
        const double aspect = zones_aspect(round / 6);
        zones_areas(round, 40, areas);
        planned out = planned_before();
        if (!CHECK(plan_interval(40, areas, NULL, aspect, NULL, NULL, &out) == HS_OK)) continue;
        zones_check(40, areas, NULL, aspect, out.plan, out.length, out.cost, 0, __FILE__, __LINE__);
        CHECK(hs_partition_columns(40, areas, aspect, 1, 40, 40, NULL, order, start, &columns,
                                   &cost) == HS_OK &&
              out.cost <= cost * (1 + 1e-9));
        CHECK(hs_partition_rule(HS_RULE_NAGAMOCHI_ABE, 40, areas, aspect, NULL, plan, &length,
                                &cost) == HS_OK &&
              out.cost <= cost * (1 + 1e-9));
    }
}

/* With fewer intervals the cost is not lower, and is still the true cost. With as many intervals as
 * there are, the plan is the same. Both hold with groups, too, which are lists of their own. */
static void within_reach(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(30);
        const int32_t reach = 2 + (int32_t)check_random(31);
        double areas[30], weights[30];
        int32_t groups[30];
        zones_areas(round, p, areas);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        const double group_weight = check_random(4) * 0.5;
        for (int32_t i = 0; i < p; i++) groups[i] = (int32_t)check_random(1 + (unsigned)p / 3);
        for (int grouped = 0; grouped < 2; grouped++) {
            planned all = planned_before();
            planned some = planned_before();
            const int32_t *own = grouped ? groups : NULL;
            CHECK(hs_partition_interval(p, areas, given, aspect, NULL, own, group_weight, 0, NULL,
                                        all.plan, &all.length, &all.cost) == HS_OK);
            if (!CHECK(hs_partition_interval(p, areas, given, aspect, NULL, own, group_weight,
                                             reach, NULL, some.plan, &some.length,
                                             &some.cost) == HS_OK))
                continue;
            CHECK(some.length == all.length && some.cost >= all.cost * (1 - 1e-9));
            if (reach >= p)
                CHECK(some.cost == all.cost && memcmp(some.plan, all.plan, sizeof all.plan) == 0);
            if (!grouped)
                zones_check(p, areas, given, aspect, some.plan, some.length, some.cost, 0, __FILE__,
                            __LINE__);
        }
    }
}

static void refusals(void)
{
    const double areas[] = {1, 2, 0, 3, 4};
    const double weights[] = {-1, NAN, INFINITY};
    const int32_t reaches[] = {INT32_MIN, -1, 1, 1025, INT32_MAX};
    for (int k = 0; k < 5; k++) {
        planned out = planned_before();
        CHECK(hs_partition_interval(5, areas, NULL, 1.0, NULL, NULL, 0.0, reaches[k], NULL,
                                    out.plan, &out.length,
                                    &out.cost) == (k < 3 ? HS_ERROR_VALUE : HS_ERROR_UNSUPPORTED));
        CHECK(planned_untouched(&out));
    }
    for (int k = 0; k < 3; k++) {
        planned out = planned_before();
        CHECK(hs_partition_interval(5, areas, NULL, 1.0, NULL, (const int32_t[]){0, 0, 0, 1, 1},
                                    weights[k], 0, NULL, out.plan, &out.length,
                                    &out.cost) == HS_ERROR_VALUE);
        CHECK(planned_untouched(&out));
    }
    const int32_t bad[] = {-1, 5, INT32_MAX, INT32_MIN};
    for (int k = 0; k < 4; k++)
        for (int at = 0; at < 5; at++) {
            int32_t groups[] = {0, 0, 0, 1, 1};
            groups[at] = bad[k];
            planned out = planned_before();
            CHECK(hs_partition_interval(5, areas, NULL, 1.0, NULL, groups, 1.0, 0, NULL, out.plan,
                                        &out.length, &out.cost) == HS_ERROR_VALUE);
            CHECK(planned_untouched(&out));
        }
}

static void no_memory(void)
{
    const double areas[] = {1, 2, 3, 4, 5, 6};
    const int32_t order[] = {5, 0, 4, 1, 3, 2};
    const int32_t groups[] = {3, 3, 0, 0, 3, 5};
    planned out = planned_before();
    CHECK_SCARCE(hs_partition_interval(6, areas, NULL, 1.0, order, groups, 1.0, 0, NULL, out.plan,
                                       &out.length, &out.cost),
                 planned_untouched(&out));
    out = planned_before();
    CHECK_SCARCE(hs_partition_interval(6, areas, NULL, 1.0, order, groups, 1.0, 2, NULL, out.plan,
                                       &out.length, &out.cost),
                 planned_untouched(&out));
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : CHECK_MANY(1500, 120);
    as_every_run(rounds);
    as_every_grouping(rounds);
    not_worse();
    planner_refusals(plan_interval, 1);
    within_reach(rounds / 2);
    planner_refusals(one_group, 1);
    planner_refusals(plan_coarse, 1);
    planner_repeats(plan_interval);
    planner_repeats(plan_coarse);
    planner_extremes(plan_interval, rounds);
    planner_extremes(one_group, rounds);
    planner_extremes(plan_coarse, rounds);
    refusals();
    planner_too_many(plan_interval, 1024);
    planner_no_memory(plan_interval, 1);
    planner_no_memory(plan_coarse, 1);
    no_memory();
    return check_result();
}
