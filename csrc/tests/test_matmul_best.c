/* hs_matmul_best: each method against the functions that it is made of, the choice among them, room
 * that does not suffice, every refusal, a cancelled call, failing allocations. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 4, ROOM = 400 };

static const double times[P] = {1e9, 2e9, 4e9, 4e9};
static const double costs[P] = {1e7, 1e8, 2e8, 1e8};
static const double links[P * P] = {0,   1e7, 2e7, 3e7, 1e7, 0,   4e7, 5e7,
                                    6e7, 1e7, 0,   2e7, 1e7, 1e7, 2e7, 0};
static const int32_t nodes[P] = {0, 0, 1, 1};

static hs_box boxes[ROOM];
static double sent[ROOM], receive[2 * ROOM], flops[P], part[2 * P], tried[HS_MATMUL_METHODS];
static hs_message messages[ROOM];
static int64_t rows[P + 1];
static double sum_sent[P], sum_flops[P];
static hs_certificate certificate;

static hs_matmul product_of(int64_t m, int64_t n, int64_t k)
{
    return (hs_matmul){.m = m,
                       .n = n,
                       .k = k,
                       .p = P,
                       .cycle_times = times,
                       .link_costs = costs,
                       .itemsize = 1,
                       .update = 2.0};
}

static hs_matmul_found room_for(int64_t box_capacity, int64_t message_capacity)
{
    return (hs_matmul_found){.box_capacity = box_capacity,
                             .boxes = boxes,
                             .sent = sent,
                             .message_capacity = message_capacity,
                             .messages = messages,
                             .sum = {rows, sum_sent, sum_flops},
                             .schedule = {.receive = receive, .flops = flops, .sum_receive = part},
                             .tried = tried};
}

static hs_matmul_found found;

static hs_status plan(const hs_matmul *x, int32_t method, int64_t block, int32_t stepwise)
{
    const hs_matmul_options options = {
        .method = method, .block = block, .stepwise = stepwise, .nodes = nodes, .domains = nodes};
    found = room_for(ROOM, ROOM);
    return hs_matmul_best(x, &options, NULL, &found, &certificate);
}

static int covers(const hs_matmul *x)
{
    return hs_boxes_cover(x->m, x->n, x->k, HS_TRIANGLE_NONE, 0, (int32_t)found.box_count, boxes,
                          NULL) == HS_OK;
}

/* Checks that the schedule is that of the arrays. */
static void check_plan(const hs_matmul *x)
{
    CHECK(covers(x));
    const bool messaged = found.message_count >= 0;
    CHECK(messaged ==
          (x->links && found.method != HS_MATMUL_LAYERS && found.method != HS_MATMUL_CUBOIDS));
    const hs_matmul_plan given = {.count = found.box_count,
                                  .boxes = boxes,
                                  .sent = sent,
                                  .message_count = messaged ? found.message_count : 0,
                                  .messages = messaged ? messages : NULL,
                                  .sum = found.layered ? &found.sum : NULL};
    double again[2 * ROOM];
    hs_schedule schedule = {.receive = again};
    CHECK(hs_matmul_schedule(x, &given, NULL, &schedule) == HS_OK);
    CHECK(schedule.makespan == found.schedule.makespan && schedule.start == found.schedule.start);
    CHECK(!memcmp(again, receive, 2 * (size_t)found.box_count * sizeof *again));
    CHECK(certificate.value == schedule.makespan && certificate.bound == schedule.bound);
    CHECK(tried[found.method] == schedule.makespan);
}

