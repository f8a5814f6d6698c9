/* hs_matmul_*, hs_domain_zones: examples computed by hand, boxes that tile the product, schedules
 * replayed by their rules, every refusal, a cancelled call, failing allocations. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 4, MOST = 400 };

static hs_box boxes[MOST], more[MOST];
static double sent[MOST], receive[2 * MOST], work[2 * MOST], flops[P], part[2 * P];
static hs_message messages[2 * MOST];
static int64_t count, message_count, rows[P + 1];
static double sum_sent[P], sum_flops[P];
static hs_layer_sum sum = {rows, sum_sent, sum_flops};
static int32_t layered;

static const double GIGA = 1e9;
static const double times[P] = {1e9, 2e9, 4e9, 4e9}; /* seconds per gigaflop: 1, 2, 4, 4 per flop */
static const double costs[P] = {1e9, 0, 2e9, 1e9};
static const double links[P * P] = {0,   1e9, 2e9, 3e9, 1e9, 0,   4e9, 5e9,
                                    6e9, 1e9, 0,   2e9, 1e9, 1e9, 2e9, 0};

/* A product of bytes whose multiply-adds have one flop. */
static hs_matmul product_of(int64_t m, int64_t n, int64_t k, int32_t p)
{
    return (hs_matmul){
        .m = m, .n = n, .k = k, .p = p, .cycle_times = times, .itemsize = 1, .update = 1.0};
}

static int covers(const hs_matmul *x, int32_t triangle)
{
    return hs_boxes_cover(x->m, x->n, x->k, triangle, 0, (int32_t)count, boxes, NULL) == HS_OK;
}

/* ---- zones ----------------------------------------------------------------------------------- */

static void test_zones(void)
{
    /* two pieces of worker 1 around a piece of worker 0, which reaches beyond C; one is empty */
    const int32_t workers[] = {1, 0, 1, 2};
    const int64_t rects[] = {0, 0, 2, 4, 2, 2, 9, 9, 2, 0, 3, 2, 1, 1, 0, 5};
    hs_matmul x = product_of(5, 6, 7, P);
    x.n = 4;
    for (int64_t step = 0; step < 9; step++) {
        const int64_t steps = step == 0 || step > 7 ? 1 : (7 + step - 1) / step;
        CHECK(hs_matmul_zones(&x, step, 4, workers, rects, MOST, boxes, sent, &count) == HS_OK);
        CHECK(count == 3 * steps && covers(&x, HS_TRIANGLE_NONE));
        CHECK(boxes[0].worker == 0 && boxes[1].worker == 1 && boxes[2].worker == 1);
        CHECK(boxes[0].height == 3 && boxes[0].width == 2);
        if (step < 8 && step) CHECK(sent[0] == (double)step * 5 && sent[1] == (double)step * 9);
        CHECK(sent[2] == 0.0);
    }
    count = -1;
    sent[0] = -7.0;
    CHECK(hs_matmul_zones(&x, 1, 4, workers, rects, 20, boxes, sent, &count) == HS_OK);
    CHECK(count == 21 && sent[0] == -7.0);
    CHECK(hs_matmul_zones(&x, 1, 0, NULL, NULL, 0, NULL, NULL, &count) == HS_OK && count == 0);
    x.k = 0;
    CHECK(hs_matmul_zones(&x, 3, 4, workers, rects, MOST, boxes, sent, &count) == HS_OK);
    CHECK(count == 3 && boxes[0].length == 0 && covers(&x, HS_TRIANGLE_NONE));
    x.k = INT64_C(1) << 53;
    CHECK(hs_matmul_zones(&x, 1, 4, workers, rects, MOST, boxes, sent, &count) == HS_OK &&
          count == 3 * x.k);
    CHECK(hs_matmul_zones(&x, -1, 4, workers, rects, MOST, boxes, sent, &count) == HS_ERROR_VALUE);
    CHECK(hs_matmul_zones(&x, 1, -1, workers, rects, MOST, boxes, sent, &count) == HS_ERROR_VALUE);
    CHECK(hs_matmul_zones(&x, 1, 4, workers, rects, -1, boxes, sent, &count) == HS_ERROR_VALUE);
    const int32_t strange[] = {1, 0, P, 2};
    CHECK(hs_matmul_zones(&x, 1, 4, strange, rects, MOST, boxes, sent, &count) == HS_ERROR_VALUE);
    const int64_t negative[16] = {0, 0, -1};
    CHECK(hs_matmul_zones(&x, 1, 4, workers, negative, MOST, boxes, sent, &count) ==
          HS_ERROR_VALUE);
    x.k = 7;
    count = -1;
    CHECK_SCARCE(hs_matmul_zones(&x, 2, 4, workers, rects, MOST, boxes, sent, &count), count == -1);
}

