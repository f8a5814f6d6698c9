/* Runs products: boxes to gangs, gangs to the pool's workers. */

#include <math.h>

#include "run/gang.h"
#include "run/layers.h"
#include "run/member.h"
#include "run/thin.h"

static const double SMALL = 5e5; /* fewer multiply-adds are done by the caller alone: waking the others takes as long */

double hs_flops_per_update(int32_t dtype) { return dtype >> 1 ? 8.0 : 2.0; }

void hs_product_default(hs_product *product, int32_t dtype, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c)
{
    if (!product) return;
    *product = (hs_product){.dtype = dtype, .m = m, .n = n, .k = k, .a = a, .a_row_stride = k, .a_col_stride = 1, .b = b, .b_row_stride = n,
                            .b_col_stride = 1, .c = c, .c_row_stride = n, .c_col_stride = 1, .alpha = {1.0}};
}

typedef struct {
    hs__run run;
    const hs_product *product;
    const hs_boxes *boxes;
    hs_boxes *chosen; /* the same where they may be cut in layers, else NULL */
    hs__gang *gang; /* [count] */
    double *speeds; /* [workers] of a shared run, as they are of late */
    double *done;   /* [workers] flops */
    int64_t *depth; /* [workers] where there are layers to be kept: the least depth of its boxes; else NULL */
    hs__layered sum;
    atomic_int *taken; /* [count]: boxes of a cooperative layered run that a worker has taken; else NULL */
} job;

/* ---- workers -------------------------------------------------------------------------------------------------- */

/* The next box of a worker from *at on, where there are takers its own in order, then those of others from the back; -1: none is left. */
static int32_t next_box(job *j, int32_t worker, int32_t *at)
{
    const hs_boxes *boxes = j->boxes;
    const int32_t count = boxes->count;
    for (; *at < (j->taken ? 2 * count : count); ++*at) {
        const int32_t box = *at < count ? *at : 2 * count - 1 - *at;
        if (j->gang[box].panel_count == 0) continue;
        if ((!boxes->cooperative || j->taken) && *at < count && boxes->box[box].worker != worker) continue;
        if (j->taken && atomic_exchange(&j->taken[box], 1)) continue;
        ++*at;
        return box;
    }
    return -1;
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    const hs_boxes *boxes = j->boxes;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    const int shares = boxes->cooperative && !boxes->layered;

    int32_t at = 0;
    if (j->taken) atomic_fetch_add(&j->sum.joined, 1);
    for (int32_t box; !hs__stopped(&self) && (box = next_box(j, worker, &at)) >= 0;) {
        hs__gang *gang = &j->gang[box];
        const double *transfer = boxes->receive ? boxes->receive + 2 * (size_t)box : NULL;
        self.box = box;
        if (transfer) hs__await_transfer(&self, transfer, boxes->overlap);
        void *block = hs__pool_scratch(j->run.pool, HS__BLOCKS, worker, 0); /* sized before the run */
        if (boxes->layered) {
            gang->panels[0] = gang->panels[1] = hs__pool_scratch(j->run.pool, HS__PANELS, worker, 0);
            hs__layered_receive(&j->sum, box, gang);
        }
        j->done[worker] += hs__gang_work(gang, shares ? worker : 0, block, &self);
        if (transfer) hs__end_transfer(&self, transfer);
        if (shares && box + 1 < boxes->count) hs__gang_wait(gang, &self);
    }
    if (boxes->layered) hs__layered_sum(&j->sum, &self);
    hs__member_end(&self);
}

/* ---- the run -------------------------------------------------------------------------------------------------- */

static int valid_extent(int64_t from, int64_t size, int64_t limit) { return from >= 0 && size >= 0 && from <= limit && size <= limit - from; }

static int valid_speeds(const double *speeds, int32_t workers)
{
    double total = 0.0;
    for (int32_t w = 0; speeds && w < workers; w++) {
        if (!(speeds[w] >= 0.0 && isfinite(speeds[w]))) return 0;
        total += speeds[w];
    }
    return !speeds || (total > 0.0 && isfinite(total));
}

