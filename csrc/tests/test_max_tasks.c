/* hs_max_tasks, hs_max_tasks_batch, hs_min_time and hs_task_end: against all orders, against each
 * other, and the bounds and searches that they are made of. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MOST = 24 };

static int64_t counts[MOST], other_counts[MOST];
static int32_t sends_first[MOST], receives_first[MOST], some_ints[MOST], more_ints[MOST];
static hs_task_plan plan = {counts, sends_first, receives_first, 0, 0, 0, 0, 0, 0};
static hs_certificate proof;

static hs_status best_of(int32_t p, double bound, const double *times, const double *sends,
                         const double *receives)
{
    const hs_task_workers workers = {p, times, sends, receives, 0, 0};
    return hs_max_tasks(&workers, bound, HS_TASKS_BEST, NULL, NULL, &plan, &proof);
}

/* ---- all orders ---- */

/* Extends the orders of the chosen workers by each other worker; returns the most tasks. */
static int64_t most_in_orders(int32_t p, double bound, const double *times, const double *sends,
                              const double *receives, int32_t q, int32_t *out, int32_t *back,
                              unsigned in_out, unsigned in_back, int32_t sent)
{
    int64_t most = 0;
    if (sent == q) {
        int64_t found[MOST];
        const hs_status status =
            hs_task_orders(bound, p, times, sends, receives, q, out, back, found);
        return status == HS_OK ? hs__sum_tasks(p, found) : 0;
    }
    /* first the send order of q workers, then the order of their answers */
    for (int32_t i = 0; i < p; i++) {
        if (in_out >> i & 1) continue;
        out[sent] = i;
        for (int32_t j = 0; j < p; j++) {
            if (in_back >> j & 1) continue;
            back[sent] = j;
            const int64_t here = most_in_orders(p, bound, times, sends, receives, q, out, back,
                                                in_out | 1u << i, in_back | 1u << j, sent + 1);
            if (here > most) most = here;
        }
    }
    return most;
}

static int64_t most_tasks(int32_t p, double bound, const double *times, const double *sends,
                          const double *receives)
{
    int32_t out[MOST], back[MOST];
    int64_t most = 0;
    for (int32_t q = 1; q <= p; q++) {
        const int64_t here =
            most_in_orders(p, bound, times, sends, receives, q, out, back, 0, 0, 0);
        if (here > most) most = here;
    }
    return most;
}

/* Draws workers; kind 0: equal messages, 1: messages that differ. */
static void draw_workers(int32_t p, int kind, double *times, double *sends, double *receives)
{
    static const double units[] = {0.25, 0.1, 1.0 / 3};
    const double unit = units[check_random(3)];
    const int both = (int)check_random(3);
    for (int32_t i = 0; i < p; i++) {
        times[i] = (1 + check_random(9)) * (check_random(2) ? 1.0 : 0.7);
        sends[i] = i && !kind ? sends[0] : check_random(6) * unit;
        receives[i] = i && !kind ? receives[0] : check_random(6) * unit;
        if (both == 0) receives[i] = 0.0;
        if (both == 1) sends[i] = 0.0;
    }
}

/* Checks that the plan keeps its promises. */
static void check_plan(int32_t p, double bound, const double *times, const double *sends,
                       const double *receives)
{
    CHECK(plan.tasks == hs__sum_tasks(p, counts) && plan.makespan <= bound);
    CHECK(plan.answering == plan.served || plan.answering == 0);
    int32_t busy = 0;
    for (int32_t i = 0; i < p; i++) busy += counts[i] > 0;
    CHECK(busy == plan.served);
    for (int32_t d = 0; d < plan.served; d++) CHECK(counts[sends_first[d]] > 0);
    double end = 0.0;
    const hs_task_workers workers = {p, times, sends, plan.answering ? receives : NULL, 0, 0};
    if (CHECK(hs_task_end(&workers, plan.served, sends_first, receives_first, counts, &end) ==
              HS_OK))
        CHECK(end <= bound * (1 + 1e-12) && fabs(end - plan.makespan) <= 1e-12 * bound);
}

