/* hs_factor_profile_bound: below the makespans of all owner maps, the work over the speeds if the
 * speeds are constant, near the best prices, refusals. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 3, BLOCKS = 6, MOST = 64 };

/* No map of up to six blocks, with any times above the least ones, ends before the bound. */
static void all_maps(void)
{
    for (int round = 0; round < 60; round++) {
        const int kind = round % 3;
        const int32_t p = 1 + (int32_t)check_random(P);
        const int64_t block = 1 + (int64_t)check_random(4);
        const int64_t n = 1 + (int64_t)check_random((unsigned)(BLOCKS * block));
        const int64_t m = kind == HS_CHOLESKY ? n : 1 + (int64_t)check_random(30);
        double least[MOST * P], steps[MOST * P], panels[P], times[P];
        double ideal, bound, makespan;
        int32_t count;
        int32_t owner[BLOCKS + 1] = {0};
        CHECK(hs_factor_blocks(m, n, block, &count) == HS_OK);
        if (count > BLOCKS + 1) continue;
        for (int i = 0; i < MOST * P; i++) least[i] = 1 + check_random(9);
        for (int32_t i = 0; i < p; i++) panels[i] = 1 + check_random(9);
        for (int32_t i = 0; i < p; i++) times[i] = 1;
        CHECK(hs_factor_profile_bound(kind, m, n, block, p, least, panels, NULL, &ideal, &bound) ==
              HS_OK);
        CHECK(ideal > 0 && bound >= ideal);
        for (int32_t at = 0; at < count;) {
            for (int i = 0; i < MOST * P; i++)
                steps[i] = least[i] * (check_random(3) ? 1 : 1 + check_random(2));
            const hs_factor_costs costs = {.panels = panels, .steps = steps};
            CHECK(hs_factor_simulate(kind, m, n, block, p, times, owner, 0, &costs, NULL, &makespan,
                                     NULL, NULL, NULL, NULL, NULL) == HS_OK);
            CHECK(bound <= makespan * (1 + 1e-12));
            for (at = 0; at < count && ++owner[at] == p; at++) owner[at] = 0;
        }
    }
}

static void constant_speeds(void)
{
    for (int round = 0; round < 60; round++) {
        const int kind = round % 3;
        const int64_t n = 1 + (int64_t)check_random(200);
        const int64_t m = kind == HS_CHOLESKY ? n : 1 + (int64_t)check_random(200);
        double least[MOST * P], times[P], ideal, bound, divided, wanted;
        for (int i = 0; i < P; i++)
            times[i] = i && check_random(4) == 0 ? INFINITY : ldexp(1 + check_random(9), 30);
        for (int i = 0; i < MOST * P; i++) least[i] = times[i % P];
        CHECK(hs_factor_bound(kind, m, n, 8, P, times, NULL, 0, NULL, &divided, &wanted) == HS_OK);
        CHECK(hs_factor_profile_bound(kind, m, n, 8, P, least, times, NULL, &ideal, &bound) ==
              HS_OK);
        CHECK(fabs(ideal - divided) <= 1e-12 * divided && fabs(bound - wanted) <= 1e-12 * wanted);
    }
}

/* Prices 1 and y for two workers, for many y: the bound by definition. */
static double try_prices(int64_t n, int64_t block, int32_t panels, const double *least,
                         const double *panel_times)
{
    double best = 0;
    for (int e = -400; e <= 400; e++) {
        const double y = exp(e / 100.0);
        double cost = 0;
        double all = 0;
        for (int32_t k = 0; k < panels; k++) {
            const double rows = (double)(n - k * block);
            const double width = (double)block;
            const double work = width * (rows - width / 2) * (rows - width);
            cost += work * fmin(least[2 * k], y * least[2 * k + 1]);
            all += width * width * (rows - width / 3) / 2;
        }
        cost += all * fmin(panel_times[0], y * panel_times[1]);
        best = fmax(best, cost / (1 + y));
    }
    return best;
}

static void best_prices(void)
{
    for (int round = 0; round < 40; round++) {
        enum { PANELS = 20, BLOCK = 5 };
        double least[2 * PANELS], panels[2], ideal, bound;
        for (int i = 0; i < 2 * PANELS; i++) least[i] = i % 2 ? 1 + check_random(4) : 3 + 0.1 * i;
        for (int i = 0; i < 2; i++) panels[i] = 1 + check_random(4);
        CHECK(hs_factor_profile_bound(HS_LU, PANELS * BLOCK, PANELS * BLOCK, BLOCK, 2, least,
                                      panels, NULL, &ideal, &bound) == HS_OK);
        const double best = try_prices(PANELS * BLOCK, BLOCK, PANELS, least, panels);
        CHECK(ideal > 0.97 * best && ideal < 1.01 * best);
        CHECK_SCARCE(hs_factor_profile_bound(HS_LU, PANELS * BLOCK, PANELS * BLOCK, BLOCK, 2, least,
                                             panels, NULL, &ideal, &bound),
                     ideal > 0);
    }
}

static void refusals(void)
{
    const double good[] = {1, 2, INFINITY, 3}, panels[] = {1, INFINITY},
                 none[] = {INFINITY, INFINITY};
    double ideal = -7, bound = -7;
    CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 2, 2, good, panels, NULL, NULL, &bound) == HS_OK);
    CHECK(hs_factor_profile_bound(HS_LU, 0, 4, 2, 2, NULL, NULL, NULL, &ideal, &bound) == HS_OK);
    CHECK(ideal == 0 && bound == 0);
    bound = -7;
    const double wrong[] = {0, -1, NAN};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const double bad[] = {1, wrong[k], 1, 1};
        CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 2, 2, bad, panels, NULL, NULL, &bound) ==
              HS_ERROR_VALUE);
        CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 2, 2, good, bad, NULL, NULL, &bound) ==
              HS_ERROR_VALUE);
    }
    /* no worker can do the updates, the panels, or both of them together */
    const double apart[] = {INFINITY, 1, INFINITY, 1};
    const double impossible[] = {INFINITY, INFINITY, 1, 1};
    CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 2, 2, impossible, panels, NULL, NULL, &bound) ==
          HS_ERROR_VALUE);
    CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 2, 2, good, none, NULL, NULL, &bound) ==
          HS_ERROR_VALUE);
    CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 2, 2, apart, panels, NULL, NULL, &bound) ==
          HS_ERROR_VALUE);
    CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 0, 2, good, panels, NULL, NULL, &bound) ==
          HS_ERROR_VALUE);
    CHECK(hs_factor_profile_bound(HS_LU, 4, 4, 2, 0, good, panels, NULL, NULL, &bound) ==
          HS_ERROR_VALUE);
    CHECK(hs_factor_profile_bound(HS_CHOLESKY, 4, 5, 2, 2, good, panels, NULL, NULL, &bound) ==
          HS_ERROR_VALUE);
    CHECK(bound == -7);
}

int main(void)
{
    all_maps();
    constant_speeds();
    best_prices();
    refusals();
    return check_result();
}
