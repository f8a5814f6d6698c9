/* Eigenvalues and singular values of stacks of small matrices: which items are computed
 * together, how they come into the lanes, and where the results go. */
#include "spectral/lanes.h"

#include <string.h>

#include "core/numbers.h"
#include "core/tuning.h"
#include "hetsched/spectral.h"
#include "run/phases.h"
#include "spectral/input.h"

enum { LANES_MOST = 64 }; /* more than any vector has */

/* A stack and how it is divided: tasks of `together` batches, and batches of one or HS__LANES_GROUPS
 * groups, which are computed together. A group is loops->count items. */
typedef struct {
    const hs__lane_stack *stack;
    const hs__lanes *loops;
    int64_t count; /* items */
    int64_t each;  /* items of a batch; the last one may have fewer */
    int64_t batches;
    int64_t together;
} lane_job;

/* The arrays of a worker: parts of its scratch memory. */
typedef struct {
    hs__lanes_group groups[HS__LANES_GROUPS];
    int32_t *order;
    size_t bytes;
} lane_arrays;

static lane_arrays place_arrays(const lane_job *job, char *memory)
{
    const hs__lane_stack *stack = job->stack;
    const size_t vector = job->loops->bytes;
    const double m = (double)stack->first.rows, n = (double)stack->first.cols;
    const int parts = stack->dtype >= HS_COMPLEX64 ? 2 : 1;
    const int wanted = stack->left.data || stack->right.data;
    hs__room room = {.memory = memory};
    lane_arrays found;
    for (int g = 0; g < HS__LANES_GROUPS; g++) {
        hs__lanes_group *own = &found.groups[g];
        *own = (hs__lanes_group){.m = stack->first.rows, .n = stack->first.cols};
        own->a = hs__reserve(&room, parts * m * n, vector);
        if (wanted) {
            own->u = hs__reserve(&room, parts * m * n, vector);
            if (!stack->lower) own->v = hs__reserve(&room, parts * n * n, vector);
        }
        own->values = hs__reserve(&room, n, vector);
        own->work = hs__reserve(&room, (double)hs__lanes_work(own->n), vector);
    }
    found.order = (int32_t *)(void *)hs__reserve(&room, n * job->loops->count, sizeof(int32_t));
    found.bytes = room.bytes;
    return found;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Returns an item, by its number in row-major order. */
static char *find_item(const hs__lane_stack *stack, int64_t number)
{
    int64_t elements = 0;
    for (int32_t d = stack->rank - 1; d >= 0; d--) {
        elements += number % stack->size[d] * stack->steps[d];
        number /= stack->size[d];
    }
    return stack->first.data + elements * stack->first.element;
}

/* Sets the places of `count` items from `first` on that lie one after the other, and NULL for lanes
 * without an item. */
static void place_items(const lane_job *job, int64_t first, int64_t count, char *data, size_t bytes,
                        char **items)
{
    for (int64_t l = 0; l < job->loops->count; l++)
        items[l] = l < count ? data + (size_t)(first + l) * bytes : NULL;
}

static void store_vectors(const lane_job *job, int64_t first, int64_t count, int64_t rows,
                          const void *group, const int32_t *order, const hs__lane_vectors *to)
{
    char *items[LANES_MOST];
    const hs__matrix *item = &job->stack->first;
    if (!to->data) return;
    place_items(job, first, count, to->data, (size_t)(rows * item->cols * item->element), items);
    const hs__lanes_items places = {items, to->row_stride, to->col_stride, 0, to->conjugate};
    job->loops->store(rows, item->cols, group, order, &places);
}

/* Brings `count` items from number `first` on into a group. */
static void load_group(const lane_job *job, int64_t first, int64_t count, void *group)
{
    const hs__lane_stack *stack = job->stack;
    const hs__matrix *item = &stack->first;
    char *items[LANES_MOST];
    for (int64_t l = 0; l < job->loops->count; l++)
        items[l] = l < count ? find_item(stack, first + l) : NULL;
    const hs__lanes_items from = {items, item->row_stride, item->col_stride, stack->lower,
                                  stack->conjugate};
    job->loops->load(item->rows, item->cols, &from, group);
}

/* Stores the results of a group. */
static void store_group(const lane_job *job, int64_t first, int64_t count,
                        const hs__lanes_group *group, int32_t *order)
{
    const hs__lane_stack *stack = job->stack;
    const int64_t n = group->n;
    char *items[LANES_MOST];
    job->loops->sort(n, group->values, !stack->lower, order);
    place_items(job, first, count, stack->values, (size_t)n * hs__real_bytes(stack->dtype), items);
    const hs__lanes_items values = {.items = items, .col_stride = 1};
    job->loops->store_values(1, n, group->values, order, &values);
    store_vectors(job, first, count, group->m, group->u, order, &stack->left);
    store_vectors(job, first, count, n, group->v, order, &stack->right);
    memcpy(stack->failed + first, group->failed, (size_t)count * sizeof *group->failed);
}

/* Decomposes `count` items from number `first` on. */
static void do_batch(const lane_job *job, int64_t first, int64_t count, lane_arrays *own)
{
    const int64_t lanes = job->loops->count;
    int32_t failed[HS__LANES_GROUPS][LANES_MOST];
    int groups = 0;
    for (; groups < HS__LANES_GROUPS && groups * lanes < count; groups++) {
        own->groups[groups].failed = failed[groups];
        load_group(job, first + groups * lanes, hs__min(lanes, count - groups * lanes),
                   own->groups[groups].a);
    }
    if (job->stack->lower) job->loops->eigh(own->groups, groups);
    else job->loops->svd(own->groups, groups);
    for (int g = 0; g < groups; g++)
        store_group(job, first + g * lanes, hs__min(lanes, count - g * lanes), &own->groups[g],
                    own->order);
}

static void do_batches(void *context, int32_t task, hs__walk *walk)
{
    const lane_job *job = context;
    const int64_t from = (int64_t)task * job->together;
    const int64_t end = hs__min(from + job->together, job->batches);
    lane_arrays own = place_arrays(job, hs__walk_scratch(walk));
    for (int64_t b = from; b < end && !hs__attend(&walk->self); b++)
        do_batch(job, b * job->each, hs__min(job->each, job->count - b * job->each), &own);
}

static void run_tasks(void *context, hs__walk *walk)
{
    const lane_job *job = context;
    (void)hs__phase(walk, (int32_t)hs__ceil_div(job->batches, job->together), do_batches, context);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int is_valid(const hs__lane_stack *x, const hs_options *options)
{
    const hs__matrix *item = &x->first;
    if (x->dtype < 0 || x->dtype > 3 || (options && options->pace)) return 0;
    if (item->rows < 0 || item->rows > INT32_MAX || item->cols < 0 || x->rank < 0) return 0;
    if (x->rank && (!x->size || !x->steps)) return 0;
    for (int32_t d = 0; d < x->rank; d++)
        if (x->size[d] < 0) return 0;
    const int64_t count = hs__count_items(x->rank, x->size);
    if (count <= 0) return count == 0;
    return x->failed && (item->cols == 0 || (item->data && x->values));
}

hs_status hs__run_lanes(hs_pool *pool, const hs__lane_stack *stack, const hs_options *options,
                        hs_trace *trace)
{
    if (!pool || !is_valid(stack, options)) return HS_ERROR_VALUE;
    if (trace) trace->event_count = 0;
    lane_job job = {.stack = stack,
                    .loops = hs__lanes_for(stack->dtype),
                    .count = hs__count_items(stack->rank, stack->size)};
    const double n = (double)stack->first.cols;
    const double each = (double)stack->first.rows * n * n;
    if (job.count == 0) return HS_OK;
    if (stack->first.cols == 0) {
        memset(stack->failed, 0, (size_t)job.count * sizeof *stack->failed);
        return HS_OK;
    }
    const size_t scratch = place_arrays(&job, NULL).bytes;
    if (scratch == SIZE_MAX) return HS_ERROR_MEMORY;
    const hs__manner manner =
        hs__manner_for((double)job.count * each, HS__ALONE_LANES_UPDATES,
                       HS__BRIEF_SPECTRAL_UPDATES, HS__BRIEFS_OF_MEDIUM_SPECTRAL);
    job.each = job.loops->count;
    if (manner == HS__ALONE || job.count >= HS__LANES_BATCHES * HS__LANES_GROUPS * job.each)
        job.each *= HS__LANES_GROUPS;
    job.batches = hs__ceil_div(job.count, job.each);
    job.together = hs__max(1, (int64_t)(HS__LANES_TAKEN_UPDATES / (each * (double)job.each)));
    job.together = hs__max(job.together, job.batches >> 30); /* tasks have numbers of 32 bits */
    return hs__phases_run(pool, options, trace, manner, scratch, run_tasks, &job);
}

static int is_complex(int32_t dtype) { return dtype >= HS_COMPLEX64; }

/* The upper triangle of a Hermitian matrix is, transposed and conjugated, the lower one. */
hs_status hs_run_eigh_stack(hs_pool *pool, const hs_eigh_stack *stack, const hs_options *options,
                            hs_trace *trace)
{
    if (!stack || stack->dtype < 0 || stack->dtype > 3) return HS_ERROR_VALUE;
    const ptrdiff_t element = (ptrdiff_t)hs__element_bytes(stack->dtype);
    const hs__matrix first = {(char *)stack->a,   element, stack->n, stack->n, stack->a_row_stride,
                              stack->a_col_stride};
    const hs__lane_stack lanes = {
        .dtype = stack->dtype,
        .first = stack->upper ? hs__transposed(first) : first,
        .lower = 1,
        .conjugate = stack->upper && is_complex(stack->dtype),
        .rank = stack->rank,
        .size = stack->size,
        .steps = stack->a_steps,
        .values = stack->values,
        .left = {.data = stack->vectors, .row_stride = stack->n, .col_stride = 1},
        .failed = stack->failed};
    return hs__run_lanes(pool, &lanes, options, trace);
}

/* Wide matrices are transposed: if A^T = P S Q^H then A = conj(Q) S P^T. */
hs_status hs_run_svd_stack(hs_pool *pool, const hs_svd_stack *stack, const hs_options *options,
                           hs_trace *trace)
{
    if (!stack || stack->dtype < 0 || stack->dtype > 3) return HS_ERROR_VALUE;
    const int wide = stack->m < stack->n;
    const ptrdiff_t element = (ptrdiff_t)hs__element_bytes(stack->dtype);
    const hs__matrix first = {(char *)stack->a,   element, stack->m, stack->n, stack->a_row_stride,
                              stack->a_col_stride};
    const hs__lane_vectors u = {stack->u, hs__min(stack->m, stack->n), 1, 0};
    const hs__lane_vectors vh = {stack->vh, 1, stack->n, 0};
    hs__lane_stack lanes = {.dtype = stack->dtype,
                            .first = wide ? hs__transposed(first) : first,
                            .rank = stack->rank,
                            .size = stack->size,
                            .steps = stack->a_steps,
                            .values = stack->values,
                            .left = wide ? vh : u,
                            .right = wide ? u : vh,
                            .failed = stack->failed};
    lanes.right.conjugate = is_complex(stack->dtype);
    return hs__run_lanes(pool, &lanes, options, trace);
}
