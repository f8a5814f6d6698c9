/* Full columns in workspace that the caller owns, so that a stack of partitions allocates once. */
#ifndef HS_PARTITION_COLUMNS_H
#define HS_PARTITION_COLUMNS_H

#include <stddef.h>

#include "hetsched.h"

/* Returns the bytes of workspace of hs__columns, for p workers. */
size_t hs__columns_space(int32_t p);

/* Does the work of hs_partition_columns; the pointers must not be NULL. total and size are as in
 * hs__partition_total, which has found the areas and the aspect ratio valid. */
hs_status hs__columns(int32_t p, const double *areas, double total, int32_t size, double aspect,
                      int32_t min_columns, int32_t max_columns, int32_t max_rows, const int *cancel,
                      void *space, int32_t *order, int32_t *column_start, int32_t *columns,
                      double *cost);

/* Computes the rectangles [4 p] of full columns in the unit square: row, col, height, width of each
 * worker, all 0 for a worker without area; total is hs__partition_total, space [4 p] is workspace. The
 * same doubles as hs_floorplan_rects, without its tree. */
void hs__column_rects(int32_t p, const double *areas, double total, const int32_t *order,
                      const int32_t *column_start, int32_t columns, double *space, double *rects);

#endif
