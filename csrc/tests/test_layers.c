/* hs_layers_*: against brute force in integers over counts and orders, and against whole tables;
 * large numbers, every refusal, a cancelled call, failing allocations. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 4, N = 7, MOST = 150 };

typedef struct {
    int mode, p, n;
    int64_t work[P], message[P], most[P];
} instance;

/* Draws limits of some workers: none, tight ones, or ones that leave hardly a choice. Returns
 * whether they allow all layers. */
static bool set_limits(instance *x)
{
    const int kind = (int)check_random(3);
    int64_t sum = 0;
    for (int i = 0; i < x->p; i++) {
        x->most[i] =
            kind == 0 || check_random(4) == 0
                ? x->n
                : (int64_t)check_random((unsigned)(kind == 1 ? x->n + 1 : 2 * x->n / x->p + 2));
        sum += x->most[i];
    }
    return sum >= x->n;
}

static int64_t end_of(const instance *x, const int *order, const int *counts)
{
    int64_t link = 0;
    int64_t last = 0;
    for (int d = 0; d < x->p; d++) {
        const int i = order[d];
        const int64_t begins = x->mode == HS_SCSS || x->mode == HS_SCCS ? link : 0;
        const int64_t comes = begins + counts[i] * x->message[i];
        int64_t ends = comes + counts[i] * x->work[i];
        if (x->mode == HS_SCSS || x->mode == HS_PCSS) {
            ends = begins + counts[i] * x->work[i];
            if (ends < comes) ends = comes;
        }
        link = comes;
        if (counts[i] && ends > last) last = ends;
    }
    return last;
}

/* Returns the least end over all counts, with the workers from i on sharing `left` layers. */
static int64_t least_end(const instance *x, const int *order, int *counts, int i, int left)
{
    if (i == x->p) return left ? INT64_MAX : end_of(x, order, counts);
    int64_t least = INT64_MAX;
    for (int k = 0; k <= left && k <= x->most[i]; k++) {
        counts[i] = k;
        const int64_t end = least_end(x, order, counts, i + 1, left - k);
        if (end < least) least = end;
    }
    return least;
}

/* Returns the least end over all counts and over all orders of order[k .. p). */
static int64_t least_of_all(const instance *x, int *order, int k)
{
    int counts[P];
    if (k == x->p) return least_end(x, order, counts, 0, x->n);
    int64_t least = INT64_MAX;
    for (int d = k; d < x->p; d++) {
        int kept = order[k];
        order[k] = order[d];
        order[d] = kept;
        const int64_t end = least_of_all(x, order, k + 1);
        if (end < least) least = end;
        order[d] = order[k];
        order[k] = kept;
    }
    return least;
}

static void random_instances(void)
{
    for (int round = 0; round < CHECK_MANY(1500, 300); round++) {
        instance x = {
            .mode = round % 4, .p = 1 + (int)check_random(P), .n = (int)check_random(N + 1)};
        const int limit = round % 3 ? 6 : 60;
        const int power = (int)check_random(500) - 250;
        double compute[P], send[P], start[P], received[P], end[P], makespan, bound, relaxed,
            shares[P];
        for (int i = 0; i < x.p; i++) {
            x.work[i] = 1 + check_random((unsigned)limit);
            x.message[i] = check_random((unsigned)limit);
            compute[i] = ldexp((double)x.work[i], power);
            send[i] = ldexp((double)x.message[i], power);
        }
        const bool possible = set_limits(&x);
        const hs_layers problem = {.mode = x.mode,
                                   .p = x.p,
                                   .layers = x.n,
                                   .compute = compute,
                                   .send = send,
                                   .most = x.most};
        int order[P] = {0, 1, 2, 3};
        int scratch[P];
        int optimal = -7;
        const int swap = (int)check_random((unsigned)x.p);
        order[0] = swap;
        order[swap] = 0;
        int64_t counts[P];
        int32_t chosen[P];
        if (!possible) {
            CHECK(hs_layers_exact(&problem, order, NULL, counts, &optimal) == HS_ERROR_INFEASIBLE &&
                  optimal == -7);
            CHECK(hs_layers_bound(&problem, NULL, &bound) == HS_ERROR_INFEASIBLE);
            continue;
        }
        CHECK(hs_layers_exact(&problem, order, NULL, counts, &optimal) == HS_OK && optimal == 1);
        CHECK(hs_layers_schedule(&problem, order, counts, start, received, end, &makespan) ==
              HS_OK);
        CHECK(ldexp(makespan, -power) == (double)least_end(&x, order, scratch, 0, x.n));
        CHECK(hs_layers_relaxed(&problem, order, shares, &relaxed) == HS_OK &&
              relaxed <= makespan * (1 + 1e-14));
        CHECK(hs_layers_best(&problem, 1000, NULL, chosen, counts, &optimal) == HS_OK &&
              optimal == 1);
        CHECK(hs_layers_schedule(&problem, chosen, counts, start, received, end, &makespan) ==
              HS_OK);
        CHECK(ldexp(makespan, -power) == (double)least_of_all(&x, order, 0));
        CHECK(hs_layers_bound(&problem, NULL, &bound) == HS_OK && bound <= makespan);
        CHECK(hs_layers_paper(&problem, order, NULL, counts) == HS_OK);
        CHECK(hs_layers_schedule(&problem, order, counts, start, received, end, &makespan) ==
                  HS_OK &&
              makespan >= bound);
    }
}

