#include "allocate/lu.h"

#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "hetsched.h"

int hs__lu_blocks_init(hs__lu_blocks *b, int64_t m, int64_t n, int64_t block)
{
    if (m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX || block < 1 || block > INT32_MAX) return 0;
    const int64_t rank = hs__min(m, n), panels = hs__ceil_div(rank, block), count = panels + hs__ceil_div(n - rank, block);
    if (count > 46340) return 0;
    *b = (hs__lu_blocks){m, n, block, (int32_t)panels, (int32_t)count};
    return 1;
}

hs_status hs_lu_blocks(int64_t m, int64_t n, int64_t block, int32_t *count)
{
    hs__lu_blocks b;
    if (!count || !hs__lu_blocks_init(&b, m, n, block)) return HS_ERROR_VALUE;
    *count = b.count;
    return HS_OK;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

int hs__lu_valid_costs(const hs_lu_costs *costs, const hs__lu_blocks *blocks, int32_t p, const int32_t *owner)
{
    if (!costs) return 1;
    if ((costs->panels && !hs__valid_times(p, costs->panels)) || (costs->links && !hs__valid_costs((int64_t)p * p, costs->links))) return 0;
    for (int32_t k = 0; k < blocks->panels && costs->panels; k++)
        if (isinf(costs->panels[owner[k]])) return 0;
    return costs->late_panel == 0 || costs->late_panel == 1;
}

int hs__lu_ports_init(hs__lu_ports *ports, const hs__lu_blocks *blocks, int32_t p, const int32_t *owner, const double *links)
{
    *ports = (hs__lu_ports){.p = p, .owner = owner, .links = links, .out = calloc(2 * (size_t)p, sizeof *ports->out),
                            .last = malloc((size_t)p * sizeof *ports->last)};
    if (!ports->out || !ports->last) return 0;
    ports->in = ports->out + p;
    for (int32_t w = 0; w < p; w++) ports->last[w] = -1;
    for (int32_t j = 0; j < blocks->count; j++) ports->last[owner[j]] = j;
    return 1;
}

void hs__lu_ports_end(hs__lu_ports *ports) { free(ports->out), free(ports->last); }

int32_t hs__lu_broadcast(hs__lu_ports *ports, const hs__lu_blocks *b, int32_t k, double ready, double *arrivals, double *starts, int32_t *order)
{
    const int32_t p = ports->p, sender = ports->owner[k];
    const int32_t urgent = k + 1 < b->panels && ports->owner[k + 1] != sender ? ports->owner[k + 1] : -1;
    const double elements = (double)(b->m - hs__lu_first(b, k)) * (double)hs__lu_width(b, k);
    double now = fmax(ready, ports->out[sender]);
    int32_t count = 0;
    arrivals[sender] = ready;
    for (int32_t turn = urgent < 0 ? 1 : 0; turn < p; turn++) {
        const int32_t w = turn ? (int32_t)(((int64_t)sender + turn) % p) : urgent;
        if ((turn && w == urgent) || ports->last[w] <= k) continue;
        const double start = fmax(now, ports->in[w]);
        now = ports->in[w] = arrivals[w] = start + elements * ports->links[(int64_t)sender * p + w];
        if (starts) starts[w] = start;
        if (order) order[count] = w;
        count++;
    }
    ports->out[sender] = now;
    return count;
}

/* ---- the schedule ----------------------------------------------------------------------------------------------- */

typedef struct {
    hs__lu_blocks blocks;
    hs__lu_ports ports;
    const int32_t *owner;
    const double *cycle_times, *panel_times;
    double *now;               /* [p] when each worker is free */
    double *ready;             /* [p] when each has the panel of the step; without links [0] for all */
    double *starts;            /* [p] of the messages */
    int32_t *order;            /* [p] */
    hs_lu_task *tasks;
    hs_lu_message *messages;
    int64_t count, message_count;
    double end, work;
} schedule;

/* The owner of block j does its update k, or with j == k factors it, when both it and the panel are ready; returns the end. */
static double add(schedule *s, int32_t k, int32_t j)
{
    const int32_t worker = s->owner[j];
    const double work = k == j ? hs__lu_panel_work(&s->blocks, k) : hs__lu_update_work(&s->blocks, k, j);
    const double start = k == j ? s->now[worker] : fmax(s->now[worker], s->ready[s->ports.links ? worker : 0]);
    const double end = start + work * (k == j ? s->panel_times : s->cycle_times)[worker];
    s->now[worker] = end;
    if (s->tasks) s->tasks[s->count] = (hs_lu_task){.worker = worker, .panel = k, .block = j, .start = start, .end = end, .work = work};
    s->count++;
    s->work += work;
    s->end = fmax(s->end, end);
    return end;
}

/* Panel k, once all updates of the step before are in the schedule, is sent to those who need it. */
static void spread(schedule *s, int32_t k, double ready)
{
    if (!s->ports.links) {
        s->ready[0] = ready;
        return;
    }
    const int32_t count = hs__lu_broadcast(&s->ports, &s->blocks, k, ready, s->ready, s->starts, s->order);
    for (int32_t i = 0; i < count && s->messages; i++) {
        const int32_t w = s->order[i];
        s->messages[s->message_count + i] = (hs_lu_message){.panel = k, .sender = s->owner[k], .receiver = w, .start = s->starts[w], .end = s->ready[w]};
    }
    s->message_count += count;
}

hs_status hs_lu_simulate(int64_t m, int64_t n, int64_t block, int32_t p, const double *cycle_times, const int32_t *owner,
                         const hs_lu_costs *costs, const int *cancel, double *makespan, double *work, hs_lu_task *tasks, int64_t *task_count,
                         hs_lu_message *messages, int64_t *message_count)
{
    hs__lu_blocks b;
    if (!hs__lu_blocks_init(&b, m, n, block) || p < 1 || !cycle_times || !makespan || (b.count && !owner)) return HS_ERROR_VALUE;
    if (!hs__valid_times(p, cycle_times)) return HS_ERROR_VALUE;
    for (int32_t j = 0; j < b.count; j++)
        if (owner[j] < 0 || owner[j] >= p || isinf(cycle_times[owner[j]])) return HS_ERROR_VALUE;
    if (!hs__lu_valid_costs(costs, &b, p, owner)) return HS_ERROR_VALUE;
    const int late = costs && costs->late_panel;
    double *numbers = calloc(3 * (size_t)p, sizeof *numbers);
    int32_t *order = malloc((size_t)p * sizeof *order);
    schedule s = {.blocks = b, .owner = owner, .cycle_times = cycle_times, .panel_times = costs && costs->panels ? costs->panels : cycle_times,
                  .now = numbers, .ready = numbers + p, .starts = numbers + 2 * (size_t)p, .order = order, .tasks = tasks, .messages = messages};
    int fits = numbers && order;
    if (fits && costs && costs->links) fits = hs__lu_ports_init(&s.ports, &b, p, owner, costs->links);
    for (int32_t k = -1; fits && k < b.panels && !hs__cancelled(cancel); k++) {
        const int32_t next = k + 1, panel = next < b.panels;
        double factored = 0.0;
        if (panel && (k < 0 || !late)) { /* look-ahead: the next panel before the rest of the update */
            if (k >= 0) add(&s, k, next);
            factored = add(&s, next, next);
        }
        for (int32_t j = panel && !late ? next + 1 : next; k >= 0 && j < b.count; j++) add(&s, k, j);
        if (panel && k >= 0 && late) factored = add(&s, next, next);
        if (panel) spread(&s, next, factored);
    }
    hs__lu_ports_end(&s.ports);
    free(numbers), free(order);
    if (!fits) return HS_ERROR_MEMORY;
    if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
    *makespan = s.end;
    if (work) *work = s.work;
    if (task_count) *task_count = s.count;
    if (message_count) *message_count = s.message_count;
    return HS_OK;
}
