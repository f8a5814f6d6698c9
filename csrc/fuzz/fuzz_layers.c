/* Fuzz harness of layers: schedules, the relaxation, bounds, the paper's integers, exact counts and
 * orders, against each other and against small enumerations. */
#include "bytes.h"

enum { MOST_P = 6 };

/* Returns the least makespan over all counts of the remaining workers, for a given order. */
static double least_makespan(const hs_layers *problem, const int32_t *order, int32_t at,
                             int64_t left, int64_t *counts)
{
    double best = INFINITY;
    double start[MOST_P], received[MOST_P], end[MOST_P];
    double time = INFINITY;
    if (at == problem->p) {
        if (left == 0 &&
            hs_layers_schedule(problem, order, counts, start, received, end, &time) == HS_OK)
            best = time;
        return best;
    }
    for (int64_t k = 0; k <= left && (!problem->most || k <= problem->most[at]); k++) {
        counts[at] = k;
        best = fmin(best, least_makespan(problem, order, at + 1, left - k, counts));
    }
    return best;
}

static double check_counts(bytes *in, const hs_layers *problem, const int32_t *order,
                           const int64_t *counts)
{
    int64_t sum = 0;
    double makespan = -1.0;
    double last = 0.0;
    for (int32_t i = 0; i < problem->p; i++) {
        HOLDS(counts[i] >= 0 && (!problem->most || counts[i] <= problem->most[i]));
        sum += counts[i];
    }
    HOLDS(sum == problem->layers);
    next_call(in);
    const size_t size = (size_t)problem->p * sizeof(double);
    double *start = new_output(in, size);
    double *received = new_output(in, size);
    double *end = new_output(in, size);
    HOLDS(hs_layers_schedule(problem, order, counts, start, received, end, &makespan) == HS_OK);
    for (int32_t i = 0; i < problem->p; i++) {
        HOLDS(start[i] >= 0.0 && received[i] >= start[i] && end[i] >= received[i]);
        HOLDS(counts[i] || end[i] == 0.0);
        last = fmax(last, end[i]);
    }
    HOLDS(last == makespan);
    return makespan;
}

/* Plans a product with any numbers; a plan has the counts, times and certificate that it has as a
 * given one. */
