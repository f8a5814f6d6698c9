/* Divisible layers: how many layers the workers can do in which time, in a given order and in any
 * order, with limits; and the lower bound for whole layers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "layers/layers.h"

double hs__layers_rate(int32_t q, const hs__layer_worker *workers, double *shares)
{
    double rate = 0.0;
    double left = 1.0; /* part of the unit of time that remains when the message starts */
    for (int32_t d = q; d-- > 0;) rate = workers[d].rate + workers[d].keep * rate;
    for (int32_t d = 0; d < q && shares; d++) {
        shares[d] = left * workers[d].rate;
        left *= workers[d].keep;
    }
    return rate;
}

/* ---- one order ------------------------------------------------------------------------------- */

hs__layer_curve hs__layers_curve(int64_t points)
{
    hs__layer_curve curve = {.layers = malloc(2 * (size_t)points * sizeof *curve.layers)};
    if (curve.layers) curve.time = curve.layers + points;
    return curve;
}

double hs__layers_time(const hs__layer_curve *curve, double layers)
{
    int32_t low = 0;
    int32_t high = curve->count;
    /* finds the first point with as many layers */
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (curve->layers[middle] < layers) low = middle + 1;
        else high = middle;
    }
    if (low == curve->count) return INFINITY;
    if (low == 0) return curve->time[0];
    const double *x = curve->layers + low;
    const double *y = curve->time + low;
    return y[-1] + (y[0] - y[-1]) * ((layers - x[-1]) / (x[0] - x[-1]));
}

/* Appends a point, unless it has no more layers than the last point: then it would only be
 * later. */
static void append_point(hs__layer_curve *curve, double layers, double time)
{
    if (curve->count > 0 && !(layers > curve->layers[curve->count - 1])) return;
    curve->layers[curve->count] = layers;
    curve->time[curve->count++] = time;
}

static bool has_layers(const hs__layer_curve *curve, double layers)
{
    return curve->layers[curve->count - 1] >= layers;
}

/* Computes the sum of a curve and a worker. Every point of the curve leaves the worker some time,
 * `each` of which it needs per layer. The point moves by the layers that the worker may do in this
 * time, and by the time of their message. The slopes of the sum must increase. So the parts of the
 * curve that use their links better than the worker would stay where they are, and the parts after
 * them move. Returns the time at that place. */
static double add_worker(const hs__layer_curve *from, const hs__layer_worker *worker, bool last,
                         double end, double layers, hs__layer_curve *sum)
{
    const double each = last ? worker->hold : worker->tail;
    const double send = worker->send;
    const double most = (double)worker->most;
    const double enough = most * each;
    const double *x = from->layers;
    const double *y = from->time;
    int32_t turn = 0;
    sum->count = 0;
    append_point(sum, x[0], y[0]);
    while (turn + 1 < from->count && y[turn + 1] - y[turn] < send * (x[turn + 1] - x[turn]) &&
           !has_layers(sum, layers)) {
        turn++;
        append_point(sum, x[turn], y[turn]);
    }
    double before = 0.0;
    for (int32_t i = turn; i < from->count && !has_layers(sum, layers); i++) {
        const double given = last ? fmax(end - y[i], 0.0) : y[i];
        /* from here on the worker's limit binds, or binds no more */
        if (i > turn && (before < enough) != (given < enough)) {
            const double part = (enough - before) / (given - before);
            append_point(sum, x[i - 1] + part * (x[i] - x[i - 1]) + most,
                         y[i - 1] + part * (y[i] - y[i - 1]) + send * most);
        }
        const double more = each > 0.0 ? fmin(most, given / each) : most;
        append_point(sum, x[i] + more, y[i] + send * more);
        before = given;
    }
    if (!last && before < enough && !has_layers(sum, layers))
        append_point(sum, x[from->count - 1] + most, enough + send * most);
    return y[turn];
}

double hs__layers_put_first(const hs__layer_curve *from, const hs__layer_worker *worker,
                            double layers, hs__layer_curve *sum)
{
    return add_worker(from, worker, false, 0.0, layers, sum);
}

