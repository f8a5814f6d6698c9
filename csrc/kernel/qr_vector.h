/* The loops of a QR factorisation by Householder reflectors, for each type and instruction set.
 * Matrices are column-major; sizes and leading dimensions (ld) are in elements. */
#ifndef HS_KERNEL_QR_VECTOR_H
#define HS_KERNEL_QR_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* HS__QR_LEAF: columns that the vector loops factor alone. HS__QR_DEPTH: depth of a product with a
 * packed operand that stays in the L1 cache. */
enum { HS__QR_LEAF = 8, HS__QR_DEPTH = 128 };

/* w <- w + vᴴ c; v is rows x m, c is rows x n. */
typedef void hs__qr_dots(int64_t rows, int64_t m, const void *v, int64_t v_ld, int64_t n,
                         const void *c, int64_t c_ld, void *w, int64_t w_ld);

/* c <- c + sign v w; v is rows x depth, w is depth x n. packed: hs__qr_packed elements. */
typedef void hs__qr_update(int64_t rows, int64_t depth, const void *v, int64_t v_ld, int64_t n,
                           const void *w, int64_t w_ld, void *c, int64_t c_ld, int sign,
                           void *packed);

/* LAPACK's geqr2 of rows x cols, cols <= HS__QR_LEAF and rows >= cols: R and V replace x, tau
 * [cols]. */
typedef void hs__qr_leaf(int64_t rows, int32_t cols, void *x, int64_t ld, void *tau);

/* LAPACK's larft for the output of hs__qr_leaf: the cols x cols factor T of I - V T Vᴴ, zeros below
 * its diagonal. */
typedef void hs__qr_leaf_t(int64_t rows, int32_t cols, const void *v, int64_t ld, const void *tau,
                           void *t, int64_t t_ld);

/* to (rows x k, without gaps) <- the unit lower trapezium of v, zeros above its diagonal. */
typedef void hs__qr_lower(int64_t rows, int64_t k, const void *v, int64_t ld, void *to);

/* z [cols] <- vᴴ c; c is rows x cols. */
typedef void hs__qr_row(int64_t rows, const void *v, int64_t cols, const void *c, int64_t c_ld,
                        void *z);

/* w [rows] <- c y; c is rows x cols. */
typedef void hs__qr_column(int64_t rows, int64_t cols, const void *c, int64_t c_ld, const void *y,
                           void *w);

/* c <- c - u zᵀ - w yᵀ; c is rows x cols. */
typedef void hs__qr_rank_two(int64_t rows, int64_t cols, void *c, int64_t c_ld, const void *u,
                             const void *z, const void *w, const void *y);

typedef struct hs__qr_vector {
    hs__qr_dots *dots;
    hs__qr_update *update;
    hs__qr_leaf *leaf;
    hs__qr_leaf_t *leaf_t;
    hs__qr_lower *lower;
    hs__qr_row *row;
    hs__qr_column *column;
    hs__qr_rank_two *rank_two;
} hs__qr_vector;

/* Returns the number of elements of the packed operand for n columns. */
static inline int64_t hs__qr_packed(int64_t n) { return (n + 7) / 8 * 8 * HS__QR_DEPTH; }

/* The functions of each instruction set, indexed by hs_dtype. */
extern const hs__qr_vector hs__qr_plain[4], hs__qr_avx2[4], hs__qr_avx512[4];

/* Returns the functions with the widest vectors of this processor. */
hs__qr_vector hs__qr_vector_for(int32_t dtype);

#endif
