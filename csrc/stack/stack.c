/* Runs stacks: the workers take items from one counter, a few at a time. */
#include <math.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "core/tuning.h"
#include "kernel/stream.h"
#include "run/member.h"
#include "stack/item.h"

typedef struct {
    hs__run run;
    const hs_stack *stack;
    int leading; /* see hs__items */
    hs__items items;
    double flops; /* of an item */
    double *done; /* [workers] flops */
    int64_t count, together;
    int64_t streamed; /* bytes of each C that are written past the caches, or 0 */
    _Alignas(64) _Atomic int64_t next;
} stack_run;

static hs__operands operands_of(const hs_stack *stack, int64_t i)
{
    const hs_product *p = &stack->item;
    const ptrdiff_t e = (ptrdiff_t)hs__element_bytes(p->dtype);
    int64_t a = 0;
    int64_t b = 0;
    int64_t c = 0;
    for (int32_t d = stack->rank - 1; d >= 0; d--) {
        const int64_t at = d ? i % stack->size[d] : i;
        if (d) i /= stack->size[d];
        a += at * stack->a_steps[d];
        c += at * stack->c_steps[d];
        if (p->b) b += at * stack->b_steps[d];
    }
    return (hs__operands){
        .a = p->a ? (const char *)p->a + a * e : NULL,
        .b = p->b ? (const char *)p->b + b * e : NULL,
        .c = p->c ? (char *)p->c + c * e : NULL,
    };
}

/* Computes the items first .. end - 1. The item after them is likely to be the first that no worker
 * has taken yet. */
