/* hs_partition_search: never worse than its start, the best tree found for few workers, repeatable,
 * every refusal, failing allocations. */
#include <float.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"
#include "planners.h"
#include "scarce.h"

/* Plans the workers one above the other, in the order of their numbers. */
static int32_t plan_rows(int32_t p, const double *areas, int32_t *plan)
{
    int32_t length = 0;
    for (int32_t i = 0; i < p; i++) {
        if (!(areas[i] > 0)) continue;
        plan[length++] = i;
        if (length > 1) plan[length++] = HS_ABOVE;
    }
    return length;
}

static hs_status plan_search(int32_t p, const double *areas, const double *weights, double aspect,
                             const int32_t *order, const int *cancel, planned *out)
{
    (void)order;
    int32_t plan[2 * ZONES_MOST] = {0};
    int32_t length = p > 0 && p <= ZONES_MOST ? plan_rows(p, areas, plan) : 1;
    uint64_t state = 1;
    hs_status status = hs_partition_search(p, areas, weights, aspect, 300, 0.01, cancel, plan,
                                           length, &state, &out->cost);
    if (status == HS_OK) {
        memcpy(out->plan, plan, sizeof plan);
        out->length = length;
    } else CHECK(state == 1);
    return status;
}

static void check_improvement(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(round % 10 ? 6 : 30);
        double areas[30], weights[30], rects[240];
        double before = -1;
        double first, second;
        int32_t plan[60], again[60], workers[60], pieces;
        zones_areas(round, p, areas);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        const int32_t length = plan_rows(p, areas, plan);
        memcpy(again, plan, sizeof plan);
        CHECK(hs_floorplan_rects(p, areas, given, aspect, plan, length, workers, rects, &pieces,
                                 &before) == HS_OK);
        const double temperature = round % 4 * 0.01;
        uint64_t state = (uint64_t)round;
        uint64_t other = state;
        uint64_t cold = 0;
        CHECK(hs_partition_search(p, areas, given, aspect, 200, temperature, NULL, plan, length,
                                  &state, &first) == HS_OK);
        CHECK(hs_partition_search(p, areas, given, aspect, 200, temperature, NULL, again, length,
                                  &other, &second) == HS_OK);
        CHECK(state == other && first == second &&
              memcmp(plan, again, (size_t)length * sizeof *plan) == 0);
        zones_check(p, areas, given, aspect, plan, length, first, 0, __FILE__, __LINE__);
        CHECK(first <= before * (1 + 1e-12));
        CHECK(hs_partition_search(p, areas, given, aspect, 100, 0.0, NULL, plan, length, &cold,
                                  &second) == HS_OK &&
              second <= first * (1 + 1e-12));
        CHECK(hs_partition_search(p, areas, given, aspect, 0, 0.0, NULL, again, length, &other,
                                  &second) == HS_OK &&
              second == first);
    }
}

static void finds_the_best(void)
{
    for (int round = 0; round < 30; round++) {
        const int32_t p = 2 + round % 4;
        double areas[5], cost;
        int32_t plan[10];
        for (int32_t i = 0; i < p; i++) areas[i] = 1 + check_random(20);
        const double aspect = round % 3 ? 1.0 : 5.0;
        const int32_t length = plan_rows(p, areas, plan);
        uint64_t state = 3;
        CHECK(hs_partition_search(p, areas, NULL, aspect, 5000, 0.02, NULL, plan, length, &state,
                                  &cost) == HS_OK);
        CHECK(zones_near(
            cost, zones_every_tree((1u << p) - 1, areas, NULL, 1 / sqrt(aspect), sqrt(aspect), 0),
            1e-12));
    }
}

static void check_refused(hs_status wanted, int64_t evaluations, double temperature,
                          const int32_t *given, int32_t length, int line)
{
    const double areas[] = {1, 2, 0, 3, 4, 5};
    int32_t plan[12];
    uint64_t state = 9;
    double cost = -7;
    memcpy(plan, given, (size_t)(length > 0 && length <= 12 ? length : 0) * sizeof *plan);
    check_that(hs_partition_search(6, areas, NULL, 1.0, evaluations, temperature, NULL, plan,
                                   length, &state, &cost) == wanted,
               "refused", __FILE__, line);
    check_that(state == 9 && cost == -7 &&
                   memcmp(plan, given,
                          (size_t)(length > 0 && length <= 12 ? length : 0) * sizeof *plan) == 0,
               "untouched", __FILE__, line);
}

static void refusals(void)
{
    const int32_t good[] = {0, 1, -1, 3, -2, 4, -1, 5, -1};
    const int32_t around[] = {0, 1, -1, 3, -2, 4, -4, 5, -1};
    const int32_t wheel[] = {0, 1, 3, 4, 5, -3};
    const int32_t none[] = {0, 1, -1, 3, -2, 4, -1};
    check_refused(HS_ERROR_VALUE, -1, 0.1, good, 9, __LINE__);
    check_refused(HS_ERROR_VALUE, 10, -0.1, good, 9, __LINE__);
    check_refused(HS_ERROR_VALUE, 10, NAN, good, 9, __LINE__);
    check_refused(HS_ERROR_VALUE, 10, INFINITY, good, 9, __LINE__);
    check_refused(HS_ERROR_VALUE, 10, 0.1, good, 0, __LINE__);
    check_refused(HS_ERROR_VALUE, 10, 0.1, good, -1, __LINE__);
    check_refused(HS_ERROR_VALUE, 10, 0.1, good, INT32_MAX, __LINE__);
    check_refused(HS_ERROR_VALUE, 10, 0.1, none, 7, __LINE__);
    check_refused(HS_ERROR_UNSUPPORTED, 10, 0.1, around, 9, __LINE__);
    check_refused(HS_ERROR_UNSUPPORTED, 10, 0.1, wheel, 6, __LINE__);
}

static void no_memory(void)
{
    const double areas[] = {1, 2, 3, 4};
    planned out = planned_before();
    CHECK_SCARCE(plan_search(4, areas, NULL, 1.0, NULL, NULL, &out), planned_untouched(&out));
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 600;
    check_improvement(rounds);
    finds_the_best();
    refusals();
    planner_refusals(plan_search, 0);
    planner_repeats(plan_search);
    planner_extremes(plan_search, rounds);
    no_memory();
    return check_result();
}
