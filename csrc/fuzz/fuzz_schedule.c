/* Fuzz harness of the plans of a product: boxes tile it, messages and schedules keep their rules,
 * divisions among domains tile C. */
#include <stdbool.h>

#include "bytes.h"

enum { MOST_P = 9, MOST_BOXES = 500 };

typedef struct {
    hs_matmul product;
    hs_box *boxes;
    double *sent;
    int64_t count;
} planned;

/* Draws a product: most are small enough that all boxes can be looked at. */
static hs_matmul draw_product(bytes *in, taste kind)
{
    const int any = take_byte(in);
    const int32_t p = any > 250 ? -1 : draw_small(in, MOST_P);
    const size_t workers = room_for(p);
    int64_t size[3];
    for (int axis = 0; axis < 3; axis++) size[axis] = draw_size(in, any % 32 == 1, 60);
    hs_matmul x = {.m = size[0], .n = size[1], .k = size[2], .p = p};
    x.cycle_times = draw_values(in, (int64_t)workers, kind);
    if (pick_below(in, 2)) x.link_costs = draw_values_or_zeros(in, (int64_t)workers, kind);
    if (pick_below(in, 2)) x.links = draw_values_or_zeros(in, (int64_t)(workers * workers), kind);
    x.itemsize = any > 240 ? pick_below(in, 3) - 1 : 8;
    x.update = pick_below(in, 2) ? 2.0 : 8.0;
    x.parallel = pick_below(in, 2);
    x.overlap = pick_below(in, 2);
    return x;
}

static planned open_plan(bytes *in, const hs_matmul *x)
{
    next_call(in);
    return (planned){.product = *x,
                     .boxes = new_output(in, MOST_BOXES * sizeof(hs_box)),
                     .sent = new_output(in, MOST_BOXES * sizeof(double))};
}

static void check_cover(const planned *plan, int32_t triangle)
{
    const hs_matmul *x = &plan->product;
    HOLDS(hs_boxes_cover(x->m, x->n, x->k, triangle, 0, (int32_t)plan->count, plan->boxes, NULL) ==
          HS_OK);
}

/* Checks the rules of a schedule. */
static void check_schedule(bytes *in, const planned *plan, int64_t message_count,
                           const hs_message *messages, const hs_layer_sum *sum)
{
    const hs_matmul *x = &plan->product;
    next_call(in);
    hs_schedule found = {
        .receive = new_output(in, 2 * (size_t)plan->count * sizeof(double)),
        .work = new_output(in, 2 * (size_t)plan->count * sizeof(double)),
        .flops = new_output(in, (size_t)x->p * sizeof(double)),
        .sum_receive = new_output(in, 2 * (size_t)x->p * sizeof(double)),
    };
    const hs_matmul_plan given = {.count = plan->count,
                                  .boxes = plan->boxes,
                                  .sent = plan->sent,
                                  .message_count = message_count,
                                  .messages = messages,
                                  .sum = sum};
    HOLDS(hs_matmul_schedule(x, &given, NULL, &found) == HS_OK);
    if (!isfinite(found.makespan)) return;
    double ready[MOST_P] = {0};
    double last = 0.0;
    double port = 0.0;
    for (int64_t i = 0; i < plan->count; i++) {
        const double *receive = found.receive + 2 * i;
        const double *work = found.work + 2 * i;
        const int32_t worker = plan->boxes[i].worker;
        HOLDS(receive[0] >= ready[worker] && receive[1] >= receive[0] && work[1] >= work[0]);
        HOLDS(work[0] >= (x->overlap ? receive[0] : receive[1]));
        if (receive[1] > receive[0] && !x->parallel) {
            HOLDS(receive[0] >= port);
            port = receive[1];
        }
        ready[worker] = fmax(work[1], receive[1]);
        last = fmax(last, ready[worker]);
    }
    for (int64_t i = 0; i < message_count; i++)
        if (messages[i].after >= 0)
            HOLDS(found.receive[2 * messages[i].box] >= found.receive[2 * messages[i].after + 1]);
    HOLDS(found.start == last && found.makespan >= last);
    HOLDS(found.bound <= found.makespan * (1 + 1e-9) + 1e-300); /* denormal numbers are coarse */
    /* the same schedule from its arrivals */
    hs_matmul_plan again = given;
    again.arrivals = found.receive;
    hs_schedule second = {0};
    HOLDS(hs_matmul_schedule(x, &again, NULL, &second) == HS_OK);
    HOLDS(second.makespan == found.makespan);
}

