/* Partitions of a matrix (2-D) and of the iterations of a product (3-D). */
#ifndef HETSCHED_PARTITION_H
#define HETSCHED_PARTITION_H

#include "hetsched/certificate.h"

HS_C_BEGIN

/* ---- partition (2-D) ------------------------------------------------------------------------- */

/* A partition is a floorplan: the relative positions of the workers' zones, in postfix notation. An
 * entry >= 0 is a worker; an operator takes the results of the entries before it:
 *   HS_BESIDE  two, the first to the left of the second (a vertical cut)
 *   HS_ABOVE   two, the first above the second (a horizontal cut)
 *   HS_WHEEL   five: top left, right, bottom, left, and the centre that they turn around (no
 *              straight cut divides it)
 *   HS_AROUND  two, the second a worker: the first lies in the lower right corner of the worker's
 *              zone, which is an L. The corner has the best sides for its contents
 *   HS_CORNERS three, the third a worker: the first lies in the upper left corner of the worker's
 *              zone, the second in the lower right corner, each with the best sides for its
 *              contents. If the two would overlap, they are strips over the whole width
 * p workers need at most 2 p - 1 entries; a worker of area zero does not occur. Areas and the box
 * determine the lengths.
 *
 * Common parameters
 *   areas    [p] >= 0, at least one positive, with a finite sum; scaled to sum 1, where a positive
 *            area counts as at least 2^-1074
 *   weights  [p] > 0, finite: cost per unit of each worker's half perimeter; NULL for 1
 *   aspect   width / height of the box, which has area 1; 1 for the unit square
 *   plan     [2 p] out: the floorplan
 *   length   out: number of entries of plan
 *   cost     out: sum over the workers of weight * (height + width); for a zone that is not a
 *            rectangle, of its projections */
enum { HS_BESIDE = -1, HS_ABOVE = -2, HS_WHEEL = -3, HS_AROUND = -4, HS_CORNERS = -5 };

/* Computes the zones of a floorplan. The cost of a set of workers in a box of fixed area is linear
 * in the sides of the box, for any floorplan, as stretching keeps all ratios of areas.
 *   workers  [2 p] out: the worker of each piece, in the order of the floorplan; a zone around
 *            one corner has two consecutive pieces, around two corners three
 *   rects    [8 p] out: row, col, height, width of each piece in a box of height 1 and width 1
 *            (stretched from `aspect`)
 *   pieces   out: number of pieces
 *   cost     out or NULL
 * HS_ERROR_VALUE if plan is not a floorplan of the workers with positive area. Time O(p). */
HS_API hs_status hs_floorplan_rects(int32_t p, const double *areas, const double *weights,
                                    double aspect, const int32_t *plan, int32_t length,
                                    int32_t *workers, double *rects, int32_t *pieces, double *cost);

/* Computes integer zones of an m x n matrix that tile it exactly. For each cut, the few integers
 * around its ideal place are tried along the tree, so that first the largest (cells given / cells
 * asked for) is smallest, then the sum of (given - asked)^2 / asked. Workers may get nothing.
 *   m, n     rows and columns, 1 .. 2^53
 *   workers  [2 p] out: the worker of each piece
 *   rects    [8 p] out: row, col, height, width of each piece, in cells
 *   pieces   out: number of pieces
 * A call tries at most 256 boxes for each operator (adjacent cuts of one kind are one operator). */
HS_API hs_status hs_floorplan_tile(int64_t m, int64_t n, int32_t p, const double *areas,
                                   const int32_t *plan, int32_t length, const int *cancel,
                                   int32_t *workers, int64_t *rects, int32_t *pieces);

/* Computes a lower bound on the cost of all zones of these areas, of any shape, in a box. Each zone
 * is at best a square, or it spans the whole shorter side. For the sum of two or three zones, and the
 * largest of two, the bound is the least over all sets of zones that rows and columns can meet
 * (docs/theory.md). In a square with equal weights, the best partition into two or three zones
 * reaches it.
 *   areas          [p] >= 0, finite
 *   height, width  > 0, of the box; the areas fill it
 *   largest        0: bound on the weighted sum of half perimeters; 1: on the largest weighted half
 *                  perimeter
 * Time O(p), no memory. */
HS_API hs_status hs_zones_bound(int32_t p, const double *areas, const double *weights,
                                double height, double width, int32_t largest, double *bound);

/* Certificate of any floorplan: its cost, with hs_zones_bound as the bound. Time and memory
 * O(p). */
HS_API hs_status hs_floorplan_certificate(int32_t p, const double *areas, const double *weights,
                                          double aspect, const int32_t *plan, int32_t length,
                                          hs_certificate *certificate);

