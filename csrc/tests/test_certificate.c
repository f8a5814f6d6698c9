/* Certificates of plans with a known optimum and of plans made by hand. The bounds of Python are
 * compared in tests/planners/test_certificates.py. */
#include <math.h>
#include <string.h>

#include "scarce.h"

static int is_near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

static void test_of_numbers(void)
{
    hs_certificate c;
    CHECK(hs_certificate_of("makespan", HS_MINIMISED, 5.0, 4.0, &c) == HS_OK);
    CHECK(c.scope[0] == '\0');
    CHECK(!strcmp(c.objective, "makespan") && c.sense == HS_MINIMISED && c.value == 5.0 &&
          c.bound == 4.0 && c.gap == 0.25 && !c.optimal);
    CHECK(hs_certificate_of("tasks", HS_MAXIMISED, 8.0, 10.0, &c) == HS_OK);
    CHECK(c.sense == HS_MAXIMISED && c.value == 8.0 && c.bound == 10.0 && is_near(c.gap, 0.2) &&
          !c.optimal);
    CHECK(hs_certificate_of("cost", HS_MINIMISED, 4.0, 4.0 + 1e-15, &c) == HS_OK &&
          c.bound == 4.0 && c.gap == 0.0 && c.optimal);
    CHECK(hs_certificate_of("tasks", HS_MAXIMISED, 4.0, 3.0, &c) == HS_OK && c.bound == 4.0 &&
          c.gap == 0.0 && c.optimal);
    CHECK(hs_certificate_of("cost", HS_MINIMISED, 4.0, INFINITY, &c) == HS_OK && c.bound == 4.0 &&
          c.optimal);
    CHECK(hs_certificate_of("cost", HS_MINIMISED, 0.0, 0.0, &c) == HS_OK && c.gap == 0.0 &&
          c.optimal);
    CHECK(hs_certificate_of("cost", HS_MINIMISED, 1.0, 0.0, &c) == HS_OK && isinf(c.gap) &&
          !c.optimal);
    CHECK(hs_certificate_of("cost", HS_MINIMISED, 1.0 + 1e-13, 1.0, &c) == HS_OK && c.optimal &&
          c.gap > 0.0);
    CHECK(hs_certificate_of("cost", HS_MINIMISED, 1.0 + 1e-11, 1.0, &c) == HS_OK && !c.optimal);
    const double bad[] = {-1.0, NAN, INFINITY};
    const hs_certificate before = c;
    for (int k = 0; k < 3; k++) {
        CHECK(hs_certificate_of("cost", HS_MINIMISED, bad[k], 0.0, &c) == HS_ERROR_VALUE);
        if (k < 2)
            CHECK(hs_certificate_of("cost", HS_MINIMISED, 1.0, bad[k], &c) == HS_ERROR_VALUE);
    }
    CHECK(hs_certificate_of("cost", 2, 1.0, 1.0, &c) == HS_ERROR_VALUE &&
          hs_certificate_of("cost", -1, 1.0, 1.0, &c) == HS_ERROR_VALUE);
    CHECK(memcmp(&c, &before, sizeof c) == 0);
}

static void test_counts(void)
{
    const double times[] = {3, 5, 8, INFINITY};
    int64_t counts[4];
    hs_certificate c;
    CHECK(hs_distribute(78, 4, times, NULL, counts, NULL) == HS_OK);
    CHECK(hs_distribute_certificate(78, 4, times, counts, NULL, &c) == HS_OK && c.optimal &&
          c.value == c.bound && c.gap == 0.0);
    const double least = c.value;
    CHECK(hs_distribute_certificate(78, 4, times, (const int64_t[]){26, 26, 26, 0}, NULL, &c) ==
          HS_OK);
    CHECK(c.value == 26 * 8 && c.bound == least && is_near(c.gap, 26 * 8 / least - 1.0) &&
          !c.optimal);
    const int64_t bad[][4] = {{26, 26, 25, 0}, {26, 26, 27, 0}, {-1, 40, 39, 0},
                              {40, 39, -1, 0}, {26, 26, 25, 1}, {INT64_MAX, 1, 1, 0}};
    for (int k = 0; k < 6; k++)
        CHECK(hs_distribute_certificate(78, 4, times, bad[k], NULL, &c) == HS_ERROR_VALUE);
    CHECK(hs_distribute_certificate(78, 4, times, counts, &(int){1}, &c) == HS_ERROR_CANCELLED);
}

