/* Singular values and vectors: the stages in turn, in one run. A matrix with more columns than rows
 * is decomposed as its adjoint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "core/tuning.h"
#include "hetsched/spectral.h"
#include "spectral/bidiagonal.h"
#include "spectral/general.h"
#include "spectral/general_chase.h"
#include "spectral/input.h"
#include "threads/arena.h"

/* The vectors of one side, on their way back.
 *   wanted   non-zero: they are computed
 *   kept     the reflectors of the chase
 *   z        [k x k] vectors of the bidiagonal matrix, real
 *   c        rows x cols, of dtype: columns beyond k complete a basis
 *   to       where they go, of the size of c
 *   adjoint  non-zero: their conjugates go there */
typedef struct {
    int32_t wanted, adjoint;
    hs__chased kept;
    char *z;
    hs__matrix c, to;
} svd_side;

/* The stages of a problem. Its matrix is the given one or its adjoint: rows >= cols. */
typedef struct {
    hs_svd *svd;
    const hs__kernel *kernel;
    int32_t dtype;
    int64_t rows, cols;
    hs__input input;
    hs__general reduction;
    hs__general_band chase;
    hs__bidiagonal bidiagonal;
    svd_side side[2]; /* left and right */
    size_t bytes;
} svd_job;

/* Says which vectors of the job's matrix are wanted, and where they go. */
static void name_sides(svd_job *job)
{
    const hs_svd *x = job->svd;
    const ptrdiff_t e = (ptrdiff_t)hs__element_bytes(x->dtype);
    const int turned = x->m < x->n;
    const hs__matrix u = {x->u, e, x->m, x->u_cols, x->u_row_stride, x->u_col_stride};
    const hs__matrix vh = {x->vh, e, x->vh_rows, x->n, x->vh_row_stride, x->vh_col_stride};
    svd_side *of_u = &job->side[turned], *of_vh = &job->side[!turned];
    of_u->wanted = x->u != NULL;
    of_u->to = u;
    of_vh->wanted = x->vh != NULL;
    of_vh->to = hs__transposed(vh);
    of_vh->adjoint = 1;
}

