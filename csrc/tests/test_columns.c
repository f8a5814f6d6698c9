/* hs_partition_columns: the paper's example, against every structure for few workers and against a
 * plain recurrence for many, limits on columns and rows, every refusal. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 400 };

static int by_value(const void *x, const void *y)
{
    const double *a = x;
    const double *b = y;
    return (*a > *b) - (*a < *b);
}

/* Sorts the positive areas in ascending order, scaled to sum 1; returns their number. */
static int32_t sorted_shares(int32_t p, const double *areas, double *shares)
{
    int32_t size = 0;
    double total = 0;
    for (int32_t i = 0; i < p; i++)
        if (areas[i] > 0) total += shares[size++] = areas[i];
    qsort(shares, (size_t)size, sizeof *shares, by_value);
    for (int32_t i = 0; i < size; i++) shares[i] /= total;
    return size;
}

/* Returns the least cost over all 2^(size - 1) ways to cut the sorted shares. */
static double every_structure(int32_t size, const double *shares, int32_t max_columns,
                              int32_t max_rows)
{
    double best = INFINITY;
    for (unsigned cuts = 0; cuts < 1u << (size - 1); cuts++) {
        double cost = 0;
        double width = 0;
        int32_t rows = 0;
        int32_t columns = 0;
        int32_t allowed = 1;
        for (int32_t i = 0; i < size; i++) {
            width += shares[i];
            rows++;
            if (i < size - 1 && !(cuts >> i & 1)) continue;
            cost += 1 + width * rows;
            allowed &= rows <= max_rows;
            columns++;
            rows = 0;
            width = 0;
        }
        if (allowed && columns <= max_columns && cost < best) best = cost;
    }
    return best;
}

/* Returns the same by the recurrence over columns and parts, in O(max_columns size^2). */
static double least_cost_in(int32_t size, const double *shares, int32_t min_columns,
                            int32_t max_columns, int32_t max_rows, double aspect)
{
    static double prefix[MAX + 1], now[MAX + 1], next[MAX + 1];
    double best = INFINITY;
    for (int32_t q = 0; q < size; q++) prefix[q + 1] = prefix[q] + shares[q];
    for (int32_t q = 0; q <= size; q++) now[q] = q ? INFINITY : 0;
    for (int32_t columns = 1; columns <= max_columns; columns++) {
        next[0] = INFINITY;
        for (int32_t q = 1; q <= size; q++) {
            next[q] = INFINITY;
            for (int32_t a = q > max_rows ? q - max_rows : 0; a < q; a++)
                next[q] = fmin(next[q], now[a] + 1 / sqrt(aspect) +
                                            (prefix[q] - prefix[a]) * (q - a) * sqrt(aspect));
        }
        memcpy(now, next, sizeof now);
        if (columns >= min_columns) best = fmin(best, now[size]);
    }
    return best;
}

static double least_cost(int32_t size, const double *shares, int32_t max_columns, int32_t max_rows)
{
    return least_cost_in(size, shares, 1, max_columns, max_rows, 1.0);
}

/* Returns whether order and column_start are a structure within the limits, with cost the sum of
 * its half perimeters. */
static int is_structure(int32_t p, const double *areas, int32_t max_columns, int32_t max_rows,
                        const int32_t *order, const int32_t *start, int32_t columns, double cost)
{
    static char seen[MAX];
    memset(seen, 0, sizeof seen);
    double total = 0;
    double sum = 0;
    int32_t size = 0;
    for (int32_t i = 0; i < p; i++) {
        total += areas[i];
        size += areas[i] > 0;
    }
    if (columns < 1 || columns > max_columns || start[0] != 0 || start[columns] != size) return 0;
    for (int32_t j = 0; j < columns; j++) {
        int32_t rows = start[j + 1] - start[j];
        double width = 0;
        if (rows < 1 || rows > max_rows) return 0;
        for (int32_t q = start[j]; q < start[j + 1]; q++) {
            if (order[q] < 0 || order[q] >= p || seen[order[q]]++ || !(areas[order[q]] > 0))
                return 0;
            width += areas[order[q]] / total;
        }
        sum += 1 + width * rows;
    }
    return fabs(sum - cost) <= 1e-12 * sum;
}

/* Returns the least cost, or -1 after a failure, which has been reported. */
static double solve_columns(int32_t p, const double *areas, int32_t max_columns, int32_t max_rows)
{
    static int32_t order[MAX], start[MAX + 1];
    int32_t columns = -1;
    double cost = -1;
    hs_status status = hs_partition_columns(p, areas, 1.0, 1, max_columns, max_rows, NULL, order,
                                            start, &columns, &cost);
    if (!CHECK(status == HS_OK)) return -1;
    if (!CHECK(is_structure(p, areas, max_columns, max_rows, order, start, columns, cost)))
        return -1;
    return cost;
}

