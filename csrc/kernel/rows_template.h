/* The hs__rows_product of one instruction set and type; see each_type.h for the parameters.
 * INLINE makes a function a part of each caller. */

#include "kernel/vector_type.h"

/* the tile of a real type */
#define ROWS 6
#if HS__REGISTERS(BYTES) == 32
#define VECTORS 4
#else
#define VECTORS 2
#endif

/* high: rows of a tile. deep: rows of x that are multiplied before c is updated. The part of these
 * rows that is as wide as a tile stays in the L1 cache. */
enum { NAME(high) = ROWS / PARTS, NAME(deep) = 128 };

/* Computes a tile. With complex elements the products with real and with imaginary parts have sums
 * of their own. */
INLINE void NAME(tile)(const int rows, const int vectors, int64_t depth, const REAL *a,
                       const hs__factors *steps, const REAL *x, int64_t x_step, REAL *c,
                       int64_t c_step, hs__rows_how how)
{
    NAME(vector) sum[NAME(high)][VECTORS][PARTS];
    const int64_t row_step = steps->row_step * PARTS, depth_step = steps->depth_step * PARTS;
    UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int v = 0; v < vectors; v++)
        UNROLLED for (int p = 0; p < PARTS; p++) sum[r][v][p] = (NAME(vector)){0};
    const int64_t last = (2 * NAME(high) - 1) * row_step;
    const int64_t first = row_step * (int)sizeof(REAL) < 64 ? last : NAME(high) * row_step;
    int64_t ahead = first;
    for (int64_t l = 0; l < depth; l++, a += depth_step, x += x_step) {
        NAME(vector) own[VECTORS];
        __builtin_prefetch(a + ahead);
        ahead = ahead == last ? first : ahead + row_step;
        UNROLLED for (int v = 0; v < vectors; v++) own[v] = NAME(load)(x + v * NAME(lanes));
        UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int p = 0; p < PARTS; p++)
        {
            const NAME(vector) factor = a[r * row_step + p] - (NAME(vector)){0};
            UNROLLED for (int v = 0; v < vectors; v++) sum[r][v][p] += own[v] * factor;
        }
    }
    UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int v = 0; v < vectors; v++)
    {
        NAME(vector) own = sum[r][v][0];
        if (PARTS == 2 && steps->conjugate) own -= NAME(times_i)(sum[r][v][PARTS - 1]);
        else if (PARTS == 2) own += NAME(times_i)(sum[r][v][PARTS - 1]);
        REAL *const to = c + r * c_step + v * NAME(lanes);
        if (how == HS__ROWS_ADD) own = NAME(load)(to) + own;
        else if (how == HS__ROWS_SUBTRACT) own = NAME(load)(to) - own;
        NAME(store)(to, own);
    }
}

/* Computes all rows of c within some vectors. */
INLINE void NAME(strip)(const int vectors, int64_t rows, int64_t depth, const REAL *a,
                        const hs__factors *steps, const REAL *x, int64_t x_step, REAL *c,
                        int64_t c_step, hs__rows_how how)
{
    const int64_t row_step = steps->row_step * PARTS;
    int64_t i = 0;
    for (; i + NAME(high) <= rows; i += NAME(high))
        NAME(tile)(NAME(high), vectors, depth, a + i * row_step, steps, x, x_step, c + i * c_step,
                   c_step, how);
    for (; i + NAME(high) / 2 <= rows; i += NAME(high) / 2)
        NAME(tile)(NAME(high) / 2, vectors, depth, a + i * row_step, steps, x, x_step,
                   c + i * c_step, c_step, how);
    for (; i < rows; i++)
        NAME(tile)(1, vectors, depth, a + i * row_step, steps, x, x_step, c + i * c_step, c_step,
                   how);
}

/* Computes the last reals of some rows, less than a vector, through a buffer. */
INLINE void NAME(rest_of)(const int rows, int64_t depth, unsigned reals, const REAL *a,
                          const hs__factors *steps, const REAL *x, int64_t x_step, REAL *c,
                          int64_t c_step, hs__rows_how how)
{
    REAL buffer[NAME(high) * NAME(lanes)] = {0};
    const size_t bytes = reals % NAME(lanes) * sizeof *buffer;
    for (int i = 0; i < rows; i++) memcpy(buffer + i * NAME(lanes), c + i * c_step, bytes);
    NAME(tile)(rows, 1, depth, a, steps, x, x_step, buffer, NAME(lanes), how);
    for (int i = 0; i < rows; i++) memcpy(c + i * c_step, buffer + i * NAME(lanes), bytes);
}

TARGET static void NAME(rest)(int64_t rows, int64_t depth, unsigned reals, const REAL *a,
                              const hs__factors *steps, const REAL *x, int64_t x_step, REAL *c,
                              int64_t c_step, hs__rows_how how)
{
    const int64_t row_step = steps->row_step * PARTS;
    int64_t i = 0;
    for (; i + NAME(high) <= rows; i += NAME(high))
        NAME(rest_of)(NAME(high), depth, reals, a + i * row_step, steps, x, x_step, c + i * c_step,
                      c_step, how);
    for (; i < rows; i++)
        NAME(rest_of)(1, depth, reals, a + i * row_step, steps, x, x_step, c + i * c_step, c_step,
                      how);
}

/* hs__rows_product. */
TARGET static void NAME(product)(int64_t rows, int64_t depth, int64_t length,
                                 const hs__factors *factors, const void *x_, int64_t x_step,
                                 void *c_, int64_t c_step, hs__rows_how how)
{
    enum { WIDE = VECTORS * NAME(lanes) };
    x_step *= PARTS;
    c_step *= PARTS;
    int64_t l = 0;
    do {
        const int64_t now = depth - l < NAME(deep) ? depth - l : NAME(deep);
        const REAL *a = (const REAL *)factors->data + l * factors->depth_step * PARTS;
        const REAL *x = (const REAL *)x_ + l * x_step;
        REAL *c = c_;
        int64_t left = length * PARTS;
        for (; left >= WIDE; left -= WIDE, x += WIDE, c += WIDE)
            NAME(strip)(VECTORS, rows, now, a, factors, x, x_step, c, c_step, how);
        const int64_t vectors = left / NAME(lanes);
        if (vectors == 1) NAME(strip)(1, rows, now, a, factors, x, x_step, c, c_step, how);
#if VECTORS > 2
        if (vectors == 2) NAME(strip)(2, rows, now, a, factors, x, x_step, c, c_step, how);
        if (vectors == 3) NAME(strip)(3, rows, now, a, factors, x, x_step, c, c_step, how);
#endif
        const int64_t done = vectors * NAME(lanes);
        if (left > done)
            NAME(rest)(rows, now, (unsigned)(left - done), a, factors, x + done, x_step, c + done,
                       c_step, how);
        l += now;
        if (how == HS__ROWS_SET) how = HS__ROWS_ADD;
    } while (l < depth);
}
