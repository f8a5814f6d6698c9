/* The steps of a join (join.h) for one type; see each_real.h for the parameters. */

#define ROUNDING ((REAL)(sizeof(REAL) == 4 ? FLT_EPSILON / 2 : DBL_EPSILON / 2))
#define LEAST ((REAL)(sizeof(REAL) == 4 ? FLT_MIN / FLT_EPSILON : DBL_MIN / DBL_EPSILON))

/* ---- before and after the joins -------------------------------------------------------------- */

/* Divides the matrix by a power of two, so that its largest element is about 1. For eigenvalues it
 * also takes what couples the parts out of the diagonal. If an element is not finite, all are set
 * to 0 and it returns non-zero: so the phases do not depend on the matrix. */
static int NAME(prepare)(const hs__tree *tree)
{
    REAL *d = (REAL *)tree->d;
    REAL *e = (REAL *)tree->e;
    const int64_t n = tree->n;
    REAL norm = 0;
    REAL check = 0; /* 0 times a NaN or an infinity is NaN */
    for (int64_t i = 0; i < n; i++) {
        norm = (REAL)fmax(norm, fabs(d[i]));
        check += 0 * d[i];
    }
    for (int64_t i = 0; i + 1 < n; i++) {
        norm = (REAL)fmax(norm, fabs(e[i]));
        check += 0 * e[i];
    }
    const int failed = check != 0;
    if (failed) {
        norm = 0;
        for (int64_t i = 0; i < n; i++) d[i] = 0;
        for (int64_t i = 0; i + 1 < n; i++) e[i] = 0;
    }
    frexp(norm, tree->exponent);
    const int exponent = *tree->exponent;
    for (int64_t i = 0; i < n; i++) d[i] = (REAL)ldexp(d[i], -exponent);
    for (int64_t i = 0; i + 1 < n; i++) e[i] = (REAL)ldexp(e[i], -exponent);
    for (int64_t part = 1; part < (int64_t)1 << tree->levels && !tree->squares; part++) {
        const int64_t row = hs__tree_start(tree, tree->levels, part);
        const REAL beside = (REAL)fabs(e[row - 1]);
        d[row - 1] -= beside;
        d[row] -= beside;
    }
    return failed;
}

static void NAME(restore)(const hs__tree *tree)
{
    REAL *d = (REAL *)tree->d;
    for (int64_t i = 0; i < tree->n; i++) d[i] = (REAL)ldexp(d[i], *tree->exponent);
}

/* ---- deflate --------------------------------------------------------------------------------- */

/* What is known while the columns of a part are taken in the order of their values. */
typedef struct {
    const hs__tree *tree;
    hs__join *join;
    REAL *value, *weight; /* of all columns */
    REAL *dead;
    double *pole, *pole_weight;
    int64_t *column, *dead_column;
    int8_t *group;
    int64_t dead_count;
    REAL limit, factor; /* a column is deflated if its weight times factor is at most the limit */
} NAME(deflation);

/* Reads the weights: what couples the halves times the last row of the first and the first row of
 * the second. Returns the weight of the null vector of the second half, 0 without one. */
static REAL NAME(read_weights)(const hs__tree *tree, const hs__join *join, REAL above, REAL below,
                               REAL *weight)
{
    const hs__basis *basis = &tree->basis[tree->bases - 1];
    const int64_t row = tree->values_only ? 1 : join->cut - 1;
    REAL *q = (REAL *)basis->q + row + join->first * basis->ld;
    REAL *next = tree->values_only ? q - 1 : q + 1;
    const int64_t half = join->cut - join->first;
    const int64_t size = join->last - join->first;
    for (int64_t i = 0; i < half; i++) weight[i] = above * q[i * basis->ld];
    for (int64_t i = half; i < size; i++) weight[i] = below * next[i * basis->ld];
    const REAL null = join->end > join->last ? below * next[size * basis->ld] : 0;
    if (tree->values_only) {
        for (int64_t i = 0; i < half; i++) q[i * basis->ld] = 0;
        for (int64_t i = half; i < join->end - join->first; i++) next[i * basis->ld] = 0;
    }
    return null;
}

