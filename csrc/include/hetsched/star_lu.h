/* LU on a star: a master factors panels and updates columns, and workers with limited memory do the
 * rest. */
#ifndef HETSCHED_STAR_LU_H
#define HETSCHED_STAR_LU_H

#include "hetsched/star.h"

HS_C_BEGIN

/* LU with partial pivoting of n x n blocks at a master (right-looking, with look-ahead; the 2008
 * paper, section 10, leaves LU to a companion report). In each step the master factors a panel of
 * `width` block columns, h blocks high, and solves for the block rows beside it. These take
 * (h width^2 - width^3 / 3) / 2 and width^2 (h - width) / 2 block updates. In the rest, C -= A B,
 * the master updates the first `own` block columns, and the workers the others: a product on the
 * star, with r = h - width, s = r - own and t = width. Both begin when the rows are solved. The
 * master then factors the next panel: after its own columns, which include that panel, or if it
 * has none, when the product has come back. It solves for the rows beside the next panel when the
 * panel is factored and the product has come back. The last panel may be narrower, and nothing
 * follows it.
 *   n            blocks of a side, 1 .. HS_STAR_LU_MOST
 *   width        of the panels, 1 .. n; 0: hs_star_lu_best chooses it
 *   cycle_times, link_costs  [p] as in hs_star
 *   memory       [p] as in hs_star, or HS_STAR_UNLIMITED: the worker can hold any chunk
 *   master_time  time of the master per block update, > 0, at most HS_STAR_MOST; 0: that of the
 *                fastest worker */
enum { HS_STAR_LU_MOST = 1 << 20, HS_STAR_LU_STEPS = 2048, HS_STAR_UNLIMITED = -1 };
typedef struct hs_star_lu {
    int64_t n, width;
    int32_t p;
    const double *cycle_times, *link_costs;
    const int64_t *memory;
    double master_time;
} hs_star_lu;

/* When the master works on a panel: it factors the panel, solves for the rows beside it, and then
 * updates its own columns of the rest.
 *   start, factored  begin and end of the factorisation
 *   solving, end     begin and end of the solve
 *   updated          end of its own updates; `end` if it has none */
typedef struct hs_star_lu_panel {
    double start, factored, solving, end, updated;
} hs_star_lu_panel;

/* Plans LU: the master's columns and the product of each step, and the width of the panels unless
 * it is given: the best of all widths up to 16 and of some larger ones, of at most HS_STAR_LU_STEPS
 * steps. Widths and numbers of columns are compared with products by the method if that is
 * HS_STAR_ORROML or a later rule. Otherwise the best three widths with demand-driven products, and
 * n / 2, n / 3, n / 4 and n, are compared with short searches, and the best of them is planned in
 * full.
 *   options      of the products; not HS_STAR_EXACT. messages: of all searches, up to four for each
 *                product, and as many for the comparison of widths; each has at least 10^5
 *   effort       product k has the seed plus k. With a time limit, half of it is for the comparison
 *   width        out
 *   own          [most] out, most = (n - 1) / width if the width is given, else the smaller of
 *                n - 1 and HS_STAR_LU_STEPS - 1: columns of step k that the master updates. There
 *                are (n - 1) / *width steps
 *   products     [most] out; all zero for a step without product, where own[k] is the whole rest
 *   parts        [most * p] out: p for each product
 *   makespan     out
 *   certificate  out; see hs_star_lu_certificate
 * own, products and parts are undefined after an error. HS_ERROR_UNSUPPORTED if a product has more
 * than HS_STAR_MESSAGES messages. */
HS_API hs_status hs_star_lu_best(const hs_star_lu *lu, const hs_star_options *options,
                                 const hs_effort *effort, const int *cancel, int64_t *width,
                                 int64_t *own, hs_star_decision *products, hs_star_part *parts,
                                 double *makespan, hs_certificate *certificate);

/* The star of a product, for hs_star_write.
 *   width   of the panels, 1 .. n
 *   step    0 .. (n - 1) / width - 1
 *   own     columns that the master updates: 0, or from the width of the next panel to all but one
 *           of the h - width that are left
 *   memory  [p] out: the star's
 *   star    out: it points to the arrays of lu, and to `memory` */
HS_API hs_status hs_star_lu_product(const hs_star_lu *lu, int64_t width, int64_t step, int64_t own,
                                    int64_t *memory, hs_star *star);

/* When the master works on each panel.
 *   width     of the panels, 1 .. n
 *   own       [(n - 1) / width] as above, or all columns that are left
 *   products  [(n - 1) / width] makespan of each product, 0 where there is none
 *   panels    [(n - 1) / width + 1] out; the end of the last one is the makespan */
HS_API hs_status hs_star_lu_panels(const hs_star_lu *lu, int64_t width, const int64_t *own,
                                   const double *products, hs_star_lu_panel *panels);

/* Certificate of a plan that takes `makespan`. The bound holds for LU as above with panels of any
 * width, any columns of the master and any products (docs/theory.md). It is the least, over all
 * widths, of the master's parts and of a bound of each step from work and traffic. Time
 * O(n log n log p). */
HS_API hs_status hs_star_lu_certificate(const hs_star_lu *lu, double makespan, const int *cancel,
                                        hs_certificate *certificate);

HS_C_END
#endif
