/* hs_distribute_prefix: the paper's pattern, every prefix against hs_distribute, the ends of the
 * range, every refusal. hs_pattern_best: each method against its definition. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

static void paper_values(void)
{
    const double three[] = {3, 5, 8};
    const int32_t selected[] = {0, 1, 0, 2, 0, 1, 0, 0, 1, 2};
    const double costs[] = {3, 5, 6, 8, 9, 10, 12, 15, 15, 16};
    int32_t owner[10], again[10];
    double makespans[10];
    CHECK(hs_distribute_prefix(10, 3, three, NULL, owner, makespans) == HS_OK);
    CHECK(memcmp(owner, selected, sizeof owner) == 0);
    for (int k = 0; k < 10; k++) CHECK(makespans[k] == costs[k]);
    CHECK(hs_distribute_prefix(10, 3, three, NULL, again, NULL) == HS_OK);
    CHECK(memcmp(owner, again, sizeof owner) == 0);
    CHECK(hs_distribute_prefix(0, 3, three, NULL, NULL, NULL) == HS_OK);
}

static void every_prefix_is_a_distribution(void)
{
    enum { N = 60, P = 6 };
    for (int round = 0; round < 200; round++) {
        int32_t p = 1 + (int32_t)check_random(P);
        int32_t owner[N];
        double times[P], makespans[N], makespan;
        int64_t counts[P] = {0};
        int64_t wanted[P];
        for (int32_t i = 0; i < p; i++) {
            double t = 1 + check_random(round % 2 ? 4 : 100);
            times[i] = i && check_random(8) == 0 ? INFINITY
                       : round % 3               ? t
                                                 : ldexp(t, 1000 - (int)check_random(10)) / 3;
        }
        CHECK(hs_distribute_prefix(N, p, times, NULL, owner, makespans) == HS_OK);
        for (int k = 0; k < N; k++) {
            if (!CHECK(owner[k] >= 0 && owner[k] < p)) return;
            counts[owner[k]]++;
            CHECK(hs_distribute(k + 1, p, times, NULL, wanted, &makespan) == HS_OK);
            CHECK(memcmp(counts, wanted, (size_t)p * sizeof *counts) == 0);
            CHECK(makespans[k] == makespan);
        }
    }
}

static void ends_of_the_range(void)
{
    int32_t owner[4];
    double makespans[4];
    CHECK(hs_distribute_prefix(3, 2, (const double[]){DBL_TRUE_MIN, 2 * DBL_TRUE_MIN}, NULL, owner,
                               makespans) == HS_OK);
    CHECK(owner[0] == 0 && owner[1] == 0 && owner[2] == 1 && makespans[2] == 2 * DBL_TRUE_MIN);
    CHECK(hs_distribute_prefix(4, 2, (const double[]){DBL_MAX, DBL_MAX}, NULL, owner, makespans) ==
          HS_OK);
    CHECK(owner[0] == 0 && owner[1] == 1 && owner[2] == 0 && owner[3] == 1);
    CHECK(makespans[1] == DBL_MAX && isinf(makespans[2]));
    /* The real 3 * 0.1 is above the double 0.3. 3 t rounds to 1, but the real 3 t is above 1. */
    CHECK(hs_distribute_prefix(4, 2, (const double[]){0.1, 0.3}, NULL, owner, makespans) == HS_OK);
    CHECK(owner[0] == 0 && owner[1] == 0 && owner[2] == 1 && owner[3] == 0);
    CHECK(hs_distribute_prefix(4, 2, (const double[]){nextafter(1.0 / 3, 1), 1.0}, NULL, owner,
                               makespans) == HS_OK);
    CHECK(owner[0] == 0 && owner[1] == 0 && owner[2] == 1 && owner[3] == 0);
}

static void check_refused(int64_t n, int32_t p, const double *times, int line)
{
    int32_t owner = -7;
    double makespan = -7;
    hs_status status = hs_distribute_prefix(n, p, times, NULL, &owner, &makespan);
    check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    check_that(owner == -7 && makespan == -7, "outputs untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2};
    const double bad[] = {0.0, -0.0, -1.0, -INFINITY, NAN};
    check_refused(-1, 2, good, __LINE__);
    check_refused((INT64_C(1) << 53) + 1, 2, good, __LINE__);
    check_refused(1, 0, good, __LINE__);
    check_refused(1, -1, good, __LINE__);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_refused(1, 2, (const double[]){bad[i], 1}, __LINE__);
        check_refused(1, 2, (const double[]){1, bad[i]}, __LINE__);
    }
    check_refused(1, 2, (const double[]){INFINITY, INFINITY}, __LINE__);
    int32_t owner = 0;
    double step_cost;
    hs_certificate c;
    const int64_t n = (INT64_C(1) << 53) + 1;
    CHECK(hs_pattern_certificate(n, 2, good, &owner, NULL, &c) == HS_ERROR_VALUE);
    CHECK(hs_pattern_best(n, 2, good, HS_PATTERN_BEST, 0, NULL, &owner, &step_cost, &c) ==
          HS_ERROR_VALUE);
}

