/* hs_divisible_orders, hs_divisible_best and hs_divisible_bound: closed forms, random orders against each other and
 * the bound, useless workers, units far apart, refusals, failing allocations. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 6 };

static int is_near(double a, double b) { return fabs(a - b) <= 1e-11 * fabs(b); }

static void closed_forms(void)
{
    const double times[2] = {1, 2};
    const double sends[2] = {1, 1};
    const double none[2] = {0, 0};
    int32_t out[2] = {0, 1};
    int32_t in[2] = {1, 0};
    double shares[2], makespan, bound;
    int optimal;
    /* no results: 2 a = T, a + 3 b = T, so a = 3 b */
    CHECK(hs_divisible_orders(2, times, sends, none, 0, 1, 0, NULL, out, in, shares, &makespan,
                              &optimal) == HS_OK &&
          !optimal);
    CHECK(is_near(shares[0], 0.6 + 0.15) && is_near(shares[1], 0.25) && is_near(makespan, 1.5));
    CHECK(hs_divisible_bound(2, times, sends, none, NULL, &bound) == HS_OK && is_near(bound, 1.5));
    /* last in, first out: 3 a = T, 2 a + 4 b = T, so a = 4 b */
    CHECK(hs_divisible_orders(2, times, sends, sends, 0, 1, 0, NULL, out, in, shares, &makespan,
                              &optimal) == HS_OK);
    CHECK(is_near(shares[0], 0.8) && is_near(shares[1], 0.2) && is_near(makespan, 2.4));
    /* first in, first out: 3 a + b = T, a + 4 b = T, so 2 a = 3 b */
    in[0] = 0;
    in[1] = 1;
    CHECK(hs_divisible_orders(2, times, sends, sends, 0, 1, 0, NULL, out, in, shares, &makespan,
                              &optimal) == HS_OK);
    CHECK(is_near(shares[0], 0.6) && is_near(shares[1], 0.4) && is_near(makespan, 2.2));
    CHECK(hs_divisible_orders(2, times, sends, sends, 1, 1, 0, NULL, out, in, shares, &makespan,
                              &optimal) == HS_OK &&
          optimal && is_near(makespan, 2.2));
}

static void random_orders(void)
{
    for (int round = 0; round < CHECK_MANY(300, 50); round++) {
        double times[P], sends[P], receives[P], shares[P], makespan, found, bound;
        double sum = 0;
        int32_t p = 1 + (int32_t)check_random(P);
        int32_t out[P], in[P], best[2][P];
        int optimal;
        for (int32_t i = 0; i < p; i++) {
            times[i] = 0.1 + check_random(100) / 10.0;
            sends[i] = check_random(20) / 10.0;
            receives[i] = check_random(20) / 10.0;
            int32_t a = (int32_t)check_random((unsigned)i + 1);
            int32_t b = (int32_t)check_random((unsigned)i + 1);
            out[i] = out[a];
            out[a] = i;
            in[i] = in[b];
            in[b] = i;
        }
        memcpy(best[0], out, sizeof out);
        memcpy(best[1], in, sizeof in);
        CHECK(hs_divisible_bound(p, times, sends, receives, NULL, &bound) == HS_OK);
        CHECK(hs_divisible_orders(p, times, sends, receives, 0, 1, 0, NULL, out, in, shares,
                                  &makespan, &optimal) == HS_OK &&
              !optimal);
        CHECK(memcmp(best[0], out, (size_t)p * sizeof *out) == 0);
        for (int32_t i = 0; i < p; i++) {
            CHECK(shares[i] >= 0);
            sum += shares[i];
        }
        CHECK(is_near(sum, 1));
        CHECK(hs_divisible_orders(p, times, sends, receives, 300, 1, bound, NULL, best[0], best[1],
                                  shares, &found, &optimal) == HS_OK);
        CHECK(optimal == (p <= 6) && bound <= found * (1 + 1e-12) &&
              found <= makespan * (1 + 1e-12));
        CHECK(bound > 0.5 * found);
        /* no other orders are better */
        for (int k = 0; k < 3 && optimal; k++) {
            for (int32_t i = 0; i < p; i++) {
                int32_t a = (int32_t)check_random((unsigned)i + 1);
                int32_t b = (int32_t)check_random((unsigned)i + 1);
                out[i] = out[a];
                out[a] = i;
                in[i] = in[b];
                in[b] = i;
            }
            CHECK(hs_divisible_orders(p, times, sends, receives, 0, 1, 0, NULL, out, in, shares,
                                      &makespan, &optimal) == HS_OK);
            optimal = 1;
            CHECK(found <= makespan * (1 + 1e-12));
        }
    }
}

