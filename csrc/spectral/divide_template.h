/* What divide.c does for one type; see each_real.h for the parameters. */

/* The turn that makes [a b; b c] diagonal, as in LAPACK's laev2: column (cosine, sine) belongs to
 * the value returned in high. */
static void NAME(solve_two)(REAL a, REAL b, REAL c, REAL *low, REAL *high, REAL *cosine, REAL *sine)
{
    /* t = tangent of the angle: the smaller root of t^2 + 2 (half / b) t - 1 = 0 */
    const REAL half = (c - a) / 2;
    REAL t = 0;
    if (b != 0) {
        const REAL root = (REAL)hypot(half, b);
        t = half >= 0 ? b / (half + root) : b / (half - root);
    }
    const REAL length = (REAL)sqrt(1 + t * t);
    const REAL first = a - t * b;
    const REAL second = c + t * b;
    /* vectors: first (1, -t), second (t, 1) */
    if (first <= second) {
        *low = first;
        *high = second;
        *cosine = t / length;
        *sine = 1 / length;
    } else {
        *low = second;
        *high = first;
        *cosine = 1 / length;
        *sine = -t / length;
    }
}

/* Sets the columns of a part of one or two rows. */
static void NAME(leaf)(const hs__tree *tree, int64_t index)
{
    REAL *d = (REAL *)tree->d;
    const int64_t first = hs__tree_start(tree, tree->levels, index);
    const int64_t size = hs__tree_start(tree, tree->levels, index + 1) - first;
    const int64_t ld = tree->basis[0].ld;
    REAL *q = (REAL *)tree->basis[0].q + first * ld;
    if (!tree->values_only)
        for (int64_t j = 0; j < size; j++) memset(q + j * ld, 0, (size_t)tree->n * sizeof *q);
    q += tree->values_only ? 0 : first;
    REAL low = d[first];
    REAL high = low;
    REAL cosine = 1;
    REAL sine = 1;
    if (size == 2) {
        const REAL beside = ((const REAL *)tree->e)[first];
        NAME(solve_two)(low, beside, d[first + 1], &low, &high, &cosine, &sine);
        d[first] = low;
        d[first + 1] = high;
        q[0] = -sine;
        q[1] = cosine;
        q[ld] = cosine;
        q[ld + 1] = sine;
    } else {
        q[0] = 1;
        if (tree->values_only) q[1] = 1;
    }
}
