/* hs_partition_largest: the smallest largest half perimeter. For a given limit, the widths at which
 * a box can be divided without exceeding it are a union of ranges. The range of one worker follows
 * from width + area / width <= limit. The ranges of a cut are the common ranges of its two parts
 * (scaled, if the cut divides the width). The ranges of a set are the union over its cuts. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/status.h"
#include "partition/floorplan.h"
#include "partition/interval.h"

/* RANGES: number of ranges kept for an interval, the widest */
enum { RANGES = 16 };

typedef struct {
    double low, high;
} range;

typedef struct {
    range *at;
    int32_t count, capacity;
} ranges;

typedef struct {
    int32_t size;
    int32_t *worker;
    double *weight;
    bool subsets; /* a set is a bit mask; else it is an interval */
    int64_t sets;
    double *area; /* of each set */
    ranges *fits; /* widths of each set */
    ranges found;
    const int *cancel;
    int32_t *plan;
} table;

static hs_status append_range(ranges *list, range r)
{
    if (list->count == list->capacity) {
        int32_t capacity = 2 * list->capacity + 8;
        range *grown = realloc(list->at, (size_t)capacity * sizeof *grown);
        if (!grown) return HS_ERROR_MEMORY;
        list->at = grown;
        list->capacity = capacity;
    }
    list->at[list->count++] = r;
    return HS_OK;
}

/* Adds the common widths of two lists, each scaled. */
static hs_status add_common(ranges *out, const ranges *a, double xa, const ranges *b, double xb)
{
    for (int32_t i = 0, k = 0; i < a->count && k < b->count;) {
        range common = {fmax(a->at[i].low * xa, b->at[k].low * xb),
                        fmin(a->at[i].high * xa, b->at[k].high * xb)};
        if (common.low <= common.high && append_range(out, common)) return HS_ERROR_MEMORY;
        if (a->at[i].high * xa < b->at[k].high * xb) i++;
        else k++;
    }
    return HS_OK;
}

static int by_low(const void *x, const void *y)
{
    const range *a = x;
    const range *b = y;
    return a->low < b->low ? -1 : a->low > b->low;
}

static int by_width(const void *x, const void *y)
{
    const range *a = x;
    const range *b = y;
    const double wide = a->high / a->low;
    const double other = b->high / b->low;
    if (wide != other) return wide > other ? -1 : 1;
    return by_low(x, y);
}

/* Sorts the ranges found and joins those that overlap; the result is the widths of the set. Near
 * the least limit, ranges shrink to points and multiply, so intervals keep only some. */
static hs_status join_ranges(table *t, int64_t set)
{
    ranges *found = &t->found;
    ranges *fits = &t->fits[set];
    if (found->count > 1) qsort(found->at, (size_t)found->count, sizeof *found->at, by_low);
    fits->count = 0;
    for (int32_t i = 0; i < found->count; i++) {
        if (fits->count > 0 && found->at[i].low <= fits->at[fits->count - 1].high)
            fits->at[fits->count - 1].high =
                fmax(fits->at[fits->count - 1].high, found->at[i].high);
        else if (append_range(fits, found->at[i])) return HS_ERROR_MEMORY;
    }
    if (!t->subsets && fits->count > RANGES) {
        qsort(fits->at, (size_t)fits->count, sizeof *fits->at, by_width);
        fits->count = RANGES;
        qsort(fits->at, (size_t)fits->count, sizeof *fits->at, by_low);
    }
    return HS_OK;
}

static hs_status add_cut(table *t, int64_t all, int64_t first, int64_t second)
{
    const ranges *a = &t->fits[first];
    const ranges *b = &t->fits[second];
    if (a->count == 0 || b->count == 0) return HS_OK;
    hs_status status =
        add_common(&t->found, a, t->area[all] / t->area[first], b, t->area[all] / t->area[second]);
    if (status) return status;
    return add_common(&t->found, a, 1.0, b, 1.0);
}

static hs_status add_cuts(table *t, int64_t all, int32_t i, int32_t j)
{
    hs_status status = HS_OK;
    if (!t->subsets) {
        for (int32_t c = i + 1; c < j && !status; c++)
            status = add_cut(t, all, hs__interval(i, c), hs__interval(c, j));
        return status;
    }
    const uint32_t set = (uint32_t)all;
    const uint32_t lowest = set & -set;
    const uint32_t rest = set ^ lowest;
    for (uint32_t others = (rest - 1) & rest; !status; others = (others - 1) & rest) {
        status = add_cut(t, all, lowest | others, set ^ (lowest | others));
        if (others == 0) break;
    }
    return status;
}

