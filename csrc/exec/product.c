/* Runs products: boxes to gangs, gangs to the pool's workers. */
#include <math.h>
#include <stdlib.h>

#include "gang.h"
#include "member.h"
#include "pool.h"

static const double SMALL = 5e5; /* fewer multiply-adds are done by the caller alone: waking the others takes as long */

double hs_flops_per_update(int32_t dtype) { return dtype >> 1 ? 8.0 : 2.0; }

typedef struct {
    hs__course course;
    hs_pool *pool;
    hs__gang *gang; /* [box_count] */
    int32_t workers;
} job;

static void poll_now(void *context) { hs__poll(&((job *)context)->course); }

/* ---- workers -------------------------------------------------------------------------------------------------- */

static void poll_while_waiting(void *context) { hs__poll(((hs__member *)context)->course); }

static void after_tile(void *context, double flops, double tile_start)
{
    hs__member *self = context;
    const hs_run *run = self->course->run;
    double start = tile_start - self->course->start;
    if (run->pace) {
        start = fmin(start, self->deadline);
        hs__keep_pace(self, flops);
    }
    if (run->events) hs__record(self, HS_COMPUTE, start, hs__since_start(self->course));
    if (self->is_caller) hs__poll(self->course);
}

static void await_operands(hs__member *self, const double transfer[2])
{
    if (!(transfer[1] > transfer[0])) return;
    hs__sleep_until(self, transfer[1]);
    hs__record(self, HS_TRANSFER, transfer[0], transfer[1]);
    self->deadline = fmax(self->deadline, transfer[1]);
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    hs_run *run = j->course.run;
    hs__member self = hs__member_start(&j->course, worker, is_caller);
    const int polls = is_caller && run->poll;
    const hs__member_hooks hooks = {.tile = run->events || run->pace || polls ? after_tile : NULL,
                                    .idle = polls ? poll_while_waiting : NULL,
                                    .context = &self};

    for (int32_t box = 0; box < run->box_count && !hs__cancelled(&j->course); box++) {
        if (!run->cooperative && run->boxes[box].worker != worker) continue;
        if (j->gang[box].panel_count == 0) continue;
        self.box = box;
        if (run->receive) await_operands(&self, run->receive + 2 * (size_t)box);
        void *block = hs__pool_scratch(j->pool, j->workers + worker, 0); /* sized before the run */
        hs__gang_work(&j->gang[box], run->cooperative ? worker : 0, block, &hooks);
        if (run->cooperative && box + 1 < run->box_count) hs__gang_wait(&j->gang[box], &hooks);
    }
    hs__member_end(&self);
}

/* ---- the run -------------------------------------------------------------------------------------------------- */

static int valid_extent(int64_t from, int64_t size, int64_t limit) { return from >= 0 && size >= 0 && from <= limit && size <= limit - from; }

static hs_status check(const hs_product *p, const hs_run *run, int32_t workers)
{
    if (p->dtype < 0 || p->dtype > 3 || p->m < 0 || p->n < 0 || p->k < 0 || run->box_count < 0) return HS_ERROR_VALUE;
    if (p->m && p->n && !p->c) return HS_ERROR_VALUE;
    if (p->m && p->n && p->k && (!p->a || !p->b)) return HS_ERROR_VALUE;
    if (run->cooperative && (run->pace || run->receive)) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < run->box_count; i++) {
        const hs_box *b = &run->boxes[i];
        if (!run->cooperative && (b->worker < 0 || b->worker >= workers)) return HS_ERROR_VALUE;
        if (!valid_extent(b->row, b->height, p->m) || !valid_extent(b->col, b->width, p->n) || !valid_extent(b->depth, b->length, p->k))
            return HS_ERROR_VALUE;
    }
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
    const int32_t p = j->workers, members = run->cooperative ? p : 1;
    for (int32_t i = 0; i < run->box_count; i++) {
        hs__panel_product x;
        hs__gang *gang = &j->gang[i];
        if (run->boxes[i].length == 0 || (product->alpha[0] == 0.0 && product->alpha[1] == 0.0)) {
            scale_box(product, &run->boxes[i]);
            continue;
        }
        if (!hs__panel_product_init(&x, kernel, product, &run->boxes[i], members)) continue;
        hs_status status = hs__gang_init(gang, &x, members, run->cooperative ? run->speeds : NULL);
        if (status) return status;
        gang->cancel = &j->course.cancel, gang->work_done = &j->course.done;
        j->course.total += hs__gang_tiles(gang);

        int32_t owner = run->boxes[i].worker;
        if (!hs__pool_scratch(j->pool, run->cooperative ? 0 : owner, panel_space(gang) * panel_buffers(gang))) return HS_ERROR_MEMORY;
        for (int32_t w = 0; w < p; w++)
            if ((run->cooperative || w == owner) && !hs__pool_scratch(j->pool, p + w, hs__block_bytes(&x))) return HS_ERROR_MEMORY;
    }
    for (int32_t i = 0; i < run->box_count; i++) { /* scratch has its final place only now */
        hs__gang *gang = &j->gang[i];
        if (gang->panel_count == 0) continue;
        gang->panels[0] = hs__pool_scratch(j->pool, run->cooperative ? 0 : run->boxes[i].worker, 0);
        gang->panels[1] = (char *)gang->panels[0] + (panel_buffers(gang) - 1) * panel_space(gang);
    }
    return HS_OK;
}

/* Whether the caller does all alone. */
static int is_small(const hs_product *p, const hs_run *run) { return run->cooperative && (double)p->m * (double)p->n * (double)p->k <= SMALL; }

hs_status hs_run_product(hs_pool *pool, const hs_product *product, hs_run *run)
{
    if (!pool || !product || !run) return HS_ERROR_VALUE;
    hs_kernel_init();
    const int32_t p = hs__pool_size(pool);
    hs_status status = check(product, run, p);
    if (status) return status;
    job j = {.course.run = run, .pool = pool, .workers = p};
    j.gang = calloc(run->box_count ? (size_t)run->box_count : 1, sizeof *j.gang);
    if (!j.gang) return HS_ERROR_MEMORY;
    run->event_count = 0;
    hs__run_clear(run, p);

    status = hs__pool_lock(pool, run->poll, run->poll_context);
    if (status) {
        free(j.gang);
        return status;
    }
    status = prepare(&j, product);
    if (!status) {
        hs__course_start(&j.course, run);
        if (is_small(product, run)) work(&j, 0, 1);
        else if (run->cooperative) hs__pool_run_shared(pool, work, &j, poll_now);
        else hs__pool_run(pool, work, &j, poll_now);
        status = hs__course_end(&j.course);
    }
    hs__pool_unlock(pool);
    for (int32_t i = 0; i < run->box_count; i++) hs__gang_free(&j.gang[i]);
    free(j.gang);
    return status;
}

hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds, hs_poll_function poll, void *context)
{
    if (!product) return HS_ERROR_VALUE;
    hs_box whole = {.height = product->m, .width = product->n, .length = product->k};
    hs_run run = {.boxes = &whole, .box_count = 1, .cooperative = 1, .speeds = speeds, .poll = poll, .poll_context = context};
    return hs_run_product(pool, product, &run);
}