/* Each method alone; AUTO tries those that are listed, and takes the fastest. */
static void test_methods(void)
{
    static const int32_t on_star[] = {HS_MATMUL_COLUMNS,   HS_MATMUL_ROWS,   HS_MATMUL_RECTANGLES,
                                      HS_MATMUL_PARTITION, HS_MATMUL_LAYERS, HS_MATMUL_CUBOIDS,
                                      HS_MATMUL_CONTIGUOUS};
    static const int32_t linked[] = {HS_MATMUL_COLUMNS,    HS_MATMUL_ROWS,  HS_MATMUL_RECTANGLES,
                                     HS_MATMUL_CONTIGUOUS, HS_MATMUL_NODES, HS_MATMUL_PARTITION};
    for (int round = 0; round < CHECK_MANY(100, 4); round++) {
        hs_matmul x = product_of(2 + check_random(30), 2 + check_random(30), 1 + check_random(30));
        x.links = round % 2 ? links : NULL;
        x.parallel = round / 2 % 2;
        x.overlap = round / 4 % 2;
        double alone[HS_MATMUL_METHODS];
        for (int i = 0; i < HS_MATMUL_METHODS; i++) alone[i] = -1.0;
        const int32_t *list = round % 2 ? linked : on_star;
        const int size = round % 2 ? 6 : 7;
        double least = INFINITY;
        for (int i = 0; i < size; i++) {
            CHECK(plan(&x, list[i], 1, 0) == HS_OK && found.method == list[i]);
            check_plan(&x);
            alone[list[i]] = certificate.value;
            least = fmin(least, certificate.value);
        }
        CHECK(plan(&x, HS_MATMUL_AUTO, 1, 0) == HS_OK && certificate.value == least);
        check_plan(&x);
        for (int i = 0; i < HS_MATMUL_METHODS; i++) {
            CHECK(tried[i] == alone[i]);
            /* of equal plans, the first */
            if (tried[i] == least && i < found.method) CHECK(0);
        }
    }
    const hs_matmul x = product_of(9, 9, 9);
    for (int32_t method = HS_MATMUL_DOMAINS; method < HS_MATMUL_METHODS; method++) {
        CHECK(plan(&x, method, 1, 0) == HS_OK && found.method == method);
        check_plan(&x);
    }
}

static void test_slices(void)
{
    hs_matmul x = product_of(6, 8, 3);
    x.link_costs = NULL;
    CHECK(plan(&x, HS_MATMUL_COLUMNS, 1, 0) == HS_OK && found.box_count == P);
    CHECK(boxes[0].width == 4 && boxes[1].width == 2 && boxes[2].width == 1 && boxes[3].col == 7);
    CHECK(certificate.optimal && !strcmp(certificate.scope, "slices into block columns"));
    CHECK(certificate.value == 4 * 6 * 3 * 2 && certificate.bound == certificate.value);
    CHECK(plan(&x, HS_MATMUL_ROWS, 2, 0) == HS_OK && found.box_count >= 2);
    CHECK(!strcmp(certificate.scope, "slices into block rows"));
    CHECK(plan(&x, HS_MATMUL_ROWS, 4, 0) == HS_OK && !strcmp(certificate.scope, ""));
    CHECK(plan(&x, HS_MATMUL_AUTO, 1, 0) == HS_OK && found.method == HS_MATMUL_COLUMNS);
    /* data that take no time need no other methods than layers */
    CHECK(tried[HS_MATMUL_LAYERS] >= 0.0 && tried[HS_MATMUL_PARTITION] == -1.0);
    CHECK(hs_matmul_best(&x, NULL, NULL, &found, &certificate) == HS_OK);
    CHECK(found.method == HS_MATMUL_COLUMNS && tried[HS_MATMUL_NODES] == -1.0);
}

static void test_steps(void)
{
    hs_matmul x = product_of(8, 8, 9);
    CHECK(plan(&x, HS_MATMUL_AUTO, 2, 1) == HS_OK && tried[HS_MATMUL_LAYERS] == -1.0);
    CHECK(found.box_count % 5 == 0);
    check_plan(&x);
    CHECK(plan(&x, HS_MATMUL_CANNON, 2, 1) == HS_OK && found.box_count == 2 * P);
    check_plan(&x);
    x.links = links;
    CHECK(plan(&x, HS_MATMUL_CANNON, 2, 1) == HS_OK && found.message_count > 0);
    check_plan(&x);
    CHECK(plan(&x, HS_MATMUL_CANNON, 2, 0) == HS_ERROR_VALUE);
    CHECK(plan(&x, HS_MATMUL_CANNON, 8, 1) == HS_ERROR_INFEASIBLE);
    CHECK(plan(&x, HS_MATMUL_LAYERS, 2, 1) == HS_ERROR_VALUE);
    CHECK(plan(&x, HS_MATMUL_CUBOIDS, 2, 1) == HS_ERROR_VALUE);
    x.p = 3;
    CHECK(plan(&x, HS_MATMUL_CANNON, 1, 1) == HS_ERROR_VALUE);
}

