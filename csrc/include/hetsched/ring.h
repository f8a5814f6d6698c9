/* Slices of a matrix on a ring of some of the workers. */
#ifndef HETSCHED_RING_H
#define HETSCHED_RING_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* Slices of a matrix on a ring of some of the workers (Renard, Robert, Vivien 2003). In each step
 * of an iteration, a member updates its slice and exchanges a boundary with both neighbours. Member
 * i with the share a_i > 0 of the work ends its step at a_i work cycle_times[i] + b_i, where it pays
 *   b_i = overheads[i] + volume (links[i][next] + links[i][before])
 *         + latencies[i][next] + latencies[i][before]
 * The best shares make all members end together: T = (work + sum b_i / cycle_times[i]) / sum 1 /
 * cycle_times[i]. A ring of one member pays its overhead and no messages, a ring of two pays both
 * ways. Overheads and latencies are the affine costs of section 2 of the paper; by default there
 * are none.
 *
 * If T is not above all b_i, a ring of several members is not allowed. With relays it is allowed:
 * it takes as long as the largest b_i, and members may go without a share; they still pay. A ring is
 * given from its lowest index on, towards the neighbour with the lower index.
 *
 * Work and cycle-times are in 2^-200 .. 2^200, all other numbers are 0 or in that range; so is
 * volume * link + latency, if there are latencies. p is at most HS_RING_MOST, unless said
 * otherwise. hs_ring_best, hs_ring_batch, hs_ring_certificate and hs_ring_profile leave out workers
 * with an infinite cycle-time; the other functions, their parts, need finite cycle-times. */
enum { HS_RING_MOST = 1 << 14 };
typedef struct hs_ring {
    int32_t p;
    const double *cycle_times; /* [p] time per unit of work */
    /* [p * p] row i: time per unit of volume from i to each other worker; the diagonal is not
     * read. NULL: all links are `link` */
    const double *links;
    double work, volume;
    int32_t relays;          /* 0 or 1 */
    double link;             /* not read if links are given */
    const double *latencies; /* [p * p] additional time of a message, or NULL: all are `latency` */
    double latency;          /* not read if latencies are given */
    const double *overheads; /* [p] additional time of a member's update, or NULL: none */
} hs_ring;

/* Finds a ring, its shares and a bound.
 *   HS_RING_METHOD_BEST    the exact ring, or a search if that is not supported
 *   HS_RING_METHOD_EXACT   the best of all rings; see hs_ring_exact
 *   HS_RING_METHOD_SEARCH  hs_ring_search from the greedy ring, for up to 64 workers from the best
 *                          one of all starts
 *   HS_RING_METHOD_MULTISTART  the best greedy ring of all starts
 *   HS_RING_METHOD_GREEDY  the greedy ring from the fastest worker, as in section 6.2
 *   HS_RING_METHOD_ALL     all workers: hs_ring_shortest for up to HS_RING_EXACT workers, for more
 *                          hs_ring_tour
 *
 * Workers with an infinite cycle-time are left out; at least one cycle-time is finite. If all
 * messages between the other workers cost the same, the methods best and exact are in closed form
 * (section 3 of the paper, Proposition 1): the worker that is fastest alone, or all workers whose
 * overhead pays off. That takes any p and O(p log p) time.
 *
 * Parameters
 *   effort       of a search (SEARCH, BEST, and ALL beyond HS_RING_EXACT workers); NULL: the default
 *   ring         [p] out: the members
 *   size         out: number of members
 *   shares       [p] out: see hs_ring_shares
 *   used         out, may be NULL: the method that found the ring. For HS_RING_METHOD_BEST it is
 *                HS_RING_METHOD_EXACT or HS_RING_METHOD_SEARCH
 *   certificate  out: the makespan. The bound is the makespan for an exact ring, else hs_ring_bound.
 *                The scope is "all rings" for an exact ring, and "rings of all workers" for the
 *                shortest ring of all workers, if each has work
 * HS_ERROR_UNSUPPORTED if the method cannot take so many workers. HS_ERROR_INFEASIBLE if the ring
 * of HS_RING_METHOD_ALL is not allowed. Time and memory as for the functions below. */
