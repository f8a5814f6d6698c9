/* LU on a star: what the master does and when, the product of a step, and the lower bound. */
#include "star/lu.h"

#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "star/star.h"

bool hs__star_lu_valid(const hs_star_lu *lu)
{
    if (!lu || !lu->cycle_times || !lu->link_costs || !lu->memory || lu->p < 1) return false;
    if (lu->n < 1 || lu->n > HS_STAR_LU_MOST || lu->width < 0 || lu->width > lu->n) return false;
    for (int32_t i = 0; i < lu->p; i++) {
        if (!(lu->cycle_times[i] > 0.0 && lu->cycle_times[i] <= HS_STAR_MOST)) return false;
        if (!(lu->link_costs[i] >= 0.0 && lu->link_costs[i] <= HS_STAR_MOST)) return false;
        if (lu->memory[i] < HS_STAR_UNLIMITED || lu->memory[i] > HS__SIZE_MOST) return false;
    }
    return lu->master_time >= 0.0 && lu->master_time <= HS_STAR_MOST;
}

int64_t hs__star_lu_count(const hs_star_lu *lu, int64_t width) { return (lu->n - 1) / width; }

static double master_time(const hs_star_lu *lu)
{
    double fastest = INFINITY;
    if (lu->master_time > 0.0) return lu->master_time;
    for (int32_t i = 0; i < lu->p; i++) fastest = fmin(fastest, lu->cycle_times[i]);
    return fastest;
}

/* Returns the block updates that factor a panel with h rows and w columns. */
static double factor_updates(double h, double w) { return (h * w * w - w * w * w / 3.0) / 2.0; }

/* Returns the block updates that solve for the rows beside it. */
static double solve_updates(double h, double w) { return w * w * (h - w) / 2.0; }

static bool is_valid_own(const hs_star_lu *lu, int64_t width, int64_t step, int64_t own)
{
    const int64_t rest = hs__star_lu_rest(lu, width, step);
    return own == 0 || (own >= hs__min(width, rest) && own <= rest);
}

hs_star hs__star_lu_product(const hs_star_lu *lu, int64_t width, int64_t step, int64_t own,
                            int64_t *memory)
{
    const int64_t rest = hs__star_lu_rest(lu, width, step);
    const int64_t side = hs__max(rest, width);
    for (int32_t i = 0; i < lu->p; i++)
        memory[i] = lu->memory[i] == HS_STAR_UNLIMITED ? side * side + 4 * side : lu->memory[i];
    return (hs_star){.r = rest,
                     .s = rest - own,
                     .t = width,
                     .p = lu->p,
                     .cycle_times = lu->cycle_times,
                     .link_costs = lu->link_costs,
                     .memory = memory};
}

hs_status hs_star_lu_product(const hs_star_lu *lu, int64_t width, int64_t step, int64_t own,
                             int64_t *memory, hs_star *star)
{
    if (!memory || !star || !hs__star_lu_valid(lu) || width < 1 || width > lu->n || step < 0 ||
        step >= hs__star_lu_count(lu, width) || !is_valid_own(lu, width, step, own) ||
        own == hs__star_lu_rest(lu, width, step))
        return HS_ERROR_VALUE;
    *star = hs__star_lu_product(lu, width, step, own, memory);
    return HS_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

hs__star_lu_times hs__star_lu_times_of(const hs_star_lu *lu, int64_t width, int64_t k)
{
    const int64_t left = lu->n - k * width;
    const double h = (double)left;
    const double w = (double)hs__min(width, left);
    const double time = master_time(lu);
    return (hs__star_lu_times){.factor = time * factor_updates(h, w),
                               .solve = time * solve_updates(h, w),
                               .column = time * (h - w) * w};
}

hs_star_lu_panel hs__star_lu_next(const hs_star_lu *lu, int64_t width, int64_t k, int64_t own,
                                  const hs_star_lu_panel *before, int64_t own_before,
                                  double product)
{
    const hs__star_lu_times times = hs__star_lu_times_of(lu, width, k);
    const double returned = k ? before->end + product : 0.0;
    hs_star_lu_panel x = {.start = k && own_before ? before->updated : returned};
    x.factored = x.start + times.factor;
    x.solving = fmax(x.factored, returned);
    x.end = x.solving + times.solve;
    x.updated = x.end + (double)own * times.column;
    return x;
}

hs_status hs_star_lu_panels(const hs_star_lu *lu, int64_t width, const int64_t *own,
                            const double *products, hs_star_lu_panel *panels)
{
    if (!panels || !hs__star_lu_valid(lu) || width < 1 || width > lu->n) return HS_ERROR_VALUE;
    const int64_t count = hs__star_lu_count(lu, width);
    if (count && (!own || !products || !hs__valid_costs(count, products))) return HS_ERROR_VALUE;
    for (int64_t k = 0; k < count; k++)
        if (!is_valid_own(lu, width, k, own[k])) return HS_ERROR_VALUE;
    for (int64_t k = 0; k <= count; k++)
        panels[k] =
            hs__star_lu_next(lu, width, k, k < count ? own[k] : 0, k ? &panels[k - 1] : NULL,
                             k ? own[k - 1] : 0, k ? products[k - 1] : 0.0);
    return HS_OK;
}

/* ---- bound ----------------------------------------------------------------------------------- */

/* The workers that can compute, by the costs of their links: the port serves the cheapest first. */
typedef struct rates {
    double master; /* the master's time per update */
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

/* Returns a lower bound on the time from the end of a solve until the next one can begin.
 *   left  side of the matrix that is updated between them */
static double bound_of_step(const rates *x, int64_t width, int64_t left)
{
    const double rest = (double)left;
    const double w = (double)width;
    const double next = (double)hs__min(width, left);
    const double factor = x->master * factor_updates(rest, next);
    /* a block of A and of B is used in at most `rest` updates, a block of C in w, and it returns */
    const double rate = most_rate(x, 2.0 / rest + 2.0 / w);
    const double updates = rest * rest * w;
    /* all updates are done by then, and the master has factored the next panel meanwhile */
    const double together = (updates + factor / x->master) / (rate + 1.0 / x->master);
    /* before that, the master has updated that panel alone, or the workers have done all updates */
    const double alone = x->master * rest * w * next;
    return fmax(together, fmin(alone, updates / rate) + factor);
}

/* Returns a lower bound on the makespan with panels of this width, or some value not below
 * `limit`. */
static double bound_of_width(const hs_star_lu *lu, const rates *x, int64_t width, double limit)
{
    const double n = (double)lu->n;
    const double w = (double)width;
    double bound = x->master * (factor_updates(n, w) + solve_updates(n, w));
    for (int64_t left = lu->n - width; left > 0 && bound < limit; left -= width) {
        const double next = (double)hs__min(width, left);
        bound += bound_of_step(x, width, left) + x->master * solve_updates((double)left, next);
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
    x->master = master_time(lu);
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
    *bound = least * (1.0 - 4e-16 * (2.0 * (double)lu->n + 2.0 * (double)lu->p + 32.0));
    return status;
}

hs_status hs_star_lu_certificate(const hs_star_lu *lu, double makespan, const int *cancel,
                                 hs_certificate *certificate)
{
    double bound;
    if (!certificate || !hs__star_lu_valid(lu)) return HS_ERROR_VALUE;
    const hs_status status = bound_lu(lu, cancel, &bound);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
}
