/* A row of a Jacobi step. */
#ifndef HS_KERNEL_JACOBI_H
#define HS_KERNEL_JACOBI_H

#include "hetsched.h"

/* Computes io[c] <- row[c] + weight ((((io[c] + other[c]) + row[c - 1]) + row[c + 1]) - 4 row[c])
 * for c = 0 .. n - 1: io holds the row above or below and becomes the new row, other is the row on
 * the other side. First the elements beside the row are set to *left and *right; the new ends are
 * also stored in *first and *last. io, row and other must be different rows. */
typedef void hs__jacobi_row(int64_t n, void *io, void *row, const void *other, double weight,
                            const void *left, const void *right, void *first, void *last);

/* Returns the function for HS_FLOAT32 or HS_FLOAT64 on this machine; all give the same bits. */
hs__jacobi_row *hs__jacobi_row_of(int32_t dtype);

#endif
