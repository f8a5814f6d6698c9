/* hs_distribute_profile: optimal counts for times of any shape, by bisection on the makespan. For
 * each makespan tried, dynamic programming over the workers finds the sums of counts that they can
 * reach. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sets.h"
#include "core/sort.h"
#include "core/status.h"
#include "hetsched.h"

enum { WORD = HS__WORD, SAMPLE = 4096 };

typedef struct {
    int64_t n;
    int32_t p;
    const double *times; /* [p (n + 1)] */
    size_t words;
    /* [p] no count above this is needed: it takes longer than a limit that is known to suffice */
    int64_t *top;
    int64_t *last;     /* [p] largest count within the limit tried last */
    int64_t most;      /* the sum of `last` */
    uint64_t *own;     /* the possible counts of one worker within that limit */
    uint64_t *reach;   /* [p + 1] sets: the sums that the first i workers can have */
    uint64_t *spread;  /* [powers] sets: entry j is one set plus 0 .. 2^j - 1 */
    const int *cancel; /* after it is set, results are meaningless */
} search;

static const double *times_of(const search *s, int32_t i)
{
    return s->times + (size_t)i * ((size_t)s->n + 1);
}

/* Sets last and most for a limit. Returns whether n chunks fit within it under the assumption that
 * all counts smaller than `last` are possible, too. */
static bool has_room(search *s, double limit)
{
    s->most = 0;
    for (int32_t i = 0; i < s->p && !hs__cancelled(s->cancel); i++) {
        const double *times = times_of(s, i);
        int64_t x = s->top[i];
        while (x > 0 && !(times[x] <= limit)) x--;
        s->last[i] = x;
        s->most += x; /* at most p n, the size of the table */
    }
    return s->most >= s->n;
}

/* Finds the counts of worker i that take at most limit, including zero. Whole words of counts are
 * left out if the counts are so small that the other workers cannot do the rest. */
static void counts_within(const search *s, int32_t i, double limit)
{
    const double *times = times_of(s, i);
    int64_t last = s->last[i];
    int64_t least = s->n - (s->most - last);
    if (least < 0) least = 0;
    memset(s->own, 0, s->words * sizeof *s->own);
    for (int64_t x = least / WORD * WORD; x <= last; x += WORD) {
        uint64_t bits = 0;
        int64_t size = last - x < WORD ? last - x + 1 : WORD;
        for (int64_t b = 0; b < size; b++) bits |= (uint64_t)(times[x + b] <= limit) << b;
        s->own[x / WORD] = bits;
    }
    s->own[0] |= 1;
}

/* Fills reach; stops as soon as n is reached, unless `all`. Returns whether n is reached. */
static bool fill_reach(search *s, double limit, bool all)
{
    if (!has_room(s, limit)) return false;
    memset(s->reach, 0, s->words * sizeof *s->reach);
    s->reach[0] = 1;
    bool done = false;
    for (int32_t i = 0; i < s->p && (all || !done) && !hs__cancelled(s->cancel); i++) {
        uint64_t *before = s->reach + (size_t)i * s->words;
        counts_within(s, i, limit);
        hs__add_sets(s->words, before, s->own, s->spread, s->cancel, before + s->words);
        done = hs__has(before + s->words, s->n);
    }
    return done;
}

static bool is_feasible(search *s, double limit) { return fill_reach(s, limit, false); }

/* Finds up to SAMPLE of the times strictly between low and high, sorted; *complete says whether
 * these are all of them. */
static int32_t sample_between(const search *s, double low, double high, double *sample,
                              bool *complete)
{
    int32_t size = 0;
    uint64_t seen = 0;
    uint64_t stride = 1; /* a power of two: every stride-th time is kept */
    for (int32_t i = 0; i < s->p && !hs__cancelled(s->cancel); i++) {
        const double *times = times_of(s, i);
        for (int64_t x = 1; x <= s->top[i]; x++) {
            if (!(times[x] > low && times[x] < high) || seen++ & (stride - 1)) continue;
            if (size == SAMPLE) {
                for (size = 0; size < SAMPLE / 2; size++) sample[size] = sample[2 * (size_t)size];
                stride *= 2;
            }
            sample[size++] = times[x];
        }
    }
    *complete = stride == 1;
    qsort(sample, (size_t)size, sizeof *sample, hs__ascending);
    return size;
}

