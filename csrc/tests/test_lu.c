/* LU on pools of all kinds: factors multiplied back, against the matrix; systems; the simulation
 * against the paper and against paced runs; cancels, refusals, failing allocations. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "domains.h"
#include "hetsched.h"
#include "late.h"
#include "leaping.h"
#include "run_calls.h"
#include "scarce.h"
#include "sets.h"

enum { MAX = 70 };
static const size_t sizes[] = {4, 8, 8, 16};
static const double eps[] = {0x1p-23, 0x1p-52, 0x1p-23, 0x1p-52};

static double complex get_element(int32_t dtype, const void *x, ptrdiff_t at)
{
    switch (dtype) {
    case HS_FLOAT32: return ((const float *)x)[at];
    case HS_FLOAT64: return ((const double *)x)[at];
    case HS_COMPLEX64:
        return ((const float *)x)[2 * at] + I * (double)((const float *)x)[2 * at + 1];
    default: return ((const double *)x)[2 * at] + I * ((const double *)x)[2 * at + 1];
    }
}

static void set_element(int32_t dtype, void *x, ptrdiff_t at, double complex value)
{
    switch (dtype) {
    case HS_FLOAT32: ((float *)x)[at] = (float)creal(value); break;
    case HS_FLOAT64: ((double *)x)[at] = creal(value); break;
    case HS_COMPLEX64:
        ((float *)x)[2 * at] = (float)creal(value);
        ((float *)x)[2 * at + 1] = (float)cimag(value);
        break;
    default: ((double *)x)[2 * at] = creal(value); ((double *)x)[2 * at + 1] = cimag(value);
    }
}

static double size_of(double complex x) { return fabs(creal(x)) + fabs(cimag(x)); }

/* Returns max |P A - L U| in units of rounding; no multiplier may be above 1. */
static double error_of(const hs_factor *lu, const double complex *a)
{
    const int64_t m = lu->m;
    const int64_t n = lu->n;
    const int64_t rank = hs__min(m, n);
    int64_t order[3 * MAX];
    double worst = 0;
    double largest = 0;
    for (int64_t i = 0; i < m; i++) order[i] = i;
    for (int64_t i = 0; i < rank; i++) {
        const int64_t p = lu->pivots[i];
        const int64_t kept = order[i];
        if (!CHECK(p >= i && p < m)) return INFINITY;
        order[i] = order[p];
        order[p] = kept;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -a[order[i] * n + j];
            for (int64_t k = 0; k <= i && k <= j && k < rank; k++) {
                const double complex l = k == i
                                             ? 1
                                             : get_element(lu->dtype, lu->matrix,
                                                           i * lu->row_stride + k * lu->col_stride);
                CHECK(size_of(l) < 2.01);
                sum +=
                    l * get_element(lu->dtype, lu->matrix, k * lu->row_stride + j * lu->col_stride);
            }
            worst = fmax(worst, size_of(sum));
            largest = fmax(largest, size_of(a[order[i] * n + j]));
        }
    return largest > 0 ? worst / largest / eps[lu->dtype] / (double)hs__max(m, n) : worst;
}

static void factors(hs_pool *pool, int32_t p, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const int32_t dtype = round % 4;
        int64_t m = 1 + check_random(MAX);
        int64_t n = 1 + check_random(MAX);
        if (round % 11 == 0) m += 2 * MAX;
        const size_t bytes = (size_t)((m + 1) * (n + 1)) * 16;
        double complex *a = malloc((size_t)(m * n) * sizeof *a);
        char *given = malloc(bytes);
        char *result = NULL;
        char *before = malloc(bytes);
        if (!CHECK(a && given && before && !posix_memalign((void **)&result, 64, bytes))) return;
        memset(given, 0x55, bytes);
        memset(result, 0x55, bytes);
        const int by_rows = (int)check_random(2);
        const int gap = (int)check_random(2);
        const int in_place = (int)check_random(2);
        hs_factor lu = {.dtype = dtype,
                        .m = m,
                        .n = n,
                        .matrix = result,
                        .row_stride = 1,
                        .col_stride = m + gap,
                        .block = check_random(3) ? 1 + check_random(MAX) : 0};
        if (!in_place) {
            lu.a = given;
            lu.a_row_stride = by_rows ? n : 1;
            lu.a_col_stride = by_rows ? 1 : m;
        }
        if (round % 5 == 0) {
            lu.row_stride = n + gap;
            lu.col_stride = 1;
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double complex x = (int)check_random(2001) - 1000 +
                                   (dtype >> 1) * I * ((int)check_random(2001) - 1000);
                /* ties, often a singular matrix */
                if (round % 7 == 3) x = (int)check_random(3) - 1;
                a[i * n + j] = x;
                if (in_place) set_element(dtype, result, i * lu.row_stride + j * lu.col_stride, x);
                else set_element(dtype, given, i * lu.a_row_stride + j * lu.a_col_stride, x);
            }
        memcpy(before, given, bytes);
        int32_t pivots[MAX], owner[3 * MAX];
        int32_t blocks = 0;
        lu.pivots = pivots;
        if (lu.block) CHECK(hs_factor_blocks(m, n, lu.block, &blocks) == HS_OK && blocks >= 1);
        for (int32_t i = 0; i < blocks; i++) owner[i] = (int32_t)check_random((unsigned)p);
        lu.owner = blocks && check_random(2) ? owner : NULL;
        double finish[16], late[16], busy[16], pace[16];
        for (int i = 0; i < 16; i++) pace[i] = 1e-10 * (1 + check_random(5));
        test_run run = {.boxes.cooperative = (int32_t)check_random(2),
                        .trace.times.finish = finish,
                        .trace.times.late = late,
                        .trace.times.busy = busy};
        if (!run.boxes.cooperative && check_random(2)) run.options.pace = pace;
        CHECK(run_lu(pool, &lu, &run) == HS_OK);
        CHECK(error_of(&lu, a) < 2);
        CHECK(memcmp(given, before, bytes) == 0);
        if (gap && lu.row_stride == 1) /* the memory between the columns */
            for (int64_t j = 0; j < n; j++)
                CHECK(result[(size_t)(j * (m + 1) + m) * sizes[dtype]] == 0x55);
        const int64_t rank = hs__min(m, n);
        int64_t zero = -1;
        for (int64_t i = rank; i-- > 0;)
            if (get_element(dtype, result, i * (lu.row_stride + lu.col_stride)) == 0) zero = i;
        CHECK(lu.failed == zero);
        free(a);
        free(given);
        free(result);
        free(before);
    }
}

