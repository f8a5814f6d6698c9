/* Wavefronts: plans against a simulation tile by tile, the search against all periods, the bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"

enum { MAX = 24 };

/* ---- plans ---------------------------------------------------------------------------------------------------- */

/* Tile by tile, whoever can go on does; times are integers. */
static double slow_makespan(int64_t rows, int32_t cols, const double *times, const int32_t *owner, int64_t reach, int order, double *start)
{
    double end[MAX * MAX], ready[MAX] = {0}, makespan = 0;
    int64_t left = rows * cols, step[MAX] = {0}, column[MAX] = {0}; /* of each chunk, named by its first column */
    for (int64_t i = 0; i < left; i++) end[i] = -1;
    while (left) {
        int64_t before = left;
        for (int32_t first = 0, next; first < cols; first = next) {
            for (next = first + 1; next < cols && owner[next] == owner[first]; next++) {}
            int blocked = 0; /* chunks of this owner to the left come first */
            for (int32_t j = 0; j < first; j++) blocked |= owner[j] == owner[first] && end[(rows - 1) * cols + j] < 0;
            for (; !blocked && column[first] < next - first;) {
                int64_t j = column[first], i = order == HS_ROW_WISE ? step[first] - reach * j : step[first];
                if (order == HS_ROW_WISE ? i >= 0 && i < rows : 1) {
                    int64_t below = i + reach < rows ? i + reach : rows - 1, at = i * cols + first + j;
                    double from = ready[owner[first]];
                    if (i) from = fmax(from, end[at - cols]);
                    if (first + j) {
                        if (end[below * cols + first + j - 1] < 0) break;
                        from = fmax(from, end[below * cols + first + j - 1]);
                    }
                    if (start) start[at] = from;
                    end[at] = ready[owner[first]] = from + times[owner[first]];
                    makespan = fmax(makespan, end[at]);
                    left--;
                }
                if (order == HS_ROW_WISE) {
                    int64_t steps = rows + reach * (next - first - 1);
                    if (++column[first] == next - first && ++step[first] < steps) column[first] = 0;
                } else if (++step[first] == rows) {
                    step[first] = 0, column[first]++;
                }
            }
        }
        if (!CHECK(left < before)) return -1;
    }
    return makespan;
}

static int same_as_slow(int64_t rows, int32_t cols, int32_t p, const double *times, const int32_t *owner, int64_t reach, int order)
{
    double makespan, start[MAX * MAX], end[MAX * MAX], wanted_start[MAX * MAX];
    if (hs_wavefront_makespan(rows, cols, p, times, owner, reach, order, &makespan, start, end)) return 0;
    int64_t used = reach < rows ? reach : rows - 1;
    double wanted = slow_makespan(rows, cols, times, owner, used, order, wanted_start), again;
    int same = makespan == wanted && hs_wavefront_makespan(rows, cols, p, times, owner, reach, order, &again, NULL, NULL) == HS_OK && again == wanted;
    for (int64_t i = 0; i < rows * cols; i++) same &= start[i] == wanted_start[i] && end[i] == start[i] + times[owner[i % cols]];
    return same;
}

static void simulation(void)
{
    for (int round = 0; round < 3000; round++) {
        int32_t p = 1 + (int32_t)check_random(4), cols = 1 + (int32_t)check_random(12), owner[MAX];
        int64_t rows = 1 + check_random(9);
        double times[4];
        for (int32_t i = 0; i < p; i++) times[i] = 1 + check_random(9);
        for (int32_t j = 0; j < cols; j++) owner[j] = j && check_random(3) ? owner[j - 1] : (int32_t)check_random((unsigned)p);
        CHECK(same_as_slow(rows, cols, p, times, owner, check_random(4), (int)check_random(2)));
    }
    const double three[] = {3, 5, 8}; /* the paper's numbers */
    int32_t owner[100], chosen, anew;
    double makespan;
    CHECK(hs_wavefront_panels(10, 10, 3, three, 10, 0, HS_ROW_WISE, owner, &chosen, &anew, &makespan) == HS_OK && makespan == 190);
    CHECK(hs_wavefront_panels(50, 50, 3, three, 10, 0, HS_ROW_WISE, owner, &chosen, &anew, &makespan) == HS_OK && makespan == 4030);
    CHECK(hs_wavefront_panels(50, 50, 3, three, 10, 0, HS_COLUMN_WISE, owner, &chosen, &anew, &makespan) == HS_OK && makespan == 8952);
    CHECK(hs_wavefront_panels(100, 100, 3, three, 100, 0, HS_ROW_WISE, owner, &chosen, &anew, &makespan) == HS_OK && makespan == 15602);
    const double doubling[] = {1, 2, 4};
    CHECK(hs_wavefront_panels(56, 56, 3, doubling, 7, 1, HS_ROW_WISE, owner, &chosen, &anew, &makespan) == HS_OK && makespan == 1818);
}

