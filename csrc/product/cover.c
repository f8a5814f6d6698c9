/* Checks whether boxes tile the iterations of a product.
 *
 * Let f(x) be the number of boxes that contain the element x = (depth, row, col). The mixed
 * difference of f, in steps of one along the three axes, is zero except at the corners of the
 * boxes, where each corner counts +1 or -1; and f(x) is the sum of these differences over all y <=
 * x. So the boxes tile exactly if the corners cancel everywhere except at the first corner of the
 * whole. No volume is computed, and nothing can overflow.
 *
 * Take the least x, in the order of depth, row, col, at which the corners do not cancel. Everything
 * before x is covered once, and the rest at x is f(x) - 1: x is the first element that is in no
 * box, or in two.
 *
 * Corners behind the last element of an axis are dropped, as no box reaches beyond it. The
 * remaining corners are sorted depth by depth: time O(b log b) for b boxes. A plan in two
 * dimensions has one depth, and at most four corners for each box.
 *
 * If each corner is weighted by its worker, the same sums show whether the worker changes along the
 * depth: at a depth other than 0 they are zero if each element has the same worker as before.
 *
 * With a triangle, only elements on and below the diagonal count. The part of a box there is no
 * box, but the part and its mirror image together are made of boxes: the part below the diagonal,
 * its mirror image, and a square around the piece of the diagonal. */
#include <stdlib.h>

#include "core/numbers.h"
#include "hetsched.h"

/* One end of a box along the depth: it begins here (sign 1), or has ended (-1). */
typedef struct {
    int64_t depth;
    int32_t box, sign;
} face;

typedef struct {
    int64_t row, col;
    int64_t weight;   /* number of boxes */
    uint64_t workers; /* sum of their workers + 1, modulo 2^64 */
} corner;

enum { CORNERS = 4, PARTS = 5 }; /* of a rectangle; rectangles of a box in a triangle */

typedef struct {
    int64_t m, n, k;
    int32_t triangle, one_worker, count;
    const hs_box *box;
    corner *corner; /* corners at the present depth */
    size_t corners;
} tiling;

/* Returns a box in the form in which boxes are compared: the mirror image if the triangle is the
 * upper one, and a single layer if there is no inner dimension. */
static hs_box comparable_box(const tiling *t, int32_t i)
{
    hs_box box = t->box[i];
    if (t->k == 0) {
        box.depth = 0;
        box.length = 1;
    }
    if (t->triangle != HS_TRIANGLE_UPPER) return box;
    hs_box turned = box;
    turned.row = box.col;
    turned.col = box.row;
    turned.height = box.width;
    turned.width = box.height;
    return turned;
}

static int64_t depth_of(const tiling *t) { return t->k ? t->k : 1; }

/* ---- corners --------------------------------------------------------------------------------- */

static void add_corner(tiling *t, int64_t row, int64_t col, int64_t weight, int32_t worker)
{
    if (row >= t->m || col >= t->n) return;
    t->corner[t->corners++] =
        (corner){row, col, weight, (uint64_t)weight * ((uint64_t)(uint32_t)worker + 1)};
}

/* Adds the corners of rows first .. end - 1, columns left .. right - 1. */
static void add_rectangle(tiling *t, int64_t first, int64_t end, int64_t left, int64_t right,
                          int64_t weight, int32_t worker)
{
    if (first >= end || left >= right) return;
    add_corner(t, first, left, weight, worker);
    add_corner(t, first, right, -weight, worker);
    add_corner(t, end, left, -weight, worker);
    add_corner(t, end, right, weight, worker);
}

static void add_below(tiling *t, int64_t first, int64_t end, int64_t left, int64_t right,
                      int64_t weight, int32_t worker)
{
    add_rectangle(t, first, end, left, right, weight, worker);
    add_rectangle(t, left, right, first, end, weight, worker);
}