static void systems(hs_pool *pool)
{
    for (int round = 0; round < 48; round++) {
        const int32_t dtype = round % 4;
        const int32_t transposed = (int32_t)check_random(2);
        const int64_t n = 1 + check_random(MAX);
        const int64_t cols = 1 + check_random(9);
        double complex a[MAX * MAX], b[MAX * 9];
        double memory[2 * MAX * MAX], x[2 * MAX * 9];
        int32_t pivots[MAX];
        hs_factor lu = {.dtype = dtype,
                        .m = n,
                        .n = n,
                        .matrix = memory,
                        .row_stride = 1,
                        .col_stride = n,
                        .pivots = pivots};
        if (round % 3 == 0) {
            lu.row_stride = n;
            lu.col_stride = 1;
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                a[i * n + j] = (int)check_random(201) - 100 +
                               (dtype >> 1) * I * ((int)check_random(201) - 100) + (i == j) * 1000;
                set_element(dtype, memory, i * lu.row_stride + j * lu.col_stride, a[i * n + j]);
            }
        const int64_t down = round % 2 ? 1 : cols;
        const int64_t across = round % 2 ? n : 1;
        for (int64_t i = 0; i < n * cols; i++) {
            b[i] = (int)check_random(201) - 100 + (dtype >> 1) * I * (int)check_random(100);
            set_element(dtype, x, i / cols * down + i % cols * across, b[i]);
        }
        test_run run = {.boxes.cooperative = 1};
        CHECK(run_lu(pool, &lu, &run) == HS_OK);
        CHECK(hs_lu_solve(pool, &lu, transposed, cols, x, down, across, NULL, NULL) == HS_OK);
        double worst = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < cols; c++) {
                double complex sum = -b[i * cols + c];
                for (int64_t j = 0; j < n; j++)
                    sum += (transposed ? a[j * n + i] : a[i * n + j]) *
                           get_element(dtype, x, j * down + c * across);
                worst = fmax(worst, size_of(sum));
            }
        CHECK(worst < 2e3 * eps[dtype] * (double)n);
    }
    int32_t pivots[2] = {0, 2};
    double x[4] = {1, 0, 0, 1};
    hs_factor lu = {.dtype = HS_FLOAT64,
                    .m = 2,
                    .n = 2,
                    .matrix = x,
                    .row_stride = 1,
                    .col_stride = 2,
                    .pivots = pivots};
    CHECK(hs_lu_solve(pool, &lu, 0, 1, x, 1, 1, NULL, NULL) == HS_ERROR_VALUE);
    pivots[1] = 1;
    CHECK(hs_lu_solve(pool, &lu, 2, 1, x, 1, 1, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_lu_solve(pool, &lu, 0, 0, NULL, 1, 1, NULL, NULL) == HS_OK);
    lu.m = 1;
    CHECK(hs_lu_solve(pool, &lu, 0, 1, x, 1, 1, NULL, NULL) == HS_ERROR_VALUE);
    lu.m = 2;
    lu.a_col_stride = 2; /* a stride without a matrix */
    CHECK(hs_run_factor(pool, &lu, NULL, NULL) == HS_ERROR_VALUE);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static void simulation(void)
{
    const double times[] = {3, 5, 8};
    const double infinite[] = {3, INFINITY, 8};
    const double zero[] = {3, 0, 8};
    const int32_t pattern[] = {2, 1, 0, 0, 1, 0, 2, 0, 1, 0};
    const int32_t cyclic[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    const int32_t wrong[] = {2, 1, 0, 0, 1, 0, 2, 0, 3, 0};
    double good, bad, work;
    double makespan = -1;
    int64_t count;
    hs_factor_task tasks[100];
    CHECK(hs_factor_simulate(HS_LU, 1000, 1000, 100, 3, times, pattern, 0, NULL, NULL, &good, &work,
                             tasks, &count, NULL, NULL) == HS_OK &&
          count == 55);
    CHECK(fabs(work - 1e9 / 3) < 1);
    double busy[3] = {0};
    double ready[10] = {0};
    double end = 0;
    /* A worker does one task at a time, after the task's panel is ready. */
    for (int64_t i = 0; i < count; i++) {
        const hs_factor_task *t = &tasks[i];
        CHECK(t->worker == pattern[t->block] && t->start >= busy[t->worker] &&
              fabs(t->end - t->start - t->work * times[t->worker]) < 1e-9 * t->end);
        if (t->panel == t->block) ready[t->panel] = t->end;
        else CHECK(t->start >= ready[t->panel] && ready[t->panel] > 0);
        busy[t->worker] = t->end;
        end = fmax(end, t->end);
    }
    CHECK(end == good);
    CHECK(hs_factor_simulate(HS_LU, 1000, 1000, 100, 3, times, cyclic, 0, NULL, NULL, &bad, NULL,
                             NULL, NULL, NULL, NULL) == HS_OK);
    CHECK(bad / good > 1.4 && bad / good < 1.6);
    CHECK(hs_factor_simulate(HS_LU, 1000, 1000, 100, 1, times, wrong, 0, NULL, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 1000, 1000, 100, 3, times, wrong, 0, NULL, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 1000, 1000, 100, 3, infinite, pattern, 0, NULL, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 1000, 1000, 100, 3, zero, pattern, 0, NULL, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, -1, 1000, 100, 3, times, pattern, 0, NULL, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 1000, 1000, 0, 3, times, pattern, 0, NULL, NULL, &makespan,
                             NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_factor_simulate(HS_LU, 1000000, 1000000, 1, 3, times, pattern, 0, NULL, NULL,
                             &makespan, NULL, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(makespan == -1);
    int32_t blocks = -1;
    CHECK(hs_factor_blocks(10, 25, 4, &blocks) == HS_OK && blocks == 3 + 4);
    CHECK(hs_factor_blocks(25, 10, 4, &blocks) == HS_OK && blocks == 3);
    CHECK(hs_factor_blocks(0, 10, 4, &blocks) == HS_OK && blocks == 3);
}

/* Panels of another speed, messages, no look-ahead: computed by hand for two blocks and two
 * workers. */
static void costs(void)
{
    const double times[] = {1, 2};
    const double panels[] = {4, 3};
    const double links[] = {9, 0.5, 0.25, 9};
    const double infinite[] = {INFINITY, 1};
    const double nan[] = {1, NAN};
    const double below[] = {0, -1, 0, 0};
    const int32_t owner[] = {0, 1, 0};
    hs_factor_costs all = {.panels = panels, .links = links};
    hs_factor_task tasks[6];
    hs_factor_message messages[2];
    double makespan = -1;
    int64_t count, sent;
    /* 20 x 30, blocks of 10: panels 0 and 1, with block 2 to their right. Panel 0 takes
     * 10 * 10 * (20 - 10/3) / 2, its updates 10 * 10 * 15. */
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                             tasks, &count, messages, &sent) == HS_OK &&
          count == 5 && sent == 2);
    const double first = 2500.0 / 3;
    const double second = 1000.0 / 3;
    const double ready = 4 * first;
    const double arrived = ready + 0.5 * 200;
    const double factored = arrived + 2 * 1500 + 3 * second;
    const double back = factored + 0.25 * 100;
    const double ends[] = {ready, arrived + 3000, factored, ready + 1500, back + 500};
    for (int i = 0; i < 5; i++) CHECK(fabs(tasks[i].end - ends[i]) < 1e-9 * ends[i]);
    CHECK(messages[0].panel == 0 && messages[0].sender == 0 && messages[0].receiver == 1 &&
          messages[0].start == tasks[0].end);
    CHECK(messages[1].panel == 1 && messages[1].sender == 1 && messages[1].receiver == 0 &&
          fabs(messages[1].end - back) < 1e-9 * back);
    CHECK(makespan == tasks[4].end);
    const int32_t one[] = {0, 0, 0};
    all.late_panel = 1;
    all.links = NULL;
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, one, 0, &all, NULL, &makespan, NULL,
                             tasks, &count, messages, &sent) == HS_OK &&
          sent == 0);
    CHECK(tasks[1].block == 1 && tasks[2].block == 2 && tasks[3].block == 1 &&
          tasks[3].panel == 1 && tasks[4].panel == 1);
    makespan = -1;
    all.panels = infinite;
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    const int32_t other[] = {1, 1, 0};
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, other, 0, &all, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_OK &&
          makespan > 0);
    makespan = -1;
    all.panels = nan;
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    all.panels = NULL;
    all.links = below;
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    all.links = NULL;
    /* times of steps: update (0, 1) takes 1500 * 4, (0, 2) 1500 * 3 and (1, 2) 500 * 5 */
    double steps[] = {3, 4, 5, INFINITY};
    all = (hs_factor_costs){.panels = panels, .steps = steps};
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                             tasks, &count, NULL, NULL) == HS_OK);
    const double next = ready + 6000 + 3 * second;
    const double by_steps[] = {ready, ready + 6000, next, ready + 4500, next + 2500};
    for (int i = 0; i < 5; i++) CHECK(fabs(tasks[i].end - by_steps[i]) < 1e-9 * by_steps[i]);
    makespan = -1;
    hs_certificate certificate;
    CHECK(hs_factor_certificate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &certificate) ==
          HS_ERROR_VALUE);
    const int32_t squares[] = {0, 1, 0, 0, 1, 0};
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, squares, 1, &all, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    for (int i = 0; i < 3; i++) {
        steps[2] = (const double[]){INFINITY, NAN, 0}[i]; /* worker 0 has update (1, 2) */
        CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                                 NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    }
    all = (hs_factor_costs){.segment = -1};
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    all = (hs_factor_costs){0};
    all.late_panel = 2;
    CHECK(hs_factor_simulate(HS_LU, 20, 30, 10, 2, times, owner, 0, &all, NULL, &makespan, NULL,
                             NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(makespan == -1);
}

/* Lists the workers with blocks behind block k, by their first ones, without the owner of k. */
static int ring_behind(int32_t count, const int32_t *owner, int32_t k, int32_t *ring)
{
    int size = 0;
    for (int32_t j = k + 1; j < count; j++) {
        int known = owner[j] == owner[k];
        for (int i = 0; i < size; i++) known |= ring[i] == owner[j];
        if (!known) ring[size++] = owner[j];
    }
    return size;
}

/* Many messages: each port has one at a time, a panel goes along the ring, and each segment is passed
 * on when it has come. */
static void ports(void)
{
    enum { COUNT = 12, P = 5 };
    for (int round = 0; round < 64; round++) {
        double times[P], links[P * P], makespan;
        double sent[P] = {0};
        double received[P] = {0};
        double done[COUNT] = {0};
        double there[192]; /* when each segment is with the sender */
        int32_t owner[COUNT];
        hs_factor_task tasks[COUNT * COUNT];
        hs_factor_message messages[COUNT * P];
        int64_t count, message_count;
        for (int i = 0; i < P; i++) times[i] = 1 + check_random(5);
        for (int i = 0; i < P * P; i++) links[i] = check_random(400);
        for (int i = 0; i < COUNT; i++) owner[i] = (int32_t)check_random(P);
        const int64_t segment = (const int64_t[]){0, 1, 7, 16, 191, 192, 193, INT64_MAX}[round % 8];
        const hs_factor_costs given = {
            .links = links, .segment = segment, .late_panel = round / 8 % 2};
        CHECK(hs_factor_simulate(HS_LU, 48, 48, 4, P, times, owner, 0, &given, NULL, &makespan,
                                 NULL, tasks, &count, messages, &message_count) == HS_OK);
        for (int64_t i = 0; i < count; i++)
            if (tasks[i].panel == tasks[i].block) done[tasks[i].panel] = tasks[i].end;
        int64_t expected = 0;
        for (int32_t k = 0; k < COUNT; k++)
            expected += ring_behind(COUNT, owner, k, (int32_t[P]){0});
        CHECK(message_count == expected);
        for (int64_t i = 0; i < message_count; i++) {
            const hs_factor_message *m = &messages[i];
            CHECK(i == 0 || messages[i - 1].panel <= m->panel);
            int32_t ring[P];
            const int size = ring_behind(COUNT, owner, m->panel, ring);
            const int64_t elements = 4 * (48 - 4 * (int64_t)m->panel);
            const int64_t step = segment && segment < elements ? segment : elements;
            int at = 0;
            while (at < size && ring[at] != m->receiver) at++;
            CHECK(at < size && m->sender == (at ? ring[at - 1] : owner[m->panel]));
            CHECK(at ? i > 0 && m[-1].receiver == m->sender : i == 0 || m[-1].panel < m->panel);
            for (int64_t e = 0; e < elements && !at; e++) there[e] = done[m->panel];
            double now = fmax(there[0], fmax(sent[m->sender], received[m->receiver]));
            CHECK(m->start == now);
            for (int64_t e = 0; e * step < elements; e++) {
                const int64_t rest = elements - e * step;
                now = fmax(now, there[e]) +
                      (double)(rest < step ? rest : step) * links[m->sender * P + m->receiver];
                there[e] = now;
            }
            CHECK(fabs(m->end - now) <= 1e-12 * now);
            sent[m->sender] = received[m->receiver] = m->end;
            for (int64_t t = 0; t < count; t++)
                if (tasks[t].panel == m->panel && tasks[t].worker == m->receiver)
                    CHECK(tasks[t].start >= m->end);
        }
    }
}

/* The emulated clock: the workers end when the simulation says. */
static void pacing(hs_pool *pool, const double *panels, const double *links, int late_panel,
                   int by_steps)
{
    enum { N = 60, BLOCK = 6 };
    const double times[] = {3, 5, 8};
    const double unit = 1e-6;
    const double pace[] = {3 * unit / 2, 5 * unit / 2, 8 * unit / 2};
    double panel_pace[3], link_pace[9], steps[30], step_pace[30];
    for (int i = 0; i < 3 && panels; i++) panel_pace[i] = panels[i] * unit;
    for (int i = 0; i < 9 && links; i++) link_pace[i] = links[i] * unit;
    for (int i = 0; i < 30; i++) {
        steps[i] = times[i % 3] * (1 + (i / 3) % 4);
        step_pace[i] = steps[i] * unit;
    }
    const hs_factor_costs costs = {.panels = panels,
                                   .links = links,
                                   .segment = 100,
                                   .late_panel = late_panel,
                                   .steps = by_steps ? steps : NULL};
    const hs_factor_costs paced = {.panels = panels ? panel_pace : NULL,
                                   .links = links ? link_pace : NULL,
                                   .segment = 100,
                                   .late_panel = late_panel,
                                   .steps = by_steps ? step_pace : NULL};
    const int32_t owner[] = {2, 1, 0, 0, 1, 0, 2, 0, 1, 0};
    static double a[N * N];
    int32_t pivots[N];
    double makespan, finish[3], late[3];
    double last = 0;
    hs_event events[100];
    for (int i = 0; i < N * N; i++) a[i] = check_random(1000);
    hs_factor lu = {.dtype = HS_FLOAT64,
                    .m = N,
                    .n = N,
                    .matrix = a,
                    .row_stride = 1,
                    .col_stride = N,
                    .pivots = pivots,
                    .block = BLOCK,
                    .owner = owner,
                    .costs = &paced};
    test_run run = {.options.pace = pace,
                    .trace.times.finish = finish,
                    .trace.times.late = late,
                    .trace.events = events,
                    .trace.event_capacity = 100};
    CHECK(run_lu(pool, &lu, &run) == HS_OK);
    int64_t sent;
    hs_factor_message messages[30];
    CHECK(hs_factor_simulate(HS_LU, N, N, BLOCK, 3, times, owner, 0, &costs, NULL, &makespan, NULL,
                             NULL, NULL, messages, &sent) == HS_OK);
    for (int i = 0; i < 3; i++) last = fmax(last, finish[i] - late[i]);
    CHECK(fabs(last - makespan * unit) < 1e-9);
    CHECK((sent > 0) == (links != NULL));
    CHECK(run.trace.event_count == 55 + sent);
    for (int32_t e = 0; e < run.trace.event_count; e++) {
        CHECK(events[e].end >= events[e].start);
        if (events[e].kind == HS_COMPUTE) CHECK(events[e].worker == owner[events[e].box % 10]);
        for (int64_t i = 0; i < sent && events[e].kind == HS_TRANSFER; i++)
            if (messages[i].panel == events[e].box / 10 && messages[i].receiver == events[e].worker)
                CHECK(fabs(messages[i].start * unit - events[e].start) < 1e-9 &&
                      fabs(messages[i].end * unit - events[e].end) < 1e-9);
    }
}

static int stop_after(void *context, double fraction)
{
    CHECK(fraction >= 0 && fraction <= 1);
    return ++*(int *)context >= 2;
}

static void cancelling(hs_pool *pool)
{
    const double hours[] = {1, 1, 1};
    static double a[MAX * MAX];
    int32_t pivots[MAX];
    int calls = 0;
    for (int i = 0; i < MAX * MAX; i++) a[i] = check_random(1000);
    hs_factor lu = {.dtype = HS_FLOAT64,
                    .m = MAX,
                    .n = MAX,
                    .matrix = a,
                    .row_stride = 1,
                    .col_stride = MAX,
                    .pivots = pivots,
                    .block = 10};
    test_run run = {
        .options.pace = hours, .options.poll = stop_after, .options.poll_context = &calls};
    /* two workers wait for a panel, one for the end of its time */
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_CANCELLED);
    CHECK(calls == 2);
    factors(pool, 3, 4); /* the pool still works */
}