/* Sorts the columns by their values: two ascending runs. The column of the pole 0 comes first. */
static void NAME(sort_columns)(const REAL *value, int64_t half, int64_t size, int squares,
                               int64_t *order)
{
    int64_t count = 0;
    int64_t a = 0;
    int64_t b = half;
    if (squares) half--;
    if (squares) order[count++] = half;
    while (a < half || b < size) {
        const int first = b >= size || (a < half && value[a] <= value[b]);
        order[count++] = first ? a++ : b++;
    }
}

static void NAME(keep_column)(NAME(deflation) * x, int64_t i)
{
    const int64_t count = x->join->count++;
    x->pole[count] = x->value[i];
    x->pole_weight[count] = x->weight[i];
    x->column[count] = i;
}

static void NAME(bury_column)(NAME(deflation) * x, int64_t i)
{
    int64_t at = x->dead_count++;
    for (; at && x->dead[at - 1] > x->value[i]; at--) {
        x->dead[at] = x->dead[at - 1];
        x->dead_column[at] = x->dead_column[at - 1];
    }
    x->dead[at] = x->value[i];
    x->dead_column[at] = i;
}

static void NAME(record_turn)(NAME(deflation) * x, int64_t i, int64_t j, REAL cosine, REAL sine,
                              int right_only)
{
    const int64_t first = x->join->first;
    x->tree->turns[first + x->join->turns++] =
        (hs__turn){first + i, first + j, (double)cosine, (double)sine, right_only};
}

/* Deflates column i, whose value is at most that of column j, if a turn of the two makes its weight
 * 0 and changes the part by no more than the limit. */
static int NAME(merge_columns)(NAME(deflation) * x, int64_t i, int64_t j)
{
    const REAL length = (REAL)hypot(x->weight[i], x->weight[j]);
    const REAL cosine = x->weight[j] / length;
    const REAL sine = -x->weight[i] / length;
    const REAL gap = x->value[j] - x->value[i];
    const REAL change = x->tree->squares ? gap : gap * cosine * sine;
    if ((change < 0 ? -change : change) > x->limit) return 0;
    x->weight[j] = length;
    x->weight[i] = 0;
    if (x->group[i] != x->group[j]) {
        x->group[i] = DENSE;
        x->group[j] = DENSE;
    }
    NAME(record_turn)(x, i, j, cosine, sine, 0);
    if (!x->tree->squares) {
        const REAL low = x->value[i];
        const REAL high = x->value[j];
        x->value[i] = low * cosine * cosine + high * sine * sine;
        x->value[j] = low * sine * sine + high * cosine * cosine;
    }
    NAME(bury_column)(x, i);
    return 1;
}

/* The pole 0: turns the null vectors of the halves so that only one of them has a weight, and keeps
 * it in any case, with the limit as its least weight. */
static void NAME(keep_zero)(NAME(deflation) * x, int64_t i, REAL null)
{
    const int64_t size = x->join->last - x->join->first;
    const int has_null = x->join->end > x->join->last;
    REAL length = has_null ? (REAL)hypot(x->weight[i], null) : x->weight[i];
    if (has_null && length > x->limit)
        NAME(record_turn)(x, i, size, x->weight[i] / length, null / length, 1);
    if ((length < 0 ? -length : length) <= x->limit) length = x->limit;
    x->weight[i] = length;
    x->value[i] = 0;
    x->group[i] = has_null ? DENSE : UPPER;
    NAME(keep_column)(x, i);
}

/* Puts the kept columns in groups. */
static void NAME(group_columns)(const NAME(deflation) * x)
{
    hs__join *join = x->join;
    const hs__tree *tree = x->tree;
    double *grouped = tree->grouped_pole + join->first;
    int64_t *place = tree->place + join->first;
    int64_t next[3] = {0};
    for (int64_t i = 0; i < join->count; i++) next[x->group[x->column[i]]]++;
    join->upper = next[UPPER];
    join->dense = next[DENSE];
    join->lower = next[LOWER];
    next[LOWER] = join->upper + join->dense;
    next[DENSE] = join->upper;
    next[UPPER] = 0;
    int64_t *grouped_column = tree->order + join->first; /* no longer needed as the order */
    for (int64_t i = 0; i < join->count; i++) {
        place[i] = next[x->group[x->column[i]]]++;
        grouped[place[i]] = x->pole[i];
        grouped_column[place[i]] = x->column[i];
    }
    memcpy(x->column, grouped_column, (size_t)join->count * sizeof *grouped_column);
}

