/* The least makespan over panels of full columns: golden values, the class of plans, every order
 * tried, limits, refusals, failing allocations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 4, CHUNKS = 64, LENGTH = 512 };

typedef struct plan {
    int64_t chunk_count, length;
    hs_star_chunk chunks[CHUNKS];
    int32_t served[LENGTH];
    double makespan;
} plan;

static hs_status solve_exactly(const hs_star *star, int64_t effort, double limit, plan *x)
{
    return hs_star_exact(star, effort, limit, NULL, &x->chunk_count, x->chunks, &x->length,
                         x->served, &x->makespan);
}

static double replay_plan(const hs_star *star, const plan *x)
{
    int64_t count;
    double makespan;
    if (!CHECK(hs_star_simulate(star, x->chunk_count, x->chunks, HS_STAR_LISTED, x->length,
                                x->served, 0, NULL, NULL, &count, &makespan) == HS_OK))
        return -1;
    CHECK(count == x->length);
    return makespan;
}

static void golden(void)
{
    static const double costs[] = {1, 2};
    static const double first[] = {2, 3};
    static const double second[] = {3, 2};
    static const int64_t small[] = {12, 12};
    static const int64_t mixed[] = {12, 21};
    const hs_star stars[] = {{2, 4, 2, 2, first, costs, small},
                             {3, 6, 3, 2, second, costs, mixed},
                             {4, 8, 3, 2, first, costs, mixed}};
    static const double wanted[] = {47, 136, 220};
    for (int k = 0; k < 3; k++) {
        static plan x, again;
        CHECK(solve_exactly(&stars[k], 100000, INFINITY, &x) == HS_OK && x.makespan == wanted[k] &&
              replay_plan(&stars[k], &x) == wanted[k]);
        CHECK(solve_exactly(&stars[k], 100000, wanted[k] + 1, &again) == HS_OK &&
              again.makespan == wanted[k]);
        again.makespan = -1;
        CHECK(solve_exactly(&stars[k], 100000, wanted[k], &again) == HS_ERROR_INFEASIBLE &&
              again.makespan == -1);
    }
}

/* Cases found among random ones: an error in the pruning breaks these most often. Each value is
 * from the brute force in tests/oracles/star.py. */
static void pruning(void)
{
    static const struct {
        int64_t r, s, t;
        double costs[2], times[2];
        int64_t memory[2];
        double least;
    } found[] = {{2, 3, 1, {1, 1}, {4, 1}, {5, 5}, 24},   {3, 2, 2, {0, 2}, {4, 1}, {12, 5}, 39},
                 {2, 3, 2, {2, 2}, {6, 5}, {12, 21}, 64}, {2, 4, 2, {2, 2}, {4, 6}, {12, 12}, 76},
                 {3, 2, 2, {1, 1}, {5, 5}, {12, 21}, 45}, {1, 4, 2, {1, 1}, {3, 3}, {12, 21}, 24},
                 {2, 2, 3, {2, 1}, {4, 4}, {12, 12}, 44}, {3, 2, 2, {1, 2}, {5, 5}, {5, 12}, 57}};
    for (size_t k = 0; k < sizeof found / sizeof *found; k++) {
        const hs_star star = {found[k].r,     found[k].s,     found[k].t,     2,
                              found[k].times, found[k].costs, found[k].memory};
        static plan x;
        CHECK(solve_exactly(&star, 1000000, INFINITY, &x) == HS_OK &&
              x.makespan == found[k].least && replay_plan(&star, &x) == x.makespan);
    }
    /* Two panels of two columns take 2 (2 + 3 + 4 * 3 + 2). Panels of 3 + 1 columns take
     * 3 + 4 + 4 * 4.5 + 3 and 1 + 2 * 4 + 1.5 + 1. */
    const double link[] = {1};
    const double time[] = {1.5};
    const int64_t memory[] = {21};
    const hs_star alone = {1, 4, 4, 1, time, link, memory};
    static plan x;
    CHECK(solve_exactly(&alone, 1000000, 38.25, &x) == HS_OK && x.makespan == 38 &&
          replay_plan(&alone, &x) == 38);
}

