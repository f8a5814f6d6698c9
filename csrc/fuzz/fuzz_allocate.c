/* Fuzz harness of allocation: counts, profiles, prefixes, LU by blocks and on grids, wavefronts,
 * reductions. */
#include "bytes.h"

enum { MOST_P = 8 };

static int64_t draw_chunks(bytes *in)
{
    switch (pick_below(in, 4)) {
    case 0:
    case 1: return draw_small(in, 60);
    case 2: return (int64_t)(take_word(in) >> (11 + pick_below(in, 50)));
    default: return draw_extreme(in);
    }
}

static int valid_times(int32_t p, const double *t)
{
    int finite = 0;
    for (int32_t i = 0; i < p; i++) {
        if (!(t[i] > 0.0)) return 0;
        finite |= !isinf(t[i]);
    }
    return finite;
}

/* Checks that the counts are optimal. Rounding is monotonic, so inequalities between the real
 * numbers hold for the doubles, too. */
static void best_counts(int64_t n, int32_t p, const double *t, const double *starts,
                        const int64_t *counts, double makespan)
{
    int64_t sum = 0;
    double most = 0.0;
    double next = INFINITY;
    for (int32_t i = 0; i < p; i++) {
        const double from = starts ? starts[i] : 0.0;
        HOLDS(counts[i] >= 0 && counts[i] <= n);
        HOLDS(!isinf(t[i]) || counts[i] == 0);
        sum += counts[i];
        if (counts[i] > 0) most = fmax(most, fma((double)counts[i], t[i], from));
        if (!isinf(t[i])) next = fmin(next, fma((double)counts[i] + 1.0, t[i], from));
    }
    HOLDS(sum == n);
    HOLDS(makespan == most);
    HOLDS(most <= next);
}

static void distribute(bytes *in)
{
    const int64_t n = draw_chunks(in);
    const int32_t p = draw_small(in, MOST_P) - (take_byte(in) == 255);
    const double *t = draw_values(in, hs__max(p, 0), taste_of(in));
    int64_t *counts = new_output(in, room_for(p) * sizeof *counts);
    double *makespan = new_output(in, sizeof *makespan);
    const hs_status status = hs_distribute(n, p, t, NULL, counts, makespan);
    planner_status(in, status, 0);
    HOLDS((status == HS_OK) == (n >= 0 && n <= INT64_C(1) << 53 && p >= 1 && valid_times(p, t)));
    if (!status) best_counts(n, p, t, NULL, counts, *makespan);
}

static void distribute_after(bytes *in)
{
    const int64_t n = draw_chunks(in);
    const int32_t p = draw_small(in, MOST_P);
    const double *t = draw_values(in, p, taste_of(in));
    const double *starts = draw_values_or_zeros(in, p, taste_of(in));
    int64_t *counts = new_output(in, (size_t)p * sizeof *counts);
    double *makespan = new_output(in, sizeof *makespan);
    const hs_status status = hs_distribute_after(n, p, t, starts, NULL, counts, makespan);
    planner_status(in, status, 0);
    if (!status) best_counts(n, p, t, starts, counts, *makespan);
}

static void distribute_batch(bytes *in)
{
    const int32_t rows = draw_small(in, 4) - (take_byte(in) == 255);
    const int32_t p = draw_small(in, 4);
    const taste kind = taste_of(in);
    const int64_t cells = hs__max(rows, 0) * p;
    int64_t *n = new_buffer(in, room_for(rows) * sizeof *n);
    int64_t *counts = new_output(in, (size_t)cells * sizeof *counts);
    for (int32_t row = 0; row < rows; row++) n[row] = draw_chunks(in);
    const double *t = draw_values(in, cells, kind);
    double *makespans = new_output(in, room_for(rows) * sizeof *makespans);
    const hs_status status = hs_distribute_batch(rows, n, p, t, NULL, counts, makespans);
    planner_status(in, status, 0);
    for (int32_t row = 0; row < rows && !status; row++)
        best_counts(n[row], p, t + (int64_t)row * p, NULL, counts + (int64_t)row * p,
                    makespans[row]);
}

