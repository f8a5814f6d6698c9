/* Reduces a Hermitian matrix to a band matrix by block reflectors (Bischof, Lang and Sun, ACM Trans.
 * Math. Softw. 26, 2000).
 *
 * Panel k is the block column k below the band. A QR factorisation of it, I - V T V^H, makes it
 * upper triangular, which leaves a band. The trailing matrix A becomes (I - V T V^H)^H A (I - V T
 * V^H) = A - V Y^H - Y V^H + V X V^H with Y = A V T and X = T^H V^H Y. A phase computes Y, with a
 * task for each block of rows, and a second phase updates the trailing matrix, with a task for each
 * block of columns. The first of these tasks also factors the next panel, while the other workers
 * update the other columns. So workers meet twice for each panel.
 *
 * A run by a plan has tasks of one block each, as many rows or columns as the band is wide, and the
 * next panel is a task of its own (hs_reduction_task). */
#ifndef HS_SPECTRAL_HERMITIAN_H
#define HS_SPECTRAL_HERMITIAN_H

#include "spectral/chased.h"

/* A plan: the owners of the blocks.
 *   owner        [blocks] the worker of each
 *   panel_pace   [p] with pace, the seconds per multiply-add of a panel; NULL: as for other tasks
 *   latest       [2 panels + 1] of hs__phase_owners, for all phases */
typedef struct hs__hermitian_plan {
    const int32_t *owner;
    const double *panel_pace;
    _Atomic double *latest;
} hs__hermitian_plan;

/* A = Q1 B Q1^H for a Hermitian A and a band matrix B.
 *   dtype    hs_dtype
 *   n        order
 *   width    of the band, as kernel/chase.h allows it
 *   a        n x n, columns ld >= n elements apart. In: the lower triangle. Out: the reflectors of
 *            panel k below the band, in columns k width ..., as LAPACK's geqrf stores them. The
 *            upper triangle is not read, and overwritten in part. Imaginary parts of the diagonal
 *            are not read
 *   t        [panels width width] out: the triangles T, column by column
 *   band     [n band_ld] out: the lower band of B as spectral/chase.h takes it
 *   band_ld  >= 2 width + 1
 *   work     hs__hermitian_bytes bytes, aligned to cache lines
 *   plan     NULL: any worker does any task. Else the run is HS__EACH, and `width` is at most
 *            hs__slice_cols(dtype) */
typedef struct hs__hermitian {
    int32_t dtype;
    int64_t n, width;
    char *a;
    int64_t ld;
    char *t;
    char *band;
    int64_t band_ld;
    char *work;
    const hs__hermitian_plan *plan;
} hs__hermitian;

/* Returns the width that takes least time for the reduction and the chase, with `vectors` also for
 * both products with C. A wider band makes the chase longer, and its products faster. Measured with
 * one worker of AVX-512, n = 1000 and 2000, widths 16, 32, 48, 64, 96. */
int64_t hs__hermitian_width(int32_t dtype, int64_t n, int vectors);

/* Returns the number of panels. */
int64_t hs__hermitian_panels(int64_t n, int64_t width);

/* Return the bytes of the workspace, and of the scratch memory that each worker needs: for both
 * functions below. */
size_t hs__hermitian_bytes(const hs__hermitian *x);
size_t hs__hermitian_scratch(const hs__hermitian *x);

int hs__hermitian_to_band(hs__walk *walk, const hs__hermitian *x);

/* C <- Q1 C for C of n x cols elements, columns ld >= n elements apart. The workspace is not
 * used. */
int hs__hermitian_back(hs__walk *walk, const hs__hermitian *x, char *c, int64_t ld, int64_t cols);

#endif
