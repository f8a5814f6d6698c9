/* Plans of the reduction of a Hermitian matrix to a band: owners of block columns, the schedule, and
 * a lower bound. */
#include "allocate/reduction.h"

#include <math.h>
#include <stdlib.h>

#include "allocate/factor.h"
#include "core/cancel.h"
#include "hetsched.h"

/* The blocks of a reduction, and the speeds of the workers. */
typedef struct {
    hs__reduction_blocks blocks;
    int32_t p;
    const double *times, *panels;
} problem;

static hs_status open_problem(problem *x, int64_t n, int64_t block, int32_t p,
                              const double *cycle_times, const double *panel_times)
{
    if (!hs__reduction_blocks_init(&x->blocks, n, block) || p < 1 || !cycle_times)
        return HS_ERROR_VALUE;
    x->p = p;
    x->times = cycle_times;
    x->panels = panel_times ? panel_times : cycle_times;
    return hs__valid_times(p, x->times) && hs__valid_times(p, x->panels) ? HS_OK : HS_ERROR_VALUE;
}

/* Whether a worker can own a block. */
static int is_able(const problem *x, int32_t worker, int32_t block)
{
    return isfinite(x->times[worker]) && (block >= x->blocks.panels || isfinite(x->panels[worker]));
}

static hs_status check_owners(const problem *x, const int32_t *owner)
{
    if (x->blocks.count && !owner) return HS_ERROR_VALUE;
    for (int32_t j = 0; j < x->blocks.count; j++)
        if (owner[j] < 0 || owner[j] >= x->p || !is_able(x, owner[j], j)) return HS_ERROR_VALUE;
    return HS_OK;
}

