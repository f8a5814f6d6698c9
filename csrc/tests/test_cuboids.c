/* hs_partition_cuboids and hs_partition_cuboids_exact: known costs, every tree of up to six
 * workers, agreement of the two, orders, the allowed cuts, every refusal. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 100 };
static const double ones[] = {1, 1, 1};

static int is_near(double x, double y) { return fabs(x - y) <= 1e-12 * fabs(y); }

/* Returns 1 if the tree is postfix, has each worker with volume once, and cuts along `axes`
 * only. */
static int is_tree(int32_t p, const double *volumes, int32_t axes, const int32_t *tree,
                   int32_t length)
{
    int seen[MAX] = {0};
    int waiting = 0;
    for (int32_t t = 0; t < length; t++) {
        if (tree[t] >= p || tree[t] < -3) return 0;
        if (tree[t] >= 0) {
            seen[tree[t]]++;
            waiting++;
        } else if (!(axes >> (-1 - tree[t]) & 1) || waiting-- < 2) return 0;
    }
    for (int32_t i = 0; i < p; i++)
        if (seen[i] != (volumes[i] > 0)) return 0;
    return waiting == 1;
}

/* Cuts the cube by the exact method, or by the search, which makes so many tries. */
static hs_status cut(int exact, int32_t p, const double *volumes, const double *faces, int32_t axes,
                     int32_t tries, int32_t *tree, int32_t *length, double *cost)
{
    if (exact) return hs_partition_cuboids_exact(p, volumes, faces, axes, NULL, tree, length, cost);
    return hs_partition_cuboids(p, volumes, faces, axes, NULL, tries, 0, NULL, tree, length, cost);
}

static void known_costs(void)
{
    const double equal[] = {3, 3, 3, 3, 3, 3, 3, 3};
    const double faces[] = {2, 3, 5};
    int32_t tree[2 * MAX], length;
    double cost;
    for (int exact = 0; exact < 2; exact++) {
        CHECK(cut(exact, 8, equal, ones, 7, 0, tree, &length, &cost) == HS_OK);
        CHECK(length == 15 && is_near(cost, 6) && is_tree(8, equal, 7, tree, length));
        CHECK(cut(exact, 1, equal, faces, 7, 3, tree, &length, &cost) == HS_OK);
        CHECK(length == 1 && tree[0] == 0 && cost == 10);
        /* two workers: one cut, across the cheapest face that is allowed */
        for (int32_t axes = 1; axes < 8; axes++) {
            const double across[] = {3, 2, 5};
            double least = INFINITY;
            for (int q = 0; q < 3; q++)
                if (axes >> q & 1) least = fmin(least, across[q]);
            CHECK(cut(exact, 2, equal, faces, axes, 3, tree, &length, &cost) == HS_OK);
            CHECK(is_near(cost, 10 + least) && is_tree(2, equal, axes, tree, length));
        }
        /* One axis: slices. A face that costs nothing: slices as well, as many as there are
         * workers. */
        for (int32_t q = 0; q < 3; q++) {
            const double across[] = {3, 2, 5};
            CHECK(cut(exact, 8, equal, faces, 1 << q, 3, tree, &length, &cost) == HS_OK);
            CHECK(is_near(cost, 10 + 7 * across[q]) && is_tree(8, equal, 1 << q, tree, length));
            double without[] = {2, 3, 5};
            without[q == 2 ? 2 : 1 - q] = 0;
            CHECK(cut(exact, 8, equal, without, 7, 3, tree, &length, &cost) == HS_OK);
            CHECK(is_near(cost, 10 - across[q]) && is_tree(8, equal, 1 << q, tree, length));
        }
    }
}

/* Returns the least cost of the parts in `set` in a box, over every first cut, without bounds or
 * pruning. */
