/* The planner of a product: what it holds while it tries methods (planner.c), and what the methods
 * do. A method cuts C into zones (cut_zones.c), which are then placed and written as boxes
 * (plan_zones.c), or it writes boxes itself (plan_boxes.c). Each ends with hs__keep_faster. */
#ifndef HS_SCHEDULE_PLANNER_H
#define HS_SCHEDULE_PLANNER_H

#include "schedule/placement.h"
#include "schedule/schedule.h"

/* A plan that the planner compares with its other plans: the arrays of hs_matmul_found, and their
 * sizes. */
typedef struct hs__matmul_candidate {
    int32_t method;
    int64_t box_count, box_room;
    hs_box *boxes;
    double *sent;
    int64_t message_count; /* -1: the data come from the master */
    int64_t message_room;
    hs_message *messages;
    int32_t layered;
    hs_layer_sum sum;
    double makespan;
    const char *scope;
} hs__matmul_candidate;

/* What is planned, the zones of C that a method has chosen, and the candidates.
 *   product  without links if they take no time
 *   block    side of a block
 *   blocks   blocks of m, n and k
 *   step     depth of a step in elements; 0: one step
 *   steps    their number
 *   areas    [p] relative speeds with sum 1
 *   pieces   number of zones, at most 3 p
 *   workers  [3 p] worker of each zone
 *   rects    [12 p] row, col, height, width of each zone
 *   placed   the zones where they are placed: workers [3 p], rects [12 p]
 *   nodes    [p] the node of each worker: from the options, else as the links show it
 *   groups   [p] the same
 *   sharing  the groups of workers that share data from other groups; or NULL
 *   now      the candidate in work
 *   best     the fastest candidate so far; its method is 0 if there is none
 *   counts, times, speeds, order, first  [p], first [p + 1]: workspace */
typedef struct hs__matmul_planner {
    hs_matmul product;
    hs_matmul_options options;
    int64_t block, blocks[3], step, steps;
    const int *cancel;
    hs_matmul_found *found;
    void *memory;
    double *areas, *times, *speeds;
    int64_t *rects, *groups, *counts;
    int32_t pieces, *workers, *order, *first, *nodes;
    hs__placement placed;
    const int64_t *sharing;
    hs__matmul_candidate now, best;
} hs__matmul_planner;

/* Takes all memory with a known size. Set options, cancel and found before; call
 * hs__close_planner in any case. */
hs_status hs__open_planner(hs__matmul_planner *s, const hs_matmul *product);
void hs__close_planner(hs__matmul_planner *s);

/* Begins a candidate without messages and layers, with room for so many boxes. */
hs_status hs__begin_candidate(hs__matmul_candidate *x, int32_t method, const char *scope,
                              int64_t room);

/* Makes room for so many messages. */
hs_status hs__reserve_messages(hs__matmul_candidate *x, int64_t count);

/* Refuses a candidate with more boxes than there is room for; the caller is told how many. */
hs_status hs__require_room(hs__matmul_planner *s, int64_t room);

hs_status hs__schedule_candidate(const hs__matmul_planner *s, const hs__matmul_candidate *x,
                                 hs_schedule *schedule);

/* Schedules the candidate in work, and keeps the faster one of it and the best so far; of equal
 * ones the earlier. A makespan that overflows counts as infinite. */
hs_status hs__keep_faster(hs__matmul_planner *s);

/* Divide C into zones of blocks.
 *   hs__cut_slices     block rows (axis 0) or block columns (axis 1), by speed
 *   hs__cut_partition  by hs_partition_best; of `given`, the sizes and areas are set here
 *   hs__cut_by_method  by a method that gives each worker a block. weighted: half perimeters are
 *                      weighted by the costs of the links, if all links have a cost
 *   hs__cut_domains    a zone for each domain of the options, and in it slices for its workers */
hs_status hs__cut_slices(hs__matmul_planner *s, int axis);
hs_status hs__cut_partition(hs__matmul_planner *s, hs_partition given);
hs_status hs__cut_by_method(hs__matmul_planner *s, int32_t method, bool weighted);
hs_status hs__cut_domains(hs__matmul_planner *s);

/* Counts the zones in elements instead of blocks. */
void hs__scale_zones(hs__matmul_planner *s);

/* Plans the zones, counted in elements. Workers of a group share the data that comes from other
 * workers; groups may be NULL. */
hs_status hs__plan_zones(hs__matmul_planner *s, int32_t method, const int64_t *groups);

/* Plans a zone for each node, and in it zones of the node's workers; data that several workers of a
 * node need comes from another node once, where that is faster. The half perimeter of a node's zone
 * costs more than that of a worker: several costs are tried. */
hs_status hs__plan_nodes(hs__matmul_planner *s);

hs_status hs__plan_cannon(hs__matmul_planner *s);

/* Plans layers of the inner dimension, or cuboids. */
hs_status hs__plan_layers(hs__matmul_planner *s, int32_t method);

#endif
