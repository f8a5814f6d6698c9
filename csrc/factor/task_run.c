/* Runs tasks, from their arguments to the end. */
#include <stdlib.h>

#include "core/numbers.h"
#include "factor/task_state.h"

static void run_worker(void *context, int32_t worker, int is_caller)
{
    hs__tasks *tasks = context;
    if (tasks->x.panels == 0) return;
    hs__member self = hs__member_start(&tasks->run, worker, is_caller);
    if (tasks->grid) hs__task_map_steps(tasks, &self);
    else hs__task_steps(tasks, &self);
    hs__member_end(&self);
    hs__task_store(tasks, &self);
}

static void close_run(void *context)
{
    hs__tasks *tasks = context;
    while (tasks->spares) free(tasks->spare[--tasks->spares]);
    for (int32_t k = 0; tasks->run.options.pace && tasks->x.panel && k < tasks->x.panels; k++)
        free(tasks->x.panel[k].strips);
    hs__factor_ports_end(&tasks->ports);
    hs__factor_map_end(&tasks->map);
}

/* The functions that make the tasks have checked the arguments. */
static hs_status check_arguments(const void *context)
{
    (void)context;
    return HS_OK;
}

static const hs__kind run_kind = {
    .check = check_arguments, .open = hs__tasks_open, .work = run_worker, .close = close_run};

hs__tasks hs__tasks_of(const hs__task_kind *kind, hs_pool *pool, const hs_options *options,
                       hs_trace *trace)
{
    return (hs__tasks){.run = hs__run_of(&run_kind, pool, options, trace),
                       .kind = kind,
                       .workers = hs__pool_size(pool)};
}

hs_status hs__tasks_do(hs__tasks *tasks) { return hs__run_do(&tasks->run); }

hs_status hs__tasks_locked(hs__tasks *tasks) { return hs__run_locked(&tasks->run); }

/* Returns the columns of a block that all panels update: each worker gets some blocks. */
static int64_t block_of(const hs__column_type *t, int64_t cols, int32_t workers)
{
    const int64_t across = t->slice.across;
    const int64_t share =
        hs__min(HS__BLOCK_COLS, hs__ceil_div(cols, HS__BLOCKS_PER_WORKER * (int64_t)workers));
    return hs__round_up(hs__max(share, hs__ceil_div(cols, HS__BLOCKS_MOST)), across);
}

hs_status hs__tasks_apply(hs__tasks *tasks, int64_t m, int64_t rank, int64_t cols,
                          hs_status (*run)(hs__tasks *tasks))
{
    const int is_alone = hs__is_small(tasks->volume);
    const int32_t workers = is_alone ? 1 : tasks->workers;
    tasks->dynamic = 1;
    tasks->applies = 1;
    hs__run_together(&tasks->run);
    tasks->x.width = hs__min(tasks->kind->widest,
                             hs_factor_block(HS_LU, m, rank, tasks->x.type.dtype,
                                             is_alone ? 1 : hs__pool_cuts_for(tasks->run.pool)));
    if (!hs__factor_blocks_init(&tasks->x.blocks, HS_LU, m, cols,
                                block_of(&tasks->x.type, cols, workers)))
        return HS_ERROR_VALUE;
    if (!hs__factor_blocks_init(&tasks->steps, HS_LU, m, rank, tasks->x.width))
        return HS_ERROR_VALUE;
    return rank ? run(tasks) : HS_OK;
}
