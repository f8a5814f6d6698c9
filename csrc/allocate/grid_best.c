/* hs_lu_grid_best: the maps of each method, and the one with the least cost. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sum.h"
#include "hetsched.h"

/* Most workers for which HS_LU_GRID_NESTED takes the best of all cuts, and the best cuts of the
 * sorted list. */
enum { ALL_CUTS = 10, SORTED_CUTS = 128 };

typedef struct {
    int32_t n, p;
    const double *times;
    double link_cost;
    const int *cancel;
    int32_t able;     /* workers with a finite cycle-time */
    int32_t *workers; /* [able] */
    double *shares;   /* [p] speeds relative to their sum */
    int32_t *plan;    /* [2 p] floorplan */
    /* the map that is tried: owners [n * n], loads [n], traffic [n], received [p] */
    hs_lu_grid_result trial;
    hs_lu_grid_result *best;
    hs_lu_grid_method found; /* HS_LU_GRID_BEST before the first map */
    double cost;
    int64_t sent;
} search;

/* Adds up in the order of the steps, as the schedule does. */
static double sum_steps(int32_t n, const double *steps)
{
    double sum = 0.0;
    for (int32_t k = 0; k < n; k++) sum += steps[k];
    return sum;
}

/* Copies the map that is tried row by row, because a large one takes long. */
static hs_status keep_map(search *s)
{
    if (s->trial.owner == s->best->owner) return HS_OK;
    const size_t n = (size_t)s->n;
    for (size_t i = 0; i < n; i++) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        memcpy(s->best->owner + i * n, s->trial.owner + i * n, n * sizeof *s->trial.owner);
    }
    return HS_OK;
}

/* Evaluates the map that is tried. It becomes the best one if its cost is less, or the same with
 * less traffic. */
static hs_status judge_map(search *s, hs_lu_grid_method method)
{
    const size_t n = (size_t)s->n;
    hs_lu_grid_result *t = &s->trial;
    const hs_status status = hs_lu_grid_evaluate(s->n, s->p, s->times, t->owner, s->cancel,
                                                 t->loads, t->traffic, t->received);
    if (status) return status;
    int64_t sent = 0;
    for (int32_t k = 0; k < s->n; k++) sent += t->traffic[k];
    const double makespan = sum_steps(s->n, t->loads);
    const double cost = makespan + s->link_cost * (double)sent;
    const bool better = cost < s->cost || (cost == s->cost && sent < s->sent);
    if (s->found != HS_LU_GRID_BEST && !better) return HS_OK;
    s->found = method;
    s->cost = cost;
    s->sent = sent;
    s->best->makespan = makespan;
    memcpy(s->best->loads, t->loads, n * sizeof *t->loads);
    memcpy(s->best->traffic, t->traffic, n * sizeof *t->traffic);
    memcpy(s->best->received, t->received, (size_t)s->p * sizeof *t->received);
    return keep_map(s);
}

static hs_status deal_map(search *s, int32_t length, hs_lu_grid_method method)
{
    const hs_status status =
        hs_lu_grid_deal(s->n, s->p, s->times, s->plan, length, s->cancel, s->trial.owner);
    if (status) return status;
    return judge_map(s, method);
}

/* ---- the methods ----------------------------------------------------------------------------- */

static hs_status try_1d1d(search *s)
{
    const hs_partition problem = {.p = s->p, .areas = s->shares, .method = HS_PARTITION_COLUMNS};
    hs_partition_plan columns = {.plan = s->plan};
    hs_certificate certificate;
    const hs_status status = hs_partition_best(&problem, NULL, s->cancel, &columns, &certificate);
    if (status) return status;
    return deal_map(s, columns.length, HS_LU_GRID_1D1D);
}

static hs_status try_nested(search *s)
{
    int32_t length;
    double cost;
    const hs_status status =
        s->able <= ALL_CUTS      ? hs_partition_guillotine(s->p, s->shares, NULL, 1.0, 0, s->cancel,
                                                           s->plan, &length, &cost)
        : s->able <= SORTED_CUTS ? hs_partition_interval(s->p, s->shares, NULL, 1.0, NULL, NULL,
                                                         0.0, 0, s->cancel, s->plan, &length, &cost)
                                 : hs_partition_rule(HS_RULE_NAGAMOCHI_ABE, s->p, s->shares, 1.0,
                                                     s->cancel, s->plan, &length, &cost);
    if (status) return status;
    return deal_map(s, length, HS_LU_GRID_NESTED);
}

/* Tries a column of the floorplan for each worker. */
static hs_status try_columns(search *s)
{
    int32_t length = 0;
    for (int32_t c = 0; c < s->able; c++) {
        s->plan[length++] = s->workers[c];
        if (c > 0) s->plan[length++] = HS_BESIDE;
    }
    return deal_map(s, length, HS_LU_GRID_COLUMNS);
}

