/* hs_lu_grid_deal, _evaluate and _bound: every step counted anew, the pattern in one direction,
 * deep trees, every refusal, failing allocations. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 12, P = 6 };

/* Counts block by block, as the definition says. */
static void recount_loads(int32_t n, int32_t p, const double *times, const int32_t *owner,
                          double *loads, int64_t *traffic, int64_t *received)
{
    memset(received, 0, (size_t)p * sizeof *received);
    for (int32_t k = 0; k < n; k++) {
        loads[k] = 0;
        traffic[k] = 0;
        for (int32_t w = 0; w < p; w++) {
            int64_t blocks = 0;
            int64_t foreign = 0;
            int any = 0;
            for (int32_t i = k + 1; i < n; i++) {
                int in_row = 0;
                int in_column = 0;
                for (int32_t j = k + 1; j < n; j++) {
                    blocks += owner[i * n + j] == w;
                    in_row |= owner[i * n + j] == w;
                    in_column |= owner[j * n + i] == w;
                }
                foreign += (in_row && owner[i * n + k] != w) + (in_column && owner[k * n + i] != w);
                any |= owner[i * n + k] == w || owner[k * n + i] == w;
            }
            foreign += any && owner[k * n + k] != w;
            if (blocks) loads[k] = fmax(loads[k], (double)blocks * times[w]);
            traffic[k] += foreign;
            received[w] += foreign;
        }
    }
}

static void any_map(void)
{
    for (int round = 0; round < 400; round++) {
        const int32_t n = 1 + (int32_t)check_random(MAX);
        const int32_t p = 1 + (int32_t)check_random(P);
        int32_t owner[MAX * MAX];
        double times[P], loads[MAX], wanted_loads[MAX];
        int64_t traffic[MAX], received[P], wanted_traffic[MAX], wanted_received[P];
        for (int32_t i = 0; i < p; i++) times[i] = 1 + check_random(9);
        for (int32_t b = 0; b < n * n; b++) owner[b] = (int32_t)check_random((unsigned)p);
        recount_loads(n, p, times, owner, wanted_loads, wanted_traffic, wanted_received);
        if (!CHECK(hs_lu_grid_evaluate(n, p, times, owner, NULL, loads, traffic, received) ==
                   HS_OK))
            return;
        CHECK(memcmp(loads, wanted_loads, (size_t)n * sizeof *loads) == 0);
        CHECK(memcmp(traffic, wanted_traffic, (size_t)n * sizeof *traffic) == 0);
        CHECK(memcmp(received, wanted_received, (size_t)p * sizeof *received) == 0);
        memset(loads, 0, sizeof loads);
        memset(traffic, 0, sizeof traffic);
        memset(received, 0, sizeof received);
        CHECK(hs_lu_grid_evaluate(n, p, times, owner, NULL, loads, NULL, received) == HS_OK);
        CHECK(memcmp(received, wanted_received, (size_t)p * sizeof *received) == 0);
        CHECK(hs_lu_grid_evaluate(n, p, times, owner, NULL, loads, traffic, NULL) == HS_OK);
        CHECK(memcmp(traffic, wanted_traffic, (size_t)n * sizeof *traffic) == 0);
        CHECK(hs_lu_grid_evaluate(n, p, times, owner, NULL, loads, NULL, NULL) == HS_OK);
        CHECK(memcmp(loads, wanted_loads, (size_t)n * sizeof *loads) == 0);
    }
}

/* Workers side by side have the reversed pattern in every row; workers above each other have it in
 * every column. */
