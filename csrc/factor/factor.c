/* The public functions of factorisations: they check arguments, choose blocks, and start a run of
 * tasks, or for small matrices the loops of stacks. */
#include <math.h>

#include "core/numbers.h"
#include "factor/tasks.h"
#include "kernel/kernel.h"
#include "stack/item.h"

static const hs__task_kind *const kinds[] = {&hs__lu_tasks, &hs__cholesky_tasks, &hs__qr_tasks};

void hs_factor_default(hs_factor *x, int32_t kind, int32_t dtype, int64_t m, int64_t n, void *data)
{
    if (!x) return;
    *x = (hs_factor){.kind = kind,
                     .dtype = dtype,
                     .m = m,
                     .n = n,
                     .matrix = data,
                     .row_stride = 1,
                     .col_stride = m,
                     .failed = -1};
}

static double volume_of(const hs_factor *x)
{
    return (double)x->m * (double)x->n * (double)hs__min(x->m, x->n);
}

/* Whether the caller does everything. */
static int is_small(const hs_factor *x) { return x->cooperative && hs__is_small(volume_of(x)); }

/* Returns the largest volume of a Cholesky factorisation for which the loops of stacks are faster. */
static double largest_for_loops(int32_t workers)
{
    const double alone = HS__ALONE_CHOLESKY_UPDATES;
    const double share = HS__AVX2_CHOLESKY_UPDATES / ((double)workers * workers);
    return hs__cpu_set() == 1 ? fmax(alone, share) : alone;
}

/* Whether the loops of stacks, which need no slices, are faster. */
static int is_for_loops(const hs_factor *x, int32_t workers)
{
    if (!x->cooperative || x->m != x->n) return 0;
    return x->kind == HS_CHOLESKY ? volume_of(x) <= largest_for_loops(workers)
                                  : x->kind == HS_LU && is_small(x);
}

static int64_t block_of(const hs_factor *x, int32_t workers)
{
    int64_t block = x->block;
    if (block) return block;
    for (block = hs_factor_block(x->kind, x->m, x->n, x->dtype, is_small(x) ? 1 : workers);
         hs__max(x->m, x->n) / block > HS__BLOCKS_MOST;)
        block *= 2;
    return block;
}

static int is_valid(const hs_factor *x, const double *pace, const hs_pool *pool,
                    hs__factor_blocks *blocks)
{
    const int some = x->m && x->n;
    const int32_t workers = hs__pool_size(pool);
    if (x->kind < HS_LU || x->kind > HS_QR) return 0;
    if (x->dtype < 0 || x->dtype > 3 || x->m < 0 || x->n < 0 || x->m > INT32_MAX ||
        x->n > INT32_MAX)
        return 0;
    if (x->block < 0 || x->block > INT32_MAX || (some && !x->matrix) || (x->cooperative && pace))
        return 0;
    if (some && ((x->kind == HS_LU && !x->pivots) || (x->kind == HS_QR && !x->tau))) return 0;
    if ((x->clear && x->kind != HS_CHOLESKY) || (!x->a && (x->a_row_stride || x->a_col_stride)))
        return 0;
    if (!hs__factor_blocks_init(blocks, x->kind, x->m, x->n, block_of(x, hs__pool_cuts_for(pool))))
        return 0;
    if (x->grid && (x->grid != 1 || !x->owner || x->cooperative ||
                    (x->costs && (x->costs->links || x->costs->steps))))
        return 0;
    for (int32_t i = 0; x->owner && !x->grid && i < blocks->count; i++)
        if (x->owner[i] < 0 || x->owner[i] >= workers) return 0;
    return !x->costs || !(x->costs->panels || x->costs->links || x->costs->steps) || pace;
}

/* Does a small LU or Cholesky factorisation with the loops of stacks. */
static hs_status factor_item(hs_pool *pool, hs_factor *x, const hs__matrix *given,
                             const hs__matrix *wanted, const hs_options *options)
{
    int64_t info = x->kind == HS_LU ? -1 : 0;
    hs_stack stack = {.operation = x->kind == HS_LU ? HS_STACK_LU : HS_STACK_CHOLESKY,
                      .item = hs__product_of(x->dtype, given, given, wanted),
                      .pivots = x->pivots,
                      .info = &info};
    stack.item.b = NULL;
    const hs_status status = hs__run_items(pool, &stack, 1, NULL, options, NULL);
    for (int64_t j = 1; j < x->n && x->clear && !status; j++) {
        const hs__matrix above = hs__part(wanted, 0, j, j, 1);
        hs__scale(x->dtype, &above, (const double[2]){0.0, 0.0});
    }
    if (!status) x->failed = x->kind == HS_LU ? info : info - 1;
    return status;
}

hs_status hs_run_factor(hs_pool *pool, hs_factor *x, const hs_options *options, hs_trace *trace)
{
    hs__factor_blocks blocks;
    if (!pool || !x || !is_valid(x, options ? options->pace : NULL, pool, &blocks))
        return HS_ERROR_VALUE;
    hs__tasks tasks = hs__tasks_of(kinds[x->kind], pool, options, trace);
    const ptrdiff_t e = hs__element_bytes(x->dtype);
    const hs__matrix wanted = {x->matrix, e, x->m, x->n, x->row_stride, x->col_stride};
    const hs__matrix given = {(char *)x->a, e, x->m, x->n, x->a_row_stride, x->a_col_stride};
    if (is_for_loops(x, hs__pool_cuts_for(pool)) && !trace)
        return factor_item(pool, x, x->a ? &given : &wanted, &wanted, options);
    tasks.dynamic = x->cooperative != 0;
    tasks.volume = volume_of(x);
    tasks.given_owner = x->owner;
    tasks.grid = x->grid;
    tasks.costs = x->costs;
    tasks.x = (hs__task_data){.blocks = blocks,
                              .wanted = wanted,
                              .given = x->a ? given : wanted,
                              .pivots = x->pivots,
                              .tau = x->tau};
    if (x->kind == HS_CHOLESKY) tasks.x.kept = x->clear ? HS__CLEARED : HS__LOWER;
    tasks.steps = blocks;
    hs__column_type_init(&tasks.x.type, hs__kernel_current(), x->dtype);
    if (tasks.dynamic) hs__run_together(&tasks.run);
    const hs_status status = hs__tasks_do(&tasks);
    const int64_t failed = atomic_load(&tasks.failed);
    if (!status) x->failed = failed < INT64_MAX ? failed : -1;
    return status;
}
