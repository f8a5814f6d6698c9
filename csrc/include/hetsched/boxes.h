/* From plans to boxes for hs_run_product: which worker computes which part of C = A B, and a check
 * whether boxes are a valid plan. */
#ifndef HETSCHED_BOXES_H
#define HETSCHED_BOXES_H

#include "hetsched/product.h"

HS_C_BEGIN

/* ---- from plans ------------------------------------------------------------------------------ */

/* The boxes that these three functions write tile the iterations of an m x n x k product without
 * gaps if the plan does; workers that get nothing have no box. Boxes that divide the depth are for
 * a layered run. hs_run_product checks sizes and workers. Time O(p), no memory. */

/* Makes slabs of an m x n x k product from counts, such as the counts of hs_distribute for m, n or
 * k chunks.
 *   axis       0: the rows of C are divided, 1: its columns, 2: the depth
 *   counts     [p] >= 0; their sum is m, n or k
 *   boxes      [p] out: box_count of them, by ascending worker
 *   box_count  out */
HS_API hs_status hs_boxes_of_counts(int32_t axis, int64_t m, int64_t n, int64_t k, int32_t p,
                                    const int64_t *counts, hs_box *boxes, int32_t *box_count);

/* Extends the zones of hs_floorplan_tile or hs_partition_contiguous over the whole depth k.
 *   workers  [pieces] as returned by these functions
 *   rects    [4 pieces] as returned by these functions
 *   boxes    [pieces] out */
HS_API hs_status hs_boxes_of_zones(int64_t k, int32_t pieces, const int32_t *workers,
                                   const int64_t *rects, hs_box *boxes);

/* Converts the cuboids of hs_tile_cuboids.
 *   cuboids    [6 p] as returned by hs_tile_cuboids
 *   boxes      [p] out: box_count of them, by ascending worker
 *   box_count  out */
HS_API hs_status hs_boxes_of_cuboids(int32_t p, const int64_t *cuboids, hs_box *boxes,
                                     int32_t *box_count);

/* ---- whether they tile ----------------------------------------------------------------------- */

/* Why boxes do not tile the iterations of a product.
 *   HS_COVERED      they do tile them
 *   HS_OUTSIDE      box `first` has a negative size or reaches out of m x n x k; then no element is
 *                   named
 *   HS_UNCOVERED    the element is in no box
 *   HS_OVERLAP      the element is in both boxes, and maybe in more
 *   HS_TWO_WORKERS  one of the two boxes has the element, the other one the element before it along
 *                   the depth, and they belong to different workers */
typedef enum hs_cover_fault {
    HS_COVERED = 0,
    HS_OUTSIDE = 1,
    HS_UNCOVERED = 2,
    HS_OVERLAP = 3,
    HS_TWO_WORKERS = 4
} hs_cover_fault;

/* The first fault of boxes.
 *   fault            hs_cover_fault
 *   row, col, depth  the first element with the fault, by depth, then by row and column; else 0. In
 *                    a triangle, an element takes its own place in this order or the place of its
 *                    mirror image, whichever is earlier
 *   first, second    indices of boxes, -1 where there is none */
typedef struct hs_cover {
    int32_t fault;
    int64_t row, col, depth;
    int32_t first, second;
} hs_cover;

/* Checks whether boxes tile the iterations of an m x n x k product, i.e. whether every element
 * (row, col, depth) is in exactly one box. With k = 0 the elements are all (row, col) of C, which
 * are to be multiplied by beta. Unless k is 0, boxes without height, width or length are ignored.
 *   m, n, k     >= 0
 *   triangle    hs_triangle: only the elements of that triangle of C count, the lower ones for
 *               HS_TRIANGLE_MIRRORED; m and n must be equal unless it is HS_TRIANGLE_NONE
 *   one_worker  non-zero: all boxes that contain an element of C must also belong to one worker,
 *               which hs_run_product requires where boxes add up in C
 *   boxes       [count]
 *   cover       out, or NULL; set if the other arguments are in their ranges
 * HS_ERROR_VALUE if the boxes do not tile them. Exact for all sizes. Time O(count log count).
 * Memory: 32 bytes for each box, and 128 (triangles: 640) for each box that begins or ends at the
 * depth where most boxes do. */
HS_API hs_status hs_boxes_cover(int64_t m, int64_t n, int64_t k, int32_t triangle,
                                int32_t one_worker, int32_t count, const hs_box *boxes,
                                hs_cover *cover);

HS_C_END
#endif