/* Sets the sizes of all stages, and their arrays if there is memory. */
static void place_stages(svd_job *job, char *memory)
{
    const hs_svd *x = job->svd;
    const int32_t dtype = x->dtype;
    const int turned = x->m < x->n;
    const int64_t m = hs__max(x->m, x->n), n = hs__min(x->m, x->n);
    const int64_t width = hs__general_width(n), band_ld = 3 * width + HS__WIDTH_UNIT;
    const int64_t places = hs__chased_places(n, width);
    const size_t e = hs__element_bytes(dtype), real = hs__real_bytes(dtype);
    const int vectors = job->side[0].wanted || job->side[1].wanted;
    hs__room room = {.memory = memory};
    char *a = hs__reserve(&room, (double)m * (double)n, e);
    job->dtype = dtype;
    job->rows = m;
    job->cols = n;
    job->input = (hs__input){
        .dtype = dtype,
        .conjugate = turned && dtype >= HS_COMPLEX64,
        .from = {(char *)x->a, (ptrdiff_t)e, x->m, x->n, x->a_row_stride, x->a_col_stride},
        .to = {a, (ptrdiff_t)e, m, n, 1, m},
        .largest = (double *)(void *)hs__reserve(&room, hs__input_parts(n), sizeof(double)),
    };
    if (turned) job->input.from = hs__transposed(job->input.from);
    hs__general *reduction = &job->reduction;
    *reduction = (hs__general){.dtype = dtype,
                               .m = m,
                               .n = n,
                               .width = width,
                               .a = a,
                               .ld = m,
                               .band_ld = band_ld,
                               .kernel = job->kernel};
    int64_t most = 0; /* columns of the larger matrix of vectors */
    for (int i = 0; i < 2; i++)
        if (job->side[i].wanted) most = hs__max(most, job->side[i].to.cols);
    reduction->left_t = hs__reserve(&room, (double)hs__general_t_bytes(reduction), 1);
    reduction->right_t = hs__reserve(&room, (double)hs__general_t_bytes(reduction), 1);
    reduction->band = hs__reserve(&room, (double)n * (double)band_ld, e);
    reduction->work = hs__reserve(&room, (double)hs__general_bytes(reduction, most), 1);
    job->chase = (hs__general_band){
        .dtype = dtype, .n = n, .width = width, .band = reduction->band, .band_ld = band_ld};
    job->chase.d = hs__reserve(&room, (double)n, real);
    job->chase.e = hs__reserve(&room, (double)n, real);
    job->bidiagonal = (hs__bidiagonal){.dtype = dtype & 1,
                                       .n = n,
                                       .kernel = job->kernel,
                                       .d = job->chase.d,
                                       .e = job->chase.e,
                                       .u_ld = n,
                                       .v_ld = n};
    for (int i = 0; i < 2 && vectors; i++) {
        svd_side *side = &job->side[i];
        const int64_t rows = i == 0 ? m : n, cols = side->wanted ? side->to.cols : 0;
        side->kept = (hs__chased){
            .dtype = dtype, .n = n, .width = width, .sweeps = hs__max(n - 1, 0), .places = places};
        side->kept.v = hs__reserve(&room, (double)n * (double)places * (double)width, e);
        side->kept.tau = hs__reserve(&room, (double)n * (double)places, e);
        side->kept.work = hs__reserve(&room, (double)hs__chased_bytes(&side->kept, n), 1);
        side->z = hs__reserve(&room, (double)n * (double)n, real);
        char *c = hs__reserve(&room, (double)rows * (double)cols, e);
        side->c = (hs__matrix){c, (ptrdiff_t)e, rows, cols, 1, rows};
    }
    if (vectors) {
        job->chase.left = &job->side[0].kept;
        job->chase.right = &job->side[1].kept;
        /* not NULL, so that hs__bidiagonal_bytes counts vectors: z is NULL while sizes are measured */
        job->bidiagonal.u = x->u ? x->u : x->vh;
        job->bidiagonal.v = job->bidiagonal.u;
    }
    job->chase.work = hs__reserve(&room, (double)hs__general_band_bytes(&job->chase), 1);
    job->bidiagonal.work = hs__reserve(&room, (double)hs__bidiagonal_bytes(&job->bidiagonal), 1);
    job->bidiagonal.u = job->side[0].z;
    job->bidiagonal.v = job->side[1].z;
    job->bytes = room.bytes;
}

