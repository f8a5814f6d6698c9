/* Layers of a product: boxes that several workers compute for the same part of C, and their sum. */
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/sort.h"
#include "core/status.h"
#include "core/sum.h"
#include "schedule/schedule.h"

/* ---- the sum --------------------------------------------------------------------------------- */

/* Flops of an addition: two for complex numbers, whose multiply-adds have eight. */
static double flops_of_addition(const hs_matmul *x) { return x->update == 2.0 ? 1.0 : 2.0; }

/* Divides the rows of C; workers with an infinite time get none. */
static hs_status divide_rows(const hs_matmul *x, const double *times, const int *cancel,
                             int64_t *counts, hs_layer_sum *sum)
{
    const hs_status status = hs_distribute(x->m, x->p, times, cancel, counts, NULL);
    if (status) return status;
    sum->rows[0] = 0;
    for (int32_t i = 0; i < x->p; i++) sum->rows[i + 1] = sum->rows[i] + counts[i];
    return HS_OK;
}

/* A number of the elements that worker `own` has of the rows from..to of each worker's layer. */
typedef struct {
    const hs_box *layer;    /* [p] the part of C of each worker's layer; empty: it has none */
    const int32_t *workers; /* [layers] workers with a layer */
    int64_t from, to;
    int32_t own; /* a worker whose elements count as 0; -1: none */
} held_rows;

static double elements_held(const void *context, int64_t i)
{
    const held_rows *x = context;
    const int32_t worker = x->workers[i];
    const hs_box *box = &x->layer[worker];
    const int64_t common = hs__min(x->to, box->row + box->height) - hs__max(x->from, box->row);
    return common > 0 && worker != x->own ? (double)common * (double)box->width : 0.0;
}

/* Counts what each worker receives and adds: O(p^2). */
static hs_status count_sum(const hs_matmul *x, int32_t layers, held_rows *held, const int *cancel,
                           hs_layer_sum *sum)
{
    for (int32_t i = 0; i < x->p; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        held->from = sum->rows[i];
        held->to = sum->rows[i + 1];
        held->own = i;
        sum->sent[i] = x->itemsize * hs__sum_numbers(layers, elements_held, held);
        held->own = -1;
        const double all = hs__sum_numbers(layers, elements_held, held);
        const double once = (double)(held->to - held->from) * (double)x->n;
        sum->flops[i] = fmax(all - once, 0.0) * flops_of_addition(x);
    }
    return HS_OK;
}

/* Extends a layer to a box, which is not empty. */
static void extend_layer(hs_box *layer, const hs_box *box)
{
    if (!layer->height) *layer = *box;
    const int64_t end = hs__max(layer->row + layer->height, box->row + box->height);
    const int64_t right = hs__max(layer->col + layer->width, box->col + box->width);
    layer->row = hs__min(layer->row, box->row);
    layer->col = hs__min(layer->col, box->col);
    layer->height = end - layer->row;
    layer->width = right - layer->col;
}

static hs_status prepare_sum(const hs_matmul *x, int64_t count, const hs_box *boxes,
                             const int *cancel, hs_layer_sum *sum)
{
    const size_t p = (size_t)x->p;
    hs_box *layer = calloc(p, sizeof *layer + sizeof(double) + sizeof(int64_t) + sizeof(int32_t));
    if (!layer) return HS_ERROR_MEMORY;
    double *times = (double *)(layer + p);
    int64_t *counts = (int64_t *)(times + p);
    int32_t *workers = (int32_t *)(counts + p);
    for (int64_t i = 0; i < count; i++) extend_layer(&layer[boxes[i].worker], &boxes[i]);
    int32_t layers = 0;
    for (int32_t i = 0; i < x->p; i++) {
        times[i] = layer[i].height ? 1.0 / (1.0 / x->cycle_times[i]) : INFINITY;
        if (layer[i].height) workers[layers++] = i;
    }
    hs_status status = divide_rows(x, times, cancel, counts, sum);
    held_rows held = {.layer = layer, .workers = workers};
    if (!status) status = count_sum(x, layers, &held, cancel, sum);
    free(layer);
    return status;
}

