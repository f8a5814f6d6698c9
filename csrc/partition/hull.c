/* Lower left convex hulls of points, and tables of the hulls of many sets. */
#include "core/status.h"
#include "partition/hull.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A chain is inserted point by point if the hull has more than about this many times its points. */
enum { INSERT_RATIO = 4 };

hs_status hs__hull_reserve(hs__hull *hull, int32_t count)
{
    if (count <= hull->capacity) return HS_OK;
    hs__point *grown = realloc(hull->points, 2 * (size_t)count * sizeof *grown);
    if (!grown) return HS_ERROR_MEMORY;
    hull->points = grown;
    hull->capacity = 2 * (int64_t)count;
    return HS_OK;
}

/* Returns whether q lies below the line from p to r (across increases from p to q to r). */
static bool is_below(const hs__point *p, const hs__point *q, const hs__point *r)
{
    return (q->down - p->down) * (r->across - p->across) <
           (r->down - p->down) * (q->across - p->across);
}

static double cost_in(const hs__point *q, double width, double height)
{
    return q->across * width + q->down * height;
}

static void trim_hull(hs__hull *hull, const hs__boxes *b)
{
    hs__point *points = hull->points;
    int32_t first = 0;
    int32_t last = hull->count - 1;
    while (first < last && cost_in(&points[first + 1], b->width, b->low) <=
                               cost_in(&points[first], b->width, b->low))
        first++;
    while (first < last && cost_in(&points[last - 1], b->narrow, b->height) <=
                               cost_in(&points[last], b->narrow, b->height))
        last--;
    hull->count = last - first + 1;
    if (first > 0) memmove(points, points + first, (size_t)hull->count * sizeof *points);
}

/* Returns whether any point of the chain lies below the hull. */
static bool improves_hull(const hs__hull *hull, const hs__point *chain, int32_t count)
{
    const hs__point *points = hull->points;
    if (hull->count == 0) return true;
    if (chain[0].across < points[0].across || chain[count - 1].down < points[hull->count - 1].down)
        return true;
    int32_t k = 0;
    for (int32_t i = 0; i < count; i++) {
        while (k + 1 < hull->count && points[k + 1].across <= chain[i].across) k++;
        /* right of the last point and not lower */
        if (k + 1 == hull->count) return false;
        if (is_below(&points[k], &chain[i], &points[k + 1])) return true;
    }
    return false;
}

/* Inserts a point if it lies below the hull. There must be room. */
static void insert_point(hs__hull *hull, const hs__point *q, const hs__boxes *b)
{
    hs__point *points = hull->points;
    int32_t left = 0;
    int32_t right =
        hull->count; /* points before `left` are not right of q, points from `right` on are */
    while (left < right) {
        const int32_t middle = left + (right - left) / 2;
        if (points[middle].across <= q->across) left = middle + 1;
        else right = middle;
    }
    if (left > 0 && points[left - 1].down <= q->down) return;
    if (left == 0 && cost_in(q, b->width, b->low) >= cost_in(points, b->width, b->low)) return;
    if (right == hull->count &&
        cost_in(q, b->narrow, b->height) >= cost_in(&points[right - 1], b->narrow, b->height))
        return;
    if (left > 0 && right < hull->count && !is_below(&points[left - 1], q, &points[right])) return;
    if (left > 0 && points[left - 1].across == q->across) left--;
    while (right < hull->count && points[right].down >= q->down) right++;
    while (left > 1 && !is_below(&points[left - 2], &points[left - 1], q)) left--;
    while (right + 1 < hull->count && !is_below(q, &points[right], &points[right + 1])) right++;
    memmove(points + left + 1, points + right, (size_t)(hull->count - right) * sizeof *points);
    points[left] = *q;
    hull->count += left + 1 - right;
}

