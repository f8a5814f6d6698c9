/* Wavefronts: the order of the tiles in a chunk, the simulation of a dealing of columns, a lower
 * bound, and the search for the best panels. */
#include "allocate/wavefront.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocate/load.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"

/* ---- the order of the tiles ------------------------------------------------------------------ */

int32_t hs__wavefront_chunks(int32_t cols, const int32_t *owner, hs__chunk *chunk)
{
    int32_t count = 0;
    for (int32_t j = 0, first = 0; j < cols; j++) {
        if (j + 1 < cols && owner[j + 1] == owner[j]) continue;
        if (chunk)
            chunk[count] = (hs__chunk){.worker = owner[j], .first = first, .width = j + 1 - first};
        count++;
        first = j + 1;
    }
    return count;
}

/* Row-wise: step s does the tiles (s - reach j, j) from the left. With reach 0 these are the rows.
 * With a larger reach, a row depends on rows below it in the column to its left, so the rows are
 * skewed: the diagonals of the paper's figure 3. */
static int next_skewed_row(hs__walk *w, hs__stretch *x)
{
    const int64_t s = w->at;
    const int64_t last = w->width - 1;
    if (s >= w->rows + w->reach * last) return 0;
    w->at++;
    const int64_t from = s < w->rows ? 0 : (s - w->rows) / w->reach + 1;
    const int64_t to = w->reach ? hs__min(last, s / w->reach) : last;
    *x = (hs__stretch){.row = s - w->reach * from,
                       .col = from,
                       .count = to - from + 1,
                       .row_step = -w->reach,
                       .col_step = 1};
    x->needs = from == 0 ? hs__min(s + w->reach, w->rows - 1) : -1;
    x->gives = to == last ? s - w->reach * last : -1;
    return 1;
}

/* Column-wise: the first and the last column go tile by tile, because their tiles wait for other
 * chunks or other chunks wait for them; the columns between them are one stretch each. */
static int next_column(hs__walk *w, hs__stretch *x)
{
    const int64_t last = w->width - 1;
    const int64_t inner = last > 1 ? last - 1 : 0;
    int64_t at = w->at;
    if (at >= (last ? 2 : 1) * w->rows + inner) return 0;
    w->at++;
    *x = (hs__stretch){.count = 1, .row_step = 1, .needs = -1, .gives = -1};
    if (at < w->rows) {
        x->row = at;
        x->needs = hs__min(at + w->reach, w->rows - 1);
    } else if ((at -= w->rows) < inner) {
        x->col = at + 1;
        x->count = w->rows;
    } else {
        x->col = last;
        x->row = at - inner;
    }
    if (x->col == last) x->gives = x->row;
    return 1;
}

int hs__walk_next(hs__walk *walk, hs__stretch *next)
{
    return walk->order == HS_ROW_WISE ? next_skewed_row(walk, next) : next_column(walk, next);
}

enum { BRIEF = 1 << 14 }; /* stretches between two looks at cancel */

/* ---- simulation ------------------------------------------------------------------------------ */

static int valid_problem(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                         int64_t reach)
{
    return rows >= 1 && cols >= 1 && rows <= HS__SIZE_MOST / cols && p >= 1 && reach >= 0 &&
           !isnan(fastest_of(p, cycle_times));
}

/* Simulates a chunk. It depends on the chunks to its left only through the times at which the rows
 * of their last column end: arrival [rows], which the chunk before has written and this one
 * overwrites for the next. Each row is read before it is overwritten: step s of the row-wise order
 * reads row s + reach, or the last row, and writes a row that is not below s. */
static hs_status simulate_chunk(hs__walk walk, double cycle_time, int64_t first, int64_t cols,
                                const int *cancel, double *free_at, double *arrival, double *start,
                                double *end)
{
    double now = *free_at;
    /* checks for cancellation at each chunk: there can be many short ones */
    int64_t work = BRIEF;
    for (hs__stretch x; hs__walk_next(&walk, &x);) {
        /* each tile can be the first access to two pages of memory */
        if ((work += start ? 64 * x.count : 1) >= BRIEF) {
            if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
            work = 0;
        }
        if (first && x.needs >= 0) now = fmax(now, arrival[x.needs]);
        if (start)
            for (int64_t k = 0; k < x.count; k++) {
                const int64_t tile =
                    (x.row + k * x.row_step) * cols + first + x.col + k * x.col_step;
                start[tile] = now + (double)k * cycle_time;
                end[tile] = now + (double)(k + 1) * cycle_time;
            }
        now += (double)x.count * cycle_time;
        if (x.gives >= 0) arrival[x.gives] = now;
    }
    *free_at = now;
    return HS_OK;
}

