/* [L, U, P] = hs_lu(A, outputs, workers), [L, U] = hs_lu(...), Y = hs_lu(...): P A = L U with partial pivoting. */
#include "gateway.h"

/* The part of the factors below the diagonal, with ones on it. With `place` its row i is in row place[i]; NULL: in order. */
static mxArray *unit_lower(const gateway_output *y, const int64_t *place)
{
    const int64_t m = y->m, k = m < y->n ? m : y->n;
    gateway_output l = gateway_create(y->dtype, m, k);
    for (int64_t j = 0; j < k; j++) {
        gateway_put(y->dtype, l.data, (place ? place[j] : j) + j * m, 1.0);
        if (!place) gateway_move(y->dtype, l.data, j + 1 + j * m, y->data, j + 1 + j * m, m - j - 1);
        for (int64_t i = j + 1; place && i < m; i++)
            gateway_put(y->dtype, l.data, place[i] + j * m, gateway_get(y->dtype, y->data, i + j * m));
    }
    return gateway_result(&l, 0);
}

/* The part from the diagonal on. */
static mxArray *upper(const gateway_output *y)
{
    const int64_t k = y->m < y->n ? y->m : y->n;
    gateway_output u = gateway_create(y->dtype, k, y->n);
    for (int64_t j = 0; j < y->n; j++) gateway_move(y->dtype, u.data, j * k, y->data, j * y->m, j < k ? j + 1 : k);
    return gateway_result(&u, 0);
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    gateway_count(nrhs, 1, 3, nlhs, 3, "[L, U, P] = hs_lu(A, outputs, workers)");
    const hs_dtype dtype = gateway_type(prhs[0], "A");
    const gateway_options options = gateway_parse(nrhs - 1, prhs + 1, "outputs", "matrix");
    const int vector = !strcmp(options.word, "vector");
    if (!vector && strcmp(options.word, "matrix"))
        mexErrMsgIdAndTxt("hetsched:value", "outputs must be 'matrix' or 'vector', got '%s'", options.word);

    const int64_t m = (int64_t)mxGetM(prhs[0]), n = (int64_t)mxGetN(prhs[0]), k = m < n ? m : n;
    gateway_output y = gateway_create(dtype, m, n);
    int32_t *pivots = mxCalloc((size_t)k + 1, sizeof *pivots);
    if (k) {
        hs_factor factor;
        hs_factor_default(&factor, HS_LU, dtype, m, n, y.data);
        factor.a = gateway_data(prhs[0], dtype), factor.a_row_stride = 1, factor.a_col_stride = m;
        factor.pivots = pivots, factor.cooperative = 1;
        gateway_check(hs_run_factor(gateway_pool(options.workers), &factor, NULL, NULL));
    }
    if (nlhs < 2) {
        plhs[0] = gateway_result(&y, 0);
        return;
    }
    int64_t *row = mxMalloc(((size_t)m + 1) * sizeof *row); /* of A, that is row i of P A */
    for (int64_t i = 0; i < m; i++) row[i] = i;
    for (int64_t i = 0; i < k; i++) {
        const int64_t other = row[pivots[i]];
        row[pivots[i]] = row[i], row[i] = other;
    }
    plhs[0] = unit_lower(&y, nlhs == 2 ? row : NULL);
    plhs[1] = upper(&y);
    if (nlhs < 3) return;
    plhs[2] = mxCreateDoubleMatrix(vector ? 1 : (mwSize)m, (mwSize)m, mxREAL);
    double *p = (double *)mxGetData(plhs[2]);
    for (int64_t i = 0; i < m; i++) p[vector ? i : i + row[i] * m] = vector ? (double)(row[i] + 1) : 1.0;
}