/* Computes whole tables: the least time for m layers by the workers of a set, which come last, in
 * any order or in the order of their numbers. */
static void fill_tables(const instance *x, bool free_order, int64_t least[1 << P][MOST + 1])
{
    for (int set = 0; set < 1 << x->p; set++)
        for (int m = 0; m <= x->n; m++) {
            least[set][m] = m ? INT64_MAX : 0;
            bool first = true;
            for (int i = 0; i < x->p; i++) {
                if (!(set >> i & 1) || !(first || free_order)) continue;
                first = false;
                const int64_t *rest = least[set & ~(1 << i)];
                int64_t hold = hs__max(x->work[i], x->message[i]);
                if (x->mode == HS_SCCS) hold = x->work[i] + x->message[i];
                for (int k = 0; k <= m && k <= x->most[i]; k++) {
                    if (rest[m - k] == INT64_MAX) continue;
                    int64_t end = k * x->message[i] + rest[m - k];
                    if (end < k * hold) end = k * hold;
                    if (end < least[set][m]) least[set][m] = end;
                }
            }
        }
}

static void many_layers(void)
{
    static int64_t least[1 << P][MOST + 1];
    for (int round = 0; round < CHECK_MANY(400, 100); round++) {
        instance x = {
            .mode = round % 2, .p = 1 + (int)check_random(P), .n = (int)check_random(MOST + 1)};
        const int slow = 1 << check_random(8);
        const int spread = 1 << check_random(6);
        double compute[P], send[P], start[P], received[P], end[P], makespan;
        for (int i = 0; i < x.p; i++) {
            x.work[i] = 1 + check_random(60);
            x.message[i] = slow + check_random((unsigned)spread);
            if (i && check_random(4) == 0) {
                x.work[i] = x.work[i - 1];
                x.message[i] = x.message[i - 1];
            }
            compute[i] = (double)x.work[i];
            send[i] = (double)x.message[i];
        }
        if (!set_limits(&x)) continue;
        const hs_layers problem = {.mode = x.mode,
                                   .p = x.p,
                                   .layers = x.n,
                                   .compute = compute,
                                   .send = send,
                                   .most = x.most};
        int64_t counts[P];
        int32_t order[P];
        int optimal = -7;
        fill_tables(&x, false, least);
        CHECK(hs_layers_exact(&problem, NULL, NULL, counts, &optimal) == HS_OK && optimal == 1);
        CHECK(hs_layers_schedule(&problem, NULL, counts, start, received, end, &makespan) == HS_OK);
        CHECK(makespan == (double)least[(1 << x.p) - 1][x.n]);
        fill_tables(&x, true, least);
        CHECK(hs_layers_best(&problem, round % 3 ? 1000 : 0, NULL, order, counts, &optimal) ==
                  HS_OK &&
              optimal == 1);
        CHECK(hs_layers_schedule(&problem, order, counts, start, received, end, &makespan) ==
              HS_OK);
        CHECK(makespan == (double)least[(1 << x.p) - 1][x.n]);
    }
}