static void one_direction(void)
{
    for (int round = 0; round < 100; round++) {
        const int32_t n = 1 + (int32_t)check_random(MAX);
        const int32_t p = 1 + (int32_t)check_random(P);
        int32_t owner[MAX * MAX], dealt[MAX], plan[2 * P];
        int32_t length = 0;
        double times[P];
        for (int32_t i = 0; i < p; i++)
            times[i] = ldexp(1 + check_random(5), round % 2 ? 1010 : -1070);
        const int32_t cut = round % 3 ? HS_BESIDE : HS_ABOVE;
        for (int32_t i = 0; i < p; i++) {
            plan[length++] = i;
            if (i && round % 5) plan[length++] = cut;
        }
        /* the same cuts, nested the other way */
        for (int32_t i = 1; i < p && round % 5 == 0; i++) plan[length++] = cut;
        CHECK(hs_lu_grid_deal(n, p, times, plan, length, NULL, owner) == HS_OK);
        CHECK(hs_distribute_prefix(n, p, times, NULL, dealt, NULL) == HS_OK);
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n; j++)
                CHECK(owner[i * n + j] == dealt[n - 1 - (cut == HS_BESIDE ? j : i)]);
    }
}

/* Two equal columns of two equal workers are dealt block-cyclically from the end. */
static void two_by_two(void)
{
    const int32_t plan[] = {0, 1, HS_ABOVE, 2, 3, HS_ABOVE, HS_BESIDE};
    const double times[] = {2, 2, 2, 2};
    int32_t owner[49];
    double loads[7];
    CHECK(hs_lu_grid_deal(7, 4, times, plan, 7, NULL, owner) == HS_OK);
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) CHECK(owner[7 * i + j] == 2 * ((6 - j) % 2) + (6 - i) % 2);
    CHECK(hs_lu_grid_evaluate(7, 4, times, owner, NULL, loads, NULL, NULL) == HS_OK);
    for (int k = 0; k < 7; k++) {
        const int side = (6 - k + 1) / 2;
        CHECK(loads[k] == 2.0 * side * side);
    }
}

/* Two workers above each other are as fast as the sum of their speeds. */
static void speeds_add_up(void)
{
    const int32_t plan[] = {0, 1, HS_ABOVE, 2, HS_BESIDE};
    const double times[] = {1, 3, 1.5};
    int32_t owner[81];
    int32_t counts[3] = {0};
    CHECK(hs_lu_grid_deal(9, 3, times, plan, 5, NULL, owner) == HS_OK);
    for (int b = 0; b < 81; b++) counts[owner[b]]++;
    /* workers 0 and 1 share 6 of 9 columns: 7 and 2 rows of them */
    CHECK(counts[0] == 42 && counts[1] == 12 && counts[2] == 27);
}

/* A spiral of very many workers: each cut takes off a row or a column, as long as there are any. */
static void deep(void)
{
    enum { N = 300, WORKERS = 20000 };
    int32_t *plan = malloc(2 * WORKERS * sizeof *plan);
    int32_t *owner = malloc(N * N * sizeof *owner);
    double *times = malloc(WORKERS * sizeof *times);
    if (!CHECK(plan && owner && times)) return;
    int32_t length = 0;
    for (int32_t i = 0; i < WORKERS; i++) {
        times[i] = i ? 1.0 : 1e-3;
        plan[length++] = i;
        if (i) plan[length++] = i % 2 ? HS_BESIDE : HS_ABOVE;
    }
    memset(owner, 0xff, N * N * sizeof *owner);
    CHECK(hs_lu_grid_deal(N, WORKERS, times, plan, length, NULL, owner) == HS_OK);
    for (int32_t b = 0; b < N * N; b++) CHECK(owner[b] >= 0 && owner[b] < WORKERS);
    free(plan);
    free(owner);
    free(times);
}

static void bounds(void)
{
    const double times[] = {3, 5, INFINITY, 8};
    double found[10], makespan;
    int64_t counts[4];
    CHECK(hs_lu_grid_bound(10, 4, times, 0, NULL, found) == HS_OK);
    for (int64_t k = 0; k < 10; k++)
        CHECK(hs_distribute((9 - k) * (9 - k), 4, times, NULL, counts, &makespan) == HS_OK &&
              found[k] == makespan);
}

static void refused_plan(int32_t n, int32_t p, const double *times, const int32_t *plan,
                         int32_t length, int line)
{
    int32_t owner[16];
    memset(owner, 0x55, sizeof owner);
    check_that(hs_lu_grid_deal(n, p, times, plan, length, NULL, owner) == HS_ERROR_VALUE, "refused",
               __FILE__, line);
    for (int i = 0; i < 16; i++) check_that(owner[i] == 0x55555555, "untouched", __FILE__, line);
}

