/* Layers of a product: where the inner dimension is cut, each worker sums up a part of it in memory
 * of its own, and a reduction adds these parts to C. */
#ifndef HS_PRODUCT_LAYERS_H
#define HS_PRODUCT_LAYERS_H

#include "product/gang.h"

/* Returns the depth of the layers into which hs_gemm and products of zones of C cut the inner
 * dimension; k if it is not divided. The last layer may be less deep. The depth depends on the
 * sizes alone. So the bits of the result depend neither on which worker computes which box nor on
 * how many layers are computed at a time. */
int64_t hs__layer_depth(const hs_product *product);

/* Allocates a matrix for one layer of the whole of C, for hs__in_layers. */
hs_status hs__one_layer(hs__in_layers *layers, hs__run *run, const hs_product *product);

/* The part of C that a layer covers, from (row, col) on. */
typedef struct hs__layer {
    hs__matrix x;
    int64_t row, col;
    size_t bytes;
    int32_t begun; /* non-zero: it holds something */
    /* non-zero: the boxes of its worker are at several places of C. It is the least rectangle around
     * them, and begins with zeros */
    int32_t scattered;
    double deadline; /* emulated workers: when the worker ended its boxes, at its pace */
} hs__layer;

typedef struct hs__layered {
    hs__run *run;
    const hs_product *product;
    const hs_boxes *boxes;
    /* [count] one for each worker. In a shared run one for each range of the inner dimension,
     * whichever workers compute its boxes, so that the order of the sum is fixed. */
    hs__layer *layer;
    int32_t count;
    int32_t *layer_of_box; /* [boxes] index in `layer` of each box */
    int64_t depth;         /* length of the deepest box, in a shared run */
    /* workers that take part; in a shared run the workers that began before all boxes were taken */
    atomic_int joined;
    atomic_int arrived;       /* workers that have ended their boxes */
    _Atomic int64_t next_row; /* first row of C that no worker has taken to sum */
} hs__layered;

/* Whether the boxes and their sums are valid for a layered run. */
int hs__layered_valid(const hs_product *product, const hs_boxes *boxes, int32_t workers);

/* Takes memory for all layers, and signals, from the run. */
hs_status hs__layered_open(hs__layered *sum, hs__run *run, const hs_product *product,
                           const hs_boxes *boxes);

/* Sets up the product of a box, with the strides of its layer in place of the strides of C. Like
 * hs__panel_product_init for one worker, it returns 0 if there is nothing to do. */
int hs__layered_product(const hs__layered *sum, int32_t box, const hs__kernel *kernel,
                        hs__panel_product *x);

/* Makes a gang of one add to the layer of its box. */
void hs__layered_receive(hs__layered *sum, int32_t box, hs__gang *gang);

/* Waits until all workers that take part have called it, then computes C <- beta C + the layers,
 * each worker its own rows. */
void hs__layered_sum(hs__layered *sum, hs__member *self);

#endif
