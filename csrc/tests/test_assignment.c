/* hs_assign and hs_assign_int64: optimality proven by the prices, all shapes and strides, ties,
 * forbidden pairs, every refusal. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MOST = 140, STRIDE = MOST + 3 };
static double costs[MOST * STRIDE], row_prices[MOST], col_prices[MOST];
static int64_t whole[MOST * STRIDE], whole_row_prices[MOST], whole_col_prices[MOST];
static int32_t cols_of[MOST], again[MOST];

/* Returns whether cols_of assigns as many pairs as possible and the prices prove it optimal. All
 * numbers are integers, so this is exact. */
static int is_optimal(int32_t rows, int32_t cols, int maximise)
{
    char used[MOST] = {0};
    double cost = 0;
    double bound = 0;
    double sign = maximise ? -1 : 1;
    int32_t pairs = 0;
    for (int32_t i = 0; i < rows; i++) {
        bound += row_prices[i];
        if (cols > rows ? cols_of[i] < 0 : rows > cols && sign * row_prices[i] > 0) return 0;
        for (int32_t j = 0; j < cols; j++)
            if (sign * (costs[i * STRIDE + j] - row_prices[i] - col_prices[j]) < 0) return 0;
        if (cols_of[i] < 0) continue;
        if (used[cols_of[i]]++) return 0;
        cost += costs[i * STRIDE + cols_of[i]];
        pairs++;
    }
    for (int32_t j = 0; j < cols; j++) {
        bound += col_prices[j];
        if (rows < cols && sign * col_prices[j] > 0) return 0;
    }
    return pairs == (rows < cols ? rows : cols) && cost == bound;
}

static void random_matrices(void)
{
    const unsigned ranges[] = {1, 3, 10, 100, 1000000};
    for (int round = 0; round < 1500; round++) {
        int32_t rows = 1 + (int32_t)check_random(round % 10 ? 9 : MOST);
        int32_t cols = 1 + (int32_t)check_random(round % 10 ? 9 : MOST);
        if (round % 3 == 0) cols = rows;
        unsigned range = ranges[check_random(5)];
        int maximise = (int)check_random(2);
        int holes = round % 4 == 0;
        for (int32_t i = 0; i < rows; i++)
            for (int32_t j = 0; j < cols; j++) {
                whole[i * STRIDE + j] = (int64_t)check_random(range) - range / 2;
                costs[i * STRIDE + j] = (double)whole[i * STRIDE + j];
                if (holes && i != j && check_random(2))
                    costs[i * STRIDE + j] = maximise ? -INFINITY : INFINITY;
            }
        CHECK(hs_assign(rows, cols, costs, STRIDE, maximise, NULL, cols_of, row_prices,
                        col_prices) == HS_OK);
        CHECK(is_optimal(rows, cols, maximise));
        CHECK(hs_assign(rows, cols, costs, STRIDE, maximise, NULL, again, row_prices, col_prices) ==
              HS_OK);
        CHECK(memcmp(cols_of, again, (size_t)rows * sizeof *again) == 0);
        if (holes) continue;
        CHECK(hs_assign_int64(rows, cols, whole, STRIDE, maximise, NULL, cols_of, whole_row_prices,
                              whole_col_prices) == HS_OK);
        for (int32_t i = 0; i < rows; i++) row_prices[i] = (double)whole_row_prices[i];
        for (int32_t j = 0; j < cols; j++) col_prices[j] = (double)whole_col_prices[j];
        CHECK(is_optimal(rows, cols, maximise));
    }
}

static void ends_of_the_range(void)
{
    const int64_t top = INT64_C(1) << 58;
    for (int round = 0; round < 200; round++) {
        int32_t n = 1 + (int32_t)check_random(40);
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n; j++) whole[i * STRIDE + j] = check_random(2) ? top : -top;
        CHECK(hs_assign_int64(n, n, whole, STRIDE, round % 2, NULL, cols_of, whole_row_prices,
                              whole_col_prices) == HS_OK);
        __int128 cost = 0;
        __int128 bound = 0;
        for (int32_t i = 0; i < n; i++) {
            cost += whole[i * STRIDE + cols_of[i]];
            bound += (__int128)whole_row_prices[i] + whole_col_prices[i];
            for (int32_t j = 0; j < n; j++) {
                __int128 slack =
                    (__int128)whole[i * STRIDE + j] - whole_row_prices[i] - whole_col_prices[j];
                CHECK(round % 2 ? slack <= 0 : slack >= 0);
            }
        }
        CHECK(cost == bound);
    }
}

