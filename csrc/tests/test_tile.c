/* hs_floorplan_tile of full columns: the paper's example on 10 x 10, random tilings painted cell by
 * cell, the bound on the load, every refusal. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 60, SIDE = 40 };
static const int64_t LARGEST = INT64_C(1) << 53;

/* Tiles full columns; a worker without a piece has a rectangle of zeros. */
static hs_status tile_columns(int64_t m, int64_t n, int32_t p, const double *areas,
                              const int32_t *order, const int32_t *start, int32_t columns,
                              int64_t *rects)
{
    int32_t plan[2 * MAX], workers[2 * MAX];
    int32_t length = 0;
    int32_t pieces;
    int64_t found[8 * MAX];
    for (int32_t j = 0; j < columns; j++) {
        for (int32_t q = start[j]; q < start[j + 1]; q++) {
            plan[length++] = order[q];
            if (q > start[j]) plan[length++] = HS_ABOVE;
        }
        if (j > 0) plan[length++] = HS_BESIDE;
    }
    hs_status status =
        hs_floorplan_tile(m, n, p, areas, plan, length, NULL, workers, found, &pieces);
    if (status) return status;
    memset(rects, 0, 4 * (size_t)p * sizeof *rects);
    for (int32_t k = 0; k < pieces; k++)
        memcpy(rects + 4 * workers[k], found + 4 * k, 4 * sizeof *rects);
    return HS_OK;
}

static void paper_example(void)
{
    const double areas[] = {0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3};
    const int32_t order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int32_t start[] = {0, 3, 6, 8};
    const int64_t wanted[] = {0, 0, 3, 2, 3, 0, 3, 2, 6, 0, 4, 2, /* row, col, height, width */
                              0, 2, 3, 3, 3, 2, 3, 3, 6, 2, 4, 3, 0, 5, 4, 5, 4, 5, 6, 5};
    int64_t rects[32];
    CHECK(tile_columns(10, 10, 8, areas, order, start, 3, rects) == HS_OK);
    CHECK(memcmp(rects, wanted, sizeof wanted) == 0);
}