typedef enum hs_ring_method {
    HS_RING_METHOD_BEST = 0,
    HS_RING_METHOD_EXACT = 1,
    HS_RING_METHOD_SEARCH = 2,
    HS_RING_METHOD_MULTISTART = 3,
    HS_RING_METHOD_GREEDY = 4,
    HS_RING_METHOD_ALL = 5
} hs_ring_method;
HS_API hs_status hs_ring_best(const hs_ring *problem, hs_ring_method method,
                              const hs_effort *effort, const int *cancel, int32_t *ring,
                              int32_t *size, double *shares, hs_ring_method *used,
                              hs_certificate *certificate);

/* hs_ring_best for many platforms, each with the same result as alone.
 *   rows       >= 0 platforms
 *   problem    cycle_times is [rows * p], links is [rows * p * p] or NULL; the other fields hold
 *              for all platforms
 *   effort     of each platform
 *   shares     [rows * p] out
 *   makespans  [rows] out
 *   bounds     [rows] out: of the certificates
 *   optimal    [rows] out: of the certificates
 * An error of one platform is returned for the whole call; the outputs are then undefined. */
HS_API hs_status hs_ring_batch(int64_t rows, const hs_ring *problem, hs_ring_method method,
                               const hs_effort *effort, const int *cancel, double *shares,
                               double *makespans, double *bounds, int32_t *optimal);

/* Certificate of any ring, with the best shares or with given ones.
 *   ring    [size] different workers with finite cycle-times, in order
 *   shares  [p] >= 0, their sum is 1 up to 1e-9; 0 outside of the ring. NULL: as hs_ring_shares
 *           computes them. Given shares need not be balanced
 * The bound is the makespan of the best ring if all messages cost the same, or if at most 12
 * workers have a finite cycle-time; else hs_ring_bound. HS_ERROR_INFEASIBLE for a ring that is not
 * allowed, if shares are NULL; HS_ERROR_UNSUPPORTED for more than HS_RING_MOST workers, unless all
 * messages cost the same and shares are given. */
HS_API hs_status hs_ring_certificate(const hs_ring *problem, int32_t size, const int32_t *ring,
                                     const double *shares, const int *cancel,
                                     hs_certificate *certificate);

/* Finds the best ring for every amount of work. The time of a ring is linear in the work, so the
 * best times are the lower envelope of the lines of all subsets; it is searched from both ends.
 *   problem        the work is not read; relays must be 0. Workers with an infinite cycle-time are
 *                  left out
 *   room           number of rings that the outputs have room for
 *   count          out: number of rings. If it is above room, only `room` of them are written:
 *                  call again with so much room
 *   works          [room] out: ring k is best from works[k] to works[k + 1]; the first is 0
 *   sizes          [room] out: number of members
 *   rings          [room * p] out: the members of ring k from entry k p on
 *   lengths        [room] out: sum of b_i / cycle_times[i] over the members; the ring takes (work +
 *                  length) / sum 1 / cycle_times[i]
 *   proven         [room] out: 1 if each member has a share for all these amounts of work, so that
 *                  the ring is optimal; 0: its time is a lower bound
 *   least_lengths  [p] out: the least length of all rings of 1, 2, ..., p workers; infinite for more
 *                  workers than can take part
 * HS_ERROR_UNSUPPORTED if more than HS_RING_EXACT workers have a finite cycle-time. Time O(2^p p^2),
 * and as much again for each ring; memory as for hs_ring_exact, and 16 2^p bytes. */
HS_API hs_status hs_ring_profile(const hs_ring *problem, int32_t room, const int *cancel,
                                 int32_t *count, double *works, int32_t *sizes, int32_t *rings,
                                 double *lengths, int32_t *proven, double *least_lengths);

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

/* Finds the ring of all p workers with the least sum b_i / cycle_times[i], whether it is allowed or
 * not; if messages cost nothing, any ring. p at most
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

/* Computes that least sum, divided by the work, for every subset; 0 for the empty one.
 *   lengths  [2^p] out: bit i of the index stands for worker i */
HS_API hs_status hs_ring_lengths(const hs_ring *problem, const int *cancel, double *lengths);

/* Computes a lower bound on all rings: exact for rings of one and two workers; for larger rings
 * from what members pay for their two cheapest edges.
 *   makespan  makespan of a ring, which the bound does not exceed; or infinite
 *   rounds    subgradient steps that divide the cost of the edges between their ends, >= 0
 * Time O(p^2) per round, memory O(p^2). */
HS_API hs_status hs_ring_bound(const hs_ring *problem, double makespan, int32_t rounds,
                               const int *cancel, double *bound);

/* ---- redistribution -------------------------------------------------------------------------- */

