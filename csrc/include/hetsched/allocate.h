/* Allocation in one dimension: independent chunks, columns of LU, wavefronts. */
#ifndef HETSCHED_ALLOCATE_H
#define HETSCHED_ALLOCATE_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* Optimal counts of n equal, independent chunks: minimises max_i counts[i] * cycle_times[i] with
 * sum(counts) == n.
 * 2001 paper, section 2.2, Algorithm 2; ties to the lowest index. The comparisons are exact for the
 * doubles given,
 * so the result is optimal, not nearly so. An infinite cycle-time gets nothing.
 *   n            chunks, 0 <= n <= 2^53
 *   cycle_times  [p] time per chunk, > 0, not NaN, at least one finite
 *   cancel       NULL, or what makes it end with HS_ERROR_CANCELLED: hetsched.h says how, for all
 *                planners
 *   counts       [p] out
 *   makespan     out, may be NULL
 * Time O(p log p), independent of n; memory O(p). */
HS_API hs_status hs_distribute(int64_t n, int32_t p, const double *cycle_times, const int *cancel,
                               int64_t *counts, double *makespan);

/* What any counts are worth: the makespan, and that of hs_distribute as the bound.
 *   counts  [p] >= 0, their sum is n; none for an infinite cycle-time
 * Time O(p log p), memory O(p). */
HS_API hs_status hs_distribute_certificate(int64_t n, int32_t p, const double *cycle_times,
                                           const int64_t *counts, const int *cancel,
                                           hs_certificate *certificate);

/* hs_distribute for workers that are busy before they begin: minimises the largest starts[i] +
 * counts[i] * cycle_times[i] of those with counts[i] > 0, these times rounded to double; chunks
 * that end at one time, as far as doubles go, go to the lowest index.
 *   starts  [p] >= 0, finite
 * Time O(p) for each of some 60 bisections, O(p log n) where starts swallow the chunks; no
 * memory. */
HS_API hs_status hs_distribute_after(int64_t n, int32_t p, const double *cycle_times,
                                     const double *starts, const int *cancel, int64_t *counts,
                                     double *makespan);

/* hs_distribute for each row of a stack. Memory O(p), whatever the number of rows.
 *   n            [rows] chunks of each row; rows >= 0
 *   cycle_times  [rows * p] row by row; at least one finite in each
 *   counts       [rows * p] out
 *   makespans    [rows] out, may be NULL
 * The certificate of a row is that of hs_distribute_certificate. */
HS_API hs_status hs_distribute_batch(int64_t rows, const int64_t *n, int32_t p,
                                     const double *cycle_times, const int *cancel, int64_t *counts,
                                     double *makespans);

/* Optimal counts where time is not proportional to the number of chunks: minimises max_i
 * times[i][counts[i]] with sum(counts) == n, exactly, for times of any shape (they need not
 * increase).
 *   n         chunks, 0 <= n <= 2^53
 *   times     [p * (n + 1)] row i holds the time of worker i for 0 .. n chunks, > 0, not NaN;
 *             infinite: not possible. The first entry of a row is not read: no chunks take no time.
 *   counts    [p] out. From the last worker to the first: the largest number that takes less than
 *             the makespan and leaves the rest feasible, else the largest that takes just the
 *             makespan. So ties go to the lowest index.
 *   makespan  out, may be NULL
 * Bisection over the times; the sums that the workers can reach are bitsets. Time O(p n log(p n))
 * plus, for each of the O(log(p n)) makespans tried and each worker, n / 64 times the number of
 * runs of possible counts; memory O(p n) bits. HS_ERROR_INFEASIBLE if no possible counts sum to
 * n. */
HS_API hs_status hs_distribute_profile(int64_t n, int32_t p, const double *times, const int *cancel,
                                       int64_t *counts, double *makespan);

/* What any counts are worth with such times: the makespan, and that of hs_distribute_profile as the
 * bound.
 *   counts  [p] >= 0, their sum is n; only possible ones
 * Time and memory as that. */
