/* Wavefronts: plans against a simulation tile by tile, the search against all periods, the bound;
 * runs against a sequential sweep, and against a tile function that knows what must come before
 * it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "hetsched.h"
#include "run_calls.h"
#include "scarce.h"

enum { MAX = 24 };

/* ---- plans ----------------------------------------------------------------------------------- */

/* Simulates tile by tile: each worker that can go on does so. Times are integers. */
static double slow_makespan(int64_t rows, int32_t cols, const double *times, const int32_t *owner,
                            int64_t reach, int order, double *start)
{
    double end[MAX * MAX];
    double ready[MAX] = {0};
    double makespan = 0;
    int64_t left = rows * cols;
    int64_t step[MAX] = {0};
    /* next column of each chunk; a chunk is named by its first column */
    int64_t column[MAX] = {0};
    for (int64_t i = 0; i < left; i++) end[i] = -1;
    while (left) {
        int64_t before = left;
        for (int32_t first = 0, next; first < cols; first = next) {
            for (next = first + 1; next < cols && owner[next] == owner[first]; next++) {}
            /* chunks of this owner to the left come first */
            int blocked = 0;
            for (int32_t j = 0; j < first; j++)
                blocked |= owner[j] == owner[first] && end[(rows - 1) * cols + j] < 0;
            for (; !blocked && column[first] < next - first;) {
                int64_t j = column[first];
                int64_t i = order == HS_ROW_WISE ? step[first] - reach * j : step[first];
                if (order == HS_ROW_WISE ? i >= 0 && i < rows : 1) {
                    int64_t below = hs__min(i + reach, rows - 1);
                    int64_t at = i * cols + first + j;
                    double from = ready[owner[first]];
                    if (i) from = fmax(from, end[at - cols]);
                    if (first + j) {
                        if (end[below * cols + first + j - 1] < 0) break;
                        from = fmax(from, end[below * cols + first + j - 1]);
                    }
                    if (start) start[at] = from;
                    end[at] = ready[owner[first]] = from + times[owner[first]];
                    makespan = fmax(makespan, end[at]);
                    left--;
                }
                if (order == HS_ROW_WISE) {
                    int64_t steps = rows + reach * (next - first - 1);
                    if (++column[first] == next - first && ++step[first] < steps) column[first] = 0;
                } else if (++step[first] == rows) {
                    step[first] = 0;
                    column[first]++;
                }
            }
        }
        if (!CHECK(left < before)) return -1;
    }
    return makespan;
}

static int same_as_slow(int64_t rows, int32_t cols, int32_t p, const double *times,
                        const int32_t *owner, int64_t reach, int order)
{
    double makespan, start[MAX * MAX], end[MAX * MAX], wanted_start[MAX * MAX];
    if (hs_wavefront_makespan(rows, cols, p, times, owner, reach, order, NULL, &makespan, start,
                              end))
        return 0;
    int64_t used = hs__min(reach, rows - 1);
    double wanted = slow_makespan(rows, cols, times, owner, used, order, wanted_start);
    double again;
    int same = makespan == wanted &&
               hs_wavefront_makespan(rows, cols, p, times, owner, reach, order, NULL, &again, NULL,
                                     NULL) == HS_OK &&
               again == wanted;
    for (int64_t i = 0; i < rows * cols; i++)
        same &= start[i] == wanted_start[i] && end[i] == start[i] + times[owner[i % cols]];
    return same;
}

static void simulation(void)
{
    for (int round = 0; round < 3000; round++) {
        int32_t p = 1 + (int32_t)check_random(4);
        int32_t cols = 1 + (int32_t)check_random(12);
        int32_t owner[MAX];
        int64_t rows = 1 + check_random(9);
        double times[4];
        for (int32_t i = 0; i < p; i++) times[i] = 1 + check_random(9);
        for (int32_t j = 0; j < cols; j++)
            owner[j] = j && check_random(3) ? owner[j - 1] : (int32_t)check_random((unsigned)p);
        CHECK(same_as_slow(rows, cols, p, times, owner, check_random(4), (int)check_random(2)));
    }
    const double three[] = {3, 5, 8}; /* the paper's numbers */
    int32_t owner[100], chosen, anew;
    double makespan;
    CHECK(hs_wavefront_panels(10, 10, 3, three, 10, 0, HS_ROW_WISE, NULL, owner, &chosen, &anew,
                              &makespan) == HS_OK &&
          makespan == 190);
    CHECK(hs_wavefront_panels(50, 50, 3, three, 10, 0, HS_ROW_WISE, NULL, owner, &chosen, &anew,
                              &makespan) == HS_OK &&
          makespan == 4030);
    CHECK(hs_wavefront_panels(50, 50, 3, three, 10, 0, HS_COLUMN_WISE, NULL, owner, &chosen, &anew,
                              &makespan) == HS_OK &&
          makespan == 8952);
    CHECK(hs_wavefront_panels(100, 100, 3, three, 100, 0, HS_ROW_WISE, NULL, owner, &chosen, &anew,
                              &makespan) == HS_OK &&
          makespan == 15602);
    const double doubling[] = {1, 2, 4};
    CHECK(hs_wavefront_panels(56, 56, 3, doubling, 7, 1, HS_ROW_WISE, NULL, owner, &chosen, &anew,
                              &makespan) == HS_OK &&
          makespan == 1818);
}

