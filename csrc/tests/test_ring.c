/* hs_ring_*: against all rings of up to six workers, with and without affine costs; no result is
 * better than the optimum and no bound above it; every refusal, failing allocations. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { SMALL = 6, MAX = 120 };

static int is_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

/* ---- all rings ---- */

typedef struct {
    const hs_ring *problem;
    int32_t ring[SMALL], size;
    /* best: least makespan; best_length: least sum of payments / cycle-time over rings of
     * `members` */
    double best, best_length;
    unsigned members;
} walk;

/* Returns the time of a message from i to j. */
static double message_time(const hs_ring *r, int32_t i, int32_t j)
{
    if (i == j) return 0.0;
    const double link = r->links ? r->links[i * r->p + j] : r->link;
    return r->volume * link + (r->latencies ? r->latencies[i * r->p + j] : r->latency);
}

/* Returns what member k of a ring pays. */
static double paid_by(const hs_ring *r, int32_t size, const int32_t *ring, int32_t k)
{
    const int32_t i = ring[k];
    return message_time(r, i, ring[(k + 1) % size]) +
           message_time(r, i, ring[(k + size - 1) % size]) + (r->overheads ? r->overheads[i] : 0.0);
}

/* Returns the makespan, infinite if the ring is not allowed. *length: the sum of what members pay,
 * over their cycle-times. */
static double makespan_of(const hs_ring *r, int32_t size, const int32_t *ring, double *length)
{
    double most = 0;
    double speed = 0;
    double sum = 0;
    for (int32_t k = 0; k < size; k++) {
        const int32_t i = ring[k];
        const double paid = paid_by(r, size, ring, k);
        most = fmax(most, paid);
        speed += 1 / r->cycle_times[i];
        sum += paid / r->cycle_times[i];
    }
    const double time = (r->work + sum) / speed;
    *length = sum;
    return time > most || size == 1 ? time : r->relays ? most : INFINITY;
}

static void all_rings(walk *w, unsigned left)
{
    if (w->size) {
        double length;
        double makespan = makespan_of(w->problem, w->size, w->ring, &length);
        unsigned members = 0;
        for (int32_t k = 0; k < w->size; k++) members |= 1u << w->ring[k];
        w->best = fmin(w->best, makespan);
        if (members == w->members) w->best_length = fmin(w->best_length, length);
    }
    for (int32_t i = 0; i < w->problem->p; i++) {
        if (!(left >> i & 1) || (w->size && i < w->ring[0])) continue;
        w->ring[w->size++] = i;
        all_rings(w, left & ~(1u << i));
        w->size--;
    }
}

static walk walk_members(const hs_ring *problem, unsigned members)
{
    walk w = {.problem = problem, .best = INFINITY, .best_length = INFINITY, .members = members};
    all_rings(&w, (1u << problem->p) - 1);
    return w;
}

/* ---- problems ---- */

static double times[MAX], links[MAX * MAX], latencies[MAX * MAX], overheads[MAX];

static hs_ring make_problem(int round, int32_t p)
{
    for (int32_t i = 0; i < p; i++)
        times[i] = round % 3 ? 1 + check_random(1000) / 100.0 : pow(2, check_random(7));
    for (int32_t i = 0; i < p; i++)
        for (int32_t j = 0; j < p; j++) {
            double cost = check_random(round % 4 ? 1000 : 4) / (round % 4 ? 300.0 : 1.0);
            /* messages to the second half of the workers are cheap */
            if (round % 5 == 0) cost = j >= (p + 1) / 2 ? cost / 30 : cost;
            links[i * p + j] = round % 2 && j < i ? links[j * p + i] : cost;
        }
    /* the diagonal is not read */
    for (int32_t i = 0; i < p; i++) links[i * p + i] = NAN;
    hs_ring r = {.p = p,
                 .cycle_times = times,
                 .links = links,
                 .work = pow(2, (int)check_random(8) - 2),
                 .volume = round % 7 ? 1 : 0,
                 .relays = round / 2 % 2};
    if (round % 11 == 3 || round % 11 == 4) {
        for (int32_t k = 0; k < p * p; k++) latencies[k] = check_random(100) / 50.0;
        r.latencies = latencies;
    }
    if (round % 11 == 4 || round % 11 == 5) {
        for (int32_t i = 0; i < p; i++)
            overheads[i] = check_random(8) * pow(2, check_random(5)) / 9;
        r.overheads = overheads;
    }
    if (round % 11 == 6) r.latency = 0.3;
    return r;
}

/* Checks that a ring is as promised: different workers, normalised rotation and direction, allowed,
 * with this makespan and with shares that attain it. */
static void check_ring(const hs_ring *r, int32_t size, const int32_t *ring, double makespan,
                       int line)
{
    double length, shares[MAX];
    double again = -1;
    double sum = 0;
    double last = 0;
    int seen[MAX] = {0};
    int fine = size >= 1 && size <= r->p;
    for (int32_t k = 0; fine && k < size; k++)
        fine = ring[k] >= 0 && ring[k] < r->p && !seen[ring[k]]++ && ring[k] >= ring[0];
    if (!check_that(fine && (size < 3 || ring[1] < ring[size - 1]), "a ring", __FILE__, line))
        return;
    check_that(is_near(makespan_of(r, size, ring, &length), makespan), "the makespan", __FILE__,
               line);
    if (!check_that(hs_ring_shares(r, size, ring, NULL, shares, &again) == HS_OK &&
                        is_near(again, makespan),
                    "shares", __FILE__, line))
        return;
    for (int32_t i = 0; i < r->p; i++) {
        sum += shares[i];
        check_that(seen[i] ? shares[i] >= 0 : shares[i] == 0, "a share", __FILE__, line);
    }
    for (int32_t k = 0; k < size; k++) {
        const int32_t i = ring[k];
        const double end = shares[i] * r->work * r->cycle_times[i] + paid_by(r, size, ring, k);
        last = fmax(last, end);
        check_that(r->relays || (shares[i] > 0 && fabs(end - makespan) <= 1e-10 * makespan),
                   "ends with the others", __FILE__, line);
    }
    check_that(is_near(sum, 1) && fabs(last - makespan) <= 1e-10 * makespan,
               "all of the work in that time", __FILE__, line);
}

