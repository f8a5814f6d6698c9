/* Tasks that a master hands out over links of different speeds: counts for given orders, weights
 * for an upper bound, and a search for the best orders, exact for few workers. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/order.h"
#include "core/random.h"
#include "core/sort.h"
#include "core/status.h"
#include "hetsched.h"

/* Times are integers of 128 bits, with the bound between 2^119 and 2^120. Cycle-times and the bound
 * are exact, messages are exact or rounded up in the last place. Nothing is added to a time beyond
 * the bound, so nothing overflows. */
__extension__ typedef __int128 wide;

/* moves go so far; a search with a time limit does at least so much work. By hand. */
enum { WINDOW = 32, UNTIMED_WORK = 100 * 1000 };

typedef struct {
    int32_t p;
    wide bound;
    wide *cycle, *send, *back; /* [p] each, in one block that starts at cycle */
    double *inverse;           /* [p] 1 / cycle */
    bool returns;
} bus;

static wide to_fixed_point(double time, int exponent)
{
    double scaled = ceil(fmin(ldexp(time, 120 - exponent), 0x1p121));
    return time > 0.0 && scaled == 0.0 ? 1 : (wide)scaled;
}

static hs_status open_bus(double bound, int32_t p, const double *cycle_times, const double *sends,
                          const double *receives, bus *x)
{
    if (!(bound > 0.0) || isinf(bound) || p < 1) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++) {
        if (!(cycle_times[i] > 0.0) || isinf(cycle_times[i]) ||
            bound / cycle_times[i] > (double)HS__SIZE_MOST)
            return HS_ERROR_VALUE;
    }
    if (!hs__valid_costs(p, sends) || (receives && !hs__valid_costs(p, receives)))
        return HS_ERROR_VALUE;
    int exponent;
    frexp(bound, &exponent);
    *x = (bus){.p = p, .bound = to_fixed_point(bound, exponent), .returns = receives};
    x->cycle = malloc((size_t)p * (3 * sizeof *x->cycle + sizeof *x->inverse));
    if (!x->cycle) return HS_ERROR_MEMORY;
    x->send = x->cycle + p;
    x->back = x->send + p;
    x->inverse = (double *)(x->back + p);
    for (int32_t i = 0; i < p; i++) {
        x->cycle[i] = to_fixed_point(cycle_times[i], exponent);
        x->send[i] = to_fixed_point(sends[i], exponent);
        x->back[i] = receives ? to_fixed_point(receives[i], exponent) : 0;
        x->inverse[i] = 1.0 / (double)x->cycle[i];
    }
    return HS_OK;
}

/* Returns the number of tasks that worker i can do in the part of the bound that `messages` leaves;
 * 0 if they leave nothing. */
static int64_t tasks_in(const bus *x, int32_t i, wide messages)
{
    wide left = x->bound - messages;
    if (left < x->cycle[i]) return 0;
    double quotient = (double)left * x->inverse[i];
    double whole = floor(quotient);
    if (whole < 0x1p30 && quotient - whole > 0x1p-10 && quotient - whole < 1 - 0x1p-10)
        return (int64_t)whole;
    return (int64_t)(left / x->cycle[i]);
}

/* ---- given orders ---- */

/* Computes ends[i] = bound - (the time when worker i starts to answer); ends may be NULL. Returns
 * the total time of the answers, or some value above the bound if they are too long. */
static wide sum_answers(const bus *x, int32_t q, const int32_t *from_last, wide *ends)
{
    wide sum = 0;
    for (int32_t d = 0; d < q; d++) {
        sum += x->back[from_last[d]];
        if (sum > x->bound) break;
        if (ends) ends[from_last[d]] = sum;
    }
    return sum;
}

