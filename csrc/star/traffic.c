/* The account of a star's traffic: what the messages of chunks carry, the memory that chunks need,
 * and the sequence of messages of pipelined chunks. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "star/star.h"

static bool is_valid_chunk(int64_t t, const hs_star_chunk *x)
{
    const bool streams = hs__star_streams(x);
    return t >= 1 && t <= INT32_MAX && x->height >= 1 && x->height <= INT32_MAX && x->width >= 1 &&
           x->width <= INT32_MAX && x->depth >= 1 && x->held >= HS_STAR_HOLD_C &&
           x->held <= HS_STAR_HOLD_B && x->buffers >= HS_STAR_STREAM_B && x->buffers <= 2 &&
           (!streams || (x->held == HS_STAR_HOLD_C && x->depth == 1)) && x->ahead >= 0 &&
           x->ahead <= (x->held == HS_STAR_HOLD_C);
}

static bool are_valid_chunks(int64_t t, int64_t count, const hs_star_chunk *chunks)
{
    if (count < 0 || (count && !chunks)) return false;
    for (int64_t k = 0; k < count; k++)
        if (!is_valid_chunk(t, &chunks[k])) return false;
    return true;
}

static bool have_workers(int32_t p, int64_t count, const hs_star_chunk *chunks)
{
    for (int64_t k = 0; k < count; k++)
        if (chunks[k].worker < 0 || chunks[k].worker >= p) return false;
    return true;
}

hs_status hs_star_chunk_traffic(int64_t t, const hs_star_chunk *chunk, hs_star_traffic *traffic)
{
    if (!chunk || !traffic || !is_valid_chunk(t, chunk)) return HS_ERROR_VALUE;
    *traffic = hs__chunk_traffic_of(t, chunk);
    return HS_OK;
}

hs_status hs_star_message_count(int64_t t, int64_t count, const hs_star_chunk *chunks,
                                int64_t *messages)
{
    if (!messages || !are_valid_chunks(t, count, chunks)) return HS_ERROR_VALUE;
    int64_t found = 0;
    for (int64_t k = 0; k < count; k++) {
        const hs_star_traffic x = hs__chunk_traffic_of(t, &chunks[k]);
        const int64_t panels = hs__star_panels(&chunks[k], &x);
        const int64_t own = x.out ? 1 + 2 * panels : 2 + panels;
        if (__builtin_add_overflow(found, own, &found)) return HS_ERROR_VALUE;
    }
    *messages = found;
    return HS_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Returns the blocks of pipelined chunks, at most INT64_MAX. */
static int64_t room_of(const hs__pipelined_chunks *pipelined)
{
    int64_t room;
    return __builtin_add_overflow(pipelined->held, pipelined->passing, &room) ? INT64_MAX : room;
}

/* Adds a chunk of any size to pipelined chunks. */
static void add_large_chunk(hs__pipelined_chunks *pipelined, int64_t t, const hs_star_chunk *chunk)
{
    const hs_star_traffic x = hs__chunk_traffic_of(t, chunk);
    int64_t panels;
    if (__builtin_mul_overflow(hs__min(chunk->depth, x.length), 2 * x.in, &panels)) {
        hs_star_chunk flat = *chunk; /* its room for panels is counted apart */
        flat.depth = 1;
        hs__pipelined_chunks_add(pipelined, t, &flat);
        pipelined->passing = INT64_MAX;
        return;
    }
    hs__pipelined_chunks_add(pipelined, t, chunk);
}

hs_status hs_star_needs(int64_t t, int32_t p, int64_t count, const hs_star_chunk *chunks,
                        int64_t *needs)
{
    if (!needs || p < 1 || !are_valid_chunks(t, count, chunks) || !have_workers(p, count, chunks))
        return HS_ERROR_VALUE;
    hs__pipelined_chunks *pipelined = calloc((size_t)p, sizeof *pipelined);
    if (!pipelined) return HS_ERROR_MEMORY;
    memset(needs, 0, (size_t)p * sizeof *needs);
    for (int64_t k = 0; k < count; k++) {
        const int32_t i = chunks[k].worker;
        add_large_chunk(&pipelined[i], t, &chunks[k]);
        needs[i] = hs__max(needs[i], room_of(&pipelined[i]));
    }
    free(pipelined);
    return HS_OK;
}

