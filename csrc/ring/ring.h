/* A ring problem in units of its own, and what a ring in it costs: shared by all that look for
 * rings. */
#ifndef HS_RING_RING_H
#define HS_RING_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cancel.h"
#include "hetsched.h"

/* Times in units of all the work on the fastest worker, speeds in units of its speed. A ring of the
 * length D = sum of its edges (twice the one edge of two workers) and of the speed V = sum of its
 * members' ends its step at (work + D) / V, if balanced. */
typedef struct hs__ring {
    int32_t p;
    bool relays;
    double unit;   /* the time that is 1 */
    double work;   /* 1; more to find rings of more workers */
    double *speed; /* [p] at most 1 */
    double *side;  /* [p * p] what i pays beside j; 0 on the diagonal */
    double *edge;  /* [p * p] side[i][j] speed[i] + side[j][i] speed[j] */
} hs__ring;

hs_status hs__ring_open(hs__ring *x, const hs_ring *problem, const int *cancel);
void hs__ring_close(hs__ring *x);

/* The time of the members in this order if all shares are balanced, and what the member that pays
 * most pays: the balanced shares are positive if it pays less than the time. */
double hs__ring_balanced(const hs__ring *x, int32_t size, const int32_t *ring, double *most);

/* The time of a step; infinite for what is not allowed: a member without a share, unless there may
 * be relays. */
double hs__ring_value(const hs__ring *x, int32_t size, const int32_t *ring);

/* From the lowest index on, towards the lower one of its neighbours. */
void hs__ring_turn(int32_t size, int32_t *ring);

/* HS_ERROR_VALUE unless ring holds so many different workers. */
hs_status hs__ring_check(int32_t p, int32_t size, const int32_t *ring);

/* Marks, of p * p edges, those in no better ring of three or more: i, with it and with its cheapest
 * other edge, already pays as much as the value. O(p^2) a pass, of which there are as many as mark
 * some. */
hs_status hs__ring_prune(const hs__ring *x, double value, const int *cancel, bool *gone);

/* Local search from a ring; a ring that is no better is left alone. value: in and out. */
hs_status hs__ring_search(const hs__ring *x, int64_t rounds, const int *cancel, uint64_t *state,
                          int32_t *ring, int32_t *size, double *value);

/* The best ring on the way from one worker to all by cheapest insertion; replaces what is worse. */
hs_status hs__ring_grow(const hs__ring *x, int32_t first, const int *cancel, int32_t *ring,
                        int32_t *size, double *value);

#endif