/* Simulates all chunks; ready [p] and arrival [rows] are workspace. A chunk waits only for chunks
 * to its left, so one pass from the left suffices. The simulation stops as soon as the makespan is
 * known to be above `enough`, with some value above it. */
static hs_status simulate_chunks(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                                 const hs__chunk *chunk, int32_t chunks, int64_t reach,
                                 int32_t order, double enough, const int *cancel, double *ready,
                                 double *arrival, double *makespan, double *start, double *end)
{
    double last = 0.0;
    memset(ready, 0, (size_t)p * sizeof *ready);
    for (int32_t c = 0; c < chunks && last <= enough; c++) {
        const hs__walk walk = {
            .rows = rows, .width = chunk[c].width, .reach = reach, .order = order};
        double *mine = &ready[chunk[c].worker];
        const hs_status status = simulate_chunk(walk, cycle_times[chunk[c].worker], chunk[c].first,
                                                cols, cancel, mine, arrival, start, end);
        if (status) return status;
        last = fmax(last, *mine);
    }
    *makespan = last;
    return HS_OK;
}

hs_status hs_wavefront_makespan(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                                const int32_t *owner, int64_t reach, int32_t order,
                                const int *cancel, double *makespan, double *start, double *end)
{
    if (!cycle_times || !owner || !makespan) return HS_ERROR_VALUE;
    if (!valid_problem(rows, cols, p, cycle_times, reach) ||
        (order != HS_ROW_WISE && order != HS_COLUMN_WISE) || !start != !end)
        return HS_ERROR_VALUE;
    for (int32_t j = 0; j < cols; j++)
        if (owner[j] < 0 || owner[j] >= p || isinf(cycle_times[owner[j]])) return HS_ERROR_VALUE;
    const int32_t chunks = hs__wavefront_chunks(cols, owner, NULL);
    hs__chunk *chunk = malloc((size_t)chunks * sizeof *chunk);
    double *ready = malloc((size_t)p * sizeof *ready);
    double *arrival = malloc((size_t)rows * sizeof *arrival);
    hs_status status = hs__check_memory(chunk && ready && arrival);
    if (!status) {
        hs__wavefront_chunks(cols, owner, chunk);
        status =
            simulate_chunks(rows, cols, p, cycle_times, chunk, chunks, hs__min(reach, rows - 1),
                            order, INFINITY, cancel, ready, arrival, makespan, start, end);
    }
    free(chunk);
    free(ready);
    free(arrival);
    return status;
}

/* ---- lower bound ----------------------------------------------------------------------------- */

hs_status hs_wavefront_bound(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                             int64_t reach, const int *cancel, double *bound)
{
    if (!cycle_times || !bound) return HS_ERROR_VALUE;
    if (!valid_problem(rows, cols, p, cycle_times, reach)) return HS_ERROR_VALUE;
    int64_t *counts = malloc((size_t)p * sizeof *counts);
    double *sorted = malloc((size_t)p * sizeof *sorted);
    double columns = 0.0;
    hs_status status = counts && sorted
                           ? hs_distribute(cols, p, cycle_times, cancel, counts, &columns)
                           : HS_ERROR_MEMORY;
    if (!status) {
        memcpy(sorted, cycle_times, (size_t)p * sizeof *sorted);
        qsort(sorted, (size_t)p, sizeof *sorted, hs__ascending);
        const double fastest = sorted[0];
        /* A chain of tiles passes `lag` tiles on its way from the top of a column to the top of the
         * next. */
        const double lag = (double)(reach < rows ? reach + 1 : rows);
        /* the longest chain, in units of the fastest cycle-time */
        double least = (double)rows + lag * (double)(cols - 1);

        /* The first columns of the enrolled workers differ. So in some order they start k lag after
         * the beginning at the earliest, k = 0, 1, .., and likewise they end k lag before the end.
         * The most work is done by time T if the fastest workers have the smallest k: sum over k of
         * max(0, T - 2 k lag) / t_k >= rows cols. */
        double speed = 0.0;
        double work = (double)rows * (double)cols;
        double filled = INFINITY;
        for (int32_t k = 0; k < p && k < cols; k++) {
            speed += fastest / sorted[k];
            work += 2.0 * k * lag * (fastest / sorted[k]);
            filled = fmin(filled, work / speed);
        }
        least = fmax(least, filled);
        *bound = fmax(least * fastest, (double)rows * columns);
    }
    free(counts);
    free(sorted);
    return status;
}

/* ---- panels ---------------------------------------------------------------------------------- */

typedef struct {
    int32_t period, redistributed;
    double bound;
} candidate;

