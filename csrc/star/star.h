/* The master's port, and the state of each worker at it. The simulation of given chunks, the rules
 * and the search share it. */
#ifndef HS_STAR_STAR_H
#define HS_STAR_STAR_H

#include <stdint.h>

#include "core/heap.h"
#include "core/numbers.h"
#include "hetsched.h"

/* The state of a worker. Its messages have one order. Usually: the load of a chunk, its panels, its
 * result, the load of the next chunk. If the next chunk is ahead: the load of the next chunk, as
 * many of its panels as find room at once, the result, the other panels. */
typedef struct hs__worker_state {
    double link_cost, cycle_time;
    int64_t side;  /* largest height and width of a chunk that is dealt; 0: it is dealt none */
    int64_t depth; /* depth of the panels of a chunk that is dealt */
    /* dealing: columns col .. col + breadth - 1, of which rows from `row` on are not dealt yet */
    int64_t row, col, breadth;
    int32_t kind; /* kind of the next message, hs_star_kind */
    /* the chunk with panels being sent; for HS_STAR_LOAD the next chunk of a list, -1: none */
    int64_t chunk;
    int64_t pending_chunk; /* the chunk before it, if its result is pending */
    double pending;        /* blocks of the pending result, 0: there is none */
    double pending_since;  /* when the pending result was computed */
    int64_t panels;        /* panels left in a list */
    double rest;           /* computing time left in a list */
    /* of the chunk: blocks that stay on the worker; updates per layer */
    double held, work;
    /* of the chunk: blocks per layer to the worker, and from it (0: C is held) */
    double in, out;
    double more; /* additional blocks with each `every`-th layer */
    int64_t every;
    int64_t length, deep;   /* layers of the chunk; layers of a panel */
    int64_t sent, returned; /* layers sent; layers with results returned */
    /* buffers for panels; how many are not free yet, if panels have results */
    int32_t buffers, full;
    /* when the buffers of the held operand, or of the next panel with a result, are free */
    double released;
    double ready; /* earliest start of the next message, as far as the worker is concerned */
    /* when the last two panels are computed; when the load arrived, if there were fewer panels */
    double last, before;
} hs__worker_state;

typedef struct hs__port {
    int64_t r, s, t;
    int32_t p, eager;
    int32_t buffers;     /* of the chunks that are dealt; default 2 */
    int32_t deals_ahead; /* chunks that are dealt are loaded ahead */
    hs__worker_state *states;
    /* workers with a result as next message, by the end of the last panel */
    hs__heap results;
    /* all workers by the earliest start of their next message; only for HS_STAR_DEMAND */
    hs__heap demand;
    const hs_star_chunk *list; /* or NULL: columns are dealt */
    /* [chunks of the list] the next chunk of the same worker, -1: none */
    int64_t *next, next_room;
    int64_t left;     /* columns not dealt yet */
    int64_t *columns; /* [p] columns dealt to each worker, or NULL */
    /* out: the chunks dealt and the messages, as far as there is room; NULL without room */
    hs_star_chunk *chunks;
    hs_star_message *messages;
    int64_t chunk_room, message_room;
    int64_t chunk_count, message_count;
    int64_t most;      /* limit on messages: a run with more stops with HS_ERROR_UNSUPPORTED */
    int64_t next_look; /* number of messages at which the run looks at cancel again */
    double now;        /* end of the last message */
    /* time on the port of the messages still to come in a list; a run stops when it cannot end
     * before the limit */
    double coming, limit;
    const int *cancel;
} hs__port;

/* Opens a port at which the first p workers are idle. If columns are dealt, the caller then sets
 * side and depth of each worker. */
hs_status hs__port_open(hs__port *port, const hs_star *star, int32_t p, int32_t eager,
                        const int *cancel);
void hs__port_close(hs__port *port);

/* Gives the workers the chunks of a list; it can be called again after a run. */
hs_status hs__port_list(hs__port *port, int64_t count, const hs_star_chunk *chunks);

/* Serves until all is done, in an hs_star_order. HS_ERROR_VALUE for a list of workers that does not
 * fit the chunks. */
hs_status hs__port_serve(hs__port *port, int32_t order, int64_t length, const int32_t *served);

static inline int hs__star_streams(const hs_star_chunk *chunk) { return chunk->buffers < 1; }

/* The one account of a chunk's traffic; csrc/star/traffic.c makes it public. */
static inline hs_star_traffic hs__chunk_traffic_of(int64_t t, const hs_star_chunk *chunk)
{
    const int64_t h = chunk->height;
    const int64_t v = chunk->width;
    if (hs__star_streams(chunk)) {
        const int64_t stays = chunk->buffers == HS_STAR_STREAM_A ? v : h;
        const int64_t passes = chunk->buffers == HS_STAR_STREAM_A ? h : v;
        return (hs_star_traffic){.held = h * v,
                                 .in = 1,
                                 .length = t * passes,
                                 .work = stays,
                                 .more = stays,
                                 .every = passes};
    }
    switch (chunk->held) {
    case HS_STAR_HOLD_A: return (hs_star_traffic){h * t, h + t, h, v, h * t, 0, 1};
    case HS_STAR_HOLD_B: return (hs_star_traffic){v * t, v + t, v, h, v * t, 0, 1};
    default: return (hs_star_traffic){h * v, h + v, 0, t, h * v, 0, 1};
    }
}