static void fit_leaf(table *t, int64_t set, int32_t leaf, double limit)
{
    const double sum = limit / t->weight[leaf];
    const double square = sum * sum - 4.0 * t->area[set];
    t->fits[set].count = 0;
    if (square < 0.0) return;
    const double high = (sum + sqrt(square)) / 2.0;
    t->fits[set].at[0] = (range){t->area[set] / high, high};
    t->fits[set].count = 1;
}

/* Fills the widths of all sets for a limit. */
static hs_status fill_widths(table *t, double limit)
{
    hs_status status = HS_OK;
    if (t->subsets) {
        for (int64_t set = 1; set < t->sets && !status; set++) {
            if (hs__cancelled(t->cancel)) return HS_ERROR_CANCELLED;
            if ((set & (set - 1)) == 0) {
                fit_leaf(t, set, __builtin_ctzll((unsigned long long)set), limit);
                continue;
            }
            t->found.count = 0;
            status = add_cuts(t, set, 0, 0);
            if (!status) status = join_ranges(t, set);
        }
        return status;
    }
    for (int32_t j = 1; j <= t->size; j++) {
        if (hs__cancelled(t->cancel)) return HS_ERROR_CANCELLED;
        fit_leaf(t, hs__interval(j - 1, j), j - 1, limit);
        for (int32_t i = j - 2; i >= 0 && !status; i--) {
            t->found.count = 0;
            status = add_cuts(t, hs__interval(i, j), i, j);
            if (!status) status = join_ranges(t, hs__interval(i, j));
        }
        if (status) return status;
    }
    return HS_OK;
}

/* Returns how far a width is from an allowed one, relative to it; 0 if it is allowed. */
static double misfit_of(const ranges *fits, double width)
{
    double least = INFINITY;
    for (int32_t k = 0; k < fits->count; k++)
        least = fmin(least, fmax(fits->at[k].low - width, width - fits->at[k].high));
    return fmax(least / width, 0.0);
}

typedef struct {
    int64_t first; /* a set or an interval */
    int32_t at;    /* for an interval: where the second part begins */
    bool above;
} cut;

/* Finds the cut with the best fitting parts; at the limit a width may miss its range by a rounding
 * error. */
static cut best_cut(const table *t, int64_t all, int32_t i, int32_t j, double width)
{
    double least = INFINITY;
    cut found = {0};
    const uint32_t set = (uint32_t)all;
    const uint32_t lowest = set & -set;
    const uint32_t rest = set ^ lowest;
    uint32_t others = (rest - 1) & rest;
    for (int32_t c = i + 1; t->subsets || c < j; c++) {
        const int64_t first = t->subsets ? (int64_t)(lowest | others) : hs__interval(i, c);
        const int64_t second = t->subsets ? all ^ first : hs__interval(c, j);
        for (int above = 0; above < 2; above++) {
            const double xa = above ? 1.0 : t->area[first] / t->area[all];
            const double xb = above ? 1.0 : t->area[second] / t->area[all];
            const double here = fmax(misfit_of(&t->fits[first], width * xa),
                                     misfit_of(&t->fits[second], width * xb));
            if (found.at == 0 || here < least) {
                least = here;
                found = (cut){first, c, above};
            }
        }
        if (t->subsets && others == 0) break;
        others = (others - 1) & rest;
    }
    return found;
}

/* Writes the floorplan of a set, or of the interval i .. j - 1, starting at plan. The smaller part
 * of a cut is done first, so the recursion is no deeper than log2(workers). */
static void write_plan(const table *t, int64_t all, int32_t i, int32_t j, double width,
                       int32_t *plan)
{
    for (;;) {
        const int32_t count = t->subsets ? __builtin_popcountll((unsigned long long)all) : j - i;
        if (count == 1) break;
        const cut c = best_cut(t, all, i, j, width);
        const int64_t second = t->subsets ? all ^ c.first : hs__interval(c.at, j);
        const int32_t before =
            t->subsets ? __builtin_popcountll((unsigned long long)c.first) : c.at - i;
        const double first_width = hs__part_side(width, !c.above, t->area[c.first] / t->area[all]);
        const double second_width = hs__part_side(width, !c.above, t->area[second] / t->area[all]);
        plan[2 * count - 2] = hs__cut_op(c.above);
        if (2 * before <= count) {
            write_plan(t, c.first, i, c.at, first_width, plan);
            all = second;
            i = c.at;
            width = second_width;
            plan += 2 * (ptrdiff_t)before - 1;
        } else {
            write_plan(t, second, c.at, j, second_width, plan + 2 * (ptrdiff_t)before - 1);
            all = c.first;
            j = c.at;
            width = first_width;
        }
    }
    *plan = t->worker[t->subsets ? __builtin_ctzll((unsigned long long)all) : i];
}

