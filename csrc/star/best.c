/* hs_star_best: plans by any method, with their certificates. It tries the search and the rules,
 * limits how long each may take, and keeps a decision: what is needed to write the chunks and the
 * messages of the best plan. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/effort.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "star/star.h"

/* Messages of the first round of a search with a time limit, and the most of any round. */
static const int64_t least_effort = 2000;
static const int64_t most_effort = INT64_C(1000000000000);
static const double most_steps = 4e8; /* of a rule that HS_STAR_BEST tries: about two seconds */
static const hs_star_options default_options = {.method = HS_STAR_BEST};

static bool is_rule(int32_t method) { return method >= HS_STAR_HOM && method <= HS_STAR_OVERLAP; }

int64_t hs_star_least_memory(int32_t method)
{
    switch (method) {
    case HS_STAR_BEST:
    case HS_STAR_SEARCH:
    case HS_STAR_BMM:
    case HS_STAR_REUSE: return 3;
    case HS_STAR_OVERLAP: return 6;
    default: return 5;
    }
}

/* Returns the number of messages of a plan of square chunks for workers with so much memory. It is
 * exact up to 2^53. */
static double square_messages(const hs_star *star, int64_t memory, int32_t layout)
{
    /* in 3 or 4 blocks of memory, one block of each operand */
    const int64_t side = hs__max(hs_star_side(memory, layout), 1);
    const double rows = (double)hs__ceil_div(star->r, side);
    const double columns = (double)hs__ceil_div(star->s, side);
    if (layout == HS_STAR_SINGLE) return columns * (2.0 * rows + (double)star->r * (double)star->t);
    const int64_t deep = layout == HS_STAR_TOLEDO ? side : 1;
    return columns * rows * (2.0 + (double)hs__ceil_div(star->t, deep));
}

/* Returns whether a rule fits into the memory, and can be planned in time if plans have so many
 * messages. */
static bool is_worth_trying(const hs_star *star, int32_t rule, double messages, int64_t memory)
{
    const double p = (double)star->p;
    double steps = 0.0;
    if (rule == HS_STAR_HET) steps = messages * p * p;
    if (rule == HS_STAR_HOMI) steps = messages * p * p * p;
    return steps <= most_steps && memory >= hs_star_least_memory(rule);
}

/* ---- rounds of a search ---------------------------------------------------------------------- */

static hs__rounds first_round(const hs_effort *effort, const hs_star_options *options)
{
    const int64_t given = options->messages ? options->messages : HS_STAR_EFFORT;
    return hs__first_round(effort, given, least_effort, least_effort, most_effort, 4.0);
}

/* ---- methods --------------------------------------------------------------------------------- */

/* The problem, the best plan so far, and room for one more. */
typedef struct planning {
    const hs_star *star;
    const hs_star_options *options;
    const hs_effort *effort;
    const int *cancel;
    hs_star_decision best; /* method HS_STAR_BEST: there is none yet */
    /* [p] of the best plan: sides and columns by a rule, shares by the search */
    int64_t *sides, *columns;
    hs_star_share *shares;
    /* [p] of the plan that is tried */
    int64_t *tried_sides, *tried_columns;
    hs_star_share *tried_shares;
} planning;

static void swap_arrays(int64_t **x, int64_t **y)
{
    int64_t *kept = *x;
    *x = *y;
    *y = kept;
}

static hs_status try_search(planning *x)
{
    const hs_star *star = x->star;
    hs__rounds round = first_round(x->effort, x->options);
    uint64_t seed = hs__effort_seed(x->effort);
    hs_star_decision *best = &x->best;
    do {
        hs_star_decision found = {.method = HS_STAR_SEARCH, .eager = x->options->eager};
        const hs_status status =
            hs_star_search(star, found.eager, seed++, round.work, x->cancel, &found.by_rows,
                           x->tried_shares, &found.order, &found.makespan);
        if (status) /* a longer round than the first has no more messages: this is unlikely */
            return status == HS_ERROR_UNSUPPORTED && best->method ? HS_OK : status;
        if (best->method && found.makespan >= best->makespan) continue;
        hs_star_share *kept = x->shares;
        x->shares = x->tried_shares;
        x->tried_shares = kept;
        *best = found;
    } while (hs__next_round(&round));
    return HS_OK;
}

