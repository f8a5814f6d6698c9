/* hs_ring_shared_best and hs_ring_bandwidths: rings with messages that share the links of a network.
 * The bandwidths of a given ring are a convex problem (share.c); rings are enumerated, or searched by
 * insertions, removals, exchanges and reversals. Before a ring is solved, a lower bound by the
 * prices of the best ring's links must be below the best ring's time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/effort.h"
#include "core/random.h"
#include "core/sort.h"
#include "core/status.h"
#include "ring/shared.h"

/* A ring counts as better only if its time is below TIE times the best time. In a symmetric network
 * thousands of rings are equal up to rounding, and none of them is worth another search. */
static const double TIE = 1.0 - 1e-9;
static const double SAFE = 1.0 - 0x1p-43; /* margin for the rounding of sums */

typedef struct {
    hs__shared *s;
    int32_t *best, best_size; /* [p] */
    double value;             /* its time */
    double bound;             /* least bound of all rings that were considered */
    double estimate;          /* of the ring of the local search */
    int32_t *trial;           /* [p + 1] */
    int32_t *at;              /* [p] ring of the local search */
    bool *member;             /* [p] */
    double *payments;         /* [2 p] of the messages of the best ring, at the end */
    double *paid, *shares;    /* [p] of its members */
    int64_t solves;           /* rings that may still be solved; not used with a time limit */
    double end;               /* of the search, by hs_clock */
    const int *cancel;
} search;

/* Returns whether rings with this lower bound cannot be better than the best ring. If so, c->bound is
 * lowered to it. */
static bool rules_out(search *c, double least)
{
    if (least < c->value * TIE) return false;
    c->bound = fmin(c->bound, least);
    return true;
}

/* Solves a ring unless it cannot be better than the best one; returns whether it is better. */
static bool consider_ring(search *c, int32_t size, const int32_t *ring)
{
    if (rules_out(c, hs__shared_least(c->s, size, ring))) return false;
    double value;
    double bound;
    hs__shared_solve(c->s, size, ring, c->value * TIE, NULL, &value, &bound);
    c->bound = fmin(c->bound, bound);
    if (!(value < c->value * TIE)) return false;
    c->value = value;
    c->best_size = size;
    memcpy(c->best, ring, (size_t)size * sizeof *ring);
    hs__shared_price(c->s);
    return true;
}

/* ---- heuristics ------------------------------------------------------------------------------ */

/* Writes the ring with worker u inserted before place k. */
static void insert_at(int32_t size, const int32_t *ring, int32_t u, int32_t k, int32_t *longer)
{
    memcpy(longer, ring, (size_t)k * sizeof *ring);
    longer[k] = u;
    memcpy(longer + k + 1, ring + k, (size_t)(size - k) * sizeof *ring);
}

/* Grows a ring from one worker to all workers. Each insertion is the one, of all workers and places,
 * with the least estimate of a step. Of all rings on the way, the one with the least estimate is
 * solved. */
static hs_status grow_ring(search *c, int32_t first)
{
    const int32_t p = c->s->x.p;
    int32_t *ring = c->at;
    int32_t best = 1;
    ring[0] = first;
    for (int32_t i = 0; i < p; i++) c->member[i] = i == first;
    double least = hs__shared_estimate(c->s, 1, ring);
    int32_t *kept = malloc((size_t)p * sizeof *kept);
    if (!kept) return HS_ERROR_MEMORY;
    kept[0] = first;
    for (int32_t size = 1; size < p && !hs__cancelled(c->cancel); size++) {
        double cheapest = INFINITY;
        int32_t worker = 0;
        int32_t place = 0;
        for (int32_t u = 0; u < p; u++)
            for (int32_t k = 1; k <= size && !c->member[u]; k++) {
                insert_at(size, ring, u, k, c->trial);
                const double time = hs__shared_estimate(c->s, size + 1, c->trial);
                if (!(time < cheapest)) continue;
                cheapest = time;
                worker = u;
                place = k;
            }
        insert_at(size, ring, worker, place, c->trial);
        memcpy(ring, c->trial, (size_t)(size + 1) * sizeof *ring);
        c->member[worker] = true;
        if (!(cheapest < least)) continue;
        least = cheapest;
        best = size + 1;
        memcpy(kept, ring, (size_t)best * sizeof *ring);
    }
    consider_ring(c, best, kept);
    free(kept);
    return hs__check_cancel(c->cancel);
}

