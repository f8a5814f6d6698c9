/* hs_star_best and hs_star_write: against the rules, the search and the exact method by themselves;
 * stacks, limits of time, refusals. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 5, CHUNKS = 1000, MESSAGES = 10000, EFFORT = 1000 };

static const char scope[] = "panels of full columns, one chunk at a time";

/* A star, a plan of it, and room for another one. */
typedef struct instance {
    hs_star star;
    double times[MAX], costs[MAX];
    int64_t memory[MAX];
    hs_star_decision decision;
    hs_star_part parts[MAX];
    hs_certificate certificate;
    hs_star_chunk chunks[CHUNKS], others[CHUNKS];
    int32_t served[MESSAGES];
    hs_star_message messages[MESSAGES], log[MESSAGES];
} instance;

/* Messages that are enough for a test of a method. */
static int64_t messages_of(int32_t method) { return method == HS_STAR_EXACT ? 100000 : EFFORT; }

static void draw(instance *x)
{
    static const int64_t sizes[] = {0, 2, 3, 4, 5, 6, 12, 21, 32, 60};
    const int32_t p = 1 + (int32_t)check_random(MAX);
    for (int32_t i = 0; i < p; i++) {
        x->times[i] = 1 + check_random(6);
        x->costs[i] = check_random(4);
        x->memory[i] = sizes[check_random(10)];
    }
    x->memory[check_random((unsigned)p)] = sizes[5 + check_random(5)];
    x->star = (hs_star){1 + check_random(6),
                        1 + check_random(8),
                        1 + check_random(5),
                        p,
                        x->times,
                        x->costs,
                        x->memory};
}

static hs_status plan(instance *x, const hs_star_options *options, const hs_effort *effort)
{
    return hs_star_best(&x->star, options, effort, NULL, &x->decision, x->parts, x->chunks,
                        x->served, &x->certificate);
}

/* Writes the plan, and checks it against its decision. */
static void check_plan(instance *x)
{
    const hs_star *star = &x->star;
    const hs_star_decision *found = &x->decision;
    const int exact = found->method == HS_STAR_EXACT;
    if (!CHECK(found->chunk_count <= CHUNKS && found->message_count <= MESSAGES)) return;
    if (!CHECK(hs_star_write(star, found, x->parts, x->served, NULL, x->chunks, x->messages) ==
               HS_OK))
        return;
    CHECK(x->messages[found->message_count - 1].end == found->makespan);
    CHECK(x->certificate.value == found->makespan && x->certificate.bound <= found->makespan);
    CHECK(strcmp(x->certificate.objective, "makespan") == 0);
    CHECK(strcmp(x->certificate.scope, exact ? scope : "") == 0);
    int64_t updates[MAX] = {0};
    int64_t area = 0;
    int64_t columns = 0;
    for (int64_t k = 0; k < found->chunk_count; k++) {
        const hs_star_chunk *chunk = &x->chunks[k];
        updates[chunk->worker] += chunk->height * chunk->width * star->t;
        area += chunk->height * chunk->width;
    }
    CHECK(area == star->r * star->s);
    for (int32_t i = 0; i < star->p; i++) {
        const hs_star_part *part = &x->parts[i];
        columns += part->columns;
        CHECK(part->updates == updates[i] && part->columns >= updates[i] / (star->r * star->t));
        CHECK(part->columns <= 1 + updates[i] / (star->r * star->t));
        CHECK(found->method == HS_STAR_SEARCH || part->share.columns == 0);
    }
    CHECK(columns == star->s);
    double bounds[HS_STAR_BOUNDS];
    int32_t layout = HS_STAR_DOUBLE;
    if (found->method == HS_STAR_BMM) layout = HS_STAR_TOLEDO;
    if (found->method == HS_STAR_REUSE) layout = HS_STAR_SINGLE;
    if (found->method == HS_STAR_OVERLAP) layout = HS_STAR_PAIR;
    CHECK(hs_star_bounds(star, layout, NULL, bounds) == HS_OK &&
          memcmp(bounds, found->bounds, sizeof bounds) == 0);
}

