/* The account of a star's traffic: against the simulation, and against numbers by hand. */
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 3, CHUNKS = 6, LENGTH = 2000 };

/* ---- by hand --------------------------------------------------------------------------------- */

static void by_hand(void)
{
    /* 2 x 3 blocks of C, t = 5 */
    static const struct {
        int32_t held, buffers;
        hs_star_traffic traffic;
        int64_t messages, need; /* with panels of depth 1 */
    } wanted[] = {
        {HS_STAR_HOLD_C, 2, {.held = 6, .in = 5, .length = 5, .work = 6, .every = 1}, 7, 16},
        {HS_STAR_HOLD_C, 1, {.held = 6, .in = 5, .length = 5, .work = 6, .every = 1}, 7, 11},
        {HS_STAR_HOLD_A, 2, {10, 7, 2, 3, 10, 0, 1}, 7, 24},
        {HS_STAR_HOLD_B, 1, {15, 8, 3, 2, 15, 0, 1}, 5, 23},
        {HS_STAR_HOLD_C, HS_STAR_STREAM_A, {6, 1, 0, 10, 3, 3, 2}, 12, 10},
        {HS_STAR_HOLD_C, HS_STAR_STREAM_B, {6, 1, 0, 15, 2, 2, 3}, 17, 9},
    };
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        const hs_star_chunk chunk = {.held = wanted[k].held,
                                     .buffers = wanted[k].buffers,
                                     .height = 2,
                                     .width = 3,
                                     .depth = 1};
        hs_star_traffic traffic;
        int64_t count, need;
        CHECK(hs_star_chunk_traffic(5, &chunk, &traffic) == HS_OK &&
              memcmp(&traffic, &wanted[k].traffic, sizeof traffic) == 0);
        CHECK(hs_star_message_count(5, 1, &chunk, &count) == HS_OK && count == wanted[k].messages);
        CHECK(hs_star_needs(5, 1, 1, &chunk, &need) == HS_OK && need == wanted[k].need);
    }
}

/* ---- against the simulation ------------------------------------------------------------------ */

typedef struct instance {
    hs_star star;
    double times[MAX], costs[MAX];
    int64_t memory[MAX];
    int64_t count;
    hs_star_chunk chunks[CHUNKS];
} instance;

/* Draws chunks of any kind, and the memory that they need. */
static void draw(instance *x)
{
    int32_t last[MAX]; /* what the worker's last chunk holds; -1: it has none */
    const int32_t p = 1 + (int32_t)check_random(MAX);
    x->star = (hs_star){.r = 6,
                        .s = 6,
                        .t = 1 + check_random(5),
                        .p = p,
                        .cycle_times = x->times,
                        .link_costs = x->costs,
                        .memory = x->memory};
    x->count = 1 + check_random(CHUNKS);
    for (int32_t i = 0; i < p; i++) {
        x->times[i] = 1 + check_random(5);
        x->costs[i] = check_random(4);
        last[i] = -1;
    }
    for (int64_t k = 0; k < x->count; k++) {
        const int32_t worker = (int32_t)check_random((unsigned)p);
        const int streams = check_random(3) == 0;
        hs_star_chunk *chunk = &x->chunks[k];
        *chunk = (hs_star_chunk){.worker = worker,
                                 .held = streams ? HS_STAR_HOLD_C : (int32_t)check_random(3),
                                 .buffers = 1 + (int32_t)check_random(2),
                                 .height = 1 + check_random(4),
                                 .width = 1 + check_random(4),
                                 .depth = streams ? 1 : 1 + check_random(3)};
        if (streams) chunk->buffers = -(int32_t)check_random(2);
        chunk->ahead =
            chunk->held == HS_STAR_HOLD_C && last[worker] <= HS_STAR_HOLD_C && check_random(2);
        last[worker] = chunk->held;
    }
    CHECK(hs_star_needs(x->star.t, p, x->count, x->chunks, x->memory) == HS_OK);
}

static hs_status run(const instance *x, int32_t order, hs_star_message *messages, int64_t *count)
{
    double makespan;
    return hs_star_simulate(&x->star, x->count, x->chunks, order, 0, NULL, 0, NULL, messages, count,
                            &makespan);
}

/* Each worker has enough memory, and none could do with less. */
static void check_needs(instance *x, int64_t count)
{
    for (int32_t i = 0; i < x->star.p; i++) {
        if (!x->memory[i]) continue;
        x->memory[i]--;
        CHECK(run(x, HS_STAR_DEMAND, NULL, &count) == HS_ERROR_VALUE);
        x->memory[i]++;
    }
}

/* The messages of a worker, in their order, are the steps of its pipelined chunks. A panel starts
 * after the panels that it waits for. */
