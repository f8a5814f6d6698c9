/* hs_lu_grid_best: the methods against each other, given maps, the bound against all maps, every
 * refusal, a cancelled call, failing allocations. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 12, P = 5 };

typedef struct {
    int32_t owner[MAX * MAX];
    double loads[MAX], ideal[MAX];
    int64_t traffic[MAX], received[P];
} arrays;

static hs_lu_grid_result result_of(arrays *a)
{
    return (hs_lu_grid_result){.owner = a->owner,
                               .loads = a->loads,
                               .ideal = a->ideal,
                               .traffic = a->traffic,
                               .received = a->received};
}

static int64_t sent_by(int32_t n, const int64_t *traffic)
{
    int64_t sent = 0;
    for (int32_t k = 0; k < n; k++) sent += traffic[k];
    return sent;
}

/* The best map costs no more than that of any method; each map has the cost and the certificate that
 * it has as a given one. */
static void methods(void)
{
    for (int round = 0; round < CHECK_MANY(150, 40); round++) {
        const int32_t n = 1 + (int32_t)check_random(MAX);
        const int32_t p = 1 + (int32_t)check_random(P);
        double times[P];
        for (int32_t i = 0; i < p; i++)
            times[i] = i && check_random(6) == 0 ? INFINITY : 1 + check_random(4);
        const hs_lu_grid grid = {n, p, times, round % 3 ? check_random(3) / 2.0 : 0};
        arrays best_arrays, own_arrays, given_arrays;
        hs_lu_grid_result best = result_of(&best_arrays);
        hs_lu_grid_result own = result_of(&own_arrays);
        hs_lu_grid_result given = result_of(&given_arrays);
        hs_lu_grid_method winner, found;
        hs_certificate least, c, again;
        if (!CHECK(hs_lu_grid_best(&grid, HS_LU_GRID_BEST, NULL, &winner, &best, &least) == HS_OK))
            return;
        CHECK(winner >= HS_LU_GRID_1D1D && winner <= HS_LU_GRID_CYCLIC);
        int seen = 0;
        for (int method = HS_LU_GRID_1D1D; method <= HS_LU_GRID_CYCLIC; method++) {
            CHECK(hs_lu_grid_best(&grid, (hs_lu_grid_method)method, NULL, &found, &own, &c) ==
                      HS_OK &&
                  (int)found == method);
            CHECK(least.value < c.value ||
                  (least.value == c.value && sent_by(n, best.traffic) <= sent_by(n, own.traffic)));
            seen |= (int)winner == method && least.value == c.value &&
                    memcmp(best.owner, own.owner, (size_t)(n * n) * sizeof *own.owner) == 0;
            CHECK(c.optimal ? strcmp(c.scope, "all maps of whole blocks") == 0 : c.scope[0] == 0);
            memcpy(given.owner, own.owner, (size_t)(n * n) * sizeof *own.owner);
            CHECK(hs_lu_grid_best(&grid, HS_LU_GRID_GIVEN, NULL, &found, &given, &again) == HS_OK &&
                  found == HS_LU_GRID_GIVEN && again.value == c.value && again.bound == c.bound);
            CHECK(given.makespan == own.makespan &&
                  memcmp(given.loads, own.loads, (size_t)n * sizeof *own.loads) == 0);
            CHECK(hs_lu_grid_certificate(n, p, times, grid.link_cost, own.owner, NULL, &again) ==
                      HS_OK &&
                  again.value == c.value && again.bound == c.bound);
            for (int32_t k = 0; k < n; k++)
                CHECK(own.ideal[k] <= own.loads[k] * (1 + 1e-14) && own.loads[k] >= 0);
        }
        CHECK(seen);
    }
}

/* No map of 3 x 3 blocks of two workers costs less than the bound, in the whole or in a step. */
static void all_maps(void)
{
    for (int round = 0; round < 30; round++) {
        const double times[] = {1 + check_random(3), 1 + check_random(3)};
        const double link_cost = check_random(8) / 4.0;
        double bounds[3], loads[3];
        int64_t traffic[3];
        int32_t owner[9];
        CHECK(hs_lu_grid_bound(3, 2, times, link_cost, NULL, bounds) == HS_OK);
        for (int map = 0; map < 1 << 9; map++) {
            for (int b = 0; b < 9; b++) owner[b] = map >> b & 1;
            CHECK(hs_lu_grid_evaluate(3, 2, times, owner, NULL, loads, traffic, NULL) == HS_OK);
            for (int k = 0; k < 3; k++)
                CHECK(loads[k] + link_cost * (double)traffic[k] >= bounds[k]);
        }
    }
}

