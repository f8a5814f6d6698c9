/* A bound on redistributions: when the items that consecutive members lack can have arrived. It
 * counts the time until the first items come, which the busiest port does not. */
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/status.h"
#include "ring/items.h"

/* Members for which all consecutive ones are looked at. */
enum { FEW = 64 };

/* Sends all items of the other members towards member `into`, from one side and as early as
 * possible. Leaves the messages on the last edge. */
static hs_status push_items(const hs_redistribution *x, int32_t into, bool forward,
                            hs__sequence *arriving, hs__sequence *sent)
{
    double arrival_time = 0.0;
    int64_t items = 0;
    arriving->count = 0;
    sent->count = 0;
    for (int32_t away = x->size - 1; away > 0; away--) {
        const int32_t k = (into + (forward ? x->size - away : away)) % x->size;
        const int32_t edge = forward ? k : hs__previous_member(x, k);
        const hs__sequence spare = *arriving;
        *arriving = *sent;
        *sent = spare;
        items += x->before[k];
        if (!x->closed && edge == x->size - 1) items = 0; /* none crosses the last edge */
        const double time = hs__item_time(x, edge, forward);
        const hs_status status =
            hs__send_items(arriving, items, x->before[k], time, arrival_time, sent);
        if (status) return status;
        arrival_time = time;
    }
    return HS_OK;
}

/* Returns when the first `count` messages have ended; infinite if there are fewer. */
static double end_of_first(const hs__sequence *s, int64_t count, double time)
{
    if (count == 0) return 0.0;
    for (int64_t k = 0; k < s->count; k++) {
        const hs__stretch *part = &s->part[k];
        if (count <= part->items) return part->start + (double)(count - 1) * part->period + time;
        count -= part->items;
    }
    return INFINITY;
}

static double begin_of(const hs__sequence *s) { return s->count ? s->part[0].start : INFINITY; }

/* Returns when so many items can have arrived on two edges together. */
static double end_of_both(const hs__sequence *one, double one_time, const hs__sequence *two,
                          double two_time, int64_t count)
{
    int64_t low = 0, high = count; /* on the first edge, so that it ends last */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (end_of_first(one, middle, one_time) >= end_of_first(two, count - middle, two_time))
            high = middle;
        else low = middle + 1;
    }
    const double with = end_of_first(one, low, one_time);
    return low > 0 ? fmin(with, end_of_first(two, count - low + 1, two_time)) : with;
}

/* Raises the bound to the time at which consecutive members can have received what they lack. Items
 * from outside enter at their two ends, not sooner than if all were sent there. */
static hs_status bound_arrivals(const hs_redistribution *x, const int *cancel, double *bound)
{
    const int32_t q = x->size;
    hs__sequence *forward = calloc(2 * (size_t)q, sizeof *forward); /* into each member */
    hs__sequence arriving = {0};
    hs__sequence sent = {0};
    hs_status status = hs__check_memory(forward);
    hs__sequence *backward = forward + (forward ? q : 0);
    for (int32_t k = 0; k < 2 * q && !status; k++) {
        status = hs__check_cancel(cancel);
        if (!status) status = push_items(x, k % q, k < q, &arriving, &sent);
        if (status) break;
        forward[k] = sent;
        sent = (hs__sequence){0};
    }
    for (int32_t first = 0; first < q && !status; first++) {
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        int64_t lack = 0;
        for (int32_t size = 1; size < q && !status; size++) {
            const int32_t last = (first + size - 1) % q;
            lack += x->after[last] - x->before[last];
            if (lack <= 0) continue;
            const double forth = x->next[hs__previous_member(x, first)];
            const double back = x->previous[hs__next_member(x, last)];
            *bound = fmax(*bound, end_of_both(&forward[first], forth, &backward[last], back, lack));
            if (size > 1) continue;
            /* A single member has one port for both sides. */
            const double begin = fmin(begin_of(&forward[first]), begin_of(&backward[last]));
            *bound = fmax(*bound, begin + (double)lack * fmin(forth, back));
        }
    }
    for (int32_t k = 0; k < 2 * q && forward; k++) free(forward[k].part);
    free(forward);
    free(arriving.part);
    free(sent.part);
    return status;
}

/* What members have too much leaves them as it would arrive backwards in time, on the way from
 * `after` to `before`. */
hs_status hs__arrivals_bound(const hs_redistribution *x, const int *cancel, double *bound)
{
    if (x->size > FEW || !x->previous) return HS_OK;
    double times[2][FEW];
    hs_redistribution back = *x;
    back.before = x->after;
    back.after = x->before;
    back.next = times[0];
    back.previous = times[1];
    for (int32_t k = 0; k < x->size; k++) {
        times[0][k] = x->previous[hs__next_member(x, k)];
        times[1][k] = x->next[hs__previous_member(x, k)];
    }
    const hs_status status = bound_arrivals(x, cancel, bound);
    if (status) return status;
    return bound_arrivals(&back, cancel, bound);
}