hs_status hs_task_orders(double bound, int32_t p, const double *cycle_times, const double *sends,
                         const double *receives, int32_t q, const int32_t *send_order,
                         const int32_t *receive_order, int64_t *counts)
{
    if (!cycle_times || !sends || !counts ||
        (q > 0 && (!send_order || (receives && !receive_order))))
        return HS_ERROR_VALUE;
    bus x;
    if (q < 0 || q > p) return HS_ERROR_VALUE;
    hs_status status = open_bus(bound, p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    wide *ends = calloc((size_t)p, sizeof *ends);
    int32_t *from_last = calloc((size_t)p, sizeof *from_last);
    status = ends && from_last ? hs__check_order(p, q, send_order, NULL) : HS_ERROR_MEMORY;
    if (status == HS_OK && receives) status = hs__check_order(p, q, receive_order, NULL);
    /* checks that both orders have the same workers */
    for (int32_t d = 0; d < q && receives && status == HS_OK; d++) ends[send_order[d]] = 1;
    for (int32_t d = 0; d < q && receives && status == HS_OK; d++)
        if (!ends[receive_order[d]]) status = HS_ERROR_VALUE;
    if (status == HS_OK && receives) {
        for (int32_t d = 0; d < q; d++) from_last[d] = receive_order[q - 1 - d];
        if (sum_answers(&x, q, from_last, ends) > x.bound) status = HS_ERROR_INFEASIBLE;
    }
    if (status == HS_OK) {
        wide sent = 0;
        wide all = receives && q ? ends[from_last[q - 1]] : 0;
        for (int32_t d = 0; d < q && sent + all <= x.bound; d++) sent += x.send[send_order[d]];
        if (sent + all > x.bound) status = HS_ERROR_INFEASIBLE;
    }
    if (status == HS_OK) {
        wide sent = 0;
        memset(counts, 0, (size_t)p * sizeof *counts);
        for (int32_t d = 0; d < q; d++) {
            int32_t i = send_order[d];
            sent += x.send[i];
            counts[i] = tasks_in(&x, i, sent + ends[i]);
        }
    }
    free(x.cycle);
    free(ends);
    free(from_last);
    return status;
}

hs_status hs__task_prefix(double bound, int32_t p, const double *cycle_times, const double *sends,
                          const double *receives, const int32_t *order, int32_t *size)
{
    bus x;
    const hs_status status = open_bus(bound, p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    wide sum = 0;
    *size = 0;
    for (; *size < p; ++*size) {
        sum += x.send[order[*size]] + x.back[order[*size]];
        if (sum > x.bound) break;
    }
    free(x.cycle);
    return HS_OK;
}

static int by_time(const void *a, const void *b)
{
    const wide x = *(const wide *)a;
    const wide y = *(const wide *)b;
    return (x > y) - (x < y);
}

/* least[j] = the sum of worker i's own message and the j shortest messages of the other workers.
 * `sorted` has the messages of all workers. */
static void first_ends(const bus *x, const wide *message, const wide *sorted, int32_t i,
                       wide *least)
{
    wide sum = message[i];
    bool passed = false;
    for (int32_t j = 0, d = 0; j < x->p; j++) {
        least[j] = sum;
        if (d < x->p && !passed && sorted[d] == message[i]) {
            passed = true;
            d++;
        }
        if (d < x->p && sum <= x->bound) sum += sorted[d];
        d++;
    }
}

hs_status hs_task_positions(double bound, int32_t p, const double *cycle_times, const double *sends,
                            const double *receives, int32_t depth, const int *cancel,
                            int64_t *weights)
{
    if (!cycle_times || !sends || !weights) return HS_ERROR_VALUE;
    bus x;
    if (depth < 1 || depth > p) return HS_ERROR_VALUE;
    hs_status status = open_bus(bound, p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    wide *work = malloc(4 * (size_t)p * sizeof *work);
    if (!work) {
        free(x.cycle);
        return HS_ERROR_MEMORY;
    }
    wide *sorted[2] = {work, work + p};
    wide *least[2] = {work + 2 * (ptrdiff_t)p, work + 3 * (ptrdiff_t)p};
    memcpy(sorted[0], x.send, (size_t)p * sizeof *work);
    memcpy(sorted[1], x.back, (size_t)p * sizeof *work);
    qsort(sorted[0], (size_t)p, sizeof *work, by_time);
    qsort(sorted[1], (size_t)p, sizeof *work, by_time);
    int32_t served = 0;
    for (wide sum = 0; served < p && (sum += sorted[0][served] + sorted[1][served]) <= x.bound;
         served++) {}
    for (int32_t i = 0; i < p && !status; i++) {
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        first_ends(&x, x.send, sorted[0], i, least[0]);
        first_ends(&x, x.back, sorted[1], i, least[1]);
        for (int32_t j = 0; j < p; j++)
            for (int32_t k = 0; k < depth; k++)
                weights[((size_t)i * (size_t)p + (size_t)j) * (size_t)depth + (size_t)k] =
                    j < served && k < served ? tasks_in(&x, i, least[0][j] + least[1][k]) : 0;
    }
    free(x.cycle);
    free(work);
    return status;
}

/* ---- search ---- */

/* Workers send[0 .. q) are served in this order; back[0 .. q) holds the same workers in the reverse
 * order of their answers. The workers that are not enrolled follow in both. */
typedef struct {
    int32_t q, *send, *back;
    int64_t tasks;
    /* the tasks without rounding down: its slope guides the search across plateaus of `tasks` */
    double real;
} solution;

typedef struct {
    const bus *x;
    wide *ends;
    int64_t work;  /* remaining work, in workers looked at */
    int64_t timed; /* the work below which the time limit holds */
    double end;    /* by hs_clock */
    const int *cancel;
} searcher;

static bool assess_solution(searcher *s, solution *y)
{
    const bus *x = s->x;
    s->work -= y->q;
    if (hs__cancelled(s->cancel)) s->work = 0;
    if (s->work < s->timed && hs_clock() > s->end) s->work = 0;
    y->tasks = -1;
    y->real = -INFINITY;
    wide all = sum_answers(x, y->q, y->back, s->ends);
    wide sent = 0;
    if (all > x->bound) return false;
    int64_t tasks = 0;
    double real = 0.0;
    for (int32_t d = 0; d < y->q; d++) {
        int32_t i = y->send[d];
        sent += x->send[i];
        if (sent + all > x->bound) return false;
        tasks += tasks_in(x, i, sent + s->ends[i]);
        real += (double)(x->bound - sent - s->ends[i]) * x->inverse[i];
    }
    y->tasks = tasks;
    y->real = real;
    return true;
}

static bool is_better(const solution *a, const solution *b)
{
    if (a->tasks != b->tasks) return a->tasks > b->tasks;
    return a->real > b->real + HS_EQUAL * fabs(b->real);
}

static int32_t place_of(const int32_t *order, int32_t i)
{
    int32_t d = 0;
    while (order[d] != i) d++;
    return d;
}

/* Returns whether y is better than before a change. If not, its value is restored, and the caller
 * undoes the change. */
static bool keep_if_better(searcher *s, solution *y)
{
    const solution old = *y;
    if (assess_solution(s, y) && is_better(y, &old)) return true;
    y->tasks = old.tasks;
    y->real = old.real;
    return false;
}

static bool move_within(searcher *s, solution *y, int32_t *order)
{
    bool improved = false;
    for (int32_t a = 0; a < y->q; a++) {
        const int32_t first = (int32_t)hs__max(a - WINDOW, 0);
        const int32_t last = (int32_t)hs__min(a + WINDOW, y->q - 1);
        for (int32_t b = first; b <= last && s->work > 0; b++) {
            if (a == b) continue;
            hs__shift(order, a, b);
            if (keep_if_better(s, y)) improved = true;
            else hs__shift(order, b, a);
        }
    }
    return improved;
}

static bool drop_workers(searcher *s, solution *y)
{
    bool improved = false;
    for (int32_t a = 0; a < y->q && s->work > 0; a++) {
        int32_t b = place_of(y->back, y->send[a]);
        int32_t end = s->x->p - 1;
        hs__shift(y->send, a, end);
        hs__shift(y->back, b, end);
        y->q--;
        if (keep_if_better(s, y)) {
            improved = true;
            a--;
            continue;
        }
        y->q++;
        hs__shift(y->send, end, a);
        hs__shift(y->back, end, b);
    }
    return improved;
}

/* Returns the place of worker i among those that answer if short messages of fast workers come
 * last. */
static int32_t place_by_rule(const solution *y, const bus *x, int32_t i)
{
    int32_t d = 0;
    while (d < y->q && (double)x->back[y->back[d]] * (double)x->cycle[y->back[d]] <
                           (double)x->back[i] * (double)x->cycle[i])
        d++;
    return d;
}

static bool enrol_workers(searcher *s, solution *y)
{
    const bus *x = s->x;
    bool improved = false;
    for (int32_t from = y->q; from < x->p && s->work > 0; from++) {
        int32_t i = y->send[from];
        int32_t other = place_of(y->back, i);
        int32_t low = x->returns && y->q > HS_TASK_LINKS_BOTH ? place_by_rule(y, x, i) : 0;
        int32_t high = x->returns && y->q <= HS_TASK_LINKS_BOTH ? y->q : low;
        bool in = false;
        for (int32_t c = low; c <= high && !in; c++)
            for (int32_t b = y->q; b >= 0 && !in && s->work > 0; b--) {
                hs__shift(y->send, from, b);
                hs__shift(y->back, other, c);
                y->q++;
                if (keep_if_better(s, y)) {
                    improved = in = true;
                    continue;
                }
                y->q--;
                hs__shift(y->send, b, from);
                hs__shift(y->back, c, other);
            }
    }
    return improved;
}

static void improve_solution(searcher *s, solution *y)
{
    bool improved = true;
    while (improved && s->work > 0) {
        improved = enrol_workers(s, y);
        improved |= drop_workers(s, y);
        improved |= move_within(s, y, y->send);
        if (s->x->returns) improved |= move_within(s, y, y->back);
    }
}

static void copy_solution(solution *to, const solution *from, int32_t p)
{
    memcpy(to->send, from->send, (size_t)p * sizeof *to->send);
    memcpy(to->back, from->back, (size_t)p * sizeof *to->back);
    to->q = from->q;
    to->tasks = from->tasks;
    to->real = from->real;
}

/* ---- exact ---- */

typedef struct {
    const bus *x;
    solution *best;
    int32_t chosen[HS_TASK_LINKS_SENT];
    wide ends[HS_TASK_LINKS_SENT]; /* for each chosen worker, see fill_sets */
    int64_t *most;                 /* [2^p] for each set of chosen workers */
    wide *sent;                    /* [2^p] */
    const int *cancel;
    bool stopped;
} exact;

/* Finds the largest number of tasks for each set of workers that are served first, in any order,
 * where worker chosen[d] starts its answer ends[d] before the bound. Returns the best set for which
 * the messages out and `all` fit. Dynamic programming over the sets. */
static int32_t fill_sets(exact *e, int32_t q, const int32_t *chosen, const wide *ends, wide all)
{
    const bus *x = e->x;
    e->most[0] = 0;
    e->sent[0] = 0;
    int32_t found = 0;
    for (int32_t set = 1; set < 1 << q; set++) {
        if (set % 4096 == 0 && hs__cancelled(e->cancel)) {
            e->stopped = true;
            return 0;
        }
        int32_t low = 0;
        while (!(set >> low & 1)) low++;
        wide sent = e->sent[set & (set - 1)] + x->send[chosen[low]];
        int64_t most = 0;
        for (int32_t d = low; d < q; d++)
            if (set >> d & 1) {
                int64_t tasks = e->most[set & ~(1 << d)] + tasks_in(x, chosen[d], sent + ends[d]);
                if (tasks > most) most = tasks;
            }
        e->sent[set] = sent;
        e->most[set] = most;
        if (most > e->most[found] && sent + all <= x->bound) found = set;
    }
    return found;
}

/* Finds the best send order of the q chosen workers, or of a subset of them, with given answers.
 * `all` is the total time of the answers. */
static void order_sends(exact *e, int32_t q, wide all)
{
    const bus *x = e->x;
    const int32_t found = fill_sets(e, q, e->chosen, e->ends, all);
    solution *y = e->best;
    if (e->most[found] <= y->tasks) return;
    y->tasks = e->most[found];
    y->q = 0;
    for (int32_t d = 0; d < q; d++)
        if (found >> d & 1) y->back[y->q++] = e->chosen[d];
    for (int32_t set = found, place = y->q; set;) {
        int32_t d = 0;
        while (!(set >> d & 1) ||
               e->most[set & ~(1 << d)] + tasks_in(x, e->chosen[d], e->sent[set] + e->ends[d]) !=
                   e->most[set])
            d++;
        y->send[--place] = e->chosen[d];
        set &= ~(1 << d);
    }
}

/* Returns an upper bound on the number of tasks if these q answers come last: each other worker is
 * treated as if it had the answer just before them. */
static int64_t at_most(exact *e, int32_t q, wide all, int32_t in)
{
    const bus *x = e->x;
    int32_t chosen[HS_TASK_LINKS_BOTH];
    wide ends[HS_TASK_LINKS_BOTH];
    for (int32_t d = 0; d < q; d++) {
        chosen[d] = e->chosen[d];
        ends[d] = e->ends[d];
    }
    for (int32_t i = 0; i < x->p; i++)
        if (!(in >> i & 1)) {
            chosen[q] = i;
            ends[q++] = all + x->back[i];
        }
    return e->most[fill_sets(e, q, chosen, ends, 0)];
}

/* Enumerates all orders of answers from the last one on: the chosen workers have the last q
 * answers, and each other worker has an answer before them or is not enrolled. */
static void enumerate_answers(exact *e, int32_t q, wide all)
{
    const bus *x = e->x;
    int64_t chosen = 0;
    int64_t others = 0;
    if (e->stopped || hs__cancelled(e->cancel)) {
        e->stopped = true;
        return;
    }
    int32_t in = 0;
    for (int32_t d = 0; d < q; d++) {
        chosen += tasks_in(x, e->chosen[d], x->send[e->chosen[d]] + e->ends[d]);
        in |= 1 << e->chosen[d];
    }
    for (int32_t i = 0; i < x->p; i++)
        if (!(in >> i & 1)) others += tasks_in(x, i, x->send[i] + all + x->back[i]);
    if (chosen + others <= e->best->tasks || at_most(e, q, all, in) <= e->best->tasks) return;
    if (chosen > e->best->tasks) order_sends(e, q, all);
    for (int32_t i = 0; i < x->p && chosen + others > e->best->tasks; i++) {
        wide end = all + x->back[i];
        if (in >> i & 1 || end > x->bound) continue;
        e->chosen[q] = i;
        e->ends[q] = end;
        enumerate_answers(e, q + 1, end);
    }
}

static hs_status prove_optimum(const bus *x, solution *best, const int *cancel, int *optimal)
{
    *optimal = 0;
    if (x->p > (x->returns ? HS_TASK_LINKS_BOTH : HS_TASK_LINKS_SENT)) return HS_OK;
    size_t sets = (size_t)1 << x->p;
    exact e = {.x = x,
               .best = best,
               .cancel = cancel,
               .most = malloc(sets * sizeof(int64_t)),
               .sent = malloc(sets * sizeof(wide))};
    hs_status status = hs__check_memory(e.most && e.sent);
    if (status == HS_OK) {
        *optimal = 1;
        for (int32_t i = 0; i < x->p; i++) e.chosen[i] = i;
        if (x->returns) enumerate_answers(&e, 0, 0);
        else order_sends(&e, x->p, 0);
        if (e.stopped) status = HS_ERROR_CANCELLED;
    }
    free(e.most);
    free(e.sent);
    return status;
}

hs_status hs__search_links(double bound, int32_t p, const double *cycle_times, const double *sends,
                           const double *receives, int64_t work, double end, uint64_t seed,
                           const int *cancel, int32_t *enrolled, int32_t *send_order,
                           int32_t *receive_order, int *optimal)
{
    double most = 0.0; /* of the tasks, which are counted in 64 bits */
    for (int32_t i = 0; i < p; i++) most += bound / cycle_times[i];
    if (p < 1 || most >= HS__MOST_SUM) return HS_ERROR_VALUE;
    bus x;
    hs_status status = open_bus(bound, p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    int32_t *orders = malloc(4 * (size_t)p * sizeof *orders);
    wide *ends = calloc((size_t)p, sizeof *ends);
    double *keys = malloc((size_t)p * sizeof *keys);
    status = hs__check_memory(orders && ends && keys);
    for (int32_t i = 0; i < p && status == HS_OK; i++)
        keys[i] = ((double)x.send[i] + (double)x.back[i]) * (double)x.cycle[i];
    if (status == HS_OK) status = hs__sort(p, keys, orders);
    if (status == HS_OK) {
        searcher s = {.x = &x,
                      .ends = ends,
                      .work = hs__max(work, p),
                      .timed = isfinite(end) ? work - UNTIMED_WORK : 0,
                      .end = end,
                      .cancel = cancel};
        solution best = {.send = orders, .back = orders + p};
        solution now = {.send = best.back + p, .back = best.back + 2 * (ptrdiff_t)p};
        memcpy(best.back, best.send, (size_t)p * sizeof *orders);
        improve_solution(&s, &best);
        while (s.work > 0 && best.q > 1 &&
               !(p <= (x.returns ? HS_TASK_LINKS_BOTH : HS_TASK_LINKS_SENT))) {
            copy_solution(&now, &best, p);
            for (int32_t kick = 0; kick < 3; kick++) {
                int32_t *order = x.returns && hs__random_below(&seed, 2) ? now.back : now.send;
                int32_t from = hs__pick(&seed, now.q);
                hs__shift(order, from, hs__pick(&seed, now.q));
            }
            if (!assess_solution(&s, &now)) continue;
            improve_solution(&s, &now);
            if (is_better(&now, &best)) copy_solution(&best, &now, p);
        }
        status = hs__check_cancel(cancel);
        if (!status) status = prove_optimum(&x, &best, cancel, optimal);
        if (status == HS_OK) {
            *enrolled = best.q;
            for (int32_t d = 0; d < best.q; d++) {
                send_order[d] = best.send[d];
                receive_order[d] = best.back[best.q - 1 - d];
            }
        }
    }
    free(x.cycle);
    free(orders);
    free(ends);
    free(keys);
    return status;
}

hs_status hs_task_links(double bound, int32_t p, const double *cycle_times, const double *sends,
                        const double *receives, int64_t work, uint64_t seed, const int *cancel,
                        int32_t *enrolled, int32_t *send_order, int32_t *receive_order,
                        int *optimal)
{
    if (!cycle_times || !sends || !enrolled || !send_order || !receive_order || !optimal)
        return HS_ERROR_VALUE;
    return hs__search_links(bound, p, cycle_times, sends, receives, work, INFINITY, seed, cancel,
                            enrolled, send_order, receive_order, optimal);
}
