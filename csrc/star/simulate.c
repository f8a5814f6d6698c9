/* Simulation of the master's port. The state of a worker says what its next message is, and when
 * that can start. Serving a worker sends this message and determines the next one; the rules decide
 * which worker is served. */
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "star/star.h"

/* ---- port ------------------------------------------------------------------------------------ */

int hs__star_valid(const hs_star *star)
{
    const int64_t most = INT32_MAX;
    if (!star || !star->cycle_times || !star->link_costs || !star->memory) return 0;
    if (star->r < 1 || star->s < 1 || star->t < 1 || star->p < 1 || star->r > most ||
        star->s > most || star->t > most)
        return 0;
    for (int32_t i = 0; i < star->p; i++) {
        if (!(star->cycle_times[i] > 0.0 && star->cycle_times[i] <= HS_STAR_MOST)) return 0;
        if (!(star->link_costs[i] >= 0.0 && star->link_costs[i] <= HS_STAR_MOST)) return 0;
        if (star->memory[i] < 0 || star->memory[i] > HS__SIZE_MOST) return 0;
    }
    return 1;
}

static void set_idle(hs__port *port, int32_t i, double link_cost, double cycle_time)
{
    port->states[i] =
        (hs__worker_state){.link_cost = link_cost, .cycle_time = cycle_time, .chunk = -1};
    port->results.place[i] = -1;
    port->demand.place[i] = -1;
}

hs_status hs__port_open(hs__port *port, const hs_star *star, int32_t p, int32_t eager,
                        const int *cancel)
{
    *port = (hs__port){.r = star->r,
                       .s = star->s,
                       .t = star->t,
                       .p = p,
                       .buffers = 2,
                       .eager = eager,
                       .left = star->s,
                       .limit = INFINITY,
                       .most = HS_STAR_MESSAGES,
                       .cancel = cancel};
    port->states = malloc((size_t)p * (sizeof *port->states + 2 * (sizeof *port->results.at +
                                                                   sizeof *port->results.place)));
    if (!port->states) return HS_ERROR_MEMORY;
    port->results.at = (hs__timed *)(port->states + p);
    port->demand.at = port->results.at + p;
    port->results.place = (int32_t *)(port->demand.at + p);
    port->demand.place = port->results.place + p;
    for (int32_t i = 0; i < p; i++) set_idle(port, i, star->link_costs[i], star->cycle_times[i]);
    return HS_OK;
}

void hs__port_close(hs__port *port)
{
    free(port->states);
    free(port->next);
}

static void set_traffic(const hs__port *port, hs__worker_state *state, const hs_star_chunk *chunk)
{
    const hs_star_traffic form = hs__chunk_traffic_of(port->t, chunk);
    state->held = (double)form.held;
    state->in = (double)form.in;
    state->out = (double)form.out;
    state->work = (double)form.work;
    state->more = (double)form.more;
    state->every = form.every;
    state->length = form.length;
    state->deep = chunk->depth;
    state->buffers = chunk->buffers;
}

hs_status hs__port_list(hs__port *port, int64_t count, const hs_star_chunk *chunks)
{
    if (count > port->next_room || !port->next) {
        free(port->next);
        port->next_room = count ? count : 1;
        port->next = malloc((size_t)port->next_room * sizeof *port->next);
        if (!port->next) return HS_ERROR_MEMORY;
    }
    for (int32_t i = 0; i < port->p; i++)
        set_idle(port, i, port->states[i].link_cost, port->states[i].cycle_time);
    port->results.size = 0;
    port->demand.size = 0;
    port->list = chunks;
    port->chunk_count = count;
    port->message_count = 0;
    port->next_look = 0;
    port->now = 0.0;
    port->coming = 0.0;
    for (int64_t k = count; k-- > 0;) {
        hs__worker_state *state = &port->states[chunks[k].worker];
        port->next[k] = state->chunk;
        state->chunk = k;
        set_traffic(port, state, &chunks[k]);
        if (__builtin_add_overflow(state->panels, 1 + (state->length - 1) / state->deep,
                                   &state->panels))
            return HS_ERROR_VALUE;
        state->rest += state->work * (double)state->length * state->cycle_time;
        const int64_t often = state->length / state->every;
        const double passing =
            (state->in + state->out) * (double)state->length + state->more * (double)often;
        port->coming += (state->held * (chunks[k].held == HS_STAR_HOLD_C ? 2.0 : 1.0) + passing) *
                        state->link_cost;
    }
    return HS_OK;
}