HS_API hs_status hs_profile_certificate(int64_t n, int32_t p, const double *times,
                                        const int64_t *counts, const int *cancel,
                                        hs_certificate *certificate);

/* Deals n chunks one by one, each to the worker that would end it first: the counts of every prefix
 * are those of hs_distribute. 2001 paper, section 2.4.1 (the dynamic programming algorithm).
 * Reversed, the list of owners is the best order of block columns for LU.
 *   owner      [n] out: the worker of each chunk
 *   makespans  [n] out, may be NULL: makespans[k] is that of chunks 0 .. k
 * Time O(p + n log p), memory O(p). */
HS_API hs_status hs_distribute_prefix(int64_t n, int32_t p, const double *cycle_times,
                                      const int *cancel, int32_t *owner, double *makespans);

/* What any owners of n block columns are worth for LU and QR: the sum over the steps k of the
 * largest load among the blocks behind k; the bound lets every step deal them anew, which the
 * reversed list of hs_distribute_prefix attains.
 *   owner  [n] the worker of each block column; n >= 1; not one with an infinite cycle-time
 * Time O(p + n log p), memory O(n + p). */
HS_API hs_status hs_pattern_certificate(int64_t n, int32_t p, const double *cycle_times,
                                        const int32_t *owner, const int *cancel,
                                        hs_certificate *certificate);

/* What is factored: P A = L U with partial pivoting; A = L L^H, where a panel is the columns of L
 * from the diagonal on and only the lower triangle is worked on (m == n); A = Q R by blocks of
 * Householder reflectors. */
typedef enum hs_factor_kind { HS_LU = 0, HS_CHOLESKY = 1, HS_QR = 2 } hs_factor_kind;

/* Factorisation of an m x n matrix in blocks of columns, each of one worker: `block` columns each,
 * the last of the first min(m, n) and the last of all may be narrower. The first ones are panels:
 * panel k is factored, then it updates all blocks to its right. A worker goes through the panels in
 * order; of each it first updates the block that is the next panel, if that is its own, and factors
 * it (a look-ahead of one), then it updates its other blocks from the left. It waits for nothing
 * but the panel. m, n and block < 2^31, at most 46340 blocks.
 *
 * With owners in both directions (grid) rows are cut as columns are, and each block (i, j) has a
 * worker. The owner of the diagonal block factors all of its panel, rows of others included:
 * partial pivoting wants it in one memory. Update k of block column j, if not all of its rows are
 * one worker's, becomes several tasks of the same panel and block: a head by the owner of block (k,
 * j), which in LU is the triangular solve of that block and in QR what the update does to it and
 * the product V^H C, then a part by each worker with rows below, side by side. In Cholesky there is
 * no head, and the rows are those from block (j, j) on. The next head, or panel j, waits for all
 * parts. A worker does the heads of a step before its parts. Owners that are the same in all rows
 * of each column give the tasks of columns. */
typedef struct hs_factor_task {
    int32_t worker;
    int32_t panel, block; /* equal: the panel is factored; else the block is updated */
    double start, end;
    double work; /* multiply-adds */
} hs_factor_task;

HS_API hs_status hs_factor_blocks(int64_t m, int64_t n, int64_t block, int32_t *count);

/* What a step costs beside the updates, whose time is proportional to their multiply-adds.
 *   panels      [p] time per multiply-add of a panel, > 0; infinite only for a worker that owns no
 *               panel; NULL: that of an update
 *   links       [p * p] time per element from worker i to worker j at i * p + j, >= 0, finite;
 *               NULL: messages take no time. The owner of a panel sends it to each worker that has
 *               blocks to its right: one message after another, first to the owner of the next
 *               panel, then in turn after itself. A worker sends and receives at the same time, and
 *               while it computes, but takes one message at a time, in the order of the panels.
 *   late_panel  0: look-ahead, as above. 1: a worker factors the next panel after all its updates
 *               of the step */
