/* LU on a grid of blocks: deals the blocks to workers, and computes the loads and the traffic of
 * each step. */
#include <stdlib.h>

#include "allocate/load.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "hetsched.h"

/* For each entry of a floorplan: the number of entries of its subtree, and the time per block if
 * its workers divide the work perfectly. */
typedef struct {
    int32_t size;
    double time;
} part;

/* Rows and columns of the part `node` that remain to be dealt. */
typedef struct box {
    struct box *next;
    int32_t node, height, width;
    /* [height + width] the rows, then the columns, ascending */
    int32_t lines[];
} box;

/* ---- dealing --------------------------------------------------------------------------------- */

/* Returns HS_ERROR_VALUE if the plan is not a tree of straight cuts, has a worker twice, or has no
 * worker with a finite cycle-time. */
static hs_status parse_plan(int32_t p, const double *cycle_times, const int32_t *plan,
                            int32_t length, part *parts)
{
    double fastest = INFINITY;
    char *seen = calloc((size_t)p, 1);
    int valid = 1;
    int operands = 0;
    if (!seen) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < length && valid; i++) {
        if (plan[i] >= 0) {
            valid = plan[i] < p && !seen[plan[i]];
            if (!valid) break;
            seen[plan[i]] = 1;
            operands++;
            fastest = fmin(fastest, cycle_times[plan[i]]);
        } else valid = (plan[i] == HS_BESIDE || plan[i] == HS_ABOVE) && --operands >= 1;
    }
    free(seen);
    if (!valid || operands != 1 || isinf(fastest)) return HS_ERROR_VALUE;
    const int unit = unit_of(fastest); /* a power of two: ties stay ties */
    for (int32_t i = 0; i < length; i++) {
        if (plan[i] >= 0) parts[i] = (part){1, ldexp(cycle_times[plan[i]], -unit)};
        else {
            const part *second = &parts[i - 1];
            const part *first = second - second->size;
            parts[i] = (part){first->size + second->size + 1,
                              1.0 / (1.0 / first->time + 1.0 / second->time)};
        }
    }
    return HS_OK;
}

/* Finds the parts of node i, from the first to the last; adjacent parallel cuts are merged. work
 * [length]. Returns the number of parts. */
static int32_t parts_of(const int32_t *plan, const part *parts, int32_t i, int32_t *found,
                        int32_t *work)
{
    int32_t count = 0;
    int32_t left = 0;
    work[left++] = i;
    while (left) {
        const int32_t at = work[--left];
        if (plan[at] != plan[i]) found[count++] = at;
        else {
            work[left++] = at - 1;
            work[left++] = at - 1 - parts[at - 1].size;
        }
    }
    return count;
}

static box *box_of(int32_t node, int32_t height, int32_t width, box *next)
{
    box *self = malloc(sizeof *self + (size_t)(height + width) * sizeof *self->lines);
    if (self) *self = (box){.next = next, .node = node, .height = height, .width = width};
    return self;
}

typedef struct {
    const int32_t *plan;
    part *parts;           /* [length] */
    int32_t *found, *work; /* [length] */
    double *times;         /* [length] */
    int32_t *dealt;        /* [n] */
    int32_t *counts;       /* [length] */
} dealing;

/* Deals the lines of a box across its cuts, the last line first. Adds a box to *pending for each
 * part that gets lines. */
static hs_status deal_lines(dealing *d, const box *self, box **pending)
{
    const int beside = d->plan[self->node] == HS_BESIDE;
    const int32_t q = parts_of(d->plan, d->parts, self->node, d->found, d->work);
    const int32_t lines = beside ? self->width : self->height;
    const int32_t *own = self->lines + (beside ? self->height : 0);
    const int32_t *other = self->lines + (beside ? 0 : self->height);
    const int32_t others = beside ? self->height : self->width;
    for (int32_t c = 0; c < q; c++) {
        d->times[c] = d->parts[d->found[c]].time;
        d->counts[c] = 0;
    }
    const hs_status status = hs_distribute_prefix(lines, q, d->times, NULL, d->dealt, NULL);
    if (status) return status;
    for (int32_t l = 0; l < lines; l++) d->counts[d->dealt[l]]++;
    for (int32_t c = 0; c < q; c++) {
        if (!d->counts[c]) continue;
        box *own_box = box_of(d->found[c], beside ? others : d->counts[c],
                              beside ? d->counts[c] : others, *pending);
        if (!own_box) return HS_ERROR_MEMORY;
        *pending = own_box;
        int32_t *to = own_box->lines + (beside ? others : 0);
        int32_t *same = own_box->lines + (beside ? 0 : d->counts[c]);
        for (int32_t l = 0; l < lines; l++)
            if (d->dealt[lines - 1 - l] == c) *to++ = own[l];
        for (int32_t l = 0; l < others; l++) same[l] = other[l];
    }
    return HS_OK;
}

