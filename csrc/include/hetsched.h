/* hetsched: plan, certify, simulate and run dense linear algebra on unequal workers.
 *
 * Tiers, read from the top: status - allocation - assignment - partition - ring - star - layers - kernels - pool - product -
 * product on a star - wavefront - slices on a ring - LU.
 *
 * Contracts that hold everywhere
 *  - Every fallible function returns an hs_status; HS_OK is 0. Outputs are written only on HS_OK, unless said otherwise.
 *  - Inputs are const and never kept; outputs are owned by the caller. "[p]" after a parameter is the length of the array.
 *  - Nothing prints, aborts or exits. Planners are pure functions: they may be called from any number of threads.
 *  - Strides are counted in elements of the array's type and may be zero (inputs only) or negative.
 */
#ifndef HETSCHED_H
#define HETSCHED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status --------------------------------------------------------------------------------------------------- */

typedef enum hs_status {
    HS_OK = 0,
    HS_ERROR_VALUE = 1,       /* an argument is outside its documented range */
    HS_ERROR_MEMORY = 2,      /* out of memory; nothing was changed */
    HS_ERROR_INFEASIBLE = 3,  /* no plan exists for this input */
    HS_ERROR_CANCELLED = 4,   /* the poll function asked to stop; outputs hold partial results */
    HS_ERROR_THREAD = 5,      /* the system refused a thread, or the pool is that of a parent process or being destroyed */
    HS_ERROR_UNSUPPORTED = 6, /* not on this platform, or not with this build */
    HS_ERROR_BUSY = 7         /* the pool runs a job of this very thread (called from its poll function or a tile) */
} hs_status;

/* A static English sentence; never NULL, also for unknown numbers. */
const char *hs_status_string(int status);

/* "major.minor.patch" of the library. */
const char *hs_version(void);

/* ---- allocation (1-D) ----------------------------------------------------------------------------------------- */

/* Optimal counts of n equal, independent chunks: minimises max_i counts[i] * cycle_times[i] with sum(counts) == n.
 * 2001 paper, section 2.2, Algorithm 2; ties to the lowest index. The comparisons are exact for the doubles given,
 * so the result is optimal, not nearly so. An infinite cycle-time gets nothing.
 *   n            chunks, 0 <= n <= 2^53
 *   cycle_times  [p] time per chunk, > 0, not NaN, at least one finite
 *   cancel       NULL, or what another thread sets to non-zero to make it end with HS_ERROR_CANCELLED; so in all functions
 *   counts       [p] out
 *   makespan     out, may be NULL
 * Time O(p log p), independent of n; memory O(p). */
hs_status hs_distribute(int64_t n, int32_t p, const double *cycle_times, const int *cancel, int64_t *counts, double *makespan);

/* hs_distribute for workers that are busy before they begin: minimises the largest starts[i] + counts[i] * cycle_times[i] of those
 * with counts[i] > 0, these times rounded to double; chunks that end at one time, as far as doubles go, go to the lowest index.
 *   starts  [p] >= 0, finite
 * Time O(p) for each of some 60 bisections, O(p log n) where starts swallow the chunks; no memory. */
hs_status hs_distribute_after(int64_t n, int32_t p, const double *cycle_times, const double *starts, int64_t *counts, double *makespan);

/* hs_distribute for each row of a stack. Memory O(p), whatever the number of rows.
 *   n            [rows] chunks of each row; rows >= 0
 *   cycle_times  [rows * p] row by row; at least one finite in each
 *   counts       [rows * p] out
 *   makespans    [rows] out, may be NULL */
hs_status hs_distribute_batch(int64_t rows, const int64_t *n, int32_t p, const double *cycle_times, const int *cancel,
                              int64_t *counts, double *makespans);

/* Optimal counts where time is not proportional to the number of chunks: minimises max_i times[i][counts[i]] with
 * sum(counts) == n, exactly, for times of any shape (they need not increase).
 *   n         chunks, 0 <= n <= 2^53
 *   times     [p * (n + 1)] row i holds the time of worker i for 0 .. n chunks, > 0, not NaN; infinite: not possible. The
 *             first entry of a row is not read: no chunks take no time.
 *   counts    [p] out. From the last worker to the first: the largest number that takes less than the makespan and leaves
 *             the rest feasible, else the largest that takes just the makespan. So ties go to the lowest index.
 *   makespan  out, may be NULL
 * Bisection over the times; the sums that the workers can reach are bitsets. Time O(p n log(p n)) plus, for each of the
 * O(log(p n)) makespans tried and each worker, n / 64 times the number of runs of possible counts; memory O(p n) bits.
 * HS_ERROR_INFEASIBLE if no possible counts sum to n. */
hs_status hs_distribute_profile(int64_t n, int32_t p, const double *times, const int *cancel, int64_t *counts, double *makespan);

/* Deals n chunks one by one, each to the worker that would end it first: the counts of every prefix are those of
 * hs_distribute. 2001 paper, section 2.4.1 (the dynamic programming algorithm). Reversed, the list of owners is the best
 * order of block columns for LU.
 *   owner      [n] out: the worker of each chunk
 *   makespans  [n] out, may be NULL: makespans[k] is that of chunks 0 .. k
 * Time O(p + n log p), memory O(p). */
hs_status hs_distribute_prefix(int64_t n, int32_t p, const double *cycle_times, int32_t *owner, double *makespans);

/* LU factorisation of an m x n matrix in blocks of columns, each of one worker: `block` columns each, the last of the first
 * min(m, n) and the last of all may be narrower. The first ones are panels: panel k is factored, then it updates all blocks to its
 * right. A worker goes through the panels in order; of each it first updates the block that is the next panel, if that is its own,
 * and factors it (a look-ahead of one), then it updates its other blocks from the left. It waits for nothing but the panel.
 * m, n and block < 2^31, at most 46340 blocks. */
typedef struct hs_lu_task {
    int32_t worker;
    int32_t panel, block; /* equal: the panel is factored; else the block is updated */
    double start, end;
    double work;          /* multiply-adds */
} hs_lu_task;

hs_status hs_lu_blocks(int64_t m, int64_t n, int64_t block, int32_t *count);

/* What a step costs beside the updates, whose time is proportional to their multiply-adds.
 *   panels      [p] time per multiply-add of a panel, > 0; infinite only for a worker that owns no panel; NULL: that of an update
 *   links       [p * p] time per element from worker i to worker j at i * p + j, >= 0, finite; NULL: messages take no time. The owner of
 *               a panel sends it to each worker that has blocks to its right: one message after another, first to the owner of the next
 *               panel, then in turn after itself. A worker sends and receives at the same time, and while it computes, but takes one
 *               message at a time, in the order of the panels.
 *   late_panel  0: look-ahead, as above. 1: a worker factors the next panel after all its updates of the step */
typedef struct hs_lu_costs {
    const double *panels;
    const double *links;
    int32_t late_panel;
} hs_lu_costs;

typedef struct hs_lu_message {
    int32_t panel, sender, receiver;
    double start, end;
} hs_lu_message;

/* When every task starts and ends. 2001 paper, section 2.4, with the work that the steps really have, and panels that take time. The
 * triangular solve is part of an update; exchanges of rows take no time.
 *   cycle_times    [p] time per multiply-add, > 0; infinite only for a worker that owns nothing
 *   owner          [hs_lu_blocks] the worker of each block
 *   costs          NULL: panels take as long as updates, messages no time, look-ahead
 *   makespan       out
 *   work           out, may be NULL: multiply-adds of all tasks
 *   tasks          out, may be NULL: [*task_count], in an order in which they can be done
 *   task_count     out, may be NULL
 *   messages       out, may be NULL: [*message_count], by panel, in the order of their starts; none without links
 *   message_count  out, may be NULL
 * Time O(blocks^2 + p panels), memory O(blocks + p). */
hs_status hs_lu_simulate(int64_t m, int64_t n, int64_t block, int32_t p, const double *cycle_times, const int32_t *owner,
                         const hs_lu_costs *costs, const int *cancel, double *makespan, double *work, hs_lu_task *tasks, int64_t *task_count,
                         hs_lu_message *messages, int64_t *message_count);

/* LU of n x n square blocks, each of one worker: step k updates the blocks (i, j) with i, j > k, equal and independent. In all three
 * functions n is 1 .. 46340 and
 *   cycle_times  [p] time to update a block, > 0, not NaN; an infinite one gets nothing
 *   owner        [n * n] the worker of each block, row by row
 *
 * hs_lu_grid_deal deals them by a floorplan of straight cuts (HS_BESIDE, HS_ABOVE): the columns of a box to the parts beside each
 * other, or its rows to those above each other, from the last one back, each to the part that would end it first if its workers
 * divided the work perfectly; then the same within the parts. Parallel cuts next to each other are one such deal. With parts
 * beside each other only that is the reversed hs_distribute_prefix, with columns of workers what the 2001 paper's section 2.4
 * gives in both directions.
 *   plan   [length] the floorplan; workers that are not in it get nothing
 *   owner  out
 * HS_ERROR_VALUE if plan is no such floorplan. Time O(n^2 depth + (n log p) cuts), memory O(n^2 + p). */
hs_status hs_lu_grid_deal(int32_t n, int32_t p, const double *cycle_times, const int32_t *plan, int32_t length, const int *cancel,
                          int32_t *owner);

/* Loads and traffic of any owner map.
 *   loads     [n] out: of step k the largest number of updated blocks times cycle-time
 *   traffic   [n] out, may be NULL: blocks that are sent in step k. A worker receives each block of the panel, (i, k), and of the pivot
 *             row, (k, j), that it does not own and needs for an update; and the diagonal block, if it owns another one of either
 *   received  [p] out, may be NULL: of each worker in all steps
 * Time O(n^2 + n p), memory O(n + p). */
