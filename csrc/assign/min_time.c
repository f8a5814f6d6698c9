/* hs_min_time: the least time for a number of tasks, by bisection over the doubles. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/effort.h"
#include "core/exact_sum.h"
#include "core/numbers.h"
#include "core/sort.h"

/* What a time T is asked. */
typedef struct {
    hs__bus *x;
    int64_t wanted;
    hs__found found; /* of the least T that was enough */
    hs__found now;
    double enough;    /* this T, or infinite */
    double too_short; /* the largest T that is proven to be too short, or 0 */
} question;

typedef hs_status (*test)(question *q, double bound, bool *yes);

/* Whether an upper bound allows the tasks. */
static hs_status is_bound_enough(question *q, double bound, bool *yes)
{
    int64_t most;
    const hs_status status = hs__bound_tasks(q->x, bound, &most);
    *yes = status == HS_OK && most >= q->wanted;
    return status;
}

/* Whether a plan does the tasks. */
static hs_status is_plan_enough(question *q, double bound, bool *yes)
{
    const hs_status status = hs__solve_tasks(q->x, bound, HS_TASKS_BEST, q->wanted, &q->now);
    *yes = status == HS_OK && q->now.tasks >= q->wanted;
    if (status != HS_OK) return status;
    if (q->now.bound < q->wanted) q->too_short = fmax(q->too_short, bound);
    if (*yes) {
        hs__found_copy(q->x->p, &q->now, &q->found);
        q->enough = bound;
    }
    return HS_OK;
}

/* Whether the upper bound of the best method allows the tasks. */
static hs_status is_best_bound_enough(question *q, double bound, bool *yes)
{
    const hs_status status = hs__solve_tasks(q->x, bound, HS_TASKS_BEST, q->wanted, &q->now);
    *yes = status == HS_OK && q->now.bound >= q->wanted;
    return status;
}

/* Finds the least double of [low, high] that passes the test, if each double above one that passes
 * does so too; high passes, or a little more does. */
static hs_status first_double(question *q, double low, double high, test passes, double *found)
{
    uint64_t first = hs__bits_of(fmax(low, 5e-324));
    uint64_t last = hs__bits_of(fmax(high, 5e-324));
    while (first < last) {
        const uint64_t middle = first + (last - first) / 2;
        bool yes;
        const hs_status status = passes(q, hs__of_bits(middle), &yes);
        if (status != HS_OK) return status;
        if (hs__cancelled(q->x->cancel)) return HS_ERROR_CANCELLED;
        if (yes) last = middle;
        else first = middle + 1;
    }
    *found = hs__of_bits(last);
    return HS_OK;
}

/* Computes when each worker with tasks ends its last one, up to rounding; ends [p]. */
static void find_ends(const hs__bus *x, int32_t q, const int32_t *order, const int64_t *counts,
                      double *ends)
{
    double bus = 0.0;
    for (int32_t d = 0; d < q; d++) {
        const int32_t i = order[d];
        bus = x->sends_equal ? (d + 1) * x->send : bus + x->sends[i];
        ends[i] = bus + (double)counts[i] * x->times[i];
    }
}

/* Removes the tasks that are too many: the workers that end last lose one each. */
static hs_status trim_counts(hs__bus *x, int64_t wanted, hs__found *found)
{
    const size_t p = (size_t)x->p;
    double *ends = hs__room_take(&x->prices, 2 * p, sizeof *ends);
    int32_t *order = hs__room_take(&x->keys, 2 * p, sizeof *order);
    if (!ends || !order) return HS_ERROR_MEMORY;
    for (int64_t excess; (excess = hs__sum_tasks(x->p, found->counts) - wanted) > 0;) {
        if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
        int32_t q;
        hs_status status =
            hs__order_by_slots(x->p, found->counts, found->sends, false, ends, order, &q);
        if (status != HS_OK) return status;
        find_ends(x, q, order, found->counts, ends);
        /* the latest first, ties to the lowest index; workers without tasks come last */
        double *keys = ends + p;
        const uint64_t most = hs__bits_of(INFINITY);
        for (int32_t i = 0; i < x->p; i++)
            keys[i] = found->counts[i] > 0 ? hs__of_bits(most - hs__bits_of(ends[i])) : INFINITY;
        status = hs__sort(x->p, keys, order + p);
        if (status != HS_OK) return status;
        for (int32_t d = 0; d < q && d < excess; d++) found->counts[order[p + (size_t)d]]--;
    }
    return HS_OK;
}

/* ---- the interval of the bisection ---- */

/* Returns the time of all messages in one direction. */
static double sum_messages(int32_t p, const double *messages, bool equal)
{
    if (!messages) return 0.0;
    if (equal) return p * messages[0];
    hs__exact sum = {{0}};
    for (int32_t i = 0; i < p; i++) hs__exact_add(&sum, messages[i], 1);
    return hs__exact_rounded(&sum, false);
}

