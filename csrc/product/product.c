/* Runs products. A shared box is computed by all workers of the pool, in bands (bands.c); other
 * boxes are each computed by one worker, as a gang of one (gang.c). Layers that are computed at the
 * same time are then added to C (layers.c). Thin products go to thin.c. */

#include <math.h>
#include <stdlib.h>

#include "core/status.h"
#include "core/tuning.h"
#include "product/bands.h"
#include "product/layers.h"
#include "product/thin.h"
#include "run/member.h"

double hs_flops_per_update(int32_t dtype) { return dtype >> 1 ? 8.0 : 2.0; }

void hs_product_default(hs_product *product, int32_t dtype, int64_t m, int64_t n, int64_t k,
                        const void *a, const void *b, void *c)
{
    if (!product) return;
    *product = (hs_product){.dtype = dtype,
                            .m = m,
                            .n = n,
                            .k = k,
                            .a = a,
                            .a_row_stride = k,
                            .a_col_stride = 1,
                            .b = b,
                            .b_row_stride = n,
                            .b_col_stride = 1,
                            .c = c,
                            .c_row_stride = n,
                            .c_col_stride = 1,
                            .alpha = {1.0}};
}

typedef struct {
    hs__run run;
    const hs_product *product;
    const hs_boxes *boxes;
    hs_boxes *chosen;   /* equal to `boxes` if the run may choose layers, else NULL */
    hs__bands *bands;   /* [count] of boxes that all workers share, else NULL */
    hs__gang *gang;     /* [count] of boxes that one worker computes */
    hs__kernel *kernel; /* [domains] */
    double *speeds;     /* [workers] of a shared run, as they are of late */
    double *done;       /* [workers] flops */
    /* [count] if the caller keeps layers: the depth of the first box of the same worker over this
     * region; else NULL */
    int64_t *depth;
    hs__layered sum;
    /* for boxes with the whole depth: their layers, which are added up in the same order by all
     * workers */
    hs__in_layers layers;
    /* [count] non-zero: a worker has taken the box of a cooperative layered run; else NULL */
    atomic_int *taken;
    /* [count] for the same boxes, memory for the tables of the worker that takes it; NULL: nothing
     * to multiply */
    void **room;
} product_run;

static int is_shared(const hs_boxes *boxes) { return boxes->cooperative && !boxes->layered; }

