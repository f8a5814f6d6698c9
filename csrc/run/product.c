/* Runs products: boxes to gangs, gangs to the pool's workers. */
#include <math.h>
#include <stdlib.h>

#include "run/gang.h"
#include "run/layers.h"
#include "run/member.h"
#include "threads/pool.h"
#include "run/product.h"

static const double SMALL = 5e5; /* fewer multiply-adds are done by the caller alone: waking the others takes as long */

double hs_flops_per_update(int32_t dtype) { return dtype >> 1 ? 8.0 : 2.0; }

typedef struct {
    hs__course course;
    hs__gang *gang; /* [box_count] */
    double *speeds; /* [workers] of a shared run, as they are of late */
    double *done;   /* [workers] flops */
    hs__stack stack;
    int32_t *taken; /* atomic, [box_count]: boxes of a cooperative layered run that a worker has taken; else NULL */
    int32_t workers;
} job;

static void poll_now(void *context) { hs__poll(&((job *)context)->course); }

/* ---- workers -------------------------------------------------------------------------------------------------- */

static void while_waiting(void *context) { hs__help_along(context); }

static void after_tile(void *context, double flops, double tile_start)
{
    hs__member *self = context;
    const hs_run *run = self->course->run;
    double start = tile_start - self->course->start;
    if (run->pace) {
        start = fmin(start, self->deadline);
        hs__keep_pace(self, flops);
    }
    if (hs__records(run)) hs__record(self, HS_COMPUTE, start, hs__since_start(self->course));
    if (self->is_caller) hs__poll(self->course);
}

static void await_operands(hs__member *self, const double transfer[2])
{
    if (!(transfer[1] > transfer[0])) return;
    const double from = transfer[!self->course->run->overlap];
    hs__sleep_until(self, from);
    self->deadline = fmax(self->deadline, from);
}

/* A transfer that the work on it may have overtaken. */
static void end_transfer(hs__member *self, const double transfer[2])
{
    if (!(transfer[1] > transfer[0])) return;
    hs__sleep_until(self, transfer[1]);
    self->deadline = fmax(self->deadline, transfer[1]);
    hs__record(self, HS_TRANSFER, transfer[0], transfer[1]);
}

/* The next box of a worker from *at on, where there are takers its own in order, then those of others from the back; -1: none is left. */
static int32_t next_box(job *j, int32_t worker, int32_t *at)
{
    const hs_run *run = j->course.run;
    const int32_t count = run->box_count;
    for (; *at < (j->taken ? 2 * count : count); ++*at) {
        const int32_t box = *at < count ? *at : 2 * count - 1 - *at;
        if (j->gang[box].panel_count == 0) continue;
        if ((!run->cooperative || j->taken) && *at < count && run->boxes[box].worker != worker) continue;
        if (j->taken && __atomic_exchange_n(&j->taken[box], 1, __ATOMIC_ACQ_REL)) continue;
        ++*at;
        return box;
    }
    return -1;
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    hs_run *run = j->course.run;
    hs__member self = hs__member_start(&j->course, worker, is_caller);
    const int shares = run->cooperative && !run->layered;
    const int records = hs__records(run) || run->pace || (is_caller && run->poll);
    const hs__member_hooks hooks = {.tile = records ? after_tile : NULL, .idle = while_waiting, .context = &self};

    int32_t at = 0;
    if (run->layered) hs__stack_join(&j->stack);
    for (int32_t box; !hs__cancelled(&j->course) && (box = next_box(j, worker, &at)) >= 0;) {
        hs__gang *gang = &j->gang[box];
        self.box = box;
        if (run->receive) await_operands(&self, run->receive + 2 * (size_t)box);
        void *block = hs__pool_scratch(j->course.pool, j->workers + worker, 0); /* sized before the run */
        if (run->layered) {
            gang->panels[0] = gang->panels[1] = hs__pool_scratch(j->course.pool, worker, 0);
            hs__stack_receive(&j->stack, box, gang);
        }
        j->done[worker] += hs__gang_work(gang, shares ? worker : 0, block, &hooks);
        if (run->receive) end_transfer(&self, run->receive + 2 * (size_t)box);
        if (shares && box + 1 < run->box_count) hs__gang_wait(gang, &hooks);
    }
    if (run->layered) hs__stack_sum(&j->stack, &self);
    hs__member_end(&self);
}

/* ---- the run -------------------------------------------------------------------------------------------------- */

