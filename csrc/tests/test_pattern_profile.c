/* hs_pattern_profile: against all owner maps of up to seven columns, the pattern for constant
 * speeds, searches that drop points, every refusal. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { N = 7, P = 3 };

/* Times of three kinds: in any order, rising in the number of columns, or with impossible
 * numbers. */
static void draw_times(int kind, int64_t n, int64_t steps, int32_t p, double *times)
{
    for (int64_t k = 0; k < steps; k++)
        for (int32_t i = 0; i < p; i++) {
            double *row = times + (k * p + i) * n;
            row[0] = NAN; /* not read */
            for (int64_t c = 1; c < n; c++) {
                row[c] = kind == 1 ? (c > 1 ? row[c - 1] : 0) + 1 + check_random(5)
                                   : 1 + check_random(20);
                if (kind == 2 && check_random(5) == 0) row[c] = INFINITY;
                if (c > n - 1 - k) row[c] = -1; /* not read */
            }
        }
}

/* The largest times of each step by definition; the sum of them. */
static double sum_steps(int64_t n, int64_t steps, int32_t p, const double *times,
                        const int32_t *owner, double *costs)
{
    double sum = 0;
    for (int64_t k = 0; k < steps; k++) {
        costs[k] = 0;
        for (int32_t i = 0; i < p; i++) {
            int64_t own = 0;
            for (int64_t j = k + 1; j < n; j++) own += owner[j] == i;
            if (own) costs[k] = fmax(costs[k], times[(k * p + i) * n + own]);
        }
        sum += costs[k];
    }
    return sum;
}

/* The least sum over all maps, and the sum of the least costs of the steps. */
static double try_all(int64_t n, int64_t steps, int32_t p, const double *times, double *bound)
{
    double least = INFINITY;
    double single[N];
    double costs[N];
    int32_t owner[N] = {0};
    for (int64_t k = 0; k < steps; k++) single[k] = INFINITY;
    for (int64_t at = 0; at < n;) {
        least = fmin(least, sum_steps(n, steps, p, times, owner, costs));
        for (int64_t k = 0; k < steps; k++) single[k] = fmin(single[k], costs[k]);
        for (at = 1; at < n && ++owner[at] == p; at++) owner[at] = 0;
    }
    *bound = 0;
    for (int64_t k = 0; k < steps; k++) *bound += single[k];
    return least;
}

static void all_maps(void)
{
    static double times[N * P * N];
    int impossible = 0;
    for (int round = 0; round < 600; round++) {
        const int64_t n = 1 + (int64_t)check_random(round % 10 ? 5 : N);
        const int32_t p = 1 + (int32_t)check_random(P);
        const int64_t steps = n == 1 ? 0 : 1 + (int64_t)check_random((unsigned)n - 1);
        int32_t owner[N] = {-7};
        double step_costs[N], costs[N], bound;
        hs_certificate c = {.value = -7}, given;
        draw_times(round % 3, n, steps, p, times);
        const double least = try_all(n, steps, p, times, &bound);
        const hs_status status =
            hs_pattern_profile(n, steps, p, times, NULL, owner, step_costs, &c);
        if (isinf(least)) {
            CHECK(status == HS_ERROR_INFEASIBLE && owner[0] == -7 && c.value == -7);
            impossible++;
            continue;
        }
        if (!CHECK(status == HS_OK)) return;
        CHECK(sum_steps(n, steps, p, times, owner, costs) == c.value && c.value == least);
        CHECK(memcmp(costs, step_costs, (size_t)steps * sizeof *costs) == 0);
        CHECK(c.optimal && c.bound == c.value && strcmp(c.scope, "all allocations") == 0);
        for (int64_t j = 1; j < n; j++) CHECK(owner[j] >= 0 && owner[j] < p);
        int64_t of_first = 0;
        for (int64_t j = 1; j < n; j++) of_first += owner[j] == owner[0];
        CHECK(n == 1 || of_first > 0);
        CHECK(hs_pattern_profile_certificate(n, steps, p, times, owner, NULL, &given) == HS_OK);
        CHECK(given.value == c.value && given.bound == bound && strcmp(given.scope, "") == 0);
        if (round % 20) continue;
        CHECK_SCARCE(hs_pattern_profile(n, steps, p, times, NULL, owner, step_costs, &c),
                     c.value == least);
        CHECK_SCARCE(hs_pattern_profile_certificate(n, steps, p, times, owner, NULL, &given),
                     given.value == least);
    }
    CHECK(impossible > 10);
}

/* Times that are proportional to the columns: the reversed list of hs_distribute_prefix. */
static void constant_speeds(void)
{
    enum { MOST = 60, WORKERS = 6 };
    static double times[MOST * WORKERS * MOST];
    for (int round = 0; round < 20; round++) {
        const int64_t n = 2 + (int64_t)check_random(MOST - 1);
        const int32_t p = 1 + (int32_t)check_random(WORKERS);
        double speeds[WORKERS], step_costs[MOST], dealt_costs[MOST];
        int32_t owner[MOST], dealt[MOST];
        hs_certificate c, best;
        for (int32_t i = 0; i < p; i++) speeds[i] = 1 + check_random(50);
        for (int64_t k = 0; k + 1 < n; k++)
            for (int32_t i = 0; i < p; i++)
                for (int64_t c1 = 1; c1 < n; c1++)
                    times[(k * p + i) * n + c1] = (double)c1 * speeds[i];
        CHECK(hs_pattern_profile(n, n - 1, p, times, NULL, owner, step_costs, &c) == HS_OK);
        CHECK(hs_pattern_best(n, p, speeds, HS_PATTERN_BEST, 0, NULL, dealt, dealt_costs, &best) ==
              HS_OK);
        CHECK(memcmp(owner + 1, dealt + 1, (size_t)(n - 1) * sizeof *owner) == 0);
        CHECK(c.optimal && c.value == best.value && c.bound == best.bound);
    }
}

