/* hs_distribute: the paper's numbers, ties, the ends of the double range, exact optimality, every
 * refusal. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 2000 };
static const int64_t LARGEST = INT64_C(1) << 53;

static int gives_counts(int64_t n, int32_t p, const double *times, const int64_t *wanted,
                        double wanted_makespan)
{
    int64_t counts[8], again[8];
    double makespan = -1.0;
    if (hs_distribute(n, p, times, NULL, counts, &makespan) != HS_OK) return 0;
    if (hs_distribute(n, p, times, NULL, again, NULL) != HS_OK) return 0;
    for (int32_t i = 0; i < p; i++)
        if (counts[i] != wanted[i] || again[i] != wanted[i]) return 0;
    return makespan == wanted_makespan;
}

static void paper_values(void)
{
    const double three[] = {3, 5, 8};
    const double doubling[] = {1, 2, 4};
    CHECK(gives_counts(78, 3, three, (const int64_t[]){40, 24, 14}, 120));
    CHECK(gives_counts(10, 3, three, (const int64_t[]){5, 3, 2}, 16));
    CHECK(gives_counts(7, 3, doubling, (const int64_t[]){4, 2, 1}, 4));
}

static void small_cases(void)
{
    const double equal[] = {2, 2, 2, 2};
    const double one[] = {0.1};
    const double infinite[] = {INFINITY, 5, INFINITY, 5};
    CHECK(gives_counts(0, 4, equal, (const int64_t[]){0, 0, 0, 0}, 0));
    CHECK(gives_counts(1, 4, equal, (const int64_t[]){1, 0, 0, 0}, 2));
    CHECK(gives_counts(6, 4, equal, (const int64_t[]){2, 2, 1, 1}, 4));
    CHECK(gives_counts(3, 1, one, (const int64_t[]){3}, 3 * 0.1));
    CHECK(gives_counts(5, 4, infinite, (const int64_t[]){0, 3, 0, 2}, 15));
    /* 2 * 1, 1 * 2 and 4 * 0.5 are all 2: the lowest index comes first */
    const double harmonic[] = {1, 2, 0.5};
    CHECK(gives_counts(5, 3, harmonic, (const int64_t[]){2, 0, 3}, 2));
    CHECK(gives_counts(6, 3, harmonic, (const int64_t[]){2, 1, 3}, 2));
    CHECK(gives_counts(7, 3, harmonic, (const int64_t[]){2, 1, 4}, 2));
}

static void ends_of_the_range(void)
{
    const double least = DBL_TRUE_MIN;
    const double most = DBL_MAX;
    const double above = nextafter(1, 2);
    const double below = nextafter(1, 0);
    const double subnormal[] = {least, 2 * least};
    const double huge[] = {most, most};
    const double apart[] = {1e300, 1e-300};
    CHECK(gives_counts(3, 2, subnormal, (const int64_t[]){2, 1}, 2 * least));
    CHECK(gives_counts(2, 2, huge, (const int64_t[]){1, 1}, most));
    CHECK(gives_counts(4, 2, huge, (const int64_t[]){2, 2}, INFINITY));
    CHECK(gives_counts(INT64_C(1000000000000000), 2, apart,
                       (const int64_t[]){0, INT64_C(1000000000000000)}, 1e15 * 1e-300));
    const double both_ends[] = {most, least};
    CHECK(gives_counts(LARGEST, 2, both_ends, (const int64_t[]){0, LARGEST},
                       (double)LARGEST * least));

    const double tied[] = {above, 1, below};
    CHECK(gives_counts(2, 3, tied, (const int64_t[]){0, 1, 1}, 1));
    CHECK(gives_counts(4, 3, tied, (const int64_t[]){1, 1, 2}, 2 * below));
    CHECK(gives_counts(LARGEST, 1, &above, (const int64_t[]){LARGEST}, (double)LARGEST * above));

    /* The real 3 * 0.1 is above the double 0.3. */
    const double tenths[] = {0.1, 0.3};
    CHECK(gives_counts(3, 2, tenths, (const int64_t[]){2, 1}, 0.3));
    /* 3 t rounds to 1, although the real product is 1 + 2^-53: no tie. */
    const double third[] = {nextafter(1.0 / 3, 1), 1.0};
    CHECK(3 * third[0] == 1.0);
    CHECK(gives_counts(3, 2, third, (const int64_t[]){2, 1}, 1));
}

