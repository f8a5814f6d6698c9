/* The tasks of an LU factorisation by blocks of columns, as both its simulation and its execution see them. */
#ifndef HS_ALLOCATE_LU_H
#define HS_ALLOCATE_LU_H

#include <stdint.h>

/* Blocks of `block` columns; the columns of an m x n matrix beyond the m-th begin a block. Panels are the first of them. */
typedef struct hs__lu_blocks {
    int64_t m, n, block;
    int32_t panels, count;
} hs__lu_blocks;

/* Returns 0 where there would be more than 2^31 - 1 blocks or pairs of them. */
int hs__lu_blocks_init(hs__lu_blocks *blocks, int64_t m, int64_t n, int64_t block);

static inline int64_t hs__lu_first(const hs__lu_blocks *b, int32_t j)
{
    const int64_t rank = b->m < b->n ? b->m : b->n;
    return j <= b->panels ? (j < b->panels ? j * b->block : rank) : rank + (j - b->panels) * b->block;
}

static inline int64_t hs__lu_width(const hs__lu_blocks *b, int32_t j)
{
    return (j + 1 < b->count ? hs__lu_first(b, j + 1) : b->n) - hs__lu_first(b, j);
}

/* Multiply-adds of the panel k, and of its update of block j. */
static inline double hs__lu_panel_work(const hs__lu_blocks *b, int32_t k)
{
    const double rows = (double)(b->m - hs__lu_first(b, k)), width = (double)hs__lu_width(b, k);
    return width * width * (rows - width / 3.0) / 2.0;
}

static inline double hs__lu_update_work(const hs__lu_blocks *b, int32_t k, int32_t j)
{
    const double rows = (double)(b->m - hs__lu_first(b, k)), width = (double)hs__lu_width(b, k);
    return width * (rows - width / 2.0) * (double)hs__lu_width(b, j);
}

#endif