typedef struct hs_factor_costs {
    const double *panels;
    const double *links;
    int32_t late_panel;
} hs_factor_costs;

typedef struct hs_factor_message {
    int32_t panel, sender, receiver;
    double start, end;
} hs_factor_message;

/* When every task starts and ends. 2001 paper, section 2.4 ("LU, QR and Cholesky alike"), with the
 * work that the steps really have, and panels that take time. In LU the triangular solve is part of
 * an update, and exchanges of rows take no time; in QR the factor of the block reflector is part of
 * the panel.
 *   kind           hs_factor_kind
 *   cycle_times    [p] time per multiply-add, > 0; infinite only for a worker that owns nothing
 *   owner          [hs_factor_blocks] the worker of each block column; grid 1: of each block, row
 *                  by row, [rows * columns] with hs_factor_blocks(n, m) rows and
 *                  hs_factor_blocks(m, n) columns
 *   grid           0 or 1
 *   costs          NULL: panels take as long as updates, messages no time, look-ahead; no links
 *                  with grid
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

/* What no owners can beat.
 *   kind         hs_factor_kind
 *   panel_times  [p] time per multiply-add of a panel, > 0; infinite where a worker cannot factor
 *                one; NULL: as cycle_times
 *   grid         1: of owners in both directions, where only the head of an update is one worker's
 *   ideal        out, or NULL: the work divided perfectly over the workers
 *   bound        out: the larger of that and of the panels, each with the update of the next one,
 *                by the fastest worker at both
 * Time O(p (panels + log p)), memory O(p). */
HS_API hs_status hs_factor_bound(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                                 const double *cycle_times, const double *panel_times, int32_t grid,
                                 const int *cancel, double *ideal, double *bound);

/* What any owners are worth: the makespan of hs_factor_simulate, and hs_factor_bound. Time and
 * memory as both. */
HS_API hs_status hs_factor_certificate(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                                       const double *cycle_times, const int32_t *owner,
                                       int32_t grid, const hs_factor_costs *costs,
                                       const int *cancel, hs_certificate *certificate);

/* LU of n x n square blocks, each of one worker: step k updates the blocks (i, j) with i, j > k,
 * equal and independent. In all three functions n is 1 .. 46340 and
 *   cycle_times  [p] time to update a block, > 0, not NaN; an infinite one gets nothing
 *   owner        [n * n] the worker of each block, row by row
 *
 * hs_lu_grid_deal deals them by a floorplan of straight cuts (HS_BESIDE, HS_ABOVE): the columns of
 * a box to the parts beside each other, or its rows to those above each other, from the last one
 * back, each to the part that would end it first if its workers divided the work perfectly; then
 * the same within the parts. Parallel cuts next to each other are one such deal. With parts beside
 * each other only that is the reversed hs_distribute_prefix, with columns of workers what the 2001
 * paper's section 2.4 gives in both directions.
 *   plan   [length] the floorplan; workers that are not in it get nothing
 *   owner  out
 * HS_ERROR_VALUE if plan is no such floorplan. Time O(n^2 depth + (n log p) cuts), memory O(n^2 +
 * p). */
HS_API hs_status hs_lu_grid_deal(int32_t n, int32_t p, const double *cycle_times,
                                 const int32_t *plan, int32_t length, const int *cancel,
                                 int32_t *owner);

/* Loads and traffic of any owner map.
 *   loads     [n] out: of step k the largest number of updated blocks times cycle-time
 *   traffic   [n] out, may be NULL: blocks that are sent in step k. A worker receives each block of
 *             the panel, (i, k), and of the pivot row, (k, j), that it does not own and needs for
 *             an update; and the diagonal block, if it owns another one of either
 *   received  [p] out, may be NULL: of each worker in all steps
 * Time O(n^2 + n p), memory O(n + p). */
HS_API hs_status hs_lu_grid_evaluate(int32_t n, int32_t p, const double *cycle_times,
                                     const int32_t *owner, const int *cancel, double *loads,
                                     int64_t *traffic, int64_t *received);

