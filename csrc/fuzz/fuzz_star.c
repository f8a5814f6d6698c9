/* Fuzz harness of stars: arbitrary chunks and served lists through the simulator, all planners, and
 * bounds that must not exceed any of their plans. */
#include "bytes.h"

enum { MOST_P = 4, MOST = 6, CHUNKS = 12, MESSAGES = 4000 };

static double star_value(bytes *in, taste kind)
{
    return kind == POSITIVES ? fmin(draw_positive(in), HS_STAR_MOST) : draw_value(in, kind);
}

static hs_star star_of(bytes *in, taste kind)
{
    hs_star star = {.r = draw_small(in, MOST),
                    .s = draw_small(in, MOST),
                    .t = draw_small(in, MOST),
                    .p = draw_small(in, MOST_P)};
    double *t = draw_values(in, star.p, INTEGERS);
    double *links = draw_values_or_zeros(in, star.p, INTEGERS);
    int64_t *memory = new_buffer(in, (size_t)star.p * sizeof *memory);
    for (int32_t i = 0; i < star.p && kind != INTEGERS; i++) {
        t[i] = star_value(in, kind);
        links[i] = pick_below(in, 4) ? star_value(in, kind) : 0.0;
    }
    for (int32_t i = 0; i < star.p; i++) memory[i] = draw_size(in, take_byte(in) > 250, 80);
    if (take_byte(in) > 250)
        *(pick_below(in, 2) ? &star.r : &star.t) =
            draw_extreme(in) & ~(INT64_C(0xFFFFFFFF) * pick_below(in, 2));
    star.cycle_times = t;
    star.link_costs = links;
    star.memory = memory;
    return star;
}

static int small_enough(const hs_star *star)
{
    return star->r <= 64 && star->s <= 64 && star->t <= 64;
}

/* Checks that messages come one at a time and within the makespan. */
static void check_log(const hs_star *star, int64_t count, const hs_star_message *log,
                      double makespan)
{
    double port = 0.0;
    double last = 0.0;
    for (int64_t k = 0; k < count; k++) {
        const hs_star_message *x = &log[k];
        HOLDS(x->worker >= 0 && x->worker < star->p && x->kind >= 0 && x->kind <= 2 &&
              x->chunk >= 0);
        HOLDS(x->start >= port && x->end >= x->start && x->compute_start >= x->end &&
              x->compute_end >= x->compute_start);
        port = x->end;
        last = fmax(last, fmax(x->end, x->compute_end));
    }
    HOLDS(last == makespan);
}

/* Checks that every block of C is in exactly one chunk. */
static void check_cover(const hs_star *star, int64_t count, const hs_star_chunk *chunks)
{
    int64_t blocks = 0;
    for (int64_t k = 0; k < count; k++) {
        const hs_star_chunk *a = &chunks[k];
        HOLDS(a->worker >= 0 && a->worker < star->p && a->row >= 0 && a->col >= 0 &&
              a->height >= 1 && a->width >= 1 && a->depth >= 1);
        HOLDS(a->height <= star->r - a->row && a->width <= star->s - a->col);
        blocks += a->height * a->width;
        for (int64_t l = 0; l < k; l++) {
            const hs_star_chunk *b = &chunks[l];
            HOLDS(a->row + a->height <= b->row || b->row + b->height <= a->row ||
                  a->col + a->width <= b->col || b->col + b->width <= a->col);
        }
    }
    HOLDS(blocks == star->r * star->s);
}

/* Checks that no plan is faster than the bounds that hold for all plans. */
static void above_bounds(const hs_star *star, double makespan)
{
    double bounds[HS_STAR_BOUNDS];
    HOLDS(hs_star_bounds(star, HS_STAR_DOUBLE, NULL, bounds) == HS_OK);
    for (int k = HS_STAR_WORK; k <= HS_STAR_TRANSFER; k++)
        HOLDS(bounds[k] <= makespan * (1 + 1e-9));
    HOLDS(bounds[HS_STAR_LOOMIS] <= makespan * (1 + 1e-9));
}