static void distribute_profile(bytes *in)
{
    enum { N = 70 };
    const int32_t n = draw_small(in, pick_below(in, 4) ? 8 : N - 1);
    const int32_t p = draw_small(in, 4);
    const taste kind = taste_of(in);
    const int64_t width = n + 1;
    double *times = draw_values(in, p * width, kind);
    const unsigned holes = take_byte(in);
    for (int64_t e = 0; e < p * width && holes > 128; e++)
        if ((uint64_t)e * 2654435761u >> 7 & holes & 3) times[e] = INFINITY;
    int64_t *counts = new_output(in, (size_t)p * sizeof *counts);
    double *makespan = new_output(in, sizeof *makespan);
    const hs_status status = hs_distribute_profile(n, p, times, NULL, counts, makespan);
    planner_status(in, status, HS_ERROR_INFEASIBLE);
    if (status == HS_ERROR_VALUE || p < 1) return;
    /* least makespans of the workers so far, by the number of chunks that they have */
    double best[N], with[N];
    best[0] = 0.0;
    for (int32_t k = 1; k <= n; k++) best[k] = INFINITY;
    for (int32_t i = 0; i < p; i++) {
        for (int32_t k = 0; k <= n; k++) {
            with[k] = best[k];
            for (int32_t own = 1; own <= k; own++)
                with[k] = fmin(with[k], fmax(best[k - own], times[i * width + own]));
        }
        memcpy(best, with, sizeof best);
    }
    HOLDS((status == HS_ERROR_INFEASIBLE) == (n > 0 && isinf(best[n])));
    if (status) return;
    int64_t sum = 0;
    double most = 0.0;
    for (int32_t i = 0; i < p; i++) {
        HOLDS(counts[i] >= 0 && counts[i] <= n);
        sum += counts[i];
        if (counts[i] > 0) most = fmax(most, times[i * width + counts[i]]);
    }
    HOLDS(sum == n && most == *makespan && most == best[n]);
}

static void prefix(bytes *in)
{
    const int64_t n = take_byte(in) == 255 ? -1 : draw_small(in, 40);
    const int32_t p = draw_small(in, MOST_P);
    const double *t = draw_values(in, p, taste_of(in));
    int32_t *owner = new_output(in, room_for(n) * sizeof *owner);
    double *makespans = new_output(in, room_for(n) * sizeof *makespans);
    const hs_status status = hs_distribute_prefix(n, p, t, NULL, owner, makespans);
    planner_status(in, status, 0);
    if (status) return;
    int64_t counts[MOST_P] = {0};
    for (int64_t k = 0; k < n; k++) {
        HOLDS(owner[k] >= 0 && owner[k] < p);
        counts[owner[k]]++;
        best_counts(k + 1, p, t, NULL, counts, makespans[k]);
    }
    next_call(in);
    int32_t *blocks = new_output(in, (size_t)n * sizeof *blocks);
    double *step_costs = new_output(in, room_for(n - 1) * sizeof *step_costs);
    hs_certificate *proof = new_output(in, sizeof *proof);
    const hs_pattern_method method = (hs_pattern_method)pick_below(in, HS_PATTERN_GIVEN);
    const hs_status planned =
        hs_pattern_best(n, p, t, method, draw_small(in, 50), NULL, blocks, step_costs, proof);
    planner_status(in, planned, 0);
    for (int64_t k = 0; k < n && !planned; k++)
        HOLDS(blocks[k] >= 0 && blocks[k] < p && isfinite(t[blocks[k]]));
    if (!planned) HOLDS(proof->bound <= proof->value);
}