static int all_of(int32_t p, const int32_t *ring)
{
    unsigned long long seen = 0;
    for (int32_t k = 0; k < p; k++) seen |= 1ull << ring[k];
    return p < 64 && seen == (1ull << p) - 1;
}

static void against_all(int rounds)
{
    int missed = 0;
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 1 + (int32_t)check_random(round % 10 ? 5 : SMALL);
        const hs_ring r = make_problem(round, p);
        const unsigned all = (1u << p) - 1;
        const walk w = walk_members(&r, all);
        int32_t ring[SMALL];
        int32_t size = -1;
        double makespan = -1;
        double bound = -1;
        double length;
        if (!CHECK(hs_ring_exact(&r, NULL, ring, &size, &makespan) == HS_OK)) return;
        check_ring(&r, size, ring, makespan, __LINE__);
        /* they differ only where a share is 0 up to rounding */
        if (!r.relays && !is_near(w.best, makespan)) {
            hs_ring other = r;
            other.relays = 1;
            CHECK(makespan <= w.best && makespan >= walk_members(&other, all).best * (1 - 1e-12));
        } else CHECK(is_near(makespan, w.best));
        CHECK(hs_ring_bound(&r, INFINITY, 30, NULL, &bound) == HS_OK && bound > 0 &&
              bound <= makespan);
        CHECK(hs_ring_bound(&r, makespan, 30, NULL, &bound) == HS_OK && bound > 0 &&
              bound <= makespan);
        const double best = makespan;
        for (int32_t first = -1; first < p; first++) {
            CHECK(hs_ring_greedy(&r, first, NULL, ring, &size, &makespan) == HS_OK &&
                  makespan >= best * (1 - 1e-12));
            check_ring(&r, size, ring, makespan, __LINE__);
        }
        const double before = makespan;
        uint64_t state = (uint64_t)round;
        CHECK(hs_ring_search(&r, 60, NULL, ring, &size, &state, &makespan) == HS_OK &&
              makespan >= best * (1 - 1e-12) && makespan <= before);
        check_ring(&r, size, ring, makespan, __LINE__);
        CHECK(hs_ring_shortest(&r, NULL, ring) == HS_OK);
        makespan_of(&r, p, ring, &length);
        CHECK(is_near(length, w.best_length));
        const double shortest = length;
        for (int32_t i = 0; i < p; i++) ring[i] = i;
        for (int32_t i = p - 1; i > 0; i--) {
            const int32_t j = round * 7919 % (i + 1);
            const int32_t kept = ring[i];
            ring[i] = ring[j];
            ring[j] = kept;
        }
        double any;
        makespan_of(&r, p, ring, &any);
        CHECK(hs_ring_tour(&r, 30, NULL, ring, &state) == HS_OK && all_of(p, ring));
        makespan_of(&r, p, ring, &length);
        CHECK((length >= shortest * (1 - 1e-12) && length <= any * (1 + 1e-12)));
        missed += !(length <= shortest * (1 + 1e-9));
        double lengths[1 << SMALL];
        CHECK(hs_ring_lengths(&r, NULL, lengths) == HS_OK && lengths[0] == 0);
        const unsigned some = 1 + check_random(all);
        CHECK(is_near(lengths[some], walk_members(&r, some).best_length / r.work));
        CHECK(is_near(lengths[all], w.best_length / r.work));
    }
    /* a few tours, of few workers, are not the shortest */
    CHECK(missed <= rounds / 100);
}

/* hs_ring_best by each method, among workers of which some cannot work, beside the best of all
 * rings of the others; certificates of what it finds; and the envelope of hs_ring_profile. */
