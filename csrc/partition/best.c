/* The best method of hs_partition_best: which methods are tried for how many workers, how long the
 * search goes on, and which plan is taken. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/effort.h"
#include "core/numbers.h"
#include "core/order.h"
#include "partition/candidates.h"
#include "partition/floorplan.h"
#include "partition/planner.h"

/* ALL_ORDERS: most workers that are put around each other in all orders. Above HS_BEST_INTERVAL, at
 * most CUTS cuts of the sorted list are tried, and at least FEWEST cuts of a run. */
enum { ALL_ORDERS = 5, CUTS = 1000000, FEWEST = 8 };

/* Floorplans tried by one search: per worker, and the most workers times floorplans. With a limit
 * of time the first search has FIRST, so that it is known how many fit. */
enum { EVALUATIONS = 60000, EFFORT = 200000000, FIRST = 1000 };

/* ---- candidates ------------------------------------------------------------------------------ */

/* Lays out s->plan and adds it to the list. */
static hs_status consider(hs__planner *s, hs__candidates *list)
{
    const hs_status status = hs__planner_lay_out(s);
    if (status) return status;
    return hs__candidates_add(list, &(hs__candidate){.method = s->method,
                                                     .scope = s->scope,
                                                     .full = s->columns > 0,
                                                     .cost = s->cost,
                                                     .load = hs__planner_load(s),
                                                     .plan = s->plan,
                                                     .length = s->length});
}

/* Takes the best plan of a list over as the planner's. */
static void take_best(hs__planner *s, const hs__candidates *list)
{
    const hs__candidate *best = hs__candidates_best(list);
    s->method = best->method;
    s->scope = best->scope;
    s->length = best->length;
    memcpy(s->plan, best->plan, (size_t)best->length * sizeof *s->plan);
    s->columns = 0;
    if (best->full) hs__planner_read_columns(s);
}

/* Adds the plan of a method, unless it takes no such problem. */
static hs_status try_method(hs__planner *s, int32_t method, hs__candidates *list)
{
    const hs_status status = hs__planner_follow(s, method);
    if (status == HS_ERROR_UNSUPPORTED) return HS_OK;
    if (status) return status;
    return consider(s, list);
}

/* Marks s->plan as found by a method that proves nothing. */
static void mark_unproven(hs__planner *s, int32_t method)
{
    s->method = method;
    s->scope = "";
    s->columns = 0;
}

/* ---- zones around other zones ---------------------------------------------------------------- */

/* Changes an order to the next one in lexicographic order; returns false after the last one. */
static bool next_order(int32_t *order, int32_t size)
{
    int32_t at = size - 2;
    while (at >= 0 && order[at] > order[at + 1]) at--;
    if (at < 0) return false;
    int32_t with = size - 1;
    while (order[with] < order[at]) with--;
    hs__swap(order, at, with);
    hs__reverse(size - at - 1, order + at + 1);
    return true;
}

/* Adds the plan of hs_partition_nonrectangular for an order of the workers. */
static hs_status try_around(hs__planner *s, const int32_t *order, hs__candidates *list)
{
    const hs_partition *x = &s->problem;
    double cost;
    const hs_status status = hs_partition_nonrectangular(
        x->p, x->areas, x->weights, s->aspect, order, s->cancel, s->plan, &s->length, &cost);
    if (status) return status;
    mark_unproven(s, HS_PARTITION_NONRECTANGULAR);
    return consider(s, list);
}

/* Adds the plans for all orders of a few workers. */
static hs_status try_all_orders(hs__planner *s, hs__candidates *list)
{
    int32_t order[ALL_ORDERS];
    int32_t size = 0;
    hs_status status;
    for (int32_t i = 0; i < s->problem.p; i++)
        if (s->problem.areas[i] > 0.0) order[size++] = i;
    do status = try_around(s, order, list);
    while (!status && next_order(order, size));
    return status;
}

static hs_status plan_around(hs__planner *s)
{
    hs__candidates list = {0};
    hs_status status = try_around(s, NULL, &list);
    /* this rule puts zones around other zones in ways that a list does not allow */
    if (!status) status = try_method(s, HS_PARTITION_SNRPP, &list);
    if (!status && s->size > 2 && s->size <= ALL_ORDERS) status = try_all_orders(s, &list);
    if (!status) take_best(s, &list);
    mark_unproven(s, HS_PARTITION_NONRECTANGULAR);
    hs__candidates_free(&list);
    return status;
}

static hs_status try_zones_around(hs__planner *s, hs__candidates *list)
{
    const hs_status status = plan_around(s);
    if (status) return status;
    return consider(s, list);
}

/* Finds the largest worker's zone around full columns of the other zones, which lie in its
 * corner. */
static hs_status plan_around_largest(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    int32_t owner = 0;
    for (int32_t i = 1; i < x->p; i++) owner = x->areas[i] > x->areas[owner] ? i : owner;
    memcpy(s->numbers, x->areas, (size_t)x->p * sizeof *s->numbers);
    s->numbers[owner] = 0.0;
    double cost;
    const hs_status status = hs_partition_columns(x->p, s->numbers, 1.0, 1, x->p, x->p, s->cancel,
                                                  s->order, s->start, &s->columns, &cost);
    if (status) return status;
    hs__planner_write_columns(s);
    s->plan[s->length++] = owner;
    s->plan[s->length++] = HS_AROUND;
    mark_unproven(s, HS_PARTITION_NONRECTANGULAR);
    return HS_OK;
}

