/* Costs of a set of workers in a box of the set's area: across * width + down * height. A floorplan
 * of the set is a point (across, down); which floorplan is best for some box is told by the lower
 * left convex hull of the points. */
#ifndef HS_PARTITION_HULL_H
#define HS_PARTITION_HULL_H

#include "hetsched.h"

typedef struct {
    double across, down;
    uint64_t how; /* what the caller needs to find the floorplan again */
} hs__point;

/* Points of a hull at most. Where one worker's cost is more than what rounding leaves of the
 * others', its rectangles, which all have the same area, are a hull: exponentially many. */
enum { HS__HULL_MOST = 1 << 14 };

/* A chain of points: across rises, down falls, the slopes rise. */
typedef struct {
    hs__point *points;
    int32_t count, capacity;
} hs__hull;

/* Room for count points; the old content stays. */
hs_status hs__hull_reserve(hs__hull *hull, int32_t count);

/* The widest box, width x low, and the narrowest one, narrow x height, of a set's area that fit
 * into the box that all lies in. */
typedef struct {
    double width, low, narrow, height;
} hs__boxes;

static inline hs__boxes hs__boxes_of(double area, double width, double height)
{
    return (hs__boxes){
        .width = width, .low = area / width, .narrow = area / height, .height = height};
}

/* Lowers the hull by a chain of points, sorted by across: each is taken if it lies below and is
 * best in some box. Points at both ends that are best in none are dropped. HS_ERROR_UNSUPPORTED if
 * the hull has more than HS__HULL_MOST points then. */
hs_status hs__hull_lower(hs__hull *hull, hs__hull *spare, const hs__point *chain, int32_t count,
                         const hs__boxes *boxes);

/* The chain of the sums of two hulls, their points scaled: across * xa + across * xb, down * ya +
 * down * yb. All get `how`. chain [a_count + b_count - 1]; returns its length. */
int32_t hs__hull_sum(const hs__point *a, int32_t a_count, double xa, double ya, const hs__point *b,
                     int32_t b_count, double xb, double yb, uint64_t how, hs__point *chain);

/* Points of many sets in one growing block: set i has points[start[i]] .. points[start[i] +
 * count[i] - 1]. */
typedef struct {
    hs__point *points;
    int64_t used, capacity;
    int64_t *start;
    int32_t *count;
} hs__hull_table;

/* The hulls of many sets in a box of area 1, found one after another; of the one at hand, and work
 * space. */
typedef struct {
    double width, height; /* of the box */
    double *area;         /* [sets] */
    hs__hull_table table;
    hs__boxes boxes;
    hs__hull best, spare, chain, other;
} hs__hulls;

/* hs__hulls_free also after a failure. */
hs_status hs__hulls_init(hs__hulls *h, int64_t sets, double aspect);
void hs__hulls_free(hs__hulls *h);

/* The points of a set that is finished; the one of least cost in a box; the cost of all in the
 * whole box. */
static inline const hs__point *hs__hulls_points(const hs__hulls *h, int64_t set)
{
    return h->table.points + h->table.start[set];
}
const hs__point *hs__hulls_best(const hs__hulls *h, int64_t set, double width, double height);
double hs__hulls_cost(const hs__hulls *h, int64_t set);

/* A set that is a hull already, with all points raised by `more` and without their `how`; or one
 * worker. */
hs_status hs__hulls_copy(hs__hulls *h, int64_t set, const hs__point *points, int32_t count,
                         double more);
hs_status hs__hulls_leaf(hs__hulls *h, int64_t set, double weight, uint64_t how);

/* A set, whose area is known, begins; is lowered by cuts into two sets, `how` for one beside the
 * other and how + 1 for one above it, which in a square wait for hs__hulls_turn: it turns over all
 * that has been cut since the beginning; and ends. */
void hs__hulls_begin(hs__hulls *h, int64_t set);
hs_status hs__hulls_cut(hs__hulls *h, int64_t set, int64_t first, int64_t second, uint64_t how);
hs_status hs__hulls_turn(hs__hulls *h);
hs_status hs__hulls_end(hs__hulls *h, int64_t set);

#endif
