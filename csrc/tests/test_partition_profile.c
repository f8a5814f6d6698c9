/* hs_partition_profile: against all tilings of small matrices, in each class; known optima, the
 * matrices of one row, every refusal. hs_zone_times: planes, points, what does not fit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX_P = 4, SIDE = 4 };

/* ---- all tilings, by the first empty cell ---------------------------------------------------- */

typedef struct {
    int64_t m, n;
    int32_t p;
    const double *times;
    int64_t zones[4 * MAX_P]; /* all 0 without a zone */
    /* of all tilings, of guillotine tilings, of full columns, of full rows */
    double makespan[4];
    int64_t cost[4]; /* least sum of half perimeters of the least makespan */
} oracle;

enum { ANY, GUILLOTINE, COLUMNS, ROWS };

static double time_of(const oracle *o, int32_t i, int64_t h, int64_t w)
{
    return o->times[(i * o->m + h - 1) * o->n + w - 1];
}

/* Returns whether the zones inside a box can be cut apart from side to side. */
static int is_guillotine(const oracle *o, int64_t row, int64_t col, int64_t h, int64_t w)
{
    int inside = 0;
    for (int32_t i = 0; i < o->p; i++) {
        const int64_t *z = o->zones + 4 * i;
        inside +=
            z[2] && z[0] >= row && z[1] >= col && z[0] + z[2] <= row + h && z[1] + z[3] <= col + w;
    }
    if (inside <= 1) return 1;
    for (int axis = 0; axis < 2; axis++)
        for (int64_t at = 1; at < (axis ? w : h); at++) {
            const int64_t line = (axis ? col : row) + at;
            int crossed = 0;
            for (int32_t i = 0; i < o->p; i++) {
                const int64_t *z = o->zones + 4 * i;
                const int here = z[2] && z[0] < row + h && z[0] + z[2] > row && z[1] < col + w &&
                                 z[1] + z[3] > col;
                crossed |= here && z[axis] < line && z[axis] + z[2 + axis] > line;
            }
            if (crossed) continue;
            return axis ? is_guillotine(o, row, col, h, at) &&
                              is_guillotine(o, row, col + at, h, w - at)
                        : is_guillotine(o, row, col, at, w) &&
                              is_guillotine(o, row + at, col, h - at, w);
        }
    return 0;
}

/* Returns whether zones that overlap along an axis have the same place and length there. */
static int is_strips(const oracle *o, int axis)
{
    for (int32_t i = 0; i < o->p; i++)
        for (int32_t j = 0; j < i; j++) {
            const int64_t *a = o->zones + 4 * i;
            const int64_t *b = o->zones + 4 * j;
            if (!a[2] || !b[2]) continue;
            const int apart = a[axis] >= b[axis] + b[2 + axis] || b[axis] >= a[axis] + a[2 + axis];
            if (!apart && (a[axis] != b[axis] || a[2 + axis] != b[2 + axis])) return 0;
        }
    return 1;
}

static void note_tiling(oracle *o)
{
    double makespan = 0.0;
    int64_t cost = 0;
    for (int32_t i = 0; i < o->p; i++) {
        const int64_t *z = o->zones + 4 * i;
        if (z[2]) makespan = fmax(makespan, time_of(o, i, z[2], z[3]));
        cost += z[2] + z[3];
    }
    const int member[] = {1, is_guillotine(o, 0, 0, o->m, o->n), is_strips(o, 1), is_strips(o, 0)};
    for (int k = 0; k < 4; k++) {
        if (!member[k] || makespan > o->makespan[k]) continue;
        if (makespan < o->makespan[k] || cost < o->cost[k]) o->cost[k] = cost;
        o->makespan[k] = makespan;
    }
}

static void tile_rest(oracle *o, unsigned *grid)
{
    int64_t row = 0;
    int64_t col = 0;
    const unsigned full = (1u << o->n) - 1;
    while (row < o->m && grid[row] == full) row++;
    if (row == o->m) {
        note_tiling(o);
        return;
    }
    while (grid[row] >> col & 1) col++;
    for (int32_t i = 0; i < o->p; i++) {
        int64_t *z = o->zones + 4 * i;
        if (z[2]) continue;
        for (int64_t w = 1; col + w <= o->n && !(grid[row] >> (col + w - 1) & 1); w++) {
            const unsigned bits = ((1u << w) - 1) << col;
            for (int64_t h = 1; row + h <= o->m && !(grid[row + h - 1] & bits); h++) {
                if (isinf(time_of(o, i, h, w))) continue;
                for (int64_t r = row; r < row + h; r++) grid[r] |= bits;
                memcpy(z, (int64_t[]){row, col, h, w}, 4 * sizeof *z);
                tile_rest(o, grid);
                for (int64_t r = row; r < row + h; r++) grid[r] &= ~bits;
            }
        }
        memset(z, 0, 4 * sizeof *z);
    }
}

