/* Eigenvalues of symmetric and Hermitian matrices and of pairs of them, singular values, and least
 * squares by them, computed by the engine. */
#ifndef HS_BLAS_SPECTRAL_H
#define HS_BLAS_SPECTRAL_H

#include "blas/entry.h"

/* Computes a call of one of the functions of HS__SPECTRAL (drivers.h): its values, its vectors or
 * solutions, and what describes them (m, isuppz, rank). Not info, nor the sizes in the workspaces.
 * Returns whether it has done so; if not, it has changed nothing but arrays for results, so that the
 * library behind can compute the call.
 *   at  all arguments of the function, in their order */
int hs__take_spectral(hs__entry *entry, const void *const *at);

#endif
