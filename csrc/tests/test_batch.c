/* hs_partition_batch and hs_ring_batch: each row equals the result of the function for one problem,
 * to the last bit. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { ROWS = 7, MAX = 12 };

static double areas[ROWS * MAX], rects[ROWS * 4 * MAX], bounds[ROWS];

/* Computes the zones of the floorplan, by worker. */
static int zones_of(int32_t p, const double *own, const int32_t *plan, int32_t length,
                    double *zones)
{
    int32_t workers[2 * MAX], pieces;
    double found[8 * MAX];
    memset(zones, 0, 4 * (size_t)p * sizeof *zones);
    if (hs_floorplan_rects(p, own, NULL, 1.0, plan, length, workers, found, &pieces, NULL) != HS_OK)
        return 0;
    for (int32_t k = 0; k < pieces; k++)
        memcpy(zones + 4 * workers[k], found + 4 * k, 4 * sizeof *zones);
    return 1;
}

static int plan_of(hs_batch_method method, int32_t p, const double *own, int32_t *plan,
                   int32_t *length)
{
    int32_t order[MAX], start[MAX + 1], columns;
    double cost;
    if (method == HS_BATCH_INTERVAL)
        return hs_partition_interval(p, own, NULL, 1.0, NULL, NULL, 0.0, 0, NULL, plan, length,
                                     &cost) == HS_OK;
    if (hs_partition_columns(p, own, 1.0, 1, p, p, NULL, order, start, &columns, &cost) != HS_OK)
        return 0;
    *length = 0;
    for (int32_t j = 0; j < columns; j++) {
        for (int32_t k = start[j]; k < start[j + 1]; k++) {
            plan[(*length)++] = order[k];
            if (k > start[j]) plan[(*length)++] = HS_ABOVE;
        }
        if (j > 0) plan[(*length)++] = HS_BESIDE;
    }
    return 1;
}

static void check_partitions(hs_batch_method method)
{
    for (int32_t p = 1; p <= MAX; p++) {
        for (int32_t k = 0; k < ROWS * p; k++)
            areas[k] =
                k % p && check_random(5) == 0 ? 0.0 : pow(10, (double)check_random(1000) / 300);
        if (!CHECK(hs_partition_batch(method, ROWS, p, areas, NULL, rects, bounds) == HS_OK))
            return;
        for (int32_t row = 0; row < ROWS; row++) {
            const double *own = areas + row * p;
            double zones[4 * MAX], sizes[MAX], bound;
            int32_t plan[2 * MAX], length;
            if (!CHECK(plan_of(method, p, own, plan, &length) &&
                       zones_of(p, own, plan, length, zones)))
                return;
            CHECK(memcmp(zones, rects + 4 * row * p, 4 * (size_t)p * sizeof *zones) == 0);
            for (int32_t i = 0; i < p; i++) sizes[i] = zones[4 * i + 2] * zones[4 * i + 3];
            CHECK(hs_zones_bound(p, sizes, NULL, 1, 1, 0, &bound) == HS_OK && bound == bounds[row]);
        }
    }
}

static void refusals(void)
{
    const double bad[] = {1, 2, 1, NAN};
    CHECK(hs_partition_batch(HS_BATCH_COLUMNS, 0, 2, NULL, NULL, NULL, NULL) == HS_OK);
    CHECK(hs_partition_batch(HS_BATCH_COLUMNS, -1, 2, bad, NULL, rects, bounds) == HS_ERROR_VALUE);
    CHECK(hs_partition_batch(HS_BATCH_COLUMNS, 1, 0, bad, NULL, rects, bounds) == HS_ERROR_VALUE);
    CHECK(hs_partition_batch((hs_batch_method)2, 1, 2, bad, NULL, rects, bounds) == HS_ERROR_VALUE);
    CHECK(hs_partition_batch(HS_BATCH_COLUMNS, 1, 2, bad, NULL, rects, bounds) == HS_OK);
    CHECK(hs_partition_batch(HS_BATCH_COLUMNS, 2, 2, bad, NULL, rects, bounds) == HS_ERROR_VALUE);
    CHECK_SCARCE(hs_partition_batch(HS_BATCH_INTERVAL, 1, 2, bad, NULL, rects, bounds), 1);
}

static void rings(void)
{
    enum { P = 6 };
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
            if (!CHECK(hs_ring_batch(ROWS, &all, (hs_ring_method)method, &effort, NULL, shares,
                                     makespans, bounds, optimal) == HS_OK))
                return;
            for (int32_t row = 0; row < ROWS; row++) {
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
    check_partitions(HS_BATCH_COLUMNS);
    check_partitions(HS_BATCH_INTERVAL);
    refusals();
    rings();
    return check_result();
}