static void search(void)
{
    for (int round = 0; round < 400; round++) {
        int32_t p = 1 + (int32_t)check_random(5);
        int32_t cols = 1 + (int32_t)check_random(22);
        int32_t owner[MAX], chosen, anew, period, redistributed;
        int64_t rows = 1 + check_random(12);
        int64_t reach = check_random(3);
        int order = (int)check_random(2);
        double times[5];
        double best = INFINITY;
        double makespan, bound, again;
        for (int32_t i = 0; i < p; i++) times[i] = 1 + check_random(9);
        if (p > 1 && round % 9 == 0) times[check_random((unsigned)p)] = INFINITY;
        for (int32_t b = 1; b <= cols; b++) {
            CHECK(hs_wavefront_panels(rows, cols, p, times, b, reach, order, NULL, owner, &chosen,
                                      &anew, &makespan) == HS_OK &&
                  chosen == b);
            CHECK(hs_wavefront_makespan(rows, cols, p, times, owner, reach, order, NULL, &again,
                                        NULL, NULL) == HS_OK &&
                  again == makespan);
            best = fmin(best, makespan);
        }
        hs_certificate c, proof;
        double least;
        for (int method = HS_WAVEFRONT_PANELS; method <= HS_WAVEFRONT_CYCLIC; method++)
            for (int32_t b = 0; b < 2; b++) {
                CHECK(hs_wavefront_best(rows, cols, p, times, (hs_wavefront_method)method, b, reach,
                                        order, NULL, owner, &chosen, &anew, &c) == HS_OK);
                CHECK(hs_wavefront_certificate(rows, cols, p, times, owner, reach, order, NULL,
                                               &proof) == HS_OK &&
                      fabs(c.value - proof.value) <= 1e-12 * c.value && c.bound == proof.bound);
                CHECK((c.scope[0] != '\0') == (method == HS_WAVEFRONT_PANELS && b == 0));
                if (method == HS_WAVEFRONT_CYCLIC) {
                    CHECK(anew == 0 && chosen >= 1 && chosen <= p);
                    for (int32_t j = chosen; j < cols; j++) CHECK(owner[j] == owner[j - chosen]);
                    for (int32_t j = 1; j < cols && j < chosen; j++) CHECK(owner[j] > owner[j - 1]);
                }
            }
        CHECK(hs_wavefront_best(rows, cols, p, times, HS_WAVEFRONT_PANELS, 0, reach, order, NULL,
                                owner, &chosen, &anew, &c) == HS_OK);
        CHECK(hs_wavefront_panels(rows, cols, p, times, 0, reach, order, NULL, owner, &chosen,
                                  &anew, &least) == HS_OK &&
              least == c.value);
        CHECK(hs_wavefront_best(rows, cols, p, times, (hs_wavefront_method)2, 0, reach, order, NULL,
                                owner, &chosen, &anew, &c) == HS_ERROR_VALUE);
        CHECK(hs_wavefront_panels(rows, cols, p, times, 0, reach, order, NULL, owner, &period,
                                  &redistributed, &makespan) == HS_OK &&
              makespan == best);
        CHECK(hs_wavefront_panels(rows, cols, p, times, period, reach, order, NULL, owner, &chosen,
                                  &anew, &again) == HS_OK &&
              again == best && anew == redistributed);
        CHECK(hs_wavefront_bound(rows, cols, p, times, reach, NULL, &bound) == HS_OK &&
              bound <= best * (1 + 1e-12) && bound > 0);
    }
}

