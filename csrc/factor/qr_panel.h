/* QR factorisations of blocks by one thread, with Householder reflectors in compact form, by
 * recursion (Elmroth and Gustavson, IBM J. Res. Dev. 44, 2000). LAPACK's conventions: a reflector
 * is H = I - tau v vᴴ, the matrix is I - V T Vᴴ times R, and R is stored in the upper triangle with
 * V below it. */
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

/* Returns the bytes of `work` for the functions below, if neither the factored matrix nor v has
 * more than `cols` columns. */
size_t hs__qr_bytes(const hs__qr_type *type, int64_t cols);

/* Factors x (rows x cols, columns ld >= rows elements apart) in place.
 *   tau    [min(rows, cols)] out
 *   t      out: the upper triangular factor T, min x min with columns t_ld apart, zeros below its
 *          diagonal; NULL: not wanted, which saves work
 *   self   attends to its run meanwhile; or NULL
 * Returns non-zero after a cancel; then the content is undefined. */
int hs__qr_factor(const hs__qr_type *type, int64_t rows, int64_t cols, void *x, int64_t ld,
                  void *tau, void *t, int64_t t_ld, void *work, hs__member *self);

/* Factors only the first `reflectors` columns and applies their reflectors to the other columns.
 * stair > 0: column j < reflectors has zeros from row (j + 1) * stair on, and these are skipped.
 * Rows taken in turn from `stair` triangular matrices have this form. */
typedef struct hs__qr_part {
    int64_t rows, cols, reflectors, stair;
} hs__qr_part;
int hs__qr_factor_part(const hs__qr_type *type, const hs__qr_part *part, void *x, int64_t ld,
                       void *tau, void *t, int64_t t_ld, void *work, hs__member *self);

/* c (rows x cols) <- (I - V T Vᴴ) c; adjoint: (I - V T Vᴴ)ᴴ c. v is rows x width, width <= rows,
 * and only its unit lower trapezium counts. Does not stop after a cancel. */
void hs__qr_apply(const hs__qr_type *type, int64_t rows, int64_t width, const void *v, int64_t ld,
                  const void *t, int64_t t_ld, int adjoint, int64_t cols, void *c, int64_t c_ld,
                  void *work, hs__member *self);

/* First cols rows of q (rows x cols) <- (I - V T Vᴴ) [seed; 0], for the V of a part with cols
 * reflectors.
 *   seed   upper triangle of cols x cols elements without gaps; NULL: the identity
 *   q      must not be v
 * Half of the products are skipped, because T Vᴴ [seed; 0] is a triangle. So a column of q does not
 * depend on later columns of v, even if these are NaN. */
void hs__qr_form(const hs__qr_type *type, const hs__qr_part *part, const void *v, int64_t ld,
                 const void *t, int64_t t_ld, const void *seed, void *q, int64_t q_ld, void *work);

/* Computes rows first .. first + rows - 1, first >= cols, of the same matrix to q. Must be called
 * after hs__qr_form, with the work that it left. */
void hs__qr_form_rows(const hs__qr_type *type, const hs__qr_part *part, int64_t first, int64_t rows,
                      const void *v, int64_t ld, const void *t, int64_t t_ld, void *q, int64_t q_ld,
                      void *work);

/* Whether the factor tau of a reflector is finite. It is not if the reflector has seen NaN or
 * infinities. */
int hs__qr_is_finite(int32_t dtype, const void *tau);

#endif
