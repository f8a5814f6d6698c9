/* hs_star_exact: the least makespan over panels of full columns.
 *
 * A state says how far every worker is, how many columns are not dealt yet, and when the port and
 * the workers are free. The future depends on these times only through sums and maxima. So if two
 * states differ only in their times, and one has no later time than the other, it dominates the
 * other. States are kept in generations by the number of messages sent; comparable states are in
 * the same generation. A generation keeps a limited number of states, those with the least lower
 * bounds. The search is repeated with wider generations until no state was left out that could
 * matter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "star/star.h"

enum { FIRST_WIDTH = 64, WIDEN = 4 };
/* a makespan must be below this part of another to count as better: bounds are rounded */
static const double less = 1.0 - 1e-12;

/* ---- workers --------------------------------------------------------------------------------- */

/* A message at a place in a panel of columns of one width; place 0 is between panels. */
typedef struct leg {
    int32_t kind, next;
    double port, work;
    /* time on the port from this message to the end of the panel */
    double ahead;
    /* if nothing else used the port, the panel of columns would end so long after the panel buffer
     * is free, and so long after the last step is computed; the later of the two holds */
    double from_port, from_last;
} leg;

/* A class of equal workers. */
typedef struct worker_class {
    double link_cost, cycle_time;
    /* largest chunk, and the number of chunks one below the other */
    int64_t height, width, parts;
    leg *legs;
    double *alone; /* [s + 1] time for so many more columns if nothing else uses the port */
    double column; /* least time on the port for one column */
} worker_class;

/* The message that led to a state. */
typedef struct choice {
    int32_t parent, slot, width; /* width: of the panel that begins, or 0 */
} choice;

/* States of a generation. Within a state, equal workers are sorted. */
typedef struct generation {
    int64_t count, room;
    /* [1 + 2 p] each: when the port is free; when each worker has computed the last panel but one,
     * and the last panel, neither earlier than the port's time */
    double *times;
    int32_t *place; /* [1 + p] each: columns left; the place of each worker, an index of legs */
    double *bound;  /* INFINITY: the state was removed */
    choice *origin;
    int32_t *next; /* chains of states with the same hash */
} generation;

typedef struct search {
    int64_t r, s, t;
    /* number of workers that can hold a chunk; equal ones are adjacent, sorted by column of their
     * class */
    int32_t p;
    int32_t *ids, *kind; /* [p] index in the star; index in classes[] */
    worker_class *classes;
    double *cheapest; /* [s + 1] least time on the port for so many columns */
    generation front, after;
    int32_t *heads;
    int64_t mask;
    double *times; /* times and place of the current state */
    int32_t *place;
    /* origins of the states of all generations so far; the messages of the best plan */
    choice *trail, *found;
    int64_t trail_count, trail_room, length;
    int64_t nodes;        /* number of messages that may still be tried */
    double best, dropped; /* least makespan found; least bound of the states left out */
    const int *cancel;
} search;

static int32_t leg_of(const search *x, const worker_class *class, int64_t width, int64_t part,
                      int64_t step)
{
    return (int32_t)(1 + ((width - 1) * class->parts + part) * (x->t + 2) + step);
}

/* Computes the legs of a panel from its last message to the first. */
static void lay_legs(const search *x, worker_class *class, int64_t width)
{
    double ahead = 0.0;
    double rest = 0.0;
    for (int64_t part = class->parts; part-- > 0;) {
        const double h = (double)hs__min(class->height, x->r - part * class->height);
        const double v = (double)width;
        const double hold = h * v * class->link_cost;
        const double panel = (h + v) * class->link_cost;
        const double work = h * v * class->cycle_time;
        double from_port = hold;
        double from_last = hold;
        for (int64_t step = x->t + 1; step >= 0; step--) {
            const int32_t at = leg_of(x, class, width, part, step);
            leg *y = &class->legs[at];
            *y = (leg){.kind = HS_STAR_PANEL, .next = at + 1};
            if (step == 0) y->kind = HS_STAR_LOAD;
            if (step > x->t) y->kind = HS_STAR_RESULT;
            y->port = y->kind == HS_STAR_PANEL ? panel : hold;
            y->work = y->kind == HS_STAR_PANEL ? work : 0.0;
            /* A panel maps (port, last) to last' = max(max(port, last but one) + panel, last) +
             * work; then last becomes the last but one. */
            if (y->kind == HS_STAR_PANEL) {
                const double before = from_port;
                from_port = panel + fmax(before, work + from_last);
                from_last = fmax(before, work + from_last);
            } else if (y->kind == HS_STAR_LOAD) {
                from_port = from_last = hold + fmax(from_port, from_last);
            } else if (part + 1 == class->parts) {
                y->next = 0;
            }
            ahead += y->port;
            y->ahead = ahead;
            y->from_port = from_port + rest;
            y->from_last = from_last + rest;
        }
        rest += from_port;
    }
}

