/* Layers of a product: what each worker adds up for itself where the inner dimension is cut, and
 * their sum. */
#ifndef HS_PRODUCT_LAYERS_H
#define HS_PRODUCT_LAYERS_H

#include "product/gang.h"

/* The depth of the layers whose sum a product of hs_gemm and of zones of C is: of equal ones, but
 * for the last. By its sizes alone, so that its bits do not depend on who computes what, nor on
 * whether several layers are computed at a time; k: it is not divided. */
int64_t hs__layer_depth(const hs_product *product);

/* Memory for one layer of the whole of C, as hs__in_layers wants it. */
hs_status hs__one_layer(hs__in_layers *layers, hs__run *run, const hs_product *product);

/* Rows row.. and columns col.. of C. */
typedef struct hs__layer {
    hs__matrix x;
    int64_t row, col;
    size_t bytes;
    int32_t begun;   /* it holds something */
    double deadline; /* when its paced worker ended */
} hs__layer;

typedef struct hs__layered {
    hs__run *run;
    const hs_product *product;
    const hs_boxes *boxes;
    /* [count] of each worker; in a shared run of each depth, whoever does its boxes: so the sum has
     * one order */
    hs__layer *layer;
    int32_t count;
    int32_t *of;   /* [boxes] the layer of each box */
    int64_t depth; /* of the deepest box in a shared run */
    /* workers that take part; in a shared run who has begun before all boxes were taken */
    atomic_int joined;
    atomic_int arrived;       /* those that have ended their boxes */
    _Atomic int64_t next_row; /* of C, not yet taken to be summed */
} hs__layered;

/* Whether boxes and their sums may be layered. */
int hs__layered_valid(const hs_product *product, const hs_boxes *boxes, int32_t workers);

/* Takes memory for all layers, and signals, of the run. */
hs_status hs__layered_open(hs__layered *sum, hs__run *run, const hs_product *product,
                           const hs_boxes *boxes);

/* Sets up the product of a box with the strides of its layer in place of C's, as
 * hs__panel_product_init for one worker. */
int hs__layered_product(const hs__layered *sum, int32_t box, const hs__kernel *kernel,
                        hs__panel_product *x);

/* Lets a gang of one add to the layer of its box. */
void hs__layered_receive(hs__layered *sum, int32_t box, hs__gang *gang);

/* When all who take part have come here: C <- beta C + the layers, each worker its rows. */
void hs__layered_sum(hs__layered *sum, hs__member *self);

#endif
