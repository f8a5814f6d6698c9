/* Fuzz harness of rings: the heuristics, the exact method and the bound against each other; shares
 * of arbitrary rings; plans by all methods, their certificates, and profiles; redistributions;
 * shared links. */
#include "bytes.h"

enum { MOST_P = 6 };

/* Returns a number within the documented range, or any number. */
static double ring_value(bytes *in, taste kind)
{
    if (kind != POSITIVES) return draw_value(in, kind);
    return ldexp(1.0 + take_byte(in) / 256.0, pick_below(in, 400) - 200 + pick_below(in, 2) * 144);
}

static double *ring_values(bytes *in, int64_t count, taste kind)
{
    double *x = draw_values(in, count, kind == POSITIVES ? INTEGERS : kind);
    for (int64_t i = 0; i < count && kind == POSITIVES; i++) x[i] = ring_value(in, kind);
    return x;
}

/* Checks a ring that was found: its makespan is the makespan of its shares. */
static void check_ring(bytes *in, const hs_ring *problem, int32_t size, const int32_t *ring,
                       double makespan)
{
    HOLDS(size >= 1 && size <= problem->p && all_different(size, ring, problem->p));
    next_call(in);
    double *shares = new_output(in, (size_t)problem->p * sizeof *shares);
    double again = -1.0;
    double sum = 0.0;
    HOLDS(hs_ring_shares(problem, size, ring, NULL, shares, &again) == HS_OK);
    HOLDS(is_near(again, makespan, 1e-9));
    for (int32_t i = 0; i < problem->p; i++) {
        HOLDS(shares[i] >= 0.0 && shares[i] <= 1.0 + 1e-9);
        sum += shares[i];
    }
    HOLDS(fabs(sum - 1.0) <= 1e-9);
}

/* Draws costs >= 0, some of them 0, or NULL. */
static const double *ring_costs(bytes *in, int64_t count, taste kind)
{
    if (pick_below(in, 3)) return NULL;
    double *costs = ring_values(in, count, kind);
    const int share = 1 + pick_below(in, 3);
    for (int64_t k = 0; k < count; k++)
        if (k % share) costs[k] = 0.0;
    return costs;
}

static int is_planned(hs_status status, const int *cancel)
{
    return status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE ||
           is_cancelled(status, cancel);
}

/* Plans by any method, with some workers that cannot work. exact: the makespan of the best ring of
 * all workers, or NaN if that is not known. */
static void plan_rings(bytes *in, hs_ring problem, const int *cancel, double exact)
{
    const int32_t p = problem.p;
    double *times = new_buffer(in, (size_t)p * sizeof *times);
    int all = 1;
    for (int32_t i = 0; i < p; i++) {
        const int out = take_byte(in) > 240;
        times[i] = out ? INFINITY : problem.cycle_times[i];
        all = all && !out && times[i] < INFINITY;
    }
    problem.cycle_times = times;
    const int method = pick_below(in, 7) - (take_byte(in) == 255);
    const hs_effort brief = {.seed = take_byte(in), .timed = 1};
    next_call(in);
    int32_t *ring = new_output(in, (size_t)p * sizeof *ring);
    int32_t *size = new_output(in, sizeof *size);
    double *shares = new_output(in, (size_t)p * sizeof *shares);
    hs_certificate *proof = new_output(in, sizeof *proof);
    const hs_status status = hs_ring_best(&problem, (hs_ring_method)method, &brief, cancel, ring,
                                          size, shares, NULL, proof);
    HOLDS(is_planned(status, cancel));
    HOLDS(status == HS_OK || outputs_untouched(in));
    if (!status) {
        HOLDS(*size >= 1 && *size <= p && all_different(*size, ring, p));
        HOLDS(proof->bound <= proof->value);
        if (all && !isnan(exact)) {
            HOLDS(proof->value >= exact * (1 - 1e-9) && proof->bound <= exact * (1 + 1e-9));
            HOLDS(method > HS_RING_METHOD_EXACT || is_near(proof->value, exact, 1e-9));
        }
        hs_certificate again;
        HOLDS(hs_ring_certificate(&problem, *size, ring, shares, NULL, &again) == HS_OK);
        HOLDS(is_near(again.value, proof->value, 1e-6));
        HOLDS(hs_ring_certificate(&problem, *size, ring, NULL, NULL, &again) == HS_OK);
        HOLDS(is_near(again.value, proof->value, 1e-9));
    }
    next_call(in);
    hs_certificate *any = new_output(in, sizeof *any);
    const int32_t members = draw_small(in, p);
    planner_status(in,
                   hs_ring_certificate(&problem, members, draw_indices(in, members, p),
                                       draw_values_or_null(in, p, INTEGERS), NULL, any),
                   HS_ERROR_INFEASIBLE);
    next_call(in);
    const int32_t room = draw_small(in, 3);
    int32_t *count = new_output(in, sizeof *count);
    double *works = new_output(in, (size_t)room * sizeof *works);
    int32_t *sizes = new_output(in, (size_t)room * sizeof *sizes);
    int32_t *rings = new_output(in, (size_t)room * (size_t)p * sizeof *rings);
    double *lengths = new_output(in, (size_t)room * sizeof *lengths);
    int32_t *proven = new_output(in, (size_t)room * sizeof *proven);
    double *least = new_output(in, (size_t)p * sizeof *least);
    const hs_status profiled =
        hs_ring_profile(&problem, room, cancel, count, works, sizes, rings, lengths, proven, least);
    HOLDS(is_planned(profiled, cancel) && profiled != HS_ERROR_INFEASIBLE);
    for (int32_t k = 0; !profiled && k < room && k < *count; k++) {
        HOLDS(sizes[k] >= 1 && sizes[k] <= p && all_different(sizes[k], rings + k * p, p));
        HOLDS(k == 0 || works[k] >= works[k - 1]);
    }
}

