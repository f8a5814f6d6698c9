/* Allocation in one dimension: independent chunks, columns of factorisations, wavefronts. */
#ifndef HETSCHED_ALLOCATE_H
#define HETSCHED_ALLOCATE_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* Computes optimal counts of n equal, independent chunks: minimises max_i counts[i] *
 * cycle_times[i] with sum(counts) == n. 2001 paper, section 2.2, Algorithm 2. Comparisons are exact
 * for the doubles given, so the result is optimal without a rounding error; ties go to the lowest
 * index. A worker with an infinite cycle-time gets nothing.
 *   n            chunks, 0 <= n <= 2^53
 *   cycle_times  [p] time per chunk, > 0, not NaN, at least one finite
 *   cancel       NULL, or an int that makes the call end with HS_ERROR_CANCELLED; hetsched.h
 *                explains it for all planners
 *   counts       [p] out
 *   makespan     out, may be NULL
 * Time O(p log p), independent of n; memory O(p). */
HS_API hs_status hs_distribute(int64_t n, int32_t p, const double *cycle_times, const int *cancel,
                               int64_t *counts, double *makespan);

/* Certificate of given counts: their makespan, with the makespan of hs_distribute as the bound.
 *   counts  [p] >= 0, their sum is n; 0 for an infinite cycle-time
 * Time O(p log p), memory O(p). */
HS_API hs_status hs_distribute_certificate(int64_t n, int32_t p, const double *cycle_times,
                                           const int64_t *counts, const int *cancel,
                                           hs_certificate *certificate);

/* hs_distribute for workers that are busy at first: minimises the largest starts[i] + counts[i] *
 * cycle_times[i] over the workers with counts[i] > 0, with these times rounded to double. Chunks
 * that end at the same double go to the lowest index.
 *   starts  [p] >= 0, finite
 * Time O(p) for each of about 60 bisection steps, O(p log n) if the starts are so large that
 * rounding hides the time of a chunk; no memory. */
HS_API hs_status hs_distribute_after(int64_t n, int32_t p, const double *cycle_times,
                                     const double *starts, const int *cancel, int64_t *counts,
                                     double *makespan);

/* hs_distribute for each row of a stack. Memory O(p), whatever the number of rows. For the
 * certificate of a row use hs_distribute_certificate.
 *   n            [rows] chunks of each row; rows >= 0
 *   cycle_times  [rows * p] row by row; at least one finite in each
 *   counts       [rows * p] out
 *   makespans    [rows] out, may be NULL */
HS_API hs_status hs_distribute_batch(int64_t rows, const int64_t *n, int32_t p,
                                     const double *cycle_times, const int *cancel, int64_t *counts,
                                     double *makespans);

/* Computes optimal counts if time is not proportional to the number of chunks: minimises max_i
 * times[i][counts[i]] with sum(counts) == n, exactly, for times of any shape (they need not
 * increase).
 *   n         chunks, 0 <= n <= 2^53
 *   times     [p * (n + 1)] row i holds the time of worker i for 0 .. n chunks, > 0, not NaN;
 *             infinite: this count is not possible. The first entry of a row is not read: no chunks
 *             take no time.
 *   counts    [p] out. They are chosen from the last worker to the first: the largest number that
 *             takes less than the makespan and leaves the rest feasible, else the largest that
 *             takes exactly the makespan. So ties go to the lowest index.
 *   makespan  out, may be NULL
 * Bisection over the times; the sets of sums that the workers can reach are bitsets. Time O(p n
 * log(p n)), plus, for each of the O(log(p n)) makespans tried and each worker, n / 64 times the
 * number of runs of possible counts; memory O(p n) bits. HS_ERROR_INFEASIBLE if no possible counts
 * sum to n. */
HS_API hs_status hs_distribute_profile(int64_t n, int32_t p, const double *times, const int *cancel,
                                       int64_t *counts, double *makespan);

/* Certificate of given counts with such times: their makespan, with the makespan of
 * hs_distribute_profile as the bound.
 *   counts  [p] >= 0, their sum is n; only possible ones
 * Time and memory as for hs_distribute_profile. */
