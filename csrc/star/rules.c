/* hs_star_plan: the rules of the 2008 paper. One group deals columns while the port serves (round
 * robin, demand driven); one selects a virtual homogeneous platform; one assigns panels by
 * incremental selection in two phases. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "star/star.h"

int64_t hs_star_side(int64_t memory, int32_t layout)
{
    const int64_t m = hs__min(hs__max(memory, 0), HS__SIZE_MOST);
    int64_t most = m; /* blocks of the largest square */
    if (layout == HS_STAR_TOLEDO) most = m / 3;
    if (layout == HS_STAR_PAIR) most = m / 2;
    /* a little too large: the loops below reduce it */
    int64_t side = (int64_t)sqrt((double)most) + 1;
    if (layout == HS_STAR_TOLEDO)
        while (side * side > m / 3) side--;
    else if (layout == HS_STAR_SINGLE)
        while (side && 1 + side + side * side > m) side--;
    else if (layout == HS_STAR_PAIR)
        while (side * (side + 2) > m / 2) side--;
    else
        while (side * (side + 4) > m) side--;
    return side;
}

static double square_of(int64_t x) { return (double)x * (double)x; }

/* The outputs of a rule. */
typedef struct output {
    hs_star_summary *summary;
    int64_t *sides, *columns;
    hs_star_chunk *chunks; /* or NULL, without room */
    hs_star_message *messages;
    int64_t chunk_room, message_room;
} output;

/* ---- columns dealt while the port serves ----------------------------------------------------- */

/* Serves the port to the end, and fills the summary. */
static hs_status run_port(hs__port *port, int32_t order, int64_t length, const int32_t *served,
                          hs_star_summary *summary)
{
    const hs_status status = hs__port_serve(port, order, length, served);
    summary->makespan = port->now;
    summary->chunk_count = port->chunk_count;
    summary->message_count = port->message_count;
    hs__port_close(port);
    return status;
}

static hs_status plan_by_dealing(const hs_star *star, int32_t method, int32_t eager,
                                 const int *cancel, output *out)
{
    const int32_t layout = hs__star_layout(method);
    const int in_turn = method == HS_STAR_HOM || method == HS_STAR_HOMI || method == HS_STAR_ORROML;
    hs__port port;
    const hs_status status = hs__port_open(&port, star, star->p, eager, cancel);
    if (status) return status;
    port.buffers = 2;
    if (layout == HS_STAR_TOLEDO) port.buffers = 1;
    if (layout == HS_STAR_SINGLE) port.buffers = HS_STAR_STREAM_A;
    port.deals_ahead = layout == HS_STAR_PAIR;
    for (int32_t i = 0; i < star->p; i++) {
        const int64_t side = out->sides[i];
        port.states[i].side = side;
        port.states[i].depth = layout == HS_STAR_TOLEDO && side ? side : 1;
    }
    port.columns = out->columns;
    port.chunks = out->chunks;
    port.messages = out->messages;
    port.chunk_room = out->chunk_room;
    port.message_room = out->message_room;
    memset(out->columns, 0, (size_t)star->p * sizeof *out->columns);
    return run_port(&port, in_turn ? HS_STAR_ROUND_ROBIN : HS_STAR_DEMAND, 0, NULL, out->summary);
}

/* ---- homogeneous ----------------------------------------------------------------------------- */

/* Computes the makespan with `count` equal workers served in turn. */
static hs_status estimate_makespan(const hs_star *star, int32_t count, int64_t side,
                                   double link_cost, double cycle_time, int32_t eager,
                                   const int *cancel, double *makespan)
{
    hs__port port;
    hs_star_summary found;
    hs_status status = hs__port_open(&port, star, count, eager, cancel);
    if (status) return status;
    for (int32_t i = 0; i < count; i++)
        port.states[i] = (hs__worker_state){.link_cost = link_cost,
                                            .cycle_time = cycle_time,
                                            .side = side,
                                            .depth = 1,
                                            .chunk = -1};
    status = run_port(&port, HS_STAR_ROUND_ROBIN, 0, NULL, &found);
    *makespan = found.makespan;
    return status;
}

