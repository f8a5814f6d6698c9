/* hs__profile_columns: tilings in full columns. The workers are in an order, and a column has workers
 * that follow each other in it, some of them without rows. For an order and a limit on the makespan,
 * the sets of heights that workers can add up to, and the sets of widths that columns can, decide
 * whether there is a tiling. Several orders are tried. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
#include "core/order.h"
#include "core/random.h"
#include "core/sets.h"
#include "core/sort.h"
#include "core/status.h"
#include "partition/profile.h"

/* Orders tried beyond the first one, if the effort is not timed: at most ORDERS, and so many that the
 * words of all their sets are about WORK. By hand: about a second at most. */
enum { ORDERS = 200, WORK = 1 << 19 };

typedef struct {
    const hs__zone_times *x;
    int32_t size;
    int32_t *order;
    size_t words, across; /* of a set of heights, and of widths */
    double limit;         /* that of `own` */
    uint64_t *own;        /* [p wide] sets: the heights, 0 among them, that fit at each width */
    uint64_t *reach;      /* [size + 1] sets: the widths that columns of the first workers have */
    uint64_t *rows;       /* [size + 1] sets: the heights that the first workers of a column have */
    uint64_t *widths;     /* two sets: some widths, and sums with them */
    uint64_t *spread;     /* workspace of hs__add_sets */
} columns;

static uint64_t *own_of(const columns *s, int32_t i, int64_t w)
{
    return s->own + (size_t)(i * s->x->wide + w - 1) * s->words;
}

static uint64_t *reach_of(const columns *s, int32_t a) { return s->reach + (size_t)a * s->across; }

static void set_limit(columns *s, double limit)
{
    const hs__zone_times *x = s->x;
    if (s->limit == limit) return;
    s->limit = limit;
    for (int32_t i = 0; i < x->p && !hs__cancelled(x->cancel); i++)
        for (int64_t w = 1; w <= x->wide; w++) {
            uint64_t *own = own_of(s, i, w);
            memset(own, 0, s->words * sizeof *own);
            own[0] = 1;
            for (int64_t h = 1; h <= x->tall; h++)
                own[h / HS__WORD] |= (uint64_t)(hs__zone_time(x, i, h, w) <= limit)
                                     << (h % HS__WORD);
        }
}

/* Returns the end of the shortest run of workers from a on that fill a column of width w, or 0 if
 * none do; fills `rows`. */
static int32_t end_column(const columns *s, int32_t a, int64_t w)
{
    memset(s->rows, 0, s->words * sizeof *s->rows);
    s->rows[0] = 1;
    for (int32_t i = a; i < s->size && !hs__cancelled(s->x->cancel); i++) {
        const uint64_t *before = s->rows + (size_t)(i - a) * s->words;
        uint64_t *after = s->rows + (size_t)(i - a + 1) * s->words;
        hs__add_sets(s->words, before, own_of(s, s->order[i], w), s->spread, s->x->cancel, after);
        if (hs__has(after, s->x->tall)) return i + 1;
    }
    return 0;
}

/* Widths low .. high, with each of which the workers first .. end - 1 fill a column.
 *   next  the end of the column of width high + 1; 0: none, or no such width */
typedef struct {
    int32_t first, end, next;
    int64_t low, high;
} column_run;

static int32_t end_within(const columns *s, int32_t first, int64_t w)
{
    return w <= s->x->wide ? end_column(s, first, w) : 0;
}

/* Before the first run of columns that begin with a worker. */
static column_run before_runs(const columns *s, int32_t first)
{
    return (column_run){.first = first, .next = end_within(s, first, 1)};
}

/* Moves to the next run; returns whether there is one. */
static bool next_run(const columns *s, column_run *run)
{
    const int64_t wide = s->x->wide;
    int64_t w = run->high + 1;
    while (w <= wide && !run->next) run->next = end_within(s, run->first, ++w);
    if (w > wide || hs__cancelled(s->x->cancel)) return false;
    run->low = w;
    run->end = run->next;
    while (w <= wide && run->next == run->end) {
        run->high = w;
        run->next = end_within(s, run->first, ++w);
    }
    return true;
}

/* Adds the total widths that the first workers have with one more column, of the run. */
static void add_run(const columns *s, const column_run *run)
{
    uint64_t *const sums = s->widths + s->across, *const to = reach_of(s, run->end);
    memset(s->widths, 0, s->across * sizeof *s->widths);
    for (int64_t w = run->low; w <= run->high; w++)
        s->widths[w / HS__WORD] |= UINT64_C(1) << (w % HS__WORD);
    hs__add_sets(s->across, reach_of(s, run->first), s->widths, s->spread, s->x->cancel, sums);
    for (size_t k = 0; k < s->across; k++) to[k] |= sums[k];
}

