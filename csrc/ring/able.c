/* The workers that can work, and rings of workers whose messages all cost the same. */
#include "ring/able.h"

#include <math.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "core/sort.h"

/* Returns whether all messages between able workers have the same cost, and this cost is in range.
 * True for a single worker, which has no messages. */
static bool is_alike(const hs_ring *problem, const int *cancel, const hs__ring_able *able)
{
    if (able->count == 1) return true;
    const int32_t *worker = able->worker;
    const size_t one = (size_t)worker[0];
    const size_t other = (size_t)worker[1];
    const double first = hs__ring_message(problem, one, other);
    if (!hs__ring_valid_message(problem, one, other)) return false;
    if (!problem->links && !problem->latencies) return true;
    for (int32_t a = 0; a < able->count && !hs__cancelled(cancel); a++)
        for (int32_t b = 0; b < able->count; b++) {
            const size_t i = (size_t)worker[a];
            const size_t j = (size_t)worker[b];
            if (a != b && (hs__ring_message(problem, i, j) != first ||
                           !hs__ring_valid_message(problem, i, j)))
                return false;
        }
    return true;
}

hs_status hs__ring_choose_able(const hs_ring *problem, const int *cancel, hs__ring_able *able)
{
    if (!problem || problem->p < 1 || !problem->cycle_times || !hs__ring_valid_step(problem))
        return HS_ERROR_VALUE;
    *able = (hs__ring_able){.worker = malloc((size_t)problem->p * sizeof *able->worker)};
    if (!able->worker) return HS_ERROR_MEMORY;
    bool valid = true;
    for (int32_t i = 0; i < problem->p; i++) {
        if (problem->cycle_times[i] == INFINITY) continue;
        valid = valid && hs__ring_valid_worker(problem, (size_t)i);
        able->worker[able->count++] = i;
    }
    valid = valid && able->count > 0;
    able->alike = valid && is_alike(problem, cancel, able);
    if (valid && !hs__cancelled(cancel)) return HS_OK;
    hs__ring_close_able(able);
    return valid ? HS_ERROR_CANCELLED : HS_ERROR_VALUE;
}

/* Copies the rows and columns of the able workers. */
static void copy_matrix(const hs__ring_able *able, const double *matrix, size_t p, double *copy)
{
    for (int32_t i = 0; i < able->count; i++)
        for (int32_t j = 0; j < able->count; j++)
            *copy++ = matrix[(size_t)able->worker[i] * p + (size_t)able->worker[j]];
}

/* Removes latencies that are all 0. hs__ring_affine is then false, so that the times of messages
 * are rounded as in a problem without latencies. */
static void drop_latencies(hs_ring *problem)
{
    if (!problem->latencies) return;
    const size_t p = (size_t)problem->p;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            if (i != j && problem->latencies[i * p + j] != 0.0) return;
    problem->latencies = NULL;
    problem->latency = 0.0;
}

hs_status hs__ring_restrict(const hs_ring *problem, hs__ring_able *able)
{
    if (able->count > HS_RING_MOST) return HS_ERROR_UNSUPPORTED;
    const size_t n = (size_t)able->count;
    const size_t p = (size_t)problem->p;
    able->inner = *problem;
    if (n == p) {
        drop_latencies(&able->inner);
        return HS_OK;
    }
    able->numbers = malloc((2 * n + 2 * n * n) * sizeof *able->numbers);
    if (!able->numbers) return HS_ERROR_MEMORY;
    double *times = able->numbers;
    double *overheads = times + n;
    double *links = overheads + n;
    double *latencies = links + n * n;
    for (size_t k = 0; k < n; k++) {
        times[k] = problem->cycle_times[able->worker[k]];
        overheads[k] = hs__ring_overhead(problem, (size_t)able->worker[k]);
    }
    able->inner.p = able->count;
    able->inner.cycle_times = times;
    if (problem->overheads) able->inner.overheads = overheads;
    if (problem->links) {
        copy_matrix(able, problem->links, p, links);
        able->inner.links = links;
    }
    if (problem->latencies) {
        copy_matrix(able, problem->latencies, p, latencies);
        able->inner.latencies = latencies;
    }
    drop_latencies(&able->inner);
    return HS_OK;
}