/* Certificate of integer zones of an m x n matrix, from hs_floorplan_tile or made by hand. The
 * cost, in cells, is the weighted sum of the projections of each worker's cells on the rows and on
 * the columns.
 *   m, n     1 .. 2^53
 *   weights  [p] > 0, finite, or NULL for 1
 *   workers  [pieces] the worker of each piece
 *   rects    [4 pieces] row, col, height, width. The pieces tile the matrix; only the sum of their
 *            cells is checked
 * Time O(pieces log pieces), memory O(pieces + p). */
HS_API hs_status hs_zones_certificate(int64_t m, int64_t n, int32_t p, const double *weights,
                                      int32_t pieces, const int32_t *workers, const int64_t *rects,
                                      hs_certificate *certificate);

/* Finds the best partition into full columns of rectangles side by side. 2001 paper section 3.2.1
 * (Algorithm 3). The cost of a column is Monge, so a queue replaces the O(p^2) recurrence: time O(p
 * log p), memory O(p).
 *   min_columns   least number of columns, 1 for no limit
 *   max_columns   largest number of columns, p for no limit. If one of these two limits is binding,
 *                 bisection finds the fee per column that leads to this number: about 50 times the
 *                 time. If they are equal, they give the partition with a fixed number of columns
 *                 (table 2)
 *   max_rows      largest number of rectangles in one column, p for no limit
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

/* Partition rules from the literature, without weights. In all of them, only positive areas count,
 * a box is cut across its longer side (a square by HS_BESIDE), ties go to the lowest index, and
 * values that are equal up to 2^-40 are a tie.
 *
 *   HS_RULE_ROWS           Horizontal slices in worker order. Cost size * width + height.
 *   HS_RULE_KALINOV_LASTOVETSKY  2001 paper, section 3.2.6: a fixed layout in columns, balanced
 *                                inside each column, then the columns balanced. The paper does not
 *                                say how to find the layout; this rule reproduces its figure 17
 *                                (columns of six and two workers, 0.5 each, cost 6): runs of
 *                                workers in worker order, cut where the area so far is nearest to j
 *                                / columns of the whole, no run empty; floor(sqrt(size * aspect))
 *                                columns, since for equal areas columns and rows then cost the
 *                                same.
 *   HS_RULE_RECURSIVE      Crandall and Quinn, same section: the ceil(q / 2) largest of q are the
 *                          first part.
 *   HS_RULE_NAGAMOCHI_ABE  Nagamochi and Abe 2007: the first part is the fewest largest areas that
 *                          reach a third of the sum. Every rectangle has a ratio of sides <=
 *                          max(ratio of the box, 3, 1 + max a_i / a_{i+1}) for areas a_1 >= a_2 >=
 *                          ..., and the cost is at most 1.25 times the least cost of all partitions
 *                          into rectangles. It is not at most 1.25 times 2 sum(sqrt(area)): areas
 *                          of 1 and almost nothing cost 3.
 *   HS_RULE_SNRPP          Beaumont, Eyraud-Dubois, Lambert 2016; with Becker, DeFlumere,
 *                          Lastovetsky 2018. In a box with a longer side of r times the shorter
 *                          one, a worker with more than 1 - 1 / (3 r) of the area goes around the
 *                          other workers (HS_AROUND). Else the first part is the smallest areas, in
 *                          the number that brings their sum nearest to half. For a box with r <= 3
 *                          every rectangle has a ratio of sides <= 3 before the corners are
 *                          stretched, and cost <= sqrt(3/2) * 2 sum(sqrt(area)).
 *   HS_RULE_KADDOURA       Kaddoura, Ranka and Wang 1996, same section: HS_RULE_RECURSIVE refined.
 *                          The paper says no more. The authors' report arranges two to four parts
 *                          in the best way, and so does this rule: boxes of up to four parts get
 *                          the guillotine cuts with the least sum of half perimeters.
 *   HS_RULE_MOHAMMADI_BEHROOZI  Mohammadi and Behroozi 2023 (arXiv 2308.16899), from a summary: the
 *                          two smallest areas are joined until two are left, which are the parts.
 *                          Each has a third of the box, or the larger one is a single area. The
 *                          abstract states a cost of at most 1.203 times the least cost of all
 *                          partitions into rectangles.
 *
 * p at most 2^30. Time O(p log p), memory O(p), also if the floorplan is a chain. */
typedef enum hs_rule {
    HS_RULE_ROWS = 0,
    HS_RULE_KALINOV_LASTOVETSKY = 1,
    HS_RULE_RECURSIVE = 2,
    HS_RULE_NAGAMOCHI_ABE = 3,
    HS_RULE_SNRPP = 4,
    HS_RULE_KADDOURA = 5,
    HS_RULE_MOHAMMADI_BEHROOZI = 6
} hs_rule;
HS_API hs_status hs_partition_rule(hs_rule rule, int32_t p, const double *areas, double aspect,
                                   const int *cancel, int32_t *plan, int32_t *length, double *cost);