hs_status hs_lu_grid_deal(int32_t n, int32_t p, const double *cycle_times, const int32_t *plan,
                          int32_t length, const int *cancel, int32_t *owner)
{
    if (n < 1 || n > HS_LU_GRID_MOST || p < 1 || !cycle_times || !plan || length < 1 ||
        length > 2 * (int64_t)p || !owner)
        return HS_ERROR_VALUE;
    if (!hs__valid_times(p, cycle_times)) return HS_ERROR_VALUE;
    const size_t size = (size_t)length;
    part *parts = malloc(size * sizeof *parts);
    int32_t *indices = malloc((3 * size + (size_t)n) * sizeof *indices);
    double *times = malloc(size * sizeof *times);
    box *pending = parts && indices && times ? box_of(length - 1, n, n, NULL) : NULL;
    hs_status status = pending ? parse_plan(p, cycle_times, plan, length, parts) : HS_ERROR_MEMORY;
    dealing d = {.plan = plan, .parts = parts, .times = times, .found = indices};
    if (indices) {
        d.work = indices + size;
        d.counts = d.work + size;
        d.dealt = d.counts + size;
    }
    for (int32_t l = 0; pending && l < n; l++) pending->lines[l] = pending->lines[n + l] = l;
    box *done = NULL; /* boxes of single workers */
    while (pending) {
        box *self = pending;
        pending = self->next;
        if (!status && plan[self->node] >= 0) {
            self->next = done;
            done = self;
            continue;
        }
        if (!status) status = hs__check_cancel(cancel);
        if (!status) status = deal_lines(&d, self, &pending);
        free(self);
    }
    while (done) {
        box *self = done;
        done = self->next;
        for (int32_t i = 0; i < self->height && !status; i++) {
            if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
            for (int32_t j = 0; j < self->width; j++)
                owner[(int64_t)self->lines[i] * n + self->lines[self->height + j]] =
                    plan[self->node];
        }
        free(self);
    }
    free(parts);
    free(indices);
    free(times);
    return status;
}

/* ---- loads and traffic of a map -------------------------------------------------------------- */

/* Counts the blocks of the panel, or of the pivot row, that are sent. A worker with a block in row
 * (column) i beyond column (row) k < i needs the panel's block of that row in step k, except in the
 * steps in which it owns that block. So one scan of each line from its end suffices. */
static void add_traffic(int32_t n, const int32_t *owner, int by_rows, const int *cancel,
                        int32_t *seen, int64_t *change, int64_t *received)
{
    const int64_t along = by_rows ? 1 : n;
    const int64_t across = by_rows ? n : 1;
    for (int32_t i = 0; i < n && !hs__cancelled(cancel); i++)
        for (int32_t k = n - 1; k >= 0; k--) {
            const int32_t w = owner[i * across + k * along];
            /* The worker's last block of this line: the worker needs the blocks of the steps before
             * k and before i. */
            if (seen[w] != i + 1) {
                const int32_t steps = k < i ? k : i;
                seen[w] = i + 1;
                change[0]++;
                change[steps]--;
                if (received) received[w] += steps;
            } else if (k < i) {
                change[k]--;
                change[k + 1]++;
                if (received) received[w]--;
            }
        }
}

