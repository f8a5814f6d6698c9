/* The master's port and what each worker can take part in next: shared by the simulation of given
 * chunks and by the rules. */
#ifndef HS_STAR_STAR_H
#define HS_STAR_STAR_H

#include <stdint.h>

#include "core/heap.h"
#include "hetsched.h"

/* A worker. Its messages have one order: C of a chunk, its panels, the result, C of the next; or C
 * of the next, those of its panels that find room at once, the result, the other panels. */
typedef struct hs__desk {
    double link_cost, cycle_time;
    int64_t side;  /* largest height and width of a chunk dealt; 0: is dealt none */
    int64_t depth; /* of the panels of a chunk dealt */
    /* dealing: the rows from `row` on of these columns are not dealt yet */
    int64_t row, col, breadth;
    int32_t kind; /* of the next message, hs_star_kind */
    /* whose panels are sent; for HS_STAR_LOAD the next of a list, -1: none */
    int64_t chunk;
    int64_t owed_chunk;      /* the one before, whose result has not left: */
    double owed, owed_since; /* its blocks, 0: there is none; when it was computed */
    int64_t panels;          /* left in a list */
    double rest;             /* computing time left in a list */
    /* of the chunk: blocks that stay with the worker; updates of a layer; */
    double held, work;
    /* blocks of a layer to and from the worker; none from it: C is held */
    double in, out;
    double more; /* blocks that come with every such layer */
    int64_t every;
    int64_t length, deep;   /* layers; of a panel */
    int64_t sent, returned; /* layers */
    int32_t buffers, full;  /* panels; not free yet where panels have results */
    /* the buffers of what is held, or of the next panel with a result, are free */
    double released;
    double ready; /* the earliest start of the next message, for the worker */
    /* ends of the last two panels; before there were so many, when the load had come */
    double last, before;
} hs__desk;

typedef struct hs__port {
    int64_t r, s, t;
    int32_t p, eager;
    int32_t buffers;     /* of the chunks dealt; 2 */
    int32_t deals_ahead; /* chunks dealt are loaded ahead */
    hs__desk *desk;
    /* workers whose next message is a result, by the end of the last panel */
    hs__heap results;
    /* all workers by the earliest start of the next message; only for HS_STAR_DEMAND */
    hs__heap demand;
    const hs_star_chunk *list; /* or NULL: columns are dealt */
    int64_t *next, next_room;  /* [chunks of the list] the next one of the same worker, -1: none */
    int64_t left;              /* columns not dealt */
    int64_t *columns;          /* [p] dealt to each worker, or NULL */
    hs_star_chunk *chunks;     /* those dealt, or NULL */
    hs_star_message *messages; /* or NULL */
    int64_t chunk_count, message_count;
    int64_t most; /* messages: a run that has more stops with HS_ERROR_UNSUPPORTED */
    double now;   /* end of the last message */
    /* time of the messages of a list to come; a run that cannot end before the limit stops */
    double coming, limit;
    const int *cancel;
} hs__port;

/* Desks of the first p workers, idle, on which side and depth are still to be set where columns are
 * dealt. */
hs_status hs__port_open(hs__port *port, const hs_star *star, int32_t p, int32_t eager,
                        const int *cancel);
void hs__port_close(hs__port *port);

/* Gives the desks the chunks of a list; again after a run. */
hs_status hs__port_list(hs__port *port, int64_t count, const hs_star_chunk *chunks);

/* Serves until all is done, hs_star_order. A list of workers that does not fit is
 * HS_ERROR_VALUE. */
hs_status hs__port_serve(hs__port *port, int32_t order, int64_t length, const int32_t *served);

/* A chunk as its messages see it. What is streamed passes block by block: each is a layer. */
typedef struct hs__passage {
    /* blocks that stay with the worker; of a layer, to and from it; layers */
    int64_t held, in, out, length;
    int64_t work; /* updates of a layer */
    /* blocks that come along with the first of so many layers, and stay for these */
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

/* Blocks of memory that the chunk takes beside what it holds. */
static inline int64_t hs__star_passing(const hs_star_chunk *chunk, const hs__passage *x)
{
    if (hs__star_streams(chunk)) return x->more + x->in;
    return chunk->buffers * (chunk->depth < x->length ? chunk->depth : x->length) * x->in;
}

/* Whether a chunk and its panels fit, in whole numbers; each of its numbers is in range. */
static inline int hs__star_fits(int64_t t, const hs_star_chunk *chunk, int64_t memory)
{
    const hs__passage x = hs__star_passage(t, chunk);
    if (hs__star_streams(chunk)) return x.held <= memory && x.more + x.in <= memory - x.held;
    const int64_t panel = chunk->depth < x.length ? chunk->depth : x.length;
    return x.held <= memory && panel <= (memory - x.held) / (chunk->buffers * x.in);
}

/* Chunks of one worker, each loaded ahead of the result of the one before: what they take of its
 * memory, each at a fixed place. What is held has two places in turn, at both ends of the room of
 * the two neighbours that need most, the panels have the room that one needs. */
typedef struct hs__chain {
    int64_t held, passing, last; /* rooms; held by the last chunk */
} hs__chain;

/* The chunk after, which begins a new chain where it is not loaded ahead. */
static inline void hs__chain_add(hs__chain *chain, int64_t t, const hs_star_chunk *chunk)
{
    const hs__passage x = hs__star_passage(t, chunk);
    const int64_t passing = hs__star_passing(chunk, &x);
    if (!chunk->ahead) *chain = (hs__chain){0};
    if (chain->held < chain->last + x.held) chain->held = chain->last + x.held;
    if (chain->passing < passing) chain->passing = passing;
    chain->last = x.held;
}

/* Whether the numbers are in the range that the header asks for. */
int hs__star_valid(const hs_star *star);

#endif
