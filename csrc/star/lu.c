/* hs_star_lu_best: LU on a star. A plan is a width and a plan of each product; widths are compared
 * by plans that are made quickly, or by short searches. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "hetsched/star_lu.h"
#include "star/star.h"

enum {
    FEW = 16,          /* all widths up to this are tried, then those of a geometric sequence */
    LARGER = 63,       /* length of the sequence */
    PARTS = 4,         /* n / 2 .. n / 4, and n */
    COMPARED = 3,      /* widths, the best with quick products, that are compared with searches */
    SEARCHED = 100000, /* messages that the search of a product may try at least */
    MOST_WIDTHS = FEW + LARGER + PARTS
};

static bool is_valid_lu(const hs_star_lu *lu)
{
    if (!lu || !lu->cycle_times || !lu->link_costs || !lu->memory || lu->p < 1) return false;
    if (lu->n < 1 || lu->n > HS_STAR_LU_MOST || lu->width < 0 || lu->width > lu->n) return false;
    for (int32_t i = 0; i < lu->p; i++) {
        if (!(lu->cycle_times[i] > 0.0 && lu->cycle_times[i] <= HS_STAR_MOST)) return false;
        if (!(lu->link_costs[i] >= 0.0 && lu->link_costs[i] <= HS_STAR_MOST)) return false;
        if (lu->memory[i] < HS_STAR_UNLIMITED || lu->memory[i] > INT64_C(1) << 53) return false;
    }
    return lu->master_time >= 0.0 && lu->master_time <= HS_STAR_MOST;
}

static int64_t count_products(const hs_star_lu *lu, int64_t width) { return (lu->n - 1) / width; }

static double master_time(const hs_star_lu *lu)
{
    double fastest = INFINITY;
    if (lu->master_time > 0.0) return lu->master_time;
    for (int32_t i = 0; i < lu->p; i++) fastest = fmin(fastest, lu->cycle_times[i]);
    return fastest;
}

/* Returns the block updates of a panel with h rows and w columns, and of the rows beside it. */
static double master_updates(double h, double w)
{
    return (h * w * w - w * w * w / 3.0) / 2.0 + w * w * (h - w) / 2.0;
}

/* Returns the star of a product; memory: [p] out. */
static hs_star product_star(const hs_star_lu *lu, int64_t width, int64_t step, int64_t *memory)
{
    const int64_t left = lu->n - (step + 1) * width;
    const int64_t side = hs__max(left, width);
    for (int32_t i = 0; i < lu->p; i++)
        memory[i] = lu->memory[i] == HS_STAR_UNLIMITED ? side * side + 4 * side : lu->memory[i];
    return (hs_star){.r = left,
                     .s = left,
                     .t = width,
                     .p = lu->p,
                     .cycle_times = lu->cycle_times,
                     .link_costs = lu->link_costs,
                     .memory = memory};
}

