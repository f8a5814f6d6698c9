/* QR factors and least squares, computed by the engine's QR. */
#include "blas/orthogonal.h"

#include <float.h>
#include <stdlib.h>

#include "blas/gate.h"
#include "blas/systems.h"

static hs_factor qr_of(int32_t dtype, int64_t m, int64_t n, const void *a, int64_t lda,
                       const void *tau)
{
    hs_factor qr;
    hs_factor_default(&qr, HS_QR, dtype, m, n, (void *)(uintptr_t)a);
    qr.col_stride = lda;
    qr.cooperative = 1;
    qr.tau = (void *)(uintptr_t)tau;
    return qr;
}

static int has_room(int64_t lwork, int64_t least) { return lwork >= (least > 1 ? least : 1); }

int hs__geqrf(hs__entry *entry, int64_t m, int64_t n, void *a, int64_t lda, void *tau, void *work,
              int64_t lwork, int64_t *info)
{
    const double volume = hs__qr_volume(m, n);
    if (!hs__lead_fits(lda, m) || n < 0 || !has_room(lwork, n))
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    hs_factor qr = qr_of(entry->dtype, m, n, a, lda, tau);
    const hs_status status = hs_run_factor(call.pool, &qr, NULL, NULL);
    if (!status) {
        *info = 0;
        hs__set_size(entry->dtype, work, n > 1 ? n : 1);
    }
    return hs__end_call(&call, status);
}

int hs__orgqr(hs__entry *entry, int64_t m, int64_t n, int64_t k, void *a, int64_t lda,
              const void *tau, void *work, int64_t lwork, int64_t *info)
{
    const int32_t dtype = entry->dtype;
    const double volume = hs__qr_volume(m, n);
    if (!hs__lead_fits(lda, m) || n < 0 || n > m || k < 0 || k > n || !has_room(lwork, n))
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    const hs__matrix given = hs__stored(dtype, a, m, k, lda);
    char *reflectors = malloc(hs__element_bytes(dtype) * (size_t)m * (size_t)(k > 0 ? k : 1));
    hs_status status = HS_ERROR_MEMORY;
    if (reflectors) {
        const hs__matrix copy = hs__stored(dtype, reflectors, m, k, m);
        const hs_factor qr = qr_of(dtype, m, k, reflectors, m, tau);
        hs__copy(NULL, copy, given);
        status = hs_qr_multiply(call.pool, &qr, 0, 1, n, a, 1, lda, NULL, NULL);
    }
    free(reflectors);
    if (!status) {
        *info = 0;
        hs__set_size(dtype, work, n > 1 ? n : 1);
    }
    return hs__end_call(&call, status);
}

int hs__ormqr(hs__entry *entry, char side, char op, int64_t m, int64_t n, int64_t k, const void *a,
              int64_t lda, const void *tau, void *c, int64_t ldc, void *work, int64_t lwork,
              int64_t *info)
{
    const int32_t dtype = entry->dtype;
    side = hs__letter(side, "LR");
    op = hs__letter(op, dtype >> 1 ? "NC" : "NT");
    const int64_t order = side == 'L' ? m : n;
    const int64_t others = side == 'L' ? n : m;
    const double volume = hs__ormqr_volume(side, m, n, k);
    if (!side || !op || k < 0 || k > order || n < 0 || !has_room(lwork, others))
        return hs__refuse_call(entry, volume);
    if (!hs__lead_fits(lda, order) || !hs__lead_fits(ldc, m)) return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    const hs_factor qr = qr_of(dtype, order, k, a, lda, tau);
    hs__matrix x = hs__stored(dtype, c, m, n, ldc);
    if (side == 'R') {
        x = hs__transposed(x);
        hs__conjugate(dtype, &x);
    } /* C Q is the adjoint of Q^H C^H */
    const int adjoint = (op != 'N') == (side == 'L');
    const hs_status status = hs_qr_multiply(call.pool, &qr, adjoint, 0, others, x.data,
                                            x.row_stride, x.col_stride, NULL, NULL);
    if (side == 'R') hs__conjugate(dtype, &x);
    if (!status) {
        *info = 0;
        hs__set_size(dtype, work, others > 1 ? others : 1);
    }
    return hs__end_call(&call, status);
}

int hs__is_extreme(int32_t dtype, const hs__matrix *x)
{
    const double least = dtype & 1 ? DBL_MIN / DBL_EPSILON : (double)FLT_MIN / FLT_EPSILON;
    const double largest = hs__largest(dtype, x);
    return !(largest >= least && largest <= 1.0 / least);
}

int hs__gels(hs__entry *entry, char op, int64_t m, int64_t n, int64_t cols, void *a, int64_t lda,
             void *b, int64_t ldb, void *work, int64_t lwork, int64_t *info)
{
    const int32_t dtype = entry->dtype;
    const double volume = hs__gels_volume(m, n, cols);
    const hs__matrix x = hs__stored(dtype, a, m, n, lda);
    const hs__matrix y = hs__stored(dtype, b, m, cols, ldb);
    const hs__matrix triangle = hs__stored(dtype, a, n, n, lda);
    const hs__matrix solution = hs__stored(dtype, b, n, cols, ldb);
    if (hs__letter(op, "N") == 0 || n < 1 || m < n || cols < 1 || !hs__lead_fits(lda, m) ||
        !hs__lead_fits(ldb, m))
        return hs__refuse_call(entry, volume);
    if (!has_room(lwork, n + (n > cols ? n : cols)) || hs__is_extreme(dtype, &x) ||
        hs__is_extreme(dtype, &y))
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_call(&call, entry, volume)) return 0;
    const size_t row = hs__element_bytes(dtype) * (size_t)n;
    char *factors = malloc(row * (size_t)(m + 1));
    char *tau = factors + row * (size_t)m;
    hs_status status = HS_ERROR_MEMORY;
    if (factors) {
        const hs__matrix made = hs__stored(dtype, factors, m, n, m);
        hs_factor qr = qr_of(dtype, m, n, factors, m, tau);
        hs__copy(NULL, made, x);
        status = hs_run_factor(call.pool, &qr, NULL, NULL);
        if (!status) status = hs_qr_multiply(call.pool, &qr, 1, 0, cols, b, 1, ldb, NULL, NULL);
        /* The result is copied only now, because until here the call may still be refused. */
        if (!status) hs__copy(NULL, x, made);
    }
    free(factors);
    if (!status) *info = hs__first_zero(dtype, &triangle);
    if (!status && !*info)
        status = hs__substitute(call.pool, dtype, 'U', 'N', 0, triangle, NULL, &solution);
    if (!status) hs__set_size(dtype, work, 2 * n);
    return hs__end_call(&call, status);
}
