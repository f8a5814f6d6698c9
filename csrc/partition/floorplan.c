/* Floorplans: parsing the postfix notation into nodes, and the rectangles and the cost that
 * follow. */
#include "partition/floorplan.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/sort.h"

int32_t hs__operands(int32_t op)
{
    switch (op) {
    case HS_BESIDE:
    case HS_ABOVE:
    case HS_AROUND: return 2;
    case HS_CORNERS: return 3;
    case HS_WHEEL: return 5;
    default: return 0;
    }
}

int32_t hs__children(const hs__node *nodes, int32_t i, int32_t children[5])
{
    int32_t count = hs__operands(nodes[i].op);
    int32_t at = i - 1;
    for (int32_t c = count; c-- > 0; at -= nodes[at].size) children[c] = at;
    return count;
}

double hs__partition_total(int32_t p, const double *areas, const double *weights, double aspect,
                           int32_t *size)
{
    double total = 0.0;
    double low = 0.0;
    *size = 0;
    if (p < 1 || !(aspect > 0.0) || isinf(aspect)) return 0.0;
    for (int32_t i = 0; i < p; i++) {
        if (!(areas[i] >= 0.0) || (weights && !(weights[i] > 0.0 && isfinite(weights[i]))))
            return 0.0;
        hs__add_exactly(&total, &low, areas[i]);
        *size += areas[i] > 0.0;
    }
    return isfinite(total) ? total + low : 0.0;
}

hs_status hs__order_workers(int32_t p, const double *areas, const int32_t *order, int32_t size,
                            int32_t *workers)
{
    if (!order) return hs__sort_positive(p, areas, workers, &size);
    const hs_status status = hs__check_order(p, size, order, areas);
    if (!status) memcpy(workers, order, (size_t)size * sizeof *workers);
    return status;
}

double hs__weight_unit(int32_t p, const double *weights)
{
    double largest = hs__weight_of(weights, 0);
    int exponent;
    for (int32_t i = 1; weights && i < p; i++) largest = fmax(largest, weights[i]);
    frexp(largest, &exponent);
    return ldexp(1.0, exponent - 1);
}

/* Returns a b - c d, accurate to the last bits (Kahan). */
static double difference_of_products(double a, double b, double c, double d)
{
    const double second = c * d;
    return fma(a, b, -second) + fma(-c, d, second);
}

/* A wheel is determined by v = x1 - top - left, where x1 is the width of the top one, and by the
 * areas of the top, left and bottom one: the centre is v x1 / (left + v) wide. Let u = 1 - x1 =
 * right + bottom + centre - v. The area that remains for the right one is too large as long as
 *     u centre > v / (left + v) (right x1 - u top).
 * The smaller of u and v is found to its last bit by bisection over the doubles. The difference is
 * written so that no nearly equal numbers cancel: small areas beside large ones are accurate,
 * too. */
void hs__wheel_of(const double area[5], double width[5], double height[5])
{
    const double top = area[0];
    const double right = area[1];
    const double bottom = area[2];
    const double left = area[3];
    const double centre = area[4];
    const double rest = right + bottom + centre;
    const double start = difference_of_products(right, left, top, bottom) - top * centre;
    double middle = rest / 2.0;
    bool small_v = true;
    uint64_t low = 0;
    uint64_t high;
    memcpy(&high, &middle, sizeof high);
    for (int step = 0; high - low > 1; step++) {
        const uint64_t bits = low + (high - low) / 2;
        /* at first u and v are equal */
        if (step > 0) memcpy(&middle, &bits, sizeof middle);
        const double v = small_v ? middle : rest - middle;
        const double u = small_v ? rest - middle : middle;
        const double over =
            small_v ? start + v * (right + top) : right * (top + left + v) - u * top;
        const bool more = u * centre > v / (left + v) * over;
        if (step == 0) small_v = !more;
        else if (more == small_v) low = bits;
        else high = bits;
    }
    memcpy(&middle, &high, sizeof middle);
    const double v = small_v ? middle : rest - middle;
    width[0] = top + left + v;
    height[0] = top / width[0];
    height[3] = (left + v) / width[0];
    width[3] = left / height[3];
    width[4] = v / height[3];
    height[4] = fmin(centre / width[4], 1.0);
    width[1] = small_v ? rest - middle : middle;
    height[1] = right / width[1];
    width[2] = width[1] + width[4];
    height[2] = bottom / width[2];
}

