/* Fuzz harness of assignment: rows to columns in two and three indices, tasks over one bus or over
 * separate links, divisible loads; the drivers that plan tasks and loads. */
#include "bytes.h"

enum { MOST_ROWS = 6 };

/* Returns the smallest (or largest) total of choosing a column for each row, rows <= cols.
 * *possible becomes 0 if there is no choice. */
static double least_total(int32_t rows, int32_t cols, const double *costs, int32_t row,
                          unsigned used, int *possible)
{
    double best = INFINITY;
    if (row == rows) {
        *possible = 1;
        return 0.0;
    }
    for (int32_t j = 0; j < cols; j++) {
        if (used >> j & 1 || isinf(costs[row * cols + j])) continue;
        best = fmin(best, costs[row * cols + j] +
                              least_total(rows, cols, costs, row + 1, used | 1u << j, possible));
    }
    return best;
}

/* Returns x[at], where x has whole numbers or doubles. */
static double number_at(const void *x, int whole, ptrdiff_t at)
{
    return whole ? (double)((const int64_t *)x)[at] : ((const double *)x)[at];
}

static void assign_rows(bytes *in, int whole)
{
    const int32_t rows = draw_small(in, MOST_ROWS);
    const int32_t cols = draw_small(in, MOST_ROWS);
    const int maximise = pick_below(in, 2);
    const double sign = maximise ? -1.0 : 1.0;
    const int kind = pick_below(in, 4);
    const int holes = pick_below(in, 4) == 0;
    ptrdiff_t stride = cols + (const ptrdiff_t[]){0, 1, 7}[pick_below(in, 3)];
    const int backwards = pick_below(in, 4) == 0;
    const size_t extent = rows > 0 ? (size_t)((rows - 1) * stride + cols) : 0;
    double *real = new_buffer(in, extent * sizeof *real);
    double dense[MOST_ROWS * MOST_ROWS];
    int64_t *integer = new_buffer(in, extent * sizeof *integer);
    for (size_t e = 0; e < extent; e++) {
        int64_t x = pick_below(in, 40) - 20;
        if (kind == 2) x = (int64_t)(take_word(in) >> 5) * (take_byte(in) % 2 ? 1 : -1);
        if (kind == 3)
            x = take_byte(in) > 200 ? draw_extreme(in)
                                    : pick_below(in, 3) * ((INT64_C(1) << 58) / 2);
        integer[e] = x;
        real[e] = (double)x;
        if (kind == 2) real[e] = ldexp((double)x, -40);
        if (kind == 3) real[e] = draw_wild(in);
        if (holes && pick_below(in, 3) == 0) real[e] = sign * INFINITY;
    }
    const ptrdiff_t origin = backwards && rows > 0 ? (rows - 1) * stride : 0;
    if (backwards) stride = -stride;
    int32_t *col_of_row = new_output(in, (size_t)rows * sizeof *col_of_row);
    double *row_prices = new_output(in, (size_t)rows * 8);
    double *col_prices = new_output(in, (size_t)cols * 8);
    hs_status status;
    if (whole)
        status = hs_assign_int64(rows, cols, integer + origin, stride, maximise, NULL, col_of_row,
                                 (int64_t *)row_prices, (int64_t *)col_prices);
    else
        status = hs_assign(rows, cols, real + origin, stride, maximise, NULL, col_of_row,
                           row_prices, col_prices);
    planner_status(in, status, whole ? HS_OK : HS_ERROR_INFEASIBLE);
    if (status == HS_ERROR_VALUE || rows < 1 || cols < 1) {
        HOLDS(status == HS_ERROR_VALUE);
        return;
    }
    const int flipped = rows > cols;
    const void *const costs = whole ? (const void *)integer : real;
    double largest = 0.0;
    for (int32_t i = 0; i < rows; i++)
        for (int32_t j = 0; j < cols; j++) {
            const double x = number_at(costs, whole, origin + i * stride + j);
            dense[flipped ? j * rows + i : i * cols + j] = sign * x;
            if (isfinite(x)) largest = fmax(largest, fabs(x));
        }
    int possible = 0;
    int chosen = 0;
    const double best = least_total((int32_t)hs__min(rows, cols), (int32_t)hs__max(rows, cols),
                                    dense, 0, 0, &possible);
    HOLDS(possible == (status == HS_OK));
    if (status) return;
    double total = 0.0;
    double prices = 0.0;
    for (int32_t i = 0; i < rows; i++) {
        const int32_t j = col_of_row[i];
        HOLDS(j >= -1 && j < cols);
        if (j < 0) continue;
        for (int32_t k = 0; k < i; k++) HOLDS(col_of_row[k] != j);
        chosen++;
        total += number_at(costs, whole, origin + i * stride + j);
    }
    HOLDS(chosen == hs__min(rows, cols));
    HOLDS(fabs(sign * total - best) <= 1e-12 * largest * MOST_ROWS);
    for (int32_t i = 0; i < rows; i++)
        for (int32_t j = 0; j < cols; j++) {
            if (whole) {
                const __int128 rest = ((__int128)integer[origin + i * stride + j] -
                                       ((int64_t *)row_prices)[i] - ((int64_t *)col_prices)[j]) *
                                      (int)sign;
                HOLDS(rest >= 0 && (col_of_row[i] != j || rest == 0));
            } else {
                const double rest =
                    (real[origin + i * stride + j] - row_prices[i] - col_prices[j]) * sign;
                HOLDS(rest >= -1e-12 * largest && (col_of_row[i] != j || rest <= 1e-12 * largest));
            }
        }
    for (int32_t i = 0; i < rows; i++) prices += number_at(row_prices, whole, i);
    for (int32_t j = 0; j < cols; j++) prices += number_at(col_prices, whole, j);
    HOLDS(fabs(prices - total) <= 1e-11 * largest * MOST_ROWS);
}

