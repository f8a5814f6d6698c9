/* Runs QR factorisations of tall matrices, by a tree (TSQR).
 *
 * A is cut into blocks of rows. Each block is factored by one worker, and its R is passed to a
 * parent, which stacks the R of up to HS__TALL_CHILDREN children and factors them in the same way,
 * up to the root: its R is the result. If Q is wanted, the tree is then passed from the root down:
 * each node multiplies its rows of the parent's Q by its own reflectors, and blocks write their
 * rows of Q.
 *
 * An item is one node on the way up, or on the way down. Workers take items from one counter: the
 * blocks first, then their parents, and so on up to the root, then the same backwards. What an item
 * waits for has a lower number, so a worker has taken it before. The tree depends on the sizes
 * alone, and so do the bits of the result. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/numbers.h"
#include "core/tuning.h"
#include "factor/qr_panel.h"
#include "kernel/pack.h"
#include "run/matrix.h"

enum { LINE = 64 }; /* bytes */

/* A block of rows of A, or the stacked R of its children: row i of child c is row i * children +
 * c. */
typedef struct {
    int64_t first, rows, ld; /* first: row of A, for a block; else the first child */
    /* parent: -1 for the root; place: index among the parent's children; children: 0 for a block */
    int32_t parent, place, children;
    /* columns ld apart. x: with children only, their R and Qᴴ B, then V and R. q: with children
     * only, its Q */
    char *x, *q, *t;
    double *squares; /* [k] sums of squares, of the rows of B that stay here */
    /* when its last task has ended on the clock of the emulated platform */
    double due;
    /* children with their R here, and for the root one more when its own R is done; 1: q is
     * computed */
    _Atomic int64_t arrived, formed;
} node;

typedef struct {
    hs__run run;
    const hs_tall *tall;
    hs__qr_type type;
    hs__matrix a, b, q, r, c;
    node *node; /* [count] blocks first, the root last */
    int32_t count;
    int64_t most; /* the largest ld of a block */
    double *done; /* [workers] flops */
    /* first item that no worker has taken: node, or with Q count + (count - 1 - node) */
    _Atomic int64_t next;
} tall_run;

static size_t padded_bytes(int64_t elements, size_t element)
{
    return ((size_t)elements * element + LINE - 1) / LINE * LINE;
}

/* ---- a worker's memory ----------------------------------------------------------------------- */

/* A block with its columns of B; V, if it has to be copied for Q; the seed of Q; tau; work. */
typedef struct {
    char *x, *v, *seed, *tau, *work;
} scratch;

static int in_lines(const hs__matrix *q) { return q->row_stride == 1; }
static int is_packed(const hs__matrix *q) { return q->col_stride == 1 && q->row_stride == q->cols; }

static size_t scratch_bytes(const tall_run *job, scratch *parts, char *memory)
{
    const int64_t n = job->tall->n;
    const size_t e = job->type.element;
    const size_t x = padded_bytes(job->most * (n + job->tall->k), e);
    const int copied = job->q.data && !in_lines(&job->q) && !is_packed(&job->q);
    const size_t v = copied ? padded_bytes(job->most * n, e) : 0;
    const size_t seed = job->q.data ? padded_bytes(n * n, e) : 0;
    const size_t tau = padded_bytes(n, e);
    if (parts)
        *parts = (scratch){memory, memory + x, memory + x + v, memory + x + v + seed,
                           memory + x + v + seed + tau};
    return x + v + seed + tau + hs__qr_bytes(&job->type, n + job->tall->k);
}

