/* hs_dynamic_product and its bounds: each task once, the blocks counted again from the tasks, work
 * without gaps in the order of demand, certificates, the least volume, refusals, a cancelled call,
 * failing allocations. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 6, TASKS = 729, SIDE = 27 * 27 };

typedef struct {
    hs_dynamic_task tasks[TASKS];
    int64_t blocks[HS_DYNAMIC_OPERANDS * P];
    double makespan;
    hs_certificate c;
} product;

static hs_status simulate(const hs_dynamic *x, product *found)
{
    return hs_dynamic_product(x, NULL, found->tasks, found->blocks, &found->makespan, &found->c);
}

static int32_t count_tasks(const hs_dynamic *x)
{
    return (int32_t)(x->kind == HS_DYNAMIC_MATRIX ? x->n * x->n * x->n : x->n * x->n);
}

/* Each task is handed out once. */
static void check_tasks(const hs_dynamic *x, const product *y)
{
    static char seen[TASKS];
    memset(seen, 0, sizeof seen);
    for (int32_t i = 0; i < count_tasks(x); i++) {
        const hs_dynamic_task *t = &y->tasks[i];
        const int inside = t->row >= 0 && t->row < x->n && t->col >= 0 && t->col < x->n &&
                           t->depth >= 0 && t->depth < (x->kind ? x->n : 1);
        if (!CHECK(inside && t->worker >= 0 && t->worker < x->p)) return;
        const int64_t at = (t->row * x->n + t->col) * (x->kind ? x->n : 1) + t->depth;
        CHECK(!seen[at]++);
    }
}

/* A worker computes without gaps, and asks when it has finished: no worker that asks later gets a
 * task before it. */
static void check_times(const hs_dynamic *x, const product *y)
{
    double ready[P] = {0};
    double last = 0;
    double asked = 0;
    for (int32_t i = 0; i < count_tasks(x); i++) {
        const hs_dynamic_task *t = &y->tasks[i];
        CHECK(t->start == ready[t->worker]);
        if (!x->changes) CHECK(t->end == t->start + x->cycle_times[t->worker]);
        ready[t->worker] = t->end;
        last = fmax(last, t->end);
        const int batch = i && t[-1].worker == t->worker && t[-1].end == t->start;
        if (!batch) CHECK(t->start >= asked);
        if (!batch) asked = t->start;
    }
    CHECK(y->makespan == last);
}

/* The blocks that the tasks of a worker need, counted from the tasks. */
static void check_blocks(const hs_dynamic *x, const product *y)
{
    static char held[P][HS_DYNAMIC_OPERANDS][SIDE];
    int64_t needed[P][HS_DYNAMIC_OPERANDS] = {0};
    int64_t sent[P][HS_DYNAMIC_OPERANDS] = {0};
    int64_t counts[P] = {0};
    int64_t volume = 0;
    double bound = 0;
    memset(held, 0, sizeof held);
    for (int32_t i = 0; i < count_tasks(x); i++) {
        const hs_dynamic_task *t = &y->tasks[i];
        const int64_t n = x->n;
        const int64_t block[] = {x->kind ? t->row * n + t->depth : t->row,
                                 x->kind ? t->depth * n + t->col : t->col,
                                 x->kind ? t->row * n + t->col : -1};
        for (int k = 0; k < HS_DYNAMIC_OPERANDS; k++) {
            if (block[k] >= 0 && !held[t->worker][k][block[k]]++) needed[t->worker][k]++;
            sent[t->worker][k] += t->sent[k];
        }
        counts[t->worker]++;
    }
    const int exact = x->method == HS_DYNAMIC_RANDOM || x->method == HS_DYNAMIC_SORTED;
    for (int32_t i = 0; i < x->p; i++) {
        int64_t own = 0;
        for (int k = 0; k < HS_DYNAMIC_OPERANDS; k++) {
            const int64_t got = y->blocks[HS_DYNAMIC_OPERANDS * i + k];
            CHECK(got >= needed[i][k] && got <= (x->kind ? x->n * x->n : x->n));
            if (exact) CHECK(got == needed[i][k]);
            CHECK(got == sent[i][k]);
            own += got;
        }
        volume += own;
        const double tasks = (double)counts[i];
        bound += x->kind ? 3 * cbrt(tasks * tasks) : 2 * sqrt(tasks);
    }
    CHECK(y->c.value == (double)volume && y->c.bound >= bound * (1 - 1e-12));
    CHECK(y->c.bound < bound + x->p);
}