double hs__corner_width(const hs__node *corner)
{
    return sqrt(corner->area * corner->down / corner->across);
}

void hs__corner_sides(int32_t count, const hs__node *const corner[2], double height, double width,
                      double sides[2][2])
{
    for (int32_t c = 0; c < count; c++) {
        const double area = corner[c]->area;
        sides[c][1] =
            area > 0.0 ? fmin(fmax(hs__corner_width(corner[c]), area / height), width) : 0.0;
        sides[c][0] = area > 0.0 ? fmin(area / sides[c][1], height) : 0.0;
    }
    if (count == 2 && sides[0][0] + sides[1][0] > height && sides[0][1] + sides[1][1] > width)
        for (int32_t c = 0; c < 2; c++) {
            sides[c][1] = width;
            sides[c][0] = fmin(corner[c]->area / width, height);
        }
}

/* Computes area, across and down of an operator's node from its operands. */
static void add_up(hs__node *nodes, int32_t i, double owner_weight)
{
    hs__node *self = &nodes[i];
    int32_t child[5];
    int32_t count = hs__children(nodes, i, child);
    self->area = self->area_low = self->across = self->down = 0.0;
    for (int32_t c = 0; c < count; c++) {
        hs__add_exactly(&self->area, &self->area_low, nodes[child[c]].area);
        self->area_low += nodes[child[c]].area_low;
    }
    double width[5] = {1.0, 1.0};
    double height[5] = {1.0, 1.0};
    /* a corner costs the same in every box: 2 sqrt(across * down * area) */
    if (self->op == HS_AROUND || self->op == HS_CORNERS) {
        self->across = self->down = owner_weight;
        return;
    }
    if (self->op == HS_WHEEL) {
        double area[5];
        for (int c = 0; c < 5; c++) area[c] = nodes[child[c]].area / self->area;
        hs__wheel_of(area, width, height);
    } else
        for (int c = 0; c < 2; c++)
            *(self->op == HS_BESIDE ? &width[c] : &height[c]) = nodes[child[c]].area / self->area;
    for (int32_t c = 0; c < count; c++) {
        self->across += nodes[child[c]].across * width[c];
        self->down += nodes[child[c]].down * height[c];
    }
}

hs_status hs__floorplan_parse(int32_t p, const double *areas, const double *weights,
                              const int32_t *plan, int32_t length, hs__node *nodes)
{
    int32_t size;
    double total = hs__partition_total(p, areas, weights, 1.0, &size);
    if (!(total > 0.0) || length < 1 || length >= 2 * (int64_t)p) return HS_ERROR_VALUE;
    bool *seen = calloc((size_t)p, sizeof *seen);
    if (!seen) return HS_ERROR_MEMORY;
    hs_status status = HS_OK;
    for (int32_t i = 0; i < length && !status; i++) {
        int32_t op = plan[i];
        hs__node *self = &nodes[i];
        *self = (hs__node){.op = op, .size = 1};
        status = HS_ERROR_VALUE;
        if (op >= 0) {
            if (op >= p || seen[op] || !(areas[op] > 0.0)) break;
            seen[op] = true;
            size--;
            self->area = hs__share(areas[op], total);
            self->across = self->down = hs__weight_of(weights, op);
            status = HS_OK;
            continue;
        }
        int32_t count = hs__operands(op);
        int32_t at = i - 1;
        const bool around = op == HS_AROUND || op == HS_CORNERS;
        if (count == 0 || (around && (i == 0 || plan[i - 1] < 0))) break;
        for (; count > 0 && at >= 0; count--, at -= nodes[at].size) self->size += nodes[at].size;
        if (count > 0) break;
        add_up(nodes, i, around && weights ? weights[plan[i - 1]] : 1.0);
        status = HS_OK;
    }
    if (!status && (size != 0 || nodes[length - 1].size != length)) status = HS_ERROR_VALUE;
    free(seen);
    return status;
}

/* ---- lengths --------------------------------------------------------------------------------- */

typedef struct {
    double row, col, height, width;
    /* cut out of a worker's zone at its lower right, and at its upper left */
    double corner_height, corner_width;
    double first_height, first_width;
} box;