static void check_messages(bytes *in, planned *plan, int torus, const int64_t *groups)
{
    enum { ROOM = 3000 };
    next_call(in);
    double *sent = new_output(in, (size_t)plan->count * sizeof *sent);
    hs_message *messages = new_output(in, ROOM * sizeof *messages);
    int64_t *count = new_output(in, sizeof *count);
    hs_status status;
    if (torus)
        status =
            hs_matmul_torus(&plan->product, plan->count, plan->boxes, ROOM, sent, messages, count);
    else
        status = hs_matmul_owners(&plan->product, plan->count, plan->boxes, groups, NULL, ROOM,
                                  sent, messages, count);
    HOLDS(status == HS_OK);
    if (*count > ROOM) return;
    double total = 0.0;
    for (int64_t i = 0; i < *count; i++) {
        const hs_message *one = &messages[i];
        HOLDS(one->box >= 0 && one->box < plan->count && one->after < one->box);
        HOLDS(i == 0 || one->box >= messages[i - 1].box);
        HOLDS(one->bytes > 0.0 && one->sender != plan->boxes[one->box].worker);
        if (one->after >= 0) HOLDS(plan->boxes[one->after].worker == one->sender);
        total += one->bytes;
    }
    double waited = 0.0;
    for (int64_t i = 0; i < plan->count; i++) waited += sent[i];
    HOLDS(is_near(total, waited, 1e-9));
    plan->sent = sent;
    if (plan->product.links) check_schedule(in, plan, *count, messages, NULL);
}

/* Zones of columns, in steps. */
static void zones(bytes *in)
{
    const taste kind = taste_of(in);
    const hs_matmul x = draw_product(in, kind);
    planned plan = open_plan(in, &x);
    int64_t *count = new_output(in, sizeof *count);
    const int32_t pieces = (int32_t)room_for(x.p);
    int32_t *workers = draw_indices(in, pieces, pieces);
    int64_t *rects = new_buffer(in, 4 * (size_t)pieces * sizeof *rects);
    int64_t from = 0;
    for (int32_t i = 0; i < pieces; i++) {
        const int64_t width = i + 1 < pieces ? draw_small(in, 20) : INT64_C(1) << 40;
        const int64_t rect[] = {0, from, INT64_C(1) << 40, width};
        memcpy(rects + 4 * i, rect, sizeof rect);
        from += width;
    }
    const int64_t step = draw_small(in, 30) - (take_byte(in) > 250);
    const hs_status status =
        hs_matmul_zones(&x, step, pieces, workers, rects, MOST_BOXES, plan.boxes, plan.sent, count);
    planner_status(in, status, 0);
    if (status || *count > MOST_BOXES) return;
    plan.count = *count;
    if (x.n < INT64_C(1) << 40 && x.m < INT64_C(1) << 40) check_cover(&plan, HS_TRIANGLE_NONE);
    check_schedule(in, &plan, 0, NULL, NULL);
    int64_t groups[MOST_P];
    for (int32_t i = 0; i < x.p; i++) groups[i] = pick_below(in, 3) - 1;
    check_messages(in, &plan, 0, pick_below(in, 2) ? groups : NULL);
}

static void cannon(bytes *in)
{
    const hs_matmul x = draw_product(in, taste_of(in));
    planned plan = open_plan(in, &x);
    int64_t *count = new_output(in, sizeof *count);
    const int64_t block = draw_small(in, 9);
    const hs_status status = hs_matmul_cannon(&x, block, MOST_BOXES, plan.boxes, plan.sent, count);
    planner_status(in, status, HS_ERROR_INFEASIBLE);
    if (status) return;
    plan.count = *count;
    check_cover(&plan, HS_TRIANGLE_NONE);
    check_schedule(in, &plan, 0, NULL, NULL);
    check_messages(in, &plan, 1, NULL);
}

static void triangle(bytes *in)
{
    hs_matmul x = draw_product(in, taste_of(in));
    x.triangle = 1;
    if (pick_below(in, 8)) x.m = x.n;
    planned plan = open_plan(in, &x);
    int64_t *count = new_output(in, sizeof *count);
    const hs_status status =
        hs_matmul_triangle(&x, draw_small(in, 9), MOST_BOXES, plan.boxes, plan.sent, count);
    planner_status(in, status, 0);
    if (status) return;
    plan.count = *count;
    check_cover(&plan, HS_TRIANGLE_LOWER);
    check_schedule(in, &plan, 0, NULL, NULL);
}

