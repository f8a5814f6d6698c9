/* Floorplans in postfix notation, read as a tree. Entry i of the plan is node i; its last operand
 * is node i - 1, the one before it starts where that one's entries end. */
#ifndef HS_PARTITION_FLOORPLAN_H
#define HS_PARTITION_FLOORPLAN_H

#include <float.h>
#include <math.h>

#include "hetsched.h"

typedef struct {
    int32_t op;   /* a worker, or an operator */
    int32_t size; /* entries of the subtree, this one included */
    double area;  /* of the workers in it, all together 1; with what rounding took from it */
    double area_low;
    /* its cost in a box of its area: across * width + down * height, and a constant for corners */
    double across, down;
} hs__node;

/* Operands of an operator; 0 for a worker. */
int32_t hs__operands(int32_t op);

/* Children of node i, first to last; returns their number. */
int32_t hs__children(const hs__node *nodes, int32_t i, int32_t children[5]);

/* nodes [length] out. HS_ERROR_VALUE if it is no floorplan of exactly the workers with positive
 * area. */
hs_status hs__floorplan_parse(int32_t p, const double *areas, const double *weights,
                              const int32_t *plan, int32_t length, hs__node *nodes);

/* The cost of hs_floorplan_rects alone. */
hs_status hs__floorplan_cost(int32_t p, const double *areas, const double *weights, double aspect,
                             const int32_t *plan, int32_t length, double *cost);

/* Width and height of five areas (sum 1, > 0) that form a wheel in the unit square: top left,
 * right, bottom, left, centre. Any five areas have exactly one such wheel. */
void hs__wheel_of(const double area[5], double width[5], double height[5]);

/* The width of the least cost for the contents of a corner, if nothing limits it. */
double hs__corner_width(const hs__node *corner);

/* Sum of the areas; 0 if one of them, the weights or the aspect ratio is invalid. size: positive
 * areas. */
double hs__partition_total(int32_t p, const double *areas, const double *weights, double aspect,
                           int32_t *size);

/* The `size` workers of positive area, as `order` names each of them once, else HS_ERROR_VALUE;
 * NULL: by ascending area. workers [p] out. */
hs_status hs__order_workers(int32_t p, const double *areas, const int32_t *order, int32_t size,
                            int32_t *workers);

/* A positive area over the sum of all. What is too small to be seen beside the others counts as the
 * smallest double: no box is without area. */
static inline double hs__share(double area, double total)
{
    const double share = area / total; /* fmax is a call */
    return share > DBL_TRUE_MIN ? share : DBL_TRUE_MIN;
}

/* sum + low grows by x exactly, but for the rounding of low. */
static inline void hs__add_exactly(double *sum, double *low, double x)
{
    const double old = *sum, grown = old + x, part = grown - old;
    *low += (old - (grown - part)) + (x - part);
    *sum = grown;
}

/* A power of two near the largest weight. In this unit products of costs do not overflow, and
 * nothing is rounded. */
double hs__weight_unit(int32_t p, const double *weights);

#endif
