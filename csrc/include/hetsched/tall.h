/* QR factorisation of tall matrices on the pool. */
#ifndef HETSCHED_TALL_H
#define HETSCHED_TALL_H

#include "hetsched/run.h"

HS_C_BEGIN

/* A = Q R of an m x n matrix, m >= n. Q is m x n with orthonormal columns; R is upper triangular
 * with a real diagonal of either sign, as Householder's reflectors give it. A and B are not
 * changed; the outputs must not overlap each other or the inputs.
 *   a          m x n
 *   q          m x n out, or NULL: not formed. A unit column stride with a row stride of n, or a
 *              unit row stride, is fast
 *   r          n x n out, zeros below the diagonal
 *   b          m x k, or NULL with k = 0
 *   c          n x k out: Qᴴ B
 *   residuals  [k] out, or NULL: sums of squares of the columns of B - Q Qᴴ B */
typedef struct hs_tall {
    int32_t dtype; /* hs_dtype */
    int64_t m, n, k;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    void *q;
    int64_t q_row_stride, q_col_stride;
    void *r;
    int64_t r_row_stride, r_col_stride;
    const void *b;
    int64_t b_row_stride, b_col_stride;
    void *c;
    int64_t c_row_stride, c_col_stride;
    double *residuals;
} hs_tall;

/* Factors blocks of rows, then their stacked R factors, along a tree. The tree depends on the sizes
 * alone, and so do all results, whichever worker computes what. options->pace: seconds per flop.
 * The box of an event is a node of the tree, the blocks first; the nodes for forming Q are numbered
 * after all of these. Extra memory: with Q about m n / 4 elements, else m n / 8; a block per
 * worker. 2 m n² flops, 5 m n² with Q. Demmel, Grigori, Hoemmen and Langou, Communication-optimal
 * parallel and sequential QR and LU factorizations (SIAM J. Sci. Comput. 34, 2012). */
HS_API hs_status hs_tall_qr(hs_pool *pool, const hs_tall *tall, const hs_options *options,
                            hs_trace *trace);

HS_C_END
#endif
