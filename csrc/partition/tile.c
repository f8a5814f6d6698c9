#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hetsched.h"

hs_status hs_tile_columns(int64_t m, int64_t n, int32_t p, const double *areas, const int32_t *order,
                          const int32_t *column_start, int32_t columns, int64_t *rects)
{
    const int64_t most = INT64_C(1) << 53;
    if (m < 1 || n < 1 || m > most || n > most || p < 1 || columns < 1 || columns > p) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++)
        if (!(areas[i] >= 0.0) || isinf(areas[i])) return HS_ERROR_VALUE;
    double *time = malloc((size_t)p * sizeof *time);
    int64_t *counts = malloc(2 * (size_t)p * sizeof *counts);
    hs_status status = time && counts ? HS_OK : HS_ERROR_MEMORY;
    int64_t *widths = counts, *heights = counts + p;
    double total = 0.0; /* cycle-times relative to it: 1 / area could overflow */
    for (int32_t q = 0; q < column_start[columns]; q++) total += areas[order[q]];

    for (int32_t j = 0; !status && j < columns; j++) {
        double weight = 0.0;
        for (int32_t q = column_start[j]; q < column_start[j + 1]; q++) weight += areas[order[q]];
        time[j] = total / weight;
    }
    if (!status) status = hs_distribute(n, columns, time, widths, NULL);
    if (!status) memset(rects, 0, 4 * (size_t)p * sizeof *rects);

    int64_t col = 0;
    for (int32_t j = 0; !status && j < columns; j++) {
        int32_t first = column_start[j], members = column_start[j + 1] - first;
        if (widths[j] == 0) continue;
        for (int32_t q = 0; q < members; q++) time[q] = total / areas[order[first + q]];
        status = hs_distribute(m, members, time, heights, NULL);
        if (status) break;
        int64_t row = 0;
        for (int32_t q = 0; q < members; q++) {
            if (heights[q] == 0) continue;
            int64_t *rect = rects + 4 * (size_t)order[first + q];
            rect[0] = row, rect[1] = col, rect[2] = heights[q], rect[3] = widths[j];
            row += heights[q];
        }
        col += widths[j];
    }
    free(time), free(counts);
    return status;
}
