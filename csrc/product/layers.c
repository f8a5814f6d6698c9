/* The layers of a product (product/layers.h): their depth, their memory, and their reduction. */
#include "product/layers.h"

#include <math.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "core/status.h"
#include "core/tuning.h"

/* ---- how deep -------------------------------------------------------------------------------- */

int64_t hs__layer_depth(const hs_product *product)
{
    /* As a rule the layers take a twentieth of the operands, and never more than a tenth. They are
     * deep enough that adding one to C takes about a hundredth of the time to compute it, and made
     * of whole panels of the usual depths. If possible there are more layers than a few workers
     * need. */
    const double layer = (double)product->m * (double)product->n;
    const double room =
        (double)product->k * ((double)product->m + (double)product->n) / HS__PACKED_SHARE;
    const double fit = fmin(room / fmax(layer, 1.0), HS__LAYERS_MOST);
    if (2.0 * fit < HS__LAYERS_LEAST || product->k < 2 * HS__LAYER_DEPTH_LEAST) return product->k;
    const int64_t count =
        hs__min((int64_t)fmax(fit, HS__LAYERS_LEAST),
                hs__max(product->k / HS__LAYER_DEPTH,
                        hs__min(HS__LAYERS_LEAST, product->k / HS__LAYER_DEPTH_LEAST)));
    return hs__round_up(product->k / count + (product->k % count != 0), HS__LAYER_DEPTH_STEP);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Whether a box of a shared run begins a layer, instead of continuing the rows of the layer before
 * it. */
static int begins_layer(const hs_box *box) { return box->row == 0; }

/* Whether the boxes of a shared run are layers of the whole of C, each a single box or several
 * boxes of rows, from the first row to the last. */
static int are_layers(const hs_product *p, const hs_boxes *boxes)
{
    int64_t rows = p->m; /* of the layer so far */
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *b = &boxes->box[i];
        const int goes_on =
            i && b->row == rows && b->depth == b[-1].depth && b->length == b[-1].length;
        if (b->col != 0 || b->width != p->n || !(begins_layer(b) ? rows == p->m : goes_on))
            return 0;
        rows = b->row + b->height;
    }
    return rows == p->m;
}

int hs__layered_valid(const hs_product *p, const hs_boxes *boxes, int32_t workers)
{
    for (int32_t i = 0; i < boxes->count; i++)
        if (boxes->box[i].worker < 0 || boxes->box[i].worker >= workers) return 0;
    if (boxes->cooperative && !are_layers(p, boxes)) return 0;
    const int64_t *rows = boxes->sum_rows;
    /* the workers that take part are not known before the run */
    if (boxes->cooperative && (rows || boxes->sum_receive)) return 0;
    if (rows && (rows[0] != 0 || rows[workers] != p->m)) return 0;
    for (int32_t w = 0; rows && w < workers; w++)
        if (rows[w] > rows[w + 1]) return 0;
    return hs__valid_transfers(boxes->sum_receive, workers);
}

/* Lays out memory in the direction of C's lines; if there is only one line, along it. Strides
 * between lines spread them over the cache. Returns the bytes, in whole pages; 0: more than can be
 * counted. */
static size_t lay_out(hs__matrix *x, const hs_product *p)
{
    enum { SPREAD = 4096, LINE = 64, PAGE = 4096 };
    const int by_columns = x->rows == 1 || x->cols == 1
                               ? x->cols == 1
                               : llabs(p->c_row_stride) < llabs(p->c_col_stride);
    int64_t line = by_columns ? x->rows : x->cols;
    if (line * x->element % SPREAD == 0) line += LINE / x->element;
    x->row_stride = by_columns ? 1 : line;
    x->col_stride = by_columns ? line : 1;
    size_t bytes;
    const size_t lines = (size_t)(by_columns ? x->cols : x->rows);
    if (__builtin_mul_overflow(lines * (size_t)x->element, (size_t)line, &bytes) ||
        bytes > SIZE_MAX / 2)
        return 0;
    return bytes / PAGE * PAGE + PAGE;
}

hs_status hs__one_layer(hs__in_layers *layers, hs__run *run, const hs_product *product)
{
    layers->room = (hs__matrix){
        .element = hs__element_bytes(product->dtype), .rows = product->m, .cols = product->n};
    const size_t bytes = lay_out(&layers->room, product);
    layers->room.data = bytes ? hs__run_pages(run, bytes) : NULL;
    return hs__check_memory(layers->room.data);
}

static hs__layer *layer_of(const hs__layered *sum, int32_t box)
{
    return &sum->layer[sum->layer_of_box[box]];
}

/* Assigns each box to its layer. */
static void assign_layers(hs__layered *sum)
{
    const hs_boxes *boxes = sum->boxes;
    int32_t count = 0;
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *b = &boxes->box[i];
        count += begins_layer(b);
        sum->layer_of_box[i] = boxes->cooperative ? count - 1 : b->worker;
        sum->depth = hs__max(sum->depth, b->length);
    }
    sum->count = boxes->cooperative ? count : sum->run->workers;
}

