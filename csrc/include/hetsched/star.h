/* Products from a master over one port, with limited memory at the workers. */
#ifndef HETSCHED_STAR_H
#define HETSCHED_STAR_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* C (r x s blocks) += A (r x t) B (t x s) on workers with limited memory around a master with one
 * port (2008 paper). A chunk is a rectangle of height x width blocks of C, computed on one worker.
 * One operand of it stays there, the others pass:
 *   HS_STAR_HOLD_C  the chunk of C comes (LOAD), t layers of a column of A and a row of B, height +
 *                   width blocks each, pass (PANEL), the chunk goes back (RESULT)
 *   HS_STAR_HOLD_A  height * t blocks of A come; `width` layers of a column of C and a column of B,
 *                   height + t blocks each, pass and each column of C goes back, height blocks.
 *                   HS_STAR_HOLD_B: the same by rows, of width + t and width
 * A panel is `depth` layers; two of them fit the worker's buffers, or one. Where C is held, an
 * operand may instead come block by block (section 3, maximum re-use: 1 + width + height * width
 * blocks of memory):
 *   HS_STAR_STREAM_A  of each layer the row of B, width blocks, stays until the layer is computed,
 *                     and the blocks of A's column come one at a time: a panel is one block of A,
 *                     for a row of the chunk, and the first one of a layer brings the row of B
 *                     along. Panel k is that of layer k / height and row k % height. One buffer.
 *   HS_STAR_STREAM_B  the same by rows: the column of A stays, the blocks of B come; panel k is of
 *                     layer k / width, column k % width
 * One message at a time is on the port. It starts when the port is free, but not before
 *   HS_STAR_LOAD    the worker's last result has left; ahead: its last load or result has passed
 *   HS_STAR_PANEL   its buffer is free: the panel two before (with one buffer: the one before) is
 *                   computed, or its result has left where it has one; the first ones: the load has
 *                   come
 *   HS_STAR_RESULT  its panel is computed, with C held the last one
 * A worker's messages have one order: panels with results go first as far as buffers are free. It
 * computes a panel when it has come and the one before is computed, in (updates of the panel) *
 * cycle_time; it receives meanwhile.
 * Where C is held by two chunks of a worker one after the other, the second may be `ahead` (end of
 * section 4): it is loaded before the result of the first has left, and computed without a pause.
 * Its load and as many of its panels as it has buffers come after the last panel of the first
 * chunk, then that one's result goes, then the other panels come. The panels before its first ones
 * are those of the first chunk; where that has one buffer all of them must be computed. Chunks each
 * ahead of the one before need room for what two neighbours hold, the two that need most, and for
 * the panels of one, the one that needs most.
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

typedef enum hs_star_held {
    HS_STAR_HOLD_C = 0,
    HS_STAR_HOLD_A = 1,
    HS_STAR_HOLD_B = 2
} hs_star_held;
/* in the place of a number of buffers; C is held, the depth is 1 */
enum { HS_STAR_STREAM_A = 0, HS_STAR_STREAM_B = -1 };

typedef struct hs_star_chunk {
    int32_t worker, held, buffers; /* hs_star_held; 1 or 2 panels, or HS_STAR_STREAM_ */
    int64_t row, col, height, width;
    int64_t depth; /* of a panel, >= 1 */
    /* 1: C is held, and is loaded before the worker's result before has left; of its first chunk
     * without effect. 0: not */
    int32_t ahead;
} hs_star_chunk;

typedef enum hs_star_kind { HS_STAR_LOAD = 0, HS_STAR_PANEL = 1, HS_STAR_RESULT = 2 } hs_star_kind;

typedef struct hs_star_message {
    int32_t worker, kind; /* hs_star_kind */
    int64_t chunk;        /* index */
    /* of a panel and its result: the first layer, or k of a streamed one; else 0 */
    int64_t depth;
    double start, end;                 /* on the port */
    double compute_start, compute_end; /* of a panel; else both are end */
} hs_star_message;

/* Whom the port serves next.
 *   HS_STAR_ROUND_ROBIN  the workers in turn, one message each; it waits for the one whose turn it
 *                        is
 *   HS_STAR_DEMAND       the one that has been ready longest (or will be first), ties to the lowest
 *                        index
 *   HS_STAR_PANELS       a list of workers, one entry per panel (entries beyond a worker's panels
 *                        are skipped). C goes before the first panel of a chunk, a result before
 *                        the next C, the last results as they end
 *   HS_STAR_LISTED       a list of workers, one entry per message
 *   HS_STAR_STARVING     of those that can start now (or first) the one that runs out of work first
 *   HS_STAR_LAGGING      the one that would end last if nothing kept it waiting
 * With `eager` results that are ready when the port is free come first (not for HS_STAR_LISTED). */
typedef enum hs_star_order {
    HS_STAR_ROUND_ROBIN = 0,
    HS_STAR_DEMAND = 1,
    HS_STAR_PANELS = 2,
    HS_STAR_LISTED = 3,
    HS_STAR_STARVING = 4,
    HS_STAR_LAGGING = 5
} hs_star_order;

