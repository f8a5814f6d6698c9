/* hs_partition_rule and hs_partition_contiguous: partition rules from the literature. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/status.h"
#include "partition/floorplan.h"

/* not a power of ten, because areas like 1 and 1e12 are common */
static const double tie = 0x1p-40;

typedef struct {
    double area;
    int32_t worker;
} part;

/* Lists the parts by ascending area, ties by index. For rules that take the largest first, ties are
 * reversed: read from its end, the list has them by index. */
static void take_sorted(const double *areas, const int32_t *order, int32_t size, bool largest_first,
                        part *parts)
{
    for (int32_t first = 0, end; first < size; first = end) {
        for (end = first; end < size && areas[order[end]] == areas[order[first]];) end++;
        for (int32_t q = first; q < end; q++)
            parts[q] = (part){areas[order[q]], order[largest_first ? first + end - 1 - q : q]};
    }
}

/* Sum of the first q parts, as high + low, so that the sum of an interval is accurate even after
 * much larger parts. */
typedef struct {
    double high, low;
} prefix;

static void add_up(const part *parts, int32_t size, prefix *sums)
{
    sums[0] = (prefix){0.0, 0.0};
    for (int32_t q = 0; q < size; q++) {
        double old = sums[q].high;
        double added = parts[q].area;
        double sum = old + added;
        double part_in = sum - old;
        sums[q + 1].high = sum;
        sums[q + 1].low = sums[q].low + ((old - (sum - part_in)) + (added - part_in));
    }
}

static double area_between(const prefix *sums, int32_t first, int32_t end)
{
    return (sums[end].high - sums[first].high) + (sums[end].low - sums[first].low);
}

/* ---- layouts in worker order ----------------------------------------------------------------- */

/* Appends the parts first .. end - 1 one above the other; returns the new length of the plan. */
static int32_t stack_up(const part *parts, int32_t first, int32_t end, int32_t *plan, int32_t at)
{
    for (int32_t q = first; q < end; q++) {
        plan[at++] = parts[q].worker;
        if (q > first) plan[at++] = HS_ABOVE;
    }
    return at;
}

static void runs_in_columns(const part *parts, const prefix *sums, int32_t size, double aspect,
                            int32_t *plan)
{
    double wanted = sqrt(size * aspect);
    int32_t columns = (int32_t)fmin(fmax(wanted, 1.0), size);
    int32_t at = 0;
    double all = area_between(sums, 0, size);
    for (int32_t j = 1, first = 0; j <= columns; j++) {
        int32_t end = first + 1;
        int32_t most = size - (columns - j);
        double place = (double)j / columns - tie;
        if (j == columns) end = most;
        while (end < most &&
               (area_between(sums, 0, end) + area_between(sums, end, end + 1) / 2.0) / all < place)
            end++;
        at = stack_up(parts, first, end, plan, at);
        if (j > 1) plan[at++] = HS_BESIDE;
        first = end;
    }
}

/* ---- recursive rules ------------------------------------------------------------------------- */

typedef struct {
    int32_t first, end; /* range of the sorted parts */
    double shape;       /* width / height */
} box;

/* Returns where to cut the sorted parts of a box: the parts from there on are the larger ones. */
static int32_t middle_of(hs_rule rule, const prefix *sums, const box *b)
{
    if (rule == HS_RULE_RECURSIVE || rule == HS_RULE_KADDOURA)
        return b->end - (b->end - b->first + 1) / 2;
    double all = area_between(sums, b->first, b->end);
    int32_t low = b->first + 1;
    int32_t high = b->end - 1;
    if (rule == HS_RULE_NAGAMOCHI_ABE) {
        /* the last place from which on the parts have a third */
        while (low < high) {
            int32_t middle = low + (high - low + 1) / 2;
            if (area_between(sums, middle, b->end) / all >= (1.0 - tie) / 3.0) low = middle;
            else high = middle - 1;
        }
        return low;
    }
    /* the first place up to which the parts have a half */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (area_between(sums, b->first, middle) / all >= 0.5) high = middle;
        else low = middle + 1;
    }
    if (low - 1 > b->first) {
        double over = area_between(sums, b->first, low) / all - 0.5;
        double under = 0.5 - area_between(sums, b->first, low - 1) / all;
        if (under <= over + tie) low--;
    }
    return low;
}

