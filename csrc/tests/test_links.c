/* hs_task_orders, hs_task_links, hs_task_positions and hs_assign_axial: against brute force in
 * integers; every refusal, failing allocations. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 4 };

typedef struct {
    int64_t bound, cycle[P], send[P], back[P];
} instance;

static int64_t tasks_of(const instance *x, int q, const int *out, const int *in)
{
    int64_t sent = 0;
    int64_t all = 0;
    int64_t total = 0;
    for (int d = 0; d < q; d++) all += x->send[out[d]] + x->back[out[d]];
    if (all > x->bound) return -1;
    for (int d = 0; d < q; d++) {
        int64_t left = x->bound - (sent += x->send[out[d]]);
        for (int e = 0, passed = 0; e < q; e++)
            if (passed |= in[e] == out[d]) left -= x->back[in[e]];
        if (left > 0) total += left / x->cycle[out[d]];
    }
    return total;
}

/* Appends all orders of `items` that keep the first k of q items; returns the length of the
 * list. */
static int append_orders(int *items, int q, int (*list)[P], int count, int k)
{
    if (k == q) {
        memcpy(list[count], items, sizeof *list);
        return count + 1;
    }
    for (int d = k; d < q; d++) {
        int kept = items[k];
        items[k] = items[d];
        items[d] = kept;
        count = append_orders(items, q, list, count, k + 1);
        items[d] = items[k];
        items[k] = kept;
    }
    return count;
}

static int64_t most_tasks(const instance *x)
{
    int64_t most = 0;
    for (int set = 1; set < 1 << P; set++) {
        int items[P] = {0};
        int q = 0;
        int list[24][P];
        for (int i = 0; i < P; i++)
            if (set >> i & 1) items[q++] = i;
        int count = append_orders(items, q, list, 0, 0);
        for (int a = 0; a < count; a++)
            for (int b = 0; b < count; b++) {
                int64_t tasks = tasks_of(x, q, list[a], list[b]);
                if (tasks > most) most = tasks;
            }
    }
    return most;
}

static void random_instances(void)
{
    for (int round = 0; round < 1500; round++) {
        instance x = {.bound = 1 + check_random(round % 2 ? 40 : 1u << 30)};
        double times[P], sends[P], receives[P];
        double unit = ldexp(1.0, (int)check_random(1200) - 600);
        for (int i = 0; i < P; i++) {
            int64_t large = round % 2 ? 8 : x.bound / 10 + 2;
            x.cycle[i] = 1 + check_random((unsigned)large);
            x.send[i] = check_random((unsigned)large);
            x.back[i] = round % 3 ? check_random((unsigned)large) : 0;
            times[i] = (double)x.cycle[i] * unit;
            sends[i] = (double)x.send[i] * unit;
            receives[i] = (double)x.back[i] * unit;
        }
        const double *back = round % 3 ? receives : NULL;
        const double bound = (double)x.bound * unit;
        int32_t q, out[P], in[P];
        int64_t counts[P];
        int64_t sum = 0;
        int64_t weights[P * P * P], total;
        int optimal;
        if (!CHECK(hs_task_links(bound, P, times, sends, back, 10000, 1, NULL, &q, out, in,
                                 &optimal) == HS_OK &&
                   optimal))
            return;
        CHECK(hs_task_orders(bound, P, times, sends, back, q, out, in, counts) == HS_OK);
        for (int i = 0; i < P; i++) sum += counts[i];
        int64_t most = most_tasks(&x);
        CHECK(sum == most && tasks_of(&x, q, out, in) == most);
        CHECK(hs_task_positions(bound, P, times, sends, back, back ? P : 1, NULL, weights) ==
              HS_OK);
        if (back)
            CHECK(hs_assign_axial(P, weights, NULL, out, in, &total) == HS_OK && total >= most);
        for (int i = 1; i < P; i++) {
            sends[i] = sends[0];
            receives[i] = receives[0];
            x.send[i] = x.send[0];
            x.back[i] = x.back[0];
        }
        CHECK(hs_task_positions(bound, P, times, sends, receives, P, NULL, weights) == HS_OK);
        CHECK(hs_assign_axial(P, weights, NULL, out, in, &total) == HS_OK &&
              total == most_tasks(&x));
    }
}

/* The weights count the least that comes before a position, and there are no more positions than
 * messages that fit into the bound. */