/* Returns when the worker could take part in its next message. */
static double earliest_start(const hs__worker_state *state)
{
    if (state->kind == HS_STAR_RESULT) {
        if (state->pending > 0.0) return state->pending_since;
        return state->full == 2 ? state->before : state->last;
    }
    if (state->kind == HS_STAR_LOAD || state->out > 0.0) return state->released;
    return state->buffers == 2 ? state->before : state->last;
}

/* Sets the kind of the worker's next message. */
static inline void set_next_kind(hs__port *port, int32_t i, int32_t kind)
{
    hs__worker_state *state = &port->states[i];
    state->kind = kind;
    state->ready = earliest_start(state);
    if (kind == HS_STAR_RESULT) hs__heap_set(&port->results, i, state->ready);
    else hs__heap_remove(&port->results, i);
    if (port->demand.place[i] >= 0) hs__heap_set(&port->demand, i, state->ready);
}

/* Deals columns to worker i. When no columns are left, workers that asked for a chunk ahead of a
 * result have only this result to send. */
static void deal_columns(hs__port *port, int32_t i)
{
    hs__worker_state *state = &port->states[i];
    state->breadth = hs__min(state->side, port->left);
    state->col = port->s - port->left;
    state->row = 0;
    port->left -= state->breadth;
    if (port->columns) port->columns[i] += state->breadth;
    if (port->left || !port->deals_ahead) return;
    for (int32_t j = 0; j < port->p; j++)
        if (port->states[j].kind == HS_STAR_LOAD && port->states[j].pending > 0.0 &&
            port->states[j].breadth == 0)
            set_next_kind(port, j, HS_STAR_RESULT);
}

/* Takes a chunk for a worker that has none; returns 0 if there is none. Columns are dealt left to
 * right, rows from top to bottom. */
static int take_chunk(hs__port *port, int32_t i)
{
    hs__worker_state *state = &port->states[i];
    if (port->list) {
        if (state->chunk < 0) return 0;
        set_traffic(port, state, &port->list[state->chunk]);
        return 1;
    }
    if (state->breadth == 0) {
        if (state->side == 0 || port->left == 0) return 0;
        deal_columns(port, i);
    }
    const int64_t height = hs__min(state->side, port->r - state->row);
    const hs_star_chunk chunk = {.worker = i,
                                 .buffers = port->buffers,
                                 .row = state->row,
                                 .col = state->col,
                                 .height = height,
                                 .width = state->breadth,
                                 .depth = state->depth,
                                 .ahead = state->pending > 0.0};
    set_traffic(port, state, &chunk);
    state->chunk = port->chunk_count++;
    if (state->chunk < port->chunk_room) port->chunks[state->chunk] = chunk;
    state->row += height;
    if (state->row == port->r) state->breadth = 0;
    return 1;
}

/* All panels of the worker's chunk have been sent. Returns whether its next chunk is loaded before
 * the result of this chunk goes back. */
static int goes_ahead(const hs__port *port, const hs__worker_state *state)
{
    if (!port->list) return port->deals_ahead && (state->breadth || (state->side && port->left));
    const int64_t next = port->next[state->chunk];
    return next >= 0 && port->list[next].ahead;
}

/* Determines the message that follows in a chunk. A pending result goes after as many panels
 * of the new chunk as it has buffers for at once. */
static void find_next_message(hs__port *port, int32_t i)
{
    hs__worker_state *state = &port->states[i];
    const int whole = state->sent == state->length;
    const int done = whole && state->returned == state->length;
    int32_t kind = HS_STAR_PANEL;
    if (state->pending > 0.0) {
        if (whole || state->sent > (state->buffers == 2 ? state->deep : 0)) kind = HS_STAR_RESULT;
    } else if (done || (whole && goes_ahead(port, state))) {
        kind = HS_STAR_LOAD;
        if (!done) {
            state->pending = state->held;
            state->pending_since = state->last;
            state->pending_chunk = state->chunk;
            state->returned = state->length;
        }
        if (port->list) state->chunk = port->next[state->chunk];
    } else if (whole || (state->out > 0.0 && state->full == state->buffers)) {
        kind = HS_STAR_RESULT;
    }
    set_next_kind(port, i, kind);
}