/* 2^53 layers, and platforms with times far apart: the sum is right, and the makespan is close to
 * the relaxed one. */
static void extremes(void)
{
    const double ends[] = {0x1p-300, 0x1p-200, 1e-9, 1, 3, 1e9, 0x1p200, 0x1p300};
    for (int round = 0; round < CHECK_MANY(2000, 500); round++) {
        enum { MANY = 9 };
        double compute[MANY], send[MANY], start[MANY], received[MANY], end[MANY], relaxed, makespan,
            shares[MANY];
        double slowest = 0;
        const int p = 1 + (int)check_random(MANY);
        for (int i = 0; i < p; i++) {
            compute[i] = round % 2 ? ends[check_random(8)] : 1 + check_random(9);
            send[i] = round % 2 ? ends[check_random(8)] : check_random(3);
            if (i > 0 && check_random(9) == 0) compute[i] = INFINITY;
            else if (round % 2 == 0) slowest = fmax(slowest, compute[i] + send[i]);
        }
        const int64_t n = round % 5 ? (INT64_C(1) << 53) >> check_random(54) : 0;
        int64_t counts[MANY], most[MANY];
        int64_t sum = 0;
        int64_t room = 0;
        for (int i = 0; i < p; i++)
            most[i] =
                n / p + 1 + (int64_t)(n / 4096.0 * check_random(4096)) / (1 + 99 * check_random(2));
        for (int i = 0; i < p; i++) room += isinf(compute[i]) ? 0 : most[i];
        const hs_layers problem = {.mode = (int32_t)check_random(4),
                                   .p = p,
                                   .layers = n,
                                   .compute = compute,
                                   .send = send,
                                   .most = round % 7 < 4 && room >= n ? most : NULL};
        int32_t order[MANY] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
        int optimal;
        const hs_status status =
            round % 3 ? hs_layers_exact(&problem, NULL, NULL, counts, &optimal)
                      : hs_layers_best(&problem, 1000, NULL, order, counts, &optimal);
        if (!CHECK(status == HS_OK)) continue;
        for (int i = 0; i < p; i++) sum += counts[i];
        CHECK(sum == n);
        CHECK(hs_layers_schedule(&problem, order, counts, start, received, end, &makespan) ==
              HS_OK);
        CHECK(hs_layers_relaxed(&problem, order, shares, &relaxed) == HS_OK);
        CHECK(makespan >= relaxed * (1 - 1e-12));
        if (round % 2 == 0) CHECK(makespan <= relaxed * (1 + 1e-12) + 2 * p * slowest);
        CHECK(hs_layers_paper(&problem, NULL, shares, counts) == HS_OK);
        for (int i = 0; i < p; i++) {
            sum -= counts[i];
            CHECK(!problem.most || counts[i] <= most[i]);
        }
        CHECK(sum == 0);
    }
}

/* Equal slow links: every number of layers may remain, and there are too many such numbers to prove
 * the optimum. */
static void more_than_are_proven(void)
{
    enum { MANY = 60 };
    double compute[MANY], send[MANY], start[MANY], received[MANY], end[MANY], makespan, bound;
    int64_t counts[MANY];
    int32_t order[MANY];
    int optimal = 1;
    for (int i = 0; i < MANY; i++) {
        compute[i] = 1 + check_random(9) / 7.0;
        send[i] = 1;
    }
    const hs_layers problem = {
        .mode = HS_SCCS, .p = MANY, .layers = INT64_C(1) << 40, .compute = compute, .send = send};
    CHECK(hs_layers_exact(&problem, NULL, NULL, counts, &optimal) == HS_OK && !optimal);
    CHECK(hs_layers_schedule(&problem, NULL, counts, start, received, end, &makespan) == HS_OK);
    CHECK(hs_layers_bound(&problem, NULL, &bound) == HS_OK && makespan <= bound * (1 + 1e-10));
    const hs_layers few = {
        .mode = HS_SCSS, .p = MANY, .layers = 50, .compute = compute, .send = send};
    int better = 0;
    for (int round = 0; round < 4; round++) {
        double found[2];
        for (int i = 0; i < MANY; i++) send[i] = (1 + check_random(9)) / 7.0;
        for (int k = 0; k < 2; k++) {
            CHECK(hs_layers_best(&few, k * 1000000, NULL, order, counts, &optimal) == HS_OK &&
                  !optimal);
            CHECK(hs_layers_schedule(&few, order, counts, start, received, end, &found[k]) ==
                  HS_OK);
        }
        CHECK(found[1] <= found[0]);
        better += found[1] < found[0];
    }
    CHECK(better > 0);
}

