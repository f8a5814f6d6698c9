/* hs_dynamic_product: a master hands out the tasks of a product to workers that ask for them. */
#include "schedule/dynamic.h"

#include <stdlib.h>

#include "core/cancel.h"
#include "core/heap.h"
#include "core/random.h"
#include "core/status.h"

/* Tasks are numbered by row, then column, then depth. The numbers of those that are not handed out
 * are the first `left` of `task`, so that one can be drawn, and any can be removed, in O(1). */
typedef struct {
    const hs_dynamic *product;
    int32_t axes, n;
    int32_t all, left;
    int32_t *task;     /* [all] */
    int32_t *position; /* [all] of each task in `task`; -1: handed out */
    int32_t first;     /* HS_DYNAMIC_SORTED: all tasks before it are handed out */
    int32_t *order;  /* [p * axes * n] the indices of each axis, those that a worker knows first */
    int32_t *known;  /* [p] indices of each axis that a worker has been given while growing */
    uint8_t *held;   /* [p * axes * blocks of an operand] whether a worker has a block */
    int32_t *sent;   /* [p * operands] blocks that a worker has received after its last task */
    int64_t *counts; /* [p] its tasks */
    double *ready;   /* [p] end of its last task */
    uint64_t random;
    hs_dynamic_task *tasks;
    int64_t *blocks;
} master;

/* ---- blocks ---------------------------------------------------------------------------------- */

static void send_block(master *m, int32_t worker, int operand, int64_t block)
{
    const size_t own = (size_t)worker * (size_t)m->axes + (size_t)operand;
    uint8_t *held = m->held + own * (size_t)hs__dynamic_blocks(m->product) + (size_t)block;
    if (*held) return;
    *held = 1;
    m->blocks[HS_DYNAMIC_OPERANDS * (size_t)worker + (size_t)operand]++;
    m->sent[HS_DYNAMIC_OPERANDS * (size_t)worker + (size_t)operand]++;
}

