#include "run/layers.h"

#include <math.h>
#include <stdlib.h>

#include "threads/arena.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* The first box of the worker that has this one: its part of C is that of all of them. */
static const hs_box *first_of(const hs_boxes *boxes, const hs_box *box)
{
    const hs_box *first = boxes->box;
    while (first->worker != box->worker) first++;
    return first;
}

int hs__layered_valid(const hs_product *p, const hs_boxes *boxes, int32_t workers)
{
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *b = &boxes->box[i];
        if (b->worker < 0 || b->worker >= workers) return 0;
        const hs_box whole = {.height = p->m, .width = p->n}, *like = boxes->cooperative ? &whole : first_of(boxes, b);
        if (b->row != like->row || b->col != like->col || b->height != like->height || b->width != like->width) return 0;
    }
    const int64_t *rows = boxes->sum_rows;
    if (boxes->cooperative && (rows || boxes->sum_receive)) return 0; /* who takes part is not known before */
    if (rows && (rows[0] != 0 || rows[workers] != p->m)) return 0;
    for (int32_t w = 0; rows && w < workers; w++)
        if (rows[w] > rows[w + 1]) return 0;
    return hs__valid_transfers(boxes->sum_receive, workers);
}

/* Lines as C has them, the longer way where there is one line only; apart by a stride that spreads them over the cache. */
static void lay_out(hs__layer *layer, const hs_product *p)
{
    enum { SPREAD = 4096, LINE = 64 };
    const size_t element = hs__element_bytes(p->dtype);
    if (layer->height == 1 || layer->width == 1) layer->by_columns = layer->width == 1;
    else layer->by_columns = llabs(p->c_row_stride) < llabs(p->c_col_stride);
    layer->line = layer->by_columns ? layer->height : layer->width;
    if ((size_t)layer->line * element % SPREAD == 0) layer->line += (int64_t)(LINE / element);
}

/* Whole pages; 0: more than there can be. */
static size_t layer_bytes(const hs__layer *layer, size_t element)
{
    enum { PAGE = 4096 };
    size_t bytes;
    const int64_t lines = layer->by_columns ? layer->width : layer->height;
    if (__builtin_mul_overflow((size_t)lines * element, (size_t)layer->line, &bytes) || bytes > SIZE_MAX / 2) return 0;
    return bytes / PAGE * PAGE + PAGE;
}

static hs__layer *layer_of(const hs__layered *sum, int32_t box)
{
    return &sum->layer[sum->boxes->cooperative ? box : sum->boxes->box[box].worker];
}

hs_status hs__layered_open(hs__layered *sum, const hs_product *product, const hs_boxes *boxes, int32_t workers)
{
    const size_t element = hs__element_bytes(product->dtype);
    *sum = (hs__layered){.product = product, .boxes = boxes, .workers = workers, .count = boxes->cooperative ? boxes->count : workers,
                         .joined = boxes->cooperative ? 0 : workers};
    sum->layer = calloc(sum->count ? (size_t)sum->count : 1, sizeof *sum->layer);
    sum->signals = hs__signals_open(workers);
    if (!sum->layer || !sum->signals) goto no_memory;
    for (int32_t i = 0; i < boxes->count; i++) {
        const hs_box *b = &boxes->box[i];
        hs__layer *layer = layer_of(sum, i);
        *layer = (hs__layer){.row = b->row, .col = b->col, .height = b->height, .width = b->width};
        lay_out(layer, product);
    }
    size_t total = 0;
    for (int32_t i = 0; i < sum->count; i++) {
        const size_t bytes = layer_bytes(&sum->layer[i], element);
        if (!bytes || __builtin_add_overflow(total, bytes, &total)) goto no_memory;
    }
    char *next = sum->memory = hs__allocate_pages(total);
    if (!next) goto no_memory;
    for (int32_t i = 0; i < sum->count; i++) sum->layer[i].data = next, next += layer_bytes(&sum->layer[i], element);
    return HS_OK;
no_memory:
    hs__layered_close(sum);
    return HS_ERROR_MEMORY;
}

void hs__layered_close(hs__layered *sum)
{
    hs__signals_close(sum->signals, sum->workers);
    free(sum->layer), free(sum->memory);
    *sum = (hs__layered){.workers = 0};
}

hs_product hs__layered_product(const hs__layered *sum, int32_t box)
{
    hs_product like = *sum->product;
    const hs__layer *layer = layer_of(sum, box);
    like.c_row_stride = layer->by_columns ? 1 : layer->line, like.c_col_stride = layer->by_columns ? layer->line : 1;
    return like;
}

void hs__layered_receive(hs__layered *sum, int32_t box, hs__gang *gang)
{
    hs__layer *layer = layer_of(sum, box);
    gang->x.c = layer->data;
    gang->x.beta[0] = layer->begun, gang->x.beta[1] = 0.0;
    layer->begun = 1;
}

/* ---- the sum -------------------------------------------------------------------------------------------------- */

/* y[i] += x[i], or = */
#define ADD(NAME, REAL)                                                                                                                    \
    static void NAME(int64_t count, int64_t stride, const REAL *restrict x, REAL *restrict y)                                              \
    {                                                                                                                                      \
        if (stride == 1)                                                                                                                   \
            for (int64_t i = 0; i < count; i++) y[i] += x[i];                                                                              \
        else                                                                                                                               \
            for (int64_t i = 0; i < count; i++) y[i * stride] += x[i];                                                                     \
    }
