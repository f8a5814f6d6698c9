/* hs_max_tasks: the most tasks in a given time, for one platform or many.
 *
 * Workers that cannot work are left out. For HS_TASKS_BEST, a platform without messages out is
 * turned around in time, so that the two solvers (tasks_equal.c, tasks_linked.c) then have messages
 * out if there are any. They return slots. Here slots become orders of the messages, and the
 * makespan is the exact end of the plan, rounded up. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
#include "core/sort.h"

hs_status hs__bound_tasks(hs__bus *x, double bound, int64_t *most)
{
    return x->linked ? hs__bound_linked(x, bound, most) : hs__bound_equal(x, bound, most);
}

hs_status hs__solve_tasks(hs__bus *x, double bound, int32_t method, int64_t wanted,
                          hs__found *found)
{
    const bool turned = !x->sending && x->returning && method == HS_TASKS_BEST;
    if (turned) hs__bus_turn(x);
    const hs_status status = x->linked ? hs__solve_linked(x, bound, method, wanted, found)
                                       : hs__solve_equal(x, bound, method, wanted, found);
    if (turned) {
        hs__bus_turn(x);
        int32_t *const sends = found->sends;
        found->sends = found->receives;
        found->receives = sends;
    }
    return status;
}

/* ---- plans ---- */

hs_status hs__order_by_slots(int32_t p, const int64_t *counts, const int32_t *slots, bool from_last,
                             double *keys, int32_t *order, int32_t *size)
{
    int32_t most = 0;
    for (int32_t i = 0; i < p; i++) most = (int32_t)hs__max(most, slots[i]);
    for (int32_t i = 0; i < p; i++) keys[i] = from_last ? most - slots[i] : slots[i];
    const hs_status status = hs__sort(p, keys, order);
    *size = 0;
    for (int32_t d = 0; d < p && status == HS_OK; d++)
        if (counts[order[d]] > 0) order[(*size)++] = order[d];
    return status;
}

hs_status hs__bus_plan(hs__bus *x, int32_t p, const hs__found *found, hs_task_plan *plan)
{
    double *keys = hs__room_take(&x->prices, (size_t)x->p, sizeof *keys);
    if (!keys) return HS_ERROR_MEMORY;
    int32_t q = 0;
    hs_status status =
        hs__order_by_slots(x->p, found->counts, found->sends, false, keys, plan->send_order, &q);
    if (status == HS_OK)
        status = hs__order_by_slots(x->p, found->counts, found->receives, true, keys,
                                    plan->receive_order, &q);
    const hs_task_workers able = {.p = x->p,
                                  .cycle_times = x->times,
                                  .sends = x->sends,
                                  .receives = x->returning ? x->receives : NULL};
    double end = 0.0;
    if (status == HS_OK)
        status = hs_task_end(&able, q, plan->send_order, plan->receive_order, found->counts, &end);
    if (status != HS_OK) return status;
    memset(plan->counts, 0, (size_t)p * sizeof *plan->counts);
    for (int32_t i = 0; i < x->p; i++) plan->counts[x->worker[i]] = found->counts[i];
    for (int32_t d = 0; d < q; d++) {
        plan->send_order[d] = x->worker[plan->send_order[d]];
        plan->receive_order[d] = x->worker[plan->receive_order[d]];
    }
    plan->served = q;
    plan->answering = x->answering ? q : 0;
    plan->makespan = end;
    plan->method = found->method;
    plan->tasks = hs__sum_tasks(x->p, found->counts);
    plan->bound = found->bound;
    return HS_OK;
}

static hs_status certify_tasks(const hs_task_plan *plan, hs_certificate *certificate)
{
    double bound = (double)plan->bound;
    if ((int64_t)bound < plan->bound) bound = nextafter(bound, INFINITY);
    const hs_status status =
        hs_certificate_of("tasks", HS_MAXIMISED, (double)plan->tasks, bound, certificate);
    certificate->optimal = plan->tasks == plan->bound;
    certificate->scope = certificate->optimal ? "all allocations" : "";
    return status;
}

/* ---- calls ---- */

static bool is_method_valid(const hs__bus *x, int32_t method)
{
    return method == HS_TASKS_BEST || method == HS_TASKS_FASTEST ||
           (method == HS_TASKS_PAPER && !x->linked);
}

static hs_status plan_most(hs__bus *x, const hs_task_workers *workers, double bound, int32_t method,
                           hs__room *room, hs__found *found)
{
    if (!hs__bus_set(x, workers->p, workers->cycle_times, workers->sends, workers->receives) ||
        !hs__bus_fits(x, bound) || !is_method_valid(x, method))
        return HS_ERROR_VALUE;
    const hs_status status = hs__found_open(x->p, room, found, NULL);
    if (status) return status;
    return hs__solve_tasks(x, bound, method, -1, found);
}

hs_status hs_max_tasks(const hs_task_workers *workers, double bound, int32_t method,
                       const hs_effort *effort, const int *cancel, hs_task_plan *plan,
                       hs_certificate *certificate)
{
    if (!hs__workers_given(workers) || !hs__plan_given(plan) || !certificate || !(bound > 0.0) ||
        isinf(bound) || !hs__effort_valid(effort))
        return HS_ERROR_VALUE;
    hs__bus x;
    hs__room room = {0};
    hs__found found;
    hs_status status = hs__bus_open(workers->p, effort, cancel, &x);
    if (status != HS_OK) return status;
    status = plan_most(&x, workers, bound, method, &room, &found);
    if (status == HS_OK) status = hs__bus_plan(&x, workers->p, &found, plan);
    if (status == HS_OK) status = certify_tasks(plan, certificate);
    hs__room_free(&room);
    hs__bus_close(&x);
    return status;
}

hs_status hs_max_tasks_batch(int64_t rows, const hs_task_workers *workers, double bound,
                             int32_t method, const hs_effort *effort, const int *cancel,
                             int64_t *tasks, int64_t *bounds, int64_t *counts)
{
    if (rows < 0 || !hs__workers_given(workers) || !(bound > 0.0) || isinf(bound) ||
        !hs__effort_valid(effort) || (rows > 0 && (!tasks || !bounds || !counts)))
        return HS_ERROR_VALUE;
    const ptrdiff_t p = workers->p;
    hs__bus x;
    hs__room room = {0};
    hs__found found;
    hs_status status = hs__bus_open(workers->p, effort, cancel, &x);
    for (int64_t row = 0; row < rows && status == HS_OK; row++) {
        const ptrdiff_t at = (ptrdiff_t)row;
        hs_task_workers own = *workers;
        own.cycle_times += at * p;
        if (own.sends) own.sends += at * own.send_stride;
        if (own.receives) own.receives += at * own.receive_stride;
        x.end = hs__effort_end(effort); /* each platform has the whole time */
        status = plan_most(&x, &own, bound, method, &room, &found);
        if (status != HS_OK) break;
        tasks[row] = found.tasks;
        bounds[row] = found.bound;
        memset(counts + at * p, 0, (size_t)p * sizeof *counts);
        for (int32_t i = 0; i < x.p; i++) counts[at * p + x.worker[i]] = found.counts[i];
    }
    hs__room_free(&room);
    hs__bus_close(&x);
    return status;
}