/* The cost if each column, from the last one back, goes to the worker with which its step takes the
 * least time. */
static double deal_greedily(int64_t n, int32_t p, const double *times, int32_t *owner)
{
    double costs[100];
    double sum = 0;
    for (int64_t size = 1; size < n; size++) {
        const int64_t k = n - 1 - size; /* the step that updates these columns */
        int32_t best = 0;
        double least = INFINITY;
        for (int32_t i = 0; i < p; i++) {
            owner[k + 1] = i;
            sum_steps(n, n - 1, p, times, owner, costs);
            if (costs[k] < least) best = i;
            least = fmin(least, costs[k]);
        }
        owner[k + 1] = best;
        sum += least;
    }
    return sum;
}

/* More points than a level keeps: a valid map, better than the greedy one. */
static void many_points(void)
{
    enum { COLUMNS = 90, WORKERS = 8 };
    static double times[COLUMNS * WORKERS * COLUMNS];
    static int32_t owner[COLUMNS];
    static double step_costs[COLUMNS], costs[COLUMNS];
    hs_certificate c, given;
    for (int kind = 0; kind < 2; kind++) {
        draw_times(kind, COLUMNS, COLUMNS - 1, WORKERS, times);
        CHECK(hs_pattern_profile(COLUMNS, COLUMNS - 1, WORKERS, times, NULL, owner, step_costs,
                                 &c) == HS_OK);
        CHECK(sum_steps(COLUMNS, COLUMNS - 1, WORKERS, times, owner, costs) == c.value);
        CHECK(hs_pattern_profile_certificate(COLUMNS, COLUMNS - 1, WORKERS, times, owner, NULL,
                                             &given) == HS_OK);
        CHECK(given.value == c.value && given.bound == c.bound);
        CHECK(c.bound <= c.value && c.value < deal_greedily(COLUMNS, WORKERS, times, owner));
    }
    CHECK(hs_pattern_profile(COLUMNS, COLUMNS - 1, WORKERS, times, &(int){1}, owner, step_costs,
                             &c) == HS_ERROR_CANCELLED);
}

static void refusals(void)
{
    double times[2 * 2 * 3] = {NAN, 1, 2, NAN, 2, 3, NAN, 1, NAN, NAN, 2, NAN};
    int32_t owner[3] = {0, 1, 0};
    double step_costs[2] = {-7, -7};
    hs_certificate c = {.value = -7};
    CHECK(hs_pattern_profile(3, 2, 2, times, NULL, owner, step_costs, &c) == HS_OK);
    CHECK(hs_pattern_profile_certificate(3, 2, 2, times, owner, NULL, &c) == HS_OK);
    const struct {
        int64_t n, steps;
        int32_t p;
    } bad[] = {{0, 0, 2},  {-1, 0, 2},
               {3, 0, 2},  {3, 3, 2},
               {3, -1, 2}, {3, 2, 0},
               {3, 2, -1}, {INT64_C(1) << 40, 2, 2},
               {1, 1, 2},  {3, 2, (1 << 24) + 1}};
    c.value = -7;
    owner[0] = 5;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        CHECK(hs_pattern_profile(bad[k].n, bad[k].steps, bad[k].p, times, NULL, owner, step_costs,
                                 &c) == HS_ERROR_VALUE);
        CHECK(hs_pattern_profile_certificate(bad[k].n, bad[k].steps, bad[k].p, times, owner, NULL,
                                             &c) == HS_ERROR_VALUE);
    }
    CHECK(hs_pattern_profile_certificate(3, 2, 2, times, owner, NULL, &c) == HS_ERROR_VALUE);
    owner[0] = -1;
    CHECK(hs_pattern_profile_certificate(3, 2, 2, times, owner, NULL, &c) == HS_ERROR_VALUE);
    const double wrong[] = {0, -1, NAN, -INFINITY};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        times[4] = wrong[k];
        CHECK(hs_pattern_profile(3, 2, 2, times, NULL, owner, step_costs, &c) == HS_ERROR_VALUE);
    }
    times[4] = INFINITY; /* given columns that the worker cannot do */
    times[5] = INFINITY;
    const int32_t second[] = {1, 1, 0};
    CHECK(hs_pattern_profile_certificate(3, 2, 2, times, second, NULL, &c) == HS_ERROR_VALUE);
    CHECK(c.value == -7 && owner[0] == -1);
    for (size_t k = 0; k < 12; k++) times[k] = INFINITY;
    CHECK(hs_pattern_profile(3, 2, 2, times, NULL, owner, step_costs, &c) == HS_ERROR_INFEASIBLE);
    for (size_t k = 0; k < 12; k++) times[k] = DBL_MAX; /* the sum overflows */
    CHECK(hs_pattern_profile(3, 2, 2, times, NULL, owner, step_costs, &c) == HS_ERROR_VALUE);
    CHECK(c.value == -7 && owner[0] == -1);
    /* the steps are feasible one by one, but no map is: 2 columns only for worker 0, 1 only for 1 */
    const double apart[] = {NAN, INFINITY, 1, NAN, INFINITY, INFINITY,
                            NAN, INFINITY, 1, NAN, 1,        INFINITY};
    CHECK(hs_pattern_profile(3, 2, 2, apart, NULL, owner, step_costs, &c) == HS_ERROR_INFEASIBLE);
}

int main(void)
{
    all_maps();
    constant_speeds();
    many_points();
    refusals();
    return check_result();
}