static int open_class(search *x, worker_class *class)
{
    const double r = (double)x->r;
    const double t = (double)x->t;
    const double v = (double)class->width;
    class->legs =
        calloc((size_t)(1 + class->width * class->parts * (x->t + 2)), sizeof *class->legs);
    class->alone = malloc((size_t)(x->s + 1) * sizeof *class->alone);
    if (!class->legs || !class->alone) return 0;
    for (int64_t width = 1; width <= class->width; width++) lay_legs(x, class, width);
    class->alone[0] = 0.0;
    for (int64_t n = 1; n <= x->s; n++) {
        class->alone[n] = INFINITY;
        for (int64_t width = 1; width <= class->width && width <= n; width++)
            class->alone[n] =
                fmin(class->alone[n], class->alone[n - width] +
                                          class->legs[leg_of(x, class, width, 0, 0)].from_port);
    }
    class->column = class->link_cost * (2.0 * r + t * (r / v + (double)class->parts));
    return 1;
}

/* ---- states ---------------------------------------------------------------------------------- */

static int goes_before(const double *times, const int32_t *place, int32_t i, int32_t j)
{
    if (place[1 + i] != place[1 + j]) return place[1 + i] < place[1 + j];
    if (times[2 + 2 * i] != times[2 + 2 * j]) return times[2 + 2 * i] < times[2 + 2 * j];
    return times[1 + 2 * i] < times[1 + 2 * j];
}

static void exchange_slots(double *times, int32_t *place, int32_t i, int32_t j, int32_t *ids)
{
    const int32_t at = place[1 + i];
    place[1 + i] = place[1 + j];
    place[1 + j] = at;
    for (int k = 1; k <= 2; k++) {
        const double time = times[k + 2 * i];
        times[k + 2 * i] = times[k + 2 * j];
        times[k + 2 * j] = time;
    }
    if (!ids) return;
    const int32_t id = ids[i];
    ids[i] = ids[j];
    ids[j] = id;
}

static const leg *next_leg(const search *x, const int32_t *place, int32_t i, int32_t width)
{
    const worker_class *class = &x->classes[x->kind[i]];
    return &class->legs[width ? leg_of(x, class, width, 0, 0) : place[1 + i]];
}

static double start_of(const double *times, int32_t i, const leg *y)
{
    if (y->kind == HS_STAR_LOAD) return times[0];
    return times[2 * i + (y->kind == HS_STAR_PANEL ? 1 : 2)];
}

/* Sends the next message of slot i. If width > 0, it is the first message of a new panel of
 * columns. */
static void send_message(const search *x, double *times, int32_t *place, int32_t i, int32_t width,
                         int32_t *ids)
{
    const leg *y = next_leg(x, place, i, width);
    double *own = &times[1 + 2 * i];
    const double now = start_of(times, i, y) + y->port;
    own[0] = own[1];
    if (y->kind == HS_STAR_PANEL) own[1] = (now > own[1] ? now : own[1]) + y->work;
    if (y->kind == HS_STAR_PANEL && x->classes[x->kind[i]].legs[y->next].kind == HS_STAR_RESULT)
        own[0] = own[1];
    place[0] -= width;
    place[1 + i] = y->next;
    times[0] = now;
    for (int32_t k = 1; k <= 2 * x->p; k++)
        if (times[k] < now) times[k] = now;
    for (; i && x->kind[i - 1] == x->kind[i] && goes_before(times, place, i, i - 1); i--)
        exchange_slots(times, place, i, i - 1, ids);
    for (; i + 1 < x->p && x->kind[i + 1] == x->kind[i] && goes_before(times, place, i + 1, i); i++)
        exchange_slots(times, place, i, i + 1, ids);
}

/* Returns a lower bound on the makespan of all plans from the current state; INFINITY if none ends
 * before `goal`. */
