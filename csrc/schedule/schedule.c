/* hs_matmul_schedule: when each worker receives and computes its boxes. */
#include "schedule/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "core/sum.h"

bool hs__matmul_valid(const hs_matmul *x)
{
    if (!x || x->p < 1 || !x->cycle_times) return false;
    const int64_t sizes[] = {x->m, x->n, x->k};
    for (int axis = 0; axis < 3; axis++)
        if (sizes[axis] < 0 || sizes[axis] > HS__SIZE_MOST) return false;
    if (x->itemsize < 1 || !(x->update > 0.0 && isfinite(x->update))) return false;
    if ((x->parallel | x->overlap | x->triangle) & ~1) return false;
    return hs__valid_times(x->p, x->cycle_times) &&
           (!x->link_costs || hs__valid_costs(x->p, x->link_costs)) &&
           (!x->links || hs__valid_costs((int64_t)x->p * x->p, x->links));
}

bool hs__boxes_valid(const hs_matmul *x, int64_t count, const hs_box *boxes)
{
    if (count < 0 || (count && !boxes)) return false;
    for (int64_t i = 0; i < count; i++) {
        const hs_box *box = &boxes[i];
        if (box->worker < 0 || box->worker >= x->p) return false;
        const int64_t numbers[] = {box->row,    box->col,   box->depth,
                                   box->height, box->width, box->length};
        for (int k = 0; k < 6; k++)
            if (numbers[k] < 0 || numbers[k] > HS__SIZE_MOST) return false;
    }
    return true;
}

bool hs__changes_valid(int32_t p, const hs_speed_changes *changes)
{
    if (!changes) return true;
    if (changes->count < 0) return false;
    if (changes->count && (!changes->times || !changes->cycle_times)) return false;
    for (int32_t i = 0; i < changes->count; i++)
        if (!(changes->times[i] >= (i ? changes->times[i - 1] : 0.0)) ||
            !hs__valid_times(p, changes->cycle_times + (size_t)i * (size_t)p))
            return false;
    return true;
}