/* A worker that is slow or has an expensive link changes nothing. The makespans of orders with it
 * were once overstated, and called optimal. */
static void useless(void)
{
    for (int round = 0; round < CHECK_MANY(200, 50); round++) {
        double times[5], sends[5], receives[5], shares[5], makespan[2], bound[2];
        int32_t p = 1 + (int32_t)check_random(4);
        for (int32_t i = 0; i < p; i++) {
            double scale = ldexp(1, round % 2 ? (int)check_random(80) - 40 : 0);
            times[i] = scale * (1 + check_random(4)) / 4;
            sends[i] = scale * check_random(1000) / 1000;
            receives[i] = sends[i] * (1 + check_random(6)) / 2;
        }
        times[p] = round % 3 ? 1e18 : 1;
        sends[p] = round % 3 == 1 ? 1 : 1e18;
        receives[p] = sends[p] / 2;
        double share = 0;
        for (int32_t more = 0; more < 2; more++) {
            int32_t out[5], in[5];
            int optimal;
            for (int32_t i = 0; i < p + more; i++) {
                out[i] = p + more - 1 - i;
                in[i] = i;
            }
            CHECK(hs_divisible_bound(p + more, times, sends, receives, NULL, &bound[more]) ==
                  HS_OK);
            CHECK(hs_divisible_orders(p + more, times, sends, receives, 1, 1, 0, NULL, out, in,
                                      shares, &makespan[more], &optimal) == HS_OK);
            CHECK(optimal && bound[more] <= makespan[more]);
            share = makespan[0] / (times[p] + sends[p] + receives[p]);
        }
        CHECK(makespan[1] <= makespan[0] * (1 + 2e-12) &&
              makespan[1] >= makespan[0] * (1 - 2e-12 - share));
    }
}

/* The largest and smallest numbers: powers of two change only the unit. */
static void units(void)
{
    const int units[] = {-1021, -300, 300, 1018};
    const double plain[3] = {1, 2, 3};
    const double half[3] = {1, 0.5, 0};
    const double apart[2] = {5e-324, DBL_MAX};
    const double none[2] = {0, 0};
    double shares[3], same[3], makespan, wanted, bound;
    int optimal;
    for (int k = 0; k < 4; k++) {
        const double one = ldexp(1, units[k]);
        const double times[3] = {one, 2 * one, 3 * one};
        const double sends[3] = {one, one / 2, 0};
        int32_t out[3] = {0, 1, 2};
        int32_t in[3] = {0, 1, 2};
        int32_t also_out[3] = {0, 1, 2};
        int32_t also_in[3] = {0, 1, 2};
        CHECK(hs_divisible_orders(3, times, sends, sends, 1, 1, 0, NULL, out, in, shares, &makespan,
                                  &optimal) == HS_OK &&
              optimal);
        CHECK(hs_divisible_bound(3, times, sends, sends, NULL, &bound) == HS_OK &&
              bound <= makespan);
        CHECK(hs_divisible_orders(3, plain, half, half, 1, 1, 0, NULL, also_out, also_in, same,
                                  &wanted, &optimal) == HS_OK);
        CHECK(memcmp(shares, same, sizeof same) == 0 && makespan == ldexp(wanted, units[k]));
    }
    int32_t out[2] = {1, 0};
    int32_t in[2] = {0, 1};
    CHECK(hs_divisible_orders(2, apart, none, none, 1, 1, 0, NULL, out, in, shares, &makespan,
                              &optimal) == HS_OK &&
          optimal);
    CHECK(shares[0] == 1 && shares[1] == 0 && makespan == 5e-324);
    CHECK(hs_divisible_bound(2, apart, none, none, NULL, &bound) == HS_OK && bound <= makespan);
}

