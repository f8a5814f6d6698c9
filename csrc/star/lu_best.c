/* hs_star_lu_best: plans LU on a star. A plan is a width, and for each step the columns of the
 * master and a product. Widths and columns are compared by plans that are made quickly, or by short
 * searches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/effort.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "star/lu.h"
#include "star/star.h"

enum {
    FEW = 16,          /* all widths up to this are tried, then a geometric sequence of widths */
    LARGER = 63,       /* length of the sequence */
    PARTS = 4,         /* n / 2 .. n / 4, and n */
    COMPARED = 3,      /* widths, the best with quick products, that are compared with searches */
    SEARCHED = 100000, /* messages that the search of a product may try at least */
    ALL_SHARES = 12,   /* up to this number of shares of the master, all are tried */
    EVEN_SHARES = 4,   /* otherwise so many that should be even; half of them before searches */
    NEAR_SHARES = 8,   /* and so many beside the best of these */
    SEARCHES = 3,      /* for the product of a step, with different shares of the master */
    MOST_WIDTHS = FEW + LARGER + PARTS
};

/* The rules by which products are planned quickly. */
typedef struct quick_rules {
    int32_t count, rules[2];
} quick_rules;

typedef struct planning {
    const hs_star_lu *lu;
    const hs_star_options *options;
    const hs_effort *effort;
    const int *cancel;
    quick_rules quick;
    int64_t *memory;     /* [p] of the star of a product */
    int64_t *numbers;    /* [2 p] workspace */
    hs_star_part *parts; /* [p] of a product that is tried */
    double end;          /* of all searches, by hs_clock */
} planning;

/* ---- the master's share of a step ------------------------------------------------------------ */

static bool is_quick(int32_t method)
{
    return method >= HS_STAR_ORROML && method <= HS_STAR_OVERLAP;
}

static quick_rules choose_rules(const hs_star_lu *lu, int32_t method)
{
    const int32_t all[] = {is_quick(method) ? method : HS_STAR_ODDOML, HS_STAR_REUSE};
    int64_t largest = 0;
    for (int32_t i = 0; i < lu->p; i++) {
        const int64_t own = lu->memory[i];
        largest = hs__max(largest, own == HS_STAR_UNLIMITED ? INT64_MAX : own);
    }
    quick_rules found = {0};
    for (int k = 0; k < (is_quick(method) ? 1 : 2); k++)
        if (largest >= hs_star_least_memory(all[k])) found.rules[found.count++] = all[k];
    return found;
}

/* The columns of the rest that the master updates itself, and the time of the product of the
 * others. */
typedef struct share {
    int64_t own;
    double product;
    double wait; /* from the end of a solve until the next one can begin */
} share;

/* A step of a plan, for which shares are compared. */
typedef struct step {
    int64_t width, k, rest;
    double column, factor; /* the master's times for one column, and for the next panel */
} step;

static step step_of(const hs_star_lu *lu, int64_t width, int64_t k)
{
    return (step){.width = width,
                  .k = k,
                  .rest = hs__star_lu_rest(lu, width, k),
                  .column = hs__star_lu_times_of(lu, width, k).column,
                  .factor = hs__star_lu_times_of(lu, width, k + 1).factor};
}

static share share_of(const step *at, int64_t own, double product)
{
    const double updated = (double)own * at->column;
    return (share){.own = own,
                   .product = product,
                   .wait = own ? fmax(updated + at->factor, product) : product + at->factor};
}

/* Tries a share with quick products; its time is infinite if no worker can hold a chunk.
 * HS_ERROR_UNSUPPORTED if the product has too many messages. */
static hs_status try_share(const planning *x, const step *at, int64_t own, share *tried)
{
    const hs_star star = hs__star_lu_product(x->lu, at->width, at->k, own, x->memory);
    double least = INFINITY;
    bool is_long = false;
    for (int32_t rule = 0; rule < x->quick.count; rule++) {
        hs_star_summary found;
        const hs_status status =
            hs_star_plan(&star, x->quick.rules[rule], HS_STAR_ALL, x->options->eager, x->cancel,
                         &found, x->numbers, x->numbers + x->lu->p, NULL, NULL);
        is_long = is_long || status == HS_ERROR_UNSUPPORTED;
        if (status == HS_ERROR_UNSUPPORTED || status == HS_ERROR_INFEASIBLE) continue;
        if (status) return status;
        least = fmin(least, found.makespan);
    }
    *tried = share_of(at, own, least);
    return is_long && isinf(least) ? HS_ERROR_UNSUPPORTED : HS_OK;
}