HS_API hs_status hs_profile_certificate(int64_t n, int32_t p, const double *times,
                                        const int64_t *counts, const int *cancel,
                                        hs_certificate *certificate);

/* Deals n chunks one by one, each to the worker that would end it first: the counts of every prefix
 * are optimal, as in hs_distribute. 2001 paper, section 2.4.1 (the dynamic programming algorithm).
 * The reversed list of owners is the best order of block columns for LU.
 *   owner      [n] out: the worker of each chunk
 *   makespans  [n] out, may be NULL: makespans[k] is the makespan of chunks 0 .. k
 * Time O(p + n log p), memory O(p). */
HS_API hs_status hs_distribute_prefix(int64_t n, int32_t p, const double *cycle_times,
                                      const int *cancel, int32_t *owner, double *makespans);

/* Certificate of an owner map of n block columns for LU and QR. The value is the sum, over the
 * steps k, of the largest load among the blocks after block k. The bound deals the blocks anew in
 * every step; the reversed list of hs_distribute_prefix attains it.
 *   owner  [n] the worker of each block column; n >= 1; no worker with an infinite cycle-time
 * Time O(p + n log p), memory O(n + p). */
HS_API hs_status hs_pattern_certificate(int64_t n, int32_t p, const double *cycle_times,
                                        const int32_t *owner, const int *cancel,
                                        hs_certificate *certificate);

/* Deals n block columns of a matrix to workers for LU and QR. 2001 paper, section 2.4.
 *   HS_PATTERN_BEST        the reversed list of hs_distribute_prefix. It attains the bound in every
 *                          step, unless it is repeated
 *   HS_PATTERN_CYCLIC      for comparison: the workers with finite cycle-times in turn
 *   HS_PATTERN_CONTIGUOUS  for comparison: the counts of hs_distribute, the blocks of a worker side
 *                          by side
 *   HS_PATTERN_GIVEN       the owners that are in `owner`
 *
 * Parameters
 *   n            block columns, >= 1
 *   period       for HS_PATTERN_BEST: repeat the pattern of so many block columns; the first slice
 *                may have only the end of it. 0: one slice of n
 *   owner        [n] out, for HS_PATTERN_GIVEN in: the worker of each block column
 *   step_costs   [n - 1] out: the largest load among the blocks after block k
 *   certificate  out: of hs_pattern_certificate. The scope is "all allocations" if it is optimal
 * HS_ERROR_VALUE also if the sum of the loads overflows. Time O(p + n log p), memory O(n + p). */
typedef enum hs_pattern_method {
    HS_PATTERN_BEST = 0,
    HS_PATTERN_CYCLIC = 1,
    HS_PATTERN_CONTIGUOUS = 2,
    HS_PATTERN_GIVEN = 3
} hs_pattern_method;
HS_API hs_status hs_pattern_best(int64_t n, int32_t p, const double *cycle_times,
                                 hs_pattern_method method, int64_t period, const int *cancel,
                                 int32_t *owner, double *step_costs, hs_certificate *certificate);

/* Deals n block columns for workers with times by the size of their parts. Step k updates the
 * columns to its right; it costs the largest time of a worker for its own columns among them.
 * The cost of a map is the sum over the steps.
 *   n            block columns, 1 <= n < 2^31
 *   steps        number of steps, 1 <= steps < n; 0 if n is 1. n - 1 unless the matrix has fewer
 *                rows than columns
 *   p            workers, 1 .. 2^24; steps * p * n <= 2^48
 *   times        [steps * p * n] at (k * p + i) * n + c: the time of worker i for c columns in step
 *                k, > 0, not NaN, in any dependence on k and c; infinite: impossible. Not read for
 *                c = 0 and c > n - 1 - k
 *   owner        [n] out: the worker of each block column. The first one is never updated: it goes
 *                to the worker, of those with other columns, that ends step 0 first
 *   step_costs   [steps] out
 *   certificate  out: the bound is the sum of the least costs of the single steps
 *                (hs_distribute_profile), or the cost, if no map is cheaper. The scope is "all
 *                allocations" if it is optimal
 * A shortest path through the numbers of columns that the workers can have: exact if there are few
 * of them (up to 2^22 / (n p) in a step, or 64 if that is more, such as 3 workers with 100 columns),
 * else the cheapest are kept in each step. With times that are proportional to c it is the reversed
 * list of
 * hs_distribute_prefix. HS_ERROR_INFEASIBLE if no map was found, HS_ERROR_VALUE also if the cost
 * overflows. Time of the bounds and O((2^22 + 64 n p) p), memory O(n p + 2^22). */