static void refusals(void)
{
    const double good[] = {3, 5};
    const double zero[] = {3, 0};
    const double nan[] = {NAN, 1};
    const double infinite[] = {INFINITY, INFINITY};
    const double half[] = {1, INFINITY};
    const int32_t owner[] = {0, 1, 1};
    const int32_t wrong[] = {0, 2, 1};
    const int32_t negative[] = {0, -1, 1};
    int32_t out[3], chosen, anew;
    double makespan = -1;
    double start[6];
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_OK);
    makespan = -1;
    CHECK(hs_wavefront_makespan(0, 3, 2, good, owner, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 0, 2, good, owner, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(INT64_C(1) << 52, 3, 2, good, owner, 0, HS_ROW_WISE, NULL,
                                &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 0, good, owner, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, -1, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, 0, 2, NULL, &makespan, NULL, NULL) ==
          HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, 0, HS_ROW_WISE, NULL, &makespan, start,
                                NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, wrong, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, negative, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, half, owner, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                NULL) == HS_ERROR_VALUE);
    const double *bad[] = {zero, nan, infinite};
    for (int i = 0; i < 3; i++) {
        CHECK(hs_wavefront_makespan(2, 3, 2, bad[i], owner, 0, HS_ROW_WISE, NULL, &makespan, NULL,
                                    NULL) == HS_ERROR_VALUE);
        CHECK(hs_wavefront_bound(2, 3, 2, bad[i], 0, NULL, &makespan) == HS_ERROR_VALUE);
        CHECK(hs_wavefront_panels(2, 3, 2, bad[i], 1, 0, HS_ROW_WISE, NULL, out, &chosen, &anew,
                                  &makespan) == HS_ERROR_VALUE);
    }
    CHECK(hs_wavefront_panels(2, 3, 2, good, -1, 0, HS_ROW_WISE, NULL, out, &chosen, &anew,
                              &makespan) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_panels(2, 3, 2, good, 1, 0, -1, NULL, out, &chosen, &anew, &makespan) ==
          HS_ERROR_VALUE);
    CHECK(makespan == -1);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* State of a tile function that checks what has been done before it. The counters are atomic,
 * because several threads use them. */
typedef struct {
    int64_t m, n;
    int64_t row, col; /* the first element */
    int32_t rows, cols, axis;
    int64_t reach;
    int done[MAX * MAX];  /* atomic: 1 when the tile has ended */
    int cover[MAX * MAX]; /* atomic: how often the element was visited */
    int early;            /* atomic: tiles that came before one for which they wait */
} witness;

static int64_t tile_of(int64_t size, int64_t parts, int64_t from)
{
    int64_t i = 0;
    while ((i + 1) * size / parts <= from) i++;
    return i;
}

static void watch_tile(void *context, int64_t row, int64_t col, int64_t height, int64_t width)
{
    witness *x = context;
    row -= x->row;
    col -= x->col;
    int64_t i = tile_of(x->m, x->rows, row);
    int64_t k = tile_of(x->n, x->cols, col);
    int64_t along = x->axis ? i : k;
    int64_t length = x->axis ? x->rows : x->cols;
    int64_t ahead = hs__min(along + x->reach, length - 1);
    /* the tiles that must be done: in its own line, and in the line before */
    int64_t before[2] = {-1, -1};
    if (along) before[0] = x->axis ? (i - 1) * x->cols + k : i * x->cols + k - 1;
    if (x->axis ? k : i) before[1] = x->axis ? ahead * x->cols + k - 1 : (i - 1) * x->cols + ahead;
    for (int b = 0; b < 2; b++)
        if (before[b] >= 0 && !__atomic_load_n(&x->done[before[b]], __ATOMIC_RELAXED))
            __atomic_add_fetch(&x->early, 1, __ATOMIC_RELAXED);
    for (int64_t r = row; r < row + height; r++)
        for (int64_t c = col; c < col + width; c++)
            __atomic_add_fetch(&x->cover[r * x->n + c], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&x->done[i * x->cols + k], 1, __ATOMIC_RELAXED);
}