static double bound_of(const search *x, double goal)
{
    const double now = x->times[0];
    const int32_t left = x->place[0];
    double port = now;
    double latest = now;
    double dealt = 0.0;
    double idle = INFINITY;
    int64_t open = left;
    for (int32_t i = 0; i < x->p; i++) {
        const worker_class *class = &x->classes[x->kind[i]];
        const int32_t at = x->place[1 + i];
        double end = now;
        if (at) {
            const leg *y = &class->legs[at];
            end = fmax(x->times[1 + 2 * i] + y->from_port, x->times[2 + 2 * i] + y->from_last);
            port += y->ahead;
            idle = fmin(idle, start_of(x->times, i, y));
            latest = fmax(latest, end);
        }
        if (open) {
            int64_t low = 0;
            /* as many columns as the worker can do before `goal` */
            int64_t high = open;
            while (low < high) {
                const int64_t middle = (low + high + 1) / 2;
                if (end + class->alone[middle] < goal) low = middle;
                else high = middle - 1;
            }
            dealt += (double)low * class->column;
            open -= low;
        }
    }
    if (open) return INFINITY;
    if (!left) return fmax(latest, idle < INFINITY ? port + (idle - now) : port);
    return fmax(latest, port + fmax(dealt, x->cheapest[left]));
}

/* ---- generations ----------------------------------------------------------------------------- */

static int grow_generation(generation *y, int32_t p, int64_t room)
{
    double *times = realloc(y->times, (size_t)room * (size_t)(1 + 2 * (int64_t)p) * sizeof *times);
    if (times) y->times = times;
    int32_t *place = realloc(y->place, (size_t)room * (size_t)(1 + (int64_t)p) * sizeof *place);
    if (place) y->place = place;
    double *bound = realloc(y->bound, (size_t)room * sizeof *bound);
    if (bound) y->bound = bound;
    choice *origin = realloc(y->origin, (size_t)room * sizeof *origin);
    if (origin) y->origin = origin;
    int32_t *next = realloc(y->next, (size_t)room * sizeof *next);
    if (next) y->next = next;
    if (!times || !place || !bound || !origin || !next) return 0;
    y->room = room;
    return 1;
}

static void close_generation(generation *y)
{
    free(y->times);
    free(y->place);
    free(y->bound);
    free(y->origin);
    free(y->next);
}

static int64_t hash_places(const search *x, const int32_t *place)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i <= x->p; i++) {
        sum = (sum ^ (uint32_t)place[i]) * UINT64_C(0x9E3779B97F4A7C15);
        sum ^= sum >> 29;
    }
    return (int64_t)(sum & (uint64_t)x->mask);
}

static int make_room(search *x)
{
    generation *y = &x->after;
    if (y->count < y->room) return 1;
    const int64_t room = y->room ? 2 * y->room : 256;
    int32_t *heads = realloc(x->heads, 2 * (size_t)room * sizeof *heads);
    if (heads) x->heads = heads;
    if (!heads || !grow_generation(y, x->p, room)) return 0;
    x->mask = 2 * room - 1;
    memset(heads, -1, 2 * (size_t)room * sizeof *heads);
    for (int64_t k = 0; k < y->count; k++) {
        const int64_t at = hash_places(x, &y->place[k * (1 + x->p)]);
        y->next[k] = heads[at];
        heads[at] = (int32_t)k;
    }
    return 1;
}

static int no_later(int32_t count, const double *a, const double *b)
{
    for (int32_t k = 0; k < count; k++)
        if (a[k] > b[k]) return 0;
    return 1;
}

/* Puts the current state into the next generation, in place of states that it dominates, unless a
 * state there dominates it. */
static int put_state(search *x, double bound, choice origin)
{
    if (!make_room(x)) return 0;
    generation *y = &x->after;
    const int32_t values = 1 + 2 * x->p;
    const int32_t places = 1 + x->p;
    const size_t bytes = (size_t)places * sizeof *x->place;
    const int64_t bucket = hash_places(x, x->place);
    int64_t at = -1;
    for (int32_t k = x->heads[bucket]; k >= 0; k = y->next[k]) {
        if (y->bound[k] == INFINITY || memcmp(&y->place[(int64_t)k * places], x->place, bytes) != 0)
            continue;
        double *other = &y->times[(int64_t)k * values];
        if (at < 0 && no_later(values, other, x->times)) return 1;
        if (!no_later(values, x->times, other)) continue;
        if (at < 0) at = k;
        else y->bound[k] = INFINITY;
    }
    if (at < 0) {
        at = y->count++;
        memcpy(&y->place[at * places], x->place, (size_t)places * sizeof *x->place);
        y->next[at] = x->heads[bucket];
        x->heads[bucket] = (int32_t)at;
    }
    memcpy(&y->times[at * values], x->times, (size_t)values * sizeof *x->times);
    y->bound[at] = bound;
    y->origin[at] = origin;
    return 1;
}