void hs__layers_put_last(const hs__layer_curve *from, const hs__layer_worker *worker, double end,
                         double layers, hs__layer_curve *sum)
{
    add_worker(from, worker, true, end, layers, sum);
}

/* Computes the shares from the least times that each worker leaves to those after it. Layers left
 * over by rounding go to the last workers with room. */
static void read_shares(double layers, double time, int32_t q, const hs__layer_worker *workers,
                        double *shares)
{
    for (int32_t d = 0; d < q; d++) {
        const hs__layer_worker *w = &workers[d];
        const double turn = shares[d];
        const double spare = w->send > 0.0 ? fmax(time - turn, 0.0) / w->send : INFINITY;
        const double busy = time * w->rate;
        const double own = fmin(fmin(busy, (double)w->most), layers);
        shares[d] = fmin(spare, own);
        if (spare < own) time = fmin(time, turn);
        else time = own < busy ? fmax(time - own * w->send, 0.0) : time * w->keep;
        layers -= shares[d];
    }
    for (int32_t d = q; d-- > 0 && layers > 0.0;) {
        const double more = fmin(layers, (double)workers[d].most - shares[d]);
        shares[d] += more;
        layers -= more;
    }
}

double hs__layers_shares(double layers, int32_t q, const hs__layer_worker *workers,
                         hs__layer_curve room[2], double *shares)
{
    hs__layer_curve *now = &room[0];
    hs__layer_curve *next = &room[1];
    now->count = 0;
    append_point(now, 0.0, 0.0);
    for (int32_t d = q; d-- > 0;) {
        shares[d] = hs__layers_put_first(now, &workers[d], layers, next);
        hs__layer_curve *other = now;
        now = next;
        next = other;
    }
    const double time = hs__layers_time(now, fmin(layers, now->layers[now->count - 1]));
    read_shares(layers, time, q, workers, shares);
    return time;
}

/* ---- any order ------------------------------------------------------------------------------- */

/* Use of the links by a set of workers that are busy to the end, and the time that they leave, per
 * unit of time. Both do not depend on the order. */
typedef struct {
    double used, left;
} busy_set;

static void add_busy_worker(busy_set *set, const hs__layer_worker *w)
{
    set->used += set->left * fmin(w->send * w->rate, 1.0);
    set->left *= w->keep;
}

/* Returns how many workers of the pool, from the first on, should be busy to the end instead of
 * reaching their limits, so that both groups together use the links least. */
static int32_t worth_joining(busy_set set, double end, int32_t count, const int32_t *pool,
                             const hs__layer_worker *sorted)
{
    const double now = set.used;
    double least = 0.0;
    double limits = 0.0;
    int32_t best = 0;
    for (int32_t k = 0; k < count; k++) {
        const hs__layer_worker *w = &sorted[pool[k]];
        add_busy_worker(&set, w);
        limits += (double)w->most * w->send;
        const double change = end * (set.used - now) - limits;
        if (change < least) {
            least = change;
            best = k + 1;
        }
    }
    return best;
}

/* For a set S of workers, in any order, sum over S of x send <= end (1 - product over S of keep),
 * as each worker can at most be busy to the end; and x <= most. So the workers with the fastest
 * links together use the links for at most the minimum, over all subsets A of them, of the bound
 * for A plus the limits of the workers outside of A.
 *
 * This rank is submodular. Hence the greedy shares, by the fastest links first, are the maximum,
 * and the sets A grow. For one rank the best A is found by sorting by limit beside -log(keep), the
 * greatest first, as 1 - exp(-x) is concave. */
