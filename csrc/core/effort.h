/* The end of a search that an hs_effort limits, and the rounds until then. */
#ifndef HS_CORE_EFFORT_H
#define HS_CORE_EFFORT_H

#include <math.h>
#include <stdbool.h>

#include "core/numbers.h"
#include "hetsched/certificate.h"

static inline bool hs__effort_valid(const hs_effort *effort)
{
    return !effort || !effort->timed || (effort->timed == 1 && effort->seconds >= 0.0);
}

static inline uint64_t hs__effort_seed(const hs_effort *effort)
{
    return effort ? effort->seed : 0;
}

static inline bool hs__effort_timed(const hs_effort *effort) { return effort && effort->timed; }

/* Returns when the search ends, by hs_clock; infinite for a fixed amount of work. */
static inline double hs__effort_end(const hs_effort *effort)
{
    return hs__effort_timed(effort) ? hs_clock() + effort->seconds : INFINITY;
}

/* The rounds of a search: one without a time limit; else as many as fit, each with as much work as
 * the pace of the one before allows until the end. */
typedef struct hs__rounds {
    bool timed;
    double began, end;   /* of this round and of the search, by hs_clock */
    double growth;       /* most times as much work as in the round before */
    int64_t least, most; /* work of a later round */
    int64_t work;        /* of this round */
} hs__rounds;

/* Begins the first round.
 *   fixed        its work without a time limit
 *   first        its work with a time limit
 *   least, most  work of later rounds, at most 2^53
 *   growth       > 1; infinite is allowed */
static inline hs__rounds hs__first_round(const hs_effort *effort, int64_t fixed, int64_t first,
                                         int64_t least, int64_t most, double growth)
{
    const bool timed = hs__effort_timed(effort);
    return (hs__rounds){.timed = timed,
                        .began = hs_clock(),
                        .end = hs__effort_end(effort),
                        .growth = growth,
                        .least = least,
                        .most = most,
                        .work = timed ? first : fixed};
}

/* Begins the next round; returns whether there is one. */
static inline bool hs__next_round(hs__rounds *x)
{
    const double now = hs_clock();
    if (!x->timed || !(now < x->end)) return false;
    const double before = (double)x->work;
    const double fits = before * (x->end - now) / fmax(now - x->began, 1e-6);
    const double wanted = fmin(fmin(x->growth * before, fits), (double)x->most);
    x->work = hs__max(x->least, (int64_t)wanted);
    x->began = now;
    return true;
}

#endif