/* With integer times everything fits into 128 bits. Let T be the makespan. The counts are optimal
 * if and only if fewer than n of the multiples k t_i are below T; the chunks that remain belong to
 * the lowest indices with a time that divides T. */
static int is_greedy_optimum(int64_t n, int32_t p, const int64_t *times, const int64_t *counts)
{
    __int128 top = 0;
    __int128 below = 0;
    __int128 sum = 0;
    for (int32_t i = 0; i < p; i++) {
        __int128 end = (__int128)counts[i] * times[i];
        if (end > top) top = end;
        if (counts[i] < 0) return 0;
        sum += counts[i];
    }
    if (sum != n) return 0;
    if (n == 0) return 1;
    for (int32_t i = 0; i < p; i++) below += (top - 1) / times[i];
    if (below >= n) return 0;
    __int128 left = n - below;
    for (int32_t i = 0; i < p; i++) {
        __int128 wanted = (top - 1) / times[i];
        if (left > 0 && top % times[i] == 0) {
            wanted++;
            left--;
        }
        if (counts[i] != wanted) return 0;
    }
    return left == 0;
}

static void random_integers(void)
{
    static int64_t integers[MAX], counts[MAX];
    static double times[MAX];
    const unsigned ranges[] = {2, 6, 40, 1000000};
    const unsigned sizes[] = {2, 5, 60, MAX};
    for (int round = 0; round < 2000; round++) {
        int32_t p = 1 + (int32_t)check_random(sizes[round % 40 ? round % 3 : 3]);
        unsigned range = ranges[check_random(4)];
        for (int32_t i = 0; i < p; i++) times[i] = (double)(integers[i] = 1 + check_random(range));
        int64_t n = check_random(2) ? check_random(300) : LARGEST - check_random(1000);
        if (check_random(3) == 0) n = (int64_t)check_random(1u << 30) << check_random(20);
        double makespan;
        double longest = 0;
        if (!CHECK(hs_distribute(n, p, times, NULL, counts, &makespan) == HS_OK)) return;
        CHECK(is_greedy_optimum(n, p, integers, counts));
        for (int32_t i = 0; i < p; i++) longest = fmax(longest, (double)counts[i] * times[i]);
        CHECK(makespan == longest);
    }
}