/* Extends the part of C that a layer covers to a box of its worker. */
static void extend_layer(hs__layer *layer, const hs_box *b)
{
    hs__matrix *x = &layer->x;
    const int64_t row = hs__min(layer->row, b->row);
    const int64_t col = hs__min(layer->col, b->col);
    const int64_t end = hs__max(layer->row + x->rows, b->row + b->height);
    const int64_t right = hs__max(layer->col + x->cols, b->col + b->width);
    layer->scattered |= row != b->row || col != b->col || end != b->row + b->height ||
                        right != b->col + b->width || end - row != x->rows ||
                        right - col != x->cols;
    layer->row = row;
    layer->col = col;
    x->rows = end - row;
    x->cols = right - col;
}

/* Finds the part of C that each layer covers. */
static void place_layers(hs__layered *sum)
{
    const hs_product *product = sum->product;
    const hs_boxes *boxes = sum->boxes;
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *b = &boxes->box[i];
        hs__layer *layer = layer_of(sum, i);
        if (layer->x.element) { /* it has a place */
            if (!boxes->cooperative) extend_layer(layer, b);
            continue;
        }
        layer->row = b->row;
        layer->col = b->col;
        layer->x = (hs__matrix){.element = hs__element_bytes(product->dtype),
                                .rows = boxes->cooperative ? product->m : b->height,
                                .cols = b->width};
        layer->begun = boxes->cooperative && b->length && !hs__no_product(product);
    }
}

hs_status hs__layered_open(hs__layered *sum, hs__run *run, const hs_product *product,
                           const hs_boxes *boxes)
{
    *sum = (hs__layered){.run = run,
                         .product = product,
                         .boxes = boxes,
                         .joined = boxes->cooperative ? 0 : run->workers};
    if (!(sum->layer_of_box = hs__run_zeros(run, (size_t)boxes->count, sizeof *sum->layer_of_box)))
        return HS_ERROR_MEMORY;
    assign_layers(sum);
    sum->layer = hs__run_zeros(run, (size_t)sum->count, sizeof *sum->layer);
    if (!sum->layer || !hs__run_signals(run, run->workers)) return HS_ERROR_MEMORY;
    place_layers(sum);
    size_t total = 0;
    for (int32_t i = 0; i < sum->count; i++) {
        hs__layer *layer = &sum->layer[i];
        if (!layer->x.element) continue; /* a worker without boxes */
        layer->bytes = lay_out(&layer->x, product);
        if (!layer->bytes || __builtin_add_overflow(total, layer->bytes, &total))
            return HS_ERROR_MEMORY;
    }
    char *next = hs__run_pages(run, total);
    if (!next) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < sum->count; i++) {
        sum->layer[i].x.data = next;
        next += sum->layer[i].bytes;
    }
    return HS_OK;
}

int hs__layered_product(const hs__layered *sum, int32_t box, const hs__kernel *kernel,
                        hs__panel_product *x)
{
    hs_product like = *sum->product;
    const hs_box *b = &sum->boxes->box[box];
    const hs__matrix *to = &layer_of(sum, box)->x;
    const hs__in_layers layers = {.depth = sum->depth};
    /* The sum is mirrored, not each layer. */
    if (like.triangle == HS_TRIANGLE_MIRRORED) like.triangle = HS_TRIANGLE_LOWER;
    like.c_row_stride = to->row_stride;
    like.c_col_stride = to->col_stride;
    return hs__panel_product_init(x, kernel, &like, b, sum->boxes->cooperative ? &layers : NULL, 1);
}