static void cancelled(void)
{
    const double times[6] = {1, 2, 3, 4, 5, 6};
    const double sends[6] = {1, 1, 1, 1, 1, 1};
    double shares[6] = {-7};
    double makespan = -7;
    int optimal = -7;
    int cancel = 1;
    for (int32_t p = 1; p <= 6; p++) {
        int32_t out[6], in[6];
        for (int32_t i = 0; i < p; i++) {
            out[i] = i;
            in[i] = p - 1 - i;
        }
        for (int64_t work = 0; work < 2; work++)
            CHECK(hs_divisible_orders(p, times, sends, sends, work, 1, 0, &cancel, out, in, shares,
                                      &makespan, &optimal) == HS_ERROR_CANCELLED);
        CHECK(hs_divisible_bound(p, times, sends, sends, &cancel, &makespan) == HS_ERROR_CANCELLED);
        for (int32_t i = 0; i < p; i++) CHECK(out[i] == i && in[i] == p - 1 - i);
    }
    CHECK(shares[0] == -7 && makespan == -7 && optimal == -7);
    int32_t out[6] = {0, 1, 2, 3, 4, 5};
    int32_t in[6] = {5, 4, 3, 2, 1, 0};
    cancel = 0;
    CHECK(hs_divisible_orders(6, times, sends, sends, 9, 1, 0, &cancel, out, in, shares, &makespan,
                              &optimal) == HS_OK);
}

