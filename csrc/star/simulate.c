/* Simulation of the master's port. A desk is the state of one worker: its next message, and when
 * that can start. Serving a worker sends this message and determines the next one; the rules decide
 * which worker is served. */
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
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
        if (star->memory[i] < 0 || star->memory[i] > (INT64_C(1) << 53)) return 0;
    }
    return 1;
}

static void idle(hs__port *port, int32_t i, double link_cost, double cycle_time)
{
    port->desk[i] = (hs__desk){.link_cost = link_cost, .cycle_time = cycle_time, .chunk = -1};
    port->results.place[i] = port->demand.place[i] = -1;
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
    port->desk = malloc((size_t)p * (sizeof *port->desk +
                                     2 * (sizeof *port->results.at + sizeof *port->results.place)));
    if (!port->desk) return HS_ERROR_MEMORY;
    port->results.at = (hs__timed *)(port->desk + p);
    port->demand.at = port->results.at + p;
    port->results.place = (int32_t *)(port->demand.at + p);
    port->demand.place = port->results.place + p;
    for (int32_t i = 0; i < p; i++) idle(port, i, star->link_costs[i], star->cycle_times[i]);
    return HS_OK;
}

void hs__port_close(hs__port *port)
{
    free(port->desk);
    free(port->next);
}

static void spread(const hs__port *port, hs__desk *desk, const hs_star_chunk *chunk)
{
    const hs__passage form = hs__star_passage(port->t, chunk);
    desk->held = (double)form.held;
    desk->in = (double)form.in;
    desk->out = (double)form.out;
    desk->work = (double)form.work;
    desk->more = (double)form.more;
    desk->every = form.every;
    desk->length = form.length;
    desk->deep = chunk->depth;
    desk->buffers = chunk->buffers;
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
        idle(port, i, port->desk[i].link_cost, port->desk[i].cycle_time);
    port->results.size = port->demand.size = 0;
    port->list = chunks;
    port->chunk_count = count;
    port->message_count = 0;
    port->now = port->coming = 0.0;
    for (int64_t k = count; k-- > 0;) {
        hs__desk *desk = &port->desk[chunks[k].worker];
        port->next[k] = desk->chunk;
        desk->chunk = k;
        spread(port, desk, &chunks[k]);
        desk->panels += 1 + (desk->length - 1) / desk->deep;
        desk->rest += desk->work * (double)desk->length * desk->cycle_time;
        const double passing = (desk->in + desk->out) * (double)desk->length +
                               desk->more * (double)(desk->length / desk->every);
        port->coming += (desk->held * (chunks[k].held == HS_STAR_HOLD_C ? 2.0 : 1.0) + passing) *
                        desk->link_cost;
    }
    return HS_OK;
}

/* Returns when the worker could take part in its next message. */
static double earliest(const hs__desk *desk)
{
    if (desk->kind == HS_STAR_RESULT)
        return desk->owed > 0.0 ? desk->owed_since : desk->full == 2 ? desk->before : desk->last;
    if (desk->kind == HS_STAR_LOAD || desk->out > 0.0) return desk->released;
    return desk->buffers == 2 ? desk->before : desk->last;
}

/* Sets the kind of the worker's next message. */
static inline void ask(hs__port *port, int32_t i, int32_t kind)
{
    hs__desk *desk = &port->desk[i];
    desk->kind = kind;
    desk->ready = earliest(desk);
    if (kind == HS_STAR_RESULT) hs__heap_set(&port->results, i, desk->ready);
    else hs__heap_remove(&port->results, i);
    if (port->demand.place[i] >= 0) hs__heap_set(&port->demand, i, desk->ready);
}

/* Deals columns to worker i. When no columns are left, workers that asked for a chunk ahead of a
 * result have only this result to send. */
static void deal_columns(hs__port *port, int32_t i)
{
    hs__desk *desk = &port->desk[i];
    desk->breadth = desk->side < port->left ? desk->side : port->left;
    desk->col = port->s - port->left;
    desk->row = 0;
    port->left -= desk->breadth;
    if (port->columns) port->columns[i] += desk->breadth;
    if (port->left || !port->deals_ahead) return;
    for (int32_t j = 0; j < port->p; j++)
        if (port->desk[j].kind == HS_STAR_LOAD && port->desk[j].owed > 0.0 &&
            port->desk[j].breadth == 0)
            ask(port, j, HS_STAR_RESULT);
}

/* Takes a chunk for a worker that has none; returns 0 if there is none. Columns are dealt left to
 * right, rows from top to bottom. */
