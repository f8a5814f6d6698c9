/* Times of zones by their height and width, and the searches of hs_partition_profile over them. */
#ifndef HS_PARTITION_PROFILE_H
#define HS_PARTITION_PROFILE_H

#include <stdbool.h>

#include "hetsched.h"

/* A table of times, as it is or transposed: that of worker i for h rows and w columns, both at
 * least 1, is times[i * worker + (h - 1) * row + (w - 1) * col]. */
typedef struct hs__zone_times {
    int32_t p;
    int64_t tall, wide; /* sides of the matrix, rows and columns */
    const double *times;
    int64_t worker, row, col; /* strides */
    const int *cancel;        /* after it is set, results are meaningless */
} hs__zone_times;

static inline double hs__zone_time(const hs__zone_times *x, int32_t i, int64_t h, int64_t w)
{
    return x->times[i * x->worker + (h - 1) * x->row + (w - 1) * x->col];
}

/* Returns the least of the times strictly between low and high that passes a monotone test; `high`
 * if none does. sample [HS__TIMES_SAMPLE] is workspace. */
enum { HS__TIMES_SAMPLE = 4096 };
double hs__least_time(const hs__zone_times *x, double low, double high, double *sample,
                      bool (*test)(void *context, double limit), void *context);

/* Searches tilings in full columns for the least makespan.
 *   bound     no tiling has a smaller makespan
 *   able      [size] the workers that fit some zone; its order changes
 *   makespan  out; infinite if no tiling was found
 *   zones     [4 p] out: row, col, height, width; all 0 without a zone
 *   all       out: whether all tilings in full columns were searched */
hs_status hs__profile_columns(const hs__zone_times *x, double bound, int32_t size, int32_t *able,
                              const hs_effort *effort, double *makespan, int64_t *zones, bool *all);

/* Returns whether the table and the workers that fit some zone are few enough for
 * hs__profile_guillotine. */
bool hs__few_splits(const hs__zone_times *x, int32_t size);

/* Finds the guillotine tiling with the least makespan, and of these one with the least sum of half
 * perimeters. Parameters as above. */
hs_status hs__profile_guillotine(const hs__zone_times *x, int32_t size, const int32_t *able,
                                 double *makespan, int64_t *zones);

#endif
