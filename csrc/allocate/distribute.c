/* hs_distribute and hs_distribute_after: optimal counts of independent chunks. hs_distribute
 * guesses a time close to the makespan, deals all chunks that surely end by then at once, and deals
 * the rest one by one with exact comparisons. */
#include <stdlib.h>

#include "allocate/load.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/status.h"
#include "hetsched.h"

enum {
    BRIEF = 1 << 14, /* chunks between two looks at cancel */
    /* from so many workers on, the makespan is guessed before chunks are dealt one by one */
    MANY = 512,
    GUESSES = 10,
};

/* Bounds on the number of chunks that a worker ends by some time. share = time * relative speed is
 * that number as a real number; it is computed with 3 roundings, i.e. with an error below 2^-51 of
 * it. So the exact count is at least the floor of share_at_least(share) and at most the floor of
 * share_at_most(share). */
static double share_at_least(double share) { return share - share * 0x1p-49; }
static double share_at_most(double share) { return share + share * 0x1p-49; }

/* Computes the sums of these counts over the workers at `time`. A sum above 2^53 is rounded, but
 * stays above it. */
static void count_by(double time, int32_t p, const double *speeds, double *least, double *most)
{
    double low = 0.0;
    double high = 0.0;
    for (int32_t i = 0; i < p; i++) {
        const double share = time * speeds[i];
        low += (double)(int64_t)share_at_least(share);
        high += (double)(int64_t)share_at_most(share);
    }
    *least = low;
    *most = high;
}

/* Finds two times between which the n-th chunk ends, in units of the fastest worker's cycle-time.
 *
 * n / total is a lower bound for it: at the end, one more chunk would make each worker end no
 * earlier than the last chunk does, so no worker has fewer chunks than its share rounded down, or
 * one less if the share is whole. Each guess adds the time in which all workers together do what is
 * missing, and a little more, so that the end lies between two guesses; if that leaves the
 * interval, its midpoint is taken. */
static void enclose_last_end(int64_t n, int32_t p, const double *speeds, double total,
                             double *early, double *late)
{
    const double wanted = (double)n;
    const double few = p / 64.0;
    double least, most;
    double time = wanted / total;
    *early = time;
    *late = wanted; /* the fastest worker alone */
    for (int guess = p < MANY || n < p / 4 ? GUESSES : 0; guess < GUESSES; guess++) {
        count_by(time, p, speeds, &least, &most);
        if (most <= wanted && most < (double)HS__SIZE_MOST)
            *early = time; /* 2^53 may be 2^53 + 1, rounded */
        else if (least >= wanted) *late = time;
        const double missing = wanted - least;
        if (fabs(missing) <= 2.0 * few && (*late - *early) * total <= 4.0 * few) return;
        time += (missing + (missing < 0.0 ? -few : few)) / total;
        if (!(time > *early && time < *late)) time = *early + (*late - *early) / 2.0;
    }
}

/* Computes speeds [p] = fastest / cycle_times, and returns their sum. Neumaier's summation: the
 * error does not grow with p. */
static double relative_speeds(int32_t p, const double *cycle_times, double fastest, double *speeds)
{
    double total = 0.0;
    double carry = 0.0;
    for (int32_t i = 0; i < p; i++) {
        const double speed = speeds[i] = fastest / cycle_times[i];
        const double sum = total + speed;
        carry += total >= speed ? (total - sum) + speed : (speed - sum) + total;
        total = sum;
    }
    return total + carry;
}

/* Distributes one row; heap [p] and speeds [p] are workspace. The greedy phase reaches the same
 * optimal counts from any start below the optimum: the counts of the n chunks that end first. So
 * the chunks that end by the earlier of two times that enclose the end of the last chunk are dealt
 * at once, and only workers with a chunk between the two times may get one more. */
