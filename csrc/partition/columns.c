/* hs_partition_columns: the best partition into full columns, and the rectangles of such a
 * partition. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/order.h"
#include "core/sort.h"
#include "core/status.h"
#include "partition/columns.h"
#include "partition/floorplan.h"

/* The least-weight-subsequence problem behind Algorithm 3: F(q) = min over a < q, q - a <=
 * max_rows, of F(a) + fee + (P_q - P_a)(q - a), with prefix sums P of the sorted areas. The weight
 * is Monge (compare an inner and an outer pair of cuts), also with the limit on q - a. So a later
 * cut that is better once stays better, and the candidates form a queue of (cut, first q where it
 * is best). */
typedef struct {
    int32_t size; /* number of parts */
    int32_t max_rows;
    const double *prefix; /* [size + 1] */
    double *best;         /* [size + 1] F */
    int32_t *cut;         /* [size + 1] argmin */
    int32_t *queue_cut;   /* [size + 1] */
    int32_t *queue_from;  /* [size + 1] */
} column_problem;

static double cost_at(const column_problem *s, int32_t a, int32_t q)
{
    if (q - a > s->max_rows) return INFINITY;
    return s->best[a] + (s->prefix[q] - s->prefix[a]) * (double)(q - a);
}

/* Returns whether the later cut b is better than the earlier cut a at q; if so, it stays better for
 * larger q. */
static bool is_better_cut(const column_problem *s, int32_t b, int32_t a, int32_t q)
{
    return q - a > s->max_rows || cost_at(s, b, q) < cost_at(s, a, q);
}

/* Fills best and cut for a fee per column; returns the number of columns. */
static int32_t solve_columns(column_problem *s, double fee)
{
    int32_t head = 0;
    int32_t tail = 0; /* the queue is [head, tail) */
    s->best[0] = 0.0;
    s->queue_cut[tail] = 0;
    s->queue_from[tail++] = 1;
    for (int32_t q = 1; q <= s->size; q++) {
        while (head + 1 < tail && s->queue_from[head + 1] <= q) head++;
        int32_t a = s->queue_cut[head];
        s->best[q] = cost_at(s, a, q) + fee;
        s->cut[q] = a;
        if (q == s->size) break;

        while (tail > head) {
            int32_t from = (int32_t)hs__max(s->queue_from[tail - 1], q + 1);
            if (!is_better_cut(s, q, s->queue_cut[tail - 1], from)) break;
            tail--;
        }
        int32_t from = q + 1;
        if (tail > head) { /* finds the first place where q beats the last candidate */
            int32_t last = s->queue_cut[tail - 1];
            int32_t low = (int32_t)hs__max(s->queue_from[tail - 1], q + 1);
            /* galloping search: the place is mostly near */
            int64_t high = low;
            for (int64_t step = 1; high <= s->size && !is_better_cut(s, q, last, (int32_t)high);
                 step *= 2) {
                low = (int32_t)high + 1;
                high = hs__min(high + step, s->size + 1);
            }
            while (low < high) {
                int32_t middle = low + ((int32_t)high - low) / 2;
                if (is_better_cut(s, q, last, middle)) high = middle;
                else low = middle + 1;
            }
            from = low;
        }
        if (from <= s->size) {
            s->queue_cut[tail] = q;
            s->queue_from[tail++] = from;
        }
    }
    int32_t columns = 0;
    for (int32_t q = s->size; q > 0; q = s->cut[q]) columns++;
    return columns;
}

/* Writes the starts of the `used` columns just solved, and the end of the last one. */
static void read_starts(const column_problem *s, int32_t used, int32_t *start)
{
    start[used] = s->size;
    for (int32_t q = s->size, j = used; q > 0; q = s->cut[q]) start[--j] = s->cut[q];
}

/* Combines two solutions for one fee, one with too many columns (start) and one with too few, into
 * a solution with exactly `columns`. If a column of the first lies inside a column of the second,
 * the first solution can continue with the second from there on: as the weight is Monge, nothing is
 * lost (Aggarwal, Schieber, Tokuyama 1994). */
static void splice_columns(int32_t *start, const int32_t *few, int32_t few_columns, int32_t columns)
{
    int32_t i = 0;
    const int32_t ahead = columns - few_columns;
    while (start[i + ahead + 1] > few[i + 1]) i++;
    for (int32_t k = i + 1; k <= few_columns; k++) start[k + ahead] = few[k];
}

size_t hs__columns_space(int32_t p)
{
    const size_t length = (size_t)p + 1;
    return 2 * length * sizeof(double) + 3 * length * sizeof(int32_t);
}

