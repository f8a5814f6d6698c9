/* What zones measure: spans and areas. */
#ifndef HS_PARTITION_ZONES_H
#define HS_PARTITION_ZONES_H

#include "hetsched.h"

/* Computes the rows and columns that each owner's pieces cover, each once.
 *   owner  [pieces] in 0 .. owners - 1, in any order
 *   rects  [4 pieces] row, col, height, width
 *   space  [3 pieces] workspace, and
 *   marks  [owners + 1]
 *   spans  [2 owners] out
 * O(pieces + owners) if no owner has several pieces. */
void hs__zone_spans(int32_t owners, int32_t pieces, const int32_t *owner, const double *rects,
                    double *space, int32_t *marks, double *spans);

/* Computes the sum of height * width over each owner's pieces. areas [owners] out. */
void hs__zone_areas(int32_t owners, int32_t pieces, const int32_t *owner, const double *rects,
                    double *areas);

#endif
