/* Ring problems in their own units, the cost of a ring, the edges that no better ring can have, and
 * hs_ring_shares. */
#include "ring/ring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/sort.h"

static bool in_range(double value, bool zero)
{
    return (zero && value == 0.0) || (value >= 0x1p-200 && value <= 0x1p200);
}

bool hs__ring_valid_message(const hs_ring *problem, size_t i, size_t j)
{
    return in_range(hs__ring_link(problem, i, j), true) &&
           (!hs__ring_affine(problem) || (hs__ring_latency(problem, i, j) >= 0.0 &&
                                          in_range(hs__ring_message(problem, i, j), true)));
}

bool hs__ring_valid_worker(const hs_ring *problem, size_t i)
{
    return in_range(problem->cycle_times[i], false) &&
           in_range(hs__ring_overhead(problem, i), true);
}

bool hs__ring_valid_step(const hs_ring *problem)
{
    return in_range(problem->work, false) && in_range(problem->volume, true);
}

/* Returns whether the numbers are in range; after a cancellation only some rows have been
 * checked. */
static bool is_valid(const hs_ring *problem, const int *cancel)
{
    if (!problem || !problem->cycle_times) return false;
    if (problem->p < 1 || problem->p > HS_RING_MOST || !hs__ring_valid_step(problem)) return false;
    const size_t p = (size_t)problem->p;
    for (size_t i = 0; i < p && !hs__cancelled(cancel); i++) {
        if (!hs__ring_valid_worker(problem, i)) return false;
        for (size_t j = 0; j < p; j++)
            if (i != j && !hs__ring_valid_message(problem, i, j)) return false;
    }
    return true;
}

hs_status hs__ring_open(hs__ring *x, const hs_ring *problem, const int *cancel)
{
    if (!is_valid(problem, cancel)) return HS_ERROR_VALUE;
    const size_t p = (size_t)problem->p;
    *x = (hs__ring){.p = problem->p, .relays = problem->relays != 0, .work = 1.0};
    x->speed = malloc(p * sizeof *x->speed);
    x->payment = malloc(p * p * sizeof *x->payment);
    x->edge = malloc(p * p * sizeof *x->edge);
    if (!x->speed || !x->payment || !x->edge) {
        hs__ring_close(x);
        return HS_ERROR_MEMORY;
    }
    double fastest = problem->cycle_times[0];
    for (size_t i = 1; i < p; i++) fastest = fmin(fastest, problem->cycle_times[i]);
    const double ratio = (hs__ring_affine(problem) ? 1.0 : problem->volume) / problem->work;
    x->unit = problem->work * fastest;
    for (size_t i = 0; i < p && !hs__cancelled(cancel); i++) {
        /* Half of the overhead in each entry, on the diagonal, too: a ring of one reads that entry
         * twice. */
        const double half = 0.5 * hs__ring_overhead(problem, i) / fastest / problem->work;
        x->speed[i] = fastest / problem->cycle_times[i];
        for (size_t j = 0; j < p; j++)
            x->payment[i * p + j] =
                half + (i == j ? 0.0 : hs__ring_message(problem, i, j) / fastest * ratio);
    }
    for (size_t i = 0; i < p && !hs__cancelled(cancel); i++)
        for (size_t j = 0; j < p; j++)
            x->edge[i * p + j] =
                x->payment[i * p + j] * x->speed[i] + x->payment[j * p + i] * x->speed[j];
    if (!hs__cancelled(cancel)) return HS_OK;
    hs__ring_close(x);
    return HS_ERROR_CANCELLED;
}

void hs__ring_close(hs__ring *x)
{
    free(x->speed);
    free(x->payment);
    free(x->edge);
    *x = (hs__ring){0};
}

double hs__ring_balanced(const hs__ring *x, int32_t size, const int32_t *ring, double *most)
{
    const size_t p = (size_t)x->p;
    double length = 0.0;
    double speed = 0.0;
    double dearest = 0.0;
    size_t before = (size_t)ring[size - 1];
    size_t own = (size_t)ring[0];
    for (int32_t k = 0; k < size; k++) {
        const size_t next = (size_t)ring[hs__place_after(k, size)];
        const double paid = x->payment[own * p + before] + x->payment[own * p + next];
        length += x->edge[own * p + next];
        speed += x->speed[own];
        if (paid > dearest) dearest = paid;
        before = own;
        own = next;
    }
    *most = dearest;
    return (x->work + length) / speed;
}

double hs__ring_value(const hs__ring *x, int32_t size, const int32_t *ring)
{
    double most;
    double time = hs__ring_balanced(x, size, ring, &most);
    if (time > most || size == 1) return time;
    return x->relays ? most : INFINITY;
}

void hs__ring_turn(int32_t size, int32_t *ring)
{
    int32_t least = 0;
    for (int32_t k = 1; k < size; k++)
        if (ring[k] < ring[least]) least = k;
    /* three reversals make a rotation */
    hs__reverse(least, ring);
    hs__reverse(size - least, ring + least);
    hs__reverse(size, ring);
    if (size > 2 && ring[1] > ring[size - 1]) hs__reverse(size - 1, ring + 1);
}

