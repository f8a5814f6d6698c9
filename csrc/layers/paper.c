/* The closed forms and the integers of the paper: Liu, Shi, Zhang, Robertazzi, section 4. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/sort.h"
#include "layers/layers.h"

/* ---- integers, section 4.5 ------------------------------------------------------------------- */

/* Deals layers one by one to the workers with room, round-robin in this order; whole rounds are
 * dealt at once. */
static void deal_layers(int64_t layers, int32_t q, const hs__layer_worker *workers,
                        const int32_t *place, int64_t *counts)
{
    while (layers > 0) {
        int64_t open = 0;
        int64_t rounds = layers;
        for (int32_t d = 0; d < q; d++) {
            const int64_t room = workers[d].most - counts[d];
            if (room > 0) {
                open++;
                rounds = hs__min(rounds, room);
            }
        }
        rounds = hs__min(rounds, layers / open);
        for (int32_t d = 0; d < q; d++) {
            const int32_t i = place[d];
            if (counts[i] == workers[i].most || layers == 0) continue;
            const int64_t more = hs__max(rounds, 1);
            counts[i] += more;
            layers -= more;
        }
    }
}

/* Adjusts counts to sum to n: the workers that end first get one more layer each, or those that end
 * last lose one. end, place [q]: workspace. */
static hs_status adjust_counts(int64_t excess, int32_t q, const hs__layer_worker *workers,
                               bool sequential, double *end, int32_t *place, int64_t *counts)
{
    double now = 0.0;
    for (int32_t d = 0; d < q; d++) {
        const double k = (double)counts[d];
        end[d] = counts[d] ? now + k * workers[d].hold : 0.0;
        if (sequential) now += k * workers[d].send;
    }
    const hs_status status = hs__sort(q, end, place);
    if (status) return status;
    deal_layers(-excess, q, workers, place, counts);
    for (int32_t d = q - 1; excess > 0; d = d > 0 ? d - 1 : q - 1)
        if (counts[place[d]] > 0) {
            counts[place[d]]--;
            excess--;
        }
    return HS_OK;
}

/* Returns how many layers can be ended per unit of time if all workers end together; shares by
 * place, as for hs__layers_rate. */
static double rate_of(const hs_layers *problem, int32_t q, const hs__layer_worker *workers,
                      double *shares)
{
    if (hs__layers_sequential(problem)) return hs__layers_rate(q, workers, shares);
    double rate = 0.0;
    for (int32_t d = 0; d < q; d++) {
        shares[d] = workers[d].rate;
        rate += workers[d].rate;
    }
    return rate;
}

hs_status hs_layers_paper(const hs_layers *problem, const int32_t *order, double *shares,
                          int64_t *counts)
{
    if (!counts) return HS_ERROR_VALUE;
    hs_status status = hs__layers_check(problem, order);
    if (status) return status;
    const size_t p = (size_t)problem->p;
    hs__layer_worker *workers = malloc(p * sizeof *workers);
    double *own = malloc(2 * p * sizeof *own);
    int64_t *whole = malloc(p * sizeof *whole);
    int32_t *place = malloc(p * sizeof *place);
    if (!workers || !own || !whole || !place) {
        free(workers);
        free(own);
        free(whole);
        free(place);
        return HS_ERROR_MEMORY;
    }
    const int32_t q = hs__layers_open(problem, order, workers);
    const double n = (double)problem->layers;
    const double rate = rate_of(problem, q, workers, own);
    int64_t excess = -problem->layers;
    for (int32_t d = 0; d < q; d++) {
        own[d] = n * (own[d] / rate);
        /* .5, up to rounding errors, is rounded down */
        const double below = floor(own[d]);
        const double half = 0.5 + (own[d] + 1.0) * (double)(p + 8) * 0x1p-50;
        whole[d] = hs__min((int64_t)below + (own[d] - below > half), workers[d].most);
        excess += whole[d];
    }
    status =
        adjust_counts(excess, q, workers, hs__layers_sequential(problem), own + p, place, whole);
    if (!status) memset(counts, 0, p * sizeof *counts);
    if (!status && shares) memset(shares, 0, p * sizeof *shares);
    for (int32_t d = 0; d < q && !status; d++) {
        counts[workers[d].index] = whole[d];
        if (shares) shares[workers[d].index] = own[d];
    }
    free(workers);
    free(own);
    free(whole);
    free(place);
    return status;
}
