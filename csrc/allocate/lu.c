#include "lu.h"

#include <math.h>
#include <stdlib.h>

#include "hetsched.h"

int hs__lu_blocks_init(hs__lu_blocks *b, int64_t m, int64_t n, int64_t block)
{
    const int64_t rank = m < n ? m : n, panels = (rank + block - 1) / block, count = panels + (n - rank + block - 1) / block;
    if (count > 46340) return 0;
    *b = (hs__lu_blocks){m, n, block, (int32_t)panels, (int32_t)count};
    return 1;
}

hs_status hs_lu_blocks(int64_t m, int64_t n, int64_t block, int32_t *count)
{
    hs__lu_blocks b;
    if (m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX || block < 1 || block > INT32_MAX || !count) return HS_ERROR_VALUE;
    if (!hs__lu_blocks_init(&b, m, n, block)) return HS_ERROR_VALUE;
    *count = b.count;
    return HS_OK;
}

hs_status hs_lu_simulate(int64_t m, int64_t n, int64_t block, int32_t p, const double *cycle_times, const int32_t *owner, double *makespan,
                         double *work, hs_lu_task *tasks, int64_t *task_count)
{
    hs__lu_blocks b;
    if (m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX || block < 1 || block > INT32_MAX || p < 1) return HS_ERROR_VALUE;
    if (!hs__lu_blocks_init(&b, m, n, block) || !cycle_times || !makespan || (b.count && !owner)) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++)
        if (!(cycle_times[i] > 0.0)) return HS_ERROR_VALUE;
    for (int32_t j = 0; j < b.count; j++)
        if (owner[j] < 0 || owner[j] >= p || isinf(cycle_times[owner[j]])) return HS_ERROR_VALUE;
    double *now = calloc((size_t)p, sizeof *now);
    double *ready = calloc((size_t)b.panels + 1, sizeof *ready); /* when panel k - 1 is factored */
    if (!now || !ready) {
        free(now), free(ready);
        return HS_ERROR_MEMORY;
    }
    double end = 0.0, sum = 0.0;
    int64_t count = 0;
#define TASK(K, J, WORK)                                                                                                   \
    do {                                                                                                                   \
        const int32_t w = owner[J];                                                                                        \
        const double done = (WORK), start = now[w] > ready[(K) == (J) ? 0 : (K) + 1] ? now[w] : ready[(K) == (J) ? 0 : (K) + 1]; \
        now[w] = start + done * cycle_times[w];                                                                            \
        sum += done;                                                                                                       \
        if (now[w] > end) end = now[w];                                                                                    \
        if (tasks) tasks[count] = (hs_lu_task){w, K, J, 0, start, now[w], done};                                           \
        count++;                                                                                                           \
    } while (0)
    for (int32_t k = -1; k < b.panels; k++) {
        const int32_t next = k + 1;
        if (next < b.panels) { /* look-ahead: the next panel before the rest of the update */
            if (k >= 0) TASK(k, next, hs__lu_update_work(&b, k, next));
            TASK(next, next, hs__lu_panel_work(&b, next));
            ready[next + 1] = now[owner[next]];
        }
        for (int32_t j = next < b.panels ? next + 1 : next; k >= 0 && j < b.count; j++) TASK(k, j, hs__lu_update_work(&b, k, j));
    }
#undef TASK
    free(now), free(ready);
    *makespan = end;
    if (work) *work = sum;
    if (task_count) *task_count = count;
    return HS_OK;
}
