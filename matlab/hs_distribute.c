/* [counts, makespan] = hs_distribute(n, cycle_times): the counts with the least makespan. */
#include "gateway.h"

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    gateway_count(nrhs, 2, 2, nlhs, 2, "[counts, makespan] = hs_distribute(n, cycle_times)");
    const int64_t n = gateway_integer(prhs[0], "n", 0.0, 9007199254740992.0);
    int64_t p;
    const double *times = gateway_vector(prhs[1], "cycle_times", &p);
    int finite = 0;
    for (int64_t i = 0; i < p; i++) {
        if (!(times[i] > 0.0))
            mexErrMsgIdAndTxt("hetsched:value", "cycle_times must be positive, cycle_times(%lld) is %g", (long long)i + 1,
                              times[i]);
        finite |= isfinite(times[i]) != 0;
    }
    if (!finite) mexErrMsgIdAndTxt("hetsched:value", "cycle_times must have a finite element");

    int64_t *counts = mxMalloc((size_t)p * sizeof *counts);
    double makespan;
    gateway_check(hs_distribute(n, (int32_t)p, times, NULL, counts, &makespan));
    plhs[0] = mxCreateDoubleMatrix(mxGetM(prhs[1]), mxGetN(prhs[1]), mxREAL);
    for (int64_t i = 0; i < p; i++) ((double *)mxGetData(plhs[0]))[i] = (double)counts[i];
    if (nlhs > 1) plhs[1] = mxCreateDoubleScalar(makespan);
}
