/* R = hs_chol(A, triangle, workers), [R, p] = hs_chol(...): Cholesky's factor. */
#include "gateway.h"

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    gateway_count(nrhs, 1, 3, nlhs, 2, "[R, p] = hs_chol(A, triangle, workers)");
    const hs_dtype dtype = gateway_type(prhs[0], "A");
    const gateway_options options = gateway_parse(nrhs - 1, prhs + 1, "triangle", "upper");
    const int upper = !strcmp(options.word, "upper");
    if (!upper && strcmp(options.word, "lower"))
        mexErrMsgIdAndTxt("hetsched:value", "triangle must be 'upper' or 'lower', got '%s'", options.word);
    const int64_t n = (int64_t)mxGetM(prhs[0]);
    if (n != (int64_t)mxGetN(prhs[0]))
        mexErrMsgIdAndTxt("hetsched:size", "A must be square, got %lld x %lld", (long long)n, (long long)mxGetN(prhs[0]));

    gateway_output r = gateway_create(dtype, n, n);
    int64_t order = 0; /* of the first minor that is not positive definite */
    if (n) {
        hs_factor factor;
        hs_factor_default(&factor, HS_CHOLESKY, dtype, n, n, r.data);
        factor.a = gateway_data(prhs[0], dtype);
        factor.a_row_stride = upper ? n : 1, factor.a_col_stride = upper ? 1 : n;
        factor.clear = 1, factor.cooperative = 1;
        /* The upper triangle is the lower one of A^T, which is conj(A) = L L^H; so R = L^T. */
        factor.row_stride = factor.a_row_stride, factor.col_stride = factor.a_col_stride;
        gateway_check(hs_run_factor(gateway_pool(options.workers), &factor, NULL, NULL));
        order = factor.failed + 1;
        if (order && nlhs < 2)
            mexErrMsgIdAndTxt("hetsched:notPositiveDefinite",
                              "A must be positive definite, its leading minor of order %lld is not", (long long)order);
    }
    if (order) { /* the factor of what comes before */
        const int64_t q = order - 1;
        gateway_output leading = gateway_create(dtype, q, q);
        for (int64_t j = 0, first; j < q; j++)
            first = upper ? 0 : j, gateway_move(dtype, leading.data, first + j * q, r.data, first + j * n, upper ? j + 1 : q - j);
        r = leading;
    }
    plhs[0] = gateway_result(&r, 0);
    if (nlhs > 1) plhs[1] = mxCreateDoubleScalar((double)order);
}
