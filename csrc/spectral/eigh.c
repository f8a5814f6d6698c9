/* Eigenvalues and eigenvectors of a Hermitian matrix: the stages in turn, in one run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "core/tuning.h"
#include "hetsched/spectral.h"
#include "spectral/chase.h"
#include "spectral/divide.h"
#include "spectral/hermitian.h"
#include "spectral/input.h"
#include "threads/arena.h"

/* The stages of a problem. Their arrays are parts of one block of memory.
 *   z     [n x n] eigenvectors of the tridiagonal matrix, real
 *   c     [n x count] eigenvectors on their way back, of dtype; for real types a part of z
 *   most  eigenvectors for which there is room */
typedef struct {
    hs_eigh *eigh;
    int64_t most;
    const hs__kernel *kernel;
    hs__input input;
    hs__hermitian reduction;
    hs__chase chase;
    hs__chased kept;
    hs__divide divide;
    char *z, *c;
    size_t bytes;
} eigh_job;

static int is_complex(int32_t dtype) { return dtype >= HS_COMPLEX64; }

/* Sets the sizes of all stages, and their arrays if there is memory. */
static void place_stages(eigh_job *job, char *memory)
{
    hs_eigh *x = job->eigh;
    const int64_t n = x->n, width = hs__hermitian_width(x->dtype, n, x->vectors != NULL);
    const int64_t band_ld = 2 * width + HS__WIDTH_UNIT;
    const double square = (double)n * (double)n;
    const size_t e = hs__element_bytes(x->dtype), real = hs__real_bytes(x->dtype);
    const int wanted = x->vectors != NULL;
    const int64_t places = hs__chased_places(n, width);
    hs__room room = {.memory = memory};
    char *a = hs__reserve(&room, square, e);
    job->input = (hs__input){
        .dtype = x->dtype,
        .lower = 1,
        .conjugate = x->upper && is_complex(x->dtype),
        .from = {(char *)x->a, (ptrdiff_t)e, n, n, x->a_row_stride, x->a_col_stride},
        .to = {a, (ptrdiff_t)e, n, n, 1, n},
        .largest = (double *)(void *)hs__reserve(&room, hs__input_parts(n), sizeof(double)),
    };
    if (x->upper) job->input.from = hs__transposed(job->input.from);
    job->reduction = (hs__hermitian){.dtype = x->dtype, .n = n, .width = width, .a = a, .ld = n};
    job->reduction.t =
        hs__reserve(&room, (double)(hs__hermitian_panels(n, width) * width * width), e);
    job->reduction.band = hs__reserve(&room, (double)n * (double)band_ld, e);
    job->reduction.band_ld = band_ld;
    job->reduction.work = hs__reserve(&room, (double)hs__hermitian_bytes(&job->reduction), 1);
    job->kept =
        (hs__chased){.dtype = x->dtype, .n = n, .width = width, .sweeps = n, .places = places};
    if (wanted) {
        job->kept.v = hs__reserve(&room, (double)n * (double)places * (double)width, e);
        job->kept.tau = hs__reserve(&room, (double)n * (double)places, e);
        job->kept.work = hs__reserve(&room, (double)hs__chased_bytes(&job->kept, job->most), 1);
        job->z = hs__reserve(&room, square, real);
        if (is_complex(x->dtype)) job->c = hs__reserve(&room, (double)n * (double)job->most, e);
    }
    job->chase = (hs__chase){.dtype = x->dtype,
                             .n = n,
                             .width = width,
                             .band = job->reduction.band,
                             .band_ld = band_ld,
                             .kept = wanted ? &job->kept : NULL};
    job->chase.d = hs__reserve(&room, (double)n, real);
    job->chase.e = hs__reserve(&room, (double)n, real);
    job->chase.work = hs__reserve(&room, (double)hs__chase_bytes(&job->chase), 1);
    job->divide = (hs__divide){.dtype = x->dtype & 1,
                               .n = n,
                               .d = job->chase.d,
                               .e = job->chase.e,
                               .z = x->vectors, /* measured before there is z */
                               .kernel = job->kernel,
                               .ld = n};
    job->divide.work = hs__reserve(&room, (double)hs__divide_bytes(&job->divide), 1);
    job->divide.z = job->z;
    job->bytes = room.bytes;
}

