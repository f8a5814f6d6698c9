/* hs_cuboid_boxes and hs_tile_cuboids: random trees painted cell by cell, the limits on sides and
 * load, every refusal. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 40, SIDE = 12 };
static const int64_t LARGEST = INT64_C(1) << 53;

/* Makes a random tree of the workers with volume; returns its length. */
static int32_t random_tree(int32_t p, const double *volumes, int32_t *tree)
{
    int32_t left[MAX];
    int32_t count = 0;
    int32_t length = 0;
    int32_t waiting = 0;
    for (int32_t i = 0; i < p; i++)
        if (volumes[i] > 0) left[count++] = i;
    while (count > 0 || waiting > 1)
        if (count > 0 && (waiting < 2 || check_random(2))) {
            int32_t i = (int32_t)check_random((unsigned)count);
            tree[length++] = left[i];
            left[i] = left[--count];
            waiting++;
        } else {
            tree[length++] = -1 - (int32_t)check_random(3);
            waiting--;
        }
    return length;
}

static void known_boxes(void)
{
    const double volumes[] = {1, 2, 0, 5};
    const double wanted[] = {0, 0, 0, 0.375, 1, 1. / 3, 0,     0, 1. / 3, 0.375, 1, 2. / 3,
                             0, 0, 0, 0,     0, 0,      0.375, 0, 0,      0.625, 1, 1};
    const int32_t tree[] = {0, 1, -3, 3, -1}; /* 0 before 1 in depth, both above 3 */
    double boxes[24];
    int64_t cells[24];
    const int64_t in_cells[] = {0, 0, 0, 3, 7, 2, 0, 0, 2, 3, 7, 4,
                                0, 0, 0, 0, 0, 0, 3, 0, 0, 5, 7, 6};
    CHECK(hs_cuboid_boxes(4, volumes, tree, 5, boxes) == HS_OK);
    for (int i = 0; i < 24; i++) CHECK(fabs(boxes[i] - wanted[i]) < 1e-15);
    CHECK(hs_tile_cuboids(8, 7, 6, 4, volumes, tree, 5, NULL, cells) == HS_OK);
    CHECK(memcmp(cells, in_cells, sizeof cells) == 0);

    const int32_t columns[] = {3, 1, -2}; /* workers may be missing */
    CHECK(hs_cuboid_boxes(4, volumes, columns, 3, boxes) == HS_OK);
    CHECK(boxes[5] == 0 && fabs(boxes[7] - 5. / 7) < 1e-15 && fabs(boxes[10] - 2. / 7) < 1e-15);
    /* the only cell goes to the larger volume */
    CHECK(hs_tile_cuboids(1, 1, 1, 4, volumes, columns, 3, NULL, cells) == HS_OK);
    CHECK(cells[21] == 1 && cells[9] == 0);
    /* two cells for three workers: of the equally good cuts, the one nearest to the ideal */
    const double equal[] = {1, 1, 1};
    CHECK(hs_tile_cuboids(2, 1, 1, 3, equal, (const int32_t[]){0, 1, -1, 2, -1}, 5, NULL, cells) ==
          HS_OK);
    CHECK(cells[15] == 1 && cells[12] == 1);
    CHECK(hs_tile_cuboids(LARGEST, LARGEST, LARGEST, 4, volumes, columns, 3, NULL, cells) == HS_OK);
    CHECK(cells[21] == LARGEST && cells[23] == LARGEST && cells[22] + cells[10] == LARGEST &&
          cells[7] == cells[22]);
}

