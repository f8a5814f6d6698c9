/* hs_partition_cuboids and hs_partition_cuboids_exact: known costs, every tree of three workers, agreement of the two,
 * orders, the cuts allowed, every refusal. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"

enum { MAX = 100 };
static const double ones[] = {1, 1, 1};

static int near(double x, double y)
{
    return fabs(x - y) <= 1e-12 * fabs(y);
}

/* 1 if the tree is postfix, has the workers with volume once each, and cuts along the axes only. */
static int is_tree(int32_t p, const double *volumes, int32_t axes, const int32_t *tree, int32_t length)
{
    int seen[MAX] = {0}, waiting = 0;
    for (int32_t t = 0; t < length; t++) {
        if (tree[t] >= p || tree[t] < -3) return 0;
        if (tree[t] >= 0) seen[tree[t]]++, waiting++;
        else if (!(axes >> (-1 - tree[t]) & 1) || waiting-- < 2) return 0;
    }
    for (int32_t i = 0; i < p; i++)
        if (seen[i] != (volumes[i] > 0)) return 0;
    return waiting == 1;
}

static void known_costs(void)
{
    const double equal[] = {3, 3, 3, 3, 3, 3, 3, 3}, faces[] = {2, 3, 5};
    int32_t tree[2 * MAX], length;
    double cost;
    for (int exact = 0; exact < 2; exact++) {
        CHECK((exact ? hs_partition_cuboids_exact(8, equal, ones, 7, tree, &length, &cost)
                     : hs_partition_cuboids(8, equal, ones, 7, NULL, 0, 0, tree, &length, &cost)) == HS_OK);
        CHECK(length == 15 && near(cost, 6) && is_tree(8, equal, 7, tree, length));
        CHECK((exact ? hs_partition_cuboids_exact(1, equal, faces, 7, tree, &length, &cost)
                     : hs_partition_cuboids(1, equal, faces, 7, NULL, 3, 0, tree, &length, &cost)) == HS_OK);
        CHECK(length == 1 && tree[0] == 0 && cost == 10);
        for (int32_t axes = 1; axes < 8; axes++) { /* two workers: one cut, across the cheapest face allowed */
            const double across[] = {3, 2, 5};
            double least = INFINITY;
            for (int q = 0; q < 3; q++)
                if (axes >> q & 1) least = fmin(least, across[q]);
            CHECK((exact ? hs_partition_cuboids_exact(2, equal, faces, axes, tree, &length, &cost)
                         : hs_partition_cuboids(2, equal, faces, axes, NULL, 3, 0, tree, &length, &cost)) == HS_OK);
            CHECK(near(cost, 10 + least) && is_tree(2, equal, axes, tree, length));
        }
        for (int32_t q = 0; q < 3; q++) { /* one axis: slices; a face that costs nothing: slices too, as many as you like */
            const double across[] = {3, 2, 5};
            CHECK((exact ? hs_partition_cuboids_exact(8, equal, faces, 1 << q, tree, &length, &cost)
                         : hs_partition_cuboids(8, equal, faces, 1 << q, NULL, 3, 0, tree, &length, &cost)) == HS_OK);
            CHECK(near(cost, 10 + 7 * across[q]) && is_tree(8, equal, 1 << q, tree, length));
            double without[] = {2, 3, 5};
            without[q == 2 ? 2 : 1 - q] = 0;
            CHECK((exact ? hs_partition_cuboids_exact(8, equal, without, 7, tree, &length, &cost)
                         : hs_partition_cuboids(8, equal, without, 7, NULL, 3, 0, tree, &length, &cost)) == HS_OK);
            CHECK(near(cost, 10 - across[q]) && is_tree(8, equal, 1 << q, tree, length));
        }
    }
}