static void test_zones(void)
{
    hs_certificate c;
    const double halves[] = {1, 1, 0};
    const int32_t beside[] = {0, 1, HS_BESIDE};
    CHECK(hs_floorplan_certificate(3, halves, NULL, 1.0, (const int32_t[]){1, 0, HS_ABOVE}, 3,
                                   &c) == HS_OK &&
          c.optimal && is_near(c.value, 3.0));
    CHECK(hs_floorplan_certificate(3, halves, NULL, 4.0, beside, 3, &c) == HS_OK && c.optimal &&
          is_near(c.value, 3.0));
    CHECK(hs_floorplan_certificate(3, halves, NULL, 0.25, beside, 3, &c) == HS_OK && !c.optimal &&
          is_near(c.value, 4.5) && is_near(c.bound, 3.0));
    CHECK(hs_floorplan_certificate(3, halves, NULL, 0.0, beside, 3, &c) == HS_ERROR_VALUE);
    CHECK(hs_floorplan_certificate(3, halves, NULL, 1.0, beside, 2, &c) == HS_ERROR_VALUE);
    CHECK(hs_floorplan_certificate(3, (const double[]){0, 0, 0}, NULL, 1.0, beside, 3, &c) ==
          HS_ERROR_VALUE);

    const int32_t workers[] = {0, 0, 1, 2, 3};
    /* one worker has two pieces */
    const int64_t quarters[] = {0, 0, 2, 4, 2, 0, 2, 4, 0, 4, 4, 4, 4, 0, 4, 4, 4, 4, 4, 4};
    CHECK(hs_zones_certificate(8, 8, 4, NULL, 5, workers, quarters, &c) == HS_OK &&
          c.value == 32.0 && c.optimal);
    CHECK(hs_zones_certificate(8, 8, 4, (const double[]){2, 1, 1, 1}, 5, workers, quarters, &c) ==
              HS_OK &&
          c.value == 40.0 && c.optimal);
    const int64_t slices[] = {0, 0, 8, 2, 0, 2, 8, 1, 0, 3, 8, 1, 0, 4, 8, 2, 0, 6, 8, 2};
    CHECK(hs_zones_certificate(8, 8, 4, NULL, 5, workers, slices, &c) == HS_OK && c.value == 40.0 &&
          !c.optimal && c.bound < 32.0);
    CHECK(hs_zones_certificate(8, 8, 3, NULL, 5, workers, quarters, &c) == HS_ERROR_VALUE);
    CHECK(hs_zones_certificate(8, 9, 4, NULL, 5, workers, quarters, &c) == HS_ERROR_VALUE);
    CHECK(hs_zones_certificate(7, 8, 4, NULL, 5, workers, quarters, &c) == HS_ERROR_VALUE);
    CHECK(hs_zones_certificate(8, 8, 4, NULL, 4, workers, quarters, &c) == HS_ERROR_VALUE);
    CHECK(hs_zones_certificate(8, 8, 4, (const double[]){1, 1, 0, 1}, 5, workers, quarters, &c) ==
          HS_ERROR_VALUE);
    /* An L around its corner: each projection counts once. */
    const int64_t corner[] = {0, 0, 1, 4, 1, 0, 3, 2, 1, 2, 3, 2};
    CHECK(hs_zones_certificate(4, 4, 2, NULL, 3, (const int32_t[]){0, 0, 1}, corner, &c) == HS_OK &&
          c.value == 8.0 + 5.0);
}

