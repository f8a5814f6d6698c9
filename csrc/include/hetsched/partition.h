/* Partitions of a matrix (2-D) and of the iterations of a product (3-D). */
#ifndef HETSCHED_PARTITION_H
#define HETSCHED_PARTITION_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* ---- partition (2-D) ------------------------------------------------------------------------- */

/* A partition is a floorplan: who lies where, in postfix notation. An entry >= 0 is a worker; an
 * operator takes the results of the entries before it:
 *   HS_BESIDE  two, the first to the left of the second (a vertical cut)
 *   HS_ABOVE   two, the first above the second (a horizontal cut)
 *   HS_WHEEL   five: top left, right, bottom, left, and the centre that they turn around (no
 *              straight cut divides it)
 *   HS_AROUND  two, the second a worker: the first in the lower right corner of its zone, an L. The
 *              corner has the sides that are best for what is in it.
 * p workers need at most 2 p - 1 entries; a worker of area zero does not occur. Areas and the box
 * determine the lengths.
 *
 * Common parameters
 *   areas    [p] > 0 or 0, at least one positive, their sum finite; scaled to sum 1, where one that
 *            is not 0 is at least 2^-1074
 *   weights  [p] > 0, finite: the cost of a unit of half perimeter of each worker; NULL for 1
 *   aspect   width / height of the box, which has area 1; 1 for the unit square
 *   plan     [2 p] out: the floorplan;  length  out: its entries
 *   cost     out: sum over the workers of weight * (height + width), of the projections for a zone
 *            that is an L */
enum { HS_BESIDE = -1, HS_ABOVE = -2, HS_WHEEL = -3, HS_AROUND = -4 };

/* The zones of a floorplan. The cost of a set in a box of fixed area is linear in the box's sides
 * whatever its floorplan, as stretching keeps all ratios of areas.
 *   workers  [2 p] out: the worker of each piece, in the order of the floorplan; an L has two
 *            pieces, one after the other
 *   rects    [8 p] out: row, col, height, width of each piece in a box of height 1 and width 1
 *            (stretched from `aspect`)
 *   pieces   out: their number
 *   cost     out or NULL
 * HS_ERROR_VALUE if plan is no floorplan of the workers with positive area. Time O(p). */
HS_API hs_status hs_floorplan_rects(int32_t p, const double *areas, const double *weights,
                                    double aspect, const int32_t *plan, int32_t length,
                                    int32_t *workers, double *rects, int32_t *pieces, double *cost);

/* Integer zones for an m x n matrix: an exact tiling. The cuts are chosen on the tree, each among
 * the few integers around its place, so that the largest (cells given / cells asked for) is
 * smallest, then the sum of (given - asked)^2 / asked. Workers may get nothing.
 *   m, n   rows and columns, 1 .. 2^53
 *   rects  [8 p] out: row, col, height, width of each piece, in cells
 * In one call at most 256 boxes are tried for each operator (neighbouring cuts of one kind are
 * one). */
HS_API hs_status hs_floorplan_tile(int64_t m, int64_t n, int32_t p, const double *areas,
                                   const int32_t *plan, int32_t length, const int *cancel,
                                   int32_t *workers, int64_t *rects, int32_t *pieces);

/* What no zones of these areas, of any form, in a box are below: every zone spans at best a square
 * or the whole shorter side; and for two and three zones what they then leave to each other
 * (docs/theory.md).
 *   areas          [p] >= 0, finite
 *   height, width  > 0 of the box; the areas fill it
 *   largest        0: of the weighted sum of half perimeters; 1: of the largest
 * Time O(p), no memory. */
HS_API hs_status hs_zones_bound(int32_t p, const double *areas, const double *weights,
                                double height, double width, int32_t largest, double *bound);

/* What any floorplan is worth: its cost, and hs_zones_bound. Time and memory O(p). */
HS_API hs_status hs_floorplan_certificate(int32_t p, const double *areas, const double *weights,
                                          double aspect, const int32_t *plan, int32_t length,
                                          hs_certificate *certificate);