hs_status hs_lu_grid_evaluate(int32_t n, int32_t p, const double *cycle_times, const int32_t *owner, const int *cancel, double *loads,
                              int64_t *traffic, int64_t *received);

/* The least loads of the single steps, each of them as if its (n - 1 - k)^2 blocks could be dealt anew: hs_distribute.
 *   bounds  [n] out
 * Time O(n p log p). */
hs_status hs_lu_grid_bound(int32_t n, int32_t p, const double *cycle_times, const int *cancel, double *bounds);

/* Wavefronts: rows x cols equal tiles, whole columns of them dealt to workers. A tile comes after the one above it, and after
 * those of the column to the left down to `reach` rows below its own (0: finite differences; 1: the mask of a forward sweep,
 * transposed). A chunk is a run of neighbouring columns of one owner; a worker does its chunks from the left, each of them
 *   HS_ROW_WISE     row by row, skewed by `reach` where that is not 0: the chunks to the right can go on early
 *   HS_COLUMN_WISE  column by column
 * All three functions want rows * cols <= 2^53, reach >= 0, and
 *   cycle_times  [p] time per tile, > 0, not NaN, at least one finite; an infinite one gets nothing */
typedef enum hs_wavefront_order { HS_ROW_WISE = 0, HS_COLUMN_WISE = 1 } hs_wavefront_order;

/* When every tile starts and ends if nobody waits longer than it must. 2001 paper, sections 2.1 and 2.3.
 *   owner       [cols] the worker of each column
 *   makespan    out
 *   start, end  [rows * cols] out, row by row; or both NULL
 * Time O(rows * chunks + cols), with start and end O(rows * cols); memory O(rows + cols + p). */
hs_status hs_wavefront_makespan(int64_t rows, int32_t cols, int32_t p, const double *cycle_times, const int32_t *owner, int64_t reach,
                                int32_t order, const int *cancel, double *makespan, double *start, double *end);

/* A lower bound on the makespan of every way to deal whole columns, in any order of the tiles: the columns divided by
 * hs_distribute, the longest chain of tiles, and the work over the speeds while the workers start and end one after another.
 * Time O(p log p). */
hs_status hs_wavefront_bound(int64_t rows, int32_t cols, int32_t p, const double *cycle_times, int64_t reach, double *bound);

/* The paper's allocation, section 2.3: panels of `period` columns, divided by hs_distribute, within a panel the workers by
 * ascending time for a row. The columns left over are the first ones of a panel or are distributed anew, whichever is better.
 *   period         >= 1, or 0: the best of 1 .. cols, the longest of equals
 *   cancel         as for partitions
 *   owner          [cols] out
 *   chosen         out: the period
 *   redistributed  out: 1 if the columns left over are distributed anew
 * For a search, periods are simulated by ascending lower bound until no later one can be better, each up to the best makespan
 * known: at worst
 * O(rows * cols * p log(cols)), in practice few simulations and O(cols * (p log p + log(cols))). */
hs_status hs_wavefront_panels(int64_t rows, int32_t cols, int32_t p, const double *cycle_times, int32_t period, int64_t reach,
                              int32_t order, const int *cancel, int32_t *owner, int32_t *chosen, int32_t *redistributed,
                              double *makespan);

/* ---- assignment ----------------------------------------------------------------------------------------------- */

/* Gives each row a column of its own, or each column a row where those are fewer, at the least (or largest) total cost.
 *   costs       row i at costs[i * row_stride], cols entries. Infinite (maximise: minus infinite): not allowed. The others at
 *               most 2^990, for int64 2^58, in magnitude; no NaN
 *   maximise    0 or 1
 *   cancel      as for partitions
 *   col_of_row  [rows] out: -1 for a row without a column
 *   row_prices, col_prices  [rows], [cols] out: a proof. cost[i][j] - row_prices[i] - col_prices[j] >= 0 as real numbers (<= 0 if
 *               maximised), 0 for the chosen pairs up to rounding; on the longer side prices are <= 0 (>= 0), 0 for what is left
 *               out. So no assignment costs less (more) than the sum of all prices.
 * Shortest augmenting paths, Jonker and Volgenant, Computing 38 (1987), on whole rows. Time O(rows * cols * min(rows, cols)),
 * memory O(rows + cols) and, if rows > cols or maximised, a copy of the costs. HS_ERROR_INFEASIBLE if no assignment is allowed. */
hs_status hs_assign(int32_t rows, int32_t cols, const double *costs, ptrdiff_t row_stride, int maximise, const int *cancel,
                    int32_t *col_of_row, double *row_prices, double *col_prices);
hs_status hs_assign_int64(int32_t rows, int32_t cols, const int64_t *costs, ptrdiff_t row_stride, int maximise, const int *cancel,
                          int32_t *col_of_row, int64_t *row_prices, int64_t *col_prices);

/* Tasks that a master hands out over one bus, 2001 paper, section 4: the slave of send slot j = 1, 2, .. has its message at time
 * j send, and that of receive slot k starts to answer at bound - k receive. Exact for the doubles given.
 *   bound          > 0, finite;  send, receive  0 .. bound
 *   cycle_times    [p] time per task, > 0, finite, at least bound / 2^53
 *   receive_slots  [p] >= 0, or NULL for no messages back
 *   counts         [p * slots] out: the most tasks of each slave in each send slot. It may be negative: what is missing; not below
 *                  -2^53
 * Time O(p slots). */
hs_status hs_task_counts(double bound, int32_t p, const double *cycle_times, double send, double receive, int32_t slots,
                         const int32_t *receive_slots, const int *cancel, int64_t *counts);

/* The last send slot of 1 .. slots in which each slave can do counts[i] >= 0 tasks, 0 if none; send > 0. Time O(p).
 *   deadlines  [p] out */
hs_status hs_task_deadlines(double bound, int32_t p, const double *cycle_times, double send, int32_t slots, const int64_t *counts,
                            int32_t *deadlines);

/* The same where slaves have links of their own. All messages out come first, all answers last: swapping an answer with a message
 * out right after it delays no task. Exact: times are taken as integers of 128 bits; a message is rounded up to a multiple of 2^-120
 * of the bound. Common parameters
 *   bound          > 0, finite
 *   cycle_times    [p] time per task, > 0, finite, at least bound / 2^53
 *   sends          [p] time of the message to each slave, >= 0, finite
 *   receives       [p] time of the message back, >= 0, finite; NULL for none
 * Source: the 2001 paper, section 4, with a time per link. */

/* The tasks of slaves that are served, and answer, in given orders.
 *   send_order, receive_order  [q] of the same slaves, in the order of time, 0 <= q <= p; the latter is read with receives only
 *   counts                     [p] out: 0 for the others
 * HS_ERROR_INFEASIBLE if the messages alone last longer than the bound. Time and memory O(p). */
hs_status hs_task_orders(double bound, int32_t p, const double *cycle_times, const double *sends, const double *receives, int32_t q,
                         const int32_t *send_order, const int32_t *receive_order, int64_t *counts);

/* Orders in which the slaves do as many tasks as possible. Without receives and for p <= 18 by dynamic programming over sets,
 * O(2^p p); with them and for p <= 8 by branch and bound over the order of the answers with the same inside, O(p! 2^p p) at worst.
 * Otherwise a local search: slaves join, leave and move within the orders, with random restarts.
 *   work           of the search, in slaves looked at; some 1e8 in a second
 *   cancel         as for partitions
 *   enrolled       out: q, the slaves served
 *   send_order, receive_order  [p] out: q entries are written, also without receives
 *   optimal        out: 1 if no orders are better */
hs_status hs_task_links(double bound, int32_t p, const double *cycle_times, const double *sends, const double *receives,
                        int64_t work, uint64_t seed, const int *cancel, int32_t *enrolled, int32_t *send_order,
                        int32_t *receive_order, int *optimal);

/* For an upper bound: the most tasks that a slave can do as the j-th that is served and, from the end, the k-th that answers, when
 * those before it have the shortest messages of all. What it is where all messages are equal.
 *   depth    the k are 1 .. depth, at most p
 *   weights  [p * p * depth] out, slave by slave, then by j
 * Time O(p^2 depth), memory O(p). */
hs_status hs_task_positions(double bound, int32_t p, const double *cycle_times, const double *sends, const double *receives,
                            int32_t depth, const int *cancel, int64_t *weights);

/* Gives each of p rows a column and a tube of its own at the largest total weight: the axial assignment problem in three indices,
 * NP-hard in general. Dynamic programming over pairs of sets: time O(4^p p^1.5), memory O(4^p).
 *   p               1 .. 12
 *   weights         [p * p * p] of row i, column j, tube k at (i * p + j) * p + k; 0 .. 2^58
 *   columns, tubes  [p] out
 *   total           out */
hs_status hs_assign_axial(int32_t p, const int64_t *weights, int32_t *columns, int32_t *tubes, int64_t *total);

/* A load that can be divided at will, handed out over one bus, with results that come back: all messages out come first, all back
 * last. For given orders shares and makespan are a linear program: for each worker, the messages out up to its own, its work and
 * the messages back from its own on fit into the makespan, and so do all messages. Beaumont, Marchal, Robert, HiPC 2005.
 * Common parameters
 *   cycle_times      [p] time per unit of load, > 0, finite
 *   sends, receives  [p] time of the messages per unit of load, >= 0, finite; together less than infinity
 *   cancel           as for partitions */

