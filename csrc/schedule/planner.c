/* The state of the planner of a product: its workspace, the current candidate, and the fastest
 * candidate so far. */
#include "schedule/planner.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "core/sum.h"
#include "schedule/clusters.h"

static hs_status reserve_boxes(hs__matmul_candidate *x, int64_t count)
{
    if (count <= x->box_room) return HS_OK;
    free(x->boxes);
    free(x->sent);
    x->box_room = 0;
    x->boxes = calloc((size_t)count, sizeof *x->boxes);
    x->sent = calloc((size_t)count, sizeof *x->sent);
    if (!x->boxes || !x->sent) return HS_ERROR_MEMORY;
    x->box_room = count;
    return HS_OK;
}

hs_status hs__reserve_messages(hs__matmul_candidate *x, int64_t count)
{
    if (count <= x->message_room) return HS_OK;
    free(x->messages);
    x->message_room = 0;
    x->messages = malloc((size_t)count * sizeof *x->messages);
    if (!x->messages) return HS_ERROR_MEMORY;
    x->message_room = count;
    return HS_OK;
}

static void free_candidate(hs__matmul_candidate *x)
{
    free(x->boxes);
    free(x->sent);
    free(x->messages);
}

hs_status hs__begin_candidate(hs__matmul_candidate *x, int32_t method, const char *scope,
                              int64_t room)
{
    x->method = method;
    x->scope = scope;
    x->message_count = -1;
    x->layered = 0;
    return reserve_boxes(x, room);
}

hs_status hs__require_room(hs__matmul_planner *s, int64_t room)
{
    if (s->now.box_count <= room) return HS_OK;
    s->found->box_count = s->now.box_count;
    return HS_ERROR_VALUE;
}

hs_status hs__schedule_candidate(const hs__matmul_planner *s, const hs__matmul_candidate *x,
                                 hs_schedule *schedule)
{
    const bool messaged = x->message_count >= 0;
    const hs_matmul_plan given = {.count = x->box_count,
                                  .boxes = x->boxes,
                                  .sent = x->sent,
                                  .message_count = messaged ? x->message_count : 0,
                                  .messages = messaged ? x->messages : NULL,
                                  .sum = x->layered ? &x->sum : NULL};
    return hs_matmul_schedule(&s->product, &given, NULL, schedule);
}

hs_status hs__keep_faster(hs__matmul_planner *s)
{
    hs_schedule schedule = {0};
    const hs_status status = hs__schedule_candidate(s, &s->now, &schedule);
    if (status) return status;
    s->now.makespan = isfinite(schedule.makespan) ? schedule.makespan : INFINITY;
    double *tried = s->found->tried ? &s->found->tried[s->now.method] : NULL;
    if (tried && !(*tried >= 0.0 && *tried <= s->now.makespan)) *tried = s->now.makespan;
    if (s->best.method && !(s->now.makespan < s->best.makespan)) return HS_OK;
    const hs__matmul_candidate faster = s->now;
    s->now = s->best;
    s->best = faster;
    return HS_OK;
}

/* Writes the speeds, scaled to sum 1. Speeds that overflow are taken relative to the fastest one.
 * Speeds that are negligible beside it count as 0. */
static void find_areas(const hs_matmul *x, double *areas)
{
    double least = INFINITY;
    double highest = 0.0;
    for (int32_t i = 0; i < x->p; i++) least = fmin(least, x->cycle_times[i]);
    const double unit = isinf(1.0 / least) ? least : 1.0;
    for (int32_t i = 0; i < x->p; i++) {
        areas[i] = unit / x->cycle_times[i];
        highest = fmax(highest, areas[i]);
    }
    for (int32_t i = 0; i < x->p; i++) areas[i] /= highest;
    const double total = hs__sum(x->p, areas);
    for (int32_t i = 0; i < x->p; i++) {
        areas[i] /= total;
        if (areas[i] < DBL_MIN) areas[i] = 0.0;
    }
}

/* Returns the links if some message takes time. */
static const double *links_of(const hs_matmul *x)
{
    for (int64_t i = 0; x->links && i < (int64_t)x->p * x->p; i++)
        if (x->links[i] > 0.0) return x->links;
    return NULL;
}

hs_status hs__open_planner(hs__matmul_planner *s, const hs_matmul *product)
{
    enum { DOUBLES = 3 + 2 * 2, LONGS = 2 * 12 + 2 + 2, INTS = 2 * 3 + 3 };
    const size_t p = (size_t)product->p;
    s->memory =
        calloc(p + 1, DOUBLES * sizeof(double) + LONGS * sizeof(int64_t) + INTS * sizeof(int32_t));
    if (!s->memory) return HS_ERROR_MEMORY;
    s->areas = s->memory;
    s->times = s->areas + p;
    s->speeds = s->times + p;
    s->now.sum.sent = s->speeds + p;
    s->now.sum.flops = s->now.sum.sent + p;
    s->best.sum.sent = s->now.sum.flops + p;
    s->best.sum.flops = s->best.sum.sent + p;
    s->now.sum.rows = (int64_t *)(s->best.sum.flops + p);
    s->best.sum.rows = s->now.sum.rows + p + 1;
    s->rects = s->best.sum.rows + p + 1;
    s->placed.rects = s->rects + 12 * p;
    s->groups = s->placed.rects + 12 * p;
    s->counts = s->groups + p;
    s->workers = (int32_t *)(s->counts + p);
    s->placed.workers = s->workers + 3 * p;
    s->order = s->placed.workers + 3 * p;
    s->nodes = s->order + p;
    s->first = s->nodes + p;
    s->product = *product;
    s->product.links = links_of(product);
    const int64_t sizes[3] = {product->m, product->n, product->k};
    s->block = s->options.block ? s->options.block : 1;
    for (int axis = 0; axis < 3; axis++) s->blocks[axis] = hs__ceil_div(sizes[axis], s->block);
    s->step = s->options.stepwise ? s->block : 0;
    s->steps = s->step ? hs__max(s->blocks[2], 1) : 1;
    find_areas(product, s->areas);
    if (s->options.nodes) memcpy(s->nodes, s->options.nodes, p * sizeof *s->nodes);
    if (s->options.nodes || !s->product.links || product->p > HS_MATMUL_FEW) return HS_OK;
    return hs__link_clusters(product->p, s->product.links, s->nodes);
}

void hs__close_planner(hs__matmul_planner *s)
{
    free_candidate(&s->now);
    free_candidate(&s->best);
    free(s->memory);
}
