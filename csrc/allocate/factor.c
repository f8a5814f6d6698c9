#include "allocate/factor.h"

#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "hetsched.h"

int hs__factor_blocks_init(hs__factor_blocks *b, int32_t kind, int64_t m, int64_t n, int64_t block)
{
    if (kind < HS_LU || kind > HS_QR || (kind == HS_CHOLESKY && m != n)) return 0;
    if (m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX || block < 1 || block > INT32_MAX) return 0;
    const int64_t rank = hs__min(m, n), panels = hs__ceil_div(rank, block), count = panels + hs__ceil_div(n - rank, block);
    if (count > 46340) return 0;
    *b = (hs__factor_blocks){kind, m, n, block, (int32_t)panels, (int32_t)count};
    return 1;
}

hs_status hs_factor_blocks(int64_t m, int64_t n, int64_t block, int32_t *count)
{
    hs__factor_blocks b;
    if (!count || !hs__factor_blocks_init(&b, HS_LU, m, n, block)) return HS_ERROR_VALUE;
    *count = b.count;
    return HS_OK;
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

/* Rows from the diagonal of block j on; columns of one. */
static double rows_of(const hs__factor_blocks *b, int32_t j) { return (double)(b->m - hs__block_first(b, j)); }
static double width_of(const hs__factor_blocks *b, int32_t j) { return (double)hs__block_width(b, j); }

double hs__panel_work(const hs__factor_blocks *b, int32_t k)
{
    const double rows = rows_of(b, k), width = width_of(b, k);
    if (b->kind == HS_LU) return width * width * (rows - width / 3.0) / 2.0;
    if (b->kind == HS_CHOLESKY) return width * width * (rows - width * 2.0 / 3.0) / 2.0;
    return width * width * (rows - width / 3.0) * 1.5; /* T takes half as much again */
}

/* Of each column of an update, in LU and QR. */
static double column_work(const hs__factor_blocks *b, int32_t k)
{
    const double rows = rows_of(b, k), width = width_of(b, k);
    return b->kind == HS_LU ? width * (rows - width / 2.0) : width * (2.0 * rows - width / 2.0);
}

double hs__update_work(const hs__factor_blocks *b, int32_t k, int32_t j)
{
    const double cols = width_of(b, j);
    return b->kind == HS_CHOLESKY ? width_of(b, k) * cols * (rows_of(b, j) - cols / 2.0) : column_work(b, k) * cols;
}

double hs__updates_work(const hs__factor_blocks *b, int32_t k)
{
    const double behind = (double)(b->n - hs__block_first(b, k)) - width_of(b, k);
    return b->kind == HS_CHOLESKY ? width_of(b, k) * behind * behind / 2.0 : column_work(b, k) * behind;
}

double hs__panel_elements(const hs__factor_blocks *b, int32_t k)
{
    const double width = width_of(b, k);
    return (rows_of(b, k) + (b->kind == HS_QR ? width : 0.0)) * width;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

int hs__factor_valid_costs(const hs_factor_costs *costs, const hs__factor_blocks *blocks, int32_t p, const int32_t *owner)
{
    if (!costs) return 1;
    if ((costs->panels && !hs__valid_times(p, costs->panels)) || (costs->links && !hs__valid_costs((int64_t)p * p, costs->links))) return 0;
    for (int32_t k = 0; k < blocks->panels && costs->panels; k++)
        if (isinf(costs->panels[owner[k]])) return 0;
    return costs->late_panel == 0 || costs->late_panel == 1;
}

int hs__factor_ports_init(hs__factor_ports *ports, const hs__factor_blocks *blocks, int32_t p, const int32_t *owner, const double *links)
{
    *ports = (hs__factor_ports){.p = p, .owner = owner, .links = links, .out = calloc(2 * (size_t)p, sizeof *ports->out),
                            .last = malloc((size_t)p * sizeof *ports->last)};
    if (!ports->out || !ports->last) return 0;
    ports->in = ports->out + p;
    for (int32_t w = 0; w < p; w++) ports->last[w] = -1;
    for (int32_t j = 0; j < blocks->count; j++) ports->last[owner[j]] = j;
    return 1;
}

void hs__factor_ports_end(hs__factor_ports *ports) { free(ports->out), free(ports->last); }

int32_t hs__factor_broadcast(hs__factor_ports *ports, const hs__factor_blocks *b, int32_t k, double ready, double *arrivals, double *starts, int32_t *order)
{
    const int32_t p = ports->p, sender = ports->owner[k];
    const int32_t urgent = k + 1 < b->panels && ports->owner[k + 1] != sender ? ports->owner[k + 1] : -1;
    const double elements = hs__panel_elements(b, k);
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
    hs__factor_blocks blocks;
    hs__factor_ports ports;
    const int32_t *owner;
    const double *cycle_times, *panel_times;
    double *now;               /* [p] when each worker is free */
    double *ready;             /* [p] when each has the panel of the step; without links [0] for all */
    double *starts;            /* [p] of the messages */
    int32_t *order;            /* [p] */
    hs_factor_task *tasks;
    hs_factor_message *messages;
    int64_t count, message_count;
    double end, work;
} schedule;

/* The owner of block j does its update k, or with j == k factors it, when both it and the panel are ready; returns the end. */
static double add(schedule *s, int32_t k, int32_t j)
{
    const int32_t worker = s->owner[j];
    const double work = k == j ? hs__panel_work(&s->blocks, k) : hs__update_work(&s->blocks, k, j);
    const double start = k == j ? s->now[worker] : fmax(s->now[worker], s->ready[s->ports.links ? worker : 0]);
    const double end = start + work * (k == j ? s->panel_times : s->cycle_times)[worker];
    s->now[worker] = end;
    if (s->tasks) s->tasks[s->count] = (hs_factor_task){.worker = worker, .panel = k, .block = j, .start = start, .end = end, .work = work};
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
    const int32_t count = hs__factor_broadcast(&s->ports, &s->blocks, k, ready, s->ready, s->starts, s->order);
    for (int32_t i = 0; i < count && s->messages; i++) {
        const int32_t w = s->order[i];
        s->messages[s->message_count + i] = (hs_factor_message){.panel = k, .sender = s->owner[k], .receiver = w, .start = s->starts[w], .end = s->ready[w]};
    }
    s->message_count += count;
}

hs_status hs_factor_simulate(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p, const double *cycle_times, const int32_t *owner,
                         const hs_factor_costs *costs, const int *cancel, double *makespan, double *work, hs_factor_task *tasks, int64_t *task_count,
                         hs_factor_message *messages, int64_t *message_count)
{
    hs__factor_blocks b;
    if (!hs__factor_blocks_init(&b, kind, m, n, block) || p < 1 || !cycle_times || !makespan || (b.count && !owner)) return HS_ERROR_VALUE;
    if (!hs__valid_times(p, cycle_times)) return HS_ERROR_VALUE;
    for (int32_t j = 0; j < b.count; j++)
        if (owner[j] < 0 || owner[j] >= p || isinf(cycle_times[owner[j]])) return HS_ERROR_VALUE;
    if (!hs__factor_valid_costs(costs, &b, p, owner)) return HS_ERROR_VALUE;
    const int late = costs && costs->late_panel;
    double *numbers = calloc(3 * (size_t)p, sizeof *numbers);
    int32_t *order = malloc((size_t)p * sizeof *order);
    schedule s = {.blocks = b, .owner = owner, .cycle_times = cycle_times, .panel_times = costs && costs->panels ? costs->panels : cycle_times,
                  .now = numbers, .ready = numbers + p, .starts = numbers + 2 * (size_t)p, .order = order, .tasks = tasks, .messages = messages};
    int fits = numbers && order;
    if (fits && costs && costs->links) fits = hs__factor_ports_init(&s.ports, &b, p, owner, costs->links);
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
    hs__factor_ports_end(&s.ports);
    free(numbers), free(order);
    if (!fits) return HS_ERROR_MEMORY;
    if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
    *makespan = s.end;
    if (work) *work = s.work;
    if (task_count) *task_count = s.count;
    if (message_count) *message_count = s.message_count;
    return HS_OK;
}
