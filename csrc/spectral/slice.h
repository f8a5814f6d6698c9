/* Slices: some columns of a matrix, stored by rows. In this form the columns are multiplied from
 * the left by small matrices (kernel/rows.h) many times, without packing. A slice of some thousand
 * rows stays in the L2 cache. */
#ifndef HS_SPECTRAL_SLICE_H
#define HS_SPECTRAL_SLICE_H

#include "core/element.h"
#include "core/numbers.h"

/* Bytes of a row, and from one row to the next: not a power of two, so that the same columns of many
 * rows stay in the L1 cache together. */
enum { HS__SLICE_BYTES = 512, HS__SLICE_STEP = HS__SLICE_BYTES + 64 };

/* Returns the elements from one row to the next. */
static inline int64_t hs__slice_step(int32_t dtype)
{
    return HS__SLICE_STEP / (int64_t)hs__element_bytes(dtype);
}

/* Return the columns of a slice, and of how many of `cols` columns slice `index` consists. */
static inline int64_t hs__slice_cols(int32_t dtype)
{
    return HS__SLICE_BYTES / (int64_t)hs__element_bytes(dtype);
}
static inline int64_t hs__slice_cols_at(int32_t dtype, int64_t cols, int64_t index)
{
    return hs__min(hs__slice_cols(dtype), cols - index * hs__slice_cols(dtype));
}

/* Returns the elements of a row that products with a slice compute, for a slice of `cols` columns:
 * whole vectors. */
static inline int64_t hs__slice_length(int32_t dtype, int64_t cols)
{
    return hs__round_up(cols, 64 / (int64_t)hs__element_bytes(dtype));
}

/* Computes to(j, i) <- from(i, j) for rows i and columns j of any type. In `from` consecutive i are
 * adjacent in memory, in `to` consecutive j. */
void hs__transpose_elements(int32_t dtype, int64_t rows, int64_t cols, const char *from,
                            int64_t from_stride, char *to, int64_t to_stride);

/* Brings a block of a matrix nearer, which will soon be read and written: `bytes` bytes of each of
 * its columns. These pieces are too short for the processor to do it by itself. */
static inline void hs__prefetch_block(int64_t bytes, int64_t cols, const char *c,
                                      int64_t column_bytes)
{
    for (int64_t j = 0; j < cols; j++, c += column_bytes)
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(c + at, 1, 2);
}

/* Copy between a slice and the same rows x cols elements of c, whose columns are ld elements apart.
 * hs__slice_load also writes zeros up to the hs__slice_length. */
void hs__slice_load(int32_t dtype, int64_t rows, int64_t cols, const char *c, int64_t ld,
                    char *slice);
void hs__slice_store(int32_t dtype, int64_t rows, int64_t cols, const char *slice, char *c,
                     int64_t ld);

#endif