static double run_simulation(bytes *in, const hs_star *star, int64_t count,
                             const hs_star_chunk *chunks, int32_t order, int64_t length,
                             const int32_t *served, int32_t eager)
{
    next_call(in);
    int64_t *messages = new_output(in, sizeof *messages);
    double *makespan = new_output(in, sizeof *makespan);
    double again = -1.0;
    const hs_status status = hs_star_simulate(star, count, chunks, order, length, served, eager,
                                              NULL, NULL, messages, makespan);
    planner_status(in, status, 0);
    if (status) return -1.0;
    HOLDS(*messages >= 0);
    if (*messages > MESSAGES) return *makespan;
    hs_star_message *log = new_output(in, (size_t)*messages * sizeof *log);
    HOLDS(hs_star_simulate(star, count, chunks, order, length, served, eager, NULL, log, messages,
                           &again) == HS_OK &&
          again == *makespan);
    check_log(star, *messages, log, again);
    return again;
}

static void simulate(bytes *in)
{
    const taste kind = taste_of(in);
    const hs_star star = star_of(in, kind);
    const int64_t count = draw_small(in, CHUNKS);
    hs_star_chunk *chunks = new_buffer(in, (size_t)count * sizeof *chunks);
    const int strange = take_byte(in) > 230;
    for (int64_t k = 0; k < count; k++) {
        hs_star_chunk *c = &chunks[k];
        *c = (hs_star_chunk){.worker = pick_below(in, star.p + (star.p == 0)),
                             .held = pick_below(in, 3),
                             .buffers = 1 + pick_below(in, 2),
                             .depth = 1 + draw_small(in, 4)};
        if (pick_below(in, 3) == 0) {
            c->held = HS_STAR_HOLD_C;
            c->buffers = -pick_below(in, 2);
            c->depth = 1;
        }
        c->ahead = c->held == HS_STAR_HOLD_C && pick_below(in, 2);
        c->row = star.r > 0 && star.r < 200 ? pick_below(in, (int)star.r) : 0;
        c->col = star.s > 0 && star.s < 200 ? pick_below(in, (int)star.s) : 0;
        c->height = 1 + pick_below(in, 3);
        c->width = 1 + pick_below(in, 3);
        if (c->height > star.r - c->row) c->height = star.r - c->row;
        if (c->width > star.s - c->col) c->width = star.s - c->col;
        if (strange && pick_below(in, 4) == 0) {
            int64_t *const fields[] = {&c->row, &c->col, &c->height, &c->width, &c->depth};
            int32_t *const others[] = {&c->worker, &c->held, &c->buffers, &c->ahead};
            if (pick_below(in, 2)) *fields[pick_below(in, 5)] = draw_extreme(in);
            else *others[pick_below(in, 4)] = (int32_t)draw_extreme(in);
        }
    }
    if (!small_enough(&star)) return; /* too many messages */
    const int32_t order = draw_option(in, 6);
    const int32_t length = draw_small(in, 60);
    run_simulation(in, &star, count, chunks, order, length, draw_indices(in, length, star.p),
                   pick_below(in, 2));
}

static void plan(bytes *in)
{
    const taste kind = taste_of(in);
    const hs_star star = star_of(in, kind);
    const int32_t method = 1 + pick_below(in, take_byte(in) > 250 ? 12 : 9);
    const int32_t eager = pick_below(in, 2);
    int32_t variant = HS_STAR_ALL;
    if (method == HS_STAR_HET) variant = pick_below(in, 18) - 2;
    else if (take_byte(in) > 250) variant = 1;
    const size_t p = (size_t)star.p;
    hs_star_summary *summary = new_output(in, sizeof *summary);
    hs_star_summary again;
    int64_t *sides = new_output(in, p * sizeof *sides);
    int64_t *cols = new_output(in, p * sizeof *cols);
    if (!small_enough(&star)) return;
    hs_status status =
        hs_star_plan(&star, method, variant, eager, NULL, summary, sides, cols, NULL, NULL);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE);
    if (status) return;
    HOLDS(summary->chunk_count >= 0 && summary->message_count >= 0);
    hs_star_chunk *chunks = new_output(in, (size_t)summary->chunk_count * sizeof *chunks);
    hs_star_message *log = new_output(in, (size_t)summary->message_count * sizeof *log);
    HOLDS(hs_star_plan(&star, method, variant, eager, NULL, &again, sides, cols, chunks, log) ==
          HS_OK);
    HOLDS(again.makespan == summary->makespan && again.chunk_count == summary->chunk_count &&
          again.message_count == summary->message_count);
    check_cover(&star, again.chunk_count, chunks);
    check_log(&star, again.message_count, log, again.makespan);
    int64_t sum = 0;
    for (size_t i = 0; i < p; i++) {
        HOLDS(cols[i] >= 0 && sides[i] >= 0);
        sum += cols[i];
    }
    HOLDS(sum == star.s);
    if (is_tame(kind)) above_bounds(&star, again.makespan);
}

