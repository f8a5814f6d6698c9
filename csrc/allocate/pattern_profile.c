/* hs_pattern_profile: the block columns of LU for workers with times by the size of their parts.
 *
 * The columns are dealt from the last one back. After s columns the numbers of columns of all
 * workers are a point with the sum s. The map costs the sum, over its points, of the largest time
 * at the point. So the best map is a shortest path from the origin through the points, one level
 * for each s. A level with more points than can be kept keeps the cheapest ones (beam search), and
 * then the path is not proven to be the best. First a search that keeps one point finds a map, the
 * greedy one. Later searches leave out the points from which no path can be cheaper, because the
 * steps to come cost at least their bounds (branch and bound). */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/random.h"
#include "core/status.h"
#include "hetsched.h"

enum {
    MOST = 1 << 24,   /* workers */
    EFFORT = 1 << 22, /* arrivals of all levels together, if a level then keeps LEAST points */
    LEAST = 64,       /* points that a level may keep in any case */
    WIDEST = 1 << 16, /* points of a level, at most */
    BRIEF = 1 << 10,  /* points between two looks at cancel */
};

typedef struct {
    int64_t n, steps;
    int32_t p;
    const double *times; /* [steps * p * n] */
    const int *cancel;
} columns;

/* Returns the times of worker 0 in step k; the times of the next worker follow n later. */
static const double *times_of_step(const columns *x, int64_t k)
{
    return x->times + k * x->p * x->n;
}

/* ---- the cost of a map, and the bound -------------------------------------------------------- */

/* Checks the sizes and the times, and makes the view of them. */
static hs_status open_columns(int64_t n, int64_t steps, int32_t p, const double *times,
                              const int *cancel, columns *x)
{
    const int64_t most = INT64_C(1) << 48;
    if (n < 1 || n > INT32_MAX || p < 1 || p > MOST || steps < (n > 1) || steps >= n)
        return HS_ERROR_VALUE;
    if (n > most / p || (steps && p * n > most / steps) || (steps && !times)) return HS_ERROR_VALUE;
    *x = (columns){n, steps, p, times, cancel};
    for (int64_t k = 0; k < steps && !hs__cancelled(cancel); k++)
        for (int32_t i = 0; i < p; i++)
            for (int64_t c = 1; c < n - k; c++)
                if (!(times_of_step(x, k)[i * n + c] > 0.0)) return HS_ERROR_VALUE;
    return HS_OK;
}

/* Computes the largest time of each step. counts [p]: workspace; in the end the columns of each
 * worker after the first one */
static void cost_steps(const columns *x, const int32_t *owner, int64_t *counts, double *step_costs)
{
    memset(counts, 0, (size_t)x->p * sizeof *counts);
    for (int64_t k = x->n - 2; k >= 0 && !hs__cancelled(x->cancel); k--) {
        counts[owner[k + 1]]++;
        if (k >= x->steps) continue;
        const double *times = times_of_step(x, k);
        double largest = 0.0;
        for (int32_t i = 0; i < x->p; i++)
            if (counts[i] > 0) largest = fmax(largest, times[i * x->n + counts[i]]);
        step_costs[k] = largest;
    }
}

/* Computes the least cost of each step, as if its columns could be dealt anew before it.
 * HS_ERROR_INFEASIBLE: there is a step that the workers cannot do. */
static hs_status bound_steps(const columns *x, double *bounds)
{
    double *table = malloc((size_t)x->p * (size_t)x->n * sizeof *table);
    int64_t *counts = malloc((size_t)x->p * sizeof *counts);
    hs_status status = hs__check_memory(table && counts);
    for (int64_t k = 0; k < x->steps && !status; k++) {
        const int64_t right = x->n - 1 - k;
        for (int32_t i = 0; i < x->p; i++)
            memcpy(table + i * (right + 1), times_of_step(x, k) + i * x->n,
                   (size_t)(right + 1) * sizeof *table);
        status = hs_distribute_profile(right, x->p, table, x->cancel, counts, bounds + k);
    }
    free(table);
    free(counts);
    return status;
}