static void pattern_profile(bytes *in)
{
    const int32_t n = draw_small(in, pick_below(in, 4) ? 6 : 20), p = draw_small(in, 4);
    const int32_t steps = pick_below(in, 4) ? n - 1 : draw_small(in, 20);
    const taste kind = taste_of(in);
    const int64_t entries = hs__max(steps, 0) * p * n;
    double *times = draw_values(in, entries, kind);
    const unsigned holes = take_byte(in);
    for (int64_t e = 0; e < entries && holes > 128; e++)
        if ((uint64_t)e * 2654435761u >> 7 & holes & 3) times[e] = INFINITY;
    int32_t *owner = new_output(in, room_for(n) * sizeof *owner);
    double *step_costs = new_output(in, room_for(steps) * sizeof *step_costs);
    hs_certificate *proof = new_output(in, sizeof *proof);
    const hs_status status = hs_pattern_profile(n, steps, p, times, NULL, owner, step_costs, proof);
    planner_status(in, status, HS_ERROR_INFEASIBLE);
    if (status) return;
    double sum = 0.0;
    for (int32_t k = 0; k < n; k++) HOLDS(owner[k] >= 0 && owner[k] < p);
    for (int32_t k = 0; k < steps; k++) sum += step_costs[k];
    HOLDS(proof->value == sum && proof->bound <= sum);
    next_call(in);
    hs_certificate *again = new_output(in, sizeof *again);
    const hs_status certified =
        hs_pattern_profile_certificate(n, steps, p, times, owner, NULL, again);
    planner_status(in, certified, 0);
    HOLDS(!certified && again->value == sum && again->bound <= proof->bound);
}

/* ---- LU -------------------------------------------------------------------------------------- */

static void lu(bytes *in)
{
    const int any = take_byte(in) > 240;
    const int64_t m = draw_size(in, any, 40);
    const int64_t n = draw_size(in, any, 40);
    const int64_t block = any ? draw_extreme(in) : 1 + draw_small(in, 12);
    const int32_t p = draw_small(in, 5);
    int32_t *count = new_output(in, sizeof *count);
    hs_status status = hs_factor_blocks(m, n, block, count);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(*count >= 0 && *count <= 46340);
    if (*count > 64) return;
    const int32_t blocks = *count;
    const taste kind = taste_of(in);
    const double *t = draw_values(in, p, kind);
    const int32_t *owner = draw_indices(in, blocks, p);
    hs_factor_costs costs = {.late_panel = pick_below(in, 2)};
    hs_factor_costs *given = pick_below(in, 3) ? &costs : NULL;
    if (pick_below(in, 2)) costs.panels = draw_values(in, p, taste_of(in));
    if (pick_below(in, 2)) costs.links = draw_values_or_zeros(in, (int64_t)p * p, taste_of(in));
    if (pick_below(in, 2)) costs.segment = draw_size(in, any, 50);
    const int by_steps = pick_below(in, 3) == 0;
    if (by_steps) costs.steps = draw_values(in, (int64_t)blocks * p, taste_of(in));
    next_call(in);
    double *makespan = new_output(in, sizeof *makespan);
    double *work = new_output(in, sizeof *work);
    int64_t *tasks = new_output(in, sizeof *tasks);
    int64_t *messages = new_output(in, sizeof *messages);
    status = hs_factor_simulate(HS_LU, m, n, block, p, t, owner, 0, given, NULL, makespan, work,
                                NULL, tasks, NULL, messages);
    planner_status(in, status, 0);
    if (status) return;
    const int64_t rank = hs__min(m, n);
    const int64_t panels = (rank + block - 1) / block;
    HOLDS(*tasks == panels * blocks - panels * (panels - 1) / 2);
    HOLDS(*messages >= 0 && *messages <= panels * p);
    hs_factor_task *task = new_output(in, (size_t)*tasks * sizeof *task);
    hs_factor_message *message = new_output(in, (size_t)*messages * sizeof *message);
    double again = -1.0;
    double sum = 0.0;
    double last = 0.0;
    double ready[64];
    HOLDS(hs_factor_simulate(HS_LU, m, n, block, p, t, owner, 0, given, NULL, &again, NULL, task,
                             tasks, message, messages) == HS_OK);
    HOLDS(again == *makespan);
    char seen[64][64] = {{0}};
    for (int64_t k = 0; k < *tasks; k++) {
        const hs_factor_task *x = &task[k];
        HOLDS(x->panel >= 0 && x->panel < panels && x->block >= x->panel && x->block < blocks &&
              x->worker == owner[x->block]);
        HOLDS(!seen[x->panel][x->block]);
        HOLDS(x->panel == 0 || seen[x->panel - 1][x->block]);
        seen[x->panel][x->block] = 1;
        HOLDS(x->end >= x->start && x->work >= 0.0);
        if (x->block == x->panel) ready[x->panel] = x->end;
        else HOLDS(seen[x->panel][x->panel] && x->start >= ready[x->panel]);
        sum += x->work;
        last = fmax(last, x->end);
    }
    HOLDS(last == *makespan && is_near(sum, *work, 1e-12));
    double bound = 0.0;
    const double *panel_times = given && costs.panels ? costs.panels : t;
    if (by_steps && given &&
        !hs_factor_profile_bound(HS_LU, m, n, block, p, costs.steps, panel_times, NULL, NULL,
                                 &bound))
        HOLDS(bound <= *makespan * (1 + 1e-9));
    for (int64_t k = 0; k < *messages; k++) {
        const hs_factor_message *x = &message[k];
        const hs_factor_message *before = k && x[-1].panel == x->panel ? x - 1 : NULL;
        HOLDS(x->panel >= 0 && x->panel < panels);
        HOLDS(x->sender == (before ? before->receiver : owner[x->panel]));
        HOLDS(x->receiver >= 0 && x->receiver < p && x->receiver != x->sender);
        HOLDS(x->end >= x->start && x->start >= ready[x->panel]);
        HOLDS(!before || (x->start >= before->start && x->end >= before->end));
        HOLDS(k == 0 || x[-1].panel <= x->panel);
    }
}