/* Plans by a rule, and keeps the plan if it is better. */
static hs_status try_rule(planning *x, int32_t rule)
{
    const hs_star_options *options = x->options;
    const int32_t variant = options->single ? options->variant : HS_STAR_ALL;
    hs_star_summary found;
    const hs_status status = hs_star_plan(x->star, rule, variant, options->eager, x->cancel, &found,
                                          x->tried_sides, x->tried_columns, NULL, NULL);
    if (status || (x->best.method && found.makespan >= x->best.makespan)) return status;
    x->best = (hs_star_decision){.method = rule,
                                 .eager = options->eager,
                                 .variant = found.variant,
                                 .chunk_count = found.chunk_count,
                                 .message_count = found.message_count,
                                 .makespan = found.makespan};
    memcpy(x->best.variants, found.variants, sizeof x->best.variants);
    swap_arrays(&x->sides, &x->tried_sides);
    swap_arrays(&x->columns, &x->tried_columns);
    return HS_OK;
}

/* Tries all methods but HS_STAR_EXACT. One whose plans have too many messages is left out. */
static hs_status try_all(planning *x, double messages, int64_t memory)
{
    hs_status status = try_search(x);
    for (int32_t rule = HS_STAR_HOM; rule <= HS_STAR_OVERLAP; rule++) {
        if (status && status != HS_ERROR_UNSUPPORTED) return status;
        if (is_worth_trying(x->star, rule, messages, memory)) status = try_rule(x, rule);
    }
    if (status == HS_ERROR_UNSUPPORTED && x->best.method) return HS_OK;
    return status;
}

/* ---- exact ----------------------------------------------------------------------------------- */

hs_status hs_star_exact_most(const hs_star *star, int64_t *most_chunks, int64_t *most_messages)
{
    if (!most_chunks || !most_messages || !hs__star_valid(star)) return HS_ERROR_VALUE;
    int64_t parts = 0;
    for (int32_t i = 0; i < star->p; i++) {
        const int64_t side = hs_star_side(star->memory[i], HS_STAR_DOUBLE);
        if (side) parts = hs__max(parts, hs__ceil_div(star->r, side));
    }
    if (!parts) return HS_ERROR_INFEASIBLE;
    *most_chunks = star->s * parts;
    if (__builtin_mul_overflow(star->s * parts, star->t + 2, most_messages))
        *most_messages = INT64_MAX;
    return HS_OK;
}

/* Returns whether the plan that was tried is within the scope of hs_star_exact: rules that treat
 * workers as equal may use less memory than they have. */
static bool is_in_scope(const planning *x)
{
    const hs_star *star = x->star;
    for (int32_t i = 0; i < star->p; i++) {
        const int64_t side = hs_star_side(star->memory[i], HS_STAR_DOUBLE);
        if (x->tried_columns[i] && hs__min(x->tried_sides[i], star->r) != hs__min(side, star->r))
            return false;
    }
    return true;
}

/* Finds the best plan by a rule within the scope of hs_star_exact. */
static hs_status try_full_columns(planning *x, double messages, int64_t memory)
{
    for (int32_t rule = HS_STAR_HOM; rule <= HS_STAR_OVERLAP; rule++) {
        if (hs__star_layout(rule) != HS_STAR_DOUBLE ||
            !is_worth_trying(x->star, rule, messages, memory))
            continue;
        for (int32_t eager = 0; eager < 2; eager++) {
            hs_star_summary found;
            const hs_status status =
                hs_star_plan(x->star, rule, HS_STAR_ALL, eager, x->cancel, &found, x->tried_sides,
                             x->tried_columns, NULL, NULL);
            if (status) return status;
            if (!is_in_scope(x) || (x->best.method && found.makespan >= x->best.makespan)) continue;
            x->best = (hs_star_decision){.method = rule,
                                         .eager = eager,
                                         .variant = found.variant,
                                         .chunk_count = found.chunk_count,
                                         .message_count = found.message_count,
                                         .makespan = found.makespan};
            swap_arrays(&x->sides, &x->tried_sides);
        }
    }
    return HS_OK;
}

