#include "run/layers.h"

#include <math.h>
#include <stdlib.h>

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* The first box of the worker that has this one: its part of C is that of all of them. */
static const hs_box *first_of(const hs_run *run, const hs_box *box)
{
    const hs_box *first = run->boxes;
    while (first->worker != box->worker) first++;
    return first;
}

int hs__stack_valid(const hs_product *p, const hs_run *run, int32_t workers)
{
    for (int32_t i = 0; i < run->box_count; i++) {
        const hs_box *b = &run->boxes[i];
        if (b->worker < 0 || b->worker >= workers) return 0;
        const hs_box whole = {.height = p->m, .width = p->n}, *like = run->cooperative ? &whole : first_of(run, b);
        if (b->row != like->row || b->col != like->col || b->height != like->height || b->width != like->width) return 0;
    }
    const int64_t *rows = run->sum_rows;
    if (run->cooperative && (rows || run->sum_receive)) return 0; /* who takes part is not known before */
    if (rows && (rows[0] != 0 || rows[workers] != p->m)) return 0;
    for (int32_t w = 0; w < workers; w++) {
        if (rows && rows[w] > rows[w + 1]) return 0;
        const double *at = run->sum_receive ? run->sum_receive + 2 * (size_t)w : NULL;
        if (at && !(at[0] >= 0.0 && at[1] >= at[0] && isfinite(at[1]))) return 0;
    }
    return 1;
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

static hs__layer *layer_of(const hs__stack *stack, int32_t box)
{
    return &stack->of[stack->run->cooperative ? box : stack->run->boxes[box].worker];
}

hs_status hs__stack_open(hs__stack *stack, const hs_product *product, const hs_run *run, int32_t workers)
{
    const size_t element = hs__element_bytes(product->dtype);
    *stack = (hs__stack){.product = product, .run = run, .workers = workers, .count = run->cooperative ? run->box_count : workers,
                         .joined = run->cooperative ? 0 : workers};
    stack->of = calloc(stack->count ? (size_t)stack->count : 1, sizeof *stack->of);
    stack->bells = hs__bells_open(workers);
    if (!stack->of || !stack->bells) goto no_memory;
    for (int32_t i = 0; i < run->box_count; i++) {
        const hs_box *b = &run->boxes[i];
        hs__layer *layer = layer_of(stack, i);
        *layer = (hs__layer){.row = b->row, .col = b->col, .height = b->height, .width = b->width};
        lay_out(layer, product);
    }
    size_t total = 0;
    for (int32_t i = 0; i < stack->count; i++) {
        const size_t bytes = layer_bytes(&stack->of[i], element);
        if (!bytes || __builtin_add_overflow(total, bytes, &total)) goto no_memory;
    }
    char *next = stack->memory = hs__allocate_pages(total);
    if (!next) goto no_memory;
    for (int32_t i = 0; i < stack->count; i++) stack->of[i].data = next, next += layer_bytes(&stack->of[i], element);
    return HS_OK;
no_memory:
    hs__stack_close(stack);
    return HS_ERROR_MEMORY;
}

void hs__stack_close(hs__stack *stack)
{
    hs__bells_close(stack->bells, stack->workers);
    free(stack->of), free(stack->memory);
    *stack = (hs__stack){.workers = 0};
}

hs_product hs__stack_product(const hs__stack *stack, int32_t box)
{
    hs_product like = *stack->product;
    const hs__layer *layer = layer_of(stack, box);
    like.c_row_stride = layer->by_columns ? 1 : layer->line, like.c_col_stride = layer->by_columns ? layer->line : 1;
    return like;
}

void hs__stack_receive(hs__stack *stack, int32_t box, hs__gang *gang)
{
    hs__layer *layer = layer_of(stack, box);
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
static double sum_rows(const hs__stack *stack, int64_t first, int64_t end)
{
    const hs_product *p = stack->product;
    double added = -(double)(end - first) * (double)p->n; /* the first layer of an element is only copied */
    hs__scale(p->dtype, end - first, p->n, p->c, first * p->c_row_stride, p->c_row_stride, p->c_col_stride, p->beta);
    for (int32_t i = 0; i < stack->count; i++) added += add_layer(p, &stack->of[i], first, end);
    return fmax(added, 0.0) * (double)(1 << (p->dtype >> 1));
}

/* Who has taken a box has joined before; who joins later finds none, and comes at once. In this order: an arrival between the two
 * would else stand for somebody who still works. */
static int all_arrived(const void *what)
{
    const hs__stack *stack = what;
    const int32_t arrived = __atomic_load_n(&stack->arrived, __ATOMIC_SEQ_CST);
    return arrived >= __atomic_load_n(&stack->joined, __ATOMIC_SEQ_CST);
}

void hs__stack_join(hs__stack *stack)
{
    if (stack->run->cooperative) __atomic_add_fetch(&stack->joined, 1, __ATOMIC_SEQ_CST);
}

void hs__stack_sum(hs__stack *stack, hs__member *self)
{
    enum { BAND = 1 << 15 };
    const hs_run *run = stack->run;
    const hs_product *p = stack->product;
    const int32_t workers = stack->workers;
    if (run->pace) stack->of[self->worker].deadline = self->deadline;
    __atomic_add_fetch(&stack->arrived, 1, __ATOMIC_SEQ_CST);
    if (all_arrived(stack))
        for (int32_t w = 0; w < workers; w++) hs__ring(&stack->bells[w]);
    if (run->cooperative && hs__pool_spins(self->course->pool))
        for (unsigned rounds = 0; !all_arrived(stack) && !hs__cancelled(self->course);) hs__look_again(self, &rounds);
    else hs__await(self, &stack->bells[self->worker], all_arrived, stack);
    if (hs__cancelled(self->course) || p->m == 0) return;

    self->box = run->box_count;
    const int64_t band = larger(1, BAND / (int64_t)(hs__element_bytes(p->dtype) * (size_t)larger(p->n, 1)));
    if (run->pace)
        for (int32_t w = 0; w < workers; w++) self->deadline = fmax(self->deadline, stack->of[w].deadline);
    double start = run->pace ? self->deadline : hs__since_start(self->course), transfer_end = start;
    if (run->sum_receive) {
        const double *at = run->sum_receive + 2 * (size_t)self->worker;
        if (at[1] > at[0]) {
            hs__record(self, HS_TRANSFER, start + at[0], start + at[1]);
            transfer_end = start + at[1];
            self->deadline = start = start + at[!run->overlap];
            hs__sleep_until(self, start);
        }
    }
    int64_t next = run->sum_rows ? run->sum_rows[self->worker] : 0;
    const int64_t end = run->sum_rows ? run->sum_rows[self->worker + 1] : p->m;
    int worked = 0;
    while (!hs__cancelled(self->course)) {
        if (!run->sum_rows) next = __atomic_fetch_add(&stack->next_row, band, __ATOMIC_RELAXED);
        if (next >= end) break;
        const double flops = sum_rows(stack, next, smaller(next + band, end));
        if (run->pace) hs__keep_pace(self, flops);
        if (self->is_caller) hs__poll(self->course);
        next += band, worked = 1;
    }
    if (run->pace && transfer_end > self->deadline) {
        self->deadline = transfer_end;
        hs__sleep_until(self, transfer_end);
    }
    if (worked) hs__record(self, HS_COMPUTE, start, hs__since_start(self->course));
}
