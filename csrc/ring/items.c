/* Items that a member of a ring sends one after the other, in stretches of equal periods. Their
 * number does not depend on the number of items. */
#include <math.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "ring/items.h"

/* Adds items, to the last stretch if they continue it. A single item has the period `time`. */
static hs_status add_stretch(hs__sequence *s, double start, int64_t items, double period,
                             double time)
{
    if (items == 0) return HS_OK;
    if (items == 1) period = time;
    if (s->count > 0) {
        hs__stretch *last = &s->part[s->count - 1];
        if (last->period == period && start == last->start + (double)last->items * period) {
            last->items += items;
            return HS_OK;
        }
    }
    if (s->count == s->room) {
        void *more = realloc(s->part, (size_t)(2 * s->room + 8) * sizeof *s->part);
        if (!more) return HS_ERROR_MEMORY;
        s->part = more;
        s->room = 2 * s->room + 8;
    }
    s->part[s->count++] = (hs__stretch){start, period, items};
    return HS_OK;
}

double hs__stretch_end(const hs__stretch *part, double time)
{
    return part->period == time ? part->start + (double)part->items * time
                                : part->start + (double)(part->items - 1) * part->period + time;
}

double hs__sequence_end(const hs__sequence *s, double time)
{
    return s->count ? hs__stretch_end(&s->part[s->count - 1], time) : 0.0;
}

hs_status hs__send_items(const hs__sequence *arriving, int64_t items, int64_t stock, double time,
                         double arrival_time, hs__sequence *sent)
{
    sent->count = 0;
    int64_t left = items - hs__min(items, stock);
    hs_status status = add_stretch(sent, 0.0, items - left, time, time);
    for (int64_t k = 0; k < arriving->count && left > 0 && !status; k++) {
        const hs__stretch in = arriving->part[k];
        const int64_t count = hs__min(in.items, left);
        const double free = hs__sequence_end(sent, time);
        const double first = in.start + arrival_time;
        left -= count;
        if (in.period <= time) {
            status = add_stretch(sent, fmax(free, first), count, time, time);
            continue;
        }
        /* Slow arrivals: the sender catches up, then it waits for each item. */
        const double lag = ceil(fmax(free - first, 0.0) / (in.period - time));
        const int64_t behind = lag < (double)count ? (int64_t)lag : count;
        status = add_stretch(sent, free, behind, time, time);
        const double from = fmax(hs__sequence_end(sent, time), first + (double)behind * in.period);
        if (!status) status = add_stretch(sent, from, count - behind, in.period, time);
    }
    return status;
}