static void planned(int rounds)
{
    static double all_times[SMALL], all_links[SMALL * SMALL], all_latencies[SMALL * SMALL],
        all_overheads[SMALL];
    for (int round = 0; round < rounds; round++) {
        const int32_t n = 1 + (int32_t)check_random(4);
        hs_ring r = make_problem(round, n);
        if (round % 3 == 0) r.links = NULL;
        r.link = check_random(4) / 2.0;
        const walk w = walk_members(&r, (1u << n) - 1);
        /* the same workers with others between them */
        const int32_t p = n + (int32_t)check_random(3);
        int32_t able[SMALL];
        hs_ring more = r;
        for (int32_t i = 0, k = 0; i < p; i++) {
            const int out = p - i > n - k && (k == n || check_random(2));
            all_times[i] = out ? INFINITY : times[k];
            if (!out) able[k++] = i;
        }
        for (int32_t e = 0; e < p * p; e++) all_links[e] = all_latencies[e] = NAN;
        for (int32_t a = 0; a < n; a++) {
            all_overheads[able[a]] = overheads[a];
            for (int32_t b = 0; b < n; b++) {
                all_links[able[a] * p + able[b]] = links[a * n + b];
                all_latencies[able[a] * p + able[b]] = latencies[a * n + b];
            }
        }
        more.p = p;
        more.cycle_times = all_times;
        if (r.links) more.links = all_links;
        if (r.latencies) more.latencies = all_latencies;
        if (r.overheads) more.overheads = all_overheads;
        for (int method = HS_RING_METHOD_BEST; method <= HS_RING_METHOD_ALL; method++) {
            const hs_effort effort = {.seed = 3, .timed = round % 50 == 0};
            int32_t ring[SMALL], inner[SMALL];
            int32_t size = -1;
            double shares[SMALL];
            hs_ring_method used;
            hs_certificate c;
            if (method == HS_RING_METHOD_SEARCH && round % 20) continue;
            const hs_status status = hs_ring_best(&more, (hs_ring_method)method, &effort, NULL,
                                                  ring, &size, shares, &used, &c);
            if (method == HS_RING_METHOD_ALL && status == HS_ERROR_INFEASIBLE) {
                CHECK(!r.relays);
                continue;
            }
            if (!CHECK(status == HS_OK)) return;
            const int exact = method <= HS_RING_METHOD_EXACT;
            CHECK(used == (exact ? HS_RING_METHOD_EXACT : (hs_ring_method)method));
            for (int32_t k = 0; k < size; k++)
                for (int32_t a = 0; a < n; a++)
                    if (able[a] == ring[k]) inner[k] = a;
            check_ring(&r, size, inner, c.value, __LINE__);
            CHECK(method != HS_RING_METHOD_ALL || size == n);
            CHECK(c.bound <= c.value && c.bound <= w.best * (1 + 1e-12));
            if (exact) {
                CHECK(c.optimal && c.bound == c.value && strcmp(c.scope, "all rings") == 0);
                CHECK(c.value <= w.best * (1 + 1e-12));
            } else
                CHECK(strcmp(c.scope, "rings of all workers") == 0 ? method == HS_RING_METHOD_ALL
                                                                   : c.scope[0] == '\0');
            hs_certificate again;
            CHECK(hs_ring_certificate(&more, size, ring, NULL, NULL, &again) == HS_OK &&
                  is_near(again.value, c.value) && again.bound <= w.best * (1 + 1e-12));
            CHECK(!exact || again.optimal);
            CHECK(hs_ring_certificate(&more, size, ring, shares, NULL, &again) == HS_OK &&
                  fabs(again.value - c.value) <= 1e-10 * c.value);
            if (size < 2 || r.relays) continue;
            /* all of the work for one member */
            double lone[SMALL] = {0};
            lone[ring[1]] = 1.0;
            const double value = r.work * more.cycle_times[ring[1]] + paid_by(&r, size, inner, 1);
            CHECK(hs_ring_certificate(&more, size, ring, lone, NULL, &again) == HS_OK &&
                  again.value >= value * (1 - 1e-12) && again.value >= c.value * (1 - 1e-12));
            lone[ring[1]] = 0.9;
            CHECK(hs_ring_certificate(&more, size, ring, lone, NULL, &again) == HS_ERROR_VALUE);
        }
        if (r.relays) continue;
        enum { ROOM = 8 };
        int32_t count = 0, sizes[ROOM], rings[ROOM * SMALL], proven[ROOM];
        double works[ROOM], lengths[ROOM], least[SMALL];
        if (!CHECK(hs_ring_profile(&more, ROOM, NULL, &count, works, sizes, rings, lengths, proven,
                                   least) == HS_OK &&
                   count >= 1 && count <= ROOM && works[0] == 0.0))
            return;
        for (int32_t k = 0; k < count; k++) {
            const double end = k + 1 < count ? works[k + 1] : 2 * works[k] + 1;
            double speed = 0;
            for (int32_t m = 0; m < sizes[k]; m++) speed += 1 / all_times[rings[k * p + m]];
            CHECK(k == 0 || works[k] > works[k - 1]);
            for (int at = 1; at <= 3; at++) {
                hs_ring here = r;
                here.work = works[k] + (end - works[k]) * at / 4;
                if (!(here.work > 0x1p-200)) continue;
                const double best = walk_members(&here, (1u << n) - 1).best;
                const double time = (here.work + lengths[k]) / speed;
                CHECK(proven[k] ? fabs(time - best) <= 1e-9 * best : time <= best * (1 + 1e-9));
            }
        }
        CHECK(n == p || least[n] == INFINITY);
        for (unsigned set = 1; set < 1u << n; set++)
            CHECK(least[__builtin_popcount(set) - 1] <=
                  walk_members(&r, set).best_length * (1 + 1e-12));
        int32_t needed = 0;
        CHECK(hs_ring_profile(&more, 0, NULL, &needed, NULL, NULL, NULL, NULL, NULL, least) ==
                  HS_OK &&
              needed == count);
    }
}