static void positions(void)
{
    const double times[3] = {1, 1, 1};
    const double sends[3] = {5, 1, 3};
    const double receives[3] = {2, 7, 4};
    const double equal[3] = {20, 20, 20};
    const int64_t first[3][3] = {{5, 6, 9}, {1, 4, 9}, {3, 4, 9}};
    const int64_t last[3][3] = {{2, 6, 13}, {7, 9, 13}, {4, 6, 13}};
    int64_t weights[27];
    CHECK(hs_task_positions(100, 3, times, sends, receives, 3, NULL, weights) == HS_OK);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                CHECK(weights[(i * 3 + j) * 3 + k] == 100 - first[i][j] - last[i][k]);
    /* A task fits into 119 - 3 * 20 - 20, but the messages of three slaves last 120. */
    CHECK(hs_task_positions(119, 3, (const double[]){39, 39, 39}, equal, equal, 3, NULL, weights) ==
          HS_OK);
    CHECK(weights[2 * 3] == 0 && weights[2] == 0 && weights[1 * 3] == 1);
}

static void more_slaves_than_are_proven(void)
{
    enum { MANY = 40 };
    double times[MANY], sends[MANY], receives[MANY];
    int32_t q, out[MANY], in[MANY];
    int64_t counts[MANY];
    int64_t found[3] = {0};
    const int64_t work[3] = {0, 1000000, 10000000}; /* no search, a descent, restarts */
    int optimal = 1;
    for (int i = 0; i < MANY; i++) {
        times[i] = 1 + check_random(20);
        sends[i] = 1 + check_random(9);
        receives[i] = 1 + check_random(9);
    }
    for (int k = 0; k < 3; k++) {
        CHECK(hs_task_links(300, MANY, times, sends, receives, work[k], 1, NULL, &q, out, in,
                            &optimal) == HS_OK &&
              !optimal);
        CHECK(hs_task_orders(300, MANY, times, sends, receives, q, out, in, counts) == HS_OK);
        for (int i = 0; i < MANY; i++) found[k] += counts[i];
    }
    CHECK(found[2] > found[1] && found[1] > found[0]);
}

static void times_are_exact(void)
{
    const double tenth = 0.1;
    const double third = 1.0 / 3;
    const double least = 5e-324;
    const double zero = 0;
    int64_t count;
    const int32_t order = 0;
    CHECK(hs_task_orders(0.3, 1, &tenth, &zero, NULL, 1, &order, &order, &count) == HS_OK &&
          count == 2);
    CHECK(hs_task_orders(1, 1, &third, &zero, NULL, 1, &order, &order, &count) == HS_OK &&
          count == 3);
    /* 1 / 3 is rounded down */
    CHECK(hs_task_orders(1, 1, &third, &least, NULL, 1, &order, &order, &count) == HS_OK &&
          count == 3);
    CHECK(hs_task_orders(1, 1, (const double[]){0.5}, &least, &least, 1, &order, &order, &count) ==
              HS_OK &&
          count == 1);
    CHECK(hs_task_orders(1e15, 1, (const double[]){1}, (const double[]){0.5}, NULL, 1, &order,
                         &order, &count) == HS_OK &&
          count == 999999999999999);
    CHECK(hs_task_orders(1e300, 1, (const double[]){5e299}, &least, NULL, 1, &order, &order,
                         &count) == HS_OK &&
          count == 1);
    for (int round = 0; round < 3000; round++) {
        int64_t bound = ((int64_t)check_random(1u << 30) << 23) + check_random(1u << 23) + 1;
        int64_t cycle = 1 + check_random(7);
        int64_t send = check_random(5);
        double t = (double)cycle;
        double s = (double)send;
        if (send <= bound)
            CHECK(hs_task_orders((double)bound, 1, &t, &s, NULL, 1, &order, &order, &count) ==
                      HS_OK &&
                  count == (bound - send) / cycle);
    }
    CHECK(hs_task_orders(1, 1, (const double[]){1e308}, &zero, NULL, 1, &order, &order, &count) ==
              HS_OK &&
          count == 0);
}

/* The tasks of all workers together are counted in 64 bits. */
static void too_many_tasks(void)
{
    enum { MANY = 600 };
    static double cycles[MANY], sends[MANY];
    static int32_t to[MANY], back[MANY];
    int32_t q = -7;
    int optimal = -7;
    for (int i = 0; i < MANY; i++) {
        cycles[i] = 0x1p-53;
        sends[i] = 1e-9;
    }
    CHECK(hs_task_links(1.0, 500, cycles, sends, NULL, 1000, 1, NULL, &q, to, back, &optimal) ==
          HS_OK);
    CHECK(hs_task_links(1.0, MANY, cycles, sends, NULL, 1000, 1, NULL, &q, to, back, &optimal) ==
          HS_ERROR_VALUE);
}

