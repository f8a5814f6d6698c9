/* hs_ring_redistribute: items that move along a ring to new owners.
 *
 * A chain is a sequence of edges whose items go the same way. It begins at a member that sends to
 * both sides or receives nothing, and ends at one that receives from both sides or sends nothing.
 * Along a chain, each item is sent as soon as its sender has it and is free; no schedule of these
 * flows is earlier. Two chains share a port only where they meet: the chains towards next members
 * use it from time 0 on, those towards previous members up to the makespan, or the other way round.
 * The late chains are scheduled as early ones backwards in time, from `after` to `before`. */
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/status.h"
#include "ring/items.h"

/* The shifts of the flows that are tried: all up to NEAR away from the shift of the least busy port,
 * then each twice as far away as the one before. */
enum { NEAR = 16 };
static const double MOST_TIME = 0x1p200;

typedef struct {
    int64_t room, count;
    int32_t *senders, *receivers;
    int64_t *items;
    double *starts, *periods;
    double makespan;
} message_list;

typedef struct {
    const hs_redistribution *given;
    const int *cancel;
    const int64_t *flows; /* [size] */
    bool next_first;
    double *finish;              /* [size] when all items of an edge have arrived, early or late */
    hs__sequence arriving, sent; /* of the edge before and of this one, as they are sent */
    message_list *messages;      /* or NULL */
} schedule;

/* ---- problem --------------------------------------------------------------------------------- */

static bool valid_problem(const hs_redistribution *x)
{
    if (!x || x->size < 1 || !x->before || !x->after || !x->next) return false;
    if (x->closed != 0 && x->closed != 1) return false;
    int64_t first = 0;
    int64_t last = 0;
    for (int32_t k = 0; k < x->size; k++) {
        if (x->before[k] < 0 || x->before[k] > HS__SIZE_MOST - first) return false;
        if (x->after[k] < 0 || x->after[k] > HS__SIZE_MOST - last) return false;
        first += x->before[k];
        last += x->after[k];
        for (int side = 0; side < 2; side++) {
            const double time = side && x->previous ? x->previous[k] : x->next[k];
            if (!(time >= 0.0 && time <= MOST_TIME)) return false;
        }
    }
    return first == last;
}

/* Returns whether these flows are a redistribution in which each chain has a first member. */
static bool valid_flows(const hs_redistribution *x, const int64_t *flows)
{
    bool all_next = true;
    bool all_previous = true;
    for (int32_t k = 0; k < x->size; k++) {
        const int64_t in = flows[hs__previous_member(x, k)];
        if (flows[k] > HS__SIZE_MOST || flows[k] < -HS__SIZE_MOST || in > HS__SIZE_MOST ||
            in < -HS__SIZE_MOST)
            return false;
        if (flows[k] - in != x->before[k] - x->after[k] || (flows[k] < 0 && !x->previous))
            return false;
        all_next = all_next && flows[k] > 0;
        all_previous = all_previous && flows[k] < 0;
    }
    return !all_next && !all_previous && (x->closed || flows[x->size - 1] == 0);
}