void hs__layered_receive(hs__layered *sum, int32_t box, hs__gang *gang)
{
    hs__layer *layer = layer_of(sum, box);
    const hs_box *b = &sum->boxes->box[box];
    if (layer->scattered && !layer->begun)
        hs__scale(sum->product->dtype, &layer->x, (const double[]){0.0, 0.0});
    gang->x.c.data = hs__at(&layer->x, b->row - layer->row, b->col - layer->col);
    gang->x.beta[0] = !sum->boxes->cooperative && (layer->begun || layer->scattered);
    gang->x.beta[1] = 0.0;
    /* in a shared run other workers may compute other rows of the same layer */
    if (!sum->boxes->cooperative) layer->begun = 1;
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Adds the part of a layer in rows first .. end - 1 and columns left .. right - 1 to C. Returns the
 * number of elements. */
static double add_layer(int32_t dtype, const hs__matrix *c, const hs__layer *layer, int64_t first,
                        int64_t end, int64_t left, int64_t right)
{
    const int64_t from = hs__max(first, layer->row);
    const int64_t rows = hs__min(end, layer->row + layer->x.rows) - from;
    const int64_t col = hs__max(left, layer->col);
    const int64_t cols = hs__min(right, layer->col + layer->x.cols) - col;
    if (!layer->begun || rows <= 0 || cols <= 0) return 0.0;
    const hs__matrix x = hs__part(&layer->x, from - layer->row, col - layer->col, rows, cols);
    const hs__matrix y = hs__part(c, from, col, rows, cols);
    hs__add(dtype, &x, &y);
    return (double)rows * (double)cols;
}

/* Sums up rows first .. end - 1 and columns left .. right - 1. Returns the number of additions. */
static double sum_part(const hs__layered *sum, const hs__matrix *c, int64_t first, int64_t end,
                       int64_t left, int64_t right)
{
    const hs_product *p = sum->product;
    if (left >= right) return 0.0;
    const hs__matrix part = hs__part(c, first, left, end - first, right - left);
    /* the first layer of an element is only copied */
    double added = -(double)(end - first) * (double)(right - left);
    hs__scale(p->dtype, &part, p->beta);
    for (int32_t i = 0; i < sum->count; i++)
        added += add_layer(p->dtype, c, &sum->layer[i], first, end, left, right);
    return fmax(added, 0.0);
}

/* Sums up rows in bands that stay in the cache while the layers pass. With a triangle, the columns
 * that all rows of a band share come first, then the rest of each row. Returns the flops: one for
 * each real number added to another. */
static double sum_rows(const hs__layered *sum, int64_t first, int64_t end)
{
    const hs_product *p = sum->product;
    hs__matrix a, b, c;
    hs__matrices_of(p, &a, &b, &c);
    const hs__triangle triangle = hs__triangle_of(p, 0, 0);
    const int upper = triangle.which == HS_TRIANGLE_UPPER;
    const int lower = triangle.which == HS_TRIANGLE_LOWER;
    double added = sum_part(sum, &c, first, end, upper ? end : 0, lower ? first : p->n);
    for (int64_t i = first; triangle.which && i < end; i++)
        added += sum_part(sum, &c, i, i + 1, upper ? i : first, upper ? end : i + 1);
    hs__triangle_finish(p->dtype, &triangle, &c, first, end - first, 0, p->n);
    return added * (double)(1 << (p->dtype >> 1));
}

/* Whether all workers that have joined have arrived. A worker joins before it takes a box; one that
 * joins later finds no box left and arrives at once. `arrived` must be read before `joined`: else
 * the arrival of a worker that joins in between could stand for one that still works. */
static int all_arrived(const void *what)
{
    const hs__layered *sum = what;
    const int arrived = atomic_load(&sum->arrived);
    return arrived >= atomic_load(&sum->joined);
}

void hs__layered_sum(hs__layered *sum, hs__member *self)
{
    enum { BAND = 1 << 15 };
    const hs_boxes *boxes = sum->boxes;
    hs__run *run = sum->run;
    const double *pace = run->options.pace;
    const hs_product *p = sum->product;
    const int32_t workers = run->workers;
    if (pace) sum->layer[self->worker].deadline = self->deadline;
    atomic_fetch_add(&sum->arrived, 1);
    if (all_arrived(sum))
        for (int32_t w = 0; w < workers; w++) hs__signal_send(&run->signals[w]);
    hs__await(self, &run->signals[self->worker], boxes->cooperative ? INFINITY : HS__SHORT_SPIN,
              all_arrived, sum);
    if (hs__stopped(self) || p->m == 0) return;

    self->box = boxes->count;
    const int64_t band = hs__max(1, BAND / (hs__element_bytes(p->dtype) * hs__max(p->n, 1)));
    for (int32_t w = 0; pace && w < workers; w++)
        self->deadline = fmax(self->deadline, sum->layer[w].deadline);
    double start = pace ? self->deadline : hs__since_start(run);
    double transfer[2] = {0.0, 0.0};
    if (boxes->sum_receive) {
        for (int i = 0; i < 2; i++)
            transfer[i] = start + boxes->sum_receive[2 * (size_t)self->worker + (size_t)i];
        hs__await_transfer(self, transfer, boxes->overlap);
        start = fmax(start, self->deadline);
    }
    int64_t next = boxes->sum_rows ? boxes->sum_rows[self->worker] : 0;
    const int64_t end = boxes->sum_rows ? boxes->sum_rows[self->worker + 1] : p->m;
    int worked = 0;
    while (!hs__stopped(self)) {
        if (!boxes->sum_rows)
            next = atomic_fetch_add_explicit(&sum->next_row, band, memory_order_relaxed);
        if (next >= end) break;
        const double flops = sum_rows(sum, next, hs__min(next + band, end));
        if (pace) hs__keep_pace(self, flops);
        hs__attend(self);
        next += band;
        worked = 1;
    }
    hs__end_transfer(self, transfer);
    if (worked) hs__record(self, HS_COMPUTE, start, hs__since_start(run));
}