static size_t scratch_of(const svd_job *job)
{
    size_t most = hs__general_scratch(&job->reduction);
    most = hs__larger(most, hs__general_band_scratch(&job->chase));
    most = hs__larger(most, hs__bidiagonal_scratch(&job->bidiagonal));
    return job->chase.left ? hs__larger(most, hs__chased_scratch(&job->side[0].kept)) : most;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

enum { COLS = 32 }; /* columns of a task */

/* The vectors of one side in a phase. */
typedef struct {
    const svd_job *job;
    const svd_side *side;
} side_task;

/* Copies the real vectors of the bidiagonal matrix, and completes them by columns of the
 * identity. */
static void begin_columns(void *context, int32_t task, hs__walk *walk)
{
    const side_task *x = context;
    const hs__matrix *c = &x->side->c;
    const int32_t dtype = x->job->dtype;
    const int64_t first = (int64_t)task * COLS, last = hs__min(first + COLS, c->cols);
    const int64_t n = x->job->cols;
    (void)walk;
    for (int64_t j = first; j < last; j++) {
        const size_t before = (size_t)(j * n) * hs__real_bytes(dtype);
        const int64_t from = j < n ? n : 0; /* the row from which on there are zeros */
        memset(hs__at(c, from, j), 0, (size_t)((c->rows - from) * c->element));
        if (j < n) hs__set_reals(dtype, n, hs__at(c, 0, j), x->side->z + before);
        else hs__set_one(dtype, hs__at(c, j, j));
    }
}

static void store_columns(void *context, int32_t task, hs__walk *walk)
{
    const side_task *x = context;
    const hs__matrix *c = &x->side->c;
    const int64_t first = (int64_t)task * COLS, cols = hs__min(COLS, c->cols - first);
    const int conjugates = x->side->adjoint && x->job->dtype >= HS_COMPLEX64;
    for (int64_t j = first; j < first + cols && conjugates; j++)
        hs__conjugate_elements(x->job->dtype, c->rows, hs__at(c, 0, j));
    hs__copy(&walk->self, hs__part(&x->side->to, 0, first, c->rows, cols),
             hs__part(c, 0, first, c->rows, cols));
}

/* Takes the vectors of one side back through the stages. Returns non-zero after a cancel. */
static int go_back(hs__walk *walk, const svd_job *job, int right)
{
    const svd_side *side = &job->side[right];
    const hs__matrix *c = &side->c;
    side_task x = {job, side};
    const int32_t tasks = (int32_t)hs__ceil_div(c->cols, COLS);
    if (hs__phase(walk, tasks, begin_columns, &x)) return 1;
    if (hs__chased_apply(walk, &side->kept, 0, c->data, c->rows, hs__min(job->cols, c->cols)))
        return 1;
    return right ? hs__general_right(walk, &job->reduction, 0, c->data, c->rows, c->cols)
                 : hs__general_left(walk, &job->reduction, 0, c->data, c->rows, c->cols);
}

static int store_side(hs__walk *walk, const svd_job *job, int right)
{
    const svd_side *side = &job->side[right];
    side_task x = {job, side};
    return hs__phase(walk, (int32_t)hs__ceil_div(side->c.cols, COLS), store_columns, &x);
}

static void solve(void *context, hs__walk *walk)
{
    svd_job *job = context;
    int exponent;
    if (hs__input_load(walk, &job->input) || !hs__input_scale(&job->input, &exponent)) return;
    if (hs__general_to_band(walk, &job->reduction)) return;
    if (hs__general_chase(walk, &job->chase)) return;
    if (hs__bidiagonal_solve(walk, &job->bidiagonal) || job->bidiagonal.failed) return;
    for (int i = 0; i < 2; i++)
        if (job->side[i].wanted && go_back(walk, job, i)) return;
    for (int i = 0; i < 2; i++)
        if (job->side[i].wanted && store_side(walk, job, i)) return;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int is_valid(const hs_pool *pool, const hs_svd *x, const hs_options *options)
{
    if (!pool || !x || x->dtype < 0 || x->dtype > 3 || x->m < 0 || x->n < 0) return 0;
    if (x->m > INT32_MAX || x->n > INT32_MAX || (options && options->pace)) return 0;
    const int64_t k = hs__min(x->m, x->n);
    if (k && (!x->a || !x->values)) return 0;
    if (x->u && x->u_cols != k && x->u_cols != x->m) return 0;
    return !x->vh || x->vh_rows == k || x->vh_rows == x->n;
}

hs_status hs_run_svd(hs_pool *pool, hs_svd *svd, const hs_options *options, hs_trace *trace)
{
    if (!is_valid(pool, svd, options)) return HS_ERROR_VALUE;
    if (trace) trace->event_count = 0;
    svd->failed = 0;
    svd_job job = {.svd = svd, .kernel = hs__kernel_current()};
    name_sides(&job);
    place_stages(&job, NULL);
    const hs__memory memory = hs__pool_take_memory(pool, job.bytes);
    if (!memory.data) return HS_ERROR_MEMORY;
    place_stages(&job, memory.data);
    const double updates = (double)job.rows * (double)job.cols * (double)job.cols;
    const hs__manner manner =
        hs__manner_for(updates, HS__ALONE_SPECTRAL_UPDATES, HS__BRIEF_SPECTRAL_UPDATES,
                       HS__BRIEFS_OF_MEDIUM_SPECTRAL);
    const hs_status status =
        hs__phases_run(pool, options, trace, manner, scratch_of(&job), solve, &job);
    int exponent = 0;
    if (!status) svd->failed = !hs__input_scale(&job.input, &exponent) || job.bidiagonal.failed;
    if (!status && !svd->failed)
        hs__scale_values(svd->dtype, job.cols, job.bidiagonal.d, exponent, svd->values);
    hs__pool_keep_memory(pool, memory);
    return status;
}