static void refusals(void)
{
    const double times[] = {1, 2, INFINITY};
    const double zero[] = {1, 0, 1};
    const double nan[] = {1, NAN, 1};
    const int32_t good[] = {0, 1, HS_BESIDE};
    const int32_t twice[] = {0, 0, HS_BESIDE};
    const int32_t strange[] = {0, 3, HS_BESIDE};
    const int32_t open[] = {0, 1};
    const int32_t early[] = {0, HS_BESIDE, 1};
    const int32_t wheel[] = {0, 1, HS_AROUND};
    const int32_t idle[] = {2};
    const int32_t owner[] = {0, 1, 1, 0};
    const int32_t wrong[] = {0, 1, 3, 0};
    const int32_t negative[] = {0, -1, 0, 0};
    const int32_t nobody[] = {0, 2, 0, 0};
    double loads[2] = {-7, -7};
    refused_plan(0, 3, times, good, 3, __LINE__);
    refused_plan(46341, 3, times, good, 3, __LINE__);
    refused_plan(4, 0, times, good, 3, __LINE__);
    refused_plan(4, 3, NULL, good, 3, __LINE__);
    refused_plan(4, 3, times, NULL, 3, __LINE__);
    refused_plan(4, 3, times, good, 0, __LINE__);
    refused_plan(4, 1, times, good, 3, __LINE__);
    refused_plan(4, 3, zero, good, 3, __LINE__);
    refused_plan(4, 3, nan, good, 3, __LINE__);
    refused_plan(4, 3, times, twice, 3, __LINE__);
    refused_plan(4, 3, times, strange, 3, __LINE__);
    refused_plan(4, 3, times, open, 2, __LINE__);
    refused_plan(4, 3, times, early, 3, __LINE__);
    refused_plan(4, 3, times, wheel, 3, __LINE__);
    refused_plan(4, 3, times, idle, 1, __LINE__);
    CHECK(hs_lu_grid_deal(4, 3, times, good, 3, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(0, 3, times, owner, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(46341, 3, times, owner, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 0, times, owner, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 3, zero, owner, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 3, nan, owner, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 3, times, wrong, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 3, times, negative, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 3, times, nobody, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 3, times, NULL, NULL, loads, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_evaluate(2, 3, times, owner, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_bound(0, 3, times, 0, NULL, loads) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_bound(46341, 3, times, 0, NULL, loads) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_bound(2, 0, times, 0, NULL, loads) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_bound(2, 3, nan, 0, NULL, loads) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_bound(2, 3, times, 0, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_grid_bound(2, 1, times + 2, 0, NULL, loads) == HS_ERROR_VALUE);
    CHECK(loads[0] == -7 && loads[1] == -7);
}

static int all_are(int count, const int32_t *owner)
{
    int fine = 1;
    for (int i = 0; i < count; i++) fine &= owner[i] == -1;
    return fine;
}

static void no_memory(void)
{
    const int32_t plan[] = {0, 1, HS_ABOVE, 2, 3, HS_ABOVE, HS_BESIDE};
    const double times[] = {2, 3, 2, 5};
    int32_t owner[25];
    double loads[5] = {-7, -7, -7, -7, -7};
    int64_t traffic[5];
    memset(owner, 0xff, sizeof owner);
    CHECK_SCARCE(hs_lu_grid_deal(5, 4, times, plan, 7, NULL, owner), all_are(25, owner));
    CHECK_SCARCE(hs_lu_grid_bound(5, 4, times, 0, NULL, loads), loads[0] == -7 && loads[4] == -7);
    loads[0] = -7;
    CHECK_SCARCE(hs_lu_grid_evaluate(5, 4, times, owner, NULL, loads, traffic, NULL),
                 loads[0] == -7);
}

int main(void)
{
    any_map();
    one_direction();
    two_by_two();
    speeds_add_up();
    deep();
    bounds();
    refusals();
    no_memory();
    return check_result();
}