static void cut(bytes *in)
{
    const hs_star star = star_of(in, taste_of(in));
    const int32_t by_rows = pick_below(in, 2);
    hs_star_share *shares = new_buffer(in, (size_t)star.p * sizeof *shares);
    /* the rest for the last worker; if it gets this, the sum is right */
    int64_t left = by_rows ? star.r : star.s;
    for (int32_t i = 0; i < star.p; i++) {
        shares[i] = (hs_star_share){.columns = draw_small(in, 4),
                                    .rows = 1 + draw_small(in, 3),
                                    .panels = 1 + draw_small(in, 2),
                                    .held = pick_below(in, 3),
                                    .buffers = pick_below(in, 3)};
        shares[i].ahead = shares[i].held == HS_STAR_HOLD_C && pick_below(in, 2);
        if (i + 1 == star.p && pick_below(in, 8)) shares[i].columns = left;
        if (shares[i].columns < shares[i].panels) shares[i].panels = shares[i].columns;
        left = shares[i].columns <= left ? left - shares[i].columns : 0;
        if (take_byte(in) > 250)
            *(int64_t *[]){&shares[i].columns, &shares[i].rows,
                           &shares[i].panels}[pick_below(in, 3)] = draw_extreme(in);
    }
    int64_t *count = new_output(in, sizeof *count);
    const hs_status status = hs_star_cut(&star, by_rows, shares, count, NULL);
    planner_status(in, status, 0);
    if (status || *count > 5000) return;
    HOLDS(*count >= 0);
    hs_star_chunk *chunks = new_output(in, (size_t)*count * sizeof *chunks);
    HOLDS(hs_star_cut(&star, by_rows, shares, count, chunks) == HS_OK);
    if (small_enough(&star)) {
        check_cover(&star, *count, chunks);
        run_simulation(in, &star, *count, chunks, HS_STAR_DEMAND, 0, NULL, 0);
    }
}

static void search(bytes *in)
{
    const taste kind = taste_of(in);
    const hs_star star = star_of(in, kind);
    const int32_t eager = pick_below(in, 2);
    int32_t *by_rows = new_output(in, sizeof *by_rows);
    int32_t *order = new_output(in, sizeof *order);
    hs_star_share *shares = new_output(in, (size_t)star.p * sizeof *shares);
    double *makespan = new_output(in, sizeof *makespan);
    if (!small_enough(&star)) return;
    const int64_t effort = 4 * draw_small(in, 100);
    const hs_status status =
        hs_star_search(&star, eager, take_byte(in), effort, NULL, by_rows, shares, order, makespan);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE);
    if (status) return;
    int64_t count = -1;
    HOLDS(hs_star_cut(&star, *by_rows, shares, &count, NULL) == HS_OK && count >= 0);
    hs_star_chunk *chunks = new_buffer(in, (size_t)count * sizeof *chunks);
    HOLDS(hs_star_cut(&star, *by_rows, shares, &count, chunks) == HS_OK);
    check_cover(&star, count, chunks);
    const double found = *makespan;
    HOLDS(is_near(run_simulation(in, &star, count, chunks, *order, 0, NULL, eager), found, 1e-12));
    if (is_tame(kind)) above_bounds(&star, found);
}

static void exact(bytes *in)
{
    const taste kind = taste_of(in);
    hs_star star = star_of(in, kind);
    if (!small_enough(&star)) return;
    if (star.s > 3) star.s = 3;
    if (star.t < 0) star.t = 0;
    int64_t parts = 0;
    for (int32_t i = 0; i < star.p; i++) {
        const int64_t mu = hs_star_side(star.memory[i], HS_STAR_DOUBLE);
        HOLDS(mu >= 0 && (mu == 0 || mu > 3e9 || mu * mu + 4 * mu <= star.memory[i]));
        if (mu > 0 && star.r > 0) parts = hs__max(parts, hs__ceil_div(star.r, mu));
    }
    const int64_t most = hs__max(star.s, 0) * parts;
    const int64_t entries = most * (star.t + 2);
    int64_t *count = new_output(in, sizeof *count);
    int64_t *length = new_output(in, sizeof *length);
    hs_star_chunk *chunks = new_output(in, (size_t)most * sizeof *chunks);
    int32_t *served = new_output(in, (size_t)entries * sizeof *served);
    double *makespan = new_output(in, sizeof *makespan);
    const int64_t effort = 50 * draw_small(in, 100);
    const double limit = pick_below(in, 4) ? INFINITY : draw_wild(in);
    const hs_status status =
        hs_star_exact(&star, effort, limit, NULL, count, chunks, length, served, makespan);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE ||
          status == HS_ERROR_UNSUPPORTED);
    if (status) return;
    HOLDS(*count >= 1 && *count <= most && *length >= 1 && *length <= entries);
    check_cover(&star, *count, chunks);
    const double least = *makespan;
    HOLDS(is_near(run_simulation(in, &star, *count, chunks, HS_STAR_LISTED, *length, served, 0),
                  least, 2e-12));
    if (!is_tame(kind)) return;
    above_bounds(&star, least);
    hs_star_summary summary;
    int64_t sides[MOST_P], cols[MOST_P];
    if (hs_star_plan(&star, HS_STAR_HET, pick_below(in, 4), 0, NULL, &summary, sides, cols, NULL,
                     NULL) == HS_OK)
        HOLDS(least <= summary.makespan * (1 + 1e-9));
}

