/* Whether boxes tile, against painting each box: tilings by cuts and by pinwheels, all of them also
 * mutated; triangles, the workers of an element, sizes of 0, 1, 2 and near the largest. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { SIDE = 7, MOST = 400, P = 3 };

typedef struct {
    int64_t m, n, k;
    int32_t triangle, one_worker, count;
    hs_box box[MOST];
} tiling;

/* ---- the same by painting -------------------------------------------------------------------- */

static int64_t layers_of(const tiling *t) { return t->k ? t->k : 1; }

static int box_has(const tiling *t, int32_t i, int64_t depth, int64_t row, int64_t col)
{
    hs_box b = t->box[i];
    if (t->k == 0) {
        b.depth = 0;
        b.length = 1;
    }
    return depth >= b.depth && depth < b.depth + b.length && row >= b.row &&
           row < b.row + b.height && col >= b.col && col < b.col + b.width;
}

/* Returns the number of boxes that contain an element; *worker becomes the worker of the last one.
 * An element outside the triangle is looked for by its mirror image. */
static int count_boxes(const tiling *t, int64_t depth, int64_t row, int64_t col, int32_t *worker)
{
    const int lower = row >= col;
    const int upper = t->triangle == HS_TRIANGLE_UPPER;
    int count = 0;
    for (int32_t i = 0; i < t->count; i++)
        if (t->triangle && lower == upper && row != col ? box_has(t, i, depth, col, row)
                                                        : box_has(t, i, depth, row, col)) {
            count++;
            *worker = t->box[i].worker;
        }
    return count;
}

static int is_outside(const tiling *t, int32_t i)
{
    const hs_box *b = &t->box[i];
    return b->row < 0 || b->col < 0 || b->depth < 0 || b->height < 0 || b->width < 0 ||
           b->length < 0 || b->row + b->height > t->m || b->col + b->width > t->n ||
           b->depth + b->length > t->k;
}

static void name_boxes(const tiling *t, hs_cover *x)
{
    for (int32_t i = 0; i < t->count; i++) {
        if (!box_has(t, i, x->depth, x->row, x->col) &&
            !(x->fault == HS_TWO_WORKERS && box_has(t, i, x->depth - 1, x->row, x->col)))
            continue;
        if (x->first < 0) x->first = i;
        else if (x->second < 0) x->second = i;
    }
}