/* Computes the boxes of node i's operands. A side is the operand's area divided by the side that it
 * shares with its box: so errors do not add up along a chain of cuts. */
static void divide_box(const hs__node *nodes, int32_t i, box *boxes)
{
    const hs__node *self = &nodes[i];
    const box all = boxes[i];
    int32_t child[5] = {0};
    hs__children(nodes, i, child);
    const hs__node *first = &nodes[child[0]];
    const hs__node *second = &nodes[child[1]];
    switch (self->op) {
    case HS_BESIDE: {
        double left = fmin((first->area + first->area_low) / all.height, all.width);
        double right = fmin((second->area + second->area_low) / all.height, all.width);
        boxes[child[0]] =
            (box){.row = all.row, .col = all.col, .height = all.height, .width = left};
        boxes[child[1]] =
            (box){.row = all.row, .col = all.col + left, .height = all.height, .width = right};
        break;
    }
    case HS_ABOVE: {
        double upper = fmin((first->area + first->area_low) / all.width, all.height);
        double lower = fmin((second->area + second->area_low) / all.width, all.height);
        boxes[child[0]] =
            (box){.row = all.row, .col = all.col, .height = upper, .width = all.width};
        boxes[child[1]] =
            (box){.row = all.row + upper, .col = all.col, .height = lower, .width = all.width};
        break;
    }
    case HS_WHEEL: {
        double area[5], w[5], h[5];
        for (int c = 0; c < 5; c++) area[c] = nodes[child[c]].area / self->area;
        hs__wheel_of(area, w, h);
        const double top[5] = {0.0, 0.0, 1.0 - h[2], h[0], h[0]};
        const double left[5] = {0.0, w[0], w[3], 0.0, w[3]};
        for (int c = 0; c < 5; c++)
            boxes[child[c]] = (box){.row = all.row + top[c] * all.height,
                                    .col = all.col + left[c] * all.width,
                                    .height = h[c] * all.height,
                                    .width = w[c] * all.width};
        break;
    }
    default: {                                           /* HS_AROUND, HS_CORNERS */
        const int32_t last = hs__operands(self->op) - 2; /* the corner at the lower right */
        const hs__node *const contents[2] = {first, second};
        double sides[2][2];
        hs__corner_sides(last + 1, contents, all.height, all.width, sides);
        const double height = sides[last][0];
        const double width = sides[last][1];
        boxes[child[last]] = (box){.row = all.row + (all.height - height),
                                   .col = all.col + (all.width - width),
                                   .height = height,
                                   .width = width};
        box *owner = &boxes[child[last + 1]];
        *owner = all;
        owner->corner_height = height;
        owner->corner_width = width;
        if (last == 0) break;
        boxes[child[0]] =
            (box){.row = all.row, .col = all.col, .height = sides[0][0], .width = sides[0][1]};
        owner->first_height = sides[0][0];
        owner->first_width = sides[0][1];
    }
    }
}

/* Divides the zone of a worker around two corners into three pieces, from the top down or from left
 * to right. rows, cols: what it spans. */
static void divide_around_two(const box *b, double area, double parts[3][4], double *rows,
                              double *cols)
{
    const double lower = b->height - b->corner_height;
    const double right = b->width - b->corner_width;
    const bool wide_first = b->first_width >= b->width;
    const bool wide_second = b->corner_width >= b->width;
    const bool high_first = b->first_height >= b->height;
    const bool high_second = b->corner_height >= b->height;
    /* a thin sliver between two strips: its side is not computed as a difference */
    const double between =
        wide_first && wide_second ? area / b->width : fmax(lower - b->first_height, 0.0);
    const double beside =
        high_first && high_second ? area / b->height : fmax(right - b->first_width, 0.0);
    *rows = b->height;
    if (wide_first && wide_second) *rows = between;
    else if (wide_first) *rows = b->height - b->first_height;
    else if (wide_second) *rows = lower;
    *cols = b->width;
    if (high_first && high_second) *cols = beside;
    else if (high_first) *cols = b->width - b->first_width;
    else if (high_second) *cols = right;
    if (b->first_height + b->corner_height <= b->height || (wide_first && wide_second)) {
        const double pieces[3][4] = {
            {b->row, b->col + b->first_width, b->first_height, b->width - b->first_width},
            {b->row + b->first_height, b->col, between, b->width},
            {b->row + lower, b->col, b->corner_height, right}};
        memcpy(parts, pieces, sizeof pieces);
    } else {
        const double pieces[3][4] = {
            {b->row + b->first_height, b->col, b->height - b->first_height, b->first_width},
            {b->row, b->col + b->first_width, b->height, beside},
            {b->row, b->col + right, lower, b->corner_width}};
        memcpy(parts, pieces, sizeof pieces);
    }
}