/* Sends a panel, which is then computed. */
static void send_panel(hs__worker_state *state, hs_star_message *message)
{
    const int64_t depth = hs__min(state->deep, state->length - state->sent);
    const double along = state->sent % state->every == 0 ? state->more : 0.0;
    message->depth = state->sent;
    message->end = message->start + ((double)depth * state->in + along) * state->link_cost;
    message->compute_start = fmax(message->end, state->last);
    message->compute_end = message->compute_start + state->work * (double)depth * state->cycle_time;
    state->before = state->last;
    state->last = message->compute_end;
    state->sent += depth;
    state->panels--;
    state->rest -= message->compute_end - message->compute_start;
    state->full += state->out > 0.0;
}

/* Sends a result: the pending one, the result of a panel, or the result of the chunk. */
static void send_result(hs__worker_state *state, hs_star_message *message)
{
    double blocks = state->held;
    if (state->pending > 0.0) {
        blocks = state->pending;
        message->chunk = state->pending_chunk;
        state->pending = 0.0;
    } else if (state->out > 0.0) {
        const int64_t left = state->length - state->returned;
        const int64_t depth = hs__min(state->deep, left);
        message->depth = state->returned;
        blocks = (double)depth * state->out;
        state->returned += depth;
        state->full--;
    } else {
        state->returned = state->length;
    }
    message->end = message->start + blocks * state->link_cost;
    message->compute_start = message->end;
    message->compute_end = message->end;
    state->released = message->end;
}

/* Sends the held operand. If it goes ahead of a result, the panels before still count: the first
 * new panels use the buffers that these panels release. */
static void send_load(hs__worker_state *state, int32_t buffers_before, hs_star_message *message)
{
    message->end = message->start + state->held * state->link_cost;
    message->compute_start = message->end;
    message->compute_end = message->end;
    if (!(state->pending > 0.0)) {
        state->last = message->end;
        state->before = message->end;
    } else if (buffers_before != 2) {
        state->before = state->last;
    }
    state->sent = 0;
    state->returned = 0;
    state->released = message->end;
}

/* Sends the worker's next message through the port; returns 0 if it has none. */
static int serve_worker(hs__port *port, int32_t i)
{
    hs__worker_state *state = &port->states[i];
    const int32_t buffers_before = state->buffers;
    if (state->kind == HS_STAR_LOAD && !take_chunk(port, i)) return 0;
    hs_star_message message = {.worker = i,
                               .kind = state->kind,
                               .chunk = state->chunk,
                               .start = fmax(port->now, state->ready)};
    if (state->kind == HS_STAR_PANEL) send_panel(state, &message);
    else if (state->kind == HS_STAR_RESULT) send_result(state, &message);
    else send_load(state, buffers_before, &message);
    find_next_message(port, i);
    port->coming -= message.end - message.start;
    port->now = message.end;
    if (port->message_count < port->message_room) port->messages[port->message_count] = message;
    port->message_count++;
    return 1;
}

/* Checks for too many messages, and from time to time for cancellation. Several messages may have
 * been sent since the last call. */
static hs_status check_limits(hs__port *port)
{
    if (port->message_count > port->most) return HS_ERROR_UNSUPPORTED;
    if (port->message_count < port->next_look) return HS_OK;
    port->next_look = port->message_count + 1024;
    return hs__cancelled(port->cancel) ? HS_ERROR_CANCELLED : HS_OK;
}

/* Eager: sends the results that are ready now. */
static void return_ready(hs__port *port)
{
    while (port->eager && port->results.size && port->results.at[0].time <= port->now)
        serve_worker(port, port->results.at[0].worker);
}

