/* Hulls of all contiguous intervals of a list. Interval i..j (i < j, j excluded) is set j (j - 1) / 2 + i. */
#ifndef HS_PARTITION_INTERVAL_H
#define HS_PARTITION_INTERVAL_H

#include "hull.h"

enum { HS__MOST_INTERVALS = 1024 }; /* leaves */

typedef struct {
    int32_t size;
    double width, height;  /* of the box that all lies in */
    double *area;          /* of each interval, by its number */
    hs__hull_table hulls;
    hs__hull best, spare, chain;
} hs__intervals;

static inline int64_t hs__interval(int32_t i, int32_t j) { return (int64_t)j * (j - 1) / 2 + i; }

hs_status hs__intervals_init(hs__intervals *t, int32_t size, double aspect);
void hs__intervals_free(hs__intervals *t);

/* Starts anew with the leaves' areas [size]. */
void hs__intervals_reset(hs__intervals *t, const double *areas);

/* Fills all intervals of more than one leaf; the leaves' hulls are in. */
hs_status hs__intervals_fill(hs__intervals *t, const int *cancel);

#endif
