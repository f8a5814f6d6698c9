/* The common part of the planners of layers: arguments, the order of the workers, and the schedule
 * of given counts. */
#include "layers/layers.h"

#include <math.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "core/order.h"
#include "core/sort.h"

bool hs__layers_sequential(const hs_layers *problem)
{
    return problem->mode == HS_SCSS || problem->mode == HS_SCCS;
}

static bool in_range(double time) { return time >= 1.0 / HS_LAYERS_MOST && time <= HS_LAYERS_MOST; }

static int64_t limit_of(const hs_layers *problem, int32_t i)
{
    return problem->most ? hs__min(problem->most[i], problem->layers) : problem->layers;
}

hs_status hs__layers_check(const hs_layers *problem, const int32_t *order)
{
    if (!problem || !problem->compute || !problem->send) return HS_ERROR_VALUE;
    const int32_t p = problem->p;
    if (problem->mode < HS_SCSS || problem->mode > HS_PCSS || p < 1) return HS_ERROR_VALUE;
    if (problem->layers < 0 || problem->layers > HS__SIZE_MOST) return HS_ERROR_VALUE;
    bool able = false;
    int64_t left = problem->layers;
    for (int32_t i = 0; i < p; i++) {
        const double compute = problem->compute[i];
        const double send = problem->send[i];
        if (!in_range(compute) && !(isinf(compute) && compute > 0.0)) return HS_ERROR_VALUE;
        if (!in_range(send) && send != 0.0) return HS_ERROR_VALUE;
        if (problem->most && problem->most[i] < 0) return HS_ERROR_VALUE;
        able |= isfinite(compute);
        if (isfinite(compute)) left -= hs__min(left, limit_of(problem, i));
    }
    if (!able) return HS_ERROR_VALUE;
    const hs_status status = order ? hs__check_order(p, p, order, NULL) : HS_OK;
    return !status && left ? HS_ERROR_INFEASIBLE : status;
}

int32_t hs__layers_open(const hs_layers *problem, const int32_t *order, hs__layer_worker *workers)
{
    const bool overlap = problem->mode == HS_SCSS || problem->mode == HS_PCSS;
    int32_t q = 0;
    for (int32_t d = 0; d < problem->p; d++) {
        const int32_t i = order ? order[d] : d;
        const double compute = problem->compute[i];
        const double send = problem->send[i];
        const int64_t most = limit_of(problem, i);
        if (isinf(compute) || (problem->layers > 0 && most == 0)) continue;
        const double tail = overlap ? fmax(compute - send, 0.0) : compute;
        const double hold = overlap ? fmax(compute, send) : compute + send;
        workers[q++] = (hs__layer_worker){i, most, send, hold, tail, 1.0 / hold, tail / hold};
    }
    return q;
}

static int by_link(const void *a, const void *b)
{
    const hs__layer_worker *x = a;
    const hs__layer_worker *y = b;
    if (x->send != y->send) return x->send < y->send ? -1 : 1;
    if (x->hold != y->hold) return x->hold < y->hold ? -1 : 1;
    if (x->most != y->most) return x->most < y->most ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void hs__layers_sort(int32_t q, hs__layer_worker *workers)
{
    qsort(workers, (size_t)q, sizeof *workers, by_link);
}

double hs__layers_end(int32_t q, const hs__layer_worker *workers, const int64_t *counts)
{
    double now = 0.0;
    double end = 0.0;
    for (int32_t d = 0; d < q; d++) {
        const double k = (double)counts[d];
        if (counts[d] > 0) end = fmax(end, now + k * workers[d].hold);
        now += k * workers[d].send;
    }
    return end;
}

hs_status hs_layers_schedule(const hs_layers *problem, const int32_t *order, const int64_t *counts,
                             double *start, double *received, double *end, double *makespan)
{
    if (!counts || !start || !received || !end || !makespan) return HS_ERROR_VALUE;
    const hs_status status = hs__layers_check(problem, order);
    if (status) return status;
    int64_t left = problem->layers;
    for (int32_t i = 0; i < problem->p; i++) {
        if (counts[i] < 0 || counts[i] > left || counts[i] > limit_of(problem, i))
            return HS_ERROR_VALUE;
        if (counts[i] > 0 && isinf(problem->compute[i])) return HS_ERROR_VALUE;
        left -= counts[i];
    }
    if (left) return HS_ERROR_VALUE;
    double now = 0.0;
    *makespan = 0.0;
    for (int32_t d = 0; d < problem->p; d++) {
        const int32_t i = order ? order[d] : d;
        start[i] = received[i] = end[i] = 0.0;
        if (!counts[i]) continue;
        const double k = (double)counts[i];
        const double message = k * problem->send[i];
        const double work = k * problem->compute[i];
        start[i] = now;
        received[i] = now + message;
        if (problem->mode == HS_SCSS || problem->mode == HS_PCSS)
            end[i] = now + fmax(work, message);
        else end[i] = now + (message + work);
        if (hs__layers_sequential(problem)) now = received[i];
        *makespan = fmax(*makespan, end[i]);
    }
    return HS_OK;
}