static hs_cover expected_cover(const tiling *t)
{
    hs_cover x = {.first = -1, .second = -1};
    for (int32_t i = 0; i < t->count; i++)
        if (is_outside(t, i)) {
            x.fault = HS_OUTSIDE;
            x.first = i;
            return x;
        }
    for (int64_t depth = 0; depth < layers_of(t); depth++)
        for (int what = HS_UNCOVERED; what <= HS_TWO_WORKERS; what += HS_TWO_WORKERS - HS_UNCOVERED)
            for (int64_t row = 0; row < t->m; row++)
                for (int64_t col = 0; col < t->n; col++) {
                    int32_t worker = -1;
                    int32_t before = -1;
                    const int count = count_boxes(t, depth, row, col, &worker);
                    if (what == HS_UNCOVERED && count == 1) continue;
                    if (what == HS_TWO_WORKERS && (!t->one_worker || !depth)) continue;
                    if (what == HS_TWO_WORKERS &&
                        count_boxes(t, depth - 1, row, col, &before) == 1 && before == worker)
                        continue;
                    const int turned =
                        t->triangle && (t->triangle == HS_TRIANGLE_UPPER ? row > col : row < col);
                    x.fault = what == HS_TWO_WORKERS ? what : count ? HS_OVERLAP : HS_UNCOVERED;
                    x.depth = depth;
                    x.row = turned ? col : row;
                    x.col = turned ? row : col;
                    name_boxes(t, &x);
                    return x;
                }
    return x;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Compares both results, with all sides multiplied by `scale` and in memory that ends with the last
 * box. Returns the fault. */
static int compare_covers(const tiling *t, int64_t scale)
{
    const hs_cover wanted = expected_cover(t);
    hs_cover found;
    hs_box *boxes = malloc((size_t)t->count * sizeof *boxes);
    for (int32_t i = 0; boxes && i < t->count; i++) {
        boxes[i] = t->box[i];
        int64_t *const sides[] = {&boxes[i].row,    &boxes[i].col,   &boxes[i].depth,
                                  &boxes[i].height, &boxes[i].width, &boxes[i].length};
        for (int q = 0; q < 6; q++) *sides[q] *= scale;
    }
    memset(&found, 0xff, sizeof found);
    const hs_status status = hs_boxes_cover(t->m * scale, t->n * scale, t->k * scale, t->triangle,
                                            t->one_worker, t->count, boxes, &found);
    CHECK(status == (wanted.fault ? HS_ERROR_VALUE : HS_OK) && found.fault == wanted.fault);
    CHECK(found.row == wanted.row * scale && found.col == wanted.col * scale &&
          found.depth == wanted.depth * scale);
    CHECK(found.first == wanted.first && found.second == wanted.second);
    CHECK(hs_boxes_cover(t->m * scale, t->n * scale, t->k * scale, t->triangle, t->one_worker,
                         t->count, boxes, NULL) == status);
    free(boxes);
    return wanted.fault;
}

/* ---- tilings --------------------------------------------------------------------------------- */

static int64_t random_between(int64_t low, int64_t high)
{
    return low + check_random((unsigned)(high - low + 1));
}

static void add_box(tiling *t, hs_box box)
{
    box.worker = t->one_worker ? 0 : (int32_t)check_random(P);
    t->box[t->count++] = box;
}

/* Adds five zones around each other, which no straight cut divides. */
static void add_pinwheel(tiling *t, hs_box box)
{
    const int64_t h1 = random_between(1, box.height - 2);
    const int64_t h2 = random_between(h1 + 1, box.height - 1);
    const int64_t w1 = random_between(1, box.width - 2);
    const int64_t w2 = random_between(w1 + 1, box.width - 1);
    const int64_t zones[5][4] = {{0, 0, h1, w2},
                                 {0, w2, h2, box.width - w2},
                                 {h2, w1, box.height - h2, box.width - w1},
                                 {h1, 0, box.height - h1, w1},
                                 {h1, w1, h2 - h1, w2 - w1}};
    for (int q = 0; q < 5; q++) {
        hs_box zone = box;
        zone.row += zones[q][0];
        zone.col += zones[q][1];
        zone.height = zones[q][2];
        zone.width = zones[q][3];
        add_box(t, zone);
    }
}

/* Adds a box, cut several times. A cut may leave nothing on one side. */
static void add_cuts(tiling *t, hs_box box, int levels)
{
    hs_box rest = box;
    if (levels == 0 && box.height > 2 && box.width > 2 && check_random(3) == 0) {
        add_pinwheel(t, box);
        return;
    }
    /* without a length only C is cut */
    switch (levels ? check_random(box.length ? 4 : 2) : 3) {
    case 0:
        box.height = random_between(0, box.height);
        rest.row += box.height;
        rest.height -= box.height;
        break;
    case 1:
        box.width = random_between(0, box.width);
        rest.col += box.width;
        rest.width -= box.width;
        break;
    case 2:
        box.length = random_between(0, box.length);
        rest.depth += box.length;
        rest.length -= box.length;
        break;
    default: add_box(t, box); return;
    }
    add_cuts(t, box, levels - 1);
    add_cuts(t, rest, levels - 1);
}

/* Gives each zone of C a worker, and cuts it into some pieces of the depth. */
static void divide_depths(tiling *t)
{
    const int32_t zones = t->count;
    for (int32_t i = 0; i < zones; i++) {
        hs_box *zone = &t->box[i];
        hs_box rest = *zone;
        rest.worker = zone->worker = (int32_t)check_random(P);
        zone->length = random_between(0, t->k);
        rest.depth = zone->length;
        rest.length = t->k - zone->length;
        t->box[t->count++] = rest;
    }
}

static void shuffle_boxes(tiling *t)
{
    for (int32_t i = t->count - 1; i > 0; i--) {
        const int32_t j = (int32_t)check_random((unsigned)i + 1);
        const hs_box other = t->box[i];
        t->box[i] = t->box[j];
        t->box[j] = other;
    }
}

static void draw_tiling(tiling *t, int64_t most)
{
    *t = (tiling){.m = random_between(0, most),
                  .n = random_between(0, most),
                  .k = random_between(0, most),
                  .triangle = check_random(3) ? 0 : (int32_t)check_random(4),
                  .one_worker = (int32_t)check_random(2)};
    if (t->triangle) t->n = t->m;
    const int zones = t->one_worker && check_random(4);
    add_cuts(t, (hs_box){.height = t->m, .width = t->n, .length = zones ? 0 : t->k},
             (int)check_random(5));
    if (zones && t->k) divide_depths(t);
    if (check_random(2)) shuffle_boxes(t);
}

/* Removes a box, repeats it, moves it or one of its sides by one, or changes its worker. */
static void mutate_tiling(tiling *t)
{
    if (t->count == 0) return;
    hs_box *box = &t->box[check_random((unsigned)t->count)];
    int64_t *const places[] = {&box->row, &box->col, &box->depth};
    int64_t *const sides[] = {&box->height, &box->width, &box->length};
    const int axis = (int)check_random(3);
    const int by = check_random(2) ? 1 : -1;
    switch (check_random(6)) {
    case 0: *box = t->box[--t->count]; break;
    case 1: t->box[t->count++] = *box; break;
    case 2: *places[axis] += by; break;
    case 3: *sides[axis] += by; break;
    case 4:
        *places[axis] -= by;
        *sides[axis] += by;
        break;
    default: box->worker = (box->worker + 1) % P; break;
    }
}

static void random_tilings(void)
{
    static tiling t, mutated;
    long seen[HS_TWO_WORKERS + 1] = {0};
    for (int round = 0; round < CHECK_MANY(6000, 300); round++) {
        draw_tiling(&t, round % 4 ? SIDE : 2);
        const int fault = compare_covers(&t, 1);
        CHECK(fault == HS_COVERED || (fault == HS_TWO_WORKERS && t.one_worker));
        for (int m = 0; m < 3; m++) {
            mutated = t;
            for (int more = m; more >= 0; more--) mutate_tiling(&mutated);
            seen[compare_covers(&mutated, 1)]++;
        }
        if (round % 4 == 0) {
            compare_covers(&mutated, INT64_MAX / (SIDE + 1));
            compare_covers(&t, INT64_MAX / (SIDE + 1));
        }
    }
    for (int fault = HS_COVERED; fault <= HS_TWO_WORKERS; fault++)
        CHECK(seen[fault] > CHECK_MANY(100, 5));
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void by_hand(void)
{
    const hs_box halves[] = {{.worker = 1, .height = 4, .width = 2, .length = 3},
                             {.worker = 0, .col = 2, .height = 4, .width = 3, .length = 3}};
    hs_cover cover;
    CHECK(hs_boxes_cover(4, 5, 3, HS_TRIANGLE_NONE, 1, 2, halves, &cover) == HS_OK &&
          cover.fault == HS_COVERED && cover.first == -1);
    CHECK(hs_boxes_cover(4, 6, 3, HS_TRIANGLE_NONE, 1, 2, halves, &cover) == HS_ERROR_VALUE &&
          cover.fault == HS_UNCOVERED);
    CHECK(cover.row == 0 && cover.col == 5 && cover.depth == 0 && cover.first == -1 &&
          cover.second == -1);
    CHECK(hs_boxes_cover(4, 4, 3, HS_TRIANGLE_NONE, 1, 2, halves, &cover) == HS_ERROR_VALUE &&
          cover.fault == HS_OUTSIDE && cover.first == 1);
    const hs_box above[] = {{.worker = 2, .height = 2, .width = 2, .length = 1},
                            {.worker = 1, .depth = 1, .height = 2, .width = 2, .length = 2}};
    CHECK(hs_boxes_cover(2, 2, 3, HS_TRIANGLE_NONE, 0, 2, above, &cover) == HS_OK);
    CHECK(hs_boxes_cover(2, 2, 3, HS_TRIANGLE_NONE, 1, 2, above, &cover) == HS_ERROR_VALUE &&
          cover.fault == HS_TWO_WORKERS);
    CHECK(cover.depth == 1 && cover.row == 0 && cover.col == 0 && cover.first == 0 &&
          cover.second == 1);
    /* no boxes: nothing to cover, then an element that nothing covers */
    CHECK(hs_boxes_cover(0, 5, 3, HS_TRIANGLE_NONE, 1, 0, NULL, NULL) == HS_OK &&
          hs_boxes_cover(5, 0, 3, HS_TRIANGLE_NONE, 1, 0, NULL, NULL) == HS_OK);
    CHECK(hs_boxes_cover(1, 1, 0, HS_TRIANGLE_NONE, 1, 0, NULL, &cover) == HS_ERROR_VALUE &&
          cover.fault == HS_UNCOVERED);
    CHECK(hs_boxes_cover(1, 1, 1, HS_TRIANGLE_NONE, 1, 0, NULL, &cover) == HS_ERROR_VALUE &&
          cover.fault == HS_UNCOVERED);
    /* arguments out of range */
    CHECK(hs_boxes_cover(-1, 1, 1, HS_TRIANGLE_NONE, 1, 0, NULL, NULL) == HS_ERROR_VALUE &&
          hs_boxes_cover(1, 2, 1, HS_TRIANGLE_LOWER, 1, 2, halves, NULL) == HS_ERROR_VALUE);
    CHECK(hs_boxes_cover(4, 5, 3, 4, 1, 2, halves, NULL) == HS_ERROR_VALUE &&
          hs_boxes_cover(4, 5, 3, HS_TRIANGLE_NONE, 1, 2, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_boxes_cover(4, 5, 3, HS_TRIANGLE_NONE, 1, -1, halves, NULL) == HS_ERROR_VALUE);
    CHECK_SCARCE(hs_boxes_cover(4, 5, 3, HS_TRIANGLE_NONE, 1, 2, halves, NULL), 1);
}

/* Numbers that are not sizes, in each field of a box in turn. */
static void any_numbers(void)
{
    static const int64_t numbers[] = {INT64_MIN, INT32_MIN, -1, 0, 1, 2, 3, INT32_MAX, INT64_MAX};
    for (int q = 0; q < 6; q++)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            hs_box *box = malloc(sizeof *box);
            if (!CHECK(box != NULL)) return;
            *box = (hs_box){.height = 2, .width = 2, .length = 2};
            int64_t *const sides[] = {&box->row,    &box->col,   &box->depth,
                                      &box->height, &box->width, &box->length};
            *sides[q] = numbers[i];
            CHECK(hs_boxes_cover(2, 2, 2, HS_TRIANGLE_NONE, 1, 1, box, NULL) ==
                  (numbers[i] == (q < 3 ? 0 : 2) ? HS_OK : HS_ERROR_VALUE));
            free(box);
        }
}

/* A grid of many boxes: complete, and with one box moved over its neighbour. */
static void many_boxes(void)
{
    const int32_t across = CHECK_MANY(300, 20);
    const int32_t count = across * across;
    hs_box *boxes = malloc((size_t)count * sizeof *boxes);
    hs_cover cover;
    if (!CHECK(boxes != NULL)) return;
    for (int32_t i = 0; i < count; i++)
        boxes[i] = (hs_box){.worker = i % P,
                            .row = i / across * 3,
                            .col = i % across * 2,
                            .height = 3,
                            .width = 2,
                            .length = 5};
    CHECK(hs_boxes_cover(3 * across, 2 * across, 5, HS_TRIANGLE_NONE, 1, count, boxes, NULL) ==
          HS_OK);
    boxes[across + 1].col--;
    CHECK(hs_boxes_cover(3 * across, 2 * across, 5, HS_TRIANGLE_NONE, 1, count, boxes, &cover) ==
          HS_ERROR_VALUE);
    CHECK(cover.fault == HS_OVERLAP && cover.row == 3 && cover.col == 1 && cover.first == across &&
          cover.second == across + 1);
    free(boxes);
}

int main(void)
{
    by_hand();
    any_numbers();
    random_tilings();
    many_boxes();
    return check_result();
}
