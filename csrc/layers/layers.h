/* Layers on a star in a given order of the workers: what the closed forms, the relaxations, the
 * exact programmes and the search share. */
#ifndef HS_LAYERS_LAYERS_H
#define HS_LAYERS_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hetsched.h"

/* A worker that can work. It ends k layers at the earliest k hold after its message starts, and k
 * tail after that has come, with hold = send + tail. A worker that is busy until the end of the
 * time t leaves t keep for those after it. */
typedef struct hs__layer_worker {
    int32_t index;
    int64_t most; /* layers that it may have, at most all */
    double send, hold, tail;
    double rate, keep; /* 1 / hold, tail / hold */
} hs__layer_worker;

/* Layers that can be divided, and the time they take: straight from point to point, from (0, 0) on,
 * convex. More layers than at the last point cannot be done, or are more than asked for. */
typedef struct hs__layer_curve {
    int32_t count;
    double *layers, *time; /* [count] */
} hs__layer_curve;

bool hs__layers_sequential(const hs_layers *problem);

/* HS_ERROR_VALUE for what the header does not allow, HS_ERROR_INFEASIBLE for limits that leave
 * layers over; order may be NULL, else it must be a permutation. */
hs_status hs__layers_check(const hs_layers *problem, const int32_t *order);

/* The workers with a finite time and room for a layer in this order (NULL: by index); returns how
 * many. */
int32_t hs__layers_open(const hs_layers *problem, const int32_t *order, hs__layer_worker *workers);

/* The fastest links first; those with the same link by hold, then by most, then by index. */
void hs__layers_sort(int32_t q, hs__layer_worker *workers);

/* When the last one ends. */
double hs__layers_end(int32_t q, const hs__layer_worker *workers, const int64_t *counts);

/* ---- relaxed.c ---- */

/* The layers that one worker after the other can end in the unit of time, if layers can be divided
 * and all are busy to the end: without limits, and with the fastest links first, the most in any
 * order.
 *   shares  [q] out: of each worker; or NULL */
double hs__layers_rate(int32_t q, const hs__layer_worker *workers, double *shares);

/* Room for so many points; NULL layers: there is none. To be freed: layers. */
hs__layer_curve hs__layers_curve(int64_t points);

/* The time of so many layers; infinite beyond the last point. O(log count). */
double hs__layers_time(const hs__layer_curve *curve, double layers);

/* The least time for those of a curve with one worker more, whose message comes first. A worker is
 * busy to the end, has all it may, or leaves a certain time to those after it, which is returned:
 * they make better use of the link until then.
 *   layers  where the curve may end
 *   sum     out: room for from->count + 2 points */
double hs__layers_put_first(const hs__layer_curve *from, const hs__layer_worker *worker,
                            double layers, hs__layer_curve *sum);

/* The least use of the links with one worker more, whose message comes last, if all end by `end`;
 * the rest as above. */
void hs__layers_put_last(const hs__layer_curve *from, const hs__layer_worker *worker, double end,
                         double layers, hs__layer_curve *sum);

/* The least time of layers that can be divided in this order of the workers, who may have as many.
 * O(q) without limits, O(q^2) with them.
 *   room    two curves of 2 q + 1 points
 *   shares  [q] out: they sum to the layers */
double hs__layers_shares(double layers, int32_t q, const hs__layer_worker *workers,
                         hs__layer_curve room[2], double *shares);

/* The least use of the links for layers that can be divided, by these workers in any order or a mix
 * of orders, if all end by `end`. Returns how many layers more a unit of time more allows. O(q)
 * without limits, O(q^2) with them.
 *   sorted     by hs__layers_sort
 *   key, pool  [q] scratch
 *   front      out: room for q + 1 points
 *   shares     [q] out: of each worker, where they do the most; or NULL */
double hs__layers_front(int32_t q, const hs__layer_worker *sorted, double end, double *key,
                        int32_t *pool, hs__layer_curve *front, double *shares);

/* Whole layers, all messages first: the best counts [q], and when the last one ends. */
hs_status hs__layers_apart(int64_t layers, int32_t q, const hs__layer_worker *workers,
                           const int *cancel, int64_t *counts, double *makespan);

#endif
