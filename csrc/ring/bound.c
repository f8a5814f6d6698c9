/* hs_ring_bound: a lower bound on all rings. It is the time if every member paid only for its two
 * cheapest edges. The cost of an edge is divided between its ends by subgradient steps, so that the
 * bound becomes as large as possible. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ring/ring.h"

enum { PATIENCE = 8 };
static const double SAFE = 1.0 - 0x1p-40; /* margin for the rounding of sums */

typedef struct {
    const hs__ring *x;
    /* [p * p] the part of edge ij that i pays; with half[j][i] it is the whole edge */
    double *half;
    double *paid;       /* [p] sum of its two cheapest parts */
    int32_t *cheapest;  /* [2 p] the other ends of these two edges */
    double time, speed; /* the bound, and the total speed of the workers that take part in it */
} relaxation;

static hs_status choose_edges(relaxation *r, const int *cancel)
{
    const size_t p = (size_t)r->x->p;
    for (size_t i = 0; i < p; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        double least = INFINITY;
        double second = INFINITY;
        int32_t *own = r->cheapest + 2 * i;
        for (size_t j = 0; j < p; j++) {
            const double half = r->half[i * p + j];
            if (half >= second) continue;
            if (half < least) {
                second = least;
                own[1] = own[0];
                least = half;
                own[0] = (int32_t)j;
            } else {
                second = half;
                own[1] = (int32_t)j;
            }
        }
        r->paid[i] = least + second;
    }
    return HS_OK;
}

/* Computes the least T with sum max(0, T speed - paid) = 1; infinite if no worker can take part. */
static void solve_time(relaxation *r)
{
    const int32_t p = r->x->p;
    r->time = INFINITY;
    r->speed = 0.0;
    for (;;) { /* Newton's method; the sum is convex, so it converges from above */
        double all = 1.0;
        double speed = 0.0;
        for (int32_t i = 0; i < p; i++)
            if (isfinite(r->paid[i]) && r->time * r->x->speed[i] > r->paid[i]) {
                all += r->paid[i];
                speed += r->x->speed[i];
            }
        if (!(speed > 0.0) || !(all / speed < r->time)) return;
        r->time = all / speed;
        r->speed = speed;
    }
}

static bool takes_edge(const relaxation *r, int32_t i, int32_t j)
{
    const int32_t *cheapest = r->cheapest + 2 * (ptrdiff_t)i;
    return r->time * r->x->speed[i] > r->paid[i] && (cheapest[0] == j || cheapest[1] == j);
}

/* Makes an edge that only one end takes more expensive for this end and cheaper for the other
 * end. */
static void shift_costs(relaxation *r, double goal, double pace)
{
    const int32_t p = r->x->p;
    for (int pass = 0, odd = 0; pass < 2; pass++) {
        const double step = odd ? pace * (goal - r->time) * r->speed / odd : 0.0;
        if (pass && !odd) return;
        for (int32_t i = 0; i < p; i++) {
            for (int32_t c = 0; c < 2; c++) {
                const int32_t j = r->cheapest[2 * i + c];
                if (!takes_edge(r, i, j) || takes_edge(r, j, i)) continue;
                odd++;
                if (pass) {
                    r->half[(size_t)i * (size_t)p + (size_t)j] += step;
                    r->half[(size_t)j * (size_t)p + (size_t)i] -= step;
                }
            }
        }
    }
}

static hs_status improve_bound(relaxation *r, double goal, int32_t rounds, const int *cancel,
                               double *bound)
{
    double pace = 1.0;
    for (int32_t round = 0, stale = 0; round <= rounds; round++) {
        if (choose_edges(r, cancel)) return HS_ERROR_CANCELLED;
        solve_time(r);
        if (r->time > *bound * (1.0 + 1e-6)) stale = 0;
        else if (++stale == PATIENCE) {
            stale = 0;
            pace *= 0.5;
        }
        *bound = fmax(*bound, r->time);
        if (!(*bound < goal)) break;
        shift_costs(r, goal, pace);
    }
    return HS_OK;
}

hs_status hs_ring_bound(const hs_ring *problem, double makespan, int32_t rounds, const int *cancel,
                        double *bound)
{
    if (!bound) return HS_ERROR_VALUE;
    if (!(makespan > 0.0) || rounds < 0) return HS_ERROR_VALUE;
    hs__ring x;
    hs_status status = hs__ring_open(&x, problem, cancel);
    if (status) return status;
    const size_t p = (size_t)x.p;
    double goal = makespan / x.unit;
    for (int32_t i = 0; i < x.p; i++) goal = fmin(goal, hs__ring_value(&x, 1, &i));
    for (int32_t i = 0; i < x.p && !hs__cancelled(cancel); i++)
        for (int32_t j = i + 1; j < x.p; j++)
            goal = fmin(goal, hs__ring_value(&x, 2, (int32_t[]){i, j}));
    bool *gone = calloc(p * p, sizeof *gone);
    relaxation r = {
        .x = &x, .half = malloc(p * p * sizeof *r.half), .paid = malloc(p * sizeof *r.paid)};
    r.cheapest = calloc(2 * p, sizeof *r.cheapest);
    double least = 0.0;
    if (!gone || !r.half || !r.paid || !r.cheapest) status = HS_ERROR_MEMORY;
    else status = hs__ring_prune(&x, goal, cancel, gone);
    if (!status) {
        for (size_t i = 0; i < p && !hs__cancelled(cancel); i++)
            for (size_t j = 0; j < p; j++)
                r.half[i * p + j] =
                    i == j || gone[i * p + j] ? INFINITY : x.payment[i * p + j] * x.speed[i];
        status = improve_bound(&r, goal, rounds, cancel, &least);
    }
    if (!status) *bound = fmin(goal, least) * x.unit * SAFE;
    free(gone);
    free(r.half);
    free(r.paid);
    free(r.cheapest);
    hs__ring_close(&x);
    return status;
}