/* Simulates given chunks, each worker's in the order of the array. They need not cover C, and are
 * not checked for overlaps.
 *   chunks    [count] what is held and the panels fit in the worker's memory, and what is ahead
 *             with what it is ahead of, else HS_ERROR_VALUE
 *   served    [length] for HS_STAR_PANELS and HS_STAR_LISTED; HS_ERROR_VALUE if something is left
 *             or a worker has no message
 *   messages  [*message_count] out: the port's log; or NULL, to learn its length: the sum over the
 *             chunks of 2 + panels, or 1 + 2 panels where those have results, in any order.
 *             Undefined on failure
 * Times are exact where doubles are. Time O(1) per message, O(log p) with HS_STAR_DEMAND; memory
 * O(p + count). */
HS_API hs_status hs_star_simulate(const hs_star *star, int64_t count, const hs_star_chunk *chunks,
                                  int32_t order, int64_t length, const int32_t *served,
                                  int32_t eager, const int *cancel, hs_star_message *messages,
                                  int64_t *message_count, double *makespan);

/* The largest side of square chunks.
 *   HS_STAR_DOUBLE  mu^2 + 4 mu <= memory: two panels of depth 1 (all rules but BMM)
 *   HS_STAR_SINGLE  1 + mu + mu^2 <= memory: A block by block (section 3), HS_STAR_STREAM_A
 *   HS_STAR_TOLEDO  3 side^2 <= memory: square blocks of A, B and C (BMM)
 *   HS_STAR_PAIR    2 mu^2 + 4 mu <= memory: two panels of depth 1, and a chunk ahead of the
 * other */
typedef enum hs_star_layout {
    HS_STAR_DOUBLE = 0,
    HS_STAR_SINGLE = 1,
    HS_STAR_TOLEDO = 2,
    HS_STAR_PAIR = 3
} hs_star_layout;
HS_API int64_t hs_star_side(int64_t memory, int32_t layout);

/* The paper's seven algorithms, sections 4 to 6, that of section 3, and what section 4 ends with.
 * Workers get full columns, min(mu, left) at a time, chunks of them top-down. */
typedef enum hs_star_method {
    HS_STAR_HOM = 0,  /* the best virtual homogeneous platform for a memory size, in turn */
    HS_STAR_HOMI = 1, /* also for link cost and cycle-time */
    /* incremental selection, the best of the eight variants or the one asked for */
    HS_STAR_HET = 2,
    HS_STAR_ORROML = 3, /* all workers in turn */
    HS_STAR_OMMOML = 4, /* min-min: the first that would end the panel */
    HS_STAR_ODDOML = 5, /* demand driven */
    HS_STAR_BMM = 6,    /* Toledo's blocks, demand driven */
    /* section 3's maximum re-use, for one worker; here for all, demand driven as HS_STAR_ODDOML */
    HS_STAR_REUSE = 7,
    /* HS_STAR_ODDOML with smaller chunks, HS_STAR_PAIR, each loaded ahead of the result of the one
     * before */
    HS_STAR_OVERLAP = 8
} hs_star_method;

/* Variants of HS_STAR_HET, a sum: which worker maximises the work per time, of all (or of this
 * message: local), of the next two messages (look-ahead), with the time of a worker's first C
 * (first C: charged at its first message, the paper's rule; spread C: 2 mu^2 / t blocks with each).
 * HS_STAR_ALL: the best of the first eight, that is without HS_STAR_SPREAD_C. */
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

/* Plans and simulates.
 *   method, variant  HS_STAR_FIRST_C and HS_STAR_SPREAD_C exclude each other; the variant of other
 *                    methods is HS_STAR_ALL
 *   summary   out
 *   sides     [p] out: of the chunks of each worker that the method may use, else 0
 *   columns   [p] out: of C
 *   chunks    out: [chunk_count]; messages out: [message_count], or both NULL. A first call with
 *             NULL gives the counts; a second one for HS_STAR_HET costs an eighth with the variant
 *             that was best. On failure they are undefined.
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk, HS_ERROR_UNSUPPORTED if the plan has more than
 * HS_STAR_MESSAGES messages. Time as for hs_star_simulate; for HS_STAR_HET and HS_STAR_OMMOML O(p)
 * more per panel, O(p^2) with look-ahead; for HS_STAR_HOM O(p), for HS_STAR_HOMI O(p^3) estimates
 * that are themselves simulated where a bound does not rule them out. Memory O(p + panels). */
HS_API hs_status hs_star_plan(const hs_star *star, int32_t method, int32_t variant, int32_t eager,
                              const int *cancel, hs_star_summary *summary, int64_t *sides,
                              int64_t *columns, hs_star_chunk *chunks, hs_star_message *messages);

