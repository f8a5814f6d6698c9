/* hs_partition_batch and hs_ring_batch: each row equals the result of the function for one problem,
 * to the last bit. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { ROWS = 7, MAX = 12 };

static double areas[ROWS * MAX], rects[ROWS * 4 * MAX], costs[ROWS], bounds[ROWS];
static int32_t are_optimal[ROWS];

static void check_partitions(int32_t method, int32_t most, int64_t side)
{
    double weights[MAX];
    for (int32_t i = 0; i < MAX; i++) weights[i] = 1 + i % 3;
    for (int32_t p = 1; p <= most; p++) {
        for (int32_t k = 0; k < ROWS * p; k++)
            areas[k] =
                k % p && check_random(5) == 0 ? 0.0 : pow(10, (double)check_random(1000) / 300);
        hs_partition x = {.p = p,
                          .areas = areas,
                          .method = method,
                          .m = side,
                          .n = side,
                          .weights = p % 2 ? weights : NULL,
                          .largest = p % 3 == 0};
        const bool single = method != HS_PARTITION_BEST && method != HS_PARTITION_SNRPP;
        int64_t failed;
        if (!CHECK(hs_partition_batch(ROWS, &x, NULL, NULL, costs, bounds, are_optimal,
                                      single ? rects : NULL, &failed) == HS_OK &&
                   failed == -1))
            return;
        for (int32_t row = 0; row < ROWS; row++) {
            int32_t workers[3 * MAX];
            double zones[12 * MAX], own[4 * MAX] = {0};
            hs_partition_plan plan = {.workers = workers, .rects = zones};
            hs_certificate proof;
            x.areas = areas + row * p;
            if (!CHECK(hs_partition_best(&x, NULL, NULL, &plan, &proof) == HS_OK)) return;
            CHECK(proof.value == costs[row] && proof.bound == bounds[row] &&
                  proof.optimal == are_optimal[row]);
            for (int32_t k = 0; k < plan.pieces && single; k++)
                memcpy(own + 4 * workers[k], zones + 4 * k, 4 * sizeof *own);
            if (single) CHECK(memcmp(own, rects + 4 * row * p, 4 * (size_t)p * sizeof *own) == 0);
        }
    }
}

static void refusals(void)
{
    const double bad[] = {1, 2, 1, NAN};
    const double slices[] = {0, 0, 1, .5, 0, .5, 1, .5, 0, 0, 1, 1, 0, 0, 1, 1};
    hs_partition x = {.p = 2, .areas = bad, .method = HS_PARTITION_INTERVAL};
    int64_t failed;
#define BATCH(rows) \
    hs_partition_batch(rows, &x, NULL, NULL, costs, bounds, are_optimal, rects, &failed)
    CHECK(BATCH(-1) == HS_ERROR_VALUE);
    CHECK(BATCH(1) == HS_OK && failed == -1);
    CHECK(BATCH(2) == HS_ERROR_VALUE && failed == 1);
    CHECK_SCARCE(BATCH(1), 1);
    x.method = HS_PARTITION_SNRPP; /* a zone around the other one has two pieces */
    x.areas = (const double[]){1, 1, 1, 20};
    CHECK(BATCH(1) == HS_OK);
    CHECK(BATCH(2) == HS_ERROR_VALUE && failed == 1);
    x = (hs_partition){.p = 2, .areas = (const double[]){1, 1, 1, 1}};
    x.method = HS_PARTITION_GIVEN;
    x.rects = slices;
    x.each = 1;
    CHECK(BATCH(1) == HS_OK && costs[0] == 3.0 && are_optimal[0] == 1);
    CHECK(BATCH(2) == HS_ERROR_VALUE && failed == 1);
    x.method = HS_PARTITION_SEARCH;
    CHECK(BATCH(1) == HS_ERROR_VALUE && failed == -1);
    x = (hs_partition){.p = 2};
    CHECK(BATCH(0) == HS_OK);
#undef BATCH
}

static void rings(void)
{
    enum { P = 6 };
    const int32_t rows = CHECK_MANY(ROWS, 2);
    double times[ROWS * P], links[ROWS * P * P], shares[ROWS * P], makespans[ROWS];
    double latencies[P * P], overheads[P];
    int32_t optimal[ROWS];
    for (int32_t k = 0; k < ROWS * P; k++) times[k] = 1 + (double)check_random(9);
    times[P + 2] = INFINITY;
    for (int32_t k = 0; k < ROWS * P * P; k++) links[k] = 1 + (double)check_random(9);
    for (int32_t k = 0; k < P * P; k++) latencies[k] = (double)check_random(3);
    for (int32_t k = 0; k < P; k++) overheads[k] = (double)check_random(3);
    hs_ring all = {.p = P, .cycle_times = times, .links = links, .work = 60, .volume = 1};
    const hs_effort effort = {.seed = 3};
    /* plain, with affine costs, and with equal links */
    for (int kind = 0; kind < 3; kind++) {
        all.latencies = kind == 1 ? latencies : NULL;
        all.overheads = kind == 1 ? overheads : NULL;
        all.links = kind == 2 ? NULL : links;
        all.link = 0.5;
        all.relays = kind == 1;
        for (int method = HS_RING_METHOD_BEST; method <= HS_RING_METHOD_ALL; method++) {
            if (!CHECK(hs_ring_batch(rows, &all, (hs_ring_method)method, &effort, NULL, shares,
                                     makespans, bounds, optimal) == HS_OK))
                return;
            for (int32_t row = 0; row < rows; row++) {
                hs_ring one = all;
                one.cycle_times = times + row * P;
                if (all.links) one.links = links + row * P * P;
                int32_t ring[P], size;
                double own[P];
                hs_ring_method used;
                hs_certificate c;
                CHECK(hs_ring_best(&one, (hs_ring_method)method, &effort, NULL, ring, &size, own,
                                   &used, &c) == HS_OK);
                CHECK(memcmp(own, shares + row * P, sizeof own) == 0);
                CHECK(c.value == makespans[row] && c.bound == bounds[row] &&
                      c.optimal == optimal[row]);
            }
        }
    }
    CHECK(hs_ring_batch(1, &all, (hs_ring_method)6, NULL, NULL, shares, makespans, bounds,
                        optimal) == HS_ERROR_VALUE);
    CHECK(hs_ring_batch(-1, &all, HS_RING_METHOD_BEST, NULL, NULL, shares, makespans, bounds,
                        optimal) == HS_ERROR_VALUE);
    CHECK(hs_ring_batch(0, &all, HS_RING_METHOD_BEST, NULL, NULL, NULL, NULL, NULL, NULL) == HS_OK);
    CHECK_SCARCE(hs_ring_batch(1, &all, HS_RING_METHOD_SEARCH, NULL, NULL, shares, makespans,
                               bounds, optimal),
                 1);
}

int main(void)
{
    check_partitions(HS_PARTITION_COLUMNS, MAX, 0);
    check_partitions(HS_PARTITION_COLUMNS, MAX, 40);
    check_partitions(HS_PARTITION_INTERVAL, MAX, 0);
    check_partitions(HS_PARTITION_RECURSIVE, MAX, 0);
    check_partitions(HS_PARTITION_SNRPP, MAX, 0);
    check_partitions(HS_PARTITION_BEST, 4, 0);
    refusals();
    rings();
    return check_result();
}