/* The shares that are best for given orders, and the orders themselves: work = 0 keeps those given; otherwise all pairs of orders
 * for p <= 6, which are (p!)^2 programs, of which prices spare most, and for more workers a search by moves from those given, with random restarts.
 *   work                       programs that may be solved in the search; p <= 6 takes as many as it needs
 *   enough                     a lower bound at which the search ends; 0 for none
 *   send_order, receive_order  [p] in and out, in the order of time; workers may have nothing to do
 *   shares                     [p] out, of a load of 1
 *   makespan                   out, for a load of 1, when everything starts as early as the orders allow
 *   optimal                    out: 1 if it is proven that no shares in any orders take less than makespan * (1 - 1e-12): for each
 *                              pair of orders by prices (weak duality) that hold whatever the rounding was, or by `enough`
 * The simplex method on p + 1 rows, in floating point; what is compared are loads computed from the shares alone. Each program takes
 * about O(p^3). Memory O(p^2). Scaling all times by a power of two changes nothing else, short of denormal numbers. */
hs_status hs_divisible_orders(int32_t p, const double *cycle_times, const double *sends, const double *receives, int64_t work,
                              uint64_t seed, double enough, const int *cancel, int32_t *send_order, int32_t *receive_order,
                              double *shares, double *makespan, int *optimal);

/* No plan for a load of 1 takes less, with all roundings counted. The largest of four relaxations: messages back, or messages out,
 * wait for nobody (then the cheapest links first are optimal); the bus carries all messages, and no worker does more than it would
 * alone; each worker's constraint times its share, added up. O(p^2). */
hs_status hs_divisible_bound(int32_t p, const double *cycle_times, const double *sends, const double *receives, const int *cancel,
                             double *bound);

/* ---- partition (2-D) ------------------------------------------------------------------------------------------ */

/* A partition is a floorplan: who lies where, in postfix notation. An entry >= 0 is a worker; an operator takes the results
 * of the entries before it:
 *   HS_BESIDE  two, the first to the left of the second (a vertical cut)
 *   HS_ABOVE   two, the first above the second (a horizontal cut)
 *   HS_WHEEL   five: top left, right, bottom, left, and the centre that they turn around (no straight cut divides it)
 *   HS_AROUND  two, the second a worker: the first in the lower right corner of its zone, an L. The corner has the sides
 *              that are best for what is in it.
 * p workers need at most 2 p - 1 entries; a worker of area zero does not occur. Areas and the box determine the lengths.
 *
 * Common parameters
 *   areas    [p] > 0 or 0, at least one positive, their sum finite; scaled to sum 1, where one that is not 0 is at least 2^-1074
 *   weights  [p] > 0, finite: the cost of a unit of half perimeter of each worker; NULL for 1
 *   aspect   width / height of the box, which has area 1; 1 for the unit square
 *   plan     [2 p] out: the floorplan;  length  out: its entries
 *   cost     out: sum over the workers of weight * (height + width), of the projections for a zone that is an L
 *   cancel   NULL, or what another thread sets to non-zero to make a long search end with HS_ERROR_CANCELLED */
enum { HS_BESIDE = -1, HS_ABOVE = -2, HS_WHEEL = -3, HS_AROUND = -4 };

/* The zones of a floorplan. The cost of a set in a box of fixed area is linear in the box's sides whatever its floorplan, as
 * stretching keeps all ratios of areas.
 *   workers  [2 p] out: the worker of each piece, in the order of the floorplan; an L has two pieces, one after the other
 *   rects    [8 p] out: row, col, height, width of each piece in a box of height 1 and width 1 (stretched from `aspect`)
 *   pieces   out: their number
 *   cost     out or NULL
 * HS_ERROR_VALUE if plan is no floorplan of the workers with positive area. Time O(p). */
hs_status hs_floorplan_rects(int32_t p, const double *areas, const double *weights, double aspect, const int32_t *plan,
                             int32_t length, int32_t *workers, double *rects, int32_t *pieces, double *cost);

/* Integer zones for an m x n matrix: an exact tiling. The cuts are chosen on the tree, each among the few integers around its
 * place, so that the largest (cells given / cells asked for) is smallest, then the sum of (given - asked)^2 / asked. Workers may get
 * nothing.
 *   m, n   rows and columns, 1 .. 2^53
 *   rects  [8 p] out: row, col, height, width of each piece, in cells
 * HS_ERROR_UNSUPPORTED for more than 5000 operators one inside the other (neighbouring cuts of one kind are one). In one call at
 * most 256 boxes are tried for each of them. Stack: some 400 bytes for each level. */
hs_status hs_floorplan_tile(int64_t m, int64_t n, int32_t p, const double *areas, const int32_t *plan, int32_t length,
                            int32_t *workers, int64_t *rects, int32_t *pieces);

/* Full columns of rectangles side by side; the best of that kind. 2001 paper section 3.2.1 (Algorithm 3). The cost of a column
 * is Monge, so a queue replaces the O(p^2) recurrence: time O(p log p), memory O(p).
 *   max_columns, max_rows   limits on the columns and on the rectangles in one column (p for none). If the first is binding, the
 *                           fee for a column that leads to so many is found by bisection: some 50 times the time.
 *   order         [p] out: the workers with positive area, column by column from the left, top to bottom
 *   column_start  [p + 1] out: column j holds order[column_start[j]] .. order[column_start[j + 1] - 1]
 *   columns       out: number of columns
 * HS_ERROR_INFEASIBLE if max_columns * max_rows is less than the number of positive areas. */
hs_status hs_partition_columns(int32_t p, const double *areas, double aspect, int32_t max_columns, int32_t max_rows,
                               int32_t *order, int32_t *column_start, int32_t *columns, double *cost);

/* The partition rules of others, without weights. In all of them only positive areas count, a box is cut across its longer
 * side (a square by HS_BESIDE), ties go to the lowest index, and what is equal up to 2^-40 is a tie.
 *
 *   HS_RULE_ROWS                 Horizontal slices in worker order. Cost size * width + height.
 *   HS_RULE_KALINOV_LASTOVETSKY  2001 paper, section 3.2.6: a fixed layout in columns, balanced inside each column, then the
 *                                columns balanced. The paper does not say how to lay out; this reproduces its figure 17
 *                                (columns of six and two workers, 0.5 each, cost 6): runs of workers in worker order, cut
 *                                where the area so far is nearest to j / columns of the whole, no run empty;
 *                                floor(sqrt(size * aspect)) columns, as for equal areas that is where columns and rows
 *                                cost the same.
 *   HS_RULE_RECURSIVE            Crandall and Quinn, same section: the ceil(q / 2) largest of q are the first part.
 *   HS_RULE_NAGAMOCHI_ABE        Nagamochi and Abe 2007: the first part is the fewest largest that reach a third of the sum.
 *                                Every rectangle has a ratio of sides <= max(that of the box, 3, 1 + max a_i / a_{i+1}) for
 *                                areas a_1 >= a_2 >= ..., and the cost is at most 1.25 times the least of all partitions
 *                                into rectangles: not 1.25 times 2 sum(sqrt(area)), as 1 and almost nothing cost 3.
 *   HS_RULE_SNRPP                Beaumont, Eyraud-Dubois, Lambert 2016; with Becker, DeFlumere, Lastovetsky 2018. In a box
 *                                whose longer side is r times its shorter one, a worker above 1 - 1 / (3 r) of the area
 *                                goes around the others (HS_AROUND); else the smallest are the first part, so many that
 *                                they are nearest to half. For a box with r <= 3 every rectangle has a ratio of sides <= 3
 *                                before the corners are stretched, and cost <= sqrt(3/2) * 2 sum(sqrt(area)).
 *
 * p at most 2^30. Time O(p log p), memory O(p), also where the floorplan is a chain. */
typedef enum hs_rule {
    HS_RULE_ROWS = 0,
    HS_RULE_KALINOV_LASTOVETSKY = 1,
    HS_RULE_RECURSIVE = 2,
    HS_RULE_NAGAMOCHI_ABE = 3,
    HS_RULE_SNRPP = 4
} hs_rule;
hs_status hs_partition_rule(hs_rule rule, int32_t p, const double *areas, double aspect, int32_t *plan, int32_t *length,
                            double *cost);

/* Contiguous blocks (2001 paper, figure 18): the m x n cells in row-major order are dealt in worker order, to each as many as
 * hs_distribute gives it for the cycle-time 1 / area. It is no floorplan: the run of a worker has up to three rectangles, the
 * end of a row, whole rows, the start of a row. The finer the grid, the nearer is the cost to that of HS_RULE_ROWS.
 *   m, n     rows and columns; m n at most 2^53
 *   p        at most 2^29
 *   workers  [3 p] out: the worker of each piece;  rects  [12 p] out: row, col, height, width of each piece, in cells
 *   pieces   out: their number. A worker without cells has none.
 * Time O(p log p). */
hs_status hs_partition_contiguous(int64_t m, int64_t n, int32_t p, const double *areas, int32_t *workers, int64_t *rects,
                                  int32_t *pieces);

/* The best guillotine partition in which every sub-box holds an interval of `order` (NULL: by ascending area). Per interval the
 * lower left hull of the costs (per width, per height) is kept, so every aspect ratio is exact. With `groups` every group of
 * workers stays together in a rectangle of its own, which costs group_weight * its half perimeter more (two-level schemes,
 * 2001 paper section 3.2.2); then intervals are inside groups and of groups. Not worse than columns or Nagamochi-Abe.
 *   order   [size] the workers of positive area, or NULL
 *   groups  [p] a number in 0 .. p - 1 of the group of each worker, or NULL;  group_weight  >= 0, finite; not read without groups
 * At most 1024 positive areas, else HS_ERROR_UNSUPPORTED; so too if a hull has more than 2^14 points, which takes weights that are
 * more than 15 decades apart. Time O(p^3) hull merges, memory O(p^2) hull points, some ten per interval. */