/* Redistributes items, and writes the messages of these flows and of any other ones. */
static void move_items(bytes *in, int32_t size, taste kind, const int *cancel)
{
    int64_t *counts = new_buffer(in, 2 * (size_t)size * sizeof *counts);
    int64_t left = 0;
    for (int32_t k = 0; k < size; k++) left += counts[k] = draw_small(in, 40);
    for (int32_t k = 0; k < size; k++) {
        counts[size + k] = left;
        if (k + 1 < size) counts[size + k] = draw_small(in, (int32_t)left);
        left -= counts[size + k];
    }
    if (size > 0 && take_byte(in) > 240) counts[pick_below(in, 2 * size)] = draw_extreme(in);
    const hs_redistribution x = {.size = size,
                                 .before = counts,
                                 .after = counts + size,
                                 .next = ring_values(in, size, kind),
                                 .previous = ring_costs(in, size, kind),
                                 .closed = pick_below(in, 2)};
    next_call(in);
    int64_t *flows = new_output(in, (size_t)size * sizeof *flows);
    int32_t *order = new_output(in, sizeof *order);
    hs_certificate *proof = new_output(in, sizeof *proof);
    const hs_status status = hs_ring_redistribute(&x, cancel, flows, order, proof);
    HOLDS(is_planned(status, cancel));
    HOLDS(status == HS_OK || outputs_untouched(in));
    hs_certificate again;
    if (!status) {
        HOLDS(proof->bound <= proof->value && (x.previous || proof->optimal));
        HOLDS(hs_ring_redistribution_certificate(&x, flows, *order, NULL, &again) == HS_OK);
        HOLDS(again.value == proof->value && again.bound == proof->bound);
    } else
        for (int32_t k = 0; k < size; k++) flows[k] = draw_extreme(in);
    next_call(in);
    const int64_t room = draw_small(in, 20);
    int64_t *count = new_output(in, sizeof *count);
    int32_t *senders = new_output(in, (size_t)room * sizeof *senders);
    int32_t *receivers = new_output(in, (size_t)room * sizeof *receivers);
    int64_t *items = new_output(in, (size_t)room * sizeof *items);
    double *starts = new_output(in, (size_t)room * sizeof *starts);
    double *periods = new_output(in, (size_t)room * sizeof *periods);
    const hs_status written =
        hs_ring_redistribution_messages(&x, flows, status ? 1 : *order, room, cancel, count,
                                        senders, receivers, items, starts, periods);
    HOLDS(is_planned(written, cancel) && (status || written != HS_ERROR_VALUE));
    for (int64_t m = 0; !written && m < room && m < *count; m++) {
        HOLDS(senders[m] >= 0 && senders[m] < size && receivers[m] >= 0 && receivers[m] < size);
        HOLDS(items[m] > 0 && starts[m] >= 0.0 && periods[m] >= 0.0);
    }
}

