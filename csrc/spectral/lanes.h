/* Decompositions of stacks of small matrices, a group of them at a time (kernel/lanes.h). */
#ifndef HS_SPECTRAL_LANES_H
#define HS_SPECTRAL_LANES_H

#include "kernel/lanes.h"
#include "run/matrix.h"

/* The vectors of one side, an item after the other. Element (i, j) of an item's vectors, which are
 * columns, is i * row_stride + j * col_stride elements behind its first one.
 *   data       NULL: not wanted
 *   conjugate  non-zero: elements are conjugated when they are stored */
typedef struct hs__lane_vectors {
    char *data;
    int64_t row_stride, col_stride;
    int32_t conjugate;
} hs__lane_vectors;

/* What is to be done for each item.
 *   first        the first item, with at least as many rows as columns
 *   lower        non-zero: a Hermitian matrix, of which the lower triangle is read
 *   conjugate    non-zero: elements are conjugated when they are read
 *   rank, size, steps  the stack (hs_eigh_stack)
 *   values       [items columns] out, of the real type
 *   left, right  [items rows columns], [items columns columns] out; eigenvectors are `left`
 *   failed       [items] out */
typedef struct hs__lane_stack {
    int32_t dtype;
    hs__matrix first;
    int32_t lower, conjugate;
    int32_t rank;
    const int64_t *size, *steps;
    char *values;
    hs__lane_vectors left, right;
    int32_t *failed;
} hs__lane_stack;

/* Computes all items. HS_ERROR_VALUE if the stack is not valid; else as hs_run_eigh_stack. */
hs_status hs__run_lanes(hs_pool *pool, const hs__lane_stack *stack, const hs_options *options,
                        hs_trace *trace);

#endif
