/* Layers of a product: what each worker adds up for itself where the inner dimension is cut, and their sum. */
#ifndef HS_RUN_LAYERS_H
#define HS_RUN_LAYERS_H

#include "run/gang.h"

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
    hs__layer *layer; /* [count] of each worker; in a shared run of each box, whoever does it: so the sum has one order */
    int32_t count;
    atomic_int joined;   /* workers that take part; in a shared run who has begun before all boxes were taken */
    atomic_int arrived;  /* those that have ended their boxes */
    _Atomic int64_t next_row; /* of C, not yet taken to be summed */
} hs__layered;

/* Whether boxes and their sums may be layered. */
int hs__layered_valid(const hs_product *product, const hs_boxes *boxes, int32_t workers);

/* Takes memory for all layers, and signals, of the run. */
hs_status hs__layered_open(hs__layered *sum, hs__run *run, const hs_product *product, const hs_boxes *boxes);

/* The product with the strides of a box's layer in place of C's, for hs__panel_product_init. */
hs_product hs__layered_product(const hs__layered *sum, int32_t box);

/* Lets a gang of one add to the layer of its box. */
void hs__layered_receive(hs__layered *sum, int32_t box, hs__gang *gang);

/* When all who take part have come here: C <- beta C + the layers, each worker its rows. */
void hs__layered_sum(hs__layered *sum, hs__member *self);

#endif
