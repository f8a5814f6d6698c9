/* Factorisations with owners in both directions: the same bits as with one owner, the times of the
 * simulation, refusals, cancels, failing allocations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "elements.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 130, P = 3, MOST = MAX * MAX };

static char given[MOST * 16], one[MOST * 16], many[MOST * 16], tau[2][MAX * 16];
static int32_t pivots[2][MAX], map[MOST], nobody[MOST];

static void fill_given(int dtype, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        set(given, dtype, i,
            ((int)check_random(2001) - 1000 + (dtype >> 1) * I * ((int)check_random(2001) - 1000)) /
                1000.0);
    for (int64_t i = 0; i < n; i++) set(given, dtype, i * (n + 1), 2.0 * (double)n);
}

static hs_factor factor_of(int kind, int dtype, int64_t m, int64_t n, int64_t block, char *matrix,
                           int which)
{
    hs_factor x;
    hs_factor_default(&x, kind, dtype, m, n, matrix);
    x.a = given;
    x.a_row_stride = 1;
    x.a_col_stride = m;
    x.block = block;
    x.pivots = pivots[which];
    x.tau = tau[which];
    x.clear = kind == HS_CHOLESKY;
    return x;
}

static void deal_blocks(int64_t m, int64_t n, int64_t block, int32_t p)
{
    int32_t rows, cols;
    CHECK(hs_factor_blocks(n, m, block, &rows) == HS_OK &&
          hs_factor_blocks(m, n, block, &cols) == HS_OK);
    for (int32_t i = 0; i < rows * cols; i++) map[i] = (int32_t)check_random((unsigned)p);
}

static void same_bits(hs_pool *pool, int32_t p, int kind, int dtype, int64_t m, int64_t n,
                      int64_t block)
{
    const size_t e = (size_t)size_of[dtype];
    hs_factor alone = factor_of(kind, dtype, m, n, block, one, 0);
    hs_factor together = factor_of(kind, dtype, m, n, block, many, 1);
    fill_given(dtype, hs__max(m, n));
    deal_blocks(m, n, block, p);
    alone.owner = nobody;
    together.owner = map;
    together.grid = 1;
    CHECK(hs_run_factor(pool, &alone, NULL, NULL) == HS_OK && alone.failed == -1);
    CHECK(hs_run_factor(pool, &together, NULL, NULL) == HS_OK && together.failed == -1);
    CHECK(memcmp(one, many, (size_t)(m * n) * e) == 0);
    const int64_t rank = hs__min(m, n);
    if (kind == HS_LU) CHECK(memcmp(pivots[0], pivots[1], (size_t)rank * sizeof **pivots) == 0);
    if (kind == HS_QR) CHECK(memcmp(tau[0], tau[1], (size_t)rank * e) == 0);
}

static void results(hs_pool *pool, int32_t p)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 90, MAX};
    static const int64_t blocks[] = {1, 5, 16, 40};
    for (int turn = 0; turn < CHECK_MANY(60, 20); turn++) {
        const int kind = turn % 3;
        const int64_t n = sizes[check_random(8)];
        const int64_t m = kind == HS_CHOLESKY ? n : sizes[check_random(8)];
        same_bits(pool, p, kind, (int)check_random(4), m, n, blocks[check_random(4)]);
    }
}

static void times(hs_pool *pool, int kind, const double *panels, int32_t late)
{
    enum { N = 60, BLOCK = 7, EVENTS = 900 };
    const double cycle_times[] = {3, 5, 8};
    const double unit = 1e-6;
    const double pace[] = {1.5 * unit, 2.5 * unit, 4 * unit};
    double panel_pace[P], finish[P], lateness[P], makespan, work;
    double last = 0;
    for (int i = 0; i < P && panels; i++) panel_pace[i] = panels[i] * unit;
    const hs_factor_costs costs = {.panels = panels, .late_panel = late};
    const hs_factor_costs paced = {.panels = panels ? panel_pace : NULL, .late_panel = late};
    static hs_event events[EVENTS];
    static hs_factor_task tasks[EVENTS];
    int64_t count;
    fill_given(HS_FLOAT64, N);
    deal_blocks(N, N, BLOCK, P);
    hs_factor x = factor_of(kind, HS_FLOAT64, N, N, BLOCK, many, 1);
    x.owner = map;
    x.grid = 1;
    x.costs = &paced;
    const hs_options options = {.pace = pace};
    hs_trace trace = {
        .times.finish = finish, .times.late = lateness, .events = events, .event_capacity = EVENTS};
    CHECK(hs_factor_simulate(kind, N, N, BLOCK, P, cycle_times, map, 1, &costs, NULL, &makespan,
                             &work, tasks, &count, NULL, NULL) == HS_OK);
    CHECK(count < EVENTS && hs_run_factor(pool, &x, &options, &trace) == HS_OK);
    for (int i = 0; i < P; i++) last = fmax(last, finish[i] - lateness[i]);
    CHECK(fabs(last - makespan * unit) < 1e-9);
    /* a part that comes directly after its head is one event together with the head */
    CHECK(trace.event_count <= count);
    int32_t blocks;
    hs_factor_blocks(N, N, BLOCK, &blocks);
    for (int32_t e = 0; e < trace.event_count; e++) {
        int found = 0;
        for (int64_t i = 0; i < count; i++)
            found |= tasks[i].worker == events[e].worker &&
                     tasks[i].panel * blocks + tasks[i].block == events[e].box;
        CHECK(found);
    }
    double whole;
    memset(nobody, 0, sizeof nobody);
    CHECK(hs_factor_simulate(kind, N, N, BLOCK, P, cycle_times, nobody, 0, NULL, NULL, &makespan,
                             &whole, NULL, NULL, NULL, NULL) == HS_OK);
    CHECK(fabs(work / whole - 1.0) < 1e-12);
}