/* Takes the trial if it is better than `time`, the time of the ring of the local search. */
static bool accept_trial(search *c, int32_t size, int32_t *now, double *time)
{
    if (hs__cancelled(c->cancel)) return false;
    /* A trial is solved only if its estimate is at most 0.05 % above that of the ring: the estimates
     * of similar rings differ by nearly as much as their times. */
    static const double APART = 1.0005;
    if (!(hs__shared_least(c->s, size, c->trial) < *time * TIE)) return false;
    const double estimate = hs__shared_estimate(c->s, size, c->trial);
    if (!(estimate < c->estimate * APART)) return false;
    double value;
    c->solves--;
    hs__shared_solve(c->s, size, c->trial, *time * TIE, NULL, &value, NULL);
    if (!(value < *time * TIE)) return false;
    c->estimate = estimate;
    *time = value;
    *now = size;
    memcpy(c->at, c->trial, (size_t)size * sizeof *c->at);
    hs__shared_price(c->s);
    return true;
}

/* Tries all moves of the worker u; returns whether one made the ring better. */
static bool improve_worker(search *c, int32_t u, int32_t *now, double *time)
{
    const int32_t size = *now;
    int32_t own = -1;
    for (int32_t k = 0; k < size; k++)
        if (c->at[k] == u) own = k;
    if (own < 0) {
        for (int32_t k = 1; k <= size; k++) {
            insert_at(size, c->at, u, k, c->trial);
            if (accept_trial(c, size + 1, now, time)) return true;
        }
        for (int32_t k = 0; k < size; k++) {
            memcpy(c->trial, c->at, (size_t)size * sizeof *c->at);
            c->trial[k] = u;
            if (accept_trial(c, size, now, time)) return true;
        }
        return false;
    }
    if (size < 2) return false;
    /* without u, and with u elsewhere */
    int32_t *rest = c->trial + c->s->x.p + 1;
    memcpy(rest, c->at, (size_t)own * sizeof *rest);
    memcpy(rest + own, c->at + own + 1, (size_t)(size - 1 - own) * sizeof *rest);
    memcpy(c->trial, rest, (size_t)(size - 1) * sizeof *rest);
    if (accept_trial(c, size - 1, now, time)) return true;
    for (int32_t k = 1; k < size && size > 3; k++) {
        insert_at(size - 1, rest, u, k, c->trial);
        if (accept_trial(c, size, now, time)) return true;
    }
    /* reversals of the part from u on */
    for (int32_t count = 2; count < size - 1; count++) {
        memcpy(c->trial, c->at, (size_t)size * sizeof *c->at);
        for (int32_t k = 0; k < count; k++)
            c->trial[(own + k) % size] = c->at[(own + count - 1 - k) % size];
        if (accept_trial(c, size, now, time)) return true;
    }
    return false;
}

static bool is_spent(const search *c)
{
    return isfinite(c->end) ? hs_clock() >= c->end : c->solves <= 0;
}

/* Improves the ring of the local search until no move of a worker makes it better. */
static hs_status improve_ring(search *c, int32_t *now, double *time)
{
    const int32_t p = c->s->x.p;
    for (int32_t u = 0, idle = 0; idle < p && !is_spent(c); u = hs__place_after(u, p)) {
        if (hs__cancelled(c->cancel)) return HS_ERROR_CANCELLED;
        idle = improve_worker(c, u, now, time) ? 0 : idle + 1;
    }
    if (*time < c->value) {
        c->value = *time;
        c->best_size = *now;
        memcpy(c->best, c->at, (size_t)*now * sizeof *c->best);
    }
    return HS_OK;
}

/* Makes one to three random moves on a copy of the best ring: each inserts a worker or drops a
 * member. Returns the size of the new ring. */
static int32_t disturb_ring(search *c, uint64_t *state)
{
    const int32_t p = c->s->x.p;
    int32_t size = c->best_size;
    memcpy(c->at, c->best, (size_t)size * sizeof *c->at);
    for (int32_t i = 0; i < p; i++) c->member[i] = false;
    for (int32_t k = 0; k < size; k++) c->member[c->at[k]] = true;
    for (int32_t moves = 1 + hs__pick(state, 3); moves > 0; moves--) {
        const int32_t u = hs__pick(state, p);
        const int32_t k = hs__pick(state, size);
        if (c->member[u] && size > 1) {
            int32_t own = 0;
            while (c->at[own] != u) own++;
            memmove(c->at + own, c->at + own + 1, (size_t)(--size - own) * sizeof *c->at);
            c->member[u] = false;
        } else if (!c->member[u]) {
            memmove(c->at + k + 1, c->at + k, (size_t)(size++ - k) * sizeof *c->at);
            c->at[k] = u;
            c->member[u] = true;
        }
    }
    return size;
}