hs_status hs_matmul_shared_layers(const hs_matmul *product, hs_layer_sum *sum)
{
    if (!hs__matmul_valid(product) || !sum || !sum->rows || !sum->sent || !sum->flops)
        return HS_ERROR_VALUE;
    const int32_t p = product->p;
    int64_t *counts = malloc((size_t)p * sizeof *counts);
    if (!counts) return HS_ERROR_MEMORY;
    const hs_status status = divide_rows(product, product->cycle_times, NULL, counts, sum);
    for (int32_t i = 0; i < p && !status; i++) {
        sum->sent[i] = 0.0;
        sum->flops[i] =
            (double)counts[i] * ((double)product->n * (double)(p - 1)) * flops_of_addition(product);
    }
    free(counts);
    return status;
}

/* ---- given boxes ----------------------------------------------------------------------------- */

/* Writes the parts of the boxes that lie in the product, and returns their number. */
static int64_t cut_boxes(const hs_matmul *x, int64_t count, const hs_box *given, hs_box *boxes,
                         double *sent, int32_t *layered)
{
    int64_t kept = 0;
    *layered = 0;
    for (int64_t i = 0; i < count; i++) {
        hs_box box = given[i];
        box.height = hs__cut_off(box.row, box.height, x->m);
        box.width = hs__cut_off(box.col, box.width, x->n);
        box.length = hs__cut_off(box.depth, box.length, x->k);
        if (!box.height || !box.width || !box.length) continue;
        *layered |= box.depth > 0;
        sent[kept] = hs__operand_bytes(x, box.length, (double)(box.height + box.width));
        boxes[kept++] = box;
    }
    return kept;
}

static bool valid_sum(const hs_layer_sum *sum)
{
    return sum && sum->rows && sum->sent && sum->flops;
}

hs_status hs_matmul_layers(const hs_matmul *product, int64_t count, const hs_box *given,
                           const int *cancel, hs_box *boxes, double *sent, int64_t *box_count,
                           hs_layer_sum *sum, int32_t *layered)
{
    if (!hs__matmul_valid(product) || !hs__boxes_valid(product, count, given) || !box_count ||
        !valid_sum(sum) || !layered || (count && (!boxes || !sent)))
        return HS_ERROR_VALUE;
    /* The outputs are written when nothing can fail any more. */
    const size_t number = (size_t)count;
    hs_box *kept = malloc((number + 1) * sizeof *kept);
    double *bytes = malloc((number + 1) * sizeof *bytes);
    hs_status status = hs__check_memory(kept && bytes);
    int64_t left = 0;
    int32_t several = 0;
    if (!status) left = cut_boxes(product, count, given, kept, bytes, &several);
    if (several) status = prepare_sum(product, left, kept, cancel, sum);
    if (!status) {
        if (left) memcpy(boxes, kept, (size_t)left * sizeof *boxes);
        if (left) memcpy(sent, bytes, (size_t)left * sizeof *sent);
        *box_count = left;
        *layered = several;
    }
    free(kept);
    free(bytes);
    return status;
}

/* ---- the best layers ------------------------------------------------------------------------- */

/* Layers for some number of workers. */
typedef struct {
    hs_box *boxes; /* [p] */
    double *sent;  /* [p] */
    hs_layer_sum sum;
    int64_t count;
    int32_t layered;
    double makespan;
} layer_plan;

/* A search over the number of workers that get layers. All arrays are [p]. */
typedef struct {
    const hs_matmul *product;
    int64_t block;
    double *compute, *send; /* time of a block of layers, relative to the least */
    int32_t *port, *speed;  /* workers by ascending transfer, and by ascending total time */
    double *times, *costs;  /* of the workers in the order of the port, for hs_layers */
    int64_t *counts;        /* the same */
    hs_box *given;
    layer_plan now, best;
} search;

