/* A block with a reflector on each side; included by qr_vector_template.h. Each function passes the
 * block once, column by column, with the vectors of its rows in registers. */

/* sides: most vectors of rows at a time. together: columns with inner products that are summed at a
 * time; the vectors of their sums are a multiple of the lanes. */
enum {
    NAME(sides) = HS__REGISTERS(BYTES) / (4 * PARTS),
    NAME(together) = ((int)NAME(lanes) > 8 ? (int)NAME(lanes) : 8) / PARTS
};

/* Loads one of several vectors, of which the only one may be a part of a vector. */
INLINE NAME(vector) NAME(load_one)(const REAL *from, int64_t some, int enough)
{
    return some ? NAME(load_end)(from, some, enough) : NAME(load)(from);
}

INLINE void NAME(store_one)(REAL *to, NAME(vector) x, int64_t some, int enough)
{
    if (some) NAME(store_end)(to, x, some, enough);
    else *(NAME(vector) *)to = x;
}

/* Calls RUN(high, some, i) for the rows from real i on: as many vectors at a time as fit into
 * registers, then fewer, then the `some` reals that are left. */
#define PASS_ROWS(RUN)                                                                 \
    do {                                                                               \
        int64_t i = 0;                                                                 \
        for (; i + NAME(sides) * NAME(lanes) <= reals; i += NAME(sides) * NAME(lanes)) \
            RUN(NAME(sides), 0, i);                                                    \
        for (; NAME(sides) > 4 && i + 4 * NAME(lanes) <= reals; i += 4 * NAME(lanes))  \
            RUN(4, 0, i);                                                              \
        for (; NAME(sides) > 2 && i + 2 * NAME(lanes) <= reals; i += 2 * NAME(lanes))  \
            RUN(2, 0, i);                                                              \
        for (; i + NAME(lanes) <= reals; i += NAME(lanes)) RUN(1, 0, i);               \
        if (i < reals) RUN(1, reals - i, i);                                           \
    } while (0)

/* hs__qr_row. */
TARGET static void NAME(row)(int64_t rows, const void *v_, int64_t cols, const void *c_,
                             int64_t c_ld, void *z_)
{
    enum { SUMS = NAME(together) * PARTS };
    const REAL *v = v_;
    NAME(element) *z = z_;
    const int64_t reals = rows * PARTS;
    for (int64_t j = 0; j < cols; j += NAME(together)) {
        const int count = (int)(cols - j < NAME(together) ? cols - j : NAME(together));
        const REAL *c[NAME(together)];
        NAME(vector) sum[SUMS] = {{0}};
        NAME(element) found[NAME(together)];
        for (int k = 0; k < NAME(together); k++)
            c[k] = (const REAL *)c_ + (j + (k < count ? k : count - 1)) * c_ld * PARTS;
        for (int64_t l = 0; l < reals; l += NAME(lanes)) {
            const int64_t some = reals - l < NAME(lanes) ? reals - l : 0;
            const NAME(vector) x = NAME(load_one)(v + l, some, reals >= NAME(lanes));
            const NAME(vector) turned = PARTS == 2 ? NAME(exchange)(x, 1) : x;
            for (int k = 0; k < NAME(together); k++) {
                const NAME(vector) y = NAME(load_one)(c[k] + l, some, reals >= NAME(lanes));
                sum[k * PARTS] += x * y;
                if (PARTS == 2) sum[k * PARTS + PARTS - 1] += turned * y;
            }
        }
        for (int k = 1; k < SUMS && PARTS == 2; k += 2) sum[k] *= NAME(signs)();
        NAME(sums)(SUMS, sum, (REAL *)found);
        for (int k = 0; k < count; k++) z[j + k] = found[k];
    }
}

/* Computes `high` vectors of rows of c y. For complex elements, the products with the real and with
 * the imaginary parts of y are summed separately. */
INLINE void NAME(column_rows)(const int high, int64_t some, int enough, int64_t cols, const REAL *c,
                              int64_t c_ld, const REAL *y, REAL *w)
{
    NAME(vector) sum[NAME(sides) * PARTS] = {{0}};
    for (int64_t j = 0; j < cols; j++)
        for (int i = 0; i < high; i++) {
            const NAME(vector) x =
                NAME(load_one)(c + j * c_ld * PARTS + i * NAME(lanes), some, enough);
            for (int part = 0; part < PARTS; part++)
                sum[i * PARTS + part] += x * y[j * PARTS + part];
        }
    for (int i = 0; i < high; i++) {
        NAME(vector) x = sum[i * PARTS];
        if (PARTS == 2) x += NAME(signs)() * NAME(exchange)(sum[i * PARTS + PARTS - 1], 1);
        NAME(store_one)(w + i * NAME(lanes), x, some, enough);
    }
}

/* hs__qr_column. */
TARGET static void NAME(column)(int64_t rows, int64_t cols, const void *c_, int64_t c_ld,
                                const void *y, void *w_)
{
    const REAL *c = c_;
    REAL *w = w_;
    const int64_t reals = rows * PARTS;
#define RUN(high, some, at) \
    NAME(column_rows)(high, some, reals >= NAME(lanes), cols, c + (at), c_ld, y, w + (at))
    PASS_ROWS(RUN);
#undef RUN
}

/* Updates `high` vectors of rows. */
INLINE void NAME(rank_two_rows)(const int high, int64_t some, int enough, int64_t cols, REAL *c,
                                int64_t c_ld, const REAL *u, const REAL *z, const REAL *w,
                                const REAL *y)
{
    NAME(vector) left[NAME(sides)][PARTS], right[NAME(sides)][PARTS];
    for (int i = 0; i < high; i++) {
        left[i][0] = NAME(load_one)(u + i * NAME(lanes), some, enough);
        right[i][0] = NAME(load_one)(w + i * NAME(lanes), some, enough);
        if (PARTS == 2) {
            left[i][PARTS - 1] = NAME(signs)() * NAME(exchange)(left[i][0], 1);
            right[i][PARTS - 1] = NAME(signs)() * NAME(exchange)(right[i][0], 1);
        }
    }
    for (int64_t j = 0; j < cols; j++)
        for (int i = 0; i < high; i++) {
            REAL *to = c + j * c_ld * PARTS + i * NAME(lanes);
            NAME(vector) x = NAME(load_one)(to, some, enough);
            for (int part = 0; part < PARTS; part++)
                x = x - left[i][part] * z[j * PARTS + part] - right[i][part] * y[j * PARTS + part];
            NAME(store_one)(to, x, some, enough);
        }
}

/* hs__qr_rank_two. */
TARGET static void NAME(rank_two)(int64_t rows, int64_t cols, void *c_, int64_t c_ld,
                                  const void *u_, const void *z, const void *w_, const void *y)
{
    const REAL *u = u_;
    const REAL *w = w_;
    REAL *c = c_;
    const int64_t reals = rows * PARTS;
#define RUN(high, some, at)                                                                  \
    NAME(rank_two_rows)(high, some, reals >= NAME(lanes), cols, c + (at), c_ld, u + (at), z, \
                        w + (at), y)
    PASS_ROWS(RUN);
#undef RUN
}

#undef PASS_ROWS