static double least_cost(const double *volumes, const double *faces, int32_t axes, unsigned set,
                         const double side[3])
{
    double best = INFINITY;
    double total = 0;
    for (int i = 0; set >> i; i++)
        if (set >> i & 1) total += volumes[i];
    if (!(set & (set - 1)))
        return faces[0] * side[0] * side[2] + faces[1] * side[2] * side[1] +
               faces[2] * side[0] * side[1];
    for (unsigned part = (set - 1) & set; part; part = (part - 1) & set) {
        double share = 0;
        /* the complement of this part is the same cut */
        if (!(part & set & -set)) continue;
        for (int i = 0; part >> i; i++)
            if (part >> i & 1) share += volumes[i] / total;
        for (int q = 0; q < 3; q++) {
            double a[3] = {side[0], side[1], side[2]};
            double b[3] = {side[0], side[1], side[2]};
            a[q] *= share;
            b[q] *= 1 - share;
            if (axes >> q & 1)
                best = fmin(best, least_cost(volumes, faces, axes, part, a) +
                                      least_cost(volumes, faces, axes, set ^ part, b));
        }
    }
    return best;
}

static void every_tree(void)
{
    for (int round = 0; round < CHECK_MANY(100, 4); round++) {
        double volumes[6], faces[3], cost;
        int32_t tree[11], length;
        int32_t p = round < 8 ? 6 : 2 + round % 4;
        int32_t axes = round < 8 ? 7 : 1 + (int32_t)check_random(7);
        for (int32_t i = 0; i < p; i++)
            volumes[i] = round % 2 ? 1 + check_random(9) : pow(2, (int)check_random(17) - 8.0);
        for (int q = 0; q < 3; q++) faces[q] = round % 3 ? 1 : pow(2, (int)check_random(9) - 4.0);
        double least = least_cost(volumes, faces, axes, (1u << p) - 1, ones);
        CHECK(hs_partition_cuboids_exact(p, volumes, faces, axes, NULL, tree, &length, &cost) ==
              HS_OK);
        CHECK(is_near(cost, least) && is_tree(p, volumes, axes, tree, length));
        CHECK(hs_partition_cuboids(p, volumes, faces, axes, NULL, 0, 0, NULL, tree, &length,
                                   &cost) == HS_OK);
        CHECK(is_near(cost, least) && is_tree(p, volumes, axes, tree, length));
    }
}

/* Quality of the heuristic relative to the bound: measured, with a margin of 0.04 %. */
static void close_to_the_bound(void)
{
    static const struct {
        int32_t p, tries;
        double gamma, limit;
    } cases[] = {
        {20, 0, 1, 1.0144}, {20, 60, 1, 1.0140}, {40, 0, 1, 1.0082},  {40, 0, 8, 1.0272},
        {64, 0, 1, 1.0060}, {100, 0, 1, 1.0077}, {100, 0, 3, 1.0086},
    };
    for (int i = 0; i < 7; i += CHECK_MANY(1, 3)) {
        double ratio = 0;
        for (int round = 0; round < 6; round++) {
            double volumes[MAX];
            double faces[] = {1, 1, cases[i].gamma};
            double cost;
            double total = 0;
            double bound = 0;
            int32_t tree[2 * MAX], length;
            for (int32_t j = 0; j < cases[i].p; j++) {
                unsigned long long x =
                    (unsigned long long)(100 * round + j + 1) * 0x9e3779b97f4a7c15ull;
                /* spread evenly */
                total += volumes[j] = (double)(x >> 40) + 1;
                if (round % 2) {
                    total += volumes[j] * volumes[j] - volumes[j];
                    volumes[j] *= volumes[j];
                }
            }
            for (int32_t j = 0; j < cases[i].p; j++) bound += 3 * pow(volumes[j] / total, 2. / 3);
            CHECK(hs_partition_cuboids(cases[i].p, volumes, faces, 7, NULL, cases[i].tries, 3, NULL,
                                       tree, &length, &cost) == HS_OK);
            CHECK(is_tree(cases[i].p, volumes, 7, tree, length));
            ratio += cost / (bound * cbrt(cases[i].gamma)) / 6;
        }
        if (!CHECK(ratio >= 1 && ratio <= cases[i].limit))
            fprintf(stderr, "case %d: %.6f\n", i, ratio);
    }
}

