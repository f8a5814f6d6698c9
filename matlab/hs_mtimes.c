/* C = hs_mtimes(A, B, op, workers): op(A) * op(B) on the workers of a pool. */
#include "gateway.h"

/* An operand as the engine sees it: op is a choice of strides, so that nothing is transposed. */
typedef struct {
    int64_t rows, cols, row_stride, col_stride;
    int conjugate;
    const void *data;
} operand;

static operand operand_of(const mxArray *x, char op, hs_dtype dtype, const char *name)
{
    const int64_t m = (int64_t)mxGetM(x), n = (int64_t)mxGetN(x);
    switch (op) {
    case 'n': return (operand){m, n, 1, m, 0, NULL};
    case 't': return (operand){n, m, m, 1, 0, NULL};
    case 'c': return (operand){n, m, m, 1, gateway_is_complex(dtype), NULL};
    default: mexErrMsgIdAndTxt("hetsched:value", "op must be a letter of 'ntc' for A and one for B; that for %s is not", name);
    }
    return (operand){0, 0, 0, 0, 0, NULL};
}

static operand transposed(operand x)
{
    return (operand){x.cols, x.rows, x.col_stride, x.row_stride, x.conjugate, x.data};
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    gateway_count(nrhs, 2, 4, nlhs, 1, "C = hs_mtimes(A, B, op, workers)");
    const hs_dtype dtype = gateway_common(gateway_type(prhs[0], "A"), gateway_type(prhs[1], "B"));
    const gateway_options options = gateway_parse(nrhs - 2, prhs + 2, "op", "nn");
    if (strlen(options.word) != 2)
        mexErrMsgIdAndTxt("hetsched:value", "op must have two letters, as 'nn' or 'tn', got '%s'", options.word);
    operand a = operand_of(prhs[0], options.word[0], dtype, "A"), b = operand_of(prhs[1], options.word[1], dtype, "B");
    if (a.cols != b.rows) {
        if (!strcmp(options.word, "nn") && (mxGetNumberOfElements(prhs[0]) == 1 || mxGetNumberOfElements(prhs[1]) == 1)) {
            mxArray *both[2] = {(mxArray *)prhs[0], (mxArray *)prhs[1]}; /* the host scales as fast as memory allows */
            mexCallMATLAB(1, plhs, 2, both, "times");
            return;
        }
        mexErrMsgIdAndTxt("hetsched:size", "op(A) is %lld x %lld, op(B) is %lld x %lld: the inner dimensions must agree",
                          (long long)a.rows, (long long)a.cols, (long long)b.rows, (long long)b.cols);
    }
    gateway_output c = gateway_create(dtype, a.rows, b.cols);
    if (a.rows && b.cols) {
        a.data = gateway_data(prhs[0], dtype), b.data = gateway_data(prhs[1], dtype);
        /* The engine conjugates its second operand: C^T = op(B)^T op(A)^T makes it the first; of two the result will do. */
        const int turned = a.conjugate && !b.conjugate;
        const operand left = turned ? transposed(b) : a, right = turned ? transposed(a) : b;
        hs_product product;
        hs_product_default(&product, dtype, left.rows, right.cols, left.cols, left.data, right.data, c.data);
        product.a_row_stride = left.row_stride, product.a_col_stride = left.col_stride;
        product.b_row_stride = right.row_stride, product.b_col_stride = right.col_stride;
        product.c_row_stride = turned ? a.rows : 1, product.c_col_stride = turned ? 1 : a.rows;
        product.conjugate = right.conjugate && !left.conjugate;
        /* A matrix and its own transpose: half the work, and exactly symmetric as the host's own product is. */
        const int mirrored = a.rows == b.cols && a.row_stride == b.col_stride && a.col_stride == b.row_stride;
        if (!gateway_is_complex(dtype) && a.data == b.data && mirrored) product.triangle = HS_TRIANGLE_MIRRORED;
        gateway_check(hs_gemm(gateway_pool(options.workers), &product, NULL, NULL, NULL));
    }
    plhs[0] = gateway_result(&c, a.conjugate && b.conjugate);
}
