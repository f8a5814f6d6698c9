/* Products on a star: a master sends blocks over one port to workers with limited memory. */
#ifndef HETSCHED_STAR_H
#define HETSCHED_STAR_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* C (r x s blocks) += A (r x t) B (t x s) on workers with limited memory around a master with one
 * port (2008 paper). A chunk is a rectangle of height x width blocks of C that one worker computes.
 * One operand of the chunk stays on the worker; the other two pass through it:
 *   HS_STAR_HOLD_C  the chunk of C is loaded (LOAD); then t layers pass (PANEL), each a column of A
 *                   and a row of B, height + width blocks; then the chunk is sent back (RESULT)
 *   HS_STAR_HOLD_A  height * t blocks of A are loaded; `width` layers pass, each a column of C and
 *                   a column of B, height + t blocks; each column of C is sent back, height blocks
 *   HS_STAR_HOLD_B  the same by rows: each layer has width + t blocks, each row of C width blocks
 * A panel is `depth` layers; the worker has buffers for two panels, or for one. If C is held, an
 * operand may instead arrive block by block (section 3, maximum re-use: 1 + width + height * width
 * blocks of memory):
 *   HS_STAR_STREAM_A  the row of B of each layer, width blocks, stays until the layer is computed,
 *                     and the blocks of A's column arrive one at a time. A panel is one block of A,
 *                     which updates one row of the chunk; the first panel of a layer brings the row
 *                     of B along. Panel k belongs to layer k / height and row k % height. One
 *                     buffer.
 *   HS_STAR_STREAM_B  the same by rows: the column of A stays, and the blocks of B arrive; panel k
 *                     belongs to layer k / width and column k % width
 * The port carries one message at a time. A message starts when the port is free, but not before
 *   HS_STAR_LOAD    the worker's last result has left; ahead: its last load or result has been
 *                   transferred
 *   HS_STAR_PANEL   its buffer is free. With two buffers, the panel two before must be computed,
 *                   with one buffer the panel before; if panels have results, that panel's result
 *                   must have left. For the first panels, the load must have arrived
 *   HS_STAR_RESULT  its panel is computed; if C is held, the last panel of the chunk
 * The messages of a worker have a fixed order: panels with results go first as long as buffers are
 * free. A worker computes a panel when it has arrived and the panel before is computed, in (updates
 * of the panel) * cycle_time; it receives meanwhile.
 *
 * If a worker holds C for two consecutive chunks, the second chunk may be `ahead` (end of section
 * 4): it is loaded before the result of the first has left, and computed without a pause. After the
 * last panel of the first chunk come the load of the second chunk and as many of its panels as it
 * has buffers, then the result of the first chunk, then the other panels. The panels before its
 * first ones are panels of the first chunk; if that chunk has one buffer, all of them must be
 * computed. In a sequence of chunks that are each ahead of the one before, the memory must hold the
 * C of the two neighbouring chunks that need most, and the panels of the one chunk that needs most.
 *   r, s, t      blocks, 1 .. 2^31 - 1
 *   cycle_times  [p] time per block update, > 0, at most HS_STAR_MOST
 *   link_costs   [p] time per block, >= 0, at most HS_STAR_MOST
 *   memory       [p] buffers of one block, 0 .. 2^53 */
#define HS_STAR_MOST 1e200
typedef struct hs_star {
    int64_t r, s, t;
    int32_t p;
    const double *cycle_times, *link_costs;
    const int64_t *memory;
} hs_star;

typedef enum hs_star_held {
    HS_STAR_HOLD_C = 0,
    HS_STAR_HOLD_A = 1,
    HS_STAR_HOLD_B = 2
} hs_star_held;
/* Instead of a number of buffers; C is held, and the depth is 1. */
enum { HS_STAR_STREAM_A = 0, HS_STAR_STREAM_B = -1 };

typedef struct hs_star_chunk {
    int32_t worker, held, buffers; /* hs_star_held; 1 or 2 panels, or HS_STAR_STREAM_x */
    int64_t row, col, height, width;
    int64_t depth; /* of a panel, >= 1 */
    /* 1: C is held, and is loaded before the worker's previous result has left; no effect on the
     * worker's first chunk. 0: not ahead */
    int32_t ahead;
} hs_star_chunk;

typedef enum hs_star_kind { HS_STAR_LOAD = 0, HS_STAR_PANEL = 1, HS_STAR_RESULT = 2 } hs_star_kind;

