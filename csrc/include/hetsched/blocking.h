/* Block sizes of a product, derived from the caches of a core. */
#ifndef HETSCHED_BLOCKING_H
#define HETSCHED_BLOCKING_H

#include "hetsched/pool.h"

HS_C_BEGIN

/* The caches of a core: the L1 data cache, then L2 and L3.
 *   bytes    [3] size of the whole cache, 0 .. 2^40; 0: unknown, or there is no such cache
 *   ways     [3] associativity, >= 0; 0: unknown, and counted as 8
 *   sharing  [3] number of workers that share the cache, 0 .. 65536; 0 counts as 1 */
typedef struct hs_caches {
    int64_t bytes[3];
    int32_t ways[3];
    int32_t sharing[3];
} hs_caches;

/* Computes the block sizes with which the operands of a product of packed panels stay in the
 * caches.
 *
 * The model assumes that the least recently used line is replaced. A micro-panel of B stays in L1,
 * beside two micro-panels of A and a line of C; a block of A for each worker stays in L2; the panel
 * of B that the workers share stays in L3. T. M. Low, F. D. Igual, T. M. Smith, E. S.
 * Quintana-Orti, Analytical Modeling Is Enough for High-Performance BLIS, ACM Transactions on
 * Mathematical Software 43(2), 2016.
 *   tile_rows      rows of the micro-kernel's register tile, 1 .. 1024
 *   tile_cols      columns of the register tile, 1 .. 1024
 *   element_bytes  1 .. 64
 *   blocks         [3] out: depth k_c, rows m_c, columns n_c, in elements
 * If a cache is unknown, the sizes that it and larger caches determine are 0: the caller then uses
 * the kernel's own sizes. k_c is at least HS_BLOCKING_DEPTH and a multiple of 8, m_c is at least
 * tile_rows and a multiple of it, n_c is a multiple of tile_cols; none is above HS_BLOCKING_MOST.
 * The panel of B gets at least half of L3, for the case that L3 does not hold what is in L2 (an
 * exclusive cache). O(1). HS_ERROR_VALUE for numbers outside of these ranges. */
enum { HS_BLOCKING_DEPTH = 16, HS_BLOCKING_MOST = 1 << 20 };
HS_API hs_status hs_blocking(const hs_caches *caches, int32_t tile_rows, int32_t tile_cols,
                             int32_t element_bytes, int32_t *blocks);

/* Returns the sizes of hetsched's own kernels for an instruction set.
 *   set     "avx512", "avx2", "neon" or "plain", see hs_kernel_info.set; NULL: the kernel in use
 *   dtype   HS_FLOAT32 or HS_FLOAT64
 *   tile    [2] out: rows and columns of the register tile
 *   blocks  [3] out: depth, rows and columns as in hs_blocking, used where hs_pool_create_domains
 *           does not set other sizes
 * HS_ERROR_UNSUPPORTED for an instruction set that this processor, or this build, does not have. */
HS_API hs_status hs_kernel_sizes(const char *set, int32_t dtype, int32_t *tile, int32_t *blocks);

HS_C_END
#endif