static void paper_example(void)
{
    const double areas[] = {0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3};
    const double least[] = {9, 5.76, 5.5};
    int32_t order[8], start[9], columns;
    double cost;
    CHECK(hs_partition_columns(8, areas, 1.0, 1, 8, 8, NULL, order, start, &columns, &cost) ==
          HS_OK);
    CHECK(fabs(cost - 5.5) < 1e-12);
    CHECK(columns == 3 && start[0] == 0 && start[1] == 3 && start[2] == 6 && start[3] == 8);
    for (int32_t i = 0; i < 8; i++) CHECK(order[i] == i);
    for (int32_t limit = 1; limit <= 3; limit++)
        CHECK(fabs(solve_columns(8, areas, limit, 8) - least[limit - 1]) < 1e-12);
    CHECK(fabs(solve_columns(8, areas, 8, 1) - 9) < 1e-12);

    /* Ties in area are in the order of the indices; zeros are left out. */
    const double shuffled[] = {0.3, 0, 0.1, 0.05, 0.2, 0.1, 0, 0.12, 0.08, 0.05};
    const int32_t wanted[] = {3, 9, 8, 2, 5, 7, 4, 0};
    int32_t order_10[10], start_10[11];
    CHECK(hs_partition_columns(10, shuffled, 1.0, 1, 10, 10, NULL, order_10, start_10, &columns,
                               &cost) == HS_OK);
    CHECK(columns == 3 && memcmp(start_10, start, 4 * sizeof *start) == 0);
    CHECK(memcmp(order_10, wanted, sizeof wanted) == 0);
    CHECK(fabs(cost - 5.5) < 1e-12);
}

/* Table 2: the first q areas in a box of height 1 and of their width, in a given number of columns.
 * The paper's values are rounded to two decimals. */
static void table_2(void)
{
    const double areas[] = {0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3};
    const double printed[8][8] = {{1.05, 1.2, 1.54, 2.12, 2.9, 4, 5.9, 9},
                                  {2.1, 2.28, 2.56, 2.94, 3.5, 4.38, 5.76},
                                  {3.18, 3.38, 3.66, 4, 4.58, 5.5},
                                  {4.28, 4.48, 4.78, 5.2, 5.88},
                                  {5.38, 5.6, 5.98, 6.5},
                                  {6.5, 6.8, 7.28},
                                  {7.7, 8.1},
                                  {9}};
    for (int32_t columns = 1; columns <= 8; columns++) {
        double width = 0;
        for (int32_t q = 1; q <= 8; q++) {
            width += areas[q - 1];
            if (q < columns) continue;
            int32_t order[8], start[9], used;
            double cost;
            if (!CHECK(hs_partition_columns(q, areas, 1.0, columns, columns, q, NULL, order, start,
                                            &used, &cost) == HS_OK))
                return;
            CHECK(used == columns);
            /* the square, made as wide as the areas are together */
            const double value = columns + width * (cost - columns);
            CHECK(fabs(value - (columns == 8 ? 9 : printed[columns - 1][q - columns])) <= 0.005);
        }
    }
}

/* A given number of columns: the best of all structures that have it, against a recurrence. */
static void fixed_numbers(void)
{
    static double areas[MAX], shares[MAX];
    static int32_t order[MAX], start[MAX + 1];
    for (int round = 0; round < CHECK_MANY(40, 10); round++) {
        const int32_t p = 1 + (int32_t)check_random(40);
        const int32_t rows = round % 2 ? p : 1 + (int32_t)check_random(p);
        for (int32_t i = 0; i < p; i++)
            areas[i] =
                round % 3 ? (double)check_random(5) : pow(10, (double)check_random(100) / 20);
        areas[0] = 1;
        const int32_t size = sorted_shares(p, areas, shares);
        for (int32_t columns = 1; columns <= size + 1; columns++) {
            int32_t used;
            double cost;
            /* boxes in which a column costs nearly nothing, or everything */
            for (int k = 0; k < 2; k++) {
                const hs_status extreme =
                    hs_partition_columns(p, areas, k ? 1e150 : 1e-200, columns, columns, rows, NULL,
                                         order, start, &used, &cost);
                if (extreme) continue;
                CHECK(used == columns && start[0] == 0 && start[used] == size);
                for (int32_t j = 0; j < used; j++)
                    CHECK(start[j + 1] > start[j] && start[j + 1] - start[j] <= rows);
            }
            const hs_status status = hs_partition_columns(p, areas, 1.0, columns, columns, rows,
                                                          NULL, order, start, &used, &cost);
            CHECK(
                status ==
                (columns <= size && (int64_t)columns * rows >= size ? HS_OK : HS_ERROR_INFEASIBLE));
            if (status) continue;
            CHECK(used == columns &&
                  is_structure(p, areas, columns, rows, order, start, used, cost));
            const double least = least_cost_in(size, shares, columns, columns, rows, 1.0);
            CHECK(fabs(cost - least) <= 1e-11 * least);
        }
    }
}

