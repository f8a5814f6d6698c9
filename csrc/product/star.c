/* Runs products on a star. The caller is the master: it copies operands into the workers' arenas
 * and results back, one message at a time. A worker multiplies what has arrived.
 *
 * The messages and their order come from the simulation (hs_star_simulate), which the run repeats
 * with real copies. A message may have to wait until a panel of the same worker is computed
 * (message_state.waits), since that panel's buffer is used again or its result is sent. Master and
 * worker tell each other by the state of the message: the master sets SENT and wakes the worker,
 * the worker sets COMPUTED and wakes the master. With HS_STAR_LISTED the master serves the messages
 * in the order of the list, else the one that has been ready longest. */
#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "product/gang.h"
#include "star/star.h"

enum { C = HS_STAR_HOLD_C, A = HS_STAR_HOLD_A, B = HS_STAR_HOLD_B, OPERANDS = 3 };

enum { SENT = 1, COMPUTED = 2 }; /* states of a panel */

/* Part of an operand, in blocks, and the block of the arena at which it begins. */
typedef struct {
    int64_t row, col, height, width, at;
} piece;

/* What the run knows of a message besides the simulation. */
typedef struct {
    int64_t next;  /* message of the same worker, -1: none */
    int64_t waits; /* panel to be computed before it, or load, -1: none */
    /* when it arrived, or for a panel when it was computed; with pace on the emulated platform's
     * clock */
    double due;
    _Atomic int64_t state; /* of a panel or a load */
} message_state;

/* What a worker has of the operands, and its messages to come. */
typedef struct {
    char *arena;
    int64_t first, next;    /* message, -1: none; `next` is the first that is not sent */
    double released;        /* end of its last load or result, on the same clock */
    _Atomic int64_t blocks; /* in the arena */
    int64_t peak;
} __attribute__((aligned(64))) worker_state;

/* Where a chunk lies in its worker's arena. Chunks that are each loaded ahead of the result of the
 * one before are pipelined chunks. They have room for panels at the start of the arena; behind it
 * is room for what two neighbouring chunks hold, one at each end. */
typedef struct {
    int64_t first;                  /* the first of its pipelined chunks */
    hs__pipelined_chunks pipelined; /* of that chunk: all of them */
    int32_t odd;                    /* non-zero: its place is the second end */
    int32_t first_buffer;           /* of two buffers, the index of the first panel's */
    int64_t last_panel;             /* message */
} chunk_place;

typedef struct {
    hs__run run;
    const hs_product *product;
    hs__kernel *kernel; /* [domains] */
    hs_star_product *x;
    hs__matrix operand[OPERANDS];
    chunk_place *places; /* [chunks] */
    /* how it lies in an arena: as at the master, so that whole lines are copied */
    int by_columns[OPERANDS];
    int64_t count;
    /* [count] messages, each worker's in the order of the model; the times are replaced by measured
     * ones */
    hs_star_message *list;
    message_state *states; /* [count] */
    int64_t *log;          /* [count] messages in the order in which the port served them */
    int64_t logged;
    worker_state *workers; /* [p] as the master sees them */
    int32_t p;             /* the master's signal follows the workers' */
} star_run;

/* ---- where things are ------------------------------------------------------------------------ */

static int64_t area_of(const piece *x) { return x->height * x->width; }

/* Whether a chunk is loaded ahead of the result of the one before. */
static int is_ahead(const star_run *job, int64_t chunk)
{
    return job->places[chunk].first != chunk;
}

static const chunk_place *place_of(const star_run *job, const hs_star_chunk *chunk)
{
    return &job->places[chunk - job->x->chunks];
}

static const hs__pipelined_chunks *pipelined_chunks_of(const star_run *job,
                                                       const hs_star_chunk *chunk)
{
    return &job->places[place_of(job, chunk)->first].pipelined;
}