hs_status hs__columns(int32_t p, const double *areas, double total, int32_t size, double aspect,
                      int32_t min_columns, int32_t max_columns, int32_t max_rows, const int *cancel,
                      void *space, int32_t *order, int32_t *column_start, int32_t *columns,
                      double *cost)
{
    if (min_columns < 1 || max_columns < min_columns || max_rows < 1) return HS_ERROR_VALUE;
    if ((int64_t)max_columns * max_rows < size || min_columns > size) return HS_ERROR_INFEASIBLE;

    size_t length = (size_t)size + 1;
    double *numbers = space;
    int32_t *indices = (int32_t *)(numbers + 2 * length);
    hs_status status = hs__sort_positive(p, areas, order, &size);
    if (status) return status;
    column_problem s = {.size = size,
                        .max_rows = max_rows,
                        .prefix = numbers,
                        .best = numbers + length,
                        .cut = indices,
                        .queue_cut = indices + length,
                        .queue_from = indices + 2 * length};
    numbers[0] = 0.0;
    for (int32_t q = 0; q < size; q++) numbers[q + 1] = numbers[q] + areas[order[q]] / total;

    /* In units of the box's width: a column costs its height. */
    const double fee = 1.0 / aspect;
    int32_t used = solve_columns(&s, fee);
    /* The least cost is convex in the number of columns, so the right fee leads to any given
     * number. */
    if (used > max_columns || used < min_columns) {
        const int32_t wanted = used > max_columns ? max_columns : min_columns;
        /* The costs without fees are at most `size`: a fee above `most` already leads to the fewest
         * columns, one below -most to the most columns. */
        const double most = size + 1.0;
        double low = used > wanted ? fee : -most;
        double high = used > wanted ? fee + most : fmin(fee, most);
        while (high - low > 1e-12 * (fabs(low) + fabs(high)) && !hs__cancelled(cancel)) {
            double middle = low + (high - low) / 2.0;
            if (middle <= low || middle >= high) break;
            if (solve_columns(&s, middle) > wanted) low = middle;
            else high = middle;
        }
        read_starts(&s, solve_columns(&s, low), column_start);
        used = solve_columns(&s, high);
        read_starts(&s, used, s.queue_cut);
        splice_columns(column_start, s.queue_cut, used, wanted);
        used = wanted;
    } else read_starts(&s, used, column_start);

    double across = 0.0;
    for (int32_t j = 0; j < used; j++)
        across += (s.prefix[column_start[j + 1]] - s.prefix[column_start[j]]) *
                  (double)(column_start[j + 1] - column_start[j]);
    *columns = used;
    *cost = across * sqrt(aspect) + used / sqrt(aspect);
    return hs__check_cancel(cancel);
}

hs_status hs_partition_columns(int32_t p, const double *areas, double aspect, int32_t min_columns,
                               int32_t max_columns, int32_t max_rows, const int *cancel,
                               int32_t *order, int32_t *column_start, int32_t *columns,
                               double *cost)
{
    int32_t size;
    if (p < 1 || !areas || !order || !column_start || !columns || !cost) return HS_ERROR_VALUE;
    const double total = hs__partition_total(p, areas, NULL, aspect, &size);
    if (!(total > 0.0)) return HS_ERROR_VALUE;
    void *space = malloc(hs__columns_space(p));
    if (!space) return HS_ERROR_MEMORY;
    const hs_status status =
        hs__columns(p, areas, total, size, aspect, min_columns, max_columns, max_rows, cancel,
                    space, order, column_start, columns, cost);
    free(space);
    return status;
}

/* Adds up shares [count] into prefix [count], each with its rounding error added back, as
 * floorplans add up a chain of cuts. Returns the sum, and its rounding error in low. */
static double add_up_shares(int32_t count, const double *shares, double *prefix, double *low)
{
    double sum = 0.0;
    double rest = 0.0;
    for (int32_t k = 0; k < count; k++) {
        hs__add_exactly(&sum, &rest, shares[k]);
        prefix[k] = sum + rest;
    }
    *low = rest;
    return sum;
}

/* faster than fmin, which is a function call */
static double lesser_of(double x, double y) { return x < y ? x : y; }

void hs__column_rects(int32_t p, const double *areas, double total, const int32_t *order,
                      const int32_t *column_start, int32_t columns, double *space, double *rects)
{
    const int32_t size = column_start[columns];
    double *shares = space;
    double *prefix = shares + size;
    double *width = prefix + size;
    double *reach = width + columns;
    for (int32_t k = 0; k < size; k++) shares[k] = hs__share(areas[order[k]], total);
    double sum = 0.0;
    double low = 0.0; /* rounding error of the sum of the columns so far */
    for (int32_t j = 0; j < columns; j++) {
        const int32_t start = column_start[j];
        double own_low;
        double own =
            add_up_shares(column_start[j + 1] - start, shares + start, prefix + start, &own_low);
        width[j] = own + own_low;
        hs__add_exactly(&sum, &low, own);
        low += own_low;
        reach[j] = sum + low;
    }
    for (int32_t i = 0; i < p; i++)
        if (!(areas[i] > 0.0)) memset(rects + 4 * (size_t)i, 0, 4 * sizeof *rects);
    double whole = 1.0; /* width of the columns up to this one */
    for (int32_t j = columns - 1; j >= 0; j--) {
        const double wide = j > 0 ? lesser_of(width[j], whole) : whole;
        if (j > 0) whole = lesser_of(reach[j - 1], whole);
        double tall = 1.0; /* height of the zones up to this one */
        for (int32_t k = column_start[j + 1] - 1; k >= column_start[j]; k--) {
            double *own = rects + 4 * (size_t)order[k];
            own[1] = j > 0 ? whole : 0.0;
            own[2] = k > column_start[j] ? lesser_of(shares[k] / wide, tall) : tall;
            own[3] = wide;
            if (k > column_start[j]) tall = lesser_of(prefix[k - 1] / wide, tall);
            own[0] = k > column_start[j] ? tall : 0.0;
        }
    }
}