static void refusals(hs_pool *pool)
{
    double a[4] = {1, 2, 3, 4};
    int32_t pivots[2];
    const int32_t owner[] = {0, 3};
    const double pace[] = {1, NAN, 1};
    const double speeds[] = {1, 1, 1};
    const hs_factor good = {.dtype = HS_FLOAT64,
                            .m = 2,
                            .n = 2,
                            .matrix = a,
                            .row_stride = 1,
                            .col_stride = 2,
                            .pivots = pivots,
                            .block = 1};
    const test_run plain = {.boxes.cooperative = 1};
    hs_factor lu = good;
    test_run run = plain;
    CHECK(run_lu(pool, &lu, &run) == HS_OK && a[0] == 2 && a[1] == 0.5 && pivots[0] == 1 &&
          pivots[1] == 1);
    CHECK(run_lu(NULL, &lu, &run) == HS_ERROR_VALUE);
    CHECK(run_lu(pool, NULL, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.dtype = 4;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.m = -1;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.matrix = NULL;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.pivots = NULL;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.block = -1;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.owner = owner;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    run.options.pace = speeds;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    run = plain;
    run.boxes.cooperative = 0;
    run.options.pace = pace;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    const double one[] = {1, 1, 1};
    const double free_links[9] = {0};
    hs_factor_costs given = {.panels = one};
    run = plain;
    lu = good;
    lu.costs = &given;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE); /* not at real speed */
    given = (hs_factor_costs){.links = free_links};
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    const double bad_steps[6] = {1, 1, 0, 1, 1, 1};
    given = (hs_factor_costs){.steps = bad_steps};
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    given = (hs_factor_costs){.panels = pace};
    run.boxes.cooperative = 0;
    run.options.pace = speeds;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    given = (hs_factor_costs){.steps = bad_steps};
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    given = (hs_factor_costs){.late_panel = -1};
    run = plain;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.a_row_stride = 7; /* a stride without a matrix */
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.a_col_stride = 7;
    CHECK(run_lu(pool, &lu, &run) == HS_ERROR_VALUE);
    lu = good;
    lu.m = 0;
    CHECK(run_lu(pool, &lu, &run) == HS_OK && lu.failed == -1);
}

/* Large enough that the workers share the work and take over tasks. */
static void large(hs_pool *pool)
{
    enum { N = 330 };
    double *a = malloc(N * N * sizeof *a);
    double *b = malloc(N * N * sizeof *b);
    int32_t pivots[2][N];
    if (!CHECK(a && b)) return;
    for (int i = 0; i < N * N; i++) a[i] = b[i] = check_random(100000);
    hs_factor lu = {.dtype = HS_FLOAT64,
                    .m = N,
                    .n = N,
                    .matrix = a,
                    .row_stride = 1,
                    .col_stride = N,
                    .pivots = pivots[0],
                    .block = 24};
    test_run run = {.boxes.cooperative = 1};
    test_run apart = {.boxes.cooperative = 0};
    CHECK(run_lu(pool, &lu, &run) == HS_OK);
    lu.matrix = b;
    lu.pivots = pivots[1];
    CHECK(run_lu(pool, &lu, &apart) == HS_OK);
    CHECK(memcmp(a, b, N * N * sizeof *a) == 0 &&
          memcmp(pivots[0], pivots[1], sizeof pivots[0]) == 0);
    free(a);
    free(b);
}

/* The elements of the first column are zeros, then equally large from row `first` on: the first of
 * these becomes the pivot, in whichever strip and lane the remaining ones are. A tiny pivot has no
 * inverse, and yet the division by it works. */
static void ties_and_tiny(hs_pool *pool)
{
    enum { N = 200 };
    static double a[N * N];
    int32_t pivots[N];
    test_run run = {.boxes.cooperative = 1};
    for (int first = 0; first < N; first += CHECK_MANY(7, 49)) {
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                a[j * N + i] = i % 3 ? 1.0 : -1.0;
                if (i < first) a[j * N + i] = 0.0;
                if (j > 0) a[j * N + i] = check_random(1000);
            }
        hs_factor lu = {.dtype = HS_FLOAT64,
                        .m = N,
                        .n = N,
                        .matrix = a,
                        .row_stride = 1,
                        .col_stride = N,
                        .pivots = pivots};
        CHECK(run_lu(pool, &lu, &run) == HS_OK && pivots[0] == first);
    }
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) a[j * N + i] = i == j ? 3e-310 : i > j ? 1e-310 : 0;
    hs_factor lu = {.dtype = HS_FLOAT64,
                    .m = N,
                    .n = N,
                    .matrix = a,
                    .row_stride = 1,
                    .col_stride = N,
                    .pivots = pivots};
    CHECK(run_lu(pool, &lu, &run) == HS_OK);
    for (int i = 1; i < N; i++) CHECK(fabs(a[i] - 1.0 / 3) < 1e-9);
}