static void test_nothing(void)
{
    static const int32_t methods[] = {HS_MATMUL_LAYERS, HS_MATMUL_CUBOIDS, HS_MATMUL_CANNON};
    hs_matmul x = product_of(5, 5, 0);
    for (int i = 0; i < 3; i++)
        CHECK(plan(&x, methods[i], 1, methods[i] == HS_MATMUL_CANNON) == HS_OK &&
              found.method == HS_MATMUL_COLUMNS && certificate.value == 0.0);
    x.m = 0;
    for (int linked = 0; linked < 2; linked++) {
        x.links = linked ? links : NULL;
        CHECK(plan(&x, HS_MATMUL_AUTO, 1, 0) == HS_OK && found.box_count == 0);
        CHECK(plan(&x, HS_MATMUL_DOMAINS, 1, 0) == HS_OK && found.box_count == 0);
        CHECK(plan(&x, HS_MATMUL_PARTITION, 1, 0) == HS_ERROR_INFEASIBLE);
    }
    CHECK(plan(&x, HS_MATMUL_NODES, 1, 0) == HS_ERROR_INFEASIBLE);
}

static void test_room(void)
{
    hs_matmul x = product_of(9, 9, 9);
    x.links = links;
    CHECK(plan(&x, HS_MATMUL_COLUMNS, 1, 1) == HS_OK);
    const int64_t box_count = found.box_count;
    const int64_t message_count = found.message_count;
    CHECK(box_count == 9 * P && message_count > 0);
    const hs_matmul_options options = {.method = HS_MATMUL_COLUMNS, .stepwise = 1};
    const double makespan = found.schedule.makespan;
    for (int small = 0; small < 3; small++) {
        found = room_for(box_count - (small == 0), message_count - (small == 1));
        if (small == 2) found = (hs_matmul_found){0};
        receive[0] = sent[0] = messages[0].bytes = -7.0;
        CHECK(hs_matmul_best(&x, &options, NULL, &found, &certificate) == HS_OK);
        CHECK(found.box_count == box_count && found.message_count == message_count);
        CHECK(receive[0] == -7.0 && sent[0] == -7.0 && messages[0].bytes == -7.0);
        CHECK(found.schedule.makespan == makespan && certificate.value == makespan);
    }
    found = room_for(box_count, message_count);
    CHECK(hs_matmul_best(&x, &options, NULL, &found, &certificate) == HS_OK);
    check_plan(&x);
}

