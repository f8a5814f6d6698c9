/* Runs tasks, from their arguments to the end. */
#include <stdlib.h>

#include "core/numbers.h"
#include "factor/task_state.h"

typedef hs__tasks job;

static void work(void *context, int32_t worker, int is_caller)
{
    job *j = context;
    if (j->x.panels == 0) return;
    hs__member self = hs__member_start(&j->run, worker, is_caller);
    if (j->grid) hs__task_map_steps(j, &self);
    else hs__task_steps(j, &self);
    hs__member_end(&self);
    hs__task_store(j, &self);
}

static void release(void *context)
{
    job *j = context;
    while (j->spares) free(j->spare[--j->spares]);
    for (int32_t k = 0; j->run.options.pace && j->x.panel && k < j->x.panels; k++)
        free(j->x.panel[k].strips);
    hs__factor_ports_end(&j->ports);
    hs__factor_map_end(&j->map);
}

/* The functions that make the tasks have checked the arguments. */
static hs_status check(const void *context)
{
    (void)context;
    return HS_OK;
}

static const hs__kind run_kind = {
    .check = check, .open = hs__tasks_open, .work = work, .close = release};

hs__tasks hs__tasks_of(const hs__task_kind *kind, hs_pool *pool, const hs_options *options,
                       hs_trace *trace)
{
    return (hs__tasks){.run = hs__run_of(&run_kind, pool, options, trace),
                       .kind = kind,
                       .workers = hs__pool_size(pool)};
}

hs_status hs__tasks_do(hs__tasks *tasks) { return hs__run_do(&tasks->run); }

hs_status hs__tasks_held(hs__tasks *tasks) { return hs__run_locked(&tasks->run); }

/* Returns the columns of a block that all panels update: each worker gets some blocks. */
static int64_t block_of(const hs__column_type *t, int64_t cols, int32_t workers)
{
    enum { WIDEST = 192, EACH = 4, MOST = 40000 };
    const int64_t across = t->slice.across;
    const int64_t share = hs__min(WIDEST, hs__ceil_div(cols, EACH * (int64_t)workers));
    return hs__round_up(hs__max(share, hs__ceil_div(cols, MOST)), across);
}

hs_status hs__tasks_apply(hs__tasks *j, int64_t m, int64_t rank, int64_t cols,
                          hs_status (*run)(hs__tasks *tasks))
{
    const int32_t workers = j->alone ? 1 : j->workers;
    j->dynamic = j->applies = 1;
    j->x.width =
        hs__min(j->kind->widest, hs_factor_block(HS_LU, m, rank, j->x.type.dtype,
                                                 j->alone ? 1 : hs__pool_cuts_for(j->run.pool)));
    if (!hs__factor_blocks_init(&j->x.blocks, HS_LU, m, cols, block_of(&j->x.type, cols, workers)))
        return HS_ERROR_VALUE;
    if (!hs__factor_blocks_init(&j->steps, HS_LU, m, rank, j->x.width)) return HS_ERROR_VALUE;
    return rank ? run(j) : HS_OK;
}
