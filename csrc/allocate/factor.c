/* Simulation of LU, Cholesky and QR by blocks: the work of panels and updates, the messages that
 * carry panels, and the schedule with look-ahead. */
#include "allocate/factor_map.h"

#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "hetsched.h"

int hs__factor_blocks_init(hs__factor_blocks *b, int32_t kind, int64_t m, int64_t n, int64_t block)
{
    if (kind < HS_LU || kind > HS_QR || (kind == HS_CHOLESKY && m != n)) return 0;
    if (m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX || block < 1 || block > INT32_MAX)
        return 0;
    const int64_t rank = hs__min(m, n);
    const int64_t panels = hs__ceil_div(rank, block);
    const int64_t count = panels + hs__ceil_div(n - rank, block);
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

/* ---- work ------------------------------------------------------------------------------------ */

/* Rows from the diagonal of block j on. */
static double rows_of(const hs__factor_blocks *b, int32_t j)
{
    return (double)(b->m - hs__block_first(b, j));
}
static double width_of(const hs__factor_blocks *b, int32_t j)
{
    return (double)hs__block_width(b, j);
}

double hs__panel_work(const hs__factor_blocks *b, int32_t k)
{
    const double rows = rows_of(b, k);
    const double width = width_of(b, k);
    if (b->kind == HS_LU) return width * width * (rows - width / 3.0) / 2.0;
    if (b->kind == HS_CHOLESKY) return width * width * (rows - width * 2.0 / 3.0) / 2.0;
    /* the factor T of the block reflector adds half as much again */
    return width * width * (rows - width / 3.0) * 1.5;
}

/* Multiply-adds of an update per column, in LU and QR. */
static double column_work(const hs__factor_blocks *b, int32_t k)
{
    const double rows = rows_of(b, k);
    const double width = width_of(b, k);
    return b->kind == HS_LU ? width * (rows - width / 2.0) : width * (2.0 * rows - width / 2.0);
}

double hs__update_work(const hs__factor_blocks *b, int32_t k, int32_t j)
{
    const double cols = width_of(b, j);
    return b->kind == HS_CHOLESKY ? width_of(b, k) * cols * (rows_of(b, j) - cols / 2.0)
                                  : column_work(b, k) * cols;
}

double hs__updates_work(const hs__factor_blocks *b, int32_t k)
{
    const double behind = (double)(b->n - hs__block_first(b, k)) - width_of(b, k);
    return b->kind == HS_CHOLESKY ? width_of(b, k) * behind * behind / 2.0
                                  : column_work(b, k) * behind;
}

double hs__panel_elements(const hs__factor_blocks *b, int32_t k)
{
    const double width = width_of(b, k);
    return (rows_of(b, k) + (b->kind == HS_QR ? width : 0.0)) * width;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Whether all times of steps are positive, and finite where a worker has updates. */
static int are_valid_steps(const double *steps, const hs__factor_blocks *blocks, int32_t p,
                           const int32_t *owner)
{
    for (int32_t k = 0; k < blocks->panels; k++) {
        const double *times = steps + (int64_t)k * p;
        if (!hs__valid_times(p, times)) return 0;
        for (int32_t j = k + 1; j < blocks->count; j++)
            if (isinf(times[owner[j]])) return 0;
    }
    return 1;
}

int hs__factor_valid_costs(const hs_factor_costs *costs, const hs__factor_blocks *blocks, int32_t p,
                           const int32_t *owner)
{
    if (!costs) return 1;
    if ((costs->panels && !hs__valid_times(p, costs->panels)) ||
        (costs->links && !hs__valid_costs((int64_t)p * p, costs->links)))
        return 0;
    for (int32_t k = 0; k < blocks->panels && costs->panels; k++)
        if (isinf(costs->panels[owner[k]])) return 0;
    if (costs->steps && !are_valid_steps(costs->steps, blocks, p, owner)) return 0;
    return costs->segment >= 0 && (costs->late_panel == 0 || costs->late_panel == 1);
}

int hs__factor_ports_init(hs__factor_ports *ports, const hs__factor_blocks *blocks, int32_t p,
                          const int32_t *owner, const hs_factor_costs *costs)
{
    const size_t all = (size_t)p;
    *ports =
        (hs__factor_ports){.p = p,
                           .owner = owner,
                           .links = costs->links,
                           .segment = costs->segment,
                           .out = calloc(2 * all, sizeof *ports->out),
                           .last = malloc((2 * all + (size_t)blocks->count) * sizeof *ports->last)};
    if (!ports->out || !ports->last) return 0;
    ports->in = ports->out + p;
    ports->ring = ports->last + p;
    ports->next = ports->ring + p;
    for (int32_t w = 0; w < p; w++) ports->last[w] = -1;
    for (int32_t j = 0; j < blocks->count; j++) {
        const int32_t before = ports->last[owner[j]];
        if (before < 0) ports->ring[ports->waiting++] = j;
        else ports->next[before] = j;
        ports->next[j] = -1;
        ports->last[owner[j]] = j;
    }
    return 1;
}

void hs__factor_ports_end(hs__factor_ports *ports)
{
    free(ports->out);
    free(ports->last);
}

/* Replaces block k, the first of the ring, by the next block of its worker. */
static void advance_ring(hs__factor_ports *ports, int32_t k)
{
    const int32_t next = ports->next[k];
    int32_t i = 1;
    for (; i < ports->waiting && (next < 0 || ports->ring[i] < next); i++)
        ports->ring[i - 1] = ports->ring[i];
    if (next < 0) ports->waiting--;
    else ports->ring[i - 1] = next;
}

int32_t hs__factor_broadcast(hs__factor_ports *ports, const hs__factor_blocks *b, int32_t k,
                             double ready, double *arrivals, double *starts, int32_t *order)
{
    const int32_t owner = ports->owner[k];
    const double elements = hs__panel_elements(b, k);
    const double segment = ports->segment > 0 ? (double)ports->segment : elements;
    const double whole = elements > segment ? ceil(elements / segment) - 1.0 : 0.0; /* segments */
    const double rest = elements - whole * segment;
    int32_t sender = owner;
    int32_t count = 0;
    double first = ready; /* when the sender has the first segment, all whole segments, the panel */
    double most = ready;
    double last = ready;
    arrivals[owner] = ready;
    advance_ring(ports, k);
    for (int32_t i = 0; i < ports->waiting; i++) {
        const int32_t w = ports->owner[ports->ring[i]];
        if (w == owner) continue;
        const double link = ports->links[(int64_t)sender * ports->p + w];
        const double start = fmax(first, fmax(ports->out[sender], ports->in[w]));
        if (whole > 0.0) {
            first = start + segment * link;
            most = fmax(most + segment * link, start + whole * segment * link);
            last = fmax(most, last) + rest * link;
        } else first = last = start + elements * link;
        ports->out[sender] = ports->in[w] = arrivals[w] = last;
        if (starts) starts[w] = start;
        if (order) order[count] = w;
        count++;
        sender = w;
    }
    return count;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

typedef struct {
    hs__factor_map map;
    hs__factor_ports ports;
    const double *cycle_times, *panel_times;
    const double *steps; /* of hs_factor_costs, or NULL */
    double *now;         /* [p] when each worker is free */
    /* [p] when each worker has the panel of the step; without links [0] holds for all */
    double *ready;
    double *starts;  /* [p] of the messages */
    double *changed; /* [count] when the last part of each column has ended */
    double *headed;  /* [count] when the parts of each column may begin */
    int32_t *order;  /* [p] */
    hs_factor_task *tasks;
    hs_factor_message *messages;
    int64_t count, message_count;
    double end, work;
} schedule;

/* Returns the times per multiply-add of the workers for a task. */
static const double *times_of(const schedule *s, int32_t k, int32_t j)
{
    if (k == j) return s->panel_times;
    return s->steps ? s->steps + (int64_t)k * s->map.p : s->cycle_times;
}

/* Adds a task that starts at `ready` at the earliest; returns its end. */
static double add_task(schedule *s, int32_t k, int32_t j, int32_t worker, double work, double ready)
{
    const double start = fmax(s->now[worker], ready);
    const double end = start + work * times_of(s, k, j)[worker];
    s->now[worker] = end;
    if (s->tasks)
        s->tasks[s->count] = (hs_factor_task){
            .worker = worker, .panel = k, .block = j, .start = start, .end = end, .work = work};
    s->count++;
    s->work += work;
    s->end = fmax(s->end, end);
    return end;
}

static double factor_panel(schedule *s, int32_t k)
{
    return add_task(s, k, k, s->map.column[k], hs__panel_work(&s->map.blocks, k), s->changed[k]);
}

/* Adds the head of update k of column j, if it has one. */
static void add_head(schedule *s, int32_t k, int32_t j)
{
    const int32_t worker = hs__head_owner(&s->map, k, j);
    s->headed[j] = fmax(s->changed[j], s->ready[s->ports.links ? worker : 0]);
    if (!hs__is_whole(&s->map, k, j) && s->map.blocks.kind != HS_CHOLESKY)
        s->headed[j] = add_task(s, k, j, worker, hs__head_work(&s->map, k, j), s->headed[j]);
}

/* Adds the parts of update k of column j, or the whole update. */
static void add_parts(schedule *s, int32_t k, int32_t j)
{
    const double headed = s->headed[j];
    if (hs__is_whole(&s->map, k, j))
        s->changed[j] = add_task(s, k, j, hs__head_owner(&s->map, k, j),
                                 hs__update_work(&s->map.blocks, k, j), headed);
    else {
        for (int32_t w = 0; w < s->map.p; w++)
            if (hs__rows_of_part(&s->map, j, w))
                s->changed[j] = fmax(s->changed[j],
                                     add_task(s, k, j, w, hs__part_work(&s->map, k, j, w), headed));
    }
}

/* Sends panel k to the workers that need it, after all updates of the step before are in the
 * schedule. */
static void send_panel(schedule *s, int32_t k, double ready)
{
    if (!s->ports.links) {
        s->ready[0] = ready;
        return;
    }
    const int32_t count =
        hs__factor_broadcast(&s->ports, &s->map.blocks, k, ready, s->ready, s->starts, s->order);
    for (int32_t i = 0; i < count && s->messages; i++) {
        const int32_t w = s->order[i];
        const int32_t sender = i ? s->order[i - 1] : s->map.column[k];
        s->messages[s->message_count + i] = (hs_factor_message){
            .panel = k, .sender = sender, .receiver = w, .start = s->starts[w], .end = s->ready[w]};
    }
    s->message_count += count;
}

/* Adds the updates of step k (none for k = -1, before the first panel) and the next panel. */
static void add_step(schedule *s, int32_t k, int late)
{
    const int32_t next = k + 1;
    const int32_t panel = next < s->map.blocks.panels;
    const int32_t early = panel && (k < 0 || !late);
    const int32_t first = early ? next + 1 : next;
    double factored = 0.0;
    if (k >= 0) hs__factor_map_step(&s->map, k, -1);
    if (early) { /* look-ahead: the next panel before the rest of the updates */
        if (k >= 0) {
            add_head(s, k, next);
            add_parts(s, k, next);
        }
        factored = factor_panel(s, next);
    }
    for (int32_t j = first; k >= 0 && j < s->map.blocks.count; j++) add_head(s, k, j);
    for (int32_t j = first; k >= 0 && j < s->map.blocks.count; j++) add_parts(s, k, j);
    if (panel && !early) factored = factor_panel(s, next);
    if (panel) send_panel(s, next, factored);
}

static int owns_nothing_infinite(const hs__factor_map *map, const double *cycle_times)
{
    const int64_t all =
        map->grid ? (int64_t)map->row_blocks * map->blocks.count : map->blocks.count;
    for (int64_t i = 0; i < all; i++)
        if (isinf(cycle_times[map->owner[i]])) return 0;
    return 1;
}

static hs_status open_schedule(schedule *s, const hs__factor_blocks *b, int32_t p,
                               const int32_t *owner, int32_t grid, const hs_factor_costs *costs)
{
    const size_t all = (size_t)p;
    const size_t count = (size_t)b->count;
    const hs_status status = hs__factor_map_init(&s->map, b, p, owner, grid);
    if (status) return status;
    if (!owns_nothing_infinite(&s->map, s->cycle_times) ||
        !hs__factor_valid_costs(costs, b, p, s->map.column))
        return HS_ERROR_VALUE;
    if (grid && costs && (costs->links || costs->steps)) return HS_ERROR_VALUE;
    s->now = calloc(3 * all + 2 * count, sizeof *s->now);
    s->order = malloc(all * sizeof *s->order);
    if (!s->now || !s->order) return HS_ERROR_MEMORY;
    s->ready = s->now + all;
    s->starts = s->ready + all;
    s->changed = s->starts + all;
    s->headed = s->changed + count;
    if (costs && costs->links && !hs__factor_ports_init(&s->ports, b, p, s->map.column, costs))
        return HS_ERROR_MEMORY;
    return HS_OK;
}

hs_status hs_factor_simulate(int32_t kind, int64_t m, int64_t n, int64_t block, int32_t p,
                             const double *cycle_times, const int32_t *owner, int32_t grid,
                             const hs_factor_costs *costs, const int *cancel, double *makespan,
                             double *work, hs_factor_task *tasks, int64_t *task_count,
                             hs_factor_message *messages, int64_t *message_count)
{
    hs__factor_blocks b;
    if (!hs__factor_blocks_init(&b, kind, m, n, block) || p < 1 || !cycle_times || !makespan)
        return HS_ERROR_VALUE;
    if (!hs__valid_times(p, cycle_times)) return HS_ERROR_VALUE;
    schedule s = {.cycle_times = cycle_times,
                  .panel_times = costs && costs->panels ? costs->panels : cycle_times,
                  .steps = costs ? costs->steps : NULL,
                  .tasks = tasks,
                  .messages = messages};
    hs_status status = open_schedule(&s, &b, p, owner, grid, costs);
    for (int32_t k = -1; !status && k < b.panels; k++) {
        add_step(&s, k, costs && costs->late_panel);
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
    }
    hs__factor_ports_end(&s.ports);
    hs__factor_map_end(&s.map);
    free(s.now);
    free(s.order);
    if (status) return status;
    *makespan = s.end;
    if (work) *work = s.work;
    if (task_count) *task_count = s.count;
    if (message_count) *message_count = s.message_count;
    return HS_OK;
}
