/* Layers of a product on a star. */
#ifndef HETSCHED_LAYERS_H
#define HETSCHED_LAYERS_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* A matrix product in layers. The inner dimension is divided: a worker gets k columns of A and the
 * k corresponding rows of B. The centre of a star sends each worker its share in one message, which
 * takes k send[i]; the work takes k compute[i]. Modes:
 *   HS_SCSS  one message after the other, in some order; a worker computes while it receives, and
 *            ends no earlier than its data arrive
 *   HS_SCCS  one message after the other; a worker computes after it has received everything
 *   HS_PCCS  all messages at once, then the work
 *   HS_PCSS  all messages at once, and the work meanwhile
 * A worker without layers gets no message. All functions return HS_ERROR_INFEASIBLE if the limits
 * of the workers that can compute do not add up to all layers. Source: Liu, Shi, Zhang, Robertazzi,
 * Layer Based Partition, section 4; limits: section 3.3. */
#define HS_LAYERS_MOST 0x1p300
typedef enum hs_layers_mode { HS_SCSS = 0, HS_SCCS = 1, HS_PCCS = 2, HS_PCSS = 3 } hs_layers_mode;
typedef struct hs_layers {
    int32_t mode; /* hs_layers_mode */
    int32_t p;
    int64_t layers; /* 0 .. 2^53 */
    /* [p] time per layer, 1 / HS_LAYERS_MOST .. HS_LAYERS_MOST; infinite: the worker gets nothing;
     * at least one is finite */
    const double *compute;
    /* [p] time per layer in the same range, finite, or 0 */
    const double *send;
    /* [p] largest number of layers of each worker, >= 0, e.g. because of its memory; NULL: no
     * limits */
    const int64_t *most;
} hs_layers;

/* Computes the schedule of given counts.
 *   order     [p] the workers in the order of the messages; NULL: by index. Not read for HS_PCCS
 *             and HS_PCSS
 *   counts    [p] layers of each worker, none above `most`; their sum is problem->layers
 *   start     [p] out: start of the message; 0 without layers
 *   received  [p] out: end of the message; 0 without layers
 *   end       [p] out: end of the work; 0 without layers
 *   makespan  out
 * Time O(p). */
HS_API hs_status hs_layers_schedule(const hs_layers *problem, const int32_t *order,
                                    const int64_t *counts, double *start, double *received,
                                    double *end, double *makespan);

/* Computes the optimum if layers could be divided, a linear program. In it each worker is busy to
 * the end, has as much as its limit allows, or leaves exactly the time in which the workers after
 * it make better use of the links.
 *   order     [p]; NULL: any order, or a mix of orders, each for a part of the time. Without
 *             `most`, ascending send is as good as any mix, and the solution is a closed form; with
 *             `most` a mix may be better than any order
 *   shares    [p] out, or NULL: their sum is problem->layers
 *   makespan  out
 * Time O(p); without an order O(p log p). With `most` O(p^2); without an order O(p^2) for each of a
 * few steps of Newton's method. */
HS_API hs_status hs_layers_relaxed(const hs_layers *problem, const int32_t *order, double *shares,
                                   double *makespan);

/* Computes a lower bound on the makespan of whole layers in any order: the larger of the relaxed
 * optimum for any order, and the optimum as if every worker received its message first. Time as for
 * hs_layers_relaxed and, with `most`, for up to p calls of hs_distribute. */
HS_API hs_status hs_layers_bound(const hs_layers *problem, const int *cancel, double *bound);

/* Computes the closed forms of the paper, equations (5) to (33), in which all workers of the order
 * end together (in the modes with simultaneous start with max(compute, send) in place of compute),
 * and its integers, section 4.5: .5 is rounded down; then, until the sum is right, the workers that
 * end first get a layer each, or those that end last lose one. A worker without layers ends at 0;
 * ties go by place in the order. The paper has no limits: layers above `most` are not given, but
 * dealt in the same way to the workers with room.
 *   order   [p] or NULL: by index
 *   shares  [p] out, or NULL: before rounding
 *   counts  [p] out
 * Time O(p log p). */
HS_API hs_status hs_layers_paper(const hs_layers *problem, const int32_t *order, double *shares,
                                 int64_t *counts);

/* Finds the best counts for an order of the messages, up to rounding of the makespan.
 *   order    [p] or NULL: by index
 *   counts   [p] out
 *   optimal  out: 1 if the counts are proven optimal. 0 only if more than 2^25 numbers of layers
 *            would have to be considered, which never happens if (p + 1) (layers + 1) is below that
 * With all messages at once: hs_distribute, repeated without the workers that have reached their
 * limits. Else dynamic programming: a worker that does k of m remaining layers ends, together with
 * the workers after it, at max(k hold, k send + rest(m - k)), and the best k follow a sliding
 * window: O(1) each. Only those m are considered that a schedule better than the best one known
 * could leave if layers could be divided: with w of them at a place, time and memory O(p w), with
 * `most` O(p^2 + p w). They are few, however many layers there are, except if links are equal and
 * slow: then they are all layers. */
HS_API hs_status hs_layers_exact(const hs_layers *problem, const int32_t *order, const int *cancel,
                                 int64_t *counts, int *optimal);