void hs__ring_close_able(hs__ring_able *able)
{
    free(able->worker);
    free(able->numbers);
    *able = (hs__ring_able){0};
}

/* Numbers of the able workers in the order of their overheads. */
typedef struct {
    double *speed;    /* [count] relative to the fastest worker */
    double *overhead; /* [count] in multiples of `unit` */
    int32_t *order;   /* [count] ascending overheads */
    double unit;      /* time of the fastest worker for all the work */
} ranking;

static hs_status rank_workers(const hs_ring *problem, const hs__ring_able *able, ranking *r)
{
    const size_t n = (size_t)able->count;
    r->speed = malloc(n * sizeof *r->speed);
    r->overhead = malloc(n * sizeof *r->overhead);
    r->order = malloc(n * sizeof *r->order);
    if (!r->speed || !r->overhead || !r->order) return HS_ERROR_MEMORY;
    double fastest = INFINITY;
    for (size_t k = 0; k < n; k++) fastest = fmin(fastest, problem->cycle_times[able->worker[k]]);
    r->unit = problem->work * fastest;
    for (size_t k = 0; k < n; k++) {
        const size_t i = (size_t)able->worker[k];
        r->speed[k] = fastest / problem->cycle_times[i];
        r->overhead[k] = hs__ring_overhead(problem, i) / r->unit;
    }
    return hs__sort(able->count, r->overhead, r->order);
}

/* Solves as described in the header, from the ranking.
 *
 * Beside the messages, which all members pay alike, a ring of a set of workers takes (1 + sum of
 * overhead * speed) / sum of speed. Another worker makes this less if and only if its overhead is
 * below the time. So the best set consists of the workers with the least overheads; without
 * overheads, of all workers. One worker alone pays no messages. */
static hs_status choose_members(const hs_ring *problem, const hs__ring_able *able, const ranking *r,
                                bool *member, double *shares, double *makespan)
{
    const int32_t n = able->count;
    double speed = 0.0;
    double all = 1.0;
    int32_t size = 0;
    for (; size < n; size++) {
        const int32_t k = r->order[size];
        const double more = all + r->overhead[k] * r->speed[k];
        if (!(more / (speed + r->speed[k]) > r->overhead[k])) break;
        speed += r->speed[k];
        all = more;
    }
    double alone = INFINITY;
    int32_t best = 0;
    for (int32_t k = 0; k < n; k++) {
        const size_t i = (size_t)able->worker[k];
        const double time = problem->work * problem->cycle_times[i] + hs__ring_overhead(problem, i);
        if (time < alone) best = k;
        alone = fmin(time, alone);
    }
    double message = 0.0;
    if (n > 1) {
        message = hs__ring_message(problem, (size_t)able->worker[0], (size_t)able->worker[1]);
        if (!hs__ring_affine(problem)) message *= problem->volume;
    }
    const double together = r->unit * all / speed + 2.0 * message;
    const bool single = size == 1 || alone <= together;
    *makespan = single ? alone : together;
    if (!member) return HS_OK;
    for (int32_t k = 0; k < n; k++) member[k] = single && k == best;
    for (int32_t c = 0; c < size && !single; c++) member[r->order[c]] = true;
    if (problem->overheads && !single)
        return hs__ring_divide(n, r->speed, r->overhead, true, all / speed, member, shares);
    for (int32_t k = 0; k < n; k++) shares[k] = single ? (double)member[k] : r->speed[k] / speed;
    return HS_OK;
}

hs_status hs__ring_alike(const hs_ring *problem, const hs__ring_able *able, bool *member,
                         double *shares, double *makespan)
{
    ranking r = {0};
    hs_status status = rank_workers(problem, able, &r);
    if (!status) status = choose_members(problem, able, &r, member, shares, makespan);
    free(r.speed);
    free(r.overhead);
    free(r.order);
    return status;
}

int32_t hs__ring_bound_rounds(int32_t p)
{
    enum { MOST = 300, EFFORT = 200000000 };
    const int64_t rounds = 1 + EFFORT / ((int64_t)p * p);
    return (int32_t)hs__min(rounds, MOST);
}
