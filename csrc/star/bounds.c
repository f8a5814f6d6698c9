/* Lower bounds on the makespan of a star. All but HS_STAR_WORK are fractional knapsacks: for a time
 * T, how many updates can the workers compute and the port supply? The bound is the least T with
 * enough updates. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/status.h"
#include "star/star.h"

/* Returns a number, or 0 if it is so small that its rounding error is large: a bound with a smaller
 * number is a bound too. */
static double exact_or_zero(double number) { return number < DBL_MIN / DBL_EPSILON ? 0.0 : number; }

/* Updates of one worker in a fractional knapsack, each of which costs `cost` of the port's time: at
 * most as many as the worker can compute beyond `first`, and at most `most`. A worker's items have
 * ascending costs. */
typedef struct item {
    double cost, first, most, cycle_time;
} item;

static int by_cost(const void *x, const void *y)
{
    const item *a = x;
    const item *b = y;
    return (a->cost > b->cost) - (a->cost < b->cost);
}

/* Returns the largest number of updates by the time T. Items must be sorted by cost. */
static double most_updates(int32_t count, const item *items, double time)
{
    double updates = 0.0;
    double port = time;
    for (int32_t i = 0; i < count; i++) {
        double more = fmin(fmax(time / items[i].cycle_time - items[i].first, 0.0), items[i].most);
        if (items[i].cost > 0.0) more = fmin(more, port / items[i].cost);
        port = fmax(port - more * items[i].cost, 0.0);
        updates += more;
    }
    return updates;
}

/* Returns a time by which `wanted` updates are not possible, the largest that bisection finds. A
 * margin covers the rounding of most_updates. */
static double solve_knapsack(int32_t count, item *items, double wanted, const int *cancel)
{
    if (count == 0) return INFINITY;
    qsort(items, (size_t)count, sizeof *items, by_cost);
    double low = 0.0;
    /* one worker alone, with all updates at the cost of its last item */
    double high = INFINITY;
    for (int32_t i = 0; i < count; i++)
        if (items[i].most >= wanted)
            high = fmin(high, wanted * (items[i].cost + items[i].cycle_time));
    for (int step = 0; step < 100 && high - low > high * 1e-15 && !hs__cancelled(cancel); step++) {
        const double middle = low + (high - low) / 2;
        if (most_updates(count, items, middle) < wanted) low = middle;
        else high = middle;
    }
    return exact_or_zero(low * (1.0 - 1e-13 - 4e-16 * count));
}

hs_status hs_star_bounds(const hs_star *star, int32_t layout, const int *cancel, double *bounds)
{
    if (!bounds) return HS_ERROR_VALUE;
    if (!hs__star_valid(star) || layout < HS_STAR_DOUBLE || layout > HS_STAR_PAIR)
        return HS_ERROR_VALUE;
    const int32_t p = star->p;
    const double r = (double)star->r;
    const double s = (double)star->s;
    const double t = (double)star->t;
    const double updates = r * s * t;
    /* a block of A is used in s updates, a block of B in r, a block of C in t */
    const double once = 1.0 / r + 1.0 / s + 2.0 / t;
    item *items = malloc(2 * (size_t)p * sizeof *items);
    if (!items) return HS_ERROR_MEMORY;

    double fastest = INFINITY;
    double speed = 0.0;
    int32_t count = 0;
    for (int32_t i = 0; i < p; i++) {
        if (star->memory[i] < 3) continue; /* an update needs a block of A, of B and of C */
        items[count++] = (item){.cost = exact_or_zero(star->link_costs[i] * once),
                                .most = INFINITY,
                                .cycle_time = star->cycle_times[i]};
        fastest = fmin(fastest, star->cycle_times[i]);
    }
    for (int32_t k = 0; k < count; k++) speed += fastest / items[k].cycle_time;
    bounds[HS_STAR_WORK] =
        count ? exact_or_zero(updates * fastest / speed * (1.0 - 4e-16 * (count + 4))) : INFINITY;
    bounds[HS_STAR_TRAFFIC] = solve_knapsack(count, items, updates, cancel);

    for (int32_t loomis = 0; loomis < 2; loomis++) {
        count = 0;
        for (int32_t i = 0; i < p; i++) {
            if (star->memory[i] < 3) continue;
            const double m = (double)star->memory[i];
            const double c = star->link_costs[i];
            const double reuse = loomis ? sqrt(27.0 / (8.0 * m)) : 2.0 / sqrt(m) + 1.0 / t;
            const double unpaid = loomis ? m : 2.0 * m;
            /* up to so many updates the traffic of HS_STAR_TRAFFIC is larger, beyond that of the
             * theorem */
            const double bend = reuse > once ? unpaid / (reuse - once) : INFINITY;
            items[count++] = (item){
                .cost = exact_or_zero(c * once), .most = bend, .cycle_time = star->cycle_times[i]};
            if (bend < INFINITY)
                items[count++] = (item){.cost = exact_or_zero(c * reuse),
                                        .first = bend,
                                        .most = INFINITY,
                                        .cycle_time = star->cycle_times[i]};
        }
        bounds[loomis ? HS_STAR_LOOMIS : HS_STAR_TRANSFER] =
            solve_knapsack(count, items, updates, cancel);
    }

    for (int with_c = 0; with_c < 2; with_c++) {
        count = 0;
        for (int32_t i = 0; i < p; i++) {
            const double side = (double)hs_star_side(star->memory[i], layout);
            if (side == 0.0) continue;
            const double blocks =
                1.0 / fmin(side, r) + 1.0 / fmin(side, s) + (with_c ? 2.0 / t : 0.0);
            items[count++] = (item){.cost = exact_or_zero(star->link_costs[i] * blocks),
                                    .most = INFINITY,
                                    .cycle_time = star->cycle_times[i]};
        }
        bounds[with_c ? HS_STAR_STEADY_C : HS_STAR_STEADY] =
            solve_knapsack(count, items, updates, cancel);
    }
    free(items);
    return hs__check_cancel(cancel);
}

double hs__star_bound(const double bounds[HS_STAR_BOUNDS])
{
    return fmax(fmax(bounds[HS_STAR_WORK], bounds[HS_STAR_TRAFFIC]),
                fmax(bounds[HS_STAR_TRANSFER], bounds[HS_STAR_LOOMIS]));
}

hs_status hs_star_certificate(const hs_star *star, double makespan, const int *cancel,
                              hs_certificate *certificate)
{
    double bounds[HS_STAR_BOUNDS];
    if (!certificate) return HS_ERROR_VALUE;
    const hs_status status = hs_star_bounds(star, HS_STAR_DOUBLE, cancel, bounds);
    if (status) return status;
    const double bound = hs__star_bound(bounds);
    if (makespan < bound * (1.0 - HS_EQUAL)) return HS_ERROR_VALUE;
    return hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
}
