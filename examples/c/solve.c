/* A x = b on all workers of a pool: P A = L U by columns, then two triangular solves. */
#include <hetsched.h>
#include <stdio.h>

enum { N = 500, WORKERS = 2 };

static double a[N * N], x[N];
static int32_t pivots[N];

int main(void)
{
    hs_pool *pool = NULL;
    hs_factor lu;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            a[i + j * N] = i == j ? 2.0 : 1.0 / (1.0 + i + j); /* column by column */
            x[i] += a[i + j * N];                              /* the right-hand side: every unknown is 1 */
        }
    hs_factor_default(&lu, HS_LU, HS_FLOAT64, N, N, a), lu.pivots = pivots; /* in place */
    lu.cooperative = 1;                              /* who is early helps the others */

    hs_status status = hs_pool_create(WORKERS, NULL, &pool);
    if (!status) status = hs_run_factor(pool, &lu, NULL, NULL);
    if (!status && lu.failed < 0) status = hs_lu_solve(pool, &lu, 0, 1, x, 1, N, NULL, NULL);
    hs_pool_destroy(pool);
    if (status || lu.failed >= 0) {
        fprintf(stderr, "solve: %s\n", status ? hs_status_string(status) : "the matrix is singular");
        return 1;
    }
    double error = 0.0;
    for (int i = 0; i < N; i++) {
        const double off = x[i] < 1.0 ? 1.0 - x[i] : x[i] - 1.0;
        if (!(off <= error)) error = off;
    }
    printf("%d unknowns, the largest error is %.1e\n", N, error);
    return 0;
}