/* Returns the block of the arena at which the held operand begins. */
static int64_t held_at(const star_run *job, const hs_star_chunk *chunk)
{
    const hs__pipelined_chunks *pipelined = pipelined_chunks_of(job, chunk);
    return pipelined->passing +
           (place_of(job, chunk)->odd
                ? pipelined->held - hs__chunk_traffic_of(job->x->star->t, chunk).held
                : 0);
}

/* Returns strip k of a chunk with streamed panels: a row of blocks, or a column. The strips lie one
 * after the other. */
static piece strip_of(const star_run *job, const hs_star_chunk *chunk, int64_t k)
{
    const int64_t at = held_at(job, chunk);
    if (chunk->buffers == HS_STAR_STREAM_A)
        return (piece){chunk->row + k, chunk->col, 1, chunk->width, at + k * chunk->width};
    return (piece){chunk->row, chunk->col + k, chunk->height, 1, at + k * chunk->height};
}

/* Finds the operands of a streamed panel. What stays for a layer lies at the start of the room for
 * panels, and the block that passes lies behind it. */
static void locate_streamed(const star_run *job, const hs_star_chunk *chunk, int64_t panel,
                            piece pieces[OPERANDS])
{
    const int by_rows = chunk->buffers == HS_STAR_STREAM_A;
    const int64_t passes = by_rows ? chunk->height : chunk->width;
    const int64_t layer = panel / passes;
    pieces[C] = strip_of(job, chunk, panel % passes);
    pieces[A] = (piece){.row = pieces[C].row, .col = layer, .height = pieces[C].height, .width = 1};
    pieces[B] = (piece){.row = layer, .col = pieces[C].col, .height = 1, .width = pieces[C].width};
    pieces[by_rows ? A : B].at = by_rows ? chunk->width : chunk->height;
}

/* Finds the operands that a panel of the chunk multiplies; `first` is the panel's first layer. A
 * buffer holds the two operands of a panel. Two buffers lie at both ends of their room, so that
 * buffers of chunks of other sizes are not in the way. */
static void locate_operands(const star_run *job, const hs_star_chunk *chunk, int64_t first,
                            piece pieces[OPERANDS])
{
    if (hs__star_streams(chunk)) {
        locate_streamed(job, chunk, first, pieces);
        return;
    }
    const int64_t t = job->x->star->t;
    const hs_star_traffic form = hs__chunk_traffic_of(t, chunk);
    const int64_t most = hs__min(chunk->depth, form.length);
    const int64_t deep = hs__min(most, form.length - first);
    const int64_t row = chunk->row + (chunk->held == B ? first : 0);
    const int64_t height = chunk->held == B ? deep : chunk->height;
    const int64_t col = chunk->col + (chunk->held == A ? first : 0);
    const int64_t width = chunk->held == A ? deep : chunk->width;
    const int64_t inner = chunk->held == C ? first : 0;
    const int64_t depth = chunk->held == C ? deep : t;
    const int second =
        chunk->buffers == 2 && (first / chunk->depth + place_of(job, chunk)->first_buffer) % 2;
    int64_t at = second ? pipelined_chunks_of(job, chunk)->passing - most * form.in : 0;
    pieces[A] = (piece){.row = row, .col = inner, .height = height, .width = depth};
    pieces[B] = (piece){.row = inner, .col = col, .height = depth, .width = width};
    pieces[C] = (piece){.row = row, .col = col, .height = height, .width = width};
    for (int o = 0; o < OPERANDS; o++) {
        pieces[o].at = o == chunk->held ? held_at(job, chunk) : at;
        if (o != chunk->held) at += area_of(&pieces[o]);
    }
}

static hs__matrix at_master(const star_run *job, int o, const piece *x)
{
    const hs__matrix *whole = &job->operand[o];
    const int64_t q = job->x->block;
    const int64_t row = x->row * q;
    const int64_t col = x->col * q;
    return hs__part(whole, row, col, hs__min(x->height * q, whole->rows - row),
                    hs__min(x->width * q, whole->cols - col));
}