/* ---- sequence of messages -------------------------------------------------------------------- */

static hs_star_step *add_step(hs_star_step *at, int64_t chunk, int32_t kind, int64_t depth,
                              int64_t after)
{
    *at = (hs_star_step){.chunk = chunk, .depth = depth, .after = after, .kind = kind};
    return at + 1;
}

/* Lists the messages of a chunk that holds A or B. Panels are sent as soon as buffers are free. */
static void list_with_results(int64_t t, const hs_star_chunk *chunk, hs_star_step *at)
{
    const hs_star_traffic x = hs__chunk_traffic_of(t, chunk);
    const int64_t panels = hs__star_panels(chunk, &x);
    at = add_step(at, 0, HS_STAR_LOAD, 0, 0);
    for (int64_t k = 0; k < panels + chunk->buffers; k++) {
        const int64_t earlier = k - chunk->buffers; /* the panel that had the buffer of panel k */
        if (earlier >= 0) at = add_step(at, 0, HS_STAR_RESULT, earlier * chunk->depth, earlier + 1);
        if (k < panels) at = add_step(at, 0, HS_STAR_PANEL, k * chunk->depth, 0);
    }
}

/* Lists the messages of pipelined chunks that hold C. The result of a chunk goes back when the next
 * chunk has been loaded and as many of its panels sent as it has buffers. */
static void list_pipelined(int64_t t, int64_t count, const hs_star_chunk *chunks, hs_star_step *at)
{
    int64_t before = 0; /* panels of the chunks before this one */
    int64_t least = 0;  /* how many of them must be computed, if the chunk before had one buffer */
    for (int64_t c = 0; c <= count; c++) {
        const bool last = c == count;
        const hs_star_chunk *chunk = &chunks[last ? c - 1 : c];
        const hs_star_traffic x = hs__chunk_traffic_of(t, chunk);
        const int64_t panels = last ? 0 : hs__star_panels(chunk, &x);
        const int64_t buffers = hs__max(chunk->buffers, 1);
        const int64_t pending = before;
        if (!last) at = add_step(at, c, HS_STAR_LOAD, 0, 0);
        for (int64_t k = 0; k <= panels; k++) {
            if (c && k == hs__min(buffers, panels))
                at = add_step(at, c - 1, HS_STAR_RESULT, 0, pending);
            if (k == panels) break;
            const int64_t after = hs__max(least, before + k - buffers + 1);
            at = add_step(at, c, HS_STAR_PANEL, k * chunk->depth, after);
        }
        before += panels;
        least = buffers == 1 ? before : 0;
    }
}

hs_status hs_star_chunk_steps(int64_t t, int64_t count, const hs_star_chunk *chunks,
                              hs_star_step *steps)
{
    if (!steps || count < 1 || !are_valid_chunks(t, count, chunks)) return HS_ERROR_VALUE;
    for (int64_t k = 0; k < count && count > 1; k++)
        if (chunks[k].held != HS_STAR_HOLD_C) return HS_ERROR_VALUE;
    if (chunks[0].held == HS_STAR_HOLD_C) list_pipelined(t, count, chunks, steps);
    else list_with_results(t, chunks, steps);
    return HS_OK;
}

/* ---- peaks ----------------------------------------------------------------------------------- */

/* A log made by hand may have sums of blocks beyond 64 bits. */
__extension__ typedef __int128 wide;

/* What a worker holds while a log is read. At one moment, blocks that leave go before blocks that
 * come: the number of blocks is compared when the time moves on. */
typedef struct holding {
    double now;
    wide blocks, peak;
    /* its first panel, and its first other message, whose blocks have not left; -1: none */
    int64_t panel, other;
} holding;

/* Returns the next message of the same worker that is a panel, or is not. */
static int64_t follow(const hs_star_message *messages, const int64_t *next, int64_t at, bool panel)
{
    while (at >= 0 && (messages[at].kind == HS_STAR_PANEL) != panel) at = next[at];
    return at;
}

