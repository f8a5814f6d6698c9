/* hs_floorplan_rects: known floorplans, wheels and corners of all kinds, plans that are no
 * floorplan, random trees, failing allocations. */
#include <float.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"
#include "zones.h"

static void known(void)
{
    const double areas[] = {1, 0, 2, 1}, aspect = 4; /* a box of 0.5 x 2 */
    const int32_t plan[] = {0, 3, HS_ABOVE, 2, HS_BESIDE};
    const double wanted[] = {0, 0, 0.5, 0.5, 0.5, 0, 0.5, 0.5, 0, 0.5, 1, 0.5};
    const double weights[] = {1, 9, 2, 4};
    int32_t workers[8], pieces;
    double rects[32], cost;
    CHECK(hs_floorplan_rects(4, areas, weights, aspect, plan, 5, workers, rects, &pieces, &cost) ==
          HS_OK);
    CHECK(pieces == 3 && workers[0] == 0 && workers[1] == 3 && workers[2] == 2);
    for (int k = 0; k < 12; k++) CHECK(fabs(rects[k] - wanted[k]) < 1e-15);
    CHECK(zones_near(cost, 1.25 + 4 * 1.25 + 2 * 1.5, 1e-15));
    CHECK(hs_floorplan_rects(4, areas, weights, aspect, plan, 5, workers, rects, &pieces, NULL) ==
          HS_OK);
    CHECK(hs_floorplan_rects(1, areas, NULL, 1.0, (const int32_t[]){0}, 1, workers, rects, &pieces,
                             &cost) == HS_OK);
    CHECK(pieces == 1 && rects[0] == 0 && rects[1] == 0 && rects[2] == 1 && rects[3] == 1 &&
          cost == 2);
}

static void wheel(void)
{
    const double areas[] = {20, 20, 20, 20, 1};
    const int32_t plan[] = {0, 1, 2, 3, 4, HS_WHEEL};
    /* in ninths of a side */
    const double wanted[] = {0, 0, 4, 5, 0, 5, 5, 4, 5, 4, 4, 5, 4, 0, 5, 4, 4, 4, 1, 1};
    int32_t workers[10], pieces;
    double rects[40], cost;
    CHECK(hs_floorplan_rects(5, areas, NULL, 1.0, plan, 6, workers, rects, &pieces, &cost) ==
          HS_OK);
    CHECK(pieces == 5 && zones_near(cost, 38.0 / 9, 1e-14));
    for (int k = 0; k < 20; k++) CHECK(fabs(rects[k] * 9 - wanted[k]) < 1e-13);
}

/* Any five areas have a wheel, and its zones have these areas. */
static void every_wheel(int rounds)
{
    const int32_t plan[] = {0, 1, 2, 3, 4, HS_WHEEL};
    for (int round = 0; round < rounds; round++) {
        double areas[5], weights[5];
        for (int c = 0; c < 5; c++) {
            const int kind = round % 5;
            switch (kind) {
            case 0: areas[c] = 1 + check_random(9); break;
            case 1: areas[c] = pow(10, (int)check_random(13) - 6); break;
            case 2: areas[c] = pow(10, (int)check_random(61) - 30); break;
            case 3: areas[c] = check_random(2) ? 1 : 1e-18; break;
            default: areas[c] = pow(10, (int)check_random(141) - 70);
            }
        }
        double cost = -1;
        int32_t workers[10], pieces;
        double rects[40];
        const double *given = zones_weights(round, 5, weights);
        if (!CHECK(hs_floorplan_rects(5, areas, given, zones_aspect(round), plan, 6, workers, rects,
                                      &pieces, &cost) == HS_OK))
            return;
        zones_check(5, areas, given, zones_aspect(round), plan, 6, cost, 0, __FILE__, __LINE__);
    }
}