/* Returns whether the order has a tiling within the limit. */
static bool is_feasible(void *context, double limit)
{
    columns *s = context;
    set_limit(s, limit);
    memset(s->reach, 0, ((size_t)s->size + 1) * s->across * sizeof *s->reach);
    s->reach[0] = 1;
    for (int32_t a = 0; a < s->size && !hs__cancelled(s->x->cancel); a++) {
        uint64_t *from = reach_of(s, a);
        for (column_run run = before_runs(s, a); next_run(s, &run);) {
            add_run(s, &run);
            if (hs__has(reach_of(s, run.end), s->x->wide)) return true;
        }
        for (size_t k = 0; k < s->across; k++) from[s->across + k] |= from[k];
    }
    return false;
}

/* ---- the zones of an order ------------------------------------------------------------------- */

/* The cheapest columns of the first workers for a total width: their cost, and the first worker and
 * the width of the last column; width 0 if the last worker is in no column. */
typedef struct {
    int64_t cost;
    int64_t width;
    int32_t first;
} choice;

/* Appends a column of the run to all choices of the first workers: *to becomes the cheaper ones. The
 * cost of a column grows with its width by a constant, so that the best width for a total is that of
 * the least difference in a window of totals, which `queue` holds in ascending order. Of equal
 * costs the smallest width is taken. */
static void extend_choices(const columns *s, const column_run *run, const choice *from, choice *to,
                           int64_t *queue)
{
    const int64_t count = run->end - run->first;
    int64_t head = 0, tail = 0;
    for (int64_t total = run->low; total <= s->x->wide; total++) {
        const int64_t used = total - run->low;
        if (from[used].cost != INT64_MAX) {
            const int64_t value = from[used].cost - used * count;
            while (tail > head && from[queue[tail - 1]].cost - queue[tail - 1] * count >= value)
                tail--;
            queue[tail++] = used;
        }
        while (head < tail && queue[head] < total - run->high) head++;
        if (head == tail) continue;
        const int64_t width = total - queue[head];
        const int64_t cost = from[queue[head]].cost + s->x->tall + width * count;
        if (cost < to[total].cost) to[total] = (choice){cost, width, run->first};
    }
}

/* Stacks the workers from `first` on in a column, each as high as the workers before it allow. */
static void stack_column(const columns *s, int32_t first, int64_t col, int64_t w, int64_t *zones)
{
    int64_t rest = s->x->tall;
    for (int32_t i = end_column(s, first, w); i-- > first;) {
        const uint64_t *own = own_of(s, s->order[i], w);
        const uint64_t *before = s->rows + (size_t)(i - first) * s->words;
        int64_t h = rest;
        while (h > 0 && !(hs__has(own, h) && hs__has(before, rest - h))) h--;
        rest -= h;
        if (h) memcpy(zones + 4 * (size_t)s->order[i], (int64_t[]){rest, col, h, w}, 4 * sizeof h);
    }
}

/* Writes the zones of a feasible limit. The sum of half perimeters is the height of each column and
 * its width for each of its workers; of the columns of is_feasible, those with the least sum are
 * taken, as if all their workers had rows. */
