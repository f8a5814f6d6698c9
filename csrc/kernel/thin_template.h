/* The functions of thin.h, included by each_type.h. */
#include "kernel/vector_type.h"

/* Vectors of sums in registers at a time. */
enum { NAME(most) = HS__REGISTERS(BYTES) / 2 };

/* ---- by rows --------------------------------------------------------------------------------- */

TARGET static inline __attribute__((always_inline)) void
NAME(compute_dots)(const int rows, const int cols, int64_t n, int64_t reals, const REAL *a,
                   int64_t a_row, const REAL *b, int64_t b_step, REAL *c)
{
    NAME(vector) sum[PARTS][NAME(most)][4];
    UNROLLED for (int part = 0; part < PARTS; part++) UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int j = 0; j < cols; j++) sum[part][r][j] = (NAME(vector)){0};
    int64_t l = 0;
    for (; l + NAME(lanes) <= reals; l += NAME(lanes)) {
        NAME(vector) x[NAME(most)];
        UNROLLED for (int r = 0; r < rows; r++) x[r] = NAME(load)(a + r * a_row + l);
        UNROLLED for (int j = 0; j < cols; j++) UNROLLED for (int part = 0; part < PARTS; part++)
        {
            const NAME(vector) y = NAME(load)(b + j * b_step + part * reals + l);
            UNROLLED for (int r = 0; r < rows; r++) sum[part][r][j] += x[r] * y;
        }
    }
    UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int j = 0; j < cols; j++)
    {
        NAME(vector) all = sum[0][r][j];
#if PARTS == 2
        all += NAME(times_i)(sum[1][r][j]);
#endif
        REAL lane[NAME(lanes)], total[PARTS] = {0};
        NAME(store)(lane, all);
        for (int at = 0; at < NAME(lanes); at++) total[at % PARTS] += lane[at];
        const REAL *row = a + r * a_row;
        const REAL *col = b + j * b_step;
        for (int64_t i = l; i < reals; i += PARTS) {
#if PARTS == 2
            const REAL re = col[i];
            const REAL im = col[reals + i];
            total[0] += row[i] * re - row[i + 1] * im, total[1] += row[i + 1] * re + row[i] * im;
#else
            total[0] += row[i] * col[i];
#endif
        }
        for (int part = 0; part < PARTS; part++) c[(r * n + j) * PARTS + part] = total[part];
    }
}

/* Computes all rows for so many columns of B, with `rows` rows of A at a time. */
TARGET static inline __attribute__((always_inline)) void
NAME(multiply_columns)(const int rows, const int cols, int64_t m, int64_t n, int64_t reals,
                       const REAL *a, int64_t a_row, const REAL *b, int64_t b_step, REAL *c)
{
    int64_t i = 0;
    for (; i + rows <= m; i += rows)
        NAME(compute_dots)(rows, cols, n, reals, a + i * a_row, a_row, b, b_step,
                           c + i * n * PARTS);
    for (; i < m; i++)
        NAME(compute_dots)(1, cols, n, reals, a + i * a_row, a_row, b, b_step, c + i * n * PARTS);
}

/* hs__thin_rows: blocks of rows stay in the L2 cache while all columns of B pass. */
TARGET static void NAME(rows)(int64_t m, int64_t n, int64_t k, const void *a_, int64_t a_row,
                              const void *b_, int64_t b_step, void *c_)
{
    enum {
        BLOCK = 16,
        FOUR = NAME(most) / 4 / PARTS ? NAME(most) / 4 / PARTS : 1,
        TWO = NAME(most) / 2 / PARTS,
        ONE = 8 / PARTS
    };
    const REAL *b = b_;
    a_row *= PARTS;
    k *= PARTS;
    for (int64_t i = 0; i < m; i += BLOCK) {
        const int64_t h = m - i < BLOCK ? m - i : BLOCK;
        const REAL *a = (const REAL *)a_ + i * a_row;
        REAL *c = (REAL *)c_ + i * n * PARTS;
        int64_t j = 0;
        for (; j + 4 <= n; j += 4)
            NAME(multiply_columns)(FOUR, 4, h, n, k, a, a_row, b + j * b_step, b_step,
                                   c + j * PARTS);
        for (; j + 2 <= n; j += 2)
            NAME(multiply_columns)(TWO, 2, h, n, k, a, a_row, b + j * b_step, b_step,
                                   c + j * PARTS);
        if (j < n)
            NAME(multiply_columns)(ONE, 1, h, n, k, a, a_row, b + j * b_step, b_step,
                                   c + j * PARTS);
    }
}

/* ---- by columns ------------------------------------------------------------------------------ */

/* Adds the products of `cols` columns of A. */
TARGET static inline __attribute__((always_inline)) void
NAME(add_columns)(const int cols, int64_t reals, int64_t n, const REAL *a, int64_t a_col,
                  const REAL *b, REAL *c)
{
    int64_t i = 0;
    for (; i + NAME(lanes) <= reals; i += NAME(lanes)) {
        NAME(vector) x[PARTS][8];
        UNROLLED for (int l = 0; l < cols; l++)
        {
            x[0][l] = NAME(load)(a + l * a_col + i);
#if PARTS == 2
            x[1][l] = NAME(times_i)(x[0][l]);
#endif
        }
        for (int64_t j = 0; j < n; j++) {
            NAME(vector) sum = NAME(load)(c + j * reals + i);
            UNROLLED for (int l = 0; l < cols; l++)
                UNROLLED for (int part = 0; part < PARTS; part++) sum +=
                x[part][l] * b[(l * n + j) * PARTS + part];
            NAME(store)(c + j * reals + i, sum);
        }
    }
    for (; i < reals; i += PARTS)
        for (int64_t j = 0; j < n; j++)
            for (int l = 0; l < cols; l++) {
                const REAL *x = a + l * a_col + i;
                const REAL *y = b + (l * n + j) * PARTS;
                REAL *to = c + j * reals + i;
#if PARTS == 2
                to[0] += x[0] * y[0] - x[1] * y[1];
                to[1] += x[1] * y[0] + x[0] * y[1];
#else
                to[0] += x[0] * y[0];
#endif
            }
}

/* hs__thin_columns. */
TARGET static void NAME(columns)(int64_t m, int64_t n, int64_t k, const void *a_, int64_t a_col,
                                 const void *b_, void *c)
{
    const REAL *a = a_;
    const REAL *b = b_;
    int64_t l = 0;
    a_col *= PARTS;
    m *= PARTS;
    for (; n == 1 && l + 8 <= k; l += 8)
        NAME(add_columns)(8, m, 1, a + l * a_col, a_col, b + l * PARTS, c);
    for (; l + 4 <= k; l += 4)
        NAME(add_columns)(4, m, n, a + l * a_col, a_col, b + l * n * PARTS, c);
    for (; l < k; l++) NAME(add_columns)(1, m, n, a + l * a_col, a_col, b + l * n * PARTS, c);
}
