/* Planners on a thread with a small stack: musl gives 128 KiB, of which a caller may have used
 * some. Built without sanitizers, because their frames are several times as large. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"

enum { STACK = 32 * 1024 };
enum { MANY = 1000, DEEP = 6000, SIDE = 8 };

static double areas[DEEP + 1];
static int32_t plan[2 * DEEP + 1];

/* As many nested operators as there are workers: alternating cuts of both kinds, with an L in
 * between. */
static void deep_floorplan(int kinds)
{
    static const int32_t ops[] = {HS_ABOVE, HS_BESIDE, HS_AROUND};
    static int32_t workers[2 * DEEP + 2];
    static int64_t rects[8 * (DEEP + 1)];
    int32_t length = 0;
    int32_t pieces = 0;
    plan[length++] = 0;
    for (int32_t i = 1; i <= DEEP; i++) {
        plan[length++] = i;
        plan[length++] = ops[i % kinds];
    }
    CHECK(hs_floorplan_tile(SIDE, SIDE, DEEP + 1, areas, plan, length, NULL, workers, rects,
                            &pieces) == HS_OK);
    int64_t cells = 0;
    for (int32_t k = 0; k < pieces; k++) cells += rects[4 * k + 2] * rects[4 * k + 3];
    CHECK(cells == SIDE * SIDE);
}

/* Each worker is smaller than all workers after it together, so every cut of the best floorplan
 * takes off one worker. */
static void chains(void)
{
    static double steep[MANY];
    static int32_t tree[2 * MANY];
    int32_t length;
    uint64_t state = 1;
    double cost;
    for (int32_t i = 0; i < MANY; i++) steep[i] = 1.0 / (1 + i) / (1 + i);
    CHECK(hs_partition_interval(100, steep, NULL, 1.0, NULL, NULL, 0.0, 0, NULL, tree, &length,
                                &cost) == HS_OK &&
          length == 199);
    CHECK(hs_partition_search(100, steep, NULL, 1.0, 1000, 0.01, NULL, tree, length, &state,
                              &cost) == HS_OK);
    CHECK(hs_partition_rule(HS_RULE_SNRPP, MANY, steep, 1.0, NULL, tree, &length, &cost) == HS_OK &&
          length == 2 * MANY - 1);
    CHECK(hs_partition_largest(60, steep, NULL, 1.0, NULL, NULL, tree, &length, &cost) == HS_OK &&
          length == 119);
    CHECK(hs_partition_largest(7, steep, NULL, 1.0, NULL, NULL, tree, &length, &cost) == HS_OK &&
          length == 13);
    CHECK(hs_partition_nonrectangular(100, steep, NULL, 1.0, NULL, NULL, tree, &length, &cost) ==
              HS_OK &&
          length == 199);
    CHECK(hs_partition_guillotine(8, steep, NULL, 1.0, 1, NULL, tree, &length, &cost) == HS_OK);
    CHECK(hs_partition_cuboids(MANY, steep, (const double[]){1, 1, 1}, 7, NULL, 0, 0, NULL, tree,
                               &length, &cost) == HS_OK);
    CHECK(hs_partition_cuboids(30, steep, (const double[]){1, 1, 1}, 7, NULL, 20, 1, NULL, tree,
                               &length, &cost) == HS_OK);
    CHECK(hs_partition_cuboids_exact(10, steep, (const double[]){1, 1, 1}, 7, NULL, tree, &length,
                                     &cost) == HS_OK &&
          length == 19);
}

enum { WORKERS = 30 };
static double times[WORKERS], costs[WORKERS], links[WORKERS * WORKERS], shares[WORKERS],
    loads[WORKERS];
static int32_t order[WORKERS], back[WORKERS], owner[WORKERS * WORKERS];
static int64_t counts[WORKERS], sides[WORKERS], memory[WORKERS];