static int valid_extent(int64_t from, int64_t size, int64_t limit) { return from >= 0 && size >= 0 && from <= limit && size <= limit - from; }

static hs_status check(const hs_product *p, const hs_run *run, int32_t workers)
{
    if (p->dtype < 0 || p->dtype > 3 || p->m < 0 || p->n < 0 || p->k < 0) return HS_ERROR_VALUE;
    if (run->box_count < 0 || (run->box_count && !run->boxes)) return HS_ERROR_VALUE;
    if (p->m && p->n && !p->c) return HS_ERROR_VALUE;
    if (p->m && p->n && p->k && (!p->a || !p->b)) return HS_ERROR_VALUE;
    if (run->cooperative && (run->pace || run->receive)) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < run->box_count; i++) {
        const hs_box *b = &run->boxes[i];
        if (!run->cooperative && (b->worker < 0 || b->worker >= workers)) return HS_ERROR_VALUE;
        if (!valid_extent(b->row, b->height, p->m) || !valid_extent(b->col, b->width, p->n) || !valid_extent(b->depth, b->length, p->k))
            return HS_ERROR_VALUE;
    }
    if (run->layered && !hs__stack_valid(p, run, workers)) return HS_ERROR_VALUE;
    return hs__valid_run(run, workers) ? HS_OK : HS_ERROR_VALUE;
}

/* C <- beta C for a box without depth. */
static void scale_box(const hs_product *p, const hs_box *b)
{
    if (b->depth) return;
    const ptrdiff_t at = b->row * p->c_row_stride + b->col * p->c_col_stride;
    hs__scale(p->dtype, b->height, b->width, p->c, at, p->c_row_stride, p->c_col_stride, p->beta);
}

static size_t panel_space(const hs__gang *gang) { return (hs__panel_bytes(&gang->x) + 4095) / 4096 * 4096; }
static size_t panel_buffers(const hs__gang *gang) { return gang->panel_count > 1 ? (size_t)gang->x.buffers : 1; }

/* Gangs, and scratch for the largest of each worker. Scratch slots: 0 .. p - 1 a panel (two for the whole pool when it is one
 * gang: slots 0 and 1), p .. 2 p - 1 the blocks of A. */
static hs_status prepare(job *j, const hs_product *product)
{
    const hs__kernel *kernel = hs__kernel_current();
    hs_run *run = j->course.run;
    const int32_t p = j->workers, members = run->cooperative && !run->layered ? p : 1;
    if (run->layered) {
        hs_status status = hs__stack_open(&j->stack, product, run, p);
        if (status) return status;
        if (run->cooperative && !(j->taken = calloc(run->box_count ? (size_t)run->box_count : 1, sizeof *j->taken))) return HS_ERROR_MEMORY;
    }
    for (int32_t i = 0; i < run->box_count; i++) {
        hs__panel_product x;
        hs__gang *gang = &j->gang[i];
        if (run->boxes[i].length == 0 || hs__no_product(product)) continue;
        const int32_t owner = run->boxes[i].worker;
        const hs_product layer = run->layered ? hs__stack_product(&j->stack, i) : *product;
        if (!hs__panel_product_init(&x, kernel, &layer, &run->boxes[i], members)) continue;
        hs_status status = hs__gang_init(gang, &x, members, j->speeds);
        if (status) return status;
        gang->cancel = &j->course.cancel, gang->work_done = &j->course.done;
        j->course.total += hs__gang_tiles(gang);

        for (int32_t w = 0; w < p; w++) {
            if (!run->cooperative && w != owner) continue;
            const int packs = members == 1 || w == 0; /* in a gang all use one panel */
            if (packs && !hs__pool_scratch(j->course.pool, w, panel_space(gang) * panel_buffers(gang))) return HS_ERROR_MEMORY;
            if (!hs__pool_scratch(j->course.pool, p + w, hs__block_bytes(&x))) return HS_ERROR_MEMORY;
        }
    }
    for (int32_t i = 0; i < run->box_count; i++) { /* scratch has its final place only now, and nothing can fail any more */
        hs__gang *gang = &j->gang[i];
        if (gang->panel_count == 0) {
            if (!run->layered) scale_box(product, &run->boxes[i]);
            continue;
        }
        gang->panels[0] = hs__pool_scratch(j->course.pool, run->cooperative ? 0 : run->boxes[i].worker, 0);
        gang->panels[1] = (char *)gang->panels[0] + (panel_buffers(gang) - 1) * panel_space(gang);
    }
    return HS_OK;
}

