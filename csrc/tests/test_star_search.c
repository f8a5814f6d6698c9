/* The search over shares: cut and simulated again they give its makespan, no bound is above it,
 * refusals, cancels, failing allocations. The schedules themselves are checked in
 * tests/planners/test_star.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 5, SIDE = 24 };

typedef struct instance {
    hs_star star;
    double times[MAX], costs[MAX];
    int64_t memory[MAX];
} instance;

static void draw_instance(instance *x)
{
    const int32_t p = 1 + (int32_t)check_random(MAX);
    for (int32_t i = 0; i < p; i++) {
        x->times[i] = 1 + check_random(7);
        x->costs[i] = check_random(5);
        x->memory[i] = check_random(3) ? 3 + check_random(200) : check_random(9);
    }
    x->memory[check_random((unsigned)p)] = 3 + check_random(60);
    x->star = (hs_star){1 + check_random(SIDE),
                        1 + check_random(SIDE),
                        1 + check_random(9),
                        p,
                        x->times,
                        x->costs,
                        x->memory};
}

static int covers_exactly(const hs_star *star, int64_t count, const hs_star_chunk *chunks)
{
    char painted[SIDE][SIDE] = {{0}};
    int good = 1;
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = chunks[k].row; i < chunks[k].row + chunks[k].height; i++)
            for (int64_t j = chunks[k].col; j < chunks[k].col + chunks[k].width; j++)
                good &= painted[i][j]++ == 0;
    for (int64_t i = 0; i < star->r; i++)
        for (int64_t j = 0; j < star->s; j++) good &= painted[i][j];
    return good;
}

static void plans(void)
{
    static hs_star_chunk chunks[SIDE * SIDE];
    for (int round = 0; round < 400; round++) {
        instance x;
        draw_instance(&x);
        hs_star_share shares[MAX], again[MAX];
        int32_t by_rows, order, by_rows_again, order_again;
        double makespan, repeated, bounds[HS_STAR_BOUNDS];
        const int32_t eager = round % 2;
        const int64_t effort = round % 3 * 2000;
        if (!CHECK(hs_star_search(&x.star, eager, (uint64_t)round, effort, NULL, &by_rows, shares,
                                  &order, &makespan) == HS_OK))
            continue;
        CHECK(hs_star_search(&x.star, eager, (uint64_t)round, effort, NULL, &by_rows_again, again,
                             &order_again, &repeated) == HS_OK);
        CHECK(by_rows == by_rows_again && order == order_again && makespan == repeated);
        CHECK(memcmp(shares, again, (size_t)x.star.p * sizeof *shares) == 0);
        int64_t count, messages;
        CHECK(hs_star_cut(&x.star, by_rows, shares, &count, NULL) == HS_OK && count <= SIDE * SIDE);
        CHECK(hs_star_cut(&x.star, by_rows, shares, &count, chunks) == HS_OK &&
              covers_exactly(&x.star, count, chunks));
        CHECK(hs_star_simulate(&x.star, count, chunks, order, 0, NULL, eager, NULL, NULL, &messages,
                               &repeated) == HS_OK);
        CHECK(repeated == makespan);
        CHECK(hs_star_bounds(&x.star, HS_STAR_DOUBLE, NULL, bounds) == HS_OK);
        CHECK(bounds[HS_STAR_WORK] <= makespan && bounds[HS_STAR_TRAFFIC] <= makespan &&
              bounds[HS_STAR_TRANSFER] <= makespan && bounds[HS_STAR_LOOMIS] <= makespan);
    }
}

/* r x s x t = 5 x 7 x 2 on one worker: two parts of the rows; three panels of 3 + 2 + 2 columns,
 * after the columns of the worker before it. */