/* More workers than the other functions take, with equal links; overheads that pay off for some. */
static void many_alike(void)
{
    enum { P = 20000 };
    static double own[P], fixed[P], shares[P];
    static int32_t ring[P];
    for (int32_t i = 0; i < P; i++) {
        own[i] = 1 + i % 7;
        fixed[i] = i % 10;
    }
    hs_ring r = {.p = P, .cycle_times = own, .work = 1e6, .volume = 1, .link = 0.25};
    int32_t size;
    hs_certificate c;
    double speed = 0;
    for (int32_t i = 0; i < P; i++) speed += 1 / own[i];
    CHECK(hs_ring_best(&r, HS_RING_METHOD_BEST, NULL, NULL, ring, &size, shares, NULL, &c) ==
              HS_OK &&
          size == P && c.optimal && is_near(c.value, 1e6 / speed + 0.5));
    CHECK(hs_ring_best(&r, HS_RING_METHOD_GREEDY, NULL, NULL, ring, &size, shares, NULL, &c) ==
          HS_ERROR_UNSUPPORTED);
    CHECK(hs_ring_certificate(&r, P, ring, shares, NULL, &c) == HS_OK && c.optimal);
    CHECK(hs_ring_certificate(&r, P, ring, NULL, NULL, &c) == HS_ERROR_UNSUPPORTED);
    r.overheads = fixed;
    r.work = 1e4;
    CHECK(hs_ring_best(&r, HS_RING_METHOD_EXACT, NULL, NULL, ring, &size, shares, NULL, &c) ==
              HS_OK &&
          size > 1 && size < P && c.optimal);
    const double limit = c.value - 0.5;
    for (int32_t i = 0; i < P; i++) CHECK((shares[i] > 0) == (fixed[i] < limit));
    /* alone, a worker pays its overhead */
    const double two[] = {1, 1};
    const double costs[] = {5, 1};
    const hs_ring few = {
        .p = 2, .cycle_times = two, .work = 4, .volume = 1, .link = 10, .overheads = costs};
    CHECK(hs_ring_best(&few, HS_RING_METHOD_BEST, NULL, NULL, ring, &size, shares, NULL, &c) ==
              HS_OK &&
          size == 1 && ring[0] == 1 && c.value == 5);
}

/* A search goes on as long as it may; a method for few workers falls back or refuses. */
static void efforts(void)
{
    hs_ring r = make_problem(1, 30);
    r.work = 100;
    r.relays = 0;
    int32_t ring[30], size;
    double shares[30];
    hs_ring_method used;
    hs_certificate c;
    const hs_effort brief = {.timed = 1, .seconds = 0.05};
    const double start = hs_clock();
    CHECK(hs_ring_best(&r, HS_RING_METHOD_BEST, &brief, NULL, ring, &size, shares, &used, &c) ==
              HS_OK &&
          used == HS_RING_METHOD_SEARCH);
    CHECK(hs_ring_best(&r, HS_RING_METHOD_ALL, &brief, NULL, ring, &size, shares, &used, &c) ==
              HS_OK &&
          size == 30 && c.scope[0] == '\0');
    CHECK(hs_clock() - start >= 0.1);
    CHECK(hs_ring_best(&r, HS_RING_METHOD_EXACT, NULL, NULL, ring, &size, shares, &used, &c) ==
          HS_ERROR_UNSUPPORTED);
    CHECK(hs_ring_profile(&r, 0, NULL, &size, NULL, NULL, NULL, NULL, NULL, shares) ==
          HS_ERROR_UNSUPPORTED);
    const hs_effort bad[] = {
        {.timed = 2}, {.timed = 1, .seconds = -1}, {.timed = 1, .seconds = NAN}};
    for (int k = 0; k < 3; k++)
        CHECK(hs_ring_best(&r, HS_RING_METHOD_BEST, &bad[k], NULL, ring, &size, shares, &used,
                           &c) == HS_ERROR_VALUE);
    CHECK(hs_ring_best(&r, (hs_ring_method)-1, NULL, NULL, ring, &size, shares, &used, &c) ==
              HS_ERROR_VALUE &&
          hs_ring_best(&r, (hs_ring_method)6, NULL, NULL, ring, &size, shares, &used, &c) ==
              HS_ERROR_VALUE);
    for (int32_t i = 0; i < 30; i++) times[i] = INFINITY;
    CHECK(hs_ring_best(&r, HS_RING_METHOD_BEST, NULL, NULL, ring, &size, shares, &used, &c) ==
          HS_ERROR_VALUE);
    times[7] = 2;
    CHECK(hs_ring_best(&r, HS_RING_METHOD_BEST, NULL, NULL, ring, &size, shares, &used, &c) ==
              HS_OK &&
          size == 1 && ring[0] == 7 && c.value == 200 && shares[7] == 1);
}

/* Computes the greedy heuristic, exactly as it is defined. */
static double greedy_makespan(const hs_ring *r, int32_t first)
{
    int32_t ring[MAX] = {first};
    int32_t size = 1;
    double length;
    double best = makespan_of(r, 1, ring, &length);
    while (size < r->p) {
        double least = INFINITY;
        int32_t who = -1;
        int32_t where = -1;
        for (int32_t u = 0; u < r->p; u++)
            for (int32_t k = 0; k < size; k++) {
                int used = 0;
                for (int32_t j = 0; j < size; j++) used |= ring[j] == u;
                if (used) continue;
                const int32_t ends[3] = {ring[k], u, ring[(k + 1) % size]};
                double cost = 0;
                for (int e = 0; e < 2; e++)
                    cost += message_time(r, ends[e], ends[e + 1]) / r->cycle_times[ends[e]] +
                            message_time(r, ends[e + 1], ends[e]) / r->cycle_times[ends[e + 1]];
                cost -= message_time(r, ends[0], ends[2]) / r->cycle_times[ends[0]] +
                        message_time(r, ends[2], ends[0]) / r->cycle_times[ends[2]];
                if (r->overheads) cost += r->overheads[u] / r->cycle_times[u];
                if (cost < least) {
                    least = cost;
                    who = u;
                    where = k;
                }
            }
        memmove(ring + where + 2, ring + where + 1, (size_t)(size++ - where - 1) * sizeof *ring);
        ring[where + 1] = who;
        best = fmin(best, makespan_of(r, size, ring, &length));
    }
    return best;
}

static void greedy(void)
{
    for (int round = 1; round < 60; round += 3) {
        const int32_t p = 3 + (int32_t)check_random(20);
        hs_ring r = make_problem(round % 4 ? round : round + 1, p);
        r.work = 30;
        r.volume = 1;
        int32_t ring[MAX], size;
        double makespan;
        double best = INFINITY;
        for (int32_t first = 0; first < p; first++) {
            CHECK(hs_ring_greedy(&r, first, NULL, ring, &size, &makespan) == HS_OK &&
                  is_near(makespan, greedy_makespan(&r, first)));
            best = fmin(best, makespan);
        }
        CHECK(hs_ring_greedy(&r, -1, NULL, ring, &size, &makespan) == HS_OK && makespan == best);
    }
}