/* SNRPP: returns whether the largest part goes around the other parts.
 *
 * Let s be the area of a box and r >= 1 the ratio of its sides. Unless the largest part has more
 * than s (1 - 1 / (3 r)), some number of first parts has between s / (3 r) and s (1 - 1 / (3 r)).
 * (A part that leads from below the first value to above the second has more than s (1 - 2 / (3
 * r)); if there were a larger one, the sum would exceed s (2 - 1 / r) >= s.) The interval is
 * symmetric, so it contains the sum nearest to half, and the two boxes have ratios <= max(r, 3).
 *
 * Else the other parts, below s / (3 r), fit as a square of side sqrt(s / (3 r)) = short side /
 * sqrt(3). The largest part then pays (1 + r) / (2 sqrt(r - 1/3)) of its bound, a rectangle (1 + r)
 * / (2 sqrt(r)): for 1 <= r <= 3 at most sqrt(3/2) and 2 / sqrt(3). Stretching a corner to its best
 * sides makes nothing more expensive: the ratios of the widths and heights of its contents are
 * between 1/3 and 3, hence also the ratio of the sums. So it is stretched by at most sqrt(3), and
 * squares inside it still fit. */
static bool goes_around(const prefix *sums, const box *b)
{
    double others = area_between(sums, b->first, b->end - 1) / area_between(sums, b->first, b->end);
    return others < fmin(b->shape, 1.0 / b->shape) / 3.0 * (1.0 - tie);
}

enum { FEW = 4 };

/* A few parts of a box; a set of them is a bit mask. They get the cuts with the least sum of half
 * perimeters. */
typedef struct {
    double share[1 << FEW]; /* share of each set */
    int32_t worker[FEW];
} handful;

/* Finds the least cost of a set of parts in a box, the set that lies first, and the cut. */
static double best_of_few(const handful *few, unsigned set, double width, double height,
                          unsigned *first, int32_t *cut)
{
    *first = set;
    *cut = HS_BESIDE;
    if (!(set & (set - 1))) return width + height;
    double best = INFINITY;
    for (unsigned inner = (set - 1) & set; inner; inner = (inner - 1) & set) {
        /* exchanging the two parts of a cut does not change the cost: the largest part lies
         * first */
        if (inner < (set ^ inner)) continue;
        const double share = few->share[inner] / few->share[set];
        for (int32_t way = 0; way < 2; way++) {
            unsigned left;
            int32_t right;
            const double cost =
                way ? best_of_few(few, inner, width, height * share, &left, &right) +
                          best_of_few(few, set ^ inner, width, height * (1.0 - share), &left,
                                      &right)
                    : best_of_few(few, inner, width * share, height, &left, &right) +
                          best_of_few(few, set ^ inner, width * (1.0 - share), height, &left,
                                      &right);
            if (cost < best * (1.0 - tie)) {
                best = cost;
                *first = inner;
                *cut = hs__cut_op(way);
            }
        }
    }
    return best;
}

/* Writes the parts backwards from the end of the plan; returns where they start. */
static int32_t write_few(const handful *few, unsigned set, double width, double height,
                         int32_t *plan, int32_t at)
{
    unsigned first;
    int32_t cut;
    best_of_few(few, set, width, height, &first, &cut);
    if (first == set) {
        int32_t k = 0;
        while (!(set >> k & 1)) k++;
        plan[--at] = few->worker[k];
        return at;
    }
    const double share = few->share[first] / few->share[set];
    const int above = cut == HS_ABOVE;
    plan[--at] = cut;
    at = write_few(few, set ^ first, hs__part_side(width, !above, 1.0 - share),
                   hs__part_side(height, above, 1.0 - share), plan, at);
    return write_few(few, first, hs__part_side(width, !above, share),
                     hs__part_side(height, above, share), plan, at);
}

static int32_t arrange_few(const part *parts, const prefix *sums, const box *b, int32_t *plan,
                           int32_t at)
{
    handful few;
    const int32_t count = b->end - b->first;
    const double all = area_between(sums, b->first, b->end);
    for (int32_t k = 0; k < count; k++) few.worker[k] = parts[b->first + k].worker;
    few.share[0] = 0.0;
    for (unsigned set = 1; set < 1u << count; set++) {
        int32_t k = 0;
        while (!(set >> k & 1)) k++;
        few.share[set] =
            few.share[set & (set - 1)] + area_between(sums, b->first + k, b->first + k + 1) / all;
    }
    return write_few(&few, (1u << count) - 1, sqrt(b->shape), 1.0 / sqrt(b->shape), plan, at);
}