static void corner(void)
{
    /* Two workers side by side in the corner: its width counts once and its height twice, so it is
     * twice as wide as high. */
    const double areas[] = {0.04, 0.04, 0.92};
    const int32_t plan[] = {0, 1, HS_BESIDE, 2, HS_AROUND};
    int32_t workers[6], pieces;
    double rects[24], cost;
    CHECK(hs_floorplan_rects(3, areas, NULL, 1.0, plan, 5, workers, rects, &pieces, &cost) ==
          HS_OK);
    CHECK(pieces == 4 && workers[0] == 0 && workers[1] == 1 && workers[2] == 2 && workers[3] == 2);
    const double wanted[] = {0.8, 0.6, 0.2, 0.2, 0.8, 0.8, 0.2, 0.2,
                             0,   0,   0.8, 1,   0.8, 0,   0.2, 0.6};
    for (int k = 0; k < 16; k++) CHECK(fabs(rects[k] - wanted[k]) < 1e-14);
    CHECK(zones_near(cost, 2.8, 1e-14));
    /* In a flat box the corner is as high as the box, so a rectangle is left. */
    const int32_t flat[] = {0, 1, HS_AROUND};
    CHECK(hs_floorplan_rects(2, (const double[]){1, 1}, NULL, 16.0, flat, 3, workers, rects,
                             &pieces, &cost) == HS_OK);
    CHECK(pieces == 2 && zones_near(cost, 2 * (0.25 + 2), 1e-14));
    /* A corner that leaves less than one rounding of the sides: a sliver of the right area is
     * left. */
    const double sliver[] = {1, 1e-20};
    CHECK(hs_floorplan_rects(2, sliver, NULL, 1.0, flat, 3, workers, rects, &pieces, &cost) ==
          HS_OK);
    CHECK(pieces == 2 && zones_near(rects[4 * 1 + 2] * rects[4 * 1 + 3], 1e-20, 1e-12) &&
          zones_near(cost, 3, 1e-14));
}

static void two_corners(void)
{
    /* One fast worker around two squares. */
    const double areas[] = {0.04, 0.09, 0.87};
    const int32_t plan[] = {0, 1, 2, HS_CORNERS};
    int32_t workers[6], pieces;
    double rects[24], cost;
    CHECK(hs_floorplan_rects(3, areas, NULL, 1.0, plan, 4, workers, rects, &pieces, &cost) ==
          HS_OK);
    CHECK(pieces == 5 && workers[0] == 0 && workers[1] == 1 && workers[2] == 2 && workers[4] == 2);
    const double wanted[] = {0,   0,   0.2, 0.2, 0.7, 0.7, 0.3, 0.3, 0,   0.2,
                             0.2, 0.8, 0.2, 0,   0.5, 1,   0.7, 0,   0.3, 0.7};
    for (int k = 0; k < 20; k++) CHECK(fabs(rects[k] - wanted[k]) < 1e-14);
    CHECK(zones_near(cost, 3, 1e-14));
    /* In a flat box the corners are as high as the box; in a high one as wide. */
    for (int flat = 0; flat < 2; flat++) {
        const double aspect = flat ? 100.0 : 0.01;
        CHECK(hs_floorplan_rects(3, areas, NULL, aspect, plan, 4, workers, rects, &pieces, &cost) ==
              HS_OK);
        CHECK(pieces == 3 && zones_near(cost, 3 * 0.1 + 10, 1e-13));
    }
    /* Squares that would overlap are strips, with a sliver between them. */
    const double sliver[] = {1, 1, 1e-20};
    CHECK(hs_floorplan_rects(3, sliver, NULL, 1.0, plan, 4, workers, rects, &pieces, &cost) ==
          HS_OK);
    CHECK(pieces == 3 && zones_near(rects[4 * 2 + 2] * rects[4 * 2 + 3], 0.5e-20, 1e-12) &&
          zones_near(cost, 4, 1e-14));
}