static int covers_exactly(const int64_t shape[3], int32_t p, const int64_t *boxes)
{
    static int cells[SIDE][SIDE][SIDE];
    memset(cells, 0, sizeof cells);
    for (int32_t i = 0; i < p; i++) {
        const int64_t *b = boxes + 6 * i;
        for (int q = 0; q < 3; q++)
            if (b[q] < 0 || b[q + 3] < 0 || b[q] + b[q + 3] > shape[q] ||
                (b[q + 3] == 0) != (b[3] == 0))
                return 0;
        if (b[3] == 0 && (b[0] || b[1] || b[2])) return 0;
        for (int64_t x = b[0]; x < b[0] + b[3]; x++)
            for (int64_t y = b[1]; y < b[1] + b[4]; y++)
                for (int64_t z = b[2]; z < b[2] + b[5]; z++) cells[x][y][z]++;
    }
    for (int64_t x = 0; x < shape[0]; x++)
        for (int64_t y = 0; y < shape[1]; y++)
            for (int64_t z = 0; z < shape[2]; z++)
                if (cells[x][y][z] != 1) return 0;
    return 1;
}

static void random_trees(void)
{
    double volumes[MAX], boxes[6 * MAX];
    int64_t cells[6 * MAX];
    int32_t tree[2 * MAX];
    for (int round = 0; round < 1500; round++) {
        int32_t p = 1 + (int32_t)check_random(round % 2 ? MAX : 6);
        double total = 0;
        double sum = 0;
        for (int32_t i = 0; i < p; i++) {
            volumes[i] = 1;
            if (round % 3 == 1) volumes[i] = check_random(5);
            if (round % 3 == 2) volumes[i] = pow(10, (int)check_random(20) - 10);
        }
        volumes[check_random((unsigned)p)] = 3;
        for (int32_t i = 0; i < p; i++) total += volumes[i];
        int32_t length = random_tree(p, volumes, tree);
        if (!CHECK(hs_cuboid_boxes(p, volumes, tree, length, boxes) == HS_OK)) return;
        for (int32_t i = 0; i < p; i++) {
            const double *b = boxes + 6 * i;
            double volume = b[3] * b[4] * b[5];
            sum += volume;
            CHECK(fabs(volume - volumes[i] / total) <= 1e-12 * volume);
            for (int q = 0; q < 3; q++) CHECK(b[q] >= 0 && b[q] + b[q + 3] <= 1 + 1e-12);
            for (int32_t j = 0; j < i && volume > 0; j++) {
                const double *c = boxes + 6 * j;
                int apart = c[3] == 0;
                for (int q = 0; q < 3; q++)
                    apart |= b[q] + b[q + 3] <= c[q] + 1e-12 || c[q] + c[q + 3] <= b[q] + 1e-12;
                CHECK(apart);
            }
        }
        CHECK(fabs(sum - 1) < 1e-12);

        int64_t shape[] = {1 + check_random(SIDE), 1 + check_random(SIDE), 1 + check_random(SIDE)};
        memset(cells, 0x55, sizeof cells);
        if (!CHECK(hs_tile_cuboids(shape[0], shape[1], shape[2], p, volumes, tree, length, NULL,
                                   cells) == HS_OK))
            return;
        CHECK(covers_exactly(shape, p, cells));
        for (int32_t i = 0; i < p; i++) /* each side within 2 of its ideal */
            for (int q = 3; q < 6 && cells[6 * i + 3]; q++)
                CHECK(fabs((double)cells[6 * i + q] - boxes[6 * i + q] * (double)shape[q - 3]) <=
                      2 + 1e-9);
    }
}

static void extremes(void)
{
    const double volumes[] = {DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 1};
    const int32_t tree[] = {0, 1, -1, 2, 3, -2, -3};
    double boxes[24];
    int64_t cells[24];
    CHECK(hs_cuboid_boxes(4, volumes, tree, 7, boxes) == HS_OK);
    for (int i = 0; i < 24; i++) CHECK(boxes[i] >= 0 && boxes[i] <= 1);
    CHECK(hs_tile_cuboids(3, 4, 5, 4, volumes, tree, 7, NULL, cells) == HS_OK);
    int64_t sum = 0;
    for (int i = 0; i < 4; i++) sum += cells[6 * i + 3] * cells[6 * i + 4] * cells[6 * i + 5];
    CHECK(sum == 60 && cells[3] * cells[4] * cells[5] == 60);
    CHECK(hs_tile_cuboids(LARGEST, LARGEST, LARGEST, 4, volumes, tree, 7, NULL, cells) == HS_OK);
}

