/* Boxes of a product: zones of C in steps, Cannon's algorithm, the cuts of a triangle. */
#include <math.h>
#include <stdlib.h>

#include "schedule/schedule.h"

/* ---- zones in steps -------------------------------------------------------------------------- */

/* A zone of C, and the lines that its worker needs if this is its first zone, else 0. */
typedef struct {
    hs_box box;
    double lines;
} zone;

/* Cuts off what reaches beyond C, leaves out empty pieces, and sorts the others by worker: ends
 * [p + 1] is workspace. Returns the number of zones. */
static int32_t sort_pieces(const hs_matmul *x, int32_t pieces, const int32_t *workers,
                           const int64_t *rects, int32_t *ends, zone *zones)
{
    for (int32_t i = 0; i <= x->p; i++) ends[i] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t q = 0; q < pieces; q++) {
            const int64_t *r = rects + 4 * (size_t)q;
            const int64_t height = hs__cut_off(r[0], r[2], x->m);
            const int64_t width = hs__cut_off(r[1], r[3], x->n);
            if (!height || !width) continue;
            if (pass)
                zones[ends[workers[q]]++].box = (hs_box){.worker = workers[q],
                                                         .row = r[0],
                                                         .col = r[1],
                                                         .height = height,
                                                         .width = width};
            else ends[workers[q] + 1]++;
        }
        for (int32_t i = 0; i < x->p && !pass; i++) ends[i + 1] += ends[i];
    }
    return ends[x->p];
}

/* Returns how many rows (axis 0) or columns (axis 1) the zones of a worker span. spans [count] is
 * workspace. */
static double count_lines(const zone *zones, int32_t count, int axis, hs__span *spans)
{
    for (int32_t i = 0; i < count; i++) spans[i] = hs__span_of(&zones[i].box, axis);
    if (count > 1) qsort(spans, (size_t)count, sizeof *spans, hs__compare_spans);
    int64_t total = 0;
    int64_t reached = 0;
    for (int32_t i = 0; i < count; i++) {
        total += hs__max(0, spans[i].to - hs__max(reached, spans[i].from));
        reached = hs__max(reached, spans[i].to);
    }
    return (double)total;
}

/* Finds the rows of A and the columns of B that each worker needs. */
static void find_lines(int32_t count, zone *zones, hs__span *spans)
{
    for (int32_t first = 0, last; first < count; first = last) {
        for (last = first + 1; last < count && zones[last].box.worker == zones[first].box.worker;
             last++)
            zones[last].lines = 0.0;
        zones[first].lines = count_lines(zones + first, last - first, 0, spans) +
                             count_lines(zones + first, last - first, 1, spans);
    }
}

static void repeat_zones(const hs_matmul *x, int64_t step, int64_t steps, int32_t count,
                         const zone *zones, hs_box *boxes, double *sent)
{
    for (int64_t k = 0; count && k < steps; k++) {
        const int64_t depth = k * step;
        const int64_t length = hs__min(step, x->k - depth);
        for (int32_t i = 0; i < count; i++) {
            hs_box *box = boxes++;
            *box = zones[i].box;
            box->depth = depth;
            box->length = length;
            *sent++ = hs__operand_bytes(x, length, zones[i].lines);
        }
    }
}

static bool valid_pieces(const hs_matmul *x, int32_t pieces, const int32_t *workers,
                         const int64_t *rects)
{
    if (pieces < 0 || (pieces && (!workers || !rects))) return false;
    for (int32_t q = 0; q < pieces; q++) {
        if (workers[q] < 0 || workers[q] >= x->p) return false;
        for (int k = 0; k < 4; k++)
            if (rects[4 * (size_t)q + (size_t)k] < 0) return false;
    }
    return true;
}

hs_status hs_matmul_zones(const hs_matmul *product, int64_t step, int32_t pieces,
                          const int32_t *workers, const int64_t *rects, int64_t capacity,
                          hs_box *boxes, double *sent, int64_t *box_count)
{
    if (!hs__matmul_valid(product) || step < 0 || step > HS__SIZE_MOST || !box_count)
        return HS_ERROR_VALUE;
    if (!valid_pieces(product, pieces, workers, rects)) return HS_ERROR_VALUE;
    if (capacity < 0 || (capacity && (!boxes || !sent))) return HS_ERROR_VALUE;
    const size_t room = (size_t)pieces;
    zone *zones = malloc(room * (sizeof *zones + sizeof(hs__span)) +
                         ((size_t)product->p + 1) * sizeof(int32_t));
    if (!zones) return HS_ERROR_MEMORY;
    hs__span *spans = (hs__span *)(zones + pieces);
    int32_t *ends = (int32_t *)(spans + room);
    const int32_t count = sort_pieces(product, pieces, workers, rects, ends, zones);
    const int64_t depth = hs__max(product->k, 1);
    const int64_t each = step ? step : depth;
    const int64_t steps = (depth - 1) / each + 1;
    /* more boxes than an int64 counts do not fit either */
    *box_count = count && steps > INT64_MAX / count ? INT64_MAX : steps * count;
    if (*box_count <= capacity) {
        find_lines(count, zones, spans);
        repeat_zones(product, each, steps, count, zones, boxes, sent);
    }
    free(zones);
    return HS_OK;
}

/* ---- Cannon's algorithm ---------------------------------------------------------------------- */