static void refusals(void)
{
    const double one[2] = {1, 1};
    const double bad[] = {-1, NAN, INFINITY};
    const double tiny[2] = {0x1p-54, 1};
    const int32_t order[2] = {0, 1};
    const int32_t twice[2] = {1, 1};
    const int32_t outside[2] = {0, 2};
    int32_t q = -7;
    int32_t out[2] = {-7, -7};
    int32_t in[2] = {-7, -7};
    int64_t counts[8] = {-7};
    int64_t weights[8] = {0};
    int64_t total = -7;
    int optimal = -7;
    for (int k = 0; k < 3; k++) {
        const double wrong[2] = {1, bad[k]};
        CHECK(hs_task_links(bad[k], 2, one, one, one, 0, 1, NULL, &q, out, in, &optimal) ==
              HS_ERROR_VALUE);
        CHECK(hs_task_links(9, 2, wrong, one, one, 0, 1, NULL, &q, out, in, &optimal) ==
              HS_ERROR_VALUE);
        CHECK(hs_task_links(9, 2, one, wrong, one, 0, 1, NULL, &q, out, in, &optimal) ==
              HS_ERROR_VALUE);
        CHECK(hs_task_links(9, 2, one, one, wrong, 0, 1, NULL, &q, out, in, &optimal) ==
              HS_ERROR_VALUE);
    }
    CHECK(hs_task_links(1, 2, tiny, one, one, 0, 1, NULL, &q, out, in, &optimal) == HS_ERROR_VALUE);
    CHECK(hs_task_links(1, 0, one, one, one, 0, 1, NULL, &q, out, in, &optimal) == HS_ERROR_VALUE);
    CHECK(hs_task_positions(1, 2, one, one, one, 0, NULL, weights) == HS_ERROR_VALUE &&
          hs_task_positions(1, 2, one, one, one, 3, NULL, weights) == HS_ERROR_VALUE);
    CHECK(hs_task_orders(9, 2, one, one, one, 3, order, order, counts) == HS_ERROR_VALUE);
    CHECK(hs_task_orders(9, 2, one, one, one, 2, twice, order, counts) == HS_ERROR_VALUE);
    CHECK(hs_task_orders(9, 2, one, one, one, 2, order, outside, counts) == HS_ERROR_VALUE);
    /* the slaves of the two orders are not the same */
    CHECK(hs_task_orders(9, 2, one, one, one, 1, order, twice, counts) == HS_ERROR_VALUE);
    CHECK(hs_task_orders(3.5, 2, one, one, one, 2, order, order, counts) == HS_ERROR_INFEASIBLE);
    CHECK(hs_task_orders(1.5, 2, one, one, NULL, 2, order, NULL, counts) == HS_ERROR_INFEASIBLE);
    weights[3] = -1;
    CHECK(hs_assign_axial(2, weights, NULL, out, in, &total) == HS_ERROR_VALUE);
    weights[3] = (INT64_C(1) << 58) + 1;
    CHECK(hs_assign_axial(2, weights, NULL, out, in, &total) == HS_ERROR_VALUE);
    weights[3] = 0;
    CHECK(hs_assign_axial(0, weights, NULL, out, in, &total) == HS_ERROR_VALUE &&
          hs_assign_axial(13, weights, NULL, out, in, &total) == HS_ERROR_VALUE);
    CHECK(q == -7 && out[0] == -7 && in[1] == -7 && counts[0] == -7 && total == -7 &&
          optimal == -7);
}

static void scarce(void)
{
#ifdef HS_TEST_SCARCE
    const double one[2] = {1, 1};
    const int32_t order[2] = {0, 1};
    int32_t q = -7;
    int32_t out[2] = {-7, -7};
    int32_t in[2];
    int64_t counts[8] = {-7};
    int64_t weights[8] = {0};
    int64_t total = -7;
    int optimal;
    CHECK_SCARCE(hs_task_links(9, 2, one, one, one, 0, 1, NULL, &q, out, in, &optimal),
                 q == -7 && out[0] == -7);
    CHECK_SCARCE(hs_task_orders(9, 2, one, one, one, 2, order, order, counts), counts[0] == -7);
    counts[0] = -7;
    CHECK_SCARCE(hs_task_positions(9, 2, one, one, one, 2, NULL, counts), counts[0] == -7);
    CHECK_SCARCE(hs_assign_axial(2, weights, NULL, out, in, &total), total == -7);
#endif
}

int main(void)
{
    random_instances();
    positions();
    more_slaves_than_are_proven();
    times_are_exact();
    too_many_tasks();
    refusals();
    scarce();
    return check_result();
}