static void add_face(tiling *t, const hs_box *box, int64_t weight)
{
    const int64_t first = box->row;
    const int64_t end = first + box->height;
    const int64_t left = box->col;
    const int64_t right = left + box->width;
    if (!t->triangle) {
        add_rectangle(t, first, end, left, right, weight, box->worker);
        return;
    }
    /* The piece of the diagonal in the box, if from < to. */
    const int64_t from = hs__max(first, left);
    const int64_t to = hs__min(end, right);
    if (from >= to) {
        if (first >= right) add_below(t, first, end, left, right, weight, box->worker);
        return;
    }
    add_below(t, first, end, left, from, weight, box->worker);
    add_below(t, to, end, from, to, weight, box->worker);
    add_rectangle(t, from, to, from, to, weight, box->worker);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_depth(const void *a, const void *b)
{
    const face *x = a;
    const face *y = b;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static int by_place(const void *a, const void *b)
{
    const corner *x = a;
    const corner *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->col > y->col) - (x->col < y->col);
}

/* Adds up the corners at the same place. */
static void add_up_corners(tiling *t)
{
    size_t places = 0;
    qsort(t->corner, t->corners, sizeof *t->corner, by_place);
    for (size_t i = 0; i < t->corners; i++) {
        const corner *x = &t->corner[i];
        corner *last = places ? &t->corner[places - 1] : NULL;
        if (last && by_place(last, x) == 0) {
            last->weight += x->weight;
            last->workers += x->workers;
        } else t->corner[places++] = *x;
    }
    t->corners = places;
}

static int contains_element(const hs_box *box, int64_t depth, int64_t row, int64_t col)
{
    const int in_depth = depth >= box->depth && depth - box->depth < box->length;
    return in_depth && row >= box->row && row - box->row < box->height && col >= box->col &&
           col - box->col < box->width;
}

/* Finds the boxes with the faulty element; for HS_TWO_WORKERS also the one with the element before
 * it along the depth. */
static void name_boxes(const tiling *t, hs_cover *cover)
{
    const int64_t before = cover->depth - (cover->fault == HS_TWO_WORKERS);
    int32_t *next[] = {&cover->first, &cover->second};
    int found = 0;
    for (int32_t i = 0; i < t->count && found < 2; i++) {
        const hs_box box = comparable_box(t, i);
        if (contains_element(&box, cover->depth, cover->row, cover->col) ||
            contains_element(&box, before, cover->row, cover->col))
            *next[found++] = i;
    }
}

/* Finds the first fault at a depth, after its corners are added up. Returns 0 if there is none. */
static int find_fault(const tiling *t, int64_t depth, hs_cover *cover)
{
    const corner *at = NULL;
    for (size_t i = 0; i < t->corners && !at; i++)
        if (t->corner[i].weight) {
            at = &t->corner[i];
            cover->fault = at->weight < 0 ? HS_UNCOVERED : HS_OVERLAP;
        }
    for (size_t i = 0; i < t->corners && !at && depth && t->one_worker; i++)
        if (t->corner[i].workers) {
            at = &t->corner[i];
            cover->fault = HS_TWO_WORKERS;
        }
    if (!at) return 0;
    /* the boxes contain its mirror image */
    const int turned = t->triangle && at->row < at->col;
    cover->depth = depth;
    cover->row = turned ? at->col : at->row;
    cover->col = turned ? at->row : at->col;
    name_boxes(t, cover);
    if (t->triangle == HS_TRIANGLE_UPPER) {
        const int64_t row = cover->row;
        cover->row = cover->col;
        cover->col = row;
    }
    return 1;
}

/* ---- depths ---------------------------------------------------------------------------------- */

/* Lists the ends of all boxes that are not empty, by depth. Ends at the end of the whole are left
 * out. */
static size_t list_faces(const tiling *t, face *faces)
{
    size_t count = 0;
    for (int32_t i = 0; i < t->count; i++) {
        const hs_box box = comparable_box(t, i);
        if (!box.height || !box.width || !box.length) continue;
        faces[count++] = (face){box.depth, i, 1};
        if (box.depth + box.length < depth_of(t))
            faces[count++] = (face){box.depth + box.length, i, -1};
    }
    qsort(faces, count, sizeof *faces, by_depth);
    return count;
}

static size_t end_of_depth(const face *faces, size_t count, size_t first)
{
    size_t end = first;
    while (end < count && faces[end].depth == faces[first].depth) end++;
    return end;
}

static hs_status check_depths(tiling *t, const face *faces, size_t count, hs_cover *cover)
{
    size_t most = 0;
    for (size_t first = 0, end; first < count; first = end) {
        end = end_of_depth(faces, count, first);
        if (end - first > most) most = end - first;
    }
    t->corner = calloc(1 + most * (t->triangle ? CORNERS * PARTS : CORNERS), sizeof *t->corner);
    if (!t->corner) return HS_ERROR_MEMORY;
    size_t first = 0;
    /* Depth 0 is checked even if no box begins there. */
    do {
        const int64_t depth = first ? faces[first].depth : 0;
        size_t end = first;
        t->corners = 0;
        if (depth == 0) add_corner(t, 0, 0, -1, 0); /* the whole */
        for (; end < count && faces[end].depth == depth; end++) {
            const hs_box box = comparable_box(t, faces[end].box);
            add_face(t, &box, faces[end].sign);
        }
        add_up_corners(t);
        if (find_fault(t, depth, cover)) break;
        first = end;
    } while (first < count);
    free(t->corner);
    return cover->fault == HS_COVERED ? HS_OK : HS_ERROR_VALUE;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static hs_status cover_of(tiling *t, hs_cover *cover)
{
    for (int32_t i = 0; i < t->count; i++) {
        const hs_box *b = &t->box[i];
        const int in_c =
            hs__is_within(b->row, b->height, t->m) && hs__is_within(b->col, b->width, t->n);
        if (in_c && hs__is_within(b->depth, b->length, t->k)) continue;
        cover->fault = HS_OUTSIDE;
        cover->first = i;
        return HS_ERROR_VALUE;
    }
    if (!t->m || !t->n) return HS_OK;
    if (t->count == 1 && t->box->height == t->m && t->box->width == t->n && t->box->length == t->k)
        return HS_OK;
    face *faces = malloc((2 * (size_t)t->count + 1) * sizeof *faces);
    if (!faces) return HS_ERROR_MEMORY;
    const hs_status status = check_depths(t, faces, list_faces(t, faces), cover);
    free(faces);
    return status;
}

hs_status hs_boxes_cover(int64_t m, int64_t n, int64_t k, int32_t triangle, int32_t one_worker,
                         int32_t count, const hs_box *boxes, hs_cover *cover)
{
    if (m < 0 || n < 0 || k < 0 || count < 0 || (count && !boxes)) return HS_ERROR_VALUE;
    if (triangle < HS_TRIANGLE_NONE || triangle > HS_TRIANGLE_MIRRORED || (triangle && m != n))
        return HS_ERROR_VALUE;
    tiling t = {.m = m,
                .n = n,
                .k = k,
                .triangle = triangle,
                .one_worker = one_worker,
                .count = count,
                .box = boxes};
    hs_cover found = {.first = -1, .second = -1};
    const hs_status status = cover_of(&t, &found);
    if (cover) *cover = found;
    return status;
}