/* Returns the number of panels of a chunk. */
static inline int64_t hs__star_panels(const hs_star_chunk *chunk, const hs_star_traffic *x)
{
    return 1 + (x->length - 1) / chunk->depth;
}

/* Returns the number of layers of the panel that begins with layer `first`. */
static inline int64_t hs__star_deep(const hs_star_chunk *chunk, const hs_star_traffic *x,
                                    int64_t first)
{
    return hs__min(chunk->depth, x->length - first);
}

/* Returns the blocks that a message carries, in either direction. */
static inline int64_t hs__star_carried(const hs_star_chunk *chunk, const hs_star_traffic *x,
                                       int32_t kind, int64_t first)
{
    if (kind == HS_STAR_LOAD || (kind == HS_STAR_RESULT && x->out == 0)) return x->held;
    const int64_t deep = hs__star_deep(chunk, x, first);
    if (kind == HS_STAR_RESULT) return deep * x->out;
    return deep * x->in + (first % x->every == 0 ? x->more : 0);
}

/* Returns the blocks that are free once a panel is computed. Blocks of C that came with it leave
 * with its result. */
static inline int64_t hs__star_used_up(const hs_star_chunk *chunk, const hs_star_traffic *x,
                                       int64_t first)
{
    const int64_t deep = hs__star_deep(chunk, x, first);
    return deep * (x->in - x->out) + ((first + deep) % x->every == 0 ? x->more : 0);
}

/* Returns the blocks that are free once a result has been sent; the operand that is held leaves
 * with the last one. */
static inline int64_t hs__star_returned(const hs_star_chunk *chunk, const hs_star_traffic *x,
                                        int64_t first)
{
    const int64_t own = hs__star_carried(chunk, x, HS_STAR_RESULT, first);
    return own + (x->out && first + hs__star_deep(chunk, x, first) == x->length ? x->held : 0);
}

/* Returns the blocks of memory that the chunk takes besides the operand it holds. */
static inline int64_t hs__star_passing(const hs_star_chunk *chunk, const hs_star_traffic *x)
{
    if (hs__star_streams(chunk)) return x->more + x->in;
    return chunk->buffers * hs__min(chunk->depth, x->length) * x->in;
}

/* Returns whether a chunk and its panels fit in memory, in exact integers; all its numbers must be
 * in range. */
static inline int hs__star_fits(int64_t t, const hs_star_chunk *chunk, int64_t memory)
{
    const hs_star_traffic x = hs__chunk_traffic_of(t, chunk);
    if (hs__star_streams(chunk)) return x.held <= memory && x.more + x.in <= memory - x.held;
    const int64_t panel = hs__min(chunk->depth, x.length);
    return x.held <= memory && panel <= (memory - x.held) / (chunk->buffers * x.in);
}

/* Memory for the pipelined chunks of one worker: each is loaded ahead of the result of the chunk
 * before, at a fixed place. Held operands alternate between two places, at both ends of a room for
 * the two neighbours that need most; the panels have a room for the chunk that needs most. */
typedef struct hs__pipelined_chunks {
    /* sizes of the rooms for held operands and for panels; blocks held by the last chunk */
    int64_t held, passing, last;
} hs__pipelined_chunks;

/* Adds the next chunk, which begins anew unless it is loaded ahead. */
static inline void hs__pipelined_chunks_add(hs__pipelined_chunks *pipelined, int64_t t,
                                            const hs_star_chunk *chunk)
{
    const hs_star_traffic x = hs__chunk_traffic_of(t, chunk);
    const int64_t passing = hs__star_passing(chunk, &x);
    if (!chunk->ahead) *pipelined = (hs__pipelined_chunks){0};
    if (pipelined->held < pipelined->last + x.held) pipelined->held = pipelined->last + x.held;
    if (pipelined->passing < passing) pipelined->passing = passing;
    pipelined->last = x.held;
}

/* Returns whether the numbers are in the ranges of the public header. */
int hs__star_valid(const hs_star *star);

/* Returns the layout of the chunks of a method. */
int32_t hs__star_layout(int32_t method);

/* Returns whether the flags are a variant of HS_STAR_HET; HS_STAR_ALL is none. */
int hs__star_variant_valid(int32_t variant);

/* Returns the largest of the bounds that hold for every plan. */
double hs__star_bound(const double bounds[HS_STAR_BOUNDS]);

/* Writes the chunks and the messages of a decision for a rule. HS_ERROR_VALUE if there are not as
 * many as the decision says. sides: [p] of the decision; columns: [p] out. */
hs_status hs__star_reschedule(const hs_star *star, const hs_star_decision *decision, int64_t *sides,
                              const int *cancel, int64_t *columns, hs_star_chunk *chunks,
                              hs_star_message *messages);

#endif