int hs__compare_spans(const void *x, const void *y)
{
    const hs__span *a = x;
    const hs__span *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

/* ---- the bound ------------------------------------------------------------------------------- */

typedef struct {
    const hs_matmul *product;
    const hs_box *boxes;
} box_list;

static double flops_of_box(const void *list, int64_t i)
{
    const box_list *x = list;
    return hs__flops(x->product, &x->boxes[i]);
}

static double speed_of_worker(const void *product, int64_t i)
{
    return 1.0 / ((const hs_matmul *)product)->cycle_times[i];
}

static double find_bound(const hs_matmul *x, int64_t count, const hs_box *boxes)
{
    const box_list list = {x, boxes};
    const double all = hs__sum_numbers(count, flops_of_box, &list);
    const double speeds = hs__sum_numbers(x->p, speed_of_worker, x);
    if (!(all > 0.0)) return 0.0;
    const double bound = all / speeds / HS__GIGA;
    return isinf(bound) ? all / HS__GIGA / speeds : bound;
}

/* ---- one worker after another ---------------------------------------------------------------- */

double hs__end_work(int32_t p, const double *cycle_times, const hs_speed_changes *changes,
                    int32_t worker, double start, double time)
{
    if (!(time > 0.0)) return start;
    if (isinf(time)) return time; /* times a pace of 0 it would be NaN */
    double pace = 1.0;            /* time per unit of the time at the first speeds */
    for (int32_t i = 0; changes && i < changes->count; i++) {
        if (changes->times[i] > start) {
            const double done = (changes->times[i] - start) / pace;
            if (done >= time) break;
            time -= done;
            start = changes->times[i];
        }
        pace = changes->cycle_times[(size_t)i * (size_t)p + (size_t)worker] / cycle_times[worker];
    }
    return start + time * pace;
}

/* Returns the time that a worker takes. Nothing takes no time, even without a speed; and the time
 * overflows only if it has to. */
static double time_of(const hs_matmul *product, int32_t worker, double flops)
{
    if (!(flops > 0.0)) return 0.0;
    const double time = flops * product->cycle_times[worker] / HS__GIGA;
    return isinf(time) ? flops / HS__GIGA * product->cycle_times[worker] : time;
}

typedef struct {
    double start, end;
} interval;

/* The state of the workers and the port while boxes are served in order. */
typedef struct {
    const hs_matmul *product;
    const hs_speed_changes *changes;
    double *ready; /* [p] when each worker has done its boxes so far */
    double port;   /* when the port has served the boxes so far */
} server;

static double later(double x, double y) { return y > x ? y : x; }

static void start_serving(server *s, double start)
{
    for (int32_t i = 0; i < s->product->p; i++) s->ready[i] = start;
    s->port = start;
}

/* Returns when a transfer of that duration takes place that may start at `earliest`. */
static interval receive_next(server *s, int32_t worker, double duration, double earliest)
{
    interval found = {.start = later(s->ready[worker], earliest)};
    found.end = found.start;
    if (duration > 0.0) {
        if (!s->product->parallel) found.start = later(s->port, found.start);
        s->port = found.end = found.start + duration;
    }
    return found;
}

/* Returns when the worker computes what it receives then. */
static interval compute_next(server *s, int32_t worker, interval receive, double duration)
{
    const double from = s->product->overlap ? receive.start : receive.end;
    interval found = {.start = later(s->ready[worker], from)};
    found.end = hs__end_work(s->product->p, s->product->cycle_times, s->changes, worker,
                             found.start, duration);
    s->ready[worker] = later(found.end, receive.end);
    return found;
}

static double last_end(const server *s)
{
    double last = 0.0;
    for (int32_t i = 0; i < s->product->p; i++) last = later(last, s->ready[i]);
    return last;
}

static void store(double *times, int64_t i, interval found)
{
    if (!times) return;
    times[2 * i] = found.start;
    times[2 * i + 1] = found.end;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* What the messages say about each box: how long its transfer takes, and which transfers it waits
 * for, as a list: next[first[box]] and so on, -1 at its end. */
typedef struct {
    double *duration;     /* [count] */
    int64_t *first;       /* [count] */
    int64_t *next;        /* [message_count] */
    interval *transfer;   /* [count] the transfers so far */
    const hs_message *of; /* [message_count] */
} waits;

static bool valid_messages(const hs_matmul *x, const hs_matmul_plan *plan)
{
    for (int64_t i = 0; i < plan->message_count; i++) {
        const hs_message *one = &plan->messages[i];
        if (one->box < 0 || one->box >= plan->count || one->sender < 0 || one->sender >= x->p)
            return false;
        if (one->after < -1 || one->after >= one->box || !(one->bytes >= 0.0)) return false;
    }
    return true;
}

static hs_status list_waits(const hs_matmul *x, const hs_matmul_plan *plan, waits *found)
{
    const size_t count = (size_t)plan->count;
    const size_t messages = (size_t)plan->message_count;
    *found = (waits){.of = plan->messages};
    if (!plan->messages || plan->arrivals) return HS_OK;
    /* the widest elements come first; calloc, because its size cannot overflow */
    found->transfer = calloc(count + 1, sizeof *found->transfer);
    found->duration = calloc(count + 1, sizeof *found->duration);
    found->first = calloc(count + 1, sizeof *found->first);
    found->next = calloc(messages + 1, sizeof *found->next);
    if (!found->transfer || !found->duration || !found->first || !found->next)
        return HS_ERROR_MEMORY;
    for (int64_t i = 0; i < plan->count; i++) found->first[i] = -1;
    for (int64_t i = 0; i < plan->message_count; i++) {
        const hs_message *one = &plan->messages[i];
        const int32_t worker = plan->boxes[one->box].worker;
        const double cost = x->links[(size_t)one->sender * (size_t)x->p + (size_t)worker];
        found->duration[one->box] += one->bytes * cost / HS__GIGA;
        if (one->after < 0) continue;
        found->next[i] = found->first[one->box];
        found->first[one->box] = i;
    }
    return HS_OK;
}

static void free_waits(waits *x)
{
    free(x->transfer);
    free(x->duration);
    free(x->first);
    free(x->next);
}

/* Returns when the data of a box are with their senders. */
static double find_earliest(const waits *x, int64_t box)
{
    double earliest = 0.0;
    for (int64_t i = x->first[box]; i >= 0; i = x->next[i])
        earliest = later(earliest, x->transfer[x->of[i].after].end);
    return earliest;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static interval transfer_of(server *s, const hs_matmul_plan *plan, waits *w, int64_t i)
{
    const int32_t worker = plan->boxes[i].worker;
    const double *costs = s->product->link_costs;
    if (plan->arrivals) return (interval){plan->arrivals[2 * i], plan->arrivals[2 * i + 1]};
    if (plan->messages)
        return w->transfer[i] = receive_next(s, worker, w->duration[i], find_earliest(w, i));
    const double duration = plan->sent && costs ? plan->sent[i] * costs[worker] / HS__GIGA : 0.0;
    return receive_next(s, worker, duration, 0.0);
}

static void schedule_all(server *s, const hs_matmul_plan *plan, waits *w, hs_schedule *found)
{
    const hs_matmul *x = s->product;
    for (int32_t i = 0; found->flops && i < x->p; i++) found->flops[i] = 0.0;
    start_serving(s, 0.0);
    for (int64_t i = 0; i < plan->count; i++) {
        const int32_t worker = plan->boxes[i].worker;
        const double flops = hs__flops(x, &plan->boxes[i]);
        const interval receive = transfer_of(s, plan, w, i);
        store(found->receive, i, receive);
        store(found->work, i, compute_next(s, worker, receive, time_of(x, worker, flops)));
        if (found->flops) found->flops[worker] += flops;
    }
    found->start = last_end(s);
}

/* Times count from the start of the sum, which matters only if the speeds change. */
static double schedule_sum(server *s, const hs_layer_sum *sum, double start, double *receive)
{
    const hs_matmul *x = s->product;
    const double zero = s->changes ? start : 0.0;
    start_serving(s, zero);
    for (int32_t i = 0; i < x->p; i++) {
        const double transfer = x->link_costs ? sum->sent[i] * x->link_costs[i] / HS__GIGA : 0.0;
        const interval own = receive_next(s, i, transfer, 0.0);
        compute_next(s, i, own, time_of(x, i, sum->flops[i]));
        store(receive, i, (interval){own.start - zero, own.end - zero});
    }
    return s->changes ? last_end(s) : start + last_end(s);
}

static bool valid_plan(const hs_matmul *x, const hs_matmul_plan *plan)
{
    if (!plan || !hs__boxes_valid(x, plan->count, plan->boxes)) return false;
    if (plan->message_count < 0 || (plan->message_count && !plan->messages)) return false;
    if (plan->messages && (!x->links || !valid_messages(x, plan))) return false;
    return !plan->sum || (plan->sum->sent && plan->sum->flops);
}

hs_status hs_matmul_schedule(const hs_matmul *product, const hs_matmul_plan *plan,
                             const hs_speed_changes *changes, hs_schedule *schedule)
{
    if (!hs__matmul_valid(product) || !schedule || !valid_plan(product, plan) ||
        !hs__changes_valid(product->p, changes))
        return HS_ERROR_VALUE;
    server s = {.product = product, .changes = changes};
    s.ready = malloc((size_t)product->p * sizeof *s.ready);
    waits w;
    const hs_status status = s.ready ? list_waits(product, plan, &w) : HS_ERROR_MEMORY;
    if (!status) {
        schedule_all(&s, plan, &w, schedule);
        schedule->bound = find_bound(product, plan->count, plan->boxes);
        schedule->makespan =
            plan->sum ? schedule_sum(&s, plan->sum, schedule->start, schedule->sum_receive)
                      : schedule->start;
    }
    if (s.ready) free_waits(&w);
    free(s.ready);
    return status;
}