/* Sizes 1, 2 and more, with workers that cannot work. */
static void dealt_blocks(void)
{
    enum { N = 12, P = 4 };
    for (int round = 0; round < 400; round++) {
        const int32_t p = 1 + (int32_t)check_random(P);
        const int32_t n = 1 + (int32_t)check_random(N);
        const int32_t period = (int32_t)check_random(N + 4);
        double times[P], makespans[N], step_costs[N];
        int32_t dealt[N], owner[N];
        int64_t counts[P];
        hs_certificate c, again;
        for (int32_t i = 0; i < p; i++)
            times[i] = i && check_random(4) == 0 ? INFINITY : 1 + check_random(5);
        CHECK(hs_distribute_prefix(n, p, times, NULL, dealt, makespans) == HS_OK);
        CHECK(hs_distribute(n, p, times, NULL, counts, NULL) == HS_OK);
        for (int method = HS_PATTERN_BEST; method <= HS_PATTERN_GIVEN; method++) {
            for (int32_t k = 0; k < n; k++) owner[k] = dealt[n - 1 - k];
            if (!CHECK(hs_pattern_best(n, p, times, (hs_pattern_method)method, period, NULL, owner,
                                       step_costs, &c) == HS_OK))
                return;
            int32_t next = 0;
            int32_t first = 0;
            for (int32_t k = 0; k < n; k++) {
                while (isinf(times[next])) next = (next + 1) % p;
                while (method == HS_PATTERN_CONTIGUOUS && counts[first] == 0) first++;
                int32_t wanted_owner = dealt[(n - 1 - k) % (period ? period : n)];
                if (method == HS_PATTERN_CYCLIC) wanted_owner = next;
                if (method == HS_PATTERN_CONTIGUOUS) wanted_owner = first;
                if (method == HS_PATTERN_GIVEN) wanted_owner = dealt[n - 1 - k];
                CHECK(owner[k] == wanted_owner);
                next = (next + 1) % p;
                if (method == HS_PATTERN_CONTIGUOUS) counts[first]--;
            }
            double sum = 0;
            for (int32_t k = 0; k + 1 < n; k++) {
                double most = 0;
                for (int32_t i = 0; i < p; i++) {
                    int32_t own = 0;
                    for (int32_t j = k + 1; j < n; j++) own += owner[j] == i;
                    if (own) most = fmax(most, own * times[i]);
                }
                CHECK(step_costs[k] == most);
                sum += most;
            }
            CHECK(c.value == sum && c.bound <= sum);
            CHECK((method != HS_PATTERN_GIVEN && (method || (period && period < n))) || c.optimal);
            CHECK(strcmp(c.scope, c.optimal ? "all allocations" : "") == 0);
            CHECK(hs_pattern_certificate(n, p, times, owner, NULL, &again) == HS_OK &&
                  again.value == c.value && again.bound == c.bound);
            CHECK_SCARCE(hs_pattern_best(n, p, times, (hs_pattern_method)method, period, NULL,
                                         owner, step_costs, &c),
                         c.value == sum);
        }
    }
    int32_t owner[] = {0, 1, 2};
    double step_costs[2];
    hs_certificate c = {.value = -7};
    const double times[] = {1, DBL_MAX};
    CHECK(hs_pattern_best(3, 2, times, HS_PATTERN_GIVEN, 0, NULL, owner, step_costs, &c) ==
          HS_ERROR_VALUE); /* no such worker */
    CHECK(hs_pattern_best(3, 2, times, HS_PATTERN_CYCLIC, -1, NULL, owner, step_costs, &c) ==
          HS_ERROR_VALUE);
    CHECK(hs_pattern_best(3, 2, times, (hs_pattern_method)4, 0, NULL, owner, step_costs, &c) ==
          HS_ERROR_VALUE);
    CHECK(hs_pattern_best(0, 2, times, HS_PATTERN_BEST, 0, NULL, owner, step_costs, &c) ==
          HS_ERROR_VALUE);
    owner[2] = 1; /* the sum overflows */
    CHECK(hs_pattern_best(3, 2, times, HS_PATTERN_GIVEN, 0, NULL, owner, step_costs, &c) ==
              HS_ERROR_VALUE &&
          c.value == -7);
    CHECK(hs_pattern_best(3, 2, times, HS_PATTERN_BEST, 0, &(int){1}, owner, step_costs, &c) ==
          HS_ERROR_CANCELLED);
}

/* One of very many workers can work: dealing in turn must not look for it again for each block. */
static void rare_workers(void)
{
    enum { N = 200000, CROWD = 200000 };
    static double times[CROWD], step_costs[N - 1];
    static int32_t owner[N];
    hs_certificate c;
    for (int i = 0; i < CROWD; i++) times[i] = i == CROWD - 1 ? 2.0 : INFINITY;
    CHECK(hs_pattern_best(N, CROWD, times, HS_PATTERN_CYCLIC, 0, NULL, owner, step_costs, &c) ==
          HS_OK);
    CHECK(owner[0] == CROWD - 1 && owner[N - 1] == CROWD - 1 && c.optimal);
}

static void scarce(void)
{
    int32_t owner[5] = {-7};
    double makespans[5] = {-7};
    CHECK_SCARCE(hs_distribute_prefix(5, 2, (const double[]){1, 2}, NULL, owner, makespans),
                 owner[0] == -7 && makespans[0] == -7);
}

int main(void)
{
    scarce();
    paper_values();
    every_prefix_is_a_distribution();
    ends_of_the_range();
    refusals();
    dealt_blocks();
    rare_workers();
    return check_result();
}
