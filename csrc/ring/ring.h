/* A ring problem in its own units, and the cost of a ring in it; used by all files that search for
 * rings. */
#ifndef HS_RING_RING_H
#define HS_RING_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cancel.h"
#include "hetsched.h"

/* Times are in units of the time that the fastest worker takes for all the work, speeds in units of
 * its speed. A balanced ring ends its step at (work + D) / V, where its length D is the sum of its
 * edges (twice the one edge of two workers), and V is the sum of its members' speeds. */
typedef struct hs__ring {
    int32_t p;
    bool relays;
    double unit;     /* the time that counts as 1 */
    double work;     /* 1; larger values lead to rings of more workers */
    double *speed;   /* [p] at most 1 */
    double *payment; /* [p * p] what i pays if j is its neighbour; 0 on the diagonal */
    double *edge;    /* [p * p] payment[i][j] speed[i] + payment[j][i] speed[j] */
} hs__ring;

hs_status hs__ring_open(hs__ring *x, const hs_ring *problem, const int *cancel);
void hs__ring_close(hs__ring *x);

/* Returns the time of the members in this order if all shares are balanced. *most: the largest
 * payment of a member; the balanced shares are positive if it is less than the time. */
double hs__ring_balanced(const hs__ring *x, int32_t size, const int32_t *ring, double *most);

/* Returns the time of a step; infinite for a ring that is not allowed, i.e. in which a member has
 * no share, unless there are relays. */
double hs__ring_value(const hs__ring *x, int32_t size, const int32_t *ring);

/* Turns a ring to its standard form: from the lowest index on, towards the neighbour with the lower
 * index. */
void hs__ring_turn(int32_t size, int32_t *ring);

/* Returns HS_ERROR_VALUE unless ring holds `size` different workers. */
hs_status hs__ring_check(int32_t p, int32_t size, const int32_t *ring);

/* Marks, of p * p edges, those that are in no better ring of three or more workers: with such an
 * edge and its cheapest other edge, worker i already pays at least the value. O(p^2) per pass;
 * passes are repeated while they mark edges. */
hs_status hs__ring_prune(const hs__ring *x, double value, const int *cancel, bool *gone);

/* Searches locally from a ring; replaces ring, size and value only if a better ring is found.
 * value: in and out. */
hs_status hs__ring_search(const hs__ring *x, int64_t rounds, const int *cancel, uint64_t *state,
                          int32_t *ring, int32_t *size, double *value);

/* Grows a ring from one worker to all by cheapest insertion; replaces ring, size and value if a
 * ring on the way is better. */
hs_status hs__ring_grow(const hs__ring *x, int32_t first, const int *cancel, int32_t *ring,
                        int32_t *size, double *value);

#endif