#ifdef HS_TEST_SCARCE
/* In place, wherever the matrix begins, with few packed panels, also where workers are paced: the
 * same bits. */
static void in_little_memory(void)
{
    enum { N = 600, BLOCK = 48 };
    double *const memory = aligned_alloc(64, (2 * N * N + 8) * sizeof(double));
    double *const kept = memory + N * N + 8;
    int32_t pivots[2][N];
    const double pace[] = {1e-12, 1e-12};
    if (!CHECK(memory)) return;
    for (int begin = 0; begin < 3; begin += 2)
        for (int paced = 0; paced < 2; paced++) {
            double *a = memory + begin;
            for (int i = 0; i < N * N; i++)
                a[i] = (double)((i * INT64_C(7919) + i / N * INT64_C(104729)) % 10007);
            hs_pool *pool = NULL;
            if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) break;
            hs_factor lu = {.dtype = HS_FLOAT64,
                            .m = N,
                            .n = N,
                            .matrix = a,
                            .row_stride = 1,
                            .col_stride = N,
                            .pivots = pivots[begin || paced],
                            .block = BLOCK};
            test_run run = {.boxes.cooperative = !paced, .options.pace = paced ? pace : NULL};
            scarce_asked();
            CHECK(run_lu(pool, &lu, &run) == HS_OK);
            CHECK(scarce_asked() < N * N * sizeof(double) * 2 / 3);
            if (!begin && !paced) memcpy(kept, a, N * N * sizeof(double));
            else
                CHECK(memcmp(kept, a, N * N * sizeof(double)) == 0 &&
                      memcmp(pivots[0], pivots[1], sizeof pivots[0]) == 0);
            hs_pool_destroy(pool);
        }
    free(memory);
}
#endif