/* Three workers: the first cut splits one off, the second cuts the other two, each along any axis. */
static void every_tree_of_three(void)
{
    for (int round = 0; round < 300; round++) {
        double volumes[3], faces[3], across[3], total = 0, least = INFINITY, cost;
        int32_t tree[5], length;
        for (int i = 0; i < 3; i++) {
            total += volumes[i] = pow(2, (int)check_random(17) - 8.0);
            faces[i] = pow(2, (int)check_random(9) - 4.0);
        }
        across[0] = faces[1], across[1] = faces[0], across[2] = faces[2];
        for (int alone = 0; alone < 3; alone++)
            for (int q = 0; q < 3; q++)
                for (int r = 0; r < 3; r++) {
                    double share = r == q ? 1 : 1 - volumes[alone] / total; /* of face r that the second cut crosses */
                    least = fmin(least, faces[0] + faces[1] + faces[2] + across[q] + across[r] * share);
                }
        CHECK(hs_partition_cuboids_exact(3, volumes, faces, 7, tree, &length, &cost) == HS_OK);
        CHECK(near(cost, least) && is_tree(3, volumes, 7, tree, length));
        CHECK(hs_partition_cuboids(3, volumes, faces, 7, NULL, 0, 0, tree, &length, &cost) == HS_OK);
        CHECK(near(cost, least) && is_tree(3, volumes, 7, tree, length));
    }
}

static void random_volumes(void)
{
    for (int round = 0; round < 60; round++) {
        double volumes[MAX], faces[3], exact, found, searched;
        int32_t tree[2 * MAX], length, p = 1 + (int32_t)check_random(10), axes = 1 + (int32_t)check_random(7);
        for (int32_t i = 0; i < p; i++)
            volumes[i] = round % 3 == 0 ? 1 : round % 3 == 1 ? check_random(5) : pow(10, (int)check_random(9) - 4);
        for (int q = 0; q < 3; q++) faces[q] = round % 2 ? 1 : pow(2, (int)check_random(7) - 3.0);
        volumes[check_random((unsigned)p)] = 1;
        CHECK(hs_partition_cuboids_exact(p, volumes, faces, axes, tree, &length, &exact) == HS_OK);
        CHECK(is_tree(p, volumes, axes, tree, length));
        CHECK(hs_partition_cuboids(p, volumes, faces, axes, NULL, 0, 0, tree, &length, &found) == HS_OK);
        CHECK(is_tree(p, volumes, axes, tree, length));
        CHECK(hs_partition_cuboids(p, volumes, faces, axes, NULL, 30, 1, tree, &length, &searched) == HS_OK);
        CHECK(is_tree(p, volumes, axes, tree, length));
        CHECK(exact <= found * (1 + 1e-12) && exact <= searched * (1 + 1e-12));
        CHECK(found <= exact * 1.1 && searched <= exact * 1.1);
    }
}

static void many_and_far_apart(void)
{
    double volumes[MAX], cost, bound = 0, total = 0;
    int32_t tree[2 * MAX], again[2 * MAX], length;
    for (int32_t i = 0; i < MAX; i++) total += volumes[i] = 1 + check_random(100);
    for (int32_t i = 0; i < MAX; i++) bound += 3 * pow(volumes[i] / total, 2.0 / 3);
    CHECK(hs_partition_cuboids(MAX, volumes, ones, 7, NULL, 50, 0, tree, &length, &cost) == HS_OK);
    CHECK(is_tree(MAX, volumes, 7, tree, length) && cost >= bound && cost < 1.02 * bound);
    CHECK(hs_partition_cuboids(MAX, volumes, ones, 7, NULL, 50, 0, again, &length, &cost) == HS_OK);
    CHECK(memcmp(tree, again, (size_t)length * sizeof *tree) == 0);

    const double extremes[] = {DBL_MAX / 200, 1, DBL_MIN, DBL_TRUE_MIN, 1e-200, 1e200};
    for (int round = 0; round < 20; round++) {
        for (int32_t i = 0; i < MAX; i++) volumes[i] = extremes[check_random(6)];
        double faces[3];
        for (int q = 0; q < 3; q++) faces[q] = extremes[1 + check_random(5)];
        int32_t p = round % 2 ? MAX : 12;
        CHECK(hs_partition_cuboids(p, volumes, faces, 7, NULL, 2, 0, tree, &length, &cost) == HS_OK);
        CHECK(is_tree(p, volumes, 7, tree, length) && !isnan(cost));
        CHECK(hs_partition_cuboids_exact(6, volumes, faces, 7, tree, &length, &cost) == HS_OK);
        CHECK(is_tree(6, volumes, 7, tree, length) && !isnan(cost));
    }
}

