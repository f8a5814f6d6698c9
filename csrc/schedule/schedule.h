/* Common parts of the plans of a product. */
#ifndef HS_SCHEDULE_SCHEDULE_H
#define HS_SCHEDULE_SCHEDULE_H

#include <stddef.h>

#include "core/numbers.h"
#include "hetsched.h"

/* The unit of cycle-times and link costs: gigaflops and gigabytes. */
#define HS__GIGA 1e9

/* Returns whether all fields are in their ranges. O(p), with links O(p^2). */
bool hs__matmul_valid(const hs_matmul *product);

/* Returns whether boxes belong to workers of the product, and their numbers are in range. */
bool hs__boxes_valid(const hs_matmul *product, int64_t count, const hs_box *boxes);

/* Returns whether the times ascend and all cycle-times are valid; NULL is valid. */
bool hs__changes_valid(int32_t p, const hs_speed_changes *changes);

/* Returns when work of a worker ends that begins at `start`.
 *   cycle_times  [p] until the first change
 *   changes      or NULL
 *   time         that the work takes at the first cycle-times */
double hs__end_work(int32_t p, const double *cycle_times, const hs_speed_changes *changes,
                    int32_t worker, double start, double time);

/* Returns how many of the numbers from .. from + size - 1 are below the limit; all are >= 0. */
static inline int64_t hs__cut_off(int64_t from, int64_t size, int64_t limit)
{
    return from < limit ? hs__min(size, limit - from) : 0;
}

/* The rows (axis 0) or columns (axis 1) from .. to - 1 of a box, and their order for qsort. */
typedef struct hs__span {
    int64_t from, to;
} hs__span;

static inline hs__span hs__span_of(const hs_box *box, int axis)
{
    return axis ? (hs__span){box->col, box->col + box->width}
                : (hs__span){box->row, box->row + box->height};
}

int hs__compare_spans(const void *x, const void *y);

/* Returns s for a square number of workers p = s^2, and 0 for other numbers. */
int32_t hs__grid_side(int32_t p);

/* Multiply-adds of a box. In a triangle, only those on and below the diagonal count. */
static inline double hs__updates(const hs_matmul *product, const hs_box *box)
{
    const double height = (double)box->height;
    const double width = (double)box->width;
    const double above = product->triangle ? width * (width - 1.0) / 2.0 : 0.0;
    return (height * width - above) * (double)box->length;
}

static inline double hs__flops(const hs_matmul *product, const hs_box *box)
{
    return product->update * hs__updates(product, box);
}

/* Bytes of the parts of A and B that a box of `lines` rows and columns together needs. */
static inline double hs__operand_bytes(const hs_matmul *product, int64_t length, double lines)
{
    return (double)product->itemsize * (double)length * lines;
}

#endif
