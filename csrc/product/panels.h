/* A product of panels: a box of a product in the form in which the micro-kernels compute it, and
 * the steps that one worker does. */
#ifndef HS_PRODUCT_PANELS_H
#define HS_PRODUCT_PANELS_H

#include <stdatomic.h>
#include <stddef.h>

#include "core/element.h"
#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "product/triangle.h"
#include "run/matrix.h"

/* The product is a sum of layers, parts of the inner dimension. All are `depth` deep, except that
 * the last may be less, and use the same memory one after the other. */
typedef struct hs__in_layers {
    int64_t depth;
    /* of the size of C, in memory of its own; data NULL: the box has a single layer */
    hs__matrix room;
} hs__in_layers;

/* A box as the micro-kernel sees it: C is transposed if needed, so that its unit stride is the one
 * that the kernel prefers, and complex operands are turned into real ones (kernel/pack.h). */
typedef struct hs__panel_product {
    const hs__blocking *kernel;
    hs__pack pack_a, pack_b;
    int32_t buffers; /* packed panels of B held at a time: 1 or 2 */
    /* general: micro-tiles go through a buffer, since C has complex elements without a unit stride
     * or alpha is complex */
    int32_t complex, general;
    int32_t turned; /* C^T = B^T A^T is computed */
    hs__matrix a, b, c;
    /* with layers: the matrix C, to which each layer is added, while c is the memory in which one
     * layer is summed; else data is NULL */
    hs__matrix onto;
    hs__triangle triangle;    /* of c */
    double alpha[2], beta[2]; /* for the product of the packed operands */
    double factor[2];         /* multiplies one operand, once it is packed */
    int32_t scales_a, scales_b;
    int64_t layer;                         /* depth of a layer; without layers that is the box's */
    int64_t depth, block_rows, panel_cols; /* block sizes for this box, in elements of the type */
} hs__panel_product;

/* Whether alpha, rounded to the type, is zero. Then A and B are not read. */
static inline int hs__no_product(const hs_product *p)
{
    return hs__factor_is(p->dtype, p->alpha, 0.0);
}

/* Sets up a box of a product.
 *   kernel    of the domain
 *   box       beta counts only if it starts at depth 0
 *   layers    NULL: none; with room the box must start at depth 0
 *   members   of the gang that computes it
 * Returns 0 if there is nothing to do. The order in which the terms of an element of C are added
 * depends on the sizes of the product, the depth of the box and of its layers, and the strides of
 * C. It does not depend on which part of C the box is. */
int hs__panel_product_init(hs__panel_product *x, const hs__kernel *kernel,
                           const hs_product *product, const hs_box *box,
                           const hs__in_layers *layers, int32_t members);

/* Return the number of slabs of the inner dimension, and where slab `index` begins and how long
 * it is. A panel has the rows of B of one slab. A new slab begins with each layer. */
int64_t hs__slab_count(const hs__panel_product *x);
void hs__slab_at(const hs__panel_product *x, int64_t index, int64_t *depth, int64_t *length);

/* Computes the whole product with one thread, in buffers of hs__panel_bytes and hs__block_bytes. It
 * looks for a cancel once for each block of A. */
void hs__panel_product_run(const hs__panel_product *x, void *panel, void *block, const int *cancel);

/* Return the bytes of a packed panel of B, and of a member's buffer: a packed block of A and what
 * else a tile needs. */
size_t hs__panel_bytes(const hs__panel_product *x);
size_t hs__block_bytes(const hs__panel_product *x);

/* Returns the size of equal parts of `size`, at most `limit` and a multiple of `unit`. */
int64_t hs__even_parts(int64_t size, int64_t limit, int64_t unit);

/* Return the elements of the type across a micro-panel, of A and of B. */
static inline int64_t hs__row_unit(const hs__panel_product *x)
{
    return x->pack_a.form == HS__EXPANDED ? x->pack_a.tile / 2 : x->pack_a.tile;
}
static inline int64_t hs__col_unit(const hs__panel_product *x)
{
    return x->pack_b.form == HS__EXPANDED ? x->pack_b.tile / 2 : x->pack_b.tile;
}

/* A tile of C within the columns of one panel of B. */
typedef struct hs__tile {
    int64_t row, rows, col, cols;
    _Atomic int32_t done; /* panels that have been added to it */
} hs__tile;

typedef struct hs__panel {
    int64_t col, cols;                         /* columns of B */
    int64_t depth, length;                     /* its slab: where it begins, and how long it is */
    int32_t before;                            /* panels of the same columns at less depth */
    int32_t tile_first, tile_count;            /* its tiles in gang->tile */
    int32_t chunk_count;                       /* parts in which it is packed */
    _Atomic int32_t claimed, packed, finished; /* chunks taken and packed, tiles done */
} hs__panel;

/* The contents of a member's buffer for A, which adjacent tiles of the same rows share. row -1:
 * empty. */
typedef struct hs__packed_block {
    int64_t row, rows, depth;
} hs__packed_block;

/* Packs columns col .. of a panel of B to their place in the packed panel. col is a multiple of the
 * kernel's columns. */
void hs__pack_columns(const hs__panel_product *x, const hs__panel *panel, int64_t col, int64_t cols,
                      char *packed);

/* Computes a tile of a panel. It packs the block of A first if the buffer holds another one. With a
 * triangle, elements outside of it are not touched. The last panel of a layer adds the layer to C,
 * and the last panel of all mirrors the tile if the product asks for it. */
void hs__compute_tile(const hs__panel_product *x, const hs__panel *panel, const hs__tile *t,
                      hs__packed_block *have, char *block, const char *packed);

#endif
