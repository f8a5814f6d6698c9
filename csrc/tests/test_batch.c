/* hs_partition_batch, hs_layers_batch and hs_ring_batch: each row equals the result of the function
 * for one problem, to the last bit. */
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
    const double bad[] = {1, 2, 1, NAN},
                 slices[] = {0, 0, 1, .5, 0, .5, 1, .5, 0, 0, 1, 1, 0, 0, 1, 1};
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

static void check_layers(hs_layers_method method)
{
    enum { P = 5 };
    double compute[ROWS * P], send[ROWS * P], makespans[ROWS];
    int32_t order[ROWS * P], optimal[ROWS];
    int64_t counts[ROWS * P], most[ROWS * P];
    for (int32_t mode = 0; mode < 8; mode++) {
        const int64_t *limits = mode < 4 ? NULL : most;
        for (int32_t k = 0; k < ROWS * P; k++) {
            compute[k] = 1 + (double)check_random(9);
            send[k] = 1 + (double)check_random(5);
            most[k] = 10 + check_random(30);
        }
        /* a worker that gets nothing */
        compute[3] = INFINITY;
        const hs_layers all = {.mode = mode % 4,
                               .p = P,
                               .layers = 40,
                               .compute = compute,
                               .send = send,
                               .most = limits};
        if (!CHECK(hs_layers_batch(method, ROWS, &all, 10000, NULL, order, counts, makespans,
                                   bounds, optimal) == HS_OK))
            return;
        for (int32_t row = 0; row < ROWS; row++) {
            const hs_layers one = {.mode = mode % 4,
                                   .p = P,
                                   .layers = 40,
                                   .compute = compute + row * P,
                                   .send = send + row * P,
                                   .most = limits ? limits + row * P : NULL};
            int32_t own_order[P] = {0, 1, 2, 3, 4};
            int64_t own[P];
            int proven = 0;
            double times[3 * P], makespan, bound;
            const hs_status status =
                method == HS_LAYERS_BEST
                    ? hs_layers_best(&one, 10000, NULL, own_order, own, &proven)
                : method == HS_LAYERS_EXACT ? hs_layers_exact(&one, NULL, NULL, own, &proven)
                                            : hs_layers_paper(&one, NULL, NULL, own);
            CHECK(status == HS_OK && proven == optimal[row]);
            CHECK(memcmp(own, counts + row * P, sizeof own) == 0 &&
                  memcmp(own_order, order + row * P, sizeof own_order) == 0);
            CHECK(hs_layers_schedule(&one, own_order, own, times, times + P, times + 2 * P,
                                     &makespan) == HS_OK &&
                  makespan == makespans[row]);
            CHECK(hs_layers_bound(&one, NULL, &bound) == HS_OK && bound == bounds[row]);
        }
    }
}

static void rings(void)
{
    enum { P = 6 };
    double times[ROWS * P], links[ROWS * P * P], shares[ROWS * P], makespans[ROWS];
    int32_t exact[ROWS];
    for (int32_t k = 0; k < ROWS * P; k++) times[k] = 1 + (double)check_random(9);
    for (int32_t k = 0; k < ROWS * P * P; k++) links[k] = 1 + (double)check_random(9);
    const hs_ring all = {.p = P, .cycle_times = times, .links = links, .work = 60, .volume = 1};
    for (int method = HS_RING_METHOD_EXACT; method <= HS_RING_METHOD_GREEDY; method++) {
        if (!CHECK(hs_ring_batch((hs_ring_method)method, ROWS, &all, 50, 3, 20, NULL, shares,
                                 makespans, bounds, exact) == HS_OK))
            return;
        for (int32_t row = 0; row < ROWS; row++) {
            const hs_ring one = {.p = P,
                                 .cycle_times = times + row * P,
                                 .links = links + row * P * P,
                                 .work = 60,
                                 .volume = 1};
            int32_t ring[P], size;
            int32_t first = 0;
            double own[P], makespan, bound;
            uint64_t state = 3;
            for (int32_t i = 1; i < P; i++)
                if (one.cycle_times[i] < one.cycle_times[first]) first = i;
            if (method <= HS_RING_METHOD_BEST)
                CHECK(hs_ring_exact(&one, NULL, ring, &size, &makespan) == HS_OK);
            else
                CHECK(hs_ring_greedy(&one, method == HS_RING_METHOD_GREEDY ? first : -1, NULL, ring,
                                     &size, &makespan) == HS_OK);
            if (method == HS_RING_METHOD_SEARCH)
                CHECK(hs_ring_search(&one, 50, NULL, ring, &size, &state, &makespan) == HS_OK);
            CHECK(hs_ring_shares(&one, size, ring, NULL, own, &makespan) == HS_OK &&
                  makespan == makespans[row]);
            CHECK(memcmp(own, shares + row * P, sizeof own) == 0);
            CHECK(exact[row] == (method <= HS_RING_METHOD_BEST));
            CHECK(hs_ring_bound(&one, makespan, 20, NULL, &bound) == HS_OK &&
                  bounds[row] == (exact[row] ? makespan : bound));
        }
    }
    CHECK(hs_ring_batch((hs_ring_method)5, 1, &all, 1, 1, 1, NULL, shares, makespans, bounds,
                        exact) == HS_ERROR_VALUE);
    CHECK(hs_ring_batch(HS_RING_METHOD_BEST, -1, &all, 1, 1, 1, NULL, shares, makespans, bounds,
                        exact) == HS_ERROR_VALUE);
    CHECK(hs_ring_batch(HS_RING_METHOD_BEST, 0, &all, 1, 1, 1, NULL, NULL, NULL, NULL, NULL) ==
          HS_OK);
    CHECK_SCARCE(hs_ring_batch(HS_RING_METHOD_SEARCH, 1, &all, 1, 1, 1, NULL, shares, makespans,
                               bounds, exact),
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
    check_layers(HS_LAYERS_EXACT);
    check_layers(HS_LAYERS_BEST);
    check_layers(HS_LAYERS_PAPER);
    rings();
    return check_result();
}