hs_status hs_star_lu_product(const hs_star_lu *lu, int64_t width, int64_t step, int64_t *memory,
                             hs_star *star)
{
    if (!memory || !star || !is_valid_lu(lu) || width < 1 || width > lu->n || step < 0 ||
        step >= count_products(lu, width))
        return HS_ERROR_VALUE;
    *star = product_star(lu, width, step, memory);
    return HS_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Returns when the master has factored panel k, if it begins at `start`. */
static double end_of_panel(const hs_star_lu *lu, int64_t width, int64_t k, double start)
{
    const int64_t left = lu->n - k * width;
    const double updates = master_updates((double)left, (double)hs__min(width, left));
    return start + master_time(lu) * updates;
}

hs_status hs_star_lu_panels(const hs_star_lu *lu, int64_t width, const double *products,
                            double *starts, double *ends)
{
    if (!starts || !ends || !is_valid_lu(lu) || width < 1 || width > lu->n) return HS_ERROR_VALUE;
    const int64_t count = count_products(lu, width);
    if (count && (!products || !hs__valid_costs(count, products))) return HS_ERROR_VALUE;
    double now = 0.0;
    for (int64_t k = 0; k <= count; k++) {
        starts[k] = now;
        ends[k] = end_of_panel(lu, width, k, now);
        now = ends[k] + (k < count ? products[k] : 0.0);
    }
    return HS_OK;
}

/* ---- bound ----------------------------------------------------------------------------------- */

/* The workers that can compute, by the costs of their links: the port serves the cheapest first. */
typedef struct rates {
    int32_t count;
    /* [count] cost of the link; speed; speeds of all cheaper workers, and their blocks per time on
     * the port, each of which takes one unit of traffic per update */
    double *cost, *speed, *speeds, *blocks;
} rates;

/* Returns the most updates per time of workers and port, where an update needs `traffic` blocks. */
static double most_rate(const rates *x, double traffic)
{
    int32_t low = 0;
    int32_t high = x->count; /* the first worker for which the port has no time left */
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        const double all = x->blocks[middle] + x->speed[middle] * x->cost[middle];
        if (all * traffic <= 1.0) low = middle + 1;
        else high = middle;
    }
    if (low == 0 && x->count == 0) return 0.0;
    if (low == x->count) return x->speeds[low - 1] + x->speed[low - 1];
    return x->speeds[low] + fmax(1.0 / traffic - x->blocks[low], 0.0) / x->cost[low];
}

/* Returns a lower bound on the makespan with panels of this width, or some value not below
 * `limit`. */
static double bound_of_width(const hs_star_lu *lu, const rates *x, int64_t width, double limit)
{
    const double master = master_time(lu);
    double bound = 0.0;
    for (int64_t left = lu->n; left > 0 && bound < limit; left -= width) {
        const double w = (double)hs__min(width, left);
        const double rest = (double)left - w;
        bound += master * master_updates((double)left, w);
        /* a block of A and of B is used in `rest` updates, a block of C in w, and it returns */
        if (rest > 0.0) bound += rest * rest * w / most_rate(x, 2.0 / rest + 2.0 / w);
    }
    return bound;
}

static hs_status list_rates(const hs_star_lu *lu, rates *x)
{
    const size_t p = (size_t)lu->p;
    int32_t *order = malloc(p * sizeof *order);
    x->cost = malloc(4 * p * sizeof *x->cost);
    hs_status status = order && x->cost ? hs__sort(lu->p, lu->link_costs, order) : HS_ERROR_MEMORY;
    double speeds = 0.0;
    double blocks = 0.0;
    x->speed = x->cost + p;
    x->speeds = x->speed + p;
    x->blocks = x->speeds + p;
    x->count = 0;
    for (int32_t k = 0; k < lu->p && !status; k++) {
        const int32_t i = order[k];
        if (lu->memory[i] != HS_STAR_UNLIMITED && lu->memory[i] < 3) continue;
        const int32_t at = x->count++;
        x->cost[at] = lu->link_costs[i];
        x->speed[at] = 1.0 / lu->cycle_times[i];
        x->speeds[at] = speeds;
        x->blocks[at] = blocks;
        speeds += x->speed[at];
        blocks += x->speed[at] * x->cost[at];
    }
    free(order);
    return status;
}

/* Computes a lower bound for panels of any width. */
static hs_status bound_lu(const hs_star_lu *lu, const int *cancel, double *bound)
{
    rates x = {0};
    hs_status status = list_rates(lu, &x);
    double least = INFINITY;
    for (int64_t width = lu->n; width > 0 && !status; width--) {
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        least = fmin(least, bound_of_width(lu, &x, width, least));
    }
    free(x.cost);
    /* each sum has at most 2 n terms, of which each is rounded a few times */
    *bound = least * (1.0 - 4e-16 * (2.0 * (double)lu->n + 2.0 * (double)lu->p + 16.0));
    return status;
}

hs_status hs_star_lu_certificate(const hs_star_lu *lu, double makespan, const int *cancel,
                                 hs_certificate *certificate)
{
    double bound;
    if (!certificate || !is_valid_lu(lu)) return HS_ERROR_VALUE;
    const hs_status status = bound_lu(lu, cancel, &bound);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
}

