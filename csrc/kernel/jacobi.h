/* A row of a Jacobi step. */
#ifndef HS_KERNEL_JACOBI_H
#define HS_KERNEL_JACOBI_H

#include "hetsched.h"

/* io[c] <- row[c] + weight ((((io[c] + other[c]) + row[c - 1]) + row[c + 1]) - 4 row[c]) for c = 0
 * .. n - 1: io holds the row above or below and becomes the new row, other is the row on the other
 * side. The elements beside the row become *left and *right first; the new ends are also left in
 * *first and *last. io, row and other are rows of their own. */
typedef void hs__jacobi_row(int64_t n, void *io, void *row, const void *other, double weight,
                            const void *left, const void *right, void *first, void *last);

/* The function for HS_FLOAT32 or HS_FLOAT64 on this machine; all give the same bits. */
hs__jacobi_row *hs__jacobi_row_of(int32_t dtype);

#endif
