/* Runs of products on a star: results in every type and layout, the port's log against the model,
 * arenas, cancels, refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "hetsched.h"
#include "run_calls.h"
#include "leaping.h"
#include "matrices.h"
#include "scarce.h"

enum { P = 3, CHUNKS = 36, MESSAGES = 2000 };

typedef struct {
    hs_star star;
    double times[P], costs[P];
    int64_t memory[P], least[P]; /* blocks: with two buffers, with one */
    hs_star_chunk chunks[CHUNKS];
    int64_t chunk_count;
} instance;

/* Draws cuts between 0 and size, at most three parts; returns the number of parts. */
static int draw_cuts(int64_t size, int64_t *at)
{
    int count = 1;
    at[0] = 0;
    for (int k = 0; k < 2; k++) {
        const int64_t next = at[count - 1] + 1 + check_random(3);
        if (next < size) at[count++] = next;
    }
    at[count] = size;
    return count;
}

/* Draws chunks that hold any operand, some of them ahead of the chunk before, with exactly the
 * memory that they need. */
static void draw_instance(instance *x)
{
    *x = (instance){0};
    int64_t rows[4], cols[4];
    int64_t last[P] = {0};
    int64_t pair[P] = {0};
    /* most blocks in panels over a worker's current chunks, each of them ahead of the one before */
    int64_t passing[P] = {0};
    int after_c[P] = {0};
    const int64_t r = 1 + check_random(6);
    const int64_t s = 1 + check_random(6);
    const int64_t t = 1 + check_random(5);
    const int down = draw_cuts(r, rows);
    const int across = draw_cuts(s, cols);
    for (int i = 0; i < P; i++) {
        x->times[i] = 1e-6 * (1 + check_random(5));
        x->costs[i] = 1e-6 * check_random(4);
    }
    for (int top = 0; top < down; top++)
        for (int j = 0; j < across; j++) {
            const int64_t h = rows[top + 1] - rows[top];
            const int64_t v = cols[j + 1] - cols[j];
            hs_star_chunk *chunk = &x->chunks[x->chunk_count++];
            *chunk = (hs_star_chunk){.worker = (int32_t)check_random(P),
                                     .held = (int32_t)check_random(3),
                                     .buffers = 1 + (int32_t)check_random(2),
                                     .row = rows[top],
                                     .col = cols[j],
                                     .height = h,
                                     .width = v,
                                     .depth = 1 + check_random(4)};
            /* by the operand that is held: C, A or B */
            const int64_t held = (const int64_t[]){h * v, h * t, v * t}[chunk->held];
            const int64_t layer = (const int64_t[]){h + v, h + t, v + t}[chunk->held];
            const int64_t length = (const int64_t[]){t, v, h}[chunk->held];
            const int streamed = chunk->held == HS_STAR_HOLD_C && check_random(2);
            if (streamed) {
                chunk->buffers = check_random(2) ? HS_STAR_STREAM_A : HS_STAR_STREAM_B;
                chunk->depth = 1;
            }
            const int64_t panel = streamed ? 1 + (chunk->buffers == HS_STAR_STREAM_A ? v : h)
                                           : layer * hs__min(chunk->depth, length);
            const int64_t passes = (streamed ? 1 : chunk->buffers) * panel;
            const int64_t i = chunk->worker;
            chunk->ahead = chunk->held == HS_STAR_HOLD_C && after_c[i] && check_random(2);
            after_c[i] = chunk->held == HS_STAR_HOLD_C;
            if (!chunk->ahead) last[i] = pair[i] = passing[i] = 0;
            if (last[i] + held > pair[i]) pair[i] = last[i] + held;
            if (passes > passing[i]) passing[i] = passes;
            last[i] = held;
            if (pair[i] + passing[i] > x->memory[i]) x->memory[i] = pair[i] + passing[i];
            if (held + panel > x->least[i]) x->least[i] = held + panel;
        }
    x->star = (hs_star){r, s, t, P, x->times, x->costs, x->memory};
}

