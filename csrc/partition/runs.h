/* Intervals of a list: all of them, or, for a long list, a selection that grows only linearly with
 * its length.
 *
 * The list is made coarser level by level. Cells of level 0 are the leaves. Each further level has
 * half as many cells as the level below, or `reach`, and each of its cells is a run of cells of
 * that level; leaves that cost little are combined first. An interval is kept if it has at most
 * `reach` cells of some level: a short interval between any two leaves, a long one between coarser
 * cells. In a list of at most `reach` leaves these are all intervals. */
#ifndef HS_PARTITION_RUNS_H
#define HS_PARTITION_RUNS_H

#include "hetsched.h"

enum { HS__LEVELS = 32 };

typedef struct {
    int32_t reach, levels;
    int32_t cells[HS__LEVELS]; /* number of cells of each level */
    /* [cells + 1] the cell of the level below with which each cell starts; NULL for level 0 */
    int32_t *start[HS__LEVELS];
    int64_t before[HS__LEVELS + 1]; /* number of intervals of the levels below */
} hs__runs;

/* The cells from .. to - 1 of a level. */
typedef struct {
    int32_t level, from, to;
} hs__run;

/* Selects the runs of [size] leaves with the given costs, >= 0 and in any unit; reach >= 2, or >=
 * size. Time and memory O(size). Call hs__runs_free also after a failure. */
hs_status hs__runs_init(hs__runs *runs, int32_t size, int32_t reach, const double *costs);
void hs__runs_free(hs__runs *runs);

static inline int64_t hs__runs_sets(const hs__runs *runs) { return runs->before[runs->levels]; }

/* Computes the area [sets] of every interval of [size] leaves. It does not use prefix sums, in
 * which small areas beside large ones would be lost. */
void hs__runs_areas(const hs__runs *runs, const double *leaves, double *area);

/* Returns the same run as cells of the level below. */
static inline hs__run hs__run_below(const hs__runs *runs, hs__run run)
{
    const int32_t *start = runs->start[run.level];
    return (hs__run){run.level - 1, start[run.from], start[run.to]};
}

/* Returns the same run as cells of the lowest level that has it. There it has the most cuts, and at
 * least two cells unless it is a leaf. */
static inline hs__run hs__run_lowest(const hs__runs *runs, hs__run run)
{
    while (run.level > 0) {
        const hs__run below = hs__run_below(runs, run);
        if (below.to - below.from > runs->reach) break;
        run = below;
    }
    return run;
}

/* Returns the whole list; the next function returns the leaf k. */
static inline hs__run hs__run_whole(const hs__runs *runs)
{
    return hs__run_lowest(runs, (hs__run){runs->levels - 1, 0, runs->cells[runs->levels - 1]});
}
static inline hs__run hs__run_leaf(int32_t k) { return (hs__run){0, k, k + 1}; }

/* Returns the number of intervals of a level that end before cell j, with at most `reach` cells;
 * the next function numbers an interval among all of them. */
static inline int64_t hs__runs_before(int64_t reach, int64_t j)
{
    return j <= reach ? j * (j - 1) / 2 : reach * (reach + 1) / 2 + (j - reach - 1) * reach;
}
static inline int64_t hs__run_place(const hs__runs *runs, hs__run run)
{
    const int32_t first = run.to <= runs->reach ? 0 : run.to - runs->reach;
    return runs->before[run.level] + hs__runs_before(runs->reach, run.to) + run.from - first;
}

/* Returns the number of an interval at the lowest level that has it. */
static inline int64_t hs__run_set(const hs__runs *runs, hs__run run)
{
    return hs__run_place(runs, hs__run_lowest(runs, run));
}

#endif