static oracle all_tilings(int64_t m, int64_t n, int32_t p, const double *times)
{
    oracle o = {.m = m, .n = n, .p = p, .times = times};
    for (int k = 0; k < 4; k++) o.makespan[k] = INFINITY;
    unsigned grid[SIDE + 1] = {0};
    tile_rest(&o, grid);
    return o;
}

/* Checks that zones tile the matrix; returns their makespan, and their cost in *cost. */
static double check_zones(int64_t m, int64_t n, int32_t p, const double *times,
                          const int64_t *zones, int64_t *cost)
{
    static char taken[60 * 60];
    memset(taken, 0, (size_t)(m * n));
    double makespan = 0.0;
    int64_t cells = 0;
    *cost = 0;
    for (int32_t i = 0; i < p; i++) {
        const int64_t *z = zones + 4 * i;
        if (!z[2]) {
            CHECK(!z[0] && !z[1] && !z[3]);
            continue;
        }
        if (!CHECK(z[0] >= 0 && z[1] >= 0 && z[2] > 0 && z[3] > 0 && z[0] + z[2] <= m &&
                   z[1] + z[3] <= n))
            return NAN;
        for (int64_t r = z[0]; r < z[0] + z[2]; r++)
            for (int64_t c = z[1]; c < z[1] + z[3]; c++) cells += !taken[r * n + c]++;
        CHECK(z[2] * z[3] > 0);
        makespan = fmax(makespan, times[(i * m + z[2] - 1) * n + z[3] - 1]);
        *cost += z[2] + z[3];
    }
    CHECK(cells == m * n);
    int64_t sum = 0;
    for (int32_t i = 0; i < p; i++) sum += zones[4 * i + 2] * zones[4 * i + 3];
    CHECK(sum == m * n);
    return makespan;
}

static void check_agreement(int64_t m, int64_t n, int32_t p, const double *times)
{
    const oracle o = all_tilings(m, n, p, times);
    const hs_profile_method methods[] = {HS_PROFILE_GUILLOTINE, HS_PROFILE_COLUMNS, HS_PROFILE_ROWS,
                                         HS_PROFILE_BEST};
    const int classes[] = {GUILLOTINE, COLUMNS, ROWS, GUILLOTINE};
    for (int k = 0; k < 4; k++) {
        hs_profile_method found = HS_PROFILE_BEST;
        int64_t zones[4 * MAX_P] = {-7};
        hs_certificate proof = {.value = -7.0};
        const hs_status status =
            hs_partition_profile(m, n, p, times, methods[k], NULL, NULL, &found, zones, &proof);
        const double best = o.makespan[classes[k]];
        if (isinf(best)) {
            CHECK(status == HS_ERROR_INFEASIBLE && zones[0] == -7 && proof.value == -7.0);
            continue;
        }
        int64_t cost;
        if (!CHECK(status == HS_OK)) continue;
        const double makespan = check_zones(m, n, p, times, zones, &cost);
        CHECK(makespan == best && proof.value == best && *proof.scope);
        CHECK(proof.bound <= o.makespan[ANY] && proof.optimal == (proof.bound == best));
        CHECK(found == (k == 3 ? HS_PROFILE_GUILLOTINE : methods[k]));
        if (classes[k] == GUILLOTINE) CHECK(cost == o.cost[GUILLOTINE] && proof.optimal);
        hs_certificate again;
        CHECK(hs_partition_profile_certificate(m, n, p, times, zones, NULL, &again) == HS_OK);
        CHECK(again.value == best && again.bound <= o.makespan[ANY] && !*again.scope);
    }
}