static void known_values(void)
{
    double equal[100];
    for (int i = 0; i < 100; i++) equal[i] = 3.7;
    CHECK(fabs(solve_columns(1, equal, 1, 1) - 2) < 1e-12);
    CHECK(fabs(solve_columns(9, equal, 9, 9) - 6) < 1e-12);
    CHECK(fabs(solve_columns(100, equal, 100, 100) - 20) < 1e-12);
    CHECK(fabs(solve_columns(100, equal, 1, 100) - 101) < 1e-12);
    CHECK(fabs(solve_columns(100, equal, 100, 1) - 101) < 1e-12);
    CHECK(fabs(solve_columns(100, equal, 10, 10) - 20) < 1e-12);
    CHECK(fabs(solve_columns(100, equal, 5, 20) - 25) < 1e-12);
    CHECK(fabs(solve_columns(100, equal, 20, 5) - 25) < 1e-12);
    /* Here a later cut wins only because the earlier one has too many rows. */
    const double few_rows[] = {3, 2, 4, 4, 2, 1, 3, 2, 3, 3, 2, 2, 1, 4};
    CHECK(fabs(solve_columns(14, few_rows, 14, 5) - 89.0 / 12) < 1e-12);
    const double apart[] = {1e-300, 1, 1e-300};
    CHECK(fabs(solve_columns(3, apart, 3, 3) - 3) < 1e-12);
    const double tiny[] = {DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN};
    CHECK(fabs(solve_columns(4, tiny, 4, 4) - 4) < 1e-12);
}

static double random_area(int kind)
{
    switch (kind) {
    case 0: return (double)check_random(4);
    case 1: return 1 + (double)check_random(20);
    case 2: return pow(10, (int)check_random(17) - 8);
    default: return (1 + check_random(1u << 30)) * 0x1p-30;
    }
}

static void every_small_case(void)
{
    double areas[9], shares[9];
    for (int round = 0; round < CHECK_MANY(400, 80); round++) {
        int32_t p = 1 + (int32_t)check_random(9);
        for (int32_t i = 0; i < p; i++) areas[i] = random_area(round % 4);
        areas[check_random((unsigned)p)] = 2.5; /* never all zero */
        int32_t size = sorted_shares(p, areas, shares);
        for (int32_t max_columns = 1; max_columns <= p; max_columns++)
            for (int32_t max_rows = (size + max_columns - 1) / max_columns; max_rows <= p;
                 max_rows++) {
                double best = every_structure(size, shares, max_columns, max_rows);
                CHECK(fabs(solve_columns(p, areas, max_columns, max_rows) - best) <= 1e-12 * best);
            }
    }
}

static void many_areas(void)
{
    static double areas[MAX], shares[MAX];
    for (int round = 0; round < CHECK_MANY(24, 6); round++) {
        int32_t p = MAX - (int32_t)check_random(100);
        int32_t limit = 1 + (int32_t)check_random(30);
        int32_t rows = p / 25 + (int32_t)check_random(30); /* at most 30 columns are needed */
        for (int32_t i = 0; i < p; i++) areas[i] = random_area(round % 4);
        int32_t size = sorted_shares(p, areas, shares);
        double best = least_cost(size, shares, 60, size);
        double limited = least_cost(size, shares, limit, size);
        /* the best structure has fewer than 60 columns */
        CHECK(fabs(solve_columns(p, areas, p, p) - best) <= 1e-12 * best);
        CHECK(fabs(solve_columns(p, areas, limit, p) - limited) <= 1e-12 * limited);
        double low = least_cost(size, shares, 60, rows);
        double both = least_cost(size, shares, 30, rows);
        CHECK(fabs(solve_columns(p, areas, 60, rows) - low) <= 1e-12 * low);
        CHECK(fabs(solve_columns(p, areas, 30, rows) - both) <= 1e-12 * both);
    }
}

/* Wide boxes need many columns, and many numbers of columns then cost the same per column. The
 * limit lies between them. */