/* Layers in the caller's order; an order that is none is refused. */
static void orders(void)
{
    const double volumes[] = {4, 0, 1, 2};
    const int32_t order[] = {3, 0, 2}, wanted[] = {3, 0, -3, 2, -3};
    int32_t tree[7], length;
    double cost;
    CHECK(hs_partition_cuboids(4, volumes, ones, 4, order, 0, 0, tree, &length, &cost) == HS_OK);
    CHECK(length == 5 && memcmp(tree, wanted, sizeof wanted) == 0);
    const int32_t bad[][3] = {{3, 0, 0}, {3, 0, 1}, {3, 0, 4}, {-1, 0, 2}};
    for (int i = 0; i < 4; i++)
        CHECK(hs_partition_cuboids(4, volumes, ones, 7, bad[i], 0, 0, tree, &length, &cost) == HS_ERROR_VALUE);
    CHECK(length == 5 && memcmp(tree, wanted, sizeof wanted) == 0);
}

static void refused(int32_t p, const double *volumes, const double *faces, int32_t axes, int32_t tries, int line)
{
    int32_t tree[2 * MAX], length = -7;
    double cost = -7;
    tree[0] = -7;
    hs_status status = hs_partition_cuboids(p, volumes, faces, axes, NULL, tries, 0, tree, &length, &cost);
    check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    if (tries >= 0) {
        status = hs_partition_cuboids_exact(p, volumes, faces, axes, tree, &length, &cost);
        check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    }
    check_that(tree[0] == -7 && length == -7 && cost == -7, "outputs untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2};
    refused(0, good, ones, 7, 0, __LINE__);
    refused(-1, good, ones, 7, 0, __LINE__);
    refused(2, good, ones, 0, 0, __LINE__);
    refused(2, good, ones, 8, 0, __LINE__);
    refused(2, good, ones, -1, 0, __LINE__);
    refused(2, good, ones, 7, -1, __LINE__);
    refused(2, (const double[]){0, 0}, ones, 7, 0, __LINE__);
    refused(2, (const double[]){1, -1}, ones, 7, 0, __LINE__);
    refused(2, (const double[]){1, NAN}, ones, 7, 0, __LINE__);
    refused(2, (const double[]){1, INFINITY}, ones, 7, 0, __LINE__);
    refused(2, (const double[]){DBL_MAX, DBL_MAX}, ones, 7, 0, __LINE__);
    refused(2, good, (const double[]){0, 0, 0}, 7, 0, __LINE__);
    refused(2, good, (const double[]){1, -1, 1}, 7, 0, __LINE__);
    refused(2, good, (const double[]){1, 1, NAN}, 7, 0, __LINE__);
    refused(2, good, (const double[]){INFINITY, 1, 1}, 7, 0, __LINE__);

    double many[MAX], cost = -7;
    int32_t tree[2 * MAX], length;
    for (int32_t i = 0; i < MAX; i++) many[i] = i < HS_CUBOIDS_EXACT;
    CHECK(hs_partition_cuboids_exact(MAX, many, ones, 3, tree, &length, &cost) == HS_OK);
    cost = -7, many[MAX - 1] = 1;
    CHECK(hs_partition_cuboids_exact(MAX, many, ones, 3, tree, &length, &cost) == HS_ERROR_VALUE && cost == -7);
}

int main(void)
{
    known_costs();
    every_tree_of_three();
    random_volumes();
    many_and_far_apart();
    orders();
    refusals();
    return check_result();
}
