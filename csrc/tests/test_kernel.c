/* Our micro-kernels of every instruction set of this processor (the engine shows only the best),
 * against a triple loop: all sizes of an edge, all ways to treat C, the memory around C untouched.
 * The numbers are small integers: results must be equal. */
#include "kernel/kernel_c.c"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "matrices.h"
#include "scarce.h"

enum { DEPTH = 9, ROOM = 48 * 8 * 6, GUARD = 64 };

/* Fills a packed panel: `depth` steps of `tile` elements, zero beyond `have`. */
static void fill_panel(void *x, int type, int depth, int tile, int have)
{
    for (int l = 0; l < depth; l++)
        for (int i = 0; i < tile; i++)
            set(x, type, l * tile + i, i < have ? small_integer(type) : 0.0);
}

typedef struct {
    const hs__blocking *kernel;
    int type;
    void *a, *b, *c, *before;
} bench;

/* Calls the kernel once: C is m x n with the given strides, behind the guard. With beta 0, C must
 * not be read and is NaN. */
static int one_call(const bench *x, int m, int n, int depth, double alpha, double beta,
                    int64_t row_stride, int64_t col_stride)
{
    const int type = x->type;
    const int mu = x->kernel->tile_rows;
    const int nu = x->kernel->tile_cols;
    const size_t bytes = (size_t)(ROOM + 2 * GUARD) * size_of[type];
    fill_panel(x->a, type, depth, mu, m);
    fill_panel(x->b, type, depth, nu, n);
    for (int i = 0; i < ROOM + 2 * GUARD; i++) set(x->before, type, i, small_integer(type));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n && beta == 0; j++)
            set(x->before, type, GUARD + i * row_stride + j * col_stride, NAN);
    memcpy(x->c, x->before, bytes);

    const float alpha_f = (float)alpha;
    const float beta_f = (float)beta;
    void *c = (char *)x->c + (size_t)GUARD * size_of[type];
    x->kernel->run(m, n, depth, type ? (const void *)&alpha : (const void *)&alpha_f, x->a, x->b,
                   type ? (const void *)&beta : (const void *)&beta_f, c, row_stride, col_stride,
                   x->a, x->b);

    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const int64_t at = GUARD + i * row_stride + j * col_stride;
            double complex sum = beta == 0 ? 0.0 : beta * get(x->before, type, at);
            for (int l = 0; l < depth; l++)
                sum += alpha * get(x->a, type, l * mu + i) * get(x->b, type, l * nu + j);
            if (get(x->c, type, at) != sum) return 0;
            set(x->before, type, at, 0.0);
            set(x->c, type, at, 0.0);
        }
    return !memcmp(x->c, x->before, bytes); /* all other memory is unchanged */
}

static void test_kernel(const hs__blocking *kernel, int type)
{
    const int mu = kernel->tile_rows;
    const int nu = kernel->tile_cols;
    const int depths[] = {0, 1, DEPTH};
    const double alphas[] = {1.0, 1.0, -2.0};
    const double betas[] = {0.0, 1.0, -2.0};
    bench x = {.kernel = kernel,
               .type = type,
               .a = aligned_alloc(64, sizeof(double) * DEPTH * 64),
               .b = aligned_alloc(64, sizeof(double) * DEPTH * 64),
               .c = malloc(sizeof(double) * (ROOM + 2 * GUARD)),
               .before = malloc(sizeof(double) * (ROOM + 2 * GUARD))};
    if (CHECK(x.a && x.b && x.c && x.before))
        for (int m = 1; m <= mu; m++)
            for (int n = 1; n <= nu; n++)
                for (int d = 0; d < 3; d++)
                    for (int t = 0; t < 3; t++) {
                        CHECK(one_call(&x, m, n, depths[d], alphas[(t + d) % 3], betas[t], 1,
                                       mu + 3));
                        CHECK(one_call(&x, m, n, depths[d], alphas[(t + d) % 3], betas[t], nu + 1,
                                       1));
                        CHECK(one_call(&x, m, n, depths[d], alphas[(t + d) % 3], betas[t], 2,
                                       2 * mu + 1));
                    }
    free(x.a);
    free(x.b);
    free(x.c);
    free(x.before);
}

/* The depth of the stack where the other library is called. */
static const char *stack_top;
static ptrdiff_t stack_most;
static void look_at_stack(const char *here)
{
    if (stack_top - here > stack_most) stack_most = stack_top - here;
}