/* ---- no memory ------------------------------------------------------------------------------- */

typedef struct {
    /* factors `matrix` or, where it has an a, `given` */
    hs_factor lu;
    test_run run;
    int64_t cols; /* > 0: a solve with this many right-hand sides */
    int32_t transposed;
} scanty;

enum { SCANTY = 150 };
static double scanty_given[SCANTY * SCANTY], scanty_matrix[SCANTY * SCANTY + 8],
    scanty_sides[SCANTY * 8];

static double scanty_value(int64_t i, int64_t j)
{
    return i == j ? 300 : (double)((i * 7 + j * 3) % 5) - 2;
}

static hs_status factor_scanty(hs_pool *pool, void *context)
{
    scanty *x = context;
    const int64_t n = x->lu.n;
    int32_t pivots[SCANTY];
    hs_factor lu = x->lu;
    test_run run = x->run;
    lu.pivots = pivots;
    for (int64_t i = 0; i < n; i++) pivots[i] = -7;
    double *const from = lu.a ? scanty_given : lu.matrix;
    if (lu.a) memset(scanty_matrix, 0x55, sizeof scanty_matrix);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) from[j * n + i] = scanty_value(i, j);
    double before[2];
    memcpy(before, lu.matrix, sizeof before);
    const hs_status status = run_lu(pool, &lu, &run);
    int64_t wrong = 0;
    /* The diagonal dominates, so no rows are exchanged. */
    if (status) {
        for (int64_t i = 0; i < n; i++) wrong += pivots[i] != -7;
        for (int64_t i = 0; i < n * n; i++) wrong += !lu.a && from[i] != scanty_value(i % n, i / n);
        CHECK(memcmp(lu.matrix, before, sizeof before) == 0);
    } else CHECK(pivots[0] == 0 && pivots[n - 1] == n - 1 && lu.failed == -1);
    CHECK(wrong == 0);
    return status;
}