/* Finds times between which the answer lies. It takes at least as long as without messages, and no
 * longer than with all messages before and after all work, or than on one worker alone. Returns
 * HS_ERROR_VALUE if they are out of range. */
static hs_status find_interval(const hs__bus *x, const hs_task_workers *workers, int64_t wanted,
                               double *low, double *high)
{
    const int32_t p = workers->p;
    double least;
    int64_t *counts = malloc((size_t)p * sizeof *counts);
    if (!counts) return HS_ERROR_MEMORY;
    const hs_status status =
        hs_distribute(wanted, p, workers->cycle_times, x->cancel, counts, &least);
    free(counts);
    if (status != HS_OK) return status;
    const double messages = sum_messages(p, workers->sends, x->sends_equal) +
                            sum_messages(p, workers->receives, x->receives_equal);
    double alone = INFINITY;
    double fastest = INFINITY;
    for (int32_t i = 0; i < x->p; i++) {
        const double work = (double)wanted * x->times[i];
        alone = fmin(alone, x->sends[i] + x->receives[i] + work);
        fastest = fmin(fastest, x->times[i]);
    }
    *low = least * (1 - 1e-15);
    *high = fmin((least + messages) * (1 + 1e-14), alone * (1 + 1e-14));
    const bool good = isfinite(least + messages) && least / fastest <= 0x1p52 &&
                      *high / fastest <= HS__MOST_TASKS && hs__bus_fits(x, *high);
    return good ? HS_OK : HS_ERROR_VALUE;
}

/* ---- calls ---- */

/* Finds the plan of least time and a lower bound. */
static hs_status find_least(question *q, double low, double high, double *makespan, double *bound)
{
    hs__bus *x = q->x;
    hs_status status = HS_OK;
    *bound = low;
    /* if every T is decided anyway, a cheap bound does not help */
    if (!x->linked || !hs__links_proven(x))
        status = first_double(q, low, high, is_bound_enough, bound);
    *makespan = *bound;
    if (status == HS_OK && (x->linked || (x->sending && x->returning))) {
        status = first_double(q, *bound, high, is_plan_enough, makespan);
        *bound = fmax(*bound, nextafter(q->too_short, INFINITY));
        if (status == HS_OK && *bound < *makespan)
            status = first_double(q, *bound, *makespan, is_best_bound_enough, bound);
    }
    if (status == HS_OK && q->enough != *makespan)
        status = hs__solve_tasks(x, *makespan, HS_TASKS_BEST, q->wanted, &q->found);
    return status;
}

static hs_status plan_least(hs__bus *x, const hs_task_workers *workers, int64_t wanted,
                            hs_task_plan *plan, hs_certificate *certificate, hs__room *room)
{
    question q = {.x = x, .wanted = wanted, .enough = INFINITY};
    double low;
    double high;
    double makespan = 0.0;
    double bound = 0.0;
    if (!hs__bus_set(x, workers->p, workers->cycle_times, workers->sends, workers->receives))
        return HS_ERROR_VALUE;
    hs_status status = hs__found_open(x->p, room, &q.found, &q.now);
    if (status != HS_OK) return status;
    memset(q.found.counts, 0, (size_t)x->p * sizeof *q.found.counts);
    for (int32_t i = 0; i < x->p; i++) {
        q.found.sends[i] = 1;
        q.found.receives[i] = 1;
    }
    q.found.method = HS_TASKS_FLOOR;
    status = find_interval(x, workers, wanted, &low, &high);
    if (status == HS_OK && wanted > 0) status = find_least(&q, low, high, &makespan, &bound);
    if (status == HS_OK) status = trim_counts(x, wanted, &q.found);
    if (status == HS_OK) status = hs__bus_plan(x, workers->p, &q.found, plan);
    if (status != HS_OK) return status;
    status = hs_certificate_of("makespan", HS_MINIMISED, plan->makespan,
                               fmin(bound, plan->makespan), certificate);
    certificate->scope = certificate->optimal ? "all allocations" : "";
    return status;
}

hs_status hs_min_time(const hs_task_workers *workers, int64_t tasks, const hs_effort *effort,
                      const int *cancel, hs_task_plan *plan, hs_certificate *certificate)
{
    if (!hs__workers_given(workers) || tasks < 0 || tasks > HS__SIZE_MOST ||
        !hs__plan_given(plan) || !certificate || !hs__effort_valid(effort))
        return HS_ERROR_VALUE;
    if (hs__effort_timed(effort)) return HS_ERROR_UNSUPPORTED;
    hs__bus x;
    hs__room room = {0};
    hs_status status = hs__bus_open(workers->p, effort, cancel, &x);
    if (status != HS_OK) return status;
    status = plan_least(&x, workers, tasks, plan, certificate, &room);
    hs__room_free(&room);
    hs__bus_close(&x);
    return status;
}
