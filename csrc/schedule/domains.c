/* How C is divided among the domains of a machine (schedule/domains.h). */
#include "schedule/domains.h"

#include <math.h>
#include <stdlib.h>

hs_box hs__part_of_box(const hs_box *box, bool by_rows, int64_t first, int64_t count)
{
    hs_box part = *box;
    if (by_rows) {
        part.row += first;
        part.height = count;
    } else {
        part.col += first;
        part.width = count;
    }
    return part;
}

/* Returns the work of a box's lines first .. first + count - 1. */
static double work_of_lines(const hs__division *how, const hs_box *box, bool by_rows, int64_t first,
                            int64_t count)
{
    const hs_box part = hs__part_of_box(box, by_rows, first, count);
    return how->work(how->context, &part);
}

/* Returns the least number of lines that have at least that much work. */
static int64_t lines_for(const hs__division *how, const hs_box *box, bool by_rows, int64_t lines,
                         double work)
{
    int64_t low = 0;
    int64_t high = lines;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (work_of_lines(how, box, by_rows, 0, middle) < work) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Returns when both halves are done if the first `at` lines go to domains of that speed, and the
 * other lines to domains of speed `other`. */
static double end_of_cut(const hs__division *how, const hs_box *box, bool by_rows, int64_t lines,
                         int64_t at, double speed, double other)
{
    return fmax(work_of_lines(how, box, by_rows, 0, at) / speed,
                work_of_lines(how, box, by_rows, at, lines - at) / other);
}

/* Returns where to cut: at the multiple of the unit, or the end, at which both halves are done
 * first; of two equal ones the latter. */
static int64_t choose_cut(const hs__division *how, const hs_box *box, bool by_rows, int64_t lines,
                          double speed, double other)
{
    const int64_t unit = by_rows ? how->row_unit : how->col_unit;
    const double ideal = how->work(how->context, box) * (speed / (speed + other));
    const int64_t exact = lines_for(how, box, by_rows, lines, ideal);
    const int64_t before = hs__max(exact - 1, 0) / unit * unit;
    const int64_t after = hs__min(before + unit, lines);
    const double early = end_of_cut(how, box, by_rows, lines, before, speed, other);
    return early < end_of_cut(how, box, by_rows, lines, after, speed, other) ? before : after;
}

static int32_t fastest_of(const double *speeds, const int32_t *domains, int32_t count)
{
    int32_t best = domains[0];
    for (int32_t i = 1; i < count; i++)
        if (speeds[domains[i]] > speeds[best]) best = domains[i];
    return best;
}

void hs__divide_box(const hs__division *how, hs_box box, const int32_t *domains, int32_t count,
                    hs_box *share)
{
    const bool by_rows = box.height == box.width ? how->by_rows : box.height > box.width;
    const int64_t lines = by_rows ? box.height : box.width;
    if (count == 1 || lines < 2 * how->least) {
        share[fastest_of(how->speeds, domains, count)] = box;
        return;
    }
    /* The first half of the domains: those whose middle lies in the first half of all speeds. */
    double total = 0.0;
    double sum = how->speeds[domains[0]];
    for (int32_t i = 0; i < count; i++) total += how->speeds[domains[i]];
    int32_t first = 1;
    for (; first + 1 < count && sum + how->speeds[domains[first]] / 2 < total / 2; first++)
        sum += how->speeds[domains[first]];
    double rest = 0.0;
    for (int32_t i = first; i < count; i++) rest += how->speeds[domains[i]];
    const int64_t at = choose_cut(how, &box, by_rows, lines, sum, rest);
    hs__divide_box(how, hs__part_of_box(&box, by_rows, 0, at), domains, first, share);
    hs__divide_box(how, hs__part_of_box(&box, by_rows, at, lines - at), domains + first,
                   count - first, share);
}

/* ---- zones ----------------------------------------------------------------------------------- */

static double area_of(const void *context, const hs_box *box)
{
    (void)context;
    return (double)box->height * (double)box->width;
}

void hs__write_zones(int32_t count, const hs_box *share, int64_t *rects)
{
    for (int32_t d = 0; d < count; d++) {
        const hs_box *x = &share[d];
        const int64_t rect[4] = {x->row, x->col, x->height, x->width};
        for (int i = 0; i < 4; i++) *rects++ = x->height && x->width ? rect[i] : 0;
    }
}

static hs_status divide_zone(const hs__division *how, hs_box whole, int32_t count, int64_t *rects)
{
    hs_box *share = calloc((size_t)count, sizeof *share + sizeof(int32_t));
    if (!share) return HS_ERROR_MEMORY;
    int32_t *able = (int32_t *)(share + count);
    int32_t size = 0;
    for (int32_t d = 0; d < count; d++)
        if (how->speeds[d] > 0.0) able[size++] = d;
    if (size) hs__divide_box(how, whole, able, size, share);
    hs__write_zones(count, share, rects);
    free(share);
    return HS_OK;
}

hs_status hs_domain_zones(int64_t rows, int64_t cols, int64_t row_unit, int64_t col_unit,
                          int64_t least, int32_t count, const double *speeds, int64_t *rects)
{
    if (rows < 0 || rows > HS__SIZE_MOST || cols < 0 || cols > HS__SIZE_MOST) return HS_ERROR_VALUE;
    if (row_unit < 1 || row_unit > HS__SIZE_MOST || col_unit < 1 || col_unit > HS__SIZE_MOST)
        return HS_ERROR_VALUE;
    if (least < 0 || least > HS__SIZE_MOST || count < 1 || !speeds || !rects) return HS_ERROR_VALUE;
    if (!hs__valid_costs(count, speeds)) return HS_ERROR_VALUE;
    const hs__division how = {.speeds = speeds,
                              .row_unit = row_unit,
                              .col_unit = col_unit,
                              .least = least,
                              .work = area_of};
    return divide_zone(&how, (hs_box){.height = rows, .width = cols}, count, rects);
}