/* Whether a box has something to multiply. */
static int has_work(const product_run *job, int32_t box)
{
    if (job->bands) return job->bands[box].count > 0;
    return job->taken ? job->room[box] != NULL : job->gang[box].panel_count > 0;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Returns the next box of a worker, from *at on; -1: none is left. If boxes are taken, the worker
 * goes through its own ones in order, then through the boxes of other workers from the back. */
static int32_t next_box(product_run *job, int32_t worker, int32_t *at)
{
    const hs_boxes *boxes = job->boxes;
    const int32_t count = boxes->count;
    for (; *at < (job->taken ? 2 * count : count); ++*at) {
        const int32_t box = *at < count ? *at : 2 * count - 1 - *at;
        if (!has_work(job, box)) continue;
        if ((!boxes->cooperative || job->taken) && *at < count && boxes->box[box].worker != worker)
            continue;
        if (job->taken && atomic_exchange(&job->taken[box], 1)) continue;
        ++*at;
        return box;
    }
    return -1;
}

/* Returns the product that box i belongs to. If the caller keeps layers, that is the product of the
 * worker's part of the depth, in a matrix of its own, and the box's depth is counted from there. */
static hs_product product_of(const product_run *job, int32_t i, hs_box *box)
{
    hs_product own = *job->product;
    *box = job->boxes->box[i];
    if (!job->boxes->layers) return own;
    const int64_t first = job->depth[i];
    const int64_t bytes = hs__element_bytes(own.dtype);
    if (box->length) {
        own.a = (const char *)own.a + first * own.a_col_stride * bytes;
        own.b = (const char *)own.b + first * own.b_row_stride * bytes;
    }
    own.k -= first;
    box->depth -= first;
    own.c = job->boxes->layers[box->worker];
    own.c_row_stride = own.n;
    own.c_col_stride = 1;
    return own;
}

static int has_all_depth(const product_run *job, const hs_box *box)
{
    return box->depth == 0 && box->length == job->product->k;
}

/* Returns the layers that a box adds up one after the other, or NULL. */
static const hs__in_layers *layers_of(const product_run *job, const hs_box *box)
{
    return job->layers.room.data && has_all_depth(job, box) ? &job->layers : NULL;
}

/* Sets up a box for one worker of a domain. Returns 0 if there is nothing to multiply. */
static int set_up_box(const product_run *job, int32_t domain, int32_t i, hs__panel_product *x)
{
    if (job->boxes->layered) return hs__layered_product(&job->sum, i, &job->kernel[domain], x);
    hs_box box;
    const hs_product product = product_of(job, i, &box);
    return hs__panel_product_init(x, &job->kernel[domain], &product, &box, layers_of(job, &box), 1);
}

static double compute_own_box(product_run *job, int32_t box, int32_t worker, void *block,
                              hs__member *self)
{
    const hs_boxes *boxes = job->boxes;
    hs__gang *gang = &job->gang[box];
    if (job->taken) {
        hs__panel_product x;
        set_up_box(job, hs__pool_domain(job->run.pool, worker), box, &x);
        hs__gang_place(gang, &x, 1, NULL, 1, NULL, job->room[box]);
    }
    /* a gang of one has a single buffer */
    gang->panels[0] = gang->panels[1] = hs__pool_scratch(job->run.lease, HS__PANELS, worker, 0);
    if (boxes->layered) hs__layered_receive(&job->sum, box, gang);
    return hs__gang_work(gang, 0, block, self);
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    product_run *job = context;
    const hs_boxes *boxes = job->boxes;
    hs__member self = hs__member_start(&job->run, worker, is_caller);

    int32_t at = 0;
    if (job->taken) atomic_fetch_add(&job->sum.joined, 1);
    for (int32_t box; !hs__stopped(&self) && (box = next_box(job, worker, &at)) >= 0;) {
        const double *transfer = boxes->receive ? boxes->receive + 2 * (size_t)box : NULL;
        self.box = box;
        if (transfer) hs__await_transfer(&self, transfer, boxes->overlap);
        /* sized before the run */
        void *block = hs__pool_scratch(job->run.lease, HS__BLOCKS, worker, 0);
        if (job->bands) job->done[worker] += hs__bands_work(&job->bands[box], worker, block, &self);
        else job->done[worker] += compute_own_box(job, box, worker, block, &self);
        if (transfer) hs__end_transfer(&self, transfer);
        if (job->bands && box + 1 < boxes->count) hs__bands_wait(&job->bands[box], &self);
    }
    if (boxes->layered) hs__layered_sum(&job->sum, &self);
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

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
    if (p->triangle < HS_TRIANGLE_NONE || p->triangle > HS_TRIANGLE_MIRRORED ||
        (p->triangle && p->m != p->n))
        return 0;
    if (p->triangle && p->conjugate && p->dtype >> 1 && (p->alpha[1] != 0.0 || p->beta[1] != 0.0))
        return 0;
    return !p->m || !p->n || !p->k || (p->a && p->b);
}

static hs_status check_arguments(const void *context)
{
    const product_run *job = context;
    const hs_product *p = job->product;
    const hs_boxes *boxes = job->boxes;
    const int32_t workers = job->run.workers;
    if (!valid_product(p) || boxes->count < 0 || (boxes->count && !boxes->box))
        return HS_ERROR_VALUE;
    if (boxes->cooperative ? job->run.options.pace || boxes->receive : boxes->speeds != NULL)
        return HS_ERROR_VALUE;
    if (boxes->overlap && !boxes->receive && !boxes->sum_receive) return HS_ERROR_VALUE;
    if (!boxes->layered && (boxes->sum_rows || boxes->sum_receive)) return HS_ERROR_VALUE;
    if (boxes->layers && (boxes->cooperative || boxes->layered || p->triangle))
        return HS_ERROR_VALUE;
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *b = &boxes->box[i];
        if (!boxes->cooperative && (b->worker < 0 || b->worker >= workers)) return HS_ERROR_VALUE;
        const int in_c =
            hs__is_within(b->row, b->height, p->m) && hs__is_within(b->col, b->width, p->n);
        if (!in_c || !hs__is_within(b->depth, b->length, p->k)) return HS_ERROR_VALUE;
        if (boxes->layers && b->height && b->width && !boxes->layers[b->worker])
            return HS_ERROR_VALUE;
    }
    if (boxes->layered && !hs__layered_valid(p, boxes, workers)) return HS_ERROR_VALUE;
    if (!hs__valid_transfers(boxes->receive, boxes->count) || !valid_speeds(boxes->speeds, workers))
        return HS_ERROR_VALUE;
    /* without an inner dimension there are no layers */
    const int apart = boxes->layered || boxes->layers != NULL;
    if (job->chosen || (apart && p->k == 0)) return HS_OK;
    return hs_boxes_cover(p->m, p->n, p->k, p->triangle, !apart && !boxes->cooperative,
                          boxes->count, boxes->box, NULL);
}