hs_status hs_lu_grid_evaluate(int32_t n, int32_t p, const double *cycle_times, const int32_t *owner,
                              const int *cancel, double *loads, int64_t *traffic, int64_t *received)
{
    if (n < 1 || n > HS_LU_GRID_MOST || p < 1 || !cycle_times || !owner || !loads)
        return HS_ERROR_VALUE;
    if (!hs__valid_times(p, cycle_times)) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < n; i++) {
        const int32_t *row = owner + (int64_t)i * n;
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        for (int32_t j = 0; j < n; j++)
            if (row[j] < 0 || row[j] >= p || isinf(cycle_times[row[j]])) return HS_ERROR_VALUE;
    }
    int64_t *counts = calloc((size_t)p, sizeof *counts);
    int64_t *change = calloc((size_t)n + 1, sizeof *change);
    int32_t *seen = calloc((size_t)p, sizeof *seen);
    if (!counts || !change || !seen) {
        free(counts);
        free(change);
        free(seen);
        return HS_ERROR_MEMORY;
    }
    double most = 0.0;
    loads[n - 1] = 0.0;
    /* Goes backwards: step k - 1 updates the blocks of step k and, in addition, row and column
     * k. */
    for (int32_t k = n - 1; k > 0 && !hs__cancelled(cancel); k--) {
        for (int32_t j = k; j < n; j++) {
            const int32_t in_row = owner[(int64_t)k * n + j];
            const int32_t in_column = owner[(int64_t)j * n + k];
            most = fmax(most, (double)++counts[in_row] * cycle_times[in_row]);
            if (j > k) most = fmax(most, (double)++counts[in_column] * cycle_times[in_column]);
        }
        loads[k - 1] = most;
    }
    if (received)
        for (int32_t i = 0; i < p; i++) received[i] = 0;
    if (traffic || received) {
        add_traffic(n, owner, 1, cancel, seen, change, received);
        for (int32_t i = 0; i < p; i++) seen[i] = 0;
        add_traffic(n, owner, 0, cancel, seen, change, received);
        for (int32_t i = 0; i < p; i++) seen[i] = 0;
        int64_t sent = 0;
        for (int32_t k = 0; k < n && !hs__cancelled(cancel); k++) {
            sent += change[k];
            if (traffic) traffic[k] = sent;
            seen[owner[(int64_t)k * n + k]] = k + 1;
            /* the diagonal block, for the workers of the other blocks of the panel and of the pivot
             * row */
            for (int32_t i = k + 1; i < n; i++)
                for (int by_rows = 0; by_rows < 2; by_rows++) {
                    const int32_t w = owner[by_rows ? (int64_t)k * n + i : (int64_t)i * n + k];
                    if (seen[w] == k + 1) continue;
                    seen[w] = k + 1;
                    if (traffic) traffic[k]++;
                    if (received) received[w]++;
                }
        }
    }
    free(counts);
    free(change);
    free(seen);
    return hs__check_cancel(cancel);
}

/* ---- the bound ------------------------------------------------------------------------------- */

/* Raises the least load of each step to the least load + link_cost * traffic. A worker with a of the
 * m x m blocks receives at least 2 sqrt(a) blocks of the panel and of the pivot row; from the sum
 * over the workers, the 2 m blocks that are owned by some worker are subtracted. Within a limit on
 * the load the sum of the roots, which is concave, is least if the fastest workers have all that
 * they can do in it. Between two such limits the cost is concave in the limit, so one of them is
 * best: the limit at which the q fastest workers share the blocks. */
static hs_status raise_bounds(int32_t n, int32_t p, const double *cycle_times, double link_cost,
                              const int *cancel, double *bounds)
{
    const double fastest = fastest_of(p, cycle_times);
    double *speeds = malloc((size_t)p * sizeof *speeds);
    double *least = malloc((size_t)n * sizeof *least);
    hs_status status = hs__check_memory(speeds && least);
    double together = 0.0;
    double roots = 0.0;
    for (int32_t i = 0; i < p && !status; i++) speeds[i] = fastest / cycle_times[i];
    if (!status) qsort(speeds, (size_t)p, sizeof *speeds, hs__ascending);
    for (int32_t k = 0; k < n && !status; k++) least[k] = INFINITY;
    for (int32_t q = p - 1; q >= 0 && !status && speeds[q] > 0.0; q--) {
        together += speeds[q];
        roots += sqrt(speeds[q]);
        const double time = fastest / together;
        const double extra = 2.0 * (roots / sqrt(together) - 1.0);
        for (int32_t k = 0; k < n; k++) {
            const double m = n - 1 - k;
            least[k] = fmin(least[k], m * m * time + link_cost * (extra * m));
        }
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
    }
    /* margin for the rounding of the sums */
    for (int32_t k = 0; k < n && !status; k++)
        bounds[k] = fmax(bounds[k], least[k] * (1.0 - 1e-14));
    free(speeds);
    free(least);
    return status;
}

hs_status hs_lu_grid_bound(int32_t n, int32_t p, const double *cycle_times, double link_cost,
                           const int *cancel, double *bounds)
{
    if (n < 1 || n > HS_LU_GRID_MOST || p < 1 || !cycle_times || !bounds ||
        isnan(fastest_of(p, cycle_times)) || !hs__valid_costs(1, &link_cost))
        return HS_ERROR_VALUE;
    int64_t *counts = malloc((size_t)p * sizeof *counts);
    double *found = malloc((size_t)n * sizeof *found);
    hs_status status = hs__check_memory(counts && found);
    for (int64_t k = 0; k < n && !status; k++)
        status =
            hs_distribute((n - 1 - k) * (n - 1 - k), p, cycle_times, cancel, counts, &found[k]);
    if (!status && link_cost > 0.0)
        status = raise_bounds(n, p, cycle_times, link_cost, cancel, found);
    for (int64_t k = 0; k < n && !status; k++) bounds[k] = found[k];
    free(counts);
    free(found);
    return status;
}
