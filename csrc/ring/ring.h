/* The numbers of a ring problem; the problem in its own units, and the cost of a ring in it. Used by
 * all files that search for rings. */
#ifndef HS_RING_RING_H
#define HS_RING_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cancel.h"
#include "hetsched.h"

/* Return the places after and before place k of a ring. */
static inline int32_t hs__place_after(int32_t k, int32_t size) { return k + 1 < size ? k + 1 : 0; }
static inline int32_t hs__place_before(int32_t k, int32_t size) { return (k > 0 ? k : size) - 1; }

/* Whether messages take time in addition to the time of their volume. */
static inline bool hs__ring_affine(const hs_ring *problem)
{
    return problem->latencies || problem->latency != 0.0;
}

static inline double hs__ring_link(const hs_ring *problem, size_t i, size_t j)
{
    return problem->links ? problem->links[i * (size_t)problem->p + j] : problem->link;
}

static inline double hs__ring_latency(const hs_ring *problem, size_t i, size_t j)
{
    return problem->latencies ? problem->latencies[i * (size_t)problem->p + j] : problem->latency;
}

static inline double hs__ring_overhead(const hs_ring *problem, size_t i)
{
    return problem->overheads ? problem->overheads[i] : 0.0;
}

/* Returns the cost of a message: its time with latencies, and its time per unit of volume without
 * them, so that scaling links and volume against each other changes nothing. */
static inline double hs__ring_message(const hs_ring *problem, size_t i, size_t j)
{
    const double link = hs__ring_link(problem, i, j);
    return hs__ring_affine(problem) ? problem->volume * link + hs__ring_latency(problem, i, j)
                                    : link;
}

/* Returns what worker i pays in a ring between two others: its overhead and both messages. A ring of
 * one is its own neighbour. */
static inline double hs__ring_paid(const hs_ring *problem, int32_t i, int32_t before, int32_t next)
{
    const size_t own = (size_t)i;
    const size_t left = (size_t)before;
    const size_t right = (size_t)next;
    const double overhead = hs__ring_overhead(problem, own);
    if (i == next) return overhead;
    double messages =
        problem->volume * (hs__ring_link(problem, own, right) + hs__ring_link(problem, own, left));
    if (hs__ring_affine(problem))
        messages += hs__ring_latency(problem, own, right) + hs__ring_latency(problem, own, left);
    return messages + overhead;
}

/* Whether these numbers are in their ranges. */
bool hs__ring_valid_step(const hs_ring *problem);
bool hs__ring_valid_worker(const hs_ring *problem, size_t i);
bool hs__ring_valid_message(const hs_ring *problem, size_t i, size_t j);

/* Times are in units of the time that the fastest worker takes for all the work, speeds in units of
 * its speed. A balanced ring ends its step at (work + D) / V, where its length D is the sum of its
 * edges (twice the one edge of two workers), and V is the sum of its members' speeds. */
typedef struct hs__ring {
    int32_t p;
    bool relays;
    double unit;   /* the time that counts as 1 */
    double work;   /* 1; larger values lead to rings of more workers */
    double *speed; /* [p] at most 1 */
    /* [p * p] what i pays if j is its neighbour: the messages to j and half of i's overhead. On the
     * diagonal half of the overhead: a ring of one is its own neighbour on both sides */
    double *payment;
    double *edge; /* [p * p] payment[i][j] speed[i] + payment[j][i] speed[j] */
} hs__ring;

hs_status hs__ring_open(hs__ring *x, const hs_ring *problem, const int *cancel);
void hs__ring_close(hs__ring *x);

/* Returns the time of the members in this order if all shares are balanced. *most: the largest
 * payment of a member; the balanced shares are positive if it is less than the time. */
double hs__ring_balanced(const hs__ring *x, int32_t size, const int32_t *ring, double *most);

/* Returns the time of a step; infinite for a ring that is not allowed, i.e. in which a member has
 * no share, unless there are relays. */
double hs__ring_value(const hs__ring *x, int32_t size, const int32_t *ring);

/* Divides the work of 1 among the members of a ring so that they end together.
 *   workers   p
 *   speed     [p]
 *   paid      [p] what each member pays
 *   balanced  whether each member gets a share; else those that pay too much get none
 *   time      of a step
 *   member    [p] in and out: whether it gets a share
 *   shares    [p] out: their sum is 1; 0 for the other workers */
hs_status hs__ring_divide(int32_t workers, const double *speed, const double *paid, bool balanced,
                          double time, bool *member, double *shares);

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