/* ---- every order ----------------------------------------------------------------------------- */

/* An enumeration. A worker's messages are the load of C of every chunk, its panels, and its
 * result. */
typedef struct tried {
    const hs_star *star;
    hs_star_chunk chunks[CHUNKS];
    int64_t count, left[MAX]; /* left: messages */
    int32_t served[LENGTH];
    double best;
} tried;

static void try_orders(tried *x, int64_t at)
{
    int over = 1;
    for (int32_t i = 0; i < x->star->p; i++) {
        if (!x->left[i]) continue;
        over = 0;
        x->left[i]--;
        x->served[at] = i;
        try_orders(x, at + 1);
        x->left[i]++;
    }
    if (!over) return;
    int64_t count;
    double makespan;
    CHECK(hs_star_simulate(x->star, x->count, x->chunks, HS_STAR_LISTED, at, x->served, 0, NULL,
                           NULL, &count, &makespan) == HS_OK);
    x->best = fmin(x->best, makespan);
}

static void try_dealings(tried *x, int64_t col)
{
    const hs_star *star = x->star;
    if (col == star->s) {
        try_orders(x, 0);
        return;
    }
    for (int32_t i = 0; i < star->p; i++) {
        const int64_t side = hs_star_side(star->memory[i], HS_STAR_DOUBLE);
        const int64_t count = x->count;
        const int64_t left = x->left[i];
        for (int64_t width = 1; width <= side && width <= star->s - col; width++) {
            for (int64_t row = 0; row < star->r; row += side) {
                const int64_t height = hs__min(side, star->r - row);
                x->chunks[x->count++] = (hs_star_chunk){.worker = i,
                                                        .buffers = 2,
                                                        .row = row,
                                                        .col = col,
                                                        .height = height,
                                                        .width = width,
                                                        .depth = 1};
                x->left[i] += star->t + 2;
            }
            try_dealings(x, col + width);
            x->count = count;
            x->left[i] = left;
        }
    }
}

static void every_order(void)
{
    static const int64_t sizes[] = {3, 5, 5, 12, 12, 21};
    for (int round = 0; round < 200; round++) {
        double times[MAX], costs[MAX];
        int64_t memory[MAX];
        const int32_t p = 1 + (int32_t)check_random(3);
        for (int32_t i = 0; i < p; i++) {
            const int same = i && check_random(3) == 0;
            times[i] = same ? times[i - 1] : 1 + check_random(6);
            costs[i] = same ? costs[i - 1] : check_random(4);
            memory[i] = same ? memory[i - 1] : sizes[check_random(6)];
        }
        memory[check_random((unsigned)p)] = 12;
        const hs_star star = {
            1 + check_random(3), 1 + check_random(5), 1 + check_random(3), p, times, costs, memory};
        if (star.r * star.s * (star.t + 2) > (p == 1 ? 60 : p == 2 ? 12 : 9)) continue;
        static tried slow;
        static plan x;
        slow = (tried){.star = &star, .best = INFINITY};
        try_dealings(&slow, 0);
        CHECK(solve_exactly(&star, 1000000, INFINITY, &x) == HS_OK && x.makespan == slow.best &&
              replay_plan(&star, &x) == slow.best);
        /* here only bounds are at work */
        CHECK(solve_exactly(&star, 1000000, slow.best * (1 + 1e-9), &x) == HS_OK &&
              x.makespan == slow.best);
    }
}

/* ---- the class ------------------------------------------------------------------------------- */

