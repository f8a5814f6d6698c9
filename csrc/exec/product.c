/* Runs products: boxes to gangs, gangs to the pool's workers; paces emulated workers and records what happened. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gang.h"
#include "pool.h"

double hs_flops_per_update(int32_t dtype) { return dtype >> 1 ? 8.0 : 2.0; }

typedef struct job job;

typedef struct {
    job *job;
    int32_t worker, is_caller;
    int32_t box;        /* being worked on */
    int32_t event;      /* index of its last event, -1 for none */
    double deadline;    /* of a paced worker, seconds from the start */
} member;

struct job {
    hs_pool *pool;
    hs_run *run;
    hs__gang *gang; /* [box_count] */
    int32_t workers;
    double start, last_poll;
    int32_t event_count; /* atomic */
    int cancel;          /* atomic */
    int64_t tiles_done;  /* atomic */
    int64_t tiles;
};

/* ---- what the run says about itself --------------------------------------------------------------------------- */

static void record(member *self, hs_event_kind kind, double start, double end)
{
    hs_run *run = self->job->run;
    if (!run->events) return;
    if (self->event >= 0) { /* one event for a box, unless there is a gap */
        hs_event *last = &run->events[self->event];
        if (last->kind == (int32_t)kind && last->box == self->box && start - last->end < 20e-6) {
            last->end = end;
            return;
        }
    }
    int32_t at = __atomic_fetch_add(&self->job->event_count, 1, __ATOMIC_RELAXED);
    if (at >= run->event_capacity) return;
    run->events[at] = (hs_event){.worker = self->worker, .kind = kind, .box = self->box, .start = start, .end = end};
    self->event = at;
}

static double since_start(const job *j) { return hs_clock() - j->start; }

static double cpu_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int cancelled(const job *j) { return __atomic_load_n(&j->cancel, __ATOMIC_RELAXED); }

/* Only on the calling thread. */
static void poll_now(void *context)
{
    job *j = context;
    if (!j->run->poll || cancelled(j)) return;
    double now = hs_clock();
    if (now - j->last_poll < 0.05) return;
    j->last_poll = now;
    double fraction = j->tiles ? (double)__atomic_load_n(&j->tiles_done, __ATOMIC_RELAXED) / (double)j->tiles : 1.0;
    if (j->run->poll(j->run->poll_context, fraction)) __atomic_store_n(&j->cancel, 1, __ATOMIC_RELAXED);
}

/* Sleeps until `until` seconds from the start, in pieces short enough to notice a cancel. */
static void sleep_until(member *self, double until)
{
    job *j = self->job;
    while (!cancelled(j)) {
        if (self->is_caller) poll_now(j);
        double left = until - since_start(j);
        if (left <= 0.0) return;
        if (left > 0.02) left = 0.02;
        struct timespec pause = {.tv_nsec = (long)(left * 1e9)};
        nanosleep(&pause, NULL);
    }
}

/* ---- workers -------------------------------------------------------------------------------------------------- */

static void poll_while_waiting(void *context) { poll_now(((member *)context)->job); }

static void after_tile(void *context, double flops, double tile_start)
{
    member *self = context;
    job *j = self->job;
    double start = tile_start - j->start;
    if (j->run->pace) { /* the emulated worker computes all the time, the host's thread only some of it */
        start = fmin(start, self->deadline);
        self->deadline += flops * j->run->pace[self->worker];
        sleep_until(self, self->deadline);
    }
    if (j->run->events) record(self, HS_COMPUTE, start, since_start(j));
    if (self->is_caller) poll_now(j);
}

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    hs_run *run = j->run;
    member self = {.job = j, .worker = worker, .is_caller = is_caller, .box = -1, .event = -1};
    const double cpu_start = run->busy ? cpu_clock() : 0.0;
    const int polls = is_caller && run->poll;
    const hs__member_hooks hooks = {.tile = run->events || run->pace || polls ? after_tile : NULL,
                                    .idle = polls ? poll_while_waiting : NULL,
                                    .context = &self};

    if (run->receive) {
        double from = run->receive[2 * worker], to = run->receive[2 * worker + 1];
        sleep_until(&self, to);
        if (to > from) record(&self, HS_TRANSFER, from, to);
        self.deadline = to;
    }
    for (int32_t box = 0; box < run->box_count && !cancelled(j); box++) {
        if (!run->cooperative && run->boxes[box].worker != worker) continue;
        if (j->gang[box].panel_count == 0) continue;
        self.box = box;
        void *block = hs__pool_scratch(j->pool, j->workers + worker, 0); /* sized before the run */
        hs__gang_work(&j->gang[box], run->cooperative ? worker : 0, block, &hooks);
        if (run->cooperative && box + 1 < run->box_count) hs__gang_wait(&j->gang[box], &hooks);
    }
    if (run->finish) run->finish[worker] = since_start(j);
    if (run->late) run->late[worker] = run->pace ? since_start(j) - self.deadline : 0.0;
    if (run->busy) run->busy[worker] = cpu_clock() - cpu_start;
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
    double total_speed = 0.0;
    for (int32_t i = 0; i < workers; i++) {
        if (run->speeds) total_speed += run->speeds[i];
        if (run->speeds && !(run->speeds[i] >= 0.0 && isfinite(run->speeds[i]))) return HS_ERROR_VALUE;
        if (run->pace && !(run->pace[i] >= 0.0 && isfinite(run->pace[i]))) return HS_ERROR_VALUE;
        if (run->receive && !(run->receive[2 * i] >= 0.0 && run->receive[2 * i + 1] >= run->receive[2 * i] && isfinite(run->receive[2 * i + 1])))
            return HS_ERROR_VALUE;
    }
    return run->speeds && !(total_speed > 0.0 && isfinite(total_speed)) ? HS_ERROR_VALUE : HS_OK;
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
    hs_run *run = j->run;
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
        gang->cancel = &j->cancel, gang->work_done = &j->tiles_done;
        j->tiles += hs__gang_tiles(gang);

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

hs_status hs_run_product(hs_pool *pool, const hs_product *product, hs_run *run)
{
    if (!pool || !product || !run) return HS_ERROR_VALUE;
    hs_kernel_init();
    const int32_t p = hs__pool_size(pool);
    hs_status status = check(product, run, p);
    if (status) return status;
    job j = {.pool = pool, .run = run, .workers = p};
    j.gang = calloc(run->box_count ? (size_t)run->box_count : 1, sizeof *j.gang);
    if (!j.gang) return HS_ERROR_MEMORY;
    run->event_count = 0;

    status = hs__pool_lock(pool, run->poll, run->poll_context);
    if (status) {
        free(j.gang);
        return status;
    }
    status = prepare(&j, product);
    if (!status) {
        j.start = hs_clock();
        j.last_poll = j.start;
        hs__pool_run(pool, work, &j, poll_now);
        if (cancelled(&j)) status = HS_ERROR_CANCELLED;
        run->event_count = j.event_count < run->event_capacity ? j.event_count : run->event_capacity;
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