static void randomise_ragged(const hs_star *star, int64_t block, int64_t *m, int64_t *n, int64_t *k)
{
    *m = star->r * block - check_random((unsigned)block);
    *n = star->s * block - check_random((unsigned)block);
    *k = star->t * block - check_random((unsigned)block);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* Checks the log: one message at a time; each worker's messages in the model's order; none before
 * what it waits for; no panel is computed before it has come or before the panel before it is
 * computed. */
static int follows_the_model(const instance *x, int64_t count, const hs_star_message *log)
{
    static hs_star_message model[MESSAGES];
    int64_t models;
    int64_t place[P] = {0};
    double makespan;
    double port = 0;
    double free_since[P] = {0};
    double computed[P] = {0};
    /* ends: when the last but one and the last panel are computed that count for a worker's current
     * chunk; done: the same for each chunk's last panel */
    double ends[P][2] = {{0}};
    double done[CHUNKS] = {0};
    int32_t before[P] = {0}; /* buffers of the worker's chunk before */
    int64_t first[P][2];
    int good = hs_star_simulate(&x->star, x->chunk_count, x->chunks, HS_STAR_DEMAND, 0, NULL, 0,
                                NULL, model, &models, &makespan) == HS_OK;
    good &= models == count;
    for (int64_t at = 0; at < count && good; at++) {
        const hs_star_message *y = &log[at];
        const hs_star_chunk *chunk = &x->chunks[y->chunk];
        const int32_t i = y->worker;
        while (place[i] < models && model[place[i]].worker != i) place[i]++;
        good &= place[i] < models && model[place[i]].kind == y->kind &&
                model[place[i]].chunk == y->chunk && model[place[i]].depth == y->depth;
        place[i]++;
        good &= y->start >= port && y->end >= y->start && y->start >= free_since[i];
        port = y->end;
        if (y->kind == HS_STAR_PANEL) {
            if (chunk->held == HS_STAR_HOLD_C) good &= y->start >= ends[i][chunk->buffers != 2];
            good &= y->compute_start >= y->end && y->compute_start >= computed[i] &&
                    y->compute_end >= y->compute_start;
            ends[i][0] = ends[i][1];
            first[i][0] = first[i][1];
            ends[i][1] = computed[i] = done[y->chunk] = y->compute_end;
            first[i][1] = y->depth;
            continue;
        }
        if (y->kind == HS_STAR_LOAD && !chunk->ahead) {
            ends[i][0] = ends[i][1] = 0;
            first[i][0] = first[i][1] = -1;
        } else if (y->kind == HS_STAR_LOAD) ends[i][0] = before[i] == 2 ? ends[i][0] : ends[i][1];
        else if (chunk->held == HS_STAR_HOLD_C) good &= y->start >= done[y->chunk];
        else if (first[i][1] == y->depth) good &= y->start >= ends[i][1];
        else good &= first[i][0] == y->depth && y->start >= ends[i][0];
        if (y->kind == HS_STAR_LOAD) before[i] = chunk->buffers;
        free_since[i] = y->end;
    }
    return good;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void one_case(hs_pool *pool, const instance *x, int64_t block, int dtype, int layouts,
                     double complex alpha, double complex beta, int demand, int paced)
{
    static hs_star_message log[MESSAGES], model[MESSAGES];
    static int32_t served[MESSAGES];
    int64_t m, n, k, length, peak[P];
    double makespan, finish[P], late[P], busy[P];
    randomise_ragged(&x->star, block, &m, &n, &k);
    matrix a = make_matrix(dtype, m, k, layouts & 3);
    matrix b = make_matrix(dtype, k, n, layouts >> 2 & 3);
    matrix c = make_matrix(dtype, m, n, layouts >> 4 & 3);
    void *expected = malloc((size_t)c.elements * size_of[dtype]);
    memcpy(expected, c.memory, (size_t)c.elements * size_of[dtype]);
    void *expected_origin = (char *)expected + ((char *)c.origin - (char *)c.memory);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += get(a.origin, dtype, i * a.row_stride + l * a.col_stride) *
                       get(b.origin, dtype, l * b.row_stride + j * b.col_stride);
            ptrdiff_t at = i * c.row_stride + j * c.col_stride;
            set(expected_origin, dtype, at,
                (alpha == 0 ? 0 : alpha * sum) +
                    (beta == 0 ? 0 : beta * get(expected_origin, dtype, at)));
            if (beta == 0) set(c.origin, dtype, at, NAN);
        }
    if (alpha == 0) set(a.origin, dtype, 0, NAN);
    const hs_product product = {.dtype = dtype,
                                .m = m,
                                .n = n,
                                .k = k,
                                .a = a.origin,
                                .a_row_stride = a.row_stride,
                                .a_col_stride = a.col_stride,
                                .b = b.origin,
                                .b_row_stride = b.row_stride,
                                .b_col_stride = b.col_stride,
                                .c = c.origin,
                                .c_row_stride = c.row_stride,
                                .c_col_stride = c.col_stride,
                                .alpha = {creal(alpha), cimag(alpha)},
                                .beta = {creal(beta), cimag(beta)}};
    const int32_t order = check_random(2) ? HS_STAR_DEMAND : HS_STAR_ROUND_ROBIN;
    CHECK(hs_star_simulate(&x->star, x->chunk_count, x->chunks, order, 0, NULL, 0, NULL, model,
                           &length, &makespan) == HS_OK);
    for (int64_t at = 0; at < length; at++) served[at] = model[at].worker;
    hs_star_product star = {.star = &x->star,
                            .chunk_count = x->chunk_count,
                            .chunks = x->chunks,
                            .order = demand ? HS_STAR_DEMAND : HS_STAR_LISTED,
                            .length = length,
                            .served = served,
                            .block = block,
                            .messages = log,
                            .message_capacity = length,
                            .peak = peak};
    test_run run = {.options.pace = paced ? x->times : NULL,
                    .trace.times.finish = finish,
                    .trace.times.late = late,
                    .trace.times.busy = busy};
    CHECK(run_star(pool, &product, &star, &run) == HS_OK);
    /* counts all elements of the memory: the elements between the strides must be unchanged */
    int64_t wrong = 0;
    for (int64_t i = 0; i < c.elements; i++)
        wrong += get(c.memory, dtype, i) != get(expected, dtype, i);
    CHECK(wrong == 0);
    CHECK(star.message_count == length && follows_the_model(x, length, log));
    for (int64_t at = 0; at < length && !demand; at++)
        CHECK(log[at].worker == served[at] && log[at].kind == model[at].kind);
    for (int i = 0; i < P; i++)
        CHECK(peak[i] <= x->memory[i] && peak[i] >= x->least[i] && late[i] >= 0 && finish[i] >= 0);
    CHECK(!paced || (log[length - 1].end >= makespan * (1 - 1e-9) && star.late >= 0) || demand);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    free(expected);
}

static void products(hs_pool *pool)
{
    for (int round = 0; round < 300; round++) {
        instance x;
        draw_instance(&x);
        const int dtype = round % 4;
        const int layouts = (int)check_random(64);
        double complex alpha = round % 3 ? 1 : -2;
        double complex beta = round % 5 ? round % 5 - 2 : 0;
        if (dtype >> 1 && round % 7 == 0) {
            alpha += I;
            beta += beta == 0 ? 0 : 2 * I;
        }
        if (round % 29 == 0) alpha = 0;
        one_case(pool, &x, 1 + check_random(round % 10 ? 12 : 40), dtype, layouts, alpha, beta,
                 round / 2 % 2, round % 2);
    }
}

/* One worker and one chunk, by hand, in hundredths of a second: C 0-2, panels 2-5 and 5-8, computed
 * 5-9 and 9-13, result 13-15. */
static void pacing(void)
{
    hs_pool *pool = NULL;
    CHECK(hs_pool_create(1, NULL, &pool) == HS_OK);
    const double times[] = {0.02};
    const double costs[] = {0.01};
    const int64_t memory[] = {8};
    const hs_star star = {1, 2, 2, 1, times, costs, memory};
    const hs_star_chunk chunk = {.buffers = 2, .height = 1, .width = 2, .depth = 1};
    const int32_t served[] = {0, 0, 0, 0};
    static const double starts[] = {0, 0.02, 0.05, 0.13};
    static const double ends[] = {0.02, 0.05, 0.08, 0.15};
    static const double computed[] = {0, 0.09, 0.13, 0};
    double x[4] = {1, 2, 3, 4};
    double y[2] = {5, 6};
    double z[2] = {7, 8};
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = 1,
                                .n = 2,
                                .k = 2,
                                .a = y,
                                .a_row_stride = 2,
                                .a_col_stride = 1,
                                .b = x,
                                .b_row_stride = 2,
                                .b_col_stride = 1,
                                .c = z,
                                .c_row_stride = 2,
                                .c_col_stride = 1,
                                .alpha = {1},
                                .beta = {1}};
    hs_star_message log[4];
    int64_t peak[1];
    hs_star_product task = {.star = &star,
                            .chunk_count = 1,
                            .chunks = &chunk,
                            .order = HS_STAR_LISTED,
                            .length = 4,
                            .served = served,
                            .block = 1,
                            .messages = log,
                            .message_capacity = 4,
                            .peak = peak};
    test_run run = {.options.pace = times};
    CHECK(run_star(pool, &product, &task, &run) == HS_OK && task.message_count == 4 &&
          peak[0] == 8);
    CHECK(z[0] == 7 + 5 * 1 + 6 * 3 && z[1] == 8 + 5 * 2 + 6 * 4);
    for (int k = 0; k < 4; k++) {
        CHECK(log[k].start >= starts[k] - 1e-9 && log[k].end >= ends[k] - 1e-9);
        CHECK(log[k].kind != HS_STAR_PANEL || log[k].compute_end >= computed[k] - 1e-9);
    }
    hs_pool_destroy(pool);
}