static void columns_and_rows(void)
{
    for (int round = 0; round < 60; round++) {
        static const int64_t sizes[] = {4, 5, 12, 21, 32};
        double times[MAX], costs[MAX];
        int64_t memory[MAX];
        int64_t end = 0;
        int64_t below = 0;
        for (int32_t i = 0; i < MAX; i++) {
            times[i] = 0.5 + check_random(9);
            costs[i] = 0.25 * check_random(9);
            memory[i] = sizes[check_random(5)];
        }
        memory[check_random(MAX)] = 12;
        const hs_star star = {1 + check_random(6),
                              1 + check_random(6),
                              1 + check_random(3),
                              MAX,
                              times,
                              costs,
                              memory};
        static plan x;
        if (!CHECK(solve_exactly(&star, 10000000, INFINITY, &x) == HS_OK)) continue;
        CHECK(replay_plan(&star, &x) == x.makespan);
        const double least = x.makespan;
        CHECK(solve_exactly(&star, 10000000, least * (1 + 1e-9), &x) == HS_OK &&
              x.makespan == least);
        for (int64_t col = 0; col < star.s; col = end) {
            for (int64_t row = 0; row < star.r; row = below) {
                const hs_star_chunk *found = NULL;
                for (int64_t k = 0; k < x.chunk_count; k++)
                    if (x.chunks[k].col == col && x.chunks[k].row == row) found = &x.chunks[k];
                if (!CHECK(found && (row == 0 || found->col + found->width == end))) return;
                const int64_t side = hs_star_side(memory[found->worker], HS_STAR_DOUBLE);
                CHECK(found->width <= side && found->height == hs__min(side, star.r - row));
                CHECK(found->held == HS_STAR_HOLD_C && found->buffers == 2 && found->depth == 1);
                end = col + found->width;
                below = row + found->height;
            }
        }
        for (int32_t method = HS_STAR_HET; method < HS_STAR_BMM; method++) {
            hs_star_summary summary;
            int64_t sides[MAX], columns[MAX];
            CHECK(hs_star_plan(&star, method, HS_STAR_ALL, round & 1, NULL, &summary, sides,
                               columns, NULL, NULL) == HS_OK);
            CHECK(x.makespan <= summary.makespan);
        }
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refusals(void)
{
    const double good[] = {1, 2};
    const double zero[] = {0, 1};
    const int64_t memory[] = {12, 21};
    const int64_t little[] = {4, 2};
    const hs_star fine = {4, 8, 3, 2, good, good, memory};
    const hs_star none = {4, 8, 3, 2, good, good, little};
    const hs_star bad[] = {{0, 8, 3, 2, good, good, memory},
                           {4, 8, 3, 0, good, good, memory},
                           {4, 8, 3, 2, zero, good, memory}};
    static plan x;
    x.makespan = -1;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        CHECK(solve_exactly(&bad[k], 1000, INFINITY, &x) == HS_ERROR_VALUE);
    CHECK(solve_exactly(&fine, -1, INFINITY, &x) == HS_ERROR_VALUE);
    CHECK(solve_exactly(&fine, 1000, 0.0, &x) == HS_ERROR_VALUE &&
          solve_exactly(&fine, 1000, NAN, &x) == HS_ERROR_VALUE);
    CHECK(solve_exactly(&none, 1000, INFINITY, &x) == HS_ERROR_INFEASIBLE);
    CHECK(solve_exactly(&fine, 0, INFINITY, &x) == HS_ERROR_UNSUPPORTED &&
          solve_exactly(&fine, 20, INFINITY, &x) == HS_ERROR_UNSUPPORTED);
    CHECK(solve_exactly(&fine, 1000, 1e-300, &x) == HS_ERROR_INFEASIBLE);
    static const int64_t sizes[][3] = {
        {4, 8, INT32_MAX}, {4, INT32_MAX, 3}, {INT32_MAX, 8, 3}, {4, 1 << 19, 1}, {1 << 18, 2, 3}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const hs_star large = {sizes[k][0], sizes[k][1], sizes[k][2], 2, good, good, memory};
        CHECK(solve_exactly(&large, 1000, INFINITY, &x) == HS_ERROR_UNSUPPORTED);
    }
    const int stop = 1;
    CHECK(hs_star_exact(&fine, 1000000, INFINITY, &stop, &x.chunk_count, x.chunks, &x.length,
                        x.served, &x.makespan) == HS_ERROR_CANCELLED);
    CHECK(x.makespan == -1);
    CHECK_SCARCE(solve_exactly(&fine, 1000000, INFINITY, &x), x.makespan == -1);
    CHECK(replay_plan(&fine, &x) == x.makespan);
}

int main(void)
{
    golden();
    pruning();
    every_order();
    columns_and_rows();
    refusals();
    return check_result();
}
