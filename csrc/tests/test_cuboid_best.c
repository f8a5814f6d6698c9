/* hs_cuboids_best: costs and boxes against the stages, shapes, the search, every refusal, a
 * cancelled call, failing allocations. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 16 };

static int is_near(double x, double y) { return fabs(x - y) <= 1e-12 * fabs(y); }

static void known_cost(void)
{
    const double equal[] = {3, 3, 3, 3, 3, 3, 3, 3};
    const hs_cuboids cube = {8, equal, 1, 1, 1, 0, 0, 0};
    double boxes[6 * 8];
    hs_cuboids_method found;
    hs_certificate c;
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, 0, NULL, NULL, &found, boxes, NULL, &c) == HS_OK);
    CHECK(found == HS_CUBOIDS_GUILLOTINE && c.value == 6 && c.optimal &&
          strcmp(c.scope, "guillotine tilings") == 0);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_LAYERS, 0, NULL, NULL, &found, boxes, NULL, &c) ==
          HS_OK);
    CHECK(found == HS_CUBOIDS_LAYERS && c.value == 10 && !c.optimal &&
          strcmp(c.scope, "layers") == 0);
    /* in the order of the workers */
    for (int i = 0; i < 8; i++) CHECK(boxes[6 * i + 2] == i / 8.0 && boxes[6 * i + 5] == 1 / 8.0);
}

/* Every method: boxes of the right volumes, the cost of the stage, a bound below it. */
static void methods(void)
{
    for (int round = 0; round < CHECK_MANY(60, 5); round++) {
        const int32_t p = round % 10 == 9 ? 12 : 1 + (int32_t)check_random(6);
        double volumes[MAX], boxes[6 * MAX], cost;
        double total = 0;
        int32_t tree[2 * MAX], order[MAX], length;
        for (int32_t i = 0; i < p; i++)
            volumes[i] = i && check_random(5) == 0 ? 0 : 1 + check_random(9);
        int32_t size = 0;
        for (int32_t i = 0; i < p; i++) {
            total += volumes[i];
            if (volumes[i] > 0) order[size++] = i;
        }
        const double gamma = check_random(4);
        const hs_cuboids cube = {p, volumes, 1, 2, gamma, 0, 0, 0};
        const double faces[] = {1, 2, gamma};
        for (int method = HS_CUBOIDS_BEST; method <= HS_CUBOIDS_RECTANGLES; method++) {
            hs_cuboids_method found;
            hs_certificate c;
            const hs_status status = hs_cuboids_best(&cube, (hs_cuboids_method)method, -1, NULL,
                                                     NULL, &found, boxes, NULL, &c);
            if (method == HS_CUBOIDS_GUILLOTINE && size > HS_CUBOIDS_EXACT) {
                CHECK(status == HS_ERROR_UNSUPPORTED);
                continue;
            }
            if (!CHECK(status == HS_OK)) continue;
            for (int32_t i = 0; i < p; i++)
                CHECK(fabs(boxes[6 * i + 3] * boxes[6 * i + 4] * boxes[6 * i + 5] -
                           volumes[i] / total) <= 1e-12);
            CHECK(c.bound <= c.value && c.sense == HS_MINIMISED);
            if (size <= 4 && method <= HS_CUBOIDS_GUILLOTINE) CHECK(c.optimal);
            const int32_t axes = method == HS_CUBOIDS_RECTANGLES ? 3
                                 : method == HS_CUBOIDS_LAYERS   ? 4
                                                                 : 7;
            if (method == HS_CUBOIDS_INTERVAL || method == HS_CUBOIDS_LAYERS)
                CHECK(hs_partition_cuboids(p, volumes, faces, axes,
                                           method == HS_CUBOIDS_LAYERS ? order : NULL, 0, 0, NULL,
                                           tree, &length, &cost) == HS_OK &&
                      is_near(c.value, cost));
            else if (size <= HS_CUBOIDS_EXACT)
                CHECK(hs_partition_cuboids_exact(p, volumes, faces, axes, NULL, tree, &length,
                                                 &cost) == HS_OK &&
                      is_near(c.value, cost));
            else {
                CHECK(found ==
                      (method == HS_CUBOIDS_BEST ? HS_CUBOIDS_SEARCH : HS_CUBOIDS_RECTANGLES));
                for (int32_t some = 1; some <= axes; some++)
                    CHECK((some & ~axes) ||
                          (hs_partition_cuboids(p, volumes, faces, some, NULL, 0, 0, NULL, tree,
                                                &length, &cost) == HS_OK &&
                           c.value <= cost * (1 + 1e-12)));
            }
        }
    }
}

static void shapes(void)
{
    const double volumes[] = {3, 0, 2, 5, 1};
    const hs_cuboids product = {5, volumes, 1, 1, 1, 7, 5, 9};
    int64_t cells[30];
    int64_t sum = 0;
    double cost = 0;
    hs_cuboids_method found;
    hs_certificate c;
    CHECK(hs_cuboids_best(&product, HS_CUBOIDS_BEST, 0, NULL, NULL, &found, NULL, cells, &c) ==
          HS_OK);
    for (int i = 0; i < 5; i++) {
        const int64_t *side = cells + 6 * i + 3;
        sum += side[0] * side[1] * side[2];
        cost += (double)(side[0] * side[2] + side[2] * side[1] + side[0] * side[1]);
    }
    CHECK(sum == 7 * 5 * 9 && c.value == cost && c.bound <= cost && c.scope[0] == 0);
    const hs_cuboids small = {5, volumes, 1, 1, 1, 3, 1, 1};
    CHECK(hs_cuboids_best(&small, HS_CUBOIDS_BEST, 0, NULL, NULL, &found, NULL, cells, &c) ==
          HS_ERROR_INFEASIBLE);
    const hs_cuboids enough = {5, volumes, 1, 1, 1, 2, 2, 1};
    CHECK(hs_cuboids_best(&enough, HS_CUBOIDS_BEST, 0, NULL, NULL, &found, NULL, cells, &c) ==
          HS_OK);
}

