/* Layers on a star, for a given order of the workers: declarations for the closed forms, the
 * relaxations, the exact programs and the search. */
#ifndef HS_LAYERS_LAYERS_H
#define HS_LAYERS_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hetsched.h"

/* A worker that can compute. It ends k layers at the earliest k hold after its message starts, and
 * k tail after the message has arrived, with hold = send + tail. If it is busy to the end of a time
 * t, the time t keep remains for the workers after it. */
typedef struct hs__layer_worker {
    int32_t index;
    int64_t most; /* limit on its layers, at most all layers */
    double send, hold, tail;
    double rate, keep; /* 1 / hold, tail / hold */
} hs__layer_worker;

/* Divisible layers and the time they take: a convex, piecewise linear curve from (0, 0) on. More
 * layers than at the last point are impossible, or are not needed. */
typedef struct hs__layer_curve {
    int32_t count;
    double *layers, *time; /* [count] */
} hs__layer_curve;

bool hs__layers_sequential(const hs_layers *problem);

/* Checks a problem. HS_ERROR_VALUE for values outside of the ranges of the public header,
 * HS_ERROR_INFEASIBLE if the limits leave layers over. order may be NULL, else it must be a
 * permutation. */
hs_status hs__layers_check(const hs_layers *problem, const int32_t *order);

/* Lists the workers with a finite time and a positive limit in this order (NULL: by index); returns
 * their number. */
int32_t hs__layers_open(const hs_layers *problem, const int32_t *order, hs__layer_worker *workers);

/* Sorts workers by their links, the fastest first; equal links by hold, then by most, then by
 * index. */
void hs__layers_sort(int32_t q, hs__layer_worker *workers);

/* Returns when the last worker ends. */
double hs__layers_end(int32_t q, const hs__layer_worker *workers, const int64_t *counts);

/* ---- relaxed.c ---- */

/* Returns how many layers the workers, one after the other, can end per unit of time if layers can
 * be divided and all workers are busy to the end. Without limits, and with the fastest links first,
 * this is the maximum over all orders.
 *   shares  [q] out: of each worker; or NULL */
double hs__layers_rate(int32_t q, const hs__layer_worker *workers, double *shares);

/* Allocates a curve with room for so many points; layers is NULL if there is no memory. The caller
 * frees layers. */
hs__layer_curve hs__layers_curve(int64_t points);

/* Returns the time of so many layers; infinite beyond the last point. O(log count). */
double hs__layers_time(const hs__layer_curve *curve, double layers);

/* Computes the least time of the workers of a curve together with one more worker, which gets its
 * message first. This worker is busy to the end, has as much as its limit allows, or leaves a
 * certain time to the workers after it, until which they make better use of the link. Returns this
 * time.
 *   layers  where the curve may end
 *   sum     out: room for from->count + 2 points */
double hs__layers_put_first(const hs__layer_curve *from, const hs__layer_worker *worker,
                            double layers, hs__layer_curve *sum);

/* Computes the least use of the links with one more worker, which gets its message last, if all end
 * by `end`. layers and sum as above. */
void hs__layers_put_last(const hs__layer_curve *from, const hs__layer_worker *worker, double end,
                         double layers, hs__layer_curve *sum);

/* Computes the least time of divisible layers in this order of the workers; their limits must allow
 * that many. O(q) without limits, O(q^2) with them.
 *   room    two curves of 2 q + 1 points
 *   shares  [q] out: their sum is the number of layers */
double hs__layers_shares(double layers, int32_t q, const hs__layer_worker *workers,
                         hs__layer_curve room[2], double *shares);

/* Computes the least use of the links for divisible layers with these workers, in any order or a
 * mix of orders, if all end by `end`. Returns how many more layers one more unit of time allows.
 * O(q) without limits, O(q^2) with them.
 *   sorted  by hs__layers_sort
 *   key     [q] workspace
 *   pool    [q] workspace
 *   front   out: room for q + 1 points
 *   shares  [q] out: of each worker, if they do as many layers as possible; or NULL */
double hs__layers_front(int32_t q, const hs__layer_worker *sorted, double end, double *key,
                        int32_t *pool, hs__layer_curve *front, double *shares);

/* Finds the best counts [q] of whole layers, with all messages at once, and when the last worker
 * ends. */
hs_status hs__layers_apart(int64_t layers, int32_t q, const hs__layer_worker *workers,
                           const int *cancel, int64_t *counts, double *makespan);

#endif