/* Appends a random tree of all operators over list [size]; returns the new length. */
static int32_t grow_tree(const int32_t *list, int32_t size, int around, int32_t *plan, int32_t at)
{
    if (size == 1) {
        plan[at] = *list;
        return at + 1;
    }
    const int kind = (int)check_random(around ? 5 : 3);
    if (kind == 2 && size >= 5) {
        int32_t cut[6] = {0, 1, 2, 3, 4, size};
        for (int c = 1; c < 5; c++)
            cut[c] = cut[c - 1] + 1 + (int32_t)check_random((unsigned)(size - cut[c - 1] - 5 + c));
        for (int c = 0; c < 5; c++)
            at = grow_tree(list + cut[c], cut[c + 1] - cut[c], around, plan, at);
        plan[at] = HS_WHEEL;
        return at + 1;
    }
    if (kind == 3) {
        at = grow_tree(list, size - 1, around, plan, at);
        plan[at++] = list[size - 1];
        plan[at] = HS_AROUND;
        return at + 1;
    }
    if (kind == 4 && size >= 3) {
        const int32_t cut = 1 + (int32_t)check_random((unsigned)size - 2);
        at = grow_tree(list, cut, around, plan, at);
        at = grow_tree(list + cut, size - 1 - cut, around, plan, at);
        plan[at++] = list[size - 1];
        plan[at] = HS_CORNERS;
        return at + 1;
    }
    const int32_t cut = 1 + (int32_t)check_random((unsigned)size - 1);
    at = grow_tree(list, cut, around, plan, at);
    at = grow_tree(list + cut, size - cut, around, plan, at);
    plan[at] = kind ? HS_ABOVE : HS_BESIDE;
    return at + 1;
}

static void random_trees(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(round % 3 ? 7 : 30);
        double areas[30], weights[30];
        double cost = -1;
        double sum;
        int32_t order[30], plan[60], workers[60], pieces;
        double rects[240];
        zones_areas(round, p, areas);
        /* square roots, because a wheel multiplies areas */
        for (int32_t i = 0; i < p; i++) areas[i] = sqrt(areas[i]);
        const double *given = zones_weights(round / 6, p, weights);
        const double aspect = zones_aspect(round / 18);
        const int32_t size = zones_sorted(p, areas, order);
        zones_shuffle(size, order);
        const int32_t length = grow_tree(order, size, round % 4 == 0, plan, 0);
        if (!CHECK(hs_floorplan_rects(p, areas, given, aspect, plan, length, workers, rects,
                                      &pieces, &cost) == HS_OK))
            return;
        zones_check(p, areas, given, aspect, plan, length, cost, 0, __FILE__, __LINE__);
        /* The units of areas and weights do not matter. */
        for (int32_t i = 0; i < p; i++) {
            areas[i] /= 1024;
            weights[i] *= 8;
        }
        CHECK(hs_floorplan_rects(p, areas, given, aspect, plan, length, workers, rects, &pieces,
                                 &sum) == HS_OK);
        if (round % 6 != 5) CHECK(zones_near(sum, given ? 8 * cost : cost, 1e-12));
    }
}

/* A caterpillar tree of 10^5 workers: there is no recursion, and errors do not add up. */
static void long_chain(void)
{
    enum { MANY = 100000 };
    double *areas = malloc(MANY * sizeof *areas);
    double *rects = malloc(8 * MANY * sizeof *rects);
    double cost;
    double sum = 0;
    int32_t *plan = malloc(2 * MANY * sizeof *plan);
    int32_t *workers = malloc(2 * MANY * sizeof *workers);
    int32_t pieces;
    int32_t length = 0;
    for (int32_t i = 0; i < MANY; i++) {
        areas[i] = 1 + i % 7;
        plan[length++] = i;
        if (i > 0) plan[length++] = i % 2 ? HS_BESIDE : HS_ABOVE;
        sum += areas[i];
    }
    CHECK(hs_floorplan_rects(MANY, areas, NULL, 1.0, plan, length, workers, rects, &pieces,
                             &cost) == HS_OK &&
          pieces == MANY);
    for (int32_t k = 0; k < pieces; k++)
        CHECK(zones_near(rects[4 * k + 2] * rects[4 * k + 3], areas[workers[k]] / sum, 1e-11));
    free(areas);
    free(rects);
    free(plan);
    free(workers);
}