static void random_volumes(void)
{
    for (int round = 0; round < CHECK_MANY(25, 2); round++) {
        double volumes[MAX], faces[3], exact, found, searched;
        int32_t tree[2 * MAX], length;
        int32_t p = 1 + (int32_t)check_random(10);
        int32_t axes = 1 + (int32_t)check_random(7);
        for (int32_t i = 0; i < p; i++) {
            volumes[i] = 1;
            if (round % 3 == 1) volumes[i] = check_random(5);
            if (round % 3 == 2) volumes[i] = pow(10, (int)check_random(9) - 4);
        }
        for (int q = 0; q < 3; q++) faces[q] = round % 2 ? 1 : pow(2, (int)check_random(7) - 3.0);
        volumes[check_random((unsigned)p)] = 1;
        CHECK(hs_partition_cuboids_exact(p, volumes, faces, axes, NULL, tree, &length, &exact) ==
              HS_OK);
        CHECK(is_tree(p, volumes, axes, tree, length));
        CHECK(hs_partition_cuboids(p, volumes, faces, axes, NULL, 0, 0, NULL, tree, &length,
                                   &found) == HS_OK);
        CHECK(is_tree(p, volumes, axes, tree, length));
        CHECK(hs_partition_cuboids(p, volumes, faces, axes, NULL, 30, 1, NULL, tree, &length,
                                   &searched) == HS_OK);
        CHECK(is_tree(p, volumes, axes, tree, length));
        CHECK(exact <= found * (1 + 1e-12) && exact <= searched * (1 + 1e-12));
        CHECK(found <= exact * 1.1 && searched <= exact * 1.05 && searched <= found * (1 + 1e-3));
    }
}

static void many_and_far_apart(void)
{
    double volumes[MAX], cost;
    double bound = 0;
    double total = 0;
    int32_t tree[2 * MAX], again[2 * MAX], length;
    for (int32_t i = 0; i < MAX; i++) total += volumes[i] = 1 + check_random(100);
    for (int32_t i = 0; i < MAX; i++) bound += 3 * pow(volumes[i] / total, 2.0 / 3);
    CHECK(hs_partition_cuboids(MAX, volumes, ones, 7, NULL, 50, 0, NULL, tree, &length, &cost) ==
          HS_OK);
    CHECK(is_tree(MAX, volumes, 7, tree, length) && cost >= bound && cost < 1.02 * bound);
    CHECK(hs_partition_cuboids(MAX, volumes, ones, 7, NULL, 50, 0, NULL, again, &length, &cost) ==
          HS_OK);
    CHECK(memcmp(tree, again, (size_t)length * sizeof *tree) == 0);

    const double extremes[] = {DBL_MAX / 200, 1, DBL_MIN, DBL_TRUE_MIN, 1e-200, 1e200};
    for (int round = 0; round < CHECK_MANY(20, 3); round++) {
        for (int32_t i = 0; i < MAX; i++) volumes[i] = extremes[check_random(6)];
        double faces[3];
        for (int q = 0; q < 3; q++) faces[q] = extremes[1 + check_random(5)];
        int32_t p = round % 2 ? MAX : 12;
        CHECK(hs_partition_cuboids(p, volumes, faces, 7, NULL, 2, 0, NULL, tree, &length, &cost) ==
              HS_OK);
        CHECK(is_tree(p, volumes, 7, tree, length) && !isnan(cost));
        CHECK(hs_partition_cuboids_exact(6, volumes, faces, 7, NULL, tree, &length, &cost) ==
              HS_OK);
        CHECK(is_tree(6, volumes, 7, tree, length) && !isnan(cost));
    }
}

/* Layers in the caller's order; an invalid order is refused. */
static void orders(void)
{
    const double volumes[] = {4, 0, 1, 2};
    const int32_t order[] = {3, 0, 2};
    const int32_t wanted[] = {3, 0, -3, 2, -3};
    int32_t tree[7], length;
    double cost;
    CHECK(hs_partition_cuboids(4, volumes, ones, 4, order, 0, 0, NULL, tree, &length, &cost) ==
          HS_OK);
    CHECK(length == 5 && memcmp(tree, wanted, sizeof wanted) == 0);
    const int32_t bad[][3] = {{3, 0, 0}, {3, 0, 1}, {3, 0, 4}, {-1, 0, 2}};
    for (int i = 0; i < 4; i++)
        CHECK(hs_partition_cuboids(4, volumes, ones, 7, bad[i], 0, 0, NULL, tree, &length, &cost) ==
              HS_ERROR_VALUE);
    CHECK(length == 5 && memcmp(tree, wanted, sizeof wanted) == 0);
}

/* More workers than the DP takes, a dominant one first: the remaining workers fill a slab of the
 * right width. */