/* Writes the chunks of the best plan by a rule, and the worker of each of its messages. */
static hs_status write_served(planning *x, hs_star_chunk *chunks, int32_t *served)
{
    const int64_t count = x->best.message_count;
    hs_star_message *messages = malloc((size_t)count * sizeof *messages);
    if (!messages) return HS_ERROR_MEMORY;
    const hs_status status = hs__star_reschedule(x->star, &x->best, x->sides, x->cancel,
                                                 x->tried_columns, chunks, messages);
    for (int64_t k = 0; k < count && !status; k++) served[k] = messages[k].worker;
    free(messages);
    return status;
}

/* Finds the least makespan. The best plan by a rule limits the search, and is the plan if no better
 * one is found. */
static hs_status plan_exactly(planning *x, double messages, int64_t memory, hs_star_chunk *chunks,
                              int32_t *served)
{
    const hs_star *star = x->star;
    int64_t most_chunks, most_messages;
    hs_status status = hs_star_exact_most(star, &most_chunks, &most_messages);
    if (!status && most_messages > HS_STAR_EXACT_MESSAGES) status = HS_ERROR_UNSUPPORTED;
    if (!status) status = try_full_columns(x, messages, memory);
    if (status) return status;
    hs_star_decision found = {.method = HS_STAR_EXACT};
    hs__rounds round = first_round(x->effort, x->options);
    do {
        status = hs_star_exact(star, round.work, x->best.makespan, x->cancel, &found.chunk_count,
                               chunks, &found.message_count, served, &found.makespan);
    } while (status == HS_ERROR_UNSUPPORTED && hs__next_round(&round));
    if (status == HS_ERROR_INFEASIBLE) {
        found = x->best;
        found.method = HS_STAR_EXACT;
        found.eager = found.variant = 0;
        status = write_served(x, chunks, served);
    }
    if (!status) /* hs_star_exact rounds its makespan */
        status =
            hs_star_simulate(star, found.chunk_count, chunks, HS_STAR_LISTED, found.message_count,
                             served, 0, x->cancel, NULL, &found.message_count, &found.makespan);
    x->best = found;
    return status;
}

/* ---- decision -------------------------------------------------------------------------------- */

/* Returns the number of messages of a share's chunks. r: rows of C, in the orientation of the
 * share. */
static int64_t share_messages(int64_t r, int64_t t, const hs_star_share *x)
{
    const int64_t chunks = x->rows * x->panels;
    if (!x->columns) return 0;
    if (x->buffers == HS_STAR_STREAM_A) return 2 * chunks + x->panels * r * t;
    if (x->held == HS_STAR_HOLD_C) return (2 + t) * chunks;
    return chunks + 2 * (x->held == HS_STAR_HOLD_A ? x->rows * x->columns : x->panels * r);
}

/* Takes the shares of the search: updates, and the numbers of chunks and messages. */
static void take_shares(planning *x, hs_star_part *parts)
{
    const hs_star *star = x->star;
    const int64_t lines = x->best.by_rows ? star->s : star->r;
    for (int32_t i = 0; i < star->p; i++) {
        const hs_star_share *own = &x->shares[i];
        parts[i].share = *own;
        parts[i].updates = own->columns * lines * star->t;
        x->best.chunk_count += own->columns ? own->rows * own->panels : 0;
        x->best.message_count += share_messages(lines, star->t, own);
    }
}