/* Returns the least number of workers with panels that keep the port busy: 2 mu c P >= mu^2 w. */
static int32_t enough_workers(int32_t most, int64_t side, double link_cost, double cycle_time)
{
    const double sending = 2.0 * link_cost;
    const double computing = (double)side * cycle_time;
    const double guess = ceil(computing / sending); /* infinite for a link without cost */
    int32_t count = most;
    if (guess < most) count = guess > 1.0 ? (int32_t)guess : 1;
    while (count > 1 && sending * (count - 1) >= computing) count--;
    while (count < most && sending * count < computing) count++;
    return count;
}

/* Computes a lower bound for all plans on equal workers, from the work and from the port with C
 * both ways. */
static double homogeneous_bound(const hs_star *star, int32_t count, int64_t side, double link_cost,
                                double cycle_time)
{
    const double r = (double)star->r;
    const double s = (double)star->s;
    const double t = (double)star->t;
    const double h = fmin((double)side, r);
    const double v = fmin((double)side, s);
    return fmax(r * s * t * cycle_time / count,
                link_cost * r * s * (2.0 + t * (1.0 / h + 1.0 / v)));
}

static int32_t sort_unique(int32_t p, double *values)
{
    int32_t count = 0;
    qsort(values, (size_t)p, sizeof *values, hs__ascending);
    for (int32_t i = 0; i < p; i++)
        if (i == 0 || values[i] != values[i - 1]) values[count++] = values[i];
    return count;
}

/* Chooses thresholds of memory, link cost and cycle-time (values: [3 p] workspace), and returns the
 * sides of the chosen workers. */
static hs_status choose_equal(const hs_star *star, int improved, int32_t eager, const int *cancel,
                              double *values, int64_t *sides)
{
    const int32_t p = star->p;
    double *memory = values;
    double *links = values + p;
    double *times = values + 2 * (size_t)p;
    double best = INFINITY;
    for (int32_t i = 0; i < p; i++) {
        memory[i] = (double)star->memory[i];
        links[i] = star->link_costs[i];
        times[i] = star->cycle_times[i];
    }
    const int32_t sizes = sort_unique(p, memory);
    const int32_t costs = improved ? sort_unique(p, links) : 1;
    const int32_t speeds = improved ? sort_unique(p, times) : 1;
    memset(sides, 0, (size_t)p * sizeof *sides);
    for (int32_t x = 0; x < sizes; x++) {
        const int64_t side = hs_star_side((int64_t)memory[x], HS_STAR_DOUBLE);
        for (int32_t y = 0; side && y < costs; y++) {
            for (int32_t z = 0; z < speeds; z++) {
                const double most_c = improved ? links[y] : INFINITY;
                const double most_w = improved ? times[z] : INFINITY;
                double slow_c = 0.0;
                double slow_w = 0.0;
                double makespan;
                int32_t fit = 0;
                for (int32_t i = 0; i < p; i++) {
                    if ((double)star->memory[i] < memory[x] || star->link_costs[i] > most_c ||
                        star->cycle_times[i] > most_w)
                        continue;
                    fit++;
                    slow_c = fmax(slow_c, star->link_costs[i]);
                    slow_w = fmax(slow_w, star->cycle_times[i]);
                }
                if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
                if (!fit) continue;
                if (improved) {
                    slow_c = most_c;
                    slow_w = most_w;
                }
                const int32_t count = enough_workers(fit, side, slow_c, slow_w);
                if (homogeneous_bound(star, count, side, slow_c, slow_w) > best * (1.0 + 1e-9))
                    continue;
                const hs_status status =
                    estimate_makespan(star, count, side, slow_c, slow_w, eager, cancel, &makespan);
                if (status == HS_ERROR_UNSUPPORTED || (!status && makespan >= best)) continue;
                if (status) return status;
                best = makespan;
                for (int32_t i = 0, left = count; i < p; i++) {
                    const int fits = (double)star->memory[i] >= memory[x] &&
                                     star->link_costs[i] <= most_c &&
                                     star->cycle_times[i] <= most_w;
                    sides[i] = fits && left-- > 0 ? side : 0;
                }
            }
        }
    }
    return best < INFINITY ? HS_OK : HS_ERROR_UNSUPPORTED;
}

