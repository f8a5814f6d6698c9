/* Products of one worker: against sums of products, in scratch memory of exactly the size that is
 * asked for. */
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "matrices.h"
#include "spectral/multiply.h"

static hs__matrix matrix_of(const matrix *x, int dtype, int64_t rows, int64_t cols)
{
    return (hs__matrix){x->origin,    (ptrdiff_t)size_of[dtype], rows, cols, x->row_stride,
                        x->col_stride};
}

/* Multiplies two parts of the rows by B that is packed once, in memory of exactly its size, which
 * is enough for a smaller B, too. */
static void multiply_parts(const hs__multiplier *by, double alpha, hs__matrix a, hs__matrix b,
                           int conjugate, double beta, hs__matrix c)
{
    const int64_t first = c.rows / 3, rest = c.rows - first;
    const size_t bytes = hs__common_bytes(by->kernel, by->dtype, b.rows, b.cols);
    hs__common common = {.b = b, .conjugate = conjugate};
    CHECK(bytes >= hs__common_bytes(by->kernel, by->dtype, b.rows - 1, b.cols));
    CHECK(bytes >= hs__common_bytes(by->kernel, by->dtype, b.rows, b.cols - 1));
    if (posix_memalign((void **)&common.packed, 64, bytes)) abort();
    hs__pack_common(by, &common);
    hs__multiply_common(by, alpha, hs__part(&a, 0, 0, first, a.cols), &common, beta,
                        hs__part(&c, 0, 0, first, c.cols));
    hs__multiply_common(by, alpha, hs__part(&a, first, 0, rest, a.cols), &common, beta,
                        hs__part(&c, first, 0, rest, c.cols));
    free(common.packed);
}

/* C <- alpha A B + beta C for matrices of small integers, in which every sum is exact. */
static void check_product(int dtype, int64_t m, int64_t n, int64_t k, int conjugate, int common)
{
    static const int never = 0;
    matrix a = make_matrix(dtype, m, k, (int)check_random(4));
    matrix b = make_matrix(dtype, k, n, (int)check_random(4));
    matrix c = make_matrix(dtype, m, n, (int)check_random(4));
    double complex *x = dense_copy(a.origin, dtype, m, k, a.row_stride, a.col_stride);
    double complex *y = dense_copy(b.origin, dtype, k, n, b.row_stride, b.col_stride);
    double complex *z = dense_copy(c.origin, dtype, m, n, c.row_stride, c.col_stride);
    const double alpha = (double)check_random(3) - 1, beta = check_random(2);
    const int64_t longest = hs__max(m, n);
    const size_t bytes = hs__multiply_bytes(hs__kernel_current(), dtype, longest, k);
    char *scratch = NULL;
    if (posix_memalign((void **)&scratch, 64, bytes)) abort();
    const hs__multiplier by = {hs__kernel_current(), dtype, scratch, &never};
    CHECK(bytes % 64 == 0);
    const hs__matrix a_part = matrix_of(&a, dtype, m, k), b_part = matrix_of(&b, dtype, k, n);
    if (common)
        multiply_parts(&by, alpha, a_part, b_part, conjugate, beta, matrix_of(&c, dtype, m, n));
    else hs__multiply(&by, alpha, a_part, b_part, conjugate, beta, matrix_of(&c, dtype, m, n));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += x[i * k + l] * (conjugate ? conj(y[l * n + j]) : y[l * n + j]);
            CHECK(get(c.origin, dtype, i * c.row_stride + j * c.col_stride) ==
                  alpha * sum + beta * z[i * n + j]);
        }
    free(scratch);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    free(x);
    free(y);
    free(z);
}

int main(void)
{
    for (int dtype = 0; dtype < 4; dtype++) {
        for (int i = 0; i < CHECK_MANY(400, 60); i++)
            check_product(dtype, 1 + check_random(90), 1 + check_random(90), 1 + check_random(90),
                          i % 2, i / 2 % 2);
        for (int common = 0; common < 2; common++) {
            check_product(dtype, 500, 3, 2, 0, common);
            check_product(dtype, 3, 1200, 2, 0, common);
            check_product(dtype, 4, 3000, 2, 0, common);
            check_product(dtype, 3, 2, 1500, 1, common);
            check_product(dtype, 1, 1, 1, 1, common);
        }
    }
    return check_result();
}
