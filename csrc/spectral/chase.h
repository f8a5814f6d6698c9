/* Chases a Hermitian band matrix to real tridiagonal form (Schwarz, Numer. Math. 12, 1968; Lang,
 * SIAM J. Sci. Comput. 14, 1993).
 *
 * Sweep s removes the elements of column s below its subdiagonal by a reflector that makes the
 * subdiagonal real. The reflector creates a bulge of elements below the band. The next reflector
 * removes the first column of the bulge only, and makes a bulge one width further down; and so on
 * to the end of the band. What is left of the bulges is removed by the next sweeps.
 *
 * A place of sweep s + 1 may be done when sweep s has done the place after it. Sweeps are cut into
 * groups, which are the tasks of one phase: a task does a place of each of its sweeps in turn, each
 * one place behind the sweep before it, and follows the task before it at the same distance. So the
 * band stays in the cache of the worker while the sweeps of a group pass. */
#ifndef HS_SPECTRAL_CHASE_H
#define HS_SPECTRAL_CHASE_H

#include "spectral/chased.h"

/* B = Q T Q^H for a Hermitian band matrix B and a real symmetric tridiagonal matrix T.
 *   dtype    hs_dtype
 *   n        order of B
 *   width    of the band, as kernel/chase.h allows it; more than n is allowed
 *   band     the lower band, which is overwritten: element (i, j) at (i - j) + j band_ld. All
 *            elements with i - j > width, or i >= n, must be zeros
 *   band_ld  >= 2 width + 1
 *   d        [n] out: the diagonal of T, of the real type
 *   e        [n - 1] out: its subdiagonal
 *   kept     out: Q, with sweeps >= n - 1 (sweeps beyond are not touched); NULL: not wanted
 *   work     hs__chase_bytes bytes, aligned to cache lines */
typedef struct hs__chase {
    int32_t dtype;
    int64_t n, width;
    char *band;
    int64_t band_ld;
    void *d, *e;
    const hs__chased *kept;
    char *work;
} hs__chase;

/* Return the bytes of the workspace, and of the scratch memory that each worker needs. */
size_t hs__chase_bytes(const hs__chase *x);
size_t hs__chase_scratch(const hs__chase *x);

int hs__hermitian_chase(hs__walk *walk, const hs__chase *x);

#endif