/* On failure the right-hand sides are unchanged; otherwise the solution is x = A^-1 A x. */
static hs_status solve_scanty(hs_pool *pool, void *context)
{
    scanty *x = context;
    enum { N = SCANTY };
    static int32_t pivots[N];
    hs_factor lu = x->lu;
    test_run run = {.boxes.cooperative = 0};
    /* no allocation fails while the factors are made */
    const long left = scarce_left;
    scarce_left = -1;
    lu.pivots = pivots;
    /* rows that have to be exchanged */
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) scanty_matrix[j * N + i] = scanty_value((i + 3) % N, j);
    hs_status status = run_lu(pool, &lu, &run);
    if (!CHECK(status == HS_OK)) return status;
    for (int64_t i = 0; i < N; i++)
        for (int64_t c = 0; c < x->cols; c++) {
            double sum = 0;
            for (int64_t j = 0; j < N; j++)
                sum +=
                    (x->transposed ? scanty_value((j + 3) % N, i) : scanty_value((i + 3) % N, j)) *
                    (double)(1 + (j + c) % 4);
            scanty_sides[c * N + i] = sum;
        }
    static double before[N * 8];
    memcpy(before, scanty_sides, sizeof before);
    scarce_left = left;
    status = hs_lu_solve(pool, &lu, x->transposed, x->cols, scanty_sides, 1, N, NULL, NULL);
    if (status) CHECK(memcmp(before, scanty_sides, sizeof before) == 0);
    for (int64_t i = 0; i < N * x->cols && !status; i++)
        CHECK(fabs(scanty_sides[i] - (double)(1 + (i % N + i / N) % 4)) < 1e-9);
    return status;
}

