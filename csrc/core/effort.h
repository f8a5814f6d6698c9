/* The end of a search that an hs_effort limits. */
#ifndef HS_CORE_EFFORT_H
#define HS_CORE_EFFORT_H

#include <math.h>
#include <stdbool.h>

#include "hetsched/certificate.h"

static inline bool hs__effort_valid(const hs_effort *effort)
{
    return !effort || !effort->timed || (effort->timed == 1 && effort->seconds >= 0.0);
}

static inline uint64_t hs__effort_seed(const hs_effort *effort) { return effort ? effort->seed : 0; }

static inline bool hs__effort_timed(const hs_effort *effort) { return effort && effort->timed; }

/* Returns when the search ends, by hs_clock; infinite for a fixed amount of work. */
static inline double hs__effort_end(const hs_effort *effort)
{
    return hs__effort_timed(effort) ? hs_clock() + effort->seconds : INFINITY;
}

#endif