/* Keeps the columns of the secular equation and deflates the other ones. Each column is compared
 * with the one kept before it. */
static void NAME(deflate)(const hs__tree *tree, hs__join *join)
{
    const int64_t first = join->first;
    const int64_t half = join->cut - first;
    const int64_t size = join->last - first;
    const int squares = tree->squares;
    NAME(deflation) x;
    x.tree = tree;
    x.join = join;
    x.value = (REAL *)tree->d + first;
    x.weight = (REAL *)tree->scaled + first;
    x.pole = tree->pole + first;
    x.pole_weight = tree->weight + first;
    x.dead = (REAL *)tree->dead + first;
    x.column = tree->column + first;
    x.dead_column = tree->dead_column + first;
    x.group = tree->group + first;
    x.dead_count = 0;
    join->count = 0;
    join->turns = 0;
    /* the elements between the halves: d and e of the row, or e */
    const int has_lower = join->end > join->cut;
    const REAL beside = has_lower ? ((const REAL *)tree->e)[join->cut - 1] : 0;
    const REAL between = squares ? x.value[half - 1] : 0;
    if (squares) x.value[half - 1] = 0;
    REAL norm = (REAL)fmax(fabs(between), fabs(beside));
    for (int64_t i = 0; i < size; i++) norm = (REAL)fmax(norm, fabs(x.value[i]));
    const int is_zero = norm == 0;
    norm = (REAL)fmax(norm, LEAST);
    int exponent;
    frexp(norm, &exponent);
    join->unit = ldexp(1.0, exponent);
    const REAL scale = (REAL)(1 / join->unit);
    for (int64_t i = 0; i < size; i++) x.value[i] *= scale;
    x.limit = 8 * ROUNDING * norm * scale;

    /* The weights of eigenvalues are vectors of norm sqrt(2) times sqrt(rho). Those of singular
     * values are the elements of the additional row. */
    const REAL rho = (REAL)fabs(beside) * scale;
    const REAL root = (REAL)sqrt(rho);
    x.factor = squares ? 1 : (REAL)sqrt(2 * rho);
    const REAL null =
        squares ? NAME(read_weights)(tree, join, between * scale, beside * scale, x.weight)
                : NAME(read_weights)(tree, join, root, beside < 0 ? -root : root, x.weight);
    for (int64_t i = 0; i < size; i++) x.group[i] = i < half ? UPPER : LOWER;

    int64_t *order = tree->order + first;
    NAME(sort_columns)(x.value, half, size, squares, order);
    if (is_zero && squares) NAME(bury_column)(&x, order[0]);
    else if (squares) NAME(keep_zero)(&x, order[0], null);
    int64_t held = -1; /* kept, unless the next one is too near */
    for (int64_t at = squares; at < size; at++) {
        const int64_t i = order[at];
        const REAL weight = x.weight[i] * x.factor;
        if ((weight < 0 ? -weight : weight) <= x.limit) {
            NAME(bury_column)(&x, i);
            continue;
        }
        if (held >= 0 && !NAME(merge_columns)(&x, held, i)) NAME(keep_column)(&x, held);
        held = i;
    }
    if (held >= 0) NAME(keep_column)(&x, held);
    if (squares && join->count > 1 && x.pole[1] < x.limit / 2) x.pole[1] = x.limit / 2;
    NAME(group_columns)(&x);
}

/* ---- gather ---------------------------------------------------------------------------------- */