/* Deals contiguous blocks (2001 paper, figure 18): the m x n cells in row-major order, in worker
 * order, to each worker as many as hs_distribute gives it for the cycle-time 1 / area. The result
 * is not a floorplan: the run of a worker has up to three rectangles, the end of a row, whole rows,
 * the start of a row. The finer the grid, the nearer the cost is to the cost of HS_RULE_ROWS.
 *   m, n     rows and columns; m n at most 2^53
 *   p        at most 2^29
 *   workers  [3 p] out: the worker of each piece
 *   rects    [12 p] out: row, col, height, width of each piece, in cells
 *   pieces   out: number of pieces. A worker without cells has none
 * Time O(p log p). */
HS_API hs_status hs_partition_contiguous(int64_t m, int64_t n, int32_t p, const double *areas,
                                         const int *cancel, int32_t *workers, int64_t *rects,
                                         int32_t *pieces);

/* Finds the best guillotine partition in which every sub-box holds an interval of `order` (NULL: by
 * ascending area). For each interval, the lower left hull of the costs (per width, per height) is
 * kept, so every aspect ratio is exact. The result is not worse than columns or Nagamochi-Abe.
 *
 * With `groups`, every group of workers stays together in a rectangle of its own, which adds
 * group_weight * its half perimeter to the cost (two-level schemes, 2001 paper section 3.2.2);
 * intervals are then formed within groups, and of whole groups.
 *   order         [size] the workers of positive area, or NULL
 *   groups        [p] the group of each worker, in 0 .. p - 1, or NULL
 *   group_weight  >= 0, finite; not read without groups
 *   reach         0: all intervals. Else at least 2: in a list longer than `reach`, only some
 *                 intervals. The list is then made coarser by halves, workers of small cost first,
 *                 and an interval has at most `reach` cells of one of these lists, and is cut
 *                 between them. No bound on the loss is known
 * At most HS_INTERVAL_MOST positive areas, or, for any number of them, a reach of at most as many,
 * else HS_ERROR_UNSUPPORTED. HS_ERROR_UNSUPPORTED also if a hull has more than 2^14 points, as with
 * weights that are more than 15 decades apart, or with some hundred areas of only a few values
 * (seen: 400 of four). With m the smaller of p and reach (p, if reach is 0): time O(p m^2) hull
 * merges, memory O(p m) hulls of some ten to some hundred points (24 bytes each), the more the
 * longer the list. */
enum { HS_INTERVAL_MOST = 1024 };
HS_API hs_status hs_partition_interval(int32_t p, const double *areas, const double *weights,
                                       double aspect, const int32_t *order, const int32_t *groups,
                                       double group_weight, int32_t reach, const int *cancel,
                                       int32_t *plan, int32_t *length, double *cost);

/* Finds the best of all guillotine partitions, with hulls of all subsets. With `wheels` also
 * pinwheels at every level, which covers every partition into rectangles for up to 6 workers.
 * HS_ERROR_UNSUPPORTED for more than HS_GUILLOTINE_MOST positive areas (with wheels:
 * HS_WHEELS_MOST), or hulls of more than 2^14 points as above. Time O(3^p) hull merges (6^p with
 * wheels). */
enum { HS_GUILLOTINE_MOST = 16, HS_WHEELS_MOST = 8 };
HS_API hs_status hs_partition_guillotine(int32_t p, const double *areas, const double *weights,
                                         double aspect, int32_t wheels, const int *cancel,
                                         int32_t *plan, int32_t *length, double *cost);

/* Partitions like hs_partition_interval, but the last worker of an interval may also own the box
 * minus one corner or two opposite corners for the other workers (HS_AROUND, HS_CORNERS). For three
 * workers, one fast and two slow, the zone around two squares is optimal among all shapes
 * (DeFlumere, Lastovetsky, Euro-Par Workshops 2014). Every sub-box is optimised for a grid of aspect
 * ratios only, so this is a heuristic. At most HS_AROUND_MOST positive areas, else
 * HS_ERROR_UNSUPPORTED. Time O(p^3), memory O(p^2), both times some 30 ratios. */
enum { HS_AROUND_MOST = 256 };
HS_API hs_status hs_partition_nonrectangular(int32_t p, const double *areas, const double *weights,
                                             double aspect, const int32_t *order, const int *cancel,
                                             int32_t *plan, int32_t *length, double *cost);

/* Minimises the largest weight * (height + width) instead of the sum (PERI-MAX). For a limit on the
 * largest, the feasible widths of a sub-box are a union of ranges; the limit is found by bisection.
 * With order NULL and at most HS_LARGEST_EXACT positive areas, exact over all guillotine
 * partitions. Else over the intervals of `order` (NULL: by ascending area), where a sub-box keeps
 * its 16 widest ranges: a heuristic, O(p^3) unions per step, at most some 600 steps. At most
 * HS_LARGEST_MOST positive areas, else HS_ERROR_UNSUPPORTED.
 *   cost  out: the largest weighted half perimeter */
