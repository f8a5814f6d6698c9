/* hs_task_counts and hs_task_deadlines: exact, against 128-bit integers; the doubles' own values;
 * every refusal. */
#include <math.h>

#include "check.h"
#include "hetsched.h"

static int64_t floor_of(__int128 numerator, __int128 t)
{
    return (int64_t)(numerator >= 0 ? numerator / t : -((-numerator + t - 1) / t));
}

static void random_integers(void)
{
    enum { P = 5, SLOTS = 7 };
    for (int round = 0; round < 3000; round++) {
        int64_t bound =
            1 + (round % 2 ? check_random(200)
                           : ((int64_t)check_random(1u << 30) << 22) + check_random(1u << 22));
        int64_t send = check_random(20);
        int64_t receive = check_random(20);
        int64_t counts[P * SLOTS];
        if (send > bound || receive > bound) continue;
        double times[P];
        double factor = ldexp(1.0, (int)check_random(1200) - 600);
        int32_t slots[P], deadlines[P];
        for (int i = 0; i < P; i++) {
            times[i] = (1 + check_random(30)) * factor;
            slots[i] = (int32_t)check_random(9);
        }
        CHECK(hs_task_counts((double)bound * factor, P, times, (double)send * factor,
                             (double)receive * factor, SLOTS, slots, NULL, counts) == HS_OK);
        int64_t now[P];
        for (int i = 0; i < P; i++) {
            int64_t t = (int64_t)(times[i] / factor);
            for (int j = 0; j < SLOTS; j++)
                CHECK(counts[i * SLOTS + j] ==
                      floor_of((__int128)bound - (j + 1) * send - slots[i] * receive, t));
            now[i] = floor_of(bound, t) - check_random(3);
            if (now[i] < 0) now[i] = 0;
        }
        if (!send) continue;
        CHECK(hs_task_deadlines((double)bound * factor, P, times, (double)send * factor, SLOTS, now,
                                NULL, deadlines) == HS_OK);
        for (int i = 0; i < P; i++) {
            int64_t last = (bound - now[i] * (int64_t)(times[i] / factor)) / send;
            CHECK(deadlines[i] == (last > SLOTS ? SLOTS : last));
        }
    }
}

static void doubles_are_what_they_are(void)
{
    int64_t count;
    const double tenth = 0.1;
    const double half = 0.5;
    const double most = 0x1p-53;
    const double least = 5e-324;
    CHECK(hs_task_counts(0.3, 1, &tenth, 0, 0, 1, NULL, NULL, &count) == HS_OK && count == 2);
    CHECK(hs_task_counts(1, 1, &half, least, 0, 1, NULL, NULL, &count) == HS_OK && count == 1);
    CHECK(hs_task_counts(1, 1, &half, 0, least, 1, (const int32_t[]){1}, NULL, &count) == HS_OK &&
          count == 1);
    /* 15 tasks fit, although (bound - send) / t rounds to less than 15 */
    const double near = 0.2404936039137613;
    CHECK((4.307404058706419 - 0.7) / near < 15);
    CHECK(hs_task_counts(4.307404058706419, 1, &near, 0.7, 0, 1, NULL, NULL, &count) == HS_OK &&
          count == 15);
    CHECK(hs_task_counts(1, 1, &most, 0, 0, 1, NULL, NULL, &count) == HS_OK && count == INT64_C(1)
                                                                                            << 53);
    CHECK(hs_task_counts(least, 1, &least, 0, 0, 1, NULL, NULL, &count) == HS_OK && count == 1);
    CHECK(hs_task_counts(1e-300, 1, (const double[]){1e308}, 1e-300, 0, 1, NULL, NULL, &count) ==
              HS_OK &&
          count == 0);
}

/* Up to 2^53 tasks fit, but few after the last message: a rounding error of a message is then worth
 * several tasks. */
static void long_messages(void)
{
    const int rounds = CHECK_MANY(20000, 2000);
    for (int round = 0; round < rounds; round++) {
        /* units of 2^-105: the bound is 1, a cycle-time nearly 2^-53 */
        const int32_t j = 2 + (int32_t)check_random(6);
        const int64_t cycle =
            (INT64_C(1) << 52) + ((int64_t)check_random(1u << 26) << 26) + check_random(1u << 26);
        const double left = ldexp(1 + check_random(1u << 20), -44);
        const double send = (1 - left) / j;
        const double t = ldexp((double)cycle, -105);
        const __int128 message = (__int128)ldexp(send, 60) << 45;
        const __int128 rest = ((__int128)1 << 105) - j * message;
        int64_t counts[7];
        CHECK(hs_task_counts(1, 1, &t, send, 0, j, NULL, NULL, counts) == HS_OK);
        CHECK(counts[j - 1] == floor_of(rest, cycle));
    }
}

/* No count is below -2^53, also where a hair decides. */
static void least_counts(void)
{
    int64_t counts[3];
    const double tiny = 5e-324;
    const double most = 0x1p-53;
    CHECK(hs_task_counts(1, 1, &most, 1, tiny, 3, (const int32_t[]){1}, NULL, counts) == HS_OK);
    CHECK(counts[0] == -1 && counts[1] == -(INT64_C(1) << 53) && counts[2] == -(INT64_C(1) << 53));
}

static void refusals(void)
{
    int64_t count = -7;
    int32_t deadline = -7;
    const double one = 1;
    const double bad[] = {0, -1, NAN, INFINITY, 0x1p-54};
    for (int k = 0; k < 5; k++) {
        CHECK(hs_task_counts(1, 1, &bad[k], 0, 0, 1, NULL, NULL, &count) == HS_ERROR_VALUE);
        if (k < 4)
            CHECK(hs_task_counts(bad[k], 1, &one, 0, 0, 1, NULL, NULL, &count) == HS_ERROR_VALUE);
        if (k && k < 4)
            CHECK(hs_task_counts(1, 1, &one, bad[k], 0, 1, NULL, NULL, &count) == HS_ERROR_VALUE);
        if (k && k < 4)
            CHECK(hs_task_counts(1, 1, &one, 0, bad[k], 1, NULL, NULL, &count) == HS_ERROR_VALUE);
    }
    CHECK(hs_task_counts(1, 0, &one, 0, 0, 1, NULL, NULL, &count) == HS_ERROR_VALUE);
    CHECK(hs_task_counts(1, 1, &one, 0, 0, 0, NULL, NULL, &count) == HS_ERROR_VALUE);
    CHECK(hs_task_counts(1, 1, &one, 0, 1, 1, (const int32_t[]){INT32_MIN}, NULL, &count) ==
          HS_ERROR_VALUE);
    CHECK(hs_task_deadlines(1, 1, &one, 0, 1, (const int64_t[]){1}, NULL, &deadline) ==
          HS_ERROR_VALUE);
    CHECK(hs_task_deadlines(1, 1, &one, 1, 1, (const int64_t[]){-1}, NULL, &deadline) ==
          HS_ERROR_VALUE);
    CHECK(count == -7 && deadline == -7);
}

int main(void)
{
    random_integers();
    doubles_are_what_they_are();
    long_messages();
    least_counts();
    refusals();
    return check_result();
}