HS_API hs_status hs_pattern_profile(int64_t n, int64_t steps, int32_t p, const double *times,
                                    const int *cancel, int32_t *owner, double *step_costs,
                                    hs_certificate *certificate);

/* Certificate of a given map with such times: its cost, with the sum of the least costs of the
 * steps as the bound.
 *   owner  [n] the worker of each block column; only possible numbers of columns
 * Time of hs_distribute_profile for each step, memory O(n p). */
HS_API hs_status hs_pattern_profile_certificate(int64_t n, int64_t steps, int32_t p,
                                                const double *times, const int32_t *owner,
                                                const int *cancel, hs_certificate *certificate);

/* Kinds of factorisation. HS_LU: P A = L U with partial pivoting. HS_CHOLESKY: A = L L^H (m == n),
 * where a panel is the columns of L from the diagonal on, and only the lower triangle is computed.
 * HS_QR: A = Q R by blocks of Householder reflectors. */
typedef enum hs_factor_kind { HS_LU = 0, HS_CHOLESKY = 1, HS_QR = 2 } hs_factor_kind;

/* A task in the factorisation of an m x n matrix by blocks of columns.
 *
 * Each block has one worker and `block` columns; the last of the first min(m, n) columns, and the
 * last columns of all, may form a narrower block. The blocks of the first min(m, n) columns are
 * panels: panel k is factored, then it updates all blocks to its right. A worker goes through the
 * panels in order. For each panel it first updates the block that is the next panel, if it owns
 * that block, and factors it (a look-ahead of one); then it updates its other blocks from the left.
 * It waits for nothing but the panel. m, n and block < 2^31, at most 46340 blocks.
 *
 * With owners in both directions (grid), rows are cut like columns, and each block (i, j) has a
 * worker. The owner of the diagonal block factors all of its panel, including rows of other
 * workers: partial pivoting needs the panel in one memory. Update k of block column j is one task
 * if one worker owns all of its rows. Else it is several tasks with the same panel and block: a
 * head, then, in parallel, one part by each worker with rows below. The owner of block (k, j) does
 * the head: in LU the triangular solve of that block, in QR the update of that block and the
 * product V^H C. Cholesky has no head, and its rows are those from block (j, j) on. The next head,
 * or panel j, waits for all parts. A worker does the heads of a step before its parts. If all
 * blocks of each column have the same owner, the tasks are those without grid. */
typedef struct hs_factor_task {
    int32_t worker;
    int32_t panel, block; /* equal: the panel is factored; else the block is updated */
    double start, end;
    double work; /* multiply-adds */
} hs_factor_task;

HS_API hs_status hs_factor_blocks(int64_t m, int64_t n, int64_t block, int32_t *count);

/* Bytes of a segment in which ranks of hetsched.mpi pass on a panel. In plans for them,
 * hs_factor_costs.segment is this / the bytes of an element. */
enum { HS_PANEL_SEGMENT_BYTES = 1 << 20 };