static hs_status distribute_row(int64_t n, int32_t p, const double *cycle_times, const int *cancel,
                                hs__timed *heap, double *speeds, int64_t *counts)
{
    const double fastest = fastest_of(p, cycle_times);
    const double total = relative_speeds(p, cycle_times, fastest, speeds);
    const int unit = unit_of(fastest);
    double early, late;
    enclose_last_end(n, p, speeds, total, &early, &late);
    int64_t left = n;
    int32_t size = 0;
    for (int32_t i = 0; i < p; i++) {
        counts[i] = (int64_t)share_at_least(early * speeds[i]);
        left -= counts[i];
        if (share_at_most(late * speeds[i]) >= (double)(counts[i] + 1))
            heap[size++] = end_of(counts[i] + 1, cycle_times[i], unit, i);
    }
    hs__heap_order(heap, size);
    for (; left > 0; left--) {
        if (left % BRIEF == 0 && hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        deal_one(heap, size, cycle_times, unit, counts);
    }
    return HS_OK;
}

static double makespan_of(int32_t p, const double *cycle_times, const int64_t *counts)
{
    double makespan = 0.0;
    for (int32_t i = 0; i < p; i++)
        if (counts[i] > 0 && (double)counts[i] * cycle_times[i] > makespan)
            makespan = (double)counts[i] * cycle_times[i];
    return makespan;
}

hs_status hs_distribute(int64_t n, int32_t p, const double *cycle_times, const int *cancel,
                        int64_t *counts, double *makespan)
{
    return hs_distribute_batch(1, &n, p, cycle_times, cancel, counts, makespan);
}

hs_status hs_distribute_batch(int64_t rows, const int64_t *n, int32_t p, const double *cycle_times,
                              const int *cancel, int64_t *counts, double *makespans)
{
    if (rows > 0 && (!n || !cycle_times || !counts)) return HS_ERROR_VALUE;
    if (rows < 0 || p < 1) return HS_ERROR_VALUE;
    for (int64_t row = 0; row < rows; row++) {
        if (n[row] < 0 || n[row] > HS__SIZE_MOST) return HS_ERROR_VALUE;
        if (isnan(fastest_of(p, cycle_times + row * p))) return HS_ERROR_VALUE;
    }
    hs__timed *heap = malloc((size_t)p * (sizeof *heap + sizeof(double)));
    if (!heap) return HS_ERROR_MEMORY;
    double *speeds = (double *)(heap + p);
    hs_status status = HS_OK;
    for (int64_t row = 0; row < rows && !status; row++) {
        status = hs__check_cancel(cancel);
        if (!status)
            status = distribute_row(n[row], p, cycle_times + row * p, cancel, heap, speeds,
                                    counts + row * p);
        if (makespans && !status)
            makespans[row] = makespan_of(p, cycle_times + row * p, counts + row * p);
    }
    free(heap);
    return status;
}

/* Returns how many of n chunks a worker ends by the time `limit` at most, with all times rounded.
 * The count is near the quotient, unless the start is so large that rounding hides the chunks. */
static int64_t ended_by(double limit, int64_t n, double cycle_time, double start)
{
    if (start > limit || isinf(cycle_time)) return 0;
    const double quotient = (limit - start) / cycle_time;
    int64_t ended = 0;
    int64_t late = n + 1;
    int64_t tried = quotient < (double)n ? (int64_t)quotient : n;
    /* from the first guess in growing steps, then by bisection */
    for (int64_t step = 1; late - ended > 1; step *= 2) {
        const int on_time = fma((double)tried, cycle_time, start) <= limit;
        *(on_time ? &ended : &late) = tried;
        if (step > (late - ended) / 2) step = (late - ended) / 2;
        tried = on_time ? ended + step : late - step;
    }
    return ended;
}

static bool may_end_by(double limit, int64_t n, int32_t p, const double *cycle_times,
                       const double *starts)
{
    for (int32_t i = 0; i < p && n > 0; i++) n -= ended_by(limit, n, cycle_times[i], starts[i]);
    return n <= 0;
}

hs_status hs_distribute_after(int64_t n, int32_t p, const double *cycle_times, const double *starts,
                              const int *cancel, int64_t *counts, double *makespan)
{
    if (!cycle_times || !starts || !counts) return HS_ERROR_VALUE;
    if (n < 0 || n > HS__SIZE_MOST || p < 1 || isnan(fastest_of(p, cycle_times)))
        return HS_ERROR_VALUE;
    if (!hs__valid_costs(p, starts)) return HS_ERROR_VALUE;
    uint64_t early = 0;
    /* all chunks end by `last`, which becomes the makespan */
    uint64_t last = hs__bits_of(INFINITY);
    for (int32_t i = 0; i < p; i++) {
        const uint64_t alone = hs__bits_of(fma((double)n, cycle_times[i], starts[i]) + 0.0);
        if (alone < last) last = alone;
    }
    for (uint64_t middle; middle = early + (last - early) / 2, middle > early;) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        *(may_end_by(hs__of_bits(middle), n, p, cycle_times, starts) ? &last : &early) = middle;
    }
    /* Deals as the greedy algorithm does, to the worker that would end first: all chunks that end
     * before the makespan, then the remaining ones to the lowest indices. */
    const double limit = hs__of_bits(last);
    const double before = last ? hs__of_bits(last - 1) : -1.0;
    double most = 0.0;
    for (int32_t i = 0; i < p; i++) {
        counts[i] = ended_by(before, n, cycle_times[i], starts[i]);
        n -= counts[i];
    }
    for (int32_t i = 0; i < p; i++) {
        const int64_t more =
            n > 0 ? ended_by(limit, counts[i] + n, cycle_times[i], starts[i]) - counts[i] : 0;
        counts[i] += more;
        n -= more;
        if (counts[i] > 0) most = fmax(most, fma((double)counts[i], cycle_times[i], starts[i]));
    }
    if (makespan) *makespan = most;
    return HS_OK;
}
