/* Plans of the reduction to a band: tasks of every block in their order, a makespan that no plan of
 * brute force beats by more than the bound allows, refusals, failing allocations. Runs by a plan: the
 * band has the trace and the Frobenius norm of the matrix, the events are the tasks, an emulated run
 * ends when the plan does. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "elements.h"
#include "scarce.h"

enum { WORKERS = 4, TASKS = 4000, BLOCKS = 40 };

typedef struct {
    int64_t n, block;
    int32_t p, blocks;
    int64_t tasks;
    double times[WORKERS], panels[WORKERS];
    int32_t owner[BLOCKS];
} problem;

static problem make_problem(int64_t n, int64_t block, int32_t p)
{
    problem x = {.n = n, .block = block, .p = p};
    for (int32_t w = 0; w < p; w++) {
        x.times[w] = 1 + check_random(8);
        x.panels[w] = 1 + check_random(8);
    }
    CHECK(hs_reduction_size(n, block, &x.tasks, &x.blocks) == HS_OK);
    CHECK(x.tasks <= TASKS && x.blocks <= BLOCKS);
    return x;
}

static hs_status deal(problem *x)
{
    return hs_reduction_owners(x->n, x->block, x->p, x->times, x->panels, NULL, x->owner);
}

static double makespan_of(const problem *x, const int32_t *owner, hs_reduction_task *tasks)
{
    double makespan = NAN;
    CHECK(hs_reduction_simulate(x->n, x->block, x->p, x->times, x->panels, owner, NULL, &makespan,
                                tasks) == HS_OK);
    return makespan;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* The tasks come as the header says, and no worker does two at a time. */
static void check_tasks(const problem *x, const hs_reduction_task *tasks, double makespan)
{
    const int32_t panels = (int32_t)((x->n > 2 ? x->n - 2 : 0) / x->block);
    double free_at[WORKERS] = {0};
    double last = 0;
    int64_t i = 0;
    for (int32_t k = -1; k < panels; k++)
        for (int32_t kind = HS_REDUCTION_PRODUCT; kind <= HS_REDUCTION_UPDATE; kind++)
            for (int32_t j = k + 1; k >= 0 && j < x->blocks; j++) {
                CHECK(tasks[i].kind == kind || tasks[i].kind == HS_REDUCTION_PANEL);
                i += tasks[i].kind == HS_REDUCTION_PANEL;
                CHECK(tasks[i].kind == kind && tasks[i].panel == k && tasks[i].block == j);
                i++;
            }
    CHECK(i == x->tasks);
    for (i = 0; i < x->tasks; i++) {
        const hs_reduction_task *t = &tasks[i];
        const double time =
            t->kind == HS_REDUCTION_PANEL ? x->panels[t->worker] : x->times[t->worker];
        CHECK(t->worker == x->owner[t->block] && t->work > 0);
        CHECK(t->start >= free_at[t->worker]);
        CHECK(fabs(t->end - t->start - t->work * time) <= 1e-9 * t->end);
        free_at[t->worker] = t->end;
        last = fmax(last, t->end);
    }
    CHECK(last == makespan);
}

/* The least makespan of all owners. */
static double best_of_all(const problem *x)
{
    int32_t owner[BLOCKS] = {0};
    double least = INFINITY;
    for (int32_t j = 0; j < x->blocks;) {
        least = fmin(least, makespan_of(x, owner, NULL));
        for (j = 0; j < x->blocks && ++owner[j] == x->p; j++) owner[j] = 0;
    }
    return least;
}

static void check_plan(int64_t n, int64_t block, int32_t p)
{
    static hs_reduction_task tasks[TASKS];
    problem x = make_problem(n, block, p);
    hs_certificate certificate;
    double ideal, bound;
    CHECK(deal(&x) == HS_OK);
    const double makespan = makespan_of(&x, x.owner, tasks);
    check_tasks(&x, tasks, makespan);
    CHECK(hs_reduction_bound(n, block, p, x.times, x.panels, NULL, &ideal, &bound) == HS_OK);
    CHECK(ideal <= bound && bound <= makespan * (1 + 1e-12));
    CHECK(hs_reduction_certificate(n, block, p, x.times, x.panels, x.owner, NULL, &certificate) ==
          HS_OK);
    CHECK(certificate.value == makespan && certificate.bound == fmin(bound, makespan));
    if (n == 0 || pow(p, x.blocks) > 300) return;
    const double least = best_of_all(&x);
    CHECK(bound <= least * (1 + 1e-12) && least <= makespan);
}

static void check_plans(void)
{
    for (int32_t p = 1; p <= WORKERS; p++)
        for (int64_t n = 0; n < 40; n += 1 + check_random(3))
            for (int64_t block = 1; block < 12; block += 1 + check_random(4))
                if (n / block < BLOCKS) check_plan(n, block, p);
}