static void refusals(void)
{
    const double one[3] = {1, 1, 1};
    const double bad[] = {-1, NAN, -INFINITY, 0x1p-301, 0x1p301, 0};
    const double endless[3] = {INFINITY, INFINITY, INFINITY};
    const int32_t orders[][3] = {{0, 1, 1}, {0, 1, 3}, {0, 1, -1}};
    double out[9] = {-7};
    double makespan = -7;
    int64_t counts[3] = {-7, -7, -7};
    int32_t chosen[3] = {-7};
    int optimal = -7;
    for (int k = 0; k < 16; k++) {
        double compute[3] = {1, 1, 1};
        double send[3] = {1, 1, 1};
        hs_layers x = {.mode = HS_SCSS, .p = 3, .layers = 5, .compute = compute, .send = send};
        if (k < 6) compute[2] = bad[k];
        else if (k < 11) send[2] = bad[k - 6];
        else if (k == 11) send[2] = INFINITY;
        else if (k == 12) x.mode = 4;
        else if (k == 13) x.p = 0;
        else if (k == 14) x.layers = (INT64_C(1) << 53) + 1;
        else x.compute = endless;
        CHECK(hs_layers_exact(&x, NULL, NULL, counts, &optimal) == HS_ERROR_VALUE);
        CHECK(hs_layers_best(&x, 9, NULL, chosen, counts, &optimal) == HS_ERROR_VALUE);
        CHECK(hs_layers_paper(&x, NULL, out, counts) == HS_ERROR_VALUE &&
              hs_layers_bound(&x, NULL, &makespan) == HS_ERROR_VALUE);
        CHECK(hs_layers_relaxed(&x, NULL, out, &makespan) == HS_ERROR_VALUE);
    }
    hs_layers x = {.mode = HS_SCSS, .p = 3, .layers = -1, .compute = one, .send = one};
    CHECK(hs_layers_exact(&x, NULL, NULL, counts, &optimal) == HS_ERROR_VALUE);
    x.layers = 5;
    x.mode = -1;
    CHECK(hs_layers_exact(&x, NULL, NULL, counts, &optimal) == HS_ERROR_VALUE);
    x.mode = HS_SCSS;
    for (int k = 0; k < 3; k++) {
        CHECK(hs_layers_exact(&x, orders[k], NULL, counts, &optimal) == HS_ERROR_VALUE);
        CHECK(hs_layers_paper(&x, orders[k], out, counts) == HS_ERROR_VALUE);
        CHECK(hs_layers_relaxed(&x, orders[k], out, &makespan) == HS_ERROR_VALUE);
    }
    const int64_t wrong[][3] = {{5, 0, 1}, {4, 0, 0}, {6, -1, 0}, {3, 1, 0}};
    for (int k = 0; k < 4; k++)
        CHECK(hs_layers_schedule(&x, NULL, wrong[k], out, out + 3, out + 6, &makespan) ==
              HS_ERROR_VALUE);
    const double half[3] = {1, INFINITY, 1};
    x.compute = half;
    CHECK(hs_layers_schedule(&x, NULL, (const int64_t[]){4, 1, 0}, out, out + 3, out + 6,
                             &makespan) == HS_ERROR_VALUE);
    x.compute = one;
    const int64_t limits[][3] = {{5, -1, 5}, {2, 2, 0}, {2, 2, 1}};
    for (int k = 0; k < 2; k++) {
        const hs_status wanted = k ? HS_ERROR_INFEASIBLE : HS_ERROR_VALUE;
        x.most = limits[k];
        CHECK(hs_layers_exact(&x, NULL, NULL, counts, &optimal) == wanted &&
              hs_layers_best(&x, 9, NULL, chosen, counts, &optimal) == wanted);
        CHECK(hs_layers_paper(&x, NULL, out, counts) == wanted &&
              hs_layers_bound(&x, NULL, &makespan) == wanted);
        CHECK(hs_layers_relaxed(&x, NULL, out, &makespan) == wanted &&
              hs_layers_relaxed(&x, orders[0], out, &makespan) == HS_ERROR_VALUE);
    }
    x.most = limits[2];
    CHECK(hs_layers_schedule(&x, NULL, (const int64_t[]){3, 1, 1}, out, out + 3, out + 6,
                             &makespan) == HS_ERROR_VALUE);
    x.most = NULL;
    x.compute = half;
    CHECK(hs_layers_exact(&x, NULL, &(int){1}, counts, &optimal) == HS_ERROR_CANCELLED);
    CHECK(hs_layers_best(&x, 9, &(int){1}, chosen, counts, &optimal) == HS_ERROR_CANCELLED);
    CHECK(out[0] == -7 && makespan == -7 && counts[0] == -7 && chosen[0] == -7 && optimal == -7);
}