static void check_refused(int64_t n, int32_t p, const double *times, int line)
{
    int64_t counts[4] = {-7, -7, -7, -7};
    double makespan = -7;
    hs_status status = hs_distribute(n, p, times, NULL, counts, &makespan);
    check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    for (int i = 0; i < 4; i++) check_that(counts[i] == -7, "counts untouched", __FILE__, line);
    check_that(makespan == -7, "makespan untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2};
    check_refused(-1, 2, good, __LINE__);
    check_refused(INT64_MIN, 2, good, __LINE__);
    check_refused(LARGEST + 1, 2, good, __LINE__);
    check_refused(INT64_MAX, 2, good, __LINE__);
    check_refused(1, 0, good, __LINE__);
    check_refused(1, -1, good, __LINE__);
    const double bad[] = {0.0, -0.0, -1.0, -INFINITY, NAN, -DBL_TRUE_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_refused(1, 2, (const double[]){bad[i], 1}, __LINE__);
        check_refused(1, 2, (const double[]){1, bad[i]}, __LINE__);
        check_refused(0, 1, &bad[i], __LINE__);
    }
    check_refused(1, 2, (const double[]){INFINITY, INFINITY}, __LINE__);
    check_refused(0, 1, (const double[]){INFINITY}, __LINE__);
}

static void batches(void)
{
    enum { ROWS = 50, P = 7 };
    double times[ROWS * P], makespans[ROWS], makespan;
    int64_t n[ROWS], counts[ROWS * P], wanted[P];
    for (int k = 0; k < ROWS * P; k++)
        times[k] = k % P && check_random(6) == 0 ? INFINITY : 1 + check_random(9);
    for (int row = 0; row < ROWS; row++)
        n[row] = row % 2 ? check_random(40) : LARGEST - check_random(40);
    CHECK(hs_distribute_batch(ROWS, n, P, times, NULL, counts, makespans) == HS_OK);
    for (int row = 0; row < ROWS; row++) {
        CHECK(hs_distribute(n[row], P, times + row * P, NULL, wanted, &makespan) == HS_OK);
        CHECK(memcmp(counts + row * P, wanted, sizeof wanted) == 0 && makespans[row] == makespan);
    }
    memset(counts, -1, sizeof counts);
    CHECK(hs_distribute_batch(ROWS, n, P, times, NULL, counts, NULL) == HS_OK &&
          counts[ROWS * P - P] >= 0);
    CHECK(hs_distribute_batch(0, NULL, P, NULL, NULL, NULL, NULL) == HS_OK);

    /* one invalid row: nothing is written */
    memset(counts, -1, sizeof counts);
    CHECK(hs_distribute_batch(-1, n, P, times, NULL, counts, NULL) == HS_ERROR_VALUE);
    CHECK(hs_distribute_batch(ROWS, n, 0, times, NULL, counts, NULL) == HS_ERROR_VALUE);
    times[ROWS * P - 1] = NAN;
    CHECK(hs_distribute_batch(ROWS, n, P, times, NULL, counts, NULL) == HS_ERROR_VALUE);
    times[ROWS * P - 1] = 1;
    n[ROWS - 1] = LARGEST + 1;
    CHECK(hs_distribute_batch(ROWS, n, P, times, NULL, counts, NULL) == HS_ERROR_VALUE);
    n[ROWS - 1] = -1;
    CHECK(hs_distribute_batch(ROWS, n, P, times, NULL, counts, NULL) == HS_ERROR_VALUE);
    n[ROWS - 1] = 1;
    for (int i = 0; i < P; i++) times[ROWS * P - 1 - i] = INFINITY;
    CHECK(hs_distribute_batch(ROWS, n, P, times, NULL, counts, NULL) == HS_ERROR_VALUE);
    for (int k = 0; k < ROWS * P; k++) CHECK(counts[k] == -1);
}

static void statuses(void)
{
    for (int i = -1; i <= 100; i++) CHECK(hs_status_string(i) && hs_status_string(i)[0]);
    for (int i = HS_OK; i <= HS_ERROR_BUSY; i++)
        for (int j = i + 1; j <= HS_ERROR_BUSY + 1; j++)
            CHECK(strcmp(hs_status_string(i), hs_status_string(j)) != 0);
    CHECK(strcmp(hs_status_string(-1), hs_status_string(HS_ERROR_BUSY + 1)) == 0);
    CHECK(HS_OK == 0 && HS_ERROR_VALUE == 1 && HS_ERROR_MEMORY == 2 && HS_ERROR_INFEASIBLE == 3);
    CHECK(strspn(hs_version(), "0123456789.") == strlen(hs_version()) && strlen(hs_version()) >= 5);
}

/* Gives one chunk after the other to the worker that would end first. This is optimal, because the
 * ends of a worker's chunks increase. */
static void after_others(void)
{
    for (int round = 0; round < 4000; round++) {
        const int32_t p = 1 + (int32_t)check_random(7);
        const int64_t n = check_random(60);
        double times[7], starts[7];
        double makespan = -1;
        double wanted = 0;
        int64_t counts[7];
        int64_t slow[7] = {0};
        int64_t sum = 0;
        for (int32_t i = 0; i < p; i++) {
            times[i] = i && check_random(9) == 0
                           ? INFINITY
                           : (1 + check_random(40)) * (check_random(4) ? 1 : 0.01);
            starts[i] = check_random(3) ? check_random(100) : 0;
        }
        for (int64_t k = 0; k < n; k++) {
            int32_t first = 0;
            for (int32_t i = 1; i < p; i++)
                if (fma((double)slow[i] + 1, times[i], starts[i]) <
                    fma((double)slow[first] + 1, times[first], starts[first]))
                    first = i;
            slow[first]++;
            wanted = fmax(wanted, fma((double)slow[first], times[first], starts[first]));
        }
        CHECK(hs_distribute_after(n, p, times, starts, NULL, counts, &makespan) == HS_OK &&
              makespan == wanted);
        for (int32_t i = 0; i < p; i++) {
            CHECK(counts[i] == slow[i]);
            sum += counts[i];
        }
        CHECK(sum == n);
    }
    const double times[] = {3, 5, 8};
    const double none[] = {0, 0, 0};
    const double late[] = {0, 1e300, 0};
    const double equal[] = {1, 1};
    const double both[] = {7, 7};
    const double apart[] = {1e300, 1e-300};
    int64_t counts[3], usual[3];
    double makespan, wanted;
    CHECK(hs_distribute_after(LARGEST, 3, times, none, NULL, counts, &makespan) == HS_OK &&
          hs_distribute(LARGEST, 3, times, NULL, usual, &wanted) == HS_OK);
    CHECK(makespan == wanted && counts[0] + counts[1] + counts[2] == LARGEST);
    CHECK(hs_distribute_after(12, 3, times, late, NULL, counts, NULL) == HS_OK && counts[0] == 9 &&
          counts[1] == 0 && counts[2] == 3);
    CHECK(hs_distribute_after(LARGEST, 2, equal, both, NULL, counts, &makespan) == HS_OK &&
          counts[0] == LARGEST / 2 && makespan == 0x1p52 + 7);
    CHECK(hs_distribute_after(1000, 2, apart, none, NULL, counts, &makespan) == HS_OK &&
          counts[0] == 0 && makespan == fma(1000, 1e-300, 0));
    CHECK(hs_distribute_after(0, 2, equal, both, NULL, counts, &makespan) == HS_OK &&
          counts[0] == 0 && counts[1] == 0 && makespan == 0);
    /* Starts so large that the chunks vanish beside them: all chunks end at one time in double
     * precision, and ties go to the lowest index. */
    const double swallowed[] = {1e-300, 1, 1e-310};
    const double ones[] = {1, 1, 1};
    const double half[] = {0.5, 0.5, 0.5};
    const double hours[] = {0x1p53, 0x1p53, 0x1p53};
    CHECK(hs_distribute_after(LARGEST, 3, swallowed, ones, NULL, counts, &makespan) == HS_OK &&
          counts[0] == LARGEST && makespan == 1);
    CHECK(hs_distribute_after(LARGEST, 2, swallowed + 1, ones, NULL, counts, &makespan) == HS_OK &&
          counts[0] == 0 && counts[1] == LARGEST && makespan == 1);
    /* From 2^53 on every second integer is a double, and ties are rounded down here: each worker's
     * first two chunks end at 2^53, further chunks at 2^53 + 2. */
    CHECK(hs_distribute_after(7, 3, half, hours, NULL, counts, &makespan) == HS_OK &&
          makespan == 0x1p53 + 2);
    CHECK(counts[0] == 3 && counts[1] == 2 && counts[2] == 2);
    /* Ends may exceed double precision, too. But no chunk goes to a worker that never ends one. */
    const double vast[] = {INFINITY, 1e308, 1e308};
    CHECK(hs_distribute_after(LARGEST, 3, vast, none, NULL, counts, &makespan) == HS_OK &&
          counts[0] == 0 && counts[1] + counts[2] == LARGEST && makespan == INFINITY);
    const double negative[] = {0, -1, 0};
    const double endless[] = {0, INFINITY, 0};
    const double nan[] = {0, NAN, 0};
    const double zero[] = {3, 0, 8};
    CHECK(hs_distribute_after(-1, 3, times, none, NULL, counts, NULL) == HS_ERROR_VALUE);
    CHECK(hs_distribute_after(LARGEST + 1, 3, times, none, NULL, counts, NULL) == HS_ERROR_VALUE);
    CHECK(hs_distribute_after(1, 0, times, none, NULL, counts, NULL) == HS_ERROR_VALUE);
    CHECK(hs_distribute_after(1, 3, zero, none, NULL, counts, NULL) == HS_ERROR_VALUE);
    CHECK(hs_distribute_after(1, 3, times, negative, NULL, counts, NULL) == HS_ERROR_VALUE);
    CHECK(hs_distribute_after(1, 3, times, endless, NULL, counts, NULL) == HS_ERROR_VALUE);
    CHECK(hs_distribute_after(1, 3, times, nan, NULL, counts, NULL) == HS_ERROR_VALUE);
}

static void scarce(void)
{
    const double times[] = {3, 5, 8, 3, 5, 8};
    int64_t counts[] = {-7, -7, -7, -7, -7, -7};
    const int64_t n[] = {10, 20};
    double makespans[] = {-7, -7};
    CHECK_SCARCE(hs_distribute(10, 3, times, NULL, counts, makespans),
                 counts[0] == -7 && makespans[0] == -7);
    counts[0] = -7;
    makespans[0] = -7;
    CHECK_SCARCE(hs_distribute_batch(2, n, 3, times, NULL, counts, makespans),
                 counts[0] == -7 && counts[5] == -7 && makespans[0] == -7 && makespans[1] == -7);
}

int main(void)
{
    scarce();
    paper_values();
    small_cases();
    ends_of_the_range();
    random_integers();
    after_others();
    refusals();
    batches();
    statuses();
    return check_result();
}