/* A worker with an infinite time gets nothing; a plan that needs one is refused. */
static void check_infinite(void)
{
    problem x = make_problem(30, 4, 3);
    double makespan = -1;
    x.times[1] = INFINITY;
    x.panels[2] = INFINITY;
    CHECK(deal(&x) == HS_OK);
    for (int32_t j = 0; j < x.blocks; j++) {
        CHECK(x.owner[j] != 1);
        CHECK(x.owner[j] != 2 || j >= 7);
    }
    x.owner[0] = 2;
    CHECK(hs_reduction_simulate(30, 4, 3, x.times, x.panels, x.owner, NULL, &makespan, NULL) ==
          HS_ERROR_VALUE);
    x.owner[0] = 3;
    CHECK(hs_reduction_simulate(30, 4, 3, x.times, x.panels, x.owner, NULL, &makespan, NULL) ==
          HS_ERROR_VALUE);
    CHECK(makespan == -1);
    x.panels[0] = NAN;
    CHECK(deal(&x) == HS_ERROR_VALUE);
    x.panels[0] = INFINITY;
    CHECK(deal(&x) == HS_ERROR_VALUE);
    CHECK(hs_reduction_size(-1, 4, &x.tasks, &x.blocks) == HS_ERROR_VALUE);
    CHECK(hs_reduction_size(9, 0, &x.tasks, &x.blocks) == HS_ERROR_VALUE);
    CHECK(hs_reduction_size(46341, 1, &x.tasks, &x.blocks) == HS_ERROR_VALUE);
}

static hs_status plan_all(problem *x, double *found)
{
    hs_status status = deal(x);
    if (!status)
        status = hs_reduction_simulate(x->n, x->block, x->p, x->times, x->panels, x->owner, NULL,
                                       &found[0], NULL);
    if (!status)
        status = hs_reduction_bound(x->n, x->block, x->p, x->times, x->panels, NULL, &found[1],
                                    &found[2]);
    return status;
}

static void check_in_little_memory(void)
{
    problem x = make_problem(30, 4, 3);
    double found[3] = {-1, -1, -1};
    CHECK_SCARCE((found[2] = -1, plan_all(&x, found)), found[2] == -1);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* A matrix, of which the elements above the diagonal are NaN, and its reduction. */
typedef struct {
    int dtype;
    char *a, *band;
    int64_t band_ld;
    hs_reduction x;
    int32_t owner[BLOCKS];
} reduction;

static reduction make_reduction(int dtype, int64_t n, int64_t block, int32_t p)
{
    reduction r = {.dtype = dtype, .band_ld = block + 1 + check_random(2)};
    r.a = malloc((size_t)(n * n + 1) * size_of[dtype]);
    r.band = malloc((size_t)(r.band_ld * n + 1) * size_of[dtype]);
    if (!r.a || !r.band) abort();
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double re = check_random(2001) / 1000.0 - 1, im = check_random(2001) / 1000.0 - 1;
            set(r.a, dtype, i * n + j, j > i ? NAN : i == j || dtype < 2 ? re : re + im * I);
        }
    for (int32_t j = 0; j < BLOCKS; j++) r.owner[j] = (int32_t)check_random((unsigned)p);
    r.x = (hs_reduction){.dtype = dtype,
                         .n = n,
                         .block = block,
                         .a = r.a,
                         .a_row_stride = n,
                         .a_col_stride = 1,
                         .band = r.band,
                         .band_ld = r.band_ld};
    return r;
}

static void free_reduction(reduction *r)
{
    free(r->a);
    free(r->band);
}

/* The trace, and the square of the Frobenius norm, of a Hermitian matrix with element (i, j), i >=
 * j, is at i row + j col + first. */
CHECK_ORACLE void add_up(const char *x, int dtype, int64_t n, int64_t reach, int64_t row,
                         int64_t col, double *sums)
{
    sums[0] = sums[1] = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n && i <= j + reach; i++) {
            const double complex value = get(x, dtype, i * row + j * col);
            if (i == j) sums[0] += creal(value);
            sums[1] +=
                (i == j ? 1 : 2) * (creal(value) * creal(value) + cimag(value) * cimag(value));
        }
}

static void check_band(const reduction *r)
{
    const int64_t n = r->x.n, block = r->x.block;
    const double eps = r->dtype & 1 ? 0x1p-52 : 0x1p-23;
    double own[2], wanted[2];
    add_up(r->a, r->dtype, n, n, n, 1, wanted);
    add_up(r->band, r->dtype, n, block, 1, r->band_ld - 1, own);
    CHECK(fabs(own[1] - wanted[1]) <= 20 * eps * (double)n * wanted[1]);
    CHECK(fabs(own[0] - wanted[0]) <= 20 * eps * (double)n * sqrt((double)n * wanted[1] + DBL_MIN));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = n - j; i <= block; i++)
            CHECK(get(r->band, r->dtype, i + j * r->band_ld) == 0);
}