hs_status hs__hull_lower(hs__hull *hull, hs__hull *spare, const hs__point *chain, int32_t count,
                         const hs__boxes *boxes)
{
    /* if one worker dominates the cost, hulls have thousands of points */
    if (count < hull->count / INSERT_RATIO) {
        if (hs__hull_reserve(hull, hull->count + count)) return HS_ERROR_MEMORY;
        for (int32_t i = 0; i < count; i++) insert_point(hull, &chain[i], boxes);
        trim_hull(hull, boxes);
        return hull->count > HS__HULL_MOST ? HS_ERROR_UNSUPPORTED : HS_OK;
    }
    if (!improves_hull(hull, chain, count)) return HS_OK;
    if (hs__hull_reserve(spare, hull->count + count)) return HS_ERROR_MEMORY;
    hs__point *out = spare->points;
    int32_t size = 0;
    int32_t i = 0;
    int32_t k = 0;
    /* merges by `across`, with a monotone chain over the result */
    while (i < hull->count || k < count) {
        bool old = k == count || (i < hull->count && (hull->points[i].across < chain[k].across ||
                                                      (hull->points[i].across == chain[k].across &&
                                                       hull->points[i].down <= chain[k].down)));
        hs__point next = old ? hull->points[i++] : chain[k++];
        if (size > 0 && next.down >= out[size - 1].down) continue;
        while (size > 0 && out[size - 1].across >= next.across) size--;
        while (size > 1 && !is_below(&out[size - 2], &out[size - 1], &next)) size--;
        out[size++] = next;
    }
    spare->count = size;
    hs__hull swap = *hull;
    *hull = *spare;
    *spare = swap;
    trim_hull(hull, boxes);
    return hull->count > HS__HULL_MOST ? HS_ERROR_UNSUPPORTED : HS_OK;
}

int32_t hs__hull_sum(const hs__point *a, int32_t a_count, double xa, double ya, const hs__point *b,
                     int32_t b_count, double xb, double yb, uint64_t how, hs__point *chain)
{
    int32_t i = 0;
    int32_t k = 0;
    int32_t size = 0;
    for (;;) {
        chain[size++] =
            (hs__point){a[i].across * xa + b[k].across * xb, a[i].down * ya + b[k].down * yb, how};
        bool more_a = i + 1 < a_count;
        bool more_b = k + 1 < b_count;
        if (!more_a && !more_b) return size;
        if (more_a && more_b) { /* takes the steeper of the two next edges */
            double dx = (a[i + 1].across - a[i].across) * xa;
            double dy = (a[i + 1].down - a[i].down) * ya;
            double ex = (b[k + 1].across - b[k].across) * xb;
            double ey = (b[k + 1].down - b[k].down) * yb;
            more_a = dy * ex <= ey * dx;
        }
        if (more_a) i++;
        else k++;
    }
}

hs_status hs__hulls_init(hs__hulls *h, int64_t sets, double aspect)
{
    *h = (hs__hulls){.width = sqrt(aspect),
                     .height = 1.0 / sqrt(aspect),
                     .area = calloc((size_t)sets, sizeof *h->area)};
    h->table.start = malloc((size_t)sets * sizeof *h->table.start);
    h->table.count = calloc((size_t)sets, sizeof *h->table.count);
    return hs__check_memory(h->area && h->table.start && h->table.count);
}

void hs__hulls_free(hs__hulls *h)
{
    free(h->area);
    free(h->table.points);
    free(h->table.start);
    free(h->table.count);
    free(h->best.points);
    free(h->spare.points);
    free(h->chain.points);
    free(h->other.points);
}

const hs__point *hs__hulls_best(const hs__hulls *h, int64_t set, double width, double height)
{
    const hs__point *points = hs__hulls_points(h, set);
    const hs__point *best = points;
    for (const hs__point *q = points + 1; q < points + h->table.count[set]; q++)
        if (cost_in(q, width, height) < cost_in(best, width, height)) best = q;
    return best;
}

double hs__hulls_cost(const hs__hulls *h, int64_t set)
{
    return cost_in(hs__hulls_best(h, set, h->width, h->height), h->width, h->height);
}