static int32_t find_fastest(const hs__ring *x)
{
    int32_t fastest = 0;
    for (int32_t i = 1; i < x->p; i++)
        if (x->speed[i] > x->speed[fastest]) fastest = i;
    return fastest;
}

/* Searches from the best ring of rings with links of their own, from greedy rings, and from
 * disturbances of the best ring. */
static hs_status search_rings(search *c, const hs_effort *effort)
{
    enum { STARTS = 16, ALONE = 20, EFFORT = 2000, SOLVES = 100000 };
    hs__shared *s = c->s;
    const int32_t p = s->x.p;
    uint64_t state = hs__effort_seed(effort);
    hs_status status = HS_OK;
    int32_t size = 0;
    double alone = INFINITY;
    for (int32_t i = 0; i < p && !status; i++)
        status = hs__ring_grow(&s->x, i, c->cancel, c->at, &size, &alone);
    if (!status) status = hs__ring_search(&s->x, ALONE, c->cancel, &state, c->at, &size, &alone);
    if (!status) consider_ring(c, size, c->at);
    for (int32_t i = 0; i < p && !status; i++) {
        consider_ring(c, 1, &i);
        if (p <= STARTS || i == find_fastest(&s->x)) status = grow_ring(c, i);
    }
    c->end = hs__effort_end(effort);
    c->solves = SOLVES / ((int64_t)p * p);
    const int64_t rounds = hs__effort_timed(effort) ? INT64_MAX : 1 + EFFORT / ((int64_t)p * p * p);
    for (int64_t round = 0; !status && round <= rounds && !(round && is_spent(c)); round++) {
        int32_t now = c->best_size;
        if (round) now = disturb_ring(c, &state);
        else memcpy(c->at, c->best, (size_t)now * sizeof *c->at);
        double time;
        c->estimate = hs__shared_estimate(s, now, c->at);
        hs__shared_solve(s, now, c->at, INFINITY, NULL, &time, NULL);
        hs__shared_price(s);
        status = improve_ring(c, &now, &time);
        if (p == 1) break;
    }
    return status;
}

/* ---- all rings ------------------------------------------------------------------------------- */

/* Returns whether a ring that begins with the path c->at [depth] could be better than the best one.
 * The bound: the ring has at least the edges of the path, and at most the speed of c->at[0] and of
 * all workers with a larger index, since c->at[0] is its lowest member. */
static bool is_open(search *c, int32_t depth)
{
    const hs__shared *s = c->s;
    const size_t p = (size_t)s->x.p;
    double alone = 1.0;
    double priced = 1.0 - s->all_prices;
    double speed = s->x.speed[c->at[0]];
    for (int32_t k = 1; k < depth; k++) {
        const size_t edge = (size_t)c->at[k - 1] * p + (size_t)c->at[k];
        alone += s->x.edge[edge];
        priced += s->priced[edge];
    }
    for (int32_t i = c->at[0] + 1; i < s->x.p; i++) speed += s->x.speed[i];
    return !rules_out(c, fmax(alone, priced) / speed);
}

/* Considers all rings that begin with the path c->at [depth] from their lowest worker on. */
static hs_status extend_path(search *c, int32_t depth)
{
    if (hs__cancelled(c->cancel)) return HS_ERROR_CANCELLED;
    if (depth == 2 || (depth > 2 && c->at[1] < c->at[depth - 1])) consider_ring(c, depth, c->at);
    hs_status status = HS_OK;
    for (int32_t i = c->at[0] + 1; i < c->s->x.p && !status; i++) {
        if (c->member[i]) continue;
        c->member[i] = true;
        c->at[depth] = i;
        if (is_open(c, depth + 1)) status = extend_path(c, depth + 1);
        c->member[i] = false;
    }
    return status;
}

