/* The hs__lu_column of a real type, included by factor_vector_template.h. INTEGER has the size of
 * REAL. */

typedef INTEGER NAME(integers)
    __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

/* Processes rows begin .. end - 1 of the first strip, of which rows first .. first + j - 1 belong
 * to U, in vectors, too. A vector may change rows outside of its range in the copy x; these are not
 * written back. */
TARGET static hs__lu_largest NAME(first_rows)(const hs__strips *s, int32_t first, int32_t begin,
                                              int32_t end, int32_t j, REAL *u)
{
    const int64_t step = s->step;
    REAL *const strip = s->data;
    REAL *const to = strip + j * step;
    REAL x[HS__BASE_COLUMNS + 2 * NAME(lanes)];
    for (int32_t i = begin; i < end; i += NAME(lanes))
        *(NAME(vector) *)(x + i - begin) = *(const NAME(vector) *)(to + i);
    for (int32_t l = 0; l < j; l++) {
        u[l] = x[first + l - begin];
        for (int32_t i = begin; i < end; i += NAME(lanes))
            *(NAME(vector) *)(x + i - begin) -=
                *(const NAME(vector) *)(strip + l * step + i) * u[l];
    }
    memcpy(to + first, u, (size_t)j * sizeof(REAL));
    hs__lu_largest found = {0};
    for (int32_t i = first + j; i < end; i++) {
        const REAL now = x[i - begin];
        const double size = now < 0 ? -now : now;
        to[i] = now;
        if (i == first + j || size > found.size) found = (hs__lu_largest){size, i};
    }
    return found;
}

/* hs__lu_column. First the rows of the diagonal block and those in the same vectors, then all other
 * rows in whole vectors. */
TARGET static void NAME(column)(const hs__strips *s, int32_t first, int32_t j, int ends,
                                const double scale[3], hs__lu_largest *largest)
{
    const REAL power = (REAL)scale[0];
    const REAL inverse = (REAL)scale[1];
    const int64_t step = s->step;
    const int32_t begin = first / NAME(lanes) * NAME(lanes);
    const int32_t wanted = (first + HS__BASE_COLUMNS + NAME(lanes) - 1) / NAME(lanes) * NAME(lanes);
    const int32_t end = wanted < s->reals ? wanted : s->reals;
    REAL *strip = s->data;
    REAL u[HS__BASE_COLUMNS];
    for (int32_t i = first + j; j && i < end; i++)
        strip[(j - 1) * step + i] = strip[(j - 1) * step + i] * power * inverse;
    if (ends) {
        for (int64_t t = 0; t < s->count; t++, strip += s->size)
            for (int32_t i = t ? 0 : end; i < s->reals; i++)
                strip[(j - 1) * step + i] = strip[(j - 1) * step + i] * power * inverse;
        return;
    }
    hs__lu_largest found = NAME(first_rows)(s, first, begin, end, j, u);
    NAME(vector) best = (NAME(vector)){0} + (REAL)found.size;
    NAME(integers) where = (NAME(integers)){0} - 1;
    const NAME(integers) magnitude =
        (NAME(integers)){0} + (INTEGER)((1ULL << (8 * sizeof(REAL) - 1)) - 1);
    for (int64_t t = 0; t < s->count; t++, strip += s->size) {
        for (int32_t i = t ? 0 : end; i < s->reals; i += NAME(lanes)) {
            REAL *at = strip + i;
            NAME(vector) x = *(NAME(vector) *)(at + j * step);
            for (int32_t l = 0; l < j - 1; l++) x -= *(NAME(vector) *)(at + l * step) * u[l];
            if (j) {
                NAME(vector) *last = (NAME(vector) *)(at + (j - 1) * step);
                *last = *last * power * inverse;
                x -= *last * u[j - 1];
            }
            *(NAME(vector) *)(at + j * step) = x;
            const NAME(vector) size = (NAME(vector))((NAME(integers))x & magnitude);
            const NAME(integers) larger = size > best;
            best =
                (NAME(vector))(((NAME(integers))size & larger) | ((NAME(integers))best & ~larger));
            where =
                (((NAME(integers)){0} + (INTEGER)(t * s->reals + i)) & larger) | (where & ~larger);
        }
    }
    for (int lane = 0; lane < NAME(lanes); lane++)
        if (where[lane] >= 0 && (best[lane] > found.size ||
                                 (best[lane] == found.size && where[lane] + lane < found.row)))
            found = (hs__lu_largest){best[lane], where[lane] + lane};
    *largest = found;
}