/* Makes the next generation the front: its `width` states of least bound, ties to the first
 * found. */
static hs_status advance_front(search *x, int64_t width)
{
    generation *y = &x->after;
    const double goal = x->best * less;
    const int32_t values = 1 + 2 * x->p;
    const int32_t places = 1 + x->p;
    int64_t alive = 0;
    int64_t kept = 0;
    int64_t ties = INT64_MAX;
    double most = INFINITY;
    for (int64_t k = 0; k < y->count; k++) alive += y->bound[k] < goal;
    if (alive > width) {
        double *sorted = malloc((size_t)alive * sizeof *sorted);
        if (!sorted) return HS_ERROR_MEMORY;
        for (int64_t k = 0, at = 0; k < y->count; k++)
            if (y->bound[k] < goal) sorted[at++] = y->bound[k];
        qsort(sorted, (size_t)alive, sizeof *sorted, hs__ascending);
        most = sorted[width];
        ties = width;
        while (ties && sorted[ties - 1] == most) ties--;
        ties = width - ties; /* how many states equal to `most` are kept */
        x->dropped = fmin(x->dropped, most);
        free(sorted);
    }
    if (x->trail_count + y->count > x->trail_room) {
        const int64_t room = 2 * x->trail_room + y->count;
        choice *trail = realloc(x->trail, (size_t)room * sizeof *trail);
        if (!trail) return HS_ERROR_MEMORY;
        x->trail = trail;
        x->trail_room = room;
    }
    for (int64_t k = 0; k < y->count; k++) {
        if (y->bound[k] >= goal || y->bound[k] > most || (y->bound[k] == most && ties-- <= 0))
            continue;
        memmove(&y->times[kept * values], &y->times[k * values], (size_t)values * sizeof *y->times);
        memmove(&y->place[kept * places], &y->place[k * places], (size_t)places * sizeof *y->place);
        x->trail[x->trail_count++] = y->origin[k];
        kept++;
    }
    y->count = kept;
    const generation other = x->front;
    x->front = x->after;
    x->after = other;
    x->after.count = 0;
    if (x->after.room < x->front.room && !grow_generation(&x->after, x->p, x->front.room))
        return HS_ERROR_MEMORY;
    memset(x->heads, -1, (size_t)(x->mask + 1) * sizeof *x->heads);
    return HS_OK;
}

/* ---- search ---------------------------------------------------------------------------------- */

static void keep_plan(search *x, choice last)
{
    int64_t length = 1;
    for (int32_t k = last.parent; k > 0; k = x->trail[k].parent) length++;
    x->length = length;
    x->best = x->times[0];
    x->found[--length] = last;
    for (int32_t k = last.parent; k > 0; k = x->trail[k].parent) x->found[--length] = x->trail[k];
}

/* Sends one message of slot i from a state of the front. */
static hs_status try_message(search *x, int64_t state, choice step)
{
    const int32_t values = 1 + 2 * x->p;
    const int32_t places = 1 + x->p;
    memcpy(x->times, &x->front.times[state * values], (size_t)values * sizeof *x->times);
    memcpy(x->place, &x->front.place[state * places], (size_t)places * sizeof *x->place);
    send_message(x, x->times, x->place, step.slot, step.width, NULL);
    int done = 1;
    for (int32_t i = 0; i <= x->p; i++) done &= x->place[i] == 0;
    if (done) {
        if (x->times[0] < x->best * less) keep_plan(x, step);
        return HS_OK;
    }
    const double goal = x->best * less;
    const double bound = bound_of(x, goal);
    return bound >= goal || put_state(x, bound, step) ? HS_OK : HS_ERROR_MEMORY;
}

/* Tries every message that could come next, except a message that starts only when another message,
 * which is certainly needed, would already have ended. */
static hs_status expand_state(search *x, int64_t state, int32_t parent)
{
    const double *times = &x->front.times[state * (1 + 2 * x->p)];
    const int32_t *place = &x->front.place[state * (1 + x->p)];
    double end = INFINITY;
    int32_t soonest = -1;
    for (int32_t i = 0; i < x->p; i++) {
        if (!place[1 + i]) continue;
        const leg *y = next_leg(x, place, i, 0);
        if (start_of(times, i, y) + y->port < end) {
            end = start_of(times, i, y) + y->port;
            soonest = i;
        }
    }
    for (int32_t i = 0; i < x->p; i++) {
        const int alike = i && x->kind[i] == x->kind[i - 1] && !goes_before(times, place, i - 1, i);
        if (alike) continue;
        int32_t width = place[1 + i] ? 0 : 1;
        const int32_t most = place[1 + i] ? 0 : (int32_t)x->classes[x->kind[i]].width;
        if (i != soonest && end <= start_of(times, i, next_leg(x, place, i, width))) continue;
        for (; width <= most && width <= place[0]; width++) {
            const hs_status status = try_message(x, state, (choice){parent, i, width});
            if (status) return status;
            x->nodes--;
        }
    }
    return HS_OK;
}

