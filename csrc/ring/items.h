/* Items that a member of a ring sends one after the other; used by the schedules and the bounds of
 * redistributions. */
#ifndef HS_RING_ITEMS_H
#define HS_RING_ITEMS_H

#include <stdbool.h>
#include <stdint.h>

#include "hetsched.h"

/* Item j is sent from start + j period on. */
typedef struct hs__stretch {
    double start, period;
    int64_t items;
} hs__stretch;

typedef struct hs__sequence {
    hs__stretch *part; /* [count] in ascending order; freed by the caller */
    int64_t count, room;
} hs__sequence;

static inline int32_t hs__next_member(const hs_redistribution *x, int32_t k)
{
    return k + 1 < x->size ? k + 1 : 0;
}

static inline int32_t hs__previous_member(const hs_redistribution *x, int32_t k)
{
    return (k ? k : x->size) - 1;
}

/* Returns the time of an item on an edge, towards the next member or the previous one. */
static inline double hs__item_time(const hs_redistribution *x, int32_t edge, bool forward)
{
    return forward ? x->next[edge] : x->previous[hs__next_member(x, edge)];
}

/* Return when the last item has arrived, if an item takes `time`; 0 if there is none. */
double hs__stretch_end(const hs__stretch *part, double time);
double hs__sequence_end(const hs__sequence *s, double time);

/* Schedules the items of an edge: first those that the sender has, then those that arrive, each as
 * early as possible.
 *   arriving            as they are sent on the edge before; with the stock at least `items`
 *   time, arrival_time  of an item on this edge, and on the edge before
 *   sent                out: replaced; its memory is used again */
hs_status hs__send_items(const hs__sequence *arriving, int64_t items, int64_t stock, double time,
                         double arrival_time, hs__sequence *sent);

/* Raises a bound on the makespan to the time at which consecutive members can have received what
 * they lack, or can have got rid of what they have too much. Does nothing for many members. */
hs_status hs__arrivals_bound(const hs_redistribution *x, const int *cancel, double *bound);

#endif