static hs_status select_homogeneous(const hs_star *star, int improved, int32_t eager,
                                    const int *cancel, int64_t *sides)
{
    double *values = malloc(3 * (size_t)star->p * sizeof *values);
    if (!values) return HS_ERROR_MEMORY;
    const hs_status status = choose_equal(star, improved, eager, cancel, values, sides);
    free(values);
    return status;
}

/* ---- incremental selection ------------------------------------------------------------------- */

enum { MIN_MIN = 16 }; /* a variant in addition to the variants of HS_STAR_HET */

typedef struct selection {
    const hs_star *star;
    const int64_t *sides;
    int32_t variant;
    double now, work; /* when the port is free; number of updates assigned */
    double *ready;    /* [p] when the worker has computed all it was sent */
    int64_t *picks;   /* [p] */
    int32_t *served;  /* the worker of each panel */
    int64_t length, room;
    /* of each panel of columns, in the order of completion */
    int32_t *owner;
    int64_t owned, owner_room;
} selection;

static int grow_array(int32_t **array, int64_t length, int64_t *room)
{
    if (length < *room) return 1;
    int32_t *larger = realloc(*array, (size_t)(*room * 2 + 64) * sizeof **array);
    if (!larger) return 0;
    *array = larger;
    *room = *room * 2 + 64;
    return 1;
}

/* Returns when the next panel of worker i would have arrived. */
static double arrival_time(const selection *x, int32_t i, double now, double ready, int first)
{
    double blocks = 2.0 * (double)x->sides[i];
    if (x->variant & HS_STAR_FIRST_C && first) blocks += square_of(x->sides[i]);
    if (x->variant & HS_STAR_SPREAD_C) blocks += 2.0 * square_of(x->sides[i]) / (double)x->star->t;
    return fmax(now + blocks * x->star->link_costs[i], ready);
}

/* Returns the work per time; infinite if it takes no time. */
static double work_rate(const selection *x, double updates, double then)
{
    return x->variant & HS_STAR_LOCAL ? updates / (then - x->now) : (x->work + updates) / then;
}

static int32_t choose_next(const selection *x)
{
    const int32_t p = x->star->p;
    int32_t chosen = -1;
    double best = 0.0;
    for (int32_t i = 0; i < p; i++) {
        if (!x->sides[i]) continue;
        const double updates = square_of(x->sides[i]);
        const double then = arrival_time(x, i, x->now, x->ready[i], !x->picks[i]);
        const double end = then + updates * x->star->cycle_times[i];
        double value = -end;
        if (x->variant != MIN_MIN)
            value = x->variant & HS_STAR_AHEAD ? -1.0 : work_rate(x, updates, then);
        if (x->variant != MIN_MIN && x->variant & HS_STAR_AHEAD)
            for (int32_t j = 0; j < p; j++) {
                if (!x->sides[j]) continue;
                const double second =
                    arrival_time(x, j, then, j == i ? end : x->ready[j], j != i && !x->picks[j]);
                value = fmax(value, work_rate(x, updates + square_of(x->sides[j]), second));
            }
        if (chosen < 0 || value > best) {
            best = value;
            chosen = i;
        }
    }
    return chosen;
}

/* Phase 1: selects the worker of each panel. */
static hs_status select_workers(selection *x, const int *cancel)
{
    const hs_star *star = x->star;
    for (int64_t credited = 0; credited < star->s;) {
        const int32_t i = choose_next(x);
        if (!grow_array(&x->served, x->length, &x->room) ||
            !grow_array(&x->owner, x->owned, &x->owner_room))
            return HS_ERROR_MEMORY;
        x->now = arrival_time(x, i, x->now, x->ready[i], !x->picks[i]);
        x->ready[i] = x->now + square_of(x->sides[i]) * star->cycle_times[i];
        x->work += square_of(x->sides[i]);
        x->served[x->length++] = i;
        if (++x->picks[i] % (star->t * hs__ceil_div(star->r, x->sides[i])) == 0) {
            x->owner[x->owned++] = i;
            credited += x->sides[i];
        }
        if (x->length & 1023) continue;
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        if (x->length > HS_STAR_MESSAGES) return HS_ERROR_UNSUPPORTED;
    }
    return HS_OK;
}

