/* Planners on a thread with the stack of a small system's: musl gives 128 KiB. Sanitizers need more of it for themselves. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK = 512 * 1024 };
#else
enum { STACK = 64 * 1024 };
#endif
enum { MANY = 1000, DEEP = 6000, SIDE = 8 };

static double areas[DEEP + 1];
static int32_t plan[2 * DEEP + 1];

/* As many operators one inside the other as there are workers: cuts of both kinds in turns, and an L in between. */
static void deep_floorplan(int kinds)
{
    static const int32_t ops[] = {HS_ABOVE, HS_BESIDE, HS_AROUND};
    static int32_t workers[2 * DEEP + 2];
    static int64_t rects[8 * (DEEP + 1)];
    int32_t length = 0, pieces = 0;
    plan[length++] = 0;
    for (int32_t i = 1; i <= DEEP; i++) plan[length++] = i, plan[length++] = ops[i % kinds];
    CHECK(hs_floorplan_tile(SIDE, SIDE, DEEP + 1, areas, plan, length, NULL, workers, rects, &pieces) == HS_OK);
    int64_t cells = 0;
    for (int32_t k = 0; k < pieces; k++) cells += rects[4 * k + 2] * rects[4 * k + 3];
    CHECK(cells == SIDE * SIDE);
}

/* Workers of which each is less than all after it together: every cut of the best floorplan takes off one. */
static void chains(void)
{
    static double steep[MANY];
    static int32_t tree[2 * MANY];
    int32_t length;
    double cost;
    for (int32_t i = 0; i < MANY; i++) steep[i] = 1.0 / (1 + i) / (1 + i);
    CHECK(hs_partition_interval(100, steep, NULL, 1.0, NULL, NULL, 0.0, NULL, tree, &length, &cost) == HS_OK && length == 199);
    CHECK(hs_partition_largest(30, steep, NULL, 1.0, NULL, NULL, tree, &length, &cost) == HS_OK && length == 59);
    CHECK(hs_partition_largest(10, steep, NULL, 1.0, NULL, NULL, tree, &length, &cost) == HS_OK && length == 19);
    CHECK(hs_partition_nonrectangular(30, steep, NULL, 1.0, NULL, NULL, tree, &length, &cost) == HS_OK && length == 59);
    CHECK(hs_partition_guillotine(8, steep, NULL, 1.0, 1, NULL, tree, &length, &cost) == HS_OK);
    CHECK(hs_partition_cuboids(MANY, steep, (const double[]){1, 1, 1}, 7, NULL, 0, 0, NULL, tree, &length, &cost) == HS_OK);
    CHECK(hs_partition_cuboids(30, steep, (const double[]){1, 1, 1}, 7, NULL, 20, 1, NULL, tree, &length, &cost) == HS_OK);
    CHECK(hs_partition_cuboids_exact(10, steep, (const double[]){1, 1, 1}, 7, NULL, tree, &length, &cost) == HS_OK && length == 19);
}

static void *everything(void *unused)
{
    for (int32_t i = 0; i <= DEEP; i++) areas[i] = 1.0 + i % 3;
    deep_floorplan(2);
    deep_floorplan(3);
    chains();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t small;
    if (CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, STACK) && !pthread_create(&thread, &small, everything, NULL)))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    return check_result();
}