hs_status hs_reduction_size(int64_t n, int64_t block, int64_t *tasks, int32_t *blocks)
{
    hs__reduction_blocks b;
    if (!tasks || !blocks || !hs__reduction_blocks_init(&b, n, block)) return HS_ERROR_VALUE;
    const int64_t panels = b.panels;
    const int64_t behind = panels * b.count - panels * (panels + 1) / 2; /* pairs of panel, block */
    *tasks = panels + 2 * behind;
    *blocks = b.count;
    return HS_OK;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

/* now: [p] when each worker is free. met: when the workers have met last */
typedef struct {
    const problem *problem;
    const int32_t *owner;
    double *now, met;
    hs_reduction_task *tasks;
    int64_t count;
} schedule;

static void add_task(schedule *s, hs_reduction_kind kind, int32_t panel, int32_t block, double work)
{
    const problem *x = s->problem;
    const int32_t worker = s->owner[block];
    const double *times = kind == HS_REDUCTION_PANEL ? x->panels : x->times;
    const double start = s->now[worker];
    s->now[worker] = start + work * times[worker];
    if (s->tasks)
        s->tasks[s->count++] = (hs_reduction_task){.kind = (int32_t)kind,
                                                   .worker = worker,
                                                   .panel = panel,
                                                   .block = block,
                                                   .start = start,
                                                   .end = s->now[worker],
                                                   .work = work};
}

static void meet(schedule *s)
{
    for (int32_t w = 0; w < s->problem->p; w++) s->met = fmax(s->met, s->now[w]);
    for (int32_t w = 0; w < s->problem->p; w++) s->now[w] = s->met;
}

static void add_panel(schedule *s, int32_t k)
{
    add_task(s, HS_REDUCTION_PANEL, k, k, hs__reduction_panel(&s->problem->blocks, k));
}

static void add_step(schedule *s, int32_t k)
{
    const hs__reduction_blocks *b = &s->problem->blocks;
    for (int32_t j = k + 1; j < b->count; j++)
        add_task(s, HS_REDUCTION_PRODUCT, k, j, hs__reduction_product(b, k, j));
    meet(s);
    for (int32_t j = k + 1; j < b->count; j++) {
        add_task(s, HS_REDUCTION_UPDATE, k, j, hs__reduction_update(b, j));
        if (j == k + 1 && j < b->panels) add_panel(s, j);
    }
    meet(s);
}

/* The owners must have been checked. */
static hs_status simulate(const problem *x, const int32_t *owner, const int *cancel,
                          double *makespan, hs_reduction_task *tasks)
{
    schedule s = {
        .problem = x, .owner = owner, .now = calloc((size_t)x->p, sizeof *s.now), .tasks = tasks};
    if (!s.now) return HS_ERROR_MEMORY;
    if (x->blocks.panels) add_panel(&s, 0);
    meet(&s);
    for (int32_t k = 0; k < x->blocks.panels && !hs__cancelled(cancel); k++) add_step(&s, k);
    free(s.now);
    if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
    *makespan = s.met;
    return HS_OK;
}

hs_status hs_reduction_simulate(int64_t n, int64_t block, int32_t p, const double *cycle_times,
                                const double *panel_times, const int32_t *owner, const int *cancel,
                                double *makespan, hs_reduction_task *tasks)
{
    problem x;
    hs_status status = open_problem(&x, n, block, p, cycle_times, panel_times);
    if (!status) status = makespan ? check_owners(&x, owner) : HS_ERROR_VALUE;
    return status ? status : simulate(&x, owner, cancel, makespan, tasks);
}

/* ---- owners ---------------------------------------------------------------------------------- */

/* What the workers have to do for the blocks from some block on. A step takes the longest product
 * and the longest update. Products of all blocks have the same work per column.
 *   cols      [p] columns, times the worker's time
 *   updates   [p] time of updates
 *   most_cols, most_updates  the largest of them */
typedef struct {
    double *cols, *updates;
    double most_cols, most_updates;
} loads;

static double cols_with(const problem *x, const loads *l, int32_t worker, int32_t j)
{
    return l->cols[worker] + hs__reduction_cols(&x->blocks, j) * x->times[worker];
}

static double updates_with(const problem *x, const loads *l, int32_t worker, int32_t j)
{
    return l->updates[worker] + hs__reduction_update(&x->blocks, j) * x->times[worker];
}

static void add_block(const problem *x, loads *l, int32_t worker, int32_t j)
{
    l->cols[worker] = cols_with(x, l, worker, j);
    l->updates[worker] = updates_with(x, l, worker, j);
    l->most_cols = fmax(l->most_cols, l->cols[worker]);
    l->most_updates = fmax(l->most_updates, l->updates[worker]);
}

/* The time of the step in front of block j if `worker` gets block j.
 *   l  the loads of the blocks behind it */
static double time_of_step(const problem *x, const loads *l, int32_t worker, int32_t j)
{
    const hs__reduction_blocks *b = &x->blocks;
    const double work = hs__reduction_product(b, j - 1, j) / hs__reduction_cols(b, j);
    const double panel = j < b->panels ? hs__reduction_panel(b, j) * x->panels[worker] : 0.0;
    return fmax(l->most_cols, cols_with(x, l, worker, j)) * work +
           fmax(l->most_updates, updates_with(x, l, worker, j) + panel);
}

static void clear_loads(const problem *x, loads *l)
{
    for (int32_t w = 0; w < x->p; w++) l->cols[w] = l->updates[w] = 0.0;
    l->most_cols = l->most_updates = 0.0;
}

/* The makespan without the first panel. */
static double time_of(const problem *x, loads *l, const int32_t *owner)
{
    double sum = 0.0;
    clear_loads(x, l);
    for (int32_t j = x->blocks.count - 1; j > 0; j--) {
        if (j <= x->blocks.panels) sum += time_of_step(x, l, owner[j], j);
        add_block(x, l, owner[j], j);
    }
    return sum;
}

/* The worker that factors the first panel soonest. */
static int32_t first_owner(const problem *x)
{
    int32_t best = -1;
    for (int32_t w = 0; w < x->p; w++)
        if (is_able(x, w, 0) && (best < 0 || x->panels[w] < x->panels[best])) best = w;
    return best;
}

/* Deals the blocks one by one. Returns HS_ERROR_VALUE if no worker can own a block. */
static hs_status deal(const problem *x, loads *l, const int *cancel, int32_t *owner)
{
    clear_loads(x, l);
    for (int32_t j = x->blocks.count - 1; j > 0; j--) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        double least = INFINITY;
        int32_t best = -1;
        for (int32_t w = 0; w < x->p; w++) {
            if (!is_able(x, w, j)) continue;
            const double time = time_of_step(x, l, w, j);
            if (best < 0 || time < least) {
                best = w;
                least = time;
            }
        }
        if (best < 0) return HS_ERROR_VALUE;
        owner[j] = best;
        add_block(x, l, best, j);
    }
    owner[0] = first_owner(x);
    return owner[0] >= 0 ? HS_OK : HS_ERROR_VALUE;
}

