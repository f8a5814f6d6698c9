/* The runs of a list: how the levels are made, numbers without gaps, areas added up leaf by leaf,
 * cuts for every run. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "partition/runs.h"

enum { MOST = 80 };

static double some_cost(int kind)
{
    const double x = check_random(1000) / 1000.0;
    switch (kind) {
    case 0: return 1.0;
    case 1: return x;
    case 2: return pow(10.0, 40 * x - 20);
    default: return check_random(9) ? 1e-12 : 1.0;
    }
}

/* Finds the leaves first .. end - 1 of a run. */
static void leaves_of(const hs__runs *runs, hs__run run, int32_t *first, int32_t *end)
{
    *first = run.from;
    *end = run.to;
    for (int32_t level = run.level; level > 0; level--) {
        *first = runs->start[level][*first];
        *end = runs->start[level][*end];
    }
}

static void check_levels(const hs__runs *runs, int32_t size, int32_t reach)
{
    CHECK(runs->cells[0] == size && runs->cells[runs->levels - 1] <= (size > reach ? reach : size));
    CHECK(size > reach || runs->levels == 1);
    for (int32_t level = 1; level < runs->levels; level++) {
        const int32_t *start = runs->start[level];
        const int32_t cells = runs->cells[level];
        const int32_t below = runs->cells[level - 1];
        CHECK(cells < below && (cells <= (below + 1) / 2 || cells <= reach) && start[0] == 0 &&
              start[cells] == below);
        for (int32_t k = 0; k < cells; k++)
            CHECK(start[k] < start[k + 1] && start[k + 1] - start[k] <= reach);
    }
}

/* Checks every run that is kept, by its leaves: its number is its own, its area is their sum, and
 * each of its cuts leaves two runs that are kept. */
static void check_runs(const hs__runs *runs, const double *leaves)
{
    static unsigned char seen[4 * MOST * MOST];
    static double area[4 * MOST * MOST];
    memset(seen, 0, sizeof seen);
    hs__runs_areas(runs, leaves, area);
    for (int32_t level = 0; level < runs->levels; level++)
        for (int32_t i = 0; i < runs->cells[level]; i++)
            for (int32_t j = i + 1; j <= runs->cells[level] && j - i <= runs->reach; j++) {
                const hs__run run = {level, i, j};
                const hs__run low = hs__run_lowest(runs, run);
                const int64_t place = hs__run_place(runs, run);
                int32_t first, end, low_first, low_end;
                leaves_of(runs, run, &first, &end);
                leaves_of(runs, low, &low_first, &low_end);
                CHECK(first == low_first && end == low_end && low.level <= level &&
                      low.to - low.from <= runs->reach);
                CHECK(low.level == 0 ||
                      hs__run_below(runs, low).to - hs__run_below(runs, low).from > runs->reach);
                CHECK(end == first + 1 ? low.level == 0 : low.to - low.from >= 2);
                CHECK(place >= 0 && place < hs__runs_sets(runs) && !seen[place]++);
                double sum = 0.0;
                for (int32_t k = first; k < end; k++) sum += leaves[k];
                CHECK(fabs(area[place] - sum) <= 1e-12 * sum);
            }
    for (int64_t set = 0; set < hs__runs_sets(runs); set++) CHECK(seen[set]);
    const hs__run whole = hs__run_whole(runs);
    int32_t first, end;
    leaves_of(runs, whole, &first, &end);
    CHECK(first == 0 && end == runs->cells[0]);
}

/* A leaf with most of the cost is a cell of its own at every level that has room for it. */
static void the_dearest_stays_alone(void)
{
    double costs[64];
    for (int k = 0; k < 64; k++) costs[k] = k == 20 ? 100.0 : 1.0;
    hs__runs runs;
    CHECK(hs__runs_init(&runs, 64, 8, costs) == HS_OK && runs.levels == 4);
    int32_t at = 20;
    for (int32_t level = 1; level < runs.levels; level++) {
        int32_t k = 0;
        while (runs.start[level][k + 1] <= at) k++;
        CHECK(runs.start[level][k] == at && runs.start[level][k + 1] == at + 1);
        at = k;
    }
    hs__runs_free(&runs);
}

int main(void)
{
    for (int round = 0; round < 2000; round++) {
        const int32_t size = 1 + (int32_t)check_random(MOST);
        const int32_t reach = 2 + (int32_t)check_random(round % 2 ? 6 : MOST);
        double costs[MOST];
        for (int32_t k = 0; k < size; k++) costs[k] = some_cost(round % 4);
        hs__runs runs;
        if (CHECK(hs__runs_init(&runs, size, reach, costs) == HS_OK)) {
            check_levels(&runs, size, reach);
            check_runs(&runs, costs);
        }
        hs__runs_free(&runs);
    }
    the_dearest_stays_alone();
    return check_result();
}
