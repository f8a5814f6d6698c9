/* From plans to boxes for hs_run_product: who does which part of C = A B, and whether boxes are
 * such a plan. */
#ifndef HETSCHED_BOXES_H
#define HETSCHED_BOXES_H

#include "hetsched/product.h"

HS_C_BEGIN

/* ---- from plans ------------------------------------------------------------------------------ */

/* All three write boxes without gaps that tile the iterations of an m x n x k product if the plan
 * does; workers that get nothing have none. Boxes that divide the depth are for a layered run.
 * Sizes and workers are checked by the run. Time O(p), no memory. */

/* Slabs of an m x n x k product from counts, as those of hs_distribute for m, n or k chunks.
 *   axis       0: rows of C are divided, 1: its columns, 2: the depth
 *   counts     [p] >= 0; their sum is m, n or k
 *   boxes      [p] out: box_count of them, by ascending worker;  box_count  out */
HS_API hs_status hs_boxes_of_counts(int32_t axis, int64_t m, int64_t n, int64_t k, int32_t p,
                                    const int64_t *counts, hs_box *boxes, int32_t *box_count);

/* The whole depth k of the zones of hs_floorplan_tile or hs_partition_contiguous.
 *   workers, rects  [pieces], [4 pieces] as they come from there
 *   boxes           [pieces] out */
HS_API hs_status hs_boxes_of_zones(int64_t k, int32_t pieces, const int32_t *workers,
                                   const int64_t *rects, hs_box *boxes);

/* The cuboids of hs_tile_cuboids.
 *   cuboids    [6 p] as they come from there
 *   boxes      [p] out: box_count of them, by ascending worker;  box_count  out */
HS_API hs_status hs_boxes_of_cuboids(int32_t p, const int64_t *cuboids, hs_box *boxes,
                                     int32_t *box_count);

/* ---- whether they tile ----------------------------------------------------------------------- */

/* Why boxes do not tile the iterations of a product.
 *   HS_COVERED      they do
 *   HS_OUTSIDE      box `first` has a negative size or reaches out of m x n x k; then no element is
 *                   named
 *   HS_UNCOVERED    the element is in no box
 *   HS_OVERLAP      it is in both boxes, and maybe in more
 *   HS_TWO_WORKERS  one of both boxes has the element, the other the one before it along the depth,
 *                   and they have two workers */
typedef enum hs_cover_fault {
    HS_COVERED = 0,
    HS_OUTSIDE = 1,
    HS_UNCOVERED = 2,
    HS_OVERLAP = 3,
    HS_TWO_WORKERS = 4
} hs_cover_fault;

/* The first fault of boxes.
 *   fault            hs_cover_fault
 *   row, col, depth  the first element with it, by depth, then by row and column, of a triangle's
 *                    elements those of its mirror image counted as well; else 0
 *   first, second    indices of boxes, -1 where there is none */
typedef struct hs_cover {
    int32_t fault;
    int64_t row, col, depth;
    int32_t first, second;
} hs_cover;

/* Whether boxes tile the iterations of an m x n x k product: every element (row, col, depth) is in
 * one of them. With k = 0 it is every (row, col) of C, which is to be multiplied by beta. Boxes
 * without height, width or length are ignored, where k is not 0.
 *   m, n, k     >= 0
 *   triangle    hs_triangle: only the elements of that triangle of C count, of HS_TRIANGLE_MIRRORED
 *               the lower ones; else than HS_TRIANGLE_NONE m and n are equal
 *   one_worker  non-zero: all boxes with one element of C also have one worker, as hs_run_product
 *               asks for where they add up in C
 *   boxes       [count]
 *   cover       out, or NULL; set where the other arguments are in their ranges
 * HS_ERROR_VALUE if they do not. Exact for all sizes. Time O(count log count), memory 32 bytes for
 * each box, and 128 for each that begins or ends at the depth where most do, of triangles 640. */
HS_API hs_status hs_boxes_cover(int64_t m, int64_t n, int64_t k, int32_t triangle,
                                int32_t one_worker, int32_t count, const hs_box *boxes,
                                hs_cover *cover);

HS_C_END
#endif