/* Divides the zone of a worker into one piece, or two around a corner. */
static void divide_zone(const box *b, double area, double parts[3][4], double *rows, double *cols)
{
    const bool full_width = b->corner_width >= b->width;
    const bool full_height = !full_width && b->corner_height >= b->height;
    /* a thin sliver: its side is not computed as a difference */
    const double upper = full_width ? area / b->width : b->height - b->corner_height;
    const double left = full_height ? area / b->height : b->width - b->corner_width;
    const double pieces[3][4] = {{b->row, b->col, upper, b->width},
                                 {b->row + upper, b->col, b->corner_height, left}};
    memcpy(parts, pieces, sizeof pieces);
    *rows = b->corner_height > 0.0 && full_width ? upper : b->height;
    *cols = b->corner_width > 0.0 && full_height ? left : b->width;
}

/* Lays out a floorplan. workers, rects and pieces may be NULL, all three together. */
static hs_status lay_out(int32_t p, const double *areas, const double *weights, double aspect,
                         const int32_t *plan, int32_t length, int32_t *workers, double *rects,
                         int32_t *pieces, double *cost)
{
    int32_t size;
    if (!(hs__partition_total(p, areas, weights, aspect, &size) > 0.0) || length < 1 ||
        length >= 2 * (int64_t)p)
        return HS_ERROR_VALUE;
    hs__node *nodes = malloc((size_t)length * sizeof *nodes);
    box *boxes = malloc((size_t)length * sizeof *boxes);
    hs_status status = nodes && boxes ? hs__floorplan_parse(p, areas, weights, plan, length, nodes)
                                      : HS_ERROR_MEMORY;
    if (status) {
        free(nodes);
        free(boxes);
        return status;
    }
    const double width = sqrt(aspect);
    const double height = 1.0 / width;
    boxes[length - 1] = (box){.height = height, .width = width};
    for (int32_t i = length - 1; i >= 0; i--)
        if (nodes[i].op < 0) divide_box(nodes, i, boxes);

    double sum = 0.0;
    int32_t count = 0;
    for (int32_t i = 0; i < length; i++) {
        if (nodes[i].op < 0) continue;
        const box *b = &boxes[i];
        double parts[3][4];
        double rows;
        double cols;
        (b->first_height > 0.0 ? divide_around_two : divide_zone)(b, nodes[i].area, parts, &rows,
                                                                  &cols);
        for (int k = 0; k < 3 && rects; k++) {
            if (!(parts[k][2] > 0.0 && parts[k][3] > 0.0)) continue;
            double *rect = rects + 4 * (size_t)count;
            for (int q = 0; q < 4; q++) rect[q] = parts[k][q] / (q % 2 ? width : height);
            workers[count++] = nodes[i].op;
        }
        sum += hs__weight_of(weights, nodes[i].op) * (rows + cols);
    }
    if (pieces) *pieces = count;
    if (cost) *cost = sum;
    free(nodes);
    free(boxes);
    return HS_OK;
}

hs_status hs_floorplan_rects(int32_t p, const double *areas, const double *weights, double aspect,
                             const int32_t *plan, int32_t length, int32_t *workers, double *rects,
                             int32_t *pieces, double *cost)
{
    if (!areas || !plan || !workers || !rects || !pieces) return HS_ERROR_VALUE;
    return lay_out(p, areas, weights, aspect, plan, length, workers, rects, pieces, cost);
}

hs_status hs__floorplan_cost(int32_t p, const double *areas, const double *weights, double aspect,
                             const int32_t *plan, int32_t length, double *cost)
{
    return lay_out(p, areas, weights, aspect, plan, length, NULL, NULL, NULL, cost);
}
