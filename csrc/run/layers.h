/* Layers of a product: what each worker adds up for itself where the inner dimension is cut, and their sum. */
#ifndef HS_EXEC_STACK_H
#define HS_EXEC_STACK_H

#include "run/gang.h"
#include "run/member.h"

/* Rows row.. and columns col.. of C, in lines: its rows or, by columns, its columns side by side. */
typedef struct hs__layer {
    char *data;
    int64_t row, col, height, width;
    int64_t line;    /* elements from one line to the next */
    int32_t by_columns;
    int32_t begun;   /* it holds something */
    double deadline; /* when its paced worker ended */
} hs__layer;

typedef struct hs__stack {
    const hs_product *product;
    const hs_run *run;
    hs__layer *of; /* [count] of each worker; in a shared run of each box, whoever does it: so the sum has one order */
    int32_t count, workers;
    hs__bell *bells; /* [workers] */
    void *memory;
    int32_t joined;   /* atomic: workers that take part; in a shared run who has begun before all boxes were taken */
    int32_t arrived;  /* atomic: those that have ended their boxes */
    int64_t next_row; /* atomic: of C, not yet taken to be summed */
} hs__stack;

/* Whether a run's boxes and sums may be layered. */
int hs__stack_valid(const hs_product *product, const hs_run *run, int32_t workers);

/* Memory for all layers. Closing what was not opened, all zero, is allowed. */
hs_status hs__stack_open(hs__stack *stack, const hs_product *product, const hs_run *run, int32_t workers);
void hs__stack_close(hs__stack *stack);

/* The product with the strides of a box's layer in place of C's, for hs__panel_product_init. */
hs_product hs__stack_product(const hs__stack *stack, int32_t box);

/* Lets a gang of one add to the layer of its box. */
void hs__stack_receive(hs__stack *stack, int32_t box, hs__gang *gang);

/* A worker begins. */
void hs__stack_join(hs__stack *stack);

/* When all who take part have come here: C <- beta C + the layers, each worker its rows. */
void hs__stack_sum(hs__stack *stack, hs__member *self);

#endif