enum { HS_LARGEST_MOST = 256, HS_LARGEST_EXACT = 7 };
HS_API hs_status hs_partition_largest(int32_t p, const double *areas, const double *weights,
                                      double aspect, const int32_t *order, const int *cancel,
                                      int32_t *plan, int32_t *length, double *cost);

/* Improves a floorplan by local search (annealing) over guillotine floorplans: sub-boxes are
 * exchanged, cuts turn, sub-boxes move elsewhere. The best floorplan found is never worse than the
 * first one. Call again to continue.
 *   evaluations  floorplans to try, >= 0
 *   temperature  at the start, relative to the cost; it falls to 0 at the end. 0 for descent alone;
 *                0.001 is usual
 *   plan         [length] in and out
 *   state        in and out: state of the random numbers, any value
 * HS_ERROR_UNSUPPORTED for a floorplan with other operators than HS_BESIDE and HS_ABOVE. Time O(p)
 * per evaluation. */
HS_API hs_status hs_partition_search(int32_t p, const double *areas, const double *weights,
                                     double aspect, int64_t evaluations, double temperature,
                                     const int *cancel, int32_t *plan, int32_t length,
                                     uint64_t *state, double *cost);

/* ---- the best partition of a problem --------------------------------------------------------- */

/* Methods of hs_partition_best. All but BEST and CONTIGUOUS call the function that is named.
 *   BEST            the best of the methods below that take a short time for so many workers, then
 *                   a search. Of equal costs the method that proves more is taken. With groups,
 *                   INTERVAL
 *   COLUMNS         hs_partition_columns
 *   INTERVAL        hs_partition_interval; for the largest, hs_partition_largest of the sorted list
 *   GUILLOTINE      hs_partition_guillotine, with pinwheels for up to HS_WHEELS_MOST workers; for
 *                   the largest, hs_partition_largest
 *   NONRECTANGULAR  hs_partition_nonrectangular of the sorted list, and of all lists of up to 5
 *                   workers, and HS_RULE_SNRPP
 *   CONTIGUOUS      hs_partition_contiguous
 *   ROWS .. MOHAMMADI_BEHROOZI  hs_partition_rule
 *   SEARCH          only as the method that won: hs_partition_search improved the best plan
 *   GIVEN           the caller's floorplan or rectangles, to be certified */
typedef enum hs_partition_method {
    HS_PARTITION_BEST = 0,
    HS_PARTITION_COLUMNS = 1,
    HS_PARTITION_INTERVAL = 2,
    HS_PARTITION_GUILLOTINE = 3,
    HS_PARTITION_NONRECTANGULAR = 4,
    HS_PARTITION_CONTIGUOUS = 5,
    HS_PARTITION_ROWS = 6,
    HS_PARTITION_KALINOV_LASTOVETSKY = 7,
    HS_PARTITION_RECURSIVE = 8,
    HS_PARTITION_NAGAMOCHI_ABE = 9,
    HS_PARTITION_SNRPP = 10,
    HS_PARTITION_KADDOURA = 11,
    HS_PARTITION_MOHAMMADI_BEHROOZI = 12,
    HS_PARTITION_SEARCH = 13,
    HS_PARTITION_GIVEN = 14
} hs_partition_method;

/* Most workers for which BEST tries a method, because it then takes about a second. Above
 * HS_BEST_INTERVAL, BEST tries some of the intervals, see `reach`; above HS_BEST_NONRECTANGULAR,
 * one zone around full columns. */
enum { HS_BEST_GUILLOTINE = 12, HS_BEST_INTERVAL = 128, HS_BEST_NONRECTANGULAR = 64 };

/* A partition to be planned. Zero is the default of every field but p and areas.
 *   p           1 .. 2^29 workers
 *   areas       [p] >= 0, at least one positive, with a finite sum
 *   method      hs_partition_method
 *   m, n        rows and columns of a matrix, 1 .. 2^53, which gets integer zones; 0 and 0 for the
 *               unit square
 *   largest     0: minimise the sum of weight * (height + width); 1: minimise the largest term.
 *               Only BEST, INTERVAL and GUILLOTINE minimise it, the other methods report it
 *   weights     [p] > 0, finite; NULL for 1
 *   groups      [p] the group of each worker, in 0 .. p - 1: the workers of a group lie in one
 *               rectangle, whose half perimeter costs group_cost. NULL for no groups. For BEST,
 *               INTERVAL and GIVEN, with the sum
 *   group_cost  >= 0, finite; not read without groups
 *   columns     number of columns for COLUMNS; 0 for the best number
 *   rects       [4 each p] for GIVEN: row, col, height, width of `each` rectangles of every worker,
 *               in a matrix whole numbers. Rectangles without height or width are left out. The
 *               others must tile the matrix, or the unit square up to 1e-9 of its side, and belong
 *               to workers of positive area
 *   each        >= 1 rectangles of each worker in rects
 *   plan        [length] for GIVEN without rects: a floorplan
 *   length      entries of plan */