/* The same for integer zones of an m x n matrix in cells, from hs_floorplan_tile or made by hand:
 * the cost is the weighted sum of the projections of each worker's cells on the rows and on the
 * columns.
 *   m, n            1 .. 2^53
 *   weights         [p] > 0, finite, or NULL for 1
 *   workers, rects  [pieces], [4 pieces]: row, col, height, width. They tile the matrix, which is
 *                   checked by the sum of their cells
 * Time O(pieces log pieces), memory O(pieces + p). */
HS_API hs_status hs_zones_certificate(int64_t m, int64_t n, int32_t p, const double *weights,
                                      int32_t pieces, const int32_t *workers, const int64_t *rects,
                                      hs_certificate *certificate);

/* Full columns of rectangles side by side; the best of that kind. 2001 paper section 3.2.1
 * (Algorithm 3). The cost of a column is Monge, so a queue replaces the O(p^2) recurrence: time O(p
 * log p), memory O(p).
 *   min_columns, max_columns, max_rows  limits on the columns (1 and p for none) and on the
 *                 rectangles in one column (p for none). If one of the first two is binding, the
 *                 fee for a column that leads to so many is found by bisection: some 50 times the
 *                 time. Equal, they give the partition with a fixed number of columns (table 2).
 *   order         [p] out: the workers with positive area, column by column from the left, top to
 *                 bottom
 *   column_start  [p + 1] out: column j holds order[column_start[j]] .. order[column_start[j + 1] -
 *                 1]
 *   columns       out: number of columns
 * HS_ERROR_INFEASIBLE if the number of positive areas is less than min_columns or more than
 * max_columns * max_rows. */
HS_API hs_status hs_partition_columns(int32_t p, const double *areas, double aspect,
                                      int32_t min_columns, int32_t max_columns, int32_t max_rows,
                                      const int *cancel, int32_t *order, int32_t *column_start,
                                      int32_t *columns, double *cost);

/* The sides of the zones of full columns in the unit square, the same doubles as those of
 * hs_floorplan_rects, without its tree.
 *   order         [size] the workers of positive area, and
 *   column_start  [columns + 1] where the columns start in it: of hs_partition_columns
 *   sides         [2 p] out: height and width of each worker's zone, 0 and 0 for one without area
 * HS_ERROR_VALUE if the columns are not of the workers with positive area, each once. Time O(p). */
HS_API hs_status hs_column_sides(int32_t p, const double *areas, const int32_t *order,
                                 const int32_t *column_start, int32_t columns, double *sides);

/* The partition rules of others, without weights. In all of them only positive areas count, a box
 * is cut across its longer side (a square by HS_BESIDE), ties go to the lowest index, and what is
 * equal up to 2^-40 is a tie.
 *
 *   HS_RULE_ROWS                 Horizontal slices in worker order. Cost size * width + height.
 *   HS_RULE_KALINOV_LASTOVETSKY  2001 paper, section 3.2.6: a fixed layout in columns, balanced
 *                                inside each column, then the columns balanced. The paper does not
 *                                say how to lay out; this reproduces its figure 17 (columns of six
 *                                and two workers, 0.5 each, cost 6): runs of workers in worker
 *                                order, cut where the area so far is nearest to j / columns of the
 *                                whole, no run empty; floor(sqrt(size * aspect)) columns, as for
 *                                equal areas that is where columns and rows cost the same.
 *   HS_RULE_RECURSIVE            Crandall and Quinn, same section: the ceil(q / 2) largest of q are
 *                                the first part.
 *   HS_RULE_NAGAMOCHI_ABE        Nagamochi and Abe 2007: the first part is the fewest largest that
 *                                reach a third of the sum. Every rectangle has a ratio of sides <=
 *                                max(that of the box, 3, 1 + max a_i / a_{i+1}) for areas a_1 >=
 *                                a_2 >= ..., and the cost is at most 1.25 times the least of all
 *                                partitions into rectangles: not 1.25 times 2 sum(sqrt(area)), as 1
 *                                and almost nothing cost 3.
 *   HS_RULE_SNRPP                Beaumont, Eyraud-Dubois, Lambert 2016; with Becker, DeFlumere,
 *                                Lastovetsky 2018. In a box whose longer side is r times its
 *                                shorter one, a worker above 1 - 1 / (3 r) of the area goes around
 *                                the others (HS_AROUND); else the smallest are the first part, so
 *                                many that they are nearest to half. For a box with r <= 3 every
 *                                rectangle has a ratio of sides <= 3 before the corners are
 *                                stretched, and cost <= sqrt(3/2) * 2 sum(sqrt(area)).
 *   HS_RULE_KADDOURA             Kaddoura, Ranka and Wang 1996, same section: HS_RULE_RECURSIVE
 *                                refined. The paper says no more; as its authors' report arranges
 *                                two to four parts in the best way, so does this: boxes of up to
 *                                four parts get the guillotine cuts with the least sum of half
 *                                perimeters.
 *
 * p at most 2^30. Time O(p log p), memory O(p), also where the floorplan is a chain. */
