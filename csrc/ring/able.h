/* The workers of a ring problem that can work, and the problem of these workers alone. */
#ifndef HS_RING_ABLE_H
#define HS_RING_ABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/ring.h"

typedef struct hs__ring_able {
    int32_t count;
    int32_t *worker; /* [count] the workers with a finite cycle-time, ascending */
    bool alike;      /* whether all messages between them cost the same, and are in range */
    /* for hs__ring_restrict */
    hs_ring inner;   /* the problem of these workers */
    double *numbers; /* its arrays, unless all workers are able */
} hs__ring_able;

/* Finds the workers that can work. HS_ERROR_VALUE if there is none, and for numbers out of range
 * among those that a closed form reads. On HS_OK, and only then, the caller closes. */
hs_status hs__ring_choose_able(const hs_ring *problem, const int *cancel, hs__ring_able *able);

/* Makes the problem of these workers. HS_ERROR_UNSUPPORTED for more than HS_RING_MOST. */
hs_status hs__ring_restrict(const hs_ring *problem, hs__ring_able *able);

void hs__ring_close_able(hs__ring_able *able);

/* Solves a problem in which all messages cost the same; 2003 paper, section 3. O(p log p).
 *   member    [count] out: whether the worker takes part
 *   shares    [count] out, or NULL, together with member
 *   makespan  out */
hs_status hs__ring_alike(const hs_ring *problem, const hs__ring_able *able, bool *member,
                         double *shares, double *makespan);

/* Number of steps of hs_ring_bound for a certificate. */
int32_t hs__ring_bound_rounds(int32_t p);

#endif