static void check_steps(const instance *x, int32_t worker, int64_t count,
                        const hs_star_message *messages)
{
    static hs_star_step steps[LENGTH];
    double computed[LENGTH];
    int64_t at = 0;
    for (int64_t first = 0; first < x->count;) {
        hs_star_chunk own[CHUNKS];
        int64_t numbers[CHUNKS];
        int64_t length = 0;
        int64_t k = first;
        for (; k < x->count; k++) {
            if (x->chunks[k].worker != worker) continue;
            if (length && !x->chunks[k].ahead) break;
            numbers[length] = k;
            own[length++] = x->chunks[k];
        }
        first = k;
        if (!length) continue;
        int64_t expected;
        int64_t panels = 0;
        CHECK(hs_star_message_count(x->star.t, length, own, &expected) == HS_OK);
        CHECK(hs_star_chunk_steps(x->star.t, length, own, steps) == HS_OK);
        for (int64_t j = 0; j < expected; j++, at++) {
            while (at < count && messages[at].worker != worker) at++;
            if (!CHECK(at < count)) return;
            CHECK(messages[at].kind == steps[j].kind && messages[at].depth == steps[j].depth &&
                  messages[at].chunk == numbers[steps[j].chunk]);
            CHECK(steps[j].after <= panels);
            if (steps[j].after) CHECK(messages[at].start >= computed[steps[j].after - 1]);
            if (messages[at].kind == HS_STAR_PANEL) computed[panels++] = messages[at].compute_end;
        }
    }
    for (; at < count; at++) CHECK(messages[at].worker != worker);
}

/* The blocks of a worker just after the moment `now`, counted message by message. */
static int64_t blocks_at(const instance *x, int32_t worker, double now, int64_t count,
                         const hs_star_message *messages)
{
    int64_t blocks = 0;
    for (int64_t k = 0; k < count; k++) {
        const hs_star_message *y = &messages[k];
        if (y->worker != worker) continue;
        const hs_star_chunk *chunk = &x->chunks[y->chunk];
        const int64_t h = chunk->height;
        const int64_t v = chunk->width;
        const int64_t t = x->star.t;
        const int64_t length[] = {t, v, h};
        const int64_t held[] = {h * v, h * t, v * t};
        const int64_t read[] = {h + v, t, t}, back[] = {0, h, v}; /* per layer */
        const int come = y->start <= now;
        const int gone = (y->kind == HS_STAR_PANEL ? y->compute_end : y->end) <= now;
        if (y->kind == HS_STAR_LOAD) {
            blocks += come ? held[chunk->held] : 0;
        } else if (chunk->buffers < 1) {
            const int64_t line = chunk->buffers == HS_STAR_STREAM_A ? h : v;
            if (y->kind == HS_STAR_RESULT) blocks -= gone ? h * v : 0;
            else
                blocks += come - gone + (come && y->depth % line == 0 ? h * v / line : 0) -
                          (gone && y->depth % line == line - 1 ? h * v / line : 0);
        } else {
            const int32_t o = chunk->held;
            const int64_t left = length[o] - y->depth;
            const int64_t deep = hs__min(left, chunk->depth);
            if (y->kind == HS_STAR_PANEL)
                blocks += deep * ((come ? read[o] + back[o] : 0) - (gone ? read[o] : 0));
            else if (o == HS_STAR_HOLD_C) blocks -= gone ? h * v : 0;
            else blocks -= gone ? deep * back[o] + (deep == left ? held[o] : 0) : 0;
        }
    }
    return blocks;
}

static void check_peaks(const instance *x, int64_t count, const hs_star_message *messages)
{
    int64_t peaks[MAX];
    CHECK(hs_star_peaks(x->star.t, x->star.p, x->count, x->chunks, count, messages, peaks) ==
          HS_OK);
    for (int32_t i = 0; i < x->star.p; i++) {
        int64_t peak = 0;
        for (int64_t k = 0; k < count; k++) {
            const int64_t blocks = blocks_at(x, i, messages[k].start, count, messages);
            if (messages[k].worker == i && blocks > peak) peak = blocks;
        }
        CHECK(peaks[i] == peak && peak <= x->memory[i]);
    }
}

