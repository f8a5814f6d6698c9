/* Coarser and coarser levels of a long list, for runs.h. */
#include "partition/runs.h"

#include <stdlib.h>

/* ALL: an upper bound on the weight of all cells, up to rounding */
enum { HALVINGS = 30, ALL = 2 };

/* Packs the cells, in their order, into larger cells of at most `most` cells each. A larger cell
 * has a weight up to `limit`, or it is a single cell. start [count + 1] out; returns the number of
 * larger cells. */
static int32_t pack_cells(int32_t count, const double *weight, double limit, int32_t most,
                          int32_t *start)
{
    int32_t packed = 0;
    double sum = 0.0;
    for (int32_t k = 0; k < count; k++) {
        if (k > 0 && sum + weight[k] <= limit && k - start[packed - 1] < most) sum += weight[k];
        else {
            start[packed++] = k;
            sum = weight[k];
        }
    }
    start[packed] = count;
    return packed;
}

/* Adds the next level: at most `target` cells, with the heaviest packed cell as light as bisection
 * finds. weight [cells] holds the weights of the highest level, then of the new one. */
static void add_level(hs__runs *runs, int32_t target, double *weight, int32_t *start)
{
    const int32_t count = runs->cells[runs->levels - 1];
    double low = 0.0;
    double high = 2.0 * ALL; /* no cell is too heavy */
    for (int32_t step = 0; step < HALVINGS; step++) {
        const double middle = low + (high - low) / 2.0;
        if (pack_cells(count, weight, middle, runs->reach, start) <= target) high = middle;
        else low = middle;
    }
    const int32_t packed = pack_cells(count, weight, high, runs->reach, start);
    for (int32_t cell = 0; cell < packed; cell++) {
        double sum = 0.0;
        for (int32_t k = start[cell]; k < start[cell + 1]; k++) sum += weight[k];
        weight[cell] = sum; /* cell <= k: what is overwritten has been read before */
    }
    runs->start[runs->levels] = start;
    runs->cells[runs->levels++] = packed;
}

hs_status hs__runs_init(hs__runs *runs, int32_t size, int32_t reach, const double *costs)
{
    *runs = (hs__runs){.reach = reach, .levels = 1, .cells = {size}};
    if (size > reach) {
        double *weight = malloc((size_t)size * sizeof *weight);
        double cost = 0.0;
        /* A level has at most half the cells of the level below, rounded up, except the last level,
         * which may have `reach` < size. */
        int32_t *start = malloc(2 * ((size_t)size + HS__LEVELS) * sizeof *start);
        runs->start[1] = start;
        if (!weight || !start) {
            free(weight);
            return HS_ERROR_MEMORY;
        }
        for (int32_t k = 0; k < size; k++) cost += costs[k];
        for (int32_t k = 0; k < size; k++) weight[k] = costs[k] / cost + 1.0 / size;
        for (int32_t count = size; count > reach; count = runs->cells[runs->levels - 1]) {
            const int32_t half = count - count / 2;
            add_level(runs, half > reach ? half : reach, weight, start);
            start += runs->cells[runs->levels - 1] + 1;
        }
        free(weight);
    }
    for (int32_t level = 0; level < runs->levels; level++)
        runs->before[level + 1] =
            runs->before[level] + hs__runs_before(reach, (int64_t)runs->cells[level] + 1);
    return HS_OK;
}

void hs__runs_free(hs__runs *runs) { free(runs->start[1]); }

void hs__runs_areas(const hs__runs *runs, const double *leaves, double *area)
{
    for (int32_t level = 0; level < runs->levels; level++)
        for (int32_t i = 0; i < runs->cells[level]; i++) {
            double sum = 0.0;
            for (int32_t j = i + 1; j <= runs->cells[level] && j - i <= runs->reach; j++) {
                const hs__run cell = {level, j - 1, j};
                sum += level ? area[hs__run_set(runs, cell)] : leaves[j - 1];
                area[hs__run_place(runs, (hs__run){level, i, j})] = sum;
            }
        }
}
