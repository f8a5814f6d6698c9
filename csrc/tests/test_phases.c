/* Programs of phases: every task is done once, after all tasks of the phases before it, also when
 * workers come late; pipelines inside a phase; cancels and refusals. */
#include <string.h>

#include "check.h"
#include "late.h"
#include "run/phases.h"
#include "scarce.h"

enum { PHASES = 40, MOST = 23, WORKERS = 4 };

/* times[k][i]: how often task i of phase k was done. wrong: tasks that began before an earlier phase
 * had ended, or by a worker that does not exist. */
typedef struct {
    int32_t counts[PHASES];
    _Atomic int32_t times[PHASES][MOST];
    _Atomic int32_t ended, wrong;
    int32_t before[PHASES]; /* tasks of the phases before */
    int32_t k;
} record;

typedef struct {
    record *all;
    int32_t k;
} one_phase;

static void count_task(void *context, int32_t task, hs__walk *walk)
{
    const one_phase *phase = context;
    record *all = phase->all;
    if (atomic_load(&all->ended) < all->before[phase->k] || walk->self.worker >= WORKERS)
        atomic_fetch_add(&all->wrong, 1);
    memset(hs__walk_scratch(walk), walk->self.worker, 64);
    atomic_fetch_add(&all->times[phase->k][task], 1);
    atomic_fetch_add(&all->ended, 1);
}

static void do_phases(void *context, hs__walk *walk)
{
    record *all = context;
    for (int32_t k = 0; k < PHASES; k++)
        if (hs__phase(walk, all->counts[k], count_task, &(one_phase){all, k})) return;
}

static void check_phases(hs_pool *pool, int alone)
{
    record all = {0};
    int32_t total = 0;
    for (int32_t k = 0; k < PHASES; k++) {
        all.counts[k] = (int32_t)check_random(MOST + 1);
        all.before[k] = total;
        total += all.counts[k];
    }
    CHECK(hs__phases_run(pool, NULL, NULL, alone ? HS__ALONE : HS__SHARED, 64, do_phases, &all) ==
          HS_OK);
    int32_t done = 0;
    for (int32_t k = 0; k < PHASES; k++)
        for (int32_t i = 0; i < MOST; i++) {
            CHECK(atomic_load(&all.times[k][i]) == (i < all.counts[k]));
            done += atomic_load(&all.times[k][i]);
        }
    CHECK(done == total && atomic_load(&all.ended) == total && atomic_load(&all.wrong) == 0);
}

/* A pipeline: task i may do its step j after task i - 1 has done its step j + 1. */
enum { LINES = 12, STEPS = 50 };
typedef struct {
    _Atomic int64_t done[LINES];
    _Atomic int32_t wrong;
} pipeline;

static void do_line(void *context, int32_t task, hs__walk *walk)
{
    pipeline *all = context;
    for (int64_t j = 0; j < STEPS; j++) {
        const int64_t needed = j + 2 < STEPS ? j + 2 : STEPS;
        if (task) hs__phase_await(walk, &all->done[task - 1], needed);
        if (hs__stopped(&walk->self)) return;
        if (task && atomic_load(&all->done[task - 1]) < needed) atomic_fetch_add(&all->wrong, 1);
        hs__phase_raise(walk, &all->done[task], j + 1);
    }
}

static void do_pipeline(void *context, hs__walk *walk)
{
    (void)hs__phase(walk, LINES, do_line, context);
}

static void check_pipeline(hs_pool *pool)
{
    pipeline all = {0};
    CHECK(hs__phases_run(pool, NULL, NULL, HS__SHARED, 0, do_pipeline, &all) == HS_OK);
    for (int32_t i = 0; i < LINES; i++) CHECK(atomic_load(&all.done[i]) == STEPS);
    CHECK(atomic_load(&all.wrong) == 0);
}

static int refuse_at_once(void *context, double done)
{
    (void)context;
    (void)done;
    return 1;
}

static void wait_forever(void *context, int32_t task, hs__walk *walk)
{
    if (task == 0)
        while (!hs__attend(&walk->self)) {}
    else hs__phase_await(walk, context, 1);
}

static void do_waiting(void *context, hs__walk *walk)
{
    if (!hs__phase(walk, 2, wait_forever, context)) CHECK(0);
}

static void check_cancel(hs_pool *pool)
{
    _Atomic int64_t never = 0;
    const hs_options options = {.poll = refuse_at_once};
    CHECK(hs__phases_run(pool, &options, NULL, HS__SHARED, 0, do_waiting, &never) ==
          HS_ERROR_CANCELLED);
    CHECK(hs__phases_run(pool, &options, NULL, HS__ALONE, 0, do_waiting, &never) ==
          HS_ERROR_CANCELLED);
}

/* Nothing is computed unless all memory is there. */
static hs_status do_in_little_memory(hs_pool *pool, void *context)
{
    (void)context;
    record all = {.counts = {3}};
    const hs_status status = hs__phases_run(pool, NULL, NULL, HS__SHARED, 1 << 20, do_phases, &all);
    CHECK(atomic_load(&all.ended) == (status == HS_OK) * 3);
    return status;
}

int main(void)
{
    for (int32_t p = 1; p <= WORKERS; p++) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, NULL, &pool) == HS_OK)) continue;
        for (int round = 0; round < CHECK_MANY(50, 10); round++) {
            ALSO_LATE(check_phases(pool, 0));
            ALSO_LATE(check_pipeline(pool));
        }
        check_phases(pool, 1);
        check_cancel(pool);
        hs_pool_destroy(pool);
    }
    CHECK_SCARCE(scarce_life(2, do_in_little_memory, NULL), 1);
    return check_result();
}