/* Returns the time of the busiest port, if the messages of an edge take so long together. */
static double busiest_port(const hs_redistribution *x, const int64_t *flows, const double *taken)
{
    double most = 0.0;
    for (int32_t k = 0; k < x->size; k++) {
        const int32_t left = hs__previous_member(x, k);
        const double out = (flows[k] > 0 ? taken[k] : 0.0) + (flows[left] < 0 ? taken[left] : 0.0);
        const double in = (flows[left] > 0 ? taken[left] : 0.0) + (flows[k] < 0 ? taken[k] : 0.0);
        most = fmax(most, fmax(out, in));
    }
    return most;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void write_messages(message_list *out, const schedule *s, int32_t edge, bool early,
                           double time)
{
    const bool forward = s->flows[edge] > 0;
    const int32_t other = hs__next_member(s->given, edge);
    for (int64_t k = 0; k < s->sent.count; k++, out->count++) {
        if (out->count >= out->room) continue;
        const hs__stretch *part = &s->sent.part[early ? k : s->sent.count - 1 - k];
        out->senders[out->count] = forward ? edge : other;
        out->receivers[out->count] = forward ? other : edge;
        out->items[out->count] = part->items;
        out->starts[out->count] = early ? part->start : out->makespan - hs__stretch_end(part, time);
        out->periods[out->count] = part->period;
    }
}

static bool goes(const schedule *s, int32_t edge, bool forward)
{
    return forward ? s->flows[edge] > 0 : s->flows[edge] < 0;
}

/* Schedules all chains in one direction, early ones or late ones, each from its first edge on. */
static hs_status schedule_chains(schedule *s, bool forward, bool early)
{
    const hs_redistribution *x = s->given;
    const bool up =
        forward == early; /* whether the edges of a chain are visited in ascending order */
    const int64_t *stock = early ? x->before : x->after;
    for (int32_t first = 0; first < x->size; first++) {
        const int32_t behind = up ? hs__previous_member(x, first) : hs__next_member(x, first);
        if (!goes(s, first, forward) || goes(s, behind, forward)) continue;
        double arrival_time = 0.0;
        s->arriving.count = 0;
        for (int32_t edge = first; goes(s, edge, forward);
             edge = up ? hs__next_member(x, edge) : hs__previous_member(x, edge)) {
            if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
            const int64_t items = forward ? s->flows[edge] : -s->flows[edge];
            const int32_t sender = up ? edge : hs__next_member(x, edge);
            const double time = hs__item_time(x, edge, forward);
            const hs_status status =
                hs__send_items(&s->arriving, items, stock[sender], time, arrival_time, &s->sent);
            if (status) return status;
            s->finish[edge] = hs__sequence_end(&s->sent, time);
            if (s->messages) write_messages(s->messages, s, edge, early, time);
            const hs__sequence spare = s->arriving;
            s->arriving = s->sent;
            s->sent = spare;
            arrival_time = time;
        }
    }
    return HS_OK;
}

static hs_status schedule_flows(schedule *s, double *makespan)
{
    hs_status status = schedule_chains(s, true, s->next_first);
    if (!status) status = schedule_chains(s, false, !s->next_first);
    if (!status) *makespan = busiest_port(s->given, s->flows, s->finish);
    return status;
}

static hs_status open_schedule(schedule *s, const hs_redistribution *problem, const int *cancel)
{
    *s = (schedule){.given = problem, .cancel = cancel};
    s->finish = malloc((size_t)problem->size * sizeof *s->finish);
    return hs__check_memory(s->finish);
}

static void close_schedule(schedule *s)
{
    free(s->finish);
    free(s->arriving.part);
    free(s->sent.part);
}

/* ---- flows ----------------------------------------------------------------------------------- */

typedef struct {
    int64_t *flat;     /* [size] the flows without items across the last edge */
    int64_t *flows;    /* [size] workspace: flat and a shift */
    int64_t low, high; /* shifts that are possible */
    int64_t shift;     /* of the least busy port */
    double bound;
} choice;

/* Shifts the flows and computes how long the messages of each edge take together. */
static void take_times(const schedule *s, choice *c, int64_t shift)
{
    for (int32_t k = 0; k < s->given->size; k++) {
        c->flows[k] = c->flat[k] + shift;
        const double items = fabs((double)c->flows[k]);
        s->finish[k] = items > 0.0 ? items * hs__item_time(s->given, k, c->flows[k] > 0) : 0.0;
    }
}

/* Two measures of a shift, both convex: the time of the busiest port, and the sum of all times. */
static double port_time(const schedule *s, choice *c, int64_t shift)
{
    take_times(s, c, shift);
    return busiest_port(s->given, c->flows, s->finish);
}

static double total_time(const schedule *s, choice *c, int64_t shift)
{
    double sum = 0.0;
    take_times(s, c, shift);
    for (int32_t k = 0; k < s->given->size; k++) sum += s->finish[k];
    return sum;
}

/* Finds the least shift in low .. high for which a measure is least. */
static int64_t find_least(const schedule *s, choice *c, int64_t low, int64_t high,
                          double measure(const schedule *, choice *, int64_t))
{
    while (low < high && !hs__cancelled(s->cancel)) {
        const int64_t middle = low + (high - low) / 2;
        if (measure(s, c, middle) <= measure(s, c, middle + 1)) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Finds the shift of the least busy port; of several, the one whose messages take the least time
 * together. In one direction only one shift is possible without items that go all the way round. */
static hs_status open_choice(const schedule *s, choice *c)
{
    const hs_redistribution *x = s->given;
    *c = (choice){.flat = malloc((size_t)x->size * sizeof *c->flat),
                  .flows = malloc((size_t)x->size * sizeof *c->flows)};
    if (!c->flat || !c->flows) return HS_ERROR_MEMORY;
    int64_t flow = 0;
    int64_t least = 0;
    int64_t most = 0;
    for (int32_t k = 0; k < x->size; k++) {
        flow += x->before[k] - x->after[k];
        c->flat[k] = flow;
        least = hs__min(least, flow);
        most = hs__max(most, flow);
    }
    if (x->closed) {
        c->low = x->previous ? -most : -least;
        c->high = -least;
    } else if (!x->previous && least < 0) return HS_ERROR_INFEASIBLE;
    const int64_t first = find_least(s, c, c->low, c->high, port_time);
    c->bound = port_time(s, c, first);
    int64_t last = first;
    for (int64_t high = c->high; last < high && !hs__cancelled(s->cancel);) {
        const int64_t middle = last + (high - last + 1) / 2;
        if (port_time(s, c, middle) <= c->bound * (1.0 + HS_EQUAL)) last = middle;
        else high = middle - 1;
    }
    c->shift = find_least(s, c, first, last, total_time);
    return hs__check_cancel(s->cancel);
}

static void close_choice(choice *c)
{
    free(c->flat);
    free(c->flows);
}

/* Schedules the flows of a shift in both orders, and keeps what is better than the best so far. */
static hs_status try_shift(schedule *s, choice *c, int64_t shift, int64_t *best_shift,
                           bool *best_order, double *best)
{
    if (shift < c->low || shift > c->high || !(port_time(s, c, shift) < *best)) return HS_OK;
    s->flows = c->flows;
    for (int order = 1; order >= (s->given->previous ? 0 : 1); order--) {
        double makespan = 0.0;
        s->next_first = order;
        const hs_status status = schedule_flows(s, &makespan);
        if (status) return status;
        if (!(makespan < *best)) continue;
        *best = makespan;
        *best_shift = shift;
        *best_order = order;
    }
    return HS_OK;
}

/* In one direction, only these flows are possible, and no schedule of them is earlier. */
static hs_status certify(const schedule *s, double makespan, double bound,
                         hs_certificate *certificate)
{
    if (!s->given->previous) bound = makespan;
    if (makespan > bound) {
        const hs_status status = hs__arrivals_bound(s->given, s->cancel, &bound);
        if (status) return status;
    }
    return hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
}

hs_status hs_ring_redistribute(const hs_redistribution *problem, const int *cancel, int64_t *flows,
                               int32_t *next_first, hs_certificate *certificate)
{
    if (!valid_problem(problem) || !flows || !next_first || !certificate) return HS_ERROR_VALUE;
    schedule s;
    choice c = {0};
    hs_status status = open_schedule(&s, problem, cancel);
    if (!status) status = open_choice(&s, &c);
    double best = INFINITY;
    int64_t shift = c.shift;
    bool order = true;
    if (!status) status = try_shift(&s, &c, c.shift, &shift, &order, &best);
    const int64_t most = hs__max(c.shift - c.low, c.high - c.shift);
    for (int64_t away = 1; away <= most && best > c.bound && !status;
         away = away < NEAR ? away + 1 : 2 * away) {
        status = try_shift(&s, &c, c.shift + away, &shift, &order, &best);
        if (!status) status = try_shift(&s, &c, c.shift - away, &shift, &order, &best);
    }
    if (!status) status = certify(&s, best, c.bound, certificate);
    if (!status) {
        if (certificate->optimal) certificate->scope = "all redistributions";
        *next_first = order;
        for (int32_t k = 0; k < problem->size; k++) flows[k] = c.flat[k] + shift;
    }
    close_choice(&c);
    close_schedule(&s);
    return status;
}

hs_status hs_ring_redistribution_certificate(const hs_redistribution *problem, const int64_t *flows,
                                             int32_t next_first, const int *cancel,
                                             hs_certificate *certificate)
{
    if (!valid_problem(problem) || !flows || !certificate || !valid_flows(problem, flows) ||
        (next_first != 0 && next_first != 1))
        return HS_ERROR_VALUE;
    schedule s;
    choice c = {0};
    double makespan = 0.0;
    hs_status status = open_schedule(&s, problem, cancel);
    if (!status) status = open_choice(&s, &c);
    s.flows = flows;
    s.next_first = next_first;
    if (!status) status = schedule_flows(&s, &makespan);
    if (!status) status = certify(&s, makespan, c.bound, certificate);
    close_choice(&c);
    close_schedule(&s);
    return status;
}

hs_status hs_ring_redistribution_messages(const hs_redistribution *problem, const int64_t *flows,
                                          int32_t next_first, int64_t room, const int *cancel,
                                          int64_t *count, int32_t *senders, int32_t *receivers,
                                          int64_t *items, double *starts, double *periods)
{
    if (!valid_problem(problem) || !flows || !count || room < 0 || !valid_flows(problem, flows) ||
        (next_first != 0 && next_first != 1))
        return HS_ERROR_VALUE;
    if (room > 0 && (!senders || !receivers || !items || !starts || !periods))
        return HS_ERROR_VALUE;
    message_list out = {.room = room,
                        .senders = senders,
                        .receivers = receivers,
                        .items = items,
                        .starts = starts,
                        .periods = periods};
    schedule s;
    hs_status status = open_schedule(&s, problem, cancel);
    s.flows = flows;
    s.next_first = next_first;
    if (!status) status = schedule_flows(&s, &out.makespan);
    s.messages = &out;
    double makespan;
    if (!status) status = schedule_flows(&s, &makespan);
    if (!status) *count = out.count;
    close_schedule(&s);
    return status;
}
