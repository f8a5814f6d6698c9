/* Layers of a product on a star. */
#ifndef HETSCHED_LAYERS_H
#define HETSCHED_LAYERS_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* A matrix product in layers: the inner dimension is divided, a worker gets k columns of A and the
 * k rows of B that go with them. A star's centre sends each worker its share in one message of k
 * send[i], and k compute[i] is the work.
 *   HS_SCSS  one message after the other, in an order; a worker computes while it receives, and is
 *            done no earlier than its data
 *   HS_SCCS  one after the other; a worker computes after it has received all
 *   HS_PCCS  all messages at once, then the work
 *   HS_PCSS  all at once, and the work meanwhile
 * A worker without layers gets no message. All functions return HS_ERROR_INFEASIBLE if those that
 * can work may not have all layers. Source: Liu, Shi, Zhang, Robertazzi, Layer Based Partition,
 * section 4; of limits section 3.3. */
#define HS_LAYERS_MOST 0x1p300
typedef enum hs_layers_mode { HS_SCSS = 0, HS_SCCS = 1, HS_PCCS = 2, HS_PCSS = 3 } hs_layers_mode;
typedef struct hs_layers {
    int32_t mode; /* hs_layers_mode */
    int32_t p;
    int64_t layers; /* 0 .. 2^53 */
    /* [p] time per layer, 1 / HS_LAYERS_MOST .. HS_LAYERS_MOST; infinite: gets nothing; not all
     * are */
    const double *compute;
    const double *send; /* [p] the same, finite, or 0 */
    /* [p] layers that each may have at most, >= 0, as for its memory; or NULL: as many as there
     * are */
    const int64_t *most;
} hs_layers;

/* What given counts take.
 *   order     [p] the workers in the order of the messages; NULL: by index. Not read for HS_PCCS
 *             and HS_PCSS
 *   counts    [p] layers, none above `most`; their sum is that of the problem
 *   start, received, end  [p] out: of the message and of the work; 0 without layers
 *   makespan  out
 * Time O(p). */
HS_API hs_status hs_layers_schedule(const hs_layers *problem, const int32_t *order,
                                    const int64_t *counts, double *start, double *received,
                                    double *end, double *makespan);

/* The optimum if layers could be divided, a linear programme: a worker is busy to the end, has all
 * that it may, or leaves just the time in which those after it make better use of the links than it
 * does.
 *   order     [p] or NULL: any, or a mix of orders, each for a part of the time. Without `most`
 *             ascending send is as good as any mix, and a closed form; with it a mix may be better
 *             than any order
 *   shares    [p] out, or NULL: they sum to the layers
 *   makespan  out
 * Time O(p), without an order O(p log p); with `most` O(p^2), without an order for each of a few
 * steps of Newton's method. */
HS_API hs_status hs_layers_relaxed(const hs_layers *problem, const int32_t *order, double *shares,
                                   double *makespan);

/* A lower bound on the makespan of whole layers in any order: the relaxed one of any, and the
 * optimum as if every worker had its message first. Time as of hs_layers_relaxed, and with `most`
 * of hs_distribute for up to p times. */
HS_API hs_status hs_layers_bound(const hs_layers *problem, const int *cancel, double *bound);

/* The paper's closed forms, equations (5) to (33), where all workers of the order end together
 * (with max(compute, send) for compute in the modes with simultaneous start), and its integers,
 * section 4.5: .5 goes down; then from those that end first on each gets a layer, or those that end
 * last lose one, until the sum is right. A worker without layers ends at 0; ties by place. What
 * would be above `most`, of which the paper does not speak, is not given, and dealt in the same way
 * to those that have room.
 *   order   [p] or NULL: by index
 *   shares  [p] out, or NULL: before rounding
 *   counts  [p] out
 * Time O(p log p). */
HS_API hs_status hs_layers_paper(const hs_layers *problem, const int32_t *order, double *shares,
                                 int64_t *counts);

/* The best counts for an order of the messages, up to rounding of the makespan.
 *   order    [p] or NULL: by index
 *   counts   [p] out
 *   optimal  out: 1 if that is proven. 0 only where more than 2^25 numbers of layers would have to
 *            be looked at: never for (p + 1) (layers + 1) below that
 * All messages at once: hs_distribute, again and again without those that have all they may. Else a
 * dynamic programme: a worker that has k of m layers to do ends them with those after it at max(k
 * hold, k send + rest(m - k)), and the best k follow a window that slides: O(1) each. Of the m only
 * those that a better schedule than the best one known can leave, if layers could be divided: time
 * and memory O(p w), with `most` O(p^2 + p w), for w of them at a place. That is few, whatever the
 * layers; all of them where links are equal and slow. */
HS_API hs_status hs_layers_exact(const hs_layers *problem, const int32_t *order, const int *cancel,
                                 int64_t *counts, int *optimal);

/* The best counts and order. The better of the order by index and that by ascending send, then the
 * best one for its counts, moves of one worker and exchanges of two, then, for up to 20, the
 * dynamic programme over the sets of those that come last, which is exact for all orders.
 *   work     of the moves, in workers looked at, each as often as there are limits that bind; some
 *            1e7 in a second
 *   order    [p] out
 *   optimal  out: 1 if no order and no counts are better. 0 for more than 20 workers, or if more
 *            than 2^16 sets or 2^24 numbers of layers remain to be looked at
 * Time, beside the moves, that of hs_layers_exact for each set that a better schedule can leave,
 * 2^p at most. */
HS_API hs_status hs_layers_best(const hs_layers *problem, int64_t work, const int *cancel,
                                int32_t *order, int64_t *counts, int *optimal);

/* The same for many stars, each as alone: hs_layers_exact or hs_layers_paper by index, or
 * hs_layers_best.
 *   rows       >= 0 stars
 *   problem    compute, send and most are [rows * p], the rest holds for all
 *   work       of hs_layers_best
 *   order      [rows * p] out; counts [rows * p] out; makespans, bounds [rows] out: of
 *              hs_layers_schedule and hs_layers_bound
 *   optimal    [rows] out: as of the function; 0 for HS_LAYERS_PAPER
 * What is returned for one of them is returned for all; the outputs are then undefined. */
typedef enum hs_layers_method {
    HS_LAYERS_EXACT = 0,
    HS_LAYERS_BEST = 1,
    HS_LAYERS_PAPER = 2
} hs_layers_method;
HS_API hs_status hs_layers_batch(hs_layers_method method, int64_t rows, const hs_layers *problem,
                                 int64_t work, const int *cancel, int32_t *order, int64_t *counts,
                                 double *makespans, double *bounds, int32_t *optimal);

/* What any counts and order are worth: the makespan of hs_layers_schedule, and hs_layers_bound.
 * Time as of hs_layers_bound, memory O(p). */
HS_API hs_status hs_layers_certificate(const hs_layers *problem, const int32_t *order,
                                       const int64_t *counts, const int *cancel,
                                       hs_certificate *certificate);

HS_C_END
#endif