static void refusals(void)
{
    const double bad[] = {NAN, -INFINITY, 0x1.1p990, -0x1.1p990, DBL_MAX};
    const int64_t large[] = {INT64_MIN, INT64_MAX, (INT64_C(1) << 58) + 1, -(INT64_C(1) << 58) - 1};
    cols_of[0] = -7;
    for (int at = 0; at < 40; at++) {
        for (int k = 0; k < 40; k++) {
            costs[k] = k;
            whole[k] = k;
        }
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            costs[at] = bad[k];
            CHECK(hs_assign(2, 20, costs, 20, 0, NULL, cols_of, row_prices, col_prices) ==
                  HS_ERROR_VALUE);
            costs[at] = -bad[k];
            CHECK(hs_assign(20, 2, costs, 2, 1, NULL, cols_of, row_prices, col_prices) ==
                  HS_ERROR_VALUE);
        }
        for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
            whole[at] = large[k];
            CHECK(hs_assign_int64(2, 20, whole, 20, 0, NULL, cols_of, whole_row_prices,
                                  whole_col_prices) == HS_ERROR_VALUE);
            CHECK(hs_assign_int64(2, 20, whole, 20, 1, NULL, cols_of, whole_row_prices,
                                  whole_col_prices) == HS_ERROR_VALUE);
        }
    }
    CHECK(hs_assign(0, 2, costs, 2, 0, NULL, cols_of, row_prices, col_prices) == HS_ERROR_VALUE);
    CHECK(hs_assign(2, 0, costs, 2, 0, NULL, cols_of, row_prices, col_prices) == HS_ERROR_VALUE);
    CHECK(hs_assign_int64(0, 2, whole, 2, 0, NULL, cols_of, whole_row_prices, whole_col_prices) ==
          HS_ERROR_VALUE);
    CHECK(hs_assign_int64(2, -1, whole, 2, 0, NULL, cols_of, whole_row_prices, whole_col_prices) ==
          HS_ERROR_VALUE);
    const double hall[] = {1, INFINITY, INFINITY, 2, INFINITY, INFINITY, 3, 4, 5};
    const double none[] = {1, 2, INFINITY, INFINITY};
    CHECK(hs_assign(3, 3, hall, 3, 0, NULL, cols_of, row_prices, col_prices) ==
          HS_ERROR_INFEASIBLE);
    CHECK(hs_assign(2, 2, none, 2, 0, NULL, cols_of, row_prices, col_prices) ==
          HS_ERROR_INFEASIBLE);
    CHECK(cols_of[0] == -7);
    CHECK(hs_assign(2, 1, none, 1, 0, NULL, cols_of, row_prices, col_prices) == HS_OK &&
          cols_of[0] == 0 && cols_of[1] == -1);
}

static void scarce(void)
{
    const double given[] = {1, 2, 3, 4, 5, 6};
    const int64_t integers[] = {1, 2, 3, 4, 5, 6};
    for (int32_t rows = 2; rows <= 3; rows++)
        for (int maximise = 0; maximise < 2; maximise++) {
            const int32_t cols = 5 - rows;
            int32_t col_of_row[] = {-7, -7, -7};
            double prices[2][3] = {{-7}, {-7}};
            int64_t whole_prices[2][3] = {{-7}, {-7}};
            CHECK_SCARCE(hs_assign(rows, cols, given, cols, maximise, NULL, col_of_row, prices[0],
                                   prices[1]),
                         col_of_row[0] == -7 && prices[0][0] == -7 && prices[1][0] == -7);
            col_of_row[0] = -7;
            CHECK_SCARCE(hs_assign_int64(rows, cols, integers, cols, maximise, NULL, col_of_row,
                                         whole_prices[0], whole_prices[1]),
                         col_of_row[0] == -7 && whole_prices[0][0] == -7 &&
                             whole_prices[1][0] == -7);
        }
}

int main(void)
{
    scarce();
    random_matrices();
    ends_of_the_range();
    refusals();
    return check_result();
}