/* Keeps the better one of the best share and that of `own` columns. */
static hs_status better_share(const planning *x, const step *at, int64_t own, share *tried,
                              share *best)
{
    const hs_status status = try_share(x, at, own, tried);
    if (status == HS_OK && tried->wait < best->wait) *best = *tried;
    return status;
}

/* Returns the number of columns with which master and workers would end together, if the workers
 * need as long for each column as in a trial. */
static int64_t even_share(const step *at, const share *tried)
{
    const int64_t next = hs__min(at->width, at->rest);
    const double pace = tried->product / (double)(at->rest - tried->own);
    const double even = ((double)at->rest * pace - at->factor) / (at->column + pace);
    if (even >= (double)at->rest) return at->rest - 1;
    return even > (double)next ? (int64_t)even : next;
}

/* Chooses the master's share of a step that leaves some columns to the workers: the best of all if
 * they are few. Otherwise each trial says which share is even. Unless searches follow, those beside
 * the best one are then tried: fewer columns if the workers would wait for the master, else more.
 * Its time is infinite if no worker can hold a chunk. */
static hs_status choose_share(const planning *x, const step *at, share *best)
{
    const int64_t next = hs__min(at->width, at->rest);
    share tried;
    *best = (share){.product = INFINITY, .wait = INFINITY};
    hs_status status = better_share(x, at, 0, &tried, best);
    if (status || isinf(tried.product) || at->rest == next) return status;
    if (at->rest - next <= ALL_SHARES) {
        for (int64_t own = next; own < at->rest && !status; own++)
            status = better_share(x, at, own, &tried, best);
        return status;
    }
    const bool is_final = is_quick(x->options->method);
    for (int k = 0; k < (is_final ? EVEN_SHARES : EVEN_SHARES / 2) && !status; k++) {
        const int64_t own = even_share(at, &tried);
        if (own == tried.own) break;
        status = better_share(x, at, own, &tried, best);
    }
    const share even = *best;
    const int direction = even.product < even.wait ? -1 : 1;
    for (int64_t k = 1; k <= NEAR_SHARES && !status && is_final && even.own; k++) {
        const int64_t own = even.own + direction * k;
        if (own < next || own >= at->rest) break;
        status = better_share(x, at, own, &tried, best);
    }
    return status;
}

/* ---- plans of a width ------------------------------------------------------------------------ */

/* The plan of a width. */
typedef struct candidate {
    int64_t width;
    double makespan;
    int64_t *own;               /* [most] */
    hs_star_decision *products; /* [most] */
    hs_star_part *parts;        /* [most * p] */
} candidate;

static double area_of(const planning *x, int64_t width, int64_t k)
{
    const double side = (double)hs__star_lu_rest(x->lu, width, k);
    return side * side;
}

/* Plans the product of a step for a share of the master.
 *   seconds, messages  of the search */
static hs_status plan_product(const planning *x, const step *at, int64_t own, double seconds,
                              int64_t messages, hs_star_decision *product, hs_star_part *parts)
{
    hs_star_options options = *x->options;
    hs_certificate proof;
    const hs_effort effort = {.seed = hs__effort_seed(x->effort) + (uint64_t)at->k,
                              .timed = hs__effort_timed(x->effort),
                              .seconds = seconds};
    const hs_star star = hs__star_lu_product(x->lu, at->width, at->k, own, x->memory);
    options.messages = hs__max(SEARCHED, messages);
    return hs_star_best(&star, &options, &effort, x->cancel, product, parts, NULL, NULL, &proof);
}

/* The best plan of a step that was found. */
typedef struct step_plan {
    share best;
    hs_star_decision *product;
    hs_star_part *parts; /* [p] */
} step_plan;