double hs__layers_front(int32_t q, const hs__layer_worker *sorted, double end, double *key,
                        int32_t *pool, hs__layer_curve *front, double *shares)
{
    busy_set set = {0.0, 1.0};
    double layers = 0.0;
    double now = 0.0;
    double slope = 0.0;
    int32_t count = 0; /* of the pool: workers with limits that are not in A */
    front->count = 0;
    append_point(front, 0.0, 0.0);
    for (int32_t i = 0; i < q; i++) {
        const hs__layer_worker *w = &sorted[i];
        const double most = (double)w->most;
        const double used = set.used;
        const double busy = end * w->rate;
        double own = fmin(most, busy);
        if (w->send > 0.0) {
            if (most < busy) {
                int32_t k = count++;
                for (key[i] = w->send * most / -log1p(-fmin(w->send * w->rate, 1.0));
                     k > 0 && key[pool[k - 1]] < key[i]; k--)
                    pool[k] = pool[k - 1];
                pool[k] = i;
            } else add_busy_worker(&set, w);
            const int32_t joining = count ? worth_joining(set, end, count, pool, sorted) : 0;
            for (int32_t k = 0; k < joining; k++) add_busy_worker(&set, &sorted[pool[k]]);
            if (joining) memmove(pool, pool + joining, (size_t)(count -= joining) * sizeof *pool);
            double rank = end * set.used;
            for (int32_t k = 0; k < count; k++)
                rank += (double)sorted[pool[k]].most * sorted[pool[k]].send;
            own = fmin(own, fmax(rank - now, 0.0) / w->send);
            slope += (set.used - used) / w->send;
            now = fmax(now, rank);
        } else if (busy <= most) slope += w->rate;
        if (shares) shares[i] = own;
        append_point(front, layers += own, now);
    }
    return slope;
}

/* Computes the least time of so many layers in any order or mix of orders: Newton's method for a
 * concave function, from below. It ends when no more layers are missing than the sums can be off by:
 * if only very slow workers have no limit, a step for these layers would be far too long. */
static hs_status in_any_order(double layers, int32_t q, const hs__layer_worker *sorted,
                              double *shares, double *time)
{
    enum { ROUNDS = 100 };
    double *key = malloc((size_t)q * sizeof *key);
    int32_t *pool = malloc((size_t)q * sizeof *pool);
    hs__layer_curve front = hs__layers_curve((int64_t)q + 1);
    if (!key || !pool || !front.layers) {
        free(key);
        free(pool);
        free(front.layers);
        return HS_ERROR_MEMORY;
    }
    *time = layers / hs__layers_rate(q, sorted, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        const double slope = hs__layers_front(q, sorted, *time, key, pool, &front, shares);
        const double missing = layers - front.layers[front.count - 1];
        const double next = *time + missing / slope;
        if (!(missing > layers * q * 0x1p-52 && next > *time && isfinite(next))) break;
        *time = next;
    }
    free(key);
    free(pool);
    free(front.layers);
    return HS_OK;
}

/* ---- all messages at once -------------------------------------------------------------------- */

/* Computes the relaxed shares: workers that reach their limits are left out, until no worker
 * exceeds its limit. */
static double at_once(double layers, int32_t q, const hs__layer_worker *workers, double *shares)
{
    double time = 0.0;
    for (int32_t d = 0; d < q; d++) shares[d] = -1.0;
    for (bool again = true; again;) {
        double rate = 0.0;
        again = false;
        for (int32_t d = 0; d < q; d++)
            if (shares[d] < 0.0) rate += workers[d].rate;
        if (!(rate > 0.0)) break;
        time = fmax(time, layers / rate);
        for (int32_t d = 0; d < q; d++) {
            if (shares[d] >= 0.0 || time * workers[d].rate <= (double)workers[d].most) continue;
            shares[d] = (double)workers[d].most;
            layers -= shares[d];
            again = true;
        }
    }
    for (int32_t d = 0; d < q; d++)
        if (shares[d] < 0.0) shares[d] = time * workers[d].rate;
    return time;
}

/* A worker that would get more than its limit gets exactly its limit in the end, because no worker
 * gets less when another one is limited. */