static void runs_in_order(hs_pool *pool, int32_t p, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        witness *x = calloc(1, sizeof *x);
        x->rows = 1 + (int32_t)check_random(12);
        x->cols = 1 + (int32_t)check_random(12);
        x->axis = (int32_t)check_random(2);
        x->reach = check_random(3);
        x->m = x->rows + check_random(12);
        x->n = x->cols + check_random(12);
        x->row = round % 2 ? check_random(9) : 0;
        x->col = round % 2 ? check_random(9) : 0;
        int32_t owner[MAX];
        for (int32_t j = 0; j < MAX; j++)
            owner[j] = j && check_random(3) ? owner[j - 1] : (int32_t)check_random((unsigned)p);
        hs_wavefront w = {.m = x->m,
                          .n = x->n,
                          .rows = x->rows,
                          .cols = x->cols,
                          .axis = x->axis,
                          .owner = owner,
                          .reach = x->reach,
                          .order = (int32_t)check_random(2),
                          .tile = watch_tile,
                          .context = x,
                          .row = x->row,
                          .col = x->col};
        double pace[16], finish[16], late[16], busy[16];
        for (int32_t i = 0; i < p; i++) pace[i] = 1e-8 * (1 + check_random(9));
        hs_event events[MAX * MAX];
        test_run run = {.trace.events = events,
                        .trace.event_capacity = MAX * MAX,
                        .options.pace = round % 3 ? NULL : pace,
                        .trace.times.finish = finish,
                        .trace.times.late = late,
                        .trace.times.busy = busy};
        CHECK(run_wavefront(pool, &w, &run) == HS_OK);
        CHECK(x->early == 0);
        int wrong = 0;
        for (int64_t i = 0; i < x->m * x->n; i++) wrong += x->cover[i] != 1;
        CHECK(wrong == 0);
        CHECK(run.trace.event_count == x->rows * x->cols);
        for (int32_t e = 0; e < run.trace.event_count; e++) {
            const int32_t line = x->axis ? events[e].box % x->cols : events[e].box / x->cols;
            CHECK(events[e].worker == owner[line] && events[e].kind == HS_COMPUTE &&
                  events[e].end >= events[e].start && events[e].start >= 0);
            CHECK(events[e].end <= finish[events[e].worker]);
        }
        free(x);
    }
}

/* Sweeps one element after the other, as the definition says. */
static void sweep_plainly(const hs_stencil *s)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double value = s->rule == HS_SUM ? 0 : INFINITY;
            for (int k = 0; k < 9; k++) {
                int64_t r = i + k / 3 - 1;
                int64_t c = j + k % 3 - 1;
                if (r < 0 || c < 0 || r >= s->m || c >= s->n) continue;
                ptrdiff_t at = r * s->row_stride + c * s->col_stride;
                double x =
                    s->dtype == HS_FLOAT32 ? ((float *)s->data)[at] : ((double *)s->data)[at];
                if (s->rule == HS_MIN) value = fmin(value, x + s->weights[k]);
                else if (s->weights[k] != 0) value += s->weights[k] * x;
            }
            ptrdiff_t at = i * s->row_stride + j * s->col_stride;
            if (s->dtype == HS_FLOAT32) ((float *)s->data)[at] = (float)value;
            else ((double *)s->data)[at] = value;
        }
}

/* Small integers, and weights with which the sums are exact in both types. */
static void stencils(hs_pool *pool, int32_t p)
{
    enum { ELEMENTS = 2 * MAX * MAX * 3 };
    for (int round = 0; round < 120; round++) {
        const int32_t dtype = round % 2 ? HS_FLOAT32 : HS_FLOAT64;
        const int32_t corner = (int32_t)check_random(2);
        const size_t bytes = ELEMENTS * (dtype == HS_FLOAT32 ? sizeof(float) : sizeof(double));
        hs_stencil s = {.dtype = dtype,
                        .rule = (int32_t)check_random(2),
                        .m = 1 + check_random(MAX - 1),
                        .n = 1 + check_random(MAX - 1)};
        s.row_stride = round % 3 ? 2 * s.n + 1 : 2;
        s.col_stride = round % 3 ? 2 : 3 * s.m;
        for (int k = 0; k < 9; k++) {
            s.weights[k] = s.rule == HS_SUM  ? (check_random(8) == 0 && k < 5)
                           : check_random(3) ? INFINITY
                                             : check_random(7);
            if (!corner && (k == 2 || k == 6)) s.weights[k] = s.rule == HS_SUM ? 0 : INFINITY;
        }
        char *memory = malloc(bytes);
        char *expected = malloc(bytes);
        for (int i = 0; i < ELEMENTS; i++) {
            double x = check_random(3) ? check_random(50) : 0;
            if (dtype == HS_FLOAT32) ((float *)memory)[i] = (float)x;
            else ((double *)memory)[i] = x;
        }
        memcpy(expected, memory, bytes);
        s.data = expected;
        sweep_plainly(&s);
        s.data = memory;
        int32_t owner[MAX];
        for (int32_t j = 0; j < MAX; j++) owner[j] = (int32_t)check_random((unsigned)p);
        hs_wavefront w = {.m = s.m,
                          .n = s.n,
                          .rows = 1 + (int32_t)check_random((unsigned)s.m),
                          .cols = 1 + (int32_t)check_random((unsigned)s.n),
                          .axis = corner ? 0 : (int32_t)check_random(2),
                          .owner = owner,
                          .reach = corner,
                          .tile = hs_stencil_tile,
                          .context = &s};
        if (corner) w.rows = (int32_t)s.m;
        test_run run = {.trace.event_capacity = 0};
        CHECK(run_wavefront(pool, &w, &run) == HS_OK);
        CHECK(memcmp(memory, expected, bytes) == 0); /* including the memory between the strides */
        free(memory);
        free(expected);
    }
}

