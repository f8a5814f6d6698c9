/* What bidiagonal.c does for one type; see each_real.h for the parameters. */

/* Sets the columns of a part of at most one row to zero and returns its block, with row and column
 * `first` as the first ones. */
static REAL *NAME(clear_columns)(const hs__tree *tree, const hs__basis *basis, int64_t first,
                                 int64_t count)
{
    REAL *q = (REAL *)basis->q + first * basis->ld;
    if (tree->values_only) return q;
    for (int64_t j = 0; j < count; j++) memset(q + j * basis->ld, 0, (size_t)tree->n * sizeof *q);
    return q + first;
}

/* Sets the values and vectors of a part: no row and one column, one row and two columns, or, at the
 * end of the matrix, a single element or nothing. */
static void NAME(leaf)(const hs__tree *tree, int64_t index)
{
    const int64_t first = hs__tree_start(tree, tree->levels, index);
    const int64_t end = hs__tree_start(tree, tree->levels, index + 1);
    const int64_t cols = hs__min(end, tree->n) - first;
    const int64_t rows = end - 1 - first;
    if (cols == 0) return;
    REAL *value = (REAL *)tree->d + first;
    const REAL d = *value;
    const REAL e = rows && cols == 2 ? ((const REAL *)tree->e)[first] : 0;
    const REAL size = cols == 2 ? (REAL)hypot(d, e) : (REAL)fabs(d);
    REAL cosine = 1;
    REAL sine = 0;
    if (rows) {
        *value = size;
        if (size > 0) {
            cosine = d / size;
            sine = e / size;
        }
    }
    const hs__basis *right = &tree->basis[tree->bases - 1];
    REAL *v = NAME(clear_columns)(tree, right, first, cols);
    v[0] = cosine;
    if (cols == 2) {
        v[1] = sine;
        v[right->ld] = -sine;
        v[right->ld + 1] = cosine;
    } else if (tree->values_only) v[1] = v[0];
    if (tree->bases == 1) return;
    const hs__basis *left = &tree->basis[0];
    REAL *u = NAME(clear_columns)(tree, left, first, cols);
    for (int64_t j = 0; j < cols; j++) u[j * (left->ld + 1)] = 1;
}
