/* hs_partition_nonrectangular: two workers exactly, the cost is the cost of its zones, corners
 * where they pay, every refusal, failing allocations. */
#include <float.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"
#include "planners.h"

static hs_status plan_nonrectangular(int32_t p, const double *areas, const double *weights,
                                     double aspect, const int32_t *order, const int *cancel,
                                     planned *out)
{
    return hs_partition_nonrectangular(p, areas, weights, aspect, order, cancel, out->plan,
                                       &out->length, &out->cost);
}

static void is_a_floorplan(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(round % 10 ? 6 : 20);
        double areas[20], weights[20];
        int32_t order[20];
        zones_areas(round, p, areas);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        const int32_t size = zones_sorted(p, areas, order);
        zones_shuffle(size, order);
        planned out = planned_before();
        if (!CHECK(plan_nonrectangular(p, areas, given, aspect, round % 2 ? order : NULL, NULL,
                                       &out) == HS_OK))
            continue;
        int32_t twos = 0;
        for (int32_t i = 0; i < out.length; i++) twos += out.plan[i] == HS_CORNERS;
        CHECK(out.length == 2 * size - 1 - twos);
        zones_check(p, areas, given, aspect, out.plan, out.length, out.cost, 0, __FILE__, __LINE__);
    }
}

/* Two workers: side by side, above each other, or one around the other. */
static void two(void)
{
    for (int round = 0; round < 300; round++) {
        double areas[2] = {1 + check_random(1000), 1 + check_random(round % 2 ? 10 : 1000)};
        double weights[2];
        const double *given = zones_weights(round, 2, weights);
        const double aspect = (const double[]){1, 2, 0.2, 8}[round % 4];
        const int32_t order[] = {round % 3 == 0, round % 3 != 0};
        const double width = sqrt(aspect);
        const double height = 1 / width;
        const double a = given ? given[order[0]] : 1;
        const double b = given ? given[order[1]] : 1;
        const double share = areas[order[0]] / (areas[0] + areas[1]);
        const double side = sqrt(share);
        double least = fmin(a * (height + share * width) + b * (height + (1 - share) * width),
                            a * (share * height + width) + b * ((1 - share) * height + width));
        if (side < fmin(width, height)) least = fmin(least, 2 * a * side + b * (width + height));
        planned out = planned_before();
        CHECK(plan_nonrectangular(2, areas, given, aspect, order, NULL, &out) == HS_OK &&
              zones_near(out.cost, least, 1e-12));
    }
}

static void small_beside_large(void)
{
    const double areas[] = {1, 1, 1, 1e6};
    planned out = planned_before();
    CHECK(plan_nonrectangular(4, areas, NULL, 1.0, NULL, NULL, &out) == HS_OK);
    CHECK(out.plan[out.length - 1] <= HS_AROUND && out.plan[out.length - 2] == 3);
    CHECK(out.cost < 2.01);
}

/* The square corner: one fast worker around two slow ones in opposite corners. */
static void square_corner(void)
{
    const double areas[2][3] = {{95, 4, 1}, {84.7, 12.8, 2.5}};
    for (int k = 0; k < 2; k++) {
        double root = 0.0;
        planned out = planned_before();
        for (int i = 1; i < 3; i++) root += 2 * sqrt(areas[k][i] / 100.0);
        CHECK(plan_nonrectangular(3, areas[k], NULL, 1.0, NULL, NULL, &out) == HS_OK);
        CHECK(out.length == 4 && out.plan[2] == 0 && out.plan[3] == HS_CORNERS);
        CHECK(zones_near(out.cost, 2 + root, 1e-14));
    }
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : CHECK_MANY(1500, 400);
    is_a_floorplan(rounds);
    two();
    small_beside_large();
    square_corner();
    planner_refusals(plan_nonrectangular, 1);
    planner_repeats(plan_nonrectangular);
    planner_extremes(plan_nonrectangular, rounds);
    planner_too_many(plan_nonrectangular, 256);
    planner_no_memory(plan_nonrectangular, 1);
    return check_result();
}