hs_status hs_partition_interval(int32_t p, const double *areas, const double *weights, double aspect, const int32_t *order,
                                const int32_t *groups, double group_weight, const int *cancel, int32_t *plan, int32_t *length,
                                double *cost);

/* The best guillotine partition of all: hulls of all subsets. With `wheels` also pinwheels at every level, which covers every
 * partition into rectangles for up to 6 workers.
 * HS_ERROR_UNSUPPORTED for more than 16 positive areas (with wheels: more than 8), or hulls of more than 2^14 points as above.
 * Time O(3^p) hull merges (6^p with wheels). */
hs_status hs_partition_guillotine(int32_t p, const double *areas, const double *weights, double aspect, int32_t wheels,
                                  const int *cancel, int32_t *plan, int32_t *length, double *cost);

/* As hs_partition_interval, where the last of an interval may also own the box minus a corner for the others (HS_AROUND). Every
 * sub-box is optimised for a grid of aspect ratios, so this is a heuristic. At most 256 positive areas, else
 * HS_ERROR_UNSUPPORTED. Time O(p^3), memory O(p^2), both times some 30 ratios. */
hs_status hs_partition_around(int32_t p, const double *areas, const double *weights, double aspect, const int32_t *order,
                              const int *cancel, int32_t *plan, int32_t *length, double *cost);

/* The smallest largest weight * (height + width) instead of the sum (PERI-MAX). For a limit on the largest, the widths of a
 * sub-box that allow it are a union of ranges; bisection on the limit. With order NULL and at most 7 positive areas exact over
 * all guillotine partitions. Else over the intervals of `order` (NULL: by ascending area), where a sub-box keeps its 16 widest
 * ranges: a heuristic, O(p^3) unions per step, at most some 600 steps. At most 256 positive areas, else HS_ERROR_UNSUPPORTED.
 *   cost  out: the largest */
hs_status hs_partition_narrow(int32_t p, const double *areas, const double *weights, double aspect, const int32_t *order,
                              const int *cancel, int32_t *plan, int32_t *length, double *cost);

/* Local search (annealing) over guillotine floorplans: sub-boxes change places, cuts turn, sub-boxes move elsewhere. The best
 * found is never worse than what it starts from. Call again to go on.
 *   evaluations  floorplans tried, >= 0
 *   temperature  at the start, falling to 0 at the end; relative to the cost, 0 for descent alone. 0.001 is usual
 *   plan         [length] in and out
 *   state        in and out: of the random numbers, any value
 * HS_ERROR_UNSUPPORTED for a floorplan with HS_WHEEL or HS_AROUND. Time O(p) per evaluation. */
hs_status hs_partition_search(int32_t p, const double *areas, const double *weights, double aspect, int64_t evaluations,
                              double temperature, const int *cancel, int32_t *plan, int32_t length, uint64_t *state, double *cost);

/* ---- partition (3-D) ------------------------------------------------------------------------------------------ */

/* Cuboids of given volumes that tile the unit cube of iterations of C = A B: rows of C (axis 0), columns of C (axis 1), the
 * inner dimension, called depth (axis 2). Cost: the sum over the boxes of faces[0] * height * length (what a worker has of
 * A), faces[1] * length * width (of B), faces[2] * height * width (of C). An m x n x k product has the weights
 * (m k, k n, m n). Tilings are made by cutting boxes in two from side to side (guillotine).
 *   volumes   [p] > 0 or 0, finite, at least one positive; a zero volume is in no tree
 *   faces     [3] >= 0, finite, one positive
 *   axes      sum of 1 (cuts across the rows), 2 (columns), 4 (depth): the cuts allowed
 *   tree      [2 p - 1] out, postfix: >= 0 a worker, or the cut -1 - axis of the two subtrees before it, first the one at
 *             the lower index
 *   length    out: nodes of the tree, 2 * (positive volumes) - 1
 *   cost      out: of the tree in the unit cube
 * After HS_ERROR_MEMORY the tree is undefined. */

/* The volumes in a given or ascending order are cut as runs: an interval DP that keeps, for each run, the best tree found
 * for every ratio of the sides on a grid, then a search by swaps, moves and reversals of the order. A heuristic: no
 * optimality is claimed. At most 64 volumes take part in one DP; more are halved first, and the order is then not searched.
 *   order     [positive volumes] workers, or NULL: ascending volumes
 *   tries     orders to try beyond the first
 *   seed      of the search; the result depends on it and on nothing else
 * Time O(q^2 p D) for each order, q = min(p, 64), with D = 21 ratios for equal faces, up to 91 for unequal ones; memory
 * O(q^2 D + p). */
hs_status hs_partition_cuboids(int32_t p, const double *volumes, const double *faces, int32_t axes, const int32_t *order,
                               int32_t tries, uint64_t seed, const int *cancel, int32_t *tree, int32_t *length, double *cost);

/* The cheapest guillotine tiling, by branch and bound over all trees: nothing is pruned that could be better. For at most
 * HS_CUBOIDS_EXACT positive volumes, else HS_ERROR_VALUE. Up to four boxes tile a cube by guillotine cuts only: there it is
 * the optimum. Exponential time; memory O(2^p). */
enum { HS_CUBOIDS_EXACT = 10 };
hs_status hs_partition_cuboids_exact(int32_t p, const double *volumes, const double *faces, int32_t axes, int32_t *tree,
                                     int32_t *length, double *cost);

/* The boxes of a tree in the unit cube.
 *   boxes   [6 p] out: row, col, depth, height, width, length of each worker; all zero for one that is not in the tree
 * HS_ERROR_VALUE for what is no tree. Time and memory O(p). */
hs_status hs_cuboid_boxes(int32_t p, const double *volumes, const int32_t *tree, int32_t length, double *boxes);

/* Integer boxes of a tree in m x n x k: they tile it exactly. Each side stays within 2 of its ideal; among all cuts that
 * do, the largest actual / ideal volume is least.
 *   boxes   [6 p] out: as above; all zero for a worker that gets nothing
 * Time and memory O(p). */
hs_status hs_tile_cuboids(int64_t m, int64_t n, int64_t k, int32_t p, const double *volumes, const int32_t *tree,
                          int32_t length, int64_t *boxes);

/* ---- ring ----------------------------------------------------------------------------------------------------- */

/* Slices of a matrix on a ring of some of the workers: in each step of an iteration a member updates its slice and exchanges a
 * boundary with both neighbours (Renard, Robert, Vivien 2003). Member i with the share a_i > 0 of the work ends its step at
 *   a_i work cycle_times[i] + volume (links[i][next] + links[i][before])
 * The shares that make all members end together are best: T = (work + volume sum (links[i][next] + links[i][before]) /
 * cycle_times[i]) / sum 1 / cycle_times[i]. A ring of one pays no messages, one of two pays both ways. A ring where some T is not
 * above a member's messages is not allowed, or, with relays, takes as long as the dearest member's messages, and members may go
 * without a share.
 * A ring is given from its lowest index on, towards the lower one of its neighbours.
 * All numbers are 0 (only links and the volume) or in 2^-200 .. 2^200; p is at most 16384. */
typedef struct hs_ring {
    int32_t p;
    const double *cycle_times; /* [p] time per unit of work */
    const double *links;       /* [p * p] row i: time per unit of volume from i to others; the diagonal is not read */
    double work, volume;
    int32_t relays; /* 0 or 1 */
} hs_ring;

/* The shares in a given ring; where T is not above all messages, those that keep the members that have work together.
 *   ring    [size] different workers, in order
 *   shares  [p] out: they sum to 1, 0 outside the ring
 * HS_ERROR_INFEASIBLE for a ring that is not allowed. Time O(p^2). */
hs_status hs_ring_shares(const hs_ring *problem, int32_t size, const int32_t *ring, const int *cancel, double *shares,
                         double *makespan);

/* The greedy heuristic, section 6.2: from one worker, always the one and the place that lengthen the ring least, up to all
 * workers; the best of these p rings.
 *   first  the worker to start from, or -1: each in turn
 *   ring   [p] out;  size  out
 * Time O(p^2) usually, O(p^3) at worst, for each start. */
hs_status hs_ring_greedy(const hs_ring *problem, int32_t first, const int *cancel, int32_t *ring, int32_t *size, double *makespan);

/* Local search: workers are inserted, dropped, exchanged; or-opt and 2-opt; `rounds` times disturbed and improved again. Up to 64
 * workers all such moves are tried, beyond only those that make an edge with one of the twelve that are cheapest for a worker.
 *   ring   [p] in and out;  size  in and out. Never worse than what it starts from, if that is allowed
 *   state  in and out: of the random numbers, any value
 * A round takes O(p^2) moves up to 64 workers, beyond some O(p); memory O(p^2). */
hs_status hs_ring_search(const hs_ring *problem, int64_t rounds, const int *cancel, int32_t *ring, int32_t *size, uint64_t *state,
                         double *makespan);

/* The best ring of all. Workers and edges that the best ring found by a search rules out are left away; HS_ERROR_UNSUPPORTED if
 * more than HS_RING_EXACT workers remain. Held and Karp's dynamic programme, time O(2^p p^2), memory 4 p 2^p bytes (p = 16: 4 MiB,
 * 20: 80 MiB, 22: 352 MiB). Subsets whose shortest ring is not allowed are searched, which can take longer. */