/* Tries the block-cyclic maps of all grids of all workers with a finite cycle-time. */
static hs_status try_cyclic(search *s)
{
    hs_status status = HS_OK;
    for (int32_t rows = 1; rows <= s->able && !status; rows++) {
        if (s->able % rows) continue;
        const int32_t columns = s->able / rows;
        int32_t *owner = s->trial.owner;
        for (int32_t i = 0; i < s->n; i++) {
            if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
            for (int32_t j = 0; j < s->n; j++)
                *owner++ = s->workers[i % rows * columns + j % columns];
        }
        status = judge_map(s, HS_LU_GRID_CYCLIC);
    }
    return status;
}

static hs_status try_maps(search *s, hs_lu_grid_method method)
{
    if (method == HS_LU_GRID_GIVEN) return judge_map(s, method);
    hs_status (*const maps[])(search *) = {try_1d1d, try_nested, try_columns, try_cyclic};
    hs_status status = HS_OK;
    for (int32_t kind = HS_LU_GRID_1D1D; kind <= HS_LU_GRID_CYCLIC && !status; kind++)
        if (method == HS_LU_GRID_BEST || (int32_t)method == kind)
            status = maps[kind - HS_LU_GRID_1D1D](s);
    return status;
}

/* ---- the planner ----------------------------------------------------------------------------- */

/* Lists the workers with a finite cycle-time, and computes the shares of all. Returns the sum of
 * the speeds relative to the fastest worker, which does not overflow. */
static double list_workers(search *s, double fastest)
{
    for (int32_t i = 0; i < s->p; i++) {
        s->shares[i] = fastest / s->times[i];
        if (isfinite(s->times[i])) s->workers[s->able++] = i;
    }
    const double total = hs__sum(s->p, s->shares);
    for (int32_t i = 0; i < s->p; i++) s->shares[i] /= total;
    return total;
}

static hs_status open_search(const hs_lu_grid *grid, const int *cancel, bool several,
                             hs_lu_grid_result *result, search *s)
{
    const size_t n = (size_t)grid->n;
    const size_t p = (size_t)grid->p;
    *s = (search){.n = grid->n,
                  .p = grid->p,
                  .times = grid->cycle_times,
                  .link_cost = grid->link_cost,
                  .cancel = cancel,
                  .best = result};
    s->shares = malloc((p + n) * sizeof *s->shares);
    s->plan = malloc(3 * p * sizeof *s->plan);
    s->trial.traffic = malloc((n + p) * sizeof *s->trial.traffic);
    /* several maps need memory for the one that is tried beside the best one */
    s->trial.owner = several ? malloc(n * n * sizeof *s->trial.owner) : result->owner;
    if (!s->shares || !s->plan || !s->trial.traffic || !s->trial.owner) return HS_ERROR_MEMORY;
    s->trial.loads = s->shares + p;
    s->trial.received = s->trial.traffic + n;
    s->workers = s->plan + 2 * p;
    return HS_OK;
}

static void close_search(search *s)
{
    free(s->shares);
    free(s->plan);
    free(s->trial.traffic);
    if (s->trial.owner != s->best->owner) free(s->trial.owner);
}

static bool is_valid(const hs_lu_grid *grid, hs_lu_grid_method method,
                     const hs_lu_grid_result *result)
{
    return grid && result && grid->n >= 1 && grid->n <= HS_LU_GRID_MOST && grid->p >= 1 &&
           grid->cycle_times && hs__valid_times(grid->p, grid->cycle_times) &&
           hs__valid_costs(1, &grid->link_cost) && (int)method >= HS_LU_GRID_BEST &&
           method <= HS_LU_GRID_GIVEN && result->owner && result->loads && result->ideal &&
           result->traffic && result->received;
}

hs_status hs_lu_grid_best(const hs_lu_grid *grid, hs_lu_grid_method method, const int *cancel,
                          hs_lu_grid_method *found, hs_lu_grid_result *result,
                          hs_certificate *certificate)
{
    if (!is_valid(grid, method, result) || !found || !certificate) return HS_ERROR_VALUE;
    double fastest = INFINITY;
    for (int32_t i = 0; i < grid->p; i++) fastest = fmin(fastest, grid->cycle_times[i]);
    if (isinf(fastest)) return HS_ERROR_VALUE;
    search s;
    const bool several = method == HS_LU_GRID_BEST || method == HS_LU_GRID_CYCLIC;
    hs_status status = open_search(grid, cancel, several, result, &s);
    if (!status) {
        const double total = list_workers(&s, fastest);
        for (int32_t k = 0; k < s.n; k++) {
            const double m = s.n - 1 - k;
            result->ideal[k] = m * m / total * fastest;
        }
        status = try_maps(&s, method);
    }
    double *bounds = s.trial.loads;
    if (!status) status = hs_lu_grid_bound(s.n, s.p, s.times, s.link_cost, cancel, bounds);
    if (!status)
        status =
            hs_certificate_of("cost", HS_MINIMISED, s.cost, sum_steps(s.n, bounds), certificate);
    close_search(&s);
    if (status) return status;
    if (certificate->optimal) certificate->scope = "all maps of whole blocks";
    *found = s.found;
    return HS_OK;
}