/* Sets the columns from the updates. */
static hs_status round_columns(const hs_star *star, hs_star_part *parts)
{
    double *lacks = malloc((size_t)star->p * sizeof *lacks); /* of a whole column, in blocks */
    int32_t *order = malloc((size_t)star->p * sizeof *order);
    int64_t left = star->s;
    for (int32_t i = 0; i < star->p && lacks; i++) {
        const int64_t blocks = parts[i].updates / star->t;
        parts[i].columns = blocks / star->r;
        lacks[i] = (double)(star->r - blocks % star->r);
        left -= parts[i].columns;
    }
    const hs_status status = lacks && order ? hs__sort(star->p, lacks, order) : HS_ERROR_MEMORY;
    for (int64_t k = 0; k < left && !status; k++) parts[order[k]].columns++;
    free(lacks);
    free(order);
    return status;
}

static hs_status fill_parts(planning *x, const hs_star_chunk *chunks, hs_star_part *parts)
{
    const hs_star *star = x->star;
    const int32_t method = x->best.method;
    for (int32_t i = 0; i < star->p; i++)
        parts[i] = (hs_star_part){
            .side = is_rule(method) ? x->sides[i]
                                    : hs_star_side(star->memory[i], hs__star_layout(method))};
    if (is_rule(method)) {
        for (int32_t i = 0; i < star->p; i++) {
            parts[i].columns = x->columns[i];
            parts[i].updates = x->columns[i] * star->r * star->t;
        }
        return HS_OK;
    }
    if (method == HS_STAR_SEARCH) take_shares(x, parts);
    for (int64_t k = 0; k < x->best.chunk_count && method == HS_STAR_EXACT; k++)
        parts[chunks[k].worker].updates += chunks[k].height * chunks[k].width * star->t;
    return round_columns(star, parts);
}

/* Plans by the method of the options. */
static hs_status plan_any(planning *x, hs_star_chunk *chunks, int32_t *served)
{
    const hs_star *star = x->star;
    const int32_t method = x->options->method;
    const int32_t layout = hs__star_layout(method);
    int64_t largest = 0;
    int64_t smallest = INT64_MAX; /* of the workers that can hold a chunk */
    for (int32_t i = 0; i < star->p; i++) {
        const int64_t own = star->memory[i];
        largest = hs__max(largest, own);
        if (own >= hs_star_least_memory(method)) smallest = hs__min(smallest, own);
    }
    if (smallest == INT64_MAX) return HS_ERROR_INFEASIBLE;
    int64_t updates;
    if (__builtin_mul_overflow(star->r * star->s, star->t, &updates)) return HS_ERROR_VALUE;
    const double messages = square_messages(star, largest, layout);
    if (messages > HS_STAR_MESSAGES) return HS_ERROR_UNSUPPORTED;
    if (method == HS_STAR_SEARCH) return try_search(x);
    if (method == HS_STAR_EXACT) return plan_exactly(x, messages, largest, chunks, served);
    if (method != HS_STAR_BEST) return try_rule(x, method);
    return try_all(x, square_messages(star, smallest, layout), largest);
}

/* Plans, and fills the decision, the parts and the certificate. */
static hs_status decide(planning *x, hs_star_part *parts, hs_star_chunk *chunks, int32_t *served,
                        hs_certificate *certificate)
{
    const hs_star *star = x->star;
    hs_star_decision *best = &x->best;
    hs_status status = plan_any(x, chunks, served);
    if (!status) status = fill_parts(x, chunks, parts);
    if (!status)
        status = hs_star_bounds(star, hs__star_layout(best->method), x->cancel, best->bounds);
    if (status) return status;
    const double bound = hs__star_bound(best->bounds);
    status = hs_certificate_of("makespan", HS_MINIMISED, best->makespan, bound, certificate);
    if (best->method == HS_STAR_EXACT)
        certificate->scope = "panels of full columns, one chunk at a time";
    return status;
}

static bool are_valid_options(const hs_star_options *x)
{
    if (x->method < HS_STAR_BEST || x->method > HS_STAR_EXACT || x->messages < 0) return false;
    if (x->eager < 0 || x->eager > (x->method != HS_STAR_EXACT)) return false;
    if (x->single < 0 || x->single > (x->method == HS_STAR_HET)) return false;
    return x->single || x->variant == 0; /* hs_star_plan checks a variant */
}