typedef enum hs_rule {
    HS_RULE_ROWS = 0,
    HS_RULE_KALINOV_LASTOVETSKY = 1,
    HS_RULE_RECURSIVE = 2,
    HS_RULE_NAGAMOCHI_ABE = 3,
    HS_RULE_SNRPP = 4,
    HS_RULE_KADDOURA = 5
} hs_rule;
HS_API hs_status hs_partition_rule(hs_rule rule, int32_t p, const double *areas, double aspect,
                                   const int *cancel, int32_t *plan, int32_t *length, double *cost);

/* Contiguous blocks (2001 paper, figure 18): the m x n cells in row-major order are dealt in worker
 * order, to each as many as hs_distribute gives it for the cycle-time 1 / area. It is no floorplan:
 * the run of a worker has up to three rectangles, the end of a row, whole rows, the start of a row.
 * The finer the grid, the nearer is the cost to that of HS_RULE_ROWS.
 *   m, n     rows and columns; m n at most 2^53
 *   p        at most 2^29
 *   workers  [3 p] out: the worker of each piece; rects [12 p] out: row, col, height, width of each
 *            piece, in cells
 *   pieces   out: their number. A worker without cells has none.
 * Time O(p log p). */
HS_API hs_status hs_partition_contiguous(int64_t m, int64_t n, int32_t p, const double *areas,
                                         const int *cancel, int32_t *workers, int64_t *rects,
                                         int32_t *pieces);

/* The best guillotine partition in which every sub-box holds an interval of `order` (NULL: by
 * ascending area). Per interval the lower left hull of the costs (per width, per height) is kept,
 * so every aspect ratio is exact. With `groups` every group of workers stays together in a
 * rectangle of its own, which costs group_weight * its half perimeter more (two-level schemes, 2001
 * paper section 3.2.2); then intervals are inside groups and of groups. Not worse than columns or
 * Nagamochi-Abe.
 *   order   [size] the workers of positive area, or NULL
 *   groups  [p] a number in 0 .. p - 1 of the group of each worker, or NULL; group_weight >= 0,
 *           finite; not read without groups
 *   reach   0 for all intervals, or at least 2 and then for lists that are longer not all: the list
 *           is made coarser by halves, workers of small cost first, and an interval is of at most
 *           `reach` cells of one of these lists, cut between them. No bound is known for what that
 *           loses.
 * At most 1024 positive areas or, of any number, a reach of 1024, else HS_ERROR_UNSUPPORTED; so too
 * if a hull has more than 2^14 points, as with weights that are more than 15 decades apart, or with
 * some hundred areas of a few values (seen: 400 of four). With m the least of p and reach (p, if
 * that is 0) time O(p m^2) hull merges, memory O(p m) hulls of some ten to some hundred points (24
 * bytes each), the more the longer the list. */