/* Two equal workers: apart they send least if each has half of the blocks, and one worker alone
 * sends nothing. */
static void bound_of_links(void)
{
    const double times[] = {1, 1};
    double cheap[9], dear[9];
    CHECK(hs_lu_grid_bound(9, 2, times, 0.001, NULL, cheap) == HS_OK);
    CHECK(hs_lu_grid_bound(9, 2, times, 1000, NULL, dear) == HS_OK);
    for (int k = 0; k < 9; k++) {
        const double m = 8 - k;
        CHECK(fabs(cheap[k] - fmax(ceil(m * m / 2), m * m / 2 + 0.002 * m * (sqrt(2) - 1))) <=
              1e-12 * m * m);
        CHECK(fabs(dear[k] - m * m) <= 1e-12 * m * m);
    }
}

static void refusals(void)
{
    const double times[] = {1, 2, INFINITY};
    const double zero[] = {1, 0, 1};
    const double idle[] = {INFINITY, INFINITY, INFINITY};
    const double huge[] = {DBL_MAX, DBL_MAX, DBL_MAX};
    arrays a;
    hs_lu_grid_result result = result_of(&a);
    hs_lu_grid_method found = HS_LU_GRID_GIVEN;
    hs_certificate c = {.value = -7};
    const hs_lu_grid wrong[] = {
        {0, 3, times, 0},   {46341, 3, times, 0}, {4, 0, times, 0},  {4, 3, NULL, 0},
        {4, 3, zero, 0},    {4, 3, idle, 0},      {4, 3, times, -1}, {4, 3, times, INFINITY},
        {4, 3, times, NAN}, {4, 3, huge, 0}, /* the cost overflows */
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        CHECK(hs_lu_grid_best(&wrong[k], HS_LU_GRID_BEST, NULL, &found, &result, &c) ==
              HS_ERROR_VALUE);
    const hs_lu_grid grid = {4, 3, times, 0};
    for (int method = -1; method <= HS_LU_GRID_GIVEN + 1; method += HS_LU_GRID_GIVEN + 2)
        CHECK(hs_lu_grid_best(&grid, (hs_lu_grid_method)method, NULL, &found, &result, &c) ==
              HS_ERROR_VALUE);
    for (int b = 0; b < 16; b++) a.owner[b] = b == 5 ? 2 : 0; /* a worker that can do nothing */
    CHECK(hs_lu_grid_best(&grid, HS_LU_GRID_GIVEN, NULL, &found, &result, &c) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_best(&grid, HS_LU_GRID_BEST, &(int){1}, &found, &result, &c) ==
          HS_ERROR_CANCELLED);
    CHECK(hs_lu_grid_bound(4, 3, times, -1, NULL, a.loads) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_bound(4, 3, times, NAN, NULL, a.loads) == HS_ERROR_VALUE);
    CHECK(c.value == -7 && found == HS_LU_GRID_GIVEN);
}

/* More workers than the exact cuts, and than the sorted cuts, take. */
static void many_workers(void)
{
    enum { MANY = 150, SIDE = 20 };
    static double times[MANY], loads[SIDE], ideal[SIDE];
    static int32_t owner[SIDE * SIDE];
    static int64_t traffic[SIDE], received[MANY];
    hs_lu_grid_result result = {owner, loads, ideal, traffic, received, 0};
    hs_lu_grid_method found;
    hs_certificate c;
    for (int i = 0; i < MANY; i++) times[i] = 1 + i % 7;
    for (int32_t p = 11; p <= MANY; p += MANY - 11) {
        const hs_lu_grid grid = {SIDE, p, times, 0.1};
        CHECK(hs_lu_grid_best(&grid, HS_LU_GRID_NESTED, NULL, &found, &result, &c) == HS_OK &&
              c.bound <= c.value);
    }
}

static void scarce(void)
{
    const double times[] = {2, 3, 2, 5};
    const hs_lu_grid grid = {5, 4, times, 0.5};
    arrays a;
    hs_lu_grid_result result = result_of(&a);
    hs_lu_grid_method found;
    hs_certificate c = {.value = -7};
    CHECK_SCARCE(hs_lu_grid_best(&grid, HS_LU_GRID_BEST, NULL, &found, &result, &c), c.value == -7);
}

int main(void)
{
    methods();
    all_maps();
    bound_of_links();
    refusals();
    many_workers();
    scarce();
    return check_result();
}