static void against_the_simulation(void)
{
    for (int round = 0; round < CHECK_MANY(1500, 300); round++) {
        static instance x;
        static hs_star_message messages[LENGTH];
        int64_t count, expected;
        draw(&x);
        CHECK(hs_star_message_count(x.star.t, x.count, x.chunks, &expected) == HS_OK);
        if (!CHECK(expected <= LENGTH)) continue;
        if (!CHECK(run(&x, round % 2 ? HS_STAR_DEMAND : HS_STAR_ROUND_ROBIN, messages, &count) ==
                   HS_OK))
            continue;
        CHECK(count == expected);
        for (int32_t i = 0; i < x.star.p; i++) check_steps(&x, i, count, messages);
        check_peaks(&x, count, messages);
        check_needs(&x, count);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Logs that no simulation writes: their sums do not fit into 64 bits. */
static void impossible_logs(void)
{
    const hs_star_chunk chunk = {
        .buffers = 2, .height = INT32_MAX, .width = INT32_MAX, .depth = INT64_MAX};
    hs_star_message messages[8] = {0};
    int64_t peak;
    for (int k = 0; k < 8; k++) messages[k].start = messages[k].end = k;
    CHECK(hs_star_peaks(INT32_MAX, 1, 1, &chunk, 8, messages, &peak) == HS_OK);
    CHECK(peak == INT64_MAX);
    for (int k = 0; k < 8; k++) messages[k].kind = HS_STAR_RESULT;
    CHECK(hs_star_peaks(INT32_MAX, 1, 1, &chunk, 8, messages, &peak) == HS_OK);
    CHECK(peak == 0);
}

static void refusals(void)
{
    const hs_star_chunk good = {.buffers = 2, .height = 2, .width = 3, .depth = 1};
    hs_star_chunk bad[12];
    for (int k = 0; k < 12; k++) bad[k] = good;
    bad[0].held = 3;
    bad[1].held = -1;
    bad[2].buffers = 3;
    bad[3].buffers = -2;
    bad[4].height = 0;
    bad[5].width = INT64_C(1) << 31;
    bad[6].depth = 0;
    bad[7].ahead = 2;
    bad[8].ahead = 1;
    bad[8].held = HS_STAR_HOLD_A;
    bad[9].buffers = HS_STAR_STREAM_A;
    bad[9].depth = 2;
    bad[10].buffers = HS_STAR_STREAM_B;
    bad[10].held = HS_STAR_HOLD_A;
    bad[11].ahead = -1;
    hs_star_traffic traffic;
    hs_star_step steps[8];
    int64_t count, needs[2], peaks[2];
    for (int k = 0; k < 12; k++) {
        CHECK(hs_star_chunk_traffic(5, &bad[k], &traffic) == HS_ERROR_VALUE);
        CHECK(hs_star_message_count(5, 1, &bad[k], &count) == HS_ERROR_VALUE);
        CHECK(hs_star_needs(5, 1, 1, &bad[k], needs) == HS_ERROR_VALUE);
        CHECK(hs_star_chunk_steps(5, 1, &bad[k], steps) == HS_ERROR_VALUE);
        CHECK(hs_star_peaks(5, 1, 1, &bad[k], 0, NULL, peaks) == HS_ERROR_VALUE);
    }
    CHECK(hs_star_chunk_traffic(0, &good, &traffic) == HS_ERROR_VALUE);
    CHECK(hs_star_chunk_traffic(INT64_C(1) << 31, &good, &traffic) == HS_ERROR_VALUE);
    CHECK(hs_star_message_count(5, -1, &good, &count) == HS_ERROR_VALUE);
    CHECK(hs_star_message_count(5, 0, NULL, &count) == HS_OK && count == 0);
    CHECK(hs_star_chunk_steps(5, 0, &good, steps) == HS_ERROR_VALUE);
    const hs_star_chunk mixed[] = {
        {.held = HS_STAR_HOLD_A, .buffers = 1, .height = 1, .width = 1, .depth = 1}, good};
    CHECK(hs_star_chunk_steps(5, 2, mixed, steps) == HS_ERROR_VALUE);
    hs_star_chunk other = good;
    other.worker = 1;
    CHECK(hs_star_needs(5, 1, 1, &other, needs) == HS_ERROR_VALUE);
    CHECK(hs_star_needs(5, 2, 1, &other, needs) == HS_OK && needs[0] == 0 && needs[1] == 16);

    /* chunks that no memory holds */
    const hs_star_chunk vast = {.held = HS_STAR_HOLD_A,
                                .buffers = 2,
                                .height = INT32_MAX,
                                .width = INT32_MAX,
                                .depth = INT64_MAX};
    CHECK(hs_star_needs(INT32_MAX, 1, 1, &vast, needs) == HS_OK && needs[0] == INT64_MAX);

    const hs_star_message message = {.kind = HS_STAR_PANEL, .depth = 4};
    hs_star_message wrong[5] = {message, message, message, message, message};
    wrong[0].worker = 1;
    wrong[1].kind = 3;
    wrong[2].chunk = 1;
    wrong[3].depth = 5;
    wrong[4].depth = -1;
    for (int k = 0; k < 5; k++)
        CHECK(hs_star_peaks(5, 1, 1, &good, 1, &wrong[k], peaks) == HS_ERROR_VALUE);
    CHECK(hs_star_peaks(5, 1, 1, &good, 1, &message, peaks) == HS_OK);
    CHECK(hs_star_peaks(5, 1, 0, NULL, 0, NULL, peaks) == HS_OK && peaks[0] == 0);
    needs[0] = -1;
    CHECK_SCARCE(hs_star_needs(5, 1, 1, &good, needs), needs[0] == -1);
    peaks[0] = -1;
    CHECK_SCARCE(hs_star_peaks(5, 1, 1, &good, 1, &message, peaks), peaks[0] == -1);
}

int main(void)
{
    by_hand();
    against_the_simulation();
    impossible_logs();
    refusals();
    return check_result();
}