static int valid_product(const hs_product *p)
{
    if (p->dtype < 0 || p->dtype > 3 || p->m < 0 || p->n < 0 || p->k < 0) return 0;
    if (p->m && p->n && !p->c) return 0;
    if (p->triangle < HS_TRIANGLE_NONE || p->triangle > HS_TRIANGLE_MIRRORED || (p->triangle && p->m != p->n)) return 0;
    if (p->triangle && p->conjugate && p->dtype >> 1 && (p->alpha[1] != 0.0 || p->beta[1] != 0.0)) return 0;
    return !p->m || !p->n || !p->k || (p->a && p->b);
}

static hs_status check(const void *context)
{
    const job *j = context;
    const hs_product *p = j->product;
    const hs_boxes *boxes = j->boxes;
    const int32_t workers = j->run.workers;
    if (!valid_product(p) || boxes->count < 0 || (boxes->count && !boxes->box)) return HS_ERROR_VALUE;
    if (boxes->cooperative ? j->run.options.pace || boxes->receive : boxes->speeds != NULL) return HS_ERROR_VALUE;
    if (boxes->overlap && !boxes->receive && !boxes->sum_receive) return HS_ERROR_VALUE;
    if (!boxes->layered && (boxes->sum_rows || boxes->sum_receive)) return HS_ERROR_VALUE;
    if (boxes->layers && (boxes->cooperative || boxes->layered || p->triangle)) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *b = &boxes->box[i];
        if (!boxes->cooperative && (b->worker < 0 || b->worker >= workers)) return HS_ERROR_VALUE;
        if (!valid_extent(b->row, b->height, p->m) || !valid_extent(b->col, b->width, p->n) || !valid_extent(b->depth, b->length, p->k))
            return HS_ERROR_VALUE;
        if (boxes->layers && b->height && b->width && !boxes->layers[b->worker]) return HS_ERROR_VALUE;
    }
    if (boxes->layered && !hs__layered_valid(p, boxes, workers)) return HS_ERROR_VALUE;
    return hs__valid_transfers(boxes->receive, boxes->count) && valid_speeds(boxes->speeds, workers) ? HS_OK : HS_ERROR_VALUE;
}

/* A box and the product that it is of: with layers to be kept that of the worker's part of the depth alone, in its own matrix. */
static hs_product product_of(const job *j, hs_box *box)
{
    hs_product own = *j->product;
    if (!j->depth) return own;
    const int64_t first = j->depth[box->worker], bytes = hs__element_bytes(own.dtype);
    if (box->length) own.a = (const char *)own.a + first * own.a_col_stride * bytes, own.b = (const char *)own.b + first * own.b_row_stride * bytes;
    own.k -= first, box->depth -= first;
    own.c = j->boxes->layers[box->worker], own.c_row_stride = own.n, own.c_col_stride = 1;
    return own;
}

/* C <- beta C for a box without depth. */
static void scale_box(const hs_product *p, const hs_box *box)
{
    hs__matrix a, b, c;
    hs__matrices_of(p, &a, &b, &c);
    c = hs__part(&c, box->row, box->col, box->height, box->width);
    if (box->depth) return;
    const hs__triangle triangle = hs__triangle_of(p, box->row, box->col);
    hs__triangle_scale(p->dtype, &triangle, &c, 0, 0, p->beta);
    hs__triangle_finish(p->dtype, &triangle, &c, 0, box->height, 0, box->width);
}

static size_t panel_space(const hs__gang *gang) { return (hs__panel_bytes(&gang->x) + 4095) / 4096 * 4096; }
static size_t panel_buffers(const hs__gang *gang) { return gang->panel_count > 1 ? (size_t)gang->x.buffers : 1; }

