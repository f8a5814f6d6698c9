/* Sizes of the blocks of a product from the caches of a core. */
#ifndef HETSCHED_BLOCKING_H
#define HETSCHED_BLOCKING_H

#include "hetsched/pool.h"

HS_C_BEGIN

/* The caches of a core: of data in L1, then L2 and L3.
 *   bytes    [3] of the whole cache, 0 .. 2^40; 0: unknown, or there is none
 *   ways     [3] its associativity, >= 0; 0: unknown, and counted as 8
 *   sharing  [3] workers that share it, 0 .. 65536; 0 counts as 1 */
typedef struct hs_caches {
    int64_t bytes[3];
    int32_t ways[3];
    int32_t sharing[3];
} hs_caches;

/* The blocks that the caches hold while a product of packed panels runs: blocks is [3] depth k_c,
 * rows m_c, columns n_c, in elements.
 *
 * A micro-panel of B stays in L1 beside two of A and a line of C, a block of A for each worker in
 * L2, and the panel of B that the workers share in L3, as the least recently used lines are
 * replaced: T. M. Low, F. D. Igual, T. M. Smith, E. S. Quintana-Orti, Analytical Modeling Is Enough
 * for High-Performance BLIS, ACM Transactions on Mathematical Software 43(2), 2016.
 *   tile_rows, tile_cols  of the micro-kernel, 1 .. 1024
 *   element_bytes         1 .. 64
 * Where a cache is unknown, the sizes that it and larger ones would give are 0: who uses them takes
 * the kernel's own. k_c is at least 16 and a multiple of 8, m_c at least tile_rows and a multiple
 * of it, n_c of tile_cols; none is above 2^20. Of L3 the panel of B has at least half, for a cache
 * that does not hold what is in L2. O(1). HS_ERROR_VALUE for numbers outside of these ranges. */
HS_API hs_status hs_blocking(const hs_caches *caches, int32_t tile_rows, int32_t tile_cols,
                             int32_t element_bytes, int32_t *blocks);

/* The sizes of our own kernels for an instruction set, "avx512", "avx2", "neon" or "plain" as of
 * hs_kernel_info.set, or with NULL of the kernel in use: tile is [2] rows and columns of the
 * register tile, blocks [3] depth, rows and columns, as of hs_blocking, with which they multiply
 * where hs_pool_create_domains says nothing else. dtype is HS_FLOAT32 or HS_FLOAT64.
 * HS_ERROR_UNSUPPORTED for a set that this processor, or this build, does not have. */
HS_API hs_status hs_kernel_sizes(const char *set, int32_t dtype, int32_t *tile, int32_t *blocks);

HS_C_END
#endif