/* The costs of a step other than the updates, and of updates if they differ from step to step. In a
 * step the time of an update is proportional to its multiply-adds.
 *   panels      [p] time per multiply-add of a panel, > 0; infinite only for a worker that owns no
 *               panel; NULL: the same as for an update
 *   links       [p * p] time per element from worker i to worker j at i * p + j, >= 0, finite;
 *               NULL: messages take no time. A panel goes from its owner through the workers that
 *               have blocks to its right, in the order of their next blocks (the order of HPL's
 *               increasing ring). A worker sends, receives and computes at the same time, but it
 *               sends at most one message at a time and receives at most one, both in the order of
 *               the panels.
 *   late_panel  0: look-ahead, as above. 1: a worker factors the next panel after all its updates
 *               of the step
 *   steps       [panels * p] time per multiply-add of an update of step k by worker i at k * p + i,
 *               > 0; infinite only if the worker has none; NULL: the cycle-times. Not with owners in
 *               both directions
 *   segment     elements, >= 0. A worker passes each segment of a panel on as soon as it has
 *               received it; 0: it passes on whole panels */
typedef struct hs_factor_costs {
    const double *panels;
    const double *links;
    int32_t late_panel;
    const double *steps;
    int64_t segment;
} hs_factor_costs;

typedef struct hs_factor_message {
    int32_t panel, sender, receiver;
    double start, end;
} hs_factor_message;

/* Computes when every task starts and ends. 2001 paper, section 2.4 ("LU, QR and Cholesky alike"),
 * with the actual work of each step and with panels that take time. In LU the triangular solve is
 * part of an update, and exchanges of rows take no time; in QR the factor of the block reflector is
 * part of the panel.
 *   kind           hs_factor_kind
 *   cycle_times    [p] time per multiply-add, > 0; infinite only for a worker that owns nothing
 *   owner          [hs_factor_blocks] the worker of each block column. grid 1: the worker of each
 *                  block, row by row, [rows * columns] with hs_factor_blocks(n, m) rows and
 *                  hs_factor_blocks(m, n) columns
 *   grid           0 or 1
 *   costs          NULL: panels take as long as updates, messages take no time, look-ahead; no
 *                  links with grid
 *   makespan       out
 *   work           out, may be NULL: multiply-adds of all tasks
 *   tasks          out, may be NULL: [*task_count], in an order in which they can be done
 *   task_count     out, may be NULL
 *   messages       out, may be NULL: [*message_count], by panel, in the order of their starts; none
 *                  without links
 *   message_count  out, may be NULL
 * Time O(blocks^2 + p panels), memory O(blocks + p); with grid time O(blocks^2 p), memory O(blocks
 * p). */
HS_API hs_status hs_factor_simulate(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                                    const double *cycle_times, const int32_t *owner, int32_t grid,
                                    const hs_factor_costs *costs, const int *cancel,
                                    double *makespan, double *work, hs_factor_task *tasks,
                                    int64_t *task_count, hs_factor_message *messages,
                                    int64_t *message_count);

/* Computes a lower bound on the makespan for all owner maps.
 *   kind         hs_factor_kind
 *   panel_times  [p] time per multiply-add of a panel, > 0; infinite for a worker that cannot
 *                factor one; NULL: as cycle_times
 *   grid         1: for owners in both directions, where only the head of an update must be done by
 *                one worker
 *   ideal        out, or NULL: the time if the work is divided perfectly among the workers
 *   bound        out: the larger of `ideal` and the critical path: the panels, each with the update
 *                that comes right before it, by the worker that is fastest at both together
 * Time O(p (panels + log p)), memory O(p). */
HS_API hs_status hs_factor_bound(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                                 const double *cycle_times, const double *panel_times, int32_t grid,
                                 const int *cancel, double *ideal, double *bound);

/* Computes a lower bound on the makespan of all owner maps by columns, if the times of updates
 * differ from step to step and depend on the map.
 *   least        [panels * p] least time per multiply-add of an update of step k by worker i, at k *
 *                p + i, > 0; infinite: the worker can do none. Each step with updates needs a worker
 *                that can do them
 *   panel_times  [p] time per multiply-add of a panel, > 0; infinite for a worker that cannot
 *                factor one, but not for all
 *   ideal        out, or NULL: a bound on the time if the work of each step is divided perfectly
 *   bound        out: the larger of `ideal` and the critical path, as in hs_factor_bound
 * Any prices of the workers' time give such a bound: the price of the cheapest division of all
 * work / the sum of the prices. `ideal` is the largest of the bounds of up to 100 prices; with the
 * same times in all steps and panels it is the work over the speeds. HS_ERROR_VALUE also if the
 * bound overflows, or if no worker can both update a panel and factor it. Time O(2^24 + p panels),
 * memory O(p). */