static void test_cuboids(void)
{
    hs_certificate c;
    const double even[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const double faces[] = {1, 1, 1};
    const int32_t cubes[] = {0, 1, -1, 2, 3, -1, -2, 4, 5, -1, 6, 7, -1, -2, -3};
    CHECK(hs_cuboids_certificate(8, even, faces, cubes, 15, &c) == HS_OK && is_near(c.value, 6.0) &&
          c.optimal);
    const int32_t slabs[] = {0, 1, -3, 2, -3, 3, -3, 4, -3, 5, -3, 6, -3, 7, -3};
    CHECK(hs_cuboids_certificate(8, even, faces, slabs, 15, &c) == HS_OK &&
          is_near(c.value, 8.0 + 2.0) && is_near(c.bound, 6.0) && !c.optimal);
    /* For so few workers the bound is the optimum, which is above the bound of each worker
     * alone. */
    const int32_t three[] = {0, 1, -1, 2, -2};
    double least;
    int32_t tree[5], length;
    CHECK(hs_partition_cuboids_exact(3, even, faces, 7, NULL, tree, &length, &least) == HS_OK);
    CHECK(hs_cuboids_certificate(3, even, faces, three, 5, &c) == HS_OK && is_near(c.bound, least));
    CHECK(hs_cuboids_certificate(3, even, faces, tree, length, &c) == HS_OK && c.optimal);
    CHECK(hs_cuboids_certificate(8, even, (const double[]){0, 0, 1}, slabs, 15, &c) == HS_OK &&
          is_near(c.value, 8.0));
    CHECK(hs_cuboids_certificate(8, even, (const double[]){1, 1, 0}, slabs, 15, &c) == HS_OK &&
          is_near(c.value, 2.0) && c.optimal);
    CHECK(hs_cuboids_certificate(3, even, faces, three, 3, &c) == HS_ERROR_VALUE);
    CHECK(hs_cuboids_certificate(3, even, (const double[]){0, 0, 0}, three, 5, &c) ==
          HS_ERROR_VALUE);
}

static void test_lu(void)
{
    hs_certificate c;
    const double one[] = {2.0};
    const double pair[] = {1.0, INFINITY};
    const int32_t alone[10] = {0};
    CHECK(hs_factor_certificate(HS_LU, 100, 100, 10, 1, one, alone, 0, NULL, NULL, &c) == HS_OK &&
          c.optimal && c.value > 0.0);
    CHECK(hs_factor_certificate(HS_LU, 100, 100, 10, 2, pair, alone, 0, NULL, NULL, &c) == HS_OK &&
          c.optimal);
    CHECK(hs_factor_certificate(HS_LU, 0, 0, 10, 1, one, NULL, 0, NULL, NULL, &c) == HS_OK &&
          c.value == 0.0 && c.optimal);
    const double panels[] = {5.0, 1.0};
    const double times[] = {1.0, 5.0};
    const hs_factor_costs costs = {.panels = panels};
    const int32_t second[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
    CHECK(hs_factor_certificate(HS_LU, 100, 100, 10, 2, times, second, 0, &costs, NULL, &c) ==
              HS_OK &&
          !c.optimal && c.bound > 0.0);
    CHECK(hs_factor_certificate(HS_LU, 100, 100, 10, 2, times, second, 0, &costs, &(int){1}, &c) ==
          HS_ERROR_CANCELLED);
    CHECK(hs_factor_certificate(HS_LU, 100, 100, 10, 2, times, (const int32_t[10]){2}, 0, NULL,
                                NULL, &c) == HS_ERROR_VALUE);

    const int32_t grid[] = {0, 0, 0, 0, 1, 1, 0, 1, 0};
    CHECK(hs_lu_grid_certificate(3, 2, (const double[]){1, 1}, 0, grid, NULL, &c) == HS_OK &&
          c.value == 3.0 + 1.0 && c.bound == 2.0 + 1.0);
    CHECK(hs_lu_grid_certificate(3, 1, (const double[]){1}, 0, (const int32_t[9]){0}, NULL, &c) ==
              HS_OK &&
          c.value == 5.0 && c.optimal);
    CHECK(hs_lu_grid_certificate(3, 1, (const double[]){1}, 0, grid, NULL, &c) == HS_ERROR_VALUE);
}

/* In the remaining cases the value is the result of the function that simulates, and the bound is
 * the result of the function that bounds. */
static void test_others(void)
{
    hs_certificate c;
    double value, bound, work[3][3];
    const double times[] = {1, 2, 4};
    const double links[9] = {0, .1, .2, .1, 0, .3, .2, .3, 0};
    const double sends[] = {.1, .2, .3};
    const int32_t order[] = {0, 1, 2};
    const int32_t owner[] = {0, 1, 0, 2, 0, 0};
    CHECK(hs_wavefront_certificate(20, 6, 3, times, owner, 0, HS_ROW_WISE, NULL, &c) == HS_OK);
    CHECK(hs_wavefront_makespan(20, 6, 3, times, owner, 0, HS_ROW_WISE, NULL, &value, NULL, NULL) ==
              HS_OK &&
          c.value == value);
    CHECK(hs_wavefront_bound(20, 6, 3, times, 0, NULL, &bound) == HS_OK && c.bound == bound);

    const hs_ring ring = {
        .p = 3, .cycle_times = times, .links = links, .work = 10.0, .volume = 1.0};
    CHECK(hs_ring_certificate(&ring, 3, order, NULL, NULL, &c) == HS_OK);
    CHECK(hs_ring_shares(&ring, 3, order, NULL, work[0], &value) == HS_OK && c.value == value &&
          c.bound <= value && c.bound > 0.0);
    CHECK(hs_ring_certificate(&ring, 3, (const int32_t[]){0, 1, 1}, NULL, NULL, &c) ==
          HS_ERROR_VALUE);

    const hs_layers layers = {
        .mode = HS_PCCS, .p = 3, .layers = 7, .compute = times, .send = sends};
    int64_t counts[3];
    int optimal;
    CHECK(hs_layers_exact(&layers, NULL, NULL, counts, &optimal) == HS_OK);
    CHECK(hs_layers_certificate(&layers, NULL, counts, NULL, &c) == HS_OK && c.optimal);
    CHECK(hs_layers_schedule(&layers, NULL, (const int64_t[]){0, 0, 7}, work[0], work[1], work[2],
                             &value) == HS_OK);
    CHECK(hs_layers_certificate(&layers, NULL, (const int64_t[]){0, 0, 7}, NULL, &c) == HS_OK &&
          c.value == value && !c.optimal);

    const hs_star star = {.r = 4,
                          .s = 5,
                          .t = 6,
                          .p = 3,
                          .cycle_times = times,
                          .link_costs = sends,
                          .memory = (const int64_t[]){21, 21, 21}};
    double bounds[HS_STAR_BOUNDS];
    CHECK(hs_star_bounds(&star, HS_STAR_DOUBLE, NULL, bounds) == HS_OK &&
          hs_star_certificate(&star, 1e3, NULL, &c) == HS_OK);
    CHECK(c.value == 1e3 &&
          c.bound == fmax(fmax(bounds[0], bounds[1]), fmax(bounds[2], bounds[HS_STAR_LOOMIS])));

    CHECK(hs_divisible_bound(3, times, sends, sends, NULL, &bound) == HS_OK);
    CHECK(hs_divisible_certificate(3, times, sends, sends, 2 * bound, NULL, &c) == HS_OK &&
          c.gap == 1.0 && c.bound == bound);
    CHECK(hs_divisible_certificate(3, times, sends, sends, NAN, NULL, &c) == HS_ERROR_VALUE);
}

static void test_scarce(void)
{
    hs_certificate c = {.value = -7};
    const double times[] = {1, 2, 4};
    const double ones[] = {1, 1, 1};
    const double links[9] = {0, .1, .1, .1, 0, .1, .1, .1, 0};
    const int64_t counts[] = {5, 0, 0};
    const int64_t rects[] = {0, 0, 4, 4};
    const int32_t owner[9] = {0};
    const int32_t plan[] = {0, 1, HS_ABOVE, 2, HS_BESIDE};
    const int32_t tree[] = {0, 1, -1, 2, -2};
    const int32_t order[] = {0, 1, 2};
    const hs_ring ring = {.p = 3, .cycle_times = times, .links = links, .work = 9, .volume = 1};
    const hs_layers layers = {.mode = HS_SCSS, .p = 3, .layers = 5, .compute = times, .send = ones};
    const hs_star star = {.r = 4,
                          .s = 4,
                          .t = 4,
                          .p = 3,
                          .cycle_times = times,
                          .link_costs = ones,
                          .memory = (const int64_t[]){9, 9, 9}};
    CHECK_SCARCE(hs_distribute_certificate(5, 3, times, counts, NULL, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_factor_certificate(HS_LU, 9, 9, 3, 3, times, owner, 0, NULL, NULL, &c),
                 c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_lu_grid_certificate(3, 3, times, 0.5, owner, NULL, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_wavefront_certificate(4, 5, 3, times, owner, 0, HS_ROW_WISE, NULL, &c),
                 c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_floorplan_certificate(3, times, NULL, 1.0, plan, 5, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_zones_certificate(4, 4, 1, NULL, 1, owner, rects, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_cuboids_certificate(3, times, ones, tree, 5, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_ring_certificate(&ring, 3, order, NULL, NULL, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_layers_certificate(&layers, NULL, counts, NULL, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_star_certificate(&star, 900, NULL, &c), c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_divisible_certificate(3, times, ones, ones, 900, NULL, &c), c.value == -7);
}

int main(void)
{
    test_of_numbers();
    test_counts();
    test_zones();
    test_cuboids();
    test_lu();
    test_others();
    test_scarce();
    return check_result();
}