static void random_platforms(void)
{
    const int rounds = CHECK_MANY(600, 100);
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(3);
        double times[3], sends[3], receives[3];
        draw_workers(p, round % 2, times, sends, receives);
        const double bound = (1 + check_random(60)) * (round % 3 ? 0.5 : 0.37);
        const int64_t most = most_tasks(p, bound, times, sends, receives);
        const hs_task_workers workers = {p, times, sends, receives, 0, 0};
        CHECK(best_of(p, bound, times, sends, receives) == HS_OK);
        CHECK(plan.tasks == most && plan.bound == most && proof.optimal);
        CHECK(proof.value == (double)most && !strcmp(proof.scope, "all allocations"));
        check_plan(p, bound, times, sends, receives);
        const int64_t counted = plan.tasks;
        hs_status status =
            hs_max_tasks(&workers, bound, HS_TASKS_FASTEST, NULL, NULL, &plan, &proof);
        CHECK(status == HS_OK && plan.method != HS_TASKS_BEST && plan.tasks <= most &&
              plan.bound >= most);
        check_plan(p, bound, times, sends, receives);
        /* bounds that otherwise serve more workers */
        hs__bus x;
        int64_t bounds[2];
        CHECK(hs__bus_open(p, NULL, NULL, &x) == HS_OK);
        CHECK(hs__bus_set(&x, p, times, sends, receives));
        CHECK(hs__bound_linked(&x, bound, &bounds[0]) == HS_OK && bounds[0] >= most);
        CHECK(hs__bound_fractions(&x, bound, &bounds[1]) == HS_OK && bounds[1] >= most);
        hs__bus_close(&x);
        /* the least time for these tasks, and the time before it */
        if (!counted) continue;
        CHECK(hs_min_time(&workers, counted, NULL, NULL, &plan, &proof) == HS_OK);
        CHECK(proof.optimal && plan.makespan <= bound && plan.tasks == counted);
        const double least = plan.makespan;
        CHECK(best_of(p, least * (1 + 1e-14), times, sends, receives) == HS_OK &&
              plan.tasks >= counted);
        CHECK(best_of(p, least * (1 - 1e-14), times, sends, receives) == HS_OK &&
              plan.tasks < counted);
    }
}

/* ---- many workers ---- */

/* The bound by prices is a bound for any weights, and close; nothing overflows. */
static void prices(void)
{
    for (int kind = 0; kind < 3; kind++)
        for (int32_t p = 1; p <= 5; p++) {
            int64_t weights[125], cube[125], bound, total, found;
            const int64_t largest = kind == 0 ? 3 : kind == 1 ? 1000 : INT64_C(1) << 52;
            for (int32_t e = 0; e < p * p * p; e++)
                weights[e] =
                    (((int64_t)check_random(1u << 30) << 30) + check_random(1u << 30)) % largest;
            memcpy(cube, weights, sizeof cube);
            hs__bus x;
            CHECK(hs__bus_open(p, NULL, NULL, &x) == HS_OK);
            x.p = p;
            CHECK(hs_assign_axial(p, weights, NULL, some_ints, more_ints, &total) == HS_OK);
            CHECK(hs__price_tubes(&x, cube, 0, -1, &bound, &found, some_ints, more_ints) == HS_OK);
            int64_t sum = 0;
            for (int32_t i = 0; i < p; i++)
                sum += weights[(i * p + some_ints[i]) * p + more_ints[i]];
            CHECK(sum == found && found <= total && total <= bound && bound <= 2 * total + 1);
            hs__bus_close(&x);
        }
}

static void many_workers(void)
{
    double times[MOST], sends[MOST], receives[MOST], equal[MOST];
    for (int32_t i = 0; i < MOST; i++) {
        times[i] = 1.0 + check_random(1900) / 100.0;
        sends[i] = check_random(200) / 100.0;
        receives[i] = check_random(200) / 100.0;
        equal[i] = 0.7;
    }
    const double *answers[] = {NULL, equal, receives};
    for (int out = 0; out < 2; out++)
        for (int back = 0; back < 3; back++) {
            const hs_task_workers workers = {MOST, times, out ? sends : equal, answers[back], 0, 0};
            hs_status status =
                hs_max_tasks(&workers, 60.0, HS_TASKS_FASTEST, NULL, NULL, &plan, &proof);
            const int64_t fastest = plan.tasks;
            CHECK(status == HS_OK);
            /* as good as a plan in no time at all, and close to the bound */
            const hs_effort short_time = {.timed = 1, .seconds = 0.0};
            CHECK(hs_max_tasks(&workers, 60.0, HS_TASKS_BEST, &short_time, NULL, &plan, &proof) ==
                  HS_OK);
            CHECK(plan.tasks > fastest && plan.bound <= plan.tasks * 6 / 5);
            check_plan(MOST, 60.0, times, workers.sends, answers[back]);
            CHECK((plan.answering > 0) == (back > 0));
        }
}