/* Items of the members of a ring that must be divided anew, because the speeds have changed
 * (Renard, Robert, Vivien 2006). A member sends items to its two neighbours, one item at a time, and
 * at the same time it receives at most one (one-port). It may pass on what it has received. The
 * items of a member lie in order, as the columns of its slice: it sends the last ones to the next
 * member and the first ones to the previous one, and receives at the same ends. */
typedef struct hs_redistribution {
    int32_t size;           /* members, >= 1; edge k is between member k and k + 1, modulo size */
    const int64_t *before;  /* [size] items of each member at first, >= 0; sum <= 2^53 */
    const int64_t *after;   /* [size] items of each member in the end, >= 0; the same sum */
    const double *next;     /* [size] time of an item from member k to k + 1, 0 .. 2^200 */
    const double *previous; /* [size] time from member k to k - 1; NULL: no items go that way */
    int32_t closed;         /* 1: items may cross the last edge; 0: none does */
} hs_redistribution;

/* Finds how many items cross each edge, and in which order.
 *
 * With the items in all members before and after, the flow of one edge decides the flows of all. For
 * given flows, all messages in one direction start as early as possible, and all messages in the
 * other direction end as late as possible; so a member's messages to both sides share its port
 * without gaps. The flows are searched from those that keep the busiest port least busy.
 *
 * Parameters
 *   flows        [size] out: items from member k to k + 1; from k + 1 to k if negative. They are not
 *                all positive, nor all negative
 *   next_first   out: 1: messages to next members are early, 0: those to previous members are
 *   certificate  out: the makespan. The bound is the time of the busiest port, for the flows for
 *                which it is least, or, for up to 64 members, when consecutive members can have
 *                received all items that they lack. The plan is optimal if no member sends more
 *                items than it has at first (a light redistribution), and if all items take the
 *                same time and each member has items before and after. In one direction it is
 *                always optimal, and the bound is its makespan. The scope is then "all
 *                redistributions"
 * HS_ERROR_INFEASIBLE if items would have to go to a previous member across an edge that is closed
 * for them. Time O(size) for each of some O(log items) flows if no member passes on more than it
 * has, O(size^2) at worst; memory O(size). */
HS_API hs_status hs_ring_redistribute(const hs_redistribution *problem, const int *cancel,
                                      int64_t *flows, int32_t *next_first,
                                      hs_certificate *certificate);

/* Certificate of any flows, with the bound of hs_ring_redistribute.
 *   flows       [size] see hs_ring_redistribute; HS_ERROR_VALUE unless they lead from `before` to
 *               `after` across the edges that are allowed
 *   next_first  0 or 1 */
HS_API hs_status hs_ring_redistribution_certificate(const hs_redistribution *problem,
                                                    const int64_t *flows, int32_t next_first,
                                                    const int *cancel, hs_certificate *certificate);

/* Writes the schedule of given flows. Item j of message m is sent from starts[m] + j periods[m] on,
 * and arrives one item's time later.
 *   flows, next_first  as in hs_ring_redistribution_certificate
 *   room       number of messages that the outputs have room for
 *   count      out: number of messages. If it is above room, only `room` of them are written: call
 *              again with so much room
 *   senders    [room] out: members, 0 .. size - 1
 *   receivers  [room] out: members
 *   items      [room] out: >= 1
 *   starts     [room] out
 *   periods    [room] out: the time of an item, or more if the sender waits for each of them
 * The messages of each edge ascend in time. */
HS_API hs_status hs_ring_redistribution_messages(const hs_redistribution *problem,
                                                 const int64_t *flows, int32_t next_first,
                                                 int64_t room, const int *cancel, int64_t *count,
                                                 int32_t *senders, int32_t *receivers,
                                                 int64_t *items, double *starts, double *periods);

/* ---- shared links ----
 *
 * Rings with messages that share the links of a network (Legrand, Renard, Robert, Vivien 2004). Each of
 * the 2 q messages of a ring of q members, from a member to its next and to the one before, gets a
 * bandwidth for the whole step. A link of the cost c, in time per unit of volume, has the bandwidth
 * 1 / c: the sum of the bandwidths of all messages over it is at most that. The time per
 * unit of volume of a message, links[i][j] of an hs_ring, is then 1 / its bandwidth.
 *
 * Members may be relays, without a share: with bandwidths to choose, the shortest step of a ring in
 * which every member has work need not exist. The routes are part of the problem.
 *
 *   nodes   >= p, at most HS_RING_MOST: the workers 0 .. p - 1, then routers
 *   links   number of links, at most HS_RING_LINKS
 *   ends    [2 * links] the two different nodes of each link; it leads both ways
 *   costs   [links] 0 (no limit) or in 2^-200 .. 2^200
 *   duplex  0: both directions share the bandwidth of a link; else each direction has it
 *   first   [p * p + 1] the route from i to j takes the links hops[first[i p + j]] .. hops[first[i p
 *           + j + 1] - 1], in order, no link twice; from a worker to itself there are none
 *   hops    see first; neither is read by hs_ring_routes */