static hs_status search_generations(search *x, int64_t width)
{
    const int32_t values = 1 + 2 * x->p;
    const int32_t places = 1 + x->p;
    x->dropped = INFINITY;
    x->trail_count = 0;
    x->after.count = 0;
    memset(x->times, 0, (size_t)values * sizeof *x->times);
    memset(x->place, 0, (size_t)places * sizeof *x->place);
    x->place[0] = (int32_t)x->s;
    if (x->heads) memset(x->heads, -1, (size_t)(x->mask + 1) * sizeof *x->heads);
    const double bound = bound_of(x, x->best * less);
    hs_status status =
        put_state(x, bound, (choice){.parent = -1}) ? advance_front(x, width) : HS_ERROR_MEMORY;
    while (x->front.count && !status) {
        const int32_t base = (int32_t)(x->trail_count - x->front.count);
        for (int64_t k = 0; k < x->front.count && !status; k++) {
            status = expand_state(x, k, base + (int32_t)k);
            if (!status && x->nodes < 0) status = HS_ERROR_UNSUPPORTED;
            if (!status && (k & 255) == 0 && hs__cancelled(x->cancel)) status = HS_ERROR_CANCELLED;
        }
        if (!status) status = advance_front(x, width);
    }
    return status;
}

static int is_same_class(const worker_class *a, const worker_class *b)
{
    return a->link_cost == b->link_cost && a->cycle_time == b->cycle_time &&
           a->height == b->height && a->width == b->width;
}

/* Returns the class of worker i; it has no parts if the worker can hold no chunk. */
static worker_class class_of(const search *x, const hs_star *star, int32_t i)
{
    const int64_t side = hs_star_side(star->memory[i], HS_STAR_DOUBLE);
    const int64_t height = hs__min(side, x->r);
    return (worker_class){.link_cost = star->link_costs[i],
                          .cycle_time = star->cycle_times[i],
                          .height = height,
                          .width = hs__min(side, x->s),
                          .parts = side ? hs__ceil_div(x->r, height) : 0};
}

/* Groups the workers into classes, sorted by the cost of a column. */
static hs_status open_search(search *x, const hs_star *star)
{
    const size_t p = (size_t)star->p;
    x->ids = malloc(p * sizeof *x->ids);
    x->kind = malloc(p * sizeof *x->kind);
    x->classes = calloc(p, sizeof *x->classes);
    x->cheapest = malloc((size_t)(star->s + 1) * sizeof *x->cheapest);
    x->times = malloc((1 + 2 * p) * sizeof *x->times);
    x->place = malloc((1 + p) * sizeof *x->place);
    if (!x->ids || !x->kind || !x->classes || !x->cheapest || !x->times || !x->place)
        return HS_ERROR_MEMORY;
    int32_t count = 0;
    for (int32_t i = 0; i < star->p; i++) {
        const worker_class new = class_of(x, star, i);
        if (!new.parts) continue;
        if (new.parts * x->s > HS_STAR_EXACT_MESSAGES / (x->t + 2)) return HS_ERROR_UNSUPPORTED;
        int32_t k = 0;
        while (k < count && !is_same_class(&x->classes[k], &new)) k++;
        if (k < count) continue;
        x->classes[count] = new;
        if (!open_class(x, &x->classes[count++])) return HS_ERROR_MEMORY;
    }
    for (int32_t k = 1; k < count; k++)
        for (int32_t j = k; j && x->classes[j].column < x->classes[j - 1].column; j--) {
            const worker_class other = x->classes[j];
            x->classes[j] = x->classes[j - 1];
            x->classes[j - 1] = other;
        }
    int64_t parts = 0;
    for (int32_t k = 0; k < count; k++) {
        const worker_class *own = &x->classes[k];
        parts = hs__max(parts, own->parts);
        for (int32_t i = 0; i < star->p; i++) {
            const worker_class one = class_of(x, star, i);
            if (!is_same_class(own, &one)) continue;
            x->kind[x->p] = k;
            x->ids[x->p++] = i;
        }
    }
    if (!x->p) return HS_ERROR_INFEASIBLE;
    x->cheapest[0] = 0.0;
    for (int64_t n = 1; n <= x->s; n++) {
        x->cheapest[n] = INFINITY;
        for (int32_t k = 0; k < count; k++)
            for (int64_t width = 1; width <= x->classes[k].width && width <= n; width++)
                x->cheapest[n] =
                    fmin(x->cheapest[n],
                         x->cheapest[n - width] +
                             x->classes[k].legs[leg_of(x, &x->classes[k], width, 0, 0)].ahead);
    }
    x->found = malloc((size_t)(x->s * parts * (x->t + 2)) * sizeof *x->found);
    return hs__check_memory(x->found);
}

