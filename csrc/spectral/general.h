/* A general matrix on its way to bidiagonal form: the reduction to a band by blocks of reflectors,
 * and products with them (Grosser and Lang, Parallel Computing 25, 1999). general_chase.h does the
 * rest.
 *
 * Step k takes `width` columns. A QR factorisation of these columns removes what is below the
 * diagonal, and an LQ factorisation of the same rows removes what is beyond the band:
 *
 *      x x x x x x       R R R x x x       R R R L 0 0
 *      x x x x x x       0 R R x x x       0 R R L L 0
 *      x x x x x x  ->   0 0 R x x x  ->   0 0 R L L L
 *      x x x x x x       0 0 0 x x x       0 0 0 x x x
 *      x x x x x x       0 0 0 x x x       0 0 0 x x x
 *
 * Both are applied to the rest of the matrix by products. Each factorisation is one task of a
 * phase, and other workers apply the reflectors of the factorisation before it meanwhile. Workers
 * meet twice in a step. */
#ifndef HS_SPECTRAL_GENERAL_H
#define HS_SPECTRAL_GENERAL_H

#include "kernel/kernel.h"
#include "run/phases.h"

/* Returns the width of the band with which all stages together take least time for matrices of n
 * columns. A wider band makes deeper products, and more work for the chase. Measured for orders 500
 * to 2000 and three types on an Intel Xeon (family 6, model 167): from 32 to 64 the times differ by
 * some percent only. */
static inline int64_t hs__general_width(int64_t n) { return n < 1500 ? 48 : 64; }

/* A (m x n, m >= n) = U1 B V1^H, where B (m x n) is zero but for its upper triangular band: the
 * diagonal and `width` diagonals above it.
 *   dtype    hs_dtype
 *   width    >= 1
 *   a        in: A, columns ld >= m elements apart. out: the reflectors. V of the QR factorisation
 *            of step k, with its ones and zeros, begins at row and column k width. That of the LQ
 *            factorisation is stored transposed: row j of V^T, a reflector, is row k width + j from
 *            column (k + 1) width on
 *   left_t, right_t
 *            out: the factor T of the QR and of the LQ factorisation of each step, `width` columns
 *            `width` elements apart; hs__general_t_bytes bytes each
 *   band     out: element (i, j) of B is at (2 width + i - j) + j band_ld. Of the n columns all
 *            other elements are zero: they are room for the chase
 *   band_ld  >= 3 width + 1
 *   work     hs__general_bytes bytes, aligned to cache lines
 *   kernel   hs__kernel_current(), called once, before the sizes of memory are asked for
 * All memory should have large pages, as hs__run_pages has: the products read columns that are far
 * apart. */
typedef struct hs__general {
    int32_t dtype;
    int64_t m, n, width;
    char *a;
    int64_t ld;
    char *left_t, *right_t;
    char *band;
    int64_t band_ld;
    char *work;
    const hs__kernel *kernel;
} hs__general;

/* Return bytes: of left_t and of right_t; of the workspace, for products with matrices of at most
 * `cols` columns; and of the scratch memory that each worker needs. */
size_t hs__general_t_bytes(const hs__general *x);
size_t hs__general_bytes(const hs__general *x, int64_t cols);
size_t hs__general_scratch(const hs__general *x);

/* Reduces A to B. Returns non-zero after a cancel, as all stages do. */
int hs__general_to_band(hs__walk *walk, const hs__general *x);

/* C <- U1 C (m x cols) and C <- V1 C (n x cols), with columns of C ld elements apart; with adjoint
 * C <- U1^H C and C <- V1^H C. */
int hs__general_left(hs__walk *walk, const hs__general *x, int adjoint, char *c, int64_t ld,
                     int64_t cols);
int hs__general_right(hs__walk *walk, const hs__general *x, int adjoint, char *c, int64_t ld,
                      int64_t cols);

#endif