HS_API hs_status hs_factor_profile_bound(int32_t kind, int64_t m, int64_t n, int64_t block,
                                         int32_t p, const double *least, const double *panel_times,
                                         const int *cancel, double *ideal, double *bound);

/* Certificate of an owner map: the makespan of hs_factor_simulate, with hs_factor_bound as the
 * bound. No costs->steps. Time and memory as for both functions. */
HS_API hs_status hs_factor_certificate(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                                       const double *cycle_times, const int32_t *owner,
                                       int32_t grid, const hs_factor_costs *costs,
                                       const int *cancel, hs_certificate *certificate);

/* A task in the reduction of a Hermitian matrix of order n to a band with `block` diagonals below the
 * main one, by block columns that have workers (Bischof, Lang and Sun, ACM Trans. Math. Softw. 26,
 * 2000).
 *
 * Panel k is block column k below the band. A QR factorisation I - V T V^H of it leaves a band, and
 * both sides of the trailing matrix A, which are the blocks behind k, are multiplied by it:
 * A - V Y^H - Y V^H + V X V^H with Y = A V T and X = T^H V^H Y. The workers meet twice for each
 * panel:
 *   product  each worker computes the rows of Y of its blocks
 *   update   each worker updates the columns of its blocks from the diagonal on. The worker of block
 *            k + 1 begins with this block, and factors it as the next panel
 * There are max(n - 2, 0) / block panels and ceil(n / block) blocks, at most 46340. n and block <
 * 2^31. X takes no time: it is small beside Y. */
typedef enum hs_reduction_kind {
    HS_REDUCTION_PANEL = 0,
    HS_REDUCTION_PRODUCT = 1,
    HS_REDUCTION_UPDATE = 2
} hs_reduction_kind;

typedef struct hs_reduction_task {
    int32_t kind; /* hs_reduction_kind */
    int32_t worker;
    int32_t panel, block; /* of PANEL: equal; of the others: block > panel */
    double start, end;
    double work; /* multiply-adds */
} hs_reduction_task;

/* In all functions hs_reduction_x
 *   cycle_times  [p] time per multiply-add, > 0; a worker with an infinite one gets nothing
 *   panel_times  [p] the same in panels; infinite only for a worker that owns no panel; NULL: as
 *                cycle_times
 *   owner        [blocks] the worker of each block column
 * HS_ERROR_VALUE, HS_ERROR_MEMORY, HS_ERROR_CANCELLED.
 *
 * hs_reduction_size counts the tasks and the blocks. */
HS_API hs_status hs_reduction_size(int64_t n, int64_t block, int64_t *tasks, int32_t *blocks);

/* Deals the blocks: from the last one back, each to the worker with which the step that it begins
 * ends first; then single blocks are moved as long as that makes the makespan smaller.
 *   owner  out
 * Time O(blocks p), and O(blocks + p) for each of up to blocks p moves that are tried in a round,
 * in up to 8 rounds and 2^26 steps in all; memory O(blocks + p). */
HS_API hs_status hs_reduction_owners(int64_t n, int64_t block, int32_t p, const double *cycle_times,
                                     const double *panel_times, const int *cancel, int32_t *owner);

/* Computes when every task starts and ends.
 *   makespan  out
 *   tasks     [tasks of hs_reduction_size] out, may be NULL: in the order of the meetings, panels
 *             right after the update of their block
 * Time O(tasks + panels p), memory O(p). */
HS_API hs_status hs_reduction_simulate(int64_t n, int64_t block, int32_t p,
                                       const double *cycle_times, const double *panel_times,
                                       const int32_t *owner, const int *cancel, double *makespan,
                                       hs_reduction_task *tasks);

