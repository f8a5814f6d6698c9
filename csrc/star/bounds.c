#include <math.h>
#include <stdlib.h>

#include "star.h"

/* A worker in a fractional knapsack: `free` updates cost the port nothing, each further one `cost`. */
typedef struct item {
    double cost, free, cycle_time;
} item;

static int by_cost(const void *x, const void *y)
{
    const item *a = x, *b = y;
    return (a->cost > b->cost) - (a->cost < b->cost);
}

/* Most updates by the time T: as much on each worker as costs nothing, then the cheapest ones. Items by ascending cost. */
static double most_updates(int32_t p, const item *items, double time)
{
    double updates = 0.0, port = time;
    for (int32_t i = 0; i < p; i++) {
        const double possible = time / items[i].cycle_time, nothing = fmin(possible, items[i].free);
        double more = possible - nothing;
        if (items[i].cost > 0.0) more = fmin(more, port / items[i].cost);
        port = fmax(port - more * items[i].cost, 0.0);
        updates += nothing + more;
    }
    return updates;
}

/* The largest time found by which `wanted` updates are not possible. The margin is for the rounding of most_updates. */
static double knapsack(int32_t p, item *items, double wanted)
{
    if (p == 0) return INFINITY;
    qsort(items, (size_t)p, sizeof *items, by_cost);
    double low = 0.0, high = INFINITY; /* one worker alone */
    for (int32_t i = 0; i < p; i++) high = fmin(high, wanted * (items[i].cost + items[i].cycle_time));
    for (int step = 0; step < 100 && high - low > high * 1e-15; step++) {
        const double middle = low + (high - low) / 2;
        if (most_updates(p, items, middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    return low * (1.0 - 1e-13 - 4e-16 * p);
}

hs_status hs_star_bounds(const hs_star *star, int32_t layout, double *bounds)
{
    if (!hs__star_valid(star) || layout < HS_STAR_DOUBLE || layout > HS_STAR_TOLEDO) return HS_ERROR_VALUE;
    const int32_t p = star->p;
    const double r = (double)star->r, s = (double)star->s, t = (double)star->t, updates = r * s * t;
    item *items = malloc((size_t)p * sizeof *items);
    if (!items) return HS_ERROR_MEMORY;

    double fastest = INFINITY, cheapest = INFINITY, speed = 0.0;
    int32_t able = 0;
    for (int32_t i = 0; i < p; i++) {
        if (star->memory[i] < 3) continue; /* an update needs a block of A, of B and of C */
        const double m = (double)star->memory[i];
        items[able++] = (item){.cost = star->link_costs[i] * 2.0 / sqrt(m), .free = m * sqrt(m), .cycle_time = star->cycle_times[i]};
        fastest = fmin(fastest, star->cycle_times[i]);
        cheapest = fmin(cheapest, star->link_costs[i]);
    }
    for (int32_t i = 0; i < able; i++) speed += fastest / items[i].cycle_time;
    bounds[HS_STAR_WORK] = able ? updates * fastest / speed * (1.0 - 4e-16 * (able + 4)) : INFINITY;
    bounds[HS_STAR_TRAFFIC] = able ? (r * t + t * s + 2.0 * r * s) * cheapest : INFINITY;
    bounds[HS_STAR_TRANSFER] = knapsack(able, items, updates);

    for (int with_c = 0; with_c < 2; with_c++) {
        int32_t count = 0;
        for (int32_t i = 0; i < p; i++) {
            const double side = (double)hs_star_side(star->memory[i], layout);
            if (side == 0.0) continue;
            const double blocks = 1.0 / fmin(side, r) + 1.0 / fmin(side, s) + (with_c ? 2.0 / t : 0.0);
            items[count++] = (item){.cost = star->link_costs[i] * blocks, .cycle_time = star->cycle_times[i]};
        }
        bounds[with_c ? HS_STAR_STEADY_C : HS_STAR_STEADY] = knapsack(count, items, updates);
    }
    free(items);
    return HS_OK;
}
