/* Common parts of demand-driven products: their simulation and their bounds. */
#ifndef HS_SCHEDULE_DYNAMIC_H
#define HS_SCHEDULE_DYNAMIC_H

#include "schedule/schedule.h"

/* Returns the number of axes of a task: row and column, and depth. */
static inline int hs__dynamic_axes(const hs_dynamic *x)
{
    return x->kind == HS_DYNAMIC_MATRIX ? 3 : 2;
}

/* Returns the number of blocks of an operand: n, or n^2. */
static inline int64_t hs__dynamic_blocks(const hs_dynamic *x)
{
    return x->kind == HS_DYNAMIC_MATRIX ? x->n * x->n : x->n;
}

static inline int64_t hs__dynamic_tasks(const hs_dynamic *x)
{
    return x->n * hs__dynamic_blocks(x);
}

/* Returns whether all fields but method and beta are in their ranges. */
bool hs__dynamic_valid(const hs_dynamic *x);

/* Returns the least number of blocks with which a worker can do so many tasks. */
int64_t hs__dynamic_least(const hs_dynamic *x, int64_t tasks);

#endif