typedef struct hs_partition {
    int32_t p;
    const double *areas;
    int32_t method;
    int64_t m, n;
    int32_t largest;
    const double *weights;
    const int32_t *groups;
    double group_cost;
    int32_t columns;
    const double *rects;
    int32_t each;
    const int32_t *plan;
    int32_t length;
} hs_partition;

/* A partition found, in arrays of the caller; NULL where one is not wanted. After an error the
 * arrays are undefined.
 *   method        out: the method that found it, never BEST
 *   plan          [2 p] out: the floorplan
 *   length        out: its entries; 0 for CONTIGUOUS and for rectangles that were given
 *   order         [p] out: the workers column by column from the left, top to bottom, without those
 *                 that get nothing
 *   column_start  [p + 1] out: column j holds order[column_start[j]] .. order[column_start[j + 1] -
 *                 1]
 *   columns       out: number of columns; 0 if the method that won does not make full columns. A
 *                 floorplan that was given has columns if all its zones lie in full columns
 *   workers       [most p] out: the worker of each piece, ascending; most is 3, or problem->each if
 *                 this is larger
 *   rects         [4 most p] out: row, col, height, width of each piece, in a matrix in cells
 *   cells         [4 most p] out: the same as integers; only written for a matrix
 *   pieces        out: number of pieces
 *   areas         [p] out: area of each worker's zone, in a matrix in cells */
typedef struct hs_partition_plan {
    int32_t method;
    int32_t *plan, length;
    int32_t *order, *column_start, columns;
    int32_t *workers;
    double *rects;
    int64_t *cells;
    int32_t pieces;
    double *areas;
} hs_partition_plan;

/* Plans a partition.
 *   effort       of the search of BEST, or NULL; see hs_effort. Untimed, BEST searches only for
 *                more than HS_BEST_GUILLOTINE workers, with at most 60000 floorplans per worker and
 *                2 * 10^8 / workers
 *   plan         in and out, see above
 *   certificate  out: the cost, with a bound from hs_zones_bound for the areas of the zones plus
 *                group_cost * 2 sum(sqrt(area of the group)). A method's scope is in it for the
 *                unit square; with a given number of columns it is "partitions into this number of
 *                full columns". Rectangles that were given, are optimal, but are not of the areas
 *                asked for (in a matrix, within a cell), have the scope "zones of the areas that
 *                they have" and are not `optimal`
 *
 * In a matrix, the load of a worker is (cells given / cells asked for). Of the candidates of a
 * method, only those with a largest load within 5 % of the least one count; of these, the first
 * with the least cost up to 1e-12 is taken.
 *
 * HS_ERROR_VALUE also if the cost overflows, or if zones that were given do not tile.
 * HS_ERROR_INFEASIBLE for more workers of positive area than cells, or a number of columns that
 * does not fit. HS_ERROR_UNSUPPORTED if there are too many workers for the method, or too many
 * forms of a zone to keep, see the methods' functions; BEST without groups then goes on without the
 * method.
 * Time and memory are as for the methods' functions. */
HS_API hs_status hs_partition_best(const hs_partition *problem, const hs_effort *effort,
                                   const int *cancel, hs_partition_plan *plan,
                                   hs_certificate *certificate);

/* Plans many sets of workers with the same options, each with the same result as alone.
 *   rows     >= 0 sets
 *   problem  of one set, but areas is [rows * p], and for GIVEN rects is [rows * 4 each p]
 *   rects    [rows * 4 p] out: row, col, height, width of each worker, all 0 for a worker without a
 *            zone; or NULL. HS_ERROR_VALUE if a worker has several pieces
 *   costs, bounds  [rows] out
 *   optimal  [rows] out
 *   failed   out, or NULL: the row of the set that had an error; -1 if none had
 * An error of one set is returned for the whole call; the other outputs are then undefined. Memory
 * as for one set. */
HS_API hs_status hs_partition_batch(int64_t rows, const hs_partition *problem,
                                    const hs_effort *effort, const int *cancel, double *costs,
                                    double *bounds, int32_t *optimal, double *rects,
                                    int64_t *failed);

/* Computes what the pieces of each worker span.
 *   pieces   >= 0 rectangles; workers [pieces] has the worker of each, in any order
 *   rects    [4 pieces] row, col, height, width, >= 0 and finite
 *   spans    [2 p] out, or NULL: the rows and the columns that the worker's pieces cover, each once
 *   areas    [p] out, or NULL: the sum of height * width over the worker's pieces
 * Time O(pieces log(pieces of one worker) + p), memory O(pieces + p). */
