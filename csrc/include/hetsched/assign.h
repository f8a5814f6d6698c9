/* Assignment: rows to columns, and tasks and divisible loads that a master hands out. */
#ifndef HETSCHED_ASSIGN_H
#define HETSCHED_ASSIGN_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* Solves the linear assignment problem: gives each row a column of its own, or each column a row if
 * there are fewer columns, at the least (or largest) total cost.
 *   costs       row i at costs[i * row_stride], cols entries. Infinity (maximise: minus infinity):
 *               this pair is not allowed. All other costs are at most 2^990 in magnitude, for int64
 *               2^58; no NaN
 *   maximise    0 or 1
 *   col_of_row  [rows] out: -1 for a row without a column
 *   row_prices  [rows] out: with col_prices a proof of optimality
 *   col_prices  [cols] out
 * The prices satisfy cost[i][j] - row_prices[i] - col_prices[j] >= 0 as real numbers (<= 0 if
 * maximised), with equality up to rounding for the chosen pairs. On the longer side prices are <= 0
 * (>= 0), and 0 for unassigned rows or columns. So no assignment costs less (more) than the sum of
 * all prices.
 *
 * Shortest augmenting paths, Jonker and Volgenant, Computing 38 (1987), on whole rows. Time O(rows
 * * cols * min(rows, cols)), memory O(rows + cols) and, if rows > cols or maximised, a copy of the
 * costs. HS_ERROR_INFEASIBLE if no assignment is allowed. */
HS_API hs_status hs_assign(int32_t rows, int32_t cols, const double *costs, ptrdiff_t row_stride,
                           int maximise, const int *cancel, int32_t *col_of_row, double *row_prices,
                           double *col_prices);
HS_API hs_status hs_assign_int64(int32_t rows, int32_t cols, const int64_t *costs,
                                 ptrdiff_t row_stride, int maximise, const int *cancel,
                                 int32_t *col_of_row, int64_t *row_prices, int64_t *col_prices);

/* Counts the tasks that each worker can do within a time bound if a master hands them out over one
 * bus, 2001 paper, section 4. The worker of send slot j = 1, 2, .. has its message at time j send;
 * the worker of receive slot k starts to answer at bound - k receive. Exact for the doubles given.
 *   bound          > 0, finite
 *   cycle_times    [p] time per task, > 0, finite, at least bound / 2^53
 *   send           time of a message to a worker, 0 .. bound
 *   receive        time of a message back, 0 .. bound
 *   receive_slots  [p] >= 0, or NULL for no messages back
 *   counts         [p * slots] out: the largest number of tasks of each worker in each send slot. A
 *                  negative number says how many are missing; it is not below -2^53
 * Time O(p slots).
 *
 * The number of tasks that a plan does within the bound is maximised. The certificate of such a
 * plan is hs_certificate_of("tasks", HS_MAXIMISED, ..) with an upper bound on this number. If all
 * messages are equal, the matching of workers and slots with the largest sum of counts, by
 * hs_assign_int64, is the optimum; hs_task_links says whether its orders are optimal. */
HS_API hs_status hs_task_counts(double bound, int32_t p, const double *cycle_times, double send,
                                double receive, int32_t slots, const int32_t *receive_slots,
                                const int *cancel, int64_t *counts);

/* Finds for each worker the last send slot of 1 .. slots in which it can do counts[i] >= 0 tasks, 0
 * if there is none; send > 0. Time O(p).
 *   deadlines  [p] out */
HS_API hs_status hs_task_deadlines(double bound, int32_t p, const double *cycle_times, double send,
                                   int32_t slots, const int64_t *counts, const int *cancel,
                                   int32_t *deadlines);

/* Tasks for workers that have links of their own. All messages out come before all answers:
 * swapping an answer with a message out right after it delays no task. Exact: times are taken as
 * integers of 128 bits, and a message is rounded up by less than 2^-119 of the bound. Common
 * parameters:
 *   bound        > 0, finite
 *   cycle_times  [p] time per task, > 0, finite, at least bound / 2^53; for hs_task_links the sum
 *                of all bound / cycle_times is less than 2^62
 *   sends        [p] time of the message to each worker, >= 0, finite
 *   receives     [p] time of the message back, >= 0, finite; NULL for none
 * Source: the 2001 paper, section 4, with a time per link. */

/* Counts the tasks of workers that are served, and answer, in given orders.
 *   q              number of workers served, 0 <= q <= p
 *   send_order     [q] workers in the order of the messages out
 *   receive_order  [q] the same workers in the order of the answers; read only if receives is given
 *   counts         [p] out: 0 for workers that are not served
 * HS_ERROR_INFEASIBLE if the messages alone take longer than the bound. Time and memory O(p). */