static void test_cannon(void)
{
    for (int64_t block = 1; block < 4; block++) {
        const hs_matmul x = product_of(6, 5, 8, 4);
        CHECK(hs_matmul_cannon(&x, block, MOST, boxes, sent, &count) == HS_OK && count == 8);
        CHECK(covers(&x, HS_TRIANGLE_NONE));
        for (int i = 0; i < 8; i++) {
            CHECK(boxes[i].worker == i % 4 && boxes[i].row % block == 0 &&
                  boxes[i].col % block == 0 && boxes[i].depth % block == 0);
            CHECK(sent[i] == (double)(boxes[i].length * (boxes[i].height + boxes[i].width)));
        }
    }
    const hs_matmul x = product_of(6, 5, 8, 4);
    count = -1;
    CHECK(hs_matmul_cannon(&x, 1, 7, boxes, sent, &count) == HS_OK && count == 8);
    CHECK(hs_matmul_cannon(&x, 3, MOST, boxes, sent, &count) == HS_OK);
    CHECK(hs_matmul_cannon(&x, 5, MOST, boxes, sent, &count) == HS_ERROR_INFEASIBLE);
    CHECK(hs_matmul_cannon(&x, 0, MOST, boxes, sent, &count) == HS_ERROR_VALUE);
    const hs_matmul three = product_of(6, 5, 8, 3);
    CHECK(hs_matmul_cannon(&three, 1, MOST, boxes, sent, &count) == HS_ERROR_VALUE);
}