/* Two chunks of 1 x 1 x 3, the second ahead. The times are in test_star.c, here in hundredths of a
 * second; each block is where it should be. */
static void ahead(void)
{
    hs_pool *pool = NULL;
    CHECK(hs_pool_create(1, NULL, &pool) == HS_OK);
    const double times[] = {0.03};
    const double costs[] = {0.01};
    const int64_t memory[] = {6};
    const hs_star star = {1, 2, 3, 1, times, costs, memory};
    const hs_star_chunk chunks[] = {
        {.buffers = 2, .height = 1, .width = 1, .depth = 1},
        {.buffers = 2, .col = 1, .height = 1, .width = 1, .depth = 1, .ahead = 1}};
    static const double starts[] = {0, 1, 3, 6, 8, 9, 12, 14, 15, 21};
    const double a[3] = {1, 2, 3};
    const double b[6] = {4, 5, 6, 7, 8, 9};
    for (int paced = 0; paced < 2; paced++) {
        double c[2] = {10, 20};
        const hs_product product = {.dtype = HS_FLOAT64,
                                    .m = 1,
                                    .n = 2,
                                    .k = 3,
                                    .a = a,
                                    .a_row_stride = 3,
                                    .a_col_stride = 1,
                                    .b = b,
                                    .b_row_stride = 2,
                                    .b_col_stride = 1,
                                    .c = c,
                                    .c_row_stride = 2,
                                    .c_col_stride = 1,
                                    .alpha = {2},
                                    .beta = {3}};
        hs_star_message log[10];
        int64_t peak[1];
        hs_star_product task = {.star = &star,
                                .chunk_count = 2,
                                .chunks = chunks,
                                .order = HS_STAR_DEMAND,
                                .block = 1,
                                .messages = log,
                                .message_capacity = 10,
                                .peak = peak};
        test_run run = {.options.pace = paced ? times : NULL};
        CHECK(run_star(pool, &product, &task, &run) == HS_OK && task.message_count == 10 &&
              peak[0] <= 6);
        CHECK(c[0] == 30 + 2 * (4 + 12 + 24) && c[1] == 60 + 2 * (5 + 14 + 27));
        for (int k = 0; k < 10 && paced; k++) CHECK(log[k].start >= starts[k] / 100 - 1e-9);
        CHECK(!paced || (log[9].end >= 0.22 - 1e-9 && peak[0] == 6));
    }
    hs_pool_destroy(pool);
}

