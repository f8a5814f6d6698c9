/* Assignment: rows to columns, tasks and loads that a master hands out. */
#ifndef HETSCHED_ASSIGN_H
#define HETSCHED_ASSIGN_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* Gives each row a column of its own, or each column a row where those are fewer, at the least (or
 * largest) total cost.
 *   costs       row i at costs[i * row_stride], cols entries. Infinite (maximise: minus infinite):
 *               not allowed. The others at most 2^990, for int64 2^58, in magnitude; no NaN
 *   maximise    0 or 1
 *   col_of_row  [rows] out: -1 for a row without a column
 *   row_prices, col_prices  [rows], [cols] out: a proof. cost[i][j] - row_prices[i] - col_prices[j]
 *               >= 0 as real numbers (<= 0 if maximised), 0 for the chosen pairs up to rounding; on
 *               the longer side prices are <= 0 (>= 0), 0 for what is left out. So no assignment
 *               costs less (more) than the sum of all prices.
 * Shortest augmenting paths, Jonker and Volgenant, Computing 38 (1987), on whole rows. Time O(rows
 * * cols * min(rows, cols)), memory O(rows + cols) and, if rows > cols or maximised, a copy of the
 * costs. HS_ERROR_INFEASIBLE if no assignment is allowed. */
HS_API hs_status hs_assign(int32_t rows, int32_t cols, const double *costs, ptrdiff_t row_stride,
                           int maximise, const int *cancel, int32_t *col_of_row, double *row_prices,
                           double *col_prices);
HS_API hs_status hs_assign_int64(int32_t rows, int32_t cols, const int64_t *costs,
                                 ptrdiff_t row_stride, int maximise, const int *cancel,
                                 int32_t *col_of_row, int64_t *row_prices, int64_t *col_prices);

/* Tasks that a master hands out over one bus, 2001 paper, section 4. How many a plan does in a time
 * is maximised: its certificate is hs_certificate_of("tasks", HS_MAXIMISED, ..) with a bound on
 * them. Where all messages are equal, the matching of slaves and slots with the largest sum of
 * hs_task_counts, by hs_assign_int64, is the optimum; hs_task_links says whether its orders are.
 *
 * hs_task_counts: the slave of send slot j = 1, 2, .. has its message at time
 * j send, and that of receive slot k starts to answer at bound - k receive. Exact for the doubles
 * given.
 *   bound          > 0, finite;  send, receive  0 .. bound
 *   cycle_times    [p] time per task, > 0, finite, at least bound / 2^53
 *   receive_slots  [p] >= 0, or NULL for no messages back
 *   counts         [p * slots] out: the most tasks of each slave in each send slot. It may be
 *                  negative: what is missing; not below -2^53
 * Time O(p slots). */
HS_API hs_status hs_task_counts(double bound, int32_t p, const double *cycle_times, double send,
                                double receive, int32_t slots, const int32_t *receive_slots,
                                const int *cancel, int64_t *counts);

/* The last send slot of 1 .. slots in which each slave can do counts[i] >= 0 tasks, 0 if none; send
 * > 0. Time O(p).
 *   deadlines  [p] out */
HS_API hs_status hs_task_deadlines(double bound, int32_t p, const double *cycle_times, double send,
                                   int32_t slots, const int64_t *counts, const int *cancel,
                                   int32_t *deadlines);

/* The same where slaves have links of their own. All messages out come first, all answers last:
 * swapping an answer with a message out right after it delays no task. Exact: times are taken as
 * integers of 128 bits; a message is rounded up to a multiple of 2^-120 of the bound. Common
 * parameters
 *   bound          > 0, finite
 *   cycle_times    [p] time per task, > 0, finite, at least bound / 2^53
 *   sends          [p] time of the message to each slave, >= 0, finite
 *   receives       [p] time of the message back, >= 0, finite; NULL for none
 * Source: the 2001 paper, section 4, with a time per link. */

/* The tasks of slaves that are served, and answer, in given orders.
 *   send_order, receive_order  [q] of the same slaves, in the order of time, 0 <= q <= p; the
 *                              latter is read with receives only
 *   counts                     [p] out: 0 for the others
 * HS_ERROR_INFEASIBLE if the messages alone last longer than the bound. Time and memory O(p). */
HS_API hs_status hs_task_orders(double bound, int32_t p, const double *cycle_times,
                                const double *sends, const double *receives, int32_t q,
                                const int32_t *send_order, const int32_t *receive_order,
                                int64_t *counts);