typedef struct hs_star_message {
    int32_t worker, kind; /* hs_star_kind */
    int64_t chunk;        /* index */
    /* of a panel and its result: the first layer, or k of a streamed panel; else 0 */
    int64_t depth;
    double start, end;                 /* on the port */
    double compute_start, compute_end; /* of a panel; for other messages both are `end` */
} hs_star_message;

/* The traffic of a chunk: what its messages carry. Of a streamed chunk each block that passes is a
 * layer. */
typedef struct hs_star_traffic {
    int64_t held;    /* blocks that stay on the worker: the blocks of the load */
    int64_t in, out; /* blocks per layer to the worker, and from it (0: C is held) */
    int64_t length;  /* number of layers */
    int64_t work;    /* block updates per layer */
    /* blocks that come along with the first of each `every` layers, and stay for these layers */
    int64_t more, every;
} hs_star_traffic;

/* A message of pipelined chunks: a worker's first chunk, or one that is not ahead, and the chunks
 * after it that are each ahead of the one before. */
typedef struct hs_star_step {
    int64_t chunk; /* index among the pipelined chunks */
    int64_t depth; /* see hs_star_message */
    /* number of panels of the pipelined chunks that must be computed before. 0 for a panel that
     * brings blocks of C: it waits for the result that leaves its buffer */
    int64_t after;
    int32_t kind; /* hs_star_kind */
} hs_star_step;

/* The account of a star's traffic. In all of these functions:
 *   t       as in hs_star
 *   chunks  [count] 1 <= height, width < 2^31, depth >= 1; row and col are not read
 *
 * hs_star_chunk_traffic   the traffic of one chunk
 * hs_star_message_count   the number of messages of the chunks, which is the same in any order
 * hs_star_needs           needs: [p] out: blocks of memory that each worker needs for its chunks,
 *                         in this order; at most INT64_MAX
 * hs_star_chunk_steps     the messages of pipelined chunks, in the order of the model. C is held by
 *                         all of them, or there is only one. steps: [hs_star_message_count] out
 * hs_star_peaks           peaks: [p] out: largest number of blocks that each worker holds at a
 *                         time, by a log of hs_star_simulate. A block that is received counts from
 *                         the start of its message. One that is only read counts until it was used,
 *                         the other blocks until their result has been sent. At most INT64_MAX
 * Time O(count), O(p + count), and O(p + length) for the log. */
HS_API hs_status hs_star_chunk_traffic(int64_t t, const hs_star_chunk *chunk,
                                       hs_star_traffic *traffic);
HS_API hs_status hs_star_message_count(int64_t t, int64_t count, const hs_star_chunk *chunks,
                                       int64_t *messages);
HS_API hs_status hs_star_needs(int64_t t, int32_t p, int64_t count, const hs_star_chunk *chunks,
                               int64_t *needs);
HS_API hs_status hs_star_chunk_steps(int64_t t, int64_t count, const hs_star_chunk *chunks,
                                     hs_star_step *steps);
HS_API hs_status hs_star_peaks(int64_t t, int32_t p, int64_t count, const hs_star_chunk *chunks,
                               int64_t length, const hs_star_message *messages, int64_t *peaks);

/* Rules for the worker that the port serves next.
 *   HS_STAR_ROUND_ROBIN  the workers in turn, one message each; the port waits for the next worker
 *                        in turn
 *   HS_STAR_DEMAND       the worker that has been ready longest (or will be first), ties to the
 *                        lowest index
 *   HS_STAR_PANELS       a list of workers, one entry per panel (entries beyond a worker's panels
 *                        are skipped). C goes before the first panel of a chunk, a result before
 *                        the next C, the last results as they become ready
 *   HS_STAR_LISTED       a list of workers, one entry per message
 *   HS_STAR_STARVING     among the workers that can start now (or first), the one that runs out of
 *                        work first
 *   HS_STAR_LAGGING      among these, the worker that would end last if it never had to wait
 * With `eager`, results that are ready when the port becomes free are sent first (not with
 * HS_STAR_LISTED). */
typedef enum hs_star_order {
    HS_STAR_ROUND_ROBIN = 0,
    HS_STAR_DEMAND = 1,
    HS_STAR_PANELS = 2,
    HS_STAR_LISTED = 3,
    HS_STAR_STARVING = 4,
    HS_STAR_LAGGING = 5
} hs_star_order;