/* Cuts the panels of columns into chunks, left to right in the order of `owner`, each from top to
 * bottom. */
static void cut_panels(const selection *x, hs_star_chunk *chunks, int64_t *columns)
{
    const hs_star *star = x->star;
    memset(columns, 0, (size_t)star->p * sizeof *columns);
    int64_t col = 0;
    for (int64_t k = 0; k < x->owned; k++) {
        const int32_t i = x->owner[k];
        const int64_t side = x->sides[i];
        const int64_t width = hs__min(side, star->s - col);
        for (int64_t row = 0; row < star->r; row += side) {
            const int64_t height = hs__min(side, star->r - row);
            *chunks++ = (hs_star_chunk){.worker = i,
                                        .buffers = 2,
                                        .row = row,
                                        .col = col,
                                        .height = height,
                                        .width = width,
                                        .depth = 1};
        }
        columns[i] += width;
        col += width;
    }
}

/* Phase 2: serves the selected panels and their results. */
static hs_status serve_selected(const selection *x, int32_t eager, const int *cancel, output *out)
{
    const hs_star *star = x->star;
    int64_t count = 0;
    for (int64_t k = 0; k < x->owned; k++) count += hs__ceil_div(star->r, x->sides[x->owner[k]]);
    if (out->chunks && count > out->chunk_room) return HS_ERROR_VALUE;
    hs_star_chunk *chunks = out->chunks ? out->chunks : malloc((size_t)count * sizeof *chunks);
    if (!chunks) return HS_ERROR_MEMORY;
    cut_panels(x, chunks, out->columns);
    hs__port port;
    hs_status status = hs__port_open(&port, star, star->p, eager, cancel);
    if (!status) {
        port.messages = out->messages;
        port.message_room = out->message_room;
        status = hs__port_list(&port, count, chunks);
        if (!status) status = run_port(&port, HS_STAR_PANELS, x->length, x->served, out->summary);
        else hs__port_close(&port);
    }
    if (!out->chunks) free(chunks);
    return status;
}

static hs_status plan_incremental(const hs_star *star, int32_t variant, int32_t eager,
                                  const int *cancel, output *out)
{
    selection x = {.star = star, .sides = out->sides, .variant = variant};
    x.ready = calloc((size_t)star->p, sizeof *x.ready);
    x.picks = calloc((size_t)star->p, sizeof *x.picks);
    hs_status status = x.ready && x.picks ? select_workers(&x, cancel) : HS_ERROR_MEMORY;
    if (!status) status = serve_selected(&x, eager, cancel, out);
    free(x.ready);
    free(x.picks);
    free(x.served);
    free(x.owner);
    return status;
}

/* Tries the eight variants, without chunks and messages; leaves the columns of the best one. */
static hs_status best_of_eight(const hs_star *star, int32_t eager, const int *cancel, output *out)
{
    double variants[8];
    const size_t size = (size_t)star->p * sizeof *out->columns;
    int64_t *columns = malloc(size);
    if (!columns) return HS_ERROR_MEMORY;
    hs_star_summary found;
    hs_star_summary best = {.makespan = INFINITY};
    output silent = {.summary = &found, .sides = out->sides, .columns = columns};
    hs_status status = HS_OK;
    for (int32_t k = 0; k < 8 && !status; k++) {
        found = (hs_star_summary){.variant = k};
        status = plan_incremental(star, k, eager, cancel, &silent);
        if (status) break;
        variants[k] = found.makespan;
        if (found.makespan >= best.makespan) continue;
        best = found;
        memcpy(out->columns, columns, size);
    }
    free(columns);
    if (status) return status;
    memcpy(best.variants, variants, sizeof variants);
    *out->summary = best;
    return HS_OK;
}

/* ---- entry ----------------------------------------------------------------------------------- */

int hs__star_variant_valid(int32_t variant)
{
    return variant >= 0 && variant < 16 &&
           !(variant & HS_STAR_FIRST_C && variant & HS_STAR_SPREAD_C);
}