static hs_status serve_in_turn(hs__port *port)
{
    /* a linked ring of the workers that may have messages left */
    int32_t *follower = malloc((size_t)port->p * sizeof *follower);
    if (!follower) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < port->p; i++) follower[i] = i + 1 < port->p ? i + 1 : 0;
    hs_status status = HS_OK;
    for (int32_t before = port->p - 1, left = port->p; left && !status;) {
        const int32_t i = follower[before];
        return_ready(port);
        if (serve_worker(port, i)) {
            before = i;
        } else {
            follower[before] = follower[i];
            left--;
        }
        status = check_limits(port);
    }
    free(follower);
    return status;
}

static hs_status serve_demand(hs__port *port)
{
    hs_status status = HS_OK;
    for (int32_t i = 0; i < port->p; i++) hs__heap_set(&port->demand, i, 0.0);
    while (port->demand.size && !status && port->now + port->coming < port->limit) {
        return_ready(port);
        const int32_t i = port->demand.at[0].worker;
        if (!serve_worker(port, i)) hs__heap_remove(&port->demand, i);
        status = check_limits(port);
    }
    return status;
}

/* Serves a list of workers panel by panel; loads and results go in between where they must. */
static hs_status serve_panels(hs__port *port, int64_t length, const int32_t *served)
{
    hs_status status = HS_OK;
    for (int64_t k = 0; k < length && !status; k++) {
        hs__worker_state *state = &port->states[served[k]];
        if (state->panels == 0) {
            if (k % 1024 == 0 && hs__cancelled(port->cancel)) status = HS_ERROR_CANCELLED;
            continue;
        }
        for (const int64_t wanted = state->panels - 1; state->panels > wanted;) {
            return_ready(port);
            serve_worker(port, served[k]);
        }
        status = check_limits(port);
    }
    while (port->results.size && !status) {
        serve_worker(port, port->results.at[0].worker);
        status = check_limits(port);
    }
    return status;
}

/* The values that decide when a worker is served, adjacent in memory. */
typedef struct need {
    int32_t worker;
    double ready, last, rest;
} need;

/* A message that can start now goes before one that cannot; among messages that must wait, the
 * earliest first; else by need. */
static int needs_more(const need *x, const need *y, double now, int32_t order)
{
    if (x->ready > now || y->ready > now)
        if (x->ready != y->ready) return x->ready < y->ready;
    if (order == HS_STAR_STARVING && x->last != y->last) return x->last < y->last;
    return (x->last > now ? x->last : now) + x->rest > (y->last > now ? y->last : now) + y->rest;
}

/* Updates a need from the worker's state; returns 0 if the worker has nothing left. */
static int update_need(const hs__port *port, need *x)
{
    const hs__worker_state *state = &port->states[x->worker];
    x->ready = state->ready;
    x->last = state->last;
    x->rest = state->rest;
    return state->kind != HS_STAR_LOAD || state->chunk >= 0;
}

static hs_status serve_by_need(hs__port *port, int32_t order)
{
    int32_t count = 0;
    need *needs = malloc((size_t)port->p * sizeof *needs);
    if (!needs) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < port->p; i++) {
        needs[count].worker = i;
        count += update_need(port, &needs[count]);
    }
    hs_status status = HS_OK;
    while (count && !status && port->now + port->coming < port->limit) {
        int32_t first = 0;
        for (int32_t k = 1; k < count; k++)
            if (needs_more(&needs[k], &needs[first], port->now, order)) first = k;
        serve_worker(port, needs[first].worker);
        int left = update_need(port, &needs[first]);
        if (port->eager) {
            return_ready(port);
            for (int32_t k = 0; k < count; k++) left &= update_need(port, &needs[k]);
        }
        if (!left) {
            const int32_t before = count;
            count = 0;
            for (int32_t k = 0; k < before; k++) {
                needs[count] = needs[k];
                count += update_need(port, &needs[count]);
            }
        }
        status = check_limits(port);
    }
    free(needs);
    return status;
}

static hs_status serve_listed(hs__port *port, int64_t length, const int32_t *served)
{
    hs_status status = HS_OK;
    for (int64_t k = 0; k < length && !status; k++)
        status = serve_worker(port, served[k]) ? check_limits(port) : HS_ERROR_VALUE;
    return status;
}

