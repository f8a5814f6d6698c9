/* hs_distribute_profile: against enumeration in small cases; word boundaries, known optima, every
 * refusal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX_P = 4, MAX_N = 200 };

static double time_of(const double *times, int64_t n, int32_t i, int64_t x)
{
    return x ? times[i * (n + 1) + x] : 0.0;
}

/* Returns the least makespan of workers i .. p - 1 with `left` chunks, by enumeration. */
static double least_makespan(const double *times, int64_t n, int32_t i, int32_t p, int64_t left)
{
    if (i == p - 1) return time_of(times, n, i, left);
    double best = INFINITY;
    for (int64_t x = 0; x <= left; x++)
        best =
            fmin(best, fmax(time_of(times, n, i, x), least_makespan(times, n, i + 1, p, left - x)));
    return best;
}

static void check_agreement(int64_t n, int32_t p, const double *times)
{
    int64_t counts[MAX_P] = {-7, -7, -7, -7};
    int64_t again[MAX_P];
    int64_t sum = 0;
    double makespan = -7;
    double longest = 0;
    double best = least_makespan(times, n, 0, p, n);
    hs_status status = hs_distribute_profile(n, p, times, NULL, counts, &makespan);
    if (isinf(best)) {
        CHECK(status == HS_ERROR_INFEASIBLE && makespan == -7 && counts[0] == -7 &&
              counts[p - 1] == -7);
        return;
    }
    if (!CHECK(status == HS_OK)) return;
    for (int32_t i = 0; i < p; i++) {
        CHECK(counts[i] >= 0 && counts[i] <= n);
        sum += counts[i];
        longest = fmax(longest, time_of(times, n, i, counts[i]));
    }
    CHECK(sum == n && makespan == best && longest == best);
    CHECK(hs_distribute_profile(n, p, times, NULL, again, NULL) == HS_OK);
    CHECK(memcmp(counts, again, (size_t)p * sizeof *counts) == 0);
}

static void random_tables(void)
{
    static double times[MAX_P * (MAX_N + 1)];
    const unsigned longest[] = {0, MAX_N, MAX_N, 40, 16};
    for (int round = 0; round < 3000; round++) {
        int32_t p = 1 + (int32_t)check_random(MAX_P);
        int64_t n = check_random(longest[p] + 1);
        unsigned values = 1 + check_random(30);
        unsigned holes = check_random(3) ? 0 : 1 + check_random(4);
        for (int32_t i = 0; i < p; i++)
            for (int64_t x = 0; x <= n; x++) {
                double value = 1 + check_random(values) + (check_random(2) ? (double)x / 4 : 0.0);
                times[i * (n + 1) + x] = x == 0                             ? -1.0
                                         : holes && check_random(5) < holes ? INFINITY
                                                                            : value;
            }
        check_agreement(n, p, times);
    }
}

/* Worker 0 can do `first` chunks or none, worker 1 the rest or none. Each has one bit set, wherever
 * the words end. */
static void word_boundaries(void)
{
    static double times[2 * (MAX_N + 1)];
    for (int64_t n = 1; n <= MAX_N; n++)
        for (int64_t first = 1; first < n; first++) {
            for (int64_t x = 0; x <= 2 * n + 1; x++) times[x] = INFINITY;
            times[first] = 3;
            times[n + 1 + n - first] = 5;
            int64_t counts[2];
            double makespan;
            CHECK(hs_distribute_profile(n, 2, times, NULL, counts, &makespan) == HS_OK);
            CHECK(counts[0] == first && counts[1] == n - first && makespan == 5);
            times[first] = INFINITY;
            CHECK(hs_distribute_profile(n, 2, times, NULL, counts, &makespan) ==
                  HS_ERROR_INFEASIBLE);
        }
}

/* Constant cycle-times give the counts of hs_distribute, including ties; there are more values than
 * one sample holds. */
