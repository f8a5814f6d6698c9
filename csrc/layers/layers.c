/* Schedules and the paper's closed forms and integers: Liu, Shi, Zhang, Robertazzi, section 4. */
#include "layers/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/order.h"
#include "core/sort.h"

bool hs__layers_sequential(const hs_layers *problem) { return problem->mode == HS_SCSS || problem->mode == HS_SCCS; }

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
    if (problem->layers < 0 || problem->layers > INT64_C(1) << 53) return HS_ERROR_VALUE;
    bool able = false;
    int64_t left = problem->layers;
    for (int32_t i = 0; i < p; i++) {
        const double compute = problem->compute[i], send = problem->send[i];
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
        const double compute = problem->compute[i], send = problem->send[i];
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
    const hs__layer_worker *x = a, *y = b;
    if (x->send != y->send) return x->send < y->send ? -1 : 1;
    if (x->hold != y->hold) return x->hold < y->hold ? -1 : 1;
    if (x->most != y->most) return x->most < y->most ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void hs__layers_sort(int32_t q, hs__layer_worker *workers) { qsort(workers, (size_t)q, sizeof *workers, by_link); }

double hs__layers_end(int32_t q, const hs__layer_worker *workers, const int64_t *counts)
{
    double now = 0.0, end = 0.0;
    for (int32_t d = 0; d < q; d++) {
        const double k = (double)counts[d];
        if (counts[d] > 0) end = fmax(end, now + k * workers[d].hold);
        now += k * workers[d].send;
    }
    return end;
}

hs_status hs_layers_schedule(const hs_layers *problem, const int32_t *order, const int64_t *counts, double *start, double *received,
                             double *end, double *makespan)
{
    if (!counts || !start || !received || !end || !makespan) return HS_ERROR_VALUE;
    const hs_status status = hs__layers_check(problem, order);
    if (status) return status;
    int64_t left = problem->layers;
    for (int32_t i = 0; i < problem->p; i++) {
        if (counts[i] < 0 || counts[i] > left || counts[i] > limit_of(problem, i)) return HS_ERROR_VALUE;
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
        const double k = (double)counts[i], message = k * problem->send[i], work = k * problem->compute[i];
        start[i] = now, received[i] = now + message;
        if (problem->mode == HS_SCSS || problem->mode == HS_PCSS) end[i] = now + fmax(work, message);
        else end[i] = now + (message + work);
        if (hs__layers_sequential(problem)) now = received[i];
        *makespan = fmax(*makespan, end[i]);
    }
    return HS_OK;
}

/* ---- the paper's integers, section 4.5 ---- */

/* One layer after the other to those that have room, in this order and round and round: whole rounds at once. */
static void deal(int64_t layers, int32_t q, const hs__layer_worker *workers, const int32_t *place, int64_t *counts)
{
    while (layers > 0) {
        int64_t open = 0, rounds = layers;
        for (int32_t d = 0; d < q; d++) {
            const int64_t room = workers[d].most - counts[d];
            if (room > 0) open++, rounds = hs__min(rounds, room);
        }
        rounds = hs__min(rounds, layers / open);
        for (int32_t d = 0; d < q; d++) {
            const int32_t i = place[d];
            if (counts[i] == workers[i].most || layers == 0) continue;
            const int64_t more = hs__max(rounds, 1);
            counts[i] += more, layers -= more;
        }
    }
}

/* Counts that sum to n: those that end first get a layer more, or those that end last a layer less. end, place [q]: work space. */
static hs_status adjust(int64_t excess, int32_t q, const hs__layer_worker *workers, bool sequential, double *end, int32_t *place, int64_t *counts)
{
    double now = 0.0;
    for (int32_t d = 0; d < q; d++) {
        const double k = (double)counts[d];
        end[d] = counts[d] ? now + k * workers[d].hold : 0.0;
        if (sequential) now += k * workers[d].send;
    }
    const hs_status status = hs__sort(q, end, place);
    if (status) return status;
    deal(-excess, q, workers, place, counts);
    for (int32_t d = q - 1; excess > 0; d = d > 0 ? d - 1 : q - 1)
        if (counts[place[d]] > 0) counts[place[d]]--, excess--;
    return HS_OK;
}

/* The layers that can be ended in the unit of time if all end together; shares by place, as for hs__layers_rate. */
static double rate_of(const hs_layers *problem, int32_t q, const hs__layer_worker *workers, double *shares)
{
    if (hs__layers_sequential(problem)) return hs__layers_rate(q, workers, shares);
    double rate = 0.0;
    for (int32_t d = 0; d < q; d++) shares[d] = workers[d].rate, rate += workers[d].rate;
    return rate;
}

hs_status hs_layers_paper(const hs_layers *problem, const int32_t *order, double *shares, int64_t *counts)
{
    if (!counts) return HS_ERROR_VALUE;
    hs_status status = hs__layers_check(problem, order);
    if (status) return status;
    const size_t p = (size_t)problem->p;
    hs__layer_worker *workers = malloc(p * sizeof *workers);
    double *own = malloc(2 * p * sizeof *own);
    int64_t *whole = malloc(p * sizeof *whole);
    int32_t *place = malloc(p * sizeof *place);
    if (!workers || !own || !whole || !place) return free(workers), free(own), free(whole), free(place), HS_ERROR_MEMORY;
    const int32_t q = hs__layers_open(problem, order, workers);
    const double n = (double)problem->layers, rate = rate_of(problem, q, workers, own);
    int64_t excess = -problem->layers;
    for (int32_t d = 0; d < q; d++) {
        own[d] = n * (own[d] / rate);
        const double below = floor(own[d]), half = 0.5 + (own[d] + 1.0) * (double)(p + 8) * 0x1p-50; /* .5 up to rounding goes down */
        whole[d] = hs__min((int64_t)below + (own[d] - below > half), workers[d].most);
        excess += whole[d];
    }
    status = adjust(excess, q, workers, hs__layers_sequential(problem), own + p, place, whole);
    if (!status) memset(counts, 0, p * sizeof *counts);
    if (!status && shares) memset(shares, 0, p * sizeof *shares);
    for (int32_t d = 0; d < q && !status; d++) {
        counts[workers[d].index] = whole[d];
        if (shares) shares[workers[d].index] = own[d];
    }
    free(workers), free(own), free(whole), free(place);
    return status;
}

hs_status hs_layers_certificate(const hs_layers *problem, const int32_t *order, const int64_t *counts, const int *cancel,
                                hs_certificate *certificate)
{
    double value, bound;
    if (!problem || problem->p < 1 || !certificate) return HS_ERROR_VALUE;
    const size_t p = (size_t)problem->p;
    double *times = malloc(3 * p * sizeof *times);
    if (!times) return HS_ERROR_MEMORY;
    hs_status status = hs_layers_schedule(problem, order, counts, times, times + p, times + 2 * p, &value);
    free(times);
    if (!status) status = hs_layers_bound(problem, cancel, &bound);
    return status ? status : hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
}