hs_status hs__port_serve(hs__port *port, int32_t order, int64_t length, const int32_t *served)
{
    if (order == HS_STAR_ROUND_ROBIN) return serve_in_turn(port);
    if (order == HS_STAR_DEMAND) return serve_demand(port);
    if (order == HS_STAR_STARVING || order == HS_STAR_LAGGING) return serve_by_need(port, order);
    const hs_status status = order == HS_STAR_PANELS ? serve_panels(port, length, served)
                                                     : serve_listed(port, length, served);
    if (status) return status;
    for (int32_t i = 0; i < port->p; i++)
        if (port->states[i].kind != HS_STAR_LOAD || port->states[i].chunk >= 0)
            return HS_ERROR_VALUE;
    return HS_OK;
}

/* ---- given chunks ---------------------------------------------------------------------------- */

static int valid_chunks(const hs_star *star, int64_t count, const hs_star_chunk *chunks)
{
    if (count < 0 || (count && !chunks)) return 0;
    for (int64_t k = 0; k < count; k++) {
        const hs_star_chunk *x = &chunks[k];
        if (x->worker < 0 || x->worker >= star->p || x->row < 0 || x->col < 0 || x->height < 1 ||
            x->width < 1 || x->depth < 1)
            return 0;
        if (x->row > star->r - x->height || x->col > star->s - x->width ||
            x->buffers < HS_STAR_STREAM_B || x->buffers > 2)
            return 0;
        if (x->held < HS_STAR_HOLD_C || x->held > HS_STAR_HOLD_B) return 0;
        if (hs__star_streams(x) && (x->held != HS_STAR_HOLD_C || x->depth != 1)) return 0;
        if (x->ahead < 0 || x->ahead > 1 || (x->ahead && x->held != HS_STAR_HOLD_C)) return 0;
        if (!hs__star_fits(star->t, x, star->memory[x->worker])) return 0;
    }
    return 1;
}

/* Returns whether, in each worker's list, only chunks of C are loaded ahead, each after a chunk of
 * C, and all fit together. */
static int valid_pipelining(const hs__port *port, const int64_t *memory)
{
    for (int32_t i = 0; i < port->p; i++) {
        hs__pipelined_chunks pipelined = {0};
        int64_t before = -1;
        for (int64_t k = port->states[i].chunk; k >= 0; before = k, k = port->next[k]) {
            if (port->list[k].ahead && before >= 0 && port->list[before].held != HS_STAR_HOLD_C)
                return 0;
            hs__pipelined_chunks_add(&pipelined, port->t, &port->list[k]);
            if (pipelined.passing > memory[i] - pipelined.held) return 0;
        }
    }
    return 1;
}

hs_status hs_star_simulate(const hs_star *star, int64_t count, const hs_star_chunk *chunks,
                           int32_t order, int64_t length, const int32_t *served, int32_t eager,
                           const int *cancel, hs_star_message *messages, int64_t *message_count,
                           double *makespan)
{
    if (!message_count || !makespan) return HS_ERROR_VALUE;
    if (!hs__star_valid(star) || order < HS_STAR_ROUND_ROBIN || order > HS_STAR_LAGGING ||
        !valid_chunks(star, count, chunks))
        return HS_ERROR_VALUE;
    if (order == HS_STAR_PANELS || order == HS_STAR_LISTED) {
        if (length < 0 || (length && !served)) return HS_ERROR_VALUE;
        for (int64_t k = 0; k < length; k++)
            if (served[k] < 0 || served[k] >= star->p) return HS_ERROR_VALUE;
    }
    hs__port port;
    hs_status status = hs__port_open(&port, star, star->p, eager, cancel);
    if (status) return status;
    port.messages = messages;
    port.message_room = messages ? INT64_MAX : 0;
    port.most = INT64_MAX;
    status = hs__port_list(&port, count, chunks);
    if (!status)
        status = valid_pipelining(&port, star->memory)
                     ? hs__port_serve(&port, order, length, served)
                     : HS_ERROR_VALUE;
    if (!status) {
        *message_count = port.message_count;
        *makespan = port.now;
    }
    hs__port_close(&port);
    return status;
}