hs_status hs__layers_apart(int64_t layers, int32_t q, const hs__layer_worker *workers,
                           const int *cancel, int64_t *counts, double *makespan)
{
    double *hold = malloc((size_t)q * sizeof *hold);
    double end = 0.0;
    int64_t *found = malloc((size_t)q * sizeof *found);
    if (!hold || !found) {
        free(hold);
        free(found);
        return HS_ERROR_MEMORY;
    }
    hs_status status = HS_OK;
    for (int32_t d = 0; d < q; d++) {
        hold[d] = workers[d].hold;
        counts[d] = 0;
    }
    for (bool again = layers > 0; again && !status;) {
        again = false;
        status = hs_distribute(layers, q, hold, cancel, found, NULL);
        for (int32_t d = 0; d < q && !status; d++) {
            if (isinf(hold[d]) || found[d] <= workers[d].most) continue;
            counts[d] = workers[d].most;
            layers -= counts[d];
            hold[d] = INFINITY;
            again = layers > 0;
        }
        for (int32_t d = 0; d < q && !status && !again && layers; d++)
            if (isfinite(hold[d])) counts[d] = found[d];
    }
    for (int32_t d = 0; d < q && !status; d++)
        if (counts[d] > 0) end = fmax(end, (double)counts[d] * workers[d].hold);
    if (!status) *makespan = end;
    free(hold);
    free(found);
    return status;
}

/* ---- public functions ------------------------------------------------------------------------ */

/* Solves the relaxation for open workers; for any order it first sorts them. Shares are by
 * place. */
static hs_status solve_relaxation(const hs_layers *problem, bool any, int32_t q,
                                  hs__layer_worker *workers, double *shares, double *time)
{
    const double layers = (double)problem->layers;
    if (!hs__layers_sequential(problem)) {
        *time = at_once(layers, q, workers, shares);
        return HS_OK;
    }
    if (any) {
        hs__layers_sort(q, workers);
        return in_any_order(layers, q, workers, shares, time);
    }
    hs__layer_curve room[2] = {hs__layers_curve(2 * (int64_t)q + 1),
                               hs__layers_curve(2 * (int64_t)q + 1)};
    const hs_status status = hs__check_memory(room[0].layers && room[1].layers);
    if (!status) *time = hs__layers_shares(layers, q, workers, room, shares);
    free(room[0].layers);
    free(room[1].layers);
    return status;
}

hs_status hs_layers_relaxed(const hs_layers *problem, const int32_t *order, double *shares,
                            double *makespan)
{
    if (!makespan) return HS_ERROR_VALUE;
    hs_status status = hs__layers_check(problem, order);
    if (status) return status;
    const size_t p = (size_t)problem->p;
    hs__layer_worker *workers = malloc(p * sizeof *workers);
    double *own = malloc(p * sizeof *own);
    double time = 0.0;
    status = hs__check_memory(workers && own);
    if (!status) {
        const int32_t q = hs__layers_open(problem, order, workers);
        status = solve_relaxation(problem, !order, q, workers, own, &time);
        if (!status && shares) memset(shares, 0, p * sizeof *shares);
        for (int32_t d = 0; d < q && !status && shares; d++) shares[workers[d].index] = own[d];
        if (!status) *makespan = time;
    }
    free(workers);
    free(own);
    return status;
}

hs_status hs_layers_bound(const hs_layers *problem, const int *cancel, double *bound)
{
    if (!bound) return HS_ERROR_VALUE;
    double shared, apart;
    hs_status status = hs_layers_relaxed(problem, NULL, NULL, &shared);
    if (status) return status;
    const size_t p = (size_t)problem->p;
    hs__layer_worker *workers = malloc(p * sizeof *workers);
    int64_t *counts = malloc(p * sizeof *counts);
    status = hs__check_memory(workers && counts);
    if (!status)
        status = hs__layers_apart(problem->layers, hs__layers_open(problem, NULL, workers), workers,
                                  cancel, counts, &apart);
    free(workers);
    free(counts);
    /* margin for the rounding of the sums */
    if (!status) *bound = fmax(apart, shared * (1.0 - (double)(p + 8) * 0x1p-51));
    return status;
}

hs_status hs_layers_certificate(const hs_layers *problem, const int32_t *order,
                                const int64_t *counts, const int *cancel,
                                hs_certificate *certificate)
{
    double value, bound;
    if (!problem || problem->p < 1 || !certificate) return HS_ERROR_VALUE;
    const size_t p = (size_t)problem->p;
    double *times = malloc(3 * p * sizeof *times);
    if (!times) return HS_ERROR_MEMORY;
    hs_status status =
        hs_layers_schedule(problem, order, counts, times, times + p, times + 2 * p, &value);
    free(times);
    if (!status) status = hs_layers_bound(problem, cancel, &bound);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
}
