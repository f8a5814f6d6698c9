/* Partitions of the unit square for many sets of workers, one after the other in the same
 * workspace. */
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "partition/columns.h"
#include "partition/floorplan.h"

/* Workspace for one set. */
typedef struct {
    void *columns; /* of hs__columns */
    /* [8 p] for hs__column_rects, or the pieces of the interval; [p] areas of the zones */
    double *rects, *areas;
    int32_t *order, *start, *plan; /* [p], [p + 1], [2 p] */
} batch_space;

static hs_status by_columns(int32_t p, const double *areas, const int *cancel, const batch_space *s,
                            double *rects)
{
    int32_t columns, size;
    double cost;
    const hs_status status = hs__columns(p, areas, 1.0, 1, p, p, cancel, s->columns, s->order,
                                         s->start, &columns, &cost);
    if (status) return status;
    hs__column_rects(p, areas, hs__partition_total(p, areas, NULL, 1.0, &size), s->order, s->start,
                     columns, s->rects, rects);
    return HS_OK;
}

static hs_status by_interval(int32_t p, const double *areas, const int *cancel,
                             const batch_space *s, double *rects)
{
    int32_t length, pieces;
    double cost;
    hs_status status = hs_partition_interval(p, areas, NULL, 1.0, NULL, NULL, 0.0, 0, cancel,
                                             s->plan, &length, &cost);
    int32_t *workers = s->plan + 2 * (size_t)p;
    if (!status)
        status = hs_floorplan_rects(p, areas, NULL, 1.0, s->plan, length, workers, s->rects,
                                    &pieces, NULL);
    if (status) return status;
    memset(rects, 0, 4 * (size_t)p * sizeof *rects);
    for (int32_t k = 0; k < pieces; k++)
        memcpy(rects + 4 * (size_t)workers[k], s->rects + 4 * (size_t)k, 4 * sizeof *rects);
    return HS_OK;
}

hs_status hs_partition_batch(hs_batch_method method, int64_t rows, int32_t p, const double *areas,
                             const int *cancel, double *rects, double *bounds)
{
    if (rows < 0 || p < 1 || (rows > 0 && (!areas || !rects || !bounds))) return HS_ERROR_VALUE;
    if (method != HS_BATCH_COLUMNS && method != HS_BATCH_INTERVAL) return HS_ERROR_VALUE;
    const size_t n = (size_t)p, numbers = 9 * n * sizeof(double), columns = hs__columns_space(p);
    char *memory = malloc(numbers + columns + (6 * n + 1) * sizeof(int32_t));
    if (!memory) return HS_ERROR_MEMORY;
    int32_t *integers = (int32_t *)(memory + numbers + columns);
    const batch_space s = {.columns = memory + numbers,
                           .rects = (double *)memory,
                           .areas = (double *)memory + 8 * n,
                           .order = integers,
                           .start = integers + n,
                           .plan = integers + 2 * n + 1};
    hs_status status = HS_OK;
    for (int64_t row = 0; row < rows && !status; row++) {
        const double *own = areas + row * p;
        double *zones = rects + 4 * row * p;
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        else
            status =
                (method == HS_BATCH_COLUMNS ? by_columns : by_interval)(p, own, cancel, &s, zones);
        for (int32_t i = 0; i < p && !status; i++)
            s.areas[i] = zones[4 * (size_t)i + 2] * zones[4 * (size_t)i + 3];
        if (!status) status = hs_zones_bound(p, s.areas, NULL, 1.0, 1.0, 0, bounds + row);
    }
    free(memory);
    return status;
}