static void assign_real(bytes *in) { assign_rows(in, 0); }
static void assign_whole(bytes *in) { assign_rows(in, 1); }

static void axial(bytes *in)
{
    const int32_t p = draw_small(in, 5) - (take_byte(in) == 255);
    const int32_t size = p > 0 ? p * p * p : 0;
    const int kind = pick_below(in, 4);
    int64_t *weights = new_buffer(in, (size_t)size * sizeof *weights);
    for (int32_t e = 0; e < size; e++) {
        if (kind < 3) weights[e] = pick_below(in, 30);
        else if (take_byte(in) > 250) weights[e] = draw_extreme(in);
        else weights[e] = (int64_t)(take_word(in) >> 6);
    }
    int32_t *columns = new_output(in, room_for(p) * sizeof *columns);
    int32_t *tubes = new_output(in, room_for(p) * sizeof *tubes);
    int64_t *total = new_output(in, sizeof *total);
    int64_t sum = 0;
    const hs_status status = hs_assign_axial(p, weights, NULL, columns, tubes, total);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(all_different(p, columns, p) && all_different(p, tubes, p));
    for (int32_t i = 0; i < p; i++) sum += weights[(i * p + columns[i]) * p + tubes[i]];
    HOLDS(sum == *total);
    for (int tries = 0; tries < 10; tries++) {
        const int32_t *j = draw_permutation(in, p);
        const int32_t *k = draw_permutation(in, p);
        int64_t other = 0;
        for (int32_t i = 0; i < p; i++) other += weights[(i * p + j[i]) * p + k[i]];
        HOLDS(other <= *total);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Returns a bound of a size that suits the other numbers, or any number. */
static double bound_of(bytes *in, taste kind)
{
    if (kind == WILD) return draw_wild(in);
    if (kind == POSITIVES) return draw_positive(in);
    return (1 + take_byte(in)) * (pick_below(in, 2) ? 1.0 : 0.37);
}

/* Draws the time of a message, which is 0 in one of so many draws. */
static double draw_message(bytes *in, taste kind, int draws)
{
    if (pick_below(in, draws) == 0) return 0.0;
    return draw_value(in, kind) * (is_tame(kind) ? 0.25 : 1.0);
}

static void tasks(bytes *in)
{
    const int32_t p = draw_small(in, 6);
    const int32_t slots = draw_small(in, 8) - (take_byte(in) == 255);
    const taste kind = taste_of(in);
    const double bound = bound_of(in, kind);
    const double *t = draw_values(in, p, kind);
    const double send = draw_message(in, kind, 4);
    const double receive = draw_message(in, kind, 3);
    int32_t *receive_slots = NULL;
    if (pick_below(in, 2)) receive_slots = draw_indices(in, p, 8);
    const size_t size = (size_t)p * room_for(slots);
    int64_t *counts = new_output(in, size * sizeof *counts);
    hs_status status =
        hs_task_counts(bound, p, t, send, receive, slots, receive_slots, NULL, counts);
    planner_status(in, status, 0);
    for (size_t e = 0; e < size && !status; e++) {
        HOLDS(counts[e] >= -(INT64_C(1) << 53) && counts[e] <= INT64_C(1) << 53);
        HOLDS(e % (size_t)slots == 0 || counts[e] <= counts[e - 1]);
        const int32_t i = (int32_t)(e / (size_t)slots);
        const int32_t j = (int32_t)(e % (size_t)slots) + 1;
        const double left = bound - j * send - (receive_slots ? receive_slots[i] : 0) * receive;
        if (is_tame(kind) && counts[e] > -1000 && counts[e] < 1000)
            HOLDS((double)counts[e] * t[i] <= left + 1e-9 * bound &&
                  ((double)counts[e] + 1) * t[i] >= left - 1e-9 * bound);
    }
    next_call(in);
    int64_t *wanted = new_buffer(in, (size_t)p * sizeof *wanted);
    for (int32_t i = 0; i < p; i++) wanted[i] = draw_size(in, take_byte(in) > 250, 30);
    int32_t *deadlines = new_output(in, (size_t)p * sizeof *deadlines);
    status = hs_task_deadlines(bound, p, t, send, slots, wanted, NULL, deadlines);
    planner_status(in, status, 0);
    for (int32_t i = 0; i < p && !status; i++) {
        HOLDS(deadlines[i] >= 0 && deadlines[i] <= slots);
        if (!is_tame(kind)) continue;
        HOLDS(deadlines[i] == 0 ||
              deadlines[i] * send + (double)wanted[i] * t[i] <= bound * (1 + 1e-9));
        HOLDS(deadlines[i] == slots ||
              (deadlines[i] + 1) * send + (double)wanted[i] * t[i] >= bound * (1 - 1e-9));
    }
}

static int64_t sum_of(int32_t p, const int64_t *counts)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < p; i++) {
        HOLDS(counts[i] >= 0);
        sum += counts[i];
    }
    return sum;
}