/* Computes a lower bound on the makespan for all owners.
 *   ideal  out, or NULL: the time of the work divided perfectly among the workers, which never meet
 *   bound  out: at least `ideal`, and the sum over the meetings. A product takes at least the perfectly divided work, and
 *          the time of the best division of its whole blocks (hs_distribute_prefix). An update takes
 *          at least the perfectly divided work, and the time in which one worker updates the next
 *          panel and factors it
 * Time O(panels p log p + blocks log p), memory O(blocks + p). */
HS_API hs_status hs_reduction_bound(int64_t n, int64_t block, int32_t p, const double *cycle_times,
                                    const double *panel_times, const int *cancel, double *ideal,
                                    double *bound);

/* Certificate of owners: the makespan of hs_reduction_simulate with the bound of
 * hs_reduction_bound. */
HS_API hs_status hs_reduction_certificate(int64_t n, int64_t block, int32_t p,
                                          const double *cycle_times, const double *panel_times,
                                          const int32_t *owner, const int *cancel,
                                          hs_certificate *certificate);

/* LU of n x n square blocks, each owned by one worker: step k updates the blocks (i, j) with i, j >
 * k, which are equal and independent. In all functions hs_lu_grid_x, n is 1 .. HS_LU_GRID_MOST and
 *   cycle_times  [p] time to update a block, > 0, not NaN; a worker with an infinite one gets
 *                nothing
 *   owner        [n * n] the worker of each block, row by row
 *
 * hs_lu_grid_deal deals the blocks by a floorplan of straight cuts (HS_BESIDE, HS_ABOVE). It deals
 * the columns of a box to the parts beside each other, or its rows to the parts above each other,
 * then continues in the same way within the parts. The lines are dealt from the last one back, each
 * to the part that would end it first if its workers divided the work perfectly. Adjacent parallel
 * cuts are one such deal. If all parts are beside each other, the result is the reversed
 * hs_distribute_prefix; with columns of workers it is what section 2.4 of the 2001 paper does in
 * both directions.
 *   plan   [length] the floorplan; workers that are not in it get nothing
 *   owner  out
 * HS_ERROR_VALUE if plan is not such a floorplan. Time O(n^2 depth + (n log p) cuts), memory O(n^2
 * + p). */
enum { HS_LU_GRID_MOST = 46340 }; /* n^2 is below 2^31 */
HS_API hs_status hs_lu_grid_deal(int32_t n, int32_t p, const double *cycle_times,
                                 const int32_t *plan, int32_t length, const int *cancel,
                                 int32_t *owner);

/* Computes loads and traffic of any owner map.
 *   loads     [n] out: for each step k the largest (number of updated blocks) * cycle-time
 *   traffic   [n] out, may be NULL: number of blocks that are sent in step k. A worker receives
 *             each block of the panel, (i, k), and of the pivot row, (k, j), that it does not own
 *             and needs for an update; and the diagonal block, if it owns another block of the
 *             panel or the pivot row
 *   received  [p] out, may be NULL: number of blocks that each worker receives in all steps
 * Time O(n^2 + n p), memory O(n + p). */
HS_API hs_status hs_lu_grid_evaluate(int32_t n, int32_t p, const double *cycle_times,
                                     const int32_t *owner, const int *cancel, double *loads,
                                     int64_t *traffic, int64_t *received);

/* Computes the least cost of each single step, as if its (n - 1 - k)^2 blocks could be dealt anew
 * before it: the load of hs_distribute, or the load + link_cost * traffic if each worker received
 * the sides of a square as large as its part, whichever is larger.
 *   link_cost  >= 0, finite
 *   bounds     [n] out
 * Time O(n p log p), memory O(n + p). */
HS_API hs_status hs_lu_grid_bound(int32_t n, int32_t p, const double *cycle_times, double link_cost,
                                  const int *cancel, double *bounds);

