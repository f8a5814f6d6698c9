/* X = hs_mldivide(A, B, workers): A \ B, of a square A by LU or substitution, of one with more rows by QR. */
#include "gateway.h"

/* What solves with a square matrix: its LU factors, or a triangle of t, which is n x n. */
typedef struct {
    hs_pool *pool;
    hs_dtype dtype;
    int64_t n;
    const hs_factor *lu; /* or NULL */
    const void *t;
    int upper;
} solver;

/* x <- A^-1 x, or (A^T)^-1 x, for cols columns. */
static void solve(const solver *s, int transposed, int64_t cols, void *x)
{
    if (s->lu) {
        gateway_check(hs_lu_solve(s->pool, s->lu, transposed, cols, x, 1, s->n, NULL, NULL));
        return;
    }
    const hs_triangular system = {.dtype = s->dtype, .n = s->n, .cols = cols, .upper = s->upper != transposed, .t = s->t,
                                  .t_row_stride = transposed ? s->n : 1, .t_col_stride = transposed ? 1 : s->n,
                                  .b = x, .b_row_stride = 1, .b_col_stride = s->n};
    gateway_check(hs_solve_triangular(s->pool, &system, NULL, NULL));
}

/* ---- condition --------------------------------------------------------------------------------------------------------- */

/* The 1-norm of an n x n matrix, or of its upper triangle. */
static double norm_1(hs_dtype dtype, int64_t n, const void *a, int upper)
{
    double norm = 0.0;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0.0;
        for (int64_t i = 0; i < (upper ? j + 1 : n); i++) sum += cabs(gateway_get(dtype, a, i + j * n));
        if (isnan(sum)) return sum;
        if (sum > norm) norm = sum;
    }
    return norm;
}

/* x <- (A^H)^-1 x. */
static void solve_adjoint(const solver *s, void *x)
{
    for (int pass = 0; pass < 2; pass++) {
        if (pass) solve(s, 1, 1, x);
        for (int64_t i = 0; i < s->n; i++) gateway_put(s->dtype, x, i, conj(gateway_get(s->dtype, x, i)));
    }
}

/* The sum of the moduli of y, which becomes their directions. */
static double directions(hs_dtype dtype, int64_t n, void *y)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double complex value = gateway_get(dtype, y, i);
        const double modulus = cabs(value);
        sum += modulus;
        gateway_put(dtype, y, i, modulus > 0.0 ? value / modulus : 1.0);
    }
    return sum;
}

/* An estimate of the 1-norm of A^-1 from below, by some solutions with A and A^H. N. J. Higham, FORTRAN codes for estimating the
 * one-norm of a real or complex matrix (ACM Trans. Math. Softw. 14, 1988), which LAPACK has. */
static double inverse_norm_1(const solver *s)
{
    const int64_t n = s->n;
    void *x = mxMalloc((size_t)n * gateway_bytes(s->dtype));
    for (int64_t i = 0; i < n; i++) gateway_put(s->dtype, x, i, 1.0 / (double)n);
    solve(s, 0, 1, x);
    double norm = directions(s->dtype, n, x);
    int64_t last = -1;
    for (int iteration = 0; iteration < 5 && n > 1; iteration++) {
        solve_adjoint(s, x);
        int64_t largest = 0;
        for (int64_t i = 1; i < n; i++)
            if (cabs(gateway_get(s->dtype, x, i)) > cabs(gateway_get(s->dtype, x, largest))) largest = i;
        if (largest == last) break;
        last = largest;
        for (int64_t i = 0; i < n; i++) gateway_put(s->dtype, x, i, i == largest ? 1.0 : 0.0);
        solve(s, 0, 1, x);
        const double next = directions(s->dtype, n, x);
        if (next <= norm) break;
        norm = next;
    }
    /* Against cancellation in all of the above. */
    for (int64_t i = 0; i < n; i++) {
        const double size = 1.0 + (n > 1 ? (double)i / (double)(n - 1) : 0.0);
        gateway_put(s->dtype, x, i, i % 2 ? -size : size);
    }
    solve(s, 0, 1, x);
    const double other = 2.0 * directions(s->dtype, n, x) / (3.0 * (double)n);
    mxFree(x);
    return other <= norm ? norm : other;
}

/* Warns where a matrix of that norm has, as far as the estimate goes, no more digits to give than `limit`. */
static void warn_if_singular(const solver *s, double norm, double limit, const char *id, const char *what)
{
    const double rcond = 1.0 / (norm * inverse_norm_1(s));
    if (!(rcond >= limit)) mexWarnMsgIdAndTxt(id, "A is %s: rcond = %g", what, rcond);
}

static double epsilon(hs_dtype dtype) { return gateway_is_single(dtype) ? 0x1p-23 : 0x1p-52; }

/* ---- systems ----------------------------------------------------------------------------------------------------------- */

/* Whether all but the lower, or all but the upper, triangle is zero. */
static int is_triangle(hs_dtype dtype, int64_t n, const void *a, int upper)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = upper ? j + 1 : 0; i < (upper ? n : j); i++)
            if (gateway_get(dtype, a, i + j * n) != 0.0) return 0;
    return 1;
}