/* Moves single blocks to other workers as long as the makespan falls. */
static hs_status improve(const problem *x, loads *l, const int *cancel, int32_t *owner)
{
    enum { ROUNDS = 8 };
    const double most = (double)(1 << 26);
    const double each = (double)x->blocks.count + (double)x->p;
    double tried = 0.0;
    double least = time_of(x, l, owner);
    for (int round = 0, moved = 1; round < ROUNDS && moved; round++) {
        moved = 0;
        for (int32_t j = 1; j < x->blocks.count; j++) {
            for (int32_t w = 0; w < x->p && tried < most; w++) {
                if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
                const int32_t before = owner[j];
                if (w == before || !is_able(x, w, j)) continue;
                owner[j] = w;
                const double time = time_of(x, l, owner);
                tried += each;
                if (time < least) {
                    least = time;
                    moved = 1;
                } else owner[j] = before;
            }
        }
    }
    return HS_OK;
}

hs_status hs_reduction_owners(int64_t n, int64_t block, int32_t p, const double *cycle_times,
                              const double *panel_times, const int *cancel, int32_t *owner)
{
    problem x;
    hs_status status = open_problem(&x, n, block, p, cycle_times, panel_times);
    if (status) return status;
    if (x.blocks.count == 0) return HS_OK;
    const size_t count = (size_t)x.blocks.count;
    loads l = {.cols = malloc(2 * (size_t)p * sizeof *l.cols)};
    int32_t *found = malloc(count * sizeof *found);
    if (!owner) status = HS_ERROR_VALUE;
    else if (!l.cols || !found) status = HS_ERROR_MEMORY;
    else {
        l.updates = l.cols + p;
        status = deal(&x, &l, cancel, found);
        if (!status) status = improve(&x, &l, cancel, found);
    }
    for (size_t j = 0; j < count && !status; j++) owner[j] = found[j];
    free(l.cols);
    free(found);
    return status;
}

/* ---- the bound ------------------------------------------------------------------------------- */

/* What the bound is made of.
 *   unit      time of the fastest worker
 *   divided   [blocks] divided[i]: the least time in which i + 1 equal blocks are done, if a block
 *             is one multiply-add
 *   work, panels
 *             multiply-adds of products and updates, and of panels, so far
 *   sum       of the meetings so far */
typedef struct {
    const problem *problem;
    double unit;
    const double *divided;
    double work, panels, sum;
} bound_state;

/* The least time in which one worker updates block j and factors it. */
static double next_panel(const problem *x, int32_t j)
{
    const hs__reduction_blocks *b = &x->blocks;
    const double panel = j < b->panels ? hs__reduction_panel(b, j) : 0.0;
    double least = INFINITY;
    for (int32_t w = 0; w < x->p; w++)
        if (is_able(x, w, j))
            least = fmin(least, hs__reduction_update(b, j) * x->times[w] +
                                    (panel > 0.0 ? panel * x->panels[w] : 0.0));
    return least;
}

