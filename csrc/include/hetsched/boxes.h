/* From plans to boxes for hs_run_product: who does which part of C = A B. */
#ifndef HETSCHED_BOXES_H
#define HETSCHED_BOXES_H

#include "hetsched/product.h"

HS_C_BEGIN

/* All three write boxes without gaps that tile the iterations of an m x n x k product if the plan does; workers that get nothing have
 * none. Boxes that divide the depth are for a layered run. Sizes and workers are checked by the run. Time O(p), no memory. */

/* Slabs of an m x n x k product from counts, as those of hs_distribute for m, n or k chunks.
 *   axis       0: rows of C are divided, 1: its columns, 2: the depth
 *   counts     [p] >= 0; their sum is m, n or k
 *   boxes      [p] out: box_count of them, by ascending worker;  box_count  out */
HS_API hs_status hs_boxes_of_counts(int32_t axis, int64_t m, int64_t n, int64_t k, int32_t p, const int64_t *counts, hs_box *boxes,
                                    int32_t *box_count);

/* The whole depth k of the zones of hs_floorplan_tile or hs_partition_contiguous.
 *   workers, rects  [pieces], [4 pieces] as they come from there
 *   boxes           [pieces] out */
HS_API hs_status hs_boxes_of_zones(int64_t k, int32_t pieces, const int32_t *workers, const int64_t *rects, hs_box *boxes);

/* The cuboids of hs_tile_cuboids.
 *   cuboids    [6 p] as they come from there
 *   boxes      [p] out: box_count of them, by ascending worker;  box_count  out */
HS_API hs_status hs_boxes_of_cuboids(int32_t p, const int64_t *cuboids, hs_box *boxes, int32_t *box_count);

HS_C_END
#endif