/* Gathers rows from .. to - 1, counted from the first row of the part. */
static void NAME(gather)(const hs__tree *tree, const hs__join *join, const hs__basis *basis,
                         int64_t from, int64_t to)
{
    const part_rows rows = rows_of(tree, join, basis);
    REAL *q = (REAL *)basis->q + rows.first;
    const int64_t ld = basis->ld;
    for (int64_t t = 0; t < join->turns; t++) {
        const hs__turn *turn = &tree->turns[join->first + t];
        if (turn->right_only && basis->kind == HS__LEFT_VECTOR) continue;
        REAL *restrict x = q + turn->x * ld;
        REAL *restrict y = q + turn->y * ld;
        const REAL cosine = (REAL)turn->cosine;
        const REAL sine = (REAL)turn->sine;
        for (int64_t i = from; i < to; i++) {
            const REAL old = x[i];
            x[i] = cosine * old + sine * y[i];
            y[i] = cosine * y[i] - sine * old;
        }
    }
    const packed_columns packed = locate_packed(tree, join, basis);
    const int64_t *column = tree->column + join->first;
    const int64_t middle = hs__min(hs__max(from, rows.upper), to);
    for (int64_t g = 0; g < join->count; g++) {
        const REAL *source = q + (join->first + column[g]) * ld;
        if (g < join->upper + join->dense && from < middle)
            memcpy((REAL *)packed.upper + g * rows.upper + from, source + from,
                   (size_t)(middle - from) * sizeof *q);
        if (g >= join->upper && middle < to)
            memcpy((REAL *)packed.lower + (g - join->upper) * rows.lower + middle - rows.upper,
                   source + middle, (size_t)(to - middle) * sizeof *q);
    }
    const int64_t *dead = tree->dead_column + join->first;
    const int64_t height = rows.upper + rows.lower;
    for (int64_t i = 0; i < join->last - join->first - join->count; i++)
        memcpy((REAL *)packed.dead + i * height + from, q + (join->first + dead[i]) * ld + from,
               (size_t)(to - from) * sizeof *q);
}

/* ---- roots and weights ----------------------------------------------------------------------- */

static hs__secular NAME(equation)(const hs__tree *tree, const hs__join *join)
{
    return (hs__secular){.count = join->count,
                         .pole = tree->pole + join->first,
                         .weight = tree->weight + join->first,
                         .squares = tree->squares};
}

static void NAME(find_roots)(const hs__tree *tree, const hs__join *join, int64_t from, int64_t to)
{
    const hs__secular equation = NAME(equation)(tree, join);
    for (int64_t j = from; j < hs__min(to, join->count); j++)
        tree->loops.root(&equation, j, tree->base + join->first, tree->shift + join->first);
}

