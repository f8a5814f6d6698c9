/* The loops of a chase of bulges down the band of a Hermitian matrix, for each type and instruction
 * set. */
#ifndef HS_KERNEL_CHASE_H
#define HS_KERNEL_CHASE_H

#include <stddef.h>
#include <stdint.h>

/* Widths of bands are multiples of HS__WIDTH_UNIT elements, so that columns consist of whole
 * vectors, and at most HS__WIDTH_MOST. */
enum { HS__WIDTH_UNIT = 16, HS__WIDTH_MOST = 128 };

/* Makes a reflector H = I - tau v v^H with H^H x = beta e1, beta real, from x [width]. v [width]
 * with v[0] = 1, and tau, are out; x becomes beta e1. tau is 0 if x is already real and has no
 * other elements. */
typedef void hs__chase_reflect(int64_t width, void *x, void *v, void *tau);

/* Multiplies a diagonal block D from both sides, and the block B below it from the right, by the
 * reflector H of (v, tau): D <- H^H D H and B <- B H. Then makes a reflector from the first column
 * of B and applies it to the other columns: B <- H2^H B.
 *   cols            of D and B, at most width. D is cols x cols, B has width rows
 *   d, ld           D, of which the lower triangle counts. Its columns are ld elements apart; B
 *                   begins width rows below. Rows of D from `cols` on are zeros. In the columns,
 *                   less than 64 bytes above the diagonal are written, with their old content
 *   next_v          of H2, out; NULL: there is no B
 *   next_tau        out */
typedef void hs__chase_step(int64_t width, int64_t cols, void *d, int64_t ld, const void *v,
                            const void *tau, void *next_v, void *next_tau);

typedef struct hs__chase_vector {
    hs__chase_reflect *reflect;
    hs__chase_step *step;
} hs__chase_vector;

/* Returns the functions with the widest vectors of this processor. */
hs__chase_vector hs__chase_vector_for(int32_t dtype);

#endif
