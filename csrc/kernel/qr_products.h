/* Products of tall matrices with small ones, without packing of the tall ones; included by
 * qr_vector_template.h. */

/* across, down: number of columns of v and of c with products in registers at a time. high, wide:
 * vectors of rows, and columns, in a tile of an update. */
enum {
    NAME(across) = HS__REGISTERS(BYTES) / 8,
    NAME(down) = 4 / PARTS,
    NAME(high) = 3,
    NAME(wide) = (BYTES == 64 ? 8 : 4) / PARTS
};

/* Processes one more vector of rows. For complex elements, the real part of conj(x) y comes from
 * the products of the vectors; the imaginary part comes, with alternating signs, from the products
 * with the parts of y exchanged. */
#define DOTS_STEP(LOAD)                                                             \
    do {                                                                            \
        NAME(vector) x[NAME(across)];                                               \
        for (int i = 0; i < NAME(across); i++) {                                    \
            const REAL *const from = left[i] + l;                                   \
            x[i] = LOAD;                                                            \
        }                                                                           \
        for (int j = 0; j < NAME(down); j++) {                                      \
            const REAL *const from = right[j] + l;                                  \
            const NAME(vector) y = LOAD, z = PARTS == 2 ? NAME(exchange)(y, 1) : y; \
            for (int i = 0; i < NAME(across); i++) {                                \
                NAME(vector) *const own = sum + (j * NAME(across) + i) * PARTS;     \
                own[0] += x[i] * y;                                                 \
                if (PARTS == 2) own[PARTS - 1] += x[i] * z;                         \
            }                                                                       \
        }                                                                           \
    } while (0)

/* Computes a tile of hs__qr_dots. At the edges the last column is repeated in place of missing
 * ones, and its additional products are dropped. */
INLINE void NAME(dots_tile)(int64_t rows, int m, const REAL *v, int64_t v_ld, int n, const REAL *c,
                            int64_t c_ld, NAME(element) * w, int64_t w_ld, int enough)
{
    enum { TILE = NAME(across) * NAME(down) };
    const REAL *left[NAME(across)], *right[NAME(down)];
    NAME(vector) sum[TILE * PARTS] = {{0}};
    NAME(element) found[TILE];
    for (int i = 0; i < NAME(across); i++) left[i] = v + (i < m ? i : m - 1) * v_ld * PARTS;
    for (int j = 0; j < NAME(down); j++) right[j] = c + (j < n ? j : n - 1) * c_ld * PARTS;
    int64_t l = 0;
    for (; l + NAME(lanes) <= rows * PARTS; l += NAME(lanes)) DOTS_STEP(NAME(load)(from));
    const int64_t rest = rows * PARTS - l;
    if (rest) DOTS_STEP(NAME(load_end)(from, rest, enough));
    for (int i = 1; i < TILE * PARTS && PARTS == 2; i += 2) sum[i] *= -NAME(signs)();
    NAME(sums)(TILE * PARTS, sum, (REAL *)found);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) w[i + j * w_ld] += found[i + j * NAME(across)];
}

/* hs__qr_dots: a few columns of v stay in the L1 cache while the columns of c pass. */
TARGET static void NAME(dots)(int64_t rows, int64_t m, const void *v_, int64_t v_ld, int64_t n,
                              const void *c_, int64_t c_ld, void *w_, int64_t w_ld)
{
    enum { MOST = 20480 / (NAME(across) * PARTS * (int)sizeof(REAL)) };
    const REAL *v = v_;
    const REAL *c = c_;
    NAME(element) *w = w_;
    const int64_t blocks = (rows + MOST - 1) / MOST;
    const int64_t even = blocks ? (rows / blocks / NAME(lanes) + 1) * NAME(lanes) : 1;
    for (int64_t l = 0; l < rows; l += even) {
        const int64_t count = rows - l < even ? rows - l : even;
        for (int64_t i = 0; i < m; i += NAME(across))
            for (int64_t j = 0; j < n; j += NAME(down))
                NAME(dots_tile)(count, (int)(m - i < NAME(across) ? m - i : NAME(across)),
                                v + (i * v_ld + l) * PARTS, v_ld,
                                (int)(n - j < NAME(down) ? n - j : NAME(down)),
                                c + (j * c_ld + l) * PARTS, c_ld, w + i + j * w_ld, w_ld,
                                rows * PARTS >= NAME(lanes));
    }
}

