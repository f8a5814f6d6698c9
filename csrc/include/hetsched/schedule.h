/* Plans of a matrix product on unequal workers: boxes of its iteration space, the messages that
 * they wait for, and the schedule.
 *
 * hs_matmul_best makes a plan in one call, by one method or by the best of several. To make one step
 * by step: one function makes the boxes (hs_matmul_zones, _cannon, _triangle, _layers, ...), one the
 * messages if workers send to each other (hs_matmul_owners, _torus), and hs_matmul_schedule computes
 * when each worker receives and computes what. hs_run_product runs the boxes. */
#ifndef HETSCHED_SCHEDULE_H
#define HETSCHED_SCHEDULE_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* A part of the iteration space of C = A B: rows row.. of C, columns col.. of C, indices depth.. of
 * the inner dimension. */
typedef struct hs_box {
    int32_t worker;
    int64_t row, col, depth;
    int64_t height, width, length;
} hs_box;

/* A product C = A B that is to be planned, A m x k, B k x n, and the workers. All functions
 * hs_matmul_x return HS_ERROR_VALUE if a field is not in its range.
 *   m, n, k      0 .. 2^53
 *   p            >= 1 workers
 *   cycle_times  [p] time per gigaflop (1e9 flops), > 0, not NaN
 *   link_costs   [p] time per gigabyte (1e9 bytes) from the master to each worker, >= 0, finite;
 *                NULL: data from the master take no time
 *   links        [p * p] time per gigabyte from worker i to worker j at i * p + j, >= 0, finite;
 *                NULL: there are no links between the workers
 *   itemsize     bytes of an element, >= 1
 *   update       flops of a multiply-add, > 0: 2, or 8 for complex numbers
 *   parallel     0: one port serves the workers one after another; 1: all transfers may take place
 *                at the same time
 *   overlap      0: a worker computes a box after it has received its data; 1: the work on a box
 *                starts with the transfer of its data, and does not end before it
 *   triangle     1: only the part of each box on and below the diagonal of C is computed */
typedef struct hs_matmul {
    int64_t m, n, k;
    int32_t p;
    const double *cycle_times, *link_costs, *links;
    int32_t itemsize;
    double update;
    int32_t parallel, overlap, triangle;
} hs_matmul;

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Functions that make boxes have these outputs:
 *   boxes      [capacity] out: in the order in which the workers are served; the boxes of a worker
 *              are in the order in which it computes them
 *   sent       [capacity] out: bytes of A and B that each box waits for
 *   box_count  out. If it is more than `capacity`, boxes and sent are not written */

/* Extends zones of C over the whole depth, in steps: the outer-product algorithm of the 2001 paper,
 * section 3.1, in which each step brings a pivot column of A and a pivot row of B, `step` wide, to
 * the workers. The first box of a worker in each step waits for the data of all its zones.
 *   step     >= 1: depth of a step; 0: the whole depth in one step
 *   pieces   >= 0
 *   workers  [pieces]
 *   rects    [4 pieces] row, col, height, width of each piece, all >= 0; what reaches beyond C is
 *            cut off
 * The boxes of a step are sorted by worker. Time O(pieces log pieces + boxes), memory O(pieces +
 * p). */
HS_API hs_status hs_matmul_zones(const hs_matmul *product, int64_t step, int32_t pieces,
                                 const int32_t *workers, const int64_t *rects, int64_t capacity,
                                 hs_box *boxes, double *sent, int64_t *box_count);

/* Makes the boxes of Cannon's algorithm for p = s^2 workers, numbered row by row. C, A and B are
 * cut evenly into s x s parts. In each of s steps a worker multiplies a part of A by a part of B,
 * then passes the part of A to the left and the part of B upwards.
 *   block  >= 1: the cuts are at multiples of it
 * There are s p boxes, step by step. HS_ERROR_VALUE if p is not a square, HS_ERROR_INFEASIBLE if m,
 * n or k has fewer than s blocks. Time O(s p), memory O(s). */
HS_API hs_status hs_matmul_cannon(const hs_matmul *product, int64_t block, int64_t capacity,
                                  hs_box *boxes, double *sent, int64_t *box_count);