ADD(add_float, float)
ADD(add_double, double)

/* The part of a layer in rows first .. end - 1, onto C. Returns its elements. */
static double add_layer(const hs_product *p, const hs__layer *layer, int64_t first, int64_t end)
{
    const int complex = p->dtype >> 1;
    const size_t element = hs__element_bytes(p->dtype);
    const int64_t from = larger(first, layer->row), to = smaller(end, layer->row + layer->height);
    if (!layer->begun || from >= to) return 0.0;
    const int by_columns = layer->by_columns;
    const int64_t lines = by_columns ? layer->width : to - from, length = by_columns ? to - from : layer->width;
    const int64_t c_line = by_columns ? p->c_col_stride : p->c_row_stride, c_along = by_columns ? p->c_row_stride : p->c_col_stride;
    const char *x = layer->data + (ptrdiff_t)element * (from - layer->row) * (by_columns ? 1 : layer->line);
    char *c = (char *)p->c + (ptrdiff_t)element * (from * p->c_row_stride + layer->col * p->c_col_stride);
    const int joined = complex && c_along == 1; /* real and imaginary parts side by side in both */
    for (int64_t i = 0; i < lines; i++, x += (ptrdiff_t)element * layer->line, c += (ptrdiff_t)element * c_line) {
        if (!complex || joined) {
            if (p->dtype & 1) add_double(length << complex, c_along, (const double *)x, (double *)c);
            else add_float(length << complex, c_along, (const float *)x, (float *)c);
            continue;
        }
        for (int64_t j = 0; j < length; j++) {
            char *to_c = c + (ptrdiff_t)element * j * c_along;
            const char *from_x = x + (ptrdiff_t)element * j;
            if (p->dtype & 1) add_double(2, 1, (const double *)from_x, (double *)to_c);
            else add_float(2, 1, (const float *)from_x, (float *)to_c);
        }
    }
    return (double)(to - from) * (double)layer->width;
}

/* In bands that stay in the cache while the layers come. Returns the flops: one for each number added to another. */
static double sum_rows(const hs__layered *sum, int64_t first, int64_t end)
{
    const hs_product *p = sum->product;
    double added = -(double)(end - first) * (double)p->n; /* the first layer of an element is only copied */
    hs__scale(p->dtype, end - first, p->n, p->c, first * p->c_row_stride, p->c_row_stride, p->c_col_stride, p->beta);
    for (int32_t i = 0; i < sum->count; i++) added += add_layer(p, &sum->layer[i], first, end);
    return fmax(added, 0.0) * (double)(1 << (p->dtype >> 1));
}

/* Who has taken a box has joined before; who joins later finds none, and comes at once. In this order: an arrival between the two
 * would else stand for somebody who still works. */
static int all_arrived(const void *what)
{
    const hs__layered *sum = what;
    const int arrived = atomic_load(&sum->arrived);
    return arrived >= atomic_load(&sum->joined);
}

void hs__layered_join(hs__layered *sum)
{
    if (sum->boxes->cooperative) atomic_fetch_add(&sum->joined, 1);
}

void hs__layered_sum(hs__layered *sum, hs__member *self)
{
    enum { BAND = 1 << 15 };
    const hs_boxes *boxes = sum->boxes;
    const double *pace = self->run->options.pace;
    const hs_product *p = sum->product;
    const int32_t workers = sum->workers;
    if (pace) sum->layer[self->worker].deadline = self->deadline;
    atomic_fetch_add(&sum->arrived, 1);
    if (all_arrived(sum))
        for (int32_t w = 0; w < workers; w++) hs__signal_send(&sum->signals[w]);
    hs__await(self, &sum->signals[self->worker], boxes->cooperative ? INFINITY : HS__GLANCE, all_arrived, sum);
    if (hs__stopped(self) || p->m == 0) return;

    self->box = boxes->count;
    const int64_t band = larger(1, BAND / (int64_t)(hs__element_bytes(p->dtype) * (size_t)larger(p->n, 1)));
    if (pace)
        for (int32_t w = 0; w < workers; w++) self->deadline = fmax(self->deadline, sum->layer[w].deadline);
    double start = pace ? self->deadline : hs__since_start(self->run), transfer_end = start;
    if (boxes->sum_receive) {
        const double *at = boxes->sum_receive + 2 * (size_t)self->worker;
        if (at[1] > at[0]) {
            hs__record(self, HS_TRANSFER, start + at[0], start + at[1]);
            transfer_end = start + at[1];
            self->deadline = start = start + at[!boxes->overlap];
            hs__sleep_until(self, start);
        }
    }
    int64_t next = boxes->sum_rows ? boxes->sum_rows[self->worker] : 0;
    const int64_t end = boxes->sum_rows ? boxes->sum_rows[self->worker + 1] : p->m;
    int worked = 0;
    while (!hs__stopped(self)) {
        if (!boxes->sum_rows) next = atomic_fetch_add_explicit(&sum->next_row, band, memory_order_relaxed);
        if (next >= end) break;
        const double flops = sum_rows(sum, next, smaller(next + band, end));
        if (pace) hs__keep_pace(self, flops);
        hs__attend(self);
        next += band, worked = 1;
    }
    if (pace && transfer_end > self->deadline) {
        self->deadline = transfer_end;
        hs__sleep_until(self, transfer_end);
    }
    if (worked) hs__record(self, HS_COMPUTE, start, hs__since_start(self->run));
}
