/* hs_ring_best, hs_ring_batch and hs_ring_certificate: which method takes a problem, how long a
 * search goes on, and what is proven. */
#include <math.h>
#include <stdlib.h>

#include "core/effort.h"
#include "core/numbers.h"
#include "core/status.h"
#include "core/tuning.h"
#include "ring/able.h"

/* ---- heuristics ------------------------------------------------------------------------------ */

static int32_t find_fastest(const hs_ring *problem)
{
    int32_t found = 0;
    for (int32_t i = 1; i < problem->p; i++)
        if (problem->cycle_times[i] < problem->cycle_times[found]) found = i;
    return found;
}

/* Rounds of a search without a time limit. A round takes O(p^2) for few workers, O(p) for many. */
static int64_t search_rounds(int64_t p)
{
    enum { MOST = 4000, FEW = 20, EFFORT = 4000000, LARGE_EFFORT = 200000 };
    if (p > HS__RING_WORKERS) return hs__max(LARGE_EFFORT / p, FEW);
    return hs__min(1 + EFFORT / (p * p), MOST);
}

/* Searches from a ring. With a time limit, the first search has at most FIRST rounds, and each later
 * one at most twice as many as the one before. */
static hs_status search_ring(const hs_ring *problem, const hs_effort *effort, const int *cancel,
                             int32_t *ring, int32_t *size)
{
    enum { FIRST = 100, MOST = 1 << 30 };
    const int64_t fixed = search_rounds(problem->p);
    hs__rounds round = hs__first_round(effort, fixed, hs__min(fixed, FIRST), 1, MOST, 2.0);
    uint64_t state = hs__effort_seed(effort);
    double makespan;
    hs_status status;
    do status = hs_ring_search(problem, round.work, cancel, ring, size, &state, &makespan);
    while (!status && problem->p > 1 && hs__next_round(&round));
    return status;
}

/* Searches a short ring of all workers: a fixed number of rounds, one to two seconds for a thousand
 * workers; or p rounds at a time until the time is up. */
static hs_status search_tour(const hs_ring *problem, const hs_effort *effort, const int *cancel,
                             int32_t *ring)
{
    enum { ROUNDS = 10000 };
    const double end = hs__effort_end(effort);
    uint64_t state = hs__effort_seed(effort);
    for (int32_t i = 0; i < problem->p; i++) ring[i] = i;
    int64_t rounds = 0;
    if (!hs__effort_timed(effort)) rounds = problem->p < ROUNDS / 10 ? 10 * problem->p : ROUNDS;
    for (;;) {
        const hs_status status = hs_ring_tour(problem, rounds, cancel, ring, &state);
        if (status || !hs__effort_timed(effort) || hs_clock() >= end) return status;
        rounds = problem->p;
    }
}