/* Returns the blocks that leave after a message; a load keeps its blocks. */
static int64_t blocks_leaving(int64_t t, const hs_star_chunk *chunks,
                              const hs_star_message *message)
{
    const hs_star_chunk *chunk = &chunks[message->chunk];
    const hs_star_traffic x = hs__chunk_traffic_of(t, chunk);
    const int64_t first = message->depth;
    if (message->kind == HS_STAR_PANEL) return hs__star_used_up(chunk, &x, first);
    return message->kind == HS_STAR_RESULT ? hs__star_returned(chunk, &x, first) : 0;
}

/* Ends the moment `now` of a worker. */
static void end_moment(int64_t t, const hs_star_chunk *chunks, const hs_star_message *messages,
                       const int64_t *next, holding *x)
{
    for (; x->panel >= 0 && messages[x->panel].compute_end <= x->now;
         x->panel = follow(messages, next, next[x->panel], true))
        x->blocks -= blocks_leaving(t, chunks, &messages[x->panel]);
    for (; x->other >= 0 && messages[x->other].end <= x->now;
         x->other = follow(messages, next, next[x->other], false))
        x->blocks -= blocks_leaving(t, chunks, &messages[x->other]);
    if (x->blocks > x->peak) x->peak = x->blocks;
}

static bool is_valid_log(int64_t t, int32_t p, int64_t count, const hs_star_chunk *chunks,
                         int64_t length, const hs_star_message *messages)
{
    if (length < 0 || (length && !messages)) return false;
    for (int64_t k = 0; k < length; k++) {
        const hs_star_message *x = &messages[k];
        if (x->worker < 0 || x->worker >= p || x->kind < HS_STAR_LOAD || x->kind > HS_STAR_RESULT ||
            x->chunk < 0 || x->chunk >= count || x->depth < 0)
            return false;
        const hs_star_traffic own = hs__chunk_traffic_of(t, &chunks[x->chunk]);
        if (x->depth >= own.length) return false;
    }
    return true;
}

hs_status hs_star_peaks(int64_t t, int32_t p, int64_t count, const hs_star_chunk *chunks,
                        int64_t length, const hs_star_message *messages, int64_t *peaks)
{
    if (!peaks || p < 1 || !are_valid_chunks(t, count, chunks) ||
        !is_valid_log(t, p, count, chunks, length, messages))
        return HS_ERROR_VALUE;
    holding *workers = malloc((size_t)p * sizeof *workers);
    int64_t *next = malloc((size_t)(length + 1) * sizeof *next); /* message of the same worker */
    if (!workers || !next) {
        free(workers);
        free(next);
        return HS_ERROR_MEMORY;
    }
    for (int32_t i = 0; i < p; i++) workers[i] = (holding){.panel = -1, .other = -1};
    for (int64_t k = length; k-- > 0;) {
        holding *x = &workers[messages[k].worker];
        const bool panel = messages[k].kind == HS_STAR_PANEL;
        next[k] = x->other;
        if (x->panel >= 0 && (x->other < 0 || x->panel < x->other)) next[k] = x->panel;
        *(panel ? &x->panel : &x->other) = k;
    }
    for (int64_t k = 0; k < length; k++) {
        const hs_star_message *message = &messages[k];
        const hs_star_chunk *chunk = &chunks[message->chunk];
        holding *x = &workers[message->worker];
        if (message->start > x->now) {
            end_moment(t, chunks, messages, next, x);
            x->now = message->start;
        }
        if (message->kind == HS_STAR_RESULT) continue;
        const hs_star_traffic own = hs__chunk_traffic_of(t, chunk);
        x->blocks += hs__star_carried(chunk, &own, message->kind, message->depth);
    }
    for (int32_t i = 0; i < p; i++) {
        end_moment(t, chunks, messages, next, &workers[i]);
        const wide peak = workers[i].peak;
        peaks[i] = peak < INT64_MAX ? (int64_t)peak : INT64_MAX;
    }
    free(workers);
    free(next);
    return HS_OK;
}
