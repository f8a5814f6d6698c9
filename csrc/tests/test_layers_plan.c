/* hs_layers_plan, hs_layers_batch and hs_layers_room: plans against the stages, given plans, memory,
 * stacks against single plans, every refusal, a cancelled call, failing allocations. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 5, ROWS = 7 };

typedef struct {
    int64_t counts[P];
    int32_t order[P];
    double receive[2 * P], compute[2 * P], shares[P];
} arrays;

static hs_layers_result result_of(arrays *a)
{
    return (hs_layers_result){.counts = a->counts,
                              .order = a->order,
                              .receive = a->receive,
                              .compute = a->compute,
                              .shares = a->shares};
}

static void check_plan(const hs_layers_product *x, hs_layers_method method)
{
    arrays own, given;
    hs_layers_result result = result_of(&own);
    hs_layers_result again = result_of(&given);
    hs_certificate c, alike;
    double compute[P], send[P];
    double last = 0;
    int64_t most[P];
    int64_t sum = 0;
    const int64_t side = x->n ? x->n : 1;
    if (!CHECK(hs_layers_plan(x, method, NULL, &result, &c) == HS_OK)) return;
    for (int i = 0; i < x->p; i++) {
        compute[i] = x->cycle_times[i] * (double)(side * side);
        send[i] = x->link_costs[i] * (double)(2 * side);
        sum += result.counts[i];
        last = fmax(last, result.compute[2 * i + 1]);
        if (x->memory && result.counts[i])
            CHECK((double)(2 * x->n * result.counts[i] + (x->disk ? x->n : x->n * x->n)) <=
                  x->memory[i]);
    }
    CHECK(sum == x->n && last == c.value && c.bound <= c.value);
    const hs_layers layers = {.mode = x->mode,
                              .p = x->p,
                              .layers = x->n,
                              .compute = compute,
                              .send = send,
                              .most = x->memory ? most : NULL};
    if (x->memory)
        CHECK(hs_layers_room(x->n, x->disk ? x->n : x->n * x->n, x->p, x->memory, most) == HS_OK);
    double bound;
    CHECK(hs_layers_bound(&layers, NULL, &bound) == HS_OK);
    CHECK(c.bound == (c.optimal ? c.value : bound));
    const int sequential = x->mode == HS_SCSS || x->mode == HS_SCCS;
    if (c.optimal) CHECK(strcmp(c.scope, "all orders and counts") == 0);
    else
        CHECK(strcmp(c.scope,
                     method == HS_LAYERS_EXACT ? "plans with messages in this order" : "") == 0);
    if (method == HS_LAYERS_BEST || (method == HS_LAYERS_EXACT && !sequential)) CHECK(c.optimal);
    int32_t served = 0;
    for (int i = 0; i < x->p; i++) served += result.counts[i] > 0;
    CHECK(result.served == served);
    for (int32_t d = 1; d < served; d++) {
        const int32_t a = result.order[d - 1];
        const int32_t b = result.order[d];
        CHECK(result.counts[a] > 0 && result.counts[b] > 0);
        CHECK(sequential ? result.receive[2 * a + 1] == result.receive[2 * b] : a < b);
    }
    CHECK(result.relaxed <= c.value * (1 + 1e-12) || method == HS_LAYERS_PAPER);
    memcpy(given.counts, own.counts, sizeof given.counts);
    memcpy(given.order, own.order, sizeof given.order);
    again.served = result.served;
    CHECK(hs_layers_plan(x, HS_LAYERS_GIVEN, NULL, &again, &alike) == HS_OK);
    CHECK(alike.value == c.value && alike.scope[0] == 0 && again.served == result.served &&
          memcmp(own.counts, given.counts, (size_t)x->p * sizeof *own.counts) == 0 &&
          memcmp(own.receive, given.receive, 2 * (size_t)x->p * sizeof *own.receive) == 0 &&
          memcmp(own.compute, given.compute, 2 * (size_t)x->p * sizeof *own.compute) == 0);
}

static void plans(void)
{
    for (int round = 0; round < CHECK_MANY(600, 120); round++) {
        double times[P], costs[P], memory[P];
        const int32_t p = 1 + (int32_t)check_random(P);
        const int64_t n = round % 20 ? 1 + check_random(40) : 0;
        for (int i = 0; i < p; i++) {
            times[i] = i && check_random(6) == 0 ? INFINITY : 1 + check_random(9);
            costs[i] = check_random(6) * (double)n / 4;
            memory[i] = (double)(n * n + 2 * n * check_random((unsigned)n + 1));
        }
        memory[0] = INFINITY;
        const hs_layers_product x = {round % 4,     p, n, times, costs, round % 3 ? NULL : memory,
                                     round % 6 == 3};
        check_plan(&x, HS_LAYERS_EXACT);
        check_plan(&x, HS_LAYERS_BEST);
        check_plan(&x, HS_LAYERS_PAPER);
    }
}

static void rooms(void)
{
    const double memory[] = {0, 99, 100, 119, 120, 1e9, INFINITY};
    const int64_t wanted[] = {0, 0, 0, 0, 1, 10, 10};
    int64_t most[7];
    CHECK(hs_layers_room(10, 100, 7, memory, most) == HS_OK &&
          memcmp(most, wanted, sizeof most) == 0);
    CHECK(hs_layers_room(0, 0, 7, memory, most) == HS_OK && most[0] == 0 && most[6] == 0);
    CHECK(hs_layers_room(10, 100, 0, NULL, NULL) == HS_OK);
    most[0] = -7;
    CHECK(hs_layers_room(-1, 0, 7, memory, most) == HS_ERROR_VALUE);
    CHECK(hs_layers_room(HS_LAYERS_SIDE + INT64_C(1), 0, 7, memory, most) == HS_ERROR_VALUE);
    CHECK(hs_layers_room(1, -1, 7, memory, most) == HS_ERROR_VALUE);
    CHECK(hs_layers_room(1, 0, -1, memory, most) == HS_ERROR_VALUE);
    CHECK(hs_layers_room(1, 0, 1, (const double[]){NAN}, most) == HS_ERROR_VALUE);
    CHECK(hs_layers_room(1, 0, 1, (const double[]){-1}, most) == HS_ERROR_VALUE && most[0] == -7);
}

static void stacks(hs_layers_method method)
{
    double times[ROWS * P], costs[ROWS * P], memory[ROWS * P], makespans[ROWS], bounds[ROWS];
    int64_t counts[ROWS * P];
    int32_t optimal[ROWS];
    for (int32_t mode = 0; mode < 8; mode++) {
        for (int32_t k = 0; k < ROWS * P; k++) {
            times[k] = 1 + (double)check_random(9);
            costs[k] = 20 * (1 + (double)check_random(5));
            memory[k] = k / P % 2 ? INFINITY : 1600 + 80.0 * (10 + check_random(30));
        }
        times[3] = INFINITY; /* a worker that gets nothing */
        const hs_layers_product all = {mode % 4, P, 40, times, costs, mode < 4 ? NULL : memory, 0};
        if (!CHECK(hs_layers_batch(method, ROWS, &all, NULL, counts, makespans, bounds, optimal) ==
                   HS_OK))
            return;
        for (int32_t row = 0; row < ROWS; row++) {
            hs_layers_product one = all;
            arrays own;
            hs_layers_result result = result_of(&own);
            hs_certificate c;
            one.cycle_times += row * P;
            one.link_costs += row * P;
            if (one.memory) one.memory += row * P;
            CHECK(hs_layers_plan(&one, method, NULL, &result, &c) == HS_OK);
            CHECK(memcmp(own.counts, counts + row * P, sizeof own.counts) == 0);
            CHECK(makespans[row] == c.value && bounds[row] == c.bound && optimal[row] == c.optimal);
        }
    }
}