typedef struct {
    int64_t rows, reach;
    int32_t cols, p, order;
    const double *cycle_times;
    int64_t *counts;  /* [p] columns of each worker in a panel */
    int32_t *panel;   /* [p] the workers that have columns in a panel */
    hs__chunk *chunk; /* [cols] */
    double *load;     /* [p] */
    double *arrival;  /* [rows] */
} planner;

/* Computes the shares of a panel of `period` columns, ordered by the worker's time for a row, the
 * shortest first; workers without columns are left out. */
static hs_status divide_panel(planner *x, int32_t period, int32_t *shares)
{
    hs_status status = hs_distribute(period, x->p, x->cycle_times, NULL, x->counts, NULL);
    if (status) return status;
    for (int32_t i = 0; i < x->p; i++)
        x->load[i] = x->counts[i] > 0 ? (double)x->counts[i] * x->cycle_times[i] : 0.0;
    return hs__sort_positive(x->p, x->load, x->panel, shares);
}

/* Lays panels from the left. The columns that are left over are the first ones of a panel, or are
 * distributed anew. */
static hs_status lay_panels(planner *x, const candidate *by, int32_t *chunks)
{
    int32_t shares;
    hs_status status = divide_panel(x, by->period, &shares);
    *chunks = 0;
    for (int32_t first = 0, k = 0; first < x->cols && !status; k = (k + 1) % shares) {
        if (k == 0 && by->redistributed && x->cols - first < by->period) {
            if ((status = divide_panel(x, x->cols - first, &shares))) break;
        }
        const int32_t next = x->panel[k];
        const int32_t width = (int32_t)hs__min(x->counts[next], x->cols - first);
        hs__chunk *last = *chunks ? &x->chunk[*chunks - 1] : NULL;
        if (last && last->worker == next) last->width += width;
        else x->chunk[(*chunks)++] = (hs__chunk){.worker = next, .first = first, .width = width};
        first += width;
    }
    return status;
}

/* Returns the number of tiles of a chunk between its first tile and the last one that the chunk to
 * the right needs for its first tile. As many lie between the last tile of the chunk to the left
 * and the last tile of this chunk. Column k contributes reach + 1 + k reach tiles, but at most as
 * many as there are rows. */
static double lag_of_chunk(const planner *x, int32_t width)
{
    if (x->reach == 0) return width;
    const double reach = (double)x->reach;
    const double skewed = (double)hs__min(width, (x->rows - 2) / x->reach);
    return skewed * (reach + 1.0) + reach * (skewed * (skewed - 1.0) / 2.0) +
           (width - skewed) * (double)x->rows;
}

/* Computes a lower bound for all orders that do chunk after chunk: a worker does its columns after
 * the first rows have passed the chunks to the left of its first chunk, and before the last rows
 * pass the chunks to the right of its last one. */
static double bound_of_chunks(planner *x, int32_t chunks)
{
    double total = 0.0;
    double passed = 0.0;
    double bound = 0.0;
    for (int32_t i = 0; i < x->p; i++) x->load[i] = -1.0;
    for (int32_t c = 0; c < chunks; c++) {
        const int32_t i = x->chunk[c].worker;
        if (x->load[i] < 0.0) x->load[i] = total; /* its wait at the start */
        x->load[i] += (double)x->rows * (double)x->chunk[c].width * x->cycle_times[i];
        total += lag_of_chunk(x, x->chunk[c].width) * x->cycle_times[i];
    }
    for (int32_t c = chunks; c-- > 0;) { /* from the right: a worker's last chunk comes first */
        const int32_t i = x->chunk[c].worker;
        if (x->load[i] >= 0.0) bound = fmax(bound, x->load[i] + passed);
        x->load[i] = -1.0;
        passed += lag_of_chunk(x, x->chunk[c].width) * x->cycle_times[i];
    }
    return bound;
}

static int by_bound(const void *x, const void *y)
{
    const candidate *a = x;
    const candidate *b = y;
    if (a->bound != b->bound) return a->bound < b->bound ? -1 : 1;
    if (a->period != b->period) return a->period > b->period ? -1 : 1;
    return a->redistributed - b->redistributed;
}

/* Simulates candidates by ascending bound until no later one can be better; among equals the
 * longest period is kept. */
