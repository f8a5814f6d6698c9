/* The hs__lu_column of a complex type, included by factor_vector_template.h. */

/* Multiplies element i of a column by the scale, and sets its product with i: x and ix are the two
 * halves of a strip's column. */
TARGET static inline __attribute__((always_inline)) void
NAME(scale_element)(REAL *x, REAL *ix, int32_t i, const double scale[3])
{
    const REAL re = (REAL)scale[1];
    const REAL im = (REAL)scale[2];
    const REAL a = x[2 * i] * (REAL)scale[0];
    const REAL b = x[2 * i + 1] * (REAL)scale[0];
    x[2 * i] = a * re - b * im;
    x[2 * i + 1] = a * im + b * re;
    ix[2 * i] = -x[2 * i + 1];
    ix[2 * i + 1] = x[2 * i];
}

/* hs__lu_column. A product with a complex number takes two steps: x times its real part, and i x
 * times its imaginary part. */
TARGET static void NAME(column)(const hs__strips *s, int32_t first, int32_t j, int ends,
                                const double scale[3], hs__lu_largest *largest)
{
    const int64_t step = s->step;
    const int32_t reals = s->reals;
    const int32_t rows = reals / 2;
    REAL *strip = s->data;
    REAL u[2 * HS__BASE_COLUMNS];
    hs__lu_largest found = {0};
    for (int32_t i = first; i < rows; i++) {
        const REAL *row = strip + 2 * i;
        REAL *last = strip + (j - 1) * step;
        REAL *to = strip + j * step + 2 * i;
        const int32_t terms = i - first < j ? i - first : j;
        if (j && i - first >= j) NAME(scale_element)(last, last + reals, i, scale);
        if (ends) continue;
        REAL x = to[0];
        REAL y = to[1];
        for (int32_t l = 0; l < terms; l++) {
            const REAL a = row[l * step];
            const REAL b = row[l * step + 1];
            x -= a * u[2 * l] - b * u[2 * l + 1];
            y -= a * u[2 * l + 1] + b * u[2 * l];
        }
        to[0] = x;
        to[1] = y;
        const REAL size = (x < 0 ? -x : x) + (y < 0 ? -y : y);
        if (terms < j) {
            u[2 * terms] = x;
            u[2 * terms + 1] = y;
        } else if (i - first == j || size > found.size) found = (hs__lu_largest){size, i};
    }
    for (int64_t t = 1; t < s->count; t++) {
        strip += s->size;
        REAL *last = strip + (j - 1) * step;
        REAL *to = strip + j * step;
        if (j)
            for (int32_t i = 0; i < rows; i++) NAME(scale_element)(last, last + reals, i, scale);
        if (ends) continue;
        for (int32_t i = 0; i < reals; i += NAME(lanes)) {
            NAME(vector) x = *(NAME(vector) *)(to + i);
            for (int32_t l = 0; l < j; l++) {
                const REAL *at = strip + l * step + i;
                x -= *(NAME(vector) *)at * u[2 * l];
                x -= *(NAME(vector) *)(at + reals) * u[2 * l + 1];
            }
            *(NAME(vector) *)(to + i) = x;
        }
        for (int32_t i = 0; i < rows; i++) {
            const REAL x = to[2 * i];
            const REAL y = to[2 * i + 1];
            const REAL size = (x < 0 ? -x : x) + (y < 0 ? -y : y);
            if (size > found.size) found = (hs__lu_largest){size, t * rows + i};
        }
    }
    if (!ends) *largest = found;
}