/* Searches a product for a share of the master, and keeps it if it is the best. */
static hs_status search_share(const planning *x, const step *at, int64_t own, double seconds,
                              int64_t messages, share *tried, step_plan *out)
{
    hs_star_decision found;
    const hs_status status = plan_product(x, at, own, seconds, messages, &found, x->parts);
    if (status) return status;
    *tried = share_of(at, own, found.makespan);
    if (tried->wait >= out->best.wait) return HS_OK;
    out->best = *tried;
    *out->product = found;
    memcpy(out->parts, x->parts, (size_t)x->lu->p * sizeof *out->parts);
    return HS_OK;
}

/* Finds whether a step could be better without columns of the master. */
static hs_status may_share_nothing(const planning *x, const step *at, double wait, bool *may)
{
    const hs_star star = hs__star_lu_product(x->lu, at->width, at->k, 0, x->memory);
    double bounds[HS_STAR_BOUNDS];
    const hs_status status = hs_star_bounds(&star, HS_STAR_DOUBLE, x->cancel, bounds);
    if (status == HS_OK) *may = hs__star_bound(bounds) + at->factor < wait;
    return status;
}

/* Plans a step. The share of the master that is best with quick products is only a start for
 * searches: each of them says which share is even. The master does all updates if that is best, or
 * if no worker can hold a chunk.
 *   end, messages  of all searches of the step */
static hs_status plan_step(const planning *x, const step *at, double end, int64_t messages,
                           step_plan *out)
{
    const bool is_final = is_quick(x->options->method);
    share tried;
    bool tries_none = false; /* no columns of the master */
    hs_status status = choose_share(x, at, &tried);
    int64_t own = isinf(tried.wait) ? at->rest : tried.own;
    out->best = share_of(at, at->rest, 0.0);
    *out->product = (hs_star_decision){0};
    memset(out->parts, 0, (size_t)x->lu->p * sizeof *out->parts);
    for (int k = 0; k < SEARCHES && !status && own < at->rest; k++) {
        const double seconds = fmax(end - hs_clock(), 0.0) / (SEARCHES - k);
        status = search_share(x, at, own, seconds, messages / SEARCHES, &tried, out);
        tries_none = tries_none || own == 0;
        /* no other shares, or no time */
        if (status || is_final || at->rest <= at->width || hs_clock() >= end) break;
        own = even_share(at, &tried);
        if (own == tried.own) break;
    }
    if (!status && !is_final && own < at->rest && !tries_none && hs_clock() < end) {
        status = may_share_nothing(x, at, out->best.wait, &tries_none);
        if (!status && tries_none)
            status = search_share(x, at, 0, fmax(end - hs_clock(), 0.0), messages / SEARCHES,
                                  &tried, out);
    }
    return status == HS_ERROR_INFEASIBLE ? HS_OK : status;
}

/* Plans all steps of a width. end: when all of its searches must have ended, if there is a time
 * limit; messages: of all searches together. */
static hs_status plan_width(const planning *x, int64_t width, double end, int64_t messages,
                            candidate *out)
{
    const hs_star_lu *lu = x->lu;
    const int64_t count = hs__star_lu_count(lu, width);
    double later = 0.0; /* area of this product and of those after it, rounded */
    for (int64_t k = count; k-- > 0;) later += area_of(x, width, k);
    const double all = later;
    hs_star_lu_panel panel = {0};
    share before = {0};
    out->width = width;
    for (int64_t k = 0; k < count; k++) {
        const step at = step_of(lu, width, k);
        const double area = area_of(x, width, k);
        const double now = hs_clock();
        const double until = now + fmax(end - now, 0.0) * (area / fmax(later, area));
        const double part = fmin((double)messages * area / all, 0x1p62);
        step_plan found = {.product = &out->products[k], .parts = out->parts + k * lu->p};
        const hs_status status = plan_step(x, &at, until, (int64_t)part, &found);
        if (status) return status;
        const share own = found.best;
        panel = hs__star_lu_next(lu, width, k, own.own, &panel, before.own, before.product);
        before = own;
        out->own[k] = own.own;
        later -= area;
    }
    panel = hs__star_lu_next(lu, width, count, 0, &panel, before.own, before.product);
    out->makespan = panel.end;
    return HS_OK;
}

