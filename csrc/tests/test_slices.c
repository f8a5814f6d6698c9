/* Iterations on slices: the same bits as a plain loop over the whole matrix, for any ring and
 * widths; the emulated clock against the model; events, cancels, refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "run_calls.h"
#include "scarce.h"
#include "sets.h"

enum { MAX = 24, ELEMENTS = 6 * MAX * MAX, STEPS = 9, P = 16 };

typedef struct {
    hs_slices x;
    int32_t ring[P];
    int64_t widths[P];
} problem;

static double value_at(int32_t dtype, const void *data, ptrdiff_t at)
{
    return dtype == HS_FLOAT32 ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

static void put_value(int32_t dtype, void *data, ptrdiff_t at, double value)
{
    if (dtype == HS_FLOAT32) ((float *)data)[at] = (float)value;
    else ((double *)data)[at] = value;
}

/* Computes the expression of the header, element by element. */
static void iterate_plainly(const hs_slices *x, void *target)
{
    static double old[MAX * MAX], new[MAX * MAX];
    for (int64_t i = 0; i < x->m * x->n; i++)
        old[i] = value_at(x->dtype, x->source,
                          i / x->n * x->source_row_stride + i % x->n * x->source_col_stride);
    for (int64_t step = 0; step < x->steps; step++) {
        memcpy(new, old, sizeof new);
        for (int64_t i = 1; i < x->m - 1; i++)
            for (int64_t j = 0; j < x->n; j++) {
                const double *row = old + i * x->n;
                const double above = row[j - x->n];
                const double below = row[j + x->n];
                const double left = row[(j + x->n - 1) % x->n];
                const double right = row[(j + 1) % x->n];
                if (x->dtype == HS_FLOAT64) {
                    new[i * x->n + j] =
                        row[j] + x->weight *((((above + below) + left) + right) - 4 * row[j]);
                } else {
                    const float sum = (((float)above + (float)below) + (float)left) + (float)right;
                    new[i * x->n + j] = (float)row[j] + (float)x->weight *(sum - 4 * (float)row[j]);
                }
            }
        memcpy(old, new, sizeof new);
    }
    for (int64_t i = 0; i < x->m * x->n; i++)
        put_value(x->dtype, target,
                  i / x->n * x->target_row_stride + i % x->n * x->target_col_stride, old[i]);
}

static void draw_strides(int64_t m, int64_t n, int64_t *row, int64_t *col)
{
    const int64_t gap = 1 + check_random(2);
    if (check_random(2)) {
        *col = gap;
        *row = n * gap + check_random(3);
    } else {
        *row = gap;
        *col = m * gap + check_random(3);
    }
}