HS_API hs_status hs_task_orders(double bound, int32_t p, const double *cycle_times,
                                const double *sends, const double *receives, int32_t q,
                                const int32_t *send_order, const int32_t *receive_order,
                                int64_t *counts);

/* Finds orders in which the workers do as many tasks as possible. Without receives and for p <=
 * HS_TASK_LINKS_SENT: dynamic programming over sets, O(2^p p). With receives and for p <=
 * HS_TASK_LINKS_BOTH: branch and bound over the order of the answers, with the same dynamic
 * programming inside, O(p! 2^p p) at worst. Otherwise: a local search in which workers join, leave
 * and move within the orders, with random restarts.
 *   work           effort of the search, in workers looked at; about 1e8 per second
 *   enrolled       out: q, the number of workers served
 *   send_order     [p] out: q entries are written
 *   receive_order  [p] out: q entries are written, also without receives
 *   optimal        out: 1 if no orders are better */
enum { HS_TASK_LINKS_SENT = 18, HS_TASK_LINKS_BOTH = 8 };
HS_API hs_status hs_task_links(double bound, int32_t p, const double *cycle_times,
                               const double *sends, const double *receives, int64_t work,
                               uint64_t seed, const int *cancel, int32_t *enrolled,
                               int32_t *send_order, int32_t *receive_order, int *optimal);

/* Computes weights for an upper bound: the largest number of tasks that a worker can do as the j-th
 * that is served and, counted from the end, the k-th that answers, as if the j - 1 workers served
 * before it had the shortest messages out of all other workers, and the k - 1 workers that answer
 * after it the shortest answers. If all messages are equal, the number is exact.
 *   depth    the k are 1 .. depth, at most p
 *   weights  [p * p * depth] out, worker by worker, then by j
 * Time O(p^2 depth), memory O(p). */
HS_API hs_status hs_task_positions(double bound, int32_t p, const double *cycle_times,
                                   const double *sends, const double *receives, int32_t depth,
                                   const int *cancel, int64_t *weights);

/* Solves the axial assignment problem in three indices: gives each of p rows a column and a tube of
 * its own at the largest total weight. The problem is NP-hard in general. Dynamic programming over
 * pairs of sets: time O(4^p p^1.5), memory O(4^p).
 *   p        1 .. HS_ASSIGN_AXIAL_MOST
 *   weights  [p * p * p] weight of row i, column j, tube k at (i * p + j) * p + k; 0 .. 2^58
 *   columns  [p] out
 *   tubes    [p] out
 *   total    out */
enum { HS_ASSIGN_AXIAL_MOST = 12 };
HS_API hs_status hs_assign_axial(int32_t p, const int64_t *weights, const int *cancel,
                                 int32_t *columns, int32_t *tubes, int64_t *total);

/* Workers that a master reaches over one bus, one message at a time. The functions below take any
 * messages, and decide whether they are equal for all workers.
 *   p            >= 1
 *   cycle_times  [p] time per task, > 0; infinite for a worker that does nothing; at least one finite
 *   sends        [p] time of the message to each worker, >= 0, finite; NULL for none
 *   receives     [p] time of the message back from each worker, >= 0, finite; NULL for none
 *   send_stride, receive_stride  read by hs_max_tasks_batch only */
typedef struct hs_task_workers {
    int32_t p;
    const double *cycle_times, *sends, *receives;
    ptrdiff_t send_stride, receive_stride;
} hs_task_workers;

/* Methods. The first three can be asked for; the others say how the best plan was found.
 *   HS_TASKS_BEST       all that follow, as the messages need them
 *   HS_TASKS_PAPER      equal messages only: two matchings, with half of the time each
 *   HS_TASKS_FASTEST    the fastest workers first
 *   HS_TASKS_FLOOR      no messages: each worker does what fits
 *   HS_TASKS_DEADLINES  earliest deadline first
 *   HS_TASKS_MATCHING   a matching of workers and send slots
 *   HS_TASKS_PRICES     prices on the slots of the answers
 *   HS_TASKS_EXACT      dynamic programming, over all orders
 *   HS_TASKS_SEARCH     local search
 * BEST also stands for the paper's matchings with several splits of the time, improved in turn. */
typedef enum hs_task_method {
    HS_TASKS_BEST = 0,
    HS_TASKS_PAPER = 1,
    HS_TASKS_FASTEST = 2,
    HS_TASKS_FLOOR = 3,
    HS_TASKS_DEADLINES = 4,
    HS_TASKS_MATCHING = 5,
    HS_TASKS_PRICES = 6,
    HS_TASKS_EXACT = 7,
    HS_TASKS_SEARCH = 8
} hs_task_method;