HS_API hs_status hs_partition_interval(int32_t p, const double *areas, const double *weights,
                                       double aspect, const int32_t *order, const int32_t *groups,
                                       double group_weight, int32_t reach, const int *cancel,
                                       int32_t *plan, int32_t *length, double *cost);

/* The best guillotine partition of all: hulls of all subsets. With `wheels` also pinwheels at every
 * level, which covers every partition into rectangles for up to 6 workers.
 * HS_ERROR_UNSUPPORTED for more than 16 positive areas (with wheels: more than 8), or hulls of more
 * than 2^14 points as above. Time O(3^p) hull merges (6^p with wheels). */
HS_API hs_status hs_partition_guillotine(int32_t p, const double *areas, const double *weights,
                                         double aspect, int32_t wheels, const int *cancel,
                                         int32_t *plan, int32_t *length, double *cost);

/* As hs_partition_interval, where the last of an interval may also own the box minus a corner for
 * the others (HS_AROUND). Every sub-box is optimised for a grid of aspect ratios, so this is a
 * heuristic. At most 256 positive areas, else HS_ERROR_UNSUPPORTED. Time O(p^3), memory O(p^2),
 * both times some 30 ratios. */
HS_API hs_status hs_partition_nonrectangular(int32_t p, const double *areas, const double *weights,
                                             double aspect, const int32_t *order, const int *cancel,
                                             int32_t *plan, int32_t *length, double *cost);

/* The smallest largest weight * (height + width) instead of the sum (PERI-MAX). For a limit on the
 * largest, the widths of a sub-box that allow it are a union of ranges; bisection on the limit.
 * With order NULL and at most 7 positive areas exact over all guillotine partitions. Else over the
 * intervals of `order` (NULL: by ascending area), where a sub-box keeps its 16 widest ranges: a
 * heuristic, O(p^3) unions per step, at most some 600 steps. At most 256 positive areas, else
 * HS_ERROR_UNSUPPORTED.
 *   cost  out: the largest */
HS_API hs_status hs_partition_largest(int32_t p, const double *areas, const double *weights,
                                      double aspect, const int32_t *order, const int *cancel,
                                      int32_t *plan, int32_t *length, double *cost);

/* Partitions of the unit square for many sets of workers, each the same as alone: full columns, or
 * the cuts of the list sorted by area (hs_partition_interval, no weights), in the rectangles of
 * hs_floorplan_rects.
 *   rows    >= 0 sets
 *   areas   [rows * p] as above
 *   rects   [rows * 4 p] out: row, col, height, width of each worker, all 0 for one without area
 *   bounds  [rows] out: hs_zones_bound of the zones' areas
 * What is returned for one of them is returned for all; the outputs are then undefined. Memory that
 * of one. */
typedef enum hs_batch_method { HS_BATCH_COLUMNS = 0, HS_BATCH_INTERVAL = 1 } hs_batch_method;
HS_API hs_status hs_partition_batch(hs_batch_method method, int64_t rows, int32_t p,
                                    const double *areas, const int *cancel, double *rects,
                                    double *bounds);

/* Local search (annealing) over guillotine floorplans: sub-boxes change places, cuts turn,
 * sub-boxes move elsewhere. The best found is never worse than what it starts from. Call again to
 * go on.
 *   evaluations  floorplans tried, >= 0
 *   temperature  at the start, falling to 0 at the end; relative to the cost, 0 for descent alone.
 *                0.001 is usual
 *   plan         [length] in and out
 *   state        in and out: of the random numbers, any value
 * HS_ERROR_UNSUPPORTED for a floorplan with HS_WHEEL or HS_AROUND. Time O(p) per evaluation. */
HS_API hs_status hs_partition_search(int32_t p, const double *areas, const double *weights,
                                     double aspect, int64_t evaluations, double temperature,
                                     const int *cancel, int32_t *plan, int32_t length,
                                     uint64_t *state, double *cost);

/* ---- partition (3-D) ------------------------------------------------------------------------- */