/* The driver gives what the map that it returns has by itself, and refuses what the bound refuses. */
static void best_grid(bytes *in, int32_t n, int32_t p, const double *t, double link_cost,
                      hs_status bounded)
{
    next_call(in);
    const size_t side = room_for(n);
    const hs_lu_grid grid = {n, p, t, link_cost};
    const hs_lu_grid_method method = (hs_lu_grid_method)pick_below(in, 5);
    hs_lu_grid_result result = {.owner = new_output(in, side * side * sizeof(int32_t)),
                                .loads = new_output(in, side * sizeof(double)),
                                .ideal = new_output(in, side * sizeof(double)),
                                .traffic = new_output(in, side * sizeof(int64_t)),
                                .received = new_output(in, (size_t)p * sizeof(int64_t))};
    hs_lu_grid_method found;
    hs_certificate c, own;
    const hs_status status = hs_lu_grid_best(&grid, method, NULL, &found, &result, &c);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    if (bounded) HOLDS(status == bounded && outputs_untouched(in));
    if (status) return;
    if (method != HS_LU_GRID_BEST) HOLDS(found == method);
    else HOLDS(found >= HS_LU_GRID_1D1D && found <= HS_LU_GRID_CYCLIC);
    HOLDS(hs_lu_grid_certificate(n, p, t, link_cost, result.owner, NULL, &own) == HS_OK);
    HOLDS(own.value == c.value && own.bound == c.bound && c.bound <= c.value);
}

