/* hs_zones_spans and hs_zones_flaw: what zones span, and whether they tile a box. */
#include "partition/zones.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"

/* ---- spans ----------------------------------------------------------------------------------- */

/* The rows, or the columns, of a piece. */
typedef struct {
    double start, length;
} stretch;

static int by_start(const void *x, const void *y)
{
    const stretch *a = x;
    const stretch *b = y;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->length > b->length) - (a->length < b->length);
}

/* Returns how much the stretches [count] cover together. Sorts them. */
static double cover_of(int32_t count, stretch *stretches)
{
    qsort(stretches, (size_t)count, sizeof *stretches, by_start);
    double total = 0.0;
    double reached = -INFINITY;
    for (int32_t k = 0; k < count; k++) {
        const double end = stretches[k].start + stretches[k].length;
        total += fmax(0.0, end - fmax(reached, stretches[k].start));
        reached = fmax(reached, end);
    }
    return total;
}

void hs__zone_spans(int32_t owners, int32_t pieces, const int32_t *owner, const double *rects,
                    double *space, int32_t *marks, double *spans)
{
    memset(spans, 0, 2 * (size_t)owners * sizeof *spans);
    int32_t ascending = 1;
    while (ascending < pieces && owner[ascending - 1] < owner[ascending]) ascending++;
    if (ascending >= pieces) { /* no owner has several pieces */
        for (int32_t k = 0; k < pieces; k++)
            memcpy(spans + 2 * (size_t)owner[k], rects + 4 * (size_t)k + 2, 2 * sizeof *spans);
        return;
    }
    stretch *stretches = (stretch *)space;
    int32_t *own = (int32_t *)(stretches + pieces); /* the pieces by owner */
    int32_t *first = marks; /* where the pieces of each owner end, then where they start */
    memset(first, 0, ((size_t)owners + 1) * sizeof *first);
    for (int32_t k = 0; k < pieces; k++) first[owner[k]]++;
    for (int32_t i = 0; i < owners; i++) first[i + 1] += first[i];
    for (int32_t k = pieces; k-- > 0;) own[--first[owner[k]]] = k;
    first[owners] = pieces;
    for (int32_t i = 0; i < owners; i++) {
        const int32_t count = first[i + 1] - first[i];
        const int32_t *mine = own + first[i];
        for (int axis = 0; axis < 2 && count > 0; axis++) {
            for (int32_t k = 0; k < count; k++) {
                const double *rect = rects + 4 * (size_t)mine[k] + axis;
                stretches[k] = (stretch){rect[0], rect[2]};
            }
            spans[2 * (size_t)i + (size_t)axis] =
                count == 1 ? stretches[0].length : cover_of(count, stretches);
        }
    }
}

void hs__zone_areas(int32_t owners, int32_t pieces, const int32_t *owner, const double *rects,
                    double *areas)
{
    memset(areas, 0, (size_t)owners * sizeof *areas);
    for (int32_t k = 0; k < pieces; k++)
        areas[owner[k]] += rects[4 * (size_t)k + 2] * rects[4 * (size_t)k + 3];
}

/* Returns whether all sides and places are finite and not negative. */
static bool are_rects(int32_t pieces, const double *rects)
{
    for (size_t k = 0; k < 4 * (size_t)pieces; k++)
        if (!(rects[k] >= 0.0 && isfinite(rects[k]))) return false;
    return true;
}

hs_status hs_zones_spans(int32_t p, int32_t pieces, const int32_t *workers, const double *rects,
                         double *spans, double *areas)
{
    if (p < 1 || pieces < 0 || (pieces > 0 && (!workers || !rects))) return HS_ERROR_VALUE;
    if (!are_rects(pieces, rects)) return HS_ERROR_VALUE;
    for (int32_t k = 0; k < pieces; k++)
        if (workers[k] < 0 || workers[k] >= p) return HS_ERROR_VALUE;
    if (spans) {
        const size_t numbers = 3 * (size_t)pieces * sizeof(double);
        char *space = malloc(numbers + ((size_t)p + 1) * sizeof(int32_t));
        if (!space) return HS_ERROR_MEMORY;
        hs__zone_spans(p, pieces, workers, rects, (double *)space, (int32_t *)(space + numbers),
                       spans);
        free(space);
    }
    if (areas) hs__zone_areas(p, pieces, workers, rects, areas);
    return HS_OK;
}

