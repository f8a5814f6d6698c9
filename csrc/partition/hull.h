/* Costs of a set of workers in a box of the set's area: across * width + down * height. A floorplan of the set is a point
 * (across, down); which floorplan is best for some box is told by the lower left convex hull of the points. */
#ifndef HS_PARTITION_HULL_H
#define HS_PARTITION_HULL_H

#include "hetsched.h"

typedef struct {
    double across, down;
    uint64_t how; /* what the caller needs to find the floorplan again */
} hs__point;

/* Points of a hull at most. Where one worker's cost is more than what rounding leaves of the others', its rectangles, which all have
 * the same area, are a hull: exponentially many. */
enum { HS__HULL_MOST = 1 << 14 };

/* A chain of points: across rises, down falls, the slopes rise. */
typedef struct {
    hs__point *points;
    int32_t count, capacity;
} hs__hull;

void hs__hull_free(hs__hull *hull);

/* Room for count points; the old content stays. */
hs_status hs__hull_reserve(hs__hull *hull, int32_t count);

/* The widest box, width x low, and the narrowest one, narrow x height, of a set's area that fit into the box that all lies in. */
typedef struct {
    double width, low, narrow, height;
} hs__boxes;

static inline hs__boxes hs__boxes_of(double area, double width, double height)
{
    return (hs__boxes){.width = width, .low = area / width, .narrow = area / height, .height = height};
}

/* Lowers the hull by a chain of points, sorted by across: each is taken if it lies below and is best in some box. Points at both
 * ends that are best in none are dropped. HS_ERROR_UNSUPPORTED if the hull has more than HS__HULL_MOST points then. */
hs_status hs__hull_lower(hs__hull *hull, hs__hull *spare, const hs__point *chain, int32_t count, const hs__boxes *boxes);

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