/* Defines a foreign gemm("N", "T", ...), by the loops of its definition, with integers of either
 * size. */
#define GEMM(NAME, REAL, INTEGER)                                                            \
    static void NAME(const char *ta, const char *tb, const INTEGER *m, const INTEGER *n,     \
                     const INTEGER *k, const REAL *alpha, const REAL *a, const INTEGER *lda, \
                     const REAL *b, const INTEGER *ldb, const REAL *beta, REAL *c,           \
                     const INTEGER *ldc)                                                     \
    {                                                                                        \
        look_at_stack((char *)__builtin_frame_address(0));                                   \
        CHECK(*ta == 'N' && *tb == 'T' && *lda >= *m && *ldb >= *n && *ldc >= *m);           \
        for (INTEGER j = 0; j < *n; j++)                                                     \
            for (INTEGER i = 0; i < *m; i++) {                                               \
                REAL sum = *beta == 0 ? 0 : *beta * c[i + j * *ldc];                         \
                for (INTEGER l = 0; l < *k; l++)                                             \
                    sum += *alpha * a[i + l * *lda] * b[j + l * *ldb];                       \
                c[i + j * *ldc] = sum;                                                       \
            }                                                                                \
    }
GEMM(sgemm_32, float, int32_t)
GEMM(dgemm_32, double, int32_t)
GEMM(sgemm_64, float, int64_t)
GEMM(dgemm_64, double, int64_t)

/* The gemm of another library as a micro-kernel: with C in the layout that it needs, and with C
 * that has to pass through a strip on the stack, in some or many parts. */
static void foreign(void)
{
    /* including what a sanitizer adds; a thread may have 128 KiB */
    enum { TILE = 384, M = 45, N = 5, ENOUGH = 20 << 10 };
    stack_top = __builtin_frame_address(0);
    void *const gemms[][2] = {{(void *)sgemm_32, (void *)dgemm_32},
                              {(void *)sgemm_64, (void *)dgemm_64}};
    for (int wide = 0; wide < 2; wide++)
        for (int type = 0; type < 2; type++) {
            hs__kernel kernel;
            if (!CHECK(hs__kernel_fortran(&kernel,
                                          &(hs__fortran){.gemm = {gemms[wide][0], gemms[wide][1]},
                                                         .integer_bytes = wide ? 8 : 4}) == HS_OK))
                continue;
            const hs__blocking *real = &kernel.real[type];
            if (!CHECK(real->tile_rows == TILE && real->tile_cols == TILE)) continue;
            bench x = {.kernel = real,
                       .type = type,
                       .a = aligned_alloc(64, sizeof(double) * DEPTH * TILE),
                       .b = aligned_alloc(64, sizeof(double) * DEPTH * TILE),
                       .c = malloc(sizeof(double) * (ROOM + 2 * GUARD)),
                       .before = malloc(sizeof(double) * (ROOM + 2 * GUARD))};
            const double betas[] = {0.0, 1.0, -2.0};
            for (int t = 0; t < 3 && CHECK(x.a && x.b && x.c && x.before); t++) {
                CHECK(one_call(&x, M, N, DEPTH, -2.0, betas[t], 1, M + 3));
                CHECK(one_call(&x, M, 1, DEPTH, 1.0, betas[t], 1, M - 1));
                CHECK(one_call(&x, N, M, DEPTH, 1.0, betas[t], M + 2, 1));
                CHECK(one_call(&x, N, M, 1, -2.0, betas[t], 2, 2 * N + 1));
                CHECK(one_call(&x, 100, N, DEPTH, 1.0, betas[t], 2, 201));
            }
            free(x.a);
            free(x.b);
            free(x.c);
            free(x.before);
        }
    CHECK(stack_most > 0 && stack_most < ENOUGH);
}

/* A function that cannot report a lack of memory does not allocate. */
static void scarce(void)
{
    hs_kernel_info info;
    scarce_left = 0;
    CHECK(hs_kernel_init() == HS_OK && hs_kernel_select("c") == HS_OK &&
          hs_kernel_describe(&info) == HS_OK);
    CHECK(scarce_left == 0);
    scarce_left = -1;
}

int main(void)
{
    scarce();
    foreign();
    const struct instruction_set *end = sets + sizeof sets / sizeof *sets;
    for (const struct instruction_set *s = best_set(); s < end; s++)
        for (int type = 0; type < 2; type++) test_kernel(&s->real[type], type);
    return check_result();
}