static void links(bytes *in)
{
    const int32_t p = draw_small(in, 5);
    const taste kind = taste_of(in);
    const double bound = bound_of(in, kind);
    const double *t = draw_values(in, p, kind);
    double *sends = draw_values_or_zeros(in, p, kind);
    double *receives = pick_below(in, 2) ? draw_values_or_zeros(in, p, kind) : NULL;
    int32_t *enrolled = new_output(in, sizeof *enrolled);
    int32_t *send_order = new_output(in, (size_t)p * sizeof *send_order);
    int32_t *receive_order = new_output(in, (size_t)p * sizeof *receive_order);
    int *optimal = new_output(in, sizeof *optimal);
    const int64_t work = pick_below(in, 3) ? 1000 : draw_small(in, 50) - 1;
    const hs_status status = hs_task_links(bound, p, t, sends, receives, work, take_byte(in), NULL,
                                           enrolled, send_order, receive_order, optimal);
    planner_status(in, status, 0);
    const int32_t depth = 1 + draw_small(in, p);
    next_call(in);
    int64_t *weights = new_output(in, (size_t)(p * p * depth) * sizeof *weights);
    int64_t *counts = new_output(in, (size_t)p * sizeof *counts);
    const hs_status positions =
        hs_task_positions(bound, p, t, sends, receives, depth, NULL, weights);
    HOLDS(positions == HS_OK || positions == HS_ERROR_VALUE);
    for (int32_t e = 0; e < p * p * depth && !positions; e++)
        HOLDS(weights[e] >= 0 && weights[e] <= INT64_C(1) << 53);
    if (status) {
        HOLDS(positions == HS_ERROR_VALUE && outputs_untouched(in));
        return;
    }
    const int32_t q = *enrolled;
    HOLDS(q >= 0 && q <= p && all_different(q, send_order, p) &&
          all_different(q, receive_order, p) && (*optimal == 0 || *optimal == 1));
    HOLDS(hs_task_orders(bound, p, t, sends, receives, q, send_order, receive_order, counts) ==
          HS_OK);
    const int64_t found = sum_of(p, counts);
    for (int tries = 0; tries < 4; tries++) {
        const int32_t *some = draw_permutation(in, p);
        const int32_t *others = draw_permutation(in, p);
        const int32_t size = draw_small(in, p);
        int32_t back[8];
        int32_t count = 0;
        for (int32_t i = 0; i < p; i++)
            for (int32_t k = 0; k < size; k++)
                if (others[i] == some[k]) back[count++] = others[i];
        const hs_status given =
            hs_task_orders(bound, p, t, sends, receives, size, some, back, counts);
        HOLDS(given == HS_OK || given == HS_ERROR_INFEASIBLE);
        if (given == HS_OK) HOLDS(!*optimal || sum_of(p, counts) <= found);
    }
    next_call(in);
    int64_t *last = new_output(in, (size_t)p * sizeof *last);
    const int32_t size = draw_small(in, p + 1);
    const int32_t *any = draw_indices(in, size, p);
    const int32_t *too = draw_indices(in, size, p);
    planner_status(in, hs_task_orders(bound, p, t, sends, receives, size, any, too, last),
                   HS_ERROR_INFEASIBLE);
}

