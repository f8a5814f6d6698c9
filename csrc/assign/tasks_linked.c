/* Tasks over one bus with messages that differ between workers: exact orders for few workers, a
 * search and bounds for more. Source: the 2001 paper, section 4, with a time per link. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"

/* Work of the search, in workers looked at: about a third of a second. A driver that searches a
 * hundred times for one plan takes a part of it, and no more than so many for each p^3. By hand. */
enum { WORK = 30 * 1000 * 1000, PART = WORK / 50, WORK_PER_CUBE = 100 };

/* q workers that are served, in these orders. */
typedef struct {
    int32_t q, *send, *receive;
} orders;

static const double *answers_of(const hs__bus *x) { return x->returning ? x->receives : NULL; }

static hs_status count_in_orders(const hs__bus *x, double bound, const orders *y, hs__found *found)
{
    const hs_status status = hs_task_orders(bound, x->p, x->times, x->sends, answers_of(x), y->q,
                                            y->send, y->receive, found->counts);
    if (status == HS_OK) found->tasks = hs__sum_tasks(x->p, found->counts);
    return status;
}

/* Serves the workers of least key first, all of them or as many as the messages leave time for; the
 * answers come back in the same order. */
static hs_status serve_by_keys(hs__bus *x, double bound, const double *keys, orders *y,
                               hs__found *found)
{
    hs_status status = hs__sort(x->p, keys, y->send);
    if (status == HS_OK)
        status = hs__task_prefix(bound, x->p, x->times, x->sends, answers_of(x), y->send, &y->q);
    if (status != HS_OK) return status;
    memcpy(y->receive, y->send, (size_t)y->q * sizeof *y->receive);
    return count_in_orders(x, bound, y, found);
}

static void number_slots(int32_t p, const orders *y, hs__found *found)
{
    for (int32_t i = 0; i < p; i++) {
        found->sends[i] = p;
        found->receives[i] = p;
    }
    for (int32_t d = 0; d < y->q; d++) {
        found->sends[y->send[d]] = d + 1;
        found->receives[y->receive[y->q - 1 - d]] = d + 1;
    }
}

static int64_t work_of(const hs__bus *x, int64_t wanted)
{
    if (isfinite(x->end)) return INT64_MAX;
    if (wanted < 0) return WORK;
    const double cube = (double)x->p * x->p * x->p;
    return (int64_t)fmin(PART, WORK_PER_CUBE * cube);
}

/* Searches for orders. With `wanted`, if that finds too few tasks, it tries all workers by the rule
 * that is optimal for fractional tasks. */
static hs_status search_orders(hs__bus *x, double bound, int64_t wanted, orders *y,
                               hs__found *found, int *proven)
{
    const int32_t p = x->p;
    hs_status status =
        hs__search_links(bound, p, x->times, x->sends, answers_of(x), work_of(x, wanted), x->end,
                         x->seed, x->cancel, &y->q, y->send, y->receive, proven);
    if (status == HS_OK) status = count_in_orders(x, bound, y, found);
    if (status != HS_OK || *proven || found->tasks >= wanted) {
        number_slots(p, y, found);
        return status;
    }
    number_slots(p, y, found);
    double *keys = hs__room_take(&x->prices, (size_t)p, sizeof *keys);
    hs__found rule;
    status = keys ? hs__found_open(p, &x->tried, &rule, NULL) : HS_ERROR_MEMORY;
    if (status != HS_OK) return status;
    for (int32_t i = 0; i < p; i++) keys[i] = x->sends[i] * x->times[i];
    status = serve_by_keys(x, bound, keys, y, &rule);
    if (status != HS_OK || rule.tasks <= found->tasks) return status;
    number_slots(p, y, &rule);
    hs__found_copy(p, &rule, found);
    return HS_OK;
}

/* Computes the largest total of weights by worker and place in one direction, if the other messages
 * of each worker have the best place. */
static hs_status bound_by_places(hs__bus *x, double bound, int64_t *most)
{
    const size_t p = (size_t)x->p;
    int64_t *weights = hs__room_take(&x->weights, p * p, sizeof *weights);
    int32_t *places = hs__room_take(&x->keys, p, sizeof *places);
    if (!weights || !places) return HS_ERROR_MEMORY;
    const hs_status status =
        hs_task_positions(bound, x->p, x->times, x->sends, answers_of(x), 1, x->cancel, weights);
    if (status) return status;
    return hs__match(x, x->p, x->p, weights, places, most);
}

hs_status hs__bound_linked(hs__bus *x, double bound, int64_t *most)
{
    int64_t other;
    const bool both = x->sending && x->returning;
    const bool turned = !x->sending;
    if (turned) hs__bus_turn(x);
    hs_status status = bound_by_places(x, bound, most);
    if (turned) hs__bus_turn(x);
    if (status == HS_OK && both) {
        hs__bus_turn(x);
        status = bound_by_places(x, bound, &other);
        hs__bus_turn(x);
        if (status == HS_OK) *most = hs__min(*most, other);
    }
    if (status == HS_OK) status = hs__bound_fractions(x, bound, &other);
    if (status == HS_OK) *most = hs__min(*most, other);
    return status;
}

hs_status hs__solve_linked(hs__bus *x, double bound, int32_t method, int64_t wanted,
                           hs__found *found)
{
    const size_t p = (size_t)x->p;
    int32_t *memory = hs__room_take(&x->slots, 2 * p, sizeof *memory);
    if (!memory) return HS_ERROR_MEMORY;
    orders y = {.send = memory, .receive = memory + p};
    int proven = 0;
    hs_status status;
    if (method == HS_TASKS_FASTEST) {
        status = serve_by_keys(x, bound, x->times, &y, found);
        if (status == HS_OK) number_slots(x->p, &y, found);
    } else status = search_orders(x, bound, wanted, &y, found, &proven);
    if (status != HS_OK) return status;
    found->method = method == HS_TASKS_FASTEST ? HS_TASKS_FASTEST : HS_TASKS_SEARCH;
    if (proven) found->method = HS_TASKS_EXACT;
    found->bound = found->tasks;
    if (proven) return HS_OK;
    int64_t most;
    status = hs__bound_linked(x, bound, &most);
    if (status != HS_OK) return status;
    found->bound = hs__max(most, found->tasks);
    if (!x->returning || x->p > HS__MOST_CUBE || most <= found->tasks ||
        (wanted >= 0 && (found->tasks >= wanted || most < wanted)))
        return HS_OK;
    int64_t *cube = hs__room_take(&x->cube, p * p * p, sizeof *cube);
    hs__found other;
    status = cube ? hs__found_open(x->p, &x->tried, &other, NULL) : HS_ERROR_MEMORY;
    if (status == HS_OK)
        status =
            hs_task_positions(bound, x->p, x->times, x->sends, x->receives, x->p, x->cancel, cube);
    if (status == HS_OK)
        status = hs__price_tubes(x, cube, found->tasks, wanted, &other.bound, &other.tasks,
                                 other.sends, other.receives);
    if (status == HS_OK) found->bound = hs__max(hs__min(most, other.bound), found->tasks);
    return status;
}