static int stop_after(void *context, double fraction)
{
    CHECK(fraction >= 0 && fraction <= 1);
    return ++*(int *)context >= 2;
}

/* Cancels while a message lasts, while the master waits for a worker, and while it waits for any
 * worker. */
static void cancelling(hs_pool *pool)
{
    for (int kind = 0; kind < 3; kind++) {
        const double slow = 1e6;
        const double times[] = {kind ? slow : 1e-3, 1e-3, 1e-3};
        const double costs[] = {kind ? 1e-3 : slow, 1e-3, 1e-3};
        const int64_t memory[] = {3, 0, 0};
        const hs_star star = {1, 1, 1, 3, times, costs, memory};
        const hs_star_chunk chunk = {.buffers = 1, .height = 1, .width = 1, .depth = 1};
        const int32_t served[] = {0, 0, 0};
        double x = 1;
        double c = 0;
        const hs_product product = {.dtype = HS_FLOAT64,
                                    .m = 1,
                                    .n = 1,
                                    .k = 1,
                                    .a = &x,
                                    .a_row_stride = 1,
                                    .a_col_stride = 1,
                                    .b = &x,
                                    .b_row_stride = 1,
                                    .b_col_stride = 1,
                                    .c = &c,
                                    .c_row_stride = 1,
                                    .c_col_stride = 1,
                                    .alpha = {1}};
        hs_star_message log[3];
        hs_star_product task = {.star = &star,
                                .chunk_count = 1,
                                .chunks = &chunk,
                                .order = kind == 2 ? HS_STAR_DEMAND : HS_STAR_LISTED,
                                .length = 3,
                                .served = served,
                                .block = 1,
                                .messages = log,
                                .message_capacity = 3};
        int calls = 0;
        test_run run = {
            .options.pace = times, .options.poll = stop_after, .options.poll_context = &calls};
        CHECK(run_star(pool, &product, &task, &run) == HS_ERROR_CANCELLED && calls == 2);
        CHECK(task.message_count == (kind ? 2 : 0));
    }
}