enum { HS_RING_LINKS = 1 << 20, HS_RING_SHARED_MOST = 64, HS_RING_SHARED_EXACT = 10 };
typedef struct hs_ring_network {
    int32_t nodes, links;
    const int32_t *ends;
    const double *costs;
    int32_t duplex;
    const int64_t *first;
    const int32_t *hops;
} hs_ring_network;

/* Finds routes between all workers: with the fewest links, and of these the one with the fastest
 * slowest link.
 *   room   number of hops that there is room for
 *   first  [p * p + 1] out; first[p * p] is the number of hops. If it is above room, call again with
 *          so much room
 *   hops   [room] out
 * HS_ERROR_INFEASIBLE if the network does not connect all workers. Time O(p links longest route). */
HS_API hs_status hs_ring_routes(int32_t p, const hs_ring_network *network, int64_t room,
                                const int *cancel, int64_t *first, int32_t *hops);

/* Finds a ring, the bandwidths of its messages, its shares and a bound.
 *   HS_RING_METHOD_EXACT   all rings, except those that a lower bound rules out; for up to
 *                          HS_RING_SHARED_EXACT workers
 *   HS_RING_METHOD_SEARCH  local search from greedy rings, and from the best ring with links of its
 *                          own
 *   HS_RING_METHOD_BEST    the exact method for up to 8 workers, else the search
 *   HS_RING_METHOD_GREEDY  the ring grows from the fastest worker; each time the worker, at the
 *                          place, with which the step is shortest if links are divided fairly
 *
 * Parameters
 *   problem      links, link and relays are not read. Workers with an infinite cycle-time are left
 *                out, but messages may pass through them
 *   effort       of the search; NULL: the default
 *   ring         [p] out: the members
 *   size         out: number of members
 *   links        [p * p] out: time per unit of volume: 1 / bandwidth for the messages of the ring,
 *                for the other pairs the cost of the slowest link on the route
 *   shares       [p] out
 *   used         out, may be NULL: the method that found the ring
 *   certificate  out: the makespan. The bound is proven by the prices of the links (convex duality)
 *                for each ring, in the exact method, else for all rings together; the scope of the
 *                exact method is "all rings with these routes"
 * HS_ERROR_UNSUPPORTED for more than HS_RING_SHARED_MOST able workers, and for more than the exact
 * method can take. HS_ERROR_VALUE also if a bandwidth is too small to be 1 / link. The time of the
 * exact method is exponential; the bandwidths of a ring of q members take O(q^3 + q hops) some fifty
 * times. */
HS_API hs_status hs_ring_shared_best(const hs_ring *problem, const hs_ring_network *network,
                                     hs_ring_method method, const hs_effort *effort,
                                     const int *cancel, int32_t *ring, int32_t *size, double *links,
                                     double *shares, hs_ring_method *used,
                                     hs_certificate *certificate);

/* Finds the best bandwidths and shares of a given ring.
 *   ring  [size] different workers with finite cycle-times, in order
 * The other parameters are as for hs_ring_shared_best. The bound holds for all rings; the scope is
 * "bandwidths and shares of this ring" if these are proven optimal up to 1e-9. */
HS_API hs_status hs_ring_bandwidths(const hs_ring *problem, const hs_ring_network *network,
                                    int32_t size, const int32_t *ring, const int *cancel,
                                    double *links, double *shares, hs_certificate *certificate);

/* Certificate of a ring with given bandwidths and shares.
 *   problem  its links are the times per unit of volume at the given bandwidths; whether the network
 *            has these is not checked
 *   shares   [p] see hs_ring_certificate
 * The bound is that of hs_ring_certificate if each message had its route alone. */
HS_API hs_status hs_ring_shared_certificate(const hs_ring *problem, const hs_ring_network *network,
                                            int32_t size, const int32_t *ring, const double *shares,
                                            const int *cancel, hs_certificate *certificate);

HS_C_END
#endif