/* The gang of a box, if there is something to multiply, and scratch for it: of a gang of several all use the panels of worker 0. */
static hs_status open_gang(job *j, int32_t i)
{
    const hs_boxes *boxes = j->boxes;
    hs_box box = boxes->box[i];
    const int32_t p = j->run.workers, members = boxes->cooperative && !boxes->layered ? p : 1;
    hs__gang *gang = &j->gang[i];
    hs__panel_product x;
    if (box.length == 0 || hs__no_product(j->product)) return HS_OK;
    const hs_product product = boxes->layered ? hs__layered_product(&j->sum, i) : product_of(j, &box);
    if (!hs__panel_product_init(&x, hs__kernel_current(), &product, &box, members)) return HS_OK;
    hs_status status = hs__gang_init(gang, &j->run, &x, members, j->speeds);
    if (status) return status;
    j->run.total += gang->tile_total;
    for (int32_t w = 0; w < p; w++) {
        if (!boxes->cooperative && w != box.worker) continue;
        const int packs = members == 1 || w == 0;
        if (packs && !hs__pool_scratch(j->run.pool, HS__PANELS, w, panel_space(gang) * panel_buffers(gang))) return HS_ERROR_MEMORY;
        if (!hs__pool_scratch(j->run.pool, HS__BLOCKS, w, hs__block_bytes(&x))) return HS_ERROR_MEMORY;
    }
    return HS_OK;
}

/* hs_gemm_boxes; of a triangle half a layer is to be summed, and the other half mirrored. */
static int32_t layered_boxes(const hs_product *x, int32_t p, const double *speeds, hs_box *boxes, int32_t capacity)
{
    enum { SHORTEST = 256, LEAST = 2, MOST = 8, SHARE = 20 };
    /* Layers take a twentieth of the operands, and their sum less than meeting at each panel; but each worker has two at least, so
     * that one can take over another's. */
    const int64_t m = x->m, n = x->n, k = x->k;
    const double layer = (double)m * (double)n / (x->triangle ? 4.0 / 3.0 : 1.0), room = (double)k * ((double)m + (double)n) / SHARE;
    if (p < 2 || p * layer > room || k / SHORTEST < p) return 0;
    const double fit = fmin(fmax(room / fmax(layer, 1.0), (double)LEAST * p), fmin((double)MOST * p, (double)(k / SHORTEST)));
    const int32_t count = (int32_t)fit;
    double total = 0.0, sum = 0.0;
    for (int32_t w = 0; w < p; w++) total += speeds ? speeds[w] : 1.0;
    for (int32_t w = 0, i = 0; w < p; w++) {
        sum += speeds ? speeds[w] : 1.0;
        for (; i < count && (w + 1 == p || (i + 0.5) * total < sum * count); i++) {
            if (i >= capacity || !boxes) continue;
            const int64_t from = k / count * i + k % count * i / count, to = k / count * (i + 1) + k % count * (i + 1) / count;
            boxes[i] = (hs_box){.worker = w, .depth = from, .height = m, .width = n, .length = to - from};
        }
    }
    return count;
}

static hs_status choose_layers(job *j, hs_boxes *boxes)
{
    const hs_product *p = j->product;
    const int32_t count = layered_boxes(p, j->run.workers, boxes->speeds, NULL, 0);
    if (count == 0) return HS_OK;
    hs_box *layers = hs__run_zeros(&j->run, (size_t)count, sizeof *layers);
    if (!layers) return HS_ERROR_MEMORY;
    layered_boxes(p, j->run.workers, j->speeds, layers, count);
    boxes->box = layers, boxes->count = count, boxes->layered = 1;
    return HS_OK;
}

/* Where each worker's part of the depth begins. */
static hs_status find_depths(job *j)
{
    const hs_boxes *boxes = j->boxes;
    j->depth = hs__run_zeros(&j->run, (size_t)j->run.workers, sizeof *j->depth);
    if (!j->depth) return HS_ERROR_MEMORY;
    for (int32_t w = 0; w < j->run.workers; w++) j->depth[w] = j->product->k;
    for (int32_t i = 0; i < boxes->count; i++) j->depth[boxes->box[i].worker] = hs__min(j->depth[boxes->box[i].worker], boxes->box[i].depth);
    return HS_OK;
}