hs_status hs_star_best(const hs_star *star, const hs_star_options *options, const hs_effort *effort,
                       const int *cancel, hs_star_decision *decision, hs_star_part *parts,
                       hs_star_chunk *chunks, int32_t *served, hs_certificate *certificate)
{
    if (!decision || !parts || !certificate || !hs__star_valid(star)) return HS_ERROR_VALUE;
    if (!options) options = &default_options;
    if (!are_valid_options(options) || !hs__effort_valid(effort)) return HS_ERROR_VALUE;
    if (options->method == HS_STAR_EXACT && (!chunks || !served)) return HS_ERROR_VALUE;
    const size_t p = (size_t)star->p;
    hs_star_part *own = malloc(p * (sizeof *own + 2 * sizeof(hs_star_share) + 4 * sizeof(int64_t)));
    if (!own) return HS_ERROR_MEMORY;
    hs_star_share *shares = (hs_star_share *)(own + p);
    int64_t *numbers = (int64_t *)(shares + 2 * p);
    planning x = {.star = star,
                  .options = options,
                  .effort = effort,
                  .cancel = cancel,
                  .sides = numbers,
                  .columns = numbers + p,
                  .shares = shares,
                  .tried_sides = numbers + 2 * p,
                  .tried_columns = numbers + 3 * p,
                  .tried_shares = shares + p};
    hs_certificate proof;
    const hs_status status = decide(&x, own, chunks, served, &proof);
    if (!status) {
        *decision = x.best;
        *certificate = proof;
        memcpy(parts, own, p * sizeof *parts);
    }
    free(own);
    return status;
}

/* ---- chunks and messages --------------------------------------------------------------------- */

/* Returns whether the sides are those that a rule may use. */
static bool are_valid_sides(const hs_star *star, int32_t method, const hs_star_part *parts)
{
    bool some = false;
    for (int32_t i = 0; i < star->p; i++) {
        const int64_t most = hs_star_side(star->memory[i], hs__star_layout(method));
        if (parts[i].side < 0 || parts[i].side > most) return false;
        some = some || parts[i].side > 0;
    }
    return some;
}

static hs_status write_rule(const hs_star *star, const hs_star_decision *decision,
                            const hs_star_part *parts, const int *cancel, hs_star_chunk *chunks,
                            hs_star_message *messages)
{
    if (!are_valid_sides(star, decision->method, parts)) return HS_ERROR_VALUE;
    int64_t *sides = malloc(2 * (size_t)star->p * sizeof *sides);
    if (!sides) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < star->p; i++) sides[i] = parts[i].side;
    const hs_status status =
        hs__star_reschedule(star, decision, sides, cancel, sides + star->p, chunks, messages);
    free(sides);
    return status;
}

/* Cuts the shares into as many chunks as the decision says. */
static hs_status cut_parts(const hs_star *star, const hs_star_decision *decision,
                           const hs_star_part *parts, hs_star_chunk *chunks)
{
    hs_star_share *shares = malloc((size_t)star->p * sizeof *shares);
    if (!shares) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < star->p; i++) shares[i] = parts[i].share;
    int64_t count;
    hs_status status = hs_star_cut(star, decision->by_rows, shares, &count, NULL);
    if (!status && count != decision->chunk_count) status = HS_ERROR_VALUE;
    if (!status) status = hs_star_cut(star, decision->by_rows, shares, &count, chunks);
    free(shares);
    return status;
}