/* C <- beta C for a box at depth 0 that has nothing to multiply. */
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

/* Takes scratch of a worker for a gang of its own. */
static hs_status take_scratch(product_run *job, int32_t worker, const hs__panel_product *x)
{
    hs__lease *lease = job->run.lease;
    if (!hs__pool_scratch(lease, HS__PANELS, worker, hs__panel_bytes(x)) ||
        !hs__pool_scratch(lease, HS__BLOCKS, worker, hs__block_bytes(x)))
        return HS_ERROR_MEMORY;
    return HS_OK;
}

/* Opens a box that its own worker computes. */
static hs_status open_own(product_run *job, int32_t i)
{
    hs__panel_product x;
    const int32_t worker = job->boxes->box[i].worker;
    if (!set_up_box(job, hs__pool_domain(job->run.pool, worker), i, &x)) return HS_OK;
    const hs_status status = hs__gang_init(&job->gang[i], &job->run, &x, 1, NULL);
    if (status) return status;
    return take_scratch(job, worker, &x);
}

/* Opens a layer that any worker may take: its memory is large enough for each domain. */
static hs_status open_layer(product_run *job, int32_t i)
{
    const hs__domains *domains = hs__pool_domains(job->run.pool);
    const int32_t own = hs__domain_of(domains, job->boxes->box[i].worker);
    size_t most = 0;
    for (int32_t d = 0; d < domains->count; d++) {
        hs__panel_product x;
        size_t bytes = 0;
        int64_t tiles;
        if (!set_up_box(job, d, i, &x)) return HS_OK;
        hs_status status = hs__gang_measure(&x, 1, NULL, &bytes, &tiles);
        for (int32_t w = 0; w < job->run.workers && !status; w++)
            if (hs__domain_of(domains, w) == d) status = take_scratch(job, w, &x);
        if (status) return status;
        if (d == own) job->run.total += tiles;
        most = hs__larger(most, bytes);
    }
    job->room[i] = hs__run_zeros(&job->run, most / 64, 64);
    return hs__check_memory(job->room[i]);
}

static hs_status open_box(product_run *job, int32_t i)
{
    const hs_boxes *boxes = job->boxes;
    if (boxes->box[i].length == 0 || hs__no_product(job->product)) return HS_OK;
    const hs_box *box = &boxes->box[i];
    if (job->bands)
        return hs__bands_open(&job->bands[i], &job->run, job->product, box, layers_of(job, box),
                              job->kernel, job->speeds, job->run.manner == HS__ALONE);
    return job->taken ? open_layer(job, i) : open_own(job, i);
}

/* A division of boxes of equal work over workers in proportion to their speeds; each gets adjacent
 * boxes. */
typedef struct {
    const double *speeds; /* [p] or NULL */
    double total, sum;    /* of all workers, and of workers 0 .. `worker` */
    int32_t p, worker;
} division;

static division begin_division(int32_t p, const double *speeds)
{
    division x = {.speeds = speeds, .p = p, .worker = -1};
    for (int32_t w = 0; w < p; w++) x.total += speeds ? speeds[w] : 1.0;
    return x;
}

/* Returns the worker that owns box i of `count`. i must not decrease from call to call. */
static int32_t owner_of(division *x, int32_t i, int32_t count)
{
    while (x->worker < 0 || (x->worker + 1 < x->p && (i + 0.5) * x->total >= x->sum * count)) {
        x->worker++;
        x->sum += x->speeds ? x->speeds[x->worker] : 1.0;
    }
    return x->worker;
}