/* Simulates given chunks; each worker computes its chunks in the order of the array. The chunks
 * need not cover C, and overlaps are not checked.
 *   chunks    [count] HS_ERROR_VALUE unless the held operand and the panels of each chunk fit in
 *             the worker's memory, for a chunk that is ahead together with the chunk before it
 *   served    [length] for HS_STAR_PANELS and HS_STAR_LISTED; HS_ERROR_VALUE if messages remain, or
 *             with HS_STAR_LISTED if a worker has none left. HS_STAR_PANELS skips a worker without
 *             panels
 *   messages  [*message_count] out: the log of the port, as long as hs_star_message_count says; or
 *             NULL. Undefined on failure
 * Times are exact where doubles are. Time O(log p) per message, O(p) with HS_STAR_STARVING and
 * HS_STAR_LAGGING; memory O(p + count). */
HS_API hs_status hs_star_simulate(const hs_star *star, int64_t count, const hs_star_chunk *chunks,
                                  int32_t order, int64_t length, const int32_t *served,
                                  int32_t eager, const int *cancel, hs_star_message *messages,
                                  int64_t *message_count, double *makespan);

/* Layouts of square chunks, for hs_star_side.
 *   HS_STAR_DOUBLE  mu^2 + 4 mu <= memory: two panels of depth 1 (all rules but BMM)
 *   HS_STAR_SINGLE  1 + mu + mu^2 <= memory: A block by block (section 3), HS_STAR_STREAM_A
 *   HS_STAR_TOLEDO  3 side^2 <= memory: square blocks of A, B and C (BMM)
 *   HS_STAR_PAIR    2 mu^2 + 4 mu <= memory: two panels of depth 1, and one chunk ahead of the
 *                   other */
typedef enum hs_star_layout {
    HS_STAR_DOUBLE = 0,
    HS_STAR_SINGLE = 1,
    HS_STAR_TOLEDO = 2,
    HS_STAR_PAIR = 3
} hs_star_layout;
HS_API int64_t hs_star_side(int64_t memory, int32_t layout);

/* Methods of hs_star_best. The rules, HS_STAR_HOM to HS_STAR_OVERLAP, are the methods of
 * hs_star_plan: the seven algorithms of the 2008 paper, sections 4 to 6, the algorithm of its section 3, and the
 * variant at the end of section 4. By a rule, workers get full columns, at most mu at a time, in
 * chunks from top to bottom. */
typedef enum hs_star_method {
    /* the best of HS_STAR_SEARCH and of the rules that can be planned in about two seconds */
    HS_STAR_BEST = 0,
    /* the best virtual homogeneous platform for a memory size, in turn */
    HS_STAR_HOM = 1,
    /* the same, also for a link cost and a cycle-time */
    HS_STAR_HOMI = 2,
    /* incremental selection, the best of the eight variants, or the variant asked for */
    HS_STAR_HET = 3,
    HS_STAR_ORROML = 4, /* all workers in turn */
    HS_STAR_OMMOML = 5, /* min-min: the worker that would end the panel first */
    HS_STAR_ODDOML = 6, /* demand driven */
    HS_STAR_BMM = 7,    /* Toledo's blocks, demand driven */
    /* maximum re-use of section 3, there for one worker; here for all, demand driven like
     * HS_STAR_ODDOML */
    HS_STAR_REUSE = 8,
    /* HS_STAR_ODDOML with smaller chunks, HS_STAR_PAIR, each loaded ahead of the result of the
     * previous one */
    HS_STAR_OVERLAP = 9,
    HS_STAR_SEARCH = 10, /* hs_star_search */
    HS_STAR_EXACT = 11   /* hs_star_exact, for small instances */
} hs_star_method;

/* Variants of HS_STAR_HET, a sum of flags. Each message goes to the worker that maximises the work
 * per time. By default it is the work and the time of all messages so far; LOCAL: of this message
 * only. AHEAD: of the next two messages (look-ahead). FIRST_C: the time of a worker's first C
 * counts at its first message, the paper's rule; SPREAD_C: 2 mu^2 / t blocks count with each
 * message. HS_STAR_ALL: the best of the first eight, i.e. without HS_STAR_SPREAD_C. */
enum {
    HS_STAR_ALL = -1,
    HS_STAR_FIRST_C = 1,
    HS_STAR_AHEAD = 2,
    HS_STAR_LOCAL = 4,
    HS_STAR_SPREAD_C = 8
};

typedef struct hs_star_summary {
    double makespan;
    int64_t chunk_count, message_count;
    int32_t variant;    /* of HS_STAR_HET, else 0 */
    double variants[8]; /* makespans of the eight with HS_STAR_ALL; else 0 */
} hs_star_summary;

