/* Costs of a set of workers in a box of the set's area: across * width + down * height. A floorplan
 * of the set is a point (across, down). The lower left convex hull of the points says which
 * floorplan is best in which box. */
#ifndef HS_PARTITION_HULL_H
#define HS_PARTITION_HULL_H

#include "hetsched.h"

typedef struct {
    double across, down;
    uint64_t how; /* what the caller needs to recover the floorplan */
} hs__point;

/* Largest number of points of a hull. If the cost of one worker is so large that rounding hides the
 * costs of the other workers, all its rectangles, which have the same area, are on the hull:
 * exponentially many. */
enum { HS__HULL_MOST = 1 << 14 };

/* A chain of points: across increases, down decreases, the slopes increase. */
typedef struct {
    hs__point *points;
    int32_t count;
    int64_t capacity;
} hs__hull;

/* Makes room for count points and keeps the content. */
hs_status hs__hull_reserve(hs__hull *hull, int32_t count);

/* The widest box, width x low, and the narrowest one, narrow x height, of a set's area that fit
 * into the enclosing box. */
typedef struct {
    double width, low, narrow, height;
} hs__boxes;

static inline hs__boxes hs__boxes_of(double area, double width, double height)
{
    return (hs__boxes){
        .width = width, .low = area / width, .narrow = area / height, .height = height};
}

/* Lowers the hull by a chain of points, sorted by across: a point is added if it lies below the
 * hull and is best in some box. Points at both ends that are best in no box are dropped.
 * HS_ERROR_UNSUPPORTED if the hull then has more than HS__HULL_MOST points. */
hs_status hs__hull_lower(hs__hull *hull, hs__hull *spare, const hs__point *chain, int32_t count,
                         const hs__boxes *boxes);

/* Computes the chain of the sums of two hulls with scaled points: across * xa + across * xb, down *
 * ya + down * yb. All points get `how`. chain [a_count + b_count - 1]; returns its length. */
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

/* The hulls of many sets in a box of area 1, found one after another; then the current hull and
 * workspace. */
typedef struct {
    double width, height; /* of the box */
    double *area;         /* [sets] */
    hs__hull_table table;
    hs__boxes boxes;
    hs__hull best, spare, chain, other;
} hs__hulls;

/* Call hs__hulls_free also after a failure. */
hs_status hs__hulls_init(hs__hulls *h, int64_t sets, double aspect);
void hs__hulls_free(hs__hulls *h);

/* Returns the points of a finished set; the next functions return the point of least cost in a box,
 * and the cost of a set in the whole box. */
static inline const hs__point *hs__hulls_points(const hs__hulls *h, int64_t set)
{
    return h->table.points + h->table.start[set];
}
const hs__point *hs__hulls_best(const hs__hulls *h, int64_t set, double width, double height);
double hs__hulls_cost(const hs__hulls *h, int64_t set);

/* Adds a set with a known hull, with all points raised by `more` and without their `how`; the next
 * function adds a set of one worker. */
hs_status hs__hulls_copy(hs__hulls *h, int64_t set, const hs__point *points, int32_t count,
                         double more);
hs_status hs__hulls_leaf(hs__hulls *h, int64_t set, double weight, uint64_t how);

/* Computes the hull of a set of known area: call begin, then cut for each way to cut the set in
 * two, then turn, then end. `how` marks a point with the parts beside each other, how + 1 with one
 * above the other. If the box is a square, hs__hulls_cut adds only the former, and hs__hulls_turn
 * adds all points turned over. */
void hs__hulls_begin(hs__hulls *h, int64_t set);
hs_status hs__hulls_cut(hs__hulls *h, int64_t set, int64_t first, int64_t second, uint64_t how);
hs_status hs__hulls_turn(hs__hulls *h);
hs_status hs__hulls_end(hs__hulls *h, int64_t set);

#endif