HS_API hs_status hs_zones_spans(int32_t p, int32_t pieces, const int32_t *workers,
                                const double *rects, double *spans, double *areas);

/* Finds out why rectangles do not tile a box: the first flaw, in this order.
 *   HS_FLAW_OUTSIDE  rectangle at[0] does not lie in the box
 *   HS_FLAW_OVERLAP  rectangles at[0] and at[1] have a common part
 *   HS_FLAW_AREA     the areas do not add up to that of the box
 *   m, n    > 0, sides of the box
 *   near    >= 0: lengths up to this do not count; 0 for whole numbers up to 2^53, which are exact
 *   rects   [4 pieces] row, col, height, width, >= 0 and finite, height and width > 0
 *   flaw    out: hs_flaw
 *   at      [2] out: undefined where it has no meaning
 * Time O(pieces^2) at most, O(pieces log pieces) if few rectangles begin beside each one. */
typedef enum hs_flaw {
    HS_FLAW_NONE = 0,
    HS_FLAW_OUTSIDE = 1,
    HS_FLAW_OVERLAP = 2,
    HS_FLAW_AREA = 3
} hs_flaw;
HS_API hs_status hs_zones_flaw(double m, double n, double near, int32_t pieces, const double *rects,
                               const int *cancel, int32_t *flaw, int32_t *at);

/* ---- partition by times of zones ------------------------------------------------------------- */

/* Tiles an m x n matrix with at most one zone for each worker, if a worker's time depends on the
 * height and the width of its zone in any way (functional performance models: Lastovetsky, Reddy,
 * Parallel Computing 33 (2007); in columns: Clarke, Lastovetsky, Rychkov, HeteroPar 2011). The
 * largest time is least; of the tilings found with this makespan, one with a small sum of half
 * perimeters is taken.
 *   HS_PROFILE_BEST        HS_PROFILE_GUILLOTINE if the problem is small enough for it, else the
 *                          better one of HS_PROFILE_COLUMNS and HS_PROFILE_ROWS
 *   HS_PROFILE_COLUMNS     full columns of zones that lie above each other. For an order of the
 *                          workers, where each column has neighbours in the order, the makespan is
 *                          the least. All orders of up to HS_PROFILE_ORDERS workers are tried, of
 *                          more workers the one by the area that a worker can do within the bound,
 *                          its reverse, and a search by swaps and moves
 *   HS_PROFILE_ROWS        the same, transposed
 *   HS_PROFILE_GUILLOTINE  the best guillotine tiling, with the least sum of half perimeters. For 3^w
 *                          (m n (m + n) + 64) <= 2^HS_PROFILE_SPLITS, up to two seconds, else
 *                          HS_ERROR_UNSUPPORTED; w is the number of workers with a finite time
 *
 *   m, n         1 .. 2^31 - 1, p m n <= 2^48
 *   times        [p m n] > 0; times[(i m + h - 1) n + w - 1] is the time of worker i for a zone of h
 *                rows and w columns. Infinite: such a zone does not fit. Nothing else is assumed:
 *                larger zones may take less time
 *   effort       of the search over orders, or NULL; see hs_effort
 *   found        out: the method that found the tiling, never HS_PROFILE_BEST
 *   cells        [4 p] out: row, col, height, width of each zone, all 0 for a worker without a zone
 *   certificate  out: the makespan. The bound is the least time within which the largest zones of
 *                the workers have together m n cells. If all tilings into rectangles were searched,
 *                the bound is the makespan: up to three zones always lie in full columns or in full
 *                rows, up to four have a guillotine cut
 * HS_ERROR_INFEASIBLE if the zones that fit are too small together, or no tiling was found; after
 * an error the outputs are unchanged.
 * Time O(p m n log(p m n)) for the bound. HS_PROFILE_GUILLOTINE: O(3^w m n (m + n)), memory O(2^w m
 * n). HS_PROFILE_COLUMNS: for each order and each of the O(log(p m n)) makespans tried, O(p n) runs
 * of workers that fill a column, of m / 64 word operations for each worker in the run and each run
 * of possible heights, and n log(n) / 64 word operations for each run of widths with the same
 * workers; memory O(p m n) bits and O(p n). */
typedef enum hs_profile_method {
    HS_PROFILE_BEST = 0,
    HS_PROFILE_COLUMNS = 1,
    HS_PROFILE_ROWS = 2,
    HS_PROFILE_GUILLOTINE = 3
} hs_profile_method;
enum { HS_PROFILE_ORDERS = 5, HS_PROFILE_SPLITS = 33 };
HS_API hs_status hs_partition_profile(int64_t m, int64_t n, int32_t p, const double *times,
                                      hs_profile_method method, const hs_effort *effort,
                                      const int *cancel, hs_profile_method *found, int64_t *cells,
                                      hs_certificate *certificate);