/* Cuts the lower triangle of C for a matrix by its own transpose (m = n). The workers get block
 * columns, in the order of the workers, that take the least time, up to rounding: by bisection over
 * the time, in which each worker takes as much as it can. A box needs only the rows of A from its
 * first column on.
 *   block  >= 1: the cuts are at multiples of it
 * There are at most p boxes. HS_ERROR_VALUE if capacity < p, if m and n differ, or if a cycle-time
 * is infinite; box_count is not written then. Time O(p) for each of 100 steps. */
HS_API hs_status hs_matmul_triangle(const hs_matmul *product, int64_t block, int64_t capacity,
                                    hs_box *boxes, double *sent, int64_t *box_count);

/* Divides C among the domains of a machine, as hs_gemm divides a product that all workers of a pool
 * share (hs_pool_create_domains), by recursive bisection. The domains, in their order, are split
 * where about half of their total speed is reached. C is cut across its longer side (a square
 * between columns) where both halves are done first. Each half of C is then divided among its half
 * of the domains. hs_gemm cuts at multiples of its kernel's register tile (hs_kernel_sizes), and
 * does not cut a part with fewer than 256 rows or columns; if its kernel computes the transpose,
 * all this holds for the transpose.
 *   rows, cols          0 .. 2^53
 *   row_unit, col_unit  >= 1: rows and columns are cut at multiples of them from the first one of
 *                       the part that is cut
 *   least               >= 0: a part with fewer than 2 least rows or columns along its longer side
 *                       is not cut, but goes to the fastest of its domains
 *   count               >= 1 domains
 *   speeds              [count] >= 0, finite; a domain with speed 0 gets nothing
 *   rects               [4 count] out: row, col, height, width of each domain's zone; all 0: none
 * Time O(count log(rows cols) log count), memory O(count). */
HS_API hs_status hs_domain_zones(int64_t rows, int64_t cols, int64_t row_unit, int64_t col_unit,
                                 int64_t least, int32_t count, const double *speeds,
                                 int64_t *rects);

/* The sum of layers at the end. If the boxes of different workers cover the same part of C, each
 * worker adds up its own boxes in a layer, the least rectangle of C around them. When all boxes are
 * done, each worker sums some rows of C, and receives the parts of these rows that other workers
 * hold.
 *   rows   [p + 1] worker i sums rows rows[i] .. rows[i + 1] - 1; from 0 to m
 *   sent   [p] bytes that each worker receives
 *   flops  [p] additions of each worker */
typedef struct hs_layer_sum {
    int64_t *rows;
    double *sent, *flops;
} hs_layer_sum;

/* Cuts boxes off at the end of the product, leaves out empty ones, and prepares the sum of layers.
 * Rows are divided by hs_distribute over the speeds of the workers with boxes. An addition counts
 * as one flop if product->update is 2, else as two (complex numbers).
 *   count    >= 0
 *   given    [count] in the order of the port; all numbers >= 0
 *   boxes    [count] out: box_count of them
 *   sent     [count] out
 *   sum      its arrays: out, if *layered is 1
 *   layered  out: 1 if some box has a depth > 0
 * Time O(count + p^2), memory O(count + p). */
HS_API hs_status hs_matmul_layers(const hs_matmul *product, int64_t count, const hs_box *given,
                                  const int *cancel, hs_box *boxes, double *sent,
                                  int64_t *box_count, hs_layer_sum *sum, int32_t *layered);

/* Divides the inner dimension into layers for the workers. A heuristic: for q = 1 .. p (for q = p
 * alone if p > HS_MATMUL_FEW), the q workers with the least time for a layer and its transfer divide
 * the layers by hs_layers_exact, in the order of ascending transfer times. Returns the plan with the
 * least makespan, including the sum of the layers.
 *   block  >= 1: layers are dealt in blocks of so many
 *   boxes  [p] out: box_count of them, as hs_matmul_layers makes them
 *   sent   [p] out
 * m, n and k must be >= 1. Time as for p calls of hs_layers_exact. */
enum { HS_MATMUL_FEW = 64 };
HS_API hs_status hs_matmul_layers_best(const hs_matmul *product, int64_t block, const int *cancel,
                                       hs_box *boxes, double *sent, int64_t *box_count,
                                       hs_layer_sum *sum, int32_t *layered);

/* Prepares the sum of layers of the whole of C, one by each worker, for a shared run in which
 * workers take over boxes of other workers, and nothing is sent. Time O(p log p). */
HS_API hs_status hs_matmul_shared_layers(const hs_matmul *product, hs_layer_sum *sum);

/* ---- messages between workers ---------------------------------------------------------------- */