/* Returns exp of approximately a normal variable. */
static double random_factor(double width)
{
    double sum = -2;
    for (int k = 0; k < 4; k++) sum += check_random(10000) / 10000.0;
    return exp(width * sum * 1.7);
}

/* Messages matter, and only some of the workers take part: a search that is too short misses the
 * best ring, the exact method does not. */
static void check_hard(int rounds)
{
    int close = 0;
    int missed = 0;
    for (int round = 0; round < rounds; round++) {
        const int32_t p = 14;
        hs_ring r = make_problem(1, p);
        for (int32_t i = 0; i < p; i++) times[i] = random_factor(1.5);
        for (int32_t i = 0; i < p * p; i++) links[i] = random_factor(1.5);
        /* seldom worth it, so that the best ring has another lowest index */
        times[0] = 30;
        r.work = exp(check_random(100) / 30.0);
        r.volume = 1;
        r.relays = 0;
        int32_t ring[MAX] = {0};
        int32_t size = 1;
        uint64_t state = 1;
        double exact, brief, found, bound;
        CHECK(hs_ring_search(&r, 20, NULL, ring, &size, &state, &brief) == HS_OK);
        CHECK(hs_ring_search(&r, 300, NULL, ring, &size, &state, &found) == HS_OK);
        CHECK(hs_ring_bound(&r, found, 200, NULL, &bound) == HS_OK);
        CHECK(hs_ring_exact(&r, NULL, ring, &size, &exact) == HS_OK);
        check_ring(&r, size, ring, exact, __LINE__);
        CHECK(exact <= found * (1 + 1e-12) && bound <= exact);
        close += found <= 1.002 * exact;
        missed += brief > 1.002 * exact;
    }
    CHECK(close >= rounds * 0.98 && missed >= rounds * 0.05);
}

static void larger(void)
{
    for (int round = 0; round < 12; round++) {
        const int32_t p = round % 2 ? 14 : MAX;
        hs_ring r = make_problem(round + 1, p);
        r.work = 200;
        r.volume = 1;
        int32_t ring[MAX], again[MAX], size, other;
        int32_t exact_size = 0;
        double found, second, greedy, bound;
        double exact = 0;
        uint64_t state = 7;
        uint64_t same = 7;
        CHECK(hs_ring_greedy(&r, 0, NULL, ring, &size, &greedy) == HS_OK);
        check_ring(&r, size, ring, greedy, __LINE__);
        memcpy(again, ring, sizeof ring);
        other = size;
        CHECK(hs_ring_search(&r, 100, NULL, ring, &size, &state, &found) == HS_OK &&
              found <= greedy);
        check_ring(&r, size, ring, found, __LINE__);
        CHECK(hs_ring_search(&r, 100, NULL, again, &other, &same, &second) == HS_OK &&
              second == found && same == state);
        CHECK(size == other && memcmp(ring, again, (size_t)size * sizeof *ring) == 0);
        CHECK(hs_ring_bound(&r, found, 100, NULL, &bound) == HS_OK && bound <= found &&
              bound > 0.99 * found);
        if (p == MAX) continue;
        CHECK(hs_ring_exact(&r, NULL, again, &exact_size, &exact) == HS_OK &&
              exact <= found * (1 + 1e-12) && bound <= exact);
        check_ring(&r, exact_size, again, exact, __LINE__);
        CHECK(found <= exact * 1.002);
    }
}

/* Workers on a circle, given in a random order. The shortest ring goes around it; a tour reaches it
 * by turning, as a whole or in parts. */
static void toured(void)
{
    for (int32_t p = 4; p <= 40; p += p < 12 ? 1 : 7) {
        hs_ring r = make_problem(1, p);
        int32_t at[40], ring[40];
        for (int32_t i = 0; i < p; i++) at[i] = ring[i] = i;
        for (int32_t i = p - 1; i > 0; i--) {
            const int32_t j = (int32_t)check_random((unsigned)i + 1);
            const int32_t kept = at[i];
            at[i] = at[j];
            at[j] = kept;
        }
        r.work = 1000;
        r.volume = 1;
        for (int32_t i = 0; i < p; i++) times[i] = 1.0;
        for (int32_t i = 0; i < p; i++)
            for (int32_t j = 0; j < p; j++)
                links[i * p + j] = fabs(sin(3.14159265358979 * (at[i] - at[j]) / p));
        uint64_t state = 1;
        double length;
        CHECK(hs_ring_tour(&r, 200, NULL, ring, &state) == HS_OK && all_of(p, ring));
        makespan_of(&r, p, ring, &length);
        CHECK(is_near(length, 2 * p * sin(3.14159265358979 / p)));
        CHECK(ring[0] == 0 && ring[1] < ring[p - 1] && state != 1 - (p < 8));
        /* a missing link in the first ring, which the shortest one does not have */
        const int32_t apart = abs(at[0] - at[1]);
        if (apart == 1 || apart == p - 1) continue;
        links[1] = 1e15;
        links[p] = 1e15;
        for (int32_t i = 0; i < p; i++) ring[i] = i;
        state = 1;
        CHECK(hs_ring_tour(&r, 200, NULL, ring, &state) == HS_OK && all_of(p, ring));
        makespan_of(&r, p, ring, &length);
        CHECK(is_near(length, 2 * p * sin(3.14159265358979 / p)));
    }
}

