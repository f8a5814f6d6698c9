/* Products on a star: the values of the spec, schedules judged by the model alone, replay, bounds,
 * refusals. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 6, CELLS = 16 * 16, METHODS = 7 };

typedef struct instance {
    hs_star star;
    double times[MAX], costs[MAX];
    int64_t memory[MAX];
} instance;

static void draw_instance(instance *x)
{
    static const int64_t sizes[] = {0, 3, 5, 7, 12, 21, 32, 45, 60, 140};
    const int32_t p = 1 + (int32_t)check_random(MAX);
    for (int32_t i = 0; i < p; i++) {
        x->times[i] = 1 + check_random(7);
        x->costs[i] = check_random(5);
        x->memory[i] = sizes[check_random(10)];
    }
    x->memory[check_random((unsigned)p)] = sizes[2 + check_random(8)];
    x->star = (hs_star){1 + check_random(12),
                        1 + check_random(12),
                        1 + check_random(6),
                        p,
                        x->times,
                        x->costs,
                        x->memory};
}

/* ---- the paper ------------------------------------------------------------------------------- */

static void golden(void)
{
    static const double costs[3][3] = {{1, 2}, {1, 1, 1}, {1, 1}};
    static const double times[3][3] = {{2, 3}, {3, 3, 3}, {1, 4}};
    static const int64_t memory[3][3] = {{12, 21}, {12, 12, 12}, {32, 12}};
    const hs_star stars[] = {{4, 8, 3, 2, times[0], costs[0], memory[0]},
                             {6, 9, 4, 3, times[1], costs[1], memory[1]},
                             {3, 7, 2, 2, times[2], costs[2], memory[2]}};
    static const double wanted[3][METHODS] = {{272, 288, 250, 299, 288, 276, 340},
                                              {420, 420, 401, 420, 401, 399, 456},
                                              {97, 97, 97, 93, 90, 100, 98}};
    hs_star_summary summary;
    int64_t sides[3], columns[3];
    for (int k = 0; k < 3; k++)
        for (int32_t method = 0; method < METHODS; method++) {
            CHECK(hs_star_plan(&stars[k], HS_STAR_HOM + method, HS_STAR_ALL, 0, NULL, &summary,
                               sides, columns, NULL, NULL) == HS_OK);
            CHECK(summary.makespan == wanted[k][method]);
        }
    CHECK(hs_star_plan(&stars[0], HS_STAR_HET, HS_STAR_ALL, 0, NULL, &summary, sides, columns, NULL,
                       NULL) == HS_OK);
    for (int k = 0; k < 8; k++) CHECK(summary.variants[k] == (k % 2 ? 288 : 250));
    CHECK(columns[0] == 5 && columns[1] == 3 && sides[0] == 2 && sides[1] == 3 &&
          summary.variant == 0);

    static const int64_t sizes[][4] = {
        {21, 3, 4, 2}, {5242, 70, 71, 41}, {10485, 100, 101, 59}, {20971, 142, 144, 83}};
    for (int k = 0; k < 4; k++)
        for (int32_t layout = 0; layout < 3; layout++)
            CHECK(hs_star_side(sizes[k][0], layout) == sizes[k][1 + layout]);
    for (int64_t m = 0; m < 3000; m++) {
        const int64_t a = hs_star_side(m, HS_STAR_DOUBLE);
        const int64_t b = hs_star_side(m, HS_STAR_SINGLE);
        const int64_t c = hs_star_side(m, HS_STAR_TOLEDO);
        CHECK(a * a + 4 * a <= m && (a + 1) * (a + 1) + 4 * (a + 1) > m);
        CHECK((b == 0 || 1 + b + b * b <= m) && 1 + (b + 1) + (b + 1) * (b + 1) > m);
        CHECK(3 * c * c <= m && 3 * (c + 1) * (c + 1) > m);
    }
    CHECK(hs_star_side(-1, HS_STAR_DOUBLE) == 0 &&
          hs_star_side(INT64_MAX, HS_STAR_TOLEDO) == 54794158);
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* Checks port, order, durations, coverage and causality. The number of buffers follows from what a
 * panel waits for. */
static int is_valid_log(const instance *x, int toledo, const int64_t *sides, int64_t chunk_count,
                        const hs_star_chunk *chunks, int64_t count, const hs_star_message *messages)
{
    /* [0]: when C has arrived; from 1 on: when the panels are computed */
    static double ends[CELLS][16];
    int painted[CELLS] = {0};
    int sent[CELLS] = {0};
    int stage[CELLS] = {0};
    int good = 1;
    double port = 0;
    double computed[MAX] = {0};
    double released[MAX] = {0};
    for (int64_t k = 0; k < chunk_count; k++)
        for (int64_t i = chunks[k].row; i < chunks[k].row + chunks[k].height; i++)
            for (int64_t j = chunks[k].col; j < chunks[k].col + chunks[k].width; j++)
                painted[i * 16 + j]++;
    for (int64_t i = 0; i < x->star.r; i++)
        for (int64_t j = 0; j < x->star.s; j++) good &= painted[i * 16 + j] == 1;
    for (int64_t k = 0; k < count; k++) {
        const hs_star_message *y = &messages[k];
        const hs_star_chunk *chunk = &chunks[y->chunk];
        const int32_t i = y->worker;
        const int32_t c = (int32_t)y->chunk;
        double blocks = (double)(chunk->height * chunk->width);
        double own;
        good &= chunk->worker == i;
        if (y->kind == HS_STAR_LOAD) {
            good &= stage[c]++ == 0;
            own = released[i];
            ends[c][0] = y->end;
        } else if (y->kind == HS_STAR_PANEL) {
            const int64_t side = toledo ? sides[i] : 1;
            const int64_t depth = hs__min(side, x->star.t - y->depth);
            const int n = stage[c];
            const int wait = toledo ? n - 1 : n - 2;
            good &= n > 0 && y->depth == sent[c];
            own = ends[c][hs__max(wait, 0)];
            const double work = blocks * (double)depth * x->times[i];
            blocks = (double)(depth * (chunk->height + chunk->width));
            good &= y->compute_start == fmax(y->end, computed[i]) &&
                    y->compute_end == y->compute_start + work;
            computed[i] = ends[c][n] = y->compute_end;
            sent[c] += (int)depth;
            stage[c]++;
        } else {
            good &= sent[c] == x->star.t;
            own = computed[i];
            released[i] = y->end;
            sent[c] = -1;
        }
        good &= y->start == fmax(port, own) && y->end == y->start + blocks * x->costs[i];
        port = y->end;
    }
    for (int64_t k = 0; k < chunk_count; k++) good &= sent[k] == -1;
    return good;
}

/* Member by member: the bytes between them have any value. */
static bool has_same_members(const hs_star_summary *a, const hs_star_summary *b)
{
    for (int k = 0; k < 8; k++)
        if (a->variants[k] != b->variants[k]) return false;
    return a->makespan == b->makespan && a->chunk_count == b->chunk_count &&
           a->message_count == b->message_count && a->variant == b->variant;
}

static void schedules(void)
{
    static hs_star_chunk chunks[CELLS];
    static hs_star_message messages[CELLS * 8], again[CELLS * 8];
    static int32_t served[CELLS * 8];
    for (int round = 0; round < 1200; round++) {
        instance x;
        draw_instance(&x);
        const int32_t method = HS_STAR_HOM + (int32_t)check_random(METHODS);
        const int32_t eager = (int32_t)check_random(2);
        const int toledo = method == HS_STAR_BMM;
        hs_star_summary summary, counted;
        int64_t sides[MAX], columns[MAX], count;
        int64_t total = 0;
        double makespan, bounds[HS_STAR_BOUNDS];
        CHECK(hs_star_plan(&x.star, method, HS_STAR_ALL, eager, NULL, &counted, sides, columns,
                           NULL, NULL) == HS_OK);
        if (!CHECK(counted.chunk_count <= CELLS && counted.message_count <= CELLS * 8)) continue;
        CHECK(hs_star_plan(&x.star, method, HS_STAR_ALL, eager, NULL, &summary, sides, columns,
                           chunks, messages) == HS_OK);
        CHECK(has_same_members(&summary, &counted));
        CHECK(is_valid_log(&x, toledo, sides, summary.chunk_count, chunks, summary.message_count,
                           messages));
        CHECK(messages[summary.message_count - 1].end == summary.makespan);
        for (int32_t i = 0; i < x.star.p; i++) total += columns[i];
        CHECK(total == x.star.s);
        for (int64_t k = 0; k < summary.message_count; k++) served[k] = messages[k].worker;
        CHECK(hs_star_simulate(&x.star, summary.chunk_count, chunks, HS_STAR_LISTED,
                               summary.message_count, served, 0, NULL, again, &count,
                               &makespan) == HS_OK);
        CHECK(count == summary.message_count && makespan == summary.makespan);
        CHECK(memcmp(messages, again, (size_t)count * sizeof *messages) == 0);
        CHECK(hs_star_bounds(&x.star, toledo ? HS_STAR_TOLEDO : HS_STAR_DOUBLE, NULL, bounds) ==
              HS_OK);
        for (int k = 0; k < HS_STAR_BOUNDS; k++) CHECK(bounds[k] >= 0 && bounds[k] <= makespan);
        CHECK(bounds[HS_STAR_STEADY] <= bounds[HS_STAR_STEADY_C] * (1 + 1e-9));
    }
}

/* ---- held operands --------------------------------------------------------------------------- */

/* One worker, r x s x t = 2 x 4 x 3, c = 1, w = 1: A of 6 blocks is loaded, then each column takes
 * 2 + 3 blocks and 6 updates, and sends 2 blocks back. */
static void holding(void)
{
    const double one[] = {1};
    const int64_t memory[] = {16};
    const hs_star columns = {2, 4, 3, 1, one, one, memory};
    const hs_star rows = {4, 2, 3, 1, one, one, memory};
    static const struct {
        int32_t kind;
        int64_t depth;
        double start, end, compute_end;
    } wanted[] = {{HS_STAR_LOAD, 0, 0, 6, 6},     {HS_STAR_PANEL, 0, 6, 11, 17},
                  {HS_STAR_PANEL, 1, 11, 16, 23}, {HS_STAR_RESULT, 0, 17, 19, 19},
                  {HS_STAR_PANEL, 2, 19, 24, 30}, {HS_STAR_RESULT, 1, 24, 26, 26},
                  {HS_STAR_PANEL, 3, 26, 31, 37}, {HS_STAR_RESULT, 2, 31, 33, 33},
                  {HS_STAR_RESULT, 3, 37, 39, 39}};
    for (int32_t held = HS_STAR_HOLD_A; held <= HS_STAR_HOLD_B; held++)
        for (int32_t order = HS_STAR_ROUND_ROBIN; order <= HS_STAR_DEMAND; order++) {
            const hs_star *star = held == HS_STAR_HOLD_A ? &columns : &rows;
            const hs_star_chunk chunk = {
                .held = held, .buffers = 2, .height = star->r, .width = star->s, .depth = 1};
            hs_star_message messages[9];
            int64_t count;
            double makespan;
            CHECK(hs_star_simulate(star, 1, &chunk, order, 0, NULL, 0, NULL, messages, &count,
                                   &makespan) == HS_OK);
            if (!CHECK(count == 9 && makespan == 39)) continue;
            for (int k = 0; k < 9; k++) {
                CHECK(messages[k].kind == wanted[k].kind && messages[k].depth == wanted[k].depth &&
                      messages[k].start == wanted[k].start);
                CHECK(messages[k].end == wanted[k].end &&
                      messages[k].compute_end == wanted[k].compute_end);
            }
        }
    /* One buffer, panels of three columns: the load ends at 6; panels arrive, are computed and sent
     * back at (21, 39, 45) and (50, 56, 58). */
    const hs_star_chunk chunk = {
        .held = HS_STAR_HOLD_A, .buffers = 1, .height = 2, .width = 4, .depth = 3};
    const int64_t wide[] = {21};
    const hs_star single = {2, 4, 3, 1, one, one, wide};
    int64_t count;
    double makespan;
    CHECK(hs_star_simulate(&single, 1, &chunk, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_OK &&
          count == 5 && makespan == 58);
}

/* Section 3: 2 x 2 blocks of C stay, a row of B comes for each layer, A comes block by block. By
 * columns, A and B change places. */
static void streaming(void)
{
    const double one[] = {1};
    const int64_t memory[] = {7};
    const hs_star star = {2, 2, 2, 1, one, one, memory};
    static const double starts[] = {0, 4, 9, 12, 17, 20};
    static const double ends[] = {4, 7, 10, 15, 18, 24};
    static const double computed[] = {4, 9, 12, 17, 20, 24};
    hs_star_summary summary;
    hs_star_chunk chunks[4];
    hs_star_message messages[6];
    int64_t sides[1], columns[1], count;
    double makespan;
    CHECK(hs_star_side(7, HS_STAR_SINGLE) == 2 && hs_star_side(6, HS_STAR_SINGLE) == 1);
    CHECK(hs_star_plan(&star, HS_STAR_REUSE, HS_STAR_ALL, 0, NULL, &summary, sides, columns, chunks,
                       messages) == HS_OK);
    CHECK(summary.chunk_count == 1 && chunks[0].buffers == HS_STAR_STREAM_A && sides[0] == 2 &&
          columns[0] == 2 && summary.makespan == 24);
    if (!CHECK(summary.message_count == 6)) return;
    for (int k = 0; k < 6; k++)
        CHECK(messages[k].start == starts[k] && messages[k].end == ends[k] &&
              messages[k].compute_end == computed[k]);
    for (int k = 1; k < 5; k++)
        CHECK(messages[k].kind == HS_STAR_PANEL && messages[k].depth == k - 1);
    chunks[0].buffers = HS_STAR_STREAM_B;
    CHECK(hs_star_simulate(&star, 1, chunks, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_OK &&
          count == 6 && makespan == 24);
    const int64_t less[] = {6};
    const hs_star tight = {2, 2, 2, 1, one, one, less};
    CHECK(hs_star_simulate(&tight, 1, chunks, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_ERROR_VALUE);
    const hs_star_share share = {2, 1, 1, HS_STAR_HOLD_C, HS_STAR_STREAM_A, 0};
    CHECK(hs_star_cut(&star, 1, &share, &count, chunks) == HS_OK && count == 1 &&
          chunks[0].buffers == HS_STAR_STREAM_B);
}

/* Four messages for each chunk, two of them at once: a run that looks only after certain numbers of
 * messages may never look. */
static void cancelling(void)
{
    enum { CHUNKS = 700 };
    static hs_star_chunk chunks[CHUNKS];
    static int32_t served[2 * CHUNKS];
    const double one[] = {1};
    const int64_t memory[] = {5};
    const hs_star star = {CHUNKS, 1, 2, 1, one, one, memory};
    for (int k = 0; k < CHUNKS; k++)
        chunks[k] = (hs_star_chunk){.buffers = 2, .row = k, .height = 1, .width = 1, .depth = 1};
    const int no = 0;
    const int yes = 1;
    int64_t count;
    double makespan;
    for (int32_t eager = 0; eager < 2; eager++) {
        CHECK(hs_star_simulate(&star, CHUNKS, chunks, HS_STAR_PANELS, 2 * CHUNKS, served, eager,
                               &no, NULL, &count, &makespan) == HS_OK &&
              count == 4 * CHUNKS);
        CHECK(hs_star_simulate(&star, CHUNKS, chunks, HS_STAR_PANELS, 2 * CHUNKS, served, eager,
                               &yes, NULL, &count, &makespan) == HS_ERROR_CANCELLED);
    }
}

/* ---- chunks ahead ---------------------------------------------------------------------------- */

enum { L = HS_STAR_LOAD, PN = HS_STAR_PANEL, R = HS_STAR_RESULT };

/* One worker, 1 x 2 x 3, c = 1, w = 3: one block of C per chunk. The load and the first two panels
 * of the second chunk come before the result of the first one. */
static void ahead(void)
{
    const double one[] = {1};
    const double three[] = {3};
    const int64_t memory[] = {6};
    const int64_t less[] = {5};
    const hs_star star = {1, 2, 3, 1, three, one, memory};
    const hs_star tight = {1, 2, 3, 1, three, one, less};
    hs_star_chunk chunks[] = {
        {.buffers = 2, .height = 1, .width = 1, .depth = 1},
        {.buffers = 2, .col = 1, .height = 1, .width = 1, .depth = 1, .ahead = 1}};
    static const struct {
        int32_t kind;
        int64_t chunk;
        double start, end, compute_end;
    } wanted[] = {{L, 0, 0, 1, 1},     {PN, 0, 1, 3, 6},   {PN, 0, 3, 5, 9},    {PN, 0, 6, 8, 12},
                  {L, 1, 8, 9, 9},     {PN, 1, 9, 11, 15}, {PN, 1, 12, 14, 18}, {R, 0, 14, 15, 15},
                  {PN, 1, 15, 17, 21}, {R, 1, 21, 22, 22}};
    hs_star_message messages[10];
    int64_t count;
    double makespan;
    for (int32_t order = HS_STAR_ROUND_ROBIN; order <= HS_STAR_LAGGING; order++) {
        const int32_t all[10] = {0};
        const int32_t length = order == HS_STAR_PANELS ? 6 : order == HS_STAR_LISTED ? 10 : 0;
        CHECK(hs_star_simulate(&star, 2, chunks, order, length, all, order & 1, NULL, messages,
                               &count, &makespan) == HS_OK);
        if (!CHECK(count == 10 && makespan == 22)) continue;
        for (int k = 0; k < 10; k++) {
            CHECK(messages[k].kind == wanted[k].kind && messages[k].chunk == wanted[k].chunk &&
                  messages[k].start == wanted[k].start);
            CHECK(messages[k].end == wanted[k].end &&
                  messages[k].compute_end == wanted[k].compute_end);
        }
    }
    CHECK(hs_star_simulate(&tight, 2, chunks, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_ERROR_VALUE);
    chunks[0].ahead = 1; /* there is no chunk before it */
    CHECK(hs_star_simulate(&star, 2, chunks, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_OK &&
          makespan == 22);
    chunks[1].ahead = 0;
    CHECK(hs_star_simulate(&tight, 2, chunks, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_OK &&
          makespan == 26);
    const int64_t plenty[] = {60};
    const hs_star wide = {1, 2, 3, 1, three, one, plenty};
    for (int32_t held = HS_STAR_HOLD_C; held <= HS_STAR_HOLD_B; held++)
        for (int k = 0; k < 2; k++)
            for (int32_t flag = -1; flag <= 2; flag++) {
                hs_star_chunk two[] = {chunks[0], chunks[1]};
                two[0].ahead = 0;
                two[1].ahead = flag;
                two[k].held = held;
                const int good = flag == 0 || (flag == 1 && held == HS_STAR_HOLD_C);
                CHECK(hs_star_simulate(&wide, 2, two, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL,
                                       &count, &makespan) == (good ? HS_OK : HS_ERROR_VALUE));
            }
}

/* The method: the same schedule from its log, above all bounds. A worker's chunks after the first
 * one are ahead, except where columns had run out. */
static void overlapped(void)
{
    static hs_star_chunk chunks[CELLS];
    static hs_star_message messages[CELLS * 8], again[CELLS * 8];
    static int32_t served[CELLS * 8];
    for (int64_t m = 0; m < 3000; m++) {
        const int64_t side = hs_star_side(m, HS_STAR_PAIR);
        CHECK(2 * side * side + 4 * side <= m && 2 * (side + 1) * (side + 1) + 4 * (side + 1) > m);
    }
    for (int round = 0; round < 400; round++) {
        instance x;
        draw_instance(&x);
        hs_star_summary summary;
        int64_t sides[MAX], columns[MAX], count;
        int64_t most = 0;
        int64_t first[MAX];
        double makespan, bounds[HS_STAR_BOUNDS];
        for (int32_t i = 0; i < x.star.p; i++) {
            if (x.memory[i] > most) most = x.memory[i];
            first[i] = 1;
        }
        const hs_status status = hs_star_plan(&x.star, HS_STAR_OVERLAP, HS_STAR_ALL, round & 1,
                                              NULL, &summary, sides, columns, NULL, NULL);
        if (!CHECK(status == (most < 6 ? HS_ERROR_INFEASIBLE : HS_OK)) || status) continue;
        if (!CHECK(summary.chunk_count <= CELLS && summary.message_count <= CELLS * 8)) continue;
        CHECK(hs_star_plan(&x.star, HS_STAR_OVERLAP, HS_STAR_ALL, round & 1, NULL, &summary, sides,
                           columns, chunks, messages) == HS_OK);
        for (int64_t k = 0; k < summary.chunk_count; k++) {
            CHECK(!(first[chunks[k].worker] && chunks[k].ahead) && chunks[k].buffers == 2 &&
                  chunks[k].depth == 1);
            first[chunks[k].worker] = 0;
        }
        for (int64_t k = 0; k < summary.message_count; k++) served[k] = messages[k].worker;
        CHECK(hs_star_simulate(&x.star, summary.chunk_count, chunks, HS_STAR_LISTED,
                               summary.message_count, served, 0, NULL, again, &count,
                               &makespan) == HS_OK);
        CHECK(makespan == summary.makespan && count == summary.message_count &&
              memcmp(messages, again, (size_t)count * sizeof *messages) == 0);
        CHECK(hs_star_bounds(&x.star, HS_STAR_PAIR, NULL, bounds) == HS_OK);
        for (int k = 0; k < HS_STAR_BOUNDS; k++) CHECK(bounds[k] >= 0 && bounds[k] <= makespan);
    }
}

/* ---- certificates ---------------------------------------------------------------------------- */

/* The makespan of one chunk of r x s blocks on one worker. */
static double makespan_of_chunk(const hs_star *star, int32_t held)
{
    const hs_star_chunk chunk = {
        .held = held, .buffers = 2, .height = star->r, .width = star->s, .depth = 1};
    int64_t count;
    double makespan = NAN;
    CHECK(hs_star_simulate(star, 1, &chunk, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_OK);
    return makespan;
}

/* In the smallest numbers there are, products round up, but a bound must not. And chunks that leave
 * out a part of C may end before the bound: they are no plan. */
static void certificates(void)
{
    const double least[] = {DBL_TRUE_MIN};
    const double one[] = {1};
    const int64_t memory[] = {1000};
    hs_certificate c;
    const hs_star tiny = {1, 16, 4, 1, least, least, memory};
    const double best = makespan_of_chunk(&tiny, HS_STAR_HOLD_A);
    double bounds[HS_STAR_BOUNDS];
    CHECK(hs_star_bounds(&tiny, HS_STAR_DOUBLE, NULL, bounds) == HS_OK);
    for (int k = 0; k < HS_STAR_BOUNDS; k++) CHECK(bounds[k] <= best);
    const double other = makespan_of_chunk(&tiny, HS_STAR_HOLD_C);
    CHECK(other > best && hs_star_certificate(&tiny, other, NULL, &c) == HS_OK && !c.optimal);

    const hs_star whole = {4, 4, 4, 1, one, one, memory};
    const hs_star part = {1, 1, 4, 1, one, one, memory};
    const double early = makespan_of_chunk(&part, HS_STAR_HOLD_C);
    CHECK(hs_star_certificate(&whole, early, NULL, &c) == HS_ERROR_VALUE);
    CHECK(hs_star_certificate(&whole, 0, NULL, &c) == HS_ERROR_VALUE);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refusals(void)
{
    const double good[] = {1, 2};
    const double zero[] = {0, 1};
    const double negative[] = {1, -1};
    const double nan[] = {NAN, 1};
    const double large[] = {1, INFINITY};
    const int64_t memory[] = {12, 5};
    const int64_t little[] = {4, 2};
    const int64_t wrong[] = {12, -1};
    hs_star_summary summary = {.makespan = -1};
    int64_t sides[2], columns[2], count;
    double bounds[HS_STAR_BOUNDS], makespan;
    const hs_star fine = {3, 4, 2, 2, good, good, memory};
    const hs_star bad[] = {
        {0, 4, 2, 2, good, good, memory},         {3, 0, 2, 2, good, good, memory},
        {3, 4, 0, 2, good, good, memory},         {3, 4, 2, 0, good, good, memory},
        {INT64_MAX, 4, 2, 2, good, good, memory}, {3, 4, 2, 2, zero, good, memory},
        {3, 4, 2, 2, good, negative, memory},     {3, 4, 2, 2, nan, good, memory},
        {3, 4, 2, 2, good, nan, memory},          {3, 4, 2, 2, large, good, memory},
        {3, 4, 2, 2, good, large, memory},        {3, 4, 2, 2, good, good, wrong}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        CHECK(hs_star_plan(&bad[k], HS_STAR_HET, HS_STAR_ALL, 0, NULL, &summary, sides, columns,
                           NULL, NULL) == HS_ERROR_VALUE);
        CHECK(hs_star_bounds(&bad[k], HS_STAR_DOUBLE, NULL, bounds) == HS_ERROR_VALUE);
        CHECK(hs_star_simulate(&bad[k], 0, NULL, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                               &makespan) == HS_ERROR_VALUE);
    }
    for (int32_t method = HS_STAR_BEST; method <= HS_STAR_EXACT; method++)
        if (method < HS_STAR_HOM || method > HS_STAR_OVERLAP) /* no rule */
            CHECK(hs_star_plan(&fine, method, HS_STAR_ALL, 0, NULL, &summary, sides, columns, NULL,
                               NULL) == HS_ERROR_VALUE);
    CHECK(hs_star_plan(&fine, HS_STAR_HOM, 0, 0, NULL, &summary, sides, columns, NULL, NULL) ==
          HS_ERROR_VALUE);
    CHECK(hs_star_plan(&fine, HS_STAR_HET, 16, 0, NULL, &summary, sides, columns, NULL, NULL) ==
          HS_ERROR_VALUE);
    CHECK(hs_star_plan(&fine, HS_STAR_HET, HS_STAR_FIRST_C | HS_STAR_SPREAD_C, 0, NULL, &summary,
                       sides, columns, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(summary.makespan == -1);
    const hs_star none = {3, 4, 2, 2, good, good, little};
    CHECK(hs_star_plan(&none, HS_STAR_HET, HS_STAR_ALL, 0, NULL, &summary, sides, columns, NULL,
                       NULL) == HS_ERROR_INFEASIBLE);
    CHECK(hs_star_plan(&none, HS_STAR_BMM, HS_STAR_ALL, 0, NULL, &summary, sides, columns, NULL,
                       NULL) == HS_OK);
    CHECK(columns[0] == 4 && columns[1] == 0);

    const hs_star_chunk chunks[] = {{0, HS_STAR_HOLD_C, 2, 0, 0, 2, 2, 1, 0},
                                    {0, HS_STAR_HOLD_C, 2, 2, 0, 1, 2, 1, 0}};
    const int32_t all[] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    const int32_t other[] = {1};
#define SIMULATE(star, order, length, served) \
    hs_star_simulate(star, 2, chunks, order, length, served, 0, NULL, NULL, &count, &makespan)
    CHECK(SIMULATE(&fine, HS_STAR_ROUND_ROBIN, 0, NULL) == HS_OK && count == 8);
    CHECK(SIMULATE(&fine, HS_STAR_LISTED, 8, all) == HS_OK && count == 8);
    CHECK(SIMULATE(&fine, HS_STAR_PANELS, 9, all) == HS_OK && count == 8);
    CHECK(SIMULATE(&fine, HS_STAR_LISTED, 7, all) == HS_ERROR_VALUE);
    CHECK(SIMULATE(&fine, HS_STAR_LISTED, 9, all) == HS_ERROR_VALUE);
    CHECK(SIMULATE(&fine, HS_STAR_PANELS, 3, all) == HS_ERROR_VALUE);
    CHECK(SIMULATE(&fine, HS_STAR_LISTED, 1, other) == HS_ERROR_VALUE);
    CHECK(SIMULATE(&fine, 6, 0, NULL) == HS_ERROR_VALUE);
    const hs_star_chunk wrong_chunks[] = {
        {2, 0, 2, 0, 0, 2, 2, 1, 0},  {0, 3, 2, 0, 0, 2, 2, 1, 0},  {0, -1, 2, 0, 0, 2, 2, 1, 0},
        {0, 0, 3, 0, 0, 1, 1, 1, 0},  {0, 0, -2, 0, 0, 2, 2, 1, 0}, {0, 0, 2, 2, 0, 2, 2, 1, 0},
        {0, 0, 2, 0, 3, 2, 2, 1, 0},  {0, 0, 2, 0, 0, 0, 2, 1, 0},  {0, 0, 2, 0, 0, 2, 2, 0, 0},
        {0, 0, 2, 0, 0, 2, 2, 9, 0},  {0, 1, 2, 0, 0, 3, 1, 1, 0},  {0, 2, 2, 0, 0, 1, 3, 1, 0},
        {1, 0, 2, 0, 0, 2, 2, 1, 0},  {0, 1, 0, 0, 0, 1, 1, 1, 0},  {0, 0, 0, 0, 0, 2, 2, 2, 0},
        {0, 0, -1, 0, 0, 3, 3, 1, 0}, {1, 0, 0, 0, 0, 2, 2, 1, 0}};
    for (size_t k = 0; k < sizeof wrong_chunks / sizeof *wrong_chunks; k++)
        CHECK(hs_star_simulate(&fine, 1, &wrong_chunks[k], HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL,
                               &count, &makespan) == HS_ERROR_VALUE);
    const hs_star_chunk deep = {0, 0, 1, 0, 0, 2, 2, 9, 0};
    CHECK(hs_star_simulate(&fine, 1, &deep, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                           &makespan) == HS_OK &&
          count == 3);
    const hs_star_chunk deepest = {0, 0, 1, 0, 0, 2, 2, INT64_MAX, 0};
    CHECK(hs_star_simulate(&fine, 1, &deepest, HS_STAR_PANELS, 3, all, 0, NULL, NULL, &count,
                           &makespan) == HS_OK &&
          count == 3);
    const hs_star_chunk huge[] = {
        {0, 0, 2, 0, 0, INT64_MAX, 1, 1, 0}, {0, 0, 2, 0, 0, 1, INT64_MAX, 1, 0},
        {0, 0, 2, INT64_MAX, 0, 1, 1, 1, 0}, {0, 0, 2, 0, INT64_MAX, 1, 1, INT64_MAX, 0},
        {0, 0, 2, INT64_MIN, 0, 1, 1, 1, 0}, {0, 0, 2, 0, 0, INT64_MIN, 1, 1, 0}};
    for (size_t k = 0; k < sizeof huge / sizeof *huge; k++)
        CHECK(hs_star_simulate(&fine, 1, &huge[k], HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                               &makespan) == HS_ERROR_VALUE);
    /* h v + h + v is 2^53 + 1, which is no double */
    const int64_t most[] = {INT64_C(1) << 53, 5};
    const int64_t high = 308761440;
    const int64_t broad = 29172033;
    const hs_star wide = {INT32_MAX, INT32_MAX, INT32_MAX, 2, good, good, most};
    for (int32_t held = 0; held < 3; held++) {
        const hs_star_chunk all_of_it = {0, held, 2, 0, 0, INT32_MAX, INT32_MAX, INT64_MAX, 0};
        CHECK(hs_star_simulate(&wide, 1, &all_of_it, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                               &makespan) == HS_ERROR_VALUE);
    }
    for (int64_t fewer = 0; fewer < 2; fewer++) {
        const hs_star flat = {high, broad, 1, 2, good, good, most};
        const hs_star_chunk nearly = {0, 0, 1, 0, 0, high - fewer, broad, 1, 0};
        CHECK(hs_star_simulate(&flat, 1, &nearly, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL, &count,
                               &makespan) == (fewer ? HS_OK : HS_ERROR_VALUE));
    }
    const int64_t less[] = {11, 5};
    const hs_star tight = {3, 4, 2, 2, good, good, less};
    CHECK(SIMULATE(&tight, HS_STAR_DEMAND, 0, NULL) == HS_ERROR_VALUE);
#undef SIMULATE
    CHECK(hs_star_bounds(&fine, 4, NULL, bounds) == HS_ERROR_VALUE);

    const int stop = 1;
    const hs_star long_one = {1000, 1000, 1000, 2, good, good, memory};
    for (int32_t method = HS_STAR_HOM; method <= HS_STAR_OVERLAP; method++)
        CHECK(hs_star_plan(&long_one, method, HS_STAR_ALL, 0, &stop, &summary, sides, columns, NULL,
                           NULL) == HS_ERROR_CANCELLED);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void out_of_memory(void)
{
    const double times[] = {2, 3, 1};
    const double costs[] = {1, 2, 1};
    const int64_t memory[] = {12, 21, 4};
    /* phase 1 grows its lists more than once */
    const hs_star star = {6, 40, 5, 3, times, costs, memory};
    static hs_star_chunk chunks[200];
    static hs_star_message messages[2000];
    hs_star_summary summary;
    int64_t sides[3], columns[3];
    int64_t count = -7;
    double bounds[HS_STAR_BOUNDS] = {-7};
    double makespan = -7;
    for (int32_t method = HS_STAR_HOM; method <= HS_STAR_OVERLAP; method++) {
        sides[0] = columns[0] = -7;
        summary.makespan = -7;
        CHECK_SCARCE(
            hs_star_plan(&star, method, HS_STAR_ALL, 0, NULL, &summary, sides, columns, NULL, NULL),
            sides[0] == -7 && columns[0] == -7 && summary.makespan == -7);
        CHECK(summary.chunk_count <= 200 && summary.message_count <= 2000);
        CHECK_SCARCE(hs_star_plan(&star, method, HS_STAR_ALL, 1, NULL, &summary, sides, columns,
                                  chunks, messages),
                     1);
    }
    CHECK_SCARCE(hs_star_simulate(&star, summary.chunk_count, chunks, HS_STAR_DEMAND, 0, NULL, 0,
                                  NULL, messages, &count, &makespan),
                 count == -7 && makespan == -7);
    count = -7;
    CHECK_SCARCE(hs_star_simulate(&star, summary.chunk_count, chunks, HS_STAR_ROUND_ROBIN, 0, NULL,
                                  1, NULL, NULL, &count, &makespan),
                 count == -7);
    CHECK_SCARCE(hs_star_bounds(&star, HS_STAR_DOUBLE, NULL, bounds), bounds[0] == -7);
}

int main(void)
{
    golden();
    schedules();
    holding();
    streaming();
    cancelling();
    ahead();
    overlapped();
    certificates();
    refusals();
    out_of_memory();
    return check_result();
}