static hs_status open_all(job *j)
{
    const hs_boxes *boxes = j->boxes;
    const int32_t p = j->run.workers;
    j->speeds = hs__run_zeros(&j->run, 2 * (size_t)p, sizeof *j->speeds);
    if (!j->speeds) return HS_ERROR_MEMORY;
    j->done = j->speeds + p;
    hs__drift_speeds(hs__pool_drift(j->run.pool), boxes->speeds, j->speeds);
    hs_status status = j->chosen ? choose_layers(j, j->chosen) : boxes->layers ? find_depths(j) : HS_OK;
    if (!status && boxes->layered) status = hs__layered_open(&j->sum, &j->run, j->product, boxes);
    if (!status && boxes->layered && boxes->cooperative && !(j->taken = hs__run_zeros(&j->run, (size_t)boxes->count, sizeof *j->taken)))
        status = HS_ERROR_MEMORY;
    if (!status && !(j->gang = hs__run_zeros(&j->run, (size_t)boxes->count, sizeof *j->gang))) status = HS_ERROR_MEMORY;
    for (int32_t i = 0; i < boxes->count && !status; i++) status = open_gang(j, i);
    return status;
}

static hs_status open(void *context)
{
    job *j = context;
    const hs_boxes *boxes = j->boxes;
    const hs_product *p = j->product;
    hs_status status = open_all(j);
    for (int32_t i = 0; i < boxes->count && !status; i++) { /* scratch has its final place only now, and nothing can fail any more */
        hs__gang *gang = &j->gang[i];
        if (gang->panel_count == 0) {
            hs_box box = boxes->box[i];
            const hs_product own = product_of(j, &box);
            if (!boxes->layered) scale_box(&own, &box);
            continue;
        }
        gang->panels[0] = hs__pool_scratch(j->run.pool, HS__PANELS, boxes->cooperative ? 0 : boxes->box[i].worker, 0);
        gang->panels[1] = (char *)gang->panels[0] + (panel_buffers(gang) - 1) * panel_space(gang);
    }
    const int64_t parts = boxes->layered ? boxes->count : j->run.total;
    const int small = (double)p->m * (double)p->n * (double)p->k <= SMALL;
    j->run.manner = !boxes->cooperative ? HS__EACH : small ? HS__ALONE : HS__SHARED;
    j->run.speeds = boxes->speeds;
    if (parts >= HS__DRIFT_PARTS * (int64_t)j->run.workers) j->run.work_of = j->done;
    return status;
}

static const hs__kind kind = {.check = check, .open = open, .work = work};

/* Whether all workers share the whole of a thin product, as they do in hs_gemm. */
static int is_thin(const job *j)
{
    const hs_boxes *boxes = j->boxes;
    const hs_product *p = j->product;
    if (check(j) || !boxes->cooperative || boxes->layered || boxes->count != 1) return 0;
    const hs_box *box = boxes->box;
    return box->height == p->m && box->width == p->n && box->length == p->k && !hs__no_product(p) && hs__is_thin(p);
}

hs_status hs_run_product(hs_pool *pool, const hs_product *product, const hs_boxes *boxes, const hs_options *options, hs_trace *trace)
{
    if (!pool || !product || !boxes) return HS_ERROR_VALUE;
    job j = {.run = hs__run_of(&kind, pool, options, trace), .product = product, .boxes = boxes};
    return is_thin(&j) ? hs__run_thin(pool, product, options, trace) : hs__run_do(&j.run);
}

int32_t hs_gemm_boxes(int64_t m, int64_t n, int64_t k, int32_t p, const double *speeds, hs_box *boxes, int32_t capacity)
{
    return layered_boxes(&(hs_product){.m = m, .n = n, .k = k}, p, speeds, boxes, capacity);
}

hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds, hs_poll_function poll, void *context)
{
    if (!pool || !product) return HS_ERROR_VALUE;
    const hs_options options = {.poll = poll, .poll_context = context};
    if (valid_product(product) && valid_speeds(speeds, hs__pool_size(pool)) && !hs__no_product(product) && hs__is_thin(product))
        return hs__run_thin(pool, product, &options, NULL);
    const hs_box whole = {.height = product->m, .width = product->n, .length = product->k};
    hs_boxes boxes = {.box = &whole, .count = 1, .cooperative = 1, .speeds = speeds};
    job j = {.run = hs__run_of(&kind, pool, &options, NULL), .product = product, .boxes = &boxes, .chosen = &boxes};
    return hs__run_do(&j.run);
}