enum { HS_STAR_MESSAGES = 100000000 };

/* Makes a plan by one of the methods, and simulates it.
 *   method    hs_star_method, a rule: HS_STAR_HOM to HS_STAR_OVERLAP
 *   variant   for HS_STAR_HET; HS_STAR_FIRST_C and HS_STAR_SPREAD_C exclude each other. HS_STAR_ALL
 *             for other methods
 *   summary   out
 *   sides     [p] out: side of the chunks of each worker that the method may use, else 0
 *   columns   [p] out: columns of C of each worker
 *   chunks    out: [chunk_count], or NULL together with messages. A first call with NULL gives the
 *             counts; a second call for HS_STAR_HET takes an eighth of the time if it names the
 *             best variant. Undefined on failure
 *   messages  out: [message_count], or NULL together with chunks
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk, HS_ERROR_UNSUPPORTED if the plan has more than
 * HS_STAR_MESSAGES messages. Time as for hs_star_simulate; for HS_STAR_HET and HS_STAR_OMMOML O(p)
 * more per panel, O(p^2) with look-ahead; for HS_STAR_HOM O(p), for HS_STAR_HOMI O(p^3) estimates,
 * which are themselves simulated unless a bound excludes them. Memory O(p + panels). */
HS_API hs_status hs_star_plan(const hs_star *star, int32_t method, int32_t variant, int32_t eager,
                              const int *cancel, hs_star_summary *summary, int64_t *sides,
                              int64_t *columns, hs_star_chunk *chunks, hs_star_message *messages);

/* Finds the least makespan over panels of full columns, one chunk at a time. A panel of 1 .. mu
 * columns, mu = hs_star_side(memory, HS_STAR_DOUBLE), goes to a worker, which takes its rows from
 * top to bottom, min(mu, r) at a time. C is held, panels have depth 1, no chunk is ahead. All
 * orders of the port are considered, and results may leave at any time. The method searches layers
 * of states with dominance and bounds; it widens the layers until nothing is left out that could
 * matter. For small instances.
 *   effort       largest number of messages to try; HS_ERROR_UNSUPPORTED if it, or
 *                HS_STAR_EXACT_MESSAGES for a plan, do not suffice
 *   limit        > 0: only plans that end before this time are searched; INFINITY: all plans.
 *                HS_ERROR_INFEASIBLE if there is none, or no worker can hold a chunk (5 blocks)
 *   chunk_count  out
 *   chunks       out: [s * parts] at most, with parts = the largest ceil(r / mu) among the workers
 *                that can hold a chunk
 *   length       out
 *   served       out: [s * parts * (t + 2)] at most, for HS_STAR_LISTED
 *   makespan     out: at most 1 + 1e-12 times the least one
 * Time exponential in s and p; memory O(p) per message tried of a layer, and 12 bytes per message
 * tried. */
enum { HS_STAR_EXACT_MESSAGES = 1 << 20 };
HS_API hs_status hs_star_exact(const hs_star *star, int64_t effort, double limit, const int *cancel,
                               int64_t *chunk_count, hs_star_chunk *chunks, int64_t *length,
                               int32_t *served, double *makespan);

/* The share of a worker: how it goes through its columns of C. A plan by rows is a plan by columns
 * of C^T = B^T A^T: in the following, r and s, rows and columns, A and B then change places. */
typedef struct hs_star_share {
    int64_t columns; /* 0: the worker is not enrolled */
    /* number of parts into which the rows of C, and the worker's columns, are cut as evenly as
     * possible: its chunks */
    int64_t rows, panels;
    /* of the chunks; for streaming always HS_STAR_STREAM_A, which becomes HS_STAR_STREAM_B in a
     * plan by rows */
    int32_t held, buffers;
    /* 0 or 1, for all chunks but the first; 1 only if C is held */
    int32_t ahead;
} hs_star_share;

/* Cuts shares into chunks: left to right by worker, panel by panel, each from top to bottom; panels
 * of depth 1.
 *   shares  [p] columns sum to s, 1 <= rows <= r, 1 <= panels <= columns, and what a chunk needs
 *           fits, else HS_ERROR_VALUE
 *   count   out: number of chunks
 *   chunks  out: [count], or NULL for the count alone */
HS_API hs_status hs_star_cut(const hs_star *star, int32_t by_rows, const hs_star_share *shares,
                             int64_t *count, hs_star_chunk *chunks);