enum { HS_RING_EXACT = 22 };
hs_status hs_ring_exact(const hs_ring *problem, const int *cancel, int32_t *ring, int32_t *size, double *makespan);

/* The ring of all p workers with the least sum (links[i][next] + links[i][before]) / cycle_times[i], whether it is allowed or not;
 * with the volume 0 any. p at most HS_RING_EXACT, else HS_ERROR_UNSUPPORTED.
 *   ring  [p] out */
hs_status hs_ring_shortest(const hs_ring *problem, const int *cancel, int32_t *ring);

/* That least sum, times volume / work, for every subset; 0 for single workers.
 *   lengths  [2^p] out: bit i of the index stands for worker i */
hs_status hs_ring_lengths(const hs_ring *problem, const int *cancel, double *lengths);

/* A lower bound on all rings: of one and two workers exactly, of more by what members pay for their two cheapest edges.
 *   makespan  of a ring, which the bound does not exceed; or infinite
 *   rounds    of subgradient steps that divide the edges' costs between their ends, >= 0
 * Time O(p^2) a round, memory O(p^2). */
hs_status hs_ring_bound(const hs_ring *problem, double makespan, int32_t rounds, const int *cancel, double *bound);

/* ---- star ----------------------------------------------------------------------------------------------------- */

/* C (r x s blocks) += A (r x t) B (t x s) on workers with limited memory around a master with one port (2008 paper). A chunk
 * is a rectangle of height x width blocks of C, computed on one worker. One operand of it stays there, the others pass:
 *   HS_STAR_HOLD_C  the chunk of C comes (LOAD), t layers of a column of A and a row of B, height + width blocks each, pass
 *                   (PANEL), the chunk goes back (RESULT)
 *   HS_STAR_HOLD_A  height * t blocks of A come; `width` layers of a column of C and a column of B, height + t blocks each, pass
 *                   and each column of C goes back, height blocks. HS_STAR_HOLD_B: the same by rows, of width + t and width
 * A panel is `depth` layers. One message at a time is on the port. It starts when the port is free, but not before
 *   HS_STAR_LOAD    the worker's last result has left
 *   HS_STAR_PANEL   its buffer is free: the panel two before (with one buffer: the one before) is computed, or its result has
 *                   left where it has one; the first ones: the load has come
 *   HS_STAR_RESULT  its panel is computed, with C held the last one
 * A worker's messages have one order: panels with results go first as far as buffers are free. It computes a panel when it has
 * come and the one before is computed, in (updates of the panel) * cycle_time; it receives meanwhile.
 *   r, s, t      blocks, 1 .. 2^31 - 1
 *   cycle_times  [p] per block update, > 0, at most HS_STAR_MOST
 *   link_costs   [p] per block, >= 0, at most HS_STAR_MOST
 *   memory       [p] buffers of one block, 0 .. 2^53 */
#define HS_STAR_MOST 1e200
typedef struct hs_star {
    int64_t r, s, t;
    int32_t p;
    const double *cycle_times, *link_costs;
    const int64_t *memory;
} hs_star;

typedef enum hs_star_held { HS_STAR_HOLD_C = 0, HS_STAR_HOLD_A = 1, HS_STAR_HOLD_B = 2 } hs_star_held;

typedef struct hs_star_chunk {
    int32_t worker, held, buffers; /* hs_star_held; 1 or 2 panels */
    int64_t row, col, height, width;
    int64_t depth; /* of a panel, >= 1 */
} hs_star_chunk;

typedef enum hs_star_kind { HS_STAR_LOAD = 0, HS_STAR_PANEL = 1, HS_STAR_RESULT = 2 } hs_star_kind;

typedef struct hs_star_message {
    int32_t worker, kind;              /* hs_star_kind */
    int64_t chunk;                     /* index */
    int64_t depth;                     /* of a panel and its result: the first layer; else 0 */
    double start, end;                 /* on the port */
    double compute_start, compute_end; /* of a panel; else both are end */
} hs_star_message;

/* Whom the port serves next.
 *   HS_STAR_ROUND_ROBIN  the workers in turn, one message each; it waits for the one whose turn it is
 *   HS_STAR_DEMAND       the one that has been ready longest (or will be first), ties to the lowest index
 *   HS_STAR_PANELS       a list of workers, one entry per panel (entries beyond a worker's panels are skipped). C goes before
 *                        the first panel of a chunk, a result before the next C, the last results as they end
 *   HS_STAR_LISTED       a list of workers, one entry per message
 *   HS_STAR_STARVING     of those that can start now (or first) the one that runs out of work first
 *   HS_STAR_LAGGING      the one that would end last if nothing kept it waiting
 * With `eager` results that are ready when the port is free come first (not for HS_STAR_LISTED). */
typedef enum hs_star_order { HS_STAR_ROUND_ROBIN = 0, HS_STAR_DEMAND = 1, HS_STAR_PANELS = 2, HS_STAR_LISTED = 3, HS_STAR_STARVING = 4, HS_STAR_LAGGING = 5 } hs_star_order;

/* Simulates given chunks, each worker's in the order of the array. They need not cover C, and are not checked for overlaps.
 *   chunks    [count] what is held and the panels fit in the worker's memory, else HS_ERROR_VALUE
 *   served    [length] for HS_STAR_PANELS and HS_STAR_LISTED; HS_ERROR_VALUE if something is left or a worker has no message
 *   messages  out: the port's log, [sum over the chunks of 2 + panels, or 1 + 2 panels where those have results]; or NULL.
 *             Undefined on failure
 *   cancel    as for partitions
 * Times are exact where doubles are. Time O(1) per message, O(log p) with HS_STAR_DEMAND; memory O(p + count). */
hs_status hs_star_simulate(const hs_star *star, int64_t count, const hs_star_chunk *chunks, int32_t order, int64_t length, const int32_t *served,
                           int32_t eager, const int *cancel, hs_star_message *messages, int64_t *message_count, double *makespan);

/* The largest side of square chunks.
 *   HS_STAR_DOUBLE  mu^2 + 4 mu <= memory: two panels of depth 1 (all rules but BMM)
 *   HS_STAR_SINGLE  1 + mu + mu^2 <= memory: A block by block (section 3)
 *   HS_STAR_TOLEDO  3 side^2 <= memory: square blocks of A, B and C (BMM) */
typedef enum hs_star_layout { HS_STAR_DOUBLE = 0, HS_STAR_SINGLE = 1, HS_STAR_TOLEDO = 2 } hs_star_layout;
int64_t hs_star_side(int64_t memory, int32_t layout);

/* The paper's seven algorithms, sections 4 to 6. Workers get full columns, min(mu, left) at a time, chunks of them top-down. */
typedef enum hs_star_method {
    HS_STAR_HOM = 0,    /* the best virtual homogeneous platform for a memory size, in turn */
    HS_STAR_HOMI = 1,   /* also for link cost and cycle-time */
    HS_STAR_HET = 2,    /* incremental selection, the best of the eight variants or the one asked for */
    HS_STAR_ORROML = 3, /* all workers in turn */
    HS_STAR_OMMOML = 4, /* min-min: the first that would end the panel */
    HS_STAR_ODDOML = 5, /* demand driven */
    HS_STAR_BMM = 6     /* Toledo's blocks, demand driven */
} hs_star_method;

/* Variants of HS_STAR_HET, a sum: which worker maximises the work per time, of all (or of this message: local), of the next
 * two messages (look-ahead), with the time of a worker's first C (first C: charged at its first message, the paper's rule;
 * spread C: 2 mu^2 / t blocks with each). HS_STAR_ALL: the best of the first eight, that is without HS_STAR_SPREAD_C. */
enum { HS_STAR_ALL = -1, HS_STAR_FIRST_C = 1, HS_STAR_AHEAD = 2, HS_STAR_LOCAL = 4, HS_STAR_SPREAD_C = 8 };

typedef struct hs_star_summary {
    double makespan;
    int64_t chunk_count, message_count;
    int32_t variant;    /* of HS_STAR_HET, else 0 */
    double variants[8]; /* makespans of the eight with HS_STAR_ALL; else 0 */
} hs_star_summary;

/* Plans and simulates.
 *   method, variant  HS_STAR_FIRST_C and HS_STAR_SPREAD_C exclude each other; the variant of other methods is HS_STAR_ALL
 *   summary   out
 *   sides     [p] out: of the chunks of each worker that the method may use, else 0
 *   columns   [p] out: of C
 *   chunks    out: [chunk_count]; messages  out: [message_count], or both NULL. A first call with NULL gives the counts; a
 *             second one for HS_STAR_HET costs an eighth with the variant that was best. On failure they are undefined.
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk. Time as for hs_star_simulate; for HS_STAR_HET and HS_STAR_OMMOML O(p)
 * more per panel, O(p^2) with look-ahead; for HS_STAR_HOM O(p), for HS_STAR_HOMI O(p^3) estimates that are themselves
 * simulated where a bound does not rule them out. Memory O(p + panels). */
hs_status hs_star_plan(const hs_star *star, int32_t method, int32_t variant, int32_t eager, const int *cancel, hs_star_summary *summary,
                       int64_t *sides, int64_t *columns, hs_star_chunk *chunks, hs_star_message *messages);