/* Writes the plan from its end: an operator, its second part, its first part. The boxes on the
 * stack are disjoint, so there are never more boxes than parts. */
static void cut_recursively(hs_rule rule, const part *parts, const prefix *sums, int32_t size,
                            double aspect, const int *cancel, box *stack, int32_t *plan)
{
    int32_t at = 2 * size - 1;
    int32_t depth = 0;
    stack[depth++] = (box){0, size, aspect};
    while (depth > 0 && !hs__cancelled(cancel)) {
        box b = stack[--depth];
        if (b.end - b.first == 1) {
            plan[--at] = parts[b.first].worker;
        } else if (rule == HS_RULE_KADDOURA && b.end - b.first <= FEW) {
            at = arrange_few(parts, sums, &b, plan, at);
        } else if (rule == HS_RULE_SNRPP && goes_around(sums, &b)) {
            plan[--at] = HS_AROUND;
            plan[--at] = parts[b.end - 1].worker;
            stack[depth++] = (box){b.first, b.end - 1, 1.0};
        } else {
            int32_t middle = middle_of(rule, sums, &b);
            bool wide = b.shape > 1.0 - tie;
            double all = area_between(sums, b.first, b.end);
            double small = area_between(sums, b.first, middle) / all;
            double large = area_between(sums, middle, b.end) / all;
            box of_small = {b.first, middle, wide ? b.shape * small : b.shape / small};
            box of_large = {middle, b.end, wide ? b.shape * large : b.shape / large};
            plan[--at] = hs__cut_op(!wide);
            stack[depth++] = rule == HS_RULE_SNRPP ? of_small : of_large;
            stack[depth++] = rule == HS_RULE_SNRPP ? of_large : of_small;
        }
    }
}

/* ---- joined areas ---------------------------------------------------------------------------- */

/* Joins the two smallest of the parts, sorted by ascending area, and of the sets so far, until one
 * is left: node q < size is part q, and node size + k is the k-th set, of two nodes, the larger one
 * first. The sets have ascending areas, so the smallest is the first part or the first set left.
 *   area  [2 size - 1] out: of each node
 *   node  [2 size - 2] out: the two nodes of each set */
static void join_smallest(const part *parts, int32_t size, double *area, int32_t *node)
{
    int32_t next = 0;
    int32_t set = size;
    for (int32_t q = 0; q < size; q++) area[q] = parts[q].area;
    for (int32_t k = size; k < 2 * size - 1; k++) {
        int32_t *two = node + 2 * (size_t)(k - size);
        for (int i = 1; i >= 0; i--) {
            const bool is_part = next < size && (set == k || area[next] <= area[set]);
            two[i] = is_part ? next++ : set++;
        }
        area[k] = area[two[0]] + area[two[1]];
    }
}

/* Cuts each box across its longer side into the two nodes of its set. The sets inside a node are
 * joined as they are alone. Writes the plan from its end. */
static void cut_joined(const part *parts, int32_t size, double aspect, const double *area,
                       const int32_t *node, const int *cancel, box *stack, int32_t *plan)
{
    int32_t at = 2 * size - 1;
    int32_t depth = 0;
    stack[depth++] = (box){2 * size - 2, 0, aspect};
    while (depth > 0 && !hs__cancelled(cancel)) {
        const box b = stack[--depth];
        if (b.first < size) {
            plan[--at] = parts[b.first].worker;
            continue;
        }
        const int32_t *two = node + 2 * (size_t)(b.first - size);
        const bool wide = b.shape > 1.0 - tie;
        plan[--at] = hs__cut_op(!wide);
        for (int i = 0; i < 2; i++) {
            const double share = area[two[i]] / area[b.first];
            stack[depth++] = (box){two[i], 0, wide ? b.shape * share : b.shape / share};
        }
    }
}