static void draws(void)
{
    static product found, again;
    for (int round = 0; round < CHECK_MANY(2000, 200); round++) {
        const int32_t kind = round % HS_DYNAMIC_KINDS;
        const int32_t p = 1 + (int32_t)check_random(P);
        const int64_t n = check_random(kind ? 10 : 15);
        double times[P], later[2 * P];
        for (int i = 0; i < P; i++) times[i] = 1 + check_random(5);
        for (int i = 0; i < 2 * P; i++) later[i] = 1 + check_random(9);
        if (p > 1 && check_random(4) == 0) times[check_random((unsigned)p)] = INFINITY;
        const double when[] = {3.5, 20};
        const hs_speed_changes changes = {2, when, later};
        const hs_dynamic x = {.p = p,
                              .cycle_times = times,
                              .n = n,
                              .kind = kind,
                              .method = (int32_t)check_random(HS_DYNAMIC_METHODS),
                              .beta = check_random(6),
                              .seed = (uint64_t)round,
                              .changes = check_random(3) ? NULL : &changes};
        if (!CHECK(simulate(&x, &found) == HS_OK)) continue;
        check_tasks(&x, &found);
        check_times(&x, &found);
        check_blocks(&x, &found);
        double volume, makespan, predicted;
        CHECK(hs_dynamic_bounds(&x, &volume, &makespan) == HS_OK);
        CHECK(makespan <= found.makespan * (1 + 1e-12));
        CHECK(hs_dynamic_predict(&x, x.beta, &predicted) == HS_OK);
        CHECK(predicted >= 0 && predicted <= (kind ? 3 * n * n : 2 * n) * p * (1 + 1e-12));
        CHECK(p > 1 || predicted == 0 || fabs(predicted / volume - 1) < 1e-12);
        if (p == 1) CHECK(found.c.optimal && found.c.value == volume);
        CHECK(simulate(&x, &again) == HS_OK && again.makespan == found.makespan &&
              memcmp(again.tasks, found.tasks, (size_t)count_tasks(&x) * sizeof *found.tasks) == 0);
    }
}

/* The least volume for a number of tasks of a worker, by trying all numbers of blocks. The other
 * worker gets one task at the start, and the rest when the first one has nearly stopped. */
static void least_volumes(void)
{
    static product found;
    for (int32_t kind = 0; kind < HS_DYNAMIC_KINDS; kind++)
        for (int64_t tasks = 1; tasks <= 26; tasks++) {
            int64_t least[2] = {INT64_MAX, INT64_MAX};
            const int64_t n = kind ? 3 : 6;
            const int64_t all = kind ? 27 : 36;
            for (int w = 0; w < 2; w++) {
                const int64_t own = w ? all - tasks : tasks;
                for (int64_t a = 0; a <= 9; a++)
                    for (int64_t b = 0; b <= 9; b++)
                        for (int64_t c = 0; c <= (kind ? 9 : 0); c++)
                            if ((kind ? a * b * c >= own * own : a * b >= own) &&
                                a + b + c < least[w])
                                least[w] = a + b + c;
            }
            const double times[] = {1, (double)tasks - 0.5};
            const double later[] = {1e9, 1};
            const double when = (double)tasks - 0.5;
            const hs_speed_changes changes = {1, &when, later};
            const hs_dynamic x = {.p = 2,
                                  .cycle_times = times,
                                  .n = n,
                                  .kind = kind,
                                  .method = HS_DYNAMIC_SORTED,
                                  .changes = &changes};
            CHECK(simulate(&x, &found) == HS_OK);
            CHECK(found.c.bound == (double)(least[0] + least[1]));
        }
}

/* The threshold found is as good as any other, and the prediction is that of few draws. */
static void predictions(void)
{
    static product found;
    for (int round = 0; round < 40; round++) {
        double times[P];
        for (int i = 0; i < P; i++) times[i] = 1 + check_random(5);
        hs_dynamic x = {.p = P, .cycle_times = times, .n = round % 2 ? 9 : 27, .kind = round % 2};
        double beta, best, other, mean = 0;
        CHECK(hs_dynamic_beta(&x, NULL, &beta) == HS_OK && beta >= 0);
        CHECK(hs_dynamic_predict(&x, beta, &best) == HS_OK);
        for (int i = 0; i < 100; i++) {
            CHECK(hs_dynamic_predict(&x, 0.1 * i, &other) == HS_OK);
            CHECK(best <= other * (1 + 1e-9));
        }
        CHECK(hs_dynamic_predict(&x, INFINITY, &other) == HS_OK && best <= other * (1 + 1e-9));
        x.beta = beta;
        for (int i = 0; i < 20; i++) {
            x.seed = (uint64_t)i;
            CHECK(simulate(&x, &found) == HS_OK);
            mean += found.c.value / 20;
        }
        CHECK(fabs(mean / best - 1) < 0.12);
    }
}

/* The bound on the makespan is not above makespans that occur, up to rounding, and overflows only if
 * they do. */
