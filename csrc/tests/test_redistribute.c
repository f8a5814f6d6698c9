/* hs_ring_redistribute: each schedule is replayed item by item, and the bound is compared with all
 * flows; refusals, failing allocations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MOST = 6, ITEMS = 30, ROOM = 2 * MOST * ITEMS };

typedef struct {
    int64_t before[MOST], after[MOST];
    double next[MOST], previous[MOST];
    hs_redistribution x;
} instance;

static void make_instance(instance *a)
{
    static const double costs[] = {0, 1, 1, 2, 3, 0.25, 7};
    a->x = (hs_redistribution){.size = 1 + (int32_t)check_random(MOST),
                               .before = a->before,
                               .after = a->after,
                               .next = a->next,
                               .previous = check_random(3) ? a->previous : NULL,
                               .closed = check_random(3) != 0};
    const int equal = check_random(2) == 0;
    for (int32_t k = 0; k < a->x.size; k++) {
        a->before[k] = a->after[k] = 0;
        a->next[k] = a->previous[k] = 1;
        if (equal) continue;
        a->next[k] = costs[check_random(7)];
        a->previous[k] = costs[check_random(7)];
    }
    for (unsigned item = check_random(ITEMS); item > 0; item--) {
        a->before[check_random((unsigned)a->x.size)]++;
        a->after[check_random((unsigned)a->x.size)]++;
    }
}

/* Returns the time of the busiest port for flows with a shift; infinite if they are not allowed. */
static double port_time(const hs_redistribution *x, int64_t shift)
{
    const int32_t q = x->size;
    int64_t flow[MOST];
    int64_t sum = 0;
    for (int32_t k = 0; k < q; k++) {
        sum += x->before[k] - x->after[k];
        flow[k] = sum + shift;
        if (flow[k] < 0 && !x->previous) return INFINITY;
    }
    if (shift != 0 && !x->closed) return INFINITY;
    double most = 0;
    for (int32_t k = 0; k < q; k++) {
        const int64_t in = flow[(k + q - 1) % q];
        const int64_t out = flow[k];
        const double sent =
            (out > 0 ? (double)out * x->next[k] : 0) + (in < 0 ? (double)-in * x->previous[k] : 0);
        const double received = (in > 0 ? (double)in * x->next[(k + q - 1) % q] : 0) +
                                (out < 0 ? (double)-out * x->previous[(k + 1) % q] : 0);
        most = fmax(most, fmax(sent, received));
    }
    return most;
}

typedef struct {
    int32_t sender, receiver;
    double start, end;
} transfer;

/* Replays the schedule: a port is busy with one item at a time, and a member sends what it has. */
static void replay(const hs_redistribution *x, int64_t count, const int32_t *senders,
                   const int32_t *receivers, const int64_t *items, const double *starts,
                   const double *periods, double makespan)
{
    static transfer all[MOST * ITEMS];
    int n = 0;
    double last = 0;
    for (int64_t m = 0; m < count; m++) {
        const int32_t i = senders[m];
        const int32_t j = receivers[m];
        if (!CHECK(i >= 0 && j >= 0 && i < x->size && j < x->size && items[m] >= 1)) return;
        const int up = j == (i + 1) % x->size;
        const int down = i == (j + 1) % x->size;
        CHECK(up || (down && x->previous));
        /* of two members each is on both sides */
        const double time = up && down ? periods[m] : up ? x->next[i] : x->previous[i];
        CHECK(periods[m] >= time);
        for (int64_t k = 0; k < items[m]; k++) {
            const double start = starts[m] + (double)k * periods[m];
            if (!CHECK(n < MOST * ITEMS)) return;
            all[n++] = (transfer){i, j, start, start + time};
            last = fmax(last, start + time);
        }
    }
    CHECK(fabs(last - makespan) <= 1e-12 * makespan || x->size == 2);
    const double slack = 1e-9;
    for (int a = 0; a < n; a++) {
        CHECK(all[a].start >= -slack);
        for (int b = 0; b < n; b++) {
            if (a == b || all[a].start == all[a].end || all[b].start == all[b].end) continue;
            if (all[a].sender != all[b].sender && all[a].receiver != all[b].receiver) continue;
            CHECK(all[a].end <= all[b].start + slack || all[b].end <= all[a].start + slack);
        }
    }
    for (int32_t k = 0; k < x->size; k++) {
        int64_t held = x->before[k];
        for (int a = 0; a < n; a++) held += (all[a].receiver == k) - (all[a].sender == k);
        CHECK(held == x->after[k]);
        for (int a = 0; a < n; a++) { /* what it has after its a-th item has left */
            if (all[a].sender != k || x->size == 2) continue;
            held = x->before[k];
            for (int b = 0; b < n; b++)
                held += (all[b].receiver == k && all[b].end <= all[a].start + slack) -
                        (all[b].sender == k && all[b].start <= all[a].start - slack);
            CHECK(held >= 0);
        }
    }
}

