/* The hs__lu_column of a real type, included by factor_vector_template.h: INTEGER is as large as REAL. */

typedef INTEGER NAME(integers) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

/* The first strip, which has rows of U too, element by element; then whole vectors. */
TARGET static void NAME(column)(const hs__strips *s, int32_t first, int32_t j, int ends, const double scale[3],
                                hs__lu_largest *largest)
{
    const REAL power = (REAL)scale[0], inverse = (REAL)scale[1];
    const int64_t step = s->step;
    REAL *strip = s->data, u[HS__BASE_COLUMNS];
    hs__lu_largest found = {0};
    for (int32_t i = first; i < s->reals; i++) {
        REAL *row = strip + i;
        const int32_t terms = i - first < j ? i - first : j;
        if (j && i - first >= j) row[(j - 1) * step] = row[(j - 1) * step] * power * inverse;
        if (ends) continue;
        REAL x = row[j * step];
        for (int32_t l = 0; l < terms; l++) x -= row[l * step] * u[l];
        row[j * step] = x;
        const double size = x < 0 ? -x : x;
        if (terms < j) u[terms] = x;
        else if (i - first == j || size > found.size) found = (hs__lu_largest){size, i};
    }
    if (ends) {
        for (int64_t t = 1; t < s->count; t++) {
            REAL *last = (strip += s->size) + (j - 1) * step;
            for (int32_t i = 0; i < s->reals; i++) last[i] = last[i] * power * inverse;
        }
        return;
    }
    NAME(vector) best = (NAME(vector)){0} + (REAL)found.size;
    NAME(integers) where = (NAME(integers)){0} - 1;
    const NAME(integers) magnitude = (NAME(integers)){0} + (INTEGER)((1ULL << (8 * sizeof(REAL) - 1)) - 1);
    for (int64_t t = 1; t < s->count; t++) {
        strip += s->size;
        for (int32_t i = 0; i < s->reals; i += NAME(lanes)) {
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
            best = (NAME(vector))(((NAME(integers))size & larger) | ((NAME(integers))best & ~larger));
            where = (((NAME(integers)){0} + (INTEGER)(t * s->reals + i)) & larger) | (where & ~larger);
        }
    }
    for (int lane = 0; lane < NAME(lanes); lane++)
        if (where[lane] >= 0 && (best[lane] > found.size || (best[lane] == found.size && where[lane] + lane < found.row)))
            found = (hs__lu_largest){best[lane], where[lane] + lane};
    *largest = found;
}