/* Returns the least of the times above low that passes a monotone test, infinity if none does. It
 * bisects a sample of the times, then the times between the two neighbours found, until no time is
 * left out. With `gallop` it first goes up from below in growing steps. */
static double least_time(search *s, double *sample, double low, bool (*test)(search *, double),
                         bool gallop)
{
    double high = INFINITY;
    for (bool complete = false; !complete && !hs__cancelled(s->cancel);) {
        int32_t size = sample_between(s, low, high, sample, &complete);
        int32_t first = 0;
        /* the first time that passes is in [first, end] */
        int32_t end = size;
        for (int32_t step = gallop; first < end;) {
            int32_t probe =
                step && first + step <= end ? first + step - 1 : first + (end - first) / 2;
            if (test(s, sample[probe])) {
                memcpy(s->top, s->last, (size_t)s->p * sizeof *s->top);
                end = probe;
                step = 0;
            } else {
                first = probe + 1;
                step *= 2;
            }
        }
        if (first < size) high = sample[first];
        if (first > 0) low = sample[first - 1];
    }
    return high;
}

/* Returns the least makespan. It is seldom far above the least limit that has room, and close to
 * that limit few counts are possible, so the search gallops up from there. */
static double least_makespan(search *s, double *sample)
{
    double bound = least_time(s, sample, 0.0, has_room, false);
    for (int32_t i = 0; i < s->p; i++) s->top[i] = s->n;
    return isinf(bound) || is_feasible(s, bound) ? bound
                                                 : least_time(s, sample, bound, is_feasible, true);
}

/* Chooses counts from the last worker to the first: as many chunks as the worker can do in less
 * than the makespan while the workers before it can do the rest, else as many as it can do in
 * exactly that time. For non-decreasing times these are the counts of hs_distribute. */
static void choose_counts(const search *s, double makespan, int64_t *counts)
{
    int64_t rest = s->n;
    for (int32_t i = s->p; i-- > 0;) {
        const double *times = times_of(s, i);
        const uint64_t *before = s->reach + (size_t)i * s->words;
        int64_t most = s->last[i] < rest ? s->last[i] : rest;
        int64_t x = most;
        while (x >= 0 && !((x == 0 || times[x] < makespan) && hs__has(before, rest - x))) x--;
        if (x < 0)
            for (x = most; !(times[x] == makespan && hs__has(before, rest - x));) x--;
        counts[i] = x;
        rest -= x;
    }
}

hs_status hs_distribute_profile(int64_t n, int32_t p, const double *times, const int *cancel,
                                int64_t *counts, double *makespan)
{
    if (!times || !counts) return HS_ERROR_VALUE;
    if (n < 0 || n > HS__SIZE_MOST || p < 1) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p && !hs__cancelled(cancel); i++)
        for (int64_t x = 1; x <= n; x++)
            if (!(times[(size_t)i * ((size_t)n + 1) + (size_t)x] > 0.0)) return HS_ERROR_VALUE;

    search s = {.n = n, .p = p, .times = times, .words = hs__set_words(n), .cancel = cancel};
    size_t sets = (size_t)p + 2 + hs__count_powers(s.words);
    if (s.words > SIZE_MAX / sizeof *s.own / sets) return HS_ERROR_MEMORY;
    uint64_t *bits = malloc(sets * s.words * sizeof *bits);
    int64_t *limits = malloc(2 * (size_t)p * sizeof *limits);
    double *sample = malloc(SAMPLE * sizeof *sample);
    hs_status status = hs__check_memory(bits && limits && sample);
    if (!status) {
        s.own = bits;
        s.reach = bits + s.words;
        s.spread = s.reach + ((size_t)p + 1) * s.words;
        s.top = limits;
        s.last = limits + p;
        for (int32_t i = 0; i < p; i++) s.top[i] = n;
        double least = n ? least_makespan(&s, sample) : 0.0;
        if (isfinite(least)) fill_reach(&s, least, true);
        if (hs__cancelled(cancel)) {
            status = HS_ERROR_CANCELLED;
        } else if (isinf(least)) {
            status = HS_ERROR_INFEASIBLE;
        } else {
            choose_counts(&s, least, counts);
            if (makespan) *makespan = least;
        }
    }
    free(bits);
    free(limits);
    free(sample);
    return status;
}