/* Checks the account of traffic of a plan against its log. */
static void check_account(const hs_star *star, int64_t count, const hs_star_chunk *chunks,
                          int64_t length, const hs_star_message *log)
{
    int64_t messages, needs[MOST_P], peaks[MOST_P];
    HOLDS(hs_star_message_count(star->t, count, chunks, &messages) == HS_OK && messages == length);
    HOLDS(hs_star_needs(star->t, star->p, count, chunks, needs) == HS_OK);
    HOLDS(hs_star_peaks(star->t, star->p, count, chunks, length, log, peaks) == HS_OK);
    for (int32_t i = 0; i < star->p; i++)
        HOLDS(needs[i] <= star->memory[i] && peaks[i] <= needs[i]);
}

static hs_star_options draw_options(bytes *in, int32_t most)
{
    hs_star_options options = {.method = pick_below(in, most),
                               .eager = pick_below(in, 2),
                               .messages = 50 * (int64_t)(1 + pick_below(in, 100))};
    if (options.method == HS_STAR_EXACT && pick_below(in, 8)) options.eager = 0;
    if (options.method == HS_STAR_HET) options.single = pick_below(in, 2);
    if (options.single) options.variant = pick_below(in, 18) - 1;
    return options;
}

static void best(bytes *in)
{
    const taste kind = taste_of(in);
    hs_star star = star_of(in, kind);
    if (!small_enough(&star)) return;
    const hs_star_options options = draw_options(in, 13);
    const int exact = options.method == HS_STAR_EXACT;
    if (exact && star.s > 3) star.s = 3;
    const hs_effort effort = {.seed = take_byte(in), .timed = pick_below(in, 9) == 0};
    hs_star_decision *found = new_output(in, sizeof *found);
    hs_star_part *parts = new_output(in, (size_t)star.p * sizeof *parts);
    hs_certificate *certificate = new_output(in, sizeof *certificate);
    int64_t chunk_room = 0;
    int64_t message_room = 0;
    if (exact && hs_star_exact_most(&star, &chunk_room, &message_room) != HS_OK) return;
    hs_star_chunk *chunks = new_output(in, (size_t)chunk_room * sizeof *chunks);
    int32_t *served = new_output(in, (size_t)message_room * sizeof *served);
    const hs_status status =
        hs_star_best(&star, &options, &effort, NULL, found, parts, chunks, served, certificate);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE || status == HS_ERROR_INFEASIBLE ||
          (exact && status == HS_ERROR_UNSUPPORTED));
    if (status) return;
    HOLDS(found->method > HS_STAR_BEST && found->method <= HS_STAR_EXACT);
    HOLDS(options.method == HS_STAR_BEST || found->method == options.method);
    HOLDS(found->chunk_count >= 1 && found->message_count >= 1);
    if (exact) HOLDS(found->chunk_count <= chunk_room && found->message_count <= message_room);
    else chunks = new_output(in, (size_t)found->chunk_count * sizeof *chunks);
    hs_star_message *log = new_output(in, (size_t)found->message_count * sizeof *log);
    HOLDS(hs_star_write(&star, found, parts, served, NULL, chunks, log) == HS_OK);
    check_cover(&star, found->chunk_count, chunks);
    HOLDS(is_near(log[found->message_count - 1].end, found->makespan, 1e-12));
    check_log(&star, found->message_count, log, log[found->message_count - 1].end);
    check_account(&star, found->chunk_count, chunks, found->message_count, log);
    HOLDS(certificate->value == found->makespan && certificate->bound <= certificate->value);
    int64_t columns = 0;
    int64_t updates = 0;
    for (int32_t i = 0; i < star.p; i++) {
        HOLDS(parts[i].columns >= 0 && parts[i].updates >= 0);
        columns += parts[i].columns;
        updates += parts[i].updates;
    }
    HOLDS(columns == star.s && updates == star.r * star.s * star.t);
    if (is_tame(kind)) above_bounds(&star, found->makespan);
}