static void test_triangle(void)
{
    hs_matmul x = product_of(40, 40, 3, P);
    x.triangle = 1;
    for (int64_t block = 1; block < 50; block += 7) {
        CHECK(hs_matmul_triangle(&x, block, P, boxes, sent, &count) == HS_OK);
        CHECK(count >= 1 && covers(&x, HS_TRIANGLE_LOWER));
        const hs_matmul_plan plan = {.count = count, .boxes = boxes, .sent = sent};
        hs_schedule found = {.flops = flops};
        CHECK(hs_matmul_schedule(&x, &plan, NULL, &found) == HS_OK);
        double total = 0.0;
        for (int i = 0; i < P; i++) total += flops[i];
        CHECK(total == 3.0 * 40 * 41 / 2 && found.bound == total / 2.0);
        /* a column has at most 40 elements, and the slowest workers need 4 s for each */
        if (block == 1) CHECK(found.makespan < found.bound + 4.0 * 3.0 * 40.0);
        for (int i = 0; i < count; i++) CHECK(sent[i] == 3.0 * (double)boxes[i].height);
    }
    /* equal workers, also if sums of their speeds or of their times overflow */
    const double large[P] = {1e303, 1e303, 1e303, 1e303};
    const double small[P] = {1e-320, 1e-320, 1e-320, 1e-320};
    for (int k = 0; k < 2; k++) {
        x.cycle_times = k ? small : large;
        CHECK(hs_matmul_triangle(&x, 1, P, boxes, sent, &count) == HS_OK && count == P);
        for (int i = 0; i < count; i++) CHECK(boxes[i].width >= 5 && boxes[i].width <= 20);
    }
    x.m = x.n = 0;
    CHECK(hs_matmul_triangle(&x, 1, P, boxes, sent, &count) == HS_OK && count == 0);
    x.m = 3;
    CHECK(hs_matmul_triangle(&x, 1, P, boxes, sent, &count) == HS_ERROR_VALUE);
    x.n = 3;
    CHECK(hs_matmul_triangle(&x, 1, P - 1, boxes, sent, &count) == HS_ERROR_VALUE);
    CHECK(hs_matmul_triangle(&x, 0, P, boxes, sent, &count) == HS_ERROR_VALUE);
    const double idle[P] = {1, INFINITY, 1, 1};
    x.cycle_times = idle;
    CHECK(hs_matmul_triangle(&x, 1, P, boxes, sent, &count) == HS_ERROR_VALUE);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void test_layers(void)
{
    /* Workers 0 and 2 have layers of 5 x 3; the last box reaches beyond the depth, one is empty. */
    const hs_box given[] = {
        {.worker = 0, .height = 5, .width = 3, .length = 2},
        {.worker = 2, .depth = 2, .height = 9, .width = 9, .length = 2},
        {.worker = 1, .depth = 9, .height = 5, .width = 3, .length = 1},
        {.worker = 2, .depth = 4, .height = 5, .width = 3, .length = 9},
    };
    hs_matmul x = product_of(5, 3, 5, 3);
    x.update = 2.0;
    CHECK(hs_matmul_layers(&x, 4, given, NULL, boxes, sent, &count, &sum, &layered) == HS_OK);
    CHECK(count == 3 && layered == 1 && covers(&x, HS_TRIANGLE_NONE));
    CHECK(sent[0] == 16.0 && sent[1] == 16.0 && sent[2] == 8.0);
    /* speeds 1 and 1/4: 4 and 1 rows, each with 3 elements of the other layer */
    CHECK(rows[0] == 0 && rows[1] == 4 && rows[2] == 4 && rows[3] == 5);
    CHECK(sum_sent[0] == 12.0 && sum_sent[1] == 0.0 && sum_sent[2] == 3.0);
    CHECK(sum_flops[0] == 12.0 && sum_flops[1] == 0.0 && sum_flops[2] == 3.0);
    x.update = 8.0;
    CHECK(hs_matmul_layers(&x, 4, given, NULL, boxes, sent, &count, &sum, &layered) == HS_OK);
    CHECK(sum_flops[0] == 24.0);
    CHECK(hs_matmul_layers(&x, 1, given, NULL, boxes, sent, &count, &sum, &layered) == HS_OK &&
          count == 1 && !layered);
    CHECK(hs_matmul_layers(&x, 0, NULL, NULL, NULL, NULL, &count, &sum, &layered) == HS_OK &&
          !count);
    hs_box other[] = {given[0], given[1], given[2], given[3]};
    /* the layer of worker 2 is the rectangle around its boxes: the last row, and two columns */
    other[1] = (hs_box){.worker = 2, .row = 4, .depth = 2, .height = 1, .width = 1, .length = 2};
    other[3] =
        (hs_box){.worker = 2, .row = 4, .col = 1, .depth = 4, .height = 1, .width = 1, .length = 1};
    CHECK(hs_matmul_layers(&x, 4, other, NULL, boxes, sent, &count, &sum, &layered) == HS_OK);
    CHECK(count == 3 && sum_sent[0] == 0.0 && sum_sent[2] == 3.0);
    CHECK(sum_flops[0] == 0.0 && sum_flops[2] == 4.0); /* two complex additions */
    other[3].height = -1;
    CHECK(hs_matmul_layers(&x, 4, other, NULL, boxes, sent, &count, &sum, &layered) ==
          HS_ERROR_VALUE);
    count = -1;
    CHECK_SCARCE(hs_matmul_layers(&x, 4, given, NULL, boxes, sent, &count, &sum, &layered),
                 count == -1);
    CHECK(hs_matmul_shared_layers(&x, &sum) == HS_OK);
    CHECK(rows[3] == 5 && sum_sent[0] == 0.0 && sum_flops[0] == 2.0 * 2 * 3 * (double)rows[1]);
    rows[0] = -1;
    CHECK_SCARCE(hs_matmul_shared_layers(&x, &sum), rows[0] == -1);
}

static double makespan_of(const hs_matmul *x)
{
    const hs_matmul_plan plan = {
        .count = count, .boxes = boxes, .sent = sent, .sum = layered ? &sum : NULL};
    hs_schedule found = {0};
    CHECK(hs_matmul_schedule(x, &plan, NULL, &found) == HS_OK && found.bound <= found.makespan);
    return found.makespan;
}

static void test_best_layers(void)
{
    for (int round = 0; round < 200; round++) {
        hs_matmul x = product_of(1 + check_random(4), 1 + check_random(4), 1 + check_random(60), P);
        x.link_costs = round % 3 ? costs : NULL;
        x.parallel = round & 1;
        x.overlap = round >> 1 & 1;
        const int64_t block = 1 + check_random(4);
        CHECK(hs_matmul_layers_best(&x, block, NULL, boxes, sent, &count, &sum, &layered) == HS_OK);
        CHECK(count >= 1 && count <= P && covers(&x, HS_TRIANGLE_NONE));
        const double best = makespan_of(&x);
        /* no worse than worker 0 alone, which is the fastest if messages are free */
        const hs_box alone = {.height = x.m, .width = x.n, .length = x.k};
        CHECK(hs_matmul_layers(&x, 1, &alone, NULL, boxes, sent, &count, &sum, &layered) == HS_OK);
        if (!x.link_costs) CHECK(best <= makespan_of(&x) * (1 + 1e-12));
    }
    const hs_matmul x = product_of(3, 3, 40, P);
    count = -1;
    CHECK_SCARCE(hs_matmul_layers_best(&x, 1, NULL, boxes, sent, &count, &sum, &layered),
                 count == -1);
    const int stop = 1;
    CHECK(hs_matmul_layers_best(&x, 1, &stop, boxes, sent, &count, &sum, &layered) ==
          HS_ERROR_CANCELLED);
    CHECK(hs_matmul_layers_best(&x, 0, NULL, boxes, sent, &count, &sum, &layered) ==
          HS_ERROR_VALUE);
    const hs_matmul none = product_of(3, 3, 0, P);
    CHECK(hs_matmul_layers_best(&none, 1, NULL, boxes, sent, &count, &sum, &layered) ==
          HS_ERROR_VALUE);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Zones without rows or columns need nothing, and a cancelled call ends before it counts. */
static void test_no_owners(void)
{
    const int cancel = 1;
    hs_matmul x = product_of(2, 0, 2, P);
    x.links = links;
    boxes[0] = (hs_box){.worker = 0, .height = 1, .length = 2};
    boxes[1] = (hs_box){.worker = 1, .row = 1, .height = 1, .length = 2};
    CHECK(hs_matmul_owners(&x, 2, boxes, NULL, NULL, MOST, sent, messages, &message_count) ==
          HS_OK);
    CHECK(message_count == 0 && sent[0] == 0.0 && sent[1] == 0.0);
    x.n = 1;
    boxes[0].width = boxes[1].width = 1;
    message_count = -7;
    CHECK(hs_matmul_owners(&x, 2, boxes, NULL, &cancel, MOST, sent, messages, &message_count) ==
              HS_ERROR_CANCELLED &&
          message_count == -7);
}

static void test_owners(void)
{
    /* four squares of C = A B, all 4 x 4 */
    const int32_t workers[] = {0, 1, 2, 3};
    const int64_t rects[] = {0, 0, 2, 2, 0, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 2};
    hs_matmul x = product_of(4, 4, 4, P);
    x.links = links;
    CHECK(hs_matmul_zones(&x, 2, 4, workers, rects, MOST, boxes, sent, &count) == HS_OK &&
          count == 8);
    CHECK(hs_matmul_owners(&x, count, boxes, NULL, NULL, MOST, sent, messages, &message_count) ==
          HS_OK);
    /* in each step two workers get A from beside, and two get B from above or below */
    CHECK(message_count == 8);
    double total = 0.0;
    for (int64_t i = 0; i < message_count; i++) {
        CHECK(messages[i].bytes == 4.0 && messages[i].after == -1);
        CHECK(i == 0 || messages[i].box >= messages[i - 1].box);
        CHECK(messages[i].sender != boxes[messages[i].box].worker);
        total += messages[i].bytes;
    }
    double again = 0.0;
    for (int64_t i = 0; i < count; i++) again += sent[i];
    CHECK(total == 32.0 && again == total);
    CHECK(hs_matmul_owners(&x, count, boxes, NULL, NULL, 3, sent, messages, &message_count) ==
              HS_OK &&
          message_count == 8);
    /* Workers 0 and 1 are a group: row 0, 1 of A are theirs, and worker 1 gets B through 0. */
    const int64_t groups[] = {7, 7, -1, -1};
    CHECK(hs_matmul_owners(&x, count, boxes, groups, NULL, MOST, sent, messages, &message_count) ==
          HS_OK);
    int passed_on = 0;
    for (int64_t i = 0; i < message_count; i++)
        if (messages[i].after >= 0) {
            CHECK(boxes[messages[i].after].worker == messages[i].sender &&
                  messages[i].after < messages[i].box);
            passed_on++;
        }
    CHECK(passed_on == 2);
    count = 8;
    message_count = -1;
    CHECK_SCARCE(
        hs_matmul_owners(&x, count, boxes, groups, NULL, MOST, sent, messages, &message_count),
        message_count == -1);
    const int stop = 1;
    CHECK(hs_matmul_owners(&x, 8, boxes, NULL, &stop, MOST, sent, messages, &message_count) ==
          HS_ERROR_CANCELLED);
    memcpy(more, boxes, sizeof boxes);
    CHECK(hs_matmul_owners(&x, 7, more, NULL, NULL, MOST, sent, messages, &message_count) ==
          HS_ERROR_VALUE);
    more[5].row = 1;
    CHECK(hs_matmul_owners(&x, 8, more, NULL, NULL, MOST, sent, messages, &message_count) ==
          HS_ERROR_VALUE);
    more[5] = boxes[5];
    more[5].length = 1;
    CHECK(hs_matmul_owners(&x, 8, more, NULL, NULL, MOST, sent, messages, &message_count) ==
          HS_ERROR_VALUE);
    more[5] = boxes[5];
    more[1].worker = more[5].worker = 3;
    CHECK(hs_matmul_owners(&x, 8, more, NULL, NULL, MOST, sent, messages, &message_count) ==
          HS_ERROR_VALUE);
    CHECK(hs_matmul_owners(&x, 0, NULL, NULL, NULL, 0, NULL, NULL, &message_count) == HS_OK &&
          message_count == 0);
}

static void test_torus(void)
{
    hs_matmul x = product_of(4, 6, 8, P);
    x.links = links;
    CHECK(hs_matmul_cannon(&x, 1, MOST, boxes, sent, &count) == HS_OK);
    CHECK(hs_matmul_torus(&x, count, boxes, MOST, sent, messages, &message_count) == HS_OK);
    /* the skewing moves A in row 1 and B in column 1; then each worker gets both */
    CHECK(message_count == 2 + 2 + 2 * 4);
    for (int64_t i = 0; i < message_count; i++) {
        const int64_t box = messages[i].box;
        CHECK(messages[i].after == (box < 4 ? -1 : messages[i].sender));
        CHECK(messages[i].bytes ==
              (double)boxes[box].length * (double)(messages[i].sender / 2 == box % 4 / 2
                                                       ? boxes[box].height
                                                       : boxes[box].width));
    }
    CHECK(hs_matmul_torus(&x, 7, boxes, MOST, sent, messages, &message_count) == HS_ERROR_VALUE);
    boxes[3].worker = 0;
    CHECK(hs_matmul_torus(&x, 8, boxes, MOST, sent, messages, &message_count) == HS_ERROR_VALUE);
}

/* ---- schedules ------------------------------------------------------------------------------- */

static int are_times(const double *found, const double *wanted, int size)
{
    for (int i = 0; i < size; i++)
        if (found[i] != wanted[i]) return 0;
    return 1;
}

/* Worker 0 (1 s per flop and per byte) has two boxes, worker 1 (2 s per flop, no link) has one. */
static void test_schedule(void)
{
    const hs_box own[] = {{.worker = 0, .height = 1, .width = 1, .length = 3},
                          {.worker = 1, .col = 1, .height = 1, .width = 1, .length = 3},
                          {.worker = 2, .col = 2, .height = 1, .width = 1, .length = 1},
                          {.worker = 0, .depth = 3, .height = 1, .width = 1, .length = 2}};
    const double bytes[] = {2, 5, 3, 4};
    const struct {
        int32_t parallel, overlap;
        double receive[8], work[8], makespan;
    } cases[] = {
        {0, 0, {0, 2, 0, 0, 2, 8, 8, 12}, {2, 5, 0, 6, 8, 12, 12, 14}, 14},
        {0, 1, {0, 2, 0, 0, 2, 8, 8, 12}, {0, 3, 0, 6, 2, 6, 8, 10}, 12},
        {1, 0, {0, 2, 0, 0, 0, 6, 5, 9}, {2, 5, 0, 6, 6, 10, 9, 11}, 11},
        {1, 1, {0, 2, 0, 0, 0, 6, 3, 7}, {0, 3, 0, 6, 0, 4, 3, 5}, 7},
    };
    hs_matmul x = product_of(1, 3, 5, 3);
    x.link_costs = costs;
    const hs_matmul_plan plan = {.count = 4, .boxes = own, .sent = bytes};
    for (int i = 0; i < 4; i++) {
        x.parallel = cases[i].parallel;
        x.overlap = cases[i].overlap;
        hs_schedule found = {.receive = receive, .work = work, .flops = flops};
        CHECK(hs_matmul_schedule(&x, &plan, NULL, &found) == HS_OK);
        CHECK(are_times(receive, cases[i].receive, 8) && are_times(work, cases[i].work, 8));
        CHECK(found.makespan == cases[i].makespan && found.start == found.makespan);
        CHECK(flops[0] == 5 && flops[1] == 3 && flops[2] == 1);
        CHECK(fabs(found.bound - 9 / 1.75) < 1e-12);
        /* the same from the arrivals alone */
        hs_matmul_plan known = plan;
        double arrivals[8];
        memcpy(arrivals, receive, sizeof arrivals);
        known.arrivals = arrivals;
        double again[8];
        hs_schedule second = {.receive = receive, .work = again};
        CHECK(hs_matmul_schedule(&x, &known, NULL, &second) == HS_OK);
        CHECK(are_times(again, work, 8) && second.makespan == found.makespan);
    }
}

static void test_waits(void)
{
    /* Worker 1 gets 2 bytes from 0, passes them on to 2, which then also gets 1 byte from 0. */
    const hs_box own[] = {{.worker = 1, .height = 1, .width = 1, .length = 1},
                          {.worker = 2, .col = 1, .height = 1, .width = 1, .length = 2}};
    hs_message some[] = {{1, 1, 2, 0}, {0, 0, 2, -1}, {1, 0, 1, -1}};
    hs_matmul x = product_of(1, 2, 2, 3);
    x.links = links;
    x.parallel = 1;
    hs_matmul_plan plan = {.count = 2, .boxes = own, .message_count = 3, .messages = some};
    hs_schedule found = {.receive = receive, .work = work};
    CHECK(hs_matmul_schedule(&x, &plan, NULL, &found) == HS_OK);
    const double to_1 = links[0 * 3 + 1] / GIGA;
    const double on = links[1 * 3 + 2] / GIGA;
    const double to_2 = links[0 * 3 + 2] / GIGA;
    const double wanted[] = {0, 2 * to_1, 2 * to_1, 2 * to_1 + (2 * on + to_2)};
    CHECK(are_times(receive, wanted, 4));
    CHECK(work[3] == wanted[3] + 8 && found.makespan == work[3]);
    found.makespan = -1;
    CHECK_SCARCE(hs_matmul_schedule(&x, &plan, NULL, &found), found.makespan == -1);
    const hs_message bad[] = {{2, 0, 1, -1},  {-1, 0, 1, -1},  {1, 3, 1, -1}, {1, -1, 1, -1},
                              {1, 0, -1, -1}, {1, 0, NAN, -1}, {1, 0, 1, 1},  {1, 0, 1, -2}};
    for (int i = 0; i < 8; i++) {
        some[2] = bad[i];
        CHECK(hs_matmul_schedule(&x, &plan, NULL, &found) == HS_ERROR_VALUE);
    }
    plan.message_count = 2;
    x.links = NULL;
    CHECK(hs_matmul_schedule(&x, &plan, NULL, &found) == HS_ERROR_VALUE);
}

static void test_sum(void)
{
    const hs_box given[] = {{.worker = 0, .height = 3, .width = 1, .length = 1},
                            {.worker = 1, .depth = 1, .height = 3, .width = 1, .length = 1}};
    hs_matmul x = product_of(3, 1, 2, 2);
    x.link_costs = costs;
    x.update = 2.0;
    CHECK(hs_matmul_layers(&x, 2, given, NULL, boxes, sent, &count, &sum, &layered) == HS_OK);
    CHECK(layered && rows[1] == 2 && sum_sent[0] == 2 && sum_flops[1] == 1);
    const hs_matmul_plan plan = {.count = 2, .boxes = boxes, .sent = sent, .sum = &sum};
    hs_schedule found = {.sum_receive = part};
    CHECK(hs_matmul_schedule(&x, &plan, NULL, &found) == HS_OK);
    /* boxes: 4 s + 6 s, and 12 s; then 2 s + 2 s, and 2 s */
    CHECK(found.start == 12 && found.makespan == 16);
    CHECK(are_times(part, (double[]){0, 2, 0, 0}, 4));
}

static void test_changes(void)
{
    const hs_box own = {.worker = 1, .height = 1, .width = 1, .length = 5}; /* 10 s */
    const double when[] = {4, 6};
    const double then[] = {9e9, 8e9, 9e9, 1e9};
    const hs_speed_changes changes = {2, when, then};
    const hs_matmul x = product_of(1, 1, 5, 2);
    const hs_matmul_plan plan = {.count = 1, .boxes = &own};
    hs_schedule found = {.work = work};
    CHECK(hs_matmul_schedule(&x, &plan, &changes, &found) == HS_OK);
    /* 2 flops by 4 s, a quarter of one by 6 s, the rest at one second each */
    CHECK(found.makespan == 8.75 && work[0] == 0 && work[1] == 8.75);
    CHECK(hs_matmul_schedule(&x, &plan, &(hs_speed_changes){0}, &found) == HS_OK &&
          found.makespan == 10);
    /* a worker that cannot work at first has no times to scale: its end is infinite, not NaN */
    const double unable[] = {1, INFINITY};
    hs_matmul y = x;
    y.cycle_times = unable;
    CHECK(hs_matmul_schedule(&y, &plan, &changes, &found) == HS_OK && isinf(found.makespan));
    /* without flops, an infinite cycle-time does not count */
    const hs_box none = {.worker = 1, .height = 1, .width = 1};
    const double later[] = {9e9, 8e9, 9e9, INFINITY};
    hs_matmul z = product_of(1, 1, 0, 2);
    CHECK(hs_matmul_schedule(&z, &(hs_matmul_plan){.count = 1, .boxes = &none},
                             &(hs_speed_changes){2, when, later}, &found) == HS_OK &&
          found.makespan == 0);
    const double back[] = {6, 4};
    const double zero[] = {9e9, 8e9, 0, 1};
    const hs_speed_changes bad[] = {
        {2, back, then}, {2, when, zero}, {-1, when, then}, {2, NULL, then}, {2, when, NULL}};
    for (int i = 0; i < 5; i++)
        CHECK(hs_matmul_schedule(&x, &plan, &bad[i], &found) == HS_ERROR_VALUE);
}

static void test_products(void)
{
    const double infinite[] = {1, INFINITY};
    const double no_time[] = {1, 0};
    const double below[] = {1, -1};
    const hs_matmul good = product_of(1, 1, 1, 2);
    const hs_matmul_plan plan = {0};
    hs_schedule found = {0};
    hs_matmul bad[14];
    for (int i = 0; i < 14; i++) bad[i] = good;
    bad[0].m = -1;
    bad[1].n = -1;
    bad[2].k = (INT64_C(1) << 53) + 1;
    bad[3].p = 0;
    bad[4].cycle_times = NULL;
    bad[5].cycle_times = no_time;
    bad[6].link_costs = below;
    bad[7].links = infinite;
    bad[8].itemsize = 0;
    bad[9].update = 0.0;
    bad[10].update = NAN;
    bad[11].parallel = 2;
    bad[12].overlap = -1;
    bad[13].triangle = 2;
    CHECK(hs_matmul_schedule(&good, &plan, NULL, &found) == HS_OK && found.makespan == 0);
    bad[7].p = 1;
    bad[7].links = below + 1;
    for (int i = 0; i < 14; i++)
        CHECK(hs_matmul_schedule(&bad[i], &plan, NULL, &found) == HS_ERROR_VALUE);
    /* every worker idle but one */
    hs_matmul idle = good;
    idle.cycle_times = infinite;
    CHECK(hs_matmul_schedule(&idle, &plan, NULL, &found) == HS_OK);
}

/* ---- domains --------------------------------------------------------------------------------- */

static void test_domains(void)
{
    const double two[] = {2, 1};
    const double none[] = {0, 0};
    int64_t rects[4 * P];
    CHECK(hs_domain_zones(1000, 1000, 1, 1, 0, 2, two, rects) == HS_OK);
    CHECK(rects[3] == 667 && rects[5] == 667 && rects[7] == 333 && rects[2] == 1000);
    CHECK(hs_domain_zones(1000, 1000, 6, 8, 128, 2, two, rects) == HS_OK);
    /* 664 and 336 columns take as long; of two equal cuts it is the latter */
    CHECK(rects[3] == 672 && rects[5] == 672 && rects[7] == 328);
    CHECK(hs_domain_zones(1000, 255, 6, 8, 128, 2, two, rects) == HS_OK && rects[2] == 666);
    CHECK(hs_domain_zones(255, 255, 1, 1, 128, 2, two, rects) == HS_OK);
    CHECK(rects[2] == 255 && rects[3] == 255 && rects[6] == 0 && rects[7] == 0);
    CHECK(hs_domain_zones(9, 9, 1, 1, 0, 2, none, rects) == HS_OK && !rects[2] && !rects[6]);
    CHECK(hs_domain_zones(0, 9, 1, 1, 0, 2, two, rects) == HS_OK && !rects[2] && !rects[6]);
    for (int round = 0; round < 300; round++) {
        const int32_t domains = 1 + (int32_t)check_random(P);
        double speeds[P];
        for (int i = 0; i < P; i++) speeds[i] = check_random(5);
        speeds[0] += 1;
        const hs_matmul x = product_of(1 + check_random(60), 1 + check_random(60), 1, 1);
        CHECK(hs_domain_zones(x.m, x.n, 1 + check_random(4), 1 + check_random(4), check_random(9),
                              domains, speeds, rects) == HS_OK);
        int32_t workers[P] = {0};
        CHECK(hs_boxes_of_zones(1, domains, workers, rects, boxes) == HS_OK);
        count = domains;
        CHECK(covers(&x, HS_TRIANGLE_NONE));
        for (int i = 0; i < domains; i++) CHECK(speeds[i] > 0 || !rects[4 * i + 2]);
    }
    const double bad[] = {1, NAN};
    CHECK(hs_domain_zones(9, 9, 0, 1, 0, 2, two, rects) == HS_ERROR_VALUE);
    CHECK(hs_domain_zones(9, 9, 1, 0, 0, 2, two, rects) == HS_ERROR_VALUE);
    CHECK(hs_domain_zones(9, 9, 1, 1, -1, 2, two, rects) == HS_ERROR_VALUE);
    CHECK(hs_domain_zones(-1, 9, 1, 1, 0, 2, two, rects) == HS_ERROR_VALUE);
    CHECK(hs_domain_zones(9, -1, 1, 1, 0, 2, two, rects) == HS_ERROR_VALUE);
    CHECK(hs_domain_zones(9, 9, 1, 1, 0, 0, two, rects) == HS_ERROR_VALUE);
    CHECK(hs_domain_zones(9, 9, 1, 1, 0, 2, bad, rects) == HS_ERROR_VALUE);
    rects[0] = -1;
    CHECK_SCARCE(hs_domain_zones(9, 9, 1, 1, 0, 2, two, rects), rects[0] == -1);
}

int main(void)
{
    test_zones();
    test_cannon();
    test_triangle();
    test_layers();
    test_best_layers();
    test_owners();
    test_no_owners();
    test_torus();
    test_schedule();
    test_waits();
    test_sum();
    test_changes();
    test_products();
    test_domains();
    return check_result();
}
