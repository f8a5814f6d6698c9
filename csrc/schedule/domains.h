/* How C is divided among the domains of a machine: by plans, and by products that all workers of a
 * pool share. */
#ifndef HS_SCHEDULE_DOMAINS_H
#define HS_SCHEDULE_DOMAINS_H

#include "schedule/schedule.h"

/* The domains, and the places where a box may be cut.
 *   speeds     [domains] > 0
 *   row_unit   cuts between rows are at multiples of it from the first row of the part that is cut
 *   col_unit   the same for columns
 *   least      a part with fewer rows or columns than 2 least along its longer side is not cut
 *   by_rows    whether a square is cut between rows
 *   work       the work of a part of the box, proportional to the time that it takes; it must not
 *              fall as the part grows */
typedef struct hs__division {
    const double *speeds;
    int64_t row_unit, col_unit, least;
    bool by_rows;
    double (*work)(const void *context, const hs_box *box);
    const void *context;
} hs__division;

/* Returns the part of a box with lines (rows, or columns) first .. first + count - 1. */
hs_box hs__part_of_box(const hs_box *box, bool by_rows, int64_t first, int64_t count);

/* Divides a box among `count` >= 1 of the domains, recursively: half of them get half of the box,
 * in proportion to their speeds, along its longer side. Nearly square parts need little packing of A
 * and B. A part that is not cut goes to the fastest of its domains. Writes share[d] for each domain
 * d of the list that gets a part. */
void hs__divide_box(const hs__division *how, hs_box box, const int32_t *domains, int32_t count,
                    hs_box *share);

/* Writes rects [4 count]: row, col, height and width of each share; all 0 if it is empty. */
void hs__write_zones(int32_t count, const hs_box *share, int64_t *rects);

#endif
