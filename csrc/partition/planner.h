/* A partition being planned, in workspace that a stack of partitions uses again for each row. */
#ifndef HS_PARTITION_PLANNER_H
#define HS_PARTITION_PLANNER_H

#include <stdbool.h>

#include "hetsched.h"

/* The floorplan tried last, and its zones.
 *   problem        that of one set of workers
 *   total, size    sum and number of its positive areas
 *   aspect         width / height of the matrix, 1 for the unit square
 *   most           most pieces of a worker
 *   writes_plan    whether the floorplan of full columns in the unit square is wanted
 *   method, scope  that found the plan; the scope of its certificate
 *   length         of plan, 0 if the zones do not come from a floorplan
 *   columns        number of full columns in order and start; 0 for other plans
 *   workers, rects [pieces] pieces by ascending worker; in a matrix in cells
 *   spans, areas   [2 p] rows and columns, and [p] areas of the workers' zones */
typedef struct {
    hs_partition problem;
    const hs_effort *effort;
    const int *cancel;
    double total, aspect;
    int32_t size, most;
    bool writes_plan;

    int32_t method;
    const char *scope;
    int32_t *plan, length;
    int32_t *order, *start, columns;
    int32_t *workers, pieces;
    double *rects, *spans, *areas, cost;

    /* workspace: [4 most p] numbers of 8 bytes, [most p], [2 p + 1], [2 p] */
    void *raw;
    int32_t *raw_workers, *marks;
    double *numbers;
    void *memory;
} hs__planner;

static inline bool hs__is_matrix(const hs_partition *x) { return x->m > 0; }

/* Checks all of a problem but its areas and rectangles, and allocates. O(p). Call hs__planner_close
 * also after a failure. */
hs_status hs__planner_open(hs__planner *s, const hs_partition *problem, const hs_effort *effort,
                           const int *cancel);
void hs__planner_close(hs__planner *s);

/* Plans the problem for these areas and, for HS_PARTITION_GIVEN, rectangles; fills the
 * certificate. */
hs_status hs__planner_solve(hs__planner *s, const double *areas, const double *rects,
                            hs_certificate *certificate);

/* Finds the plan of any method with a floorplan, without zones; fills plan, method, scope and
 * columns. HS_ERROR_UNSUPPORTED if the method takes no such problem. */
hs_status hs__planner_find(hs__planner *s, int32_t method);

/* Does the same for the methods but HS_PARTITION_BEST and HS_PARTITION_NONRECTANGULAR. */
hs_status hs__planner_follow(hs__planner *s, int32_t method);

/* Find the plan and its zones: runs of cells; full columns in the unit square. */
hs_status hs__planner_contiguous(hs__planner *s);
hs_status hs__planner_square_columns(hs__planner *s);

/* Writes the floorplan of the full columns in order and start. */
void hs__planner_write_columns(hs__planner *s);

/* Reads order, start and columns from s->plan; no columns if it is not one of full columns. */
void hs__planner_read_columns(hs__planner *s);

/* Computes areas, spans and cost of the pieces. */
void hs__planner_measure(hs__planner *s);

/* Computes the zones of s->plan, and their cost. */
hs_status hs__planner_lay_out(hs__planner *s);

/* Returns the largest ratio of cells given to cells asked for in a matrix; 1 in the unit square. */
double hs__planner_load(const hs__planner *s);

#endif