/* A larger ratio of times counts as infinite. */
static const double MOST_RATIO = 1e80;

/* Sorts the workers by ascending keys, ties by index. Few workers, or sorted once. */
static hs_status sort_workers(int32_t p, const double *keys, int32_t *order)
{
    for (int32_t i = 0; i < p; i++)
        if (!(keys[i] >= 0.0)) return HS_ERROR_VALUE;
    return hs__sort(p, keys, order);
}

/* Computes the times of a block of layers and the orders of the workers. sums [p] is workspace. */
static hs_status rank_workers(search *s, double *sums)
{
    const hs_matmul *x = s->product;
    const double work = x->update * (double)x->m * (double)x->n;
    const double data = (double)x->itemsize * (double)(x->m + x->n);
    double least = INFINITY;
    for (int32_t i = 0; i < x->p; i++) {
        const double cost = x->link_costs ? x->link_costs[i] : 0.0;
        s->compute[i] = (double)s->block * (work * x->cycle_times[i]) / HS__GIGA;
        s->send[i] = (double)s->block * (data * cost) / HS__GIGA;
        least = fmin(least, s->compute[i]);
    }
    if (!(least > 0.0 && isfinite(least))) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < x->p; i++) {
        s->compute[i] = fmin(s->compute[i] / least, MOST_RATIO);
        s->send[i] = fmin(s->send[i] / least, MOST_RATIO);
        if (s->send[i] < 1.0 / MOST_RATIO) s->send[i] = 0.0;
        sums[i] = s->compute[i] + s->send[i];
    }
    const hs_status status = sort_workers(x->p, s->send, s->port);
    if (status) return status;
    return sort_workers(x->p, sums, s->speed);
}

/* Deals the layers to the first `enrolled` workers by total time. */
static hs_status deal_layers(search *s, int32_t enrolled, const int *cancel)
{
    static const int32_t modes[2][2] = {{HS_SCCS, HS_SCSS}, {HS_PCCS, HS_PCSS}};
    const hs_matmul *x = s->product;
    for (int32_t i = 0; i < x->p; i++) s->times[i] = INFINITY;
    for (int32_t i = 0; i < enrolled; i++) s->times[s->speed[i]] = s->compute[s->speed[i]];
    /* to the order of the port, by way of costs */
    for (int32_t d = 0; d < x->p; d++) s->costs[d] = s->times[s->port[d]];
    for (int32_t d = 0; d < x->p; d++) s->times[d] = s->costs[d];
    for (int32_t d = 0; d < x->p; d++) s->costs[d] = s->send[s->port[d]];
    const hs_layers layers = {.mode = modes[x->parallel][x->overlap],
                              .p = x->p,
                              .layers = hs__ceil_div(x->k, s->block),
                              .compute = s->times,
                              .send = s->costs};
    int optimal;
    const hs_status status = hs_layers_exact(&layers, NULL, cancel, s->counts, &optimal);
    int64_t depth = 0;
    for (int32_t d = 0; d < x->p && !status; d++) {
        const int64_t length = s->block * s->counts[d];
        s->given[d] = (hs_box){
            .worker = s->port[d], .depth = depth, .height = x->m, .width = x->n, .length = length};
        depth += length;
    }
    return status;
}

/* Plans with so many workers. */
static hs_status plan_layers(search *s, int32_t enrolled, const int *cancel, layer_plan *found)
{
    const hs_matmul *x = s->product;
    hs_status status = deal_layers(s, enrolled, cancel);
    if (status) return status;
    found->count = cut_boxes(x, x->p, s->given, found->boxes, found->sent, &found->layered);
    if (found->layered) status = prepare_sum(x, found->count, found->boxes, cancel, &found->sum);
    if (status) return status;
    const hs_matmul_plan plan = {.count = found->count,
                                 .boxes = found->boxes,
                                 .sent = found->sent,
                                 .sum = found->layered ? &found->sum : NULL};
    hs_schedule schedule = {0};
    status = hs_matmul_schedule(x, &plan, NULL, &schedule);
    found->makespan = schedule.makespan;
    return status;
}