static size_t scratch_of(const eigh_job *job)
{
    size_t most = hs__hermitian_scratch(&job->reduction);
    most = hs__larger(most, hs__chase_scratch(&job->chase));
    most = hs__larger(most, hs__divide_scratch(&job->divide));
    return job->eigh->vectors ? hs__larger(most, hs__chased_scratch(&job->kept)) : most;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

enum { COLS = 32 }; /* columns of a task */

static double value_at(const hs_eigh *x, int64_t i)
{
    return x->dtype & 1 ? ((const double *)x->values)[i] : ((const float *)x->values)[i];
}

/* Stores the eigenvalues, and finds the wanted ones. */
static void store_values(void *context, int32_t task, hs__walk *walk)
{
    eigh_job *job = context;
    hs_eigh *x = job->eigh;
    int exponent = 0;
    (void)task;
    (void)walk;
    (void)hs__input_scale(&job->input, &exponent);
    hs__scale_values(x->dtype, x->n, job->divide.d, exponent, x->values);
    if (x->by_value) {
        int64_t last = x->n;
        x->first = 0;
        while (x->first < x->n && !(value_at(x, x->first) > x->low)) x->first++;
        while (last > x->first && !(value_at(x, last - 1) <= x->high)) last--;
        x->count = last - x->first;
    }
    if (!is_complex(x->dtype) && x->vectors)
        job->c = job->z + (size_t)(x->first * x->n) * hs__real_bytes(x->dtype);
}

/* Copies real eigenvectors to complex ones. */
static void widen_columns(void *context, int32_t task, hs__walk *walk)
{
    const eigh_job *job = context;
    const hs_eigh *x = job->eigh;
    const int64_t first = (int64_t)task * COLS, last = hs__min(first + COLS, x->count);
    const int64_t n = x->n;
    const size_t real = hs__real_bytes(x->dtype);
    (void)walk;
    for (int64_t j = first; j < last; j++) {
        const char *from = job->z + (size_t)((x->first + j) * n) * real;
        char *to = job->c + (size_t)(j * n) * 2 * real;
        hs__set_reals(x->dtype, n, to, from);
    }
}

static void store_columns(void *context, int32_t task, hs__walk *walk)
{
    const eigh_job *job = context;
    const hs_eigh *x = job->eigh;
    const ptrdiff_t e = (ptrdiff_t)hs__element_bytes(x->dtype);
    const int64_t first = (int64_t)task * COLS, cols = hs__min(COLS, x->count - first);
    const hs__matrix to = {x->vectors, e, x->n, x->count, x->row_stride, x->col_stride};
    const hs__matrix from = {job->c, e, x->n, x->count, 1, x->n};
    hs__copy(&walk->self, hs__part(&to, 0, first, x->n, cols),
             hs__part(&from, 0, first, x->n, cols));
}

static void solve(void *context, hs__walk *walk)
{
    eigh_job *job = context;
    const hs_eigh *x = job->eigh;
    int exponent;
    if (hs__input_load(walk, &job->input) || !hs__input_scale(&job->input, &exponent)) return;
    if (hs__hermitian_to_band(walk, &job->reduction)) return;
    if (hs__hermitian_chase(walk, &job->chase)) return;
    if (hs__divide_solve(walk, &job->divide)) return;
    if (job->divide.failed || hs__phase(walk, 1, store_values, job)) return;
    if (!x->vectors || x->count == 0) return;
    const int32_t tasks = (int32_t)hs__ceil_div(x->count, COLS);
    if (is_complex(x->dtype) && hs__phase(walk, tasks, widen_columns, job)) return;
    if (hs__chased_apply(walk, &job->kept, 0, job->c, x->n, x->count)) return;
    if (hs__hermitian_back(walk, &job->reduction, job->c, x->n, x->count)) return;
    (void)hs__phase(walk, tasks, store_columns, job);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int is_valid(const hs_pool *pool, const hs_eigh *x, const hs_options *options)
{
    if (!pool || !x || x->dtype < 0 || x->dtype > 3 || x->n < 0 || x->n > INT32_MAX) return 0;
    if (options && options->pace) return 0;
    if (x->n && (!x->a || !x->values)) return 0;
    if (x->by_value) return x->low < x->high;
    return !x->vectors || (x->first >= 0 && x->count >= 0 && x->first <= x->n - x->count);
}

hs_status hs_run_eigh(hs_pool *pool, hs_eigh *eigh, const hs_options *options, hs_trace *trace)
{
    if (!is_valid(pool, eigh, options)) return HS_ERROR_VALUE;
    if (trace) trace->event_count = 0;
    eigh->failed = 0;
    if (eigh->n == 0) {
        if (eigh->by_value) eigh->first = eigh->count = 0;
        return HS_OK;
    }
    eigh_job job = {.eigh = eigh,
                    .most = eigh->by_value ? eigh->n : eigh->count,
                    .kernel = hs__kernel_current()};
    place_stages(&job, NULL);
    const hs__memory memory = hs__pool_take_memory(pool, job.bytes);
    if (!memory.data) return HS_ERROR_MEMORY;
    place_stages(&job, memory.data);
    const double n = (double)eigh->n;
    const hs__manner manner =
        hs__manner_for(n * n * n, HS__ALONE_SPECTRAL_UPDATES, HS__BRIEF_SPECTRAL_UPDATES,
                       HS__BRIEFS_OF_MEDIUM_SPECTRAL);
    const hs_status status =
        hs__phases_run(pool, options, trace, manner, scratch_of(&job), solve, &job);
    int exponent = 0;
    if (!status) eigh->failed = !hs__input_scale(&job.input, &exponent) || job.divide.failed;
    hs__pool_keep_memory(pool, memory);
    return status;
}
