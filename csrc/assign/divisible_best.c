/* hs_divisible_best: the orders that a search starts from, how long it goes on, and what is proven
 * about the plan. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "assign/divisible_core.h"
#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
#include "core/order.h"
#include "core/sort.h"

/* Work of the search, in numbers of the programs' tables: about a second. By hand. */
static const double WORK = 3e8;

/* Orders of the workers that can work, and the best shares of a load of 1 for them. */
typedef struct {
    int32_t *out, *back; /* [p] */
    double *shares;      /* [p] */
    double makespan;
    int proven; /* no orders are better */
} orders;

/* The workers that can work, with room for two plans. */
typedef struct {
    int32_t p;
    int32_t *worker; /* [p] their indices */
    double *times, *sends, *receives;
    orders best, other;
    const int *cancel;
    uint64_t seed;
    double end;
    double bound; /* on the makespan for a load of 1 */
} load_problem;

/* Returns memory to be freed, NULL if there is none. */
static void *open_problem(const hs_divisible_load *load, const hs_effort *effort, const int *cancel,
                          load_problem *x)
{
    const size_t p = (size_t)load->p;
    double *memory = malloc(p * (5 * sizeof(double) + 5 * sizeof(int32_t)));
    if (!memory) return NULL;
    int32_t *ints = (int32_t *)(memory + 5 * p);
    *x = (load_problem){
        .times = memory,
        .sends = memory + p,
        .receives = memory + 2 * p,
        .best = {.shares = memory + 3 * p, .out = ints, .back = ints + p},
        .other = {.shares = memory + 4 * p, .out = ints + 2 * p, .back = ints + 3 * p},
        .worker = ints + 4 * p,
        .cancel = cancel,
        .seed = 1 + hs__effort_seed(effort),
        .end = hs__effort_end(effort)};
    for (int32_t i = 0; i < load->p; i++) {
        if (isinf(load->cycle_times[i])) continue;
        x->worker[x->p] = i;
        x->times[x->p] = load->cycle_times[i];
        x->sends[x->p] = load->sends ? load->sends[i] : 0.0;
        x->receives[x->p] = load->receives ? load->receives[i] : 0.0;
        x->p++;
    }
    return memory;
}

/* Returns whether all numbers are in range: each worker's time for a unit of load, and the time of
 * the whole load on the best worker alone. */
static bool is_in_range(const load_problem *x, double size)
{
    double least = INFINITY;
    for (int32_t i = 0; i < x->p; i++) {
        const double alone = x->times[i] + x->sends[i] + x->receives[i];
        if (!isfinite(alone)) return false;
        least = fmin(least, alone);
    }
    return x->p > 0 && isfinite(least * size);
}

/* Solves for the given orders, or searches from them. */
static hs_status solve(const load_problem *x, int64_t work, double enough, orders *y)
{
    return hs__search_orders(x->p, x->times, x->sends, x->receives, work, x->end, x->seed, enough,
                             x->cancel, y->out, y->back, y->shares, &y->makespan, &y->proven);
}

static void take_other(load_problem *x)
{
    const orders kept = x->best;
    x->best = x->other;
    x->other = kept;
}

/* Sorts by link cost: the cheapest messages go out first. Fifo: the answers come back in the same
 * order; if they cost more than the messages out, the cheapest links are last. */
static hs_status order_fifo(const load_problem *x, orders *y)
{
    const hs_status status = hs__sort(x->p, x->sends, y->out);
    bool dear = false;
    for (int32_t i = 0; i < x->p; i++) dear |= x->receives[i] > x->sends[i];
    if (dear) hs__reverse(x->p, y->out);
    memcpy(y->back, y->out, (size_t)x->p * sizeof *y->back);
    return status;
}

/* Lifo: the answers come back in the opposite order. Each constraint then has both messages of a
 * worker or none, as if there were only messages out of cost send + receive. So the least sums come
 * first, which is optimal. y->shares is free until the program is solved. */
static hs_status order_lifo(const load_problem *x, orders *y)
{
    for (int32_t i = 0; i < x->p; i++) y->shares[i] = x->sends[i] + x->receives[i];
    const hs_status status = hs__sort(x->p, y->shares, y->out);
    memcpy(y->back, y->out, (size_t)x->p * sizeof *y->back);
    hs__reverse(x->p, y->back);
    return status;
}

/* Returns whether the answers of all workers cost the same finite multiple of their messages out.
 * Only then is the order of order_fifo proven to be the best one of its kind. */
static bool is_proportional(const load_problem *x)
{
    double low = INFINITY;
    double high = 0.0;
    for (int32_t i = 0; i < x->p; i++) {
        if (x->sends[i] == 0.0 && x->receives[i] == 0.0) continue;
        const double ratio = x->receives[i] / x->sends[i];
        low = fmin(low, ratio);
        high = fmax(high, ratio);
    }
    return high < INFINITY && high <= low * (1.0 + HS_EQUAL);
}

