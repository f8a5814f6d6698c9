/* The master's port, and the state of each worker at it. The simulation of given chunks, the rules
 * and the search share it. */
#ifndef HS_STAR_STAR_H
#define HS_STAR_STAR_H

#include <stdint.h>

#include "core/heap.h"
#include "hetsched.h"

/* A worker. Its messages have one order. Usually: the load of a chunk, its panels, its result, the
 * load of the next chunk. If the next chunk is ahead: the load of the next chunk, as many of its
 * panels as find room at once, the result, the other panels. */
typedef struct hs__desk {
    double link_cost, cycle_time;
    int64_t side;  /* largest height and width of a chunk that is dealt; 0: it is dealt none */
    int64_t depth; /* depth of the panels of a chunk that is dealt */
    /* dealing: columns col .. col + breadth - 1, of which rows from `row` on are not dealt yet */
    int64_t row, col, breadth;
    int32_t kind; /* kind of the next message, hs_star_kind */
    /* the chunk with panels being sent; for HS_STAR_LOAD the next chunk of a list, -1: none */
    int64_t chunk;
    int64_t owed_chunk;      /* the chunk before it, if its result has not left */
    double owed, owed_since; /* blocks of the owed result, 0: there is none; when it was computed */
    int64_t panels;          /* panels left in a list */
    double rest;             /* computing time left in a list */
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
} hs__desk;

typedef struct hs__port {
    int64_t r, s, t;
    int32_t p, eager;
    int32_t buffers;     /* of the chunks that are dealt; default 2 */
    int32_t deals_ahead; /* chunks that are dealt are loaded ahead */
    hs__desk *desk;
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

/* Opens a port with idle desks for the first p workers. If columns are dealt, the caller then sets
 * side and depth of each desk. */
hs_status hs__port_open(hs__port *port, const hs_star *star, int32_t p, int32_t eager,
                        const int *cancel);
void hs__port_close(hs__port *port);

/* Gives the desks the chunks of a list; it can be called again after a run. */
hs_status hs__port_list(hs__port *port, int64_t count, const hs_star_chunk *chunks);

/* Serves until all is done, in an hs_star_order. HS_ERROR_VALUE for a list of workers that does not
 * fit the chunks. */
hs_status hs__port_serve(hs__port *port, int32_t order, int64_t length, const int32_t *served);

/* The messages of a chunk. A streamed operand passes block by block: each block is a layer. */
typedef struct hs__passage {
    /* blocks that stay on the worker; blocks per layer to the worker, and from it; number of
     * layers */
    int64_t held, in, out, length;
    int64_t work; /* updates per layer */
    /* blocks that come along with the first of each `every` layers, and stay for these layers */
    int64_t more, every;
} hs__passage;

static inline int hs__star_streams(const hs_star_chunk *chunk) { return chunk->buffers < 1; }

static inline hs__passage hs__star_passage(int64_t t, const hs_star_chunk *chunk)
{
    const int64_t h = chunk->height, v = chunk->width;
    if (hs__star_streams(chunk)) {
        const int64_t stays = chunk->buffers == HS_STAR_STREAM_A ? v : h;
        const int64_t passes = chunk->buffers == HS_STAR_STREAM_A ? h : v;
        return (hs__passage){h * v, 1, 0, t * passes, stays, stays, passes};
    }
    switch (chunk->held) {
    case HS_STAR_HOLD_A: return (hs__passage){h * t, h + t, h, v, h * t, 0, 1};
    case HS_STAR_HOLD_B: return (hs__passage){v * t, v + t, v, h, v * t, 0, 1};
    default: return (hs__passage){h * v, h + v, 0, t, h * v, 0, 1};
    }
}

/* Returns the blocks of memory that the chunk takes besides the operand it holds. */
static inline int64_t hs__star_passing(const hs_star_chunk *chunk, const hs__passage *x)
{
    if (hs__star_streams(chunk)) return x->more + x->in;
    return chunk->buffers * (chunk->depth < x->length ? chunk->depth : x->length) * x->in;
}

/* Returns whether a chunk and its panels fit in memory, in exact integers; all its numbers must be
 * in range. */
static inline int hs__star_fits(int64_t t, const hs_star_chunk *chunk, int64_t memory)
{
    const hs__passage x = hs__star_passage(t, chunk);
    if (hs__star_streams(chunk)) return x.held <= memory && x.more + x.in <= memory - x.held;
    const int64_t panel = chunk->depth < x.length ? chunk->depth : x.length;
    return x.held <= memory && panel <= (memory - x.held) / (chunk->buffers * x.in);
}

/* Memory for chunks of one worker that are each loaded ahead of the result of the chunk before,
 * each at a fixed place. Held operands alternate between two places, at both ends of a room for the
 * two neighbours that need most; the panels have a room for the chunk that needs most. */
typedef struct hs__chain {
    /* sizes of the rooms for held operands and for panels; blocks held by the last chunk */
    int64_t held, passing, last;
} hs__chain;

/* Adds the next chunk, which begins a new chain unless it is loaded ahead. */
static inline void hs__chain_add(hs__chain *chain, int64_t t, const hs_star_chunk *chunk)
{
    const hs__passage x = hs__star_passage(t, chunk);
    const int64_t passing = hs__star_passing(chunk, &x);
    if (!chunk->ahead) *chain = (hs__chain){0};
    if (chain->held < chain->last + x.held) chain->held = chain->last + x.held;
    if (chain->passing < passing) chain->passing = passing;
    chain->last = x.held;
}

/* Returns whether the numbers are in the ranges of the public header. */
int hs__star_valid(const hs_star *star);

#endif