static void plan_product(bytes *in)
{
    const int32_t p = draw_small(in, MOST_P);
    const taste kind = taste_of(in);
    hs_layers_product x = {.mode = pick_below(in, 4), .p = p, .n = draw_small(in, 40)};
    double *times = draw_values(in, p, kind);
    if (take_byte(in) > 220 && p > 0) times[pick_below(in, p)] = INFINITY;
    x.cycle_times = times;
    x.link_costs = draw_values_or_zeros(in, p, kind);
    double *memory = draw_values_or_zeros(in, p, kind);
    for (int32_t i = 0; i < p; i++) memory[i] *= (double)(3 * x.n * x.n);
    if (pick_below(in, 2)) x.memory = memory;
    x.disk = draw_option(in, 2);
    const hs_layers_method method = (hs_layers_method)pick_below(in, 3);
    const size_t size = (size_t)p;
    hs_layers_result found = {.counts = new_buffer(in, size * sizeof(int64_t)),
                              .order = new_buffer(in, size * sizeof(int32_t)),
                              .receive = new_buffer(in, 2 * size * sizeof(double)),
                              .compute = new_buffer(in, 2 * size * sizeof(double)),
                              .shares = new_buffer(in, size * sizeof(double))};
    hs_certificate c, own;
    const hs_status status = hs_layers_plan(&x, method, NULL, &found, &c);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE ||
          (status == HS_ERROR_INFEASIBLE && x.memory));
    if (status) return;
    int64_t sum = 0;
    double last = 0.0;
    for (int32_t i = 0; i < p; i++) {
        HOLDS(found.counts[i] >= 0 && (found.counts[i] == 0 || !isinf(times[i])));
        sum += found.counts[i];
        last = fmax(last, found.compute[2 * i + 1]);
    }
    HOLDS(sum == x.n && last == c.value && c.bound <= c.value);
    HOLDS(all_different(found.served, found.order, p));
    const int32_t served = found.served;
    HOLDS(hs_layers_plan(&x, HS_LAYERS_GIVEN, NULL, &found, &own) == HS_OK);
    HOLDS(own.value == c.value && found.served == served);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    bytes all = bytes_of(data, length);
    bytes *in = &all;
    if (pick_below(in, 4) == 0) {
        plan_product(in);
        bytes_end(in);
        return 0;
    }
    const int any = take_byte(in);
    const int32_t p = draw_small(in, MOST_P);
    const taste kind = taste_of(in);
    const int none = 0;
    const int *cancel = pick_below(in, 2) ? &none : NULL;
    hs_layers problem = {.mode = any > 250 ? pick_below(in, 7) - 2 : pick_below(in, 4), .p = p};
    if (any % 8 == 0) problem.layers = draw_extreme(in);
    else if (any % 8 == 1) problem.layers = (int64_t)(take_word(in) >> (11 + pick_below(in, 50)));
    else problem.layers = draw_small(in, 40);
    double *compute = draw_values(in, p, kind);
    if (take_byte(in) > 220 && p > 0) compute[pick_below(in, p)] = INFINITY;
    problem.compute = compute;
    problem.send = draw_values_or_zeros(in, p, kind);
    int64_t most[MOST_P + 1];
    for (int32_t i = 0; i < p; i++)
        most[i] = any % 8 < 2 ? (int64_t)(take_word(in) >> 3)
                              : draw_small(in, 40) - (take_byte(in) > 250);
    if (pick_below(in, 2)) problem.most = most;
    /* only limits make a problem infeasible */
    const hs_status infeasible = problem.most ? HS_ERROR_INFEASIBLE : HS_OK;
    const int32_t *order = NULL;
    if (pick_below(in, 3)) order = draw_permutation(in, p);
    else if (any % 16 == 3) order = draw_indices(in, p, p);

    double *bound = new_output(in, sizeof *bound);
    double *shares = new_output(in, (size_t)p * sizeof *shares);
    double *relaxed = new_output(in, sizeof *relaxed);
    const hs_status bounded = hs_layers_bound(&problem, NULL, bound);
    HOLDS(bounded == HS_OK || bounded == HS_ERROR_VALUE ||
          (bounded == HS_ERROR_INFEASIBLE && problem.most));
    double ideal = INFINITY;
    hs_status status = hs_layers_relaxed(&problem, NULL, NULL, &ideal);
    HOLDS(status == bounded);
    if (status) HOLDS(outputs_untouched(in));
    status = hs_layers_relaxed(&problem, order, shares, relaxed);
    HOLDS(status == bounded || status == HS_ERROR_VALUE);
    if (!status) {
        double sum = 0.0;
        for (int32_t i = 0; i < p; i++) {
            HOLDS(shares[i] >= 0.0);
            sum += shares[i];
        }
        HOLDS(is_near(sum, (double)problem.layers, 1e-9));
        HOLDS(ideal <= *relaxed * (1 + 1e-9) && ideal * (1 - 1e-9) <= *bound);
    }
    next_call(in);
    int64_t *paper = new_output(in, (size_t)p * sizeof *paper);
    double *before = new_output(in, (size_t)p * sizeof *before);
    const hs_status rounded = hs_layers_paper(&problem, order, before, paper);
    planner_status(in, rounded, infeasible);
    double makespan = INFINITY;
    if (!rounded) {
        makespan = check_counts(in, &problem, order, paper);
        HOLDS(*bound * (1 - 1e-9) <= makespan);
    }

    if (!bounded && problem.layers > 300) {
        bytes_end(in);
        return 0;
    }
    next_call(in);
    int64_t *counts = new_output(in, (size_t)p * sizeof *counts);
    int *optimal = new_output(in, sizeof *optimal);
    const hs_status exact = hs_layers_exact(&problem, order, cancel, counts, optimal);
    planner_status(in, exact, infeasible);
    HOLDS(exact == status);
    if (!exact) {
        const double least = check_counts(in, &problem, order, counts);
        HOLDS(*optimal == 1);
        HOLDS(least <= makespan * (1 + 1e-12) && *relaxed <= least * (1 + 1e-9) &&
              *bound * (1 - 1e-9) <= least);
        int64_t some[MOST_P];
        if (p <= 3 && problem.layers <= 6)
            HOLDS(is_near(least, least_makespan(&problem, order, 0, problem.layers, some), 1e-9));
        makespan = least;
    }
    next_call(in);
    int32_t *best_order = new_output(in, (size_t)p * sizeof *best_order);
    int64_t *best = new_output(in, (size_t)p * sizeof *best);
    int *proven = new_output(in, sizeof *proven);
    const hs_status searched =
        hs_layers_best(&problem, draw_small(in, 100) * 10, cancel, best_order, best, proven);
    planner_status(in, searched, infeasible);
    if (!searched) {
        HOLDS(all_different(p, best_order, p) && (*proven == 0 || *proven == 1));
        const double least = check_counts(in, &problem, best_order, best);
        HOLDS(*bound * (1 - 1e-9) <= least);
        if (*proven) HOLDS(least <= makespan * (1 + 1e-9));
    }
    bytes_end(in);
    return 0;
}