/* ---- widths ---------------------------------------------------------------------------------- */

/* Adds a width unless it is listed; ascending. */
static void add_width(int64_t width, int64_t *widths, int32_t *count)
{
    int32_t at = *count;
    for (int32_t k = 0; k < *count; k++)
        if (widths[k] == width) return;
    for (; at && widths[at - 1] > width; at--) widths[at] = widths[at - 1];
    widths[at] = width;
    ++*count;
}

/* Lists the widths to be compared with quick products. */
static int32_t list_widths(int64_t n, int64_t widths[MOST_WIDTHS])
{
    int32_t count = 0;
    double larger = FEW;
    for (int64_t width = 1; width <= hs__min(n, FEW); width++)
        if (n <= width * HS_STAR_LU_STEPS) add_width(width, widths, &count);
    for (int k = 1; k <= LARGER; k++) {
        larger = FEW * pow(1.25, k);
        const int64_t width = (int64_t)larger;
        if (width <= n && n <= width * HS_STAR_LU_STEPS) add_width(width, widths, &count);
    }
    for (int64_t part = 1; part <= PARTS; part++)
        if (n <= hs__ceil_div(n, part) * HS_STAR_LU_STEPS)
            add_width(hs__ceil_div(n, part), widths, &count);
    return count;
}

/* Computes the makespan of LU with quick products; infinite if a product has too many messages. */
static hs_status end_quickly(const planning *x, int64_t width, double *makespan)
{
    const int64_t count = hs__star_lu_count(x->lu, width);
    hs_star_lu_panel panel = {0};
    share before = {0};
    *makespan = INFINITY;
    for (int64_t k = 0; k < count; k++) {
        const step at = step_of(x->lu, width, k);
        const share whole = share_of(&at, at.rest, 0.0);
        share own;
        const hs_status status = choose_share(x, &at, &own);
        if (status) return status == HS_ERROR_UNSUPPORTED ? HS_OK : status;
        if (whole.wait <= own.wait) own = whole;
        panel = hs__star_lu_next(x->lu, width, k, own.own, &panel, before.own, before.product);
        before = own;
    }
    *makespan = hs__star_lu_next(x->lu, width, count, 0, &panel, before.own, before.product).end;
    return HS_OK;
}

/* Lists the widths that are worth planning in full, in their order; at most MOST_WIDTHS. It is n
 * alone if no worker can hold a chunk. */
static hs_status choose_widths(const planning *x, int64_t *chosen, int32_t *count)
{
    const int64_t n = x->lu->n;
    int64_t widths[MOST_WIDTHS];
    double ends[MOST_WIDTHS];
    int32_t order[MOST_WIDTHS];
    *count = 0;
    if (!x->quick.count) {
        chosen[(*count)++] = n;
        return HS_OK;
    }
    const int32_t all = list_widths(n, widths);
    hs_status status = HS_OK;
    for (int32_t k = 0; k < all && !status; k++) status = end_quickly(x, widths[k], &ends[k]);
    if (!status) status = hs__sort(all, ends, order);
    if (status) return status;
    for (int32_t k = 0; k < (is_quick(x->options->method) ? 1 : COMPARED) && k < all; k++)
        if (ends[order[k]] < INFINITY) chosen[(*count)++] = widths[order[k]];
    for (int64_t part = 2; part <= PARTS && !is_quick(x->options->method); part++)
        for (int32_t k = 0; k < all; k++) {
            bool is_new = widths[k] == hs__ceil_div(n, part) && ends[k] < INFINITY;
            for (int32_t j = 0; j < *count; j++) is_new = is_new && chosen[j] != widths[k];
            if (is_new) chosen[(*count)++] = widths[k];
        }
    bool has_n = false;
    for (int32_t j = 0; j < *count; j++) has_n = has_n || chosen[j] == n;
    if (!*count || (!has_n && !is_quick(x->options->method))) chosen[(*count)++] = n;
    return HS_OK;
}