/* What a box waits for.
 *   box     the box
 *   sender  the worker that sends
 *   bytes   size of the message
 *   after   the earlier box with the transfer that brings the data to the sender; -1: the sender
 *           has the data */
typedef struct hs_message {
    int64_t box, sender;
    double bytes;
    int64_t after;
} hs_message;

/* Functions that make messages have these outputs:
 *   sent           [count] out: bytes that each box waits for
 *   messages       [capacity] out, by ascending box
 *   message_count  out. If it is more than `capacity`, only so many messages are written */

/* Makes the messages of the outer-product algorithm. A and B are distributed like C, stretched
 * where their sides differ. In each step a worker receives from the owners what it needs of A and
 * B and does not own.
 *   boxes   [count] of hs_matmul_zones
 *   groups  [p] number of each worker's group, or NULL. Workers of a group share the data from
 *           other groups: it is sent once, to the first of them with a zone, which passes on what
 *           the other workers of the group need (2001 paper, section 3.2.2, figure 14)
 * Time O(w^2 + w q) for each step of q boxes of w workers, and O(q^2 + p^2) once; memory O(w q). */
HS_API hs_status hs_matmul_owners(const hs_matmul *product, int64_t count, const hs_box *boxes,
                                  const int64_t *groups, const int *cancel, int64_t capacity,
                                  double *sent, hs_message *messages, int64_t *message_count);

/* Makes the messages of Cannon's algorithm. In the first step, parts of A and B come from their
 * owners (the skewing). Later they come from the worker to the right and from the worker below,
 * which received them one step before.
 *   boxes  [count] of hs_matmul_cannon
 * Time O(count), with links O(count + p^2). At most 2 count messages. */
HS_API hs_status hs_matmul_torus(const hs_matmul *product, int64_t count, const hs_box *boxes,
                                 int64_t capacity, double *sent, hs_message *messages,
                                 int64_t *message_count);

/* ---- schedule -------------------------------------------------------------------------------- */

/* Speeds that change while the workers compute.
 *   count        >= 0 changes
 *   times        [count] when the speeds change, ascending
 *   cycle_times  [count * p] from then on, row by row, > 0; the product's own hold before the
 *                first change */
typedef struct hs_speed_changes {
    int32_t count;
    const double *times, *cycle_times;
} hs_speed_changes;

/* The boxes of a plan, and what they wait for.
 *   count          >= 0 boxes
 *   boxes          [count] in the order in which the workers are served
 *   sent           [count] bytes that each box waits for; NULL: none
 *   message_count  >= 0
 *   messages       [message_count] in place of `sent`, over product->links; NULL: no messages
 *   arrivals       [2 count] start and end of the transfer of each box in place of both, if they
 *                  are known; or NULL
 *   sum            the sum of layers at the end, or NULL */
typedef struct hs_matmul_plan {
    int64_t count;
    const hs_box *boxes;
    const double *sent;
    int64_t message_count;
    const hs_message *messages;
    const double *arrivals;
    const hs_layer_sum *sum;
} hs_matmul_plan;

/* A schedule. Each array is out, or NULL.
 *   receive      [2 count] start and end of the transfer of each box
 *   work         [2 count] start and end of the computation of each box
 *   flops        [p] flops of each worker, without the sum
 *   sum_receive  [2 p] start and end of the transfer for each worker's part of the sum, from
 *                `start` on
 *   start        out: end of the last box, when the sum of the layers starts
 *   makespan     out
 *   bound        out: the work divided perfectly over the speeds, without the sum */
typedef struct hs_schedule {
    double *receive, *work, *flops, *sum_receive;
    double start, makespan, bound;
} hs_schedule;

/* Computes when each worker receives and computes its boxes. The boxes are served in their order. A
 * worker that computes does not receive; a box is not served before the transfers that its messages
 * come after. A transfer that takes no time does not wait for the port.
 *   changes   or NULL: the speeds do not change. The bound is for the speeds at the start
 *   schedule  its arrays are set by the caller
 * Infinite times are possible if numbers overflow. Time O((count + p) (1 + changes) + messages), with
 * links also O(p^2). Memory O(p), with messages O(count + messages + p). */
HS_API hs_status hs_matmul_schedule(const hs_matmul *product, const hs_matmul_plan *plan,
                                    const hs_speed_changes *changes, hs_schedule *schedule);

/* ---- demand-driven products ------------------------------------------------------------------ */