static void lu(bytes *in)
{
    const taste kind = taste_of(in);
    const hs_star star = star_of(in, kind);
    if (star.r < 0 || star.r > 12) return;
    int64_t *memory = new_buffer(in, (size_t)star.p * sizeof *memory);
    for (int32_t i = 0; i < star.p; i++)
        memory[i] = pick_below(in, 4) ? star.memory[i] : HS_STAR_UNLIMITED;
    const hs_star_lu x = {.n = star.r,
                          .width = pick_below(in, 8),
                          .p = star.p,
                          .cycle_times = star.cycle_times,
                          .link_costs = star.link_costs,
                          .memory = memory,
                          .master_time = pick_below(in, 3) ? star_value(in, kind) : 0.0};
    hs_star_options options = draw_options(in, 11);
    if (options.method <= HS_STAR_BEST || options.method == HS_STAR_SEARCH)
        options.method = HS_STAR_ODDOML;
    const size_t most = (size_t)hs__max(x.n, 1);
    int64_t *width = new_output(in, sizeof *width);
    int64_t *own = new_output(in, most * sizeof *own);
    hs_star_decision *products = new_output(in, most * sizeof *products);
    hs_star_part *parts = new_output(in, most * (size_t)x.p * sizeof *parts);
    double *makespan = new_output(in, sizeof *makespan);
    hs_certificate *certificate = new_output(in, sizeof *certificate);
    const hs_status status = hs_star_lu_best(&x, &options, NULL, NULL, width, own, products, parts,
                                             makespan, certificate);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    if (status) return;
    HOLDS(*width >= 1 && *width <= x.n && (!x.width || *width == x.width));
    HOLDS(certificate->value == *makespan && certificate->bound <= *makespan);
    hs_star_lu_panel *panels = new_output(in, most * sizeof *panels);
    double *times = new_output(in, most * sizeof *times);
    const int64_t count = (x.n - 1) / *width;
    for (int64_t k = 0; k < count; k++) times[k] = products[k].makespan;
    HOLDS(hs_star_lu_panels(&x, *width, own, times, panels) == HS_OK);
    HOLDS(panels[count].end == *makespan);
    hs_star_lu widest = x;
    widest.width = x.n;
    double alone = 0.0;
    hs_certificate other;
    HOLDS(hs_star_lu_best(&widest, &options, NULL, NULL, width, own, products, parts, &alone,
                          &other) == HS_OK &&
          other.bound <= alone);
    if (!x.width && options.method >= HS_STAR_ORROML) HOLDS(*makespan <= alone);
    if (is_tame(kind)) HOLDS(is_near(fmin(other.bound, *makespan), certificate->bound, 1e-9));
}

static void bounds(bytes *in)
{
    hs_star star = star_of(in, taste_of(in));
    if (pick_below(in, 4) == 0) {
        star.r = draw_extreme(in);
        star.s = draw_extreme(in);
        star.t = draw_extreme(in);
    }
    double *found = new_output(in, HS_STAR_BOUNDS * sizeof *found);
    const int32_t layout = take_byte(in) > 250 ? pick_below(in, 12) - 4 : pick_below(in, 4);
    const hs_status status = hs_star_bounds(&star, layout, NULL, found);
    planner_status(in, status, 0);
    for (int k = 0; k < HS_STAR_BOUNDS && !status; k++) HOLDS(found[k] >= 0.0);
    for (int k = HS_STAR_TRAFFIC; k <= HS_STAR_TRANSFER && !status; k++)
        HOLDS(found[k - 1] <= found[k] * (1 + 1e-9) + 1e-300);
    if (!status) HOLDS(found[HS_STAR_TRAFFIC] <= found[HS_STAR_LOOMIS] * (1 + 1e-9) + 1e-300);
    HOLDS(hs_star_side(draw_extreme(in), layout) >= 0);
}

HARNESS(simulate, plan, cut, search, exact, best, lu, bounds)
