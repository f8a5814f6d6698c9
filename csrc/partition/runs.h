/* Intervals of a list: all, or of a long list so many that their number grows like its length. The
 * list is made coarser level by level. Cells of level 0 are the leaves; each further level has half
 * as many cells as the one below, or `reach`, and each of them is a run of those: at first of
 * leaves that cost little. An interval is kept if it is of at most `reach` cells of some level: a
 * short one between any two leaves, a long one between coarser cells. In a list of at most `reach`
 * leaves that is all. */
#ifndef HS_PARTITION_RUNS_H
#define HS_PARTITION_RUNS_H

#include "hetsched.h"

enum { HS__LEVELS = 32 };

typedef struct {
    int32_t reach, levels;
    int32_t cells[HS__LEVELS]; /* of each level */
    /* [cells + 1] with which cell of the level below a cell starts; of level 0 NULL */
    int32_t *start[HS__LEVELS];
    int64_t before[HS__LEVELS + 1]; /* intervals of the levels below */
} hs__runs;

/* The cells from .. to - 1 of a level. */
typedef struct {
    int32_t level, from, to;
} hs__run;

/* The runs of [size] leaves that cost so much, >= 0 and in any unit; reach >= 2, or >= size. Time
 * and memory O(size). hs__runs_free also after a failure. */
hs_status hs__runs_init(hs__runs *runs, int32_t size, int32_t reach, const double *costs);
void hs__runs_free(hs__runs *runs);

static inline int64_t hs__runs_sets(const hs__runs *runs) { return runs->before[runs->levels]; }

/* The area [sets] of every interval, of [size] leaves. Not by prefix sums: small areas beside large
 * ones would drown. */
void hs__runs_areas(const hs__runs *runs, const double *leaves, double *area);

/* The same cells of the level below. */
static inline hs__run hs__run_below(const hs__runs *runs, hs__run run)
{
    const int32_t *start = runs->start[run.level];
    return (hs__run){run.level - 1, start[run.from], start[run.to]};
}

/* As cells of the lowest level that has it: there it has most cuts, and two cells at least if it is
 * no leaf. */
static inline hs__run hs__run_lowest(const hs__runs *runs, hs__run run)
{
    while (run.level > 0) {
        const hs__run below = hs__run_below(runs, run);
        if (below.to - below.from > runs->reach) break;
        run = below;
    }
    return run;
}

/* The whole list, and the leaf k. */
static inline hs__run hs__run_whole(const hs__runs *runs)
{
    return hs__run_lowest(runs, (hs__run){runs->levels - 1, 0, runs->cells[runs->levels - 1]});
}
static inline hs__run hs__run_leaf(int32_t k) { return (hs__run){0, k, k + 1}; }

/* Intervals of a level that end before cell j, with `reach` cells at most; the number of one of
 * them among all. */
static inline int64_t hs__runs_before(int64_t reach, int64_t j)
{
    return j <= reach ? j * (j - 1) / 2 : reach * (reach + 1) / 2 + (j - reach - 1) * reach;
}
static inline int64_t hs__run_place(const hs__runs *runs, hs__run run)
{
    const int32_t first = run.to <= runs->reach ? 0 : run.to - runs->reach;
    return runs->before[run.level] + hs__runs_before(runs->reach, run.to) + run.from - first;
}

/* The same of the lowest level that has it. */
static inline int64_t hs__run_set(const hs__runs *runs, hs__run run)
{
    return hs__run_place(runs, hs__run_lowest(runs, run));
}

#endif
