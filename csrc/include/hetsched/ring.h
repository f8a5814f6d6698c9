/* Slices of a matrix on a ring of some of the workers. */
#ifndef HETSCHED_RING_H
#define HETSCHED_RING_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* Slices of a matrix on a ring of some of the workers (Renard, Robert, Vivien 2003). In each step
 * of an iteration, a member updates its slice and exchanges a boundary with both neighbours. Member
 * i with the share a_i > 0 of the work ends its step at
 *   a_i work cycle_times[i] + volume (links[i][next] + links[i][before])
 * The best shares make all members end together: T = (work + volume sum (links[i][next] +
 * links[i][before]) / cycle_times[i]) / sum 1 / cycle_times[i]. A ring of one member pays no
 * messages, a ring of two pays both ways.
 *
 * If T is not above the time of every member's messages, the ring is not allowed. With relays it is
 * allowed: it takes as long as the messages of the member that pays most, and members may go
 * without a share. A ring is given from its lowest index on, towards the neighbour with the lower
 * index. All numbers are 0 (only links and the volume) or in 2^-200 .. 2^200; p is at most
 * HS_RING_MOST. */
enum { HS_RING_MOST = 1 << 14 };
typedef struct hs_ring {
    int32_t p;
    const double *cycle_times; /* [p] time per unit of work */
    /* [p * p] row i: time per unit of volume from i to each other worker; the diagonal is not
     * read */
    const double *links;
    double work, volume;
    int32_t relays; /* 0 or 1 */
} hs_ring;

/* Computes the shares in a given ring. If T is not above all messages, the members that have work
 * end together.
 *   ring    [size] different workers, in order
 *   shares  [p] out: their sum is 1; 0 outside of the ring
 * HS_ERROR_INFEASIBLE for a ring that is not allowed. Time O(p^2). */
HS_API hs_status hs_ring_shares(const hs_ring *problem, int32_t size, const int32_t *ring,
                                const int *cancel, double *shares, double *makespan);

/* Finds a ring by the greedy heuristic, section 6.2: it starts from one worker and always inserts
 * the worker, at the place, that lengthens the ring least, up to all workers; the best of these p
 * rings is returned.
 *   first  the worker to start from, or -1: each in turn
 *   ring   [p] out
 *   size   out
 * Time O(p^2) usually, O(p^3) at worst, for each start. */
HS_API hs_status hs_ring_greedy(const hs_ring *problem, int32_t first, const int *cancel,
                                int32_t *ring, int32_t *size, double *makespan);

/* Improves a ring by local search: workers are inserted, dropped and exchanged; or-opt and 2-opt
 * moves; `rounds` times the ring is disturbed and improved again. For up to 64 workers all such
 * moves are tried; for more, only moves that make one of the twelve cheapest edges of a worker.
 *   ring   [p] in and out. Never worse than the initial ring, if that is allowed
 *   size   in and out
 *   state  in and out: state of the random numbers, any value
 * A round takes O(p^2) moves for up to 64 workers, some O(p) for more; memory O(p^2). */
HS_API hs_status hs_ring_search(const hs_ring *problem, int64_t rounds, const int *cancel,
                                int32_t *ring, int32_t *size, uint64_t *state, double *makespan);

/* Finds the best of all rings. Workers and edges that the best ring of a search excludes are left
 * out; HS_ERROR_UNSUPPORTED if more than HS_RING_EXACT workers remain. Held and Karp's dynamic
 * programming, time O(2^p p^2), memory 4 p 2^p bytes (p = 16: 4 MiB, 20: 80 MiB, 22: 352 MiB). If
 * the shortest ring of a subset is not allowed, its other rings are searched, which can take
 * longer. */
enum { HS_RING_EXACT = 22 };
HS_API hs_status hs_ring_exact(const hs_ring *problem, const int *cancel, int32_t *ring,
                               int32_t *size, double *makespan);

/* Finds the ring of all p workers with the least sum (links[i][next] + links[i][before]) /
 * cycle_times[i], whether it is allowed or not; if the volume is 0, any ring. p at most
 * HS_RING_EXACT, else HS_ERROR_UNSUPPORTED.
 *   ring  [p] out */
HS_API hs_status hs_ring_shortest(const hs_ring *problem, const int *cancel, int32_t *ring);

/* Searches such a ring for any p, without a proof: Lin and Kernighan's moves and or-opt among the
 * ten cheapest edges of each worker; `rounds` times the ring is disturbed by a double bridge and
 * improved again.
 *   ring   [p] in and out: all workers in some order; never longer than before, and unchanged after
 *          an error
 *   state  in and out: state of the random numbers, any value
 * Time O(p^2), then about O(p) for the first descent and O(1) per round, except for reversals,
 * which are of at most p / 2 workers; memory O(p^2). */
HS_API hs_status hs_ring_tour(const hs_ring *problem, int64_t rounds, const int *cancel,
                              int32_t *ring, uint64_t *state);

/* Computes that least sum, times volume / work, for every subset; 0 for single workers.
 *   lengths  [2^p] out: bit i of the index stands for worker i */
HS_API hs_status hs_ring_lengths(const hs_ring *problem, const int *cancel, double *lengths);

/* Computes a lower bound on all rings: exact for rings of one and two workers; for larger rings
 * from what members pay for their two cheapest edges.
 *   makespan  makespan of a ring, which the bound does not exceed; or infinite
 *   rounds    subgradient steps that divide the cost of the edges between their ends, >= 0
 * Time O(p^2) per round, memory O(p^2). */
HS_API hs_status hs_ring_bound(const hs_ring *problem, double makespan, int32_t rounds,
                               const int *cancel, double *bound);

/* Finds rings for many platforms, each with the same result as alone.
 *   HS_RING_METHOD_EXACT   the exact ring
 *   HS_RING_METHOD_BEST    the exact ring, or a search if that is not supported
 *   HS_RING_METHOD_SEARCH  a search from the greedy ring (for up to 64 workers the best of all
 *                          starts)
 *   HS_RING_METHOD_MULTISTART  the best greedy ring of all starts
 *   HS_RING_METHOD_GREEDY  the greedy ring from the fastest worker
 *
 * Parameters
 *   rows          >= 0 platforms
 *   problem       cycle_times is [rows * p], links [rows * p * p]; the other fields hold for all
 *                 platforms
 *   rounds, seed  of hs_ring_search
 *   bound_rounds  of hs_ring_bound
 *   shares        [rows * p] out, of hs_ring_shares
 *   makespans     [rows] out, of hs_ring_shares
 *   bounds        [rows] out: hs_ring_bound, or the makespan if the ring is exact
 *   exact         [rows] out: 1 if it is the best of all rings
 * An error of one platform is returned for the whole call; the outputs are then undefined. */
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

/* Certificate of any ring that is allowed: the makespan of hs_ring_shares, with hs_ring_bound for
 * that number of rounds as the bound. */
HS_API hs_status hs_ring_certificate(const hs_ring *problem, int32_t size, const int32_t *ring,
                                     int32_t rounds, const int *cancel,
                                     hs_certificate *certificate);

HS_C_END
#endif