static hs_status try_around_largest(hs__planner *s, hs__candidates *list)
{
    const hs_status status = plan_around_largest(s);
    if (status) return status;
    return consider(s, list);
}

/* ---- long lists and searches ----------------------------------------------------------------- */

/* Adds the plan of some cuts of a long sorted list, unless even those are too many. */
static hs_status try_some_intervals(hs__planner *s, hs__candidates *list)
{
    const hs_partition *x = &s->problem;
    const int32_t cuts = CUTS / s->size;
    const int32_t reach = (int32_t)sqrt(cuts);
    double cost;
    if (reach < FEWEST || x->largest) return HS_OK;
    const hs_status status =
        hs_partition_interval(x->p, x->areas, x->weights, s->aspect, NULL, NULL, 0.0, reach,
                              s->cancel, s->plan, &s->length, &cost);
    if (status == HS_ERROR_UNSUPPORTED) return HS_OK;
    if (status) return status;
    mark_unproven(s, HS_PARTITION_INTERVAL);
    return consider(s, list);
}

static bool is_guillotine(const hs__planner *s)
{
    for (int32_t k = 0; k < s->length; k++)
        if (s->plan[k] < HS_ABOVE) return false;
    return true;
}

/* Searches on from the best plan so far, once, or again and again until the time is over; adds what
 * each search finds. */
static hs_status try_searches(hs__planner *s, hs__candidates *list)
{
    const hs_partition *x = &s->problem;
    const int64_t all = hs__min((int64_t)EVALUATIONS * s->size, EFFORT / s->size);
    const double temperature = 0.5 / ((double)s->size * s->size);
    uint64_t state = hs__effort_seed(s->effort);
    hs_status status;
    take_best(s, list);
    if (!is_guillotine(s)) return HS_OK;
    const int64_t first = hs__min(FIRST, all);
    hs__rounds round = hs__first_round(s->effort, all, first, first, all, INFINITY);
    do {
        double cost;
        status = hs_partition_search(x->p, x->areas, x->weights, s->aspect, round.work, temperature,
                                     s->cancel, s->plan, s->length, &state, &cost);
        mark_unproven(s, HS_PARTITION_SEARCH);
        if (!status) status = consider(s, list);
    } while (!status && hs__next_round(&round));
    return status;
}

/* ---- best ------------------------------------------------------------------------------------ */

static hs_status plan_best(hs__planner *s);

/* Adds the plan that is best for the sum. */
static hs_status try_best_of_sum(hs__planner *s, hs__candidates *list)
{
    s->problem.largest = 0;
    hs_status status = plan_best(s);
    s->problem.largest = 1;
    if (status) return status;
    s->scope = "";
    s->columns = 0;
    return consider(s, list);
}

static hs_status try_methods(hs__planner *s, hs__candidates *list)
{
    static const int32_t others[] = {HS_PARTITION_COLUMNS,
                                     HS_PARTITION_ROWS,
                                     HS_PARTITION_KALINOV_LASTOVETSKY,
                                     HS_PARTITION_RECURSIVE,
                                     HS_PARTITION_NAGAMOCHI_ABE,
                                     HS_PARTITION_SNRPP,
                                     HS_PARTITION_KADDOURA,
                                     HS_PARTITION_MOHAMMADI_BEHROOZI};
    const bool largest = s->problem.largest;
    hs_status status = HS_OK;
    /* methods that prove more come first: the first of equals is taken */
    if (s->size <= (largest ? HS_LARGEST_EXACT : HS_BEST_GUILLOTINE))
        status = try_method(s, HS_PARTITION_GUILLOTINE, list);
    if (!status && s->size <= HS_BEST_INTERVAL) status = try_method(s, HS_PARTITION_INTERVAL, list);
    for (size_t k = 0; k < sizeof others / sizeof *others && !status; k++)
        status = try_method(s, others[k], list);
    if (!status && s->size > HS_BEST_INTERVAL) status = try_some_intervals(s, list);
    if (!status && largest) status = try_best_of_sum(s, list);
    else if (!status && (s->size > HS_BEST_GUILLOTINE || hs__effort_timed(s->effort)))
        status = try_searches(s, list);
    if (!status && s->size > 1 && s->size <= HS_BEST_NONRECTANGULAR)
        status = try_zones_around(s, list);
    else if (!status && s->size > HS_BEST_NONRECTANGULAR && !largest)
        status = try_around_largest(s, list);
    return status;
}

static hs_status plan_best(hs__planner *s)
{
    hs__candidates list = {0};
    const hs_status status = try_methods(s, &list);
    if (!status) take_best(s, &list);
    hs__candidates_free(&list);
    return status;
}

hs_status hs__planner_find(hs__planner *s, int32_t method)
{
    if (method == HS_PARTITION_BEST) return plan_best(s);
    if (method == HS_PARTITION_NONRECTANGULAR) return plan_around(s);
    return hs__planner_follow(s, method);
}