static void random_tables(void)
{
    static double times[MAX_P * SIDE * SIDE];
    for (int round = 0; round < CHECK_MANY(2000, 30); round++) {
        const int32_t p = 1 + (int32_t)check_random(MAX_P);
        const int64_t m = 1 + check_random(SIDE);
        const int64_t n = 1 + check_random(SIDE - (p > 3));
        const unsigned values = 1 + check_random(20);
        const unsigned holes = check_random(3) ? 0 : 1 + check_random(4);
        const unsigned growth = check_random(2);
        for (int32_t i = 0; i < p; i++)
            for (int64_t h = 1; h <= m; h++)
                for (int64_t w = 1; w <= n; w++)
                    times[(i * m + h - 1) * n + w - 1] =
                        holes && check_random(5) < holes
                            ? INFINITY
                            : 1 + check_random(values) + growth * (double)(h * w);
        check_agreement(m, n, p, times);
    }
}

/* Returns a new table of workers with constant times per cell. */
static double *constant_table(int64_t m, int64_t n, int32_t p, const double *cycle_times)
{
    double *times = malloc((size_t)(p * m * n) * sizeof *times);
    for (int64_t e = 0; times && e < p * m * n; e++)
        times[e] = cycle_times[e / (m * n)] * (double)((e / n % m + 1) * (e % n + 1));
    return times;
}

/* Matrices of one row or one column are dealt as by hs_distribute_profile. */
static void single_rows(void)
{
    enum { N = 50, P = 6 };
    double times[P * (N + 1)], table[P * N];
    for (int round = 0; round < 100; round++) {
        for (int32_t i = 0; i < P; i++)
            for (int64_t x = 1; x <= N; x++) {
                const double time = check_random(4) ? 1 + check_random(100) : INFINITY;
                times[i * (N + 1) + x] = table[i * N + x - 1] = time;
            }
        int64_t counts[P], zones[4 * P];
        double makespan;
        hs_profile_method found;
        hs_certificate proof;
        const hs_status status = hs_distribute_profile(N, P, times, NULL, counts, &makespan);
        for (int down = 0; down < 2; down++) {
            const int64_t m = down ? N : 1;
            const int64_t n = down ? 1 : N;
            for (int method = HS_PROFILE_COLUMNS; method <= HS_PROFILE_ROWS; method++) {
                CHECK(hs_partition_profile(m, n, P, table, (hs_profile_method)method, NULL, NULL,
                                           &found, zones, &proof) == status);
                if (!status) CHECK(proof.value == makespan && proof.bound == makespan);
            }
        }
    }
}

/* Constant speeds with many workers: never below the bound of whole cells, near it, and the same for
 * the same seed. */
static void many_workers(void)
{
    enum { P = 24, SIDES = 60 };
    double cycle_times[P];
    for (int round = 0; round < 4; round += CHECK_MANY(1, 2)) {
        const int64_t m = 20 + check_random(SIDES - 20);
        const int64_t n = 20 + check_random(SIDES - 20);
        for (int32_t i = 0; i < P; i++) cycle_times[i] = 1 + check_random(round < 2 ? 3 : 20);
        double *times = constant_table(m, n, P, cycle_times);
        if (!CHECK(times)) return;
        int64_t zones[2][4 * P], counts[P], cost;
        double makespan;
        hs_profile_method found[2];
        hs_certificate proof[2];
        CHECK(hs_distribute(m * n, P, cycle_times, NULL, counts, &makespan) == HS_OK);
        for (int k = 0; k < 2; k++)
            CHECK(hs_partition_profile(m, n, P, times, HS_PROFILE_BEST, &(hs_effort){.seed = 3},
                                       NULL, &found[k], zones[k], &proof[k]) == HS_OK);
        CHECK(check_zones(m, n, P, times, zones[0], &cost) == proof[0].value);
        CHECK(proof[0].bound >= makespan && proof[0].value >= proof[0].bound);
        CHECK(proof[0].gap < 0.15 && !*proof[0].scope == !proof[0].optimal);
        CHECK(found[0] == found[1] && !memcmp(zones[0], zones[1], sizeof zones[0]));
        free(times);
    }
}

static void brief_efforts(void)
{
    enum { P = 7 };
    const double cycle_times[P] = {1, 2, 3, 4, 5, 6, 7};
    double *times = constant_table(50, 40, P, cycle_times);
    if (!CHECK(times)) return;
    int64_t zones[4 * P], cost;
    hs_profile_method found;
    hs_certificate proof;
    CHECK(hs_partition_profile(50, 40, P, times, HS_PROFILE_COLUMNS,
                               &(hs_effort){.timed = 1, .seconds = 0.01}, NULL, &found, zones,
                               &proof) == HS_OK);
    CHECK(check_zones(50, 40, P, times, zones, &cost) == proof.value);
    free(times);
}

