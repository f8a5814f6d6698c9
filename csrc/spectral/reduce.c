/* The reduction of a Hermitian matrix to a band by a plan. */
#include <math.h>
#include <stdlib.h>

#include "allocate/reduction.h"
#include "core/element.h"
#include "hetsched/spectral.h"
#include "spectral/hermitian.h"
#include "spectral/input.h"
#include "spectral/slice.h"
#include "threads/arena.h"

typedef struct {
    const hs_reduction *x;
    hs__input input;
    hs__hermitian reduction;
    hs__hermitian_plan plan;
    size_t bytes;
} reduce_job;

int64_t hs_reduction_block(int64_t n, int32_t dtype)
{
    return n < 0 || dtype < 0 || dtype > 3 ? 0 : hs__hermitian_width(dtype, n, 0);
}

static int is_complex(int32_t dtype) { return dtype >= HS_COMPLEX64; }

/* Sets the sizes of all stages, and their arrays if there is memory. */
static void place_stages(reduce_job *job, char *memory)
{
    const hs_reduction *x = job->x;
    const int64_t n = x->n, width = x->block, panels = hs__hermitian_panels(n, width);
    const size_t e = hs__element_bytes(x->dtype);
    hs__room room = {.memory = memory};
    char *a = hs__reserve(&room, (double)n * (double)n, e);
    job->input = (hs__input){
        .dtype = x->dtype,
        .lower = 1,
        .conjugate = x->upper && is_complex(x->dtype),
        .from = {(char *)x->a, (ptrdiff_t)e, n, n, x->a_row_stride, x->a_col_stride},
        .to = {a, (ptrdiff_t)e, n, n, 1, n},
        .largest = (double *)(void *)hs__reserve(&room, hs__input_parts(n), sizeof(double)),
    };
    if (x->upper) job->input.from = hs__transposed(job->input.from);
    job->plan = (hs__hermitian_plan){
        .owner = x->owner,
        .panel_pace = x->panel_pace,
        .latest =
            (_Atomic double *)(void *)hs__reserve(&room, (double)(2 * panels + 1), sizeof(double)),
    };
    job->reduction = (hs__hermitian){.dtype = x->dtype,
                                     .n = n,
                                     .width = width,
                                     .a = a,
                                     .ld = n,
                                     .band_ld = 2 * width + HS__WIDTH_UNIT,
                                     .plan = &job->plan};
    job->reduction.t = hs__reserve(&room, (double)(panels * width * width), e);
    job->reduction.band = hs__reserve(&room, (double)n * (double)job->reduction.band_ld, e);
    job->reduction.work = hs__reserve(&room, (double)hs__hermitian_bytes(&job->reduction), 1);
    job->bytes = room.bytes;
}

static void store_band(void *context, int32_t task, hs__walk *walk)
{
    const reduce_job *job = context;
    const hs_reduction *x = job->x;
    const int64_t e = (int64_t)hs__element_bytes(x->dtype);
    const int64_t reals = (x->block + 1) * (is_complex(x->dtype) ? 2 : 1);
    int exponent = 0;
    (void)task;
    (void)walk;
    (void)hs__input_scale(&job->input, &exponent);
    for (int64_t j = 0; j < x->n; j++)
        hs__scale_values(x->dtype, reals, job->reduction.band + j * job->reduction.band_ld * e,
                         exponent, (char *)x->band + j * x->band_ld * e);
}

static void reduce(void *context, hs__walk *walk)
{
    reduce_job *job = context;
    int exponent;
    if (hs__input_load(walk, &job->input) || !hs__input_scale(&job->input, &exponent)) return;
    if (hs__hermitian_to_band(walk, &job->reduction)) return;
    (void)hs__phase(walk, 1, store_band, job);
}

static int is_valid(const hs_pool *pool, const hs_reduction *x)
{
    hs__reduction_blocks blocks;
    if (!pool || !x || x->dtype < 0 || x->dtype > 3) return 0;
    if (!hs__reduction_blocks_init(&blocks, x->n, x->block)) return 0;
    if (x->block % HS__WIDTH_UNIT || x->block > hs__slice_cols(x->dtype)) return 0;
    if (x->n && (!x->a || !x->band || !x->owner)) return 0;
    if (x->band_ld < x->block + 1) return 0;
    const int32_t p = hs__pool_size(pool);
    for (int32_t j = 0; j < blocks.count; j++)
        if (x->owner[j] < 0 || x->owner[j] >= p) return 0;
    for (int32_t w = 0; w < p && x->panel_pace; w++)
        if (!(x->panel_pace[w] >= 0.0 && isfinite(x->panel_pace[w]))) return 0;
    return 1;
}

hs_status hs_run_reduction(hs_pool *pool, hs_reduction *reduction, const hs_options *options,
                           hs_trace *trace)
{
    if (!is_valid(pool, reduction)) return HS_ERROR_VALUE;
    if (trace) trace->event_count = 0;
    reduction->failed = 0;
    if (reduction->n == 0) return HS_OK;
    reduce_job job = {.x = reduction};
    place_stages(&job, NULL);
    const hs__memory memory = hs__pool_take_memory(pool, job.bytes);
    if (!memory.data) return HS_ERROR_MEMORY;
    place_stages(&job, memory.data);
    for (int64_t i = 0; i <= 2 * hs__hermitian_panels(reduction->n, reduction->block); i++)
        atomic_init(&job.plan.latest[i], 0.0);
    const hs_status status = hs__phases_run(pool, options, trace, HS__EACH,
                                            hs__hermitian_scratch(&job.reduction), reduce, &job);
    int exponent = 0;
    if (!status) reduction->failed = !hs__input_scale(&job.input, &exponent);
    hs__pool_keep_memory(pool, memory);
    return status;
}