static void cutting(void)
{
    const double one[] = {1, 1};
    const int64_t memory[] = {100, 100};
    const hs_star star = {5, 9, 2, 2, one, one, memory};
    const hs_star turned = {9, 5, 2, 2, one, one, memory};
    const hs_star_share shares[] = {{2, 1, 1, HS_STAR_HOLD_A, 1, 0},
                                    {7, 2, 3, HS_STAR_HOLD_C, 2, 1}};
    static const hs_star_chunk wanted[] = {{0, HS_STAR_HOLD_A, 1, 0, 0, 5, 2, 1, 0},
                                           {1, 0, 2, 0, 2, 3, 3, 1, 0},
                                           {1, 0, 2, 3, 2, 2, 3, 1, 1},
                                           {1, 0, 2, 0, 5, 3, 2, 1, 1},
                                           {1, 0, 2, 3, 5, 2, 2, 1, 1},
                                           {1, 0, 2, 0, 7, 3, 2, 1, 1},
                                           {1, 0, 2, 3, 7, 2, 2, 1, 1}};
    hs_star_chunk chunks[7];
    int64_t count;
    if (!CHECK(hs_star_cut(&star, 0, shares, &count, chunks) == HS_OK && count == 7)) return;
    for (int k = 0; k < 7; k++) {
        const hs_star_chunk *x = &chunks[k];
        const hs_star_chunk *y = &wanted[k];
        CHECK(x->worker == y->worker && x->held == y->held && x->buffers == y->buffers &&
              x->depth == 1 && x->ahead == y->ahead);
        CHECK(x->row == y->row && x->col == y->col && x->height == y->height &&
              x->width == y->width);
    }
    CHECK(hs_star_cut(&turned, 1, shares, &count, chunks) == HS_OK && count == 7);
    for (int k = 0; k < 7; k++) {
        const hs_star_chunk *x = &chunks[k];
        const hs_star_chunk *y = &wanted[k];
        CHECK(x->worker == y->worker && x->held == (y->held ? HS_STAR_HOLD_B : HS_STAR_HOLD_C));
        CHECK(x->row == y->col && x->col == y->row && x->height == y->width &&
              x->width == y->height);
    }
    CHECK(hs_star_cut(&star, 1, shares, &count, NULL) == HS_ERROR_VALUE);
    static const hs_star_share bad[][2] = {
        {{2, 1, 1, 1, 1, 0}, {6, 2, 3, 0, 2, 0}},   {{2, 1, 1, 1, 1, 0}, {8, 2, 3, 0, 2, 0}},
        {{-1, 1, 1, 1, 1, 0}, {10, 2, 3, 0, 2, 0}}, {{2, 6, 1, 1, 1, 0}, {7, 2, 3, 0, 2, 0}},
        {{2, 0, 1, 1, 1, 0}, {7, 2, 3, 0, 2, 0}},   {{2, 1, 3, 1, 1, 0}, {7, 2, 3, 0, 2, 0}},
        {{2, 1, 0, 1, 1, 0}, {7, 2, 3, 0, 2, 0}},   {{2, 1, 1, 3, 1, 0}, {7, 2, 3, 0, 2, 0}},
        {{2, 1, 1, -1, 1, 0}, {7, 2, 3, 0, 2, 0}},  {{2, 1, 1, 1, 0, 0}, {7, 2, 3, 0, 2, 0}},
        {{2, 1, 1, 1, 3, 0}, {7, 2, 3, 0, 2, 0}},   {{2, 1, 1, 1, 1, 1}, {7, 2, 3, 0, 2, 0}},
        {{2, 1, 1, 1, 1, 0}, {7, 2, 3, 0, 2, 2}},   {{2, 1, 1, 1, 1, 0}, {7, 2, 3, 0, 2, -1}}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        CHECK(hs_star_cut(&star, 0, bad[k], &count, NULL) == HS_ERROR_VALUE);
    /* Two chunks of 3 x 3 with 2 (3 + 3) blocks of panels need 30; one chunk after the other needs
     * 21. */
    const int64_t little[] = {100, 29};
    const int64_t enough[] = {100, 30};
    const hs_star tight = {5, 9, 2, 2, one, one, little};
    const hs_star fitting = {5, 9, 2, 2, one, one, enough};
    const hs_star_share after[] = {shares[0], {7, 2, 3, HS_STAR_HOLD_C, 2, 0}};
    const hs_star_share alone[] = {{8, 5, 8, HS_STAR_HOLD_C, 2, 1},
                                   {1, 1, 1, HS_STAR_HOLD_C, 2, 1}};
    CHECK(hs_star_cut(&tight, 0, shares, &count, NULL) == HS_ERROR_VALUE &&
          hs_star_cut(&fitting, 0, shares, &count, NULL) == HS_OK);
    CHECK(hs_star_cut(&tight, 0, after, &count, NULL) == HS_OK &&
          hs_star_cut(&tight, 0, alone, &count, NULL) == HS_OK && count == 41);
}

static void refusals(void)
{
    const double good[] = {1, 2};
    const double zero[] = {0, 1};
    const int64_t memory[] = {12, 5};
    const int64_t little[] = {2, 0};
    const int64_t least[] = {3, 0};
    hs_star_share shares[2];
    int32_t by_rows = -1;
    int32_t order = -1;
    double makespan = -1;
#define SEARCH(star, effort, cancel) \
    hs_star_search(star, 0, 0, effort, cancel, &by_rows, shares, &order, &makespan)
    const hs_star wrong = {3, 4, 2, 2, zero, good, memory};
    const hs_star none = {3, 4, 2, 2, good, good, little};
    const hs_star fine = {3, 4, 2, 2, good, good, memory};
    CHECK(SEARCH(&wrong, 0, NULL) == HS_ERROR_VALUE);
    CHECK(SEARCH(&fine, -1, NULL) == HS_ERROR_VALUE);
    CHECK(SEARCH(&none, 0, NULL) == HS_ERROR_INFEASIBLE);
    const int stop = 1;
    CHECK(SEARCH(&fine, 1000000, &stop) == HS_ERROR_CANCELLED);
    CHECK_SCARCE(SEARCH(&fine, 1000, NULL), by_rows == -1 && order == -1 && makespan == -1);
    by_rows = order = -1;
    makespan = -1;
    const int64_t most = INT32_MAX;
    const hs_star vast = {most, most, most, 2, good, good, least};
    /* more messages than can be simulated */
    CHECK(SEARCH(&vast, 0, NULL) == HS_ERROR_UNSUPPORTED && makespan == -1);
    const int64_t large[] = {INT64_C(1) << 53, INT64_C(1) << 53};
    /* holding C takes few messages, holding A takes two per column */
    const hs_star wide_c = {4, most, 4, 2, good, good, large};
    CHECK(SEARCH(&wide_c, 10000, NULL) == HS_OK && shares[0].held != HS_STAR_HOLD_A &&
          shares[1].held != HS_STAR_HOLD_A);
    /* 3 blocks: one of each operand, block by block */
    const hs_star poor = {3, 4, 2, 2, good, good, least};
    CHECK(SEARCH(&poor, 100, NULL) == HS_OK && makespan >= 24);
    /* the cheapest of many workers, which are more than are worth a trial each */
    enum { MANY = 300 };
    static double times[MANY], costs[MANY];
    static int64_t buffers[MANY];
    static hs_star_share many[MANY];
    for (int32_t i = 0; i < MANY; i++) {
        times[i] = 1;
        costs[i] = i == 250 ? 1 : 1e6;
        buffers[i] = 60;
    }
    const hs_star wide = {4, 400, 4, MANY, times, costs, buffers};
    CHECK(hs_star_search(&wide, 0, 0, 0, NULL, &by_rows, many, &order, &makespan) == HS_OK &&
          makespan < 5e4);
    CHECK(many[250].columns == (by_rows ? 4 : 400));
#undef SEARCH
}

int main(void)
{
    plans();
    cutting();
    refusals();
    return check_result();
}