/* Searches shares and an order of the port, HS_STAR_DEMAND, _STARVING or _LAGGING, for a small
 * makespan. It chooses what each worker holds, whether chunks are loaded ahead, oblong chunks, and
 * rows or columns. The numbers of columns come first from a relaxation with fixed charges, then
 * from annealing on simulated makespans. Deterministic.
 *   effort    approximate number of messages to simulate (a sixty-fourth more for each worker). The
 *             same again is spent if streamed chunks may be tried, and half as much if chunks ahead
 *             may be. At least one plan is evaluated
 *   by_rows   out
 *   shares    [p] out; undefined after an error
 *   order     out
 *   makespan  out
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk (3 blocks), HS_ERROR_UNSUPPORTED if all plans
 * considered have more than about HS_STAR_MESSAGES messages. Time O(p) per message; memory O(p +
 * chunks). */
HS_API hs_status hs_star_search(const hs_star *star, int32_t eager, uint64_t seed, int64_t effort,
                                const int *cancel, int32_t *by_rows, hs_star_share *shares,
                                int32_t *order, double *makespan);

/* Lower bounds on the makespan.
 *   HS_STAR_WORK      for every plan: all updates over the sum of the speeds
 *   HS_STAR_TRAFFIC   for every plan: a worker that does X updates receives X / s blocks of A, X /
 *                     r of B and X / t of C, and sends the latter back; the updates are divided by
 *                     linear programming with the cycle-times
 *   HS_STAR_TRANSFER  for every plan: the same, and in addition a worker with m buffers receives at
 *                     least 2 X / sqrt(m) - 2 m blocks (Smith, Lowery, Langou, van de Geijn, 2019),
 *                     and sends X / t back
 *   HS_STAR_STEADY    for square chunks of the side given by `layout`: the bandwidth-centric
 *                     optimum, A and B only
 *   HS_STAR_STEADY_C  the same with C both ways
 *   HS_STAR_LOOMIS    for every plan: as HS_STAR_TRANSFER, with the bound of section 3, X sqrt(27 /
 *                     8m) - m blocks both ways: m messages of one block allow at most (2m / 3)^1.5
 *                     updates. It is the weaker bound if X is large, the stronger one if m is not
 *                     small against it
 *   bounds            [HS_STAR_BOUNDS] out; the two of HS_STAR_STEADY are infinite if no worker can
 *                     hold a chunk
 * Time O(p log p). */
enum {
    HS_STAR_WORK = 0,
    HS_STAR_TRAFFIC = 1,
    HS_STAR_TRANSFER = 2,
    HS_STAR_STEADY = 3,
    HS_STAR_STEADY_C = 4,
    HS_STAR_LOOMIS = 5,
    HS_STAR_BOUNDS = 6
};
HS_API hs_status hs_star_bounds(const hs_star *star, int32_t layout, const int *cancel,
                                double *bounds);

/* Certificate of a plan that takes `makespan`, as hs_star_plan or hs_star_search returns it, or
 * hs_star_simulate for chunks that cover C. The bound is the largest of those that hold for every
 * plan. HS_ERROR_VALUE for a makespan below it. */
HS_API hs_status hs_star_certificate(const hs_star *star, double makespan, const int *cancel,
                                     hs_certificate *certificate);

/* ---- plans by any method ---- */

/* Messages that a search tries, or the proof of HS_STAR_EXACT, unless the caller says otherwise. */
enum { HS_STAR_EFFORT = 10000000 };

/* How hs_star_best plans; {0} is the default.
 *   method    hs_star_method
 *   eager     1: results go back as soon as they are ready and the port is free; 0: just before the
 *             worker's next chunk. Only 0 for HS_STAR_EXACT, where they go when that is best
 *   single    1: HS_STAR_HET, which must be the method, tries only `variant`; 0: all eight
 *   variant   of HS_STAR_HET, see hs_star_plan; 0 unless `single` is 1
 *   messages  to be tried by a search or proof without a time limit; 0: HS_STAR_EFFORT */
typedef struct hs_star_options {
    int32_t method, eager, single, variant;
    int64_t messages;
} hs_star_options;

/* What hs_star_best decided; hs_star_write makes the chunks and messages of it. */
typedef struct hs_star_decision {
    int32_t method; /* the one that was best: never HS_STAR_BEST */
    int32_t eager;
    int32_t variant;        /* of HS_STAR_HET, else 0 */
    int32_t by_rows, order; /* of HS_STAR_SEARCH, see hs_star_search; else 0 */
    int64_t chunk_count, message_count;
    double makespan;
    double variants[8];            /* makespans of the eight, if HS_STAR_HET tried them; else 0 */
    double bounds[HS_STAR_BOUNDS]; /* of hs_star_bounds, with the layout of the method */
} hs_star_decision;