/* The least makespan over panels of full columns: a panel of 1 .. mu columns, mu = hs_star_side(memory, HS_STAR_DOUBLE), goes to
 * a worker, its rows top-down min(mu, r) at a time; C is held, panels have depth 1; in every order of the port, results at any
 * time. Layers of states with dominance and bounds, widened until nothing is left out that could matter: for small instances.
 *   effort       messages tried, at most; HS_ERROR_UNSUPPORTED if they, or 2^20 messages of a plan, do not suffice
 *   limit        > 0: plans that end before this are looked for, INFINITY: all; HS_ERROR_INFEASIBLE if there is none, or no
 *                worker can hold a chunk (5 blocks)
 *   chunk_count, chunks  out: [s * parts] at most, parts = the largest ceil(r / mu) of the workers that can hold a chunk
 *   length, served       out: [s * parts * (t + 2)] at most, for HS_STAR_LISTED
 *   makespan     out: at most 1 + 1e-12 times the least one
 * Time exponential in s and p; memory O(p) per message tried of a layer, and 12 bytes per message tried. */
hs_status hs_star_exact(const hs_star *star, int64_t effort, double limit, const int *cancel, int64_t *chunk_count, hs_star_chunk *chunks,
                        int64_t *length, int32_t *served, double *makespan);

/* How a worker goes through its columns of C. A plan by rows is one by columns of C^T = B^T A^T: r and s, rows and columns, A
 * and B change places in what follows. */
typedef struct hs_star_share {
    int64_t columns;       /* 0: it is not enrolled */
    int64_t rows, panels;  /* parts into which the rows of C and its columns are cut, as equal as possible: its chunks */
    int32_t held, buffers; /* of the chunks */
} hs_star_share;

/* The chunks of the shares, left to right by worker, panel by panel, each top-down; panels of depth 1.
 *   shares  [p] columns sum to s, 1 <= rows <= r, 1 <= panels <= columns, and what a chunk needs fits, else HS_ERROR_VALUE
 *   chunks  out: [count], or NULL for the count alone */
hs_status hs_star_cut(const hs_star *star, int32_t by_rows, const hs_star_share *shares, int64_t *count, hs_star_chunk *chunks);

/* Searches shares and an order of the port, HS_STAR_DEMAND, _STARVING or _LAGGING, for a small makespan: what each worker
 * holds, oblong chunks, by rows or columns, their numbers first from a relaxation with fixed charges, then by annealing on
 * simulated makespans. Deterministic.
 *   effort    messages to simulate, about (a sixty-fourth more for each worker); at least one plan is evaluated
 *   by_rows, shares [p], order, makespan  out; after an error the shares are undefined
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk (3 blocks). Time O(p) per message; memory O(p + chunks). */
hs_status hs_star_search(const hs_star *star, int32_t eager, uint64_t seed, int64_t effort, const int *cancel, int32_t *by_rows,
                         hs_star_share *shares, int32_t *order, double *makespan);

/* Lower bounds on the makespan.
 *   HS_STAR_WORK      every plan: all updates over the sum of the speeds
 *   HS_STAR_TRAFFIC   every plan: a worker that does X updates needs X / s blocks of A, X / r of B and X / t of C, these both
 *                     ways; shared out by linear programming with the cycle-times
 *   HS_STAR_TRANSFER  every plan: the same, and at least 2 X / sqrt(m) - 2 m blocks to a worker with m buffers (Smith, Lowery,
 *                     Langou, van de Geijn, 2019) beside X / t back
 *   HS_STAR_STEADY    square chunks of the side given by `layout`: the bandwidth-centric optimum, A and B only
 *   HS_STAR_STEADY_C  the same with C both ways
 *   bounds  [5] out; the last two are infinite if no worker can hold a chunk
 * Time O(p log p). */
enum { HS_STAR_WORK = 0, HS_STAR_TRAFFIC = 1, HS_STAR_TRANSFER = 2, HS_STAR_STEADY = 3, HS_STAR_STEADY_C = 4 };
hs_status hs_star_bounds(const hs_star *star, int32_t layout, double *bounds);

/* ---- layers --------------------------------------------------------------------------------------------------- */

/* A matrix product in layers: the inner dimension is divided, a worker gets k columns of A and the k rows of B that go with them.
 * A star's centre sends each worker its share in one message of k send[i], and k compute[i] is the work.
 *   HS_SCSS  one message after the other, in an order; a worker computes while it receives, and is done no earlier than its data
 *   HS_SCCS  one after the other; a worker computes after it has received all
 *   HS_PCCS  all messages at once, then the work
 *   HS_PCSS  all at once, and the work meanwhile
 * A worker without layers gets no message. Source: Liu, Shi, Zhang, Robertazzi, Layer Based Partition, section 4. */
#define HS_LAYERS_MOST 0x1p300
typedef enum hs_layers_mode { HS_SCSS = 0, HS_SCCS = 1, HS_PCCS = 2, HS_PCSS = 3 } hs_layers_mode;
typedef struct hs_layers {
    int32_t mode; /* hs_layers_mode */
    int32_t p;
    int64_t layers;        /* 0 .. 2^53 */
    const double *compute; /* [p] time per layer, 1 / HS_LAYERS_MOST .. HS_LAYERS_MOST; infinite: gets nothing; not all are */
    const double *send;    /* [p] the same, finite, or 0 */
} hs_layers;

/* What given counts take.
 *   order     [p] the workers in the order of the messages; NULL: by index. Not read for HS_PCCS and HS_PCSS
 *   counts    [p] layers, their sum is that of the problem
 *   start, received, end  [p] out: of the message and of the work; 0 without layers
 *   makespan  out
 * Time O(p). */
hs_status hs_layers_schedule(const hs_layers *problem, const int32_t *order, const int64_t *counts, double *start, double *received,
                             double *end, double *makespan);

/* The optimum if layers could be divided, a linear programme with a closed solution: a worker is busy to the end, or left out where
 * those after it make better use of the time that its message takes.
 *   order     [p] or NULL: the best one, by ascending send, in which leaving out gains nothing
 *   shares    [p] out, or NULL: they sum to the layers
 *   makespan  out
 * Time O(p), without an order O(p log p). */
hs_status hs_layers_relaxed(const hs_layers *problem, const int32_t *order, double *shares, double *makespan);

/* A lower bound on the makespan of whole layers in any order: the relaxed one, and that of hs_distribute as if every worker had its
 * message first. Time O(p log p). */
hs_status hs_layers_bound(const hs_layers *problem, double *bound);

/* The paper's closed forms, equations (5) to (33), where all workers of the order end together (with max(compute, send) for compute in
 * the modes with simultaneous start), and its integers, section 4.5: .5 goes down; then from those that end first on each gets a
 * layer, or those that end last lose one, until the sum is right. A worker without layers ends at 0; ties by place.
 *   order   [p] or NULL: by index
 *   shares  [p] out, or NULL: before rounding
 *   counts  [p] out
 * Time O(p log p). */
hs_status hs_layers_paper(const hs_layers *problem, const int32_t *order, double *shares, int64_t *counts);

/* The best counts for an order of the messages, up to rounding of the makespan.
 *   order    [p] or NULL: by index
 *   counts   [p] out
 *   optimal  out: 1 if that is proven. 0 only where more than 2^25 numbers of layers would have to be looked at: never for
 *            (p + 1) (layers + 1) below that
 * All messages at once: hs_distribute. Else a dynamic programme: a worker that has k of m layers to do ends them with those after it at
 * max(k hold, k send + rest(m - k)), and the best k follow a window that slides: O(1) each. Of the m only those that a better schedule
 * than the best one known can leave, by a relaxation: time O(p^2 + p w), memory O(p w), for w of them at a place. That is few,
 * whatever the layers; all of them where links are equal and slow. */
hs_status hs_layers_exact(const hs_layers *problem, const int32_t *order, const int *cancel, int64_t *counts, int *optimal);

/* The best counts and order. The better of the order by index and that by ascending send, then moves of one worker and exchanges of
 * two, then, for up to 20, the dynamic programme over the sets of those that come last, which is exact for all orders.
 *   work     of the moves, in workers looked at; some 1e7 in a second
 *   order    [p] out
 *   optimal  out: 1 if no order and no counts are better. 0 for more than 20 workers, or if more than 2^16 sets or 2^24 numbers of layers
 *            remain to be looked at
 * Time, beside the moves, that of hs_layers_exact for each set that a better schedule can leave, 2^p at most. */
hs_status hs_layers_best(const hs_layers *problem, int64_t work, const int *cancel, int32_t *order, int64_t *counts, int *optimal);

/* ---- kernels -------------------------------------------------------------------------------------------------- */

typedef enum hs_dtype { HS_FLOAT32 = 0, HS_FLOAT64 = 1, HS_COMPLEX64 = 2, HS_COMPLEX128 = 3 } hs_dtype;

/* What multiplies: one of "blis", "openblas" (its gemm functions, handed in by hs_kernel_use_cblas), "c" (our own). */
typedef struct hs_kernel_info {
    char name[32];
    char version[64];      /* of the library, "" for our own */
    char set[32];          /* kernel set, e.g. "skx" */
    char reason[160];      /* why that set */
    char refused[160];     /* why BLIS, though it is there, is not used, else "" */
    char source[2][32];    /* whose micro-kernel multiplies float32, float64: a name as above */
    int32_t tile_rows[2];  /* its register tile */
    int32_t tile_cols[2];
} hs_kernel_info;

/* Chooses and initialises the kernels; called once by every entry point that needs them, harmless to call again.
 * BLIS does not know recent processors and then runs its slowest kernels: the set is chosen from cpuid instead.
 * A BLIS_ARCH_TYPE in the environment is left alone. With AVX-512 our own float32 micro-kernel, which loads less per
 * multiply-add, stands in for BLIS's. BLIS is refused if the library that was loaded is of another release than the header
 * of the build, packs its panels in a way of its own (POWER9), or has no kernels for an AVX-512 that is there. */