/* Cancels the second time that half of the panels, but not all, are computed. */
static int stop_at_half(void *context, double fraction)
{
    return fraction >= 0.5 && fraction < 1.0 && ++*(int *)context >= 2;
}

typedef struct {
    double x[64], c[64];
    hs_product product;
} ones;

static void fill_ones(ones *y, int64_t m, int64_t n, int64_t k)
{
    for (int i = 0; i < 64; i++) y->x[i] = y->c[i] = 1;
    y->product = (hs_product){.dtype = HS_FLOAT64,
                              .m = m,
                              .n = n,
                              .k = k,
                              .a = y->x,
                              .a_row_stride = k,
                              .a_col_stride = 1,
                              .b = y->x,
                              .b_row_stride = n,
                              .b_col_stride = 1,
                              .c = y->c,
                              .c_row_stride = n,
                              .c_col_stride = 1,
                              .alpha = {1},
                              .beta = {1}};
}

/* A result goes back when its own panel is computed, although the next panel is being computed. */
static void results_in_time(hs_pool *pool)
{
    const double times[] = {0.5, 1, 1};
    const double costs[] = {0, 0, 0};
    const int64_t memory[] = {5, 0, 0};
    const hs_star star = {1, 2, 1, 3, times, costs, memory};
    const hs_star_chunk chunk = {
        .held = HS_STAR_HOLD_A, .buffers = 2, .height = 1, .width = 2, .depth = 1};
    ones y;
    fill_ones(&y, 1, 2, 1);
    hs_star_message log[5];
    int calls = 0;
    hs_star_product task = {.star = &star,
                            .chunk_count = 1,
                            .chunks = &chunk,
                            .order = HS_STAR_DEMAND,
                            .block = 1,
                            .messages = log,
                            .message_capacity = 5};
    test_run run = {
        .options.pace = times, .options.poll = stop_at_half, .options.poll_context = &calls};
    const hs_status status = run_star(pool, &y.product, &task, &run);
    CHECK(status == HS_OK || (status == HS_ERROR_CANCELLED && task.message_count == 4 &&
                              log[3].kind == HS_STAR_RESULT && y.c[0] == 2));
}

/* Which worker the port serves, where this does not depend on time. */
static void demand(hs_pool *pool)
{
    const double never[] = {1e6, 1e-3, 1e-3};
    const double costs[] = {1e-3, 1e-3, 1e-3};
    const int64_t memory[] = {5, 5, 5};
    const hs_star star = {1, 3, 4, 3, costs, costs, memory};
    const hs_star two = {1, 2, 1, 3, never, costs, memory};
    hs_star_chunk chunks[3];
    for (int32_t i = 0; i < 3; i++)
        chunks[i] = (hs_star_chunk){
            .worker = i, .buffers = 2, .col = i, .height = 1, .width = 1, .depth = 1};
    ones y;
    fill_ones(&y, 1, 3, 4);
    hs_star_message log[18];
    int calls = 0;
    for (int paced = 0; paced < 2; paced++) {
        hs_star_product task = {.star = &star,
                                .chunk_count = 3,
                                .chunks = chunks,
                                .order = HS_STAR_DEMAND,
                                .block = 1,
                                .messages = log,
                                .message_capacity = 18};
        test_run run = {.options.pace = paced ? costs : NULL};
        CHECK(run_star(pool, &y.product, &task, &run) == HS_OK && task.message_count == 18);
        /* all workers ask for a load at once, then for two panels each as soon as the load has
         * come */
        for (int k = 0; k < 9; k++)
            CHECK(log[k].worker == (k < 3 ? k : (k - 3) / 2) &&
                  log[k].kind == (k < 3 ? HS_STAR_LOAD : HS_STAR_PANEL));
    }
    /* a worker that computes forever does not hold up the remaining workers */
    fill_ones(&y, 1, 2, 1);
    hs_star_product task = {.star = &two,
                            .chunk_count = 2,
                            .chunks = chunks,
                            .order = HS_STAR_DEMAND,
                            .block = 1,
                            .messages = log,
                            .message_capacity = 18};
    test_run run = {
        .options.pace = never, .options.poll = stop_at_half, .options.poll_context = &calls};
    CHECK(run_star(pool, &y.product, &task, &run) == HS_ERROR_CANCELLED && task.message_count == 5);
    CHECK(log[4].kind == HS_STAR_RESULT && log[4].worker == 1 && y.c[0] == 1 && y.c[1] == 2);
}

