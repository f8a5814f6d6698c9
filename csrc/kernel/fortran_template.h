/* The hs__micro_kernel by a foreign gemm, for one real type; see each_real.h for the parameters. */

/* gemm needs a unit row stride, and a column stride that fits its integers and is at least m. Other
 * matrices go through a tile on the stack. */
static void NAME(multiply)(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                           const void *b, const void *beta_, void *c_, int64_t row_stride,
                           int64_t col_stride, const void *a_next, const void *b_next)
{
    (void)a_next;
    (void)b_next;
    if (row_stride == 1 && col_stride >= m && col_stride <= INT32_MAX) {
        call_gemm(sizeof(REAL) == 8, m, n, k, alpha, a, b, beta_, c_, col_stride);
        return;
    }
    /* size of a tile: 12 KiB */
    enum { ROWS = 96, COLS = 16 };
    REAL tile[ROWS * COLS];
    REAL zero = 0;
    REAL beta = *(const REAL *)beta_;
    const int64_t down = (m + ROWS - 1) / ROWS;
    const int64_t along = (n + COLS - 1) / COLS;
    for (int64_t part = 0; part < down * along; part++) {
        const int64_t i0 = part % down * ROWS;
        const int64_t j0 = part / down * COLS;
        const int64_t height = m - i0 < ROWS ? m - i0 : ROWS;
        const int64_t width = n - j0 < COLS ? n - j0 : COLS;
        call_gemm(sizeof(REAL) == 8, height, width, k, alpha, (const REAL *)a + i0,
                  (const REAL *)b + j0, &zero, tile, ROWS);
        for (int64_t j = 0; j < width; j++)
            for (int64_t i = 0; i < height; i++) {
                REAL *to = (REAL *)c_ + (i0 + i) * row_stride + (j0 + j) * col_stride;
                *to = beta == 0 ? tile[j * ROWS + i] : tile[j * ROWS + i] + beta * *to;
            }
    }
}
