/* Floorplans in postfix notation, read as a tree. Entry i of the plan is node i; its last operand
 * is node i - 1, and each other operand ends right before the entries of the next operand. */
#ifndef HS_PARTITION_FLOORPLAN_H
#define HS_PARTITION_FLOORPLAN_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "hetsched.h"

typedef struct {
    int32_t op;   /* a worker, or an operator */
    int32_t size; /* entries of the subtree, this one included */
    double area;  /* area of its workers, as a part of 1; and the rounding error of that sum */
    double area_low;
    /* its cost in a box of its area: across * width + down * height, plus a constant for corners */
    double across, down;
} hs__node;

/* Returns the number of operands of an operator; 0 for a worker. */
int32_t hs__operands(int32_t op);

/* Finds the children of node i, first to last; returns their number. */
int32_t hs__children(const hs__node *nodes, int32_t i, int32_t children[5]);

/* Parses a plan. nodes [length] out. HS_ERROR_VALUE unless it is a floorplan of exactly the workers
 * with positive area. */
hs_status hs__floorplan_parse(int32_t p, const double *areas, const double *weights,
                              const int32_t *plan, int32_t length, hs__node *nodes);

/* Computes the cost of hs_floorplan_rects alone. */
hs_status hs__floorplan_cost(int32_t p, const double *areas, const double *weights, double aspect,
                             const int32_t *plan, int32_t length, double *cost);

/* Computes width and height of five areas (sum 1, > 0) that form a wheel in the unit square: top
 * left, right, bottom, left, centre. Any five areas have exactly one such wheel. */
void hs__wheel_of(const double area[5], double width[5], double height[5]);

/* Returns the width of a corner at which its contents cost least, without regard to limits. */
double hs__corner_width(const hs__node *corner);

/* Computes the sides of the corners of a zone around other workers' boxes (HS_AROUND: one corner,
 * HS_CORNERS: two) in a box of these sides: those at which the contents cost least, but inside the
 * box, and two corners are strips over the whole width if they would overlap otherwise.
 *   corner  [count] the nodes of the contents
 *   sides   [count][2] out: height and width */
void hs__corner_sides(int32_t count, const hs__node *const corner[2], double height, double width,
                      double sides[2][2]);

/* Returns the sum of the areas; 0 if an area, a weight or the aspect ratio is invalid. size: number
 * of positive areas. */
double hs__partition_total(int32_t p, const double *areas, const double *weights, double aspect,
                           int32_t *size);

/* Lists the `size` workers of positive area as in `order`, which must name each of them once, else
 * HS_ERROR_VALUE; NULL: by ascending area. workers [p] out. */
hs_status hs__order_workers(int32_t p, const double *areas, const int32_t *order, int32_t size,
                            int32_t *workers);

/* Returns a positive area divided by the sum of all. A share that underflows counts as the smallest
 * double, so that no box is without area. */
static inline double hs__share(double area, double total)
{
    const double share = area / total; /* fmax would be a function call */
    return share > DBL_TRUE_MIN ? share : DBL_TRUE_MIN;
}

/* Returns the weight of a worker; NULL: all are 1. */
static inline double hs__weight_of(const double *weights, int32_t worker)
{
    return weights ? weights[worker] : 1.0;
}

/* Returns the operation that puts two parts above or beside each other. */
static inline int32_t hs__cut_op(bool above) { return above ? HS_ABOVE : HS_BESIDE; }

/* Returns a side of a part of a box: its share of the box's side if a cut divides that side. */
static inline double hs__part_side(double side, bool divided, double share)
{
    return divided ? side * share : side;
}

/* Adds x to sum + low exactly, except for the rounding of low. */
static inline void hs__add_exactly(double *sum, double *low, double x)
{
    const double old = *sum;
    const double grown = old + x;
    const double part = grown - old;
    *low += (old - (grown - part)) + (x - part);
    *sum = grown;
}

/* Returns a power of two near the largest weight. In this unit products of costs do not overflow,
 * and scaling rounds nothing. */
double hs__weight_unit(int32_t p, const double *weights);

#endif