#ifdef HS_TEST_SCARCE

typedef struct {
    int calls, last;
} patience;

static int lose_patience(void *context, double fraction)
{
    patience *x = context;
    (void)fraction;
    return ++x->calls == x->last;
}

enum { SIDE = 400 };

static int all_are_side(const double *c)
{
    for (int i = 0; i < SIDE * SIDE; i++)
        if (c[i] != SIDE) return 0;
    return 1;
}

/* Cancels at every reading of the clock: also within a message of more than a megabyte, and at the
 * last readings, which may come when all messages have been sent and the workers finish. If no
 * reading cancels, or if all messages have been sent, nothing is missing. */
static void cancelling_at_any_time(hs_pool *pool)
{
    static double x[SIDE * SIDE], c[SIDE * SIDE];
    const double times[] = {1, 1, 1};
    const double costs[] = {0, 0, 0};
    const int64_t memory[] = {3, 0, 0};
    const hs_star star = {1, 1, 1, 3, times, costs, memory};
    const hs_star_chunk chunk = {.buffers = 1, .height = 1, .width = 1, .depth = 1};
    for (int i = 0; i < SIDE * SIDE; i++) x[i] = 1;
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = SIDE,
                                .n = SIDE,
                                .k = SIDE,
                                .a = x,
                                .a_row_stride = SIDE,
                                .a_col_stride = 1,
                                .b = x,
                                .b_row_stride = SIDE,
                                .b_col_stride = 1,
                                .c = c,
                                .c_row_stride = SIDE,
                                .c_col_stride = 1,
                                .alpha = {1},
                                .beta = {1}};
    patience kept = {.last = 0};
    /* the copies of the messages, four of them, are among the first readings */
    for (int last = 1; last <= 8; last++) {
        hs_star_message log[3];
        hs_star_product task = {.star = &star,
                                .chunk_count = 1,
                                .chunks = &chunk,
                                .order = HS_STAR_DEMAND,
                                .block = SIDE,
                                .messages = log,
                                .message_capacity = 3};
        patience lost = {.last = last};
        test_run run = {.options.poll = lose_patience, .options.poll_context = &lost};
        memset(c, 0, sizeof c);
        __atomic_store_n(&leaps, 0, __ATOMIC_RELAXED);
        const hs_status status = run_star(pool, &product, &task, &run);
        __atomic_store_n(&leaps, -1, __ATOMIC_RELAXED);
        CHECK(lost.calls >= last ? status == HS_ERROR_CANCELLED && lost.calls == last
                                 : status == HS_OK);
        CHECK(task.message_count < 3 || all_are_side(c));
    }
    hs_star_message log[3];
    hs_star_product task = {.star = &star,
                            .chunk_count = 1,
                            .chunks = &chunk,
                            .order = HS_STAR_DEMAND,
                            .block = SIDE,
                            .messages = log,
                            .message_capacity = 3};
    test_run run = {.options.poll = lose_patience, .options.poll_context = &kept};
    memset(c, 0, sizeof c);
    __atomic_store_n(&leaps, 0, __ATOMIC_RELAXED);
    CHECK(run_star(pool, &product, &task, &run) == HS_OK && task.message_count == 3 &&
          kept.calls > 0);
    __atomic_store_n(&leaps, -1, __ATOMIC_RELAXED);
    CHECK(all_are_side(c));
}
#endif

