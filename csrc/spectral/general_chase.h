/* From the band of a general matrix to a real bidiagonal matrix, by chasing bulges (Haidar, Kurzak
 * and Luszczek, SC 2013).
 *
 * Sweep s removes what is right of the first superdiagonal in row s, by a reflector from the right.
 * At each place p of the sweep there are two blocks, D and right of it E. Their rows and columns
 * begin at s + 1 + p width and end after at most `width`:
 *
 *      x x x x . . .         D   a reflector from the right, that of row s or of the place before,
 *      f D D D E E E             has filled D. One from the left removes the first column of D
 *      . f D D E E E             below the diagonal, and fills E.
 *      . f f D E E E         E   one from the right removes the first row of E but for its first
 *      . . . . D' D' D'          element; at the next place it fills D'.
 *
 * The rest of the fill stays until the next sweep, whose places begin one row further down. The
 * next sweep may pass place p when this one has left place p + 1. So sweeps follow each other in a
 * pipeline: a task is a group of neighbouring sweeps, which one worker takes down the band
 * together, while their blocks are in its cache. */
#ifndef HS_SPECTRAL_GENERAL_CHASE_H
#define HS_SPECTRAL_GENERAL_CHASE_H

#include "spectral/chased.h"

/* Band = U2 R V2^H with a real upper bidiagonal R.
 *   dtype    hs_dtype
 *   n        rows and columns of the band
 *   width    >= 1, diagonals above the main one
 *   band     in: element (i, j) is at (2 width + i - j) + j band_ld, for j - width <= i <= j; all
 *            other elements of its columns are zero. Destroyed. The first element must be real
 *   band_ld  >= 3 width + 1
 *   d        [n] out: the diagonal of R, of the real type of dtype; any signs
 *   e        [n - 1] out: the superdiagonal
 *   left, right
 *            out: U2 and V2, if both are wanted; NULL: not stored. n and width as here, n - 1 (or 0)
 *            sweeps, and hs__chased_places places
 *   work     hs__general_band_bytes bytes, aligned to cache lines */
typedef struct hs__general_band {
    int32_t dtype;
    int64_t n, width;
    char *band;
    int64_t band_ld;
    void *d, *e;
    const hs__chased *left, *right;
    char *work;
} hs__general_band;

/* Return the bytes of the workspace, and of the scratch memory that each worker needs. */
size_t hs__general_band_bytes(const hs__general_band *x);
size_t hs__general_band_scratch(const hs__general_band *x);

/* Computes R. Returns non-zero after a cancel. */
int hs__general_chase(hs__walk *walk, const hs__general_band *x);

#endif