static void bounds_hold(void)
{
    static product found;
    double volume, least;
    const int rounds = CHECK_MANY(2000, 200);
    for (int round = 0; round < rounds; round++) {
        double times[P];
        for (int i = 0; i < P; i++) times[i] = 0.1 * (1 + check_random(9));
        const hs_dynamic x = {.p = P,
                              .cycle_times = times,
                              .n = 1 + check_random(5),
                              .kind = (int32_t)check_random(2),
                              .seed = (uint64_t)round};
        CHECK(simulate(&x, &found) == HS_OK);
        CHECK(hs_dynamic_bounds(&x, &volume, &least) == HS_OK);
        CHECK(least <= found.makespan * (1 + 1e-13) && least > 0.0);
    }
    double slow[16];
    for (int i = 0; i < 16; i++) slow[i] = 3e307;
    const hs_dynamic x = {.p = 16, .cycle_times = slow, .n = 4};
    CHECK(hs_dynamic_bounds(&x, &volume, &least) == HS_OK && least > 2.99e307 && least <= 3e307);
}

static void refusals(void)
{
    static product found;
    const double times[] = {1, 2};
    const double endless[] = {INFINITY, INFINITY};
    const double bad[] = {1, 0};
    const double huge[] = {1e308, 1e308};
    double volume = -7;
    double makespan = -7;
    double beta = -7;
    const hs_dynamic wrong[] = {
        {.p = 0, .cycle_times = times, .n = 3},
        {.p = 2, .cycle_times = times, .n = -1},
        {.p = 2, .cycle_times = times, .n = 1001},
        {.p = 2, .cycle_times = times, .n = 101, .kind = HS_DYNAMIC_MATRIX},
        {.p = 2, .cycle_times = times, .n = INT64_MAX, .kind = HS_DYNAMIC_MATRIX},
        {.p = 2, .cycle_times = times, .n = 3, .kind = HS_DYNAMIC_KINDS},
        {.p = 2, .cycle_times = times, .n = 3, .kind = -1},
        {.p = 2, .cycle_times = endless, .n = 3},
        {.p = 2, .cycle_times = bad, .n = 3},
        {.p = 2, .cycle_times = huge, .n = 3, .method = HS_DYNAMIC_SORTED},
        {.p = 2, .cycle_times = times, .n = 3, .changes = &(hs_speed_changes){1, times, bad}},
        {.p = 2, .cycle_times = times, .n = 3, .method = HS_DYNAMIC_METHODS},
        {.p = 2, .cycle_times = times, .n = 3, .method = -1},
        {.p = 2, .cycle_times = times, .n = 3, .beta = NAN},
        {.p = 2, .cycle_times = times, .n = 3, .beta = -1},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        CHECK(simulate(&wrong[k], &found) == HS_ERROR_VALUE);
        if (k >= 11) continue; /* not read by the others */
        CHECK(hs_dynamic_bounds(&wrong[k], &volume, &makespan) == HS_ERROR_VALUE);
        if (k >= 9) continue;
        CHECK(hs_dynamic_predict(&wrong[k], 1, &volume) == HS_ERROR_VALUE);
        CHECK(hs_dynamic_beta(&wrong[k], NULL, &beta) == HS_ERROR_VALUE);
    }
    const hs_dynamic right = {.p = 2, .cycle_times = times, .n = 3};
    CHECK(hs_dynamic_predict(&right, NAN, &volume) == HS_ERROR_VALUE);
    CHECK(hs_dynamic_predict(&right, -1, &volume) == HS_ERROR_VALUE);
    CHECK(volume == -7 && makespan == -7 && beta == -7);
    const hs_dynamic nothing = {.p = 2, .cycle_times = times};
    CHECK(hs_dynamic_product(&nothing, NULL, NULL, found.blocks, &makespan, &found.c) == HS_OK);
    CHECK(makespan == 0 && found.c.value == 0 && found.c.optimal);
    CHECK(hs_dynamic_beta(&nothing, NULL, &beta) == HS_OK && beta == 0);
    CHECK(hs_dynamic_predict(&nothing, 1, &volume) == HS_OK && volume == 0);
    const int stop = 1;
    CHECK(hs_dynamic_product(&right, &stop, found.tasks, found.blocks, &makespan, &found.c) ==
          HS_ERROR_CANCELLED);
}

static void scarce(void)
{
    static product found;
    const double times[] = {1, 2};
    const hs_dynamic x = {.p = 2, .cycle_times = times, .n = 3, .beta = 1};
    found.makespan = -7;
    CHECK_SCARCE(simulate(&x, &found), found.makespan == -7);
}

int main(void)
{
    draws();
    least_volumes();
    predictions();
    bounds_hold();
    refusals();
    scarce();
    return check_result();
}