static int run_again(void *context, double fraction)
{
    (void)fraction;
    test_run run = {0};
    const double one[] = {1, 1, 1};
    const int64_t memory[] = {3, 3, 3};
    const hs_star star = {1, 1, 1, 3, one, one, memory};
    double x = 1;
    double c = 0;
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = 1,
                                .n = 1,
                                .k = 1,
                                .a = &x,
                                .a_row_stride = 1,
                                .a_col_stride = 1,
                                .b = &x,
                                .b_row_stride = 1,
                                .b_col_stride = 1,
                                .c = &c,
                                .c_row_stride = 1,
                                .c_col_stride = 1,
                                .alpha = {1}};
    hs_star_product task = {.star = &star, .order = HS_STAR_DEMAND, .block = 1};
    CHECK(run_star(context, &product, &task, &run) == HS_ERROR_BUSY);
    return 1;
}

static hs_status run_scanty(hs_pool *pool, void *context)
{
    const double one[] = {1, 1, 1};
    const double quick[] = {1e-5, 1e-5, 1e-5};
    const int64_t memory[] = {8, 8, 8};
    const hs_star star = {1, 2, 2, 3, one, quick, memory};
    const hs_star_chunk chunks[] = {
        {.worker = 0, .buffers = 2, .height = 1, .width = 1, .depth = 1},
        {.worker = 2, .col = 1, .buffers = 2, .height = 1, .width = 1, .depth = 1}};
    const double x = 1;
    double c[18];
    for (int i = 0; i < 18; i++) c[i] = i;
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = 3,
                                .n = 6,
                                .k = 5,
                                .a = &x,
                                .b = &x,
                                .c = c,
                                .c_row_stride = 6,
                                .c_col_stride = 1,
                                .alpha = {1},
                                .beta = {2}};
    hs_star_message messages[MESSAGES];
    int64_t peak[] = {-7, -7, -7};
    hs_star_product task = {.star = &star,
                            .chunk_count = 2,
                            .chunks = chunks,
                            .order = HS_STAR_DEMAND,
                            .block = 3,
                            .messages = messages,
                            .message_capacity = MESSAGES,
                            .message_count = -7,
                            .peak = peak,
                            .late = -7};
    test_run run = {.options.pace = context};
    const hs_status status = run_star(pool, &product, &task, &run);
    for (int i = 0; i < 18; i++) CHECK(c[i] == (status ? i : 5 + 2 * i));
    CHECK(status ? task.message_count == -7 && peak[0] == -7 && task.late == -7
                 : task.message_count > 0 && peak[0] > 0);
    return status;
}