/* The least loads of the single steps, each of them as if its (n - 1 - k)^2 blocks could be dealt
 * anew: hs_distribute.
 *   bounds  [n] out
 * Time O(n p log p). */
HS_API hs_status hs_lu_grid_bound(int32_t n, int32_t p, const double *cycle_times,
                                  const int *cancel, double *bounds);

/* What any owner map is worth: the sum of its loads, and that of the least loads. Time O(n^2 + n p
 * log p), memory O(n + p). */
HS_API hs_status hs_lu_grid_certificate(int32_t n, int32_t p, const double *cycle_times,
                                        const int32_t *owner, const int *cancel,
                                        hs_certificate *certificate);

/* Wavefronts: rows x cols equal tiles, whole columns of them dealt to workers. A tile comes after
 * the one above it, and after those of the column to the left down to `reach` rows below its own
 * (0: finite differences; 1: the mask of a forward sweep, transposed). A chunk is a run of
 * neighbouring columns of one owner; a worker does its chunks from the left, each of them
 *   HS_ROW_WISE     row by row, skewed by `reach` where that is not 0: the chunks to the right can
 *                   go on early
 *   HS_COLUMN_WISE  column by column
 * All three functions want rows * cols <= 2^53, reach >= 0, and
 *   cycle_times  [p] time per tile, > 0, not NaN, at least one finite; an infinite one gets
 * nothing */
typedef enum hs_wavefront_order { HS_ROW_WISE = 0, HS_COLUMN_WISE = 1 } hs_wavefront_order;

/* When every tile starts and ends if nobody waits longer than it must. 2001 paper, sections 2.1 and
 * 2.3.
 *   owner       [cols] the worker of each column
 *   makespan    out
 *   start, end  [rows * cols] out, row by row; or both NULL
 * Time O(rows * chunks + cols), with start and end O(rows * cols); memory O(rows + cols + p). */
HS_API hs_status hs_wavefront_makespan(int64_t rows, int32_t cols, int32_t p,
                                       const double *cycle_times, const int32_t *owner,
                                       int64_t reach, int32_t order, const int *cancel,
                                       double *makespan, double *start, double *end);

/* A lower bound on the makespan of every way to deal whole columns, in any order of the tiles: the
 * columns divided by hs_distribute, the longest chain of tiles, and the work over the speeds while
 * the workers start and end one after another. Time O(p log p). */
HS_API hs_status hs_wavefront_bound(int64_t rows, int32_t cols, int32_t p,
                                    const double *cycle_times, int64_t reach, const int *cancel,
                                    double *bound);

/* What any owners are worth: hs_wavefront_makespan and hs_wavefront_bound. */
HS_API hs_status hs_wavefront_certificate(int64_t rows, int32_t cols, int32_t p,
                                          const double *cycle_times, const int32_t *owner,
                                          int64_t reach, int32_t order, const int *cancel,
                                          hs_certificate *certificate);

/* The paper's allocation, section 2.3: panels of `period` columns, divided by hs_distribute, within
 * a panel the workers by ascending time for a row. The columns left over are the first ones of a
 * panel or are distributed anew, whichever is better.
 *   period         >= 1, or 0: the best of 1 .. cols, the longest of equals
 *   owner          [cols] out
 *   chosen         out: the period
 *   redistributed  out: 1 if the columns left over are distributed anew
 * For a search, periods are simulated by ascending lower bound until no later one can be better,
 * each up to the best makespan known: at worst O(rows * cols * p log(cols)), in practice few
 * simulations and O(cols * (p log p + log(cols))). */
HS_API hs_status hs_wavefront_panels(int64_t rows, int32_t cols, int32_t p,
                                     const double *cycle_times, int32_t period, int64_t reach,
                                     int32_t order, const int *cancel, int32_t *owner,
                                     int32_t *chosen, int32_t *redistributed, double *makespan);

HS_C_END
#endif