static void close_search(search *x, int32_t p)
{
    for (int32_t k = 0; x->classes && k < p; k++) {
        free(x->classes[k].legs);
        free(x->classes[k].alone);
    }
    close_generation(&x->front);
    close_generation(&x->after);
    free(x->ids);
    free(x->kind);
    free(x->classes);
    free(x->cheapest);
    free(x->heads);
    free(x->times);
    free(x->place);
    free(x->trail);
    free(x->found);
}

/* Replays the messages of the best plan and writes its chunks; columns are dealt left to right.
 * `slots` follows the workers when their states are exchanged. */
static hs_status write_plan(search *x, int64_t *chunk_count, hs_star_chunk *chunks, int64_t *length,
                            int32_t *served)
{
    /* indexed by the slot at the start, see slots */
    hs_star_chunk *current = calloc((size_t)x->p, sizeof *current);
    int32_t *slots = malloc((size_t)x->p * sizeof *slots);
    if (!current || !slots) {
        free(current);
        free(slots);
        return HS_ERROR_MEMORY;
    }
    for (int32_t i = 0; i < x->p; i++) slots[i] = i;
    memset(x->times, 0, (size_t)(1 + 2 * x->p) * sizeof *x->times);
    memset(x->place, 0, (size_t)(1 + x->p) * sizeof *x->place);
    x->place[0] = (int32_t)x->s;
    int64_t count = 0;
    for (int64_t k = 0; k < x->length; k++) {
        const int32_t i = x->found[k].slot;
        const int32_t width = x->found[k].width;
        const int32_t own = slots[i];
        if (next_leg(x, x->place, i, width)->kind == HS_STAR_LOAD) {
            hs_star_chunk *chunk = &current[own];
            if (width)
                *chunk = (hs_star_chunk){.worker = x->ids[own],
                                         .buffers = 2,
                                         .col = x->s - x->place[0],
                                         .width = width,
                                         .depth = 1};
            else chunk->row += chunk->height;
            chunk->height = hs__min(x->classes[x->kind[i]].height, x->r - chunk->row);
            chunks[count++] = *chunk;
        }
        served[k] = x->ids[own];
        send_message(x, x->times, x->place, i, width, slots);
    }
    *chunk_count = count;
    *length = x->length;
    free(current);
    free(slots);
    return HS_OK;
}

hs_status hs_star_exact(const hs_star *star, int64_t effort, double limit, const int *cancel,
                        int64_t *chunk_count, hs_star_chunk *chunks, int64_t *length,
                        int32_t *served, double *makespan)
{
    if (!chunk_count || !chunks || !length || !served || !makespan) return HS_ERROR_VALUE;
    if (!hs__star_valid(star) || effort < 0 || !(limit > 0.0)) return HS_ERROR_VALUE;
    if (star->s > HS_STAR_EXACT_MESSAGES || star->t > HS_STAR_EXACT_MESSAGES ||
        star->r > HS_STAR_EXACT_MESSAGES)
        return HS_ERROR_UNSUPPORTED;
    search x = {.r = star->r,
                .s = star->s,
                .t = star->t,
                .nodes = hs__min(effort, INT32_MAX / 4),
                .best = limit,
                .cancel = cancel};
    hs_status status = open_search(&x, star);
    for (int64_t width = FIRST_WIDTH; !status; width *= WIDEN) {
        status = search_generations(&x, width);
        if (x.dropped >= x.best * less) break;
    }
    if (!status && x.length == 0) status = HS_ERROR_INFEASIBLE;
    if (!status) status = write_plan(&x, chunk_count, chunks, length, served);
    if (!status) *makespan = x.best;
    close_search(&x, star->p);
    return status;
}