static scratch scratch_of(const tall_run *job, const hs__member *self)
{
    scratch parts;
    /* sized before the run */
    scratch_bytes(job, &parts, hs__pool_scratch(job->run.lease, HS__BLOCKS, self->worker, 0));
    return parts;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static hs__matrix column_matrix(const tall_run *job, const void *data, int64_t rows, int64_t cols,
                                int64_t ld)
{
    return (hs__matrix){(char *)data, (ptrdiff_t)job->type.element, rows, cols, 1, ld};
}

/* to <- from. If their lines cross and the lines of `to` are contiguous without gaps, it copies in
 * squares. */
static void copy_matrix(const tall_run *job, hs__matrix to, hs__matrix from, hs__member *self)
{
    const size_t e = job->type.element;
    if (to.col_stride == 1 && from.row_stride == 1) {
        to = hs__transposed(to);
        from = hs__transposed(from);
    }
    if (e == 16 || to.row_stride != 1 || to.col_stride != to.rows || from.col_stride != 1 ||
        to.rows > INT32_MAX) {
        hs__copy(self, to, from);
        return;
    }
    const hs__pack how = {e == 8, HS__REAL, (int32_t)to.rows, 0, 0};
    hs__pack_micro_panels(&how, to.rows, to.cols, from.data, from.row_stride, 1, to.data);
}

/* Copies the upper triangle of R, and sets zeros below it. */
static void copy_upper(const tall_run *job, hs__matrix to, const char *x, int64_t ld)
{
    const size_t e = job->type.element;
    for (int64_t col = 0; col < to.cols; col++) {
        char *at = hs__at(&to, 0, col);
        const char *from = x + (size_t)(col * ld) * e;
        for (int64_t row = 0; row < to.rows; row++, at += to.element * to.row_stride, from += e) {
            if (row > col) memset(at, 0, e);
            else memcpy(at, from, e);
        }
    }
}

static void add_squares(const tall_run *job, const char *x, int64_t count, double *sum)
{
    const int64_t reals = count * (1 + (job->tall->dtype >> 1));
    double found = 0;
    for (int64_t i = 0; i < reals; i++) {
        const double y = job->tall->dtype & 1 ? ((const double *)(const void *)x)[i]
                                              : ((const float *)(const void *)x)[i];
        found += y * y;
    }
    *sum = found;
}

/* Returns where V of a block is kept: in the rows of Q that it becomes, column by column if there
 * is room for that. */
static hs__matrix place_of(const tall_run *job, const node *x)
{
    const hs__matrix own = hs__part(&job->q, x->first, 0, x->rows, job->tall->n);
    return is_packed(&job->q) ? column_matrix(job, own.data, x->rows, job->tall->n, x->rows) : own;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static hs__qr_part part_of(const tall_run *job, const node *x, int64_t k)
{
    return (hs__qr_part){.rows = x->rows,
                         .cols = job->tall->n + k,
                         .reflectors = job->tall->n,
                         .stair = x->children};
}

static void raise_counter(tall_run *job, _Atomic int64_t *counter)
{
    atomic_fetch_add(counter, 1);
    hs__signal_send(job->run.signals);
}

/* Passes R, and what B has become, to the parent of x, or to the results. */
static void hand_up(const tall_run *job, const node *x, const char *from)
{
    const hs_tall *tall = job->tall;
    const size_t e = job->type.element;
    const char *below = from + (size_t)(x->ld * tall->n) * e;
    hs__matrix r = job->r;
    hs__matrix c = job->c;
    const node *parent = x->parent < 0 ? NULL : &job->node[x->parent];
    if (parent) {
        const hs__matrix stack = {parent->x + (size_t)x->place * e,
                                  (ptrdiff_t)e,
                                  tall->n,
                                  tall->n + tall->k,
                                  parent->children,
                                  parent->ld};
        r = hs__part(&stack, 0, 0, tall->n, tall->n);
        c = hs__part(&stack, 0, tall->n, tall->n, tall->k);
    }
    copy_upper(job, r, from, x->ld);
    if (tall->k) hs__copy(NULL, c, column_matrix(job, below, tall->n, tall->k, x->ld));
    for (int64_t i = 0; i < tall->k; i++)
        add_squares(job, below + (size_t)(x->ld * i + tall->n) * e, x->rows - tall->n,
                    &x->squares[i]);
}

/* Factors a node. Returns non-zero after a cancel. */
static int go_up(tall_run *job, hs__member *self, node *x)
{
    const hs_tall *tall = job->tall;
    const scratch s = scratch_of(job, self);
    const hs__qr_part part = part_of(job, x, tall->k);
    char *own = x->children ? x->x : s.x;
    if (x->children) {
        hs__await_count(self, job->run.signals, &x->arrived, x->children);
        for (int32_t i = 0; i < x->children && !hs__stopped(self); i++)
            self->deadline = fmax(self->deadline, job->node[x->first + i].due);
    } else {
        copy_matrix(job, column_matrix(job, own, x->rows, tall->n, x->ld),
                    hs__part(&job->a, x->first, 0, x->rows, tall->n), self);
        if (tall->k)
            hs__copy(self,
                     column_matrix(job, own + (size_t)(x->ld * tall->n) * job->type.element,
                                   x->rows, tall->k, x->ld),
                     hs__part(&job->b, x->first, 0, x->rows, tall->k));
    }
    if (hs__stopped(self) ||
        hs__qr_factor_part(&job->type, &part, own, x->ld, s.tau, x->t, tall->n, s.work, self))
        return 1;
    if (x->t && !x->children)
        hs__copy(self, place_of(job, x), column_matrix(job, own, x->rows, tall->n, x->ld));
    hand_up(job, x, own);
    return hs__stopped(self);
}

/* Forms Q of a node from its seed and V. For a block, some rows of Q are computed at a time and
 * copied from the L2 cache to their place, over V if that lies there. Returns non-zero after a
 * cancel. */
static int form_q(tall_run *job, hs__member *self, const node *x, hs__matrix v, const scratch *s)
{
    enum { ROWS = 384 };
    const int64_t n = job->tall->n;
    const int64_t line = LINE / (int64_t)job->type.element;
    const int whole = x->children || is_packed(&job->q);
    const int64_t ld =
        whole ? x->ld : hs__min(x->ld, (hs__ceil_div(hs__max(n, ROWS), line) | 1) * line);
    const hs__qr_part part = part_of(job, x, 0);
    char *const q = x->children ? x->q : s->x;
    hs__qr_form(&job->type, &part, v.data, v.col_stride, x->t, n, x->parent < 0 ? NULL : s->seed, q,
                ld, s->work);
    for (int64_t i = 0, rows = n; i < x->rows; i += rows, rows = hs__min(ROWS, x->rows - i)) {
        if (hs__attend(self)) return 1;
        char *own = whole ? q + (size_t)i * job->type.element : q;
        if (i)
            hs__qr_form_rows(&job->type, &part, i, rows, v.data, v.col_stride, x->t, n, own, ld,
                             s->work);
        if (!whole)
            copy_matrix(job, hs__part(&job->q, x->first + i, 0, rows, n),
                        column_matrix(job, own, rows, n, ld), self);
    }
    if (whole && !x->children)
        copy_matrix(job, hs__part(&job->q, x->first, 0, x->rows, n),
                    column_matrix(job, q, x->rows, n, ld), self);
    return hs__stopped(self);
}

/* Forms a node's Q from its parent's. Returns non-zero after a cancel. */
static int go_down(tall_run *job, hs__member *self, node *x)
{
    const int64_t n = job->tall->n;
    const scratch s = scratch_of(job, self);
    hs__matrix v = column_matrix(job, x->x, x->rows, n, x->ld);
    if (!x->children) v = place_of(job, x);
    if (x->parent < 0) {
        hs__await_count(self, job->run.signals, &x->arrived, x->children + 1);
        if (hs__stopped(self)) return 1;
        self->deadline = fmax(self->deadline, x->due);
    } else {
        const node *parent = &job->node[x->parent];
        hs__await_count(self, job->run.signals, &parent->formed, 1);
        if (hs__stopped(self)) return 1;
        self->deadline = fmax(self->deadline, parent->due);
        const char *rows = parent->q + (size_t)x->place * job->type.element;
        hs__copy(self, column_matrix(job, s.seed, n, n, n),
                 (hs__matrix){(char *)rows, v.element, n, n, parent->children, parent->ld});
    }
    if (v.row_stride != 1) {
        const hs__matrix own = column_matrix(job, s.v, x->rows, n, x->ld);
        hs__copy(self, own, v);
        v = own;
    }
    return form_q(job, self, x, v, &s);
}

static double flops_of(const tall_run *job, const node *x, int down)
{
    const double n = (double)job->tall->n;
    const double share = x->children ? 1.0 / 3 : 1.0;
    const double others = down ? 0 : 2 * (double)job->tall->k + (x->t ? n / 2 : 0);
    return share * (double)x->rows * n * (n + others) * hs_flops_per_update(job->tall->dtype);
}

static void run_worker(void *context, int32_t worker, int is_caller)
{
    tall_run *job = context;
    hs__member self = hs__member_start(&job->run, worker, is_caller);
    for (int64_t item;
         !hs__attend(&self) && (item = atomic_fetch_add(&job->next, 1)) < job->run.total;) {
        const double start = hs__since_start(&job->run);
        const int down = item >= job->count;
        node *x = &job->node[down ? 2 * job->count - 1 - item : item];
        if (down ? go_down(job, &self, x) : go_up(job, &self, x)) break;
        const double flops = flops_of(job, x, down);
        self.box = (int32_t)(x - job->node) + (down ? job->count : 0);
        job->done[worker] += flops;
        if (job->run.options.pace) hs__keep_pace(&self, flops);
        if (hs__records(&job->run))
            hs__record(&self, HS_COMPUTE, start, hs__since_start(&job->run));
        hs__count_task(&job->run);
        x->due = self.deadline;
        if (down) raise_counter(job, &x->formed);
        else raise_counter(job, x->parent < 0 ? &x->arrived : &job->node[x->parent].arrived);
    }
    hs__member_end(&self);
}

/* ---- the run --------------------------------------------------------------------------------- */

static hs_status check_arguments(const void *context)
{
    const hs_tall *x = ((const tall_run *)context)->tall;
    if (x->dtype < 0 || x->dtype > 3 || x->n < 0 || x->k < 0 || x->m < x->n || x->m > INT32_MAX ||
        x->k > INT32_MAX)
        return HS_ERROR_VALUE;
    if (x->n && (!x->a || !x->r)) return HS_ERROR_VALUE;
    if (x->k && ((x->m && !x->b) || (x->n && !x->c))) return HS_ERROR_VALUE;
    return HS_OK;
}

/* Returns the rows of a block (core/tuning.h). The number of cache lines of a column is odd, so
 * that columns do not meet in the same part of the L1 cache. */
static int64_t block_rows(const hs_tall *x, size_t element)
{
    const int64_t n = hs__max(x->n, 1);
    const int64_t line = LINE / (int64_t)element;
    const int64_t fits =
        hs__max(HS__TALL_BLOCK_RATIO * n, HS__TALL_BLOCK_BYTES / (n * (int64_t)element));
    const int64_t rows =
        hs__max(hs__min(fits, x->m / HS__TALL_BLOCKS),
                hs__max(HS__TALL_BLOCK_RATIO_LEAST * n, HS__TALL_BLOCK_ELEMENTS / n));
    return ((rows / line - 1) | 1) * line;
}

/* Lays out the blocks and returns their number. Blocks have that many rows, or some pairs of cache
 * lines more; the last one has the rest. */
static int32_t lay_out_blocks(tall_run *job, node *nodes)
{
    const int64_t m = job->tall->m;
    const int64_t line = LINE / (int64_t)job->type.element;
    const int64_t rows = block_rows(job->tall, job->type.element);
    const int64_t count = hs__max(1, m / rows);
    const int64_t pairs = hs__max(0, m - count * rows) / (2 * line);
    for (int64_t i = 0; nodes && i < count; i++) {
        const int64_t first = i * rows + pairs * i / count * 2 * line;
        const int64_t next = (i + 1) * rows + pairs * (i + 1) / count * 2 * line;
        const int64_t end = i + 1 == count ? m : next;
        const int64_t lines = hs__ceil_div(end - first, line);
        nodes[i] = (node){.first = first, .rows = end - first, .ld = (lines | 1) * line};
        job->most = hs__max(job->most, nodes[i].ld);
    }
    return (int32_t)count;
}

/* Lays out the nodes above the blocks, the parents of all nodes of one depth at a time. Returns the
 * number of all nodes. */
static int32_t lay_out_tree(tall_run *job, node *nodes, int32_t blocks)
{
    const int64_t line = LINE / (int64_t)job->type.element;
    int32_t from = 0;
    int32_t to = blocks;
    for (int32_t count; (count = to - from) > 1;
         from = to, to += (int32_t)hs__ceil_div(count, HS__TALL_CHILDREN))
        for (int32_t i = 0; nodes && i < count; i++) {
            node *parent = &nodes[to + i / HS__TALL_CHILDREN];
            if (i % HS__TALL_CHILDREN == 0) {
                const int32_t children = (int32_t)hs__min(HS__TALL_CHILDREN, count - i);
                const int64_t rows = children * job->tall->n;
                *parent = (node){.first = from + i,
                                 .rows = rows,
                                 .ld = (hs__ceil_div(rows, line) | 1) * line,
                                 .children = children};
            }
            nodes[from + i].parent = to + i / HS__TALL_CHILDREN;
            nodes[from + i].place = i % HS__TALL_CHILDREN;
        }
    if (nodes) nodes[to - 1].parent = -1;
    return to;
}

/* Takes the memory of the nodes. Returns 0 if there is none. */
static int open_nodes(tall_run *job)
{
    const hs_tall *x = job->tall;
    const size_t e = job->type.element;
    double *squares =
        hs__run_zeros(&job->run, (size_t)job->count * (size_t)x->k + 1, sizeof *squares);
    if (!squares) return 0;
    for (int32_t i = 0; i < job->count; i++) {
        node *own = &job->node[i];
        own->squares = squares + i * x->k;
        const size_t stack = own->children ? padded_bytes(own->ld * (x->n + x->k), e) : 0;
        const size_t t = x->q ? padded_bytes(x->n * x->n, e) : 0;
        const size_t q = x->q && own->children ? padded_bytes(own->ld * x->n, e) : 0;
        if (!(stack + t + q)) continue;
        char *memory = hs__run_pages(&job->run, stack + t + q);
        if (!memory) return 0;
        own->x = stack ? memory : NULL;
        own->q = q ? memory + stack : NULL;
        own->t = t ? memory + stack + q : NULL;
    }
    return 1;
}

static hs_status open_run(void *context)
{
    tall_run *job = context;
    const hs_tall *x = job->tall;
    const ptrdiff_t e = (ptrdiff_t)hs__element_bytes(x->dtype);
    if ((double)(x->n + x->k) * (double)(x->n + x->k) * 64 + (double)x->m * (double)x->k * 16 >
        0x1p62)
        return HS_ERROR_MEMORY;
    hs__qr_type_init(&job->type, x->dtype);
    job->a = (hs__matrix){(char *)x->a, e, x->m, x->n, x->a_row_stride, x->a_col_stride};
    job->b = (hs__matrix){(char *)x->b, e, x->m, x->k, x->b_row_stride, x->b_col_stride};
    job->q = (hs__matrix){x->n ? x->q : NULL, e, x->m, x->n, x->q_row_stride, x->q_col_stride};
    job->r = (hs__matrix){x->r, e, x->n, x->n, x->r_row_stride, x->r_col_stride};
    job->c = (hs__matrix){x->c, e, x->n, x->k, x->c_row_stride, x->c_col_stride};
    const int32_t blocks = lay_out_blocks(job, NULL);
    job->count = lay_out_tree(job, NULL, blocks);
    job->node = hs__run_zeros(&job->run, (size_t)job->count, sizeof *job->node);
    job->done = hs__run_zeros(&job->run, (size_t)job->run.workers, sizeof *job->done);
    if (!job->node || !job->done || !hs__run_signals(&job->run, 1)) return HS_ERROR_MEMORY;
    lay_out_blocks(job, job->node);
    lay_out_tree(job, job->node, blocks);
    job->run.total = job->q.data ? 2 * (int64_t)job->count : job->count;
    const double updates = (double)x->m * (double)x->n * (double)(x->n + 2 * x->k);
    if (job->run.options.pace) job->run.manner = HS__EACH;
    else if (blocks == 1) job->run.manner = HS__ALONE;
    else
        job->run.manner = hs__manner_for(updates, HS__ALONE_TALL_UPDATES, HS__BRIEF_FACTOR_UPDATES,
                                         HS__BRIEFS_OF_MEDIUM);
    if (blocks >= HS__DRIFT_PARTS * job->run.workers) job->run.work_of = job->done;
    if (!open_nodes(job)) return HS_ERROR_MEMORY;
    for (int32_t w = 0; w < job->run.workers; w++)
        if (!hs__pool_scratch(job->run.lease, HS__BLOCKS, w, scratch_bytes(job, NULL, NULL)))
            return HS_ERROR_MEMORY;
    return HS_OK;
}

static hs_status report_run(void *context, hs_status status)
{
    const tall_run *job = context;
    for (int64_t i = 0; job->tall->residuals && i < job->tall->k; i++) {
        double sum = 0;
        for (int32_t x = 0; x < job->count; x++) sum += job->node[x].squares[i];
        job->tall->residuals[i] = sum;
    }
    return status;
}

static const hs__kind kind = {
    .check = check_arguments, .open = open_run, .work = run_worker, .report = report_run};

hs_status hs_tall_qr(hs_pool *pool, const hs_tall *tall, const hs_options *options, hs_trace *trace)
{
    if (!pool || !tall) return HS_ERROR_VALUE;
    tall_run job = {.run = hs__run_of(&kind, pool, options, trace), .tall = tall};
    hs__run_together(&job.run);
    return hs__run_do(&job.run);
}