hs_status hs_star_write(const hs_star *star, const hs_star_decision *decision,
                        const hs_star_part *parts, const int32_t *served, const int *cancel,
                        hs_star_chunk *chunks, hs_star_message *messages)
{
    if (!decision || !parts || !chunks || !messages || !hs__star_valid(star)) return HS_ERROR_VALUE;
    const int32_t method = decision->method;
    if (decision->chunk_count < 1 || decision->message_count < 1 || decision->eager < 0 ||
        decision->eager > 1)
        return HS_ERROR_VALUE;
    if (method == HS_STAR_HET && !hs__star_variant_valid(decision->variant)) return HS_ERROR_VALUE;
    if (is_rule(method)) return write_rule(star, decision, parts, cancel, chunks, messages);
    if (method != HS_STAR_SEARCH && (method != HS_STAR_EXACT || !served)) return HS_ERROR_VALUE;
    const bool exact = method == HS_STAR_EXACT;
    hs_status status = exact ? HS_OK : cut_parts(star, decision, parts, chunks);
    int64_t count = decision->message_count;
    if (!status) status = hs_star_message_count(star->t, decision->chunk_count, chunks, &count);
    if (!status && count != decision->message_count) status = HS_ERROR_VALUE;
    if (status) return status;
    double makespan;
    return hs_star_simulate(star, decision->chunk_count, chunks,
                            exact ? HS_STAR_LISTED : decision->order, exact ? count : 0, served,
                            decision->eager, cancel, messages, &count, &makespan);
}

/* ---- many stars ------------------------------------------------------------------------------ */

/* The arrays that each row needs. */
typedef struct row_arrays {
    hs_star_part *parts;
    hs_star_chunk *chunks; /* of HS_STAR_EXACT, [chunk_room] */
    int32_t *served;       /* of HS_STAR_EXACT, [message_room] */
    int64_t chunk_room, message_room;
} row_arrays;

/* Makes room for the chunks and messages of an exact plan. Stars for which there is none have their
 * error from hs_star_best. */
static hs_status make_room(const hs_star *star, row_arrays *x)
{
    int64_t chunks, messages;
    hs_status status = hs_star_exact_most(star, &chunks, &messages);
    if (status == HS_ERROR_INFEASIBLE || (!status && messages > HS_STAR_EXACT_MESSAGES))
        chunks = messages = 1;
    else if (status) return status;
    if (chunks <= x->chunk_room && messages <= x->message_room) return HS_OK;
    free(x->chunks);
    free(x->served);
    x->chunk_room = chunks;
    x->message_room = messages;
    x->chunks = malloc((size_t)chunks * sizeof *x->chunks);
    x->served = malloc((size_t)messages * sizeof *x->served);
    if (x->chunks && x->served) return HS_OK;
    x->chunk_room = x->message_room = 0;
    return HS_ERROR_MEMORY;
}

hs_status hs_star_batch(int64_t rows, const hs_star *stars, const hs_star_options *options,
                        const hs_effort *effort, const int *cancel, int32_t *methods,
                        double *makespans, double *bounds, int32_t *optimal, int64_t *columns)
{
    if (rows < 0 || !stars) return HS_ERROR_VALUE;
    if (rows && (!methods || !makespans || !bounds || !optimal || !columns)) return HS_ERROR_VALUE;
    const int32_t p = stars->p;
    if (p < 1 || (rows && (!stars->cycle_times || !stars->link_costs || !stars->memory)))
        return HS_ERROR_VALUE;
    row_arrays x = {.parts = malloc((size_t)p * sizeof *x.parts)};
    hs_status status = hs__check_memory(x.parts);
    for (int64_t row = 0; row < rows && !status; row++) {
        const int64_t at = row * p;
        hs_star star = *stars;
        star.cycle_times += at;
        star.link_costs += at;
        star.memory += at;
        hs_star_decision found;
        hs_certificate proof;
        if (options && options->method == HS_STAR_EXACT) status = make_room(&star, &x);
        if (!status)
            status = hs_star_best(&star, options, effort, cancel, &found, x.parts, x.chunks,
                                  x.served, &proof);
        if (status) break;
        methods[row] = found.method;
        makespans[row] = proof.value;
        bounds[row] = proof.bound;
        optimal[row] = proof.optimal;
        for (int32_t i = 0; i < p; i++) columns[at + i] = x.parts[i].columns;
    }
    free(x.parts);
    free(x.chunks);
    free(x.served);
    return status;
}
