/* The tasks of the reduction of a Hermitian matrix to a band. Its plan (reduction.c) and its
 * execution (spectral/hermitian.c) use these functions, so that they agree on blocks and work. */
#ifndef HS_ALLOCATE_REDUCTION_H
#define HS_ALLOCATE_REDUCTION_H

#include "core/numbers.h"
#include "hetsched/allocate.h"

/* Blocks of `block` columns, of which the last may be narrower. The first `panels` of them are
 * panels. */
typedef struct hs__reduction_blocks {
    int64_t n, block;
    int32_t panels, count;
} hs__reduction_blocks;

/* Returns the number of panels: block columns with at least two rows below the band. */
static inline int64_t hs__reduction_panels(int64_t n, int64_t block)
{
    return hs__max(n - 2, 0) / block;
}

/* Returns 0 for numbers out of their ranges. */
static inline int hs__reduction_blocks_init(hs__reduction_blocks *b, int64_t n, int64_t block)
{
    if (n < 0 || n > INT32_MAX || block < 1 || block > INT32_MAX) return 0;
    const int64_t count = hs__ceil_div(n, block);
    if (count > 46340) return 0;
    *b = (hs__reduction_blocks){n, block, (int32_t)hs__reduction_panels(n, block), (int32_t)count};
    return 1;
}

/* Multiply-adds of panel k with its factor T, of the product of block j with panel k, and of the
 * update of block j. The update does not depend on the panel. */
static inline double hs__reduction_panel(const hs__reduction_blocks *b, int32_t k)
{
    const int64_t rows = b->n - (k + 1) * b->block;
    const double few = (double)hs__min(rows, b->block);
    const double many = (double)hs__max(rows, b->block);
    return few * few * (many - few / 3.0) * 1.5;
}
static inline double hs__reduction_cols(const hs__reduction_blocks *b, int32_t j)
{
    return (double)hs__min(b->block, b->n - j * b->block);
}
static inline double hs__reduction_product(const hs__reduction_blocks *b, int32_t k, int32_t j)
{
    const double width = (double)b->block;
    const double rows = (double)(b->n - (k + 1) * b->block);
    return hs__reduction_cols(b, j) * width * (rows + 2.0 * width);
}
static inline double hs__reduction_update(const hs__reduction_blocks *b, int32_t j)
{
    const double width = (double)b->block;
    const double rows = (double)(b->n - j * b->block);
    return hs__reduction_cols(b, j) * width * (2.0 * rows + width);
}

#endif