/* Certificate of given zones with such times: their makespan, with the bound of
 * hs_partition_profile.
 *   cells  [4 p] the zones tile the matrix; only the sum of their cells is checked
 * HS_ERROR_INFEASIBLE if a zone does not fit. Time O(p m n log(p m n)), no memory but a sample of
 * the times. */
HS_API hs_status hs_partition_profile_certificate(int64_t m, int64_t n, int32_t p,
                                                  const double *times, const int64_t *cells,
                                                  const int *cancel, hs_certificate *certificate);

/* Computes the times of one worker for all zones of an m x n matrix from times at some heights and
 * widths. Between these, the time is bilinear: linear in the height and in the width. So zones of
 * constant speed, and costs for each row, each column and each call, are met exactly. Between a size
 * that fits and one that does not, none fits. Outside, the speed is that of the nearest point, so
 * the time is proportional to the area.
 *   rows, cols  >= 1 heights and widths
 *   heights     [rows] > 0, finite, increasing; widths [cols] likewise
 *   points      [rows * cols] > 0; points[a cols + b] is the time at heights[a], widths[b]; infinite:
 *               does not fit
 *   m, n        1 .. 2^31 - 1
 *   times       [m n] out: times[(h - 1) n + w - 1] for h rows and w columns
 * Time O(m n (rows + cols)). */
HS_API hs_status hs_zone_times(int32_t rows, int32_t cols, const double *heights,
                               const double *widths, const double *points, int64_t m, int64_t n,
                               double *times);

/* ---- partition (3-D) ------------------------------------------------------------------------- */

/* Cuboids of given volumes that tile the unit cube of iterations of C = A B. Axis 0 is the rows of
 * C, axis 1 its columns, axis 2 the inner dimension, called depth. The cost is the sum over the
 * boxes of faces[0] * height * length (the worker's part of A), faces[1] * length * width (of B)
 * and faces[2] * height * width (of C). An m x n x k product has the weights (m k, k n, m n).
 * Tilings are made by guillotine cuts, which divide a box in two from side to side.
 *   volumes  [p] >= 0, finite, at least one positive; a worker with volume 0 is in no tree
 *   faces    [3] >= 0, finite, at least one positive
 *   axes     sum of the cuts allowed: 1 (across the rows), 2 (columns), 4 (depth)
 *   tree     [2 p - 1] out, postfix: >= 0 a worker, or the cut -1 - axis of the two subtrees before
 *            it, of which the first lies at the lower index
 *   length   out: nodes of the tree, 2 * (positive volumes) - 1
 *   cost     out: of the tree in the unit cube
 * After HS_ERROR_MEMORY the tree is undefined. */

/* Tiles the iterations of a product with one box for each worker, of given volumes and small faces.
 * A unit of A costs alpha, a unit of B costs beta and a unit of C costs gamma: 1 if partial results
 * are sent once, 0 if they cost nothing.
 *   p                   workers
 *   volumes             [p] >= 0, finite, at least one positive, with a finite sum: any multiple of
 *                       the volumes
 *   alpha, beta, gamma  >= 0, finite, at least one positive
 *   m, n, k             iterations, each 1 .. 2^53; or 0, 0, 0: the unit cube */
typedef struct hs_cuboids {
    int32_t p;
    const double *volumes;
    double alpha, beta, gamma;
    int64_t m, n, k;
} hs_cuboids;

/* How the boxes are cut.
 *   HS_CUBOIDS_BEST        hs_partition_cuboids_exact for up to HS_CUBOIDS_EXACT positive volumes; for
 *                          more, the ascending order and a search over orders, with the kinds of
 *                          cuts (along one axis, two or three) that are best for the ascending order
 *   HS_CUBOIDS_GUILLOTINE  the cheapest guillotine tiling, for up to HS_CUBOIDS_EXACT positive
 *                          volumes, else HS_ERROR_UNSUPPORTED
 *   HS_CUBOIDS_INTERVAL    the volumes in ascending order, cut as runs
 *   HS_CUBOIDS_LAYERS      cuts across the depth only, in the order of the workers
 *   HS_CUBOIDS_RECTANGLES  HS_CUBOIDS_BEST without cuts across the depth
 *   HS_CUBOIDS_SEARCH      found by the search of HS_CUBOIDS_BEST; only as a result */
typedef enum hs_cuboids_method {
    HS_CUBOIDS_BEST = 0,
    HS_CUBOIDS_GUILLOTINE = 1,
    HS_CUBOIDS_INTERVAL = 2,
    HS_CUBOIDS_LAYERS = 3,
    HS_CUBOIDS_RECTANGLES = 4,
    HS_CUBOIDS_SEARCH = 5
} hs_cuboids_method;