static void square(hs_pool *pool, hs_dtype dtype, int64_t n, const mxArray *given, int64_t cols, void *x)
{
    const void *a = gateway_data(given, dtype);
    solver s = {.pool = pool, .dtype = dtype, .n = n, .t = a};
    const int lower = is_triangle(dtype, n, a, 0);
    int64_t zero = -1; /* place of a zero on the diagonal */
    hs_factor lu;
    s.upper = !lower && is_triangle(dtype, n, a, 1);
    if (lower || s.upper) {
        for (int64_t i = 0; i < n && zero < 0; i++)
            if (gateway_get(dtype, a, i + i * n) == 0.0) zero = i;
    } else {
        hs_factor_default(&lu, HS_LU, dtype, n, n, mxMalloc((size_t)(n * n) * gateway_bytes(dtype)));
        lu.a = a, lu.a_row_stride = 1, lu.a_col_stride = n;
        lu.pivots = mxMalloc((size_t)n * sizeof *lu.pivots), lu.cooperative = 1;
        gateway_check(hs_run_factor(pool, &lu, NULL, NULL));
        zero = lu.failed;
        s.lu = &lu;
    }
    if (zero >= 0) mexWarnMsgIdAndTxt("hetsched:singular", "A is singular to working precision");
    else warn_if_singular(&s, norm_1(dtype, n, a, 0), epsilon(dtype), "hetsched:nearlySingular", "close to singular");
    solve(&s, 0, cols, x);
}

/* The first n rows of Q^H B go to x, and R, n x n, to r. */
static void project(hs_pool *pool, hs_dtype dtype, int64_t m, int64_t n, const mxArray *a, const mxArray *b, int64_t cols,
                    void *x, void *r)
{
    if (m >= 4 * n) { /* from there on the faster way */
        const hs_tall tall = {.dtype = dtype, .m = m, .n = n, .k = cols,
                              .a = gateway_data(a, dtype), .a_row_stride = 1, .a_col_stride = m,
                              .r = r, .r_row_stride = 1, .r_col_stride = n,
                              .b = gateway_data(b, dtype), .b_row_stride = 1, .b_col_stride = m,
                              .c = x, .c_row_stride = 1, .c_col_stride = n};
        gateway_check(hs_tall_qr(pool, &tall, NULL, NULL));
        return;
    }
    hs_factor qr;
    hs_factor_default(&qr, HS_QR, dtype, m, n, mxMalloc((size_t)(m * n) * gateway_bytes(dtype)));
    qr.a = gateway_data(a, dtype), qr.a_row_stride = 1, qr.a_col_stride = m;
    qr.tau = mxMalloc((size_t)n * gateway_bytes(dtype)), qr.cooperative = 1;
    gateway_check(hs_run_factor(pool, &qr, NULL, NULL));
    void *c = gateway_copy(b, dtype);
    gateway_check(hs_qr_multiply(pool, &qr, 1, 0, cols, c, 1, m, NULL, NULL));
    for (int64_t j = 0; j < cols; j++) gateway_move(dtype, x, j * n, c, j * m, n);
    for (int64_t j = 0; j < n; j++) gateway_move(dtype, r, j * n, qr.matrix, j * m, n);
}

static void least_squares(hs_pool *pool, hs_dtype dtype, int64_t m, int64_t n, const mxArray *a, const mxArray *b, int64_t cols,
                          void *x)
{
    void *r = mxMalloc((size_t)(n * n) * gateway_bytes(dtype));
    project(pool, dtype, m, n, a, b, cols, x, r);
    const solver s = {.pool = pool, .dtype = dtype, .n = n, .t = r, .upper = 1};
    warn_if_singular(&s, norm_1(dtype, n, r, 1), epsilon(dtype) * (double)m, "hetsched:rankDeficient", "rank deficient");
    solve(&s, 0, cols, x);
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    gateway_count(nrhs, 2, 3, nlhs, 1, "X = hs_mldivide(A, B, workers)");
    const hs_dtype dtype = gateway_common(gateway_type(prhs[0], "A"), gateway_type(prhs[1], "B"));
    const int32_t workers = nrhs > 2 ? (int32_t)gateway_integer(prhs[2], "workers", 1.0, GATEWAY_MOST_WORKERS) : 0;
    const int64_t m = (int64_t)mxGetM(prhs[0]), n = (int64_t)mxGetN(prhs[0]), cols = (int64_t)mxGetN(prhs[1]);
    if (m != (int64_t)mxGetM(prhs[1]))
        mexErrMsgIdAndTxt("hetsched:size", "A and B must have the same number of rows, got %lld and %lld", (long long)m,
                          (long long)mxGetM(prhs[1]));
    if (m && m < n)
        mexErrMsgIdAndTxt("hetsched:size", "A must have at least as many rows as columns, got %lld x %lld", (long long)m,
                          (long long)n);
    gateway_output x = gateway_create(dtype, n, cols);
    if (m && n && cols) {
        hs_pool *pool = gateway_pool(workers);
        if (m == n) {
            const void *b = gateway_data(prhs[1], dtype);
            gateway_move(dtype, x.data, 0, b, 0, n * cols);
            square(pool, dtype, n, prhs[0], cols, x.data);
        } else {
            least_squares(pool, dtype, m, n, prhs[0], prhs[1], cols, x.data);
        }
    }
    plhs[0] = gateway_result(&x, 0);
}