/* Sends the blocks of a task that the worker lacks. */
static void send_operands(master *m, int32_t worker, int32_t row, int32_t col, int32_t depth)
{
    const int64_t n = m->n;
    send_block(m, worker, 0, m->axes == 3 ? row * n + depth : row);
    send_block(m, worker, 1, m->axes == 3 ? depth * n + col : col);
    if (m->axes == 3) send_block(m, worker, 2, row * n + col);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void hand_out(master *m, int32_t worker, int32_t number)
{
    const int32_t at = m->position[number];
    const int32_t last = m->task[m->left - 1];
    const int32_t line = m->axes == 3 ? number / m->n : number;
    hs_dynamic_task *task = &m->tasks[m->all - m->left];
    m->task[at] = last;
    m->position[last] = at;
    m->position[number] = -1;
    m->left--;
    m->counts[worker]++;
    *task = (hs_dynamic_task){.worker = worker,
                              .row = line / m->n,
                              .col = line % m->n,
                              .depth = m->axes == 3 ? number % m->n : 0,
                              .start = m->ready[worker]};
    send_operands(m, worker, task->row, task->col, task->depth);
    const hs_dynamic *x = m->product;
    int32_t *sent = m->sent + HS_DYNAMIC_OPERANDS * (size_t)worker;
    memcpy(task->sent, sent, sizeof task->sent);
    memset(sent, 0, sizeof task->sent);
    task->end =
        hs__end_work(x->p, x->cycle_times, x->changes, worker, task->start, x->cycle_times[worker]);
    m->ready[worker] = task->end;
}

static int32_t *order_of(const master *m, int32_t worker, int axis)
{
    return m->order + ((size_t)worker * (size_t)m->axes + (size_t)axis) * (size_t)m->n;
}

/* Gives the worker one more index of each axis. It does not know all of them: else no task would be
 * left. */
static void draw_indices(master *m, int32_t worker)
{
    const int32_t known = m->known[worker]++;
    for (int axis = 0; axis < m->axes; axis++) {
        int32_t *order = order_of(m, worker, axis);
        const int32_t drawn = known + hs__pick(&m->random, m->n - known);
        const int32_t index = order[drawn];
        order[drawn] = order[known];
        order[known] = index;
    }
}

/* Sends the blocks that go with the newest indices, also if other workers have their tasks. */
static void send_newest(master *m, int32_t worker)
{
    const int32_t *rows = order_of(m, worker, 0);
    const int32_t *cols = order_of(m, worker, 1);
    const int32_t *depths = m->axes == 3 ? order_of(m, worker, 2) : NULL;
    const int32_t newest = m->known[worker] - 1;
    const int32_t row = rows[newest];
    const int32_t col = cols[newest];
    if (!depths) {
        send_operands(m, worker, row, col, 0);
        return;
    }
    for (int32_t i = 0; i <= newest; i++) {
        send_operands(m, worker, rows[i], col, depths[newest]); /* A(i, .), B(., .), C(i, .) */
        send_operands(m, worker, row, cols[i], depths[newest]);
        send_operands(m, worker, row, col, depths[i]);
    }
}

static void hand_out_if_left(master *m, int32_t worker, int32_t number)
{
    if (m->position[number] >= 0) hand_out(m, worker, number);
}

/* Hands out the tasks of the newest indices with each other and with those known before. */
static void hand_out_newest(master *m, int32_t worker)
{
    const int32_t *rows = order_of(m, worker, 0);
    const int32_t *cols = order_of(m, worker, 1);
    const int32_t newest = m->known[worker] - 1;
    for (int32_t i = 0; i <= newest; i++) {
        if (m->axes == 2) {
            for (int32_t j = i == newest ? 0 : newest; j <= newest; j++)
                hand_out_if_left(m, worker, rows[i] * m->n + cols[j]);
            continue;
        }
        const int32_t *depths = order_of(m, worker, 2);
        for (int32_t j = 0; j <= newest; j++)
            for (int32_t k = i == newest || j == newest ? 0 : newest; k <= newest; k++)
                hand_out_if_left(m, worker, (rows[i] * m->n + cols[j]) * m->n + depths[k]);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool is_growing(const master *m)
{
    const hs_dynamic *x = m->product;
    if (x->method != HS_DYNAMIC_TWO_PHASES) return x->method == HS_DYNAMIC_GROWING;
    return (double)m->left >= exp(-x->beta) * (double)m->all;
}

static int32_t find_first(master *m)
{
    while (m->position[m->first] < 0) m->first++;
    return m->first;
}

/* Hands out at least one task; there is one left. */
static void serve(master *m, int32_t worker)
{
    if (!is_growing(m)) {
        const bool sorted = m->product->method == HS_DYNAMIC_SORTED;
        hand_out(m, worker, sorted ? find_first(m) : m->task[hs__pick(&m->random, m->left)]);
        return;
    }
    for (const int32_t before = m->left; m->left == before;) {
        draw_indices(m, worker);
        send_newest(m, worker);
        hand_out_newest(m, worker);
    }
}

static hs_status serve_all(master *m, hs__timed *heap, const int *cancel)
{
    int32_t able = 0;
    for (int32_t i = 0; i < m->product->p; i++)
        if (isfinite(m->product->cycle_times[i])) heap[able++] = (hs__timed){.worker = i};
    while (m->left) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        const int32_t worker = heap[0].worker;
        serve(m, worker);
        if (!isfinite(m->ready[worker])) return HS_ERROR_VALUE;
        hs__heap_down(heap, NULL, able, 0, (hs__timed){m->ready[worker], 0.0, worker});
    }
    return HS_OK;
}

static hs_status certify_volume(const master *m, hs_certificate *certificate)
{
    const int32_t p = m->product->p;
    int64_t volume = 0;
    int64_t bound = 0;
    for (int32_t i = 0; i < p; i++) bound += hs__dynamic_least(m->product, m->counts[i]);
    for (int64_t i = 0; i < HS_DYNAMIC_OPERANDS * (int64_t)p; i++) volume += m->blocks[i];
    const hs_status status =
        hs_certificate_of("volume", HS_MINIMISED, (double)volume, (double)bound, certificate);
    if (!status && certificate->optimal) certificate->scope = "plans with these loads";
    return status;
}

static bool open_master(master *m)
{
    const hs_dynamic *x = m->product;
    const size_t p = (size_t)x->p;
    const size_t n = (size_t)x->n;
    const size_t axes = (size_t)m->axes;
    const bool grows = x->method == HS_DYNAMIC_GROWING || x->method == HS_DYNAMIC_TWO_PHASES;
    /* calloc, because it fails if the product of its arguments overflows */
    m->task = calloc((size_t)m->all + 1, sizeof *m->task);
    m->position = calloc((size_t)m->all + 1, sizeof *m->position);
    m->order = calloc(grows ? p : 1, (axes * n + 1) * sizeof *m->order);
    m->known = calloc(p, sizeof *m->known);
    m->held = calloc(p, axes * (size_t)hs__dynamic_blocks(x) + 1);
    m->sent = calloc(p, HS_DYNAMIC_OPERANDS * sizeof *m->sent);
    m->counts = calloc(p, sizeof *m->counts);
    m->ready = calloc(p, sizeof *m->ready);
    if (!m->task || !m->position || !m->order || !m->known || !m->held || !m->sent || !m->counts ||
        !m->ready)
        return false;
    for (int32_t i = 0; i < m->all; i++) m->task[i] = m->position[i] = i;
    for (size_t i = 0; grows && i < p * axes * n; i++) m->order[i] = (int32_t)(i % n);
    memset(m->blocks, 0, HS_DYNAMIC_OPERANDS * p * sizeof *m->blocks);
    return true;
}

static void close_master(master *m)
{
    free(m->task);
    free(m->position);
    free(m->order);
    free(m->known);
    free(m->held);
    free(m->sent);
    free(m->counts);
    free(m->ready);
}

hs_status hs_dynamic_product(const hs_dynamic *product, const int *cancel, hs_dynamic_task *tasks,
                             int64_t *blocks, double *makespan, hs_certificate *certificate)
{
    if (!hs__dynamic_valid(product) || product->method < 0 ||
        product->method >= HS_DYNAMIC_METHODS || (product->n && !tasks) || !blocks || !makespan ||
        !certificate || (product->method == HS_DYNAMIC_TWO_PHASES && !(product->beta >= 0.0)))
        return HS_ERROR_VALUE;
    const int32_t all = (int32_t)hs__dynamic_tasks(product);
    master m = {.product = product,
                .axes = hs__dynamic_axes(product),
                .n = (int32_t)product->n,
                .all = all,
                .left = all,
                .random = product->seed,
                .tasks = tasks,
                .blocks = blocks};
    hs__timed *heap = malloc((size_t)product->p * sizeof *heap);
    hs_status status = hs__check_memory(open_master(&m) && heap);
    if (!status) status = serve_all(&m, heap, cancel);
    if (!status) status = certify_volume(&m, certificate);
    double last = 0.0;
    for (int32_t i = 0; i < product->p && !status; i++) last = fmax(last, m.ready[i]);
    if (!status) *makespan = last;
    close_master(&m);
    free(heap);
    return status;
}