static hs_status best_of(planner *x, candidate *list, int64_t count, const int *cancel,
                         candidate *best, double *makespan)
{
    int32_t chunks;
    hs_status status = HS_OK;
    for (int64_t i = 0; i < count && !status; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        if ((status = lay_panels(x, &list[i], &chunks))) return status;
        list[i].bound = bound_of_chunks(x, chunks);
    }
    qsort(list, (size_t)count, sizeof *list, by_bound);
    *makespan = INFINITY;
    *best = list[0];
    for (int64_t i = 0; i < count && list[i].bound * (1.0 - 1e-9) <= *makespan; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        if ((status = lay_panels(x, &list[i], &chunks))) return status;
        double time;
        status =
            simulate_chunks(x->rows, x->cols, x->p, x->cycle_times, x->chunk, chunks, x->reach,
                            x->order, *makespan, cancel, x->load, x->arrival, &time, NULL, NULL);
        if (status) return status;
        const int longer =
            list[i].period > best->period ||
            (list[i].period == best->period && list[i].redistributed < best->redistributed);
        if (time < *makespan || (time == *makespan && longer)) {
            *makespan = time;
            *best = list[i];
        }
    }
    return HS_OK;
}

hs_status hs_wavefront_panels(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                              int32_t period, int64_t reach, int32_t order, const int *cancel,
                              int32_t *owner, int32_t *chosen, int32_t *redistributed,
                              double *makespan)
{
    if (!cycle_times || !owner || !chosen || !redistributed || !makespan) return HS_ERROR_VALUE;
    if (!valid_problem(rows, cols, p, cycle_times, reach) ||
        (order != HS_ROW_WISE && order != HS_COLUMN_WISE) || period < 0)
        return HS_ERROR_VALUE;
    planner x = {.rows = rows,
                 .reach = hs__min(reach, rows - 1),
                 .cols = cols,
                 .p = p,
                 .order = order,
                 .cycle_times = cycle_times};
    const int32_t from = period ? period : 1;
    const int32_t to = period ? period : cols;
    candidate *list = malloc(2 * (size_t)(to - from + 1) * sizeof *list);
    candidate best;
    x.counts = malloc((size_t)p * sizeof *x.counts);
    x.panel = malloc((size_t)p * sizeof *x.panel);
    x.chunk = malloc((size_t)cols * sizeof *x.chunk);
    x.load = malloc((size_t)p * sizeof *x.load);
    x.arrival = malloc((size_t)rows * sizeof *x.arrival);
    hs_status status =
        hs__check_memory(list && x.counts && x.panel && x.chunk && x.load && x.arrival);
    int32_t chunks = 0;
    double least = INFINITY;
    if (!status) {
        int64_t count = 0;
        for (int64_t b = from; b <= to; b++) {
            list[count++] = (candidate){.period = (int32_t)b};
            if (cols % b) list[count++] = (candidate){.period = (int32_t)b, .redistributed = 1};
        }
        status = best_of(&x, list, count, cancel, &best, &least);
    }
    if (!status) status = lay_panels(&x, &best, &chunks);
    if (!status) {
        for (int32_t c = 0; c < chunks; c++)
            for (int32_t j = 0; j < x.chunk[c].width; j++)
                owner[x.chunk[c].first + j] = x.chunk[c].worker;
        *chosen = best.period;
        *redistributed = best.redistributed;
        *makespan = least;
    }
    free(list);
    free(x.counts);
    free(x.panel);
    free(x.chunk);
    free(x.load);
    free(x.arrival);
    return status;
}

hs_status hs_wavefront_best(int64_t rows, int32_t cols, int32_t p, const double *cycle_times,
                            hs_wavefront_method method, int32_t period, int64_t reach,
                            int32_t order, const int *cancel, int32_t *owner, int32_t *chosen,
                            int32_t *redistributed, hs_certificate *certificate)
{
    if ((int)method < HS_WAVEFRONT_PANELS || (int)method > HS_WAVEFRONT_CYCLIC || !owner ||
        !chosen || !redistributed || !certificate)
        return HS_ERROR_VALUE;
    double value, bound;
    hs_status status = hs_wavefront_bound(rows, cols, p, cycle_times, reach, cancel, &bound);
    if (status) return status;
    if (method == HS_WAVEFRONT_CYCLIC) {
        int32_t *dealt = malloc((size_t)cols * sizeof *dealt);
        if (!dealt) return HS_ERROR_MEMORY;
        const int32_t able = deal_in_turn(cols, p, cycle_times, dealt);
        status = hs_wavefront_makespan(rows, cols, p, cycle_times, dealt, reach, order, cancel,
                                       &value, NULL, NULL);
        if (!status)
            status = hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
        if (!status) {
            memcpy(owner, dealt, (size_t)cols * sizeof *owner);
            *chosen = able;
            *redistributed = 0;
        }
        free(dealt);
        return status;
    }
    status = hs_wavefront_panels(rows, cols, p, cycle_times, period, reach, order, cancel, owner,
                                 chosen, redistributed, &value);
    if (!status) status = hs_certificate_of("makespan", HS_MINIMISED, value, bound, certificate);
    if (!status && period == 0) certificate->scope = "sorted panels of any period, ties by index";
    return status;
}