/* A plan. The caller sets the pointers.
 *   counts         [p] out: tasks of each worker
 *   send_order     [p] out: the `served` workers with tasks, in the order of the messages to them
 *   receive_order  [p] out: the same workers in the order of the answers
 *   served         out: the number of workers with tasks
 *   answering      out: the entries of receive_order that count: `served`, or 0 without answers
 *   method         out: the hs_task_method that found the plan
 *   tasks          out: the sum of the counts
 *   bound          out, hs_max_tasks: no plan does more tasks in the given time
 *   makespan       out: when the last worker ends, if everything is as early as the orders allow,
 *                  rounded up, as in hs_task_end */
typedef struct hs_task_plan {
    int64_t *counts;
    int32_t *send_order, *receive_order;
    int32_t served, answering, method;
    int64_t tasks, bound;
    double makespan;
} hs_task_plan;

/* Finds the most tasks that can be done in time `bound`. Source: the 2001 paper, section 4.
 *   bound        > 0, finite; at most 2^53 times each cycle-time, and the sum of its quotients is
 *                below 2^62
 *   method       HS_TASKS_BEST, HS_TASKS_PAPER or HS_TASKS_FASTEST
 *   effort       of the search for different messages and of prices; NULL for the default
 *   certificate  out: "tasks", maximised. It is optimal if plan.tasks == plan.bound; a bound above
 *                2^53 is rounded up
 *
 * Equal messages in one direction: the optimum, by earliest deadline first in O(p log p) if every
 * cycle-time is at least (p - 1) messages, else by a matching in O(p^3). In both directions: the
 * optimum for p <= HS_ASSIGN_AXIAL_MOST; for more workers the paper's matchings, improved in turn,
 * and up to 128 workers prices on the slots, which give the bound. Different messages: see
 * hs_task_links; bounds by matchings, prices and fractional tasks. */
HS_API hs_status hs_max_tasks(const hs_task_workers *workers, double bound, int32_t method,
                              const hs_effort *effort, const int *cancel, hs_task_plan *plan,
                              hs_certificate *certificate);

/* Does the same for many platforms with the same number of workers.
 *   workers  of the first platform. cycle_times: [rows * p]; the messages of platform i are at sends
 *            + i send_stride and receives + i receive_stride, where a stride is p, or 0 for messages
 *            that are the same for all platforms
 *   tasks    [rows] out
 *   bounds   [rows] out: no plan does more tasks
 *   counts   [rows * p] out
 * An error of one platform is returned for the whole call; the outputs are then undefined. */
HS_API hs_status hs_max_tasks_batch(int64_t rows, const hs_task_workers *workers, double bound,
                                    int32_t method, const hs_effort *effort, const int *cancel,
                                    int64_t *tasks, int64_t *bounds, int64_t *counts);

/* Finds the least time in which `tasks` tasks can be done: a bisection over the doubles, with
 * hs_max_tasks by HS_TASKS_BEST. If that is exact, the makespan is the optimum, rounded up. The
 * bound of the certificate ("makespan", minimised) is the longest time that an upper bound on the
 * tasks rules out.
 *   tasks   0 .. 2^53; they take less than 2^52 times the least cycle-time without messages, and at
 *           most 2^53 times with messages, where no sum of times overflows
 *   effort  the seed of the searches; HS_ERROR_UNSUPPORTED for a limited time */
HS_API hs_status hs_min_time(const hs_task_workers *workers, int64_t tasks, const hs_effort *effort,
                             const int *cancel, hs_task_plan *plan, hs_certificate *certificate);

/* Computes the least double in which workers complete given counts in given orders: the exact end,
 * rounded up; infinite if that is out of range.
 *   served         number of workers with tasks, 0 .. p
 *   send_order     [served] workers in the order of the messages out
 *   receive_order  [served] the same workers in the order of the answers; read only if
 *                  workers->receives is given
 *   counts         [p] tasks of each worker, 0 .. 2^53
 * Time and memory O(p). */
HS_API hs_status hs_task_end(const hs_task_workers *workers, int32_t served,
                             const int32_t *send_order, const int32_t *receive_order,
                             const int64_t *counts, double *end);

/* A divisible load that is handed out over one bus, with results that come back; all messages out
 * come before all messages back. For given orders, shares and makespan are a linear program. Its
 * constraints: for each worker, the messages out up to its own, its work, and the messages back
 * from its own on fit into the makespan, and so do all messages together. Beaumont, Marchal,
 * Robert, HiPC 2005. Common parameters:
 *   cycle_times  [p] time per unit of load, > 0, finite
 *   sends        [p] time of the message out per unit of load, >= 0, finite
 *   receives     [p] time of the message back per unit of load, >= 0, finite; cycle_times, sends
 *                and receives of a worker have a finite sum */

