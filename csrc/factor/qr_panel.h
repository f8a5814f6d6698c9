/* QR factorisations of blocks by one thread: Householder reflectors in compact form, by recursion
 * (Elmroth and Gustavson, IBM J. Res. Dev. 44, 2000). LAPACK's conventions: H = I - tau v vᴴ, the
 * matrix is I - V T Vᴴ times R, R in the upper triangle and V below it. */
#ifndef HS_FACTOR_QR_PANEL_H
#define HS_FACTOR_QR_PANEL_H

#include "kernel/qr_vector.h"
#include "run/member.h"

typedef struct hs__qr_type {
    hs__qr_vector vector;
    int32_t dtype;
    size_t element; /* bytes */
} hs__qr_type;

void hs__qr_type_init(hs__qr_type *type, int32_t dtype);

/* Bytes of work for the functions below, where neither the matrix that is factored nor v has more
 * than that many columns. */
size_t hs__qr_bytes(const hs__qr_type *type, int64_t cols);

/* Factors x (rows x cols, columns ld >= rows elements apart) in place.
 *   tau   [min(rows, cols)] out
 *   t     out: the upper triangular factor T, min x min with columns t_ld apart, zeros below its
 *         diagonal; or NULL, which is less work
 *   self  attends to its run meanwhile, or NULL
 * Returns non-zero after a cancel; then the content is undefined. */
int hs__qr_factor(const hs__qr_type *type, int64_t rows, int64_t cols, void *x, int64_t ld,
                  void *tau, void *t, int64_t t_ld, void *work, hs__member *self);

/* The same of only the first `reflectors` columns, whose reflectors are applied to the others.
 * stair > 0: column j has zeros from row (j + 1) * stair on, for j < reflectors, as rows of `stair`
 * triangular matrices in turn have: these are left out. */
typedef struct hs__qr_part {
    int64_t rows, cols, reflectors, stair;
} hs__qr_part;
int hs__qr_factor_part(const hs__qr_type *type, const hs__qr_part *part, void *x, int64_t ld,
                       void *tau, void *t, int64_t t_ld, void *work, hs__member *self);

/* c (rows x cols) <- (I - V T Vᴴ) c, adjoint: (I - V T Vᴴ)ᴴ c; v is rows x width with width <=
 * rows, of which the unit lower trapezium counts. A cancel is not looked for. */
void hs__qr_apply(const hs__qr_type *type, int64_t rows, int64_t width, const void *v, int64_t ld,
                  const void *t, int64_t t_ld, int adjoint, int64_t cols, void *c, int64_t c_ld,
                  void *work, hs__member *self);

/* The first cols rows of q (rows x cols) <- (I - V T Vᴴ) [seed; 0] for the part's V, with cols
 * reflectors; seed: an upper triangle of cols x cols elements without gaps, or NULL: the identity.
 * q is not v. Half of the products are left out, since T Vᴴ [seed; 0] is a triangle; so a column of
 * q does not depend on those of v behind it, be they NaN. */
void hs__qr_form(const hs__qr_type *type, const hs__qr_part *part, const void *v, int64_t ld,
                 const void *t, int64_t t_ld, const void *seed, void *q, int64_t q_ld, void *work);

/* Rows first .. first + rows - 1 of it, first >= cols, to q, after hs__qr_form and with the work
 * that it left. */
void hs__qr_form_rows(const hs__qr_type *type, const hs__qr_part *part, int64_t first, int64_t rows,
                      const void *v, int64_t ld, const void *t, int64_t t_ld, void *q, int64_t q_ld,
                      void *work);

/* Whether a factor of a reflector is: one that saw NaN or infinities is not. */
int hs__qr_is_finite(int32_t dtype, const void *tau);

#endif
