/* Slices of a matrix on a ring of some of the workers. */
#ifndef HETSCHED_RING_H
#define HETSCHED_RING_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* Slices of a matrix on a ring of some of the workers: in each step of an iteration a member
 * updates its slice and exchanges a boundary with both neighbours (Renard, Robert, Vivien 2003).
 * Member i with the share a_i > 0 of the work ends its step at
 *   a_i work cycle_times[i] + volume (links[i][next] + links[i][before])
 * The shares that make all members end together are best: T = (work + volume sum (links[i][next] +
 * links[i][before]) / cycle_times[i]) / sum 1 / cycle_times[i]. A ring of one pays no messages, one
 * of two pays both ways. A ring where some T is not above a member's messages is not allowed, or,
 * with relays, takes as long as the dearest member's messages, and members may go without a share.
 * A ring is given from its lowest index on, towards the lower one of its neighbours.
 * All numbers are 0 (only links and the volume) or in 2^-200 .. 2^200; p is at most 16384. */
typedef struct hs_ring {
    int32_t p;
    const double *cycle_times; /* [p] time per unit of work */
    /* [p * p] row i: time per unit of volume from i to others; the diagonal is not read */
    const double *links;
    double work, volume;
    int32_t relays; /* 0 or 1 */
} hs_ring;

/* The shares in a given ring; where T is not above all messages, those that keep the members that
 * have work together.
 *   ring    [size] different workers, in order
 *   shares  [p] out: they sum to 1, 0 outside the ring
 * HS_ERROR_INFEASIBLE for a ring that is not allowed. Time O(p^2). */
HS_API hs_status hs_ring_shares(const hs_ring *problem, int32_t size, const int32_t *ring,
                                const int *cancel, double *shares, double *makespan);

/* The greedy heuristic, section 6.2: from one worker, always the one and the place that lengthen
 * the ring least, up to all workers; the best of these p rings.
 *   first  the worker to start from, or -1: each in turn
 *   ring   [p] out;  size  out
 * Time O(p^2) usually, O(p^3) at worst, for each start. */
HS_API hs_status hs_ring_greedy(const hs_ring *problem, int32_t first, const int *cancel,
                                int32_t *ring, int32_t *size, double *makespan);

/* Local search: workers are inserted, dropped, exchanged; or-opt and 2-opt; `rounds` times
 * disturbed and improved again. Up to 64 workers all such moves are tried, beyond only those that
 * make an edge with one of the twelve that are cheapest for a worker.
 *   ring   [p] in and out; size in and out. Never worse than what it starts from, if that is
 *          allowed
 *   state  in and out: of the random numbers, any value
 * A round takes O(p^2) moves up to 64 workers, beyond some O(p); memory O(p^2). */
HS_API hs_status hs_ring_search(const hs_ring *problem, int64_t rounds, const int *cancel,
                                int32_t *ring, int32_t *size, uint64_t *state, double *makespan);

/* The best ring of all. Workers and edges that the best ring found by a search rules out are left
 * away; HS_ERROR_UNSUPPORTED if more than HS_RING_EXACT workers remain. Held and Karp's dynamic
 * programme, time O(2^p p^2), memory 4 p 2^p bytes (p = 16: 4 MiB, 20: 80 MiB, 22: 352 MiB).
 * Subsets whose shortest ring is not allowed are searched, which can take longer. */
enum { HS_RING_EXACT = 22 };
HS_API hs_status hs_ring_exact(const hs_ring *problem, const int *cancel, int32_t *ring,
                               int32_t *size, double *makespan);

/* The ring of all p workers with the least sum (links[i][next] + links[i][before]) /
 * cycle_times[i], whether it is allowed or not; with the volume 0 any. p at most HS_RING_EXACT,
 * else HS_ERROR_UNSUPPORTED.
 *   ring  [p] out */
HS_API hs_status hs_ring_shortest(const hs_ring *problem, const int *cancel, int32_t *ring);

/* The same for any p, without a proof: Lin and Kernighan's moves and or-opt among the ten cheapest
 * edges of each worker, `rounds` times disturbed by a double bridge and improved again.
 *   ring   [p] in and out: all workers in some order; never longer than before, and unchanged after
 *          an error
 *   state  in and out: of the random numbers, any value
 * Time O(p^2), then about O(p) for the first descent and O(1) a round, but for reversals, which are
 * of p / 2 at most; memory O(p^2). */
HS_API hs_status hs_ring_tour(const hs_ring *problem, int64_t rounds, const int *cancel,
                              int32_t *ring, uint64_t *state);

/* That least sum, times volume / work, for every subset; 0 for single workers.
 *   lengths  [2^p] out: bit i of the index stands for worker i */
HS_API hs_status hs_ring_lengths(const hs_ring *problem, const int *cancel, double *lengths);

/* A lower bound on all rings: of one and two workers exactly, of more by what members pay for their
 * two cheapest edges.
 *   makespan  of a ring, which the bound does not exceed; or infinite
 *   rounds    of subgradient steps that divide the edges' costs between their ends, >= 0
 * Time O(p^2) a round, memory O(p^2). */
HS_API hs_status hs_ring_bound(const hs_ring *problem, double makespan, int32_t rounds,
                               const int *cancel, double *bound);

/* Rings for many platforms, each the same as alone: the exact one; that or, where it is not
 * supported, a search; a search from the greedy ring (of up to 64 workers the best of all starts);
 * the best greedy ring of all starts; that from the fastest worker.
 *   rows          >= 0 platforms
 *   problem       cycle_times is [rows * p], links [rows * p * p]; the rest holds for all
 *   rounds, seed  of hs_ring_search;  bound_rounds  of hs_ring_bound
 *   shares        [rows * p] out;  makespans  [rows] out: of hs_ring_shares
 *   bounds        [rows] out: hs_ring_bound, or the makespan where the ring is exact
 *   exact         [rows] out: 1 where it is the best ring of all
 * What is returned for one of them is returned for all; the outputs are then undefined. */
typedef enum hs_ring_method {
    HS_RING_METHOD_EXACT = 0,
    HS_RING_METHOD_BEST = 1,
    HS_RING_METHOD_SEARCH = 2,
    HS_RING_METHOD_MULTISTART = 3,
    HS_RING_METHOD_GREEDY = 4
} hs_ring_method;
HS_API hs_status hs_ring_batch(hs_ring_method method, int64_t rows, const hs_ring *problem,
                               int64_t rounds, uint64_t seed, int32_t bound_rounds,
                               const int *cancel, double *shares, double *makespans, double *bounds,
                               int32_t *exact);

/* What any ring that is allowed is worth: the makespan of hs_ring_shares, and hs_ring_bound with so
 * many rounds. */
HS_API hs_status hs_ring_certificate(const hs_ring *problem, int32_t size, const int32_t *ring,
                                     int32_t rounds, const int *cancel,
                                     hs_certificate *certificate);

HS_C_END
#endif