static void random_ones(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        instance a;
        make_instance(&a);
        const hs_redistribution *x = &a.x;
        int64_t flows[MOST] = {-7};
        int64_t count = -7;
        int64_t items[ROOM];
        int32_t order = -7, senders[ROOM], receivers[ROOM];
        double starts[ROOM], periods[ROOM];
        hs_certificate c, again;
        double least = INFINITY;
        for (int64_t shift = -ITEMS; shift <= ITEMS; shift++)
            least = fmin(least, port_time(x, shift));
        const hs_status status = hs_ring_redistribute(x, NULL, flows, &order, &c);
        if (isinf(least)) {
            CHECK(status == HS_ERROR_INFEASIBLE && flows[0] == -7 && order == -7);
            continue;
        }
        if (!CHECK(status == HS_OK)) continue;
        CHECK(c.value >= least * (1 - 1e-12));
        CHECK(x->previous ? c.bound >= least * (1 - 1e-12) : c.optimal);
        CHECK(hs_ring_redistribution_certificate(x, flows, order, NULL, &again) == HS_OK);
        CHECK(again.value == c.value && again.bound == c.bound);
        CHECK(hs_ring_redistribution_messages(x, flows, order, 0, NULL, &count, NULL, NULL, NULL,
                                              NULL, NULL) == HS_OK);
        if (!CHECK(count >= 0 && count <= ROOM)) continue;
        const int64_t needed = count;
        CHECK(hs_ring_redistribution_messages(x, flows, order, needed, NULL, &count, senders,
                                              receivers, items, starts, periods) == HS_OK);
        CHECK(count == needed);
        replay(x, count, senders, receivers, items, starts, periods, c.value);
        if (needed > 1) { /* less room: the first ones */
            const double second = starts[1];
            CHECK(hs_ring_redistribution_messages(x, flows, order, 1, NULL, &count, senders,
                                                  receivers, items, starts, periods) == HS_OK);
            CHECK(count == needed && starts[1] == second);
        }
    }
}

/* Two slow items, then many on a fast link: the time does not depend on how many there are. */
static void many_items(void)
{
    const int64_t most = INT64_C(1) << 53;
    const int64_t before[] = {most, 0, 0};
    const int64_t after[] = {0, 0, most};
    const double next[] = {3, 2, 1};
    const hs_redistribution x = {.size = 3, .before = before, .after = after, .next = next};
    int64_t flows[3];
    int32_t order;
    hs_certificate c;
    CHECK(hs_ring_redistribute(&x, NULL, flows, &order, &c) == HS_OK);
    CHECK(flows[0] == most && flows[1] == most && flows[2] == 0 && order == 1);
    CHECK(c.optimal && c.value == 3 * (double)most + 2);
}