/* What a product consists of, for n blocks along each axis.
 *   OUTER   n^2 tasks: task (row, col) needs block `row` of A and block `col` of B. It is the outer
 *           product of two vectors, or C = A B in zones of one block over the whole depth
 *   MATRIX  n^3 tasks: task (row, col, depth) needs the blocks A(row, depth), B(depth, col) and
 *           C(row, col) */
typedef enum hs_dynamic_kind { HS_DYNAMIC_OUTER = 0, HS_DYNAMIC_MATRIX = 1 } hs_dynamic_kind;
enum { HS_DYNAMIC_KINDS = 2, HS_DYNAMIC_OPERANDS = 3 };

/* What a worker gets that asks for work, from the tasks that are not handed out yet.
 *   TWO_PHASES  as GROWING while at least exp(-beta) of all tasks are left, then as RANDOM
 *   GROWING     the blocks of one more row, column (and depth), each drawn among those that the
 *               worker does not have, and all tasks that its rows, columns (and depths) now allow.
 *               If there is none, it asks again
 *   RANDOM      one task, each with the same probability
 *   SORTED      the first task by row, then column, then depth */
typedef enum hs_dynamic_method {
    HS_DYNAMIC_TWO_PHASES = 0,
    HS_DYNAMIC_GROWING = 1,
    HS_DYNAMIC_RANDOM = 2,
    HS_DYNAMIC_SORTED = 3
} hs_dynamic_method;
enum { HS_DYNAMIC_METHODS = 4 };

/* A product that is handed out on demand (Beaumont, Marchal, HPDC 2014, arXiv 1404.3913): a worker
 * that has finished its tasks asks for more. It keeps all blocks that it has received, and is sent
 * only those that it lacks. Transfers take no time, because they take place while the worker
 * computes.
 *   p            >= 1
 *   cycle_times  [p] time of a task, > 0, at least one finite. A worker with an infinite one gets
 *                nothing
 *   n            >= 0, with at most HS_DYNAMIC_MOST_TASKS tasks
 *   kind         hs_dynamic_kind
 *   method       hs_dynamic_method
 *   beta         >= 0, infinity is allowed: of HS_DYNAMIC_TWO_PHASES; else not read
 *   seed         of the random numbers
 *   changes      speeds that change while the workers compute, or NULL */
typedef struct hs_dynamic {
    int32_t p;
    const double *cycle_times;
    int64_t n;
    int32_t kind, method;
    double beta;
    uint64_t seed;
    const hs_speed_changes *changes;
} hs_dynamic;
enum { HS_DYNAMIC_MOST_TASKS = 1000000 };

/* A task that was handed out. depth is 0 for HS_DYNAMIC_OUTER. `sent` counts the blocks of A, B and C
 * that its worker received since its previous task. So the sum of `sent` over the tasks of a worker
 * is its `blocks`. */
typedef struct hs_dynamic_task {
    int32_t worker, row, col, depth;
    int32_t sent[HS_DYNAMIC_OPERANDS];
    double start, end;
} hs_dynamic_task;

/* Simulates a demand-driven product. Workers that ask at the same time are served in the order of
 * their numbers.
 *   tasks        [n^2 or n^3] out: in the order in which they were handed out
 *   blocks       [HS_DYNAMIC_OPERANDS p] out: blocks of A, B and C that each worker received; C is
 *                0 for HS_DYNAMIC_OUTER. A block of C is counted once: it is sent back, or there
 *                and back
 *   makespan     out: end of the last task
 *   certificate  out: the volume, i.e. the sum of `blocks`. The bound holds for all plans in which
 *                each worker has as many tasks: x tasks of a worker need at least 2 sqrt(x), or 3
 *                x^(2/3), blocks, rounded up to what integers can reach (Loomis, Whitney 1949)
 * HS_ERROR_VALUE also if the makespan overflows. After an error tasks and blocks are undefined. Time
 * O(tasks (log p + changes) + p (1 + changes)) for RANDOM and SORTED. The other methods also take
 * O(p n), and O(1) for each task that a worker's blocks allow, at most p times the tasks. Memory
 * O(tasks + p n), for MATRIX O(tasks + p n^2). */
HS_API hs_status hs_dynamic_product(const hs_dynamic *product, const int *cancel,
                                    hs_dynamic_task *tasks, int64_t *blocks, double *makespan,
                                    hs_certificate *certificate);