static void do_nothing(void *context, int64_t row, int64_t col, int64_t height, int64_t width)
{
    (void)context;
    (void)row;
    (void)col;
    (void)height;
    (void)width;
}

/* The emulated clock: the workers end when the simulation says. */
static void pacing(hs_pool *pool)
{
    const double times[] = {3, 5, 8};
    const double unit = 2e-4;
    const double pace[] = {3 * unit / 4, 5 * unit / 4, 8 * unit / 4}; /* 4 elements per tile */
    int32_t owner[10], chosen, anew;
    double makespan, finish[3], late[3];
    double last = 0;
    CHECK(hs_wavefront_panels(10, 10, 3, times, 10, 0, HS_ROW_WISE, NULL, owner, &chosen, &anew,
                              &makespan) == HS_OK);
    hs_wavefront w = {
        .m = 20, .n = 20, .rows = 10, .cols = 10, .axis = 1, .owner = owner, .tile = do_nothing};
    test_run run = {.options.pace = pace, .trace.times.finish = finish, .trace.times.late = late};
    CHECK(run_wavefront(pool, &w, &run) == HS_OK);
    for (int i = 0; i < 3; i++) last = fmax(last, finish[i] - late[i]);
    CHECK(fabs(last - makespan * unit) < 1e-9);
    for (int i = 0; i < 3; i++) CHECK(late[i] >= 0);
}

/* Two workers take turns 1000 times. A worker that sleeps until the other one has advanced is
 * woken. It does not only look every 20 ms. */
static void handing_over(hs_pool *pool)
{
    enum { TURNS = 1000 };
    int32_t owner[TURNS];
    for (int32_t j = 0; j < TURNS; j++) owner[j] = j % 2;
    hs_wavefront w = {.m = 1,
                      .n = TURNS,
                      .rows = 1,
                      .cols = TURNS,
                      .axis = 1,
                      .owner = owner,
                      .tile = do_nothing};
    test_run run = {.trace.event_capacity = 0};
    double start = hs_clock();
    CHECK(run_wavefront(pool, &w, &run) == HS_OK);
    CHECK(hs_clock() - start < 10);
}

static int stop_after(void *context, double fraction)
{
    CHECK(fraction >= 0 && fraction <= 1);
    return ++*(int *)context >= 2;
}

static int run_again(void *context, double fraction)
{
    (void)fraction;
    const int32_t owner = 0;
    hs_wavefront w = {
        .m = 1, .n = 1, .rows = 1, .cols = 1, .axis = 1, .owner = &owner, .tile = do_nothing};
    test_run run = {.trace.event_capacity = 0};
    CHECK(run_wavefront(context, &w, &run) == HS_ERROR_BUSY);
    return 1;
}

static void cancelling(hs_pool *pool)
{
    const int32_t owner[] = {1, 2, 0};
    const double hours[] = {1000, 1000, 1000};
    hs_wavefront w = {
        .m = 3, .n = 3, .rows = 3, .cols = 3, .axis = 1, .owner = owner, .tile = do_nothing};
    int calls = 0;
    test_run run = {
        .options.pace = hours, .options.poll = stop_after, .options.poll_context = &calls};
    /* two workers wait for progress, one for the end of its time */
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_CANCELLED);
    CHECK(calls == 2);
    run.options.poll = run_again;
    run.options.poll_context = pool;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_CANCELLED);
    runs_in_order(pool, 3, 3); /* the pool still works */
}