static void refusals(void)
{
    int64_t before[] = {3, 1, 0};
    int64_t after[] = {1, 1, 2};
    int64_t flows[] = {2, 2, 0};
    double next[] = {1, 1, 1};
    double previous[] = {1, 1, 1};
    const hs_redistribution good = {3, before, after, next, previous, 1};
    int64_t out[3], count, items[2];
    int32_t order = -7, ends[2];
    double times[2];
    hs_certificate c = {.value = -7};
#define REFUSED(...)                                                                            \
    do {                                                                                        \
        hs_redistribution x = good;                                                             \
        __VA_ARGS__;                                                                            \
        CHECK(hs_ring_redistribute(&x, NULL, out, &order, &c) == HS_ERROR_VALUE);               \
        CHECK(hs_ring_redistribution_certificate(&x, flows, 1, NULL, &c) == HS_ERROR_VALUE);    \
        CHECK(hs_ring_redistribution_messages(&x, flows, 1, 2, NULL, &count, ends, ends, items, \
                                              times, times) == HS_ERROR_VALUE);                 \
    } while (0)
    REFUSED(x.size = 0);
    REFUSED(x.closed = 2);
    REFUSED(after[2] = 3);
    after[2] = 2;
    REFUSED(before[0] = -1);
    before[0] = 3;
    REFUSED(before[0] = after[0] = (INT64_C(1) << 53) + 1);
    before[0] = 3;
    after[0] = 1;
    REFUSED(next[1] = -1);
    REFUSED(next[1] = NAN);
    REFUSED(next[1] = INFINITY);
    next[1] = 1;
    REFUSED(previous[2] = 0x1p201);
    previous[2] = 1;
    static const int64_t wrong[][3] = {
        {2, 1, 0}, {3, 3, 1}, {-1, -1, -3}, {INT64_MAX, INT64_MIN, 0}, {INT64_MIN, 0, INT64_MAX}};
    for (int k = 0; k < 5; k++)
        CHECK(hs_ring_redistribution_certificate(&good, wrong[k], 1, NULL, &c) == HS_ERROR_VALUE);
    CHECK(hs_ring_redistribution_certificate(&good, flows, 2, NULL, &c) == HS_ERROR_VALUE);
    CHECK(hs_ring_redistribution_messages(&good, flows, 1, -1, NULL, &count, ends, ends, items,
                                          times, times) == HS_ERROR_VALUE);
    hs_redistribution one_way = good;
    one_way.previous = NULL;
    static const int64_t back[] = {1, 1, -1};
    CHECK(hs_ring_redistribution_certificate(&good, back, 1, NULL, &c) == HS_OK && c.value == 2);
    CHECK(hs_ring_redistribution_certificate(&one_way, back, 1, NULL, &c) == HS_ERROR_VALUE);
    hs_redistribution open = good;
    open.closed = 0;
    CHECK(hs_ring_redistribution_certificate(&open, back, 1, NULL, &c) == HS_ERROR_VALUE);
    CHECK(order == -7);
}

static void no_memory(void)
{
    const int64_t before[] = {5, 0, 0, 1};
    const int64_t after[] = {0, 0, 5, 1};
    const double next[] = {3, 2, 1, 1};
    const hs_redistribution x = {.size = 4, .before = before, .after = after, .next = next};
    int64_t flows[4] = {-7};
    int64_t count = -7;
    int64_t items[9];
    int32_t order = -7, ends[9];
    double times[9];
    hs_certificate c = {.value = -7};
    CHECK_SCARCE(hs_ring_redistribute(&x, NULL, flows, &order, &c),
                 flows[0] == -7 && order == -7 && c.value == -7);
    c.value = -7;
    CHECK_SCARCE(hs_ring_redistribution_certificate(&x, flows, order, NULL, &c), c.value == -7);
    CHECK_SCARCE(hs_ring_redistribution_messages(&x, flows, order, 9, NULL, &count, ends, ends,
                                                 items, times, times),
                 count == -7);
    /* a plan that the ports do not prove optimal */
    const int64_t from[] = {6, 0, 0, 0};
    const int64_t to[] = {0, 0, 6, 0};
    const hs_redistribution relayed = {4, from, to, next, next, 1};
    order = -7;
    c.value = -7;
    CHECK_SCARCE(hs_ring_redistribute(&relayed, NULL, flows, &order, &c),
                 order == -7 && c.value == -7);
}

/* Arrivals prove more than ports: the last item comes after those before it and one link more. */
static void relays(void)
{
    const int64_t before[] = {4, 0, 0};
    const int64_t after[] = {0, 0, 4};
    const double times[] = {1, 1, 1};
    const hs_redistribution x = {3, before, after, times, times, 0};
    int64_t flows[3];
    int32_t order;
    hs_certificate c;
    CHECK(hs_ring_redistribute(&x, NULL, flows, &order, &c) == HS_OK);
    CHECK(c.value == 5 && c.bound == 5 && c.optimal);
}

int main(int argc, char **argv)
{
    random_ones(argc > 1 ? atoi(argv[1]) : CHECK_MANY(20000, 2000));
    many_items();
    relays();
    refusals();
    no_memory();
    return check_result();
}
