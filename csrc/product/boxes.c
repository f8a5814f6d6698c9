/* Converts plans (counts, zones, cuboids) to the boxes that hs_run_product runs. */
#include "hetsched.h"

hs_status hs_boxes_of_counts(int32_t axis, int64_t m, int64_t n, int64_t k, int32_t p,
                             const int64_t *counts, hs_box *boxes, int32_t *box_count)
{
    if (axis < 0 || axis > 2 || m < 0 || n < 0 || k < 0 || p < 1 || !counts || !boxes || !box_count)
        return HS_ERROR_VALUE;
    const int64_t extents[3] = {m, n, k};
    int64_t left = extents[axis];
    for (int32_t i = 0; i < p; i++) {
        if (counts[i] < 0 || counts[i] > left) return HS_ERROR_VALUE;
        left -= counts[i];
    }
    if (left) return HS_ERROR_VALUE;
    int64_t from[3] = {0};
    int64_t size[3] = {m, n, k};
    *box_count = 0;
    for (int32_t i = 0; i < p; i++) {
        if (counts[i] == 0) continue;
        size[axis] = counts[i];
        boxes[(*box_count)++] = (hs_box){.worker = i,
                                         .row = from[0],
                                         .col = from[1],
                                         .depth = from[2],
                                         .height = size[0],
                                         .width = size[1],
                                         .length = size[2]};
        from[axis] += counts[i];
    }
    return HS_OK;
}

hs_status hs_boxes_of_zones(int64_t k, int32_t pieces, const int32_t *workers, const int64_t *rects,
                            hs_box *boxes)
{
    if (k < 0 || pieces < 0 || (pieces && (!workers || !rects || !boxes))) return HS_ERROR_VALUE;
    for (int32_t q = 0; q < pieces; q++) {
        const int64_t *r = rects + 4 * (size_t)q;
        boxes[q] = (hs_box){.worker = workers[q],
                            .row = r[0],
                            .col = r[1],
                            .height = r[2],
                            .width = r[3],
                            .length = k};
    }
    return HS_OK;
}

hs_status hs_boxes_of_cuboids(int32_t p, const int64_t *cuboids, hs_box *boxes, int32_t *box_count)
{
    if (p < 1 || !cuboids || !boxes || !box_count) return HS_ERROR_VALUE;
    *box_count = 0;
    for (int32_t i = 0; i < p; i++) {
        const int64_t *c = cuboids + 6 * (size_t)i;
        if (c[3] == 0 || c[4] == 0 || c[5] == 0) continue;
        boxes[(*box_count)++] = (hs_box){.worker = i,
                                         .row = c[0],
                                         .col = c[1],
                                         .depth = c[2],
                                         .height = c[3],
                                         .width = c[4],
                                         .length = c[5]};
    }
    return HS_OK;
}