static void scarce(void)
{
#ifdef HS_TEST_SCARCE
    const double compute[3] = {3, 4, 5};
    const double send[3] = {1, 2, 1};
    const int32_t order[3] = {2, 1, 0};
    double shares[3] = {-7};
    double makespan = -7;
    int64_t counts[3] = {-7};
    int32_t chosen[3] = {-7};
    int optimal = -7;
    hs_layers x = {.mode = HS_SCSS, .p = 3, .layers = 5000, .compute = compute, .send = send};
    CHECK_SCARCE(hs_layers_exact(&x, order, NULL, counts, &optimal),
                 counts[0] == -7 && optimal == -7);
    CHECK_SCARCE(hs_layers_best(&x, 99, NULL, chosen, (counts[0] = -7, counts), &optimal),
                 counts[0] == -7 && chosen[0] == -7);
    CHECK_SCARCE(hs_layers_paper(&x, order, shares, (counts[0] = -7, counts)),
                 counts[0] == -7 && shares[0] == -7);
    shares[0] = -7;
    CHECK_SCARCE(hs_layers_relaxed(&x, order, shares, &makespan),
                 shares[0] == -7 && makespan == -7);
    makespan = -7;
    CHECK_SCARCE(hs_layers_bound(&x, NULL, &makespan), makespan == -7);
    x.mode = HS_PCSS;
    CHECK_SCARCE(hs_layers_exact(&x, NULL, NULL, (counts[0] = -7, counts), &optimal),
                 counts[0] == -7);
    const int64_t most[3] = {1000, 2500, 2000};
    for (x.most = most; x.mode >= HS_SCSS; x.mode -= HS_PCSS) {
        CHECK_SCARCE(hs_layers_exact(&x, order, NULL, (counts[0] = -7, counts), &optimal),
                     counts[0] == -7);
        CHECK_SCARCE(hs_layers_best(&x, 99, NULL, (chosen[0] = -7, chosen),
                                    (counts[0] = -7, counts), &optimal),
                     counts[0] == -7 && chosen[0] == -7);
        CHECK_SCARCE(hs_layers_paper(&x, order, NULL, (counts[0] = -7, counts)), counts[0] == -7);
        CHECK_SCARCE(hs_layers_relaxed(&x, NULL, (shares[0] = -7, shares), &makespan),
                     shares[0] == -7);
        makespan = -7;
        CHECK_SCARCE(hs_layers_bound(&x, NULL, &makespan), makespan == -7);
    }
#endif
}

/* One worker can do all layers up to rounding, the other one is 2^201 times slower: the bound does
 * not wait for it to do what rounding leaves. */
static void rounding_beside_a_slow_worker(void)
{
    const double compute[] = {0.5, 0x1p200};
    const double send[] = {0x1.19799812dea11p-40, 0.0};
    const int64_t most[] = {34, 16};
    const hs_layers problem = {
        .mode = 0, .p = 2, .layers = 31, .compute = compute, .send = send, .most = most};
    double bound = 0.0;
    CHECK(hs_layers_bound(&problem, NULL, &bound) == HS_OK);
    CHECK(bound <= 15.5 && bound >= 15.5 * (1 - 1e-9));
}

int main(void)
{
    rounding_beside_a_slow_worker();
    random_instances();
    many_layers();
    extremes();
    more_than_are_proven();
    refusals();
    scarce();
    return check_result();
}