/* ---- tilings --------------------------------------------------------------------------------- */

/* A rectangle by its ends. */
typedef struct {
    double top, left, bottom, right;
    int32_t at;
} placed;

static int by_top(const void *x, const void *y)
{
    const placed *a = x;
    const placed *b = y;
    if (a->top != b->top) return a->top < b->top ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Returns whether rectangle i, of those sorted by their tops, overlaps with a later one; `with` is
 * the first such one. */
static bool overlaps(const placed *sorted, int32_t pieces, int32_t i, double near, int32_t *with)
{
    const placed *own = &sorted[i];
    for (int32_t k = i + 1; k < pieces && sorted[k].top < own->bottom - near; k++) {
        const double across = fmin(sorted[k].right, own->right) - fmax(sorted[k].left, own->left);
        const double down = fmin(sorted[k].bottom, own->bottom) - sorted[k].top;
        if (!(across > near && down > near)) continue;
        *with = k;
        return true;
    }
    return false;
}

/* Returns whether the areas add up to that of the box; of whole numbers the sums are exact. */
static bool is_covered(double m, double n, double near, int32_t pieces, const double *rects)
{
    if (near > 0.0) {
        double covered = 0.0;
        for (int32_t k = 0; k < pieces; k++)
            covered += rects[4 * (size_t)k + 2] * rects[4 * (size_t)k + 3];
        return fabs(covered - m * n) <= near * m * n;
    }
    __extension__ unsigned __int128 left = (unsigned __int128)m * (unsigned __int128)n;
    for (int32_t k = 0; k < pieces; k++) {
        __extension__ const unsigned __int128 own = (unsigned __int128)rects[4 * (size_t)k + 2] *
                                                    (unsigned __int128)rects[4 * (size_t)k + 3];
        if (own > left) return false;
        left -= own;
    }
    return left == 0;
}

static hs_status find_overlap(int32_t pieces, double near, placed *sorted, const int *cancel,
                              int32_t *flaw, int32_t *at)
{
    int32_t with;
    qsort(sorted, (size_t)pieces, sizeof *sorted, by_top);
    for (int32_t i = 0; i < pieces; i++) {
        if (i % 16 == 0 && hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        if (!overlaps(sorted, pieces, i, near, &with)) continue;
        *flaw = HS_FLAW_OVERLAP;
        at[0] = sorted[i].at;
        at[1] = sorted[with].at;
        break;
    }
    return HS_OK;
}

hs_status hs_zones_flaw(double m, double n, double near, int32_t pieces, const double *rects,
                        const int *cancel, int32_t *flaw, int32_t *at)
{
    const double most = (double)HS__SIZE_MOST;
    if (!flaw || !at || pieces < 0 || (pieces > 0 && !rects) || !(near >= 0.0) ||
        !(m > 0.0 && m <= most && n > 0.0 && n <= most) || !are_rects(pieces, rects))
        return HS_ERROR_VALUE;
    placed *sorted = malloc(((size_t)pieces + 1) * sizeof *sorted);
    if (!sorted) return HS_ERROR_MEMORY;
    int32_t found = HS_FLAW_NONE;
    int32_t where[2] = {0, 0};
    for (int32_t k = 0; k < pieces && !found; k++) {
        const double *r = rects + 4 * (size_t)k;
        sorted[k] = (placed){r[0], r[1], r[0] + r[2], r[1] + r[3], k};
        /* differences, because the sum of two whole numbers may be rounded */
        if (!(r[0] - (m - r[2]) > near || r[1] - (n - r[3]) > near)) continue;
        found = HS_FLAW_OUTSIDE;
        where[0] = k;
    }
    const hs_status status =
        found ? HS_OK : find_overlap(pieces, near, sorted, cancel, &found, where);
    free(sorted);
    if (status) return status;
    if (!found && !is_covered(m, n, near, pieces, rects)) found = HS_FLAW_AREA;
    *flaw = found;
    memcpy(at, where, sizeof where);
    return HS_OK;
}