static void between_points(void)
{
    /* 2 + 3 h + 5 w + 7 h w at the points, and so everywhere between them */
    const double heights[] = {1, 4, 9};
    const double widths[] = {1, 10};
    double points[6], times[12 * 12];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 2; b++)
            points[2 * a + b] = 2 + 3 * heights[a] + 5 * widths[b] + 7 * heights[a] * widths[b];
    CHECK(hs_zone_times(3, 2, heights, widths, points, 12, 12, times) == HS_OK);
    for (int h = 1; h <= 12; h++)
        for (int w = 1; w <= 12; w++) {
            const double tall = fmin(h, 9);
            const double wide = fmin(w, 10);
            const double wanted =
                (2 + 3 * tall + 5 * wide + 7 * tall * wide) * (h / tall) * (w / wide);
            CHECK(fabs(times[(h - 1) * 12 + w - 1] - wanted) <= 1e-12 * wanted);
        }
    /* a point that does not fit: nothing between it and its neighbours does */
    points[2 * 1 + 1] = INFINITY;
    CHECK(hs_zone_times(3, 2, heights, widths, points, 12, 12, times) == HS_OK);
    for (int h = 1; h <= 12; h++)
        for (int w = 1; w <= 12; w++)
            CHECK(isinf(times[(h - 1) * 12 + w - 1]) == (h > 1 && h < 9 && w > 1));
    /* one point: constant speed */
    CHECK(hs_zone_times(1, 1, (double[]){2.5}, (double[]){2}, (double[]){10}, 3, 3, times) ==
          HS_OK);
    CHECK(times[8] == 18.0 && times[0] == 2.0);
    const double bad[] = {0, 1, -1, 2, NAN, 1, INFINITY, 3};
    for (int k = 0; k < 4; k++) {
        CHECK(hs_zone_times(2, 1, bad + 2 * k, widths, points, 2, 2, times) == HS_ERROR_VALUE);
        CHECK(hs_zone_times(1, 2, heights, bad + 2 * k, points, 2, 2, times) == HS_ERROR_VALUE);
    }
    points[0] = 0.0;
    CHECK(hs_zone_times(3, 2, heights, widths, points, 2, 2, times) == HS_ERROR_VALUE);
    points[0] = NAN;
    CHECK(hs_zone_times(3, 2, heights, widths, points, 2, 2, times) == HS_ERROR_VALUE);
    points[0] = 1.0;
    CHECK(hs_zone_times(0, 2, heights, widths, points, 2, 2, times) == HS_ERROR_VALUE);
    CHECK(hs_zone_times(3, 2, heights, widths, points, 0, 2, times) == HS_ERROR_VALUE);
    CHECK(hs_zone_times(3, 2, heights, widths, points, 2, INT64_MAX, times) == HS_ERROR_VALUE);
}

static hs_status plan(int64_t m, int64_t n, int32_t p, const double *times, int method,
                      const hs_effort *effort)
{
    hs_profile_method found = HS_PROFILE_BEST;
    int64_t zones[8] = {-7};
    hs_certificate proof = {.value = -7.0};
    const hs_status status = hs_partition_profile(m, n, p, times, (hs_profile_method)method, effort,
                                                  NULL, &found, zones, &proof);
    CHECK(!status || (zones[0] == -7 && proof.value == -7.0 && found == HS_PROFILE_BEST));
    return status;
}