/* Too many workers for the exact methods, unless the messages alone rule out enough of them. */
static void reduced(void)
{
    hs_ring r = make_problem(1, 40);
    r.work = 50;
    r.volume = 1;
    r.relays = 0;
    int32_t ring[MAX];
    int32_t size = -7;
    double makespan = -7;
    for (int32_t i = 0; i < 40; i++)
        for (int32_t j = 0; j < 40; j++) links[i * 40 + j] = 0.01 + 1e-4 * check_random(100);
    CHECK(hs_ring_exact(&r, NULL, ring, &size, &makespan) == HS_ERROR_UNSUPPORTED && size == -7 &&
          makespan == -7);
    CHECK(hs_ring_shortest(&r, NULL, ring) == HS_ERROR_UNSUPPORTED &&
          hs_ring_lengths(&r, NULL, &(double){0}) == HS_ERROR_UNSUPPORTED);
    for (int32_t i = 12; i < 40; i++)
        for (int32_t j = 0; j < 40; j++) links[i * 40 + j] = 1e6;
    CHECK(hs_ring_exact(&r, NULL, ring, &size, &makespan) == HS_OK);
    check_ring(&r, size, ring, makespan, __LINE__);
    for (int32_t k = 0; k < size; k++) CHECK(ring[k] < 12);
    CHECK(size > 2);
}

static void check_refused(hs_ring r, int line)
{
    int32_t ring[4] = {0, -7, -7, -7};
    int32_t size = 1;
    uint64_t state = 9;
    double shares[4] = {-7, -7, -7, -7};
    double makespan = -7;
    double lengths[4] = {-7, -7, -7, -7};
    check_that(hs_ring_exact(&r, NULL, ring, &size, &makespan) == HS_ERROR_VALUE, "exact", __FILE__,
               line);
    check_that(hs_ring_greedy(&r, 0, NULL, ring, &size, &makespan) == HS_ERROR_VALUE, "greedy",
               __FILE__, line);
    check_that(hs_ring_search(&r, 1, NULL, ring, &size, &state, &makespan) == HS_ERROR_VALUE,
               "search", __FILE__, line);
    check_that(hs_ring_shortest(&r, NULL, ring) == HS_ERROR_VALUE, "shortest", __FILE__, line);
    check_that(hs_ring_tour(&r, 1, NULL, ring, &state) == HS_ERROR_VALUE, "tour", __FILE__, line);
    check_that(hs_ring_lengths(&r, NULL, lengths) == HS_ERROR_VALUE, "lengths", __FILE__, line);
    check_that(hs_ring_shares(&r, 1, ring, NULL, shares, &makespan) == HS_ERROR_VALUE, "shares",
               __FILE__, line);
    check_that(hs_ring_bound(&r, 1, 1, NULL, &makespan) == HS_ERROR_VALUE, "bound", __FILE__, line);
    hs_certificate c = {.value = -7};
    /* these two take more workers, and workers that cannot work */
    if (r.p <= HS_RING_MOST && !(r.cycle_times[1] == INFINITY)) {
        check_that(hs_ring_best(&r, HS_RING_METHOD_SEARCH, NULL, NULL, ring, &size, shares, NULL,
                                &c) == HS_ERROR_VALUE,
                   "best", __FILE__, line);
        check_that(hs_ring_certificate(&r, 1, ring, NULL, NULL, &c) == HS_ERROR_VALUE &&
                       c.value == -7,
                   "certificate", __FILE__, line);
    }
    check_that(ring[0] == 0 && ring[1] == -7 && size == 1 && makespan == -7 && shares[0] == -7 &&
                   lengths[0] == -7 && state == 9,
               "untouched", __FILE__, line);
}

static void refusals(void)
{
    const double t[] = {1, 2};
    const double c[] = {0, 1, 1, 0};
    const hs_ring good = {.p = 2, .cycle_times = t, .links = c, .work = 1, .volume = 1};
    hs_ring r = good;
    r.p = 0;
    check_refused(r, __LINE__);
    r.p = -1;
    check_refused(r, __LINE__);
    r.p = (1 << 14) + 1;
    check_refused(r, __LINE__);
    const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-70, 1e70};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        r = good;
        r.cycle_times = (double[]){1, bad[k]};
        check_refused(r, __LINE__);
        r = good;
        r.work = bad[k];
        check_refused(r, __LINE__);
        if (bad[k] == 0) continue;
        r = good;
        r.links = (double[]){0, 1, bad[k], 0};
        check_refused(r, __LINE__);
        r = good;
        r.volume = bad[k];
        check_refused(r, __LINE__);
        r = good;
        r.latencies = (double[]){0, 1, bad[k], 0};
        r.volume = 0;
        check_refused(r, __LINE__);
        r = good;
        r.overheads = (double[]){1, bad[k]};
        check_refused(r, __LINE__);
        r = good;
        r.links = NULL;
        r.link = bad[k];
        check_refused(r, __LINE__);
        r.link = 0;
        r.latency = bad[k];
        check_refused(r, __LINE__);
    }
    int32_t ring[2] = {0, 0};
    int32_t size = 2;
    uint64_t state = 0;
    double shares[2];
    double makespan = -7;
    /* the same worker twice */
    CHECK(hs_ring_shares(&good, 2, ring, NULL, shares, &makespan) == HS_ERROR_VALUE);
    CHECK(hs_ring_search(&good, 1, NULL, ring, &size, &state, &makespan) == HS_ERROR_VALUE);
    CHECK(hs_ring_shares(&good, 0, ring, NULL, shares, &makespan) == HS_ERROR_VALUE &&
          hs_ring_shares(&good, 3, ring, NULL, shares, &makespan) == HS_ERROR_VALUE);
    ring[1] = 2;
    CHECK(hs_ring_shares(&good, 2, ring, NULL, shares, &makespan) == HS_ERROR_VALUE);
    ring[1] = -1;
    CHECK(hs_ring_shares(&good, 2, ring, NULL, shares, &makespan) == HS_ERROR_VALUE);
    CHECK(hs_ring_greedy(&good, 2, NULL, ring, &size, &makespan) == HS_ERROR_VALUE &&
          hs_ring_greedy(&good, -2, NULL, ring, &size, &makespan) == HS_ERROR_VALUE);
    size = 1;
    ring[0] = 0;
    CHECK(hs_ring_search(&good, -1, NULL, ring, &size, &state, &makespan) == HS_ERROR_VALUE);
    CHECK(hs_ring_bound(&good, 0, 1, NULL, &makespan) == HS_ERROR_VALUE &&
          hs_ring_bound(&good, NAN, 1, NULL, &makespan) == HS_ERROR_VALUE);
    CHECK(hs_ring_bound(&good, 1, -1, NULL, &makespan) == HS_ERROR_VALUE);
    /* P1 would have to pay more than the step lasts */
    const double dear[] = {0, 0.1, 50, 0};
    const hs_ring tight = {
        .p = 2, .cycle_times = (double[]){1, 100}, .links = dear, .work = 1, .volume = 1};
    CHECK(hs_ring_shares(&tight, 2, (int32_t[]){0, 1}, NULL, shares, &makespan) ==
              HS_ERROR_INFEASIBLE &&
          makespan == -7);
    hs_ring loose = tight;
    loose.relays = 1;
    CHECK(hs_ring_shares(&loose, 2, (int32_t[]){0, 1}, NULL, shares, &makespan) == HS_OK &&
          makespan == 100 && shares[0] == 1 && shares[1] == 0);
}