static void check_refused(int32_t p, const double *volumes, const int32_t *tree, int32_t length,
                          int line)
{
    double boxes[24];
    int64_t cells[24];
    boxes[0] = cells[0] = -7;
    check_that(hs_cuboid_boxes(p, volumes, tree, length, boxes) == HS_ERROR_VALUE, "boxes refused",
               __FILE__, line);
    check_that(hs_tile_cuboids(4, 4, 4, p, volumes, tree, length, NULL, cells) == HS_ERROR_VALUE,
               "tiles refused", __FILE__, line);
    check_that(boxes[0] == -7 && cells[0] == -7, "outputs untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2, 0};
    check_refused(3, good, (const int32_t[]){0}, 0, __LINE__);
    check_refused(3, good, (const int32_t[]){0, 1}, 2, __LINE__);
    check_refused(0, good, (const int32_t[]){0}, 1, __LINE__);
    check_refused(3, good, (const int32_t[]){0, 1, -4}, 3, __LINE__);
    check_refused(3, good, (const int32_t[]){0, 1, 1}, 3, __LINE__);
    check_refused(3, good, (const int32_t[]){0, 0, -1}, 3, __LINE__);
    check_refused(3, good, (const int32_t[]){0, 2, -1}, 3, __LINE__);
    check_refused(3, good, (const int32_t[]){0, 3, -1}, 3, __LINE__);
    check_refused(3, good, (const int32_t[]){0, -1, 1}, 3, __LINE__);
    check_refused(3, good, (const int32_t[]){-1, -1, -1}, 3, __LINE__);
    check_refused(1, good, (const int32_t[]){0, 1, -1}, 3, __LINE__);
    check_refused(3, (const double[]){1, 2, 3}, (const int32_t[]){0, 1, 2}, 3, __LINE__);
    check_refused(3, (const double[]){1, -2, 0}, (const int32_t[]){0}, 1, __LINE__);
    check_refused(3, (const double[]){1, NAN, 0}, (const int32_t[]){0}, 1, __LINE__);
    check_refused(3, (const double[]){1, INFINITY, 0}, (const int32_t[]){0}, 1, __LINE__);

    int64_t cells[18];
    cells[0] = -7;
    const int64_t bad[] = {0, -1, LARGEST + 1};
    for (int i = 0; i < 3; i++) {
        CHECK(hs_tile_cuboids(bad[i], 4, 4, 3, good, (const int32_t[]){0}, 1, NULL, cells) ==
              HS_ERROR_VALUE);
        CHECK(hs_tile_cuboids(4, bad[i], 4, 3, good, (const int32_t[]){0}, 1, NULL, cells) ==
              HS_ERROR_VALUE);
        CHECK(hs_tile_cuboids(4, 4, bad[i], 3, good, (const int32_t[]){0}, 1, NULL, cells) ==
              HS_ERROR_VALUE);
    }
    CHECK(cells[0] == -7);
}

static void scarce(void)
{
    const double volumes[] = {1, 2, 3};
    const int32_t tree[] = {0, 1, -1, 2, -3};
    double boxes[18] = {-7};
    int64_t cells[18] = {-7};
    CHECK_SCARCE(hs_cuboid_boxes(3, volumes, tree, 5, boxes), boxes[0] == -7);
    CHECK_SCARCE(hs_tile_cuboids(4, 5, 6, 3, volumes, tree, 5, NULL, cells), cells[0] == -7);
}

int main(void)
{
    scarce();
    known_boxes();
    random_trees();
    extremes();
    refusals();
    return check_result();
}