static void wide_boxes(void)
{
    static double areas[MAX], shares[MAX];
    for (int round = 0; round < CHECK_MANY(60, 12); round++) {
        const int32_t p = 20 + (int32_t)check_random(120);
        const int32_t rows = round % 2 ? p : 4 + (int32_t)check_random(6);
        const double aspect = (const double[]){4, 9, 30, 0.5}[round % 4];
        for (int32_t i = 0; i < p; i++) areas[i] = round % 3 ? 1 + check_random(2) : 1;
        const int32_t size = sorted_shares(p, areas, shares);
        for (int32_t limit = (size + rows - 1) / rows; limit <= size && limit < 60; limit++) {
            static int32_t order[MAX], start[MAX + 1];
            int32_t columns;
            double cost;
            double total = 0;
            if (!CHECK(hs_partition_columns(p, areas, aspect, 1, limit, rows, NULL, order, start,
                                            &columns, &cost) == HS_OK))
                return;
            CHECK(columns <= limit);
            /* the measured cost is the claimed cost */
            for (int32_t j = 0; j < columns; j++) {
                double width = 0;
                CHECK(start[j + 1] > start[j] && start[j + 1] - start[j] <= rows);
                for (int32_t q = start[j]; q < start[j + 1]; q++) width += shares[q];
                total += 1 / sqrt(aspect) + width * (start[j + 1] - start[j]) * sqrt(aspect);
            }
            CHECK(fabs(total - cost) <= 1e-12 * cost);
            const double least = least_cost_in(size, shares, 1, limit, rows, aspect);
            CHECK(fabs(cost - least) <= 1e-11 * least);
        }
    }
}

static void refusals_of_few(void)
{
    const double areas[] = {1, 2, 0, 3};
    int32_t order[4] = {-7};
    int32_t start[5] = {-7};
    int32_t columns = -7;
    double cost = -7;
    CHECK(hs_partition_columns(4, areas, 1.0, 0, 4, 4, NULL, order, start, &columns, &cost) ==
          HS_ERROR_VALUE);
    CHECK(hs_partition_columns(4, areas, 1.0, 3, 2, 4, NULL, order, start, &columns, &cost) ==
          HS_ERROR_VALUE);
    CHECK(hs_partition_columns(4, areas, 1.0, 4, 4, 4, NULL, order, start, &columns, &cost) ==
          HS_ERROR_INFEASIBLE);
    CHECK(order[0] == -7 && start[0] == -7 && columns == -7 && cost == -7);
}

static void check_refused(hs_status wanted, int32_t p, const double *areas, int32_t max_columns,
                          int32_t max_rows, int line)
{
    int32_t order[4] = {-7, -7, -7, -7};
    int32_t start[5] = {-7, -7, -7, -7, -7};
    int32_t columns = -7;
    double cost = -7;
    hs_status status = hs_partition_columns(p, areas, 1.0, 1, max_columns, max_rows, NULL, order,
                                            start, &columns, &cost);
    check_that(status == wanted, "refused with the documented status", __FILE__, line);
    for (int i = 0; i < 4; i++) check_that(order[i] == -7, "order untouched", __FILE__, line);
    for (int i = 0; i < 5; i++)
        check_that(start[i] == -7, "column_start untouched", __FILE__, line);
    check_that(columns == -7 && cost == -7, "columns and cost untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2, 0, 3};
    check_refused(HS_ERROR_VALUE, 0, good, 4, 4, __LINE__);
    check_refused(HS_ERROR_VALUE, -1, good, 4, 4, __LINE__);
    check_refused(HS_ERROR_VALUE, 4, good, 0, 4, __LINE__);
    check_refused(HS_ERROR_VALUE, 4, good, 4, 0, __LINE__);
    check_refused(HS_ERROR_VALUE, 4, good, -1, -4, __LINE__);
    const double bad[] = {-1, -DBL_TRUE_MIN, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int at = 0; at < 4; at++) {
            double areas[] = {1, 2, 0, 3};
            areas[at] = bad[i];
            check_refused(HS_ERROR_VALUE, 4, areas, 4, 4, __LINE__);
        }
    check_refused(HS_ERROR_VALUE, 4, (const double[]){0, 0, -0.0, 0}, 4, 4, __LINE__);
    check_refused(HS_ERROR_INFEASIBLE, 4, good, 1, 2, __LINE__);
    check_refused(HS_ERROR_INFEASIBLE, 4, good, 2, 1, __LINE__);
    CHECK(fabs(solve_columns(4, good, 3, 1) - 4) < 1e-12); /* a zero area needs no place */
    CHECK(fabs(solve_columns(4, good, INT32_MAX, INT32_MAX) - solve_columns(4, good, 4, 4)) <
          1e-12);
}

static void no_memory(void)
{
    double areas[100];
    double cost = -7;
    int32_t order[100] = {-7};
    int32_t start[101] = {-7};
    int32_t columns = -7;
    for (int i = 0; i < 100; i++) areas[i] = 1 + i;
    CHECK_SCARCE(
        hs_partition_columns(100, areas, 1.0, 1, 5, 100, NULL, order, start, &columns, &cost),
        order[0] == -7 && start[0] == -7 && columns == -7 && cost == -7);
}

int main(void)
{
    paper_example();
    table_2();
    fixed_numbers();
    known_values();
    every_small_case();
    many_areas();
    wide_boxes();
    refusals();
    refusals_of_few();
    no_memory();
    return check_result();
}