hs_status hs_kernel_init(void);

/* What is in use; *info is filled. */
hs_status hs_kernel_describe(hs_kernel_info *info);

/* Selects "blis", "openblas" or "c" for all later products. HS_ERROR_UNSUPPORTED if it is not there. Not to be called
 * while a product runs. */
hs_status hs_kernel_select(const char *name);

/* Hands in Fortran-style sgemm and dgemm, 32-bit or 64-bit integers. They become available as "openblas". */
hs_status hs_kernel_use_fortran(void *sgemm, void *dgemm, int32_t integer_bytes);

/* ---- pool ----------------------------------------------------------------------------------------------------- */

typedef struct hs_pool hs_pool;

/* p workers as persistent threads. The calling thread of a run takes the place of one worker: with cores given that of the
 * worker whose core it is on, so that a run never has more threads than workers; but for hs_run_star it is the master beside them.
 *   cores   [p] the core to pin each worker to, or NULL: not pinned (pinning is ignored where the system has none)
 * Runs of one pool are serialised; a pool may be used from several threads. After fork() the child must make its own. */
hs_status hs_pool_create(int32_t p, const int32_t *cores, hs_pool **pool);

/* Waits for a run in progress, joins the threads and frees all. Calls of other threads that wait for their turn end with
 * HS_ERROR_THREAD; none may begin any more. NULL is allowed. In a forked child the threads do not exist; there only the memory is
 * given back. */
void hs_pool_destroy(hs_pool *pool);

/* What the pool's shared runs have shown of late.
 *   speeds        [p] relative speeds, as for those runs, or NULL for equal ones
 *   availability  [p] out: the work that each worker did per speed, over the last 20 ms of such runs or so; the best one's is 1, and
 *                 so are all at first, and that of a worker without speed
 * Shared runs are dealt by speeds times these while one of them is below 0.9. May be called from any thread. */
void hs_pool_availability(const hs_pool *pool, const double *speeds, double *availability);

/* ---- product -------------------------------------------------------------------------------------------------- */

/* A part of the iteration space of C = A B: rows row.. of C, columns col.. of C, depth.. of the inner dimension. */
typedef struct hs_box {
    int32_t worker;
    int64_t row, col, depth;
    int64_t height, width, length;
} hs_box;

/* C <- alpha A B + beta C, A m x k, B k x n, C m x n, each with a row and a column stride. With beta == 0 C is not read. C
 * must not overlap A or B. alpha and beta are (real, imaginary); the imaginary part is ignored for real types. */
typedef struct hs_product {
    int32_t dtype; /* hs_dtype */
    int64_t m, n, k;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    const void *b;
    int64_t b_row_stride, b_col_stride;
    void *c;
    int64_t c_row_stride, c_col_stride;
    double alpha[2], beta[2];
} hs_product;

typedef enum hs_event_kind { HS_COMPUTE = 0, HS_TRANSFER = 1 } hs_event_kind;

typedef struct hs_event {
    int32_t worker;
    int32_t kind; /* hs_event_kind */
    int32_t box;  /* index of the box worked on; box_count: the sum of layers */
    double start, end; /* seconds from the start of the run */
} hs_event;

/* Return non-zero to cancel. Called on the thread that called hs_run_product, at most 20 times a second, with the fraction
 * of the work done. */
typedef int (*hs_poll_function)(void *context, double fraction);

/* How a product is run.
 *   boxes       [box_count] tile C; each worker does its own in the order given. A box with depth > 0 adds to what the
 *               boxes before it left, the first one of a C region has depth 0. Layered: they tile the iteration space in any order,
 *               all of one worker with the same rows and columns of C.
 *   cooperative non-zero: all workers share every box, split by speeds; ends are taken over from slower workers. Zero:
 *               each worker does its own boxes, alone.
 *   layered     non-zero: each worker adds its boxes up in a layer of its own; when all have ended, the layers are summed to C.
 *               Then cooperative asks for boxes of the whole of C, each of which has a layer, early workers take boxes over, and the
 *               two below are NULL
 *   sum_rows    [p + 1] layered: the rows of C that worker i sums are sum_rows[i] .. sum_rows[i + 1] - 1; NULL: as they are free
 *   sum_receive [2 p] layered: start and end of the emulated transfer that each worker's sum waits for, in seconds from the end of
 *               the last box; or NULL
 *   overlap     non-zero: work on a box, or a sum, starts with its transfer, and does not end before it
 *   speeds      [p] relative speeds for cooperative runs, >= 0 with a positive finite sum; NULL for equal ones
 *   pace        [p] seconds per flop of an emulated worker, or NULL for real speed
 *   receive     [2 box_count] start and end of the emulated transfer that each box waits for (seconds; the same: none), or NULL
 *   events      [event_capacity] out, may be NULL with capacity 0 (nothing is recorded); a full array ends the recording, not the run
 *   finish      [p] out or NULL: when each worker ended, seconds from the start; 0 of one that did not get its core in time to have
 *               a part in a cooperative run
 *   late        [p] out or NULL: by how much a paced worker missed its last deadline, seconds
 *   busy        [p] out or NULL: CPU seconds that each worker used for computing */
typedef struct hs_run {
    const hs_box *boxes;
    int32_t box_count;
    int32_t cooperative;
    int32_t layered;
    const int64_t *sum_rows;
    const double *sum_receive;
    int32_t overlap;
    const double *speeds;
    const double *pace;
    const double *receive;
    hs_event *events;
    int32_t event_capacity;
    int32_t event_count;
    double *finish, *late, *busy;
    hs_poll_function poll;
    void *poll_context;
} hs_run;

/* Runs the product on the pool. The same operands, boxes and number of workers give the same bits, whoever did what: every element is
 * the sum of the same terms in one order. event_count and the arrays of *run are filled. Extra memory: one or two packed panels of B and one
 * block of A per worker, a few MiB, kept by the pool; the layers, not kept. Complexity: 2 m n k flops
 * (8 m n k complex), layered an addition per element of a layer more. */
hs_status hs_run_product(hs_pool *pool, const hs_product *product, hs_run *run);

/* The usual case without a plan: all workers of the pool share C, split by speeds ([p] or NULL); layered, by hs_gemm_boxes, where
 * C is small and the inner dimension long. */
hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds, hs_poll_function poll, void *context);

/* The boxes of hs_gemm where that is layered: count of them, with those that boxes [capacity] has room for filled in; 0: it is not.
 * Layers pay where there is little to share but the inner dimension: workers then meet once instead of at every panel. */
int32_t hs_gemm_boxes(int64_t m, int64_t n, int64_t k, int32_t p, const double *speeds, hs_box *boxes, int32_t capacity);

/* Number of flops of one multiply-add of dtype: 2 or 8. */
double hs_flops_per_update(int32_t dtype);

/* ---- product on a star ---------------------------------------------------------------------------------------- */

/* Chunks that hs_star_simulate accepts, run for real. The calling thread is the master: it alone touches A, B and C, and copies
 * what a message holds into the worker's arena, or a result back, one message after the other. The pool's workers multiply what
 * has come, in their arenas.
 *   star      of the pool's workers; r, s and t are the blocks of m, n and k, the last ones maybe smaller. With run->pace a
 *             message takes link_costs, in seconds per block; cycle_times only matter to hs_star_simulate
 *   chunks    [chunk_count] blocks of C in none of them stay as they are; in two of them they are undefined
 *   order     HS_STAR_LISTED, or HS_STAR_DEMAND: the request pending longest, decided at run time
 *   served    [length] for HS_STAR_LISTED
 *   block     side of a block in elements, at most 2^31 - 1
 *   messages  out: the port's log, as long as that of hs_star_simulate, with the seconds from the start that were measured; or NULL
 *   message_count  out: also after HS_ERROR_CANCELLED, then of those that had ended
 *   peak      [p] out: most blocks that a worker held at a time, never above its memory; or NULL
 *   late      out: by how much the port missed its last deadline, seconds */
typedef struct hs_star_product {
    const hs_star *star;
    int64_t chunk_count;
    const hs_star_chunk *chunks;
    int32_t order; /* hs_star_order */
    int64_t length;
    const int32_t *served;
    int64_t block;
    hs_star_message *messages;
    int64_t message_count;
    int64_t *peak;
    double late;
} hs_star_product;

/* Runs the product on the pool. Of *run the boxes, cooperative, speeds, receive and events must be zero; pace is in seconds per
 * block update, NULL for real speed on both the links and the workers. Messages and updates start, on the clock of the emulated
 * platform, when the model lets them; a block at the edge costs as much as a full one. C is multiplied by beta when it is loaded; with
 * beta == 0 zeros are. Extra memory: for each worker with chunks an arena of as many blocks as these take, at most its
 * memory[i]; 100 bytes per message; and the kernel's packed panels, kept by the pool as for hs_run_product. */
hs_status hs_run_star(hs_pool *pool, const hs_product *product, hs_star_product *star_product, hs_run *run);

/* ---- wavefront ------------------------------------------------------------------------------------------------ */

/* Works on the elements row .. row + height - 1, col .. col + width - 1. Called from the pool's threads, for different tiles
 * at the same time, but for a tile only after those that it waits for. */
typedef void (*hs_tile_function)(void *context, int64_t row, int64_t col, int64_t height, int64_t width);

/* A recurrence over m x n elements, cut as evenly as integers allow into rows x cols tiles, whose columns (or rows) are dealt as
 * a plan says.
 *   axis          1: columns of tiles are dealt. 0: rows are; then `reach` and `order` are those of the transposed matrix
 *   owner         [cols], or [rows] with axis 0: the worker of each
 *   reach, order  as for hs_wavefront_makespan
 * rows * cols < 2^31. */