static int32_t common_divisor(int32_t x, int32_t y) { return y ? common_divisor(y, x % y) : x; }

/* Returns the rows of a layer before band i, if it is cut into `bands` bands of equal work. */
static int64_t rows_before(const hs_product *x, int32_t i, int32_t bands)
{
    const double share = (double)i / bands;
    const double upper = 1.0 - sqrt(1.0 - share);
    double part = share;
    if (x->triangle) part = x->triangle == HS_TRIANGLE_UPPER ? upper : sqrt(share);
    return i == bands ? x->m : (int64_t)((double)x->m * part);
}

/* hs_gemm_boxes for any product. The depth of the layers depends on the sizes alone, so their
 * number need not suit p workers. The workers get equal numbers of whole layers, and the remaining
 * layers are cut into bands of rows; if there are fewer layers than workers, all are cut. */
static int32_t layered_boxes(const hs_product *x, int32_t p, const double *speeds, hs_box *boxes,
                             int32_t capacity)
{
    /* A layer for each worker takes at most a twentieth of the operands: then the reduction takes
     * less time than meeting at each panel. */
    const int64_t depth = hs__layer_depth(x);
    const double layer = (double)x->m * (double)x->n / (x->triangle ? 4.0 / 3.0 : 1.0);
    const double room = (double)x->k * ((double)x->m + (double)x->n) / HS__PACKED_SHARE;
    if (p < 2 || depth >= x->k || p * layer > room) return 0;
    const int32_t count = (int32_t)(x->k / depth + (x->k % depth != 0));
    const int32_t cut = count % p;
    const int32_t whole = count - cut;
    const int32_t bands =
        cut ? (int32_t)hs__max(1, hs__min(p / common_divisor(p, cut), x->m / HS__LAYER_ROWS)) : 1;
    if (whole + cut * bands < p) return 0;
    division first = begin_division(p, speeds);
    division last = first;
    for (int32_t i = 0, at = 0; boxes && i < count; i++)
        for (int32_t band = 0, own = i < whole ? 1 : bands; band < own && at < capacity; band++) {
            const int64_t row = rows_before(x, band, own);
            const int64_t end = rows_before(x, band + 1, own);
            const int32_t worker = i < whole
                                       ? owner_of(&first, i, whole)
                                       : owner_of(&last, (i - whole) * bands + band, cut * bands);
            boxes[at++] = (hs_box){.worker = worker,
                                   .row = row,
                                   .depth = i * depth,
                                   .height = end - row,
                                   .width = x->n,
                                   .length = hs__min(depth, x->k - i * depth)};
        }
    return whole + cut * bands;
}

static hs_status choose_layers(product_run *job, hs_boxes *boxes)
{
    const hs_product *p = job->product;
    const int32_t count = layered_boxes(p, job->run.workers, boxes->speeds, NULL, 0);
    if (count == 0) return HS_OK;
    hs_box *layers = hs__run_zeros(&job->run, (size_t)count, sizeof *layers);
    if (!layers) return HS_ERROR_MEMORY;
    layered_boxes(p, job->run.workers, job->speeds, layers, count);
    boxes->box = layers;
    boxes->count = count;
    boxes->layered = 1;
    return HS_OK;
}

/* Takes memory for one layer, if the product is a sum of layers that are not computed at the same
 * time. */
static hs_status open_layers(product_run *job)
{
    const hs_boxes *boxes = job->boxes;
    int32_t i = 0;
    job->layers.depth = hs__layer_depth(job->product);
    if (boxes->layered || boxes->layers || job->layers.depth >= job->product->k ||
        hs__no_product(job->product))
        return HS_OK;
    while (i < boxes->count && !has_all_depth(job, &boxes->box[i])) i++;
    return i < boxes->count ? hs__one_layer(&job->layers, &job->run, job->product) : HS_OK;
}