static void refusals(void)
{
    const double one[] = {1, 1, 1};
    const double endless[] = {INFINITY, INFINITY, INFINITY};
    const double zero[] = {1, 0, 1};
    const double huge[] = {1, 0x1p290, 1};
    const double most[] = {1, 0x1p1023, 1};
    const double little[] = {50, 60, 40};
    arrays a;
    hs_layers_result result = result_of(&a);
    hs_certificate c = {.value = -7};
    double makespan = -7;
    double bound = -7;
    int32_t optimal = -7;
    const hs_layers_product wrong[] = {
        {4, 3, 100, one, one, NULL, 0},
        {-1, 3, 100, one, one, NULL, 0},
        {0, 0, 100, one, one, NULL, 0},
        {0, 3, -1, one, one, NULL, 0},
        {0, 3, HS_LAYERS_SIDE + INT64_C(1), one, one, NULL, 0},
        {0, 3, 100, NULL, one, NULL, 0},
        {0, 3, 100, one, NULL, NULL, 0},
        {0, 3, 100, one, one, NULL, 2},
        {0, 3, 100, zero, one, NULL, 0},
        {0, 3, 100, endless, one, NULL, 0},
        {0, 3, 100, one, endless, NULL, 0},
        {0, 3, 100, huge, one, NULL, 0},            /* n^2 times as much is out of range */
        {0, 3, HS_LAYERS_SIDE, most, one, NULL, 0}, /* overflows, and is not infinite */
        {0, 3, HS_LAYERS_SIDE, one, most, NULL, 0},
        {0, 3, 100, one, one, (const double[]){1, NAN, 1}, 0},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        CHECK(hs_layers_plan(&wrong[k], HS_LAYERS_EXACT, NULL, &result, &c) == HS_ERROR_VALUE);
        CHECK(hs_layers_batch(HS_LAYERS_EXACT, 1, &wrong[k], NULL, a.counts, &makespan, &bound,
                              &optimal) == HS_ERROR_VALUE);
    }
    const hs_layers_product x = {0, 3, 5, one, one, NULL, 0};
    CHECK(hs_layers_plan(&x, (hs_layers_method)4, NULL, &result, &c) == HS_ERROR_VALUE);
    CHECK(hs_layers_plan(&x, (hs_layers_method)-1, NULL, &result, &c) == HS_ERROR_VALUE);
    CHECK(hs_layers_batch(HS_LAYERS_GIVEN, 1, &x, NULL, a.counts, &makespan, &bound, &optimal) ==
          HS_ERROR_VALUE);
    CHECK(hs_layers_batch(HS_LAYERS_EXACT, -1, &x, NULL, a.counts, &makespan, &bound, &optimal) ==
          HS_ERROR_VALUE);
    CHECK(hs_layers_batch(HS_LAYERS_EXACT, 0, &x, NULL, NULL, NULL, NULL, NULL) == HS_OK);
    const hs_layers_product tight = {0, 3, 5, one, one, little, 0};
    CHECK(hs_layers_plan(&tight, HS_LAYERS_BEST, NULL, &result, &c) == HS_OK);
    const hs_layers_product short_of_room = {0, 1, 5, one, one, little + 1, 0};
    CHECK(hs_layers_plan(&short_of_room, HS_LAYERS_BEST, NULL, &result, &c) == HS_ERROR_INFEASIBLE);
    c.value = -7;
    const int32_t orders[][3] = {{0, 0, 1}, {0, 1, 3}, {-1, 1, 0}};
    for (int k = 0; k < 5; k++) {
        memcpy(a.order, orders[k % 3], sizeof orders[0]);
        memcpy(a.counts, (const int64_t[]){2, 2, 1}, 3 * sizeof *a.counts);
        result.served = k < 3 ? 3 : k == 3 ? 4 : -1;
        CHECK(hs_layers_plan(&x, HS_LAYERS_GIVEN, NULL, &result, &c) == HS_ERROR_VALUE);
    }
    result.served = 0;
    a.counts[0] = 3;
    CHECK(hs_layers_plan(&x, HS_LAYERS_GIVEN, NULL, &result, &c) == HS_ERROR_VALUE);
    CHECK(hs_layers_plan(&x, HS_LAYERS_BEST, &(int){1}, &result, &c) == HS_ERROR_CANCELLED);
    CHECK(hs_layers_batch(HS_LAYERS_PAPER, 1, &x, &(int){1}, a.counts, &makespan, &bound,
                          &optimal) == HS_ERROR_CANCELLED);
    CHECK(c.value == -7);
}

static void scarce(void)
{
    const double times[] = {3, 4, 5};
    const double costs[] = {10, 20, 10};
    const double memory[] = {4000, 9000, 9000};
    const hs_layers_product x = {HS_SCSS, 3, 50, times, costs, memory, 0};
    arrays a;
    hs_layers_result result = result_of(&a);
    double makespan = -7;
    double bound;
    int32_t optimal;
    hs_certificate c = {.value = -7};
    for (int method = HS_LAYERS_EXACT; method <= HS_LAYERS_GIVEN; method++) {
        c.value = -7; /* the last method evaluates the plan of the one before */
        CHECK_SCARCE(hs_layers_plan(&x, (hs_layers_method)method, NULL, &result, &c), 1);
    }
    CHECK_SCARCE(
        hs_layers_batch(HS_LAYERS_EXACT, 1, &x, NULL, a.counts, &makespan, &bound, &optimal),
        makespan == -7);
}

int main(void)
{
    plans();
    rooms();
    stacks(HS_LAYERS_EXACT);
    stacks(HS_LAYERS_BEST);
    stacks(HS_LAYERS_PAPER);
    refusals();
    scarce();
    return check_result();
}