/* Finds the boxes by a method, with their certificate.
 *   orders       orders that the search tries; 0: at most 2000, which takes about a second at most;
 *                negative: none. Not read if the effort is timed. There is no search for more than
 *                64 positive volumes
 *   effort       of the search over orders; NULL: the default
 *   found        out: the method, HS_CUBOIDS_GUILLOTINE or HS_CUBOIDS_SEARCH for HS_CUBOIDS_BEST
 *   boxes        [6 p] out: boxes in the unit cube, as by hs_cuboid_boxes; with a shape it is not
 *                used and may be NULL
 *   cells        [6 p] out: integer boxes of a shape, as by hs_tile_cuboids; in the unit cube it is
 *                not used and may be NULL
 *   certificate  out: the exact sum of the boxes' costs, rounded once. The bound is that of
 *                hs_cuboids_bound for the volumes that the boxes have; for up to four boxes in the
 *                unit cube it is the optimum. The scope of a shape is ""
 * HS_ERROR_INFEASIBLE for more positive volumes than iterations; HS_ERROR_VALUE also if the cost
 * overflows. After an error the boxes are undefined. Time and memory of the planners below. */
HS_API hs_status hs_cuboids_best(const hs_cuboids *problem, hs_cuboids_method method,
                                 int64_t orders, const hs_effort *effort, const int *cancel,
                                 hs_cuboids_method *found, double *boxes, int64_t *cells,
                                 hs_certificate *certificate);

/* Cuts the volumes, in a given or ascending order, as runs. An interval DP keeps, for each run, the
 * best tree found for every ratio of the sides on a grid; then a search changes the order by swaps,
 * moves and reversals. A heuristic: no optimality is claimed. At most 64 volumes take part in one
 * DP; a larger number is halved first, and the order is then not searched.
 *   order  [positive volumes] workers, or NULL: ascending volumes
 *   tries  orders to try beyond the first
 *   seed   of the search; the result depends on nothing else that is random
 * Time O(q^2 p D) for each order, q = min(p, 64), with D = 21 ratios for equal faces, up to 91 for
 * unequal ones; memory O(q^2 D + p). */
HS_API hs_status hs_partition_cuboids(int32_t p, const double *volumes, const double *faces,
                                      int32_t axes, const int32_t *order, int32_t tries,
                                      uint64_t seed, const int *cancel, int32_t *tree,
                                      int32_t *length, double *cost);

/* Finds the cheapest guillotine tiling by branch and bound over all trees; only trees that cannot
 * be better are pruned. For at most HS_CUBOIDS_EXACT positive volumes, else HS_ERROR_VALUE. Up to
 * four boxes tile a cube by guillotine cuts only, so the result is then optimal among all tilings.
 * Exponential time; memory O(2^p). */
enum { HS_CUBOIDS_EXACT = 10 };
HS_API hs_status hs_partition_cuboids_exact(int32_t p, const double *volumes, const double *faces,
                                            int32_t axes, const int *cancel, int32_t *tree,
                                            int32_t *length, double *cost);

/* Computes the boxes of a tree in the unit cube.
 *   boxes  [6 p] out: row, col, depth, height, width, length of each worker; all zero for a worker
 *          that is not in the tree
 * HS_ERROR_VALUE if tree is not a tree. Time and memory O(p). */
HS_API hs_status hs_cuboid_boxes(int32_t p, const double *volumes, const int32_t *tree,
                                 int32_t length, double *boxes);

/* Computes integer boxes of a tree that tile m x n x k exactly. Each side stays within 2 of its
 * ideal; among all cuts with this property, the largest actual / ideal volume is minimised.
 *   boxes  [6 p] out: as above; all zero for a worker that gets nothing
 * Time and memory O(p). */
HS_API hs_status hs_tile_cuboids(int64_t m, int64_t n, int64_t k, int32_t p, const double *volumes,
                                 const int32_t *tree, int32_t length, const int *cancel,
                                 int64_t *boxes);

/* Computes a lower bound on the cost of all tilings: every box alone in the unit cube, with its
 * best sides. For an m x n x k product, give the weights faces of the unit cube. Time and memory
 * O(p). */
HS_API hs_status hs_cuboids_bound(int32_t p, const double *volumes, const double *faces,
                                  double *bound);

/* Certificate of any tree: its cost in the unit cube, with hs_cuboids_bound as the bound; for up to
 * four boxes, which have guillotine tilings only, the optimum is the bound. Time and memory
 * O(p). */
HS_API hs_status hs_cuboids_certificate(int32_t p, const double *volumes, const double *faces,
                                        const int32_t *tree, int32_t length,
                                        hs_certificate *certificate);

HS_C_END
#endif