/* Whether the caller does all alone. */
static int is_small(const hs_product *p, const hs_run *run) { return run->cooperative && (double)p->m * (double)p->n * (double)p->k <= SMALL; }

/* The calling thread holds the pool; the arguments are checked. */
static hs_status run_held(hs_pool *pool, const hs_product *product, hs_run *run)
{
    const int32_t p = hs__pool_size(pool);
    job j = {.course = {.run = run, .pool = pool}, .workers = p};
    j.gang = calloc(run->box_count ? (size_t)run->box_count : 1, sizeof *j.gang);
    j.speeds = calloc(2 * (size_t)p, sizeof *j.speeds);
    hs_status status = j.gang && j.speeds ? HS_OK : HS_ERROR_MEMORY;
    run->event_count = 0;
    if (!status) {
        j.done = j.speeds + p;
        hs__run_clear(run, p);
        hs__drift_speeds(hs__pool_drift(pool), run->speeds, j.speeds);
        status = prepare(&j, product);
    }
    if (!status) {
        hs__course_start(&j.course, run);
        if (is_small(product, run)) work(&j, 0, 1);
        else if (run->cooperative) hs__pool_run_shared(pool, work, &j, poll_now);
        else hs__pool_run(pool, work, &j, poll_now);
        status = hs__course_end(&j.course);
        const int64_t parts = run->layered ? run->box_count : j.course.total;
        if (run->cooperative && !is_small(product, run) && parts >= HS__DRIFT_PARTS * (int64_t)p) hs__course_learn(&j.course, j.done);
    }
    for (int32_t i = 0; i < run->box_count && j.gang; i++) hs__gang_free(&j.gang[i]);
    hs__stack_close(&j.stack);
    free(j.gang), free(j.speeds), free(j.taken);
    return status;
}

hs_status hs_run_product(hs_pool *pool, const hs_product *product, hs_run *run)
{
    if (!pool || !product || !run) return HS_ERROR_VALUE;
    hs_kernel_init();
    hs_status status = check(product, run, hs__pool_size(pool));
    if (!status) status = hs__pool_lock(pool, run->poll, run->poll_context);
    if (status) return status;
    status = run_held(pool, product, run);
    hs__pool_unlock(pool);
    return status;
}

int32_t hs_gemm_boxes(int64_t m, int64_t n, int64_t k, int32_t p, const double *speeds, hs_box *boxes, int32_t capacity)
{
    enum { SHORTEST = 256, LEAST = 2, MOST = 8, SHARE = 20 };
    /* Layers take a twentieth of the operands, and their sum less than meeting at each panel; but each worker has two at least, so
     * that one can take over another's. */
    const double layer = (double)m * (double)n, room = (double)k * ((double)m + (double)n) / SHARE;
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

hs_status hs__gemm_held(hs_pool *pool, const hs_product *product, const double *speeds, hs_poll_function poll, void *context)
{
    hs_kernel_init();
    const int64_t m = product->m, n = product->n, k = product->k;
    hs_box whole = {.height = m, .width = n, .length = k}, *boxes = NULL;
    hs_run run = {.boxes = &whole, .box_count = 1, .cooperative = 1, .speeds = speeds, .poll = poll, .poll_context = context};
    const int32_t p = hs__pool_size(pool), count = hs_gemm_boxes(m, n, k, p, speeds, NULL, 0);
    hs_status status = check(product, &run, p);
    if (!status && count > 0) {
        boxes = malloc((size_t)count * sizeof *boxes);
        double *now = malloc((size_t)p * sizeof *now);
        if (boxes && now) hs__drift_speeds(hs__pool_drift(pool), speeds, now), hs_gemm_boxes(m, n, k, p, now, boxes, count);
        else status = HS_ERROR_MEMORY;
        free(now);
        run.boxes = boxes, run.box_count = count, run.layered = 1;
    }
    if (!status) status = run_held(pool, product, &run);
    free(boxes);
    return status;
}

hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds, hs_poll_function poll, void *context)
{
    if (!pool || !product) return HS_ERROR_VALUE;
    hs_status status = hs__pool_lock(pool, poll, context);
    if (status) return status;
    status = hs__gemm_held(pool, product, speeds, poll, context);
    hs__pool_unlock(pool);
    return status;
}