/* Certifies a map. complete: no map has a smaller cost. Sums are in the order of the steps. */
static hs_status certify_map(const columns *x, const double *step_costs, const double *bounds,
                             bool complete, hs_certificate *certificate)
{
    double value = 0.0;
    double bound = 0.0;
    for (int64_t k = 0; k < x->steps; k++) {
        value += step_costs[k];
        bound += bounds[k];
    }
    return hs_certificate_of("cost", HS_MINIMISED, value, complete ? value : bound, certificate);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* A point that is reached from point `parent` of the level before by one more column of `worker`.
 *   cost  of the steps so far
 *   tie   of equally cheap points the one with the least is kept: the time of that worker, or
 *         without a step the largest time that the last step would have
 *   hash  of the point */
typedef struct {
    double cost, tie;
    uint64_t hash;
    int32_t parent, worker;
} arrival;

/* How a point was reached: see arrival. */
typedef struct {
    int32_t parent, worker;
} origin;

typedef struct {
    const columns *x;
    int64_t width;      /* points that a level keeps, at most */
    double known;       /* the cost of a map that is known */
    const double *rest; /* [n] bound of the steps that follow after s columns */
    int32_t *points;    /* [width * p] the level */
    int32_t *next;      /* [width * p] the next level */
    uint64_t *hashes;   /* [width] of the level */
    double *costs;      /* [width] of the level */
    uint64_t *weights;  /* [p] a point has the hash sum counts[i] * weights[i] */
    arrival *arrivals;  /* [width * p] */
    int64_t count;      /* of the arrivals */
    int32_t *slots;     /* [slot_count] hash table: 1 + the number of an arrival, or 0 */
    size_t slot_count;  /* a power of two */
    bool dropped;       /* whether a level had more points than it could keep */
    origin **trail;     /* [n] for each number of columns the points that are kept */
} search;

/* Returns how many points a level may have, or most if there are more: the ways to divide n - 1
 * columns among the workers. */
static int64_t count_points(const columns *x, int64_t most)
{
    double ways = 1.0;
    for (int32_t i = 1; i < x->p && ways < (double)most; i++)
        ways = ways * (double)(x->n - 1 + i) / i;
    return ways < (double)most ? hs__max(1, (int64_t)ways + 1) : most;
}

static hs_status open_search(search *s, const columns *x, const double *rest)
{
    const size_t p = (size_t)x->p;
    const int64_t most = hs__min(WIDEST, hs__max(LEAST, EFFORT / (x->n * x->p)));
    *s = (search){.x = x, .rest = rest, .width = count_points(x, most), .slot_count = 1};
    const size_t width = (size_t)s->width;
    while (s->slot_count < 2 * width * p) s->slot_count *= 2;
    s->points = calloc(width * p, sizeof *s->points);
    s->next = malloc(width * p * sizeof *s->next);
    s->hashes = malloc(width * sizeof *s->hashes);
    s->costs = malloc(width * sizeof *s->costs);
    s->weights = malloc(p * sizeof *s->weights);
    s->arrivals = malloc(width * p * sizeof *s->arrivals);
    s->slots = malloc(s->slot_count * sizeof *s->slots);
    s->trail = calloc((size_t)x->n, sizeof *s->trail);
    if (!s->points || !s->next || !s->hashes || !s->costs || !s->weights || !s->arrivals ||
        !s->slots || !s->trail)
        return HS_ERROR_MEMORY;
    uint64_t state = 0;
    for (int32_t i = 0; i < x->p; i++) s->weights[i] = hs__random(&state);
    return HS_OK;
}

static void forget_trail(search *s)
{
    for (int64_t size = 0; size < s->x->n && s->trail; size++) {
        free(s->trail[size]);
        s->trail[size] = NULL;
    }
}

static void close_search(search *s)
{
    forget_trail(s);
    free(s->points);
    free(s->next);
    free(s->hashes);
    free(s->costs);
    free(s->weights);
    free(s->arrivals);
    free(s->slots);
    free(s->trail);
}

static bool is_same_point(const search *s, const arrival *a, const arrival *b)
{
    const int32_t p = s->x->p;
    const int32_t *from = s->points + (int64_t)a->parent * p;
    const int32_t *other = s->points + (int64_t)b->parent * p;
    for (int32_t i = 0; i < p; i++)
        if (from[i] + (a->worker == i) != other[i] + (b->worker == i)) return false;
    return true;
}

static bool is_cheaper(const arrival *a, const arrival *b)
{
    return a->cost != b->cost ? a->cost < b->cost : a->tie < b->tie;
}

/* Adds an arrival, unless its point is there already and was reached as cheaply. */
static void add_arrival(search *s, const arrival *found)
{
    size_t slot = (size_t)found->hash & (s->slot_count - 1);
    for (; s->slots[slot]; slot = (slot + 1) & (s->slot_count - 1)) {
        arrival *old = &s->arrivals[s->slots[slot] - 1];
        if (old->hash != found->hash || !is_same_point(s, old, found)) continue;
        if (is_cheaper(found, old)) *old = *found;
        return;
    }
    s->arrivals[s->count] = *found;
    s->slots[slot] = (int32_t)++s->count;
}

/* Adds the points that one more column leads to from point `at`, after `size` columns. */
static void extend_point(search *s, int64_t size, int32_t at)
{
    const columns *x = s->x;
    const int64_t k = x->n - 2 - size;
    const bool counts = k < x->steps; /* whether there is such a step */
    const double *times = times_of_step(x, counts ? k : x->steps - 1);
    const int32_t *point = s->points + (int64_t)at * x->p;
    double largest = 0.0;
    double second = 0.0; /* largest of the other workers */
    int32_t slowest = -1;
    for (int32_t i = 0; i < x->p; i++) {
        const double time = point[i] ? times[i * x->n + point[i]] : 0.0;
        if (time > largest) {
            second = largest;
            largest = time;
            slowest = i;
        } else if (time > second) second = time;
    }
    for (int32_t i = 0; i < x->p; i++) {
        const double own = times[i * x->n + point[i] + 1];
        const double step = fmax(own, i == slowest ? second : largest);
        const arrival found = {.cost = s->costs[at] + (counts ? step : 0.0),
                               .tie = counts ? own : step,
                               .hash = s->hashes[at] + s->weights[i],
                               .parent = at,
                               .worker = i};
        if (counts && isinf(step)) continue;
        if (found.cost + s->rest[size + 1] < s->known) add_arrival(s, &found);
    }
}

/* Order of arrivals for qsort: cheapest first, then in the order in which they were found. */
static int compare_arrivals(const void *x, const void *y)
{
    const arrival *a = x, *b = y;
    if (is_cheaper(a, b)) return -1;
    if (is_cheaper(b, a)) return 1;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    return (a->worker > b->worker) - (a->worker < b->worker);
}

/* Makes the cheapest arrivals the points of the next level, which has `size` columns. */
static hs_status keep_cheapest(search *s, int64_t width, int64_t size)
{
    const int32_t p = s->x->p;
    qsort(s->arrivals, (size_t)s->count, sizeof *s->arrivals, compare_arrivals);
    if (s->count > width) {
        s->dropped = true;
        s->count = width;
    }
    origin *trail = s->trail[size] = malloc((size_t)hs__max(s->count, 1) * sizeof *trail);
    if (!trail) return HS_ERROR_MEMORY;
    for (int64_t at = 0; at < s->count; at++) {
        const arrival *kept = &s->arrivals[at];
        int32_t *point = s->next + at * p;
        trail[at] = (origin){kept->parent, kept->worker};
        memcpy(point, s->points + (int64_t)kept->parent * p, (size_t)p * sizeof *point);
        point[kept->worker]++;
        s->hashes[at] = kept->hash;
        s->costs[at] = kept->cost;
    }
    int32_t *before = s->points;
    s->points = s->next;
    s->next = before;
    return HS_OK;
}

/* Goes through all levels with at most `width` points in each. owner [n] out: all but the first
 * column, if a map was found that is cheaper than s->known, which then becomes its cost. */
static hs_status search_levels(search *s, int64_t width, int32_t *owner, bool *found)
{
    const columns *x = s->x;
    memset(s->points, 0, (size_t)x->p * sizeof *s->points);
    s->hashes[0] = 0;
    s->costs[0] = 0.0;
    s->dropped = false;
    *found = false;
    int64_t before = 1;
    for (int64_t size = 0; size + 1 < x->n; size++) {
        memset(s->slots, 0, s->slot_count * sizeof *s->slots);
        s->count = 0;
        for (int32_t at = 0; at < before; at++) {
            if (at % BRIEF == 0 && hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
            extend_point(s, size, at);
        }
        const hs_status status = keep_cheapest(s, width, size + 1);
        if (status) return status;
        if (!s->count) return HS_OK;
        before = s->count;
    }
    s->known = s->costs[0];
    *found = true;
    int32_t at = 0;
    for (int64_t size = x->n - 1; size > 0; size--) {
        const origin last = s->trail[size][at];
        owner[x->n - size] = last.worker;
        at = last.parent;
    }
    return HS_OK;
}

/* Finds a map of few costs. complete: it is proven to be the best.
 * HS_ERROR_INFEASIBLE: none was found */
static hs_status search_map(const columns *x, const double *bounds, int32_t *owner, bool *complete)
{
    double *rest = calloc((size_t)x->n, sizeof *rest);
    if (!rest) return HS_ERROR_MEMORY;
    /* from step steps - 1, which is the first with columns, to step 0 */
    for (int64_t size = x->n - 2; size >= 0; size--) {
        const int64_t k = x->n - 2 - size;
        rest[size] = rest[size + 1] + (k < x->steps ? bounds[k] : 0.0);
    }
    search s;
    hs_status status = open_search(&s, x, rest);
    if (!status && isinf(rest[0])) status = HS_ERROR_VALUE;
    bool greedy = false;
    bool better = false;
    s.known = INFINITY;
    if (!status) status = search_levels(&s, 1, owner, &greedy);
    forget_trail(&s);
    if (!status && !(greedy && s.known <= rest[0] * (1.0 + HS_EQUAL)))
        status = search_levels(&s, s.width, owner, &better);
    *complete = !s.dropped;
    if (!status && !greedy && !better) status = HS_ERROR_INFEASIBLE;
    close_search(&s);
    free(rest);
    return status;
}

/* The first column is never updated. It goes to the worker, of those with other columns, that ends
 * step 0 first. counts [p]: the other columns of each worker */
static int32_t pick_first(const columns *x, const int64_t *counts)
{
    int32_t best = 0;
    double least = INFINITY;
    for (int32_t i = 0; i < x->p; i++) {
        if (!counts[i] || !(x->times[i * x->n + counts[i]] < least)) continue;
        best = i;
        least = x->times[i * x->n + counts[i]];
    }
    return best;
}

hs_status hs_pattern_profile(int64_t n, int64_t steps, int32_t p, const double *times,
                             const int *cancel, int32_t *owner, double *step_costs,
                             hs_certificate *certificate)
{
    columns x;
    if (!owner || !certificate || (steps > 0 && !step_costs)) return HS_ERROR_VALUE;
    hs_status status = open_columns(n, steps, p, times, cancel, &x);
    if (status) return status;
    double *costs = malloc(2 * (size_t)n * sizeof *costs);
    int32_t *found = malloc((size_t)n * sizeof *found);
    int64_t *counts = malloc((size_t)p * sizeof *counts);
    bool complete = true;
    hs_certificate proof = {0};
    status = hs__check_memory(costs && found && counts);
    if (!status) status = bound_steps(&x, costs + n);
    if (!status) status = search_map(&x, costs + n, found, &complete);
    if (!status) {
        cost_steps(&x, found, counts, costs);
        found[0] = pick_first(&x, counts);
        status = hs__check_cancel(cancel);
        if (!status) status = certify_map(&x, costs, costs + n, complete, &proof);
    }
    if (!status) {
        memcpy(owner, found, (size_t)n * sizeof *owner);
        if (steps) memcpy(step_costs, costs, (size_t)steps * sizeof *step_costs);
        if (proof.optimal) proof.scope = "all allocations";
        *certificate = proof;
    }
    free(costs);
    free(found);
    free(counts);
    return status;
}

hs_status hs_pattern_profile_certificate(int64_t n, int64_t steps, int32_t p, const double *times,
                                         const int32_t *owner, const int *cancel,
                                         hs_certificate *certificate)
{
    columns x;
    if (!owner || !certificate) return HS_ERROR_VALUE;
    hs_status status = open_columns(n, steps, p, times, cancel, &x);
    for (int64_t j = 0; j < n && !status; j++)
        if (owner[j] < 0 || owner[j] >= p) status = HS_ERROR_VALUE;
    if (status) return status;
    double *costs = malloc(2 * (size_t)n * sizeof *costs);
    int64_t *counts = malloc((size_t)p * sizeof *counts);
    status = costs && counts ? bound_steps(&x, costs + n) : HS_ERROR_MEMORY;
    if (!status) {
        cost_steps(&x, owner, counts, costs);
        status = hs__check_cancel(cancel);
        if (!status) status = certify_map(&x, costs, costs + n, false, certificate);
    }
    free(costs);
    free(counts);
    return status;
}