int32_t hs__grid_side(int32_t p)
{
    const int32_t root = (int32_t)sqrt((double)p);
    return root * root == p ? root : 0;
}

/* Returns where part `index` of `parts` even parts of a side begins. */
static int64_t begin_part(int64_t side, int64_t block, int64_t parts, int64_t index)
{
    const int64_t blocks = hs__ceil_div(side, block);
    const int64_t whole = blocks / parts * index + blocks % parts * index / parts;
    return whole < blocks ? block * whole : side;
}

hs_status hs_matmul_cannon(const hs_matmul *product, int64_t block, int64_t capacity, hs_box *boxes,
                           double *sent, int64_t *box_count)
{
    if (!hs__matmul_valid(product) || block < 1 || block > HS__SIZE_MOST || !box_count)
        return HS_ERROR_VALUE;
    if (capacity < 0 || (capacity && (!boxes || !sent))) return HS_ERROR_VALUE;
    const int32_t p = product->p;
    const int64_t grid = hs__grid_side(p);
    if (!grid) return HS_ERROR_VALUE;
    const int64_t sides[3] = {product->m, product->n, product->k};
    for (int axis = 0; axis < 3; axis++)
        if (hs__ceil_div(sides[axis], block) < grid) return HS_ERROR_INFEASIBLE;
    *box_count = grid * p;
    if (*box_count > capacity) return HS_OK;
    for (int64_t step = 0; step < grid; step++)
        for (int32_t w = 0; w < p; w++) {
            const int64_t part[3] = {w / grid, w % grid, (w / grid + w % grid + step) % grid};
            int64_t from[3], size[3];
            for (int axis = 0; axis < 3; axis++) {
                from[axis] = begin_part(sides[axis], block, grid, part[axis]);
                size[axis] = begin_part(sides[axis], block, grid, part[axis] + 1) - from[axis];
            }
            const int64_t at = step * p + w;
            boxes[at] = (hs_box){.worker = w,
                                 .row = from[0],
                                 .col = from[1],
                                 .depth = from[2],
                                 .height = size[0],
                                 .width = size[1],
                                 .length = size[2]};
            sent[at] = hs__operand_bytes(product, size[2], (double)(size[0] + size[1]));
        }
    return HS_OK;
}

/* ---- triangles ------------------------------------------------------------------------------- */

/* Returns the first column after the part of a worker that begins at column `from` of a triangle
 * with n columns, the first with n elements, and does so many elements. */
static int64_t end_part(int64_t n, int64_t block, int64_t from, double elements)
{
    /* the next w columns have w left - w (w - 1) / 2 elements */
    const int64_t left = n - from;
    const double whole = 2.0 * (double)left + 1.0;
    const double root = whole * whole - 8.0 * elements;
    if (!(root > 1.0)) return n;
    const int64_t width = (int64_t)((whole - sqrt(root)) / 2.0 * (1.0 + 1e-15)) / block * block;
    return from + hs__min(width, left);
}

/* Returns the first column that the workers do not reach, or n, if worker i does
 * time * fastest / cycle_times[i] elements. */
static int64_t reach_by(const hs_matmul *x, int64_t block, double fastest, double time)
{
    int64_t at = 0;
    for (int32_t i = 0; i < x->p; i++)
        at = end_part(x->n, block, at, time * (fastest / x->cycle_times[i]));
    return at;
}

/* Returns the least time in which the workers reach the end, up to rounding, in units of what the
 * fastest worker takes for an element. */
static double find_time(const hs_matmul *x, int64_t block, double fastest)
{
    enum { STEPS = 100 };
    double total = 0.0;
    for (int32_t i = 0; i < x->p; i++) total += fastest / x->cycle_times[i];
    const double elements = (double)x->n * (double)(x->n + 1);
    double low = elements / 2.0 / total;
    double high = elements;
    for (int step = 0; step < STEPS; step++) {
        const double middle = (low + high) / 2.0;
        *(reach_by(x, block, fastest, middle) == x->n ? &high : &low) = middle;
    }
    return high;
}

hs_status hs_matmul_triangle(const hs_matmul *product, int64_t block, int64_t capacity,
                             hs_box *boxes, double *sent, int64_t *box_count)
{
    if (!hs__matmul_valid(product) || product->m != product->n || block < 1 ||
        block > HS__SIZE_MOST || !box_count)
        return HS_ERROR_VALUE;
    if (capacity < product->p || !boxes || !sent) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < product->p; i++)
        if (isinf(product->cycle_times[i])) return HS_ERROR_VALUE;
    const int64_t n = product->n;
    double fastest = product->cycle_times[0];
    for (int32_t i = 1; i < product->p; i++) fastest = fmin(fastest, product->cycle_times[i]);
    const double time = find_time(product, block, fastest);
    int64_t count = 0;
    int64_t from = 0;
    for (int32_t i = 0; i < product->p; i++) {
        const int64_t end = end_part(n, block, from, time * (fastest / product->cycle_times[i]));
        if (end == from) continue;
        boxes[count] = (hs_box){.worker = i,
                                .row = from,
                                .col = from,
                                .height = n - from,
                                .width = end - from,
                                .length = product->k};
        sent[count++] = hs__operand_bytes(product, product->k, (double)(n - from));
        from = end;
    }
    *box_count = count;
    return HS_OK;
}