/* Plans rings over the links of a network: with the routes that are found, or with any. */
static void share_links(bytes *in, hs_ring problem, taste kind, const int *cancel)
{
    enum { MOST_LINKS = 8 };
    const int32_t p = (int32_t)hs__min(problem.p, 5);
    const int32_t nodes = p + pick_below(in, 3);
    problem.p = p;
    hs_ring_network net = {
        .nodes = nodes, .links = draw_small(in, MOST_LINKS), .duplex = pick_below(in, 2)};
    int32_t *ends = draw_indices(in, 2 * net.links, nodes);
    for (int32_t k = 0; k + 1 < nodes && k < net.links && pick_below(in, 8); k++) {
        ends[2 * k] = pick_below(in, k + 1); /* a tree */
        ends[2 * k + 1] = k + 1;
    }
    net.ends = ends;
    net.costs = ring_values(in, net.links, kind);
    const size_t pairs = (size_t)p * (size_t)p;
    const int32_t room = draw_small(in, 120);
    next_call(in);
    int64_t *first = new_output(in, (pairs + 1) * sizeof *first);
    int32_t *hops = new_output(in, (size_t)room * sizeof *hops);
    const hs_status routed = hs_ring_routes(p, &net, room, cancel, first, hops);
    HOLDS(is_planned(routed, cancel));
    HOLDS(routed == HS_OK || outputs_untouched(in));
    net.first = first;
    net.hops = hops;
    if (routed || first[pairs] > room || pick_below(in, 8) == 7) {
        int64_t *any = new_buffer(in, (pairs + 1) * sizeof *any);
        any[0] = pick_below(in, 2);
        for (size_t k = 1; k <= pairs; k++) any[k] = any[k - 1] + pick_below(in, 2);
        net.first = any;
        net.hops = draw_indices(in, any[pairs], net.links);
    }
    next_call(in);
    const int method = pick_below(in, 7) - 1;
    int32_t *ring = new_output(in, (size_t)p * sizeof *ring);
    int32_t *size = new_output(in, sizeof *size);
    double *links = new_output(in, pairs * sizeof *links);
    double *shares = new_output(in, (size_t)p * sizeof *shares);
    hs_certificate *proof = new_output(in, sizeof *proof);
    const hs_status status = hs_ring_shared_best(&problem, &net, (hs_ring_method)method, NULL,
                                                 cancel, ring, size, links, shares, NULL, proof);
    HOLDS(is_planned(status, cancel));
    HOLDS(status == HS_OK || outputs_untouched(in));
    if (status) return;
    HOLDS(*size >= 1 && *size <= p && all_different(*size, ring, p));
    HOLDS(proof->bound >= 0 && proof->bound <= proof->value);
    hs_ring with = problem;
    with.links = links;
    with.relays = 1;
    hs_certificate again;
    if (hs_ring_certificate(&with, *size, ring, shares, NULL, &again) == HS_OK)
        HOLDS(is_near(again.value, proof->value, 1e-6));
    next_call(in);
    const int32_t members = draw_small(in, p);
    double *costs = new_output(in, pairs * sizeof *costs);
    double *parts = new_output(in, (size_t)p * sizeof *parts);
    hs_certificate *own = new_output(in, sizeof *own);
    planner_status(in,
                   hs_ring_bandwidths(&problem, &net, members, draw_indices(in, members, p), NULL,
                                      costs, parts, own),
                   HS_ERROR_INFEASIBLE);
    hs_status found = hs_ring_shared_certificate(&with, &net, *size, ring, shares, cancel, &again);
    HOLDS(is_planned(found, cancel));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    bytes all = bytes_of(data, length);
    bytes *in = &all;
    const int32_t p = draw_small(in, MOST_P);
    const taste kind = taste_of(in);
    const int *cancel = draw_cancel(in);
    if (pick_below(in, 4) == 0) {
        move_items(in, p, kind, cancel);
        bytes_end(in);
        return 0;
    }
    hs_ring problem = {.p = p, .relays = draw_option(in, 2)};
    problem.cycle_times = ring_values(in, p, kind);
    double *links = ring_values(in, (int64_t)p * p, kind);
    const unsigned zeros = take_byte(in);
    for (int32_t e = 0; e < p * p && zeros > 200; e++)
        if ((unsigned)e % 3 < zeros % 4) links[e] = 0.0;
    /* the diagonal is not read */
    for (int32_t i = 0; i < p && take_byte(in) % 4 == 0; i++) links[i * p + i] = NAN;
    if (pick_below(in, 8)) problem.links = links;
    if (pick_below(in, 2)) problem.link = ring_value(in, kind);
    problem.latencies = ring_costs(in, (int64_t)p * p, kind);
    if (pick_below(in, 4) == 0) problem.latency = ring_value(in, kind);
    problem.overheads = ring_costs(in, p, kind);
    problem.work = ring_value(in, kind);
    if (is_tame(kind)) problem.work *= (const double[]){1, 1, 100, 1e4}[pick_below(in, 4)];
    if (pick_below(in, 8)) problem.volume = ring_value(in, kind);

    int32_t *ring = new_output(in, (size_t)p * sizeof *ring);
    int32_t *size = new_output(in, sizeof *size);
    double *makespan = new_output(in, sizeof *makespan);
    double greedy = INFINITY;
    double searched = INFINITY;
    double exact = INFINITY;
    const int32_t first = pick_below(in, 3) ? -1 : draw_small(in, p) - (take_byte(in) == 255);
    hs_status status = hs_ring_greedy(&problem, first, cancel, ring, size, makespan);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE ||
          is_cancelled(status, cancel));
    if (!status) check_ring(in, &problem, *size, ring, greedy = *makespan);
    if (status == HS_ERROR_VALUE) HOLDS(outputs_untouched(in));

    next_call(in);
    int32_t *found = new_buffer(in, (size_t)p * sizeof *found);
    int32_t members = status ? draw_small(in, p) : *size;
    uint64_t state = take_byte(in);
    double result = -1.0;
    if (!status) memcpy(found, ring, (size_t)members * sizeof *found);
    else memcpy(found, draw_indices(in, p, p), (size_t)p * sizeof *found);
    const hs_status search =
        hs_ring_search(&problem, draw_small(in, 5), cancel, found, &members, &state, &result);
    HOLDS(search == HS_OK || search == HS_ERROR_VALUE || search == HS_ERROR_INFEASIBLE ||
          is_cancelled(search, cancel));
    if (!search) {
        check_ring(in, &problem, members, found, searched = result);
        HOLDS(searched <= greedy * (1 + 1e-12));
    }

    next_call(in);
    int32_t *best = new_output(in, (size_t)p * sizeof *best);
    int32_t *count = new_output(in, sizeof *count);
    double *least = new_output(in, sizeof *least);
    const hs_status proof = hs_ring_exact(&problem, cancel, best, count, least);
    HOLDS(proof == HS_OK || proof == HS_ERROR_VALUE || proof == HS_ERROR_INFEASIBLE ||
          is_cancelled(proof, cancel));
    if (!proof) {
        check_ring(in, &problem, *count, best, exact = *least);
        HOLDS(exact <= searched * (1 + 1e-9) && exact <= greedy * (1 + 1e-9));
        const int32_t *other = draw_permutation(in, p);
        const int32_t members_of_other = 1 + pick_below(in, p);
        double shares[MOST_P];
        double time = INFINITY;
        if (hs_ring_shares(&problem, members_of_other, other, NULL, shares, &time) == HS_OK)
            HOLDS(exact <= time * (1 + 1e-9));
    } else if (proof == HS_ERROR_INFEASIBLE) HOLDS(status && search);

    double bound = -1.0;
    const hs_status bounded = hs_ring_bound(&problem, pick_below(in, 2) ? exact : INFINITY,
                                            draw_small(in, 6), cancel, &bound);
    HOLDS(bounded == HS_OK || bounded == HS_ERROR_VALUE || is_cancelled(bounded, cancel));
    if (!bounded && !proof) HOLDS(bound <= exact * (1 + 1e-9));

    next_call(in);
    int32_t *shortest = new_output(in, (size_t)p * sizeof *shortest);
    double *lengths = new_output(in, ((size_t)1 << p) * sizeof *lengths);
    const hs_status tour = hs_ring_shortest(&problem, cancel, shortest);
    HOLDS(tour == HS_OK || tour == HS_ERROR_VALUE || is_cancelled(tour, cancel));
    if (!tour) HOLDS(all_different(p, shortest, p));
    next_call(in);
    int32_t *order = new_buffer(in, (size_t)p * sizeof *order);
    memcpy(order, draw_permutation(in, p), (size_t)p * sizeof *order);
    const hs_status walked = hs_ring_tour(&problem, draw_small(in, 9), cancel, order, &state);
    HOLDS(walked == tour && all_different(p, order, p));
    const hs_status subsets = hs_ring_lengths(&problem, cancel, lengths);
    HOLDS(subsets == HS_OK || subsets == HS_ERROR_VALUE || is_cancelled(subsets, cancel));
    for (int32_t i = 0; i < p && !subsets; i++)
        HOLDS((lengths[(size_t)1 << i] == 0.0) ==
              (!problem.overheads || problem.overheads[i] == 0.0));
    for (int32_t set = 1; set < 1 << p && !subsets; set++) HOLDS(lengths[set] >= 0.0);

    next_call(in);
    double *shares = new_output(in, (size_t)p * sizeof *shares);
    double *time = new_output(in, sizeof *time);
    const int32_t any = draw_small(in, p);
    planner_status(in, hs_ring_shares(&problem, any, draw_indices(in, any, p), NULL, shares, time),
                   HS_ERROR_INFEASIBLE);
    share_links(in, problem, kind, cancel);
    plan_rings(in, problem, cancel, proof ? NAN : exact);
    bytes_end(in);
    return 0;
}