static int valid_variant(int32_t method, int32_t variant)
{
    return variant == HS_STAR_ALL || (method == HS_STAR_HET && hs__star_variant_valid(variant));
}

int32_t hs__star_layout(int32_t method)
{
    switch (method) {
    case HS_STAR_BMM: return HS_STAR_TOLEDO;
    case HS_STAR_REUSE: return HS_STAR_SINGLE;
    case HS_STAR_OVERLAP: return HS_STAR_PAIR;
    default: return HS_STAR_DOUBLE;
    }
}

/* Plans by a rule for which the sides are known, and the variant. */
static hs_status schedule_rule(const hs_star *star, int32_t method, int32_t variant, int32_t eager,
                               const int *cancel, output *out)
{
    if (method == HS_STAR_OMMOML) return plan_incremental(star, MIN_MIN, eager, cancel, out);
    if (method != HS_STAR_HET) return plan_by_dealing(star, method, eager, cancel, out);
    out->summary->variant = variant;
    return plan_incremental(star, variant, eager, cancel, out);
}

/* Plans by a rule. Variants are tried without chunks and messages, which the best one then has. */
static hs_status run_rule(const hs_star *star, int32_t method, int32_t variant, int32_t eager,
                          const int *cancel, output *out)
{
    hs_status status = HS_OK;
    if (method == HS_STAR_HOM || method == HS_STAR_HOMI)
        status = select_homogeneous(star, method == HS_STAR_HOMI, eager, cancel, out->sides);
    if (status) return status;
    if (method != HS_STAR_HET || variant != HS_STAR_ALL)
        return schedule_rule(star, method, variant, eager, cancel, out);
    status = best_of_eight(star, eager, cancel, out);
    if (status || !out->chunks) return status;
    return plan_incremental(star, out->summary->variant, eager, cancel, out);
}

hs_status hs__star_reschedule(const hs_star *star, const hs_star_decision *decision, int64_t *sides,
                              const int *cancel, int64_t *columns, hs_star_chunk *chunks,
                              hs_star_message *messages)
{
    hs_star_summary found = {0};
    output out = {.summary = &found,
                  .sides = sides,
                  .columns = columns,
                  .chunks = chunks,
                  .messages = messages,
                  .chunk_room = decision->chunk_count,
                  .message_room = decision->message_count};
    const hs_status status =
        schedule_rule(star, decision->method, decision->variant, decision->eager, cancel, &out);
    if (status) return status;
    return found.chunk_count == decision->chunk_count &&
                   found.message_count == decision->message_count
               ? HS_OK
               : HS_ERROR_VALUE;
}

hs_status hs_star_plan(const hs_star *star, int32_t method, int32_t variant, int32_t eager,
                       const int *cancel, hs_star_summary *summary, int64_t *sides,
                       int64_t *columns, hs_star_chunk *chunks, hs_star_message *messages)
{
    if (!summary || !sides || !columns) return HS_ERROR_VALUE;
    if (!hs__star_valid(star) || method < HS_STAR_HOM || method > HS_STAR_OVERLAP ||
        !valid_variant(method, variant) || !chunks != !messages)
        return HS_ERROR_VALUE;
    const int32_t layout = hs__star_layout(method);
    int some = 0;
    for (int32_t i = 0; i < star->p; i++) some |= hs_star_side(star->memory[i], layout) > 0;
    if (!some) return HS_ERROR_INFEASIBLE;

    hs_star_summary found = {0};
    const size_t size = (size_t)star->p * sizeof *sides;
    int64_t *own = malloc(2 * size);
    if (!own) return HS_ERROR_MEMORY;
    output out = {.summary = &found,
                  .sides = own,
                  .columns = own + star->p,
                  .chunks = chunks,
                  .messages = messages,
                  .chunk_room = chunks ? INT64_MAX : 0,
                  .message_room = messages ? INT64_MAX : 0};
    for (int32_t i = 0; i < star->p; i++) own[i] = hs_star_side(star->memory[i], layout);
    const hs_status status = run_rule(star, method, variant, eager, cancel, &out);
    if (!status) {
        *summary = found;
        memcpy(sides, out.sides, size);
        memcpy(columns, out.columns, size);
    }
    free(own);
    return status;
}