/* Plans that are too large say how large they are. */
static void test_limits(void)
{
    hs_matmul x = product_of(60, 60, INT64_C(1) << 53);
    CHECK(plan(&x, HS_MATMUL_COLUMNS, 1, 1) == HS_ERROR_VALUE && found.box_count == P * x.k);
    CHECK(plan(&x, HS_MATMUL_AUTO, 1, 1) == HS_ERROR_VALUE && found.box_count == P * x.k);
    const double slow[P] = {1e300, 1e300, 1e300, 1e300};
    x = product_of(1000000, 1000000, 1000000);
    x.cycle_times = slow;
    CHECK(plan(&x, HS_MATMUL_COLUMNS, 1, 0) == HS_ERROR_VALUE && isinf(found.schedule.makespan));
    /* more workers than a method takes, or than blocks */
    double equal[20];
    for (int i = 0; i < 20; i++) equal[i] = 1.0;
    hs_matmul wide = product_of(9, 9, 9);
    wide.p = 20;
    wide.cycle_times = equal;
    wide.link_costs = NULL;
    const hs_matmul_options exact = {.method = HS_MATMUL_GUILLOTINE};
    found = (hs_matmul_found){.tried = tried};
    CHECK(hs_matmul_best(&wide, &exact, NULL, &found, &certificate) == HS_ERROR_UNSUPPORTED);
    const hs_matmul_options runs = {.method = HS_MATMUL_CONTIGUOUS};
    wide.m = wide.n = INT64_C(1) << 40;
    CHECK(hs_matmul_best(&wide, &runs, NULL, &found, &certificate) == HS_ERROR_UNSUPPORTED);
    wide.m = wide.n = 4;
    CHECK(hs_matmul_best(&wide, &runs, NULL, &found, &certificate) == HS_ERROR_INFEASIBLE);
    CHECK(hs_matmul_best(&wide, NULL, NULL, &found, &certificate) == HS_OK &&
          tried[HS_MATMUL_RECTANGLES] == -1.0);
}

/* The number of steps times the square of the number of zones is beyond 64 bits. */
static void test_many_steps(void)
{
    enum { MANY = 64 };
    static double own[MANY], between[MANY * MANY];
    for (int i = 0; i < MANY; i++) own[i] = 1;
    for (int i = 0; i < MANY * MANY; i++) between[i] = 1;
    hs_matmul x = product_of(MANY, MANY, INT64_C(1) << 53);
    x.p = MANY;
    x.cycle_times = own;
    x.link_costs = NULL;
    x.links = between;
    const hs_matmul_options options = {.method = HS_MATMUL_COLUMNS, .block = 1, .stepwise = 1};
    found = (hs_matmul_found){.tried = tried};
    CHECK(hs_matmul_best(&x, &options, NULL, &found, &certificate) == HS_ERROR_VALUE);
}

static void test_refusals(void)
{
    const int32_t high[P] = {0, 0, 0, P};
    const int32_t low[P] = {0, 0, 0, -1};
    const double idle[P] = {INFINITY, INFINITY, INFINITY, INFINITY};
    hs_matmul x = product_of(9, 9, 9);
    const hs_matmul_options bad[] = {{.method = -1},
                                     {.method = HS_MATMUL_METHODS},
                                     {.block = -1},
                                     {.block = (INT64_C(1) << 53) + 1},
                                     {.stepwise = 2},
                                     {.zones_only = -1},
                                     {.zones_only = 1, .stepwise = 1},
                                     {.zones_only = 1, .method = HS_MATMUL_LAYERS},
                                     {.zones_only = 1, .method = HS_MATMUL_CUBOIDS},
                                     {.zones_only = 1, .method = HS_MATMUL_CANNON},
                                     {.nodes = high},
                                     {.nodes = low},
                                     {.domains = high},
                                     {.domains = low},
                                     {.method = HS_MATMUL_NODES, .nodes = nodes}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        found = room_for(ROOM, ROOM);
        CHECK(hs_matmul_best(&x, &bad[i], NULL, &found, &certificate) == HS_ERROR_VALUE);
    }
    found = room_for(-1, 0);
    CHECK(hs_matmul_best(&x, NULL, NULL, &found, &certificate) == HS_ERROR_VALUE);
    found = room_for(0, -1);
    CHECK(hs_matmul_best(&x, NULL, NULL, &found, &certificate) == HS_ERROR_VALUE);
    x.triangle = 1;
    CHECK(plan(&x, HS_MATMUL_AUTO, 1, 0) == HS_ERROR_VALUE);
    x = product_of(9, 9, 9);
    x.cycle_times = idle;
    CHECK(plan(&x, HS_MATMUL_AUTO, 1, 0) == HS_ERROR_VALUE);
    x = product_of(9, 9, 9);
    x.links = links;
    const hs_matmul_options nowhere = {.method = HS_MATMUL_NODES};
    CHECK(hs_matmul_best(&x, &nowhere, NULL, &found, &certificate) == HS_OK); /* clusters */
    const hs_matmul_options zones = {.zones_only = 1};
    x.links = NULL;
    found = room_for(ROOM, ROOM);
    CHECK(hs_matmul_best(&x, &zones, NULL, &found, &certificate) == HS_OK);
    CHECK(tried[HS_MATMUL_LAYERS] == -1.0 && tried[HS_MATMUL_CUBOIDS] == -1.0);
}