static int stop_later(void *context, double fraction)
{
    (void)fraction;
    return ++*(int *)context > 2;
}

static void refusals(hs_pool *pool)
{
    const double cycle_times[] = {1, 2, 3};
    const double links[P * P] = {0};
    const double pace[] = {1e-9, 1e-9, 1e-9};
    const hs_factor_costs costs = {.links = links};
    const hs_options paced = {.pace = pace};
    double makespan;
    fill_given(HS_FLOAT64, 20);
    deal_blocks(20, 20, 5, P);
    hs_factor x = factor_of(HS_LU, HS_FLOAT64, 20, 20, 5, many, 1);
    x.grid = 1;
    CHECK(hs_run_factor(pool, &x, NULL, NULL) == HS_ERROR_VALUE);
    x.owner = map;
    x.cooperative = 1;
    CHECK(hs_run_factor(pool, &x, NULL, NULL) == HS_ERROR_VALUE);
    x.cooperative = 0;
    x.grid = 2;
    CHECK(hs_run_factor(pool, &x, NULL, NULL) == HS_ERROR_VALUE);
    x.grid = 1;
    x.costs = &costs;
    CHECK(hs_run_factor(pool, &x, &paced, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 20, 20, 5, P, cycle_times, map, 1, &costs, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 20, 20, 5, P, cycle_times, map, 2, NULL, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    map[15] = P;
    x.costs = NULL;
    CHECK(hs_run_factor(pool, &x, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 20, 20, 5, P, cycle_times, map, 1, NULL, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    int calls = 0;
    const hs_options cancelled = {
        .poll = stop_later, .poll_context = &calls, .pace = (const double[]){1e-4, 1e-4, 1e-4}};
    deal_blocks(20, 20, 5, P);
    CHECK(hs_run_factor(pool, &x, &cancelled, NULL) == HS_ERROR_CANCELLED);
}

static hs_status factor_in_little_memory(hs_pool *pool, void *context)
{
    hs_factor x = factor_of(*(int *)context, HS_FLOAT64, 60, 60, 9, many, 1);
    x.owner = map;
    x.grid = 1;
    return hs_run_factor(pool, &x, NULL, NULL);
}

int main(void)
{
    for (int32_t p = 1; p <= P; p++) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, NULL, &pool) == HS_OK)) break;
        results(pool, p);
        const double panels[] = {9, 4, 8};
        for (int i = 0; i < 12 && p == P; i++) times(pool, i % 3, i % 2 ? panels : NULL, i / 6);
        if (p == P) refusals(pool);
        hs_pool_destroy(pool);
    }
    fill_given(HS_FLOAT64, 60);
    deal_blocks(60, 60, 9, P);
    for (int kind = 0; kind < 3; kind++)
        CHECK_SCARCE(scarce_life(P, factor_in_little_memory, &kind), 1);
    return check_result();
}