/* Reads a platform: messages may be equal, missing, or each worker's own. */
static hs_task_workers workers_of(bytes *in, int32_t p, taste kind)
{
    hs_task_workers w = {.p = p, .cycle_times = draw_values(in, p, kind)};
    double *messages[2] = {NULL, NULL};
    for (int way = 0; way < 2; way++) {
        const int form = pick_below(in, 3);
        if (form == 0) continue;
        messages[way] = draw_values_or_zeros(in, p, kind);
        for (int32_t i = 0; i < p; i++) {
            if (form == 1) messages[way][i] = messages[way][0];
            if (is_tame(kind)) messages[way][i] *= 0.25;
        }
    }
    w.sends = messages[0];
    w.receives = messages[1];
    return w;
}

static hs_task_plan new_plan(bytes *in, int32_t p)
{
    const size_t size = room_for(p);
    return (hs_task_plan){.counts = new_output(in, size * sizeof(int64_t)),
                          .send_order = new_output(in, size * sizeof(int32_t)),
                          .receive_order = new_output(in, size * sizeof(int32_t))};
}

/* Checks a plan; its exact end is at most `end`. */
static void check_tasks(const hs_task_workers *w, const hs_task_plan *plan, double end)
{
    HOLDS(plan->served >= 0 && plan->served <= w->p);
    HOLDS(plan->answering == 0 || plan->answering == plan->served);
    HOLDS(all_different(plan->served, plan->send_order, w->p));
    HOLDS(sum_of(w->p, plan->counts) == plan->tasks);
    hs_task_workers own = *w;
    double exact;
    if (!plan->answering) own.receives = NULL;
    HOLDS(hs_task_end(&own, plan->served, plan->send_order, plan->receive_order, plan->counts,
                      &exact) == HS_OK);
    HOLDS(exact <= end);
}

static void best_tasks(bytes *in)
{
    const int32_t p = draw_small(in, 5);
    const taste kind = taste_of(in);
    const double bound = bound_of(in, kind);
    const hs_task_workers w = workers_of(in, p, kind);
    hs_task_plan plan = new_plan(in, p);
    hs_certificate *proof = new_output(in, sizeof *proof);
    hs_status status = hs_max_tasks(&w, bound, HS_TASKS_BEST, NULL, NULL, &plan, proof);
    planner_status(in, status, 0);
    if (status) return;
    /* up to five workers are planned exactly */
    HOLDS(plan.tasks == plan.bound && proof->optimal == 1 && plan.makespan <= bound);
    check_tasks(&w, &plan, bound);
    const int64_t most = plan.tasks;
    next_call(in);
    hs_task_plan other = new_plan(in, p);
    status = hs_max_tasks(&w, bound, HS_TASKS_FASTEST - 1 + pick_below(in, 2), NULL, NULL, &other,
                          proof);
    if (status == HS_OK) {
        HOLDS(other.tasks <= most && other.bound >= most);
        check_tasks(&w, &other, bound);
    }
    next_call(in);
    int64_t *tasks = new_output(in, sizeof *tasks);
    int64_t *bounds = new_output(in, sizeof *bounds);
    int64_t *counts = new_output(in, (size_t)p * sizeof *counts);
    HOLDS(hs_max_tasks_batch(1, &w, bound, HS_TASKS_BEST, NULL, NULL, tasks, bounds, counts) ==
          HS_OK);
    HOLDS(*tasks == most && *bounds == most &&
          !memcmp(counts, plan.counts, (size_t)p * sizeof *counts));
}

static void least_time(bytes *in)
{
    const int32_t p = draw_small(in, 3);
    const taste kind = taste_of(in);
    const int64_t wanted = draw_size(in, take_byte(in) > 240, 30);
    const hs_task_workers w = workers_of(in, p, kind);
    hs_task_plan plan = new_plan(in, p);
    hs_certificate *proof = new_output(in, sizeof *proof);
    const hs_status status = hs_min_time(&w, wanted, NULL, NULL, &plan, proof);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(plan.tasks == wanted && proof->optimal == 1 && proof->value == plan.makespan);
    HOLDS(isfinite(plan.makespan));
    check_tasks(&w, &plan, nextafter(plan.makespan * (1 + 1e-14), INFINITY));
}