/* A stack has the plans of its platforms, whatever the strides are. */
static void batches(void)
{
    enum { ROWS = 12, P = 4 };
    double times[ROWS * P], sends[ROWS * P], receives[ROWS * P];
    int64_t tasks[ROWS], bounds[ROWS], all[ROWS * P];
    for (int e = 0; e < ROWS * P; e++) {
        times[e] = e % 7 == 3 ? INFINITY : 1 + check_random(9);
        sends[e] = e < 2 * P ? 0.5 : check_random(5) * 0.25;
        receives[e] = check_random(5) * 0.25;
    }
    for (int shared = 0; shared < 2; shared++) {
        const ptrdiff_t stride = shared ? 0 : P;
        const hs_task_workers workers = {P, times, sends, receives, stride, stride};
        CHECK(hs_max_tasks_batch(ROWS, &workers, 20.0, HS_TASKS_BEST, NULL, NULL, tasks, bounds,
                                 all) == HS_OK);
        for (int row = 0; row < ROWS; row++) {
            CHECK(best_of(P, 20.0, times + row * P, sends + row * stride,
                          receives + row * stride) == HS_OK);
            CHECK(tasks[row] == plan.tasks && bounds[row] == plan.bound &&
                  !memcmp(all + row * P, counts, sizeof *all * P));
        }
    }
    const hs_task_workers workers = {P, times, sends, NULL, 0, 0};
    CHECK(hs_max_tasks_batch(0, &workers, 20.0, HS_TASKS_BEST, NULL, NULL, NULL, NULL, NULL) ==
          HS_OK);
    /* the second platform has different messages */
    const hs_task_workers mixed = {P, times, sends + P, NULL, P, 0};
    tasks[0] = -7;
    CHECK(hs_max_tasks_batch(2, &mixed, 20.0, HS_TASKS_PAPER, NULL, NULL, tasks, bounds, all) ==
          HS_ERROR_VALUE);
}

/* ---- the end of a plan ---- */

static void exact_ends(void)
{
    static const int32_t order[] = {1, 0};
    static const int32_t back[] = {0, 1};
    static const int32_t again[] = {0, 0};
    static const int32_t outside[] = {0, 2};
    const int64_t few[] = {3, 2};
    const int64_t many[] = {INT64_C(1) << 53, 1};
    const int64_t none[] = {-1, 1};
    double end = -7;
    hs_task_workers w = {2, (const double[]){2, 3}, (const double[]){1, 2}, NULL, 0, 0};
    CHECK(hs_task_end(&w, 2, order, NULL, few, &end) == HS_OK && end == 9);
    w.receives = (const double[]){1, 4};
    /* worker 0 answers from 9 to 10, worker 1 from 10 to 14 */
    CHECK(hs_task_end(&w, 2, order, back, few, &end) == HS_OK && end == 14);
    CHECK(hs_task_end(&w, 0, NULL, NULL, few, &end) == HS_OK && end == 0);
    /* 3 * 0.1 is a little more than 0.3 as a real number, rounded up */
    hs_task_workers one = {1, (const double[]){0.1}, NULL, NULL, 0, 0};
    CHECK(hs_task_end(&one, 1, again, NULL, few, &end) == HS_OK && end == nextafter(0.3, 1));
    /* a message of 2^-1074 lifts the end by one last digit, and a sum of denormals is exact */
    hs_task_workers tiny = {1, (const double[]){1}, (const double[]){5e-324}, NULL, 0, 0};
    CHECK(hs_task_end(&tiny, 1, again, NULL, few, &end) == HS_OK && end == nextafter(3, 4));
    tiny.cycle_times = (const double[]){5e-324};
    CHECK(hs_task_end(&tiny, 1, again, NULL, few, &end) == HS_OK && end == 4 * 5e-324);
    hs_task_workers large = {1, (const double[]){0x1p1023}, NULL, NULL, 0, 0};
    CHECK(hs_task_end(&large, 1, again, NULL, few, &end) == HS_OK && isinf(end));
    CHECK(hs_task_end(&one, 1, again, NULL, many, &end) == HS_OK && end >= 0.1 * 0x1p53);
    const int rounds = CHECK_MANY(2000, 200);
    for (int round = 0; round < rounds; round++) {
        /* against integers of 128 bits */
        const double unit = ldexp(1.0, (int)check_random(1900) - 1000);
        const int64_t long_send = ((int64_t)check_random(1u << 26) << 26) + check_random(1u << 26);
        const int64_t cycle = ((int64_t)check_random(1u << 26) << 26) + 1 + check_random(1000);
        const int64_t count = check_random(1u << 10);
        const double time = (double)cycle * unit;
        const double send = (double)long_send * unit;
        const __int128 sum = (__int128)cycle * count + long_send;
        double expected = (double)sum * unit;
        if ((__int128)(double)sum < sum) expected = nextafter((double)sum, INFINITY) * unit;
        hs_task_workers x = {1, &time, &send, NULL, 0, 0};
        CHECK(hs_task_end(&x, 1, again, NULL, &count, &end) == HS_OK && end == expected);
    }
    end = -7;
    CHECK(hs_task_end(&w, 2, again, back, few, &end) == HS_ERROR_VALUE);
    CHECK(hs_task_end(&w, 2, order, outside, few, &end) == HS_ERROR_VALUE);
    CHECK(hs_task_end(&w, 1, order, back, few, &end) == HS_ERROR_VALUE);
    CHECK(hs_task_end(&w, 3, order, back, few, &end) == HS_ERROR_VALUE);
    CHECK(hs_task_end(&w, 2, order, back, none, &end) == HS_ERROR_VALUE);
    CHECK(end == -7);
}