static hs__matrix in_arena(const star_run *job, int32_t worker, int o, const piece *x)
{
    hs__matrix part = at_master(job, o, x);
    part.data = job->workers[worker].arena + x->at * job->x->block * job->x->block * part.element;
    part.row_stride = job->by_columns[o] ? 1 : part.cols;
    part.col_stride = job->by_columns[o] ? part.rows : 1;
    return part;
}

/* Whether a message carries operand o. A streamed panel carries what stays for a layer with the
 * first block of that layer. */
static int carries_operand(const hs_star_chunk *chunk, const hs_star_message *message, int o)
{
    if (message->kind == HS_STAR_LOAD) return o == chunk->held;
    if (message->kind == HS_STAR_RESULT) return o == C;
    if (!hs__star_streams(chunk) || o == C) return o != chunk->held;
    const int by_rows = chunk->buffers == HS_STAR_STREAM_A;
    return o == (by_rows ? A : B) || message->depth % (by_rows ? chunk->height : chunk->width) == 0;
}

/* Returns the number of parts of a message: each strip of a load or result of a streamed chunk,
 * else 1. */
static int64_t parts_of(const hs_star_chunk *chunk, const hs_star_message *message)
{
    if (!hs__star_streams(chunk) || message->kind == HS_STAR_PANEL) return 1;
    return chunk->buffers == HS_STAR_STREAM_A ? chunk->height : chunk->width;
}

/* Copies a part of an operand to the arena. C is multiplied by beta there, and not read if beta is
 * 0. */
static void bring_operand(const star_run *job, hs__member *self, int32_t worker, int o,
                          const piece *x)
{
    const hs_product *p = job->product;
    const hs__matrix from = at_master(job, o, x);
    const hs__matrix to = in_arena(job, worker, o, x);
    const int clears =
        o == C && p->beta[0] == 0.0 && (p->beta[1] == 0.0 || p->dtype < HS_COMPLEX64);
    if (!clears) hs__copy(self, to, from);
    if (o == C) hs__scale(p->dtype, &to, p->beta);
}

/* ---- master ---------------------------------------------------------------------------------- */

/* Returns when the worker was ready for the message. */
static double pending_since(const star_run *job, int64_t message)
{
    const message_state *own = &job->states[message];
    return own->waits < 0 ? job->workers[job->list[message].worker].released
                          : job->states[own->waits].due;
}

static void serve_message(star_run *job, hs__member *self, int64_t at)
{
    hs_star_message *message = &job->list[at];
    message_state *own = &job->states[at];
    const hs_star_chunk *chunk = &job->x->chunks[message->chunk];
    const int32_t kind = message->kind;
    const int32_t worker = message->worker;
    const int32_t paced = job->run.options.pace != NULL;
    worker_state *its = &job->workers[worker];
    if (own->waits >= 0)
        hs__await_count(self, &job->run.signals[job->p], &job->states[own->waits].state, COMPUTED);
    if (hs__cancelled(&job->run.cancel)) return;

    message->start = hs__since_start(&job->run);
    piece pieces[OPERANDS];
    locate_operands(job, chunk, message->depth, pieces);
    const int64_t parts = parts_of(chunk, message);
    const hs_star_traffic traffic = hs__chunk_traffic_of(job->x->star->t, chunk);
    const int64_t blocks = hs__star_carried(chunk, &traffic, kind, message->depth);
    if (kind != HS_STAR_RESULT) {
        const int64_t now = atomic_fetch_add(&its->blocks, blocks) + blocks;
        if (now > its->peak) its->peak = now;
    }
    for (int64_t k = 0; k < parts; k++) {
        if (parts > 1) pieces[C] = strip_of(job, chunk, k);
        for (int o = 0; o < OPERANDS; o++) {
            if (!carries_operand(chunk, message, o)) continue;
            if (kind == HS_STAR_RESULT)
                hs__copy(self, at_master(job, o, &pieces[o]), in_arena(job, worker, o, &pieces[o]));
            else bring_operand(job, self, worker, o, &pieces[o]);
        }
    }
    if (paced) {
        self->deadline = fmax(self->deadline, pending_since(job, at)) +
                         (double)blocks * job->x->star->link_costs[worker];
        hs__sleep_until(self, self->deadline);
    }
    if (hs__cancelled(&job->run.cancel)) return;
    message->end = message->compute_start = message->compute_end = hs__since_start(&job->run);
    job->log[job->logged++] = at;
    its->next = own->next;

    const double end = own->due = paced ? self->deadline : message->end;
    if (kind == HS_STAR_PANEL) {
        atomic_store(&own->state, SENT);
        hs__signal_send(&job->run.signals[worker]);
        return;
    }
    its->released = end;
    if (kind == HS_STAR_LOAD) atomic_store(&own->state, COMPUTED);
    if (kind == HS_STAR_RESULT) {
        atomic_fetch_sub(&its->blocks, hs__star_returned(chunk, &traffic, message->depth));
    }
}