static void best_divisible(bytes *in)
{
    const int32_t p = draw_small(in, 4);
    const taste kind = taste_of(in);
    hs_divisible_load load = {.size = kind == WILD ? draw_wild(in) : draw_positive(in),
                              .p = p,
                              .cycle_times = draw_values(in, p, kind)};
    if (pick_below(in, 3)) load.sends = draw_values_or_zeros(in, p, kind);
    if (pick_below(in, 3)) load.receives = draw_values_or_zeros(in, p, kind);
    const size_t size = room_for(p);
    hs_divisible_plan plan = {.shares = new_output(in, size * sizeof(double)),
                              .send_order = new_output(in, size * sizeof(int32_t)),
                              .receive_order = new_output(in, size * sizeof(int32_t))};
    hs_certificate *proof = new_output(in, sizeof *proof);
    const int32_t method = pick_below(in, 4) - (take_byte(in) == 255);
    const hs_status status = hs_divisible_best(&load, method, NULL, NULL, &plan, proof);
    planner_status(in, status, 0);
    if (status) return;
    HOLDS(plan.served > 0 && plan.served <= p && plan.makespan > 0.0 && isfinite(plan.makespan));
    HOLDS(all_different(plan.served, plan.send_order, p));
    HOLDS(method != HS_DIVISIBLE_BEST || proof->optimal == 1);
    HOLDS(proof->bound <= plan.makespan && proof->value == plan.makespan);
    double sum = 0.0;
    for (int32_t i = 0; i < p; i++) sum += plan.shares[i] / load.size;
    HOLDS(fabs(sum - 1.0) <= 1e-9);
}

static void divisible(bytes *in)
{
    const int32_t p = draw_small(in, 5);
    const taste kind = taste_of(in);
    const double *t = draw_values(in, p, kind);
    const double *sends = draw_values_or_zeros(in, p, kind);
    const double *receives = draw_values_or_zeros(in, p, kind);
    double *bound = new_output(in, sizeof *bound);
    const hs_status bounded = hs_divisible_bound(p, t, sends, receives, NULL, bound);
    planner_status(in, bounded, 0);
    int32_t *order = take_byte(in) > 250 ? draw_indices(in, p, p) : draw_permutation(in, p);
    int32_t *back = draw_permutation(in, p);
    int32_t other[5], too[5];
    double *shares = new_output(in, (size_t)p * sizeof *shares);
    double *makespan = new_output(in, sizeof *makespan);
    int *optimal = new_output(in, sizeof *optimal);
    int proven = -1;
    const int64_t work = p > 3 ? 0 : pick_below(in, 2) * 20;
    const double enough = pick_below(in, 4) ? 0.0 : *bound;
    for (int32_t i = 0; i < p; i++) {
        other[i] = order[i];
        too[i] = back[i];
    }
    const hs_status status =
        hs_divisible_orders(p, t, sends, receives, work, take_byte(in), bounded ? 0.0 : enough,
                            NULL, order, back, shares, makespan, optimal);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    if (status) return;
    HOLDS(bounded == HS_OK && all_different(p, order, p) && all_different(p, back, p) &&
          (*optimal == 0 || *optimal == 1));
    double sum = 0.0;
    double least = -1.0;
    double some[5];
    for (int32_t i = 0; i < p; i++) {
        HOLDS(shares[i] >= 0.0 && shares[i] <= 1.0 + 1e-12);
        sum += shares[i];
    }
    HOLDS(fabs(sum - 1.0) <= 1e-9);
    HOLDS(*makespan >= *bound);
    HOLDS(hs_divisible_orders(p, t, sends, receives, 0, 0, 0.0, NULL, other, too, some, &least,
                              &proven) == HS_OK);
    /* the search started from these orders, so its result is not worse */
    HOLDS(least >= *makespan * (1 - 1e-12));
    const int32_t *any = draw_permutation(in, p);
    const int32_t *last = draw_permutation(in, p);
    for (int32_t i = 0; i < p; i++) {
        other[i] = any[i];
        too[i] = last[i];
    }
    HOLDS(hs_divisible_orders(p, t, sends, receives, 0, 0, 0.0, NULL, other, too, some, &least,
                              &proven) == HS_OK);
    HOLDS(!*optimal || least >= *makespan * (1 - 2e-12));
}

HARNESS(assign_real, assign_whole, axial, tasks, links, best_tasks, least_time, divisible,
        best_divisible)