static int take_chunk(hs__port *port, int32_t i)
{
    hs__desk *desk = &port->desk[i];
    if (port->list) {
        if (desk->chunk < 0) return 0;
        spread(port, desk, &port->list[desk->chunk]);
        return 1;
    }
    if (desk->breadth == 0) {
        if (desk->side == 0 || port->left == 0) return 0;
        deal_columns(port, i);
    }
    const int64_t height = desk->side < port->r - desk->row ? desk->side : port->r - desk->row;
    const hs_star_chunk chunk = {.worker = i,
                                 .buffers = port->buffers,
                                 .row = desk->row,
                                 .col = desk->col,
                                 .height = height,
                                 .width = desk->breadth,
                                 .depth = desk->depth,
                                 .ahead = desk->owed > 0.0};
    spread(port, desk, &chunk);
    desk->chunk = port->chunk_count++;
    if (port->chunks) port->chunks[desk->chunk] = chunk;
    desk->row += height;
    if (desk->row == port->r) desk->breadth = 0;
    return 1;
}

/* Returns whether the worker's next chunk is loaded ahead of the result of the chunk with all
 * panels sent. */
static int goes_ahead(const hs__port *port, const hs__desk *desk)
{
    if (!port->list) return port->deals_ahead && (desk->breadth || (desk->side && port->left));
    const int64_t next = port->next[desk->chunk];
    return next >= 0 && port->list[next].ahead;
}

/* Determines the message that follows in a chunk. An owed result waits until the panels that find
 * room at once have been sent. */
static void follow(hs__port *port, int32_t i)
{
    hs__desk *desk = &port->desk[i];
    const int whole = desk->sent == desk->length, done = whole && desk->returned == desk->length;
    int32_t kind = HS_STAR_PANEL;
    if (desk->owed > 0.0) {
        if (whole || desk->sent > (desk->buffers == 2 ? desk->deep : 0)) kind = HS_STAR_RESULT;
    } else if (done || (whole && goes_ahead(port, desk))) {
        kind = HS_STAR_LOAD;
        if (!done) {
            desk->owed = desk->held;
            desk->owed_since = desk->last;
            desk->owed_chunk = desk->chunk;
            desk->returned = desk->length;
        }
        if (port->list) desk->chunk = port->next[desk->chunk];
    } else if (whole || (desk->out > 0.0 && desk->full == desk->buffers)) {
        kind = HS_STAR_RESULT;
    }
    ask(port, i, kind);
}

/* Sends a panel, which is then computed. */
static void send_panel(hs__desk *desk, hs_star_message *message)
{
    const int64_t depth =
        desk->deep < desk->length - desk->sent ? desk->deep : desk->length - desk->sent;
    const double along = desk->sent % desk->every == 0 ? desk->more : 0.0;
    message->depth = desk->sent;
    message->end = message->start + ((double)depth * desk->in + along) * desk->link_cost;
    message->compute_start = fmax(message->end, desk->last);
    message->compute_end = message->compute_start + desk->work * (double)depth * desk->cycle_time;
    desk->before = desk->last;
    desk->last = message->compute_end;
    desk->sent += depth;
    desk->panels--;
    desk->rest -= message->compute_end - message->compute_start;
    desk->full += desk->out > 0.0;
}

/* Sends a result: the owed one, the result of a panel, or the result of the chunk. */
static void send_result(hs__desk *desk, hs_star_message *message)
{
    double blocks = desk->held;
    if (desk->owed > 0.0) {
        blocks = desk->owed;
        message->chunk = desk->owed_chunk;
        desk->owed = 0.0;
    } else if (desk->out > 0.0) {
        const int64_t left = desk->length - desk->returned;
        const int64_t depth = desk->deep < left ? desk->deep : left;
        message->depth = desk->returned;
        blocks = (double)depth * desk->out;
        desk->returned += depth;
        desk->full--;
    } else {
        desk->returned = desk->length;
    }
    message->end = message->compute_start = message->compute_end =
        message->start + blocks * desk->link_cost;
    desk->released = message->end;
}

/* Sends the held operand. If it goes ahead of a result, the panels before still count: the first
 * new panels use the buffers that these panels release. */
static void send_load(hs__desk *desk, int32_t buffers_before, hs_star_message *message)
{
    message->end = message->compute_start = message->compute_end =
        message->start + desk->held * desk->link_cost;
    if (!(desk->owed > 0.0)) desk->before = desk->last = message->end;
    else if (buffers_before != 2) desk->before = desk->last;
    desk->sent = desk->returned = 0;
    desk->released = message->end;
}