static void run_refusals(hs_pool *pool)
{
    const int32_t owner[] = {0, 1, 2};
    const int32_t wrong[] = {0, 3, 2};
    const double bad_pace[] = {1, NAN, 1};
    const hs_wavefront good = {
        .m = 4, .n = 5, .rows = 2, .cols = 3, .axis = 1, .owner = owner, .tile = do_nothing};
    test_run run = {.trace.event_capacity = 0};
    hs_wavefront w = good;
    CHECK(run_wavefront(pool, &good, &run) == HS_OK);
    CHECK(run_wavefront(NULL, &good, &run) == HS_ERROR_VALUE);
    CHECK(run_wavefront(pool, NULL, &run) == HS_ERROR_VALUE);
    CHECK(hs_run_wavefront(pool, &good, NULL, NULL) == HS_OK);
    w.m = 1;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.n = 2;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.rows = 0;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.m = w.n = INT32_MAX;
    w.rows = w.cols = INT32_MAX;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.axis = 2;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.owner = wrong;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.reach = -1;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.order = 2;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    w = good;
    w.tile = NULL;
    CHECK(run_wavefront(pool, &w, &run) == HS_ERROR_VALUE);
    run.options.pace = bad_pace;
    CHECK(run_wavefront(pool, &good, &run) == HS_ERROR_VALUE);
    run.options.pace = NULL;
    run.trace.event_capacity = 1; /* capacity without an array */
    CHECK(run_wavefront(pool, &good, &run) == HS_ERROR_VALUE);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static void count_elements(void *context, int64_t row, int64_t col, int64_t height, int64_t width)
{
    (void)row;
    (void)col;
    __atomic_add_fetch((int64_t *)context, height * width, __ATOMIC_RELAXED);
}

static hs_status run_scanty(hs_pool *pool, void *pace)
{
    const int32_t owner[] = {0, 1, 2, 0, 1};
    int64_t elements = 0;
    const hs_wavefront w = {.m = 12,
                            .n = 10,
                            .rows = 4,
                            .cols = 5,
                            .axis = 1,
                            .owner = owner,
                            .tile = count_elements,
                            .context = &elements};
    test_run run = {.options.pace = pace};
    const hs_status status = run_wavefront(pool, &w, &run);
    CHECK(elements == (status ? 0 : 120));
    return status;
}

static void scarce(void)
{
    double times[] = {3, 5, 8};
    double makespan = -7;
    double pace[] = {1e-9, 1e-9, 1e-9};
    int32_t owner[10];
    int32_t chosen = -7;
    int32_t anew = -7;
    for (int32_t j = 0; j < 10; j++) owner[j] = -7;
    CHECK_SCARCE(scarce_life(3, run_scanty, NULL), 1);
    CHECK_SCARCE(scarce_life(3, run_scanty, pace), 1);
    CHECK_SCARCE(hs_wavefront_panels(10, 10, 3, times, 0, 0, HS_ROW_WISE, NULL, owner, &chosen,
                                     &anew, &makespan),
                 owner[0] == -7 && owner[9] == -7 && chosen == -7 && anew == -7 && makespan == -7);
    makespan = -7;
    hs_certificate c = {.value = -7};
    for (int method = HS_WAVEFRONT_PANELS; method <= HS_WAVEFRONT_CYCLIC; method++) {
        c.value = -7;
        CHECK_SCARCE(hs_wavefront_best(10, 10, 3, times, (hs_wavefront_method)method, 0, 0,
                                       HS_ROW_WISE, NULL, owner, &chosen, &anew, &c),
                     c.value == -7);
    }
    CHECK_SCARCE(hs_wavefront_panels(10, 10, 3, times, 10, 1, HS_ROW_WISE, NULL, owner, &chosen,
                                     &anew, &makespan),
                 makespan == -7);
    makespan = -7;
    CHECK_SCARCE(
        hs_wavefront_makespan(10, 10, 3, times, owner, 0, HS_ROW_WISE, NULL, &makespan, NULL, NULL),
        makespan == -7);
    makespan = -7;
    CHECK_SCARCE(hs_wavefront_bound(10, 10, 3, times, 0, NULL, &makespan), makespan == -7);
}

int main(void)
{
    simulation();
    search();
    refusals();
    const int32_t cores[] = {0, 1};
    for (int32_t p = 1; p <= 16; p = p < 3 ? p + 1 : p + 13) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, p == 2 ? cores : NULL, &pool) == HS_OK)) break;
        runs_in_order(pool, p, 60);
        stencils(pool, p);
        if (p == 3) {
            pacing(pool);
            handing_over(pool);
            cancelling(pool);
            run_refusals(pool);
        }
        hs_pool_destroy(pool);
    }
    scarce();
    return check_result();
}