/* Draws a matrix, a ring of some of p workers, and widths. */
static void draw_problem(problem *a, int32_t p)
{
    hs_slices *x = &a->x;
    *x = (hs_slices){.dtype = check_random(2) ? HS_FLOAT32 : HS_FLOAT64,
                     .m = 1 + check_random(MAX),
                     .n = 1 + check_random(MAX),
                     .weight = 0.01 * check_random(60),
                     .steps = check_random(STEPS),
                     .ring = a->ring,
                     .widths = a->widths};
    draw_strides(x->m, x->n, &x->source_row_stride, &x->source_col_stride);
    draw_strides(x->m, x->n, &x->target_row_stride, &x->target_col_stride);
    int32_t order[P];
    for (int32_t i = 0; i < p; i++) {
        const int32_t j = (int32_t)check_random((unsigned)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    const int32_t most = x->n < p ? (int32_t)x->n : p;
    x->size = 1 + (int32_t)check_random((unsigned)most);
    memcpy(a->ring, order, sizeof order);
    for (int32_t k = 0; k < x->size; k++) a->widths[k] = 1;
    for (int64_t left = x->n - x->size; left > 0; left--)
        a->widths[check_random(check_random(2) ? 1 : (unsigned)x->size)]++;
}

static void *make_noise(int32_t dtype)
{
    void *data = malloc(ELEMENTS * sizeof(double));
    for (int i = 0; i < ELEMENTS; i++) put_value(dtype, data, i, (check_random(2001) - 1000.0) / 7);
    return data;
}

static void results(hs_pool *pool, int32_t p, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        problem a;
        draw_problem(&a, p);
        const size_t bytes = ELEMENTS * (a.x.dtype == HS_FLOAT32 ? sizeof(float) : sizeof(double));
        void *source = make_noise(a.x.dtype);
        void *target = make_noise(a.x.dtype);
        void *expected = malloc(bytes);
        if (round % 4 == 0) { /* in place */
            free(target);
            target = source;
            a.x.target_row_stride = a.x.source_row_stride;
            a.x.target_col_stride = a.x.source_col_stride;
        }
        memcpy(expected, target, bytes);
        a.x.source = source;
        a.x.target = target;
        iterate_plainly(&a.x, expected);
        hs_event events[STEPS * P];
        double finish[P], late[P], busy[P];
        test_run run = {.trace.events = events,
                        .trace.event_capacity = STEPS * P,
                        .trace.times.finish = finish,
                        .trace.times.late = late,
                        .trace.times.busy = busy};
        CHECK(run_slices(pool, &a.x, &run) == HS_OK);
        CHECK(memcmp(target, expected, bytes) == 0); /* including the memory between the strides */
        CHECK(run.trace.event_count == a.x.steps * a.x.size);
        /* A worker's events are in order, and none starts before the last events of its neighbours
         * have ended. */
        for (int32_t k = 0; k < a.x.size; k++) {
            double from[STEPS];
            double to[STEPS + 1] = {0};
            int64_t seen = 0;
            for (int32_t e = 0; e < run.trace.event_count; e++) {
                if (events[e].worker != a.ring[k]) continue;
                CHECK(events[e].kind == HS_COMPUTE && events[e].box == 2 * seen &&
                      events[e].start >= to[seen] && events[e].end >= events[e].start);
                from[seen] = events[e].start;
                to[++seen] = events[e].end;
            }
            CHECK(seen == a.x.steps && to[seen] <= finish[a.ring[k]]);
            for (int32_t e = 0; e < run.trace.event_count; e++) {
                const int32_t step = events[e].box / 2 + 1;
                if (events[e].worker != a.ring[(k + 1) % a.x.size] &&
                    events[e].worker != a.ring[(k + a.x.size - 1) % a.x.size])
                    continue;
                CHECK(step >= a.x.steps || from[step] >= events[e].end);
            }
        }
        if (target != source) free(target);
        free(source);
        free(expected);
    }
}

/* The target is shifted by a row within the memory of the source. */
static void overlapping(hs_pool *pool)
{
    static double memory[9 * 8], source[8 * 8], expected[8 * 8];
    for (int i = 0; i < 64; i++) memory[8 + i] = source[i] = i * i % 13;
    const int32_t ring[] = {2, 0, 1};
    const int64_t widths[] = {3, 1, 4};
    hs_slices x = {.dtype = HS_FLOAT64,
                   .m = 8,
                   .n = 8,
                   .source = source,
                   .source_row_stride = 8,
                   .source_col_stride = 1,
                   .target = expected,
                   .target_row_stride = 8,
                   .target_col_stride = 1,
                   .weight = 0.25,
                   .steps = 5,
                   .size = 3,
                   .ring = ring,
                   .widths = widths};
    iterate_plainly(&x, expected);
    x.source = memory + 8;
    x.target = memory;
    test_run run = {.trace.event_capacity = 0};
    CHECK(run_slices(pool, &x, &run) == HS_OK);
    CHECK(memcmp(memory, expected, sizeof expected) == 0);
}

/* The emulated clock: the workers end when the model says. */
static void pacing(hs_pool *pool)
{
    for (int round = 0; round < 12; round++) {
        problem a;
        do draw_problem(&a, 3);
        while (a.x.m < 3);
        double pace[3], exchange[6];
        double end[3] = {0};
        double finish[3], late[3];
        for (int32_t i = 0; i < 3; i++) {
            pace[i] = 1e-6 * (1 + check_random(9));
            exchange[2 * i] = 1e-4 * check_random(9);
            exchange[2 * i + 1] = 1e-4 * check_random(3);
        }
        void *source = make_noise(a.x.dtype);
        void *target = make_noise(a.x.dtype);
        a.x.source = source;
        a.x.target = target;
        a.x.exchange = round % 3 ? exchange : NULL;
        const int32_t q = a.x.size;
        for (int64_t step = 0; step < a.x.steps; step++) {
            double before[3];
            memcpy(before, end, sizeof end);
            for (int32_t k = 0; k < q; k++)
                end[k] = fmax(before[k], fmax(before[(k + 1) % q], before[(k + q - 1) % q])) +
                         (double)((a.x.m - 2) * a.widths[k]) * pace[a.ring[k]] +
                         (a.x.exchange ? exchange[2 * k] + exchange[2 * k + 1] : 0);
        }
        hs_event events[3 * 3 * STEPS];
        test_run run = {.options.pace = pace,
                        .trace.times.finish = finish,
                        .trace.times.late = late,
                        .trace.events = events,
                        .trace.event_capacity = 3 * 3 * STEPS};
        CHECK(run_slices(pool, &a.x, &run) == HS_OK);
        for (int32_t k = 0; k < q; k++)
            CHECK(late[a.ring[k]] >= 0 &&
                  fabs(finish[a.ring[k]] - late[a.ring[k]] - end[k]) < 1e-9);
        /* as many messages as expected; a message of length 0 has no event */
        for (int32_t k = 0; k < q; k++)
            for (int side = 0; side < 2; side++) {
                int64_t messages = 0;
                for (int32_t e = 0; e < run.trace.event_count; e++)
                    if (events[e].worker == a.ring[k] && events[e].kind == HS_TRANSFER &&
                        events[e].box % 2 == side)
                        messages++;
                CHECK(messages == (a.x.exchange && exchange[2 * k + side] > 0 ? a.x.steps : 0));
            }
        free(source);
        free(target);
    }
}

/* A worker that sleeps until a slow neighbour, on either side, has advanced is woken. It does not
 * only look every 20 ms. */
static void handing_over(hs_pool *pool)
{
    static double memory[3 * 3];
    const int32_t ring[] = {0, 1, 2};
    const int64_t widths[] = {1, 1, 1};
    const hs_slices x = {.dtype = HS_FLOAT64,
                         .m = 3,
                         .n = 3,
                         .source = memory,
                         .source_row_stride = 3,
                         .source_col_stride = 1,
                         .target = memory,
                         .target_row_stride = 3,
                         .target_col_stride = 1,
                         .weight = 0.25,
                         .steps = 3000,
                         .size = 3,
                         .ring = ring,
                         .widths = widths};
    const double pace[] = {0, 1e-4, 0};
    test_run run = {.options.pace = pace};
    const double start = hs_clock();
    CHECK(run_slices(pool, &x, &run) == HS_OK);
    /* looking alone would take ten seconds or more */
    CHECK(hs_clock() - start < 6);
}

static int stop_after(void *context, double fraction)
{
    CHECK(fraction >= 0 && fraction <= 1);
    return ++*(int *)context >= 2;
}

static int run_again(void *context, double fraction)
{
    (void)fraction;
    static double memory[9];
    const int32_t ring = 0;
    const int64_t width = 3;
    const hs_slices x = {.dtype = HS_FLOAT64,
                         .m = 3,
                         .n = 3,
                         .source = memory,
                         .source_row_stride = 3,
                         .source_col_stride = 1,
                         .target = memory,
                         .target_row_stride = 3,
                         .target_col_stride = 1,
                         .weight = 0.25,
                         .steps = 1,
                         .size = 1,
                         .ring = &ring,
                         .widths = &width};
    test_run run = {.trace.event_capacity = 0};
    CHECK(run_slices(context, &x, &run) == HS_ERROR_BUSY);
    return 1;
}

static void cancelling(hs_pool *pool)
{
    double memory[20], before[20];
    double hours[] = {1000, 1e-9, 1000};
    double exchange[] = {0, 1000, 1000, 0, 0, 1000};
    for (int i = 0; i < 20; i++) memory[i] = before[i] = i * i;
    const int32_t ring[] = {1, 2, 0};
    const int64_t widths[] = {2, 1, 2};
    hs_slices x = {.dtype = HS_FLOAT64,
                   .m = 4,
                   .n = 5,
                   .source = memory,
                   .source_row_stride = 5,
                   .source_col_stride = 1,
                   .target = memory,
                   .target_row_stride = 5,
                   .target_col_stride = 1,
                   .weight = 0.25,
                   .steps = 3,
                   .size = 3,
                   .ring = ring,
                   .widths = widths};
    /* first one worker waits for its neighbours; then all are about to exchange columns */
    for (int round = 0; round < 2; round++) {
        int calls = 0;
        test_run run = {
            .options.pace = hours, .options.poll = stop_after, .options.poll_context = &calls};
        CHECK(run_slices(pool, &x, &run) == HS_ERROR_CANCELLED);
        CHECK(calls == 2);
        CHECK(memcmp(memory, before, sizeof before) == 0);
        hours[0] = hours[2] = 1e-9;
        x.exchange = exchange;
    }
    test_run run = {.options.pace = hours, .options.poll = run_again, .options.poll_context = pool};
    CHECK(run_slices(pool, &x, &run) == HS_ERROR_CANCELLED);
    x.exchange = NULL;
    x.steps = (1 << 30) - 1; /* at real speed */
    int calls = 0;
    run = (test_run){.options.poll = stop_after, .options.poll_context = &calls};
    CHECK(run_slices(pool, &x, &run) == HS_ERROR_CANCELLED);
    CHECK(memcmp(memory, before, sizeof before) == 0);
    results(pool, 3, 5); /* the pool still works */
}

static void refusals(hs_pool *pool)
{
    double memory[12] = {0};
    double pace[] = {1e-9, 1e-9, 1e-9};
    double bad_pace[] = {1e-9, NAN, 1e-9};
    double exchange[] = {0, 0, 0, 0};
    double negative[] = {0, 0, 0, -1};
    const int32_t ring[] = {0, 2};
    const int32_t twice[] = {2, 2};
    const int32_t large[] = {0, 3};
    const int32_t low[] = {-1, 2};
    const int64_t widths[] = {1, 3};
    const int64_t none[] = {0, 4};
    const int64_t few[] = {1, 2};
    const int64_t many[] = {2, 3};
    const hs_slices good = {.dtype = HS_FLOAT64,
                            .m = 3,
                            .n = 4,
                            .source = memory,
                            .source_row_stride = 4,
                            .source_col_stride = 1,
                            .target = memory,
                            .target_row_stride = 4,
                            .target_col_stride = 1,
                            .weight = 0.25,
                            .steps = 2,
                            .size = 2,
                            .ring = ring,
                            .widths = widths};
    test_run run = {.trace.event_capacity = 0};
    CHECK(run_slices(pool, &good, &run) == HS_OK);
    CHECK(run_slices(NULL, &good, &run) == HS_ERROR_VALUE);
    CHECK(run_slices(pool, NULL, &run) == HS_ERROR_VALUE);
    CHECK(hs_run_slices(pool, &good, NULL, NULL) == HS_OK);
#define REFUSED(...)                                         \
    do {                                                     \
        hs_slices x = good;                                  \
        __VA_ARGS__;                                         \
        CHECK(run_slices(pool, &x, &run) == HS_ERROR_VALUE); \
    } while (0)
    REFUSED(x.dtype = HS_COMPLEX128);
    REFUSED(x.m = 0);
    REFUSED(x.n = 0);
    REFUSED(x.source = NULL);
    REFUSED(x.target = NULL);
    REFUSED(x.weight = NAN);
    REFUSED(x.weight = 1e300, x.dtype = HS_FLOAT32);
    REFUSED(x.steps = -1);
    REFUSED(x.steps = 1 << 30);
    REFUSED(x.size = 0);
    REFUSED(x.size = 4);
    REFUSED(x.ring = NULL);
    REFUSED(x.ring = twice);
    REFUSED(x.ring = large);
    REFUSED(x.ring = low);
    REFUSED(x.widths = NULL);
    REFUSED(x.widths = none);
    REFUSED(x.widths = few);
    REFUSED(x.widths = many);
    REFUSED(x.exchange = exchange); /* without a pace */
    REFUSED(x.overheads = exchange);
    run.options.pace = pace;
    REFUSED(x.exchange = negative);
    REFUSED(x.overheads = negative + 2);
    run.options.pace = bad_pace;
    REFUSED((void)x);
    run.options.pace = NULL;
    run.trace.event_capacity = -1;
    REFUSED((void)x);
}

static void scarce(hs_pool *pool)
{
    double memory[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const int32_t ring[] = {0, 2};
    const int64_t widths[] = {1, 3};
    hs_slices x = {.dtype = HS_FLOAT64,
                   .m = 3,
                   .n = 4,
                   .source = memory,
                   .source_row_stride = 4,
                   .source_col_stride = 1,
                   .target = memory,
                   .target_row_stride = 4,
                   .target_col_stride = 1,
                   .weight = 0.25,
                   .steps = 1,
                   .size = 2,
                   .ring = ring,
                   .widths = widths};
    test_run run = {.trace.event_capacity = 0};
    CHECK_SCARCE(run_slices(pool, &x, &run), memory[4] == 5);
    CHECK(memory[4] == 6);
    x.m = INT64_C(1) << 60;
    x.n = INT64_C(1) << 60; /* more bytes than there are addresses */
    const int64_t wide[] = {INT64_C(1) << 59, INT64_C(1) << 59};
    x.widths = wide;
    CHECK(run_slices(pool, &x, &run) == HS_ERROR_MEMORY);
}

int main(void)
{
    const int32_t cores[] = {0, 1};
    for (int32_t p = 1; p <= P; p = p < 3 ? p + 1 : p + 13) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, p == 2 ? cores : NULL, &pool) == HS_OK)) break;
        results(pool, p, 150);
        for (sets = LEAST_SET; sets < 2; sets++) results(pool, p, 40);
        if (p == 3) {
            overlapping(pool);
            pacing(pool);
            handing_over(pool);
            cancelling(pool);
            refusals(pool);
            scarce(pool);
        }
        hs_pool_destroy(pool);
    }
    return check_result();
}