/* ---- products of a width --------------------------------------------------------------------- */

/* The products of a width. */
typedef struct candidate {
    int64_t width;
    double makespan;
    hs_star_decision *products; /* [most] */
    hs_star_part *parts;        /* [most * p] */
} candidate;

typedef struct planning {
    const hs_star_lu *lu;
    const hs_star_options *options;
    const hs_effort *effort;
    const int *cancel;
    int64_t *memory; /* [p] of the star of a product */
    double end;      /* of all searches, by hs_clock */
} planning;

static double area_of(const planning *x, int64_t width, int64_t k)
{
    const double side = (double)(x->lu->n - (k + 1) * width);
    return side * side;
}

/* Plans the products of a width. end: when all of its searches must have ended, if there is a time
 * limit; messages: of all searches together. */
static hs_status plan_products(const planning *x, int64_t width, double end, int64_t messages,
                               candidate *out)
{
    const hs_star_lu *lu = x->lu;
    const int64_t count = count_products(lu, width);
    double later = 0.0; /* area of this product and of those after it, rounded */
    double now = 0.0;
    for (int64_t k = count; k-- > 0;) later += area_of(x, width, k);
    const double all = later;
    out->width = width;
    for (int64_t k = 0; k <= count; k++) {
        now = end_of_panel(lu, width, k, now);
        if (k == count) break;
        const double area = area_of(x, width, k);
        hs_star_options options = *x->options;
        options.messages = (int64_t)fmin((double)messages * area / all, 0x1p62);
        options.messages = hs__max(SEARCHED, options.messages);
        const hs_effort effort = {.seed = hs__effort_seed(x->effort) + (uint64_t)k,
                                  .timed = hs__effort_timed(x->effort),
                                  .seconds =
                                      fmax(end - hs_clock(), 0.0) * (area / fmax(later, area))};
        const hs_star star = product_star(lu, width, k, x->memory);
        hs_certificate proof;
        const hs_status status =
            hs_star_best(&star, &options, &effort, x->cancel, &out->products[k],
                         out->parts + k * lu->p, NULL, NULL, &proof);
        if (status) return status;
        now += out->products[k].makespan;
        later -= area;
    }
    out->makespan = now;
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

/* The rules by which products are planned quickly. */
typedef struct quick_rules {
    int32_t count, rules[2];
} quick_rules;

static bool is_quick(int32_t method)
{
    return method >= HS_STAR_ORROML && method <= HS_STAR_OVERLAP;
}

static quick_rules choose_rules(const planning *x)
{
    const int32_t method = x->options->method;
    const int32_t all[] = {is_quick(method) ? method : HS_STAR_ODDOML, HS_STAR_REUSE};
    int64_t largest = 0;
    for (int32_t i = 0; i < x->lu->p; i++) {
        const int64_t own = x->lu->memory[i];
        largest = hs__max(largest, own == HS_STAR_UNLIMITED ? INT64_MAX : own);
    }
    quick_rules found = {0};
    for (int k = 0; k < (is_quick(method) ? 1 : 2); k++)
        if (largest >= hs_star_least_memory(all[k])) found.rules[found.count++] = all[k];
    return found;
}

/* Computes the makespan of LU with quick products; infinite if there is none by these rules, or it
 * has too many messages. numbers: [2 p] workspace. */
static hs_status end_quickly(const planning *x, const quick_rules *quick, int64_t width,
                             int64_t *numbers, double *makespan)
{
    const hs_star_lu *lu = x->lu;
    const int64_t count = count_products(lu, width);
    double now = 0.0;
    for (int64_t k = 0; k <= count; k++) {
        now = end_of_panel(lu, width, k, now);
        if (k == count) break;
        const hs_star star = product_star(lu, width, k, x->memory);
        double least = INFINITY;
        for (int rule = 0; rule < quick->count; rule++) {
            hs_star_summary found;
            const hs_status status =
                hs_star_plan(&star, quick->rules[rule], HS_STAR_ALL, x->options->eager, x->cancel,
                             &found, numbers, numbers + lu->p, NULL, NULL);
            if (status == HS_ERROR_UNSUPPORTED || status == HS_ERROR_INFEASIBLE) continue;
            if (status) return status;
            least = fmin(least, found.makespan);
        }
        now += least;
        if (isinf(now)) break;
    }
    *makespan = now;
    return HS_OK;
}

/* Lists the widths that are worth planning in full, in their order; at most MOST_WIDTHS. It is n
 * alone if no worker can hold a chunk. */
static hs_status choose_widths(const planning *x, int64_t *chosen, int32_t *count)
{
    const int64_t n = x->lu->n;
    const quick_rules quick = choose_rules(x);
    int64_t widths[MOST_WIDTHS];
    double ends[MOST_WIDTHS];
    int32_t order[MOST_WIDTHS];
    *count = 0;
    if (!quick.count) {
        chosen[(*count)++] = n;
        return HS_OK;
    }
    int64_t *numbers = malloc(2 * (size_t)x->lu->p * sizeof *numbers);
    if (!numbers) return HS_ERROR_MEMORY;
    const int32_t all = list_widths(n, widths);
    hs_status status = HS_OK;
    for (int32_t k = 0; k < all && !status; k++)
        status = end_quickly(x, &quick, widths[k], numbers, &ends[k]);
    free(numbers);
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
        const hs_status status = plan_products(x, widths[k], until, given / count, tried);
        if (status == HS_ERROR_INFEASIBLE) continue; /* the method needs more memory */
        if (status) return status;
        if (tried->makespan < best->makespan) swap_candidates(best, tried);
    }
    const hs_status status = plan_products(x, best->width, x->end, given, tried);
    if (!status && tried->makespan <= best->makespan) swap_candidates(best, tried);
    return status;
}

