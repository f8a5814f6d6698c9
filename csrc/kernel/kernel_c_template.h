/* A micro-kernel in C for one instruction set and type, with a register tile of MR x NR
 * (kernel/blocks.h): MR is a multiple of the vectors of BYTES bytes. With BY_ELEMENT a step of B is
 * in registers, too, and NR is a multiple of the vector, for instruction sets with multiply-adds by
 * an element of a register. See each_real.h for the other parameters. */

typedef REAL NAME(vector) __attribute__((vector_size(BYTES)));
typedef REAL NAME(unaligned) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
enum { NAME(lanes) = BYTES / sizeof(REAL), NAME(vectors) = MR / NAME(lanes), NAME(cols) = NR };

/* Computes C (m x n) <- alpha A B + beta C for m within the first `vectors` vectors. `vectors` is a
 * constant wherever this is inlined: the last micro-panel of A computes only the vectors that hold
 * rows. A vector load and a broadcast directly from memory leave the arithmetic ports to the
 * multiply-adds. */
TARGET static inline __attribute__((always_inline)) void
NAME(multiply_vectors)(const int vectors, int64_t m, int64_t n, int64_t k,
                       const NAME(vector) *restrict a, const REAL *restrict b, const REAL *b_next,
                       const REAL alpha, const REAL beta, REAL *c, int64_t row_stride,
                       int64_t col_stride)
{
    NAME(vector) sum[NAME(cols)][NAME(vectors)];
    UNROLLED for (int j = 0; j < NAME(cols); j++) UNROLLED for (int v = 0; v < vectors; v++)
        sum[j][v] = (NAME(vector)){0};
    /* prefetches all cache lines of C, also if it does not begin on one */
    for (int j = 0; j < n; j++) {
        for (int v = 0; v < vectors; v++)
            __builtin_prefetch(c + j * col_stride + v * NAME(lanes), 1);
        __builtin_prefetch(c + j * col_stride + vectors * NAME(lanes) - 1, 1);
    }
    for (int64_t l = 0; l < k; l++, a += NAME(vectors), b += NAME(cols)) {
        for (int byte = 0; byte < vectors * BYTES; byte += 64)
            __builtin_prefetch((const char *)(a + 16 * NAME(vectors)) + byte);
        __builtin_prefetch(b_next + l * NAME(cols));
        NAME(vector) x[NAME(vectors)];
        UNROLLED for (int v = 0; v < vectors; v++) x[v] = a[v];
#if BY_ELEMENT
        NAME(vector) step[NAME(cols) / NAME(lanes)];
        UNROLLED for (int u = 0; u < NAME(cols) / NAME(lanes); u++) step[u] =
            ((const NAME(vector) *)b)[u];
#define ELEMENT_OF_B(j) step[(j) / NAME(lanes)][(j) % NAME(lanes)]
#else
#define ELEMENT_OF_B(j) b[j]
#endif
        UNROLLED for (int j = 0; j < NAME(cols); j++)
        {
            /* a broadcast of the element, without an actual subtraction */
            const NAME(vector) y = ELEMENT_OF_B(j) - (NAME(vector)){0};
            UNROLLED for (int v = 0; v < vectors; v++) sum[j][v] += x[v] * y;
        }
#undef ELEMENT_OF_B
    }
    if (alpha != 1)
        UNROLLED for (int j = 0; j < NAME(cols); j++) UNROLLED for (int v = 0; v < vectors; v++)
            sum[j][v] *= alpha;
    if (m == vectors * NAME(lanes) && n == NAME(cols) && row_stride == 1) {
        UNROLLED for (int j = 0; j < NAME(cols); j++) UNROLLED for (int v = 0; v < vectors; v++)
        {
            NAME(unaligned) *to = (NAME(unaligned) *)(c + j * col_stride) + v;
            if (beta == 0) *to = sum[j][v];
            else if (beta == 1) *to += sum[j][v];
            else *to = sum[j][v] + beta * *to;
        }
        return;
    }
    /* a copy: an address of the sums would bring them back to the stack */
    REAL edge[NAME(cols)][NAME(vectors) * NAME(lanes)];
    UNROLLED for (int j = 0; j < NAME(cols); j++) UNROLLED for (int v = 0; v < vectors; v++) *
        (NAME(unaligned) *)(edge[j] + v * NAME(lanes)) = sum[j][v];
    for (int j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            REAL *to = c + i * row_stride + j * col_stride;
            *to = beta == 0 ? edge[j][i] : edge[j][i] + beta * *to;
        }
}

/* The hs__micro_kernel (kernel.h). */
TARGET static void NAME(multiply)(int64_t m, int64_t n, int64_t k, const void *alpha_,
                                  const void *a, const void *b, const void *beta_, void *c,
                                  int64_t row_stride, int64_t col_stride, const void *a_next,
                                  const void *b_next)
{
    const REAL alpha = *(const REAL *)alpha_;
    const REAL beta = *(const REAL *)beta_;
    (void)a_next;
    if (NAME(vectors) > 2 && m <= NAME(lanes))
        NAME(multiply_vectors)(1, m, n, k, a, b, b_next, alpha, beta, c, row_stride, col_stride);
    else if (NAME(vectors) > 1 && m <= (NAME(vectors) - 1) * NAME(lanes))
        NAME(multiply_vectors)(NAME(vectors) - 1, m, n, k, a, b, b_next, alpha, beta, c, row_stride,
                               col_stride);
    else
        NAME(multiply_vectors)(NAME(vectors), m, n, k, a, b, b_next, alpha, beta, c, row_stride,
                               col_stride);
}
