/* Rings with messages that share links: the network in the units of hs__ring, and the best bandwidths of
 * the messages of a ring. */
#ifndef HS_RING_SHARED_H
#define HS_RING_SHARED_H

#include "ring/able.h"

/* A message between neighbours has a bandwidth; what its sender pays for it is 1 / bandwidth, plus a
 * fixed payment. A link of the cost c lets messages pass if the sum of c bandwidth is at most 1, so
 * that c is the payment for a message that has the link alone. */
typedef struct hs__shared {
    hs__ring x;    /* as if each message had the links of its route alone; with relays */
    double *alone; /* [all workers squared] the links of that problem */
    int32_t links; /* a link with a bandwidth for each direction counts twice */
    double *cost;  /* [links] */
    /* [p * p + 1] the route from i to j is hops[first[i p + j]] .. hops[first[i p + j + 1] - 1] */
    int64_t *first;
    int32_t *hops;
    double *fixed; /* [p * p] the part of a payment that does not depend on bandwidths */
    /* Prices of the links, of the ring that was solved last. With them the time of any ring is at
     * least (1 - all_prices + sum of its priced edges) / (speed of its members). */
    double *price; /* [links] */
    double all_prices;
    double *priced; /* [p * p] */
    struct hs__sharing *own;
} hs__shared;

/* Opens the problem of the able workers. HS_ERROR_VALUE for a network or routes that are not valid,
 * HS_ERROR_UNSUPPORTED for more than HS_RING_SHARED_MOST able workers. On HS_OK, and only then, the
 * caller closes both. */
hs_status hs__shared_open(hs__shared *s, hs__ring_able *able, const hs_ring *problem,
                          const hs_ring_network *network, const int *cancel);
void hs__shared_close(hs__shared *s);

/* Writes, for each pair of p workers, the cost of a message that has the links of its route alone:
 * the cost of the slowest link. */
void hs__network_alone(int32_t p, const hs_ring_network *network, double *alone);

/* Returns what a member pays for a message that has the links of its route alone. */
double hs__shared_alone(const hs__shared *s, int32_t i, int32_t j);

/* The workspace of hs__shared_solve. */
hs_status hs__sharing_open(hs__shared *s);
void hs__sharing_close(struct hs__sharing *own);

/* Finds the best bandwidths of the messages of a ring.
 *   enough    if a bound as large as this is found, the bandwidths need not be the best ones
 *   payments  [2 * size] out: what each member pays for its messages to the next member and to the
 *             one before, without the fixed part; may be NULL
 *   value     out: time of a step
 *   bound     out: no bandwidths give a shorter step; may be NULL
 * It also sets the prices. */
void hs__shared_solve(hs__shared *s, int32_t size, const int32_t *ring, double enough,
                      double *payments, double *value, double *bound);

/* Returns the time of a step if each message gets a fair part of each link: an estimate from
 * above. */
double hs__shared_estimate(hs__shared *s, int32_t size, const int32_t *ring);

/* Recomputes the priced edges from the prices of the last ring. */
void hs__shared_price(hs__shared *s);

/* Returns a lower bound on the time of a step, by the links that each message would have alone and
 * by the prices. */
double hs__shared_least(const hs__shared *s, int32_t size, const int32_t *ring);

#endif