/* Allocates the arrays that this kind of boxes needs. */
static hs_status open_arrays(product_run *job)
{
    const hs_boxes *boxes = job->boxes;
    const size_t count = (size_t)boxes->count;
    if (is_shared(boxes)) {
        job->bands = hs__run_zeros(&job->run, count, sizeof *job->bands);
        return hs__check_memory(job->bands);
    }
    if (!(job->gang = hs__run_zeros(&job->run, count, sizeof *job->gang))) return HS_ERROR_MEMORY;
    if (!boxes->cooperative) return HS_OK;
    job->taken = hs__run_zeros(&job->run, count, sizeof *job->taken);
    job->room = hs__run_zeros(&job->run, count, sizeof *job->room);
    return hs__check_memory(job->taken && job->room);
}

/* Returns the number of elements of C in both boxes. */
static int64_t shared_area(const hs_box *x, const hs_box *y)
{
    const int64_t height =
        hs__min(x->row + x->height, y->row + y->height) - hs__max(x->row, y->row);
    const int64_t width = hs__min(x->col + x->width, y->col + y->width) - hs__max(x->col, y->col);
    return height > 0 && width > 0 ? height * width : 0;
}

/* Finds the depth from which each box counts if the caller keeps the layers. A box that is the
 * first one of its worker over its region applies beta there, and counts from its own depth. A
 * later box counts from the depth of the first ones. HS_ERROR_VALUE if a box lies only partly over
 * first ones, over first ones of several depths, or before their depth. */
static hs_status find_depths(product_run *job)
{
    const hs_boxes *boxes = job->boxes;
    const int64_t k = job->product->k;
    job->depth = hs__run_zeros(&job->run, (size_t)boxes->count, sizeof *job->depth);
    /* [workers] 1 + the depth of all boxes of the worker so far; 0: none yet, -1: there are several */
    int64_t *only = hs__run_zeros(&job->run, (size_t)job->run.workers, sizeof *only);
    if (!job->depth || !only) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *box = &boxes->box[i];
        int64_t covered = 0;
        job->depth[i] = box->depth;
        if (k && !box->length) continue;
        const int alike = !only[box->worker] || only[box->worker] == 1 + box->depth;
        only[box->worker] = alike ? 1 + box->depth : -1;
        if (k && alike) continue; /* boxes that tile do not overlap at one depth */
        for (int32_t j = 0; j < i; j++) {
            const hs_box *other = &boxes->box[j];
            if (other->worker != box->worker || other->depth != job->depth[j]) continue;
            if (k && !other->length) continue;
            const int64_t area = shared_area(box, other);
            if (area &&
                (!k || other->depth > box->depth || (covered && other->depth != job->depth[i])))
                return HS_ERROR_VALUE;
            if (area) job->depth[i] = other->depth;
            covered += area;
        }
        if (covered && covered != box->height * box->width) return HS_ERROR_VALUE;
    }
    return HS_OK;
}

static hs_status open_all(product_run *job)
{
    const hs_boxes *boxes = job->boxes;
    const int32_t p = job->run.workers;
    const hs__domains *domains = hs__pool_domains(job->run.pool);
    job->speeds = hs__run_zeros(&job->run, 2 * (size_t)p, sizeof *job->speeds);
    job->kernel = hs__run_zeros(&job->run, (size_t)domains->count, sizeof *job->kernel);
    if (!job->speeds || !job->kernel) return HS_ERROR_MEMORY;
    job->done = job->speeds + p;
    hs__drift_speeds(hs__pool_drift(job->run.pool), boxes->speeds, job->speeds);
    hs__domain_kernels(domains, job->kernel);
    hs_status status = HS_OK;
    if (job->chosen) status = choose_layers(job, job->chosen);
    else if (boxes->layers) status = find_depths(job);
    if (!status) status = open_layers(job);
    if (!status && boxes->layered)
        status = hs__layered_open(&job->sum, &job->run, job->product, boxes);
    if (!status && is_shared(boxes) && !hs__pool_spins(job->run.pool) &&
        !hs__run_signals(&job->run, 1))
        status = HS_ERROR_MEMORY;
    if (!status) status = open_arrays(job);
    for (int32_t i = 0; i < boxes->count && !status; i++) status = open_box(job, i);
    return status;
}