/* Numbers from one end of the range to the other: nothing overflows. */
static void extremes(void)
{
    const double ends[] = {0x1p-200, 1, 0x1p200};
    for (int round = 0; round < 300; round++) {
        const int32_t p = 1 + (int32_t)check_random(5);
        hs_ring r = make_problem(round, p);
        for (int32_t i = 0; i < p; i++) times[i] = ends[check_random(3)];
        for (int32_t k = 0; k < p * p; k++) links[k] = check_random(4) ? ends[check_random(3)] : 0;
        r.work = ends[check_random(3)];
        r.volume = check_random(4) ? ends[check_random(3)] : 0;
        r.latency = 0;
        r.latencies = NULL;
        for (int32_t i = 0; i < p; i++) overheads[i] = check_random(2) ? ends[check_random(3)] : 0;
        int32_t ring[SMALL], size;
        uint64_t state = 0;
        double makespan, best, bound, shares[SMALL];
        CHECK(hs_ring_exact(&r, NULL, ring, &size, &best) == HS_OK && best > 0 && best < INFINITY);
        CHECK(hs_ring_shares(&r, size, ring, NULL, shares, &makespan) == HS_OK &&
              is_near(makespan, best));
        CHECK(hs_ring_greedy(&r, -1, NULL, ring, &size, &makespan) == HS_OK &&
              makespan >= best * (1 - 1e-12));
        CHECK(hs_ring_search(&r, 20, NULL, ring, &size, &state, &makespan) == HS_OK &&
              makespan >= best * (1 - 1e-12));
        CHECK(hs_ring_bound(&r, makespan, 20, NULL, &bound) == HS_OK && bound <= best && bound > 0);
    }
}

/* Messages so large that the work vanishes beside them in double precision. The shares still follow
 * from the differences between the members. */
static void swamped(void)
{
    const double own[] = {1, 1, 2};
    const double even[9] = {0, 1, 1, 1, 0, 1, 1, 1, 0};
    const double uneven[9] = {0, 1, 1, 2, 0, 2, 1, 1, 0};
    double shares[3];
    double makespan = -1;
    hs_ring r = {
        .p = 3, .cycle_times = own, .links = even, .work = 0x1p-60, .volume = 1, .relays = 1};
    CHECK(hs_ring_shares(&r, 3, (int32_t[]){0, 1, 2}, NULL, shares, &makespan) == HS_OK &&
          is_near(makespan, 2));
    CHECK(is_near(shares[0], 0.4) && is_near(shares[1], 0.4) && is_near(shares[2], 0.2));
    CHECK(hs_ring_shares(&r, 2, (int32_t[]){0, 2}, NULL, shares, &makespan) == HS_OK &&
          is_near(shares[0], 2.0 / 3) && shares[1] == 0 && is_near(shares[2], 1.0 / 3));
    /* the second member pays more, so it gets no share */
    r.links = uneven;
    CHECK(hs_ring_shares(&r, 3, (int32_t[]){0, 1, 2}, NULL, shares, &makespan) == HS_OK &&
          is_near(makespan, 4));
    CHECK(is_near(shares[0], 2.0 / 3) && shares[1] == 0 && is_near(shares[2], 1.0 / 3));
    /* the fast member's work vanishes beside its messages, but the slow one would take longer */
    const double far[] = {0x1p156, 0x1p78};
    const double to[] = {0, 0x1p-79, 0x1p-26, 0};
    r = (hs_ring){
        .p = 2, .cycle_times = far, .links = to, .work = 0x1p22, .volume = 0x1p188, .relays = 1};
    CHECK(hs_ring_shares(&r, 2, (int32_t[]){0, 1}, NULL, shares, &makespan) == HS_OK);
    check_ring(&r, 2, (int32_t[]){0, 1}, makespan, __LINE__);
    CHECK(shares[1] > 0.9);
}