/* Finds the best counts and order. It takes the better of the order by index and the order by
 * ascending send, then the best order for the resulting counts, then moves of one worker and
 * exchanges of two. For up to 20 workers, dynamic programming over the sets of workers that come
 * last follows, which is exact for all orders.
 *   work     effort of the moves, in workers looked at, each counted as often as there are limits
 *            that bind; about 1e7 per second
 *   order    [p] out
 *   counts   [p] out
 *   optimal  out: 1 if no order and no counts are better. 0 for more than 20 workers, or if more
 *            than 2^16 sets or 2^24 numbers of layers remain to be considered
 * Time, besides the moves: as for hs_layers_exact for each set that a better schedule could leave,
 * at most 2^p sets. */
HS_API hs_status hs_layers_best(const hs_layers *problem, int64_t work, const int *cancel,
                                int32_t *order, int64_t *counts, int *optimal);

/* Certificate of any counts and order: the makespan of hs_layers_schedule, with hs_layers_bound as
 * the bound. Time as for hs_layers_bound, memory O(p). */
HS_API hs_status hs_layers_certificate(const hs_layers *problem, const int32_t *order,
                                       const int64_t *counts, const int *cancel,
                                       hs_certificate *certificate);

/* ---- products -------------------------------------------------------------------------------- */

/* C = A B of n x n matrices, in layers. The source of a star holds A and B. A worker with k columns
 * of A and rows of B receives 2 n k elements, does n^2 k multiply-adds, and holds these elements and
 * its n x n matrix, the sum of its layers.
 *   mode         hs_layers_mode
 *   p            workers
 *   n            0 .. HS_LAYERS_SIDE
 *   cycle_times  [p] time per multiply-add, > 0: n^2 cycle_times in the range of hs_layers.compute;
 *                infinite: the worker gets nothing; at least one is finite
 *   link_costs   [p] time per element, >= 0: 2 n link_costs in the range of hs_layers.send
 *   memory       [p] elements that each worker can hold, >= 0, infinite without a limit; NULL: no
 *                limits. A worker with too little for one layer gets nothing
 *   disk         1: a worker stores its matrix on its disk, row by row, and holds n elements of it;
 *                0: it holds n^2 elements */
enum { HS_LAYERS_SIDE = 1 << 30 };
typedef struct hs_layers_product {
    int32_t mode;
    int32_t p;
    int64_t n;
    const double *cycle_times;
    const double *link_costs;
    const double *memory;
    int32_t disk;
} hs_layers_product;

/* How layers are chosen.
 *   HS_LAYERS_EXACT  hs_layers_exact, with the messages in the order of the workers
 *   HS_LAYERS_BEST   hs_layers_best, with a search of half a second at most
 *   HS_LAYERS_PAPER  hs_layers_paper, with the messages in the order of the workers
 *   HS_LAYERS_GIVEN  the caller has chosen them */
typedef enum hs_layers_method {
    HS_LAYERS_EXACT = 0,
    HS_LAYERS_BEST = 1,
    HS_LAYERS_PAPER = 2,
    HS_LAYERS_GIVEN = 3
} hs_layers_method;

/* A plan of layers. The caller sets the pointers.
 *   counts   [p] layers of each worker; in with HS_LAYERS_GIVEN, else out
 *   order    [p] the first `served` entries are the workers with layers in the order of their
 *            messages, by index if all messages go out at once; out. With HS_LAYERS_GIVEN also in:
 *            different workers; the workers that are not among them follow by index
 *   served   number of workers with layers; out, with HS_LAYERS_GIVEN also in
 *   receive  [2 p] out: start and end of each worker's message; 0, 0 for a worker without layers
 *   compute  [2 p] out: start and end of its work; 0, 0 without layers
 *   shares   [p] out: fractional layers, the best for this order of the workers; with
 *            HS_LAYERS_PAPER the counts of the closed form
 *   relaxed  out: makespan with these shares */
typedef struct hs_layers_result {
    int64_t *counts;
    int32_t *order;
    int32_t served;
    double *receive;
    double *compute;
    double *shares;
    double relaxed;
} hs_layers_result;

/* Plans a product, or evaluates the given layers.
 *   certificate  out: the makespan, with hs_layers_bound as the bound; the makespan itself if it is
 *                proven optimal for all orders. The scope says whether that is so for all orders and
 *                counts, or for all counts with messages in this order; "" with HS_LAYERS_GIVEN
 * HS_ERROR_INFEASIBLE if the memory of the workers that can compute does not hold n layers. After an
 * error the outputs are undefined. Time and memory of the method. */
HS_API hs_status hs_layers_plan(const hs_layers_product *product, hs_layers_method method,
                                const int *cancel, hs_layers_result *result,
                                hs_certificate *certificate);

/* Plans many products, each with the same result as alone.
 *   method     not HS_LAYERS_GIVEN
 *   rows       >= 0 products
 *   products   cycle_times, link_costs and memory are [rows * p]; the other fields hold for all
 *   counts     [rows * p] out
 *   makespans  [rows] out
 *   bounds     [rows] out: of the certificates
 *   optimal    [rows] out: of the certificates
 * An error of one product is returned for the whole call; the outputs are then undefined. */
HS_API hs_status hs_layers_batch(hs_layers_method method, int64_t rows,
                                 const hs_layers_product *products, const int *cancel,
                                 int64_t *counts, double *makespans, double *bounds,
                                 int32_t *optimal);

/* Computes how many layers, with their 2 n elements of A and B, fit into memories.
 *   beside  0 .. 2^62: elements that are held besides them
 *   count   memories, >= 0
 *   memory  [count] elements, >= 0; infinite is allowed
 *   most    [count] out: 0 .. n
 * Time O(count). */
HS_API hs_status hs_layers_room(int64_t n, int64_t beside, int64_t count, const double *memory,
                                int64_t *most);

HS_C_END
#endif
