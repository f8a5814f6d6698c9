/* One place of a sweep of general_chase.c; see each_type.h for the parameters. */

#if PARTS == 1
typedef REAL NAME(element);
#define CONJ(x) (x)
#define REAL_PART(x) (x)
#else
typedef REAL _Complex NAME(element);
#define CONJ(x) ((NAME(element))conj(x))
#define REAL_PART(x) ((REAL)creal(x))
#endif

/* Makes a reflector H with H^H x = beta e1 from the `count` elements of v, which become its vector.
 * Returns beta, a real number. */
static NAME(element) NAME(make_reflector)(const hs__qr_vector *vector, int64_t count,
                                          NAME(element) * v, NAME(element) * tau)
{
    vector->leaf(count, 1, v, count, tau);
    const NAME(element) beta = v[0];
    v[0] = 1;
    return beta;
}

/* Removes a row but for its first element by a reflector from the right. Its elements are `step`
 * apart. */
static REAL NAME(remove_row)(const hs__qr_vector *vector, int64_t count, NAME(element) * row,
                             int64_t step, NAME(element) * v, NAME(element) * tau)
{
    for (int64_t j = 0; j < count; j++) {
        v[j] = CONJ(row[j * step]);
        row[j * step] = 0;
    }
    row[0] = NAME(make_reflector)(vector, count, v, tau);
    return REAL_PART(row[0]);
}

static void NAME(begin_sweep)(const chase *x, sweep_state *s)
{
    NAME(element) *row = element_at(x, s->number, s->number + 1);
    ((REAL *)x->own->e)[s->number] =
        NAME(remove_row)(&x->vector, s->cols, row, x->step, s->v, s->tau);
}

/* D <- H^H D G, for the reflector G = I - tau v v^H from the right and H from the left, which
 * removes the first column of D. Returns the first element of D. */
static REAL NAME(pass_diagonal)(const chase *x, const sweep_state *s, NAME(element) * d,
                                const chase_room *room)
{
    const int64_t size = s->cols;
    const NAME(element) *v = s->v;
    const NAME(element) tau = *(const NAME(element) *)s->tau;
    NAME(element) *u = room->u;
    NAME(element) *w = room->w;
    NAME(element) *y = room->y;
    NAME(element) *z = room->z;
    NAME(element) product;
    x->vector.column(size, size, d, x->step, v, w);
    for (int64_t i = 0; i < size; i++) {
        w[i] *= tau;
        y[i] = CONJ(v[i]);
        u[i] = d[i] - w[i];
    }
    const NAME(element) beta = NAME(make_reflector)(&x->vector, size, u, room->tau);
    const NAME(element) factor = CONJ(*(NAME(element) *)room->tau);
    x->vector.row(size, u, 1, w, size, &product);
    x->vector.row(size, u, size, d, x->step, z);
    for (int64_t j = 0; j < size; j++) z[j] = factor * (z[j] - product * y[j]);
    x->vector.rank_two(size, size - 1, d + x->step, x->step, u, z + 1, w, y + 1);
    memset(d, 0, (size_t)size * sizeof *d);
    d[0] = beta;
    return REAL_PART(beta);
}

/* E <- H^H E G for the reflector H from the left that room->u has, and a new G, which removes the
 * first row of E but for its first element. G replaces the sweep's reflector. */
static void NAME(pass_above)(const chase *x, sweep_state *s, int64_t rows, int64_t cols,
                             NAME(element) * e, const chase_room *room)
{
    const NAME(element) *u = room->u;
    const NAME(element) factor = CONJ(*(NAME(element) *)room->tau);
    NAME(element) *v = s->v;
    NAME(element) *w = room->w;
    NAME(element) *y = room->y;
    NAME(element) *z = room->z;
    x->vector.row(rows, u, cols, e, x->step, z);
    for (int64_t j = 0; j < cols; j++) {
        z[j] *= factor;
        v[j] = CONJ(e[j * x->step] - z[j]);
    }
    const NAME(element) beta = NAME(make_reflector)(&x->vector, cols, v, s->tau);
    const NAME(element) tau = *(NAME(element) *)s->tau;
    NAME(element) product;
    for (int64_t j = 0; j < cols; j++) y[j] = CONJ(v[j]);
    x->vector.row(cols, y, 1, z, cols, &product);
    x->vector.column(rows, cols, e, x->step, v, w);
    for (int64_t i = 0; i < rows; i++) w[i] = tau * (w[i] - u[i] * product);
    x->vector.rank_two(rows, cols, e, x->step, u, z, w, y);
    for (int64_t j = 0; j < cols; j++) e[j * x->step] = j ? 0 : beta;
}

/* Takes a sweep through its next place. */
static void NAME(pass_place)(const chase *x, sweep_state *s, const chase_room *room)
{
    const int64_t row = s->number + 1 + s->place * x->own->width;
    const int64_t next = row + x->own->width, rows = s->cols;
    const int64_t cols = hs__min(x->own->width, x->own->n - next);
    store_reflector(x, x->own->right, s, s->v, s->tau);
    const REAL first = NAME(pass_diagonal)(x, s, element_at(x, row, row), room);
    if (s->place == 0) ((REAL *)x->own->d)[row] = first;
    store_reflector(x, x->own->left, s, room->u, room->tau);
    if (cols > 0) NAME(pass_above)(x, s, rows, cols, element_at(x, row, next), room);
    s->cols = cols;
    s->place++;
}

static void NAME(set_first)(const chase *x)
{
    ((REAL *)x->own->d)[0] = REAL_PART(*(NAME(element) *)element_at(x, 0, 0));
}

#undef CONJ
#undef REAL_PART