static void scarce(void)
{
    const double pace[] = {1e-9, 1e-9, 1e-9};
    const double links[9] = {0};
    const double times[] = {3, 5, 8};
    const int32_t owner[] = {2, 1, 0, 0, 1, 0, 2, 0, 1, 0};
    const hs_factor_costs costs = {.links = links};
    /* not at a multiple of 64 bytes: the slices are stored separately */
    double *const odd = scanty_matrix + 1;
    const hs_factor aligned = {.dtype = HS_FLOAT64,
                               .m = SCANTY,
                               .n = SCANTY,
                               .matrix = scanty_matrix,
                               .row_stride = 1,
                               .col_stride = SCANTY,
                               .block = 16};
    hs_factor unaligned = aligned;
    hs_factor apart = aligned;
    hs_factor small = aligned;
    hs_factor linked = aligned;
    unaligned.matrix = odd;
    apart.a = scanty_given;
    apart.a_row_stride = 1;
    apart.a_col_stride = SCANTY;
    small.m = small.n = small.col_stride = 20;
    small.block = 0;
    linked.m = linked.n = linked.col_stride = 60;
    linked.block = 6;
    linked.owner = owner;
    linked.costs = &costs;
    scanty cases[] = {
        {aligned, {.boxes.cooperative = 1}, 0, 0}, {unaligned, {.boxes.cooperative = 1}, 0, 0},
        {apart, {.boxes.cooperative = 0}, 0, 0},   {small, {.boxes.cooperative = 1}, 0, 0},
        {linked, {.options.pace = pace}, 0, 0},    {linked, {.options.pace = pace}, 0, 0}};
    linked.costs = NULL;
    cases[5].lu = linked;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_SCARCE(scarce_life(3, factor_scanty, &cases[i]), 1);

    for (int32_t transposed = 0; transposed < 2; transposed++) {
        scanty solved = {aligned, {.boxes.cooperative = 0}, 8, transposed};
        CHECK_SCARCE(scarce_life(3, solve_scanty, &solved), 1);
    }
    double makespan = -7;
    int64_t count = -7;
    CHECK_SCARCE(hs_factor_simulate(HS_LU, 60, 60, 6, 3, times, owner, 0, &costs, NULL, &makespan,
                                    NULL, NULL, &count, NULL, NULL),
                 makespan == -7 && count == -7);
}

static void plain_set(int32_t dtype, void *x, int64_t at, double complex value)
{
    if (dtype == HS_FLOAT32) ((float *)x)[at] = (float)creal(value);
    if (dtype == HS_FLOAT64) ((double *)x)[at] = creal(value);
    if (dtype == HS_COMPLEX64) ((float complex *)x)[at] = (float complex)value;
    if (dtype == HS_COMPLEX128) ((double complex *)x)[at] = value;
}

#ifdef HS_TEST_SCARCE

static int stop_at_the_third(void *context, double fraction)
{
    (void)fraction;
    return ++*(int *)context == 3;
}

/* Factors and solutions consist of small integers, with 1 on the diagonals, so that the results are
 * exact in every type and order. */
static double complex plain_factor(int64_t i, int64_t j, int complex_)
{
    if (i == j) return 1;
    const int value = (int)((7 * i + 3 * j + i * j) % 5) - 2;
    if (value == -2) return -1;
    if (value < 2) return 0;
    return complex_ ? I : 1;
}

static double complex plain_solution(int64_t i, int64_t j, int complex_)
{
    return (double)((i + 2 * j) % 3 + 1) + (complex_ ? (double)((i + j) % 2) * I : 0);
}

/* Without any memory to pack operands, the solution is computed all the same, in every type. A poll
 * function may stop it. */
static void solve_without_memory(void)
{
    enum { N = 110, COLS = 7 };
    static double complex factors[N * N], sides[N * COLS], expected[N * COLS], middle[N * COLS];
    static int32_t pivots[N];
    for (int32_t i = 0; i < N; i++) pivots[i] = i;
    for (int32_t at = 0; at < 16; at++) {
        const int32_t dtype = at % 4;
        const int32_t transposed = at / 4 % 2;
        const int32_t stopped = at / 8;
        const int32_t complex_ = dtype >= HS_COMPLEX64;
        static const size_t bytes[] = {4, 8, 8, 16};
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++)
                plain_set(dtype, factors, j * N + i, plain_factor(i, j, complex_));
        /* U x, then L times the result; or with the transposed factors */
        for (int64_t half = 0; half < 2; half++)
            for (int64_t j = 0; j < COLS; j++)
                for (int64_t i = 0; i < N; i++) {
                    double complex sum = 0;
                    for (int64_t k = half ? 0 : i; k < (half ? i + 1 : N); k++)
                        sum += (transposed ? k == i ? 1 : plain_factor(k, i, complex_)
                                           : plain_factor(i, k, complex_)) *
                               (half ? middle[j * N + k] : plain_solution(k, j, complex_));
                    if (half) plain_set(dtype, sides, j * N + i, sum);
                    else {
                        middle[j * N + i] = sum;
                        plain_set(dtype, expected, j * N + i, plain_solution(i, j, complex_));
                    }
                }
        const hs_factor lu = {.dtype = dtype,
                              .m = N,
                              .n = N,
                              .matrix = factors,
                              .row_stride = 1,
                              .col_stride = N,
                              .pivots = pivots};
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
        int polls = 0;
        scarce_lasts = 1;
        scarce_left = 0;
        if (stopped) __atomic_store_n(&leaps, 0, __ATOMIC_RELAXED);
        const hs_status status = hs_lu_solve(pool, &lu, transposed, COLS, sides, 1, N,
                                             stopped ? stop_at_the_third : NULL, &polls);
        scarce_left = -1;
        __atomic_store_n(&leaps, -1, __ATOMIC_RELAXED);
        if (stopped) CHECK(status == HS_ERROR_CANCELLED && polls == 3);
        else CHECK(status == HS_OK && !memcmp(sides, expected, N * COLS * bytes[dtype]));
        hs_pool_destroy(pool);
    }
}
#endif

