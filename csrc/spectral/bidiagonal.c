/* Divide and conquer for an upper bidiagonal matrix: the parts that are not divided. */
#include "spectral/bidiagonal.h"

#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "spectral/join.h"

#define TEMPLATE "spectral/bidiagonal_template.h"
#define SET(x) x
#include "kernel/each_real.h"

static hs__tree make_tree(const hs__bidiagonal *x)
{
    hs__tree tree;
    hs__tree_init(&tree, x->kernel, x->dtype, 1, !x->u, x->n);
    tree.d = x->d;
    tree.e = x->e;
    tree.leaf = x->dtype == HS_FLOAT32 ? float_leaf : double_leaf;
    tree.basis[0].q = x->u;
    tree.basis[0].ld = x->u_ld;
    tree.basis[1].q = x->v;
    tree.basis[1].ld = x->v_ld;
    return tree;
}

size_t hs__bidiagonal_bytes(const hs__bidiagonal *x)
{
    const hs__tree tree = make_tree(x);
    return hs__tree_bytes(&tree);
}

size_t hs__bidiagonal_scratch(const hs__bidiagonal *x)
{
    const hs__tree tree = make_tree(x);
    return hs__tree_scratch(&tree);
}

int hs__bidiagonal_solve(hs__walk *walk, hs__bidiagonal *x)
{
    hs__tree tree = make_tree(x);
    tree.failed = &x->failed;
    hs__tree_use(&tree, x->work);
    return hs__tree_solve(walk, &tree);
}