/* The times are the exact ends of the plans for many workers, too, so that the least time is
 * enough, and the double before it is not. */
static void exact_times_of_many(void)
{
    enum { MANY = 500 };
    static double times[MANY], receives[MANY];
    static int64_t own[MANY];
    static int32_t to[MANY], from[MANY];
    hs_task_plan found = {.counts = own, .send_order = to, .receive_order = from};
    hs_certificate of_many;
    for (int i = 0; i < MANY; i++) {
        times[i] = 50.0;
        receives[i] = 0.1;
    }
    const hs_task_workers w = {MANY, times, NULL, receives, 0, 0};
    CHECK(hs_min_time(&w, MANY, NULL, NULL, &found, &of_many) == HS_OK);
    const double least = found.makespan;
    double end;
    CHECK(hs_task_end(&w, found.served, to, from, own, &end) == HS_OK && end == least);
    CHECK(of_many.optimal && of_many.bound == least && fabs(least - 100.0) < 1e-12);
    CHECK(hs_max_tasks(&w, least, HS_TASKS_BEST, NULL, NULL, &found, &of_many) == HS_OK);
    CHECK(found.tasks >= MANY && found.makespan <= least);
    CHECK(hs_max_tasks(&w, nextafter(least, 0), HS_TASKS_BEST, NULL, NULL, &found, &of_many) ==
          HS_OK);
    CHECK(found.tasks < MANY);
}

/* ---- errors ---- */