enum { NONE_PENDING = -1, NONE_LEFT = -2 };

/* Returns the message that has been ready longest, ties to the lowest worker; NONE_PENDING if none
 * is ready, NONE_LEFT if all are sent. */
static int64_t oldest_request(const star_run *job)
{
    int64_t found = NONE_LEFT;
    double since = INFINITY;
    for (int32_t i = 0; i < job->p; i++) {
        const int64_t next = job->workers[i].next;
        if (next < 0) continue;
        if (found == NONE_LEFT) found = NONE_PENDING;
        const int64_t before = job->states[next].waits;
        if (before >= 0 && atomic_load(&job->states[before].state) < COMPUTED) continue;
        const double own = pending_since(job, next);
        if (own < since) {
            found = next;
            since = own;
        }
    }
    return found;
}

static int some_pending(const void *what) { return oldest_request(what) != NONE_PENDING; }

static void run_master(void *context)
{
    star_run *job = context;
    hs__member self = hs__member_start(&job->run, -1, 1);
    if (job->x->order == HS_STAR_LISTED)
        for (int64_t at = 0; at < job->count && !hs__cancelled(&job->run.cancel); at++)
            serve_message(job, &self, at);
    else
        for (int64_t at;
             (at = oldest_request(job)) != NONE_LEFT && !hs__cancelled(&job->run.cancel);)
            if (at >= 0) serve_message(job, &self, at);
            else hs__await(&self, &job->run.signals[job->p], HS__SHORT_SPIN, some_pending, job);
    job->x->late = job->run.options.pace ? hs__since_start(&job->run) - self.deadline : 0.0;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Sets up the product of a panel. Returns 0 if there is nothing to multiply. */
static int panel_product(const star_run *job, int64_t at, const piece pieces[OPERANDS],
                         hs__panel_product *x)
{
    const hs_product *product = job->product;
    const int32_t worker = job->list[at].worker;
    if (hs__no_product(product)) return 0;
    hs__matrix own[OPERANDS];
    for (int o = 0; o < OPERANDS; o++) own[o] = in_arena(job, worker, o, &pieces[o]);
    hs_product small = hs__product_of(product->dtype, &own[A], &own[B], &own[C]);
    small.alpha[0] = product->alpha[0];
    small.alpha[1] = product->alpha[1];
    small.alpha_first = product->alpha_first;
    small.beta[0] = 1.0;
    const hs_box box = {.height = small.m, .width = small.n, .length = small.k};
    return hs__panel_product_init(x, &job->kernel[hs__pool_domain(job->run.pool, worker)], &small,
                                  &box, NULL, 1);
}

static void compute_panel(star_run *job, hs__member *self, int64_t at)
{
    hs_star_message *message = &job->list[at];
    message_state *own = &job->states[at];
    const hs_star_chunk *chunk = &job->x->chunks[message->chunk];
    hs__await_count(self, &job->run.signals[self->worker], &own->state, SENT);
    if (hs__cancelled(&job->run.cancel)) return;

    message->compute_start = hs__since_start(&job->run);
    piece pieces[OPERANDS];
    hs__panel_product x;
    locate_operands(job, chunk, message->depth, pieces);
    if (panel_product(job, at, pieces, &x))
        hs__panel_product_run(&x, hs__pool_scratch(job->run.lease, HS__PANELS, self->worker, 0),
                              hs__pool_scratch(job->run.lease, HS__BLOCKS, self->worker, 0),
                              &job->run.cancel);
    if (job->run.options.pace) {
        self->deadline = fmax(self->deadline, own->due);
        hs__keep_pace(self, (double)area_of(&pieces[C]) * (double)pieces[A].width);
    }
    if (hs__cancelled(&job->run.cancel)) return;
    message->compute_end = hs__since_start(&job->run);
    own->due = job->run.options.pace ? self->deadline : message->compute_end;
    const hs_star_traffic traffic = hs__chunk_traffic_of(job->x->star->t, chunk);
    atomic_fetch_sub(&job->workers[self->worker].blocks,
                     hs__star_used_up(chunk, &traffic, message->depth));
    hs__count_task(&job->run);
    atomic_store(&own->state, COMPUTED);
    hs__signal_send(&job->run.signals[job->p]);
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    star_run *job = context;
    hs__member self = hs__member_start(&job->run, worker, is_caller);
    for (int64_t at = job->workers[worker].first; at >= 0 && !hs__cancelled(&job->run.cancel);
         at = job->states[at].next)
        if (job->list[at].kind == HS_STAR_PANEL) compute_panel(job, &self, at);
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int64_t blocks_of(int64_t size, int64_t block) { return size / block + (size % block > 0); }

static hs_status check_arguments(const void *context)
{
    const star_run *job = context;
    const hs_product *p = job->product;
    const hs_star_product *x = job->x;
    const hs_star *star = x->star;
    if (p->dtype < 0 || p->dtype > 3 || !p->a || !p->b || !p->c || !star || star->p != job->p)
        return HS_ERROR_VALUE;
    if (x->block < 1 || x->block > INT32_MAX ||
        (x->order != HS_STAR_LISTED && x->order != HS_STAR_DEMAND))
        return HS_ERROR_VALUE;
    if (p->triangle != HS_TRIANGLE_NONE || p->conjugate) return HS_ERROR_VALUE;
    if (p->m < 1 || p->n < 1 || p->k < 1 || blocks_of(p->m, x->block) != star->r ||
        blocks_of(p->n, x->block) != star->s || blocks_of(p->k, x->block) != star->t)
        return HS_ERROR_VALUE;
    return HS_OK;
}

/* Finds which chunks are pipelined, and each chunk's place. */
static hs_status place_chunks(star_run *job)
{
    const hs_star_product *x = job->x;
    /* the worker's last chunk, plus 1 */
    int64_t *before = hs__run_zeros(&job->run, (size_t)job->p, sizeof *before);
    job->places = hs__run_zeros(&job->run, (size_t)x->chunk_count, sizeof *job->places);
    if (!before || !job->places) return HS_ERROR_MEMORY;
    for (int64_t k = 0; k < x->chunk_count; k++) {
        const hs_star_chunk *chunk = &x->chunks[k];
        chunk_place *own = &job->places[k];
        const int64_t last = before[chunk->worker] - 1;
        own->first = k;
        if (chunk->ahead && last >= 0) {
            const chunk_place *other = &job->places[last];
            const hs_star_traffic traffic = hs__chunk_traffic_of(x->star->t, &x->chunks[last]);
            const int64_t panels = hs__star_panels(&x->chunks[last], &traffic);
            own->first = other->first;
            own->odd = !other->odd;
            own->first_buffer = (int32_t)((other->first_buffer + panels) % 2);
        }
        hs__pipelined_chunks_add(&job->places[own->first].pipelined, x->star->t, chunk);
        before[chunk->worker] = k + 1;
    }
    return HS_OK;
}

/* Returns what a message waits for. last[0] and last[1] are the worker's last panel but one and
 * last panel that count for it; before there are two panels, its load. */
static int64_t waits_of(star_run *job, int64_t at, int64_t last[2])
{
    const hs_star_message *message = &job->list[at];
    const hs_star_chunk *chunk = &job->x->chunks[message->chunk];
    if (message->kind == HS_STAR_LOAD) {
        if (!is_ahead(job, message->chunk)) last[0] = last[1] = at;
        else if (job->x->chunks[job->list[last[1]].chunk].buffers != 2) last[0] = last[1];
        return -1;
    }
    if (message->kind == HS_STAR_RESULT) {
        if (chunk->held == C) return job->places[message->chunk].last_panel;
        return job->list[last[1]].depth == message->depth ? last[1] : last[0];
    }
    const int64_t waits = chunk->held == C ? last[chunk->buffers != 2] : -1;
    last[0] = last[1];
    last[1] = job->places[message->chunk].last_panel = at;
    return waits;
}

/* Returns HS_ERROR_VALUE unless the chunks tile C. */
static hs_status check_cover(star_run *job)
{
    const hs_star_product *x = job->x;
    if (x->chunk_count > INT32_MAX) return HS_ERROR_VALUE;
    hs_box *boxes = hs__run_zeros(&job->run, (size_t)x->chunk_count, sizeof *boxes);
    if (!boxes) return HS_ERROR_MEMORY;
    for (int64_t k = 0; k < x->chunk_count; k++) {
        const hs_star_chunk *chunk = &x->chunks[k];
        boxes[k] = (hs_box){.row = chunk->row,
                            .col = chunk->col,
                            .height = chunk->height,
                            .width = chunk->width,
                            .length = 1};
    }
    return hs_boxes_cover(x->star->r, x->star->s, 1, HS_TRIANGLE_NONE, 0, (int32_t)x->chunk_count,
                          boxes, NULL);
}

/* Lists the messages, and what each one waits for. */
static hs_status list_messages(star_run *job)
{
    const hs_star_product *x = job->x;
    double makespan;
    hs_status status = hs_star_message_count(x->star->t, x->chunk_count, x->chunks, &job->count);
    if (!status && (x->messages || x->simulated) && x->message_capacity < job->count)
        status = HS_ERROR_VALUE;
    if (!status) status = check_cover(job);
    if (status) return status;
    const size_t count = (size_t)job->count;
    job->list = hs__run_zeros(&job->run, count, sizeof *job->list);
    job->states = hs__run_zeros(&job->run, count, sizeof *job->states);
    job->log = hs__run_zeros(&job->run, count, sizeof *job->log);
    int64_t(*panel)[2] = hs__run_zeros(&job->run, (size_t)job->p, sizeof *panel);
    if (!job->list || !job->states || !job->log || !panel) return HS_ERROR_MEMORY;
    status = hs_star_simulate(x->star, x->chunk_count, x->chunks, x->order, x->length, x->served, 0,
                              NULL, job->list, &job->count, &makespan);
    if (!status) status = place_chunks(job);
    if (status) return status;
    if (x->simulated && count) memcpy(x->simulated, job->list, count * sizeof *x->simulated);
    for (int64_t at = 0; at < job->count; at++) {
        job->states[at].waits = waits_of(job, at, panel[job->list[at].worker]);
        job->run.total += job->list[at].kind == HS_STAR_PANEL;
    }
    for (int64_t at = job->count; at-- > 0;) {
        worker_state *its = &job->workers[job->list[at].worker];
        job->states[at].next = its->first;
        its->first = its->next = at;
    }
    return HS_OK;
}

/* Takes memory for the arenas, and scratch for the kernel. */
static hs_status open_arenas(star_run *job)
{
    const hs_star_product *x = job->x;
    int64_t *rooms = hs__run_zeros(&job->run, (size_t)job->p, sizeof *rooms);
    if (!rooms) return HS_ERROR_MEMORY;
    for (int64_t k = 0; k < x->chunk_count; k++) {
        /* 0 unless the chunk is the first of pipelined chunks */
        const int64_t own = job->places[k].pipelined.held + job->places[k].pipelined.passing;
        if (own > rooms[x->chunks[k].worker]) rooms[x->chunks[k].worker] = own;
    }
    for (int32_t i = 0; i < job->p; i++) {
        size_t bytes;
        if (!rooms[i]) continue;
        if (__builtin_mul_overflow((size_t)rooms[i], (size_t)(x->block * x->block), &bytes) ||
            __builtin_mul_overflow(bytes, (size_t)job->operand[C].element, &bytes) ||
            bytes > PTRDIFF_MAX || !(job->workers[i].arena = hs__run_pages(&job->run, bytes)))
            return HS_ERROR_MEMORY;
    }
    for (int64_t at = 0; at < job->count; at++) {
        piece pieces[OPERANDS];
        hs__panel_product panel;
        if (job->list[at].kind != HS_STAR_PANEL) continue;
        locate_operands(job, &x->chunks[job->list[at].chunk], job->list[at].depth, pieces);
        if (!panel_product(job, at, pieces, &panel)) continue;
        const int32_t i = job->list[at].worker;
        if (!hs__pool_scratch(job->run.lease, HS__PANELS, i, hs__panel_bytes(&panel)) ||
            !hs__pool_scratch(job->run.lease, HS__BLOCKS, i, hs__block_bytes(&panel)))
            return HS_ERROR_MEMORY;
    }
    return HS_OK;
}

static hs_status open_run(void *context)
{
    star_run *job = context;
    hs__matrices_of(job->product, &job->operand[A], &job->operand[B], &job->operand[C]);
    for (int o = 0; o < OPERANDS; o++) job->by_columns[o] = hs__by_columns(&job->operand[o]);
    job->workers = hs__run_zeros(&job->run, (size_t)job->p, sizeof *job->workers);
    const hs__domains *domains = hs__pool_domains(job->run.pool);
    job->kernel = hs__run_zeros(&job->run, (size_t)domains->count, sizeof *job->kernel);
    if (!job->workers || !job->kernel || !hs__run_signals(&job->run, job->p + 1))
        return HS_ERROR_MEMORY;
    hs__domain_kernels(domains, job->kernel);
    for (int32_t i = 0; i < job->p; i++) job->workers[i].first = job->workers[i].next = -1;
    hs_status status = list_messages(job);
    if (status) return status;
    return open_arenas(job);
}

static hs_status report_run(void *context, hs_status status)
{
    star_run *job = context;
    hs_star_product *x = job->x;
    x->message_count = job->logged;
    for (int64_t k = 0; k < job->logged && x->messages; k++)
        x->messages[k] = job->list[job->log[k]];
    for (int32_t i = 0; i < job->p && x->peak; i++) x->peak[i] = job->workers[i].peak;
    return status;
}

static const hs__kind kind = {.check = check_arguments,
                              .open = open_run,
                              .work = run_worker,
                              .lead = run_master,
                              .report = report_run};

hs_status hs_run_star(hs_pool *pool, const hs_product *product, hs_star_product *x,
                      const hs_options *options, const hs_times *times)
{
    if (!pool || !product || !x) return HS_ERROR_VALUE;
    star_run job = {.run = hs__run_of(&kind, pool, options, NULL),
                    .product = product,
                    .x = x,
                    .p = hs__pool_size(pool)};
    if (times) job.run.trace.times = *times;
    job.run.manner = HS__LED;
    return hs__run_do(&job.run);
}