/* Finds the best number of workers, ties to the lowest. */
static hs_status search_layers(search *s, const int *cancel)
{
    const int32_t p = s->product->p;
    const int32_t least = p <= HS_MATMUL_FEW ? 1 : p;
    for (int32_t enrolled = least; enrolled <= p; enrolled++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        const hs_status status = plan_layers(s, enrolled, cancel, &s->now);
        if (status) return status;
        if (enrolled > least && !(s->now.makespan < s->best.makespan)) continue;
        const layer_plan better = s->now;
        s->now = s->best;
        s->best = better;
    }
    return HS_OK;
}

/* Cuts the arrays of a plan from `room`, and returns where the next ones begin. */
static char *place_plan(int32_t p, char *room, layer_plan *plan)
{
    plan->boxes = (hs_box *)room;
    plan->sent = (double *)(plan->boxes + p);
    plan->sum.sent = plan->sent + p;
    plan->sum.flops = plan->sum.sent + p;
    plan->sum.rows = (int64_t *)(plan->sum.flops + p);
    return (char *)(plan->sum.rows + p + 1);
}

/* Sets up a search in one piece of memory, which the caller frees. NULL: there is none. */
static char *open_search(search *s, const hs_matmul *x, int64_t block)
{
    const size_t p = (size_t)x->p;
    const size_t of_plan = sizeof(hs_box) + 3 * sizeof(double) + sizeof(int64_t);
    const size_t own = sizeof(hs_box) + 4 * sizeof(double) + sizeof(int64_t) + 2 * sizeof(int32_t);
    char *room = malloc(p * (2 * of_plan + own) + 2 * sizeof(int64_t));
    if (!room) return NULL;
    *s = (search){.product = x, .block = block};
    char *next = place_plan(x->p, place_plan(x->p, room, &s->now), &s->best);
    s->given = (hs_box *)next;
    s->compute = (double *)(s->given + p);
    s->send = s->compute + p;
    s->times = s->send + p;
    s->costs = s->times + p;
    s->counts = (int64_t *)(s->costs + p);
    s->port = (int32_t *)(s->counts + p);
    s->speed = s->port + p;
    return room;
}

static void write_plan(int32_t p, const layer_plan *plan, hs_box *boxes, double *sent,
                       hs_layer_sum *sum)
{
    memcpy(boxes, plan->boxes, (size_t)plan->count * sizeof *boxes);
    memcpy(sent, plan->sent, (size_t)plan->count * sizeof *sent);
    if (!plan->layered) return;
    memcpy(sum->rows, plan->sum.rows, ((size_t)p + 1) * sizeof *sum->rows);
    memcpy(sum->sent, plan->sum.sent, (size_t)p * sizeof *sum->sent);
    memcpy(sum->flops, plan->sum.flops, (size_t)p * sizeof *sum->flops);
}

hs_status hs_matmul_layers_best(const hs_matmul *product, int64_t block, const int *cancel,
                                hs_box *boxes, double *sent, int64_t *box_count, hs_layer_sum *sum,
                                int32_t *layered)
{
    if (!hs__matmul_valid(product) || block < 1 || block > HS__SIZE_MOST || !boxes || !sent ||
        !box_count || !valid_sum(sum) || !layered)
        return HS_ERROR_VALUE;
    if (!product->m || !product->n || !product->k) return HS_ERROR_VALUE;
    search s;
    char *room = open_search(&s, product, block);
    if (!room) return HS_ERROR_MEMORY;
    hs_status status = rank_workers(&s, s.times);
    if (!status) status = search_layers(&s, cancel);
    if (!status) {
        write_plan(product->p, &s.best, boxes, sent, sum);
        *box_count = s.best.count;
        *layered = s.best.layered;
    }
    free(room);
    return status;
}
