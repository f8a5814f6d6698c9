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

typedef struct {
    hs__lu_blocks blocks;
    const int32_t *owner;
    const double *cycle_times;
    double *now;   /* [p] when each worker is free */
    double *ready; /* [panels] when each is factored */
    hs_lu_task *tasks;
    int64_t count;
    double end, work;
} schedule;

/* The owner of block j does its update k, or with j == k factors it, when both it and the panel are ready. */
static void add(schedule *s, int32_t k, int32_t j)
{
    const int32_t worker = s->owner[j];
    const double work = k == j ? hs__lu_panel_work(&s->blocks, k) : hs__lu_update_work(&s->blocks, k, j);
    const double start = k == j ? s->now[worker] : fmax(s->now[worker], s->ready[k]);
    const double end = start + work * s->cycle_times[worker];
    s->now[worker] = end;
    if (k == j) s->ready[k] = end;
    if (s->tasks) s->tasks[s->count] = (hs_lu_task){.worker = worker, .panel = k, .block = j, .start = start, .end = end, .work = work};
    s->count++;
    s->work += work;
    s->end = fmax(s->end, end);
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
    double *ready = calloc((size_t)b.panels + 1, sizeof *ready);
    if (!now || !ready) {
        free(now), free(ready);
        return HS_ERROR_MEMORY;
    }
    schedule s = {.blocks = b, .owner = owner, .cycle_times = cycle_times, .now = now, .ready = ready, .tasks = tasks};
    for (int32_t k = -1; k < b.panels; k++) {
        const int32_t next = k + 1;
        if (next < b.panels) { /* look-ahead: the next panel before the rest of the update */
            if (k >= 0) add(&s, k, next);
            add(&s, next, next);
        }
        for (int32_t j = next < b.panels ? next + 1 : next; k >= 0 && j < b.count; j++) add(&s, k, j);
    }
    free(now), free(ready);
    *makespan = s.end;
    if (work) *work = s.work;
    if (task_count) *task_count = s.count;
    return HS_OK;
}