hs_status hs_partition_rule(hs_rule rule, int32_t p, const double *areas, double aspect,
                            const int *cancel, int32_t *plan, int32_t *length, double *cost)
{
    if (!areas || !plan || !length || !cost) return HS_ERROR_VALUE;
    if ((unsigned)rule > HS_RULE_MOHAMMADI_BEHROOZI || p < 1 || p > INT32_C(1) << 30)
        return HS_ERROR_VALUE;
    int32_t size;
    if (!(hs__partition_total(p, areas, NULL, aspect, &size) > 0.0)) return HS_ERROR_VALUE;

    part *parts = malloc((size_t)size * sizeof *parts);
    prefix *sums = malloc(((size_t)size + 1) * sizeof *sums);
    box *stack = malloc((size_t)size * sizeof *stack);
    int32_t *order = malloc((size_t)p * sizeof *order);
    int32_t *own = malloc(2 * (size_t)size * sizeof *own);
    double *joined = malloc(2 * (size_t)size * (sizeof *joined + sizeof(int32_t)));
    const bool sorted = rule >= HS_RULE_RECURSIVE;
    const bool ascending = rule == HS_RULE_SNRPP || rule == HS_RULE_MOHAMMADI_BEHROOZI;
    hs_status status = hs__check_memory(parts && sums && stack && order && own && joined);
    if (!status && sorted) status = hs__sort_positive(p, areas, order, &size);
    if (!status) {
        if (sorted) take_sorted(areas, order, size, !ascending, parts);
        for (int32_t i = 0, q = 0; i < p && !sorted; i++)
            if (areas[i] > 0.0) parts[q++] = (part){areas[i], i};
        add_up(parts, size, sums);

        if (rule == HS_RULE_ROWS) stack_up(parts, 0, size, own, 0);
        else if (rule == HS_RULE_KALINOV_LASTOVETSKY)
            runs_in_columns(parts, sums, size, aspect, own);
        else if (rule == HS_RULE_MOHAMMADI_BEHROOZI) {
            int32_t *node = (int32_t *)(joined + 2 * (size_t)size);
            join_smallest(parts, size, joined, node);
            cut_joined(parts, size, aspect, joined, node, cancel, stack, own);
        } else cut_recursively(rule, parts, sums, size, aspect, cancel, stack, own);
        status = hs__check_cancel(cancel);
        if (!status) status = hs__floorplan_cost(p, areas, NULL, aspect, own, 2 * size - 1, cost);
    }
    if (!status) {
        *length = 2 * size - 1;
        memcpy(plan, own, (size_t)*length * sizeof *plan);
    }
    free(parts);
    free(sums);
    free(stack);
    free(order);
    free(own);
    free(joined);
    return status;
}

/* ---- contiguous blocks ----------------------------------------------------------------------- */

hs_status hs_partition_contiguous(int64_t m, int64_t n, int32_t p, const double *areas,
                                  const int *cancel, int32_t *workers, int64_t *rects,
                                  int32_t *pieces)
{
    if (!areas || !workers || !rects || !pieces) return HS_ERROR_VALUE;
    if (m < 1 || n < 1 || m > HS__SIZE_MOST / n || p < 1 || p > INT32_C(1) << 29)
        return HS_ERROR_VALUE;
    int32_t size;
    const double total = hs__partition_total(p, areas, NULL, 1.0, &size);
    if (!(total > 0.0)) return HS_ERROR_VALUE;
    double *time = malloc((size_t)p * sizeof *time);
    int64_t *counts = malloc((size_t)p * sizeof *counts);
    hs_status status = hs__check_memory(time && counts);
    /* relative to the total: 1 / area could overflow */
    for (int32_t i = 0; !status && i < p; i++) time[i] = total / areas[i];
    if (!status) status = hs_distribute(m * n, p, time, cancel, counts, NULL);
    if (!status) {
        int64_t cell = 0;
        *pieces = 0;
        for (int32_t i = 0; i < p; i++)
            for (int64_t end = cell + counts[i]; cell < end; (*pieces)++) {
                int64_t row = cell / n;
                int64_t col = cell % n;
                int64_t height = 1;
                int64_t width = n - col;
                if (width > end - cell) width = end - cell;
                if (width == n) height = (end - cell) / n;
                int64_t *rect = rects + 4 * (size_t)*pieces;
                rect[0] = row;
                rect[1] = col;
                rect[2] = height;
                rect[3] = width;
                workers[*pieces] = i;
                cell += height * width;
            }
    }
    free(time);
    free(counts);
    return status;
}
