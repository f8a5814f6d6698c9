/* hs_divisible_orders, hs_divisible_bound: closed forms, random orders against each other and the bound, refusals, scarce memory. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 6 };

static int near(double a, double b) { return fabs(a - b) <= 1e-11 * fabs(b); }

static void closed_forms(void)
{
    const double times[2] = {1, 2}, sends[2] = {1, 1}, none[2] = {0, 0};
    int32_t out[2] = {0, 1}, in[2] = {1, 0};
    double shares[2], makespan, bound;
    int optimal;
    /* no results: 2 a = T, a + 3 b = T, so a = 3 b */
    CHECK(hs_divisible_orders(2, times, sends, none, 0, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_OK && !optimal);
    CHECK(near(shares[0], 0.6 + 0.15) && near(shares[1], 0.25) && near(makespan, 1.5));
    CHECK(hs_divisible_bound(2, times, sends, none, NULL, &bound) == HS_OK && near(bound, 1.5));
    /* last in, first out: 3 a = T, 2 a + 4 b = T, so a = 4 b */
    CHECK(hs_divisible_orders(2, times, sends, sends, 0, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_OK);
    CHECK(near(shares[0], 0.8) && near(shares[1], 0.2) && near(makespan, 2.4));
    /* first in, first out: 3 a + b = T, a + 4 b = T, so 2 a = 3 b */
    in[0] = 0, in[1] = 1;
    CHECK(hs_divisible_orders(2, times, sends, sends, 0, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_OK);
    CHECK(near(shares[0], 0.6) && near(shares[1], 0.4) && near(makespan, 2.2));
    CHECK(hs_divisible_orders(2, times, sends, sends, 1, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_OK && optimal && near(makespan, 2.2));
}

static void random_orders(void)
{
    for (int round = 0; round < 300; round++) {
        double times[P], sends[P], receives[P], shares[P], makespan, found, bound, sum = 0;
        int32_t p = 1 + (int32_t)check_random(P), out[P], in[P], best[2][P];
        int optimal;
        for (int32_t i = 0; i < p; i++) {
            times[i] = 0.1 + check_random(100) / 10.0, sends[i] = check_random(20) / 10.0, receives[i] = check_random(20) / 10.0;
            int32_t a = (int32_t)check_random((unsigned)i + 1), b = (int32_t)check_random((unsigned)i + 1);
            out[i] = out[a], out[a] = i, in[i] = in[b], in[b] = i;
        }
        memcpy(best[0], out, sizeof out), memcpy(best[1], in, sizeof in);
        CHECK(hs_divisible_bound(p, times, sends, receives, NULL, &bound) == HS_OK);
        CHECK(hs_divisible_orders(p, times, sends, receives, 0, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_OK && !optimal);
        CHECK(memcmp(best[0], out, (size_t)p * sizeof *out) == 0);
        for (int32_t i = 0; i < p; i++) CHECK(shares[i] >= 0), sum += shares[i];
        CHECK(near(sum, 1));
        CHECK(hs_divisible_orders(p, times, sends, receives, 300, 1, bound, NULL, best[0], best[1], shares, &found, &optimal) == HS_OK);
        CHECK(optimal == (p < 6) && bound <= found * (1 + 1e-12) && found <= makespan * (1 + 1e-12));
        CHECK(bound > 0.5 * found);
        for (int k = 0; k < 3 && optimal; k++) { /* no other orders are better */
            for (int32_t i = 0; i < p; i++) {
                int32_t a = (int32_t)check_random((unsigned)i + 1), b = (int32_t)check_random((unsigned)i + 1);
                out[i] = out[a], out[a] = i, in[i] = in[b], in[b] = i;
            }
            CHECK(hs_divisible_orders(p, times, sends, receives, 0, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_OK);
            optimal = 1;
            CHECK(found <= makespan * (1 + 1e-12));
        }
    }
}

static void refusals(void)
{
    const double one[2] = {1, 1}, bad[] = {-1, NAN, INFINITY};
    int32_t out[2] = {0, 1}, in[2] = {0, 1}, twice[2] = {1, 1};
    double shares[2] = {-7, -7}, makespan = -7;
    int optimal = -7;
    for (int k = 0; k < 3; k++) {
        const double wrong[2] = {1, bad[k]};
        CHECK(hs_divisible_orders(2, wrong, one, one, 1, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_ERROR_VALUE);
        CHECK(hs_divisible_orders(2, one, wrong, one, 1, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_ERROR_VALUE);
        CHECK(hs_divisible_bound(2, one, one, wrong, NULL, &makespan) == HS_ERROR_VALUE);
    }
    CHECK(hs_divisible_orders(2, one, one, one, 1, 1, 0, NULL, twice, in, shares, &makespan, &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(2, one, one, one, 1, 1, 0, NULL, out, twice, shares, &makespan, &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(2, one, one, one, -1, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(2, one, one, one, 1, 1, NAN, NULL, out, in, shares, &makespan, &optimal) == HS_ERROR_VALUE);
    CHECK(hs_divisible_orders(0, one, one, one, 1, 1, 0, NULL, out, in, shares, &makespan, &optimal) == HS_ERROR_VALUE);
    CHECK(shares[0] == -7 && makespan == -7 && optimal == -7);
#ifdef HS_TEST_SCARCE
    CHECK_SCARCE(hs_divisible_orders(2, one, one, one, 1, 1, 0, NULL, out, in, shares, &makespan, &optimal), shares[0] == -7 && makespan == -7);
    makespan = -7;
    CHECK_SCARCE(hs_divisible_bound(2, one, one, one, NULL, &makespan), makespan == -7);
#endif
}

int main(void)
{
    closed_forms();
    random_orders();
    refusals();
    return check_result();
}