static hs_status open_run(void *context)
{
    product_run *job = context;
    const hs_boxes *boxes = job->boxes;
    const hs_product *p = job->product;
    job->run.manner =
        hs__manner_for((double)p->m * (double)p->n * (double)p->k, HS__ALONE_PRODUCT_UPDATES,
                       HS__BRIEF_PRODUCT_UPDATES, HS__BRIEFS_OF_MEDIUM);
    if (!boxes->cooperative) job->run.manner = HS__EACH;
    job->run.speeds = boxes->speeds;
    const hs_status status = open_all(job);
    /* nothing can fail any more */
    for (int32_t i = 0; i < boxes->count && !boxes->layered && !status; i++) {
        /* an empty box lies beside one that is not empty */
        if (has_work(job, i) || (p->k && !boxes->box[i].length)) continue;
        hs_box box;
        const hs_product own = product_of(job, i, &box);
        scale_box(&own, &box);
    }
    const int64_t parts = boxes->layered ? boxes->count : job->run.total;
    if (parts >= HS__DRIFT_PARTS * (int64_t)job->run.workers) job->run.work_of = job->done;
    return status;
}

static void close_run(void *context)
{
    product_run *job = context;
    for (int32_t i = 0; job->bands && i < job->boxes->count; i++) hs__bands_close(&job->bands[i]);
}

static const hs__kind kind = {
    .check = check_arguments, .open = open_run, .work = run_worker, .close = close_run};

/* Whether all workers share the whole of a thin product, as they do in hs_gemm. */
static int is_thin(const product_run *job)
{
    const hs_boxes *boxes = job->boxes;
    const hs_product *p = job->product;
    if (!boxes->cooperative || boxes->layered || boxes->count != 1 || check_arguments(job))
        return 0;
    const hs_box *box = boxes->box;
    return box->height == p->m && box->width == p->n && box->length == p->k && !hs__no_product(p) &&
           hs__is_thin(p);
}

hs_status hs_run_product(hs_pool *pool, const hs_product *product, const hs_boxes *boxes,
                         const hs_options *options, hs_trace *trace)
{
    if (!pool || !product || !boxes) return HS_ERROR_VALUE;
    product_run job = {
        .run = hs__run_of(&kind, pool, options, trace), .product = product, .boxes = boxes};
    if (boxes->cooperative) hs__run_together(&job.run);
    return is_thin(&job) ? hs__run_thin(pool, product, options, trace) : hs__run_do(&job.run);
}

int32_t hs_gemm_boxes(int64_t m, int64_t n, int64_t k, int32_t p, const double *speeds,
                      hs_box *boxes, int32_t capacity)
{
    return layered_boxes(&(hs_product){.m = m, .n = n, .k = k}, p, speeds, boxes, capacity);
}

hs_status hs_gemm_zones(int32_t dtype, int64_t m, int64_t n, int64_t k, int32_t p, int32_t count,
                        const hs_domain *domains, const int32_t *domain_of, const double *speeds,
                        int64_t *rects)
{
    static const char unread;
    hs_product product;
    if (dtype < 0 || dtype > 3 || k < 0 || p < 1 || !rects || !valid_speeds(speeds, p))
        return HS_ERROR_VALUE;
    hs_product_default(&product, dtype, m, n, hs__max(k, 1), &unread, &unread, (void *)&unread);
    if (!valid_product(&product)) return HS_ERROR_VALUE;
    hs__domains all;
    hs_status status = hs__domains_open(&all, p, count, domains, domain_of);
    if (!status) status = hs__bands_zones(&all, &product, p, speeds, rects);
    hs__domains_close(&all);
    return status;
}

hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds,
                  hs_poll_function poll, void *context)
{
    if (!pool || !product) return HS_ERROR_VALUE;
    const hs_options options = {.poll = poll, .poll_context = context};
    if (valid_product(product) && valid_speeds(speeds, hs__pool_size(pool)) &&
        !hs__no_product(product) && hs__is_thin(product))
        return hs__run_thin(pool, product, &options, NULL);
    const hs_box whole = {.height = product->m, .width = product->n, .length = product->k};
    hs_boxes boxes = {.box = &whole, .count = 1, .cooperative = 1, .speeds = speeds};
    product_run job = {.run = hs__run_of(&kind, pool, &options, NULL),
                       .product = product,
                       .boxes = &boxes,
                       .chosen = &boxes};
    hs__run_together(&job.run);
    return hs__run_do(&job.run);
}