static bool meets_bound(const load_problem *x)
{
    hs_certificate proof;
    return hs_certificate_of("makespan", HS_MINIMISED, x->best.makespan, x->bound, &proof) ==
               HS_OK &&
           proof.optimal;
}

/* Takes the better one of both rules, and searches from there until the bound is met. */
static hs_status search_best(load_problem *x)
{
    hs_status status = order_fifo(x, &x->best);
    if (status == HS_OK) status = solve(x, 0, 0.0, &x->best);
    if (status == HS_OK) status = order_lifo(x, &x->other);
    if (status == HS_OK) status = solve(x, 0, 0.0, &x->other);
    if (status != HS_OK) return status;
    if (x->other.makespan < x->best.makespan) take_other(x);
    if (meets_bound(x)) return HS_OK;
    memcpy(x->other.out, x->best.out, (size_t)x->p * sizeof *x->other.out);
    memcpy(x->other.back, x->best.back, (size_t)x->p * sizeof *x->other.back);
    const double programs = ceil(WORK / (3.0 * x->p * x->p * x->p));
    status =
        solve(x, isfinite(x->end) ? INT64_MAX : (int64_t)fmax(programs, 1.0), x->bound, &x->other);
    if (status != HS_OK) return status;
    if (x->other.proven || x->other.makespan <= x->best.makespan) take_other(x);
    return HS_OK;
}

/* Writes the plan; HS_ERROR_VALUE if a time or a share is below the normal numbers. */
static hs_status write_plan(const load_problem *x, const hs_divisible_load *load,
                            hs_divisible_plan *plan)
{
    const orders *y = &x->best;
    const double makespan = y->makespan * load->size;
    double least = fmin(y->makespan, makespan);
    for (int32_t i = 0; i < x->p; i++)
        if (y->shares[i] > 0.0) least = fmin(least, y->shares[i] * load->size);
    if (!(least >= DBL_MIN)) return HS_ERROR_VALUE;
    memset(plan->shares, 0, (size_t)load->p * sizeof *plan->shares);
    plan->served = 0;
    for (int32_t d = 0; d < x->p; d++) {
        const int32_t i = y->out[d];
        plan->shares[x->worker[i]] = y->shares[i] * load->size;
        if (y->shares[i] > 0.0) plan->send_order[plan->served++] = x->worker[i];
    }
    int32_t q = 0;
    for (int32_t d = 0; d < x->p; d++)
        if (y->shares[y->back[d]] > 0.0) plan->receive_order[q++] = x->worker[y->back[d]];
    plan->answering = load->receives ? q : 0;
    plan->makespan = makespan;
    return HS_OK;
}

hs_status hs_divisible_best(const hs_divisible_load *load, int32_t method, const hs_effort *effort,
                            const int *cancel, hs_divisible_plan *plan, hs_certificate *certificate)
{
    if (!load || load->p < 1 || !load->cycle_times || !plan || !plan->shares || !plan->send_order ||
        !plan->receive_order || !certificate || !hs__effort_valid(effort) || method < 0 ||
        method > HS_DIVISIBLE_LIFO || !(load->size > 0.0) || isinf(load->size) ||
        !hs__valid_times(load->p, load->cycle_times) ||
        (load->sends && !hs__valid_costs(load->p, load->sends)) ||
        (load->receives && !hs__valid_costs(load->p, load->receives)))
        return HS_ERROR_VALUE;
    load_problem x;
    void *memory = open_problem(load, effort, cancel, &x);
    if (!memory) return HS_ERROR_MEMORY;
    hs_status status = is_in_range(&x, load->size) ? HS_OK : HS_ERROR_VALUE;
    if (status == HS_OK)
        status = hs_divisible_bound(x.p, x.times, x.sends, x.receives, cancel, &x.bound);
    if (status == HS_OK && method == HS_DIVISIBLE_BEST) status = search_best(&x);
    else if (status == HS_OK) {
        status = method == HS_DIVISIBLE_FIFO ? order_fifo(&x, &x.best) : order_lifo(&x, &x.best);
        if (status == HS_OK) status = solve(&x, 0, 0.0, &x.best);
    }
    if (status == HS_OK) status = write_plan(&x, load, plan);
    if (status == HS_OK) {
        const bool optimal = x.best.proven || meets_bound(&x);
        const bool exact = method == HS_DIVISIBLE_BEST && optimal && x.p <= HS_DIVISIBLE_PROVEN;
        plan->method = exact ? HS_DIVISIBLE_EXACT : method;
        status = hs_certificate_of("makespan", HS_MINIMISED, plan->makespan,
                                   optimal ? plan->makespan : x.bound * load->size, certificate);
        certificate->scope = "";
        if (method == HS_DIVISIBLE_FIFO && is_proportional(&x))
            certificate->scope = "first in, first out";
        if (method == HS_DIVISIBLE_LIFO) certificate->scope = "last in, first out";
        if (optimal) certificate->scope = "all orders";
    }
    free(memory);
    return status;
}