static hs_layer_sum open_sum(bytes *in, int32_t p)
{
    const size_t workers = room_for(p);
    return (hs_layer_sum){.rows = new_output(in, (workers + 1) * sizeof(int64_t)),
                          .sent = new_output(in, workers * sizeof(double)),
                          .flops = new_output(in, workers * sizeof(double))};
}

static void layers(bytes *in)
{
    const taste kind = taste_of(in);
    const hs_matmul x = draw_product(in, kind);
    planned plan = open_plan(in, &x);
    int64_t *count = new_output(in, sizeof *count);
    int32_t *layered = new_output(in, sizeof *layered);
    hs_layer_sum sum = open_sum(in, x.p);
    const int64_t block = draw_small(in, 9);
    if (x.k > 10000) return; /* too many numbers of layers */
    const hs_status status =
        hs_matmul_layers_best(&x, block, NULL, plan.boxes, plan.sent, count, &sum, layered);
    planner_status(in, status, 0);
    if (status) return;
    plan.count = *count;
    HOLDS(*count >= 1 && *count <= x.p);
    check_cover(&plan, HS_TRIANGLE_NONE);
    const hs_layer_sum *own = *layered ? &sum : NULL;
    if (own) {
        HOLDS(sum.rows[0] == 0 && sum.rows[x.p] == x.m);
        for (int32_t i = 0; i < x.p; i++)
            HOLDS(sum.rows[i] <= sum.rows[i + 1] && sum.sent[i] >= 0.0 && sum.flops[i] >= 0.0);
    }
    check_schedule(in, &plan, 0, NULL, own);
    /* the same boxes, given */
    planned other = open_plan(in, &x);
    int64_t *kept = new_output(in, sizeof *kept);
    int32_t *again = new_output(in, sizeof *again);
    hs_layer_sum second = open_sum(in, x.p);
    HOLDS(hs_matmul_layers(&x, plan.count, plan.boxes, NULL, other.boxes, other.sent, kept, &second,
                           again) == HS_OK);
    HOLDS(*kept == plan.count && *again == *layered);
    for (int32_t i = 0; own && i < x.p; i++)
        HOLDS(sum.rows[i] == second.rows[i] && sum.sent[i] == second.sent[i] &&
              sum.flops[i] == second.flops[i]);
    HOLDS(hs_matmul_shared_layers(&x, &second) == HS_OK);
}

/* The best plan: it tiles the product, keeps the rules of schedules, and is the fastest one tried. */
static void best(bytes *in)
{
    enum { ROOM = 3000 };
    const hs_matmul x = draw_product(in, taste_of(in));
    const int32_t p = (int32_t)room_for(x.p);
    planned plan = open_plan(in, &x);
    const hs_matmul_options options = {.method = pick_below(in, HS_MATMUL_METHODS + 2) - 1,
                                       .block = draw_small(in, 9) - (take_byte(in) > 250),
                                       .stepwise = pick_below(in, 2),
                                       .zones_only = pick_below(in, 8) == 0,
                                       .nodes = draw_indices(in, p, p),
                                       .domains = draw_indices(in, p, p)};
    hs_message *messages = new_output(in, ROOM * sizeof *messages);
    double *tried = new_buffer(in, HS_MATMUL_METHODS * sizeof *tried);
    hs_matmul_found found = {
        .box_capacity = MOST_BOXES,
        .boxes = plan.boxes,
        .sent = plan.sent,
        .message_capacity = ROOM,
        .messages = messages,
        .sum = open_sum(in, p),
        .schedule = {.receive = new_output(in, 2 * MOST_BOXES * sizeof(double)),
                     .flops = new_output(in, (size_t)p * sizeof(double)),
                     .sum_receive = new_output(in, 2 * (size_t)p * sizeof(double))},
        .tried = tried};
    hs_certificate certificate;
    if (x.k > 10000) return; /* too many numbers of layers */
    const hs_status status = hs_matmul_best(&x, &options, NULL, &found, &certificate);
    if (status == HS_ERROR_UNSUPPORTED) return;
    planner_status(in, status, HS_ERROR_INFEASIBLE);
    if (status) return;
    HOLDS(found.method > HS_MATMUL_AUTO && found.method < HS_MATMUL_METHODS);
    HOLDS(certificate.value == found.schedule.makespan && certificate.bound <= certificate.value);
    HOLDS(tried[found.method] == certificate.value);
    for (int i = 0; i < HS_MATMUL_METHODS; i++)
        HOLDS(tried[i] == -1.0 || tried[i] >= certificate.value);
    if (found.box_count > MOST_BOXES || found.message_count > ROOM) return;
    plan.count = found.box_count;
    check_cover(&plan, HS_TRIANGLE_NONE);
    const bool messaged = found.message_count >= 0;
    HOLDS(!messaged || x.links);
    check_schedule(in, &plan, messaged ? found.message_count : 0, messaged ? messages : NULL,
                   found.layered ? &found.sum : NULL);
}