/* Makes room for `count` more points in the table. */
static hs_status grow_table(hs__hull_table *table, int32_t count)
{
    if (table->used + count <= table->capacity) return HS_OK;
    const int64_t capacity = 2 * (table->used + count) + 64;
    hs__point *grown = realloc(table->points, (size_t)capacity * sizeof *grown);
    if (!grown) return HS_ERROR_MEMORY;
    table->points = grown;
    table->capacity = capacity;
    return HS_OK;
}

hs_status hs__hulls_copy(hs__hulls *h, int64_t set, const hs__point *points, int32_t count,
                         double more)
{
    hs__hull_table *table = &h->table;
    if (grow_table(table, count)) return HS_ERROR_MEMORY;
    table->start[set] = table->used;
    table->count[set] = count;
    for (int32_t k = 0; k < count; k++)
        table->points[table->used++] =
            (hs__point){points[k].across + more, points[k].down + more, 0};
    return HS_OK;
}

hs_status hs__hulls_leaf(hs__hulls *h, int64_t set, double weight, uint64_t how)
{
    const hs_status status = hs__hulls_copy(h, set, &(hs__point){weight, weight, 0}, 1, 0.0);
    if (!status) h->table.points[h->table.used - 1].how = how;
    return status;
}

/* In a square box the transpose of each floorplan is allowed, too. So hs__hulls_cut adds one
 * direction of the cut, and hs__hulls_turn mirrors the hull. In other boxes the two ends of a hull
 * are trimmed differently, so that it has no mirror image. */
static bool is_square(const hs__hulls *h) { return h->width == h->height; }

void hs__hulls_begin(hs__hulls *h, int64_t set)
{
    h->best.count = 0;
    h->boxes = hs__boxes_of(h->area[set], h->width, h->height);
}

hs_status hs__hulls_cut(hs__hulls *h, int64_t set, int64_t first, int64_t second, uint64_t how)
{
    const hs__point *a = hs__hulls_points(h, first);
    const hs__point *b = hs__hulls_points(h, second);
    const int32_t a_count = h->table.count[first];
    const int32_t b_count = h->table.count[second];
    const double share = h->area[first] / h->area[set];
    const double rest = h->area[second] / h->area[set];
    if (hs__hull_reserve(&h->chain, a_count + b_count)) return HS_ERROR_MEMORY;
    hs__point *chain = h->chain.points;
    int32_t count = hs__hull_sum(a, a_count, share, 1.0, b, b_count, rest, 1.0, how, chain);
    const hs_status status = hs__hull_lower(&h->best, &h->spare, chain, count, &h->boxes);
    if (status || is_square(h)) return status;
    count = hs__hull_sum(a, a_count, 1.0, share, b, b_count, 1.0, rest, how + 1, chain);
    return hs__hull_lower(&h->best, &h->spare, chain, count, &h->boxes);
}

hs_status hs__hulls_turn(hs__hulls *h)
{
    if (!is_square(h)) return HS_OK;
    const int32_t count = h->best.count;
    if (hs__hull_reserve(&h->chain, count)) return HS_ERROR_MEMORY;
    for (int32_t k = 0; k < count; k++) {
        const hs__point *q = &h->best.points[count - 1 - k];
        h->chain.points[k] = (hs__point){q->down, q->across, q->how + 1};
    }
    return hs__hull_lower(&h->best, &h->spare, h->chain.points, count, &h->boxes);
}

hs_status hs__hulls_end(hs__hulls *h, int64_t set)
{
    hs__hull_table *table = &h->table;
    if (grow_table(table, h->best.count)) return HS_ERROR_MEMORY;
    memcpy(table->points + table->used, h->best.points,
           (size_t)h->best.count * sizeof *h->best.points);
    table->start[set] = table->used;
    table->count[set] = h->best.count;
    table->used += h->best.count;
    return HS_OK;
}