static void refusals(void)
{
    double times[] = {1, 2, 3, 4, 1, 2, 3, 4};
    CHECK(plan(2, 2, 2, times, HS_PROFILE_BEST, NULL) == HS_OK);
    CHECK(plan(0, 2, 2, times, HS_PROFILE_BEST, NULL) == HS_ERROR_VALUE);
    CHECK(plan(2, -1, 2, times, HS_PROFILE_BEST, NULL) == HS_ERROR_VALUE);
    CHECK(plan(2, 2, 0, times, HS_PROFILE_BEST, NULL) == HS_ERROR_VALUE);
    CHECK(plan(INT64_MAX, 2, 2, times, HS_PROFILE_BEST, NULL) == HS_ERROR_VALUE);
    CHECK(plan(INT32_MAX, INT32_MAX, 2, times, HS_PROFILE_BEST, NULL) == HS_ERROR_VALUE);
    CHECK(plan(2, 2, 2, times, -1, NULL) == HS_ERROR_VALUE);
    CHECK(plan(2, 2, 2, times, 4, NULL) == HS_ERROR_VALUE);
    CHECK(plan(2, 2, 2, times, 0, &(hs_effort){.timed = 1, .seconds = -1}) == HS_ERROR_VALUE);
    for (int k = 0; k < 3; k++) {
        times[5] = (const double[]){0.0, -1.0, NAN}[k];
        CHECK(plan(2, 2, 2, times, HS_PROFILE_BEST, NULL) == HS_ERROR_VALUE);
    }
    for (int k = 0; k < 8; k++) times[k] = INFINITY;
    CHECK(plan(2, 2, 2, times, HS_PROFILE_BEST, NULL) == HS_ERROR_INFEASIBLE);
    times[2] = times[5] = 1.0; /* 2 x 1 and 1 x 2: the area is enough, the sides do not match */
    CHECK(plan(2, 2, 2, times, HS_PROFILE_BEST, NULL) == HS_ERROR_INFEASIBLE);
    CHECK(plan(2, 2, 2, times, HS_PROFILE_ROWS, NULL) == HS_ERROR_INFEASIBLE);
    times[6] = 7.0;
    CHECK(plan(2, 2, 2, times, HS_PROFILE_COLUMNS, NULL) == HS_OK);
    CHECK(plan(2, 2, 2, times, HS_PROFILE_ROWS, NULL) == HS_OK); /* a single row */

    const int64_t tiles[] = {0, 0, 2, 1, 0, 1, 2, 1};
    const int64_t outside[] = {0, 0, 2, 1, 0, 1, 2, 2};
    const int64_t few[] = {0, 0, 2, 1, 0, 1, 1, 1};
    const int64_t flat[] = {0, 0, 2, 2, 0, 0, 0, 0};
    hs_certificate proof;
    CHECK(hs_partition_profile_certificate(2, 2, 2, times, tiles, NULL, &proof) == HS_OK &&
          proof.value == 7.0 && proof.bound == 1.0 && !proof.optimal);
    CHECK(hs_partition_profile_certificate(2, 2, 2, times, outside, NULL, &proof) ==
          HS_ERROR_VALUE);
    CHECK(hs_partition_profile_certificate(2, 2, 2, times, few, NULL, &proof) == HS_ERROR_VALUE);
    CHECK(hs_partition_profile_certificate(2, 2, 2, times, flat, NULL, &proof) ==
          HS_ERROR_INFEASIBLE);
}

/* The method "guillotine" is for small problems, "best" for any. */
static void large(void)
{
    enum { P = 10 };
    double cycle_times[P];
    for (int32_t i = 0; i < P; i++) cycle_times[i] = 1 + i;
    double *times = constant_table(50, 50, P, cycle_times);
    if (!CHECK(times)) return;
    hs_profile_method found = HS_PROFILE_BEST;
    int64_t zones[4 * P];
    hs_certificate proof;
    CHECK(hs_partition_profile(50, 50, P, times, HS_PROFILE_GUILLOTINE, NULL, NULL, &found, zones,
                               &proof) == HS_ERROR_UNSUPPORTED);
    CHECK(hs_partition_profile(50, 50, P, times, HS_PROFILE_BEST, NULL, NULL, &found, zones,
                               &proof) == HS_OK);
    CHECK(found == HS_PROFILE_COLUMNS || found == HS_PROFILE_ROWS);
    free(times);
}

static void scarce(void)
{
    const double times[] = {1, 2, 2, 4, 1, 2, 2, 4};
    const hs_profile_method methods[] = {HS_PROFILE_COLUMNS, HS_PROFILE_GUILLOTINE};
    for (int k = 0; k < 2; k++) {
        hs_profile_method found;
        int64_t zones[8] = {-7};
        hs_certificate proof = {.value = -7.0};
        CHECK_SCARCE(
            hs_partition_profile(2, 2, 2, times, methods[k], NULL, NULL, &found, zones, &proof),
            zones[0] == -7 && proof.value == -7.0);
    }
}

int main(void)
{
    scarce();
    random_tables();
    single_rows();
    many_workers();
    brief_efforts();
    between_points();
    refusals();
    large();
    return check_result();
}