static hs_status enumerate_rings(search *c)
{
    hs_status status = HS_OK;
    for (int32_t i = 0; i < c->s->x.p && !status; i++) {
        consider_ring(c, 1, &i);
        for (int32_t j = 0; j < c->s->x.p; j++) c->member[j] = false;
        c->at[0] = i;
        status = extend_path(c, 1);
    }
    return status;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Lowers *bound to what the prices prove for all rings of two and more workers. Pairs are computed
 * one by one. In a longer ring each member pays at least half of its two cheapest edges. With a =
 * 1 - all_prices >= 0, the least (a + payments) / speeds of all sets is that of a prefix in the order
 * of payment / speed. With a < 0 no ring is below the least pair B: if a + 2 edge >= B (v_i + v_j)
 * for its q edges, their sum gives (a + edges) / speeds >= B + (q / 2 - 1) |a| / speeds. */
static hs_status bound_edges(const hs__shared *s, double *bound)
{
    const size_t p = (size_t)s->x.p;
    const double *v = s->x.speed;
    double *paid = malloc(2 * p * sizeof *paid);
    int32_t *order = malloc(p * sizeof *order);
    hs_status status = hs__check_memory(paid && order);
    double time = INFINITY;
    for (size_t i = 0; i < p && !status; i++) {
        double least = INFINITY;
        double second = INFINITY;
        for (size_t j = 0; j < p; j++) {
            if (j == i) continue;
            const double edge = s->priced[i * p + j];
            time = fmin(time, (1.0 - s->all_prices + 2.0 * edge) / (v[i] + v[j]));
            second = fmin(second, fmax(least, edge));
            least = fmin(least, edge);
        }
        paid[i] = 0.5 * (least + second);
        paid[p + i] = paid[i] / v[i];
    }
    if (!status) status = hs__sort(s->x.p, paid + p, order);
    double all = 1.0 - s->all_prices;
    double speed = 0.0;
    for (size_t k = 0; k < p && !status; k++) {
        all += paid[order[k]];
        speed += v[order[k]];
        time = fmin(time, all / speed);
    }
    if (!status) *bound = fmin(*bound, time);
    free(paid);
    free(order);
    return status;
}

/* Lowers *bound to what the prices prove of rings of two and more workers, from the shortest ring of
 * each set of workers. */
static hs_status bound_sets(const hs__shared *s, const int *cancel, double *bound)
{
    const size_t p = (size_t)s->x.p;
    const size_t sets = (size_t)1 << p;
    double *lengths = malloc(sets * sizeof *lengths);
    double *times = malloc((p + p * p) * sizeof *times);
    hs_status status = hs__check_memory(lengths && times);
    if (!status) {
        double *links = times + p;
        for (size_t i = 0; i < p; i++) {
            times[i] = 1.0 / s->x.speed[i];
            for (size_t j = 0; j < p; j++)
                links[i * p + j] = s->priced[i * p + j] / (s->x.speed[i] + s->x.speed[j]);
        }
        const hs_ring priced = {
            .p = s->x.p, .cycle_times = times, .links = links, .work = 1.0, .volume = 1.0};
        status = hs_ring_lengths(&priced, cancel, lengths);
    }
    for (size_t set = 0; set < sets && !status; set++) {
        if (!(set & (set - 1))) continue;
        double speed = 0.0;
        for (size_t i = 0; i < p; i++) speed += set >> i & 1 ? s->x.speed[i] : 0.0;
        *bound = fmin(*bound, (1.0 - s->all_prices + lengths[set]) / speed);
    }
    free(lengths);
    free(times);
    return status;
}

/* Finds a bound on all rings: that of rings with links of their own, or that of the prices. */
static hs_status bound_rings(const search *c, const hs_ring *inner, double *bound)
{
    enum { FEW = 14 };
    hs_certificate alone;
    hs_status status = hs_ring_certificate(inner, c->best_size, c->best, NULL, c->cancel, &alone);
    if (status) return status;
    double priced = c->value;
    for (int32_t i = 0; i < c->s->x.p; i++) priced = fmin(priced, hs__ring_value(&c->s->x, 1, &i));
    status = HS_ERROR_VALUE;
    if (c->s->x.p <= FEW) status = bound_sets(c->s, c->cancel, &priced);
    /* prices out of the range of links have no sets */
    if (status == HS_ERROR_VALUE) status = bound_edges(c->s, &priced);
    *bound = fmin(fmax(alone.bound / c->s->x.unit, priced * SAFE), c->value);
    return status;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static hs_status open_search(search *c, hs__shared *s, const int *cancel)
{
    const size_t p = (size_t)s->x.p;
    *c = (search){.s = s, .value = INFINITY, .bound = INFINITY, .cancel = cancel};
    c->best = malloc((4 * p + 2) * sizeof *c->best);
    c->member = calloc(p, sizeof *c->member);
    c->payments = malloc(4 * p * sizeof *c->payments);
    if (!c->best || !c->member || !c->payments) return HS_ERROR_MEMORY;
    c->at = c->best + p;
    c->trial = c->at + p;
    c->paid = c->payments + 2 * p;
    c->shares = c->paid + p;
    return HS_OK;
}

static void close_search(search *c)
{
    free(c->best);
    free(c->member);
    free(c->payments);
}

/* Turns the best ring to its standard form, and computes its bandwidths and shares. *bound: no
 * bandwidths of this ring give a shorter step. */
static hs_status finish_ring(search *c, double *bound)
{
    hs__shared *s = c->s;
    const size_t n = (size_t)s->x.p;
    const size_t size = (size_t)c->best_size;
    hs__ring_turn(c->best_size, c->best);
    hs__shared_solve(s, c->best_size, c->best, INFINITY, c->payments, &c->value, bound);
    hs__shared_price(s);
    double most = 0.0;
    for (size_t i = 0; i < n; i++) c->member[i] = false;
    for (size_t k = 0; k < size; k++) {
        const size_t i = (size_t)c->best[k];
        const double *fixed = s->fixed + i * n;
        c->paid[i] = fixed[c->best[(k + 1) % size]] + fixed[c->best[(k + size - 1) % size]];
        if (size > 1) c->paid[i] += c->payments[2 * k] + c->payments[2 * k + 1];
        most = fmax(most, c->paid[i]);
        c->member[i] = true;
    }
    return hs__ring_divide(s->x.p, s->x.speed, c->paid, size == 1 || c->value > most, c->value,
                           c->member, c->shares);
}

/* Replaces, in s->alone, the costs of the best ring's messages by 1 / their bandwidths. s->alone has
 * the cost of the slowest link of each route; a message that pays no more than this keeps it exactly.
 * HS_ERROR_VALUE for a cost above 2^200, the largest cost of a link. */
static hs_status write_links(search *c, const hs_ring *problem, const hs__ring_able *able)
{
    static const double MOST = 0x1p200;
    hs__shared *s = c->s;
    for (int32_t r = 0; r < 2 * c->best_size && c->best_size > 1; r++) {
        const int32_t k = r / 2;
        const int32_t other = c->best[(k + (r % 2 ? c->best_size - 1 : 1)) % c->best_size];
        if (!(c->payments[r] > hs__shared_alone(s, c->best[k], other))) continue;
        const double cost = c->payments[r] * s->x.unit / problem->volume;
        if (!(cost <= MOST)) return HS_ERROR_VALUE;
        double *link = s->alone + (size_t)able->worker[c->best[k]] * (size_t)problem->p +
                       (size_t)able->worker[other];
        *link = fmax(*link, cost); /* both messages of a ring of two */
    }
    return HS_OK;
}

/* Writes the certificate and the plan for the workers of the problem; nothing after an error.
 *   bound  on all rings */
static hs_status write_plan(search *c, const hs_ring *problem, const hs__ring_able *able,
                            double bound, int32_t *ring, double *links, double *shares,
                            hs_certificate *certificate)
{
    const size_t p = (size_t)problem->p;
    const double unit = c->s->x.unit;
    hs_certificate own;
    hs_status status = write_links(c, problem, able);
    if (!status)
        status = hs_certificate_of("makespan", HS_MINIMISED, c->value * unit, bound * unit, &own);
    if (status) return status;
    *certificate = own;
    memcpy(links, c->s->alone, p * p * sizeof *links);
    for (size_t i = 0; i < p; i++) shares[i] = 0.0;
    for (int32_t k = 0; k < able->count; k++) shares[able->worker[k]] = c->shares[k];
    for (int32_t k = 0; k < c->best_size && ring; k++) ring[k] = able->worker[c->best[k]];
    return HS_OK;
}

/* Finds the best ring by a method other than best. */
static hs_status find_ring(search *c, hs_ring_method method, const hs_effort *effort)
{
    const hs__ring *x = &c->s->x;
    if (method == HS_RING_METHOD_GREEDY) return grow_ring(c, find_fastest(x));
    if (method == HS_RING_METHOD_EXACT && x->p > HS_RING_SHARED_EXACT) return HS_ERROR_UNSUPPORTED;
    const hs_status status = search_rings(c, method == HS_RING_METHOD_EXACT ? NULL : effort);
    return status || method != HS_RING_METHOD_EXACT ? status : enumerate_rings(c);
}

static bool is_request(hs_ring_method method, const hs_effort *effort)
{
    const bool known = method == HS_RING_METHOD_BEST || method == HS_RING_METHOD_EXACT ||
                       method == HS_RING_METHOD_SEARCH || method == HS_RING_METHOD_GREEDY;
    return known && hs__effort_valid(effort);
}

hs_status hs_ring_shared_best(const hs_ring *problem, const hs_ring_network *network,
                              hs_ring_method method, const hs_effort *effort, const int *cancel,
                              int32_t *ring, int32_t *size, double *links, double *shares,
                              hs_ring_method *used, hs_certificate *certificate)
{
    if (!is_request(method, effort) || !ring || !size || !links || !shares || !certificate)
        return HS_ERROR_VALUE;
    hs__ring_able able;
    hs__shared s;
    hs_status status = hs__shared_open(&s, &able, problem, network, cancel);
    if (status) return status;
    enum { FEW = 8 }; /* all rings of more workers can take seconds */
    if (method == HS_RING_METHOD_BEST)
        method = s.x.p <= FEW ? HS_RING_METHOD_EXACT : HS_RING_METHOD_SEARCH;
    search c;
    double own = 0.0;
    double bound = 0.0;
    status = open_search(&c, &s, cancel);
    if (!status) status = find_ring(&c, method, effort);
    if (!status) status = finish_ring(&c, &own);
    if (method == HS_RING_METHOD_EXACT) bound = fmin(fmin(c.bound * SAFE, own), c.value);
    else if (!status) status = bound_rings(&c, &able.inner, &bound);
    if (!status) status = write_plan(&c, problem, &able, bound, ring, links, shares, certificate);
    if (!status) {
        if (method == HS_RING_METHOD_EXACT && bound >= c.value * TIE)
            certificate->scope = "all rings with these routes";
        *size = c.best_size;
        if (used) *used = method;
    }
    close_search(&c);
    hs__shared_close(&s);
    hs__ring_close_able(&able);
    return status;
}

hs_status hs_ring_bandwidths(const hs_ring *problem, const hs_ring_network *network, int32_t size,
                             const int32_t *ring, const int *cancel, double *links, double *shares,
                             hs_certificate *certificate)
{
    if (!problem || !ring || !links || !shares || !certificate) return HS_ERROR_VALUE;
    hs_status status = hs__ring_check(problem->p, size, ring);
    if (status) return status;
    hs__ring_able able;
    hs__shared s;
    status = hs__shared_open(&s, &able, problem, network, cancel);
    if (status) return status;
    search c;
    status = open_search(&c, &s, cancel);
    c.best_size = size;
    for (int32_t k = 0; k < size && !status; k++) {
        int32_t own = 0;
        while (own < able.count && able.worker[own] != ring[k]) own++;
        if (own == able.count) status = HS_ERROR_VALUE;
        else c.best[k] = own;
    }
    double own = 0.0;
    double bound = 0.0;
    if (!status) status = finish_ring(&c, &own);
    if (!status) status = bound_rings(&c, &able.inner, &bound);
    if (!status)
        status = write_plan(&c, problem, &able, fmin(bound, own), NULL, links, shares, certificate);
    if (!status && own >= c.value * TIE) certificate->scope = "bandwidths and shares of this ring";
    close_search(&c);
    hs__shared_close(&s);
    hs__ring_close_able(&able);
    return status;
}

hs_status hs_ring_shared_certificate(const hs_ring *problem, const hs_ring_network *network,
                                     int32_t size, const int32_t *ring, const double *shares,
                                     const int *cancel, hs_certificate *certificate)
{
    if (!problem || !ring || !shares || !certificate) return HS_ERROR_VALUE;
    hs_certificate own;
    hs_certificate alone;
    hs_status status = hs_ring_certificate(problem, size, ring, shares, cancel, &own);
    if (status) return status;
    hs__ring_able able;
    hs__shared s;
    status = hs__shared_open(&s, &able, problem, network, cancel);
    if (status) return status;
    const int32_t any = 0; /* the bound holds for all rings, whichever ring is given */
    status = hs_ring_certificate(&able.inner, 1, &any, NULL, cancel, &alone);
    hs__shared_close(&s);
    hs__ring_close_able(&able);
    return status
               ? status
               : hs_certificate_of("makespan", HS_MINIMISED, own.value, alone.bound, certificate);
}