/* Cuboids of given volumes that tile the unit cube of iterations of C = A B: rows of C (axis 0),
 * columns of C (axis 1), the inner dimension, called depth (axis 2). Cost: the sum over the boxes
 * of faces[0] * height * length (what a worker has of A), faces[1] * length * width (of B),
 * faces[2] * height * width (of C). An m x n x k product has the weights
 * (m k, k n, m n). Tilings are made by cutting boxes in two from side to side (guillotine).
 *   volumes   [p] > 0 or 0, finite, at least one positive; a zero volume is in no tree
 *   faces     [3] >= 0, finite, one positive
 *   axes      sum of 1 (cuts across the rows), 2 (columns), 4 (depth): the cuts allowed
 *   tree      [2 p - 1] out, postfix: >= 0 a worker, or the cut -1 - axis of the two subtrees
 *             before it, first the one at the lower index
 *   length    out: nodes of the tree, 2 * (positive volumes) - 1
 *   cost      out: of the tree in the unit cube
 * After HS_ERROR_MEMORY the tree is undefined. */

/* The volumes in a given or ascending order are cut as runs: an interval DP that keeps, for each
 * run, the best tree found for every ratio of the sides on a grid, then a search by swaps, moves
 * and reversals of the order. A heuristic: no optimality is claimed. At most 64 volumes take part
 * in one DP; more are halved first, and the order is then not searched.
 *   order     [positive volumes] workers, or NULL: ascending volumes
 *   tries     orders to try beyond the first
 *   seed      of the search; the result depends on it and on nothing else
 * Time O(q^2 p D) for each order, q = min(p, 64), with D = 21 ratios for equal faces, up to 91 for
 * unequal ones; memory O(q^2 D + p). */
HS_API hs_status hs_partition_cuboids(int32_t p, const double *volumes, const double *faces,
                                      int32_t axes, const int32_t *order, int32_t tries,
                                      uint64_t seed, const int *cancel, int32_t *tree,
                                      int32_t *length, double *cost);

/* The cheapest guillotine tiling, by branch and bound over all trees: nothing is pruned that could
 * be better. For at most HS_CUBOIDS_EXACT positive volumes, else HS_ERROR_VALUE. Up to four boxes
 * tile a cube by guillotine cuts only: there it is the optimum. Exponential time; memory O(2^p). */
enum { HS_CUBOIDS_EXACT = 10 };
HS_API hs_status hs_partition_cuboids_exact(int32_t p, const double *volumes, const double *faces,
                                            int32_t axes, const int *cancel, int32_t *tree,
                                            int32_t *length, double *cost);

/* The boxes of a tree in the unit cube.
 *   boxes   [6 p] out: row, col, depth, height, width, length of each worker; all zero for one that
 *           is not in the tree
 * HS_ERROR_VALUE for what is no tree. Time and memory O(p). */
HS_API hs_status hs_cuboid_boxes(int32_t p, const double *volumes, const int32_t *tree,
                                 int32_t length, double *boxes);

/* Integer boxes of a tree in m x n x k: they tile it exactly. Each side stays within 2 of its
 * ideal; among all cuts that do, the largest actual / ideal volume is least.
 *   boxes   [6 p] out: as above; all zero for a worker that gets nothing
 * Time and memory O(p). */
HS_API hs_status hs_tile_cuboids(int64_t m, int64_t n, int64_t k, int32_t p, const double *volumes,
                                 const int32_t *tree, int32_t length, const int *cancel,
                                 int64_t *boxes);

/* What no tiling is below: every box alone in the unit cube, with its best sides. For sides m, n, k
 * in units of their own: faces as for that cube. Time and memory O(p). */
HS_API hs_status hs_cuboids_bound(int32_t p, const double *volumes, const double *faces,
                                  double *bound);

/* What any tree is worth: its cost in the unit cube, and hs_cuboids_bound; for up to four boxes,
 * whose tilings are all guillotine, the optimum. Time and memory O(p). */
HS_API hs_status hs_cuboids_certificate(int32_t p, const double *volumes, const double *faces,
                                        const int32_t *tree, int32_t length,
                                        hs_certificate *certificate);

HS_C_END
#endif