/* A rule: the plan of hs_star_plan. */
static void check_rule(instance *x, int32_t rule, int32_t eager, int32_t variant)
{
    const hs_star_options options = {.method = rule,
                                     .eager = eager,
                                     .single = variant >= 0,
                                     .variant = variant < 0 ? 0 : variant};
    hs_star_summary summary;
    int64_t sides[MAX], columns[MAX];
    hs_status expected = hs_star_plan(&x->star, rule, variant, eager, NULL, &summary, sides,
                                      columns, x->others, x->log);
    int64_t largest = 0;
    for (int32_t i = 0; i < x->star.p; i++)
        if (x->memory[i] > largest) largest = x->memory[i];
    CHECK((expected == HS_OK) == (largest >= hs_star_least_memory(rule)));
    CHECK(plan(x, &options, NULL) == expected);
    if (expected) return;
    const hs_star_decision *found = &x->decision;
    check_plan(x);
    CHECK(found->method == rule && found->makespan == summary.makespan && found->eager == eager &&
          found->variant == summary.variant && found->chunk_count == summary.chunk_count &&
          found->message_count == summary.message_count);
    CHECK(memcmp(found->variants, summary.variants, sizeof summary.variants) == 0);
    for (int64_t k = 0; k < found->message_count; k++)
        CHECK(x->messages[k].worker == x->log[k].worker && x->messages[k].end == x->log[k].end);
    for (int64_t k = 0; k < found->chunk_count; k++)
        CHECK(x->chunks[k].worker == x->others[k].worker && x->chunks[k].col == x->others[k].col &&
              x->chunks[k].ahead == x->others[k].ahead);
    for (int32_t i = 0; i < x->star.p; i++)
        CHECK(x->parts[i].side == sides[i] && x->parts[i].columns == columns[i]);
}

static void every_rule(void)
{
    for (int round = 0; round < CHECK_MANY(60, 20); round++) {
        static instance x;
        draw(&x);
        for (int32_t rule = HS_STAR_HOM; rule <= HS_STAR_OVERLAP; rule++)
            check_rule(&x, rule, round % 2, HS_STAR_ALL);
        check_rule(&x, HS_STAR_HET, round % 2, round % 8);
        check_rule(&x, HS_STAR_HET, round % 2, HS_STAR_SPREAD_C);
    }
}

/* The best method: the search, then the first rule of the least makespan. */
static void best_of_all(void)
{
    for (int round = 0; round < CHECK_MANY(40, 12); round++) {
        static instance x;
        draw(&x);
        const int32_t eager = round % 2;
        const hs_effort effort = {.seed = (uint64_t)round};
        hs_star_options options = {.method = HS_STAR_SEARCH, .eager = eager, .messages = EFFORT};
        int32_t by_rows, order, wanted = HS_STAR_SEARCH;
        hs_star_share shares[MAX];
        double least;
        CHECK(hs_star_search(&x.star, eager, effort.seed, EFFORT, NULL, &by_rows, shares, &order,
                             &least) == HS_OK);
        CHECK(plan(&x, &options, &effort) == HS_OK && x.decision.method == HS_STAR_SEARCH);
        check_plan(&x);
        CHECK(x.decision.makespan == least && x.decision.by_rows == by_rows &&
              x.decision.order == order);
        for (int32_t rule = HS_STAR_HOM; rule <= HS_STAR_OVERLAP; rule++) {
            hs_star_summary summary;
            int64_t sides[MAX], columns[MAX];
            if (hs_star_plan(&x.star, rule, HS_STAR_ALL, eager, NULL, &summary, sides, columns,
                             NULL, NULL) != HS_OK ||
                summary.makespan >= least)
                continue;
            least = summary.makespan;
            wanted = rule;
        }
        options.method = HS_STAR_BEST;
        CHECK(plan(&x, &options, &effort) == HS_OK);
        check_plan(&x);
        CHECK(x.decision.method == wanted && x.decision.makespan == least);
        CHECK(plan(&x, NULL, &(hs_effort){.timed = 1}) == HS_OK); /* at least one short round */
        check_plan(&x);
        CHECK(plan(&x, &options, &(hs_effort){.timed = 1, .seconds = 0.002}) == HS_OK);
        check_plan(&x);
    }
}