/* A zero on the diagonal leaves no finite solution, however many right-hand sides there are. */
static void singular_systems(hs_pool *pool)
{
    enum { N = 60, AT = 50, MOST = 40 };
    static double complex t[N * N], b[N * MOST];
    static int32_t pivots[N];
    static const int64_t some[] = {1, 5, 6, MOST};
    for (int32_t i = 0; i < N; i++) pivots[i] = i;
    for (int32_t at = 0; at < 32; at++) {
        const int32_t dtype = at % 4;
        const int32_t upper = at / 4 % 2;
        const int64_t cols = some[at / 8];
        for (int64_t i = 0; i < N * N; i++)
            plain_set(dtype, t, i, i % (N + 1) == 0 && i != AT * (N + 1));
        for (int64_t i = 0; i < N * cols; i++) plain_set(dtype, b, i, 1);
        const hs_triangular x = {.dtype = dtype,
                                 .n = N,
                                 .cols = cols,
                                 .upper = upper,
                                 .t = t,
                                 .t_row_stride = 1,
                                 .t_col_stride = N,
                                 .b = b,
                                 .b_row_stride = 1,
                                 .b_col_stride = N};
        const hs_factor lu = {.dtype = dtype,
                              .m = N,
                              .n = N,
                              .matrix = t,
                              .row_stride = 1,
                              .col_stride = N,
                              .pivots = pivots};
        CHECK((upper ? hs_lu_solve(pool, &lu, 0, cols, b, 1, N, NULL, NULL)
                     : hs_solve_triangular(pool, &x, NULL, NULL)) == HS_OK);
        for (int64_t j = 0; j < cols; j++) {
            const double complex found = get_element(dtype, b, j * N + AT);
            CHECK(!isfinite(creal(found)) || !isfinite(cimag(found)));
            CHECK(get_element(dtype, b, j * N + (upper ? N - 1 : 0)) == 1);
        }
    }
}

#ifdef HS_TEST_SCARCE
static int stop_at_the_second(void *context, double done)
{
    CHECK(done >= 0.0 && done <= 1.0);
    return ++*(int *)context == 2;
}

/* The caller alone solves for one right-hand side after the other, and looks for a cancel in
 * between. */
static void cancelled_alone(hs_pool *pool)
{
    enum { N = 3000 };
    double *t = calloc((size_t)N * N, sizeof *t);
    double b[N];
    if (!CHECK(t)) return;
    for (int64_t i = 0; i < N; i++) {
        t[i * (N + 1)] = 1;
        b[i] = 1;
    }
    const hs_triangular x = {.dtype = HS_FLOAT64,
                             .n = N,
                             .cols = 1,
                             .t = t,
                             .t_row_stride = 1,
                             .t_col_stride = N,
                             .b = b,
                             .b_row_stride = 1,
                             .b_col_stride = N};
    int polls = 0;
    __atomic_store_n(&leaps, 0, __ATOMIC_RELAXED);
    const hs_status status = hs_solve_triangular(pool, &x, stop_at_the_second, &polls);
    __atomic_store_n(&leaps, -1, __ATOMIC_RELAXED);
    CHECK(status == HS_ERROR_CANCELLED && polls == 2);
    free(t);
}
#endif

/* Solving a system may be the first thing that a process computes: its factors come from
 * elsewhere. */
static void solve_first(void)
{
    enum { ORDER = 100, SIDES = 8 };
    double factors[ORDER * ORDER] = {0};
    double b[ORDER * SIDES];
    int32_t pivots[ORDER];
    for (int32_t i = 0; i < ORDER; i++) {
        factors[i * ORDER + i] = 2;
        pivots[i] = i;
    }
    for (int i = 0; i < ORDER * SIDES; i++) b[i] = i;
    hs_pool *pool = NULL;
    hs_factor lu;
    hs_factor_default(&lu, HS_LU, HS_FLOAT64, ORDER, ORDER, factors);
    lu.pivots = pivots;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    CHECK(hs_lu_solve(pool, &lu, 0, SIDES, b, 1, ORDER, NULL, NULL) == HS_OK);
    for (int i = 0; i < ORDER * SIDES; i++) CHECK(b[i] == i / 2.0);
    hs_pool_destroy(pool);
}

int main(void)
{
    solve_first();
#ifdef HS_TEST_SCARCE
    solve_without_memory();
    in_little_memory();
#endif
    simulation();
    costs();
    ports();
    const int32_t cores[] = {0, 1};
    for (int32_t p = CHECK_MANY(1, 2); p <= CHECK_MANY(16, 3); p = p < 3 ? p + 1 : p + 13) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, p == 2 ? cores : NULL, &pool) == HS_OK)) break;
        factors(pool, p, CHECK_MANY(80, 12));
        large(pool);
        for (sets = CHECK_MANY(LEAST_SET, 2); sets < 2; sets++) {
            factors(pool, p, 40);
            large(pool);
        }
        if (p == 3) {
            systems(pool);
            singular_systems(pool);
#ifdef HS_TEST_SCARCE
            cancelled_alone(pool);
#endif
            ties_and_tiny(pool);
            const double panels[] = {9, 4, 8};
            const double links[] = {0, 300, 500, 200, 0, 900, 400, 100, 0};
            for (int late = 0; late < 2; late++) {
                pacing(pool, NULL, NULL, late, 0);
                pacing(pool, panels, NULL, late, 1);
                pacing(pool, NULL, links, late, 1);
                pacing(pool, panels, links, late, 0);
            }
            cancelling(pool);
            refusals(pool);
        }
        hs_pool_destroy(pool);
    }
    const int32_t of[5] = {1, 0, 2, 1, 2};
    for (int i = 0; i < DOMAIN_SETS; i += CHECK_MANY(1, 2)) {
        hs_pool *pool = open_domains(5, of, domain_sets[i]);
        if (pool) ALSO_LATE(factors(pool, 5, CHECK_MANY(60, 6)));
        hs_pool_destroy(pool);
    }
    scarce();
    return check_result();
}