/* Certificate of any owner map: the sum of its loads + link_cost * all traffic, with the sum of the
 * least costs as the bound. Time O(n^2 + n p log p), memory O(n + p). */
HS_API hs_status hs_lu_grid_certificate(int32_t n, int32_t p, const double *cycle_times,
                                        double link_cost, const int32_t *owner, const int *cancel,
                                        hs_certificate *certificate);

/* LU on n x n blocks by p workers. Messages go one after another, and none while a worker computes.
 *   n, p, cycle_times  as above
 *   link_cost          time to send a block, >= 0, finite; 0: only the updates count */
typedef struct hs_lu_grid {
    int32_t n, p;
    const double *cycle_times;
    double link_cost;
} hs_lu_grid;

/* How the blocks are dealt.
 *   HS_LU_GRID_BEST     the methods below but the last: the map with the least cost; of equal ones
 *                       the one with less traffic, then the first
 *   HS_LU_GRID_1D1D     hs_lu_grid_deal, workers in columns as by hs_partition_columns
 *   HS_LU_GRID_NESTED   hs_lu_grid_deal, by the best straight cuts: of all cuts for up to 10 workers
 *                       (hs_partition_guillotine), of the sorted list for up to 128
 *                       (hs_partition_interval), else HS_RULE_NAGAMOCHI_ABE
 *   HS_LU_GRID_COLUMNS  whole block columns, the reversed hs_distribute_prefix
 *   HS_LU_GRID_CYCLIC   block-cyclic on the best q x r grid of all workers, whatever their speeds
 *   HS_LU_GRID_GIVEN    the map of the caller */
typedef enum hs_lu_grid_method {
    HS_LU_GRID_BEST = 0,
    HS_LU_GRID_1D1D = 1,
    HS_LU_GRID_NESTED = 2,
    HS_LU_GRID_COLUMNS = 3,
    HS_LU_GRID_CYCLIC = 4,
    HS_LU_GRID_GIVEN = 5
} hs_lu_grid_method;

/* A map and what it costs. The caller sets the pointers.
 *   owner     [n * n] the worker of each block, row by row; in with HS_LU_GRID_GIVEN, else out
 *   loads     [n] out: of hs_lu_grid_evaluate
 *   ideal     [n] out: the work of each step divided perfectly over the speeds
 *   traffic   [n] out: of hs_lu_grid_evaluate
 *   received  [p] out: of hs_lu_grid_evaluate
 *   makespan  out: sum of the loads */
typedef struct hs_lu_grid_result {
    int32_t *owner;
    double *loads;
    double *ideal;
    int64_t *traffic;
    int64_t *received;
    double makespan;
} hs_lu_grid_result;

/* Deals the blocks by a method, or evaluates a given map.
 *   found        out: the method of the map
 *   certificate  out: as by hs_lu_grid_certificate; its scope is all maps of whole blocks, if the
 *                map is optimal
 * HS_ERROR_VALUE also if the cost overflows. After an error the outputs are undefined. Time and
 * memory of the partition, O(n^2) for each level of cuts, O(n^2 + n p) for each map that is tried,
 * and O(n p log p). */
HS_API hs_status hs_lu_grid_best(const hs_lu_grid *grid, hs_lu_grid_method method,
                                 const int *cancel, hs_lu_grid_method *found,
                                 hs_lu_grid_result *result, hs_certificate *certificate);

/* Order of the tiles in a wavefront. The rows x cols tiles are equal, and whole columns of tiles
 * are dealt to workers. A tile depends on the tile above it, and on the tiles of the column to its
 * left down to `reach` rows below its own row (0: finite differences; 1: the mask of a forward
 * sweep, transposed). A chunk is a run of neighbouring columns of one owner; a worker does its
 * chunks from the left, each of them
 *   HS_ROW_WISE     row by row, skewed by `reach` if that is not 0: the chunks to the right can
 *                   start early
 *   HS_COLUMN_WISE  column by column
 * All functions hs_wavefront_x require rows * cols <= 2^53, reach >= 0, and
 *   cycle_times  [p] time per tile, > 0, not NaN, at least one finite; a worker with an infinite
 *                one gets nothing */