/* ---- entry ----------------------------------------------------------------------------------- */

static void swap_candidates(candidate *x, candidate *y)
{
    const candidate kept = *x;
    *x = *y;
    *y = kept;
}

/* Compares the widths by short searches, and plans the best one in full. A short search may have
 * been the luckier one. */
static hs_status plan_widths(const planning *x, int32_t count, const int64_t *widths,
                             candidate *best, candidate *tried)
{
    const double start = hs_clock();
    const int64_t given = x->options->messages ? x->options->messages : HS_STAR_EFFORT;
    best->makespan = INFINITY;
    best->width = widths[0];
    for (int32_t k = 0; k < count && count > 1; k++) {
        const double now = hs_clock();
        const double until = now + fmax((start + x->end) / 2 - now, 0.0) / (count - k);
        const hs_status status = plan_width(x, widths[k], until, given / count, tried);
        if (status) return status;
        if (tried->makespan < best->makespan) swap_candidates(best, tried);
    }
    const hs_status status = plan_width(x, best->width, x->end, given, tried);
    if (!status && tried->makespan <= best->makespan) swap_candidates(best, tried);
    return status;
}

hs_status hs_star_lu_best(const hs_star_lu *lu, const hs_star_options *options,
                          const hs_effort *effort, const int *cancel, int64_t *width, int64_t *own,
                          hs_star_decision *products, hs_star_part *parts, double *makespan,
                          hs_certificate *certificate)
{
    static const hs_star_options usual = {.method = HS_STAR_BEST};
    if (!width || !makespan || !certificate || !hs__star_lu_valid(lu) || !hs__effort_valid(effort))
        return HS_ERROR_VALUE;
    if (!options) options = &usual;
    if (options->method < HS_STAR_BEST || options->method >= HS_STAR_EXACT ||
        options->messages < 0 || options->eager < 0 || options->eager > 1)
        return HS_ERROR_VALUE;
    const int64_t most =
        lu->width ? hs__star_lu_count(lu, lu->width) : hs__min(lu->n, HS_STAR_LU_STEPS) - 1;
    if (most && (!own || !products || !parts)) return HS_ERROR_VALUE;

    const size_t p = (size_t)lu->p;
    const size_t room = (size_t)hs__max(most, 1);
    planning x = {.lu = lu,
                  .options = options,
                  .effort = effort,
                  .cancel = cancel,
                  .quick = choose_rules(lu, options->method),
                  .memory = malloc(p * sizeof *x.memory),
                  .numbers = malloc(2 * p * sizeof *x.numbers),
                  .parts = malloc(p * sizeof *x.parts),
                  .end = hs__effort_end(effort)};
    int64_t *tried_own = malloc(room * sizeof *tried_own);
    hs_star_decision *tried_products = malloc(room * sizeof *tried_products);
    hs_star_part *tried_parts = malloc(room * p * sizeof *tried_parts);
    candidate best = {.own = own, .products = products, .parts = parts};
    candidate tried = {.own = tried_own, .products = tried_products, .parts = tried_parts};
    int64_t widths[MOST_WIDTHS] = {lu->width};
    int32_t count = 1;
    hs_status status = hs__check_memory(x.memory && x.numbers && x.parts && tried_own &&
                                        tried_products && tried_parts);
    if (!status && !lu->width) status = choose_widths(&x, widths, &count);
    if (!status) status = plan_widths(&x, count, widths, &best, &tried);
    if (!status) status = hs_star_lu_certificate(lu, best.makespan, cancel, certificate);
    if (!status) {
        const size_t length = (size_t)hs__star_lu_count(lu, best.width);
        *width = best.width;
        *makespan = best.makespan;
        if (best.products != products && length) {
            memcpy(own, best.own, length * sizeof *own);
            memcpy(products, best.products, length * sizeof *products);
            memcpy(parts, best.parts, length * p * sizeof *parts);
        }
    }
    free(x.memory);
    free(x.numbers);
    free(x.parts);
    free(tried_own);
    free(tried_products);
    free(tried_parts);
    return status;
}