/* Finds a ring [p] by a method other than best. */
static hs_status find_by(hs_ring_method method, const hs_ring *problem, const hs_effort *effort,
                         const int *cancel, int32_t *ring, int32_t *size)
{
    double makespan;
    if (method == HS_RING_METHOD_EXACT)
        return hs_ring_exact(problem, cancel, ring, size, &makespan);
    if (method == HS_RING_METHOD_ALL) {
        *size = problem->p;
        return problem->p <= HS_RING_EXACT ? hs_ring_shortest(problem, cancel, ring)
                                           : search_tour(problem, effort, cancel, ring);
    }
    const bool each = method == HS_RING_METHOD_MULTISTART ||
                      (method == HS_RING_METHOD_SEARCH && problem->p <= HS__RING_WORKERS);
    const int32_t first = each ? -1 : find_fastest(problem);
    const hs_status status = hs_ring_greedy(problem, first, cancel, ring, size, &makespan);
    if (status || method != HS_RING_METHOD_SEARCH) return status;
    return search_ring(problem, effort, cancel, ring, size);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* A plan for the able workers, which are numbered 0 .. count - 1. */
typedef struct {
    hs_ring_method method;
    int32_t *ring, size; /* [count] */
    double *shares;      /* [count] */
    double makespan, bound;
} ring_plan;

static hs_status plan_alike(const hs_ring *problem, const hs__ring_able *able, ring_plan *plan)
{
    bool *member = malloc((size_t)able->count * sizeof *member);
    if (!member) return HS_ERROR_MEMORY;
    const hs_status status = hs__ring_alike(problem, able, member, plan->shares, &plan->makespan);
    for (int32_t k = 0; k < able->count && !status; k++)
        if (member[k]) plan->ring[plan->size++] = k;
    free(member);
    plan->method = HS_RING_METHOD_EXACT;
    plan->bound = plan->makespan;
    return status;
}

static hs_status plan_ring(const hs_ring *inner, hs_ring_method method, const hs_effort *effort,
                           const int *cancel, ring_plan *plan)
{
    plan->method = method == HS_RING_METHOD_BEST ? HS_RING_METHOD_EXACT : method;
    hs_status status = find_by(plan->method, inner, effort, cancel, plan->ring, &plan->size);
    if (status == HS_ERROR_UNSUPPORTED && method == HS_RING_METHOD_BEST) {
        plan->method = HS_RING_METHOD_SEARCH;
        status = find_by(plan->method, inner, effort, cancel, plan->ring, &plan->size);
    }
    if (!status)
        status =
            hs_ring_shares(inner, plan->size, plan->ring, cancel, plan->shares, &plan->makespan);
    plan->bound = plan->makespan;
    if (status || plan->method == HS_RING_METHOD_EXACT) return status;
    return hs_ring_bound(inner, plan->makespan, hs__ring_bound_rounds(inner->p), cancel,
                         &plan->bound);
}

static const char *scope_of(const ring_plan *plan, int32_t workers)
{
    if (plan->method == HS_RING_METHOD_EXACT) return "all rings";
    if (plan->method != HS_RING_METHOD_ALL || workers > HS_RING_EXACT) return "";
    for (int32_t k = 0; k < workers; k++)
        if (!(plan->shares[k] > 0.0)) return "";
    return "rings of all workers";
}

static bool is_request(hs_ring_method method, const hs_effort *effort)
{
    return (int)method >= HS_RING_METHOD_BEST && (int)method <= HS_RING_METHOD_ALL &&
           hs__effort_valid(effort);
}

/* Writes a plan as one for the workers of the problem. */
static hs_status write_plan(const hs_ring *problem, const hs__ring_able *able,
                            const ring_plan *plan, int32_t *ring, int32_t *size, double *shares,
                            hs_ring_method *used, hs_certificate *certificate)
{
    const hs_status status =
        hs_certificate_of("makespan", HS_MINIMISED, plan->makespan, plan->bound, certificate);
    if (status) return status;
    certificate->scope = scope_of(plan, able->count);
    for (int32_t k = 0; k < plan->size; k++) ring[k] = able->worker[plan->ring[k]];
    *size = plan->size;
    for (int32_t i = 0; i < problem->p; i++) shares[i] = 0.0;
    for (int32_t k = 0; k < able->count; k++) shares[able->worker[k]] = plan->shares[k];
    if (used) *used = plan->method;
    return HS_OK;
}

hs_status hs_ring_best(const hs_ring *problem, hs_ring_method method, const hs_effort *effort,
                       const int *cancel, int32_t *ring, int32_t *size, double *shares,
                       hs_ring_method *used, hs_certificate *certificate)
{
    if (!is_request(method, effort) || !ring || !size || !shares || !certificate)
        return HS_ERROR_VALUE;
    hs__ring_able able;
    hs_status status = hs__ring_choose_able(problem, cancel, &able);
    if (status) return status;
    const size_t count = (size_t)able.count;
    ring_plan plan = {.ring = malloc(count * sizeof *plan.ring),
                      .shares = malloc(count * sizeof *plan.shares)};
    if (!plan.ring || !plan.shares) status = HS_ERROR_MEMORY;
    else if (able.alike && method <= HS_RING_METHOD_EXACT)
        status = plan_alike(problem, &able, &plan);
    else {
        status = hs__ring_restrict(problem, &able);
        if (!status) status = plan_ring(&able.inner, method, effort, cancel, &plan);
    }
    if (!status) status = write_plan(problem, &able, &plan, ring, size, shares, used, certificate);
    free(plan.ring);
    free(plan.shares);
    hs__ring_close_able(&able);
    return status;
}

hs_status hs_ring_batch(int64_t rows, const hs_ring *problem, hs_ring_method method,
                        const hs_effort *effort, const int *cancel, double *shares,
                        double *makespans, double *bounds, int32_t *optimal)
{
    if (rows < 0 || !problem || problem->p < 1 || !is_request(method, effort))
        return HS_ERROR_VALUE;
    if (rows > 0 && (!problem->cycle_times || !shares || !makespans || !bounds || !optimal))
        return HS_ERROR_VALUE;
    const size_t p = (size_t)problem->p;
    int32_t *ring = malloc(p * sizeof *ring);
    hs_status status = hs__check_memory(ring);
    hs_ring one = *problem;
    for (int64_t row = 0; row < rows && !status; row++) {
        int32_t size;
        hs_certificate certificate;
        one.cycle_times = problem->cycle_times + (size_t)row * p;
        if (problem->links) one.links = problem->links + (size_t)row * p * p;
        status = hs__check_cancel(cancel);
        if (!status)
            status = hs_ring_best(&one, method, effort, cancel, ring, &size,
                                  shares + (size_t)row * p, NULL, &certificate);
        if (status) break;
        makespans[row] = certificate.value;
        bounds[row] = certificate.bound;
        optimal[row] = certificate.optimal;
    }
    free(ring);
    return status;
}

/* ---- certificates of any ring ---------------------------------------------------------------- */

/* Computes the makespan of given shares. HS_ERROR_VALUE unless the ring has different able workers
 * and all of the shares. */
static hs_status time_shares(const hs_ring *problem, int32_t size, const int32_t *ring,
                             const double *shares, double *makespan)
{
    const hs_status status = hs__ring_check(problem->p, size, ring);
    if (status) return status;
    double within = 0.0;
    double all = 0.0;
    *makespan = 0.0;
    for (int32_t i = 0; i < problem->p; i++) {
        if (!(shares[i] >= 0.0)) return HS_ERROR_VALUE;
        all += shares[i];
    }
    for (int32_t k = 0; k < size; k++) {
        const size_t i = (size_t)ring[k];
        if (problem->cycle_times[i] == INFINITY) return HS_ERROR_VALUE;
        within += shares[i];
        const double paid =
            hs__ring_paid(problem, ring[k], ring[(k + size - 1) % size], ring[(k + 1) % size]);
        *makespan = fmax(*makespan, shares[i] * problem->work * problem->cycle_times[i] + paid);
    }
    return fabs(within - 1.0) <= 1e-9 && fabs(all - within) <= 1e-9 ? HS_OK : HS_ERROR_VALUE;
}

/* Finds a lower bound on the makespan of all rings of the able workers. */
static hs_status find_bound(const hs_ring *problem, hs__ring_able *able, double makespan,
                            const int *cancel, double *bound)
{
    /* up to so many workers, the best ring is found in no time */
    enum { FEW = 12 };
    if (able->alike) return hs__ring_alike(problem, able, NULL, NULL, bound);
    if (able->count > FEW)
        return hs_ring_bound(&able->inner, makespan, hs__ring_bound_rounds(able->count), cancel,
                             bound);
    int32_t ring[FEW], size;
    return hs_ring_exact(&able->inner, cancel, ring, &size, bound);
}

/* Translates a ring into the numbers of the able workers, and computes its makespan with the best
 * shares. */
static hs_status balance_ring(const hs__ring_able *able, int32_t workers, int32_t size,
                              const int32_t *ring, const int *cancel, double *makespan)
{
    const hs_status status = hs__ring_check(workers, size, ring);
    if (status) return status;
    int32_t *place = malloc((size_t)workers * sizeof *place);
    int32_t *inner = malloc((size_t)size * sizeof *inner);
    double *shares = malloc((size_t)able->count * sizeof *shares);
    hs_status found = hs__check_memory(place && inner && shares);
    for (int32_t i = 0; i < workers && !found; i++) place[i] = -1;
    for (int32_t k = 0; k < able->count && !found; k++) place[able->worker[k]] = k;
    for (int32_t k = 0; k < size && !found; k++) inner[k] = place[ring[k]];
    if (!found) found = hs_ring_shares(&able->inner, size, inner, cancel, shares, makespan);
    free(place);
    free(inner);
    free(shares);
    return found;
}

hs_status hs_ring_certificate(const hs_ring *problem, int32_t size, const int32_t *ring,
                              const double *shares, const int *cancel, hs_certificate *certificate)
{
    if (!ring || !certificate) return HS_ERROR_VALUE;
    hs__ring_able able;
    hs_status status = hs__ring_choose_able(problem, cancel, &able);
    if (status) return status;
    double value, bound;
    if (!able.alike || !shares) status = hs__ring_restrict(problem, &able);
    if (!status)
        status = shares ? time_shares(problem, size, ring, shares, &value)
                        : balance_ring(&able, problem->p, size, ring, cancel, &value);
    if (!status) status = find_bound(problem, &able, value, cancel, &bound);
    hs__ring_close_able(&able);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
}