static void grid(bytes *in)
{
    const int32_t n = draw_small(in, 9) - (take_byte(in) == 255);
    const int32_t p = draw_small(in, 5);
    const int32_t size = n > 0 ? n * n : 0;
    const double *t = draw_values(in, p, taste_of(in));
    double *bounds = new_output(in, room_for(n) * sizeof *bounds);
    const double link_cost = pick_below(in, 3) ? draw_value(in, taste_of(in)) : 0.0;
    hs_status bounded = hs_lu_grid_bound(n, p, t, link_cost, NULL, bounds);
    planner_status(in, bounded, 0);
    best_grid(in, n, p, t, link_cost, bounded);
    next_call(in);
    bounds = new_output(in, room_for(n) * sizeof *bounds);
    bounded = hs_lu_grid_bound(n, p, t, 0.0, NULL, bounds);
    const int32_t *owner = draw_indices(in, size, p);
    next_call(in);
    /* dealt by a plan: with any entries, or a chain that joins one worker after the other */
    if (pick_below(in, 2)) {
        const int32_t length = pick_below(in, 4) ? 2 * p - 1 : draw_small(in, 2 * p);
        int32_t *plan = new_buffer(in, room_for(length) * sizeof *plan);
        int32_t *dealt = new_output(in, (size_t)size * sizeof *dealt);
        const int free = pick_below(in, 4) == 0;
        const int32_t *order = draw_permutation(in, p);
        for (int32_t k = 0; k < length; k++) {
            if (free) plan[k] = pick_below(in, p + 5) - 5;
            else if (k % 2 || k == 0) plan[k] = order[(k + 1) / 2 % p];
            else plan[k] = -1 - pick_below(in, 2);
        }
        const hs_status status = hs_lu_grid_deal(n, p, t, plan, length, NULL, dealt);
        planner_status(in, status, 0);
        if (status) return;
        for (int32_t b = 0; b < size; b++) {
            int found = 0;
            for (int32_t k = 0; k < length; k++) found |= plan[k] == dealt[b];
            HOLDS(found && dealt[b] >= 0 && !isinf(t[dealt[b]]));
        }
        owner = dealt;
        next_call(in);
    }
    double *loads = new_output(in, room_for(n) * sizeof *loads);
    int64_t *traffic = new_output(in, room_for(n) * sizeof *traffic);
    int64_t *received = new_output(in, (size_t)p * sizeof *received);
    const hs_status status = hs_lu_grid_evaluate(n, p, t, owner, NULL, loads, traffic, received);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(bounded == HS_OK);
    int64_t sent = 0;
    int64_t come = 0;
    for (int32_t k = 0; k < n; k++) {
        double most = 0.0;
        for (int32_t i = 0; i < p; i++) {
            int64_t count = 0;
            for (int32_t b = 0; b < size; b++) count += b / n > k && b % n > k && owner[b] == i;
            if (count) most = fmax(most, (double)count * t[i]);
        }
        HOLDS(loads[k] == most && bounds[k] <= loads[k]);
        HOLDS(traffic[k] >= 0 && traffic[k] <= (int64_t)p * (2 * (n - k)));
        sent += traffic[k];
    }
    for (int32_t i = 0; i < p; i++) {
        HOLDS(received[i] >= 0);
        come += received[i];
    }
    HOLDS(sent == come);
}

/* ---- wavefronts ------------------------------------------------------------------------------ */