static void refusals(hs_pool *pool)
{
    const double one[] = {1, 1, 1};
    const double nan[] = {NAN, 1, 1};
    const int64_t memory[] = {8, 8, 8};
    const int64_t little[] = {3, 8, 8};
    const hs_star star = {1, 2, 2, 3, one, one, memory};
    const hs_star tight = {1, 2, 2, 3, one, one, little};
    const hs_star two = {1, 2, 2, 2, one, one, memory};
    const hs_star_chunk chunk = {.buffers = 2, .height = 1, .width = 2, .depth = 1};
    const hs_star_chunk outside = {.buffers = 2, .height = 1, .width = 3, .depth = 1};
    const hs_star_chunk half = {.buffers = 2, .height = 1, .width = 1, .depth = 1};
    const hs_star_chunk overlapping[] = {half, chunk};
    const int32_t served[] = {0, 0, 0, 0};
    double x[16] = {0};
    double c[18] = {0};
    /* of exactly this size, so that a write behind it is detected */
    hs_star_message *log = malloc(4 * sizeof *log);
    const hs_product good = {.dtype = HS_FLOAT64,
                             .m = 3,
                             .n = 6,
                             .k = 5,
                             .a = x,
                             .a_row_stride = 0,
                             .a_col_stride = 1,
                             .b = x,
                             .b_row_stride = 0,
                             .b_col_stride = 1,
                             .c = c,
                             .c_row_stride = 6,
                             .c_col_stride = 1,
                             .alpha = {1}};
    const hs_star_product fine = {.star = &star,
                                  .chunk_count = 1,
                                  .chunks = &chunk,
                                  .order = HS_STAR_LISTED,
                                  .length = 4,
                                  .served = served,
                                  .block = 3};
    const test_run plain = {0};
    hs_product product = good;
    hs_star_product task = fine;
    test_run run = plain;
#define REFUSED(change)                                                 \
    do {                                                                \
        product = good, task = fine, run = plain;                       \
        task.message_count = -7;                                        \
        change;                                                         \
        CHECK(run_star(pool, &product, &task, &run) == HS_ERROR_VALUE); \
        CHECK(task.message_count == -7);                                \
    } while (0)
    REFUSED(product.dtype = 4);
    REFUSED(product.m = 4);
    REFUSED(product.m = 0);
    REFUSED(product.n = 3);
    REFUSED(product.k = 7);
    REFUSED(product.a = NULL);
    REFUSED(product.c = NULL);
    REFUSED(task.star = NULL);
    REFUSED(task.star = &tight);
    REFUSED(task.star = &two);
    REFUSED(task.chunks = &outside);
    REFUSED(task.chunk_count = -1);
    REFUSED((task.chunk_count = 0, task.length = 0));
    REFUSED(task.chunks = &half);
    REFUSED((task.chunk_count = 2, task.chunks = overlapping, task.order = HS_STAR_DEMAND));
    REFUSED((task.messages = log, task.message_capacity = 3));
    REFUSED((task.messages = log, task.message_capacity = 3, task.order = HS_STAR_DEMAND));
    REFUSED((task.messages = log, task.message_capacity = INT64_MIN));
    REFUSED(task.block = 0);
    REFUSED(task.block = 2);
    REFUSED(task.block = INT64_MAX);
    REFUSED(task.order = HS_STAR_ROUND_ROBIN);
    REFUSED(task.order = HS_STAR_PANELS);
    REFUSED(task.length = 3);
    REFUSED(run.options.pace = nan);
#undef REFUSED
    for (int e = 0; e < 18; e++) CHECK(c[e] == 0.0);
    task = fine;
    run = plain;
    task.messages = log;
    task.message_capacity = 4;
    CHECK(log && run_star(pool, &good, &task, &run) == HS_OK && task.message_count == 4);
    free(log);
    task = fine;
    CHECK(run_star(NULL, &good, &task, &run) == HS_ERROR_VALUE);
    CHECK(run_star(pool, NULL, &task, &run) == HS_ERROR_VALUE);
    CHECK(run_star(pool, &good, NULL, &run) == HS_ERROR_VALUE);
    CHECK(hs_run_star(pool, &good, &task, NULL, NULL) == HS_OK);
    task = fine;
    run = plain;
    CHECK(run_star(pool, &good, &task, &run) == HS_OK && task.message_count == 4);
    task = fine;
    double pace[] = {0, 0, 0};
    CHECK_SCARCE(scarce_life(3, run_scanty, NULL), 1);
    CHECK_SCARCE(scarce_life(3, run_scanty, pace), 1);
    /* an arena that no address space holds */
    const double slow[] = {1, 1, 1};
    hs_product wide = good;
    wide.n = 1;
    wide.k = 1;
    wide.m = 1;
    const hs_star single = {1, 1, 1, 3, slow, slow, memory};
    const hs_star_chunk whole = {.buffers = 2, .height = 1, .width = 1, .depth = 1};
    hs_star_product huge = {.star = &single,
                            .chunk_count = 1,
                            .chunks = &whole,
                            .order = HS_STAR_DEMAND,
                            .block = INT32_MAX};
    CHECK(run_star(pool, &wide, &huge, &run) == HS_ERROR_MEMORY);
    const double wait[] = {1e6, 1e6, 1e6};
    run.options.pace = wait;
    run.options.poll = run_again;
    run.options.poll_context = pool;
    CHECK(run_star(pool, &good, &task, &run) == HS_ERROR_CANCELLED);
}

/* Each worker multiplies as its domain does. */
static void domains(void)
{
    const hs_domain two[2] = {{.rows = {32, 32}, .cols = {40, 40}},
                              {.kernel = "plain", .depth = {12, 20}}};
    hs_pool *pool = NULL;
    CHECK(hs_pool_create_domains(P, NULL, 2, two, (int32_t[P]){1}, &pool) == HS_OK);
    products(pool);
    hs_pool_destroy(pool);
}

int main(void)
{
    hs_pool *pool = NULL;
    CHECK(hs_pool_create(P, NULL, &pool) == HS_OK);
    products(pool);
    domains();
    pacing();
    ahead();
    results_in_time(pool);
    demand(pool);
    cancelling(pool);
#ifdef HS_TEST_SCARCE
    cancelling_at_any_time(pool);
#endif
    refusals(pool);
    hs_pool_destroy(pool);
    return check_result();
}