/* A worker's part of a decision. */
typedef struct hs_star_part {
    /* largest side of square chunks in its memory; 0: the method does not consider the worker */
    int64_t side;
    /* columns of C that its blocks are worth: whole columns, or the nearest integers that sum to s,
     * of which the largest fractions are rounded up */
    int64_t columns;
    int64_t updates;     /* block updates; they sum to r s t */
    hs_star_share share; /* of HS_STAR_SEARCH, else 0 */
} hs_star_part;

/* Plans by any method, and proves how good the plan is.
 *   options      or NULL
 *   effort       of the search or proof; with a time limit it is repeated with other seeds and more
 *                messages, from 2000, until the time is over
 *   decision     out
 *   parts        [p] out
 *   chunks       of HS_STAR_EXACT: [most_chunks of hs_star_exact_most] out; else not written, may
 *                be NULL
 *   served       of HS_STAR_EXACT: [most_messages of hs_star_exact_most] out: the worker of each
 *                message; else not written, may be NULL
 *   certificate  out: the bound is the largest of those that hold for every plan; scope "panels of
 *                full columns, one chunk at a time" for HS_STAR_EXACT
 * Ties go to the search, then to the first rule. HS_STAR_BEST leaves out HS_STAR_HET and
 * HS_STAR_HOMI if p^2 or p^3 times the messages are more than 4 * 10^8. HS_STAR_EXACT gives a
 * rule's plan by full columns if none in its scope is better.
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk, see hs_star_least_memory. HS_ERROR_UNSUPPORTED
 * if plans would have more than HS_STAR_MESSAGES messages, or there is no proof of HS_STAR_EXACT
 * within its effort. HS_ERROR_VALUE also if r s t is 2^63 or more. After an error, chunks and served
 * are undefined. Time as for hs_star_plan, hs_star_search and hs_star_exact; memory O(p) besides. */
HS_API hs_status hs_star_best(const hs_star *star, const hs_star_options *options,
                              const hs_effort *effort, const int *cancel,
                              hs_star_decision *decision, hs_star_part *parts,
                              hs_star_chunk *chunks, int32_t *served, hs_certificate *certificate);

/* Writes the plan of a decision: its chunks and the log of the port. The schedule is computed once;
 * nothing is decided again.
 *   decision, parts  of hs_star_best for the same star, else HS_ERROR_VALUE or another plan
 *   served           [message_count] of HS_STAR_EXACT, as hs_star_best wrote it; else not read
 *   chunks           [chunk_count] out; of HS_STAR_EXACT in, as hs_star_best wrote them
 *   messages         [message_count] out
 * After an error the outputs are undefined. */
HS_API hs_status hs_star_write(const hs_star *star, const hs_star_decision *decision,
                               const hs_star_part *parts, const int32_t *served, const int *cancel,
                               hs_star_chunk *chunks, hs_star_message *messages);

/* Returns the memory, in blocks, with which a worker can hold a chunk of a method: 3 for
 * HS_STAR_BEST, HS_STAR_SEARCH, HS_STAR_BMM and HS_STAR_REUSE, 6 for HS_STAR_OVERLAP, else 5. */
HS_API int64_t hs_star_least_memory(int32_t method);

/* Lengths of the arrays of HS_STAR_EXACT.
 *   most_chunks, most_messages  out: the plan has at most so many; at most INT64_MAX. The method is
 *                               for at most HS_STAR_EXACT_MESSAGES messages
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk. */
HS_API hs_status hs_star_exact_most(const hs_star *star, int64_t *most_chunks,
                                    int64_t *most_messages);

/* hs_star_best for many stars of one size, one after the other.
 *   stars      cycle_times, link_costs and memory are [rows * p]
 *   methods    [rows] out: hs_star_method of each plan
 *   makespans  [rows] out
 *   bounds     [rows] out: of the certificates
 *   optimal    [rows] out: of the certificates
 *   columns    [rows * p] out
 * An error of one star is returned for the whole call. The outputs of the stars before it are then
 * written, the outputs of the other stars are unchanged. */
HS_API hs_status hs_star_batch(int64_t rows, const hs_star *stars, const hs_star_options *options,
                               const hs_effort *effort, const int *cancel, int32_t *methods,
                               double *makespans, double *bounds, int32_t *optimal,
                               int64_t *columns);

HS_C_END
#endif