static void wavefront(bytes *in)
{
    const int any = take_byte(in) > 240;
    const int64_t rows = draw_size(in, any, 30);
    const int64_t reach = draw_size(in, any, 4);
    const int32_t cols = draw_small(in, 9) - (take_byte(in) == 255);
    const int32_t p = draw_small(in, 5);
    const int32_t order = take_byte(in) == 255 ? 2 : pick_below(in, 2);
    const taste kind = taste_of(in);
    const double *t = draw_values(in, p, kind);
    const size_t width = room_for(cols);
    double *bound = new_output(in, sizeof *bound);
    const hs_status bounded = hs_wavefront_bound(rows, cols, p, t, reach, NULL, bound);
    planner_status(in, bounded, 0);
    if (rows > 64) return;
    const size_t tiles = room_for(rows) * width;
    next_call(in);
    double *makespan = new_output(in, sizeof *makespan);
    double *start = new_output(in, tiles * sizeof *start);
    double *end = new_output(in, tiles * sizeof *end);
    const int32_t *owner = draw_indices(in, (int64_t)width, p);
    hs_status status =
        hs_wavefront_makespan(rows, cols, p, t, owner, reach, order, NULL, makespan, start, end);
    planner_status(in, status, 0);
    if (!status) {
        HOLDS(bounded == HS_OK);
        double last = 0.0;
        for (int64_t i = 0; i < rows; i++)
            for (int32_t j = 0; j < cols; j++) {
                const int64_t at = i * cols + j;
                const int64_t below = i + hs__min(reach, rows - 1 - i);
                HOLDS(end[at] >= start[at] && start[at] >= 0.0);
                if (i > 0) HOLDS(start[at] >= end[at - cols] * (1 - 1e-12));
                if (j > 0) HOLDS(start[at] >= end[below * cols + j - 1] * (1 - 1e-12));
                last = fmax(last, end[at]);
            }
        HOLDS(is_near(last, *makespan, 1e-12));
        HOLDS(*bound * (1 - 1e-9) <= *makespan);
        double alone = -1.0;
        HOLDS(hs_wavefront_makespan(rows, cols, p, t, owner, reach, order, NULL, &alone, NULL,
                                    NULL) == HS_OK &&
              is_near(alone, *makespan, 1e-12));
    }
    next_call(in);
    int32_t *dealt = new_output(in, width * sizeof *dealt);
    int32_t *chosen = new_output(in, sizeof *chosen);
    int32_t *anew = new_output(in, sizeof *anew);
    double *least = new_output(in, sizeof *least);
    double again = -1.0;
    const int32_t period = draw_small(in, 12) - (take_byte(in) == 255);
    status = hs_wavefront_panels(rows, cols, p, t, period, reach, order, NULL, dealt, chosen, anew,
                                 least);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(*anew == 0 || *anew == 1);
    if (period) HOLDS(*chosen == period);
    else HOLDS(*chosen >= 1 && *chosen <= cols);
    HOLDS(hs_wavefront_makespan(rows, cols, p, t, dealt, reach, order, NULL, &again, NULL, NULL) ==
          HS_OK);
    HOLDS(is_near(again, *least, 1e-12) && *bound * (1 - 1e-9) <= *least);
    next_call(in);
    int32_t *best = new_output(in, width * sizeof *best);
    hs_certificate *proof = new_output(in, sizeof *proof);
    const int method = pick_below(in, 3);
    const hs_status planned =
        hs_wavefront_best(rows, cols, p, t, (hs_wavefront_method)method, period, reach, order, NULL,
                          best, chosen, anew, proof);
    HOLDS(planned == HS_OK || planned == HS_ERROR_VALUE);
    if (method == 2) HOLDS(planned == HS_ERROR_VALUE);
    else HOLDS(planned == HS_OK || isinf(*least) || method);
    for (int32_t j = 0; j < cols && !planned; j++)
        HOLDS(best[j] >= 0 && best[j] < p && isfinite(t[best[j]]));
    if (!planned) HOLDS(proof->bound <= proof->value);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void reduction(bytes *in)
{
    const int any = take_byte(in) > 240;
    const int64_t n = draw_size(in, any, 60);
    const int64_t block = any ? draw_extreme(in) : 1 + draw_small(in, 12);
    const int32_t p = draw_small(in, 5);
    int64_t *tasks = new_output(in, sizeof *tasks);
    int32_t *blocks = new_output(in, sizeof *blocks);
    hs_status status = hs_reduction_size(n, block, tasks, blocks);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(*blocks >= 0 && *blocks <= 46340 && *tasks >= 0);
    if (*blocks > 64) return;
    const double *t = draw_values(in, p, taste_of(in));
    const double *panels = NULL;
    if (pick_below(in, 2)) panels = draw_values(in, p, taste_of(in));
    next_call(in);
    const size_t count = (size_t)*blocks;
    int32_t *owner = new_output(in, count * sizeof *owner);
    status = hs_reduction_owners(n, block, p, t, panels, NULL, owner);
    planner_status(in, status, 0);
    if (status) return;
    for (size_t j = 0; j < count; j++)
        HOLDS(owner[j] >= 0 && owner[j] < p && isfinite(t[owner[j]]));
    next_call(in);
    double *makespan = new_output(in, sizeof *makespan);
    hs_reduction_task *task = new_output(in, (size_t)*tasks * sizeof *task);
    HOLDS(hs_reduction_simulate(n, block, p, t, panels, owner, NULL, makespan, task) == HS_OK);
    double last = 0.0;
    for (int64_t k = 0; k < *tasks; k++) {
        HOLDS(task[k].worker == owner[task[k].block] && task[k].block >= task[k].panel);
        HOLDS(task[k].end >= task[k].start && task[k].work > 0.0);
        last = fmax(last, task[k].end);
    }
    HOLDS(last == *makespan);
    double ideal = -1.0;
    double bound = -1.0;
    status = hs_reduction_bound(n, block, p, t, panels, NULL, &ideal, &bound);
    /* of a denormal number a rounding is much */
    HOLDS(status == HS_OK && ideal <= bound * (1 + 1e-9));
    HOLDS(bound <= *makespan * (1 + 1e-9) + 1e-290);
}

HARNESS(distribute, distribute_after, distribute_batch, distribute_profile, prefix, pattern_profile,
        lu, grid, wavefront, reduction)