static void refusals(void)
{
    const double one[] = {1, 1};
    const double wrong[] = {-1, NAN, INFINITY};
    const double none[] = {INFINITY, INFINITY};
    hs_task_workers w = {2, one, one, one, 0, 0};
    counts[0] = -7;
    for (int k = 0; k < 3; k++) {
        const double bad[] = {1, wrong[k]};
        CHECK(best_of(2, wrong[k], one, one, one) == HS_ERROR_VALUE);
        if (k < 2) CHECK(best_of(2, 9, bad, one, one) == HS_ERROR_VALUE);
        CHECK(best_of(2, 9, one, bad, one) == HS_ERROR_VALUE);
        CHECK(best_of(2, 9, one, one, bad) == HS_ERROR_VALUE);
    }
    CHECK(best_of(2, 0, one, one, one) == HS_ERROR_VALUE);
    CHECK(best_of(0, 9, one, one, one) == HS_ERROR_VALUE);
    CHECK(best_of(2, 9, none, one, one) == HS_ERROR_VALUE);
    CHECK(best_of(2, 0x1p54, one, one, one) == HS_ERROR_VALUE);
    for (int32_t method = -1; method <= HS_TASKS_SEARCH + 1; method++) {
        if (method >= HS_TASKS_BEST && method <= HS_TASKS_FASTEST) continue;
        CHECK(hs_max_tasks(&w, 9, method, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    }
    w.sends = (const double[]){1, 2};
    CHECK(hs_max_tasks(&w, 9, HS_TASKS_PAPER, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    const hs_effort never = {.timed = 1, .seconds = NAN};
    const hs_effort timed = {.timed = 1, .seconds = 1};
    CHECK(hs_max_tasks(&w, 9, 0, &never, NULL, &plan, &proof) == HS_ERROR_VALUE);
    CHECK(hs_min_time(&w, 9, &timed, NULL, &plan, &proof) == HS_ERROR_UNSUPPORTED);
    CHECK(hs_min_time(&w, -1, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    CHECK(hs_min_time(&w, (INT64_C(1) << 53) + 1, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    w.cycle_times = (const double[]){1e308, 1e308};
    CHECK(hs_min_time(&w, 9, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    w.cycle_times = (const double[]){1e-300, 1e-300};
    CHECK(hs_min_time(&w, 9, NULL, NULL, &plan, &proof) == HS_ERROR_VALUE);
    /* so many workers would do more tasks than an int64 can count */
    enum { CROWD = 600 };
    static double fast[CROWD];
    static int64_t crowd_counts[CROWD];
    static int32_t crowd_sends[CROWD], crowd_receives[CROWD];
    hs_task_plan crowd = {crowd_counts, crowd_sends, crowd_receives, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < CROWD; i++) fast[i] = 0x1p-53;
    const hs_task_workers all = {CROWD, fast, NULL, NULL, 0, 0};
    CHECK(hs_max_tasks(&all, 1, 0, NULL, NULL, &crowd, &proof) == HS_ERROR_VALUE);
    CHECK(counts[0] == -7);
    CHECK(hs_max_tasks(&all, 0.5, 0, NULL, NULL, &crowd, &proof) == HS_OK &&
          crowd.tasks == CROWD * (INT64_C(1) << 52));
}

/* Of many workers the bus serves five: that takes no matrix of all workers and as many slots. */
static void few_slots(void)
{
    enum { CROWD = 4000, SLOTS = 5 };
    static double times[CROWD], equal[CROWD];
    static int64_t crowd_counts[CROWD];
    static int32_t crowd_sends[CROWD], crowd_receives[CROWD];
    hs_task_plan crowd = {crowd_counts, crowd_sends, crowd_receives, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < CROWD; i++) {
        times[i] = 0.25;
        equal[i] = 1.0;
    }
    const hs_task_workers all = {CROWD, times, equal, NULL, 0, 0};
    scarce_asked();
    CHECK(hs_max_tasks(&all, SLOTS + 0.5, 0, NULL, NULL, &crowd, &proof) == HS_OK);
    CHECK(scarce_asked() < (size_t)CROWD * SLOTS * 100);
    CHECK(crowd.method == HS_TASKS_MATCHING && crowd.tasks == 2 + 6 + 10 + 14 + 18);
}

static void shortage(void)
{
    double times[14], sends[14], receives[14], equal[14];
    int64_t tasks[1], bounds[1];
    for (int i = 0; i < 14; i++) {
        times[i] = 1 + i % 5;
        sends[i] = 0.25 * (i % 3);
        receives[i] = 0.125 * (i % 4);
        equal[i] = 0.25;
    }
    const hs_task_workers all[] = {
        {3, times, NULL, NULL, 0, 0},      {14, times, equal, NULL, 0, 0},
        {7, times, equal, equal, 0, 0},    {14, times, equal, equal, 0, 0},
        {3, times, sends, receives, 0, 0}, {14, times, sends, receives, 0, 0}};
    const hs_effort short_time = {.timed = 1, .seconds = 0.0};
    for (int k = 0; k < 6; k++) {
        counts[0] = -7;
        CHECK_SCARCE(hs_max_tasks(&all[k], 9, 0, &short_time, NULL, &plan, &proof),
                     counts[0] == -7);
        CHECK_SCARCE(
            hs_max_tasks_batch(1, &all[k], 9, 0, &short_time, NULL, tasks, bounds, other_counts),
            1);
        counts[0] = -7;
        if (k < 5)
            CHECK_SCARCE(hs_min_time(&all[k], 3, NULL, NULL, &plan, &proof), counts[0] == -7);
        CHECK(hs_max_tasks(&all[k], 9, HS_TASKS_FASTEST, NULL, NULL, &plan, &proof) == HS_OK);
        const int stop = 1;
        CHECK(k == 0 ||
              hs_max_tasks(&all[k], 9, 0, NULL, &stop, &plan, &proof) == HS_ERROR_CANCELLED);
    }
    double end = -7;
    const int64_t few[] = {1, 1, 1};
    static const int32_t order[] = {0, 1, 2};
    CHECK_SCARCE(hs_task_end(&all[4], 3, order, order, few, &end), end == -7);
}

int main(void)
{
    random_platforms();
    prices();
    many_workers();
    batches();
    exact_times_of_many();
    exact_ends();
    refusals();
    few_slots();
    shortage();
    return check_result();
}
