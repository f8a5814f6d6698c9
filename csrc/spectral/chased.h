/* The unitary matrix of a chase, which takes a matrix from band to tridiagonal or bidiagonal form.
 *
 * A chase works in sweeps. Sweep s removes what lies outside of the form in row or column s: a
 * first reflector removes it and makes a bulge of new elements further down the band, and the
 * reflectors at the next places chase the bulge to the end. The reflectors of places far from each
 * other commute, so that the reflectors of a group of sweeps at one place can be joined to one block
 * reflector I - V T V^H. V then has the form of a parallelogram: each sweep begins one row further
 * down than the sweep before it. */
#ifndef HS_SPECTRAL_CHASED_H
#define HS_SPECTRAL_CHASED_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/chase.h"
#include "run/phases.h"

/* Q = product over sweeps s = 0, 1, ... and places p = 0, 1, ..., in this order from left to right,
 * of H(s, p) = I - tau v v^H. H(s, p) acts on rows s + 1 + p width, ... of them `width`, but none
 * beyond n.
 *   dtype   hs_dtype
 *   n       rows of Q
 *   width   of the band, as kernel/chase.h allows it
 *   sweeps  <= n
 *   places  >= ceil((n - 1) / width), for each sweep
 *   v       v of (s, p) begins at element (s places + p) width. v[0] = 1 is stored. Elements that
 *           would lie beyond row n are not read
 *   tau     tau of (s, p) is element s places + p; 0 where there is no reflector
 *   work    hs__chased_bytes bytes, aligned to cache lines, for hs__chased_apply */
typedef struct hs__chased {
    int32_t dtype;
    int64_t n, width, sweeps, places;
    char *v, *tau;
    char *work;
} hs__chased;

/* Returns the places that hold all reflectors of a band of this width. */
int64_t hs__chased_places(int64_t n, int64_t width);

/* Return the bytes of the workspace for matrices of at most `cols` columns, and of the scratch
 * memory that each worker needs. */
size_t hs__chased_bytes(const hs__chased *x, int64_t cols);
size_t hs__chased_scratch(const hs__chased *x);

/* C <- Q C, or with adjoint C <- Q^H C, for C of n x cols elements, columns ld >= n elements
 * apart. */
int hs__chased_apply(hs__walk *walk, const hs__chased *x, int adjoint, char *c, int64_t ld,
                     int64_t cols);

/* The same by one reflector after the other, without the workspace: faster for up to HS__CHASED_FEW
 * columns, and rounded differently. By hand. */
enum { HS__CHASED_FEW = 16 };
int hs__chased_apply_few(hs__walk *walk, const hs__chased *x, int adjoint, char *c, int64_t ld,
                         int64_t cols);

#endif