static void cancelled(void)
{
    const int stop = 1;
    hs_ring r = make_problem(1, 16);
    r.work = 1e6;
    r.volume = 1;
    int32_t ring[16] = {3};
    int32_t size = 1;
    uint64_t state = 5;
    double makespan = -7;
    double *lengths = malloc((sizeof *lengths) << 16);
    hs_certificate c = {.value = -7};
    for (int method = HS_RING_METHOD_BEST; method <= HS_RING_METHOD_ALL; method++)
        CHECK(hs_ring_best(&r, (hs_ring_method)method, NULL, &stop, ring, &size, lengths, NULL,
                           &c) == HS_ERROR_CANCELLED);
    CHECK(hs_ring_certificate(&r, 1, ring, NULL, &stop, &c) == HS_ERROR_CANCELLED);
    CHECK(hs_ring_profile(&r, 0, &stop, &size, NULL, NULL, NULL, NULL, NULL, lengths) ==
          HS_ERROR_CANCELLED);
    CHECK(ring[0] == 3 && size == 1 && c.value == -7);
    CHECK(hs_ring_exact(&r, &stop, ring, &size, &makespan) == HS_ERROR_CANCELLED);
    CHECK(hs_ring_greedy(&r, -1, &stop, ring, &size, &makespan) == HS_ERROR_CANCELLED);
    CHECK(hs_ring_search(&r, 10, &stop, ring, &size, &state, &makespan) == HS_ERROR_CANCELLED);
    CHECK(hs_ring_bound(&r, 1, 10, &stop, &makespan) == HS_ERROR_CANCELLED);
    CHECK(hs_ring_shortest(&r, &stop, ring) == HS_ERROR_CANCELLED);
    CHECK(lengths && hs_ring_lengths(&r, &stop, lengths) == HS_ERROR_CANCELLED);
    int32_t tour[16];
    for (int32_t i = 0; i < 16; i++) tour[i] = 15 - i;
    CHECK(hs_ring_tour(&r, 10, &stop, tour, &state) == HS_ERROR_CANCELLED && tour[0] == 15 &&
          tour[15] == 0);
    CHECK(ring[0] == 3 && size == 1 && makespan == -7 && state == 5);
    free(lengths);
}

static void no_memory(void)
{
    hs_ring r = make_problem(4, 5);
    int32_t ring[5] = {2};
    int32_t size = 1;
    uint64_t state = 5;
    double makespan = -7;
    double shares[5] = {-7};
    double lengths[32] = {-7};
    CHECK_SCARCE(hs_ring_exact(&r, NULL, ring, &size, &makespan),
                 ring[0] == 2 && size == 1 && makespan == -7);
    ring[0] = 2;
    size = 1;
    makespan = -7;
    CHECK_SCARCE(hs_ring_greedy(&r, -1, NULL, ring, &size, &makespan),
                 ring[0] == 2 && size == 1 && makespan == -7);
    ring[0] = 2;
    size = 1;
    makespan = -7;
    CHECK_SCARCE(hs_ring_search(&r, 5, NULL, ring, &size, &state, &makespan),
                 ring[0] == 2 && size == 1 && state == 5 && makespan == -7);
    ring[0] = 2;
    makespan = -7;
    CHECK_SCARCE(hs_ring_shares(&r, 1, ring, NULL, shares, &makespan),
                 shares[0] == -7 && makespan == -7);
    makespan = -7;
    CHECK_SCARCE(hs_ring_bound(&r, 1, 5, NULL, &makespan), makespan == -7);
    CHECK_SCARCE(hs_ring_shortest(&r, NULL, ring), ring[0] == 2);
    lengths[0] = -7;
    CHECK_SCARCE(hs_ring_lengths(&r, NULL, lengths), lengths[0] == -7);
    hs_certificate c = {.value = -7};
    double works[9];
    int32_t sizes[9], rings[45], proven[9];
    /* all of them, the four that can work, and workers with equal links */
    const double all_times[] = {1, 2, INFINITY, 3, 4};
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 1) r.cycle_times = all_times;
        if (kind == 2) r.links = r.latencies = NULL;
        r.relays = 1;
        for (int method = HS_RING_METHOD_BEST; method <= HS_RING_METHOD_ALL; method++) {
            const hs_effort once = {.timed = 1};
            ring[0] = 2;
            size = 1;
            shares[0] = c.value = -7;
            CHECK_SCARCE(hs_ring_best(&r, (hs_ring_method)method, &once, NULL, ring, &size, shares,
                                      NULL, &c),
                         ring[0] == 2 && size == 1 && shares[0] == -7 && c.value == -7);
        }
        for (int given = 0; given < 2; given++) {
            c.value = -7;
            CHECK_SCARCE(hs_ring_certificate(&r, size, ring, given ? shares : NULL, NULL, &c),
                         c.value == -7);
        }
        r.relays = 0;
        size = -7;
        CHECK_SCARCE(
            hs_ring_profile(&r, 9, NULL, &size, works, sizes, rings, lengths, proven, shares),
            size == -7);
    }
    int32_t tour[5] = {4, 1, 0, 2, 3};
    r = make_problem(2, 5);
    state = 5;
    CHECK_SCARCE(hs_ring_tour(&r, 5, NULL, tour, &state),
                 tour[0] == 4 && tour[1] == 1 && state == 5);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    against_all(rounds);
    planned(rounds);
    many_alike();
    efforts();
    greedy();
    toured();
    check_hard(CHECK_MANY(200, 40));
    larger();
    reduced();
    refusals();
    extremes();
    swamped();
    cancelled();
    no_memory();
    return check_result();
}
