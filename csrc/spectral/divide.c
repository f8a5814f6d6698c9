/* Divide and conquer for a symmetric tridiagonal matrix: what comes before and after the joins. */
#include "spectral/divide.h"

#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "spectral/join.h"

#define TEMPLATE "spectral/divide_template.h"
#define SET(x) x
#include "kernel/each_real.h"

/* The workspace begins with what the workers share besides the tree. */
typedef struct {
    int exponent; /* the matrix is divided by 2^exponent */
} divide_state;
enum { STATE_BYTES = 64 };

static hs__tree make_tree(const hs__divide *x)
{
    hs__tree tree;
    hs__tree_init(&tree, x->dtype, 0, !x->z, x->n);
    tree.d = x->d;
    tree.e = x->e;
    tree.leaf = x->dtype == HS_FLOAT32 ? float_leaf : double_leaf;
    tree.basis[0].q = x->z;
    tree.basis[0].ld = x->ld;
    return tree;
}

size_t hs__divide_bytes(const hs__divide *x)
{
    const hs__tree tree = make_tree(x);
    return STATE_BYTES + hs__tree_bytes(&tree);
}

size_t hs__divide_scratch(const hs__divide *x)
{
    const hs__tree tree = make_tree(x);
    return hs__tree_scratch(&tree);
}

typedef struct {
    hs__divide *x;
    hs__tree tree;
    divide_state *state;
} divide_job;

static void prepare(void *context, int32_t task, hs__walk *walk)
{
    divide_job *job = context;
    (void)task;
    (void)walk;
    job->x->failed = job->x->dtype == HS_FLOAT32
                         ? float_prepare(&job->tree, &job->state->exponent)
                         : double_prepare(&job->tree, &job->state->exponent);
}

static void rescale(void *context, int32_t task, hs__walk *walk)
{
    divide_job *job = context;
    (void)task;
    (void)walk;
    if (job->x->dtype == HS_FLOAT32) float_rescale(&job->tree, job->state->exponent);
    else double_rescale(&job->tree, job->state->exponent);
}

int hs__divide_solve(hs__walk *walk, hs__divide *x)
{
    if (x->n == 0) return hs__stopped(&walk->self);
    divide_job job = {.x = x, .tree = make_tree(x), .state = x->work};
    hs__tree_use(&job.tree, (char *)x->work + STATE_BYTES);
    if (hs__phase(walk, 1, prepare, &job)) return 1;
    if (x->failed) return 0;
    if (hs__tree_solve(walk, &job.tree)) return 1;
    return hs__phase(walk, 1, rescale, &job);
}
