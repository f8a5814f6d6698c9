/* Divide and conquer for a symmetric tridiagonal matrix: the parts that are not divided. */
#include "spectral/divide.h"

#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "spectral/join.h"

#define TEMPLATE "spectral/divide_template.h"
#define SET(x) x
#include "kernel/each_real.h"

static hs__tree make_tree(const hs__divide *x)
{
    hs__tree tree;
    hs__tree_init(&tree, x->kernel, x->dtype, 0, !x->z, x->n);
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
    return hs__tree_bytes(&tree);
}

size_t hs__divide_scratch(const hs__divide *x)
{
    const hs__tree tree = make_tree(x);
    return hs__tree_scratch(&tree);
}

int hs__divide_solve(hs__walk *walk, hs__divide *x)
{
    hs__tree tree = make_tree(x);
    tree.failed = &x->failed;
    hs__tree_use(&tree, x->work);
    return hs__tree_solve(walk, &tree);
}
