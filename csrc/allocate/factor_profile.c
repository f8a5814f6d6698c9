/* hs_factor_profile_bound: a lower bound of factorisations in which the time of an update depends
 * on the step.
 *
 * Let a_ki be the least time per multiply-add of worker i in step k, and W_k the work of the step.
 * No worker is busy for longer than the makespan T. So for any prices y_i >= 0 of the workers'
 * time, T sum y_i >= sum y_i busy_i >= sum_k W_k min_i(y_i a_ki). This bounds T. The best prices
 * are the dual solution of the perfect division of the work. The search starts with prices
 * proportional to the mean speeds, which are the best ones if the speeds are the same in all steps,
 * and raises the price of the workers that the cheapest division overloads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocate/factor.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "hetsched.h"

enum {
    ROUNDS = 100,     /* prices that are tried, at most */
    EFFORT = 1 << 24, /* times looked at, about */
};

typedef struct {
    hs__factor_blocks blocks;
    int32_t p;
    const double *least, *panel_times;
    double unit; /* least of all times */
    const int *cancel;
} factorisation;

/* Job `panels` is all panels, job k below it the updates of step k. */
static double work_of_job(const factorisation *x, int32_t job)
{
    if (job < x->blocks.panels) return hs__updates_work(&x->blocks, job);
    double sum = 0.0;
    for (int32_t k = 0; k < x->blocks.panels; k++) sum += hs__panel_work(&x->blocks, k);
    return sum;
}

/* Returns the times [p] of the workers per multiply-add of a job. */
static const double *times_of_job(const factorisation *x, int32_t job)
{
    return job < x->blocks.panels ? x->least + (int64_t)job * x->p : x->panel_times;
}

/* Sets prices [p] proportional to the mean speeds. */
static void price_by_speed(const factorisation *x, double *prices)
{
    memset(prices, 0, (size_t)x->p * sizeof *prices);
    for (int32_t job = 0; job <= x->blocks.panels; job++) {
        const double *times = times_of_job(x, job);
        const double work = work_of_job(x, job);
        for (int32_t i = 0; i < x->p; i++) prices[i] += work * (x->unit / times[i]);
    }
}

/* Returns the bound of these prices, in units. busy [p] out: of the cheapest division. */
static double bound_by_prices(const factorisation *x, const double *prices, double *busy)
{
    double cost = 0.0;
    double sum = 0.0;
    memset(busy, 0, (size_t)x->p * sizeof *busy);
    for (int32_t i = 0; i < x->p; i++) sum += prices[i];
    for (int32_t job = 0; job <= x->blocks.panels && !hs__cancelled(x->cancel); job++) {
        const double *times = times_of_job(x, job);
        const double work = work_of_job(x, job);
        double least = INFINITY;
        int32_t cheapest = 0;
        if (work <= 0.0) continue;
        for (int32_t i = 0; i < x->p; i++) {
            if (isinf(times[i]) || !(prices[i] * (times[i] / x->unit) < least)) continue;
            least = prices[i] * (times[i] / x->unit);
            cheapest = i;
        }
        cost += work * least;
        busy[cheapest] += work * (times[cheapest] / x->unit);
    }
    return sum > 0.0 ? cost / sum : 0.0;
}

/* Searches prices; returns the best bound, in units. prices, busy [p]: workspace */
static double search_prices(const factorisation *x, double *prices, double *busy)
{
    const int64_t size = (int64_t)x->p * (x->blocks.panels + 1);
    const int64_t rounds = hs__max(4, hs__min(ROUNDS, EFFORT / size));
    price_by_speed(x, prices);
    double best = bound_by_prices(x, prices, busy);
    for (int64_t round = 1; round < rounds && !hs__cancelled(x->cancel); round++) {
        double longest = 0.0;
        for (int32_t i = 0; i < x->p; i++) longest = fmax(longest, busy[i]);
        if (!(longest > 0.0 && isfinite(longest))) break;
        /* smaller steps round by round: an overloaded worker becomes dearer, an idle one cheaper */
        const double step = 0.5 / sqrt((double)round);
        for (int32_t i = 0; i < x->p; i++)
            prices[i] *= exp(step * fmax(-1.0, (busy[i] - best) / longest));
        best = fmax(best, bound_by_prices(x, prices, busy));
    }
    return best;
}

/* The first panel, then one after another each further panel with the update right before it, by
 * the worker that is fastest at both together. */
static double critical_path(const factorisation *x)
{
    const hs__factor_blocks *b = &x->blocks;
    double first = INFINITY;
    for (int32_t i = 0; i < x->p; i++) first = fmin(first, x->panel_times[i]);
    double sum = hs__panel_work(b, 0) * first;
    for (int32_t k = 0; k + 1 < b->panels && !hs__cancelled(x->cancel); k++) {
        const double *times = times_of_job(x, k);
        const double update = hs__update_work(b, k, k + 1), panel = hs__panel_work(b, k + 1);
        double fastest = INFINITY;
        for (int32_t i = 0; i < x->p; i++)
            fastest = fmin(fastest, update * times[i] + panel * x->panel_times[i]);
        sum += fastest;
    }
    return sum;
}

/* Checks the times of a job that has work: positive, and finite for a worker. Lowers *unit to the
 * least of them. */
static int check_job(int32_t p, const double *times, double work, double *unit)
{
    double least = INFINITY;
    if (!hs__valid_times(p, times)) return 0;
    for (int32_t i = 0; i < p; i++) least = fmin(least, times[i]);
    *unit = fmin(*unit, least);
    return work <= 0.0 || isfinite(least);
}

hs_status hs_factor_profile_bound(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                                  const double *least, const double *panel_times, const int *cancel,
                                  double *ideal, double *bound)
{
    factorisation x = {
        .p = p, .least = least, .panel_times = panel_times, .unit = INFINITY, .cancel = cancel};
    if (p < 1 || !bound || !hs__factor_blocks_init(&x.blocks, kind, m, n, block))
        return HS_ERROR_VALUE;
    if (x.blocks.panels && (!least || !panel_times)) return HS_ERROR_VALUE;
    double divided = 0.0;
    double path = 0.0;
    if (x.blocks.panels) {
        for (int32_t job = 0; job <= x.blocks.panels; job++)
            if (!check_job(p, times_of_job(&x, job), work_of_job(&x, job), &x.unit))
                return HS_ERROR_VALUE;
        double *prices = malloc(2 * (size_t)p * sizeof *prices);
        if (!prices) return HS_ERROR_MEMORY;
        divided = search_prices(&x, prices, prices + p) * x.unit;
        path = critical_path(&x);
        free(prices);
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        if (!isfinite(divided) || !isfinite(path)) return HS_ERROR_VALUE;
    }
    if (ideal) *ideal = divided;
    *bound = fmax(divided, path);
    return HS_OK;
}