static void domains(bytes *in)
{
    const int any = take_byte(in);
    const int32_t count = draw_small(in, MOST_P);
    const int64_t rows = draw_size(in, any % 8 == 0, 100);
    const int64_t cols = draw_size(in, any % 8 == 0, 100);
    const double *speeds = draw_values_or_zeros(in, count, taste_of(in));
    int64_t *rects = new_output(in, 4 * (size_t)count * sizeof *rects);
    const hs_status status = hs_domain_zones(rows, cols, draw_small(in, 9), draw_small(in, 9),
                                             draw_small(in, 20), count, speeds, rects);
    planner_status(in, status, 0);
    if (status) return;
    double total = 0.0;
    for (int32_t d = 0; d < count; d++) total += speeds[d];
    int32_t workers[MOST_P] = {0};
    hs_box boxes[MOST_P];
    HOLDS(hs_boxes_of_zones(1, count, workers, rects, boxes) == HS_OK);
    for (int32_t d = 0; d < count; d++)
        HOLDS(speeds[d] > 0.0 || (rects[4 * d + 2] == 0 && rects[4 * d + 3] == 0));
    if (total > 0.0 && isfinite(total))
        HOLDS(hs_boxes_cover(rows, cols, 1, HS_TRIANGLE_NONE, 0, count, boxes, NULL) == HS_OK);
}

/* Demand-driven products: each task is handed out once, and no bound is above what was found. */
static void dynamic(bytes *in)
{
    enum { MOST_TASKS = 9 * 9 * 9 };
    const int any = take_byte(in);
    const int32_t p = any > 250 ? -1 : draw_small(in, MOST_P);
    const size_t workers = room_for(p);
    const taste kind = taste_of(in);
    const double moments[] = {draw_value(in, kind), draw_value(in, kind)};
    const hs_speed_changes changes = {pick_below(in, 3), moments,
                                      draw_values(in, 2 * (int64_t)workers, kind)};
    const hs_dynamic x = {.p = p,
                          .cycle_times = draw_values(in, (int64_t)workers, kind),
                          .n = draw_size(in, any % 32 == 1, 9),
                          .kind = pick_below(in, 16) ? pick_below(in, 2) : pick_below(in, 4) - 1,
                          .method = pick_below(in, HS_DYNAMIC_METHODS + 2) - 1,
                          .beta = pick_below(in, 4) ? draw_small(in, 7) : draw_wild(in),
                          .seed = take_byte(in),
                          .changes = pick_below(in, 2) ? &changes : NULL};
    double *volume = new_output(in, sizeof *volume);
    double *ideal = new_output(in, sizeof *ideal);
    planner_status(in, hs_dynamic_bounds(&x, volume, ideal), 0);
    next_call(in);
    double *predicted = new_output(in, sizeof *predicted);
    double *beta = new_output(in, sizeof *beta);
    if (hs_dynamic_beta(&x, NULL, beta) == HS_OK) {
        HOLDS(*beta >= 0.0 && hs_dynamic_predict(&x, *beta, predicted) == HS_OK);
        HOLDS(*predicted >= 0.0 && isfinite(*predicted));
    } else HOLDS(outputs_untouched(in));
    if (x.n > 9) return;
    hs_dynamic_task *tasks = new_buffer(in, MOST_TASKS * sizeof *tasks);
    int64_t *blocks = new_buffer(in, HS_DYNAMIC_OPERANDS * workers * sizeof *blocks);
    next_call(in);
    double *makespan = new_output(in, sizeof *makespan);
    hs_certificate certificate;
    const hs_status status = hs_dynamic_product(&x, NULL, tasks, blocks, makespan, &certificate);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(*ideal <= *makespan * (1 + 1e-9) + 1e-300 && certificate.bound <= certificate.value);
    bool seen[MOST_TASKS] = {false};
    const int64_t depth = x.kind ? x.n : 1;
    for (int64_t i = 0; i < x.n * x.n * depth; i++) {
        const int64_t at = (tasks[i].row * x.n + tasks[i].col) * depth + tasks[i].depth;
        HOLDS(at >= 0 && at < x.n * x.n * depth && !seen[at]);
        seen[at] = true;
    }
}

HARNESS(zones, cannon, triangle, layers, domains, best, dynamic)