static void refusals(void)
{
    const double one[2] = {1, 1};
    const double bad[] = {-1, NAN, INFINITY};
    int32_t out[2] = {0, 1};
    int32_t in[2] = {0, 1};
    int32_t twice[2] = {1, 1};
    double shares[2] = {-7, -7};
    double makespan = -7;
    int optimal = -7;
    for (int k = 0; k < 3; k++) {
        const double wrong[2] = {1, bad[k]};
        CHECK(hs_divisible_orders(2, wrong, one, one, 1, 1, 0, NULL, out, in, shares, &makespan,
                                  &optimal) == HS_ERROR_VALUE);
        CHECK(hs_divisible_orders(2, one, wrong, one, 1, 1, 0, NULL, out, in, shares, &makespan,
                                  &optimal) == HS_ERROR_VALUE);
        CHECK(hs_divisible_bound(2, one, one, wrong, NULL, &makespan) == HS_ERROR_VALUE);
    }
    CHECK(hs_divisible_orders(2, one, one, one, 1, 1, 0, NULL, twice, in, shares, &makespan,
                              &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(2, one, one, one, 1, 1, 0, NULL, out, twice, shares, &makespan,
                              &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(2, one, one, one, -1, 1, 0, NULL, out, in, shares, &makespan,
                              &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(2, one, one, one, 1, 1, NAN, NULL, out, in, shares, &makespan,
                              &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(0, one, one, one, 1, 1, 0, NULL, out, in, shares, &makespan,
                              &optimal) == HS_ERROR_VALUE);
    CHECK(shares[0] == -7 && makespan == -7 && optimal == -7);
#ifdef HS_TEST_SCARCE
    CHECK_SCARCE(
        hs_divisible_orders(2, one, one, one, 1, 1, 0, NULL, out, in, shares, &makespan, &optimal),
        shares[0] == -7 && makespan == -7);
    makespan = -7;
    CHECK_SCARCE(hs_divisible_bound(2, one, one, one, NULL, &makespan), makespan == -7);
#endif
}

/* hs_divisible_best is as good as the best of all orders, and says what it has proven. */
static void best_plans(void)
{
    enum { FEW = 3 };
    const int rounds = CHECK_MANY(300, 60);
    for (int round = 0; round < rounds; round++) {
        double times[FEW + 1], sends[FEW + 1], receives[FEW + 1], shares[FEW + 1];
        int32_t out[FEW + 1], in[FEW + 1];
        hs_certificate proof;
        hs_divisible_plan plan = {.shares = shares, .send_order = out, .receive_order = in};
        const double ratio = 0.25 * check_random(8);
        const double size = 1 + check_random(100);
        for (int i = 0; i < FEW; i++) {
            times[i] = 1 + check_random(9);
            sends[i] = round % 6 ? 0.25 * check_random(8) : 0;
            receives[i] = round % 3 ? ratio * sends[i] : 0.25 * check_random(8);
        }
        double least = INFINITY;
        double fifo = INFINITY;
        double lifo = INFINITY;
        int32_t all[6][FEW] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        for (int a = 0; a < 6; a++)
            for (int b = 0; b < 6; b++) {
                double makespan;
                int optimal;
                CHECK(hs_divisible_orders(FEW, times, sends, receives, 0, 1, 0, NULL, all[a],
                                          all[b], shares, &makespan, &optimal) == HS_OK);
                least = fmin(least, makespan);
                if (a == b) fifo = fmin(fifo, makespan);
                if (all[a][0] == all[b][2] && all[a][1] == all[b][1]) lifo = fmin(lifo, makespan);
            }
        /* a worker that cannot work changes nothing */
        times[FEW] = INFINITY;
        sends[FEW] = receives[FEW] = 1;
        hs_divisible_load load = {size, FEW + round % 2, times, sends, receives};
        CHECK(hs_divisible_best(&load, HS_DIVISIBLE_BEST, NULL, NULL, &plan, &proof) == HS_OK);
        CHECK(fabs(plan.makespan - least * size) <= 1e-11 * plan.makespan && proof.optimal);
        CHECK(plan.method == HS_DIVISIBLE_EXACT && !strcmp(proof.scope, "all orders"));
        double sum = 0.0;
        for (int i = 0; i < load.p; i++) sum += shares[i];
        CHECK(fabs(sum - size) <= 1e-12 * size && plan.answering == plan.served);
        for (int32_t d = 0; d < plan.served; d++) CHECK(shares[out[d]] > 0 && shares[in[d]] > 0);
        for (int32_t method = HS_DIVISIBLE_FIFO; method <= HS_DIVISIBLE_LIFO; method++) {
            CHECK(hs_divisible_best(&load, method, NULL, NULL, &plan, &proof) == HS_OK);
            CHECK(plan.makespan >= least * size * (1 - 1e-11) && plan.method == method);
            for (int32_t d = 0; d < plan.served; d++)
                CHECK(out[d] == in[method == HS_DIVISIBLE_FIFO ? d : plan.served - 1 - d]);
            const double best = method == HS_DIVISIBLE_FIFO ? fifo : lifo;
            if (strstr(proof.scope, "first out")) CHECK(plan.makespan <= best * size * (1 + 1e-11));
            else CHECK(proof.optimal || (method == HS_DIVISIBLE_FIFO && !*proof.scope));
        }
        load.receives = NULL;
        CHECK(hs_divisible_best(&load, HS_DIVISIBLE_BEST, NULL, NULL, &plan, &proof) == HS_OK);
        CHECK(plan.answering == 0 && plan.served > 0 && proof.optimal);
    }
}

static void best_edges(void)
{
    enum { MANY = 9 };
    double times[MANY], sends[MANY], shares[MANY];
    int32_t out[MANY], in[MANY];
    hs_certificate proof;
    hs_divisible_plan plan = {.shares = shares, .send_order = out, .receive_order = in};
    for (int i = 0; i < MANY; i++) {
        times[i] = 1 + i % 4;
        sends[i] = 0.25 * (1 + i % 3);
    }
    hs_divisible_load load = {1, MANY, times, sends, sends};
    const hs_effort no_time = {.timed = 1, .seconds = 0.0};
    const hs_effort never = {.timed = 2};
    double rules = INFINITY;
    for (int32_t method = HS_DIVISIBLE_FIFO; method <= HS_DIVISIBLE_LIFO; method++) {
        CHECK(hs_divisible_best(&load, method, NULL, NULL, &plan, &proof) == HS_OK);
        rules = fmin(rules, plan.makespan);
    }
    CHECK(hs_divisible_best(&load, HS_DIVISIBLE_BEST, &no_time, NULL, &plan, &proof) == HS_OK);
    CHECK(plan.makespan <= rules && proof.bound <= plan.makespan);
    shares[0] = -7;
    const int stop = 1;
    CHECK(hs_divisible_best(&load, 0, NULL, &stop, &plan, &proof) == HS_ERROR_CANCELLED);
    CHECK(hs_divisible_best(&load, 0, &never, NULL, &plan, &proof) == HS_ERROR_VALUE);
    CHECK(hs_divisible_best(&load, -1, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    CHECK(hs_divisible_best(&load, 3, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    for (int k = 0; k < 4; k++) {
        load.size = (const double[]){0, NAN, INFINITY, 1.7e308}[k];
        CHECK(hs_divisible_best(&load, 0, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    }
    /* shares below the normal numbers */
    load.size = 1e-308;
    CHECK(hs_divisible_best(&load, 1, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    load = (hs_divisible_load){1, 2, (const double[]){INFINITY, INFINITY}, sends, sends};
    CHECK(hs_divisible_best(&load, 0, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    load.cycle_times = (const double[]){1, 1e308};
    load.sends = (const double[]){1, 1e308};
    CHECK(hs_divisible_best(&load, 0, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    CHECK(shares[0] == -7);
    load = (hs_divisible_load){1, MANY, times, sends, sends};
    CHECK_SCARCE(hs_divisible_best(&load, 0, &no_time, NULL, &plan, &proof), shares[0] == -7);
}

int main(void)
{
    closed_forms();
    random_orders();
    useless();
    units();
    cancelled();
    refusals();
    best_plans();
    best_edges();
    return check_result();
}