/* Sends the worker's next message through the port; returns 0 if it has none. */
static int serve(hs__port *port, int32_t i)
{
    hs__desk *desk = &port->desk[i];
    const int32_t buffers_before = desk->buffers;
    if (desk->kind == HS_STAR_LOAD && !take_chunk(port, i)) return 0;
    hs_star_message message = {.worker = i,
                               .kind = desk->kind,
                               .chunk = desk->chunk,
                               .start = fmax(port->now, desk->ready)};
    if (desk->kind == HS_STAR_PANEL) send_panel(desk, &message);
    else if (desk->kind == HS_STAR_RESULT) send_result(desk, &message);
    else send_load(desk, buffers_before, &message);
    follow(port, i);
    port->coming -= message.end - message.start;
    port->now = message.end;
    if (port->messages) port->messages[port->message_count] = message;
    port->message_count++;
    return 1;
}

/* Checks from time to time for cancellation and for too many messages. */
static hs_status stopped(const hs__port *port)
{
    if ((port->message_count & 1023) != 1) return HS_OK;
    return hs__cancelled(port->cancel)        ? HS_ERROR_CANCELLED
           : port->message_count > port->most ? HS_ERROR_UNSUPPORTED
                                              : HS_OK;
}

/* Eager: sends the results that are ready now. */
static void return_ready(hs__port *port)
{
    while (port->eager && port->results.size && port->results.at[0].time <= port->now)
        serve(port, port->results.at[0].worker);
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
        if (serve(port, i)) {
            before = i;
        } else {
            follower[before] = follower[i];
            left--;
        }
        status = stopped(port);
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
        if (!serve(port, i)) hs__heap_remove(&port->demand, i);
        status = stopped(port);
    }
    return status;
}

/* Serves a list of workers panel by panel; loads and results go in between where they must. */
static hs_status serve_panels(hs__port *port, int64_t length, const int32_t *served)
{
    hs_status status = HS_OK;
    for (int64_t k = 0; k < length && !status; k++) {
        hs__desk *desk = &port->desk[served[k]];
        if (desk->panels == 0) continue;
        for (const int64_t wanted = desk->panels - 1; desk->panels > wanted;) {
            return_ready(port);
            serve(port, served[k]);
        }
        status = stopped(port);
    }
    while (port->results.size && !status) serve(port, port->results.at[0].worker);
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

/* Updates a need from its desk; returns 0 if the worker has nothing left. */
static int look(const hs__port *port, need *x)
{
    const hs__desk *desk = &port->desk[x->worker];
    x->ready = desk->ready;
    x->last = desk->last;
    x->rest = desk->rest;
    return desk->kind != HS_STAR_LOAD || desk->chunk >= 0;
}

static hs_status serve_by_need(hs__port *port, int32_t order)
{
    int32_t count = 0;
    need *needs = malloc((size_t)port->p * sizeof *needs);
    if (!needs) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < port->p; i++) {
        needs[count].worker = i;
        count += look(port, &needs[count]);
    }
    hs_status status = HS_OK;
    while (count && !status && port->now + port->coming < port->limit) {
        int32_t first = 0;
        for (int32_t k = 1; k < count; k++)
            if (needs_more(&needs[k], &needs[first], port->now, order)) first = k;
        serve(port, needs[first].worker);
        int left = look(port, &needs[first]);
        if (port->eager) {
            return_ready(port);
            for (int32_t k = 0; k < count; k++) left &= look(port, &needs[k]);
        }
        if (!left) {
            const int32_t before = count;
            count = 0;
            for (int32_t k = 0; k < before; k++) {
                needs[count] = needs[k];
                count += look(port, &needs[count]);
            }
        }
        status = stopped(port);
    }
    free(needs);
    return status;
}

static hs_status serve_listed(hs__port *port, int64_t length, const int32_t *served)
{
    hs_status status = HS_OK;
    for (int64_t k = 0; k < length && !status; k++)
        status = serve(port, served[k]) ? stopped(port) : HS_ERROR_VALUE;
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
        if (port->desk[i].kind != HS_STAR_LOAD || port->desk[i].chunk >= 0) return HS_ERROR_VALUE;
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
static int valid_chains(const hs__port *port, const int64_t *memory)
{
    for (int32_t i = 0; i < port->p; i++) {
        hs__chain chain = {0};
        int64_t before = -1;
        for (int64_t k = port->desk[i].chunk; k >= 0; before = k, k = port->next[k]) {
            if (port->list[k].ahead && before >= 0 && port->list[before].held != HS_STAR_HOLD_C)
                return 0;
            hs__chain_add(&chain, port->t, &port->list[k]);
            if (chain.passing > memory[i] - chain.held) return 0;
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
    port.most = INT64_MAX;
    status = hs__port_list(&port, count, chunks);
    if (!status)
        status = valid_chains(&port, star->memory) ? hs__port_serve(&port, order, length, served)
                                                   : HS_ERROR_VALUE;
    if (!status) {
        *message_count = port.message_count;
        *makespan = port.now;
    }
    hs__port_close(&port);
    return status;
}