/* Computes a tile of hs__qr_update: `high` vectors of rows, or the `some` > 0 last reals. For
 * complex elements, the products with the real and with the imaginary parts of w are summed
 * separately. */
INLINE void NAME(update_tile)(const int high, int64_t some, int enough, int64_t depth,
                              const REAL *v, int64_t v_ld, const REAL *packed, int n, REAL *c,
                              int64_t c_ld)
{
    NAME(vector) sum[NAME(wide)][PARTS][NAME(high)] = {{{{0}}}};
    for (int64_t k = 0; k < depth; k++) {
        NAME(vector) x[NAME(high)];
        for (int i = 0; i < high; i++)
            x[i] = some ? NAME(load_end)(v, some, enough) : NAME(load)(v + i * NAME(lanes));
        for (int j = 0; j < NAME(wide); j++)
            for (int part = 0; part < PARTS; part++)
                for (int i = 0; i < high; i++) sum[j][part][i] += x[i] * packed[j * PARTS + part];
        v += v_ld * PARTS;
        packed += NAME(wide) * PARTS;
    }
    const NAME(vector) sign = NAME(signs)();
    for (int j = 0; j < NAME(wide); j++) {
        if (j >= n) break;
        REAL *to = c + j * c_ld * PARTS;
        for (int i = 0; i < high; i++) {
            NAME(vector) x = sum[j][0][i];
            if (PARTS == 2) x += sign * NAME(exchange)(sum[j][PARTS - 1][i], 1);
            if (some) NAME(store_end)(to, x + NAME(load_end)(to, some, enough), some, enough);
            else *(NAME(vector) *)(to + i * NAME(lanes)) += x;
        }
    }
}

/* Updates one tile of rows in all columns: it stays in the L1 cache. */
INLINE void NAME(update_rows)(const int high, int64_t some, int enough, int64_t depth,
                              const REAL *v, int64_t v_ld, const REAL *packed, int64_t n, REAL *c,
                              int64_t c_ld)
{
    for (int64_t j = 0; j < n; j += NAME(wide))
        NAME(update_tile)(high, some, enough, depth, v, v_ld, packed + j * depth * PARTS,
                          (int)(n - j < NAME(wide) ? n - j : NAME(wide)), c + j * c_ld * PARTS,
                          c_ld);
}

/* hs__qr_update. */
TARGET static void NAME(update)(int64_t rows, int64_t depth, const void *v_, int64_t v_ld,
                                int64_t n, const void *w_, int64_t w_ld, void *c_, int64_t c_ld,
                                int sign, void *packed_)
{
    enum { TILE = NAME(high) * NAME(lanes) };
    const REAL *w = w_;
    for (int64_t k = 0; k < depth; k += HS__QR_DEPTH) {
        const int64_t now = depth - k < HS__QR_DEPTH ? depth - k : HS__QR_DEPTH;
        const int64_t reals = rows * PARTS;
        const REAL *v = (const REAL *)v_ + k * v_ld * PARTS;
        REAL *packed = packed_;
        REAL *c = c_;
        for (int64_t j = 0; j < n; j += NAME(wide))
            for (int64_t l = 0; l < now; l++)
                for (int64_t i = 0; i < NAME(wide) * PARTS; i++)
                    *packed++ =
                        j + i / PARTS < n
                            ? (REAL)sign * w[(k + l + (j + i / PARTS) * w_ld) * PARTS + i % PARTS]
                            : 0;
        packed = packed_;
        int64_t i = 0;
        for (; i + TILE <= reals; i += TILE)
            NAME(update_rows)(NAME(high), 0, 1, now, v + i, v_ld, packed, n, c + i, c_ld);
        for (; i + NAME(lanes) <= reals; i += NAME(lanes))
            NAME(update_rows)(1, 0, 1, now, v + i, v_ld, packed, n, c + i, c_ld);
        if (i < reals)
            NAME(update_rows)(1, reals - i, reals >= NAME(lanes), now, v + i, v_ld, packed, n,
                              c + i, c_ld);
    }
}

#undef DOTS_STEP