static void do_items(stack_run *job, int64_t first, int64_t end, char *memory, hs__member *self)
{
    const hs_stack *stack = job->stack;
    hs_product item = stack->item;
    hs__operands at = operands_of(stack, first);
    hs__stream stream = hs__stream_start(at.c, memory + job->items.bytes);
    for (int64_t i = first; i < end; i++) {
        const int64_t after =
            i + 1 < end ? i + 1 : atomic_load_explicit(&job->next, memory_order_relaxed);
        const hs__operands next = operands_of(stack, hs__min(after, job->count - 1));
        item.a = at.a;
        item.b = at.b;
        item.c = job->streamed ? hs__stream_place(&stream) : at.c;
        int32_t *pivots = stack->operation == HS_STACK_LU ? stack->pivots + i * item.m : NULL;
        hs__item_do(&job->items, &item, &next, pivots, stack->info ? stack->info + i : NULL, memory,
                    self);
        if (job->streamed) hs__stream_put(&stream, job->streamed);
        at = next;
    }
    if (job->streamed) hs__stream_end(&stream);
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    stack_run *job = context;
    hs__member self = hs__member_start(&job->run, worker, is_caller);
    char *memory = hs__pool_scratch(job->run.lease, HS__BLOCKS, worker, 0);
    int fresh = 1;
    while (!hs__attend(&self)) {
        const int64_t first =
            atomic_fetch_add_explicit(&job->next, job->together, memory_order_relaxed);
        if (first >= job->count) break;
        const int64_t end = hs__min(first + job->together, job->count);
        const double start = hs__records(&job->run) ? hs__since_start(&job->run) : 0.0;
        /* a worker that comes late may have nothing to do */
        if (fresh) memset(memory, 0, job->items.bytes);
        fresh = 0;
        do_items(job, first, end, memory, &self);
        job->done[worker] += (double)(end - first) * job->flops;
        atomic_fetch_add_explicit(&job->run.done, end - first, memory_order_relaxed);
        self.box = (int32_t)hs__min(first, INT32_MAX);
        if (hs__records(&job->run))
            hs__record(&self, HS_COMPUTE, start, hs__since_start(&job->run));
    }
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int64_t count_of(const hs_stack *stack) { return hs__count_items(stack->rank, stack->size); }

static double flops_of(const hs_stack *stack)
{
    const hs_product *p = &stack->item;
    const double m = (double)p->m;
    const double n = (double)p->n;
    const double square = m * m;
    const double each = hs_flops_per_update(p->dtype);
    switch (stack->operation) {
    case HS_STACK_MULTIPLY: return each * m * n * (double)p->k;
    case HS_STACK_LU: return each * square * m / 3.0;
    case HS_STACK_CHOLESKY: return each * square * m / 6.0;
    default: return each * square * (m / 3.0 + n);
    }
}

static int valid_steps(const hs_stack *stack)
{
    const int multiplied = stack->operation <= HS_STACK_SOLVE;
    if (stack->rank < 0) return 0;
    if (stack->rank &&
        (!stack->size || !stack->a_steps || !stack->c_steps || (multiplied && !stack->b_steps)))
        return 0;
    for (int32_t d = 0; d < stack->rank; d++)
        if (stack->size[d] < 0) return 0;
    return count_of(stack) >= 0;
}

static hs_status check_arguments(const void *context)
{
    const stack_run *job = context;
    const hs_stack *stack = job->stack;
    const hs_product *p = &stack->item;
    const int32_t operation = stack->operation;
    if (operation < HS_STACK_MULTIPLY || operation > HS_STACK_CHOLESKY || job->run.options.pace ||
        !valid_steps(stack))
        return HS_ERROR_VALUE;
    if (p->dtype < 0 || p->dtype > 3 || p->m < 0 || p->n < 0 || p->k < 0) return HS_ERROR_VALUE;
    if (p->m > HS__SIZE_MOST || p->n > HS__SIZE_MOST || p->k > HS__SIZE_MOST) return HS_ERROR_VALUE;
    if (p->triangle || p->conjugate || p->alpha_first) return HS_ERROR_VALUE;
    const int64_t count = count_of(stack);
    const int alone = operation > HS_STACK_SOLVE;
    if (operation != HS_STACK_MULTIPLY &&
        (p->k != p->m || p->m > INT32_MAX || (count && !stack->info)))
        return HS_ERROR_VALUE;
    if (alone && (p->n != p->m || p->b)) return HS_ERROR_VALUE;
    if (count && p->m && p->n && (!p->c || (p->k && (!p->a || (!alone && !p->b)))))
        return HS_ERROR_VALUE;
    if (operation == HS_STACK_LU && count && p->m && !stack->pivots) return HS_ERROR_VALUE;
    double total = 0.0;
    for (int32_t w = 0; job->run.speeds && w < job->run.workers; w++) {
        if (!(job->run.speeds[w] >= 0.0 && isfinite(job->run.speeds[w]))) return HS_ERROR_VALUE;
        total += job->run.speeds[w];
    }
    return !job->run.speeds || (total > 0.0 && isfinite(total)) ? HS_OK : HS_ERROR_VALUE;
}

/* Returns the bytes of a product if products are written past the caches, else 0. They are if each
 * is small, they are contiguous, and all together have at least HS__STREAM_BYTES_FROM bytes. This
 * is faster even if the caller reads them at once (8 x 8 float64: 82 ns each instead of 118). */
static int64_t streamed_bytes(const hs_stack *stack, const hs__items *items, int64_t count)
{
    const hs_product *p = &stack->item;
    const double bytes = (double)p->m * (double)p->n * (double)hs__element_bytes(p->dtype);
    if (stack->operation != HS_STACK_MULTIPLY || items->c_bytes || bytes > HS__STREAM_PUT ||
        bytes * (double)count < HS__STREAM_BYTES_FROM)
        return 0;
    if (items->turned ? p->c_col_stride != p->m : p->c_row_stride != p->n) return 0;
    int64_t step = p->m * p->n;
    for (int32_t d = stack->rank - 1; d >= 0; step *= stack->size[d--])
        if (stack->c_steps[d] != step && stack->size[d] > 1) return 0;
    return hs__stream_can() ? (int64_t)bytes : 0;
}

static hs_status open_run(void *context)
{
    stack_run *job = context;
    const int64_t count = count_of(job->stack);
    const int32_t workers = job->run.workers;
    if (!hs__items_init(&job->items, job->stack)) return HS_ERROR_MEMORY;
    job->items.leading = job->leading;
    if (!(job->done = hs__run_zeros(&job->run, (size_t)workers, sizeof *job->done)))
        return HS_ERROR_MEMORY;
    job->flops = flops_of(job->stack);
    job->count = job->run.total = count;
    job->streamed = streamed_bytes(job->stack, &job->items, count);
    job->together = (int64_t)fmax(1.0, fmin(HS__STACK_TAKEN_FLOPS / fmax(job->flops, 1.0),
                                            (double)count / (HS__DRIFT_PARTS * workers)));
    job->run.manner = hs__manner_for((double)count * job->flops, HS__ALONE_STACK_FLOPS,
                                     HS__BRIEF_STACK_FLOPS, HS__BRIEFS_OF_MEDIUM);
    if (count >= HS__DRIFT_PARTS * (int64_t)workers) job->run.work_of = job->done;
    for (int32_t w = 0; w < (job->run.manner == HS__ALONE ? 1 : workers) && count; w++)
        if (!hs__pool_scratch(job->run.lease, HS__BLOCKS, w, job->items.bytes + HS__STREAM_BYTES))
            return HS_ERROR_MEMORY;
    return HS_OK;
}

static const hs__kind kind = {.check = check_arguments, .open = open_run, .work = run_worker};

hs_status hs__run_items(hs_pool *pool, const hs_stack *stack, int leading, const double *speeds,
                        const hs_options *options, hs_trace *trace)
{
    if (!pool || !stack) return HS_ERROR_VALUE;
    stack_run job = {
        .run = hs__run_of(&kind, pool, options, trace), .stack = stack, .leading = leading};
    job.run.speeds = speeds;
    hs__run_together(&job.run);
    return hs__run_do(&job.run);
}

hs_status hs_run_stack(hs_pool *pool, const hs_stack *stack, const double *speeds,
                       const hs_options *options, hs_trace *trace)
{
    return hs__run_items(pool, stack, 0, speeds, options, trace);
}