static void small_cases(void)
{
    const double one[] = {5};
    const int32_t first[] = {0};
    const int32_t one_column[] = {0, 1};
    int64_t rect[4];
    CHECK(tile_columns(1, 1, 1, one, first, one_column, 1, rect) == HS_OK);
    CHECK(rect[0] == 0 && rect[1] == 0 && rect[2] == 1 && rect[3] == 1);
    CHECK(tile_columns(LARGEST, LARGEST, 1, one, first, one_column, 1, rect) == HS_OK);
    CHECK(rect[0] == 0 && rect[1] == 0 && rect[2] == LARGEST && rect[3] == LARGEST);

    /* Worker 1 is in no column, worker 3 in a column too narrow for a cell; worker 2 has rows too
     * low for a cell. All get zeros. */
    const double areas[] = {1, 0, 1e-9, 1e-9};
    const int32_t order[] = {3, 2, 0};
    const int32_t start[] = {0, 1, 3};
    const int64_t wanted[] = {0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int64_t rects[16];
    CHECK(tile_columns(2, 3, 4, areas, order, start, 2, rects) == HS_OK);
    CHECK(memcmp(rects, wanted, sizeof wanted) == 0);

    /* 1 / the smaller share is no double, so that worker gets nothing */
    const double ends[] = {1e308, 1e-300};
    const int32_t both[] = {1, 0};
    const int32_t two_columns[] = {0, 1, 2};
    CHECK(tile_columns(3, 4, 2, ends, both, two_columns, 2, rects) == HS_OK);
    CHECK(rects[0] == 0 && rects[1] == 0 && rects[2] == 3 && rects[3] == 4 && rects[6] == 0 &&
          rects[7] == 0);

    const double least[] = {DBL_TRUE_MIN, DBL_TRUE_MIN};
    const double most[] = {DBL_MAX / 2, DBL_MAX / 2};
    CHECK(tile_columns(3, 4, 2, least, both, two_columns, 2, rects) == HS_OK);
    CHECK(rects[3] == 2 && rects[7] == 2);
    CHECK(tile_columns(3, 4, 2, most, both, two_columns, 2, rects) == HS_OK);
    CHECK(rects[3] == 2 && rects[7] == 2);

    const double halves[] = {1, 1}; /* 2^53 columns of 2^53 rows, cut in the middle */
    CHECK(tile_columns(LARGEST, LARGEST, 2, halves, both, two_columns, 2, rects) == HS_OK);
    CHECK(rects[4] == 0 && rects[5] == 0 && rects[6] == LARGEST && rects[7] == LARGEST / 2);
    CHECK(rects[0] == 0 && rects[1] == LARGEST / 2 && rects[2] == LARGEST &&
          rects[3] == LARGEST / 2);
}

/* Paints the rectangles; returns 1 if every cell is painted once and nothing lies outside. */
static int covers_exactly(int64_t m, int64_t n, int32_t p, const int64_t *rects)
{
    static int cells[SIDE][SIDE];
    memset(cells, 0, sizeof cells);
    for (int32_t i = 0; i < p; i++) {
        const int64_t *r = rects + 4 * i;
        if (r[0] < 0 || r[1] < 0 || r[2] < 0 || r[3] < 0 || r[0] + r[2] > m || r[1] + r[3] > n)
            return 0;
        if ((r[2] == 0) != (r[3] == 0)) return 0;
        if (r[2] == 0 && (r[0] || r[1])) return 0;
        for (int64_t y = r[0]; y < r[0] + r[2]; y++)
            for (int64_t x = r[1]; x < r[1] + r[3]; x++) cells[y][x]++;
    }
    for (int64_t y = 0; y < m; y++)
        for (int64_t x = 0; x < n; x++)
            if (cells[y][x] != 1) return 0;
    return 1;
}

static void random_tilings(void)
{
    double areas[MAX], cost;
    int32_t order[MAX], start[MAX + 1], columns;
    int64_t rects[4 * MAX];
    int tilings = 0;
    for (int round = 0; round < CHECK_MANY(3000, 600); round++) {
        int64_t m = 1 + check_random(SIDE);
        int64_t n = 1 + check_random(SIDE);
        int32_t p = 1 + (int32_t)check_random(round % 2 ? MAX : 8);
        double total = 0;
        for (int32_t i = 0; i < p; i++) {
            areas[i] = 1;
            if (round % 3 == 1) areas[i] = check_random(5);
            if (round % 3 == 2) areas[i] = pow(10, (int)check_random(20) - 10);
            total += areas[i];
        }
        if (total == 0) continue;
        hs_status status = hs_partition_columns(p, areas, 1.0, 1, (int32_t)n, (int32_t)m, NULL,
                                                order, start, &columns, &cost);
        if (status == HS_ERROR_INFEASIBLE) continue;
        CHECK(status == HS_OK);
        memset(rects, 0x55, sizeof rects);
        if (!CHECK(tile_columns(m, n, p, areas, order, start, columns, rects) == HS_OK)) return;
        CHECK(covers_exactly(m, n, p, rects));
        tilings++;

        /* n units over C parts: the largest units / (n share) is at most (n + C - 1) / n for any
         * shares. This holds once for the columns and once for the rows of a column. No plan need
         * have a larger load than the bound of the worst column. */
        double bound = 0;
        double load = 0;
        for (int32_t j = 0; j < columns; j++) {
            bound = fmax(bound, (double)(n + columns - 1) / (double)n *
                                    (double)(m + start[j + 1] - start[j] - 1) / (double)m);
            for (int32_t q = start[j]; q < start[j + 1]; q++) {
                const int64_t *r = rects + 4 * order[q];
                load =
                    fmax(load, (double)(r[2] * r[3]) / (double)(m * n) / (areas[order[q]] / total));
            }
        }
        CHECK(load <= bound * (1 + 1e-12));
        for (int32_t i = 0; i < p; i++)
            if (areas[i] == 0) CHECK(rects[4 * i + 2] == 0 && rects[4 * i + 3] == 0);
    }
    CHECK(tilings > CHECK_MANY(2000, 400));
}

/* As many equal workers as cells: one cell for each worker. */
static void one_cell_each(void)
{
    double areas[MAX], cost;
    int32_t order[MAX], start[MAX + 1], columns;
    int64_t rects[4 * MAX];
    for (int32_t m = 1; m <= 12; m++)
        for (int32_t n = 1; m * n <= MAX; n++) {
            int32_t p = m * n;
            for (int32_t i = 0; i < p; i++) areas[i] = 0.7;
            CHECK(hs_partition_columns(p, areas, 1.0, 1, n, m, NULL, order, start, &columns,
                                       &cost) == HS_OK);
            CHECK(columns == n);
            CHECK(tile_columns(m, n, p, areas, order, start, columns, rects) == HS_OK);
            for (int32_t i = 0; i < p; i++) CHECK(rects[4 * i + 2] == 1 && rects[4 * i + 3] == 1);
        }
}

static void check_refused(int64_t m, int64_t n, int32_t p, const double *areas, int32_t columns,
                          int line)
{
    const int32_t order[] = {0, 1};
    const int32_t start[] = {0, 1, 2};
    int64_t rects[8];
    for (int i = 0; i < 8; i++) rects[i] = -7;
    hs_status status = tile_columns(m, n, p, areas, order, start, columns, rects);
    check_that(status == HS_ERROR_VALUE, "refused with HS_ERROR_VALUE", __FILE__, line);
    for (int i = 0; i < 8; i++) check_that(rects[i] == -7, "rects untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2};
    check_refused(0, 4, 2, good, 2, __LINE__);
    check_refused(4, 0, 2, good, 2, __LINE__);
    check_refused(-1, 4, 2, good, 2, __LINE__);
    check_refused(4, -1, 2, good, 2, __LINE__);
    check_refused(4, LARGEST + 1, 2, good, 2, __LINE__);
    check_refused(LARGEST + 1, 4, 2, good, 2, __LINE__);
    check_refused(4, 4, 2, (const double[]){-1, 3}, 1, __LINE__);
    check_refused(4, 4, 0, good, 1, __LINE__);
    check_refused(4, 4, 2, good, 0, __LINE__);
    check_refused(4, 4, 2, (const double[]){NAN, 1}, 2, __LINE__);
    check_refused(4, 4, 2, (const double[]){0, 0}, 2, __LINE__);
    check_refused(4, 4, 2, (const double[]){1, -2}, 2, __LINE__);
    check_refused(4, 4, 2, (const double[]){3, -2}, 2, __LINE__);
    check_refused(4, 4, 2, (const double[]){INFINITY, 1}, 2, __LINE__);
}

/* Nested cuts, deeper than in any real plan: it ends in time, and every cell still has one
 * owner. */
static void long_chain(void)
{
    enum { MANY = 1500, SIDES = 200 };
    static double areas[MANY];
    static int32_t plan[2 * MANY], workers[2 * MANY];
    static int64_t rects[8 * MANY];
    static char cells[SIDES][SIDES];
    const int32_t count = CHECK_MANY(MANY, 700);
    int32_t length = 0;
    int32_t pieces;
    for (int32_t i = 0; i < count; i++) {
        areas[i] = 1;
        plan[length++] = i;
        if (i > 0) plan[length++] = i % 2 ? HS_BESIDE : HS_ABOVE;
    }
    CHECK(hs_floorplan_tile(SIDES, SIDES, count, areas, plan, length, NULL, workers, rects,
                            &pieces) == HS_OK);
    for (int32_t k = 0; k < pieces; k++)
        for (int64_t y = 0; y < rects[4 * k + 2]; y++)
            for (int64_t x = 0; x < rects[4 * k + 3]; x++)
                CHECK(cells[rects[4 * k] + y][rects[4 * k + 1] + x]++ == 0);
    for (int y = 0; y < SIDES; y++)
        for (int x = 0; x < SIDES; x++) CHECK(cells[y][x] == 1);
}

static void no_memory(void)
{
    const double areas[] = {5, 4, 3, 2, 1, 6, 7, 40, 9, 200};
    const int32_t plan[] = {0, 1,         2, 3,         4, HS_WHEEL, 5,         HS_ABOVE,
                            6, HS_BESIDE, 7, HS_AROUND, 8, 9,        HS_CORNERS};
    int32_t workers[20] = {-7};
    int32_t pieces = -7;
    int64_t rects[80] = {-7};
    CHECK_SCARCE(hs_floorplan_tile(50, 60, 10, areas, plan, 15, NULL, workers, rects, &pieces),
                 workers[0] == -7 && pieces == -7 && rects[0] == -7);
}

int main(void)
{
    paper_example();
    small_cases();
    random_tilings();
    one_cell_each();
    long_chain();
    refusals();
    no_memory();
    return check_result();
}