/* Adds the meetings of step k. `updates` is the work of its updates. */
static hs_status add_bounds(bound_state *s, int32_t k, double updates)
{
    const problem *x = s->problem;
    const hs__reduction_blocks *b = &x->blocks;
    const int32_t next = k + 1;
    const int64_t cols = b->n - next * b->block;
    const int64_t whole = cols / b->block;
    const double each = hs__reduction_product(b, k, next) / hs__reduction_cols(b, next);
    const double panel = next < b->panels ? hs__reduction_panel(b, next) : 0.0;
    double product, update;
    hs_status status = hs__perfect_division_time(x->p, x->times, x->panels, (double)cols * each,
                                                 0.0, s->unit, &product);
    if (!status)
        status =
            hs__perfect_division_time(x->p, x->times, x->panels, updates, panel, s->unit, &update);
    if (status) return status;
    if (whole) product = fmax(product, s->divided[whole - 1] * each * (double)b->block);
    s->work += (double)cols * each + updates;
    s->panels += panel;
    s->sum += product + fmax(update, next_panel(x, next));
    return HS_OK;
}

/* Adds the first panel and all steps. */
static hs_status add_all_bounds(bound_state *s, const int *cancel)
{
    const problem *x = s->problem;
    const hs__reduction_blocks *b = &x->blocks;
    const int32_t first = first_owner(x);
    if (first < 0) return HS_ERROR_VALUE;
    s->panels = hs__reduction_panel(b, 0);
    s->sum = s->panels * x->panels[first];
    double updates = 0.0;
    hs_status status = HS_OK;
    for (int32_t j = 1; j < b->count; j++) updates += hs__reduction_update(b, j);
    for (int32_t k = 0; k < b->panels && !status; k++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        status = add_bounds(s, k, updates);
        updates = fmax(updates - hs__reduction_update(b, k + 1), 0.0);
    }
    return status;
}

static hs_status find_bound(const problem *x, const int *cancel, const double *divided,
                            double *ideal, double *bound)
{
    bound_state s = {.problem = x, .unit = INFINITY, .divided = divided};
    for (int32_t w = 0; w < x->p; w++) s.unit = fmin(s.unit, x->times[w]);
    hs_status status = add_all_bounds(&s, cancel);
    if (!status)
        status =
            hs__perfect_division_time(x->p, x->times, x->panels, s.work, s.panels, s.unit, ideal);
    *bound = fmax(s.sum, *ideal);
    return status;
}

hs_status hs_reduction_bound(int64_t n, int64_t block, int32_t p, const double *cycle_times,
                             const double *panel_times, const int *cancel, double *ideal,
                             double *bound)
{
    problem x;
    hs_status status = open_problem(&x, n, block, p, cycle_times, panel_times);
    if (status) return status;
    if (!bound) return HS_ERROR_VALUE;
    double found[2] = {0.0, 0.0};
    if (x.blocks.panels) {
        const size_t count = (size_t)x.blocks.count;
        int32_t *owner = malloc(count * sizeof *owner);
        double *divided = malloc(count * sizeof *divided);
        status = owner && divided
                     ? hs_distribute_prefix(x.blocks.count, p, cycle_times, cancel, owner, divided)
                     : HS_ERROR_MEMORY;
        if (!status) status = find_bound(&x, cancel, divided, &found[0], &found[1]);
        free(owner);
        free(divided);
    }
    if (status) return status;
    if (ideal) *ideal = found[0];
    *bound = found[1];
    return HS_OK;
}

hs_status hs_reduction_certificate(int64_t n, int64_t block, int32_t p, const double *cycle_times,
                                   const double *panel_times, const int32_t *owner,
                                   const int *cancel, hs_certificate *certificate)
{
    double value, bound;
    if (!certificate) return HS_ERROR_VALUE;
    hs_status status =
        hs_reduction_simulate(n, block, p, cycle_times, panel_times, owner, cancel, &value, NULL);
    if (!status)
        status = hs_reduction_bound(n, block, p, cycle_times, panel_times, cancel, NULL, &bound);
    return status ? status : hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
}