/* Returns how many of the deflated values, ascending, are less than x. */
static int64_t NAME(count_dead)(const REAL *dead, int64_t count, REAL x)
{
    int64_t low = 0;
    int64_t high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (dead[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Returns how many of the roots, ascending, are at most x. */
static int64_t NAME(count_roots)(const double *base, const double *shift, int64_t count, REAL x)
{
    int64_t low = 0;
    int64_t high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((REAL)(base[middle] + shift[middle]) <= x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Sets the weights of poles from .. to - 1, and the places of as many values of the part. Roots
 * come before deflated values that are equal. Singular values descend in the end. */
static void NAME(set_weights)(const hs__tree *tree, const hs__join *join, int64_t from, int64_t to)
{
    const int64_t first = join->first;
    const int64_t size = join->last - first;
    const int64_t count = join->count;
    const double *base = tree->base + first;
    const double *shift = tree->shift + first;
    const REAL *dead = (const REAL *)tree->dead + first;
    REAL *d = (REAL *)tree->d + first;
    const hs__secular equation = NAME(equation)(tree, join);
    const int descends = tree->squares && is_root(tree, join);
    for (int64_t i = from; i < hs__min(to, size); i++) {
        const REAL value = i < count ? (REAL)(base[i] + shift[i]) : dead[i - count];
        int64_t at = i < count ? i + NAME(count_dead)(dead, size - count, value)
                               : i - count + NAME(count_roots)(base, shift, count, value);
        if (descends) at = size - 1 - at;
        tree->target[first + i] = at;
        d[at] = value * (REAL)join->unit;
        if (i < count && needs_vectors(tree, join))
            tree->grouped_weight[first + tree->place[first + i]] =
                tree->loops.weight(&equation, i, base, shift);
    }
}

/* ---- multiply -------------------------------------------------------------------------------- */

/* C <- A B (m x n, depth k) for products so small that packing would take most of the time. */
static void NAME(multiply_small)(int64_t m, int64_t n, int64_t k, const REAL *a, int64_t a_ld,
                                 const REAL *b, int64_t b_ld, REAL *c, int64_t c_ld)
{
    for (int64_t j = 0; j < n; j++) {
        REAL *restrict to = c + j * c_ld;
        for (int64_t i = 0; i < m; i++) to[i] = 0;
        for (int64_t l = 0; l < k; l++) {
            const REAL factor = b[l + j * b_ld];
            const REAL *restrict column = a + l * a_ld;
            for (int64_t i = 0; i < m; i++) to[i] += factor * column[i];
        }
    }
}

/* Computes the vectors of roots left .. right - 1 in the scratch memory. */
static void NAME(compute_vectors)(const hs__tree *tree, const hs__join *join, hs__vector_kind kind,
                                  int64_t left, int64_t right, const tile_scratch *scratch)
{
    const int64_t first = join->first;
    const int64_t zero = tree->squares ? tree->place[first] : 0;
    REAL *vector = (REAL *)scratch->vectors;
    for (int64_t j = left; j < right; j++, vector += join->count) {
        const double factor = tree->loops.vector(
            kind, join->count, tree->grouped_pole + first, tree->grouped_weight + first, zero,
            tree->base[first + j], tree->shift[first + j], scratch->vector);
        for (int64_t i = 0; i < join->count; i++) vector[i] = (REAL)(factor * scratch->vector[i]);
    }
}

/* Computes rows from .. to - 1, counted from the first row of the part, of the new columns of roots
 * and deflated values left .. right - 1. If the columns of the roots are neighbours in the basis,
 * they are computed there, else in the scratch memory. */
static void NAME(multiply)(const hs__tree *tree, const hs__join *join, const hs__basis *basis,
                           int64_t from, int64_t to, int64_t left, int64_t right, hs__walk *walk)
{
    const part_rows rows = rows_of(tree, join, basis);
    const packed_columns packed = locate_packed(tree, join, basis);
    const tile_scratch scratch = divide_scratch(tree, walk);
    const int64_t count = join->count;
    const int64_t *target = tree->target + join->first;
    REAL *q = (REAL *)basis->q + rows.first + join->first * basis->ld;
    const int64_t n = hs__max(hs__min(right, count) - left, 0);
    const int64_t height = rows.upper + rows.lower;
    const int64_t step = n > 1 && target[left + 1] < target[left] ? -1 : 1;
    const int in_place = n > 0 && target[left + n - 1] - target[left] == step * (n - 1);
    NAME(compute_vectors)(tree, join, basis->kind, left, left + n, &scratch);
    for (int lower = 0; lower < 2 && n > 0; lower++) {
        const int64_t start = lower ? hs__max(from, rows.upper) : from;
        const int64_t stop = lower ? to : hs__min(to, rows.upper);
        if (start >= stop) continue;
        const int64_t m = stop - start;
        const int64_t k = join->dense + (lower ? join->lower : join->upper);
        const REAL *a = lower ? (const REAL *)packed.lower + start - rows.upper
                              : (const REAL *)packed.upper + start;
        const int64_t a_ld = lower ? rows.lower : rows.upper;
        const REAL *b = (const REAL *)scratch.vectors + (lower ? join->upper : 0);
        REAL *c = in_place ? q + target[left] * basis->ld + start : (REAL *)scratch.tile;
        const int64_t c_ld = in_place ? step * basis->ld : m;
        if (m * n * k <= SMALL_UPDATES) NAME(multiply_small)(m, n, k, a, a_ld, b, count, c, c_ld);
        else multiply_packed(tree, walk, m, n, k, a, a_ld, b, count, c, c_ld, &scratch);
        for (int64_t j = 0; j < n && !in_place; j++)
            memcpy(q + target[left + j] * basis->ld + start, c + j * m, (size_t)m * sizeof *q);
    }
    for (int64_t i = hs__max(left, count); i < right; i++)
        memcpy(q + target[i] * basis->ld + from,
               (const REAL *)packed.dead + (i - count) * height + from,
               (size_t)(to - from) * sizeof *q);
}

#undef ROUNDING
#undef LEAST
