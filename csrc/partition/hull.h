/* Costs of a set of workers in a box of the set's area: across * width + down * height. A floorplan of the set is a point
 * (across, down); which floorplan is best for some box is told by the lower left convex hull of the points. */
#ifndef HS_PARTITION_HULL_H
#define HS_PARTITION_HULL_H

#include "hetsched.h"

typedef struct {
    double across, down;
    uint64_t how; /* what the caller needs to find the floorplan again */
} hs__point;

/* A chain of points: across rises, down falls, the slopes rise. */
typedef struct {
    hs__point *points;
    int32_t count, capacity;
} hs__hull;

void hs__hull_free(hs__hull *hull);

/* Room for count points; the old content stays. */
hs_status hs__hull_reserve(hs__hull *hull, int32_t count);

/* Lowers the hull by a chain of points, sorted by across: each is taken if it lies below. */
hs_status hs__hull_lower(hs__hull *hull, hs__hull *spare, const hs__point *chain, int32_t count);

/* Drops the points at both ends that are not best in any box of this area that fits into a width x height one. */
void hs__hull_trim(hs__hull *hull, double area, double width, double height);

/* The chain of the sums of two hulls, their points scaled: across * xa + across * xb, down * ya + down * yb. All get `how`.
 * chain [a_count + b_count - 1]; returns its length. */
int32_t hs__hull_sum(const hs__point *a, int32_t a_count, double xa, double ya, const hs__point *b, int32_t b_count, double xb,
                     double yb, uint64_t how, hs__point *chain);

/* The point of least cost in a box. */
const hs__point *hs__hull_best(const hs__point *points, int32_t count, double width, double height);

/* Points of many sets in one growing block: set i has points[start[i]] .. points[start[i] + count[i] - 1]. */
typedef struct {
    hs__point *points;
    int64_t used, capacity;
    int64_t *start;
    int32_t *count;
} hs__hull_table;

hs_status hs__hull_table_init(hs__hull_table *table, int64_t sets);
void hs__hull_table_free(hs__hull_table *table);
hs_status hs__hull_table_add(hs__hull_table *table, int64_t set, const hs__hull *hull);

#endif