static void search(void)
{
    for (int round = 0; round < 400; round++) {
        int32_t p = 1 + (int32_t)check_random(5), cols = 1 + (int32_t)check_random(22), owner[MAX], chosen, anew, period, redistributed;
        int64_t rows = 1 + check_random(12), reach = check_random(3);
        int order = (int)check_random(2);
        double times[5], best = INFINITY, makespan, bound, again;
        for (int32_t i = 0; i < p; i++) times[i] = 1 + check_random(9);
        if (p > 1 && round % 9 == 0) times[check_random((unsigned)p)] = INFINITY;
        for (int32_t b = 1; b <= cols; b++) {
            CHECK(hs_wavefront_panels(rows, cols, p, times, b, reach, order, owner, &chosen, &anew, &makespan) == HS_OK && chosen == b);
            CHECK(hs_wavefront_makespan(rows, cols, p, times, owner, reach, order, &again, NULL, NULL) == HS_OK && again == makespan);
            best = fmin(best, makespan);
        }
        CHECK(hs_wavefront_panels(rows, cols, p, times, 0, reach, order, owner, &period, &redistributed, &makespan) == HS_OK && makespan == best);
        CHECK(hs_wavefront_panels(rows, cols, p, times, period, reach, order, owner, &chosen, &anew, &again) == HS_OK && again == best && anew == redistributed);
        CHECK(hs_wavefront_bound(rows, cols, p, times, reach, &bound) == HS_OK && bound <= best * (1 + 1e-12) && bound > 0);
    }
}

static void refusals(void)
{
    const double good[] = {3, 5}, zero[] = {3, 0}, nan[] = {NAN, 1}, infinite[] = {INFINITY, INFINITY}, half[] = {1, INFINITY};
    const int32_t owner[] = {0, 1, 1}, wrong[] = {0, 2, 1}, negative[] = {0, -1, 1};
    int32_t out[3], chosen, anew;
    double makespan = -1, start[6];
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_OK);
    makespan = -1;
    CHECK(hs_wavefront_makespan(0, 3, 2, good, owner, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 0, 2, good, owner, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(INT64_C(1) << 52, 3, 2, good, owner, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 0, good, owner, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, -1, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, 0, 2, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, owner, 0, HS_ROW_WISE, &makespan, start, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, wrong, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, good, negative, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_makespan(2, 3, 2, half, owner, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
    const double *bad[] = {zero, nan, infinite};
    for (int i = 0; i < 3; i++) {
        CHECK(hs_wavefront_makespan(2, 3, 2, bad[i], owner, 0, HS_ROW_WISE, &makespan, NULL, NULL) == HS_ERROR_VALUE);
        CHECK(hs_wavefront_bound(2, 3, 2, bad[i], 0, &makespan) == HS_ERROR_VALUE);
        CHECK(hs_wavefront_panels(2, 3, 2, bad[i], 1, 0, HS_ROW_WISE, out, &chosen, &anew, &makespan) == HS_ERROR_VALUE);
    }
    CHECK(hs_wavefront_panels(2, 3, 2, good, -1, 0, HS_ROW_WISE, out, &chosen, &anew, &makespan) == HS_ERROR_VALUE);
    CHECK(hs_wavefront_panels(2, 3, 2, good, 1, 0, -1, out, &chosen, &anew, &makespan) == HS_ERROR_VALUE);
    CHECK(makespan == -1);
}

int main(void)
{
    simulation();
    search();
    refusals();
    return check_result();
}