static void check_run(hs_pool *pool, int32_t p, int dtype, int64_t n, int64_t block)
{
    static hs_event events[TASKS];
    int seen[TASKS] = {0};
    reduction r = make_reduction(dtype, n, block, p);
    problem plan = make_problem(n, block, p);
    hs_trace trace = {.events = events, .event_capacity = TASKS};
    r.x.owner = r.owner;
    if (!CHECK(hs_run_reduction(pool, &r.x, NULL, &trace) == HS_OK)) return;
    CHECK(!r.x.failed && trace.event_count == plan.tasks);
    for (int32_t e = 0; e < trace.event_count; e++) seen[events[e].box]++;
    for (int64_t t = 0; t < plan.tasks; t++) CHECK(seen[t] == 1);
    check_band(&r);
    free_reduction(&r);
}

/* An emulated worker takes as long as the plan says. */
static void check_pace(hs_pool *pool, int32_t p)
{
    static hs_event events[TASKS];
    static hs_reduction_task tasks[TASKS];
    reduction r = make_reduction(HS_FLOAT64, 60, 16, p);
    problem plan = make_problem(60, 16, p);
    double pace[WORKERS], panel_pace[WORKERS];
    for (int32_t w = 0; w < p; w++) {
        panel_pace[w] = 1e-8 * plan.panels[w];
        pace[w] = 1e-8 * plan.times[w] / hs_flops_per_update(HS_FLOAT64);
    }
    hs_trace trace = {.events = events, .event_capacity = TASKS};
    r.x.owner = r.owner;
    r.x.panel_pace = panel_pace;
    memcpy(plan.owner, r.owner, sizeof plan.owner);
    (void)makespan_of(&plan, plan.owner, tasks);
    CHECK(hs_run_reduction(pool, &r.x, &(hs_options){.pace = pace}, &trace) == HS_OK);
    CHECK(trace.event_count == plan.tasks);
    for (int32_t e = 0; e < trace.event_count; e++) {
        const hs_reduction_task *task = &tasks[events[e].box];
        CHECK(events[e].worker == task->worker);
        CHECK(fabs(events[e].start - 1e-8 * task->start) <= 1e-9 * task->end);
        CHECK(fabs(events[e].end - 1e-8 * task->end) <= 1e-9 * task->end);
    }
    free_reduction(&r);
}

static void check_refusals(hs_pool *pool, int32_t p)
{
    reduction r = make_reduction(HS_FLOAT64, 60, 16, p);
    const char before = r.band[0];
    r.x.owner = r.owner;
    set(r.a, HS_FLOAT64, 60 * 50, INFINITY);
    r.band[0] = before;
    CHECK(hs_run_reduction(pool, &r.x, NULL, NULL) == HS_OK);
    CHECK(r.x.failed && r.band[0] == before);
    r.x.block = 80;
    r.x.band_ld = 81;
    CHECK(hs_run_reduction(pool, &r.x, NULL, NULL) == HS_ERROR_VALUE);
    r.x.block = 8;
    CHECK(hs_run_reduction(pool, &r.x, NULL, NULL) == HS_ERROR_VALUE);
    r.x.block = 16;
    r.x.band_ld = 16;
    CHECK(hs_run_reduction(pool, &r.x, NULL, NULL) == HS_ERROR_VALUE);
    r.x.band_ld = 17;
    r.owner[3] = p;
    CHECK(hs_run_reduction(pool, &r.x, NULL, NULL) == HS_ERROR_VALUE);
    free_reduction(&r);
}

static hs_status reduce_in_little_memory(hs_pool *pool, void *context)
{
    reduction *r = context;
    const char before = r->band[0];
    const hs_status status = hs_run_reduction(pool, &r->x, NULL, NULL);
    CHECK(status == HS_OK || r->band[0] == before);
    return status;
}

static void check_runs(hs_pool *pool, int32_t p)
{
    static const int64_t orders[] = {0, 1, 2, 15, 16, 17, 18, 33, 60, 99};
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            check_run(pool, p, dtype, orders[i], 16 * (1 + check_random(2)));
    check_pace(pool, p);
    check_refusals(pool, p);
}

int main(void)
{
    check_plans();
    check_infinite();
    check_in_little_memory();
    for (int32_t p = 1; p <= WORKERS; p++) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, NULL, &pool) == HS_OK)) continue;
        check_runs(pool, p);
        hs_pool_destroy(pool);
    }
    reduction r = make_reduction(HS_FLOAT64, 40, 16, 2);
    r.x.owner = r.owner;
    CHECK_SCARCE(scarce_life(2, reduce_in_little_memory, &r), 1);
    free_reduction(&r);
    return check_result();
}