static void halves_are_unequal(void)
{
    double volumes[MAX], ascending, cost;
    int32_t order[MAX], tree[2 * MAX], length;
    for (int32_t i = 0; i < MAX; i++) {
        volumes[i] = 1 + i % 7;
        order[i] = i;
    }
    volumes[0] = 4000;
    CHECK(hs_partition_cuboids(MAX, volumes, ones, 7, NULL, 0, 0, NULL, tree, &length,
                               &ascending) == HS_OK);
    CHECK(hs_partition_cuboids(MAX, volumes, ones, 7, order, 0, 0, NULL, tree, &length, &cost) ==
          HS_OK);
    CHECK(is_tree(MAX, volumes, 7, tree, length) && cost < ascending * 1.03);
}

static void check_refused(int32_t p, const double *volumes, const double *faces, int32_t axes,
                          int32_t tries, int line)
{
    int32_t tree[2 * MAX];
    int32_t length = -7;
    double cost = -7;
    tree[0] = -7;
    hs_status status =
        hs_partition_cuboids(p, volumes, faces, axes, NULL, tries, 0, NULL, tree, &length, &cost);
    check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    if (tries >= 0) {
        status = hs_partition_cuboids_exact(p, volumes, faces, axes, NULL, tree, &length, &cost);
        check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    }
    check_that(tree[0] == -7 && length == -7 && cost == -7, "outputs untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2};
    check_refused(0, good, ones, 7, 0, __LINE__);
    check_refused(-1, good, ones, 7, 0, __LINE__);
    check_refused(2, good, ones, 0, 0, __LINE__);
    check_refused(2, good, ones, 8, 0, __LINE__);
    check_refused(2, good, ones, -1, 0, __LINE__);
    check_refused(2, good, ones, 7, -1, __LINE__);
    check_refused(2, (const double[]){0, 0}, ones, 7, 0, __LINE__);
    check_refused(2, (const double[]){1, -1}, ones, 7, 0, __LINE__);
    check_refused(2, (const double[]){1, NAN}, ones, 7, 0, __LINE__);
    check_refused(2, (const double[]){1, INFINITY}, ones, 7, 0, __LINE__);
    check_refused(2, (const double[]){DBL_MAX, DBL_MAX}, ones, 7, 0, __LINE__);
    check_refused(2, good, (const double[]){0, 0, 0}, 7, 0, __LINE__);
    check_refused(2, good, (const double[]){1, -1, 1}, 7, 0, __LINE__);
    check_refused(2, good, (const double[]){1, 1, NAN}, 7, 0, __LINE__);
    check_refused(2, good, (const double[]){INFINITY, 1, 1}, 7, 0, __LINE__);

    double many[MAX];
    double cost = -7;
    int32_t tree[2 * MAX], length;
    for (int32_t i = 0; i < MAX; i++) many[i] = i < HS_CUBOIDS_EXACT;
    CHECK(hs_partition_cuboids_exact(MAX, many, ones, 3, NULL, tree, &length, &cost) == HS_OK);
    cost = -7;
    many[MAX - 1] = 1;
    CHECK(hs_partition_cuboids_exact(MAX, many, ones, 3, NULL, tree, &length, &cost) ==
              HS_ERROR_VALUE &&
          cost == -7);
}

static void scarce(void)
{
    double volumes[80];
    double cost = -7;
    int32_t tree[160];
    int32_t length = -7;
    for (int i = 0; i < 80; i++) volumes[i] = 1 + i % 5;
    CHECK_SCARCE(hs_partition_cuboids(5, volumes, ones, 7, NULL, 2, 0, NULL, tree, &length, &cost),
                 length == -7 && cost == -7);
    length = -7;
    cost = -7;
    /* solved in halves */
    CHECK_SCARCE(hs_partition_cuboids(80, volumes, ones, 7, NULL, 0, 0, NULL, tree, &length, &cost),
                 length == -7 && cost == -7);
    length = -7;
    cost = -7;
    CHECK_SCARCE(hs_partition_cuboids_exact(4, volumes, ones, 7, NULL, tree, &length, &cost),
                 length == -7 && cost == -7);
}

int main(void)
{
    scarce();
    known_costs();
    every_tree();
    close_to_the_bound();
    random_volumes();
    many_and_far_apart();
    orders();
    halves_are_unequal();
    refusals();
    return check_result();
}