hs_status hs_star_lu_best(const hs_star_lu *lu, const hs_star_options *options,
                          const hs_effort *effort, const int *cancel, int64_t *width,
                          hs_star_decision *products, hs_star_part *parts, double *makespan,
                          hs_certificate *certificate)
{
    static const hs_star_options usual = {.method = HS_STAR_BEST};
    if (!width || !makespan || !certificate || !is_valid_lu(lu) || !hs__effort_valid(effort))
        return HS_ERROR_VALUE;
    if (!options) options = &usual;
    if (options->method < HS_STAR_BEST || options->method >= HS_STAR_EXACT ||
        options->messages < 0 || options->eager < 0 || options->eager > 1)
        return HS_ERROR_VALUE;
    const int64_t most =
        lu->width ? count_products(lu, lu->width) : hs__min(lu->n, HS_STAR_LU_STEPS) - 1;
    if (most && (!products || !parts)) return HS_ERROR_VALUE;

    const size_t p = (size_t)lu->p, room = (size_t)hs__max(most, 1);
    planning x = {.lu = lu,
                  .options = options,
                  .effort = effort,
                  .cancel = cancel,
                  .memory = malloc(p * sizeof *x.memory),
                  .end = hs__effort_end(effort)};
    hs_star_decision *own = malloc(room * sizeof *own);
    hs_star_part *own_parts = malloc(room * p * sizeof *own_parts);
    candidate best = {.products = products, .parts = parts};
    candidate tried = {.products = own, .parts = own_parts};
    int64_t widths[MOST_WIDTHS] = {lu->width};
    int32_t count = 1;
    hs_status status = x.memory && own && own_parts ? HS_OK : HS_ERROR_MEMORY;
    if (!status && !lu->width) status = choose_widths(&x, widths, &count);
    if (!status) status = plan_widths(&x, count, widths, &best, &tried);
    if (!status) status = hs_star_lu_certificate(lu, best.makespan, cancel, certificate);
    if (!status) {
        const size_t length = (size_t)count_products(lu, best.width);
        *width = best.width;
        *makespan = best.makespan;
        if (best.products != products && length) {
            memcpy(products, best.products, length * sizeof *products);
            memcpy(parts, best.parts, length * p * sizeof *parts);
        }
    }
    free(x.memory);
    free(own);
    free(own_parts);
    return status;
}