typedef struct hs_wavefront {
    int64_t m, n;
    int32_t rows, cols;
    int32_t axis;
    const int32_t *owner;
    int64_t reach;
    int32_t order; /* hs_wavefront_order */
    hs_tile_function tile;
    void *context;
} hs_wavefront;

/* Runs the recurrence on the pool. Of *run the boxes, cooperative, speeds and receive must be zero; pace is in seconds per
 * element, and an event's box is row * cols + col of a tile. A paced worker starts a tile, on the clock of the emulated
 * platform, when the tiles that it waits for have ended there. A cancel is seen between tiles. Extra memory: 64 bytes per chunk,
 * and with pace 8 bytes per row of each chunk. */
hs_status hs_run_wavefront(hs_pool *pool, const hs_wavefront *wavefront, hs_run *run);

/* HS_SUM: the sum of weight * element. HS_MIN: the least element + weight. */
typedef enum hs_stencil_rule { HS_SUM = 0, HS_MIN = 1 } hs_stencil_rule;

/* a(i, j) <- the sum or the minimum over its 3 x 3 neighbourhood, in place: 2001 paper, Algorithm 1, with f of either kind.
 * Neighbours outside the matrix do not count. What a tile waits for decides whether a neighbour's value is the old or the new
 * one; for a tile of several rows and columns that is the order of the rows.
 *   dtype    HS_FLOAT32 or HS_FLOAT64
 *   data     m x n elements
 *   weights  of the neighbours row by row, the element itself in the middle; 0 (HS_SUM) or infinity (HS_MIN): not used */
typedef struct hs_stencil {
    int32_t dtype; /* hs_dtype */
    int32_t rule;  /* hs_stencil_rule */
    int64_t m, n;
    void *data;
    int64_t row_stride, col_stride;
    double weights[9];
} hs_stencil;

/* A tile function; the context is an hs_stencil. Terms are added in the order of the weights, and never fused: the result does not
 * depend on the tiles. */
void hs_stencil_tile(void *stencil, int64_t row, int64_t col, int64_t height, int64_t width);

/* ---- slices on a ring ----------------------------------------------------------------------------------------- */

/* Steps of an iteration on a cylinder of m x n elements: column 0 is beside column n - 1, the first and the last row stay as they
 * are. In a step every other element x becomes, of the old ones around it,
 *   x + weight ((((above + below) + left) + right) - 4 x)
 * in its own type, each operation rounded, none fused: the bits do not depend on the slices.
 *   dtype     HS_FLOAT32 or HS_FLOAT64
 *   m, n      >= 1
 *   source    as it is at first
 *   target    out: after the last step. It may be the source, or overlap it; its elements must not overlap each other. Not changed
 *             unless the run succeeds
 *   weight    finite in that type
 *   steps     0 .. 2^30 - 1
 *   ring      [size] different workers, in the order of their slices
 *   widths    [size] columns of each slice, >= 1; their sum is n
 *   exchange  [2 size] with pace: seconds that its exchange of columns with the next takes each member, and that with the one
 *             before; or NULL */
typedef struct hs_slices {
    int32_t dtype; /* hs_dtype */
    int64_t m, n;
    const void *source;
    int64_t source_row_stride, source_col_stride;
    void *target;
    int64_t target_row_stride, target_col_stride;
    double weight;
    int64_t steps;
    int32_t size;
    const int32_t *ring;
    const int64_t *widths;
    const double *exchange;
} hs_slices;

/* Runs the iteration on the pool. Of *run the boxes, cooperative, speeds and receive must be zero; pace is in seconds per element
 * that changes. The box of an event is 2 step for the update and the exchange with the next member, 2 step + 1 for that with the
 * one before. Times count from when all slices are loaded to when the last step ends. A member goes on with the next step when
 * both neighbours have ended this one, on a paced run on the clock of the emulated platform; nobody waits for anybody else.
 * Extra memory: one copy of the matrix, in slices that their owners touch first. Renard, Robert, Vivien (2003), section 2. */
hs_status hs_run_slices(hs_pool *pool, const hs_slices *slices, hs_run *run);

/* ---- LU --------------------------------------------------------------------------------------------------------- */

/* P A = L U of an m x n matrix with partial pivoting, LAPACK's getrf: L unit lower and U upper in place of the matrix.
 *   a         the matrix, copied to lu by the workers; NULL: it is in lu already. a must not overlap lu
 *   lu        in and out; a unit row stride is fast
 *   block     columns of a block; 0: chosen
 *   owner     [hs_lu_blocks] the worker of each block; NULL: in turn, of a cooperative run by what the pool has seen of late
 *   costs     of the emulated platform, in seconds; NULL: as for hs_lu_simulate. Panels and links need a paced run
 *   pivots    [min(m, n)] out: row i was exchanged with row pivots[i] >= i, one after the other
 *   singular  out: the first i with U(i, i) == 0, else -1 */
typedef struct hs_lu {
    int32_t dtype; /* hs_dtype */
    int64_t m, n;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    void *lu;
    int64_t lu_row_stride, lu_col_stride;
    int64_t block;
    const int32_t *owner;
    const hs_lu_costs *costs;
    int32_t *pivots;
    int64_t singular;
} hs_lu;

/* Factors on the pool, by the order of hs_lu_simulate. Of *run the boxes, speeds and receive must be zero; with cooperative set,
 * which excludes pace, a worker that would wait takes over tasks of others. An event's box is panel * blocks + block of a task, and
 * of the message that brings a panel to a worker panel * blocks + panel.
 * The matrix is held in slices of a few columns, in the memory of lu if that has its columns side by side and starts at a multiple
 * of 64 bytes, else in a copy. Extra memory besides: four packed panels, with pace all of them; a slice per worker; with links 16
 * bytes per panel and worker. A paced worker starts a task, on the clock of the emulated platform, when its panel has arrived there;
 * the copy and the exchange of rows in the columns to the left take no time there. 2001 paper, section 2.4; panels by Toledo's
 * recursion (SIAM J. Matrix Anal. Appl. 18, 1997). */
hs_status hs_run_lu(hs_pool *pool, hs_lu *lu, hs_run *run);

/* x <- A^-1 x, or (A^T)^-1 x with transposed == 1, for cols right-hand sides, from what hs_run_lu left in lu->lu and lu->pivots; lu is
 * not changed and must be square. Division by a zero of U gives infinities and NaN. With six right-hand sides and more by recursion,
 * with its products on the pool; where there is no memory for those they are slower. b is changed only with HS_OK and
 * HS_ERROR_CANCELLED. */
hs_status hs_lu_solve(hs_pool *pool, const hs_lu *lu, int32_t transposed, int64_t cols, void *b, int64_t b_row_stride, int64_t b_col_stride,
                      hs_poll_function poll, void *context);

/* The block that hs_run_lu chooses with that many workers and the kernel in use. */
int64_t hs_lu_block(int64_t m, int64_t n, int32_t dtype, int32_t workers);

/* ---- measuring -------------------------------------------------------------------------------------------------- */

/* HS_MEASURE_GEMM: C <- A B, all size x size. HS_MEASURE_PANEL: the panel of an LU factorisation, size rows and the columns that
 * hs_run_lu would choose. HS_MEASURE_TRSM: the triangular solve with such a panel's square, for size columns, as LU updates need it. */
typedef enum hs_measured { HS_MEASURE_GEMM = 0, HS_MEASURE_PANEL = 1, HS_MEASURE_TRSM = 2 } hs_measured;

/* How long a kernel takes on a worker's thread; each worker has operands of its own and shares nothing but the machine.
 *   kernel, dtype  hs_measured, hs_dtype
 *   size      >= 1; of GEMM at most 2^15, else 2^20
 *   worker    which one, while the others rest; -1: all at once, who start together and keep computing until the last has ended
 *   seconds   how long a worker repeats, >= 0, after a tenth of that to warm up; least repetitions are always done
 *   capacity, least  1 <= least <= capacity
 *   times     [p * capacity] out: seconds of a repetition, capacity places for each worker; what takes less than 20 us is repeated
 *             batch[.] times for one of them, and what takes more than 100 us is timed by the thread's own clock, which stands still
 *             while another program has the core
 *   count, batch    [p] out: times of each worker, 0 of one that rested; repetitions of which each is the mean
 *   elapsed, busy   [p] out: seconds of the wall clock, and of its core, that all repetitions of a worker took. They include what
 *             the LU kernels need to put their operands back. busy < elapsed: something else had the core
 *   width     out: columns of the panel, 0 for GEMM
 *   flops     out: of one repetition */
typedef struct hs_measurement {
    int32_t kernel, dtype;
    int64_t size;
    int32_t worker;
    double seconds;
    int32_t capacity, least;
    double *times;
    int32_t *count, *batch;
    double *elapsed, *busy;
    int64_t width;
    double flops;
} hs_measurement;

/* Measures on the pool; the calling thread sleeps, but for poll (may be NULL). HS_ERROR_MEMORY, HS_ERROR_CANCELLED: the arrays
 * are undefined. Memory: the operands twice, for each worker that runs; given back at the end. */
hs_status hs_measure_kernel(hs_pool *pool, hs_measurement *what, hs_poll_function poll, void *context);

/* Which workers' threads are held on the core that was given for them: pinned is [p]. */
void hs_pool_pinned(const hs_pool *pool, int32_t *pinned);

/* Monotonic clock in seconds. */
double hs_clock(void);

#ifdef __cplusplus
}
#endif
#endif