/* More orders, or more time, never give a worse plan; the same arguments give the same plan. */
static void searches(void)
{
    double volumes[14], boxes[2][6 * 14];
    for (int i = 0; i < 14; i++) volumes[i] = 1 + (i * 5) % 11;
    const hs_cuboids cube = {14, volumes, 1, 1, 3, 0, 0, 0};
    hs_cuboids_method found;
    hs_certificate none, some, again, timed;
    const hs_effort seed = {7, 0, 0};
    const hs_effort moment = {7, 1, 0};
    const int32_t orders = CHECK_MANY(900, 100);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, -1, &seed, NULL, &found, boxes[0], NULL, &none) ==
          HS_OK);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, orders, &seed, NULL, &found, boxes[0], NULL,
                          &some) == HS_OK);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, orders, &seed, NULL, &found, boxes[1], NULL,
                          &again) == HS_OK);
    CHECK(memcmp(boxes[0], boxes[1], sizeof *boxes) == 0 && again.value == some.value);
    CHECK(some.value < none.value && found == HS_CUBOIDS_SEARCH);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, 0, &moment, NULL, &found, boxes[1], NULL,
                          &timed) == HS_OK &&
          timed.value <= none.value);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, 0, NULL, &(int){1}, &found, boxes[1], NULL,
                          &timed) == HS_ERROR_CANCELLED);
}

static void refusals(void)
{
    const double good[] = {1, 2};
    const double none[] = {0, 0};
    const double bad[] = {1, NAN};
    const hs_cuboids wrong[] = {
        {0, good, 1, 1, 1, 0, 0, 0},
        {2, NULL, 1, 1, 1, 0, 0, 0},
        {2, none, 1, 1, 1, 0, 0, 0},
        {2, bad, 1, 1, 1, 0, 0, 0},
        {2, good, 0, 0, 0, 0, 0, 0},
        {2, good, -1, 1, 1, 0, 0, 0},
        {2, good, 1, NAN, 1, 0, 0, 0},
        {2, good, 1, 1, INFINITY, 0, 0, 0},
        {2, good, 1, 1, 1, 4, 4, 0},
        {2, good, 1, 1, 1, -4, 4, 4},
        {2, good, 1, 1, 1, 4, 4, (INT64_C(1) << 53) + 1},
        {2, good, DBL_MAX, 1, 1, 4, 4, 4}, /* the cost overflows */
    };
    double boxes[12];
    int64_t cells[12];
    hs_cuboids_method found = HS_CUBOIDS_SEARCH;
    hs_certificate c = {.value = -7};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        CHECK(hs_cuboids_best(&wrong[k], HS_CUBOIDS_BEST, 0, NULL, NULL, &found, boxes, cells,
                              &c) == HS_ERROR_VALUE);
    const hs_cuboids cube = {2, good, 1, 1, 1, 0, 0, 0};
    const hs_cuboids product = {2, good, 1, 1, 1, 4, 4, 4};
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_SEARCH, 0, NULL, NULL, &found, boxes, cells, &c) ==
          HS_ERROR_VALUE);
    CHECK(hs_cuboids_best(&cube, (hs_cuboids_method)-1, 0, NULL, NULL, &found, boxes, cells, &c) ==
          HS_ERROR_VALUE);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, 0, &(hs_effort){0, 2, 0}, NULL, &found, boxes,
                          cells, &c) == HS_ERROR_VALUE);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, 0, NULL, NULL, &found, NULL, cells, &c) ==
          HS_ERROR_VALUE);
    CHECK(hs_cuboids_best(&product, HS_CUBOIDS_BEST, 0, NULL, NULL, &found, boxes, NULL, &c) ==
          HS_ERROR_VALUE);
    CHECK(c.value == -7 && found == HS_CUBOIDS_SEARCH);
}

static void scarce(void)
{
    double volumes[12], boxes[72];
    int64_t cells[72];
    for (int i = 0; i < 12; i++) volumes[i] = 1 + i % 5;
    const hs_cuboids cube = {3, volumes, 1, 1, 1, 0, 0, 0};
    const hs_cuboids product = {12, volumes, 1, 1, 1, 9, 9, 9};
    hs_cuboids_method found;
    hs_certificate c = {.value = -7};
    CHECK_SCARCE(hs_cuboids_best(&cube, HS_CUBOIDS_LAYERS, 0, NULL, NULL, &found, boxes, NULL, &c),
                 c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_cuboids_best(&product, HS_CUBOIDS_BEST, 2, NULL, NULL, &found, NULL, cells, &c),
                 c.value == -7);
}

int main(void)
{
    known_cost();
    methods();
    shapes();
    searches();
    refusals();
    scarce();
    return check_result();
}