/* The least makespan over panels of full columns, one chunk at a time: a panel of 1 .. mu columns,
 * mu = hs_star_side(memory, HS_STAR_DOUBLE), goes to a worker, its rows top-down min(mu, r) at a
 * time; C is held, panels have depth 1, no chunk is ahead; in every order of the port, results at
 * any time. Layers of states with dominance and bounds, widened until nothing is left out that
 * could matter: for small instances.
 *   effort       messages tried, at most; HS_ERROR_UNSUPPORTED if they, or 2^20 messages of a plan,
 *                do not suffice
 *   limit        > 0: plans that end before this are looked for, INFINITY: all; HS_ERROR_INFEASIBLE
 *                if there is none, or no worker can hold a chunk (5 blocks)
 *   chunk_count, chunks  out: [s * parts] at most, parts = the largest ceil(r / mu) of the workers
 *                        that can hold a chunk
 *   length, served       out: [s * parts * (t + 2)] at most, for HS_STAR_LISTED
 *   makespan     out: at most 1 + 1e-12 times the least one
 * Time exponential in s and p; memory O(p) per message tried of a layer, and 12 bytes per message
 * tried. */
HS_API hs_status hs_star_exact(const hs_star *star, int64_t effort, double limit, const int *cancel,
                               int64_t *chunk_count, hs_star_chunk *chunks, int64_t *length,
                               int32_t *served, double *makespan);

/* How a worker goes through its columns of C. A plan by rows is one by columns of C^T = B^T A^T: r
 * and s, rows and columns, A and B change places in what follows. */
typedef struct hs_star_share {
    int64_t columns; /* 0: it is not enrolled */
    /* parts into which the rows of C and its columns are cut, as equal as possible: its chunks */
    int64_t rows, panels;
    /* of the chunks; HS_STAR_STREAM_A also by rows, where it becomes HS_STAR_STREAM_B */
    int32_t held, buffers;
    int32_t ahead; /* 0 or 1, of all chunks but the first; 1 where C is held */
} hs_star_share;

/* The chunks of the shares, left to right by worker, panel by panel, each top-down; panels of depth
 * 1.
 *   shares  [p] columns sum to s, 1 <= rows <= r, 1 <= panels <= columns, and what a chunk needs
 *           fits, else HS_ERROR_VALUE
 *   chunks  out: [count], or NULL for the count alone */
HS_API hs_status hs_star_cut(const hs_star *star, int32_t by_rows, const hs_star_share *shares,
                             int64_t *count, hs_star_chunk *chunks);

/* Searches shares and an order of the port, HS_STAR_DEMAND, _STARVING or _LAGGING, for a small
 * makespan: what each worker holds, whether chunks are loaded ahead, oblong chunks, by rows or
 * columns, their numbers first from a relaxation with fixed charges, then by annealing on simulated
 * makespans. Deterministic.
 *   effort    messages to simulate, about (a sixty-fourth more for each worker), again where
 *             streamed chunks may be tried, and half of it where chunks ahead may be; at least one
 *             plan is evaluated
 *   by_rows, shares [p], order, makespan  out; after an error the shares are undefined
 * HS_ERROR_INFEASIBLE if no worker can hold a chunk (3 blocks), HS_ERROR_UNSUPPORTED if no plan
 * looked at has less than about HS_STAR_MESSAGES messages. Time O(p) per message; memory O(p +
 * chunks). */
HS_API hs_status hs_star_search(const hs_star *star, int32_t eager, uint64_t seed, int64_t effort,
                                const int *cancel, int32_t *by_rows, hs_star_share *shares,
                                int32_t *order, double *makespan);

/* Lower bounds on the makespan.
 *   HS_STAR_WORK      every plan: all updates over the sum of the speeds
 *   HS_STAR_TRAFFIC   every plan: a worker that does X updates needs X / s blocks of A, X / r of B
 *                     and X / t of C, these both ways; shared out by linear programming with the
 *                     cycle-times
 *   HS_STAR_TRANSFER  every plan: the same, and at least 2 X / sqrt(m) - 2 m blocks to a worker
 *                     with m buffers (Smith, Lowery, Langou, van de Geijn, 2019) beside X / t back
 *   HS_STAR_STEADY    square chunks of the side given by `layout`: the bandwidth-centric optimum, A
 *                     and B only
 *   HS_STAR_STEADY_C  the same with C both ways
 *   HS_STAR_LOOMIS    every plan: as HS_STAR_TRANSFER with section 3's bound, X sqrt(27 / 8m) - m
 *                     blocks both ways: in m messages of a block at most (2m / 3)^1.5 updates. The
 *                     weaker one where X is large, the stronger where m is not small against it
 *   bounds  [HS_STAR_BOUNDS] out; the two of HS_STAR_STEADY are infinite if no worker can hold a
 *           chunk
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

/* What a plan is worth that takes `makespan`, as hs_star_plan, hs_star_search and hs_star_simulate
 * tell it: with the largest of the bounds that hold for every plan. */
HS_API hs_status hs_star_certificate(const hs_star *star, double makespan, const int *cancel,
                                     hs_certificate *certificate);

HS_C_END
#endif
