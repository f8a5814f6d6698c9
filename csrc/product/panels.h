/* A product of panels: a box of a product as the micro-kernels see it, and what one worker does of
 * it. */
#ifndef HS_PRODUCT_PANELS_H
#define HS_PRODUCT_PANELS_H

#include <stdatomic.h>
#include <stddef.h>

#include "core/element.h"
#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "product/triangle.h"
#include "run/matrix.h"

/* A product that is the sum of layers, parts of the inner dimension: so deep each, the last one
 * maybe less, and one place for them in turn. */
typedef struct hs__in_layers {
    int64_t depth;
    /* as C is, in memory of its own; data NULL: the product is of one layer alone */
    hs__matrix room;
} hs__in_layers;

/* A box as the micro-kernel sees it: C turned so that its fast stride is the kernel's, complex
 * operands made real. */
typedef struct hs__panel_product {
    const hs__blocking *kernel;
    hs__pack pack_a, pack_b;
    int32_t buffers; /* packed panels of B held at a time: 1 or 2 */
    /* general: tiles go by a buffer, for C has complex elements and no unit stride, or alpha is
     * complex */
    int32_t complex, general;
    int32_t turned; /* the product is C^T = B^T A^T */
    hs__matrix a, b, c;
    /* of layers: c is what one of them adds up in, and is then added to this; else data is NULL */
    hs__matrix onto;
    hs__triangle triangle;    /* of c */
    double alpha[2], beta[2]; /* of the product of the packed operands */
    double factor[2];         /* of one of them, once it is packed */
    int32_t scales_a, scales_b;
    int64_t layer;                         /* its depth; without layers that of the box */
    int64_t depth, block_rows, panel_cols; /* blocking for this size, in elements of the type */
} hs__panel_product;

/* Whether alpha, rounded to the type, is zero: then A and B are not read. */
static inline int hs__no_product(const hs_product *p)
{
    return hs__factor_is(p->dtype, p->alpha, 0.0);
}

/* Sets up the box of a product for a gang of that many members; beta counts only where the box
 * starts at depth 0. Returns 0 where there is nothing to do. layers: NULL where there are none;
 * with room the box begins at depth 0. The order in which the terms of an element of C are added
 * depends on the sizes of the product, the depth of the box and of its layers, and the strides of
 * C: not on which part of C the box is. */
int hs__panel_product_init(hs__panel_product *x, const hs__kernel *kernel,
                           const hs_product *product, const hs_box *box,
                           const hs__in_layers *layers, int32_t members);

/* Panels of its inner dimension, which begin with each layer anew, and where one of them is. */
int64_t hs__level_count(const hs__panel_product *x);
void hs__level_at(const hs__panel_product *x, int64_t index, int64_t *level, int64_t *levels);

/* The whole product by one thread, with the two buffers below. A cancel is seen after each block of
 * A. */
void hs__panel_product_run(const hs__panel_product *x, void *panel, void *block, const int *cancel);

/* Bytes of one packed panel of B, and of a member's buffer: a packed block of A and what else a
 * tile needs. */
size_t hs__panel_bytes(const hs__panel_product *x);
size_t hs__block_bytes(const hs__panel_product *x);

/* size cut into equal parts of at most limit, a multiple of unit. */
int64_t hs__even_parts(int64_t size, int64_t limit, int64_t unit);

/* Elements of the type across a micro-panel. */
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
    int64_t col, cols, level, levels; /* columns of B; depth */
    int32_t before;                   /* panels of the same columns with less depth */
    int32_t tile_first, tile_count;
    int32_t chunk_count;
    _Atomic int32_t claimed, packed, finished; /* chunks taken and packed, tiles done */
} hs__panel;

/* What a member's buffer for A holds: tiles side by side share it. row -1: nothing. */
typedef struct hs__packed_block {
    int64_t row, rows, level;
} hs__packed_block;

/* Columns col .. of a panel of B, to where they belong in the packed one; col is a multiple of the
 * kernel's. */
void hs__pack_columns(const hs__panel_product *x, const hs__panel *panel, int64_t col, int64_t cols,
                      char *packed);

/* A tile of a panel, with the block of A packed if the buffer has another. Elements outside of a
 * triangle are not touched; in the last level of a layer this is added to C, and in the last of all
 * what is done is mirrored. */
void hs__compute_tile(const hs__panel_product *x, const hs__panel *panel, const hs__tile *t,
                      hs__packed_block *have, char *block, const char *packed);

#endif