/* Rules that would take many seconds are left out: with so many workers, HS_STAR_HET and
 * HS_STAR_HOMI. */
static void left_out(void)
{
    enum { P = 1000 };
    static double times[P], costs[P];
    static int64_t memory[P];
    static hs_star_part parts[P];
    for (int32_t i = 0; i < P; i++) {
        times[i] = 1 + i % 3;
        memory[i] = 1000;
    }
    const hs_star star = {4, 4000, 4, P, times, costs, memory};
    hs_star_decision decision;
    hs_certificate certificate;
    const hs_star_options options = {.messages = 1};
    const double before = hs_clock();
    CHECK(hs_star_best(&star, &options, NULL, NULL, &decision, parts, NULL, NULL, &certificate) ==
          HS_OK);
    CHECK(decision.method != HS_STAR_HET && decision.method != HS_STAR_HOMI);
    CHECK(hs_clock() - before < 60.0);
}

/* The exact method: no plan by a rule in its scope is better, and it is the plan of hs_star_exact
 * unless a rule reaches it. */
static void exact(void)
{
    const hs_star_options options = {.method = HS_STAR_EXACT, .messages = 200000};
    int proven = 0;
    for (int round = 0; round < CHECK_MANY(100, 40); round++) {
        static instance x;
        draw(&x);
        if (x.star.p > 3 || x.star.r * x.star.s * x.star.t > 30) continue;
        int64_t most_chunks, most_messages, count, length;
        double least;
        const hs_status possible = hs_star_exact_most(&x.star, &most_chunks, &most_messages);
        if (possible) {
            CHECK(possible == HS_ERROR_INFEASIBLE && plan(&x, &options, NULL) == possible);
            continue;
        }
        CHECK(most_chunks <= CHUNKS && most_messages <= MESSAGES);
        if (hs_star_exact(&x.star, 200000, INFINITY, NULL, &count, x.others, &length, x.served,
                          &least) != HS_OK)
            continue;
        if (!CHECK(plan(&x, &options, NULL) == HS_OK)) continue;
        check_plan(&x);
        CHECK(x.decision.method == HS_STAR_EXACT && x.decision.chunk_count <= most_chunks &&
              x.decision.message_count <= most_messages);
        CHECK(fabs(x.decision.makespan - least) <= 1e-12 * least);
        proven++;
    }
    CHECK(proven > 3);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void stacks(void)
{
    enum { ROWS = 7 };
    for (int32_t method = HS_STAR_BEST; method <= HS_STAR_EXACT; method++) {
        static instance x;
        static double times[ROWS * 2], costs[ROWS * 2];
        static int64_t memory[ROWS * 2];
        const hs_star_options options = {.method = method, .messages = messages_of(method)};
        const hs_star stars = {2, 4, 2, 2, times, costs, memory};
        int32_t methods[ROWS], optimal[ROWS];
        double makespans[ROWS], bounds[ROWS];
        int64_t columns[ROWS * 2];
        for (int k = 0; k < ROWS * 2; k++) {
            times[k] = 1 + check_random(5);
            costs[k] = check_random(3);
            memory[k] = 6 + check_random(20);
        }
        CHECK(hs_star_batch(ROWS, &stars, &options, NULL, NULL, methods, makespans, bounds, optimal,
                            columns) == HS_OK);
        for (int row = 0; row < ROWS; row++) {
            const hs_star one = {2, 4, 2, 2, times + 2 * row, costs + 2 * row, memory + 2 * row};
            x.star = one;
            CHECK(plan(&x, &options, NULL) == HS_OK);
            CHECK(methods[row] == x.decision.method && makespans[row] == x.decision.makespan &&
                  bounds[row] == x.certificate.bound && optimal[row] == x.certificate.optimal);
            CHECK(columns[2 * row] == x.parts[0].columns &&
                  columns[2 * row + 1] == x.parts[1].columns);
        }
        /* the rows before an error are written */
        memory[8] = memory[9] = 2;
        for (int row = 0; row < ROWS; row++) methods[row] = -1;
        CHECK(hs_star_batch(ROWS, &stars, &options, NULL, NULL, methods, makespans, bounds, optimal,
                            columns) == HS_ERROR_INFEASIBLE);
        CHECK(methods[3] > 0 && methods[4] == -1);
        memory[8] = 12;
        CHECK_SCARCE(hs_star_batch(2, &stars, &options, NULL, NULL, methods, makespans, bounds,
                                   optimal, columns),
                     1);
        CHECK(hs_star_batch(0, &stars, &options, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
              HS_OK);
        CHECK(hs_star_batch(-1, &stars, &options, NULL, NULL, methods, makespans, bounds, optimal,
                            columns) == HS_ERROR_VALUE);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refused_options(void)
{
    static instance x;
    const hs_star_options bad[] = {
        {.method = -1},
        {.method = HS_STAR_EXACT + 1},
        {.eager = 2},
        {.eager = -1},
        {.method = HS_STAR_EXACT, .eager = 1},
        {.single = 1},
        {.method = HS_STAR_HET, .single = 2},
        {.method = HS_STAR_HET, .variant = 1},
        {.method = HS_STAR_HET, .single = 1, .variant = 16},
        {.method = HS_STAR_HET, .single = 1, .variant = HS_STAR_ALL + 16},
        {.messages = -1}};
    do draw(&x);
    while (x.star.r < 2 || x.star.s < 2);
    x.decision.method = -7;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const hs_status status = plan(&x, &bad[k], NULL);
        CHECK(status == HS_ERROR_VALUE && x.decision.method == -7);
    }
    const hs_effort wrong[] = {{.timed = 1, .seconds = -1.0}, {.timed = 2}};
    for (int k = 0; k < 2; k++) CHECK(plan(&x, NULL, &wrong[k]) == HS_ERROR_VALUE);
    const hs_star_options exactly = {.method = HS_STAR_EXACT};
    CHECK(hs_star_best(&x.star, &exactly, NULL, NULL, &x.decision, x.parts, NULL, x.served,
                       &x.certificate) == HS_ERROR_VALUE);
    CHECK(hs_star_best(&x.star, &exactly, NULL, NULL, &x.decision, x.parts, x.chunks, NULL,
                       &x.certificate) == HS_ERROR_VALUE);
    const int stop = 1;
    for (int32_t method = HS_STAR_BEST; method <= HS_STAR_SEARCH; method++) {
        const hs_star_options options = {.method = method};
        const double one[] = {1, 1};
        const int64_t memory[] = {50, 60};
        const hs_star star = {30, 300, 30, 2, one, one, memory};
        CHECK(hs_star_best(&star, &options, NULL, &stop, &x.decision, x.parts, NULL, NULL,
                           &x.certificate) == HS_ERROR_CANCELLED);
    }
    CHECK(x.decision.method == -7);
}

static void too_large(void)
{
    static instance x;
    const double one[] = {1};
    const int64_t little[] = {2};
    const int64_t five[] = {5};
    const int64_t much[] = {INT64_C(1) << 53};
    const hs_star none = {4, 8, 3, 1, one, one, little};
    const hs_star many = {INT32_MAX, 100, 4, 1, one, one, five};
    const hs_star vast = {INT32_MAX, INT32_MAX, 3, 1, one, one, much};
    for (int32_t method = HS_STAR_BEST; method <= HS_STAR_EXACT; method++) {
        const hs_star_options options = {.method = method};
        x.star = none;
        CHECK(plan(&x, &options, NULL) == HS_ERROR_INFEASIBLE);
        if (hs_star_least_memory(method) > 5) continue;
        x.star = many;
        CHECK(plan(&x, &options, NULL) == HS_ERROR_UNSUPPORTED);
    }
    x.star = vast;
    CHECK(plan(&x, NULL, NULL) == HS_ERROR_VALUE); /* 2^63 updates or more */
    x.star = many;
    int64_t chunks, messages;
    CHECK(hs_star_exact_most(&many, &chunks, &messages) == HS_OK &&
          chunks == INT64_C(100) * INT32_MAX && messages == 6 * chunks);
    CHECK(hs_star_exact_most(&none, &chunks, &messages) == HS_ERROR_INFEASIBLE);
    const hs_star endless = {INT32_MAX, INT32_MAX, INT32_MAX, 1, one, one, five};
    CHECK(hs_star_exact_most(&endless, &chunks, &messages) == HS_OK && messages == INT64_MAX);
    const double times[] = {2, 3};
    const double costs[] = {1, 2};
    const int64_t memory[] = {12, 21};
    const hs_star small = {4, 40, 3, 2, times, costs, memory};
    const hs_star_options few = {.method = HS_STAR_EXACT, .messages = 1};
    x.star = small;
    CHECK(plan(&x, &few, NULL) == HS_ERROR_UNSUPPORTED);
}

/* A decision that does not fit its star writes nothing beyond its arrays. */
static void refused_decisions(void)
{
    static instance x;
    const double times[] = {2, 3};
    const double costs[] = {1, 2};
    const int64_t memory[] = {12, 21};
    const hs_star star = {4, 8, 3, 2, times, costs, memory};
    x.star = star;
    for (int32_t method = HS_STAR_HOM; method <= HS_STAR_EXACT; method++) {
        const hs_star_options options = {.method = method, .messages = messages_of(method)};
        if (!CHECK(plan(&x, &options, NULL) == HS_OK)) continue;
        const hs_star_decision good = x.decision;
        for (int k = 0; k < 6; k++) {
            hs_star_decision bad = good;
            if (k == 0) bad.chunk_count--;
            if (k == 1) bad.message_count--;
            if (k == 2) bad.message_count++;
            if (k == 3) bad.method = HS_STAR_BEST;
            if (k == 4) bad.eager = 2;
            if (k == 5) bad.chunk_count = 0;
            CHECK(hs_star_write(&star, &bad, x.parts, x.served, NULL, x.chunks, x.messages) ==
                  HS_ERROR_VALUE);
            if (method == HS_STAR_EXACT) CHECK(plan(&x, &options, NULL) == HS_OK);
        }
        const int64_t side = x.parts[0].side;
        for (int k = 0; k < 2 && method <= HS_STAR_OVERLAP; k++) {
            x.parts[0].side = k ? side + 1 : -1;
            CHECK(hs_star_write(&star, &good, x.parts, x.served, NULL, x.chunks, x.messages) ==
                  HS_ERROR_VALUE);
        }
        x.parts[0].side = side;
        if (method == HS_STAR_EXACT)
            CHECK(hs_star_write(&star, &good, x.parts, NULL, NULL, x.chunks, x.messages) ==
                  HS_ERROR_VALUE);
        CHECK_SCARCE(hs_star_write(&star, &good, x.parts, x.served, NULL, x.chunks, x.messages), 1);
        x.decision.method = -7;
        CHECK_SCARCE(plan(&x, &options, NULL), x.decision.method == -7);
    }
}

int main(void)
{
    every_rule();
    best_of_all();
    left_out();
    exact();
    stacks();
    refused_options();
    too_large();
    refused_decisions();
    return check_result();
}