static void test_scarce(void)
{
    static const int32_t methods[] = {HS_MATMUL_AUTO, HS_MATMUL_DOMAINS, HS_MATMUL_CUBOIDS};
    hs_matmul x = product_of(9, 9, 9);
    x.p = CHECK_MANY(P, 2);
    for (int i = 0; i < 3; i++) {
        x.links = NULL;
        CHECK_SCARCE(plan(&x, methods[i], 1, 0), 1);
    }
    x.links = links;
    x.p = 2; /* few moves of zones: each computes a schedule, with allocations */
    for (int i = 0; i < 3; i++) CHECK_SCARCE(plan(&x, methods[i], 1, 0), 1);
    x = product_of(9, 9, 9);
    x.links = links;
    CHECK_SCARCE(plan(&x, HS_MATMUL_CANNON, 1, 1), 1);
    const int stop = 1;
    for (int32_t method = 0; method < HS_MATMUL_METHODS; method++) {
        const hs_matmul_options options = {
            .method = method, .stepwise = method == HS_MATMUL_CANNON, .nodes = nodes};
        CHECK(hs_matmul_best(&x, &options, &stop, &found, &certificate) == HS_ERROR_CANCELLED);
    }
}

/* Zones of the domains that are given: they tile C, and each is cut for its own workers. */
static void given_zones(void)
{
    const int64_t zones[][8] = {{0, 0, 7, 9, 7, 0, 3, 9},   /* two that tile C */
                                {0, 0, 0, 0, 0, 0, 10, 9},  /* one domain gets all */
                                {0, 0, 7, 9, 6, 0, 4, 9},   /* they overlap */
                                {0, 0, 7, 9, 7, 0, 2, 9},   /* not all of C */
                                {0, 0, 7, 9, 7, 0, 3, 10},  /* beyond C */
                                {0, 0, 7, 9, -1, 0, 3, 9}}; /* no row */
    const hs_matmul x = product_of(10, 9, 8);
    for (size_t i = 0; i < 6; i++) {
        hs_matmul_options options = {
            .method = HS_MATMUL_DOMAINS, .domains = nodes, .zones = zones[i]};
        found = room_for(ROOM, ROOM);
        const hs_status status = hs_matmul_best(&x, &options, NULL, &found, &certificate);
        CHECK(status == (i < 2 ? HS_OK : HS_ERROR_VALUE));
        for (int64_t b = 0; !status && b < found.box_count; b++) {
            const int64_t *zone = zones[i] + 4 * nodes[boxes[b].worker];
            CHECK(boxes[b].row >= zone[0] && boxes[b].row + boxes[b].height <= zone[0] + zone[2]);
        }
        if (!status) check_plan(&x);
        options.block = 2; /* they are in elements */
        found = room_for(ROOM, ROOM);
        CHECK(hs_matmul_best(&x, &options, NULL, &found, &certificate) == HS_ERROR_VALUE);
    }
    const hs_matmul huge = product_of((int64_t)1 << 40, (int64_t)1 << 40, 1);
    const hs_matmul_options options = {
        .method = HS_MATMUL_DOMAINS, .domains = nodes, .zones = zones[0]};
    found = room_for(ROOM, ROOM);
    CHECK(hs_matmul_best(&huge, &options, NULL, &found, &certificate) == HS_ERROR_VALUE);
}

int main(void)
{
    given_zones();
    test_methods();
    test_slices();
    test_steps();
    test_nothing();
    test_room();
    test_limits();
    test_many_steps();
    test_refusals();
    test_scarce();
    return check_result();
}