/* Computes lower bounds for plans of a product, demand-driven or not.
 *   volume    out: for plans in which the work of each worker is in proportion to its speed s_k,
 *             where the sum of all s_k is 1: 2 n sum sqrt(s_k) for OUTER, 3 n^2 sum s_k^(2/3) for
 *             MATRIX. Changes of speeds are not considered
 *   makespan  out: for all plans, the work divided perfectly over the speeds, with their changes,
 *             up to the rounding of the sums; HS_ERROR_VALUE if it overflows
 * kind, n, cycle_times and changes of the product are read. Time O(p), with changes O(p changes). */
HS_API hs_status hs_dynamic_bounds(const hs_dynamic *product, double *volume, double *makespan);

/* Predicts the volume of HS_DYNAMIC_TWO_PHASES, by the mean of the random draws for large n and many
 * workers (docs/theory.md). beta 0 stands for HS_DYNAMIC_RANDOM, infinity for HS_DYNAMIC_GROWING.
 *   beta    >= 0, infinity is allowed; more than the logarithm of the number of tasks counts as that
 *   volume  out: expected number of blocks, without changes of speeds
 * Time O(p). */
HS_API hs_status hs_dynamic_predict(const hs_dynamic *product, double beta, double *volume);

/* Finds the threshold beta with the least predicted volume. O(p) for each of 150 thresholds. */
HS_API hs_status hs_dynamic_beta(const hs_dynamic *product, const int *cancel, double *beta);

/* ---- the best plan --------------------------------------------------------------------------- */

/* Methods of hs_matmul_best. C is divided in blocks.
 *   AUTO        the fastest plan of some methods; of equal ones the first. COLUMNS, ROWS and
 *               RECTANGLES; for up to HS_MATMUL_FEW workers, also PARTITION and CONTIGUOUS if data
 *               take time; without links between the workers and without steps also LAYERS, and
 *               CUBOIDS if data take time; with links NODES, if there are several nodes, and one
 *               with several workers. Methods with too little or too much to divide are left out.
 *               For up to HS_MATMUL_FEW workers with links, the zones of each method are moved:
 *               workers of equal cycle-time exchange zones, and parts beside or above each other
 *               exchange places, as a search of up to 2000 moves from a fixed seed finds. The
 *               makespan is never larger than where the zones were cut
 *   COLUMNS     block columns, by hs_distribute
 *   ROWS        block rows, by hs_distribute
 *   RECTANGLES  hs_partition_best with HS_PARTITION_COLUMNS
 *   PARTITION   HS_PARTITION_BEST, with the link costs as weights if all are positive; so do
 *               CONTIGUOUS, and INTERVAL .. MOHAMMADI_BEHROOZI, with the method of that name
 *   LAYERS      hs_matmul_layers_best
 *   CUBOIDS     hs_cuboids_best for faces of equal cost; AUTO does not search for orders
 *   NODES       a zone for each node, and in it zones for the node's workers: HS_PARTITION_BEST with
 *               groups whose half perimeters cost 1, 10 and 100, with and without messages that
 *               the workers of a node share (hs_matmul_owners). For products with links. Without
 *               options->nodes, the nodes are clusters of cheap links, for up to HS_MATMUL_FEW
 *               workers: the minimum spanning tree without its edges above the largest step between
 *               their sorted costs, if the cost at least doubles there, else one node
 *   CANNON      hs_matmul_cannon, for stepwise communication
 *   DOMAINS     zones of the domains: those given, else hs_domain_zones with cuts between any two
 *               blocks. Each is cut along its longer side for its workers, by hs_distribute
 * If m, n or k is 0, LAYERS, CUBOIDS and CANNON become COLUMNS. */
typedef enum hs_matmul_method {
    HS_MATMUL_AUTO = 0,
    HS_MATMUL_COLUMNS = 1,
    HS_MATMUL_ROWS = 2,
    HS_MATMUL_RECTANGLES = 3,
    HS_MATMUL_PARTITION = 4,
    HS_MATMUL_CONTIGUOUS = 5,
    HS_MATMUL_LAYERS = 6,
    HS_MATMUL_CUBOIDS = 7,
    HS_MATMUL_NODES = 8,
    HS_MATMUL_CANNON = 9,
    HS_MATMUL_DOMAINS = 10,
    HS_MATMUL_INTERVAL = 11,
    HS_MATMUL_GUILLOTINE = 12,
    HS_MATMUL_NONRECTANGULAR = 13,
    HS_MATMUL_KALINOV_LASTOVETSKY = 14,
    HS_MATMUL_RECURSIVE = 15,
    HS_MATMUL_NAGAMOCHI_ABE = 16,
    HS_MATMUL_SNRPP = 17,
    HS_MATMUL_KADDOURA = 18,
    HS_MATMUL_MOHAMMADI_BEHROOZI = 19
} hs_matmul_method;
enum { HS_MATMUL_METHODS = 20 };

