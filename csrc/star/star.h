/* The master's port, and the state of each worker at it. The simulation of given chunks, the rules
 * and the search share it. */
#ifndef HS_STAR_STAR_H
#define HS_STAR_STAR_H

#include <stdint.h>

#include "core/heap.h"
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
    int64_t left;              /* columns not dealt yet */
    int64_t *columns;          /* [p] columns dealt to each worker, or NULL */
    hs_star_chunk *chunks;     /* out: the chunks dealt, or NULL */
    hs_star_message *messages; /* or NULL */
    int64_t chunk_count, message_count;
    int64_t most; /* limit on messages: a run with more stops with HS_ERROR_UNSUPPORTED */
    double now;   /* end of the last message */
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

/* The traffic of a chunk. A streamed operand passes block by block: each block is a layer. */
typedef struct hs__chunk_traffic {
    /* blocks that stay on the worker; blocks per layer to the worker, and from it; number of
     * layers */
    int64_t held, in, out, length;
    int64_t work; /* updates per layer */
    /* blocks that come along with the first of each `every` layers, and stay for these layers */
    int64_t more, every;
} hs__chunk_traffic;

static inline int hs__star_streams(const hs_star_chunk *chunk) { return chunk->buffers < 1; }

static inline hs__chunk_traffic hs__chunk_traffic_of(int64_t t, const hs_star_chunk *chunk)
{
    const int64_t h = chunk->height, v = chunk->width;
    if (hs__star_streams(chunk)) {
        const int64_t stays = chunk->buffers == HS_STAR_STREAM_A ? v : h;
        const int64_t passes = chunk->buffers == HS_STAR_STREAM_A ? h : v;
        return (hs__chunk_traffic){h * v, 1, 0, t * passes, stays, stays, passes};
    }
    switch (chunk->held) {
    case HS_STAR_HOLD_A: return (hs__chunk_traffic){h * t, h + t, h, v, h * t, 0, 1};
    case HS_STAR_HOLD_B: return (hs__chunk_traffic){v * t, v + t, v, h, v * t, 0, 1};
    default: return (hs__chunk_traffic){h * v, h + v, 0, t, h * v, 0, 1};
    }
}

/* Returns the blocks of memory that the chunk takes besides the operand it holds. */
static inline int64_t hs__star_passing(const hs_star_chunk *chunk, const hs__chunk_traffic *x)
{
    if (hs__star_streams(chunk)) return x->more + x->in;
    return chunk->buffers * (chunk->depth < x->length ? chunk->depth : x->length) * x->in;
}

/* Returns whether a chunk and its panels fit in memory, in exact integers; all its numbers must be
 * in range. */
static inline int hs__star_fits(int64_t t, const hs_star_chunk *chunk, int64_t memory)
{
    const hs__chunk_traffic x = hs__chunk_traffic_of(t, chunk);
    if (hs__star_streams(chunk)) return x.held <= memory && x.more + x.in <= memory - x.held;
    const int64_t panel = chunk->depth < x.length ? chunk->depth : x.length;
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
    const hs__chunk_traffic x = hs__chunk_traffic_of(t, chunk);
    const int64_t passing = hs__star_passing(chunk, &x);
    if (!chunk->ahead) *pipelined = (hs__pipelined_chunks){0};
    if (pipelined->held < pipelined->last + x.held) pipelined->held = pipelined->last + x.held;
    if (pipelined->passing < passing) pipelined->passing = passing;
    pipelined->last = x.held;
}

/* Returns whether the numbers are in the ranges of the public header. */
int hs__star_valid(const hs_star *star);

#endif