hs_status hs__ring_check(int32_t p, int32_t size, const int32_t *ring)
{
    return size < 1 || size > p ? HS_ERROR_VALUE : hs__check_order(p, size, ring, NULL);
}

hs_status hs__ring_prune(const hs__ring *x, double value, const int *cancel, bool *gone)
{
    const size_t p = (size_t)x->p;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < p; i++) {
            if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
            double least = INFINITY;
            double second = INFINITY;
            for (size_t j = 0; j < p; j++) {
                if (j == i || gone[i * p + j]) continue;
                const double paid = x->payment[i * p + j];
                if (paid < least) {
                    second = least;
                    least = paid;
                } else if (paid < second) second = paid;
            }
            for (size_t j = 0; j < p; j++) {
                if (j == i || gone[i * p + j]) continue;
                const double paid = x->payment[i * p + j];
                const double other = paid > least ? least : second;
                if (paid + other >= value) gone[i * p + j] = gone[j * p + i] = again = true;
            }
        }
    }
    return HS_OK;
}

/* Keeps, of the members, those that get a share: ascending by payment, each that pays less than the
 * time in which the members before it would end. To drop the members that pay most instead would be
 * wrong where rounding hides the work beside their messages. */
static hs_status keep_members(int32_t p, const double *speed, const double *paid, bool *member)
{
    int32_t *order = malloc((size_t)p * sizeof *order);
    const hs_status status = order ? hs__sort(p, paid, order) : HS_ERROR_MEMORY;
    double all = 1.0;
    double total = 0.0;
    double least = 0.0;
    for (int32_t k = 0; k < p && !status; k++) {
        const int32_t i = order[k];
        if (!member[i]) continue;
        if (total == 0.0) least = paid[i];
        member[i] = total == 0.0 || paid[i] - least < all / total;
        if (!member[i]) continue;
        all += (paid[i] - least) * speed[i];
        total += speed[i];
    }
    free(order);
    return status;
}

/* The payments and speeds of the members determine the least time T with sum max(0, T - paid) speed
 * = 1: the members that pay most get nothing. The step then lasts T, or as long as the messages of
 * the member that pays most.
 *
 * Two precautions against cancellation: T is counted from the least payment, so that this member
 * gets a share, however small the work is beside the messages. And the share of the fastest member,
 * where T - paid would lose digits first, is computed as what the other members leave. */
hs_status hs__ring_divide(int32_t workers, const double *speed, const double *paid, bool balanced,
                          double time, bool *member, double *shares)
{
    const size_t p = (size_t)workers;
    const hs_status status = balanced ? HS_OK : keep_members(workers, speed, paid, member);
    if (status) return status;
    double least = INFINITY;
    double all = 1.0;
    double total = 0.0;
    for (size_t i = 0; i < p; i++)
        if (member[i]) least = fmin(least, paid[i]);
    for (size_t i = 0; i < p; i++)
        if (member[i]) {
            all += (paid[i] - least) * speed[i];
            total += speed[i];
        }
    const double beyond = all / total;
    size_t fastest = p;
    for (size_t i = 0; i < p; i++) {
        const double rest = beyond - (paid[i] - least);
        shares[i] = member[i] ? (rest > 0.0 ? rest : time - paid[i]) * speed[i] : 0.0;
        if (member[i] && (fastest == p || speed[i] > speed[fastest])) fastest = i;
    }
    double others = 0.0;
    for (size_t i = 0; i < p; i++) others += i == fastest ? 0.0 : shares[i];
    if (others < 1.0) shares[fastest] = 1.0 - others;
    const double sum = others + shares[fastest];
    for (size_t i = 0; i < p; i++) shares[i] /= sum;
    return HS_OK;
}

hs_status hs_ring_shares(const hs_ring *problem, int32_t size, const int32_t *ring,
                         const int *cancel, double *shares, double *makespan)
{
    if (!ring || !shares || !makespan) return HS_ERROR_VALUE;
    hs__ring x;
    hs_status status = hs__ring_open(&x, problem, cancel);
    if (status) return status;
    const size_t p = (size_t)x.p;
    bool *member = calloc(p, sizeof *member);
    double *paid = calloc(p, sizeof *paid);
    if (!member || !paid) status = HS_ERROR_MEMORY;
    else status = hs__ring_check(x.p, size, ring);
    if (!status) {
        double most;
        const double time = hs__ring_balanced(&x, size, ring, &most);
        for (int32_t k = 0; k < size; k++) {
            const size_t own = (size_t)ring[k];
            const size_t before = (size_t)ring[(k + size - 1) % size];
            const size_t next = (size_t)ring[(k + 1) % size];
            member[own] = true;
            paid[own] = x.payment[own * p + before] + x.payment[own * p + next];
        }
        const bool balanced = time > most || size == 1;
        if (!balanced && !x.relays) status = HS_ERROR_INFEASIBLE;
        else {
            status = hs__ring_divide(x.p, x.speed, paid, balanced, time, member, shares);
            if (!status) *makespan = (balanced ? time : most) * x.unit;
        }
    }
    free(member);
    free(paid);
    hs__ring_close(&x);
    return status;
}