static void dealing(void)
{
    static double profile[WORKERS * (WORKERS + 1)];
    static int64_t zones[4 * WORKERS];
    double makespan;
    hs_profile_method found;
    hs_certificate proof;
    for (int32_t k = 0; k < WORKERS * (WORKERS + 1); k++) profile[k] = 1.0 + k % (WORKERS + 1);
    CHECK(hs_distribute(1000000, WORKERS, times, NULL, counts, &makespan) == HS_OK);
    CHECK(hs_distribute_profile(WORKERS, WORKERS, profile, NULL, counts, &makespan) == HS_OK);
    CHECK(hs_partition_profile(5, 6, WORKERS, profile, HS_PROFILE_COLUMNS, NULL, NULL, &found,
                               zones, &proof) == HS_OK);
    CHECK(hs_partition_profile(5, 6, 6, profile, HS_PROFILE_GUILLOTINE, NULL, NULL, &found, zones,
                               &proof) == HS_OK);
    CHECK(hs_distribute_prefix(WORKERS, WORKERS, times, NULL, owner, NULL) == HS_OK);
    CHECK(hs_factor_simulate(HS_LU, 100, 100, 5, WORKERS, times, owner, 0, NULL, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_OK);
    CHECK(hs_lu_grid_deal(WORKERS, 2, times, (const int32_t[]){0, 1, HS_BESIDE}, 3, NULL, owner) ==
          HS_OK);
    CHECK(hs_lu_grid_evaluate(WORKERS, WORKERS, times, owner, NULL, loads, NULL, NULL) == HS_OK);
    int32_t period, again;
    CHECK(hs_wavefront_panels(40, WORKERS, WORKERS, times, 0, 1, HS_ROW_WISE, NULL, owner, &period,
                              &again, &makespan) == HS_OK);
}

static void assigning(void)
{
    static double prices[2][WORKERS];
    static int64_t weights[10 * 10 * 10], total;
    int optimal;
    double makespan;
    int32_t enrolled;
    CHECK(hs_assign(WORKERS, WORKERS, links, WORKERS, 0, NULL, owner, prices[0], prices[1]) ==
          HS_OK);
    CHECK(hs_assign_axial(10, weights, NULL, order, back, &total) == HS_OK);
    CHECK(hs_task_links(100.0, 8, times, costs, costs, 1000, 1, NULL, &enrolled, order, back,
                        &optimal) == HS_OK &&
          optimal);
    CHECK(hs_task_links(100.0, WORKERS, times, costs, costs, 1000, 1, NULL, &enrolled, order, back,
                        &optimal) == HS_OK);
    for (int32_t i = 0; i < WORKERS; i++) order[i] = back[i] = i;
    CHECK(hs_divisible_orders(5, times, costs, costs, 1000, 1, 0.0, NULL, order, back, shares,
                              &makespan, &optimal) == HS_OK);
    for (int32_t i = 0; i < WORKERS; i++) order[i] = back[i] = i;
    CHECK(hs_divisible_orders(WORKERS, times, costs, costs, 100, 1, 0.0, NULL, order, back, shares,
                              &makespan, &optimal) == HS_OK);
    hs_certificate proof;
    const hs_effort brief = {.timed = 1, .seconds = 0.0};
    const hs_task_workers workers = {WORKERS, times, costs, costs, 0, 0};
    hs_task_plan dealt = {.counts = counts, .send_order = order, .receive_order = back};
    CHECK(hs_max_tasks(&workers, 100.0, HS_TASKS_BEST, &brief, NULL, &dealt, &proof) == HS_OK);
    const hs_task_workers few = {5, times, costs, costs, 0, 0};
    CHECK(hs_min_time(&few, 9, NULL, NULL, &dealt, &proof) == HS_OK);
    CHECK(hs_task_end(&few, dealt.served, order, back, counts, &makespan) == HS_OK);
    const hs_divisible_load load = {1.0, WORKERS, times, costs, costs};
    hs_divisible_plan divided = {.shares = shares, .send_order = order, .receive_order = back};
    CHECK(hs_divisible_best(&load, HS_DIVISIBLE_BEST, &brief, NULL, &divided, &proof) == HS_OK);
}

static void rings(void)
{
    const hs_ring ring = {
        .p = WORKERS, .cycle_times = times, .links = links, .work = 100.0, .volume = 1.0};
    hs_ring small = ring;
    small.p = 12;
    uint64_t state = 1;
    int32_t size;
    double makespan;
    CHECK(hs_ring_greedy(&ring, -1, NULL, order, &size, &makespan) == HS_OK);
    CHECK(hs_ring_search(&ring, 20, NULL, order, &size, &state, &makespan) == HS_OK);
    CHECK(hs_ring_bound(&ring, makespan, 20, NULL, &makespan) == HS_OK);
    CHECK(hs_ring_exact(&small, NULL, order, &size, &makespan) == HS_OK);
}

static void stars(void)
{
    static hs_star_share plan_shares[WORKERS];
    static hs_star_chunk chunks[1000];
    static int32_t served[10000];
    const hs_star star = {20, 60, 9, WORKERS, times, costs, memory};
    const hs_star small = {3, 4, 2, 2, times, costs, memory};
    hs_star_summary summary;
    int32_t by_rows, way;
    int64_t count, length;
    double makespan, bounds[HS_STAR_BOUNDS];
    for (int32_t method = HS_STAR_HOM; method <= HS_STAR_OVERLAP; method++)
        CHECK(hs_star_plan(&star, method, HS_STAR_ALL, 1, NULL, &summary, sides, counts, NULL,
                           NULL) == HS_OK);
    CHECK(hs_star_search(&star, 0, 1, 20000, NULL, &by_rows, plan_shares, &way, &makespan) ==
          HS_OK);
    CHECK(hs_star_exact(&small, 1000000, INFINITY, NULL, &count, chunks, &length, served,
                        &makespan) == HS_OK);
    CHECK(hs_star_bounds(&star, HS_STAR_DOUBLE, NULL, bounds) == HS_OK);
    const hs_layers layers = {HS_SCSS, 10, 100, times, costs, NULL};
    int optimal;
    CHECK(hs_layers_best(&layers, 10000, NULL, order, counts, &optimal) == HS_OK);
    CHECK(hs_layers_paper(&layers, NULL, NULL, counts) == HS_OK);
    static double receive[2 * WORKERS], compute[2 * WORKERS], cuboids[6 * 12];
    static int64_t traffic[10], received[WORKERS];
    const hs_layers_product product = {HS_SCSS, 10, 100, times, costs, NULL, 0};
    const hs_cuboids cube = {12, times, 1, 1, 1, 0, 0, 0};
    const hs_lu_grid grid = {10, 8, times, 1};
    hs_layers_result found = {counts, order, 0, receive, compute, shares, 0};
    hs_lu_grid_result map = {owner, receive, compute, traffic, received, 0};
    hs_lu_grid_method kind;
    hs_cuboids_method cuts;
    hs_certificate c;
    CHECK(hs_layers_plan(&product, HS_LAYERS_BEST, NULL, &found, &c) == HS_OK);
    CHECK(hs_cuboids_best(&cube, HS_CUBOIDS_BEST, 3, NULL, NULL, &cuts, cuboids, NULL, &c) ==
          HS_OK);
    CHECK(hs_lu_grid_best(&grid, HS_LU_GRID_BEST, NULL, &kind, &map, &c) == HS_OK);
}

static void *everything(void *unused)
{
    for (int32_t i = 0; i <= DEEP; i++) areas[i] = 1.0 + i % 3;
    for (int32_t i = 0; i < WORKERS; i++) {
        times[i] = 1.0 + i % 7;
        costs[i] = 0.1 * (1.0 + i % 5);
        memory[i] = 20 + i % 9;
    }
    for (int32_t k = 0; k < WORKERS * WORKERS; k++) links[k] = 1.0 + k % 11;
    deep_floorplan(2);
    deep_floorplan(3);
    chains();
    dealing();
    assigning();
    rings();
    stars();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t small;
    if (CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, STACK) &&
              !pthread_create(&thread, &small, everything, NULL)))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    return check_result();
}