/* Finds the best shares for given orders, or the best orders too. work = 0 keeps the given orders.
 * Otherwise, p <= 6 takes all pairs of orders, (p!)^2 programs, most of which are pruned by dual
 * prices; more workers take a local search by moves from the given orders, with random restarts.
 *   work           programs that may be solved in the search; p <= 6 takes as many as it needs
 *   enough         a lower bound at which the search ends; 0 for none
 *   send_order     [p] in and out, in the order of time; some workers may get no load
 *   receive_order  [p] in and out, in the order of time
 *   shares         [p] out, of a load of 1
 *   makespan       out, for a load of 1, if everything starts as early as the orders allow
 *   optimal        out: 1 if it is proven that no shares in any orders take less than makespan * (1
 *                  - 1e-12). The proof is either `enough` or, for each pair of orders, dual prices
 *                  (weak duality) that hold whatever the rounding errors were
 * The simplex method on p + 1 rows, in floating point; solutions are compared by loads that are
 * computed from the shares alone. Each program takes about O(p^3). Memory O(p^2). Scaling all times
 * by a power of two changes nothing else, except with denormal numbers. */
HS_API hs_status hs_divisible_orders(int32_t p, const double *cycle_times, const double *sends,
                                     const double *receives, int64_t work, uint64_t seed,
                                     double enough, const int *cancel, int32_t *send_order,
                                     int32_t *receive_order, double *shares, double *makespan,
                                     int *optimal);

/* A divisible load and its workers; infinite cycle-times and NULL for messages are allowed here.
 *   size         of the load, > 0, finite
 *   p            >= 1
 *   cycle_times  [p] infinite for a worker that does nothing; at least one finite
 *   sends        [p] NULL: messages out take no time
 *   receives     [p] NULL: no messages back */
typedef struct hs_divisible_load {
    double size;
    int32_t p;
    const double *cycle_times, *sends, *receives;
} hs_divisible_load;

/* Methods. BEST takes any orders. FIFO: the answers come back in the order of the messages out, the
 * cheapest links first, or last if an answer costs more than its message out. LIFO: in the opposite
 * order, and the workers with the least sum of both messages go out first. EXACT cannot be asked for: it says that BEST tried
 * all orders, of at most HS_DIVISIBLE_PROVEN workers. */
typedef enum hs_divisible_method {
    HS_DIVISIBLE_BEST = 0,
    HS_DIVISIBLE_FIFO = 1,
    HS_DIVISIBLE_LIFO = 2,
    HS_DIVISIBLE_EXACT = 3
} hs_divisible_method;
enum { HS_DIVISIBLE_PROVEN = 6 };

/* A plan. The caller sets the pointers.
 *   shares         [p] out: their sum is the size of the load
 *   send_order     [p] out: the `served` workers with a share, in the order of the messages out
 *   receive_order  [p] out: the same workers in the order of the answers
 *   served         out: the number of workers with a share
 *   answering      out: the entries of receive_order that count: `served`, or 0 without receives
 *   method         out: the method asked for, or HS_DIVISIBLE_EXACT
 *   makespan       out */
typedef struct hs_divisible_plan {
    double *shares;
    int32_t *send_order, *receive_order;
    int32_t served, answering, method;
    double makespan;
} hs_divisible_plan;

/* Divides a load such that the last answer is back as early as possible.
 *   method       HS_DIVISIBLE_BEST, HS_DIVISIBLE_FIFO or HS_DIVISIBLE_LIFO
 *   effort       of the search for more than HS_DIVISIBLE_PROVEN workers; NULL for the default
 *   certificate  out: "makespan", minimised. Its scope is "all orders" if no orders and no shares
 *                take less than makespan * (1 - 1e-12), else the kind of orders of the method. For
 *                FIFO it is "" if the answers are not the same multiple of all messages out: the
 *                order is then not proven to be the best one of its kind
 * HS_ERROR_VALUE also if the makespan, a share, or the time of a worker for a unit of load is beyond
 * the range of normal numbers. BEST begins with the better one of the other two methods and ends at
 * the bound of hs_divisible_bound; see hs_divisible_orders. */
HS_API hs_status hs_divisible_best(const hs_divisible_load *load, int32_t method,
                                   const hs_effort *effort, const int *cancel,
                                   hs_divisible_plan *plan, hs_certificate *certificate);

/* Computes a lower bound on the makespan of all plans for a load of 1, with all roundings accounted
 * for. It is the largest of four relaxations: only messages out wait for each other, or only
 * messages back (then the cheapest links first are optimal); the bus carries all messages, and no
 * worker does more than it would alone; each worker's constraint times its share, added up.
 * O(p^2). */
HS_API hs_status hs_divisible_bound(int32_t p, const double *cycle_times, const double *sends,
                                    const double *receives, const int *cancel, double *bound);

/* Certificate of a plan for a load of 1 that takes `makespan`, with hs_divisible_bound as the
 * bound. */
HS_API hs_status hs_divisible_certificate(int32_t p, const double *cycle_times, const double *sends,
                                          const double *receives, double makespan,
                                          const int *cancel, hs_certificate *certificate);

HS_C_END
#endif