static void check_refused(int32_t p, const double *areas, const double *weights, double aspect,
                          const int32_t *plan, int32_t length, int line)
{
    int32_t workers[20];
    int32_t pieces = -7;
    double rects[80];
    double cost = -7;
    for (int k = 0; k < 80; k++) {
        rects[k] = -7;
        workers[k / 4] = -7;
    }
    hs_status status =
        hs_floorplan_rects(p, areas, weights, aspect, plan, length, workers, rects, &pieces, &cost);
    check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    int same = pieces == -7 && cost == -7;
    for (int k = 0; k < 80; k++) same = same && rects[k] == -7 && workers[k / 4] == -7;
    check_that(same, "outputs untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2, 0, 3, 4, 5};
#define REFUSED(...)                                                  \
    check_refused(6, good, NULL, 1.0, (const int32_t[]){__VA_ARGS__}, \
                  (int32_t)(sizeof(int32_t[]){__VA_ARGS__} / sizeof(int32_t)), __LINE__)
    REFUSED(0); /* workers left out */
    REFUSED(0, 1, -1, 3, -1, 4, -1);
    REFUSED(0, 1, -1, 3, -1, 4, -1, 5);     /* two trees */
    REFUSED(0, 1, -1, 3, -1, 4, -1, 4, -1); /* a worker twice */
    REFUSED(0, 1, -1, 3, -1, 4, -1, 2, -1); /* a worker without area */
    REFUSED(0, 1, -1, 3, -1, 4, -1, 6, -1); /* no such worker */
    REFUSED(0, 1, -1, 3, -1, 4, -1, 5, -5); /* no such operator */
    REFUSED(0, 1, -1, 3, -1, 4, -1, 5, INT32_MIN);
    REFUSED(0, 1, -1, 3, -1, 4, -1, INT32_MAX, -1);
    REFUSED(-1, 0, 1, 3, 4, 5, -3); /* operators without operands */
    REFUSED(0, -1, 1, -1, 3, 4, 5);
    REFUSED(0, 1, 3, 4, -3, 5, -1);
    REFUSED(0, 1, 3, 4, 5, -3, -1);
    REFUSED(-4, 0, 1, 3, 4, 5, -3);
    REFUSED(0, -4, 1, -1, 3, -1, 4, -1, 5, -1);
    /* the second operand of HS_AROUND is not a worker */
    REFUSED(0, 1, 3, -1, -4, 4, -1, 5, -1);
#undef REFUSED
    const int32_t plan[] = {0, 1, -1, 3, -2, 4, -1, 5, -4};
    check_refused(6, good, NULL, 1.0, plan, 0, __LINE__);
    check_refused(6, good, NULL, 1.0, plan, -1, __LINE__);
    check_refused(6, good, NULL, 1.0, plan, INT32_MIN, __LINE__);
    check_refused(6, good, NULL, 1.0, plan, INT32_MAX, __LINE__);
    check_refused(4, good, NULL, 1.0, plan, 9, __LINE__);
    check_refused(0, good, NULL, 1.0, plan, 9, __LINE__);
    check_refused(-1, good, NULL, 1.0, plan, 9, __LINE__);
    const double bad[] = {0, -1, NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 5; k++) {
        double weights[] = {1, 1, 1, 1, 1, 1};
        double areas[] = {1, 2, 0, 3, 4, 5};
        check_refused(6, good, NULL, bad[k], plan, 9, __LINE__);
        weights[3] = bad[k];
        check_refused(6, good, weights, 1.0, plan, 9, __LINE__);
        areas[3] = bad[k];
        check_refused(6, areas, NULL, 1.0, plan, 9, __LINE__);
    }
    check_refused(6, (const double[]){0, 0, 0, 0, 0, 0}, NULL, 1.0, plan, 9, __LINE__);
}

static void no_memory(void)
{
    const double areas[] = {1, 2, 3};
    const int32_t plan[] = {0, 1, -1, 2, -2};
    int32_t workers[6] = {-7};
    int32_t pieces = -7;
    double rects[24] = {-7};
    double cost = -7;
    CHECK_SCARCE(hs_floorplan_rects(3, areas, NULL, 1.0, plan, 5, workers, rects, &pieces, &cost),
                 workers[0] == -7 && rects[0] == -7 && pieces == -7 && cost == -7);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 3000;
    known();
    wheel();
    every_wheel(rounds);
    corner();
    two_corners();
    random_trees(rounds);
    long_chain();
    refusals();
    no_memory();
    return check_result();
}