static hs_status find_least_limit(table *t, double width, double height)
{
    const int64_t all = t->subsets ? t->sets - 1 : hs__interval(0, t->size);
    double low = 0.0;
    double high = 0.0;
    for (int32_t k = 0; k < t->size; k++) {
        const double own = t->area[t->subsets ? INT64_C(1) << k : hs__interval(k, k + 1)];
        low = fmax(low, 2.0 * t->weight[k] * sqrt(own));
        high = fmax(high, t->weight[k] * (width + height)); /* every plan meets this limit */
    }
    hs_status status = HS_OK;
    while (high - low > 1e-13 * high && !status) {
        const double middle = low + (high - low) / 2.0;
        status = fill_widths(t, middle);
        if (misfit_of(&t->fits[all], width) == 0.0) high = middle;
        else low = middle;
    }
    if (!status) status = fill_widths(t, high);
    if (!status) write_plan(t, all, 0, t->size, width, t->plan);
    return status;
}

hs_status hs_partition_largest(int32_t p, const double *areas, const double *weights, double aspect,
                               const int32_t *order, const int *cancel, int32_t *plan,
                               int32_t *length, double *cost)
{
    if (!areas || !plan || !length || !cost) return HS_ERROR_VALUE;
    int32_t size;
    const double total = hs__partition_total(p, areas, weights, aspect, &size);
    if (!(total > 0.0)) return HS_ERROR_VALUE;
    if (size > HS_LARGEST_MOST) return HS_ERROR_UNSUPPORTED;
    /* without this unit, denormal weights would make the tolerance of 1e-13 vanish */
    const double unit = hs__weight_unit(p, weights);
    table t = {.size = size, .subsets = !order && size <= HS_LARGEST_EXACT, .cancel = cancel};
    t.sets = t.subsets ? INT64_C(1) << size : hs__interval(0, size + 1);
    t.worker = malloc((size_t)p * sizeof *t.worker);
    t.weight = malloc((size_t)size * sizeof *t.weight);
    t.area = malloc((size_t)t.sets * sizeof *t.area);
    t.fits = calloc((size_t)t.sets, sizeof *t.fits);
    t.plan = malloc(2 * (size_t)size * sizeof *t.plan);
    int32_t *workers = malloc(2 * (size_t)p * sizeof *workers);
    int32_t pieces;
    double *rects = malloc(8 * (size_t)p * sizeof *rects);
    double total_cost;
    hs_status status =
        hs__check_memory(t.worker && t.weight && t.area && t.fits && t.plan && workers && rects);
    if (!status) status = hs__order_workers(p, areas, order, size, t.worker);
    for (int32_t i = 0; i < size && !status; i++)
        t.weight[i] = hs__share(areas[t.worker[i]], total);
    if (!status && !t.subsets) hs__interval_areas(size, t.weight, t.area);
    for (int32_t i = 0; i < size && !status; i++) {
        if (t.subsets) t.area[INT64_C(1) << i] = t.weight[i];
        /* smaller weights never decide */
        t.weight[i] = weights ? fmax(weights[t.worker[i]] / unit, DBL_MIN) : 1.0;
        status = append_range(&t.fits[t.subsets ? INT64_C(1) << i : hs__interval(i, i + 1)],
                              (range){0.0, 0.0});
    }
    if (!status && t.subsets) t.area[0] = 0.0;
    for (int64_t set = 1; t.subsets && set < t.sets && !status; set++)
        t.area[set] = t.area[set & (set - 1)] + t.area[set & -set];
    const double width = sqrt(aspect);
    const double height = 1.0 / width;
    if (!status) status = find_least_limit(&t, width, height);
    if (!status)
        status = hs_floorplan_rects(p, areas, weights, aspect, t.plan, 2 * size - 1, workers, rects,
                                    &pieces, &total_cost);
    if (!status) {
        *length = 2 * size - 1;
        *cost = 0.0;
        memcpy(plan, t.plan, (size_t)*length * sizeof *plan);
        for (int32_t k = 0; k < pieces; k++)
            *cost = fmax(*cost, hs__weight_of(weights, workers[k]) *
                                    (rects[4 * k + 2] * height + rects[4 * k + 3] * width));
    }
    free(workers);
    free(rects);
    for (int64_t set = 0; t.fits && set < t.sets; set++) free(t.fits[set].at);
    free(t.worker);
    free(t.weight);
    free(t.area);
    free(t.fits);
    free(t.found.at);
    free(t.plan);
    return status;
}
