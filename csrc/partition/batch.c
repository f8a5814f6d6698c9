/* hs_partition_batch: one problem after the other in the same workspace. */
#include <string.h>

#include "partition/planner.h"

/* Writes the rectangle of each worker, all 0 for a worker without a zone. */
static hs_status write_rects(const hs__planner *s, double *rects)
{
    const int32_t p = s->problem.p;
    if (s->pieces < p) memset(rects, 0, 4 * (size_t)p * sizeof *rects);
    for (int32_t k = 0; k < s->pieces; k++) {
        if (k > 0 && s->workers[k] == s->workers[k - 1]) return HS_ERROR_VALUE;
        memcpy(rects + 4 * (size_t)s->workers[k], s->rects + 4 * (size_t)k, 4 * sizeof *rects);
    }
    return HS_OK;
}

hs_status hs_partition_batch(int64_t rows, const hs_partition *problem, const hs_effort *effort,
                             const int *cancel, double *costs, double *bounds, int32_t *optimal,
                             double *rects, int64_t *failed)
{
    if (!problem || rows < 0) return HS_ERROR_VALUE;
    if (rows > 0 && (!problem->areas || !costs || !bounds || !optimal)) return HS_ERROR_VALUE;
    hs__planner s;
    hs_status status = hs__planner_open(&s, problem, effort, cancel);
    const int64_t p = problem->p;
    int64_t wrong = -1;
    s.writes_plan = problem->method != HS_PARTITION_COLUMNS || problem->m > 0;
    for (int64_t row = 0; row < rows && !status; row++) {
        hs_certificate found;
        const double *given = problem->rects;
        if (given) given += row * 4 * problem->each * p;
        status = hs__planner_solve(&s, problem->areas + row * p, given, &found);
        if (!status && rects) status = write_rects(&s, rects + row * 4 * p);
        if (status) {
            wrong = row;
            break;
        }
        costs[row] = found.value;
        bounds[row] = found.bound;
        optimal[row] = found.optimal;
    }
    hs__planner_close(&s);
    if (failed) *failed = wrong;
    return status;
}