/* Options of hs_matmul_best. Zero is the default of every field.
 *   method      hs_matmul_method
 *   block       side of a block in elements, 1 .. 2^53; 0: 1
 *   stepwise    1: the data arrive in steps, one for each block of the inner dimension. Not for
 *               LAYERS and CUBOIDS
 *   zones_only  1: no plan that divides the inner dimension, so that the bits of the result do not
 *               depend on the plan. Not with stepwise, LAYERS, CUBOIDS or CANNON
 *   nodes       [p] the node of each worker, in 0 .. p - 1, for AUTO and NODES; NULL: see NODES
 *   domains     [p] the domain of each worker, in 0 .. p - 1: for DOMAINS; NULL: one domain
 *   zones       [4 d] for DOMAINS with block 1: row, col, height, width of the zone of each of the
 *               d = 1 + max(domains) domains, such as hs_gemm_zones writes; they tile C. Or NULL */
typedef struct hs_matmul_options {
    int32_t method;
    int64_t block;
    int32_t stepwise, zones_only;
    const int32_t *nodes, *domains;
    const int64_t *zones;
} hs_matmul_options;

/* Most boxes and messages of a plan. */
enum { HS_MATMUL_MOST_BOXES = 1000000, HS_MATMUL_MOST_MESSAGES = 4000000 };

/* A plan that was found, in arrays of the caller. boxes and sent are required if box_capacity > 0,
 * messages if message_capacity > 0. All other arrays may be NULL. A plan has at most
 *   min(3 p steps, HS_MATMUL_MOST_BOXES) boxes, or p if that is more, and
 *   min(p^2 steps, HS_MATMUL_MOST_MESSAGES) messages,
 * where `steps` is the number of blocks of k if the communication is stepwise, else 1. If a capacity
 * is too small, the numbers are written, but of the arrays only `tried`. To save memory, call once
 * with both capacities 0, and again with capacities box_count and message_count.
 *   method            out: the method that made it, never AUTO
 *   box_capacity      in: entries of boxes and sent, >= 0
 *   box_count         out
 *   boxes             [box_capacity] out
 *   sent              [box_capacity] out: bytes that each box waits for
 *   message_capacity  in: entries of messages, >= 0
 *   message_count     out; -1: all data come from the master
 *   messages          [message_capacity] out
 *   layered           out: 1 if layers are summed at the end
 *   sum               its arrays: out, if layered
 *   schedule          its arrays: out; receive and work are [2 box_capacity]
 *   tried             [HS_MATMUL_METHODS] out: the makespan of each method that was tried, infinite
 *                     if it overflows; -1 for the other methods */
typedef struct hs_matmul_found {
    int32_t method;
    int64_t box_capacity, box_count;
    hs_box *boxes;
    double *sent;
    int64_t message_capacity, message_count;
    hs_message *messages;
    int32_t layered;
    hs_layer_sum sum;
    hs_schedule schedule;
    double *tried;
} hs_matmul_found;

/* Plans a product.
 *   product      with triangle 0 and at least one finite cycle-time. Links that all take no time are
 *                the same as no links
 *   options      or NULL
 *   found        in and out, see above. After an error the arrays are undefined
 *   certificate  out: the makespan, with the work divided perfectly over the speeds as the bound
 * HS_ERROR_VALUE also if box_count or message_count is more than the most, or schedule.makespan is
 * infinite, because it overflows; these are then set. HS_ERROR_VALUE if the method does not fit the
 * product, or the cost of a partition overflows. HS_ERROR_INFEASIBLE if the method has fewer blocks
 * than workers, or for CANNON too few; HS_ERROR_UNSUPPORTED as by hs_partition_best: not for AUTO.
 * Time and memory of the methods' functions; memory for two plans. */
HS_API hs_status hs_matmul_best(const hs_matmul *product, const hs_matmul_options *options,
                                const int *cancel, hs_matmul_found *found,
                                hs_certificate *certificate);

HS_C_END
#endif