typedef enum hs_wavefront_order { HS_ROW_WISE = 0, HS_COLUMN_WISE = 1 } hs_wavefront_order;

/* Computes when every tile starts and ends if no worker waits longer than it must. 2001 paper,
 * sections 2.1 and 2.3.
 *   owner     [cols] the worker of each column
 *   makespan  out
 *   start     [rows * cols] out, row by row; or NULL, together with end
 *   end       [rows * cols] out, row by row; or NULL, together with start
 * Time O(rows * chunks + cols), with start and end O(rows * cols); memory O(rows + cols + p). */
HS_API hs_status hs_wavefront_makespan(int64_t rows, int32_t cols, int32_t p,
                                       const double *cycle_times, const int32_t *owner,
                                       int64_t reach, int32_t order, const int *cancel,
                                       double *makespan, double *start, double *end);

/* Computes a lower bound on the makespan of all ways to deal whole columns, with any order of the
 * tiles. It is the largest of three bounds: the columns divided by hs_distribute, the longest chain
 * of tiles (the critical path), and the work over the speeds while the workers start and end one
 * after another. Time O(p log p). */
HS_API hs_status hs_wavefront_bound(int64_t rows, int32_t cols, int32_t p,
                                    const double *cycle_times, int64_t reach, const int *cancel,
                                    double *bound);

/* Certificate of an owner map: hs_wavefront_makespan, with hs_wavefront_bound as the bound. */
HS_API hs_status hs_wavefront_certificate(int64_t rows, int32_t cols, int32_t p,
                                          const double *cycle_times, const int32_t *owner,
                                          int64_t reach, int32_t order, const int *cancel,
                                          hs_certificate *certificate);

/* Allocates columns as in the 2001 paper, section 2.3: panels of `period` columns, divided by
 * hs_distribute; within a panel the workers stand by ascending time for a row. The columns left
 * over are the first ones of a panel, or are distributed anew, whichever is better.
 *   period         >= 1, or 0: the best of 1 .. cols, the longest of equals
 *   owner          [cols] out
 *   chosen         out: the period
 *   redistributed  out: 1 if the columns left over are distributed anew
 * If period is 0, periods are simulated by ascending lower bound until no later one can be better,
 * each up to the best makespan known: at worst O(rows * cols * p log(cols)), in practice few
 * simulations and O(cols * (p log p + log(cols))). */
HS_API hs_status hs_wavefront_panels(int64_t rows, int32_t cols, int32_t p,
                                     const double *cycle_times, int32_t period, int64_t reach,
                                     int32_t order, const int *cancel, int32_t *owner,
                                     int32_t *chosen, int32_t *redistributed, double *makespan);

/* Allocates columns by a method, with its certificate.
 *   HS_WAVEFRONT_PANELS  hs_wavefront_panels
 *   HS_WAVEFRONT_CYCLIC  for comparison: the workers with finite cycle-times in turn
 *
 * Parameters
 *   period         see hs_wavefront_panels; not read by HS_WAVEFRONT_CYCLIC
 *   owner, chosen, redistributed  out: see hs_wavefront_panels. For HS_WAVEFRONT_CYCLIC the period is
 *                  the number of workers that can work
 *   certificate    out: the makespan and hs_wavefront_bound. The scope is "sorted panels of any
 *                  period, ties by index" if panels of all periods were tried
 * HS_ERROR_VALUE also if the makespan overflows; owner, chosen and redistributed are then
 * undefined. */
typedef enum hs_wavefront_method {
    HS_WAVEFRONT_PANELS = 0,
    HS_WAVEFRONT_CYCLIC = 1
} hs_wavefront_method;
HS_API hs_status hs_wavefront_best(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                                   hs_wavefront_method method, int32_t period, int64_t reach,
                                   int32_t order, const int *cancel, int32_t *owner,
                                   int32_t *chosen, int32_t *redistributed,
                                   hs_certificate *certificate);

HS_C_END
#endif