static void constant_times(void)
{
    enum { P = 9, N = 3000 };
    double *times = malloc(P * (N + 1) * sizeof *times);
    double cycle_times[P], makespans[2];
    if (!CHECK(times)) return;
    int64_t counts[P], wanted[P];
    for (int round = 0; round < 20; round++) {
        for (int32_t i = 0; i < P; i++) {
            cycle_times[i] = 1 + check_random(round < 10 ? 3 : 1000);
            for (int64_t x = 0; x <= N; x++) times[i * (N + 1) + x] = (double)x * cycle_times[i];
        }
        CHECK(hs_distribute(N, P, cycle_times, NULL, wanted, &makespans[0]) == HS_OK);
        CHECK(hs_distribute_profile(N, P, times, NULL, counts, &makespans[1]) == HS_OK);
        CHECK(memcmp(counts, wanted, sizeof counts) == 0 && makespans[0] == makespans[1]);
    }
    free(times);
}

/* One worker, with more times below or above the makespan than one sample holds, or as many that
 * are equal to it. */
static void many_times(void)
{
    enum { N = 20000 };
    double *times = malloc((N + 1) * sizeof *times);
    double makespan;
    if (!CHECK(times)) return;
    int64_t count;
    for (int64_t x = 0; x <= N; x++) times[x] = (double)x;
    CHECK(hs_distribute_profile(N, 1, times, NULL, &count, &makespan) == HS_OK && count == N &&
          makespan == N);
    for (int64_t x = 0; x <= N; x++) times[x] = (double)(N + 1 - x);
    CHECK(hs_distribute_profile(N, 1, times, NULL, &count, &makespan) == HS_OK && count == N &&
          makespan == 1);
    for (int64_t x = 0; x <= N; x++) times[x] = x < N ? 1 + x % 2 : 2;
    CHECK(hs_distribute_profile(N, 1, times, NULL, &count, &makespan) == HS_OK && count == N &&
          makespan == 2);
    times[N] = INFINITY;
    CHECK(hs_distribute_profile(N, 1, times, NULL, &count, &makespan) == HS_ERROR_INFEASIBLE);
    free(times);
}

static void check_refused(int64_t n, int32_t p, const double *times, int line)
{
    int64_t counts[2] = {-7, -7};
    double makespan = -7;
    hs_status status = hs_distribute_profile(n, p, times, NULL, counts, &makespan);
    check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    check_that(counts[0] == -7 && counts[1] == -7 && makespan == -7, "outputs untouched", __FILE__,
               line);
}

static void refusals(void)
{
    const double good[] = {0, 1, 0, 1};
    const double bad[] = {0.0, -0.0, -1.0, -INFINITY, NAN};
    check_refused(-1, 2, good, __LINE__);
    check_refused((INT64_C(1) << 53) + 1, 2, good, __LINE__);
    check_refused(1, 0, good, __LINE__);
    check_refused(1, -1, good, __LINE__);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_refused(1, 2, (const double[]){0, bad[i], 0, 1}, __LINE__);
        check_refused(1, 2, (const double[]){0, 1, 0, bad[i]}, __LINE__);
        int64_t counts[2];
        double makespan; /* the first entry of a row is not read */
        CHECK(hs_distribute_profile(1, 2, (const double[]){bad[i], 2, bad[i], 1}, NULL, counts,
                                    &makespan) == HS_OK);
        CHECK(counts[0] == 0 && counts[1] == 1 && makespan == 1);
        CHECK(hs_distribute_profile(0, 2, (const double[]){bad[i], bad[i]}, NULL, counts,
                                    &makespan) == HS_OK);
        CHECK(counts[0] == 0 && counts[1] == 0 && makespan == 0);
    }
}

static void scarce(void)
{
    int64_t counts[] = {-7, -7};
    double makespan = -7;
    CHECK_SCARCE(
        hs_distribute_profile(2, 2, (const double[]){0, 1, 3, 0, 2, 2.5}, NULL, counts, &makespan),
        counts[0] == -7 && makespan == -7);
}

int main(void)
{
    scarce();
    random_tables();
    word_boundaries();
    constant_times();
    many_times();
    refusals();
    return check_result();
}