static hs_status choose_zones(columns *s, double limit, int64_t *zones)
{
    const int64_t wide = s->x->wide;
    const int64_t room = wide + 1;
    choice *best = malloc(((size_t)s->size + 1) * (size_t)room * sizeof *best);
    int64_t *queue = malloc((size_t)room * sizeof *queue);
    if (!best || !queue) {
        free(best);
        free(queue);
        return HS_ERROR_MEMORY;
    }
    set_limit(s, limit);
    for (int64_t e = 0; e < (s->size + 1) * room; e++) best[e].cost = INT64_MAX;
    best[0].cost = 0;
    for (int32_t a = 0; a < s->size && !hs__cancelled(s->x->cancel); a++) {
        choice *from = best + a * room;
        for (column_run run = before_runs(s, a); next_run(s, &run);)
            extend_choices(s, &run, from, best + run.end * room, queue);
        for (int64_t used = 0; used <= wide; used++)
            if (from[used].cost < from[room + used].cost)
                from[room + used] = (choice){from[used].cost, 0, a};
    }
    memset(zones, 0, 4 * (size_t)s->x->p * sizeof *zones);
    int64_t col = hs__cancelled(s->x->cancel) ? 0 : wide;
    for (int32_t i = s->size; col > 0;) {
        const choice last = best[i * room + col];
        i = last.first;
        col -= last.width;
        if (last.width) stack_column(s, i, col, last.width, zones);
    }
    free(best);
    free(queue);
    return HS_OK;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Makes the next order in lexicographic order; returns whether there is one. */
static bool next_order(int32_t size, int32_t *order)
{
    int32_t i = size - 2;
    while (i >= 0 && order[i] >= order[i + 1]) i--;
    if (i < 0) return false;
    int32_t j = size - 1;
    while (order[j] <= order[i]) j--;
    hs__swap(order, i, j);
    hs__reverse(size - i - 1, order + i + 1);
    return true;
}

/* Replaces *best by the least makespan of this order if it is smaller; returns whether it is. The
 * sets of the limit just below *best stay from one order to the next. */
static bool improve(columns *s, double bound, double *sample, double *best)
{
    if (!is_feasible(s, nextafter(*best, 0.0))) return false;
    *best = hs__least_time(s->x, nextafter(bound, 0.0), *best, sample, is_feasible, s);
    return true;
}

/* Tries all orders. */
static void try_all(columns *s, double bound, double *sample, double *best, int32_t *kept)
{
    for (int32_t k = 1; k < s->size; k++) /* the first order is ascending */
        for (int32_t j = k; j > 0 && s->order[j] < s->order[j - 1]; j--)
            hs__swap(s->order, j, j - 1);
    do {
        if (improve(s, bound, sample, best)) memcpy(kept, s->order, (size_t)s->size * sizeof *kept);
    } while (*best > bound && next_order(s->size, s->order) && !hs__cancelled(s->x->cancel));
}

/* Tries the reverse order, then orders that differ from the best one by a swap or a move. */
static void try_some(columns *s, double bound, const hs_effort *effort, double *sample,
                     double *best, int32_t *kept)
{
    const size_t bytes = (size_t)s->size * sizeof *kept;
    const double work = (double)s->size * (double)s->x->wide * (double)s->words;
    const bool timed = hs__effort_timed(effort);
    const int64_t tries = timed ? INT64_MAX : (int64_t)fmin(ORDERS, 1.0 + WORK / work);
    const double end = hs__effort_end(effort);
    uint64_t state = hs__effort_seed(effort);
    for (int64_t k = 0; *best > bound && k < tries && !hs__cancelled(s->x->cancel); k++) {
        memcpy(s->order, kept, bytes);
        const int32_t i = hs__pick(&state, s->size);
        const int32_t j = hs__pick(&state, s->size);
        if (k == 0) hs__reverse(s->size, s->order);
        else if (hs__random(&state) & 1) hs__swap(s->order, i, j);
        else hs__shift(s->order, i, j);
        if (improve(s, bound, sample, best)) memcpy(kept, s->order, bytes);
        if (timed && hs_clock() >= end) break;
    }
}

hs_status hs__profile_columns(const hs__zone_times *x, double bound, int32_t size, int32_t *able,
                              const hs_effort *effort, double *makespan, int64_t *zones, bool *all)
{
    columns s = {.x = x,
                 .size = size,
                 .words = hs__set_words(x->tall),
                 .across = hs__set_words(x->wide),
                 .limit = -1.0};
    const size_t longer = hs__larger(s.words, s.across);
    const size_t spread = hs__count_powers(longer) * longer;
    const size_t sets = (size_t)size + 1;
    const size_t own = (size_t)x->p * (size_t)x->wide * s.words;
    uint64_t *bits = malloc((own + (sets + 2) * s.across + sets * s.words + spread) * sizeof *bits);
    double *sample = malloc(HS__TIMES_SAMPLE * sizeof *sample);
    s.order = malloc((size_t)size * sizeof *s.order);
    hs_status status = hs__check_memory(bits && sample && s.order);
    if (!status) {
        s.own = bits;
        s.reach = s.own + own;
        s.rows = s.reach + sets * s.across;
        s.widths = s.rows + sets * s.words;
        s.spread = s.widths + 2 * s.across;
        *makespan = INFINITY;
        /* a matrix of one row or column needs a single order */
        *all = size <= HS_PROFILE_ORDERS || x->tall == 1 || x->wide == 1;
        memcpy(s.order, able, (size_t)size * sizeof *able);
        improve(&s, bound, sample, makespan);
        if (size <= HS_PROFILE_ORDERS) try_all(&s, bound, sample, makespan, able);
        else if (!*all) try_some(&s, bound, effort, sample, makespan, able);
        memcpy(s.order, able, (size_t)size * sizeof *able);
        if (isfinite(*makespan)) status = choose_zones(&s, *makespan, zones);
        if (hs__cancelled(x->cancel)) status = HS_ERROR_CANCELLED;
    }
    free(bits);
    free(sample);
    free(s.order);
    return status;
}