/* Orders in which the slaves do as many tasks as possible. Without receives and for p <= 18 by
 * dynamic programming over sets, O(2^p p); with them and for p <= 8 by branch and bound over the
 * order of the answers with the same inside, O(p! 2^p p) at worst. Otherwise a local search: slaves
 * join, leave and move within the orders, with random restarts.
 *   work           of the search, in slaves looked at; some 1e8 in a second
 *   enrolled       out: q, the slaves served
 *   send_order, receive_order  [p] out: q entries are written, also without receives
 *   optimal        out: 1 if no orders are better */
HS_API hs_status hs_task_links(double bound, int32_t p, const double *cycle_times,
                               const double *sends, const double *receives, int64_t work,
                               uint64_t seed, const int *cancel, int32_t *enrolled,
                               int32_t *send_order, int32_t *receive_order, int *optimal);

/* For an upper bound: the most tasks that a slave can do as the j-th that is served and, from the
 * end, the k-th that answers, when those before it have the shortest messages of all. What it is
 * where all messages are equal.
 *   depth    the k are 1 .. depth, at most p
 *   weights  [p * p * depth] out, slave by slave, then by j
 * Time O(p^2 depth), memory O(p). */
HS_API hs_status hs_task_positions(double bound, int32_t p, const double *cycle_times,
                                   const double *sends, const double *receives, int32_t depth,
                                   const int *cancel, int64_t *weights);

/* Gives each of p rows a column and a tube of its own at the largest total weight: the axial
 * assignment problem in three indices, NP-hard in general. Dynamic programming over pairs of sets:
 * time O(4^p p^1.5), memory O(4^p).
 *   p               1 .. 12
 *   weights         [p * p * p] of row i, column j, tube k at (i * p + j) * p + k; 0 .. 2^58
 *   columns, tubes  [p] out
 *   total           out */
HS_API hs_status hs_assign_axial(int32_t p, const int64_t *weights, const int *cancel,
                                 int32_t *columns, int32_t *tubes, int64_t *total);

/* A load that can be divided at will, handed out over one bus, with results that come back: all
 * messages out come first, all back last. For given orders shares and makespan are a linear
 * program: for each worker, the messages out up to its own, its work and the messages back from its
 * own on fit into the makespan, and so do all messages. Beaumont, Marchal, Robert, HiPC 2005.
 * Common parameters
 *   cycle_times      [p] time per unit of load, > 0, finite
 *   sends, receives  [p] time of the messages per unit of load, >= 0, finite; together less than
 *                    infinity */

/* The shares that are best for given orders, and the orders themselves: work = 0 keeps those given;
 * otherwise all pairs of orders for p <= 6, which are (p!)^2 programs, of which prices spare most,
 * and for more workers a search by moves from those given, with random restarts.
 *   work                       programs that may be solved in the search; p <= 6 takes as many as
 *                              it needs
 *   enough                     a lower bound at which the search ends; 0 for none
 *   send_order, receive_order  [p] in and out, in the order of time; workers may have nothing to do
 *   shares                     [p] out, of a load of 1
 *   makespan                   out, for a load of 1, when everything starts as early as the orders
 *                              allow
 *   optimal                    out: 1 if it is proven that no shares in any orders take less than
 *                              makespan * (1 - 1e-12): for each pair of orders by prices (weak
 *                              duality) that hold whatever the rounding was, or by `enough`
 * The simplex method on p + 1 rows, in floating point; what is compared are loads computed from the
 * shares alone. Each program takes about O(p^3). Memory O(p^2). Scaling all times by a power of two
 * changes nothing else, short of denormal numbers. */
HS_API hs_status hs_divisible_orders(int32_t p, const double *cycle_times, const double *sends,
                                     const double *receives, int64_t work, uint64_t seed,
                                     double enough, const int *cancel, int32_t *send_order,
                                     int32_t *receive_order, double *shares, double *makespan,
                                     int *optimal);

/* No plan for a load of 1 takes less, with all roundings counted. The largest of four relaxations:
 * messages back, or messages out, wait for nobody (then the cheapest links first are optimal); the
 * bus carries all messages, and no worker does more than it would alone; each worker's constraint
 * times its share, added up. O(p^2). */
HS_API hs_status hs_divisible_bound(int32_t p, const double *cycle_times, const double *sends,
                                    const double *receives, const int *cancel, double *bound);

/* What a plan for a load of 1 is worth that takes `makespan`: with hs_divisible_bound. */
HS_API hs_status hs_divisible_certificate(int32_t p, const double *cycle_times, const double *sends,
                                          const double *receives, double makespan,
                                          const int *cancel, hs_certificate *certificate);

HS_C_END
#endif
